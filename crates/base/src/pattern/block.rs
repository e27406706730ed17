//! (pure) Self-identifying blocks that can be checked: write, check, make anew.
//!
//! A block is 512 bytes to 1 MiB, a multiple of 512; that of a datagram has any length from 512 on.
//! All numbers are little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 0..4 | `BRKV`: magic |
//! | 4 | 1: version of this layout |
//! | 5 | checksum: 1 crc32c, 2 xxh3-64, 3 xxh3-128, 4 blake3, 5 md5 |
//! | 6..8 | zero |
//! | 8..12 | length of the block in bytes, this header included |
//! | 12..16 | zero |
//! | 16..24 | campaign |
//! | 24..32 | file: stream << 32, plus the file's number in the stream |
//! | 32..40 | offset of the block in the file, bytes |
//! | 40..48 | generation: which writing of this place |
//! | 48..56 | time of writing, ns since 1970 (UTC) |
//! | 56..64 | the time again, every bit inverted |
//! | 64..96 | checksum over bytes 0..64 and 96..length, then zeros |
//! | 96.. | payload, a function of campaign, file, offset and generation alone ([`payload`]) |
//!
//! The time is the only thing that a reader cannot foretell; it stands there twice so that a bit
//! that flipped in it can be found like any other. Nothing of the payload is made anew to check a
//! block, only the checksum is computed; that is what keeps the check at the speed of memory. What
//! a wrong block is, is told by [`super::judge`].

use std::ops::Range;

use crate::hash::{Checksum, md5_each_of};

mod payload;

pub use payload::fill as fill_payload;

/// Length of a header in bytes.
pub const HEADER_BYTES: usize = 96;

/// Blocks are multiples of this, in bytes; also the unit in which a write can be torn.
pub const SECTOR_BYTES: usize = 512;

/// Longest block in bytes.
pub const BLOCK_BYTES_MAX: usize = 1 << 20;

const MAGIC: [u8; 4] = *b"BRKV";
const VERSION: u8 = 1;
/// Blocks whose MD5 is computed at once.
const BATCH: usize = 32;

/// In so many bits the copies of the time may differ for all mixtures of them to be tried: 2^6 of
/// them, and as many checksums of the block.
const TIME_BITS_TRIED: u32 = 6;

/// Where in a header everything is that follows from format and identity.
pub const NAME: Range<usize> = 0..48;
const TIME: Range<usize> = 48..56;
const TIME_AGAIN: Range<usize> = 56..64;
/// Where in a header the checksum is.
pub const CHECKSUM: Range<usize> = 64..96;

/// Whose block it is and which writing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The campaign that wrote it.
    pub campaign: u64,
    /// `stream << 32 | number of the file in the stream`.
    pub file: u64,
    /// Where in the file, bytes.
    pub offset: u64,
    /// Which writing of this place; later ones are larger.
    pub generation: u64,
}

/// How blocks are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Length of a block in bytes: 512 to 1 MiB, a multiple of 512; of a datagram any such length.
    pub block_bytes: usize,
    /// What checks it.
    pub checksum: Checksum,
}

impl Format {
    /// Fills `buffer` with whole blocks of one generation, `first` and those behind it in the file;
    /// what is left behind the last whole block stays as it is.
    pub fn write(&self, buffer: &mut [u8], first: Identity, time_unix_ns: u64) {
        self.write_each(buffer, first, time_unix_ns, |_| first.generation);
    }

    /// As [`Format::write`], with a generation for each block, asked for by its offset in the file.
    pub fn write_each(
        &self,
        buffer: &mut [u8],
        first: Identity,
        time_unix_ns: u64,
        mut generation_of: impl FnMut(u64) -> u64,
    ) {
        let mut identity = first;
        for blocks in buffer.chunks_mut(self.step() * BATCH) {
            for block in blocks.chunks_exact_mut(self.step()) {
                identity.generation = generation_of(identity.offset);
                self.write_unchecked(block, &identity, time_unix_ns);
                if self.checksum != Checksum::Md5 {
                    let digest = self.checksum.digest(covered(block));
                    block[CHECKSUM].copy_from_slice(&digest);
                }
                identity.offset = identity.offset.wrapping_add(self.step() as u64);
            }
            if self.checksum == Checksum::Md5 {
                let digests = md5_of_batch(blocks, self.step());
                for (block, digest) in blocks.chunks_exact_mut(self.step()).zip(digests) {
                    block[CHECKSUM][..16].copy_from_slice(&digest);
                    block[CHECKSUM][16..].fill(0);
                }
            }
        }
    }

