//! Reads a place again whose bytes were wrong, or did not come: the same request, one around the
//! page cache, one of another size; and says what follows from the three answers.
//!
//! Whether bytes are right is the caller's to say: blocks that name themselves, a list of checksums
//! and a first reading are all read again in the same way.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::OFlags;

use experiment::measurement::integrity::{Lasting, Reread};
use host::sys::beneath;
use host::sys::direct::{Direct, alignment};

/// A request that is to differ from small ones has at least so many bytes.
const LARGER_BYTES: u64 = 64 << 10;
/// What direct I/O is aligned to where the file system does not ask for more.
const ALIGN_BYTES: u64 = 4096;

/// A place of a file that was read, and the request by which it came.
#[derive(Clone, Copy, Debug)]
pub struct ReadLocation<'a> {
    /// What it was read through.
    pub file: &'a File,
    /// Its name, to open it once more.
    pub path: &'a Path,
    /// Whether `file` goes around the page cache.
    pub direct: bool,
    /// Where the request began in which it came, bytes.
    pub request_at: u64,
    /// Length of that request, bytes.
    pub request_bytes: usize,
    /// Where the place itself begins, inside the request, bytes.
    pub at: u64,
    /// Its length, bytes.
    pub bytes: usize,
}

/// What reading a place again gave, and what follows from it.
#[derive(Clone, Debug, Default)]
pub struct RereadResult {
    /// Each of them, as it is kept.
    pub rereads: Vec<Reread>,
    /// What follows.
    pub lasting: Lasting,
    /// What the same request gave for the place the second time; `None` when it failed.
    pub same: Option<Vec<u8>>,
}

/// What one more reading of a place gave.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RereadAnswer {
    Right,
    SameWrong,
    OtherWrong,
    /// The kernel ended it with an error.
    Error(String),
    /// It could not be tried.
    NotTried(String),
}

impl RereadAnswer {
    fn words(&self) -> &str {
        match self {
            RereadAnswer::Right => "right",
            RereadAnswer::SameWrong => "same-wrong",
            RereadAnswer::OtherWrong => "other-wrong",
            RereadAnswer::Error(words) | RereadAnswer::NotTried(words) => words,
        }
    }
}

/// Whether a read that ended with this error says that the medium, or what guards it, lost the
/// bytes: then the place is unreadable and reading goes on. Any other error is the request's own.
///
/// The block layer's errors as its table gives them (Linux, block/blk-core.c, `blk_errors`): EIO,
/// EREMOTEIO (target), ENODATA (medium), EILSEQ (protection information); EUCLEAN is what file
/// systems give for a structure that is damaged.
pub fn is_unreadable(errno: i32) -> bool {
    const ERRORS: [i32; 5] =
        [libc::EIO, libc::EUCLEAN, libc::EREMOTEIO, libc::ENODATA, libc::EILSEQ];
    ERRORS.contains(&errno)
}

