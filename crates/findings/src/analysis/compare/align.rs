//! Which cell of one campaign is which of another.

use std::cmp::Ordering::Equal;
use std::collections::HashMap;

use super::Apart;
use crate::analysis::curve::{EXTENT, alike};
use base::value::{Value, setting};
use experiment::knob::{self, Scope, Settings};
use experiment::measurement::Record;

/// The replicates of a cell that both campaigns have.
pub struct Partner<'a> {
    /// What tells it from the others.
    pub load: String,
    /// Of the first campaign; one or more.
    pub before: Vec<&'a Record>,
    /// Of the second.
    pub now: Vec<&'a Record>,
}

/// Knobs that say where a trial ran, and of how many files or how long, not what the load is.
const WHERE: &[&str] =
    &["directories", "devices", "files", "second-pass", "stop", "at-least", "at-most"];

/// By engine the knobs that tell its cells apart.
type Telling = HashMap<String, Vec<&'static str>>;

/// Whether a knob says where or how long a trial ran: cells that differ in it are the same load.
pub fn is_where(name: &str) -> bool {
    WHERE.contains(&name)
}

/// Cells with their partners, and those that have none.
pub fn align<'a>(before: &'a [Record], now: &'a [Record]) -> (Vec<Partner<'a>>, Vec<Apart>) {
    let (mut old, mut new) = (super::groups(before), super::groups(now));
    let free = free(&old, &new);
    let telling = telling(old.iter().chain(&new), &free);
    for groups in [&mut old, &mut new] {
        groups.sort_by(|a, b| order(a, &telling).partial_cmp(&order(b, &telling)).unwrap_or(Equal));
    }
    let (mut partners, mut apart, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    let mut taken = vec![false; new.len()];
    let but = [EXTENT, &free].concat();
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (place, group) in new.iter().enumerate() {
        places.entry(group[0].trial.settings.fingerprint(&but)).or_default().push(place);
    }
    for group in old {
        let settings = &group[0].trial.settings;
        let load = label(&group, &telling);
        let same = |place: &usize| {
            let other = &new[*place][0].trial.settings;
            let open = !taken[*place] && other.engine() == settings.engine();
            open && alike(settings, other, &free)
        };
        let near = places.get(&settings.fingerprint(&but)).into_iter().flatten().copied();
        let found: Vec<usize> = near.filter(same).collect();
        match found[..] {
            [place] => {
                taken[place] = true;
                partners.push(Partner { load, before: group, now: new[place].clone() });
            }
            [] => alone.push(group),
            _ => {
                let reason = "the second has several that differ only in where they ran".to_owned();
                apart.push(Apart { load, reason });
            }
        }
    }
    let open = new.iter().zip(&taken).filter(|(_, taken)| !**taken);
    let rest: Vec<&Vec<&Record>> = open.map(|(group, _)| group).collect();
    apart.extend(alone.iter().map(|group| {
        let near = nearest(&group[0].trial.settings, &rest, &free);
        Apart { load: label(group, &telling), reason: format!("the second has no such cell{near}") }
    }));
    apart.extend(rest.iter().map(|group| {
        let reason = "the first has no such cell".to_owned();
        Apart { load: label(group, &telling), reason }
    }));
    (partners, apart)
}

/// Knobs in which partners may differ: where they ran and how long, and what only a person can
/// change; but not those that a campaign itself has several levels of.
fn free(old: &[Vec<&Record>], new: &[Vec<&Record>]) -> Vec<&'static str> {
    let several = |groups: &[Vec<&Record>], name: &str| {
        let mut all = groups.iter().map(|group| group[0].trial.settings.named(name));
        let first = all.next();
        all.any(|other| Some(other) != first)
    };
    let may = |knob: &&knob::Knob| is_where(knob.name) || knob.scope == Scope::Label;
    let names = knob::KNOBS.iter().copied().filter(may).map(|knob| knob.name);
    names.filter(|name| !several(old, name) && !several(new, name)).collect()
}

/// Knobs in which some cells of an engine differ, so that a label must name them.
fn telling<'r, 'a: 'r>(
    groups: impl Iterator<Item = &'r Vec<&'a Record>>,
    free: &[&'static str],
) -> Telling {
    let mut first: HashMap<&str, &Settings> = HashMap::new();
    let mut telling = Telling::new();
    for group in groups {
        let settings = &group[0].trial.settings;
        let first = first.entry(settings.engine()).or_insert(settings);
        let known = telling.entry(settings.engine().to_owned()).or_default();
        for (name, value) in settings.iter() {
            let new = !free.contains(&name) && !known.contains(&name);
            if new && first.named(name) != Some(value) {
                known.push(name);
            }
        }
    }
    telling
}

/// Where a cell stands: by its workload, then by what tells it from others, numbers by size. Trials
/// run in an order that says nothing.
fn order(group: &[&Record], telling: &Telling) -> (String, Vec<(f64, String)>) {
    let trial = &group[0].trial;
    let names = telling.get(trial.settings.engine()).into_iter().flatten();
    let place = |name: &&'static str| match trial.settings.named(name) {
        Some(Value::Bytes(n) | Value::BytesPerSecond(n) | Value::Count(n) | Value::Duration(n)) => {
            (*n as f64, String::new())
        }
        Some(Value::Number(number)) => (*number, String::new()),
        Some(other) => (f64::MAX, other.to_string()),
        None => (f64::MAX, String::new()),
    };
    (trial.group.clone(), names.map(place).collect())
}

/// `sequential-read: streams 4, block-size 1 MiB`.
fn label(group: &[&Record], telling: &Telling) -> String {
    /// Of a script no more than this.
    const TEXT_MAX: usize = 40;
    let trial = &group[0].trial;
    let settings = &trial.settings;
    let none = Vec::new();
    let names = telling.get(settings.engine()).unwrap_or(&none).iter();
    let parts: Vec<String> = names
        .filter_map(|name| {
            let said = setting(settings.named(name).filter(|_| !settings.is_moot(name))?);
            let line = said.lines().next().unwrap_or_default();
            Some(format!("{name} {}", line.chars().take(TEXT_MAX).collect::<String>()))
        })
        .collect();
    match parts.is_empty() {
        true => trial.group.clone(),
        false => format!("{}: {}", trial.group, parts.join(", ")),
    }
}

/// What the most similar cell has instead, when that is one thing or two.
fn nearest(settings: &Settings, others: &[&Vec<&Record>], free: &[&str]) -> String {
    /// Among more cells nobody looks for one by hand, and looking takes the square of them.
    const AMONG_MAX: usize = 1000;
    let differing = |other: &Settings| -> Vec<String> {
        let differs = |(name, value): (&'static str, &Value)| {
            let held = other.named(name)?;
            (!free.contains(&name) && held != value).then(|| format!("{name} {}", setting(held)))
        };
        settings.iter().filter_map(differs).collect()
    };
    let same = others.iter().take(AMONG_MAX).map(|group| &group[0].trial.settings);
    let same = same.filter(|other| other.engine() == settings.engine());
    let near = same.map(differing).filter(|list| !list.is_empty()).min_by_key(Vec::len);
    match near.filter(|list| list.len() <= 2) {
        Some(list) => format!("; it has one with {}", list.join(" and ")),
        None => String::new(),
    }
}
