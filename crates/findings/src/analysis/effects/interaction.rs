//! Whether what one knob does depends on another.

use serde::Serialize;

use super::{Level, ratio, sure};
use crate::analysis::workloads::Varied;
use base::stats::Estimate;
use base::stats::main_effects::{self, CHANCE};
use base::value::Value;
use experiment::knob::Scope;

/// Whether what one knob does depends on another.
#[derive(Clone, Debug, Serialize)]
pub struct Interaction {
    /// The knob whose effect differs; of the two the one that is cheaper to change.
    pub knob: &'static str,
    /// The knob on which that depends.
    pub on: &'static str,
    /// Whether that is more than chance; `None` when it cannot be tested.
    pub matters: Option<bool>,
    /// Where it differs most; `None` when it cannot be told from other effects.
    pub most: Option<Differing>,
    /// What each level of the knob does under each level of the other, where that is more than
    /// chance.
    pub lines: Vec<InteractionLine>,
}

/// Two levels of a knob under two levels of another.
#[derive(Clone, Debug, Serialize)]
pub struct Differing {
    /// Levels of the knob that are compared: the first over the second.
    pub levels: [Value; 2],
    /// Levels of the other knob; under the first that ratio is largest.
    pub under: [Value; 2],
    /// The ratio under each.
    pub ratios: [Estimate; 2],
    /// The first of these over the second; its interval allows for having picked these levels.
    pub ratio_of_ratios: Estimate,
    /// Share of the variance that the interaction explains, freed of what chance adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omega_squared: Option<Estimate>,
    /// How likely so much were if no knob did anything (Holm's correction).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chance: Option<f64>,
}

/// The levels of a knob under one level of another.
#[derive(Clone, Debug, Serialize)]
pub struct InteractionLine {
    /// The level of the other knob.
    pub under: Value,
    /// Each level's ratio to the geometric mean over the levels of the knob there.
    pub levels: Vec<Level>,
}

/// All pairs of the knobs that were varied: what is more than chance first, then by size.
pub fn interactions(
    found: &[main_effects::Interaction],
    varied: &[Varied<'_>],
) -> Vec<Interaction> {
    let mut all: Vec<Interaction> = found.iter().map(|it| interaction(it, varied)).collect();
    let rank = |it: &Interaction| {
        let size = it.most.as_ref().map_or(0.0, |most| most.ratio_of_ratios.value);
        (it.matters == Some(true), size)
    };
    all.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal));
    all
}

fn interaction(found: &main_effects::Interaction, varied: &[Varied<'_>]) -> Interaction {
    let (of, on) = (&varied[found.factor], &varied[found.on]);
    // What a person set up once was not repeated: see `Varied::effect`. What another knob does on
    // it was, trial by trial.
    let once = of.knob.scope == Scope::Label;
    let value = |of: &Varied<'_>, place: usize| of.levels[place].clone();
    let most = found.most.as_ref().map(|most| Differing {
        levels: most.levels.map(|place| value(of, place)),
        under: most.under.map(|place| value(on, place)),
        ratios: most.effects.map(|it| ratio(sure(it, once))),
        ratio_of_ratios: ratio(sure(most.difference, once)),
        omega_squared: most.omega_squared.map(|share| sure(share, once)),
        chance: most.chance.filter(|_| !once),
    });
    let line = |(place, levels): (usize, &Vec<Estimate>)| InteractionLine {
        under: value(on, place),
        levels: levels
            .iter()
            .enumerate()
            .map(|(place, it)| Level { level: value(of, place), ratio: ratio(sure(*it, once)) })
            .collect(),
    };
    Interaction {
        knob: of.knob.name,
        on: on.knob.name,
        matters: most.as_ref().and_then(|most| Some(most.chance? <= CHANCE)),
        most,
        lines: found.lines.iter().enumerate().map(line).collect(),
    }
}
