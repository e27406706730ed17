//! What does an operation cost before its first byte, and what does each byte cost after it?
//!
//! The law is in [`base::stats::seek`]; here it is put to random loads, with what was in flight,
//! and held against what disks that turn can do.

use serde::Serialize;

use super::curve::{Curve, curves};
use super::{AnalysisInput, Finding, Question, words};
use base::stats::profile::Level;
use base::stats::seek::{self, Bound, Described};
use base::stats::{Estimate, Interval, mean_interval};
use base::value::{duration, iops, significant, throughput_short};
use experiment::knob::{self, Access, Settings};
use experiment::measurement::figure_names;
use experiment::measurement::limit::in_flight;
use experiment::measurement::origin::Verdict;
use facts::inventory::server::Drive;
use facts::inventory::{choosing_among, turns_allow};

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "seek-law",
    about: "What does a random operation cost before its first byte, and each byte after it?",
    answer,
};

/// Operations beyond what turning allows by more than this share are surely a cache's: a disk may
/// turn a little faster than it says.
const ABOVE: f64 = 0.02;

/// The times of a random load, and the law that describes them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeekLaw {
    /// What the load does, in words.
    pub load: String,
    /// Its access: `random-read`, `random-write`.
    pub access: String,
    /// Numbers of the trials that it rests on.
    pub evidence: Vec<u32>,
    /// How many of them did not surely read from where they should.
    pub astray: usize,
    /// Operations in flight, of all streams together.
    pub in_flight: f64,
    /// In ascending order of size.
    pub points: Vec<BlockSizePoint>,
    /// The law; `None` where it does not describe the times.
    pub law: Option<Law>,
    /// How the operations compare with what disks that turn can do; `None` where that is not known,
    /// or where bytes did not surely come from the disks.
    pub turning: Option<Turning>,
}

/// What operations of one block size took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BlockSizePoint {
    /// Their size, bytes.
    pub block_size_bytes: f64,
    /// The time of one, ns, with Student's interval between trials.
    pub time_ns: Estimate,
}

/// `T = L + S / B`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Law {
    /// L: what each operation takes before its first byte, ns. The interval begins at nothing where
    /// no such time is shown.
    pub latency_ns: Estimate,
    /// B times what is in flight: what all get together of ever larger blocks, bytes per second.
    pub bandwidth_bytes_per_s: Bound,
    /// The size at which half of that is reached, bytes.
    pub half_size_bytes: Bound,
}

/// Operations against the turning of the disks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Turning {
    /// Disks below the files.
    pub disks: usize,
    /// Turns a minute of each.
    pub rpm: u64,
    /// Operations per second of each disk that works: 1 / L, times what each has in flight.
    pub ops_per_s_per_disk: Estimate,
    /// What turning allows one disk, operations per second.
    pub most_ops_per_s: f64,
}

/// What there is to say of a load's times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// The law describes them.
    Follows(Law),
    /// It does not.
    DoesNotFollow,
}

impl Fit {
    /// The law, where it describes them.
    pub fn law(self) -> Option<Law> {
        match self {
            Fit::Follows(law) => Some(law),
            Fit::DoesNotFollow => None,
        }
    }
}

/// Whether operations go to places that are drawn at random, all of one kind.
pub fn is_random(settings: &Settings) -> bool {
    matches!(settings.get(knob::ACCESS), Some(Access::RandomRead | Access::RandomWrite))
}

/// The law of a curve over `block-size`; `None` with fewer than four sizes, or none repeated.
pub fn fit(curve: &Curve<'_>) -> Option<Fit> {
    Some(match seek::law(&times(curve))? {
        Described::NotByThisLaw => Fit::DoesNotFollow,
        Described::By(law) => Fit::Follows(Law {
            latency_ns: law.latency,
            // Bytes per ns of one operation, of which so many are under way.
            bandwidth_bytes_per_s: law.bandwidth.times(1e9 * in_flight(curve.settings)),
            half_size_bytes: law.half,
        }),
    })
}

/// Every random load of which sizes enough were measured, whether it follows the law or not.
pub fn laws(asked: &AnalysisInput<'_>) -> Vec<SeekLaw> {
    let drives = drives(asked);
    let random = curves(asked.records, "block-size").into_iter();
    let random = random.filter(|curve| is_random(curve.settings));
    random.filter_map(|curve| Some(of_curve(&curve, fit(&curve)?, &drives))).collect()
}

fn of_curve(curve: &Curve<'_>, fit: Fit, drives: &[Drive]) -> SeekLaw {
    let point = |level: &Level| {
        let time_ns = mean_interval(&level.values)?.not_negative();
        Some(BlockSizePoint { block_size_bytes: level.at, time_ns })
    };
    let law = fit.law();
    SeekLaw {
        load: curve.load(&["file-size", "queue-depth", "streams"]),
        access: curve.settings.get(knob::ACCESS).map_or("", Access::name).to_owned(),
        evidence: curve.evidence(),
        astray: curve.strays(),
        in_flight: in_flight(curve.settings),
        points: times(curve).iter().filter_map(point).collect(),
        turning: law.and_then(|law| turning(curve, &law, drives)),
        law,
    }
}

