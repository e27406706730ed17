//! (pure) Tests of what ioping prints.

use super::*;
use crate::testing::{figure, rounded, same_or_refused};
use base::stats::testing::Random;

const OLDEST: &str = include_str!("../../../../tests/fixtures/tools/ioping-0.6-two-machines.txt");
const OLD: &str = include_str!("../../../../tests/fixtures/tools/ioping-0.8-three-runs.txt");
const TEN: &str = include_str!("../../../../tests/fixtures/tools/ioping-0.9-ten-requests.txt");
const NEW: &str = include_str!("../../../../tests/fixtures/tools/ioping-1.3-eight-runs.txt");

fn all_of(said: &ToolResult, names: &[(&str, f64)]) {
    for (name, value) in names {
        assert_eq!(rounded(said, name), Some(*value), "{name}");
    }
    assert_eq!(said.figures.len(), names.len(), "{:?}", said.figures);
}

/// By hand: 6.41 MiB/s are 6.41 * 1048576 = 6721372.16 B/s, 4.80 KiB/s are 4915.2, 1.64 k iops are
/// 1640, 609.8 us are 609800 ns.
#[test]
fn what_completed_and_what_was_generated_are_two_figures() {
    let all = IOPING.read(NEW).unwrap();
    assert_eq!(all.len(), 8);
    assert_eq!(all[0].title, ". (ext4 /dev/vda 252.0 GiB)");
    all_of(
        &all[0],
        &[
            ("read_iops", 1640.0),
            ("read_throughput_bytes_per_s", 6_721_372.16),
            ("read_latency_ns_mean", 609_800.0),
            ("read_latency_ns_min", 73_400.0),
            ("read_latency_ns_max", 2_550_000.0),
            ("read_latency_ns_stddev", 971_800.0),
            ("generated_read_iops", 1.0),
            ("generated_read_throughput_bytes_per_s", 4915.2),
        ],
    );
    // Written, and in turns: of the latter no direction is told.
    assert_eq!(rounded(&all[1], "write_throughput_bytes_per_s"), Some(571.0 * 1024.0));
    assert_eq!(figure(&all[1], "read_iops"), None);
    assert_eq!(figure(&all[2], "iops"), Some(893.0));
    let blocks: Vec<Option<u64>> =
        all.iter().map(|said| said.settings.get("block-size").and_then(|it| it.as_u64())).collect();
    // Of `-R` it says the sizes only rounded.
    let page = Some(4096);
    assert_eq!(blocks, [page, page, page, None, None, page, Some(512), page]);
    // With numbers of periods between the requests.
    assert_eq!(figure(&all[5], "read_iops"), Some(1320.0));
}

/// "0 requests completed in 0 ns": zeros that are no measurement.
#[test]
fn a_run_of_one_request_has_no_figures_of_zero() {
    let said = &IOPING.read(NEW).unwrap()[7];
    all_of(
        said,
        &[("generated_read_iops", 254.0), ("generated_read_throughput_bytes_per_s", 1_043_865.6)],
    );
    assert_eq!(said.notes[0].kind, "no-request");
}

/// By hand: 13.3 MiB/s are 13946060.8 B/s, 318.9 mb/s are 318.9 * 1048576 = 334390886.4 B/s.
#[test]
fn older_ones_have_other_units_and_no_word_for_the_direction() {
    let all = IOPING.read(OLD).unwrap();
    assert_eq!(all.len(), 3);
    all_of(
        &all[0],
        &[
            ("iops", 3400.0),
            ("throughput_bytes_per_s", 13_946_060.8),
            ("latency_ns_mean", 293_000.0),
            ("latency_ns_min", 237_000.0),
            ("latency_ns_max", 8_700_000.0),
            ("latency_ns_stddev", 192_000.0),
        ],
    );
    assert_eq!(rounded(&all[2], "latency_ns_max"), Some(1.1e9));
    assert!(all[2].settings.is_empty(), "4.0 KiB may be 4.04");
    let all = IOPING.read(OLDEST).unwrap();
    all_of(&all[0], &[("iops", 81_633.0), ("throughput_bytes_per_s", 334_390_886.4)]);
    assert_eq!(all[0].notes[0].kind, "too-quick");
    assert_eq!(rounded(&all[1], "latency_ns_mean"), Some(700_000.0));
    assert_eq!(all[1].settings["block-size"], 4096);
    let ten = &IOPING.read(TEN).unwrap()[0];
    assert_eq!(rounded(ten, "latency_ns_stddev"), Some(2_490_000.0));
    // 0.9 writes `to` where it writes; `from` stood there before for both.
    let written = &IOPING.read(&TEN.replace(" from ", " to ")).unwrap()[0];
    assert_eq!(figure(written, "write_iops"), Some(449.0));
}

