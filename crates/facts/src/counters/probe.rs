//! (pure) What the kernel had counted at one instant.

/// Counts at one instant, or what was added between two. `None`: the kernel does not tell, as for
/// another user's process, or a directory that lies on no block device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
}

impl Snapshot {
    /// What was added since `earlier`; a count that went backwards (a device came back, a file
    /// system was mounted anew) tells nothing.
    pub fn since(&self, earlier: &Snapshot) -> Snapshot {
        let added = |now: Option<u64>, before: Option<u64>| now?.checked_sub(before?);
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
        }
    }
}
