//! What is read of vdbench, by outputs that were recorded.

use super::*;
use crate::testing::{figure, rounded, same_or_refused};
use base::stats::testing::Random;

const FLAT: &str = include_str!("../../../../tests/fixtures/tools/vdbench-5.04.07-flatfile.txt");
const FLAT_FILES: &str =
    include_str!("../../../../tests/fixtures/tools/vdbench-5.04.06-flatfile-files.txt");
const SUMMARY: &str = include_str!("../../../../tests/fixtures/tools/vdbench-5.04.07-summary.txt");
const SUMMARY_FILES: &str =
    include_str!("../../../../tests/fixtures/tools/vdbench-5.04.06-summary-files.txt");
const PRINTED: &str = include_str!("../../../../tests/fixtures/tools/vdbench-5.04.07-printed.txt");
const TWO: &str =
    include_str!("../../../../tests/fixtures/tools/vdbench-5.04-maxdata-and-files.txt");

const FIRST: &str = include_str!("../../../../tests/fixtures/tools/vdbench-5.02-intervals.txt");

fn only(text: &str) -> ToolResult {
    let all = parse(text).unwrap();
    assert_eq!(all.len(), 1);
    all.into_iter().next().unwrap()
}

fn why(text: &str) -> String {
    VDBENCH.read(text).unwrap_err()
}

/// 105.25 I/Os of 1024 bytes are 107776 B/s, which are 0.10278 of 1024*1024 and 0.10778 of 10^6; it
/// has 0.1028.
#[test]
fn the_average_of_a_flat_file_is_the_result_and_its_mb_are_of_1024() {
    let said = only(FLAT);
    for (name, value) in [
        ("iops", 105.25),
        ("throughput_bytes_per_s", 107_793.613),
        ("latency_ns_mean", 26_000.0),
        ("latency_ns_max", 123_000.0),
        ("read_latency_ns_mean", 15_200.0),
        ("write_latency_ns_mean", 37_200.0),
        ("read_latency_ns_max", 63_000.0),
        ("write_latency_ns_max", 123_000.0),
    ] {
        assert_eq!(rounded(&said, name), Some(value), "{name}");
    }
    assert_eq!(said.figures.len(), 8);
    assert_eq!(said.title, "rd1");
    let known = serde_json::json!({
        "access": "random-mix", "read-share": 0.5, "block-size": 1024,
    });
    assert_eq!(serde_json::Value::Object(said.settings.clone()), known);
    let notes: Vec<&str> = said.notes.iter().map(|note| note.text.as_str()).collect();
    assert!(notes[0].contains("asked for 100 operations per second"), "{notes:?}");
    assert!(notes[1].contains("no average of SD_format"), "{notes:?}");
}

/// With `report=decimal` the flat file still says that MB are of 1024*1024, and they are not.
#[test]
fn megabytes_of_1000_are_told_from_the_rate_and_the_size() {
    let decimal =
        FLAT.replace("105.25 0.1028", "105.25 0.1078").replace("avg_2-5 100 ", "avg_2-5 9999988 ");
    let said = only(&decimal);
    assert_eq!(rounded(&said, "throughput_bytes_per_s"), Some(107_800.0));
    assert!(said.notes.iter().all(|note| note.kind != "rate-limited"));
    let why = why(&FLAT.replace("105.25 0.1028", "105.25 0.1058"));
    assert!(why.contains("its MB/sec are 0.1058, and not its I/Os by their size"), "{why}");
    // A report says which.
    let decimal = TWO.replace("1024**2", "1000**2").replace("2002.72", "2100.01");
    let rate = figure(&parse(&decimal).unwrap()[0], "throughput_bytes_per_s");
    assert_eq!(rate.map(f64::round), Some(2_100_010_000.0));
    assert!(super::tests::why(&TWO.replace("1024**2", "1000**2")).contains("its MB/sec are"));
}

