//! What is read of DiskSpd, by outputs that were recorded.

use super::*;
use crate::testing::{figure, has, rounded, same_or_refused};
use base::stats::testing::Random;

const ONE: &str = include_str!("../../../../tests/fixtures/tools/diskspd-2.0.21-one-thread.txt");
const EIGHT: &str =
    include_str!("../../../../tests/fixtures/tools/diskspd-2.0.21-eight-threads.txt");
const MIXED: &str = include_str!("../../../../tests/fixtures/tools/diskspd-2.1-mixed.txt");
const READ: &str = include_str!("../../../../tests/fixtures/tools/diskspd-2.2-read.txt");
const XML_READ: &str = include_str!("../../../../tests/fixtures/tools/diskspd-2.0.21a-xml.txt");
const XML_RANDOM: &str = include_str!("../../../../tests/fixtures/tools/diskspd-2.2.0-xml.txt");

fn only(text: &str) -> ToolResult {
    let all = parse(text).unwrap();
    assert_eq!(all.len(), 1);
    all.into_iter().next().unwrap()
}

fn why(text: &str) -> String {
    DISKSPD.read(text).unwrap_err()
}

/// 146169856 bytes in 30.01 s are 4870705 B/s, which are 4.645 of 2^20: it prints 4.64 MiB/s.
#[test]
fn rates_are_of_1024_and_all_figures_are_those_of_the_sums() {
    let said = only(ONE);
    for (name, value) in [
        ("throughput_bytes_per_s", 4_865_392.64),
        ("iops", 1189.03),
        ("latency_ns_mean", 840_000.0),
        ("latency_ns_min", 36_000.0),
        ("latency_ns_p50", 297_000.0),
        ("latency_ns_p90", 2_065_000.0),
        ("latency_ns_p95", 2_752_000.0),
        ("latency_ns_p99", 4_713_000.0),
        ("latency_ns_p999", 7_432_000.0),
        ("latency_ns_max", 35_257_000.0),
        ("read_throughput_bytes_per_s", 3_418_357.76),
        ("read_iops", 834.98),
        ("read_latency_ns_mean", 272_000.0),
        ("read_latency_ns_p99", 877_000.0),
        ("write_throughput_bytes_per_s", 1_447_034.88),
        ("write_iops", 354.05),
        ("write_latency_ns_p999", 8_378_000.0),
        ("host_cpu_busy_share", 0.008),
    ] {
        assert_eq!(rounded(&said, name), rounded_of(value), "{name}");
    }
    assert_eq!(said.figures[0].printed, "4.64 MiB/s");
    let known = serde_json::json!({
        "access": "random-mix", "read-share": 0.7, "block-size": 4096, "direct": true,
        "queue-depth": 1, "streams": 1,
    });
    assert_eq!(Json::Object(said.settings), known);
}

fn rounded_of(value: f64) -> Option<f64> {
    Some((value * 1000.0).round() / 1000.0)
}

#[test]
fn several_threads_have_one_sum_and_reads_alone_have_no_writes() {
    let said = only(EIGHT);
    assert_eq!(rounded(&said, "throughput_bytes_per_s"), rounded_of(188.29 * 1_048_576.0));
    assert_eq!(figure(&said, "iops"), Some(48_202.48));
    assert_eq!(figure(&said, "write_iops"), Some(24_118.86));
    assert_eq!(figure(&said, "read_latency_ns_p999"), Some(7_703_000.0));
    assert_eq!(rounded(&said, "host_cpu_busy_share"), Some(0.502));
    assert_eq!((&said.settings["streams"], &said.settings["queue-depth"]), (&8.into(), &8.into()));
    let said = only(MIXED);
    assert_eq!(figure(&said, "iops"), Some(1728.17));
    assert_eq!(figure(&said, "read_iops"), Some(1037.13));
    assert_eq!(figure(&said, "latency_ns_p50"), Some(382_000.0));
    assert_eq!(said.settings["block-size"], 65_536);
    assert_eq!(said.settings["read-share"], 0.6);
    let said = only(READ);
    assert_eq!(rounded(&said, "throughput_bytes_per_s"), rounded_of(284.80 * 1_048_576.0));
    assert_eq!(figure(&said, "iops"), Some(72_908.34));
    assert_eq!(figure(&said, "latency_ns_p95"), Some(481_000.0));
    assert!(said.figures.iter().all(|it| !it.name.contains("read") && !it.name.contains("write")));
    let settings = (&said.settings["access"], &said.settings["queue-depth"]);
    assert_eq!(settings, (&"random-read".into(), &7.into()));
}