    /// Whether a block is the one that is expected, whole and as it was written. Its payload is not
    /// made anew: the checksum answers for it.
    #[inline]
    pub fn is_right(&self, block: &[u8], expected: &Identity) -> bool {
        self.bears_all_of(block, expected)
            && block[CHECKSUM] == self.checksum.digest(covered(block))
    }

    /// The index of the first block of `buffer` that is not the one expected there: `first`, then
    /// those behind it in the file, each with the generation that is asked for by its offset. Part
    /// of a block at the end is a wrong block. `None`: all are right.
    pub fn first_wrong(
        &self,
        buffer: &[u8],
        first: Identity,
        generation_of: impl FnMut(u64) -> u64,
    ) -> Option<usize> {
        let mut found = None;
        self.check(buffer, first, generation_of, |index| {
            found = Some(index);
            false
        });
        found
    }

    /// The indexes of all blocks of `buffer` that are wrong, as [`Format::first_wrong`] finds them.
    pub fn wrong(
        &self,
        buffer: &[u8],
        first: Identity,
        generation_of: impl FnMut(u64) -> u64,
    ) -> Vec<usize> {
        let mut all = Vec::new();
        self.check(buffer, first, generation_of, |index| {
            all.push(index);
            true
        });
        all
    }

    /// The name that a block bears when its header is plausible (magic, version, and the length of
    /// this format), whatever its checksum says.
    pub fn bears(&self, block: &[u8]) -> Option<Identity> {
        let header = block.first_chunk::<HEADER_BYTES>()?;
        let plausible = header[..4] == MAGIC && header[4] == VERSION;
        (plausible && length(header) == self.step()).then(|| identity(header))
    }

    /// The block of that identity, made anew. Its time is the one that `found` bears where that is
    /// plausible: its two copies agree, or the checksum of `found` tells which bits of which copy
    /// are right. Otherwise it is 0.
    pub fn expected(&self, identity: &Identity, found: &[u8]) -> Vec<u8> {
        let mut block = vec![0; self.step()];
        self.write_unchecked(&mut block, identity, 0);
        let (times, otherwise) = times(found);
        let borne = found.get(CHECKSUM).unwrap_or_default();
        let mut digest_at = |time| {
            write_time(&mut block, time);
            self.checksum.digest(covered(&block))
        };
        let right = times.into_iter().find(|time| digest_at(*time) == *borne);
        let digest = digest_at(right.unwrap_or(otherwise));
        block[CHECKSUM].copy_from_slice(&digest);
        block
    }

    /// The length of a block, at least one sector whatever was asked for.
    fn step(&self) -> usize {
        self.block_bytes.max(SECTOR_BYTES)
    }

    /// Everything but the checksum, whose place becomes zeros.
    fn write_unchecked(&self, block: &mut [u8], identity: &Identity, time_unix_ns: u64) {
        let (header, payload) = block.split_at_mut(HEADER_BYTES);
        header[NAME].copy_from_slice(&self.name(identity));
        write_time(header, time_unix_ns);
        header[CHECKSUM].fill(0);
        payload::fill(identity, payload);
    }

    /// The bytes of a header at [`NAME`].
    #[inline]
    pub fn name(&self, identity: &Identity) -> [u8; NAME.end] {
        let mut name = [0; NAME.end];
        name[..4].copy_from_slice(&MAGIC);
        name[4] = VERSION;
        name[5] = code(self.checksum);
        name[8..12].copy_from_slice(&(self.step() as u32).to_le_bytes());
        name[16..24].copy_from_slice(&identity.campaign.to_le_bytes());
        name[24..32].copy_from_slice(&identity.file.to_le_bytes());
        name[32..40].copy_from_slice(&identity.offset.to_le_bytes());
        name[40..48].copy_from_slice(&identity.generation.to_le_bytes());
        name
    }

    /// Whether length, name and both copies of the time are as they must be.
    #[inline]
    fn bears_all_of(&self, block: &[u8], expected: &Identity) -> bool {
        block.len() == self.step()
            && block[NAME] == self.name(expected)
            && number(block, TIME.start) == !number(block, TIME_AGAIN.start)
    }

