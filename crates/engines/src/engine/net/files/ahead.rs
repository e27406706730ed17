//! sendfile(2), while helper threads of each sender read the next blocks into the page cache.
//!
//! A helper moves a block by splice(2) through a pipe to /dev/null: the pages are read and nothing
//! copies them, and the helper waits until they are there, so that `queue-depth` blocks are being
//! read and no more. posix_fadvise(2) with POSIX_FADV_WILLNEED and readahead(2) do not wait, and
//! read no more at once than the queue of the device allows; pread(2) into a buffer that is thrown
//! away copies all of it: it cost a helper several times the processor time, and the wire as much.
//!
//! Nobody reads beyond the end of a round before what is in memory of it was dropped.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Condvar, Mutex, PoisonError};

use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use super::ways::{PIPE_BYTES, pump, sendfile_at};
use super::{Failure, FilePosition, LoadFailure, SenderRound};
use crate::engine::file::files::StreamFiles;
use crate::engine::net::work::{EndCounters, broken, lock, retried};
use host::sys::clock::{ThreadClock, thread_cpu_ns};

/// Where a sender and its helpers are, in blocks since the trial began.
#[derive(Debug, Default)]
struct AheadPositions {
    /// The one that is being sent; `None` before the first.
    sending: Option<u64>,
    /// The next that nobody has taken.
    next: u64,
    /// The first that may not be read yet.
    until: u64,
    /// Helpers that are reading.
    busy: usize,
    over: bool,
}

impl AheadPositions {
    /// Takes the next block that is to be read. One that the sender has reached is its own.
    fn take(&mut self, depth: u64) -> Option<u64> {
        let sending = self.sending?;
        let number = self.next.max(sending + 1);
        (number < self.until && number <= sending + depth).then(|| {
            self.next = number + 1;
            self.busy += 1;
            number
        })
    }
}

/// What a sender and the helpers that read ahead of it share.
#[derive(Debug)]
struct SharedReadAhead<'a> {
    at: Mutex<AheadPositions>,
    moved: Condvar,
    depth: u64,
    files: &'a StreamFiles,
    block_bytes: u64,
    /// Rounds begin with nothing in memory.
    forgets: bool,
}

