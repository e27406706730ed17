//! Tests.

use super::*;
use crate::testing::{figure, fixtures, has, lacks, same_or_refused};
use base::stats::testing::Random;

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/fixtures/tools/iperf2-", $name, ".txt"))
    };
}

const CLIENT: &str = recorded!("2.0-client");
const SERVER_UDP: &str = recorded!("2.0-server-udp");
const TWO_4: &str = recorded!("2.0.4-two-streams");
const BOTH_9: &str = recorded!("2.0.9-both");
const BOTH_UDP_9: &str = recorded!("2.0.9-both-udp");
const SERVER_9: &str = recorded!("2.0.9-server");
const CSV_9: &str = recorded!("2.0.9-csv");
const CSV_UDP_9: &str = recorded!("2.0.9-csv-udp");
const ENHANCED_13: &str = recorded!("2.0.13-enhanced");
const ONE_BY_ONE_13: &str = recorded!("2.0.13-one-way-then-the-other");
const UDP_13: &str = recorded!("2.0.13-udp");
const REVERSE_18: &str = recorded!("2.1.8-reverse");
const FULL_18: &str = recorded!("2.1.8-full-duplex");
const UDP_18: &str = recorded!("2.1.8-udp");
const BOUNCE: &str = recorded!("2.1.8-bounceback-refused");
const UDP_21: &str = recorded!("2.2.1-udp");

fn titles(said: &[ToolResult]) -> Vec<&str> {
    said.iter().map(|said| said.title.as_str()).collect()
}

/// `222 Mbits/sec` are 222000000 / 8 = 27750000 B/s, and 265 MBytes of 1048576 in 10 s are
/// 27787264 B/s. Its ten intervals are no results.
#[test]
fn bits_are_of_thousands_and_a_client_tells_what_it_sent() {
    let said = parse(CLIENT).unwrap();
    assert_eq!(
        (said.len(), titles(&said), &said[0].settings["streams"]),
        (1, vec!["sent"], &1.into())
    );
    has(&said[0], &[("sent_throughput_bytes_per_s", 27_750_000.0)]);
    lacks(&said[0], &["received_throughput_bytes_per_s"]);
    // `-f M`: 26.5 * 1048576.
    let bytes = CLIENT.replace("265 MBytes   222 Mbits/sec", "265 MBytes   26.5 MBytes/sec");
    has(&parse(&bytes).unwrap()[0], &[("sent_throughput_bytes_per_s", 27_787_264.0)]);
    let other = CLIENT.replace("265 MBytes   222 Mbits/sec", "265 MBytes   222 MBytes/sec");
    assert!(parse(&other).unwrap_err().contains("is not what it moved in 10 s"));
    // 9.86 Mbits/sec; 9 of 8409.
    let received = parse(SERVER_UDP).unwrap();
    assert_eq!(titles(&received), ["received"]);
    has(&received[0], &[("received_throughput_bytes_per_s", 1_232_500.0), ("jitter_ms", 2.618)]);
    assert_eq!(figure(&received[0], "lost_share"), Some(9.0 / 8409.0));
}

#[test]
fn the_sum_of_all_streams_is_the_result() {
    // 4.80 Gbits/sec.
    let said = parse(TWO_4).unwrap();
    assert_eq!((said.len(), &said[0].settings["streams"]), (1, &2.into()));
    has(&said[0], &[("sent_throughput_bytes_per_s", 600_000_000.0)]);
    let without: String =
        TWO_4.lines().filter(|it| !it.starts_with("[SUM]")).map(|it| format!("{it}\n")).collect();
    assert!(parse(&without).unwrap_err().contains("2 connections at once and no sum"));
    let other = TWO_4.replace("1.16 GBytes  4.80 Gbits/sec", "1.26 GBytes  5.15 Gbits/sec");
    assert!(parse(&other).unwrap_err().contains("its sum is not of the connections"));
    // `64/0          0` are writes, and what was sent again: 15.2 Gbits/sec.
    has(
        &parse(ENHANCED_13).unwrap()[0],
        &[("sent_throughput_bytes_per_s", 1_900_000_000.0), ("retransmits", 0.0)],
    );
}

/// The first row of `-i 1` looks like that of a run of one second: a cut would make a result of it.
#[test]
fn intervals_are_no_results() {
    let lines: Vec<&str> = CLIENT.split_inclusive('\n').collect();
    let first: String = lines[..8].concat();
    assert!(parse(&first).unwrap_err().contains("one row of one second"), "{first}");
    let some: String = lines[..12].concat();
    assert!(parse(&some).unwrap_err().contains("no row of the whole run"), "{some}");
    let more = format!("{CLIENT}[  3]  0.0-10.0 sec   275 MBytes   231 Mbits/sec\n");
    assert!(parse(&more).unwrap_err().contains("two rows of a whole run"));
    assert!(knows("[  3]  0.0-10.0 sec   265 MBytes   222 Mbits/sec\n"));
    let alone = parse("[  3]  0.0-10.0 sec   265 MBytes   222 Mbits/sec\n").unwrap_err();
    assert!(alone.contains("no line of its connection before"));
}

