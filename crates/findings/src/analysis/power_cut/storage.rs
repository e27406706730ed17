//! What is known of the storage that trials wrote to: the inventory of their campaign, the knobs
//! that they set, and where the load itself says that it lay.

use serde_json::Value as Json;

use super::verdict::{Disk, Ground, Storage, WriteCacheMode, Writeback};
use super::{EARLIER, EarlierCheck};
use crate::warning;
use experiment::knob::{self, Settings};
use experiment::measurement::figure_names;
use experiment::measurement::figures::rate;
use experiment::measurement::{Evidence, Record};
use facts::inventory::server::Server;
use facts::inventory::{Device, DeviceKind, Matter, OnPool, Target, leaves};

/// How often file systems commit by themselves unless told otherwise, s: ext4(5), btrfs(5), and the
/// kernel's Documentation/admin-guide/xfs.rst (xfssyncd_centisecs) and filesystems/f2fs.rst.
const COMMITS: &[(&str, f64)] =
    &[("ext3", 5.0), ("ext4", 5.0), ("btrfs", 30.0), ("xfs", 30.0), ("f2fs", 60.0)];

/// `zfs_txg_timeout` unless it was set, s: zfs(4).
const GROUP_S: f64 = 5.0;

/// Options of a mount with which no flush is sent.
const NO_BARRIERS: &[&str] =
    &["nobarrier", "barrier=0", "barrier=none", "barrier=off", "fsync_mode=nobarrier"];

/// What a campaign's inventory tells of the storage that its trials wrote to.
pub struct KnownStorage {
    server: Option<Server>,
    targets: Vec<Target>,
    guest: bool,
    checks: Vec<EarlierCheck>,
}

impl KnownStorage {
    /// What it tells of storage; nothing of what was kept in another form.
    pub fn from_inventory(inventory: &Json) -> KnownStorage {
        let server: Option<Server> =
            inventory.get("server").and_then(|it| serde_json::from_value(it.clone()).ok());
        let targets = inventory["targets"].as_array().into_iter().flatten();
        let targets = targets.filter_map(|it| serde_json::from_value(it.clone()).ok());
        let guest = server.as_ref().is_some_and(warning::is_virtual);
        let checks = inventory.get(EARLIER).cloned();
        let checks = checks.and_then(|it| serde_json::from_value(it).ok()).unwrap_or_default();
        KnownStorage { targets: targets.collect(), guest, checks, server }
    }

    /// What was found after earlier cuts of the file system that is mounted there.
    pub fn checks_of(&self, mount_point: &str) -> Vec<&EarlierCheck> {
        self.checks.iter().filter(|check| check.mount_point == mount_point).collect()
    }

    /// The storage under these trials of one load, once for each of its directories.
    pub fn storages(&self, records: &[&Record]) -> Vec<Storage> {
        let Some(first) = records.first() else { return Vec::new() };
        let settings = &first.trial.settings;
        let Some(evidence) = first.outcome.measurement().map(|it| &it.evidence) else {
            return Vec::new();
        };
        let rates = records.iter().filter_map(|it| rate(it, figure_names::DURABLE_THROUGHPUT));
        let durable = rates
            .fold(None, |most: Option<f64>, rate| Some(most.map_or(rate, |most| most.max(rate))));
        // What a plan made is not what was there when the inventory was taken.
        if settings.get(knob::DISKS).is_some() {
            return vec![self.made(settings, evidence, durable)];
        }
        let named = settings.directories();
        let of = |target: &&Target| named.contains(&target.directory);
        let mut targets: Vec<&Target> = self.targets.iter().filter(of).collect();
        if targets.is_empty() {
            targets = self.targets.iter().collect();
        }
        targets.into_iter().map(|it| self.found(it, settings, durable)).collect()
    }

    fn made(&self, settings: &Settings, evidence: &Evidence, durable: Option<f64>) -> Storage {
        let options = settings.get(knob::MOUNT_OPTIONS).unwrap_or_default();
        let ground = match evidence.is_in_memory() {
            true => Ground::Memory,
            false => self.ground(&self.devices(&[]), &[], &evidence.disks),
        };
        let filesystem = evidence.filesystem.as_str();
        let storage = self.storage(ground, (filesystem, options), settings);
        Storage { durable_bytes_per_s: durable, ..storage }
    }

