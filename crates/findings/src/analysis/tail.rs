//! How long do the slowest operations take, and at what load does that depart from the rest?
//!
//! The tail of a load is its p99.9 over its median (the p99, where there are too few operations for
//! a p99.9), both of all operations of its trials; how surely it is so long is judged trial by
//! trial. Told are the load with the longest tail, and the steps of streams or
//! queue depth from which the tail surely grows more than [`DEPARTS`] times as much as the median.
//! No percentile is told that the number of operations does not bound
//! ([`values_needed`]), and bytes from memory and from elsewhere are never compared.
//!
//! Our streams wait for an answer before they ask again: what a stall would have kept waiting in
//! the meantime is not among the latencies (coordinated omission), so tails are those of a closed
//! loop.

use super::curve::{Curve, cells, curves};
use super::workloads::{by_origin, bytes_from};
use super::{Finding, Question, command, words};
use base::stats::quantile::values_needed;
use base::stats::{Estimate, RatioOfMeans, holm, mean_interval, ratio_of_means};
use base::value::{duration, significant};
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::figures::{percentile_of, standing};
use experiment::measurement::origin::Verdict;

#[cfg(test)]
mod tests;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "tail",
    about: "How long do the slowest operations take, at what load do they leave the rest behind?",
    answer: |asked| answer(asked.records),
};

/// A step is told where the tail surely grows so many times more than the median does.
const DEPARTS: f64 = 1.5;
/// How likely any step may be told though the tail of none departs.
const CHANCE: f64 = 0.05;
/// So many curves are told of.
const CURVES_MAX: usize = 2;
/// Below this many times the median a tail is that of any queue, and of no interest.
const LONG: f64 = 4.0;
/// So long a run has slow operations enough.
const LONGER: &str = "60s";
/// Percentiles that are a tail, longest first, with their figure.
const TAILS: &[(&str, f64, &str)] =
    &[("p99.9", 0.999, "latency_ns_p999"), ("p99", 0.99, figure_names::LATENCY_P99)];

fn answer(records: &[Record]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = longest(records).into_iter().collect();
    findings.extend(departures(records));
    findings
}

/// The latencies of one trial, ns.
#[derive(Clone, Copy, Debug)]
struct Latencies<'a> {
    record: &'a Record,
    p50: f64,
    /// In the order of [`TAILS`]; `None` where the operations do not bound it.
    tails: [Option<f64>; 2],
    max: f64,
}

fn latencies(record: &Record) -> Option<Latencies<'_>> {
    let operations = record.outcome.measurement()?.window?.done.ops();
    let figures = standing(record);
    let value = |name: &str| Some(figures.get(name)?.value).filter(|value| *value > 0.0);
    let tail = |place: usize| {
        let (_, quantile, figure) = TAILS[place];
        value(figure).filter(|_| operations >= values_needed(quantile))
    };
    Some(Latencies {
        record,
        p50: value(figure_names::LATENCY_P50)?,
        tails: [tail(0), tail(1)],
        max: value("latency_ns_max")?,
    })
}

/// The longest tail that all of these trials have, by its place in [`TAILS`].
fn common<'a>(trials: impl IntoIterator<Item = &'a Latencies<'a>> + Clone) -> Option<usize> {
    (0..TAILS.len()).find(|place| trials.clone().into_iter().all(|it| it.tails[*place].is_some()))
}

/// The tail of that place over the median, trial by trial.
fn ratios(trials: &[Latencies<'_>], place: usize) -> Vec<f64> {
    trials.iter().filter_map(|it| Some(it.tails[place]? / it.p50)).collect()
}

/// Replicates of one load whose bytes came from one place.
struct TailLoad<'a> {
    label: String,
    verdict: Verdict,
    trials: Vec<Latencies<'a>>,
    place: usize,
    /// The tail over the median, trial by trial: by this the longest is found.
    times: Estimate,
}

