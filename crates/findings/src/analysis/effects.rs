//! Which of the knobs that a plan varies matter, by how much, and do they act together?
//!
//! Only for planned trials: the standard evaluation varies one thing at a time around cells that
//! other questions answer, and so does a plan of one knob that has a curve of its own. Rates are
//! compared as ratios, by their logarithms: noise and most settings act in proportion, and what
//! halves and what doubles are then equally far from nothing. Bytes from memory and bytes from the
//! device are never put into one effect. A knob that only follows another is no factor; what goes
//! with it is compared beside the rest: see `effects/follow.rs`.
//!
//! The error of each effect is that of its scope (`stats::strata`); the sentences are in
//! `effects/tell.rs`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::curve::stray;
pub use super::same::range;
use super::workloads::{Varied, Workload, response, varied, workloads};
use super::{AnalysisInput, Finding, Question};
use base::stats::equivalence::{Likeness, likeness_of};
use base::stats::main_effects::{self, CHANCE, MainEffect};
use base::stats::{Estimate, Interval, mean};
use base::value::Value;
use experiment::knob::{self, Access, Knob, Scope};
use experiment::measurement::Record;
use experiment::measurement::origin::Verdict;
pub use follow::Following;
use interaction::interactions;
pub use interaction::{Interaction, InteractionLine};

mod follow;
mod interaction;
mod tell;
#[cfg(test)]
pub mod tests;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "effects",
    about: "Which of the knobs that a plan varies matter, and by how much?",
    answer,
};

/// Knobs that other questions answer where they alone are varied.
const ANSWERED: &[&str] = &["streams", "queue-depth", "block-size", "direct", "cold"];

/// What the knobs of one workload of a plan do, among trials whose bytes came from one place.
#[derive(Clone, Debug, Serialize)]
pub struct Effects {
    /// The workload's name in the plan.
    pub group: String,
    /// Where the bytes of all these trials came from; `none` when they only wrote.
    pub origin: Verdict,
    /// Whether the workload has trials of which that is not so.
    #[serde(skip)]
    pub divided: bool,
    /// What is compared: the name of a figure.
    pub figure: &'static str,
    /// The geometric mean of it over all cells, each counted once: what ratios of levels are to.
    pub geometric_mean: f64,
    /// How many replicates there are.
    pub replicates: usize,
    /// Share of the variation that is of combinations: what one knob does depends on others.
    pub together_share: f64,
    /// Share of the variance that repeats differ by, of layouts, settings and trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_share: Option<Estimate>,
    /// What matters first, then by size.
    pub knobs: Vec<KnobEffect>,
    /// Knobs that were not varied by themselves, and so have no effect of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub following: Vec<Following>,
    /// Of each pair of knobs whether what one does depends on the other; `None` where their levels
    /// are too many to tell, or where that is taken as the error.
    pub interactions: Option<Vec<Interaction>>,
    /// The interactions that were taken as error as nothing was repeated: those of so many knobs
    /// and more; `None` where repeats say what the error is, or nothing does.
    pub interactions_as_error: Option<usize>,
    /// Numbers of the trials.
    pub trials: Vec<u32>,
    /// How many planned trials of the workload have no such figure.
    pub missing: usize,
    /// How many of the trials read from elsewhere than they should; see [`stray`].
    #[serde(skip)]
    pub strays: usize,
    /// What the trials do, for the choice of a verb.
    #[serde(skip)]
    access: Option<Access>,
}

/// What one knob does.
#[derive(Clone, Debug, Serialize)]
pub struct KnobEffect {
    /// Its name.
    pub knob: &'static str,
    /// Its scope: the stratum whose error it is judged by.
    pub scope: &'static str,
    /// Whether it is more than chance; `None` when that cannot be tested.
    pub matters: Option<bool>,
    /// The two levels that are furthest apart, of those with which other knobs are alike; `None`
    /// when it cannot be told from other knobs.
    pub span: Option<Span>,
    /// Levels with which other knobs are not alike, against the rest: what both do together. `None`
    /// where there are none such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// The levels of other knobs without which that would not be more than chance; `None` where
    /// there are none such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rests_on: Option<RestsOn>,
    /// Each level's ratio to the geometric mean over all levels.
    pub levels: Vec<Level>,
    /// Share of the squares of all values that is its.
    pub share: f64,
    /// Share of the variance that it explains, freed of what chance adds; `None` where no error is
    /// known for each scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omega_squared: Option<Estimate>,
    /// Whether it changes how much repeats differ, beyond chance; `None` when that cannot be
    /// tested.
    pub spread_matters: Option<bool>,
    /// The two levels between which the standard deviation of repeats differs most, with its ratio;
    /// `None` without three repeats of cells enough.
    pub spread: Option<Span>,
    /// Knobs that it cannot be told from in the cells that were measured.
    pub inseparable_from: Vec<&'static str>,
}

/// The one combination of levels that an effect is seen with.
#[derive(Clone, Debug, Serialize)]
pub struct RestsOn {
    /// The levels of this combination.
    pub levels: Vec<Setting>,
    /// The ratio of the knob's two levels over all other combinations.
    pub ratio_without: f64,
}

