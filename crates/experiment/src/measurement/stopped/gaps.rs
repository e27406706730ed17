//! (pure) Where rows are missing, and what the rows around say of that time.

use super::GAP_NS;
use crate::measurement::{Measurement, PEER};
use facts::counters::series::Series;

/// A row is missing only where the next one comes after so many times the usual.
const TIMES_USUAL: i64 = 3;

/// What explains a gap explains this share of it.
const MOST: f64 = 0.5;

/// Fewer rows than this inside a gap do not show that whoever took them ran all the time.
const AWAKE_ROWS: usize = 3;

/// A process that stands still uses no processor; a tick that was begun before may be charged late.
const IDLE_NS: u64 = 20_000_000;

/// A time between two rows, ns since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The last row before.
    pub start_ns: i64,
    /// The first row after.
    pub end_ns: i64,
}

impl Gap {
    /// How long it is, ns. A store may hold any times.
    pub fn length_ns(self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// What lies in both.
    pub fn and(self, other: Gap) -> Option<Gap> {
        let both = Gap {
            start_ns: self.start_ns.max(other.start_ns),
            end_ns: self.end_ns.min(other.end_ns),
        };
        (both.length_ns() > 0).then_some(both)
    }
}

/// How long all of them are, ns.
pub fn total_ns(gaps: impl IntoIterator<Item = Gap>) -> i64 {
    gaps.into_iter().map(Gap::length_ns).fold(0, i64::saturating_add)
}

/// The rows of a trial, between its start and the end of what is timed.
pub struct Rows<'a> {
    measurement: &'a Measurement,
    /// The end of what is timed, ns since the start.
    pub end_ns: i64,
}

impl<'a> Rows<'a> {
    /// Those of a trial.
    pub fn from_measurement(measurement: &'a Measurement) -> Rows<'a> {
        let durable_ns = measurement.durable.map_or(0, |durable| durable.durable_ns);
        let end_ns = measurement.elapsed_ns.max(durable_ns);
        Rows { measurement, end_ns: i64::try_from(end_ns).unwrap_or(i64::MAX) }
    }

    fn series(&self, source: &str) -> Option<&'a Series> {
        self.measurement.counters.iter().find(|series| series.source == source)
    }

