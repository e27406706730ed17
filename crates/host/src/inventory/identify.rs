//! What a SATA disk says of itself: its IDENTIFY DEVICE data (ATA8-ACS, 7.16), 256 words.
//!
//! The kernel keeps a copy that anybody may read: page 0x89 of the vital product data (SAT-4,
//! 12.4.2), which SAS adapters give of SATA disks too, or /sys/class/ata_device/devN.0/id.

use std::path::Path;

use super::sysfs::bytes_of;
use crate::sys::Host;

/// The words, as far as they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identify {
    words: Vec<u16>,
}

/// From here on a number of a port is no machine's: a text that was pasted tells of a disk's link,
/// and not which port it is on.
pub const UNNUMBERED: u32 = 1_000_000;

/// Words of IDENTIFY DEVICE data.
const WORDS: usize = 256;

/// The data of the disk whose directory in /sys is `whole`; `None` when it is no ATA disk, or its
/// driver tells nothing.
pub fn read_identify(host: &Host, whole: &Path) -> Option<Identify> {
    let page = bytes_of(host, &whole.join("device/vpd_pg89"));
    page.and_then(|page| from_page(&page)).or_else(|| {
        let port = ata_port(whole)?;
        // Behind a port multiplier the device is `devN.M.0`, and the page above tells more surely.
        from_text(&host.read(format!("/sys/class/ata_device/dev{port}.0/id")).ok()?)
    })
}

/// The kernel's number of the ATA port that a path in /sys leads through: 3 of `/ata3/`.
pub fn ata_port(path: &Path) -> Option<u32> {
    path.components().find_map(|part| {
        let number = part.as_os_str().to_str()?.strip_prefix("ata")?;
        number.parse().ok()
    })
}

/// The words stand at byte 60, lowest byte first.
fn from_page(page: &[u8]) -> Option<Identify> {
    let data = page.get(60..)?.chunks_exact(2).take(WORDS);
    let words: Vec<u16> = data.map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    (page.get(1) == Some(&0x89)).then_some(Identify { words })
}

/// Words of four hexadecimal digits with blanks between.
fn from_text(text: &str) -> Option<Identify> {
    let words = text.split_whitespace().take(WORDS);
    let word = |word: &str| match word.len() {
        4 => u16::from_str_radix(word, 16).ok(),
        _ => None,
    };
    let words: Vec<u16> = words.map_while(word).collect();
    (!words.is_empty()).then_some(Identify { words })
}

impl Identify {
    /// The fastest link that the disk can do, bit/s: word 76, bits 1 to 3.
    pub fn fastest_bits_per_s(&self) -> Option<f64> {
        let word = *self.words.get(76)?;
        if word == u16::MAX {
            return None;
        }
        let known = [(3, 6e9), (2, 3e9), (1, 1.5e9)];
        known.into_iter().find(|(bit, _)| word >> bit & 1 == 1).map(|(_, rate)| rate)
    }

    /// Firmware revision: words 23 to 26, two letters each.
    pub fn firmware(&self) -> Option<String> {
        let bytes: Vec<u8> =
            self.words.get(23..27)?.iter().flat_map(|word| word.to_be_bytes()).collect();
        let text = std::str::from_utf8(&bytes).ok()?.trim();
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        (!text.is_empty() && printable).then(|| text.to_owned())
    }

    /// Medium rotation rate, word 217: turns a minute, or 1 for none. See [`rotation`].
    pub fn rotation(&self) -> Option<u16> {
        rotation(*self.words.get(217)?)
    }
}

/// A medium rotation rate as ATA and SCSI write it (ACS-3, 7.12.7.94; SBC-4, 6.6.2): 0 is not
/// reported, 1 does not rotate, other numbers up to 0x400 and 0xffff are reserved.
pub fn rotation(word: u16) -> Option<u16> {
    (word == 1 || (0x401..0xffff).contains(&word)).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Vec<u16> {
        let mut words = vec![0; WORDS];
        words[23..27].copy_from_slice(&[0x4e51, 0x3031, 0x2020, 0x2020]);
        words[76] = 0x850e;
        words[217] = 7200;
        words
    }

    fn page() -> Vec<u8> {
        let mut page = vec![0; 60];
        page[1] = 0x89;
        page.extend(words().iter().flat_map(|word| word.to_le_bytes()));
        page
    }

    #[test]
    fn page_and_text_tell_the_same() {
        let text: Vec<String> = words().iter().map(|word| format!("{word:04x}")).collect();
        let disk = from_text(&text.join(" ")).unwrap();
        assert_eq!(from_page(&page()), Some(disk.clone()));
        assert_eq!(disk.fastest_bits_per_s(), Some(6e9));
        assert_eq!((disk.firmware().as_deref(), disk.rotation()), (Some("NQ01"), Some(7200)));
    }

    #[test]
    fn what_is_cut_off_or_nonsense_tells_nothing() {
        let page = page();
        let whole = from_page(&page).unwrap();
        for end in 0..page.len() {
            let Some(cut) = from_page(&page[..end]) else { continue };
            assert!([None, whole.fastest_bits_per_s()].contains(&cut.fastest_bits_per_s()));
            assert!([None, whole.rotation()].contains(&cut.rotation()), "cut at {end}");
            assert!([None, whole.firmware()].contains(&cut.firmware()), "cut at {end}");
        }
        for text in ["", "zzzz", "00", "\u{fffd}", &"f".repeat(1 << 20)] {
            assert_eq!(from_text(text), None);
        }
        let ones = from_text(&"ffff ".repeat(300)).unwrap();
        assert_eq!(
            (ones.fastest_bits_per_s(), ones.rotation(), ones.firmware()),
            (None, None, None)
        );
        assert_eq!([0, 1, 2, 0x400, 0xffff].map(rotation), [None, Some(1), None, None, None]);
    }
}
