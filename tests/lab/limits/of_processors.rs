//! Limits of processors.

use std::process::{Child, Command, Stdio};

use super::groups::Group;
use super::{Case, Load, amount, choose};
use crate::disk::{Disk, Mount};

/// Reads from memory: nothing but copying, and no storage in it.
fn from_memory(number: u64) -> (Mount, Disk, Load) {
    let disk = Disk::new(400);
    let mount = Mount::format(&disk, choose(number, "file system", &["ext4", "xfs"]));
    let block = choose(number, "block", &["block-size=256KiB", "block-size=1MiB"]);
    let knobs = [block, "direct=false", "cold=false", "queue-depth=1", "stop=3s"];
    let load = Load::new(mount.name(), "sequential-read", &knobs, 1);
    (mount, disk, load)
}

/// Something that uses a CPU up; gone when dropped.
struct Hog(Child);

impl Hog {
    fn new(cpu: u64, nice: u64) -> Hog {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string(), "nice", "-n", &nice.to_string()]);
        command.args(["sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
        Hog(command.spawn().expect("taskset can be started"))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The load is held on one CPU, of which something else takes a quarter to a half. What it would do
/// with all of it is the second limit.
pub fn hog(number: u64, lift: bool) -> Case {
    let (_mount, _disk, load) = from_memory(number);
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    let cpu = amount(number, "CPU", 0, cpus);
    let load = Load { cpu: Some(cpu), ..load };
    // Each step of niceness is a quarter less (kernel/sched/core.c, sched_prio_to_weight).
    let hog = Hog::new(cpu, amount(number, "hog's niceness", 0, 5));
    let answer = load.run();
    drop(hog);
    let lifted = lift.then(|| load.run().bytes_per_s);
    Case { right: &["cpu"], answer, lifted }
}

/// A group's quota of half a CPU to three quarters; one core is the second limit.
pub fn quota(number: u64, lift: bool) -> Case {
    let (_mount, _disk, load) = from_memory(number);
    let group = Group::new("cpu", number);
    group.foremost();
    group.quota(Some(amount(number, "quota, thousandths of a CPU", 500, 770)));
    let load = load.within(&group);
    let answer = load.run();
    let lifted = lift.then(|| {
        group.quota(None);
        load.run().bytes_per_s
    });
    Case { right: &["cpu-quota"], answer, lifted }
}

/// One stream that reads what is in memory.
pub fn copying(number: u64, _: bool) -> Case {
    let (_mount, _disk, load) = from_memory(number);
    Case { right: &["copying"], answer: load.run(), lifted: None }
}
