//! (pure) Over which time the rates of a trial are taken, and what was done in it.
//!
//! Normally that is the window in which all streams ran (rule 1). A window that begins and
//! ends within one batch of completions is none: at depth 32 all of 32 operations come back within
//! microseconds of each other, and their number over that time is nobody's rate. Then it is the
//! whole trial, from the first submission to the last completion, with all that was done; and
//! where that contradicts the latencies, or nothing is known of it, there is no rate, and a note
//! says why. Holding figures against each other is the business of [`super::consistency`].

use super::{Amount, Measurement, Note, Window, course, start};
use crate::knob::{self, Settings};
use base::value;

mod latencies;

pub use latencies::Latencies;

/// With fewer operations for each one in flight a window's ends, which may be a batch early or
/// late, are more than 5 % of it on either side.
const EACH_MIN: f64 = 10.0;

/// The same of a window that opened at a moment that was drawn ([`is_drawn`]): its ends may be a
/// batch early or late just as often, and what repeats of it differ by tells how much that is.
const DRAWN_MIN: f64 = 3.0;

/// A window that lasts so many mean latencies has seen as many batches come and go, however many
/// were asked to be in flight: those of the page cache are done as soon as they are handed over.
const LATENCIES_MIN: f64 = 10.0;

/// Rates over the whole trial may exceed what is in flight over the mean latency by this share:
/// that mean is of the operations in the window alone.
const TOLERANCE: f64 = 0.05;

/// The time that rates are taken over, and what was done in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Completed in that time.
    pub done: Amount,
    /// Its length as far as it was timed, seconds; more than 0.
    pub seconds: f64,
    /// The window, where it is that; `None` where it is the whole trial.
    pub window: Option<Window>,
}

/// Why a trial has no rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoRate {
    /// It is none of a load of ours that was timed, or another note says why.
    NotTimed,
    /// Nothing was completed while all streams ran.
    Nothing,
    /// What was completed came back while the clock stood between rounds.
    ClockStood,
    /// Too little for a window, and over the whole trial more than its latencies allow.
    TooFew {
        /// Completed in the window.
        operations: u64,
        /// At most in flight.
        in_flight: u64,
    },
}

/// The time over which the rates of a trial are taken: [`timed`], without a start that did not go
/// like the rest ([`start`]).
///
/// # Errors
/// Why there is none.
pub fn span(measurement: &Measurement, settings: &Settings) -> Result<Span, NoRate> {
    let all = timed(measurement, settings)?;
    let Some(rest) = start::start(measurement).and_then(|start| start.rest) else {
        return Ok(all);
    };
    if all.window.is_none() {
        let left = without(measurement, &all, &rest);
        return Ok(left.filter(|left| !contradicts(measurement, settings, left)).unwrap_or(all));
    }
    let seconds = course::timed_seconds(&measurement.load, &rest);
    Ok(Span { done: rest.done, seconds, window: Some(rest) })
}

/// The time over which a trial's operations were counted, the start among them: that of its
/// latencies.
///
/// # Errors
/// Why there is none.
pub fn timed(measurement: &Measurement, settings: &Settings) -> Result<Span, NoRate> {
    let Some(window) = measurement.window.filter(|window| window.seconds() > 0.0) else {
        return Err(if is_timed(measurement) { NoRate::Nothing } else { NoRate::NotTimed });
    };
    if measurement.programs.is_some() {
        // Bytes of other people's programs are known from /proc/PID/io alone, their operations are
        // not known at all.
        let known = window.done.bytes() > 0 && measurement.evidence.process_io_reliable;
        let seconds = window.seconds();
        let span = Span { done: window.done, seconds, window: Some(window) };
        return if known { Ok(span) } else { Err(NoRate::NotTimed) };
    }
    if window.done.ops() == 0 {
        return Err(if is_timed(measurement) { NoRate::Nothing } else { NoRate::NotTimed });
    }
    let seconds = course::timed_seconds(&measurement.load, &window);
    if seconds <= 0.0 {
        return Err(NoRate::ClockStood);
    }
    let within = Span { done: window.done, seconds, window: Some(window) };
    if !is_one_batch(measurement, settings, &within) {
        return Ok(within);
    }
    // Where nobody counted the whole, nothing better is known.
    let Some(whole) = whole(measurement) else { return Ok(within) };
    if contradicts(measurement, settings, &whole) {
        let in_flight = in_flight(measurement, settings) as u64;
        return Err(NoRate::TooFew { operations: window.done.ops(), in_flight });
    }
    Ok(whole)
}

