//! What the kernel says about the file system that a path lies on.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, SeekFrom, StatVfsMountFlags, StatxFlags};

use super::Error;

/// Room on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// All of it, bytes.
    pub total_bytes: u64,
    /// Free, what is kept for root included, bytes.
    pub free_bytes: u64,
    /// Free for us, bytes.
    pub available_bytes: u64,
    /// Mounted read-only.
    pub read_only: bool,
}

impl Space {
    /// What may be written with 5 % of the file system left free, bytes: docs/concepts/safety.md.
    pub fn usable_bytes(&self) -> u64 {
        self.available_bytes.saturating_sub(self.total_bytes / 20)
    }
}

/// Where a file was never written, or has a hole: the first byte of it, or how long the file is
/// (lseek(2), SEEK_HOLE; space that was only set aside counts as a hole). `None` where the file
/// system does not tell.
pub fn first_hole(file: &File) -> Option<u64> {
    rustix::fs::seek(file, SeekFrom::Hole(0)).ok()
}

/// Room on the file system of `path`, by statvfs(3).
///
/// # Errors
/// When the kernel cannot say, as on a dead network file system.
pub fn space(path: &Path) -> Result<Space, Error> {
    let stat = rustix::fs::statvfs(path).map_err(|error| {
        Error::new(format!("cannot ask for room on {}", path.display()), io::Error::from(error))
    })?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    Ok(Space {
        total_bytes: bytes(stat.f_blocks),
        free_bytes: bytes(stat.f_bfree),
        available_bytes: bytes(stat.f_bavail),
        read_only: stat.f_flag.contains(StatVfsMountFlags::RDONLY),
    })
}

/// Files and directories that a file system can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inodes {
    /// In all.
    pub total: u64,
    /// Free for us.
    pub available: u64,
}

impl Inodes {
    /// How many may be made so that 5 % stay free.
    pub fn usable(&self) -> u64 {
        self.available.saturating_sub(self.total / 20)
    }
}

/// Inodes of the file system of `path`, by statvfs(3); `None` where it makes them as needed, as
/// btrfs does, and tells no number.
///
/// # Errors
/// When the kernel cannot say, as on a dead network file system.
pub fn inodes(path: &Path) -> Result<Option<Inodes>, Error> {
    let stat = rustix::fs::statvfs(path).map_err(|error| {
        Error::new(format!("cannot ask for inodes on {}", path.display()), io::Error::from(error))
    })?;
    let inodes = Inodes { total: stat.f_files, available: stat.f_favail };
    Ok((inodes.total > 0).then_some(inodes))
}

/// Which mount a path lies on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MountIdentity {
    /// First column of /proc/self/mountinfo; since Linux 5.8.
    pub mount_id: Option<u64>,
    /// `st_dev`, major and minor; anonymous on btrfs and differs between its subvolumes.
    pub device: Option<(u32, u32)>,
}

/// Which mount `path` lies on, by statx(2).
///
/// # Errors
/// When there is no such path, or statx is refused.
pub fn mount_identity(path: &Path) -> Result<MountIdentity, Error> {
    let what = || format!("cannot examine {}", path.display());
    let stat = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID)
        .map_err(|error| Error::new(what(), io::Error::from(error)))?;
    let known = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    Ok(MountIdentity {
        mount_id: known.then_some(stat.stx_mnt_id),
        device: Some((stat.stx_dev_major, stat.stx_dev_minor)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_has_room_and_an_identity() {
        let space = space(Path::new("/")).unwrap();
        assert!(space.total_bytes > space.free_bytes && space.free_bytes >= space.available_bytes);
        assert!(mount_identity(Path::new("/")).unwrap().device.is_some());
    }

    #[test]
    fn a_missing_path_is_an_error_that_names_it() {
        let error = mount_identity(Path::new("/no/such")).unwrap_err();
        assert!(error.what.contains("/no/such"));
    }
}
