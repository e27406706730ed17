//! What changing one thing did to the figures that somebody reported.
//!
//! Rows of a text that are alike in all settings but one are a contrast: over each context, which
//! is what else was set, the ratio of two levels. A knob of numbers with three levels or more makes
//! a curve. Two machines that are told apart by their `label` are held against each other with what
//! they are made of, and a RAID that somebody laid over others against these alone. No figure of a
//! text has an interval, so no claim here has one, and none says that a difference is real.

use std::collections::BTreeMap;

use super::{Finding, ReportedRow};
use base::value::Value;
use experiment::knob::{self, Scope, Settings, find};
use experiment::measurement::figure_names;
use experiment::measurement::reported::{Bound, ReportedPath};

mod tell;
#[cfg(test)]
mod tests;

/// Tells machines apart.
const LABEL: &str = "label";
/// What is laid over others: where nothing is said of it, there is none.
const LAYER: &str = "raid";
/// More labels than this are not ranked.
const RANKED_MAX: usize = 12;

/// Figures that can be held against each other, by the end of their names; whether more is better.
const MEASURES: &[(&str, bool)] = &[
    (figure_names::THROUGHPUT, true),
    ("seeks_per_s", true),
    ("elapsed_s", false),
    ("interrupts_per_s", false),
    ("context_switches_per_s", false),
    ("among_20_fastest", true),
];

/// Whether more of that figure is better; `None` for what is no measure of a load.
fn more_is_better(figure: &str) -> Option<bool> {
    let ends =
        |end: &str| figure.strip_suffix(end).is_some_and(|it| it.is_empty() || ends_word(it));
    MEASURES.iter().find(|(end, _)| ends(end)).map(|(_, more)| *more)
}

fn ends_word(text: &str) -> bool {
    text.ends_with('_')
}

/// One figure of one row.
#[derive(Clone, Copy)]
struct ReportedPoint<'a> {
    number: u32,
    settings: &'a Settings,
    way: ReportedPath,
    by: &'a str,
    place: &'a str,
    value: f64,
}

impl ReportedPoint<'_> {
    fn label(&self) -> &str {
        self.settings.get(knob::LABEL).unwrap_or_default()
    }
}

/// What was set besides the knob of a contrast.
type Context = Vec<(&'static str, Value)>;

/// The levels of a knob in one context.
struct Arm<'a> {
    context: Context,
    levels: Vec<(Value, ReportedPoint<'a>)>,
}

/// Arms that are told together.
struct ContrastGroup<'a> {
    figure: &'a str,
    knob: &'static str,
    arms: Vec<Arm<'a>>,
}

/// What the rows tell by themselves: curves and contrasts.
pub fn findings(rows: &[ReportedRow<'_>]) -> Vec<Finding> {
    let mut figures: Vec<&str> = Vec::new();
    for figure in rows.iter().flat_map(|row| &row.reported.figures) {
        if more_is_better(&figure.name).is_some() && !figures.contains(&figure.name.as_str()) {
            figures.push(&figure.name);
        }
    }
    let mut findings = Vec::new();
    for figure in figures {
        let points = points(rows, figure);
        for group in groups(&points, figure) {
            findings.extend(tell::group(&group));
        }
        findings.extend(rankings(&points).iter().map(|ranked| tell::ranking(figure, ranked)));
        findings.extend(machines(&points).iter().filter_map(|pair| tell::pair(figure, pair)));
        findings.extend(layers(&points).iter().filter_map(|pair| tell::pair(figure, pair)));
    }
    findings
}

/// What has a value of that figure; of a bound it is not known what it bounds.
fn points<'a>(rows: &[ReportedRow<'a>], name: &str) -> Vec<ReportedPoint<'a>> {
    let point = |row: &ReportedRow<'a>| {
        let figure = row.reported.figure(name)?;
        let told = matches!(figure.bound, Bound::Exact | Bound::About) && figure.value > 0.0;
        told.then_some(ReportedPoint {
            number: row.number,
            settings: row.settings,
            way: row.reported.way,
            by: &row.reported.by,
            place: &row.reported.place,
            value: figure.value,
        })
    };
    rows.iter().filter_map(point).collect()
}

/// The settings that are told, but for `knobs`.
fn without(settings: &Settings, knobs: &[&str]) -> Context {
    let told = settings.iter().filter(|(name, _)| !knobs.contains(name));
    told.map(|(name, value)| (name, value.clone())).collect()
}

