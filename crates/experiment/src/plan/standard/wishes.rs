//! Every cell of the standard evaluation, in the order in which a budget buys them.
//!
//! The core set comes first and is always the same, so that any two evaluations can be held against
//! each other. The curves follow, the most telling first.

use super::{CORE_REPLICATES, REPLICATES, WARM_UP_NS};
use crate::knob::{self, Settings};
use base::value::{self, Value};

/// The storage that the cells of a standard evaluation are made for.
#[derive(Clone, Debug)]
pub struct EvaluationTarget {
    /// The engine.
    pub engine: &'static str,
    /// Directories as the user named them.
    pub directories: Vec<String>,
    /// Whether all of them take O_DIRECT.
    pub direct: bool,
    /// Bytes of each file.
    pub file_size: u64,
    /// Files in each directory.
    pub files: u64,
    /// What the cached cells may keep in memory, bytes.
    pub cache_bytes: u64,
}

/// When a cell runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// What every evaluation reads.
    CoreReads,
    /// What every evaluation writes.
    CoreWrites,
    /// What follows a knob through its levels, and only reads.
    Curves,
    /// What writes besides.
    MixedLoads,
}

/// One cell of the standard evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// When it runs.
    pub phase: Phase,
    /// How often.
    pub replicates: u32,
    /// Which curve it belongs to.
    pub group: String,
    /// Its settings; `stop` is set when the length of trials is known.
    pub settings: Settings,
    /// In words: `8 streams`.
    pub name: String,
    /// Its trials are no shorter, ns: what is in flight has to come and go some times.
    pub least_ns: u64,
}

impl Wish {
    /// Whether it is one of those that every evaluation has.
    pub fn is_core(&self) -> bool {
        matches!(self.phase, Phase::CoreReads | Phase::CoreWrites)
    }
}

/// Every cell of the standard evaluation, in the order in which a budget buys them.
pub fn wishes(shape: &EvaluationTarget) -> Vec<Wish> {
    let mut list = List { shape, phase: Phase::Curves, wishes: Vec::new() };
    let direct = shape.direct;
    list.core(direct);
    list.cached();
    list.streams(&[1, 8], false);
    list.streams(&[16, 4, 2, 32], true);
    list.depths(&[8, 128]);
    list.sequential_blocks(&[4, 64, 256, 4096]);
    list.random_blocks(&[64, 1024]);
    list.mixed();
    list.streams(&[60, 16], false);
    list.depths(&[2, 4, 16, 64]);
    list.random_blocks(&[16, 256, 4096, 8, 32, 128, 512, 2048, 4]);
    list.sequential_blocks(&[16, 8, 32, 128, 512, 2048, 1024]);
    list.streams(&[100], true);
    list.streams(&[4, 2, 32, 100], false);
    list.wishes
}

/// The group of loads that differ in streams alone.
fn streams_group(direct: bool) -> &'static str {
    if direct { "streams, direct" } else { "streams, cold-buffered" }
}

struct List<'a> {
    shape: &'a EvaluationTarget,
    phase: Phase,
    wishes: Vec<Wish>,
}

