//! (pure) Tests of what iozone prints.

use super::*;
use crate::testing::{figure, rounded, same_or_refused};
use base::stats::testing::Random;

const ONE: &str = include_str!("../../../../tests/fixtures/tools/iozone-3.487-one.txt");
const AUTO: &str = include_str!("../../../../tests/fixtures/tools/iozone-3.487-auto.txt");
const OLD: &str = include_str!("../../../../tests/fixtures/tools/iozone-3.327-auto.txt");
const OLDER: &str = include_str!("../../../../tests/fixtures/tools/iozone-3.160-two-runs.txt");
const EXCEL: &str = include_str!("../../../../tests/fixtures/tools/iozone-3.471-excel.txt");
const OPERATIONS: &str =
    include_str!("../../../../tests/fixtures/tools/iozone-3.471-operations-and-times.txt");
const PROCESSES: &str = include_str!("../../../../tests/fixtures/tools/iozone-3.471-processes.txt");
const THREADS: &str = include_str!("../../../../tests/fixtures/tools/iozone-3.263-threads.txt");

#[test]
fn every_row_is_a_result_and_what_was_not_asked_for_is_none() {
    let one = &parse(ONE).unwrap()[0];
    assert_eq!(one.version, "3.487");
    assert_eq!(figure(one, "write_throughput_bytes_per_s"), Some(2_402_172.0 * 1024.0));
    assert_eq!(figure(one, "random_write_throughput_bytes_per_s"), Some(11_500_738.0 * 1024.0));
    assert_eq!(one.figures.len(), 6);
    assert_eq!(one.settings["file-size"], 4 << 20);
    let all = parse(AUTO).unwrap();
    assert_eq!(all.len(), 6);
    assert!(all.iter().all(|said| said.figures.len() == 13));
    assert_eq!(figure(&all[0], "stdio_reread_throughput_bytes_per_s"), Some(4_018_152.0 * 1024.0));
}

/// `iozone -i 0 -i 3` leaves columns blank between two others.
#[test]
fn a_column_is_told_by_its_place_and_a_number_too_wide_for_it_is_refused() {
    let row = "            4096      64  2402172  7863339";
    assert!(ONE.contains(row));
    let blank = ONE.replace(row, "            4096      64           7863339");
    let said = &parse(&blank).unwrap()[0];
    assert_eq!(figure(said, "write_throughput_bytes_per_s"), None);
    assert_eq!(figure(said, "rewrite_throughput_bytes_per_s"), Some(7_863_339.0 * 1024.0));
    let wide = ONE.replace(row, "            4096      64 240217299 7863339");
    assert!(parse(&wide).unwrap_err().contains("no row"));
    let other = ONE.replace("kBytes/sec", "ops/sec");
    assert!(parse(&other).unwrap_err().contains("not in kBytes/sec"));
    assert!(parse(&ONE.replace("iozone test complete.", "")).unwrap_err().contains("cut short"));
}

/// 3.327 has "KB" in its head and narrower columns: "there is no table of iozone's in it".
#[test]
fn the_table_of_older_versions_is_read_by_its_own_columns() {
    let all = parse(OLD).unwrap();
    let said = &all[0];
    assert_eq!((all.len(), said.version.as_str(), said.figures.len()), (1, "3.327", 13));
    let sizes = ["file-size", "block-size"].map(|knob| said.settings[knob].as_u64());
    assert_eq!(sizes, [Some(4096); 2]);
    let rates = [
        285_299, 511_411, 562_886, 582_427, 75_299, 496_283, 79_965, 676_345, 84_816, 401_314,
        650_136, 78_469, 78_469,
    ];
    for (way, rate) in table::WAYS.iter().zip(rates) {
        let name = format!("{way}_throughput_bytes_per_s");
        assert_eq!(figure(said, &name), Some(f64::from(rate) * 1024.0), "{way}");
    }
    // Of `-i 0 -i 2`: what was not asked for is blank.
    let row = OLD.lines().find(|line| line.contains("285299")).unwrap();
    let blank = format!("{}{}{}", &row[..40], " ".repeat(18), &row[58..74]);
    let few = &parse(&OLD.replace(row, &blank)).unwrap()[0];
    assert_eq!(few.figures.len(), 4);
    assert_eq!(few.figures[2..], said.figures[4..6]);
    // Blank columns below a head that is of no version.
    let other = OLD.replace(row, &blank).replace("KB  reclen", "kB  reclen");
    assert!(parse(&other).unwrap_err().contains("which are blank cannot be told"));
    // A row without a blank is told by its order.
    let words: Vec<&str> = row.split_whitespace().collect();
    let squeezed = OLD.replace(row, &words.join(" ")).replace("KB  reclen", "KB reclen");
    assert_eq!(parse(&squeezed).unwrap()[0].figures, said.figures);
    let wider = OLD.replace("  285299  511411", " 285299951141123");
    assert!(parse(&wider).unwrap_err().contains("no row"));
    let unknown = OLD.replace("freread", "pread");
    assert!(parse(&unknown).unwrap_err().contains("iozone 3.327 has other columns"));
}

