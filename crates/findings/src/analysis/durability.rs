//! Is what was accepted also safe?

use super::curve::{Cell, cells};
use super::{Finding, Question, same, words};
use base::stats::equivalence::{Likeness, likeness_of};
use base::stats::{Estimate, mean_interval};
use base::value::significant;
use experiment::measurement::Record;
use experiment::measurement::figures::rate;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "durability",
    about: "How much faster are writes accepted than they become durable?",
    answer: |asked| answer(asked.records),
};

/// Accepting faster by less is what one flush costs, and no cache.
const GAP_MIN: f64 = 1.02;

fn answer(records: &[Record]) -> Vec<Finding> {
    cells(records).iter().filter_map(gap).collect()
}

fn gap(cell: &Cell<'_>) -> Option<Finding> {
    // Trial by trial: what makes a run slow slows both, and one of them may be withheld alone.
    let both = |record: &&Record| {
        let accepted = rate(record, "accepted_throughput_bytes_per_s")?;
        Some((accepted, rate(record, "durable_throughput_bytes_per_s")?))
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
        let claim = format!("{label}: accepted {accepted}, durable {durable}; {verdict}.");
        Finding::info(QUESTION.name, claim, cell.evidence())
    };
    Some(if surely {
        let times = words::number(&ratio, " times");
        finding(format!("writes are accepted {times} as fast as they become durable{means}"))
            .warn()
            .advise("size by the durable figure: the rest is in a memory that a power cut empties")
    } else if matches!(likeness, Likeness::Equal | Likeness::Less) {
        finding("writes are durable as fast as they are accepted".to_owned())
    } else {
        let known = match ratio.interval {
            Some(ends) => format!(
                "ratio {} to {}, 95 % interval",
                significant(ends.low),
                significant(ends.high)
            ),
            None => format!("ratio {}, one run, no interval", significant(ratio.value)),
        };
        finding(format!(
            "whether writes are accepted faster than they become durable is not decided ({known})"
        ))
        .advise(same::more_replicates([ratios.as_slice()].into_iter()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert!(claim.contains("writes are accepted 2.00 times (95 % interval 2.00 to"), "{claim}");
        // Both means are of the same three trials.
        assert!(claim.contains("accepted about 1833 MB/s"), "{claim}");
        assert!(claim.contains("durable about 917 MB/s"), "{claim}");
        assert_eq!(claim.matches("n 3").count(), 2, "{claim}");
        assert_eq!(answer(&all[..1]), []);
    }
}
