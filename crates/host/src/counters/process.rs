//! /proc/PID of the load: its processor time, memory and I/O, all threads together.
//!
//! See proc_pid_stat(5) and proc_pid_io(5). /proc/PID/io of another user's process cannot be read;
//! its columns are then absent.
//!
//! Whether it was let run at all is here too: stopped by a signal, frozen with its control group,
//! or ready and waiting for a processor (the run delay of its main thread, schedstat).

use super::text::{lines, number, value_of, words};
use super::{CounterSource, INTERVAL_NS, Sample, Subject, freezer};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

pub const PROCESS: CounterSource = CounterSource {
    name: "process",
    about: "Processor time, faults, memory and I/O of the process that carries the load",
    fields: &[
        Field::counter("cpu_ns"),
        Field::gauge("cpu"),
        Field::counter("major_faults"),
        Field::gauge("threads"),
        Field::gauge("swap_bytes"),
        Field::counter("read_bytes"),
        Field::counter("write_bytes"),
        Field::gauge("stopped"),
        Field::gauge("frozen"),
        Field::counter("wait_ns"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

/// The files of one process that are counted from, kept open.
struct ProcessFiles {
    stat: Reread,
    status: Option<Reread>,
    io: Option<Reread>,
    schedstat: Option<Reread>,
    freezers: Vec<Reread>,
    tick_ns: u64,
}

fn open(host: &Host, subject: &Subject) -> Option<Box<dyn Sample>> {
    let at = |name: &str| Reread::open(host, format!("/proc/{}/{name}", subject.worker_pid)).ok();
    let (stat, status, io) = (at("stat")?, at("status"), at("io"));
    let (schedstat, freezers) = (at("schedstat"), freezer::freezer_files(host, subject.worker_pid));
    let tick_ns = subject.tick_ns;
    Some(Box::new(ProcessFiles { stat, status, io, schedstat, freezers, tick_ns }))
}

impl Sample for ProcessFiles {
    fn sample(&mut self, table: &mut Table) {
        if let Some(stat) = self.stat.read().and_then(stat) {
            table.put(b"", 0, stat.cpu_ticks.saturating_mul(self.tick_ns));
            table.put(b"", 1, stat.cpu);
            table.put(b"", 2, stat.major_faults);
            table.put(b"", 3, stat.threads);
            table.put(b"", 7, u64::from(stat.stopped));
        }
        let status = self.status.as_mut().and_then(Reread::read);
        if let Some(kib) = status.and_then(|text| value_of(text, "VmSwap:")) {
            table.put(b"", 4, kib.saturating_mul(1024));
        }
        if let Some(io) = self.io.as_mut().and_then(Reread::read).and_then(io) {
            table.put(b"", 5, io.read_bytes);
            table.put(b"", 6, io.write_bytes);
        }
        if !self.freezers.is_empty() {
            let mut texts = self.freezers.iter_mut().filter_map(Reread::read);
            table.put(b"", 8, u64::from(texts.any(freezer::is_frozen)));
        }
        let schedstat = self.schedstat.as_mut().and_then(Reread::read);
        if let Some(wait_ns) = schedstat.and_then(wait_ns) {
            table.put(b"", 9, wait_ns);
        }
    }
}

/// What we take from /proc/PID/stat, or a thread's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Processor time in user and kernel mode, ticks.
    pub cpu_ticks: u64,
    /// The CPU that it last ran on.
    pub cpu: u64,
    /// Faults that needed I/O.
    pub major_faults: u64,
    /// Threads of the process.
    pub threads: u64,
    /// Stopped by a signal; not by a tracer, which stops it at every call that it watches.
    pub stopped: bool,
}

/// Reads /proc/PID/stat or /proc/PID/task/TID/stat.
pub fn stat(text: &[u8]) -> Option<ProcessStat> {
    let line = lines(text).next()?;
    // The command's name is in brackets and may hold blanks and brackets: the last one closes it.
    let end = line.iter().rposition(|&byte| byte == b')')?;
    // Column 3 (state) is the first after the name; columns count from 1 in the manual.
    let mut columns = [None; 50];
    let stopped = words(&line[end + 1..]).next()? == b"T";
    for (column, word) in columns.iter_mut().skip(3).zip(words(&line[end + 1..])) {
        *column = number(word);
    }
    let (user, system) = (columns[14]?, columns[15]?);
    Some(ProcessStat {
        cpu_ticks: user.checked_add(system)?,
        cpu: columns[39]?,
        major_faults: columns[12]?,
        threads: columns[20]?,
        stopped,
    })
}

/// Bytes that a process had the block layer move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Of bios that it submitted for reading.
    pub read_bytes: u64,
    /// Of pages that it dirtied, and of bios that it submitted for writing around the page cache.
    pub write_bytes: u64,
}

/// Reads /proc/PID/io.
pub fn io(text: &[u8]) -> Option<Io> {
    Some(Io {
        read_bytes: value_of(text, "read_bytes:")?,
        write_bytes: value_of(text, "write_bytes:")?,
    })
}

/// The second number of /proc/PID/task/TID/schedstat: ns on a run queue without running.
pub fn wait_ns(text: &[u8]) -> Option<u64> {
    words(lines(text).next()?).nth(1).and_then(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = include_str!("../../../../tests/fixtures/proc/pid-stat");
    const IO: &str = include_str!("../../../../tests/fixtures/proc/pid-io");

    #[test]
    fn a_recorded_stat_with_brackets_in_its_name_is_read() {
        let (cpu_ticks, stopped) = (431 + 87, false);
        let expected = ProcessStat { cpu_ticks, cpu: 1, major_faults: 3, threads: 5, stopped };
        assert_eq!(stat(STAT.as_bytes()), Some(expected));
        for (state, stopped) in [("T", true), ("t", false), ("R", false), ("D", false)] {
            let text = STAT.replacen(") R ", &format!(") {state} "), 1);
            assert_eq!(stat(text.as_bytes()).unwrap().stopped, stopped, "{text}");
        }
    }

    #[test]
    fn a_recorded_io_is_read_and_cancelled_bytes_are_not_written_bytes() {
        let expected = Io { read_bytes: 104_857_600, write_bytes: 8192 };
        assert_eq!(io(IO.as_bytes()), Some(expected));
    }

    #[test]
    fn a_file_cut_off_anywhere_yields_nothing_rather_than_a_wrong_number() {
        for end in 0..STAT.len() {
            assert_eq!(stat(&STAT.as_bytes()[..end]), None, "cut at {end}");
        }
        for end in 0..IO.len() {
            let cut = io(&IO.as_bytes()[..end]);
            assert!(cut.is_none() || cut == io(IO.as_bytes()), "cut at {end}");
        }
    }
}
