//! Planted trials: what is held still, and when, is known.

use super::*;
use crate::measurement::figures::{figures, rate};
use crate::measurement::steady::{Steady, steady};
use crate::measurement::{Amount, Durable, Outcome, Programs, Record, Window};
use facts::counters::series::{Column, ColumnKind};

const SECOND: i64 = 1_000_000_000;
const STEP: i64 = 100_000_000;
const RATE: i64 = 1_000_000;

/// How what is held still shows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// The kernel says that the load's process is stopped.
    Signal,
    /// It says that its group is frozen.
    Frozen,
    /// It says nothing, as to programs of before.
    Unseen,
    /// It was ready to run, and others were let.
    Starved,
    /// Only the thread that takes rows was late; the streams ran on.
    RowsAlone,
}

/// What is planted into `length` ns of an even load.
#[derive(Clone, Debug)]
struct Plant {
    length: i64,
    /// When the load was held still.
    load: Option<(i64, i64)>,
    /// When what counts was.
    own: Option<(i64, i64)>,
    how: How,
    /// At this time the machine slept for so long, and its wall clock went on.
    slept: (i64, u64),
    /// At this time the wall clock was set forward by so much.
    set: (i64, u64),
    seed: u64,
}

fn even(length: i64) -> Plant {
    let none = (i64::MAX, 0);
    Plant { length, load: None, own: None, how: How::Signal, slept: none, set: none, seed: 1 }
}

/// A number below `below` that seems drawn.
fn draw(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % below
}

impl Plant {
    /// When rows are taken from `first` on, by somebody who sleeps meanwhile.
    fn times(&self, first: i64, asleep: Option<(i64, i64)>, seed: &mut u64) -> Vec<i64> {
        let mut times = Vec::new();
        let mut due = first;
        while due < self.length {
            let late = draw(seed, 20_000_000) as i64;
            let at = match asleep {
                Some((from, to)) if due + late > from && due < to => to + late,
                _ => due + late,
            };
            times.push(at.min(self.length));
            while due <= at {
                due += STEP;
            }
        }
        times.dedup();
        times
    }

    /// How long something had run at a time, of which it was held still.
    fn ran(at: i64, asleep: Option<(i64, i64)>) -> i64 {
        let still = asleep.map_or(0, |(from, to)| (at.min(to) - from).max(0));
        at.max(0) - still
    }

    fn measured(&self) -> Measurement {
        let mut seed = self.seed;
        let column = |name: &str, kind, values| Column { name: name.into(), kind, values };
        let streams = if self.how == How::RowsAlone { None } else { self.load };
        let moved = |at: i64| (Plant::ran(at, streams) as u64 / 1000) * (RATE as u64 / 1000);
        let mut load_at = self.times(0, self.load, &mut seed);
        // The drain.
        load_at.extend([self.length, self.length + 7_000_000]);
        load_at.dedup();
        let bytes = load_at.iter().map(|at| moved((*at).min(self.length))).collect();
        let load = Series {
            source: "load".into(),
            at_ns: load_at,
            columns: vec![column("read_bytes", ColumnKind::Counter, bytes)],
        };
        let mut at_ns = self.times(-1 - draw(&mut seed, STEP as u64) as i64, self.own, &mut seed);
        // From a quarter of a processor to four.
        let quarters = 1 + draw(&mut seed, 16);
        at_ns.push(self.length + 20_000_000);
        let inside = |at: i64, of: Option<(i64, i64)>| of.is_some_and(|(a, b)| a <= at && at < b);
        let after = |at: i64, of: Option<(i64, i64)>| of.filter(|(_, to)| at >= *to);
        let waited = |at: i64, of: Option<(i64, i64)>| match (self.how, after(at, of)) {
            (How::Starved | How::RowsAlone, Some((from, to))) => (to - from) as u64,
            _ => at.max(0) as u64 / 1000,
        };
        let gauge = |how: How| -> Vec<u64> {
            at_ns.iter().map(|at| u64::from(self.how == how && inside(*at, self.load))).collect()
        };
        let each =
            |of: &dyn Fn(i64) -> u64| -> Vec<u64> { at_ns.iter().map(|at| of(*at)).collect() };
        let process = vec![
            column(
                "cpu_ns",
                ColumnKind::Counter,
                each(&|at| Plant::ran(at, streams) as u64 / 4 * quarters),
            ),
            column("major_faults", ColumnKind::Counter, each(&|_| 3)),
            column("stopped", ColumnKind::Gauge, gauge(How::Signal)),
            column("frozen", ColumnKind::Gauge, gauge(How::Frozen)),
            column("wait_ns", ColumnKind::Counter, each(&|at| waited(at, self.load))),
        ];
        let by = |at: i64, (from, by): (i64, u64)| if at >= from { by } else { 0 };
        let wall = 1_700_000_000_000_000_000;
        let generator = vec![
            column("counting_wait_ns", ColumnKind::Counter, each(&|at| waited(at, self.own))),
            column("suspended_ns", ColumnKind::Counter, each(&|at| 77 + by(at, self.slept))),
            column(
                "wall_offset_ns",
                ColumnKind::Gauge,
                each(&|at| wall + by(at, self.slept) + by(at, self.set)),
            ),
        ];
        let idle = each(&|at| (at + STEP) as u64);
        let stat = vec![column("cpu0.idle_ns", ColumnKind::Counter, idle)];
        let source =
            |name: &str, columns| Series { source: name.into(), at_ns: at_ns.clone(), columns };
        let (end_ns, done) = (self.length as u64, moved(self.length));
        let done = Amount { read_bytes: done, read_ops: done / 4096, ..Amount::default() };
        Measurement {
            elapsed_ns: end_ns,
            window: Some(Window { start_ns: 0, end_ns, done }),
            load,
            counters: vec![
                source("process", process),
                source("generator", generator),
                source("stat", stat),
            ],
            ..Measurement::default()
        }
    }
}

