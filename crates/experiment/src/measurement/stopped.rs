//! (pure) Whether a load was held still while it was timed, by anything that is no part of it.
//!
//! A stopped process, a frozen control group and a suspended machine move nothing and use nothing:
//! a rate over such a time is nobody's. The evidence is raw and older than this verdict: the rows
//! that are missing in the load's own samples, in the counters of this program and in those of the
//! other end ([`gaps`]), and what the kernel says of a process that did not run: stopped, frozen,
//! or ready and waiting for a processor. A load that was only *late* was starved, which is another
//! note and takes no figure away.

use super::{Measurement, Note, PEER};
use base::value::{duration, percent};
use facts::counters::series::Series;

mod gaps;

use gaps::{Gap, Rows, total_ns};

/// A row that is missing for less may be late on a busy machine; rows come every tenth of a second.
const GAP_NS: i64 = 1_000_000_000;

/// A machine that was suspended says so by whole seconds; two clocks that are read one after the
/// other differ by what lay between, which is far less.
const SUSPENDED_NS: u64 = 100_000_000;

/// The wall clock was set when it moves by more against the other clock; NTP slews by 0.5 ms/s.
const SET_NS: u64 = 1_000_000_000;

/// What held a load still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// The machine slept.
    Suspended,
    /// The other machine slept.
    PeerSuspended,
    /// A signal stopped the load's process.
    Signal,
    /// A signal stopped the process that times the programs, and sees when they end.
    Watcher,
    /// Its control group was frozen.
    Frozen,
    /// A signal stopped programs of the load.
    Programs,
    /// Load and program stood still together: a signal to both, or the machine.
    Together,
    /// The load used nothing, waited for nothing, and moved nothing.
    Still,
    /// The other end stood still.
    Peer,
}

/// A load that was held still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    cause: Cause,
    /// How long, ns.
    still_ns: u64,
    /// Of how long, ns: from the start to the last thing that is timed.
    of_ns: u64,
}

/// Whether the load was held still between its start and the end of what is timed; then no figure
/// is taken from it (rule 11): its length is known to a tenth of a second only, and its
/// longest latencies are not the storage's.
pub fn stopped(measurement: &Measurement) -> Option<Stopped> {
    let rows = Rows::from_measurement(measurement);
    let of_ns = u64::try_from(rows.end_ns).ok().filter(|ns| *ns > 0)?;
    let told = |cause: Cause, still_ns: i64| {
        let still_ns = u64::try_from(still_ns).ok().filter(|ns| *ns > 0)?;
        Some(Stopped { cause, still_ns: still_ns.min(of_ns), of_ns })
    };
    let counted =
        |source: &str, column: &str| rows.marked_ns(&measurement.counters, source, column);
    let suspended = |source: &str| {
        let slept = rows.growth(&measurement.counters, source, "suspended_ns")?;
        (slept >= SUSPENDED_NS).then(|| Stopped {
            cause: if source.starts_with(PEER) { Cause::PeerSuspended } else { Cause::Suspended },
            still_ns: slept,
            of_ns: of_ns.saturating_add(slept),
        })
    };
    let watches = measurement.programs.is_some();
    let signal = if watches { Cause::Watcher } else { Cause::Signal };
    suspended("generator")
        .or_else(|| told(signal, counted("process", "stopped")))
        .or_else(|| told(Cause::Frozen, counted("process", "frozen")))
        .or_else(|| told(Cause::Programs, rows.marked_in(&measurement.load, "stopped")))
        .or_else(|| suspended(&format!("{PEER}generator")))
        .or_else(|| told(Cause::Peer, total_ns(peer(&rows))))
        .or_else(|| told(Cause::Together, total_ns(together(&rows))))
        .or_else(|| told(Cause::Still, total_ns(still(&rows))))
}

/// Every note on time in which something did not run.
pub fn notes(measurement: &Measurement) -> Vec<Note> {
    let mut notes = Vec::new();
    let stopped = stopped(measurement);
    notes.extend(stopped.map(|stopped| Note::new("stopped", stopped.words())));
    let rows = Rows::from_measurement(measurement);
    if stopped.is_none() {
        notes.extend(starved(&rows));
        notes.extend(uncounted(&rows));
    }
    notes.extend(set(&rows, &measurement.counters));
    notes
}

