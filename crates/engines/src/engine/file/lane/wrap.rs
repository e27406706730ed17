//! What a stream does when it has been through its files and begins again at their start.
//!
//! Through the page cache the blocks of the last round may still be in memory: a reader would meet
//! them there, and a writer would write over bytes that no device has seen. So what is in flight is
//! let come back, what was written is made durable, and its pages are dropped, which is proved by
//! counting them. All of it is part of the load and takes its time, unless the trial times rounds
//! of one stream alone, as iozone does: then the clock stands meanwhile, but for what is asked to
//! count.

use super::{
    AddressGenerator, Backend, Check, FileLane, IoFault, IoKind, LoadPhase, Relaxed, StreamFiles,
    monotonic_ns,
};
use host::sys::clock;

/// Pauses between askings to drop pages that are busy, ns: those that sit in a processor's batch of
/// new pages go at the second asking, those that are still being read ahead a little later; and
/// those that lie in a socket when whoever reads from it has had a processor.
const PAUSES_NS: [u64; 6] = [0, 0, 1_000_000, 4_000_000, 16_000_000, 64_000_000];

/// What the ends of one stream's rounds came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wraps {
    /// How many times what was written was made durable before it was written over.
    pub flushes: u64,
    /// Time that this took, ns.
    pub flush_ns: u64,
    /// Bytes that stayed in memory although they were dropped, of all rounds together; `None` when
    /// that cannot be told.
    pub stayed_bytes: Option<u64>,
}

impl Default for Wraps {
    fn default() -> Wraps {
        Wraps { flushes: 0, flush_ns: 0, stayed_bytes: Some(0) }
    }
}

impl<B: Backend, G: AddressGenerator, C: Check> FileLane<'_, B, G, C> {
    /// Whether another round waits for what is in flight.
    #[inline]
    pub(super) fn waits_at_wrap(&self) -> bool {
        self.left_in_round == 0 && self.in_flight > 0 && self.terms.at_wrap.anything()
    }

    /// Since when a stream has nothing to do that saw its last operation complete at `now`: a stop
    /// that comes while a round is made durable finds nothing in flight, and yet that writing out
    /// was part of the load, and its time the load's.
    pub(super) fn idle_since(&self, now: u64) -> u64 {
        match self.in_flight == 0 && self.shared.phase() == LoadPhase::Stop {
            true => monotonic_ns(),
            false => now,
        }
    }

    /// Begins another round; false when that must wait for what is in flight, or when the trial was
    /// ended meanwhile.
    ///
    /// # Errors
    /// When what was written cannot be made durable.
    #[cold]
    pub(super) fn come_round(&mut self) -> Result<bool, IoFault> {
        if self.waits_at_wrap() {
            return Ok(false);
        }
        let at_wrap = self.terms.at_wrap;
        if at_wrap.anything() && self.shared.phase() == LoadPhase::Stop {
            return Ok(false);
        }
        if at_wrap.anything() && !self.end_round()? {
            return Ok(false);
        }
        self.left_in_round = self.terms.blocks();
        self.round = self.round.wrapping_add(1);
        Ok(true)
    }

    /// Ends a round: first what counts as time, then the rest; false when the trial was ended.
    fn end_round(&mut self) -> Result<bool, IoFault> {
        let (at_wrap, pauses) = (self.terms.at_wrap, self.terms.pauses);
        let began_ns = monotonic_ns();
        if at_wrap.forget {
            // Before the flush: unmapping tells the kernel which pages of a map are dirty.
            self.backend.let_go();
        }
        if at_wrap.flush_in_time {
            self.flush(began_ns)?;
        }
        if at_wrap.close_in_time {
            self.backend.close().map_err(|why| self.of_file("close", why))?;
        }
        if self.terms.whole_rounds && !self.rounds_over && self.shared.seen_enough() {
            self.rounds_over = true;
            self.shared.pass_over();
        }
        if self.shared.phase() == LoadPhase::Stop {
            // Nothing is written over any more: this flush was the last one's share.
            return Ok(false);
        }
        if pauses {
            self.cell.pause(monotonic_ns() - self.shared.released_ns.load(Relaxed));
        }
        let again = self.make_ready(began_ns);
        if pauses {
            self.cell.resume(monotonic_ns() - self.shared.released_ns.load(Relaxed));
        }
        again.map(|()| self.shared.phase() != LoadPhase::Stop)
    }

    /// What lies between two rounds.
    fn make_ready(&mut self, began_ns: u64) -> Result<(), IoFault> {
        let at_wrap = self.terms.at_wrap;
        if at_wrap.reopen && !at_wrap.close_in_time {
            self.backend.close().map_err(|why| self.of_file("close", why))?;
        }
        if !at_wrap.flush_in_time {
            self.flush(began_ns)?;
        }
        if at_wrap.forget {
            self.forget();
        }
        if at_wrap.empty {
            for file in &self.files.files {
                file.set_len(0).map_err(|why| self.of_file("truncate", why))?;
            }
        }
        if at_wrap.reopen {
            self.backend.reopen().map_err(|why| self.of_file("open again", why))?;
        }
        Ok(())
    }

    fn of_file(&self, what: &str, why: std::io::Error) -> IoFault {
        let what = format!("cannot {what} a file of stream {}: {why}", self.terms.stream);
        IoFault::Interface(std::io::Error::new(why.kind(), what))
    }

    /// Makes durable what was written, if that is asked.
    fn flush(&mut self, began_ns: u64) -> Result<(), IoFault> {
        if !self.terms.at_wrap.flush {
            return Ok(());
        }
        self.shared.flushing(true);
        let flushed = self.flush_files();
        self.shared.flushing(false);
        flushed?;
        if self.shared.phase() != LoadPhase::Stop {
            self.wraps.flushes += 1;
            self.wraps.flush_ns += monotonic_ns() - began_ns;
        }
        Ok(())
    }

    fn flush_files(&mut self) -> Result<(), IoFault> {
        let failed = |why, number| IoFault::Io {
            kind: IoKind::Sync,
            file: number,
            offset: 0,
            wanted: 0,
            moved: Err(why),
            rest: None,
        };
        self.backend.write_out().map_err(|why| failed(why, 0))?;
        for (file, number) in self.files.files.iter().zip(0..) {
            file.sync_data().map_err(|why| failed(why, number))?;
        }
        Ok(())
    }

    /// Drops the files' clean pages, and keeps in mind what stayed.
    fn forget(&mut self) {
        let stayed = forget(self.files, self.terms.blocks() * self.terms.block_bytes);
        self.wraps.stayed_bytes = self.wraps.stayed_bytes.zip(stayed).map(|(all, one)| all + one);
    }
}

/// Drops the clean pages of files of so many bytes together, until none is left or no more will go;
/// the bytes that stayed, or `None` when that cannot be told.
pub fn forget(files: &StreamFiles, bytes: u64) -> Option<u64> {
    let mut stayed = None;
    for (pause_ns, asking) in PAUSES_NS.into_iter().zip(1..) {
        if pause_ns > 0 {
            clock::sleep_until(monotonic_ns() + pause_ns);
        }
        files.dropped().for_each(|part| part.forget());
        let resident = files.dropped().map(|part| part.resident_bytes());
        stayed = resident.sum::<Result<u64, _>>().ok();
        match stayed {
            None | Some(0) => break,
            // Files that live in memory go nowhere.
            Some(left) if asking > 1 && left > bytes / 2 => break,
            Some(_) => {}
        }
    }
    stayed
}
