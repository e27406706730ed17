//! The order of a plan's trials: blocked by replicate, random within, dear knobs changing least
//! often (a split-plot design: Box, Hunter and Hunter, chapter 9).
//!
//! All trials of one set-up (see `plan::labels`) stand together. Within it each replicate is one
//! random order of its cells in which those that share a layout stand together, and within these
//! those that share the system's settings. An order is made by sorting: every combination of dear
//! settings, and every cell, gets a random key from the seed and the replicate. It is thus the same
//! whenever it is asked for, which `--resume` builds on, and holds some 30 bytes a cell of one
//! replicate.

use super::design::{Load, Plan, PlanCell};
use super::{Trial, exact_in_json};
use crate::knob::{self, Knob, Scope};
use base::value::Value;

/// A cell's place in the order: one key for each scope, dearest first, then its own.
type Keys = [u64; Scope::ALL.len()];

/// The trials of a plan, one after another.
#[derive(Clone)]
pub struct Trials<'a> {
    plan: &'a Plan,
    seed: u64,
    /// Keys of the set-ups; that of the present one is the first.
    setups: std::collections::VecDeque<u64>,
    replicate: u32,
    number: u32,
    order: std::vec::IntoIter<(Keys, u32, u64)>,
}

impl Plan {
    /// All trials in the order that `seed` gives them.
    pub fn trials(&self, seed: u64) -> Trials<'_> {
        let setups = self.setup_keys(seed).into();
        let order = Vec::new().into_iter();
        Trials { plan: self, seed, setups, replicate: 0, number: 0, order }
    }

    /// The order of one replicate of a set-up: load and combination of each cell.
    fn order(&self, seed: u64, setup: u64, replicate: u32) -> Vec<(Keys, u32, u64)> {
        let salt = mix(seed ^ mix(u64::from(replicate)));
        let mut order = Vec::new();
        for (number, load) in self.loads.iter().enumerate() {
            let names = Names::of(load, !self.disks.is_empty());
            for (index, levels) in self.combinations_of(number) {
                let mut keys = names.keys(&levels);
                if keys[Scope::Label as usize] != setup {
                    continue;
                }
                // The cheapest scope tells cells apart: there the load and combination decide.
                keys[Scope::ALL.len() - 1] ^= mix((number as u64) << 40 ^ index);
                order.push((keys.map(|key| mix(key ^ salt)), number as u32, index));
            }
        }
        order.sort_unstable();
        order
    }
}

/// Knobs that came after plans had orders: at their defaults they are as they are in plans that
/// know nothing of them, whose order stays what it was.
const ADDED: &[&str] = &[
    "fsync-in-time",
    "close-in-time",
    "fresh-file",
    "update-every",
    "names",
    "verify",
    "verify-block",
    "tcp-buffer-max",
    "socket-buffer-max",
    "tcp-congestion",
    "netdev-backlog-max",
    "pacing",
    "receive-low-water",
    "server",
    "ready",
    "copy-bytes",
    "interfaces",
    "nfs-version",
    "nfs-transport",
    "nfs-read-size",
    "nfs-write-size",
    "nconnect",
    "optmem-max",
    "network-interface",
    "interface-mtu",
    "interrupt-coalescing",
    "adaptive-coalescing",
    "rx-ring",
    "tx-ring",
    "tso",
    "gso",
    "gro",
    "lro",
    "rss-queues",
    "rps",
    "interrupt-cpus",
    "qdisc",
    "datasync",
    "sim-contention",
    "sim-coherency",
    "dontcache",
    "recordsize",
    "compression",
    "sync",
    "primarycache",
    "atime",
    "logbias",
    "fsck",
    "fstrim",
    "settings-at",
    "peer-interface",
];

/// What the values of a load's knobs add to the keys of its cells.
struct Names {
    fixed: Keys,
    /// For each factor its scope, and for each level what it adds.
    levels: Vec<(usize, Vec<u64>)>,
}

