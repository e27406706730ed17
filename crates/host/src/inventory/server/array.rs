//! State of arrays: md, btrfs, LVM and other device mapper stacks, bcache, ZFS pools.
//!
//! What the kernel does not show in files (the RAID of LVM, the disks of a ZFS pool) is remembered
//! as not read.

use super::Reading;
use facts::inventory::device::disks;
use facts::inventory::server::Array;
use facts::inventory::{Device, Mount};

mod mapped;
mod md;
mod pool;

pub use pool::recorded as recorded_pool;

/// Reads them: md, device mapper, bcache, then btrfs and ZFS.
pub fn read(reading: &mut Reading<'_>, devices: &[Device], mounts: &[Mount]) -> Vec<Array> {
    let mut arrays = md::read(reading);
    arrays.extend(mapped::read(reading, devices));
    arrays.extend(pool::btrfs(reading));
    arrays.extend(pool::zfs(reading, mounts));
    for array in &mut arrays {
        array.disks = disks(devices, &array.members);
    }
    arrays
}

#[cfg(test)]
mod tests;
