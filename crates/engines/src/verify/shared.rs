//! What the streams of a verification share: the files, the next piece of work, what was found.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::find::Target;
use super::ground::ReadingCounters;
use super::source::{Stamp, TargetReader};
use super::{BLOCK_BYTES, shown};
use base::checklist::Entry;
use base::hash::Checksum;
use experiment::measurement::Integrity;
use experiment::measurement::integrity::{FAULTS_MAX, Fault, Lasting};
use experiment::measurement::verified::ProblemKind;
use experiment::measurement::verified::outcome::{FileProblem, PROBLEMS_MAX};
use host::sys::Host;
use host::sys::clock::monotonic_ns;
use host::sys::kmsg::KernelLog;
use host::sys::signal::Stop;

/// The kind of a place that the kernel could not read.
pub const UNREADABLE: &str = "unreadable";

/// What a stream of a verification says to whoever waits.
#[derive(Debug)]
pub enum VerifyStreamMessage {
    /// One line for people.
    Line(String),
    /// The stream has ended.
    Ended,
}

/// A file, and what is known of it.
#[derive(Debug)]
pub struct VerifiedFile {
    /// Where it is.
    pub path: PathBuf,
    /// The same for people.
    pub shown: String,
    /// What a list says of it.
    pub entries: Vec<Entry>,
    /// What changes.
    pub state: Mutex<FileState>,
}

/// What is known of a file so far.
#[derive(Debug, Default)]
pub struct FileState {
    /// Its state when its sums were taken.
    pub stamp: Stamp,
    /// A sum for each block, as far as they are known.
    pub sums: BlockSums,
    /// It is not what it was: nothing more is held against its sums in this pass.
    pub changed: bool,
    /// Something of it was not read in this pass.
    pub partial: bool,
    /// It was read whole at least once.
    pub read: bool,
    /// Something was wrong with its bytes.
    pub wrong: bool,
}

/// 16 bytes a block, and a bit that says whether they are known.
#[derive(Debug, Default)]
pub struct BlockSums {
    sums: Vec<[u8; 16]>,
    known: Vec<u64>,
}

impl BlockSums {
    /// The sum of a block.
    pub fn get(&self, block: u64) -> Option<[u8; 16]> {
        let at = usize::try_from(block).ok()?;
        let is_known = self.known.get(at / 64)? >> (at % 64) & 1 == 1;
        is_known.then(|| self.sums.get(at).copied()).flatten()
    }

    /// Keeps the sum of a block of a file that has `blocks` of them.
    pub fn put(&mut self, block: u64, blocks: u64, sum: [u8; 16]) {
        let (at, blocks) = (block as usize, blocks.max(block + 1) as usize);
        if self.sums.len() < blocks {
            self.sums.resize(blocks, [0; 16]);
            self.known.resize(blocks.div_ceil(64), 0);
        }
        self.sums[at] = sum;
        self.known[at / 64] |= 1 << (at % 64);
    }
}

/// What a verification has found so far.
#[derive(Debug, Default)]
pub struct VerificationTally {
    /// What was wrong with the bytes.
    pub integrity: Integrity,
    /// What was wrong else.
    pub problems: Vec<FileProblem>,
    /// All of that.
    pub counts: BTreeMap<ProblemKind, u64>,
    /// Faulty places, by file and offset, and whether they are unreadable ones.
    seen: BTreeSet<(usize, u64, bool)>,
    /// Files whose problem is known.
    told: BTreeSet<(String, ProblemKind)>,
}

/// Everything that the streams of a verification share.
#[derive(Debug)]
pub struct VerificationContext {
    /// All files.
    pub files: Vec<VerifiedFile>,
    /// The checksum of blocks; `None` where a list says which.
    pub checksum: Option<Checksum>,
    /// When the list was modified last, Unix time in ns.
    pub list_modified_ns: i128,
    /// Set when the user wants to stop.
    pub stop: Arc<Stop>,
    /// When it is over, monotonic clock.
    pub deadline_ns: u64,
    /// When it began, monotonic clock.
    pub started_ns: u64,
    /// The next file and block.
    cursor: Mutex<(usize, u64)>,
    /// Bytes of this pass that are behind us, read or not.
    pub done_bytes: AtomicU64,
    delivered_bytes: AtomicU64,
    reads: AtomicU64,
    resident_bytes: AtomicU64,
    buffered: AtomicBool,
    checked_bytes: AtomicU64,
    compared_bytes: AtomicU64,
    tally: Mutex<VerificationTally>,
    said: Sender<VerifyStreamMessage>,
    kernel: Mutex<Option<KernelLog>>,
    devices: Vec<String>,
}

