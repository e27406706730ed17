//! (pure) Verdicts on file systems of this machine's block devices.

use super::facts::OriginFacts;
use super::{AGREEMENT, Origin, Verdict, unknown, verdict};
use crate::knob::engine::Does;
use crate::knob::{self, Access};
use base::value::{bytes, percent};

impl OriginFacts<'_> {
    /// On block devices of this machine.
    pub fn local(&self) -> Origin {
        let filesystem = &self.evidence.filesystem;
        let process = self.evidence.process_read_bytes;
        let process = process.filter(|_| self.evidence.process_io_reliable);
        match (process, self.evidence.device_read_bytes) {
            (Some(process), Some(device)) => self.two_counts(process, device),
            (Some(_), None) => unknown(format!(
                "no block device under the directory is known ({filesystem}), so nothing confirms \
                 what the process's count says"
            )),
            (None, Some(device)) => self.devices_only(device),
            (None, None) => unknown(format!(
                "neither the process's count nor any block device's says anything on {filesystem}"
            )),
        }
    }

    /// Without the load's own count, sectors may be anybody's: they can clear the devices, but
    /// never convict them.
    fn devices_only(&self, device: u64) -> Origin {
        if let Some(found) = self.through_a_mirror(device) {
            return found;
        }
        if self.share(device) <= AGREEMENT && self.all_resident() {
            let reason = "all pages were in memory before, and the devices read next to nothing";
            return verdict(Verdict::Cache, Some(self.share(device)), reason);
        }
        unknown(format!(
            "the devices read {}, but the load's own count is missing or means nothing on {}, so \
             these may be another process's",
            bytes(device as f64),
            self.evidence.filesystem
        ))
    }

    /// On files that a program mirrors, whose pages below it can be counted as well: those that
    /// were there before explain all, or none was there, none can have come twice, and the devices
    /// moved what was delivered and no more.
    fn through_a_mirror(&self, device: u64) -> Option<Origin> {
        let mirrored = self.evidence.mirrored.as_ref()?;
        let resident = mirrored.resident_before_bytes? as f64;
        let (files, at) = (self.evidence.file_bytes as f64, mirrored.directories.join(" and "));
        let share = self.share(device);
        if files > 0.0 && resident >= (1.0 - AGREEMENT) * files && share <= AGREEMENT {
            let reason = format!(
                "all of the files was in memory where the program that shows them has them ({at}), \
                 and the devices read next to nothing"
            );
            return Some(verdict(Verdict::Cache, Some(share), reason));
        }
        let past_our_cache = self.direct() || self.none_resident();
        let once = resident == 0.0 && past_our_cache && self.each_once();
        (once && self.covers(device) && self.excess(device).is_none()).then(|| {
            let reason = format!(
                "none of the files was in memory, neither here nor where the program that shows \
                 them has them ({at}), none was read twice, and the devices read {}",
                bytes(device as f64)
            );
            verdict(Verdict::Device, Some(1.0), reason)
        })
    }

    fn two_counts(&self, process: u64, device: u64) -> Origin {
        let share = self.share(process);
        if share <= AGREEMENT {
            return self.nothing_read(process, device);
        }
        // Others may have read as well, so S may exceed P; it cannot be less.
        if (device as f64) < (1.0 - AGREEMENT) * (process as f64).min(self.delivered()) {
            return unknown(format!(
                "the load had {} read, but the devices only {}: the bytes came past the devices \
                 that are known, or from a cache above them",
                bytes(process as f64),
                bytes(device as f64)
            ));
        }
        if !self.covers(process) && self.cannot_have_hit() {
            let reason = format!(
                "the load had only {} read for {} delivered, none of which was in memory before, \
                 and no block was read twice: the file system packs the files, or they have holes",
                bytes(process as f64),
                bytes(self.delivered())
            );
            return verdict(Verdict::Unknown, Some(share), reason);
        }
        if !self.covers(process) {
            let reason = format!(
                "at most {} of the bytes were read from the devices, the rest was in memory",
                percent(share)
            );
            return verdict(Verdict::Mixed, Some(share), reason);
        }
        if let Some(hidden) = self.hidden_share(process, device) {
            return unknown(format!(
                "the load had {} read for {} delivered, but with read-ahead in play up to {} may \
                 have come from memory all the same",
                bytes(process as f64),
                bytes(self.delivered()),
                percent(hidden)
            ));
        }
        let reason = format!(
            "the load's own reads ({}) and the devices' ({}) both cover what was delivered ({})",
            bytes(process as f64),
            bytes(device as f64),
            bytes(self.delivered())
        );
        verdict(Verdict::Device, Some(share.min(1.0)), reason)
    }

    /// Whether no byte can have been in memory when it was asked for: none was there before, none
    /// was read twice, and the load wrote none.
    fn cannot_have_hit(&self) -> bool {
        self.evidence.resident_before_bytes == Some(0)
            && self.evidence.delivered.write_bytes == 0
            && self.each_once()
    }

    /// The load itself had next to nothing read.
    fn nothing_read(&self, process: u64, device: u64) -> Origin {
        let Some(resident) = self.evidence.resident_before_bytes else {
            return unknown(
                "the load had next to nothing read, but what was in memory before is not known",
            );
        };
        // Pages that were there, and those that this trial itself brought, explain the rest.
        let explained = resident as f64 + process as f64;
        let needed = self.delivered().min(self.evidence.file_bytes as f64);
        if self.evidence.file_bytes > 0 && explained >= (1.0 - AGREEMENT) * needed {
            let ignored = if self.direct() { "; direct I/O was ignored" } else { "" };
            let reason = format!(
                "{} of the files were in memory before, and the load had only {} read{ignored}",
                bytes(resident as f64),
                bytes(process as f64)
            );
            return verdict(Verdict::Cache, Some(self.share(process)), reason);
        }
        // Loads that make all that they read leave it in memory, as long as it fits.
        let own = self.evidence.reread_bytes.filter(|_| self.evidence.file_bytes == 0);
        if own.is_some_and(|own| self.covers(own)) {
            let reason = format!(
                "the load had written what it read itself, in the same trial, and had only {} read",
                bytes(process as f64)
            );
            return verdict(Verdict::Cache, Some(self.share(process)), reason);
        }
        unknown(format!(
            "the load had only {} read, and {} of the files were in memory before: neither \
             explains the {} delivered (the devices read {})",
            bytes(process as f64),
            bytes(resident as f64),
            bytes(self.delivered()),
            bytes(device as f64)
        ))
    }

    /// Share of the delivered bytes that may have been hits although P covers D, when that is
    /// more than the tolerance. Read-ahead that is never used adds to P what a hit takes away.
    fn hidden_share(&self, process: u64, device: u64) -> Option<f64> {
        // A read that finds a device's queue full is taken back and submitted again (io_uring asks
        // with REQ_NOWAIT), and task_io_account_read() counts at each submission: P has it twice.
        // The devices count what they did: what they did not read was no read-ahead either.
        let ahead = self.share(process.min(device)) > 1.0 + AGREEMENT;
        // Direct I/O neither reads ahead nor hits; when both exceed D it was not direct I/O.
        if self.direct() && self.settings.get(knob::IO_ENGINE) != "mmap" && !ahead {
            return None;
        }
        // From one end to the other, unused read-ahead is what lies beyond the end: little,
        // unless it shows. Elsewhere the kernel reads ahead from the traces of earlier reads
        // (mm/readahead.c) and mmap reads around each fault, and the waste may just equal the
        // hits.
        let in_order = self.settings.reads() && self.settings.in_order();
        if in_order && !ahead {
            return None;
        }
        let file_bytes = self.evidence.file_bytes as f64;
        if file_bytes <= 0.0 {
            return Some(1.0);
        }
        let reread = match self.evidence.reread_bytes {
            Some(reread) => self.share(reread),
            None if self.settings.get(knob::RANDOM_DISTRIBUTION) == "zipf" => 1.0,
            // Drawn evenly with replacement, half of what has been covered meets it again.
            None if self.settings.is_random() => self.delivered() / file_bytes / 2.0,
            None => (1.0 - file_bytes / self.delivered()).max(0.0),
        };
        // Pages that were there before, and pages that the load wrote itself, are hits as well; but
        // blocks that are written back were read before, and reading them again was counted above.
        let written = match self.settings.get(knob::ACCESS) {
            Some(Access::Update | Access::RandomUpdate) if self.evidence.reread_bytes.is_some() => {
                0.0
            }
            // It drops what it wrote before it reads; what stays is counted as read again.
            None if self.settings.does(Does::ChecksAll) => 0.0,
            _ => self.evidence.delivered.write_bytes as f64 / file_bytes,
        };
        let hidden = (reread + written + self.resident_share().unwrap_or(1.0)).min(1.0);
        (hidden > AGREEMENT).then_some(hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{BUFFERED, FILE, judge, with};
    use super::*;

    /// Files that btrfs compresses, read once and cold, were "mixed, the rest was in memory".
    #[test]
    fn a_compressed_file_that_was_read_once_was_not_in_memory_naive_mixed() {
        let packed = |resident, reread| {
            with(|e| {
                e.filesystem = "btrfs".into();
                e.process_read_bytes = Some(FILE / 4);
                e.device_read_bytes = Some(FILE / 4);
                e.resident_before_bytes = resident;
                e.reread_bytes = reread;
            })
        };
        let origin = judge(&packed(Some(0), Some(0)), &[BUFFERED]);
        assert_eq!((origin.verdict, origin.device_share), (Verdict::Unknown, Some(0.25)));
        assert!(origin.reason.contains("the file system packs"), "{}", origin.reason);
        // What was read twice, or was there before, may have been in memory.
        for trial in [packed(Some(0), Some(FILE / 2)), packed(Some(FILE / 2), Some(0))] {
            assert_eq!(judge(&trial, &[BUFFERED]).verdict, Verdict::Mixed);
        }
    }

    /// Direct reads of two disks with 128 in flight, in queues of 128 places, were "unknown, with
    /// read-ahead in play": the process had 696 MiB counted, and the disks had read just 640.
    #[test]
    fn reads_that_found_the_queue_full_are_counted_twice_and_are_the_devices_naive_unknown() {
        let full = |device| {
            with(|e| {
                e.process_read_bytes = Some(FILE + FILE / 8);
                e.device_read_bytes = Some(device);
                e.resident_before_bytes = Some(FILE / 2);
            })
        };
        let verdict = |device, settings: &[(&str, &str)]| judge(&full(device), settings).verdict;
        let random = ("access", "random-read");
        assert_eq!(verdict(FILE, &[random]), Verdict::Device);
        // More than was delivered came from the devices too: it was not direct I/O.
        assert_eq!(verdict(FILE + FILE / 8, &[random]), Verdict::Unknown);
        // Through the page cache hits and read-ahead stay possible.
        assert_eq!(verdict(FILE, &[random, BUFFERED]), Verdict::Unknown);
        assert_eq!(verdict(FILE, &[random, ("io-engine", "mmap")]), Verdict::Unknown);
    }

    /// RWF_DONTCACHE drops what a read brought when that is done: a first read is the device's.
    /// What was in memory before is given from there, and what the counts leave open stays open.
    #[test]
    fn reads_that_leave_nothing_in_memory_are_judged_as_other_buffered_ones_naive_device() {
        let dontcache = [BUFFERED, ("dontcache", "true")];
        let trial = |read: u64, resident: u64| {
            with(|e| {
                e.process_read_bytes = Some(read);
                e.device_read_bytes = Some(read);
                e.resident_before_bytes = Some(resident);
            })
        };
        let verdict = |trial: &_, more: &[(&str, &str)]| {
            let origin = judge(trial, &[&dontcache[..], more].concat());
            (origin.verdict, origin.device_share)
        };
        assert_eq!(verdict(&trial(FILE, 0), &[]), (Verdict::Device, Some(1.0)));
        let warm = [("cold", "false")];
        assert_eq!(verdict(&trial(0, FILE), &warm), (Verdict::Cache, Some(0.0)));
        assert_eq!(verdict(&trial(FILE / 2, FILE / 2), &[]), (Verdict::Mixed, Some(0.5)));
        // Nobody accounts for the bytes; read-ahead that hides what was there before.
        assert_eq!(verdict(&trial(0, 0), &[]).0, Verdict::Unknown);
        let random = [("access", "random-read")];
        assert_eq!(verdict(&trial(FILE, FILE / 2), &random).0, Verdict::Unknown);
    }

    /// A FUSE mount that mirrors files in memory was "unknown", though their pages can be counted.
    #[test]
    fn pages_below_a_program_that_mirrors_the_files_are_evidence() {
        use crate::measurement::evidence::Mirrored;
        let mirror = |resident, device, reread| {
            let trial = with(|e| {
                e.filesystem = "fuse".into();
                e.process_read_bytes = Some(0);
                e.process_io_reliable = false;
                e.device_read_bytes = Some(device);
                e.reread_bytes = Some(reread);
                e.mirrored = Some(Mirrored {
                    directories: vec!["/srv/x".into()],
                    resident_before_bytes: resident,
                });
            });
            judge(&trial, &[BUFFERED]).verdict
        };
        assert_eq!(mirror(Some(FILE), 0, 0), Verdict::Cache);
        assert_eq!(mirror(Some(0), FILE, 0), Verdict::Device);
        // Sectors that others may have had read, pages that may have come twice, none counted.
        assert_eq!(mirror(Some(FILE), FILE, 0), Verdict::Unknown);
        assert_eq!(mirror(Some(0), 3 * FILE, 0), Verdict::Unknown);
        assert_eq!(mirror(Some(0), FILE, FILE / 2), Verdict::Unknown);
        assert_eq!(mirror(Some(FILE / 2), FILE, 0), Verdict::Unknown);
        assert_eq!(mirror(None, FILE, 0), Verdict::Unknown);
    }
}
