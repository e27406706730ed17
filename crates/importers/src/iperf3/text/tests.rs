//! Tests of its text.

use super::*;
use crate::iperf3::IPERF3;
use crate::testing::{figure, fixtures, has, lacks, same_or_refused};
use base::stats::testing::Random;

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("../../../../../tests/fixtures/tools/iperf3-", $name, ".txt"))
    };
}

const TCP: &str = recorded!("3.12-people-tcp");
const UDP: &str = recorded!("3.12-people-udp");
const BOTH: &str = recorded!("3.12-people-bidir");
const BOTH_7: &str = recorded!("3.7-people-bidir");
const BOTH_UDP_9: &str = recorded!("3.9-people-bidir-udp");
const BOTH_ENDS_7: &str = recorded!("3.7-people-both-ends");
const UDP_0: &str = recorded!("3.0.12-people-udp");
const UDP_REVERSE_1: &str = recorded!("3.1.7-people-udp-reverse");
const UDP_REVERSE_5: &str = recorded!("3.5-people-udp-reverse");
const OMIT_1: &str = recorded!("3.1.7-people-omit");
const IN_G: &str = recorded!("3.16-people-format-g");
const VERBOSE_18: &str = recorded!("3.18-people-verbose");
const STOPPED: &str = recorded!("3.18-people-stopped-refused");
/// Its client was stopped after 2.2 s; without the second of its last intervals none could tell.
const SERVER_STOPPED: &str = "\
Accepted connection from 127.0.0.1, port 55764
[  5] local 127.0.0.1 port 5600 connected to 127.0.0.1 port 55774
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec  1.25 MBytes  10.5 Mbits/sec                  
[  5]   1.00-2.00   sec  1.25 MBytes  10.5 Mbits/sec                  
[  5]   1.00-2.00   sec  1.25 MBytes  10.5 Mbits/sec                  
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-2.00   sec  2.62 MBytes  11.0 Mbits/sec                  receiver
";
const SERVER_0: &str = recorded!("3.0.12-server-people");
const SERVER_6: &str = recorded!("3.6-server-people");
const SERVER_7: &str = recorded!("3.7-server-people-bidir");
const SERVER_18: &str = recorded!("3.18-server-people");

/// `81.8 Mbits/sec` of both streams are 81800000 / 8 = 10225000 B/s.
#[test]
fn the_sum_of_all_streams_is_the_result() {
    let said = parse(TCP).unwrap();
    assert_eq!((said.len(), &said[0].settings["streams"]), (1, &2.into()));
    has(
        &said[0],
        &[
            ("sent_throughput_bytes_per_s", 10_225_000.0),
            ("received_throughput_bytes_per_s", 10_225_000.0),
            ("retransmits", 0.0),
        ],
    );
    let without: String =
        TCP.lines().filter(|it| !it.starts_with("[SUM]")).map(|it| format!("{it}\n")).collect();
    assert!(parse(&without).unwrap_err().contains("2 streams and no sum"));
    let other = TCP
        .replace("9.62 MBytes", "9.75 MBytes")
        .replace("[SUM]   0.00-1.00   sec  9.75", "[SUM]   0.00-1.00   sec  8.75");
    assert!(parse(&other).is_err());
}

/// What a sender of datagrams says of their loss is zero: only the other end knows it.
#[test]
fn what_was_lost_is_what_the_receiver_counted() {
    let lossy = UDP.replace("0.011 ms  0/31 (0%)  receiver", "0.011 ms  10/31 (32%)  receiver");
    let said = &parse(&lossy).unwrap()[0];
    assert_eq!((said.version.as_str(), &said.settings["block-size"]), ("3.12", &32768.into()));
    has(
        said,
        &[
            ("sent_throughput_bytes_per_s", 1_016_250.0),
            ("lost_share", 0.323),
            ("jitter_ms", 0.011),
        ],
    );
    let other = UDP.replace("0.011 ms  0/31 (0%)  receiver", "0.011 ms  10/31 (22%)  receiver");
    assert_eq!(parse(&other).unwrap_err(), "22 % are not 10/31 of its datagrams");
    // Up to 3.1 there is one line, of the sender's bytes and of what was lost of them; the rows of
    // its intervals look the same. 298 Mbits/sec are 37250000 B/s; 6771 of 53220 are 12.7 %.
    has(
        &parse(UDP_0).unwrap()[0],
        &[
            ("sent_throughput_bytes_per_s", 37_250_000.0),
            ("lost_share", 0.127),
            ("jitter_ms", 0.005),
        ],
    );
    lacks(&parse(UDP_0).unwrap()[0], &["received_throughput_bytes_per_s"]);
    let reverse = &parse(UDP_REVERSE_1).unwrap()[0];
    assert_eq!(reverse.title, "from the server");
    // It sent 20.1 Mbits/sec; 1650 of 3491 were lost.
    has(reverse, &[("sent_throughput_bytes_per_s", 2_512_500.0), ("lost_share", 0.473)]);
    // 1.16 Gbits/sec and 194 Mbits/sec; 176476 of 211321.
    has(
        &parse(UDP_REVERSE_5).unwrap()[0],
        &[
            ("sent_throughput_bytes_per_s", 145_000_000.0),
            ("received_throughput_bytes_per_s", 24_250_000.0),
            ("lost_share", 0.835),
        ],
    );
}

