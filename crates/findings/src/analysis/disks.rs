//! From how many disks on does another one bring no more?
//!
//! Where the disks of an array are a factor, its throughput grows with them until something else
//! binds: the bus, the controller, a processor. What that is, is told by `bottleneck`.

use super::curve::{Curve, curves};
use super::{Finding, Question, command, same, words};
use base::stats::knee::{Knee, Scaling, scaling};
use base::value::{counted, percent};
use experiment::knob;
use experiment::measurement::Record;
use experiment::measurement::figure_names;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "disks",
    about: "From how many disks on does another one bring no more?",
    answer: |asked| answer(asked.records),
};

fn answer(records: &[Record]) -> Vec<Finding> {
    let told = |curve: &Curve<'_>| {
        scaling(&curve.levels(figure_names::THROUGHPUT)).map(|scaling| tell(curve, &scaling))
    };
    curves(records, knob::DISKS.name).iter().filter_map(told).collect()
}

fn tell(curve: &Curve<'_>, scaling: &Scaling) -> Finding {
    let label = curve.load(&["block-size", "streams"]);
    let levels = curve.levels(figure_names::THROUGHPUT);
    let replicates = curve.replicates(scaling.peak_at, figure_names::THROUGHPUT);
    let rate = words::load_rate(curve.settings, &scaling.peak, replicates);
    let most = format!("The most was {rate} with {}.", disks(scaling.peak_at));
    let last = curve.last();
    let (mut advice, mut left_open) = (None, false);
    let grows = match scaling.knee {
        Knee::At(at) => format!("{label} levels off at {}", words::whole(&at, " disks")),
        Knee::Between(below, above) => {
            format!("{label} levels off between {below} and {above} disks")
        }
        Knee::BeforeFirst => {
            format!("{label} gets no more from more than {}", disks(curve.first()))
        }
        Knee::Undecided => {
            let open = same::undecided(&label, &levels, disks);
            (advice, left_open) = (Some(open.advice), open.all);
            open.claim
        }
        Knee::BeyondLast => {
            format!("{label} grows with the disks up to {last:.0}, the most that were measured")
        }
    };
    let lost = scaling.loss.as_ref().map(|loss| {
        let less = percent(1.0 - loss.left.value);
        format!(" {} give {less} less.", disks(loss.at))
    });
    let claim = format!("{grows}. {most}{}", lost.unwrap_or_default());
    let subject = format!("Whether {} gets more from more disks", words::lower(&label));
    let assertions = same::stated(curve, &levels, scaling);
    let finding = Finding::info(QUESTION.name, claim, curve.evidence());
    let finding = finding.doubted(curve.strays(), curve.points.len()).left_open(left_open);
    let finding = finding.stating(assertions.into_iter().map(|it| it.about(subject.clone())));
    if matches!(scaling.knee, Knee::At(_) | Knee::Between(..) | Knee::BeforeFirst) {
        let text = "add disks beyond that for room, not for throughput";
        advice = Some(text.to_owned());
    }
    let finding = finding.typing(between(curve, scaling));
    match advice {
        Some(advice) => finding.advise(advice),
        None => finding,
    }
}

/// What to type to measure the numbers of disks between those that the knee lies between.
fn between(curve: &Curve<'_>, scaling: &Scaling) -> Option<String> {
    let Knee::Between(below, above) = scaling.knee else { return None };
    let (below, above) = (below as u64, above as u64);
    let all = command::levels(below..=above);
    (above > below + 1).then(|| command::again(curve.settings, &[(knob::DISKS.name, &all)]))?
}

fn disks(many: f64) -> String {
    counted(many as u64, "disk")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::AnalysisInput;
    use base::value::Value;
    use experiment::measurement::limit::testing::Scene;

    /// Arrays of so many disks of 100 MB/s each, behind a bus of so many MB/s; the last loses so
    /// much of it.
    fn measured(bus: f64, lost: f64) -> Vec<Record> {
        let mut records = Vec::new();
        for disks in [2_u32, 4, 6, 8] {
            for noise in [0.995, 1.0, 1.005] {
                let rate =
                    (f64::from(disks) * 100.0).min(bus) * if disks == 8 { lost } else { 1.0 };
                let scene = Scene { bytes_per_s: rate * noise * 1e6, ..Scene::default() };
                let mut record = scene.record(records.len() as u32 + 1);
                let held = Value::Count(u64::from(disks));
                record.trial.settings.set_named(knob::DISKS.name, held);
                records.push(record);
            }
        }
        records
    }

    fn claim(records: &[Record]) -> String {
        let found = (QUESTION.answer)(&AnalysisInput::from_records(records));
        let [finding] = found.as_slice() else { panic!("{found:#?}") };
        finding.claim.clone()
    }

    /// The second source asks it of its solid-state disks, and reads the answer off a picture.
    #[test]
    fn it_is_told_at_how_many_disks_throughput_levels_off() {
        let levels_off = claim(&measured(480.0, 1.0));
        assert!(levels_off.contains(" levels off at 4-5 disks (4.7"), "{levels_off}");
        let grows = claim(&measured(1e6, 1.0));
        assert!(grows.contains("grows with the disks up to 8"), "{grows}");
        let flat = claim(&measured(150.0, 1.0));
        assert!(flat.contains("gets no more from more than 2 disks"), "{flat}");
        let falls = claim(&measured(480.0, 0.7));
        assert!(falls.contains("8 disks give 30 % less."), "{falls}");
    }
}
