//! (pure) What each knob of a plan does, one table a workload.

use super::grid::{Grid, Side};
use super::{Input, plain};
use crate::analysis::effects::{Beside, Effects, KnobEffect, NO_TENTH, range, said};
use crate::report::words;
use base::stats::Estimate;
use base::stats::main_effects::CHANCE;
use base::value::{Value, percent, setting, significant};
use experiment::measurement::origin::Verdict;

/// Appends the tables; none when nothing was varied.
pub fn render(input: &Input<'_>, text: &mut String) {
    for effects in &input.shown.effects {
        text.push_str(&format!("\n{}\n", plain(&title(effects))));
        text.push_str(&table(effects));
    }
}

/// Over a table.
pub fn title(effects: &Effects) -> String {
    let origin = match effects.origin {
        // Of names and transactions nothing is told by bytes.
        Verdict::None if !effects.figure.ends_with("bytes_per_s") => String::new(),
        Verdict::None => ", written".to_owned(),
        verdict => format!(", origin: {}", verdict.name()),
    };
    format!("Effects in {} ({}{origin})", effects.group, words::figure(effects.figure))
}

/// Heads of its columns.
pub const HEADS: [(&str, Side); 8] = [
    ("knob", Side::Left),
    ("scope", Side::Left),
    ("most", Side::Left),
    ("least", Side::Left),
    ("ratio", Side::Right),
    ("95 %", Side::Left),
    ("of variance", Side::Right),
    ("effect", Side::Left),
];

/// Its rows, one a knob; and one more of a knob that others follow, for what they do together.
pub fn rows(effects: &Effects) -> impl Iterator<Item = Vec<String>> {
    effects.knobs.iter().flat_map(|knob| {
        let beside = knob.beside.iter().map(|beside| together(effects, knob, beside));
        std::iter::once(row(knob)).chain(beside).collect::<Vec<_>>()
    })
}

fn row(knob: &KnobEffect) -> Vec<String> {
    let mut row = vec![knob.knob.to_owned(), knob.scope.to_owned()];
    if let Some(span) = &knob.span {
        row.extend([level(&setting(&span.most)), level(&setting(&span.least))]);
        let share = knob.omega_squared.map_or(knob.share, |share| share.value);
        row.extend([significant(span.ratio.value), ends(&span.ratio), percent(share)]);
    } else {
        row.resize(7, String::new());
    }
    let untested = if knob.span.is_some() { NOT_TESTED } else { "not separable" };
    row.push(knob.said().map_or_else(|| untested.to_owned(), |said| plain(&said)));
    row
}

/// A knob and what follows it, of which the share of the variance stands in the row above.
fn together(effects: &Effects, knob: &KnobEffect, beside: &Beside) -> Vec<String> {
    let follow = effects.following.iter().filter(|it| it.from == [knob.knob]);
    let names: Vec<&str> = std::iter::once(knob.knob).chain(follow.map(|it| it.knob)).collect();
    let levels = |of: &[Value]| level(&of.iter().map(setting).collect::<Vec<_>>().join(", "));
    let (most, least) = (levels(&beside.most), levels(&beside.least));
    let ratio = significant(beside.ratio.value);
    let shown = beside.chance.map(|chance| chance <= CHANCE);
    let said = said(shown, &beside.ratio).unwrap_or(NOT_TESTED).to_owned();
    let scope = knob.scope.to_owned();
    let ends = ends(&beside.ratio);
    vec![names.join(" and "), scope, most, least, ratio, ends, String::new(), said]
}

fn level(text: &str) -> String {
    words::clipped(&plain(text), 14)
}

fn ends(ratio: &Estimate) -> String {
    ratio.interval.map_or_else(|| "none".to_owned(), |ends| range(&ends))
}

