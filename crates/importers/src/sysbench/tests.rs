//! What is read of sysbench, by outputs that were recorded.

use super::*;
use crate::testing::{figure, rounded, same_or_refused};
use base::stats::testing::Random;

const READ: &str = include_str!("../../../../tests/fixtures/tools/sysbench-1.0.20-read.txt");
const WRITE: &str = include_str!("../../../../tests/fixtures/tools/sysbench-1.0.20-write.txt");
const MIXED: &str = include_str!("../../../../tests/fixtures/tools/sysbench-1.0.20-mixed.txt");
const MEMORY: &str = include_str!("../../../../tests/fixtures/tools/sysbench-1.0.20-memory.txt");
const OLTP: &str = include_str!("../../../../tests/fixtures/tools/sysbench-1.0.20-oltp.txt");
const FAILED: &str =
    include_str!("../../../../tests/fixtures/tools/sysbench-1.0.20-failed-refused.txt");
const OLD: &str = include_str!("../../../../tests/fixtures/tools/sysbench-0.4.12-sequential.txt");
const OLD_FILES: &str = include_str!("../../../../tests/fixtures/tools/sysbench-0.4.12-fileio.txt");
const OLD_MEMORY: &str =
    include_str!("../../../../tests/fixtures/tools/sysbench-0.4.12-memory.txt");
const OLD_OLTP: &str = include_str!("../../../../tests/fixtures/tools/sysbench-0.4.12-oltp.txt");
const OLD_THREADS: &str =
    include_str!("../../../../tests/fixtures/tools/sysbench-0.4.12-threads.txt");
const OLD_CPU: &str = include_str!("../../../../tests/fixtures/tools/sysbench-0.4.12-cpu.txt");
const FIVE_FILES: &str = include_str!("../../../../tests/fixtures/tools/sysbench-0.5-fileio.txt");
const FIVE_OLTP: &str = include_str!("../../../../tests/fixtures/tools/sysbench-0.5-oltp.txt");
const NEW_FILES: &str = include_str!("../../../../tests/fixtures/tools/sysbench-1.1.0-mixed.txt");
const NEW_MEMORY: &str = include_str!("../../../../tests/fixtures/tools/sysbench-1.1.0-memory.txt");
const NEW_CPU: &str = include_str!("../../../../tests/fixtures/tools/sysbench-1.1.0-cpu.txt");
const NEW_OLTP: &str = include_str!("../../../../tests/fixtures/tools/sysbench-1.1.0-oltp.txt");

