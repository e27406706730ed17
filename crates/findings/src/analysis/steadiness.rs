//! Which loads had settled, where those that had not were going, and where writing fell?
//!
//! Whether a trial had settled is decided by `measurement::steady`, and how its rate went by
//! `measurement::settling`; told here are how many had, why others were not tested, the loads that
//! had not with the way they went, how long a run-in takes, and the fall of writing where a fast
//! cache was full.

use std::collections::BTreeMap;

use super::curve::{CellReplicates, cells};
use super::{Finding, Question, command, words};
use base::stats::Estimate;
use base::value::{bytes, counted, duration, percent};
use experiment::knob;
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::settling::{Settling, settling};
use experiment::measurement::start::{TrialStart, start};
use experiment::measurement::steady::{Steady, steady};

#[cfg(test)]
mod tests;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "steadiness",
    about: "Which loads had settled, where were the others going, and where did writing fall?",
    answer: |asked| answer(asked.records),
};

/// So many loads are told of for each reason.
const LOADS_MAX: usize = 2;
/// A first round within this share of the last five needed no run-in.
const RUN_IN: f64 = 0.2;

/// One trial with how its rate went, where that is known.
struct SteadinessTrial<'a> {
    record: &'a Record,
    steady: Steady,
    settling: Option<Settling>,
    start: Option<TrialStart>,
}

/// The trials of one load.
struct SteadinessLoad<'a> {
    cell: &'a CellReplicates<'a>,
    trials: Vec<SteadinessTrial<'a>>,
}

fn answer(records: &[Record]) -> Vec<Finding> {
    let cells = cells(records);
    let loads: Vec<SteadinessLoad<'_>> = cells.iter().map(SteadinessLoad::of).collect();
    let mut findings: Vec<Finding> = how_many(&loads).into_iter().collect();
    findings.extend(unsettled(&loads));
    findings.extend(run_in(&loads));
    findings.extend(falls(&loads));
    findings.extend(bursts(&loads));
    findings
}

