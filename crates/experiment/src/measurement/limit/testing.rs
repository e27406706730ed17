//! Trials made by hand, with what each thing under them was used for.

#![allow(clippy::unwrap_used, reason = "nothing but tests uses it")]

use crate::knob::{self, Settings};
use crate::measurement::{
    Amount, Evidence, Measurement, Operation, Outcome, Record, Stream, Window, latency_histogram,
};
use crate::plan::Trial;
use base::value::Value;
use facts::counters::bounds::{Bound, Bounded};
use facts::counters::series::{Column, ColumnKind, Series};
use facts::inventory::Ceiling;

const SECOND: u64 = 1_000_000_000;

/// Length of every window, s.
const SECONDS: u64 = 4;

/// A trial to be: 4 s of direct reading on one disk that is idle, with nothing counted but it.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Streams, each with a thread.
    pub streams: u64,
    /// In flight, each stream.
    pub depth: u64,
    /// Bytes of an operation.
    pub block: u64,
    /// What was got.
    pub bytes_per_s: f64,
    /// Each disk: busy share, requests in it, requests per second.
    pub disks: Vec<(f64, f64, f64)>,
    /// Each thread: shares of the time in which it ran, and waited for a CPU.
    pub thread: Option<(f64, f64)>,
    /// The same of threads that the kernel has for the load, none of them a stream's.
    pub workers: Vec<(f64, f64)>,
    /// Share of their times that the counters saw; the rest lies between two rows.
    pub seen: f64,
    /// Each CPU: busy, interrupts, stolen; shares.
    pub cpus: Vec<(f64, f64, f64)>,
    /// What was set.
    pub bounds: Vec<Bound>,
    /// The disk is a loop device's, over a file on another that delivered so much of its bytes.
    pub backing_share: Option<f64>,
    /// Share of the periods in which the group was out of processor time.
    pub throttled: Option<f64>,
    /// Other settings.
    pub changes: Vec<(&'static str, Value)>,
    /// Further evidence.
    pub evidence: Evidence,
    /// How much longer an operation took than Little's law says; 1 when it says the truth.
    pub late: f64,
}

impl Default for Scene {
    fn default() -> Scene {
        Scene {
            streams: 1,
            depth: 1,
            block: 256 << 10,
            bytes_per_s: 100e6,
            disks: vec![(0.05, 0.05, 400.0)],
            thread: Some((0.05, 0.0)),
            workers: Vec::new(),
            seen: 1.0,
            cpus: vec![(0.2, 0.01, 0.0), (0.1, 0.0, 0.0)],
            bounds: Vec::new(),
            backing_share: None,
            throttled: None,
            changes: Vec::new(),
            evidence: Evidence { allowed_cpus: vec![0, 1], ..Evidence::default() },
            late: 1.0,
        }
    }
}

/// A limit of a control group on the first disk.
pub fn group(what: Bounded, most: f64) -> Bound {
    let device = (what != Bounded::CpuTime).then(|| "sda".to_owned());
    Bound { what, device, most, from: "a file says so".into() }
}

/// A link with that ceiling.
pub fn link(bytes_per_s: f64) -> Ceiling {
    Ceiling { bytes_per_s: Some(bytes_per_s), why: "its link is PCIe".into(), ..Ceiling::default() }
}

/// Counters that grow by so much a second, sampled every second from one before the start.
fn series(source: &str, columns: &[(String, f64)]) -> Series {
    let rows = SECONDS + 3;
    let at_ns = (0..rows as i64).map(|row| (row - 1) * SECOND as i64).collect();
    let column = |(name, per_s): &(String, f64)| {
        let values = (0..rows).map(|row| 1000 + (row as f64 * per_s) as u64).collect();
        Column { name: name.clone(), kind: ColumnKind::Counter, values }
    };
    Series { source: source.into(), at_ns, columns: columns.iter().map(column).collect() }
}

impl Scene {
    /// With a setting changed.
    pub fn with(mut self, knob: &'static str, value: Value) -> Scene {
        self.changes.push((knob, value));
        self
    }

    /// From memory: the page cache.
    pub fn cached(mut self) -> Scene {
        self.disks = vec![(0.0, 0.0, 0.0)];
        self.evidence.memory = true;
        self.with("direct", Value::Flag(false)).with("cold", Value::Flag(false))
    }

