//! What of a trial's writing was on the device, and how long that took.

use super::{Record, Span};
use crate::knob::{self, Access, Settings};
use crate::measurement::origin::AGREEMENT;
use crate::measurement::span::is_drawn;
use crate::measurement::{Durable, Evidence, Measurement, Note, start};
use base::value;

/// What a file system may write besides what it is given, journals and names, and no more than this
/// part of it.
const BESIDES_BYTES: f64 = (16 << 20) as f64;
const BESIDES_SHARE: f64 = 0.25;

/// Counts differ by as much in any trial.
const SOME_BYTES: u64 = 1 << 20;

/// How many of the bytes that a trial wrote became durable; `None` when that is not known.
///
/// Memory keeps nothing through a power cut: fsync on it succeeds and means nothing. Bytes that
/// were written over in the page cache before they had left it never became durable: of writes that
/// went round their files, no more counts than the devices took, and where that is less than half
/// the devices had idled: then there is no figure. The same holds of the disks below the devices.
pub fn durable_bytes(record: &Record) -> Option<u64> {
    let measurement = record.outcome.measurement()?;
    let (bytes, settings) = (measurement.durable?.bytes, &record.trial.settings);
    let evidence = &measurement.evidence;
    let lied_to = evidence.pool.as_ref().is_some_and(|pool| pool.unsafe_dataset.is_some());
    if evidence.is_in_memory() || lied_to {
        return None;
    }
    let ignored = measurement.notes.iter().any(|note| note.kind == "direct-ignored");
    // What goes around the page cache above a loop device meets the one that holds its file.
    let around = settings.get(knob::DIRECT) && !ignored && evidence.below.caches.is_empty();
    let one_by_one = around || settings.get(knob::FSYNC) == "every";
    let of_stream = match settings.get(knob::ACCESS) {
        // One record is written over and over: the last of them alone stays.
        Some(Access::RecordRewrite) => settings.get(knob::BLOCK_SIZE),
        _ => settings.get(knob::FILES).saturating_mul(settings.get(knob::FILE_SIZE)),
    };
    let of_files = settings.get(knob::STREAMS).saturating_mul(of_stream);
    let each_stays = one_by_one || bytes <= of_files;
    let device = match each_stays {
        true => bytes,
        false => evidence.device_write_bytes?.min(bytes),
    };
    let safe = device.min(at_the_bottom(evidence, bytes, each_stays)?);
    (safe >= bytes / 2).then_some(safe)
}

/// How many of `bytes` the disks below the devices can have taken; `None` when nothing tells.
/// `each_stays` when none of them was written over.
fn at_the_bottom(evidence: &Evidence, bytes: u64, each_stays: bool) -> Option<u64> {
    let (below, cached) = (&evidence.below, !evidence.below.caches.is_empty());
    // Some drivers count nothing; below a cache nothing may well have come.
    let Some(taken) = below.write_bytes.filter(|taken| cached || *taken > 0) else {
        return (each_stays || !cached).then_some(bytes);
    };
    // Others, and copies, can hide what was written over before it came there.
    let most = bytes as f64 + BESIDES_BYTES.min(BESIDES_SHARE * bytes as f64);
    if cached && !each_stays && taken as f64 > most {
        return None;
    }
    // A file system that packs gives less to the devices already.
    let given = evidence.device_write_bytes.unwrap_or(bytes).min(bytes);
    let covers = (taken + SOME_BYTES) as f64 >= (1.0 - AGREEMENT) * given as f64;
    Some(if covers { bytes } else { taken })
}

/// Whether what took the writes is surely no memory of this machine.
pub fn takes_no_memory(measurement: &Measurement, settings: &Settings) -> bool {
    let (evidence, below) = (&measurement.evidence, &measurement.evidence.below);
    let wrote = evidence.delivered.write_bytes > 0;
    // ZFS takes writes into memory, around it or not, unless each is made safe.
    let taken_in = !below.caches.is_empty() || evidence.pool.is_some();
    let cached = taken_in && settings.get(knob::FSYNC) != "every";
    !evidence.is_in_memory() && !(wrote && (cached || below.unseen.is_some()))
}

