//! What the server is made of, and what each part could do at most.
//!
//! Facts only, read from /proc and /sys; nothing is measured here, and what joins facts with
//! measurements is the business of `measurement` and `analysis`. Mounts are in
//! `inventory/mount.rs`, block devices in `inventory/device.rs`, limits in `inventory/limit.rs`.

use std::path::Path;

use crate::sys::filesystem::{Space, mount_identity, space};
use crate::sys::{Error, Host};

mod caching;
mod device;
pub mod disk;
pub mod group;
mod identify;
mod limit;
mod machine;
pub mod mount;
pub mod pcie;
pub mod raw;
mod sas;
pub mod sensor;
pub mod served;
pub mod server;
mod sysfs;
mod transport;
mod usb;
mod volume;

pub mod recording;

use facts::inventory::device::Device;
use facts::inventory::mount::{Mount, nature};
use facts::inventory::{OnPool, Target};
pub use machine::machine;
pub use sysfs::nvme_controllers;

/// These block devices, by the kernel's names, and what lies below them down to the disks; without
/// those that are not there.
pub fn devices_below(host: &Host, names: &[String]) -> Vec<Device> {
    volume::walk(host, &mounts(host).unwrap_or_default(), names)
}

/// What is mounted, in the order of /proc/self/mountinfo.
///
/// # Errors
/// When that cannot be read.
pub fn mounts(host: &Host) -> Result<Vec<Mount>, Error> {
    Ok(mount::parse(&host.read("/proc/self/mountinfo")?))
}

/// What is mounted where process `pid` lives: a container has mounts of its own. Empty when we may
/// not look, or it is gone.
pub fn mounts_of_process(host: &Host, pid: &str) -> Vec<Mount> {
    host.read(format!("/proc/{pid}/mountinfo"))
        .map_or_else(|_| Vec::new(), |text| mount::parse(&text))
}

/// How the whole device of that kernel name is attached: `sata`, `nvme-tcp`, `network`, ...
pub fn transport_of(host: &Host, name: &str) -> String {
    let path = format!("/sys/block/{name}");
    let path = host.resolve(&path).unwrap_or_else(|| path.into());
    transport::transport_at(host, &path)
}

/// Kernel names of the block devices that a mounted file system lies on directly.
pub fn mounted_on(host: &Host, mount: &Mount) -> Vec<String> {
    device::of_mount(host, mount)
}

/// Finds out what `directory` lies on, or a block device. A relative directory is taken from where
/// we are.
///
/// # Errors
/// When there is no such directory, or /proc/self/mountinfo has no mount for it.
pub fn target(host: &Host, directory: &Path) -> Result<Target, Error> {
    let what = || format!("cannot examine {}", directory.display());
    let absolute = std::path::absolute(directory).map_err(|error| Error::new(what(), error))?;
    let path = host.path(&absolute).canonicalize().map_err(|error| {
        Error::new(what(), error).hint(format!("mkdir -p {}", directory.display()))
    })?;
    if !path.is_dir() {
        if let Some(device) = raw::target_of_node(host, &absolute) {
            return Ok(device);
        }
        return Err(Error::new(what(), "it is not a directory").hint("name the one that holds it"));
    }
    let inside = host.resolve(&absolute).ok_or_else(|| Error::new(what(), "a link leads out"))?;
    let mounts = mounts(host)?;
    // Numbers of the machine that we run on mean nothing on a recording of another.
    let live = host.path("/") == Path::new("/");
    let identity = if live { mount_identity(&path)? } else { Default::default() };
    let found = mount::of_path(&mounts, &inside, identity).ok_or_else(|| {
        Error::new(what(), "/proc/self/mountinfo has no mount for it")
            .hint("mount /proc, or run outside the chroot")
    })?;
    let room = if live { space(&path).ok() } else { None };
    Ok(describe(host, &mounts, found, &inside.to_string_lossy(), room))
}

