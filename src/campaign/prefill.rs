//! Files that reading trials need: written before, as trials of their own, and never more than fit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::Run;
use super::checkable::{Laid, forget_written, set_format};
use base::value::{self, Stop};
use experiment::knob::{self, Access, EngineKind, Scope, Settings};
use experiment::measurement::{Measurement, Outcome};
use experiment::plan::Trial;
use experiment::plan::files::{FRESH_FROM, files_of};
use facts::bare::is_device;
use facts::share::is_export;
use host::sys::filesystem::{first_hole, space};
use host::sys::limits::FILE_SIZE;
use host::sys::workdir::{file_name, remove_file};
use host::sys::{Error, beneath};

/// Of each directory, and there of the files that stay (`false`) and of those that are made anew:
/// how many a set of trials needs, and of what size.
type Needs = BTreeMap<(String, bool), (usize, u64)>;

fn needs<'a>(all: impl Iterator<Item = (&'a Settings, u32)>) -> Needs {
    let mut needs = Needs::new();
    for (settings, first_file) in all {
        let names = settings.directories();
        let size = settings.get(knob::FILE_SIZE);
        for (place, number) in files_of(settings, first_file).into_iter().flatten() {
            let Some(name) = names.get(place).filter(|name| !is_device(name)) else { continue };
            let (fresh, number) = (number >= FRESH_FROM, number % FRESH_FROM);
            let need = needs.entry((name.clone(), fresh)).or_default();
            *need = (need.0.max(number + 1), need.1.max(size));
        }
    }
    needs
}

/// Bytes of the files of a set of trials in each directory.
pub fn bytes_needed<'a>(all: impl Iterator<Item = (&'a Settings, u32)>) -> BTreeMap<String, u64> {
    sums(needs(all))
}

fn sums(needs: Needs) -> BTreeMap<String, u64> {
    let mut bytes: BTreeMap<String, u64> = BTreeMap::new();
    for ((name, _), (count, size)) in needs {
        let sum = bytes.entry(name).or_default();
        *sum = sum.saturating_add((count as u64).saturating_mul(size));
    }
    bytes
}

/// Refuses files that are larger than this process may write.
fn check_size(needs: &Needs, limit: Option<u64>) -> Result<(), Error> {
    let Some(limit) = limit else { return Ok(()) };
    match needs.iter().find(|(_, (_, size))| *size > limit) {
        Some(((name, _), (_, size))) => {
            let what = format!("cannot write a file of {} in {name}", value::bytes(*size as f64));
            Err(Error::new(what, FILE_SIZE.allowance(limit))
                .hint(format!("{}, or lower file-size", FILE_SIZE.raise())))
        }
        None => Ok(()),
    }
}

