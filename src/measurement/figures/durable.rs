//! What of a trial's writing was on the device, and how long that took.

use super::{Record, Span};
use crate::measurement::Durable;

/// How many of the bytes that a trial wrote became durable; `None` when that is not known.
///
/// Memory keeps nothing through a power cut: fsync on it succeeds and means nothing. Bytes that
/// were written over in the page cache before they had left it never became durable: of writes that
/// went round their files, no more counts than the devices took, and where that is less than half
/// the devices had idled: then there is no figure.
pub fn durable_bytes(record: &Record) -> Option<u64> {
    let measurement = record.outcome.measurement()?;
    let (bytes, settings) = (measurement.durable?.bytes, &record.trial.settings);
    if measurement.evidence.memory {
        return None;
    }
    let ignored = measurement.notes.iter().any(|note| note.kind == "direct-ignored");
    let one_by_one = (settings.flag("direct") && !ignored) || settings.word("fsync") == "every";
    let extent = match settings.word("access") {
        // One record is written over and over: the last of them alone stays.
        "record-rewrite" => &["streams", "block-size"][..],
        _ => &["streams", "files", "file-size"],
    };
    let of_files = extent.iter().map(|knob| settings.whole(knob)).fold(1, u64::saturating_mul);
    if one_by_one || bytes <= of_files {
        return Some(bytes);
    }
    let device = measurement.evidence.device_write_bytes?.min(bytes);
    (device >= bytes / 2).then_some(device)
}

/// How long each of so many operations took until it was on the device: the time that an accepted
/// one takes, and its share of the flush that came after them. All of them over all the time until
/// then would be more than was accepted per second where the start was the faster part, or was
/// left out of what is timed.
pub fn durable_seconds_each(durable: &Durable, operations: u64, span: Option<&Span>) -> f64 {
    let operations = operations as f64;
    let flush_s = durable.durable_ns.saturating_sub(durable.accepted_ns) as f64 / 1e9;
    match span {
        Some(span) => span.seconds / span.done.ops() as f64 + flush_s / operations,
        None => durable.durable_ns as f64 / 1e9 / operations,
    }
}

/// Whether each of so many operations on names can have left something on a device: none in
/// memory, and not where a name was changed, and changed again, of which the last change alone
/// stays (`rename` and `touch` that go round their files).
pub fn each_stays(record: &Record, ops: u64) -> bool {
    let settings = &record.trial.settings;
    let memory = record.outcome.measurement().is_some_and(|it| it.evidence.memory);
    // Transactions of a database are no changes of names, and each has a row of its own.
    let names = settings.whole("files").saturating_mul(settings.whole("streams"));
    !memory && (!settings.has("operation") || ops <= names)
}
