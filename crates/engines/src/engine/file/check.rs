//! Whether what was read is what was written: not asked, or by blocks that name themselves.
//!
//! The loop of a stream is compiled for [`NoCheck`] and for [`BlockCheck`] apart, so that a trial
//! that does not check has no instruction of it. What is wrong, short or unreadable goes to
//! [`wrong`], off the path of reads that come back right.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::files::StreamFiles;
use crate::engine::FileIdentity;
use crate::engine::load::control::LoadControl;
use crate::engine::load::ledger::Ledger;
use crate::engine::load::reread::is_unreadable;
use base::pattern::block::{Format, Identity};
use experiment::measurement::Integrity;
use host::sys::clock::{monotonic_ns, unix_ns};

mod wrong;

/// What a stream does with the bytes it reads and writes, besides moving them.
pub trait Check {
    /// Whether it does anything.
    const ON: bool;

    /// Whether checks wait until the next reads have been handed to the kernel.
    fn waits(&self) -> bool {
        false
    }

    /// Fills a buffer with the blocks of its place in the round of this number, from 0.
    fn write(&self, _bytes: &mut [u8], _file: u32, _offset: u64, _round: u64) {}

    /// Whether a read with this result is told of, and reading goes on; `whole` is that of one that
    /// came.
    fn goes_on(&self, _result: i32, _whole: i32) -> bool {
        false
    }

    /// Whether the bytes of a place are as they should be; nothing is noted.
    #[inline]
    fn is_right(&self, _bytes: &[u8], _file: u32, _offset: u64) -> bool {
        true
    }

    /// Notes a read of so many bytes that were seen to be right.
    fn saw(&mut self, _bytes: usize) {}

    /// Checks what came of a read.
    fn look(&mut self, _bytes: &[u8], _result: i32, _file: u32, _offset: u64) {}

    /// Checks the copy of what was wrong where it lay.
    fn look_again(&mut self, _bytes: &[u8], _result: i32, _file: u32, _offset: u64) {}

    /// What was found; `None` when nothing was checked.
    fn found(self) -> Option<Integrity>;
}

/// The kind of a block that was wrong where it lay in memory, and right in the copy that was made
/// of it then: somebody changed the file in that moment, or memory gave other bytes the second
/// time. Nobody has kept the wrong ones.
pub const UNSTEADY: &str = "unsteady";

/// Of a stream whose bytes are not checked.
#[derive(Clone, Copy, Debug)]
pub struct NoCheck;

impl Check for NoCheck {
    const ON: bool = false;

    fn found(self) -> Option<Integrity> {
        None
    }
}

/// What is known of a trial's files where their blocks are checked.
#[derive(Clone, Copy)]
pub struct CheckContext<'a> {
    /// Phase and release of the trial.
    pub shared: &'a LoadControl,
    /// The files of each stream,
    pub files: &'a [StreamFiles],
    /// and how their blocks name themselves.
    pub written: &'a [Vec<FileIdentity>],
    /// Counts the faults that are kept of all streams.
    pub kept: &'a Arc<AtomicUsize>,
    /// Stamped into every block.
    pub campaign: u64,
    /// Files are open for direct I/O.
    pub direct: bool,
    /// Checks wait until the next reads have been handed to the kernel.
    pub waits: bool,
}

/// Checks the blocks of one stream, which name themselves.
pub struct BlockCheck<'a> {
    format: Format,
    written: &'a [FileIdentity],
    ground: CheckContext<'a>,
    index: usize,
    checked_bytes: u64,
    /// When something was looked at closely for the first time after the stop.
    stopping_ns: Option<u64>,
    ledger: Ledger,
}

impl<'a> BlockCheck<'a> {
    /// Of the files of stream `index`.
    pub fn new(ground: CheckContext<'a>, format: Format, index: usize) -> BlockCheck<'a> {
        let kept = ground.kept.clone();
        BlockCheck {
            format,
            written: &ground.written[index],
            ground,
            index,
            checked_bytes: 0,
            stopping_ns: None,
            ledger: Ledger::new(format.checksum.name(), format.block_bytes as u64, kept),
        }
    }

    /// The block that should begin at `offset` of this file.
    #[inline]
    fn identity(&self, file: u32, offset: u64) -> Identity {
        let FileIdentity { file, generation } = self.written[file as usize];
        Identity { campaign: self.ground.campaign, file, offset, generation }
    }

    /// The file that a block names, if a stream of this trial has it. Files that were laid out by
    /// different trials may share a number: then the generation tells which is meant.
    fn path_of(&self, named: &Identity) -> Option<PathBuf> {
        let streams = self.ground.written.iter().zip(self.ground.files);
        let files = || {
            let all = streams.clone().flat_map(|(written, of)| written.iter().zip(&of.paths));
            all.filter(|(written, _)| written.file == named.file)
        };
        let same = files().find(|(written, _)| written.generation == named.generation);
        same.or_else(|| files().next()).map(|(_, path)| path.clone())
    }

    /// Time since the streams were let go, ns.
    fn at_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.ground.shared.released_ns.load(Relaxed))
    }
}

impl Check for BlockCheck<'_> {
    const ON: bool = true;

    #[inline]
    fn waits(&self) -> bool {
        self.ground.waits
    }

    fn write(&self, bytes: &mut [u8], file: u32, offset: u64, round: u64) {
        let mut first = self.identity(file, offset);
        first.generation += round;
        self.format.write(bytes, first, unix_ns());
    }

    #[inline]
    fn goes_on(&self, result: i32, whole: i32) -> bool {
        (0..=whole).contains(&result) || is_unreadable(result.saturating_neg())
    }

    #[inline]
    fn is_right(&self, bytes: &[u8], file: u32, offset: u64) -> bool {
        let first = self.identity(file, offset);
        self.format.first_wrong(bytes, first, |_| first.generation).is_none()
    }

    #[inline]
    fn saw(&mut self, bytes: usize) {
        self.checked_bytes += bytes as u64;
    }

    #[inline]
    fn look(&mut self, bytes: &[u8], result: i32, file: u32, offset: u64) {
        if result as usize == bytes.len() && self.is_right(bytes, file, offset) {
            return self.saw(bytes.len());
        }
        self.look_closer(bytes, result, file, self.identity(file, offset));
    }

    #[cold]
    fn look_again(&mut self, bytes: &[u8], result: i32, file: u32, offset: u64) {
        if result as usize == bytes.len() && self.is_right(bytes, file, offset) {
            self.ledger.count_wrong(UNSTEADY);
            return self.saw(bytes.len());
        }
        self.look_closer(bytes, result, file, self.identity(file, offset));
    }

    fn found(self) -> Option<Integrity> {
        let checked_bytes = self.checked_bytes;
        Some(Integrity { checked_bytes, ..self.ledger.integrity })
    }
}
