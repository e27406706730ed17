//! Locks on a file and the memory that its readers share, among the connections of one thread.

use std::collections::BTreeMap;

use rusqlite::ffi;

use super::{Plant, planted};

/// Who holds which lock of a database file (<https://www.sqlite.org/lockingv3.html>).
#[derive(Debug, Default)]
pub(super) struct Locks {
    levels: BTreeMap<u64, i32>,
}

impl Locks {
    fn others(&self, handle: u64) -> i32 {
        let others = self.levels.iter().filter(|(of, _)| **of != handle);
        others.map(|(_, level)| *level).max().unwrap_or(ffi::SQLITE_LOCK_NONE)
    }

    /// Raises a lock; false when somebody else stands in the way.
    pub fn raise(&mut self, handle: u64, to: i32) -> bool {
        let others = if planted(Plant::LocksIgnored) { 0 } else { self.others(handle) };
        let level = self.levels.entry(handle).or_default();
        if *level >= to {
            return true;
        }
        let free = match to {
            ffi::SQLITE_LOCK_SHARED => others < ffi::SQLITE_LOCK_PENDING,
            ffi::SQLITE_LOCK_RESERVED => others < ffi::SQLITE_LOCK_RESERVED,
            _ => others == ffi::SQLITE_LOCK_NONE,
        };
        if free {
            *level = to;
        } else if to == ffi::SQLITE_LOCK_EXCLUSIVE && others < ffi::SQLITE_LOCK_PENDING {
            // Nobody new comes in while we wait for those who read.
            *level = ffi::SQLITE_LOCK_PENDING;
        }
        free
    }

    /// Lowers a lock.
    pub fn lower(&mut self, handle: u64, to: i32) {
        if to == ffi::SQLITE_LOCK_NONE {
            self.levels.remove(&handle);
        } else {
            self.levels.insert(handle, to);
        }
    }

    /// Whether anybody means to write.
    pub fn reserved(&self) -> bool {
        self.levels.values().any(|level| *level >= ffi::SQLITE_LOCK_RESERVED)
    }
}

/// Which locks of the shared memory one connection holds, a bit a lock.
#[derive(Clone, Copy, Debug, Default)]
struct SharedMemoryLocks {
    shared: u32,
    alone: u32,
}

/// The memory that readers of one file share.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    /// Zeroed when the first connection comes, as by `os_unix.c`.
    regions: Vec<Box<[u64]>>,
    held: BTreeMap<u64, SharedMemoryLocks>,
}

impl Sharing {
    /// A connection comes.
    pub fn join(&mut self, handle: u64) {
        self.held.entry(handle).or_default();
    }

    /// A connection goes; true when it was the last.
    pub fn leave(&mut self, handle: u64) -> bool {
        self.held.remove(&handle);
        self.held.is_empty()
    }

    /// Where a region lies; null when there is none and none may be made.
    pub fn region(&mut self, number: usize, bytes: usize, make: bool) -> *mut u64 {
        if make {
            while self.regions.len() <= number {
                self.regions.push(vec![0; bytes / 8].into());
            }
        }
        self.regions.get_mut(number).map_or(std::ptr::null_mut(), |region| region.as_mut_ptr())
    }

    /// Takes or gives back locks; false when somebody else stands in the way.
    pub fn lock(&mut self, handle: u64, bits: u32, flags: i32) -> bool {
        let alone = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
        if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            let held = self.held.entry(handle).or_default();
            let of = if alone { &mut held.alone } else { &mut held.shared };
            *of &= !bits;
            return true;
        }
        let others = self.held.iter().filter(|(of, _)| **of != handle);
        let taken =
            others.fold(0, |all, (_, held)| all | held.alone | if alone { held.shared } else { 0 });
        if taken & bits != 0 && !planted(Plant::LocksIgnored) {
            return false;
        }
        let held = self.held.entry(handle).or_default();
        let of = if alone { &mut held.alone } else { &mut held.shared };
        *of |= bits;
        true
    }
}
