//! Recordings: another machine's /proc and /sys in one text, to be read here.
//!
//! A line is `path = text`, `path = hex 00b1`, `path -> path` (a link), `path/` (a directory),
//! `path:` followed by indented lines, or `path: hex` followed by indented lines of digits. A `#`
//! begins a comment. How a machine is recorded is in `recording/record.rs`.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::sys::input::{GZIP, RECORDING};
use crate::sys::output::Output;
use crate::sys::unpacked::Unpacked;
use crate::sys::{Error, Host};

mod folder;
mod names;
pub mod pasted;
mod private;
mod record;
mod sosreport;
mod text;
mod walk;
mod wanted;

pub use record::record;

use text::{Node, Tree};

/// A recorded machine, unpacked where it can be read; gone when dropped.
#[derive(Debug)]
pub struct Recording {
    place: RecordingFolder,
}

/// Where the files of a recording can be read: unpacked by us, or somebody's own directory.
#[derive(Debug)]
enum RecordingFolder {
    Unpacked(Unpacked),
    /// Somebody's own directory, which stays.
    Folder(PathBuf),
}

impl Recording {
    /// Opens a recording: a text as `inspect --record` makes it, plain or packed with gzip(1), a
    /// directory that holds proc and sys of a machine, or what people paste of one.
    ///
    /// # Errors
    /// When it cannot be read; with the line that cannot be understood; when a directory has links
    /// that lead out of it.
    pub fn open_path(path: &Path) -> Result<Recording, Error> {
        Recording::open_paths(std::slice::from_ref(&path))
    }

    /// The same of several texts that people pasted of one machine. A recording or a directory
    /// stands alone, as it is a whole machine.
    ///
    /// # Errors
    /// As [`Recording::open_path`]; when several are not all pasted texts.
    pub fn open_paths<P: AsRef<Path>>(paths: &[P]) -> Result<Recording, Error> {
        let paths: Vec<&Path> = paths.iter().map(AsRef::as_ref).collect();
        if let [path] = paths[..]
            && is_directory(path)?
        {
            let what = || format!("cannot read the recording {}", path.display());
            let root = path.canonicalize().map_err(|error| Error::new(what(), error))?;
            if sosreport::is_one(&root) {
                let tree = sosreport::tree(&root).map_err(|why| Error::new(what(), why))?;
                return Ok(Recording { place: RecordingFolder::Unpacked(unpack(&tree)?) });
            }
            folder::check(&root).map_err(|why| {
                Error::new(what(), why).hint("record that machine with inspect --record FILE")
            })?;
            return Ok(Recording { place: RecordingFolder::Folder(root) });
        }
        let mut texts = Vec::new();
        for path in &paths {
            let what = || format!("cannot read the recording {}", path.display());
            if is_directory(path)? {
                return Err(Error::new(what(), ALONE).hint("name it alone"));
            }
            let text = text_of(RECORDING.read(path)?, &what)?;
            if paths.len() > 1 && !is_pasted(&text) {
                let why = if looks_recorded(&text) {
                    ALONE.to_owned()
                } else {
                    pasted::why_unknown(&text)
                };
                return Err(Error::new(what(), why).hint(HINT));
            }
            texts.push((path.display().to_string(), text));
        }
        let Some((name, text)) = texts.first() else {
            return Err(Error::new("cannot read a recording", "none was named"));
        };
        let what = || format!("cannot read the recording {name}");
        match is_pasted(text) {
            false => Recording::of_one(text, what),
            true => Recording::of_pasted(&texts, what),
        }
    }

    /// Unpacks the bytes of a recording, plain or packed, or of what people pasted; `what` says
    /// what was tried with them.
    ///
    /// # Errors
    /// With the line that cannot be understood; when nothing of a machine is in it; when there is
    /// no room to unpack it.
    pub fn of_bytes(bytes: Vec<u8>, what: impl Fn() -> String) -> Result<Recording, Error> {
        let text = text_of(bytes, &what)?;
        match is_pasted(&text) {
            true => Recording::of_pasted(&[("the text".to_owned(), text)], what),
            false => Recording::of_one(&text, what),
        }
    }

