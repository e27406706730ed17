//! (pure) What left the devices under the files, held against the hardware at the bottom of them.
//!
//! A device node is not the device: a loop device reads its file through the page cache of the file
//! system below unless it was told not to, and what that has in memory no disk delivers. Sectors of
//! the disks at the bottom decide; the walk to them is `inventory/leaf.rs`.

use super::facts::OriginFacts;
use super::{AGREEMENT, Origin, Verdict, unknown, verdict};
use base::value::{bytes, percent};

/// What a kernel may read ahead that nobody asked for, whether below a loop device or as a server:
/// two windows of the largest read-ahead that distributions set, and no more than this part of what
/// was delivered.
const AHEAD_BYTES: f64 = (16 << 20) as f64;
const AHEAD_SHARE: f64 = 0.25;

impl OriginFacts<'_> {
    /// How much more was moved than was delivered, as a share of that, when it is more than
    /// read-ahead and metadata explain: then others had it moved, and the count is not ours alone.
    pub fn excess(&self, moved: u64) -> Option<f64> {
        let delivered = self.delivered();
        let ahead = AHEAD_BYTES.min(AHEAD_SHARE * delivered);
        let excess = moved as f64 - delivered;
        (excess > AGREEMENT * delivered + ahead).then(|| excess / delivered)
    }

    /// The verdict `found` on the devices under the files, as the hardware below them and the
    /// layers between bear it out.
    pub fn at_the_bottom(&self, found: Origin) -> Origin {
        match self.of_the_disks(found) {
            found if matches!(found.verdict, Verdict::Device | Verdict::Mixed) => {
                self.past_the_layers(found)
            }
            found => found,
        }
    }

    fn of_the_disks(&self, found: Origin) -> Origin {
        let below = &self.evidence.below;
        if let Some(why) = &below.unseen {
            return unknown(format!("the devices moved the bytes, but {why}"));
        }
        if let Some(first) = below.memory.first() {
            let reason = format!("{first} is this machine's memory, shown as a disk");
            return verdict(Verdict::Cache, Some(0.0), reason);
        }
        let Some(moved) = below.read_bytes else {
            return match below.caches.is_empty() {
                true => in_memory(found, &below.in_memory),
                false => unknown(format!(
                    "what the disks at the bottom moved was not counted, and {} lies between",
                    below.memory_between()
                )),
            };
        };
        let (share, wanted) = (self.share(moved), found.device_share.unwrap_or(1.0).min(1.0));
        if share >= (1.0 - AGREEMENT) * wanted {
            return in_memory(found, &below.in_memory);
        }
        let on = below.leaves.join(" + ");
        let told = format!(
            "of {} delivered, {on} at the bottom moved only {}",
            bytes(self.delivered()),
            bytes(moved as f64)
        );
        if below.caches.is_empty() {
            return unknown(format!("{told}: something between keeps or packs the data"));
        }
        if !below.packed.is_empty() {
            return unknown(format!(
                "{told}: the rest came from {}, or the pool holds these blocks in less room, for \
                 {} may be compressed",
                below.memory_between(),
                below.packed.join(" and ")
            ));
        }
        let reason = format!(
            "{told}: the rest came from a cache below the file system, {}",
            below.memory_between()
        );
        let kind = if share <= AGREEMENT { Verdict::Cache } else { Verdict::Mixed };
        verdict(kind, Some(share), reason)
    }

    /// Where a page cache lies between, disks that moved far more than was delivered moved it for
    /// others, and how much of ours is among it nobody knows.
    pub fn not_lent(&self, found: Origin) -> Origin {
        let below = &self.evidence.below;
        let Some(moved) = below.read_bytes.filter(|_| !below.caches.is_empty()) else {
            return found;
        };
        let Some(excess) = self.excess(moved) else { return found };
        let why = match below.volumes.is_empty() {
            true => "others had the rest read",
            false => "others had the rest read, or parts of a volume's blocks were asked for",
        };
        unknown(format!(
            "{} at the bottom moved {} for {} delivered: {why}, which can hide what came from the \
             cache below {} ({} more)",
            below.leaves.join(" + "),
            bytes(moved as f64),
            bytes(self.delivered()),
            below.caches.join(" and "),
            percent(excess)
        ))
    }
}

