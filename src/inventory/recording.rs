//! Recordings: another machine's /proc and /sys in one text, to be read here.
//!
//! A line is `path = text`, `path = hex 00b1`, `path -> path` (a link), `path/` (a directory),
//! `path:` followed by indented lines, or `path: hex` followed by indented lines of digits. A `#`
//! begins a comment. How a machine is recorded is in `recording/record.rs`.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::sys::unpacked::Unpacked;
use crate::sys::{Error, Host, write_whole};

mod folder;
mod names;
mod private;
mod record;
mod text;
mod walk;
mod wanted;

pub use record::record;

use text::{Node, Tree};

/// Bytes that the text of a recording may have, unpacked.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// A recorded machine, unpacked where it can be read; gone when dropped.
#[derive(Debug)]
pub struct Recording {
    place: Place,
}

#[derive(Debug)]
enum Place {
    Unpacked(Unpacked),
    /// Somebody's own directory, which stays.
    Folder(PathBuf),
}

impl Recording {
    /// Opens a recording: a text as `inspect --record` makes it, plain or packed with gzip(1), or a
    /// directory that holds proc and sys of a machine.
    ///
    /// # Errors
    /// When it cannot be read; with the line that cannot be understood; when a directory has links
    /// that lead out of it.
    pub fn open_path(path: &Path) -> Result<Recording, Error> {
        let what = || format!("cannot read the recording {}", path.display());
        let hint = "`brickyard inspect --record FILE` makes a recording";
        let kind = path.metadata().map_err(|error| Error::new(what(), error).hint(hint))?;
        if kind.is_dir() {
            let root = path.canonicalize().map_err(|error| Error::new(what(), error))?;
            folder::check(&root).map_err(|why| {
                Error::new(what(), why).hint("record that machine with inspect --record FILE")
            })?;
            return Ok(Recording { place: Place::Folder(root) });
        }
        let bytes = read(path).map_err(|why| Error::new(what(), why).hint(hint))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
            Error::new(what(), format!("line {line} is not text")).hint(hint)
        })?;
        Recording::of_text(&text).map_err(|error| match error {
            Unmade::Fault(fault) => {
                Error::new(what(), format!("line {}: {}", fault.line, fault.why)).hint(hint)
            }
            Unmade::Refused(error) => error,
        })
    }

    /// Unpacks the text of a recording that ships with the program.
    ///
    /// # Errors
    /// When there is no room to unpack it; with the line that cannot be understood.
    pub fn of_shipped(name: &str, text: &str) -> Result<Recording, Error> {
        Recording::of_text(text).map_err(|error| match error {
            Unmade::Fault(fault) => {
                let what = format!("cannot read the recording of {name}");
                Error::new(what, format!("line {}: {}", fault.line, fault.why))
            }
            Unmade::Refused(error) => error,
        })
    }

    fn of_text(text: &str) -> Result<Recording, Unmade> {
        let tree = Tree::parse(text).map_err(Unmade::Fault)?;
        let unpacked = unpack(&tree).map_err(Unmade::Refused)?;
        Ok(Recording { place: Place::Unpacked(unpacked) })
    }

    /// The machine that was recorded.
    pub fn host(&self) -> Host {
        match &self.place {
            Place::Unpacked(unpacked) => Host::at(unpacked.root()),
            Place::Folder(root) => Host::at(root),
        }
    }
}

/// Writes the text of a recording to a file, packed as by gzip(1) when its name ends so.
///
/// # Errors
/// When it cannot be written there.
pub fn save(text: &str, path: &Path) -> Result<(), Error> {
    if path.extension().is_none_or(|extension| extension != "gz") {
        return write_whole(path, text.as_bytes());
    }
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    let packed = packer.write_all(text.as_bytes()).and_then(|()| packer.finish());
    let packed =
        packed.map_err(|error| Error::new(format!("cannot write {}", path.display()), error))?;
    write_whole(path, &packed)
}

#[derive(Debug)]
enum Unmade {
    Fault(text::Fault),
    Refused(Error),
}