/// Contrasts in one knob that is told in all rows, everything else being the same.
fn groups<'a>(points: &[ReportedPoint<'a>], figure: &'a str) -> Vec<ContrastGroup<'a>> {
    let mut knobs: Vec<&'static str> = Vec::new();
    for (name, _) in points.iter().flat_map(|point| point.settings.iter()) {
        if name != LABEL && !knobs.contains(&name) {
            knobs.push(name);
        }
    }
    let mut groups = Vec::new();
    for knob in knobs {
        // Places that are told together: those of one machine and one way.
        let mut together: BTreeMap<(String, String), Vec<Arm<'a>>> = BTreeMap::new();
        for arm in arms(points, knob) {
            let first = &arm.levels[0].1;
            let mut places: Vec<&str> = arm.levels.iter().map(|(_, point)| point.place).collect();
            places.sort_unstable();
            places.dedup();
            let whose = format!("{}/{:?}", first.label(), first.way);
            together.entry((whose, places.join(", "))).or_default().push(arm);
        }
        groups.extend(together.into_values().map(|arms| ContrastGroup { figure, knob, arms }));
    }
    groups
}

/// Rows that differ in `knob` alone, with two levels or more of it. Where a level is told twice
/// the first row stands.
fn arms<'a>(points: &[ReportedPoint<'a>], knob: &'static str) -> Vec<Arm<'a>> {
    let mut arms: Vec<(Context, ReportedPath, &str, Arm<'a>)> = Vec::new();
    for point in points {
        let Some(level) = point.settings.named(knob) else { continue };
        let context = without(point.settings, &[knob]);
        let same = |(of, way, by, _): &&mut (Context, ReportedPath, &str, Arm<'a>)| {
            *of == context && *way == point.way && *by == point.by
        };
        match arms.iter_mut().find(same) {
            Some((.., arm)) => {
                if !arm.levels.iter().any(|(known, _)| known == level) {
                    arm.levels.push((level.clone(), *point));
                }
            }
            None => {
                let arm = Arm { context: context.clone(), levels: vec![(level.clone(), *point)] };
                arms.push((context, point.way, point.by, arm));
            }
        }
    }
    arms.into_iter().map(|(.., arm)| arm).filter(|arm| arm.levels.len() > 1).collect()
}

/// Whether a knob tells what a machine is made of, not what it is asked to do.
fn is_made_of(name: &str) -> bool {
    let made = |scope: Scope| matches!(scope, Scope::Label | Scope::Layout);
    find(name).is_some_and(|knob| made(knob.scope))
}

/// What a row asks of a machine.
fn asked(settings: &Settings) -> Context {
    let told = settings.iter().filter(|(name, _)| !is_made_of(name));
    told.map(|(name, value)| (name, value.clone())).collect()
}

/// Machines of one table that were asked the same, each once: best first.
fn rankings<'a>(points: &[ReportedPoint<'a>]) -> Vec<Vec<ReportedPoint<'a>>> {
    let mut tables: Vec<(Context, &str, Vec<ReportedPoint<'a>>)> = Vec::new();
    for point in points.iter().filter(|point| !point.label().is_empty()) {
        let load = asked(point.settings);
        match tables.iter_mut().find(|(of, place, _)| *of == load && *place == point.place) {
            Some((.., ranked)) => ranked.push(*point),
            None => tables.push((load, point.place, vec![*point])),
        }
    }
    let once = |ranked: &Vec<ReportedPoint<'_>>| {
        let mut labels: Vec<&str> = ranked.iter().map(ReportedPoint::label).collect();
        labels.sort_unstable();
        labels.dedup();
        labels.len() == ranked.len() && (3..=RANKED_MAX).contains(&ranked.len())
    };
    tables.into_iter().map(|(.., ranked)| ranked).filter(once).collect()
}

/// Two machines, or a machine with a layer and without: rows of both in the same contexts.
struct MachinePair<'a> {
    /// The knob that is named: the label, or the layer.
    knob: &'static str,
    /// What else differs, told of both.
    besides: Vec<(&'static str, Value, Value)>,
    /// What is told of one only.
    told_of_one: Vec<&'static str>,
    /// One and the other, by context.
    both: Vec<(Context, ReportedPoint<'a>, ReportedPoint<'a>)>,
}

