//! Runs a plan: makes files, measures, stores, cleans up.
//!
//! A trial that fails is kept as a result and the campaign goes on. However a run ends, the work
//! directories go; what was measured stays.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use engines::engine::{self, Context, Engine, Error as EngineError};
use experiment::campaign::Campaign;
use experiment::knob;
use experiment::knob::engine::Keeps;
use experiment::measurement::{Measurement, Note, Outcome, Record, judge};
use experiment::plan::Trial;
use experiment::progress::{Event, Observer};
use host::sys::kmsg::{KernelLog, Messages};
use host::sys::limits::explained;
use host::sys::signal::Stop;
use host::sys::workdir::{Swept, WorkDir, sweep};
use host::sys::{Error, Host, clock};
use host::{inventory, journal, provision};
use run_progress::RunProgress;
use store::{Store, Unfinished};
use test_bed::TestBed;

pub mod apply;
mod checkable;
mod counted;
pub mod directory;
pub mod evaluate;
mod forecast;
pub mod idle;
pub mod keeper;
pub mod limits;
pub mod peer;
pub mod prefill;
pub mod provisioning;
mod quarantine;
pub mod room;
mod run_progress;
pub mod shares;
mod test_bed;

/// One campaign on its way.
pub struct Run<'a> {
    /// The machine.
    pub host: &'a Host,
    /// Where its trials are kept.
    pub store: &'a mut Store,
    /// What it is.
    pub campaign: Campaign,
    /// What runs its trials, but for those whose settings are another engine's.
    pub engine: &'static dyn Engine,
    /// Who is told.
    pub observer: &'a mut dyn Observer,
    /// Set when the user wants to stop.
    pub stop: &'a Stop,
    bed: TestBed<'a>,
    progress: RunProgress,
}

/// What a campaign came to.
#[derive(Debug)]
pub struct Done {
    /// What it was.
    pub campaign: Campaign,
    /// Its trials, without their samples; those are in the store.
    pub records: Vec<Record>,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Settings of the machine that could not be put back.
    pub left: Vec<journal::UndoOutcome>,
    /// Those of other machines that were not, or of which nobody says whether they were.
    pub left_at_peers: Vec<String>,
    /// Work directories that stay, as a load hangs on what they lie on; with which.
    pub behind: Vec<String>,
}

