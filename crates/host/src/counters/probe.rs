//! What the kernel had counted at one instant, for the evidence on where bytes came from.
//!
//! Two snapshots, just before the streams are let go and just after the last has stopped, tell
//! exactly what sampled rows tell to within a row.

use super::diskstats;
use super::mountstats::{mount, mounted_again};
use super::nfs_server::NfsdThreads;
use super::process::io;
use super::zfs::Pools;
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::Snapshot;
use facts::inventory::{CachingLayer, LayerReads};

/// The files that evidence is read from, kept open.
#[derive(Debug)]
pub struct Probe {
    io: Option<Reread>,
    diskstats: Option<Reread>,
    mountstats: Option<Reread>,
    /// Points of network file systems that are counted at another point.
    again: Vec<String>,
    devices: Vec<String>,
    leaves: Vec<String>,
    layers: Vec<CachingLayer>,
    server: Option<(NfsdThreads, Vec<String>)>,
    pools: Option<Pools>,
}

impl Probe {
    /// Opens what can be opened. `devices` are those that the file systems lie on directly: their
    /// counts are added up, so a partition and its disk must not both be among them.
    pub fn new(host: &Host, worker_pid: u32, devices: &[String]) -> Probe {
        Probe {
            io: Reread::open(host, format!("/proc/{worker_pid}/io")).ok(),
            diskstats: Reread::open(host, "/proc/diskstats").ok(),
            mountstats: Reread::open(host, "/proc/self/mountstats").ok(),
            again: mounted_again(&host.read("/proc/self/mountinfo").unwrap_or_default()),
            devices: devices.to_vec(),
            leaves: Vec::new(),
            layers: Vec::new(),
            server: None,
            pools: None,
        }
    }

    /// Counts as well what the disks at the bottom of the devices do; nothing where there are none.
    #[must_use]
    pub fn with_leaves(mut self, leaves: &[String]) -> Probe {
        self.leaves = leaves.to_vec();
        self
    }

    /// Counts as well what is read of each layer below the devices that keeps on one device what
    /// another holds, and of those devices.
    #[must_use]
    pub fn with_layers(mut self, layers: &[CachingLayer]) -> Probe {
        self.layers = layers.to_vec();
        self
    }

    /// Counts as well what this machine's own NFS server does, which serves from `devices`.
    #[must_use]
    pub fn with_server(mut self, host: &Host, devices: &[String]) -> Probe {
        self.server = NfsdThreads::open(host).map(|threads| (threads, devices.to_vec()));
        self
    }

    /// Counts as well what ZFS does for these datasets; nothing where there are none.
    #[must_use]
    pub fn with_datasets(mut self, host: &Host, datasets: &[String]) -> Probe {
        self.pools = if datasets.is_empty() { None } else { Pools::open(host, datasets) };
        self
    }

    /// Reads all counts now. The process must not have been waited for yet.
    pub fn take(&mut self) -> Snapshot {
        let process = self.io.as_mut().and_then(Reread::read).and_then(io);
        let server = self.server.as_mut();
        let (threads, serves) = server.map_or((None, None), |(threads, devices)| {
            (threads.io(), devices_of(devices, self.diskstats.as_mut()))
        });
        let devices = devices_of(&self.devices, self.diskstats.as_mut());
        let leaves = devices_of(&self.leaves, self.diskstats.as_mut());
        let layers = self.layers();
        let sent = self.mountstats.as_mut().and_then(Reread::read);
        let remote = sent.and_then(|text| nfs_read_bytes(text, &self.again));
        Snapshot {
            process_read_bytes: process.map(|io| io.read_bytes),
            process_write_bytes: process.map(|io| io.write_bytes),
            device_read_bytes: devices.map(|(read, _)| read),
            device_write_bytes: devices.map(|(_, write)| write),
            leaf_read_bytes: leaves.map(|(read, _)| read),
            leaf_write_bytes: leaves.map(|(_, write)| write),
            remote_read_bytes: remote,
            server_read_bytes: threads.map(|io| io.read_bytes),
            server_device_read_bytes: serves.map(|(read, _)| read),
            pool: self.pools.as_mut().and_then(Pools::take),
            layers,
        }
    }

    /// What was read of each layer, at one instant for all.
    fn layers(&mut self) -> Vec<LayerReads> {
        if self.layers.is_empty() {
            return Vec::new();
        }
        let text = self.diskstats.as_mut().and_then(Reread::read).unwrap_or_default();
        let read = |names: &[String]| device_bytes(text, names).map(|(read, _)| read);
        let of = |layer: &CachingLayer| LayerReads {
            given_bytes: read(std::slice::from_ref(&layer.name)),
            cache_bytes: read(&layer.cache),
            origin_bytes: read(&layer.origin),
        };
        self.layers.iter().map(of).collect()
    }
}

fn devices_of(devices: &[String], diskstats: Option<&mut Reread>) -> Option<(u64, u64)> {
    device_bytes(diskstats?.read()?, devices)
}