/// How many had settled, and why others were not tested. Nothing where none was tested: the answer
/// at the top of a report says that.
fn how_many(loads: &[SteadinessLoad<'_>]) -> Option<Finding> {
    let (mut settled, mut tested) = (0, Vec::new());
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for trial in loads.iter().flat_map(|load| &load.trials) {
        match &trial.steady {
            Steady::Tested(yes) => {
                settled += usize::from(*yes);
                tested.push(trial.record.trial.number);
            }
            Steady::NotTested(why) => *reasons.entry(why).or_default() += 1,
        }
    }
    if tested.is_empty() {
        return None;
    }
    let mut untested = String::new();
    if let Some((why, most)) = reasons.iter().max_by_key(|(_, count)| **count) {
        let count: usize = reasons.values().sum();
        let were = if count == 1 { "was" } else { "were" };
        untested = match most == &count {
            true => format!(" {count} {were} not tested: {why}."),
            false => format!(" {count} were not tested, most of them because {why}."),
        };
    }
    let claim = format!(
        "{settled} of {} had settled.{untested}",
        counted(tested.len() as u64, "tested trial")
    );
    Some(Finding::info(QUESTION.name, claim, tested))
}

/// The loads that went furthest without settling.
fn unsettled(loads: &[SteadinessLoad<'_>]) -> Vec<Finding> {
    let mut found: Vec<(f64, &SteadinessLoad<'_>, Vec<&SteadinessTrial<'_>>)> = Vec::new();
    for load in loads {
        let restless = |trial: &&SteadinessTrial<'_>| trial.steady == Steady::Tested(false);
        let trials: Vec<&SteadinessTrial<'_>> = load.trials.iter().filter(restless).collect();
        let moved = trials.iter().filter_map(|trial| Some(distance(trial.settling.as_ref()?)));
        if let Some(most) = moved.max_by(f64::total_cmp) {
            found.push((most, load, trials));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let others = found.len().saturating_sub(LOADS_MAX);
    let told =
        found.iter().take(LOADS_MAX).enumerate().filter_map(|(place, (most, load, trials))| {
            let furthest =
                trials.iter().find(|it| it.settling.as_ref().map(distance) == Some(*most))?;
            let more = match (place + 1 == LOADS_MAX, others) {
                (true, 1..) => {
                    format!(" {} had not settled.", counted(others as u64, "more load"))
                }
                _ => String::new(),
            };
            let claim = format!(
                "{}: {} of {} had not settled.{more}",
                load.label(),
                trials.len(),
                counted(load.trials.len() as u64, "trial"),
            );
            let way = way(furthest.settling.as_ref()?, load);
            let way = format!("in trial {} {way}", furthest.record.trial.number);
            let finding = Finding::info(QUESTION.name, claim, numbers(trials)).detailed([way]);
            let finding = finding.typing(steady_run(load));
            Some(finding.warn().advise("run it until it has settled: `stop=steady`"))
        });
    told.collect()
}

/// How far the rate went from the first round to the last five, whichever way.
fn distance(of: &Settling) -> f64 {
    let went = (of.last.0.max(1.0) / of.first.max(1.0)).ln().abs();
    // One that swings without going anywhere is as far off as its last rounds are apart.
    went.max((of.last.2.max(1.0) / of.last.1.max(1.0)).ln())
}

/// Which way a rate that had not settled went.
fn way(of: &Settling, load: &SteadinessLoad<'_>) -> String {
    let rate = |bytes_per_s: f64| load.rate(bytes_per_s);
    let sure = of.change.and_then(|change| change.interval).filter(|ends| !ends.covers(0.0));
    match (sure, of.change) {
        (Some(ends), Some(change)) => {
            let (word, least, most) = match change.value < 0.0 {
                true => ("fell", -ends.high, -ends.low),
                false => ("rose", ends.low, ends.high),
            };
            format!(
                "the rate {word} to the end by {} of its mean ({} to {}): {} in the \
                 first round, {} in the last five",
                percent(change.value.abs()),
                percent(least),
                percent(most),
                rate(of.first),
                rate(of.last.0)
            )
        }
        _ => format!(
            "the last five rounds went from {} to {}, without a direction that is more than chance",
            rate(of.last.1),
            rate(of.last.2)
        ),
    }
}

/// The load that took longest to settle, of those that had.
fn run_in(loads: &[SteadinessLoad<'_>]) -> Option<Finding> {
    let late = |load: &SteadinessLoad<'_>| -> Option<(u64, usize)> {
        let of = load.trials.iter().filter(|trial| trial.steady == Steady::Tested(true));
        let settled: Vec<&Settling> = of.filter_map(|trial| trial.settling.as_ref()).collect();
        let from_afar = |it: &&&Settling| (it.first / it.last.0 - 1.0).abs() > RUN_IN;
        let late: Vec<u64> =
            settled.iter().filter(from_afar).filter_map(|it| it.settled_after_ns).collect();
        // One of several is chance, or a disturbance.
        let often = 2 * late.len() > settled.len();
        late.iter().max().filter(|longest| often && **longest > 0).map(|it| (*it, late.len()))
    };
    let found = loads.iter().filter_map(|load| Some((late(load)?, load)));
    let ((longest, count), load) = found.max_by_key(|((longest, _), _)| *longest)?;
    let claim = format!(
        "{}: settled only after up to {} ({count} of {}). What ran before counts in its figures.",
        load.label(),
        duration(longest as f64),
        counted(load.trials.len() as u64, "trial")
    );
    let all: Vec<&SteadinessTrial<'_>> = load.trials.iter().collect();
    Some(Finding::info(QUESTION.name, claim, numbers(&all)))
}

/// Where writing fell: the loads that fell furthest.
fn falls(loads: &[SteadinessLoad<'_>]) -> Vec<Finding> {
    let fall = |trial: &SteadinessTrial<'_>| trial.settling.as_ref()?.fall.clone();
    let mut found: Vec<(f64, &SteadinessLoad<'_>, Vec<&SteadinessTrial<'_>>)> = Vec::new();
    for load in loads {
        let trials: Vec<&SteadinessTrial<'_>> =
            load.trials.iter().filter(|trial| fall(trial).is_some()).collect();
        let ratios = trials.iter().filter_map(|trial| fall(trial));
        let ratios = ratios.map(|it| it.after.value / it.before.value);
        if let Some(least) = ratios.min_by(f64::total_cmp) {
            found.push((least, load, trials));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let told = found.iter().take(LOADS_MAX).filter_map(|(_, load, trials)| {
        let fallen = fall(trials[0])?;
        let around = |of: &Estimate, print: &dyn Fn(f64) -> String| match of.interval {
            Some(ends) => {
                format!("{} ({} to {})", print(of.value), print(ends.low), print(ends.high))
            }
            None => print(of.value),
        };
        let rate = |bytes_per_s: f64| load.rate(bytes_per_s);
        let reason = match load.cell.settings.get(knob::DIRECT) {
            true => "a fast cache of the drive or its controller was full",
            false => "what memory holds back of writes, or a fast cache of the drive, was full",
        };
        let claim = format!(
            "{}: in {} of {} the rate fell once and stayed low. Trial {} wrote {} before.",
            load.label(),
            trials.len(),
            counted(load.trials.len() as u64, "trial"),
            trials[0].record.trial.number,
            bytes(fallen.bytes.value),
        );
        let how = format!(
            "it fell from {} to {}, after {} and {}",
            around(&fallen.before, &rate),
            around(&fallen.after, &rate),
            around(&fallen.after_ns, &duration),
            around(&fallen.bytes, &bytes),
        );
        let details = [how, format!("presumably {reason}")];
        let finding = Finding::info(QUESTION.name, claim, numbers(trials)).detailed(details).warn();
        Some(
            finding
                .advise("only what comes after it lasts: write more, until `stop=steady`")
                .typing(steady_run(load)),
        )
    });
    told.collect()
}

/// What to type to run a load until it has settled.
fn steady_run(load: &SteadinessLoad<'_>) -> Option<String> {
    command::again(load.cell.settings, &[("stop", "steady"), ("at-most", "10m")])
}

/// Where something that had been saved up was used: the loads that fell furthest, but for those of
/// which [`falls`] tells.
fn bursts(loads: &[SteadinessLoad<'_>]) -> Vec<Finding> {
    let burst =
        |trial: &SteadinessTrial<'_>| trial.start.filter(|it| it.rest.is_none() && it.is_faster());
    let mut found: Vec<(f64, &SteadinessLoad<'_>, Vec<&SteadinessTrial<'_>>)> = Vec::new();
    for load in loads {
        let fell = |trial: &SteadinessTrial<'_>| {
            trial.settling.as_ref().is_some_and(|it| it.fall.is_some())
        };
        let all = load.trials.iter();
        let trials: Vec<&SteadinessTrial<'_>> =
            all.filter(|trial| burst(trial).is_some()).collect();
        let ratios = trials.iter().filter_map(|trial| burst(trial)).map(|it| it.after / it.before);
        if let Some(least) = ratios.min_by(f64::total_cmp)
            && !load.trials.iter().any(fell)
        {
            found.push((least, load, trials));
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let told = found.iter().take(LOADS_MAX).filter_map(|(_, load, trials)| {
        let first = burst(trials[0])?;
        let claim = format!(
            "{}: in {} of {} the rate fell once and stayed low. Trial {} fell from {} to {} after \
             {}.",
            load.label(),
            trials.len(),
            counted(load.trials.len() as u64, "trial"),
            trials[0].record.trial.number,
            load.rate(first.before),
            load.rate(first.after),
            duration(first.after_ns as f64),
        );
        let why =
            "presumably a credit or a cache was used up; the trial's rate is of both together";
        let finding = Finding::info(QUESTION.name, claim, numbers(trials));
        let finding = finding.detailed([why.to_owned()]).warn();
        Some(
            finding
                .advise("only what comes after it lasts: run longer, until `stop=steady`")
                .typing(steady_run(load)),
        )
    });
    told.collect()
}

impl<'a> SteadinessLoad<'a> {
    fn of(cell: &'a CellReplicates<'a>) -> SteadinessLoad<'a> {
        let trial = |record: &&'a Record| {
            let (measurement, settings) = (record.outcome.measurement()?, &record.trial.settings);
            let (steady, settling) =
                (steady(measurement, settings), settling(measurement, settings));
            Some(SteadinessTrial { record, steady, settling, start: start(measurement) })
        };
        SteadinessLoad { cell, trials: cell.records.iter().filter_map(trial).collect() }
    }

    fn label(&self) -> String {
        self.cell.load(&["block-size", "queue-depth", "streams"])
    }

    /// A rate of what it counts.
    fn rate(&self, per_s: f64) -> String {
        let names = self.cell.settings.has(knob::OPERATION);
        match names && self.cell.values(figure_names::THROUGHPUT).is_empty() {
            true => format!("{} operations/s", base::value::iops(per_s)),
            false => words::load_throughput(self.cell.settings, per_s),
        }
    }
}

fn numbers(trials: &[&SteadinessTrial<'_>]) -> Vec<u32> {
    trials.iter().map(|trial| trial.record.trial.number).collect()
}
