//! Where the trials of a campaign run: directories that we make, and devices that are only read.

use std::path::Path;

use super::{Run, tidy_up};
use experiment::knob::engine::Keeps;
use facts::bare::{self, is_device};
use facts::share::is_export;
use host::inventory;
use host::inventory::raw::RawDevice;
use host::sys::workdir::WorkDir;
use host::sys::{Error, Host};

impl Run<'_> {
    /// The work directory in `parent`, which is `directory` to the user: a new one, or the
    /// one that was kept for this run.
    pub(super) fn place(&mut self, directory: &str, parent: &Path) -> Result<WorkDir, Error> {
        let uid = &self.campaign.uid;
        let waits = match self.engine.kind().keeps {
            Keeps::Nothing => return WorkDir::create(parent, uid),
            Keeps::UntilComplete => {
                let store = self.store.path().display();
                format!("for `brickyard run {} --resume`, store {store}", self.campaign.plan)
            }
            Keeps::UntilRemoved => "for `brickyard verify --flushed LOG`".to_owned(),
        };
        if let Some(kept) = WorkDir::take_up(parent, uid)? {
            self.bed.taken_up.insert(directory.to_owned());
            return Ok(kept);
        }
        WorkDir::create_kept(parent, uid, &waits.replace('\n', " "))
    }

    /// Makes the work directories; what earlier runs left there goes first. Devices that are only
    /// read are opened for that, and nothing is made on them.
    pub(super) fn make_room(&mut self, directories: &[String]) -> Result<(), Error> {
        // Those of servers are mounted when the first trial is there.
        let local = || directories.iter().filter(|name| !is_export(name) && !is_device(name));
        for (place, named) in directories.iter().filter_map(|it| Some((it, bare::device(it)?))) {
            let held = RawDevice::open(self.host, named)?;
            self.bed.quarantine.learn(place, &inventory::target(self.host, held.path())?);
            self.bed.devices.insert(place.clone(), held);
        }
        for directory in local() {
            tidy_up(Path::new(directory), self.observer);
        }
        for directory in local() {
            match self.place(directory, Path::new(directory)) {
                Ok(made) => {
                    if let Ok(target) = inventory::target(self.host, Path::new(directory)) {
                        self.bed.quarantine.learn(directory, &target);
                    }
                    self.bed.work.insert(directory.clone(), made)
                }
                Err(error) => {
                    self.bed.give_up(self.observer);
                    return Err(error);
                }
            };
        }
        Ok(())
    }
}

/// What of these devices would be opened, as lines for people.
///
/// # Errors
/// When one of them is not there.
pub fn lines(host: &Host, places: &[String]) -> Result<Vec<String>, Error> {
    let devices = places.iter().filter(|place| is_device(place));
    let line = |place: &String| {
        let target = inventory::raw::target_of_place(host, place)?;
        Ok(format!(
            "open {} to read it (O_RDONLY), which is {target}\nwrite nothing on it",
            target.source
        ))
    };
    devices.map(line).collect()
}
