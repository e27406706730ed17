//! The loop of one stream: draw a block, queue it, wait, count what came.
//!
//! Compiled once for every backend and direction, checked or not; and, for those that read or
//! write as fast as they go, for every address generator. So inside the loop there is no map, no
//! `dyn`, no allocation, no lock and no system call but the I/O itself. What a pass is, and when
//! everybody stops, is decided in `control`; what a stream does at the end of its files, before it
//! begins again, in `wrap`.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use hdrhistogram::Histogram;

use super::address::{AddressGenerator, Draws};
use super::backend::{Backend, Buffers, Completion, InPlaceVerdict, IoKind};
use super::check::Check;
use super::control::{LoadControl, LoadPhase, StreamCounters, amount};
use super::files::StreamFiles;
use super::job::AtWrap;
use crate::engine::load::tally::LatencyTally;
use base::pattern::{Data, Header, bodies_per_block, fill, stamp};
use experiment::measurement::{Amount, Integrity, Operation, latency_histogram};
use host::sys::clock::monotonic_ns;

mod checked;
mod fault;
mod paced;
mod rest;
mod slots;
mod update;
mod wrap;

pub use fault::IoFault;
use slots::{IoSlot, IoSlots, SlotFollowUp};
pub use wrap::{Wraps, forget};

/// What a lane needs to know of its trial and stream.
#[derive(Clone, Debug)]
pub struct LaneSettings {
    /// Number of the stream.
    pub stream: u32,
    /// Bytes of one I/O.
    pub block_bytes: u64,
    /// I/Os in flight.
    pub depth: u32,
    /// Completions that are waited for at once.
    pub batch: u32,
    /// Blocks of each file.
    pub blocks_per_file: u64,
    /// Where the first of them begins, bytes.
    pub start_bytes: u64,
    /// Number of files.
    pub files: u32,
    /// Operations of the timed pass; `None` when time ends it.
    pub pass_ops: Option<u64>,
    /// The timed pass goes on this long at least, ns.
    pub at_least_ns: u64,
    /// Go on untimed until all are done.
    pub sustained: bool,
    /// Every write is followed by an fsync, as part of it.
    pub sync_every: bool,
    /// How.
    pub sync: IoKind,
    /// What is done when a round is over.
    pub at_wrap: AtWrap,
    /// That is left out of the time, but for what is asked to count.
    pub pauses: bool,
    /// The timed pass ends with a whole round, once the controller has seen enough.
    pub whole_rounds: bool,
    /// Share of reads where there are both.
    pub read_share: f64,
    /// Every so many-th block is written back after it was read; 0: none is.
    pub update_every: u64,
    /// I/Os per second at fixed times; 0 is as fast as it can.
    pub rate: u64,
    /// Number of streams, which take their turns evenly when there is a rate.
    pub streams: u32,
    /// What is written.
    pub data: Data,
    /// Stamped into blocks.
    pub campaign: u64,
    /// Draws which operations read and which write.
    pub seed: u64,
}

impl LaneSettings {
    /// Blocks of all files: the operations of one round.
    fn blocks(&self) -> u64 {
        self.blocks_per_file * u64::from(self.files)
    }
}

/// What one stream did, times on the monotonic clock.
#[derive(Clone, Debug, Default)]
pub struct FileLaneResult {
    /// The first operation was submitted.
    pub started_ns: u64,
    /// The timed pass was over.
    pub pass_end_ns: Option<u64>,
    /// Done in the timed pass, when that ends by operations.
    pub pass: Amount,
    /// The last operation was complete.
    pub stopped_ns: u64,
    /// Done in all.
    pub total: Amount,
    /// Operations that were due and had not been submitted, when there is a rate.
    pub behind: u64,
    /// What was done whenever a round was over.
    pub wraps: Wraps,
    /// I/Os that moved only a part at first, and the rest when that was asked for.
    pub halved: u64,
}