/// A knob at a level.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// The knob's name.
    pub knob: &'static str,
    /// Its level.
    pub level: Value,
}

/// A level of a knob.
#[derive(Clone, Debug, Serialize)]
pub struct Level {
    /// The level.
    pub level: Value,
    /// Times the geometric mean over all levels.
    pub ratio: Estimate,
}

/// The levels that are furthest apart.
#[derive(Clone, Debug, Serialize)]
pub struct Span {
    /// The level with the most.
    pub most: Value,
    /// The level with the least.
    pub least: Value,
    /// How many times as much; its interval allows for having picked this pair.
    pub ratio: Estimate,
    /// How likely so large a ratio were if no knob did anything (Holm's correction).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
    /// The ratio that would have been found four times in five.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectable_ratio: Option<f64>,
}

/// Two sets of levels, each with its own levels of the knobs that follow.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    /// The levels whose mean is the larger.
    pub most: Vec<Value>,
    /// Those whose mean is the smaller.
    pub least: Vec<Value>,
    /// How many times as much, of geometric means; its interval allows for having picked these.
    pub ratio: Estimate,
    /// As [`Span::chance`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
    /// As [`Span::detectable_ratio`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectable_ratio: Option<f64>,
}

fn answer(asked: &AnalysisInput<'_>) -> Vec<Finding> {
    let (all, records) = (asked.effects(), asked.records);
    let mut findings: Vec<Finding> = all.iter().map(tell::tell).collect();
    findings.extend(all.iter().filter_map(tell::together));
    findings.extend(all.iter().filter_map(tell::spread));
    findings.extend(workloads(records).iter().filter_map(tell::divided));
    findings
}

/// The effects of every workload of a plan.
pub fn effects(records: &[Record]) -> Vec<Effects> {
    of_strata(records, &|knob| knob.scope as usize)
}

/// The same, when `stratum` says how dear a knob is.
fn of_strata(records: &[Record], stratum: &dyn Fn(&Knob) -> usize) -> Vec<Effects> {
    let workloads = workloads(records);
    let all = workloads.iter().flat_map(|workload| {
        workload
            .origins
            .iter()
            .filter_map(|(verdict, records)| workload.effects(*verdict, records, stratum))
    });
    all.collect()
}

impl Workload<'_> {
    fn effects(
        &self,
        origin: Verdict,
        records: &[&Record],
        stratum: &dyn Fn(&Knob) -> usize,
    ) -> Option<Effects> {
        let (figure, values) = response(records);
        let with: Vec<(&Record, f64)> = records
            .iter()
            .zip(values)
            .filter_map(|(record, value)| Some((*record, value?)))
            .collect();
        let records: Vec<&Record> = with.iter().map(|(record, _)| *record).collect();
        let mut varied = varied(&records);
        let following = follow::take_out(&mut varied, &records);
        match &varied[..] {
            [] => return None,
            [one] if ANSWERED.contains(&one.knob.name) => return None,
            _ => {}
        }
        let factors: Vec<main_effects::Factor> = varied
            .iter()
            .map(|it| main_effects::Factor { levels: it.levels.len(), stratum: stratum(it.knob) })
            .collect();
        let run = |(record, value): &(&Record, f64)| main_effects::Run {
            replicate: record.trial.replicate,
            levels: varied.iter().map(|it| it.level(&record.trial.settings)).collect(),
            value: value.ln(),
        };
        let runs: Vec<main_effects::Run> = with.iter().map(run).collect();
        let classes: Vec<Vec<usize>> =
            varied.iter().map(|it| follow::classes(it, &following)).collect();
        let found = main_effects::with_shares(&factors, &classes, &runs)?;
        let mut knobs: Vec<KnobEffect> = varied
            .iter()
            .zip(&found.effects)
            .enumerate()
            .map(|(number, (it, effect))| {
                let spread = found.spread.get(number).copied().flatten();
                it.effect(effect, spread, &classes[number], &varied)
            })
            .collect();
        knobs.sort_by(|a, b| b.rank().partial_cmp(&a.rank()).unwrap_or(std::cmp::Ordering::Equal));
        let planned: BTreeSet<Option<u32>> =
            self.records.iter().map(|record| record.trial.planned).collect();
        let done: usize = self.origins.iter().map(|(_, of)| of.len()).sum();
        Some(Effects {
            group: self.group.to_owned(),
            origin,
            divided: self.origins.len() > 1,
            figure,
            geometric_mean: over_cells(&runs),
            replicates: found.replicates,
            together_share: found.together,
            error_share: found.error_share,
            knobs,
            following,
            interactions_as_error: found.borrowed,
            interactions: found.interactions.map(|all| interactions(&all, &varied)),
            trials: records.iter().map(|record| record.trial.number).collect(),
            missing: planned.len().saturating_sub(done) + (self.of(origin) - records.len()),
            strays: records.iter().filter(|record| stray(record).is_some()).count(),
            access: self.settings.get(knob::ACCESS),
        })
    }

    /// How many trials have this origin.
    fn of(&self, origin: Verdict) -> usize {
        self.origins.iter().find(|(known, _)| *known == origin).map_or(0, |(_, of)| of.len())
    }
}

