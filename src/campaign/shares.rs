//! Directories of NFS servers under trials: mounted as a trial asks, and anew when the next asks
//! for something else. The work directory in them stays as long as the run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Run;
use super::prefill::bytes_needed;
use base::value;
use experiment::knob::Settings;
use experiment::knob::engine::Keeps;
use experiment::knob::system::mount::{self, ALL};
use experiment::measurement::{Note, Outcome};
use experiment::plan::Trial;
use experiment::progress::Event;
use facts::share::{Share, is_export};
use host::inventory;
use host::journal::UndoOutcome;
use host::provision::share;
use host::provision::share::Shared;
use host::sys::Error;
use host::sys::filesystem::space;
use host::sys::workdir::{WorkDir, sweep};

/// What is mounted, by the name that the user gave it.
#[derive(Debug, Default)]
pub(super) struct Shares {
    mounted: BTreeMap<String, Shared>,
    /// Those that have been mounted before in this run.
    known: BTreeSet<String>,
    /// Something could not be unmounted: nothing more is mounted.
    stuck: bool,
}

impl Shares {
    /// What must be said of a trial in these directories.
    pub(super) fn notes(&self, names: &[String]) -> Vec<Note> {
        let shared = names.iter().filter_map(|name| self.mounted.get(name));
        let notes = shared.flat_map(|shared| &shared.notes);
        notes.map(|(kind, text)| Note::new(kind, text.clone())).collect()
    }
}

/// Refuses knobs of a mount where there is nothing to be mounted.
///
/// # Errors
/// With the first of them, and what to name.
pub fn check(settings: &Settings) -> Result<(), Error> {
    let names = settings.directories();
    let set = ALL
        .iter()
        .find(|knob| settings.named(knob.name).is_some_and(|value| !value::Value::is_as_is(value)));
    let Some(knob) = set else { return Ok(()) };
    match names.iter().find(|name| !is_export(name)) {
        None => Ok(()),
        Some(name) => {
            let what = format!("cannot set `{}` in {name}", knob.name);
            let why = "it is a setting of a mount that is made for the trial";
            Err(Error::new(what, why).hint("name the server's directory: --dir SERVER:/EXPORT"))
        }
    }
}

/// What these settings have mounted, each once, as lines for people.
pub fn lines<'a>(cells: impl Iterator<Item = &'a Settings>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for settings in cells {
        for name in settings.directories().iter().filter(|name| is_export(name)) {
            let command = mount::share(name, settings).command("/run/brickyard-*").join(" ");
            if !lines.contains(&command) {
                lines.push(command);
            }
        }
    }
    lines
}