/// Machines that were asked the same in two contexts or more. What they are made of rides along,
/// unless one of them was measured with several levels of it: then it has to be the same.
fn machines<'a>(points: &[ReportedPoint<'a>]) -> Vec<MachinePair<'a>> {
    let mut labels: Vec<&str> = Vec::new();
    let mut of_label: BTreeMap<&str, Vec<ReportedPoint<'a>>> = BTreeMap::new();
    for point in points.iter().filter(|point| !point.label().is_empty()) {
        let known = of_label.entry(point.label()).or_default();
        if known.is_empty() {
            labels.push(point.label());
        }
        known.push(*point);
    }
    // One row of a machine has one context: a thousand imported files were a thousand machines,
    // and a million pairs of them took minutes.
    labels.retain(|label| of_label[label].len() > 1);
    let mut pairs = Vec::new();
    for (at, one) in labels.iter().enumerate() {
        for other in &labels[at + 1..] {
            for way in [ReportedPath::Disks, ReportedPath::Network] {
                let of = |label: &str| -> Vec<ReportedPoint<'a>> {
                    of_label[label].iter().filter(|it| it.way == way).copied().collect()
                };
                let (a, b) = (of(one), of(other));
                let riding =
                    |name: &str| is_made_of(name) && !varies(&a, name) && !varies(&b, name);
                pairs.extend(pair(LABEL, &a, &b, &riding).filter(|it| it.both.len() > 1));
            }
        }
    }
    pairs
}

/// Whether rows of one machine differ in that knob.
fn varies(points: &[ReportedPoint<'_>], name: &str) -> bool {
    let level = |point: &ReportedPoint<'_>| point.settings.named(name).cloned();
    points.iter().any(|point| level(point) != level(&points[0]))
}

/// Rows of `a` and `b` that are the same in all that does not ride along.
fn pair<'a>(
    knob: &'static str,
    a: &[ReportedPoint<'a>],
    b: &[ReportedPoint<'a>],
    riding: &dyn Fn(&str) -> bool,
) -> Option<MachinePair<'a>> {
    let key = |point: &ReportedPoint<'_>| -> Context {
        let kept = point.settings.iter().filter(|(name, _)| *name != knob && !riding(name));
        kept.map(|(name, value)| (name, value.clone())).collect()
    };
    let both: Vec<(Context, ReportedPoint<'a>, ReportedPoint<'a>)> = a
        .iter()
        .filter_map(|one| {
            let context = key(one);
            let other = b.iter().find(|it| key(it) == context)?;
            Some((context, *one, *other))
        })
        .collect();
    let (_, one, other) = both.first()?;
    let (mut besides, mut told_of_one) = (Vec::new(), Vec::new());
    for (name, value) in one.settings.iter().filter(|(name, _)| *name != knob) {
        match other.settings.named(name) {
            Some(level) if level != value => besides.push((name, value.clone(), level.clone())),
            Some(_) => (),
            None => told_of_one.push(name),
        }
    }
    let more = other.settings.iter().filter(|(name, _)| *name != knob);
    told_of_one.extend(more.map(|(name, _)| name).filter(|it| one.settings.named(it).is_none()));
    Some(MachinePair { knob, besides, told_of_one, both })
}

/// What a RAID over others brought: rows with one against rows of the same machine and controllers
/// without, also where one more knob differs that only those with it have several levels of.
fn layers<'a>(points: &[ReportedPoint<'a>]) -> Vec<MachinePair<'a>> {
    let has = |point: &&ReportedPoint<'_>| point.settings.named(LAYER).is_some();
    let (with, plain): (Vec<ReportedPoint<'a>>, Vec<ReportedPoint<'a>>) =
        points.iter().filter(|it| it.way == ReportedPath::Disks).partition(|point| has(point));
    // A series of rows with the layer, by everything but what contexts may vary.
    let mut series: Vec<(Context, Vec<ReportedPoint<'a>>)> = Vec::new();
    for point in with {
        let of = without(point.settings, &["streams"]);
        match series.iter_mut().find(|(known, _)| *known == of) {
            Some((_, all)) => all.push(point),
            None => series.push((of, vec![point])),
        }
    }
    let mut pairs = Vec::new();
    for (of, layered) in &series {
        let same = |point: &&ReportedPoint<'_>| {
            point.label() == layered[0].label()
                && point.settings.get(knob::CARD) == layered[0].settings.get(knob::CARD)
        };
        let alone: Vec<ReportedPoint<'a>> = plain.iter().filter(same).copied().collect();
        let several = |name: &str| {
            let level = of.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
            let other = series.iter().any(|(known, _)| {
                known.iter().any(|(it, value)| *it == name && Some(value) != level)
            });
            other && !varies(&alone, name)
        };
        let one_sided = |name: &str| {
            let told =
                |all: &[ReportedPoint<'_>]| all.iter().any(|it| it.settings.named(name).is_some());
            is_made_of(name) && (!told(layered) || !told(&alone))
        };
        let riding = |name: &str| several(name) || one_sided(name);
        pairs.extend(pair(LAYER, layered, &alone, &riding));
    }
    pairs
}