    fn of_one(text: &str, what: impl Fn() -> String) -> Result<Recording, Error> {
        let fault = |fault: text::ParseFault| {
            Error::new(what(), format!("line {}: {}", fault.line, fault.why))
        };
        let written = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
        let first = text.lines().position(|line| written(&line)).map_or(0, |at| at + 1);
        // A text whose first lines are those of a recording is one that has a fault.
        let tree =
            Tree::parse(text).map_err(|why| match why.line > first || looks_recorded(text) {
                true => fault(why).hint(HINT),
                false => Error::new(what(), pasted::why_unknown(text)).hint(HINT),
            })?;
        // Other lists of paths and values read the same, and would be a machine of nothing.
        if !tree.nodes().any(|(path, _)| path.starts_with("/proc/") || path.starts_with("/sys/")) {
            let why = format!("nothing of /proc or /sys is in it: {}", pasted::unknown());
            return Err(Error::new(what(), why).hint(HINT));
        }
        Ok(Recording { place: RecordingFolder::Unpacked(unpack(&tree)?) })
    }

    fn of_pasted(
        texts: &[(String, String)],
        what: impl Fn() -> String,
    ) -> Result<Recording, Error> {
        let named: Vec<pasted::Named<'_>> =
            texts.iter().map(|(name, text)| pasted::Named { name, text }).collect();
        let tree = pasted::tree(&named).map_err(|why| {
            Error::new(what(), why)
                .hint("paste the whole output of each command, as it was printed")
        })?;
        Ok(Recording { place: RecordingFolder::Unpacked(unpack(&tree)?) })
    }

    /// Whether it was made from what people pasted.
    pub fn is_pasted(&self) -> bool {
        crate::inventory::server::pasted::pasted(&self.host()).is_some()
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
        Ok(Recording { place: RecordingFolder::Unpacked(unpacked) })
    }

    /// The machine that was recorded.
    pub fn host(&self) -> Host {
        match &self.place {
            RecordingFolder::Unpacked(unpacked) => Host::at(unpacked.root()),
            RecordingFolder::Folder(root) => Host::at(root),
        }
    }
}

const HINT: &str = "`brickyard inspect --record FILE` makes a recording";
const ALONE: &str = "a recording or a directory is a whole machine, and is not put together with \
                     other texts";

fn is_directory(path: &Path) -> Result<bool, Error> {
    let what = || format!("cannot read the recording {}", path.display());
    let kind = path.metadata().map_err(|error| Error::new(what(), error).hint(HINT))?;
    Ok(kind.is_dir())
}