/// The loop of one stream of the file engine, and all that it touches.
pub struct FileLane<'a, B, G, C> {
    backend: B,
    address: G,
    check: C,
    /// What has come and is not checked yet: its buffer, and its result.
    unchecked: Vec<Completion>,
    terms: &'a LaneSettings,
    shared: &'a LoadControl,
    cell: &'a StreamCounters,
    buffers: Arc<Buffers>,
    slots: IoSlots,
    done: Box<[Completion]>,
    draws: Draws,
    /// Operations with a number from here on are not timed.
    limit: u64,
    issued: u64,
    round: u32,
    left_in_round: u64,
    in_flight: u32,
    /// Some operation has come back.
    begun: bool,
    counts: LaneCounts,
    reads: LatencyTally<'a>,
    writes: LatencyTally<'a>,
    /// Reading and, where that is due, writing back, as one.
    updates: LatencyTally<'a>,
    files: &'a StreamFiles,
    wraps: Wraps,
    halved: u64,
    /// Its last timed round is over.
    rounds_over: bool,
}

/// What a lane has done, by direction, in all and while it was timed.
#[derive(Clone, Copy, Debug, Default)]
struct LaneCounts {
    reads: u64,
    writes: u64,
    timed_reads: u64,
    timed_writes: u64,
}

