//! The same blocks once more: over 20 % faster the second time, and some cache behind the kernel
//! held them (rule 2).
//!
//! Only one that seems faster has to read them all: it ends when a part tells that it is not. A
//! cache gives several times what the device does, and shows in a quarter as in the whole, while a
//! quarter that is faster by chance is read on until chance has gone.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::{NoLoadResult, ParentTalk, ReadyFileTrial};
use crate::engine::file::control::{Gate, LoadEvent};
use crate::engine::file::files::StreamFiles;
use crate::engine::file::protocol::{WorkerCommand, WorkerMessage};
use crate::engine::load::watch::WatchedTrial;
use host::sys::clock::monotonic_ns;

/// What the second pass is to repeat, and how long that took the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstPass {
    /// Bytes of all streams.
    pub bytes: u64,
    /// From the release until they had been read, ns.
    pub length_ns: u64,
    /// What of it had been read again, bytes, and how long after the second release, ns, when a
    /// part told enough; `None` where all was.
    pub part: Option<(u64, u64)>,
}

/// Runs the second pass if the trial has one; `None` when it has none, or the parent stopped it.
pub fn pass(
    ready: &ReadyFileTrial,
    watched: &mut WatchedTrial,
    talk: &mut ParentTalk<'_>,
) -> Result<Option<FirstPass>, NoLoadResult> {
    let (trial, shared) = (&ready.trial, &ready.trial.shared);
    if !trial.job.second_pass || shared.marks().failure.is_some() {
        return Ok(None);
    }
    let Some((first, operations)) = first_part(ready, watched) else { return Ok(None) };
    if !trial.job.direct {
        let parts = trial.files.iter().flat_map(StreamFiles::dropped);
        parts.for_each(|part| part.forget());
    }
    talk.say(&WorkerMessage::SecondPass {})?;
    if !talk.wait_for_go() {
        watched.stopped_early = true;
        return Ok(None);
    }
    let _ = trial.second.set(operations);
    shared.rearm();
    shared.open_gate(Gate::SecondPass);
    let mut part = None;
    let complete = wait(ready, talk, first, &mut part);
    Ok(complete.then_some(FirstPass { part, ..first }))
}

/// What each stream had read in the first seconds, but no block twice; and when they had.
fn first_part(ready: &ReadyFileTrial, watched: &WatchedTrial) -> Option<(FirstPass, Vec<u64>)> {
    let trial = &ready.trial;
    let (at_ns, amounts) = watched.early.as_ref()?;
    let released_ns = trial.shared.released_ns.load(Relaxed);
    let mut end_ns = 0;
    let mut operations = Vec::with_capacity(amounts.len());
    for ((amount, files), cell) in amounts.iter().zip(&trial.files).zip(&trial.shared.cells) {
        let round_end_ns = cell.round_end_ns.load(Relaxed);
        let went_round = amount.read_ops >= files.blocks() && round_end_ns > 0;
        end_ns = end_ns.max(if went_round { round_end_ns.min(*at_ns) } else { *at_ns });
        operations.push(amount.read_ops.min(files.blocks()));
    }
    let bytes = operations.iter().sum::<u64>() * trial.job.block_bytes;
    let length_ns = end_ns.saturating_sub(released_ns);
    let first = FirstPass { bytes, length_ns, part: None };
    (bytes > 0 && first.length_ns > 0).then_some((first, operations))
}

/// A part of this share tells that the second pass is not faster, if it lasted [`PART_NS`].
const PART: f64 = 0.25;
/// Two lots of a throttle that lets them go every tenth of a second.
const PART_NS: u64 = 200_000_000;
/// Half the way to what is told as faster: what is below may end.
const NOT_FASTER: f64 = 1.1;
/// Nor may its later half be by so much, as of a cache after a stall.
const LATER_NOT_FASTER: f64 = 1.5;

