//! Tests of its JSON.

use super::*;
use crate::testing::{figure, fixtures, has, lacks, same_or_refused};
use base::stats::testing::Random;

const TCP: &str = include_str!("../../../../tests/fixtures/tools/iperf3-3.12-tcp.txt");
const UDP: &str = include_str!("../../../../tests/fixtures/tools/iperf3-3.12-udp.txt");
const BOTH: &str = include_str!("../../../../tests/fixtures/tools/iperf3-3.12-bidir.txt");
const OLD_BOTH: &str = include_str!("../../../../tests/fixtures/tools/iperf3-3.7-bidir.txt");
const OLD_BOTH_UDP: &str =
    include_str!("../../../../tests/fixtures/tools/iperf3-3.9-bidir-udp.txt");
const EVENTS: &str = include_str!("../../../../tests/fixtures/tools/iperf3-3.17-json-stream.txt");
const EVENTS_18: &str =
    include_str!("../../../../tests/fixtures/tools/iperf3-3.18-json-stream.txt");
const BOTH_ENDS: &str = include_str!("../../../../tests/fixtures/tools/iperf3-3.18-both-ends.txt");
const LOSSY: &str = include_str!("../../../../tests/fixtures/tools/iperf3-3.1.7-udp.txt");
const REFUSED: &str = include_str!("../../../../tests/fixtures/tools/iperf3-3.12-refused.txt");
const SERVER: &str = include_str!("../../../../tests/fixtures/tools/iperf3-3.12-server.txt");
const SERVER_9: &str = include_str!("../../../../tests/fixtures/tools/iperf3-3.9-server.txt");
const SERVER_1: &str = include_str!("../../../../tests/fixtures/tools/iperf3-3.1.7-server.txt");

#[test]
fn what_was_sent_and_what_arrived_are_two_figures_in_bytes() {
    let said = &parse(TCP).unwrap()[0];
    assert_eq!((said.version.as_str(), &said.settings["streams"]), ("3.12", &2.into()));
    let document: Json = serde_json::from_str(TCP).unwrap();
    let bits = document["end"]["sum_received"]["bits_per_second"].as_f64().unwrap();
    assert_eq!(figure(said, "received_throughput_bytes_per_s"), Some(bits / 8.0));
    assert!(figure(said, "sent_throughput_bytes_per_s") > Some(1e6));
    assert!(figure(said, "retransmits").is_some());
    let datagrams = &parse(UDP).unwrap()[0];
    assert!(figure(datagrams, "lost_share").is_some_and(|share| share <= 1.0));
    assert!(figure(datagrams, "jitter_ms").is_some());
}

/// Of `--bidir` the forward direction alone was kept, without a word.
#[test]
fn a_run_in_both_directions_has_the_figures_of_both() {
    let said = &parse(BOTH).unwrap()[0];
    has(
        said,
        &[
            ("sent_throughput_bytes_per_s", 114_293_366.762),
            ("received_throughput_bytes_per_s", 113_737_340.733),
            ("retransmits", 11.0),
            ("reverse_sent_throughput_bytes_per_s", 116_364_278.683),
            ("reverse_received_throughput_bytes_per_s", 115_768_881.596),
            ("reverse_retransmits", 4.0),
        ],
    );
    assert_eq!(said.title, "in both directions");
    let one = BOTH.replace("_bidir_reverse", "_other");
    assert!(parse(&one).unwrap_err().contains("run it with -R"));
    let reverse = TCP.replace("\"reverse\":\t0", "\"reverse\":\t1");
    assert_eq!(parse(&reverse).unwrap()[0].title, "from the server");
}

/// Up to 3.10 the sums of both directions have one name, and "`sum_sent` stands there twice". By
/// hand: 3538944 bytes in 1.203987 s are 23514831.97 bits/s, of 8 bits each 2939353.996 B/s; the
/// server sent 5111808 bytes in that time, which are 4245733.550 B/s, and 4194304 of them arrived
/// in 1.367201 s, 3067803.490 B/s.
#[test]
fn the_second_sum_of_a_name_is_that_of_the_servers_data() {
    let said = &parse(OLD_BOTH).unwrap()[0];
    has(
        said,
        &[
            ("sent_throughput_bytes_per_s", 2_939_353.996),
            ("received_throughput_bytes_per_s", 2_588_459.195),
            ("retransmits", 1.0),
            ("reverse_sent_throughput_bytes_per_s", 4_245_733.55),
            ("reverse_received_throughput_bytes_per_s", 3_067_803.49),
            ("reverse_retransmits", 9.0),
        ],
    );
    assert_eq!(said.settings["streams"], 1);
    // 3747800 bytes in 1.000086 s; 45 of 2816 are 1.598 %.
    has(
        &parse(OLD_BOTH_UDP).unwrap()[0],
        &[
            ("sent_throughput_bytes_per_s", 3_747_477.717),
            ("lost_share", 0.0),
            ("reverse_sent_throughput_bytes_per_s", 3_942_060.983),
            ("reverse_lost_share", 0.016),
        ],
    );
    // A third one is one too many, and what the streams moved tells the two apart.
    let sum = "\"sum_sent\":\t{\n\t\t\t\"start\":\t7},\n\t\t\"sum_sent\":";
    let third = OLD_BOTH.replacen("\"sum_sent\":", sum, 1);
    assert!(parse(&third).is_err());
    let swapped = OLD_BOTH.replace("\"sender\":\ttrue", "\"sender\":\tfalse");
    assert!(parse(&swapped).is_err());
}