fn describe(
    host: &Host,
    mounts: &[Mount],
    mount: &Mount,
    directory: &str,
    room: Option<Space>,
) -> Target {
    let holding = mount::look_through(host, mounts, mount);
    let pool = holding.filter(|holding| holding.filesystem == "zfs");
    let pool = pool.map(|holding| on_pool(host, &holding.source));
    let on = match &pool {
        Some((_, devices)) => devices.clone(),
        None => holding.map_or(Vec::new(), |holding| device::of_mount(host, holding)),
    };
    let devices = volume::walk(host, mounts, &on);
    let disks = facts::inventory::device::disks(&devices, &on);
    let nature = nature(holding.map_or("", |holding| &holding.filesystem));
    let is_remote =
        |name: &String| devices.iter().any(|device| device.name == *name && device.over_a_wire());
    let network_disks = !disks.is_empty() && disks.iter().all(is_remote);
    Target {
        directory: directory.to_owned(),
        filesystem: mount.filesystem.clone(),
        holding_filesystem: holding.map_or(String::new(), |holding| holding.filesystem.clone()),
        mount_point: mount.point.clone(),
        mount_options: mount.all_options(),
        source: mount.source.clone(),
        ceiling: facts::inventory::limit::together(&devices, &on),
        on,
        disks,
        devices,
        total_bytes: room.map(|room| room.total_bytes),
        available_bytes: room.map(|room| room.available_bytes),
        read_only: room.map_or_else(|| mount.read_only(), |room| room.read_only),
        process_io_reliable: nature.process_io_reliable,
        remote: nature.remote || network_disks,
        memory: nature.memory,
        pool: pool.map(|(pool, _)| pool),
    }
}

