//! (pure) Tests of what bonnie++ prints.

use super::*;
use crate::testing::{figure, same_or_refused};
use base::stats::testing::Random;

const SLOW: &str = include_str!("../../../../tests/fixtures/tools/bonnie++-2.00a-slow.txt");
const DIRECT: &str = include_str!("../../../../tests/fixtures/tools/bonnie++-2.00a-direct.txt");
const QUICK: &str = include_str!("../../../../tests/fixtures/tools/bonnie++-2.00a-quick.txt");

#[test]
fn rates_are_kib_and_shares_are_of_one_processor() {
    let said = &parse(SLOW).unwrap()[0];
    assert_eq!((said.version.as_str(), said.title.as_str()), ("2.00a", "brickyard"));
    let fields: Vec<&str> = SLOW.lines().next().unwrap().split(',').collect();
    let block_write: f64 = fields[11].parse().unwrap();
    assert_eq!(figure(said, "block_write_throughput_bytes_per_s"), Some(block_write * 1024.0));
    assert!(figure(said, "rewrite_throughput_bytes_per_s") > Some(1e6));
    assert!(figure(said, "block_read_latency_ns_max") > Some(1e3));
    assert!(figure(said, "block_write_cpu_share").is_some_and(|share| share < 2.0));
    assert_eq!(said.settings["file-size"], 1500 << 20);
    assert!(!said.settings.contains_key("block-size"), "8192 is its number of seeks");
}

/// `+++++` is no zero and no figure of 99999.
#[test]
fn what_was_too_quick_for_bonnie_is_a_note_and_no_figure() {
    let said = &parse(QUICK).unwrap()[0];
    assert_eq!(figure(said, "block_write_throughput_bytes_per_s"), None);
    assert_eq!(figure(said, "block_write_cpu_share"), None);
    assert!(figure(said, "char_write_throughput_bytes_per_s").is_some());
    assert_eq!(said.notes.len(), 1);
    assert!(said.notes[0].text.contains("block write, rewrite"), "{:?}", said.notes);
}

#[test]
fn phases_that_were_left_out_are_no_figures_and_no_notes() {
    let said = &parse(DIRECT).unwrap()[0];
    assert!(figure(said, "block_write_throughput_bytes_per_s") > Some(1e6));
    assert_eq!(said.settings["file-size"], 1 << 30);
    assert!(said.figures.iter().all(|figure| !figure.name.contains("char")));
    assert!(said.figures.iter().all(|figure| !figure.name.contains("create")));
    assert!(said.notes.iter().all(|note| !note.text.contains("create")), "{:?}", said.notes);
}

#[test]
fn other_forms_of_the_line_are_refused_by_their_number() {
    let older = SLOW.replacen("1.98,", "1.97,", 1);
    assert!(parse(&older).unwrap_err().contains("1.97"));
    assert!(parse(SLOW.trim_end()).unwrap_err().contains("cut short"));
    let broken = SLOW.replacen(",1500M,", ",elephant,", 1);
    assert!(parse(&broken).is_ok_and(|said| !said[0].settings.contains_key("file-size")));
    assert!(parse("").is_err());
}

const OLD: &str = include_str!("../../../../tests/fixtures/tools/bonnie++-1.03e-three-disks.txt");
const LINE: &str = include_str!("../../../../tests/fixtures/tools/bonnie++-1.03e-line.txt");
const FAST: &str = include_str!("../../../../tests/fixtures/tools/bonnie++-1.96-fast.txt");
const PEOPLE: &str = include_str!("../../../../tests/fixtures/tools/bonnie++-1.96-people.txt");
const CEPH: &str = include_str!("../../../../tests/fixtures/tools/bonnie++-1.97-ceph.txt");
const ROUGH: &str = include_str!("../../../../tests/fixtures/tools/bonnie++-2.00a-people.txt");

/// By hand: 65284 K/sec are 65284 * 1024 = 66850816 B/s.
#[test]
fn a_table_and_its_line_are_one_result_and_blank_columns_are_no_figures() {
    let all = BONNIE.read(OLD).unwrap();
    assert_eq!(all.len(), 3);
    let said = &all[0];
    assert_eq!((said.version.as_str(), said.title.as_str()), ("1.03e", "ubuntu"));
    assert_eq!(figure(said, "block_write_throughput_bytes_per_s"), Some(66_850_816.0));
    assert_eq!(figure(said, "char_write_throughput_bytes_per_s"), None);
    assert_eq!(figure(said, "block_read_throughput_bytes_per_s"), Some(96_293.0 * 1024.0));
    assert_eq!(figure(said, "seeks_per_s"), Some(7511.0));
    assert_eq!(figure(said, "seeks_cpu_share"), Some(0.06));
    assert_eq!(figure(&all[2], "seeks_per_s"), Some(226.6));
    assert_eq!(said.settings["file-size"], 8u64 << 30);
    // A number of six digits moves the columns behind it, of which one is blank.
    assert_eq!(figure(&all[1], "block_read_throughput_bytes_per_s"), Some(142_635.0 * 1024.0));
    assert_eq!(figure(&all[1], "seeks_per_s"), Some(9058.0));
    let without: String = OLD
        .lines()
        .filter(|line| !line.starts_with("ubuntu,"))
        .map(|it| format!("{it}\n"))
        .collect();
    assert_eq!(BONNIE.read(&without).unwrap(), all);
    let odd = OLD.replacen("39589   8", "", 1);
    assert!(BONNIE.read(&odd).unwrap_err().contains("is no row of its table"));
}

