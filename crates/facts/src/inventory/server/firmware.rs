//! (pure) Board, chassis, firmware and slots.

use serde::{Deserialize, Serialize};

/// What the firmware says of the machine. Arm servers without SMBIOS have a device tree's model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Firmware {
    /// Maker of the system.
    pub vendor: Option<String>,
    /// Product name of the system.
    pub product: Option<String>,
    /// Serial number of the system; takes root.
    pub serial: Option<String>,
    /// Maker and name of the board.
    pub board: Option<String>,
    /// Kind of chassis: `rack mount chassis`, `notebook`, ... (SMBIOS type 3).
    pub chassis: Option<String>,
    /// Maker, version and date of the firmware.
    pub bios: Option<String>,
    /// Slots for cards (SMBIOS type 9).
    pub slots: Vec<Slot>,
}

/// A slot for a card, as the board's maker describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Slot {
    /// What is printed on the board: `PCIe Slot 3`.
    pub name: String,
    /// What it is, such as `PCI Express Gen 2 x8`.
    pub kind: Option<String>,
    /// Electrical width in lanes.
    pub lanes: Option<u32>,
    /// Whether something is in it.
    pub occupied: Option<bool>,
    /// PCI address of what is in it, such as `0000:03:00.0`.
    pub address: Option<String>,
}
