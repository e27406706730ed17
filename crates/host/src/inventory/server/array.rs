//! State of arrays: md, btrfs, LVM and other device mapper stacks, bcache, ZFS pools.
//!
//! What the kernel does not show in files (the RAID of LVM) is remembered as not read. Pools of ZFS
//! were read before, and are given.

use super::{Reading, zfs};
use facts::inventory::Device;
use facts::inventory::device::disks;
use facts::inventory::server::{Array, Zfs};

mod mapped;
mod md;
mod pool;

/// Reads them: md, device mapper, bcache, then btrfs, and the pools of `known`.
pub fn read(reading: &mut Reading<'_>, devices: &[Device], known: Option<&Zfs>) -> Vec<Array> {
    let mut arrays = md::read(reading);
    arrays.extend(mapped::read(reading, devices));
    arrays.extend(pool::btrfs(reading));
    arrays.extend(known.iter().flat_map(|known| &known.pools).map(zfs::array));
    for array in &mut arrays {
        array.disks = disks(devices, &array.members);
    }
    arrays
}

#[cfg(test)]
mod tests;
