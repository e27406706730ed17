//! A disk, taken at the moment of use: what was checked before is checked again on the descriptor
//! that is open, which no other disk can slip under.
//!
//! Two descriptors. One holds flock(2) for as long as the claim lives: other runs of ours, udev and
//! tools that keep to systemd's BLOCK_DEVICE_LOCKING leave the disk alone. The other holds O_EXCL,
//! which keeps out mounts, arrays and mkfs: it would keep out our own as well, so it is let go
//! right before a tool runs, and that tool takes O_EXCL itself.

use crate::journal::identity;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use crate::sys::block::{self, How};
use crate::sys::{Error, Host, clock};
use facts::inventory::disk::Disk;

/// How long udev may look at what appears on a disk, on a machine that is busy.
const UDEV_MAX: Duration = Duration::from_secs(60);

/// A disk that is ours until this is dropped.
#[derive(Debug)]
pub struct Claim {
    disk: Disk,
    /// Bears the flock; the lock goes with it.
    lock: File,
    node: PathBuf,
    /// O_EXCL, until a tool is let in.
    alone: Option<File>,
}

/// Takes a disk that [`super::check`] has let through.
///
/// # Errors
/// When somebody else has it by now, or another disk has taken its place.
pub fn claim(host: &Host, disk: &Disk) -> Result<Claim, Error> {
    let node = host.path(&disk.node);
    let lock = open(disk, &node, How::Read)?;
    let alone = open(disk, &node, How::WriteAlone)?;
    // A claim from here on, so that O_EXCL is let go of in order whatever is found.
    let claim = Claim { disk: disk.clone(), lock, node, alone: Some(alone) };
    claim.check(host)?;
    Ok(claim)
}

impl Claim {
    /// Both descriptors are of the disk that was found, it can be written to, and the lock is ours.
    fn check(&self, host: &Host) -> Result<(), Error> {
        let disk = &self.disk;
        if let Some(alone) = &self.alone {
            same(host, disk, alone)?;
            if block::is_read_only(alone).map_err(|error| what(disk, error))? {
                return Err(what(disk, "the kernel takes no writes for it")
                    .hint(format!("blockdev --setrw {}", disk.node.display())));
            }
        }
        same(host, disk, &self.lock)?;
        match block::lock(&self.lock) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let why = "another run, or another tool that formats disks, has locked it";
                Err(what(disk, why).hint("wait until it has ended"))
            }
            Err(error) => Err(what(disk, error)),
        }
    }

    /// Lets a tool in that takes O_EXCL itself (mkfs, mdadm, mount), after a last look at who the
    /// disk is. The flock stays: a tool told to wait for it (`--lock`, `LOCK_BLOCK_DEVICE`) would
    /// wait for ever.
    ///
    /// # Errors
    /// When another disk has taken its place: then no tool may run.
    pub fn let_in(&mut self, host: &Host) -> Result<(), Error> {
        same(host, &self.disk, &self.lock)?;
        self.let_go();
        Ok(())
    }

    /// Lets udev look at the partitions that a tool makes, as zpool(8) waits for. Other runs of
    /// ours, and tools that format disks, are still kept out.
    ///
    /// # Errors
    /// The kernel's.
    pub fn let_udev_in(&mut self) -> Result<(), Error> {
        block::share(&self.lock).map_err(|error| what(&self.disk, error))
    }

    /// Takes the disk for us alone again, once what a tool made of it is gone; gives the
    /// descriptor, for bytes that we write ourselves.
    ///
    /// # Errors
    /// When somebody has it, or another disk has taken its place.
    pub fn alone(&mut self, host: &Host) -> Result<&File, Error> {
        same(host, &self.disk, &self.lock)?;
        self.lock_alone()?;
        let file = match self.alone.take() {
            Some(file) => file,
            None => open(&self.disk, &self.node, How::WriteAlone)?,
        };
        same(host, &self.disk, &file)?;
        Ok(self.alone.insert(file))
    }

    /// Takes the lock back from udev, which looks once more at a disk that was just wiped.
    fn lock_alone(&self) -> Result<(), Error> {
        let begun_ns = clock::monotonic_ns();
        while !block::lock(&self.lock).map_err(|error| what(&self.disk, error))? {
            if Duration::from_nanos(clock::monotonic_ns() - begun_ns) > UDEV_MAX {
                let why = format!("it is still locked after {} s", UDEV_MAX.as_secs());
                return Err(what(&self.disk, why).hint("see by whom: lslocks; udevadm settle"));
            }
        }
        Ok(())
    }

    fn let_go(&mut self) {
        if let Some(alone) = self.alone.take() {
            block::let_go(alone, &self.node);
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.let_go();
    }
}

fn what(disk: &Disk, why: impl crate::sys::Cause) -> Error {
    Error::new(format!("cannot take the disk {} ({})", disk.named, disk.name), why)
}

fn open(disk: &Disk, node: &std::path::Path, how: How) -> Result<File, Error> {
    block::open(node, how).map_err(|error| {
        let hint = match super::scene::is_busy(&error) {
            true => format!("somebody has it: lsblk {0}; fuser -v {0}", disk.node.display()),
            false => "run as root".to_owned(),
        };
        what(disk, error).hint(hint)
    })
}

/// Whether the open device is the disk that was found: by its number, by the kernel's count of
/// disks, by its size, and by what it says of itself. While it is open its number is no other's.
fn same(host: &Host, disk: &Disk, file: &File) -> Result<(), Error> {
    let number = block::number(file);
    let size = block::size_bytes(file).map_err(|error| what(disk, error))?;
    let sequence = block::sequence(file).map(|sequence| sequence.to_string());
    let identity = &disk.identity;
    let now = identity::of_device(host, &disk.name);
    let known_as = now.as_ref().map(|now| &now.known_as);
    let why = match () {
        () if number.is_none() || number != identity.number => "its node is another device",
        () if identity.sequence.is_some() && sequence != identity.sequence => {
            "another disk is there now"
        }
        () if size != disk.size_bytes => "its size is another one now",
        () if known_as != Some(&identity.known_as) => "it says that it is another disk now",
        () => return Ok(()),
    };
    Err(what(disk, format!("{why} than when it was checked"))
        .hint("look which disk it is, then start again"))
}
