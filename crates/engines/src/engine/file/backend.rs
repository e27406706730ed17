//! How the kernel is asked: one file an interface, all behind [`Backend`], chosen at compile time.
//!
//! A backend moves bytes between buffers and files; which block, when and how long it took is the
//! lane's business.

use std::io;
use std::ptr::NonNull;

use host::sys::Error;
use host::sys::arena::{Arena, Pages};

pub mod aio;
pub mod any;
pub mod mapped;
pub mod ring;
pub mod single;
pub mod stdio;
pub mod sync;

/// What an I/O does with its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoKind {
    /// Fill it from the file.
    Read,
    /// Write it to the file.
    Write,
    /// Make the file durable; the buffer is not touched.
    Sync,
    /// The same of its data alone and of what reading them takes, as by fdatasync(2).
    SyncData,
}

/// One I/O that came back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Completion {
    /// The buffer.
    pub slot: u32,
    /// Bytes moved, or a negative error number.
    pub result: i32,
}

/// Whether bytes were right where they lie, if they were looked at before they were copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InPlaceVerdict {
    /// Nobody looked there.
    #[default]
    Nothing,
    /// They are right, and in no buffer.
    Right,
    /// They are wrong, and were copied into the buffer after that.
    Wrong,
}

/// A way to ask the kernel. One thread uses one backend.
pub trait Backend {
    /// Latencies are recorded always; the one that may do without is measured so beside a peer that
    /// records none.
    const IS_TIMED: bool = true;

    /// Bytes that a whole I/O moves, as `result` tells them: 0 for NOPs.
    fn whole(&self) -> i32;

    /// Queues one I/O; it may be done at once. There is room for as many as there are slots.
    fn push(&mut self, kind: IoKind, slot: u32, file: u32, offset: u64);

    /// Reads as [`Backend::push`] does, or has `right` look at the bytes where they lie; when they
    /// are, nothing is put into the buffer of `slot`. What it finds wrong is put there, to be
    /// looked at again where nobody changes it.
    #[inline]
    fn push_seen(
        &mut self,
        slot: u32,
        file: u32,
        offset: u64,
        _right: impl FnOnce(&[u8]) -> bool,
    ) -> InPlaceVerdict {
        self.push(IoKind::Read, slot, file, offset);
        InPlaceVerdict::Nothing
    }

    /// Hands over what is queued and waits for `want` completions, or until the monotonic clock
    /// shows `until_ns`. May return earlier.
    ///
    /// # Errors
    /// When the interface itself fails; the failure of an I/O is in its completion.
    fn enter(&mut self, want: u32, until_ns: Option<u64>) -> io::Result<()>;

    /// Hands over what is queued and waits for nothing; completions are taken after the next
    /// [`Backend::enter`].
    ///
    /// # Errors
    /// As [`Backend::enter`].
    fn hand_over(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Takes completions that have come, and tells how many.
    fn reap(&mut self, done: &mut [Completion]) -> usize;

    /// Lets go of pages that it holds, so that the page cache can; dirty ones stay to be written.
    fn let_go(&mut self) {}

    /// Hands to the kernel what it still holds itself, as fflush(3) does.
    ///
    /// # Errors
    /// The kernel's.
    fn write_out(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Closes its files, if it opened any; nothing is moved until they are opened again.
    ///
    /// # Errors
    /// The kernel's.
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Opens again what it closed.
    ///
    /// # Errors
    /// The kernel's.
    fn reopen(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The buffers of one stream, one a slot.
#[derive(Debug)]
pub struct Buffers {
    arena: Arena,
    block: usize,
    stride: usize,
    count: usize,
}

impl Buffers {
    /// `count` buffers of `block` bytes at multiples of `align`.
    ///
    /// # Errors
    /// When the kernel has no such memory.
    pub fn new(count: usize, block: usize, align: usize, huge: bool) -> Result<Buffers, Error> {
        let stride = block.next_multiple_of(align.max(1));
        let arena = Arena::new(stride.saturating_mul(count), huge)?;
        Ok(Buffers { arena, block, stride, count })
    }

    /// First byte of the buffer of `slot`.
    #[inline]
    pub fn pointer(&self, slot: u32) -> *mut u8 {
        debug_assert!((slot as usize) < self.count);
        // SAFETY: slots are below `count`, and the arena holds `count` strides.
        unsafe { self.arena.start().as_ptr().add(slot as usize * self.stride) }
    }

    /// The buffer of a slot that has no I/O in flight.
    ///
    /// # Safety
    /// No I/O on `slot` is in flight, and no other slice of it lives.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "slots are disjoint; the caller owns this one")]
    pub unsafe fn slice(&self, slot: u32) -> &mut [u8] {
        // SAFETY: in bounds as above, initialised by the kernel with zeros, and the caller's alone.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(slot), self.block) }
    }

    /// Bytes of one buffer.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Number of buffers.
    pub fn count(&self) -> usize {
        self.count
    }

    /// All memory of the buffers.
    pub fn span(&self) -> (NonNull<u8>, usize) {
        (self.arena.start(), self.stride * self.count)
    }

    /// What the memory lies on.
    pub fn pages(&self) -> Pages {
        self.arena.pages()
    }
}

/// The result of a system call as a completion tells it.
fn result_of(moved: io::Result<usize>) -> i32 {
    match moved {
        Ok(bytes) => bytes as i32,
        Err(why) => -why.raw_os_error().unwrap_or(libc::EIO),
    }
}
