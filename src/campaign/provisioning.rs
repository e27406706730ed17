//! Layouts under trials: made on the plan's disks before the first trial that asks for them, and
//! unmade before the next one and at the end.
//!
//! A replicate makes every layout anew, so that what mkfs and the allocator did by chance is part
//! of what replicates differ by. How each is made and undone is the business of `provision`; which
//! cells make sense, of `plan::layouts`.

use std::path::{Path, PathBuf};

use super::Run;
use super::prefill::bytes_needed;
use base::value;
use experiment::knob::typed::{OrAsIs, Word};
use experiment::knob::{self, Settings};
use experiment::measurement::{Note, Outcome};
use experiment::plan::Trial;
use experiment::plan::layouts::{TARGET, is_layout, layout};
use experiment::progress::{Event, Observer};
use facts::inventory::disk::Disk;
use facts::layout::{Layout, Times, Volumes};
use host::journal::{self, UndoOutcome};
use host::provision::{HeldSnapshot, MadeLayout, Upkeep, danger};
use host::sys::filesystem::space;
use host::sys::workdir::WorkDir;
use host::sys::{Error, Host};
use host::{inventory, provision};

use super::apply;

pub mod preview;

/// Disks that a run may destroy, and what stands on them.
#[derive(Debug)]
pub struct Provisioner {
    disks: Vec<Disk>,
    /// Which layout was asked for last, in which replicate.
    asked: Option<(u32, Layout)>,
    stands: Option<Stands>,
    /// Why trials on the layout asked for cannot run.
    barred: Option<Outcome>,
    /// Something could not be unmade: nothing more is made.
    stuck: bool,
    /// So that no other run uses the disks as long as this one lives.
    claims: Vec<danger::Claim>,
}

/// A layout that is mounted.
#[derive(Debug)]
struct Stands {
    made: MadeLayout,
    /// What was done to it before the trial in hand.
    upkeep: Upkeep,
    /// Room for files when it was new, bytes.
    usable_bytes: u64,
}

impl Provisioner {
    /// Takes the disks: what a killed run left on them is undone, every danger is looked for, and
    /// they are ours until this is dropped. Nothing is written on them yet.
    ///
    /// # Errors
    /// When settings or layouts of an earlier run cannot be undone, a disk is in use, bears
    /// something or is not named by `wipe`, or another run has it.
    pub fn claim(
        host: &Host,
        store: &Path,
        disks: Vec<Disk>,
        wipe: &[String],
        needed: &[PathBuf],
        observer: &mut dyn Observer,
    ) -> Result<Provisioner, Error> {
        let journal = journal::beside(store);
        apply::recover(host, &journal, &mut |said| {
            observer.tell(&Event::Say(format!("an earlier run was killed: {said}")));
        })?;
        check(host, &disks, wipe, needed)?;
        let claims: Result<Vec<_>, Error> =
            disks.iter().map(|disk| danger::claim(host, disk)).collect();
        let claims = claims?;
        let (asked, stands, barred, stuck) = (None, None, None, false);
        Ok(Provisioner { disks, asked, stands, barred, stuck, claims })
    }

    /// How long the layout that stands took to make, and what was done to it before the trial in
    /// hand.
    pub(super) fn times(&self) -> Option<Times> {
        self.stands.as_ref().map(|stands| {
            let Times { fsck_ns, fstrim_ns, fstrim_bytes, .. } = stands.upkeep.times;
            Times { fsck_ns, fstrim_ns, fstrim_bytes, ..stands.made.times }
        })
    }

    /// What must be said of every trial on the layout that stands.
    pub(super) fn notes(&self) -> Vec<Note> {
        let notes = self.stands.iter().flat_map(|stands| &stands.made.notes);
        notes.map(|(kind, text)| Note::new(kind, text.clone())).collect()
    }

    /// Holds the snapshot that the layout asks for while a trial runs.
    pub(super) fn hold(&self) -> Result<Option<HeldSnapshot>, Error> {
        self.stands.as_ref().map_or(Ok(None), |stands| stands.made.hold_snapshot())
    }

    /// Why a trial's files have no room on the layout that stands.
    fn no_room(&self, settings: &Settings) -> Option<Outcome> {
        let usable = self.stands.as_ref()?.usable_bytes;
        let needed = *bytes_needed([(settings, 0)].into_iter()).values().next()?;
        if needed <= usable {
            return None;
        }
        let files = needed / settings.get(knob::FILE_SIZE).max(1);
        let fits = usable / files.max(1);
        let [needed, usable, fits] =
            [needed, usable, fits - fits % (1 << 20)].map(|bytes| value::bytes(bytes as f64));
        Some(Outcome::Failed(format!(
            "its {files} files need {needed}, and {usable} may be used on this layout (5 % stay \
             free); file-size={fits} would fit"
        )))
    }
}

