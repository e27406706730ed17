//! What is read of the Phoronix Test Suite, by outputs that were recorded.

use super::*;
use crate::testing::{figure, rounded, same_or_refused};
use base::stats::testing::Random;

const FIO: &str = include_str!("../../../../tests/fixtures/tools/phoronix-10.8.4-fio.txt");
const PGBENCH: &str = include_str!("../../../../tests/fixtures/tools/phoronix-10.8.4-pgbench.txt");
const LOOPBACK: &str =
    include_str!("../../../../tests/fixtures/tools/phoronix-10.8.4-loopback.txt");
const STREAM: &str = include_str!("../../../../tests/fixtures/tools/phoronix-5.6.0-stream.txt");
const FAILED: &str =
    include_str!("../../../../tests/fixtures/tools/phoronix-10.8.4-failed-refused.txt");
const PROCESSOR: &str =
    include_str!("../../../../tests/fixtures/tools/phoronix-10.8.4-processor-refused.txt");

/// `357` MB/s of fio are 357 MiB/s, which its profile says: 357 * 1048576 = 374341632, and fio's
/// 91400 IOPS of 4096 bytes are 374374400 B/s.
#[test]
fn what_fio_calls_mib_is_mib_whatever_the_suite_calls_it() {
    let all = parse(FIO).unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(figure(&all[0], figure_names::THROUGHPUT), Some(374_341_632.0));
    assert_eq!(figure(&all[1], "iops"), Some(91_400.0));
    assert_eq!(all[0].figures[0].printed, "357 MB/s");
    for said in &all {
        assert_eq!((said.version.as_str(), said.figures.len()), ("10.8.4", 1));
        let settings = Json::Object(said.settings.clone());
        let due = serde_json::json!({
            "access": "random-read", "direct": true, "block-size": 4096, "streams": 1
        });
        assert_eq!(settings, due);
        let title = "Flexible IO Tester 3.36: Type: Random Read - ";
        assert!(said.title.starts_with(title) && said.title.ends_with(" (ci)"), "{}", said.title);
    }
    // `KiB/s` are divided by 1000: from 10 on no number of fio's is of them.
    let slow = FIO.replace("<Value>357<", "<Value>7.568<");
    let all = parse(&slow).unwrap();
    assert_eq!((all.len(), figure(&all[0], "iops")), (1, Some(91_400.0)));
    assert!(all[0].notes[0].text.contains("pts/fio-2.1.0 in MB/s below 10"), "{:?}", all[0].notes);
    let old = FIO.replace("pts/fio-2.1.0", "pts/fio-1.8.0");
    assert!(parse(&old).unwrap_err().contains("only pts/fio-1.8.0 in IOPS, pts/fio-1.8.0 in MB/s"));
}

/// STREAM's MB are of 10^6 bytes; the mean of its ten runs is (3951.1 + 3995.4 + 3990.5 + 6630.8 +
/// 3993.1 + 4328.1 + 4020.4 + 3995.6 + 3971.5 + 3986.5) / 10 = 4286.3.
#[test]
fn every_system_of_a_result_is_a_result_with_its_highest_and_lowest() {
    let all = parse(STREAM).unwrap();
    let of = |title: &str| all.iter().find(|said| said.title == title).unwrap();
    let said = of("Stream 2013-01-17: Type: Scale (stream-run-0)");
    assert_eq!(rounded(said, MEMORY), Some(4_286_300_000.0));
    assert_eq!(rounded(said, "highest_memory_throughput_bytes_per_s"), Some(6_630_800_000.0));
    assert_eq!(rounded(said, "lowest_memory_throughput_bytes_per_s"), Some(3_951_100_000.0));
    assert_eq!(
        rounded(of("Stream 2013-01-17: Type: Copy (stream-run-1)"), MEMORY),
        Some(6_041_770_000.0)
    );
    assert_eq!((all.len(), said.version.as_str()), (STREAM.matches("<Entry>").count(), "5.6.0"));
    let wrong = STREAM.replace("<Value>4286.30<", "<Value>4286.40<");
    assert!(parse(&wrong).unwrap_err().contains("is not the mean of its runs"));
    let (head, rest) = STREAM.split_once("  <Result>").unwrap();
    let (result, rest) = rest.split_once("</Result>\n").unwrap();
    let twice = format!("{head}  <Result>{result}</Result>\n  <Result>{result}</Result>\n{rest}");
    assert!(parse(&twice).unwrap_err().contains("stands there twice"));
}

#[test]
fn transactions_waits_and_times_are_read_in_their_own_units() {
    let all = parse(PGBENCH).unwrap();
    assert_eq!(figure(&all[0], figure_names::TRANSACTIONS_PER_S), Some(5653.0));
    assert_eq!(figure(&all[1], "latency_ns_mean"), Some(8_845_000.0));
    assert!(all[1].title.ends_with("Mode: Read Write - Average Latency (ci)"));
    let said = &parse(LOOPBACK).unwrap()[0];
    assert_eq!(figure(said, ELAPSED), Some(17.655));
    assert_eq!(
        said.title,
        "Loopback TCP Network Performance: Time To Transfer 10GB Via Loopback (ci)"
    );
    let turned = LOOPBACK.replace("LIB", "HIB");
    assert!(parse(&turned).unwrap_err().contains("the wrong way"));
}

