//! Planted truth: two simulated campaigns of one plan, of which the second is slower or the same.

use serde_json::json;

use super::*;
use base::stats::testing::{Coverage, null_limit, seeds};
use engines::engine::testing::{campaign, settings};
use experiment::knob;
use experiment::measurement::Amount;

const ASKED: ComparisonRequest = ComparisonRequest { threshold: 0.05, figure: None };

/// Cells that each deliver `capacity` MB/s, but for a scatter between trials.
pub(super) fn server(capacity: f64, noise: &str, seed: u64) -> Vec<Record> {
    let of = |mb_per_s: f64| format!("{}B/s", (mb_per_s * 1e6).round());
    let cell = |blocks: &&str| {
        let knobs = [
            ("sim-noise", noise),
            ("sim-correlation", "0.9"),
            ("sim-trial-noise", noise),
            ("sim-stream-rate", "10GB/s"),
            ("sim-capacity", &of(capacity)),
            ("stop", "200ms"),
            ("queue-depth", "8"),
            ("block-size", blocks),
        ];
        ("reading".to_owned(), settings(&knobs))
    };
    let mut records = campaign(&["64KiB", "128KiB"].iter().map(cell).collect::<Vec<_>>(), 3, seed);
    // What the second server is worth is not asked for.
    for record in &mut records {
        record.trial.settings.set(knob::SIM_CAPACITY, 1);
    }
    records
}

/// The planted ratio is covered; what is the same is not called worse or better; what is far worse
/// is, and so is no cell that is at the threshold itself more often than by chance.
#[test]
fn a_planted_regression_is_found_and_nothing_else_is() {
    let (mut coverage, mut null) = (Coverage::default(), Coverage::default());
    let (mut wrong, mut at_threshold, mut missed) = (0, 0, 0);
    for seed in seeds() {
        let base = server(400.0, "0.02", seed);
        let of = |mb_per_s: f64, salt: u64| {
            let other = server(mb_per_s, "0.02", seed + salt);
            compare(&base, &other, &ASKED)
        };
        let claims = |found: &Comparison| {
            u32::from(found.count(Change::Worse) + found.count(Change::Better) > 0)
        };
        let (same, slower) = (of(400.0, 1 << 20), of(280.0, 2 << 20));
        for (found, truth, count) in [(&same, 1.0, &mut null), (&slower, 0.7, &mut coverage)] {
            assert_eq!((found.cells.len(), found.apart.len()), (2, 0));
            count.add(found.cells[0].ratio.interval, truth);
        }
        wrong += claims(&same);
        at_threshold += claims(&of(380.0, 3 << 20));
        missed += u32::from(slower.count(Change::Worse) < 2);
    }
    coverage.check("ratio of 0.7");
    null.check("ratio of 1");
    let share = |count: u32| f64::from(count) / seeds().count() as f64;
    assert!(share(at_threshold) <= null_limit(), "{at_threshold} claims at the threshold");
    assert!(wrong <= at_threshold.max(1), "{wrong} claims where nothing was planted");
    assert!(share(missed) <= 0.10, "{missed} missed");
}

#[test]
fn what_the_scatter_leaves_open_is_not_called_the_same() {
    let (mut same, mut open) = (0, 0);
    for seed in 0..20 {
        let of = |noise: &str, salt: u64| server(400.0, noise, seed + salt);
        let quiet = compare(&of("0.002", 0), &of("0.002", 1 << 20), &ASKED);
        let noisy = compare(&of("0.15", 0), &of("0.15", 1 << 20), &ASKED);
        same += quiet.count(Change::Same);
        open += noisy.count(Change::Open) + noisy.count(Change::PerhapsWorse);
        open += noisy.count(Change::PerhapsBetter);
        assert_eq!(noisy.count(Change::Same), 0, "{noisy:#?}");
    }
    assert!(same >= 36 && open >= 36, "{same} the same, {open} open");
}

/// One run of each says nothing of how far it scatters: a tool that compares two numbers calls
/// every difference a regression.
#[test]
fn one_run_of_each_is_not_tested() {
    let first = |mut records: Vec<Record>| {
        records.retain(|record| record.trial.replicate == 1);
        records
    };
    let (one, half) = (first(server(400.0, "0.02", 1)), first(server(200.0, "0.02", 2)));
    let found = compare(&one, &half, &ASKED);
    assert_eq!(found.count(Change::Untested), 2);
    assert!(found.findings().iter().all(|finding| finding.severity == Severity::Info));
    assert!(found.summary().contains("2 one run, not tested"), "{}", found.summary());
}

fn reasons(found: &Comparison) -> Vec<&str> {
    found.apart.iter().map(|apart| apart.reason.as_str()).collect()
}

