//! (pure) Evidence about the same files is shared: what one trial found behind the kernel stands
//! behind all that read these files.

use std::collections::BTreeSet;

use super::again::CROWD;
use super::{FASTEST_CHANCE, Origin, SURELY, Verdict, origin};
use crate::knob::Settings;
use crate::measurement::{Outcome, Record};
use crate::plan::files::files_of;
use crate::value::throughput_short;

/// What one trial found, and of which files.
struct Found {
    number: u32,
    devices: Vec<String>,
    files: BTreeSet<(usize, usize)>,
    /// Whether it is no chance by itself.
    sure: bool,
}

/// Marks the trials whose bytes cannot be told from those of a cache behind the kernel, because
/// another trial found one that keeps the same files, or read them in the same way before, and much
/// more slowly: nobody knows how much of theirs came from it.
/// Records without samples are changed alone (see [`crate::measurement::Digest`]): others are
/// judged one by one.
///
/// One second pass that is a little faster may be chance, and of an evaluation's sixty one will be;
/// so one must be half as fast again, or two must agree, before others are doubted for it.
pub fn share(records: &mut [Record]) {
    let found: Vec<Found> = records.iter().filter_map(found).collect();
    let slow: Vec<Read> = records.iter().filter_map(read).collect();
    for record in records {
        let (files, devices) = (files(record), devices(record));
        let of_same = |one: &&Found| {
            one.number != record.trial.number
                && one.devices == devices
                && !one.files.is_disjoint(&files)
        };
        let told: Vec<&Found> = found.iter().filter(of_same).collect();
        let believed = told.len() > 1 || told.iter().any(|one| one.sure);
        let why = match told.first().filter(|_| believed) {
            Some(first) => Some(format!(
                "trial {} found a cache behind the kernel that keeps the same files, and how much \
                 of this trial came from it is not known",
                first.number
            )),
            None => read(record).and_then(|this| slow.iter().find_map(|one| this.faster(one))),
        };
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

/// What a trial read from a device that it had for itself.
struct Read {
    number: u32,
    /// When it began, Unix time in ns; files are read again later, never before.
    started_unix_ns: u64,
    settings: Settings,
    devices: Vec<String>,
    files: BTreeSet<(usize, usize)>,
    bytes_per_s: f64,
}

fn read(record: &Record) -> Option<Read> {
    let measurement = record.outcome.measurement()?;
    let (evidence, settings) = (&measurement.evidence, &record.trial.settings);
    let (read, device) = (evidence.delivered.read_bytes, evidence.device_read_bytes?);
    // What a program does between its reads is its own.
    let ours = measurement.programs.is_none() && evidence.delivered.write_bytes == 0;
    let alone = device as f64 <= (1.0 + CROWD) * read as f64;
    let paced = settings.has("rate") && settings.number("rate") > 0.0;
    let known = ours && alone && !paced && read > 0 && measurement.elapsed_ns > 0;
    let is_device = || origin(measurement, settings).verdict == Verdict::Device;
    (known && is_device()).then(|| Read {
        number: record.trial.number,
        started_unix_ns: measurement.started_unix_ns,
        settings: settings.clone(),
        devices: evidence.devices.clone(),
        files: files(record),
        bytes_per_s: read as f64 * 1e9 / measurement.elapsed_ns as f64,
    })
}

impl Read {
    /// Why this is not surely the device's, where `other` did the same before and was several times
    /// slower.
    fn faster(&self, other: &Read) -> Option<String> {
        let before = |it: &Read| (it.started_unix_ns, it.number);
        // What differs most often is asked first: each of thousands of trials is held against all.
        let same = self.bytes_per_s >= SURELY * other.bytes_per_s
            && before(other) < before(self)
            && other.settings == self.settings
            && other.devices == self.devices
            && !other.files.is_disjoint(&self.files);
        same.then(|| {
            format!(
                "trial {} read the same files in the same way before, at {}, and this one at {}: a \
                 cache behind the kernel, or a limit that was lifted",
                other.number,
                throughput_short(other.bytes_per_s),
                throughput_short(self.bytes_per_s)
            )
        })
    }
}

fn files(record: &Record) -> BTreeSet<(usize, usize)> {
    let of = files_of(&record.trial.settings, record.trial.first_file);
    of.into_iter().flatten().collect()
}

fn devices(record: &Record) -> Vec<String> {
    record.outcome.measurement().map_or(Vec::new(), |it| it.evidence.devices.clone())
}

fn found(record: &Record) -> Option<Found> {
    let measurement = record.outcome.measurement()?;
    if origin(measurement, &record.trial.settings).verdict != Verdict::DeviceCache {
        return None;
    }
    let pass = measurement.second_pass.as_ref().filter(|pass| pass.second_ns > 0);
    let ratio = |first: u64, second: u64| first as f64 / second as f64;
    // Without a second pass it was above what the device can do, or a jump of three.
    let sure = pass.is_none_or(|pass| ratio(pass.first_ns, pass.second_ns) >= FASTEST_CHANCE);
    let files = files(record);
    let number = record.trial.number;
    (!files.is_empty()).then(|| Found { number, devices: devices(record), files, sure })
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
