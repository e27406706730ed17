//! (pure) Where the bytes of a trial's reads came from.
//!
//! rule 2. Two sources must agree, or the verdict is `unknown`: the load's own `read_bytes`
//! (P below), the sectors that the devices read (S), and the pages of the files that were in
//! memory before (R), each against what was delivered to the load (D). A figure of cached bytes
//! must never come out as `device`; where the evidence could be read both ways, it is `unknown`.
//!
//! The rules for block devices are in `origin/local.rs`, those for network file systems in
//! `origin/wire.rs`, those for ZFS in `origin/pool.rs`, what lies below the devices in
//! `origin/below.rs`, what layers there keep on another device in `origin/layers.rs`, what a device
//! can deliver at all in `origin/limits.rs`, what a second pass says in `origin/again.rs`.

use serde::{Deserialize, Serialize};

use super::Measurement;
use crate::knob::{self, Settings};
use exceeded::Exceeded;
use facts::OriginFacts;
pub use limits::before_jump;

mod again;
mod below;
mod exceeded;
mod facts;
mod layers;
mod limits;
mod local;
mod pool;
mod programs;
mod rounds;
pub mod shared;
mod wire;

/// Where a read's bytes came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Verdict {
    /// Out of the kernel: from the block devices under the files.
    Device,
    /// From this machine's memory.
    Cache,
    /// Some from memory, some from the devices.
    Mixed,
    /// Out of the kernel, but from the memory of a controller, drive or hypervisor, or from a
    /// device that only keeps what others hold.
    DeviceCache,
    /// From the memory of a program at the other end of a connection: no storage was read.
    Memory,
    /// Over a wire; what the server had in memory is not known.
    Remote,
    /// The evidence does not tell, or contradicts itself.
    Unknown,
    /// Nothing was read.
    None,
}

impl Verdict {
    /// The word of the JSON contract.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A verdict and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The verdict.
    pub verdict: Verdict,
    /// Share of the delivered bytes that left the kernel, 0 to 1, where that is known.
    pub device_share: Option<f64>,
    /// One sentence for people, with the figures.
    pub reason: String,
}

/// Two counts of the same bytes agree when they differ by less. Counts begin and end a moment
/// before and after the load's own, blocks are rounded to pages, and metadata is read as well:
/// together far below this in any trial that is long enough to be worth timing.
pub const AGREEMENT: f64 = 0.05;

/// A second reading that is faster by this factor is no chance of one disk in sixty trials, and
/// tells of others on the same files too.
const FASTEST_CHANCE: f64 = 1.5;

/// What reads the same files again and is faster by this factor is no device that warmed up.
const SURELY: f64 = 3.0;

/// Where the bytes that `measurement` counts as read came from, without what that rests on.
pub fn from(measurement: &Measurement, settings: &Settings) -> Verdict {
    match &measurement.digest {
        Some(digest) => digest.origin.verdict,
        None => origin(measurement, settings).verdict,
    }
}

/// Where the bytes that `measurement` counts as read came from.
pub fn origin(measurement: &Measurement, settings: &Settings) -> Origin {
    if let Some(digest) = &measurement.digest {
        return digest.origin.clone();
    }
    let evidence = &measurement.evidence;
    let facts = OriginFacts { evidence, settings };
    if let Some(of) = &measurement.programs {
        let found = match programs::origin(of, evidence) {
            left if left.verdict == Verdict::Device => facts.at_the_bottom(left),
            other => other,
        };
        return match limits::exceeded(measurement, settings) {
            _ if found.verdict != Verdict::Device => found,
            Some(exceeded) => behind(found, exceeded),
            None if evidence.remote => {
                verdict(Verdict::Remote, found.device_share, "the device is another machine's")
            }
            None => facts.not_lent(found),
        };
    }
    if evidence.delivered.read_bytes == 0 {
        return verdict(Verdict::None, None, "nothing was read");
    }
    if settings.is_network() && !settings.has(knob::FILES) {
        let reason = "the sender's memory, over the network: no storage was read";
        return verdict(Verdict::Memory, None, reason);
    }
    if evidence.memory {
        let reason = format!("the files are memory ({})", evidence.filesystem);
        return verdict(Verdict::Cache, Some(0.0), reason);
    }
    if evidence.remote && evidence.devices.is_empty() {
        let found = match facts.over_a_wire() {
            left if left.verdict == Verdict::Device => facts.at_the_bottom(left),
            other => other,
        };
        // A second pass comes from the server's memory, which no client can drop.
        return match limits::above(measurement, settings) {
            _ if found.verdict != Verdict::Device => found,
            Some(why) => behind(found, Exceeded::Certainly(why)),
            None => facts.not_lent(found),
        };
    }
    let found = match &evidence.pool {
        Some(pool) => facts.on_pool(pool),
        None => facts.local(),
    };
    let local = match found {
        left if matches!(left.verdict, Verdict::Device | Verdict::Mixed) => {
            facts.at_the_bottom(left)
        }
        other => other,
    };
    match local.verdict {
        Verdict::Device if evidence.remote => {
            let reason =
                "the block device is another machine's; what that had in memory is unknown";
            verdict(Verdict::Remote, local.device_share, reason)
        }
        Verdict::Device => match limits::exceeded(measurement, settings) {
            Some(exceeded) => behind(local, exceeded),
            None => facts.not_lent(local),
        },
        _ => local,
    }
}

