//! Puts a trial's system knobs in force, and puts back what was there.
//!
//! Written is only what differs from what is in force; noted in the journal first, read back after.
//! A kernel that takes something else near it is noted; one that refuses makes the trial skipped,
//! never measured with another value. Where each knob lies is `knob`'s business.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use base::value::{self, Value};
use experiment::knob;
use experiment::knob::{Apply, KNOBS, Knob, Settings};
use experiment::measurement::Note;
use facts::inventory::Target;
use host::inventory::group;
use host::journal::{Change, Journal, Line, UndoOutcome, boot, identity, in_force};
use host::sys::{Error, Host, processors};

mod link;
mod places;
pub mod preview;
#[cfg(test)]
mod tests;

use places::{SettingFile, interface};

/// What a trial's system knobs have changed so far; put back when dropped.
#[derive(Debug)]
pub struct Applier<'a> {
    host: &'a Host,
    journal_path: PathBuf,
    /// Names the control groups.
    uid: String,
    journal: Option<Journal>,
    held: BTreeMap<String, Held>,
    /// So that no other run of ours changes these as long as this one lives.
    locks: BTreeMap<String, File>,
    /// The load's control group.
    group: Option<String>,
    groups: u32,
    /// By the name of each knob that is set what was read back.
    in_force: BTreeMap<String, String>,
    /// Where the load may run; empty for everywhere.
    cpus: Vec<usize>,
}

/// A file that holds what a trial asked for.
#[derive(Debug)]
struct Held {
    asked: String,
    in_force: String,
}

/// What one place is to hold.
struct Wanted {
    knob: &'static str,
    value: Value,
    place: SettingFile,
    text: String,
}

/// What these settings want where.
///
/// # Errors
/// When a knob has nowhere to be written here.
fn wanted(host: &Host, settings: &Settings, targets: &[Target]) -> Result<Vec<Wanted>, Error> {
    wanted_of(host, settings, targets, |_| true)
}

/// The same of the knobs that `which` names.
fn wanted_of(
    host: &Host,
    settings: &Settings,
    targets: &[Target],
    which: impl Fn(&Knob) -> bool,
) -> Result<Vec<Wanted>, Error> {
    let mut all = Vec::new();
    for (knob, value) in set(settings).filter(|(knob, _)| which(knob)) {
        let found = match knob.apply {
            Apply::Files(files) => places::find(host, files, targets),
            Apply::Interface(holds) => {
                let interface = interface::named(host, settings);
                interface.and_then(|interface| interface::find(host, holds, &interface))
            }
            _ => continue,
        };
        let found = found.map_err(|error| leave_out(error, knob.name))?;
        found.iter().try_for_each(|place| is_a_choice(place, knob.name, value))?;
        all.extend(found.into_iter().map(|place| Wanted {
            knob: knob.name,
            value: value.clone(),
            text: place.form.text(value),
            place,
        }));
    }
    Ok(all)
}

/// Whether the kernel has that word, where it says which it has.
fn is_a_choice(place: &SettingFile, knob: &str, value: &Value) -> Result<(), Error> {
    let word = value.to_string();
    if place.choices.is_empty() || place.choices.contains(&word) {
        return Ok(());
    }
    let what = format!("cannot write {word} to {}", place.path);
    let why = format!("this kernel has {}", place.choices.join(", "));
    let hint = format!("load the module that has it, or leave `{knob}` out of the plan");
    Err(Error::new(what, why).hint(hint))
}

/// The system knobs of this machine that are not left as they are.
fn set(settings: &Settings) -> impl Iterator<Item = (&'static Knob, &Value)> {
    let applied = KNOBS.iter().filter(|knob| knob.apply.is_setting());
    let applied = applied.filter(|knob| settings.is_set_here(knob));
    let values = applied.filter_map(|knob| Some((*knob, settings.named(knob.name)?)));
    values.filter(|(_, value)| !value.is_as_is())
}

/// Whether these settings ask for anything of the machine.
pub fn asks(settings: &Settings) -> bool {
    set(settings).next().is_some()
}

/// The same error with what lets the rest of a plan run.
fn leave_out(error: Error, knob: &str) -> Error {
    let hint = match &error.hint {
        Some(hint) => format!("{hint}, or leave `{knob}` out"),
        None if error.is_denied() => format!("run as root, or leave `{knob}` out of the plan"),
        None => format!("leave `{knob}` out of the plan"),
    };
    error.hint(hint)
}