/// What a dataset of ZFS lies on, and the block devices of its pool; of those none where not all
/// are known.
fn on_pool(host: &Host, dataset: &str) -> (OnPool, Vec<String>) {
    let found = server::zfs::below(host, dataset);
    let settings = found.as_ref().ok().and_then(|pool| pool.dataset(dataset));
    let settings = settings.map_or_else(Default::default, |dataset| dataset.settings.clone());
    let devices = found.as_ref().map_err(String::clone).and_then(|pool| pool.devices());
    let pool = OnPool {
        name: server::zfs::pool_of(dataset).unwrap_or_default(),
        dataset: dataset.to_owned(),
        version: host.word("/sys/module/zfs/version"),
        cache_devices: found.map_or_else(|_| Vec::new(), |pool| pool.cache_devices()),
        settings,
        unseen: devices.as_ref().err().cloned(),
    };
    (pool, devices.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::recording::Recording;
    use super::*;
    use facts::inventory::DeviceKind;

    fn on(recording: &str, directory: &str) -> Target {
        let recording = Recording::open(recording);
        target(&recording.host(), Path::new(directory)).unwrap()
    }

    fn device<'a>(target: &'a Target, name: &str) -> &'a Device {
        target.devices.iter().find(|device| device.name == name).unwrap()
    }

    fn names(target: &Target) -> String {
        target.device_names().join(" ")
    }

    #[test]
    fn a_virtual_disk_is_described_and_its_turning_is_not_believed() {
        let target = on("virtio-guest", "/var/tmp");
        assert_eq!((target.filesystem.as_str(), target.mount_point.as_str()), ("ext4", "/"));
        assert_eq!((names(&target).as_str(), &target.disks), ("vda", &vec!["vda".to_owned()]));
        let vda = device(&target, "vda");
        assert_eq!((vda.number.as_str(), vda.transport.as_str()), ("254:0", "virtio"));
        assert_eq!((vda.rotational, vda.scheduler.as_deref()), (Some(true), Some("mq-deadline")));
        assert_eq!((vda.size_bytes, vda.read_ahead_kib), (256 << 30, Some(8192)));
        assert_eq!((vda.logical_block_bytes, vda.physical_block_bytes), (Some(512), Some(4096)));
        assert_eq!(
            (vda.write_cache.as_deref(), vda.poll_queues),
            (Some("write back"), Some(false))
        );
        assert_eq!((target.ceiling, target.process_io_reliable), (None, true));
    }

    #[test]
    fn an_nvme_drive_is_bounded_by_its_own_link_and_not_by_its_ports() {
        let target = on("nvme", "/home");
        assert_eq!(
            (names(&target).as_str(), target.on[0].as_str()),
            ("nvme0n1p2 nvme0n1", "nvme0n1p2")
        );
        let disk = device(&target, "nvme0n1");
        assert_eq!(disk.model.as_deref(), Some("Example SSD 990"));
        assert_eq!(disk.serial.as_deref(), Some("S6Z2NJ0TC01234"));
        assert_eq!((disk.poll_queues, disk.transport.as_str()), (Some(true), "nvme"));
        let ceiling = target.ceiling.unwrap();
        assert_eq!(ceiling.bytes_per_s.unwrap().round(), 3_938_461_538.0);
        assert_eq!(ceiling.ops_per_s, None);
        assert_eq!(ceiling.why, "nvme0n1: its link is PCIe at 8 GT/s x4");
    }

    #[test]
    fn an_encrypted_volume_is_followed_through_its_partition_to_the_drive() {
        let target = on("nvme", "/srv/crypt");
        assert_eq!(names(&target), "dm-0 nvme0n1p3 nvme0n1");
        assert_eq!(
            (target.on.join(" "), target.disks.join(" ")),
            ("dm-0".into(), "nvme0n1".into())
        );
        let volume = device(&target, "dm-0");
        assert_eq!((volume.kind, volume.layout.as_deref()), (DeviceKind::Stacked, Some("crypt")));
        assert!(target.ceiling.is_some());
    }

    #[test]
    fn two_controllers_of_one_drive_add_up_and_a_fabric_is_remote() {
        let target = on("nvme-fabrics", "/home");
        let ceiling = target.ceiling.unwrap();
        assert_eq!(ceiling.bytes_per_s.unwrap().round(), 7_876_923_077.0);
        assert!(!target.remote);
        let target = on("nvme-fabrics", "/srv/tcp");
        assert_eq!((target.devices[0].transport.as_str(), target.remote), ("nvme-tcp", true));
    }

    #[test]
    fn sata_disks_are_bounded_by_link_and_turn_and_each_bound_says_what_it_rests_on() {
        let limits = |directory| {
            let target = on("sata", directory);
            let ceiling = target.ceiling.unwrap();
            (ceiling.bytes_per_s, ceiling.ops_per_s, ceiling.why)
        };
        let (bytes, ops, why) = limits("/home");
        assert_eq!((bytes, ops), (Some(600e6), Some(240.0)));
        assert!(why.contains("SATA at 6 Gb/s") && why.contains("7200 turns a minute"), "{why}");
        let (bytes, ops, why) = limits("/srv/b");
        assert_eq!((bytes, ops), (Some(300e6), Some(500.0)));
        assert!(why.contains("its own rate is not known"), "{why}");
        let (bytes, ops, _) = limits("/srv/c");
        assert_eq!((bytes, ops), (Some(600e6), None), "an SSD does not turn");
        assert_eq!(device(&on("sata", "/home"), "sda").serial.as_deref(), Some("SERIAL1"));
    }

    #[test]
    fn a_raid_cards_volume_has_no_ceiling_though_it_calls_itself_rotational() {
        let target = on("sata", "/srv/raid");
        assert_eq!((target.devices[0].rotational, target.ceiling), (Some(true), None));
        assert!(target.read_only);
    }

    #[test]
    fn a_loop_device_is_a_disk_whose_file_and_its_devices_are_named() {
        let target = on("sata", "/srv/loop");
        assert_eq!(names(&target), "loop0 sda1 sda");
        assert_eq!((target.on.join(" "), target.disks.join(" ")), ("loop0".into(), "loop0".into()));
        let backing = device(&target, "loop0").backing.clone().unwrap();
        assert_eq!((backing.file.as_str(), backing.filesystem.as_str()), ("/var/image", "ext4"));
        // More than the disk below can do comes from that file's pages.
        assert_eq!(target.ceiling.unwrap().bytes_per_s, Some(600e6));
        let memory = on("sata", "/srv/memory");
        let backing = device(&memory, "loop1").backing.clone().unwrap();
        assert_eq!((backing.filesystem.as_str(), memory.ceiling), ("tmpfs", None));
    }

    #[test]
    fn an_array_is_followed_through_partitions_to_all_its_disks() {
        let target = on("md-raid5", "/srv/array");
        assert_eq!(names(&target), "md0 sda1 sdb1 sdc1 sda sdb sdc");
        assert_eq!(target.disks, ["sda", "sdb", "sdc"]);
        assert_eq!(device(&target, "md0").layout.as_deref(), Some("raid5"));
        let ceiling = target.ceiling.unwrap();
        assert_eq!((ceiling.bytes_per_s, ceiling.ops_per_s), (Some(1800e6), Some(720.0)));
        assert!(ceiling.why.starts_with("3 disks together"), "{}", ceiling.why);
    }

    #[test]
    fn btrfs_names_one_device_and_lies_on_two() {
        let target = on("btrfs", "/srv/data");
        assert_eq!(target.on, ["sda", "sdb"]);
        assert_eq!((target.process_io_reliable, target.disks.len()), (true, 2));
    }

    #[test]
    fn overlays_are_looked_through_as_far_as_can_be_seen() {
        let merged = on("virtio-guest", "/merged");
        assert_eq!(
            (merged.filesystem.as_str(), merged.holding_filesystem.as_str()),
            ("overlay", "ext4")
        );
        assert_eq!((names(&merged).as_str(), merged.process_io_reliable), ("vda", true));
        let image = on("virtio-guest", "/image");
        assert_eq!((image.holding_filesystem.as_str(), image.read_only), ("ext4", true));
        let container = on("virtio-guest", "/container");
        assert_eq!((container.holding_filesystem.as_str(), container.devices.len()), ("", 0));
        assert!(!container.process_io_reliable);
    }

    #[test]
    fn file_systems_without_block_devices_say_what_they_are() {
        let facts = |recording, directory| {
            let target = on(recording, directory);
            assert!(target.devices.is_empty());
            (target.process_io_reliable, target.remote, target.memory)
        };
        assert_eq!(facts("virtio-guest", "/dev/shm"), (false, false, true));
        assert_eq!(facts("nvme", "/srv/nfs"), (false, true, false));
        assert_eq!(facts("nvme", "/srv/ssh"), (false, true, false));
        assert_eq!(facts("nvme", "/srv/zfs"), (false, false, false));
        assert_eq!(facts("nvme", "/srv/merged"), (false, false, false));
    }

    #[test]
    fn a_directory_that_is_not_there_or_is_a_file_is_refused_with_a_hint() {
        let recording = Recording::open("sata");
        let error = |path: &str| target(&recording.host(), Path::new(path)).unwrap_err();
        assert_eq!(error("/none").hint.as_deref(), Some("mkdir -p /none"));
        assert_eq!(error("/var/image").why, "it is not a directory");
    }

    #[test]
    fn recorded_machines_end_where_their_disks_are() {
        let on = |recording: &str, directory: &str| -> Target {
            let recording = Recording::open(recording);
            target(&recording.host(), Path::new(directory)).unwrap()
        };
        let names = |recording, directory| {
            let leaves = on(recording, directory).leaves();
            leaves.into_iter().map(|leaf| leaf.name).collect::<Vec<String>>()
        };
        assert_eq!(names("sata", "/srv/loop"), ["sda"]);
        assert_eq!(names("sata", "/srv/memory"), ["loop1"]);
        assert_eq!(names("nvme", "/srv/crypt"), ["nvme0n1"]);
        assert_eq!(names("md-raid5", "/srv/array"), ["sda", "sdb", "sdc"]);
        assert_eq!(names("btrfs", "/srv/data"), ["sda", "sdb"]);
        assert_eq!(names("nvme", "/srv/nfs"), [""; 0]);
        let through = on("sata", "/srv/loop").leaves();
        assert_eq!(through[0].caches, ["loop0"], "it does not say that it goes around");
    }

    #[test]
    fn the_machine_that_we_run_on_is_described_and_survives_json() {
        let target = target(&Host::live(), Path::new(".")).unwrap();
        assert!(target.total_bytes.unwrap() > 0 && Path::new(&target.directory).is_absolute());
        let json = serde_json::to_string(&target).unwrap();
        assert_eq!(serde_json::from_str::<Target>(&json).unwrap(), target);
        let machine = machine(&Host::live());
        assert!(machine.cpus_online > 0 && machine.memory_total_bytes.unwrap() > 0);
        assert!(machine.to_string().contains("CPUs"));
    }

    #[test]
    fn an_inventory_reads_like_a_description() {
        begins_with(
            &on("md-raid5", "/srv/array").to_string(),
            &[
                "/srv/array: xfs, /dev/md0 mounted on /srv/array \
                 (rw,relatime,sunit=1024,swidth=2048)",
                "  md0: raid5 on sda1, sdb1, sdc1, 6.52 TiB, rotational, scheduler none, \
                 read-ahead 4096 KiB, write back",
                "  sda1: partition on sda, 3.26 TiB",
            ],
        );
        begins_with(
            &on("sata", "/srv/loop").to_string(),
            &[
                "/srv/loop: ext4, /dev/loop0 mounted on /srv/loop (rw,relatime)",
                "  loop0: loop on /var/image (ext4), 1.00 GiB, rotational, scheduler none, \
                 read-ahead 128 KiB, write back",
            ],
        );
    }

    #[track_caller]
    fn begins_with(text: &str, first_lines: &[&str]) {
        let lines: Vec<&str> = text.lines().take(first_lines.len()).collect();
        assert_eq!(lines, first_lines);
    }
}