/// Refuses a plan whose files would not leave 5 % of a file system free, or are larger than this
/// process may write.
///
/// # Errors
/// When they do not fit; with what would.
pub fn check_space<'a>(all: impl Iterator<Item = (&'a Settings, u32)>) -> Result<(), Error> {
    // Directories on one file system share its room; a device number tells which do.
    let mut by_device: BTreeMap<u64, (String, u64)> = BTreeMap::new();
    let needs = needs(all);
    check_size(&needs, FILE_SIZE.allows())?;
    for (name, bytes) in sums(needs).into_iter().filter(|(name, _)| !is_export(name)) {
        let device = super::directory::device(&name)?;
        let need = by_device.entry(device).or_insert_with(|| (name.clone(), 0));
        need.1 = need.1.saturating_add(bytes);
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
    /// Makes sure that the files a trial reads or overwrites are there and written throughout; else
    /// it is not run, and has the outcome of what should have written them.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn prepare(&mut self, trial: &Trial) -> Result<(), Error> {
        // What is barred is told by the trial itself; its files are nobody's business then.
        let barred = self.bed.quarantine.why_any(trial.settings.directories()).is_some();
        if barred || !self.lacks_files(trial, &self.bed.laid) {
            return Ok(());
        }
        let layout = self.layout_for(trial);
        self.bed.unmade = self.lay(layout)?.err();
        Ok(())
    }

    /// The trial that writes another one's files.
    fn layout_for(&self, trial: &Trial) -> Trial {
        let (settings, size) = (&trial.settings, trial.settings.get(knob::FILE_SIZE));
        let of = settings.kind().map_or("", EngineKind::lays_with);
        let mut layout = Settings::defaults(of);
        for knob in ["streams", "files", "file-size", "directories", "data", "io-engine"] {
            if let Some(value) = settings.named(knob) {
                layout.set_named(knob, value.clone());
            }
        }
        copy(settings, &mut layout);
        layout.set(knob::ACCESS, Access::Write);
        layout.set(knob::DIRECT, false);
        layout.set(knob::STOP, Stop::Pass);
        // Nothing is measured, so nobody has to compete: a stream that is done would write its
        // files over in memory, and keep the last one from the device for minutes.
        layout.set(knob::SUSTAINED, false);
        // As large as the file allows, but never a block that the file is not a multiple of.
        let block = (size & size.wrapping_neg()).clamp(512, 1 << 20);
        layout.set(knob::BLOCK_SIZE, block);
        set_format(settings, &mut layout);
        let group = experiment::plan::LAYOUT.to_owned();
        Trial { group, settings: layout, planned: None, ..trial.clone() }
    }

    /// Whether a trial needs files that are not among those `laid`.
    pub(super) fn lacks_files(&self, trial: &Trial, laid: &BTreeMap<PathBuf, Laid>) -> bool {
        // Other people's programs make their files themselves, and so do loads of other kinds.
        let made = trial.settings.kind().is_some_and(EngineKind::makes_its_files);
        let of_files = trial.settings.has(knob::FILES) && trial.settings.has(knob::ACCESS) && !made;
        of_files
            && trial.settings.get(knob::ACCESS) != Some(Access::Write)
            && !self.is_laid(trial, laid)
    }

    fn is_laid(&self, trial: &Trial, laid: &BTreeMap<PathBuf, Laid>) -> bool {
        let there = |path: &PathBuf| laid.get(path).is_some_and(|had| had.serves(&trial.settings));
        self.paths(trial).iter().all(there)
    }

    /// Runs a trial that writes files through; what it was cut short of is written after it.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(super) fn lay_whole(&mut self, trial: Trial) -> Result<(), Error> {
        let whole = self.lay(trial.clone())?;
        if let (Ok(whole), false) = (whole, self.stopped() || self.is_laid(&trial, &self.bed.laid))
        {
            self.lay(self.layout_for(&without_first(trial, whole)))?.ok();
        }
        Ok(())
    }

    /// Runs a trial that writes files through, and remembers those that are there; how many every
    /// stream wrote to the end, or what becomes of whoever needs them.
    fn lay(&mut self, trial: Trial) -> Result<Result<usize, Outcome>, Error> {
        let (of_streams, size) = (self.of_streams(&trial), trial.settings.get(knob::FILE_SIZE));
        let settings = trial.settings.clone();
        let record = self.trial(trial)?;
        let number = record.trial.number;
        let done = match &record.outcome {
            Outcome::Done(done) => done,
            Outcome::Failed(why) => return Ok(Err(Outcome::Failed(unwritten(number, why)))),
            Outcome::Skipped(why) => return Ok(Err(Outcome::Skipped(unwritten(number, why)))),
            Outcome::Interrupted => return Ok(Err(Outcome::Interrupted)),
        };
        let whole = match done.notes.iter().any(|note| note.kind == "cut-short") {
            true => whole_files(done, size),
            false => usize::MAX,
        };
        if !self.stopped() {
            for (files, stream) in of_streams.into_iter().zip(0_u64..) {
                let numbered = files.into_iter().take(whole).zip(stream << 32..);
                let laid = |(path, file)| (path, Laid::by(&settings, number, file));
                self.bed.laid.extend(numbered.map(laid));
            }
        }
        Ok(Ok(whole))
    }

    /// Removes the files that nobody but this trial uses, and forgets those that it left shorter
    /// than they were laid out, or with a hole: they are laid out again before anybody reads them,
    /// or writes over them.
    pub(super) fn after(&mut self, trial: &Trial) {
        let settings = &trial.settings;
        if !settings.has(knob::FILES) {
            return;
        }
        let paths = self.paths(trial);
        forget_written(&mut self.bed.laid, settings, paths.iter());
        if settings.get(knob::ACCESS) != Some(Access::Write) {
            return;
        }
        // What hangs is not touched.
        if self.bed.quarantine.why_any(settings.directories()).is_some() {
            return;
        }
        let fresh = settings.get(knob::FRESH_FILE);
        for path in paths {
            if fresh {
                // One that stays goes with its directory.
                let _ = remove_file(&path);
                continue;
            }
            // A direct write sets space aside before it writes: the length alone says nothing.
            let file = beneath::open_file(&path, OFlags::RDONLY);
            let whole = file.map_or(0, |file| {
                let length = file.metadata().map_or(0, |about| about.len());
                first_hole(&file).unwrap_or(length).min(length)
            });
            if self.bed.laid.get(&path).is_some_and(|laid| whole < laid.bytes) {
                self.bed.laid.remove(&path);
            }
        }
    }

    /// Every file of a trial.
    pub(super) fn paths(&self, trial: &Trial) -> Vec<PathBuf> {
        self.of_streams(trial).into_iter().flatten().collect()
    }

    /// The files of each stream, in the order in which it goes through them.
    fn of_streams(&self, trial: &Trial) -> Vec<Vec<PathBuf>> {
        let names = trial.settings.directories();
        let path = |(place, number): (usize, usize)| {
            let name = names.get(place)?;
            let folder = match self.bed.work.get(name) {
                Some(work) => work.path(),
                // The layout that will hold it does not stand yet.
                None if self.bed.layouts.is_some() => Path::new(name),
                None => return None,
            };
            Some(folder.join(file_name(number)))
        };
        let of = files_of(&trial.settings, trial.first_file).into_iter();
        of.map(|files| files.into_iter().filter_map(path).collect()).collect()
    }
}

