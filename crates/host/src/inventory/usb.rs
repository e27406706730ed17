//! USB links on the way to a disk (Documentation/ABI/testing/sysfs-bus-usb): of each device from
//! the root hub down, the rate of the link above it.

use std::path::Path;

use crate::sys::Host;

/// A link of USB.
#[derive(Clone, Debug, PartialEq)]
pub struct UsbLink {
    /// The kernel's name of the device at its lower end: bus, then ports, as `2-1.4`.
    pub id: String,
    /// All lanes together, 10^6 bit/s.
    pub megabits: Option<f64>,
    /// The file that says so.
    pub place: String,
}

/// The links above the disk at `path` (in /sys, without symbolic links), from the root hub down.
pub fn links(host: &Host, path: &Path) -> Vec<UsbLink> {
    let mut places: Vec<&Path> = path.ancestors().filter(|place| is_device(place)).collect();
    places.reverse();
    let link = |place: &Path| {
        let file = place.join("speed");
        let megabits = host.word(&file).and_then(|word| word.parse::<f64>().ok());
        Some(UsbLink {
            id: place.file_name()?.to_str()?.to_owned(),
            // 1.5 to 80 000 today.
            megabits: megabits.filter(|rate| *rate > 0.0 && *rate <= 1e6),
            place: file.to_string_lossy().into_owned(),
        })
    };
    places.into_iter().filter_map(link).collect()
}

/// `2-1.4`. Not `2-1.4:1.0`, an interface.
fn is_device(place: &Path) -> bool {
    let name = place.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.split_once('-').is_some_and(|(bus, ports)| number(bus) && ports.split('.').all(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_devices_are_devices() {
        for name in ["2-1", "2-1.4", "10-3.2.1"] {
            assert!(is_device(Path::new(name)), "{name}");
        }
        for name in ["", "usb2", "2-1:1.0", "2-1.4:1.0", "2-", "-1", "2-1..4", "phy-0:0", "6:0:0:0"]
        {
            assert!(!is_device(Path::new(name)), "{name}");
        }
    }
}
