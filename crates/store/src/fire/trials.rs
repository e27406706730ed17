//! Campaigns and trials that a number decides, small and large, of every outcome.

use experiment::campaign::Campaign;
use experiment::knob::Settings;
use experiment::measurement::integrity::{Fault, Lasting};
use experiment::measurement::programs::Output;
use experiment::measurement::verified::StoredProblem;
use experiment::measurement::{
    Amount, Integrity, Measurement, Note, Operation, Outcome, Programs, Record, Stream, Verified,
    Window, latency_histogram,
};
use experiment::plan::Trial;
use facts::counters::series::{Column, ColumnKind, Series};
use host::sys::fire::Draws;

/// The plan of all these campaigns, as it was run.
pub(super) const PLAN: &str = r#"{"name":"fire"}"#;
const SECOND: u64 = 1_000_000_000;

/// A campaign of that number.
pub(super) fn campaign(draws: &mut Draws, number: u64) -> Campaign {
    Campaign {
        uid: format!("fire-{number}"),
        plan: "fire".into(),
        engine: "file".into(),
        host: "h".repeat(1 + draws.below(40) as usize),
        started_unix_ns: 1_700_000_000 * SECOND,
        seed: number,
        plan_json: Some(PLAN.into()),
        inventory: serde_json::json!({ "cpus": draws.below(64) }),
        ..Campaign::default()
    }
}

/// A trial of any outcome; one that stands for `planned`.
pub(super) fn record(draws: &mut Draws, number: u32, planned: u32) -> Record {
    let trial = Trial {
        number,
        replicate: 1,
        group: if draws.once_in(2) { "streams".into() } else { "direct".into() },
        settings: Settings::defaults("file"),
        first_file: draws.below(9) as u32,
        seed: draws.below(1 << 53),
        planned: Some(planned),
    };
    let outcome = match draws.below(8) {
        0 => Outcome::Failed(text(draws)),
        1 => Outcome::Skipped(text(draws)),
        2 => Outcome::Interrupted,
        _ => Outcome::Done(Box::new(measurement(draws))),
    };
    Record::new(trial, outcome)
}

/// From nothing to some pages.
fn text(draws: &mut Draws) -> String {
    let length = if draws.once_in(6) { draws.below(20_000) } else { draws.below(60) };
    let word = ["a ", "é", "\u{fffd}\n", "00ff "][draws.below(4) as usize];
    word.repeat(length as usize / word.len())
}

fn measurement(draws: &mut Draws) -> Measurement {
    let done = Amount {
        read_bytes: draws.below(1 << 40),
        read_ops: draws.below(1 << 20),
        write_bytes: draws.below(1 << 30),
        ..Amount::default()
    };
    let mut all = Measurement {
        started_unix_ns: draws.below(1 << 60),
        elapsed_ns: 4 * SECOND,
        window: Some(Window { start_ns: SECOND / 4, end_ns: 4 * SECOND, done }),
        streams: vec![Stream { started_ns: draws.below(SECOND), ..Stream::default() }],
        load: series(draws, "load", ColumnKind::Counter),
        counters: vec![series(draws, "stat", ColumnKind::Counter)],
        ..Measurement::default()
    };
    // The histogram is a thousand counts to encode: not of each.
    if draws.once_in(8) {
        let mut latency = latency_histogram();
        latency.saturating_record(draws.below(1 << 30));
        all.latency.push((Operation::Read, latency));
    }
    if draws.once_in(4) {
        all.notes.push(Note::new("steal", text(draws)));
    }
    if draws.once_in(6) {
        all.integrity = Some(Integrity { faults: vec![fault(draws)], ..Integrity::default() });
    }
    if draws.once_in(6) {
        let (path, kind, why) = ("a\\x0ab".into(), "missing".into(), text(draws));
        all.verified = Some(Verified {
            problems: vec![StoredProblem { path, kind, why }],
            ..Verified::default()
        });
    }
    if draws.once_in(6) {
        let (stream, head) = ("stdout".into(), text(draws));
        let output = Output { copy: 1, stream, bytes: 9, head, tail: String::new() };
        all.programs = Some(Programs { outputs: vec![output], ..Programs::default() });
    }
    all
}

fn series(draws: &mut Draws, source: &str, kind: ColumnKind) -> Series {
    let rows = 2 + draws.below(12) as i64;
    let at_ns = (0..rows).map(|row| row * SECOND as i64 / 2).collect();
    let step = draws.below(1 << 20);
    let values = (0..rows as u64).map(|row| row * step).collect();
    let columns = vec![Column { name: "read_bytes".into(), kind, values }];
    Series { source: source.into(), at_ns, columns }
}

fn fault(draws: &mut Draws) -> Fault {
    Fault {
        at_ns: draws.below(SECOND),
        file: "stream-0-1".into(),
        offset: draws.below(1 << 40),
        kind: "torn".into(),
        what: text(draws),
        rereads: Vec::new(),
        lasting: Lasting::ALL[draws.below(Lasting::ALL.len() as u64) as usize],
        excerpt_at: 512,
        expected: "00ff".into(),
        found: "00fe".into(),
        kernel: vec!["blk_update_request: I/O error".into()],
    }
}
