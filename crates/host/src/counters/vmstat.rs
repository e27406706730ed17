//! /proc/vmstat: signs that memory is short.

use super::text::{lines, number, words};
use super::{CounterSource, INTERVAL_NS, Sample, Subject};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

pub const VMSTAT: CounterSource = CounterSource {
    name: "vmstat",
    about: "Pages swapped, major faults, and reclaim of memory, of the whole machine",
    fields: &[
        Field::counter("swapped_in_pages"),
        Field::counter("swapped_out_pages"),
        Field::counter("major_faults"),
        Field::counter("direct_reclaim_pages"),
        Field::counter("refaulted_file_pages"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

/// In the order of the fields. Kernels before 5.9 have no workingset_refault_file.
const KEYS: [&str; 5] =
    ["pswpin", "pswpout", "pgmajfault", "pgscan_direct", "workingset_refault_file"];

struct Vmstat(Reread);

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    Some(Box::new(Vmstat(Reread::open(host, "/proc/vmstat").ok()?)))
}

impl Sample for Vmstat {
    fn sample(&mut self, table: &mut Table) {
        if let Some(text) = self.0.read() {
            parse(text, &mut |scope, field, value| table.put(scope, field, value));
        }
    }
}

/// Calls `put` with each field and value of /proc/vmstat.
pub fn parse(text: &[u8], put: &mut dyn FnMut(&[u8], usize, u64)) {
    for line in lines(text) {
        let mut words = words(line);
        let (Some(key), Some(word)) = (words.next(), words.next()) else { continue };
        let field = KEYS.iter().position(|known| known.as_bytes() == key);
        if let (Some(field), Some(value)) = (field, number(word)) {
            put(b"", field, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::parse_whole_and_truncated;

    #[test]
    fn a_recorded_file_yields_every_field_once() {
        let text = include_str!("../../../../tests/fixtures/proc/vmstat");
        let mut all = parse_whole_and_truncated(text, parse);
        all.sort();
        let values: Vec<(usize, u64)> = all.iter().map(|(_, at, value)| (*at, *value)).collect();
        assert_eq!(values, [(0, 12), (1, 3456), (2, 19_027), (3, 0), (4, 2_282_866)]);
    }
}
