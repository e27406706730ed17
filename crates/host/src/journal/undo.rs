//! Puts back what a journal tells, newest first.
//!
//! Nothing is written that somebody else has changed meanwhile, that belongs to another device by
//! now, or that an earlier boot held; a value counts as back only when it was read back.

use crate::journal::identity;
use std::time::Duration;

use super::fate::{Fate, UndoOutcome};
use super::layout::LayoutAct;
use super::{Change, Journal, Line, boot};
use crate::sys::{Error, Host, port};
use facts::identity::Identity;

/// Folders in which settings lie. A journal that tells of others was not written by us.
const SETTINGS: [&str; 9] = [
    "/sys/block/",
    "/sys/fs/btrfs/",
    "/sys/class/net/",
    "/sys/devices/system/cpu/",
    "/sys/kernel/mm/transparent_hugepage/",
    "/proc/irq/",
    "/proc/sys/vm/",
    "/proc/sys/net/core/",
    "/proc/sys/net/ipv4/tcp_",
];
/// How long processes of a left control group may take to end by themselves, and once killed. One
/// that waits in the kernel for a disk that does not answer never does.
const ENDING_MAX: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Something that is still to be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outstanding {
    path: String,
    boot: String,
    /// The first change; none for a directory.
    change: Option<Change>,
    /// What was made, when it is no setting.
    act: Option<LayoutAct>,
    /// Which line noted it first, from 0.
    line: usize,
    /// Everything that we have had it hold.
    ours: Vec<String>,
    /// Changed along with something else, so that it may hold anything.
    disturbed: bool,
}

/// What the lines leave to be undone, in the order in which it was first done.
pub fn outstanding(lines: &[Line]) -> Vec<Outstanding> {
    let mut left: Vec<Outstanding> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let path = &match line {
            Line::Write(Change { path, .. })
            | Line::Disturb(Change { path, .. })
            | Line::Took { path, .. }
            | Line::Make { path, .. }
            | Line::Done { path } => path.clone(),
            Line::Layout { act, .. } => act.called(),
        };
        let place = left.iter().position(|one| one.path == *path);
        let first = |boot: &str| Outstanding {
            path: path.clone(),
            boot: boot.to_owned(),
            change: None,
            act: None,
            line: number,
            ours: Vec::new(),
            disturbed: false,
        };
        match (line, place) {
            (Line::Write(change), Some(place)) => {
                let ours = [change.before.clone(), change.written.clone()];
                left[place].ours.extend(ours);
                left[place].ours.dedup();
            }
            (Line::Disturb(_), Some(place)) => left[place].disturbed = true,
            (Line::Took { value, .. }, Some(place)) => left[place].ours.push(value.clone()),
            (Line::Done { .. }, Some(place)) => drop(left.remove(place)),
            (Line::Write(change) | Line::Disturb(change), None) => left.push(Outstanding {
                change: Some(change.clone()),
                ours: vec![change.written.clone()],
                disturbed: matches!(line, Line::Disturb(_)),
                ..first(&change.boot)
            }),
            (Line::Make { boot, .. }, None) => left.push(first(boot)),
            (Line::Layout { act, boot }, None) => {
                left.push(Outstanding { act: Some(act.clone()), ..first(boot) });
            }
            (Line::Make { .. } | Line::Layout { .. }, Some(_))
            | (Line::Took { .. } | Line::Done { .. }, None) => {}
        }
    }
    left
}

/// What a setting's file holds: the word in brackets of `none [mq-deadline]`, or all of it.
pub fn in_force(text: &str) -> &str {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(text, |(chosen, _)| chosen).trim()
}

impl Journal {
    /// Undoes everything, newest first; only says what would be done when `dry`. What could not be
    /// undone stays in the journal; [`Journal::close`] removes one that holds nothing more.
    pub fn undo(
        &mut self,
        host: &Host,
        dry: bool,
        tell: &mut dyn FnMut(&UndoOutcome),
    ) -> Vec<UndoOutcome> {
        self.undo_those(host, dry, tell, |_| true)
    }

    /// The same for the settings and control groups that `which` names; nothing that `provision`
    /// has made is touched.
    pub fn undo_some(
        &mut self,
        host: &Host,
        dry: bool,
        tell: &mut dyn FnMut(&UndoOutcome),
        which: impl Fn(&str) -> bool,
    ) -> Vec<UndoOutcome> {
        self.undo_those(host, dry, tell, |one| one.act.is_none() && which(&one.path))
    }

    /// Where the journal stands now, for [`Journal::undo_layout`].
    pub fn position(&self) -> usize {
        self.lines.len()
    }

    /// Undoes what `provision` has noted since the journal stood at `position`, newest first.
    pub fn undo_layout(&mut self, host: &Host, position: usize) -> Vec<UndoOutcome> {
        let since = |one: &Outstanding| one.act.is_some() && one.line >= position;
        self.undo_those(host, false, &mut |_| {}, since)
    }

    /// What `provision` has noted and is not undone yet, oldest first.
    pub fn acts(&self) -> Vec<LayoutAct> {
        outstanding(&self.lines).into_iter().filter_map(|one| one.act).collect()
    }