/// Whether these disks may be destroyed: none is in danger, and `wipe` names each of them, an empty
/// one too, since it is for a person to say which disks are written. `needed` is what must not lie
/// on them.
///
/// # Errors
/// With every reason why not, and what would allow it.
pub fn check(
    host: &Host,
    disks: &[Disk],
    wipe: &[String],
    needed: &[PathBuf],
) -> Result<(), Error> {
    let words = disks.iter().map(|disk| (disk, danger::wipe_words(host, disk)));
    let unconfirmed = unconfirmed(&words.collect::<Vec<_>>(), wipe);
    if let Err(refused) = danger::check(host, disks, wipe, needed) {
        let error = danger::refused(&refused);
        let hint = error.hint.clone().unwrap_or_default();
        let whole = unconfirmed.map_or(String::new(), |(_, all)| format!("; all disks: {all}"));
        return Err(error.hint(format!("{hint}{whole}")));
    }
    match unconfirmed {
        None => Ok(()),
        Some((why, hint)) => {
            Err(Error::new("cannot write on the disks of this plan", why).hint(hint))
        }
    }
}

/// Which disks nobody has confirmed, and what to type: all that confirms the plan's disks, with
/// what was typed already, so that the line can be typed as it stands. `None` where none is left.
/// `all` are the disks, each with the words that confirm it.
fn unconfirmed(all: &[(&Disk, Vec<String>)], wipe: &[String]) -> Option<(String, String)> {
    let given = |words: &[String]| words.iter().find(|word| wipe.contains(word)).cloned();
    let open = all.iter().filter(|(_, words)| given(words).is_none());
    let names: Vec<&str> = open.map(|(disk, _)| disk.named.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let word = |(_, words): &(&Disk, Vec<String>)| given(words).or(words.first().cloned());
    let confirm: Vec<String> =
        all.iter().filter_map(word).map(|word| format!("--wipe {word}")).collect();
    let why = format!("nobody has confirmed that it may be destroyed: {}", names.join(", "));
    Some((why, confirm.join(" ")))
}

/// Why these disks are refused even when `--wipe` names each of them; `None` when they are not.
pub fn never(host: &Host, disks: &[Disk]) -> Option<String> {
    let all: Vec<String> =
        disks.iter().filter_map(|disk| danger::wipe_words(host, disk).into_iter().next()).collect();
    let refused = danger::check(host, disks, &all, &[]).err()?;
    let error = danger::refused(&refused);
    Some(format!("{}: {}", error.what, error.why))
}

/// The settings of a trial that say what lies under its files.
pub(super) fn of_layout(
    settings: &Settings,
) -> impl Iterator<Item = (&'static str, &value::Value)> {
    let is_layout = |name: &str| knob::find(name).is_some_and(is_layout);
    settings.iter().filter(move |(name, _)| is_layout(name))
}

/// What a layout is called, for people: `xfs as raid5 of 4 disks`.
fn called(settings: &Settings) -> String {
    let said = |knob| match settings.get::<OrAsIs<Word>>(knob) {
        None | Some("none" | "clean" | "internal") => String::new(),
        Some(word) => word.to_owned(),
    };
    let on = match (
        settings.get(knob::RAID).unwrap_or_default(),
        settings.get(knob::DISKS).unwrap_or(0),
    ) {
        ("single", 1) => " on one disk".to_owned(),
        (raid, disks) => format!(" as {raid} of {disks} disks"),
    };
    let words = [said(knob::FILESYSTEM) + &on, said(knob::ARRAY_STATE), said(knob::PRECONDITION)];
    words.iter().filter(|word| !word.is_empty()).cloned().collect::<Vec<_>>().join(", ")
}

impl Run<'_> {
    /// Has the trials run on layouts that are made on these disks.
    pub fn on_disks(&mut self, provisioner: Provisioner) {
        self.bed.layouts = Some(provisioner);
    }

    /// Sees to it that the layout of a trial stands.
    ///
    /// # Errors
    /// With the trial's outcome when it cannot: its layout cannot be made, now or when it was first
    /// asked for in this replicate, or its files have no room there.
    pub(super) fn remake(&mut self, trial: &Trial) -> Result<(), Outcome> {
        let Some(layouts) = &self.bed.layouts else { return Ok(()) };
        let failed = |why: String| Err(Outcome::Failed(why));
        let wanted = match layout(&trial.settings, &layouts.disks) {
            Ok(layout) => (trial.replicate, layout),
            Err(why) => return failed(why),
        };
        if layouts.asked.as_ref() != Some(&wanted) {
            if let Some(why) = self.bed.quarantine.why(TARGET) {
                return Err(Outcome::Skipped(why));
            }
            self.raze();
            if self.stopped() {
                return Err(Outcome::Interrupted);
            }
            let made = self.lay_out(&wanted.1, &trial.settings);
            let Some(layouts) = &mut self.bed.layouts else { return Ok(()) };
            (layouts.asked, layouts.barred) = (Some(wanted), made.err());
        }
        let Some(layouts) = &self.bed.layouts else { return Ok(()) };
        match layouts.barred.clone().or_else(|| layouts.no_room(&trial.settings)) {
            Some(outcome) => Err(outcome),
            None => Ok(()),
        }
    }

    /// Makes a layout, and our directory on it.
    fn lay_out(&mut self, layout: &Layout, settings: &Settings) -> Result<(), Outcome> {
        let failed = |error: Error| Outcome::Failed(with_hint(&error));
        let Some(layouts) = &mut self.bed.layouts else { return Ok(()) };
        if layouts.stuck {
            let why = "what was made before on these disks could not be unmade: `brickyard undo`";
            return Err(Outcome::Failed(why.to_owned()));
        }
        if let Some(lacks) = provision::lacks(layout, self.host) {
            return Err(Outcome::Skipped(lacks));
        }
        let observer = &mut *self.observer;
        observer.tell(&Event::Say(format!("makes {}", called(settings))));
        let at = mount_point(&self.campaign.uid);
        let journal = self.bed.machine.journal().map_err(failed)?;
        let mut tell = |said: &str| observer.tell(&Event::Say(said.to_owned()));
        for claim in &mut layouts.claims {
            claim.let_in(self.host).map_err(failed)?;
            if layout.volumes() == Volumes::Zfs {
                claim.let_udev_in().map_err(failed)?;
            }
        }
        let (host, stop) = (self.host, self.stop);
        let made = provision::make(host, layout, journal, &at, &mut tell, stop);
        let made = made.map_err(|error| match stop.asked() {
            true => Outcome::Interrupted,
            false => failed(error),
        })?;
        let mounted = made.mount_point.clone();
        layouts.stands = Some(Stands { made, upkeep: Upkeep::default(), usable_bytes: 0 });
        let usable_bytes = space(&mounted).map_err(failed)?.usable_bytes();
        if let Some(stands) = &mut layouts.stands {
            stands.usable_bytes = usable_bytes;
        }
        let work = WorkDir::create(&mounted, &self.campaign.uid).map_err(failed)?;
        self.bed.work.insert(TARGET.to_owned(), work);
        if let Ok(target) = inventory::target(host, &mounted) {
            self.bed.quarantine.learn(TARGET, &target);
        }
        Ok(())
    }

    /// Does to the layout that stands what is to be done before each trial: takes what it keeps of
    /// the trial's files out of memory, where no I/O gets past that, and checks it and has it
    /// discard, where that is asked for.
    ///
    /// # Errors
    /// With the trial's outcome when that fails: what stands is not mounted then. One that cannot
    /// discard skips the trial, and goes on standing.
    pub(super) fn cool(&mut self, trial: &Trial) -> Result<(), Outcome> {
        let Some(stands) = self.bed.layouts.as_mut().and_then(|it| it.stands.as_mut()) else {
            return Ok(());
        };
        stands.upkeep = Upkeep::default();
        let made = &stands.made;
        let asked = made.is_cached_by_itself() || made.has_upkeep();
        // An open marker would keep the mount busy.
        let taken = if asked && !trial.prepares() { self.bed.work.remove(TARGET) } else { None };
        let Some(work) = taken else { return Ok(()) };
        work.rest();
        let (observer, stop) = (&mut *self.observer, self.stop);
        let mut tell = |line: &str| observer.tell(&Event::Say(line.to_owned()));
        let kept = match made.is_cached_by_itself() {
            true => made.cool(self.host).map(|()| Upkeep::default()),
            // Settings of what is mounted, as of btrfs, go with the mount.
            false => self.bed.machine.let_go().and_then(|()| made.keep_up(&mut tell, stop)),
        };
        let kept = kept.and_then(|kept| {
            let taken = WorkDir::take_up(&made.mount_point, &self.campaign.uid)?;
            let why = "our directory is gone";
            taken.map(|work| (kept, work)).ok_or_else(|| {
                Error::new(format!("cannot go on at {}", made.mount_point.display()), why)
            })
        });
        match kept {
            Ok((mut kept, work)) => {
                self.bed.work.insert(TARGET.to_owned(), work);
                let cannot = kept.cannot.take();
                stands.upkeep = kept;
                cannot.map_or(Ok(()), |error| Err(Outcome::Skipped(with_hint(&error))))
            }
            Err(error) => {
                self.raze();
                Err(match stop.asked() {
                    true => Outcome::Interrupted,
                    false => Outcome::Failed(with_hint(&error)),
                })
            }
        }
    }

    /// Unmakes the layout that stands, newest first: our directory, the settings of the devices,
    /// then mounts and arrays. Gives what could not be undone. One that a load hangs on stays, in
    /// the journal: whoever unmounted it would hang as well.
    pub(super) fn raze(&mut self) -> Vec<UndoOutcome> {
        if self.bed.quarantine.why(TARGET).is_some() {
            return Vec::new();
        }
        let Some(layouts) = &mut self.bed.layouts else { return Vec::new() };
        layouts.asked = None;
        let Some(stands) = layouts.stands.take() else { return Vec::new() };
        let observer = &mut *self.observer;
        let mut say = |text: String| observer.tell(&Event::Say(text));
        self.bed.laid.clear();
        // What is in it goes with the file system; an open marker would keep that from going.
        drop(self.bed.work.remove(TARGET));
        if let Err(error) = self.bed.machine.let_go() {
            say(with_hint(&error));
        }
        let left = match self.bed.machine.journal() {
            Ok(journal) => stands.made.unmake(self.host, journal),
            Err(error) => {
                say(with_hint(&error));
                layouts.stuck = true;
                return Vec::new();
            }
        };
        let left: Vec<UndoOutcome> = left.into_iter().filter(UndoOutcome::is_left).collect();
        left.iter().for_each(|said| say(said.to_string()));
        layouts.stuck |= !left.is_empty();
        for claim in &mut layouts.claims {
            // Until the next layout nobody else shall take them. Who does is refused then.
            if let (false, Err(error)) = (layouts.stuck, claim.alone(self.host)) {
                say(with_hint(&error));
                layouts.stuck = true;
            }
        }
        left
    }
}