    fn found(&self, target: &Target, settings: &Settings, durable: Option<f64>) -> Storage {
        let devices = self.devices(&target.devices);
        let ground = match (target.memory, target.on.is_empty()) {
            (true, _) => Ground::Memory,
            (false, true) if target.remote => Ground::Unseen(
                "what the server keeps through a power cut cannot be seen from here".to_owned(),
            ),
            (false, true) => Ground::Unseen(format!(
                "what {} lies on cannot be seen from here",
                target.filesystem
            )),
            (false, false) => self.ground(&devices, &target.on, &target.disks),
        };
        // Options of an overlay are not those of the file system that holds its files.
        let holder = Some(target.holding_filesystem.as_str()).filter(|it| !it.is_empty());
        let filesystem = holder.unwrap_or(&target.filesystem);
        let overlaid = filesystem != target.filesystem;
        let below = match overlaid {
            true => self.options_of(filesystem, &target.on),
            false => Some(target.mount_options.as_str()),
        };
        let unknown = Ground::Unseen(format!("how the {filesystem} below is mounted is not known"));
        let ground = if below.is_some() { ground } else { unknown };
        let mut storage = self.storage(ground, (filesystem, below.unwrap_or_default()), settings);
        storage.ignores_fsync = ignores_fsync(target);
        storage.mount_point = target.mount_point.clone();
        let caches = leaves(&devices, &target.on).into_iter().map(|leaf| leaf.caches.len());
        storage.caches_below = caches.max().unwrap_or(0);
        Storage { durable_bytes_per_s: durable, ..storage }
    }

    fn storage(
        &self,
        ground: Ground,
        (filesystem, options): (&str, &str),
        settings: &Settings,
    ) -> Storage {
        let option = |name: &str| {
            let mut all = options.split(',');
            all.find_map(|it| it.strip_prefix(name)?.strip_prefix('=')?.parse::<f64>().ok())
        };
        let usual = COMMITS.iter().find(|(name, _)| *name == filesystem).map(|(_, s)| *s);
        let set = option("commit").filter(|s| *s > 0.0);
        let group_s = self.setting("zfs_txg_timeout").unwrap_or(GROUP_S);
        let no_barriers = options.split(',').find(|it| NO_BARRIERS.contains(it));
        Storage {
            ground,
            mount_point: String::new(),
            filesystem: filesystem.to_owned(),
            ignores_fsync: None,
            no_barriers: no_barriers.map(str::to_owned),
            commit_s: usual.map(|usual| set.unwrap_or(usual)),
            group_s: (filesystem == "zfs").then_some(group_s),
            writeback: self.writeback(settings),
            caches_below: 0,
            durable_bytes_per_s: None,
        }
    }

    /// All devices that are known, those of the target first.
    fn devices(&self, of_target: &[Device]) -> Vec<Device> {
        let mut all = of_target.to_vec();
        for device in self.server.iter().flat_map(|server| &server.devices) {
            if all.iter().all(|known| known.name != device.name) {
                all.push(device.clone());
            }
        }
        all
    }

    /// What is at the bottom of `on`; where nothing is known of that, these `disks` are.
    fn ground(&self, devices: &[Device], on: &[String], disks: &[String]) -> Ground {
        let is_known = |name: &String| devices.iter().any(|device| device.name == *name);
        let mut names: Vec<String> = disks.to_vec();
        if !on.is_empty() && on.iter().all(is_known) {
            let leaves = leaves(devices, on);
            // A file in memory is no disk that outlives a cut.
            let in_memory =
                |matter: &Matter| matches!(matter, Matter::Memory | Matter::FileInMemory);
            if leaves.iter().any(|leaf| in_memory(&leaf.matter)) {
                return Ground::Memory;
            }
            let unseen = leaves.iter().find_map(|leaf| match &leaf.matter {
                Matter::Unseen(why) => Some(why.clone()),
                Matter::Remote => Some(format!("{} lies on another machine", leaf.name)),
                _ => None,
            });
            if let Some(why) = unseen {
                return Ground::Unseen(why);
            }
            names = leaves.into_iter().map(|leaf| leaf.name).collect();
        }
        Ground::Disks(names.iter().map(|name| self.disk(name, devices, on)).collect())
    }

    fn disk(&self, name: &str, devices: &[Device], on: &[String]) -> Disk {
        let Some(device) = devices.iter().find(|device| device.name == name) else {
            let hidden = Some(format!("what {name} is was not recorded"));
            return Disk { name: name.to_owned(), hidden, ..Disk::default() };
        };
        let drives = self.server.iter().flat_map(|server| &server.drives);
        let drive = drives.into_iter().find(|drive| drive.name == name);
        let health = drive.and_then(|drive| drive.health.as_ref());
        Disk {
            name: name.to_owned(),
            hidden: self.hidden(device),
            kernel: device.write_cache.as_deref().and_then(cache),
            own: drive.and_then(|drive| drive.own_write_cache.as_deref()).and_then(cache),
            protected: health.and_then(|health| health.power_loss_protected),
            cut_off_by: cut_off(devices, on, name),
            rotational: device.rotational,
            rpm: drive.and_then(|drive| drive.rpm),
        }
    }

