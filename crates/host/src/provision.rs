//! Arrays, file systems, mounts: made and unmade, one file a kind.
//!
//! What is to be made is a [`Layout`]; which settings ask for it is the business of `campaign`.
//! Everything made is noted in the journal before it is made, and unmade from the journal alone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::journal::{Journal, UndoOutcome};
use crate::sys::signal::Stop;
use crate::sys::{Error, Host, block, clock, command};

mod array;
pub mod danger;
pub mod filesystem;
mod lacks;
mod make;
mod pool;
mod precondition;
mod snapshot;
pub mod share;
mod step;
mod steps;
mod upkeep;
mod volumes;

#[cfg(test)]
mod tests;

use facts::layout::{Layout, Times, Volumes};
pub use make::make;
pub use snapshot::HeldSnapshot;
pub use upkeep::Upkeep;

/// Exporting a pool writes back what is dirty first.
const COOLING_MAX: Duration = Duration::from_secs(3600);

/// A layout that is made and mounted. Dropping it unmakes nothing: the journal holds what is to be
/// undone.
#[derive(Debug)]
pub struct MadeLayout {
    /// Where its files go.
    pub mount_point: PathBuf,
    /// How long each step took.
    pub times: Times,
    /// What the record of every trial on it must say: kind and text.
    pub notes: Vec<(String, String)>,
    layout: Layout,
    /// What the file system lies on.
    nodes: Vec<PathBuf>,
    group: String,
    /// Where the journal stood before.
    since: usize,
}

impl MadeLayout {
    /// Whether it keeps files in memory by itself, even those of direct I/O: ZFS in its ARC.
    pub fn is_cached_by_itself(&self) -> bool {
        self.layout.volumes() == Volumes::Zfs
    }

    /// Takes what was read and written on a pool of ZFS out of memory: it is exported and imported
    /// again. Nothing of ours may be open on it.
    ///
    /// # Errors
    /// With the command that failed; then the layout is not mounted.
    pub fn cool(&self, host: &Host) -> Result<(), Error> {
        let disks = self.layout.all_disks();
        let nodes = disks.flat_map(|disk| block::partitions(host, &disk.name));
        let nodes: Vec<String> =
            nodes.map(|name| block::node(&name).display().to_string()).collect();
        let commands = pool::cool(&self.layout, &self.group, &self.mount_point, &nodes);
        for command in commands {
            command::run(&command, COOLING_MAX, &Stop::new())?;
        }
        Ok(())
    }

    /// Unmakes it, newest first; what could not be unmade stays in the journal.
    pub fn unmake(self, host: &Host, journal: &mut Journal) -> Vec<UndoOutcome> {
        journal.undo_layout(host, self.since)
    }
}

/// How people hear of what takes long, and end it.
struct Progress<'a> {
    tell: &'a mut dyn FnMut(&str),
    stop: &'a Stop,
    told_ns: u64,
}

impl<'a> Progress<'a> {
    /// At most one line in so long.
    const EVERY_NS: u64 = 1_000_000_000;

    fn new(tell: &'a mut dyn FnMut(&str), stop: &'a Stop) -> Progress<'a> {
        Progress { tell, stop, told_ns: 0 }
    }

    /// Tells it now.
    fn say(&mut self, text: &str) {
        (self.tell)(text);
        self.told_ns = clock::monotonic_ns();
    }

    /// Tells it unless something was told just now.
    fn tell(&mut self, text: &str) {
        if clock::monotonic_ns().saturating_sub(self.told_ns) >= Progress::EVERY_NS {
            self.say(text);
        }
    }

    /// An error once the user has asked to stop.
    fn check(&self, what: &str) -> Result<(), Error> {
        match self.stop.asked() {
            true => Err(Error::new(what, "it was stopped")),
            false => Ok(()),
        }
    }
}

/// What this machine lacks for a layout, with what would bring it: then the trial is skipped.
pub fn lacks(layout: &Layout, host: &Host) -> Option<String> {
    lacks::first(layout, host)
}

/// What would be run for a layout, in order, with stand-ins for what is chosen at random. Lines
/// that begin with `#` are done without a command.
pub fn commands(layout: &Layout, at: &Path) -> Vec<String> {
    let (steps, nodes) = steps::all(layout, &step::LayoutIds::shown(layout.disks.len()), at);
    let before = upkeep::steps(layout, &nodes, at);
    let head = (!before.is_empty()).then(|| "# before each trial that is measured:".to_owned());
    let shown = |step: &step::Step| step.shown(layout);
    steps.iter().map(shown).chain(head).chain(before.iter().map(shown)).collect()
}
