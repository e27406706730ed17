//! Knobs that were not varied by themselves: each level of another one has a level of theirs.
//!
//! btrfs joins the disks by itself, all other file systems leave that to md: `volumes` is never
//! varied within a file system, and nobody set it. It is no factor of its own. File systems that
//! have the same `volumes` are compared with each other, and with the others beside them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Varied;
use base::value::Value;
use experiment::knob::{self, Settings, distinct};
use experiment::measurement::Record;
use experiment::plan::layouts::{FILLED_IN, is_filled_in};

/// A knob that has one level with each level of others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Following {
    /// The knob that was not varied by itself.
    pub knob: &'static str,
    /// The knobs whose levels decide it.
    pub from: Vec<&'static str>,
    /// Where one knob decides it, the levels of both: that of the other, and what this one has
    /// with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<(Value, Value)>,
}

/// Takes the knobs out of `varied` that only follow others among `records`; what these are.
pub fn take_out(varied: &mut Vec<Varied<'_>>, records: &[&Record]) -> Vec<Following> {
    let all = distinct(records.iter().map(|record| &record.trial.settings));
    let out: Vec<usize> =
        (0..varied.len()).filter(|it| follows(*it, varied, &all).is_some()).collect();
    let following = |it: &usize| {
        // One that follows nothing itself, if there is one: it stays.
        let stays = |from: &usize| !out.contains(from);
        let one = deciding(*it, varied, &all).find(stays);
        let from = match one {
            Some(from) => vec![varied[from].knob.name],
            None => follows(*it, varied, &all)?,
        };
        let levels = one.map(|from| pairs(*it, from, varied, &all)).unwrap_or_default();
        Some(Following { knob: varied[*it].knob.name, from, levels })
    };
    let found: Vec<Following> = out.iter().filter_map(following).collect();
    let mut place = 0_usize..;
    varied.retain(|_| place.next().is_some_and(|place| !out.contains(&place)));
    found
}

/// The class of each level of a knob: levels with which all that follows it is alike. Empty where
/// nothing does.
pub fn classes(of: &Varied<'_>, following: &[Following]) -> Vec<usize> {
    let own = following.iter().filter(|it| it.from == [of.knob.name]);
    let own: Vec<&Following> = own.filter(|it| !it.levels.is_empty()).collect();
    if own.is_empty() {
        return Vec::new();
    }
    let mut known: Vec<Vec<Option<&Value>>> = Vec::new();
    let class = |level: &&Value| {
        let held = own.iter().map(|it| it.levels.iter().find(|(from, _)| from == *level));
        let key: Vec<Option<&Value>> = held.map(|found| Some(&found?.1)).collect();
        known.iter().position(|other| *other == key).unwrap_or_else(|| {
            known.push(key);
            known.len() - 1
        })
    };
    of.levels.iter().map(class).collect()
}

/// The knobs that a knob follows; `None` where it was varied by itself, or where it and another one
/// always change together and nobody can tell which was meant.
fn follows(it: usize, varied: &[Varied<'_>], all: &[&Settings]) -> Option<Vec<&'static str>> {
    let own = &varied[it];
    // A dearer knob that follows a cheaper one still divides the trials into plots.
    let coarser = |from: &usize| {
        let from = &varied[*from];
        own.levels.len() < from.levels.len() && own.knob.scope >= from.knob.scope
    };
    if let Some(from) = deciding(it, varied, all).find(coarser) {
        return Some(vec![varied[from].knob.name]);
    }
    let (_, of) = FILLED_IN.iter().find(|(name, _)| *name == own.knob.name)?;
    let journal = |settings: &&Settings| u64::from(settings.get(knob::JOURNAL) == Some("external"));
    let there = all
        .iter()
        .map(|settings| settings.get(knob::DISKS).unwrap_or(0) + journal(settings))
        .max()?;
    if !all.iter().all(|settings| is_filled_in(settings, own.knob.name, there)) {
        return None;
    }
    let from = varied.iter().map(|other| other.knob.name).filter(|name| of.contains(name));
    // What was filled in by what was filled in follows from what a person said.
    let said: Vec<&str> = from.filter(|name| !FILLED_IN.iter().any(|(it, _)| it == name)).collect();
    (!said.is_empty()).then_some(said)
}

/// The knobs each level of which has one level of another, `it`.
fn deciding<'a>(
    it: usize,
    varied: &'a [Varied<'_>],
    all: &'a [&Settings],
) -> impl Iterator<Item = usize> + 'a {
    (0..varied.len()).filter(move |from| {
        let mut held: BTreeMap<usize, usize> = BTreeMap::new();
        *from != it
            && all.iter().all(|settings| {
                let level = varied[it].level(settings);
                *held.entry(varied[*from].level(settings)).or_insert(level) == level
            })
    })
}

/// The levels of the deciding knob, in order, each with that of the other.
fn pairs(it: usize, from: usize, varied: &[Varied<'_>], all: &[&Settings]) -> Vec<(Value, Value)> {
    let held: BTreeMap<usize, usize> = all
        .iter()
        .map(|settings| (varied[from].level(settings), varied[it].level(settings)))
        .collect();
    let value = |of: usize, place: usize| varied[of].levels[place].clone();
    held.into_iter().map(|(level, held)| (value(from, level), value(it, held))).collect()
}
