//! Trials that check what they read.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{MIB, direct, directory, names, with};
use crate::engine::FileIdentity;
use crate::engine::file::protocol::{Failure, LoadResult, LoadSpec};
use crate::engine::file::worker::conduct;
use crate::engine::load::testing::converse_about;
use base::hash::Checksum;
use experiment::measurement::Integrity;
use experiment::measurement::integrity::{Fault, Lasting};

const ENGINES: [(&str, u64); 4] = [("uring", 4), ("aio", 2), ("sync", 1), ("mmap", 1)];

/// A trial on files of that generation.
fn trial(
    settings: &Value,
    streams: &[Vec<PathBuf>],
    generation: u64,
) -> Result<LoadResult, (Failure, String)> {
    trial_after(settings, streams, generation, || ())
}

/// The same, with something done to the files when they are open and nothing is read yet.
fn trial_after(
    settings: &Value,
    streams: &[Vec<PathBuf>],
    generation: u64,
    before_go: impl FnOnce() + Send + 'static,
) -> Result<LoadResult, (Failure, String)> {
    let of = |(paths, stream): (&Vec<PathBuf>, u64)| {
        (0..paths.len() as u64)
            .map(|file| FileIdentity { file: stream << 32 | file, generation })
            .collect()
    };
    let spec = LoadSpec {
        settings: settings.clone(),
        seed: 11,
        campaign: 22,
        streams: streams.to_vec(),
        bench: Default::default(),
        written: streams.iter().zip(0..).map(of).collect(),
    };
    converse_about(conduct, &spec, false, before_go).end.unwrap()
}

fn base(more: Value) -> Value {
    let base = json!({
        "verify": "crc32c", "direct": false, "block-size": 65536, "file-size": MIB,
        "stop": "pass", "sustained": false,
    });
    with(&base, more)
}

fn write(settings: &Value, streams: &[Vec<PathBuf>], generation: u64) {
    let settings = with(settings, json!({"access": "write"}));
    let written = trial(&settings, streams, generation).unwrap();
    assert_eq!(written.integrity, None, "nothing was read");
}

fn read(settings: &Value, streams: &[Vec<PathBuf>], generation: u64) -> Integrity {
    let result = trial(settings, streams, generation).unwrap();
    result.integrity.unwrap_or_else(|| panic!("{settings}: nothing was checked"))
}

/// The bytes of a block of 4 KiB, and the same written in their place.
fn block(path: &Path, at: u64) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    std::fs::File::open(path).unwrap().read_exact_at(&mut bytes, at).unwrap();
    bytes
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(bytes, at).unwrap();
    file.sync_all().unwrap();
}

fn flip(path: &Path, at: u64) {
    let mut bytes = block(path, at / 4096 * 4096);
    bytes[(at % 4096) as usize] ^= 0x10;
    overwrite(path, at / 4096 * 4096, &bytes);
}

