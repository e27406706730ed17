//! What is computed of a trial, so that its samples need not be held.
//!
//! A histogram takes a quarter of a MiB and the samples of a large server a MiB: a campaign of
//! thousands of trials would not fit in memory. The functions beside this one give what is here
//! where they find it, and the raw counts stay in the store (rule 3).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::figures::{Figures, LatencyCounts, Name, Rates, figures, latency_counts};
use super::limit::{Limits, limits};
use super::origin::{Origin, before_jump, origin};
use super::settling::{Settling, settling};
use super::start::{TrialStart, later, start};
use super::steady::{Steady, steady};
use super::{Note, Outcome, Record, Reported, consistency, judge, machine};
use facts::counters::series::Series;

/// Figures and verdicts of a trial whose samples were let go.
#[derive(Clone, Debug)]
pub struct Digest {
    /// As [`figures`] gave them.
    pub figures: Arc<Figures>,
    /// Names of those among them that the record contradicts.
    pub withheld: Vec<Name>,
    /// The rates among them that stand.
    pub rates: Rates,
    /// As [`steady`] gave it.
    pub steady: Steady,
    /// As [`settling`] gave it.
    pub settling: Option<Settling>,
    /// As [`start`] gave it.
    pub start: Option<TrialStart>,
    /// As [`later`] gave it.
    pub later: Option<f64>,
    /// As [`latency_counts`] gave them.
    pub latencies: Vec<LatencyCounts>,
    /// As [`judge::all`] gave them.
    pub notes: Arc<[Note]>,
    /// As [`machine::counters`] gave them.
    pub machine: BTreeMap<&'static str, f64>,
    /// As [`origin`] gave it.
    pub origin: Origin,
    /// As [`before_jump`] gave it.
    pub before_jump: Option<f64>,
    /// As [`limits`] gave them.
    pub limits: Option<Arc<Limits>>,
    /// Whether there are samples of its course in the store.
    pub sampled: bool,
}

impl Digest {
    /// Of a trial; `None` when it was not done, and so has no samples.
    pub fn from_record(record: &Record) -> Option<Digest> {
        let measurement = record.outcome.measurement()?;
        let figures = figures(record);
        let withheld = match &measurement.digest {
            Some(digest) => digest.withheld.clone(),
            None => consistency::withheld(record, &figures),
        };
        Some(Digest {
            rates: Rates::among(&figures).without(&withheld),
            withheld,
            figures,
            steady: steady(measurement, &record.trial.settings),
            settling: settling(measurement, &record.trial.settings),
            start: start(measurement),
            later: later(measurement),
            latencies: latency_counts(measurement),
            notes: judge::all(record),
            machine: machine::counters(measurement),
            origin: origin(measurement, &record.trial.settings),
            before_jump: before_jump(measurement, &record.trial.settings),
            limits: limits(record),
            sampled: measurement.has_course(),
        })
    }
}

impl Record {
    /// The record without samples, histograms, single streams and outputs of programs; every figure
    /// and verdict stays as it was.
    pub fn light(mut self) -> Record {
        let digest = Digest::from_record(&self);
        let (Outcome::Done(measurement), Some(digest)) = (&mut self.outcome, digest) else {
            return self;
        };
        measurement.load = Series::default();
        measurement.counters = Vec::new();
        measurement.latency = Vec::new();
        measurement.streams = Vec::new();
        if let Some(programs) = &mut measurement.programs {
            programs.outputs = Vec::new();
            programs.runs = Vec::new();
        }
        measurement.reported = measurement.reported.as_ref().map(Reported::light);
        measurement.digest = Some(Box::new(digest));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::figures::{cells, rate, window_disagrees};
    use crate::measurement::{Amount, Measurement, Operation, Stream, Window};
    use facts::counters::series::{Column, ColumnKind};

    const SECOND: u64 = 1_000_000_000;

    fn amount(ops: u64) -> Amount {
        Amount { read_bytes: ops * 4096, read_ops: ops, ..Amount::default() }
    }

    fn counter(name: &str, step: u64) -> Column {
        let values = (0..=120).map(|row| row * step + row % 3).collect();
        Column { name: name.into(), kind: ColumnKind::Counter, values }
    }

    /// Twelve seconds, sampled, of two streams of which one is done early.
    fn record() -> Record {
        let at_ns: Vec<i64> = (0..=120).map(|row| row * 100_000_000).collect();
        let load = ["read_bytes", "read_ops", "write_bytes", "write_ops"];
        let load = load.map(|name| counter(name, if name.starts_with("read") { 4096 } else { 0 }));
        let stat = [("cpu0.user_ns", 99_000_000), ("cpu0.idle_ns", 1_000_000), ("interrupts", 5)];
        let stat = stat.map(|(name, step)| counter(name, step));
        let mut histogram = crate::measurement::latency_histogram();
        (1..5000).for_each(|ns| histogram += ns * 1000);
        let stream = |seconds: u64| Stream {
            pass_end_ns: Some(seconds * SECOND),
            pass: amount(1000),
            stopped_ns: 12 * SECOND,
            total: amount(2000),
            cpu_ns: SECOND,
            ..Stream::default()
        };
        let measurement = Measurement {
            window: Some(Window { start_ns: 0, end_ns: 12 * SECOND, done: amount(4000) }),
            elapsed_ns: 12 * SECOND,
            streams: vec![stream(5), stream(11)],
            load: Series { source: "load".into(), at_ns: at_ns.clone(), columns: load.into() },
            latency: vec![(Operation::Read, histogram)],
            counters: vec![Series { source: "stat".into(), at_ns, columns: stat.into() }],
            ..Measurement::default()
        };
        let trial = crate::plan::Trial {
            number: 1,
            replicate: 1,
            group: "g".into(),
            settings: crate::knob::Settings::defaults("file"),
            first_file: 0,
            seed: 1,
            planned: Some(1),
        };
        Record::new(trial, Outcome::Done(Box::new(measurement)))
    }

    /// `run` of 6421 simulated trials held 1.7 GB at its end: a quarter of a MiB each, for the
    /// histogram alone.
    #[test]
    fn a_light_record_says_all_that_the_full_one_says() {
        let (full, light) = (record(), record().light());
        let of = |record: &Record| {
            let measurement = record.outcome.measurement().unwrap().clone();
            let settings = &record.trial.settings;
            let rates = ["throughput_bytes_per_s", "iops", "ops_per_s", "latency_ns_mean"];
            (
                figures(record),
                rates.map(|name| rate(record, name)),
                cells(std::slice::from_ref(record))[0].figures.clone(),
                (window_disagrees(record), judge::all(record)),
                (
                    steady(&measurement, settings),
                    settling(&measurement, settings),
                    format!("{:?}", origin(&measurement, settings)),
                ),
                (machine::counters(&measurement), measurement.has_course()),
            )
        };
        let said = of(&full);
        assert_eq!(said, of(&light));
        assert!(said.0.len() > 8 && !said.3.1.is_empty() && !said.5.0.is_empty(), "{said:?}");
        assert_eq!(said, of(&light.clone().light()), "twice is as once");
        let Outcome::Done(measurement) = light.outcome else { panic!("it was done") };
        assert!(measurement.latency.is_empty() && measurement.load.at_ns.is_empty());
        assert!(measurement.counters.is_empty() && measurement.streams.is_empty());
        let failed = Record { outcome: Outcome::Failed("why".into()), ..record() };
        assert!(matches!(failed.light().outcome, Outcome::Failed(why) if why == "why"));
    }
}