#[test]
fn both_directions_stand_apart_and_one_of_the_server_says_so() {
    let said = &parse(BOTH).unwrap()[0];
    assert_eq!((said.title.as_str(), &said.settings["streams"]), ("in both directions", &1.into()));
    for name in ["sent", "received", "reverse_sent", "reverse_received"] {
        has(said, &[(&format!("{name}_throughput_bytes_per_s"), 5_112_500.0)]);
    }
    // 55.8, 53.8, 62.0 and 55.8 Mbits/sec.
    has(
        &parse(BOTH_7).unwrap()[0],
        &[
            ("sent_throughput_bytes_per_s", 6_975_000.0),
            ("received_throughput_bytes_per_s", 6_725_000.0),
            ("retransmits", 4.0),
            ("reverse_sent_throughput_bytes_per_s", 7_750_000.0),
            ("reverse_received_throughput_bytes_per_s", 6_975_000.0),
            ("reverse_retransmits", 18.0),
        ],
    );
    assert_eq!(parse(BOTH_7).unwrap()[0].settings["streams"], 2);
    // 4 of 10904.
    let udp = &parse(BOTH_UDP_9).unwrap()[0];
    assert_eq!(figure(udp, "reverse_lost_share"), Some(4.0 / 10904.0));
    let reverse = TCP.replacen("\n", "\nReverse mode, remote host 127.0.0.1 is sending\n", 1);
    assert_eq!(parse(&reverse).unwrap()[0].title, "from the server");
}

/// A server's log was refused. What it does not know of its client stands there as zero up to 3.1,
/// and of datagrams so does what it received: "0.00 bits/sec" was a figure.
#[test]
fn a_server_tells_what_it_received_of_each_run() {
    let said = parse(SERVER_0).unwrap();
    let by_server = "as the server counted it";
    assert_eq!(said.iter().map(|it| it.title.contains(by_server)).collect::<Vec<_>>(), [true; 5]);
    // 37.3 and 74.6 Mbits/sec; 29.7 that it sent itself.
    has(&said[0], &[("received_throughput_bytes_per_s", 4_662_500.0)]);
    has(&said[1], &[("received_throughput_bytes_per_s", 9_325_000.0)]);
    assert_eq!(said[1].settings["streams"], 2);
    has(&said[2], &[("sent_throughput_bytes_per_s", 3_712_500.0), ("retransmits", 1.0)]);
    assert_eq!(said[2].title, "from the server, as the server counted it");
    for (at, share) in [(3, 140.0 / 3418.0), (4, 6771.0 / 53220.0)] {
        assert_eq!(figure(&said[at], "lost_share"), Some(share));
        lacks(&said[at], &["received_throughput_bytes_per_s", "sent_throughput_bytes_per_s"]);
        assert!(said[at].notes[0].text.contains("does not say at what rate"));
    }
    lacks(&said[0], &["sent_throughput_bytes_per_s"]);
    lacks(&said[2], &["received_throughput_bytes_per_s"]);
    // 22.0 Gbits/sec, `(sender statistics not available)`.
    let one = parse(SERVER_6).unwrap();
    assert_eq!((one.len(), one[0].version.as_str()), (1, "3.6"));
    has(&one[0], &[("received_throughput_bytes_per_s", 2_750_000_000.0)]);
    // 28.6 and 30.1 Mbits/sec.
    let both = &parse(SERVER_7).unwrap()[0];
    assert_eq!(both.title, "in both directions, as the server counted it");
    has(
        both,
        &[
            ("received_throughput_bytes_per_s", 3_575_000.0),
            ("reverse_sent_throughput_bytes_per_s", 3_762_500.0),
            ("reverse_retransmits", 5.0),
        ],
    );
    lacks(both, &["sent_throughput_bytes_per_s", "reverse_received_throughput_bytes_per_s"]);
    let newer = parse(SERVER_18).unwrap();
    assert_eq!(newer.len(), 4);
    // 80.5, 60.7 and 20.0 Mbits/sec.
    has(&newer[0], &[("received_throughput_bytes_per_s", 10_062_500.0)]);
    has(&newer[1], &[("sent_throughput_bytes_per_s", 7_587_500.0)]);
    has(&newer[2], &[("received_throughput_bytes_per_s", 2_500_000.0), ("lost_share", 0.0)]);
    // A connection that no test followed is no run.
    let probed = format!("Accepted connection from 10.0.0.9, port 4711\n{SERVER_18}");
    assert_eq!(parse(&probed).unwrap().len(), 4);
    let stopped = format!("{SERVER_18}^Ciperf3: interrupt - the server has terminated\n");
    assert_eq!(parse(&stopped).unwrap().len(), 4);
}

