//! (pure) Evidence about the same files is shared: what one trial found behind the kernel stands
//! behind all that read these files.

use std::collections::{BTreeMap, BTreeSet};

use super::again::{CROWD, FASTER_AGAIN};
use super::{FASTEST_CHANCE, Origin, SURELY, Verdict, layers, origin};
use crate::knob;
use crate::measurement::{Outcome, Record};
use crate::plan::files::files_of;
use base::value::throughput_short;

/// Marks the trials whose bytes cannot be told from those of a cache behind the kernel, because
/// another trial found one that keeps the same files, or read them in the same way before, and much
/// more slowly: nobody knows how much of theirs came from it.
/// Records without samples are changed alone (see [`crate::measurement::Digest`]): others are
/// judged one by one.
///
/// One second pass that is a little faster may be chance, and of an evaluation's sixty one will be;
/// so one must be half as fast again, or two must agree, before others are doubted for it.
pub fn share(records: &mut [Record]) {
    let (found, slower) = (CachedFiles::of(records), slower(records));
    for (place, record) in records.iter_mut().enumerate() {
        let why = found.behind(record).or_else(|| slower.get(&place).cloned());
        let (Some(reason), Outcome::Done(measurement)) = (why, &mut record.outcome) else {
            continue;
        };
        let Some(digest) = &mut measurement.digest else { continue };
        if digest.origin.verdict == Verdict::Device {
            let device_share = digest.origin.device_share;
            digest.origin = Origin { verdict: Verdict::Unknown, device_share, reason };
        }
    }
}

/// A file on devices.
type File = (Vec<String>, (usize, usize));

/// The numbers of trials that found a cache that keeps a file: of all the first two, and of those
/// that are no chance by themselves.
#[derive(Default)]
struct Finders {
    all: Vec<u32>,
    sure: Vec<u32>,
}

/// Files that a cache behind the kernel keeps.
struct CachedFiles(BTreeMap<File, Finders>);

impl CachedFiles {
    fn of(records: &[Record]) -> CachedFiles {
        let mut kept: BTreeMap<File, Finders> = BTreeMap::new();
        for record in records {
            let Some(sure) = finds(record) else { continue };
            for file in files(record) {
                let finders = kept.entry((devices(record).to_vec(), file)).or_default();
                // Two are enough: one may be the trial itself that asks.
                let lists = [Some(&mut finders.all), sure.then_some(&mut finders.sure)];
                for list in lists.into_iter().flatten().filter(|list| list.len() < 3) {
                    list.push(record.trial.number);
                }
            }
        }
        CachedFiles(kept)
    }

    /// Why a trial's bytes may have come from it: others found it, surely or twice.
    fn behind(&self, record: &Record) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let (mut all, mut sure) = (BTreeSet::new(), false);
        for file in files(record) {
            let Some(finders) = self.0.get(&(devices(record).to_vec(), file)) else { continue };
            let others = |of: &[u32]| -> Vec<u32> {
                of.iter().copied().filter(|number| *number != record.trial.number).collect()
            };
            all.extend(others(&finders.all));
            sure |= !others(&finders.sure).is_empty();
        }
        let first = all.first().filter(|_| sure || all.len() > 1)?;
        Some(format!(
            "trial {first} found a cache behind the kernel that keeps the same files, and how much \
             of this trial came from it is not known"
        ))
    }
}

/// Whether a trial found a cache behind the kernel, and whether that is no chance by itself.
fn finds(record: &Record) -> Option<bool> {
    let measurement = record.outcome.measurement()?;
    // What layers that are counted served is counted of each trial by itself.
    let found = origin(measurement, &record.trial.settings).verdict;
    if found != Verdict::DeviceCache || layers::served(&measurement.evidence) {
        return None;
    }
    let pass = measurement.second_pass.as_ref().filter(|pass| pass.second_ns > 0);
    let ratio = |first: u64, second: u64| first as f64 / second as f64;
    // One that was not found by its second pass was above what the device can do, or read its files
    // again three times as fast.
    Some(pass.is_none_or(|pass| {
        let faster = ratio(pass.first_ns, pass.second_ns);
        faster >= FASTEST_CHANCE || faster <= 1.0 + FASTER_AGAIN
    }))
}

