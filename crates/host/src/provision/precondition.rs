//! Writes every byte of the disks, so that what is measured is not the speed of empty flash.
//!
//! Sequentially, 1 MiB at a time, around the page cache, all disks at once; bytes that no layer can
//! compress or find twice. Where it is asked for, blocks of 4 KiB at random places follow, so that
//! flash has no run of blocks left that can be erased as one. Nothing is judged here: whether a
//! disk has settled is for the trials.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::Progress;
use crate::sys::{Error, block};
use base::pattern::{self, CHUNK_BYTES, Data, Header};
use facts::inventory::disk::Disk;
use facts::layout::precondition::Passes;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const BLOCK_BYTES: usize = 1 << 20;
/// So many small writes are in flight on each disk: one at a time would take flash twenty times as
/// long, and leave nothing else behind.
const AT_ONCE: u64 = 16;
/// Bodies that each of them takes in turn.
const BODIES: usize = 16;
/// Direct I/O wants its buffers at multiples of a page at most (open(2)).
const ALIGNMENT: usize = 4096;

/// Writes all disks so often; `salt` tells these bytes from those of another filling. What is at
/// random begins on each disk once it was written in order.
///
/// # Errors
/// When a disk cannot be written, somebody else has it, or the user stops it.
pub fn fill(
    disks: &[Disk],
    passes: Passes,
    salt: u64,
    progress: &mut Progress<'_>,
) -> Result<(), Error> {
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let sizes = disks.iter().map(|disk| disk.size_bytes);
    let all = sizes.fold(0u64, u64::saturating_add).saturating_mul(u64::from(passes.all())).max(1);
    std::thread::scope(|scope| {
        let one = |(number, disk)| {
            let (done, stop) = (&done, &stop);
            let writing = Writing { disk, number: number as u64, salt, done, stop };
            scope.spawn(move || writing.all(passes))
        };
        let writers: Vec<_> = disks.iter().enumerate().map(one).collect();
        let mut asked = Ok(());
        while writers.iter().any(|writer| !writer.is_finished()) {
            if asked.is_ok() {
                asked = progress.check("cannot fill the disks");
            }
            // One that fails ends the others too: nothing will be measured.
            let failed = stop.load(Ordering::Relaxed) || asked.is_err();
            stop.store(failed, Ordering::Relaxed);
            let percent = done.load(Ordering::Relaxed) as f64 / all as f64 * 100.0;
            progress.tell(&format!("filling {} disks: {percent:.0} %", disks.len()));
            std::thread::sleep(Duration::from_millis(20));
        }
        let why = "a thread ended in an unknown way";
        let ends = writers.into_iter().map(|writer| {
            writer.join().unwrap_or_else(|_| Err(Error::new("cannot fill the disks", why)))
        });
        // All are waited for, whichever failed first.
        let ends: Vec<Result<(), Error>> = ends.collect();
        ends.into_iter().collect::<Result<(), Error>>().and(asked)
    })
}

/// One disk that is being written.
#[derive(Clone, Copy)]
struct Writing<'a> {
    disk: &'a Disk,
    number: u64,
    salt: u64,
    done: &'a AtomicU64,
    stop: &'a AtomicBool,
}

/// Bytes that begin where direct I/O takes them.
struct AlignedBuffer {
    bytes: Vec<u8>,
    start: usize,
    size: usize,
}

impl AlignedBuffer {
    /// Filled with so many bytes that are not found elsewhere.
    fn filled(size: usize, salt: u64, first_body: u32) -> AlignedBuffer {
        let bytes = vec![0u8; size + ALIGNMENT];
        let start = bytes.as_ptr().addr().next_multiple_of(ALIGNMENT) - bytes.as_ptr().addr();
        let mut room = AlignedBuffer { bytes, start, size };
        pattern::fill(room.all(), size, Data::Random, salt, first_body);
        room
    }

    fn all(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.size]
    }
}

impl Writing<'_> {
    fn failed(&self, offset: u64, error: std::io::Error) -> Error {
        self.stop.store(true, Ordering::Relaxed);
        let what = format!("cannot write {} at byte {offset}", self.disk.node.display());
        Error::new(what, error)
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn all(self, passes: Passes) -> Result<(), Error> {
        let Writing { disk, stop, .. } = self;
        let file = block::claim(&disk.node).inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        let written = self
            .in_order(&file, passes.in_order)
            .and_then(|()| self.at_random(&file, passes))
            .and_then(|()| file.sync_all().map_err(|error| self.failed(disk.size_bytes, error)));
        block::let_go(file, &disk.node);
        written
    }

    fn in_order(&self, file: &File, passes: u32) -> Result<(), Error> {
        let mut room = AlignedBuffer::filled(BLOCK_BYTES, self.salt ^ self.number, 0);
        for generation in 0..passes {
            let mut offset = 0;
            while offset < self.disk.size_bytes && self.goes_on() {
                let bytes = (self.disk.size_bytes - offset).min(BLOCK_BYTES as u64);
                let part = &mut room.all()[..bytes as usize];
                pattern::stamp(part, self.header(offset, generation, 0));
                file.write_all_at(part, offset).map_err(|error| self.failed(offset, error))?;
                offset += bytes;
                self.done.fetch_add(bytes, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    fn header(&self, offset: u64, generation: u32, body: u32) -> Header {
        Header { campaign: self.salt, file: self.number, offset, generation, body }
    }

    /// By several threads, each of which writes as much.
    fn at_random(&self, file: &File, passes: Passes) -> Result<(), Error> {
        let blocks = self.disk.size_bytes / CHUNK_BYTES as u64;
        let all = blocks.saturating_mul(u64::from(passes.at_random));
        if all == 0 {
            return Ok(());
        }
        std::thread::scope(|scope| {
            let one = |thread: u64| {
                let count = all / AT_ONCE + u64::from(thread < all % AT_ONCE);
                scope.spawn(move || self.scatter(file, thread, blocks, count))
            };
            let writers: Vec<_> = (0..AT_ONCE).map(one).collect();
            let why = "a thread ended in an unknown way";
            let ends = writers.into_iter().map(|writer| {
                writer.join().unwrap_or_else(|_| Err(Error::new("cannot fill the disks", why)))
            });
            // All are waited for, whichever failed first.
            let ends: Vec<Result<(), Error>> = ends.collect();
            ends.into_iter().collect()
        })
    }

    /// Writes so many blocks at random places of all that the disk has; one may be hit again.
    fn scatter(&self, file: &File, thread: u64, blocks: u64, count: u64) -> Result<(), Error> {
        let seed = self.salt ^ self.number.rotate_left(32) ^ thread.rotate_left(48);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let first = thread as u32 * BODIES as u32;
        let mut room = AlignedBuffer::filled(BODIES * CHUNK_BYTES, self.salt ^ self.number, first);
        let mut bodies = room.all().chunks_exact_mut(CHUNK_BYTES).zip(first..).collect::<Vec<_>>();
        for number in 0..count {
            if !self.goes_on() {
                break;
            }
            let place = ((u128::from(random.next_u64()) * u128::from(blocks)) >> 64) as u64;
            let offset = place * CHUNK_BYTES as u64;
            let (block, body) = &mut bodies[number as usize % BODIES];
            // No block is written twice with the same bytes.
            let generation = (number as u32).wrapping_add(1);
            pattern::stamp(block, self.header(offset, generation, *body));
            file.write_all_at(block, offset).map_err(|error| self.failed(offset, error))?;
            self.done.fetch_add(CHUNK_BYTES as u64, Ordering::Relaxed);
        }
        Ok(())
    }
}