/// `MB/s` of 2.0.17 and before were never of 10^6: a page of 2014 has 83828801536 bytes and 1279126
/// I/Os at 21314.08 I/O per s, so in 60.013 s, and 1332.13 MB/s; of 10^6 they would be 1396.84.
#[test]
fn megabytes_of_old_versions_are_of_1024_too() {
    let old = EIGHT.replace("   MiB/s   |", "    MB/s   |");
    let said = only(&old);
    assert_eq!(said.figures[0].printed, "188.29 MB/s");
    let due: Vec<f64> = only(EIGHT).figures.iter().map(|it| it.value).collect();
    assert_eq!(said.figures.iter().map(|it| it.value).collect::<Vec<_>>(), due);
    // Of these it said otherwise what was asked for.
    let asked = old
        .replace("software cache disabled\n", "software and hardware cache disabled\n")
        .replace("(read/write ratio: 50/50)", "(write/read ratio: 50/100)");
    assert_eq!(only(&asked).settings, only(EIGHT).settings);
    let sequential = asked
        .replace("using random I/O (alignment: 4096)", "")
        .replace("performing mix test (write/read ratio: 50/100)", "performing read test")
        .replace("thread stride size: 0", "stride size: 4096\n thread stride size: 0");
    assert_eq!(only(&sequential).settings["access"], "read");
    let strided = sequential.replace("stride size: 4096", "stride size: 8192");
    assert!(!only(&strided).settings.contains_key("access"));
}

/// 5961809920 bytes in 30.02 s are 198594601 B/s; 90970 I/Os are 3030.31 1/s.
#[test]
fn xml_has_its_rates_by_bytes_and_seconds() {
    let said = only(XML_READ);
    assert_eq!(said.version, "2.0.21a");
    assert_eq!(figure(&said, "throughput_bytes_per_s").map(f64::round), Some(198_594_601.0));
    assert_eq!(figure(&said, "iops").map(|it| (it * 100.0).round()), Some(303_031.0));
    assert_eq!(rounded(&said, "host_cpu_busy_share"), Some(0.032));
    assert_eq!(said.figures[0].printed, "5961809920 bytes in 30.02 s");
    assert_eq!(said.figures.len(), 3);
    let known = serde_json::json!({
        "access": "read", "block-size": 65_536, "direct": true, "queue-depth": 2, "streams": 4,
    });
    assert_eq!(Json::Object(said.settings), known);
}

/// 376041472 bytes in 5.01 s are 75058178 B/s, and 91807 I/Os 18324.75 1/s: reads alone, so they
/// are all there is. `<Random>` is the alignment that `-r4k` asked for; `<RandomAccess>` is but a
/// hint to the cache.
#[test]
fn xml_of_2_2_has_percentiles_and_the_same_rates() {
    let said = only(XML_RANDOM);
    assert_eq!(said.version, "2.2.0");
    assert_eq!(figure(&said, "throughput_bytes_per_s").map(f64::round), Some(75_058_178.0));
    assert_eq!(figure(&said, "iops").map(|it| (it * 100.0).round()), Some(1_832_475.0));
    has(
        &said,
        &[
            ("latency_ns_mean", 106_000.0),
            ("latency_ns_min", 59_000.0),
            ("latency_ns_p50", 74_000.0),
            ("latency_ns_p90", 99_000.0),
            ("latency_ns_p95", 115_000.0),
            ("latency_ns_p99", 427_000.0),
            ("latency_ns_p999", 2_609_000.0),
            ("latency_ns_max", 459_222_000.0),
        ],
    );
    assert_eq!(figure(&said, "host_cpu_busy_share"), Some(0.3345));
    assert_eq!(said.figures.len(), 11);
    let known = serde_json::json!({
        "access": "random-read", "block-size": 4096, "direct": true, "queue-depth": 2, "streams": 1,
    });
    assert_eq!(Json::Object(said.settings), known);
}

