//! What a client writes: filled once, stamped anew for each write.
//!
//! A client goes round in so many bytes that no compressor with a smaller window sees the same ones
//! twice: the second block of a file would otherwise be the first one again, and a file system that
//! compresses would flatter itself (rule 7).

use base::pattern::{self, CHUNK_BYTES, Data, Header};

/// Bytes that one client goes round in, at least; as in the engine `file`.
const POOL_BYTES: usize = 2 << 20;

/// The bytes of one client's writes.
#[derive(Debug)]
pub struct WriteContent {
    pool: Vec<u8>,
    next: usize,
    data: Data,
    header: Header,
    first_body: u32,
}

impl WriteContent {
    /// For client `index`, whose writes are of `most` bytes at most. No two clients have a body in
    /// common.
    pub fn new(data: Data, campaign: u64, index: usize, most: usize) -> WriteContent {
        let mut pool = vec![0; pool_bytes(most)];
        let bodies = (pool.len() / CHUNK_BYTES) as u32;
        let first_body = bodies.wrapping_mul(index as u32);
        pattern::fill(&mut pool, CHUNK_BYTES, data, campaign, first_body);
        let header = Header { campaign, file: (index as u64) << 32, ..Header::default() };
        WriteContent { pool, next: 0, data, header, first_body }
    }

    /// What is written from here on is another generation than what was.
    pub fn begin_generation(&mut self) {
        self.header.generation = self.header.generation.wrapping_add(1);
    }

    /// So many bytes, to be written at `offset` of the client's file `file`; and whether they had
    /// to be marked, which is our own work and not the kernel's.
    #[inline]
    pub fn bytes(&mut self, file: u32, offset: u64, bytes: usize) -> (&[u8], bool) {
        let start = if self.next + bytes <= self.pool.len() { self.next } else { 0 };
        // Headers come to lie where headers lay before, and bodies stay as they were.
        self.next = start + bytes.next_multiple_of(CHUNK_BYTES);
        let piece = &mut self.pool[start..start + bytes];
        let marks = self.data.is_stamped();
        if marks {
            self.header.body = self.first_body.wrapping_add((start / CHUNK_BYTES) as u32);
            self.header.file = self.header.file >> 32 << 32 | u64::from(file);
            self.header.offset = offset;
            pattern::stamp(piece, self.header);
        }
        (piece, marks)
    }
}

/// Memory that the source of one client takes, whose writes are of `most` bytes at most.
pub fn pool_bytes(most: usize) -> usize {
    match most {
        0 => 0,
        _ => most.next_multiple_of(CHUNK_BYTES).max(POOL_BYTES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const RANDOM: Data = Data::Random;

    /// A mailbox's files of 10 000 bytes were three times the same 4 KiB but for 40 bytes: a file
    /// system that compresses stored a third of them, and none of what was measured said so.
    #[test]
    fn no_block_of_a_file_is_like_another_nor_like_one_of_another_client() {
        let mut seen = HashSet::new();
        for client in 0..3 {
            let mut source = WriteContent::new(RANDOM, 7, client, 4096);
            for write in 0..500 {
                let (bytes, marked) = source.bytes(write / 3, u64::from(write % 3) * 4096, 4096);
                assert!(marked);
                let body = bytes[pattern::HEADER_BYTES..].to_vec();
                assert!(seen.insert(body), "client {client}, write {write}");
            }
        }
    }

    /// In one round of a loadfile, two files had the same bytes at the same places: a file system
    /// that stores equal blocks once stored one of them.
    #[test]
    fn what_goes_round_is_marked_with_its_file_place_and_generation() {
        let mut source = WriteContent::new(RANDOM, 7, 1, 65536);
        let pieces = (POOL_BYTES / 65536) as u32;
        let mut seen = HashSet::new();
        for round in 0..2 {
            for write in 0..2 * pieces {
                let (bytes, _) = source.bytes(write, 0, 65536);
                assert!(seen.insert(bytes[..CHUNK_BYTES].to_vec()), "round {round}, {write}");
                let header = Header::read(bytes).unwrap();
                assert_eq!((header.file, header.generation), (1 << 32 | u64::from(write), round));
            }
            source.begin_generation();
        }
    }

    #[test]
    fn every_size_is_given_whole_and_none_at_all_too() {
        for most in [1, 512, 1000, 65537, (2 << 20) - 1, 3 << 20] {
            let mut source = WriteContent::new(Data::Zero, 7, 2, most);
            for bytes in [most, 1, most, most / 2, most] {
                let (given, marked) = source.bytes(0, 0, bytes);
                assert!(given.len() == bytes && !marked && given.iter().all(|byte| *byte == 0));
            }
        }
        assert!(WriteContent::new(RANDOM, 7, 2, 0).bytes(0, 0, 0).0.is_empty());
    }
}
