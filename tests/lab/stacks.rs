//! Drawn stacks of one to four layers in a guest, each with a cache at a drawn layer: the layer is
//! named, and what came from it is never called the device's.
//!
//! 8 stacks, 40 with `BRICKYARD_LONG=1`, and a quarter as many whose cache keeps nothing, which are
//! the device's. What they are made of is in `guest/stacks.sh`. Those with ZFS in them are made on
//! a whole server, in the long run.

use std::time::Duration;

use serde_json::Value;

use crate::disk::beside_this_machine;
use crate::guest::{Disks, Guest, bootable};
use crate::machines::{self, Machine};
use crate::run::{draw, reason, trials, verdict};

/// What stacks are drawn from.
struct Kinds {
    /// Layers that keep nothing.
    plain: &'static [&'static str],
    /// Layers that keep what is written to them.
    keeping: &'static [&'static str],
    /// The same, told to keep nothing.
    idle: &'static [&'static str],
    filesystems: &'static [&'static str],
    /// Layers or file systems of which each stack has one.
    due: Option<Due>,
}

/// See [`Kinds::due`].
struct Due {
    plain: &'static str,
    keeping: &'static str,
    idle: &'static str,
    filesystem: &'static str,
}

const KINDS: Kinds = Kinds {
    plain: &PLAIN,
    keeping: &KEEPING,
    idle: &IDLE,
    filesystems: &["ext4", "ext4", "btrfs"],
    due: None,
};

const WITH_ZFS: Kinds = Kinds {
    filesystems: &["ext4", "btrfs", "zfs"],
    due: Some(Due {
        plain: "pool metadata",
        keeping: "pool all",
        idle: "pool metadata",
        filesystem: "zfs",
    }),
    ..KINDS
};

/// Layers that keep nothing.
const PLAIN: [&str; 4] = ["linear", "md", "volume", "looped on"];

/// Layers that keep what is written to them. bcache that writes through does so only while it has
/// free buckets at hand.
const KEEPING: [&str; 5] =
    ["looped off", "bcache writeback", "dm_cache writeback", "writecache", "lvm_cache writeback"];

/// The same kinds of layers, told to keep nothing.
const IDLE: [&str; 2] = ["bcache none", "dm_cache passthrough"];

/// A stack, from the disk up.
struct Stack {
    layers: Vec<&'static str>,
    /// Place of the layer that can keep.
    planted: usize,
    keeps: bool,
    filesystem: &'static str,
}

impl Stack {
    fn draw(kinds: &Kinds, number: usize, keeps: bool) -> Stack {
        let pick = |what: &str, from: &[&'static str]| {
            from[draw(&format!("stack {number}, {what}"), 0, from.len() as u64) as usize]
        };
        let depth = draw(&format!("stack {number}, layers"), 1, 5) as usize;
        let planted =
            draw(&format!("stack {number}, place of the cache"), 0, depth as u64) as usize;
        let kind = |at: usize| match (at == planted, keeps) {
            (false, _) => pick(&format!("layer {at}"), kinds.plain),
            (true, true) => pick("cache", kinds.keeping),
            (true, false) => pick("idle cache", kinds.idle),
        };
        let mut layers: Vec<&str> = (0..depth).map(kind).collect();
        let filesystem = pick("file system", kinds.filesystems);
        if let Some(due) = kinds.due.as_ref().filter(|due| due.filesystem != filesystem) {
            let at = draw(&format!("stack {number}, place of what is due"), 0, depth as u64);
            layers[at as usize] = match (at as usize == planted, keeps) {
                (false, _) => due.plain,
                (true, true) => due.keeping,
                (true, false) => due.idle,
            };
        }
        Stack { layers, planted, keeps, filesystem }
    }

    /// Makes it, reads a file on it, unmakes it, and tells what the kernel calls the planted layer.
    fn script(&self, number: usize) -> String {
        let mut script = String::new();
        for (at, layer) in self.layers.iter().enumerate() {
            script += &format!("{layer}\n");
            if at == self.planted {
                script += &format!("kernel_name > /mnt/out/planted{number}\n");
            }
        }
        script + &format!("measured {number} {}\nclean\n", self.filesystem)
    }