impl<'a> Applier<'a> {
    /// Changes nothing yet; `journal` is where it will be noted.
    pub fn new(host: &'a Host, journal: &Path, uid: &str) -> Applier<'a> {
        Applier {
            host,
            journal_path: journal.to_owned(),
            uid: uid.to_owned(),
            journal: None,
            held: BTreeMap::new(),
            locks: BTreeMap::new(),
            group: None,
            groups: 0,
            in_force: BTreeMap::new(),
            cpus: Vec::new(),
        }
    }

    /// Puts in force what the settings of the next trial ask for, and puts back what they leave as
    /// it is. Gives what the record must say.
    ///
    /// # Errors
    /// When it cannot be done exactly: then the trial must not be measured.
    pub fn apply(&mut self, settings: &Settings, targets: &[Target]) -> Result<Vec<Note>, Error> {
        let wanted = wanted(self.host, settings, targets)?;
        let links = link::Link::all(self.host, settings, self.held.keys());
        self.release(&wanted)?;
        let mut notes = Vec::new();
        self.in_force.clear();
        for one in &wanted {
            notes.extend(self.put(one).map_err(|error| leave_out(error, one.knob))?);
            self.read_back(one);
        }
        links.iter().try_for_each(|link| link.wait(self.host))?;
        self.cpus = Vec::new();
        for (knob, value) in set(settings) {
            let done = match knob.apply {
                Apply::Files(_) | Apply::Interface(_) => Ok(None),
                Apply::Engine | Apply::Layout | Apply::ByHand | Apply::Mount | Apply::Name => {
                    Ok(None)
                }
                Apply::MemoryGroup => self.make_group(value),
                Apply::Processors => {
                    self.cpus = value::cpu_list(&value.to_string()).unwrap_or_default();
                    Ok(None)
                }
                Apply::DropCaches if *value == Value::Flag(true) => drop_caches(self.host),
                Apply::DropCaches => Ok(None),
            };
            notes.extend(done.map_err(|error| leave_out(error, knob.name))?);
        }
        Ok(notes)
    }

    /// Puts back what is not wanted any more.
    fn release(&mut self, wanted: &[Wanted]) -> Result<(), Error> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let is_wanted = |path: &str| wanted.iter().any(|one| one.place.path == path);
        // What a wanted setting disturbs is not as it was before; when a knob gives it up, the one
        // that disturbs it is written anew, which gives it the kernel's value.
        let given_up = |path: &String| self.held.contains_key(path) && !is_wanted(path);
        let again = |one: &Wanted| one.place.disturbs.iter().any(given_up);
        let mut keep: Vec<&str> = Vec::new();
        for one in wanted.iter().filter(|one| !again(one)) {
            keep.push(&one.place.path);
            keep.extend(one.place.disturbs.iter().map(String::as_str));
        }
        let goes = |path: &str| !keep.contains(&path) && !is_group(path);
        let said = journal.undo_some(self.host, false, &mut |_| {}, goes);
        self.held.retain(|path, _| keep.contains(&path.as_str()));
        match said.into_iter().find(UndoOutcome::is_left) {
            None => Ok(()),
            Some(said) => {
                Err(Error::new("cannot put a setting back", said.to_string())
                    .hint("brickyard undo"))
            }
        }
    }

    /// Puts all settings back before the devices that have them go.
    ///
    /// # Errors
    /// When one cannot be put back.
    pub fn let_go(&mut self) -> Result<(), Error> {
        let released = self.release(&[]);
        // What takes their names afterwards is another file.
        self.locks.clear();
        released
    }

