//! Cells made by hand: each limit proved, its near misses, and nothing known.

use super::super::{AnalysisInput, Finding};
use base::stats::testing::{Random, seeds};
use base::value::Value;
use experiment::measurement::limit::testing::{Scene, group};
use experiment::measurement::{Evidence, Record};
use facts::counters::bounds::Bounded;

/// Each scene three times, with a scatter of 0.3 %: what is the same, and what is not, is shown.
fn ask(scenes: &[Scene]) -> Vec<Finding> {
    let runs = [(0, 1.0), (100, 0.997), (200, 1.003)];
    let all = runs.into_iter().flat_map(|(round, times)| {
        scenes.iter().zip(1..).map(move |(scene, number)| {
            let bytes_per_s = scene.bytes_per_s * times;
            Scene { bytes_per_s, ..scene.clone() }.record(round + number)
        })
    });
    answer(&all.collect::<Vec<_>>())
}

/// Each scene once.
fn once(scenes: &[Scene]) -> Vec<Finding> {
    let all = scenes.iter().zip(1..).map(|(scene, number)| scene.record(number));
    answer(&all.collect::<Vec<_>>())
}

fn answer(records: &[Record]) -> Vec<Finding> {
    (super::QUESTION.answer)(&AnalysisInput::from_records(records))
}

/// What limits the cell of that trial.
#[track_caller]
fn limit(findings: &[Finding], trial: u32) -> &str {
    let found = findings.iter().find(|finding| finding.evidence.contains(&trial));
    found.and_then(|finding| finding.limit.as_deref()).unwrap_or_else(|| panic!("{findings:#?}"))
}

/// What would limit the cell of that trial next, and at how many MB/s.
#[track_caller]
fn next(findings: &[Finding], trial: u32) -> Option<(&'static str, f64)> {
    let found = findings.iter().find(|finding| finding.evidence.contains(&trial)).unwrap();
    let next = found.runner_up.as_ref()?;
    Some((next.limit, (next.throughput_bytes_per_s / 1e6).round()))
}

/// A disk that is busy all the time, with `depth` in flight.
fn full(depth: u64, bytes_per_s: f64) -> Scene {
    let queue = depth as f64 * 0.99;
    let ops = bytes_per_s / 262_144.0;
    Scene { depth, bytes_per_s, disks: vec![(0.99, queue, ops)], ..Scene::default() }
}

#[test]
fn a_busy_disk_that_gives_no_more_to_more_in_flight_is_the_limit() {
    let found = ask(&[full(1, 97e6), full(8, 100e6)]);
    assert_eq!((limit(&found, 1), limit(&found, 2)), ("device", "device"));
    assert_eq!(found.len(), 1, "both are told in one breath: {found:#?}");
    assert!(found[0].whole().contains("limits 2 of 2 cells"), "{}", found[0].claim);
    assert!(found[0].whole().contains("busy 99 %"), "{}", found[0].claim);
}

#[test]
fn a_busy_disk_that_gives_more_to_more_in_flight_is_not_and_latency_is() {
    let found = ask(&[full(1, 50e6), full(8, 100e6)]);
    assert_eq!(limit(&found, 1), "latency");
    assert_eq!(next(&found, 1), Some(("device", 100.0)));
    assert_eq!(limit(&found, 2), "device", "it takes four times as long as with one");
    let linear = ask(&[full(1, 50e6), full(8, 390e6)]);
    assert_eq!((limit(&linear, 1), limit(&linear, 2)), ("latency", "latency"));
    assert_eq!(linear.len(), 2, "one has a next, the other has none: {linear:#?}");
    // Neither in proportion nor full: who knows.
    let between = ask(&[full(1, 50e6), full(8, 260e6)]);
    assert_eq!((limit(&between, 1), limit(&between, 2)), ("latency", "unknown"));
}

/// Cells of `n` runs each that scatter by `spread`, of a disk that is always busy.
fn scattered(random: &mut Random, cells: &[(u64, f64)], spread: f64, n: u32) -> Vec<Finding> {
    let mut scenes = Vec::new();
    for (depth, rate) in cells {
        let run = |_| full(*depth, rate * (spread * random.normal()).exp());
        scenes.extend((0..n).map(run));
    }
    once(&scenes)
}

