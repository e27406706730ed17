//! A plan before it is expanded: what is varied, over which levels, crossed how.
//!
//! Cells are numbered, not listed: a full factorial of a million of them takes no room here.

use std::collections::BTreeMap;

use serde_json::json;

pub use super::load::{Design, Factor, Load};

use super::layouts::{self, Sense};
use super::needs::Need;
use crate::knob::{self, EngineKind, Knob, Settings};
use base::value::Value;

/// Cells that make no sense: those that have one of the levels of every knob named.
#[derive(Clone, Debug)]
pub struct Exclude {
    /// Only of the load of this name.
    pub workload: Option<String>,
    /// Knobs and levels.
    pub levels: Vec<(&'static Knob, Vec<Value>)>,
}

/// What to vary, how often, in which order, and where.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Kebab-case.
    pub name: String,
    /// The question that it answers; empty where none is given.
    pub about: String,
    /// What runs it, as [`engines`] gives it: each load's settings know theirs.
    pub engine: String,
    /// How often each cell is run.
    pub replicates: u32,
    /// Draws the order and the blocks; chosen when the plan runs where none is given.
    pub seed: Option<u64>,
    /// Which combinations are cells.
    pub design: Design,
    /// Where; empty where the plan does not say.
    pub directories: Vec<String>,
    /// Disks that are destroyed and on which layouts are made, as the plan names them; then there
    /// are no directories.
    pub disks: Vec<String>,
    /// Devices that are only read, as the plan names them; then these are its directories.
    pub read_only: Vec<String>,
    /// What is run.
    pub loads: Vec<Load>,
    /// Why workloads were taken out of it, as nothing of them can run as it was asked for, and how
    /// many cells they had.
    pub without: BTreeMap<String, u64>,
    /// What must be there.
    pub needs: Vec<Need>,
    /// Files are twice as large as the memory of the machine unless a size is typed.
    pub twice_memory: bool,
    /// What is left out.
    pub excludes: Vec<Exclude>,
    /// What a part of the server costs; no part of what is run, so that another price is no other
    /// plan.
    pub prices: BTreeMap<String, f64>,
    /// What the prices are in, as written; empty where they have none.
    pub currency: String,
}

/// A cell that a plan asks for: the number of its load, and for each factor of that the
/// number of a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanCell {
    /// Which load.
    pub load: usize,
    /// Which level of each of its factors.
    pub levels: Vec<usize>,
}

/// The engines of these loads, each once, in words: `file, command`.
pub fn engines(loads: &[Load]) -> String {
    let mut names: Vec<&str> = loads.iter().map(|load| load.settings.engine()).collect();
    let mut seen = Vec::new();
    names.retain(|name| {
        !seen.contains(name) && {
            seen.push(*name);
            true
        }
    });
    names.join(", ")
}

impl Plan {
    /// Whether one of its loads runs on `engine`.
    pub fn runs_on(&self, engine: &str) -> bool {
        self.loads.iter().any(|load| load.settings.engine() == engine)
    }

    /// Whether its trials touch no machine.
    pub fn is_simulated(&self) -> bool {
        EngineKind::named(&self.engine).is_some_and(EngineKind::is_simulated)
    }

    /// Combinations of all loads, those that are excluded with them; saturates.
    pub fn combinations(&self) -> u64 {
        let each = self.loads.iter().map(|load| load.combinations(self.design));
        each.fold(0, u64::saturating_add)
    }

    /// Every cell, in the order written.
    pub fn cells(&self) -> impl Iterator<Item = PlanCell> {
        (0..self.loads.len()).flat_map(move |load| {
            self.combinations_of(load).map(move |(_, levels)| PlanCell { load, levels })
        })
    }

    /// Number and levels of each combination of a load that is not excluded.
    pub(super) fn combinations_of(&self, load: usize) -> impl Iterator<Item = (u64, Vec<usize>)> {
        let rules = self.rules(load);
        let load = &self.loads[load];
        let sense = Sense::for_load(load, &self.disks);
        (0..load.combinations(self.design)).filter_map(move |index| {
            let mut levels = Vec::with_capacity(load.factors.len());
            load.combination(self.design, index, &mut levels);
            let excluded = rules.iter().any(|rule| rule.matches(&levels));
            let left_out = || sense.as_ref().is_some_and(|sense| sense.lacks(&levels).is_some());
            (!excluded && !left_out()).then_some((index, levels))
        })
    }

