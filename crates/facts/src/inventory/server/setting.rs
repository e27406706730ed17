//! (pure) Settings of the kernel that matter to a storage server.

use serde::{Deserialize, Serialize};

/// A setting of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setting {
    /// As sysctl(8) names it: `vm.dirty_ratio`; `tuned profile` for that of tuned(8).
    pub name: String,
    /// As the kernel prints it, blanks made one.
    pub value: String,
    /// Where it was read.
    pub place: String,
}
