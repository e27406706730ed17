//! Figures: rates, percentiles and shares, computed from raw counts when asked.
//!
//! Of one trial: values with the interval that its own course allows. Of a cell: means over its
//! replicates with Student's interval, of a spread that is pooled where cells are alike. Names are
//! those of the JSON contract.

use std::sync::Arc;

use super::reported::{PREFIX, Reported};
use super::span::{Span, span};
use super::stopped::stopped;
use super::{
    Amount, Measurement, Operation, Record, Stream, Times, Window, consistency, course, network,
    nfs, programs, start,
};
use base::stats::{Estimate, Interval, batch_means, mean, sequential};
use base::value::Stop;

mod alike;
mod cells;
mod durable;
mod grain;
mod latency;
mod pooled;

pub use super::named::{Figures, Name, Rates};
use crate::knob;
pub use cells::{Cell, cells, mean_of, replicates, widened};
pub use durable::{durable_bytes, notes as durable_notes, takes_no_memory};
use durable::{durable_seconds_each, each_stays};
use grain::grain;
use latency::latency_figures;
pub use pooled::{LatencyCounts, latency_counts};

/// The window figure and the naive one may differ by this share of the window's before the record
/// carries a note (DESIGN rule 1).
pub const DISAGREEMENT: f64 = 0.05;

/// The figures of one trial; none unless it was done, and of a load that was held still
/// ([`stopped`]) those alone that were known before it began.
///
/// - `throughput_bytes_per_s`: bytes in the window over its length, `iops` likewise, both with an
///   interval by batch means over the load's samples inside the window where there are enough;
///   `read_` and `write_` variants when the window has both. Of a window that lies within one batch
///   of completions there is none, and a short start that did not go like the rest is left out of
///   them: [`span()`] says over which time they are.
/// - `naive_throughput_bytes_per_s`: bytes of all timed passes over the time from the start to the
///   end of the last of them. `sum_of_streams_bytes_per_s`: the sum of each stream's bytes over its
///   own time. Both are mistakes that people make; see DESIGN rule 1.
/// - `latency_ns_mean`, `_p50`, `_p90`, `_p99`, `_p999` (of 1000 operations or more), `_max`.
/// - `accepted_throughput_bytes_per_s` and `durable_throughput_bytes_per_s` of writes.
/// - `transactions_per_s`: those that ended in the window over its length, of loads that have such.
/// - `second_pass_ratio`: how many times faster the second pass was.
/// - `durable_ops_per_s`: operations on names over the time until all that they had changed was on
///   the device: that of `ops_per_s`, and its share of the flush that came after; none in memory,
///   where nothing ever is, and none where names were changed again.
/// - `cpu_seconds_per_gib`: processor time of the load's threads for each GiB moved.
/// - `mkfs_ns` and `mount_ns`, `array_ns` and `precondition_ns` where there were such, of the
///   layout that the trial ran on: the same for all trials of one layout in one replicate.
/// - Those of [`network::figures`], when bytes went over a network.
/// - Those of [`nfs::figures`], when the files lie on a server's.
/// - Those of [`programs::figures`], when the load was a program.
/// - What others reported, as they printed it: names begin with [`PREFIX`], without an interval.
///
/// Those of a record without samples are shared with it. A figure that the record itself
/// contradicts ([`consistency`]) is among them without an interval, to be looked at beside its
/// note; whoever computes with figures takes those that stand ([`standing`]).
pub fn figures(record: &Record) -> Arc<Figures> {
    if let Some(digest) = record.outcome.measurement().and_then(|it| it.digest.as_ref()) {
        return Arc::clone(&digest.figures);
    }
    let mut figures = computed(record);
    for name in consistency::withheld(record, &figures) {
        if let Some(estimate) = figures.get(&name).copied() {
            figures.insert(name, Estimate::bare(estimate.value));
        }
    }
    Arc::new(figures)
}

/// The figures of one trial that nothing in its record contradicts: those that headlines,
/// intervals, effects and comparisons rest on.
pub fn standing(record: &Record) -> Arc<Figures> {
    let all = figures(record);
    let withheld = match record.outcome.measurement().and_then(|it| it.digest.as_ref()) {
        Some(digest) => digest.withheld.clone(),
        None => consistency::withheld(record, &all),
    };
    if withheld.is_empty() {
        return all;
    }
    let mut all = all.as_ref().clone();
    all.retain(|name, _| withheld.iter().all(|held| held.as_ref() != name));
    Arc::new(all)
}

