//! Reads on ZFS with planted truth: how much of the file the ARC had before is known, and what it
//! counts follows.

use proptest::prelude::*;

use super::super::tests::{BUFFERED, judge, with};
use super::*;
use crate::measurement::Measurement;
use crate::measurement::evidence::Below;

const MIB: u64 = 1 << 20;
const RANDOM: (&str, &str) = ("access", "random-read");

/// A machine with ZFS, and what happens on it.
#[derive(Clone, Copy, Debug)]
struct Planted {
    /// Bytes of the file, all of which are read once.
    file: u64,
    record: u64,
    block: u64,
    random: bool,
    /// The share of the reads whose block is in memory before.
    kept: f64,
    /// Of the records that are fetched, those that prefetching fetches.
    ahead: f64,
    /// Of these, those that have come when they are asked for.
    in_time: f64,
    /// Whether this version counts what is on its way.
    waits: bool,
    /// Of what is fetched, the share that cache devices give.
    second_level: f64,
    /// What the pool holds of the file.
    stored: f64,
    /// Blocks that others get of the ARC, and have fetched.
    others: (u64, u64),
}

const COLD: Planted = Planted {
    file: 1000 * MIB,
    record: 131_072,
    block: MIB,
    random: false,
    kept: 0.0,
    ahead: 0.9,
    in_time: 0.8,
    waits: false,
    second_level: 0.0,
    stored: 1.0,
    others: (0, 0),
};

impl Planted {
    fn trial(self) -> Measurement {
        let operations = self.file / self.block;
        let records = self.file / self.record;
        let pieces = (self.record / self.block).max(1);
        // In random order every read of a piece is one for itself, as on a file that is far larger.
        let first = if self.random { operations.max(records) } else { records };
        let again = if self.random { 0 } else { records * (pieces - 1) };
        let kept = (first as f64 * self.kept) as u64;
        let fetched = first - kept;
        let ahead = if self.random { 0 } else { (fetched as f64 * self.ahead) as u64 };
        let in_time = (ahead as f64 * self.in_time) as u64;
        let second_level = (fetched as f64 * self.second_level) as u64;
        let (theirs, they_fetch) = self.others;
        let counts = PoolCounts {
            demand_hits: kept + in_time + again + theirs,
            demand_waits: self.waits.then_some(ahead - in_time),
            demand_misses: fetched - ahead + they_fetch,
            prefetch_misses: ahead,
            prefetched_hits: in_time,
            prefetched_waits: self.waits.then_some(ahead - in_time),
            second_level_hits: second_level,
            second_level_read_bytes: second_level * self.record,
            ..PoolCounts::default()
        };
        let moved = (fetched - second_level + they_fetch) * self.record;
        with(|e| {
            e.filesystem = "zfs".into();
            e.delivered.read_bytes = self.file;
            e.delivered.read_ops = operations;
            e.file_bytes = self.file;
            // Up to 2.2 it is what was delivered.
            e.process_read_bytes = Some(self.file);
            e.process_io_reliable = false;
            e.resident_before_bytes = None;
            e.device_read_bytes = Some((moved as f64 * self.stored) as u64 + 300_000);
            e.pool = Some(ZfsPoolEvidence {
                pools: vec!["tank".into()],
                datasets: vec!["tank/data".into()],
                cache_devices: vec!["nvme0n1p2".into()],
                record_bytes: Some(self.record),
                stored_bytes: Some((self.file as f64 * self.stored) as u64),
                counts: Some(counts),
                ..ZfsPoolEvidence::default()
            });
        })
    }

    fn judged(self) -> Origin {
        let order = if self.random { RANDOM } else { ("access", "read") };
        judge(&self.trial(), &[BUFFERED, order])
    }
}