/// Knobs of which more makes a load faster, and at most by as much: what one operation takes is
/// never less for it.
const IN_FLIGHT: [&str; 2] = [knob::BLOCK_SIZE.name, knob::QUEUE_DEPTH.name];

/// Knobs that follow from those.
const FOLLOWS: [&str; 1] = [knob::BATCH.name];

/// How fast files were read at first.
struct Slowest {
    number: u32,
    bytes_per_s: f64,
    in_flight: [f64; 2],
}

/// Why trials, by their places, are not surely the device's: an earlier one did the same and was
/// several times slower, beyond what larger blocks and a deeper queue can make of it. In the order
/// of time, as files are read again later, never before.
fn slower(records: &[Record]) -> BTreeMap<usize, String> {
    let mut reads: Vec<(usize, f64)> = Vec::new();
    reads.extend(records.iter().enumerate().filter_map(|(at, one)| Some((at, read_alone(one)?))));
    let begun = |at: usize| {
        let measurement = records[at].outcome.measurement();
        (measurement.map_or(0, |it| it.started_unix_ns), records[at].trial.number)
    };
    reads.sort_by_key(|(at, _)| begun(*at));
    let mut slowest: BTreeMap<(u64, &[String], u32), Vec<Slowest>> = BTreeMap::new();
    let mut why = BTreeMap::new();
    for (at, bytes_per_s) in reads {
        let trial = &records[at].trial;
        let settings = &trial.settings;
        let block = settings.find(knob::BLOCK_SIZE).map_or(1.0, |bytes| bytes as f64);
        let in_flight = [block, settings.how_many(knob::QUEUE_DEPTH)];
        // Equal settings and an equal first file are the same files.
        let alike = settings.fingerprint(&[&IN_FLIGHT[..], &FOLLOWS].concat());
        let all = slowest.entry((alike, devices(&records[at]), trial.first_file)).or_default();
        let least = |one: &Slowest| {
            let more = in_flight.iter().zip(one.in_flight).map(|(here, there)| here / there);
            bytes_per_s / (one.bytes_per_s * more.map(|more| more.max(1.0)).product::<f64>())
        };
        if let Some(one) = all.iter().find(|one| least(one) >= SURELY) {
            let way = match one.in_flight == in_flight {
                true => "in the same way",
                false => "with other blocks or another depth",
            };
            let reason = format!(
                "trial {} read the same files {way} before, at {}, and this one at {}: a cache \
                 behind the kernel, or a limit that was lifted",
                one.number,
                throughput_short(one.bytes_per_s),
                throughput_short(bytes_per_s)
            );
            why.insert(at, reason);
        }
        let here = Slowest {
            number: trial.number,
            bytes_per_s: before_jump(&records[at]).unwrap_or(bytes_per_s),
            in_flight,
        };
        match all.iter_mut().find(|one| one.in_flight == in_flight) {
            Some(one) if one.bytes_per_s <= here.bytes_per_s => {}
            Some(one) => *one = here,
            None => all.push(here),
        }
    }
    why
}

/// As [`super::before_jump`] gave it.
fn before_jump(record: &Record) -> Option<f64> {
    record.outcome.measurement()?.digest.as_ref()?.before_jump
}

/// How fast a trial read files from a device that it had for itself, bytes per second.
fn read_alone(record: &Record) -> Option<f64> {
    let measurement = record.outcome.measurement()?;
    let (evidence, settings) = (&measurement.evidence, &record.trial.settings);
    let (read, device) = (evidence.delivered.read_bytes, evidence.device_read_bytes?);
    // What a program does between its reads is its own.
    let ours = measurement.programs.is_none() && evidence.delivered.write_bytes == 0;
    let alone = device as f64 <= (1.0 + CROWD) * read as f64;
    let paced = settings.has(knob::RATE) && settings.number(knob::RATE) > 0.0;
    let known = ours && alone && !paced && read > 0 && measurement.elapsed_ns > 0;
    let again = !settings.get(knob::FRESH_FILE) && settings.get(knob::FILES) > 0;
    let is_device = || origin(measurement, settings).verdict == Verdict::Device;
    let jumped = before_jump(record).is_some();
    (known && again && (jumped || is_device()))
        .then(|| read as f64 * 1e9 / measurement.elapsed_ns as f64)
}

