//! (pure) iperf3: its JSON (`-J`, `--json-stream`) and its text, as the client prints them.
//!
//! Rates are printed in bits per second. What was sent and what arrived are two figures; of a run
//! in both directions (`--bidir`) those of the server's data begin with `reverse_`.

use serde_json::{Map, Value as Json, json};

use super::{Form, Importer, Said, json};

mod text;

/// See [`Importer`].
pub const IPERF3: Importer = Importer {
    name: "iperf3",
    about: "What iperf3's client prints: iperf3 -c HOST, with -J or --json-stream as well",
    forms: &[
        Form {
            bring: "-J or --json-stream of the client",
            recorded: &["3.1.7", "3.12-bidir", "3.12-tcp", "3.12-udp", "3.17"],
            read: "rates of each direction, losses, jitter, retransmissions",
            not_read: "of the server; --bidir up to 3.10",
        },
        Form {
            bring: "what its client prints for people",
            recorded: &["3.12-people"],
            read: "rates of each direction, losses, jitter, retransmissions",
            not_read: "of the server; several streams without their sum",
        },
    ],
    words: &[
        "iperf3",
        "iperf Done",
        "Retr",
        "Cwnd",
        "Bitrate",
        "sum_sent",
        "sum_received",
        "bits_per_second",
        "Gbits/sec",
        "Mbits/sec",
    ],
    mark: "line `Connecting to host HOST, port 5201` and no JSON of its",
    parse,
    knows,
};

fn knows(text: &str) -> bool {
    is_json(text) || text::knows(text)
}

fn is_json(text: &str) -> bool {
    text.contains("\"iperf 3") || text.contains("\"sender_tcp_congestion\"")
}

/// One result for each run: a document of it (`-J`), its events (`--json-stream`), or its text.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    match !is_json(text) && text::knows(text) {
        true => text::parse(text),
        false => documents(text),
    }
}

fn documents(text: &str) -> Result<Vec<Said>, String> {
    let mut all = Vec::new();
    // What the last event told of its start.
    let mut open: Option<Json> = None;
    let mut by_events = false;
    for document in json::documents(text)? {
        match event(&document) {
            None if version(&document).is_some() => {
                let said = result(&document)?;
                // With --json-stream-full-output the whole document follows its own events.
                if !std::mem::take(&mut by_events) || all.last() != Some(&said) {
                    all.push(said);
                }
            }
            None => {}
            Some(("start", data)) => {
                let before = open.replace(data.clone());
                if before.is_some() {
                    return Err("the events of a run have no end".to_owned());
                }
            }
            Some(("end", data)) => {
                let start = open.take().ok_or("the events of a run have an end and no start")?;
                all.push(result(&json!({ "start": start, "end": data }))?);
                by_events = true;
            }
            Some(("error", data)) => return Err(failed(data)),
            // Intervals, and what the server printed.
            Some(_) => {}
        }
    }
    match (open, all.is_empty()) {
        (Some(_), _) => Err("it was cut short: its events have no end".to_owned()),
        (None, true) => Err("there is no JSON document of iperf3's in it".to_owned()),
        (None, false) => Ok(all),
    }
}

/// The name and the data of an event.
fn event(document: &Json) -> Option<(&str, &Json)> {
    Some((document.get("event")?.as_str()?, document.get("data")?))
}

fn version(document: &Json) -> Option<&str> {
    document.pointer("/start/version").and_then(Json::as_str)?.strip_prefix("iperf ")
}

fn failed(why: &Json) -> String {
    format!("it failed: {}", why.as_str().unwrap_or("it does not say why"))
}

const OF_SERVER: &str = "the server printed it, which knows one side of the run alone; import what \
                         the other end printed (iperf3 -c HOST -J > FILE)";

