//! Whether the work was truly done: the directories are read again, and what is in them is counted.
//!
//! It is what `ls` would show, and it must be what the streams counted: a trial whose figures count
//! operations that left no trace has no figures.

use std::path::Path;

use rustix::fs::{AtFlags, Dir};

use super::act::AGED_S;
use super::entry::{FILE, MADE, OTHER, is_bonnies};
use super::job::{Job, Work};
use super::lane::Done;
use super::place::{Place, path};
use crate::engine::Error;
use host::sys::beneath;

/// What is in the directories of a tree, those of the tree itself left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Files under their first names.
    pub files: u64,
    /// Files under their other names.
    pub others: u64,
    /// Directories that were worked on.
    pub made: u64,
    /// Bytes of the files under their first names, where that was asked for.
    pub bytes: u64,
    /// Files whose times are not those of long ago, where that was asked for.
    pub touched: u64,
}

/// What streams that did `done` must have left.
fn expected(job: &Job, done: &[&Done]) -> Found {
    let there = job.files * done.len() as u64;
    let ops: u64 = done.iter().map(|done| done.ops).sum();
    let none = Found::default();
    match job.work {
        Work::Create => Found { files: ops, bytes: ops * job.file_bytes, ..none },
        Work::Mkdir => Found { made: ops, ..none },
        Work::Rmdir => Found { made: there.saturating_sub(ops), ..none },
        Work::Unlink => Found { files: there.saturating_sub(ops), ..none },
        Work::Link => Found { files: there, others: ops, ..none },
        Work::Rename => {
            // After an even number of rounds the round in hand gives other names, after an odd one
            // it takes them back.
            let others = |done: &&Done| match (done.ops / job.files, done.ops % job.files) {
                (rounds, more) if rounds % 2 == 0 => more,
                (_, more) => job.files - more,
            };
            let others = done.iter().map(others).sum();
            Found { files: there - others, others, ..none }
        }
        Work::Touch => {
            let touched = done.iter().map(|done| done.ops.min(job.files)).sum();
            Found { files: there, touched, ..none }
        }
        Work::Open | Work::Stat | Work::Readdir | Work::Fsync => Found { files: there, ..none },
    }
}

/// Fails when what the streams did is not what is there.
///
/// # Errors
/// With both counts.
pub fn check(job: &Job, places: &[Place], done: &[Done]) -> Result<(), Error> {
    let mut roots: Vec<&Path> = places.iter().map(|place| place.root.as_path()).collect();
    roots.sort_unstable();
    roots.dedup();
    for root in roots {
        let here = places.iter().zip(done).filter(|(place, _)| place.root == root);
        let done: Vec<&Done> = here.map(|(_, done)| done).collect();
        let (expected, found) = (expected(job, &done), look(job, root)?);
        if found != expected {
            return Err(Error::Failed(format!(
                "what was done is not what is there: after {} in {} there are {found:?}, and the \
                 streams counted {expected:?}",
                job.work.name(),
                root.display()
            )));
        }
    }
    Ok(())
}

/// Reads the names of all directories of a tree.
///
/// # Errors
/// With the directory and the kernel's words.
pub fn look(job: &Job, root: &Path) -> Result<Found, Error> {
    let mut found = Found::default();
    for number in 0..job.directories() {
        let path = path(root, number, job.width);
        look_into(job, &path, &mut found)
            .map_err(|why| Error::Failed(format!("cannot read {}: {why}", path.display())))?;
    }
    Ok(found)
}

fn look_into(job: &Job, path: &Path, found: &mut Found) -> Result<(), rustix::io::Errno> {
    let directory = beneath::open_folder(path)?;
    let sizes = job.work == Work::Create && job.file_bytes > 0;
    for entry in Dir::read_from(&directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        match name.first() {
            _ if job.bonnie_names && is_bonnies(name) => found.files += 1,
            _ if job.bonnie_names => continue,
            Some(&FILE) => found.files += 1,
            Some(&OTHER) => found.others += 1,
            Some(&MADE) => found.made += 1,
            _ => continue,
        }
        if sizes || job.work == Work::Touch {
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let stat = rustix::fs::statat(&directory, entry.file_name(), flags)?;
            found.bytes += if sizes { stat.st_size.max(0) as u64 } else { 0 };
            let touched = job.work == Work::Touch && stat.st_mtime > AGED_S;
            found.touched += u64::from(touched);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    fn after(operation: &str, ops: u64) -> Found {
        let knobs = [
            ("operation", operation),
            ("cold", "false"),
            ("stop", "pass"),
            ("file-size", "100B"),
            ("files", "10"),
        ];
        let job = Job::of(&settings("tree", &knobs), 1, 2).unwrap();
        let done = Done { ops, ..Done::default() };
        expected(&job, &[&done, &Done { ops: 10, ..Done::default() }])
    }

    #[test]
    fn what_must_be_there_follows_from_what_was_counted() {
        let none = Found::default();
        assert_eq!(after("create", 3), Found { files: 13, bytes: 1300, ..none });
        assert_eq!(after("unlink", 3), Found { files: 7, ..none });
        assert_eq!(after("link", 3), Found { files: 20, others: 13, ..none });
        assert_eq!(after("mkdir", 3), Found { made: 13, ..none });
        assert_eq!(after("rmdir", 3), Found { made: 7, ..none });
        assert_eq!(after("touch", 33), Found { files: 20, touched: 20, ..none });
        assert_eq!(after("stat", 33), Found { files: 20, ..none });
        // The other stream has gone through once: all its ten have their other names.
        assert_eq!(after("rename", 3), Found { files: 7, others: 13, ..none });
        assert_eq!(after("rename", 13), Found { files: 3, others: 17, ..none });
        assert_eq!(after("rename", 20), Found { files: 10, others: 10, ..none });
    }

    #[test]
    fn one_file_too_few_fails_the_trial_with_both_counts() {
        let folder = tempfile::tempdir().unwrap();
        let knobs = [("cold", "false"), ("stop", "pass"), ("file-size", "0"), ("files", "10")];
        let job = Job::of(&settings("tree", &knobs), 1, 2).unwrap();
        let places = super::super::place::places(&job, &[folder.path().to_owned()]);
        super::super::place::make(&job, &places[0].root).unwrap();
        std::fs::File::create(places[0].root.join("f0000.000000")).unwrap();
        let done = |ops| Done { ops, ..Done::default() };
        assert_eq!(check(&job, &places, &[done(1)]), Ok(()));
        let Err(Error::Failed(why)) = check(&job, &places, &[done(2)]) else { panic!() };
        assert!(why.contains("files: 1,") && why.contains("files: 2,"), "{why}");
    }
}