#[test]
fn a_cold_file_is_the_devices_and_a_kept_one_the_arcs_naive_unknown() {
    for (record, block) in [(131_072, MIB), (131_072, 131_072), (131_072, 4096), (MIB, 65_536)] {
        for waits in [false, true] {
            let cold = Planted { record, block, waits, ..COLD };
            let origin = cold.judged();
            assert_eq!(origin.verdict, Verdict::Device, "{record} {block}: {}", origin.reason);
            let hot = Planted { kept: 1.0, ..cold }.judged();
            assert_eq!(hot.verdict, Verdict::Cache, "{record} {block}: {}", hot.reason);
            assert!(hot.reason.contains("primarycache=metadata"), "{}", hot.reason);
        }
    }
}

#[test]
fn random_reads_are_judged_by_their_misses_however_much_the_devices_read_naive_device() {
    let cold = Planted { random: true, block: 4096, file: 40 * MIB, ..COLD };
    let origin = cold.judged();
    assert_eq!(origin.verdict, Verdict::Device, "{}", origin.reason);
    // Each miss reads a record of 128 KiB, so that the sectors are more than was delivered though
    // four of five reads were hits.
    let mixed = Planted { kept: 0.8, ..cold }.judged();
    assert_eq!(mixed.verdict, Verdict::Mixed, "{}", mixed.reason);
    assert!((mixed.device_share.unwrap() - 0.2).abs() < 0.01);
}

/// OpenZFS 2.3.2 on a disk of 5 MB/s, 24 MiB of a cold file, counted by hand: it had asked for 24
/// MiB more ahead of the reader, which the disk had not read. "Less than the 47.1 MiB that were
/// fetched: a cache below", said the verdict.
#[test]
fn what_was_asked_for_ahead_and_is_on_its_way_is_no_fetch_naive_unknown() {
    let counts = PoolCounts {
        demand_hits: 92,
        demand_waits: Some(84),
        demand_misses: 16,
        prefetch_misses: 361,
        prefetched_hits: 92,
        prefetched_waits: Some(84),
        ..PoolCounts::default()
    };
    let mut trial = Planted { file: 24 * MIB, ..COLD }.trial();
    trial.evidence.device_read_bytes = Some(26_014_208);
    trial.evidence.pool.as_mut().unwrap().counts = Some(counts);
    let origin = judge(&trial, &[BUFFERED, ("access", "read")]);
    assert_eq!(origin.verdict, Verdict::Device, "{}", origin.reason);
    // The same where the disk had read half of what was delivered.
    trial.evidence.device_read_bytes = Some(12 * MIB);
    let origin = judge(&trial, &[BUFFERED, ("access", "read")]);
    assert_eq!(origin.verdict, Verdict::Unknown, "{}", origin.reason);
}

#[test]
fn half_in_memory_is_mixed_with_its_share() {
    let origin = Planted { kept: 0.5, ..COLD }.judged();
    assert_eq!(origin.verdict, Verdict::Mixed, "{}", origin.reason);
    assert!((origin.device_share.unwrap() - 0.5).abs() < 0.02);
}

/// Another program reads as much of the pool while ours comes from memory: the sectors cover it.
#[test]
fn a_neighbour_that_reads_the_pool_makes_no_device_of_memory_naive_device() {
    let records = COLD.file / COLD.record;
    let hot = Planted { kept: 1.0, others: (0, records), ..COLD }.judged();
    assert_eq!(hot.verdict, Verdict::Unknown, "{}", hot.reason);
    let cold = Planted { others: (0, records), ..COLD }.judged();
    assert_eq!(cold.verdict, Verdict::Device, "{}", cold.reason);
    let beside = Planted { others: (records, 0), ..COLD }.judged();
    assert_eq!(beside.verdict, Verdict::Unknown, "{}", beside.reason);
}

#[test]
fn cache_devices_are_named_as_a_cache_naive_device() {
    let all = Planted { second_level: 1.0, ..COLD }.judged();
    assert_eq!((all.verdict, all.device_share), (Verdict::Cache, Some(0.0)), "{}", all.reason);
    assert!(all.reason.contains("the L2ARC on nvme0n1p2"), "{}", all.reason);
    let half = Planted { second_level: 0.5, ..COLD }.judged();
    assert_eq!(half.verdict, Verdict::Mixed, "{}", half.reason);
}