/// The same verdict; a disk that is a file in memory is said to be one.
fn in_memory(found: Origin, files: &[String]) -> Origin {
    if files.is_empty() {
        return found;
    }
    let reason = format!("{}; {} shows a file in memory", found.reason, files.join(" and "));
    Origin { reason, ..found }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{BUFFERED, FILE, judge, with};
    use super::*;
    use crate::measurement::evidence::Below;

    const MIB: u64 = 1 << 20;

    /// A clean trial on loop0, whose file lies on sda, which moved so much; through a cache or not.
    fn looped(moved: Option<u64>, cached: bool) -> Origin {
        let trial = with(|e| {
            e.devices = vec!["loop0".into()];
            e.below = Below {
                leaves: vec!["sda".into()],
                read_bytes: moved,
                caches: if cached { vec!["loop0".into()] } else { Vec::new() },
                ..Below::default()
            };
        });
        judge(&trial, &[])
    }

    /// A loop device without direct I/O over a disk of 36 MB/s "delivered 3304 MB/s" from `device`:
    /// its file was in memory, and the disk had moved nothing.
    #[test]
    fn what_the_disk_below_did_not_move_came_from_a_cache_below_naive_device() {
        let found = looped(Some(0), true);
        assert_eq!((found.verdict, found.device_share), (Verdict::Cache, Some(0.0)));
        assert!(found.reason.contains("a cache below the file system"), "{}", found.reason);
        let half = looped(Some(FILE / 2), true);
        assert_eq!((half.verdict, half.device_share), (Verdict::Mixed, Some(0.5)));
        assert_eq!(looped(Some(FILE), true).verdict, Verdict::Device);
        assert_eq!(looped(Some(FILE + 8 * MIB), true).verdict, Verdict::Device, "read-ahead");
        assert_eq!(looped(None, true).verdict, Verdict::Unknown, "nobody counted");
    }

    /// ext4 on a volume of ZFS was `unknown` whatever the pool's disks had read.
    #[test]
    fn a_volume_of_zfs_is_judged_by_the_sectors_of_its_pool_naive_device() {
        let volume = |moved: u64, packed: bool| {
            let names = vec!["zd0".to_owned()];
            let trial = with(|e| {
                e.devices.clone_from(&names);
                e.below = Below {
                    leaves: vec!["vda".into(), "vdb".into()],
                    read_bytes: Some(moved),
                    caches: names.clone(),
                    volumes: names.clone(),
                    packed: if packed { names.clone() } else { Vec::new() },
                    ..Below::default()
                };
            });
            judge(&trial, &[])
        };
        for packed in [false, true] {
            assert_eq!(volume(FILE + 8 * MIB, packed).verdict, Verdict::Device);
            let more = volume(2 * FILE, packed);
            assert_eq!(more.verdict, Verdict::Unknown);
            assert!(more.reason.contains("parts of a volume's blocks"), "{}", more.reason);
        }
        let kept = volume(0, false);
        assert_eq!(kept.verdict, Verdict::Cache);
        assert!(kept.reason.ends_with("the memory of ZFS (ARC) behind zd0"), "{}", kept.reason);
        let half = volume(FILE / 2, false);
        assert_eq!((half.verdict, half.device_share), (Verdict::Mixed, Some(0.5)));
        for moved in [0, FILE / 2] {
            let packed = volume(moved, true);
            assert_eq!(packed.verdict, Verdict::Unknown);
            assert!(packed.reason.contains("may be compressed"), "{}", packed.reason);
        }
    }

    /// With a neighbour on the disk below, its sectors are no evidence that ours came from there.
    #[test]
    fn sectors_below_a_cache_that_others_had_moved_lend_nothing_naive_device() {
        assert_eq!(looped(Some(2 * FILE), true).verdict, Verdict::Unknown);
        assert_eq!(looped(Some(2 * FILE), false).verdict, Verdict::Device, "no cache between");
    }

    /// tar on a loop device whose file was half in memory, and a server of one: a neighbour read
    /// the other half's worth from the disk below, and both were "device".
    #[test]
    fn programs_and_servers_over_a_cached_loop_device_lend_no_sectors_either_naive_device() {
        use crate::measurement::Programs;
        use crate::measurement::evidence::NfsServerEvidence;
        let on_loop = |e: &mut crate::measurement::Evidence, moved: u64| {
            e.below = Below {
                leaves: vec!["sda".into()],
                read_bytes: Some(moved),
                caches: vec!["loop0".into()],
                ..Below::default()
            };
        };
        let program = |moved: u64| {
            let mut trial = with(|e| {
                e.devices = vec!["loop0".into()];
                on_loop(e, moved);
            });
            trial.programs = Some(Programs { called_read_bytes: FILE, ..Programs::default() });
            super::super::origin(&trial, &crate::knob::Settings::defaults("command"))
        };
        let served = |moved: u64| {
            let trial = with(|e| {
                e.remote = true;
                e.filesystem = "nfs4".into();
                e.process_io_reliable = false;
                e.device_read_bytes = None;
                e.devices.clear();
                e.remote_read_bytes = Some(FILE);
                e.served = Some(NfsServerEvidence {
                    devices: vec!["loop0".into()],
                    read_bytes: Some(FILE),
                    device_read_bytes: Some(FILE),
                    ..NfsServerEvidence::default()
                });
                on_loop(e, moved);
            });
            judge(&trial, &[BUFFERED])
        };
        for of in [&program as &dyn Fn(u64) -> Origin, &served] {
            let found = of(FILE * 7 / 2);
            assert_eq!(found.verdict, Verdict::Unknown, "{}", found.reason);
            assert!(found.reason.contains("others had the rest read"), "{}", found.reason);
            assert_eq!(of(FILE + 15 * MIB).verdict, Verdict::Device, "read-ahead");
            assert_eq!(of(FILE / 2).verdict, Verdict::Mixed);
        }
    }

    #[test]
    fn around_the_cache_the_disk_below_bears_out_the_verdict_or_nobody_knows() {
        assert_eq!(looped(Some(FILE), false).verdict, Verdict::Device);
        assert_eq!(looped(None, false).verdict, Verdict::Device, "the devices are the bottom");
        assert_eq!(looped(Some(FILE / 3), false).verdict, Verdict::Unknown);
    }

    /// `verify` took 500 MiB of memory for the device's: half of what was read had left a loop
    /// device, and less of it the disk.
    #[test]
    fn a_share_is_no_larger_than_what_the_disk_below_moved() {
        let trial = with(|e| {
            e.process_read_bytes = Some(FILE / 2);
            e.device_read_bytes = Some(FILE / 2);
            e.resident_before_bytes = Some(FILE / 2);
            e.below = Below {
                leaves: vec!["sda".into()],
                read_bytes: Some(FILE / 10),
                caches: vec!["loop0".into()],
                ..Below::default()
            };
        });
        let found = judge(&trial, &[BUFFERED]);
        assert_eq!((found.verdict, found.device_share), (Verdict::Mixed, Some(0.1)));
    }

    /// A loop device with direct I/O over a file of bindfs: "1 022 MB/s" of media of 15.
    #[test]
    fn memory_shown_as_a_disk_and_what_a_program_shows_are_no_device_naive_device() {
        let of = |below: Below| judge(&with(|e| e.below = below), &[]);
        let zram = of(Below { memory: vec!["zram0".into()], ..Below::default() });
        assert_eq!((zram.verdict, zram.device_share), (Verdict::Cache, Some(0.0)));
        let why = Some("the file that loop0 shows is shown by a program itself".to_owned());
        let shown = of(Below { unseen: why, ..Below::default() });
        assert_eq!(shown.verdict, Verdict::Unknown);
        assert!(shown.reason.contains("shown by a program"), "{}", shown.reason);
        let file = of(Below { in_memory: vec!["loop0".into()], ..Below::default() });
        assert_eq!(file.verdict, Verdict::Device);
        assert!(file.reason.ends_with("loop0 shows a file in memory"), "{}", file.reason);
    }
}