/// 15 % of a point estimate decided that a cell is limited by latency: of cells that give the same
/// that was said in 18 of 100 campaigns.
#[test]
#[expect(clippy::print_stdout, reason = "how often is told with --nocapture")]
fn of_equals_none_is_limited_by_latency_and_of_others_not_the_device() {
    let said = |found: &[Finding], what: &str, cell: u32| {
        let of = |finding: &&Finding| finding.evidence.contains(&cell);
        found.iter().find(of).is_some_and(|it| it.limit.as_deref() == Some(what))
    };
    let (mut latency, mut device, mut equal, mut grown) = (0, 0, 0, 0);
    for seed in seeds() {
        let mut random = Random::new(seed);
        let n = random.between(1.0, 6.0).ceil() as u32;
        let spread = random.between(0.02, 0.2);
        let found = scattered(&mut random, &[(1, 1e8), (8, 1e8)], spread, n);
        latency += u32::from(said(&found, "latency", 1) || said(&found, "latency", n + 1));
        let times = random.between(1.1, 2.0);
        let found = scattered(&mut random, &[(1, 1e8), (8, times * 1e8)], spread, n);
        device += u32::from(said(&found, "device", 1));
        let found = scattered(&mut random, &[(1, 1e8), (8, 1e8)], 0.02, 6);
        equal += u32::from(said(&found, "device", 1));
        let found = scattered(&mut random, &[(1, 1e8), (8, 1.5e8)], 0.02, 6);
        grown += u32::from(said(&found, "latency", 1));
    }
    let share = |count: u32| f64::from(count) / seeds().count() as f64;
    let [latency, device, equal, grown] = [latency, device, equal, grown].map(share);
    println!("latency of equals {latency}, device of others {device}; said {equal}, {grown}");
    assert!(latency <= 0.05 && device <= 0.05, "wrong: {latency}, {device}");
    assert!(equal >= 0.8 && grown >= 0.8, "said: {equal}, {grown}");
}

/// Of single runs nothing says how far they scatter: that two give the same is not claimed, and
/// that one gives more where it is far more.
#[test]
fn single_runs_are_never_the_same_and_grow_where_they_grow_far() {
    let alike = once(&[full(1, 97e6), full(8, 100e6)]);
    assert_eq!((limit(&alike, 1), limit(&alike, 2)), ("unknown", "device"));
    let claim = alike.iter().find(|it| it.evidence == [1]).unwrap().whole();
    assert!(claim.contains("hether more in flight gets more is not decided"), "{claim}");
    let little = once(&[full(1, 50e6), full(8, 60e6)]);
    assert_eq!(limit(&little, 1), "unknown");
    let far = once(&[full(1, 50e6), full(8, 100e6)]);
    assert_eq!((limit(&far, 1), limit(&far, 2)), ("latency", "device"));
}

#[test]
fn one_cell_alone_leaves_it_open() {
    for depth in [1, 8] {
        let found = ask(&[full(depth, 100e6)]);
        assert_eq!(limit(&found, 1), "unknown");
        assert_eq!(found[0].suspect.as_deref(), Some("device"));
        assert!(found[0].advice.as_deref().unwrap().contains("queue-depth=1,8"));
    }
}

#[test]
fn a_deeper_cell_that_meets_another_limit_does_not_prove_the_disk_s() {
    let stopped = Scene { thread: Some((0.98, 0.0)), ..full(8, 104e6) };
    let found = ask(&[full(1, 100e6), stopped]);
    assert_eq!((limit(&found, 1), limit(&found, 2)), ("unknown", "core"));
}

#[test]
fn the_next_limit_is_the_lowest_of_the_others() {
    let bounded =
        |scene: Scene, most| Scene { bounds: vec![group(Bounded::ReadBytes, most)], ..scene };
    let found = ask(&[bounded(full(1, 97e6), 150e6), bounded(full(8, 100e6), 150e6)]);
    assert_eq!(limit(&found, 2), "device");
    assert_eq!(next(&found, 2), Some(("cgroup-io", 150.0)));
    let throttled = |depth: u64| {
        let ops = 100e6 / 262_144.0;
        let disks = vec![(0.6, 0.6 * depth as f64, ops)];
        let scene = Scene { depth, disks, ..Scene::default() };
        bounded(Scene { thread: Some((0.1, 0.0)), ..scene }, 100e6)
    };
    // In a burst all in flight are in the disk for the same time: it is busy 0.6 of the time.
    let found = ask(&[throttled(8)]);
    assert_eq!(limit(&found, 1), "cgroup-io", "{found:#?}");
    assert_eq!(next(&found, 1), Some(("device", 167.0)));
    let quota = Scene {
        thread: Some((0.2, 0.0)),
        throttled: Some(1.0),
        bounds: vec![group(Bounded::CpuTime, 0.2), group(Bounded::ReadBytes, 170e6)],
        ..Scene::default()
    };
    let found = ask(&[quota]);
    assert_eq!((limit(&found, 1), next(&found, 1)), ("cpu-quota", Some(("cgroup-io", 170.0))));
}

