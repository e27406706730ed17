//! Temperatures of drives, from the sensors that the kernel has for them.
//!
//! See Documentation/hwmon/drivetemp.rst, Documentation/hwmon/sysfs-interface.rst and the kernel's
//! drivers/nvme/host/hwmon.c. Each reading is a command to the drive. An NVMe drive answers on a
//! queue of its own, so it is asked every 10 s. A SATA drive must finish all queued commands
//! first, and asking may reset the timer that lets a disk sleep: it is asked when the counting
//! begins and when it ends, and in long trials every 5 minutes, through which no disk under load
//! sleeps. Both need a driver: `nvme` built with CONFIG_NVME_HWMON, `drivetemp` loaded. Drives
//! behind a RAID card and in most virtual machines show no sensor.

use std::path::{Path, PathBuf};

use super::patient::{Patient, Put};
use super::{CounterSource, Sample, Subject};
use crate::inventory::{nvme_controllers, sensor};
use crate::sys::Host;
use facts::counters::table::Field;

/// `warning` is the threshold of the drive's own alarm, by default its Warning Composite
/// Temperature; `critical` its Critical Composite Temperature (NVM Express Base 2.0, 5.17.2.1).
pub const NVME: CounterSource = CounterSource {
    name: "nvme-temperature",
    about: "Temperature of the NVMe drives below the target, and the limits that they state",
    fields: &[
        Field::gauge("temperature_millikelvin"),
        Field::gauge("warning_millikelvin"),
        Field::gauge("critical_millikelvin"),
    ],
    every_ns: 10_000_000_000,
    born_at_zero: false,
    open: open_nvme,
};

/// `recommended` is the highest for continuous work, `highest` the one above which the drive may
/// be damaged, both as the drive itself states them (SCT, ATA8-ACS).
pub const SATA: CounterSource = CounterSource {
    name: "sata-temperature",
    about: "Temperature of the SATA drives below the target, and the limits that they state",
    fields: &[
        Field::gauge("temperature_millikelvin"),
        Field::gauge("recommended_millikelvin"),
        Field::gauge("highest_millikelvin"),
    ],
    every_ns: 300_000_000_000,
    born_at_zero: false,
    open: open_sata,
};

/// A sensor, and the drive that it belongs to.
struct Sensor {
    drive: String,
    directory: PathBuf,
    /// `temp1_max` and `temp1_crit`: read once, as the first of them takes a command too.
    limits: Option<[Option<u64>; 2]>,
}

fn open_nvme(host: &Host, subject: &Subject) -> Option<Box<dyn Sample>> {
    start(host, nvme_sensors(host, &subject.devices))
}

fn open_sata(host: &Host, subject: &Subject) -> Option<Box<dyn Sample>> {
    start(host, sata_sensors(host, &subject.devices))
}

/// Whether one of these block devices has a sensor that can be asked now.
pub fn any(host: &Host, devices: &[String]) -> bool {
    !nvme_sensors(host, devices).is_empty() || !sata_sensors(host, devices).is_empty()
}

fn start(host: &Host, mut sensors: Vec<Sensor>) -> Option<Box<dyn Sample>> {
    if sensors.is_empty() {
        return None;
    }
    let host = host.clone();
    let patient = Patient::start(move |put| {
        sensors.iter_mut().for_each(|sensor| sensor.read(&host, put));
    });
    Some(Box::new(patient?))
}

/// One sensor a controller, however many namespaces it has.
fn nvme_sensors(host: &Host, devices: &[String]) -> Vec<Sensor> {
    let mut sensors: Vec<Sensor> = Vec::new();
    for controller in devices.iter().flat_map(|name| controllers(host, name)) {
        let Some(drive) = controller.file_name().and_then(|name| name.to_str()) else { continue };
        if sensors.iter().any(|known| known.drive == drive) {
            continue;
        }
        if let Some(directory) = sensor::of_nvme(host, &controller) {
            sensors.push(Sensor { drive: drive.to_owned(), directory, limits: None });
        }
    }
    sensors
}

/// The NVMe controllers of the block device `name`; none when it is no NVMe namespace.
pub fn controllers(host: &Host, name: &str) -> Vec<PathBuf> {
    if !name.starts_with("nvme") {
        return Vec::new();
    }
    nvme_controllers(host, &Path::new("/sys/class/block").join(name))
}

fn sata_sensors(host: &Host, devices: &[String]) -> Vec<Sensor> {
    let of = |name: &String| {
        let directory = sensor::of_sata(host, name)?;
        Some(Sensor { drive: name.clone(), directory, limits: None })
    };
    devices.iter().filter_map(of).collect()
}