impl Names {
    /// Of a load whose files lie in directories, or `on_disks` that layouts are made on.
    fn of(load: &Load, on_disks: bool) -> Names {
        let mut fixed = Keys::default();
        // Work on names had no knobs of what lies under it, nor has where nobody says any. On disks
        // all loads of a plan share the layouts, so it is known by what they are.
        let bare = !on_disks && load.settings.has(knob::OPERATION);
        for (name, value) in load.settings.iter() {
            let varied = load.factors.iter().any(|factor| factor.knob.name == name);
            let scope = knob::find(name).map(|knob| knob.scope);
            let default = |knob: &Knob| knob.default_value() == *value;
            // Clients were warmed up before loads of blocks were.
            let blocks = name == knob::WARM_UP.name && load.settings.has(knob::QUEUE_DEPTH);
            let under = bare && matches!(scope, Some(Scope::Layout | Scope::System));
            // Nor had what is sent from memory a governor of its processors.
            let sent = load.settings.is_network() && !load.settings.has(knob::FILES);
            let governed = sent && name == knob::CPU_GOVERNOR.name;
            let added = ADDED.contains(&name) || blocks || under || governed;
            if added && knob::find(name).is_some_and(default) {
                continue;
            }
            // A label that nobody gave is as it is in plans that know of no labels.
            let given = scope != Some(Scope::Label) || !value.is_as_is();
            if let (false, true, Some(scope)) = (varied, given, scope) {
                fixed[scope as usize] ^= named(name, value);
            }
        }
        let of_factor = load.factors.iter().map(|factor| {
            let levels = factor.levels.iter().map(|level| {
                let given = factor.knob.scope != Scope::Label || !level.is_as_is();
                if given { named(factor.knob.name, level) } else { 0 }
            });
            (factor.knob.scope as usize, levels.collect())
        });
        Names { fixed, levels: of_factor.collect() }
    }

    fn keys(&self, levels: &[usize]) -> Keys {
        let mut keys = self.fixed;
        for ((scope, names), level) in self.levels.iter().zip(levels) {
            keys[*scope] ^= names[*level];
        }
        keys
    }
}