/// Up to 3.303 the columns of record rewriting and strided reading were narrower by one: those
/// behind them would have been cut in two, or taken for their neighbours.
#[test]
fn the_table_of_still_older_versions_has_its_own_columns() {
    let all = IOZONE.read(OLDER).unwrap();
    assert_eq!(all.len(), 2);
    let names: Vec<&str> = all[0].figures.iter().map(|figure| figure.name.as_str()).collect();
    let due = ["write", "rewrite", "random_read", "random_write", "record_rewrite"];
    let due = due.map(|way| format!("{way}_throughput_bytes_per_s"));
    assert_eq!(names, due);
    let row = OLDER.lines().find(|line| line.starts_with("             512      16 ")).unwrap();
    let words: Vec<f64> = row.split_whitespace().map(|word| word.parse().unwrap()).collect();
    for (figure, word) in all[0].figures.iter().zip(&words[2..]) {
        assert_eq!(figure.value, word * 1024.0, "{}", figure.name);
    }
    assert_eq!(all[1].figures.len(), 9);
    let wide = OLDER.replacen("512      16 ", "512      16 1", 1);
    assert!(IOZONE.read(&wide).unwrap_err().contains("no row"));
    let other = OLDER.replacen("Record Size 16 KB", "Record Size 32 KB", 1);
    assert!(IOZONE.read(&other).unwrap_err().contains("not what it says was asked for"));
}

/// What -R prints repeats the table, and stands behind the line that says it is complete.
#[test]
fn the_report_for_spreadsheets_is_held_against_the_table() {
    let all = IOZONE.read(EXCEL).unwrap();
    assert_eq!(all.len(), 10);
    assert!(all.iter().all(|said| said.figures.len() == 6 && said.settings["direct"] == true));
    let (table, report) = EXCEL.split_once(report::EXCEL).unwrap();
    assert_eq!(IOZONE.read(table).unwrap(), all);
    let alone = format!("{}{report}", report::EXCEL);
    assert!(knows(&alone));
    assert!(IOZONE.read(&alone).unwrap_err().contains("does not say its unit"));
    let row = report.lines().find(|line| line.starts_with("\"64\" ")).unwrap();
    let number = row.split_whitespace().nth(1).unwrap();
    let other = format!("{table}{}{}", report::EXCEL, report.replacen(number, "1", 1));
    assert!(IOZONE.read(&other).unwrap_err().contains("is not what the table has for write"));
}

#[test]
fn operations_and_times_are_no_rates_in_bytes() {
    let all = IOZONE.read(OPERATIONS).unwrap();
    assert_eq!(all.len(), 2);
    let row = |begin: &str| -> Vec<f64> {
        let row = OPERATIONS.lines().find(|line| line.trim().starts_with(begin)).unwrap();
        row.split_whitespace().map(|word| word.parse().unwrap()).collect()
    };
    let (operations, times) = (row("1024      16"), row("4096    1024"));
    assert_eq!(figure(&all[0], "write_iops"), Some(operations[2]));
    assert_eq!(figure(&all[0], "random_write_iops"), Some(operations[7]));
    assert_eq!(figure(&all[1], "reread_latency_ns_mean"), Some(times[5] * 1000.0));
    assert!(all.iter().flat_map(|said| &said.figures).all(|it| !it.name.contains("bytes")));
    let without = OPERATIONS.replacen("\tOPS Mode. Output is in operations per second.\n", "", 1);
    assert!(IOZONE.read(&without).unwrap_err().contains("does not say the unit"));
}