/// "throughput_bytes_per_s = 131089.6" of a run that lost 32 %: the sum of datagrams is what was
/// sent.
#[test]
fn datagrams_that_were_sent_are_not_those_that_arrived() {
    let said = &parse(LOSSY).unwrap()[0];
    has(said, &[("sent_throughput_bytes_per_s", 131_089.616), ("lost_share", 0.32)]);
    lacks(said, &["throughput_bytes_per_s", "received_throughput_bytes_per_s"]);
    // Its server's processors were not measured: zeros.
    lacks(said, &["remote_cpu_share"]);
    let newer = &parse(UDP).unwrap()[0];
    lacks(newer, &["throughput_bytes_per_s"]);
    assert!(figure(newer, "received_throughput_bytes_per_s").is_some());
    let all = LOSSY.replace("\"lost_percent\": 32.02", "\"lost_percent\": 132.02");
    assert!(parse(&all).unwrap_err().contains("it lost 132.02"), "{all}");
    let few = LOSSY.replace("\"lost_packets\": 294", "\"lost_packets\": 94");
    assert!(parse(&few).unwrap_err().contains("94 of 918"), "{few}");
    let other = UDP.replacen("100128995.10048996", "200128995.10048996", 2);
    assert!(parse(&other).unwrap_err().contains("by the other"), "{other}");
}

/// `--json-stream` prints an event a line: "no JSON document of iperf3's".
#[test]
fn events_of_a_run_are_one_result_with_its_start_and_end() {
    let said = &parse(EVENTS).unwrap()[0];
    assert_eq!((said.version.as_str(), &said.settings["streams"]), ("3.17.1", &1.into()));
    has(
        said,
        &[
            ("sent_throughput_bytes_per_s", 249_964_235.594),
            ("received_throughput_bytes_per_s", 207_663_048.312),
        ],
    );
    // 30373485.943049036 bits/s.
    has(&parse(EVENTS_18).unwrap()[0], &[("sent_throughput_bytes_per_s", 3_796_685.743)]);
    assert_eq!(parse(&format!("{EVENTS}{EVENTS}")).unwrap().len(), 2);
    let lines: Vec<&str> = EVENTS.lines().collect();
    let of = |order: &[usize]| {
        parse(&order.iter().map(|at| format!("{}\n", lines[*at])).collect::<String>())
    };
    assert!(of(&[0, 1]).unwrap_err().contains("cut short"));
    assert!(of(&[1, 2]).unwrap_err().contains("no start"));
    assert!(of(&[0, 0, 2]).unwrap_err().contains("no end"));
    let failed = "{\"event\":\"error\",\"data\":\"the server is busy\"}\n";
    assert!(parse(&format!("{failed}{EVENTS}")).unwrap_err().contains("is busy"));
    // `--json-stream-full-output` has the whole run once more.
    let data = |at: usize| {
        let (_, data) = lines[at].split_once("\"data\": ").unwrap();
        data.strip_suffix('}').unwrap()
    };
    let whole = format!("{{\"start\": {}, \"end\": {}}}\n", data(0), data(2));
    assert_eq!(parse(&format!("{EVENTS}{whole}")).unwrap(), parse(EVENTS).unwrap());
    assert_eq!(parse(&whole).unwrap(), parse(EVENTS).unwrap());
}