/// Locks; what a thread that died left behind is numbers, which are whole at any time.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Some blocks of one file, which a stream reads next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSpan {
    /// Which file.
    pub file: usize,
    /// Its first block.
    pub block: u64,
    /// How many.
    pub blocks: u64,
}

impl VerificationContext {
    /// Nothing is read yet.
    pub fn new(
        files: Vec<Target>,
        stop: Arc<Stop>,
        said: Sender<VerifyStreamMessage>,
        devices: Vec<String>,
    ) -> VerificationContext {
        let file = |target: Target| VerifiedFile {
            shown: shown(&target.path),
            path: target.path,
            entries: target.entries,
            state: Mutex::new(FileState { stamp: target.stamp, ..FileState::default() }),
        };
        VerificationContext {
            files: files.into_iter().map(file).collect(),
            checksum: None,
            list_modified_ns: i128::MAX,
            stop,
            deadline_ns: u64::MAX,
            started_ns: monotonic_ns(),
            cursor: Mutex::default(),
            done_bytes: AtomicU64::new(0),
            delivered_bytes: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            resident_bytes: AtomicU64::new(0),
            buffered: AtomicBool::new(false),
            checked_bytes: AtomicU64::new(0),
            compared_bytes: AtomicU64::new(0),
            tally: Mutex::default(),
            said,
            kernel: Mutex::new(KernelLog::from_now_on(&Host::live()).ok()),
            devices,
        }
    }

    /// Whether nothing more is to be read: the user or the clock says so.
    pub fn over(&self) -> bool {
        self.stop.asked() || monotonic_ns() >= self.deadline_ns
    }

    /// Starts a pass: bytes that it has to go through.
    pub fn begin_pass(&self) -> u64 {
        *lock(&self.cursor) = (0, 0);
        self.done_bytes.store(0, Relaxed);
        self.bytes()
    }

