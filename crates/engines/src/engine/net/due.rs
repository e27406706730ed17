//! Files that arrive at a machine which has none of them: what is due, in what order, and how what
//! came otherwise is told to the machine that has them.
//!
//! The end that sends says before a trial how each stream's files follow each other and how their
//! blocks name themselves ([`DueFiles`]). The end that receives holds every block against that. A
//! block that is wrong is sent back at once ([`WrongBlock`]), while the other end can still read
//! the place again in the state in which it was sent; [`super::again`] does that. How much was
//! checked, and what is beyond what is sent back, is told at the end.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::engine::load::ledger::Ledger;
use crate::engine::load::protocol::FileIdentity;
use base::pattern::block::{Format, Identity};
use base::pattern::judge::{Evidence, judge};
use experiment::measurement::Integrity;
use experiment::measurement::integrity::FAULTS_MAX;

/// Wrong blocks of a trial that are sent back, bytes in all: 1000 of them are kept anyway, and each
/// may have 1 MiB.
const TOLD_BYTES_MAX: u64 = 64 << 20;

/// The files that one stream sends over and over, by how their blocks name themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueFiles {
    /// Blocks of each file, of the length that the load has.
    pub blocks_per_file: u64,
    /// The files in their order.
    pub runs: Vec<FileSequence>,
}

/// Files with numbers that follow each other in equal steps, whose blocks are of one generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSequence {
    /// The number of the first.
    pub file: u64,
    /// From one number to the next, modulo 2^64.
    pub step: u64,
    /// How many there are.
    pub files: u64,
    /// Of all of their blocks.
    pub generation: u64,
}

impl FileSequence {
    /// The number of its file `index`.
    #[inline]
    fn number(&self, index: u64) -> u64 {
        self.file.wrapping_add(self.step.wrapping_mul(index))
    }
}

impl DueFiles {
    /// Of files that are named so in their blocks, of so many blocks each.
    pub fn from_written(blocks_per_file: u64, written: &[FileIdentity]) -> DueFiles {
        let mut runs: Vec<FileSequence> = Vec::new();
        for FileIdentity { file, generation } in written.iter().copied() {
            match runs.last_mut().filter(|run| run.generation == generation) {
                Some(run) if run.files == 1 => {
                    (run.step, run.files) = (file.wrapping_sub(run.file), 2);
                }
                Some(run) if run.number(run.files) == file => run.files += 1,
                _ => runs.push(FileSequence { file, step: 0, files: 1, generation }),
            }
        }
        DueFiles { blocks_per_file, runs }
    }
}

/// A block that did not arrive as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongBlock {
    /// Which stream, from 0.
    pub stream: usize,
    /// Which of its files, from 0.
    pub file: u64,
    /// Where in it, bytes.
    pub offset: u64,
    /// What came, in base64.
    found: String,
}

impl WrongBlock {
    /// Its bytes; `None` where they are no base64.
    pub fn found(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.found).ok()
    }
}

/// Is told of blocks that came wrong.
pub trait WrongBlockListener: Send + Sync + std::fmt::Debug {
    /// One came.
    fn hears(&self, wrong: WrongBlock);
}

/// What is due of one stream, to be asked for any place of it.
#[derive(Debug)]
struct DueStream {
    blocks_per_file: u64,
    blocks: u64,
    /// Each with the number of files before it.
    runs: Vec<(u64, FileSequence)>,
}

impl DueStream {
    /// `None` of what no end sends: nothing at all, or more than can be counted.
    fn new(due: DueFiles) -> Option<DueStream> {
        let DueFiles { blocks_per_file, runs } = due;
        let mut files = 0_u64;
        let mut all = Vec::with_capacity(runs.len());
        for run in runs {
            all.push((files, run));
            files = files.checked_add(run.files).filter(|_| run.files > 0)?;
        }
        let blocks = files.checked_mul(blocks_per_file).filter(|blocks| *blocks > 0)?;
        Some(DueStream { blocks_per_file, blocks, runs: all })
    }

    /// Whose the block of this number is since the trial began, and how its file is named: its
    /// number among the stream's files, its name, its number in the file.
    #[inline]
    fn at(&self, number: u64) -> (u64, FileIdentity, u64) {
        let (file, block) =
            (number % self.blocks / self.blocks_per_file, number % self.blocks_per_file);
        let after = self.runs.partition_point(|(before, _)| *before <= file);
        // The first has none before it.
        let (before, run) = self.runs[after.saturating_sub(1)];
        let written = FileIdentity { file: run.number(file - before), generation: run.generation };
        (file, written, block)
    }
}

/// What is due of all streams, and what came otherwise.
#[derive(Debug)]
pub struct ExpectedFiles {
    format: Format,
    /// Of the load.
    block_bytes: u64,
    campaign: u64,
    streams: Vec<DueStream>,
    hears: Box<dyn WrongBlockListener>,
    /// Blocks that were told of.
    told: AtomicUsize,
    told_bytes: AtomicU64,
    found: Mutex<Vec<Integrity>>,
}

