//! Whether the work directories of a trial are where they were made: looked at before it, and
//! again when it is over.
//!
//! Nothing is written elsewhere in either case ([`host::sys::beneath`]); but what was measured is
//! nobody's when it is not known what else was done to the directory.

use super::Run;
use experiment::measurement::Outcome;
use experiment::plan::Trial;
use host::sys::Error;
use host::sys::workdir::WorkDir;

impl Run<'_> {
    /// Fails a trial whose work directory was moved or replaced, or whose device was.
    pub(super) fn in_place(&self, trial: &Trial) -> Result<(), Outcome> {
        let names = trial.settings.directories();
        let mut work = names.iter().filter_map(|name| self.work.get(name));
        work.try_for_each(WorkDir::check_place)
            .and_then(|()| {
                let mut devices = names.iter().filter_map(|name| self.devices.get(name));
                devices.try_for_each(|device| device.check_place(self.host))
            })
            .map_err(|error| Outcome::Failed(words(&error)))
    }

    /// The same after it, whatever came of it. What hangs is not looked at.
    pub(super) fn look_again(&self, trial: &Trial, outcome: &mut Outcome) {
        if self.quarantine.why_any(trial.settings.directories()).is_some() {
            return;
        }
        let Err(Outcome::Failed(moved)) = self.in_place(trial) else { return };
        *outcome = Outcome::Failed(match outcome {
            // It is what failed already.
            Outcome::Failed(why) if moved.starts_with(why.as_str()) => moved,
            Outcome::Failed(why) => format!("{moved}. Before that was noticed: {why}"),
            // The user's wish counts; nothing is told of such a trial.
            Outcome::Interrupted => return,
            Outcome::Done(_) | Outcome::Skipped(_) => moved,
        });
    }
}

fn words(error: &Error) -> String {
    let hint = error.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
    format!("{}{hint}", error.what)
}
