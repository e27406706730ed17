//! What is done with a block that is not the one that was written: it is read again, judged, and
//! told.
//!
//! Everything here is off the path of reads that come back right: it opens files, allocates and
//! takes its time, which is the load's. That a block is wrong has been found before, by
//! [`Format::first_wrong`]; how often it was seen is counted in [`super::ledger`].

use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rustix::fs::OFlags;

use super::reread::{ReadLocation, RereadResult};
use base::pattern::block::{Format, Identity};
use base::pattern::judge::{Evidence, Judgement, judge};
use experiment::measurement::integrity::{EXCERPT_BYTES, Fault, UNREADABLE};
use host::sys::beneath;

/// A block under suspicion, and what is known of where it came from.
#[derive(Clone, Copy)]
pub struct SuspectBlock<'a> {
    /// How it should be made.
    pub format: Format,
    /// Where it was read, and in which request.
    pub place: ReadLocation<'a>,
    /// Whose it should be.
    pub expected: Identity,
    /// The oldest generation that may ever have been written to the place: between this and the
    /// expected one the parts of a torn block are looked for.
    pub oldest_generation: u64,
    /// The file as the user is told of it.
    pub name: &'a str,
    /// When it was found, ns since the trial's start.
    pub at_ns: u64,
    /// Bytes that are kept of it, up to [`EXCERPT_BYTES`].
    pub excerpt_bytes: usize,
    /// The file that a block names, where it is one of the trial's.
    pub find: &'a dyn Fn(&Identity) -> Option<PathBuf>,
}

impl SuspectBlock<'_> {
    /// Reads the block again, judges it, and says what there is to say. `found` is what came, fewer
    /// bytes than a block where the read was short.
    pub fn look(&self, found: &[u8]) -> Fault {
        let right = |bytes: &[u8]| self.format.is_right(bytes, &self.expected);
        let again = self.place.read_again(Some(found), &right);
        let judgement = self.judge(found, again.same.as_deref());
        self.tell(found, judgement, again)
    }

    /// As [`SuspectBlock::look`] of a place that the kernel could not read, of one block or more;
    /// with its error's number, and with what tells whether all of it is right when it comes.
    pub fn look_unreadable(&self, errno: i32, is_right: &dyn Fn(&[u8]) -> bool) -> Fault {
        let again = self.place.read_again(None, is_right);
        Fault {
            at_ns: self.at_ns,
            file: self.name.to_owned(),
            offset: self.expected.offset,
            kind: UNREADABLE.to_owned(),
            what: format!(
                "a read of {} bytes at byte {}: {}",
                self.place.bytes,
                self.place.at,
                io::Error::from_raw_os_error(errno)
            ),
            rereads: again.rereads,
            lasting: again.lasting,
            ..Fault::default()
        }
    }

    /// Names its kind by itself, without reading it again: for those beyond the ones that are kept.
    pub fn judge(&self, found: &[u8], again: Option<&[u8]>) -> Judgement {
        let bears = self.format.bears(found);
        let elsewhere =
            bears.filter(|it| (it.file, it.offset) != (self.expected.file, self.expected.offset));
        let named = elsewhere.and_then(|it| self.lies_at(&it));
        let evidence = Evidence {
            format: self.format,
            expected: self.expected,
            found,
            named: named.as_deref(),
            again,
            oldest_generation: self.oldest_generation,
        };
        let mut judgement = judge(&evidence);
        let strange = elsewhere.filter(|it| it.file != self.expected.file);
        if let Some(path) = strange.and_then(|it| (self.find)(&it))
            && let Some(name) = path.file_name()
        {
            judgement.what.push_str(&format!(" (that file is {})", name.to_string_lossy()));
        }
        judgement
    }

    /// What lies at the place whose name a block bears.
    fn lies_at(&self, identity: &Identity) -> Option<Vec<u8>> {
        let path = (self.find)(identity)?;
        let file = beneath::open_file(&path, OFlags::RDONLY).ok()?;
        let mut block = vec![0; self.format.block_bytes];
        file.read_exact_at(&mut block, identity.offset).ok()?;
        Some(block)
    }

    fn tell(&self, found: &[u8], judgement: Judgement, again: RereadResult) -> Fault {
        let whole = self.format.expected(&self.expected, found);
        let at = judgement.excerpt_at;
        let length = self.excerpt_bytes.min(EXCERPT_BYTES);
        Fault {
            at_ns: self.at_ns,
            file: self.name.to_owned(),
            offset: self.expected.offset,
            kind: judgement.kind.name().to_owned(),
            what: judgement.what,
            rereads: again.rereads,
            lasting: again.lasting,
            excerpt_at: at as u64,
            expected: hexadecimal(excerpt(&whole, at, length)),
            found: hexadecimal(excerpt(found, at, length)),
            kernel: Vec::new(),
        }
    }
}

fn excerpt(bytes: &[u8], at: usize, length: usize) -> &[u8] {
    let from = at.min(bytes.len());
    &bytes[from..from.saturating_add(length).min(bytes.len())]
}

/// Bytes as lower-case hexadecimal digits, two each.
pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    let digit = |four: u8| char::from(DIGITS[usize::from(four & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}