/// With `-d`, `-r` and `--full-duplex` one process sends and receives: its rows look alike, and the
/// ports of its connections tell them apart. Of 2.x the sum is of both directions.
#[test]
fn both_directions_are_two_results() {
    let at_once = ["sent, in both directions at once", "received, in both directions at once"];
    let tcp = parse(BOTH_9).unwrap();
    assert_eq!(titles(&tcp), at_once);
    // 20.7 and 3.47 Gbits/sec.
    has(&tcp[0], &[("sent_throughput_bytes_per_s", 2_587_500_000.0)]);
    has(&tcp[1], &[("received_throughput_bytes_per_s", 433_750_000.0)]);
    // 4.65 Mbits/sec sent, of which 4.58 arrived; 4.75 Mbits/sec received.
    let udp = parse(BOTH_UDP_9).unwrap();
    assert_eq!(titles(&udp), at_once);
    has(
        &udp[0],
        &[
            ("sent_throughput_bytes_per_s", 581_250.0),
            ("received_throughput_bytes_per_s", 572_500.0),
            ("lost_share", 0.015),
        ],
    );
    has(&udp[1], &[("received_throughput_bytes_per_s", 593_750.0), ("lost_share", 0.0)]);
    // 22.2 and 2.91 Gbits/sec.
    let one_by_one = parse(ONE_BY_ONE_13).unwrap();
    assert_eq!(titles(&one_by_one), ["sent", "received"]);
    has(&one_by_one[1], &[("received_throughput_bytes_per_s", 363_750_000.0)]);
    // 9.34 and 6.43 Gbits/sec: the star is at what came back.
    let full = parse(FULL_18).unwrap();
    assert_eq!(titles(&full), at_once);
    has(&full[0], &[("sent_throughput_bytes_per_s", 1_167_500_000.0)]);
    has(&full[1], &[("received_throughput_bytes_per_s", 803_750_000.0)]);
    let reverse = parse(REVERSE_18).unwrap();
    assert_eq!(titles(&reverse), ["received"]);
    has(&reverse[0], &[("received_throughput_bytes_per_s", 1_001_250_000.0)]);
    let headless: String = BOTH_9.lines().skip(5).map(|line| format!("{line}\n")).collect();
    assert!(parse(&headless).unwrap_err().contains("a client's or a server's is not told"));
}

#[test]
fn a_servers_log_has_a_result_of_each_run() {
    let said = parse(SERVER_9).unwrap();
    let (once, both) = ("received", ", in both directions at once");
    let due = [once, once, once, once, &format!("sent{both}"), &format!("received{both}"), once];
    assert_eq!(titles(&said), due);
    // 5.30, 2.33 of two streams, and 1.75 Gbits/sec that it sent back.
    has(&said[0], &[("received_throughput_bytes_per_s", 662_500_000.0)]);
    has(&said[1], &[("received_throughput_bytes_per_s", 291_250_000.0)]);
    assert_eq!(said[1].settings["streams"], 2);
    has(&said[4], &[("sent_throughput_bytes_per_s", 218_750_000.0)]);
}

#[test]
fn of_datagrams_the_server_tells_its_client_what_arrived() {
    // 5.25 Mbits/sec both; 0 of 895.
    has(
        &parse(UDP_18).unwrap()[0],
        &[
            ("sent_throughput_bytes_per_s", 656_250.0),
            ("received_throughput_bytes_per_s", 656_250.0),
            ("jitter_ms", 0.002),
            ("lost_share", 0.0),
        ],
    );
    // In 2.2.1 the jitter of the report is zero, of which the server's own output has 0.003 ms.
    lacks(&parse(UDP_21).unwrap()[0], &["jitter_ms"]);
    // A report of 5.1 s of a run of 3.0 s has a rate of another time: 3.10 for 5.24 Mbits/sec.
    let late = &parse(UDP_13).unwrap()[0];
    has(late, &[("sent_throughput_bytes_per_s", 655_000.0), ("lost_share", 0.0)]);
    lacks(late, &["received_throughput_bytes_per_s"]);
    assert!(late.notes[0].text.contains("3.10 Mbits/sec of 5.1 s"));
    let (cut, _) = UDP_18.split_once("[  1] Server Report:").unwrap();
    assert!(parse(cut).unwrap_err().contains("`Server Report:` of its connection 1 is missing"));
    let unanswered =
        format!("{cut}[  1] WARNING: did not receive ack of last datagram after 10 tries.\n");
    let said = &parse(&unanswered).unwrap()[0];
    lacks(said, &["received_throughput_bytes_per_s", "lost_share"]);
    assert!(said.notes[0].text.contains("did not report"));
}

