//! /proc/meminfo: how much memory is left, holds files, waits to be written.

use super::text::value_of;
use super::{CounterSource, INTERVAL_NS, Sample, Subject};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

pub const MEMINFO: CounterSource = CounterSource {
    name: "meminfo",
    about: "Memory available, holding files, dirty, and being written back",
    fields: &[
        Field::gauge("available_bytes"),
        Field::gauge("cached_bytes"),
        Field::gauge("dirty_bytes"),
        Field::gauge("writeback_bytes"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

/// In the order of the fields.
const KEYS: [&str; 4] = ["MemAvailable:", "Cached:", "Dirty:", "Writeback:"];

struct Meminfo(Reread);

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    Some(Box::new(Meminfo(Reread::open(host, "/proc/meminfo").ok()?)))
}

impl Sample for Meminfo {
    fn sample(&mut self, table: &mut Table) {
        if let Some(text) = self.0.read() {
            parse(text, &mut |scope, field, value| table.put(scope, field, value));
        }
    }
}

/// Calls `put` with each field and value of /proc/meminfo, in bytes: its `kB` are 1024.
pub fn parse(text: &[u8], put: &mut dyn FnMut(&[u8], usize, u64)) {
    for (field, key) in KEYS.iter().enumerate() {
        if let Some(kib) = value_of(text, key) {
            put(b"", field, kib.saturating_mul(1024));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::parse_whole_and_truncated;

    #[test]
    fn a_recorded_file_yields_bytes_and_swap_cached_is_not_cached() {
        let text = include_str!("../../../../tests/fixtures/proc/meminfo");
        let all = parse_whole_and_truncated(text, parse);
        let values: Vec<u64> = all.iter().map(|(_, _, value)| value / 1024).collect();
        assert_eq!(values, [22_019_844, 4_455_740, 62_204, 0]);
    }
}
