//! Counters of errors beside what is checked: read before such a trial and after it.

use std::collections::BTreeMap;

use super::checkable::checks;
use experiment::measurement::Outcome;
use experiment::plan::Trial;
use host::counters::errors::Before;
use host::inventory;
use host::sys::Host;
use host::sys::workdir::WorkDir;

/// The counters of what a trial reads from; `None` where it checks nothing.
pub(super) fn before(
    host: &Host,
    work: &BTreeMap<String, WorkDir>,
    trial: &Trial,
) -> Option<Before> {
    // What only makes files ready for others reads nothing back.
    if trial.prepares() || !checks(&trial.settings) {
        return None;
    }
    let directories = trial.settings.directories().iter().filter_map(|name| work.get(name));
    // What cannot be examined fails the trial by itself; the memory is counted all the same.
    let targets = directories.filter_map(|it| inventory::target(host, it.path()).ok());
    Some(Before::read(host, &targets.collect::<Vec<_>>()))
}

/// Puts what they were and what they are now on the record of a trial that checked something, with
/// a note on those that grew.
pub(super) fn after(before: Option<Before>, outcome: &mut Outcome) {
    let (Some(before), Outcome::Done(measurement)) = (before, outcome) else { return };
    let Some(integrity) = &mut measurement.integrity else { return };
    (integrity.counted, integrity.uncounted) = before.and_after();
    measurement.notes.extend(integrity.note_of_counters());
}