    /// The journal, opened when there is none yet.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn journal(&mut self) -> Result<&mut Journal, Error> {
        match &mut self.journal {
            Some(journal) => Ok(journal),
            none => Ok(none.insert(Journal::open(&self.journal_path)?)),
        }
    }

    /// Keeps what one place holds now; where a knob has several, each value once.
    fn read_back(&mut self, one: &Wanted) {
        let Some(held) = self.held.get(&one.place.path) else { return };
        let text = match one.place.form.value(&held.in_force, &one.value) {
            Some(value) => value.to_string(),
            // CPUs, whose mask says nothing to a reader.
            None if held.in_force == one.text => one.value.to_string(),
            None => held.in_force.clone(),
        };
        let all = self.in_force.entry(one.knob.to_owned()).or_default();
        if !all.split(" and ").any(|other| other == text) {
            all.push_str(if all.is_empty() { "" } else { " and " });
            all.push_str(&text);
        }
    }

    /// By the name of each knob that the last trial had set, what was read back.
    pub fn in_force(&self) -> BTreeMap<String, String> {
        self.in_force.clone()
    }

    /// Writes one setting if it is not in force.
    fn put(&mut self, one: &Wanted) -> Result<Option<Note>, Error> {
        let (path, text) = (&one.place.path, &one.text);
        let present = in_force(&self.host.setting(path)?).to_owned();
        match self.held.get(path) {
            Some(held) if held.asked == *text && held.in_force == present => {
                return Ok(rounded(one, &present));
            }
            Some(_) => {}
            None => {
                for path in std::iter::once(path).chain(&one.place.disturbs) {
                    if !self.locks.contains_key(path) {
                        self.locks.insert(path.clone(), self.host.lock_setting(path)?);
                    }
                }
                let (asked, in_force) = (present.clone(), present.clone());
                self.held.insert(path.clone(), Held { asked, in_force });
            }
        }
        let mut now = present.clone();
        if present != *text {
            self.note_write(&one.place, &present, text)?;
            self.host.set(path, text).map_err(|error| self.choices(error, path))?;
            now = in_force(&self.host.setting(path)?).to_owned();
        }
        if now != *text {
            // Whatever it is, we have made it so, and it is ours to put back.
            self.note(Line::Took { path: path.clone(), value: now.clone() })?;
            if now.parse::<u64>().is_err() || now == present {
                let what = format!("cannot write {text} to {path}");
                return Err(Error::new(what, format!("the kernel took it and holds {now}")));
            }
        }
        if let Some(held) = self.held.get_mut(path) {
            (held.asked, held.in_force) = (text.clone(), now.clone());
        }
        Ok(rounded(one, &now))
    }

    /// What the file would have taken, where it says so.
    fn choices(&self, error: Error, path: &str) -> Error {
        let text = self.host.setting(path).unwrap_or_default();
        match text.contains('[') {
            true => error.hint(format!("it has {}; perhaps a module is missing", text.trim())),
            false => error,
        }
    }

    fn note_write(&mut self, place: &SettingFile, before: &str, text: &str) -> Result<(), Error> {
        let boot = boot(self.host)?;
        let change = |path: &String, before: &str, written: &str| Change {
            path: path.clone(),
            device: place.device.clone(),
            boot: boot.clone(),
            before: before.to_owned(),
            written: written.to_owned(),
            instead: None,
        };
        for along in &place.disturbs {
            let held = in_force(&self.host.setting(along)?).to_owned();
            self.note(Line::Disturb(change(along, &held, "")))?;
        }
        // The device may have gone, and another come, since it was looked at.
        if place.device.as_ref().is_some_and(|device| !identity::still_there(device, self.host)) {
            let what = format!("cannot write {}", place.path);
            return Err(Error::new(what, "another device has taken that name"));
        }
        let instead = place.instead.clone();
        self.note(Line::Write(Change { instead, ..change(&place.path, before, text) }))
    }

    fn note(&mut self, line: Line) -> Result<(), Error> {
        self.journal()?.note(line)
    }

    /// A control group for the next load.
    fn make_group(&mut self, limit: &Value) -> Result<Option<Note>, Error> {
        let parent = group::memory(self.host)?;
        self.groups += 1;
        let folder = format!("{}/brickyard-{}-{}", parent.folder, self.uid, self.groups);
        let boot = boot(self.host)?;
        self.note(Line::Make { path: folder.clone(), boot })?;
        self.host.make_directory(&folder)?;
        self.group = Some(folder.clone());
        let (Value::Bytes(bytes), path) = (limit, format!("{folder}/{}", parent.limit)) else {
            return Err(Error::new("cannot limit memory", format!("{limit} is no size")));
        };
        self.host.write(&path, &bytes.to_string())?;
        let text = self.host.read(&path)?;
        match text.trim().parse::<u64>() {
            Ok(now) if now == *bytes => Ok(None),
            Ok(now) if now.abs_diff(*bytes) < 1 << 20 => Ok(Some(note_rounded(
                "memory-limit",
                &value::setting(limit),
                &value::setting(&Value::Bytes(now)),
            ))),
            _ => Err(Error::new(
                format!("cannot write {bytes} to {path}"),
                format!("the kernel took it and holds {}", text.trim()),
            )),
        }
    }

    /// Puts the load's process where the trial wants it, before its first byte.
    ///
    /// # Errors
    /// When the kernel does not take it: then the load must not run.
    pub fn place(&self, pid: u32) -> Result<(), Error> {
        if let Some(folder) = &self.group {
            let path = format!("{folder}/cgroup.procs");
            self.host.write(&path, &pid.to_string())?;
            let text = self.host.read(&path)?;
            if !text.lines().any(|line| line.trim() == pid.to_string()) {
                let what = format!("cannot put process {pid} into {folder}");
                return Err(Error::new(what, "the kernel took it, and it is not there"));
            }
        }
        match self.cpus.is_empty() {
            true => Ok(()),
            false => processors::restrict(self.host, pid, &self.cpus),
        }
    }

    /// How many processes of the load the kernel has killed because its group was out of memory;
    /// to be asked before [`Applier::after`]. In version 2 it says so in memory.events, in version
    /// 1 in memory.oom_control (since Linux 4.13); 0 where it does not say.
    pub fn killed_for_memory(&self) -> u64 {
        let Some(folder) = &self.group else { return 0 };
        let of = |file: &str| {
            let text = self.host.read(format!("{folder}/{file}")).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
            line.trim().parse::<u64>().ok()
        };
        of("memory.events").or_else(|| of("memory.oom_control")).unwrap_or(0)
    }

    /// After a trial: removes the load's control group, and looks whether somebody has changed what
    /// was to be in force meanwhile. Gives what the record must say.
    pub fn after(&mut self) -> Vec<Note> {
        self.cpus = Vec::new();
        if let (Some(folder), Some(journal)) = (self.group.take(), &mut self.journal) {
            // What stays, as the group of a load that hangs, is tried again at the end.
            journal.undo_some(self.host, false, &mut |_| {}, |path| path == folder);
        }
        let changed = |(path, held): (&String, &Held)| {
            let now = self.host.setting(path).map(|text| in_force(&text).to_owned());
            let now = now.unwrap_or_else(|error| error.why);
            (now != held.in_force).then(|| {
                Note::new(
                    "setting-changed",
                    format!(
                        "Somebody else changed {path} during the trial: {} was in force at its \
                         start, {now} at its end.",
                        held.in_force
                    ),
                )
            })
        };
        self.held.iter().filter_map(changed).collect()
    }

    /// Puts everything back, newest first; gives what became of each.
    pub fn restore(&mut self, tell: &mut dyn FnMut(&UndoOutcome)) -> Vec<UndoOutcome> {
        let Some(mut journal) = self.journal.take() else { return Vec::new() };
        let said = journal.undo(self.host, false, tell);
        self.held.clear();
        self.locks.clear();
        let _ = journal.close();
        said
    }
}

