//! (pure) What the machine says about the bytes of a trial, before anybody judges it.

use serde::{Deserialize, Serialize};

mod pool;

pub use pool::ZfsPoolEvidence;

use super::Amount;
use facts::counters::Snapshot;
use facts::counters::bounds::Bound;
use facts::inventory::{CachingLayer, Ceiling, Device, Leaf, Matter, Target, caching_layers};

/// What the machine says about the bytes of a trial. Device counts cover the same time as the
/// process's: from just before the streams are let go to just after the last has stopped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// What the load did, whole trial, as the load itself counts it.
    pub delivered: Amount,
    /// `read_bytes` of /proc/PID/io of the worker process.
    pub process_read_bytes: Option<u64>,
    /// `write_bytes` of /proc/PID/io of the worker process.
    pub process_write_bytes: Option<u64>,
    /// Sectors read by the devices under the target, in bytes.
    pub device_read_bytes: Option<u64>,
    /// Sectors written by the devices under the target, in bytes.
    pub device_write_bytes: Option<u64>,
    /// Those devices' kernel names.
    pub devices: Vec<String>,
    /// The file system's type, as in /proc/self/mountinfo; several joined with `+`.
    pub filesystem: String,
    /// Bytes of the files in memory just before the streams were let go.
    pub resident_before_bytes: Option<u64>,
    /// Bytes of the files in all.
    pub file_bytes: u64,
    /// What no cache-free figure can exceed, bytes per second, and why.
    pub ceiling: Option<Ceiling>,
    /// What TCP can carry between the two ends of a trial over a network, payload bytes per second,
    /// and why, where an interface on the way says so.
    pub wire: Option<Ceiling>,
    /// Whether `process_read_bytes` is evidence here: reads submit their bios in the reader's
    /// context. Not so on FUSE, ZFS and network file systems; `false` when nobody knows.
    pub process_io_reliable: bool,
    /// Whether the bytes come over a wire: a network file system, or a network block device.
    pub remote: bool,
    /// Whether the files are memory, as on tmpfs.
    pub memory: bool,
    /// Bytes that a network file system received from its server for reading (NFS mountstats).
    pub remote_read_bytes: Option<u64>,
    /// What lies behind an NFS mount, where this machine itself serves it.
    pub served: Option<NfsServerEvidence>,
    /// What ZFS says, where the files lie on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<ZfsPoolEvidence>,
    /// What a program mirrors through FUSE, where that is known; `devices` and what lies below are
    /// of the mirrored directories then.
    pub mirrored: Option<Mirrored>,
    /// Of `delivered`, bytes that the load had already read in this trial and had not dropped from
    /// memory since, where the engine knows; `Some(0)` when no block was read twice. Where
    /// `file_bytes` is 0, as of loads that make all their files themselves, bytes that the load had
    /// written before it read them count as well.
    pub reread_bytes: Option<u64>,
    /// The disks at the bottom of `devices`; the same names where a device is a disk.
    pub disks: Vec<String>,
    /// Whether those disks turn; `None` when that is not known, or they are of both kinds. On
    /// virtual disks and RAID cards it is what the kernel says, which means little.
    pub rotational: Option<bool>,
    /// Disks that hold the files which loop devices among `devices` show.
    pub backing: Vec<String>,
    /// The hardware at the bottom of `devices`, as far as it can be seen.
    pub below: Below,
    /// Limits that were set for the load before it began, with the files that say so.
    pub bounds: Vec<Bound>,
    /// CPUs that the load might run on; empty when that is not known.
    pub allowed_cpus: Vec<u32>,
    /// What one core copies from memory to memory, bytes per second, where it was measured.
    pub copy_bytes_per_s: Option<f64>,
    /// What memory delivers to all cores of the machine, bytes per second, where it was measured.
    pub memory_bytes_per_s: Option<f64>,
}

/// What lies at the very bottom of the devices of a trial, through partitions, arrays and the files
/// of loop devices, and what it moved. All of it is empty where the devices are the bottom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Below {
    /// Kernel names of the disks there.
    pub leaves: Vec<String>,
    /// Sectors that these read in the trial, in bytes.
    pub read_bytes: Option<u64>,
    /// Sectors that these wrote in the trial, in bytes.
    pub write_bytes: Option<u64>,
    /// Devices on the way whose reads go through this machine's memory: loop devices through its
    /// page cache, volumes of ZFS through the ARC.
    pub caches: Vec<String>,
    /// Of these the volumes of ZFS.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<String>,
    /// Of these, those whose blocks may take less room than they hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packed: Vec<String>,
    /// The pools that they are of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<String>,
    /// Devices there that are this machine's memory.
    pub memory: Vec<String>,
    /// Loop devices that show files in memory; these are their own bottom.
    pub in_memory: Vec<String>,
    /// Why something there cannot be seen, as a clause.
    pub unseen: Option<String>,
    /// Layers on the way that keep on one device what another holds.
    pub layers: Vec<CachingLayer>,
}