#[test]
fn compressed_files_are_not_the_devices_at_the_rate_of_what_was_delivered_naive_device() {
    let packed = Planted { stored: 0.3, ..COLD }.judged();
    assert_eq!((packed.verdict, packed.device_share), (Verdict::Unknown, Some(0.3)));
    assert!(packed.reason.contains("fewer bytes were read than delivered"), "{}", packed.reason);
    let half = Planted { stored: 0.3, kept: 0.5, ..COLD }.judged();
    assert_eq!(half.verdict, Verdict::Unknown, "{}", half.reason);
}

/// What was just written lies in memory and is counted neither as a hit nor as a miss.
#[test]
fn accesses_that_nobody_counted_are_unknown_naive_device() {
    let mut trial = COLD.trial();
    let counts = trial.evidence.pool.as_mut().unwrap().counts.as_mut().unwrap();
    *counts = PoolCounts::default();
    let origin = judge(&trial, &[BUFFERED]);
    assert_eq!(origin.verdict, Verdict::Unknown);
    assert!(origin.reason.contains("fewer accesses"), "{}", origin.reason);
}

#[test]
fn sectors_that_do_not_bear_out_the_arcs_misses_are_unknown_naive_device() {
    let mut trial = COLD.trial();
    trial.evidence.device_read_bytes = Some(COLD.file / 2);
    assert_eq!(judge(&trial, &[BUFFERED]).verdict, Verdict::Unknown);
    let mut hot = Planted { kept: 1.0, ..COLD }.trial();
    hot.evidence.device_read_bytes = Some(COLD.file);
    assert_eq!(judge(&hot, &[BUFFERED]).verdict, Verdict::Unknown);
}

#[test]
fn what_cannot_be_counted_is_unknown_with_its_reason() {
    let reason = |change: &dyn Fn(&mut Measurement)| {
        let mut trial = COLD.trial();
        change(&mut trial);
        let origin = judge(&trial, &[BUFFERED]);
        assert_eq!(origin.verdict, Verdict::Unknown, "{}", origin.reason);
        origin.reason
    };
    let pool = |trial: &mut Measurement, change: &dyn Fn(&mut ZfsPoolEvidence)| {
        change(trial.evidence.pool.as_mut().unwrap());
    };
    let unseen = reason(&|trial| {
        pool(trial, &|pool| pool.unseen = Some("/x of the pool tank is a file".to_owned()));
    });
    assert!(unseen.contains("/x of the pool tank is a file"), "{unseen}");
    assert!(reason(&|trial| pool(trial, &|pool| pool.counts = None)).contains("not counted"));
    assert!(reason(&|trial| pool(trial, &|pool| pool.record_bytes = None)).contains("one size"));
    let mixed = reason(&|trial| trial.evidence.delivered.write_bytes = MIB);
    assert!(mixed.contains("what is written"), "{mixed}");
    let mmap = judge(&COLD.trial(), &[BUFFERED, ("io-engine", "mmap")]);
    assert_eq!(mmap.verdict, Verdict::Unknown);
}