#[test]
fn numbers_that_contradict_each_other_and_runs_without_their_end_are_refused() {
    for (from, to, why) in [
        ("1.64 k iops", "1.74 k iops", "one by the mean time"),
        ("20 KiB read", "30 KiB read", "what completed by its time"),
        ("20 KiB read", "20 KiB written", "another way"),
        ("4.80 KiB/s", "5.90 KiB/s", "generated are not of its time"),
        ("609.8 us /", "59.8 us /", "the mean is not between"),
        ("971.8 us", "1.80 ms", "the deviation is larger"),
        ("5.00 s, 24 KiB, 1 iops, 4.80", "5.00 s, 48 KiB, 1 iops, 9.60", "other sizes"),
        ("--- . (ext4 /dev/vda 252.0 GiB) ioping statistics ---\n", "", "no heading"),
        ("min/avg/max/mdev = 73.4 us", "73.4 us", "is no line of the statistics"),
        ("6.41 MiB/s\ng", "6.41 Mbit/s\ng", "is no line of the statistics"),
    ] {
        assert!(NEW.contains(from), "{from}");
        let told = IOPING.read(&NEW.replacen(from, to, 1)).unwrap_err();
        assert!(told.contains(why), "{from}: {told}");
    }
    let (cut, _) = TEN.split_once("min/avg").unwrap();
    assert!(IOPING.read(cut).unwrap_err().contains("cut short within"));
    let (requests, _) = TEN.split_once("\n---").unwrap();
    assert_eq!(IOPING.read(&format!("{requests}\n")).unwrap_err(), NO_STATISTICS);
    assert_eq!(IOPING.read(&format!("{requests}\n{TEN}")).unwrap_err(), NO_STATISTICS);
    let json = "[{\"stat\": {\"bps\": 1, \"mdev\": 2}, \"load\": {}}]\n";
    assert!(knows(json) && IOPING.read(json).unwrap_err().contains("without -J"));
    let short = NEW.replacen("generated 6", "1 too fast, generated 6", 1);
    assert_eq!(IOPING.read(&short).unwrap()[0].notes[0].kind, "left-out");
}

/// `ioping -B -c 10 -i 0 .` of 1.3, in ns: 9 requests in 720419 ns are 12493 a second.
#[test]
fn a_line_of_numbers_is_read_where_the_tool_is_named_and_they_agree() {
    let line = "9 720419 12493 51170222 71857 80047 87369 5088 10 905694\n";
    assert!(!knows(line), "nothing tells whose it is");
    let said = &IOPING.read(line).unwrap()[0];
    assert_eq!(figure(said, "iops"), Some(12_493.0));
    assert_eq!(figure(said, "throughput_bytes_per_s"), Some(51_170_222.0));
    assert_eq!(figure(said, "latency_ns_mean"), Some(80_047.0));
    assert_eq!(said.settings["block-size"], 4096);
    // The same of 0.9, in us.
    let old = "9 720 12500 51200000 71 80 87 5\n";
    assert_eq!(figure(&IOPING.read(old).unwrap()[0], "latency_ns_mean"), Some(80_000.0));
    for (text, why) in [
        (line.replace("12493", "12593"), "contradict each other"),
        (line.replace(" 10 ", " 8 "), "contradict each other"),
        (line.repeat(2), "periods (-p) have no sum"),
        ("71 80 87 5\n".to_owned(), "0.6 and before"),
        ("1 2 3\n".to_owned(), "no statistics of ioping's"),
    ] {
        let told = IOPING.read(&text).unwrap_err();
        assert!(told.contains(why), "{text}: {told}");
    }
}

/// Lines between runs, times before requests (`-I`), marks behind them, runs in another order.
#[test]
fn what_says_the_same_in_another_way_gives_the_same_numbers() {
    let mut random = Random::new(20_261_129);
    let mut kept = 0;
    for round in 0..400 {
        let whole = [OLDEST, OLD, TEN, NEW][round % 4];
        let mut changed = String::new();
        for line in whole.lines() {
            let is_request = Request::of(line).is_some();
            match random.uniform() {
                roll if roll < 0.1 && is_request => {
                    changed.push_str(&format!("Nov 29 23:41:09 {line}\n"));
                }
                roll if roll < 0.2 && is_request && !line.ends_with(')') => {
                    changed.push_str(&format!("{line} (slow)\n"));
                }
                roll if roll < 0.3 && is_request => {
                    changed.push_str(&format!("{line}\n3 620311 4836 19809418 2 3 4 1 4 300363\n"));
                }
                roll if roll < 0.32 && is_request => {}
                roll if (0.32..0.325).contains(&roll) => {
                    changed.push_str(&format!("{line}\nping = 1/2/3/4 ms\n"))
                }
                _ => changed.push_str(&format!("{line}\n")),
            }
        }
        kept += usize::from(same_or_refused(&IOPING, whole, &changed, 0.0));
    }
    assert!(kept > 200, "{kept}");
}
