//! Whole trials on real files: what is written comes back; what is changed behind the engine's back
//! is found and named; what a crash leaves is taken for what it is.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde_json::{Value, json};

use super::state::{IntegrityPhase, StreamState};
use super::work::IntegrityLoad;
use super::{clients, data};
use crate::engine::clients::testing::{CAMPAIGN, trial_of};
use crate::engine::load::protocol::{Failure, LoadResult};
use base::pattern::block::Identity;
use experiment::measurement::integrity::Integrity;
use host::sys::Host;

const FILE: u64 = 512 << 10;
const PIECE: u64 = 32 << 10;

fn settings(changes: Value) -> Value {
    let mut all = json!({
        "stop": "pass", "sustained": false, "verify": "crc32c", "verify-block": 4096,
        "block-size": PIECE, "file-size": FILE, "rewrite-share": 0.5, "direct": false,
    });
    let own = all.as_object_mut().unwrap();
    own.extend(changes.as_object().unwrap().clone());
    all
}

/// One trial of two streams; `seed` tells trials apart.
fn run(folder: &Path, seed: u64, changes: Value) -> Result<LoadResult, (Failure, String)> {
    trial_of(&clients(), settings(changes), folder, 2, seed)
}

fn passes(folder: &Path, seed: u64) -> Integrity {
    run(folder, seed, json!({})).unwrap().integrity.unwrap()
}

fn work(folder: &Path) -> IntegrityLoad {
    let settings = experiment::knob::Settings::from_json("integrity", &settings(json!({})));
    let mut work = IntegrityLoad::new(&settings, CAMPAIGN).unwrap();
    work.boot = host::journal::boot(&Host::live()).unwrap();
    assert!(folder.join(data::name(0)).exists());
    work
}

fn state(folder: &Path, stream: u64) -> StreamState {
    let path = folder.join(format!("stream-{stream:05}.state"));
    StreamState::load(&path, &work(folder).shape(stream)).unwrap().unwrap()
}

/// Changes bytes of a stream's file through another descriptor.
fn change(folder: &Path, stream: u64, offset: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(folder.join(data::name(stream))).unwrap();
    file.write_all_at(bytes, offset).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn what_is_written_comes_back_trial_after_trial_and_is_partly_written_over() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let first = run(folder.path(), 1, json!({})).unwrap();
    let found = first.integrity.unwrap();
    assert!(found.is_clean(), "{found:?}");
    // Each stream reads its file twice.
    assert_eq!((found.checked_bytes, found.block_bytes), (4 * FILE, 4096));
    assert_eq!(first.file_bytes, 2 * FILE);
    let written = |result: &LoadResult| -> u64 {
        result.streams.iter().map(|stream| stream.total.write_bytes).sum()
    };
    assert_eq!(written(&LoadResult { integrity: None, ..first }), 2 * FILE);
    for seed in 2..5 {
        let next = run(folder.path(), seed, json!({})).unwrap();
        assert!(next.notes.iter().all(|note| note.kind != "written-anew"), "{:?}", next.notes);
        let part = written(&next);
        assert!((PIECE..2 * FILE).contains(&part), "{part} is a part of {}", 2 * FILE);
        assert!(next.integrity.unwrap().is_clean());
    }
    assert_eq!((state(folder.path(), 0).complete, state(folder.path(), 1).complete), (4, 4));
    let kinds: Vec<String> = first_kinds(folder.path());
    assert_eq!(kinds, ["fsync", "read", "write"]);
}

fn first_kinds(folder: &Path) -> Vec<String> {
    let result = run(folder, 9, json!({ "stop": "300ms" })).unwrap();
    let mut kinds: Vec<String> =
        result.latency.iter().map(|(kind, _)| kind.name().to_owned()).collect();
    kinds.sort();
    kinds
}

/// A write that is lost leaves a block that is right by itself, of an older generation.
#[test]
fn what_is_changed_between_two_trials_is_found_where_it_is_and_counted_once() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path();
    assert!(passes(path, 1).is_clean());
    // So that the next trial reads before it writes over anything.
    reopen_as(path, IntegrityPhase::Sequential);
    change(path, 1, 5 * 4096 + 100, &[0xff, 0x00, 0xff]);
    let work = work(path);
    let mut old = vec![0; 4096];
    let name = Identity { campaign: CAMPAIGN, file: 0, offset: 8192, generation: 7 };
    work.format.write(&mut old, name, 1);
    change(path, 0, 8192, &old);
    let result = run(path, 2, json!({ "stop": "400ms" })).unwrap();
    let found = result.integrity.unwrap();
    let of = |stream: u64| {
        let name = data::name(stream);
        found.faults.iter().filter(|fault| fault.file.ends_with(&name)).collect::<Vec<_>>()
    };
    assert_eq!((of(0)[0].offset, of(1)[0].offset), (8192, 5 * 4096), "{found:?}");
    assert_eq!((of(1).len(), found.wrong_blocks(), found.unreadable), (1, 2, 0), "{found:?}");
    assert_eq!(of(1)[0].rereads.first().map(|one| one.gave.as_str()), Some("same-wrong"));
    assert!(!of(1)[0].found.is_empty() && of(1)[0].found != of(1)[0].expected);
}