/// The files of a trial that others may read too; those that are made anew for it are removed.
fn files(record: &Record) -> BTreeSet<(usize, usize)> {
    if record.trial.settings.get(knob::FRESH_FILE) {
        return BTreeSet::new();
    }
    let of = files_of(&record.trial.settings, record.trial.first_file);
    of.into_iter().flatten().collect()
}

fn devices(record: &Record) -> &[String] {
    record.outcome.measurement().map_or(&[], |it| it.evidence.devices.as_slice())
}

#[cfg(test)]
mod tests {
    use super::super::tests::with;
    use super::*;
    use crate::knob::Settings;
    use crate::measurement::SecondPass;
    use crate::plan::Trial;

    /// A trial of files that begin so, as a report has it; its second pass took so much of the time
    /// of the first, where it had one.
    fn record(number: u32, first_file: u32, second: Option<f64>) -> Record {
        let mut measurement = with(|_| {});
        let first_ns = 2_000_000_000;
        let slot = |tenth: u64| (tenth * 100_000_000, tenth * 50_000_000);
        measurement.second_pass = second.map(|share| SecondPass {
            bytes: 1_000_000_000,
            first_ns,
            second_ns: (first_ns as f64 * share) as u64,
            first_marks: (0..=20).map(slot).collect(),
        });
        let trial = Trial {
            number,
            replicate: 1,
            group: "streams".into(),
            settings: Settings::defaults("file"),
            first_file,
            seed: 1,
            planned: None,
        };
        Record::new(trial, Outcome::Done(Box::new(measurement))).light()
    }

    fn verdicts(records: &mut [Record]) -> Vec<Verdict> {
        share(records);
        let of = |record: &Record| {
            origin(record.outcome.measurement().unwrap(), &record.trial.settings).verdict
        };
        records.iter().map(of).collect()
    }

    /// Trial 5 of an evaluation found the cache, and the answer was another's 2174 MB/s "from the
    /// device", whose media deliver 15.4.
    #[test]
    fn a_cache_that_one_trial_found_stands_behind_the_others_on_its_files_naive_device() {
        use Verdict::{Device, DeviceCache, Unknown};
        let mut all = [record(1, 0, None), record(5, 0, Some(0.1)), record(6, 100, None)];
        assert_eq!(verdicts(&mut all), [Unknown, DeviceCache, Device]);
        let told = all[0].outcome.measurement().unwrap();
        assert!(origin(told, &all[0].trial.settings).reason.contains("trial 5"));
        // Its own second pass says nothing when both came from the cache.
        let mut both = [record(1, 0, Some(1.0)), record(2, 0, Some(0.2))];
        assert_eq!(verdicts(&mut both), [Unknown, DeviceCache]);
    }

    /// The host of a guest began to keep its blocks between two replicates: the first two read
    /// 15 MB/s of the device, and the last two 1630 "from the device".
    #[test]
    fn a_replicate_that_reads_the_same_files_many_times_faster_later_is_not_surely_the_devices() {
        use Verdict::{Device, Unknown};
        let took = |number: u32, first_file: u32, seconds: u64| {
            let mut measurement = with(|_| {});
            measurement.elapsed_ns = seconds * 1_000_000_000;
            measurement.started_unix_ns = u64::from(number);
            let mut record = record(number, first_file, None);
            record.outcome = Outcome::Done(Box::new(measurement));
            record.light()
        };
        let mut all = [took(1, 0, 60), took(2, 0, 50), took(3, 0, 1), took(4, 100, 1)];
        assert_eq!(verdicts(&mut all), [Device, Device, Unknown, Device]);
        let told = all[2].outcome.measurement().unwrap();
        let reason = origin(told, &all[2].trial.settings).reason;
        assert!(reason.contains("trial 1 read the same files in the same way before"), "{reason}");
        // Faster first, as of credits that ran out, and faster by less, as disks are.
        assert_eq!(verdicts(&mut [took(1, 0, 10), took(2, 0, 60)]), [Device, Device]);
        assert_eq!(verdicts(&mut [took(1, 0, 20), took(2, 0, 10)]), [Device, Device]);
        // Who shared the disk with others was slow for that.
        let mut crowded = took(1, 0, 60);
        let Outcome::Done(measurement) = &mut crowded.outcome else { panic!("it was done") };
        measurement.evidence.device_read_bytes = Some(1 << 40);
        assert_eq!(verdicts(&mut [crowded, took(2, 0, 1)]), [Device, Device]);
    }