    /// Why cells are left out by themselves, because their layouts cannot be made of so many disks
    /// or their workloads cannot run as was asked for, and how many for each reason.
    pub fn senseless(&self) -> BTreeMap<String, u64> {
        let mut all = self.without.clone();
        for number in 0..self.loads.len() {
            let (load, rules) = (&self.loads[number], self.rules(number));
            let Some(sense) = Sense::for_load(load, &self.disks) else { continue };
            let mut levels = Vec::new();
            for index in 0..load.combinations(self.design) {
                load.combination(self.design, index, &mut levels);
                if rules.iter().any(|rule| rule.matches(&levels)) {
                    continue;
                }
                if let Some(why) = sense.lacks(&levels) {
                    *all.entry(why.to_owned()).or_default() += 1;
                }
            }
        }
        all
    }

    /// Why cells are left out, and how many for each reason: those that make no sense, and those
    /// that the plan excludes.
    pub fn left_out(&self) -> BTreeMap<String, u64> {
        let mut all = self.senseless();
        let senseless: u64 = all.values().sum();
        let senseless = senseless - self.without.values().sum::<u64>();
        let kept = self.cells().count() as u64;
        let excluded = self.combinations().saturating_sub(kept + senseless);
        if excluded > 0 {
            all.insert("the plan excludes them".to_owned(), excluded);
        }
        all
    }

    /// The knobs that it varies, each once.
    pub fn varying(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        for factor in self.loads.iter().flat_map(|load| &load.factors) {
            if factor.levels.len() > 1 && !names.contains(&factor.knob.name) {
                names.push(factor.knob.name);
            }
        }
        names
    }

    /// Settings of a cell.
    pub fn settings(&self, cell: &PlanCell) -> Settings {
        let mut settings = self.loads[cell.load].at(&cell.levels);
        if settings.has(knob::DIRECTORIES) && settings.directories().is_empty() {
            settings.set(knob::DIRECTORIES, &self.directories);
        }
        if !self.disks.is_empty() {
            layouts::resolve(&mut settings, self.disks.len() as u64);
        }
        settings
    }

    /// The levels of those factors of a cell that are among `knobs`: cells of a load that agree in
    /// them have the same settings there.
    pub fn deciding(&self, cell: &PlanCell, knobs: &[&str]) -> Vec<usize> {
        let factors = self.loads[cell.load].factors.iter().zip(&cell.levels);
        let among = factors.filter(|(factor, _)| knobs.contains(&factor.knob.name));
        among.map(|(_, level)| *level).collect()
    }

    /// The plan as it is run, in words that are the same whenever it is: what a campaign that goes
    /// on must have too. The seed is not in it, nor is how the file was laid out.
    pub fn identity(&self) -> String {
        let levels = |of: &[Value]| of.iter().map(ToString::to_string).collect::<Vec<_>>();
        let loads = self.loads.iter().map(|load| {
            let factors = load.factors.iter();
            let factors = factors.map(|factor| json!([factor.knob.name, levels(&factor.levels)]));
            let settings: BTreeMap<&str, String> =
                load.settings.iter().map(|(name, value)| (name, value.to_string())).collect();
            let factors: Vec<_> = factors.collect();
            let engine = load.settings.engine();
            json!({
                "name": load.name,
                "engine": engine,
                "settings": settings,
                "factors": factors,
            })
        });
        let excludes = self.excludes.iter().map(|rule| {
            let of = rule.levels.iter().map(|(knob, of)| json!([knob.name, levels(of)]));
            json!({ "workload": rule.workload, "levels": of.collect::<Vec<_>>() })
        });
        json!({
            "name": self.name,
            "engine": self.engine,
            "replicates": self.replicates,
            "design": self.design.name(),
            "directories": self.directories,
            "devices": self.disks,
            "loads": loads.collect::<Vec<_>>(),
            "exclude": excludes.collect::<Vec<_>>(),
        })
        .to_string()
    }

    /// Exclusions as they apply to one load.
    fn rules(&self, load: usize) -> Vec<Rule> {
        let load = &self.loads[load];
        let applies =
            |rule: &&Exclude| rule.workload.as_ref().is_none_or(|name| *name == load.name);
        self.excludes.iter().filter(applies).filter_map(|rule| Rule::of(rule, load)).collect()
    }
}

/// An exclusion, looked up: for each factor named, which levels match.
struct Rule(Vec<(usize, Vec<bool>)>);

impl Rule {
    /// `None` when it never matches, as a knob that is no factor of this load has another value.
    fn of(exclude: &Exclude, load: &Load) -> Option<Rule> {
        let mut places = Vec::new();
        for (knob, levels) in &exclude.levels {
            match load.factors.iter().position(|factor| factor.knob.name == knob.name) {
                Some(place) => {
                    let of = &load.factors[place].levels;
                    places.push((place, of.iter().map(|level| levels.contains(level)).collect()));
                }
                None if load
                    .settings
                    .named(knob.name)
                    .is_some_and(|held| levels.contains(held)) => {}
                None => return None,
            }
        }
        Some(Rule(places))
    }

