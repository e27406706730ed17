//! Lines that we write, in files that others can write and over connections to anybody.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Value, json};

use crate::serve::pages::asset;
use crate::serve::statement::Statement;
use base::hash::Checksum;
use engines::engine::command::protocol as of_programs;
use engines::engine::flush::log::{FlushLogLine, FlushLogReader, LoggedFiles, PieceWrite};
use engines::engine::integrity::state::{Shape, StreamState};
use engines::engine::load::protocol::{
    LoadResult, LoadSpec, WorkerCommand, WorkerMessage, write_histogram,
};
use engines::engine::net::peer_protocol::{
    HalfResult, PeerMessage, PeerNotice, PeerOrder, PeerWord, align, join,
};
use engines::fleet::greeting::{Greeting, ListenerAnswer, Proof};
use engines::fleet::setting::{SettingsAsk, SettingsReply};
use engines::fleet::{Alignment, ClockOffset, Tick};
use experiment::knob::{Settings, peer as of_peer};
use experiment::measurement::{
    Amount, Measurement, Operation, Outcome, Record, Stream, Window, figures, latency_histogram,
};
use experiment::plan::Trial;
use host::journal;

/// As browsers ask.
pub const REQUESTS: &[&str] = &["/query?sql=SELECT%201&format=csv", "/campaign/12?a=b&a=%ff#x"];

/// Files of state belong to this one.
const SHAPE: Shape = Shape {
    campaign: 7,
    stream: 1,
    file_bytes: 1 << 20,
    piece_bytes: 4096,
    block_bytes: 512,
    checksum: Checksum::Crc32c,
    share: 0.5,
};

