//! What a user names to be read, or feeds in: each kind of it with a bound.
//!
//! A file of the wrong kind costs a sentence and not the machine's memory: `/dev/zero` has no end,
//! and a sparse file holds terabytes. A device is not even opened, as that alone rewinds a tape or
//! starts a watchdog. A pipe is waited for, as every tool does; a terminal is one that people type.

use facts::error::Cause;
use std::fs::File;
use std::io::{BufRead, IsTerminal, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;

use super::Error;

/// One kind of input.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// What people call it: `the plan`.
    pub name: &'static str,
    /// No honest one is larger, bytes.
    pub bytes_max: u64,
    /// What to do about one that cannot be read.
    pub hint: &'static str,
    /// Whether it is read once alone: a pipe is used up by that.
    pub once: bool,
}

/// A plan: those that ship have 2 to 8 KiB.
pub const PLAN: Input = Input {
    name: "the plan",
    bytes_max: 4 << 20,
    hint: "name a plan file, or one that ships: `brickyard plan` lists them",
    once: true,
};
/// A list of checksums: 2 million names of a hundred bytes.
pub const CHECKLIST: Input = Input {
    name: "the list",
    bytes_max: 512 << 20,
    hint: "name a file that md5sum, sha256sum or b3sum wrote; split one that is larger",
    once: true,
};
/// What another tool printed: fio's document of a thousand jobs has 7 MB.
pub const IMPORT: Input = Input {
    name: "the output of a tool",
    bytes_max: 256 << 20,
    hint: "name a file that a tool wrote; `brickyard import --published --list` shows the sets \
           that ship",
    once: true,
};
/// A recording, before it is unpacked and after it; that of a large server has 2 MiB.
pub const RECORDING: Input = Input {
    name: "the recording",
    bytes_max: 64 << 20,
    hint: "`brickyard inspect --record FILE` makes a recording",
    once: true,
};
/// A loadfile: 10 times the one that Debian's dbench carries.
pub const LOADFILE: Input = Input {
    name: "the loadfile",
    bytes_max: 256 << 20,
    hint: "`apt-get install dbench` brings /usr/share/dbench/client.txt; `built-in` is ours",
    once: false,
};
/// A line of a log of acknowledged writes; the longest names a file for each of 4096 streams. The
/// log as a whole grows for as long as the test runs, and is never in memory.
pub const FLUSH_LOG: Input = Input {
    name: "the log",
    bytes_max: 32 << 20,
    hint: "name the file that was given as flush-log=",
    once: true,
};
/// A statement: those of people are far shorter, and of programs that people can read.
pub const SQL: Input = Input {
    name: "SQL",
    bytes_max: 1 << 20,
    hint: "give one statement at a time, in UTF-8; other bytes are written x'00FF'",
    once: true,
};
/// A file of /proc or /sys, or of a tree that stands for them; the longest that is known is
/// /proc/interrupts of a thousand processors, 10 MB.
pub const KERNEL: Input = Input {
    name: "a file of the kernel",
    bytes_max: 64 << 20,
    hint: "name a tree that was copied from a machine",
    once: true,
};
/// A line between this program and a worker that it started; results hold samples of hours.
pub const WORKER_LINE: Input = Input {
    name: "a line of a worker",
    bytes_max: 512 << 20,
    hint: "report this as a mistake of brickyard",
    once: true,
};

/// The lines between this program and a worker, without their ends, until one cannot be read.
pub fn lines(mut from: impl BufRead) -> impl Iterator<Item = String> {
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        WORKER_LINE.line(&mut from, &mut line).ok()??;
        let end = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'));
        line.truncate(end.map_or(0, |end| end + 1));
        String::from_utf8(line).ok()
    })
}

impl Input {
    fn cannot(&self, path: &Path, why: impl Cause) -> Error {
        Error::new(format!("cannot read {} {}", self.name, path.display()), why).hint(self.hint)
    }

    /// Opens a regular file, a pipe or a terminal to be read.
    ///
    /// # Errors
    /// When there is none, it may not be read, or it is something else.
    pub fn open(&self, path: &Path) -> Result<File, Error> {
        let failed = |why: &dyn Cause| self.cannot(path, why);
        let there = path.metadata().map_err(|why| failed(&why))?;
        refuse(&there).map_err(|why| failed(&why))?;
        if there.file_type().is_fifo() && !self.once {
            return Err(failed(&"it is a pipe, and it is read more than once"));
        }
        let file = File::options()
            .read(true)
            .custom_flags(libc::O_NOCTTY | libc::O_CLOEXEC)
            .open(path)
            .map_err(|why| failed(&why))?;
        // It may have been another one when we asked.
        let opened = file.metadata().map_err(|why| failed(&why))?;
        refuse(&opened).map_err(|why| failed(&why))?;
        if opened.file_type().is_char_device() && !file.is_terminal() {
            return Err(failed(&DEVICE));
        }
        Ok(file)
    }

