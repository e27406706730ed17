//! What is said of knobs that others follow, and of those that follow.

use super::super::follow::Following;
use super::super::{Beside, Effects, KnobEffect, Span};
use super::{ends, explained, level, not_shown, times};
use base::stats::Estimate;
use base::stats::main_effects::CHANCE;
use base::value::{Value, setting};

/// A difference in words, how likely it were by chance, which ratio would have been found, and that
/// which was.
type Contrasted<'a> = (String, Option<f64>, Option<f64>, &'a Estimate);

/// Of more levels than this none is named one by one.
const NAMED_MAX: usize = 6;

impl Effects {
    /// `` `filesystem` matters most: xfs reads 1.30 times what ext4 does (1.25 to
    /// 1.35), and the mean of ext4 and xfs is 1.25 times that of btrfs (1.15 to
    /// 1.36), 60 % of the variance``.
    pub(super) fn nested(
        &self,
        rank: usize,
        knob: &KnobEffect,
        span: &Span,
        beside: &Beside,
    ) -> String {
        let name = knob.knob;
        let within = (self.compared(knob, span), span.chance, span.detectable_ratio, &span.ratio);
        let between =
            (self.beside(name, beside), beside.chance, beside.detectable_ratio, &beside.ratio);
        let shown = |of: &Contrasted<'_>| of.1.is_some_and(|it| it <= CHANCE);
        let told = |(text, chance, detectable, ratio): &Contrasted<'_>| match chance {
            None => format!("{text}, without interval or test"),
            Some(chance) if *chance <= CHANCE => text.clone(),
            Some(_) => not_shown(text, ratio, *detectable),
        };
        let (first, second) = match shown(&between) && !shown(&within) {
            true => (between, within),
            false => (within, between),
        };
        let (first_told, second_told) = (told(&first), told(&second));
        if knob.matters != Some(true) {
            return format!("`{name}`: {first_told}, and {second_told}");
        }
        let most = if rank == 0 && self.knobs.len() > 1 { " most" } else { "" };
        let explained = explained(knob);
        match shown(&second) {
            true => format!("`{name}` matters{most}: {first_told}, and {second_told}, {explained}"),
            false => {
                format!("`{name}` matters{most}: {first_told}, {explained}, and {second_told}")
            }
        }
    }

    /// `the mean of ext4 and xfs is 1.25 times that of btrfs (1.15 to 1.36)`.
    fn beside(&self, name: &str, beside: &Beside) -> String {
        let mean = if self.figure == "elapsed_s" { "mean time" } else { "mean" };
        let what = |levels: &[Value]| match levels {
            [one] => level(name, one),
            levels if levels.len() <= NAMED_MAX => listed(name, levels),
            levels => format!("{} levels of `{name}`", levels.len()),
        };
        // Of one level there is no mean of means.
        let lead = match &beside.most[..] {
            [one] => format!("the {mean} with {}", level(name, one)),
            several => format!("the {mean} of {}", what(several)),
        };
        let (least, ratio) = (what(&beside.least), times(&beside.ratio));
        let with = if beside.least.len() == 1 { "with" } else { "of" };
        format!("{lead} is {ratio} that {with} {least}{}", ends(&beside.ratio))
    }
}

/// `ext4, jfs and xfs`.
fn listed(name: &str, levels: &[Value]) -> String {
    let all: Vec<String> = levels.iter().map(|value| level(name, value)).collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => all.concat(),
    }
}

/// `` `volumes` was not varied by itself, but follows `filesystem`: with btrfs it is btrfs, with
/// ext4 and xfs it is md.``
pub fn following(of: &Following) -> String {
    let name = of.knob;
    let from: Vec<String> = of.from.iter().map(|from| format!("`{from}`")).collect();
    let from = from.join(" and ");
    let mut held: Vec<(&Value, Vec<Value>)> = Vec::new();
    for (level, value) in &of.levels {
        match held.iter_mut().find(|(known, _)| *known == value) {
            Some((_, levels)) => levels.push(level.clone()),
            None => held.push((value, vec![level.clone()])),
        }
    }
    let few = of.levels.len() <= NAMED_MAX && !held.is_empty();
    let [decides] = of.from[..] else {
        return format!("`{name}` was not varied by itself: {from} decide it.");
    };
    if !few {
        return format!("`{name}` was not varied by itself: {from} decides it.");
    }
    let each = held.iter().map(|(value, levels)| {
        format!("with {} it is {}", listed(decides, levels), setting(value))
    });
    let each: Vec<String> = each.collect();
    format!("`{name}` was not varied by itself, but follows {from}: {}.", each.join(", "))
}
