//! (pure) A cache behind the kernel without a second pass: the later times through the same files
//! held against the first, and a jump in the trial's own course.

use super::SURELY;
use super::again::{Again, CROWD, again};
use super::exceeded::{Exceeded, moved};
use crate::knob::{self, Settings};
use crate::measurement::course::TIMED;
use crate::measurement::{Measurement, SecondPass};
use base::value::{duration, throughput_short};

/// Fewer slots of the course than this on each side of a jump say nothing.
const SLOTS_MIN: usize = 5;
/// The slots after a jump are all faster than all before it by this factor.
const JUMP: f64 = 3.0;

/// So few slots on a side are enough for a jump by [`LEAP`].
const SLOTS_FEW: usize = 2;
/// No disk that is only slow to begin with gains as much from one slot to the next.
const LEAP: f64 = 10.0;

/// Rounds that gain less than this may be late to begin, as a drive that slept.
const GAINED_MIN_NS: u64 = 50_000_000;

/// What the course of the reads alone says against the media; `crowd` as [`again`] has it, of the
/// first so many ns.
pub fn told(
    measurement: &Measurement,
    settings: &Settings,
    crowd: &dyn Fn(u64) -> f64,
) -> Option<Exceeded> {
    let rows = course(measurement, settings)?;
    rounds(measurement, &rows, crowd)
        .or_else(|| Some(Exceeded::Perhaps(surely_jumped(measurement, &rows, crowd)?.why)))
}

/// The rate before a jump in the course of the reads, bytes per second, where there is one.
pub fn before_jump(
    measurement: &Measurement,
    settings: &Settings,
    crowd: &dyn Fn(u64) -> f64,
) -> Option<f64> {
    let rows = course(measurement, settings)?;
    Some(surely_jumped(measurement, &rows, crowd)?.low_bytes_per_s)
}

/// When so many bytes had been read; `None` where that says nothing of a device.
fn course(measurement: &Measurement, settings: &Settings) -> Option<Vec<(u64, u64)>> {
    let load = &measurement.load;
    let paced = settings.has(knob::RATE) && settings.number(knob::RATE) > 0.0;
    let mixed = measurement.evidence.delivered.write_bytes > 0;
    // What a program does may have parts of its own.
    let ours = measurement.programs.is_none() && settings.has(knob::ACCESS);
    // Where the clock stands between rounds, rows of it are no course.
    if !ours || paced || mixed || load.column(TIMED).is_some() {
        return None;
    }
    let read = load.column("read_bytes")?;
    let rows: Vec<(u64, u64)> = load
        .at_ns
        .iter()
        .zip(&read.values)
        .filter_map(|(&at_ns, &bytes)| Some((u64::try_from(at_ns).ok()?, bytes)))
        .collect();
    // A damaged store may have rows in any order.
    let in_order = rows.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 <= two[1].1);
    in_order.then_some(rows)
}

/// A jump that is not because others left.
fn surely_jumped(
    measurement: &Measurement,
    rows: &[(u64, u64)],
    crowd: &dyn Fn(u64) -> f64,
) -> Option<Jump> {
    let (jump, end_ns) = (jump(rows)?, rows.last()?.0);
    (!left_alone(measurement, &jump, end_ns, crowd)).then_some(jump)
}