fn record(measurement: Measurement) -> Record {
    let trial = crate::plan::Trial {
        number: 1,
        replicate: 1,
        group: "g".into(),
        settings: crate::knob::Settings::defaults("file"),
        first_file: 0,
        seed: 1,
        planned: Some(1),
    };
    Record::new(trial, Outcome::Done(Box::new(measurement)))
}

fn kinds(measurement: &Measurement) -> Vec<String> {
    notes(measurement).into_iter().map(|note| note.kind).collect()
}

/// Every place, length and jitter, for a law over all of them.
fn all(mut check: impl FnMut(i64, (i64, i64), u64)) {
    for seed in 0..40 {
        let mut drawn = seed;
        let length = 4 * SECOND + draw(&mut drawn, 16) as i64 * SECOND;
        let still = 1_300_000_000 + draw(&mut drawn, 20) as i64 * STEP;
        let from = draw(&mut drawn, (length - still) as u64) as i64;
        check(length, (from, from + still), seed);
    }
}

/// SIGSTOP of the worker for 4 s gave a window of 4.1 s, 179 MB/s where its neighbours had 6 570 to
/// 9 102, the outcome `done` and not a word.
#[test]
fn a_load_that_was_stopped_has_a_note_and_no_figure() {
    let of = Plant { load: Some((50_000_000, 4_050_000_000)), ..even(4_100_000_000) };
    let measured = of.measured();
    let note = &notes(&measured)[0];
    assert_eq!(note.kind, "stopped");
    assert!(note.text.starts_with("The load stood still for 3.9") || note.text.contains("for 4.0"));
    assert!(note.text.contains("of 4.10 s: its process was stopped by a signal"), "{}", note.text);
    let record = record(measured.clone());
    assert!(figures(&record).is_empty(), "{:?}", figures(&record));
    assert_eq!(rate(&record, "throughput_bytes_per_s"), None);
    assert!(matches!(steady(&measured, &record.trial.settings), Steady::NotTested(_)));
    let light = record.light();
    assert!(figures(&light).is_empty() && rate(&light, "throughput_bytes_per_s").is_none());
}

#[test]
fn the_same_load_without_the_stop_has_its_figures_and_no_note() {
    all(|length, _, seed| {
        let measured = Plant { seed, ..even(length) }.measured();
        assert_eq!(notes(&measured), [], "{length} {seed}");
        assert!(rate(&record(measured), "throughput_bytes_per_s").is_some());
    });
}

