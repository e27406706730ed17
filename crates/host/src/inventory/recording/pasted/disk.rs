//! What several tools tell of one disk, in the files in which the kernel tells it.

use serde_json::Value;

use super::draft::{Block, Draft};
use super::lines;
use crate::inventory::identify;

/// What is told of a disk; what is not is `None`.
#[derive(Clone, Debug, Default)]
pub struct About {
    pub model: Option<String>,
    pub serial: Option<String>,
    pub firmware: Option<String>,
    /// Bytes, and whether they are exact.
    pub size: Option<(u64, bool)>,
    /// Turns a minute; 1 for none.
    pub rotation: Option<u16>,
    pub logical_block_bytes: Option<u64>,
    pub physical_block_bytes: Option<u64>,
    /// Where it is as sure as what the disk says of itself is.
    pub transport: Option<&'static str>,
    /// What its link could do and what it runs at, as `6.0 Gbps`.
    pub sata: Option<(Option<String>, Option<String>)>,
}

impl About {
    /// Tells it of a disk.
    ///
    /// # Errors
    /// When something else was told of it.
    pub fn tell(self, block: &mut Block) -> Result<(), String> {
        // The kernel has room for 16 letters of a SATA disk's model; a longer one is better.
        if let Some(model) = &self.model {
            block.files.move_to("device/model", model);
        }
        if let Some(serial) = &self.serial {
            let known = block.files.get("device/serial").map(<[u8]>::to_vec);
            let other = known.filter(|known| known != serial.as_bytes());
            if let Some(other) = other {
                let other = String::from_utf8_lossy(&other).into_owned();
                return Err(format!(
                    "the serial number is {serial:?} here and {other:?} elsewhere: are the texts \
                     of one machine?"
                ));
            }
            block.files.tell("device/serial", serial)?;
        }
        if let Some(firmware) = &self.firmware {
            block.files.move_to("device/firmware_rev", firmware);
        }
        if let Some((bytes, exact)) = self.size {
            block.sized(bytes, exact)?;
        }
        for (file, bytes) in [
            ("queue/logical_block_size", self.logical_block_bytes),
            ("queue/physical_block_size", self.physical_block_bytes),
        ] {
            if let Some(bytes) = bytes {
                block.files.suppose(file, bytes.to_string());
            }
        }
        if let Some(rotation) = self.rotation.and_then(identify::rotation) {
            let mut page = vec![0, 0xb1, 0, 0x3c];
            page.extend(rotation.to_be_bytes());
            page.resize(64, 0);
            block.files.tell("device/vpd_pgb1", page)?;
            block.files.suppose("queue/rotational", if rotation > 1 { "1" } else { "0" });
        }
        if let Some(transport) = self.transport {
            block.supposed.get_or_insert_with(|| transport.to_owned());
        }
        if let Some((most, now)) = self.sata {
            if let Some(now) = now {
                block.files.move_to("sata_spd", now);
            }
            let bit = match most.as_deref() {
                Some("6.0 Gbps") => 0x0e,
                Some("3.0 Gbps") => 0x06,
                Some("1.5 Gbps") => 0x02,
                _ => 0,
            };
            let words = (0..256).map(|at| if at == 76 { bit } else { 0 });
            let words: Vec<String> = words.map(|word: u16| format!("{word:04x}")).collect();
            block.files.move_to("identify", words.join(" "));
        }
        Ok(())
    }
}

/// The name for a disk whose name no text tells; its serial number may tell which it is.
pub fn unnamed(draft: &Draft) -> String {
    let count = draft.blocks.keys().filter(|name| name.starts_with(UNNAMED)).count();
    format!("{UNNAMED}{}", count + 1)
}

/// How such a name begins.
pub const UNNAMED: &str = "unnamed";

/// The name of a disk as smartctl was asked: behind a RAID card that is its number there.
pub fn asked(device: &str, kind: Option<&str>) -> Option<String> {
    let behind = kind.and_then(|kind| kind.split_once(','));
    let card = ["megaraid", "cciss", "areca", "3ware", "aacraid", "hpt", "sssraid"];
    if let Some((_, number)) =
        behind.filter(|(kind, _)| card.contains(&kind.rsplit('+').next().unwrap_or(kind)))
    {
        let card = kind?.split_once(',')?.0.rsplit('+').next()?;
        let number: String =
            number.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        return Some(format!("{card}_{number}"));
    }
    lines::name(device).ok().map(str::to_owned)
}

/// Adds to what a disk says of its health.
pub fn health(block: &mut Block, key: &str, value: Value) {
    match (block.health.get_mut(key), value) {
        (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
        (_, value) => {
            block.health.insert(key.to_owned(), value);
        }
    }
}