    /// Why what a device does with a flush cannot be seen from here.
    fn hidden(&self, device: &Device) -> Option<String> {
        let name = &device.name;
        if self.server.is_none() {
            return Some("what this machine is made of was not recorded".to_owned());
        }
        let hypervisors = || Some(format!("the hypervisor's cache behind {name} is not seen here"));
        if self.guest {
            return hypervisors();
        }
        match device.transport.as_str() {
            "sata" | "sas" | "nvme" | "mmc" => None,
            "virtio" | "xen" | "hyper-v" => hypervisors(),
            "usb" => Some(format!("a USB bridge may keep flushes from {name}")),
            _ => Some(format!("the controller of {name} may cache by itself")),
        }
    }

    fn setting(&self, name: &str) -> Option<f64> {
        let all = self.server.iter().flat_map(|server| &server.settings);
        all.into_iter().find(|it| it.name == name)?.value.parse().ok()
    }

    fn writeback(&self, settings: &Settings) -> Writeback {
        let seconds = |name: &str| self.setting(name).map(|centi| centi / 100.0);
        let expire_s = match settings.get(knob::DIRTY_EXPIRE) {
            Some(ns) => Some(ns as f64 / 1e9),
            None => seconds("vm.dirty_expire_centisecs"),
        };
        let set = settings.get(knob::DIRTY_RATIO).map(|percent| percent as f64);
        let bytes = self.setting("vm.dirty_bytes").filter(|bytes| *bytes > 0.0 && set.is_none());
        let memory = self.server.as_ref().and_then(|server| server.memory.total_bytes);
        let of_memory = || {
            let percent = set.or_else(|| self.setting("vm.dirty_ratio"))?;
            Some(percent / 100.0 * memory? as f64)
        };
        Writeback {
            expire_s,
            wake_s: seconds("vm.dirty_writeback_centisecs"),
            most_bytes: bytes.or_else(of_memory),
        }
    }

    /// Options of the mount of a file system on these devices.
    fn options_of(&self, filesystem: &str, on: &[String]) -> Option<&str> {
        let mut all = self.server.iter().flat_map(|server| &server.filesystems);
        let mount = all.find(|it| it.filesystem == filesystem && it.on == *on && !on.is_empty())?;
        Some(&mount.options)
    }
}

/// What makes fsync do nothing there: a property of ZFS, an option of overlay.
fn ignores_fsync(target: &Target) -> Option<String> {
    if let Some(dataset) = target.pool.as_ref().and_then(OnPool::unsafe_dataset) {
        return Some(format!("sync=disabled on {dataset}"));
    }
    let is_volatile = target.filesystem == "overlay"
        && target.mount_options.split(',').any(|option| option == "volatile");
    is_volatile.then(|| format!("{} is an overlay with `volatile`", target.mount_point))
}

/// As the kernel has it: `write back`, `write through`, `none`, `write back, no read (daft)`.
fn cache(text: &str) -> Option<WriteCacheMode> {
    match text {
        "write through" | "none" => Some(WriteCacheMode::Through),
        _ if text.starts_with("write back") => Some(WriteCacheMode::Back),
        _ => None,
    }
}

/// The device between `on` and the disk that passes no flush on.
fn cut_off(devices: &[Device], on: &[String], disk: &str) -> Option<String> {
    let find = |name: &String| devices.iter().find(|device| device.name == *name);
    let lies_on = |device: &Device| {
        leaves(devices, std::slice::from_ref(&device.name)).iter().any(|leaf| leaf.name == disk)
    };
    let (mut seen, mut next) = (Vec::new(), on.to_vec());
    while let Some(name) = next.pop() {
        if seen.contains(&name) || name == disk {
            continue;
        }
        seen.push(name.clone());
        let Some(device) = find(&name) else { continue };
        let through =
            device.write_cache.as_deref().and_then(cache) == Some(WriteCacheMode::Through);
        if device.kind != DeviceKind::Partition && through && lies_on(device) {
            return Some(name);
        }
        next.extend(device.below.iter().cloned());
        next.extend(device.backing.iter().flat_map(|backing| backing.devices.clone()));
    }
    None
}
