//! What goes with which label: campaigns of servers whose disks were exchanged, side by side.
//!
//! A *set-up* is what one campaign measured of one combination of levels, as a person put it
//! together. Loads that all set-ups have are averaged within a workload, as logarithms, and what
//! set-ups differ by is told apart by `stats::crossed`. Bytes from memory and bytes from the device
//! are never put into one ratio. What only ever changed together cannot be told apart, and the
//! set-up that would tell is named.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{Change, ComparisonRequest, UncomparedCell, align, limits};
use super::{about, less_is_better, verdicts, why, with};
use base::stats::crossed::{Crossed, SetUp};
use base::stats::{Estimate, holm, mean};
use base::value::{Value, counted, percent};
use experiment::measurement::Record;

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Exchange {
    /// The knobs that campaigns are told apart by, as asked.
    pub by: Vec<&'static str>,
    /// Less of a difference than this share does not matter.
    pub threshold: f64,
    /// Each combination that a campaign measured.
    pub set_ups: Vec<Labelled>,
    /// How many degrees of freedom set-ups leave to tell how far each may be off.
    pub freedom: f64,
    /// Of each workload, by where its bytes came from, what goes with each knob.
    pub workloads: Vec<Parted>,
    /// Loads that are not compared.
    pub apart: Vec<UncomparedCell>,
    /// Set-ups that would tell apart what is not, one after the other, as levels of `by`.
    pub would_tell: Vec<Vec<Value>>,
    /// The set-up that would make the intervals narrower, or tell them at all.
    pub would_narrow: Option<Vec<Value>>,
    /// Other labels that are not the same in all set-ups, in words.
    pub also: Vec<String>,
}

/// A set-up.
#[derive(Clone, Debug, Serialize)]
pub struct Labelled {
    /// The place of its campaign among those that were asked for, from 0.
    pub campaign: usize,
    /// Its levels, one of each knob of `by`.
    pub levels: Vec<Value>,
    /// How many trials it has.
    pub trials: usize,
}

/// A workload whose bytes came from one place.
#[derive(Clone, Debug, Serialize)]
pub struct Parted {
    /// Its name.
    pub group: String,
    /// Where its bytes came from: a verdict's name.
    pub origin: &'static str,
    /// The figure.
    pub figure: String,
    /// Whether less of it is better, as of a time.
    pub less_is_better: bool,
    /// The loads that all set-ups have, each counted once.
    pub loads: Vec<String>,
    /// What goes with each knob: each of its levels over the first.
    pub effects: Vec<Share>,
    /// The same in a sentence.
    pub said: String,
}

/// What goes with one level of a knob.
#[derive(Clone, Debug, Serialize)]
pub struct Share {
    /// The knob.
    pub knob: &'static str,
    /// The level.
    pub level: Value,
    /// The level that it is held against: that of the first campaign.
    pub base: Value,
    /// The level over the other, the rest held; the interval is told by set-ups. `None` where it
    /// cannot be told apart.
    pub ratio: Option<Estimate>,
    /// The same with the interval that repeats of each set-up alone leave: it knows nothing of what
    /// putting it together again would change.
    pub by_repeats: Option<Estimate>,
    /// How likely so much beyond the threshold were in any if there were nothing (Holm).
    pub chance: Option<f64>,
    /// What that means; `None` where it cannot be told apart.
    pub change: Option<Change>,
    /// The knobs that always changed with it, where it cannot be told apart.
    pub entangled: Vec<&'static str>,
    /// The ratio with each combination of the other knobs that has both levels.
    pub alone: Vec<Alone>,
    /// The ratio of each load, in the order of `loads`; empty where it cannot be told apart.
    pub of_loads: Vec<f64>,
}

/// The two levels with the other knobs at some levels.
#[derive(Clone, Debug, Serialize)]
pub struct Alone {
    /// The levels of the other knobs, in the order of `by`.
    pub with: Vec<Value>,
    /// The one level over the other.
    pub ratio: f64,
}

