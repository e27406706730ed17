//! What a budget buys, and in which order.

use super::*;
use crate::knob::Access;
use base::value::Value;

fn shape(directories: &[&str]) -> EvaluationTarget {
    EvaluationTarget {
        engine: "file",
        directories: directories.iter().map(|name| (*name).to_owned()).collect(),
        direct: true,
        file_size: 64 << 20,
        files: files(100),
        cache_bytes: 512 << 20,
    }
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn files_serve_a_hundred_streams_and_divide_into_three_parts() {
    assert_eq!(files(60), 60);
    assert_eq!(files(100), 108);
    assert_eq!(files(100) % (3 * LAYOUT_STREAMS), 0);
}

/// On a disk whose cache took 5 GB/s, 30 s bought 10 GB of files. The last of four streams
/// found memory full of what the others wrote over and over: the writing took five minutes.
#[test]
fn writing_is_bounded_to_its_quarter_of_the_budget() {
    for (seconds, places) in [(20, 1), (30, 1), (40, 1), (180, 1), (3600, 1), (180, 8)] {
        let (budget_ns, trials) = (seconds * SECOND, u64::from(REPLICATES) * places);
        let writing = writing(budget_ns, places, 5e9);
        assert!((writing.at_most_ns + OVERHEAD_NS) * trials <= budget_ns / 4, "{writing:?}");
        assert!(writing.at_least_ns < writing.at_most_ns, "{writing:?}");
        // It stood among the settings as 1014872979ns.
        assert_eq!((writing.at_least_ns % TEN_MS, writing.at_most_ns % TEN_MS), (0, 0));
        assert!(writing.files_bytes as f64 / 5e9 < seconds as f64 / 4.0, "{writing:?}");
    }
    assert_eq!(writing(180 * SECOND, 1, 1e8).at_least_ns, TRIAL_NS_MIN);
}

#[test]
fn everything_that_the_evaluation_promises_is_on_the_list() {
    let wishes = wishes(&shape(&["/srv"]));
    let levels = |group: &str, knob: &str| -> Vec<u64> {
        // 4 KiB at depth 16 lies on two axes and is bought once, in the group of the depths.
        let shared = |wish: &Wish| {
            let (size, depth) = (knob::BLOCK_SIZE, knob::QUEUE_DEPTH);
            let is_at = wish.settings.get(size) == 4096 && wish.settings.get(depth) == 16;
            group == "block size, random" && wish.group == "queue depth" && is_at
        };
        let of = wishes.iter().filter(|wish| wish.group == group || shared(wish));
        let mut levels: Vec<u64> =
            of.map(|wish| wish.settings.named(knob).unwrap().number() as u64).collect();
        levels.sort_unstable();
        levels
    };
    let streams = [1, 2, 4, 8, 16, 32, 60, 100];
    assert_eq!(levels("streams, direct", "streams"), streams);
    assert_eq!(levels("streams, cold-buffered", "streams"), streams);
    assert_eq!(levels("queue depth", "queue-depth"), [1, 2, 4, 8, 16, 32, 64, 128]);
    let sizes: Vec<u64> = (12..=22).map(|power| 1 << power).collect();
    assert_eq!(levels("block size, sequential", "block-size"), sizes);
    assert_eq!(levels("block size, random", "block-size"), sizes);
    for group in ["cache", "mixed", "sequential read", "commit"] {
        assert_eq!(levels(group, "streams"), [1], "{group}");
    }
    assert_eq!(levels("sequential write", "queue-depth"), [1, 8]);
    assert_eq!(levels("random write", "queue-depth"), [1, 32]);
}

/// Two seconds of `write` made all files anew and filled some: 61 of 74 trials of an evaluation
/// read holes, and the most of all streams was 48 GB/s.
#[test]
fn no_cell_makes_the_files_anew_that_others_read() {
    let all = wishes(&shape(&["/srv"]));
    assert!(
        all.iter().all(|wish| wish.settings.get(knob::ACCESS) != Some(Access::Write)),
        "{all:?}"
    );
    assert!(all.iter().any(|wish| wish.settings.get(knob::ACCESS) == Some(Access::Rewrite)));
}

/// What a larger budget would buy was told as `random-read, blocks of 16KiB`.
#[test]
fn names_are_for_people_to_read() {
    let all = wishes(&shape(&["/srv"]));
    let names: Vec<&str> = all.iter().map(|wish| wish.name.as_str()).collect();
    assert!(names.contains(&"random read, blocks of 16 KiB"), "{names:?}");
    assert!(names.contains(&"sequential read, blocks of 4 MiB"), "{names:?}");
    assert!(names.iter().all(|name| !name.contains("random-read")), "{names:?}");
}

#[test]
fn no_stream_needs_more_files_than_there_are() {
    for shape in [shape(&["/a"]), shape(&["/a", "/b", "/c"])] {
        for wish in wishes(&shape) {
            let Value::Words(directories) = wish.settings.value(knob::DIRECTORIES) else {
                panic!()
            };
            let per_directory = wish.settings.get(knob::STREAMS).div_ceil(directories.len() as u64);
            assert!(per_directory * wish.settings.get(knob::FILES) <= shape.files, "{wish:?}");
        }
    }
}

#[test]
fn several_directories_are_measured_alone_and_all_at_once() {
    let wishes = wishes(&shape(&["/a", "/b"]));
    let sets = |streams: u64| -> Vec<String> {
        let of = wishes.iter().filter(|wish| {
            wish.group == "streams, direct" && wish.settings.get(knob::STREAMS) == streams
        });
        of.map(|wish| wish.settings.value(knob::DIRECTORIES).to_string()).collect()
    };
    assert_eq!(sets(8), ["/a", "/b", "/a + /b"]);
    assert_eq!(sets(1), ["/a", "/b"]);
}

/// Three minutes bought seven numbers of streams and five block sizes, and no random write at any
/// budget.
#[test]
fn the_core_set_comes_first_and_is_bought_whole_before_any_curve() {
    let wishes = wishes(&shape(&["/srv"]));
    let core: Vec<&Wish> = wishes.iter().take_while(|wish| wish.is_core()).collect();
    let names: Vec<&str> = core.iter().map(|wish| wish.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "sequential read, 1 MiB, depth 8",
            "random 4 KiB read, depth 32",
            "sequential write, 1 MiB, depth 8",
            "random 4 KiB write, depth 32",
            "random 4 KiB read, depth 1",
            "4 KiB write and fdatasync, one by one",
            "sequential read, 1 MiB, depth 1",
            "sequential write, 1 MiB, depth 1",
            "random 4 KiB write, depth 1",
            "8 streams, direct",
            "60 streams, direct",
        ]
    );
    assert!(wishes[core.len()..].iter().all(|wish| !wish.is_core()));
    assert!(core.iter().all(|wish| wish.replicates == CORE_REPLICATES));
    for seconds in 20..600 {
        let bought = buy(&wishes, seconds * SECOND, OVERHEAD_NS);
        let all = bought.cells >= core.len();
        assert!(all || bought.core_ns == CORE_NS_MIN, "{seconds}: {bought:?}");
        assert!(bought.total_ns <= seconds * SECOND || bought.cells == 1, "{seconds}: {bought:?}");
        assert!(all || bought.spare_ns == 0, "{seconds}: {bought:?}");
    }
    let three_minutes = buy(&wishes, 125 * SECOND, OVERHEAD_NS);
    assert!(three_minutes.cells > core.len() + 2, "{three_minutes:?}");
    assert!(three_minutes.spare_ns > 5 * SECOND, "{three_minutes:?}");
    let ten_minutes = buy(&wishes, 440 * SECOND, OVERHEAD_NS);
    assert!(ten_minutes.core_ns > 2 * SECOND, "{ten_minutes:?}");
}

