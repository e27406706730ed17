//! Thermal throttling of processors, as the kernel counts it on Intel's.
//!
//! See the kernel's drivers/thermal/intel/therm_throt.c. A core's events are counted on its own
//! CPU, a package's on each of its CPUs. Times, which older kernels do not have, are added when a
//! throttling ends, so one that lasts the whole trial shows in neither. Other makers' processors,
//! and most virtual machines, have no such files.

use super::text::{lines, number};
use super::{CounterSource, Sample, Subject};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

pub const THROTTLING: CounterSource = CounterSource {
    name: "cpu-throttling",
    about: "Thermal throttling of each CPU and of its package (Intel)",
    fields: &[
        Field::counter("core_throttles"),
        Field::counter("package_throttles"),
        Field::counter("core_throttled_ms"),
        Field::counter("package_throttled_ms"),
    ],
    // Four files a CPU, opened anew each time: kept open they would need too many descriptors.
    every_ns: 10_000_000_000,
    born_at_zero: false,
    open,
};

/// In the order of the fields.
const FILES: [&str; 4] = [
    "core_throttle_count",
    "package_throttle_count",
    "core_throttle_total_time_ms",
    "package_throttle_total_time_ms",
];

const CPUS: &str = "/sys/devices/system/cpu";

struct Throttling {
    host: Host,
    /// Their names, such as `cpu0`.
    cpus: Vec<String>,
}

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    let cpus = host.list(CPUS).into_iter().filter(|name| {
        name.strip_prefix("cpu").is_some_and(|rest| number(rest.as_bytes()).is_some())
            && host.exists(format!("{CPUS}/{name}/thermal_throttle"))
    });
    let cpus: Vec<String> = cpus.collect();
    (!cpus.is_empty()).then(|| Box::new(Throttling { host: host.clone(), cpus }) as _)
}

impl Sample for Throttling {
    fn sample(&mut self, table: &mut Table) {
        for cpu in &self.cpus {
            for (field, file) in FILES.iter().enumerate() {
                let path = format!("{CPUS}/{cpu}/thermal_throttle/{file}");
                let Ok(mut file) = Reread::open(&self.host, path) else { continue };
                // The file of a CPU that is offline is empty.
                if let Some(count) = file.read().and_then(count) {
                    table.put(cpu.as_bytes(), field, count);
                }
            }
        }
    }
}

fn count(text: &[u8]) -> Option<u64> {
    number(lines(text).next()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::parse_whole_and_truncated;
    use crate::inventory::recording::Recording;
    use facts::counters::series::Series;

    fn row(recording: &str) -> Option<Series> {
        let machine = Recording::open(recording);
        let mut sample = open(&machine.host(), &Subject::new(1, &[]))?;
        let mut table = Table::new("cpu-throttling", THROTTLING.fields, false);
        table.begin(0);
        sample.sample(&mut table);
        table.end();
        Some(table.into_series(0))
    }

    #[test]
    fn each_cpu_has_its_counts_and_one_that_is_offline_or_talks_nonsense_has_none() {
        let series = row("sensors").unwrap();
        let columns: Vec<(&str, u64)> =
            series.columns.iter().map(|column| (column.name.as_str(), column.values[0])).collect();
        let expected = [
            ("cpu0.core_throttles", 12),
            ("cpu0.package_throttles", 340),
            ("cpu0.core_throttled_ms", 1900),
            ("cpu0.package_throttled_ms", 56_000),
            // Older kernels count no times.
            ("cpu1.core_throttles", 0),
        ];
        assert_eq!(columns, expected);
    }

    #[test]
    fn a_machine_without_such_files_has_no_series() {
        assert_eq!(row("virtio-guest"), None);
    }

    #[test]
    fn a_count_that_is_cut_off_is_no_count() {
        let all = parse_whole_and_truncated("1234\n", |text, put| {
            count(text).into_iter().for_each(|value| put(b"", 0, value));
        });
        assert_eq!(all, [(String::new(), 0, 1234)]);
    }
}