/// What makes it impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A campaign (its place) has trials without a level of this knob.
    Unlabelled(usize, &'static str),
    /// All have the same level of this knob, so that nothing goes with it.
    Same(&'static str, String),
    /// A campaign (its place) has no trial.
    Empty(usize),
}

/// The trials of one set-up, before they are held against those of others.
struct SetupTrials {
    campaign: usize,
    levels: Vec<Value>,
    records: Vec<Record>,
}

/// A load that all set-ups have: of each the logarithms, with the number of the replicate.
struct SharedLoad {
    load: String,
    group: String,
    figure: String,
    origin: &'static str,
    values: Vec<Vec<(u32, f64)>>,
}

/// Tells apart what goes with each knob of `by` (names of labels) over all `campaigns`.
///
/// # Errors
/// When a campaign is not labelled, or nothing was exchanged.
pub fn exchange(
    campaigns: &[&[Record]],
    by: &[&'static str],
    asked: &ComparisonRequest,
) -> Result<Exchange, Unfit> {
    let held = set_ups(campaigns, by)?;
    let levels = levels(&held, by)?;
    let numbers = |it: &SetupTrials| -> Vec<usize> {
        let place = |(of, level): (&Vec<Value>, &Value)| of.iter().position(|it| it == level);
        levels.iter().zip(&it.levels).map(|pair| place(pair).unwrap_or_default()).collect()
    };
    let cells: Vec<Vec<usize>> = held.iter().map(numbers).collect();
    let (loads, apart) = loads(&held, asked);
    let mut known: Vec<Vec<SharedLoad>> = Vec::new();
    for load in loads {
        let same = |of: &&mut Vec<SharedLoad>| {
            let key = |it: &SharedLoad| (it.group.clone(), it.origin, it.figure.clone());
            key(&of[0]) == key(&load)
        };
        match known.iter_mut().find(same) {
            Some(of) => of.push(load),
            None => known.push(vec![load]),
        }
    }
    let design = Design { by, levels: &levels, cells: &cells };
    let mut workloads: Vec<Parted> =
        known.iter().map(|loads| design.parted(loads, asked.threshold)).collect();
    let effects = workloads.iter_mut().flat_map(|it| &mut it.effects);
    holm(effects.filter_map(|it| it.chance.as_mut()).collect());
    for workload in &mut workloads {
        let less = workload.less_is_better;
        for effect in &mut workload.effects {
            let judged = |ratio: &Estimate| Change::of(ratio, effect.chance, less, asked.threshold);
            effect.change = effect.ratio.as_ref().map(judged);
        }
        workload.said = said(&workload.effects, by, asked.threshold);
    }
    let (freedom, would_tell, would_narrow) = design.wanted();
    let labelled = |it: &SetupTrials| Labelled {
        campaign: it.campaign,
        levels: it.levels.clone(),
        trials: it.records.len(),
    };
    Ok(Exchange {
        by: by.to_vec(),
        threshold: asked.threshold,
        set_ups: held.iter().map(labelled).collect(),
        freedom,
        workloads,
        apart,
        would_tell,
        would_narrow,
        also: also(&held, by),
    })
}

/// The set-ups of all campaigns, in their order.
fn set_ups(campaigns: &[&[Record]], by: &[&'static str]) -> Result<Vec<SetupTrials>, Unfit> {
    let mut all = Vec::new();
    for (campaign, records) in campaigns.iter().enumerate() {
        let mut own: Vec<SetupTrials> = Vec::new();
        for record in records.iter().filter(|record| !record.trial.prepares()) {
            let level = |name: &&'static str| {
                let value = record.trial.settings.named(name).filter(|value| !value.is_as_is());
                value.cloned().ok_or(Unfit::Unlabelled(campaign, name))
            };
            let levels = by.iter().map(level).collect::<Result<Vec<Value>, Unfit>>()?;
            match own.iter_mut().find(|it| it.levels == levels) {
                Some(of) => of.records.push(record.clone()),
                None => own.push(SetupTrials { campaign, levels, records: vec![record.clone()] }),
            }
        }
        if own.is_empty() {
            return Err(Unfit::Empty(campaign));
        }
        all.extend(own);
    }
    Ok(all)
}

/// The levels of each knob, those of the first campaign first.
fn levels(held: &[SetupTrials], by: &[&'static str]) -> Result<Vec<Vec<Value>>, Unfit> {
    let of = |(place, name): (usize, &&'static str)| {
        let mut known: Vec<Value> = Vec::new();
        for set_up in held {
            let level = &set_up.levels[place];
            if !known.contains(level) {
                known.push(level.clone());
            }
        }
        match &known[..] {
            [one] => Err(Unfit::Same(name, one.to_string())),
            _ => Ok(known),
        }
    };
    by.iter().enumerate().map(of).collect()
}

/// Loads that all set-ups have, and those that are not compared, with the reason.
fn loads(
    held: &[SetupTrials],
    asked: &ComparisonRequest,
) -> (Vec<SharedLoad>, Vec<UncomparedCell>) {
    let Some((first, others)) = held.split_first() else { return (Vec::new(), Vec::new()) };
    let mut all: Vec<(String, Vec<Vec<&Record>>)> = Vec::new();
    let mut apart = BTreeMap::new();
    for (place, other) in others.iter().enumerate() {
        let (partners, alone) = align::align(&first.records, &other.records);
        for it in alone {
            let reason = "not every set-up has it".to_owned();
            apart.entry(it.load.clone()).or_insert(UncomparedCell { load: it.load, reason });
        }
        for partner in partners {
            let number = partner.before[0].trial.number;
            let same = |of: &&mut (String, Vec<Vec<&Record>>)| of.1[0][0].trial.number == number;
            match all.iter_mut().find(same) {
                Some((_, of)) => of.push(partner.now),
                None if place == 0 => all.push((partner.load, vec![partner.before, partner.now])),
                None => {}
            }
        }
    }
    let (mut found, mut apart) = (Vec::new(), apart.into_values().collect::<Vec<_>>());
    for (load, of) in all.into_iter().filter(|(_, of)| of.len() == held.len()) {
        match measured(&load, &of, asked) {
            Ok(it) => found.push(it),
            Err(reason) => apart.push(UncomparedCell { load, reason }),
        }
    }
    (found, apart)
}

/// A load of all set-ups.
fn measured(
    load: &str,
    of: &[Vec<&Record>],
    asked: &ComparisonRequest,
) -> Result<SharedLoad, String> {
    let all: Vec<&Record> = of.iter().flatten().copied().collect();
    let figure = match &asked.figure {
        Some(name) => name.clone(),
        None => about(&all).to_owned(),
    };
    let mut values = Vec::new();
    let mut origins = BTreeSet::new();
    for records in of {
        let done = records.iter().any(|record| record.outcome.measurement().is_some());
        if !done {
            return Err(format!("no trial of a set-up was done: {}", why(records)));
        }
        let found = with(records, &figure);
        if found.is_empty() || found.iter().any(|(_, value)| *value <= 0.0) {
            return Err(format!("not every set-up has `{figure}` above 0"));
        }
        origins.extend(verdicts(&found));
        values.push(found.iter().map(|(it, value)| (it.trial.replicate, value.ln())).collect());
    }
    let mut places = origins.iter();
    match (places.next(), places.next()) {
        (Some(&origin), None) => {
            let group = all[0].trial.group.clone();
            Ok(SharedLoad { load: load.to_owned(), group, figure, origin, values })
        }
        _ => {
            let told: Vec<&str> = origins.iter().copied().collect();
            Err(format!("bytes came from several places: {}", told.join(", ")))
        }
    }
}

/// What was set up.
struct Design<'a> {
    by: &'a [&'static str],
    levels: &'a [Vec<Value>],
    cells: &'a [Vec<usize>],
}

impl Design<'_> {
    fn counts(&self) -> Vec<usize> {
        self.levels.iter().map(Vec::len).collect()
    }

    /// Set-ups with the values of these loads.
    fn of(&self, loads: &[&SharedLoad]) -> Vec<SetUp> {
        let set_up = |(place, levels): (usize, &Vec<usize>)| {
            let values = |load: &&&SharedLoad| load.values[place].clone();
            let repeats = over_loads(&loads.iter().map(|load| values(&load)).collect::<Vec<_>>());
            SetUp { levels: levels.clone(), repeats }
        };
        self.cells.iter().enumerate().map(set_up).collect()
    }

    /// What goes with each knob, in loads of one kind; not judged yet.
    fn parted(&self, loads: &[SharedLoad], threshold: f64) -> Parted {
        let all: Vec<&SharedLoad> = loads.iter().collect();
        let of_each: Vec<Vec<SetUp>> = all.iter().map(|load| self.of(&[load])).collect();
        let (counts, set_ups) = (self.counts(), self.of(&all));
        let crossed = Crossed::from_set_ups(&counts, &set_ups);
        let mut effects = Vec::new();
        for (factor, &knob) in self.by.iter().enumerate() {
            for level in 1..counts[factor] {
                let found = crossed.beside(factor, level, 0);
                let entangled = match found {
                    Some(_) => Vec::new(),
                    None => crossed.entangled(factor, level, 0),
                };
                let (low, high) = limits(threshold);
                let one = |set_ups: &Vec<SetUp>| {
                    let found = Crossed::from_set_ups(&counts, set_ups).beside(factor, level, 0)?;
                    Some(found.by_repeats.estimate().value)
                };
                effects.push(Share {
                    knob,
                    level: self.levels[factor][level].clone(),
                    base: self.levels[factor][0].clone(),
                    ratio: found.map(|it| it.estimate()),
                    by_repeats: found.map(|it| it.by_repeats.estimate()),
                    chance: found.and_then(|it| it.chance_outside(low, high)),
                    change: None,
                    entangled: entangled.into_iter().map(|other| self.by[other]).collect(),
                    alone: self.alone(&set_ups, factor, level),
                    of_loads: of_each.iter().filter_map(one).collect(),
                });
            }
        }
        let first = &loads[0];
        Parted {
            group: first.group.clone(),
            origin: first.origin,
            figure: first.figure.clone(),
            less_is_better: less_is_better(&first.figure),
            loads: loads.iter().map(|load| load.load.clone()).collect(),
            effects,
            said: String::new(),
        }
    }

    /// A level over the first with each combination of the other knobs that has both.
    fn alone(&self, set_ups: &[SetUp], factor: usize, level: usize) -> Vec<Alone> {
        let rest = |levels: &[usize]| -> Vec<usize> {
            let others = levels.iter().enumerate().filter(|(place, _)| *place != factor);
            others.map(|(_, level)| *level).collect()
        };
        let mut combinations: Vec<Vec<usize>> = Vec::new();
        for cell in self.cells.iter().map(|cell| rest(cell)) {
            if !combinations.contains(&cell) {
                combinations.push(cell);
            }
        }
        let worth = |with: &Vec<usize>, at: usize| {
            let of =
                set_ups.iter().filter(|it| it.levels[factor] == at && rest(&it.levels) == *with);
            let means: Vec<f64> = of.map(|it| mean(&it.repeats)).collect();
            (!means.is_empty()).then(|| mean(&means))
        };
        let others: Vec<usize> = (0..self.by.len()).filter(|it| *it != factor).collect();
        let named = |with: &[usize]| {
            let pairs = others.iter().zip(with);
            pairs.map(|(factor, level)| self.levels[*factor][*level].clone()).collect()
        };
        let ratio = |with: &Vec<usize>| {
            let difference = worth(with, level)? - worth(with, 0)?;
            Some(Alone { with: named(with), ratio: difference.exp() })
        };
        combinations.iter().filter_map(ratio).collect()
    }

    /// The degrees of freedom, the set-ups that would tell all apart, and one that would narrow
    /// what they leave open.
    fn wanted(&self) -> (f64, Vec<Vec<Value>>, Option<Vec<Value>>) {
        let set_up = |levels: &Vec<usize>| SetUp { levels: levels.clone(), repeats: vec![0.0] };
        let set_ups: Vec<SetUp> = self.cells.iter().map(set_up).collect();
        let counts = self.counts();
        let crossed = Crossed::from_set_ups(&counts, &set_ups);
        let named = |levels: Vec<usize>| -> Vec<Value> {
            levels.iter().zip(self.levels).map(|(level, of)| of[*level].clone()).collect()
        };
        let tell: Vec<Vec<Value>> = crossed.wanted().into_iter().map(named).collect();
        let narrow = if tell.is_empty() { crossed.once_more().map(named) } else { None };
        (crossed.freedom(), tell, narrow)
    }
}

