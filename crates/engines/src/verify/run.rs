//! The passes: starts the streams of each, waits for them, tells how far they are, and adds up.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::find::FoundTargets;
use super::ground::ReadingEvidence;
use super::shared::{VerificationContext, VerifyStreamMessage};
use super::{
    Against, BLOCK_BYTES, VerificationRequest, VerifyEvent, VerifyProgress, first, part, whole,
};
use experiment::measurement::verified::outcome::{Reading, Verification};
use host::sys::clock::{monotonic_ns, unix_ns};
use host::sys::signal::Stop;
use host::sys::{Error, Host};

/// How often it is told how far it is.
const TELL: Duration = Duration::from_millis(250);
/// A read that has not come back so long after the user wanted to stop hangs in the kernel, and is
/// left behind.
const HUNG_NS: u64 = 700_000_000;
/// Passes are added up until they took this long: one entry a minute.
const READING_NS: u64 = 60_000_000_000;
/// A pause after a pass in which nothing could be read.
const REST_NS: u64 = 1_000_000_000;
/// The rate just now is that of so many ns.
const RATE_NS: u64 = 5_000_000_000;

/// How a pass ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PassEnd {
    /// All was read.
    Whole,
    /// The user or the clock ended it.
    Cut,
    /// A stream hangs in the kernel.
    Hung,
}

/// Runs all passes.
///
/// # Errors
/// When no thread can be started.
pub fn run(
    request: &VerificationRequest,
    found: FoundTargets,
    stop: &Arc<Stop>,
    tell: &mut dyn FnMut(VerifyEvent),
) -> Result<Verification, Error> {
    let host = Host::live();
    let started_unix_ns = unix_ns();
    let ground = ReadingEvidence::new(&host, &found.files);
    let (sender, said) = channel();
    let devices = ground.devices.clone();
    let mut shared = VerificationContext::new(found.files, Arc::clone(stop), sender, devices);
    if let Some(length_ns) = request.length_ns {
        shared.deadline_ns = shared.started_ns.saturating_add(length_ns);
    }
    let mut outcome = Verification { started_unix_ns, ..Verification::default() };
    outcome.files = shared.files.len() as u64;
    {
        let mut tally = shared.tally();
        match &request.against {
            Against::FirstReading(checksum) => {
                tally.integrity.checksum = checksum.name().to_owned();
                tally.integrity.block_bytes = BLOCK_BYTES;
            }
            Against::List { .. } => {
                let sums = shared.files.iter().flat_map(|file| &file.entries);
                let mut names: Vec<&str> = sums.map(|entry| entry.sum.name()).collect();
                names.sort_unstable();
                names.dedup();
                tally.integrity.checksum = names.join(", ");
            }
        }
    }
    if let Against::FirstReading(checksum) = &request.against {
        shared.checksum = Some(*checksum);
    }
    if let Some(list) = found.list {
        shared.list_modified_ns = list.modified_ns;
        (outcome.list, outcome.names_from) = (Some(list.shown), Some(list.names_from));
    }
    for problem in found.problems {
        shared.problem(&problem.file, problem.kind, problem.what);
    }
    let shared = Arc::new(shared);
    let mut passes = Passes {
        request,
        shared: &shared,
        said: &said,
        tell,
        moments: VecDeque::new(),
        ground,
        part: part::OngoingReading::first(started_unix_ns),
        outcome,
    };
    let ended = passes.all()?;
    let mut outcome = passes.outcome;
    outcome.elapsed_ns = monotonic_ns().saturating_sub(shared.started_ns);
    outcome.interrupted = stop.asked();
    take(&shared, &mut outcome, ended);
    Ok(outcome)
}

