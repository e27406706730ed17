//! Whole trials on real files, and what is said of them when something is lost afterwards.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::check::{FlushCheckResult, check, read_log};
use super::clients;
use super::log::{Log, PieceWrite};
use crate::engine::clients::testing::{CAMPAIGN, trial_of};
use crate::engine::load::protocol::{Failure, LoadResult};
use base::hash::Checksum;
use base::pattern::block::{Format, Identity};

const FORMAT: Format = Format { block_bytes: 512, checksum: Checksum::Crc32c };

fn run(folder: &Path, log: &Path) -> Result<LoadResult, (Failure, String)> {
    let settings = json!({
        "stop": "pass", "sustained": false, "verify": "crc32c", "verify-block": 512,
        "block-size": 2048, "file-size": 32768, "direct": false, "flush-log": log,
    });
    trial_of(&clients(), settings, folder, 2, 5)
}

/// A trial that ran to its end: its folder, its log.
fn done() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let log = folder.path().join("a.log");
    let result = run(folder.path(), &log).unwrap();
    assert!(result.notes.iter().any(|note| note.kind == "flush-log"));
    (folder, log)
}

/// A block of 512 bytes of a stream's file.
fn put(log: &Log, stream: u64, offset: u64, generation: u64, damage: bool) {
    let mut block = vec![0; 512];
    let name = Identity { campaign: CAMPAIGN, file: stream << 32, offset, generation };
    FORMAT.write(&mut block, name, 9);
    block[300] ^= u8::from(damage);
    let file = OpenOptions::new().write(true).open(&log.begin.files[stream as usize]).unwrap();
    file.write_all_at(&block, offset).unwrap();
}

fn findings(log: &Log) -> FlushCheckResult {
    check(log, &mut |_| {}).unwrap()
}

#[test]
fn all_that_was_acknowledged_is_there_after_a_trial() {
    let (_folder, path) = done();
    let log = read_log(&path).unwrap();
    assert_eq!((log.writes, log.damaged), (32, 0), "16 pieces of two streams");
    assert!(log.in_flight.is_empty());
    let all = FlushCheckResult { blocks: 128, ..FlushCheckResult::default() };
    assert_eq!(findings(&log), all);
    assert_eq!(read_log(&path).unwrap().begin.campaign, CAMPAIGN);
}

#[test]
fn a_block_that_is_older_or_damaged_is_lost_and_named() {
    let (_folder, path) = done();
    let log = read_log(&path).unwrap();
    let ((stream, piece), generation) = log.acknowledged.iter().next().unwrap();
    let offset = piece * 2048 + 512;
    put(&log, *stream, offset, generation - 1, false);
    put(&log, 1 - stream, 1024, log.acknowledged.get(&(1 - stream, 0)).copied().unwrap_or(0), true);
    let found = findings(&log);
    assert_eq!((found.lost, found.in_flight_torn, found.newer), (2, 0, 0), "{found:?}");
    let of = |stream: u64| {
        let file = &log.begin.files[stream as usize];
        found.losses.iter().find(|loss| loss.file == *file).unwrap()
    };
    assert_eq!((of(*stream).offset, of(*stream).acknowledged), (offset, *generation));
    assert_eq!(of(*stream).kind, "stale", "{found:?}");
    assert_eq!((of(1 - stream).offset, of(1 - stream).kind.as_str()), (1024, "bit-flip"));
}

/// What was under way in the crash was promised to nobody.
#[test]
fn a_write_under_way_may_have_left_either_or_neither() {
    let (_folder, path) = done();
    let mut log = read_log(&path).unwrap();
    let newest = log.acknowledged.get(&(0, 3)).copied().unwrap_or(0);
    log.in_flight.insert(0, PieceWrite { piece: 3, generation: newest + 1 });
    let at = 3 * 2048;
    assert_eq!(findings(&log).in_flight_older, 4);
    put(&log, 0, at, newest + 1, false);
    put(&log, 0, at + 512, newest + 1, true);
    let found = findings(&log);
    let of = (found.in_flight_newer, found.in_flight_older, found.in_flight_torn, found.lost);
    assert_eq!(of, (1, 2, 1, 0), "{found:?}");
}

/// The power of the log's host was cut too: what its lines do not say cannot be held against the
/// storage, and nothing that they say may be wrong.
#[test]
fn a_log_that_was_cut_raises_no_alarm() {
    let (folder, path) = done();
    let bytes = host::sys::Host::live().read(&path).unwrap().into_bytes();
    let begun = bytes.iter().skip(1).position(|byte| *byte == b'\n').unwrap() + 2;
    let cut = folder.path().join("cut.log");
    for end in (begun..bytes.len()).step_by(97) {
        host::sys::output::keep(&cut, &bytes[..end]).unwrap();
        let found = findings(&read_log(&cut).unwrap());
        assert_eq!((found.lost, found.blocks), (0, 128), "cut at {end}: {found:?}");
    }
    host::sys::output::keep(&cut, &bytes[..begun / 2]).unwrap();
    assert!(read_log(&cut).unwrap_err().why.contains("no trial begins"));
}

#[test]
fn a_log_without_room_fails_the_trial_with_what_to_do_and_a_strange_file_is_left_alone() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (kind, why) = run(folder.path(), Path::new("/dev/full")).unwrap_err();
    assert!(
        kind == Failure::Failed && why.contains("os error 28") && why.contains("make room"),
        "{why}"
    );
    let strange = folder.path().join("thesis.doc");
    host::sys::output::keep(&strange, b"chapter one\n").unwrap();
    let (_, why) = run(folder.path(), &strange).unwrap_err();
    assert!(why.contains("something else"), "{why}");
    assert_eq!(strange.metadata().unwrap().len(), 12);
}
