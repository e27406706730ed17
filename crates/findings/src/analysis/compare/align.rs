//! Which cell of one campaign is which of another.

use std::cmp::Ordering::Equal;
use std::collections::{BTreeSet, HashMap, HashSet};

use super::UncomparedCell;
use crate::analysis::curve::alike;
use crate::analysis::words;
use base::value::{Value, setting};
use experiment::knob::{self, Scope, Settings};
use experiment::measurement::Record;
use experiment::plan::Trial;

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

/// By workload the knobs that tell its cells apart.
type DistinguishingKnobs = HashMap<(String, String), Vec<&'static str>>;

/// Whether a knob says where or how long a trial ran: cells that differ in it are the same load.
pub fn is_where(name: &str) -> bool {
    WHERE.contains(&name)
}

/// Cells with their partners, and those that have none.
pub fn align<'a>(
    before: &'a [Record],
    now: &'a [Record],
) -> (Vec<Partner<'a>>, Vec<UncomparedCell>) {
    let (mut old, mut new) = (super::groups(before), super::groups(now));
    let free = free(&old, &new);
    let telling = telling(old.iter().chain(&new), &free);
    for groups in [&mut old, &mut new] {
        groups.sort_by(|a, b| order(a, &telling).partial_cmp(&order(b, &telling)).unwrap_or(Equal));
    }
    let (mut partners, mut apart, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    let mut taken = vec![false; new.len()];
    let but = [knob::EXTENT, &free].concat();
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
                apart.push(UncomparedCell { load, reason });
            }
        }
    }
    let open = new.iter().zip(&taken).filter(|(_, taken)| !**taken);
    let rest: Vec<&Vec<&Record>> = open.map(|(group, _)| group).collect();
    apart.extend(alone.iter().map(|group| {
        let near = nearest(&group[0].trial.settings, &rest, &free);
        UncomparedCell {
            load: label(group, &telling),
            reason: format!("the second has no such cell{near}"),
        }
    }));
    apart.extend(rest.iter().map(|group| {
        let reason = "the first has no such cell".to_owned();
        UncomparedCell { load: label(group, &telling), reason }
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

/// By workload the fewest knobs that tell its cells apart, so that a label must name them. All in
/// which cells differ made labels of five lines, in which nobody found what told two of them apart.
fn telling<'r, 'a: 'r>(
    groups: impl Iterator<Item = &'r Vec<&'a Record>>,
    free: &[&'static str],
) -> DistinguishingKnobs {
    let mut workloads: HashMap<(String, String), Vec<&Settings>> = HashMap::new();
    let mut known = HashSet::new();
    for group in groups {
        let trial = &group[0].trial;
        let workload = workload(trial);
        // Partners have the same settings, and are told alike.
        if known.insert((workload.clone(), trial.settings.fingerprint(&[]))) {
            workloads.entry(workload).or_default().push(&trial.settings);
        }
    }
    let fewest = |cells: &[&Settings]| {
        let differs = |name: &str| cells.iter().any(|it| it.named(name) != cells[0].named(name));
        let names = cells.iter().flat_map(|it| it.iter().map(|(name, _)| name));
        let mut all: Vec<&'static str> = FIRST.to_vec();
        all.extend(names.collect::<BTreeSet<_>>().into_iter().filter(|it| !FIRST.contains(it)));
        all.retain(|name| !free.contains(name) && differs(name));
        let apart = |names: &[&'static str]| {
            let told = |it: &&Settings| -> Vec<String> {
                names.iter().map(|name| said(name, it).unwrap_or_default()).collect()
            };
            cells.iter().map(told).collect::<HashSet<_>>().len()
        };
        let (mut kept, mut count) = (Vec::new(), 1);
        for name in all {
            let more = apart(&[&kept[..], &[name]].concat());
            if more > count {
                kept.push(name);
                count = more;
            }
        }
        kept
    };
    workloads.into_iter().map(|(workload, cells)| (workload, fewest(&cells))).collect()
}

/// What a load is known by, before all else in which it may differ from another.
const FIRST: &[&str] =
    &["access", "operation", "block-size", "queue-depth", "streams", "direct", "cold", "fsync"];

/// The engine and the workload.
fn workload(trial: &Trial) -> (String, String) {
    (trial.settings.engine().to_owned(), trial.group.clone())
}

/// A setting in few words; nothing where it means nothing, or says nothing.
fn said(name: &str, settings: &Settings) -> Option<String> {
    /// Of a script no more than this.
    const TEXT_MAX: usize = 40;
    if settings.is_moot(name) {
        return None;
    }
    let told = words::brief(name, settings)?;
    let line = told.lines().next().unwrap_or_default();
    Some(line.chars().take(TEXT_MAX).collect())
}

/// Where a cell stands: by its workload, then by what tells it from others, numbers by size. Trials
/// run in an order that says nothing.
fn order(group: &[&Record], telling: &DistinguishingKnobs) -> (String, Vec<(f64, String)>) {
    let trial = &group[0].trial;
    let names = telling.get(&workload(trial)).into_iter().flatten();
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

/// `sequential-read: 1 MiB, 4 streams`.
fn label(group: &[&Record], telling: &DistinguishingKnobs) -> String {
    let trial = &group[0].trial;
    let names = telling.get(&workload(trial)).into_iter().flatten();
    let parts: Vec<String> = names.filter_map(|name| said(name, &trial.settings)).collect();
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
