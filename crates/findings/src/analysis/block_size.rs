//! From which block size on does it deliver what it can?

use super::assertion::{Assertion, Asserts};
use super::curve::{Curve, CurvePoint, curves};
use super::{Finding, Question, command, same, seek_law, words};
use base::stats::equivalence::{chance_of_more, enough_from};
use base::stats::mean_interval;
use base::stats::profile::Level;
use base::value::{Value, setting};
use experiment::measurement::Record;
use experiment::measurement::figure_names;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "block-size",
    about: "Which block size does it need to deliver what it can?",
    answer: |asked| answer(asked.records),
};

/// A share of the most at which a block size is large enough.
const ENOUGH: f64 = 0.90;

fn answer(records: &[Record]) -> Vec<Finding> {
    curves(records, "block-size").iter().filter_map(tell).collect()
}

fn tell(curve: &Curve<'_>) -> Option<Finding> {
    let levels = curve.levels(figure_names::THROUGHPUT);
    if levels.len() < 3 {
        return None;
    }
    let top = levels.iter().max_by(|a, b| a.mean().total_cmp(&b.mean()))?;
    let reaches = |share: f64| levels.iter().find(|level| level.mean() >= share * top.mean());
    let (half, enough) = (reaches(0.5)?.at, reaches(ENOUGH)?.at);
    let most = words::rate(&mean_interval(&top.values)?, top.values.len());
    let label = curve.load(&["queue-depth", "streams"]);
    let already = enough == levels[0].at;
    let reached = if already {
        format!("reaches 90 % of its peak with blocks of {} already", size(enough))
    } else if half == enough {
        format!("reaches half its peak, and 90 % of it, with blocks of {}", size(half))
    } else {
        format!(
            "reaches half its peak with blocks of {} and 90 % with blocks of {}",
            size(half),
            size(enough)
        )
    };
    let (open, advice) = if already { open(&levels).unzip() } else { (None, None) };
    let stated = (already && open.is_none()).then(|| stated(curve, &levels, &label));
    let claim = format!(
        "{label} {reached}. The most was {most} with {}.{}{}",
        size(top.at),
        open.unwrap_or_default(),
        law(curve).unwrap_or_default()
    );
    let finding = Finding::info(QUESTION.name, claim, curve.evidence());
    let finding = finding.doubted(curve.strays(), curve.points.len());
    let finding = finding.stating(stated);
    let sizes: Vec<String> =
        levels.iter().map(|level| Value::Bytes(level.at as u64).to_string()).collect();
    let again = [("block-size", &*sizes.join(",")), ("stop", "10s")];
    let finding = finding.typing(command::again(curve.settings, &again));
    Some(match advice {
        Some(advice) => finding.advise(advice),
        None => finding,
    })
}

/// What is not decided where the smallest blocks seem to give all there is: whether larger ones
/// give a tenth more, after all; and what would tell. `None` where they surely do not.
fn open(levels: &[Level]) -> Option<(String, String)> {
    if enough_from(levels, 0) == Some(0) {
        return None;
    }
    let told = " Whether larger blocks give a tenth more is not decided.".to_owned();
    Some((told, same::more_replicates(levels.iter().map(|level| level.values.as_slice()))))
}

/// That no larger blocks give a tenth more than the smallest.
fn stated(curve: &Curve<'_>, levels: &[Level], label: &str) -> Assertion {
    let first = levels[0].at;
    let smallest = |point: &&CurvePoint<'_>| point.at == first;
    let (of, against): (Vec<_>, Vec<_>) = curve.points.iter().partition(smallest);
    let numbers = |points: Vec<&CurvePoint<'_>>| -> Vec<u32> {
        points.iter().map(|point| point.record.trial.number).collect()
    };
    let above = levels[1..].iter().map(|level| level.values.as_slice());
    let chance = chance_of_more(&levels[0].values, above);
    Assertion::new(Asserts::NoMore, numbers(of), numbers(against), chance)
        .about(format!("Whether {} gets more with larger blocks", words::lower(label)))
}

/// A size that was asked for.
fn size(bytes: f64) -> String {
    setting(&Value::Bytes(bytes as u64))
}

/// The law of [`seek_law`], where it describes the data and is bounded by them. Of random loads
/// that question tells it.
fn law(curve: &Curve<'_>) -> Option<String> {
    if seek_law::is_random(curve.settings) {
        return None;
    }
    let law = seek_law::fit(curve)?.law()?;
    let shown = law.latency_ns.interval.is_some_and(|ends| ends.low > 0.0);
    let (bandwidth, half) = (law.bandwidth_bytes_per_s.at()?, law.half_size_bytes.at()?);
    shown.then(|| {
        format!(
            " A fixed time of {} for each operation and a bandwidth of {} describe this; half of \
             it is reached at {}.",
            words::time(&law.latency_ns),
            words::rate(&bandwidth, curve.points.len()),
            words::size(&half),
        )
    })
}