/// A load that used a whole processor until it was frozen had used too much for one that stands
/// still, where its last row was older than this program's: the trial had half of its rate, and no
/// note.
#[test]
fn every_way_to_hold_a_load_still_is_noticed_wherever_it_falls() {
    for how in [How::Signal, How::Frozen, How::Unseen] {
        all(|length, still, seed| {
            let of = Plant { load: Some(still), how, seed, ..even(length) };
            assert_eq!(kinds(&of.measured()), ["stopped"], "{of:?}");
            let both = Plant { own: Some(still), ..of };
            assert_eq!(kinds(&both.measured()), ["stopped"], "{both:?}");
        });
    }
}

#[test]
fn a_stop_that_the_kernel_shows_is_noticed_however_short() {
    let of = Plant { load: Some((2 * SECOND, 2 * SECOND + 3 * STEP)), ..even(20 * SECOND) };
    assert_eq!(kinds(&of.measured()), ["stopped"]);
    let unseen = Plant { how: How::Unseen, ..of };
    assert_eq!(kinds(&unseen.measured()), [""; 0], "a row may be late by so much");
}

/// A machine with more to do than processors is no stopped one.
#[test]
fn a_load_that_was_starved_is_called_so_and_keeps_its_figures() {
    for how in [How::Starved, How::RowsAlone] {
        all(|length, still, seed| {
            let of = Plant { load: Some(still), how, seed, ..even(length) };
            assert_eq!(kinds(&of.measured()), ["starved"], "{of:?}");
            let both = Plant { own: Some(still), ..of };
            assert_eq!(kinds(&both.measured()), ["starved"], "{both:?}");
            assert!(rate(&record(both.measured()), "throughput_bytes_per_s").is_some());
        });
    }
}

#[test]
fn a_program_that_alone_was_stopped_leaves_the_figures_and_says_what_is_missing() {
    all(|length, still, seed| {
        let of = Plant { own: Some(still), how: How::Unseen, seed, ..even(length) };
        assert_eq!(kinds(&of.measured()), ["uncounted"], "{of:?}");
        assert!(rate(&record(of.measured()), "throughput_bytes_per_s").is_some());
    });
}

/// The monotonic clock stands while a machine sleeps: nothing is missing in any row.
#[test]
fn a_machine_that_was_suspended_is_noticed_though_no_row_is_missing() {
    let of = Plant { slept: (3 * SECOND, 3_600 * SECOND as u64), ..even(10 * SECOND) };
    let notes = notes(&of.measured());
    assert!(notes[0].text.contains("the machine was suspended"), "{notes:?}");
    assert!(notes[0].text.contains("for 3600 s") || notes[0].text.contains("1 h"), "{notes:?}");
    assert_eq!(rate(&record(of.measured()), "throughput_bytes_per_s"), None);
    let jitter = Plant { slept: (3 * SECOND, 40_000_000), ..even(10 * SECOND) };
    assert_eq!(kinds(&jitter.measured()), [""; 0], "two clocks are not read at once");
}

#[test]
fn a_wall_clock_that_was_set_is_told_and_takes_no_figure() {
    let of = Plant { set: (3 * SECOND, 34 * SECOND as u64), ..even(10 * SECOND) };
    assert_eq!(kinds(&of.measured()), ["clock-set"]);
    assert!(rate(&record(of.measured()), "throughput_bytes_per_s").is_some());
    let slewed = Plant { set: (3 * SECOND, 5_000_000), ..even(10 * SECOND) };
    assert_eq!(kinds(&slewed.measured()), [""; 0]);
}

#[test]
fn programs_that_were_stopped_are_noticed_in_the_rows_of_who_times_them() {
    let mut measured = Plant { how: How::Unseen, ..even(6 * SECOND) }.measured();
    measured.programs = Some(Programs::default());
    assert_eq!(kinds(&measured), [""; 0]);
    let rows = measured.load.at_ns.iter();
    let values = rows.map(|at| u64::from((2 * SECOND..4 * SECOND).contains(at))).collect();
    measured.load.columns.push(Column { name: "stopped".into(), kind: ColumnKind::Gauge, values });
    let notes = notes(&measured);
    assert!(notes[0].text.starts_with("Programs of the load stood still for"), "{notes:?}");
    let mut watcher = Plant { load: Some((2 * SECOND, 4 * SECOND)), ..even(6 * SECOND) }.measured();
    watcher.programs = Some(Programs::default());
    let text = &super::notes(&watcher)[0].text;
    assert!(text.starts_with("The process that times the programs stood still"), "{text}");
}