impl SharedReadAhead<'_> {
    /// The sender has come to this block, and all before it is sent.
    fn reach(&self, number: u64) {
        let mut at = lock(&self.at);
        if at.sending == Some(number) {
            return;
        }
        let blocks = self.files.blocks();
        at.sending = Some(number);
        at.until = if self.forgets { (number / blocks + 1) * blocks } else { u64::MAX };
        drop(at);
        self.moved.notify_all();
    }

    /// Waits until nobody reads; nobody begins to until the sender has come to another block.
    fn rest(&self) {
        let mut at = lock(&self.at);
        at.until = 0;
        while at.busy > 0 {
            at = self.moved.wait(at).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn end(&self) {
        lock(&self.at).over = true;
        self.moved.notify_all();
    }

    /// The next block to read, once there is one; `None` when it is over.
    fn wait(&self) -> Option<u64> {
        let mut at = lock(&self.at);
        loop {
            if at.over {
                return None;
            }
            if let Some(number) = at.take(self.depth) {
                return Some(number);
            }
            at = self.moved.wait(at).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// One helper, to its end.
    fn help(&self, pipe: &Pipe, count: &EndCounters) -> io::Result<()> {
        if let Some(clock) = ThreadClock::own() {
            let _ = count.clock.set(clock);
        }
        let mut done = Ok(());
        while let (Some(number), true) = (self.wait(), done.is_ok()) {
            done = self.read(number, pipe);
            lock(&self.at).busy -= 1;
            self.moved.notify_all();
        }
        count.cpu_ns.store(thread_cpu_ns(), std::sync::atomic::Ordering::Relaxed);
        done
    }

    /// Reads a block into the page cache. Bytes that cannot be read are the sender's to tell of,
    /// who meets them next; only a pipe that does not give back what it took is an error.
    fn read(&self, number: u64, pipe: &Pipe) -> io::Result<()> {
        let FilePosition { file, mut offset } =
            FilePosition::of_block(self.files, number, self.block_bytes);
        let end = offset + self.block_bytes;
        let flags = SpliceFlags::MOVE;
        while offset < end {
            let came = retried(|| {
                let (mut at, length) = (offset, (end - offset) as usize);
                splice(&self.files.files[file], Some(&mut at), &pipe.into, None, length, flags)
                    .map_err(io::Error::from)
            });
            let Ok(came @ 1..) = came else { return Ok(()) };
            let mut left = came;
            while left > 0 {
                left -= retried(|| {
                    splice(&pipe.out, None, &pipe.nowhere, None, left, flags)
                        .map_err(io::Error::from)
                })?;
            }
            offset += came as u64;
        }
        Ok(())
    }
}

/// Through which a helper's pages go.
struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
    nowhere: OwnedFd,
}

impl Pipe {
    fn new() -> io::Result<Pipe> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setpipe_size(&into, PIPE_BYTES)?;
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let nowhere = rustix::fs::open("/dev/null", flags, Mode::empty())?;
        Ok(Pipe { out, into, nowhere })
    }
}

/// sendfile(2), a block at a time, with helpers that read ahead.
///
/// # Errors
/// With what failed.
pub fn sendfile(round: SenderRound<'_>, wait: &dyn Fn() -> bool) -> Result<u64, LoadFailure> {
    let depth = round.work.job.helpers();
    let pipes: io::Result<Vec<Pipe>> = (0..depth).map(|_| Pipe::new()).collect();
    let pipes = pipes.map_err(broken("make a pipe of 1 MiB for a thread that reads ahead"))?;
    let counts =
        round.count.helpers.get_or_init(|| (0..depth).map(|_| EndCounters::default()).collect());
    let ahead = SharedReadAhead {
        at: Mutex::default(),
        moved: Condvar::new(),
        depth: depth as u64,
        files: round.files,
        block_bytes: round.served.job.block_bytes,
        forgets: round.served.job.at_wrap().forget,
    };
    std::thread::scope(|scope| {
        let mut helpers = Vec::with_capacity(depth);
        for (pipe, count) in pipes.iter().zip(counts) {
            let help = || ahead.help(pipe, count);
            match std::thread::Builder::new().spawn_scoped(scope, help) {
                Ok(helper) => helpers.push(helper),
                Err(why) => {
                    ahead.end();
                    return Err(broken("start a thread that reads ahead")(why));
                }
            }
        }
        let sent = send(round, &ahead, wait);
        ahead.end();
        for helper in helpers {
            let panicked = || (Failure::Failed, "a thread that reads ahead panicked".to_owned());
            let helped = helper.join().map_err(|_| panicked())?;
            helped.map_err(broken("empty the pipe of a thread that reads ahead"))?;
        }
        sent
    })
}

fn send(
    round: SenderRound<'_>,
    ahead: &SharedReadAhead<'_>,
    wait: &dyn Fn() -> bool,
) -> Result<u64, LoadFailure> {
    if !wait() {
        return Ok(0);
    }
    let step = |round: &SenderRound<'_>, length| {
        ahead.reach(round.number);
        sendfile_at(round, length)
    };
    pump(round, step, || ahead.rest())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_helpers_cost_is_the_sender_s() {
        let count = |ns: u64| EndCounters { cpu_ns: ns.into(), ..EndCounters::default() };
        let sender = count(300);
        sender.helpers.set(vec![count(20), count(1)]).unwrap();
        assert_eq!(sender.cpu_ns(), 321);
    }

    #[test]
    fn helpers_take_the_blocks_after_the_one_that_is_sent_up_to_the_depth_and_the_round_s_end() {
        let mut at = AheadPositions { until: 6, ..AheadPositions::default() };
        assert_eq!(at.take(2), None, "nothing is sent yet");
        at.sending = Some(0);
        assert_eq!([at.take(2), at.take(2), at.take(2)], [Some(1), Some(2), None]);
        assert_eq!(at.busy, 2);
        at.sending = Some(4);
        assert_eq!([at.take(2), at.take(2)], [Some(5), None], "the next round is not begun");
        at.until = 12;
        assert_eq!([at.take(2), at.take(2)], [Some(6), None]);
    }
}