/// Reading the files again was faster than the first time. The first round ends when as much was
/// read as the files hold: of random reads some were read again by then, which makes the first look
/// faster, never the later ones.
fn rounds(
    measurement: &Measurement,
    rows: &[(u64, u64)],
    crowd: &dyn Fn(u64) -> f64,
) -> Option<Exceeded> {
    let once = measurement.evidence.file_bytes;
    let (end_ns, all) = *rows.last()?;
    if once == 0 || all < once.saturating_mul(2) {
        return None;
    }
    let after = rows.iter().position(|(_, bytes)| *bytes >= once)?;
    let (high, low) = (rows[after], *rows.get(after.checked_sub(1)?)?);
    let part = (once - low.1) as f64 / high.1.saturating_sub(low.1).max(1) as f64;
    let first_ns = low.0 + (high.0.saturating_sub(low.0) as f64 * part) as u64;
    let later_ns = end_ns.saturating_sub(first_ns) as f64;
    let second_ns = (later_ns * once as f64 / (all - once) as f64) as u64;
    let first_marks = rows[..after].to_vec();
    let pass = SecondPass { bytes: once, first_ns, second_ns, first_marks };
    let faster = first_ns as f64 / second_ns.max(1) as f64;
    let gained = faster >= SURELY && first_ns.saturating_sub(second_ns) >= GAINED_MIN_NS;
    let surely = match again(&pass, crowd(first_ns)) {
        Again::Kept(_) => faster >= SURELY,
        // A second pass is made once, and these were many; others excuse what they moved.
        Again::Unclear(_) if gained && others_excuse(crowd(first_ns)) < faster => false,
        _ => return None,
    };
    let rate = |ns: u64| throughput_short(once as f64 * 1e9 / ns.max(1) as f64);
    let why = format!(
        "reading the files once took {} ({}), and each further time {} ({}): something behind the \
         kernel keeps them",
        duration(first_ns as f64),
        rate(first_ns),
        duration(second_ns as f64),
        rate(second_ns)
    );
    Some(if surely { Exceeded::Certainly(why) } else { Exceeded::Perhaps(why) })
}

/// How many times as fast later rounds may be because others left after the first, in which all
/// that was moved was `crowd` times what we had moved.
fn others_excuse(crowd: f64) -> f64 {
    if crowd > 1.0 + CROWD { crowd * SURELY } else { 1.0 }
}

/// A rate that rose at once, and stayed.
struct Jump {
    /// Until then it was low.
    low_until_ns: u64,
    /// From then on it was high.
    high_from_ns: u64,
    /// The highest rate before it.
    low_bytes_per_s: f64,
    why: String,
}

/// Whether others used the devices before the jump, and these moved no more after it than before,
/// or not by as much: then the load was only left alone.
fn left_alone(
    measurement: &Measurement,
    jump: &Jump,
    end_ns: u64,
    crowd: &dyn Fn(u64) -> f64,
) -> bool {
    let rate = |start_ns: u64, end_ns: u64| {
        Some(moved(measurement, start_ns, end_ns)? / end_ns.saturating_sub(start_ns) as f64)
    };
    let rose = || {
        let before = rate(0, jump.low_until_ns).filter(|rate| *rate > 0.0)?;
        Some(rate(jump.high_from_ns, end_ns)? / before)
    };
    crowd(jump.low_until_ns) > 1.0 + CROWD && rose().is_none_or(|rose| rose < JUMP)
}