/// The only result.
fn one(text: &str) -> ToolResult {
    let mut all = parse(text).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn rates_and_waits_are_read_and_what_was_not_done_has_none() {
    let said = one(READ);
    assert_eq!((said.version.as_str(), said.title.as_str()), ("1.0.20", "random read"));
    assert_eq!(figure(&said, "read_iops"), Some(10_301.54));
    // 40.24 * 1048576.
    assert_eq!(rounded(&said, "read_throughput_bytes_per_s"), Some(42_194_698.24));
    assert_eq!(rounded(&said, "latency_ns_p99"), Some(780_000.0));
    assert_eq!(figure(&said, "write_iops"), None);
    let due = serde_json::json!({
        "streams": 1, "direct": true, "files": 2, "file-size": 8 << 20, "block-size": 4096,
        "io-engine": "sync", "access": "random-read",
    });
    assert_eq!(Json::Object(said.settings), due);
    let wrote = one(WRITE);
    assert!(figure(&wrote, "write_throughput_bytes_per_s") > Some(1e5));
    assert_eq!(figure(&wrote, "read_iops"), None);
    assert_eq!(parse(&format!("{READ}{WRITE}")).unwrap().len(), 2);
}

/// Of 0.4.12 "`avg: 0.37ms` in its output has no number": it has another form. 41.46Mb/sec are
/// 41.46 * 1048576 = 43473960.96 B/s.
#[test]
fn what_0_4_prints_is_read() {
    let said = one(OLD);
    assert_eq!(
        (said.version.as_str(), said.title.as_str()),
        ("0.4.12", "sequential write (creation)")
    );
    assert_eq!(rounded(&said, "write_throughput_bytes_per_s"), Some(43_473_960.96));
    assert_eq!(figure(&said, "write_iops"), Some(2653.47));
    assert_eq!(rounded(&said, "latency_ns_mean"), Some(370_000.0));
    assert_eq!(rounded(&said, "latency_ns_max"), Some(1_604_230_000.0));
    assert_eq!(rounded(&said, "latency_ns_p95"), Some(140_000.0));
    assert_eq!(said.settings["file-size"], 64 << 20);
    assert_eq!(
        (&said.settings["direct"], &said.settings["access"]),
        (&false.into(), &"write".into())
    );
    let all = parse(OLD_FILES).unwrap();
    let titles: Vec<&str> = all.iter().map(|said| said.title.as_str()).collect();
    assert_eq!(titles, ["random read", "random r/w"]);
    // 368.44 * 1048576 and 120.83 * 1048576.
    assert_eq!(rounded(&all[0], "read_throughput_bytes_per_s"), Some(386_337_341.44));
    assert_eq!(all[0].settings["direct"], true);
    assert_eq!(figure(&all[0], "read_iops"), Some(23_579.86));
    // What it read and wrote has one rate.
    assert_eq!(rounded(&all[1], "throughput_bytes_per_s"), Some(126_699_438.08));
    assert_eq!(figure(&all[1], "iops"), Some(7733.1));
    assert_eq!(figure(&all[1], "latency_ns_mean"), None, "0.00 ms were rounded away");
    assert_eq!(all[1].settings["access"], "random-mix");
    // Half a GiB a second has another letter: 1.1322 * 2^30.
    let fast = OLD_FILES.replace("(368.44Mb/sec)", "(0.35980Gb/sec)");
    assert_eq!(
        rounded(&parse(&fast).unwrap()[0], "read_throughput_bytes_per_s"),
        Some((0.3598 * 1_073_741_824.0_f64 * 1000.0).round() / 1000.0)
    );
}

/// 0.5: `prepare` has a rate, 470.80 * 1048576 = 493669580.8, and rates are those of 0.4.
#[test]
fn what_0_5_prints_is_read_and_prepare_is_a_result() {
    let all = parse(FIVE_FILES).unwrap();
    let titles: Vec<&str> = all.iter().map(|said| said.title.as_str()).collect();
    assert_eq!(titles, ["prepare", "sequential rewrite", "random r/w"]);
    assert_eq!(rounded(&all[0], "write_throughput_bytes_per_s"), Some(493_669_580.8));
    assert_eq!(figure(&all[1], "write_iops"), Some(9155.02));
    assert_eq!(all[1].settings["access"], "rewrite");
    // 87.547 * 1048576.
    assert_eq!(rounded(&all[2], "throughput_bytes_per_s"), Some(91_799_683.072));
    assert_eq!(rounded(&all[2], "latency_ns_p99"), Some(3_990_000.0));
    assert_eq!(all[2].settings["direct"], true);
    let said = &parse(MIXED).unwrap()[0];
    assert!(said.title == "prepare" && figure(said, "write_throughput_bytes_per_s") > Some(1e8));
    let odd = FIVE_FILES.replace("(470.80 MB/sec)", "(870.80 MB/sec)");
    assert!(parse(&odd).unwrap_err().contains("not its bytes by its seconds"));
}

/// 1.1 has both units: 22.12 MiB/s are 23194501.12 B/s, and 23.19 MB/s.
#[test]
fn what_1_1_prints_of_files_ends_with_its_waits() {
    let said = one(NEW_FILES);
    assert_eq!((said.version.as_str(), said.title.as_str()), ("1.1.0", "random r/w"));
    assert_eq!(rounded(&said, "read_throughput_bytes_per_s"), Some(23_194_501.12));
    assert_eq!(rounded(&said, "write_throughput_bytes_per_s"), Some(15_466_496.0));
    assert_eq!(figure(&said, "read_iops"), Some(5662.0));
    assert_eq!(figure(&said, "write_iops"), Some(3774.84));
    assert_eq!(figure(&said, "fsync_per_s"), Some(190.61));
    assert_eq!(rounded(&said, "latency_ns_p95"), Some(170_000.0));
    let odd = NEW_FILES.replace("(23.19 MB/s)", "(22.12 MB/s)");
    assert!(parse(&odd).unwrap_err().contains("two rates that are not one"));
    let block = NEW_FILES.replace("Block size 4KiB", "Block size 16KiB");
    assert!(parse(&block).unwrap_err().contains("operations of a block's size"));
    let mixed = &parse(MIXED).unwrap()[1];
    assert!(figure(mixed, "read_iops") > figure(mixed, "write_iops"));
    assert_eq!(mixed.settings["access"], "random-mix");
}

/// MB and MiB are the same: 19373.86 * 1048576 = 20314964623.36.
#[test]
fn memory_is_read_whatever_it_calls_its_mib() {
    let old = one(OLD_MEMORY);
    assert_eq!(rounded(&old, "memory_throughput_bytes_per_s"), Some(20_314_964_623.36));
    assert_eq!(figure(&old, "memory_operations_per_s"), Some(2_479_854.59));
    assert_eq!((old.title.as_str(), &old.settings["streams"]), ("memory, read", &1.into()));
    for (text, mib, operations, title) in [
        (MEMORY, 4168.12, 4_268_151.56, "memory, write"),
        (NEW_MEMORY, 1454.66, 1_489_574.96, "memory, read"),
    ] {
        let said = one(text);
        assert_eq!(figure(&said, "memory_throughput_bytes_per_s"), Some(mib * 1_048_576.0));
        assert_eq!(figure(&said, "memory_operations_per_s"), Some(operations));
        assert_eq!((said.title.as_str(), figure(&said, "events_per_s")), (title, None));
    }
    let odd = MEMORY.replace("(4168.12 MiB/sec)", "(416.81 MiB/sec)");
    assert!(parse(&odd).unwrap_err().contains("not its count by its time"));
}

#[test]
fn what_has_no_rate_has_the_time_of_all_its_events() {
    let cpu = one(NEW_CPU);
    assert_eq!((cpu.title.as_str(), figure(&cpu, "events_per_s")), ("cpu", Some(1114.41)));
    assert_eq!(figure(&cpu, "elapsed_s"), None);
    let odd = NEW_CPU.replace("1114.4109", "1115.4109");
    assert!(parse(&odd).unwrap_err().contains("events per second are"));
    let without = NEW_CPU.replace("    events per second:  1114.41\n", "");
    assert!(
        parse(&without.replace("events/s (eps)", "x"))
            .unwrap_err()
            .contains("no line of its events")
    );
    for (text, title, seconds, events) in
        [(OLD_CPU, "cpu", 0.0534, 1000.0), (OLD_THREADS, "threads", 0.8152, 500.0)]
    {
        let said = one(text);
        assert_eq!(said.title, title);
        assert_eq!(figure(&said, "elapsed_s"), Some(seconds));
        assert_eq!(figure(&said, "events"), Some(events));
        assert_eq!(figure(&said, "events_per_s"), None);
    }
}

#[test]
fn a_database_has_transactions_queries_and_errors() {
    let old = one(OLD_OLTP);
    assert_eq!(figure(&old, "transactions_per_s"), Some(156.48));
    assert_eq!(figure(&old, "transactions"), Some(316.0));
    assert_eq!(figure(&old, "deadlocks"), Some(0.0));
    assert_eq!(figure(&old, "read_write_requests_per_s"), Some(2973.12));
    assert_eq!(rounded(&old, "latency_ns_p95"), Some(35_340_000.0));
    let five = one(FIVE_OLTP);
    assert_eq!(figure(&five, "transactions_per_s"), Some(18.58));
    assert_eq!(figure(&five, "ignored_errors"), Some(4.0));
    assert_eq!(figure(&five, "reconnects"), Some(0.0));
    let new = one(NEW_OLTP);
    assert_eq!(figure(&new, "transactions_per_s"), Some(465.81));
    assert_eq!(figure(&new, "queries_per_s"), Some(7453.02));
    assert_eq!((new.title.as_str(), figure(&new, "events_per_s")), ("OLTP", None));
    // 0.517 ms came once, and the highest, 13.219 ms, too.
    let bins = &new.histograms[0];
    assert_eq!((bins.name.as_str(), bins.counts.iter().sum::<u64>()), ("latency_ns", 60));
    assert_eq!((bins.values[0], bins.counts[0]), (517_000, 1));
    assert_eq!((bins.values.last(), bins.values.len()), (Some(&13_219_000), 48));
    let lost = NEW_OLTP.replace("       0.608 |***************************              2\n", "");
    assert!(parse(&lost).unwrap_err().contains("58 events and the run others"));
    let sum = NEW_OLTP.replace("other:                           120", "other: 121");
    assert!(parse(&sum).unwrap_err().contains("not their sum"));
    let said = one(OLTP);
    assert_eq!(said.notes[0].text, "it was let run no faster than 60/sec");
    assert!(figure(&said, "transactions_per_s") < Some(60.0) && said.histograms.len() == 1);
    assert!(figure(&said, "latency_ns_p99").is_some());
    // Nothing is told of more than 100 s.
    let long = OLD_OLTP.replace("percentile:              35.34ms", "percentile: 100000.00ms");
    let long = one(&long);
    assert_eq!(figure(&long, "latency_ns_p95"), None);
    assert_eq!(long.notes[0].text, "its 95th percentile is 100000.00 ms or more, and left out");
}

#[test]
fn another_version_a_failure_and_checkpoints_are_refused_by_their_name() {
    for version in ["0.3.4", "2.0.1", "1.10.0"] {
        let other = READ.replace("sysbench 1.0.20", &format!("sysbench {version}"));
        let why = parse(&other).unwrap_err();
        assert!(why.contains(version) && why.contains("apt-get"), "{why}");
    }
    let why = parse(FAILED).unwrap_err();
    assert!(why.starts_with("a run of it failed: Cannot open file 'test_file.0'"), "{why}");
    let early = "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nFATAL: Cannot find it\n";
    assert_eq!(parse(early).unwrap_err(), "it failed: Cannot find it");
    let points = READ.replace(
        "Initializing random",
        "Report checkpoint(s) at 5, 10 seconds\nInitializing random",
    );
    assert!(parse(&points).unwrap_err().contains("without --report-checkpoints"));
    let nothing = OLD_FILES.replace(
        "  2000 Read, 0 Write, 0 Other = 2000 Total",
        "  0 Read, 0 Write, 0 Other = 0 Total",
    );
    assert!(parse(&nothing).unwrap_err().contains("read and wrote nothing"));
    let cleanup =
        "sysbench 0.5:  multi-threaded system evaluation benchmark\n\nRemoving test files...\n";
    assert!(
        knows(cleanup) && parse(cleanup).unwrap_err().contains("bring what `sysbench ... run`")
    );
    assert!(!knows("$ sysbench --test=fileio run\nsysbench 1.0.20\n"));
}

#[test]
fn a_run_without_its_end_is_no_result() {
    for text in [READ, OLD, OLTP] {
        let end = text.find("execution time").unwrap();
        assert!(parse(&text[..end]).unwrap_err().contains("cut short"));
        assert!(parse(&text[..end + 40]).is_err(), "its last line has no end");
        assert!(parse(&format!("{}{READ}", &text[..end])).unwrap_err().contains("no last line"));
    }
    let odd = READ.replace("reads/s:  ", "reads/s: x");
    assert!(parse(&odd).unwrap_err().contains("no number"));
    let order = READ.replace("max:                                    7.31", "max: 0.01");
    assert!(parse(&order).unwrap_err().contains("not in order"));
    let end = NEW_FILES.find("         sum:").unwrap();
    assert!(parse(&NEW_FILES[..end]).unwrap_err().contains("cut short"));
}

/// Lines of the run while it runs, other tests of the same script, blanks, and a prompt between say
/// nothing; one run more behind it leaves the first as it is.
#[test]
fn what_stands_around_a_run_changes_no_figure_of_it() {
    let mut random = Random::new(20_261_129);
    let all =
        [READ, MIXED, OLTP, OLD, OLD_FILES, OLD_OLTP, FIVE_FILES, FIVE_OLTP, NEW_FILES, NEW_OLTP];
    let (mut kept, rounds) = (0, 300);
    for round in 0..rounds {
        let whole = all[round % all.len()];
        let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
        for _ in 0..3 {
            let at = (random.uniform() * lines.len() as f64) as usize;
            match (random.uniform() * 5.0) as usize {
                0 => lines.insert(at, String::new()),
                1 => lines.insert(at, "[ 7s ] reads: 9.99 MiB/s writes: 9.99 MiB/s".to_owned()),
                2 => lines[at] = format!("\t{}  ", lines[at]),
                3 => lines.insert(0, "$ sysbench fileio --threads=9 run".to_owned()),
                _ => lines.push("$ echo latency avg: 5".to_owned()),
            }
        }
        let perturbed = format!("{}\n", lines.join("\n"));
        kept += usize::from(same_or_refused(&SYSBENCH, whole, &perturbed, 0.0));
        let two = parse(&format!("{whole}{READ}")).unwrap();
        assert!(two.starts_with(&parse(whole).unwrap()));
    }
    assert!(kept * 4 > rounds * 3, "{kept} of {rounds}");
}