    fn undo_those(
        &mut self,
        host: &Host,
        dry: bool,
        tell: &mut dyn FnMut(&UndoOutcome),
        which: impl Fn(&Outstanding) -> bool,
    ) -> Vec<UndoOutcome> {
        let now = boot(host);
        let mut all = Vec::new();
        for number in &self.unreadable {
            let what = format!("cannot read line {number} of {}", self.path.display());
            let error = Error::new(what, "it is damaged")
                .hint("look into it, put back by hand what it tells, then remove it");
            let fate = Fate::Failed(error);
            all.push(UndoOutcome { path: self.path.display().to_string(), fate });
        }
        all.iter().for_each(&mut *tell);
        let mut left = outstanding(&self.lines);
        left.retain(which);
        for one in left.iter().rev() {
            let fate = match &now {
                Ok(now) => one.undo(host, now, dry),
                Err(error) => Fate::Failed(error.clone()),
            };
            let said = UndoOutcome { path: one.path.clone(), fate };
            if !said.is_left() && !dry {
                // On a full disk the line is missing: then the next undo finds it as it was before.
                let _ = self.note(Line::Done { path: one.path.clone() });
            }
            tell(&said);
            all.push(said);
        }
        all
    }
}

/// A setting of a network namespace that we are not in: it has one of its own under the same name.
fn elsewhere(path: &str, namespace: &str) -> Fate {
    let what = format!("cannot put {path} back");
    let why = format!("it was changed in another network namespace, {namespace}");
    Fate::Failed(Error::new(what, why).hint(
        "run `brickyard undo` in that namespace (`lsns -t net` lists them); when it is gone, its \
         settings went with it: remove the journal",
    ))
}

impl Outstanding {
    fn undo(&self, host: &Host, now: &str, dry: bool) -> Fate {
        let before = || self.change.as_ref().map_or("", |change| &change.before).to_owned();
        if let Some(act) = &self.act {
            return act.undo(host, self.boot == now, dry);
        }
        let Some(change) = &self.change else { return self.remove(host, dry) };
        if self.boot != now {
            return Fate::EarlierBoot(before());
        }
        if let Some(stranger) = self.stranger() {
            let what = format!("cannot undo what the journal tells of {stranger}");
            return Fate::Failed(Error::new(what, "no setting that brickyard changes lies there"));
        }
        // Another namespace may have nothing of that name: that does not say that it is gone.
        let namespace = change.device.as_ref().and_then(Identity::network);
        let here = identity::of_network(host).map(|here| here.name);
        if let Some(namespace) = namespace.filter(|name| here.as_deref() != Some(name)) {
            return elsewhere(&self.path, namespace);
        }
        if !host.has_setting(&self.path) {
            return Fate::Gone;
        }
        if change.device.as_ref().is_some_and(|device| !identity::still_there(device, host)) {
            return Fate::AnotherDevice;
        }
        let present = match host.setting(&self.path) {
            Ok(text) => in_force(&text).to_owned(),
            Err(error) => return Fate::Failed(error),
        };
        if present == change.before && change.instead.is_none() {
            return Fate::AsBefore(present);
        }
        if present == change.before && self.instead_is_back(host, change) {
            return Fate::AsBefore(present);
        }
        if !self.disturbed && present != change.before && !self.ours.contains(&present) {
            return Fate::ChangedByOthers(present, before());
        }
        let own = (self.path.clone(), change.before.clone());
        let (path, text) = change.instead.as_ref().unwrap_or(&own);
        if dry {
            return Fate::WouldRestore(present, text.clone());
        }
        if let Err(error) = host.set(path, text) {
            return Fate::Failed(error.hint("run as root"));
        }
        match host.setting(path) {
            Ok(back) if in_force(&back) == text => Fate::Restored(present, text.clone()),
            Ok(back) => {
                let what = format!("cannot put {text} back into {path}");
                Fate::Failed(Error::new(what, format!("it holds {} now", in_force(&back))))
            }
            Err(error) => Fate::Failed(error),
        }
    }

    /// A path that is none of ours to write.
    fn stranger(&self) -> Option<&str> {
        let instead = self.change.as_ref().and_then(|change| change.instead.as_ref());
        let paths = [Some(&self.path), instead.map(|(path, _)| path)].into_iter().flatten();
        let ours = |path: &str| {
            (SETTINGS.iter().any(|folder| path.starts_with(folder)) || port::parts(path).is_some())
                && !path.split('/').any(|part| part == ".." || part == ".")
        };
        paths.map(String::as_str).find(|path| !ours(path))
    }

    fn instead_is_back(&self, host: &Host, change: &Change) -> bool {
        let Some((path, text)) = &change.instead else { return true };
        host.read(path).is_ok_and(|held| in_force(&held) == text)
    }

    /// Removes a control group of ours; processes that it still holds are our own load, and are
    /// killed when they do not end.
    fn remove(&self, host: &Host, dry: bool) -> Fate {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        if !name.starts_with("brickyard-") || !self.path.starts_with('/') || name.contains("..") {
            let what = format!("cannot remove {}", self.path);
            return Fate::Failed(Error::new(what, "it has not a name that brickyard gives"));
        }
        if !host.exists(&self.path) {
            return Fate::Gone;
        }
        if dry {
            return Fate::WouldRemove;
        }
        let mut killed = false;
        let mut waited = Duration::ZERO;
        loop {
            let error = match host.remove_directory(&self.path) {
                Ok(()) => return Fate::Removed,
                Err(error) => error,
            };
            match waited > ENDING_MAX {
                false => {}
                true if killed => {
                    return Fate::Failed(
                        error.hint("a load hangs in it; once its disk answers: brickyard undo"),
                    );
                }
                true => {
                    kill(host, &self.path);
                    (killed, waited) = (true, Duration::ZERO);
                }
            }
            std::thread::sleep(LOOK_EVERY);
            waited += LOOK_EVERY;
        }
    }
}

/// Kills what runs in a control group of ours.
fn kill(host: &Host, group: &str) {
    let text = host.read(format!("{group}/cgroup.procs")).unwrap_or_default();
    for pid in text.lines().filter_map(|line| line.trim().parse().ok()) {
        if let Some(pid) = rustix::process::Pid::from_raw(pid)
            && pid != rustix::process::getpid()
            && !pid.is_init()
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}
