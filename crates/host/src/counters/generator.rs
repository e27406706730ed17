//! This program's own processor time, that of its counting included, and the machine's clocks.
//!
//! Clocks and the wait for a processor say afterwards why a row is missing: the machine slept, this
//! program was held up by others, or it was stopped.

use super::{CounterSource, INTERVAL_NS, Sample, Subject, process};
use crate::sys::reread::Reread;
use crate::sys::{Host, clock};
use facts::counters::table::{Field, Table};

pub const GENERATOR: CounterSource = CounterSource {
    name: "generator",
    about: "Processor time of this program beside the load, its wait for it, and the clocks",
    fields: &[
        Field::counter("cpu_ns"),
        Field::counter("counting_cpu_ns"),
        Field::counter("counting_wait_ns"),
        Field::counter("suspended_ns"),
        Field::gauge("wall_offset_ns"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

struct Generator(Option<Reread>);

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    // Opened by the thread that takes the rows, and so its own.
    Some(Box::new(Generator(Reread::open(host, "/proc/thread-self/schedstat").ok())))
}

impl Sample for Generator {
    fn sample(&mut self, table: &mut Table) {
        table.put(b"", 0, clock::process_cpu_ns());
        // All rows are taken by one thread: see `sampler`.
        table.put(b"", 1, clock::thread_cpu_ns());
        let schedstat = self.0.as_mut().and_then(Reread::read);
        if let Some(wait_ns) = schedstat.and_then(process::wait_ns) {
            table.put(b"", 2, wait_ns);
        }
        table.put(b"", 3, clock::suspended_ns());
        table.put(b"", 4, clock::wall_offset_ns());
    }
}