fn text_of(bytes: Vec<u8>, what: &impl Fn() -> String) -> Result<String, Error> {
    let bytes = RECORDING.unpacked(bytes).map_err(|why| Error::new(what(), why).hint(HINT))?;
    let packed: [(&[u8], &str); 4] = [
        (b"BZh", "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"PK\x03\x04", "zip"),
    ];
    if let Some((_, by)) = packed.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        let why = format!("it is packed by {by}, which is not unpacked here");
        return Err(Error::new(what(), why).hint("unpack it, and name what was in it"));
    }
    if bytes.get(257..262) == Some(b"ustar") {
        let why = "it is an archive of tar, which is not unpacked here";
        return Err(Error::new(what(), why).hint("tar -xf it, and name the folder that was in it"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        Error::new(what(), format!("line {line} is not text")).hint(HINT)
    })
}

/// Whether a text is what people pasted, and no recording that holds such lines.
fn is_pasted(text: &str) -> bool {
    let kernels = |path: &str| path.starts_with("/proc/") || path.starts_with("/sys/");
    let recorded = || {
        let tree = Tree::parse(text);
        tree.is_ok_and(|tree| tree.nodes().any(|(path, _)| kernels(path)))
    };
    !text.starts_with(record::FIRST_WORDS) && pasted::knows(text) && !recorded()
}

/// Whether a text that cannot be read through is a recording all the same: it has paths of a
/// machine where a recording has them.
fn looks_recorded(text: &str) -> bool {
    text.starts_with(record::FIRST_WORDS)
        || text.lines().any(|line| line.starts_with("/proc/") || line.starts_with("/sys/"))
}

/// Writes the text of a recording to a file, packed as by gzip(1) when its name ends so.
///
/// # Errors
/// When it cannot be written there.
pub fn save(text: &str, to: &Output) -> Result<(), Error> {
    if to.path().extension().is_none_or(|extension| extension != "gz") {
        return to.write(text.as_bytes());
    }
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    let packed = packer.write_all(text.as_bytes()).and_then(|()| packer.finish());
    let packed = packed
        .map_err(|error| Error::new(format!("cannot write {}", to.path().display()), error))?;
    to.write(&packed)
}

/// Whether a file is a recording, of whatever version, by how it begins; packed or not.
pub fn is_recording(start: &[u8], _: &[u8]) -> bool {
    let mut head = Vec::new();
    let _ = match start.starts_with(&GZIP) {
        // What is cut off at the end is missed only after what is asked for.
        true => flate2::read::GzDecoder::new(start).take(64).read_to_end(&mut head),
        false => start.take(64).read_to_end(&mut head),
    };
    head.starts_with(record::FIRST_WORDS.as_bytes())
}

#[derive(Debug)]
enum Unmade {
    Fault(text::ParseFault),
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

#[cfg(any(test, feature = "testing"))]
impl Recording {
    /// Unpacks `tests/fixtures/sys/<name>.txt`.
    pub fn open(name: &str) -> Recording {
        let file = format!("{}/../../tests/fixtures/sys/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        Recording::open_path(Path::new(&file)).expect("a fixture")
    }

    /// Unpacks the text of a recording.
    pub fn unpack(text: &str) -> Recording {
        Recording::of_text(text).expect("a recording")
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;
    use crate::sys::output::{OutputKind, RequestedOutput};

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
        let kind = OutputKind { name: "recording", is: is_recording };
        let wanted = RequestedOutput { path: &file, flag: "--record", kind, force: false };
        let to = Output::decide(&wanted, Vec::new()).unwrap();
        save(std::str::from_utf8(text).unwrap(), &to).unwrap();
        assert!(to.write(b"").is_err(), "it has not the first line of a recording");
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

    /// `mdadm --detail` prints a path with a colon and indented lines, which read as a recording:
    /// a machine of 0 CPUs and no disks was printed, with status 0.
    #[test]
    fn a_text_without_anything_of_a_machine_is_no_recording() {
        let mdadm = "/dev/md0:\n           Version : 1.2\n        Raid Level : raid5\n    \
                     Raid Devices : 3\n             State : clean, degraded\n";
        let refused = error(mdadm.as_bytes());
        assert!(refused.why.contains("count of devices is not told"), "{refused}");
        for text in ["", "# a comment\n", "/etc/fstab:\n    /dev/sda1 / ext4\n", "/sys/\n"] {
            let refused = error(text.as_bytes());
            assert!(refused.why.contains("nothing of /proc or /sys"), "{text:?}: {refused}");
            assert!(refused.hint.unwrap().contains("inspect --record"));
        }
        assert!(Recording::of_bytes(b"/proc/version = x\n".to_vec(), String::new).is_ok());
    }

    /// A packed text of a few kilobytes may unpack to gigabytes.
    #[test]
    fn a_packed_text_that_swells_is_refused() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        let blanks = vec![b'\n'; 1 << 20];
        for _ in 0..66 {
            packer.write_all(&blanks).unwrap();
        }
        assert!(error(&packer.finish().unwrap()).why.contains("larger than 64 MiB"));
    }

    #[test]
    fn a_link_in_a_circle_can_be_recorded_and_is_read_as_nothing() {
        let loops = Recording::unpack("/sys/a -> /sys/b\n/sys/b -> /sys/a\n/sys/c -> .\n");
        assert_eq!(loops.host().word("/sys/a"), None);
        assert_eq!(loops.host().resolve("/sys/a"), None);
    }
}
