//! Planted caches: found, with intervals that hold them, and named; and nothing where none was
//! planted.

use serde_json::{Value as Json, json};

use super::name::{KnownCaches, Seen, UNKNOWN};
use super::*;
use base::stats::Interval;
use base::stats::testing::{Coverage, Random, null_limit, seeds};
use engines::engine::testing::{campaign, settings};
use experiment::knob;
use experiment::measurement::origin::Verdict;

const MIB: f64 = 1048576.0;

/// A stream that reads a file again and again, from memory as far as that holds it.
const WARM: &[(&str, &str)] = &[
    ("sim-noise", "0.05"),
    ("sim-correlation", "0.9"),
    ("sim-trial-noise", "0.02"),
    ("direct", "false"),
    ("cold", "false"),
    ("sim-service-time", "0s"),
    ("sim-stream-rate", "1000MB/s"),
    ("sim-capacity", "100000MB/s"),
    ("stop", "100ms"),
];

const SIZES: &[&str] = &[
    "4MiB", "8MiB", "16MiB", "32MiB", "64MiB", "128MiB", "256MiB", "512MiB", "16GiB", "32GiB",
    "64GiB",
];

fn records(sizes: &[&str], changes: &[(&str, &str)], seed: u64) -> Vec<Record> {
    let cell = |size: &&str| {
        let all = [WARM, changes, &[("file-size", *size)]].concat();
        ("file-size".to_owned(), settings(&all))
    };
    campaign(&sizes.iter().map(cell).collect::<Vec<_>>(), 3, seed)
}

fn asked<'a>(records: &'a [Record], inventory: &'a Json) -> AnalysisInput<'a> {
    AnalysisInput { inventory, ..AnalysisInput::from_records(records) }
}

/// A server with an L2 of 1 MiB, an L3 of so many bytes, and 256 MiB of memory.
fn server(l3_bytes: f64) -> Json {
    let cache = |level: u32, size: f64| {
        let size_bytes = size as u64;
        json!({"level": level, "kind": "Unified", "size_bytes": size_bytes, "cpus": 8, "count": 1})
    };
    json!({"server": {
        "processors": {"caches": [cache(2, MIB), cache(3, l3_bytes)]},
        "memory": {"total_bytes": 268_435_456},
    }})
}

#[test]
fn planted_caches_are_found_between_their_sizes_and_named() {
    let mut coverage: [Coverage; 3] = Default::default();
    let (mut cliff, mut silent, mut misnamed) = (0, 0, 0);
    for seed in seeds() {
        let mut random = Random::new(seed);
        let l3 = random.between(9.0, 30.0) * MIB;
        let pages = random.between(140.0, 250.0) * MIB;
        let rates = [random.between(12.0, 40.0), random.between(3.0, 8.0)];
        let typed = [
            ("sim-processor-cache", format!("{}B", l3.round())),
            ("sim-processor-cache-rate", format!("{}MB/s", (rates[0] * 1e3).round())),
            ("sim-cache", format!("{}B", pages.round())),
            ("sim-cache-rate", format!("{}MB/s", (rates[1] * 1e3).round())),
        ];
        let changes: Vec<(&str, &str)> = typed.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let (records, inventory) = (records(SIZES, &changes, seed), server(l3));
        let found = regions(&asked(&records, &inventory)).remove(0);
        let [first, second] = found.edges[..] else {
            silent += 1;
            continue;
        };
        let ends = |edge: &PlateauEdge| Interval { low: edge.low_bytes, high: edge.high_bytes };
        cliff += u32::from(ends(&first).covers(l3));
        coverage[0].add(second.confident.then(|| ends(&second)), pages);
        let truth = [rates[0] * 1e9, rates[1] * 1e9, 1e9];
        for (place, truth) in truth.into_iter().enumerate().take(2) {
            let rate = found.plateaus[place].throughput_bytes_per_s;
            coverage[place + 1].add(rate.interval, truth);
        }
        let names: Vec<&str> = found.plateaus.iter().map(|it| it.name.as_str()).collect();
        let right = names[0] == format!("the L3 cache of {}", bytes(l3.round()))
            && names[1] == "the page cache, within 256 MiB of memory"
            && names[2] == "the device";
        misnamed += u32::from(!right);
    }
    let all = seeds().end as f64;
    assert!(f64::from(silent.max(misnamed)) <= null_limit() * all, "{silent} {misnamed}");
    // Between two sizes that were measured there is nothing closer: this covers more than it must.
    assert!(f64::from(cliff) >= 0.93 * (all - f64::from(silent)), "{cliff}");
    coverage[0].check_given("page cache");
    coverage[1].check("the first plateau");
    coverage[2].check("the second plateau");
}

#[test]
fn where_no_cache_was_planted_none_is_found() {
    let mut claims = [0; 2];
    let sizes = ["4MiB", "8MiB", "16MiB", "64MiB", "256MiB", "512MiB"];
    for seed in seeds() {
        for (place, cold) in ["true", "false"].into_iter().enumerate() {
            let records = records(&sizes, &[("cold", cold)], seed);
            claims[place] += u32::from(!answer(&AnalysisInput::from_records(&records)).is_empty());
        }
    }
    let limit = null_limit() * seeds().end as f64;
    assert!(claims.iter().all(|&claims| f64::from(claims) <= limit), "{claims:?}");
}