/// Percentiles as `_PrintLatencyPercentiles` prints them.
fn with_latencies(xml: &str) -> String {
    let bucket = |percentile: &str, ms: &str| {
        format!(
            "<Bucket><Percentile>{percentile}</Percentile><ReadMilliseconds>{ms}\
             </ReadMilliseconds><TotalMilliseconds>{ms}</TotalMilliseconds></Bucket>\n"
        )
    };
    let all: String = [
        ("0", "0.100"),
        ("50", "0.500"),
        ("90", "0.900"),
        ("95", "0.950"),
        ("99", "0.990"),
        ("99.9", "1.500"),
        ("100", "7.250"),
    ]
    .map(|(percentile, ms)| bucket(percentile, ms))
    .concat();
    let latency = format!(
        "<Latency><AverageReadMilliseconds>0.510</AverageReadMilliseconds>\
         <AverageTotalMilliseconds>0.510</AverageTotalMilliseconds>\n{all}</Latency>\n<Thread>\n"
    );
    xml.replacen("<Thread>\n", &latency, 1)
        .replace("<MeasureLatency>false</MeasureLatency>", "<MeasureLatency>true</MeasureLatency>")
}

#[test]
fn xml_with_latencies_has_them_and_none_is_missing() {
    let text = with_latencies(XML_READ);
    let said = only(&text);
    for (name, value) in [
        ("latency_ns_mean", 510_000.0),
        ("latency_ns_min", 100_000.0),
        ("latency_ns_p99", 990_000.0),
        ("latency_ns_p999", 1_500_000.0),
        ("latency_ns_max", 7_250_000.0),
    ] {
        assert_eq!(figure(&said, name), Some(value), "{name}");
    }
    let measured = XML_READ.replace("<MeasureLatency>false", "<MeasureLatency>true");
    assert!(why(&measured).contains("has no Latency"));
    assert!(why(&text.replace(">0.950<", ">9.950<")).contains("not in order"));
    assert!(why(&text.replace(">0.510<", ">8.510<")).contains("not in order"));
}

/// A file of several time spans: each is a result, and their sum is none.
#[test]
fn every_time_span_is_a_result_with_its_own_settings() {
    let (asked, results) = EIGHT.split_once("System information:").unwrap();
    let (_, asked_one) = asked.split_once("Input parameters:\n").unwrap();
    let (system, results) = results.split_once("Results for timespan 1:\n").unwrap();
    let second =
        asked_one.replace("timespan:   1", "timespan:   2").replace("size: 4096", "size: 4095");
    let text = format!(
        "{asked}{second}System information:{system}Results for timespan 1:\n{results}\n\
         Results for timespan 2:\n{results}\n\nTotals:\n*****\n\n\
         type   |       bytes     |     I/Os     |    MiB/s   |  I/O per s\n-----\n\
         write  |     23709818880 |      5788530 |      94.21 |   24118.86\n\
         read   |     23675183104 |      5780074 |      94.08 |   24083.62\n-----\n\
         total  |     47385001984 |     11568604 |     188.29 |   48202.48\n\n\
         total test time:\t240.00s\n"
    );
    assert!(why(&text).contains("are not"), "{}", why(&text));
    let text = text.replace("size: 4095", "size: 4096").replacen(
        "outstanding I/O operations: 8",
        "outstanding I/O operations: 9",
        1,
    );
    let all = parse(&text).unwrap();
    let titles: Vec<&str> = all.iter().map(|said| said.title.as_str()).collect();
    assert_eq!(titles, ["timespan 1", "timespan 2"]);
    assert_eq!(
        (&all[0].settings["queue-depth"], &all[1].settings["queue-depth"]),
        (&9.into(), &8.into())
    );
    assert_eq!(all[0].figures, only(EIGHT).figures);
    let (first, _) = text.split_once("Results for timespan 2:").unwrap();
    assert!(why(first).contains("results of 1 time spans of 2"), "{}", why(first));
    // Of XML, too.
    let (head, tail) = XML_READ.split_once("   <TimeSpan>\n      <TestTime").unwrap();
    let (span, _) = tail.split_once("</Results>").unwrap();
    let span = format!("   <TimeSpan>\n      <TestTime{span}");
    let missing = why(&format!("{head}{span}{span}</Results>\n"));
    assert!(missing.contains("asked for 1 time spans and has 2"), "{missing}");
}