/// By hand: 22672198795 bits/s of 8 bits are 2834024849.375 B/s.
#[test]
fn a_line_of_csv_is_a_row() {
    let said = parse(CSV_9).unwrap();
    assert_eq!(said.len(), 1);
    has(&said[0], &[("throughput_bytes_per_s", 2_834_024_849.375)]);
    // What was sent, and behind it what the server reported of it.
    let udp = parse(CSV_UDP_9).unwrap();
    assert_eq!(titles(&udp), ["", "received"]);
    has(&udp[0], &[("throughput_bytes_per_s", 624_992.75)]);
    has(&udp[1], &[("received_throughput_bytes_per_s", 625_460.375), ("lost_share", 0.0)]);
    // Of `-P 2` the sum is the result, twice one after the other as well.
    let two = "20261130000608,127.0.0.1,58072,127.0.0.1,6003,3,0.0-2.0,4558159872,18222953987\n\
               20261130000608,127.0.0.1,58086,127.0.0.1,6003,4,0.0-2.0,1811546112,7242288097\n";
    let sum = "20261130000608,127.0.0.1,0,127.0.0.1,6003,-1,0.0-2.0,6369705984,25465123699\n";
    let said = parse(&format!("{two}{sum}")).unwrap();
    assert_eq!((said.len(), &said[0].settings["streams"]), (1, &2.into()));
    has(&said[0], &[("throughput_bytes_per_s", 3_183_140_462.375)]);
    let again = two.replace("5807", "5907").replace("5808", "5908");
    assert_eq!(parse(&format!("{two}{sum}{again}{sum}")).unwrap().len(), 2);
    assert!(parse(two).unwrap_err().contains("several connections at once and no sum"));
    let other = sum.replace("6369705984", "6369705985");
    assert!(parse(&format!("{two}{other}")).unwrap_err().contains("not of the lines before"));
    // What went both ways at once has a sum of both.
    let back = two.replacen("58072,127.0.0.1,6003", "58072,127.0.0.2,6004", 1);
    assert!(parse(&format!("{back}{sum}")).unwrap_err().contains("sum of both directions"));
    let enhanced = format!("time,srcaddress,srcport,dstaddr,dstport,transferid\n{two}{sum}");
    assert!(parse(&enhanced).unwrap_err().contains("-y C with -e"));
    let mixed = format!("{CLIENT}{CSV_9}");
    assert!(parse(&mixed).unwrap_err().contains("bring them one by one"));
}

#[test]
fn what_failed_or_is_of_another_mode_says_so() {
    assert!(parse(BOUNCE).unwrap_err().contains("--bounceback or --isochronous"));
    let failed =
        "Client connecting to 10.0.0.1, TCP port 5001\nconnect failed: Connection refused\n";
    assert_eq!(parse(failed).unwrap_err(), "it failed: connect failed: Connection refused");
    let short = CLIENT.replace("265 MBytes   222 Mbits/sec", "265 MBytes  0.00 bits/sec");
    assert!(parse(&short).unwrap_err().contains("too short, or the unit is too large"));
    let duplex = SERVER_9.replacen("port 44952", "port 44952 (full-duplex)", 1);
    assert!(parse(&duplex).unwrap_err().contains("bring its client's"));
    assert!(parse("Server listening on TCP port 5001\n").unwrap_err().contains("no result"));
}

/// Columns are padded otherwise, other lines stand between, rows are cut away.
#[test]
fn perturbed_texts_give_the_same_figures_or_none() {
    let mut random = Random::new(20_261_201);
    let (mut kept, mut tried) = (0, 0);
    for (_, name, text) in fixtures().into_iter().filter(|it| it.0.name == "iperf2") {
        if name.contains("refused") {
            continue;
        }
        let due = IPERF2.read(&text).unwrap();
        for _ in 0..60 {
            let mut lines: Vec<String> = Vec::new();
            let mut is_lost = false;
            for line in text.lines() {
                match (random.uniform() * 40.0) as usize {
                    0 if !is_lost
                        && !["Sending", "Interval"].iter().any(|it| line.contains(it)) =>
                    {
                        is_lost = true;
                        continue;
                    }
                    1 => lines.push(format!("WARNING: another line\n{line}")),
                    2 => {
                        lines.push(line.split_whitespace().collect::<Vec<_>>().join(" "));
                        continue;
                    }
                    3 => lines.push(line.replace("Bandwidth", "Throughput")),
                    4 => lines.push(line.replace(" sec ", "  sec   ")),
                    _ => lines.push(line.to_owned()),
                }
            }
            let perturbed = lines.join("\n") + "\n";
            tried += 1;
            let told = IPERF2.read(&perturbed).unwrap_or_default();
            if !told.is_empty() && told.len() == due.len() {
                kept += usize::from(same_or_refused(&IPERF2, &text, &perturbed, 0.0));
            } else {
                let names = |said: &ToolResult| said.figures.clone();
                let all: Vec<_> = due.iter().flat_map(names).collect();
                let some: Vec<_> = told.iter().flat_map(names).collect();
                assert!(some.iter().all(|it| all.contains(it)), "{name}:\n{perturbed}");
            }
        }
    }
    assert!(kept * 3 > tried, "{kept} of {tried}");
}
