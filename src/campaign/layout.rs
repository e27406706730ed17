//! Files that reading trials need: written before, as trials of their own, and never more than fit.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Run;
use crate::knob::Settings;
use crate::plan::Trial;
use crate::plan::files::files_of;
use crate::sys::Error;
use crate::sys::filesystem::space;
use crate::sys::workdir::file_name;
use crate::value::{self, Stop, Value};

/// How many files of what size a set of trials needs in each directory.
fn needs<'a>(all: impl Iterator<Item = (&'a Settings, u32)>) -> BTreeMap<String, (usize, u64)> {
    let mut needs: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for (settings, first_file) in all {
        let names = settings.directories();
        let size = settings.whole("file-size");
        for (place, number) in files_of(settings, first_file).into_iter().flatten() {
            let Some(name) = names.get(place) else { continue };
            let need = needs.entry(name.clone()).or_default();
            *need = (need.0.max(number + 1), need.1.max(size));
        }
    }
    needs
}

/// Refuses a plan whose files would not leave 5 % of a file system free.
///
/// # Errors
/// When they do not fit; with what would.
pub fn check_space<'a>(all: impl Iterator<Item = (&'a Settings, u32)>) -> Result<(), Error> {
    // Directories on one file system share its room; a device number tells which do.
    let mut by_device: BTreeMap<u64, (String, u64)> = BTreeMap::new();
    for (name, (count, size)) in needs(all) {
        let device = super::directory::device(&name)?;
        let need = by_device.entry(device).or_insert_with(|| (name.clone(), 0));
        need.1 = need.1.saturating_add((count as u64).saturating_mul(size));
    }
    for (name, bytes) in by_device.into_values() {
        let usable = space(name.as_ref())?.usable_bytes();
        if bytes > usable {
            let what = format!("cannot write {} in {name}", value::bytes(bytes as f64));
            let why = format!(
                "only {} may be used there (5 % of the file system stay free)",
                value::bytes(usable as f64)
            );
            return Err(Error::new(what, why)
                .hint("make room, or lower file-size, files or streams (or --space)"));
        }
    }
    Ok(())
}

impl Run<'_> {
    /// Makes sure that the files a trial reads or overwrites are there and written throughout.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn prepare(&mut self, trial: &Trial) -> Result<(), Error> {
        let settings = &trial.settings;
        let paths = self.paths(trial);
        let size = settings.whole("file-size");
        let there = paths.iter().all(|path| self.laid.get(path).is_some_and(|&had| had >= size));
        if there || paths.is_empty() || settings.word("access") == "write" {
            return Ok(());
        }
        let mut layout = Settings::defaults(self.engine.name());
        for knob in ["streams", "files", "file-size", "directories", "data", "io-engine"] {
            layout.set(knob, settings.get(knob).clone());
        }
        layout.set("access", Value::Word("write".into()));
        layout.set("direct", Value::Flag(false));
        layout.set("stop", Value::Stop(Stop::Pass));
        // As large as the file allows, but never a block that the file is not a multiple of.
        let block = (size & size.wrapping_neg()).clamp(512, 1 << 20);
        layout.set("block-size", Value::Bytes(block));
        let trial =
            Trial { group: crate::plan::LAYOUT.to_owned(), settings: layout, ..trial.clone() };
        self.lay(trial)
    }

    /// Writes files through and remembers that they are there.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn lay(&mut self, trial: Trial) -> Result<(), Error> {
        let (paths, size) = (self.paths(&trial), trial.settings.whole("file-size"));
        let done = self.trial(trial)?.outcome.measurement().is_some();
        if done && !self.stopped() {
            self.laid.extend(paths.into_iter().map(|path| (path, size)));
        }
        Ok(())
    }

    fn paths(&self, trial: &Trial) -> Vec<PathBuf> {
        let names = trial.settings.directories();
        let path = |(place, number): (usize, usize)| {
            let work = self.work.get(names.get(place)?)?;
            Some(work.path().join(file_name(number)))
        };
        let files = files_of(&trial.settings, trial.first_file);
        files.into_iter().flatten().filter_map(path).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::testing::dealt;

    #[test]
    fn needs_are_the_largest_of_all_trials() {
        let (few, many) = (dealt(2, 1, &["/a"]), dealt(4, 2, &["/a", "/b"]));
        let needs = needs([(&few, 10), (&many, 0)].into_iter());
        assert_eq!(needs["/a"], (12, 1 << 30));
        assert_eq!(needs["/b"], (4, 1 << 30));
    }
}
