//! Limits of disks, and of control groups on disks.

use super::groups::Group;
use super::{Case, Load, amount, choose, factor};
use crate::daemon::Daemon;
use crate::disk::{Disk, Mount, sh};
use crate::model::{Model, Modelled};

/// What a model without a limit of its own does.
const QUICK: Model = Model { request_us: 0, bytes_per_s: 4_000_000_000, slots: 1 };

const BLOCKS: &[&str] = &["block-size=128KiB", "block-size=256KiB", "block-size=512KiB"];
const SMALL: &[&str] = &["block-size=4KiB", "block-size=16KiB", "block-size=64KiB"];

fn bytes_of(block: &str) -> u64 {
    let kib = block.trim_start_matches("block-size=").trim_end_matches("KiB");
    kib.parse::<u64>().expect("KiB") << 10
}

fn mounted(disk: &Disk, number: u64) -> Mount {
    Mount::format(disk, choose(number, "file system", &["ext4", "xfs"]))
}

/// So many bytes a second, and a group that allows more.
pub fn slow(number: u64, lift: bool) -> Case {
    let rate = amount(number, "disk, MB/s", 30, 90) * 1_000_000;
    let model = Model { request_us: 100, bytes_per_s: rate, slots: 1 };
    let mut made = Modelled::new(400, model);
    let mount = mounted(made.disk(), number);
    let group = Group::new("blkio", number);
    group.limit(&made.disk().device, "read_bps", (rate as f64 * factor(number)) as u64);
    let knobs = [choose(number, "block", BLOCKS), "queue-depth=1,8"];
    let load = Load::new(mount.name(), "sequential-read", &knobs, 8).within(&group);
    let answer = load.run();
    let lifted = lift.then(|| {
        made.change(QUICK);
        load.judged_alone().run().bytes_per_s
    });
    Case { right: &["device"], answer, lifted }
}

/// So long for each request, and a group that allows more of them.
pub fn seeking(number: u64, lift: bool) -> Case {
    let takes_us = amount(number, "request, us", 2000, 10_000);
    let model = Model { request_us: takes_us, bytes_per_s: 500_000_000, slots: 1 };
    let mut made = Modelled::new(400, model);
    let mount = mounted(made.disk(), number);
    let group = Group::new("blkio", number);
    let most = 1e6 / takes_us as f64 * factor(number);
    group.limit(&made.disk().device, "read_iops", most as u64);
    let knobs = [choose(number, "block", &SMALL[..2]), "queue-depth=1,8", "stop=3s"];
    let load = Load::new(mount.name(), "random-read", &knobs, 8).within(&group);
    let answer = load.run();
    let lifted = lift.then(|| {
        made.change(QUICK);
        load.judged_alone().run().bytes_per_s
    });
    Case { right: &["device"], answer, lifted }
}

/// Another's implementation of a slow disk. What it would do without its throttle is not known.
pub fn daemon(number: u64, _: bool) -> Case {
    let rate = amount(number, "daemon, MB/s", 20, 60) * 1_000_000;
    let made = Daemon::new(400, Some(rate), &["--direct-io=on", "--sector-size", "4096"]);
    let mount = mounted(made.disk(), number);
    let group = Group::new("blkio", number);
    group.limit(&made.disk().device, "read_bps", (rate as f64 * factor(number)) as u64);
    let knobs = [choose(number, "block", BLOCKS), "queue-depth=1,8"];
    let load = Load::new(mount.name(), "sequential-read", &knobs, 8).within(&group);
    Case { right: &["device"], answer: load.run(), lifted: None }
}

/// Slow disks under btrfs, which stripes over them.
fn striped(number: u64, rate: u64) -> (Mount, Vec<Modelled>) {
    let model = Model { request_us: 50, bytes_per_s: rate, slots: 1 };
    let count = amount(number, "disks", 2, 5);
    let mut disks: Vec<Modelled> = (0..count).map(|_| Modelled::new(400, model)).collect();
    let devices: Vec<String> = disks.iter_mut().map(|one| one.disk().device.clone()).collect();
    let mut arguments = vec!["-q", "-f", "-d", "raid0", "-m", "raid0"];
    arguments.extend(devices.iter().map(String::as_str));
    sh("mkfs.btrfs", &arguments);
    (Mount::new("btrfs", &devices[0], ""), disks)
}

/// Each disk of an array at its limit; a group allows more on each.
pub fn array(number: u64, lift: bool) -> Case {
    let rate = amount(number, "each disk, MB/s", 15, 30) * 1_000_000;
    let (mount, mut disks) = striped(number, rate);
    let group = Group::new("blkio", number);
    let most = (rate as f64 * factor(number)) as u64;
    disks.iter_mut().for_each(|one| group.limit(&one.disk().device, "read_bps", most));
    let knobs = ["block-size=512KiB", "queue-depth=1,8", "file-size=128MiB"];
    let load = Load::new(mount.name(), "sequential-read", &knobs, 8).within(&group);
    let answer = load.run();
    let lifted = lift.then(|| {
        disks.iter().for_each(|one| one.change(QUICK));
        load.judged_alone().run().bytes_per_s
    });
    drop(mount);
    Case { right: &["device"], answer, lifted }
}

