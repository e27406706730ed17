//! A planted set that contradicts itself, and campaigns of all kinds that must not.

use super::*;
use crate::analysis::{AnalysisInput, QUESTIONS, Severity, answer, answers, findings, scaling};
use crate::report::fixture;
use base::stats::testing::{Random, seeds};
use base::value::Value;
use engines::engine::testing::{light_campaign, settings};
use experiment::measurement::Record;
use experiment::measurement::limit::testing::Scene;

fn finding(question: &'static str, assertion: Assertion) -> Finding {
    let claim = format!("{question} claims {:?}.", assertion.says);
    let trials = [assertion.of.clone(), assertion.against.clone()].concat();
    Finding::info(question, claim, trials)
        .stating([assertion.about("Whether reading gets more with more streams")])
}

#[test]
fn the_matrix_names_questions_that_there_are_and_no_pair_twice() {
    let known = |name: &str| QUESTIONS.iter().any(|question| question.name == name);
    for (place, row) in EXCLUSIONS.iter().enumerate() {
        assert!(known(row.one.0) && known(row.other.0), "{row:?}");
        assert_ne!(row.one, row.other, "nothing excludes itself");
        let same = |other: &&Exclusion| {
            (other.one, other.other) == (row.one, row.other)
                || (other.one, other.other) == (row.other, row.one)
        };
        assert_eq!(EXCLUSIONS[place..].iter().filter(same).count(), 1, "{row:?}");
    }
}

/// What each question can state.
const STATED: [(&str, Asserts); 11] = [
    ("scaling", NoMore),
    ("scaling", More),
    ("depth", NoMore),
    ("depth", More),
    ("disks", NoMore),
    ("disks", More),
    ("bottleneck", NoMore),
    ("bottleneck", More),
    ("cache", Same),
    ("block-size", NoMore),
    ("noise", Apart),
];

/// The matrix had rows of a cache and of block sizes that get more: no question ever stated that.
#[test]
fn every_row_can_be_stated() {
    for row in EXCLUSIONS {
        assert!(STATED.contains(&row.one) && STATED.contains(&row.other), "{row:?}");
    }
}

/// "Gives all it has to 1 stream already" stood beside "more in flight gets more", and beside
/// replicates that differed by 30 %.
#[test]
fn a_set_that_contradicts_itself_is_found_and_one_of_each_pair_yields() {
    let enough = || Assertion::new(NoMore, vec![1, 2], vec![3, 4, 5, 6], 0.03);
    let latency = Assertion::new(More, vec![2, 1], vec![6, 5], 0.001);
    let noise = Assertion::new(Apart, (1..=9).collect(), Vec::new(), 0.0);
    let elsewhere = Assertion::new(More, vec![1, 2], vec![11, 12], 0.001);
    let pair = |one, other| vec![finding("scaling", one), finding("bottleneck", other)];
    assert_eq!(contradictions(&pair(enough(), elsewhere)), []);
    let found = contradictions(&pair(enough(), latency.clone()));
    assert_eq!(found, [Contradiction { one: (0, 0), other: (1, 0) }]);
    let told = reconciled(pair(enough(), latency.clone()));
    assert_eq!(contradictions(&told), []);
    assert_eq!(
        told[0].claim,
        "Whether reading gets more with more streams is not decided: the finding on `bottleneck` \
         speaks against these figures."
    );
    assert!(told[1].claim.contains("More") && told[1].assertions.len() == 1, "{told:?}");
    // The one whose figures speak less clearly for it yields.
    let mut weak = pair(enough(), Assertion { chance: 0.04, ..latency });
    weak[1].limit = Some("latency".to_owned());
    let told = reconciled(weak);
    assert!(told[0].claim.contains("NoMore"), "{told:?}");
    assert_eq!(told[1].limit.as_deref(), Some("unknown"));
    let noisy = reconciled(vec![finding("depth", enough()), finding("noise", noise.clone())]);
    assert!(noisy[0].claim.ends_with("replicates lie too far apart to tell."), "{noisy:?}");
    assert!(noisy[1].claim.contains("Apart"), "{noisy:?}");
    let all = reconciled(vec![
        finding("scaling", enough()),
        finding("scaling", Assertion::new(More, vec![1], vec![5], 0.02)),
        finding("noise", noise),
    ]);
    assert_eq!(contradictions(&all), []);
    assert!(all[1].claim.contains("More"), "what is no claim of sameness stays: {all:?}");
}