impl List<'_> {
    /// Adds a cell for each directory alone, and for all of them at once.
    fn add(&mut self, group: &str, name: &str, set: &[(&str, Value)]) {
        let all = &self.shape.directories;
        let alone = all.iter().map(|directory| vec![directory.clone()]);
        let at_once = (all.len() > 1).then(|| all.clone());
        for directories in alone.chain(at_once) {
            let mut settings = Settings::defaults(self.shape.engine);
            for (knob, value) in set {
                settings.set_named(knob, value.clone());
            }
            let streams = settings.get(knob::STREAMS);
            if streams < directories.len() as u64 {
                continue; // one stream over two directories is one over the first
            }
            let per_directory = streams.div_ceil(directories.len() as u64);
            if !set.iter().any(|(knob, _)| *knob == "files") {
                settings.set(knob::FILES, (self.shape.files / per_directory).max(1));
            }
            settings.set(knob::FILE_SIZE, self.shape.file_size);
            settings.set(knob::WARM_UP, WARM_UP_NS);
            let name = match (all.len(), directories.len()) {
                (1, _) => name.to_owned(),
                (_, 1) => format!("{name} in {}", directories[0]),
                _ => format!("{name} over all directories"),
            };
            settings.set(knob::DIRECTORIES, &directories);
            let fits = settings.get(knob::BLOCK_SIZE) <= self.shape.file_size
                && settings.get(knob::STREAMS) <= self.shape.files * all.len() as u64;
            let phase = self.phase;
            let core = matches!(phase, Phase::CoreReads | Phase::CoreWrites);
            let replicates = if core { CORE_REPLICATES } else { REPLICATES };
            let wish =
                Wish { phase, replicates, group: group.to_owned(), settings, name, least_ns: 0 };
            // A cell on two axes is bought once; the report shows it on both.
            if fits && !self.wishes.iter().any(|known| known.settings == wish.settings) {
                self.wishes.push(wish);
            }
        }
    }

    /// What every evaluation has: what the first screen shows comes first.
    fn core(&mut self, direct: bool) {
        self.read_in_order(direct, 8);
        self.read_anywhere(32);
        self.write_over(direct, 8);
        self.write_anywhere(direct, 32, "end");
        self.read_anywhere(1);
        self.write_anywhere(direct, 1, "every");
        self.read_in_order(direct, 1);
        self.write_over(direct, 1);
        self.write_anywhere(direct, 1, "end");
        self.phase = Phase::CoreReads;
        self.streams(&[8, 60], direct);
        self.phase = Phase::Curves;
    }

    fn read_in_order(&mut self, direct: bool, depth: u64) {
        self.phase = Phase::CoreReads;
        let deep = depth > 1;
        let set = [
            ("access", Value::Word("read".into())),
            ("direct", Value::Flag(direct)),
            ("queue-depth", Value::Count(depth)),
            // One of each kind is looked at twice, to see a cache behind the kernel.
            ("second-pass", Value::Flag(deep)),
        ];
        let group = if deep { "sequential read" } else { streams_group(direct) };
        self.add(group, &format!("sequential read, 1 MiB, depth {depth}"), &set);
    }

    fn read_anywhere(&mut self, depth: u64) {
        self.phase = Phase::CoreReads;
        self.depths(&[depth]);
    }

    /// Not `write`, which makes files anew: in a short time it leaves most of them unwritten, and
    /// the trials after it would read holes.
    fn write_over(&mut self, direct: bool, depth: u64) {
        self.phase = Phase::CoreWrites;
        let set = [
            ("access", Value::Word("rewrite".into())),
            ("direct", Value::Flag(direct)),
            ("queue-depth", Value::Count(depth)),
            ("datasync", Value::Flag(true)),
        ];
        self.add("sequential write", &format!("sequential write, 1 MiB, depth {depth}"), &set);
    }

    /// Made durable within the time: once at the `end`, or `every` write by itself.
    fn write_anywhere(&mut self, direct: bool, depth: u64, fsync: &str) {
        self.phase = Phase::CoreWrites;
        let set = [
            ("access", Value::Word("random-write".into())),
            ("direct", Value::Flag(direct)),
            ("block-size", Value::Bytes(4096)),
            ("queue-depth", Value::Count(depth)),
            ("fsync", Value::Word(fsync.into())),
            ("datasync", Value::Flag(true)),
        ];
        match fsync {
            "every" => self.add("commit", "4 KiB write and fdatasync, one by one", &set),
            _ => self.add("random write", &format!("random 4 KiB write, depth {depth}"), &set),
        }
    }

    fn streams(&mut self, levels: &[u64], direct: bool) {
        if direct && !self.shape.direct {
            return;
        }
        let group = streams_group(direct);
        for &streams in levels {
            let count =
                if streams == 1 { "1 stream".to_owned() } else { format!("{streams} streams") };
            let name = format!("{count}, {}", if direct { "direct" } else { "buffered" });
            let set = [
                ("access", Value::Word("read".into())),
                ("direct", Value::Flag(direct)),
                ("streams", Value::Count(streams)),
            ];
            self.add(group, &name, &set);
        }
    }

    fn depths(&mut self, levels: &[u64]) {
        for &depth in levels {
            let set = [
                ("access", Value::Word("random-read".into())),
                ("direct", Value::Flag(self.shape.direct)),
                ("block-size", Value::Bytes(4096)),
                ("queue-depth", Value::Count(depth)),
                ("second-pass", Value::Flag(depth == 32)),
            ];
            self.add("queue depth", &format!("random 4 KiB read, depth {depth}"), &set);
        }
    }

    fn sequential_blocks(&mut self, kib: &[u64]) {
        self.blocks("block size, sequential", "read", kib);
    }

    fn random_blocks(&mut self, kib: &[u64]) {
        self.blocks("block size, random", "random-read", kib);
    }

    fn blocks(&mut self, group: &str, access: &str, kib: &[u64]) {
        for &kib in kib {
            let size = Value::Bytes(kib << 10);
            let order = if access == "read" { "sequential read" } else { "random read" };
            let name = format!("{order}, blocks of {}", value::setting(&size));
            let set = [
                ("access", Value::Word(access.into())),
                ("direct", Value::Flag(self.shape.direct)),
                ("queue-depth", Value::Count(16)),
                ("block-size", size),
            ];
            self.add(group, &name, &set);
        }
    }

    fn cached(&mut self) {
        let files = (self.shape.cache_bytes / self.shape.file_size).clamp(1, self.shape.files);
        if self.shape.file_size > self.shape.cache_bytes {
            return; // not even one file may stay in memory
        }
        let set = [
            ("access", Value::Word("read".into())),
            ("direct", Value::Flag(false)),
            ("cold", Value::Flag(false)),
            ("files", Value::Count(files)),
        ];
        self.add("cache", "the same files from memory", &set);
    }

    fn mixed(&mut self) {
        let set = [
            ("access", Value::Word("random-mix".into())),
            ("direct", Value::Flag(self.shape.direct)),
            ("block-size", Value::Bytes(4096)),
            ("queue-depth", Value::Count(32)),
        ];
        self.phase = Phase::MixedLoads;
        self.add("mixed", "random 4 KiB, 70 % reads, depth 32", &set);
        self.phase = Phase::Curves;
    }
}
