//! Disks of servers whose speed is known, measured: held by QEMU, and delayed by the device mapper.

use std::time::Duration;

use super::{Machine, bootable};
use crate::disk::beside_this_machine;
use crate::run::{draw, figure, trials, verdict};

/// Makes a file system on a disk whose writes are held too, and reads 40 MiB of it.
const SCRIPT: &str = "mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/vda
mkdir /a; mount /dev/vda /a
brickyard run sequential-read --dir /a --replicates 1 --json stop=6s file-size=40MiB \
    block-size=256KiB queue-depth=4 > /mnt/out/limited.json
umount /a
dmsetup create slow --table \"0 $(blockdev --getsz /dev/vdb) delay /dev/vdb 0 20\"
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/slow
mount /dev/mapper/slow /a
brickyard run random-read --dir /a --replicates 1 --json stop=4s file-size=16MiB \
    block-size=4KiB queue-depth=1 > /mnt/out/delayed.json
";

/// The first figures that came out of a whole server, all of it emulated.
#[test]
fn a_limited_disk_and_a_delayed_one_are_measured_as_they_are() {
    if !bootable("a limited disk of a server", "array") {
        return;
    }
    let _beside = beside_this_machine();
    let limit = draw("bytes per second of a server's disks", 8_000_000, 16_000_000);
    let limited = limit.to_string();
    let environment = [("LIMIT", limited.as_str()), ("DISKS", "2"), ("MIB", "128")];
    let machine = Machine::run("array", &environment, SCRIPT, Duration::from_secs(420));
    let document = machine.json("limited.json");
    let trial = trials(&document)[0];
    let share = figure(trial, "throughput_bytes_per_s") / limit as f64;
    println!("{share:.4} of the limit");
    assert_eq!(verdict(trial), "device", "{trial:#}");
    assert!((share - 1.0).abs() < 0.03, "{share}: {trial:#}");
    let document = machine.json("delayed.json");
    let trial = trials(&document)[0];
    let ms = figure(trial, "latency_ns_mean") / 1e6;
    println!("{ms:.2} ms of 20 ms");
    assert_eq!(verdict(trial), "device", "{trial:#}");
    // Rounded up to the kernel's next tick of 4 ms, at which the mapper's thread is woken.
    assert!((20.0..30.0).contains(&ms), "{ms}: {trial:#}");
}