/// The figures of a record with samples, whether it contradicts them or not.
pub(super) fn computed(record: &Record) -> Figures {
    let mut figures = Figures::new();
    let Some(measurement) = record.outcome.measurement() else { return figures };
    if let Some(times) = &measurement.layout {
        layout_figures(times, &mut figures);
    }
    if stopped(measurement).is_some() {
        return figures;
    }
    let span = span(measurement, &record.trial.settings).ok();
    if let Some(span) = &span {
        window_figures(record, measurement, span, &mut figures);
    }
    pass_figures(measurement, &mut figures);
    latency_figures(measurement, span.as_ref(), &mut figures);
    other_figures(record, measurement, span.as_ref(), &mut figures);
    if let Some(window) = span.and_then(|span| span.window) {
        network::figures(measurement, &window, &mut figures);
        nfs::figures(measurement, &window, &mut figures);
    }
    if let Some(of) = &measurement.programs {
        programs::figures(of, &mut figures);
    }
    if let Some(of) = &measurement.reported {
        reported_figures(of, &mut figures);
    }
    figures.retain(|_, estimate| estimate.value.is_finite());
    figures
}

fn reported_figures(of: &Reported, figures: &mut Figures) {
    for figure in &of.figures {
        let name = format!("{PREFIX}{}", figure.name);
        figures.insert(name.into(), Estimate::bare(figure.value));
    }
}

/// The value of the rate `name` of one trial, as in [`standing`], without looking at anything else.
/// `None` when the trial has no such figure, or contradicts it. Other figures than the rates of
/// this function are known of a record without samples alone.
pub fn rate(record: &Record, name: &str) -> Option<f64> {
    if let Some(kept) = super::named::kept(record, name) {
        return kept;
    }
    computed_rate(record, name).filter(|_| consistency::stands(record, name))
}

/// The rate `name` of a record with samples, whether it contradicts that or not.
pub(super) fn computed_rate(record: &Record, name: &str) -> Option<f64> {
    let measurement = record.outcome.measurement()?;
    if stopped(measurement).is_some() {
        return None;
    }
    let span = || span(measurement, &record.trial.settings).ok();
    let durable = measurement.durable;
    let value = match name {
        "throughput_bytes_per_s" => span()
            .filter(|it| it.done.bytes() > 0 || it.done.metadata_ops == 0)
            .map(|it| it.done.bytes() as f64 / it.seconds)?,
        "iops" => {
            let ios = |it: &Span| it.done.read_ops + it.done.write_ops;
            span().filter(|it| ios(it) > 0).map(|it| ios(&it) as f64 / it.seconds)?
        }
        "ops_per_s" => span()
            .filter(|it| it.done.metadata_ops > 0)
            .map(|it| it.done.ops() as f64 / it.seconds)?,
        "transactions_per_s" => transactions_per_s(measurement, &span()?)?,
        "latency_ns_mean" => {
            let parts = measurement.operations();
            let sum: f64 = parts.clone().map(|part| part.mean() * part.len() as f64).sum();
            sum / parts.map(|part| part.len()).sum::<u64>() as f64
        }
        "accepted_throughput_bytes_per_s" => {
            durable.map(|it| it.bytes as f64 * 1e9 / it.accepted_ns as f64)?
        }
        "durable_throughput_bytes_per_s" => {
            let bytes = durable_bytes(record)?;
            durable.map(|it| bytes as f64 * 1e9 / it.durable_ns as f64)?
        }
        _ => return None,
    };
    value.is_finite().then_some(value)
}

/// Transactions that ended in the window over its length. Over the whole trial they are counted
/// only where they are the operations.
fn transactions_per_s(measurement: &Measurement, span: &Span) -> Option<f64> {
    let of = measurement.latency.iter().find(|(kind, _)| *kind == Operation::Transaction);
    let count = of.map(|(_, histogram)| histogram.len()).filter(|count| *count > 0)?;
    match (span.window, measurement.window) {
        // Its histogram is of all of the window, a start that rates leave out with it.
        (Some(_), Some(all)) => Some(count as f64 / course::timed_seconds(&measurement.load, &all)),
        _ => (measurement.latency.len() == 1).then(|| span.done.ops() as f64 / span.seconds),
    }
}