    fn matches(&self, levels: &[usize]) -> bool {
        self.0.iter().all(|(place, matching)| matching[levels[*place]])
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::knob;

    pub fn factor(name: &str, levels: &[&str]) -> Factor {
        let knob = knob::find(name).unwrap();
        let levels = levels.iter().map(|text| knob.domain.parse(text).unwrap()).collect();
        Factor { knob, levels }
    }

    pub fn plan(design: Design, factors: Vec<Factor>) -> Plan {
        let settings = Settings::defaults("sim");
        Plan {
            name: "test".into(),
            about: String::new(),
            engine: "sim".into(),
            replicates: 1,
            seed: None,
            design,
            directories: Vec::new(),
            disks: Vec::new(),
            read_only: Vec::new(),
            loads: vec![Load {
                name: "read".into(),
                settings,
                factors,
                kept: Vec::new(),
                sized: false,
            }],
            without: BTreeMap::new(),
            needs: Vec::new(),
            twice_memory: false,
            excludes: Vec::new(),
            prices: BTreeMap::new(),
            currency: String::new(),
        }
    }

    fn levels(plan: &Plan) -> Vec<Vec<usize>> {
        plan.cells().map(|cell| cell.levels).collect()
    }

    #[test]
    fn a_full_design_has_every_combination_once() {
        let factors = vec![factor("streams", &["1", "2", "3"]), factor("queue-depth", &["1", "8"])];
        let all = levels(&plan(Design::Full, factors));
        assert_eq!(all, [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]);
        assert_eq!(levels(&plan(Design::Full, Vec::new())), [[0_usize; 0]]);
    }

    #[test]
    fn one_at_a_time_leaves_the_first_levels_once_each() {
        let factors = vec![factor("streams", &["1", "2", "3"]), factor("queue-depth", &["1", "8"])];
        let all = levels(&plan(Design::OneAtATime, factors));
        assert_eq!(all, [[0, 0], [1, 0], [2, 0], [0, 1]]);
    }

    #[test]
    fn a_fraction_keeps_main_effects_clear_of_each_other_and_of_interactions_of_two() {
        let names = ["streams", "queue-depth", "batch", "files", "block-size", "rate"];
        let two = |name: &&str| match *name {
            "block-size" => factor(name, &["4KiB", "8KiB"]),
            "rate" => factor(name, &["10", "20"]),
            _ => factor(name, &["1", "2"]),
        };
        for count in 2..=names.len() {
            let all = levels(&plan(Design::Fractional, names[..count].iter().map(two).collect()));
            let sign = |run: &[usize], factor: usize| 1 - 2 * run[factor] as i64;
            let sum = |product: &dyn Fn(&[usize]) -> i64| all.iter().map(|run| product(run)).sum();
            for a in 0..count {
                let alone: i64 = sum(&|run| sign(run, a));
                assert_eq!(alone, 0, "{count} factors: {a} is out of balance");
                for b in 0..count {
                    for c in b + 1..count {
                        let mixed: i64 = sum(&|run| sign(run, a) * sign(run, b) * sign(run, c));
                        assert!(mixed == 0, "{count}: {a} is mixed up with {b} x {c}");
                    }
                    let both: i64 = sum(&|run| sign(run, a) * sign(run, b));
                    assert_eq!(both != 0, a == b, "{count} factors: {a} is mixed up with {b}");
                }
            }
        }
        let six = plan(Design::Fractional, names.iter().map(two).collect());
        assert_eq!((six.cells().count(), six.combinations()), (16, 16));
    }

    #[test]
    fn excluded_combinations_are_no_cells() {
        let factors = vec![factor("streams", &["1", "2", "3"]), factor("queue-depth", &["1", "8"])];
        let mut plan = plan(Design::Full, factors);
        let knob = |name| knob::find(name).unwrap();
        let rule = |workload: Option<&str>, levels: Vec<(&'static Knob, Vec<Value>)>| Exclude {
            workload: workload.map(str::to_owned),
            levels,
        };
        let (two, three, eight) = (Value::Count(2), Value::Count(3), Value::Count(8));
        plan.excludes = vec![
            rule(
                None,
                vec![(knob("streams"), vec![two, three]), (knob("queue-depth"), vec![eight])],
            ),
            rule(Some("another"), vec![(knob("streams"), vec![Value::Count(1)])]),
            // Holds of no cell: these write nothing.
            rule(None, vec![(knob("access"), vec![Value::Word("write".into())])]),
        ];
        assert_eq!(levels(&plan), [[0, 0], [0, 1], [1, 0], [2, 0]]);
        assert_eq!(plan.combinations(), 6);
        assert_eq!(plan.left_out(), [("the plan excludes them".to_owned(), 2)].into());
    }
}
