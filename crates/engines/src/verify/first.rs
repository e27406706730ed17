//! Against the first reading: a sum for each MiB, taken when a block is read first, and held
//! against every reading after it.
//!
//! 16 bytes for each MiB are kept in memory: 15 MB for a TB.

use std::io::Error;

use super::BLOCK_BYTES;
use super::find::kind_of;
use super::shared::{BlockSpan, VerificationContext, lock};
use super::source::{AlignedMemory, ReadMode, TargetReader};
use super::suspect::{self, MismatchedBlock};
use super::unreadable::{in_pieces, is_of_the_device};
use base::hash::{Checksum, md5_each_of};

const BLOCK: usize = BLOCK_BYTES as usize;
/// Blocks that are read through one descriptor before the next stream has its turn.
const SPAN: u64 = 4;
/// MD5 is fast only for many messages at once: that of a block is the MD5 of those of its pieces of
/// this size. 32 of them fill the widest vector registers, and a block stays in the processor's
/// cache meanwhile. Not a power of two: pieces that begin a multiple of 4 KiB apart lie in one set
/// of the first cache, which has room for 8 of the 16 or 32 lines that are hashed at once, and that
/// took a third of the speed (3.8 against 5.9 GB/s, Zen 3). What is left of a block is the last
/// piece.
const PIECE: usize = (32 << 10) - 64;

/// One stream of a pass: takes spans until none is left.
pub fn stream(shared: &VerificationContext, checksum: Checksum) {
    let mut buffer = AlignedMemory::new(BLOCK);
    while !shared.over() {
        let Some(span) = shared.next_span(SPAN) else { break };
        let at = SpanReading { shared, span, checksum };
        let bytes = at.read(buffer.bytes_mut());
        shared.done_bytes.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
    }
}

/// A span of blocks that is read and held against its sums.
struct SpanReading<'a> {
    shared: &'a VerificationContext,
    span: BlockSpan,
    checksum: Checksum,
}

/// Blocks of one state of a file.
#[derive(Default)]
struct Read {
    /// Those whose sums were not known before.
    new: Vec<(u64, [u8; 16])>,
    checked_bytes: u64,
    compared_bytes: u64,
    requests: u64,
}

impl SpanReading<'_> {
    /// Reads and checks a span; gives its length, read or not.
    fn read(&self, buffer: &mut [u8]) -> u64 {
        let BlockSpan { file, block, blocks } = self.span;
        let held = &self.shared.files[file];
        let (stamp, changed) = {
            let state = lock(&held.state);
            (state.stamp, state.changed)
        };
        let bytes = stamp.size.saturating_sub(block * BLOCK_BYTES).min(blocks * BLOCK_BYTES);
        if changed {
            return bytes;
        }
        let mut source = match TargetReader::open(&held.path, ReadMode::Around) {
            Ok(source) => source,
            Err(why) => {
                self.lost(&why);
                return bytes;
            }
        };
        if source.stamp != stamp {
            self.shared.changed(file, &source.stamp);
            return bytes;
        }
        let resident = source.resident_bytes(block * BLOCK_BYTES, bytes);
        let read = self.blocks(&mut source, buffer);
        self.shared.delivered(&source, read.requests, resident);
        // Nothing is kept of bytes that may be another state's.
        match source.stamp_now() {
            Ok(now) if now == stamp => {
                let mut state = lock(&held.state);
                let blocks = stamp.size.div_ceil(BLOCK_BYTES);
                for (block, sum) in read.new {
                    state.sums.put(block, blocks, sum);
                }
                drop(state);
                self.shared.checked(read.checked_bytes, read.compared_bytes);
            }
            Ok(now) => self.shared.changed(file, &now),
            Err(why) => self.lost(&why),
        }
        bytes
    }

    /// The file cannot be read (any more).
    fn lost(&self, why: &Error) {
        let held = &self.shared.files[self.span.file];
        lock(&held.state).partial = true;
        self.shared.problem(&held.shown, kind_of(why), why.to_string());
    }

    /// Reads block after block and holds each against its sum at once.
    fn blocks(&self, source: &mut TargetReader, buffer: &mut [u8]) -> Read {
        let BlockSpan { file, block, blocks } = self.span;
        let mut read = Read::default();
        for block in block..block + blocks {
            if self.shared.over() {
                lock(&self.shared.files[file].state).partial = true;
                break;
            }
            let offset = block * BLOCK_BYTES;
            let length = source.stamp.size.saturating_sub(offset).min(BLOCK_BYTES) as usize;
            read.requests += 1;
            let got = match source.read(buffer, offset, length) {
                Ok(got) if got == length => Some(got),
                // Shorter than its size says: the stamp tells whether it shrank just now.
                Ok(got) => {
                    suspect::short(self.shared, file, source, (offset, got, length));
                    None
                }
                Err(why) if is_of_the_device(&why) => {
                    in_pieces(self.shared, file, source, buffer, (offset, length), &why)
                }
                Err(why) => {
                    self.lost(&why);
                    break;
                }
            };
            if let Some(got) = got {
                self.check(block, &buffer[..got], &mut read);
            }
        }
        read
    }

    fn check(&self, block: u64, found: &[u8], read: &mut Read) {
        let file = self.span.file;
        let sum = sum_of(self.checksum, found);
        read.checked_bytes += found.len() as u64;
        let first = lock(&self.shared.files[file].state).sums.get(block);
        let Some(first) = first else {
            read.new.push((block, sum));
            return;
        };
        read.compared_bytes += found.len() as u64;
        if first != sum {
            let is_right = |bytes: &[u8]| sum_of(self.checksum, bytes) == first;
            let offset = block * BLOCK_BYTES;
            MismatchedBlock { shared: self.shared, file, offset, found, is_right: &is_right }
                .judge();
        }
    }
}

