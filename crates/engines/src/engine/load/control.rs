//! What the streams and their controller share: the phase, the counters, the window.
//!
//! A stream touches its own cache line once per batch and reads the phase; everything else happens
//! at the few moments at which the phase changes.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::protocol::{Failure, LoadFailure};
use experiment::measurement::latency::{CLASSES, LatencyClassCounts};
use experiment::measurement::{Amount, Window};
use host::sys::clock::monotonic_ns;

/// Where the trial is; streams look at it once per batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LoadPhase {
    /// Not all streams have completed an operation.
    Starting = 0,
    /// All run: latency is recorded.
    Window = 1,
    /// Some stream has stopped for good; the others go on.
    Closed = 2,
    /// Everybody stops.
    Stop = 3,
}

/// What happens to a load, told to its controller.
#[derive(Debug)]
pub enum LoadEvent {
    /// A line from the parent; `None` at the end of the input.
    Input(Option<String>),
    /// A stream is set up.
    Ready,
    /// A stream could not be set up, or failed.
    Failed,
    /// The trial's end was decided by the streams.
    Ended,
    /// A stream has drained.
    Drained,
    /// A stream has made its writes durable.
    Flushed,
}

/// What waiting streams wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// Nothing yet.
    Shut,
    /// The load.
    Run,
    /// The second reading.
    SecondPass,
    /// The end.
    Quit,
}

/// A stream's counters, alone on two cache lines: processors prefetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct StreamCounters {
    /// Completed reads.
    pub read_ops: AtomicU64,
    /// Completed writes.
    pub write_ops: AtomicU64,
    /// Bytes of reads that are not all of one size, on top of what `read_ops` says.
    pub read_bytes: AtomicU64,
    /// Bytes of writes that are not all of one size, on top of what `write_ops` says.
    pub write_bytes: AtomicU64,
    /// Completed operations that are neither.
    pub metadata_ops: AtomicU64,
    /// When the stream had been through its blocks once, ns on the monotonic clock; 0 before.
    pub round_end_ns: AtomicU64,
    /// When its last operation so far completed, ns on the monotonic clock; 0 of a load whose
    /// window need not know.
    pub last_ns: AtomicU64,
    /// Completed reads of the second pass.
    pub second_ops: AtomicU64,
    /// Twice the time that was not timed so far; or, odd, while the clock stands: twice the time
    /// that was timed, and 1. One word, so that nobody reads half of a change.
    clock: AtomicU64,
}

impl StreamCounters {
    /// The clock stands from here on, `elapsed_ns` after the release.
    pub fn pause(&self, elapsed_ns: u64) {
        let untimed_ns = self.clock.load(Relaxed) >> 1;
        self.clock.store(elapsed_ns.saturating_sub(untimed_ns) << 1 | 1, Relaxed);
    }

    /// The clock goes on, `elapsed_ns` after the release.
    pub fn resume(&self, elapsed_ns: u64) {
        let timed_ns = self.clock.load(Relaxed) >> 1;
        self.clock.store(elapsed_ns.saturating_sub(timed_ns) << 1, Relaxed);
    }

    /// Time that was timed, `elapsed_ns` after the release.
    pub fn timed_ns(&self, elapsed_ns: u64) -> u64 {
        let clock = self.clock.load(Relaxed);
        if clock & 1 == 1 { clock >> 1 } else { elapsed_ns.saturating_sub(clock >> 1) }
    }
}

/// How many operations of a stream fell into each latency class. The stream alone writes, and on
/// lines of its own: whoever reads them does not take those of its [`StreamCounters`] away.
#[derive(Debug)]
#[repr(align(128))]
pub struct Classes([AtomicU64; CLASSES]);

impl Classes {
    fn none() -> Classes {
        Classes([const { AtomicU64::new(0) }; CLASSES])
    }

    /// One more; a load and a store, as nobody else writes.
    #[inline]
    pub fn count(&self, class: usize) {
        if let Some(count) = self.0.get(class) {
            count.store(count.load(Relaxed).wrapping_add(1), Relaxed);
        }
    }
}

/// The moments of a trial, monotonic clock.
#[derive(Clone, Debug, Default)]
pub struct TrialMoments {
    /// All had completed an operation, and what they had done then.
    pub opened: Option<(u64, Amount)>,
    /// The window's end, and what each had done then.
    pub closed: Option<(u64, Vec<Amount>)>,
    /// The trial's end, and what each had done then.
    pub ended: Option<(u64, Vec<Amount>)>,
    /// The first that went wrong.
    pub failure: Option<LoadFailure>,
    /// The last completion before the window opened, and before it closed; 0 where none is known.
    completed_ns: [u64; 2],
}