fn result(document: &Json) -> Result<Said, String> {
    if let Some(error) = document.get("error") {
        return Err(failed(error));
    }
    // A server knows its own side alone, and has zeros for the other.
    if document.pointer("/start/accepted_connection").is_some() {
        return Err(OF_SERVER.to_owned());
    }
    let version = version(document).unwrap_or_default().to_owned();
    let flag = |key: &str| {
        let flag = document.pointer("/start/test_start").and_then(|test| test.get(key)?.as_u64());
        flag.is_some_and(|flag| flag != 0)
    };
    let both = flag("bidir") || document.pointer("/end/sum_sent_bidir_reverse").is_some();
    let title = match (both, flag("reverse")) {
        (true, _) => "in both directions",
        (false, true) => "from the server",
        (false, false) => "",
    };
    let (title, settings) = (title.to_owned(), settings(document));
    let mut said = Said { version, title, settings, ..Said::default() };
    sums(&mut said, document, "", "")?;
    if both {
        sums(&mut said, document, "reverse_", "_bidir_reverse")?;
    }
    for (name, key) in [("cpu_share", "host_total"), ("remote_cpu_share", "remote_total")] {
        let of = document.pointer("/end/cpu_utilization_percent");
        if let Some(percent) = of.and_then(|of| of.get(key)?.as_f64()) {
            said.add(name, percent * 0.01, format!("{percent} %"));
        }
    }
    Ok(said)
}

/// What of two rates that should be one is that of rounding.
const ALIKE: f64 = 1e-3;

/// The figures of one direction, named with `before`, out of the sums that end in `after`.
///
/// Of datagrams `sum` is what was sent, with what was lost of it on the way (iperf_api.c,
/// iperf_print_results); up to 3.10 it is alone.
fn sums(said: &mut Said, document: &Json, before: &str, after: &str) -> Result<(), String> {
    let sum = |what: &str| document.get("end").and_then(|end| end.get(format!("{what}{after}")));
    let rate = |what: &str| sum(what).and_then(|sum| sum.get("bits_per_second")?.as_f64());
    let (sent, datagrams) = (rate("sum_sent"), rate("sum"));
    if let (Some(sent), Some(sum)) = (sent, datagrams)
        && (sent - sum).abs() > sent * ALIKE
    {
        return Err(format!("it sent {sent} bits/s by one of its sums and {sum} by the other"));
    }
    let sent = sent.or(datagrams);
    let received = rate("sum_received");
    for (name, bits) in
        [("sent_throughput_bytes_per_s", sent), ("received_throughput_bytes_per_s", received)]
    {
        if let Some(bits) = bits {
            said.add(format!("{before}{name}"), bits / 8.0, format!("{bits} bits/s"));
        }
    }
    for (name, of, key, factor, unit) in [
        ("retransmits", "sum_sent", "retransmits", 1.0, ""),
        ("jitter_ms", "sum", "jitter_ms", 1.0, " ms"),
        ("lost_share", "sum", "lost_percent", 0.01, " %"),
    ] {
        if let Some(value) = sum(of).and_then(|sum| sum.get(key)?.as_f64()) {
            if name == "lost_share" && value > 100.0 {
                return Err(format!("it says that it lost {value} % of its datagrams"));
            }
            said.add(format!("{before}{name}"), value * factor, format!("{value}{unit}"));
        }
    }
    match (sent, before) {
        (Some(_), _) => Ok(()),
        (None, "") => Err("its JSON has no end with sums".to_owned()),
        (None, _) => Err("it ran in two directions and has the sums of one; run it with -R for \
                          the other, and import both"
            .to_owned()),
    }
}

