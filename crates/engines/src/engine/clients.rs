//! Clients that each do one operation after the other: what the engines `replay`, `mail` and
//! `database` have in common.
//!
//! A [`Client`] is one thread in a directory of its own. Here are its tally, the watch over all of
//! them, and the worker process; what a client does is the engine's business. The talk with
//! the parent, the window and the samples are those of [`super::load`].

use hdrhistogram::Histogram;

use super::Error;
use super::load::control::{Gate, LoadControl, LoadEvent, LoadPhase};
use super::load::cpus::Pinning;
use super::load::protocol::{Failure, LoadFailure, LoadSpec};
use base::value::Stop;
use experiment::knob::engine::Does;
use experiment::knob::{self, Settings};
use experiment::measurement::{Amount, Integrity, Note, Operation};
use host::sys;
use host::sys::clock::thread_cpu_ns;

mod outcome;
pub mod source;
pub mod tally;
pub mod worker;
#[cfg(test)]
pub mod testing;

pub use super::load::folders::run;
use tally::ClientTally;

/// How far a client has come by the step that it has just done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientStep {
    /// A part of its round.
    Part,
    /// The last part of its round; the next one begins another.
    Round,
}

/// One sequence of operations, on a thread of its own.
pub trait Client {
    /// Does the next operation, or the next few that belong together, and tells the tally of each.
    ///
    /// # Errors
    /// With what went wrong; the trial has failed.
    fn step(&mut self, tally: &mut ClientTally<'_>) -> Result<ClientStep, LoadFailure>;

    /// The kinds of operations that it tells the tally of.
    fn kinds(&self) -> Vec<Operation>;

    /// Whether each of its operations was on the device when it was over.
    fn is_durable(&self) -> bool {
        false
    }

    /// What whoever reads the figures must know of it, once it has stopped.
    fn notes(&self) -> Vec<Note> {
        Vec::new()
    }
}

/// When clients are timed, and how long.
#[derive(Clone, Copy, Debug)]
pub struct ClientTiming {
    /// When the timed part ends.
    pub stop: Stop,
    /// A client counts as started when it has done an operation after this long, ns.
    pub warm_up_ns: u64,
    /// A pass goes on this long at least, ns.
    pub at_least_ns: u64,
    /// Everything ends after this, ns.
    pub at_most_ns: u64,
    /// Clients that are done go on untimed.
    pub sustained: bool,
}

impl ClientTiming {
    /// Reads them.
    ///
    /// # Errors
    /// `Unsupported` for what these engines cannot honour, with what would work.
    pub fn new(settings: &Settings) -> Result<ClientTiming, Error> {
        let terms = ClientTiming {
            stop: settings.stop(),
            warm_up_ns: settings.get(knob::WARM_UP),
            at_least_ns: settings.get(knob::AT_LEAST),
            at_most_ns: settings.get(knob::AT_MOST),
            sustained: settings.get(knob::SUSTAINED),
        };
        let unsupported = |what: &str| Err(Error::Unsupported(what.to_owned()));
        match terms.stop {
            Stop::Steady | Stop::Interval(_) => unsupported(
                "stop=steady and stop=interval need a load that is the same at every moment, and \
                 these operations are not; choose a time, as stop=60s, and look at its course",
            ),
            Stop::Bits(_) if !settings.does(Does::ChecksAll) => unsupported(
                "stop=...bits counts bits that were checked, which engine=integrity alone does; \
                 choose a time or bytes per stream",
            ),
            Stop::Pass | Stop::Bytes(_) if terms.warm_up_ns > 0 => unsupported(
                "a pass begins with the first operation and leaves no time to warm up; stop=pass \
                 and stop=BYTES need warm-up=0s",
            ),
            _ if terms.warm_up_ns >= terms.at_most_ns => {
                unsupported("warm-up takes as long as at-most leaves; choose a longer at-most")
            }
            _ => Ok(terms),
        }
    }
}

/// What one client did: its moments, its operations, its latencies and what it checked.
#[derive(Debug, Default)]
pub struct ClientResult {
    /// Its first operation began, monotonic clock.
    pub started_ns: u64,
    /// When its pass was over, monotonic clock, and what it had done then.
    pub pass: Option<(u64, Amount)>,
    /// Its last operation was complete, monotonic clock.
    pub stopped_ns: u64,
    /// Done in all.
    pub total: Amount,
    /// Processor time of its thread, ns.
    pub cpu_ns: u64,
    /// Latency inside the window.
    pub latency: Vec<(Operation, Histogram<u64>)>,
    /// Each of its operations was on the device when it was over.
    pub durable: bool,
    /// What is to be known.
    pub notes: Vec<Note>,
    /// What it checked; `None` of clients that check nothing.
    pub checked: Option<CheckedReads>,
}

/// What one client checked of the bytes that it read, and where these may have come from.
#[derive(Clone, Debug, Default)]
pub struct CheckedReads {
    /// What was checked, and what was wrong.
    pub integrity: Integrity,
    /// Of its file.
    pub file_bytes: u64,
    /// Bytes of its file in memory before its first operation, where that is known.
    pub resident_before_bytes: Option<u64>,
    /// Of what it read, bytes that were in memory when it began to, where that is known.
    pub reread_bytes: Option<u64>,
}

impl CheckedReads {
    /// What all of them checked together; `None` when one checked nothing.
    fn sum(yields: &[ClientResult]) -> Option<CheckedReads> {
        let mut all = yields.iter().map(|yielded| yielded.checked.clone());
        let mut sum = all.next()??;
        let plus = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b);
        for one in all {
            let one = one?;
            sum.integrity.add(one.integrity);
            sum.file_bytes += one.file_bytes;
            sum.resident_before_bytes = plus(sum.resident_before_bytes, one.resident_before_bytes);
            sum.reread_bytes = plus(sum.reread_bytes, one.reread_bytes);
        }
        sum.integrity.faults.sort_by_key(|fault| fault.at_ns);
        Some(sum)
    }
}

