//! Whether the work was truly done: the directories are read again, and what is in them is counted.
//!
//! It is what `ls` would show, and it must be what the streams counted: a trial whose figures count
//! operations that left no trace has no figures.

use std::path::Path;

use rustix::fs::{AtFlags, Dir};

use super::act::AGED_S;
use super::entry::{FILE, MADE, OTHER, is_bonnies};
use super::job::{TreeJob, TreeOperation};
use super::lane::TreeLaneResult;
use super::place::{StreamTree, path};
use crate::engine::Error;
use host::sys::beneath;

/// What is in the directories of a tree, those of the tree itself left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeCounts {
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
fn expected(job: &TreeJob, done: &[&TreeLaneResult]) -> TreeCounts {
    let there = job.files * done.len() as u64;
    let ops: u64 = done.iter().map(|done| done.ops).sum();
    let none = TreeCounts::default();
    match job.work {
        TreeOperation::Create => TreeCounts { files: ops, bytes: ops * job.file_bytes, ..none },
        TreeOperation::Mkdir => TreeCounts { made: ops, ..none },
        TreeOperation::Rmdir => TreeCounts { made: there.saturating_sub(ops), ..none },
        TreeOperation::Unlink => TreeCounts { files: there.saturating_sub(ops), ..none },
        TreeOperation::Link => TreeCounts { files: there, others: ops, ..none },
        TreeOperation::Rename => {
            // After an even number of rounds the round in hand gives other names, after an odd one
            // it takes them back.
            let others = |done: &&TreeLaneResult| match (done.ops / job.files, done.ops % job.files)
            {
                (rounds, more) if rounds % 2 == 0 => more,
                (_, more) => job.files - more,
            };
            let others = done.iter().map(others).sum();
            TreeCounts { files: there - others, others, ..none }
        }
        TreeOperation::Touch => {
            let touched = done.iter().map(|done| done.ops.min(job.files)).sum();
            TreeCounts { files: there, touched, ..none }
        }
        TreeOperation::Open
        | TreeOperation::Stat
        | TreeOperation::Readdir
        | TreeOperation::Fsync => TreeCounts { files: there, ..none },
    }
}

/// Fails when what the streams did is not what is there.
///
/// # Errors
/// With both counts.
pub fn check(job: &TreeJob, places: &[StreamTree], done: &[TreeLaneResult]) -> Result<(), Error> {
    let mut roots: Vec<&Path> = places.iter().map(|place| place.root.as_path()).collect();
    roots.sort_unstable();
    roots.dedup();
    for root in roots {
        let here = places.iter().zip(done).filter(|(place, _)| place.root == root);
        let done: Vec<&TreeLaneResult> = here.map(|(_, done)| done).collect();
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
pub fn look(job: &TreeJob, root: &Path) -> Result<TreeCounts, Error> {
    let mut found = TreeCounts::default();
    for number in 0..job.directories() {
        let path = path(root, number, job.width);
        look_into(job, &path, &mut found)
            .map_err(|why| Error::Failed(format!("cannot read {}: {why}", path.display())))?;
    }
    Ok(found)
}

fn look_into(job: &TreeJob, path: &Path, found: &mut TreeCounts) -> Result<(), rustix::io::Errno> {
    let directory = beneath::open_folder(path)?;
    let sizes = job.work == TreeOperation::Create && job.file_bytes > 0;
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
        if sizes || job.work == TreeOperation::Touch {
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let stat = rustix::fs::statat(&directory, entry.file_name(), flags)?;
            found.bytes += if sizes { stat.st_size.max(0) as u64 } else { 0 };
            let touched = job.work == TreeOperation::Touch && stat.st_mtime > AGED_S;
            found.touched += u64::from(touched);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    fn after(operation: &str, ops: u64) -> TreeCounts {
        let knobs = [
            ("operation", operation),
            ("cold", "false"),
            ("stop", "pass"),
            ("file-size", "100B"),
            ("files", "10"),
        ];
        let job = TreeJob::from_settings(&settings("tree", &knobs), 1, 2).unwrap();
        let done = TreeLaneResult { ops, ..TreeLaneResult::default() };
        expected(&job, &[&done, &TreeLaneResult { ops: 10, ..TreeLaneResult::default() }])
    }

    #[test]
    fn what_must_be_there_follows_from_what_was_counted() {
        let none = TreeCounts::default();
        assert_eq!(after("create", 3), TreeCounts { files: 13, bytes: 1300, ..none });
        assert_eq!(after("unlink", 3), TreeCounts { files: 7, ..none });
        assert_eq!(after("link", 3), TreeCounts { files: 20, others: 13, ..none });
        assert_eq!(after("mkdir", 3), TreeCounts { made: 13, ..none });
        assert_eq!(after("rmdir", 3), TreeCounts { made: 7, ..none });
        assert_eq!(after("touch", 33), TreeCounts { files: 20, touched: 20, ..none });
        assert_eq!(after("stat", 33), TreeCounts { files: 20, ..none });
        // The other stream has gone through once: all its ten have their other names.
        assert_eq!(after("rename", 3), TreeCounts { files: 7, others: 13, ..none });
        assert_eq!(after("rename", 13), TreeCounts { files: 3, others: 17, ..none });
        assert_eq!(after("rename", 20), TreeCounts { files: 10, others: 10, ..none });
    }

    #[test]
    fn one_file_too_few_fails_the_trial_with_both_counts() {
        let folder = tempfile::tempdir().unwrap();
        let knobs = [("cold", "false"), ("stop", "pass"), ("file-size", "0"), ("files", "10")];
        let job = TreeJob::from_settings(&settings("tree", &knobs), 1, 2).unwrap();
        let places = super::super::place::places(&job, &[folder.path().to_owned()]);
        super::super::place::make(&job, &places[0].root).unwrap();
        std::fs::File::create(places[0].root.join("f0000.000000")).unwrap();
        let done = |ops| TreeLaneResult { ops, ..TreeLaneResult::default() };
        assert_eq!(check(&job, &places, &[done(1)]), Ok(()));
        let Err(Error::Failed(why)) = check(&job, &places, &[done(2)]) else { panic!() };
        assert!(why.contains("files: 1,") && why.contains("files: 2,"), "{why}");
    }
}