    /// All bytes of a file.
    ///
    /// # Errors
    /// As [`Input::open`]; and when it is larger than any such input.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, Error> {
        let mut file = self.open(path)?;
        // Not a byte of it is read for nothing.
        if file.metadata().is_ok_and(|told| told.is_file() && told.len() > self.bytes_max) {
            return Err(self.cannot(path, self.too_large()));
        }
        self.all(&mut file).map_err(|why| self.cannot(path, why))
    }

    /// The text of a file.
    ///
    /// # Errors
    /// As [`Input::read`]; and with the line that is not UTF-8.
    pub fn text(&self, path: &Path) -> Result<String, Error> {
        text(self.read(path)?).map_err(|why| self.cannot(path, why))
    }

    /// The bytes that are fed in through standard input.
    ///
    /// # Errors
    /// When they cannot be read, or are more than any such input has.
    pub fn standard_input_bytes(&self) -> Result<Vec<u8>, Error> {
        self.all(&mut std::io::stdin().lock()).map_err(|why| self.not_fed(why))
    }

    fn not_fed(&self, why: String) -> Error {
        let what = format!("cannot take {} from standard input", self.name);
        Error::new(what, why).hint(self.hint)
    }

    /// The text that is fed in through standard input.
    ///
    /// # Errors
    /// When it cannot be read, is larger than any such input, or is not UTF-8.
    pub fn standard_input(&self) -> Result<String, Error> {
        let fed = self.all(&mut std::io::stdin().lock());
        fed.and_then(text).map_err(|why| self.not_fed(why))
    }

    /// All bytes that come, as far as they are no more than such an input has; in words why not.
    ///
    /// # Errors
    /// When they cannot be read, or are more.
    pub fn all(&self, from: &mut impl Read) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let read = from.take(self.bytes_max.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|why| why.to_string())?;
        match bytes.len() as u64 > self.bytes_max {
            true => Err(self.too_large()),
            false => Ok(bytes),
        }
    }

    /// The bytes, unpacked where gzip(1) or zstd(1) packed them, as far as they are no more than
    /// such an input has; in words why not.
    ///
    /// # Errors
    /// When they are no such file, were cut short, or are more.
    pub fn unpacked(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        if bytes.starts_with(&GZIP) {
            let mut unpacked = flate2::read::MultiGzDecoder::new(bytes.as_slice());
            let all = self.all(&mut unpacked);
            return all.map_err(|why| format!("unpacked as by gzip(1), {why}"));
        }
        if bytes.starts_with(&ZSTD) {
            let cannot = |why: String| format!("unpacked as by zstd(1), {why}");
            return self.frames(&bytes).map_err(cannot);
        }
        Ok(bytes)
    }

    /// What is in the frames of zstd(1), one after the other.
    fn frames(&self, mut packed: &[u8]) -> Result<Vec<u8>, String> {
        let mut all = Vec::new();
        while !packed.is_empty() {
            let frame = StreamingDecoder::new(&mut packed).map_err(|why| why.to_string())?;
            let left = self.bytes_max.saturating_sub(all.len() as u64);
            frame.take(left + 1).read_to_end(&mut all).map_err(|why| why.to_string())?;
            if all.len() as u64 > self.bytes_max {
                return Err(self.too_large());
            }
        }
        Ok(all)
    }

    /// The next line with its end, into `line`; `None` at the end of all.
    ///
    /// # Errors
    /// When it cannot be read, or is longer than any such line.
    pub fn line(&self, from: &mut impl BufRead, line: &mut Vec<u8>) -> Result<Option<()>, String> {
        line.clear();
        let read = from.take(self.bytes_max.saturating_add(1)).read_until(b'\n', line);
        match read.map_err(|why| why.to_string())? as u64 {
            0 => Ok(None),
            read if read > self.bytes_max => {
                Err(format!("it has a line longer than {}", self.size()))
            }
            _ => Ok(Some(())),
        }
    }

    fn too_large(&self) -> String {
        format!("it is larger than {}", self.size())
    }

    fn size(&self) -> String {
        format!("{} MiB", self.bytes_max >> 20)
    }
}

/// How a file begins that gzip(1) packed (RFC 1952, 2.3.1).
pub const GZIP: [u8; 2] = [0x1f, 0x8b];
/// How one begins that zstd(1) packed (RFC 8878, 3.1.1).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

const DEVICE: &str = "it is a device, and devices have no end";