fn table(effects: &Effects) -> String {
    let mut grid = Grid::new(&HEADS);
    // A line has room for the short form alone, below a head that says what it is of.
    let short = |cell: String| if cell == NO_TENTH { "less than 10 %".to_owned() } else { cell };
    rows(effects).for_each(|row| grid.row(row.into_iter().map(short).collect()));
    grid.render()
}

/// Of a difference that has no error to judge it by.
const NOT_TESTED: &str = "not tested";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::effects::{Span, effects, tests};
    use crate::analysis::{AnalysisInput, findings};
    use base::stats::testing::Random;
    use experiment::knob;

    /// "matters: not shown" stood in the table of effects, beside a sentence that said "no
    /// difference of 10 % or more" of the one knob and "not decided" of the other.
    #[test]
    fn a_table_says_of_each_knob_what_its_sentence_says() {
        let factors: &[(&str, &[&str])] = &[
            ("io-engine", &["sync", "uring"]),
            ("block-size", &["4KiB", "64KiB"]),
            ("queue-depth", &["1", "8"]),
        ];
        let mut seen = Vec::new();
        for (seed, spread) in [(1, 0.01), (2, 0.3)] {
            let mut random = Random::new(seed);
            let all = tests::records(tests::crossed(factors, 4), |_, settings| {
                let times = if settings.get(knob::QUEUE_DEPTH) == 8 { 20.0 } else { 1.0 };
                1e8 * times * (spread * random.normal()).exp()
            });
            let claim = findings(&AnalysisInput::from_records(&all)).swap_remove(0).whole();
            for row in effects(&all).iter().flat_map(rows) {
                let said = row.last().unwrap();
                let sentence = match said.as_str() {
                    "shown" => format!("`{}` matters", row[0]),
                    said => format!("`{}`: {said}: ", row[0]),
                };
                assert!(claim.contains(&sentence), "{sentence} is not in {claim}");
                seen.push(said.clone());
            }
        }
        for said in ["shown", "no difference of 10 % or more", "not decided"] {
            assert!(seen.iter().any(|it| it == said), "{said}: {seen:?}");
        }
    }

    /// The same of a knob that others follow, and of one that a single combination shows.
    #[test]
    fn what_has_a_row_of_its_own_says_the_same() {
        let all =
            tests::records(tests::crossed(&[("io-engine", &["sync", "uring"])], 4), |_, _| 1e8);
        let mut effects = effects(&all).swap_remove(0);
        let span = effects.knobs[0].span.clone().unwrap();
        let ratio = Estimate::within(1.2, 0.9, 1.5);
        let open = || Some(Span { chance: Some(0.4), ratio, ..span.clone() });
        let knob = &mut effects.knobs[0];
        (knob.matters, knob.span) = (Some(false), open());
        knob.beside = Some(Beside {
            most: Vec::new(),
            least: Vec::new(),
            ratio: Estimate::within(1.0, 0.97, 1.03),
            chance: Some(0.9),
            detectable_ratio: None,
        });
        let told = |effects: &Effects| -> Vec<String> {
            rows(effects).filter_map(|row| row.last().cloned()).collect()
        };
        assert_eq!(told(&effects), ["not decided", "no difference of 10 % or more"]);
        let knob = &mut effects.knobs[0];
        knob.beside = None;
        knob.rests_on = Some(crate::analysis::effects::RestsOn {
            levels: vec![crate::analysis::effects::Setting {
                knob: "raid",
                level: Value::Word("raid1".into()),
            }],
            ratio_without: 1.0,
        });
        assert_eq!(told(&effects), ["shown by raid1 alone"]);
        effects.knobs[0].matters = None;
        assert_eq!(told(&effects), ["not tested"]);
        // "ratio 0.0000354 to 115448": nobody can use such ends.
        let ends = Estimate::within(2.0, 0.000_035_4, 115_448.0);
        effects.knobs[0].span.as_mut().unwrap().ratio = ends;
        assert_eq!(row(&effects.knobs[0])[5], "less than 0.01 to more than 100");
    }
}
