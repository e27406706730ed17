//! The start of a trial that did not go like the rest, and the window without it.
//!
//! A throttle that had saved a slice, and a volume that had saved credits, give more at first: a
//! tenth of a second of two is 5 % too much, in every repeat alike, and no spread of repeats shows
//! it. A short first phase is left out of the rates; latencies, which have no time, are of the
//! whole window. A long one counts, and is named: after it comes what lasts.

use serde::{Deserialize, Serialize};

use super::stopped::stopped;
use super::{Amount, Measurement, Note, Window, course};
use base::stats::head::{self, Head};
use base::value::{duration, iops, percent, throughput_short};
use facts::counters::series::Series;

/// A first phase up to so long is left out.
const LEFT_OUT_NS: u64 = 1_000_000_000;
/// ... where so much of the window is left.
pub(super) const LEFT_MIN: f64 = 0.75;
/// What a throttle saves up for.
const FIRST_NS: u64 = 100_000_000;

/// A first phase that was not like the rest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialStart {
    /// How long after the start of the window the rest begins, ns.
    pub after_ns: u64,
    /// Bytes per second until then; operations per second where no bytes were moved.
    pub before: f64,
    /// The same from then on.
    pub after: f64,
    /// Whether those are operations.
    pub of_operations: bool,
    /// The window without it, from which rates are taken; `None` where it is too long to be left
    /// out, and counts.
    pub rest: Option<Window>,
}

/// Samples of the load from the window's start to its end: times and totals.
struct LoadRows<'a> {
    load: &'a Series,
    /// The first row of them.
    first: usize,
    totals: Vec<f64>,
    at_ns: &'a [i64],
}

/// The first phase of a trial that was not like the rest beyond its own scatter; `None` of loads
/// that were held still, of programs, and of what others reported.
pub fn start(measurement: &Measurement) -> Option<TrialStart> {
    if let Some(digest) = &measurement.digest {
        return digest.start;
    }
    let window = measurement.window?;
    let told = measurement.programs.is_some() || measurement.reported.is_some();
    let load = &measurement.load;
    // Where the clock of a load stands at times, its samples have no place in time.
    if told || load.at_ns.len() < 2 || load.column(course::TIMED).is_some() {
        return None;
    }
    let of_operations = window.done.bytes() == 0;
    let columns: &[&str] =
        if of_operations { &["metadata_ops"] } else { &["read_bytes", "write_bytes"] };
    // What was saved lies in the first interval, in which the window begins; a load that is slow
    // in it may have begun late.
    let of = |early: bool| Some((early, LoadRows::of(load, columns, &window, early)?));
    let found = [of(true), of(false)].into_iter().flatten().find_map(|(early, rows)| {
        let head = rows.head(measurement, &window)?;
        (head.before > head.after || !early).then_some((rows, head))
    });
    let (rows, head) = found?;
    if stopped(measurement).is_some() {
        return None;
    }
    let until_ns = u64::try_from(*rows.at_ns.get(head.length)?).ok()?;
    let after_ns = until_ns.saturating_sub(window.start_ns);
    let rest = rows
        .rest(head.length)
        .filter(|rest| after_ns <= LEFT_OUT_NS && rest.seconds() >= LEFT_MIN * window.seconds());
    let Head { before, after, .. } = head;
    Some(TrialStart { after_ns, before, after, of_operations, rest })
}

