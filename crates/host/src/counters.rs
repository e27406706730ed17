//! What the kernel counted while a trial ran, one file a source.
//!
//! A new source is a file beside this one and a line in [`SOURCES`]. Sources only count: what the
//! counts mean is the business of `measurement`. A source that this kernel does not have yields no
//! series, which is not a failure.

use crate::sys::Host;

pub mod bounds;
pub mod errors;
pub mod probe;
pub mod sampler;

mod card_interrupts;
mod cpu_temperature;
mod cgroup_cpu;
mod diskstats;
mod freezer;
mod generator;
mod groups;
mod health;
mod interfaces;
mod links;
mod meminfo;
mod mountstats;
mod nfs_connections;
pub mod nfs_server;
mod patient;
mod pressure;
mod process;
mod qdiscs;
mod softnet;
mod stat;
mod temperature;
mod text;
mod threads;
mod throttling;
mod transport;
mod vmstat;
mod zfs;

use facts::counters::table::{Field, Table};
pub use probe::Probe;
pub use sampler::Sampler;

/// Whether one of these block devices, and one of the processors, has a sensor of temperature that
/// the kernel can ask.
pub fn thermometers(host: &Host, devices: &[String]) -> (bool, bool) {
    (temperature::any(host, devices), cpu_temperature::any(host))
}

/// A file of the kernel, or a few that belong together, as columns of numbers.
#[derive(Debug)]
pub struct CounterSource {
    /// Kebab-case; the series' name.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// The columns, of each CPU or device where there are several.
    pub fields: &'static [Field],
    /// Time between rows, ns.
    pub every_ns: u64,
    /// Whether a thing that appears in mid-trial began at 0 when it appeared, as a thread does, or
    /// had counts already, as a disk has.
    born_at_zero: bool,
    /// Opens its files; `None` when this kernel has none of them.
    open: fn(&Host, &Subject) -> Option<Box<dyn Sample>>,
}

/// What is watched.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The process that carries the load.
    pub worker_pid: u32,
    /// Block devices by their kernel names: the target's and all their parents.
    pub devices: Vec<String>,
    /// Length of one tick of /proc's processor times, ns.
    pub tick_ns: u64,
}

impl Subject {
    /// The load of `worker_pid` on `devices`, with this kernel's tick.
    pub fn new(worker_pid: u32, devices: &[String]) -> Subject {
        let tick_ns = crate::sys::clock::tick_ns();
        Subject { worker_pid, devices: devices.to_vec(), tick_ns }
    }
}

/// An opened source.
trait Sample: Send {
    /// Reads the source as it is now into the row that `table` has begun.
    fn sample(&mut self, table: &mut Table);
}

/// Rows of most sources are this far apart.
pub const INTERVAL_NS: u64 = 100_000_000;

/// In the order of the reference.
pub const SOURCES: &[CounterSource] = &[
    stat::STAT,
    diskstats::DISKSTATS,
    meminfo::MEMINFO,
    vmstat::VMSTAT,
    pressure::PRESSURE,
    process::PROCESS,
    threads::THREADS,
    cgroup_cpu::CGROUP_CPU,
    temperature::NVME,
    temperature::SATA,
    health::HEALTH,
    throttling::THROTTLING,
    links::LINKS,
    cpu_temperature::CPU,
    interfaces::INTERFACES,
    qdiscs::QDISCS,
    softnet::SOFTNET,
    transport::TRANSPORT,
    card_interrupts::CARD_INTERRUPTS,
    mountstats::MOUNTSTATS,
    nfs_server::NFS_SERVER,
    nfs_connections::NFS_CONNECTIONS,
    zfs::ZFS,
    generator::GENERATOR,
];

/// Reads a recorded file, and that file cut off after every byte, with `parse`; gives the columns
/// of the whole. What cut files yield must be a part of what the whole yields.
#[cfg(test)]
fn parse_whole_and_truncated(
    text: &str,
    parse: impl Fn(&[u8], &mut dyn FnMut(&[u8], usize, u64)),
) -> Vec<(String, usize, u64)> {
    let values = |text: &[u8]| {
        let mut all = Vec::new();
        parse(text, &mut |scope, field, value| {
            all.push((String::from_utf8_lossy(scope).into_owned(), field, value));
        });
        all
    };
    let whole = values(text.as_bytes());
    for end in 0..text.len() {
        for value in values(&text.as_bytes()[..end]) {
            assert!(whole.contains(&value), "cut at {end}, {value:?} was made up");
        }
    }
    whole
}

/// Two rows of `source` on `host`, with `between` done between them.
#[cfg(test)]
fn two_rows(
    source: &CounterSource,
    host: &Host,
    devices: &[&str],
    between: impl Fn(),
) -> Option<facts::counters::series::Series> {
    let devices: Vec<String> = devices.iter().map(|name| (*name).to_owned()).collect();
    let mut sample = (source.open)(host, &Subject::new(std::process::id(), &devices))?;
    let mut table = Table::new(source.name, source.fields, source.born_at_zero);
    for at in 0..2 {
        table.begin(at);
        sample.sample(&mut table);
        table.end();
        if at == 0 {
            between();
        }
    }
    Some(table.into_series(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_a_name_of_its_own_and_columns_with_units() {
        let mut seen = std::collections::BTreeSet::new();
        for source in SOURCES {
            assert!(seen.insert(source.name), "{} is listed twice", source.name);
            assert!(!source.about.ends_with('.'), "{}: one line, no full stop", source.name);
            assert!(!source.fields.is_empty() && source.every_ns >= INTERVAL_NS);
            let names: std::collections::BTreeSet<_> =
                source.fields.iter().map(|field| field.name).collect();
            assert_eq!(names.len(), source.fields.len(), "{}", source.name);
        }
    }
}