impl<'a> Run<'a> {
    /// Keeps the campaign in the store and makes its work directories. What earlier runs left in
    /// the same places is removed first, if it bears our marker and nobody uses it; what a killed
    /// one left of its settings is put back.
    ///
    /// # Errors
    /// When the store or a directory cannot be written, or settings of another run are in force.
    pub fn begin(
        host: &'a Host,
        store: &'a mut Store,
        campaign: Campaign,
        engine: &'static dyn Engine,
        directories: &[String],
        observer: &'a mut dyn Observer,
        stop: &'a Stop,
    ) -> Result<Run<'a>, Error> {
        let fresh = Unfinished { campaign, ..Unfinished::default() };
        let mut run = Run::ready(host, store, fresh, engine, directories, observer, stop)?;
        match run.store.begin(&run.campaign) {
            Ok(id) => run.campaign.id = id,
            Err(error) => return Err(run.give_up(error)),
        }
        Ok(run)
    }

    /// Goes on with a campaign that was stopped: its trials that are over are not run again.
    ///
    /// # Errors
    /// As [`Run::begin`].
    pub fn go_on(
        host: &'a Host,
        store: &'a mut Store,
        unfinished: Unfinished,
        engine: &'static dyn Engine,
        directories: &[String],
        observer: &'a mut dyn Observer,
        stop: &'a Stop,
    ) -> Result<Run<'a>, Error> {
        let run = Run::ready(host, store, unfinished, engine, directories, observer, stop)?;
        match run.store.reopen(run.campaign.id) {
            Ok(()) => Ok(run),
            Err(error) => Err(run.give_up(error)),
        }
    }

    /// A run whose work directories are there, and nothing of which is kept yet.
    fn ready(
        host: &'a Host,
        store: &'a mut Store,
        from: Unfinished,
        engine: &'static dyn Engine,
        directories: &[String],
        observer: &'a mut dyn Observer,
        stop: &'a Stop,
    ) -> Result<Run<'a>, Error> {
        let Unfinished { campaign, over, trials } = from;
        let journal = journal::beside(store.path());
        recover(host, &journal, directories, observer)?;
        let bed = TestBed::new(host, &journal, &campaign.uid);
        let progress = RunProgress::from(trials, over);
        let mut run = Run { host, store, campaign, engine, observer, stop, bed, progress };
        run.make_room(directories)?;
        run.store.repeatable(run.engine.kind().is_simulated())?;
        Ok(run)
    }

    /// Removes what was made before anything was measured.
    fn give_up(mut self, error: Error) -> Error {
        self.bed.give_up(self.observer);
        error
    }

    /// Runs trials in order, until the user stops. Those that an earlier run has been through are
    /// left out.
    ///
    /// # Errors
    /// When the store cannot be written; a trial that fails is a result, not an error.
    pub fn trials(&mut self, trials: impl Iterator<Item = Trial> + Clone) -> Result<(), Error> {
        let over = std::mem::take(&mut self.progress.over);
        let is_over = |trial: &Trial| trial.planned.is_some_and(|planned| over.contains(&planned));
        let trials = trials.filter(|trial| !is_over(trial));
        let mut ahead = self.forecast(trials.clone());
        self.progress.of = self.progress.count + ahead.steps();
        for trial in trials {
            self.progress.ends_at_ns = ahead.ends_at_ns(self.progress.wrote_per_s);
            self.bed.unmade = self.remake(&trial).and_then(|()| self.remount(&trial)).err();
            if self.bed.unmade.is_none() {
                self.prepare(&trial)?;
            }
            ahead.laid();
            if self.stopped() {
                break;
            }
            self.progress.ends_at_ns = ahead.ends_at_ns(self.progress.wrote_per_s);
            self.trial(trial)?;
            ahead.ran();
        }
        self.progress.complete = !self.stopped();
        Ok(())
    }

    /// Gives the first trial that will be measured a note.
    pub fn note_next(&mut self, note: Note) {
        self.progress.notes.push(note);
    }

    /// Runs one trial and keeps it.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn trial(&mut self, mut trial: Trial) -> Result<Record, Error> {
        trial.number = self.progress.next_number();
        let now_ns = clock::monotonic_ns();
        let left_ns = self.progress.ends_at_ns.map(|end| end.saturating_sub(now_ns));
        self.observer.tell(&Event::Begin { trial: &trial, of: self.progress.of, left_ns });
        let (outcome, said) = self.measured(&trial);
        let mut record = Record::new(trial, outcome);
        record.notes = said;
        let notes = judge::notes(&record);
        if let Outcome::Done(measurement) = &mut record.outcome {
            measurement.notes.extend(notes);
            self.progress.measured(measurement);
        }
        self.after(&record.trial);
        self.store.append(self.campaign.id, &record)?;
        self.observer.tell(&Event::End(&record));
        self.progress.count += 1;
        Ok(record)
    }

    /// Measures, and gives what the kernel said when that failed.
    fn measured(&mut self, trial: &Trial) -> (Outcome, Vec<Note>) {
        let names = trial.settings.directories();
        if let Some(why) = self.bed.quarantine.why_any(names) {
            return (Outcome::Skipped(why), Vec::new());
        }
        if self.engine.kind().is_simulated() {
            return (self.measure(trial), Vec::new());
        }
        let log = KernelLog::from_now_on(self.host);
        let before = counted::before(self.host, &self.bed.work, trial);
        let mut outcome = self.measure(trial);
        self.bed.look_again(self.host, trial, &mut outcome);
        counted::after(before, &mut outcome);
        let mut said = Vec::new();
        match (&mut outcome, log) {
            (Outcome::Failed(_), Ok(mut log)) => said.extend(log.read().text().map(kernel_said)),
            (Outcome::Failed(_), Err(why)) => said.push(kernel_said(why.to_string())),
            (Outcome::Done(measurement), Ok(mut log)) => {
                let trouble = log.read().of_trouble(&self.bed.quarantine.devices(names));
                beside_faults(measurement, &trouble);
                measurement.notes.extend(trouble.text().map(kernel_said));
            }
            _ => {}
        }
        (outcome, said)
    }

    fn measure(&mut self, trial: &Trial) -> Outcome {
        if let Some(outcome) = self.bed.unmade.take() {
            return outcome;
        }
        if let Err(outcome) = self.cool(trial).and_then(|()| self.bed.in_place(self.host, trial)) {
            return outcome;
        }
        let names = trial.settings.directories();
        let work = self.bed.paths_of(trial);
        let mut notes = match self.put_in_force(trial, &work) {
            Ok(notes) => notes,
            Err(outcome) => {
                self.bed.machine.after();
                return outcome;
            }
        };
        // What only makes ready for others is not slowed by a snapshot.
        let layouts = self.bed.layouts.as_ref().filter(|_| !trial.prepares());
        let held = match layouts.map_or(Ok(None), provisioning::Provisioner::hold) {
            Ok(held) => held,
            Err(error) => {
                self.bed.machine.after();
                return Outcome::Failed(error.to_string());
            }
        };
        let (observer, machine, laid) = (&mut *self.observer, &self.bed.machine, &self.bed.laid);
        let mut context = Context {
            host: self.host,
            work: &work,
            campaign: uid_number(&self.campaign.uid),
            written: &|path| laid.get(path)?.written(),
            progress: &mut |progress| observer.tell(&Event::During(progress)),
            place: &|pid| machine.place(pid),
            stop: self.stop,
        };
        let measured = engine_of(self.engine, trial).run(trial, &mut context);
        let killed = apply::out_of_memory(self.bed.machine.killed_for_memory(), &trial.settings);
        notes.extend(self.bed.machine.after());
        let measured = measured.and_then(|measured| {
            notes.extend(self.bed.peers.after(&trial.settings).map_err(EngineError::Failed)?);
            Ok(measured)
        });
        if let Some(Err(error)) = held.map(provision::HeldSnapshot::release) {
            self.observer.tell(&Event::Say(error.to_string()));
        }
        match measured {
            Ok(mut measurement) => {
                measurement.notes.extend(notes);
                if let Some(layouts) = &self.bed.layouts {
                    measurement.layout = layouts.times();
                    measurement.notes.extend(layouts.notes());
                }
                measurement.notes.extend(self.bed.shares.notes(names));
                measurement.notes.extend(killed.map(|text| Note::new("out-of-memory", text)));
                Outcome::Done(Box::new(measurement))
            }
            Err(EngineError::Unsupported(why)) => Outcome::Skipped(why),
            Err(EngineError::Failed(why)) => {
                let why = explained(why);
                // A load can end and leave I/O in the kernel, which holds up whoever comes next.
                let held = self.bed.quarantine.bar_if_held(self.host, names, trial.number);
                let why = held.map_or(why.clone(), |held| format!("{why}; {held}"));
                Outcome::Failed(killed.map_or(why.clone(), |text| format!("{why}. {text}")))
            }
            Err(EngineError::Hung(why)) => {
                self.bed.quarantine.bar(self.host, names, trial.number);
                Outcome::Failed(why)
            }
            Err(EngineError::Interrupted) => Outcome::Interrupted,
        }
    }

    /// Puts the trial's system knobs in force; gives what the record must say of them.
    fn put_in_force(&mut self, trial: &Trial, work: &[PathBuf]) -> Result<Vec<Note>, Outcome> {
        if self.bed.quarantine.any() && trial.settings.get(knob::DROP_CACHES) == Some(true) {
            let why = "dropping caches writes everything back first, and would wait for the load \
                       that hangs";
            return Err(Outcome::Skipped(why.to_owned()));
        }
        let mut targets = Vec::new();
        if apply::asks(&trial.settings) {
            for directory in work {
                let target = inventory::target(self.host, directory);
                targets.push(target.map_err(|error| Outcome::Failed(error.to_string()))?);
            }
        }
        let mut notes = self.bed.machine.apply(&trial.settings, &targets).map_err(|error| {
            let hint = error.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
            Outcome::Skipped(format!("{error}{hint}"))
        })?;
        notes.extend(self.bed.peers.set(&trial.settings)?);
        Ok(notes)
    }

    /// Whether the user wants to stop.
    pub fn stopped(&self) -> bool {
        self.stop.asked()
    }

    /// Puts the machine's settings back, removes the work directories and closes the campaign.
    ///
    /// # Errors
    /// When the store cannot be written or read; settings are back and directories gone all the
    /// same.
    pub fn finish(mut self) -> Result<Done, Error> {
        let interrupted = self.stopped();
        self.unmount_all();
        self.raze();
        let observer = &mut *self.observer;
        let mut left =
            self.bed.machine.restore(&mut |said| observer.tell(&Event::Say(said.to_string())));
        left.retain(journal::UndoOutcome::is_left);
        let left_at_peers = self.bed.peers.restore();
        let mut behind = Vec::new();
        for (name, directory) in std::mem::take(&mut self.bed.work) {
            let Some(why) = self.bed.quarantine.why(&name) else {
                let wanted = match self.engine.kind().keeps {
                    Keeps::UntilComplete if !self.progress.complete => "--resume; without it",
                    Keeps::UntilRemoved => "`brickyard verify --flushed LOG`; after it",
                    _ => {
                        remove([(name, directory)].into(), self.observer);
                        continue;
                    }
                };
                let path = directory.rest().display().to_string();
                self.observer.tell(&Event::Say(format!("kept {path} for {wanted}: rm -r {path}")));
                continue;
            };
            behind.push(format!("{} is left: {why}", directory.path().display()));
            directory.leave();
        }
        // The last write waits for the disk, and with it all that went before.
        self.store.repeatable(false)?;
        self.store.update(&self.campaign)?;
        self.store.end(self.campaign.id, clock::unix_ns())?;
        let records = self.store.light_records(self.campaign.id)?;
        let campaign = self.campaign;
        Ok(Done { campaign, records, interrupted, left, left_at_peers, behind })
    }
}