impl Below {
    /// The memory that lies between the devices and the disks, in words; empty without such.
    pub fn memory_between(&self) -> String {
        let (volumes, loops): (Vec<_>, Vec<_>) =
            self.caches.iter().cloned().partition(|name| self.volumes.contains(name));
        let of = |what: &str, names: Vec<String>| {
            (!names.is_empty()).then(|| format!("{what} behind {}", names.join(" and ")))
        };
        let each = [
            of("the page cache that holds the file", loops),
            of("the memory of ZFS (ARC)", volumes),
        ];
        each.into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }

    /// Tells which of the caches are volumes of ZFS.
    fn name_volumes<'a>(&mut self, devices: impl Iterator<Item = &'a Device>) {
        for device in devices.filter(|device| device.is_volume_of_zfs()) {
            let name = &device.name;
            if !self.caches.contains(name) || self.volumes.contains(name) {
                continue;
            }
            self.volumes.push(name.clone());
            let pool = device.backing.as_ref().and_then(|backing| backing.file.split('/').next());
            let pool = pool.map(str::to_owned).filter(|pool| !self.pools.contains(pool));
            self.pools.extend(pool);
            if device.backing.as_ref().is_none_or(|backing| backing.packed) {
                self.packed.push(name.clone());
            }
        }
    }

    /// Of these leaves and layers of `devices`.
    fn of(leaves: &[Leaf], layers: Vec<CachingLayer>, devices: &[String]) -> Below {
        let mut below = Below { layers, ..Below::default() };
        let mut remote = Vec::new();
        for leaf in leaves {
            match &leaf.matter {
                Matter::Memory => below.memory.push(leaf.name.clone()),
                Matter::FileInMemory => below.in_memory.push(leaf.name.clone()),
                Matter::Unseen(why) if below.unseen.is_none() => below.unseen = Some(why.clone()),
                Matter::Remote => remote.push(leaf.name.clone()),
                Matter::Unseen(_) | Matter::Disk => {}
            }
            for cache in &leaf.caches {
                if !below.caches.contains(cache) {
                    below.caches.push(cache.clone());
                }
            }
        }
        // A part that is memory, or another machine's, makes nothing sure of the whole; but what a
        // cache keeps is told from what it keeps it of.
        let parts = [
            (below.memory.first(), below.memory.len() < leaves.len(), "memory"),
            (remote.first(), !are_remote(leaves), "another machine's"),
        ];
        let part = parts.into_iter().find_map(|(first, part, what)| {
            let name = first.filter(|_| part)?;
            Some(format!("a part of what lies below is {what}: {name}"))
        });
        below.unseen = below.unseen.or(part);
        let names: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
        let same = names.len() == devices.len() && names.iter().all(|it| devices.contains(it));
        if !same && below.unseen.is_none() {
            below.leaves = names;
        }
        below
    }
}

/// The server's side of a trial over NFS, where it is on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NfsServerEvidence {
    /// What was served, as this machine's own paths.
    pub directories: Vec<String>,
    /// The block devices that they lie on directly, by their kernel names.
    pub devices: Vec<String>,
    /// What the server's threads had devices read in the trial, by their own account, bytes.
    pub read_bytes: Option<u64>,
    /// Sectors that `devices` read in the trial, in bytes.
    pub device_read_bytes: Option<u64>,
}

/// Directories whose files a program shows through FUSE as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mirrored {
    /// Which.
    pub directories: Vec<String>,
    /// Bytes of the trial's files there that were in memory just before the streams were let go.
    pub resident_before_bytes: Option<u64>,
}

impl Evidence {
    /// What these devices, with all that lies below them, lie on at the very bottom; for trials on
    /// bare devices.
    #[must_use]
    pub fn lying_on(self, devices: &[facts::inventory::Device], on: &[String]) -> Evidence {
        let leaves = facts::inventory::leaves(devices, on);
        let remote = self.remote || are_remote(&leaves);
        Evidence { below: Below::of(&leaves, caching_layers(devices, on), on), remote, ..self }
    }

