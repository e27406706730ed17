//! What effects say, in sentences.

use super::{
    Effects, Finding, Interaction, KnobEffect, NOT_DECIDED, QUESTION, Span, Workload, range, said,
    varied,
};
use crate::analysis::words::amount;
use crate::analysis::workloads::bytes_from;
use base::stats::Estimate;
use base::value::{Value, percent, setting, significant};
use experiment::knob::Scope;
use experiment::knob::access::{Access, IoDirection};
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::origin::{self, Verdict};

mod nested;

/// From this share of the variation on, it is told that knobs act together.
const TOGETHER: f64 = 0.10;

/// All that the knobs of one workload do, what matters first.
pub fn tell(effects: &Effects) -> Finding {
    let place = effects.place();
    let parts: Vec<String> =
        effects.knobs.iter().enumerate().map(|(rank, knob)| effects.knob(rank, knob)).collect();
    let claim = format!("In {place}: {}.{}", effects.gist(&parts[0]), effects.others());
    let count = effects.trials.len();
    let finding = Finding::info(QUESTION.name, claim, effects.trials.clone());
    let finding = finding.detailed(parts).detailed([effects.rests_on()]);
    let finding = finding.doubted(effects.strays, count).left_open(effects.none_decided());
    let inseparable = effects.knobs.iter().any(|knob| knob.span.is_none());
    match (inseparable, effects.replicates) {
        (true, _) => {
            finding.warn().advise("measure combinations in which only one of them differs")
        }
        (_, 1) => finding.advise("run two replicates or more for intervals: --replicates 3"),
        _ => finding,
    }
}

/// How many interactions are told; the JSON document has all.
const INTERACTIONS_TOLD: usize = 3;

/// Which knobs act together; `None` where that is not shown.
pub fn together(effects: &Effects) -> Option<Finding> {
    let all = effects.interactions.iter().flatten();
    let shown: Vec<&Interaction> = all.filter(|it| it.matters == Some(true)).collect();
    let told: Vec<String> =
        shown.iter().take(INTERACTIONS_TOLD).filter_map(|it| effects.interaction(it)).collect();
    if told.is_empty() {
        return None;
    }
    let more = match shown.len() - told.len() {
        0 => "",
        1 => "one more pair of knobs acts together",
        _ => "more pairs of knobs act together",
    };
    let claim = format!("In {}: {}.", effects.place(), told[0]);
    let finding = Finding::info(QUESTION.name, claim, effects.trials.clone());
    let finding = finding.detailed(told.into_iter().skip(1)).detailed([more.to_owned()]);
    Some(finding.doubted(effects.strays, effects.trials.len()))
}

/// With which levels repeats differ more; `None` where that is not shown of any knob.
pub fn spread(effects: &Effects) -> Option<Finding> {
    let told = effects.knobs.iter().filter(|knob| knob.spread_matters == Some(true));
    let told: Vec<String> = told
        .filter_map(|knob| {
            let span = knob.spread.as_ref()?;
            let (most, least) = (level(knob.knob, &span.most), level(knob.knob, &span.least));
            let ratio = &span.ratio;
            let told =
                format!("with {most} repeats differ {} as much as with {least}", times(ratio));
            Some(format!("{told}{}", ends(ratio)))
        })
        .collect();
    if told.is_empty() {
        return None;
    }
    let claim = format!("In {}: {}.", effects.place(), told[0]);
    let of = "that is of the standard deviation of the logarithm, between trials of one cell in \
              different replicates";
    let finding = Finding::info(QUESTION.name, claim, effects.trials.clone());
    let finding = finding.detailed(told.into_iter().skip(1)).detailed([of.to_owned()]);
    Some(finding.doubted(effects.strays, effects.trials.len()))
}

impl Effects {
    /// Of which trials: the workload, and where its bytes came from where that differs.
    fn place(&self) -> String {
        match self.divided {
            true => format!("`{}`, {}", self.group, bytes_from(self.origin)),
            false => format!("`{}`", self.group),
        }
    }

    /// `what `read-ahead` does depends on `filesystem`: read-ahead 8 MiB reads 2.10 times what
    /// read-ahead 128 KiB does with xfs (2.00 to 2.20), and 1.00 times with ext4
    /// (0.95 to 1.05)`.
    fn interaction(&self, it: &Interaction) -> Option<String> {
        let most = it.most.as_ref()?;
        let [one, other] = most.levels.each_ref().map(|value| level(it.knob, value));
        let [here, there] = most.under.each_ref().map(|value| level(it.on, value));
        let [first, second] = &most.ratios;
        let compared = match self.figure {
            "elapsed_s" => format!("{one} takes {} as long as {other}", times(first)),
            _ => format!("{one} {} {} what {other} does", self.verb(), times(first)),
        };
        Some(format!(
            "what `{}` does depends on `{}`: {compared} with {here}{}, and {} with {there}{}",
            it.knob,
            it.on,
            ends(first),
            times(second),
            ends(second)
        ))
    }