/// Whether a second pass is not faster than the first; `so_far` is what it had read from time to
/// time: bytes, and ns since its start.
fn is_not_faster(first: FirstPass, so_far: &[(u64, u64)]) -> bool {
    let Some(&(bytes, ns)) = so_far.last() else { return false };
    let times = |bytes: u64, ns: u64| {
        let share = bytes as f64 / first.bytes.max(1) as f64;
        share / (ns.max(1) as f64 / first.length_ns.max(1) as f64)
    };
    let half = so_far.iter().rev().find(|(_, at_ns)| *at_ns <= ns / 2);
    let (before, half_ns) = half.copied().unwrap_or((0, 0));
    bytes as f64 >= PART * first.bytes as f64
        && ns >= PART_NS
        && times(bytes, ns) <= NOT_FASTER
        && times(bytes - before.min(bytes), ns - half_ns) <= LATER_NOT_FASTER
}

/// Waits for all streams; false when the parent stops it or it never ends. Ends it itself when a
/// `part` tells enough.
fn wait(
    ready: &ReadyFileTrial,
    talk: &mut ParentTalk<'_>,
    first: FirstPass,
    part: &mut Option<(u64, u64)>,
) -> bool {
    // The first time took two seconds at most; a device that is thirty times slower now is ill.
    const PATIENCE_NS: u64 = 60_000_000_000;
    const TURN: Duration = Duration::from_millis(20);
    // A turn that took longer by so much was no wait: this process was stopped, and the time of the
    // pass says nothing.
    const STOPPED_NS: u64 = 1_000_000_000;
    let (shared, job) = (&ready.trial.shared, &ready.trial.job);
    // Of what is checked everything is to be.
    let may_end = job.verify.is_none();
    let bytes = || {
        let read = shared.cells.iter().map(|cell| cell.second_ops.load(Relaxed));
        read.sum::<u64>() * job.block_bytes
    };
    let (started_ns, mut so_far) = (monotonic_ns(), Vec::new());
    let mut waiting = ready.threads.len();
    let mut whole = true;
    while waiting > 0 && shared.marks().failure.is_none() {
        let turn_ns = monotonic_ns();
        match talk.events.recv_timeout(TURN) {
            Ok(LoadEvent::Drained) => waiting -= 1,
            Ok(LoadEvent::Input(line)) => {
                let command = line.as_deref().map(WorkerCommand::parse);
                if matches!(command, None | Some(Some(WorkerCommand::Stop | WorkerCommand::Bye))) {
                    talk.gone = command != Some(Some(WorkerCommand::Stop));
                    shared.halt();
                    whole = false;
                }
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        whole &= monotonic_ns() - turn_ns < TURN.as_nanos() as u64 + STOPPED_NS;
        // Before what is in flight has come: a lot of it at once would look like speed.
        so_far.push((bytes(), monotonic_ns() - started_ns));
        if may_end && part.is_none() && is_not_faster(first, &so_far) {
            *part = so_far.last().copied();
            shared.halt();
        }
        if monotonic_ns() - started_ns > PATIENCE_NS {
            shared.halt();
            whole = false;
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every second pass took as long as the first, a ninth of an evaluation.
    #[test]
    fn a_second_pass_ends_when_a_part_tells_that_it_is_not_faster() {
        let first = FirstPass { bytes: 1000, length_ns: 1_000_000_000, part: None };
        let after = |marks: &[(u64, u64)]| {
            let marks: Vec<_> = marks.iter().map(|(bytes, ms)| (*bytes, ms * 1_000_000)).collect();
            is_not_faster(first, &marks)
        };
        assert!(after(&[(120, 120), (250, 250)]) && after(&[(150, 150), (310, 300)]));
        assert!(after(&[(999, 1000)]));
        // Too little of it, or too short.
        assert!(!after(&[(249, 400)]) && !after(&[(100, 3000)]) && !after(&[(255, 190)]));
        // It may be faster.
        assert!(!after(&[(300, 250)]) && !after(&[(900, 750)]) && !after(&[(600, 500)]));
        assert!(after(&[(400, 300), (600, 560)]), "after all it is not");
        // A cache that gives three times as much, after a stall.
        assert!(!after(&[(0, 100), (0, 150), (0, 200), (120, 240), (250, 283), (299, 300)]));
        assert!(!after(&[]));
        let none = FirstPass { bytes: 0, length_ns: 0, part: None };
        assert!(!is_not_faster(none, &[(0, 0)]));
    }
}
