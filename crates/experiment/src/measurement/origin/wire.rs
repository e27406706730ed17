//! (pure) Verdicts on network file systems.

use super::facts::OriginFacts;
use super::{AGREEMENT, Origin, Verdict, unknown, verdict};
use crate::knob::{self, Access};
use base::value::{bytes, percent};

impl OriginFacts<'_> {
    /// On a network file system: what the server sent stands for S.
    pub fn over_a_wire(&self) -> Origin {
        let filesystem = &self.evidence.filesystem;
        let past_our_cache = self.direct() || (self.none_resident() && self.each_once());
        match self.evidence.remote_read_bytes {
            Some(sent) if self.covers(sent) && past_our_cache => self.sent(sent),
            Some(sent) if self.covers(sent) && self.none_resident() => unknown(format!(
                "the server sent {} for {} delivered, but blocks were read again, which may have \
                 been in this machine's memory by then: what others had it send can hide that",
                bytes(sent as f64),
                bytes(self.delivered())
            )),
            Some(sent) if self.share(sent) <= AGREEMENT && self.all_resident() => {
                let reason = "all pages were in this machine's memory, and the server sent nothing";
                verdict(Verdict::Cache, Some(0.0), reason)
            }
            Some(sent) if !self.covers(sent) && self.share(sent) > AGREEMENT => {
                let reason = format!(
                    "the server sent at most {} of the bytes, the rest was in this machine's \
                     memory",
                    percent(self.share(sent))
                );
                verdict(Verdict::Mixed, None, reason)
            }
            Some(sent) => unknown(format!(
                "the server sent {} of {} delivered, which does not agree with what was in memory \
                 before",
                bytes(sent as f64),
                bytes(self.delivered())
            )),
            // Without the client's counter only reads that cannot have hit are sure.
            None if past_our_cache => verdict(
                Verdict::Remote,
                None,
                format!("{filesystem} is another machine's; what that had in memory is unknown"),
            ),
            None => unknown(format!(
                "{filesystem} has no count of what came over the wire, and this machine's memory \
                 may have served"
            )),
        }
    }

    /// What came over the wire: the server's counters, where they are this machine's, tell whether
    /// it had that from its disks. Its threads submit their reads themselves, as a local reader
    /// does, and the devices must agree.
    fn sent(&self, sent: u64) -> Origin {
        let told = format!("the server sent {}", bytes(sent as f64));
        let served = self.evidence.served.as_ref();
        let counts = served.and_then(|it| Some((it, it.read_bytes?, it.device_read_bytes?)));
        let Some((served, threads, sectors)) = counts else {
            let reason = format!("{told}; what it had in memory is unknown");
            return verdict(Verdict::Remote, None, reason);
        };
        let on = served.devices.join(" + ");
        let [read, moved] = [threads, sectors].map(|count| bytes(count as f64));
        // The threads serve all clients, and what one of these had read may hide what another got
        // from memory.
        if let (true, Some(excess)) = (self.covers(threads), self.excess(threads)) {
            return unknown(format!(
                "{told}, which is this machine, but its threads had {on} read {read}, {} more than \
                 was delivered: other clients had it read, which can hide what came from memory",
                percent(excess)
            ));
        }
        if self.covers(threads) && self.covers(sectors) {
            let reason = format!(
                "{told}, which is this machine: its threads had {on} read {read}, and that read \
                 {moved}"
            );
            return verdict(Verdict::Device, Some(1.0), reason);
        }
        let share = self.share(threads).min(self.share(sectors)).min(1.0);
        let reason = format!(
            "{told}, which is this machine, and had {} of it in its memory: its threads had {on} \
             read {read}",
            percent(1.0 - share)
        );
        verdict(Verdict::Remote, Some(share), reason)
    }

    /// Whether no byte was read twice.
    pub fn each_once(&self) -> bool {
        match self.evidence.reread_bytes {
            Some(reread) => self.share(reread) <= AGREEMENT,
            None => {
                self.settings.get(knob::ACCESS) == Some(Access::Read)
                    && self.delivered() <= (1.0 + AGREEMENT) * self.evidence.file_bytes as f64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{BUFFERED, FILE, judge, with};
    use super::*;
    use crate::measurement::evidence::NfsServerEvidence;
    use ::facts::inventory::Ceiling;

    /// A server's threads read for another client all the while: their count covered what ours got
    /// from the server's memory, and it was "device, share 1.0".
    #[test]
    fn what_a_server_reads_for_other_clients_proves_nothing_of_ours_naive_device() {
        let served = |threads: u64| {
            let trial = with(|e| {
                e.remote = true;
                e.filesystem = "nfs4".into();
                e.process_io_reliable = false;
                e.device_read_bytes = None;
                e.devices.clear();
                e.remote_read_bytes = Some(FILE);
                e.served = Some(NfsServerEvidence {
                    devices: vec!["sda".into()],
                    read_bytes: Some(threads),
                    device_read_bytes: Some(threads),
                    ..NfsServerEvidence::default()
                });
            });
            judge(&trial, &[BUFFERED])
        };
        assert_eq!(served(FILE + FILE / 20).verdict, Verdict::Device, "read-ahead");
        for threads in [FILE + FILE / 10, 2 * FILE, 30 * FILE] {
            let origin = served(threads);
            assert_eq!(origin.verdict, Verdict::Unknown, "{}", origin.reason);
            assert!(origin.reason.contains("other clients"), "{}", origin.reason);
        }
    }

    /// Files of 1 GiB were read three times at random, twice from this client's page cache, while
    /// another mount read as much: what the server sent covered it all, and it was "device".
    #[test]
    fn none_in_memory_before_proves_nothing_of_blocks_that_are_read_again_naive_device() {
        let three = |reread: Option<u64>, of_file: u64, settings: &[(&str, &str)]| {
            let trial = with(|e| {
                e.remote = true;
                e.filesystem = "nfs4".into();
                e.process_io_reliable = false;
                e.device_read_bytes = None;
                e.devices.clear();
                e.file_bytes = of_file;
                e.reread_bytes = reread;
                e.remote_read_bytes = Some(FILE);
                e.served = Some(NfsServerEvidence {
                    devices: vec!["sda".into()],
                    read_bytes: Some(FILE),
                    device_read_bytes: Some(FILE),
                    ..NfsServerEvidence::default()
                });
            });
            judge(&trial, settings)
        };
        let random = [BUFFERED, ("access", "random-read")];
        let found = three(Some(FILE / 3 * 2), FILE / 3, &random);
        assert_eq!(found.verdict, Verdict::Unknown, "{}", found.reason);
        assert!(found.reason.contains("read again"), "{}", found.reason);
        assert_eq!(three(None, FILE / 3, &random).verdict, Verdict::Unknown);
        assert_eq!(three(None, FILE / 3, &[BUFFERED]).verdict, Verdict::Unknown);
        // Each block once, dropped before it was read again, or around the page cache.
        assert_eq!(three(Some(0), FILE, &random).verdict, Verdict::Device);
        assert_eq!(three(Some(0), FILE / 3, &random).verdict, Verdict::Device);
        let direct = [("direct", "true"), ("access", "random-read")];
        assert_eq!(three(Some(FILE / 3 * 2), FILE / 3, &direct).verdict, Verdict::Device);
    }

    /// The server is this machine: what its threads had its disks read decides, and one that only
    /// looks at the sectors takes another program's reads for the server's.
    #[test]
    fn nfs_from_this_machine_s_own_disks_is_the_device_s_only_when_both_counts_say_so() {
        let nfs = |threads, sectors| {
            with(|e| {
                e.remote = true;
                e.filesystem = "nfs4".into();
                e.process_io_reliable = false;
                e.device_read_bytes = None;
                e.devices.clear();
                e.remote_read_bytes = Some(FILE);
                e.served = Some(NfsServerEvidence {
                    devices: vec!["sda".into()],
                    read_bytes: threads,
                    device_read_bytes: sectors,
                    ..NfsServerEvidence::default()
                });
            })
        };
        let found = |threads, sectors| judge(&nfs(threads, sectors), &[BUFFERED]);
        let (all, half) = (Some(FILE), Some(FILE / 2));
        assert_eq!(found(all, all).verdict, Verdict::Device);
        assert_eq!(found(all, all).device_share, Some(1.0));
        for (threads, sectors, share) in
            [(Some(0), all, Some(0.0)), (all, Some(0), Some(0.0)), (half, all, Some(0.5))]
        {
            let origin = found(threads, sectors);
            assert_eq!((origin.verdict, origin.device_share), (Verdict::Remote, share));
            assert!(origin.reason.contains("in its memory"), "{}", origin.reason);
        }
        for (threads, sectors) in [(None, all), (all, None)] {
            assert_eq!(found(threads, sectors).verdict, Verdict::Remote);
        }
        let mut cached = nfs(all, all);
        cached.evidence.remote_read_bytes = Some(0);
        cached.evidence.resident_before_bytes = all;
        assert_eq!(judge(&cached, &[BUFFERED]).verdict, Verdict::Cache);
        let mut fast = nfs(all, all);
        let why = "the link runs at 6 Gb/s".to_owned();
        fast.evidence.ceiling = Some(Ceiling { bytes_per_s: Some(1e6), why, ..Ceiling::default() });
        assert_eq!(judge(&fast, &[BUFFERED]).verdict, Verdict::DeviceCache);
    }
}