#[test]
fn a_kept_rate_is_the_load_s_own_limit_and_the_disk_is_next() {
    let asked = Scene { disks: vec![(0.5, 0.5, 381.0)], ..Scene::default() };
    let found = ask(&[asked.with("rate", Value::Count(381))]);
    assert_eq!((limit(&found, 1), next(&found, 1)), ("generator", Some(("device", 200.0))));
    // In the lab 4.6 MB/s were told where 5.3 were planted: what the busy time of a paced load
    // allows is the least that there may be.
    assert!(found[0].runner_up.as_ref().unwrap().at_least, "{found:#?}");
}

#[test]
fn without_counters_or_with_nothing_full_the_limit_is_unknown() {
    let blind = Scene {
        disks: Vec::new(),
        thread: None,
        cpus: Vec::new(),
        evidence: Evidence::default(),
        ..Scene::default()
    };
    let deeper = Scene { depth: 8, ..blind.clone() };
    let found = ask(&[blind, deeper]);
    assert_eq!((limit(&found, 1), limit(&found, 2), found.len()), ("unknown", "unknown", 1));
    let idle = ask(&[Scene::default(), Scene { depth: 8, ..Scene::default() }]);
    assert_eq!(limit(&idle, 1), "unknown");
    assert!(idle[0].whole().contains("passed above it"), "{}", idle[0].claim);
    assert_eq!(ask(&[]), []);
}

#[test]
fn replicates_that_disagree_name_nothing() {
    let two = [full(8, 100e6), Scene { thread: Some((0.97, 0.0)), ..full(8, 100e6) }];
    let found = ask(&two);
    assert_eq!((limit(&found, 1), found.len()), ("unknown", 1));
    let three = [two[1].clone(), two[1].clone(), two[0].clone()];
    assert_eq!(limit(&ask(&three), 1), "core", "two of three are enough");
}

#[test]
fn bytes_that_a_cache_behind_the_device_gave_are_the_cache_s() {
    let cached = |depth| Scene { backing_share: Some(0.01), ..full(depth, 900e6) };
    let found = ask(&[cached(1), cached(8)]);
    assert_eq!((limit(&found, 1), limit(&found, 2)), ("device-cache", "device-cache"));
    let slower = Scene { bytes_per_s: 300e6, ..cached(1) };
    assert_eq!(limit(&ask(&[slower, cached(8)]), 1), "latency", "a cache is no faster than it");
}

#[test]
fn figures_that_break_little_s_law_are_told() {
    let late = Scene { late: 1.3, ..full(8, 100e6) };
    let found = ask(&[full(1, 97e6), late]);
    assert!(
        found[0].whole().contains("In 3 trials the figures do not agree"),
        "{}",
        found[0].claim
    );
}

/// Files on NFS, whose server is this machine too where `disks` are given.
fn nfs(depth: u64, bytes_per_s: f64, served: bool) -> Scene {
    let scene = full(depth, bytes_per_s);
    let disks = if served { scene.disks.clone() } else { Vec::new() };
    Scene { disks, evidence: Evidence { remote: true, ..scene.evidence.clone() }, ..scene }
}

#[test]
fn the_busy_disk_of_a_server_that_is_here_limits_its_clients_and_of_another_nobody_knows() {
    let here = ask(&[nfs(1, 97e6, true), nfs(8, 100e6, true)]);
    assert_eq!((limit(&here, 1), limit(&here, 2)), ("device", "device"));
    let alone = ask(&[nfs(8, 100e6, true)]);
    assert_eq!((limit(&alone, 1), alone[0].suspect.as_deref()), ("unknown", Some("device")));
    let mut idle = nfs(8, 100e6, true);
    idle.disks = vec![(0.3, 0.3, 400.0)];
    assert_eq!(limit(&ask(&[idle]), 1), "unknown");
    let elsewhere = ask(&[nfs(1, 97e6, false), nfs(8, 100e6, false)]);
    assert_eq!((limit(&elsewhere, 1), limit(&elsewhere, 2)), ("unknown", "unknown"));
    assert_eq!(elsewhere[0].suspect.as_deref(), Some("network"));
}