/// Bytes read and written by `devices` together; `None` unless /proc/diskstats has every one.
pub fn device_bytes(text: &[u8], devices: &[String]) -> Option<(u64, u64)> {
    let (mut read, mut written) = (0u64, 0u64);
    let (mut readers, mut writers) = (0, 0);
    diskstats::parse(text, devices, &mut |_, field, value| {
        match diskstats::DISKSTATS.fields[field].name {
            "read_bytes" => (read, readers) = (read.saturating_add(value), readers + 1),
            "write_bytes" => (written, writers) = (written.saturating_add(value), writers + 1),
            _ => {}
        };
    });
    let complete = readers == devices.len() && writers == devices.len() && !devices.is_empty();
    complete.then_some((read, written))
}

/// Bytes that NFS servers sent for reading: the fifth number of each `bytes:` line of
/// /proc/self/mountstats (nfs_iostat.h: NORMALREAD, NORMALWRITTEN, DIRECTREAD, DIRECTWRITTEN,
/// SERVERREAD), but not at the points `again`, whose file systems are counted at others; `None`
/// when nothing is mounted by NFS.
pub fn nfs_read_bytes(text: &[u8], again: &[String]) -> Option<u64> {
    use super::text::{lines, number, words};
    let mut counted = true;
    let of_mounts = lines(text).filter_map(|line| {
        if let Some(point) = mount(line) {
            counted = again.iter().all(|known| known.as_bytes() != point);
        }
        if !counted {
            return None;
        }
        let mut words = words(line);
        (words.next()? == b"bytes:").then(|| words.nth(4).and_then(number))?
    });
    of_mounts.reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISKSTATS: &[u8] = include_bytes!("../../../../tests/fixtures/proc/diskstats");
    const MOUNTSTATS: &[u8] = include_bytes!("../../../../tests/fixtures/proc/mountstats");

    #[test]
    fn devices_are_added_up_and_one_that_is_missing_spoils_the_sum() {
        let vda = device_bytes(DISKSTATS, &["vda".into()]).unwrap();
        assert_eq!(vda, (7_488_402 * 512, 12_492_608 * 512));
        assert_eq!(device_bytes(DISKSTATS, &["vda".into(), "loop0".into()]), Some(vda));
        assert_eq!(device_bytes(DISKSTATS, &["vda".into(), "gone".into()]), None);
        assert_eq!(device_bytes(DISKSTATS, &[]), None);
    }

    #[test]
    fn what_servers_sent_is_not_what_programs_read() {
        assert_eq!(nfs_read_bytes(MOUNTSTATS, &[]), Some(104_857_600 + 4096));
        assert_eq!(nfs_read_bytes(b"device /dev/vda mounted on / with fstype ext4\n", &[]), None);
        let twice = b"device s:/x mounted on /a with fstype nfs4 statvers=1.1\n\
            \tbytes:\t0 0 0 0 700 0 0 0\n\n\
            device s:/x mounted on /b with fstype nfs4 statvers=1.1\n\
            \tbytes:\t0 0 0 0 700 0 0 0\n\n";
        assert_eq!(nfs_read_bytes(twice, &["/b".into()]), Some(700));
        assert_eq!(nfs_read_bytes(twice, &[]), Some(1400));
    }

    #[test]
    fn a_file_cut_off_anywhere_is_read_without_panic() {
        for end in 0..DISKSTATS.len() {
            device_bytes(&DISKSTATS[..end], &["vda".into()]);
        }
        for end in 0..MOUNTSTATS.len() {
            nfs_read_bytes(&MOUNTSTATS[..end], &[]);
        }
    }

    #[test]
    fn a_direct_read_shows_in_the_process_and_in_the_devices_below() {
        use std::io::{Read, Write};
        use std::os::unix::fs::OpenOptionsExt;
        const BYTES: usize = 4 << 20;
        let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let target = crate::inventory::target(&Host::live(), here).unwrap();
        let mut file = tempfile::NamedTempFile::new_in(here).unwrap();
        file.write_all(&vec![7; BYTES]).unwrap();
        file.as_file().sync_all().unwrap();
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let opened = std::fs::OpenOptions::new().read(true).custom_flags(direct).open(file.path());
        let (Ok(mut opened), true) = (opened, target.process_io_reliable) else {
            return; // Such a file system proves nothing here, either way.
        };
        let mut probe = Probe::new(&Host::live(), std::process::id(), &target.on);
        let before = probe.take();
        let mut buffer = vec![0; 2 * BYTES];
        let aligned = buffer.as_ptr().align_offset(4096);
        opened.read_exact(&mut buffer[aligned..aligned + BYTES]).unwrap();
        let added = probe.take().since(&before);
        assert!(added.process_read_bytes.unwrap() >= BYTES as u64, "{added:?}");
        assert!(added.device_read_bytes.unwrap() >= BYTES as u64, "{added:?} on {:?}", target.on);
    }

    #[test]
    fn our_own_writes_show_in_the_difference_of_two_snapshots() {
        use std::io::Write;
        let mut probe = Probe::new(&Host::live(), std::process::id(), &[]);
        let before = probe.take();
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        let added = probe.take().since(&before);
        assert!(added.process_write_bytes.unwrap() >= 1 << 20);
        assert_eq!(added.device_read_bytes, None, "no device was named");
        assert_eq!(before.since(&probe.take()).process_write_bytes, None, "never a wrap");
    }
}