    /// Bytes of all files, as they are now.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| lock(&file.state).stamp.size).sum()
    }

    /// The next blocks of a file, at most `most`; files without any have a span of none.
    pub fn next_span(&self, most: u64) -> Option<BlockSpan> {
        let mut cursor = lock(&self.cursor);
        let (file, block) = *cursor;
        let size = lock(&self.files.get(file)?.state).stamp.size;
        let blocks = size.div_ceil(BLOCK_BYTES).saturating_sub(block).min(most);
        *cursor = match block + blocks >= size.div_ceil(BLOCK_BYTES) {
            true => (file + 1, 0),
            false => (file, block + blocks),
        };
        Some(BlockSpan { file, block, blocks })
    }

    /// The next whole file.
    pub fn next_file(&self) -> Option<usize> {
        let mut cursor = lock(&self.cursor);
        let file = cursor.0;
        (file < self.files.len()).then(|| {
            cursor.0 += 1;
            file
        })
    }

    /// Takes what a source delivered.
    pub fn delivered(&self, source: &TargetReader, reads: u64, resident_bytes: u64) {
        self.delivered_bytes.fetch_add(source.read_bytes, Relaxed);
        self.reads.fetch_add(reads, Relaxed);
        self.resident_bytes.fetch_add(resident_bytes, Relaxed);
        self.buffered.fetch_or(!source.is_direct(), Relaxed);
    }

    /// Takes bytes that were checked, and how many of them were held against a sum known before.
    pub fn checked(&self, bytes: u64, compared: u64) {
        self.checked_bytes.fetch_add(bytes, Relaxed);
        self.compared_bytes.fetch_add(compared, Relaxed);
        lock(&self.tally).integrity.checked_bytes += bytes;
    }

    /// The same, which goes on being counted.
    pub fn done(&self) -> (ReadingCounters, u64, u64) {
        let did = ReadingCounters {
            delivered_bytes: self.delivered_bytes.load(Relaxed),
            reads: self.reads.load(Relaxed),
            resident_bytes: self.resident_bytes.load(Relaxed),
            direct: !self.buffered.load(Relaxed),
        };
        (did, self.checked_bytes.load(Relaxed), self.compared_bytes.load(Relaxed))
    }

    /// Files that were read whole, and files of which something is wrong, so far; one that a stream
    /// holds just now is not waited for.
    pub fn files_so_far(&self) -> (u64, u64) {
        let (mut read, mut wrong) = (0, 0);
        for file in &self.files {
            let Ok(state) = file.state.try_lock() else { continue };
            read += u64::from(state.read);
            wrong += u64::from(state.wrong);
        }
        (read, wrong)
    }

    /// What was done since it was asked last: itself, bytes checked, bytes compared.
    pub fn take_done(&self) -> (ReadingCounters, u64, u64) {
        let did = ReadingCounters {
            delivered_bytes: self.delivered_bytes.swap(0, Relaxed),
            reads: self.reads.swap(0, Relaxed),
            resident_bytes: self.resident_bytes.swap(0, Relaxed),
            direct: !self.buffered.swap(false, Relaxed),
        };
        (did, self.checked_bytes.swap(0, Relaxed), self.compared_bytes.swap(0, Relaxed))
    }

    /// What was found.
    pub fn tally(&self) -> MutexGuard<'_, VerificationTally> {
        lock(&self.tally)
    }

    /// Says a line; nobody may be there any more.
    pub fn say(&self, line: String) {
        let _ = self.said.send(VerifyStreamMessage::Line(line));
    }

    /// Says that a stream has ended.
    pub fn ended(&self) {
        let _ = self.said.send(VerifyStreamMessage::Ended);
    }

    /// Notes what is the matter with a file, once.
    pub fn problem(&self, shown: &str, kind: ProblemKind, what: impl Into<String>) {
        let what = what.into();
        let mut tally = lock(&self.tally);
        // A file may change over and over: each time is told, and counted once.
        if !tally.told.insert((shown.to_owned(), kind)) {
            return;
        }
        *tally.counts.entry(kind).or_default() += 1;
        if tally.problems.len() < PROBLEMS_MAX {
            let problem = FileProblem { file: shown.to_owned(), kind, what: what.clone() };
            tally.problems.push(problem);
        }
        drop(tally);
        // Thousands of these are no news to anybody.
        if kind != ProblemKind::NotInList && kind != ProblemKind::Skipped {
            self.say(format!("{}: {shown}: {what}", kind.name()));
        }
    }

    /// Notes that a file is not what it was: it is not held against what was known of it.
    pub fn changed(&self, file: usize, now: &Stamp) {
        let held = &self.files[file];
        let mut state = lock(&held.state);
        let first = !std::mem::replace(&mut state.changed, true);
        let what = state.stamp.difference(now);
        drop(state);
        if first {
            let new = if self.checksum.is_some() { "; its new sums are taken" } else { "" };
            self.problem(&held.shown, ProblemKind::Changed, format!("{what}{new}"));
        }
    }

    /// Counts a fault, keeps it, and says so; one that was seen before is only counted.
    pub fn fault(&self, file: usize, mut fault: Fault, bytes: u64) {
        let held = &self.files[file];
        let unreadable = fault.kind == UNREADABLE;
        {
            let mut state = lock(&held.state);
            state.wrong = true;
            state.partial |= unreadable && fault.lasting != Lasting::Transient;
        }
        let mut tally = lock(&self.tally);
        if !tally.seen.insert((file, fault.offset, unreadable)) {
            tally.integrity.again += 1;
            return;
        }
        if unreadable {
            tally.integrity.unreadable += 1;
            if fault.lasting != Lasting::Transient {
                tally.integrity.unreadable_bytes += bytes;
            }
        } else {
            *tally.integrity.wrong.entry(fault.kind.clone()).or_default() += 1;
        }
        fault.file.clone_from(&held.shown);
        fault.at_ns = monotonic_ns().saturating_sub(self.started_ns);
        fault.kernel = self.kernel_lines();
        let line = format!("{}: {}", fault.kind, line_of(&fault, bytes));
        if tally.integrity.faults.len() < FAULTS_MAX {
            tally.integrity.faults.push(fault);
        }
        drop(tally);
        self.say(line);
    }

    /// What the kernel said of our devices since it was asked last.
    fn kernel_lines(&self) -> Vec<String> {
        let mut kernel = lock(&self.kernel);
        let said = kernel.as_mut().map(|log| log.read().of_trouble(&self.devices));
        said.map(|messages| messages.lines).unwrap_or_default()
    }
}

/// `a/b: at 4096, 1048576 bytes: what; persistent`.
fn line_of(fault: &Fault, bytes: u64) -> String {
    let Fault { file, offset, what, lasting, .. } = fault;
    let place = match (*offset, bytes) {
        (0, 0) => String::new(),
        _ => format!(" at {offset}, {bytes} bytes:"),
    };
    let lasting = match lasting {
        Lasting::Unknown => String::new(),
        known => format!(" ({})", known.name()),
    };
    format!("{file}:{place} {what}{lasting}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_known_only_once_they_were_put() {
        let mut sums = BlockSums::default();
        assert_eq!(sums.get(0), None);
        sums.put(70, 100, [7; 16]);
        assert_eq!((sums.get(70), sums.get(69), sums.get(99)), (Some([7; 16]), None, None));
        assert_eq!((sums.get(100), sums.get(u64::MAX)), (None, None));
        sums.put(100, 100, [8; 16]);
        assert_eq!(sums.get(100), Some([8; 16]), "a file that grew");
    }
}