/// By hand: 341362.12 kB/sec are 341362.12 * 1024 = 349554810.88 B/s, and 691474.75 are
/// 708070144. Of -l and -u only the first number of processes has a line of its own.
#[test]
fn each_number_of_processes_is_a_result() {
    let all = IOZONE.read(PROCESSES).unwrap();
    assert_eq!(all.len(), 2);
    let titles: Vec<&str> = all.iter().map(|said| said.title.as_str()).collect();
    assert_eq!(titles, ["1 process", "2 processes"]);
    assert_eq!(rounded(&all[0], "write_throughput_bytes_per_s"), Some(349_554_810.88));
    let two = &all[1];
    for (name, kib) in [
        ("write", 691_474.75),
        ("write_parent", 544_871.74),
        ("write_slowest_stream", 343_562.56),
        ("write_fastest_stream", 347_912.19),
        ("random_mix", 806_041.31),
        ("random_write_parent", 297_178.49),
    ] {
        let name = format!("{name}_throughput_bytes_per_s");
        assert_eq!(figure(two, &name), Some(kib * 1024.0), "{name}");
    }
    assert_eq!(two.figures.len(), 7 * 4);
    let sizes = ["file-size", "block-size"].map(|knob| two.settings[knob].as_u64());
    assert_eq!(sizes, [Some(8 << 20), Some(64 << 10)]);
    let threads = &IOZONE.read(THREADS).unwrap()[0];
    assert_eq!(figure(threads, "reread_slowest_stream_throughput_bytes_per_s"), None);
    assert_eq!(threads.notes[0].kind, "idle-stream");
    assert_eq!(figure(threads, "read_strided_throughput_bytes_per_s"), Some(950_067.55 * 1024.0));
}

#[test]
fn rates_of_processes_that_contradict_each_other_are_refused() {
    for (from, to, why) in [
        ("=  691474.75 kB/sec", "=  791474.75 kB/sec", "the mean times their number"),
        (
            "Max throughput per process 			=  347912",
            "Max throughput per process 			=  247912",
            "contradict",
        ),
        ("Throughput =  343562.56", "Throughput =  243562.56", "are not their sum"),
        ("341362.12   691474.75", "341362.12   691474.76", "is not what its children saw"),
        ("for  2 initial writers 	=  691474", "for  3 initial writers 	=  691474", "how iozone"),
        ("Parent sees throughput for  2 rewriters", "Parent sees throughput for  2 readers", "how"),
        ("2 random readers 	=  700069.78", "2 fast readers 	=  700069.78", "not known"),
        ("Min xfer 					=    8128.00 kB\n", "", "not closed by"),
        ("Throughput test with 1 process\n", "", "has no line"),
    ] {
        assert!(PROCESSES.contains(from), "{from}");
        let told = IOZONE.read(&PROCESSES.replacen(from, to, 1)).unwrap_err();
        assert!(told.contains(why), "{from}: {told}");
    }
}

/// Versions call KiB/s by several names, wrap them in other lines, and indent them otherwise.
#[test]
fn what_says_the_same_in_another_way_gives_the_same_numbers() {
    let mut random = Random::new(20_261_130);
    let mut kept = 0;
    for round in 0..200 {
        let whole = [AUTO, OLDER, EXCEL, PROCESSES, THREADS][round % 5];
        let mut changed = whole.to_owned();
        let is_of_processes = whole.contains(threads::CHILDREN);
        if random.uniform() < 0.5 && is_of_processes {
            changed = changed.replace(" KB/sec", " kB/sec").replace(" KB\n", " kB\n");
        }
        if random.uniform() < 0.5 {
            changed = changed.replace("Kbytes", "kBytes").replace("Kbyte ", "kByte ");
        }
        if random.uniform() < 0.5 && is_of_processes {
            changed = changed.replace('\t', "    ");
        }
        if random.uniform() < 0.5 {
            changed = changed.replacen(FIRST_LINE, &format!("  {FIRST_LINE}  "), 1);
        }
        if random.uniform() < 0.3 {
            let lines: Vec<&str> = changed.lines().filter(|it| !it.contains("Steve")).collect();
            changed = format!("$ iozone\n{}\n$ exit\n", lines.join("\n"));
        }
        kept += usize::from(same_or_refused(&IOZONE, whole, &changed, 0.0));
    }
    assert!(kept > 150, "{kept}");
}
