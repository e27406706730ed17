//! (pure) What the kernel had counted at one instant.

use crate::inventory::LayerReads;
use serde::{Deserialize, Serialize};

/// What ZFS counted: in its cache (the ARC) for all pools of the machine together, and of the
/// datasets and the pool that a load uses. Counts at one instant, or what was added between two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PoolCounts {
    /// Blocks of data that were asked for and were in the ARC.
    pub demand_hits: u64,
    /// The same that were on their way there; `None` before 2.2, where nobody counts them.
    pub demand_waits: Option<u64>,
    /// Blocks of data that were asked for and had to be fetched.
    pub demand_misses: u64,
    /// Blocks of data that were fetched before anybody asked for them.
    pub prefetch_misses: u64,
    /// Of `demand_hits`, those that prefetching had brought and nobody had asked for before.
    pub prefetched_hits: u64,
    /// Of `demand_waits`, those that prefetching had asked for; `None` before 2.2.
    pub prefetched_waits: Option<u64>,
    /// Of the blocks that were fetched, those that came from cache devices (L2ARC).
    pub second_level_hits: u64,
    /// What was read from cache devices, bytes.
    pub second_level_read_bytes: u64,
    /// What programs read of the datasets, bytes; `None` where that is not told.
    pub dataset_read_bytes: Option<u64>,
    /// What was read of the pool around the ARC, bytes; `None` before 2.3.
    pub direct_read_bytes: Option<u64>,
}

impl PoolCounts {
    /// What was added since `earlier`; `None` when a count went backwards: a pool was exported, the
    /// module was loaded anew.
    fn since(&self, earlier: &PoolCounts) -> Option<PoolCounts> {
        let both = |now: Option<u64>, before: Option<u64>| match (now, before) {
            (Some(now), Some(before)) => now.checked_sub(before).map(Some),
            _ => Some(None),
        };
        Some(PoolCounts {
            demand_hits: self.demand_hits.checked_sub(earlier.demand_hits)?,
            demand_waits: both(self.demand_waits, earlier.demand_waits)?,
            demand_misses: self.demand_misses.checked_sub(earlier.demand_misses)?,
            prefetch_misses: self.prefetch_misses.checked_sub(earlier.prefetch_misses)?,
            prefetched_hits: self.prefetched_hits.checked_sub(earlier.prefetched_hits)?,
            prefetched_waits: both(self.prefetched_waits, earlier.prefetched_waits)?,
            second_level_hits: self.second_level_hits.checked_sub(earlier.second_level_hits)?,
            second_level_read_bytes: self
                .second_level_read_bytes
                .checked_sub(earlier.second_level_read_bytes)?,
            dataset_read_bytes: both(self.dataset_read_bytes, earlier.dataset_read_bytes)?,
            direct_read_bytes: both(self.direct_read_bytes, earlier.direct_read_bytes)?,
        })
    }
}

/// Counts at one instant, or what was added between two. `None`: the kernel does not tell, as for
/// another user's process, or a directory that lies on no block device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// `read_bytes` of /proc/PID/io.
    pub process_read_bytes: Option<u64>,
    /// `write_bytes` of /proc/PID/io.
    pub process_write_bytes: Option<u64>,
    /// Sectors read by the devices, in bytes.
    pub device_read_bytes: Option<u64>,
    /// Sectors written by the devices, in bytes.
    pub device_write_bytes: Option<u64>,
    /// Sectors read by the disks at the bottom of the devices, in bytes.
    pub leaf_read_bytes: Option<u64>,
    /// Sectors written by these, in bytes.
    pub leaf_write_bytes: Option<u64>,
    /// What NFS servers sent for reading, over all file systems of theirs, in bytes.
    pub remote_read_bytes: Option<u64>,
    /// What the threads of this machine's NFS server had its devices read, bytes.
    pub server_read_bytes: Option<u64>,
    /// Sectors read by the devices that this server serves from, in bytes.
    pub server_device_read_bytes: Option<u64>,
    /// What ZFS counted, where the load's directories lie on it.
    pub pool: Option<PoolCounts>,
    /// Of each layer below the devices that caches, in the order in which they were named.
    pub layers: Vec<LayerReads>,
}

impl Snapshot {
    /// What was added since `earlier`; a count that went backwards (a device came back, a file
    /// system was mounted anew) tells nothing.
    pub fn since(&self, earlier: &Snapshot) -> Snapshot {
        Snapshot {
            process_read_bytes: added(self.process_read_bytes, earlier.process_read_bytes),
            process_write_bytes: added(self.process_write_bytes, earlier.process_write_bytes),
            device_read_bytes: added(self.device_read_bytes, earlier.device_read_bytes),
            device_write_bytes: added(self.device_write_bytes, earlier.device_write_bytes),
            leaf_read_bytes: added(self.leaf_read_bytes, earlier.leaf_read_bytes),
            leaf_write_bytes: added(self.leaf_write_bytes, earlier.leaf_write_bytes),
            remote_read_bytes: added(self.remote_read_bytes, earlier.remote_read_bytes),
            server_read_bytes: added(self.server_read_bytes, earlier.server_read_bytes),
            server_device_read_bytes: added(
                self.server_device_read_bytes,
                earlier.server_device_read_bytes,
            ),
            pool: self.pool.and_then(|now| now.since(&earlier.pool?)),
            layers: self.layers.iter().zip(&earlier.layers).map(layer_since).collect(),
        }
    }
}

fn added(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    now?.checked_sub(before?)
}

fn layer_since((now, earlier): (&LayerReads, &LayerReads)) -> LayerReads {
    LayerReads {
        given_bytes: added(now.given_bytes, earlier.given_bytes),
        cache_bytes: added(now.cache_bytes, earlier.cache_bytes),
        origin_bytes: added(now.origin_bytes, earlier.origin_bytes),
    }
}
