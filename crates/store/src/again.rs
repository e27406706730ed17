//! Which trials of a campaign are run again although they are over.

use std::collections::BTreeMap;
use std::str::FromStr;

use rusqlite::{Connection, Result as Read, params};

use experiment::plan::prepares;
use host::sys::Error;

/// Which trials of a campaign are to be run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RerunSelection {
    /// Those that failed.
    Failed,
    /// Those that could not be done here.
    Skipped,
    /// The one of this number.
    Number(u32),
}

impl FromStr for RerunSelection {
    type Err = String;

    fn from_str(text: &str) -> Result<RerunSelection, String> {
        match text {
            "failed" => Ok(RerunSelection::Failed),
            "skipped" => Ok(RerunSelection::Skipped),
            number => {
                let number = number.parse().ok().filter(|number| *number > 0);
                let why = || "failed, skipped, or numbers of trials: --again 3,7".to_owned();
                number.map(RerunSelection::Number).ok_or_else(why)
            }
        }
    }
}

/// What is known of a trial without reading what it measured.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    number: u32,
    outcome: String,
    group: String,
    planned: Option<u32>,
}

pub(super) fn trials(connection: &Connection, campaign: u64) -> Read<Vec<Trial>> {
    let sql = "SELECT number, outcome, cell_group, planned FROM trial WHERE campaign = ?1
               ORDER BY number";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map(params![campaign as i64], |row| {
        Ok(Trial {
            number: row.get(0)?,
            outcome: row.get(1)?,
            group: row.get(2)?,
            planned: row.get(3)?,
        })
    })?;
    rows.collect()
}

/// The places in the plan's order of those that are run again, by their numbers.
pub(super) fn places(
    trials: &[Trial],
    which: &[RerunSelection],
    damaged: &dyn Fn(u32) -> bool,
) -> Result<BTreeMap<u32, u32>, Error> {
    let mut places = BTreeMap::new();
    for one in which {
        let word = match one {
            RerunSelection::Failed => "failed",
            RerunSelection::Skipped => "skipped",
            RerunSelection::Number(number) => {
                places.insert(*number, place(trials, *number, damaged)?);
                continue;
            }
        };
        let ended = trials.iter().filter(|trial| trial.outcome == word);
        let stands = ended.filter(|trial| later(trials, trial).is_none());
        places.extend(stands.filter_map(|trial| Some((trial.number, trial.planned?))));
    }
    Ok(places)
}

/// The trial that stands in the place of an earlier one.
fn later(trials: &[Trial], of: &Trial) -> Option<u32> {
    let stands = |trial: &&Trial| {
        trial.planned.is_some() && trial.planned == of.planned && trial.outcome != "interrupted"
    };
    let last = trials.iter().rfind(stands).map(|trial| trial.number);
    last.filter(|last| *last > of.number)
}

/// The place of the trial that was named.
fn place(trials: &[Trial], number: u32, damaged: &dyn Fn(u32) -> bool) -> Result<u32, Error> {
    let refused = |why: String, hint: &str| {
        Err(Error::new(format!("cannot run trial {number} again"), why).hint(hint))
    };
    let Some(trial) = trials.iter().find(|trial| trial.number == number) else {
        let last = trials.last().map_or(0, |trial| trial.number);
        let why = match last {
            0 => "the campaign has no trials yet".to_owned(),
            last => format!("the campaign has none of that number; its last is {last}"),
        };
        return refused(why, "`brickyard report --format text` tells which failed");
    };
    if let Some(later) = later(trials, trial) {
        let why = format!("it was run again as trial {later}");
        return refused(why, "name that one, if it failed as well");
    }
    let Some(place) = trial.planned else {
        let why = match prepares(&trial.group) {
            true => "it made files for others, and is run whenever they need them",
            false => "it has no place in a plan",
        };
        return refused(why.to_owned(), "--again failed");
    };
    match trial.outcome.as_str() {
        "interrupted" => {
            refused("it was interrupted, and is run anyway".to_owned(), "leave it out")
        }
        "done" if !damaged(number) => {
            let why = "it is done; what was measured is not measured until it pleases";
            refused(why.to_owned(), "leave it out, or begin a new campaign without --resume")
        }
        _ => Ok(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(number: u32, planned: Option<u32>, outcome: &str) -> Trial {
        let group = if planned.is_some() { "random-read" } else { experiment::plan::LAYOUT };
        Trial { number, outcome: outcome.into(), group: group.into(), planned }
    }

    fn kept() -> Vec<Trial> {
        vec![
            trial(1, None, "failed"),
            trial(2, Some(7), "failed"),
            trial(3, Some(8), "failed"),
            trial(4, Some(9), "skipped"),
            trial(5, Some(10), "done"),
            trial(6, Some(7), "done"),
            trial(7, Some(11), "interrupted"),
            trial(8, Some(12), "done"),
        ]
    }

    #[test]
    fn those_that_failed_or_were_skipped_and_stand_are_run_again() {
        let of = |which: &[RerunSelection]| places(&kept(), which, &|number| number == 8).unwrap();
        assert_eq!(of(&[RerunSelection::Failed]), [(3, 8)].into());
        assert_eq!(of(&[RerunSelection::Skipped, RerunSelection::Failed]), [(3, 8), (4, 9)].into());
        assert_eq!(of(&[RerunSelection::Number(4), RerunSelection::Number(4)]), [(4, 9)].into());
        assert_eq!(of(&[RerunSelection::Number(8)]), [(8, 12)].into(), "damaged");
    }

    #[test]
    fn what_has_no_reason_to_be_run_again_is_refused_with_the_reason() {
        let of = |number: u32| {
            let error = places(&kept(), &[RerunSelection::Number(number)], &|_| false).unwrap_err();
            assert!(error.hint.is_some(), "{error}");
            error.to_string()
        };
        assert!(of(9).ends_with("its last is 8"), "{}", of(9));
        assert!(of(1).contains("made files for others"), "{}", of(1));
        assert!(of(2).ends_with("run again as trial 6"), "{}", of(2));
        assert!(of(5).contains("it is done"), "{}", of(5));
        assert!(of(7).contains("interrupted"), "{}", of(7));
        assert!(
            "0".parse::<RerunSelection>().is_err() && "done".parse::<RerunSelection>().is_err()
        );
    }
}
