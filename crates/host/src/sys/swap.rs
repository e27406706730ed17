//! Whether somebody else could exchange what a path leads to.
//!
//! Our own loads reach their files from a descriptor ([`super::beneath`]). Programs of others take
//! names, and whoever may rename a directory on the way decides what a name leads to.

use std::path::Path;

use rustix::fs::{Mode, Stat};

/// Refuses to give programs a path that somebody could exchange under them: where a directory on
/// the way belongs to a user who is neither root nor we, or may be written by others.
///
/// In one with the sticky bit, as /tmp, only the owner of a name renames it. A group may write
/// where it is root's, or the one that only we are in: of our number, as `useradd` makes it.
///
/// # Errors
/// The whole reason, with that directory and what would do.
pub fn refuse(path: &Path) -> Result<(), String> {
    let unknown = |at: &Path, why: &dyn std::fmt::Display| {
        format!("whether somebody could exchange {} cannot be told: {why}", at.display())
    };
    let real = path.canonicalize().map_err(|why| unknown(path, &why))?;
    for at in real.ancestors() {
        let stat = rustix::fs::lstat(at).map_err(|why| unknown(at, &std::io::Error::from(why)))?;
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        if let Some(who) = stranger(&stat, uid.as_raw(), gid.as_raw()) {
            let at = at.display();
            return Err(format!(
                "programs find their files by name, and {who} could exchange {at}, or what is \
                 below it, while they run as user {}: measure in a directory that only you or root \
                 may write in, as each one above it; the engines of our own need no names",
                uid.as_raw()
            ));
        }
    }
    Ok(())
}

/// Who besides root and this user could exchange what is in a directory; `None` when nobody could.
fn stranger(directory: &Stat, uid: u32, gid: u32) -> Option<String> {
    let mode = Mode::from_raw_mode(directory.st_mode);
    let (owner, group) = (directory.st_uid, directory.st_gid);
    if owner != 0 && owner != uid {
        return Some(format!("its owner, user {owner},"));
    }
    if mode.contains(Mode::SVTX) {
        return None;
    }
    if mode.contains(Mode::WOTH) {
        return Some("anybody, as it is writable by all,".to_owned());
    }
    let private = group == 0 || (group == gid && gid == uid);
    (mode.contains(Mode::WGRP) && !private)
        .then(|| format!("the group {group}, which may write there,"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(owner: u32, group: u32, mode: u32) -> Stat {
        let mut stat = rustix::fs::stat("/").unwrap();
        (stat.st_uid, stat.st_gid, stat.st_mode) = (owner, group, 0o040_000 | mode);
        stat
    }

    #[test]
    fn only_root_and_we_may_write_on_the_way_to_what_a_program_is_given() {
        let who = |owner, group, mode| stranger(&stat(owner, group, mode), 1000, 1000);
        for (owner, group, mode) in [
            (0, 0, 0o755),
            (1000, 1000, 0o755),
            (0, 0, 0o1777),
            (1000, 50, 0o1777),
            (0, 0, 0o775),
            (1000, 1000, 0o775),
            (0, 50, 0o755),
        ] {
            assert_eq!(who(owner, group, mode), None, "{owner} {group} {mode:o}");
        }
        assert!(who(1001, 1000, 0o700).unwrap().contains("user 1001"));
        // Its owner renames what is in it, sticky or not.
        assert!(who(1001, 1000, 0o1777).unwrap().contains("user 1001"));
        assert!(who(0, 0, 0o777).unwrap().contains("anybody"));
        assert!(who(1000, 50, 0o775).unwrap().contains("group 50"));
        let root = |group, mode| stranger(&stat(0, group, mode), 0, 0);
        assert!(root(50, 0o775).is_some() && root(0, 0o775).is_none());
    }

    /// A program that root ran in the directory of a user wrote where that user's link led.
    #[test]
    fn the_directory_that_is_refused_is_named_with_its_owner() {
        let parent = tempfile::tempdir().unwrap();
        let (theirs, below) = (parent.path().join("theirs"), parent.path().join("theirs/x"));
        std::fs::create_dir_all(&below).unwrap();
        assert_eq!(refuse(&below), Ok(()));
        if std::os::unix::fs::chown(&theirs, Some(65534), Some(65534)).is_err() {
            return; // it takes root
        }
        let why = refuse(&below).unwrap_err();
        assert!(why.contains("user 65534") && why.contains("/theirs,"), "{why}");
        assert!(refuse(&parent.path().join("none")).unwrap_err().contains("os error 2"));
    }
}
