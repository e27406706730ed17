//! (pure) Set-ups: what a person must change by hand between the trials of a plan.
//!
//! All trials of one set-up, its replicates included, stand together: nobody changes a card three
//! times for each of its levels. An effect of a label thus rests on one set-up of each level, and a
//! plan that is run again, set up again, is the way to more.

use std::collections::BTreeMap;

use super::design::{Plan, PlanCell};
use super::order::{self, mix};
use super::refused::Refused;
use crate::knob::{self, KNOBS, Knob, Scope, Settings};
use base::value::Value;

/// The labels of a plan, each at one level.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Labels and their levels.
    pub levels: Vec<(&'static str, Value)>,
    /// How many cells it has.
    pub cells: u64,
    /// Tells it from others in the order of trials.
    pub(super) key: u64,
}

impl Setup {
    /// As typed: `card=areca-16 slot=2`; empty where the plan has no labels.
    pub fn said(&self) -> String {
        let said = self.levels.iter().map(|(name, level)| format!("{name}={level}"));
        said.collect::<Vec<_>>().join(" ")
    }

    /// Whether a trial with these settings is one of this set-up.
    pub fn holds(&self, settings: &Settings) -> bool {
        self.levels.iter().all(|(name, level)| settings.named(name) == Some(level))
    }

    /// The arguments that name it.
    pub fn arguments(&self) -> Vec<String> {
        let both = self
            .levels
            .iter()
            .flat_map(|(name, level)| ["--label".to_owned(), format!("{name}={level}")]);
        both.collect()
    }

    /// What a person does to come here from `before`: each label that has another level there.
    pub fn change(&self, before: &Setup) -> String {
        let mut steps = Vec::new();
        for ((name, level), (_, old)) in self.levels.iter().zip(&before.levels) {
            if level != old {
                steps.push(format!("{name} from {old} to {level}"));
            }
        }
        steps.join(", ")
    }
}