/// Makes both streams begin their next trial with this phase.
fn reopen_as(folder: &Path, phase: IntegrityPhase) {
    for stream in 0..2 {
        let mut state = state(folder, stream);
        (state.phase, state.next) = (phase, 0);
        let path = folder.join(format!("stream-{stream:05}.state"));
        state.save(&path, &work(folder).shape(stream)).unwrap();
    }
}

#[test]
fn a_wrong_block_counts_in_one_trial_and_is_seen_again_in_the_next() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path();
    passes(path, 1);
    // A piece that the next generation leaves as it is.
    let rewrites = work(path).rewrites(0);
    let piece = (0..FILE / PIECE).find(|piece| !rewrites.chooses(1, *piece)).unwrap();
    change(path, 0, piece * PIECE, &[1, 2, 3]);
    let second = passes(path, 2);
    assert_eq!((second.wrong_blocks(), second.again), (1, 1), "in order, then at random");
    // The trial is run again, as after one that was stopped: what it counted was not kept.
    let again = passes(path, 2);
    let survives = !rewrites.chooses(2, piece);
    assert_eq!(again.wrong_blocks(), u64::from(survives));
    if survives && !rewrites.chooses(3, piece) {
        let third = passes(path, 3);
        assert_eq!((third.wrong_blocks(), third.again), (0, 2));
    }
}

#[test]
fn a_crash_in_the_middle_of_a_generation_is_no_fault_and_anything_else_is() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path();
    passes(path, 1);
    let (work, mut crashed) = (work(path), state(path, 0));
    assert_eq!((crashed.complete, crashed.phase), (1, IntegrityPhase::Write));
    crashed.open();
    crashed.save(&path.join("stream-00000.state"), &work.shape(0)).unwrap();
    let rewrites = work.rewrites(0);
    let chosen: Vec<u64> = (0..FILE / PIECE).filter(|it| rewrites.chooses(1, *it)).collect();
    let other = (0..FILE / PIECE).find(|it| !rewrites.chooses(1, *it)).unwrap();
    let block = |offset: u64, generation: u64| {
        let mut block = vec![0; 4096];
        let name = Identity { campaign: CAMPAIGN, file: 0, offset, generation };
        work.format.write(&mut block, name, 5);
        change(path, 0, offset, &block);
    };
    // Some blocks of a piece that was being written are new, and one where nothing was.
    block(chosen[0] * PIECE, 1);
    block(chosen[1] * PIECE + 8192, 1);
    block(other * PIECE, 1);
    let found = passes(path, 2);
    assert_eq!(found.wrong_blocks(), 1, "{found:?}");
    assert_eq!(found.faults[0].offset, other * PIECE);
    let after = state(path, 0);
    assert!(after.complete >= 2 && after.begun.is_none_or(|begun| !begun.open), "{after:?}");
}

#[test]
fn a_trial_that_ends_anywhere_is_gone_on_with_and_finds_nothing_wrong() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut checked = 0;
    for (seed, stop) in ["7ms", "30ms", "1ms", "13ms", "50ms", "3ms", "21ms"].iter().enumerate() {
        let result = run(folder.path(), seed as u64, json!({ "stop": stop })).unwrap();
        let found = result.integrity.unwrap();
        assert!(found.is_clean(), "after {stop}: {found:?}");
        checked += found.checked_bytes;
    }
    let last = passes(folder.path(), 99);
    assert!(last.is_clean() && checked + last.checked_bytes >= 4 * FILE);
}

#[test]
fn bits_end_a_trial_when_all_streams_together_have_checked_them() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let bits = 8 * 3 * FILE;
    let result = run(folder.path(), 1, json!({ "stop": format!("{bits}bits") })).unwrap();
    let found = result.integrity.unwrap();
    // What is in flight is checked as well: a piece of each stream.
    assert!((3 * FILE..3 * FILE + 3 * PIECE).contains(&found.checked_bytes), "{found:?}");
}

#[test]
fn a_file_that_was_cut_is_short_and_one_of_another_shape_is_written_anew() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path();
    passes(path, 1);
    reopen_as(path, IntegrityPhase::Sequential);
    let file = OpenOptions::new().write(true).open(path.join(data::name(0))).unwrap();
    file.set_len(FILE - 6000).unwrap();
    let found = run(path, 2, json!({})).unwrap().integrity.unwrap();
    assert_eq!(found.wrong_blocks(), 2, "{found:?}");
    let offsets: Vec<u64> = found.faults.iter().map(|fault| fault.offset).collect();
    assert_eq!(offsets, [FILE - 8192, FILE - 4096]);
    let other = run(path, 3, json!({ "verify-block": 512 })).unwrap();
    assert!(other.notes.iter().any(|note| note.kind == "written-anew"), "{:?}", other.notes);
    assert!(other.integrity.unwrap().is_clean());
}

#[test]
fn a_torn_state_is_told_and_the_files_are_written_anew() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    passes(folder.path(), 1);
    let path = folder.path().join("stream-00001.state");
    let length = path.metadata().unwrap().len();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(length - 4).unwrap();
    let result = run(folder.path(), 2, json!({})).unwrap();
    let told = result.notes.iter().find(|note| note.kind == "written-anew").unwrap();
    assert!(told.text.contains("torn"), "{told:?}");
    assert!(result.integrity.unwrap().is_clean());
}
