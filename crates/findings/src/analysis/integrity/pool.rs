//! What all trials of a campaign that checked what they read come to: events, and the bits that
//! are evidence for their rate.
//!
//! Evidence about the device are bits that were read from it: those of trials whose origin is
//! `device`, and of these the share that surely left the kernel. What came from memory, from a
//! cache behind the kernel, over a wire or from nobody knows where is counted apart, with what was
//! found in it, and makes no rate.

use std::collections::BTreeMap;

use serde::Serialize;

use base::stats::poisson::{exposure_needed, exposure_needed_with, rate_interval, rate_upper};
use experiment::measurement::integrity::{Fault, Integrity};
use experiment::measurement::origin::{Verdict, origin};
use experiment::measurement::{Measurement, Record};

/// Rates of unreadable sectors per bit read that makers of drives promise: desktop disks, server
/// disks, solid-state drives for servers.
pub const PROMISES: [f64; 3] = [1e-14, 1e-15, 1e-17];

/// What was checked in all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pool {
    /// Numbers of the trials that checked anything.
    pub trials: Vec<u32>,
    /// Bytes that were read and checked, wherever they came from.
    pub checked_bytes: u64,
    /// Checksums and sizes of blocks that were used, bytes; 0 where none is known.
    pub by: Vec<(String, u64)>,
    /// What surely came from the device: evidence.
    pub device: CheckedTotals,
    /// What did not, or not surely, by origin.
    pub apart: Vec<(Verdict, CheckedTotals)>,
    /// Silently wrong blocks by the name of their kind.
    pub kinds: BTreeMap<String, u64>,
    /// Faults that were kept, by whether they last.
    pub lasting: BTreeMap<&'static str, u64>,
    /// Sightings of faults that had been seen before, in the same trial or in an earlier one.
    pub again: u64,
}

/// Totals of what trials checked whose bytes came from one place: bits, blocks, and the faults
/// among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedTotals {
    /// Numbers of its trials.
    pub trials: Vec<u32>,
    /// Bits that were read and checked; of the device, those that surely left the kernel.
    pub bits: f64,
    /// Of those, bits that were held against nothing: they can be unreadable, not silently wrong.
    pub unheld_bits: f64,
    /// Blocks that were held against what they should be.
    pub blocks: u64,
    /// How long its trials took, ns.
    pub elapsed_ns: u64,
    /// Silently wrong blocks, each counted once.
    pub wrong: u64,
    /// Places that could not be read, each counted once.
    pub unreadable: u64,
    /// Why it is where it is: the reason of the first trial's origin.
    pub reason: String,
}

/// A rate of events per bit, with its exact bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ErrorRate {
    /// How many there were.
    pub events: u64,
    /// Bits that were read from the device.
    pub bits: f64,
    /// Events per bit.
    pub per_bit: f64,
    /// Ends of the two-sided 95 % interval.
    pub low_per_bit: f64,
    /// Its upper end.
    pub high_per_bit: f64,
    /// The one-sided upper bound at 95 %: the rate is below.
    pub below_per_bit: f64,
}

/// How a promise stands after what was read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Promise {
    /// At most so many unreadable sectors per bit read.
    pub per_bit: f64,
    /// What was found.
    pub standing: PromiseStatus,
    /// Bits that show at 95 % that it is kept, when every place in them can be read.
    pub bits_needed: f64,
    /// Bits that must still be read, without a further unreadable place, to show that it is kept;
    /// 0 where it is shown.
    pub bits_more: f64,
    /// The time that takes at the pace of these trials, hours; `None` where they took none.
    pub hours_more: Option<f64>,
}

/// Whether a promise is kept, as far as can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PromiseStatus {
    /// The upper bound at 95 % is not above it.
    Kept,
    /// The lower end of the 95 % interval is above it.
    Broken,
    /// Neither is shown.
    Open,
}

impl Pool {
    /// Of one campaign's records; `None` when none of them checked anything.
    pub fn from_records(records: &[Record]) -> Option<Pool> {
        let mut pool = Pool::default();
        let mut known = CountedFaults::default();
        for record in records {
            let Some(measurement) = record.outcome.measurement() else { continue };
            let Some(integrity) = &measurement.integrity else { continue };
            if integrity.checked_bytes > 0 || !integrity.is_clean() {
                pool.add(record, measurement, integrity, &mut known);
            }
        }
        (!pool.trials.is_empty()).then_some(pool)
    }