/// What the first screen calls "safe on disk" is so by the settings of its cells alone.
#[test]
fn what_the_core_set_writes_is_made_safe_within_the_time() {
    for direct in [true, false] {
        let all = wishes(&EvaluationTarget { direct, ..shape(&["/srv"]) });
        let mut writes = all.iter().filter(|wish| wish.is_core() && wish.settings.writes());
        for wish in writes.clone() {
            let settings = &wish.settings;
            assert!(settings.get(knob::DATASYNC), "{}: no fdatasync", wish.name);
            // One at the end of the trial, or one of each write.
            let fsync = if wish.group == "commit" { "every" } else { "end" };
            assert_eq!(settings.get(knob::FSYNC), fsync, "{}", wish.name);
            assert_eq!(
                settings.get(knob::DIRECT),
                direct,
                "{}: O_DIRECT where it can be",
                wish.name
            );
            assert!(settings.get(knob::SUSTAINED), "{}", wish.name);
            let (_, timed, _) = timed(wish, SECOND);
            assert_eq!((timed.get(knob::FSYNC), timed.get(knob::DATASYNC)), (fsync, true));
        }
        assert_eq!(writes.clone().count(), 5);
        let commit = writes.find(|wish| wish.group == "commit").unwrap();
        let depth = commit.settings.get(knob::QUEUE_DEPTH);
        assert_eq!((commit.settings.get(knob::BLOCK_SIZE), depth), (4096, 1));
    }
}