/// What left the kernel and need not have come from the media.
fn behind(found: Origin, exceeded: Exceeded) -> Origin {
    match exceeded {
        Exceeded::Certainly(why) => verdict(Verdict::DeviceCache, found.device_share, why),
        Exceeded::Perhaps(why) => verdict(Verdict::Unknown, found.device_share, why),
    }
}

fn verdict(verdict: Verdict, device_share: Option<f64>, reason: impl Into<String>) -> Origin {
    Origin { verdict, device_share, reason: reason.into() }
}

fn unknown(reason: impl Into<String>) -> Origin {
    verdict(Verdict::Unknown, None, reason)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measurement::{Amount, Evidence, Programs, SecondPass, Window};
    use ::facts::inventory::Ceiling;

    const MIB: u64 = 1 << 20;
    pub(super) const FILE: u64 = 1000 * MIB;

    fn settings(knobs: &[(&str, &str)]) -> Settings {
        crate::knob::testing::settings("file", knobs)
    }

    /// 1000 MiB of one file read once, cold, from a disk: everything agrees.
    fn clean() -> Measurement {
        let delivered = Amount { read_bytes: FILE, read_ops: 1000, ..Amount::default() };
        let evidence = Evidence {
            delivered,
            process_read_bytes: Some(FILE),
            device_read_bytes: Some(FILE + 40_960),
            devices: vec!["sda1".into()],
            filesystem: "ext4".into(),
            resident_before_bytes: Some(0),
            file_bytes: FILE,
            process_io_reliable: true,
            ..Evidence::default()
        };
        let window = Window { start_ns: 0, end_ns: 10_000_000_000, done: delivered };
        Measurement { evidence, window: Some(window), ..Measurement::default() }
    }

    /// The clean trial with other evidence.
    pub(super) fn with(change: impl FnOnce(&mut Evidence)) -> Measurement {
        let mut measurement = clean();
        change(&mut measurement.evidence);
        measurement
    }

    pub(super) fn judge(measurement: &Measurement, knobs: &[(&str, &str)]) -> Origin {
        let origin = origin(measurement, &settings(knobs));
        assert!(!origin.reason.is_empty() && !origin.reason.ends_with('.'));
        origin
    }

    pub(super) const BUFFERED: (&str, &str) = ("direct", "false");
    const RANDOM: (&str, &str) = ("access", "random-read");

    #[test]
    fn cold_reads_of_ext4_xfs_and_btrfs_are_the_devices() {
        for filesystem in ["ext4", "xfs", "btrfs"] {
            let trial = with(|e| e.filesystem = filesystem.into());
            for direct in ["true", "false"] {
                let origin = judge(&trial, &[("direct", direct)]);
                assert_eq!(origin.verdict, Verdict::Device, "{}", origin.reason);
                assert_eq!(origin.device_share, Some(1.0));
            }
        }
    }

    /// dd read a file that was in memory: its rate is nobody's but the page cache's, and what else
    /// it may have read from (a pipe, /dev/zero) cannot be told by its own account.
    #[test]
    fn programs_are_the_devices_only_where_all_that_they_asked_for_came_from_storage() {
        let program = |read_bytes: u64, called_read_bytes, reliable| {
            let mut trial = with(|e| {
                e.delivered.read_bytes = read_bytes;
                e.process_read_bytes = Some(read_bytes);
                e.device_read_bytes = Some(read_bytes);
                e.resident_before_bytes = None;
                e.file_bytes = 0;
                e.process_io_reliable = reliable;
            });
            trial.programs = Some(Programs { called_read_bytes, ..Programs::default() });
            origin(&trial, &Settings::defaults("command")).verdict
        };
        assert_eq!(program(FILE, FILE + 5000, true), Verdict::Device);
        assert_eq!(program(FILE / 2, FILE, true), Verdict::Unknown);
        assert_eq!(program(0, FILE, true), Verdict::Unknown);
        assert_eq!(program(0, MIB, true), Verdict::None);
        assert_eq!(program(FILE, FILE, false), Verdict::Unknown);
    }

    /// ncecat reads what it has written, which says nothing of its inputs.
    #[test]
    fn programs_that_are_known_to_read_their_files_once_are_judged_by_these_alone() {
        let program = |read_bytes: u64, device: Option<u64>, reliable| {
            let mut trial = with(|e| {
                e.delivered.read_bytes = read_bytes;
                e.device_read_bytes = device;
                e.process_io_reliable = reliable;
            });
            let known = Programs {
                called_read_bytes: 3 * FILE,
                of_files_bytes: Some(FILE),
                of_timed_runs_bytes: FILE,
                ..Programs::default()
            };
            trial.programs = Some(known);
            let origin = origin(&trial, &Settings::defaults("concat"));
            (origin.verdict, origin.device_share)
        };
        assert_eq!(program(FILE, Some(FILE), true), (Verdict::Device, Some(1.0)));
        assert_eq!(program(0, Some(0), true), (Verdict::Cache, Some(0.0)));
        assert_eq!(program(FILE * 11 / 10, Some(FILE), true).0, Verdict::Unknown);
        assert_eq!(program(FILE / 2, Some(FILE), true), (Verdict::Mixed, Some(0.5)));
        assert_eq!(program(FILE / 2, Some(0), true).0, Verdict::Unknown);
        assert_eq!(program(FILE / 2, None, true).0, Verdict::Unknown);
        assert_eq!(program(FILE, Some(FILE), false).0, Verdict::Unknown);
    }

    #[test]
    fn a_trial_that_only_wrote_has_no_origin() {
        let trial = with(|e| e.delivered = Amount { write_bytes: FILE, ..Amount::default() });
        assert_eq!(judge(&trial, &[]).verdict, Verdict::None);
    }

    #[test]
    fn a_hot_file_is_cache_though_another_process_reads_the_disk_naive_device() {
        // Who only looks at the sectors (S covers D) says `device`.
        let trial = with(|e| {
            e.process_read_bytes = Some(0);
            e.resident_before_bytes = Some(FILE);
        });
        let origin = judge(&trial, &[BUFFERED, ("cold", "false")]);
        assert_eq!((origin.verdict, origin.device_share), (Verdict::Cache, Some(0.0)));
    }

    #[test]
    fn a_cold_read_beside_another_process_is_still_the_devices_naive_unknown() {
        // Who wants S to equal D gives up here.
        let trial = with(|e| e.device_read_bytes = Some(3 * FILE));
        assert_eq!(judge(&trial, &[]).verdict, Verdict::Device);
    }

    #[test]
    fn tmpfs_is_cache_naive_device_because_direct_was_asked_for() {
        let trial = with(|e| {
            e.memory = true;
            e.filesystem = "tmpfs".into();
            e.process_read_bytes = Some(0);
            e.device_read_bytes = None;
            e.devices.clear();
        });
        assert_eq!(judge(&trial, &[("direct", "true")]).verdict, Verdict::Cache);
    }

    #[test]
    fn overlay_on_ext4_is_judged_by_the_devices_below_naive_no_device_found() {
        let trial = with(|e| e.filesystem = "overlay+ext4".into());
        assert_eq!(judge(&trial, &[]).verdict, Verdict::Device);
    }

    #[test]
    fn fuse_reads_nothing_by_its_own_count_naive_cache() {
        // P is 0 on FUSE, because the daemon reads: a naive tool takes that for the page cache.
        for resident in [Some(0), Some(FILE), None] {
            let trial = with(|e| {
                e.filesystem = "fuse.sshfs".into();
                e.process_read_bytes = Some(0);
                e.process_io_reliable = false;
                e.device_read_bytes = None;
                e.devices.clear();
                e.resident_before_bytes = resident;
            });
            assert_eq!(judge(&trial, &[BUFFERED]).verdict, Verdict::Unknown);
        }
    }

    #[test]
    fn without_the_loads_own_count_sectors_may_be_anybodys_naive_device() {
        let trial = with(|e| e.process_read_bytes = None);
        assert_eq!(judge(&trial, &[]).verdict, Verdict::Unknown);
        let other = with(|e| e.process_io_reliable = false);
        assert_eq!(judge(&other, &[]).verdict, Verdict::Unknown);
        let quiet = with(|e| {
            e.process_read_bytes = None;
            e.device_read_bytes = Some(4096);
            e.resident_before_bytes = Some(FILE);
        });
        assert_eq!(judge(&quiet, &[BUFFERED]).verdict, Verdict::Cache, "S and R agree");
    }

    #[test]
    fn reads_served_by_neither_memory_nor_device_are_unknown_naive_cache() {
        let trial = with(|e| {
            e.process_read_bytes = Some(0);
            e.device_read_bytes = Some(0);
        });
        assert_eq!(judge(&trial, &[("direct", "true")]).verdict, Verdict::Unknown);
        let polluted = with(|e| e.process_read_bytes = Some(0));
        assert_eq!(judge(&polluted, &[("direct", "true")]).verdict, Verdict::Unknown);
    }

    #[test]
    fn a_process_count_that_no_device_confirms_is_unknown_naive_device() {
        let trial = with(|e| e.device_read_bytes = Some(FILE / 2));
        assert_eq!(judge(&trial, &[]).verdict, Verdict::Unknown);
    }

    #[test]
    fn half_resident_is_mixed_with_its_share_naive_device() {
        let trial = with(|e| {
            e.process_read_bytes = Some(FILE / 2);
            e.device_read_bytes = Some(FILE / 2);
            e.resident_before_bytes = Some(FILE / 2);
        });
        let origin = judge(&trial, &[BUFFERED]);
        assert_eq!((origin.verdict, origin.device_share), (Verdict::Mixed, Some(0.5)));
    }

    #[test]
    fn a_small_file_read_over_and_over_is_cache_though_it_began_cold_naive_device() {
        let trial = with(|e| e.delivered.read_bytes = 100 * FILE);
        let origin = judge(&trial, &[BUFFERED]);
        assert_eq!(origin.verdict, Verdict::Cache, "{}", origin.reason);
    }

    #[test]
    fn direct_io_that_memory_served_was_ignored_naive_device() {
        let trial = with(|e| {
            e.process_read_bytes = Some(0);
            e.device_read_bytes = Some(0);
            e.resident_before_bytes = Some(FILE);
        });
        let origin = judge(&trial, &[("direct", "true")]);
        assert_eq!(origin.verdict, Verdict::Cache);
        assert!(origin.reason.contains("direct I/O was ignored"));
    }

    #[test]
    fn read_around_hides_hits_of_mmap_naive_device() {
        // Each fault reads 128 KiB around it: soon the whole file was read (P = S = D), but most
        // faults hit, and some blocks were read twice.
        let mmap = [RANDOM, BUFFERED, ("io-engine", "mmap")];
        assert_eq!(judge(&clean(), &mmap).verdict, Verdict::Unknown);
        let once = with(|e| e.reread_bytes = Some(0));
        assert_eq!(judge(&once, &mmap).verdict, Verdict::Device, "no block was read twice");
        let sparse = with(|e| e.file_bytes = 100 * FILE);
        assert_eq!(judge(&sparse, &mmap).verdict, Verdict::Device, "repeats are rare");
        let zipf = [RANDOM, BUFFERED, ("random-distribution", "zipf")];
        assert_eq!(judge(&sparse, &zipf).verdict, Verdict::Unknown, "repeats are the rule");
    }

    #[test]
    fn read_ahead_beyond_a_short_sequential_read_does_not_make_it_suspicious() {
        let trial = with(|e| {
            e.process_read_bytes = Some(2 * FILE);
            e.device_read_bytes = Some(2 * FILE);
            e.file_bytes = 10 * FILE;
        });
        assert_eq!(judge(&trial, &[BUFFERED]).verdict, Verdict::Device);
        let warm = with(|e| {
            e.process_read_bytes = Some(2 * FILE);
            e.device_read_bytes = Some(2 * FILE);
            e.resident_before_bytes = Some(FILE / 2);
        });
        assert_eq!(judge(&warm, &[BUFFERED]).verdict, Verdict::Unknown);
    }

    #[test]
    fn a_loop_device_whose_backing_caches_is_a_device_cache_naive_device() {
        let mut trial = clean();
        let slot = |tenth: u64| (tenth * 100_000_000, tenth * FILE / 20);
        let first_marks: Vec<(u64, u64)> = (0..=20).map(slot).collect();
        let mut at = |second_ns: u64, first_marks: &[(u64, u64)]| {
            let (first_ns, first_marks) = (2_000_000_000, first_marks.to_vec());
            trial.second_pass = Some(SecondPass { bytes: FILE, first_ns, second_ns, first_marks });
            judge(&trial, &[]).verdict
        };
        assert_eq!(at(1_650_000_000, &first_marks), Verdict::DeviceCache);
        assert_eq!(at(1_680_000_000, &first_marks), Verdict::Device, "within two passes' spread");
        assert_eq!(at(1_650_000_000, &[]), Verdict::Unknown, "its ups and downs are not known");
    }

    #[test]
    fn more_than_the_link_carries_is_a_device_cache_naive_device() {
        let mut trial = clean();
        let limit = |bytes_per_s| {
            let why = "the link runs at 6 Gb/s".to_owned();
            Some(Ceiling { bytes_per_s: Some(bytes_per_s), why, ..Ceiling::default() })
        };
        // 1000 MiB in 10 s, of which one block was in flight before.
        let rate = 999.0 * MIB as f64 / 10.0;
        trial.evidence.ceiling = limit(rate / 1.03);
        let origin = judge(&trial, &[]);
        assert_eq!(origin.verdict, Verdict::DeviceCache);
        assert!(origin.reason.contains("as the link runs at 6 Gb/s"), "{}", origin.reason);
        trial.evidence.ceiling = limit(rate / 1.01);
        assert_eq!(judge(&trial, &[]).verdict, Verdict::Device);
    }

    #[test]
    fn more_random_reads_than_half_turns_is_a_device_cache_naive_device() {
        let mut trial = with(|e| {
            let why = "7200 turns a minute".to_owned();
            e.ceiling = Some(Ceiling { ops_per_s: Some(240.0), why, ..Ceiling::default() });
        });
        let mut at = |ops: u64, knobs: &[(&str, &str)]| {
            trial.window.as_mut().unwrap().done.read_ops = ops;
            judge(&trial, knobs).verdict
        };
        assert_eq!(at(10 * 300, &[RANDOM]), Verdict::DeviceCache);
        assert_eq!(at(10 * 240, &[RANDOM]), Verdict::Device);
        assert_eq!(at(10 * 300, &[]), Verdict::Device, "sequential reads need no turn");
        let deep = [RANDOM, ("queue-depth", "32")];
        assert_eq!(at(10 * 600, &deep), Verdict::Device, "the drive may choose among 32");
    }

    #[test]
    fn nfs_is_remote_and_never_the_servers_disk_naive_device() {
        let nfs = |sent, resident| {
            with(|e| {
                e.remote = true;
                e.filesystem = "nfs4".into();
                e.process_io_reliable = false;
                e.device_read_bytes = None;
                e.devices.clear();
                e.remote_read_bytes = sent;
                e.resident_before_bytes = resident;
            })
        };
        let all = Some(FILE);
        assert_eq!(judge(&nfs(all, Some(0)), &[BUFFERED]).verdict, Verdict::Remote);
        assert_eq!(judge(&nfs(None, None), &[("direct", "true")]).verdict, Verdict::Remote);
        assert_eq!(judge(&nfs(Some(0), all), &[BUFFERED]).verdict, Verdict::Cache);
        assert_eq!(judge(&nfs(Some(FILE / 2), Some(0)), &[BUFFERED]).verdict, Verdict::Mixed);
        // Another program reads by NFS while we read from memory.
        assert_eq!(judge(&nfs(all, all), &[BUFFERED]).verdict, Verdict::Unknown);
        // A random read may meet what it has read before; CIFS and 9p have no count of their own.
        assert_eq!(judge(&nfs(None, Some(0)), &[BUFFERED, RANDOM]).verdict, Verdict::Unknown);
        assert_eq!(judge(&nfs(None, Some(0)), &[BUFFERED]).verdict, Verdict::Remote);
    }

    #[test]
    fn a_network_block_device_is_remote_and_its_page_cache_is_cache_naive_device() {
        let trial = with(|e| e.remote = true);
        assert_eq!(judge(&trial, &[]).verdict, Verdict::Remote);
        let hot = with(|e| {
            e.remote = true;
            e.process_read_bytes = Some(0);
            e.resident_before_bytes = Some(FILE);
        });
        assert_eq!(judge(&hot, &[BUFFERED]).verdict, Verdict::Cache);
    }

    #[test]
    fn verdicts_are_written_as_the_json_contract_says() {
        let json = serde_json::to_value(Verdict::DeviceCache).unwrap();
        assert_eq!(json, Verdict::DeviceCache.name());
    }

    fn count() -> impl Strategy<Value = Option<u64>> {
        let near = (0..3000u64).prop_map(|tenths| Some(FILE / 1000 * tenths));
        prop_oneof![Just(None), Just(Some(0)), Just(Some(u64::MAX)), near]
    }

    proptest! {
        /// Whatever the evidence, `device` and `device-cache` are said only when both counts cover
        /// what was delivered.
        #[test]
        fn device_means_that_both_counts_cover_the_bytes(
            delivered in count(), process in count(), device in count(), resident in count(),
            file in count(), reread in count(), sent in count(),
            flags in prop::array::uniform4(any::<bool>()),
            access in prop::sample::select(vec!["read", "random-read", "read-strided"]),
        ) {
            let trial = with(|e| {
                e.delivered.read_bytes = delivered.unwrap_or(0);
                e.process_read_bytes = process;
                e.device_read_bytes = device;
                e.resident_before_bytes = resident;
                e.file_bytes = file.unwrap_or(0);
                e.reread_bytes = reread;
                e.remote_read_bytes = sent;
                [e.process_io_reliable, e.remote, e.memory, _] = flags;
            });
            let mut settings = settings(&[("access", access)]);
            settings.set(knob::DIRECT, flags[3]);
            let origin = origin(&trial, &settings);
            if matches!(origin.verdict, Verdict::Device | Verdict::DeviceCache) {
                let needed = 0.95 * trial.evidence.delivered.read_bytes as f64;
                prop_assert!(trial.evidence.process_io_reliable && !trial.evidence.memory);
                prop_assert!(process.unwrap() as f64 >= needed);
                prop_assert!(device.unwrap() as f64 >= needed);
            }
            prop_assert!(origin.device_share.is_none_or(|share| (0.0..=1.0).contains(&share)));
        }

        /// A model of the page cache: `hits` of the delivered bytes came from memory, and the
        /// kernel read `wasted` bytes that nobody asked for. However the two play together, a
        /// random buffered read with more than a tenth of hits is never called `device`.
        #[test]
        fn a_buffered_random_read_full_of_hits_is_never_device(
            blocks in 1..3000u64, hits in 0.1..1.0f64, wasted in 0.0..3.0f64, others in 0..2000u64,
        ) {
            let delivered = blocks * MIB;
            let process = (delivered as f64 * (1.0 - hits + wasted)) as u64;
            // Hits need pages: those that were there, or those that were brought meanwhile.
            let resident = (delivered as f64 * hits) as u64;
            let trial = with(|e| {
                e.delivered.read_bytes = delivered;
                e.process_read_bytes = Some(process);
                e.device_read_bytes = Some(process + others * MIB);
                e.resident_before_bytes = Some(resident.min(FILE));
                e.file_bytes = FILE.min(2 * delivered);
            });
            let origin = origin(&trial, &settings(&[RANDOM, BUFFERED]));
            prop_assert_ne!(origin.verdict, Verdict::Device, "{}", origin.reason);
        }
    }
}
