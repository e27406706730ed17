//! (pure) Memory and its modules.

use serde::{Deserialize, Serialize};

/// The memory of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// What the kernel has, bytes.
    pub total_bytes: Option<u64>,
    /// Swap, bytes.
    pub swap_bytes: Option<u64>,
    /// Whether transparent huge pages are used: `always`, `madvise`, `never`.
    pub transparent_huge_pages: Option<String>,
    /// Modules (SMBIOS type 17), empty sockets too; none where that cannot be read.
    pub modules: Vec<Module>,
    /// Channels that hold modules, where the modules' places tell.
    pub channels: Option<u32>,
    /// Errors that ECC corrected since boot (EDAC).
    pub corrected_errors: Option<u64>,
    /// Errors that ECC could not correct (EDAC).
    pub uncorrected_errors: Option<u64>,
}

/// A socket for a memory module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Module {
    /// What is printed on the board: `DIMM_A1`.
    pub place: String,
    /// Bank or channel, as the firmware calls it.
    pub bank: Option<String>,
    /// The channel that it is on, with the controller or socket that tells it from others of the
    /// same name; `None` where the names do not follow a pattern that is known.
    pub channel: Option<String>,
    /// Size, bytes; `None` when the socket is empty.
    pub size_bytes: Option<u64>,
    /// `DDR4`, ...
    pub kind: Option<String>,
    /// What it could do, MT/s.
    pub speed_mt_per_s: Option<u64>,
    /// What it is set to, MT/s.
    pub configured_mt_per_s: Option<u64>,
    /// Width of its data path, bits.
    pub data_bits: Option<u64>,
    /// Maker and part number.
    pub part: Option<String>,
}
