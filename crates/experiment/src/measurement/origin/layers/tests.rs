//! Layers whose reads were planted: one at a time, and drawn stacks of one to four.

use base::stats::testing::Random;
use facts::inventory::device::Backing;
use facts::inventory::{Caching, Device, DeviceKind, LayerReads};

use super::super::tests::{BUFFERED, FILE, judge, with};
use super::*;

const MIB: u64 = 1 << 20;

fn layer(name: &str, given: u64, cache: u64, origin: u64) -> CachingLayer {
    CachingLayer {
        name: name.to_owned(),
        by: if name.starts_with("dm") { "dm-cache" } else { "bcache" }.to_owned(),
        cache: vec!["nvme0n1".to_owned()],
        origin: vec!["sda".to_owned()],
        above: None,
        reads: LayerReads {
            given_bytes: Some(given),
            cache_bytes: Some(cache),
            origin_bytes: Some(origin),
        },
    }
}

/// A clean trial over these layers; the disks at the bottom moved what was delivered.
fn over(layers: Vec<CachingLayer>) -> Origin {
    let trial = with(|e| {
        e.below.leaves = vec!["sda".into(), "nvme0n1".into()];
        e.below.read_bytes = Some(FILE + 8 * MIB);
        e.below.layers = layers;
    });
    judge(&trial, &[])
}

/// A file of 1000 MiB on bcache, all of it on its SSD, was "device" at the SSD's speed, and a
/// figure of the disks below.
#[test]
fn what_a_layer_kept_on_its_cache_is_no_device_naive_device() {
    let all = over(vec![layer("bcache0", FILE, FILE, 0)]);
    assert_eq!((all.verdict, all.device_share), (Verdict::DeviceCache, Some(1.0)));
    let begins = "100 % of the bytes came from nvme0n1, the cache of bcache0 (of 1000 MiB";
    assert!(all.reason.starts_with(begins), "{}", all.reason);
    let most = over(vec![layer("dm-3", FILE, FILE / 4 * 3, FILE / 4)]);
    assert_eq!((most.verdict, most.device_share), (Verdict::Mixed, Some(0.25)));
    let says = "75 % of the bytes came from nvme0n1, the cache of dm-3 (dm-cache)";
    assert!(most.reason.contains(says), "{}", most.reason);
    let cold = over(vec![layer("dm-3", FILE, MIB, FILE)]);
    assert_eq!(cold.verdict, Verdict::Device, "{}", cold.reason);
}

#[test]
fn where_blocks_were_moved_or_nobody_counted_the_share_is_not_known_naive_mixed() {
    // Half came from the cache, and as much was read of the origin to be kept.
    let moved = over(vec![layer("dm-3", FILE, FILE / 2, FILE)]);
    assert_eq!(moved.verdict, Verdict::Unknown);
    assert!(moved.reason.contains("between 0.0 % and 50 %"), "{}", moved.reason);
    assert!(moved.reason.contains("the cache of dm-3"), "{}", moved.reason);
    // Written back meanwhile: the cache was read for that.
    let back = over(vec![layer("bcache0", FILE, FILE, FILE)]);
    assert_eq!(back.verdict, Verdict::Unknown);
    let mut uncounted = layer("bcache0", FILE, FILE, 0);
    uncounted.reads.cache_bytes = None;
    let uncounted = over(vec![uncounted]);
    assert_eq!(uncounted.verdict, Verdict::Unknown);
    assert!(uncounted.reason.contains("the cache of bcache0 was not counted"));
    // Another program read as much through the same layer, and either may have had the hits.
    let shared = over(vec![layer("bcache0", 2 * FILE, FILE, FILE)]);
    assert_eq!(shared.verdict, Verdict::Unknown);
}

#[test]
fn layers_on_layers_add_up_and_what_the_upper_moves_is_nobodys_hit() {
    let below = |reads: CachingLayer| CachingLayer { above: Some("dm-3".into()), ..reads };
    let half = layer("dm-3", FILE, FILE / 2, FILE / 2);
    let both = over(vec![half, below(layer("bcache0", FILE / 2, FILE / 2, 0))]);
    assert_eq!(both.verdict, Verdict::DeviceCache, "{}", both.reason);
    assert!(both.reason.contains("dm-3") && both.reason.contains("bcache0"));
    // The upper kept what it missed: read of the lower twice, the second time from its cache.
    let filling = layer("dm-3", FILE, 0, 2 * FILE);
    let found = over(vec![filling, below(layer("bcache0", 2 * FILE, FILE, FILE))]);
    assert_eq!(found.verdict, Verdict::Unknown, "{}", found.reason);
}