#[test]
fn a_report_of_devices_has_the_same_of_both_layouts() {
    let said = only(SUMMARY);
    assert_eq!((said.title.as_str(), figure(&said, "iops")), ("rd1", Some(105.3)));
    assert_eq!(rounded(&said, "throughput_bytes_per_s"), Some(104_857.6));
    assert_eq!(rounded(&said, "latency_ns_mean"), Some(26_000.0));
    assert_eq!(rounded(&said, "write_latency_ns_max"), Some(120_000.0));
    assert_eq!(figure(&said, "host_cpu_busy_share"), None);
    let said = only(PRINTED);
    assert_eq!((said.version.as_str(), figure(&said, "iops")), ("5.04.07", Some(104.5)));
    assert_eq!(rounded(&said, "host_cpu_busy_share"), Some(0.046));
    assert_eq!(rounded(&said, "read_latency_ns_mean"), Some(10_000.0));
    assert_eq!(said.settings, serde_json::Map::new());
    // 8482.60 I/Os of 4096 bytes are 33.135 of 1024*1024.
    let said = only(FIRST);
    for (name, value) in [
        ("iops", 8482.6),
        ("throughput_bytes_per_s", 34_749_808.64),
        ("latency_ns_mean", 3_770_000.0),
        ("latency_ns_max", 372_672_000.0),
        ("host_cpu_busy_share", 0.074),
    ] {
        assert_eq!(rounded(&said, name), Some(value), "{name}");
    }
    assert_eq!(said.figures.len(), 5);
    let two = parse(TWO).unwrap();
    assert_eq!(two.len(), 2);
    for (name, value) in [
        ("iops", 256_348.49),
        ("throughput_bytes_per_s", 2_100_004_126.72),
        ("latency_ns_mean", 177_000.0),
        ("latency_ns_max", 30_083_000.0),
        ("read_latency_ns_mean", 224_000.0),
        ("write_latency_ns_mean", 68_000.0),
        ("host_cpu_busy_share", 0.358),
    ] {
        assert_eq!(rounded(&two[0], name), Some(value), "{name}");
    }
    assert_eq!(two[0].figures.len(), 7);
    assert_eq!(rounded(&two[1], "read_throughput_bytes_per_s"), Some(2096.0 * 1_048_576.0));
}

/// 11471.3 reads of 4096 bytes are 44.81 of 1024*1024.
#[test]
fn operations_on_files_are_told_one_by_one_and_those_that_were_not_done_are_not() {
    let due = [
        ("operations_per_s", 11_471.3),
        ("operation_latency_ns_mean", 80_100.0),
        ("throughput_bytes_per_s", 46_986_480.845),
        ("read_iops", 11_471.3),
        ("read_latency_ns_mean", 80_100.0),
        ("read_throughput_bytes_per_s", 46_986_480.845),
        ("open_per_s", 0.9),
        ("open_latency_ns_mean", 1_105_600.0),
        ("close_per_s", 0.85),
        ("close_latency_ns_mean", 701_500.0),
        ("host_cpu_busy_share", 0.017),
    ];
    let said = only(FLAT_FILES);
    for (name, value) in due {
        assert_eq!(rounded(&said, name), Some(value), "{name}");
    }
    assert_eq!(said.figures.len(), due.len());
    assert_eq!(said.settings, serde_json::Map::new());
    assert!(said.notes[0].text.contains("no average of format_for_rd1"));
    let said = only(SUMMARY_FILES);
    assert_eq!(figure(&said, "operations_per_s"), Some(11_471.0));
    assert_eq!(rounded(&said, "read_throughput_bytes_per_s"), Some(46_986_690.56));
    assert_eq!(figure(&said, "close_latency_ns_mean"), Some(701_000.0));
    assert_eq!(figure(&said, "host_cpu_busy_share").map(|it| (it * 1000.0).round()), Some(52.0));
    assert_eq!(figure(&said, "write_iops"), None);
    let said = &parse(TWO).unwrap()[1];
    assert_eq!(figure(said, "write_iops"), Some(1396.0));
    assert_eq!(figure(said, "write_throughput_bytes_per_s"), Some(1395.0 * 1_048_576.0));
    assert_eq!(figure(said, "operations_per_s"), Some(3492.2));
}

/// Of a run in one interval its average is nought, or that of the interval that warms up.
#[test]
fn what_was_over_while_it_warmed_up_has_no_average() {
    let end = PRINTED.find("16:24:31.001 Starting").unwrap();
    let short = why(&PRINTED[..end]);
    assert!(short.contains("SD_format were over in their first interval"), "{short}");
    let end = SUMMARY_FILES.find("<a name=\"_1811075214\"").unwrap();
    assert!(why(&SUMMARY_FILES[..end]).contains("format_for_rd1 were over in their first"));
}

#[test]
fn loops_are_results_of_their_own_with_the_block_size_that_they_name() {
    let (head, run) = TWO.split_once("Dec 11, 2020  interval").unwrap();
    let (run, _) = run.split_once("\nDec").unwrap();
    let run = format!("Dec 11, 2020  interval{run}");
    let one = |block: &str| {
        format!(
            "16:35:0{}.001 Starting RD=run1; I/O rate: Uncontrolled MAX; elapsed=10; For loops: \
             xfersize={block} threads=4\n\n{}",
            block.len(),
            run.replace("16:35:46", &format!("16:3{}:46", block.len()))
        )
    };
    let all = parse(&format!("{head}{}{}", one("8k"), one("8192"))).unwrap();
    assert_eq!(all.len(), 2);
    assert!(all.iter().all(|said| said.title == "run1" && said.settings["block-size"] == 8192));
    assert!(all.iter().all(|said| said.notes.is_empty()));
    let slow = one("8k").replace("Uncontrolled MAX", "5000");
    assert!(only(&slow).notes[0].text.contains("asked for 5000 operations per second"));
}