/// A simulated server of a drawn kind: its limit, its scatter, how often each cell was run.
fn drawn(seed: u64) -> Vec<Record> {
    let mut random = Random::new(seed);
    let noise = format!("{:.4}", random.between(0.005, 0.3));
    let capacity = format!("{}B/s", random.between(40e6, 2e9).round());
    let cache = format!("{}B/s", random.between(100e6, 4e9).round());
    let replicates = random.between(0.0, 4.0).ceil() as u32;
    let server = [
        ("sim-noise", "0.05"),
        ("sim-correlation", "0.5"),
        ("sim-trial-noise", &noise),
        ("sim-stream-rate", "50MB/s"),
        ("sim-capacity", &capacity),
        ("sim-cache-rate", &cache),
        ("stop", "200ms"),
    ];
    let load = [("block-size", "64KiB"), ("queue-depth", "8"), ("file-size", "64MiB")];
    let buffered = [("direct", "false"), ("streams", "8")];
    let mut cells = Vec::new();
    let mut cell = |group: &str, changes: &[(&str, &str)]| {
        let all = [&server[..], &load, changes].concat();
        cells.push((group.to_owned(), settings(&all)));
    };
    ["1", "2", "8", "32"].into_iter().for_each(|level| cell("streams", &[("streams", level)]));
    ["1", "4", "16", "64"].into_iter().for_each(|level| cell("depth", &[("queue-depth", level)]));
    ["4KiB", "256KiB", "1MiB"]
        .into_iter()
        .for_each(|level| cell("blocks", &[("block-size", level)]));
    for cold in ["true", "false"] {
        cell("cache", &[&buffered[..], &[("cold", cold)]].concat());
    }
    light_campaign(&cells, replicates, seed)
}

/// A disk that gives some more, or none, to more in flight, as the kernel counts it.
fn disks(seed: u64) -> Vec<Record> {
    let mut random = Random::new(seed);
    let spread = random.between(0.01, 0.3);
    let gain = random.between(0.95, 1.6);
    let replicates = random.between(0.0, 6.0).ceil() as u32;
    let mut records = Vec::new();
    for (streams, rate) in [(1, 1253e6), (4, 1253e6 * gain.sqrt()), (32, 1253e6 * gain)] {
        for _ in 0..replicates {
            let bytes_per_s = rate * (spread * random.normal()).exp();
            let queue = streams as f64 * 0.99;
            let disks = vec![(0.99, queue, bytes_per_s / 262_144.0)];
            let scene = Scene { streams, bytes_per_s, disks, ..Scene::default() };
            records.push(scene.record(records.len() as u32 + 1));
        }
    }
    records
}

/// "inf %", "differences under 67904817 %", "37922346538115457024 times as much", "up to 4.09
/// streams": a number that nobody can use.
fn useless(claim: &str) -> bool {
    let words: Vec<&str> = claim.split([' ', '(', ')', ',', ';']).collect();
    let ends = words.iter().skip(1).map(|word| word.trim_end_matches('.')).chain([""]);
    words.iter().zip(ends).any(|(word, next)| {
        let word = word.trim_end_matches('.');
        let number = word.parse::<f64>().ok();
        let of_all = |number: f64| number.abs() >= 1e6 && matches!(next, "%" | "times");
        let part = |number: f64| number.fract() != 0.0 && matches!(next, "streams" | "trials");
        number.is_some_and(|it| !it.is_finite() || of_all(it) || part(it))
    })
}

#[test]
fn numbers_that_nobody_can_use_are_seen() {
    for claim in ["under 67904817 %.", "(inf %)", "NaN MB/s", "up to 4.09 streams (95 % interval)"]
    {
        assert!(useless(claim), "{claim}");
    }
    assert!(!useless("1.3 times 1640 MB/s with 4 streams, 67904817 bytes, 12 %, infinite"));
}

/// What all questions answer by themselves hardly ever excludes each other, and never where it is
/// told.
#[test]
#[expect(clippy::print_stdout, reason = "how often is told with --nocapture")]
fn no_campaign_is_told_two_things_that_exclude_each_other() {
    let (mut many, mut before, mut stated) = (0, 0, 0);
    let mut check = |records: &[Record], what: &str| {
        let asked = AnalysisInput::from_records(records);
        let raw = answers(&asked);
        let each = raw.iter().flat_map(|of| of.assertions.iter().map(|it| (of.question, it.says)));
        each.for_each(|it| assert!(STATED.contains(&it), "{it:?}"));
        stated += raw.iter().map(|it| it.assertions.len()).sum::<usize>();
        before += usize::from(!contradictions(&raw).is_empty());
        many += 1;
        let told = findings(&asked);
        assert_eq!(contradictions(&told), [], "{what}: {told:#?}");
        assert!(told.len() >= raw.len(), "{what}: none is dropped");
        let claims = told.iter().map(|finding| finding.claim.as_str());
        assert_eq!(claims.filter(|claim| useless(claim)).collect::<Vec<_>>(), [""; 0], "{what}");
    };
    for seed in seeds() {
        check(&drawn(seed), &format!("server {seed}"));
        check(&disks(seed), &format!("disk {seed}"));
    }
    check(&fixture::evaluated().records, "an evaluation");
    println!("{before} of {many} campaigns excluded themselves before, of {stated} assertions");
    assert!(stated > many, "something is stated: {stated} in {many}");
}

