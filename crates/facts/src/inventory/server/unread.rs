//! (pure) What could not be read, and why.

use serde::{Deserialize, Serialize};

/// What [`Unread::what`] says where nothing tells which disks there are.
pub const DISKS: &str = "the disks";
/// And which network interfaces.
pub const INTERFACES: &str = "the network interfaces";

/// Something that was not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unread {
    /// What it would have told: `the memory modules`.
    pub what: String,
    /// The file, or the command.
    pub place: String,
    /// The kernel's words, or what is missing.
    pub why: String,
    /// What to type to have it; empty when nothing helps.
    pub hint: String,
}
