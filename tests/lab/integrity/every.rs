//! A disk that drops every hundredth write, and with `BRICKYARD_LONG` every millionth: each of them
//! is found, by its place, and nothing else.

use super::{compare, expected, found, run};
use crate::disk::{beside_a_guest, usable};
use crate::liar::{Liar, Lie, Rule};
use crate::run::draw;

/// Blocks as small as they can be, so that a million of them is not much.
const BLOCK_BYTES: u64 = 512;

/// Drops one of so many writes; two streams read back so many MiB each.
fn drops(every: u64, mib: u64) {
    let liar = Liar::new(2 * mib + mib / 2 + 64);
    let blocks = 2 * (mib << 20) / BLOCK_BYTES;
    // So that it comes round at least twice.
    let first = draw(&format!("every {every}: first"), 1, every.min(blocks - every));
    liar.arm(&[Rule { lie: Lie::Drop, first, every: Some(every) }], 0);
    let size = format!("file-size={mib}MiB");
    let document = run(
        &liar,
        &[
            "sequential-read",
            "verify=crc32c",
            "verify-block=512",
            "block-size=64KiB",
            "streams=2",
            "stop=pass",
            "sustained=false",
            &size,
        ],
    );
    let truth = liar.confess();
    let faults = found(&document);
    println!("every {every}: {} of {blocks} blocks that were written", faults.len());
    assert_eq!(truth.written, blocks, "each block is written once");
    assert_eq!(faults.len() as u64, 1 + (blocks - first) / every);
    assert!(faults.len() >= 2, "it comes round");
    compare(&format!("every {every}"), expected(&truth, false), faults, &truth.told);
    let checked = crate::run::trials(&document)[0]["integrity"]["checked_bytes"].as_u64();
    assert_eq!(checked, Some(blocks * BLOCK_BYTES), "{document:#}");
}

#[test]
fn each_of_the_writes_that_a_disk_drops_now_and_then_is_found_and_nothing_else() {
    if !usable("a disk that drops one write of many", &["mkfs.ext4", "losetup"]) {
        return;
    }
    let _beside = beside_a_guest();
    drops(100, 4);
    if std::env::var_os("BRICKYARD_LONG").is_some() {
        // 1 064 960 blocks.
        drops(1_000_000, 260);
    }
}