/// Takes what was found. A file that a hung stream holds locked is not asked.
fn take(shared: &VerificationContext, outcome: &mut Verification, ended: PassEnd) {
    for file in &shared.files {
        let state = match ended {
            PassEnd::Hung => file.state.try_lock().ok(),
            _ => Some(file.state.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        let Some(state) = state else { continue };
        outcome.files_read += u64::from(state.read);
        outcome.files_wrong += u64::from(state.wrong);
    }
    let mut tally = shared.tally();
    outcome.integrity = std::mem::take(&mut tally.integrity);
    outcome.problems = std::mem::take(&mut tally.problems);
    outcome.problem_counts = std::mem::take(&mut tally.counts);
}

struct Passes<'a> {
    request: &'a VerificationRequest,
    shared: &'a Arc<VerificationContext>,
    said: &'a Receiver<VerifyStreamMessage>,
    tell: &'a mut dyn FnMut(VerifyEvent),
    /// When so much was done, over the last seconds.
    moments: VecDeque<(u64, u64)>,
    ground: ReadingEvidence,
    /// What is kept of the reading on its way.
    part: part::OngoingReading,
    outcome: Verification,
}

impl Passes<'_> {
    fn all(&mut self) -> Result<PassEnd, Error> {
        let mut pass = 0;
        let mut first_pass = 1;
        let (mut began_ns, mut began_unix_ns) = (monotonic_ns(), unix_ns());
        self.ground.begin();
        loop {
            pass += 1;
            let before = self.shared.tally().integrity.checked_bytes;
            self.part.begin_pass();
            let ended = self.pass(pass)?;
            self.part.end_pass();
            self.outcome.passes += u64::from(ended == PassEnd::Whole);
            let nothing = self.shared.bytes() == 0;
            let last = ended != PassEnd::Whole
                || nothing
                || self.request.passes.is_some_and(|of| pass >= of);
            if !last && self.shared.tally().integrity.checked_bytes == before {
                self.rest();
            }
            let last = last || self.shared.over();
            let elapsed_ns = monotonic_ns().saturating_sub(began_ns);
            if last || elapsed_ns >= READING_NS {
                self.count_errors(ended);
                self.keep(true);
                let (did, checked_bytes, compared_bytes) = self.shared.take_done();
                self.outcome.readings.push(Reading {
                    first_pass,
                    passes: pass + 1 - first_pass,
                    started_unix_ns: began_unix_ns,
                    elapsed_ns,
                    checked_bytes,
                    compared_bytes,
                    origin: self.ground.origin(did),
                });
                first_pass = pass + 1;
                (began_ns, began_unix_ns) = (monotonic_ns(), unix_ns());
                self.part = self.part.next(began_unix_ns, first_pass, self.shared);
                self.ground.begin();
            }
            if last {
                return Ok(ended);
            }
        }
    }

    /// What the machine counted of errors during the reading. Where a stream hangs, nothing more is
    /// asked of the drives.
    fn count_errors(&mut self, ended: PassEnd) {
        if ended != PassEnd::Hung {
            let (counted, uncounted) = self.ground.errors();
            self.shared.tally().integrity.count_on(counted.clone(), uncounted.clone());
            self.part.count_errors(counted, uncounted);
        }
    }

    /// Tells what is to be kept of the reading on its way.
    fn keep(&mut self, over: bool) {
        let part = self.part.part(&mut self.ground, self.shared, &self.outcome, over);
        (self.tell)(VerifyEvent::Part(Box::new(part)));
    }

    /// Everything is gone or unreadable, and may come back: it is not asked for without a pause.
    fn rest(&self) {
        let until_ns = monotonic_ns().saturating_add(REST_NS);
        while monotonic_ns() < until_ns && !self.shared.over() {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// One pass through all files.
    fn pass(&mut self, pass: u64) -> Result<PassEnd, Error> {
        let of_bytes = self.shared.begin_pass();
        let streams = self.request.streams.max(1);
        for number in 0..streams {
            let shared = Arc::clone(self.shared);
            let builder = std::thread::Builder::new().name(format!("verify-{number}"));
            let started = builder.spawn(move || {
                // Also when the thread panics.
                let _ended = EndNotice(&shared);
                match shared.checksum {
                    Some(checksum) => first::stream(&shared, checksum),
                    None => whole::stream(&shared),
                }
            });
            if let Err(why) = started {
                self.shared.stop.ask();
                return Err(Error::new("cannot start a thread to read by", why)
                    .hint("choose fewer --streams"));
            }
        }
        let ended = self.wait(pass, of_bytes, streams);
        if ended != PassEnd::Hung {
            end_pass(self.shared, ended == PassEnd::Whole);
        }
        Ok(ended)
    }

    fn wait(&mut self, pass: u64, of_bytes: u64, streams: usize) -> PassEnd {
        let mut running = streams;
        let mut asked_ns = None;
        let mut told_ns = 0;
        self.moments.clear();
        let began_ns = monotonic_ns();
        while running > 0 {
            match self.said.recv_timeout(TELL) {
                Ok(VerifyStreamMessage::Ended) => running -= 1,
                Ok(VerifyStreamMessage::Line(line)) => (self.tell)(VerifyEvent::Found(line)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.part.is_due(self.shared) {
                self.keep(false);
            }
            let now = monotonic_ns();
            if self.shared.stop.asked() {
                let since = *asked_ns.get_or_insert(now);
                if now - since > HUNG_NS {
                    return PassEnd::Hung;
                }
                continue;
            }
            if now - told_ns >= TELL.as_nanos() as u64 {
                told_ns = now;
                let going = self.going(pass, of_bytes, now, began_ns);
                (self.tell)(VerifyEvent::Going(going));
            }
        }
        while let Ok(VerifyStreamMessage::Line(line)) = self.said.try_recv() {
            (self.tell)(VerifyEvent::Found(line));
        }
        let whole = self.shared.done_bytes.load(Relaxed) >= of_bytes;
        if self.shared.over() && !whole { PassEnd::Cut } else { PassEnd::Whole }
    }

    fn going(&mut self, pass: u64, of_bytes: u64, now: u64, began_ns: u64) -> VerifyProgress {
        let done_bytes = self.shared.done_bytes.load(Relaxed);
        self.moments.push_back((now, done_bytes));
        while self.moments.len() > 2 && now - self.moments[0].0 > RATE_NS {
            self.moments.pop_front();
        }
        let (then_ns, then_bytes) = self.moments.front().copied().unwrap_or((began_ns, 0));
        let (then_ns, then_bytes) =
            if then_ns == now { (began_ns, 0) } else { (then_ns, then_bytes) };
        let seconds = now.saturating_sub(then_ns) as f64 / 1e9;
        let moved = done_bytes.saturating_sub(then_bytes) as f64;
        let bytes_per_s = if seconds > 0.0 { moved / seconds } else { 0.0 };
        let passes = self.request.passes;
        let to_go = passes.map(|of| {
            of.saturating_sub(pass) as f64 * of_bytes as f64
                + of_bytes.saturating_sub(done_bytes) as f64
        });
        let by_bytes = to_go.filter(|_| bytes_per_s > 0.0).map(|to_go| to_go / bytes_per_s * 1e9);
        let by_time = Some(self.shared.deadline_ns).filter(|deadline_ns| *deadline_ns < u64::MAX);
        let by_time = by_time.map(|deadline_ns| deadline_ns.saturating_sub(now) as f64);
        let left_ns = match (by_bytes, by_time) {
            (Some(bytes), Some(time)) => Some(bytes.min(time)),
            (one, other) => one.or(other),
        };
        let left_ns = left_ns.map(|left_ns| left_ns as u64);
        VerifyProgress { pass, passes, done_bytes, of_bytes, bytes_per_s, left_ns }
    }
}

/// After a pass: which files were read whole, and which have to be got to know anew.
fn end_pass(shared: &VerificationContext, whole: bool) {
    for file in &shared.files {
        let mut state = super::shared::lock(&file.state);
        let partial = std::mem::take(&mut state.partial);
        state.read |= whole && !partial && !state.changed;
    }
    if shared.checksum.is_some() {
        first::end_pass(shared);
    } else {
        for file in &shared.files {
            super::shared::lock(&file.state).changed = false;
        }
    }
}

/// Says, when it is dropped, that a stream has ended.
struct EndNotice<'a>(&'a VerificationContext);

impl Drop for EndNotice<'_> {
    fn drop(&mut self) {
        self.0.ended();
    }
}
