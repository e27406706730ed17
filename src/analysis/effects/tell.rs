//! What effects say, in sentences.

use super::{Effects, Finding, KnobEffect, QUESTION, Span, Workload, varied};
use crate::analysis::workloads::bytes_from;
use crate::knob::Scope;
use crate::measurement::Record;
use crate::measurement::origin::{Verdict, origin};
use crate::stats::Estimate;
use crate::value::{Value, percent, setting, significant};

/// From this share of the variation on, it is told that knobs act together.
const TOGETHER: f64 = 0.10;

/// All that the knobs of one workload do, what matters first.
pub fn tell(effects: &Effects) -> Finding {
    let place = match effects.divided {
        true => format!("`{}`, {}", effects.group, bytes_from(effects.origin)),
        false => format!("`{}`", effects.group),
    };
    let parts: Vec<String> =
        effects.knobs.iter().enumerate().map(|(rank, knob)| effects.knob(rank, knob)).collect();
    let claim = format!("In {place}: {}. {}", parts.join("; "), effects.rests_on());
    let count = effects.trials.len();
    let finding = Finding::info(QUESTION.name, claim, effects.trials.clone());
    let finding = finding.doubted(effects.strays, count);
    let inseparable = effects.knobs.iter().any(|knob| knob.span.is_none());
    match (inseparable, effects.replicates) {
        (true, _) => {
            finding.warn().advise("measure combinations in which only one of them differs")
        }
        (_, 1) => finding.advise("run two replicates or more for intervals: --replicates 3"),
        _ => finding,
    }
}

impl Effects {
    fn knob(&self, rank: usize, knob: &KnobEffect) -> String {
        let name = knob.knob;
        let Some(span) = &knob.span else {
            let others: Vec<String> =
                knob.inseparable_from.iter().map(|other| format!("`{other}`")).collect();
            return match others.is_empty() {
                true => format!("`{name}` is not separable in the cells that were measured"),
                false => format!("`{name}` is not separable from {}", others.join(" and ")),
            };
        };
        let told = self.compared(name, span);
        match (knob.matters, rank) {
            (Some(true), 0) if self.knobs.len() > 1 => {
                format!("`{name}` matters most: {told}, {} of the variation", percent(knob.share))
            }
            (Some(true), _) => {
                format!("`{name}` matters: {told}, {} of the variation", percent(knob.share))
            }
            (Some(false), _) => {
                let least = span.detectable_ratio.map_or(String::new(), |ratio| {
                    format!("; {} would have been found 4 times in 5", more(ratio))
                });
                // One pair of brackets for the interval and what it means.
                let told = told.trim_end_matches(')');
                format!("`{name}`: no effect shown: {told}{least})")
            }
            (None, _) if knob.scope == Scope::Label.name() => {
                format!("`{name}`: {told}, each set up once, so without interval or test")
            }
            (None, _) => format!("`{name}`: {told}, without interval or test"),
        }
    }

    /// `raid0 reads 3.90 times what raid1 does (95 % interval 3.70 to 4.10)`.
    fn compared(&self, name: &str, span: &Span) -> String {
        let (most, least) = (level(name, &span.most), level(name, &span.least));
        let ratio = times(&span.ratio);
        match self.figure {
            "elapsed_s" => format!("{most} takes {ratio} as long as {least}{}", ends(&span.ratio)),
            _ => format!("{most} {} {ratio} what {least} does{}", self.verb(), ends(&span.ratio)),
        }
    }