/// What the kernel said while a trial ran, or why that is not known.
fn kernel_said(text: String) -> Note {
    Note::new("kernel-messages", text)
}

/// Gives every fault what the kernel said in the second before and after it.
fn beside_faults(measurement: &mut Measurement, said: &Messages) {
    const NEAR_NS: u64 = 1_000_000_000;
    /// More than this beside one fault tells no more of it.
    const LINES_MAX: usize = 8;
    let Some(integrity) = &mut measurement.integrity else { return };
    let ago_ns = clock::unix_ns().saturating_sub(measurement.started_unix_ns);
    let started_ns = clock::raw_ns().saturating_sub(ago_ns);
    for fault in &mut integrity.faults {
        let at_ns = started_ns.saturating_add(fault.at_ns);
        let near = said.between(at_ns.saturating_sub(NEAR_NS), at_ns.saturating_add(NEAR_NS));
        fault.kernel.extend(near.take(LINES_MAX).cloned());
    }
}

/// The engine that a trial's settings name; `first` where they name it or none.
fn engine_of(first: &'static dyn Engine, trial: &Trial) -> &'static dyn Engine {
    let named = trial.settings.engine();
    if named == first.name() {
        return first;
    }
    engine::find(named).unwrap_or(first)
}

/// Puts back what a run on this store left changed when it was killed, before anything else.
fn recover(
    host: &Host,
    journal: &Path,
    directories: &[String],
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    if directories.is_empty() {
        return Ok(());
    }
    apply::recover(host, journal, &mut |said| {
        observer.tell(&Event::Say(format!("an earlier run was killed: {said}")));
    })
}

/// Removes what earlier runs left in `directory`, and says so.
fn tidy_up(directory: &Path, observer: &mut dyn Observer) {
    tell_swept(sweep(directory), observer);
}

fn tell_swept(swept: Vec<Result<Swept, Error>>, observer: &mut dyn Observer) {
    for swept in swept {
        observer.tell(&Event::Say(match swept {
            Ok(swept) => said(&swept, "left by an earlier run"),
            Err(error) => format!("{error}"),
        }));
    }
}

fn remove(work: BTreeMap<String, WorkDir>, observer: &mut dyn Observer) {
    for directory in work.into_values() {
        match directory.remove() {
            Ok(Swept::Removed(_)) => {}
            Ok(swept) => observer.tell(&Event::Say(said(&swept, "ours"))),
            Err(error) => observer.tell(&Event::Say(format!("{error}"))),
        }
    }
}

fn said(swept: &Swept, whose: &str) -> String {
    match swept {
        Swept::Removed(path) => format!("removed {} ({whose})", path.display()),
        Swept::Waits(path, waits) => {
            format!(
                "left {0} ({whose}): it is kept {waits}; without that: rm -r {0}",
                path.display()
            )
        }
        Swept::Moved(path) => format!(
            "emptied what was {0} ({whose}), which somebody has moved or replaced: what is at {0} \
             now was left, and an empty directory of ours is elsewhere",
            path.display()
        ),
        Swept::Kept(path, names) => format!(
            "kept {} ({whose}): it holds {}, which we did not make",
            path.display(),
            names.join(", ")
        ),
    }
}

/// Names of work directories and campaigns: sixteen hexadecimal digits.
pub fn new_uid(seed: u64) -> String {
    let mixed = clock::unix_ns() ^ u64::from(std::process::id()).rotate_left(40) ^ seed;
    // Stafford's mix 13 (2011), so that times that are near give names that are not.
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    format!("{:016x}", mixed ^ (mixed >> 31))
}

fn uid_number(uid: &str) -> u64 {
    u64::from_str_radix(uid, 16).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::measurement::Integrity;
    use experiment::measurement::integrity::Fault;

    #[test]
    fn a_fault_bears_what_the_kernel_said_in_the_second_around_it() {
        // The trial began ten seconds ago, with faults after two and after five.
        let began_ns = clock::raw_ns() - 10_000_000_000;
        let at = |after_ms: u64| {
            let ms = began_ns / 1_000_000 + after_ms;
            format!("[{}.{:03}000] at {after_ms} ms", ms / 1000, ms % 1000)
        };
        let lines = [900, 1500, 2500, 3200, 5500].map(at).to_vec();
        let mut said = Messages::default();
        said.lines.clone_from(&lines);
        let fault = |seconds: u64| Fault { at_ns: seconds * 1_000_000_000, ..Fault::default() };
        let integrity =
            Integrity { faults: vec![fault(2), fault(5), fault(8)], ..Default::default() };
        let mut measurement = Measurement {
            started_unix_ns: clock::unix_ns() - 10_000_000_000,
            integrity: Some(integrity),
            ..Measurement::default()
        };
        beside_faults(&mut measurement, &said);
        let faults = measurement.integrity.unwrap().faults;
        assert_eq!(faults[0].kernel, lines[1..3]);
        assert_eq!(faults[1].kernel, lines[4..]);
        assert!(faults[2].kernel.is_empty());
    }
}