#[test]
fn the_report_of_a_part_says_so() {
    let part = SUMMARY.replace("output/summary.html</title>", "output/sd1.html</title>");
    assert!(only(&part).notes[1].text.contains("sd1 alone"), "{:?}", only(&part).notes);
}

#[test]
fn what_is_not_whole_or_contradicts_itself_is_refused_and_why_is_said() {
    for (text, old, new, due) in [
        (FLAT, " 105.25 ", " 115.25 ", "not its I/Os by their size"),
        (FLAT, "51.0689 0.026 ", "51.0689 0.036 ", "its resp is 0.036, and not of reads"),
        (FLAT, "0.0372 0.123 ", "0.0372 0.023 ", "above its longest"),
        (FLAT, "avg_2-5", "avg_2-6", "up to interval 6 and follows interval 5"),
        (FLAT, "avg_2-5 100 105.25", "avg_2-5 105.25", "is not whole"),
        (FLAT, "rd1 4 100", "rd1 7 100", "interval 7 of its run rd1 follows interval 3"),
        (FLAT, "avg_2-5 100 105.25 0.1028", "avg_2-5 100 105.25 n/a", "it has no MB/sec"),
        (FLAT, "0.026 0.0152", "-0.026 0.0152", "its resp is `-0.026`, and no number"),
        (TWO, "2096  1395 3492.2", "2096  1395 3592.2", "its MB/sec are 3592.2"),
        (SUMMARY, "pct     time     resp", "pct     time", "of no version that is known"),
    ] {
        assert!(text.contains(old), "{old}");
        let why = why(&text.replace(old, new));
        assert!(why.contains(due), "{old}: {why}");
    }
    let end = SUMMARY.find("21:16:15.029").unwrap();
    assert!(why(&SUMMARY[..end]).contains("its run `rd1` has no average"));
    let end = FLAT.find("21:16:15.033").unwrap();
    assert!(why(&FLAT[..end]).contains("its run `rd1` has no average"));
    let twice = format!("{FLAT}{}\n", FLAT.lines().last().unwrap());
    assert!(why(&twice).contains("stands there twice"));
    let kstat = "Jan 24, 2019  interval KSTAT_i/o     resp     wait  service   MB/sec   read\n";
    assert!(why(kstat).contains("no average of a run definition"), "{}", why(kstat));
}

/// Columns may be added, and stand in another order; lines of a log may stand between.
#[test]
fn columns_are_found_by_their_names() {
    let mut random = Random::new(20_261_129);
    let (mut tried, mut kept) = (0, 0);
    for text in [FLAT, FLAT_FILES] {
        for _ in 0..60 {
            let at = (random.uniform() * 30.0) as usize;
            let other = (random.uniform() * 30.0) as usize;
            tried += 1;
            kept += usize::from(same_or_refused(&VDBENCH, text, &moved(text, at, other), 0.0));
        }
    }
    for text in [FIRST, FLAT, FLAT_FILES, SUMMARY, SUMMARY_FILES, PRINTED, TWO] {
        let lines: Vec<&str> = text.lines().collect();
        for _ in 0..30 {
            let at = (random.uniform() * lines.len() as f64) as usize;
            let more = ["16:24:25.470 All slaves are now connected", "", "17 elephants"];
            let more = more[(random.uniform() * 3.0) as usize];
            let perturbed = [&lines[..at], &[more], &lines[at..]].concat().join("\n") + "\n";
            tried += 1;
            kept += usize::from(same_or_refused(&VDBENCH, text, &perturbed, 0.0));
            let cut = lines[..at].join("\n") + "\n";
            if let Ok(told) = VDBENCH.read(&cut) {
                let whole = VDBENCH.read(text).unwrap();
                let whole = whole.into_iter().take(told.len());
                for (told, due) in told.iter().zip(whole) {
                    assert_eq!(told.figures, due.figures);
                }
            }
        }
    }
    assert!(kept * 10 > tried * 8, "{kept} of {tried}");
}

/// With a new column at one place of its rows, and another of its columns moved to the end.
fn moved(text: &str, at: usize, from: usize) -> String {
    let mut all = String::new();
    for line in text.lines() {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let is_head = words.first() == Some(&"tod");
        if words.len() > 30 {
            let word = words.remove(4 + from % (words.len() - 4));
            words.push(word);
            words.insert(4 + at % (words.len() - 4), if is_head { "extra" } else { "17.25" });
            all.push_str(&words.join(" "));
        } else {
            all.push_str(line);
        }
        all.push('\n');
    }
    all
}