    fn in_words(&self) -> String {
        format!("{} under {}", self.layers.join(", "), self.filesystem)
    }
}

#[test]
fn a_cache_at_a_drawn_layer_of_a_real_stack_is_named_and_never_the_device() {
    let tools = ["mdadm", "lvcreate", "make-bcache", "cache_check", "mkfs.ext4", "mkfs.btrfs"];
    if !bootable("stacks with caches in a guest", &tools) {
        return;
    }
    let _beside = beside_this_machine();
    let long = std::env::var("BRICKYARD_LONG").is_ok_and(|value| value == "1");
    let kept = if long { 40 } else { 8 };
    let stacks = stacks(&KINDS, kept);
    let script = script(&stacks);
    let disks = Disks { count: 2, mib: 320, bytes_per_s: 80_000_000 };
    let patience = Duration::from_secs(if long { 2400 } else { 600 });
    let guest = Guest::run(disks, 512, &script, patience);
    judge(&stacks, kept, |name| guest.wrote(name), &guest.said);
}

/// ext4 on a volume of ZFS on bcache, ZFS on a loop device that reads through memory, and so on.
#[test]
fn a_cache_at_a_drawn_layer_of_a_stack_with_zfs_is_named_and_never_the_device() {
    if !machines::bootable("stacks with ZFS", "zfs") {
        return;
    }
    let _beside = beside_this_machine();
    let kept = 12;
    let stacks = stacks(&WITH_ZFS, kept);
    // Rules of udev would make layers of what they find on a disk.
    let script = format!(
        "set +e; slow=/dev/vda fast=/dev/vdb\nmkdir -p /run/udev/rules.d\n\
         for file in 69-bcache.rules 69-lvm.rules 64-md-raid-assembly.rules; do\n\
         ln -s /dev/null /run/udev/rules.d/$file; done\nudevadm control --reload\n\
         cd /root\n{}",
        script(&stacks)
    );
    let environment = [("LIMIT", "30000000"), ("DISKS", "2"), ("MIB", "400")];
    let machine = Machine::run("zfs", &environment, &script, Duration::from_secs(1800));
    judge(&stacks, kept, |name| machine.wrote(name), &machine.said);
}

/// So many that keep, and a quarter as many that keep nothing.
fn stacks(kinds: &Kinds, kept: usize) -> Vec<Stack> {
    (0..kept + kept / 4).map(|number| Stack::draw(kinds, number, number < kept)).collect()
}

fn script(stacks: &[Stack]) -> String {
    let scripts: Vec<String> =
        stacks.iter().enumerate().map(|(number, stack)| stack.script(number)).collect();
    format!("{}\n{}", include_str!("guest/stacks.sh"), scripts.concat())
}

/// Holds what the program said of each against what was planted; what is not known may be one in
/// ten.
fn judge(stacks: &[Stack], kept: usize, wrote: impl Fn(&str) -> String, said: &str) {
    let (mut named, mut unsure, mut wrong) = (0, 0, Vec::new());
    for (number, stack) in stacks.iter().enumerate() {
        let document: Value = serde_json::from_str(&wrote(&format!("json{number}"))).expect("JSON");
        let trial = trials(&document)[0];
        let planted = wrote(&format!("planted{number}")).trim().to_owned();
        let (verdict, reason) = (verdict(trial), reason(trial));
        let what = format!("{}, {planted}: {verdict}: {reason}", stack.in_words());
        println!("stack {number}: {what}");
        let says = reason.split(|c: char| !(c.is_alphanumeric() || c == '-')).any(|w| w == planted);
        match (stack.keeps, verdict) {
            (true, "cache" | "mixed" | "device-cache") if says => named += 1,
            (false, "device") => {}
            (_, "unknown") => unsure += 1,
            _ => wrong.push(what),
        }
    }
    println!("{named} of {kept} named, {unsure} not known, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}\n{said}");
    assert!(unsure * 10 <= kept, "{unsure} of {} are not known", stacks.len());
}