impl ExpectedFiles {
    /// For so many streams of blocks of `block_bytes`, each of whole blocks of this format that a
    /// campaign wrote; `hears` is told of what is wrong.
    ///
    /// # Errors
    /// In words, when that is no way in which files can follow each other.
    pub fn new(
        due: Vec<DueFiles>,
        (streams, block_bytes): (usize, usize),
        (format, campaign): (Format, u64),
        hears: Box<dyn WrongBlockListener>,
    ) -> Result<ExpectedFiles, String> {
        let all: Option<Vec<DueStream>> = due.into_iter().map(DueStream::new).collect();
        let whole = block_bytes >= format.block_bytes
            && block_bytes.is_multiple_of(format.block_bytes.max(1));
        let of = |stream: &DueStream| stream.blocks.checked_mul(block_bytes as u64).is_some();
        let streams = all
            .filter(|all| whole && all.len() == streams && all.iter().all(of))
            .ok_or("the end that sends did not say which blocks of its files are due")?;
        Ok(ExpectedFiles {
            format,
            block_bytes: block_bytes as u64,
            campaign,
            streams,
            hears,
            told: AtomicUsize::new(0),
            told_bytes: AtomicU64::new(0),
            found: Mutex::default(),
        })
    }

    /// How blocks are checked.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What looks at the blocks of one stream.
    pub fn look(&self, stream: usize) -> ArrivalCheck<'_> {
        let checksum = self.format.checksum.name();
        // What is kept is the business of the end that is told.
        let ledger = Ledger::new(checksum, self.format.block_bytes as u64, Arc::default());
        ArrivalCheck { of: self, stream, ledger }
    }

    /// What was checked, and what of the wrong blocks was not told of.
    pub fn integrity(&self) -> Integrity {
        let mut all = Integrity::default();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.drain(..).for_each(|one| all.add(one));
        all
    }
}

/// Holds what arrives of one stream against what is due.
#[derive(Debug)]
pub struct ArrivalCheck<'a> {
    of: &'a ExpectedFiles,
    stream: usize,
    ledger: Ledger,
}

impl ArrivalCheck<'_> {
    /// Holds the whole block of this number since the trial began against what is due.
    #[inline]
    pub fn at(&mut self, bytes: &[u8], number: u64) {
        let ExpectedFiles { format, block_bytes, campaign, streams, .. } = self.of;
        let (file, written, block) = streams[self.stream].at(number);
        let FileIdentity { file: named, generation } = written;
        let offset = block * block_bytes;
        let first = Identity { campaign: *campaign, file: named, offset, generation };
        self.ledger.integrity.checked_bytes += bytes.len() as u64;
        if format.first_wrong(bytes, first, |_| generation).is_some() {
            self.tell(bytes, file, first);
        }
    }

    /// Tells of each block that is wrong; of one that was wrong before in no more than a count.
    #[cold]
    fn tell(&mut self, bytes: &[u8], file: u64, first: Identity) {
        let format = self.of.format;
        let step = format.block_bytes;
        for index in format.wrong(bytes, first, |_| first.generation) {
            let found = &bytes[index * step..][..step];
            let expected = Identity { offset: first.offset + (index * step) as u64, ..first };
            if !self.ledger.is_new(expected.file, expected.generation, expected.offset) {
                continue;
            }
            if self.has_room(step as u64) {
                let (stream, offset) = (self.stream, expected.offset);
                self.of.hears.hears(WrongBlock {
                    stream,
                    file,
                    offset,
                    found: STANDARD.encode(found),
                });
                continue;
            }
            let (named, again, oldest_generation) = (None, None, expected.generation);
            let evidence = Evidence { format, expected, found, named, again, oldest_generation };
            self.ledger.count_wrong(judge(&evidence).kind.name());
        }
    }

    /// Whether one more may be told of.
    fn has_room(&self, bytes: u64) -> bool {
        self.of.told.fetch_add(1, Relaxed) < FAULTS_MAX
            && self.of.told_bytes.fetch_add(bytes, Relaxed) + bytes <= TOLD_BYTES_MAX
    }
}

