//! What `run` says and does around labels: which set-up is there, what to change next, and whether
//! the machine looks changed.

use std::collections::BTreeSet;

use super::outcome::Session;
use super::talk;
use base::value::shell_words;
use experiment::measurement::Note;
use experiment::plan::design::Plan;
use experiment::plan::labels::Setup;
use experiment::plan::refused::Refused;
use store::Unfinished;

/// Differences of inventories that are told one by one.
const CHANGES_MAX: usize = 8;

/// The set-ups of a plan, and the one that is there.
pub struct PlanSetups {
    setups: Vec<Setup>,
    /// The set-up whose trials are run.
    pub there: Setup,
}

impl PlanSetups {
    /// Finds the set-up that was named.
    ///
    /// # Errors
    /// When it is none of the plan's, or nobody said which of several is there.
    pub fn from_arguments(plan: &Plan, given: &[String]) -> Result<PlanSetups, Refused> {
        let setups = plan.setups(plan.seed.unwrap_or(1));
        match plan.setup(&setups, given) {
            Ok(there) => Ok(PlanSetups { setups, there }),
            Err(refused) if given.is_empty() && setups.len() > 1 => {
                let first = setups.first().map(Setup::arguments).unwrap_or_default();
                let hint = format!("set one of them up, then type: {}", typed(&first, false));
                Err(Refused { hint, ..refused })
            }
            Err(refused) => Err(refused),
        }
    }

    /// Whether a person has something to change between the trials.
    pub fn several(&self) -> bool {
        self.setups.len() > 1
    }

    /// Says which set-up is measured, and what may be meant otherwise.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn begin(
        &self,
        session: &Session,
        plan: &Plan,
        going_on: Option<&Unfinished>,
    ) -> anyhow::Result<()> {
        if !self.several() {
            return Ok(());
        }
        let (there, all) = (self.there.said(), self.setups.len());
        session.talk.say(&format!("set-up {there}, one of {all}; the run stops after it"));
        let identity = session.kept.plan_json.as_deref().unwrap_or_default();
        if going_on.is_none()
            && let Some(other) = session.store.unfinished(identity)?
            && !left(plan, &self.setups, other.campaign.seed, &other.over).is_empty()
        {
            session.talk.say(&format!(
                "warning: campaign {} of this plan has trials to go, and this begins another; \
                 --resume goes on with it",
                other.campaign.id
            ));
        }
        if let Some(unfinished) = going_on
            && !left(
                plan,
                std::slice::from_ref(&self.there),
                unfinished.campaign.seed,
                &unfinished.over,
            )
            .contains(&there)
        {
            session.talk.say(&format!("{there} is done: all its trials are over"));
        }
        Ok(())
    }

    /// What a record must say of the machine that a campaign goes on with.
    pub fn note(&self, session: &Session, going_on: &Unfinished) -> Option<Note> {
        let changes =
            facts::inventory::changes(&going_on.campaign.inventory, &session.campaign.inventory);
        let (kind, text) = match changes.len() {
            0 if self.several() => (
                "inventory-unchanged",
                format!(
                    "By its inventory the machine is the same as when the campaign began; that it \
                     is set up as {} is what the person said who ran it.",
                    self.there.said()
                ),
            ),
            0 => return None,
            many => {
                let mut told = changes;
                told.truncate(CHANGES_MAX);
                if many > CHANGES_MAX {
                    told.push(format!("{} more", many - CHANGES_MAX));
                }
                let text = format!("Since the campaign began: {}.", told.join("; "));
                ("inventory-changed", text)
            }
        };
        session.talk.say(&text);
        Some(Note::new(kind, text))
    }

    /// Says what is left to do by hand, and what to type then; also to those who asked for quiet:
    /// without them the plan is never done.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn end(&self, session: &Session, plan: &Plan) -> anyhow::Result<()> {
        let identity = session.kept.plan_json.as_deref().unwrap_or_default();
        let Some(kept) = session.store.unfinished(identity)?.filter(|_| self.several()) else {
            return Ok(());
        };
        // In the order of this campaign's seed.
        let setups = plan.setups(kept.campaign.seed);
        let left = left(plan, &setups, kept.campaign.seed, &kept.over);
        if left.contains(&self.there.said()) {
            let command = typed(&self.there.arguments(), true);
            talk::line(&format!("{} is not done; to go on: {command}", self.there.said()));
            return Ok(());
        }
        let next = setups.iter().find(|setup| left.contains(&setup.said()));
        talk::line(&match next {
            None => format!("all {} set-ups of `{}` are done", setups.len(), plan.name),
            Some(next) => format!(
                "{} is done, {} of {} set-ups are left\nby hand: change {}\nthen type: {}",
                self.there.said(),
                left.len(),
                setups.len(),
                next.change(&self.there),
                typed(&next.arguments(), true)
            ),
        });
        Ok(())
    }
}

/// Those of `setups` that have trials which are not over.
fn left(plan: &Plan, setups: &[Setup], seed: u64, over: &BTreeSet<u32>) -> BTreeSet<String> {
    let mut left = BTreeSet::new();
    let to_go = plan.trials(seed).filter(|trial| !over.contains(&trial.number));
    for trial in to_go {
        if left.len() == setups.len() {
            break;
        }
        if let Some(setup) = setups.iter().find(|setup| setup.holds(&trial.settings)) {
            left.insert(setup.said());
        }
    }
    left
}

/// The command as it was typed, for another set-up.
fn typed(labels: &[String], resume: bool) -> String {
    retyped(std::env::args(), labels, resume)
}

fn retyped(typed: impl Iterator<Item = String>, labels: &[String], resume: bool) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut typed = typed.peekable();
    while let Some(word) = typed.next() {
        match word.as_str() {
            // What is to be run again is so by now.
            "--label" | "--again" => drop(typed.next()),
            "--resume" => {}
            other if other.starts_with("--label=") || other.starts_with("--again=") => {}
            _ => words.push(word),
        }
    }
    words.extend(resume.then(|| "--resume".to_owned()));
    words.extend_from_slice(labels);
    shell_words(&words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_to_go_on_with_is_the_one_that_was_typed() {
        let next = ["--label".to_owned(), "card=3ware-8".to_owned()];
        let again =
            |typed: &[&str]| retyped(typed.iter().map(|word| (*word).to_owned()), &next, true);
        assert_eq!(
            again(&["brickyard", "run", "b.toml", "--label", "card=areca-16", "--quiet"]),
            "brickyard run b.toml --quiet --resume --label card=3ware-8"
        );
        assert_eq!(
            again(&["./brickyard", "run", "b.toml", "--resume", "--label=card=a", "x=it's {1}"]),
            "./brickyard run b.toml 'x=it'\\''s {1}' --resume --label card=3ware-8"
        );
    }
}