/// What the rate is without its first tenth of a second, over what it is: where a start is not told
/// in one trial it may be in all alike. `None` where one was told, or too little would be left.
pub fn later(measurement: &Measurement) -> Option<f64> {
    if let Some(digest) = &measurement.digest {
        return digest.later;
    }
    let told = measurement.programs.is_some() || measurement.reported.is_some();
    let (window, load) = (measurement.window?, &measurement.load);
    if told || load.column(course::TIMED).is_some() || start(measurement).is_some() {
        return None;
    }
    let rows = LoadRows::of(load, &[], &window, true)?;
    let first = (window.start_ns + FIRST_NS) as i64;
    let rest = rows.rest(rows.at_ns.iter().position(|at| *at >= first)?)?;
    let rate = |of: &Window| {
        let amount = if window.done.bytes() == 0 { of.done.ops() } else { of.done.bytes() };
        amount as f64 / of.seconds()
    };
    let ratio = rate(&rest) / rate(&window);
    let enough = rest.seconds() >= LEFT_MIN * window.seconds();
    (enough && ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

impl<'a> LoadRows<'a> {
    /// With `early`, from the last sample before the window on.
    fn of(
        load: &'a Series,
        columns: &[&str],
        window: &Window,
        early: bool,
    ) -> Option<LoadRows<'a>> {
        let (start, end) = (window.start_ns as i64, window.end_ns as i64);
        let mut first = load.at_ns.partition_point(|&at| at < start);
        if early && load.at_ns.get(first).is_none_or(|&at| at > start) {
            first = first.checked_sub(1)?;
        }
        let last = load.at_ns.partition_point(|&at| at <= end);
        let at_ns = load.at_ns.get(first..last)?;
        let total = |row: usize| -> f64 {
            let of = columns.iter().filter_map(|name| load.column(name)?.values.get(row));
            of.map(|&value| value as f64).sum()
        };
        let totals = (first..last).map(total).collect();
        Some(LoadRows { load, first, totals, at_ns })
    }

    fn head(&self, measurement: &Measurement, window: &Window) -> Option<Head> {
        let rate = |row: usize| {
            let ns = (self.at_ns[row + 1] - self.at_ns[row]) as f64;
            (self.totals[row + 1] - self.totals[row]).max(0.0) * 1e9 / ns
        };
        let values: Vec<f64> = (0..self.at_ns.len().saturating_sub(1)).map(rate).collect();
        let last = self.at_ns.last()? - self.at_ns.first()?;
        let each_s = last as f64 / 1e9 / values.len().max(1) as f64;
        // Each stream's count of whole blocks is off by up to one, evenly.
        let ops = (window.done.read_ops + window.done.write_ops).max(1) as f64;
        let one = if window.done.bytes() == 0 { 1.0 } else { window.done.bytes() as f64 / ops };
        let streams = measurement.streams.len().max(1) as f64;
        head::head(&values, one / each_s * (streams / 12.0).sqrt())
    }

    /// The window from the row `from` of these to the last: both are samples, so nothing of it is
    /// interpolated.
    fn rest(&self, from: usize) -> Option<Window> {
        let to = self.at_ns.len().checked_sub(1)?;
        let counted = |row: usize| counted(self.load, self.first + row);
        let done = counted(to).minus(&counted(from));
        let ns = |row: usize| u64::try_from(*self.at_ns.get(row)?).ok();
        let window = Window { start_ns: ns(from)?, end_ns: ns(to)?, done };
        (done.ops() > 0 && window.end_ns > window.start_ns).then_some(window)
    }
}

/// What the load had done in all at a row of its samples.
fn counted(load: &Series, row: usize) -> Amount {
    let at = |name: &str| {
        let values = load.column(name).map(|column| &column.values);
        values.and_then(|values| values.get(row)).copied().unwrap_or(0)
    };
    Amount {
        read_bytes: at("read_bytes"),
        read_ops: at("read_ops"),
        write_bytes: at("write_bytes"),
        write_ops: at("write_ops"),
        metadata_ops: at("metadata_ops"),
    }
}

/// What the load had done in all when it was sampled at that moment; `None` where it was not.
pub fn counted_at(load: &Series, at_ns: u64) -> Option<Amount> {
    let row = load.at_ns.binary_search(&i64::try_from(at_ns).ok()?).ok()?;
    Some(counted(load, row))
}

impl TrialStart {
    /// Whether it was faster than what came after it.
    pub fn is_faster(&self) -> bool {
        self.before > self.after
    }

    /// A rate of what it counts.
    fn rate(&self, per_s: f64) -> String {
        match self.of_operations {
            true => format!("{} operations/s", iops(per_s)),
            false => throughput_short(per_s),
        }
    }
}

/// What whoever reads the rates must know of the start.
pub fn note(measurement: &Measurement) -> Option<Note> {
    let found = start(measurement)?;
    let rates = format!("{}, then {}", found.rate(found.before), found.rate(found.after));
    let long = duration(found.after_ns as f64);
    if let Some(rest) = found.rest {
        let window = measurement.window?.seconds();
        let share = percent(1.0 - rest.seconds() / window);
        let text = format!(
            "the start did not go like the rest: for {long} {rates}. Rates are without it \
             ({share} of the window); latencies are of all"
        );
        return Some(Note::new("start-left-out", text));
    }
    let text = format!(
        "the rate was {rates}, from {long} on: what was saved up before did not last. The rates \
         of this trial are of both together"
    );
    // A load that warms up is no burst.
    found.is_faster().then(|| Note::new("burst", text))
}