/// The sum of a block, cut to 16 bytes: two blocks that differ have the same one once in 2^128.
pub fn sum_of(checksum: Checksum, block: &[u8]) -> [u8; 16] {
    let mut sum = [0; 16];
    if checksum != Checksum::Md5 {
        sum.copy_from_slice(&checksum.digest([block, &[]])[..16]);
        return sum;
    }
    let pieces: Vec<[&[u8]; 2]> = block.chunks(PIECE).map(|piece| [piece, &[][..]]).collect();
    let whole = block.len() / PIECE;
    let mut sums = vec![[0; 16]; pieces.len()];
    md5_each_of(&pieces[..whole], &mut sums[..whole]);
    md5_each_of(&pieces[whole..], &mut sums[whole..]);
    md5_each_of(&[[sums.as_flattened(), &[]]], std::slice::from_mut(&mut sum));
    sum
}

/// What a pass against the first reading leaves behind: files that changed have a new state, and no
/// sums any more.
pub fn end_pass(shared: &VerificationContext) {
    for held in &shared.files {
        let mut state = lock(&held.state);
        if !state.changed {
            continue;
        }
        match super::source::stamp_of(&held.path) {
            Ok(stamp) => {
                state.stamp = stamp;
                state.sums = Default::default();
                state.changed = false;
            }
            Err(why) => {
                drop(state);
                shared.problem(&held.shown, kind_of(&why), why.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_md5_of_a_block_is_that_of_the_md5s_of_its_pieces() {
        let long: Vec<u8> = (0..BLOCK as u32).map(|at| (at / 3) as u8).collect();
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, BLOCK - 5, BLOCK] {
            let sums = long[..length]
                .chunks(PIECE)
                .flat_map(|piece| Checksum::Md5.digest([piece, &[]])[..16].to_vec());
            let sums: Vec<u8> = sums.collect();
            assert_eq!(
                sum_of(Checksum::Md5, &long[..length]),
                Checksum::Md5.digest([&sums, &[]])[..16]
            );
        }
        for checksum in [Checksum::Xxh3_128, Checksum::Blake3] {
            assert_eq!(sum_of(checksum, b"abc"), checksum.digest([b"abc", &[]])[..16]);
        }
        for checksum in [Checksum::Md5, Checksum::Xxh3_128, Checksum::Blake3] {
            let mut other = long.clone();
            other[BLOCK - 1] ^= 0x80;
            assert_ne!(sum_of(checksum, &long), sum_of(checksum, &other));
        }
    }
}