    /// What is known beforehand of a trial in directories on `targets`; counts are still missing.
    pub fn on(targets: &[Target]) -> Evidence {
        let distinct = |of: &dyn Fn(&Target) -> Vec<String>| {
            let mut names: Vec<String> = Vec::new();
            for name in targets.iter().flat_map(of) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names
        };
        let filesystems = distinct(&|target| {
            let mut names = vec![target.filesystem.clone(), target.holding_filesystem.clone()];
            names.retain(|name| !name.is_empty());
            names
        });
        let all = |is: &dyn Fn(&Target) -> bool| !targets.is_empty() && targets.iter().all(is);
        let some_remote = targets.iter().any(|target| target.remote && target.on.is_empty());
        // Where some directories lie on no block device, sectors say nothing about those.
        let on_devices = targets.iter().all(|target| !target.on.is_empty());
        let mut leaves: Vec<Leaf> = Vec::new();
        for leaf in targets.iter().flat_map(Target::leaves) {
            match leaves.iter_mut().find(|known| known.name == leaf.name) {
                Some(known) => {
                    known.caches.extend(leaf.caches);
                    known.keeps &= leaf.keeps;
                }
                None => leaves.push(leaf),
            }
        }
        let mut layers: Vec<CachingLayer> = Vec::new();
        for layer in targets.iter().flat_map(|of| caching_layers(&of.devices, &of.on)) {
            if layers.iter().all(|known| known.name != layer.name) {
                layers.push(layer);
            }
        }
        let devices = distinct(&|target| target.on.clone());
        let mut below = match on_devices {
            true => Below::of(&leaves, layers, &devices),
            false => Below::default(),
        };
        below.name_volumes(targets.iter().flat_map(|target| &target.devices));
        Evidence {
            below,
            devices: if on_devices { devices } else { Vec::new() },
            disks: if on_devices { distinct(&|target| target.disks.clone()) } else { Vec::new() },
            filesystem: filesystems.join("+"),
            ceiling: ceiling(targets),
            process_io_reliable: all(&|target| target.process_io_reliable) && !some_remote,
            remote: all(&|target| target.remote) || (on_devices && are_remote(&leaves)),
            memory: all(&|target| target.memory),
            rotational: rotational(targets),
            backing: if on_devices { distinct(&backing) } else { Vec::new() },
            pool: ZfsPoolEvidence::from_targets(targets),
            ..Evidence::default()
        }
    }

    /// What is known of the server's side: `behind` the directories lie these. Of none, nothing.
    #[must_use]
    pub fn served_by(self, behind: &[Target]) -> Evidence {
        if behind.is_empty() {
            return self;
        }
        let there = Evidence::on(behind);
        let directories = behind.iter().map(|target| target.directory.clone()).collect();
        let served = NfsServerEvidence {
            directories,
            devices: there.devices,
            ..NfsServerEvidence::default()
        };
        Evidence {
            served: Some(served),
            disks: there.disks,
            ceiling: there.ceiling,
            rotational: there.rotational,
            backing: there.backing,
            below: there.below,
            ..self
        }
    }

    /// What is known where a program mirrors the files of `there`. Of none, nothing.
    #[must_use]
    pub fn mirrored_from(self, there: &[Target]) -> Evidence {
        if there.is_empty() {
            return self;
        }
        let directories = there.iter().map(|target| target.directory.clone()).collect();
        let there = Evidence::on(there);
        Evidence {
            // Where no device is known, nothing tells what the program's own machine has in memory.
            remote: self.remote || (there.remote && !there.devices.is_empty()),
            mirrored: Some(Mirrored { directories, ..Mirrored::default() }),
            devices: there.devices,
            disks: there.disks,
            ceiling: there.ceiling,
            rotational: there.rotational,
            backing: there.backing,
            below: there.below,
            ..self
        }
    }

    /// Whether the files, or parts of them, are this machine's memory, also where that is shown as
    /// a disk.
    pub fn is_in_memory(&self) -> bool {
        self.memory || !self.below.memory.is_empty()
    }

    /// The devices that tell whether others are still at work: those under the directories, and
    /// the disks below them where these are others. Each stands once in its list.
    pub fn levels(&self) -> Vec<Vec<String>> {
        let own = match &self.served {
            Some(served) if self.devices.is_empty() => &served.devices,
            _ => &self.devices,
        };
        let mut levels = vec![self.below.leaves.clone(), own.clone()];
        levels.retain(|level| !level.is_empty());
        levels
    }

