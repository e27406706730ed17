//! (pure) iperf3: its JSON (`-J`, `--json-stream`) and its text, of its client and of its server.
//!
//! Rates are printed in bits per second. What was sent and what arrived are two figures; of a run
//! in both directions (`--bidir`) those of the server's data begin with `reverse_`. A client learns
//! at the end what the server counted; a server never what the client did.

use serde_json::{Map, Value as Json, json};

use super::{Form, Importer, ToolResult, json};
use directions::Iperf3Direction;

mod directions;
pub mod row;
mod text;

/// See [`Importer`].
pub const IPERF3: Importer = Importer {
    name: "iperf3",
    about: "What iperf3 prints, its client (iperf3 -c HOST) and its server (iperf3 -s), as text, \
            with -J or with --json-stream",
    forms: &[
        Form {
            bring: "-J or --json-stream of the client",
            recorded: &[
                "3.0.12-reverse",
                "3.1.7-udp",
                "3.5",
                "3.7-bidir",
                "3.9-bidir",
                "3.12-bidir",
                "3.12-tcp",
                "3.12-udp",
                "3.16-tcp",
                "3.17",
                "3.18-both",
                "3.18-json",
            ],
            read: "rates of each direction, losses, jitter, retransmissions, CPU of both ends",
            not_read: "a run that failed or was interrupted: its reason is told",
        },
        Form {
            bring: "-J of the server, with one or more runs in it",
            recorded: &["3.1.7-server", "3.9-server", "3.12-server"],
            read: "what the server itself counted: the rate at which it received, or sent",
            not_read: "what the other end counted, which it does not know; the CPU of the other \
                       end, which is that of the run before; the rate of datagrams up to 3.10",
        },
        Form {
            bring: "what its client prints for people",
            recorded: &[
                "3.0.12-people",
                "3.1.7-people",
                "3.5-people",
                "3.7-people",
                "3.9-people",
                "3.12-people",
                "3.16-people",
                "3.18-people",
            ],
            read: "rates of each direction, losses, jitter, retransmissions",
            not_read: "intervals without results; several streams without their sum; a run that \
                       failed or was interrupted: its reason is told",
        },
        Form {
            bring: "what its server prints for people, with one or more runs in it",
            recorded: &[
                "3.0.12-server-people",
                "3.6-server-people",
                "3.7-server-people",
                "3.18-server-people",
            ],
            read: "what the server itself counted: the rate at which it received, or sent",
            not_read: "what the other end counted, which it does not know; the rate of datagrams \
                       up to 3.1; a log with a run that failed or was stopped",
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
    mark: "line `Connecting to host HOST, port 5201` or `Accepted connection from HOST`, and no \
           JSON of its",
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
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let text = &*text::without_server_output(text);
    match (is_json(text), text::knows(text)) {
        (_, false) => documents(&directions::told_apart(text)),
        (false, true) => text::parse(text),
        (true, true) => {
            // A failure tells more than that both stand there.
            text::parse(text)?;
            Err("it has runs in JSON and runs as text; bring them one by one".to_owned())
        }
    }
}

fn documents(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    // What the last event told of its start.
    let mut open: Option<Json> = None;
    let mut by_events = false;
    for document in json::documents(text)? {
        match event(&document) {
            None if version(&document).is_some() => {
                if is_end_of_server(&document) {
                    continue;
                }
                let said = result(&document).map_err(|why| match all.len() {
                    0 => why,
                    before => format!("of its run {}: {why}", before + 1),
                })?;
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
            Some(("error", data)) => {
                return Err(failed(data.as_str().unwrap_or(NO_REASON)));
            }
            // Intervals, and what the server printed.
            Some(_) => {}
        }
    }
    match (open, all.is_empty()) {
        (Some(_), _) => Err("it was cut short: its events have no end".to_owned()),
        (None, true) => Err("there is no run of iperf3's in its JSON".to_owned()),
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

/// What a server says when it is stopped, of no run.
fn is_end_of_server(document: &Json) -> bool {
    let error = document.get("error").and_then(Json::as_str);
    error == Some("interrupt - the server has terminated")
        && document.get("end").is_none_or(|end| end.get("streams").is_none())
}

const NOTHING: &str = "a run of it moved nothing";

const NO_REASON: &str = "it does not say why";

fn failed(why: &str) -> String {
    format!("it failed: {why}")
}

/// What a result is called, by the way of its data and by who counted it.
fn title(both: bool, from_server: bool, by_server: bool) -> &'static str {
    match (both, from_server, by_server) {
        (true, _, false) => "in both directions",
        (true, _, true) => "in both directions, as the server counted it",
        (false, true, false) => "from the server",
        (false, true, true) => "from the server, as the server counted it",
        (false, false, true) => "as the server counted it",
        (false, false, false) => "",
    }
}

fn result(document: &Json) -> Result<ToolResult, String> {
    if let Some(error) = document.get("error") {
        return Err(failed(error.as_str().unwrap_or(NO_REASON)));
    }
    let version = version(document).unwrap_or_default().to_owned();
    let flag = |key: &str| {
        let flag = document.pointer("/start/test_start").and_then(|test| test.get(key)?.as_u64());
        flag.is_some_and(|flag| flag != 0)
    };
    let by_server = document.pointer("/start/accepted_connection").is_some();
    let (after, both) = match directions::suffix(document) {
        Some(after) => (after, true),
        None => ("_bidir_reverse", flag("bidir")),
    };
    let from_server = flag("reverse");
    let title = title(both, from_server, by_server).to_owned();
    let mut said =
        ToolResult { version, title, settings: settings(document), ..ToolResult::default() };
    let way = |server_sends: bool, before, after| Iperf3Direction {
        document,
        before,
        after,
        both,
        // A server knows its own side alone, and has zeros for the other.
        knows_sent: !by_server || server_sends,
        knows_received: !by_server || !server_sends,
        this_end_sends: by_server == server_sends,
    };
    way(!both && from_server, "", "").add_to(&mut said)?;
    if both {
        way(true, "reverse_", after).add_to(&mut said)?;
    }
    // What a server has of the other end is of the run before.
    let known: &[(&str, &str)] = match by_server {
        true => &[("cpu_share", "host_total")],
        false => &[("cpu_share", "host_total"), ("remote_cpu_share", "remote_total")],
    };
    for (name, key) in known {
        let of = document.pointer("/end/cpu_utilization_percent");
        // Nothing at all was not measured.
        if let Some(percent) = of.and_then(|of| of.get(key)?.as_f64()).filter(|it| *it != 0.0) {
            said.add(*name, percent * 0.01, format!("{percent} %"));
        }
    }
    if said.figures.iter().all(|figure| figure.name.ends_with("cpu_share")) {
        return Err("its JSON has no end with sums".to_owned());
    }
    Ok(said)
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
mod tests;