    fn verb(&self) -> &'static str {
        match (self.figure, self.access.as_str()) {
            ("durable_throughput_bytes_per_s", _) => "makes durable",
            (_, access) if access.contains("write") => "accepts",
            (_, access) if access.contains("read") && self.origin != Verdict::None => "reads",
            _ => "gives",
        }
    }

    fn rests_on(&self) -> String {
        let replicates = match self.replicates {
            1 => "one replicate".to_owned(),
            more => format!("{more} replicates"),
        };
        let rests = format!("{} trials in {replicates}", self.trials.len());
        let several = self.knobs.len() > 1;
        let told = match several && self.knobs.iter().any(|knob| knob.matters.is_some()) {
            _ if !several => format!("This rests on {rests}."),
            false => format!("Each is an average over the levels of the others, on {rests}."),
            true => format!(
                "Each is an average over the levels of the others, on {rests}; each interval is \
                 95 % by itself."
            ),
        };
        let mut sentences = vec![told];
        if self.replicates > 1 && self.knobs.iter().any(|knob| self.unrepeated(knob)) {
            sentences.push("What has no interval was not repeated often enough.".to_owned());
        }
        if self.together_share >= TOGETHER {
            sentences.push(format!(
                "{} of the variation is of combinations: what one does depends on the others.",
                percent(self.together_share)
            ));
        }
        if self.missing > 0 {
            let trials = if self.missing == 1 { "trial has" } else { "trials have" };
            sentences.push(format!(
                "{} more {trials} no such figure; least squares allow for it.",
                self.missing
            ));
        }
        sentences.join(" ")
    }

    fn unrepeated(&self, knob: &KnobEffect) -> bool {
        knob.span.is_some() && knob.matters.is_none()
    }
}

/// A ratio as people say it: `5.0 % more`, `2.10 times as much`.
fn more(ratio: f64) -> String {
    match ratio < 1.5 {
        true => format!("{} more", percent(ratio - 1.0)),
        false => format!("{} times as much", significant(ratio)),
    }
}

fn times(ratio: &Estimate) -> String {
    format!("{} times", significant(ratio.value))
}

fn ends(ratio: &Estimate) -> String {
    ratio.interval.map_or(String::new(), |ends| {
        format!(" (95 % interval {} to {})", significant(ends.low), significant(ends.high))
    })
}

/// A word by itself, all else with its knob: `raid0`, `streams 8`, `read-ahead as-is`.
fn level(knob: &str, value: &Value) -> String {
    match value {
        Value::Word(word) if *value != Value::as_is() && word.parse::<f64>().is_err() => {
            setting(value)
        }
        _ => format!("{knob} {}", setting(value)),
    }
}

/// That bytes did not come from the same place in all trials of a workload that varies something,
/// and which knob decided it; `None` where they did, or where the question `cache` says so.
pub fn divided(workload: &Workload<'_>) -> Option<Finding> {
    let read = workload.origins.iter().filter(|(verdict, _)| *verdict != Verdict::None);
    let read: Vec<&(Verdict, Vec<&Record>)> = read.collect();
    if read.len() < 2 {
        return None;
    }
    let records: Vec<&Record> = read.iter().flat_map(|(_, of)| of.iter().copied()).collect();
    let knobs = varied(&records);
    if knobs.is_empty() {
        return None;
    }
    let decides = knobs.iter().find_map(|knob| {
        let of_level = |place: &usize| -> Option<Verdict> {
            let mut verdicts = records
                .iter()
                .filter(|record| knob.level(&record.trial.settings) == *place)
                .filter_map(|record| verdict(record));
            let first = verdicts.next()?;
            verdicts.all(|other| other == first).then_some(first)
        };
        let all: Option<Vec<Verdict>> = (0..knob.levels.len()).map(|it| of_level(&it)).collect();
        Some((knob, all?))
    });
    let told = match &decides {
        Some((knob, _)) if ["cold", "direct"].contains(&knob.knob.name) => return None,
        Some((knob, verdicts)) => {
            let each = knob.levels.iter().zip(verdicts).map(|(held, verdict)| {
                format!("with {} {}", level(knob.knob.name, held), bytes_from(*verdict))
            });
            let each: Vec<String> = each.collect();
            let name = knob.knob.name;
            format!("`{name}` decided where the bytes came from: {}", each.join(", "))
        }
        None => {
            let each = read
                .iter()
                .map(|(verdict, of)| format!("{} of {}", of.len(), bytes_from(*verdict)));
            let each: Vec<String> = each.collect();
            format!("bytes did not come from one place in all trials: {}", each.join(", "))
        }
    };
    let claim = format!(
        "In `{}`, {told}. Figures of the one are not compared with those of the other; an effect \
         is given only among trials whose bytes came from the same place.",
        workload.group
    );
    let evidence = records.iter().map(|record| record.trial.number).collect();
    Some(Finding::info(QUESTION.name, claim, evidence).warn())
}

fn verdict(record: &Record) -> Option<Verdict> {
    Some(origin(record.outcome.measurement()?, &record.trial.settings).verdict)
}