/// By which share of the window's throughput the naive figure differs from it, when that is more
/// than 5 %; negative when the naive figure is too low. Such a record carries a note.
pub fn window_disagrees(record: &Record) -> Option<f64> {
    let rate = rate(record, "throughput_bytes_per_s")?;
    let measurement = record.outcome.measurement()?;
    // The naive figure has the start in it, too.
    let left_out = start::start(measurement).is_some_and(|start| start.rest.is_some());
    let all = measurement.window.filter(|_| left_out);
    let window = all.map_or(rate, |it| it.done.bytes() as f64 / it.seconds());
    let mut figures = Figures::new();
    pass_figures(measurement, &mut figures);
    let figures = measurement.digest.as_ref().map_or(&figures, |digest| digest.figures.as_ref());
    let naive = figures.get("naive_throughput_bytes_per_s")?.value;
    let share = naive / window - 1.0;
    (window > 0.0 && share.abs() > DISAGREEMENT).then_some(share)
}

/// Whether the width of its own interval ended the trial, which the interval must make good.
fn ended_by_interval(record: &Record) -> bool {
    let settings = &record.trial.settings;
    settings.has(knob::STOP) && matches!(settings.stop(), Stop::Interval(_))
}

fn window_figures(record: &Record, measurement: &Measurement, span: &Span, figures: &mut Figures) {
    let done = span.done;
    let by_interval = ended_by_interval(record);
    let mut add = |name: &'static str, amount: u64, columns: &[&str]| {
        let value = amount as f64 / span.seconds;
        let within =
            |window: Window| within_trial(measurement, &window, by_interval, columns, value);
        let interval = span.window.and_then(within);
        figures.insert(name.into(), Estimate { value, interval });
    };
    if done.bytes() > 0 || done.metadata_ops == 0 {
        add("throughput_bytes_per_s", done.bytes(), &["read_bytes", "write_bytes"]);
    }
    if done.read_ops + done.write_ops > 0 {
        add("iops", done.read_ops + done.write_ops, &["read_ops", "write_ops"]);
    }
    if done.metadata_ops > 0 {
        add("ops_per_s", done.ops(), &["read_ops", "write_ops", "metadata_ops"]);
    }
    if done.read_bytes > 0 && done.write_bytes > 0 {
        add("read_throughput_bytes_per_s", done.read_bytes, &["read_bytes"]);
        add("write_throughput_bytes_per_s", done.write_bytes, &["write_bytes"]);
    }
    if done.read_ops > 0 && done.write_ops > 0 {
        add("read_iops", done.read_ops, &["read_ops"]);
        add("write_iops", done.write_ops, &["write_ops"]);
    }
}

/// The interval that a trial's own course allows around `value`: batch means over the rates in the
/// load's sampling intervals that lie wholly inside the `window`.
fn within_trial(
    measurement: &Measurement,
    window: &Window,
    by_interval: bool,
    columns: &[&str],
    value: f64,
) -> Option<Interval> {
    let rates = course::rates(&measurement.load, columns, window);
    let ends = match by_interval {
        true => sequential::interval(&rates)?,
        false => batch_means(&rates)?,
    };
    // The window has parts of intervals at both ends, so its value is not quite their mean.
    let shift = value - mean(&rates);
    Some(Interval { low: (ends.low + shift).max(0.0), high: ends.high + shift })
}

/// When a stream's timed part ended: its pass was complete, or the trial was over.
fn timed_end_ns(stream: &Stream) -> u64 {
    stream.pass_end_ns.unwrap_or(stream.stopped_ns)
}

fn pass_figures(measurement: &Measurement, figures: &mut Figures) {
    let streams = &measurement.streams;
    let bytes: u64 = streams.iter().map(|stream| stream.pass.bytes()).sum();
    let last = streams.iter().map(timed_end_ns).max().unwrap_or(0);
    if measurement.load.column(course::TIMED).is_some() {
        // One stream whose clock stood between its rounds: the time to its end is no time of I/O.
        return;
    }
    let known = measurement.programs.as_ref().is_none_or(|it| it.are_told(&measurement.evidence));
    if last == 0 || bytes == 0 || !known {
        return;
    }
    let naive = bytes as f64 / (last as f64 / 1e9);
    figures.insert("naive_throughput_bytes_per_s".into(), Estimate::bare(naive));
    let own_rate = |stream: &Stream| {
        let ns = timed_end_ns(stream).saturating_sub(stream.started_ns);
        if ns > 0 { stream.pass.bytes() as f64 * 1e9 / ns as f64 } else { 0.0 }
    };
    let sum: f64 = streams.iter().map(own_rate).sum();
    figures.insert("sum_of_streams_bytes_per_s".into(), Estimate::bare(sum));
}

