//! Whether a directory can be measured at all, said before anything is made in it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::Access;

use facts::share::is_export;
use host::sys::Error;
use host::sys::filesystem::space;

/// Gives the directory's real path, after looking at everything that would fail later.
///
/// # Errors
/// When it is missing, no directory, not writable, read-only or full; with what to do.
pub fn checked(name: &str) -> Result<String, Error> {
    let what = || format!("cannot measure in {name}");
    let path = Path::new(name);
    let real = path.canonicalize().map_err(|error| {
        let hint = match error.raw_os_error() {
            Some(libc::ENOENT) => format!("mkdir -p {name}"),
            Some(libc::ELOOP) => {
                "its path goes round in a circle of symbolic links: name the real directory".into()
            }
            Some(libc::ENOTDIR) => "name a directory, not something below a file".into(),
            _ => "name a directory that you may enter".to_owned(),
        };
        Error::new(what(), error).hint(hint)
    })?;
    if !real.is_dir() {
        let parent = real.parent().unwrap_or(Path::new("/")).display();
        return Err(Error::new(what(), "it is not a directory (os error 20)")
            .hint(format!("name a directory on that file system, such as {parent}")));
    }
    let room = space(&real)?;
    if room.total_bytes == 0 {
        return Err(Error::new(what(), "that file system holds no files of ours (it has no room)")
            .hint("name a directory on a disk"));
    }
    if room.read_only {
        return Err(Error::new(what(), "it is mounted read-only")
            .hint("files must be written to be read: name a directory on a writable mount"));
    }
    if let Err(error) = rustix::fs::access(&real, Access::WRITE_OK | Access::EXEC_OK) {
        return Err(Error::new(what(), std::io::Error::from(error))
            .hint("name a directory that you may write in, or run as root"));
    }
    match real.into_os_string().into_string() {
        Ok(real) => Ok(real),
        Err(_) => Err(Error::new(what(), "its name is not UTF-8").hint("rename it, or link to it")),
    }
}

/// The same; an export of a server, `SERVER:/EXPORT`, is looked at once it is mounted.
///
/// # Errors
/// As [`checked`].
pub fn checked_or_export(name: &str) -> Result<String, Error> {
    if is_export(name) { Ok(name.to_owned()) } else { checked(name) }
}

/// The device number of a directory's file system.
pub(super) fn device(name: &str) -> Result<u64, Error> {
    Path::new(name)
        .metadata()
        .map(|metadata| metadata.dev())
        .map_err(|error| Error::new(format!("cannot look at {name}"), error))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_measured_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let name = |below: &str| folder.path().join(below).display().to_string();
        assert_eq!(
            checked(&name("")).unwrap(),
            folder.path().canonicalize().unwrap().to_str().unwrap()
        );

        let missing = checked(&name("missing")).unwrap_err();
        assert!(missing.why.contains("os error 2"), "{missing:?}");
        assert!(missing.hint.unwrap().starts_with("mkdir -p"));

        std::fs::write(folder.path().join("file"), "x").unwrap();
        assert!(checked(&name("file")).unwrap_err().why.contains("not a directory"));

        std::os::unix::fs::symlink("a", folder.path().join("b")).unwrap();
        std::os::unix::fs::symlink("b", folder.path().join("a")).unwrap();
        let circle = checked(&name("a")).unwrap_err();
        assert!(circle.hint.unwrap().contains("circle"), "{}", circle.why);
        assert!(checked("").is_err());
    }
}