/// "no more than 211 GiB" was told of 50 that were written: 4 KiB do not go at the rate of 1 MiB.
#[test]
fn what_is_written_follows_from_the_cells_that_write_and_the_time_to_spare() {
    let wishes = wishes(&shape(&["/srv"]));
    let core = wishes.iter().take_while(|wish| wish.is_core()).count();
    let bought = |cells, spare_ns| BudgetAllocation {
        cells,
        core_ns: SECOND,
        trial_ns: 2 * SECOND,
        spare_ns,
        total_ns: 0,
    };
    // Two loads of 1 MiB and three of 4 KiB, each six times and once for pilots, with warm-ups.
    let each = 6.0 * (1.0 + WARM_UP_NS as f64 / 1e9 * 4.0 / 3.0) + 1.0;
    let whole = writing_s(&wishes, &bought(core, 0));
    assert!((whole - (2.0 + 3.0 / 2.0) * each).abs() < 0.01, "{whole} of {each}");
    assert_eq!(writing_s(&wishes, &bought(2, 0)), 0.0, "the first two read");
    assert!((writing_s(&wishes, &bought(core, 8 * SECOND)) - whole - 4.0).abs() < 1e-9);
    assert!(writing_s(&wishes, &bought(wishes.len(), 0)) > whole + 3.0, "the mixed load writes");
}

#[test]
fn a_budget_buys_whole_cells_in_order_and_the_named_budget_buys_the_next() {
    let wishes = wishes(&shape(&["/srv"]));
    let fixed = 3 * SECOND;
    for (index, budget) in budgets_ns(&wishes, fixed).into_iter().enumerate() {
        let bought = buy(&wishes, budget * 3 / 4 - fixed, OVERHEAD_NS);
        assert!(bought.cells > index, "{index} is not bought with {budget}: {bought:?}");
    }
    let hour = buy(&wishes, 2600 * SECOND, OVERHEAD_NS);
    assert_eq!((hour.cells, hour.core_ns), (wishes.len(), CORE_NS_MAX));
    assert!(hour.trial_ns > 5 * SECOND && hour.total_ns <= 2600 * SECOND, "{hour:?}");
    assert_eq!(buy(&wishes, 0, OVERHEAD_NS).cells, 1, "something is always read");
}

/// An evaluation of 120 s ended after 114: what was left bought no further curve, and the trials of
/// those that were bought stayed as short as they may be.
#[test]
fn what_buys_no_further_curve_makes_the_trials_of_the_others_longer() {
    let wishes = wishes(&shape(&["/srv"]));
    let core = wishes.iter().take_while(|wish| wish.is_core()).count();
    let curves = &wishes[core..];
    let mut grown = 0;
    for left_s in 8..400 {
        let left_ns = left_s * SECOND;
        let bought = buy(curves, left_ns, OVERHEAD_NS);
        let trials: u32 = curves[..bought.cells].iter().map(|wish| wish.replicates).sum();
        // Less than a tenth of a second for each trial is left.
        let unspent_ns = left_ns - bought.total_ns;
        assert!(unspent_ns < u64::from(trials) * TENTH_NS, "{left_s}: {bought:?}");
        grown += u32::from(bought.cells < curves.len() && bought.trial_ns > TRIAL_NS_MIN);
    }
    assert!(grown > 50, "{grown}");
}

#[test]
fn a_file_system_without_direct_io_gets_no_direct_cell() {
    let shape = EvaluationTarget { direct: false, ..shape(&["/dev/shm"]) };
    let wishes = wishes(&shape);
    assert!(wishes.iter().all(|wish| !wish.settings.get(knob::DIRECT)));
    assert!(wishes.len() > 20);
}

/// The time left went to every cell alike: to those that were known within 1 % already, and to one
/// that no time would have helped.
#[test]
fn more_trials_go_where_pilots_say_that_they_narrow_an_interval() {
    let mut wishes = wishes(&shape(&["/srv"]));
    let mut core: Vec<&mut Wish> =
        wishes.iter_mut().filter(|wish| wish.phase == Phase::CoreReads).collect();
    let mut told = vec![vec![100.0, 100.5]; core.len()];
    told[1] = vec![100.0, 114.0];
    told[2] = vec![100.0, 900.0];
    let left = repeated(&mut core, &told, SECOND, 60 * SECOND, OVERHEAD_NS);
    let counts: Vec<u32> = core.iter().map(|wish| wish.replicates).collect();
    assert!(counts[1] > CORE_REPLICATES, "{counts:?}");
    let others = counts.iter().enumerate().filter(|(place, _)| *place != 1);
    assert!(others.clone().all(|(_, count)| *count == CORE_REPLICATES), "{counts:?}");
    let more = u64::from(counts[1] - CORE_REPLICATES);
    assert!(left + more * SECOND <= 60 * SECOND, "{left} left, {counts:?}");
    // Without pilots, and without time, each has the least.
    let few = repeated(&mut core, &[], SECOND, 60 * SECOND, OVERHEAD_NS);
    assert_eq!(few, 60 * SECOND);
}

