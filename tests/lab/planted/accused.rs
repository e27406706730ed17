//! No false accusation: what looks like a cache, and is none.

use std::time::Duration;

use super::neighbour::Neighbour;
use super::{Found, Memory, Slow, amount, choose, judged};
use crate::disk::{Disk, Mount};
use crate::run::{brickyard, parse, reading, reason};

const MIB: u64 = 1 << 20;

/// "device-cache": the neighbour had left when the blocks were read again.
pub fn neighbour_leaves(number: u64) -> Found {
    let slow = Slow::new(number, 600);
    let neighbour = Neighbour::reading(&slow.disk.device);
    let stays = amount(number, "neighbour stays, tenths of a second", 25, 60);
    let leaves = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100 * stays));
        drop(neighbour);
    });
    let block = choose(number, "block", &["block-size=64KiB", "block-size=256KiB"]);
    let knobs = ["stop=3s", "file-size=128MiB", "second-pass=true", "queue-depth=4", block];
    let trial = reading(&slow.mount.name(), &[], &knobs);
    leaves.join().expect("the neighbour");
    judged(&trial, slow.bytes_per_s, Memory::None)
}

/// A disk whose rate goes up and down by a third, read twice.
pub fn wanders(number: u64) -> Found {
    let slow = Slow::new(number, 600);
    let (name, rate) = (slow.mount.name(), slow.bytes_per_s);
    let mut state = amount(number, "wandering", 1, u64::MAX);
    let mut disk = slow.disk;
    let neighbour = Neighbour::doing(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let percent = 67 + (state >> 33) % 34;
        disk.limit(rate * percent / 100, 400_000_000);
        std::thread::sleep(Duration::from_millis(300));
    });
    let knobs = ["stop=3s", "file-size=256MiB", "second-pass=true", "block-size=256KiB"];
    let trial = std::panic::catch_unwind(|| reading(&name, &[], &knobs));
    // The file system goes before the disk that the neighbour has.
    drop(slow.mount);
    drop(neighbour);
    judged(&trial.expect("a trial"), rate, Memory::None)
}

/// Nothing keeps anything, and the same blocks are read twice.
pub fn read_twice(number: u64) -> Found {
    let slow = Slow::with(number, 600, &["ext4", "xfs", "btrfs"]);
    let direct = choose(number, "direct", &["direct=true", "direct=false"]);
    let knobs = ["stop=2s", "file-size=256MiB", "second-pass=true", direct];
    judged(&reading(&slow.mount.name(), &[], &knobs), slow.bytes_per_s, Memory::None)
}

/// A file that btrfs had compressed was read once and cold: "mixed, the rest was in memory".
pub fn packed(number: u64) -> Found {
    let disk = Disk::new(400);
    drop(Mount::format(&disk, "btrfs"));
    let with = choose(number, "packed", &["compress-force=lzo", "compress-force=zstd"]);
    let mount = Mount::new("btrfs", &disk.device, with);
    let mib = amount(number, "packed, MiB", 20, 60);
    // Half of each block repeats.
    let mut state = amount(number, "its bytes", 1, u64::MAX);
    let mut block = vec![0; 4096];
    let mut data = Vec::new();
    for _ in 0..mib * MIB / 4096 {
        for byte in &mut block[..2048] {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (state >> 33) as u8;
        }
        data.extend_from_slice(&block);
    }
    std::fs::write(mount.path.join("file"), data).expect("written");
    drop(mount);
    let mount = Mount::new("btrfs", &disk.device, "");
    let folder = tempfile::tempdir().expect("a folder");
    let file = mount.path.join("file").display().to_string();
    let arguments = ["verify", &file, "--passes", "1", "--json", "--quiet", "--no-store"];
    let output = brickyard(folder.path(), &arguments).output().expect("it starts");
    let reading = parse(&output)["verify"]["readings"][0].clone();
    match judged(&reading, 1, Memory::None) {
        // How much of it left the device cannot be told by counts of bytes; that it is packed can.
        Found::Unknown(line) if reason(&reading).contains("packs") => Found::Right(line),
        found => found,
    }
}

/// The files of bindfs lie in a directory of ours too: what of them is in memory can be counted.
pub fn mirrored(number: u64) -> Found {
    let slow = Slow::new(number, 300);
    let fuse = Mount::fuse(&slow.mount.path);
    let stop = choose(number, "stop", &["stop=32MiB", "stop=64MiB"]);
    // They were just written, and the program reads through the page cache.
    let knobs = ["direct=false", "file-size=64MiB", stop];
    judged(&reading(&fuse.name(), &[], &knobs), slow.bytes_per_s, Memory::All)
}