/// Direct I/O is honoured from 2.3 on, and before that it is ignored without a word.
#[test]
fn direct_reads_are_the_devices_where_they_went_around_the_arc_and_else_what_the_arc_says() {
    let direct = |own: u64, around: u64, moved: u64| {
        let mut trial = Planted { block: 4096, file: 40 * MIB, ..COLD }.trial();
        let evidence = &mut trial.evidence;
        evidence.process_read_bytes = Some(own);
        evidence.device_read_bytes = Some(moved);
        let counts = PoolCounts { direct_read_bytes: Some(around), ..PoolCounts::default() };
        evidence.pool.as_mut().unwrap().counts = Some(counts);
        judge(&trial, &[("direct", "true"), RANDOM])
    };
    // Reads of 4 KiB read records of 128 KiB whole.
    let all = 40 * MIB * 32;
    let honoured = direct(all, all, all);
    assert_eq!(honoured.verdict, Verdict::Device, "{}", honoured.reason);
    assert_eq!(direct(40 * MIB, all, all).verdict, Verdict::Unknown, "another's went around it");
    assert_eq!(direct(all, all, 40 * MIB).verdict, Verdict::Unknown, "no device read it");
    let ignored = Planted { kept: 1.0, ..COLD }.trial();
    assert_eq!(judge(&ignored, &[("direct", "true")]).verdict, Verdict::Cache);
}

/// A second pass comes from the ARC, and says nothing of a cache behind the devices.
#[test]
fn a_second_pass_that_is_faster_is_no_sign_of_a_cache_behind_the_pool_naive_device_cache() {
    use crate::measurement::SecondPass;
    let mut trial = COLD.trial();
    let first_marks = (0..=20).map(|tenth| (tenth * 100_000_000, tenth * COLD.file / 20)).collect();
    let (first_ns, second_ns) = (2_000_000_000, 100_000_000);
    trial.second_pass = Some(SecondPass { bytes: COLD.file, first_ns, second_ns, first_marks });
    assert_eq!(judge(&trial, &[BUFFERED]).verdict, Verdict::Device);
    // A pool on partitions: the disks at the bottom moved it as well.
    trial.evidence.below =
        Below { leaves: vec!["sda".into()], read_bytes: Some(COLD.file), ..Below::default() };
    assert_eq!(judge(&trial, &[BUFFERED]).verdict, Verdict::Device);
}

/// What OpenZFS 2.1.11 counted, on two mirrors of disks with a log and a cache device, while `dd`
/// and fio read files in records of 128 KiB; run by hand in a virtual machine.
struct Counted {
    what: &'static str,
    file: u64,
    /// What stat(2) said that it takes, in sectors of 512 bytes.
    stored: u64,
    reads: u64,
    block: u64,
    /// Hits and misses of demand, misses of prefetching, hits on what that had brought, and hits of
    /// the cache device.
    arc: [u64; 5],
    moved: u64,
    wanted: (Verdict, Option<f64>),
}

/// A file of 16 MiB, read once.
const ONCE: Counted = Counted {
    what: "",
    file: 16 * MIB,
    stored: 32_801,
    reads: 16,
    block: MIB,
    arc: [0; 5],
    moved: 0,
    wanted: (Verdict::Unknown, None),
};

const DEVICE: (Verdict, Option<f64>) = (Verdict::Device, Some(100.0));
const CACHE: (Verdict, Option<f64>) = (Verdict::Cache, Some(0.0));