fn fault(integrity: &Integrity) -> &Fault {
    match &integrity.faults[..] {
        [one] => one,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_checksum_and_every_engine_reads_clean_files_without_a_false_alarm() {
    let folder = directory();
    let streams = names(folder.path(), 2, 2);
    let direct = direct(folder.path());
    for checksum in Checksum::ALL {
        let settings = base(json!({"verify": checksum.name()}));
        write(&settings, &streams, 3);
        for (engine, depth) in ENGINES {
            for direct in [false, direct && engine != "mmap"] {
                for access in ["read", "random-read"] {
                    let settings = with(
                        &settings,
                        json!({
                            "io-engine": engine, "queue-depth": depth, "direct": direct,
                            "access": access,
                        }),
                    );
                    let integrity = read(&settings, &streams, 3);
                    assert!(integrity.is_clean(), "{settings}: {integrity:?}");
                    assert_eq!(integrity.checked_bytes, 4 * MIB, "{settings}");
                    assert_eq!(integrity.checksum, checksum.name());
                    assert_eq!(integrity.block_bytes, 4096);
                }
            }
        }
    }
}

#[test]
fn blocks_of_every_length_and_order_rounds_and_second_passes_are_checked() {
    let folder = directory();
    let streams = names(folder.path(), 1, 2);
    for (length, request) in [(512, 512), (512, 4096), (12288, 24576), (MIB / 4, MIB / 2)] {
        let settings = base(json!({
            "verify-block": length, "block-size": request, "file-size": 12288 * 64,
        }));
        let settings = match length {
            12288 => settings,
            _ => with(&settings, json!({"file-size": MIB})),
        };
        write(&settings, &streams, 9);
        for access in ["read-backward", "read-strided", "random-read"] {
            let integrity = read(&with(&settings, json!({"access": access})), &streams, 9);
            assert!(integrity.is_clean() && integrity.checked_bytes > MIB, "{length} {access}");
        }
    }
    let rounds = with(&base(json!({})), json!({"stop": "5MiB"}));
    write(&base(json!({})), &streams, 9);
    assert_eq!(read(&rounds, &streams, 9).checked_bytes, 5 * MIB);
    let twice = with(&base(json!({})), json!({"second-pass": true}));
    assert_eq!(read(&twice, &streams, 9).checked_bytes, 4 * MIB);
    let paced = with(&base(json!({})), json!({"rate": 2000}));
    assert_eq!(read(&paced, &streams, 9).checked_bytes, 2 * MIB);
    // Rounds of a writer are generations: the first three blocks are those of the second round.
    let again = with(&base(json!({})), json!({"access": "write", "stop": "2240KiB"}));
    trial(&again, &streams, 9).unwrap();
    let integrity = read(&base(json!({})), &streams, 9);
    assert_eq!(integrity.wrong, [("foreign".to_owned(), 48)].into());
}

#[test]
fn one_flipped_bit_is_found_once_and_named_and_its_neighbours_are_clean() {
    let folder = directory();
    let streams = names(folder.path(), 2, 1);
    let on_disk = direct(folder.path());
    for (engine, depth) in ENGINES {
        for direct in [false, on_disk && engine != "mmap"] {
            write(&base(json!({})), &streams, 1);
            flip(&streams[1][0], 7 * 4096 + 1234);
            let settings = base(json!({
                "io-engine": engine, "queue-depth": depth, "direct": direct, "stop": "3MiB",
            }));
            let integrity = read(&settings, &streams, 1);
            let fault = fault(&integrity);
            assert_eq!((fault.kind.as_str(), fault.offset), ("bit-flip", 7 * 4096), "{fault:?}");
            assert_eq!(fault.file, streams[1][0].display().to_string());
            assert!(fault.what.contains("bit 4 of byte 1234"), "{}", fault.what);
            assert_eq!((fault.excerpt_at, fault.found.len()), (1024, 1024));
            let differ = fault.found.bytes().zip(fault.expected.bytes()).filter(|(a, b)| a != b);
            assert_eq!(differ.count(), 1, "one digit of one byte");
            if on_disk {
                assert_eq!(fault.lasting, Lasting::Persistent, "{fault:?}");
            }
            assert_eq!((integrity.wrong_blocks(), integrity.again), (1, 2), "{engine}");
            assert_eq!(integrity.checked_bytes, 6 * MIB);
        }
    }
}

#[test]
fn swapped_zeroed_older_and_foreign_blocks_are_told_apart() {
    let folder = directory();
    let streams = names(folder.path(), 2, 1);
    let (one, two) = (&streams[0][0], &streams[1][0]);
    write(&base(json!({})), &streams, 4);
    let old = block(one, 8192);
    write(&base(json!({})), &streams, 6);
    let (a, b) = (block(one, 0), block(two, 40960));
    overwrite(one, 0, &b);
    overwrite(two, 40960, &a);
    overwrite(one, 8192, &old);
    overwrite(one, 16384, &[0; 4096]);
    overwrite(two, 0, &vec![0x5A; 4095].into_iter().chain([1]).collect::<Vec<_>>());
    let torn = [&block(one, 20480)[..1536], &[0; 2560]].concat();
    overwrite(one, 20480, &torn);
    let integrity = read(&base(json!({})), &streams, 6);
    let mut found: Vec<(bool, u64, &str)> = integrity
        .faults
        .iter()
        .map(|fault| (fault.file.ends_with("s1-f0"), fault.offset, fault.kind.as_str()))
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            (false, 0, "misdirected"),
            (false, 8192, "stale"),
            (false, 16384, "unwritten"),
            (false, 20480, "torn"),
            (true, 0, "foreign"),
            (true, 40960, "misdirected"),
        ]
    );
    let misdirected = integrity.faults.iter().find(|fault| fault.kind == "misdirected").unwrap();
    assert!(misdirected.what.contains("the two are swapped"), "{}", misdirected.what);
    assert!(misdirected.what.contains("(that file is s"), "{}", misdirected.what);
    let stale = integrity.faults.iter().find(|fault| fault.kind == "stale").unwrap();
    assert!(stale.what.contains("generation 4"), "{}", stale.what);
    assert_eq!(integrity.wrong_blocks(), 6);
}

