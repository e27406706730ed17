//! Temperature of processors, from the sensors that the kernel has for them.
//!
//! See Documentation/hwmon/coretemp.rst and k10temp.rst: Intel's have one sensor a package and one
//! a core, of which the package's is never cooler; AMD's have one for control (`Tctl`), which on
//! some is set higher than the die (`Tdie`). On Arm `cpu_thermal` stands for a thermal zone. Most
//! virtual machines have none.

use std::path::{Path, PathBuf};

use super::{CounterSource, Sample, Subject};
use crate::inventory::sensor;
use crate::sys::Host;
use facts::counters::table::{Field, Table};

/// `critical` is where the processor stops itself, as far as the sensor states it.
pub const CPU: CounterSource = CounterSource {
    name: "cpu-temperature",
    about: "Temperature of each processor package, and the limit that it states",
    fields: &[Field::gauge("temperature_millikelvin"), Field::gauge("critical_millikelvin")],
    // On Intel's each reading wakes a CPU of that package.
    every_ns: 10_000_000_000,
    born_at_zero: false,
    open,
};

/// Drivers of such sensors.
const DRIVERS: [&str; 4] = ["coretemp", "k10temp", "zenpower", "cpu_thermal"];
/// What the sensor of a whole package is called, the best first.
const WHOLE: [&str; 3] = ["Package id", "Tdie", "Tctl"];
/// Sensors of a package that are read where none is the whole package's.
const SENSORS_MAX: usize = 32;

struct Package {
    name: String,
    /// Files whose highest is the package's.
    inputs: Vec<PathBuf>,
    critical: Option<u64>,
}

struct Packages {
    host: Host,
    packages: Vec<Package>,
}

fn packages(host: &Host) -> Vec<Package> {
    let names = host.list("/sys/class/hwmon").into_iter();
    names.filter_map(|name| package(host, &Path::new("/sys/class/hwmon").join(name))).collect()
}

/// Whether a processor has a sensor.
pub fn any(host: &Host) -> bool {
    !packages(host).is_empty()
}

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    let packages = packages(host);
    (!packages.is_empty()).then(|| Box::new(Packages { host: host.clone(), packages }) as _)
}

fn package(host: &Host, directory: &Path) -> Option<Package> {
    let driver = host.word(directory.join("name"))?;
    if !DRIVERS.contains(&driver.as_str()) {
        return None;
    }
    let files = host.list(directory);
    let sensors: Vec<&str> = files.iter().filter_map(|file| file.strip_suffix("_input")).collect();
    let sensors: Vec<&str> =
        sensors.into_iter().filter(|name| name.starts_with("temp")).take(SENSORS_MAX).collect();
    let labelled = |label: &&str| {
        let is = |sensor: &&&str| {
            let file = directory.join(format!("{sensor}_label"));
            host.word(file).is_some_and(|held| held.starts_with(label))
        };
        sensors.iter().find(is).copied()
    };
    let whole = WHOLE.iter().find_map(labelled);
    let chosen = whole.map_or(sensors.clone(), |one| vec![one]);
    let first = chosen.first()?;
    let critical = sensor::millikelvin(host, &directory.join(format!("{first}_crit")));
    // What the sensor belongs to: `coretemp.0`, or the PCI function of AMD's.
    let device = host.resolve(directory.join("device"));
    let name = device.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    let name = name.map_or(driver, str::to_owned);
    let inputs = chosen.iter().map(|sensor| directory.join(format!("{sensor}_input"))).collect();
    Some(Package { name, inputs, critical })
}

