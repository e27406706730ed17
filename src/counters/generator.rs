//! This program's own processor time, that of its counting included.

use super::table::{Field, Table};
use super::{INTERVAL_NS, Sample, Source, Subject};
use crate::sys::{Host, clock};

pub const GENERATOR: Source = Source {
    name: "generator",
    about: "Processor time of this program beside the load, and of the thread that counts",
    fields: &[Field::counter("cpu_ns"), Field::counter("counting_cpu_ns")],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

struct Generator;

fn open(_: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    Some(Box::new(Generator))
}

impl Sample for Generator {
    fn sample(&mut self, table: &mut Table) {
        table.put(b"", 0, clock::process_cpu_ns());
        // All rows are taken by one thread: see `sampler`.
        table.put(b"", 1, clock::thread_cpu_ns());
    }
}
