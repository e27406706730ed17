//! Looks through a directory that is to stand for a machine: what leads out of it would be read
//! from the machine that we run on.

use std::path::{Path, PathBuf};

/// What of it is looked at: where the inventory reads.
const PARTS: [&str; 6] =
    ["proc", "sys", "etc/tuned", "usr/share/misc", "usr/share/hwdata", ".brickyard"];
/// Files and directories that are looked at, and how deep they lie.
const ENTRIES_MAX: usize = 1_000_000;
const DEPTH_MAX: usize = 64;

/// Checks `root`, which is canonical.
///
/// # Errors
/// With what is wrong: it has neither proc nor sys, a link leads out of it, something in it is
/// neither file nor directory, or it has too many files.
pub fn check(root: &Path) -> Result<(), String> {
    if root == Path::new("/") {
        return Ok(());
    }
    if !["proc", "sys"].iter().any(|part| root.join(part).is_dir()) {
        return Err("it has neither a directory proc nor sys".to_owned());
    }
    let mut left = ENTRIES_MAX;
    let mut ahead: Vec<(PathBuf, usize)> = Vec::new();
    for part in PARTS {
        let path = root.join(part);
        match path.symlink_metadata() {
            Err(_) => {}
            Ok(kind) if kind.is_dir() => ahead.push((path, 0)),
            Ok(_) => stays(root, &path)?,
        }
    }
    while let Some((folder, depth)) = ahead.pop() {
        // What cannot be listed cannot be read either, and is reported there.
        let Ok(entries) = folder.read_dir() else { continue };
        for entry in entries.flatten() {
            left = left.checked_sub(1).ok_or("it has more than a million files")?;
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                if depth >= DEPTH_MAX {
                    return Err(format!("{} lies too deep", path.display()));
                }
                ahead.push((path, depth + 1));
            } else if kind.is_symlink() {
                stays(root, &path)?;
            } else if !kind.is_file() {
                return Err(format!("{} is neither a file nor a directory", path.display()));
            }
        }
    }
    Ok(())
}

/// A link that leads nowhere does no harm.
fn stays(root: &Path, link: &Path) -> Result<(), String> {
    match link.canonicalize() {
        Ok(end) if !end.starts_with(root) => {
            Err(format!("{} leads out of it, to {}", link.display(), end.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;
    use crate::inventory::recording::Recording;

    #[test]
    fn a_directory_is_taken_as_it_is_unless_something_leads_out_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert!(check(&root).unwrap_err().contains("neither"));
        std::fs::create_dir_all(root.join("sys/class/net")).unwrap();
        std::fs::write(root.join("sys/a"), "1\n").unwrap();
        std::os::unix::fs::symlink("../a", root.join("sys/class/in")).unwrap();
        std::os::unix::fs::symlink("/no/where", root.join("sys/class/broken")).unwrap();
        let recording = Recording::open_path(&root).unwrap();
        assert_eq!(recording.host().word("/sys/class/in").unwrap(), "1");
        drop(recording);
        assert!(root.join("sys/a").exists(), "somebody's directory stays");
        std::os::unix::fs::symlink("/etc/passwd", root.join("sys/class/out")).unwrap();
        assert!(check(&root).unwrap_err().contains("leads out of it, to /etc/passwd"));
    }

    #[test]
    fn a_pipe_that_would_be_waited_for_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("proc")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, root.join("proc/stat"), kind, mode, 0).unwrap();
        assert!(Recording::open_path(&root).unwrap_err().why.contains("neither a file nor"));
    }
}
