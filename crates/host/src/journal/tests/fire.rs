//! The journal on a disk that fails, runs full and loses its power. After each: every change that
//! was made can be undone, and nothing is told that was not noted.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use crate::sys::fire::{
    Disk, DiskOperation, Draws, Fails, MountedDisk, Plant, PlantedFault, plant, planted,
};
use base::stats::testing::long;

const NAME: &str = "a.db-undo";

/// One machine, whose settings are numbered.
struct Fire {
    draws: Draws,
    disk: Rc<RefCell<Disk>>,
    mounted: MountedDisk,
    folder: tempfile::TempDir,
    journal: Option<Journal>,
    /// All lines that were tried, in order, and whether they were said to be safe.
    tried: Vec<(Line, bool)>,
    count: u32,
}

fn change(number: u32, length: u64) -> Line {
    Line::Write(Change {
        path: format!("/sys/block/loop{number}/queue/read_ahead_kb"),
        device: None,
        boot: BOOT.into(),
        before: "1".repeat(length as usize),
        written: "1024".into(),
        instead: None,
    })
}

fn text(lines: &[Line]) -> Vec<String> {
    lines.iter().map(|line| serde_json::to_string(line).unwrap()).collect()
}

impl Fire {
    fn path(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    /// Notes a line; tells whether what it is about may be done.
    fn note(&mut self, line: Line) -> bool {
        let Some(journal) = &mut self.journal else { return false };
        let noted = journal.note(line.clone()).is_ok();
        self.tried.push((line, noted || planted(Plant::LineAfterChange)));
        noted
    }

    fn step(&mut self) {
        match self.draws.below(8) {
            0 => self.close(),
            1 if !self.tried.is_empty() => {
                let about = self.draws.below(u64::from(self.count)) as u32;
                let Line::Write(Change { path, .. }) = change(about, 1) else { return };
                self.note(Line::Done { path });
            }
            _ => {
                let length = 1 + self.draws.below(900);
                self.count += 1;
                self.note(change(self.count - 1, length));
            }
        }
    }

    /// Undoes everything.
    fn close(&mut self) {
        for number in 0..self.count {
            let Line::Write(Change { path, .. }) = change(number, 1) else { return };
            if !self.note(Line::Done { path }) {
                return;
            }
        }
        let Some(journal) = self.journal.take() else { return };
        if journal.close().is_ok() && !self.path().exists() {
            self.start();
        }
    }

    fn start(&mut self) {
        self.count = 0;
        self.tried.clear();
        self.journal = Journal::open(&self.path()).ok();
    }

    /// Lays out what is left, and looks at it.
    fn look(&mut self) -> Result<(), String> {
        let next = self.disk.borrow_mut().after_cut();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        for (name, bytes) in next.files() {
            std::fs::write(folder.path().join(name), bytes).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(folder.path().join(name), mode).unwrap();
        }
        self.disk = Rc::new(RefCell::new(next));
        self.mounted.change(&self.disk);
        self.journal = None;
        self.folder = folder;
        let left = Journal::existing(&path).map_err(|error| error.to_string())?;
        let lines = left.as_ref().map(|left| text(&left.lines)).unwrap_or_default();
        if let Some(left) = &left
            && !left.unreadable.is_empty()
        {
            return Err(format!("lines {:?} cannot be read", left.unreadable));
        }
        // What is told is what was tried, in that order.
        let mut tried = self.tried.iter();
        for line in &lines {
            let same = |(tried, _): &(Line, bool)| text(std::slice::from_ref(tried))[0] == *line;
            if !tried.any(same) {
                return Err(format!("nobody noted {line}"));
            }
        }
        // What was undone need not be there.
        let safe: Vec<Line> =
            self.tried.iter().filter(|(_, safe)| *safe).map(|(line, _)| line.clone()).collect();
        let due = outstanding(&safe).len();
        let lost = text(&safe).into_iter().find(|line| !lines.contains(line));
        if let Some(lost) = lost.filter(|_| due > 0) {
            return Err(format!("lost: {lost}"));
        }
        self.journal = left;
        let left = self.journal.as_ref().map(|journal| journal.lines.clone()).unwrap_or_default();
        self.tried = left.into_iter().map(|line| (line, true)).collect();
        if self.journal.is_none() {
            self.start();
        }
        Ok(())
    }
}

fn schedule(seed: u64) -> Result<u64, String> {
    let mut draws = Draws::new(seed);
    let disk = Rc::new(RefCell::new(Disk::new(draws.below(u64::MAX))));
    let mounted = MountedDisk::new(&disk);
    let folder = tempfile::tempdir().unwrap();
    let (journal, tried) = (None, Vec::new());
    let mut fire = Fire { draws, disk, mounted, folder, journal, tried, count: 0 };
    fire.start();
    for _ in 0..3 {
        let scale = 1 << fire.draws.below(6);
        let after = fire.draws.below(scale);
        match fire.draws.below(3) {
            0 => fire.disk.borrow_mut().cut_after(after),
            1 => {
                let acts = [
                    DiskOperation::Write,
                    DiskOperation::Sync,
                    DiskOperation::SyncFolder,
                    DiskOperation::Truncate,
                    DiskOperation::Name,
                ];
                let act = acts[fire.draws.below(5) as usize];
                let how = if fire.draws.once_in(2) { Fails::Full } else { Fails::Broken };
                fire.disk.borrow_mut().plan(PlantedFault { act, after, times: 1, how });
            }
            _ => {}
        }
        for _ in 0..1 + fire.draws.below(12) {
            fire.step();
        }
        fire.look()?;
    }
    let trace = fire.disk.borrow().trace();
    Ok(trace)
}

#[test]
fn every_change_that_was_made_can_be_undone_after_any_fault_and_power_cut() {
    for seed in 0..if long() { 10_000 } else { 1_000 } {
        if let Err(why) = schedule(seed) {
            panic!("seed {seed}: {why}");
        }
    }
}

#[test]
fn a_seed_repeats_its_schedule() {
    for seed in 0..100 {
        assert_eq!(schedule(seed), schedule(seed), "{seed}");
    }
}

#[test]
fn each_of_seven_planted_bugs_is_found_within_a_hundred_schedules() {
    let plants = [
        Plant::LineNotSynced,
        Plant::LineAfterChange,
        Plant::TornLineStays,
        Plant::FolderNotSynced,
        Plant::SyncLies,
        Plant::WriteErrorLost,
        Plant::ShortWrite,
    ];
    let found = |bug: &Plant| {
        plant(Some(*bug));
        let found = (0..100).any(|seed| schedule(seed).is_err());
        plant(None);
        found
    };
    let missed: Vec<_> = plants.into_iter().filter(|bug| !found(bug)).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}

/// The power failed within a line whose end reached the disk before its beginning: `undo` said for
/// ever that a line cannot be read, of a change that was never made.
#[test]
fn a_last_line_that_begins_with_zeros_was_never_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    let mut journal = Journal::open(&path).unwrap();
    journal.note(change(1, 1)).unwrap();
    journal.note(change(2, 900)).unwrap();
    drop(journal);
    let mut bytes = std::fs::read(&path).unwrap();
    let second = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    bytes[second..512].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let mut journal = Journal::open(&path).unwrap();
    assert_eq!(journal.unreadable, Vec::<usize>::new());
    assert_eq!(text(&journal.lines), text(&[change(1, 1)]));
    journal.note(change(3, 1)).unwrap();
    drop(journal);
    let journal = Journal::open(&path).unwrap();
    assert_eq!(text(&journal.lines), text(&[change(1, 1), change(3, 1)]));
}

/// A line that found no room left its first half behind; the next one, said to be safe, was read
/// as a part of it, and its change was never undone.
#[test]
fn a_line_after_one_that_failed_stands_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    let disk = Rc::new(RefCell::new(Disk::new(1)));
    let _mounted = MountedDisk::new(&disk);
    let mut journal = Journal::open(&path).unwrap();
    journal.note(change(1, 1)).unwrap();
    disk.borrow_mut().plan(PlantedFault {
        act: DiskOperation::Write,
        after: 0,
        times: 1,
        how: Fails::Full,
    });
    let error = journal.note(change(2, 1)).unwrap_err();
    assert!(error.why.contains("No space left"), "{error}");
    journal.note(change(3, 1)).unwrap();
    drop(journal);
    let journal = Journal::open(&path).unwrap();
    assert_eq!(journal.unreadable, Vec::<usize>::new());
    assert_eq!(text(&journal.lines), text(&[change(1, 1), change(3, 1)]));
}