/// Two minutes are too short for pilots, and bought curves while one 4 KiB read, write and commit,
/// which no limit decides, were known within 5 to 7 %.
#[test]
fn without_pilots_one_small_request_after_the_other_is_measured_more_often() {
    let mut all = wishes(&shape(&["/srv"]));
    let mut core: Vec<&mut Wish> = all.iter_mut().filter(|wish| wish.is_core()).collect();
    let counts = |core: &[&mut Wish]| -> Vec<(String, u32)> {
        let more = core.iter().filter(|wish| wish.replicates != CORE_REPLICATES);
        more.map(|wish| (wish.name.clone(), wish.replicates)).collect()
    };
    // What is not there for one whole cell is spent on none.
    assert_eq!(without_pilots(&mut core, SECOND, 2 * SECOND, OVERHEAD_NS), 2 * SECOND);
    assert_eq!(counts(&core), []);
    let all_ns = all_alone_ns(&of_core(&wishes(&shape(&["/srv"]))), SECOND, OVERHEAD_NS);
    let left_ns = without_pilots(&mut core, SECOND, all_ns / 2, OVERHEAD_NS);
    let first = ("random 4 KiB read, depth 1".to_owned(), 8);
    assert_eq!((counts(&core), left_ns), (vec![first.clone()], all_ns / 2 - all_ns / 3));
    // The one that has them costs nothing more.
    let left_ns = without_pilots(&mut core, SECOND, all_ns, OVERHEAD_NS);
    let commit = ("4 KiB write and fdatasync, one by one".to_owned(), 8);
    let write = ("random 4 KiB write, depth 1".to_owned(), 8);
    assert_eq!((counts(&core), left_ns), (vec![first, commit, write], all_ns - 2 * (all_ns / 3)));
}

/// Six trials of 60 streams on a disk of 50 MB/s had no rate: less than one block of each stream
/// came back in them.
#[test]
fn trials_are_long_enough_for_what_is_in_flight_to_come_and_go() {
    let mut wishes = wishes(&shape(&["/srv"]));
    let mut core: Vec<&mut Wish> = wishes.iter_mut().filter(|wish| wish.is_core()).collect();
    let many = core.iter().position(|wish| wish.name == "60 streams, direct").unwrap();
    let mut told = vec![vec![50e6, 52e6]; core.len()];
    // Its pilots told nothing, and reading in order tells of it.
    told[many].clear();
    let more = lengthen(&mut core, &told, 800_000_000);
    let due = 3.5 * 60.0 * f64::from(1 << 20) / 51e6;
    let least = core[many].least_ns as f64 / 1e9;
    assert!((due..due + 0.1).contains(&least), "{least} of {due}");
    let (_, settings, count) = timed(core[many], 800_000_000);
    assert_eq!(settings.stop(), Stop::After(core[many].least_ns));
    assert!(more >= u64::from(count) * (core[many].least_ns - 800_000_000));
    // Nothing told, nothing done; and no trial is longer than any of the core set may be.
    assert_eq!(lengthen(&mut core, &[], 800_000_000), 0);
    let slow = vec![vec![1e6]; core.len()];
    lengthen(&mut core, &slow, 800_000_000);
    assert!(core.iter().all(|wish| wish.least_ns <= CORE_NS_MAX));
}

#[test]
fn pilots_are_short_and_are_left_out_where_they_would_take_much_of_the_time() {
    let wishes = wishes(&shape(&["/srv"]));
    let core: Vec<&Wish> = wishes.iter().filter(|wish| wish.is_core()).collect();
    assert!(!pay(&core, 60 * SECOND, OVERHEAD_NS) && pay(&core, 120 * SECOND, OVERHEAD_NS));
    for wish in core {
        let (group, settings) = pilot(wish);
        assert_eq!(group, crate::plan::PROBE, "no figure rests on it");
        assert_eq!(settings.stop(), Stop::After(300_000_000));
    }
}
