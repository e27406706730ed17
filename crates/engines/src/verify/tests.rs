//! Files whose bytes are not what their sums say, through the streams that read them.
#![expect(clippy::disallowed_methods, reason = "makes fixtures")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use super::find::find;
use super::shared::{VerificationContext, VerifyStreamMessage, lock};
use super::suspect::MismatchedBlock;
use super::*;
use experiment::measurement::integrity::Lasting;
use experiment::measurement::verified::ProblemKind;

const BLOCK: usize = BLOCK_BYTES as usize;

/// A file of three blocks and a part on a disk, and the streams' common ground.
fn shared() -> (tempfile::TempDir, VerificationContext, Vec<u8>, Receiver<VerifyStreamMessage>) {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let bytes: Vec<u8> = (0..3 * BLOCK as u32 + 777)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 | 1)
        .collect();
    std::fs::write(folder.path().join("file"), &bytes).unwrap();
    let found = find(&[folder.path().to_owned()], false, &Stop::new());
    let (said, heard) = channel();
    let mut shared = VerificationContext::new(found.files, Arc::new(Stop::new()), said, Vec::new());
    shared.checksum = Some(Checksum::Xxh3_128);
    (folder, shared, bytes, heard)
}

fn pass(shared: &VerificationContext) {
    shared.begin_pass();
    first::stream(shared, Checksum::Xxh3_128);
    first::end_pass(shared);
}

#[test]
fn a_block_that_differs_from_its_first_reading_is_found_where_it_is_and_counted_once() {
    let (_folder, shared, bytes, _heard) = shared();
    pass(&shared);
    assert!(shared.tally().integrity.is_clean());
    assert_eq!(shared.take_done().2, 0, "nothing was known before");
    // As if another byte had come first.
    let mut other = bytes[2 * BLOCK..3 * BLOCK].to_vec();
    other[17] ^= 1;
    let sum = first::sum_of(Checksum::Xxh3_128, &other);
    lock(&shared.files[0].state).sums.put(2, 4, sum);
    pass(&shared);
    assert_eq!(shared.take_done().2, bytes.len() as u64);
    pass(&shared);
    let integrity = shared.tally().integrity.clone();
    assert_eq!((integrity.wrong_blocks(), integrity.again), (1, 1));
    assert_eq!(integrity.faults.len(), 1);
    let fault = &integrity.faults[0];
    assert_eq!((fault.offset, fault.kind.as_str()), (2 * BLOCK_BYTES, "mismatch"));
    assert_eq!(fault.lasting, Lasting::Persistent);
    assert!(fault.rereads.iter().all(|reread| reread.gave == "same-wrong"));
    assert_eq!(integrity.checked_bytes, 3 * bytes.len() as u64);
}

#[test]
fn a_bit_that_was_wrong_on_its_way_is_transient_and_named() {
    let (_folder, shared, bytes, heard) = shared();
    pass(&shared);
    let first = lock(&shared.files[0].state).sums.get(1).unwrap();
    let mut found = bytes[BLOCK..2 * BLOCK].to_vec();
    found[70_000] ^= 0x10;
    let is_right = |part: &[u8]| first::sum_of(Checksum::Xxh3_128, part) == first;
    let offset = BLOCK_BYTES;
    MismatchedBlock { shared: &shared, file: 0, offset, found: &found, is_right: &is_right }
        .judge();
    let integrity = shared.tally().integrity.clone();
    let fault = &integrity.faults[0];
    assert_eq!((fault.kind.as_str(), fault.lasting), ("bit-flip", Lasting::Transient));
    assert!(fault.what.contains("byte 70000: bit 4"), "{}", fault.what);
    assert_eq!(fault.excerpt_at, 136 * 512);
    let Ok(VerifyStreamMessage::Line(line)) = heard.try_recv() else { panic!("nothing was said") };
    assert!(line.starts_with("bit-flip: ") && line.ends_with("(transient)"), "{line}");
}

/// A file that somebody writes to is nobody's fault, and has new sums from then on.
#[test]
fn a_file_that_was_written_to_is_got_to_know_anew() {
    let (folder, shared, bytes, _heard) = shared();
    pass(&shared);
    std::fs::write(folder.path().join("file"), &bytes[..BLOCK + 5]).unwrap();
    pass(&shared);
    pass(&shared);
    shared.take_done();
    pass(&shared);
    assert_eq!(shared.take_done().2, (BLOCK + 5) as u64);
    let tally = shared.tally();
    assert!(tally.integrity.is_clean(), "{:?}", tally.integrity.faults);
    assert_eq!(tally.counts.get(&ProblemKind::Changed), Some(&1));
}

#[test]
fn nothing_is_read_of_nothing_and_the_refusal_says_why() {
    let request = VerificationRequest {
        paths: vec![PathBuf::from("/nowhere/at/all")],
        cross_file_systems: false,
        against: Against::FirstReading(Checksum::Md5),
        streams: 1,
        passes: Some(1),
        length_ns: None,
    };
    let error = verify(&request, &Arc::new(Stop::new()), &mut |_| {}).unwrap_err();
    assert!(error.why.contains("/nowhere/at/all: No such file"), "{}", error.why);
    assert!(error.hint.is_some());
}