    /// Calls `wrong` with the index of each wrong block, in order, until it says `false`.
    fn check(
        &self,
        buffer: &[u8],
        first: Identity,
        mut generation_of: impl FnMut(u64) -> u64,
        mut wrong: impl FnMut(usize) -> bool,
    ) {
        let step = self.step();
        let mut expected = first;
        for (batch, blocks) in buffer.chunks(step * BATCH).enumerate() {
            let several = self.checksum == Checksum::Md5 && blocks.len() >= 2 * step;
            let digests = several.then(|| md5_of_batch(blocks, step));
            for (index, block) in blocks.chunks(step).enumerate() {
                expected.generation = generation_of(expected.offset);
                let right = match &digests {
                    Some(digests) => {
                        self.bears_all_of(block, &expected)
                            && block[CHECKSUM][..16] == digests[index]
                            && block[CHECKSUM][16..] == [0; 16]
                    }
                    None => self.is_right(block, &expected),
                };
                if !right && !wrong(batch * BATCH + index) {
                    return;
                }
                expected.offset = expected.offset.wrapping_add(step as u64);
            }
        }
    }
}

/// Format and name that a block bears in its header, of any length and with any checksum that this
/// version knows; `None` when it is none of ours.
pub fn borne(block: &[u8]) -> Option<(Format, Identity)> {
    let header = block.first_chunk::<HEADER_BYTES>()?;
    let checksum = Checksum::ALL.into_iter().find(|checksum| code(*checksum) == header[5])?;
    let format = Format { block_bytes: length(header), checksum };
    let legal = (SECTOR_BYTES..=BLOCK_BYTES_MAX).contains(&format.block_bytes)
        && format.block_bytes.is_multiple_of(SECTOR_BYTES);
    let identity = identity(header);
    (legal && header[NAME] == format.name(&identity)).then_some((format, identity))
}

fn length(header: &[u8; HEADER_BYTES]) -> usize {
    u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize
}

fn identity(header: &[u8; HEADER_BYTES]) -> Identity {
    Identity {
        campaign: number(header, 16),
        file: number(header, 24),
        offset: number(header, 32),
        generation: number(header, 40),
    }
}

/// The number of a checksum in a header.
fn code(checksum: Checksum) -> u8 {
    match checksum {
        Checksum::Crc32c => 1,
        Checksum::Xxh3_64 => 2,
        Checksum::Xxh3_128 => 3,
        Checksum::Blake3 => 4,
        Checksum::Md5 => 5,
    }
}

/// The parts of a block that its checksum covers. `block` is at least a header long.
#[inline]
fn covered(block: &[u8]) -> [&[u8]; 2] {
    [&block[..CHECKSUM.start], &block[CHECKSUM.end..]]
}

/// The MD5 of what is covered of up to [`BATCH`] blocks; part of a block at the end is left out.
fn md5_of_batch(blocks: &[u8], step: usize) -> [[u8; 16]; BATCH] {
    let mut parts: [[&[u8]; 2]; BATCH] = [[&[]; 2]; BATCH];
    let mut count = 0;
    for (part, block) in parts.iter_mut().zip(blocks.chunks_exact(step)) {
        *part = covered(block);
        count += 1;
    }
    let mut digests = [[0; 16]; BATCH];
    md5_each_of(&parts[..count], &mut digests[..count]);
    digests
}

/// The little-endian number at `at`; 0 where the bytes end before it does.
#[inline]
fn number(bytes: &[u8], at: usize) -> u64 {
    let eight = bytes.get(at..).and_then(|rest| rest.first_chunk());
    eight.map_or(0, |eight| u64::from_le_bytes(*eight))
}

fn write_time(block: &mut [u8], time_unix_ns: u64) {
    block[TIME].copy_from_slice(&time_unix_ns.to_le_bytes());
    block[TIME_AGAIN].copy_from_slice(&(!time_unix_ns).to_le_bytes());
}

/// The times that a block may have borne before something happened to it, to be tried against its
/// checksum, and the one to take when the checksum decides for none.
fn times(found: &[u8]) -> (Vec<u64>, u64) {
    if found.len() < CHECKSUM.start {
        return (Vec::new(), 0);
    }
    let (one, two) = (number(found, TIME.start), !number(found, TIME_AGAIN.start));
    let differing = one ^ two;
    if differing.count_ones() > TIME_BITS_TRIED {
        return (vec![one, two], 0);
    }
    // All subsets of the bits that differ (Hacker's Delight, 2nd edition, section 7-5).
    let mut times = Vec::new();
    let mut subset = 0_u64;
    loop {
        times.push(one ^ subset);
        subset = subset.wrapping_sub(differing) & differing;
        if subset == 0 {
            return (times, one);
        }
    }
}

#[cfg(test)]
mod tests;