impl Drop for ArrivalCheck<'_> {
    /// However its stream ended.
    fn drop(&mut self) {
        let found = std::mem::take(&mut self.ledger.integrity);
        self.of.found.lock().unwrap_or_else(PoisonError::into_inner).push(found);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use base::hash::Checksum;

    const FORMAT: Format = Format { block_bytes: 512, checksum: Checksum::Crc32c };
    const BLOCK: usize = 1024;

    /// Keeps what it is told.
    #[derive(Clone, Debug, Default)]
    struct Ear(Arc<Mutex<Vec<WrongBlock>>>);

    impl WrongBlockListener for Ear {
        fn hears(&self, wrong: WrongBlock) {
            self.0.lock().unwrap().push(wrong);
        }
    }

    fn expected(due: Vec<DueFiles>, ear: &Ear) -> Result<ExpectedFiles, String> {
        let streams = due.len();
        ExpectedFiles::new(due, (streams, BLOCK), (FORMAT, 22), Box::new(ear.clone()))
    }

    fn written(file: u64, generation: u64) -> FileIdentity {
        FileIdentity { file, generation }
    }

    #[test]
    fn files_that_follow_each_other_are_one_run_and_are_found_by_the_number_of_a_block() {
        // A layout may have dealt them to streams in turn, and later ones may have added to it.
        let all = [(5, 1), (8, 1), (11, 1), (12, 1), (7, 2), (3, 2), (4, 2)];
        let all = all.map(|(file, generation)| written(file, generation));
        let due = DueFiles::from_written(10, &all);
        let runs: Vec<(u64, u64)> = due.runs.iter().map(|run| (run.file, run.files)).collect();
        assert_eq!(runs, [(5, 3), (12, 1), (7, 2), (4, 1)]);
        let stream = DueStream::new(due).unwrap();
        for round in 0..3_u64 {
            for (index, file) in (0_u64..).zip(all) {
                for block in [0, 9] {
                    let number = round * 70 + index * 10 + block;
                    assert_eq!(stream.at(number), (index, file, block), "{number}");
                }
            }
        }
    }

    /// Whoever knows the token may say anything.
    #[test]
    fn what_no_end_sends_is_refused_and_counted_nowhere() {
        let run = |file, files| FileSequence { file, step: 1, files, generation: 1 };
        let due = |blocks_per_file, runs: &[FileSequence]| DueFiles {
            blocks_per_file,
            runs: runs.to_vec(),
        };
        for wrong in [
            due(0, &[run(0, 1)]),
            due(1, &[]),
            due(1, &[run(0, 0)]),
            due(1, &[run(0, 1), run(1, 0)]),
            due(2, &[run(0, u64::MAX)]),
            due(1, &[run(0, u64::MAX), run(0, 1)]),
            due(1 << 60, &[run(0, 1)]),
        ] {
            assert!(expected(vec![wrong.clone()], &Ear::default()).is_err(), "{wrong:?}");
        }
        let right = || vec![due(1, &[run(0, 1)])];
        let with = |streams, block| {
            ExpectedFiles::new(right(), (streams, block), (FORMAT, 22), Box::new(Ear::default()))
        };
        assert!(with(1, 512).is_ok());
        assert!(with(2, 512).is_err() && with(1, 513).is_err() && with(1, 0).is_err());
    }

    /// Each place is told once; what is beyond what is kept is counted here, by its kind.
    #[test]
    fn a_thousand_wrong_blocks_are_told_and_the_others_counted() {
        let ear = Ear::default();
        let files = vec![written(1 << 32, 1), written(1 << 32 | 1, 1)];
        let expected = expected(vec![DueFiles::from_written(600, &files)], &ear).unwrap();
        let mut look = expected.look(0);
        for number in (0..1200).chain([7, 8]) {
            look.at(&[0; BLOCK], number);
        }
        let mut right = vec![0; BLOCK];
        let first = Identity { campaign: 22, file: 1 << 32, offset: 3072, generation: 1 };
        FORMAT.write(&mut right, first, 5);
        look.at(&right, 1203);
        right[BLOCK - 1] ^= 1;
        look.at(&right, 2403);
        drop(look);
        let integrity = expected.integrity();
        let told = ear.0.lock().unwrap();
        assert_eq!(told.len(), FAULTS_MAX);
        assert_eq!((told[0].file, told[0].offset), (0, 0));
        assert_eq!((told[999].file, told[999].offset), (0, 999 * 512));
        assert_eq!(told[0].found(), Some(vec![0; 512]));
        assert_eq!(integrity.wrong, [("unwritten".to_owned(), 1400)].into());
        assert_eq!(integrity.again, 5);
        assert_eq!(integrity.checked_bytes, 1204 * BLOCK as u64);
    }

    proptest! {
        #[test]
        fn nothing_that_is_said_of_files_makes_it_fall(
            blocks_per_file in any::<u64>(),
            runs in proptest::collection::vec((any::<u64>(), 0..9_u64, any::<u64>()), 0..5),
            number in any::<u64>(),
        ) {
            let runs = runs.into_iter();
            let runs = runs.map(|(file, files, step)| {
                FileSequence { file, step, files, generation: step ^ file }
            });
            let due = DueFiles { blocks_per_file: blocks_per_file % 99, runs: runs.collect() };
            if let Ok(expected) = expected(vec![due], &Ear::default()) {
                expected.look(0).at(&[1; BLOCK], number);
            }
        }
    }
}