impl ReadLocation<'_> {
    /// Reads it again, in up to three ways. `found` is what came the first time, fewer bytes than
    /// the place has where the read was short, `None` where the kernel gave an error.
    pub fn read_again(
        &self,
        found: Option<&[u8]>,
        is_right: &dyn Fn(&[u8]) -> bool,
    ) -> RereadResult {
        let judged = |read: &io::Result<Vec<u8>>| match read {
            Err(why) => RereadAnswer::Error(why.to_string()),
            Ok(bytes) if bytes.len() == self.bytes && is_right(bytes) => RereadAnswer::Right,
            Ok(bytes) if found == Some(&bytes[..]) => RereadAnswer::SameWrong,
            Ok(_) => RereadAnswer::OtherWrong,
        };
        let same = self.request(self.file, self.request_at, self.request_bytes);
        let around = match self.direct {
            true => None,
            false => Some(self.open_direct()),
        };
        let mut answers = vec![("same", judged(&same), self.direct)];
        let mut other = (self.file, self.direct);
        match &around {
            None => {}
            Some(Err(why)) => {
                answers.push(("direct", RereadAnswer::NotTried(why.to_string()), true))
            }
            Some(Ok(file)) => {
                let (start, bytes) = self.smallest(file);
                answers.push(("direct", judged(&self.request(file, start, bytes)), true));
                other = (file, true);
            }
        }
        let (start, bytes) = self.of_other_size(other.0);
        answers.push(("other-size", judged(&self.request(other.0, start, bytes)), other.1));
        RereadResult {
            lasting: lasting(answers.iter().map(|(_, gave, around)| (gave, *around))),
            rereads: answers
                .iter()
                .map(|(how, gave, _)| Reread { how: (*how).into(), gave: gave.words().into() })
                .collect(),
            same: same.ok(),
        }
    }

    /// Reads the place by itself, through the handle that it was read through before.
    ///
    /// # Errors
    /// The kernel's.
    pub fn read_alone(&self) -> io::Result<Vec<u8>> {
        let (start, bytes) =
            if self.direct { self.smallest(self.file) } else { (self.at, self.bytes) };
        self.request(self.file, start, bytes)
    }

    fn open_direct(&self) -> io::Result<File> {
        beneath::open_file(self.path, OFlags::RDONLY | OFlags::DIRECT)
    }

    /// One request of `length` bytes at `start`; what of it belongs to the place, less than all
    /// where the file ends before.
    fn request(&self, file: &File, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let align = ALIGN_BYTES as usize;
        let mut memory = vec![0; length + align];
        let skip = memory.as_ptr().align_offset(align).min(align);
        let buffer = &mut memory[skip..skip + length];
        let came = loop {
            match file.read_at(buffer, start) {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        let from = (self.at.saturating_sub(start) as usize).min(came);
        let to = from.saturating_add(self.bytes).min(came);
        Ok(buffer[from..to].to_vec())
    }

    /// The smallest request around the page cache that holds the place.
    fn smallest(&self, file: &File) -> (u64, usize) {
        let align = match alignment(file) {
            Direct::Aligned { offset, .. } => u64::from(offset).max(ALIGN_BYTES),
            Direct::Never | Direct::Unknown => ALIGN_BYTES,
        };
        let start = self.at - self.at % align;
        let end = (self.at + self.bytes as u64).next_multiple_of(align);
        (start, (end - start) as usize)
    }

    /// A smaller request than the first where there is one, else a larger one.
    fn of_other_size(&self, file: &File) -> (u64, usize) {
        let (start, bytes) = self.smallest(file);
        if bytes < self.request_bytes {
            return (start, bytes);
        }
        let mut larger = (2 * bytes as u64).next_power_of_two().max(LARGER_BYTES);
        // A place that lies across a border of this size lies inside twice as much, or four times.
        while self.at / larger != (self.at + self.bytes as u64 - 1) / larger && larger < 1 << 40 {
            larger *= 2;
        }
        if larger > 16 << 20 {
            // It lies across the border of something huge: begin in front of it instead.
            return (start.saturating_sub(LARGER_BYTES), bytes + LARGER_BYTES as usize);
        }
        (self.at - self.at % larger, larger as usize)
    }
}

/// What follows from answers, each with whether it came around the page cache.
fn lasting<'a>(answers: impl Iterator<Item = (&'a RereadAnswer, bool)> + Clone) -> Lasting {
    let made = answers.filter(|(gave, _)| !matches!(gave, RereadAnswer::NotTried(_)));
    let right = |gave: &RereadAnswer| *gave == RereadAnswer::Right;
    let of =
        |around: bool| made.clone().filter(move |(_, was)| *was == around).map(|(gave, _)| gave);
    if made.clone().next().is_none() {
        return Lasting::Unknown;
    }
    if made.clone().all(|(gave, _)| right(gave)) {
        return Lasting::Transient;
    }
    // Without a reading around it, nobody knows whether memory or the device is wrong.
    if of(true).next().is_none() {
        return Lasting::Unknown;
    }
    let wrong_bytes =
        |gave: &RereadAnswer| matches!(gave, RereadAnswer::SameWrong | RereadAnswer::OtherWrong);
    if of(true).all(|gave| !right(gave)) && of(false).all(|gave| !right(gave)) {
        Lasting::Persistent
    } else if of(true).all(right) && of(false).all(wrong_bytes) {
        Lasting::InMemory
    } else {
        Lasting::Unknown
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;

    fn verdict(answers: &[(RereadAnswer, bool)]) -> Lasting {
        lasting(answers.iter().map(|(gave, around)| (gave, *around)))
    }

    #[test]
    fn what_three_answers_say_of_where_the_error_lies() {
        use RereadAnswer::{Error, NotTried, OtherWrong, Right, SameWrong};
        let eio = || Error("Input/output error (os error 5)".into());
        let none = || NotTried("Invalid argument (os error 22)".into());
        let buffered =
            |same, direct, other| verdict(&[(same, false), (direct, true), (other, true)]);
        assert_eq!(buffered(Right, Right, Right), Lasting::Transient);
        assert_eq!(buffered(SameWrong, Right, Right), Lasting::InMemory);
        assert_eq!(buffered(SameWrong, SameWrong, SameWrong), Lasting::Persistent);
        assert_eq!(buffered(OtherWrong, OtherWrong, eio()), Lasting::Persistent);
        assert_eq!(buffered(eio(), eio(), eio()), Lasting::Persistent);
        assert_eq!(buffered(SameWrong, Right, SameWrong), Lasting::Unknown);
        assert_eq!(buffered(Right, SameWrong, SameWrong), Lasting::Unknown);
        // Memory holds no page that could not be read.
        assert_eq!(buffered(eio(), Right, Right), Lasting::Unknown);
        // A file system without direct I/O.
        let through = |same, other| verdict(&[(same, false), (none(), true), (other, false)]);
        assert_eq!(through(SameWrong, SameWrong), Lasting::Unknown);
        assert_eq!(through(Right, Right), Lasting::Transient);
        let direct = |same, other| verdict(&[(same, true), (other, true)]);
        assert_eq!(direct(Right, Right), Lasting::Transient);
        assert_eq!(direct(SameWrong, SameWrong), Lasting::Persistent);
        assert_eq!(direct(Right, SameWrong), Lasting::Unknown);
        assert_eq!(verdict(&[]), Lasting::Unknown);
    }

    #[test]
    fn other_requests_hold_the_place_and_have_another_size() {
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        let path = Path::new("/nowhere");
        for (at, bytes, request_at, request_bytes) in [
            (4096, 4096, 0, 1 << 20),
            (0, 4096, 0, 4096),
            (1536, 512, 1536, 512),
            (61440, 12288, 61440, 12288),
            (1 << 20, 1 << 20, 1 << 20, 1 << 20),
            ((1 << 30) - 6144, 12288, (1 << 30) - 6144, 12288),
        ] {
            let place = ReadLocation {
                file: &file,
                path,
                direct: true,
                request_at,
                request_bytes,
                at,
                bytes,
            };
            let (start, length) = place.of_other_size(&file);
            let case = format!("{at} {bytes} of {request_bytes}: {start} {length}");
            assert!(start <= at && at + bytes as u64 <= start + length as u64, "{case}");
            assert!(length != request_bytes && length <= 16 << 20, "{case}");
            assert!(start.is_multiple_of(4096) && length.is_multiple_of(4096), "{case}");
        }
    }

    #[test]
    fn a_place_is_read_again_three_ways_and_each_answer_is_told() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, [7; 16384]).unwrap();
        let file = File::open(&path).unwrap();
        let place = |at, bytes| ReadLocation {
            file: &file,
            path: &path,
            direct: false,
            request_at: 0,
            request_bytes: 16384,
            at,
            bytes,
        };
        let of = |again: &RereadResult, how: &str| {
            again.rereads.iter().find(|one| one.how == how).unwrap().gave.clone()
        };
        let seven = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 7);
        // What came was wrong, and is right now.
        let again = place(4096, 4096).read_again(Some(&[9; 4096]), &seven);
        assert_eq!(
            (of(&again, "same").as_str(), again.same.as_deref()),
            ("right", Some(&[7; 4096][..]))
        );
        assert_eq!(again.lasting, Lasting::Transient);
        assert_eq!(again.rereads.len(), 3);
        // It is wrong for good.
        let again = place(8192, 4096).read_again(Some(&[7; 4096]), &|_| false);
        assert_eq!(of(&again, "same"), "same-wrong");
        if of(&again, "direct") == "same-wrong" {
            assert_eq!(again.lasting, Lasting::Persistent);
        }
        let again = place(8192, 4096).read_again(Some(&[1; 4096]), &|_| false);
        assert_eq!(of(&again, "other-size"), "other-wrong");
        // It ends in the middle of the place: never right, whatever the caller thinks of the rest.
        let again = place(14336, 4096).read_again(Some(&[7; 2048]), &seven);
        assert_eq!(
            (of(&again, "same").as_str(), again.same.map(|same| same.len())),
            ("same-wrong", Some(2048))
        );
        let again = place(1 << 20, 4096).read_again(None, &seven);
        assert_eq!((of(&again, "same").as_str(), again.same), ("other-wrong", Some(Vec::new())));
        // The name is gone: what can be tried still is.
        std::fs::remove_file(&path).unwrap();
        let again = place(0, 4096).read_again(None, &seven);
        assert_eq!(of(&again, "same"), "right");
        assert!(of(&again, "direct").contains("os error 2"), "{again:?}");
        assert_eq!(again.lasting, Lasting::Transient);
    }

    #[test]
    fn errors_of_the_medium_are_not_those_of_the_request() {
        for errno in [libc::EIO, libc::EUCLEAN, libc::EREMOTEIO, libc::ENODATA, libc::EILSEQ] {
            assert!(is_unreadable(errno));
        }
        for errno in [libc::EINVAL, libc::EBADF, libc::ENOMEM, libc::EACCES, 0, -libc::EIO] {
            assert!(!is_unreadable(errno));
        }
    }
}
