//! (pure) Keeps count of faults: each place once, later sightings apart, the first thousand in
//! full.
//!
//! One a stream, so that nobody waits for another; what is kept in full is bounded for all streams
//! of a trial together.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use experiment::measurement::Integrity;
use experiment::measurement::integrity::{EXCERPT_BYTES, FAULTS_MAX, Fault, UNREADABLE};

/// So many faults are kept with all of their excerpt.
const WHOLE_EXCERPTS: usize = 100;
/// What is kept of the others, bytes.
const SHORT_EXCERPT_BYTES: usize = 64;

/// Which blocks were seen before: a bit each, in pieces that are made when one of theirs is set, so
/// that a bad place costs 4 KiB and a disk that is bad throughout a 32768th of its blocks' number.
#[derive(Debug, Default)]
struct SeenBlocks(BTreeMap<(u64, u64, u64), Box<[u64; PIECE_WORDS]>>);

const PIECE_WORDS: usize = 512;
const PIECE_BLOCKS: u64 = PIECE_WORDS as u64 * 64;

impl SeenBlocks {
    /// Marks a block; whether it was not marked before.
    fn mark(&mut self, file: u64, generation: u64, block: u64) -> bool {
        let key = (file, generation, block / PIECE_BLOCKS);
        let piece = self.0.entry(key).or_insert_with(|| Box::new([0; PIECE_WORDS]));
        let within = block % PIECE_BLOCKS;
        let (word, bit) = (&mut piece[(within / 64) as usize], 1 << (within % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    fn has(&self, file: u64, generation: u64, block: u64) -> bool {
        let within = block % PIECE_BLOCKS;
        let piece = self.0.get(&(file, generation, block / PIECE_BLOCKS));
        piece.is_some_and(|piece| piece[(within / 64) as usize] >> (within % 64) & 1 == 1)
    }
}

/// What was wrong, of one stream.
#[derive(Debug)]
pub struct Ledger {
    /// The counts, and the faults.
    pub integrity: Integrity,
    wrong: SeenBlocks,
    unreadable: SeenBlocks,
    kept: Arc<AtomicUsize>,
}

impl Ledger {
    /// Of blocks of this length under this checksum. `kept` counts the faults that are kept of all
    /// streams of the trial; it begins at 0.
    pub fn new(checksum: &str, block_bytes: u64, kept: Arc<AtomicUsize>) -> Ledger {
        let checksum = checksum.to_owned();
        let integrity = Integrity { checksum, block_bytes, ..Integrity::default() };
        let (wrong, unreadable) = Default::default();
        Ledger { integrity, wrong, unreadable, kept }
    }

    /// Whether the block at `offset` of this file is seen wrong for the first time in this
    /// generation; a later sighting is counted here, and is nothing else.
    pub fn is_new(&mut self, file: u64, generation: u64, offset: u64) -> bool {
        let block = offset / self.integrity.block_bytes.max(1);
        let new = self.wrong.mark(file, generation, block);
        self.integrity.again += u64::from(!new);
        new
    }

    /// The same of one that could not be read: a block can be unreadable first and wrong later.
    pub fn is_new_unreadable(&mut self, file: u64, generation: u64, offset: u64) -> bool {
        let block = offset / self.integrity.block_bytes.max(1);
        let new = self.unreadable.mark(file, generation, block);
        self.integrity.again += u64::from(!new);
        new
    }

    /// Whether it could not be read before.
    pub fn was_unreadable(&self, file: u64, generation: u64, offset: u64) -> bool {
        let block = offset / self.integrity.block_bytes.max(1);
        self.unreadable.has(file, generation, block)
    }

    /// Whether the next fault will be kept in full: else it need not be read again.
    pub fn has_room(&self) -> bool {
        self.kept.load(Relaxed) < FAULTS_MAX
    }

    /// Bytes of the next fault's excerpt.
    pub fn excerpt_bytes(&self) -> usize {
        match self.kept.load(Relaxed) < WHOLE_EXCERPTS {
            true => EXCERPT_BYTES,
            false => SHORT_EXCERPT_BYTES,
        }
    }

    /// Counts a new fault, of a place of so many bytes, and keeps it while there is room.
    pub fn add(&mut self, fault: Fault, bytes: u64) {
        match fault.kind.as_str() {
            UNREADABLE => self.count_unreadable(bytes),
            kind => self.count_wrong(kind),
        }
        if self.kept.fetch_add(1, Relaxed) < FAULTS_MAX {
            self.integrity.faults.push(fault);
        }
    }

    /// Counts a wrong block of which nothing else is kept.
    pub fn count_wrong(&mut self, kind: &str) {
        *self.integrity.wrong.entry(kind.to_owned()).or_default() += 1;
    }

    /// Counts a place that could not be read, of which nothing else is kept.
    pub fn count_unreadable(&mut self, bytes: u64) {
        self.integrity.unreadable += 1;
        self.integrity.unreadable_bytes += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(kind: &str) -> Fault {
        Fault { kind: kind.into(), ..Fault::default() }
    }

    #[test]
    fn a_place_counts_once_a_generation_and_is_seen_again_after_that() {
        let mut ledger = Ledger::new("crc32c", 4096, Arc::default());
        let far = 40_000 * 4096;
        assert!(ledger.is_new(1, 5, 0) && ledger.is_new(1, 5, 4096) && ledger.is_new(1, 5, far));
        assert!(!ledger.is_new(1, 5, 4096) && !ledger.is_new(1, 5, far));
        assert!(ledger.is_new(2, 5, 4096), "of another file");
        assert!(ledger.is_new(1, 6, 4096), "of another generation");
        assert_eq!(ledger.integrity.again, 2);
        assert!(!ledger.was_unreadable(1, 5, 4096));
        assert!(ledger.is_new_unreadable(1, 5, 4096) && ledger.was_unreadable(1, 5, 4096));
        assert!(!ledger.was_unreadable(1, 5, 0) && !ledger.was_unreadable(1, 5, far));
    }

    #[test]
    fn everything_is_counted_and_a_thousand_of_all_streams_are_kept() {
        let kept = Arc::new(AtomicUsize::new(0));
        let mut one = Ledger::new("crc32c", 4096, kept.clone());
        let mut two = Ledger::new("crc32c", 4096, kept);
        assert_eq!(one.excerpt_bytes(), EXCERPT_BYTES);
        for _ in 0..600 {
            one.add(fault("torn"), 4096);
            two.add(fault(UNREADABLE), 512);
        }
        assert!(!one.has_room() && one.excerpt_bytes() == SHORT_EXCERPT_BYTES);
        assert_eq!(one.integrity.faults.len() + two.integrity.faults.len(), FAULTS_MAX);
        one.count_wrong("torn");
        two.count_unreadable(512);
        let mut sum = one.integrity;
        sum.add(two.integrity);
        assert_eq!((sum.wrong["torn"], sum.unreadable), (601, 601));
        assert_eq!(sum.unreadable_bytes, 601 * 512);
        assert_eq!((sum.checksum.as_str(), sum.block_bytes), ("crc32c", 4096));
    }
}