#[test]
fn a_finding_tells_plateaus_edges_and_names_in_words() {
    let planted = [
        ("sim-processor-cache", "24MiB"),
        ("sim-cache", "200MiB"),
        ("sim-noise", "0"),
        ("sim-trial-noise", "0.01"),
    ];
    let records = records(SIZES, &planted, 1);
    let inventory = server(24.0 * MIB);
    let found = answer(&asked(&records, &inventory));
    assert_eq!((found.len(), found[0].evidence.len()), (1, 33));
    for part in [
        "3 plateaus",
        "4 MiB to 16 MiB (the L3 cache of 24.0 MiB)",
        "the page cache",
        "16 GiB on (the device)",
        "16.0 MiB and 32.0 MiB, all at once",
        "little by little",
    ] {
        assert!(found[0].whole().contains(part), "{part}: {}", found[0].claim);
    }
    // Nothing is known of the server: what can be told by the bytes alone is.
    let found = answer(&AnalysisInput::from_records(&records));
    let unknown = "a cache of between 16.0 MiB and 32.0 MiB of a processor whose caches the \
                   inventory does not know";
    assert!(found[0].whole().contains(unknown), "{}", found[0].claim);
}

fn origins(verdicts: &[Verdict]) -> Vec<Origin> {
    let of = |verdict: &Verdict| Origin {
        verdict: *verdict,
        device_share: None,
        reason: "as planted".to_owned(),
    };
    verdicts.iter().map(of).collect()
}

/// The name of a plateau up to 16 MiB.
fn name(
    known: &KnownCaches,
    here: &[Verdict],
    beyond: &[Verdict],
    edge: Option<(f64, f64)>,
) -> String {
    let edge = edge.map(|(low, high)| PlateauEdge {
        from: 0,
        to: Some(1),
        low_bytes: low * MIB,
        high_bytes: high * MIB,
        confident: true,
        shape: "cliff",
        left: Estimate::bare(0.5),
    });
    let (here, beyond) = (origins(here), origins(beyond));
    let settings = Settings::defaults("file");
    let seen = Seen {
        to: 16.0 * MIB,
        here: here.iter().collect(),
        beyond: beyond.iter().collect(),
        edge: edge.as_ref(),
        settings: &settings,
    };
    known.name(&seen).0
}

#[test]
fn no_plateau_is_named_by_its_size_alone() {
    let known = KnownCaches::from_inventory(&server(24.0 * MIB));
    let edge = Some((16.0, 32.0));
    let of = |here: &[Verdict], beyond: &[Verdict], edge| name(&known, here, beyond, edge);
    let (cache, device) = ([Verdict::Cache], [Verdict::Device]);
    assert_eq!(of(&cache, &cache, edge), "the L3 cache of 24.0 MiB");
    // The same size, and other bytes.
    let behind = "a cache behind the kernel of between 16.0 MiB and 32.0 MiB";
    assert_eq!(of(&device, &device, edge), behind);
    assert_eq!(of(&[Verdict::DeviceCache], &device, edge), behind);
    assert_eq!(of(&cache, &device, edge), "the page cache");
    assert_eq!(
        of(&cache, &device, Some((128.0, 256.0))),
        "the page cache, within 256 MiB of memory"
    );
    for (here, what) in [
        (vec![Verdict::Cache, Verdict::Device], "trials that do not agree"),
        (vec![Verdict::Unknown], "no evidence"),
        (vec![Verdict::None], "writes"),
        (vec![Verdict::Remote], "over a wire"),
        (vec![], "no trial"),
    ] {
        assert_eq!(of(&here, &cache, edge), UNKNOWN, "{what}");
        assert_eq!(of(&here, &cache, None), UNKNOWN, "{what}");
    }
    // Two fit; none does; and what is last is memory only where no cache could hold it.
    assert_eq!(of(&cache, &cache, Some((0.5, 32.0))), UNKNOWN);
    let none = "a cache of between 2.00 MiB and 4.00 MiB that the inventory does not know";
    assert_eq!(of(&cache, &cache, Some((2.0, 4.0))), none);
    assert_eq!(of(&cache, &[], None), UNKNOWN);
    let small = KnownCaches::from_inventory(&server(8.0 * MIB));
    assert_eq!(name(&small, &cache, &[], None), "the page cache");
    assert_eq!(name(&KnownCaches::from_inventory(&Json::Null), &cache, &[], None), UNKNOWN);
    assert_eq!(of(&device, &[], None), "the device");
}

#[test]
fn one_record_again_and_again_has_no_working_set_of_its_file() {
    let mut settings = Settings::defaults("file");
    settings.set(knob::FILE_SIZE, 1 << 20);
    settings.set(knob::STREAMS, 4);
    settings.set(knob::FILES, 2);
    assert_eq!(working_set(&settings), Some(8.0 * MIB));
    settings.set(knob::ACCESS, Access::RecordRewrite);
    assert_eq!(working_set(&settings), None);
}

#[test]
fn a_hundred_thousand_trials_of_as_many_sizes_are_left_alone_at_once() {
    let mut records = records(&["4MiB", "8MiB"], &[], 1);
    // Of so many the program has no samples either.
    let last = records[5].clone().light();
    for i in 0..20_000 {
        let mut record = last.clone();
        record.trial.settings.set(knob::FILE_SIZE, (16 << 20) + 4096 * i);
        records.push(record);
    }
    assert!(regions(&AnalysisInput::from_records(&records)).is_empty());
}
