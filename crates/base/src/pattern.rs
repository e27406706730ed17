//! (pure) Blocks that say who they are: fill, stamp, change; blocks that can be checked
//! ([`block`]), and what happened to those that are wrong ([`judge`]).
//!
//! Buffers are filled once with bytes that no compressor can shrink; before each write every 4 KiB
//! of the buffer gets a [`Header`] that no other 4 KiB has, so that no layer that compresses,
//! deduplicates or skips zeros can flatter itself (rule 7). Which buffer is written where is
//! the engine's business.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

pub mod block;
pub mod generation;
pub mod header;
pub mod judge;

pub use header::{HEADER_BYTES, Header};

/// Every so many bytes of a block bear a header; also the unit that most file systems deduplicate.
pub const CHUNK_BYTES: usize = 4096;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Data {
    /// Incompressible and unique.
    Random,
    /// Zeros, without headers.
    Zero,
    /// Each 4 KiB ends with this share of zeros; the rest is as [`Data::Random`].
    Compressible(f64),
}

impl Data {
    /// Whether blocks bear headers.
    pub fn is_stamped(self) -> bool {
        self != Data::Zero
    }

    /// Zeros at the end of each chunk of `chunk` bytes; the header is never among them.
    fn zeros(self, chunk: usize) -> usize {
        match self {
            Data::Random => 0,
            Data::Zero => chunk,
            Data::Compressible(share) => {
                let zeros = (chunk as f64 * share.clamp(0.0, 1.0)).round() as usize;
                zeros.min(chunk.saturating_sub(HEADER_BYTES))
            }
        }
    }
}

/// Fills a buffer of blocks of `block_bytes` with the bodies of the chunks `first_body` and on; the
/// headers come with [`stamp`]. The body of a chunk is a function of the campaign and its number
/// alone, so a reader of the header can make it anew.
pub fn fill(buffer: &mut [u8], block_bytes: usize, data: Data, campaign: u64, first_body: u32) {
    let mut body = first_body;
    for block in buffer.chunks_mut(block_bytes.max(1)) {
        for chunk in block.chunks_mut(CHUNK_BYTES) {
            fill_body(chunk, data, campaign, body);
            body = body.wrapping_add(1);
        }
    }
}

/// How many bodies [`fill`] puts in one block.
pub fn bodies_per_block(block_bytes: usize) -> u32 {
    block_bytes.div_ceil(CHUNK_BYTES) as u32
}

fn fill_body(chunk: &mut [u8], data: Data, campaign: u64, body: u32) {
    let random_bytes = chunk.len() - data.zeros(chunk.len());
    let (random, zeros) = chunk.split_at_mut(random_bytes);
    zeros.fill(0);
    let seed = campaign ^ u64::from(body).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(random);
}

/// Writes the headers of one block: at its start and every 4 KiB from there. `header` is the one of
/// the first chunk; offsets and bodies of the others follow from it.
#[inline]
pub fn stamp(block: &mut [u8], mut header: Header) {
    for chunk in block.chunks_mut(CHUNK_BYTES) {
        header.write(chunk);
        header.offset += CHUNK_BYTES as u64;
        header.body = header.body.wrapping_add(1);
    }
}