impl Sample for Packages {
    fn sample(&mut self, table: &mut Table) {
        for package in &self.packages {
            let read = |path: &PathBuf| sensor::millikelvin(&self.host, path);
            if let Some(hottest) = package.inputs.iter().filter_map(read).max() {
                table.put(package.name.as_bytes(), 0, hottest);
                if let Some(critical) = package.critical {
                    table.put(package.name.as_bytes(), 1, critical);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    fn columns(host: &Host) -> Option<Vec<(String, u64)>> {
        let mut sample = open(host, &Subject::new(1, &[]))?;
        let mut table = Table::new(CPU.name, CPU.fields, false);
        table.begin(0);
        sample.sample(&mut table);
        table.end();
        let columns = table.into_series(0).columns;
        Some(columns.into_iter().map(|column| (column.name, column.values[0])).collect())
    }

    #[test]
    fn each_package_has_one_temperature_whoever_made_it() {
        let machine = Recording::unpack(
            "/sys/devices/platform/coretemp.0/hwmon/hwmon0/name = coretemp\n\
             /sys/devices/platform/coretemp.0/hwmon/hwmon0/device -> \
             /sys/devices/platform/coretemp.0\n\
             /sys/devices/platform/coretemp.0/hwmon/hwmon0/temp1_label = Package id 0\n\
             /sys/devices/platform/coretemp.0/hwmon/hwmon0/temp1_input = 71000\n\
             /sys/devices/platform/coretemp.0/hwmon/hwmon0/temp1_crit = 100000\n\
             /sys/devices/platform/coretemp.0/hwmon/hwmon0/temp2_label = Core 0\n\
             /sys/devices/platform/coretemp.0/hwmon/hwmon0/temp2_input = 99000\n\
             /sys/devices/pci0/0000:00:18.3/hwmon/hwmon1/name = k10temp\n\
             /sys/devices/pci0/0000:00:18.3/hwmon/hwmon1/device -> /sys/devices/pci0/0000:00:18.3\n\
             /sys/devices/pci0/0000:00:18.3/hwmon/hwmon1/temp1_label = Tctl\n\
             /sys/devices/pci0/0000:00:18.3/hwmon/hwmon1/temp1_input = 80000\n\
             /sys/devices/pci0/0000:00:18.3/hwmon/hwmon1/temp2_label = Tdie\n\
             /sys/devices/pci0/0000:00:18.3/hwmon/hwmon1/temp2_input = 60000\n\
             /sys/devices/virtual/hwmon2/name = cpu_thermal\n\
             /sys/devices/virtual/hwmon2/temp1_input = 45000\n\
             /sys/devices/virtual/hwmon3/name = acpitz\n\
             /sys/devices/virtual/hwmon3/temp1_input = 27000\n\
             /sys/class/hwmon/hwmon0 -> /sys/devices/platform/coretemp.0/hwmon/hwmon0\n\
             /sys/class/hwmon/hwmon1 -> /sys/devices/pci0/0000:00:18.3/hwmon/hwmon1\n\
             /sys/class/hwmon/hwmon2 -> /sys/devices/virtual/hwmon2\n\
             /sys/class/hwmon/hwmon3 -> /sys/devices/virtual/hwmon3\n",
        );
        let expected = [
            ("coretemp.0.temperature_millikelvin", 273_150 + 71_000),
            ("coretemp.0.critical_millikelvin", 273_150 + 100_000),
            ("0000:00:18.3.temperature_millikelvin", 273_150 + 60_000),
            ("cpu_thermal.temperature_millikelvin", 273_150 + 45_000),
        ];
        let found = columns(&machine.host()).unwrap();
        let found: Vec<(&str, u64)> = found.iter().map(|(name, at)| (name.as_str(), *at)).collect();
        assert_eq!(found, expected, "the ACPI zone is no processor's");
    }

    #[test]
    fn cores_stand_for_a_package_without_a_sensor_and_nonsense_for_nothing() {
        let at = "/sys/class/hwmon/hwmon0";
        let of =
            |second: &str| {
                columns(&Recording::unpack(&format!(
                "{at}/name = coretemp\n{at}/temp2_input = 50000\n{at}/temp3_input = {second}\n"
            )).host())
            .unwrap()
            };
        assert_eq!(of("62000")[0].1, 273_150 + 62_000);
        for nonsense in ["-300000", "hot", "18446744073709551616"] {
            assert_eq!(of(nonsense)[0].1, 273_150 + 50_000, "{nonsense}");
        }
        assert_eq!(columns(&Recording::open("virtio-guest").host()), None);
    }
}