/// Each target has percentiles of its own before those of all.
#[test]
fn percentiles_of_one_target_are_not_those_of_all() {
    let (before, chart) = MIXED.split_once("\n\n\ntotal:\n").unwrap();
    let (_, target) = MIXED.split_once("Input parameters:").unwrap();
    let (_, target) = target.split_once("\tpath: ").unwrap();
    let (target, _) = target.split_once("\nSystem").unwrap();
    let other =
        format!("\tpath: {target}\nSystem").replace("C:", "D:").replace("thread: 2", "thread: 3");
    let asked = before.replacen("\nSystem", &other, 1);
    let of_one = chart.replace("0.041", "0.043").replace("107.957", "99.957");
    for (one, all) in [
        ("\nC:\\perfdisk.io\n", "\ntotal:\n"),
        ("\nLatency distribution: C:\\a\n", "\nTotal latency distribution:\n"),
    ] {
        let text = format!("{asked}\n{one}{of_one}{all}{chart}");
        let said = only(&text);
        assert_eq!(said.figures, only(MIXED).figures);
        // What does not hold of all targets is not told.
        assert!(!said.settings.contains_key("queue-depth"));
        assert_eq!(said.settings["block-size"], 65_536);
    }
}

#[test]
fn what_is_not_whole_or_contradicts_itself_is_refused_and_why_is_said() {
    for (old, new, due) in [
        ("188.29", "189.29", "its table `Total IO` has rates that are not its bytes"),
        ("48202.48", "48302.48", "its table `Total IO` has rates that are not its bytes"),
        ("5784302 |", "5784303 |", "has another sum than its rows"),
        ("    1.327 |", "    2.327 |", "another mean latency than its rows"),
        ("thread count:           8", "thread count:           9", "9 threads and rows of 8"),
        ("50.21%", "90.21%", "makes no sense"),
        ("   50th |      1.405", "   50th |      0.405", "not in order"),
        ("Write IO\n", "", "twice"),
        ("    max |", "   xmax |", "cut short"),
        ("120.00s", "0.00s", "makes no sense"),
        ("block size: 4096", "block size: 8192", "23692500992 bytes are not 5784302 I/Os of 8192"),
        ("Results for timespan 1:", "Results for timespan 2:", "stands where those of 1 should"),
        ("Results for timespan 1:", "", "without the line `Results for timespan 1:`"),
    ] {
        let why = why(&EIGHT.replacen(old, new, 1));
        assert!(why.contains(due), "{old}: {why}");
    }
    let end = EIGHT.find("Write IO").unwrap();
    assert!(why(&EIGHT[..end]).contains("has no table `Write IO`"), "{}", why(&EIGHT[..end]));
    let end = EIGHT.find("Results").unwrap();
    assert!(why(&EIGHT[..end]).contains("results of 0 time spans of 1"));
    let end = EIGHT.find("actual").unwrap();
    let stopped = format!(
        "{}The test was interrupted before the measurements began. No results are displayed.\n",
        &EIGHT[..end]
    );
    assert!(why(&stopped).contains("interrupted before it measured"));
    let span = XML_READ.find("   <TimeSpan>\n      <TestTime").unwrap();
    let error = "<TimeSpan><Error>The test was interrupted</Error></TimeSpan></Results>";
    assert!(why(&format!("{}{error}", &XML_READ[..span])).contains("was interrupted"));
    assert!(why(&XML_READ.replace("</Results>", "")).contains("cut short"));
    assert!(why(&XML_READ.replace("<IOCount>22645", "<IOCount>22646")).contains("not all of its"));
    assert!(why(&XML_READ.replacen("<ThreadCount>4", "<ThreadCount>5", 1)).contains("5 threads"));
}