/// Changes a block that was read: every header in it becomes one of `header`, but for the body,
/// which stays the one that it was read with. What bears no header is changed in its first byte.
#[inline]
pub fn change(block: &mut [u8], mut header: Header) {
    for chunk in block.chunks_mut(CHUNK_BYTES) {
        match Header::read(chunk) {
            Some(old) => Header { body: old.body, ..header }.write(chunk),
            None => chunk[0] = chunk[0].wrapping_add(1),
        }
        header.offset += CHUNK_BYTES as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::io::Write;

    use flate2::{Compression, write::DeflateEncoder};

    /// As a file would hold them: `blocks` blocks, from a pool of buffers that go round.
    fn written(data: Data, block_bytes: usize, pool: usize, blocks: usize) -> Vec<u8> {
        let mut buffers = vec![0; block_bytes * pool];
        fill(&mut buffers, block_bytes, data, 7, 0);
        let mut file = Vec::new();
        for index in 0..blocks {
            let slot = index % pool;
            let buffer = &mut buffers[slot * block_bytes..][..block_bytes];
            let header = Header {
                campaign: 7,
                file: 3,
                offset: (index * block_bytes) as u64,
                generation: 9,
                body: slot as u32 * bodies_per_block(block_bytes),
            };
            if data.is_stamped() {
                stamp(buffer, header);
            }
            file.extend_from_slice(buffer);
        }
        file
    }

    fn deflated(bytes: &[u8]) -> f64 {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().len() as f64 / bytes.len() as f64
    }

    #[test]
    fn random_blocks_do_not_compress() {
        for (block, pool) in [(4096, 512), (1 << 20, 2), (6144, 400)] {
            let share = deflated(&written(Data::Random, block, pool, (4 << 20) / block));
            assert!(share > 0.99, "block {block}: {share}");
        }
    }

    #[test]
    fn compressible_blocks_compress_by_the_share_that_was_asked() {
        let half = deflated(&written(Data::Compressible(0.5), 65536, 32, 64));
        assert!((0.47..0.53).contains(&half), "{half}");
        let none = deflated(&written(Data::Compressible(0.0), 65536, 32, 64));
        assert!(none > 0.99, "{none}");
        let most = deflated(&written(Data::Compressible(1.0), 65536, 32, 64));
        assert!(most < 0.02, "{most}");
    }

    #[test]
    fn zeros_are_zeros() {
        assert!(written(Data::Zero, 4096, 2, 4).iter().all(|byte| *byte == 0));
    }

    #[test]
    fn no_two_pages_are_equal_at_any_block_size() {
        for block in [512, 4096, 6144, 65536] {
            let file = written(Data::Compressible(1.0), block, 8, (1 << 20) / block);
            let pages: HashSet<&[u8]> = file.chunks(4096).collect();
            assert_eq!(pages.len(), file.len().div_ceil(4096), "block {block}");
        }
    }

    #[test]
    fn a_block_that_is_changed_keeps_its_body_and_says_when_it_was_written() {
        let before = written(Data::Random, 65536, 4, 3);
        let mut after = before.clone();
        let (first, last) = after.split_at_mut(65536 * 2);
        let header = Header { campaign: 8, file: 1, offset: 0, generation: 10, body: 77 };
        change(first, header);
        last.fill(7);
        change(last, header);
        for (index, chunk) in after[..65536 * 2].chunks(CHUNK_BYTES).enumerate() {
            let (old, new) = (&before[index * CHUNK_BYTES..][..CHUNK_BYTES], chunk);
            let (was, is) = (Header::read(old).unwrap(), Header::read(new).unwrap());
            assert_eq!((is.campaign, is.file, is.generation), (8, 1, 10));
            assert_eq!((is.offset, is.body), ((index * CHUNK_BYTES) as u64, was.body));
            assert_eq!(old[HEADER_BYTES..], new[HEADER_BYTES..]);
        }
        for chunk in after[65536 * 2..].chunks(CHUNK_BYTES) {
            assert_eq!((chunk[0], chunk[1]), (8, 7), "no header, so one byte");
        }
    }

    #[test]
    fn a_body_can_be_made_anew_from_its_header() {
        let file = written(Data::Random, 65536, 4, 16);
        for (index, chunk) in file.chunks(CHUNK_BYTES).enumerate() {
            let header = Header::read(chunk).unwrap();
            assert_eq!(header.offset, (index * CHUNK_BYTES) as u64);
            let mut again = vec![0; CHUNK_BYTES];
            fill_body(&mut again, Data::Random, header.campaign, header.body);
            assert_eq!(again[HEADER_BYTES..], chunk[HEADER_BYTES..]);
        }
    }
}