/// The load with the longest tail, of those whose bytes did not come from memory; of memory where
/// there is nothing else.
fn longest(records: &[Record]) -> Option<Finding> {
    let mut loads: Vec<TailLoad<'_>> = Vec::new();
    for cell in cells(records) {
        for (verdict, of) in by_origin(&cell.records) {
            let trials: Vec<Latencies<'_>> = of.into_iter().filter_map(latencies).collect();
            let Some(place) = common(&trials).filter(|_| !trials.is_empty()) else { continue };
            let Some(times) = in_logs(&ratios(&trials, place)) else { continue };
            let label = cell.load(&["block-size", "queue-depth", "streams"]);
            loads.push(TailLoad { label, verdict, trials, place, times });
        }
    }
    let of_memory = |load: &TailLoad<'_>| matches!(load.verdict, Verdict::Cache | Verdict::Memory);
    if !loads.iter().all(of_memory) {
        loads.retain(|load| !of_memory(load));
    }
    loads.sort_by(|a, b| b.times.value.total_cmp(&a.times.value));
    let (first, others) = loads.split_first()?;
    let told = times_of(first)?;
    if told.value < LONG {
        return None;
    }
    let (name, of) = (TAILS[first.place].0, &first.trials);
    let most = of.iter().map(|it| it.max).fold(0.0, f64::max);
    let beside = match others.first() {
        Some(next) => format!(" The next of {} loads: {} times.", loads.len(), {
            significant(times_of(next)?.value)
        }),
        None => String::new(),
    };
    let claim = format!(
        "{} has the longest tail: median {}, {name} {}, slowest {}. {name} is {} the median.{}",
        first.label,
        duration(pooled(of, figure_names::LATENCY_P50)?),
        duration(pooled(of, TAILS[first.place].2)?),
        duration(most),
        words::number(&told, " times"),
        beside
    );
    let numbers = of.iter().map(|it| it.record.trial.number).collect();
    let origin = bytes_from(first.verdict).to_owned();
    let settings = &of.first()?.record.trial.settings;
    let longer = command::again(settings, &[("stop", LONGER)]);
    let finding = Finding::info(QUESTION.name, claim, numbers).detailed([origin]);
    Some(finding.advise("a longer run tells how often that is").typing(longer))
}

/// A percentile of all operations of these trials, ns, as the table has it.
fn pooled(trials: &[Latencies<'_>], figure: &str) -> Option<f64> {
    let records: Vec<&Record> = trials.iter().map(|it| it.record).collect();
    percentile_of(&records, figure)
}

/// The tail over the median as they are told, with the interval between the trials. Histograms are
/// put together for what is told alone: there may be 100 000 trials.
fn times_of(load: &TailLoad<'_>) -> Option<Estimate> {
    let all = pooled(&load.trials, TAILS[load.place].2)?
        / pooled(&load.trials, figure_names::LATENCY_P50)?;
    Some(load.times.times(all / load.times.value))
}

/// The geometric mean of ratios with Student's interval of their logarithms.
fn in_logs(values: &[f64]) -> Option<Estimate> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let logs = mean_interval(&logs)?;
    Some(match logs.interval {
        Some(ends) => Estimate::within(logs.value.exp(), ends.low.exp(), ends.high.exp()),
        None => Estimate::bare(logs.value.exp()),
    })
}

/// From one level of a curve to the next.
struct Step<'a> {
    curve: usize,
    knob: &'static str,
    from: f64,
    to: f64,
    before: Vec<Latencies<'a>>,
    after: Vec<Latencies<'a>>,
    place: usize,
    /// How likely the tail were to grow so much, if it grew [`DEPARTS`] times the median at most.
    chance: f64,
}

/// The steps of streams and queue depth at which a tail departs: the first of each curve.
fn departures(records: &[Record]) -> Vec<Finding> {
    let mut all: Vec<Curve<'_>> = Vec::new();
    let mut steps: Vec<Step<'_>> = Vec::new();
    for knob in ["queue-depth", "streams"] {
        for curve in curves(records, knob) {
            steps.extend(steps_of(&curve, knob, all.len()));
            all.push(curve);
        }
    }
    holm(steps.iter_mut().map(|step| &mut step.chance).collect());
    steps.retain(|step| step.chance < CHANCE);
    // The steps of a curve ascend, and stay in that order.
    steps.sort_by_key(|step| step.curve);
    steps.dedup_by_key(|step| step.curve);
    steps.sort_by(|a, b| a.chance.total_cmp(&b.chance));
    steps.iter().take(CURVES_MAX).filter_map(|step| tell(step, &all[step.curve])).collect()
}