/// A loop device through the page cache over a file on an array: what was just written is there.
/// With that cache emptied before the trial, the array is what limits.
pub fn cached(number: u64, _: bool) -> Case {
    let rate = amount(number, "each disk, MB/s", 15, 30) * 1_000_000;
    let (below, disks) = striped(number, rate);
    let upper = Disk::over(&below.path, 300, &["--direct-io=off"]);
    let mount = Mount::format(&upper, "ext4");
    let warm = choose(number, "warm", &[true, false]);
    let knobs = ["block-size=256KiB", "queue-depth=1,8"];
    let mut load = Load::new(mount.name(), "sequential-read", &knobs, 8);
    if !warm {
        load = load.with("drop-caches=true".to_owned()).with("stop=60MiB".to_owned());
    }
    let answer = load.run();
    drop(mount);
    drop(upper);
    drop(below);
    drop(disks);
    Case { right: if warm { &["device-cache"] } else { &["device"] }, answer, lifted: None }
}

/// A group's limit in bytes; the disk could do more.
pub fn group_bytes(number: u64, lift: bool) -> Case {
    let most = amount(number, "group, MB/s", 20, 60) * 1_000_000;
    let rate = (most as f64 * factor(number)) as u64;
    let mut made = Modelled::new(400, Model { request_us: 0, bytes_per_s: rate, slots: 1 });
    let mount = mounted(made.disk(), number);
    let group = Group::new("blkio", number);
    group.limit(&made.disk().device, "read_bps", most);
    let knobs = [choose(number, "block", BLOCKS), "queue-depth=1,8", "stop=3s"];
    let load = Load::new(mount.name(), "sequential-read", &knobs, 8).within(&group);
    let answer = load.run();
    let lifted = lift.then(|| {
        group.limit(&made.disk().device, "read_bps", 0);
        load.judged_alone().run().bytes_per_s
    });
    Case { right: &["cgroup-io"], answer, lifted }
}

/// A group's limit in operations; the disk could do more.
pub fn group_operations(number: u64, lift: bool) -> Case {
    let most = amount(number, "group, operations/s", 100, 300);
    let takes_us = (1e6 / (most as f64 * factor(number))) as u64;
    let model = Model { request_us: takes_us, bytes_per_s: 4_000_000_000, slots: 1 };
    let mut made = Modelled::new(400, model);
    let mount = mounted(made.disk(), number);
    let group = Group::new("blkio", number);
    group.limit(&made.disk().device, "read_iops", most);
    let knobs = [choose(number, "block", SMALL), "queue-depth=1,8", "stop=3s"];
    let load = Load::new(mount.name(), "random-read", &knobs, 8).within(&group);
    let answer = load.run();
    let lifted = lift.then(|| {
        group.limit(&made.disk().device, "read_iops", 0);
        load.judged_alone().run().bytes_per_s
    });
    Case { right: &["cgroup-io"], answer, lifted }
}

/// Operations that the kernel must cut are charged twice: about half of the limit gets through.
pub fn charged_twice(number: u64, _: bool) -> Case {
    let disk = Disk::new(400);
    let mount = mounted(&disk, number);
    let group = Group::new("blkio", number);
    let most = amount(number, "group, MB/s", 30, 90) * 1_000_000;
    group.limit(&disk.device, "read_bps", most);
    let knobs = ["block-size=1MiB", "queue-depth=1,8", "stop=3s"];
    let load = Load::new(mount.name(), "sequential-read", &knobs, 8).within(&group);
    Case { right: &["cgroup-io"], answer: load.run(), lifted: None }
}

/// A disk that does many at once, asked for one at a time; a group allows a few at once. Of 64 KiB
/// the kernel may make two requests, which the group counts: of 297 that it allowed 145 reads a
/// second made 292, and it was the group that kept them back, not the one at a time.
pub fn latency(number: u64, _: bool) -> Case {
    let takes_us = amount(number, "request, us", 2000, 8000);
    let model = Model { request_us: takes_us, bytes_per_s: 4_000_000_000, slots: 16 };
    let mut made = Modelled::new(400, model);
    let mount = mounted(made.disk(), number);
    let group = Group::new("blkio", number);
    let most = (1e6 / takes_us as f64 * factor(number)) as u64;
    group.limit(&made.disk().device, "read_iops", most);
    let block = choose(number, "block", &SMALL[..2]);
    let knobs = [block, "queue-depth=1,4", "stop=3s"];
    let load = Load::new(mount.name(), "random-read", &knobs, 1).within(&group);
    let lifted = Some((most * bytes_of(block)) as f64);
    Case { right: &["latency"], answer: load.run(), lifted }
}

/// Memory behind a loop device. What binds there is the kernel's copying in its worker threads,
/// which the program sees as the device's time or as a core's; nothing was set, there is no link,
/// nobody asked for a rate, and no cache stands before another disk.
pub fn none(number: u64, _: bool) -> Case {
    let disk = Disk::new(400);
    let mount = mounted(&disk, number);
    let workload = choose(number, "workload", &["sequential-read", "random-read"]);
    let knobs = [choose(number, "block", BLOCKS), "queue-depth=1,8"];
    let load = Load::new(mount.name(), workload, &knobs, 8);
    let right = &["unknown", "device", "core", "cpu", "latency"];
    Case { right, answer: load.run(), lifted: None }
}