impl Drop for Applier<'_> {
    fn drop(&mut self) {
        self.restore(&mut |_| {});
    }
}

/// Undoes what a run that was killed has left, before another one measures.
///
/// # Errors
/// When another run has the journal, or something could not be undone.
pub fn recover(
    host: &Host,
    journal: &Path,
    tell: &mut dyn FnMut(&UndoOutcome),
) -> Result<(), Error> {
    let Some(mut left) = Journal::existing(journal)? else { return Ok(()) };
    let said = left.undo(host, false, tell);
    left.close()?;
    match said.into_iter().find(UndoOutcome::is_left) {
        None => Ok(()),
        Some(said) => {
            let what = "cannot measure while settings of an earlier run are in force";
            Err(Error::new(what, said.to_string()).hint("brickyard undo, as root"))
        }
    }
}

/// What a record says when the kernel killed so many processes of the load.
pub fn out_of_memory(killed: u64, settings: &Settings) -> Option<String> {
    let limit = settings.named(knob::MEMORY_LIMIT.name)?;
    (killed > 0).then(|| {
        let limit = value::setting(limit);
        format!(
            "Out of memory: under memory-limit={limit} the kernel killed {killed} of the load's \
             processes (oom_kill {killed})."
        )
    })
}

fn is_group(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with("brickyard-"))
}

/// What a place that cannot hold the value exactly holds.
fn rounded(one: &Wanted, now: &str) -> Option<Note> {
    let in_force = one.place.form.value(now, &one.value)?;
    if in_force.to_string() == one.value.to_string() {
        return None;
    }
    let path = &one.place.path;
    let asked = value::setting(&one.value);
    Some(note_rounded(one.knob, &asked, &format!("{} ({path})", value::setting(&in_force))))
}

fn note_rounded(knob: &str, asked: &str, now: &str) -> Note {
    let text = format!("{knob}: {asked} was asked for; in force was {now}.");
    Note::new("setting-rounded", text)
}

/// Writes back what is dirty first: what is dirty cannot be dropped.
fn drop_caches(host: &Host) -> Result<Option<Note>, Error> {
    rustix::fs::sync();
    host.write("/proc/sys/vm/drop_caches", "3")?;
    Ok(None)
}