    /// Whether the devices gave more than what lies below them moved, with a page cache between.
    pub fn is_cached_below(&self) -> bool {
        let (Some(given), Some(moved)) = (self.device_read_bytes, self.below.read_bytes) else {
            return false;
        };
        !self.below.caches.is_empty() && (moved as f64) < 0.95 * given as f64
    }

    /// Takes what was `added` between just before the streams were let go and just after the last
    /// had stopped.
    pub fn count(&mut self, added: &Snapshot) {
        self.process_read_bytes = added.process_read_bytes;
        self.process_write_bytes = added.process_write_bytes;
        self.device_read_bytes = added.device_read_bytes;
        self.device_write_bytes = added.device_write_bytes;
        self.below.read_bytes = added.leaf_read_bytes;
        self.below.write_bytes = added.leaf_write_bytes;
        for (layer, reads) in self.below.layers.iter_mut().zip(&added.layers) {
            layer.reads = *reads;
        }
        self.remote_read_bytes = added.remote_read_bytes;
        if let Some(pool) = &mut self.pool {
            pool.counts = added.pool;
        }
        if let Some(served) = &mut self.served {
            served.read_bytes = added.server_read_bytes;
            served.device_read_bytes = added.server_device_read_bytes;
        }
    }
}

/// Whether all of what lies at the bottom is another machine's, but what layers on the way keep of
/// it on this one.
fn are_remote(leaves: &[Leaf]) -> bool {
    let is_remote = |leaf: &Leaf| leaf.matter == Matter::Remote;
    leaves.iter().any(is_remote) && leaves.iter().all(|leaf| is_remote(leaf) != leaf.keeps)
}

/// Devices that hold the files of a target's loop devices.
fn backing(target: &Target) -> Vec<String> {
    let files = target.devices.iter().filter_map(|device| device.backing.as_ref());
    files.flat_map(|backing| backing.devices.clone()).collect()
}

/// Whether the disks turn, when all are of one kind.
fn rotational(targets: &[Target]) -> Option<bool> {
    let disks = targets.iter().flat_map(|target| {
        let of = |name: &String| target.devices.iter().find(|device| device.name == *name);
        target.disks.iter().map(move |name| of(name).and_then(|device| device.rotational))
    });
    let kinds: Vec<Option<bool>> = disks.collect();
    let first = kinds.first().copied().flatten();
    first.filter(|_| kinds.iter().all(|kind| *kind == first))
}

