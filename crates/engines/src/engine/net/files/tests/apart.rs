//! The same from this process to a listener in it, as to another machine, which has no file.

use super::*;
use crate::engine::net::two::flipped::{Flip, between};
use crate::engine::net::two::{BOUNDS, TestListener};
use experiment::measurement::Integrity;
use experiment::measurement::integrity::{FAULTS_MAX, Lasting};

fn checked(result: &LoadResult) -> &Integrity {
    result.integrity.as_ref().unwrap_or_else(|| panic!("not checked: {:?}", result.notes))
}

impl Scene {
    fn sent(&self, to: std::net::SocketAddr, knobs: &[(&str, Value)]) -> LoadResult {
        let there = [("peer", json!(to.to_string())), ("wire", json!("auto"))];
        self.done(&[&there[..], knobs].concat())
    }
}

#[test]
fn all_that_arrives_there_in_whole_blocks_is_checked_there_by_every_way() {
    let (scene, far) = (Scene::new(), TestListener::new(BOUNDS));
    for way in WAYS {
        let result = scene.sent(far.0, &[("send-path", json!(way))]);
        let integrity = checked(&result);
        let arrived = result.streams.iter().map(|it| it.total.read_bytes);
        let whole: u64 = arrived.clone().map(|bytes| bytes / BLOCK as u64 * BLOCK as u64).sum();
        assert_eq!(integrity.checked_bytes, whole, "{way}");
        // They go round, and are the same again.
        assert!(integrity.is_clean() && integrity.again == 0, "{way}: {integrity:?}");
        assert_eq!((integrity.checksum.as_str(), integrity.block_bytes), ("crc32c", 4096), "{way}");
        let series = result.counters.iter().find(|it| it.source == network::SOURCE);
        let sent = series.and_then(|it| it.column("sent_bytes")?.values.last().copied());
        assert_eq!(sent, Some(arrived.sum()), "{way}");
        let notes = result.notes.iter().filter(|note| note.kind == "checked-on-arrival");
        assert_eq!(notes.count(), 1, "{way}: {:?}", result.notes);
    }
}

/// What arrived wrong lay on the disk as it arrived: reading it again says so.
#[test]
fn a_bit_that_turned_in_a_file_is_found_there_and_named_here() {
    let (scene, far) = (Scene::new(), TestListener::new(BOUNDS));
    let path = scene.streams[1][1].clone();
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, 700_001).unwrap();
    file.write_all_at(&[byte[0] ^ 8], 700_001).unwrap();
    file.sync_all().unwrap();
    for way in ["write", "sendfile", "uring"] {
        let result = scene.sent(far.0, &[("send-path", json!(way))]);
        let integrity = checked(&result);
        let [fault] = &integrity.faults[..] else { panic!("{way}: {:?}", integrity.faults) };
        assert_eq!(
            (fault.file.as_str(), fault.offset),
            (path.to_str().unwrap(), 700_001 / 4096 * 4096)
        );
        assert!(fault.what.contains(&format!("bit 3 of byte {}", 700_001 % 4096)), "{fault:?}");
        assert_eq!(integrity.wrong, [("bit-flip".to_owned(), 1)].into(), "{way}");
        assert!(fault.rereads.iter().any(|one| one.gave == "same-wrong"), "{fault:?}");
        assert_ne!(fault.lasting, Lasting::Transient, "{fault:?}");
    }
}

/// On the disk it is right: the way has turned it, and once.
#[test]
fn a_bit_that_turned_on_the_way_is_named_with_its_file_and_is_no_fault_of_the_disk() {
    let (scene, far) = (Scene::new(), TestListener::new(BOUNDS));
    for (stream, offset) in [(0, 12_345_u64), (1, FILE_BYTES as u64 + 4096 * 3 + 17), (1, 0)] {
        let at = between(far.0, Some(Flip { stream, back: false, offset }));
        let result = scene.sent(at, &[]);
        let integrity = checked(&result);
        let [fault] = &integrity.faults[..] else { panic!("{:?}", integrity.faults) };
        let (file, byte) = (offset as usize / FILE_BYTES, offset % FILE_BYTES as u64);
        let path = scene.streams[stream][file].to_str().unwrap();
        assert_eq!((fault.file.as_str(), fault.offset), (path, byte / 4096 * 4096), "{fault:?}");
        assert_eq!((fault.kind.as_str(), fault.lasting), ("bit-flip", Lasting::Transient));
        assert!(fault.what.contains(&format!("bit 4 of byte {}", byte % 4096)), "{fault:?}");
        assert!(integrity.wrong_blocks() == 1 && integrity.again == 0, "{integrity:?}");
        let arrived = result.streams.iter().map(|it| it.total.read_bytes);
        let whole: u64 = arrived.map(|bytes| bytes / BLOCK as u64 * BLOCK as u64).sum();
        assert_eq!(integrity.checked_bytes, whole, "those that are wrong are checked, too");
    }
}

/// Two files whose every block is another's: more than are kept, all of them counted, each once.
#[test]
fn where_everything_is_wrong_all_is_counted_and_no_more_is_kept_than_may_be() {
    let (scene, far) = (Scene::new(), TestListener::new(BOUNDS));
    let settings = [("verify-block", json!(512))];
    // They were written in blocks of 4 KiB: of a file of 512-byte blocks not one is right.
    let result = scene.sent(far.0, &settings);
    let integrity = checked(&result);
    let blocks = (4 * FILE_BYTES / 512) as u64;
    let arrived: u64 = result.streams.iter().map(|it| it.total.read_bytes).sum();
    assert!(integrity.wrong_blocks() <= blocks, "{}", integrity.wrong_blocks());
    assert_eq!(integrity.wrong_blocks() + integrity.again, integrity.checked_bytes / 512);
    assert_eq!(integrity.faults.len(), FAULTS_MAX.min(integrity.wrong_blocks() as usize));
    assert!(arrived - integrity.checked_bytes < 2 * BLOCK as u64);
    let twice = result.streams.iter().all(|it| it.total.read_bytes >= 2 * FILE_BYTES as u64);
    if twice {
        assert_eq!(integrity.wrong_blocks(), blocks);
    }
}