/// Where layouts of a campaign are mounted.
fn mount_point(uid: &str) -> PathBuf {
    PathBuf::from(format!("/run/brickyard-{uid}"))
}

pub(super) fn with_hint(error: &Error) -> String {
    let hint = error.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
    format!("{error}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::identity::Identity;

    fn disk(name: &str) -> Disk {
        let (name, known_as) = (name.to_owned(), None);
        Disk {
            named: format!("serial:{name}"),
            node: PathBuf::from("/dev").join(&name),
            size_bytes: 1 << 40,
            identity: Identity { name: name.clone(), number: None, sequence: None, known_as },
            name,
        }
    }

    /// Of three disks, one of which was confirmed, the hint had the other two: typed as it stood,
    /// it took the confirmation of the first back.
    #[test]
    fn the_hint_confirms_all_disks_with_what_was_typed_already() {
        let disks = ["A", "B", "C"].map(disk);
        let words = |disk: &Disk| vec![disk.name.clone(), format!("wwn-{}", disk.name)];
        let all: Vec<(&Disk, Vec<String>)> = disks.iter().map(|it| (it, words(it))).collect();
        let asked = |wipe: &[&str]| {
            let wipe: Vec<String> = wipe.iter().map(|word| (*word).to_owned()).collect();
            unconfirmed(&all, &wipe)
        };
        let (why, hint) = asked(&["wwn-B"]).unwrap();
        assert_eq!(hint, "--wipe A --wipe wwn-B --wipe C");
        assert!(why.ends_with("may be destroyed: serial:A, serial:C"), "{why}");
        let typed = hint.split("--wipe ").map(str::trim).filter(|word| !word.is_empty());
        let typed: Vec<&str> = typed.collect();
        assert_eq!(asked(&typed), None, "typed as it stands it is all");
        assert_eq!(asked(&[]).unwrap().1, "--wipe A --wipe B --wipe C");
    }
}