/// What all threads of a load share: its phase, its counters, its moments and its gate.
#[derive(Debug)]
pub struct LoadControl {
    phase: AtomicU32,
    /// One a stream.
    pub cells: Box<[StreamCounters]>,
    /// One a stream.
    pub classes: Box<[Classes]>,
    block_bytes: u64,
    metadata_bytes: u64,
    /// Streams count as started only after this long, ns.
    pub warm_up_ns: u64,
    /// The window opens when that time is over, and not with an operation.
    by_time: bool,
    sustained: bool,
    /// Operations of all streams together that are under way at once.
    in_flight: u64,
    not_started: AtomicUsize,
    in_pass: AtomicUsize,
    stopping: AtomicBool,
    flushing: AtomicUsize,
    enough: AtomicBool,
    /// The clock of a stream stands between its rounds.
    pub pauses: bool,
    /// Timed passes that an interval ends, end with a whole round.
    pub whole_rounds: bool,
    marks: Mutex<TrialMoments>,
    gate: Mutex<Gate>,
    gate_moved: Condvar,
    events: Sender<LoadEvent>,
    /// When the streams were let go, monotonic clock.
    pub released_ns: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked while it held the lock left whole values behind: all are plain data.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LoadControl {
    /// For so many streams.
    pub fn new(
        streams: usize,
        block_bytes: u64,
        sustained: bool,
        events: Sender<LoadEvent>,
    ) -> LoadControl {
        LoadControl {
            phase: AtomicU32::new(LoadPhase::Starting as u32),
            cells: (0..streams).map(|_| StreamCounters::default()).collect(),
            classes: (0..streams).map(|_| Classes::none()).collect(),
            block_bytes,
            metadata_bytes: 0,
            warm_up_ns: 0,
            by_time: false,
            sustained,
            in_flight: streams as u64,
            not_started: AtomicUsize::new(streams),
            in_pass: AtomicUsize::new(streams),
            stopping: AtomicBool::new(false),
            flushing: AtomicUsize::new(0),
            enough: AtomicBool::new(false),
            pauses: false,
            whole_rounds: false,
            marks: Mutex::new(TrialMoments::default()),
            gate: Mutex::new(Gate::Shut),
            gate_moved: Condvar::new(),
            events,
            released_ns: AtomicU64::new(0),
        }
    }

    /// The same; each operation that is no read or write has written so many bytes in passing.
    pub fn writing(self, metadata_bytes: u64) -> LoadControl {
        LoadControl { metadata_bytes, ..self }
    }

    /// The same; streams count as started only after this long, which is their business.
    pub fn warming_up(self, warm_up_ns: u64) -> LoadControl {
        LoadControl { warm_up_ns, ..self }
    }

    /// The same; the window opens so long after the release, if all have completed an operation.
    ///
    /// A window that opens with an operation begins where a throttle lets many go at once, and
    /// holds more of these moments than there are in any other of its length.
    pub fn opening_after(self, warm_up_ns: u64) -> LoadControl {
        LoadControl { warm_up_ns, by_time: warm_up_ns > 0, ..self }
    }

    /// The same, with so many operations of each stream under way at once.
    #[must_use]
    pub fn at_depth(self, depth: u32) -> LoadControl {
        LoadControl { in_flight: self.cells.len() as u64 * u64::from(depth), ..self }
    }

    /// The same, where what lies between two rounds is not timed, or ends a pass.
    #[must_use]
    pub fn by_rounds(self, pauses: bool, whole_rounds: bool) -> LoadControl {
        LoadControl { pauses, whole_rounds, ..self }
    }

    /// The phase; one relaxed load.
    #[inline]
    pub fn phase(&self) -> LoadPhase {
        match self.phase.load(Relaxed) {
            0 => LoadPhase::Starting,
            1 => LoadPhase::Window,
            2 => LoadPhase::Closed,
            _ => LoadPhase::Stop,
        }
    }

    /// Tells the controller.
    pub fn tell(&self, event: LoadEvent) {
        // The controller may be gone when the trial failed: then nobody needs to know.
        let _ = self.events.send(event);
    }

    /// A stream has completed its first operation. The last one opens the window.
    pub fn started(&self) {
        if self.not_started.fetch_sub(1, Relaxed) == 1 && !self.by_time {
            self.open();
        }
    }

    /// When the controller has to open the window; `None` where operations do, or it was opened.
    pub fn opens_at_ns(&self) -> Option<u64> {
        let opened = || lock(&self.marks).opened.is_some();
        let at_ns = self.released_ns.load(Relaxed).saturating_add(self.warm_up_ns);
        (self.by_time && !opened()).then_some(at_ns)
    }

    /// Opens it if all have completed an operation; whether they have.
    pub fn open_by_time(&self) -> bool {
        let all = self.not_started.load(Relaxed) == 0;
        if all {
            self.open();
        }
        all
    }

    fn open(&self) {
        let mut marks = lock(&self.marks);
        if marks.ended.is_none() && marks.closed.is_none() && marks.opened.is_none() {
            let (at_ns, amounts) = self.snapshot();
            marks.opened = Some((at_ns, sum(&amounts)));
            marks.completed_ns[0] = self.completed_ns();
            self.phase.store(LoadPhase::Window as u32, Relaxed);
        }
    }

    /// A stream's timed pass is over. With sustained load the last one ends the trial; without, the
    /// first one ends the window.
    pub fn pass_over(&self) {
        let last = self.in_pass.fetch_sub(1, Relaxed) == 1;
        if last {
            self.end();
            self.tell(LoadEvent::Ended);
        } else if !self.sustained {
            self.close();
        }
    }

    /// Ends the window, once.
    fn close(&self) {
        let mut marks = lock(&self.marks);
        if marks.closed.is_none() {
            marks.closed = Some(self.snapshot());
            marks.completed_ns[1] = self.completed_ns();
            if self.phase.load(Relaxed) < LoadPhase::Closed as u32 {
                self.phase.store(LoadPhase::Closed as u32, Relaxed);
            }
        }
    }

    /// Ends the window if it is open, and the trial: everybody stops. Once.
    pub fn end(&self) {
        let mut marks = lock(&self.marks);
        if marks.ended.is_some() {
            return;
        }
        let now = self.snapshot();
        if marks.closed.is_none() {
            marks.closed = Some(now.clone());
            marks.completed_ns[1] = self.completed_ns();
        }
        marks.ended = Some(now);
        self.phase.store(LoadPhase::Stop as u32, Relaxed);
        drop(marks);
        self.stopping.store(true, Relaxed);
    }

    /// The rounds in hand are the last: each stream's timed pass ends with its own.
    pub fn enough(&self) {
        self.enough.store(true, Relaxed);
    }

    /// Whether that was said.
    pub fn seen_enough(&self) -> bool {
        self.enough.load(Relaxed)
    }

    /// A stream begins, or ends, to make durable what it has written, in the middle of its load.
    pub fn flushing(&self, begins: bool) {
        match begins {
            true => self.flushing.fetch_add(1, Relaxed),
            false => self.flushing.fetch_sub(1, Relaxed),
        };
    }

    /// Whether some stream does that.
    pub fn is_flushing(&self) -> bool {
        self.flushing.load(Relaxed) > 0
    }

    /// Something went wrong in a stream: the first such thing is kept, and everybody stops.
    pub fn fail(&self, kind: Failure, what: String) {
        lock(&self.marks).failure.get_or_insert((kind, what));
        self.end();
        self.tell(LoadEvent::Failed);
    }

    /// Makes ready for another pass with the same streams.
    pub fn rearm(&self) {
        self.phase.store(LoadPhase::Closed as u32, Relaxed);
    }

    /// Ends whatever runs, without another mark.
    pub fn halt(&self) {
        self.phase.store(LoadPhase::Stop as u32, Relaxed);
    }

    /// The moments so far.
    pub fn marks(&self) -> TrialMoments {
        lock(&self.marks).clone()
    }

    /// The window so far, times relative to the release; none while it is open.
    pub fn window(&self) -> Option<Window> {
        let marks = lock(&self.marks);
        let released_ns = self.released_ns.load(Relaxed);
        let (opened_ns, before) = marks.opened.as_ref()?;
        let (closed_ns, after) = marks.closed.as_ref()?;
        let done = sum(after).since(before);
        let [start_ns, end_ns] = self
            .between_completions((*opened_ns, *closed_ns), marks.completed_ns, done.ops())
            .unwrap_or([*opened_ns, *closed_ns]);
        (end_ns > start_ns).then(|| Window {
            start_ns: start_ns.saturating_sub(released_ns),
            end_ns: end_ns.saturating_sub(released_ns),
            done,
        })
    }

    /// The window from the last completion before it to the last one in it, which is the time that
    /// its operations took. Where the whole queue completes at once, as behind a throttle or a
    /// cache that is filled by lots, a window between any two moments has one lot more or less:
    /// 6 s of lots of 0.42 s were 2 to 4 % off.
    ///
    /// Only as far as the whole queue takes at the mean rate (Little's law, and a quarter more):
    /// what stands still for longer at either end is a stall, and counts.
    fn between_completions(
        &self,
        (opened_ns, closed_ns): (u64, u64),
        completed_ns: [u64; 2],
        ops: u64,
    ) -> Option<[u64; 2]> {
        let queue_ns = (closed_ns.saturating_sub(opened_ns) as f64) * self.in_flight as f64
            / ops.max(1) as f64;
        let near = |at_ns: u64, completed: u64| {
            completed <= at_ns && (at_ns - completed) as f64 <= 1.25 * queue_ns
        };
        let [first, last] = completed_ns;
        let known = first > 0 && last > first && ops > 0 && !self.pauses;
        (known && near(opened_ns, first) && near(closed_ns, last)).then_some(completed_ns)
    }

    /// The last completion of all streams so far; 0 where none is known.
    fn completed_ns(&self) -> u64 {
        self.cells.iter().map(|cell| cell.last_ns.load(Relaxed)).max().unwrap_or(0)
    }

    /// What each stream has done, and when. Reading thousands of counters takes time in which they
    /// move: read again when it took long, as when this thread lost its processor meanwhile.
    pub fn snapshot(&self) -> (u64, Vec<Amount>) {
        let limit_ns = 20_000 + 50 * self.cells.len() as u64;
        let mut amounts = Vec::with_capacity(self.cells.len());
        let mut attempt = 0;
        loop {
            amounts.clear();
            let before = monotonic_ns();
            amounts.extend(self.cells.iter().map(|cell| self.amount(cell)));
            let after = monotonic_ns();
            attempt += 1;
            if after - before <= limit_ns || attempt == 4 {
                return (before + (after - before) / 2, amounts);
            }
        }
    }

    /// What all have done together.
    pub fn total(&self) -> Amount {
        self.cells.iter().fold(Amount::default(), |all, cell| all.plus(&self.amount(cell)))
    }

    /// How many operations of all streams have fallen into each latency class.
    pub fn latencies(&self) -> LatencyClassCounts {
        let mut all = [0; CLASSES];
        for classes in &self.classes {
            for (sum, count) in all.iter_mut().zip(&classes.0) {
                *sum += count.load(Relaxed);
            }
        }
        all
    }

    fn amount(&self, cell: &StreamCounters) -> Amount {
        let of_blocks =
            amount(cell.read_ops.load(Relaxed), cell.write_ops.load(Relaxed), self.block_bytes);
        let uneven = Amount {
            read_bytes: cell.read_bytes.load(Relaxed),
            write_bytes: cell.write_bytes.load(Relaxed),
            ..Amount::default()
        };
        let metadata = of_metadata(cell.metadata_ops.load(Relaxed), self.metadata_bytes);
        of_blocks.plus(&uneven).plus(&metadata)
    }

    /// Moves the gate on.
    pub fn open_gate(&self, to: Gate) {
        *lock(&self.gate) = to;
        self.gate_moved.notify_all();
    }

    /// Waits until the gate is at `at_least` or beyond, and tells where it is.
    pub fn wait_for(&self, at_least: Gate) -> Gate {
        let mut gate = lock(&self.gate);
        while *gate < at_least {
            gate = self.gate_moved.wait(gate).unwrap_or_else(PoisonError::into_inner);
        }
        *gate
    }
}

/// Operations of one size as an amount.
pub fn amount(read_ops: u64, write_ops: u64, block_bytes: u64) -> Amount {
    Amount {
        read_bytes: read_ops * block_bytes,
        read_ops,
        write_bytes: write_ops * block_bytes,
        write_ops,
        metadata_ops: 0,
    }
}

/// Operations that are no reads or writes, each of which has written so many bytes in passing.
pub fn of_metadata(metadata_ops: u64, bytes_each: u64) -> Amount {
    Amount { write_bytes: metadata_ops * bytes_each, metadata_ops, ..Amount::default() }
}

/// What all streams did together.
pub fn sum(amounts: &[Amount]) -> Amount {
    amounts.iter().fold(Amount::default(), |all, one| all.plus(one))
}

#[cfg(test)]
mod tests;