/// What each replicate of a set-up gave, over its loads: the mean of these, and what the replicate
/// was off by. Trials of one replicate may share a layout that was made for them, so that they are
/// one repeat and not several.
fn over_loads(loads: &[Vec<(u32, f64)>]) -> Vec<f64> {
    let means: Vec<f64> = loads
        .iter()
        .map(|of| mean(&of.iter().map(|(_, value)| *value).collect::<Vec<_>>()))
        .collect();
    let mut off: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (of, centre) in loads.iter().zip(&means) {
        for (replicate, value) in of {
            off.entry(*replicate).or_default().push(value - centre);
        }
    }
    let centre = mean(&means);
    off.values().map(|off| centre + mean(off)).collect()
}

/// A sentence on what goes with each knob: what makes a difference first.
fn said(effects: &[Share], by: &[&'static str], threshold: f64) -> String {
    let least = percent(threshold);
    let mut told: Vec<(usize, String)> = Vec::new();
    let mut apart: Vec<&str> = Vec::new();
    for knob in by {
        let of: Vec<&Share> = effects.iter().filter(|it| it.knob == *knob).collect();
        let any = |wanted: &[Change]| {
            of.iter().any(|it| it.change.is_some_and(|change| wanted.contains(&change)))
        };
        told.push(if any(&[Change::Better, Change::Worse]) {
            (0, format!("{knob} makes a difference of more than {least}"))
        } else if of.iter().any(|it| it.change.is_none()) {
            apart.push(knob);
            continue;
        } else if any(&[Change::PerhapsBetter, Change::PerhapsWorse]) {
            (1, format!("{knob} perhaps makes a difference"))
        } else if any(&[Change::Open]) {
            (2, format!("whether {knob} makes a difference is not decided"))
        } else if any(&[Change::Untested]) {
            (3, format!("what {knob} does is not tested"))
        } else {
            (4, format!("{knob} makes no difference of {least} or more"))
        });
    }
    told.sort_by_key(|(rank, _)| *rank);
    let mut told: Vec<String> = told.into_iter().map(|(_, told)| told).collect();
    match apart[..] {
        [] => {}
        [one] => told.push(format!("{one} cannot be told apart in full")),
        _ => told.push(format!("{} cannot be told apart", apart.join(" and "))),
    }
    format!("{}.", told.join("; "))
}

/// Labels besides those of `by` that are not the same in all set-ups.
fn also(held: &[SetupTrials], by: &[&'static str]) -> Vec<String> {
    let mut lines = Vec::new();
    for knob in super::labels().filter(|knob| !by.contains(&knob.name)) {
        let level = |it: &SetupTrials| {
            let of = it.records.iter().map(|record| record.trial.settings.named(knob.name));
            of.flatten().map(Value::to_string).collect::<BTreeSet<String>>()
        };
        let all: BTreeSet<BTreeSet<String>> = held.iter().map(level).collect();
        if all.len() > 1 {
            let told: BTreeSet<String> = all.into_iter().flatten().collect();
            let told: Vec<String> = told.into_iter().collect();
            lines.push(format!("{}: {}", knob.name, told.join(", ")));
        }
    }
    lines
}

impl Exchange {
    /// Whether every knob of every workload could be told apart.
    pub fn is_told_apart(&self) -> bool {
        self.would_tell.is_empty()
    }

    /// How the intervals were told, in a sentence.
    pub fn rests_on(&self) -> String {
        let many = counted(self.set_ups.len() as u64, "set-up");
        let all = self.by.join(" and ");
        match self.freedom.round() as u64 {
            _ if !self.is_told_apart() && self.freedom < 0.5 => {
                format!("{many}: what always changed together cannot be told apart.")
            }
            0 => format!(
                "Each of the {many} is needed to tell {all} apart: none is left to tell how far \
                 one is off. The intervals are by repeats alone, and nothing is tested."
            ),
            freedom => {
                let freedom = match freedom {
                    1 => "1 degree of freedom".to_owned(),
                    more => format!("{more} degrees of freedom"),
                };
                format!(
                    "The 95 % intervals are told by how far the {many} are from what {all} say \
                     ({freedom}), and by repeats where these scatter more."
                )
            }
        }
    }
}

#[cfg(test)]
pub mod tests;
