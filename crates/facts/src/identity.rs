//! (pure) What tells a device from another one that has taken its name.
//!
//! `host::journal::identity` finds it, and looks whether it is still there.

use serde::{Deserialize, Serialize};

/// What identifies the block device behind a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The kernel's name: `sda`, `md0`, `loop3`; for btrfs the file system's UUID; for a network
    /// namespace `net:[INODE]`; for a network interface its name.
    pub name: String,
    /// Major and minor number, `8:0`; none for a file system or a namespace.
    pub number: Option<String>,
    /// Counts up with every disk that this boot has seen, so that it tells two on one loop device
    /// apart; since Linux 5.15 (Documentation/ABI/stable/sysfs-block, `diskseq`). Of a network
    /// interface its number, which counts up with every one that its namespace has seen.
    pub sequence: Option<String>,
    /// What it is known by elsewhere: a serial number, a WWID, a UUID, a loop's backing file.
    pub known_as: Option<String>,
}

/// Marks a network namespace.
pub const NETWORK_MARK: &str = "network-namespace";
/// Marks an interface: after it come its namespace, its address and the one that it was made with.
pub const INTERFACE_MARK: &str = "interface-of:";

impl Identity {
    /// The network namespace that this is, or that this interface is in.
    pub fn network(&self) -> Option<&str> {
        let marked = self.known_as.as_deref()?.strip_prefix(INTERFACE_MARK);
        let named = || self.is_network().then_some(self.name.as_str());
        marked.and_then(|rest| rest.split(' ').next()).or_else(named)
    }

    /// Whether it is a network namespace.
    pub fn is_network(&self) -> bool {
        self.known_as.as_deref() == Some(NETWORK_MARK)
    }
}