/// What a reader of the figures of writes must know of where they stayed.
pub fn notes(record: &Record) -> Vec<Note> {
    let Some(measurement) = record.outcome.measurement() else { return Vec::new() };
    let (evidence, settings) = (&measurement.evidence, &record.trial.settings);
    let below = &evidence.below;
    if evidence.delivered.write_bytes == 0 && measurement.durable.is_none() {
        return Vec::new();
    }
    if let Some(first) = below.memory.first() {
        let text = format!(
            "{first} is this machine's memory, shown as a disk: nothing that was written there is \
             durable, and its speed is memory's"
        );
        return vec![Note::new("written-to-memory", text)];
    }
    if let Some(dataset) = evidence.pool.as_ref().and_then(|pool| pool.unsafe_dataset.as_ref()) {
        let text = format!(
            "fsync does nothing on {dataset} (sync=disabled): nothing that was written is known to \
             be durable, and its speed is memory's until that is full"
        );
        return vec![Note::new("sync-disabled", text)];
    }
    let mut notes = Vec::new();
    if settings.get(knob::DIRECT)
        && !below.caches.is_empty()
        && settings.get(knob::FSYNC) != "every"
    {
        let text = format!(
            "direct writes went into memory below, {}: the speed at which they were accepted is \
             memory's",
            below.memory_between()
        );
        notes.push(Note::new("accepted-by-memory", text));
    }
    let Some(durable) = measurement.durable.filter(|_| !evidence.memory) else { return notes };
    // What cannot be counted is unknown, which is a reason to say so too.
    let safe = durable_bytes(record).unwrap_or(0) as f64;
    if safe < 0.95 * durable.bytes as f64 {
        notes.push(not_all(evidence, durable.bytes));
    }
    notes
}

/// That not all of the `bytes` that were accepted are known to have come to the device.
fn not_all(evidence: &Evidence, bytes: u64) -> Note {
    let (below, accepted) = (&evidence.below, value::bytes(bytes as f64));
    let (devices, leaves) = (evidence.devices.join(" + "), below.leaves.join(" + "));
    let taken = match below.write_bytes {
        Some(taken) => format!("{leaves} below took {}", value::bytes(taken as f64)),
        None => "what the disks below took was not counted".to_owned(),
    };
    if !below.caches.is_empty() {
        let text = format!(
            "of {accepted} that were accepted, how much is durable is not known: {taken}, and {} \
             lies between; larger files help",
            below.memory_between()
        );
        return Note::new("overwritten-in-memory", text);
    }
    let given = evidence.device_write_bytes.unwrap_or(bytes).min(bytes);
    if below.write_bytes.is_some_and(|taken| taken > 0 && taken + SOME_BYTES < given) {
        let text = format!(
            "of {accepted} that {devices} accepted, {taken}: something between keeps or packs the \
             data"
        );
        return Note::new("packed-below", text);
    }
    let text = format!(
        "the files were written over in the page cache: not all of the {accepted} that were \
         accepted ever reached the device; larger files leave no time for that"
    );
    Note::new("overwritten-in-memory", text)
}

/// Bytes a second that are safe, of a trial whose safe `bytes` are known.
///
/// All of them over all the time until they were on the device. Where the start was left out of
/// the `span`, as warm-up or because it went faster, it is no more than the rest was accepted at.
/// What a throttle had saved up for the start is no rate that lasts; what a cache took then is in
/// the time of the flush. That a start was slower makes nothing safe sooner.
pub fn durable_bytes_per_s(
    (measurement, settings): (&Measurement, &Settings),
    durable: &Durable,
    bytes: u64,
    span: Option<&Span>,
) -> f64 {
    let whole = bytes as f64 * 1e9 / durable.durable_ns as f64;
    let left_out = || start::start(measurement).is_some_and(|start| start.rest.is_some());
    let Some(span) =
        span.filter(|span| (is_drawn(settings) || left_out()) && span.done.write_bytes > 0)
    else {
        return whole;
    };
    let safe = bytes as f64 / durable.bytes as f64;
    whole.min(safe * span.done.write_bytes as f64 / span.seconds)
}