/// Directories and files first, links last: nothing is ever written through a link.
fn unpack(tree: &Tree) -> Result<Unpacked, Error> {
    let unpacked = Unpacked::create()?;
    for (path, node) in tree.nodes() {
        match node {
            Node::Directory => unpacked.directory(path)?,
            Node::File(bytes) => unpacked.file(path, bytes)?,
            Node::Link(_) => {}
        }
    }
    for (path, node) in tree.nodes() {
        if let Node::Link(target) = node {
            unpacked.link(path, target)?;
        }
    }
    Ok(unpacked)
}

/// The bytes of a file, unpacked where it is packed.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let told = |error: std::io::Error| error.to_string();
    file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(told)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let packed = std::mem::take(&mut bytes);
        let unpacked = flate2::read::MultiGzDecoder::new(packed.as_slice());
        unpacked
            .take(TEXT_BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("it is not packed as gzip(1) packs: {error}"))?;
    }
    match bytes.len() as u64 > TEXT_BYTES_MAX {
        true => Err(format!("it is longer than {} MiB", TEXT_BYTES_MAX >> 20)),
        false => Ok(bytes),
    }
}

#[cfg(test)]
impl Recording {
    /// Unpacks `tests/fixtures/sys/<name>.txt`.
    pub fn open(name: &str) -> Recording {
        let file = format!("{}/tests/fixtures/sys/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        Recording::open_path(Path::new(&file)).unwrap()
    }

    /// Unpacks the text of a recording.
    pub fn unpack(text: &str) -> Recording {
        Recording::of_text(text).unwrap()
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;

    fn error(bytes: &[u8]) -> Error {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("r.txt");
        std::fs::write(&file, bytes).unwrap();
        Recording::open_path(&file).unwrap_err()
    }

    #[test]
    fn a_recording_is_read_plain_and_packed_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("r");
        let text = b"/sys/a = 1\n/sys/l -> a\n";
        std::fs::write(&file, text).unwrap();
        let plain = Recording::open_path(&file).unwrap();
        assert_eq!(plain.host().word("/sys/l").unwrap(), "1");
        let file = folder.path().join("r.gz");
        save(std::str::from_utf8(text).unwrap(), &file).unwrap();
        assert!(std::fs::read(&file).unwrap().starts_with(&[0x1f, 0x8b]));
        let packed = Recording::open_path(&file).unwrap();
        assert_eq!(packed.host().word("/sys/a").unwrap(), "1");
        assert!(!packed.host().is_live());
        let at = packed.host().path("/");
        drop(packed);
        assert!(!at.exists());
    }

    #[test]
    fn what_is_no_recording_is_refused_with_the_line_and_a_hint() {
        let refused = error(b"/a = 1\n\x7fELF\n");
        assert!(refused.why.starts_with("line 2: what is"), "{refused}");
        assert!(refused.hint.unwrap().contains("--record"));
        assert_eq!(error(b"/a = 1\n/b = \xff\n").why, "line 2 is not text");
        assert!(error(&[0x1f, 0x8b, 8, 0, 1, 2, 3]).why.contains("gzip"));
        let missing = Recording::open_path(Path::new("/no/such/file")).unwrap_err();
        assert!(missing.why.contains("No such file"), "{missing}");
    }

    /// A packed text of a few kilobytes may unpack to gigabytes.
    #[test]
    fn a_packed_text_that_swells_is_refused() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        let blanks = vec![b'\n'; 1 << 20];
        for _ in 0..66 {
            packer.write_all(&blanks).unwrap();
        }
        assert!(error(&packer.finish().unwrap()).why.contains("longer than 64 MiB"));
    }

    #[test]
    fn a_link_in_a_circle_can_be_recorded_and_is_read_as_nothing() {
        let loops = Recording::unpack("/sys/a -> /sys/b\n/sys/b -> /sys/a\n/sys/c -> .\n");
        assert_eq!(loops.host().word("/sys/a"), None);
        assert_eq!(loops.host().resolve("/sys/a"), None);
    }
}
