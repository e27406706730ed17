//! Blocks that are read, changed, and written back where they came from.
//!
//! It is what bonnie calls rewriting, and what every tenth of its seeks does. A block and its
//! writing back are one operation of a pass, and their latency as a whole is a transaction's; bytes
//! and latency of each part are counted besides.

use super::{AddressGenerator, Backend, Check, FileLane, IoKind, LaneSettings, monotonic_ns};
use crate::engine::file::lane::slots::SlotFollowUp;
use base::pattern::change;

impl LaneSettings {
    /// Whether blocks are read first and then, all or some, written back.
    #[inline]
    pub(super) fn updates(&self) -> bool {
        self.update_every > 0
    }

    /// How many blocks a stream has come to with so many reads and writes.
    #[inline]
    pub(super) fn come_to(&self, reads: u64, writes: u64) -> u64 {
        if self.updates() { reads } else { reads + writes }
    }
}

impl<B: Backend, G: AddressGenerator, C: Check> FileLane<'_, B, G, C> {
    /// Counts the reading of a block that has come, changes it, and queues its writing.
    #[inline]
    pub(super) fn write_back(&mut self, slot: u32, now: u64, record: bool) {
        self.counts.reads += 1;
        let io = *self.slots.at(slot);
        if record {
            self.reads.record(now - io.begun_ns);
        }
        if self.terms.data.is_stamped() {
            // SAFETY: its reading has come back, and its writing is not queued yet: nothing on the
            // slot is in flight.
            let block = unsafe { self.buffers.slice(slot) };
            change(block, self.header(slot, io.file, io.offset));
        }
        let known = self.slots.at(slot);
        known.reads = false;
        known.next = SlotFollowUp::Nothing;
        // Changing a large block takes microseconds that are ours, not the kernel's.
        known.begun_ns = monotonic_ns();
        self.backend.push(IoKind::Write, slot, io.file, io.offset);
    }
}
