//! (pure) Drives: their links and their health.

use serde::{Deserialize, Serialize};

use crate::inventory::{Device, DeviceKind};

/// A whole disk; what every block device has is in the [`Device`] of the same name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Drive {
    /// The kernel's name.
    pub name: String,
    /// Maker.
    pub vendor: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// World wide name, or the NVMe namespace's identifier.
    pub wwid: Option<String>,
    /// Address of the PCI function that it hangs on: an NVMe controller, a SAS or SATA HBA, a
    /// virtio device.
    pub controller: Option<String>,
    /// Links between the controller and the disk, from the controller's side; none for NVMe on
    /// PCIe.
    pub links: Vec<Hop>,
    /// Hardware queues.
    pub queues: Option<u64>,
    /// Requests that each queue holds.
    pub queue_depth: Option<u64>,
    /// Turns per minute; 1 for none, as the standards have it.
    pub rpm: Option<u64>,
    /// Why its size, cache or read-ahead matter is told by its device; discards it takes, bytes.
    pub discard_bytes: Option<u64>,
    /// What the drive itself says of its write cache (`cache_type` of a SCSI or SATA disk); the
    /// kernel may have been told otherwise, which `write_cache` of its device tells.
    pub own_write_cache: Option<String>,
    /// Health, as far as it was read.
    pub health: Option<Health>,
}

/// A link between a controller and a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hop {
    /// What it joins: `HBA to expander`, `expander to disk`, `SATA port 3`.
    pub name: String,
    /// Negotiated rate of each lane, bit/s.
    pub bits_per_s: Option<f64>,
    /// The most that both ends could do, bit/s, where known.
    pub max_bits_per_s: Option<f64>,
    /// What software holds this end to, bit/s: the kernel after errors, or somebody who set it;
    /// `None` where it is not held, or not known.
    pub held_to_bits_per_s: Option<f64>,
    /// Lanes (SAS wide ports).
    pub lanes: u32,
    /// Identity, so that disks that share a link can be seen to: the sysfs name of the port.
    pub id: String,
    /// The file that says so.
    pub place: String,
}

/// Health of a disk; each is `None` when it was not read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// Who said so: `hwmon`, `nvme log`, `smartctl`.
    pub source: String,
    /// The drive's own verdict.
    pub passed: Option<bool>,
    /// What an NVMe drive warns of now, a bit a reason; see [`Health::warns_of`].
    pub critical_warning: Option<u64>,
    /// Temperature, degrees Celsius.
    pub celsius: Option<f64>,
    /// Temperature above which it warns or slows down, degrees Celsius.
    pub warning_celsius: Option<f64>,
    /// Temperature at which it stops or is damaged, degrees Celsius.
    pub critical_celsius: Option<f64>,
    /// Sectors that were replaced.
    pub reallocated_sectors: Option<u64>,
    /// Sectors that could not be read and wait.
    pub pending_sectors: Option<u64>,
    /// Sectors that could not be read, as the drive counts them.
    pub uncorrectable_sectors: Option<u64>,
    /// NVMe media errors.
    pub media_errors: Option<u64>,
    /// Entries in the log of errors of an NVMe controller; commands that it refused are among them.
    pub logged_errors: Option<u64>,
    /// Errors of the link (SATA CRC).
    pub link_errors: Option<u64>,
    /// Share of its life that is used, 0 to 1 (may exceed 1).
    pub used_share: Option<f64>,
    /// Hours it was on.
    pub power_on_hours: Option<u64>,
    /// Whether the write cache keeps data through a power cut, where the drive tells.
    pub power_loss_protected: Option<bool>,
}

/// Critical Warning of an NVMe drive, by bit (NVM Express Base 2.0, figure 207).
const WARNINGS: [&str; 6] = [
    "its spare blocks run out",
    "its temperature is beyond its limits",
    "it has become unreliable",
    "it can only be read now",
    "what keeps its cache through a power cut has failed",
    "its persistent memory region can only be read, or is unreliable",
];
/// The bit that says nothing of what is on the drive.
const TEMPERATURE: usize = 1;

impl Health {
    /// What an NVMe drive says that is wrong with it, but for its temperature.
    pub fn warns_of(&self) -> Vec<&'static str> {
        let bits = self.critical_warning.unwrap_or(0);
        let set = |(bit, _): &(usize, &&str)| *bit != TEMPERATURE && bits >> bit & 1 == 1;
        WARNINGS.iter().enumerate().filter(set).map(|(_, what)| *what).collect()
    }

    /// What it says when it warns of its temperature; whether it does is not known of other drives.
    pub fn warns_of_temperature(&self) -> Option<&'static str> {
        let bits = self.critical_warning?;
        (bits >> TEMPERATURE & 1 == 1).then_some(WARNINGS[TEMPERATURE])
    }

    /// Whether it says that it fails: one that warns of its temperature alone does not.
    pub fn fails(&self) -> bool {
        let warm = self.critical_warning == Some(1 << TEMPERATURE);
        self.passed == Some(false) && !warm
    }
}

/// Whether a device is a drive, or what looks like one to this machine: nothing made of memory,
/// files or other devices, no floppy and no optical disk.
pub fn is_drive(device: &Device) -> bool {
    let made = ["md", "dm", "bcache", "zvol", "memory", "loop", "drbd", "floppy"];
    let optical = device
        .name
        .strip_prefix("sr")
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()));
    device.kind == DeviceKind::Disk && !made.contains(&device.transport.as_str()) && !optical
}
