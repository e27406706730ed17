//! What the trials of a campaign run on: directories and devices, the machine as it is set for
//! them, and who is at the other end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::apply::Applier;
use super::checkable::Laid;
use super::peer::Peers;
use super::provisioning::Provisioner;
use super::quarantine::Quarantine;
use super::shares::Shares;
use super::{remove, uid_number};
use experiment::measurement::Outcome;
use experiment::plan::Trial;
use experiment::progress::Observer;
use host::inventory::raw::RawDevice;
use host::sys::workdir::WorkDir;
use host::sys::{Error, Host};

/// All that stands while a campaign runs and is taken down after it. Fields are dropped in this
/// order, which is that of unmaking.
pub(super) struct TestBed<'a> {
    /// Work directories, by the user's names for where they are. Above what holds the mounts: a
    /// marker that is open keeps a file system mounted.
    pub(super) work: BTreeMap<String, WorkDir>,
    /// Devices that are only read, by their places among directories.
    pub(super) devices: BTreeMap<String, RawDevice>,
    /// Settings of this machine.
    pub(super) machine: Applier<'a>,
    /// Settings of other machines.
    pub(super) peers: Peers,
    /// Disks of ours, and what is made on them. Below what undoes: they are ours until nothing
    /// stands on them.
    pub(super) layouts: Option<Provisioner>,
    /// Why the next trial has no layout to run on.
    pub(super) unmade: Option<Outcome>,
    /// Exports of servers that are mounted.
    pub(super) shares: Shares,
    /// Files that were laid out, and what is in them.
    pub(super) laid: BTreeMap<PathBuf, Laid>,
    /// Where a load hangs.
    pub(super) quarantine: Quarantine,
    /// Work directories that were there before, kept for this run.
    pub(super) taken_up: BTreeSet<String>,
}

impl<'a> TestBed<'a> {
    /// Nothing yet; settings will be journalled in `journal` for the campaign `uid`.
    pub(super) fn new(host: &'a Host, journal: &Path, uid: &str) -> TestBed<'a> {
        TestBed {
            work: BTreeMap::new(),
            devices: BTreeMap::new(),
            machine: Applier::new(host, journal, uid),
            peers: Peers::new(uid_number(uid)),
            layouts: None,
            unmade: None,
            shares: Shares::default(),
            laid: BTreeMap::new(),
            quarantine: Quarantine::default(),
            taken_up: BTreeSet::new(),
        }
    }

    /// Where the trials run that name `place`; `None` while nothing is there.
    pub(super) fn path_of(&self, place: &str) -> Option<&Path> {
        let work = self.work.get(place).map(WorkDir::path);
        work.or_else(|| self.devices.get(place).map(RawDevice::path))
    }

    /// The same of all that a trial names and that are there.
    pub(super) fn paths_of(&self, trial: &Trial) -> Vec<PathBuf> {
        let names = trial.settings.directories();
        names.iter().filter_map(|name| Some(self.path_of(name)?.into())).collect()
    }

    /// Removes the work directories, but for those that were there before.
    pub(super) fn give_up(&mut self, observer: &mut dyn Observer) {
        let mut made = std::mem::take(&mut self.work);
        made.retain(|name, _| !self.taken_up.contains(name));
        remove(made, observer);
    }

    /// Fails a trial whose work directory was moved or replaced, or whose device was.
    ///
    /// Nothing is written elsewhere in either case ([`host::sys::beneath`]); but what was measured
    /// is nobody's when it is not known what else was done to the directory.
    pub(super) fn in_place(&self, host: &Host, trial: &Trial) -> Result<(), Outcome> {
        let names = trial.settings.directories();
        let mut work = names.iter().filter_map(|name| self.work.get(name));
        work.try_for_each(WorkDir::check_place)
            .and_then(|()| {
                let mut devices = names.iter().filter_map(|name| self.devices.get(name));
                devices.try_for_each(|device| device.check_place(host))
            })
            .map_err(|error| Outcome::Failed(words(&error)))
    }

    /// The same after it, whatever came of it. What hangs is not looked at.
    pub(super) fn look_again(&self, host: &Host, trial: &Trial, outcome: &mut Outcome) {
        if self.quarantine.why_any(trial.settings.directories()).is_some() {
            return;
        }
        let Err(Outcome::Failed(moved)) = self.in_place(host, trial) else { return };
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