const COUNTED: [Counted; 10] = [
    Counted {
        what: "cold, by 1 MiB",
        arc: [112, 16, 112, 112, 0],
        moved: 16_785_408,
        wanted: DEVICE,
        ..ONCE
    },
    Counted {
        what: "cold, with direct I/O, which 2.1 ignores",
        arc: [109, 16, 112, 109, 0],
        moved: 16_809_984,
        wanted: DEVICE,
        ..ONCE
    },
    Counted {
        what: "cold, by 4 KiB",
        reads: 4096,
        block: 4096,
        arc: [4093, 2, 126, 125, 0],
        moved: 16_785_408,
        wanted: DEVICE,
        ..ONCE
    },
    Counted { what: "hot, by 1 MiB", arc: [128, 0, 0, 0, 0], wanted: CACHE, ..ONCE },
    Counted {
        what: "hot, by 4 KiB",
        reads: 4096,
        block: 4096,
        arc: [4096, 0, 0, 0, 0],
        wanted: CACHE,
        ..ONCE
    },
    // Of the 96 records that were there, prefetching had brought 32 that nobody had asked for.
    Counted {
        what: "half there, by 128 KiB",
        reads: 128,
        block: 131_072,
        arc: [127, 1, 31, 63, 0],
        moved: 4_194_304,
        wanted: (Verdict::Mixed, Some(25.0)),
        ..ONCE
    },
    Counted {
        what: "random, by 4 KiB",
        reads: 256,
        block: 4096,
        arc: [146, 110, 0, 0, 0],
        moved: 14_426_112,
        wanted: (Verdict::Mixed, Some(43.0)),
        ..ONCE
    },
    Counted {
        what: "larger than the ARC, again, by 1 MiB",
        file: 96 * MIB,
        stored: 196_737,
        reads: 96,
        arc: [751, 7, 736, 726, 4],
        moved: 96_894_976,
        wanted: DEVICE,
        ..ONCE
    },
    // Neither written to the disks yet, nor counted as hits.
    Counted {
        what: "just written, by 1 MiB",
        file: 8 * MIB,
        stored: 1,
        reads: 8,
        arc: [19, 0, 0, 0, 0],
        ..ONCE
    },
    Counted { what: "zeros, which compression leaves out", stored: 1, ..ONCE },
];

#[test]
fn what_a_real_pool_counted_is_judged_as_it_was_naive_unknown() {
    for of in &COUNTED {
        let [demand_hits, demand_misses, prefetch_misses, prefetched_hits, second] = of.arc;
        let counts = PoolCounts {
            demand_hits,
            demand_misses,
            prefetch_misses,
            prefetched_hits,
            second_level_hits: second,
            second_level_read_bytes: second * 131_072,
            ..PoolCounts::default()
        };
        let mut trial = Planted { file: of.file, block: of.block, ..COLD }.trial();
        trial.evidence.delivered.read_ops = of.reads;
        trial.evidence.delivered.read_bytes = of.reads * of.block;
        trial.evidence.device_read_bytes = Some(of.moved);
        let pool = trial.evidence.pool.as_mut().unwrap();
        (pool.counts, pool.stored_bytes) = (Some(counts), Some(of.stored * 512));
        let random = of.what.starts_with("random");
        let origin = judge(&trial, &[BUFFERED, if random { RANDOM } else { ("access", "read") }]);
        let share = origin.device_share.map(|share| (share * 100.0).round());
        assert_eq!((origin.verdict, share), of.wanted, "{}: {}", of.what, origin.reason);
    }
}

proptest! {
    /// However the truth lies, memory is never the device's, nor the device's memory's.
    #[test]
    fn what_is_planted_is_never_taken_for_its_contrary(
        kept in 0.0..1.0f64, ahead in 0.0..1.0f64, in_time in 0.0..1.0f64, waits in any::<bool>(),
        second_level in prop_oneof![Just(0.0), 0.0..1.0f64],
        stored in prop_oneof![Just(1.0), 0.1..1.0f64],
        random in any::<bool>(), block in 12..21u32, record in 12..21u32,
        others in prop_oneof![Just((0, 0)), (0..9000u64, 0..9000u64)],
    ) {
        let planted = Planted {
            kept, ahead, in_time, waits, second_level, stored, random,
            block: 1 << block, record: 1 << record, others, file: 64 * MIB,
        };
        let origin = planted.judged();
        let from_devices = (1.0 - kept) * (1.0 - second_level);
        match origin.verdict {
            Verdict::Device => {
                prop_assert!(kept < 0.11 && second_level < 0.11 && stored > 0.9, "{planted:?}");
            }
            Verdict::Cache => prop_assert!(from_devices < 0.21, "{planted:?} {}", origin.reason),
            Verdict::Mixed => {
                // Sequential reads of others are told from ours only by their number.
                let share = origin.device_share.unwrap();
                let near = (share - from_devices).abs() < 0.25;
                prop_assert!(near || others != (0, 0), "{planted:?} {}", origin.reason);
            }
            _ => {}
        }
    }
}