#[test]
fn a_pool_of_threads_has_no_depth_of_one_and_a_pace_is_noted() {
    let pool =
        EIGHT.replace("        path: ", "        thread pool with 8 threads\n        path: ");
    assert!(!only(&pool).settings.contains_key("queue-depth"));
    assert_eq!(only(EIGHT).notes, []);
    let slow = EIGHT.replace(
        "IO priority: normal",
        "IO priority: normal\n throughput rate-limited to 900 IOPS",
    );
    assert!(only(&slow).notes[0].text.contains("rate-limited to 900 IOPS"));
    let slow = XML_READ.replace("<Throughput>0", "<Throughput unit=\"IOPS\">900");
    assert!(only(&slow).notes[0].text.contains("rate-limited to 900 IOPS"));
}

/// Columns that later versions add, and tables that options add, say nothing of the figures.
#[test]
fn what_is_added_around_the_figures_changes_none() {
    let mut random = Random::new(20_261_129);
    let (mut tried, mut kept) = (0, 0);
    for text in [ONE, EIGHT, MIXED, READ, XML_READ, XML_RANDOM] {
        for round in 0..40 {
            let lines: Vec<&str> = text.lines().collect();
            let pick = |random: &mut Random, below: usize| {
                ((random.uniform() * below as f64) as usize).min(below - 1)
            };
            let at = pick(&mut random, lines.len());
            let column = ["| Extra |", "| 17.25 |"][round % 2];
            let perturbed = match round % 5 {
                // A column before the file, of every row.
                0 => rows_with(&lines, column),
                1 => lines.join("\r\n") + "\r\n",
                2 => [&lines[..at], &["C:\\> dir", ""], &lines[at..]].concat().join("\n") + "\n",
                3 => lines[..at].join("\n"),
                _ => format!("{text}\n{text}").replacen("# ", "", 1),
            };
            tried += 1;
            match round % 5 {
                3 => {
                    let told = DISKSPD.read(&perturbed);
                    assert!(told.is_err() || told == DISKSPD.read(text), "{perturbed}");
                }
                4 => {
                    let all = parse(&perturbed).unwrap();
                    assert_eq!(all.len(), 2);
                    assert_eq!(all[0].figures, all[1].figures);
                    kept += 1;
                }
                _ => kept += usize::from(same_or_refused(&DISKSPD, text, &perturbed, 0.0)),
            }
        }
    }
    assert!(kept * 2 > tried, "{kept} of {tried}");
}

/// With one more column in each row of its tables of I/O.
fn rows_with(lines: &[&str], column: &str) -> String {
    let more = |line: &&str| {
        let cells = line.matches('|').count();
        match line.trim_start().starts_with("total: ") {
            true => format!("{line} {}\n", column.trim_end_matches('|').replace("Extra", "0.00")),
            false if cells >= 6 && !line.contains('%') => {
                let (row, file) = line.rsplit_once('|').unwrap();
                format!("{row}{column}{file}\n")
            }
            false => format!("{line}\n"),
        }
    };
    lines.iter().map(more).collect()
}
