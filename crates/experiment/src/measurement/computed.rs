//! (pure) Figures of one trial, computed from its raw counts, whether its record contradicts them
//! or not. Which of them stand is the business of [`super::figures`].

use super::named::Figures;
use super::reported::{PREFIX, Reported};
use super::span::{Span, span};
use super::stopped::stopped;
use super::{
    Amount, Measurement, Operation, Record, Stream, Window, bins, course, network, nfs, programs,
};
use crate::knob;
use crate::measurement::figure_names;
use base::stats::{Estimate, Interval, batch_means, mean, sequential};
use base::value::Stop;
use facts::layout::Times;

pub mod durable;
mod latency;

use durable::{
    accepted_bytes_per_s, durable_bytes, durable_bytes_per_s, durable_seconds_each, each_stays,
};
use latency::latency_figures;

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

/// The rate `name` of a record with samples, whether it contradicts that or not.
pub(super) fn computed_rate(record: &Record, name: &str) -> Option<f64> {
    let measurement = record.outcome.measurement()?;
    if stopped(measurement).is_some() {
        return None;
    }
    let span = || span(measurement, &record.trial.settings).ok();
    let durable = measurement.durable;
    let value = match name {
        figure_names::THROUGHPUT => span()
            .filter(|it| it.done.bytes() > 0 || it.done.metadata_ops == 0)
            .map(|it| it.done.bytes() as f64 / it.seconds)?,
        figure_names::IOPS => {
            let ios = |it: &Span| it.done.read_ops + it.done.write_ops;
            span().filter(|it| ios(it) > 0).map(|it| ios(&it) as f64 / it.seconds)?
        }
        figure_names::OPS_PER_S => span()
            .filter(|it| it.done.metadata_ops > 0)
            .map(|it| it.done.ops() as f64 / it.seconds)?,
        figure_names::TRANSACTIONS_PER_S => transactions_per_s(measurement, &span()?)?,
        figure_names::LATENCY_MEAN => bins::mean(measurement.operations())?,
        figure_names::ACCEPTED_THROUGHPUT => {
            let settings = &record.trial.settings;
            durable.map(|it| accepted_bytes_per_s(settings, &it, span().as_ref()))?
        }
        figure_names::DURABLE_THROUGHPUT => {
            let bytes = durable_bytes(record)?;
            durable.map(|it| {
                durable_bytes_per_s(
                    (measurement, &record.trial.settings),
                    &it,
                    bytes,
                    span().as_ref(),
                )
            })?
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
        add(figure_names::THROUGHPUT, done.bytes(), &["read_bytes", "write_bytes"]);
    }
    if done.read_ops + done.write_ops > 0 {
        add(figure_names::IOPS, done.read_ops + done.write_ops, &["read_ops", "write_ops"]);
    }
    if done.metadata_ops > 0 {
        add(figure_names::OPS_PER_S, done.ops(), &["read_ops", "write_ops", "metadata_ops"]);
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
    let factor = value / mean(&rates);
    let ends = Interval { low: ends.low * factor, high: ends.high * factor };
    factor.is_finite().then_some(ends)
}

/// When a stream's timed part ended: its pass was complete, or the trial was over.
fn timed_end_ns(stream: &Stream) -> u64 {
    stream.pass_end_ns.unwrap_or(stream.stopped_ns)
}

pub(super) fn pass_figures(measurement: &Measurement, figures: &mut Figures) {
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
    figures.insert(figure_names::NAIVE_THROUGHPUT.into(), Estimate::bare(naive));
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
        ("rebuild_ns", times.rebuild_ns),
        ("mkfs_ns", times.mkfs_ns),
        ("mount_ns", times.mount_ns),
        ("fsck_ns", times.fsck_ns),
        ("fstrim_ns", times.fstrim_ns),
    ];
    for (name, ns) in steps.into_iter().filter(|(_, ns)| *ns > 0) {
        figures.insert(name.into(), Estimate::bare(ns as f64));
    }
    // A file system of which all was in use had nothing to discard, and was asked all the same.
    if times.fstrim_ns > 0 {
        figures.insert("fstrim_bytes".into(), Estimate::bare(times.fstrim_bytes as f64));
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
        let settings = &record.trial.settings;
        let accepted = accepted_bytes_per_s(settings, &durable, span);
        add(figure_names::ACCEPTED_THROUGHPUT, accepted, 1.0);
        if let Some(bytes) = durable_bytes(record) {
            let rate = durable_bytes_per_s((measurement, settings), &durable, bytes, span);
            add(figure_names::DURABLE_THROUGHPUT, rate, 1.0);
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