#[test]
fn what_cannot_be_compared_says_why() {
    let base = server(400.0, "0.02", 1);
    // Other directories are where it ran; another queue depth is another load.
    let mut other = server(400.0, "0.02", 2);
    for record in &mut other {
        record.trial.settings.set(knob::DIRECTORIES, &["/srv/b".into()]);
    }
    assert_eq!(compare(&base, &other, &ASKED).cells.len(), 2);
    for record in other.iter_mut().filter(|it| it.trial.settings.get(knob::BLOCK_SIZE) == 131_072) {
        record.trial.settings.set(knob::QUEUE_DEPTH, 1);
    }
    let found = compare(&base, &other, &ASKED);
    assert_eq!(found.cells.len(), 1);
    assert_eq!(
        reasons(&found),
        [
            "the second has no such cell; it has one with queue-depth 1",
            "the first has no such cell"
        ]
    );
    assert!(found.apart[0].load.contains("depth 8"), "{found:#?}");

    let mut failed = server(400.0, "0.02", 3);
    for record in &mut failed {
        record.outcome = Outcome::Failed("no such device".into());
    }
    let found = compare(&base, &failed, &ASKED);
    assert_eq!(reasons(&found), ["no trial of the second was done: no such device"; 2]);
    assert_eq!(found.summary(), "No cell can be compared; 2 cannot.");

    let asked = ComparisonRequest { figure: Some("ops_per_s".into()), ..ASKED };
    assert_eq!(reasons(&compare(&base, &base, &asked)), ["the first has no `ops_per_s`"; 2]);
}

/// A server whose files were in memory the second time is not five times as fast.
#[test]
fn bytes_from_memory_are_not_held_against_bytes_from_the_device() {
    let base = server(400.0, "0.02", 1);
    let mut cached = server(2000.0, "0.02", 2);
    for record in &mut cached {
        let Outcome::Done(measurement) = &mut record.outcome else { continue };
        let evidence = &mut measurement.evidence;
        evidence.process_read_bytes = Some(0);
        evidence.device_read_bytes = Some(0);
        evidence.resident_before_bytes = Some(evidence.file_bytes);
        record.trial.settings.set(knob::DIRECT, false);
    }
    let mut base = base;
    for record in &mut base {
        record.trial.settings.set(knob::DIRECT, false);
    }
    let found = compare(&base, &cached, &ASKED);
    assert_eq!(found.cells.len(), 0, "{found:#?}");
    for reason in reasons(&found) {
        assert!(reason.starts_with("bytes came from elsewhere: ") && reason.contains("cache in"));
    }
}

/// Twice the latency is worse, although it is more.
#[test]
fn less_of_a_time_is_better() {
    let asked = ComparisonRequest { figure: Some("latency_ns_mean".into()), ..ASKED };
    let (base, slow) = (server(400.0, "0.02", 1), server(200.0, "0.02", 2));
    let found = compare(&base, &slow, &asked);
    assert_eq!(found.count(Change::Worse), 2, "{found:#?}");
    assert!(found.cells.iter().all(|cell| cell.ratio.value > 1.5 && cell.less_is_better));
    let claims = found.findings();
    assert_eq!(claims.len(), 3);
    assert!(claims[0].claim.contains("latency mean") && claims[0].claim.contains("worse"));
    for (name, less) in [
        ("elapsed_s", true),
        ("ops_per_s", false),
        ("throughput_bytes_per_s", false),
        ("cpu_seconds_per_gib", true),
        ("server_system_s", true),
        ("mkfs_ns", true),
        ("fsck_ns", true),
        ("rebuild_ns", true),
        ("fstrim_bytes", false),
        ("cpu_share", false),
        ("retransmits_per_s", true),
    ] {
        assert_eq!(less_is_better(name), less, "{name}");
    }
}

#[test]
fn what_differs_besides_is_told() {
    let (base, mut other) = (server(400.0, "0.02", 1), server(400.0, "0.02", 2));
    for record in &mut other {
        record.trial.settings.set(knob::DIRECTORIES, &["/srv/b".into()]);
        let Outcome::Done(measurement) = &mut record.outcome else { continue };
        measurement.evidence.delivered = Amount::default();
    }
    let machine = |kernel: &str| json!({ "machine": { "kernel": kernel } });
    let told = differences((&base, &machine("6.1")), (&other, &machine("6.18")));
    assert!(told[0].starts_with("directories: /srv/b, was"), "{told:?}");
    assert_eq!(told[1..], ["machine kernel: 6.18, was 6.1"]);
    assert!(differences((&base, &machine("6.1")), (&base, &machine("6.1"))).is_empty());
}

/// What a tool reported, with as many settings as it tells.
fn reported(settings: serde_json::Value, figures: &[(&str, f64)]) -> Record {
    use experiment::measurement::reported::Bound;
    let figure = |(name, value): &(&str, f64)| experiment::measurement::reported::Figure {
        name: (*name).to_owned(),
        value: *value,
        printed: value.to_string(),
        bound: Bound::Exact,
    };
    let told = experiment::measurement::Reported {
        by: "fio 3.33".to_owned(),
        place: "results.json".to_owned(),
        says: "job".to_owned(),
        figures: figures.iter().map(figure).collect(),
        ..Default::default()
    };
    let trial = experiment::plan::Trial {
        number: 1,
        replicate: 1,
        group: "fio".into(),
        settings: Settings::from_json("fio", &settings),
        first_file: 0,
        seed: 0,
        planned: None,
    };
    let measurement =
        experiment::measurement::Measurement { reported: Some(told), ..Default::default() };
    Record::new(trial, Outcome::Done(Box::new(measurement)))
}

