//! /proc/PID/task: processor time of each thread of the load, how long it waited for a CPU, and the
//! CPU that it last ran on.
//!
//! The waiting is the run delay of schedstat (Documentation/scheduler/sched-stats.rst), which
//! kernels without CONFIG_SCHED_INFO do not have. Read once a second: it costs two files a thread.
//! Of a load with very many threads only the first [`MOST_THREADS`] are watched; `process` counts
//! all of them, so that whoever judges can tell.

use facts::counters::MOST_THREADS;
use std::fmt::Write;

use super::process::{stat, wait_ns};
use super::{CounterSource, Sample, Subject};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

pub const THREADS: CounterSource = CounterSource {
    name: "threads",
    about: "Processor time of each thread of the load, its CPU, and how long it waited for one",
    fields: &[Field::counter("cpu_ns"), Field::gauge("cpu"), Field::counter("wait_ns")],
    every_ns: 1_000_000_000,
    born_at_zero: true,
    open,
};

/// The files of one thread, kept open.
struct WatchedThread {
    /// Name of the columns' scope, `t<TID>`.
    name: String,
    stat: Reread,
    schedstat: Option<Reread>,
}

/// The threads of one process, with the files of those that are watched.
struct ProcessThreads {
    host: Host,
    directory: String,
    tick_ns: u64,
    watched: Vec<WatchedThread>,
    /// Threads when they were last listed.
    listed: u64,
}

fn open(host: &Host, subject: &Subject) -> Option<Box<dyn Sample>> {
    let directory = format!("/proc/{}/task", subject.worker_pid);
    host.exists(&directory).then(|| {
        let (host, tick_ns) = (host.clone(), subject.tick_ns);
        Box::new(ProcessThreads { host, directory, tick_ns, watched: Vec::new(), listed: 0 }) as _
    })
}

impl Sample for ProcessThreads {
    fn sample(&mut self, table: &mut Table) {
        let mut threads = 0;
        let tick_ns = self.tick_ns;
        let watched = self.watched.len();
        // A thread that has ended cannot be read any more; its columns keep their last values.
        self.watched.retain_mut(|thread| {
            let Some(count) = thread.sample(table, tick_ns) else { return false };
            threads = count;
            true
        });
        if threads != self.listed || self.watched.len() < watched || watched == 0 {
            self.listed = self.watch_new(table).unwrap_or(threads);
        }
    }
}

impl WatchedThread {
    /// Puts its values into the row; gives its process's threads, `None` when it is gone.
    fn sample(&mut self, table: &mut Table, tick_ns: u64) -> Option<u64> {
        let stat = self.stat.read().and_then(stat)?;
        let name = self.name.as_bytes();
        table.put(name, 0, stat.cpu_ticks.saturating_mul(tick_ns));
        table.put(name, 1, stat.cpu);
        let schedstat = self.schedstat.as_mut().and_then(Reread::read);
        if let Some(wait_ns) = schedstat.and_then(wait_ns) {
            table.put(name, 2, wait_ns);
        }
        Some(stat.threads)
    }
}

impl ProcessThreads {
    /// Starts to watch threads that are not watched yet; gives how many the process has.
    fn watch_new(&mut self, table: &mut Table) -> Option<u64> {
        let mut threads = None;
        let mut path = String::new();
        for tid in self.host.list(&self.directory) {
            if self.watched.len() >= MOST_THREADS {
                break;
            }
            let name = format!("t{tid}");
            if self.watched.iter().any(|thread| thread.name == name) {
                continue;
            }
            let mut open = |file: &str| {
                path.clear();
                // Writing to a String cannot fail.
                let _ = write!(path, "{}/{tid}/{file}", self.directory);
                Reread::open(&self.host, &path).ok()
            };
            let Some(stat) = open("stat") else { continue };
            let mut thread = WatchedThread { name, stat, schedstat: open("schedstat") };
            if let Some(count) = thread.sample(table, self.tick_ns) {
                threads = Some(count);
                self.watched.push(thread);
            }
        }
        threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Subject;

    #[test]
    fn waiting_for_a_cpu_is_the_second_number_of_schedstat() {
        assert_eq!(wait_ns(b"1234 5678 9\n"), Some(5678));
        for none in [&b"1234 5678 9"[..], b"1234\n", b"", b"a b c\n"] {
            assert_eq!(wait_ns(none), None);
        }
    }

    #[test]
    fn a_thread_that_starts_and_ends_meanwhile_has_a_column_from_nothing_to_its_last() {
        let subject = Subject::new(std::process::id(), &[]);
        let mut threads = open(&Host::live(), &subject).unwrap();
        let mut table = Table::new("threads", THREADS.fields, THREADS.born_at_zero);
        let mut row = |at| {
            table.begin(at);
            threads.sample(&mut table);
            table.end();
        };
        row(0);
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let worker = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid()).unwrap();
            let _ = ended.recv();
        });
        let tid = told.recv().unwrap();
        row(1);
        drop(end);
        worker.join().unwrap();
        row(2);
        let series = table.into_series(0);
        let name = format!("t{}.cpu_ns", tid.as_raw_nonzero());
        let column = series.column(&name).unwrap();
        assert_eq!(column.values.len(), 3);
        assert_eq!(column.values[0], 0);
    }
}