/// A rate of parsing JSON in GB/s is none of storage; a test that failed has no value.
#[test]
fn what_is_not_read_is_told_by_its_name() {
    let why = parse(PROCESSOR).unwrap_err();
    assert!(why.contains("only Test Install Size in Bytes"), "{why}");
    assert!(why.contains("pts/simdjson-2.0.1 in GB/s (5 times)"), "{why}");
    let why = parse(FAILED).unwrap_err();
    assert!(why.contains("no test in it gave a figure: pts/fio-2.1.0 (Type: Random"), "{why}");
    assert!(why.contains("of the system ci failed: The test quit with a non-zero"), "{why}");
    let result = |text: &str| {
        let from = text.find("  <Result>").unwrap();
        let end = text.rfind("</PhoronixTestSuite>").unwrap();
        text[from..end].to_owned()
    };
    let both = format!("{}{}", result(PROCESSOR), result(FAILED));
    let all = parse(&FIO.replace(END, &format!("{both}{END}"))).unwrap();
    assert_eq!((all.len(), all[0].notes.len(), all[1].notes.len()), (2, 2, 0));
    assert!(all[0].notes[0].text.contains("pts/simdjson-2.0.1 in GB/s (5 times)"));
    assert!(all[0].notes[1].text.contains("failed: The test quit"));
    let lines = FIO.replace("BAR_GRAPH", "LINE_GRAPH");
    assert!(parse(&lines).unwrap_err().contains("only pts/fio-2.1.0 in IOPS"));
    let profile = "<PhoronixTestSuite>\n  <TestInformation/>\n</PhoronixTestSuite>\n";
    assert!(parse(profile).unwrap_err().contains("bring the composite.xml"));
}

#[test]
fn what_is_cut_or_broken_is_told_as_that() {
    let end = FIO.rfind("</Phoronix").unwrap();
    assert!(parse(&FIO[..end]).unwrap_err().contains("cut short"));
    assert!(parse(&format!("{}{FIO}", &FIO[..end])).unwrap_err().contains("cut short"));
    assert_eq!(parse(&format!("{FIO}{PGBENCH}")).unwrap().len(), 4);
    let begin = FIO.find("  <Result>").unwrap();
    assert!(parse(&FIO[begin..]).unwrap_err().contains("with which its XML begins"));
    assert!(parse(&FIO.replacen("</Entry>", "", 1)).unwrap_err().contains("XML is broken"));
    let twice = FIO.replacen("<Value>357</Value>", "<Value>357</Value><Value>358</Value>", 1);
    assert!(parse(&twice).unwrap_err().contains("two `Value`"));
    for odd in ["-3", "0", "nan", "inf", "12,5"] {
        let odd = FIO.replace("<Value>357<", &format!("<Value>{odd}<"));
        assert!(parse(&odd).unwrap_err().contains("is no rate"));
    }
    let entity = "<!DOCTYPE x [<!ENTITY a \"aaaa\">]>";
    let doctype = FIO.replace(BEGIN, &format!("{BEGIN}{entity}"));
    assert!(parse(&doctype).unwrap_err().contains("XML is broken"));
}

/// The children of an element in another order and others between them say the same; so does a
/// result of another test before or behind.
#[test]
fn the_same_in_another_order_gives_the_same_figures() {
    let mut random = Random::new(20_261_129);
    let (mut kept, rounds) = (0, 200);
    for round in 0..rounds {
        let whole = [FIO, PGBENCH, LOOPBACK, STREAM][round % 4];
        let mut lines: Vec<&str> = whole.lines().collect();
        for _ in 0..4 {
            let at = (random.uniform() * lines.len() as f64) as usize;
            let is_leaf = |line: &str| {
                line.contains("</")
                    && line.trim_start().starts_with('<')
                    && !line.trim_start().starts_with("</")
            };
            match (random.uniform() * 4.0) as usize {
                0 if at + 1 < lines.len() && is_leaf(lines[at]) && is_leaf(lines[at + 1]) => {
                    lines.swap(at, at + 1);
                }
                1 if lines[at].contains("<Entry>") => lines.insert(at + 1, "<Cost>5</Cost>"),
                2 => lines.insert(at, "<!-- 99 MB/s -->"),
                3 if lines[at].contains("<Result>") => {
                    lines.insert(at, "<Other><Value>7</Value></Other>");
                }
                _ => {}
            }
        }
        let perturbed = lines.join("\n");
        kept += usize::from(same_or_refused(&PHORONIX, whole, &perturbed, 0.0));
        let cut = (random.uniform() * whole.len() as f64) as usize;
        let cut = String::from_utf8_lossy(&whole.as_bytes()[..cut]).into_owned();
        assert!(parse(&cut).is_err());
    }
    assert!(kept * 2 > rounds, "{kept} of {rounds}");
}
