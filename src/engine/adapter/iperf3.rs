//! (pure) iperf3: its JSON (`-J`).
//!
//! A trial of it needs a server at another machine, of which no knob tells yet: it is refused.
//! Rates are printed in bits per second.

use serde_json::{Map, Value as Json};

use super::{Adapter, Asked, Launch, Said, json};

pub const IPERF3: Adapter = Adapter {
    name: "iperf3",
    about: "A network, by the installed iperf3: its results can be imported, not yet measured",
    program: "iperf3",
    get: "apt-get install iperf3",
    asks_version: &["--version"],
    launch,
    parse,
    knows,
};

fn launch(_: &Asked<'_>) -> Result<Launch, String> {
    Err("iperf3 needs a server at the other end, of which no knob tells; run it there and here, \
         and bring what it prints with `brickyard import FILE` (iperf3 -c HOST -J > FILE)"
        .to_owned())
}

fn knows(text: &str) -> bool {
    text.contains("\"iperf 3") || text.contains("\"sender_tcp_congestion\"")
}

/// One result for each document.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    let documents = json::documents(text)?;
    let of = |document: &Json| {
        let version = document.pointer("/start/version").and_then(Json::as_str)?;
        Some(version.strip_prefix("iperf ")?.to_owned())
    };
    let all: Result<Vec<Said>, String> = documents
        .iter()
        .filter_map(|document| of(document).map(|version| result(version, document)))
        .collect();
    match all? {
        none if none.is_empty() => Err("there is no JSON document of iperf3's in it".to_owned()),
        all => Ok(all),
    }
}

fn result(version: String, document: &Json) -> Result<Said, String> {
    if let Some(error) = document.get("error").and_then(Json::as_str) {
        return Err(format!("it failed: {error}"));
    }
    let mut said = Said { version, settings: settings(document), ..Said::default() };
    let number = |pointer: &str| document.pointer(pointer).and_then(Json::as_f64);
    for (name, pointer) in [
        ("sent_throughput_bytes_per_s", "/end/sum_sent/bits_per_second"),
        ("received_throughput_bytes_per_s", "/end/sum_received/bits_per_second"),
        // Datagrams: older versions have one sum.
        ("throughput_bytes_per_s", "/end/sum/bits_per_second"),
    ] {
        if let Some(bits) = number(pointer) {
            said.add(name, bits / 8.0, format!("{bits} bits/s"));
        }
    }
    for (name, pointer, factor, unit) in [
        ("retransmits", "/end/sum_sent/retransmits", 1.0, ""),
        ("jitter_ms", "/end/sum/jitter_ms", 1.0, " ms"),
        ("lost_share", "/end/sum/lost_percent", 0.01, " %"),
        ("cpu_share", "/end/cpu_utilization_percent/host_total", 0.01, " %"),
        ("remote_cpu_share", "/end/cpu_utilization_percent/remote_total", 0.01, " %"),
    ] {
        if let Some(value) = number(pointer) {
            said.add(name, value * factor, format!("{value}{unit}"));
        }
    }
    match said.figures.is_empty() {
        true => Err("its JSON has no end with sums".to_owned()),
        false => Ok(said),
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
    use crate::engine::adapter::testing::{figure, refused};

    const TCP: &str = include_str!("../../../tests/fixtures/tools/iperf3-3.12-tcp.txt");
    const UDP: &str = include_str!("../../../tests/fixtures/tools/iperf3-3.12-udp.txt");
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

    #[test]
    fn a_run_that_failed_has_no_figures_and_says_why() {
        assert!(parse(REFUSED).unwrap_err().contains("refused"), "{REFUSED}");
        assert!(parse("iperf3: error - unable to connect\n").is_err());
    }

    #[test]
    fn a_trial_is_refused_with_what_to_do_instead() {
        assert!(refused(&IPERF3, &[]).contains("brickyard import"));
    }
}
