//! Curves and contrasts of what was reported, in words.

use super::super::words::capital;
use super::{
    Arm, Context, ContrastGroup, LABEL, LAYER, MachinePair, ReportedPoint, more_is_better,
};
use crate::analysis::Finding;
use crate::analysis::words::amount;
use base::value::{self, Value};
use experiment::measurement::reported::ReportedPath;

/// The question that curves answer.
const CURVES: &str = "scaling";
/// The question that contrasts answer.
const CONTRASTS: &str = "effects";
/// More ratios than this are told by their range.
const LISTED_MAX: usize = 10;

/// A number, for what can be ordered.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bytes(n) | Value::BytesPerSecond(n) | Value::Count(n) | Value::Duration(n) => {
            Some(*n as f64)
        }
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

/// The findings of a group: one of its curves, one of its other contrasts.
pub fn group(group: &ContrastGroup<'_>) -> Vec<Finding> {
    let is_curve = |arm: &&Arm<'_>| {
        arm.levels.len() > 2 && arm.levels.iter().all(|(level, _)| number(level).is_some())
    };
    let (curves, others): (Vec<&Arm<'_>>, Vec<&Arm<'_>>) = group.arms.iter().partition(is_curve);
    let mut findings = Vec::new();
    if !curves.is_empty() {
        let (what, each) = all_curves(group, &curves);
        findings.push(told(group, &curves, CURVES, &what, each));
    }
    if !others.is_empty() {
        let (what, each) = contrast(&others);
        findings.push(told(group, &others, CONTRASTS, &what, each));
    }
    findings
}

/// A finding that begins with what was varied, and ends with who says so; below it what is told of
/// `each`, under which settings, and where it stands.
fn told(
    group: &ContrastGroup<'_>,
    arms: &[&Arm<'_>],
    question: &'static str,
    what: &str,
    each: Vec<String>,
) -> Finding {
    let points: Vec<&ReportedPoint<'_>> =
        arms.iter().flat_map(|arm| arm.levels.iter().map(|(_, point)| point)).collect();
    let common = listed(&common(arms.iter().map(|arm| &arm.context)));
    let figure = quantity(group.figure);
    let claim = format!("`{}` and {figure}: {what} (reported by {}).", group.knob, by(&points));
    let numbers = points.iter().map(|point| point.number).collect();
    Finding::info(question, claim, numbers).detailed(each).detailed([common, places(&points)])
}

/// `throughput`, `block write throughput`.
fn quantity(figure: &str) -> String {
    let name = figure.strip_suffix("_bytes_per_s").or_else(|| figure.strip_suffix("_per_s"));
    name.or_else(|| figure.strip_suffix("_s")).unwrap_or(figure).replace('_', " ")
}

/// Who says so: `CDF, 2002`.
fn by<'a>(points: &[&ReportedPoint<'a>]) -> &'a str {
    points.first().map_or("", |point| point.by)
}

/// Where it stands: `in section A; section B`.
fn places(points: &[&ReportedPoint<'_>]) -> String {
    let mut places: Vec<&str> = Vec::new();
    for point in points {
        if !places.contains(&point.place) {
            places.push(point.place);
        }
    }
    format!("in {}", places.join("; "))
}

/// What all contexts share.
fn common<'a>(mut contexts: impl Iterator<Item = &'a Context>) -> Context {
    let mut shared = contexts.next().cloned().unwrap_or_default();
    for context in contexts {
        shared.retain(|setting| context.contains(setting));
    }
    shared
}

/// What one context has besides what all share; nothing where there is no more.
fn own(context: &Context, shared: &Context) -> String {
    let own = context.iter().filter(|setting| !shared.contains(setting));
    own.map(|(name, value)| setting(name, value)).collect::<Vec<_>>().join(", ")
}

fn setting(name: &str, value: &Value) -> String {
    format!("{name}={}", value::setting(value))
}

/// `with label=asa, access=read`: the label first.
fn listed(context: &Context) -> String {
    let (labels, others): (Vec<_>, Vec<_>) = context.iter().partition(|(name, _)| *name == LABEL);
    let all = labels.into_iter().chain(others).map(|(name, value)| setting(name, value));
    let all: Vec<String> = all.collect();
    if all.is_empty() { String::new() } else { format!("with {}", all.join(", ")) }
}