/// The settings of a [`LoadSpec`] for `engine`, whole.
pub fn settings(engine: &str, spec: &LoadSpec) -> Settings {
    let mut settings = Settings::defaults(engine);
    for (name, value) in Settings::from_json(engine, &spec.settings).iter() {
        if settings.named(name).is_some() {
            settings.set_named(name, value.clone());
        }
    }
    settings
}

/// What every engine of clients refuses before anything is made.
///
/// # Errors
/// `Unsupported` with what would work.
pub fn check(settings: &Settings) -> Result<ClientTiming, Error> {
    Pinning::parse(settings.get(knob::CPU_PINNING))?.cpus()?;
    ClientTiming::new(settings)
}

/// What is said to whoever asked for what cannot be done, before a plan begins.
pub fn refused(error: Error) -> sys::Error {
    match error {
        Error::Unsupported(why) | Error::Failed(why) => sys::Error::new("cannot run this", why)
            .hint("`brickyard list knobs` shows what each knob takes"),
        Error::Hung(_) | Error::Interrupted => sys::Error::new("cannot run this", "it was stopped"),
    }
}

/// Gives the calling thread a table of open files of its own, as a process has: threads that share
/// one contend for it with every open and close, and own their record locks in common.
///
/// # Errors
/// With the kernel's words.
pub fn stand_alone() -> Result<(), LoadFailure> {
    // SAFETY: no memory is shared or unshared; this thread's descriptors are copied, and it owns
    // none that another thread may close for it.
    if unsafe { libc::unshare(libc::CLONE_FILES | libc::CLONE_FS) } == 0 {
        return Ok(());
    }
    let why = std::io::Error::last_os_error();
    let what = format!("cannot give a client a table of open files of its own (unshare): {why}");
    Err((Failure::Failed, what))
}

/// Runs a client from the gate to its end.
///
/// # Errors
/// As [`Client::step`].
pub fn carry(
    client: &mut impl Client,
    terms: &ClientTiming,
    shared: &LoadControl,
    index: usize,
) -> Result<ClientResult, LoadFailure> {
    let mut tally = ClientTally::new(terms, shared, index, &client.kinds());
    shared.tell(LoadEvent::Ready);
    if shared.wait_for(Gate::Run) == Gate::Quit {
        return Ok(ClientResult::default());
    }
    let cpu_ns = thread_cpu_ns();
    tally.begin();
    while shared.phase() != LoadPhase::Stop {
        let turn = client.step(&mut tally)?;
        if !tally.goes_on(turn) {
            break;
        }
    }
    let mut yielded = tally.end();
    yielded.cpu_ns = thread_cpu_ns().saturating_sub(cpu_ns);
    yielded.durable = client.is_durable();
    yielded.notes = client.notes();
    shared.tell(LoadEvent::Drained);
    Ok(yielded)
}
