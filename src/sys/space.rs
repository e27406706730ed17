//! Room on a file system.

use std::path::Path;

use super::Error;

/// Room on the file system that holds a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// In all, bytes.
    pub total_bytes: u64,
    /// That this user may still write, bytes.
    pub free_bytes: u64,
    /// Mounted read-only.
    pub read_only: bool,
}

impl Space {
    /// What may be written so that 5 % of the file system stay free (DESIGN section 8), bytes.
    pub fn usable_bytes(&self) -> u64 {
        self.free_bytes.saturating_sub(self.total_bytes / 20)
    }
}

/// Asks statvfs(3).
///
/// # Errors
/// When the path cannot be looked at.
pub fn space(path: &Path) -> Result<Space, Error> {
    let stat = rustix::fs::statvfs(path).map_err(|error| {
        let what = format!("cannot see how much room there is in {}", path.display());
        Error::new(what, std::io::Error::from(error))
    })?;
    Ok(Space {
        total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
        free_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        read_only: stat.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY),
    })
}