/// "What limits 5 of 9 cells is not decided" took back what four of them had shown, as one had
/// been spoken against.
#[test]
fn one_cell_that_yields_takes_no_other_with_it() {
    let mut records = Vec::new();
    for block in [64 << 10, 256 << 10] {
        for (depth, rate) in [(1, 99.9e6), (8, 100e6)] {
            for times in [1.0, 0.997, 1.003] {
                let bytes_per_s = rate * times;
                let disks = vec![(0.99, depth as f64 * 0.99, bytes_per_s / block as f64)];
                let scene = Scene { block, depth, bytes_per_s, disks, ..Scene::default() };
                let scene = scene.with("block-size", Value::Bytes(block));
                records.push(scene.record(records.len() as u32 + 1));
            }
        }
    }
    let found = (bottleneck::QUESTION.answer)(&AnalysisInput::from_records(&records));
    assert_eq!(found.len(), 1, "all are told in one breath: {found:#?}");
    assert!(found[0].claim.contains("limits 4 of 4 cells"), "{}", found[0].claim);
    let more = Assertion::new(More, (1..=3).collect(), (4..=6).collect(), 0.0);
    let told = reconciled([found, vec![finding("depth", more)]].concat());
    assert_eq!(contradictions(&told), []);
    let [stays, leaves, depth] = &told[..] else { panic!("{told:#?}") };
    assert!(stays.claim.starts_with("The device limits 2 of 4 cells, such as"), "{stays:#?}");
    assert!(stays.claim.contains("256 KiB"), "it names one that stays: {stays:#?}");
    assert_eq!(stays.limit.as_deref(), Some("device"));
    assert_eq!((&stays.evidence[..], stays.assertions.len()), (&[7, 8, 9, 10, 11, 12][..], 2));
    assert!(leaves.claim.starts_with("What limits 2 of 4 cells, such as"), "{leaves:#?}");
    assert!(leaves.claim.contains("64 KiB"), "{leaves:#?}");
    let ends = ", is not decided: the finding on `depth` speaks against these figures.";
    assert!(leaves.claim.ends_with(ends), "{leaves:#?}");
    assert_eq!(leaves.limit.as_deref(), Some("unknown"));
    assert_eq!(leaves.evidence, [1, 2, 3, 4, 5, 6]);
    assert!(depth.claim.contains("More"), "{depth:#?}");
}

/// "Whether reading gets more with more streams is not decided: replicates lie too far apart to
/// tell. ... collapses beyond 4 streams" stood in the answer, and the law below it.
#[test]
fn what_leans_on_a_knee_that_is_not_decided_is_not_decided_either() {
    let mut records = Vec::new();
    for streams in [1, 2, 4, 8, 16, 32] {
        let n = streams as f64;
        let rate = 100e6 * n / (1.0 + 0.05 * (n - 1.0) + 0.02 * n * (n - 1.0));
        for times in [1.0, 0.998, 1.002] {
            let scene = Scene { streams, bytes_per_s: rate * times, ..Scene::default() };
            records.push(scene.record(records.len() as u32 + 1));
        }
    }
    let asked = AnalysisInput::from_records(&records);
    let found = (scaling::QUESTION.answer)(&asked);
    let says = |all: &[Finding], what: &str| all.iter().any(|it| it.claim.contains(what));
    assert!(says(&found, " collapses beyond ") && says(&found, "Scalability Law:"), "{found:#?}");
    assert!(found[0].assertions.iter().any(|it| it.says == NoMore), "{found:#?}");
    let noise = || finding("noise", Assertion::new(Apart, (1..=18).collect(), Vec::new(), 0.0));
    let told = reconciled([found.clone(), vec![noise()]].concat());
    assert_eq!(told.len(), found.len() + 1, "none is dropped: {told:#?}");
    for told in &told[..found.len()] {
        let ends = " is not decided: replicates lie too far apart to tell.";
        assert!(told.claim.ends_with(ends) && told.severity == Severity::Info, "{told:#?}");
    }
    let [_, stops, _] = answer(&records, &told);
    assert!(!stops.contains("collapses"), "{stops}");
    let [_, stops, _] = answer(&records, &found);
    assert!(stops.contains("collapses"), "{stops}");
    // The figure draws no law that no finding tells.
    assert_eq!(
        AnalysisInput::from_records(&records).into_shown().decided(&found).followed.len(),
        1
    );
    assert_eq!(AnalysisInput::from_records(&records).into_shown().decided(&told).followed.len(), 0);
    // What lies apart elsewhere takes nothing away.
    let elsewhere = finding("noise", Assertion::new(Apart, vec![1, 2, 3], Vec::new(), 0.0));
    let both = [found.clone(), vec![elsewhere.clone()]].concat();
    assert_eq!(reconciled(both.clone()), both);
}
