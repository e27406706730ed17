//! (pure) Kernel, processors and memory in short.

use serde::{Deserialize, Serialize};

/// What the machine is made of. Nothing here changes by waiting: two inventories of one machine
/// are equal unless something was changed. (`memory_available_bytes` is the exception; it says
/// what a working set had to compete with.)
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Its name.
    pub hostname: Option<String>,
    /// The kernel's release, such as `6.1.0-18-amd64`.
    pub kernel: Option<String>,
    /// What the processor calls itself; some architectures do not tell.
    pub cpu_model: Option<String>,
    /// CPUs that can be used now; left out where nothing tells.
    #[serde(skip_serializing_if = "is_zero")]
    pub cpus_online: u64,
    /// CPUs that are there; left out where nothing tells.
    #[serde(skip_serializing_if = "is_zero")]
    pub cpus_present: u64,
    /// CPUs of one core.
    pub threads_per_core: Option<u64>,
    /// Processor packages.
    pub sockets: Option<u64>,
    /// Who decides on the clock rate, `+` between when CPUs differ; `None` where nobody can.
    pub governor: Option<String>,
    /// NUMA nodes; left out where nothing tells.
    #[serde(skip_serializing_if = "is_zero")]
    pub numa_nodes: u64,
    /// Memory that the kernel has, bytes.
    pub memory_total_bytes: Option<u64>,
    /// Memory that could be had without swapping, bytes.
    pub memory_available_bytes: Option<u64>,
    /// Swap space, bytes.
    pub swap_total_bytes: Option<u64>,
    /// Where the time comes from, such as `tsc`; anything else makes asking for it dear.
    pub clocksource: Option<String>,
    /// Whether the processor says that it is a guest's; `None` where it cannot say.
    pub virtual_machine: Option<bool>,
    /// Who made the machine, or its hypervisor, as its firmware says.
    pub vendor: Option<String>,
    /// The machine's product name, as its firmware says.
    pub product: Option<String>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The numbers of a list such as `0-3,8`, as /sys writes sets of CPUs and nodes. What is no list
/// is left out; so is anything above the most CPUs that a kernel can have (8192).
pub fn cpus(list: &str) -> Vec<u32> {
    const MOST: u32 = 8192;
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        (last < MOST).then_some(first..=last)
    });
    // A list that names more than there can be names some again and again.
    ranges.flatten().take(MOST as usize).collect()
}
