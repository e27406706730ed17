//! Which of the kernel's sensors belong to which drive, and what their files say
//! (Documentation/hwmon/sysfs-interface.rst).
//!
//! Reading `temp1_input` is a command to the drive: when to do so is left to the caller.

use facts::counters::ZERO_CELSIUS_MILLIKELVIN;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::sys::Host;

/// The directory of the sensor of the NVMe controller at `controller` in /sys. It hangs below the
/// controller, on older kernels below the controller's PCI device.
pub fn of_nvme(host: &Host, controller: &Path) -> Option<PathBuf> {
    let places = [controller.to_owned(), controller.join("hwmon"), controller.join("device/hwmon")];
    places.iter().find_map(|place| sensor(host, place, "nvme"))
}

/// The directory of the sensor of the block device `name`: `drivetemp` hangs it below the SCSI
/// device.
pub fn of_sata(host: &Host, name: &str) -> Option<PathBuf> {
    sensor(host, Path::new(&format!("/sys/class/block/{name}/device/hwmon")), "drivetemp")
}

/// The `hwmonN` in the directory `place` that calls itself `driver`.
fn sensor(host: &Host, place: &Path, driver: &str) -> Option<PathBuf> {
    let names = host.list(place).into_iter().filter(|name| {
        let number = name.strip_prefix("hwmon").unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    names.map(|name| place.join(name)).find(|directory| {
        host.word(directory.join("name")).is_some_and(|name| name == driver)
            && host.exists(directory.join("temp1_input"))
    })
}

/// A temperature file of a sensor, thousandths of a kelvin; `None` when a drive is gone, asleep, or
/// says nothing that is a temperature.
pub fn millikelvin(host: &Host, file: &Path) -> Option<u64> {
    let mut bytes = Vec::new();
    host.open(file).ok()?.take(64).read_to_end(&mut bytes).ok()?;
    parse(&bytes)
}

/// A line of thousandths of a degree Celsius, as thousandths of a kelvin; `None` when it is none,
/// is cut off, or is absolute zero or below, as from a drive that reports 0 kelvin because it has
/// no sensor.
pub fn parse(text: &[u8]) -> Option<u64> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let number = |digits: &[u8]| {
        let only_digits = digits.iter().all(u8::is_ascii_digit);
        std::str::from_utf8(digits).ok().filter(|_| only_digits)?.parse::<u64>().ok()
    };
    let kelvin = match text[..end].strip_prefix(b"-") {
        Some(below) => ZERO_CELSIUS_MILLIKELVIN.checked_sub(number(below)?)?,
        None => ZERO_CELSIUS_MILLIKELVIN.checked_add(number(&text[..end])?)?,
    };
    (kelvin > 0).then_some(kelvin)
}