/// The ceilings of targets that share no disk, added up; one ceiling for targets on the same
/// disks; `None` when they share some, or one has none.
fn ceiling(targets: &[Target]) -> Option<Ceiling> {
    let (first, others) = targets.split_first()?;
    let mut sum = first.ceiling.clone()?;
    let mut counted = vec![first];
    for target in others {
        if counted.iter().any(|known| known.disks == target.disks) {
            continue;
        }
        let shared = |disk: &String| counted.iter().any(|known| known.disks.contains(disk));
        let more = target.ceiling.as_ref().filter(|_| !target.disks.iter().any(shared))?;
        let plus = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        sum.bytes_per_s = plus(sum.bytes_per_s, more.bytes_per_s);
        sum.ops_per_s = plus(sum.ops_per_s, more.ops_per_s);
        sum.why = format!("{} and {}", sum.why, more.why);
        counted.push(target);
    }
    Some(sum)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn target(filesystem: &str, disks: &[&str], limit: Option<f64>) -> Target {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Target {
            directory: "/srv".into(),
            filesystem: filesystem.into(),
            holding_filesystem: filesystem.into(),
            mount_point: "/".into(),
            mount_options: "rw".into(),
            source: "x".into(),
            on: words(disks),
            disks: words(disks),
            devices: Vec::new(),
            total_bytes: None,
            available_bytes: None,
            read_only: false,
            process_io_reliable: filesystem == "ext4",
            remote: filesystem == "nfs4",
            memory: filesystem == "tmpfs",
            ceiling: limit.map(|limit| Ceiling {
                bytes_per_s: Some(limit),
                why: disks.join(" "),
                ..Ceiling::default()
            }),
            pool: None,
        }
    }

    #[test]
    fn directories_on_different_disks_add_up_and_on_one_disk_they_do_not() {
        let (a, b) = (target("ext4", &["sda"], Some(1.0)), target("ext4", &["sdb"], Some(2.0)));
        let evidence = Evidence::on(&[a.clone(), b.clone()]);
        assert_eq!(evidence.devices, ["sda", "sdb"]);
        assert_eq!(evidence.ceiling.unwrap().bytes_per_s, Some(3.0));
        let same = Evidence::on(&[a.clone(), a.clone()]);
        assert_eq!((same.devices.len(), same.ceiling.unwrap().bytes_per_s), (1, Some(1.0)));
        let both = target("ext4", &["sda", "sdb"], Some(3.0));
        assert_eq!(Evidence::on(&[a.clone(), both]).ceiling, None, "sda would count twice");
        assert_eq!(Evidence::on(&[a, target("ext4", &["sdc"], None)]).ceiling, None);
    }

    #[test]
    fn one_directory_of_which_nothing_is_sure_makes_the_evidence_unsure() {
        let (disk, nfs) = (target("ext4", &["sda"], None), target("nfs4", &[], None));
        let evidence = Evidence::on(&[disk.clone(), nfs]);
        assert_eq!(evidence.filesystem, "ext4+nfs4");
        assert!(!evidence.process_io_reliable && !evidence.remote && evidence.devices.is_empty());
        let half = Evidence::on(&[disk, target("tmpfs", &[], None)]);
        assert!(!half.memory && !half.process_io_reliable);
        let none = Evidence::on(&[]);
        assert!(!none.memory && !none.remote && !none.process_io_reliable);
    }

    /// bindfs over ext4 on iSCSI, and a bare encrypted volume on nbd: the bytes came over a wire,
    /// and were "device".
    #[test]
    fn a_disk_of_another_machine_is_remote_below_a_mirror_and_a_bare_volume_naive_device() {
        use facts::inventory::{Device, DeviceKind};
        let over = |transport: &str| {
            let mut disk = Device::bare("sdx", DeviceKind::Disk);
            transport.clone_into(&mut disk.transport);
            let mut volume = Device::bare("dm-0", DeviceKind::Stacked);
            volume.below = vec!["sdx".to_owned()];
            [volume, disk]
        };
        let mirror = |transport: &str| {
            let mut there = target("ext4", &["sdx"], None);
            there.devices = over(transport)[1..].to_vec();
            Evidence::default().mirrored_from(&[there]).remote
        };
        assert!(mirror("network") && !mirror("sata"));
        assert!(!Evidence::default().mirrored_from(&[target("nfs4", &[], None)]).remote);
        let on = ["dm-0".to_owned()];
        let bare = |transport: &str| Evidence::default().lying_on(&over(transport), &on).remote;
        assert!(bare("network") && !bare("sata"));
        let known = Evidence { remote: true, ..Evidence::default() };
        assert!(known.lying_on(&over("sata"), &on).remote, "what was known stays");
    }

    /// What of the hardware is known of several directories is known of all of them, or of none.
    #[test]
    fn leaves_are_told_where_they_are_not_the_devices_themselves() {
        use facts::inventory::{Device, DeviceKind};
        let below = |made: &[(&str, DeviceKind, &[&str], &str)]| {
            let mut here = target("ext4", &[made[0].0], None);
            here.devices = made
                .iter()
                .map(|(name, kind, below, transport)| Device {
                    below: below.iter().map(|name| (*name).to_owned()).collect(),
                    transport: (*transport).to_owned(),
                    ..Device::bare(name, *kind)
                })
                .collect();
            Evidence::on(&[here]).below
        };
        assert_eq!(below(&[("sda", DeviceKind::Disk, &[], "sata")]), Below::default());
        let part = below(&[
            ("sda1", DeviceKind::Partition, &["sda"], "sata"),
            ("sda", DeviceKind::Disk, &[], "sata"),
        ]);
        assert_eq!(part, Below { leaves: vec!["sda".into()], ..Below::default() });
        let memory = below(&[("zram0", DeviceKind::Disk, &[], "memory")]);
        assert_eq!((memory.memory.join(" "), memory.unseen), ("zram0".to_owned(), None));
        let half = below(&[
            ("md0", DeviceKind::Stacked, &["zram0", "sda"], "md"),
            ("zram0", DeviceKind::Disk, &[], "memory"),
            ("sda", DeviceKind::Disk, &[], "sata"),
        ]);
        assert!(half.unseen.is_some_and(|why| why.contains("zram0")) && half.leaves.is_empty());
        let shown = below(&[("loop0", DeviceKind::Loop, &[], "loop")]);
        assert!(shown.unseen.is_some(), "which file it shows is not known");
    }

    #[test]
    fn what_was_counted_is_taken_over() {
        let mut evidence = Evidence::default();
        let added = Snapshot { process_read_bytes: Some(7), ..Snapshot::default() };
        evidence.count(&added);
        assert_eq!((evidence.process_read_bytes, evidence.device_read_bytes), (Some(7), None));
    }
}
