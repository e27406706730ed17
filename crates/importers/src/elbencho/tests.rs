//! What is read of elbencho, by outputs that were recorded.

use super::*;
use crate::as_printed;
use crate::testing::{figure, has, lacks, rounded, same_or_refused};
use experiment::measurement::reported::Bound;

const WRITE: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-write.txt");
const READ: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-random-read.txt");
const NAMES: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-names.txt");
const REFUSED: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-refused.txt");

#[test]
fn bytes_are_read_with_the_latency_of_an_io_and_what_the_last_thread_made_of_it() {
    let said = &parse(WRITE).unwrap()[0];
    for (name, value) in [
        ("write_throughput_bytes_per_s", 1_280_511_116.0),
        ("write_iops", 1221.0),
        ("last_done_write_throughput_bytes_per_s", 1_280_410_287.0),
        ("write_latency_ns_mean", 1_604_000.0),
        ("write_latency_ns_max", 2_934_000.0),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
    assert_eq!(said.version, "3.1-10");
    assert_eq!(said.figures[0].printed, "1280511116 bytes/s");
    let said = &parse(READ).unwrap()[0];
    assert_eq!(figure(said, "read_iops"), Some(52_551.0));
    assert_eq!(figure(said, "read_latency_ns_min"), Some(78_000.0));
    let known = serde_json::json!({
        "streams": 2, "files": 2, "file-size": 16 << 20, "block-size": 4096,
        "queue-depth": 8, "direct": true,
    });
    assert_eq!(Json::Object(said.settings.clone()), known);
}

#[test]
fn names_are_read_phase_by_phase() {
    let said = &parse(NAMES).unwrap()[0];
    for (name, value) in [
        ("create_per_s", 3667.0),
        ("last_done_create_per_s", 3679.0),
        ("stat_per_s", 876_501.0),
        ("open_per_s", 482_373.0),
        ("unlink_per_s", 181_229.0),
        ("unlink_latency_ns_max", 1_296_000.0),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
    assert!(!said.settings.contains_key("block-size"), "{:?}", said.settings);
    assert_eq!(parse(&format!("{NAMES}{WRITE}")).unwrap().len(), 2);
}

#[test]
fn a_run_without_a_phase_that_was_asked_for_is_no_result() {
    assert!(knows(REFUSED) && REFUSED.contains("ERROR: File open failed"));
    assert!(parse(REFUSED).unwrap_err().contains("cut short: it has no READ"));
    let unlink = NAMES.find("{\"phase_type\":\"RMFILES\"").unwrap();
    assert!(parse(&NAMES[..unlink]).unwrap_err().contains("it has no RMFILES"));
    assert!(
        parse(&NAMES.replace("\"-r\\\"", "\"-x\\\"")).unwrap_err().contains("it has no RMFILES")
    );
    assert!(parse(&WRITE.replace("1280511116", "lots")).unwrap_err().contains("no number"));
    assert!(parse(&WRITE.replace("\"-w\\\"", "\"-c\\\"")).unwrap_err().contains("ask for"));
}

const OLD: &str = include_str!("../../../../tests/fixtures/tools/elbencho-1.6-dropcache.txt");
const RANDOM: &str = include_str!("../../../../tests/fixtures/tools/elbencho-1.8-random-read.txt");
const S3: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-people-s3.txt");
const PEOPLE: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-people-names.txt");
const CSV: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-csv.txt");

fn why(text: &str) -> String {
    ELBENCHO.read(text).unwrap_err()
}

fn titles(all: &[ToolResult]) -> Vec<&str> {
    all.iter().map(|said| said.title.as_str()).collect()
}

/// 902432 MiB in 76.564 s are 11786.6 MiB/s, of which it prints 11786; 11786 MiB/s are 12358516736
/// B/s.
#[test]
fn each_phase_of_a_text_is_a_result_in_whole_mebibytes() {
    let all = parse(OLD).unwrap();
    assert_eq!(titles(&all), ["WRITE", "WRITE"]);
    for (said, rate, iops, last, last_iops) in
        [(&all[0], 11_786.0, 736.0, 11_605.0, 725.0), (&all[1], 10_687.0, 667.0, 10_656.0, 666.0)]
    {
        let mib = |name: &str| figure(said, name).map(|value| value / 1_048_576.0);
        assert_eq!(mib("write_throughput_bytes_per_s"), Some(rate));
        assert_eq!(mib("last_done_write_throughput_bytes_per_s"), Some(last));
        assert_eq!(figure(said, "write_iops"), Some(iops));
        assert_eq!(figure(said, "last_done_write_iops"), Some(last_iops));
        assert_eq!(said.figures.len(), 4);
        assert_eq!(said.settings, Map::new());
    }
    assert_eq!(all[0].figures[0].printed, "11786 MiB/s");
    let said = &parse(RANDOM).unwrap()[0];
    for (name, value) in [
        ("read_throughput_bytes_per_s", 33_554_432.0),
        ("read_iops", 8219.0),
        ("read_latency_ns_min", 91_000.0),
        ("read_latency_ns_mean", 120_000.0),
        ("read_latency_ns_max", 1_583_000.0),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
}

#[test]
fn names_and_objects_are_told_by_what_they_are() {
    let all = parse(PEOPLE).unwrap();
    assert_eq!(titles(&all), ["WRITE", "STAT"]);
    for (said, name, value) in [
        (&all[0], "create_per_s", 16_962.0),
        (&all[0], "last_done_create_per_s", 16_978.0),
        (&all[0], "create_latency_ns_mean", 469_000.0),
        (&all[0], "create_latency_ns_max", 14_500_000.0),
        (&all[0], "create_latency_ns_p50", 512_000.0),
        (&all[0], "create_latency_ns_p99", 1_024_000.0),
        (&all[1], "stat_per_s", 1_140_625.0),
        (&all[1], "stat_latency_ns_p50", 6_700.0),
        (&all[1], "stat_latency_ns_max", 312_000.0),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
    let bound = all[0].figures.iter().find(|figure| figure.name.ends_with("p99")).unwrap().bound;
    assert_eq!(bound, Bound::UpTo);
    let all = parse(S3).unwrap();
    assert_eq!(titles(&all), ["MKBUCKETS", "WRITE"]);
    assert_eq!(figure(&all[0], "create_buckets_per_s"), Some(38.0));
    assert_eq!(figure(&all[1], "write_objects_per_s"), Some(24.0));
    let rate = figure(&all[1], "last_done_write_throughput_bytes_per_s");
    assert_eq!(rate, Some(121.0 * 1_048_576.0));
}

/// Of JSON each phase's text stands before it where both go to the same place: it is read once.
#[test]
fn a_phase_whose_json_stands_beneath_its_text_is_read_of_that() {
    let (table, rows) = RANDOM.split_once("READ ").unwrap();
    let text = format!("{table}READ {rows}");
    let both = format!("{text}{READ}");
    assert_eq!(parse(&both).unwrap(), parse(READ).unwrap());
    assert_eq!(parse(&format!("{READ}{text}")).unwrap().len(), 2);
    let other = READ.replace("{\"phase_type\":\"READ\"", "{\"phase_type\":\"SYNC\"");
    assert_eq!(titles(&parse(&format!("{text}{other}")).unwrap()), ["READ"]);
    let apart = format!("{text}$ cat result.json\n{READ}");
    assert_eq!(titles(&parse(&apart).unwrap()), ["READ", ""]);
}

#[test]
fn a_csv_has_what_was_asked_for_and_columns_by_their_names() {
    let all = parse(CSV).unwrap();
    assert_eq!(titles(&all), ["MKDIRS", "WRITE", "READ"]);
    for (said, name, value) in [
        (&all[0], "mkdir_per_s", 3277.0),
        (&all[0], "last_done_mkdir_per_s", 1466.0),
        (&all[0], "mkdir_latency_ns_mean", 1_068_000.0),
        (&all[1], "write_throughput_bytes_per_s", 3494.0 * 1_048_576.0),
        (&all[1], "last_done_write_throughput_bytes_per_s", 2941.0 * 1_048_576.0),
        (&all[1], "write_iops", 3494.0),
        (&all[1], "write_files_per_s", 11.0),
        (&all[1], "write_latency_ns_max", 120_903_000.0),
        (&all[1], "write_files_latency_ns_min", 290_635_000.0),
        (&all[2], "read_throughput_bytes_per_s", 9673.0 * 1_048_576.0),
        (&all[2], "read_latency_ns_mean", 3_223_000.0),
        (&all[2], "last_done_read_files_per_s", 35.0),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
    let known = serde_json::json!({
        "streams": 8, "files": 4, "file-size": 268_435_456, "block-size": 1_048_576,
        "queue-depth": 4, "direct": true,
    });
    assert_eq!(Json::Object(all[2].settings.clone()), known);
    // With its command line it is known that blocks went forward.
    let more = |command: &str| -> String {
        let add = |line: &str| match line.split(',').count() {
            37 if line.starts_with("ISO") => format!("{line},version,command\n"),
            37 => format!("{line},3.1-1,\"elbencho\" {command}\n"),
            _ => format!("{line}\n"),
        };
        CSV.lines().map(add).collect()
    };
    let all = parse(&more("\"-r\" ")).unwrap();
    assert_eq!((all[2].version.as_str(), &all[2].settings["access"]), ("3.1-1", &"read".into()));
    let all = parse(&more("\"--backward\" ")).unwrap();
    assert!(!all[2].settings.contains_key("access"));
    let hosts = parse(&CSV.replace("dir,1,1,8", "dir,1,4,8")).unwrap();
    assert!(!hosts[2].settings.contains_key("streams"));
}

const TEXT_OF_2: &str = include_str!("../../../../tests/fixtures/tools/elbencho-2.0-people.txt");
const CSV_OF_2: &str = include_str!("../../../../tests/fixtures/tools/elbencho-2.0-csv.txt");

/// What 2.0-9 told of the same runs in its text and in its CSV; its STAT took less than a
/// millisecond, which stands there as 0.
#[test]
fn text_and_csv_of_2_tell_the_same() {
    let mib = 1_048_576.0;
    let figures: [&[(&str, f64)]; 5] = [
        &[
            ("mkdir_per_s", 15.0),
            ("last_done_mkdir_per_s", 29.0),
            ("mkdir_latency_ns_mean", 19_000.0),
        ],
        &[
            ("write_throughput_bytes_per_s", 72.0 * mib),
            ("write_iops", 145.0),
            ("write_files_per_s", 15.0),
            ("last_done_write_throughput_bytes_per_s", 72.0 * mib),
            ("last_done_write_iops", 145.0),
            ("last_done_write_files_per_s", 18.0),
            ("write_latency_ns_min", 305_000.0),
            ("write_latency_ns_mean", 11_200_000.0),
            ("write_latency_ns_max", 47_083_000.0),
            ("write_files_latency_ns_max", 144_902_000.0),
        ],
        &[
            ("stat_per_s", 13_071.0),
            ("last_done_stat_per_s", 13_377.0),
            ("stat_latency_ns_min", 1000.0),
            ("stat_latency_ns_max", 10_000.0),
        ],
        &[
            ("read_throughput_bytes_per_s", 90.0 * mib),
            ("read_iops", 180.0),
            ("read_files_per_s", 22.0),
            ("last_done_read_throughput_bytes_per_s", 85.0 * mib),
            ("last_done_read_iops", 170.0),
            ("last_done_read_files_per_s", 21.0),
            ("read_latency_ns_min", 745_000.0),
            ("read_latency_ns_mean", 9_138_000.0),
            ("read_latency_ns_max", 58_932_000.0),
        ],
        &[
            ("read_throughput_bytes_per_s", 10.0 * mib),
            ("read_iops", 2813.0),
            ("read_latency_ns_min", 36_000.0),
            ("read_latency_ns_mean", 1_278_000.0),
            ("read_latency_ns_max", 15_580_000.0),
        ],
    ];
    let (text, rows) = (parse(TEXT_OF_2).unwrap(), parse(CSV_OF_2).unwrap());
    for all in [&text, &rows] {
        assert_eq!(titles(all), ["MKDIRS", "WRITE", "STAT", "READ", "READ"]);
        all.iter().zip(figures).for_each(|(said, figures)| has(said, figures));
    }
    let values = |said: &ToolResult| -> Vec<(String, f64)> {
        let told = said.figures.iter().filter(|figure| figure.bound != Bound::UpTo);
        let mut all: Vec<_> = told.map(|figure| (figure.name.clone(), figure.value)).collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all
    };
    for (said, row) in text.iter().zip(&rows) {
        assert_eq!(values(said), values(row), "{}", said.title);
        assert_eq!((said.version.as_str(), row.version.as_str()), ("", "2.0-9"));
    }
    // Of its text alone there are percentiles.
    for (said, name, value) in [
        (&text[1], "write_latency_ns_p50", 11_585_000.0),
        (&text[1], "write_latency_ns_p99", 55_109_000.0),
        (&text[2], "stat_latency_ns_p50", 1200.0),
        (&text[3], "read_files_latency_ns_p99", 131_072_000.0),
    ] {
        assert_eq!(rounded(said, name), Some(value), "{name}");
    }
    assert!(text[4].figures.iter().all(|figure| figure.bound != Bound::UpTo));
}

/// Its rows begin with a time and have blanks in their last column: what stood before the first of
/// them was taken for what a log puts before each line, and no row was left.
#[test]
fn rows_with_a_command_line_are_no_lines_of_a_log() {
    assert_eq!(ELBENCHO.read(&as_printed(CSV_OF_2)), ELBENCHO.read(CSV_OF_2));
}

/// Of a row of a file it is not told how large that is, nor how many there are.
#[test]
fn the_csv_of_2_has_what_was_asked_for() {
    let all = parse(CSV_OF_2).unwrap();
    let of_folder = serde_json::json!({
        "streams": 2, "files": 4, "file-size": 4 << 20, "block-size": 512 << 10,
        "queue-depth": 2, "direct": true, "access": "read",
    });
    assert_eq!(Json::Object(all[3].settings.clone()), of_folder);
    let of_file = serde_json::json!({
        "streams": 1, "block-size": 4096, "queue-depth": 4, "direct": true,
        "access": "random-read",
    });
    assert_eq!(Json::Object(all[4].settings.clone()), of_file);
    assert!(!all[2].settings.contains_key("queue-depth"), "{:?}", all[2].settings);
}

/// A time of less than a millisecond bounds a rate from below: 8 in it are 8000 a second or more.
#[test]
fn a_rate_in_no_time_is_as_high_as_it_says_and_none_is_made_up() {
    for (text, old) in [(TEXT_OF_2, "      13377"), (CSV_OF_2, ",13377,")] {
        let less = text.replacen(old, &old.replace("13377", "7377"), 1);
        assert!(why(&less).contains("its entries per second are 7377"), "{}", why(&less));
        let none = text.replacen(old, &old.replace("13377", "0"), 1);
        lacks(&parse(&none).unwrap()[2], &["last_done_stat_per_s"]);
    }
}

const JSON_OF_3: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.0-json.txt");
const TEXT_OF_3: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.0-people.txt");
const CSV_OF_3: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.0-csv.txt");

/// Up to 3.0-35 the version and the command line stood in no object of their own: no command line
/// was found, and whatever 3.0-27 had written was refused.
#[test]
fn the_json_of_3_0_is_read_run_by_run() {
    let all = ELBENCHO.read(&as_printed(JSON_OF_3)).unwrap();
    let due: [&[(&str, f64)]; 3] = [
        &[
            ("mkdir_per_s", 376.0),
            ("last_done_mkdir_per_s", 663.0),
            ("write_throughput_bytes_per_s", 192_308_845.0),
            ("last_done_write_throughput_bytes_per_s", 167_371_305.0),
            ("write_iops", 366.0),
            ("write_latency_ns_mean", 2_890_000.0),
            ("stat_per_s", 13_289.0),
            ("last_done_stat_per_s", 2020.0),
            ("read_throughput_bytes_per_s", 248_145_125.0),
            ("read_iops", 473.0),
            ("read_latency_ns_max", 3_975_000.0),
        ],
        &[
            ("read_throughput_bytes_per_s", 51_403_304.0),
            ("read_iops", 12_549.0),
            ("last_done_read_iops", 12_549.0),
            ("read_latency_ns_min", 51_000.0),
            ("read_latency_ns_mean", 185_000.0),
        ],
        &[
            ("unlink_per_s", 468.0),
            ("last_done_unlink_per_s", 163.0),
            ("rmdir_per_s", 1865.0),
            ("last_done_rmdir_per_s", 1310.0),
            ("rmdir_latency_ns_max", 394_000.0),
        ],
    ];
    assert_eq!(all.len(), due.len());
    for (said, figures) in all.iter().zip(due) {
        has(said, figures);
        assert_eq!((said.version.as_str(), said.settings.len()), ("3.0-27", 0));
    }
    // Without its READ the first run has not that of the second.
    let lines: Vec<&str> = JSON_OF_3.split_inclusive('\n').collect();
    let lost = [&lines[..3], &lines[4..]].concat().concat();
    assert!(why(&lost).contains("cut short: it has no READ"), "{}", why(&lost));
}

#[test]
fn text_and_csv_of_3_0_tell_the_same_of_a_mix_too() {
    let text = parse(TEXT_OF_3).unwrap();
    let rows = ELBENCHO.read(&as_printed(CSV_OF_3)).unwrap();
    let due = ["MKDIRS", "WRITE", "STAT", "READ", "READ", "RWMIX70", "RMFILES", "RMDIRS"];
    for all in [&text, &rows] {
        assert_eq!(titles(all), due);
        let mib = 1_048_576.0;
        has(
            &all[5],
            &[
                ("write_throughput_bytes_per_s", 49.0 * mib),
                ("last_done_write_throughput_bytes_per_s", 30.0 * mib),
                ("read_throughput_bytes_per_s", 160.0 * mib),
                ("last_done_read_throughput_bytes_per_s", 98.0 * mib),
                ("write_iops", 3139.0),
                ("read_iops", 10_256.0),
                ("last_done_read_iops", 6297.0),
                ("write_latency_ns_mean", 334_000.0),
                ("read_latency_ns_mean", 242_000.0),
            ],
        );
        has(&all[1], &[("write_throughput_bytes_per_s", 183.0 * mib), ("write_iops", 366.0)]);
        has(&all[2], &[("stat_per_s", 13_289.0), ("last_done_stat_per_s", 2020.0)]);
        has(&all[4], &[("read_iops", 12_549.0), ("read_latency_ns_min", 51_000.0)]);
        has(&all[6], &[("last_done_unlink_per_s", 163.0)]);
    }
    assert_eq!(figure(&text[5], "write_latency_ns_max"), Some(2_030_000.0));
    assert_eq!(figure(&rows[5], "write_latency_ns_max"), Some(2_034_000.0));
    assert_eq!((rows[5].version.as_str(), rows[5].settings.get("access")), ("3.0-27", None));
    assert_eq!(rows[4].settings["access"], "random-read");
}

/// What 3.1 prints of a mix, as in `printPhaseResultsToStream`.
const MIX: &str = "\
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
RWMIX70     Elapsed time     :   1m0.000s    1m0.000s
            IOPS write       :        3000        3000
            IOPS read        :        7000        7000
            IOPS total       :       10000       10000
            MiB/s write      :          11          11
            MiB/s read       :          27          27
            MiB/s total      :          39          39
            MiB write        :         703         703
            MiB read         :        1640        1640
            IO wr latency    : [ min=60us avg=1.10ms max=12.5ms ]
            IO rd latency    : [ min=50us avg=900us max=1.20s ]
---
";

#[test]
fn a_mix_has_its_reads_and_its_writes() {
    let said = &parse(MIX).unwrap()[0];
    for (name, value) in [
        ("write_throughput_bytes_per_s", 11.0 * 1_048_576.0),
        ("read_throughput_bytes_per_s", 27.0 * 1_048_576.0),
        ("write_iops", 3000.0),
        ("last_done_read_iops", 7000.0),
        ("write_latency_ns_mean", 1_100_000.0),
        ("read_latency_ns_max", 1_200_000_000.0),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
    assert_eq!(figure(said, "iops"), None);
    let base10 = MIX.replace("MiB/s ", "MB/s ").replace(" 27", " 28").replace(" 11", " 12");
    let said = &parse(&base10).unwrap()[0];
    assert_eq!(figure(said, "read_throughput_bytes_per_s"), Some(28e6));
}

#[test]
fn what_is_not_whole_not_read_or_contradicts_itself_is_refused_and_why_is_said() {
    for (text, old, new, due) in [
        (OLD, "11786", "11986", "of its phase WRITE its bytes per second are 11986"),
        (OLD, "902432", "912432", "of its phase WRITE its bytes per second are 11786"),
        (OLD, "76564", "86564", "of its phase WRITE its bytes per second are 11786"),
        (PEOPLE, "16962", "17962", "its entries per second are 17962"),
        (PEOPLE, "avg=469us", "avg=469ms", "not between the others"),
        (PEOPLE, "50%<=512", "50%<=112", "makes no sense"),
        (PEOPLE, "STAT  ", "STAT+r", "a phase `STAT+r`, which is not read"),
        (S3, "MKBUCKETS ", "PUTBACL   ", "a phase `PUTBACL`, which is not read"),
        (TEXT_OF_2, "Dirs lat us ", "IO lat us   ", "MKDIRS it has IOPS, or latencies of I/Os"),
        (TEXT_OF_2, "Dirs lat % us ", "IO lat % us   ", "latencies of I/Os, and no bytes"),
        (TEXT_OF_3, "IO rd latency ", "Files latency ", "latencies of entries and no entries"),
        (TEXT_OF_2, "50%<=11585 75%<=16384", "50%<=43634 75%<=43634", "too high for its mean"),
        (OLD, "Throughput MiB/s", "Throughput GiB/s", "bytes in all and none per second"),
        (OLD, "  Total MiB  ", "  Throughput MiB/s ", "`Throughput MiB/s` twice"),
        (CSV, "3494,2941,3494,2941", "3494,2941,3594,2941", "its bytes per second are 3594"),
        (CSV, ",32,32,8192,8192,", ",32,32,8192,", "36 of 37 columns"),
        (CSV, "READ,846,905", "READ+s,846,905", "a phase `READ+s`, which is not read"),
        (CSV, ",553,3223,6922", ",553,,6922", "not all of `IO lat us`"),
    ] {
        assert!(text.contains(old), "{old}");
        let why = why(&text.replacen(old, new, 1));
        assert!(why.contains(due), "{old}: {why}");
    }
    assert!(why(OLD.trim_end_matches("---\n")).contains("phase DROPCACHE has no line `---`"));
    let old = "OPERATION RESULT TYPE   FIRST DONE  LAST DONE\nWRITE     time ms      :   10   12\n";
    assert!(why(old).contains("of elbencho 1.0 to 1.2"), "{}", why(old));
    assert!(why(READ.replace("\"READ\"", "\"RWMIX50\"").as_str()).contains("bring its text"));
}

/// Lines of a log between, and columns that were added or moved, change no figure.
#[test]
fn what_stands_between_and_where_a_column_stands_says_nothing() {
    let mut random = base::stats::testing::Random::new(20_261_129);
    let (mut tried, mut kept) = (0, 0);
    for text in [OLD, RANDOM, TEXT_OF_2, TEXT_OF_3, S3, PEOPLE, MIX] {
        let lines: Vec<&str> = text.lines().collect();
        for _ in 0..40 {
            let at = (random.uniform() * lines.len() as f64) as usize;
            let more = ["", "NOTE: a file is sparse", "            IOs total : 17 19"];
            let more = more[(random.uniform() * 3.0) as usize];
            let perturbed = [&lines[..at], &[more], &lines[at..]].concat().join("\n") + "\n";
            tried += 1;
            kept += usize::from(same_or_refused(&ELBENCHO, text, &perturbed, 0.0));
        }
    }
    for _ in 0..80 {
        let (from, to) = ((random.uniform() * 36.0) as usize, (random.uniform() * 36.0) as usize);
        let moved = |line: &str| {
            let mut cells: Vec<&str> = line.split(',').collect();
            if cells.len() == 37 {
                let cell = cells.remove(from.max(1));
                cells.insert(to.max(1), cell);
                cells.push(if line.starts_with("ISO") { "more" } else { "17" });
            }
            cells.join(",") + "\n"
        };
        let perturbed: String = CSV.lines().map(moved).collect();
        tried += 1;
        kept += usize::from(same_or_refused(&ELBENCHO, CSV, &perturbed, 0.0));
    }
    assert!(kept * 10 > tried * 8, "{kept} of {tried}");
}
