//! When the bytes of a read are checked.
//!
//! Latency ends when a read has come; checking it is time of the stream's own. Reads that the
//! kernel carries on by itself (direct, by io_uring or io_submit) are checked after the next ones
//! have been handed over, so that the device has as many in flight as it should while the processor
//! is busy, at a queue depth of 1 too; a stream has twice as many buffers for that. Reads that are
//! copied by the thread that asks for them (through the page cache, or one at a time) are checked
//! as they come, while their bytes are in the processor's cache. What completes during a check is
//! seen after it: with checks of many microseconds, latencies are longer by that.
//!
//! Through a map nothing is copied: the check is what touches the pages, so it is the reading, and
//! latency ends with it.

use super::{AddressGenerator, Backend, Check, Completion, FileLane, IoFault};
use crate::engine::file::backend::InPlaceVerdict;

impl<B: Backend, G: AddressGenerator, C: Check> FileLane<'_, B, G, C> {
    /// Checks what has come at once, or keeps it until others are on their way.
    #[inline]
    pub(super) fn check_or_wait(&mut self, completion: Completion) {
        match self.check.waits() {
            true => self.unchecked.push(completion),
            false => self.check_one(completion),
        }
    }

    /// Hands over what is queued, and checks what has come before.
    #[inline]
    pub(super) fn check_meanwhile(&mut self) -> Result<(), IoFault> {
        if self.unchecked.is_empty() {
            return Ok(());
        }
        self.backend.hand_over()?;
        while let Some(completion) = self.unchecked.pop() {
            self.check_one(completion);
        }
        Ok(())
    }

    /// Queues a read that may be checked where its bytes lie.
    #[inline]
    pub(super) fn push_seen(&mut self, slot: u32, file: u32, offset: u64) {
        let check = &self.check;
        let right = |bytes: &[u8]| check.is_right(bytes, file, offset);
        self.slots.at(slot).seen = self.backend.push_seen(slot, file, offset, right);
    }

    #[inline]
    fn check_one(&mut self, completion: Completion) {
        let io = *self.slots.at(completion.slot);
        if io.seen == InPlaceVerdict::Right {
            self.check.saw(self.buffers.block());
            return self.slots.give::<false>(completion.slot);
        }
        // SAFETY: its read has come back, and the slot is given back only below: nothing on it is
        // in flight.
        let bytes = unsafe { self.buffers.slice(completion.slot) };
        match io.seen {
            InPlaceVerdict::Wrong => {
                self.check.look_again(bytes, completion.result, io.file, io.offset)
            }
            _ => self.check.look(bytes, completion.result, io.file, io.offset),
        }
        self.slots.give::<false>(completion.slot);
    }

    /// Fills a buffer with the blocks of its place.
    pub(super) fn write_blocks(&mut self, slot: u32, file: u32, offset: u64) {
        let round = u64::from(self.round.wrapping_sub(self.terms.seed as u32));
        // SAFETY: the slot was taken from the free ones a moment ago: nothing on it is in flight.
        self.check.write(unsafe { self.buffers.slice(slot) }, file, offset, round);
    }
}