#[test]
fn memory_above_and_a_cache_below_are_mixed_and_less_than_either_leaves_naive_half() {
    let trial = with(|e| {
        e.process_read_bytes = Some(FILE / 2);
        e.device_read_bytes = Some(FILE / 2);
        e.resident_before_bytes = Some(FILE / 2);
        e.below.leaves = vec!["sda".into(), "nvme0n1".into()];
        e.below.read_bytes = Some(FILE / 2);
        e.below.layers = vec![layer("bcache0", FILE / 2, FILE / 4, FILE / 4)];
    });
    let found = judge(&trial, &[BUFFERED]);
    assert_eq!((found.verdict, found.device_share), (Verdict::Mixed, Some(0.25)));
    assert!(found.reason.contains("the cache of bcache0"), "{}", found.reason);
}

#[test]
fn another_machines_disk_is_remote_where_its_cache_here_served_nothing() {
    let remote = |cache: u64| {
        let mut disk = Device::bare("sda", DeviceKind::Disk);
        disk.transport = "iscsi".to_owned();
        let mut stack = Device::bare("bcache0", DeviceKind::Stacked);
        stack.below = vec!["sda".into(), "nvme0n1".into()];
        stack.caching = Some(Caching { cache: vec!["nvme0n1".into()], ..Caching::default() });
        let all = [stack, disk, Device::bare("nvme0n1", DeviceKind::Disk)];
        let mut trial = with(|_| {});
        let on = ["bcache0".to_owned()];
        trial.evidence = trial.evidence.lying_on(&all, &on);
        trial.evidence.below.read_bytes = Some(FILE);
        trial.evidence.below.layers[0].reads = layer("", FILE, cache, FILE - cache).reads;
        judge(&trial, &[]).verdict
    };
    assert_eq!(remote(0), Verdict::Remote);
    assert_eq!(remote(FILE), Verdict::DeviceCache);
    assert_eq!(remote(FILE / 2), Verdict::Mixed);
}

/// A whole number from 0 to less than `end`.
fn below(random: &mut Random, end: u64) -> u64 {
    (random.between(0.0, end as f64) as u64).min(end - 1)
}

/// What a stack of layers is made of, from the files down, and where its cache lies.
struct Stack {
    kinds: Vec<&'static str>,
    /// Place of the layer that served from its cache.
    planted: usize,
    /// Tenths of the bytes that did.
    tenths: u64,
    devices: Vec<Device>,
    on: Vec<String>,
}

const KINDS: [&str; 6] = ["loop", "linear", "md", "lvm", "bcache", "dm-cache"];
const CACHES: [&str; 3] = ["loop", "bcache", "dm-cache"];

