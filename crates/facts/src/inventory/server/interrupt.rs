//! (pure) Interrupts, and the CPUs that may take them.

use serde::{Deserialize, Serialize};

/// An interrupt and where it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interrupt {
    /// Its number.
    pub number: u64,
    /// What the kernel calls it: `eth0-TxRx-3`.
    pub name: String,
    /// CPUs that take it now (effective_affinity_list), else that may (smp_affinity_list).
    pub cpus: String,
}
