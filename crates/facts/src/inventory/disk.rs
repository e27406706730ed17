//! (pure) A whole disk that a plan names.

use crate::identity::Identity;
use std::path::PathBuf;

/// A disk that a plan may destroy, once confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// As the plan names it: `serial:S4EVNX0R12345`, `/dev/disk/by-id/...`, `loop:/srv/a.img`.
    pub named: String,
    /// The kernel's name now, such as `sdb`; another one at the next boot.
    pub name: String,
    /// Its node now, such as `/dev/sdb`.
    pub node: PathBuf,
    /// Size, bytes.
    pub size_bytes: u64,
    /// What tells it from another disk that takes its name.
    pub identity: Identity,
}
