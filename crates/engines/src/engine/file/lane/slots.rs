//! (pure) What is known of each I/O in flight, and which buffers are free.

use crate::engine::file::backend::InPlaceVerdict;

/// What follows when an I/O has come back whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotFollowUp {
    /// It is over.
    #[default]
    Nothing,
    /// What was read is changed and written back.
    WriteBack,
    /// Nothing: its bytes were written before, and this was their fsync.
    Synced,
}

/// One I/O in flight.
#[derive(Clone, Copy, Debug, Default)]
pub struct IoSlot {
    /// From when its latency counts, ns.
    pub begun_ns: u64,
    /// From when that of the whole counts, where a read is followed by a write; ns.
    pub first_ns: u64,
    /// How many came before it.
    pub number: u64,
    /// In the file, bytes.
    pub offset: u64,
    /// Which file of the stream.
    pub file: u32,
    /// Whether it reads.
    pub reads: bool,
    /// What follows.
    pub next: SlotFollowUp,
    /// What a check of its bytes where they lie has found.
    pub seen: InPlaceVerdict,
}

/// All slots, and a queue of the free ones. A writer takes the one that was free longest, and so
/// goes round in all of its buffers; a reader the one used last, which is in the processor's cache.
#[derive(Debug)]
pub struct IoSlots {
    slots: Box<[IoSlot]>,
    free: Box<[u32]>,
    mask: u32,
    head: u32,
    tail: u32,
}

impl IoSlots {
    /// `count` free slots.
    pub fn new(count: usize) -> IoSlots {
        let room = count.next_power_of_two();
        let mut free = vec![0; room];
        (0..count).for_each(|slot| free[slot] = slot as u32);
        IoSlots {
            slots: vec![IoSlot::default(); room].into(),
            free: free.into(),
            mask: room as u32 - 1,
            head: 0,
            tail: count as u32,
        }
    }

    /// Takes a free slot; there is one whenever fewer than `count` are taken.
    #[inline]
    pub fn take(&mut self) -> u32 {
        debug_assert_ne!(self.head, self.tail);
        let slot = self.free[(self.head & self.mask) as usize];
        self.head = self.head.wrapping_add(1);
        slot
    }

    /// Gives a slot back, to be taken last or next.
    #[inline]
    pub fn give<const LAST: bool>(&mut self, slot: u32) {
        if LAST {
            self.free[(self.tail & self.mask) as usize] = slot;
            self.tail = self.tail.wrapping_add(1);
        } else {
            self.head = self.head.wrapping_sub(1);
            self.free[(self.head & self.mask) as usize] = slot;
        }
    }

    /// What is known of the I/O on a slot.
    #[inline]
    pub fn at(&mut self, slot: u32) -> &mut IoSlot {
        &mut self.slots[(slot & self.mask) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_go_round_and_none_is_taken_twice() {
        let mut slots = IoSlots::new(3);
        assert_eq!([slots.take(), slots.take(), slots.take()], [0, 1, 2]);
        slots.give::<true>(1);
        slots.give::<true>(0);
        assert_eq!([slots.take(), slots.take()], [1, 0]);
        slots.give::<false>(1);
        slots.give::<false>(0);
        assert_eq!([slots.take(), slots.take()], [0, 1]);
        for _ in 0..100 {
            slots.give::<true>(2);
            assert_eq!(slots.take(), 2);
        }
        slots.at(2).offset = 9;
        assert_eq!(slots.at(2).offset, 9);
    }
}