impl Varied<'_> {
    fn effect(
        &self,
        found: &MainEffect,
        spread: Option<main_effects::Span>,
        classes: &[usize],
        all: &[Varied<'_>],
    ) -> KnobEffect {
        // A person sets each level up once, for all replicates: these repeat its trials, and not
        // the setting up. See `plan::labels`.
        let once = self.knob.scope == Scope::Label;
        let value = |place: usize| self.levels[place].clone();
        let span = |span: main_effects::Span| Span {
            most: value(span.most),
            least: value(span.least),
            ratio: ratio(sure(span.difference, once)),
            chance: span.chance.filter(|_| !once),
            detectable_ratio: span.detectable.filter(|_| !once).map(f64::exp),
        };
        let of_class = |class: usize| -> Vec<Value> {
            let of = classes.iter().enumerate().filter(|(_, of)| **of == class);
            of.map(|(place, _)| value(place)).collect()
        };
        let beside = found.beside.map(|span| Beside {
            most: of_class(span.most),
            least: of_class(span.least),
            ratio: ratio(sure(span.difference, once)),
            chance: span.chance.filter(|_| !once),
            detectable_ratio: span.detectable.filter(|_| !once).map(f64::exp),
        });
        let (span, spread) = (found.span.map(span), spread.map(span));
        let setting = |(factor, place): &(usize, usize)| Setting {
            knob: all[*factor].knob.name,
            level: all[*factor].levels[*place].clone(),
        };
        let rests_on = found.rests.as_ref().filter(|_| !once).map(|rest| RestsOn {
            levels: rest.on.iter().map(setting).collect(),
            ratio_without: rest.without.exp(),
        });
        let shown = |chance: f64| chance <= CHANCE;
        let matters = |span: &Option<Span>| span.as_ref()?.chance.map(shown);
        let apart = beside.as_ref().and_then(|it| it.chance).map(shown);
        let alone = matters(&span);
        let levels = found.levels.iter().enumerate();
        KnobEffect {
            knob: self.knob.name,
            scope: self.knob.scope.name(),
            matters: if alone == Some(true) { alone } else { apart.or(alone) },
            span,
            beside,
            rests_on,
            spread_matters: matters(&spread),
            spread,
            levels: levels
                .map(|(place, level)| Level {
                    level: value(place),
                    ratio: ratio(sure(*level, once)),
                })
                .collect(),
            share: found.share,
            omega_squared: found.omega_squared.map(|share| sure(share, once)),
            inseparable_from: found.aliases.iter().map(|other| all[*other].knob.name).collect(),
        }
    }
}

/// What is said of a difference, in every table and every sentence: that it is shown, that there is
/// none of a tenth or more where its interval shows that, else that this is not decided. `None`
/// where it could not be tested.
pub fn said(shown: Option<bool>, ratio: &Estimate) -> Option<&'static str> {
    Some(match (shown?, likeness_of(ratio)) {
        (true, _) => "shown",
        (false, Likeness::Equal) => NO_TENTH,
        (false, _) => NOT_DECIDED,
    })
}

/// What is said where sameness is shown.
pub const NO_TENTH: &str = "no difference of 10 % or more";
/// What is said where neither a difference nor sameness is shown.
const NOT_DECIDED: &str = "not decided";

impl KnobEffect {
    /// Whether its own levels differ by more than chance, without what goes with others; `None`
    /// when that cannot be tested.
    pub fn alone(&self) -> Option<bool> {
        match self.beside {
            Some(_) => self.span.as_ref()?.chance.map(|chance| chance <= CHANCE),
            None => self.matters,
        }
    }

    /// What matters, then what may, by size; what cannot be told apart last.
    fn rank(&self) -> (u8, f64) {
        let within = self.span.as_ref().map_or(0.0, |span| span.ratio.value);
        let size = self.beside.as_ref().map_or(within, |it| it.ratio.value.max(within));
        match (self.matters, &self.span) {
            (Some(true), _) => (2, size),
            (_, Some(_)) => (1, size),
            (_, None) => (0, size),
        }
    }
}

/// An estimate of what was set up once for all replicates has no interval.
fn sure(estimate: Estimate, once: bool) -> Estimate {
    if once { Estimate::bare(estimate.value) } else { estimate }
}

/// The geometric mean over cells, each counted once, of values that are logarithms.
fn over_cells(runs: &[main_effects::Run]) -> f64 {
    let mut cells: BTreeMap<&[usize], Vec<f64>> = BTreeMap::new();
    runs.iter().for_each(|run| cells.entry(&run.levels).or_default().push(run.value));
    let means: Vec<f64> = cells.values().map(|values| mean(values)).collect();
    mean(&means).exp()
}

/// A difference of logarithms, taken back.
fn ratio(difference: Estimate) -> Estimate {
    let back = |ends: Interval| Interval { low: ends.low.exp(), high: ends.high.exp() };
    Estimate { value: difference.value.exp(), interval: difference.interval.map(back) }
}