impl Stack {
    /// One to four layers, of which one, which can keep data, has a tenth or more of it.
    fn draw(draws: &mut Random) -> Stack {
        let depth = 1 + below(draws, 4) as usize;
        let planted = below(draws, depth as u64) as usize;
        let mut pick = |from: &[&'static str]| from[below(draws, from.len() as u64) as usize];
        let kind = |at: usize| if at == planted { pick(&CACHES) } else { pick(&KINDS) };
        let kinds: Vec<&'static str> = (0..depth).map(kind).collect();
        let mut stack = Stack {
            kinds,
            planted,
            tenths: 1 + below(draws, 10),
            devices: Vec::new(),
            on: vec!["l0".to_owned()],
        };
        for at in 0..depth {
            stack.devices.extend(stack.layer(at));
        }
        stack.devices.push(Device::bare(&format!("l{depth}"), DeviceKind::Disk));
        // btrfs lies on the stack and on a disk of its own.
        if below(draws, 4) == 0 {
            stack.on.push("other".to_owned());
            stack.devices.push(Device::bare("other", DeviceKind::Disk));
        }
        stack
    }

    /// The devices of a layer; the next one is `l1` of `l0`, and `c0` its cache.
    fn layer(&self, at: usize) -> Vec<Device> {
        let (name, next, cache) = (format!("l{at}"), format!("l{}", at + 1), format!("c{at}"));
        let mut layer = Device::bare(&name, DeviceKind::Stacked);
        match self.kinds[at] {
            "loop" => {
                layer.kind = DeviceKind::Loop;
                layer.backing = Some(Backing {
                    file: "/image".into(),
                    filesystem: "ext4".into(),
                    devices: vec![next],
                    direct_io: Some(at != self.planted),
                    packed: false,
                });
                vec![layer]
            }
            by @ ("bcache" | "dm-cache") => {
                layer.below = vec![cache.clone(), next];
                let keeps = vec![cache.clone()];
                layer.caching = Some(Caching { by: by.into(), cache: keeps, ..Caching::default() });
                vec![layer, Device::bare(&cache, DeviceKind::Disk)]
            }
            "md" => {
                // A mirror, of which one half is read.
                layer.below = vec![next, format!("m{at}")];
                vec![layer, Device::bare(&format!("m{at}"), DeviceKind::Disk)]
            }
            _ => {
                layer.below = vec![next];
                vec![layer]
            }
        }
    }

    /// What was read of each layer and of the bottom: the planted one kept `tenths`.
    fn reads(&self, at: usize) -> u64 {
        if at > self.planted { FILE - FILE / 10 * self.tenths } else { FILE }
    }

    fn judged(&self, draws: &mut Random) -> Origin {
        let mut trial = with(|_| {});
        trial.evidence.devices = self.on.clone();
        trial.evidence = trial.evidence.lying_on(&self.devices, &self.on);
        let bottom = self.reads(self.kinds.len());
        let kept = match self.kinds[self.planted] {
            "loop" => 0,
            _ => FILE - bottom,
        };
        let more = below(draws, 2 * MIB);
        trial.evidence.below.read_bytes = Some(bottom + kept + more);
        for layer in &mut trial.evidence.below.layers {
            let at: usize = layer.name[1..].parse().unwrap();
            let (given, origin) = (self.reads(at), self.reads(at + 1));
            let records = below(draws, MIB);
            let cache = if at == self.planted { given - origin } else { 0 };
            layer.reads = LayerReads {
                given_bytes: Some(given),
                cache_bytes: Some(cache + records),
                origin_bytes: Some(origin + below(draws, MIB)),
            };
        }
        judge(&trial, &[])
    }
}

/// A cache at any layer of a stack is named, and is never the device's; 40 stacks, 4000 with
/// `BRICKYARD_LONG=1`. `BRICKYARD_SEED` repeats a run.
#[test]
fn a_cache_at_a_drawn_layer_of_a_drawn_stack_is_named_and_never_the_device() {
    let seed = std::env::var("BRICKYARD_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| {
        use std::hash::{BuildHasher, Hasher};
        std::hash::RandomState::new().build_hasher().finish()
    });
    let stacks = if std::env::var_os("BRICKYARD_LONG").is_some() { 4000 } else { 40 };
    let (mut draws, mut named) = (Random::new(seed), 0);
    for round in 0..stacks {
        let stack = Stack::draw(&mut draws);
        let found = stack.judged(&mut draws);
        let name = format!("l{}", stack.planted);
        let what = format!(
            "BRICKYARD_SEED={seed}, stack {round}: {}, {} tenths kept by {name}: {found:?}",
            stack.kinds.join(" on "),
            stack.tenths
        );
        let never = [Verdict::Device, Verdict::Remote, Verdict::None];
        assert!(!never.contains(&found.verdict), "{what}");
        let says = found.reason.split(|c: char| !c.is_alphanumeric()).any(|word| word == name);
        let right = match (stack.kinds[stack.planted], stack.tenths) {
            ("loop", 10) => Verdict::Cache,
            (_, 10) => Verdict::DeviceCache,
            _ => Verdict::Mixed,
        };
        named += usize::from(says && found.verdict == right);
        assert!(says || found.verdict == Verdict::Unknown, "{what}");
    }
    // Of forty at most four are not known.
    assert!(named * 10 >= stacks * 9, "BRICKYARD_SEED={seed}: {named} of {stacks} are named");
}

/// The same stacks with nothing in any cache are the device's: a verdict that is never said says
/// nothing.
#[test]
fn a_drawn_stack_whose_caches_served_nothing_is_the_device() {
    let mut draws = Random::new(7);
    for round in 0..200 {
        let mut stack = Stack::draw(&mut draws);
        stack.tenths = 0;
        let found = stack.judged(&mut draws);
        assert_eq!(found.verdict, Verdict::Device, "{round}: {} {found:?}", stack.kinds.join(" "));
    }
}