/// The key of a set-up in the order of trials: from its labels' values alone.
fn key(levels: &[(&'static str, Value)]) -> u64 {
    let all = levels.iter().filter(|(_, level)| !level.is_as_is());
    all.map(|(name, level)| order::named(name, level)).fold(0, |key, named| key ^ named)
}

impl Plan {
    /// The labels that it gives a level other than `as-is`.
    pub fn labels(&self) -> Vec<&'static Knob> {
        let given = |knob: &Knob| {
            self.loads.iter().any(|load| {
                match load.factors.iter().find(|factor| factor.knob.name == knob.name) {
                    Some(factor) => factor.levels.iter().any(|level| !level.is_as_is()),
                    None => load.settings.named(knob.name).is_some_and(|level| !level.is_as_is()),
                }
            })
        };
        let labels = KNOBS.iter().filter(|knob| knob.scope == Scope::Label);
        labels.copied().filter(|knob| given(knob)).collect()
    }

    /// What a person must set up, in the order in which `seed` puts the trials. One where the plan
    /// has no labels, or gives them one level each.
    pub fn setups(&self, seed: u64) -> Vec<Setup> {
        let names: Vec<&str> = self.labels().iter().map(|knob| knob.name).collect();
        if names.is_empty() {
            return vec![Setup { levels: Vec::new(), cells: self.cells().count() as u64, key: 0 }];
        }
        // Cells that agree in their labels' factors agree in their labels.
        let mut counts: BTreeMap<(usize, Vec<usize>), (PlanCell, u64)> = BTreeMap::new();
        for cell in self.cells() {
            let place = (cell.load, self.deciding(&cell, &names));
            counts.entry(place).or_insert_with(|| (cell, 0)).1 += 1;
        }
        let mut setups: Vec<Setup> = Vec::new();
        for (cell, cells) in counts.into_values() {
            let settings = self.settings(&cell);
            let level = |name: &&'static str| Some((*name, settings.named(name)?.clone()));
            let levels: Vec<_> = self.labels().iter().filter_map(|k| level(&k.name)).collect();
            match setups.iter_mut().find(|setup| setup.levels == levels) {
                Some(setup) => setup.cells += cells,
                None => setups.push(Setup { key: key(&levels), levels, cells }),
            }
        }
        let salt = mix(seed);
        setups.sort_by_key(|setup| mix(setup.key ^ salt));
        setups
    }

    /// The keys of the set-ups in the order of trials, without counting a plan's cells where it has
    /// no labels.
    pub(super) fn setup_keys(&self, seed: u64) -> Vec<u64> {
        match self.labels().is_empty() {
            true => vec![0],
            false => self.setups(seed).into_iter().map(|setup| setup.key).collect(),
        }
    }

    /// The set-up that the arguments `label=level` name among `setups`.
    ///
    /// # Errors
    /// For what is no label of this plan, a level that it does not have, or too few labels.
    pub fn setup(&self, setups: &[Setup], given: &[String]) -> Result<Setup, Refused> {
        let labels: Vec<&str> = self.labels().iter().map(|knob| knob.name).collect();
        let all = || setups.iter().map(Setup::said).collect::<Vec<_>>().join("; ");
        let mut wanted: Vec<(&str, Value)> = Vec::new();
        for text in given {
            let refused = |why: String| Refused {
                why,
                hint: match labels.is_empty() {
                    true => "leave --label out: this plan changes nothing by hand".to_owned(),
                    false => format!("this plan is set up as one of: {}", all()),
                },
            };
            let (name, level) = text
                .split_once('=')
                .ok_or_else(|| refused(format!("`{text}` is not of the form label=level")))?;
            let Some(name) = labels.iter().find(|label| **label == name) else {
                return Err(refused(format!("`{name}` is no label of the plan `{}`", self.name)));
            };
            let parsed = knob::find(name).map(|knob| knob.domain.parse(level));
            match parsed {
                Some(Ok(level)) if !wanted.iter().any(|(other, _)| other == name) => {
                    wanted.push((name, level));
                }
                Some(Ok(_)) => return Err(refused(format!("`{name}` is given twice"))),
                Some(Err(why)) => return Err(refused(format!("{name}: {why}"))),
                None => {}
            }
        }
        let fits = |setup: &&Setup| wanted.iter().all(|want| setup.levels.contains(want));
        let mut found = setups.iter().filter(fits);
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one.clone()),
            (None, _) => Err(Refused {
                why: format!("no cell of the plan `{}` has {}", self.name, given.join(" ")),
                hint: format!("this plan is set up as one of: {}", all()),
            }),
            (Some(first), Some(_)) => Err(Refused {
                why: format!(
                    "the plan `{}` has {} set-ups that only a person can change, and it is not \
                     said which one is there: {}",
                    self.name,
                    setups.len(),
                    all()
                ),
                hint: format!(
                    "set one up, and say so: {} ({} of {} cells)",
                    first.arguments().join(" "),
                    first.cells,
                    setups.iter().map(|setup| setup.cells).sum::<u64>()
                ),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::design::Design;
    use super::super::design::tests::{factor, plan};
    use super::*;

    fn labelled() -> Plan {
        let factors = vec![
            factor("streams", &["1", "2", "3"]),
            factor("card", &["areca-16", "3ware-8"]),
            factor("slot", &["1", "2"]),
        ];
        Plan { replicates: 3, ..plan(Design::Full, factors) }
    }

    fn said(setups: &[Setup]) -> Vec<String> {
        setups.iter().map(Setup::said).collect()
    }

    /// With replicates outermost a person would change the card twelve times.
    #[test]
    fn all_replicates_of_a_setup_stand_together() {
        let plan = labelled();
        let setups = plan.setups(7);
        assert_eq!(setups.len(), 4);
        assert!(setups.iter().all(|setup| setup.cells == 3));
        let trials: Vec<_> = plan.trials(7).collect();
        assert_eq!(trials.len(), 36);
        for (setup, trials) in setups.iter().zip(trials.chunks(9)) {
            assert!(trials.iter().all(|trial| setup.holds(&trial.settings)), "{}", setup.said());
            let replicates: Vec<u32> = trials.iter().map(|trial| trial.replicate).collect();
            assert_eq!(replicates, [1, 1, 1, 2, 2, 2, 3, 3, 3]);
        }
        let numbers: Vec<u32> = trials.iter().map(|trial| trial.number).collect();
        assert_eq!(numbers, (1..=36).collect::<Vec<_>>());
        let orders: std::collections::BTreeSet<Vec<String>> =
            (0..200).map(|seed| said(&plan.setups(seed))).collect();
        assert_eq!(orders.len(), 24, "every order of four comes");
    }

    #[test]
    fn a_setup_is_named_by_its_labels_and_what_is_missing_is_asked_for() {
        let plan = labelled();
        let setups = plan.setups(1);
        let named = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
            plan.setup(&setups, &given)
        };
        let one = named(&["slot=2", "card=3ware-8"]).unwrap();
        assert_eq!(one.said(), "card=3ware-8 slot=2");
        assert_eq!(one.arguments(), ["--label", "card=3ware-8", "--label", "slot=2"]);
        let other = named(&["slot=1", "card=3ware-8"]).unwrap();
        assert_eq!(one.change(&other), "slot from 1 to 2");
        let too_few = named(&["card=3ware-8"]).unwrap_err();
        assert!(too_few.hint.contains("--label card=3ware-8 --label slot="), "{too_few:?}");
        assert!(named(&[]).unwrap_err().why.contains("4 set-ups"));
        assert!(named(&["card=lsi", "slot=1"]).unwrap_err().why.contains("no cell"));
        assert!(named(&["streams=1"]).unwrap_err().why.contains("no label of the plan"));
        assert!(named(&["card"]).unwrap_err().why.contains("label=level"));
        assert!(named(&["card=a b"]).unwrap_err().why.contains("card:"));
        assert!(named(&["slot=1", "slot=2"]).unwrap_err().why.contains("twice"));
    }

    #[test]
    fn a_plan_without_labels_or_with_one_level_of_each_needs_nobody() {
        let without = plan(Design::Full, vec![factor("streams", &["1", "2"])]);
        assert_eq!(without.setups(1).len(), 1);
        assert_eq!(without.setup(&without.setups(1), &[]).unwrap().said(), "");
        let refused = without.setup(&without.setups(1), &["card=a".to_owned()]).unwrap_err();
        assert!(refused.hint.contains("changes nothing by hand"), "{refused:?}");
        let told = plan(Design::Full, vec![factor("card", &["areca-16"])]);
        assert_eq!(told.setup(&told.setups(1), &[]).unwrap().said(), "card=areca-16");
    }

    #[test]
    fn a_workload_may_belong_to_one_setup_alone() {
        let mut plan = labelled();
        let mut other = plan.loads[0].clone();
        other.factors.clear();
        other.name = "other".to_owned();
        other.settings.set(knob::CARD, Some("3ware-8"));
        plan.loads.push(other);
        let setups = plan.setups(1);
        // No slot is given for the other workload: that is a set-up of its own.
        assert!(said(&setups).contains(&"card=3ware-8 slot=as-is".to_owned()), "{setups:?}");
        assert_eq!(plan.trials(1).count(), 13 * 3);
    }
}
