//! Was the machine quiet enough for these claims?
//!
//! Judged by replicates alone: how far they lie apart in each workload and what a difference must
//! therefore be to be found, whether rates move with time from the first trial to the last, and
//! which trials lie apart from their likes, with what they confess of others' traffic, stolen time
//! and heat. Rates are compared by their logarithms, as in `effects`; bytes from memory and bytes
//! from elsewhere are never pooled.

use std::collections::HashMap;

use super::assertion::{Assertion, Asserts};
use super::workloads::{by_origin, bytes_from, response};
use super::{Finding, Question, words};
use base::stats::equivalence::out_of_reach;
use base::stats::replicates::{CellValue, Replicates, Scatter, detectable, replicates_for};
use base::stats::{Estimate, Interval};
use base::value::percent;
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::figures::{rate, replicates};
use experiment::measurement::judge::all as notes_of;
use experiment::measurement::origin::Verdict;

#[cfg(test)]
mod tests;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "noise",
    about: "Was the machine quiet enough for these claims, how small a difference do they show?",
    answer: |asked| answer(asked.records),
};

/// A coefficient of variation that is surely above this is a warning: with three replicates a
/// difference of a fifth is missed as often as one time in five.
const NOISY: f64 = 0.05;
/// Who knows a share no better than this knows nothing of it; it is told as more than that.
const SHARE_TOLD_MAX: f64 = 10.0;
/// A drift under this is not told, and one that is surely above [`DRIFT_MATTERS`] is a warning.
const DRIFT_TOLD: f64 = 0.01;
const DRIFT_MATTERS: f64 = 0.05;
/// Differences that people ask for.
const WANTED: &[f64] = &[0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005];
/// Nobody runs a cell more often than this.
const REPLICATES_MAX: u32 = 200;
/// So many trials are named in a sentence.
const NAMED_MAX: usize = 6;
/// Notes that say why a trial may lie apart from its likes.
const DISTURBED: &[&str] = &[
    "others-io",
    "steal",
    "swap",
    "starved",
    "generator-bound",
    "others-cpu",
    "drive-throttled-for-heat",
    "cpu-throttled-for-heat",
];

fn answer(records: &[Record]) -> Vec<Finding> {
    let units = units(records);
    let mut findings: Vec<Finding> = scatter(&units).into_iter().collect();
    // One test of all that did not come from memory; of memory where there is nothing else.
    let of = |memory: bool| units.iter().filter(move |unit| unit.is_memory() == memory);
    findings.extend(drift(&of(false).collect::<Vec<_>>(), "").or_else(|| {
        let none = of(false).next().is_none();
        none.then(|| drift(&of(true).collect::<Vec<_>>(), " from memory")).flatten()
    }));
    findings.extend(apart(&units.iter().collect::<Vec<_>>()));
    findings
}

/// Trials of one workload whose bytes came from one place.
struct NoiseStratum<'a> {
    group: &'a str,
    verdict: Verdict,
    /// Whether the workload has trials whose bytes came from elsewhere.
    divided: bool,
    /// In the order in which they ran.
    trials: Vec<Timed<'a>>,
    scatter: Option<Scatter>,
    /// How often most of its cells were run; 2 or more.
    often: u32,
}

/// A trial, its cell among those of the unit, and the logarithm of its rate.
struct Timed<'a> {
    record: &'a Record,
    cell: usize,
    value: f64,
}

impl NoiseStratum<'_> {
    fn is_memory(&self) -> bool {
        matches!(self.verdict, Verdict::Cache | Verdict::Memory)
    }

    fn name(&self) -> String {
        match self.divided {
            true => format!("`{}`, {}", self.group, bytes_from(self.verdict)),
            false => format!("`{}`", self.group),
        }
    }
}

/// Cells of one workload whose bytes came from one place.
struct SameOriginCells<'a> {
    group: &'a str,
    verdict: Verdict,
    cells: Vec<Vec<&'a Record>>,
}

