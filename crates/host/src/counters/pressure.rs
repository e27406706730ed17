//! /proc/pressure: how long tasks waited for I/O, processors and memory.
//!
//! See Documentation/accounting/psi.rst. Only the totals are kept: averages can be made of them.
//! Kernels without PSI, or booted with psi=0, have no such files.

use super::text::{lines, number, words};
use super::{CounterSource, INTERVAL_NS, Sample, Subject};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

pub const PRESSURE: CounterSource = CounterSource {
    name: "pressure",
    about: "Time in which some task, or every task, waited for I/O, a processor or memory",
    fields: &[Field::counter("some_ns"), Field::counter("full_ns")],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

const RESOURCES: [&str; 3] = ["io", "cpu", "memory"];

struct Pressure(Vec<(&'static str, Reread)>);

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    let files = RESOURCES.iter().filter_map(|&resource| {
        let mut file = Reread::open(host, format!("/proc/pressure/{resource}")).ok()?;
        // With psi=0 the files are there, and reading fails with EOPNOTSUPP.
        file.read().is_some().then_some((resource, file))
    });
    let files: Vec<_> = files.collect();
    (!files.is_empty()).then(|| Box::new(Pressure(files)) as Box<dyn Sample>)
}

impl Sample for Pressure {
    fn sample(&mut self, table: &mut Table) {
        for (resource, file) in &mut self.0 {
            if let Some(text) = file.read() {
                parse(text, &mut |field, value| table.put(resource.as_bytes(), field, value));
            }
        }
    }
}

/// Calls `put` with each field and value of one file of /proc/pressure; its totals are in us.
pub fn parse(text: &[u8], put: &mut dyn FnMut(usize, u64)) {
    for line in lines(text) {
        let mut words = words(line);
        let field = match words.next() {
            Some(b"some") => 0,
            Some(b"full") => 1,
            _ => continue,
        };
        let total_us = words.find_map(|word| number(word.strip_prefix(b"total=")?));
        if let Some(total_us) = total_us {
            put(field, total_us.saturating_mul(1000));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::parse_whole_and_truncated;

    #[test]
    fn a_recorded_file_yields_both_totals_in_ns() {
        let text = include_str!("../../../../tests/fixtures/proc/pressure-io");
        let all = parse_whole_and_truncated(text, |text, put| {
            parse(text, &mut |field, value| put(b"io", field, value));
        });
        let io = "io".to_owned();
        assert_eq!(all, [(io.clone(), 0, 11_740_893_000), (io, 1, 11_235_041_000)]);
    }
}