#[test]
fn lines_of_older_forms_have_their_own_places() {
    let said = &BONNIE.read(LINE).unwrap()[0];
    for (name, value) in [
        ("char_write_throughput_bytes_per_s", 83_720.0 * 1024.0),
        ("rewrite_throughput_bytes_per_s", 1_185_231.0 * 1024.0),
        ("block_read_throughput_bytes_per_s", 2_828_489.0 * 1024.0),
        ("block_read_cpu_share", 0.97),
        ("seeks_per_s", 1187.5),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
    assert_eq!(said.settings["file-size"], 2u64 << 30);
    let chunk = &BONNIE.read(&LINE.replace(",2G,", ",2G:64k,")).unwrap()[0];
    assert_eq!(chunk.settings["block-size"], 65_536);
    let line = FAST.lines().last().unwrap();
    let said = &BONNIE.read(&format!("{line}\n")).unwrap()[0];
    for (name, value) in [
        ("block_write_throughput_bytes_per_s", 39_912.0 * 1024.0),
        ("seeks_per_s", 207.2),
        ("sequential_create_per_s", 170.0),
        ("random_stat_per_s", 3525.0),
        ("random_unlink_latency_ns_max", 84_789e3),
        ("block_write_latency_ns_max", 12_226e6),
        ("seeks_latency_ns_max", 3643e6),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
    let short = line.replace(",84789us", "");
    assert!(BONNIE.read(&format!("{short}\n")).unwrap_err().contains("47 fields"));
}

#[test]
fn tables_alone_are_read_where_they_say_rates() {
    let said = &BONNIE.read(PEOPLE).unwrap()[0];
    assert_eq!((said.version.as_str(), said.title.as_str()), ("1.96", "niobe"));
    assert_eq!(figure(said, "block_read_throughput_bytes_per_s"), Some(307_127.0 * 1024.0));
    assert_eq!(figure(said, "char_read_throughput_bytes_per_s"), None);
    assert_eq!(figure(said, "char_read_latency_ns_max"), Some(4213e3));
    assert_eq!(figure(said, "random_unlink_latency_ns_max"), Some(401e3));
    assert_eq!(said.settings["file-size"], 15_808u64 << 20);
    let (tables, line) = CEPH.split_at(CEPH.rfind("1.97,1.97").unwrap());
    let (table, line) = (&BONNIE.read(tables).unwrap()[0], &BONNIE.read(line).unwrap()[0]);
    assert_eq!((&table.figures, &table.settings), (&line.figures, &line.settings));
    let (first, _) = CEPH.split_once("Version  1.97       ------Sequential Create").unwrap();
    assert!(BONNIE.read(first).unwrap_err().contains("end before that of small files"));
    let row = "inez(new)        2G           87089  40 41527  27           102046  27  4145 178\n";
    let several = PEOPLE.replacen("Latency", &format!("{row}Latency"), 1);
    assert!(BONNIE.read(&several).unwrap_err().contains("several machines"));
    let (above, below) = PEOPLE.split_once("Machine").unwrap();
    assert!(BONNIE.read(&format!("{above}elephant\nMachine{below}")).is_err());
}

/// 2.00a prints 1024 as the rate of creating its 1024 files, where its CSV line has 92 a second.
#[test]
fn numbers_of_files_are_no_rates_and_rounded_ones_are_those_of_the_line() {
    let said = &BONNIE.read(ROUGH).unwrap()[0];
    let line = ROUGH.lines().last().unwrap();
    assert_eq!(BONNIE.read(&format!("{line}\n")).unwrap()[0].figures, said.figures);
    let (tables, _) = ROUGH.split_once("1.98,2.00a").unwrap();
    assert!(BONNIE.read(tables).unwrap_err().contains("are no rates; bring the CSV line"));
}

#[test]
fn a_line_that_is_not_of_the_table_before_it_is_refused() {
    for (from, to, why) in [
        ("1.97,1.97,ceph-admin", "1.97,1.97,other", "the names differ"),
        ("1466783576,8196M", "1466783576,8192M", "the sizes differ"),
        (",113486,", ",113586,", "the rates differ"),
        (",21900us,", ",21800us,", "shares or waits differ"),
        ("1.97,1.97,", "1.97,1.96,", "the versions differ"),
        ("Latency             21900us", "Latency", "are not its longest waits"),
    ] {
        assert!(CEPH.contains(from), "{from}");
        let told = BONNIE.read(&CEPH.replacen(from, to, 1));
        let told = told.unwrap_err();
        assert!(told.contains(why), "{from}: {told}");
    }
    let apart = format!("{LINE}{CEPH}");
    assert!(BONNIE.read(&apart).unwrap_err().contains("apart from them"));
}

/// Tables are pasted indented and with lines between; lines stand among others.
#[test]
fn what_says_the_same_in_another_way_gives_the_same_numbers() {
    let mut random = Random::new(20_261_131);
    let mut kept = 0;
    for round in 0..300 {
        let whole = [OLD, FAST, PEOPLE, CEPH, ROUGH, SLOW][round % 6];
        let indent = if random.uniform() < 0.5 { "    " } else { "" };
        let mut changed = String::new();
        for line in whole.lines() {
            changed.push_str(&format!("{indent}{line}\n"));
            let roll = random.uniform();
            if roll < 0.1 {
                changed.push('\n');
            } else if roll < 0.12 {
                changed.push_str("start 'em...done...\n");
            }
        }
        kept += usize::from(same_or_refused(&BONNIE, whole, &changed, 0.0));
    }
    assert!(kept > 150, "{kept}");
}