/// A figure with its unit.
fn printed(figure: &str, point: &ReportedPoint<'_>) -> String {
    match figure.ends_with("bytes_per_s") && point.way == ReportedPath::Network {
        true => value::bits(point.value),
        false => amount(figure, point.value),
    }
}

/// The curve, or of several between what their peaks lie, and each.
fn all_curves(group: &ContrastGroup<'_>, arms: &[&Arm<'_>]) -> (String, Vec<String>) {
    let shared = common(arms.iter().map(|arm| &arm.context));
    if let [one] = arms {
        let (peak, steps) = curve(group.figure, one);
        return (peak, vec![steps]);
    }
    let each = arms.iter().map(|arm| {
        let own = own(&arm.context, &shared);
        let lead = if own.is_empty() { own } else { format!("{own}: ") };
        let (peak, steps) = curve(group.figure, arm);
        let more = if steps.is_empty() { steps } else { format!(", {steps}") };
        format!("{lead}{peak}{more}")
    });
    let more = more_is_better(group.figure).unwrap_or(true);
    let by_value = |a: &&ReportedPoint<'_>, b: &&ReportedPoint<'_>| a.value.total_cmp(&b.value);
    let best = arms.iter().filter_map(|arm| {
        let all = arm.levels.iter().map(|(_, point)| point);
        if more { all.max_by(by_value) } else { all.min_by(by_value) }
    });
    let best: Vec<&ReportedPoint<'_>> = best.collect();
    let at = |point: Option<&&ReportedPoint<'_>>| {
        point.map_or(String::new(), |point| printed(group.figure, point))
    };
    let (least, most) = (
        at(best.iter().min_by(|a, b| by_value(a, b))),
        at(best.iter().max_by(|a, b| by_value(a, b))),
    );
    let word = if more { "most" } else { "least" };
    let range = if least == most { most } else { format!("{least} to {most}") };
    (format!("the {word} of each of {} series is {range}", arms.len()), each.collect())
}