/// Through a map blocks are checked where they lie, otherwise in a copy: what is told of the same
/// wrong file must be the same.
#[test]
fn a_map_and_a_copy_tell_the_same_of_the_same_wrong_file() {
    let folder = directory();
    let streams = names(folder.path(), 1, 1);
    let path = &streams[0][0];
    for checksum in Checksum::ALL {
        let settings = base(json!({"verify": checksum.name()}));
        write(&settings, &streams, 4);
        let old = block(path, 65536 * 3);
        write(&settings, &streams, 6);
        for at in [0, 4095, 65536 + 70, 65536 * 2 - 1, 65536 * 5 + 4096 + 50, MIB - 1] {
            flip(path, at);
        }
        overwrite(path, 65536 * 3, &old);
        overwrite(path, 65536 * 4 + 8192, &[0; 4096]);
        let of = |engine: &str| {
            let twice = with(&settings, json!({"io-engine": engine, "stop": "2MiB"}));
            let mut integrity = read(&twice, &streams, 6);
            for fault in &mut integrity.faults {
                fault.at_ns = 0;
            }
            integrity
        };
        let (copied, mapped) = (of("sync"), of("mmap"));
        assert_eq!((copied.wrong_blocks(), copied.again), (7, 7), "{:?}", copied.wrong);
        assert_eq!(copied.checked_bytes, 2 * MIB);
        assert_eq!(copied, mapped, "{}", checksum.name());
    }
}

#[test]
fn a_file_that_shrinks_or_grows_under_its_reader_is_recorded_and_ends_nothing() {
    let folder = directory();
    let streams = names(folder.path(), 2, 1);
    let to = |bytes: u64| {
        let file = OpenOptions::new().write(true).open(&streams[0][0]).unwrap();
        move || file.set_len(bytes).unwrap()
    };
    for (engine, depth) in ENGINES {
        write(&base(json!({})), &streams, 1);
        let settings =
            base(json!({"io-engine": engine, "queue-depth": depth, "stop": "3MiB", "cold": false}));
        let cut = to(MIB - 6144);
        let integrity = trial_after(&settings, &streams, 1, cut).unwrap().integrity.unwrap();
        // A block and a half are gone; the page of a map in which a file ends is zeros behind it.
        let kinds: Vec<&str> = integrity.wrong.keys().map(String::as_str).collect();
        assert!(kinds == ["short"] || engine == "mmap" && kinds == ["short", "torn"], "{kinds:?}");
        assert_eq!((integrity.wrong_blocks(), integrity.unreadable), (2, 0), "{integrity:?}");
        let offsets: Vec<u64> = integrity.faults.iter().map(|fault| fault.offset).collect();
        assert_eq!(offsets, [MIB - 8192, MIB - 4096], "{engine}");
        assert!(integrity.again >= 4, "it is seen in each round: {}", integrity.again);
    }
    // One that was short before is not read as if it were whole.
    let (kind, what) = trial(&base(json!({})), &streams, 1).unwrap_err();
    assert!(kind == Failure::Failed && what.contains("1042432 bytes of the 1048576"), "{what}");
    // What is appended is nobody's.
    write(&base(json!({})), &streams, 1);
    let grown = trial_after(&base(json!({})), &streams, 1, to(2 * MIB)).unwrap();
    let integrity = grown.integrity.unwrap();
    assert!(integrity.is_clean() && integrity.checked_bytes == 2 * MIB, "{integrity:?}");
    // Nothing is left of the only file.
    let only = &streams[..1];
    let (kind, what) = trial_after(&base(json!({})), only, 1, to(0)).unwrap_err();
    assert!(kind == Failure::Failed && what.contains("nothing could be read"), "{what}");
}

#[test]
fn a_whole_file_that_is_wrong_is_counted_to_its_last_block() {
    let folder = directory();
    let streams = names(folder.path(), 2, 1);
    let settings = base(json!({"verify-block": 512}));
    write(&settings, &streams, 5);
    let integrity = read(&settings, &streams, 7);
    assert_eq!(integrity.wrong, [("stale".to_owned(), 4096)].into());
    assert_eq!(integrity.faults.len(), 1000);
    assert!(integrity.faults.is_sorted_by_key(|fault| fault.at_ns));
    assert_eq!(integrity.faults[999].found.len(), 128, "later ones are kept shortly");
}

#[test]
fn a_trial_without_verify_checks_nothing_and_its_names_must_be_as_many_as_its_files() {
    let folder = directory();
    let streams = names(folder.path(), 1, 1);
    write(&base(json!({})), &streams, 1);
    flip(&streams[0][0], 5000);
    let settings = base(json!({"verify": "off"}));
    assert_eq!(trial(&settings, &streams, 1).unwrap().integrity, None);
    let spec = LoadSpec {
        settings: base(json!({})),
        seed: 1,
        campaign: 22,
        streams,
        bench: Default::default(),
        written: vec![vec![]],
    };
    let Err((_, what)) = converse_about(conduct, &spec, false, || ()).end.unwrap() else {
        panic!()
    };
    assert!(what.contains("without their names"), "{what}");
}