/// What whoever reads the rates must know of the time that they are of.
pub fn note(measurement: &Measurement, settings: &Settings) -> Option<Note> {
    let said = |note: &Note| matches!(note.kind.as_str(), "no-common-time" | "too-short");
    if measurement.notes.iter().any(said) {
        return None;
    }
    let too_short = |text: String| Some(Note::new("too-short", text));
    match span(measurement, settings) {
        Ok(Span { window: Some(_), .. }) | Err(NoRate::NotTimed) => None,
        Ok(whole) => {
            let few = measurement.window.map_or(0, |window| window.done.ops());
            let in_flight = in_flight(measurement, settings) as u64;
            let all = measurement.streams.iter().map(|stream| stream.total.ops()).sum::<u64>();
            let of = value::count(whole.done.ops());
            let of = match whole.done.ops() < all {
                true => format!("the {of} that came after the start, to the last completed"),
                false => format!("all {of}, from the first submitted to the last completed"),
            };
            let text = format!(
                "While all streams ran {} came back, with up to {in_flight} in flight: too few for \
                 a rate. The rates are of {of}.",
                value::counted(few, "operation"),
            );
            Some(Note::new("few-operations", text))
        }
        Err(NoRate::Nothing) => too_short(
            "There is no rate: nothing came back after each stream had completed its first \
             operation. A longer time, or more bytes, would give one."
                .to_owned(),
        ),
        Err(NoRate::ClockStood) => too_short(
            "There is no rate: each round was over at once, and the clock stands between rounds. \
             Larger files would give one."
                .to_owned(),
        ),
        Err(NoRate::TooFew { operations, in_flight }) => too_short(format!(
            "There is no rate: {} came back while all streams ran, with up to {in_flight} in \
             flight. A longer time, or more bytes, would give one.",
            value::counted(operations, "operation")
        )),
    }
}

/// Whether the window opened at a moment that was drawn, and not with an operation: that of a load
/// of blocks that was warmed up.
pub fn is_drawn(settings: &Settings) -> bool {
    settings.has(knob::QUEUE_DEPTH) && settings.find(knob::WARM_UP).is_some_and(|ns| ns > 0)
}

/// Operations in flight at most: the streams, each as deep as was asked.
pub fn in_flight(measurement: &Measurement, settings: &Settings) -> f64 {
    let deep = !settings.is_moot(knob::QUEUE_DEPTH.name);
    let depth = if deep { settings.how_many(knob::QUEUE_DEPTH) } else { 1.0 };
    settings.how_many(knob::STREAMS).max(measurement.streams.len() as f64) * depth
}

/// Whether a load of ours did anything, so that one asks for its rate.
fn is_timed(measurement: &Measurement) -> bool {
    let others = measurement.programs.is_some()
        || measurement.reported.is_some()
        || measurement.verified.is_some();
    !others && measurement.streams.iter().any(|stream| stream.total.ops() > 0)
}

/// Whether the window holds so little that it may lie within one batch of completions.
fn is_one_batch(measurement: &Measurement, settings: &Settings, within: &Span) -> bool {
    // The streams of a simulated server complete one operation after the other, its window begins
    // and ends with one, and what is in flight at the end never comes back: its window is exact.
    // Bytes that arrive over a network are no operations that somebody waits for; and one stream
    // whose clock stands between rounds has an operation in flight or none.
    let paused = measurement.load.column(course::TIMED).is_some();
    if settings.is_simulated() || settings.is_network() || paused {
        return false;
    }
    let least = if is_drawn(settings) { DRAWN_MIN } else { EACH_MIN };
    let few = (within.done.ops() as f64) < least * in_flight(measurement, settings);
    few && Latencies::from_measurement(measurement).is_none_or(|latencies| {
        // An operation that took longer than the window had begun before it.
        let batches_ns = LATENCIES_MIN * latencies.at_least_ns();
        within.seconds * 1e9 < batches_ns.max(latencies.longest_ns)
    })
}

/// All that was done, from the first submission to the last completion.
fn whole(measurement: &Measurement) -> Option<Span> {
    let streams = &measurement.streams;
    let started_ns = streams.iter().map(|stream| stream.started_ns).min()?;
    let stopped_ns = streams.iter().map(|stream| stream.stopped_ns).max()?;
    let seconds = stopped_ns.saturating_sub(started_ns) as f64 / 1e9;
    let done = streams.iter().fold(Amount::default(), |sum, one| sum.plus(&one.total));
    (seconds > 0.0 && done.ops() > 0).then_some(Span { done, seconds, window: None })
}

/// The whole trial from where its start is over: `rest` begins there.
fn without(measurement: &Measurement, whole: &Span, rest: &Window) -> Option<Span> {
    let before = start::counted_at(&measurement.load, rest.start_ns)?;
    let started_ns = measurement.streams.iter().map(|stream| stream.started_ns).min()?;
    let seconds = whole.seconds - rest.start_ns.saturating_sub(started_ns) as f64 / 1e9;
    let done = whole.done.minus(&before);
    let enough = seconds >= start::LEFT_MIN * whole.seconds && done.ops() > 0;
    enough.then_some(Span { done, seconds, window: None })
}

/// Whether a rate over the whole trial is more than its latencies allow.
fn contradicts(measurement: &Measurement, settings: &Settings, whole: &Span) -> bool {
    // With a rate an operation waits from when it was meant to begin, in flight or not.
    if settings.has(knob::RATE) && settings.get(knob::RATE) > 0 {
        return false;
    }
    let per_s = whole.done.ops() as f64 / whole.seconds;
    Latencies::from_measurement(measurement).is_some_and(|latencies| {
        let most = in_flight(measurement, settings) / (latencies.at_least_ns() / 1e9);
        per_s > most * (1.0 + TOLERANCE)
    })
}

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