fn steps_of<'a>(curve: &Curve<'a>, knob: &'static str, number: usize) -> Vec<Step<'a>> {
    let mut levels: Vec<(f64, Verdict, Vec<Latencies<'a>>)> = Vec::new();
    let mut points: Vec<_> = curve.points.iter().collect();
    points.sort_by(|a, b| a.at.total_cmp(&b.at));
    for level in points.chunk_by(|a, b| a.at == b.at) {
        let of: Vec<&Record> = level.iter().map(|point| point.record).collect();
        for (verdict, of) in by_origin(&of) {
            levels.push((level[0].at, verdict, of.into_iter().filter_map(latencies).collect()));
        }
    }
    let mut steps = Vec::new();
    for (number_of, (to, verdict, after)) in levels.iter().enumerate() {
        let below = levels[..number_of].iter().rev();
        let mut below = below.filter(|(at, of, _)| at < to && of == verdict);
        let Some((from, _, before)) = below.next() else { continue };
        let Some(place) = common(before.iter().chain(after)) else { continue };
        let grown = RatioOfMeans::from_samples(&ratios(after, place), &ratios(before, place));
        let Some(chance) = grown.and_then(|grown| grown.chance_above(DEPARTS)) else { continue };
        let (before, after) = (before.clone(), after.clone());
        steps.push(Step {
            curve: number,
            knob,
            from: *from,
            to: *to,
            before,
            after,
            place,
            chance,
        });
    }
    steps
}

fn tell(step: &Step<'_>, curve: &Curve<'_>) -> Option<Finding> {
    let (name, place) = (TAILS[step.place].0, step.place);
    let tails =
        |of: &[Latencies<'_>]| -> Vec<f64> { of.iter().filter_map(|it| it.tails[place]).collect() };
    let middles = |of: &[Latencies<'_>]| -> Vec<f64> { of.iter().map(|it| it.p50).collect() };
    let (before, after) =
        (pooled(&step.before, TAILS[place].2)?, pooled(&step.after, TAILS[place].2)?);
    let middle = pooled(&step.after, figure_names::LATENCY_P50)?
        / pooled(&step.before, figure_names::LATENCY_P50)?;
    // Of as many times as the percentiles that are told, with the interval between the trials.
    let told = |of: Option<Estimate>, times: f64| of.map(|it| it.times(times / it.value));
    let grown = told(ratio_of_means(&tails(&step.after), &tails(&step.before)), after / before);
    let usual = told(ratio_of_means(&middles(&step.after), &middles(&step.before)), middle);
    let times = |of: Option<Estimate>| of.map_or("?".to_owned(), |it| words::number(&it, " times"));
    let knobs: Vec<&str> = ["block-size", "queue-depth", "streams"]
        .into_iter()
        .filter(|knob| *knob != step.knob)
        .collect();
    let (from, to) = (step.from, step.to);
    let what = if step.knob == "streams" { "streams" } else { "queue depth" };
    let claim = format!(
        "{}: from {what} {from} to {to} the tail departs: {name} grows from {} to {}, {}, the \
         median {}.",
        curve.load(&knobs),
        duration(before),
        duration(after),
        times(grown),
        times(usual),
    );
    let trials = step.before.iter().chain(&step.after).map(|it| it.record.trial.number).collect();
    let advice = format!("stay below {what} {to} where the slowest operations matter");
    let between = command::levels([from as u64, ((from + to) / 2.0) as u64, to as u64]);
    let finer = command::again(curve.settings, &[(step.knob, &between)]);
    Some(Finding::info(QUESTION.name, claim, trials).advise(advice).typing(finer))
}