    fn add<'a>(
        &mut self,
        record: &'a Record,
        measurement: &Measurement,
        integrity: &'a Integrity,
        known: &mut CountedFaults<'a>,
    ) {
        let number = record.trial.number;
        let seen = known.sightings(record.trial.settings.directories(), integrity);
        self.trials.push(number);
        self.checked_bytes += integrity.checked_bytes;
        self.again += integrity.again + seen.wrong + seen.unreadable;
        let by = (integrity.checksum.clone(), integrity.block_bytes);
        if !self.by.contains(&by) {
            self.by.push(by);
        }
        for (kind, count) in &integrity.wrong {
            let fresh = count.saturating_sub(seen.kinds.get(kind.as_str()).copied().unwrap_or(0));
            *self.kinds.entry(kind.clone()).or_default() += fresh;
        }
        self.kinds.retain(|_, count| *count > 0);
        for fault in seen.fresh {
            *self.lasting.entry(fault.lasting.name()).or_default() += 1;
        }
        let from = origin(measurement, &record.trial.settings);
        let share = match from.verdict {
            Verdict::Device => from.device_share.unwrap_or(1.0).min(1.0),
            // Of a mixture the share is only what it is at most.
            _ => 1.0,
        };
        let part = self.part(from.verdict);
        if part.trials.is_empty() {
            part.reason = from.reason;
        }
        part.trials.push(number);
        part.bits += 8.0 * integrity.checked_bytes as f64 * share;
        part.unheld_bits += 8.0 * integrity.unheld_bytes as f64 * share;
        let held_bytes = integrity.checked_bytes.saturating_sub(integrity.unheld_bytes);
        part.blocks += held_bytes.checked_div(integrity.block_bytes).unwrap_or(0);
        part.elapsed_ns = part.elapsed_ns.saturating_add(measurement.elapsed_ns);
        part.wrong += integrity.wrong_blocks().saturating_sub(seen.wrong);
        part.unreadable += integrity.unreadable.saturating_sub(seen.unreadable);
    }

    fn part(&mut self, verdict: Verdict) -> &mut CheckedTotals {
        if verdict == Verdict::Device {
            return &mut self.device;
        }
        let place = self.apart.iter().position(|(known, _)| *known == verdict);
        let place = place.unwrap_or_else(|| {
            self.apart.push((verdict, CheckedTotals::default()));
            self.apart.len() - 1
        });
        &mut self.apart[place].1
    }

    /// Silently wrong blocks, wherever they came from.
    pub fn wrong(&self) -> u64 {
        self.parts().map(|part| part.wrong).sum()
    }

    /// Places that could not be read, wherever.
    pub fn unreadable(&self) -> u64 {
        self.parts().map(|part| part.unreadable).sum()
    }

    /// Whether every byte came back as it was written.
    pub fn is_clean(&self) -> bool {
        self.wrong() == 0 && self.unreadable() == 0
    }

    fn parts(&self) -> impl Iterator<Item = &CheckedTotals> {
        std::iter::once(&self.device).chain(self.apart.iter().map(|(_, part)| part))
    }

    /// Silently wrong blocks per bit read from the device; `None` without such bits.
    pub fn silent(&self) -> Option<ErrorRate> {
        self.device.rate(self.device.wrong, self.device.bits - self.device.unheld_bits)
    }

    /// Unreadable places per bit read from the device, which is what makers of drives promise;
    /// `None` without such bits.
    pub fn lost(&self) -> Option<ErrorRate> {
        self.device.rate(self.device.unreadable, self.device.bits)
    }

    /// How each of [`PROMISES`] stands; none without bits from the device.
    pub fn promises(&self) -> Vec<Promise> {
        let of =
            |rate: ErrorRate| PROMISES.map(|per_bit| self.device.promise(rate, per_bit)).to_vec();
        self.lost().map(of).unwrap_or_default()
    }
}

impl CheckedTotals {
    fn rate(&self, events: u64, bits: f64) -> Option<ErrorRate> {
        if bits <= 0.0 {
            return None;
        }
        let (low_per_bit, high_per_bit) = rate_interval(events, bits);
        Some(ErrorRate {
            events,
            bits,
            per_bit: events as f64 / bits,
            low_per_bit,
            high_per_bit,
            below_per_bit: rate_upper(events, bits),
        })
    }

    /// Bits a second, over all the time that the trials took; `None` where they took none.
    pub fn bits_per_s(&self) -> Option<f64> {
        (self.elapsed_ns > 0 && self.bits > 0.0).then(|| self.bits * 1e9 / self.elapsed_ns as f64)
    }

    fn promise(&self, rate: ErrorRate, per_bit: f64) -> Promise {
        let standing = match () {
            () if rate.below_per_bit <= per_bit => PromiseStatus::Kept,
            () if rate.low_per_bit > per_bit => PromiseStatus::Broken,
            () => PromiseStatus::Open,
        };
        let bits_more = (exposure_needed_with(rate.events, per_bit) - rate.bits).max(0.0);
        let hours_more = self.bits_per_s().map(|pace| bits_more / pace / 3600.0);
        let bits_needed = exposure_needed(per_bit);
        Promise { per_bit, standing, bits_needed, bits_more, hours_more }
    }
}

/// Faults of the trials so far. A bad place that is read again in a later trial is no new event.
#[derive(Default)]
struct CountedFaults<'a> {
    /// How often each place was faulty in the trial in which it was most often.
    most: BTreeMap<FaultLocation<'a>, u64>,
}

/// Directories, file, offset, kind, and what came back there: nothing where that is not known.
type FaultLocation<'a> = (&'a [String], &'a str, u64, &'a str, &'a str);

/// What of a trial's faults had been seen in an earlier one.
#[derive(Default)]
struct Sightings<'a> {
    wrong: u64,
    unreadable: u64,
    kinds: BTreeMap<&'a str, u64>,
    /// Those that had not.
    fresh: Vec<&'a Fault>,
}

impl<'a> CountedFaults<'a> {
    fn sightings(&mut self, directories: &'a [String], integrity: &'a Integrity) -> Sightings<'a> {
        let mut now: BTreeMap<FaultLocation<'a>, u64> = BTreeMap::new();
        let mut seen = Sightings::default();
        for fault in &integrity.faults {
            let place: FaultLocation<'a> =
                (directories, &fault.file, fault.offset, &fault.kind, &fault.found);
            let count = now.entry(place).or_default();
            *count += 1;
            if *count > self.most.get(&place).copied().unwrap_or(0) {
                seen.fresh.push(fault);
            } else if fault.kind == UNREADABLE {
                seen.unreadable += 1;
            } else {
                seen.wrong += 1;
                *seen.kinds.entry(&fault.kind).or_default() += 1;
            }
        }
        for (place, count) in now {
            let most = self.most.entry(place).or_default();
            *most = (*most).max(count);
        }
        seen
    }
}

/// The kind of a fault for which the kernel gave an error.
pub const UNREADABLE: &str = "unreadable";