/// `the most 83 MB/s at 1, at 100 40 MB/s (48 %)`, and its largest steps: `falls most from 1 to 2
/// (by 31 %)`.
fn curve(figure: &str, arm: &Arm<'_>) -> (String, String) {
    let mut levels: Vec<(f64, &Value, &ReportedPoint<'_>)> = arm
        .levels
        .iter()
        .filter_map(|(level, point)| Some((number(level)?, level, point)))
        .collect();
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let by_value = |a: &&(f64, &Value, &ReportedPoint<'_>),
                    b: &&(f64, &Value, &ReportedPoint<'_>)| {
        a.2.value.total_cmp(&b.2.value)
    };
    let more = more_is_better(figure).unwrap_or(true);
    // Of equal ones the first: that is where it got there.
    let best = match more {
        true => levels.iter().rev().max_by(by_value),
        false => levels.iter().min_by(by_value),
    };
    let (Some(best), Some(last)) = (best, levels.last()) else { return Default::default() };
    let word = if more { "the most" } else { "the least" };
    let at = |of: &(f64, &Value, &ReportedPoint<'_>)| value::setting(of.1);
    let mut text = format!("{word} {} at {}", printed(figure, best.2), at(best));
    if best.0 != last.0 {
        let share = value::percent(last.2.value / best.2.value);
        text += &format!(", at {} {} ({share})", at(last), printed(figure, last.2));
    }
    let mut steepest = Vec::new();
    let change =
        |pair: &[(f64, &Value, &ReportedPoint<'_>)]| pair[1].2.value / pair[0].2.value - 1.0;
    for (name, sign) in [("rises", 1.0), ("falls", -1.0)] {
        let steps = levels.windows(2).filter(|pair| change(pair) * sign > 0.0);
        let Some(step) = steps.max_by(|a, b| (change(a) * sign).total_cmp(&(change(b) * sign)))
        else {
            continue;
        };
        let by = value::percent((change(step) * sign).abs());
        steepest.push(format!("{name} most from {} to {} (by {by})", at(&step[0]), at(&step[1])));
    }
    (text, steepest.join(", "))
}

/// Each ratio with the context that it is of.
type Ratios = [(f64, String)];

/// More levels than this are told by how far apart they lie.
const LEVELS_MAX: usize = 2;

/// Ratios of the levels: in the mean, and by context.
fn contrast(arms: &[&Arm<'_>]) -> (String, Vec<String>) {
    let mut levels: Vec<&Value> = Vec::new();
    for (level, _) in arms.iter().flat_map(|arm| &arm.levels) {
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    let of = |arm: &Arm<'_>, level: &Value| {
        arm.levels.iter().find(|(it, _)| it == level).map(|(_, point)| point.value)
    };
    // Against the smallest number, or the word that has the least: in the mean over all contexts.
    let standing = |level: &Value| {
        let relative = arms.iter().filter_map(|arm| {
            let mean = mean(arm.levels.iter().map(|(_, point)| point.value));
            Some(of(arm, level)? / mean)
        });
        mean(relative)
    };
    let rank = |level: &Value| number(level).unwrap_or_else(|| standing(level));
    levels.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    let Some((base, others)) = levels.split_first() else { return Default::default() };
    let shared = common(arms.iter().map(|arm| &arm.context));
    let ratios = |level: &Value| -> Vec<(f64, String)> {
        let ratio =
            |arm: &&Arm<'_>| Some((of(arm, level)? / of(arm, base)?, own(&arm.context, &shared)));
        arms.iter().filter_map(ratio).collect()
    };
    let several = others.len() > 1;
    let told: Vec<(&Value, Vec<(f64, String)>)> = others
        .iter()
        .map(|level| (*level, ratios(level)))
        .filter(|(_, ratios)| !ratios.is_empty())
        .collect();
    let with = |of: &dyn Fn(&Ratios) -> String| -> Vec<String> {
        told.iter().map(|(level, all)| format!("{} {}", value::setting(level), of(all))).collect()
    };
    let base = value::setting(base);
    let each = with(&|all| times(all, several)).join(", ");
    let each = match several {
        true => format!("each: against {base}: {each}; {}", spread(arms)),
        false => format!("each: against {base}, that of {each}"),
    };
    let more = told.iter().any(|(_, all)| all.len() > 1) || told.len() > LEVELS_MAX || several;
    let details = if more { vec![each] } else { Vec::new() };
    let what = match told.len() {
        n if n > LEVELS_MAX => {
            let all = told.iter().map(|(_, all)| mean(all.iter().map(|(ratio, _)| *ratio)));
            let (least, most) = least_and_most(all);
            format!("against {base}, {n} others have {least:.2} to {most:.2} times as much")
        }
        1 => format!("against {base}, that of {}", with(&in_the_mean).join(", ")),
        _ => format!("against {base}: {}", with(&in_the_mean).join(", ")),
    };
    (what, details)
}

/// `is 1.43 times`, of several `is 1.43 times in the mean`.
fn in_the_mean(ratios: &[(f64, String)]) -> String {
    let mean = mean(ratios.iter().map(|(ratio, _)| *ratio));
    match ratios.len() {
        1 => format!("is {mean:.2} times"),
        _ => format!("is {mean:.2} times in the mean"),
    }
}

/// `is 1.00 times at streams=1, 2.05 at streams=2, 1.43 in the mean`; of many, or with `range`, the
/// least and the most with where they are.
fn times(ratios: &[(f64, String)], range: bool) -> String {
    let by_ratio = |a: &&(f64, String), b: &&(f64, String)| a.0.total_cmp(&b.0);
    let at = |of: &(f64, String)| match range || of.1.is_empty() {
        true => String::new(),
        false => format!(" at {}", of.1),
    };
    let mean = mean(ratios.iter().map(|(ratio, _)| *ratio));
    match (ratios.iter().min_by(by_ratio), ratios.iter().max_by(by_ratio)) {
        (Some(least), Some(most)) if ratios.len() > 1 && (range || ratios.len() > LISTED_MAX) => {
            let (from, to, n) = (at(least), at(most), ratios.len());
            format!(
                "is {:.2}{from} to {:.2}{to} times ({mean:.2} in the mean of {n})",
                least.0, most.0
            )
        }
        (Some((ratio, _)), Some(_)) if ratios.len() == 1 => format!("is {ratio:.2} times"),
        _ => {
            let each = ratios.iter().map(|of| format!("{:.2}{}", of.0, at(of)));
            let each: Vec<String> = each.collect();
            format!("is {} times ({mean:.2} in the mean)", each.join(", "))
        }
    }
}

/// By how much the levels of one context differ.
fn spread(arms: &[&Arm<'_>]) -> String {
    let of = |arm: &&Arm<'_>| {
        let (least, most) = least_and_most(arm.levels.iter().map(|(_, point)| point.value));
        most / least
    };
    let (least, most) = least_and_most(arms.iter().map(of));
    match arms.len() {
        1 => format!("the most is {most:.2} times the least"),
        n => {
            format!("in each of {n} contexts the most is {least:.2} to {most:.2} times the least")
        }
    }
}

/// The geometric mean.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, n), value| (sum + value.ln(), n + 1));
    (sum / f64::from(count.max(1))).exp()
}

fn least_and_most(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(least, most), value| (least.min(value), most.max(value)))
}

/// How many of a ranking are told in one breath.
const BEST: usize = 3;

/// Machines of one table, best first, each with its ratio to the next.
pub fn ranking(figure: &str, points: &[ReportedPoint<'_>]) -> Finding {
    let more = more_is_better(figure).unwrap_or(true);
    let mut ranked: Vec<&ReportedPoint<'_>> = points.iter().collect();
    ranked.sort_by(|a, b| match more {
        true => b.value.total_cmp(&a.value),
        false => a.value.total_cmp(&b.value),
    });
    let contexts: Vec<Context> =
        ranked.iter().map(|point| super::without(point.settings, &[LABEL])).collect();
    let shared = common(contexts.iter());
    let mut told = Vec::new();
    for (at, (point, context)) in ranked.iter().zip(&contexts).enumerate() {
        let next = ranked.get(at + 1).map(|next| {
            let (of, label) = (point.value / next.value, next.label());
            format!(", {of:.2} times that of {label}")
        });
        let own = own(context, &shared);
        let made_of = if own.is_empty() { own } else { format!(" ({own})") };
        let rate = printed(figure, point);
        told.push(format!("{}{made_of} {rate}{}", point.label(), next.unwrap_or_default()));
    }
    let common = listed(&shared);
    let what = capital(&quantity(figure));
    let best: Vec<String> = ranked
        .iter()
        .take(BEST)
        .map(|point| format!("{} {}", point.label(), printed(figure, point)))
        .collect();
    let of = if ranked.len() > BEST { format!(" of {}", ranked.len()) } else { String::new() };
    let claim =
        format!("{what}, best first{of}: {} (reported by {}).", best.join(", "), by(&ranked));
    let numbers = ranked.iter().map(|point| point.number).collect();
    let details = [format!("each: {}", told.join("; ")), common, places(&ranked)];
    Finding::info(CONTRASTS, claim, numbers).detailed(details)
}

/// Two machines, or one with a layer and without; `None` where they are the same thing.
pub fn pair(figure: &str, pair: &MachinePair<'_>) -> Option<Finding> {
    let (_, one, other) = pair.both.first()?;
    let name = |of: &ReportedPoint<'_>| match of.settings.named(pair.knob) {
        Some(level) => format!("{}={}", pair.knob, value::setting(level)),
        None => format!("no {LAYER}"),
    };
    let shared = common(pair.both.iter().map(|(context, ..)| context));
    let ratios: Vec<(f64, String)> = pair
        .both
        .iter()
        .map(|(context, one, other)| (one.value / other.value, own(context, &shared)))
        .collect();
    let besides: Vec<String> = pair
        .besides
        .iter()
        .map(|(name, of, instead)| {
            let (of, instead) = (value::setting(of), value::setting(instead));
            format!("{name} {of} instead of {instead}")
        })
        .collect();
    let besides = match besides.is_empty() {
        true => String::new(),
        false => format!(" (and {})", besides.join(", ")),
    };
    let untold = match pair.told_of_one.is_empty() {
        true => String::new(),
        false => format!("told of one only: {}", pair.told_of_one.join(", ")),
    };
    let points: Vec<&ReportedPoint<'_>> =
        pair.both.iter().flat_map(|(_, one, other)| [one, other]).collect();
    let claim = format!(
        "{}: against {}, that of {} {} (reported by {}).",
        capital(&quantity(figure)),
        name(other),
        name(one),
        in_the_mean(&ratios),
        by(&points)
    );
    let each = match ratios.len() > 1 || !besides.is_empty() {
        true => format!(
            "each: against {}, that of {}{besides} {}",
            name(other),
            name(one),
            times(&ratios, false)
        ),
        false => String::new(),
    };
    let details = [each, untold, listed(&shared), places(&points)];
    let numbers = points.iter().map(|point| point.number).collect();
    Some(Finding::info(CONTRASTS, claim, numbers).detailed(details))
}
