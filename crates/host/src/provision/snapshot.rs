//! A snapshot that is held while a trial writes: what every write then costs more is measured.
//!
//! It needs no line in the journal: a snapshot of btrfs or ZFS goes with its file system, one of
//! LVM with its volume group.

use std::time::Duration;

use super::step::words;
use super::{MadeLayout, pool, volumes};
use crate::sys::signal::Stop;
use crate::sys::{Error, command};

/// Where a snapshot of btrfs lies, in the file system's root.
const PLACE: &str = ".brickyard-snapshot";
/// Freezing the file system writes back what is dirty first.
const AT_MOST: Duration = Duration::from_secs(3600);

/// A snapshot that is there until it is released.
#[derive(Debug)]
#[must_use]
pub struct HeldSnapshot {
    release: Vec<String>,
}

impl MadeLayout {
    /// Makes the snapshot that the layout asks for, of the files as they lie now; `None` when it
    /// asks for none.
    ///
    /// # Errors
    /// With the command that failed.
    pub fn hold_snapshot(&self) -> Result<Option<HeldSnapshot>, Error> {
        let (hold, release) = match self.layout.snapshot.as_str() {
            "btrfs" => {
                let at = self.mount_point.display().to_string();
                let place = self.mount_point.join(PLACE).display().to_string();
                (
                    words(&["btrfs", "subvolume", "snapshot", &at, &place]),
                    words(&["btrfs", "subvolume", "delete", &place]),
                )
            }
            "zfs" => (pool::hold(&self.group), pool::release(&self.group)),
            "lvm" => (
                volumes::hold(&self.layout, &self.group),
                volumes::release(&self.layout, &self.group),
            ),
            _ => return Ok(None),
        };
        // What is dirty belongs to the files as they lie now.
        rustix::fs::sync();
        command::run(&hold, AT_MOST, &Stop::new())?;
        Ok(Some(HeldSnapshot { release }))
    }
}

impl HeldSnapshot {
    /// Removes it.
    ///
    /// # Errors
    /// With the command that failed: then it goes with the layout.
    pub fn release(self) -> Result<(), Error> {
        command::run(&self.release, AT_MOST, &Stop::new()).map(|_| ())
    }
}