/// Refuses what is no regular file, pipe or, perhaps, terminal.
fn refuse(there: &std::fs::Metadata) -> Result<(), String> {
    let kind = there.file_type();
    let major = rustix::fs::major(there.rdev());
    match () {
        () if kind.is_dir() => Err("it is a directory".to_owned()),
        () if kind.is_socket() => Err("it is a socket".to_owned()),
        () if kind.is_char_device() && is_terminals(major) => Ok(()),
        () if kind.is_block_device() || kind.is_char_device() => Err(DEVICE.to_owned()),
        () => Ok(()),
    }
}

/// Whether terminals have this number: Documentation/admin-guide/devices.txt.
fn is_terminals(major: u32) -> bool {
    matches!(major, 4 | 5 | 136..=143)
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        format!("line {line} is not text in UTF-8")
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;

    const SMALL: Input =
        Input { name: "the note", bytes_max: 1 << 20, hint: "name a note", once: true };

    fn why(path: &str) -> String {
        let error = SMALL.text(Path::new(path)).unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("name a note"), "{error}");
        assert!(error.what.starts_with("cannot read the note "), "{error}");
        error.why
    }

    /// `brickyard plan /dev/zero` took 9.7 GB of memory until it was killed.
    #[test]
    fn a_device_a_directory_and_a_socket_are_refused_unread() {
        for device in ["/dev/zero", "/dev/null", "/dev/urandom", "/dev/full"] {
            assert_eq!(why(device), DEVICE, "{device}");
        }
        assert_eq!(why("/"), "it is a directory");
        assert!(why("/no/such/file").contains("No such file"));
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("s");
        let _listening = std::os::unix::net::UnixListener::bind(&at).unwrap();
        assert_eq!(why(at.to_str().unwrap()), "it is a socket");
    }

    /// By zstd 1.5 and gzip 1.12, of `read: IOPS=5` and a line feed.
    #[test]
    fn what_was_packed_is_unpacked_frame_by_frame_and_bounded() {
        let zstd = *b"\x28\xb5\x2f\xfd\x04\x58\x69\x00\x00read: IOPS=5\n\x35\x0a\xbf\x2d";
        let gzip = *b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x2b\x4a\x4d\x4c\xb1\x52\xf0\xf4\x0f\
                      \x08\xb6\x35\xe5\x02\x00\x42\xeb\x73\xce\x0d\x00\x00\x00";
        for packed in [&zstd[..], &gzip[..]] {
            assert_eq!(SMALL.unpacked(packed.to_vec()).unwrap(), b"read: IOPS=5\n");
            let twice = [packed, packed].concat();
            assert_eq!(SMALL.unpacked(twice.clone()).unwrap().len(), 26);
            let tight = Input { bytes_max: 20, ..SMALL };
            assert!(tight.unpacked(twice).unwrap_err().contains("it is larger than"));
            for end in 5..packed.len() {
                let why = SMALL.unpacked(packed[..end].to_vec()).unwrap_err();
                assert!(why.starts_with("unpacked as by "), "{end}: {why}");
            }
        }
        assert_eq!(SMALL.unpacked(b"plain".to_vec()).unwrap(), b"plain");
    }

    #[test]
    fn what_is_larger_than_its_kind_is_refused_with_the_bound_and_what_just_fits_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        let file = File::create(&path).unwrap();
        // A terabyte that takes no room.
        file.set_len(1 << 40).unwrap();
        assert_eq!(why(path.to_str().unwrap()), "it is larger than 1 MiB");
        file.set_len(1 << 20).unwrap();
        assert_eq!(SMALL.read(&path).unwrap().len(), 1 << 20);
        std::fs::write(&path, b"a\n\xff\n").unwrap();
        assert_eq!(why(path.to_str().unwrap()), "line 2 is not text in UTF-8");
    }

    #[test]
    fn a_pipe_is_read_to_its_end_or_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
        for (bytes, right) in [(5, true), (2 << 20, false)] {
            let writes = path.clone();
            let writer = std::thread::spawn(move || std::fs::write(writes, vec![b'x'; bytes]));
            assert_eq!(SMALL.text(&path).is_ok_and(|text| text.len() == bytes), right);
            // One whose reader is gone is told so.
            assert_eq!(writer.join().unwrap().is_ok(), right);
        }
    }

    #[test]
    fn lines_come_one_by_one_and_none_is_longer_than_it_may_be() {
        let mut line = Vec::new();
        let mut text = &b"one\n\ntwo"[..];
        for expected in ["one\n", "\n", "two"] {
            assert_eq!(SMALL.line(&mut text, &mut line), Ok(Some(())));
            assert_eq!(line, expected.as_bytes());
        }
        assert_eq!(SMALL.line(&mut text, &mut line), Ok(None));
        let mut endless = std::io::BufReader::new(std::io::repeat(b'x'));
        let why = SMALL.line(&mut endless, &mut line).unwrap_err();
        assert_eq!(why, "it has a line longer than 1 MiB");
        assert!(line.len() <= (1 << 20) + 1);
    }
}
