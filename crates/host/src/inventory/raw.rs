//! Whole devices that are read as they are: what one lies on, and how it is held to be read.
//!
//! Nothing here opens one for writing, or alone: what is mounted may be read, too.

use std::os::fd::OwnedFd;
use std::path::Path;

use super::{disk, mounts, target, volume};
use crate::journal::identity;
use crate::sys::{Error, Host, beneath, block};
use facts::bare;
use facts::inventory::Target;
use facts::inventory::disk::Disk;

/// What a place lies on as a trial names it: a directory, or a device that is only read.
///
/// # Errors
/// As [`target`] and [`disk::find_to_read`].
pub fn target_of_place(host: &Host, place: &str) -> Result<Target, Error> {
    let Some(named) = bare::device(place) else { return target(host, Path::new(place)) };
    let disk = disk::find_to_read(host, named)?;
    Ok(of_device(host, place, &disk.name, &disk.node, disk.size_bytes))
}

/// What the block device `node` lies on; `None` when it is none.
pub(super) fn target_of_node(host: &Host, node: &Path) -> Option<Target> {
    let number = block::number_of(&host.path(node))?;
    let path = host.resolve(format!("/sys/dev/block/{number}"))?;
    let name = path.file_name()?.to_str()?;
    let size = disk::size_bytes(host, name)?;
    Some(of_device(host, &node.display().to_string(), name, node, size))
}

fn of_device(host: &Host, place: &str, name: &str, node: &Path, size_bytes: u64) -> Target {
    let on = vec![name.to_owned()];
    let devices = volume::walk(host, &mounts(host).unwrap_or_default(), &on);
    let disks = facts::inventory::device::disks(&devices, &on);
    let over_a_wire =
        |name: &String| devices.iter().any(|device| device.name == *name && device.over_a_wire());
    Target {
        directory: place.to_owned(),
        filesystem: bare::RAW.to_owned(),
        holding_filesystem: bare::RAW.to_owned(),
        mount_point: String::new(),
        mount_options: String::new(),
        source: node.display().to_string(),
        ceiling: facts::inventory::limit::together(&devices, &on),
        remote: !disks.is_empty() && disks.iter().all(over_a_wire),
        on,
        disks,
        devices,
        total_bytes: Some(size_bytes),
        available_bytes: None,
        read_only: true,
        // Its reads are handed to the device by whoever reads (block/fops.c), as a file's are.
        process_io_reliable: true,
        memory: false,
        pool: None,
    }
}

/// A device that is held open to be read, for as long as this lives.
#[derive(Debug)]
pub struct RawDevice {
    /// Which.
    pub disk: Disk,
    hold: beneath::Hold,
}

impl RawDevice {
    /// Opens the device that a plan names so, O_RDONLY and not alone.
    ///
    /// # Errors
    /// As [`disk::find_to_read`]; when it may not be read, or another one came in its place.
    pub fn open(host: &Host, named: &str) -> Result<RawDevice, Error> {
        let disk = disk::find_to_read(host, named)?;
        let what = || format!("cannot read {} (`{named}`)", disk.node.display());
        let opened = block::open(&disk.node, block::How::Read).map_err(|why| {
            let hint = match why.raw_os_error() {
                Some(libc::EACCES) => {
                    "run as root, or as a member of the group that may read it (`ls -l`)"
                }
                // A container's rules of devices say so to root, too.
                Some(libc::EPERM) => "run on the host: a container may not open the device",
                _ => "look whether it is still there: brickyard inspect",
            };
            Error::new(what(), why).hint(hint)
        })?;
        let is_it = block::number(&opened) == disk.identity.number
            && identity::still_there(&disk.identity, host);
        if !is_it {
            return Err(Error::new(what(), "another device has taken its place").hint(AGAIN));
        }
        let hold = beneath::hold_device(&disk.node, OwnedFd::from(opened))
            .map_err(|why| Error::new(what(), std::io::Error::from(why)))?;
        Ok(RawDevice { disk, hold })
    }

    /// Its node.
    pub fn path(&self) -> &Path {
        self.hold.path()
    }

    /// Fails when its name leads to another device by now.
    ///
    /// # Errors
    /// With which.
    pub fn check_place(&self, host: &Host) -> Result<(), Error> {
        if self.hold.is_in_place() && identity::still_there(&self.disk.identity, host) {
            return Ok(());
        }
        let what = format!("`{}` was {} when it was found", self.disk.named, self.disk.name);
        Err(Error::new(what, "it is gone, or another device has taken its place").hint(AGAIN))
    }
}

const AGAIN: &str = "look which disks there are (brickyard inspect), then start again";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    const MACHINE: &str = "\
/sys/devices/a/block/sda/dev = 8:0
/sys/devices/a/block/sda/size = 2048000
/sys/devices/a/block/sda/queue/rotational = 1
/sys/devices/a/block/sda/device/model = A DISK
/sys/devices/a/block/sda/device/vpd_pg80 = hex 00800008 53455249414c2d41
/sys/block/sda -> /sys/devices/a/block/sda
/sys/class/block/sda -> /sys/devices/a/block/sda
";

    #[test]
    fn a_disk_that_is_read_raw_is_described_with_all_that_lies_below_it() {
        let recording = Recording::unpack(MACHINE);
        let host = recording.host();
        let target = target_of_place(&host, "read-only:serial:SERIAL-A").unwrap();
        assert_eq!((target.filesystem.as_str(), &target.on), ("raw", &vec!["sda".to_owned()]));
        assert_eq!((target.source.as_str(), &target.disks), ("/dev/sda", &target.on));
        assert!(target.process_io_reliable && target.read_only && !target.remote);
        assert_eq!(target.total_bytes, Some(2_048_000 * 512));
        let text = target.to_string();
        assert!(text.starts_with("serial:SERIAL-A: /dev/sda, read raw\n  sda: disk"), "{text}");
        assert!(text.contains("A DISK, 1000 MiB"), "{text}");
        let none = target_of_place(&host, "read-only:serial:NONE").unwrap_err();
        assert!(none.hint.unwrap().contains("the disks of this machine are"));
        let sata = Recording::open("sata");
        let directory = target_of_place(&sata.host(), "/home").unwrap();
        assert_eq!(directory.filesystem, "ext4");
    }

    #[test]
    fn a_name_that_leads_to_no_device_is_not_opened() {
        let error = RawDevice::open(&Host::live(), "loop:/no/such.img").unwrap_err();
        assert!(error.why.contains("no loop device shows that file"), "{error}");
    }
}