    /// The record of the trial of that number.
    pub fn record(&self, number: u32) -> Record {
        let settings = self.settings();
        let trial = Trial {
            number,
            replicate: 1,
            group: String::new(),
            settings,
            first_file: 0,
            seed: 1,
            planned: None,
        };
        Record::new(trial, Outcome::Done(Box::new(self.measurement())))
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings::defaults("file");
        settings.set(knob::STREAMS, self.streams);
        settings.set(knob::QUEUE_DEPTH, self.depth);
        settings.set(knob::BLOCK_SIZE, self.block);
        for (knob, value) in &self.changes {
            settings.set_named(knob, value.clone());
        }
        settings
    }

    fn names(&self) -> Vec<String> {
        (0..self.disks.len() as u8).map(|n| format!("sd{}", char::from(b'a' + n))).collect()
    }

    fn measurement(&self) -> Measurement {
        let bytes = (self.bytes_per_s * SECONDS as f64) as u64;
        let ops = bytes / self.block;
        let done = Amount { read_bytes: bytes, read_ops: ops, ..Amount::default() };
        let in_flight = (self.streams * self.depth) as f64;
        let latency_s = in_flight * SECONDS as f64 / ops as f64 * self.late;
        let mut histogram = latency_histogram();
        histogram.record_n((latency_s * 1e9) as u64, ops).unwrap();
        let stream = Stream {
            stopped_ns: SECONDS * SECOND,
            cpu_ns: (self.thread.map_or(0.0, |one| one.0) * 4e9) as u64,
            ..Stream::default()
        };
        let from_disk = if self.evidence.memory { 0 } else { bytes };
        let evidence = Evidence {
            delivered: done,
            process_read_bytes: Some(from_disk),
            device_read_bytes: Some(from_disk),
            process_io_reliable: true,
            resident_before_bytes: Some(0),
            file_bytes: bytes,
            filesystem: "ext4".into(),
            devices: self.names(),
            disks: self.names(),
            bounds: self.bounds.clone(),
            backing: self.backing_share.iter().map(|_| "sdz".to_owned()).collect(),
            ..self.evidence.clone()
        };
        Measurement {
            elapsed_ns: SECONDS * SECOND,
            window: Some(Window { start_ns: 0, end_ns: SECONDS * SECOND, done }),
            latency: vec![(Operation::Read, histogram)],
            streams: vec![stream; self.streams as usize],
            evidence,
            counters: self.counters(),
            ..Measurement::default()
        }
    }

    fn counters(&self) -> Vec<Series> {
        let mut disks = Vec::new();
        let mut names = self.names();
        let mut all = self.disks.clone();
        let mut shares = vec![self.bytes_per_s / self.disks.len() as f64; all.len()];
        if let Some(share) = self.backing_share {
            names.push("sdz".to_owned());
            all.push((0.1, 0.1, 100.0));
            shares.push(share * self.bytes_per_s);
        }
        for ((name, (busy, queue, ops)), share) in names.iter().zip(&all).zip(shares) {
            for (column, per_s) in [
                ("busy_ms", busy * 1000.0),
                ("queue_time_ms", queue * 1000.0),
                ("read_ops", *ops),
                ("write_ops", 0.0),
                ("read_bytes", share),
                ("write_bytes", 0.0),
            ] {
                disks.push((format!("{name}.{column}"), per_s));
            }
        }
        let mut threads = Vec::new();
        let streams =
            self.thread.iter().cycle().take(self.thread.map_or(0, |_| self.streams as usize));
        for (thread, (ran, waited)) in streams.chain(&self.workers).enumerate() {
            threads.push((format!("t{thread}.cpu_ns"), self.seen * ran * 1e9));
            threads.push((format!("t{thread}.wait_ns"), self.seen * waited * 1e9));
        }
        let mut cpus = Vec::new();
        for (number, (busy, interrupts, stolen)) in self.cpus.iter().enumerate() {
            for (column, share) in [
                ("idle", 1.0 - busy),
                ("softirq", *interrupts),
                ("steal", *stolen),
                ("user", busy - interrupts - stolen),
            ] {
                cpus.push((format!("cpu{number}.{column}_ns"), share * 1e9));
            }
        }
        let throttled = self.throttled.map(|share| {
            vec![("/g.periods".to_owned(), 10.0), ("/g.throttled_periods".to_owned(), 10.0 * share)]
        });
        let all = [
            ("diskstats", disks),
            ("threads", threads),
            ("stat", cpus),
            ("cgroup-cpu", throttled.unwrap_or_default()),
        ];
        let some = all.into_iter().filter(|(_, columns)| !columns.is_empty());
        some.map(|(source, columns)| series(source, &columns)).collect()
    }
}
