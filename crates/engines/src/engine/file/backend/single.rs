//! One I/O at a time, done when it is pushed: what `sync`, `mapped` and `stdio` share.

use std::io;
use std::sync::Arc;

use super::{Backend, Buffers, Completion, InPlaceVerdict, IoKind, result_of};
use host::sys::clock;

/// Moves the bytes of one I/O.
pub trait Medium {
    /// Does one I/O between `buffer` and a place in a file; the bytes moved.
    ///
    /// # Errors
    /// The kernel's.
    fn act(&mut self, kind: IoKind, buffer: &mut [u8], file: u32, offset: u64)
    -> io::Result<usize>;

    /// Has `right` look at `length` bytes of a file where they lie, and tells what it said; `None`
    /// where bytes lie nowhere before they are read.
    ///
    /// # Errors
    /// As [`Medium::act`], when they could not all be read; what `right` said is worth nothing
    /// then.
    #[inline]
    fn see(
        &mut self,
        _length: usize,
        _file: u32,
        _offset: u64,
        _right: impl FnOnce(&[u8]) -> bool,
    ) -> Option<io::Result<bool>> {
        None
    }

    /// As [`Backend::let_go`].
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

/// One I/O at a time through `M`.
pub struct Single<M> {
    medium: M,
    buffers: Arc<Buffers>,
    done: Option<Completion>,
}

impl<M: Medium> Single<M> {
    /// Between `medium` and `buffers`.
    pub fn new(medium: M, buffers: Arc<Buffers>) -> Single<M> {
        Single { medium, buffers, done: None }
    }
}

impl<M: Medium> Backend for Single<M> {
    #[inline]
    fn whole(&self) -> i32 {
        self.buffers.block() as i32
    }

    #[inline]
    fn push(&mut self, kind: IoKind, slot: u32, file: u32, offset: u64) {
        // SAFETY: the slot is the caller's and nothing else is ever in flight: each I/O is complete
        // when this returns, and the slice is gone by then.
        let buffer = unsafe { self.buffers.slice(slot) };
        let result = result_of(self.medium.act(kind, buffer, file, offset));
        self.done = Some(Completion { slot, result });
    }

    #[inline]
    fn push_seen(
        &mut self,
        slot: u32,
        file: u32,
        offset: u64,
        right: impl FnOnce(&[u8]) -> bool,
    ) -> InPlaceVerdict {
        let length = self.buffers.block();
        let (seen, result) = match self.medium.see(length, file, offset, right) {
            Some(Ok(true)) => (InPlaceVerdict::Right, Ok(length)),
            Some(Err(why)) => (InPlaceVerdict::Nothing, Err(why)),
            wrong_or_nowhere => {
                self.push(IoKind::Read, slot, file, offset);
                return wrong_or_nowhere.map_or(InPlaceVerdict::Nothing, |_| InPlaceVerdict::Wrong);
            }
        };
        self.done = Some(Completion { slot, result: result_of(result) });
        seen
    }

    #[inline]
    fn enter(&mut self, _want: u32, until_ns: Option<u64>) -> io::Result<()> {
        if let (None, Some(until_ns)) = (self.done, until_ns) {
            clock::sleep_until(until_ns);
        }
        Ok(())
    }

    #[inline]
    fn reap(&mut self, done: &mut [Completion]) -> usize {
        match (self.done.take(), done.first_mut()) {
            (Some(completion), Some(place)) => {
                *place = completion;
                1
            }
            _ => 0,
        }
    }

    fn let_go(&mut self) {
        self.medium.let_go();
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.medium.write_out()
    }

    fn close(&mut self) -> io::Result<()> {
        self.medium.close()
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.medium.reopen()
    }
}
