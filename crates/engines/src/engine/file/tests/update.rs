//! Blocks that are read, changed and written back: bonnie's rewriting, and its seeks.

use std::path::Path;

use serde_json::{Value, json};

use super::{MIB, assert_headers, contents, direct, directory, done, names, refused, with};
use crate::engine::file::protocol::LoadResult;
use base::pattern::{HEADER_BYTES, Header};
use experiment::measurement::Operation;

const BLOCK: u64 = 16 << 10;
const BLOCKS: u64 = MIB / BLOCK;

fn base() -> Value {
    json!({
        "block-size": BLOCK, "file-size": MIB, "direct": false, "stop": "pass",
        "io-engine": "sync", "sustained": false,
    })
}

/// A file whose blocks were written in an earlier round than any pass of the same seed is.
fn lay(folder: &Path) {
    let twice = json!({"access": "write", "stop": "2MiB"});
    done(with(&base(), twice), names(folder, 1, 1));
}

fn headers(bytes: &[u8]) -> Vec<Header> {
    bytes.chunks(4096).map(|chunk| Header::read(chunk).unwrap()).collect()
}

/// How many operations of each kind have a latency; the first comes before the window opens.
fn kinds(result: LoadResult) -> Vec<(Operation, u64)> {
    let measurement = result.into_measurement().unwrap();
    measurement.latency.iter().map(|(kind, histogram)| (*kind, histogram.len())).collect()
}

#[test]
fn an_update_reads_every_block_and_writes_it_back_changed() {
    let folder = directory();
    let direct = direct(folder.path());
    for (engine, depth, direct) in [
        ("sync", 1, direct),
        ("sync", 1, false),
        ("uring", 4, direct),
        ("uring", 4, false),
        ("aio", 4, direct),
        ("mmap", 1, false),
    ] {
        lay(folder.path());
        let path = &names(folder.path(), 1, 1)[0][0];
        let before = contents(path);
        let update = json!({
            "access": "update", "io-engine": engine, "queue-depth": depth, "direct": direct,
        });
        let result = done(with(&base(), update), names(folder.path(), 1, 1));
        let (pass, total) = (result.streams[0].pass, result.streams[0].total);
        assert_eq!((pass.read_bytes, pass.write_bytes), (MIB, MIB), "{engine}");
        assert_eq!((pass, total.read_ops), (total, BLOCKS), "{engine}");
        assert_eq!(result.durable.unwrap().bytes, MIB, "{engine}");
        assert_eq!(result.reread_bytes, Some(0), "{engine}: what was written back is not reread");
        let after = contents(path);
        assert_headers(path, 0, 0);
        for (was, is) in headers(&before).into_iter().zip(headers(&after)) {
            assert_ne!(was.generation, is.generation, "{engine}");
            assert_eq!((was.body, was.offset), (is.body, is.offset), "{engine}");
        }
        let bodies = |bytes: &[u8]| -> Vec<Vec<u8>> {
            bytes.chunks(4096).map(|chunk| chunk[HEADER_BYTES..].to_vec()).collect()
        };
        assert!(bodies(&before) == bodies(&after), "{engine}: nothing else is changed");
        let counts = kinds(result);
        let wanted = [Operation::Read, Operation::Write, Operation::Transaction];
        assert!(counts.iter().map(|(kind, _)| *kind).eq(wanted), "{engine}: {counts:?}");
        // The window opens with the first reads, whose blocks are still to be written.
        assert!(counts[0].1 < BLOCKS, "{engine}: {counts:?}");
        assert!(counts.iter().all(|(_, count)| *count >= BLOCKS - 4), "{engine}: {counts:?}");
    }
}

#[test]
fn seeks_come_to_each_block_once_and_write_back_every_so_many_th() {
    let folder = directory();
    lay(folder.path());
    let path = &names(folder.path(), 1, 1)[0][0];
    let before = contents(path);
    let seeks = json!({
        "access": "random-update", "update-every": 10, "io-engine": "uring", "queue-depth": 5,
    });
    let result = done(with(&base(), seeks), names(folder.path(), 1, 1));
    let total = result.streams[0].total;
    // Of operations 0 to 63 the numbers 0, 10, 20 ... 60.
    assert_eq!((total.read_ops, total.write_ops), (BLOCKS, 7));
    let after = contents(path);
    let blocks = |bytes: &[u8]| -> Vec<Vec<u8>> {
        bytes.chunks(BLOCK as usize).map(<[u8]>::to_vec).collect()
    };
    let changed = blocks(&before).into_iter().zip(blocks(&after)).filter(|(was, is)| was != is);
    assert_eq!(changed.count(), 7);
    assert_headers(path, 0, 0);
    // Bytes that end a pass are those that were come to.
    let seeks = json!({"access": "random-update", "update-every": 10, "stop": "256KiB"});
    let result = done(with(&base(), seeks), names(folder.path(), 1, 1));
    let pass = result.streams[0].pass;
    assert_eq!((pass.read_ops, pass.write_ops), (16, 2));
}

#[test]
fn an_update_goes_round_makes_each_write_durable_where_asked_and_needs_a_file() {
    let folder = directory();
    lay(folder.path());
    let path = &names(folder.path(), 1, 1)[0][0];
    let thrice = json!({"access": "update", "stop": "3MiB", "fsync": "every"});
    let result = done(with(&base(), thrice), names(folder.path(), 1, 1));
    let stream = result.streams[0];
    assert_eq!((stream.pass.read_bytes, stream.pass.write_bytes), (3 * MIB, 3 * MIB));
    let durable = result.durable.unwrap();
    assert_eq!(durable.durable_ns, durable.accepted_ns);
    assert_headers(path, 0, 0);
    let zeros = json!({"access": "write", "data": "zero"});
    done(with(&base(), zeros), names(folder.path(), 1, 1));
    let update = json!({"access": "update", "data": "zero"});
    done(with(&base(), update), names(folder.path(), 1, 1));
    assert!(contents(path).iter().all(|byte| *byte == 0), "zeros stay zeros");
    let none = names(folder.path(), 2, 1).split_off(1);
    let (_, what) = refused(with(&base(), json!({"access": "update"})), none);
    assert!(what.contains("No such file"), "{what}");
}