/// A server's own JSON has zeros for what it did not see, which were figures; then it was refused.
/// By hand: 2499000 bytes in 1.000258 s are 2498355.424 B/s; of `--bidir` 3747800 bytes arrived in
/// 1.000175 s, 3747144.250 B/s, and it sent 3750600, 3749943.760 B/s.
#[test]
fn a_server_tells_what_it_received_and_nothing_of_what_was_sent() {
    let said = parse(SERVER).unwrap();
    assert_eq!(said.len(), 2);
    assert_eq!(said[0].title, "as the server counted it");
    has(&said[0], &[("received_throughput_bytes_per_s", 2_498_355.424), ("lost_share", 0.0)]);
    // What it has of its client's processors is of the client before.
    lacks(&said[0], &["sent_throughput_bytes_per_s", "remote_cpu_share"]);
    assert_eq!(said[1].title, "in both directions, as the server counted it");
    has(
        &said[1],
        &[
            ("received_throughput_bytes_per_s", 3_747_144.25),
            ("reverse_sent_throughput_bytes_per_s", 3_749_943.76),
        ],
    );
    lacks(&said[1], &["sent_throughput_bytes_per_s", "reverse_received_throughput_bytes_per_s"]);
    lacks(&said[1], &["reverse_lost_share", "reverse_jitter_ms"]);
    // Of datagrams an older one has the bytes that it sent, which are none.
    let old = parse(SERVER_9).unwrap();
    has(&old[0], &[("lost_share", 0.243), ("jitter_ms", 0.221)]);
    lacks(&old[0], &["sent_throughput_bytes_per_s", "received_throughput_bytes_per_s"]);
    assert!(old[0].notes[0].text.contains("does not say at what rate"));
    has(
        &old[1],
        &[
            ("received_throughput_bytes_per_s", 3_632_927.072),
            ("reverse_sent_throughput_bytes_per_s", 3_758_200.419),
            ("reverse_retransmits", 1.0),
        ],
    );
    let oldest = parse(SERVER_1).unwrap();
    let titles: Vec<&str> = oldest.iter().map(|said| said.title.as_str()).collect();
    let from_server = "from the server, as the server counted it";
    assert_eq!(titles, ["as the server counted it", from_server, "as the server counted it"]);
    // 3801088 bytes in 1.051118 s.
    has(&oldest[1], &[("sent_throughput_bytes_per_s", 3_616_233.736), ("retransmits", 1.0)]);
    lacks(&oldest[1], &["received_throughput_bytes_per_s"]);
    // A server that says of itself that it received and has what was sent contradicts itself.
    let reverse = SERVER_1.replacen("\"reverse\":\t0", "\"reverse\":\t1", 1);
    assert!(parse(&reverse).unwrap_err().contains("knows one end of a run"));
}

/// With `--get-server-output` the server's document stands within the client's: one run.
#[test]
fn what_the_server_printed_within_a_clients_document_is_no_run_of_its_own() {
    let said = parse(BOTH_ENDS).unwrap();
    assert_eq!((said.len(), said[0].title.as_str()), (1, ""));
    // 30347917.122004624 and 30329241.387564577 bits/s.
    has(
        &said[0],
        &[
            ("sent_throughput_bytes_per_s", 3_793_489.64),
            ("received_throughput_bytes_per_s", 3_791_155.173),
        ],
    );
    let line = TCP.replace(['\n', '\t'], "");
    assert_eq!(parse(&line).unwrap(), parse(TCP).unwrap());
}

#[test]
fn a_run_that_failed_has_no_figures_and_says_why() {
    assert!(parse(REFUSED).unwrap_err().contains("refused"), "{REFUSED}");
    let after = parse(&format!("{TCP}\n{REFUSED}")).unwrap_err();
    assert_eq!(after, "of its run 2: it failed: unable to connect to server: Connection refused");
    assert!(parse("iperf3: error - unable to connect\n").is_err());
    // A server that was stopped has told its runs, and none of its own.
    let end = REFUSED.replace("unable to connect to server: Connection refused", STOPPED);
    assert_eq!(parse(&format!("{SERVER}\n{end}")).unwrap(), parse(SERVER).unwrap());
    assert!(parse(&end).unwrap_err().contains("no run of iperf3's"));
    let mixed = format!("{TCP}\nConnecting to host 10.0.0.1, port 5201\n");
    assert!(parse(&mixed).unwrap_err().contains("cut short or stopped"));
}

const STOPPED: &str = "interrupt - the server has terminated";

/// Keys are added, numbers are printed with fewer digits, streams are left out: the same numbers.
#[test]
fn perturbed_documents_give_the_same_figures_or_none() {
    let mut random = Random::new(20_261_130);
    let (mut kept, mut tried) = (0, 0);
    for (_, name, text) in fixtures().into_iter().filter(|it| it.0.name == "iperf3") {
        if !is_json(&text) || name.contains("refused") {
            continue;
        }
        for _ in 0..60 {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            for line in &mut lines {
                if line.trim_start().starts_with("\"bytes\":") && random.uniform() < 0.2 {
                    *line = line.replace("\"bytes\":", "\"added\":\t7, \"bytes\":");
                }
                if random.uniform() < 0.2 && line.contains("\"jitter_ms\"") {
                    *line = format!("\"more\": [1, 2, {{\"sum\": 3}}], {line}");
                }
            }
            let mut perturbed = lines.join("\n") + "\n";
            let end = (random.uniform() * perturbed.len() as f64) as usize;
            match (random.uniform() * 6.0) as usize {
                0 => perturbed = perturbed.chars().take(end).collect(),
                1 if text.starts_with('{') => perturbed = perturbed.replace(['\n', '\t'], " "),
                2 => perturbed = format!("# note\n{perturbed}# note\n"),
                _ => {}
            }
            tried += 1;
            let told = IPERF3.read(&perturbed).unwrap_or_default();
            let due = IPERF3.read(&text).unwrap();
            if told.len() < due.len() {
                assert!(due.starts_with(&told), "{name}:\n{perturbed}");
            } else {
                kept += usize::from(same_or_refused(&IPERF3, &text, &perturbed, 0.0));
            }
        }
    }
    assert!(kept * 2 > tried, "{kept} of {tried}");
}
