//! (pure) What left the kernel, held against what the media could deliver.

use crate::knob::{self, Settings};
use crate::measurement::stopped::stopped;
use crate::measurement::{Measurement, course};
use ::facts::inventory::Ceiling;
use ::facts::inventory::choosing_among;
use base::value::{iops, throughput_short};

use super::again::{Again, again};
use super::exceeded::{Exceeded, moved};
use super::rounds;

/// A rate is above a ceiling when it is above by more than this: ceilings are nominal, and a
/// link's clock may be 300 ppm off (SATA, PCIe) and ours a little more.
pub const ABOVE_CEILING: f64 = 0.02;

/// What is in flight excuses no more than this share of what the load was given: of a short time it
/// could be all.
const AHEAD_MAX: f64 = 0.1;

/// Whether the bytes can have come from the media.
pub fn exceeded(measurement: &Measurement, settings: &Settings) -> Option<Exceeded> {
    if stopped(measurement).is_some() {
        let why = "the load did not run all the time, so no rate says whether a cache gave it";
        return Some(Exceeded::Perhaps(why.to_owned()));
    }
    let above = || above(measurement, settings).map(Exceeded::Certainly);
    // What ZFS reads a second time comes from its own memory, which nobody can have it drop: that
    // tells nothing of what lies behind it.
    if measurement.evidence.pool.is_some() {
        return above();
    }
    let pass = measurement.second_pass.as_ref();
    let crowd = |length_ns: u64| crowd(measurement, settings, length_ns);
    match pass.map(|pass| again(pass, crowd(pass.first_ns))) {
        Some(Again::Kept(why)) => Some(Exceeded::Certainly(why)),
        Some(Again::Unclear(why)) => above().or(Some(Exceeded::Perhaps(why))),
        Some(Again::AsBefore) | None => {
            above().or_else(|| rounds::told(measurement, settings, &crowd))
        }
    }
}

/// The rate of the reads before it jumped, bytes per second, where it did as no device does by
/// itself.
pub fn before_jump(measurement: &Measurement, settings: &Settings) -> Option<f64> {
    let crowd = |length_ns: u64| crowd(measurement, settings, length_ns);
    rounds::before_jump(measurement, settings, &crowd)
}

/// What the devices moved in the first `length_ns`, as a multiple of what the load had moved; 1
/// where that is not known. What was in flight at that moment a device may have moved already, and
/// the load not counted.
fn crowd(measurement: &Measurement, settings: &Settings, length_ns: u64) -> f64 {
    let (load, end_ns) = (&measurement.load, i64::try_from(length_ns).unwrap_or(i64::MAX));
    let own = || {
        let read = load.growth("read_bytes", 0, end_ns)? * had_read(measurement);
        Some(read + load.growth("write_bytes", 0, end_ns).unwrap_or(0.0))
    };
    match (moved(measurement, 0, length_ns), own()) {
        (Some(moved), Some(own)) if own > 0.0 => {
            let ahead = (in_flight(settings) * block_bytes(settings)).min(AHEAD_MAX * own);
            ((moved - ahead) / own).max(1.0)
        }
        _ => 1.0,
    }
}

fn block_bytes(settings: &Settings) -> f64 {
    settings.get(knob::BLOCK_SIZE) as f64
}

/// What the load had devices read for each byte that it was given, where that was more: with what
/// the kernel reads ahead, and around the faults of a memory map.
fn had_read(measurement: &Measurement) -> f64 {
    let evidence = &measurement.evidence;
    let process = evidence.process_read_bytes.filter(|_| evidence.process_io_reliable);
    let delivered = evidence.delivered.read_bytes.max(1) as f64;
    process.map_or(1.0, |process| (process as f64 / delivered).max(1.0))
}

/// Why the bytes are more than the media can deliver; `None` when they are not.
pub fn above(measurement: &Measurement, settings: &Settings) -> Option<String> {
    let ceiling = measurement.evidence.ceiling.as_ref()?;
    above_bytes(measurement, settings, ceiling)
        .or_else(|| above_ops(measurement, settings, ceiling))
}

/// Read operations and bytes that were begun and completed within a time, and that time. What was
/// already in flight when it began is taken off: a short time would seem faster than it was.
fn rate(measurement: &Measurement, settings: &Settings) -> Option<(f64, f64)> {
    let (done, seconds) = match &measurement.window {
        Some(window) => (window.done, course::timed_seconds(&measurement.load, window)),
        None => (measurement.evidence.delivered, measurement.elapsed_ns as f64 / 1e9),
    };
    if seconds <= 0.0 || done.read_ops == 0 {
        return None;
    }
    let block = done.read_bytes as f64 / done.read_ops as f64;
    let ops = (done.read_ops as f64 - in_flight(settings)).max(0.0);
    Some((ops / seconds, ops * block / seconds))
}

fn in_flight(settings: &Settings) -> f64 {
    settings.how_many(knob::STREAMS) * settings.how_many(knob::QUEUE_DEPTH)
}

fn above_bytes(
    measurement: &Measurement,
    settings: &Settings,
    ceiling: &Ceiling,
) -> Option<String> {
    let limit = ceiling.bytes_per_s.filter(|limit| *limit > 0.0)?;
    let (_, bytes_per_s) = rate(measurement, settings)?;
    (bytes_per_s > limit * (1.0 + ABOVE_CEILING)).then(|| {
        format!(
            "{} is more than the device can deliver: {} is its limit, as {}",
            throughput_short(bytes_per_s),
            throughput_short(limit),
            ceiling.why
        )
    })
}

/// How the reads in flight are spread over several disks is not known; that every disk may choose
/// among all of them is the most generous.
fn above_ops(measurement: &Measurement, settings: &Settings, ceiling: &Ceiling) -> Option<String> {
    if !settings.is_random() || settings.get(knob::RANDOM_DISTRIBUTION) == "zipf" {
        return None;
    }
    let limit = ceiling.ops_per_s.filter(|limit| *limit > 0.0)?;
    let limit = limit * choosing_among(in_flight(settings));
    let (ops_per_s, _) = rate(measurement, settings)?;
    (ops_per_s > limit * (1.0 + ABOVE_CEILING)).then(|| {
        format!(
            "{}/s random reads are more than the disks can do: {}/s is their limit at this depth, \
             as {}",
            iops(ops_per_s),
            iops(limit),
            ceiling.why
        )
    })
}