impl<'a, B: Backend, G: AddressGenerator, C: Check> FileLane<'a, B, G, C> {
    /// A lane that is ready to run; writers' buffers are filled.
    pub fn new(
        (backend, address, check): (B, G, C),
        terms: &'a LaneSettings,
        shared: &'a LoadControl,
        buffers: Arc<Buffers>,
        files: &'a StreamFiles,
    ) -> FileLane<'a, B, G, C> {
        let count = buffers.count();
        FileLane {
            unchecked: Vec::with_capacity(if C::ON { terms.depth as usize } else { 0 }),
            backend,
            address,
            check,
            terms,
            shared,
            cell: &shared.cells[terms.stream as usize],
            buffers,
            slots: IoSlots::new(count),
            done: vec![Completion::default(); terms.depth as usize].into(),
            draws: Draws::new(terms.seed ^ 0xD1CE),
            limit: u64::MAX,
            issued: 0,
            // Replicates of a trial write other generations over the same places.
            round: terms.seed as u32,
            left_in_round: terms.blocks(),
            in_flight: 0,
            begun: false,
            counts: LaneCounts::default(),
            reads: LatencyTally::default(),
            writes: LatencyTally::default(),
            updates: LatencyTally::default(),
            files,
            wraps: Wraps::default(),
            halved: 0,
            rounds_over: false,
        }
    }

    /// Fills the buffers of a writer, once.
    pub fn fill(&mut self) {
        if C::ON {
            // Each write makes all of its bytes.
            return;
        }
        let bodies = bodies_per_block(self.buffers.block());
        let first = (self.terms.stream).wrapping_mul(self.buffers.count() as u32);
        for slot in 0..self.buffers.count() as u32 {
            // SAFETY: nothing is in flight before the first operation.
            let buffer = unsafe { self.buffers.slice(slot) };
            let body = first.wrapping_add(slot).wrapping_mul(bodies);
            fill(buffer, buffer.len(), self.terms.data, self.terms.campaign, body);
        }
    }

    /// Runs the trial as fast as it goes, to its end, and drains.
    ///
    /// # Errors
    /// The first I/O that fails or falls short.
    pub fn run<const READS: bool, const WRITES: bool, const LATENCY: bool>(
        &mut self,
    ) -> Result<FileLaneResult, IoFault> {
        let mut done = FileLaneResult { started_ns: monotonic_ns(), ..FileLaneResult::default() };
        self.limit = self.first_limit();
        let mut now = done.started_ns;
        self.fill_up::<READS, WRITES, LATENCY>(now)?;
        while self.in_flight > 0 {
            let phase;
            (now, phase) = self.step::<READS, WRITES, LATENCY>(self.want(), None)?;
            self.tell::<READS, WRITES>(now, &mut done);
            if phase == LoadPhase::Stop {
                break;
            }
            self.fill_up::<READS, WRITES, LATENCY>(now)?;
        }
        let now = self.idle_since(now);
        self.drain::<READS, WRITES>(now, done)
    }

    /// Runs so many operations of a fresh copy of the addresses, or fewer where the parent ends it:
    /// the second pass.
    ///
    /// # Errors
    /// As [`FileLane::run`].
    pub fn again(&mut self, address: G, operations: u64) -> Result<FileLaneResult, IoFault> {
        self.address = address;
        self.counts = LaneCounts::default();
        self.issued = 0;
        self.left_in_round = u64::MAX;
        self.limit = operations;
        let started_ns = monotonic_ns();
        let done = FileLaneResult { started_ns, ..FileLaneResult::default() };
        let mut now = started_ns;
        loop {
            while self.in_flight < self.terms.depth && self.issued < self.limit {
                self.issue::<true, false, false>(now);
            }
            if self.in_flight == 0 || self.shared.phase() == LoadPhase::Stop {
                break;
            }
            let want = self.terms.batch.min(self.in_flight);
            (now, _) = self.step::<true, false, false>(want, None)?;
            self.cell.second_ops.store(self.counts.reads, Relaxed);
        }
        self.drain::<true, false>(now, done)
    }

    /// Latency of reads, of writes, and of both as one, as far as there were any; and what was
    /// found wrong, when that was asked.
    pub fn yields(self) -> (Vec<(Operation, Histogram<u64>)>, Option<Integrity>) {
        let kinds = [
            (Operation::Read, self.reads),
            (Operation::Write, self.writes),
            (Operation::Transaction, self.updates),
        ];
        let kept = kinds.into_iter().map(|(kind, tally)| Some((kind, tally.into_histogram()?)));
        (kept.flatten().collect(), self.check.found())
    }

    /// Makes ready to record latency.
    pub fn record<const READS: bool, const WRITES: bool>(&mut self) {
        let classes = &self.shared.classes[self.terms.stream as usize];
        self.reads = LatencyTally::over(READS.then(latency_histogram)).by_class(classes);
        self.writes = LatencyTally::over(WRITES.then(latency_histogram)).by_class(classes);
        // Each is made of operations that are in a class already.
        self.updates = LatencyTally::over(self.terms.updates().then(latency_histogram));
    }

    /// The backend, to flush through.
    pub fn backend(&mut self) -> &mut B {
        &mut self.backend
    }

    fn first_limit(&self) -> u64 {
        match self.terms.pass_ops {
            // A pass that must last a while is as long as it turns out to be.
            Some(operations) if self.terms.at_least_ns == 0 => operations,
            _ => u64::MAX,
        }
    }

    /// Queues operations until as many are in flight as should be; where batches are asked for, one
    /// batch at a time. I/O that is done as soon as it is handed over, as from the page cache, then
    /// goes through the buffers of one batch, which stay in the processor's cache.
    #[inline]
    fn fill_up<const READS: bool, const WRITES: bool, const LATENCY: bool>(
        &mut self,
        mut now: u64,
    ) -> Result<(), IoFault> {
        let (room, batch) = (self.terms.depth - self.in_flight, self.terms.batch);
        let mut left = if batch > 1 && room >= 2 * batch { batch } else { room };
        while left > 0 && self.may_issue() {
            if self.left_in_round == 0 {
                if !self.come_round()? {
                    break;
                }
                now = monotonic_ns();
            }
            self.issue::<READS, WRITES, LATENCY>(now);
            left -= 1;
        }
        Ok(())
    }

    /// How many completions to wait for: none while there is room for another batch.
    #[inline]
    fn want(&self) -> u32 {
        if self.in_flight < self.terms.depth && self.left_in_round > 0 && self.may_issue() {
            return 0;
        }
        self.terms.batch.min(self.in_flight)
    }

    #[inline]
    fn may_issue(&self) -> bool {
        self.terms.sustained || self.issued < self.limit
    }

    /// Draws a block and queues an operation on it, which counts as begun at `begun_ns`.
    #[inline]
    fn issue<const READS: bool, const WRITES: bool, const LATENCY: bool>(&mut self, begun_ns: u64) {
        self.left_in_round -= 1;
        let block = self.address.next();
        let (file, block) = match self.terms.files {
            1 => (0, block),
            _ => ((block / self.terms.blocks_per_file) as u32, block % self.terms.blocks_per_file),
        };
        let offset = self.terms.start_bytes + block * self.terms.block_bytes;
        let updates = READS && WRITES && self.terms.updates();
        let reads = READS && (!WRITES || updates || self.draws.unit() < self.terms.read_share);
        let slot = self.slots.take();
        let mut begun_ns = begun_ns;
        if WRITES && !reads && (C::ON || self.terms.data.is_stamped()) {
            self.stamp(slot, file, offset);
            if LATENCY && self.terms.rate == 0 {
                // Stamping a large block takes microseconds that are ours, not the kernel's.
                begun_ns = monotonic_ns();
            }
        }
        let back = updates && self.issued.is_multiple_of(self.terms.update_every);
        let next = if back { SlotFollowUp::WriteBack } else { SlotFollowUp::Nothing };
        let (number, seen) = (self.issued, InPlaceVerdict::Nothing);
        *self.slots.at(slot) =
            IoSlot { begun_ns, first_ns: begun_ns, number, offset, file, reads, next, seen };
        if C::ON && READS && !WRITES {
            self.push_seen(slot, file, offset);
        } else {
            self.backend.push(if reads { IoKind::Read } else { IoKind::Write }, slot, file, offset);
        }
        self.issued += 1;
        self.in_flight += 1;
    }

    /// The header of the first chunk of a block of this round, from the buffer of `slot`.
    #[inline]
    fn header(&self, slot: u32, file: u32, offset: u64) -> Header {
        let first = self.terms.stream.wrapping_mul(self.buffers.count() as u32);
        Header {
            campaign: self.terms.campaign,
            file: u64::from(self.terms.stream) << 32 | u64::from(file),
            offset,
            generation: self.round,
            body: first.wrapping_add(slot).wrapping_mul(bodies_per_block(self.buffers.block())),
        }
    }

    #[inline]
    fn stamp(&mut self, slot: u32, file: u32, offset: u64) {
        if C::ON {
            return self.write_blocks(slot, file, offset);
        }
        let header = self.header(slot, file, offset);
        // SAFETY: the slot was taken from the free ones a moment ago: nothing on it is in flight.
        stamp(unsafe { self.buffers.slice(slot) }, header);
    }

    /// Waits for completions and takes them; what time it is then, and the phase.
    #[inline(always)]
    fn step<const READS: bool, const WRITES: bool, const LATENCY: bool>(
        &mut self,
        want: u32,
        until_ns: Option<u64>,
    ) -> Result<(u64, LoadPhase), IoFault> {
        if C::ON {
            self.check_meanwhile()?;
        }
        self.backend.enter(want, until_ns)?;
        let came = self.backend.reap(&mut self.done);
        let now = monotonic_ns();
        let phase = self.shared.phase();
        self.take::<READS, WRITES, LATENCY>(came, now, phase == LoadPhase::Window)?;
        Ok((now, phase))
    }

    /// Counts what came; writes that must be made durable first are not yet complete.
    #[inline]
    fn take<const READS: bool, const WRITES: bool, const LATENCY: bool>(
        &mut self,
        came: usize,
        mut now: u64,
        in_window: bool,
    ) -> Result<(), IoFault> {
        let whole = self.backend.whole();
        let before = self.counts.reads + self.counts.writes;
        for index in 0..came {
            let Completion { slot, result } = self.done[index];
            let io = *self.slots.at(slot);
            if WRITES && io.next == SlotFollowUp::Synced {
                if result < 0 {
                    return Err(IoFault::from_result(&io, IoKind::Sync, result, whole));
                }
            } else {
                if result != whole
                    && !(C::ON && READS && !WRITES && self.check.goes_on(result, whole))
                {
                    self.rest(slot, if io.reads { IoKind::Read } else { IoKind::Write }, result)?;
                    now = monotonic_ns();
                }
                if READS && WRITES && io.next == SlotFollowUp::WriteBack {
                    self.write_back(slot, now, LATENCY && in_window);
                    continue;
                }
                if WRITES && self.terms.sync_every && !io.reads {
                    self.slots.at(slot).next = SlotFollowUp::Synced;
                    self.backend.push(self.terms.sync, slot, io.file, io.offset);
                    continue;
                }
            }
            self.in_flight -= 1;
            if C::ON && READS && !WRITES {
                self.check_or_wait(self.done[index]);
            } else {
                self.slots.give::<WRITES>(slot);
            }
            let timed = u64::from(io.number < self.limit);
            if READS && (!WRITES || io.reads) {
                self.counts.reads += 1;
                self.counts.timed_reads += timed;
                if LATENCY && in_window {
                    self.reads.record(now - io.begun_ns);
                }
            } else {
                self.counts.writes += 1;
                self.counts.timed_writes += timed;
                if LATENCY && in_window {
                    self.writes.record(now - io.begun_ns);
                }
                if READS && WRITES && self.terms.updates() {
                    // Its reading was counted when it came, and is done with now.
                    self.counts.timed_reads += timed;
                }
            }
            if READS && WRITES && LATENCY && in_window && self.terms.updates() {
                self.updates.record(now - io.first_ns);
            }
        }
        if self.counts.reads + self.counts.writes != before {
            self.cell.last_ns.store(now, Relaxed);
        }
        Ok(())
    }

    /// Lets the others know what is done; the first operation and the end of the pass are events.
    #[inline(always)]
    fn tell<const READS: bool, const WRITES: bool>(&mut self, now: u64, done: &mut FileLaneResult) {
        self.publish::<READS, WRITES>(now);
        if !self.begun && self.counts.reads + self.counts.writes > 0 {
            self.begun = true;
            self.shared.started();
        }
        if done.pass_end_ns.is_none() {
            self.watch_pass(now, done);
        }
    }

    #[inline]
    fn publish<const READS: bool, const WRITES: bool>(&mut self, now: u64) {
        if READS {
            self.cell.read_ops.store(self.counts.reads, Relaxed);
        }
        if WRITES {
            self.cell.write_ops.store(self.counts.writes, Relaxed);
        }
        if self.left_in_round == 0 || self.round != self.terms.seed as u32 {
            self.mark_round(now);
        }
    }

    /// The first round is over when the last of its operations is.
    #[inline]
    fn mark_round(&self, now: u64) {
        if self.terms.come_to(self.counts.reads, self.counts.writes) >= self.terms.blocks()
            && self.cell.round_end_ns.load(Relaxed) == 0
        {
            self.cell.round_end_ns.store(now, Relaxed);
        }
    }

    /// Ends the timed pass when its last operation is complete.
    #[inline]
    fn watch_pass(&mut self, now: u64, done: &mut FileLaneResult) {
        let Some(operations) = self.terms.pass_ops else { return };
        if self.limit == u64::MAX
            && self.issued >= operations
            && now - done.started_ns >= self.terms.at_least_ns
        {
            self.limit = self.issued;
        }
        let timed = self.terms.come_to(self.counts.timed_reads, self.counts.timed_writes);
        if timed < self.limit {
            return;
        }
        done.pass_end_ns = Some(now);
        done.pass =
            amount(self.counts.timed_reads, self.counts.timed_writes, self.terms.block_bytes);
        self.shared.pass_over();
    }

    /// Takes what is still in flight; it counts in the total, and not in the window.
    fn drain<const READS: bool, const WRITES: bool>(
        &mut self,
        mut now: u64,
        mut done: FileLaneResult,
    ) -> Result<FileLaneResult, IoFault> {
        while self.in_flight > 0 {
            (now, _) = self.step::<READS, WRITES, false>(self.in_flight, None)?;
        }
        if C::ON {
            self.check_meanwhile()?;
        }
        done.stopped_ns = now;
        (done.wraps, done.halved) = (self.wraps, self.halved);
        done.total = amount(self.counts.reads, self.counts.writes, self.terms.block_bytes);
        Ok(done)
    }
}