    /// The host began to keep the blocks as the first cell ended: other cells on the same files
    /// were fast from their start, and their settings those of no slower trial.
    #[test]
    fn another_cell_on_the_same_files_is_held_against_what_its_blocks_and_depth_explain() {
        use Verdict::{Device, Unknown};
        let took = |number: u32, knobs: &[(&str, &str)], ms: u64| {
            let mut measurement = with(|_| {});
            measurement.elapsed_ns = ms * 1_000_000;
            measurement.started_unix_ns = u64::from(number);
            let mut record = record(number, 0, None);
            record.trial.settings = crate::knob::testing::settings("file", knobs);
            record.outcome = Outcome::Done(Box::new(measurement));
            record.light()
        };
        let large = [("block-size", "1MiB")];
        let small = [("block-size", "64KiB")];
        // 16 times the block, 68 times the rate; and as much by fewer bytes in flight.
        assert_eq!(
            verdicts(&mut [took(1, &small, 68_000), took(2, &large, 1_000)]),
            [Device, Unknown]
        );
        assert_eq!(
            verdicts(&mut [took(1, &large, 4_000), took(2, &small, 1_000)]),
            [Device, Unknown]
        );
        // What a device of one latency does with 16 times the bytes, or 32 times the depth.
        assert_eq!(verdicts(&mut [took(1, &small, 40_000), took(2, &large, 1_000)]), [Device; 2]);
        let deep = [("queue-depth", "32"), ("access", "random-read")];
        let flat = [("queue-depth", "1"), ("access", "random-read")];
        assert_eq!(verdicts(&mut [took(1, &flat, 90_000), took(2, &deep, 1_000)]), [Device; 2]);
        // Another order is other work.
        assert_eq!(verdicts(&mut [took(1, &flat, 90_000), took(2, &small, 1_000)]), [Device; 2]);
        // A rate that jumped is held against as it was before.
        let mut jumped = took(1, &small, 1_200);
        let Outcome::Done(measurement) = &mut jumped.outcome else { panic!("it was done") };
        let digest = measurement.digest.as_mut().unwrap();
        (digest.before_jump, digest.origin.verdict) = (Some(15e6), Unknown);
        assert_eq!(verdicts(&mut [jumped, took(2, &large, 1_000)]), [Unknown; 2]);
    }

    /// 5 GB/s on a link of 2 GB/s: both passes came out of the card, so that neither was faster,
    /// and others on these files stayed `device`.
    #[test]
    fn a_cache_that_the_ceiling_tells_is_sure_though_its_second_pass_was_no_faster() {
        use Verdict::{DeviceCache, Unknown};
        let mut above = record(1, 0, Some(1.0));
        let Outcome::Done(measurement) = &mut above.outcome else { panic!("it was done") };
        measurement.digest.as_mut().unwrap().origin.verdict = DeviceCache;
        assert_eq!(verdicts(&mut [above, record(2, 0, None)]), [DeviceCache, Unknown]);
    }

    /// A report of 5 000 trials took six seconds, as each was held against all.
    #[test]
    fn many_trials_are_not_held_each_against_all() {
        let mut all: Vec<Record> = (0..20_000).map(|number| record(number, 0, None)).collect();
        assert!(verdicts(&mut all).iter().all(|verdict| *verdict == Verdict::Device));
    }

    #[test]
    fn one_pass_that_is_a_little_faster_casts_no_doubt_on_others_and_two_do() {
        use Verdict::{Device, DeviceCache, Unknown};
        let mut one = [record(1, 0, None), record(2, 0, Some(0.8))];
        assert_eq!(verdicts(&mut one), [Device, DeviceCache]);
        let mut two = [record(1, 0, None), record(2, 0, Some(0.8)), record(3, 0, Some(0.75))];
        assert_eq!(verdicts(&mut two), [Unknown, DeviceCache, DeviceCache]);
        let mut other = [record(1, 0, None), record(2, 0, Some(0.1))];
        let Outcome::Done(measurement) = &mut other[0].outcome else { panic!("it was done") };
        measurement.evidence.devices = vec!["sdb1".into()];
        assert_eq!(verdicts(&mut other), [Device, DeviceCache], "another device");
    }
}