/// A number for a knob at a value; the same in every version.
pub(super) fn named(name: &str, value: &Value) -> u64 {
    // FNV-1a (Fowler, Noll and Vo), stirred.
    let bytes = name.bytes().chain([b'=']).chain(value.to_string().into_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mix(hash)
}

/// Stafford's mix 13 (2011), as in SplitMix64: every bit of the result depends on every bit given.
pub(super) fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl Iterator for Trials<'_> {
    type Item = Trial;

    fn next(&mut self) -> Option<Trial> {
        let (_, load, index) = loop {
            match self.order.next() {
                Some(next) => break next,
                None if self.replicate == self.plan.replicates => {
                    self.setups.pop_front();
                    self.replicate = 0;
                    self.setups.front()?;
                }
                None => {
                    let setup = *self.setups.front()?;
                    self.replicate += 1;
                    self.order = self.plan.order(self.seed, setup, self.replicate).into_iter();
                }
            }
        };
        self.number += 1;
        let mut cell = PlanCell { load: load as usize, levels: Vec::new() };
        let load = &self.plan.loads[cell.load];
        load.combination(self.plan.design, index, &mut cell.levels);
        let drawn = mix(self.seed ^ mix(u64::from(self.number)));
        Some(Trial {
            number: self.number,
            replicate: self.replicate,
            group: load.name.clone(),
            settings: self.plan.settings(&cell),
            first_file: 0,
            seed: exact_in_json(drawn),
            planned: Some(self.number),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::design::Design;
    use super::super::design::tests::{factor, plan};
    use super::*;

    fn streams(plan: &Plan, seed: u64) -> Vec<(u32, u64, u64)> {
        let trials = plan.trials(seed);
        let of = |trial: Trial| {
            let settings = trial.settings;
            (trial.replicate, settings.get(knob::STREAMS), settings.get(knob::QUEUE_DEPTH))
        };
        trials.map(of).collect()
    }

    fn small() -> Plan {
        let factors =
            vec![factor("streams", &["1", "2", "3", "4"]), factor("queue-depth", &["1", "8"])];
        Plan { replicates: 3, ..plan(Design::Full, factors) }
    }

    #[test]
    fn each_replicate_is_a_random_order_of_all_cells_that_the_seed_repeats() {
        let plan = small();
        let all = streams(&plan, 7);
        assert_eq!(all, streams(&plan, 7));
        assert_ne!(all, streams(&plan, 8));
        for replicate in 1..=3 {
            let of = all.iter().filter(|(of, ..)| *of == replicate);
            let cells: BTreeSet<(u64, u64)> = of.map(|(_, s, d)| (*s, *d)).collect();
            assert_eq!(cells.len(), 8);
        }
        assert_ne!(
            all[..8].iter().map(|t| t.1).collect::<Vec<_>>(),
            all[8..16].iter().map(|t| t.1).collect::<Vec<_>>()
        );
        let seeds: BTreeSet<u64> = plan.trials(7).map(|trial| trial.seed).collect();
        assert_eq!(seeds.len(), 24);
    }

    #[test]
    fn every_cell_comes_first_equally_often() {
        let plan = small();
        let mut first: BTreeMap<(u64, u64), u32> = BTreeMap::new();
        for seed in 0..4000 {
            let trial = plan.trials(seed).next().unwrap().settings;
            *first.entry((trial.get(knob::STREAMS), trial.get(knob::QUEUE_DEPTH))).or_default() +=
                1;
        }
        // Chi squared with 7 degrees of freedom: 24.3 is exceeded once in a thousand.
        let expected = 4000.0 / 8.0;
        let off = |count: &u32| (f64::from(*count) - expected).powi(2) / expected;
        assert_eq!(first.len(), 8);
        assert!(first.values().map(off).sum::<f64>() < 24.3, "{first:?}");
    }

    #[test]
    fn a_million_cells_are_ordered_without_being_made() {
        let hundred: Vec<String> = (1..=100).map(|n| n.to_string()).collect();
        let hundred: Vec<&str> = hundred.iter().map(String::as_str).collect();
        let names = ["streams", "queue-depth", "batch"];
        let factors = names.map(|name| factor(name, &hundred)).into();
        let plan = plan(Design::Full, factors);
        assert_eq!(plan.combinations(), 1_000_000);
        assert_eq!(plan.trials(1).take(3).count(), 3);
    }

    /// Recorded before the scopes `label` and `layout` were there: whoever resumes or repeats, by
    /// its seed, a plan that knows nothing of them finds the order that it had.
    #[test]
    fn the_order_of_plans_without_layouts_is_what_it_was_before_there_were_any() {
        let text = "[plan]\nname = \"p\"\nreplicates = 2\n[factors]\n\
                    read-ahead = [\"128KiB\", \"1MiB\"]\nswappiness = [1, 60]\nstreams = [1, 2]\n\
                    [[workload]]\nuse = \"random-read\"\n[[workload]]\nuse = \"mixed\"\n";
        let plan = crate::plan::file::read(text, "p.toml", None).unwrap();
        let said = |trial: Trial| {
            let settings = &trial.settings;
            let ahead = settings.get(knob::READ_AHEAD).unwrap() >> 17;
            let (swappiness, streams) =
                (settings.get(knob::SWAPPINESS).unwrap(), settings.get(knob::STREAMS));
            format!("{}{ahead}{swappiness}{streams}", &trial.group[..1])
        };
        let all: Vec<String> = plan.trials(7).map(said).collect();
        assert_eq!(
            all.join(" "),
            "m1602 r1602 r1601 m1601 m111 r112 r111 m112 r8601 r8602 m8601 m8602 m812 r812 m811 \
             r811 m8601 r8602 m8602 r8601 m812 m811 r811 r812 m1601 r1602 m1602 r1601 m111 r112 \
             m112 r111"
        );
    }

    /// Recorded before work on names could have layouts and settings of the machine below it.
    #[test]
    fn the_order_of_work_on_names_in_directories_is_what_it_was_before_it_ran_on_layouts() {
        let text = "[plan]\nname = \"p\"\nreplicates = 2\n[factors]\nstreams = [1, 2]\n\
                    [[workload]]\nuse = \"bonnie-write\"\nfile-size = \"1MiB\"\n\
                    [[workload]]\nuse = \"bonnie-create\"\n[[workload]]\nuse = \"bonnie-stat\"\n";
        let mut plan = crate::plan::file::read(text, "p.toml", None).unwrap();
        let srv = ["/srv".to_owned()];
        plan.loads.iter_mut().for_each(|load| load.settings.set(knob::DIRECTORIES, &srv));
        let said = |trial: Trial| {
            let name = trial.group.trim_start_matches("bonnie-");
            format!("{}{}", &name[..1], trial.settings.get(knob::STREAMS))
        };
        let order = |seed| plan.trials(seed).map(said).collect::<Vec<_>>().join(" ");
        assert_eq!(order(7), "w2 w1 c1 s2 c2 s1 w1 w2 c1 c2 s2 s1");
        assert_eq!(order(9), "s1 c1 c2 s2 w1 w2 w1 w2 s2 c2 s1 c1");
    }
}
