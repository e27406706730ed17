//! What `import` was pointed at: files, folders with all files below them, and standard input.

use std::path::{Path, PathBuf};

use host::sys::Error;
use host::sys::input::IMPORT;

/// Standard input, as it is typed.
const STANDARD_INPUT: &str = "-";
/// No folder of results nests so deep; one that links to itself on a file system does.
const DEPTH_MAX: usize = 64;

/// One text to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// As it is told: what was typed, or where it lies below that.
    pub name: String,
    /// Whether it was named by itself; others were found in a folder that was.
    pub is_named: bool,
}

/// All of them, in the order in which they were typed, those of a folder by name. Links in a folder
/// are not followed, and names that begin with a point are not looked at, as of `.git`.
///
/// # Errors
/// When a folder cannot be read, or has no file.
pub fn sources(typed: &[String]) -> Result<Vec<Source>, Error> {
    let mut all = Vec::new();
    for name in typed {
        let path = Path::new(name);
        if name == STANDARD_INPUT || !path.is_dir() {
            all.push(Source { name: name.clone(), is_named: true });
            continue;
        }
        let before = all.len();
        below(path, 0, &mut all)?;
        if all.len() == before {
            let what = format!("cannot import the folder {name}");
            return Err(Error::new(what, "there is no file in it").hint("name the files"));
        }
    }
    Ok(all)
}

fn below(folder: &Path, depth: usize, all: &mut Vec<Source>) -> Result<(), Error> {
    let cannot = |why: &dyn host::sys::Cause| {
        Error::new(format!("cannot look into the folder {}", folder.display()), why)
            .hint("name the files, or a folder that may be read")
    };
    if depth == DEPTH_MAX {
        return Err(cannot(&"it lies too deep"));
    }
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in folder.read_dir().map_err(|why| cannot(&why))? {
        entries.push(entry.map_err(|why| cannot(&why))?.path());
    }
    entries.sort();
    for path in entries {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let Some(there) = path.symlink_metadata().ok().filter(|_| !hidden) else { continue };
        if there.is_dir() {
            below(&path, depth + 1, all)?;
        } else if there.is_file() {
            all.push(Source { name: path.to_string_lossy().into_owned(), is_named: false });
        }
    }
    Ok(())
}

impl Source {
    /// What it holds, unpacked; what is not UTF-8 or UTF-16 in it is replaced.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn text(&self) -> Result<Vec<u8>, Error> {
        let what = || format!("cannot import {}", self.name);
        let read = match self.name.as_str() {
            STANDARD_INPUT => IMPORT.standard_input_bytes(),
            name => IMPORT.read(Path::new(name)),
        };
        let bytes = read.map_err(|error| Error { what: what(), ..error })?;
        IMPORT.unpacked(bytes).map_err(|why| Error::new(what(), why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes fixtures")]
    fn a_folder_is_all_files_below_it_by_name_without_links_and_hidden_ones() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("b/c")).unwrap();
        std::fs::create_dir(at(".git")).unwrap();
        for name in ["b/c/2", "b/1", "a", ".git/x", ".hidden"] {
            std::fs::write(at(name), "").unwrap();
        }
        std::os::unix::fs::symlink(at("a"), at("link")).unwrap();
        std::os::unix::fs::symlink(folder.path(), at("b/around")).unwrap();
        let typed = [folder.path().to_string_lossy().into_owned(), "-".to_owned()];
        let found = sources(&typed).unwrap();
        let told = |source: &Source| source.name.replace(&format!("{}/", typed[0]), "");
        let names: Vec<String> = found.iter().map(told).collect();
        assert_eq!(names, ["a", "b/1", "b/c/2", "-"]);
        assert_eq!(found.iter().filter(|source| source.is_named).count(), 1);
        std::fs::create_dir(at("empty")).unwrap();
        let error = sources(&[at("empty").to_string_lossy().into_owned()]).unwrap_err();
        assert_eq!(error.why, "there is no file in it");
    }

    /// A log of 2 GiB was read to a quarter before it was refused.
    #[test]
    fn a_log_of_two_gib_is_refused_before_it_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(2 << 30).unwrap();
        let name = file.path().to_string_lossy().into_owned();
        let why = Source { name, is_named: true }.text().unwrap_err().why;
        assert_eq!(why, "it is larger than 256 MiB");
    }
}