/// "No cell can be compared; 41 cannot": a colleague's result of fio had no cell with just its
/// settings, and stood beside nothing.
#[test]
fn a_reported_result_stands_beside_the_cell_that_is_nearest() {
    let ours = server(400.0, "0.02", 7);
    let asked = json!({ "access": "read", "block-size": 98_304, "queue-depth": 4 });
    let rate = 200e6;
    let theirs = [reported(asked, &[("throughput_bytes_per_s", rate), ("elephants", 7.0)])];
    for (before, now, side) in [(&ours[..], &theirs[..], "b"), (&theirs[..], &ours[..], "a")] {
        let found = compare(before, now, &ASKED);
        assert!(found.cells.is_empty() && found.apart.is_empty(), "{:?}", found.apart);
        let [held] = &found.held[..] else { panic!("{:?}", found.held) };
        assert_eq!((held.side, held.trial, held.reason.as_ref()), (side, 1, None));
        let near = held.nearest.as_ref().unwrap();
        // 96 KiB are nearer to 128 KiB than to 64.
        assert_eq!(near.settings.get(knob::BLOCK_SIZE), 128 << 10);
        let [figure] = &near.figures[..] else { panic!("{:?}", near.figures) };
        assert!((figure.ratio - rate / figure.ours.value).abs() < 1e-9 && figure.ratio < 1.0);
        let differs =
            ["block-size: 96 KiB reported, 128 KiB here", "queue-depth: 4 reported, 8 here"];
        assert_eq!(near.differs, differs);
        assert!(near.untold.iter().any(|it| it == "streams"), "{:?}", near.untold);
        assert!(near.untold.iter().any(|it| it.contains("from memory")), "{:?}", near.untold);
        assert!(
            found.summary().starts_with("1 reported result, each beside"),
            "{}",
            found.summary()
        );
        assert_eq!(found.count(Change::Worse), 0, "a reported figure makes no regression");
    }
}

/// Reads were never held against writes, nor what went through the cache against what went around
/// it where there is a cell that did not.
#[test]
fn another_access_is_not_near_and_another_path_is_far() {
    let mut ours = server(400.0, "0.02", 7);
    let written = [reported(json!({ "access": "write" }), &[("throughput_bytes_per_s", 1e8)])];
    let found = compare(&ours, &written, &ASKED);
    let held = &found.held[0];
    assert!(held.nearest.is_none());
    assert_eq!(held.reason.as_deref(), Some("the other campaign has no cell of write"));
    assert!(found.summary().contains("no cell that is near"));
    for record in &mut ours {
        let large = record.trial.settings.get(knob::BLOCK_SIZE) == 128 << 10;
        record.trial.settings.set(knob::DIRECT, !large);
    }
    let asked = json!({ "access": "read", "block-size": 131_072, "direct": true });
    let theirs = [reported(asked, &[("throughput_bytes_per_s", 1e8)])];
    let found = compare(&ours, &theirs, &ASKED);
    let near = found.held[0].nearest.as_ref().unwrap();
    assert_eq!(near.settings.get(knob::BLOCK_SIZE), 64 << 10);
    assert!(!near.untold.iter().any(|it| it.contains("from memory")), "{:?}", near.untold);
}

/// A table of reads and writes of one run tells its access by the names of its figures.
#[test]
fn each_way_of_a_result_has_its_own_nearest_cell() {
    let ours = server(400.0, "0.02", 7);
    let figures = [("write_throughput_bytes_per_s", 1e8), ("read_throughput_bytes_per_s", 2e8)];
    let found = compare(&ours, &[reported(json!({}), &figures)], &ASKED);
    let loads: Vec<(&str, bool)> =
        found.held.iter().map(|held| (held.load.as_str(), held.nearest.is_some())).collect();
    assert_eq!(loads, [("write", false), ("read", true)]);
    let near = found.held[1].nearest.as_ref().unwrap();
    assert_eq!(
        (near.figures[0].name.as_str(), near.figures[0].reported),
        ("throughput_bytes_per_s", 2e8)
    );
}

/// Two imports are held against each other, the second against the first.
#[test]
fn of_two_imports_the_second_is_held_against_the_first() {
    let asked = || json!({ "access": "read", "block-size": 4096 });
    let one = [reported(asked(), &[("iops", 1000.0)])];
    let other = [reported(asked(), &[("iops", 1500.0)])];
    let found = compare(&one, &other, &ASKED);
    assert_eq!(found.held.len(), 1);
    let near = found.held[0].nearest.as_ref().unwrap();
    assert_eq!((near.figures[0].ratio, near.origin), (1.5, None));
    assert!(near.differs.is_empty());
}