/// What took no time was not done.
fn layout_figures(times: &Times, figures: &mut Figures) {
    let steps = [
        ("precondition_ns", times.precondition_ns),
        ("array_ns", times.array_ns),
        ("mkfs_ns", times.mkfs_ns),
        ("mount_ns", times.mount_ns),
    ];
    for (name, ns) in steps.into_iter().filter(|(_, ns)| *ns > 0) {
        figures.insert(name.into(), Estimate::bare(ns as f64));
    }
}

fn other_figures(
    record: &Record,
    measurement: &Measurement,
    span: Option<&Span>,
    figures: &mut Figures,
) {
    let mut add = |name: &'static str, top: f64, bottom: f64| {
        if top > 0.0 && bottom > 0.0 {
            figures.insert(name.into(), Estimate::bare(top / bottom));
        }
    };
    if let Some(durable) = measurement.durable {
        let bytes = durable.bytes as f64;
        add("accepted_throughput_bytes_per_s", bytes, durable.accepted_ns as f64 / 1e9);
        if let Some(bytes) = durable_bytes(record) {
            add("durable_throughput_bytes_per_s", bytes as f64, durable.durable_ns as f64 / 1e9);
        }
    }
    if let Some(pass) = &measurement.second_pass {
        add("second_pass_ratio", pass.first_ns as f64, pass.second_ns as f64);
    }
    let total = measurement
        .streams
        .iter()
        .fold(Amount::default(), |total, stream| total.plus(&stream.total));
    let cpu_ns: u64 = measurement.streams.iter().map(|stream| stream.cpu_ns).sum();
    let unknown = measurement.programs.is_some() && !measurement.evidence.process_io_reliable;
    let cpu_ns = if unknown { 0 } else { cpu_ns };
    // Two threads make a stream over a network, which has this figure of both.
    if !record.trial.settings.is_network() {
        add("cpu_seconds_per_gib", cpu_ns as f64 / 1e9, total.bytes() as f64 / f64::from(1 << 30));
    }
    if total.metadata_ops > 0 {
        add("cpu_ns_per_op", cpu_ns as f64, total.ops() as f64);
        if let Some(durable) = measurement.durable.filter(|_| each_stays(record, total.ops())) {
            add("durable_ops_per_s", 1.0, durable_seconds_each(&durable, total.ops(), span));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::Settings;
    use crate::measurement::{Durable, Outcome, SecondPass, Window, latency_histogram};
    use crate::plan::Trial;

    fn record(measurement: Measurement, streams: u64) -> Record {
        let mut settings = Settings::defaults("file");
        settings.set(knob::STREAMS, streams);
        let trial = Trial {
            number: 7,
            replicate: 1,
            group: "g".into(),
            settings,
            seed: 1,
            first_file: 0,
            planned: None,
        };
        Record::new(trial, Outcome::Done(Box::new(measurement)))
    }

    fn reads(bytes: u64) -> Amount {
        Amount { read_bytes: bytes, read_ops: bytes / 100, ..Amount::default() }
    }

    /// Two streams of 1000 bytes each: one takes 1 s, the other 2 s.
    fn two_streams() -> Measurement {
        let stream = |seconds: u64| Stream {
            pass_end_ns: Some(seconds * 1_000_000_000),
            pass: reads(1000),
            stopped_ns: 2_000_000_000,
            total: reads(if seconds == 1 { 2000 } else { 1000 }),
            cpu_ns: 500,
            ..Stream::default()
        };
        Measurement {
            window: Some(Window { start_ns: 0, end_ns: 2_000_000_000, done: reads(3000) }),
            streams: vec![stream(1), stream(2)],
            ..Measurement::default()
        }
    }

    #[test]
    fn the_three_throughputs_are_as_defined() {
        let figures = figures(&record(two_streams(), 2));
        assert_eq!(figures["throughput_bytes_per_s"].value, 1500.0);
        assert_eq!(rate(&record(two_streams(), 2), "throughput_bytes_per_s"), Some(1500.0));
        assert_eq!(rate(&record(two_streams(), 2), "latency_ns_mean"), None);
        assert_eq!(figures["iops"].value, 15.0);
        assert_eq!(figures["naive_throughput_bytes_per_s"].value, 1000.0);
        assert_eq!(figures["sum_of_streams_bytes_per_s"].value, 1500.0);
        let disagreement = window_disagrees(&record(two_streams(), 2)).unwrap();
        assert!((disagreement + 1.0 / 3.0).abs() < 1e-12);
        let gib = 3000.0 / f64::from(1 << 30);
        assert!((figures["cpu_seconds_per_gib"].value - 1e-6 / gib).abs() < 1e-9);
        assert!(!figures.contains_key("read_iops"), "only mixed loads have variants");
    }

    #[test]
    fn what_was_not_measured_has_no_figure() {
        assert!(figures(&record(Measurement::default(), 1)).is_empty());
        let mut failed = record(two_streams(), 2);
        failed.outcome = Outcome::Failed("EIO".into());
        assert!(figures(&failed).is_empty());
        assert_eq!(window_disagrees(&failed), None);
    }

    #[test]
    fn mixed_loads_have_figures_of_each_kind_and_of_both() {
        let mut measurement = two_streams();
        let done = Amount {
            read_bytes: 600,
            read_ops: 6,
            write_bytes: 200,
            write_ops: 2,
            ..Amount::default()
        };
        measurement.window = Some(Window { start_ns: 0, end_ns: 2_000_000_000, done });
        let histogram = |value: u64, count: u64| {
            let mut histogram = latency_histogram();
            histogram.saturating_record_n(value, count);
            histogram
        };
        measurement.latency = vec![
            (Operation::Read, histogram(100, 6)),
            (Operation::Write, histogram(900, 2)),
            (Operation::Read, histogram(100, 2000)),
        ];
        let figures = figures(&record(measurement, 2));
        assert_eq!(figures["throughput_bytes_per_s"].value, 400.0);
        assert_eq!(figures["read_throughput_bytes_per_s"].value, 300.0);
        assert_eq!(figures["write_iops"].value, 1.0);
        assert_eq!(figures["latency_ns_max"].value, 900.0);
        assert_eq!(figures["read_latency_ns_max"].value, 100.0);
        assert_eq!(figures["write_latency_ns_p50"].value, 900.0);
        assert!(figures.contains_key("latency_ns_p999"));
        assert!(!figures.contains_key("write_latency_ns_p999"), "of two operations");
    }

    #[test]
    fn durable_and_second_pass_become_figures() {
        let mut measurement = two_streams();
        measurement.durable =
            Some(Durable { bytes: 4000, accepted_ns: 1_000_000_000, durable_ns: 4_000_000_000 });
        measurement.second_pass =
            Some(SecondPass { bytes: 10, first_ns: 30, second_ns: 10, ..SecondPass::default() });
        let record = record(measurement, 1);
        let figures = figures(&record);
        for name in ["accepted_throughput_bytes_per_s", "durable_throughput_bytes_per_s", "iops"] {
            assert_eq!(rate(&record, name), Some(figures[name].value), "{name}");
        }
        assert_eq!(figures["accepted_throughput_bytes_per_s"].value, 4000.0);
        assert_eq!(figures["durable_throughput_bytes_per_s"].value, 1000.0);
        assert_eq!(figures["second_pass_ratio"].value, 3.0);
    }

    /// A file of one block was written: its only operation came before the window opened, and the
    /// answer said that the most was 0 MB/s.
    #[test]
    fn a_window_in_which_nothing_was_done_gives_no_figure() {
        let mut measurement = two_streams();
        measurement.window =
            Some(Window { start_ns: 0, end_ns: 1_000_000, done: Amount::default() });
        let record = record(measurement, 2);
        assert!(!figures(&record).contains_key("throughput_bytes_per_s"));
        assert_eq!((rate(&record, "throughput_bytes_per_s"), rate(&record, "iops")), (None, None));
    }

    /// Files of 32 MiB were written over for two seconds in the page cache: "durable 12053 MB/s".
    #[test]
    fn bytes_written_over_in_memory_are_not_durable() {
        let durable = |bytes, device| {
            let mut measurement = two_streams();
            measurement.durable = Some(Durable { bytes, accepted_ns: 1, durable_ns: 1 });
            measurement.evidence.device_write_bytes = device;
            let mut record = record(measurement, 2);
            record.trial.settings.set(knob::DIRECT, false);
            record.trial.settings.set(knob::FILE_SIZE, 1000);
            durable_bytes(&record)
        };
        assert_eq!(durable(2000, Some(900)), Some(2000), "each byte once");
        assert_eq!(durable(9000, Some(8500)), Some(8500));
        assert_eq!(durable(9000, Some(2500)), None, "the device idled: no rate of it");
        assert_eq!(durable(9000, Some(9500)), Some(9000), "a journal and others write too");
        assert_eq!(durable(9000, None), None);
    }

    /// fsync on tmpfs succeeds: a durable figure of it was printed as "on the device".
    #[test]
    fn nothing_is_durable_in_memory() {
        let mut measurement = two_streams();
        measurement.durable = Some(Durable { bytes: 1, accepted_ns: 1, durable_ns: 1 });
        measurement.evidence.memory = true;
        let record = record(measurement, 2);
        assert!(!figures(&record).contains_key("durable_throughput_bytes_per_s"));
        assert_eq!(rate(&record, "durable_throughput_bytes_per_s"), None);
        assert!(figures(&record).contains_key("accepted_throughput_bytes_per_s"));
    }

    /// A hundred files were touched over and over for two seconds, and put on the device once:
    /// "250 000 operations/s up to the device", which had written a hundred inodes.
    #[test]
    fn a_name_that_is_changed_again_is_durable_once() {
        let durable = |ops, memory| {
            let mut measurement = two_streams();
            measurement.durable = Some(Durable { bytes: 0, accepted_ns: 1, durable_ns: 1 });
            measurement.evidence.memory = memory;
            for stream in &mut measurement.streams {
                stream.total = Amount { metadata_ops: ops, ..Amount::default() };
            }
            let mut record = record(measurement, 2);
            record.trial.settings = Settings::defaults("tree");
            record.trial.settings.set(knob::FILES, 100);
            record.trial.settings.set(knob::STREAMS, 2);
            figures(&record).contains_key("durable_ops_per_s")
        };
        assert!(durable(100, false), "each name once");
        assert!(!durable(101, false) && !durable(100, true));
    }

    #[test]
    fn cells_keep_the_order_of_first_appearance_and_count_what_was_done() {
        let mut failed = record(two_streams(), 2);
        failed.outcome = Outcome::Skipped("no".into());
        let records =
            [record(two_streams(), 4), record(two_streams(), 2), failed, record(two_streams(), 4)];
        let cells = cells(&records);
        let streams: Vec<u64> = cells.iter().map(|cell| cell.settings.get(knob::STREAMS)).collect();
        assert_eq!(streams, [4, 2]);
        assert_eq!((cells[0].trials.len(), cells[1].trials.len()), (2, 1));
        let pair = cells[0].figures["throughput_bytes_per_s"];
        assert_eq!((pair.value, pair.interval.is_some()), (1500.0, true));
        assert_eq!(cells[1].figures["throughput_bytes_per_s"].interval, None);
    }

    /// Depth 16 at 4 KiB stands in two groups of the standard evaluation; its six trials made a
    /// cell of the first group, and the second one knew nothing of it.
    #[test]
    fn a_cell_knows_all_groups_that_asked_for_it_and_counts_each_trial_once() {
        let mut records = [1, 2, 3, 4].map(|number| {
            let mut record = record(two_streams(), 4);
            record.trial.number = number;
            record
        });
        records[1].trial.group = "other".into();
        records[3].trial.group = "other".into();
        let cells = cells(&records);
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0].groups, ["g", "other"]);
        assert_eq!(cells[0].trials, [1, 2, 3, 4]);
        records[3].trial.group = crate::plan::LAYOUT.into();
        let trials = super::cells(&records).into_iter().map(|cell| cell.trials);
        assert_eq!(trials.collect::<Vec<_>>(), [vec![1, 2, 3], vec![4]], "one made ready only");
    }
}