/// With `--get-server-output` the server's table stands before the client's last line.
#[test]
fn what_the_server_printed_within_a_clients_run_is_no_run_of_its_own() {
    let said = IPERF3.read(BOTH_ENDS_7).unwrap();
    assert_eq!((said.len(), said[0].title.as_str()), (1, ""));
    // 30.4 and 29.7 Mbits/sec.
    has(
        &said[0],
        &[
            ("sent_throughput_bytes_per_s", 3_800_000.0),
            ("received_throughput_bytes_per_s", 3_712_500.0),
        ],
    );
    let json = BOTH_ENDS_7
        .replace("Server output:", "Server JSON output:\n{\n\"version\":\t\"iperf 3.7\"\n}");
    assert_eq!(IPERF3.read(&json).unwrap(), said);
}

#[test]
fn intervals_and_what_was_omitted_are_no_results() {
    // 29.9 Mbits/sec.
    has(&parse(OMIT_1).unwrap()[0], &[("sent_throughput_bytes_per_s", 3_737_500.0)]);
    assert_eq!(parse(VERBOSE_18).unwrap()[0].settings["block-size"], 131_072);
    let dated: String =
        VERBOSE_18.lines().map(|it| format!("Thu Oct 29 16:18:24 2020 {it}\n")).collect();
    assert_eq!(parse(&dated).unwrap(), parse(VERBOSE_18).unwrap());
    let rows = |keep: fn(&str) -> bool| -> String {
        TCP.lines().filter(|line| keep(line)).map(|line| format!("{line}\n")).collect()
    };
    let intervals = rows(|line| line.starts_with('[') && !line.ends_with("er"));
    assert!(knows(&intervals) && parse(&intervals).unwrap_err().contains("bring the whole output"));
    let without = rows(|line| !line.ends_with("er"));
    assert!(parse(&without).unwrap_err().contains("no results below its intervals"));
}

/// What people copy is often the table at the end alone, or several of them.
#[test]
fn a_table_without_the_lines_before_it_is_a_result_whose_direction_is_not_told() {
    let table = |text: &str| -> String {
        let rows = text.lines().skip_while(|it| !it.starts_with("- - -"));
        let rows = rows.filter(|it| it.ends_with("er") || it.ends_with("Retr"));
        rows.map(|line| format!("{line}\n")).collect()
    };
    let said = parse(&table(TCP)).unwrap();
    assert_eq!((said.len(), said[0].title.as_str()), (1, ""));
    assert_eq!(said[0].figures, parse(TCP).unwrap()[0].figures);
    assert!(said[0].notes[0].text.contains("which end sent is not told"));
    let two = format!("# one\n{}# two\n- - - - -\n{}", table(TCP), table(VERBOSE_18));
    assert_eq!(parse(&two).unwrap().len(), 2);
    // Of a server, or of one that was stopped, it has one end.
    assert!(parse(&table(SERVER_18)).unwrap_err().contains("bring the whole output"));
    assert!(parse(&table(STOPPED)).is_err());
    let rows: String =
        TCP.lines().filter(|it| it.ends_with("er")).map(|it| format!("{it}\n")).collect();
    assert!(parse(&rows).unwrap_err().contains("bring the whole output"));
}

