//! Is what was accepted also safe?

use super::curve::{CellReplicates, cells};
use super::{Finding, Question, command, same, words};
use base::stats::equivalence::{Likeness, likeness_of};
use base::stats::{Estimate, mean_interval};
use base::value::significant;
use experiment::knob;
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::figures::rate;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "durability",
    about: "How much faster are writes accepted than they become durable?",
    answer: |asked| answer(asked.records),
};

/// Accepting faster by less is what one flush costs, and no cache.
const GAP_MIN: f64 = 1.02;
/// A page cache accepts faster by as much in a normal run, and nobody is deceived.
const NORMAL_MAX: f64 = 2.0;

fn answer(records: &[Record]) -> Vec<Finding> {
    cells(records).iter().filter_map(gap).collect()
}

fn gap(cell: &CellReplicates<'_>) -> Option<Finding> {
    // Trial by trial: what makes a run slow slows both, and one of them may be withheld alone.
    let both = |record: &&Record| {
        let accepted = rate(record, figure_names::ACCEPTED_THROUGHPUT)?;
        Some((accepted, rate(record, figure_names::DURABLE_THROUGHPUT)?))
    };
    let (accepted, durable): (Vec<f64>, Vec<f64>) = cell.records.iter().filter_map(both).unzip();
    let ratios: Vec<f64> =
        accepted.iter().zip(&durable).map(|(accepted, durable)| accepted / durable).collect();
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let log = mean_interval(&logs)?;
    let ratio = Estimate {
        value: log.value.exp(),
        interval: log
            .interval
            .map(|ends| base::stats::Interval { low: ends.low.exp(), high: ends.high.exp() }),
    };
    let of =
        |values: &[f64]| Some(words::rate(&mean_interval(values)?.not_negative(), values.len()));
    let means = same::means(&accepted, &durable).unwrap_or_default();
    let (accepted, durable) = (of(&accepted)?, of(&durable)?);
    let label = cell.load(&["block-size", "queue-depth", "streams", "fsync"]);
    let surely = ratio.interval.map_or(ratio.value, |ends| ends.low) > GAP_MIN;
    let likeness = likeness_of(&ratio);
    let finding = |verdict: String| {
        let claim = format!("{label}: accepted {accepted}, durable {durable}. {verdict}.");
        Finding::info(QUESTION.name, claim, cell.evidence())
    };
    Some(if surely {
        let times = words::number(&ratio, " times");
        let told = format!("Writes are accepted {times} as fast as they become durable{means}");
        let normal = !cell.settings.get(knob::DIRECT) && ratio.value < NORMAL_MAX;
        let finding = if normal { finding(told) } else { finding(told).warn() };
        finding
            .advise("size by the durable figure: the rest is in a memory that a power cut empties")
            .typing(command::again(cell.settings, &[("stop", "60s")]))
    } else if matches!(likeness, Likeness::Equal | Likeness::Less) {
        finding("Writes are durable as fast as they are accepted".to_owned())
    } else {
        let known = match ratio.interval {
            Some(ends) => format!("ratio {} to {}", significant(ends.low), significant(ends.high)),
            None => format!("ratio {}, one run", significant(ratio.value)),
        };
        finding(format!("Whether they become durable more slowly is not decided ({known})"))
            .left_open(true)
            .advise(same::more_replicates([ratios.as_slice()].into_iter()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Severity;
    use experiment::knob::testing::settings;
    use experiment::measurement::{Durable, Measurement, Outcome};
    use experiment::plan::Trial;

    /// A writing that was accepted and became durable at so many MB/s; of memory nothing does.
    fn written(number: u32, accepted: u64, durable: Option<u64>) -> Record {
        let bytes = 1_000_000_000;
        let ns = |mb_per_s: u64| bytes * 1000 / mb_per_s;
        let durable_ns = ns(durable.unwrap_or(accepted));
        let of = Durable { bytes, accepted_ns: ns(accepted), durable_ns };
        let mut measurement = Measurement { durable: Some(of), ..Measurement::default() };
        measurement.evidence.memory = durable.is_none();
        let settings = settings("file", &[("access", "write"), ("direct", "true")]);
        let group = "g".to_owned();
        let (seed, first_file, planned) = (1, 0, None);
        let trial = Trial { number, replicate: number, group, settings, seed, first_file, planned };
        Record::new(trial, Outcome::Done(Box::new(measurement)))
    }

    /// Of three trials the durable figure of the first was withheld, and the accepted of the first
    /// was held against the durable of the second: "durable as fast as accepted" of what is
    /// accepted twice as fast.
    #[test]
    fn accepted_is_held_against_the_durable_of_the_same_trial() {
        let all = [
            written(1, 500, None),
            written(2, 1000, Some(500)),
            written(3, 500, Some(250)),
            written(4, 4000, Some(2000)),
        ];
        let found = answer(&all);
        assert_eq!(found.len(), 1, "{found:?}");
        let claim = &found[0].claim;
        assert!(claim.contains("Writes are accepted 2.00 times (2.00 to"), "{claim}");
        // Both means are of the same three trials.
        assert!(claim.contains("accepted about 1833 MB/s"), "{claim}");
        assert!(claim.contains("durable about 917 MB/s"), "{claim}");
        assert_eq!(answer(&all[..1]), []);
    }

    /// "Writes are accepted 1.38 times as fast as they become durable" was a warning of every
    /// evaluation: that is what a page cache is for.
    #[test]
    fn a_page_cache_that_takes_a_little_more_is_no_warning() {
        let through = |direct: bool, times: u64| {
            let mut records: Vec<Record> =
                (1..=3).map(|number| written(number, 100 * times, Some(100))).collect();
            records.iter_mut().for_each(|it| it.trial.settings.set(knob::DIRECT, direct));
            answer(&records)[0].severity
        };
        assert_eq!(through(true, 3), Severity::Warning);
        assert_eq!(through(false, 3), Severity::Warning);
        let mut records: Vec<Record> =
            (1..=3).map(|number| written(number, 138, Some(100))).collect();
        assert_eq!(answer(&records)[0].severity, Severity::Warning);
        records.iter_mut().for_each(|it| it.trial.settings.set(knob::DIRECT, false));
        let found = &answer(&records)[0];
        assert_eq!(found.severity, Severity::Info);
        assert!(found.claim.contains("accepted 1.38 times"), "{found:?}");
        assert!(found.advice.as_ref().is_some_and(|it| it.contains("durable figure")), "{found:?}");
    }
}