/// Why a trial was not run whose files another one should have written.
fn unwritten(number: u32, why: &str) -> String {
    format!("its files were not written: trial {number}: {why}")
}

/// How many files every stream wrote to the end. A stream writes one after the other.
fn whole_files(done: &Measurement, size: u64) -> usize {
    let whole = done.streams.iter().map(|stream| stream.pass.write_bytes / size.max(1));
    whole.min().unwrap_or(0) as usize
}

/// A trial on what is left of its files when each stream leaves out its first ones.
fn without_first(mut trial: Trial, files: usize) -> Trial {
    let places = trial.settings.directories().len().max(1) as u64;
    let per_place = trial.settings.get(knob::STREAMS).div_ceil(places);
    let skipped = (files as u64).min(trial.settings.get(knob::FILES) - 1);
    trial.first_file += (skipped * per_place) as u32;
    trial.settings.set(knob::FILES, trial.settings.get(knob::FILES) - skipped);
    trial
}

/// Gives the knobs of layouts and of mounts that `from` has to `to`, for what is written in its
/// place.
fn copy(from: &Settings, to: &mut Settings) {
    for knob in knob::KNOBS
        .iter()
        .filter(|knob| knob.scope == Scope::Layout || matches!(knob.apply, knob::Apply::Mount))
    {
        if let (Some(value), true) = (from.named(knob.name), to.named(knob.name).is_some()) {
            to.set_named(knob.name, value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engines::engine::{self, Context, Engine};
    use experiment::campaign::Campaign;
    use experiment::knob::testing::dealt;
    use experiment::measurement::{Note, Stream};
    use experiment::progress::{Event, Observer};
    use host::sys::{Host, signal};
    use store::Store;

    /// An engine that writes nothing, and is as slow as the tests need.
    struct Slow;

    /// The seed of a trial whose layout fails.
    const FAILS: u64 = 13;

    impl Engine for Slow {
        fn kind(&self) -> &'static EngineKind {
            &experiment::knob::engines::FILE
        }
        fn worker(&self) -> Option<engine::Serve> {
            None
        }
        fn check(&self, _: &Settings) -> Result<(), Error> {
            Ok(())
        }
        fn run(&self, trial: &Trial, _: &mut Context<'_>) -> Result<Measurement, engine::Error> {
            if trial.seed == FAILS && trial.prepares() {
                return Err(engine::Error::Failed("killed".into()));
            }
            let mut measurement = Measurement::default();
            if trial.settings.get(knob::AT_MOST) < 1_000_000_000 {
                measurement.notes.push(Note::new("cut-short", "cut"));
                // The last stream is in the middle of its second file.
                let size = trial.settings.get(knob::FILE_SIZE);
                measurement.streams = [6, 5, 4, 3].map(|halves| half_files(halves, size)).into();
            }
            Ok(measurement)
        }
    }

    fn half_files(halves: u64, size: u64) -> Stream {
        let mut stream = Stream::default();
        stream.pass.write_bytes = halves * size / 2;
        stream
    }

    struct Deaf;

    impl Observer for Deaf {
        fn tell(&mut self, _: &Event<'_>) {}
    }

    /// A writing trial that was cut counted as if its files were there: the reading trials then
    /// found files that ended early. Then all of it was written again, which took as long as the
    /// trial. What is missing is written after it, once, by streams that stop.
    #[test]
    fn what_a_cut_trial_left_unwritten_is_laid_out_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("a.db")).unwrap();
        let name = folder.path().to_str().unwrap().to_owned();
        let (host, stop, mut deaf) = (Host::live(), signal::Stop::new(), Deaf);
        let campaign = Campaign { uid: "u".into(), ..Campaign::default() };
        let names = std::slice::from_ref(&name);
        let mut run =
            Run::begin(&host, &mut store, campaign, &Slow, names, &mut deaf, &stop).unwrap();
        let mut settings = dealt(4, 3, &[&name]);
        settings.set(knob::ACCESS, Access::Write);
        settings.set(knob::AT_MOST, 500_000_000);
        let group = "write".to_owned();
        let trial = Trial {
            number: 1,
            replicate: 1,
            group,
            settings,
            first_file: 0,
            seed: 1,
            planned: None,
        };
        run.lay_whole(trial.clone()).unwrap();
        let mut reads = trial;
        reads.settings.set(knob::ACCESS, Access::Read);
        run.prepare(&reads).unwrap();
        assert_eq!(run.bed.laid.len(), 12);
        let done = run.finish().unwrap();
        let groups: Vec<&str> =
            done.records.iter().map(|record| record.trial.group.as_str()).collect();
        assert_eq!(groups, ["write", "layout"]);
        let rest = &done.records[1].trial;
        assert!(!rest.settings.get(knob::SUSTAINED));
        assert_eq!((rest.first_file, rest.settings.get(knob::FILES)), (4, 2));
    }

    /// The load that wrote the files was killed, and the trial went on with what there was: it was
    /// skipped over a file of 0 bytes, which `--again failed` does not run again; or it read the
    /// part that was written, and had a figure.
    #[test]
    fn a_trial_whose_files_were_not_written_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("a.db")).unwrap();
        let name = folder.path().to_str().unwrap().to_owned();
        let (host, stop, mut deaf) = (Host::live(), signal::Stop::new(), Deaf);
        let campaign = Campaign { uid: "u".into(), ..Campaign::default() };
        let names = std::slice::from_ref(&name);
        let mut run =
            Run::begin(&host, &mut store, campaign, &Slow, names, &mut deaf, &stop).unwrap();
        let mut settings = dealt(1, 1, &[&name]);
        settings.set(knob::ACCESS, Access::Read);
        let (group, planned) = ("read".to_owned(), None);
        let fails =
            Trial { number: 1, replicate: 1, group, settings, first_file: 0, seed: FAILS, planned };
        let goes = Trial { seed: 1, ..fails.clone() };
        run.trials([fails, goes].into_iter()).unwrap();
        let done = run.finish().unwrap();
        let told = |record: &experiment::measurement::Record| match &record.outcome {
            Outcome::Failed(why) => format!("{}: {why}", record.trial.group),
            _ => record.trial.group.clone(),
        };
        assert_eq!(
            done.records.iter().map(told).collect::<Vec<_>>(),
            [
                "layout: killed",
                "read: its files were not written: trial 1: killed",
                "layout",
                "read"
            ]
        );
    }

    /// A writer that begins with empty files may end with half of one; a later reader would have
    /// found that half.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes a fixture")]
    fn a_file_that_a_writer_left_short_is_laid_out_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("a.db")).unwrap();
        let name = folder.path().to_str().unwrap().to_owned();
        let (host, stop, mut deaf) = (Host::live(), signal::Stop::new(), Deaf);
        let campaign = Campaign { uid: "u".into(), ..Campaign::default() };
        let names = std::slice::from_ref(&name);
        let mut run =
            Run::begin(&host, &mut store, campaign, &Slow, names, &mut deaf, &stop).unwrap();
        let mut settings = dealt(2, 1, &[&name]);
        settings.set(knob::FILE_SIZE, 4096);
        settings.set(knob::ACCESS, Access::Write);
        let group = "write".to_owned();
        let trial = Trial {
            number: 1,
            replicate: 1,
            group,
            settings,
            first_file: 0,
            seed: 1,
            planned: None,
        };
        let paths = run.paths(&trial);
        for (path, bytes) in paths.iter().zip([4096, 4095]) {
            std::fs::write(path, vec![0; bytes]).unwrap();
            run.bed.laid.insert(path.clone(), Laid::by(&trial.settings, 1, 0));
        }
        run.trial(trial).unwrap();
        assert_eq!(run.bed.laid.keys().collect::<Vec<_>>(), [&paths[0]]);
        run.finish().unwrap();
    }

    #[test]
    fn needs_are_the_largest_of_all_trials() {
        let (few, many) = (dealt(2, 1, &["/a"]), dealt(4, 2, &["/a", "/b"]));
        let needs = needs([(&few, 10), (&many, 0)].into_iter());
        assert_eq!(needs[&("/a".to_owned(), false)], (12, 1 << 30));
        assert_eq!(needs[&("/b".to_owned(), false)], (4, 1 << 30));
    }

    /// A writer of fresh files shared its file with the readers: its file was left short, and was
    /// laid out again before each read, 70 times in a plan of 325 trials.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes a fixture")]
    fn a_fresh_file_is_its_own_trials_and_gone_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("a.db")).unwrap();
        let name = folder.path().to_str().unwrap().to_owned();
        let (host, stop, mut deaf) = (Host::live(), signal::Stop::new(), Deaf);
        let names = std::slice::from_ref(&name);
        let campaign = Campaign { uid: "u".into(), ..Campaign::default() };
        let mut run =
            Run::begin(&host, &mut store, campaign, &Slow, names, &mut deaf, &stop).unwrap();
        let mut reads = dealt(1, 1, &[&name]);
        reads.set(knob::FILE_SIZE, 4096);
        let mut writes = reads.clone();
        writes.set(knob::ACCESS, Access::Write);
        writes.set(knob::FRESH_FILE, true);
        assert_eq!(bytes_needed([(&reads, 0), (&writes, 0)].into_iter())[&name], 2 * 4096);
        let trial = |settings: &Settings| Trial {
            number: 1,
            replicate: 1,
            group: "one".to_owned(),
            settings: settings.clone(),
            first_file: 0,
            seed: 1,
            planned: None,
        };
        run.prepare(&trial(&reads)).unwrap();
        let laid = run.bed.laid.clone();
        let path = run.paths(&trial(&writes)).remove(0);
        assert!(!laid.contains_key(&path));
        std::fs::write(&path, [0; 7]).unwrap();
        run.trial(trial(&writes)).unwrap();
        assert!(!path.exists());
        assert_eq!((run.bed.laid.len(), &run.bed.laid), (1, &laid));
        run.finish().unwrap();
    }
}