/// `-f g` leaves one digit of a slow link's rate, or none.
#[test]
fn a_rate_of_one_digit_is_noted_and_one_of_none_refused() {
    let said = &parse(IN_G).unwrap()[0];
    assert_eq!(said.notes.len(), 1);
    assert_eq!(said.notes[0].text, "0.03 Gbits/sec has one digit, as -f asked for");
    let none = IN_G.replace("7.25 MBytes  0.03", "0.25 MBytes  0.00");
    assert!(parse(&none).unwrap_err().contains("unit that is too large"), "{none}");
    // `-f M` asks for bytes, which are of 1024: 9.75 * 1048576.
    let bytes = TCP
        .replace("81.8 Mbits/sec", "9.75 MBytes/sec")
        .replace("40.9 Mbits/sec", "4.88 MBytes/sec");
    has(&parse(&bytes).unwrap()[0], &[("sent_throughput_bytes_per_s", 10_223_616.0)]);
    let other = TCP.replace("81.8 Mbits/sec", "81.8 MBytes/sec");
    assert!(parse(&other).unwrap_err().contains("is not what it moved in 1 s"));
}

/// Of a run that was stopped what the other end counted is zero, and its own rate is of a time that
/// is too short: 2.38 MBytes in 1 s that took 1.9.
#[test]
fn a_failure_a_stop_and_a_cut_are_told_as_what_they_are() {
    let failed = "iperf3: error - unable to connect to server: Connection refused\n";
    let why = parse(&format!("Connecting to host 10.0.0.2, port 5201\n{failed}")).unwrap_err();
    assert!(knows(failed));
    assert_eq!(why, "it failed: unable to connect to server: Connection refused");
    let cut = TCP.replace(DONE, "");
    assert!(parse(&cut).unwrap_err().contains("cut short or stopped"));
    assert!(parse(STOPPED).unwrap_err().contains("stands there twice, as where a run was stopped"));
    assert!(parse(SERVER_STOPPED).unwrap_err().contains("as where a run was stopped"));
    let again = format!("{SERVER_18}{SERVER_STOPPED}");
    assert!(parse(&again).unwrap_err().starts_with("of its run 5: its interval 1.00-2.00"));
    let ended = format!("{TCP}iperf3: interrupt - the client has terminated\n");
    assert!(parse(&ended).unwrap_err().contains("of its run 2: it failed: interrupt"));
    let one_end: String =
        TCP.lines().filter(|it| !it.ends_with("receiver")).map(|it| format!("{it}\n")).collect();
    assert!(parse(&one_end).unwrap_err().contains("not the results of both ends"));
}

/// Headings are named as other versions name them, columns are padded otherwise, rows are cut away.
#[test]
fn perturbed_texts_give_the_same_figures_or_none() {
    let mut random = Random::new(20_261_129);
    let (mut kept, mut tried) = (0, 0);
    for (_, name, text) in fixtures().into_iter().filter(|it| it.0.name == "iperf3") {
        if super::super::is_json(&text) || name.contains("refused") {
            continue;
        }
        for _ in 0..60 {
            let mut lines: Vec<String> = Vec::new();
            for line in text.lines() {
                match (random.uniform() * 60.0) as usize {
                    0 if !line.starts_with("Starting") => continue,
                    1 => lines.push("WARNING: another line".to_owned()),
                    2 => lines.push(line.split_whitespace().collect::<Vec<_>>().join(" ")),
                    3 => lines.push(format!("{line}  ")),
                    4 => lines.push(line.replace("Bitrate  ", "Bandwidth")),
                    _ => {}
                }
                lines.push(line.to_owned());
            }
            let perturbed = lines.join("\n") + "\n";
            tried += 1;
            let told = IPERF3.read(&perturbed).unwrap_or_default();
            let due = IPERF3.read(&text).unwrap();
            if !told.is_empty() && told.len() == due.len() {
                kept += usize::from(same_or_refused(&IPERF3, &text, &perturbed, 0.0));
            } else {
                assert!(told.iter().all(|said| due.contains(said)), "{name}:\n{perturbed}");
            }
        }
    }
    assert!(kept * 4 > tried, "{kept} of {tried}");
}