/// At some moment the rate rose to several times what it was, and stayed there: no device does so
/// by itself.
fn jump(rows: &[(u64, u64)]) -> Option<Jump> {
    let rates: Vec<(u64, f64)> = rows
        .windows(2)
        .filter(|two| two[1].0 > two[0].0)
        .map(|two| {
            let grown = two[1].1.saturating_sub(two[0].1) as f64;
            (two[1].0, grown * 1e9 / (two[1].0 - two[0].0) as f64)
        })
        .collect();
    let least_after: Vec<f64> = rates
        .iter()
        .rev()
        .scan(f64::INFINITY, |least, (_, rate)| {
            *least = least.min(*rate);
            Some(*least)
        })
        .collect();
    let (mut most_before, mut least_before) = (0.0_f64, f64::INFINITY);
    for (at, (when_ns, rate)) in rates.iter().enumerate() {
        // The slot of the jump itself lies on neither side.
        let after = rates.len().checked_sub(at + 2)?;
        let by = match at.min(after + 1) {
            SLOTS_MIN.. => JUMP,
            SLOTS_FEW.. => LEAP,
            _ => f64::INFINITY,
        };
        if least_before > 0.0 && least_after[after] >= by * most_before {
            let why = format!(
                "the rate jumped from at most {} to at least {} after {}, which no device does by \
                 itself: a cache, or a limit that was lifted",
                throughput_short(most_before),
                throughput_short(least_after[after]),
                duration(*when_ns as f64)
            );
            let low_until_ns = rates[at.checked_sub(1)?].0;
            let (high_from_ns, low_bytes_per_s) = (*when_ns, most_before);
            return Some(Jump { low_until_ns, high_from_ns, low_bytes_per_s, why });
        }
        most_before = most_before.max(*rate);
        least_before = least_before.min(*rate);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::{judge, with};
    use super::super::{Origin, Verdict};
    use crate::measurement::{Amount, Measurement};
    use ::facts::counters::series::{Column, ColumnKind, Series};
    use base::stats::testing::{Random, seeds};

    const SLOT_NS: i64 = 100_000_000;

    /// A direct trial on files of `file` bytes that read so much in each slot of 100 ms.
    fn trial(file: u64, slots: &[f64]) -> Measurement {
        let (mut sum, mut values) = (0.0, vec![0]);
        for slot in slots {
            sum += slot;
            values.push(sum as u64);
        }
        let delivered =
            Amount { read_bytes: sum as u64, read_ops: sum as u64 / 4096, ..Amount::default() };
        let mut trial = with(|e| {
            e.delivered = delivered;
            e.file_bytes = file;
            e.process_read_bytes = Some(sum as u64);
            e.device_read_bytes = Some(sum as u64);
        });
        trial.window = None;
        trial.elapsed_ns = slots.len() as u64 * SLOT_NS as u64;
        trial.load = Series {
            source: "load".into(),
            at_ns: (0..values.len() as i64).map(|slot| slot * SLOT_NS).collect(),
            columns: vec![Column { name: "read_bytes".into(), kind: ColumnKind::Counter, values }],
        };
        trial
    }

    fn origin(file: u64, slots: &[f64]) -> Origin {
        judge(&trial(file, slots), &[])
    }

    fn repeated(parts: &[(usize, f64)]) -> Vec<f64> {
        parts.iter().flat_map(|(slots, rate)| vec![*rate; *slots]).collect()
    }

    /// 12 MiB read 260 times: media of 2.6 MB/s "deliver 410".
    #[test]
    fn files_that_are_read_many_times_over_and_faster_are_a_cache_naive_device() {
        let file = 12 << 20;
        // 48 slots to read them once at 2.6 MB/s, then 600 MB/s.
        let slots = repeated(&[(49, 0.26e6), (52, 60e6)]);
        let found = origin(file, &slots);
        assert_eq!(found.verdict, Verdict::DeviceCache, "{}", found.reason);
        assert!(found.reason.contains("each further time"), "{}", found.reason);
        let doubled = origin(file, &repeated(&[(49, 0.26e6), (60, 0.52e6)]));
        assert_eq!(doubled.verdict, Verdict::Unknown, "{}", doubled.reason);
        let even = origin(file, &[0.26e6; 120]);
        assert_eq!(even.verdict, Verdict::Device, "{}", even.reason);
    }

    #[test]
    fn a_jump_within_one_reading_is_told_and_a_start_is_none() {
        let jump = repeated(&[(10, 1e6), (1, 3e6), (20, 9e6)]);
        let found = origin(1 << 40, &jump);
        assert_eq!(found.verdict, Verdict::Unknown, "{}", found.reason);
        assert!(found.reason.contains("jumped"), "{}", found.reason);
        let spun_up = repeated(&[(10, 0.0), (20, 9e6)]);
        assert!(!origin(1 << 40, &spun_up).reason.contains("jumped"));
        let fell = repeated(&[(10, 9e6), (20, 1e6)]);
        assert_eq!(origin(1 << 40, &fell).verdict, Verdict::Device);
        let short = repeated(&[(3, 1e6), (20, 9e6)]);
        assert_eq!(origin(1 << 40, &short).verdict, Verdict::Device);
    }

    /// The host of a guest began to keep its blocks 0.3 s into a trial: 22 MB/s in three slots, and
    /// 1 500 from then on "from the device".
    #[test]
    fn a_leap_after_a_few_slots_is_told() {
        let leap = repeated(&[(3, 2.2e6), (1, 40e6), (26, 150e6)]);
        let found = origin(1 << 40, &leap);
        assert_eq!(found.verdict, Verdict::Unknown, "{}", found.reason);
        assert!(found.reason.contains("jumped"), "{}", found.reason);
        let late = repeated(&[(26, 2.2e6), (1, 40e6), (2, 150e6)]);
        assert!(origin(1 << 40, &late).reason.contains("jumped"));
        let slept = repeated(&[(1, 0.1e6), (1, 5e6), (28, 9e6)]);
        assert_eq!(origin(1 << 40, &slept).verdict, Verdict::Device);
    }

    /// Of 20 MB the first 2.5 came from the media, in 0.1 s, and all the rest from the host.
    #[test]
    fn many_rounds_that_gain_less_than_one_second_pass_may_are_not_surely_the_devices() {
        let slots = repeated(&[(1, 2.2e6), (20, 150e6)]);
        let found = origin(20_000_000, &slots);
        assert_eq!(found.verdict, Verdict::Unknown, "{}", found.reason);
        assert!(found.reason.contains("each further time"), "{}", found.reason);
        // A little late, as a drive that slept for a moment.
        let late = repeated(&[(1, 120e6), (20, 150e6)]);
        assert_eq!(origin(20_000_000, &late).verdict, Verdict::Device);
    }

    /// A host began to keep the blocks after the second of three rounds, and its media of 20 MB/s
    /// were said to deliver 22.4: the later rounds were a fifth faster, which was held to be chance
    /// until it was a half.
    #[test]
    fn later_rounds_that_are_a_fifth_faster_are_not_surely_the_devices_naive_device() {
        let file = 26 << 20;
        let steady = [2e6; 34];
        assert_eq!(origin(file, &steady).verdict, Verdict::Device, "kept nothing");
        let found = origin(file, &[&steady[..], &[12e6]].concat());
        assert_eq!(found.verdict, Verdict::Unknown, "{}", found.reason);
        assert!(found.reason.contains("each further time"), "{}", found.reason);
    }

    /// The same, on a disk that moved so much in each slot, for whomever.
    fn beside(file: u64, slots: &[f64], disk: &[f64]) -> Origin {
        let mut trial = trial(file, slots);
        let mut values = vec![0];
        for slot in disk {
            values.push(values[values.len() - 1] + *slot as u64);
        }
        let at_ns = (0..values.len() as i64).map(|slot| slot * SLOT_NS).collect();
        let column = |what: &str, values| Column {
            name: format!("sda1.{what}"),
            kind: ColumnKind::Counter,
            values,
        };
        let still = vec![0; values.len()];
        let columns = vec![column("read_bytes", values), column("write_bytes", still)];
        trial.counters = vec![Series { source: "diskstats".into(), at_ns, columns }];
        judge(&trial, &[])
    }

    /// Four neighbours on a disk of 50 MB/s left half-way: the load rose from 10 to 45 MB/s, "which
    /// no device does by itself", while the disk moved as much as before.
    #[test]
    fn a_neighbour_that_leaves_within_a_trial_is_no_jump_naive_unknown() {
        let ours = repeated(&[(20, 1e6), (1, 3e6), (20, 4.5e6)]);
        let found = beside(1 << 40, &ours, &[5e6; 41]);
        assert_eq!(found.verdict, Verdict::Device, "{}", found.reason);
        // Soon after the start of a long trial, of which the neighbours moved hardly a part.
        let soon = repeated(&[(6, 1e6), (1, 3e6), (600, 4.5e6)]);
        assert_eq!(beside(1 << 40, &soon, &[5e6; 607]).verdict, Verdict::Device);
        // Alone, or with one who takes little, the disk itself rose.
        let alone = beside(1 << 40, &ours, &ours);
        assert!(alone.reason.contains("jumped"), "{}", alone.reason);
        let few: Vec<f64> = ours.iter().map(|rate| rate + 0.1e6).collect();
        assert!(beside(1 << 40, &ours, &few).reason.contains("jumped"));
    }

    /// Neighbours left when the files had been read once: each further time was four times as fast.
    #[test]
    fn a_neighbour_that_leaves_after_the_first_round_is_no_cache_naive_device_cache() {
        let ours = repeated(&[(21, 1e6), (200, 4.5e6)]);
        let found = beside(20_000_000, &ours, &[5e6; 221]);
        assert_eq!(found.verdict, Verdict::Device, "{}", found.reason);
        assert_eq!(beside(20_000_000, &ours, &ours).verdict, Verdict::DeviceCache);
    }

    /// A guest's file system wrote 3 MiB while 32 MiB were read once, and its host kept them: 17
    /// MB/s, then 850 in the last 50 ms, together 36 "from the device", as others had been there.
    #[test]
    fn others_that_moved_a_tenth_excuse_no_leap_naive_device() {
        let file = 32 << 20;
        let ours = repeated(&[(19, 1.74e6), (1, 40e6)]);
        let beside_it: Vec<f64> = ours.iter().map(|rate| rate + 0.18e6).collect();
        let found = beside(file, &ours, &beside_it);
        assert_eq!(found.verdict, Verdict::Unknown, "{}", found.reason);
        assert!(found.reason.contains("each further time"), "{}", found.reason);
        // Who moved nine tenths of it excuses what the disk has to give.
        let crowded = repeated(&[(21, 1e6), (60, 9e6)]);
        assert_eq!(beside(20_000_000, &crowded, &[10e6; 81]).verdict, Verdict::Device);
    }

    /// A memory map has the kernel read around each fault, ten times what the load was given: a
    /// card that kept it all was excused by neighbours that there were not.
    #[test]
    fn what_the_load_had_read_around_its_faults_is_no_neighbour_s_naive_device() {
        let slots = [1e6; 40];
        let around = |process: u64| {
            let mut trial = trial(40_000_000, &slots);
            trial.evidence.process_read_bytes = Some(process);
            trial.evidence.device_read_bytes = Some(400_000_000);
            trial.evidence.reread_bytes = Some(0);
            let rows = trial.load.at_ns.clone();
            let column = |what: &str, by: u64| Column {
                name: format!("sda1.{what}"),
                kind: ColumnKind::Counter,
                values: (0..rows.len() as u64).map(|row| row * by).collect(),
            };
            let columns = vec![column("read_bytes", 10_000_000), column("write_bytes", 0)];
            trial.counters =
                vec![Series { source: "diskstats".into(), at_ns: rows.clone(), columns }];
            trial.second_pass = Some(crate::measurement::SecondPass {
                bytes: 40_000_000,
                first_ns: 4_000_000_000,
                second_ns: 800_000_000,
                first_marks: crate::measurement::SecondPass::marks(&trial.load, 4_000_000_000),
            });
            judge(&trial, &[("io-engine", "mmap"), ("direct", "false"), ("access", "random-read")])
        };
        let found = around(400_000_000);
        assert_eq!(found.verdict, Verdict::DeviceCache, "{}", found.reason);
        assert_eq!(around(40_000_000).verdict, Verdict::Device, "neighbours read the rest");
    }

    /// 16 blocks of 256 KiB were in flight at the end of a first pass of 59 MB: the disk had moved
    /// 7 % more than the load had counted, and a cache was excused by neighbours.
    #[test]
    fn what_is_in_flight_when_a_pass_ends_is_no_neighbour_s_naive_unknown() {
        let slots = [5.9e6; 10];
        let passes = |ahead: i64| {
            let mut trial = trial(1 << 40, &slots);
            let at_ns = trial.load.at_ns.clone();
            let moved = |row: i64| (row * 5_900_000 + if row > 0 { ahead } else { 0 }) as u64;
            let column = |what: &str, values| Column {
                name: format!("sda1.{what}"),
                kind: ColumnKind::Counter,
                values,
            };
            let read = column("read_bytes", (0..at_ns.len() as i64).map(moved).collect());
            let columns = vec![read, column("write_bytes", vec![0; at_ns.len()])];
            trial.counters = vec![Series { source: "diskstats".into(), at_ns, columns }];
            trial.second_pass = Some(crate::measurement::SecondPass {
                bytes: 59_000_000,
                first_ns: 1_000_000_000,
                second_ns: 100_000_000,
                first_marks: crate::measurement::SecondPass::marks(&trial.load, 1_000_000_000),
            });
            judge(&trial, &[("block-size", "256KiB"), ("queue-depth", "16")]).verdict
        };
        assert_eq!(passes(16 * 262_144), Verdict::DeviceCache);
        assert_eq!(passes(12_000_000), Verdict::Unknown, "more than was in flight: a neighbour");
    }

    /// A disk that wanders is no cache, however often its files are read.
    #[test]
    fn wandering_disks_are_not_accused_over_seeds() {
        let (mut accused, mut of) = (0, 0);
        for seed in seeds() {
            let rates = Random::new(seed).ar1(100, 0.9, 1.0, 0.2);
            let slots: Vec<f64> = rates.iter().map(|rate| rate.max(0.1) * 1e6).collect();
            of += 1;
            accused += usize::from(origin(20_000_000, &slots).verdict != Verdict::Device);
        }
        assert!(accused * 50 <= of, "{accused} of {of} are called a cache");
    }
}
