//! Whole trials over loopback, from files that name their blocks.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::engine::load::protocol::{Failure, LoadResult, LoadSpec};
use crate::engine::load::testing::{Said, converse_about};
use crate::engine::net::worker::conduct;
use base::pattern::block::{Format, Identity};
use experiment::measurement::network;

mod apart;

const FILE_BYTES: usize = 1 << 20;
const BLOCK: usize = 64 << 10;
const WAYS: [&str; 7] =
    ["write", "sendfile", "sendfile-ahead", "splice", "mmap", "uring", "uring-zerocopy"];

/// Two streams, each with two files of blocks that name themselves.
struct Scene {
    _folder: tempfile::TempDir,
    streams: Vec<Vec<PathBuf>>,
}

impl Scene {
    #[expect(clippy::disallowed_methods, reason = "makes a fixture")]
    fn new() -> Scene {
        // Direct I/O and dropping pages need a file system that lies on a device.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = |stream, file| folder.path().join(format!("{stream}-{file}"));
        let streams = (0..2).map(|stream| (0..2).map(|file| path(stream, file)).collect());
        let scene = Scene { streams: streams.collect(), _folder: folder };
        let format = format();
        for (paths, stream) in scene.streams.iter().zip(0_u64..) {
            for (path, file) in paths.iter().zip(stream << 32..) {
                let mut bytes = vec![0; FILE_BYTES];
                format.write(
                    &mut bytes,
                    Identity { campaign: 22, file, offset: 0, generation: 1 },
                    1,
                );
                std::fs::write(path, bytes).unwrap();
                File::open(path).unwrap().sync_all().unwrap();
            }
        }
        scene
    }

    fn run(&self, knobs: &[(&str, Value)], before_go: impl FnOnce() + Send + 'static) -> Said {
        let mut settings = settings();
        for (name, value) in knobs {
            settings[*name] = value.clone();
        }
        let streams = self.streams.clone();
        let (bench, written) = Default::default();
        let spec = LoadSpec { settings, seed: 11, campaign: 22, streams, bench, written };
        converse_about(conduct, &spec, false, before_go)
    }

    fn done(&self, knobs: &[(&str, Value)]) -> LoadResult {
        match self.run(knobs, || ()).end {
            Some(Ok(result)) => result,
            other => panic!("{knobs:?}: {other:?}"),
        }
    }
}

impl Scene {
    /// A trial by this way that goes through its files twice at least, however long that takes on a
    /// busy machine; and the bytes that arrived.
    fn rounds(&self, way: &str) -> (LoadResult, u64) {
        let mut ms = 100;
        loop {
            let stop = json!(format!("{ms}ms"));
            let off = ("verify", json!("off"));
            let result = self.done(&[("send-path", json!(way)), off, ("stop", stop)]);
            let arrived = result.streams.iter().map(|it| it.total.read_bytes).sum();
            if arrived > 8 * FILE_BYTES as u64 || ms > 20_000 {
                return (result, arrived);
            }
            ms *= 2;
        }
    }
}

fn settings() -> Value {
    json!({
        "wire": "loopback", "stop": "300ms", "streams": 2, "files": 2, "block-size": BLOCK,
        "file-size": FILE_BYTES, "direct": false, "verify": "crc32c"
    })
}

fn format() -> Format {
    let streams = vec![vec![PathBuf::from("/x")]];
    let (bench, written) = Default::default();
    let settings = settings();
    let spec = LoadSpec { settings, seed: 11, campaign: 22, streams, bench, written };
    crate::engine::file::job::FileJob::new(&spec).unwrap().0.verify.unwrap()
}