/// The workloads of which something was repeated, in the order of their first trial.
fn units(records: &[Record]) -> Vec<NoiseStratum<'_>> {
    let mut places: HashMap<(&str, &str), usize> = HashMap::new();
    let mut parts: Vec<SameOriginCells<'_>> = Vec::new();
    for mut cell in replicates(records) {
        cell.retain(|record| !record.trial.prepares());
        for (verdict, of) in by_origin(&cell) {
            let group = of[0].trial.group.as_str();
            let place = *places.entry((group, verdict.name())).or_insert_with(|| {
                parts.push(SameOriginCells { group, verdict, cells: Vec::new() });
                parts.len() - 1
            });
            parts[place].cells.push(of);
        }
    }
    let mut groups: HashMap<&str, usize> = HashMap::new();
    parts.iter().for_each(|part| *groups.entry(part.group).or_default() += 1);
    parts
        .into_iter()
        .filter_map(|part| {
            let divided = groups[part.group] > 1;
            unit(part, divided)
        })
        .collect()
}

fn unit(part: SameOriginCells<'_>, divided: bool) -> Option<NoiseStratum<'_>> {
    let SameOriginCells { group, verdict, cells } = part;
    let of_cells = cells.iter().enumerate();
    let of_cells = of_cells.flat_map(|(cell, of)| of.iter().map(move |record| (cell, *record)));
    let (numbers, records): (Vec<usize>, Vec<&Record>) = of_cells.unzip();
    let speeds = speeds(&records);
    let all = numbers.into_iter().zip(records).zip(speeds);
    let timed = all.filter_map(|((cell, record), speed)| {
        let value = speed?.ln();
        Some(Timed { record, cell, value })
    });
    let mut trials: Vec<Timed<'_>> = timed.collect();
    trials.sort_by_key(|timed| timed.record.trial.number);
    let mut counts = vec![0; cells.len()];
    trials.iter().for_each(|timed| counts[timed.cell] += 1);
    counts.retain(|count| *count > 1);
    counts.sort_unstable();
    let often = *counts.get(counts.len() / 2)?;
    let runs = trials.iter().map(|it| CellValue { cell: it.cell, value: it.value, scale: 1.0 });
    let scatter = Replicates::from_values(&runs.collect::<Vec<_>>()).scatter();
    Some(NoiseStratum { group, verdict, divided, trials, scatter, often })
}

/// How fast each trial was, in whatever is counted of such.
fn speeds(records: &[&Record]) -> Vec<Option<f64>> {
    let (figure, values) = response(records);
    if figure == "elapsed_s" {
        return values.into_iter().map(|value| Some(1.0 / value?)).collect();
    }
    if values.iter().any(Option::is_some) {
        return values;
    }
    let of = |name: &str| -> Vec<Option<f64>> {
        let positive = |value: &f64| value.is_finite() && *value > 0.0;
        records.iter().map(|record| rate(record, name).filter(positive)).collect()
    };
    let transactions = of(figure_names::TRANSACTIONS_PER_S);
    if transactions.iter().any(Option::is_some) {
        transactions
    } else {
        of(figure_names::OPS_PER_S)
    }
}

/// What a difference of logarithms is as a share.
fn share(logs: f64) -> f64 {
    logs.exp() - 1.0
}

/// A standard deviation of logarithms as a coefficient of variation (of a log-normal distribution).
fn variation(deviation: &Estimate) -> Estimate {
    let of = |deviation: f64| share(deviation * deviation).sqrt();
    let ends = deviation.interval.map(|it| Interval { low: of(it.low), high: of(it.high) });
    Estimate { value: of(deviation.value), interval: ends }
}

/// How far replicates lie apart: the noisiest workload, and beside it the others.
fn scatter(units: &[NoiseStratum<'_>]) -> Option<Finding> {
    let mut known: Vec<(&NoiseStratum<'_>, Estimate)> =
        units.iter().filter_map(|unit| Some((unit, variation(&unit.scatter?.deviation)))).collect();
    known.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    // One pair of trials says next to nothing: such a workload leads only where there is no other.
    let lead = known.iter().position(|(_, of)| of.interval.is_some()).unwrap_or(0);
    let others: Vec<&(&NoiseStratum<'_>, Estimate)> =
        known.iter().enumerate().filter(|(place, _)| *place != lead).map(|(_, of)| of).collect();
    let (unit, noise) = known.get(lead)?;
    let (deviation, often) = (unit.scatter?.deviation, unit.often);
    let all = others.iter().map(|(_, other)| other.value);
    let (least, most) = all.fold((f64::MAX, 0.0_f64), |(a, b), of| (a.min(of), b.max(of)));
    let beside = match others.len() {
        0 => String::new(),
        1 => format!("; in {} by {}", others[0].0.name(), percent(least)),
        n => format!("; in {n} others by {} to {}", percent(least), percent(most)),
    };
    let few = match unit.scatter?.neighbours {
        true => "",
        false => ", too few to tell whether neighbours in time resemble each other",
    };
    let claim = format!(
        "Repeats of {} differ by {}{beside}.{}",
        unit.name(),
        words::spread(noise),
        told_difference(deviation.value, often)
    );
    let from = format!("a coefficient of variation, from {} trials{few}", unit.trials.len());
    let details = [from, told_more(deviation.value, often)];
    let evidence = unit.trials.iter().map(|timed| timed.record.trial.number).collect();
    let finding = Finding::info(QUESTION.name, claim, evidence).detailed(details);
    let finding = finding.stating(units.iter().filter_map(too_far_apart));
    Some(match noise.interval.is_some_and(|ends| ends.low > NOISY) {
        true => {
            finding.warn().advise("find out what else the machine does, or run more replicates")
        }
        false => finding,
    })
}

/// That replicates surely lie so far apart that no two cells can be shown to be the same.
fn too_far_apart(unit: &NoiseStratum<'_>) -> Option<Assertion> {
    let least = unit.scatter?.deviation.interval?.low;
    let numbers = unit.trials.iter().map(|timed| timed.record.trial.number).collect();
    out_of_reach(least, unit.often)
        .then(|| Assertion::new(Asserts::Apart, numbers, Vec::new(), 0.0))
}

/// What a difference must be to be found.
fn told_difference(deviation: f64, often: u32) -> String {
    if deviation <= 0.0 {
        return String::new();
    }
    let found = share(detectable(deviation, often));
    match found > SHARE_TOLD_MAX {
        true => format!(
            " With {often} repeats even {} may be missed.",
            words::difference(SHARE_TOLD_MAX)
        ),
        false => format!(
            " With {often} repeats a difference of {} is missed one time in five.",
            words::difference(found)
        ),
    }
}

/// How many repeats would find a smaller one.
fn told_more(deviation: f64, often: u32) -> String {
    let found = share(detectable(deviation, often));
    let wanted = WANTED.iter().find(|wanted| **wanted < 0.8 * found);
    let more = wanted.filter(|_| deviation > 0.0 && found <= SHARE_TOLD_MAX).and_then(|wanted| {
        let needed = replicates_for(deviation, wanted.ln_1p(), REPLICATES_MAX)?;
        Some(format!("{needed} repeats would find {}", percent(*wanted)))
    });
    more.unwrap_or_default()
}

/// All runs of several units in the order of time, each over the scatter of its own.
fn pooled<'a>(units: &[&'a NoiseStratum<'_>]) -> (Vec<&'a Timed<'a>>, Replicates) {
    let mut runs: Vec<(&Timed<'_>, CellValue)> = Vec::new();
    let mut before = 0;
    for unit in units {
        let scale = unit.scatter.map_or(0.0, |scatter| scatter.deviation.value);
        let cells = unit.trials.iter().map(|timed| timed.cell + 1).max().unwrap_or(0);
        runs.extend(unit.trials.iter().map(|timed| {
            (timed, CellValue { cell: before + timed.cell, value: timed.value, scale })
        }));
        before += cells;
    }
    runs.sort_by_key(|(timed, _)| timed.record.trial.number);
    let (timed, runs): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
    (timed, Replicates::from_values(&runs))
}

/// Whether rates moved from the first trial to the last.
fn drift(units: &[&NoiseStratum<'_>], what: &str) -> Option<Finding> {
    let (trials, all) = pooled(units);
    let change = all.drift()?.change;
    let ends = change.interval.filter(|ends| !ends.covers(0.0))?;
    let (least, most) = match change.value < 0.0 {
        true => (-share(ends.high), -share(ends.low)),
        false => (share(ends.low), share(ends.high)),
    };
    let moved = share(change.value);
    if moved.abs() < DRIFT_TOLD {
        return None;
    }
    let claim = format!(
        "From the first trial to the last, rates{what} {} by {} ({} to {}).",
        if moved < 0.0 { "fell" } else { "rose" },
        percent(moved.abs()),
        percent(least),
        percent(most)
    );
    let evidence = trials.iter().map(|timed| timed.record.trial.number).collect();
    let way = "this is a line through all replicates, each against the mean of its cell";
    let finding = Finding::info(QUESTION.name, claim, evidence).detailed([way.to_owned()]);
    let advice = "look for what changed meanwhile (heat, a disk that fills up, a rebuild); within \
                  a replicate the order is random, so cells still compare";
    Some(if least > DRIFT_MATTERS { finding.warn().advise(advice) } else { finding })
}

/// Trials that lie apart from their likes.
fn apart(units: &[&NoiseStratum<'_>]) -> Option<Finding> {
    let (trials, all) = pooled(units);
    let found = all.apart();
    if found.is_empty() {
        return None;
    }
    let of = |place: &usize| trials[*place].record;
    let numbers: Vec<u32> = found.iter().map(|(place, _)| of(place).trial.number).collect();
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for (place, _) in &found {
        for note in notes_of(of(place)).iter() {
            let Some(kind) = DISTURBED.iter().find(|kind| **kind == note.kind) else { continue };
            match kinds.iter_mut().find(|(known, _)| known == kind) {
                Some((_, count)) => *count += 1,
                None => kinds.push((kind, 1)),
            }
        }
    }
    let why: Vec<String> =
        kinds.iter().map(|(kind, count)| format!("`{kind}` on {count}")).collect();
    let why = match why.is_empty() {
        true => "No note says why".to_owned(),
        false => format!("Notes of them: {}", why.join(", ")),
    };
    let slow: Vec<f64> = found.iter().map(|(_, by)| share(*by)).collect();
    let (low, high) = slow.iter().fold((f64::MAX, f64::MIN), |(a, b), of| (a.min(*of), b.max(*of)));
    let by = |share: f64| match share < 0.0 {
        true => format!("{} slower", percent(-share)),
        false => format!("{} faster", percent(share)),
    };
    let far = if found.len() == 1 { by(low) } else { format!("{} to {}", by(low), by(high)) };
    let named: Vec<String> = numbers.iter().take(NAMED_MAX).map(u32::to_string).collect();
    let named = match numbers.len() > NAMED_MAX {
        true => format!("{} and {} more", named.join(", "), numbers.len() - NAMED_MAX),
        false => named.join(", "),
    };
    let one = numbers.len() == 1;
    let claim = format!(
        "{} of {} trials {} apart from {} repeats by more than chance explains: {} {named}, {far} \
         than their median. {why}.",
        numbers.len(),
        trials.len(),
        if one { "lies" } else { "lie" },
        if one { "its" } else { "their" },
        if one { "trial" } else { "trials" },
    );
    let finding = Finding::info(QUESTION.name, claim, numbers).warn();
    Some(finding.advise("look at the course of these trials, or run the campaign again"))
}
