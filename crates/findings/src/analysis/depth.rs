//! From which queue depth on does more depth only add latency?

use super::curve::{Curve, curves};
use super::{Finding, Question, command, same, words};
use base::stats::knee::{Knee, Scaling, scaling};
use base::stats::mean;
use base::value::duration;
use experiment::measurement::Record;
use experiment::measurement::figure_names;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "depth",
    about: "From which queue depth on does more depth only add latency?",
    answer: |asked| answer(asked.records),
};

fn answer(records: &[Record]) -> Vec<Finding> {
    let told = |curve: &Curve<'_>| {
        scaling(&curve.levels(figure_names::IOPS)).and_then(|scaling| tell(curve, &scaling))
    };
    curves(records, "queue-depth").iter().filter_map(told).collect()
}

fn tell(curve: &Curve<'_>, scaling: &Scaling) -> Option<Finding> {
    let label = curve.load(&["block-size", "streams"]);
    let latency = curve.levels(figure_names::LATENCY_MEAN);
    let latency_at = |depth: f64| {
        let level = latency.iter().find(|level| level.at == depth)?;
        Some(duration(mean(&level.values)))
    };
    let (first, last) = (latency.first()?.at, latency.last()?.at);
    let most = rate(scaling, curve.replicates(scaling.peak_at, figure_names::IOPS));
    let (mut advice, mut left_open) = (None, false);
    let grows = match scaling.knee {
        Knee::At(at) => {
            format!("{label} grows up to queue depth {}", words::whole(&at, ""))
        }
        Knee::Between(below, above) => {
            format!("{label} stops growing between queue depth {below} and {above}")
        }
        Knee::BeforeFirst => format!("{label} gives all it has at queue depth {first} already"),
        Knee::Undecided => {
            let open = same::undecided(&label, &curve.levels(figure_names::IOPS), depth);
            (advice, left_open) = (Some(open.advice), open.all);
            open.claim
        }
        Knee::BeyondLast => {
            let claim = format!(
                "{label} may go on growing beyond queue depth {last}, the deepest that was \
                 measured. The most was {most}."
            );
            let finding = Finding::info(QUESTION.name, claim, curve.evidence());
            let deeper = [last as u64, 2 * last as u64, 4 * last as u64];
            return Some(finding.advise("measure with deeper queues").typing(tried(curve, deeper)));
        }
    };
    let cost = match scaling.enough_at.filter(|_| scaling.knee != Knee::Undecided) {
        Some(enough) if last > enough => format!(
            " Deeper queues add latency: {} at {enough}, {} at {last}.",
            latency_at(enough)?,
            latency_at(last)?
        ),
        _ => String::new(),
    };
    let claim = format!("{grows}. The most was {most}.{cost}");
    let subject = format!("Whether {} gets more with a deeper queue", words::lower(&label));
    let assertions = same::stated(curve, &curve.levels(figure_names::IOPS), scaling);
    let finding = Finding::info(QUESTION.name, claim, curve.evidence());
    let finding = finding.doubted(curve.strays(), curve.points.len()).left_open(left_open);
    let finding = finding.stating(assertions.into_iter().map(|it| it.about(subject.clone())));
    let peak = scaling.peak_at as u64;
    let around = match scaling.knee {
        Knee::Between(below, above) => [below as u64, ((below + above) / 2.0) as u64, above as u64],
        _ => [(peak / 2).max(1), peak, 2 * peak],
    };
    let finding = finding.typing(tried(curve, around));
    Some(match advice {
        Some(advice) => finding.advise(advice),
        None => finding,
    })
}

/// What to type to measure these depths.
fn tried<const N: usize>(curve: &Curve<'_>, depths: [u64; N]) -> Option<String> {
    let depths = command::levels(depths.into_iter().filter(|depth| *depth > 0));
    command::again(curve.settings, &[("queue-depth", &depths)])
}

fn depth(level: f64) -> String {
    format!("depth {level}")
}

fn rate(scaling: &Scaling, replicates: usize) -> String {
    let most = words::per_s(&scaling.peak, replicates, "IOPS");
    format!("{most} at depth {}", scaling.peak_at)
}
