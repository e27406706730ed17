//! The same blocks once more: over 20 % faster the second time, and some cache behind the kernel
//! held them (DESIGN rule 2).

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::{Ready, Stopped, Talk};
use crate::engine::file::control::{Event, Gate};
use crate::engine::file::protocol::{Command, Message};
use crate::engine::load::watch::Watched;
use host::sys::clock::monotonic_ns;
use host::sys::pages;

/// What the second pass is to repeat, and how long that took the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// Bytes of all streams.
    pub bytes: u64,
    /// From the release until they had been read, ns.
    pub length_ns: u64,
}

/// Runs the second pass if the trial has one; `None` when it has none, or the parent stopped it.
pub fn pass(
    ready: &Ready,
    watched: &mut Watched,
    talk: &mut Talk<'_>,
) -> Result<Option<First>, Stopped> {
    let (trial, shared) = (&ready.trial, &ready.trial.shared);
    if !trial.job.second_pass || shared.marks().failure.is_some() {
        return Ok(None);
    }
    let Some((first, operations)) = first_part(ready, watched) else { return Ok(None) };
    if !trial.job.direct {
        let files = trial.files.iter().flat_map(|stream| &stream.files);
        files.for_each(pages::forget);
    }
    talk.say(&Message::SecondPass {})?;
    if !talk.wait_for_go() {
        watched.stopped_early = true;
        return Ok(None);
    }
    let _ = trial.second.set(operations);
    shared.rearm();
    shared.open_gate(Gate::SecondPass);
    let complete = wait(ready, talk);
    Ok(complete.then_some(first))
}

/// What each stream had read in the first seconds, but no block twice; and when they had.
fn first_part(ready: &Ready, watched: &Watched) -> Option<(First, Vec<u64>)> {
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
    let first = First { bytes, length_ns: end_ns.saturating_sub(released_ns) };
    (bytes > 0 && first.length_ns > 0).then_some((first, operations))
}

/// Waits for all streams; false when the parent stops it or it never ends.
fn wait(ready: &Ready, talk: &mut Talk<'_>) -> bool {
    // The first time took two seconds at most; a device that is thirty times slower now is ill.
    const PATIENCE_NS: u64 = 60_000_000_000;
    const TURN: Duration = Duration::from_millis(500);
    // A turn that took longer by so much was no wait: this process was stopped, and the time of the
    // pass says nothing.
    const STOPPED_NS: u64 = 1_000_000_000;
    let shared = &ready.trial.shared;
    let started_ns = monotonic_ns();
    let mut waiting = ready.threads.len();
    let mut whole = true;
    while waiting > 0 && shared.marks().failure.is_none() {
        let turn_ns = monotonic_ns();
        match talk.events.recv_timeout(TURN) {
            Ok(Event::Drained) => waiting -= 1,
            Ok(Event::Input(line)) => {
                let command = line.as_deref().map(Command::parse);
                if matches!(command, None | Some(Some(Command::Stop | Command::Bye))) {
                    talk.gone = command != Some(Some(Command::Stop));
                    shared.halt();
                    whole = false;
                }
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        whole &= monotonic_ns() - turn_ns < TURN.as_nanos() as u64 + STOPPED_NS;
        if monotonic_ns() - started_ns > PATIENCE_NS {
            shared.halt();
            whole = false;
        }
    }
    whole
}