impl Stopped {
    /// The note: `The load stood still for 4.0 s of 4.1 s: ...`.
    fn words(self) -> String {
        let whose = match self.cause {
            Cause::Programs => "Programs of the load",
            Cause::Watcher => "The process that times the programs",
            Cause::Peer | Cause::PeerSuspended => "The other end",
            _ => "The load",
        };
        let why = match self.cause {
            Cause::Suspended | Cause::PeerSuspended => "the machine was suspended",
            Cause::Signal => "its process was stopped by a signal (SIGSTOP, Ctrl-Z)",
            Cause::Watcher => "it was stopped by a signal (SIGSTOP, Ctrl-Z)",
            Cause::Frozen => "its control group was frozen",
            Cause::Programs => "they were stopped by a signal (SIGSTOP, Ctrl-Z)",
            Cause::Together => {
                "nothing of this program ran meanwhile, and nothing waited for a processor: it was \
                 stopped, or the machine was"
            }
            Cause::Still => {
                "it used no processor and waited for none: it was stopped, frozen or traced"
            }
            Cause::Peer => "nothing of it ran meanwhile: it was stopped, or its machine was",
        };
        let (still, of) = (duration(self.still_ns as f64), duration(self.of_ns as f64));
        format!(
            "{whose} stood still for {still} of {of}: {why}. No figure is taken from that time."
        )
    }
}

/// Times in which neither the load's rows nor this program's were taken, though nothing waited.
fn together(rows: &Rows<'_>) -> Vec<Gap> {
    let load = rows.silences();
    let own = rows.gaps_of("generator");
    let both = own.iter().flat_map(|own| load.iter().filter_map(|load| own.and(*load)));
    let both = both.filter(|gap| gap.length_ns() >= GAP_NS);
    // While it makes durable what it has written the load takes no rows: there a page that this
    // program waited for looks the same.
    let paging = |gap: &Gap| rows.is_at_rest(*gap) && rows.was_paging(*gap);
    let both = both.filter(|gap| !rows.was_held_up("", *gap) && !paging(gap));
    both.filter(|gap| !rows.moved_in(*gap)).collect()
}

/// Times in which the load's rows were not taken, while this program's were, and in which the load
/// neither ran, nor was ready to, nor waited for memory.
fn still(rows: &Rows<'_>) -> Vec<Gap> {
    if !rows.is_one_process() {
        return Vec::new();
    }
    let idle = |gap: &Gap| rows.was_idle(*gap) && !rows.moved_in(*gap);
    rows.gaps_of_load().into_iter().filter(idle).collect()
}

/// Times in which the other end's rows were not taken, and nothing arrived.
fn peer(rows: &Rows<'_>) -> Vec<Gap> {
    let gaps = rows.gaps_of(&format!("{PEER}generator")).into_iter();
    gaps.filter(|gap| !rows.was_held_up(PEER, *gap) && !rows.moved_in(*gap)).collect()
}

/// The load was late because others had the processors.
fn starved(rows: &Rows<'_>) -> Option<Note> {
    let gaps = rows.gaps_of_load().into_iter();
    let late: Vec<Gap> = gaps.filter(|gap| rows.waited(*gap)).collect();
    (!late.is_empty()).then(|| {
        let text = format!(
            "The load was ready to run and was not let for {} of {}: others had the processors. \
             The figure may be this machine's.",
            duration(total_ns(late) as f64),
            duration(rows.end_ns as f64)
        );
        Note::new("starved", text)
    })
}

/// The load went on while this program did not count.
fn uncounted(rows: &Rows<'_>) -> Option<Note> {
    let mut gaps = rows.gaps_of("generator");
    gaps.retain(|gap| rows.was_awake(*gap));
    let missing = total_ns(gaps);
    (missing > 0).then(|| {
        let text = format!(
            "Nothing was counted for {} of {} ({}): this program was stopped or held up, while the \
             load went on. Its figures stand; what limited it then is not known.",
            duration(missing as f64),
            duration(rows.end_ns as f64),
            percent(missing as f64 / rows.end_ns as f64)
        );
        Note::new("uncounted", text)
    })
}

/// The wall clock jumped.
fn set(rows: &Rows<'_>, counters: &[Series]) -> Option<Note> {
    let jump = rows.largest_jump(counters, "generator", "wall_offset_ns")?;
    (jump.unsigned_abs() >= SET_NS).then(|| {
        let way = if jump > 0 { "forward" } else { "back" };
        let text = format!(
            "The wall clock was set {way} by {} meanwhile, or this virtual machine was paused and \
             its clock with it: then what its disks did meanwhile counts as done at once.",
            duration(jump.unsigned_abs() as f64)
        );
        Note::new("clock-set", text)
    })
}

#[cfg(test)]
mod tests;