/// Bytes a second that were accepted: all over all the time, or those of the `span` where what came
/// before it is no part of any rate.
pub fn accepted_bytes_per_s(settings: &Settings, durable: &Durable, span: Option<&Span>) -> f64 {
    match span.filter(|span| is_drawn(settings) && span.done.write_bytes > 0) {
        Some(span) => span.done.write_bytes as f64 / span.seconds,
        None => durable.bytes as f64 * 1e9 / durable.accepted_ns as f64,
    }
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
    let memory = record.outcome.measurement().is_some_and(|it| it.evidence.is_in_memory());
    // Transactions of a database are no changes of names, and each has a row of its own.
    let names = settings.get(knob::FILES).saturating_mul(settings.get(knob::STREAMS));
    !memory && (!settings.has(knob::OPERATION) || ops <= names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::evidence::Below;
    use crate::measurement::limit::testing::Scene;
    use crate::measurement::{Amount, Outcome};
    use base::value::Value;

    const MIB: u64 = 1 << 20;

    /// So much written directly over one file of 128 MiB, on a device with this below it.
    fn written(bytes: u64, knobs: &[(&'static str, Value)], below: Below) -> Record {
        let scene = Scene::default()
            .with("access", Value::Word("write".into()))
            .with("file-size", Value::Bytes(128 * MIB));
        let scene =
            knobs.iter().fold(scene, |scene, (knob, value)| scene.with(knob, value.clone()));
        let mut record = scene.record(1);
        let Outcome::Done(measurement) = &mut record.outcome else { panic!("it is done") };
        measurement.durable = Some(Durable { bytes, accepted_ns: 1_000, durable_ns: 2_000 });
        let evidence = &mut measurement.evidence;
        evidence.delivered = Amount { write_bytes: bytes, write_ops: 9, ..Amount::default() };
        evidence.device_write_bytes = Some(bytes);
        evidence.below = below;
        record
    }

    fn below(taken: u64, caches: &[&str]) -> Below {
        Below {
            leaves: vec!["sda".into()],
            write_bytes: Some(taken),
            caches: caches.iter().map(|name| (*name).to_owned()).collect(),
            ..Below::default()
        }
    }

    fn kinds(record: &Record) -> Vec<String> {
        notes(record).into_iter().map(|note| note.kind).collect()
    }

    fn surely(record: &Record) -> bool {
        takes_no_memory(record.outcome.measurement().unwrap(), &record.trial.settings)
    }

    /// A loop device without direct I/O took 1.6 GB of direct writes over 128 MiB into memory:
    /// "the device accepts 4666 MB/s", and "3515 MB/s durable".
    #[test]
    fn what_is_written_over_in_the_cache_below_a_loop_device_is_not_durable() {
        let over = |taken| written(1600 * MIB, &[], below(taken, &["loop0"]));
        let lost = over(130 * MIB);
        assert_eq!((durable_bytes(&lost), surely(&lost)), (None, false));
        assert_eq!(kinds(&lost), ["accepted-by-memory", "overwritten-in-memory"]);
        let text = &notes(&lost)[1].text;
        assert!(text.contains("sda below took 130 MiB") && text.contains("loop0"), "{text}");
        assert_eq!(durable_bytes(&over(0)), None);
        assert_eq!(durable_bytes(&over(1000 * MIB)), Some(1000 * MIB), "a bound");
        assert_eq!(durable_bytes(&over(1605 * MIB)), Some(1600 * MIB), "all came there");
        assert_eq!(durable_bytes(&over(3200 * MIB)), None, "a neighbour hides what did not");
        let uncounted = Below { write_bytes: None, ..below(0, &["loop0"]) };
        assert_eq!(durable_bytes(&written(1600 * MIB, &[], uncounted)), None);
        // Written once, or flushed one by one, each byte stays; what takes them is memory still.
        let once = written(128 * MIB, &[], below(129 * MIB, &["loop0"]));
        assert_eq!((durable_bytes(&once), surely(&once)), (Some(128 * MIB), false));
        assert_eq!(kinds(&once), ["accepted-by-memory"]);
        let every = [("fsync", Value::Word("every".into()))];
        let each = written(1600 * MIB, &every, below(4000 * MIB, &["loop0"]));
        assert_eq!((durable_bytes(&each), surely(&each)), (Some(1600 * MIB), true));
        assert!(kinds(&each).is_empty());
    }

    /// ext4 on zram: "the device accepts 1079 MB/s, durable 238", of this machine's memory.
    #[test]
    fn writes_to_memory_that_is_shown_as_a_disk_are_no_device_s() {
        let zram = Below { memory: vec!["zram0".into()], ..Below::default() };
        let record = written(100 * MIB, &[], zram);
        assert_eq!((durable_bytes(&record), surely(&record)), (None, false));
        assert_eq!(kinds(&record), ["written-to-memory"]);
        let why = Some("the file that loop0 shows is shown by a program itself".to_owned());
        let unseen = written(100 * MIB, &[], Below { unseen: why, ..Below::default() });
        assert_eq!((durable_bytes(&unseen), surely(&unseen)), (Some(100 * MIB), false));
    }

    /// With `sync=disabled` fsync returns at once, and what it promises is not so.
    #[test]
    fn nothing_is_durable_where_fsync_does_nothing() {
        let on_pool = |unsafe_dataset: Option<&str>| {
            let mut record = written(100 * MIB, &[], Below::default());
            let Outcome::Done(measurement) = &mut record.outcome else { panic!("it is done") };
            measurement.evidence.pool = Some(crate::measurement::evidence::ZfsPoolEvidence {
                unsafe_dataset: unsafe_dataset.map(str::to_owned),
                ..Default::default()
            });
            record
        };
        let lied_to = on_pool(Some("tank/db"));
        assert_eq!((durable_bytes(&lied_to), surely(&lied_to)), (None, false));
        assert_eq!(kinds(&lied_to), ["sync-disabled"]);
        assert!(notes(&lied_to)[0].text.contains("tank/db (sync=disabled)"));
        let honest = on_pool(None);
        assert_eq!((durable_bytes(&honest), surely(&honest)), (Some(100 * MIB), false));
        assert!(kinds(&honest).is_empty());
    }

    /// Partitions, mirrors and loop devices with direct I/O hand down all that they take; drivers
    /// that count nothing accuse nobody, nor does a file system that packs.
    #[test]
    fn what_hands_all_down_is_accused_of_nothing() {
        for taken in [0, 1600 * MIB, 3200 * MIB] {
            let record = written(1600 * MIB, &[], below(taken, &[]));
            assert_eq!((durable_bytes(&record), surely(&record)), (Some(1600 * MIB), true));
            assert!(kinds(&record).is_empty(), "{taken}");
        }
        let mut packed = written(1600 * MIB, &[], below(300 * MIB, &[]));
        let Outcome::Done(measurement) = &mut packed.outcome else { panic!("it is done") };
        measurement.evidence.device_write_bytes = Some(300 * MIB);
        assert_eq!(durable_bytes(&packed), Some(1600 * MIB));
        let between = written(1600 * MIB, &[], below(300 * MIB, &[]));
        assert_eq!((durable_bytes(&between), kinds(&between)), (None, vec!["packed-below".into()]));
    }
}