fn settings(document: &Json) -> Map<String, Json> {
    let mut known = Map::new();
    for (knob, key) in [("streams", "num_streams"), ("block-size", "blksize")] {
        let value = document.pointer("/start/test_start").and_then(|test| test.get(key)?.as_u64());
        if let Some(value) = value {
            known.insert(knob.to_owned(), value.into());
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{figure, rounded};

    const TCP: &str = include_str!("../../../tests/fixtures/tools/iperf3-3.12-tcp.txt");
    const UDP: &str = include_str!("../../../tests/fixtures/tools/iperf3-3.12-udp.txt");
    const BOTH: &str = include_str!("../../../tests/fixtures/tools/iperf3-3.12-bidir.txt");
    const EVENTS: &str = include_str!("../../../tests/fixtures/tools/iperf3-3.17-json-stream.txt");
    const LOSSY: &str = include_str!("../../../tests/fixtures/tools/iperf3-3.1.7-udp.txt");
    const REFUSED: &str = include_str!("../../../tests/fixtures/tools/iperf3-3.12-refused.txt");

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
        for (name, value) in [
            ("sent_throughput_bytes_per_s", 114_293_366.762),
            ("received_throughput_bytes_per_s", 113_737_340.733),
            ("retransmits", 11.0),
            ("reverse_sent_throughput_bytes_per_s", 116_364_278.683),
            ("reverse_received_throughput_bytes_per_s", 115_768_881.596),
            ("reverse_retransmits", 4.0),
        ] {
            assert_eq!(rounded(said, name), Some(value), "{name}");
        }
        assert_eq!(said.title, "in both directions");
        // Up to 3.10 both directions have sums of the same name.
        let older = BOTH.replace("_bidir_reverse", "");
        assert!(parse(&older).unwrap_err().contains("stands there twice"));
        let one = BOTH.replace("_bidir_reverse", "_other");
        assert!(parse(&one).unwrap_err().contains("run it with -R"));
        let reverse = TCP.replace("\"reverse\":\t0", "\"reverse\":\t1");
        assert_eq!(parse(&reverse).unwrap()[0].title, "from the server");
    }

    /// "throughput_bytes_per_s = 131089.6" of a run that lost 32 %: the sum of datagrams is what
    /// was sent.
    #[test]
    fn datagrams_that_were_sent_are_not_those_that_arrived() {
        let said = &parse(LOSSY).unwrap()[0];
        assert_eq!(rounded(said, "sent_throughput_bytes_per_s"), Some(131_089.616));
        assert_eq!(rounded(said, "lost_share"), Some(0.32));
        for name in ["throughput_bytes_per_s", "received_throughput_bytes_per_s"] {
            assert_eq!(figure(said, name), None, "{name}");
        }
        let newer = &parse(UDP).unwrap()[0];
        assert_eq!(figure(newer, "throughput_bytes_per_s"), None);
        assert!(figure(newer, "received_throughput_bytes_per_s").is_some());
        let all = LOSSY.replace("\"lost_percent\": 32.02", "\"lost_percent\": 132.02");
        assert!(parse(&all).unwrap_err().contains("it lost 132.02"), "{all}");
        let other = UDP.replacen("100128995.10048996", "200128995.10048996", 2);
        assert!(parse(&other).unwrap_err().contains("by the other"), "{other}");
    }

    /// `--json-stream` prints an event a line: "no JSON document of iperf3's".
    #[test]
    fn events_of_a_run_are_one_result_with_its_start_and_end() {
        let said = &parse(EVENTS).unwrap()[0];
        assert_eq!((said.version.as_str(), &said.settings["streams"]), ("3.17.1", &1.into()));
        assert_eq!(rounded(said, "sent_throughput_bytes_per_s"), Some(249_964_235.594));
        assert_eq!(rounded(said, "received_throughput_bytes_per_s"), Some(207_663_048.312));
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

    /// A server's own JSON has zeros for what it did not see, which were figures.
    #[test]
    fn what_a_server_printed_is_refused_with_what_to_import_instead() {
        let server = TCP.replace("connecting_to", "accepted_connection");
        assert!(parse(&server).unwrap_err().contains("iperf3 -c HOST -J"));
        let line = TCP.replace(['\n', '\t'], "");
        assert_eq!(parse(&line).unwrap(), parse(TCP).unwrap());
    }

    #[test]
    fn a_run_that_failed_has_no_figures_and_says_why() {
        assert!(parse(REFUSED).unwrap_err().contains("refused"), "{REFUSED}");
        assert!(parse("iperf3: error - unable to connect\n").is_err());
    }
}