impl Sensor {
    fn read(&mut self, host: &Host, put: Put<'_>) {
        let read = |file: &str| sensor::millikelvin(host, &self.directory.join(file));
        // A drive that is gone, or asleep, or says -ENODATA, has no temperature now.
        let temperature = read("temp1_input");
        let limits = self.limits.unwrap_or_else(|| ["temp1_max", "temp1_crit"].map(read));
        self.limits = Some(limits);
        for (field, value) in [temperature].into_iter().chain(limits).enumerate() {
            if let Some(value) = value {
                put(&self.drive, field, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{parse_whole_and_truncated, two_rows};
    use crate::inventory::recording::Recording;
    use facts::counters::series::Series;

    fn columns(series: &Series) -> Vec<(&str, u64)> {
        let last = |values: &[u64]| *values.last().unwrap();
        series.columns.iter().map(|column| (column.name.as_str(), last(&column.values))).collect()
    }

    #[test]
    fn an_nvme_drive_is_read_once_for_all_its_namespaces_and_partitions() {
        let machine = Recording::open("sensors");
        let devices = ["dm-0", "nvme0n1p1", "nvme0n1", "nvme0n2", "nvme1n1"];
        let series = two_rows(&NVME, &machine.host(), &devices, || {}).unwrap();
        let expected = [
            ("nvme0.temperature_millikelvin", 273_150 + 41_850),
            ("nvme0.warning_millikelvin", 273_150 + 81_850),
            ("nvme0.critical_millikelvin", 273_150 + 84_850),
            // Below its PCI device, as on older kernels, and without limits.
            ("nvme1.temperature_millikelvin", 273_150 + 35_850),
        ];
        assert_eq!(columns(&series), expected);
        assert_eq!(series.columns[0].kind, facts::counters::series::ColumnKind::Gauge);
    }

    /// `soak` ran a night on disks without a sensor, and never said that it could not tell how warm
    /// they became.
    #[test]
    fn drives_without_a_sensor_are_told_from_those_with_one() {
        let machine = Recording::open("sensors");
        let host = machine.host();
        let any = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            any(&host, &names)
        };
        assert!(any(&["sdb", "sda"]) && any(&["nvme0n1"]));
        assert!(!any(&["sdb"]) && !any(&["dm-0"]) && !any(&[]));
    }

    #[test]
    fn a_sata_drive_is_read_through_drivetemp_and_never_through_another_driver() {
        let machine = Recording::open("sensors");
        let series = two_rows(&SATA, &machine.host(), &["sda1", "sda", "sdb"], || {}).unwrap();
        let expected = [
            ("sda.temperature_millikelvin", 273_150 - 5_000),
            ("sda.recommended_millikelvin", 273_150 + 60_000),
            ("sda.highest_millikelvin", 273_150 + 70_000),
        ];
        assert_eq!(columns(&series), expected, "sdb's sensor is another driver's");
    }

    #[test]
    fn drives_without_sensors_yield_no_series() {
        let machine = Recording::open("virtio-guest");
        for source in [&NVME, &SATA] {
            assert!(
                two_rows(source, &machine.host(), &["vda"], || {}).is_none(),
                "{}",
                source.name
            );
            let hostile = ["", ".", "..", "../../etc", "nvme", "nvme0n1", "a/b", "\0"];
            assert!(
                two_rows(source, &machine.host(), &hostile, || {}).is_none(),
                "{}",
                source.name
            );
            assert!(two_rows(source, &machine.host(), &[], || {}).is_none(), "{}", source.name);
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes and unmakes fixtures")]
    fn a_drive_that_vanishes_in_mid_trial_keeps_its_last_temperature() {
        let machine = Recording::open("sensors");
        let host = machine.host();
        let gone = host.path("/sys/class/block/sda/device/hwmon/hwmon2");
        let series = two_rows(&SATA, &host, &["sda"], || std::fs::remove_dir_all(&gone).unwrap());
        let series = series.unwrap();
        let last = 273_150 - 5_000;
        assert_eq!(series.column("sda.temperature_millikelvin").unwrap().values, [last, last]);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes fixtures")]
    fn what_a_broken_sensor_says_is_no_temperature() {
        let machine = Recording::open("sensors");
        let host = machine.host();
        let file = host.path("/sys/class/block/sda/device/hwmon/hwmon2/temp1_input");
        let long = vec![b'9'; 1 << 20];
        let (huge, cold) = (&b"18446744073709551615\n"[..], &b"-273150\n"[..]);
        for text in
            [&b""[..], b"\n", b"-\n", b"--5\n", b"4 1\n", b"41.5\n", b"\xff\n", &long, huge, cold]
        {
            std::fs::write(&file, text).unwrap();
            let series = two_rows(&SATA, &host, &["sda"], || {}).unwrap();
            assert_eq!(series.column("sda.temperature_millikelvin"), None, "{text:?}");
        }
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        let series = two_rows(&SATA, &host, &["sda"], || {}).unwrap();
        assert_eq!(series.column("sda.temperature_millikelvin"), None, "a directory");
    }

    #[test]
    fn a_number_that_is_cut_off_is_no_temperature() {
        for (text, expected) in [("41850\n", 315_000), ("-5000\n", 268_150), ("0\n", 273_150)] {
            let all = parse_whole_and_truncated(text, |text, put| {
                sensor::parse(text).into_iter().for_each(|value| put(b"", 0, value));
            });
            assert_eq!(all, [(String::new(), 0, expected)]);
        }
    }
}