    /// What is told of the first knob, without what its ratio is of and what it explains.
    fn gist(&self, told: &str) -> String {
        let knob = &self.knobs[0];
        let is_shown = knob.matters == Some(true) && knob.beside.is_none();
        let Some(span) = knob.span.as_ref().filter(|_| is_shown) else { return told.to_owned() };
        let most = if self.knobs.len() > 1 { " most" } else { "" };
        format!("`{}` matters{most}: {}", knob.knob, self.ratio(knob, span))
    }

    /// Whether neither a difference nor sameness is shown of any knob.
    fn none_decided(&self) -> bool {
        let open = |knob: &KnobEffect| {
            let ratio = knob.span.as_ref().map(|span| &span.ratio);
            ratio.is_some_and(|ratio| said(knob.matters, ratio) == Some(NOT_DECIDED))
        };
        self.knobs.iter().all(open)
    }

    /// Which of the others matter.
    fn others(&self) -> String {
        let others = &self.knobs[1..];
        let mattering = others.iter().filter(|knob| knob.matters == Some(true));
        let named: Vec<String> = mattering.map(|knob| format!("`{}`", knob.knob)).collect();
        match named.len() {
            0 if others.is_empty() => String::new(),
            0 => " No other knob is shown to matter.".to_owned(),
            1 => format!(" {} matters too.", named[0]),
            _ => format!(" {} matter too.", named.join(" and ")),
        }
    }

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
        if let Some(beside) = &knob.beside {
            return self.nested(rank, knob, span, beside);
        }
        let told = self.compared(knob, span);
        match (knob.matters, rank) {
            (Some(true), 0) if self.knobs.len() > 1 => {
                format!("`{name}` matters most: {told}, {}", explained(knob))
            }
            (Some(true), _) => {
                format!("`{name}` matters: {told}, {}", explained(knob))
            }
            (Some(false), _) if knob.rests_on.is_some() => self.by_one_alone(knob, &told),
            (Some(false), _) => {
                format!("`{name}`: {}", not_shown(&told, &span.ratio, span.detectable_ratio))
            }
            (None, _) if knob.scope == Scope::Label.name() => {
                format!("`{name}`: {told}, each set up once, so without interval or test")
            }
            (None, _) => format!("`{name}`: {told}, without interval or test"),
        }
    }

    /// `` `filesystem`: shown by raid1 alone: xfs reads 1.04 times what ext4 does (95 % interval
    /// 1.02 to 1.06), without it 1.00 times; repeats of one combination may agree by luck``.
    fn by_one_alone(&self, knob: &KnobEffect, told: &str) -> String {
        let without = knob.rests_on.iter().map(|it| significant(it.ratio_without));
        let without = without.collect::<String>();
        // Where that it depends on another is shown, it is told by itself, and is no luck.
        let mut pairs = self.interactions.iter().flatten().filter(|it| it.matters == Some(true));
        let luck = match pairs.any(|it| [it.knob, it.on].contains(&knob.knob)) {
            true => "",
            false => "; so few repeats of one combination may agree by luck",
        };
        format!(
            "`{}`: {}: {told}, without it {without} times{luck}",
            knob.knob,
            knob.said().unwrap_or_default()
        )
    }

    /// `raid0 reads 3.90 times what raid1 does (3.70 to 4.10; geometric means
    /// 390 MB/s and 100 MB/s)`.
    fn compared(&self, knob: &KnobEffect, span: &Span) -> String {
        let told = self.ratio(knob, span);
        match (self.means(knob, span), told.strip_suffix(')')) {
            (Some(means), Some(open)) => format!("{open}; geometric means {means})"),
            _ => told,
        }
    }

    /// `raid0 reads 3.90 times what raid1 does (3.70 to 4.10)`.
    fn ratio(&self, knob: &KnobEffect, span: &Span) -> String {
        let (most, least) = (level(knob.knob, &span.most), level(knob.knob, &span.least));
        let (ratio, ends) = (times(&span.ratio), ends(&span.ratio));
        match self.figure {
            "elapsed_s" => format!("{most} takes {ratio} as long as {least}{ends}"),
            _ => format!("{most} {} {ratio} what {least} does{ends}", self.verb()),
        }
    }

    /// `390 MB/s and 100 MB/s`: what the ratio of the two levels is of. 1.26 was printed of levels
    /// whose means, as tables have them, were 21.2k and 20.3k.
    fn means(&self, knob: &KnobEffect, span: &Span) -> Option<String> {
        let of = |value: &Value| {
            let level = knob.levels.iter().find(|level| level.level == *value)?;
            Some(level.ratio.value * self.geometric_mean)
        };
        let (most, least) = (of(&span.most)?, of(&span.least)?);
        // Levels of a knob that others follow are each held against their own.
        let agree = (most / least / span.ratio.value - 1.0).abs() < 0.005;
        let said = |value: f64| {
            let told = amount(self.figure, value);
            told.split_once(" (").map_or(told.clone(), |(first, _)| first.to_owned())
        };
        agree.then(|| format!("{} and {}", said(most), said(least)))
    }

    fn verb(&self) -> &'static str {
        match (self.figure, self.access.map(Access::way)) {
            (figure_names::DURABLE_THROUGHPUT, _) => "makes durable",
            ("durable_ops_per_s", _) => "makes durable",
            (figure_names::OPS_PER_S | figure_names::TRANSACTIONS_PER_S, _) => "does",
            (_, Some(IoDirection::Writes)) => "accepts",
            (_, Some(IoDirection::Reads)) if self.origin != Verdict::None => "reads",
            (_, Some(IoDirection::Both)) => "moves",
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
        if let Some(order) = self.interactions_as_error {
            let which = if order == 2 { "two knobs" } else { "three knobs and more" };
            sentences.push(format!(
                "Nothing was repeated, so interactions of {which} are taken for the error: where \
                 knobs do act together so, it is too large, and less is found."
            ));
            if self.knobs.iter().any(|knob| self.unrepeated(knob)) {
                sentences.push("What has no interval has too few of them.".to_owned());
            }
        }
        if self.together_share >= TOGETHER {
            sentences.push(format!(
                "{} of the variation is of combinations: what one does depends on the others.",
                percent(self.together_share)
            ));
        }
        sentences.extend(self.following.iter().map(nested::following));
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

impl KnobEffect {
    /// What is said of its own levels, in a table as in the sentence: see [`said`]. `None` where
    /// that could not be tested.
    pub fn said(&self) -> Option<String> {
        let ratio = &self.span.as_ref()?.ratio;
        match (self.alone(), &self.beside, &self.rests_on) {
            (Some(false), None, Some(rests)) => {
                let each = rests.levels.iter().map(|it| level(it.knob, &it.level));
                Some(format!("shown by {} alone", each.collect::<Vec<_>>().join(" with ")))
            }
            (shown, ..) => said(shown, ratio).map(str::to_owned),
        }
    }
}

/// `61 % of the variance (55 % to 66 %)`; of squares alone where no more is known.
fn explained(knob: &KnobEffect) -> String {
    let Some(share) = &knob.omega_squared else {
        return format!("{} of the variation", percent(knob.share));
    };
    let told = format!("{} of the variance", percent(share.value));
    match share.interval {
        Some(it) => {
            format!("{told} ({} to {})", percent(it.low), percent(it.high))
        }
        None => told,
    }
}

/// What is said of a difference that is not more than chance: that there is none of a tenth or more
/// where its interval shows that, else that this is not decided, and what would have been found.
fn not_shown(told: &str, ratio: &Estimate, detectable_ratio: Option<f64>) -> String {
    match said(Some(false), ratio) {
        Some(open @ NOT_DECIDED) => format!("{open}: {}", found_at_all(told, detectable_ratio)),
        none => format!("{}: {told}", none.unwrap_or_default()),
    }
}

/// The ends of an interval and what would have been found, in one pair of brackets.
fn found_at_all(told: &str, detectable_ratio: Option<f64>) -> String {
    let least = detectable_ratio.map_or(String::new(), |ratio| {
        format!("; {} would have been found 4 times in 5", more(ratio))
    });
    format!("{}{least})", told.trim_end_matches(')'))
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
    ratio.interval.map_or(String::new(), |ends| format!(" ({})", range(&ends)))
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
    let claim = format!("In `{}`, {told}.", workload.group);
    let so = "figures of the one are not compared with those of the other: an effect is given only \
              among trials whose bytes came from the same place";
    let evidence = records.iter().map(|record| record.trial.number).collect();
    Some(Finding::info(QUESTION.name, claim, evidence).detailed([so.to_owned()]).warn())
}

fn verdict(record: &Record) -> Option<Verdict> {
    Some(origin::from(record.outcome.measurement()?, &record.trial.settings))
}