    /// Neighbouring rows, as far as they lie in the time that is judged.
    fn between(&self, series: &'a Series) -> impl Iterator<Item = Gap> + use<'a> {
        let whole = Gap { start_ns: 0, end_ns: self.end_ns };
        series
            .at_ns
            .windows(2)
            .filter_map(move |two| Gap { start_ns: two[0], end_ns: two[1] }.and(whole))
    }

    fn gaps_in(&self, series: &'a Series) -> Vec<Gap> {
        let mut lengths: Vec<i64> = self.between(series).map(Gap::length_ns).collect();
        let half = lengths.len() / 2;
        // Of two or three rows the gap itself would be what is usual.
        let usual = if lengths.len() < 3 { 0 } else { *lengths.select_nth_unstable(half).1 };
        let least = GAP_NS.max(usual.saturating_mul(TIMES_USUAL));
        self.between(series).filter(|gap| gap.length_ns() >= least).collect()
    }

    /// Where rows of a source of counters are missing.
    pub fn gaps_of(&self, source: &str) -> Vec<Gap> {
        self.series(source).map_or_else(Vec::new, |series| self.gaps_in(series))
    }

    /// Where rows of the load are missing that are due all the time.
    pub fn gaps_of_load(&self) -> Vec<Gap> {
        let mut gaps = self.silences();
        gaps.retain(|gap| !self.is_at_rest(*gap));
        gaps
    }

    /// Whether a gap begins where a load of our own has ended: its last row stands where all of it
    /// has come to rest, and is durable, however long that took.
    pub fn is_at_rest(&self, gap: Gap) -> bool {
        let [.., ended, _] = self.measurement.load.at_ns[..] else { return false };
        self.measurement.programs.is_none() && gap.start_ns >= ended
    }

    /// Whether the load took its rows in most of a gap of others.
    pub fn was_awake(&self, gap: Gap) -> bool {
        let silent = self.silences().into_iter().filter_map(|silence| silence.and(gap));
        (total_ns(silent) as f64) < (1.0 - MOST) * gap.length_ns() as f64
    }

    /// Whether the load is one process that is seen from here: not programs, which the process that
    /// watches over them need not be awake for, nor one that another machine leads.
    pub fn is_one_process(&self) -> bool {
        let peer = |series: &Series| series.source.starts_with(PEER);
        self.measurement.programs.is_none() && !self.measurement.counters.iter().any(peer)
    }

    /// Whether anything on the machine waited for a page of a file or of swap in a gap.
    pub fn was_paging(&self, gap: Gap) -> bool {
        let vmstat = self.series("vmstat");
        let faults = vmstat.and_then(|vmstat| grown(vmstat, "major_faults", gap));
        faults.is_none_or(|faults| faults > 0)
    }

    /// Every time without a row of the load.
    pub fn silences(&self) -> Vec<Gap> {
        self.gaps_in(&self.measurement.load)
    }

    /// For how long the gauge `column` was set in the rows of a source, ns.
    pub fn marked_ns(&self, counters: &'a [Series], source: &str, column: &str) -> i64 {
        let series = counters.iter().find(|series| series.source == source);
        series.map_or(0, |series| self.marked_in(series, column))
    }

    /// For how long the gauge `column` was set in the rows of a series, ns: where it changes from
    /// row to row, half of the time between.
    pub fn marked_in(&self, series: &'a Series, column: &str) -> i64 {
        let Some(column) = series.column(column) else { return 0 };
        let whole = Gap { start_ns: 0, end_ns: self.end_ns };
        let rows = series.at_ns.windows(2).zip(column.values.windows(2));
        rows.filter_map(|(at, set)| {
            let of = Gap { start_ns: at[0], end_ns: at[1] }.and(whole)?.length_ns();
            let ends = set.iter().filter(|set| **set > 0).count() as i64;
            Some(of.saturating_mul(ends) / 2)
        })
        .fold(0, i64::saturating_add)
    }

    /// By how much a counter grew in the time that is judged, with the rows around it.
    pub fn growth(&self, counters: &[Series], source: &str, column: &str) -> Option<u64> {
        let series = counters.iter().find(|series| series.source == source)?;
        grown(series, column, Gap { start_ns: 0, end_ns: self.end_ns })
    }

    /// The largest step of a gauge from row to row.
    pub fn largest_jump(&self, counters: &[Series], source: &str, column: &str) -> Option<i64> {
        let series = counters.iter().find(|series| series.source == source)?;
        let values = &series.column(column)?.values;
        let rows = around(series, Gap { start_ns: 0, end_ns: self.end_ns })?;
        let steps = values.get(rows.0..=rows.1)?.windows(2);
        steps.map(|two| two[1].wrapping_sub(two[0]) as i64).max_by_key(|step| step.unsigned_abs())
    }

    /// Whether the load moved about as much in a gap as it does in such a time: then its streams
    /// ran, and only the thread that takes its rows did not.
    pub fn moved_in(&self, gap: Gap) -> bool {
        let load = &self.measurement.load;
        let of = |what: &str, row: usize| -> u64 {
            let of = load.columns.iter().filter(|column| column.name.ends_with(what));
            of.filter_map(|column| column.values.get(row)).fold(0, |sum, &x| sum.saturating_add(x))
        };
        let end = load.at_ns.len().saturating_sub(1);
        let what = if of("_bytes", end) > 0 { "_bytes" } else { "_ops" };
        let total = |row: usize| of(what, row);
        let Some((first, last)) = around(load, gap) else { return false };
        let per_s = |from: usize, to: usize| {
            let length = load.at_ns[to].saturating_sub(load.at_ns[from]);
            (length > 0).then(|| total(to).saturating_sub(total(from)) as f64 / length as f64)
        };
        let outside = (1..load.at_ns.len()).filter(|row| *row <= first || *row > last);
        let mut rates: Vec<f64> = outside.filter_map(|row| per_s(row - 1, row)).collect();
        if rates.is_empty() {
            return false;
        }
        let half = rates.len() / 2;
        let usual = *rates.select_nth_unstable_by(half, f64::total_cmp).1;
        usual > 0.0 && per_s(first, last).is_some_and(|rate| rate >= MOST * usual)
    }

    /// Whether what counts had to wait for a processor, or for memory, for most of a gap in its own
    /// rows, or the hypervisor took that time away; `of` is "", or the other end.
    pub fn was_held_up(&self, of: &str, gap: Gap) -> bool {
        let grew =
            |source: &str, column: &str| grown(self.series(&format!("{of}{source}"))?, column, gap);
        let most = |ns: u64| ns as f64 >= MOST * gap.length_ns() as f64;
        let stat = self.series(&format!("{of}stat"));
        let each = |what: &str| -> Vec<u64> {
            let of = stat.iter().flat_map(|stat| stat.columns.iter().map(move |it| (stat, it)));
            let of = of.filter(|(_, column)| column.name.ends_with(what));
            of.filter_map(|(stat, column)| grown(stat, &column.name, gap)).collect()
        };
        let waited = match grew("generator", "counting_wait_ns") {
            Some(ns) => most(ns),
            // Where the kernel does not say, a machine that had nothing idle explains it.
            None => stat.is_some() && !most(each(".idle_ns").iter().sum()),
        };
        let stolen = each(".steal_ns").into_iter().max().is_some_and(most);
        let memory = grew("pressure", "memory.full_ns").is_some_and(most);
        waited || stolen || memory
    }

    /// Whether the load's own thread was ready to run for most of a gap.
    pub fn waited(&self, gap: Gap) -> bool {
        let waited = self.series("process").and_then(|process| grown(process, "wait_ns", gap));
        waited.is_some_and(|ns| ns as f64 >= MOST * gap.length_ns() as f64)
    }

    /// Whether this program saw for all of a gap that the load used no processor, was not ready to
    /// run, and waited for no page of memory. What lies between the first two rows inside does not
    /// count, nor between the last two: there the load still ran before it was held, or ran again.
    pub fn was_idle(&self, gap: Gap) -> bool {
        let Some(process) = self.series("process") else { return false };
        let first = process.at_ns.partition_point(|at| *at <= gap.start_ns) + 1;
        let last = process.at_ns.partition_point(|at| *at < gap.end_ns).saturating_sub(2);
        let Some(seen) = process.at_ns.get(first..=last) else { return false };
        let [start_ns, .., end_ns] = *seen else { return false };
        let longest = seen.windows(2).map(|two| two[1].saturating_sub(two[0])).max();
        let awake = seen.len() >= AWAKE_ROWS
            && Gap { start_ns, end_ns }.length_ns() as f64 >= MOST * gap.length_ns() as f64
            && longest.is_some_and(|ns| ns < GAP_NS);
        let grew = |column: &str| {
            let values = &process.column(column)?.values;
            values.get(last)?.checked_sub(*values.get(first)?)
        };
        awake
            && grew("cpu_ns").is_some_and(|ns| ns <= IDLE_NS)
            && grew("major_faults").is_none_or(|faults| faults == 0)
            && !self.waited(gap)
    }
}

/// The last row at or before a gap, and the first at or after it.
fn around(series: &Series, gap: Gap) -> Option<(usize, usize)> {
    let first = series.at_ns.partition_point(|at| *at <= gap.start_ns).saturating_sub(1);
    let end = series.at_ns.len().checked_sub(1)?;
    let last = series.at_ns.partition_point(|at| *at < gap.end_ns).min(end);
    (last > first).then_some((first, last))
}

/// By how much a counter grew over a gap. One more row belongs to it: the kernel charges a wait
/// when it is over.
fn grown(series: &Series, column: &str, gap: Gap) -> Option<u64> {
    let values = &series.column(column)?.values;
    let (first, last) = around(series, gap)?;
    let last = (last + 1).min(values.len().checked_sub(1)?);
    values.get(last)?.checked_sub(*values.get(first)?)
}