/// A page that is sent from where it lies may be read again, or dropped, before it is on its way.
#[test]
fn by_every_way_each_block_arrives_as_it_was_written_round_after_round() {
    let scene = Scene::new();
    for way in WAYS {
        for (direct, depth) in [(false, 1), (false, 4), (true, 1), (true, 4)] {
            let deep = depth > 1 && !way.starts_with("uring") && way != "sendfile-ahead";
            if deep || (direct && ["mmap", "sendfile-ahead"].contains(&way)) {
                continue;
            }
            let what = format!("{way}, direct {direct}, depth {depth}");
            let result = scene.done(&[
                ("send-path", json!(way)),
                ("direct", json!(direct)),
                ("queue-depth", json!(depth)),
            ]);
            let arrived: u64 = result.streams.iter().map(|it| it.total.read_bytes).sum();
            let series = result.counters.iter().find(|it| it.source == network::SOURCE);
            let sent = series.and_then(|it| it.column("sent_bytes")?.values.last().copied());
            assert_eq!(sent, Some(arrived), "{what}");
            let integrity = result.integrity.unwrap_or_else(|| panic!("{what}: not checked"));
            assert!(integrity.faults.is_empty() && integrity.wrong_blocks() == 0, "{what}");
            let unchecked = arrived - integrity.checked_bytes;
            assert!(unchecked < 2 * BLOCK as u64, "{what}: {unchecked} not checked");
            assert_eq!(result.file_bytes, 4 * FILE_BYTES as u64, "{what}");
            let zerocopy = result.notes.iter().any(|note| note.kind == "zerocopy-copied");
            assert_eq!(zerocopy, way == "uring-zerocopy", "{what}: {:?}", result.notes);
        }
    }
}

/// What a round has left in memory would be read by the next at the speed of memory, and called the
/// disk's: with sendfile the last megabytes are in the sockets, where nobody can drop them.
#[test]
fn nothing_of_a_round_is_in_memory_when_the_next_begins() {
    let scene = Scene::new();
    for way in WAYS {
        let (result, arrived) = scene.rounds(way);
        let reread = result.reread_bytes.unwrap_or(0);
        assert!(reread * 20 <= arrived, "{way}: {reread} of {arrived} stayed in memory");
        assert_eq!(result.resident_before_bytes, Some(0), "{way}");
    }
    let warm = scene.done(&[("cold", json!(false)), ("verify", json!("off"))]);
    let arrived: u64 = warm.streams.iter().map(|it| it.total.read_bytes).sum();
    assert_eq!(warm.reread_bytes, Some(arrived - 4 * FILE_BYTES as u64));
}

#[test]
fn a_bit_that_turned_in_a_file_is_found_by_its_receiver_and_named_with_its_place() {
    let scene = Scene::new();
    let path = scene.streams[1][0].clone();
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 300_000).unwrap();
    file.write_all_at(&[byte[0] ^ 8], 300_000).unwrap();
    file.sync_all().unwrap();
    for way in WAYS {
        let result = scene.done(&[("send-path", json!(way))]);
        let integrity = result.integrity.unwrap();
        let [fault] = &integrity.faults[..] else { panic!("{way}: {:?}", integrity.faults) };
        assert_eq!(
            (fault.kind.as_str(), fault.file.as_str()),
            ("bit-flip", path.to_str().unwrap())
        );
        assert_eq!(fault.offset, 300_000 / 4096 * 4096, "{way}");
    }
}

/// A file that somebody cuts while it is sent would go on as zeros, or as nothing for ever.
#[test]
fn a_file_that_ends_early_is_told_with_its_name_and_place() {
    for way in WAYS {
        let scene = Scene::new();
        let path = scene.streams[0][1].clone();
        let cut = path.clone();
        let said = scene.run(&[("send-path", json!(way))], move || {
            File::options().write(true).open(cut).unwrap().set_len(BLOCK as u64).unwrap();
        });
        match said.end {
            Some(Err((Failure::Failed, why))) => {
                let place = format!("{} from byte {BLOCK} on", path.display());
                assert!(why.contains(&place), "{way}: {why}");
            }
            other => panic!("{way}: {other:?}"),
        }
    }
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name_with_what_would_work() {
    let scene = Scene::new();
    for (knobs, word) in [
        (&[("send-path", json!("zerocopy"))][..], "uring-zerocopy"),
        (&[("send-path", json!("mmap")), ("direct", json!(true))], "needs direct=false"),
        (&[("send-path", json!("splice")), ("queue-depth", json!(2))], "send-path=uring"),
        (&[("send-path", json!("sendfile-ahead")), ("direct", json!(true))], "needs direct=false"),
        (&[("access", json!("write"))], "access=read"),
        // Of a newer version at the other end; it was sent in order.
        (&[("access", json!("spiral"))], "access=spiral"),
        (&[("receive-path", json!("truncate"))], "receive-path=read"),
        (&[("stop", json!("pass"))], "stop=10s"),
    ] {
        match scene.run(knobs, || ()).end {
            Some(Err((Failure::Unsupported, why))) => assert!(why.contains(word), "{why}"),
            other => panic!("{knobs:?}: {other:?}"),
        }
    }
}
