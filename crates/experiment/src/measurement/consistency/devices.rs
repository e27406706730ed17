//! What a load was given, against what devices and wires moved and can carry.

use super::OwnTrial;
use crate::knob;
use crate::measurement::origin::{AGREEMENT, Verdict};
use crate::measurement::span::in_flight;
use base::value::{bytes, throughput_short};

/// Two counts of the same bytes differ by less, with rounding.
const APART: f64 = AGREEMENT + 0.01;

/// Ceilings are nominal, clocks a little off.
const ABOVE: f64 = 0.05;

/// Journals and rounding to pages, whatever the length of the trial.
const SOME_BYTES: f64 = 1_048_576.0;

/// What is said to be the device's was moved by it.
pub fn reads(facts: &OwnTrial<'_>) -> Option<String> {
    if facts.verdict() != Verdict::Device {
        return None;
    }
    let evidence = &facts.measurement.evidence;
    let moved = match &evidence.served {
        Some(served) => served.device_read_bytes?,
        None => evidence.device_read_bytes?,
    };
    let given = evidence.delivered.read_bytes as f64;
    (moved as f64 <= given * (1.0 - APART) - SOME_BYTES).then(|| {
        format!(
            "{} are said to come from the device, and it moved {}.",
            bytes(given),
            bytes(moved as f64)
        )
    })
}

/// Writes around the page cache become as many sectors, where nothing on the way makes fewer of
/// them: compression, copies that are shared, and memory.
pub fn writes(facts: &OwnTrial<'_>) -> Option<String> {
    let (settings, evidence) = (facts.settings, &facts.measurement.evidence);
    let plain = matches!(evidence.filesystem.as_str(), "ext4" | "xfs");
    let direct = settings.has(knob::DIRECT) && settings.get(knob::DIRECT);
    let ignored = facts.measurement.notes.iter().any(|note| note.kind == "direct-ignored");
    if !plain || !direct || ignored || evidence.is_in_memory() || evidence.remote {
        return None;
    }
    facts.measurement.durable?;
    // Some drivers count nothing.
    let moved = evidence.device_write_bytes.filter(|moved| *moved > 0)? as f64;
    let given = evidence.delivered.write_bytes as f64;
    (moved < given * (1.0 - APART) - SOME_BYTES).then(|| {
        format!(
            "{} were written around memory, and the device took {}.",
            bytes(given),
            bytes(moved)
        )
    })
}

/// The device's bytes came over its links and from its disks.
pub fn ceiling(facts: &OwnTrial<'_>) -> Option<String> {
    let ceiling = facts.measurement.evidence.ceiling.as_ref()?;
    let most = ceiling.bytes_per_s.filter(|most| *most > 0.0)?;
    let span = facts.span()?;
    let reads = span.done.read_ops as f64;
    if reads < 1.0 || facts.verdict() != Verdict::Device {
        return None;
    }
    // What was in flight when the time began had come a part of its way.
    let whole = (reads - in_flight(facts.measurement, facts.settings)).max(0.0) / reads;
    let per_s = span.done.read_bytes as f64 * whole / span.seconds;
    (per_s > most * (1.0 + ABOVE)).then(|| {
        format!(
            "{} are said to come from the device. Its limit is {}, as {}.",
            throughput_short(per_s),
            throughput_short(most),
            ceiling.why
        )
    })
}
