//! Little's law: what comes back per second, times how long each took, is what was in flight
//! (J. D. C. Little, "A Proof for the Queuing Formula: L = lambda W", Operations Research 9,
//! 1961).
//!
//! Less is well: streams wait at the ends of rounds, check what they read, and flush, and nothing
//! is in flight then. More cannot be.

use super::OwnTrial;
use crate::knob;
use crate::measurement::span::{Latencies, Span, in_flight};
use base::value::{duration, iops};

/// So much more is rounding, and clocks that are read a moment apart.
const TOLERANCE: f64 = 0.05;

/// So many standard errors of the mean.
const ERRORS: f64 = 3.0;

/// So many mean latencies at most an operation had been in flight, on average, when the window
/// began.
const AGE_MAX: f64 = 2.0;

/// Operations per second, in flight at most, their latencies, and the share that the window's
/// start may add. `None` where something else is in flight than what was asked for.
fn closed(facts: &OwnTrial<'_>) -> Option<(f64, f64, Latencies, f64)> {
    if facts.settings.is_network() || facts.is_paced() {
        return None;
    }
    let span = facts.timed()?;
    let latencies = facts.latencies()?;
    let in_flight = in_flight(facts.measurement, facts.settings);
    let per_s = span.done.ops() as f64 / span.seconds;
    Some((per_s, in_flight, latencies, edge(facts, &span, &latencies)))
}

/// The latencies of what was in flight when the window began count whole, though a part of each
/// lies before it; that part as a share of the window.
fn edge(facts: &OwnTrial<'_>, span: &Span, latencies: &Latencies) -> f64 {
    let Some(window) = span.window else { return 0.0 };
    let started_ns = facts.measurement.streams.iter().map(|stream| stream.started_ns).min();
    let before_ns = window.start_ns.saturating_sub(started_ns.unwrap_or(0)) as f64;
    before_ns.min(AGE_MAX * latencies.mean_ns) / (span.seconds * 1e9)
}

/// Against the mean latency.
pub fn mean(facts: &OwnTrial<'_>) -> Option<String> {
    let (per_s, in_flight, latencies, edge) = closed(facts)?;
    let most = in_flight / (latencies.mean_ns / 1e9);
    let slack = TOLERANCE + ERRORS * latencies.error(in_flight) + edge;
    (per_s > most * (1.0 + slack)).then(|| {
        format!(
            "{} operations per second cannot be: {in_flight} in flight of {} each are at most {} \
             per second (Little's law).",
            iops(per_s),
            duration(latencies.mean_ns),
            iops(most)
        )
    })
}

/// Against the median latency.
pub fn median(facts: &OwnTrial<'_>) -> Option<String> {
    let (per_s, in_flight, latencies, edge) = closed(facts)?;
    let most = 2.0 * in_flight / (latencies.median_ns / 1e9);
    (per_s > most * (1.0 + TOLERANCE + edge)).then(|| {
        format!(
            "{} operations per second cannot be: half took {} or longer, which with \
             {in_flight} in flight is at most {} per second.",
            iops(per_s),
            duration(latencies.median_ns),
            iops(most)
        )
    })
}

/// With a rate latency counts from the intended start, and what waits is in flight too: what was
/// completed is no more than what had arrived.
pub fn arrivals(facts: &OwnTrial<'_>) -> Option<String> {
    if !facts.is_paced() || facts.settings.is_network() {
        return None;
    }
    let span = facts.timed()?;
    let measurement = facts.measurement;
    let started_ns = measurement.streams.iter().map(|stream| stream.started_ns).min()?;
    let end_ns = match span.window {
        Some(window) => window.end_ns,
        None => measurement.streams.iter().map(|stream| stream.stopped_ns).max()?,
    };
    let streams = in_flight(measurement, facts.settings).max(1.0);
    let of_streams = facts.settings.number(knob::STREAMS).max(measurement.streams.len() as f64);
    let per_s = facts.settings.number(knob::RATE) * of_streams;
    let arrived = per_s * end_ns.saturating_sub(started_ns) as f64 / 1e9;
    let done = span.done.ops() as f64;
    (done > arrived * (1.0 + TOLERANCE) + streams).then(|| {
        format!(
            "{done} operations cannot have been completed: at {} per second {arrived:.0} had \
             arrived by then.",
            iops(per_s)
        )
    })
}
