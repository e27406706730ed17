//! Trials that were run again, and as which: what was measured stays, and the later one counts.

use std::collections::{BTreeMap, HashMap};

use super::{Outcome, Record};

/// Of each trial of a campaign that did not come to a measurement or was run again all the same:
/// the number of the one that stands in its place. Records are in the order of their numbers.
///
/// Trials of one place in the plan's order are the same trial; what only made ready for others has
/// no place, and is the same where its settings are.
pub fn run_again(records: &[Record]) -> BTreeMap<u32, u32> {
    let is_over = |record: &&Record| !matches!(record.outcome, Outcome::Interrupted);
    let places = records.iter().filter(is_over);
    let last: HashMap<u32, u32> =
        places.filter_map(|record| Some((record.trial.planned?, record.trial.number))).collect();
    let later_place = |record: &Record| last.get(&record.trial.planned?).copied();
    let made = |record: &Record| {
        if !record.trial.prepares() || record.outcome.measurement().is_some() {
            return None;
        }
        let same = |other: &&Record| {
            other.trial.number > record.trial.number
                && other.outcome.measurement().is_some()
                && other.trial.group == record.trial.group
                && other.trial.settings == record.trial.settings
        };
        records.iter().find(same).map(|other| other.trial.number)
    };
    let later = |record: &Record| later_place(record).or_else(|| made(record));
    let of = |record: &Record| Some((record.trial.number, later(record)?));
    records.iter().filter_map(of).filter(|(number, later)| later > number).collect()
}

/// What is said of a trial that was run again; nothing of others.
pub fn said_again(again: &BTreeMap<u32, u32>, number: u32) -> String {
    let said = |later: &u32| format!(" (run again as trial {later})");
    again.get(&number).map(said).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::Settings;
    use crate::measurement::Measurement;
    use crate::plan::{LAYOUT, Trial};

    fn record(number: u32, planned: Option<u32>, outcome: Outcome) -> Record {
        let group = planned.map_or(LAYOUT, |_| "random-read").to_owned();
        let (settings, replicate, first_file, seed) = (Settings::defaults("file"), 1, 0, 1);
        Record::new(
            Trial { number, replicate, group, settings, first_file, seed, planned },
            outcome,
        )
    }

    #[test]
    fn the_last_trial_of_a_place_that_is_over_stands_for_those_before_it() {
        let done = || Outcome::Done(Box::<Measurement>::default());
        let failed = || Outcome::Failed("killed".to_owned());
        let records = [
            record(1, None, failed()),
            record(2, Some(7), failed()),
            record(3, Some(8), failed()),
            record(4, None, done()),
            record(5, Some(9), Outcome::Interrupted),
            record(6, Some(7), failed()),
            record(7, Some(9), done()),
            record(8, Some(7), done()),
            // That one was stopped settles nothing.
            record(9, Some(8), Outcome::Interrupted),
        ];
        let again: Vec<(u32, u32)> = run_again(&records).into_iter().collect();
        assert_eq!(again, [(1, 4), (2, 8), (5, 7), (6, 8)]);
        assert_eq!(said_again(&run_again(&records), 6), " (run again as trial 8)");
        assert_eq!(said_again(&run_again(&records), 8), "");
    }
}