impl Run<'_> {
    /// Sees to it that the exports of a trial are mounted as it asks.
    ///
    /// # Errors
    /// With the trial's outcome when one cannot be, or its files have no room there.
    pub(super) fn remount(&mut self, trial: &Trial) -> Result<(), Outcome> {
        let names: Vec<String> = trial.settings.directories().to_vec();
        for (at, name) in names.iter().enumerate().filter(|(_, name)| is_export(name)) {
            let share = mount::share(name, &trial.settings);
            let stands = self.bed.shares.mounted.get(name).is_some_and(|it| it.share == share);
            if let Some(why) = self.bed.quarantine.why(name) {
                return Err(Outcome::Skipped(why));
            }
            if !stands {
                self.unmount(name);
                self.mount(name, at, &share)
                    .map_err(|error| Outcome::Skipped(super::provisioning::with_hint(&error)))?;
            }
            self.has_room(name, &trial.settings)?;
        }
        Ok(())
    }

    fn mount(&mut self, name: &str, at: usize, share: &Share) -> Result<(), Error> {
        if self.bed.shares.stuck {
            let why = "what was mounted before could not be unmounted";
            return Err(Error::new(format!("cannot mount {name}"), why).hint("brickyard undo"));
        }
        // Several exports lie side by side.
        let more = if at == 0 { String::new() } else { format!("-{}", at + 1) };
        let point = format!("/run/brickyard-{}{more}", self.campaign.uid);
        let (host, stop) = (self.host, self.stop);
        let shared = share::mount(host, share, self.bed.machine.journal()?, &point, stop)?;
        // Where the server keeps no locks, another client's directory looks as if nobody used it;
        // and ours does when it is mounted anew.
        let first = self.bed.shares.known.insert(name.to_owned());
        if shared.locks_are_the_servers && first {
            super::tell_swept(sweep(Path::new(&point)), self.observer);
        }
        self.bed.shares.mounted.insert(name.to_owned(), shared);
        let made = match WorkDir::take_up(Path::new(&point), &self.campaign.uid) {
            Ok(Some(kept)) => Ok(kept),
            Ok(None) => self.place(name, Path::new(&point)),
            Err(error) => Err(error),
        };
        let made = made.inspect_err(|_| self.unmount(name))?;
        if let Ok(target) = inventory::target(host, made.path()) {
            self.bed.quarantine.learn(name, &target);
        }
        self.bed.work.insert(name.to_owned(), made);
        Ok(())
    }

    /// Whether a trial's files have room on an export, which could not be asked before.
    fn has_room(&self, name: &str, settings: &Settings) -> Result<(), Outcome> {
        let needed = bytes_needed([(settings, 0)].into_iter()).get(name).copied().unwrap_or(0);
        let Some(work) = self.bed.work.get(name) else { return Ok(()) };
        let room = space(work.path()).map_err(|error| Outcome::Failed(error.to_string()))?;
        // Those that are there already are counted twice: they are overwritten, not added.
        let there: u64 = self
            .bed
            .laid
            .iter()
            .filter(|(path, _)| path.starts_with(work.path()))
            .map(|(_, laid)| laid.bytes)
            .sum();
        let usable = room.usable_bytes().saturating_add(there);
        if needed <= usable {
            return Ok(());
        }
        let [needed, usable] = [needed, usable].map(|bytes| value::bytes(bytes as f64));
        Err(Outcome::Failed(format!(
            "its files need {needed}, and {usable} may be used on {name} (5 % stay free): lower \
             file-size, files or streams"
        )))
    }

    /// Unmounts an export; the directory in it stays.
    fn unmount(&mut self, name: &str) {
        let Some(shared) = self.bed.shares.mounted.remove(name) else { return };
        // An open marker would keep the mount busy.
        drop(self.bed.work.remove(name));
        let left: Vec<String> = match self.bed.machine.journal() {
            Ok(journal) => {
                let said = shared.unmount(self.host, journal);
                said.iter().filter(|said| said.is_left()).map(UndoOutcome::to_string).collect()
            }
            Err(error) => vec![error.to_string()],
        };
        self.bed.shares.stuck |= !left.is_empty();
        left.into_iter().for_each(|text| self.observer.tell(&Event::Say(text)));
    }

    /// Removes our directories on all exports, and unmounts these. What hangs is left.
    pub(super) fn unmount_all(&mut self) {
        let names: Vec<String> = self.bed.shares.mounted.keys().cloned().collect();
        for name in names {
            if self.bed.quarantine.why(&name).is_some() {
                continue;
            }
            let kept = match self.engine.kind().keeps {
                Keeps::Nothing => false,
                Keeps::UntilComplete => !self.progress.complete,
                Keeps::UntilRemoved => true,
            };
            match self.bed.work.remove(&name) {
                Some(work) if !kept => super::remove([(name.clone(), work)].into(), self.observer),
                Some(work) => {
                    let path = work.rest();
                    let path = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    let text = format!("kept {path} on {name} for what follows");
                    self.observer.tell(&Event::Say(text));
                }
                None => {}
            }
            self.unmount(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob;
    use experiment::knob::testing::settings;

    fn on(names: &[&str], words: &[(&str, &str)]) -> Settings {
        let mut settings = settings("file", words);
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        settings.set(knob::DIRECTORIES, &names);
        settings
    }

    #[test]
    fn knobs_of_a_mount_need_an_export_and_others_do_not() {
        assert_eq!(check(&on(&["/srv"], &[])), Ok(()));
        assert_eq!(check(&on(&["nas:/srv"], &[("nfs-version", "3")])), Ok(()));
        let refused = check(&on(&["nas:/srv", "/srv"], &[("nconnect", "2")])).unwrap_err();
        assert_eq!(refused.what, "cannot set `nconnect` in /srv");
        assert!(refused.hint.unwrap().contains("SERVER:/EXPORT"));
    }

    #[test]
    fn every_way_to_mount_is_shown_once() {
        let cells = [
            on(&["nas:/a", "/srv"], &[]),
            on(&["nas:/a"], &[("nfs-version", "3")]),
            on(&["nas:/a"], &[("streams", "2")]),
        ];
        let lines = lines(cells.iter());
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1], "mount -t nfs -o retry=0,vers=3,nolock nas:/a /run/brickyard-*");
    }
}