fn line(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

/// A log of acknowledged writes.
pub fn flush_logs() -> Vec<Vec<u8>> {
    let begin = LoggedFiles {
        log: 1,
        campaign: 7,
        files: vec!["/srv/a b/x.dat".into()],
        file_bytes: 1 << 20,
        piece_bytes: 4096,
        block_bytes: 512,
        checksum: Checksum::Crc32c,
    };
    let written = |piece, generation| PieceWrite { piece, generation };
    let lines = [
        FlushLogLine::Begin(begin),
        FlushLogLine::First { stream: 0, next: written(3, 1) },
        FlushLogLine::Acknowledged { stream: 0, done: written(3, 1), next: written(9, 1) },
        FlushLogLine::End { stream: 0 },
    ];
    vec![lines.iter().map(FlushLogLine::text).collect::<String>().into_bytes()]
}

/// Reads it as `verify --flushed` does, and once more with every checksum made right: who damages a
/// log on purpose does that.
pub fn flush_log(bytes: &[u8]) {
    let mut reader = FlushLogReader::default();
    bytes.split(|byte| *byte == b'\n').for_each(|line| reader.take(line));
    let _ = reader.end();
    let mut reader = FlushLogReader::default();
    for line in String::from_utf8_lossy(bytes).lines() {
        let body = line.rsplit_once(' ').map_or(line, |(body, _)| body);
        if let Ok(line) = serde_json::from_str::<FlushLogLine>(body) {
            reader.take(line.text().as_bytes());
        }
    }
    let _ = reader.end();
}

/// Where a stream stands.
pub fn integrity_states() -> Vec<Vec<u8>> {
    let mut state = StreamState::fresh("0f1e-2d");
    state.complete = 3;
    vec![StreamState::fresh("boot").text(&SHAPE).into_bytes(), state.text(&SHAPE).into_bytes()]
}

/// Reads where a stream stands.
pub fn integrity_state(bytes: &[u8]) {
    if let Ok(mut state) = StreamState::parse(&String::from_utf8_lossy(bytes), &SHAPE) {
        state.take_up("another", 9);
    }
}

/// What is to be undone.
pub fn journals() -> Vec<Vec<u8>> {
    let lines = [
        json!({ "write": { "path": "/proc/sys/vm/swappiness", "device": null, "boot": "b",
            "before": "60\n", "written": "10", "instead": null } }),
        json!({ "took": { "path": "/proc/sys/vm/swappiness", "value": "10" } }),
        json!({ "make": { "path": "/sys/fs/cgroup/brickyard-1", "boot": "b" } }),
        json!({ "done": { "path": "/proc/sys/vm/swappiness" } }),
    ];
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    vec![(text.join("\n") + "\n").into_bytes()]
}

/// Reads what is to be undone, and undoes nothing.
pub fn journal(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines: Vec<journal::Line> =
        lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let _ = journal::outstanding(&lines).len();
}

/// A result with something in it.
fn result() -> LoadResult {
    let mut histogram = latency_histogram();
    histogram.saturating_record(1500);
    let total = Amount { read_bytes: 4096, read_ops: 1, ..Amount::default() };
    LoadResult {
        elapsed_ns: 5_000_000_000,
        window: Some(Window { start_ns: 1, end_ns: 4_000_000_000, done: total }),
        streams: vec![Stream { total, pass: total, ..Stream::default() }; 2],
        latency: vec![(Operation::Read, write_histogram(&histogram).unwrap_or_default())],
        file_bytes: 9,
        ..LoadResult::default()
    }
}

/// What workers and their parent say to each other.
pub fn of_workers() -> Vec<Vec<u8>> {
    let spec = LoadSpec {
        settings: serde_json::to_value(Settings::defaults("file")).unwrap_or_default(),
        seed: 1,
        campaign: 7,
        streams: vec![vec![PathBuf::from("/srv/x")]],
        bench: Default::default(),
        written: Vec::new(),
    };
    vec![
        line(&spec),
        line(&WorkerMessage::Result(Box::new(result()))),
        line(&WorkerMessage::Flushing {}),
        line(&of_programs::CommandWorkerMessage::Result(Box::default())),
        line(&of_programs::CommandSpec::default()),
        b"go".to_vec(),
        br#"{"store":[97],"sql":"SELECT 1","format":"csv","time":{"secs":1,"nanos":5}}"#.to_vec(),
    ]
}

/// One line, to whoever may hear it; a result, to its figures.
pub fn worker(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = WorkerCommand::parse(&text);
    if let Ok(spec) = serde_json::from_str::<LoadSpec>(&text) {
        let _ = Settings::from_json("file", &spec.settings);
    }
    match serde_json::from_str::<WorkerMessage>(&text) {
        Ok(WorkerMessage::Result(result)) => measured(*result),
        _ => drop(serde_json::from_str::<of_programs::CommandWorkerMessage>(&text)),
    }
    let _ = serde_json::from_str::<of_programs::CommandSpec>(&text);
    let _ = serde_json::from_str::<Statement>(&text);
}

fn measured(result: LoadResult) {
    let Ok(measurement) = result.into_measurement() else { return };
    computed(measurement);
}

/// What reports ask of a measurement.
pub fn computed(measurement: Measurement) {
    let trial = Trial {
        number: 1,
        replicate: 1,
        group: String::new(),
        settings: Settings::defaults("file"),
        first_file: 0,
        seed: 0,
        planned: None,
    };
    let record = Record::new(trial, Outcome::Done(Box::new(measurement)));
    let _ = (figures::figures(&record), record.light());
}

/// What both ends of a trial on two machines say to each other.
pub fn of_peers() -> Vec<Vec<u8>> {
    let yielded = HalfResult { load: Some(result()), ..HalfResult::default() };
    vec![
        br#"{"talk":{"brickyard":"0.1.0","protocol":1,"nonce":"00ff"}}"#.to_vec(),
        br#"{"bytes":{"ticket":"00ff","stream":3}}"#.to_vec(),
        br#"{"nonce":{"brickyard":"0.1.0","protocol":9,"nonce":"00ff"}}"#.to_vec(),
        br#"{"welcome":{"proof":"00","host":{"name":"a","kernel":"6.1","cpus":4,"version":"1"}}}"#
            .to_vec(),
        br#"{"proof":"00ff","purpose":{"campaign":7,"settings":true}}"#.to_vec(),
        br#"{"set":{"gro":"false","network-interface":"eth0","tcp-buffer-max":"1MiB"}}"#.to_vec(),
        br#"{"check":{"rps":"0-3,8","interrupt-coalescing":"66us","qdisc":"fq"}}"#.to_vec(),
        br#"{"set":{"values":{"gro":"false"},"notes":[{"kind":"setting-rounded","text":"x"}]}}"#
            .to_vec(),
        br#"{"back":["cannot write"]}"#.to_vec(),
        br#"{"busy":"it is in the middle of a talk"}"#.to_vec(),
        line(&Tick { clock: 1, monotonic_ns: 5_000_000_000 }),
        line(&json!({ "yielded": yielded })),
        line(&json!({ "ticket": "00ff" })),
        br#"{"wrong":{"stream":1,"file":2,"offset":4096,"found":"AAEC"}}"#.to_vec(),
    ]
}

/// One line of a peer, to whoever may hear it.
pub fn peer(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match serde_json::from_str::<Greeting>(&text) {
        Ok(Greeting::Talk(talk)) => drop(talk.mismatch()),
        _ => drop(serde_json::from_str::<Proof>(&text)),
    }
    if let Ok(ListenerAnswer::Nonce(talk)) = serde_json::from_str::<ListenerAnswer>(&text) {
        let _ = talk.mismatch();
    }
    let _ = serde_json::from_str::<PeerNotice>(&text);
    let _ = serde_json::from_str::<SettingsReply>(&text);
    if let Ok(SettingsAsk::Check(asked) | SettingsAsk::Set(asked)) =
        serde_json::from_str::<SettingsAsk>(&text)
        && let Ok(settings) = of_peer::read(&asked)
    {
        let _ = of_peer::said(&settings);
    }
    if let Ok(PeerOrder { engine, order, .. }) = serde_json::from_str::<PeerOrder>(&text) {
        let _ = Settings::from_json(&engine, &order.settings);
    }
    let told = serde_json::from_str::<Tick>(&text).map_or(0, |tick| tick.monotonic_ns);
    let offset = |asked| ClockOffset::from_round_trips(&[(asked, told, asked + 1000)]);
    let Some((before, after)) = offset(5_000).zip(offset(9_000_000)) else { return };
    let clocks = Alignment { before, after };
    let _ = (clocks.ours_ns(told), clocks.error_ns());
    match serde_json::from_str::<PeerMessage>(&text) {
        Ok(PeerMessage::Word(PeerWord::Yielded(yielded))) => {
            let HalfResult { load, mut samples, .. } = *yielded;
            align(&mut samples, &clocks, 5_000);
            let _ = join(samples.clone(), samples);
            load.into_iter().for_each(measured);
        }
        Ok(PeerMessage::Word(PeerWord::Wrong(wrong))) => drop(wrong.found()),
        Ok(PeerMessage::Message(WorkerMessage::Result(result))) => measured(*result),
        _ => {}
    }
}

/// The address of a page.
pub fn request(bytes: &[u8]) {
    let Ok(uri) = String::from_utf8_lossy(bytes).parse() else { return };
    let asked = asset::UrlQuery::from_uri(&uri);
    let _ = asked.first("sql").as_deref().and_then(asset::number);
    let _ = asset::address(uri.path(), &[("sql", uri.query().unwrap_or_default())]);
}