/// Of a trial over a network either end may lead, and either may be stopped.
#[test]
fn another_machine_that_was_stopped_is_noticed_and_one_that_was_starved_is_not() {
    all(|length, still, seed| {
        let here = Plant { load: Some(still), how: How::Unseen, seed, ..even(length) };
        let there = |how| {
            let of = Plant { own: Some(still), how, seed, ..even(length) }.measured();
            let mut of = of.counters;
            of.iter_mut().for_each(|series| series.source.insert_str(0, PEER));
            of
        };
        let mut measured = here.measured();
        measured.counters.extend(there(How::Unseen));
        let notes = super::notes(&measured);
        assert!(notes[0].text.starts_with("The other end stood still"), "{notes:?} {here:?}");
        let mut measured = here.measured();
        measured.counters.extend(there(How::Starved));
        assert!(stopped(&measured).is_none(), "{here:?}");
    });
}

#[test]
fn a_disk_that_hangs_is_no_stopped_load() {
    // Nothing moves for four seconds, and every row is there.
    let mut measured = even(6 * SECOND).measured();
    let rows = measured.load.at_ns.clone();
    for (value, at) in measured.load.columns[0].values.iter_mut().zip(&rows) {
        let ran = (*at).min(SECOND) + (*at - 5 * SECOND).max(0);
        *value = ran as u64;
    }
    assert_eq!(kinds(&measured), [""; 0]);
}

#[test]
fn a_long_flush_is_no_stopped_load_and_a_stop_in_it_is() {
    let flushed = |marked: bool| {
        let mut measured = even(4 * SECOND).measured();
        let end = 30 * SECOND;
        *measured.load.at_ns.last_mut().unwrap() = end;
        let (bytes, ns) = (1, end as u64);
        measured.durable = Some(Durable { bytes, accepted_ns: 4 * SECOND as u64, durable_ns: ns });
        for series in &mut measured.counters {
            for at in (4 * SECOND + STEP..end).step_by(STEP as usize) {
                series.at_ns.push(at + STEP);
                for column in &mut series.columns {
                    let last = *column.values.last().unwrap();
                    let set = marked && (10 * SECOND..12 * SECOND).contains(&at);
                    column.values.push(if column.name == "stopped" {
                        u64::from(set)
                    } else {
                        last
                    });
                }
            }
        }
        kinds(&measured)
    };
    assert_eq!(flushed(false), [""; 0]);
    assert_eq!(flushed(true), ["stopped"]);
}

#[test]
fn a_trial_of_which_nothing_was_counted_accuses_nobody() {
    assert_eq!(notes(&Measurement::default()), []);
    let mut measured = Plant { load: Some((SECOND, 3 * SECOND)), ..even(5 * SECOND) }.measured();
    measured.counters.clear();
    assert_eq!(notes(&measured), []);
}

/// A fuzzer wrote times that lie further apart than can be counted, and the difference overflowed.
#[test]
fn times_of_a_damaged_store_are_no_panic() {
    for ends in [[i64::MIN, 0, i64::MAX], [i64::MIN, i64::MIN, i64::MAX], [0, i64::MAX, i64::MIN]] {
        for elapsed_ns in [0, 5, u64::MAX] {
            let plant = Plant { load: Some((SECOND, 3 * SECOND)), ..even(5 * SECOND) };
            let mut measured = Plant { how: How::Unseen, ..plant }.measured();
            measured.elapsed_ns = elapsed_ns;
            for series in measured.counters.iter_mut().chain([&mut measured.load]) {
                series.at_ns = ends.to_vec();
                series.columns.iter_mut().for_each(|column| column.values.truncate(3));
            }
            notes(&measured);
        }
    }
}