/// The time of one operation of each size, ns, by Little's law: with so many in flight each takes
/// so many times as long as it takes until one more is done.
fn times(curve: &Curve<'_>) -> Vec<Level> {
    let mut levels = curve.levels(figure_names::THROUGHPUT);
    let in_flight = in_flight(curve.settings);
    for level in &mut levels {
        let bytes = in_flight * level.at * 1e9;
        level.values.iter_mut().for_each(|value| *value = bytes / *value);
    }
    levels
}

/// The drives of the machine that the trials ran on.
fn drives(asked: &AnalysisInput<'_>) -> Vec<Drive> {
    let drives = asked.inventory.get("server").and_then(|server| server.get("drives"));
    drives.and_then(|drives| serde_json::from_value(drives.clone()).ok()).unwrap_or_default()
}

/// Operations against turning, where all disks are known to turn, alike, and the bytes surely came
/// from the disks (of writes nobody can tell).
fn turning(curve: &Curve<'_>, law: &Law, drives: &[Drive]) -> Option<Turning> {
    let first = curve.points.first()?.record.outcome.measurement()?;
    let names = &first.evidence.disks;
    let rpm = |name: &String| {
        let drive = drives.iter().find(|drive| drive.name == *name)?;
        drive.rpm.filter(|rpm| *rpm > 1)
    };
    let turns: Option<Vec<u64>> = names.iter().map(rpm).collect();
    let turns = turns.filter(|turns| turns.windows(2).all(|two| two[0] == two[1]))?;
    let rpm = *turns.first()?;
    let astray = curve.points.iter().filter_map(|point| super::curve::stray(point.record));
    if astray.into_iter().any(|(verdict, _)| verdict != Verdict::DeviceCache) {
        return None;
    }
    let in_flight = in_flight(curve.settings);
    // One at a time keeps one disk busy, however many there are.
    let busy = in_flight.min(names.len() as f64);
    let ends = law.latency_ns.interval.filter(|ends| ends.low > 0.0)?;
    let per_s = |ns: f64| in_flight / busy * 1e9 / ns;
    let value = per_s(law.latency_ns.value);
    let interval = Interval { low: per_s(ends.high), high: per_s(ends.low) };
    Some(Turning {
        disks: names.len(),
        rpm,
        ops_per_s_per_disk: Estimate { value, interval: Some(interval) },
        most_ops_per_s: turns_allow(rpm as f64) * choosing_among(in_flight),
    })
}

fn answer(asked: &AnalysisInput<'_>) -> Vec<Finding> {
    laws(asked).into_iter().map(finding).collect()
}

fn finding(of: SeekLaw) -> Finding {
    let (claim, details) = match &of.law {
        Some(law) => describe(&of, law),
        None => {
            let claim = format!("{} does not follow T = L + S/B.", of.load);
            let why = "its times lie further from the law than repeats lie from each other, so no \
                       latency and no bandwidth is told";
            (claim, vec![why.to_owned()])
        }
    };
    let (astray, count) = (of.astray, of.evidence.len());
    Finding::info(QUESTION.name, claim, of.evidence).detailed(details).doubted(astray, count)
}

fn describe(of: &SeekLaw, law: &Law) -> (String, Vec<String>) {
    let flight = match of.in_flight {
        1.0 => "one at a time".to_owned(),
        many => format!("{many} in flight"),
    };
    let shown = law.latency_ns.interval.is_some_and(|ends| ends.low > 0.0);
    let latency = match (shown, law.latency_ns.interval) {
        (false, Some(ends)) => {
            format!("at most {}", duration(ends.high))
        }
        _ => words::time(&law.latency_ns),
    };
    let trials = of.evidence.len();
    let bandwidth = match law.bandwidth_bytes_per_s {
        Bound::At(bandwidth) => format!("then {}", words::rate(&bandwidth, trials)),
        Bound::NotBelow(low) => format!("then {} or more", throughput_short(low)),
        Bound::Unbounded => "then at a rate that these sizes do not bound".to_owned(),
    };
    let half = match law.half_size_bytes.at().filter(|_| shown) {
        Some(half) => format!("half of that is reached with blocks of {}", words::size(&half)),
        None => String::new(),
    };
    let turning = of.turning.as_ref().map(told_turning).unwrap_or_default();
    let claim = format!("{} costs {latency} an operation, {bandwidth}.", of.load);
    let law = format!("by T = L + S/B, {flight}");
    (claim, vec![law, half, turning])
}

/// ` Small ones are 164 a second (...) of each disk, 0.68 of what 7200 turns a minute allow ...`.
fn told_turning(of: &Turning) -> String {
    let share = of.ops_per_s_per_disk.times(1.0 / of.most_ops_per_s);
    let beyond = share.interval.is_some_and(|ends| ends.low > 1.0 + ABOVE);
    let cache = match beyond {
        true => " No disk does that: a cache answered, of the drives, of a controller or before.",
        false => "",
    };
    let working = match of.disks {
        1 => "the disk",
        _ => "each disk that works",
    };
    let ends = share.interval.map_or(String::new(), |ends| {
        let (low, high) = (significant(ends.low), significant(ends.high));
        format!(" ({low} to {high})")
    });
    format!(
        " Of small ones {working} does {}/s, {}{ends} of the {}/s that {} turns a minute allow at \
         most (half a turn with one in flight, and no time for the arm).{cache}",
        iops(of.ops_per_s_per_disk.value),
        significant(share.value),
        iops(of.most_ops_per_s),
        of.rpm,
    )
}

#[cfg(test)]
mod tests;
