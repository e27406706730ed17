//! Planted truth: whole simulated campaigns, of which the analysis must find what was planted, with
//! intervals that cover it, and claim nothing else.

use super::{AnalysisInput, Finding, Severity, answer, findings};
use base::stats::Interval;
use base::stats::testing::{Coverage, Random, null_limit, seeds};
use engines::engine::testing::{campaign, light_campaign, settings};
use experiment::knob::{self, Settings};
use experiment::measurement::{Amount, Note, Operation, Outcome, Record, latency_histogram};

/// Replicates differ by 2 %, and neighbours in time resemble each other.
const NOISE: &[(&str, &str)] =
    &[("sim-noise", "0.05"), ("sim-correlation", "0.9"), ("sim-trial-noise", "0.02")];

const STREAMS: &[&str] = &["1", "2", "4", "8", "16", "32", "60"];

/// A cell for each level of `knob`.
fn cells(knob: &str, levels: &[&str], changes: &[(&str, &str)]) -> Vec<(String, Settings)> {
    let cell = |level: &&str| {
        let all = [NOISE, changes, &[("stop", "500ms"), (knob, level)]].concat();
        (knob.to_owned(), settings(&all))
    };
    levels.iter().map(cell).collect()
}

fn of<'a>(findings: &'a [Finding], question: &str) -> Vec<&'a Finding> {
    findings.iter().filter(|finding| finding.question == question).collect()
}

/// What a claim prints in the first brackets after `lead`, if it is an interval.
fn in_brackets<'a>(claim: &'a str, lead: &str) -> Option<&'a str> {
    let rest = &claim[claim.find(lead)? + lead.len()..];
    let (inside, _) = rest.split_once('(')?.1.split_once(')')?;
    inside.contains(" to ").then_some(inside)
}

/// The interval that a claim prints after `lead`.
fn printed(claim: &str, lead: &str) -> Option<Interval> {
    let rest = in_brackets(claim, lead)?;
    let mut words = rest.split([' ', ')', ',', '%']).filter(|word| !word.is_empty());
    let low = words.next()?.parse().ok()?;
    let high = words.find(|word| word.parse::<f64>().is_ok())?.parse().ok()?;
    Some(Interval { low, high })
}

/// At most so many of the seeds may bring a claim where nothing was planted.
fn at_most_by_chance(claims: u32, what: &str) {
    let share = f64::from(claims) / seeds().end as f64;
    assert!(share <= null_limit(), "{what}: {claims} claims, {share}");
}

/// Small blocks and a deep queue: a stream gets its rate, and no more.
const LOAD: &[(&str, &str)] = &[("block-size", "64KiB"), ("queue-depth", "8")];

fn mb_per_s(rate: f64) -> String {
    format!("{}B/s", (rate * 1e6).round())
}

/// What a claim says of its knee, without the figure at the peak.
fn knee_in(claim: &str) -> &str {
    let knee = claim.split_once("streams").map_or(claim, |(_, knee)| knee);
    knee.split_once(". The most").map_or(knee, |(knee, _)| knee)
}

/// The same campaign as if another engine had run it, which did an operation, or a transaction, for
/// each byte.
fn of_another(engine: &str, records: &[Record]) -> Vec<Record> {
    let mut others = records.to_vec();
    for record in &mut others {
        let streams = record.trial.settings.value(knob::STREAMS).clone();
        record.trial.settings = Settings::defaults(engine);
        record.trial.settings.set_named(knob::STREAMS.name, streams);
        let Outcome::Done(measurement) = &mut record.outcome else { continue };
        let Some(window) = &mut measurement.window else { continue };
        let as_names = |of: &Amount| Amount { metadata_ops: of.bytes(), ..Amount::default() };
        window.done = as_names(&window.done);
        for stream in &mut measurement.streams {
            (stream.pass, stream.total) = (as_names(&stream.pass), as_names(&stream.total));
        }
        // As long as Little's law has it: what a record contradicts is in no curve.
        let ops = window.done.metadata_ops;
        let each_ns = window.seconds() * 1e9 * measurement.streams.len() as f64 / ops as f64;
        let mut histogram = latency_histogram();
        histogram.saturating_record_n(each_ns as u64, ops);
        let kind = if engine == "tree" { Operation::Create } else { Operation::Transaction };
        measurement.latency = vec![(kind, histogram)];
    }
    others
}

#[test]
fn the_planted_knee_is_found_and_no_collapse_beyond_it() {
    let (mut coverage, mut silent, mut collapses) = (Coverage::default(), 0, 0);
    for seed in seeds() {
        let knee = Random::new(seed).between(2.0, 16.0);
        let capacity = mb_per_s(knee * 50.0);
        let changes = [LOAD, &[("sim-stream-rate", "50MB/s"), ("sim-capacity", &capacity)]];
        let records = campaign(&cells("streams", STREAMS, &changes.concat()), 3, seed);
        let found = findings(&AnalysisInput::from_records(&records));
        let scaling = of(&found, "scaling");
        match printed(&scaling[0].claim, "up to ") {
            Some(interval) => coverage.add(Some(interval), knee),
            None => silent += 1,
        }
        let warned = scaling.iter().filter(|finding| finding.severity == Severity::Warning);
        collapses += warned.count() as u32;
        // The same truth, planted in operations on names and in transactions.
        let rates = [("tree", "operations/s"), ("mail", "transactions/s")];
        for (engine, unit) in rates.into_iter().filter(|_| seed < 25) {
            let found = findings(&AnalysisInput::from_records(&of_another(engine, &records)));
            let others = of(&found, "scaling");
            assert_eq!(others.len(), scaling.len(), "{others:?}");
            assert!(others[0].claim.contains(unit), "{}", others[0].claim);
            let (one, other) = (&scaling[0].claim, &others[0].claim);
            assert_eq!(knee_in(other), knee_in(one), "seed {seed}");
        }
    }
    coverage.check("knee");
    at_most_by_chance(silent, "no knee where one was planted");
    at_most_by_chance(collapses, "collapse where none was planted");
}

#[test]
fn a_planted_collapse_is_a_warning() {
    let (mut missed, mut open) = (0, 0);
    for seed in seeds() {
        let planted = [("sim-stream-rate", "50MB/s"), ("sim-capacity", "300MB/s")];
        let collapse = [("sim-collapse", "0.008")];
        let changes = [LOAD, &planted, &collapse].concat();
        let records = light_campaign(&cells("streams", STREAMS, &changes), 3, seed);
        let found = findings(&AnalysisInput::from_records(&records));
        let warned = of(&found, "scaling").into_iter().any(|finding| {
            let falls = [" falls beyond ", " collapses beyond "];
            let is_told = falls.iter().any(|it| finding.claim.contains(it));
            finding.severity == Severity::Warning && is_told
        });
        missed += u32::from(!warned);
        // 6 streams, between the measured 4 and 8.
        let knee = &of(&found, "scaling")[0].claim;
        match between(knee) {
            Some((low, high)) => assert!(low < 6.0 && high > 6.0, "seed {seed}: {knee}"),
            None => open += 1,
        }
        assert!(!(warned && knee.contains("may go on growing")), "seed {seed}: {found:#?}");
    }
    at_most_by_chance(missed, "collapse missed");
    at_most_by_chance(open, "where it stops not decided");
}

/// The levels of a claim such as `stops growing between 4 and 8 streams`.
fn between(claim: &str) -> Option<(f64, f64)> {
    let rest = &claim[claim.find("between ")?..];
    let mut numbers = rest.split(' ').filter_map(|word| word.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// The law of a campaign in which streams wait for each other, and cost each other `coherency`.
fn law(seed: u64, contention: f64, coherency: f64) -> Option<String> {
    let contention = format!("{contention:.6}");
    let coherency = format!("{coherency:.9}");
    let planted = [
        ("sim-stream-rate", "50MB/s"),
        ("sim-capacity", "100000MB/s"),
        ("sim-contention", &contention),
        ("sim-coherency", &coherency),
    ];
    let records = light_campaign(&cells("streams", STREAMS, &[LOAD, &planted].concat()), 3, seed);
    let found = findings(&AnalysisInput::from_records(&records));
    let mut scaling = of(&found, "scaling").into_iter();
    Some(scaling.find(|finding| finding.claim.contains("Universal Scalability"))?.claim.clone())
}

#[test]
fn a_planted_law_of_scaling_is_found_with_its_peak() {
    let mut coverage: [Coverage; 3] = Default::default();
    let (mut refused, mut unbounded) = (0, 0);
    for seed in seeds() {
        let mut random = Random::new(seed);
        let (contention, peak) = (random.between(0.02, 0.2), random.between(5.0, 20.0));
        let coherency = (1.0 - contention) / (peak * peak);
        let Some(claim) = law(seed, contention, coherency) else {
            refused += 1;
            continue;
        };
        coverage[0].add(printed(&claim, "contention"), contention * 100.0);
        coverage[1].add(printed(&claim, "coherency"), coherency * 100.0);
        match printed(&claim, "peak lies at") {
            Some(ends) => coverage[2].add(Some(ends), peak),
            None => unbounded += 1,
        }
    }
    for (part, coverage) in ["contention", "coherency", "peak"].iter().zip(&coverage) {
        coverage.check_given(part);
    }
    at_most_by_chance(refused, "no law where one was planted");
    at_most_by_chance(unbounded, "a peak amid the levels left open");
}

#[test]
fn a_law_without_a_peak_gets_none() {
    let (mut claims, mut refused) = (0, 0);
    for seed in seeds() {
        let contention = Random::new(seed).between(0.02, 0.2);
        let claim = law(seed, contention, 0.0);
        refused += u32::from(claim.is_none());
        claims += u32::from(claim.is_some_and(|claim| !claim.contains("peak is not bounded")));
    }
    at_most_by_chance(claims, "a peak where none was planted");
    at_most_by_chance(refused, "no law where one was planted");
}

/// An evaluation of a disk that one stream fills told both that one gives all it has already and
/// that its streams follow a law, with a negative cost of each pair.
#[test]
fn a_flat_curve_gets_no_law_and_no_cost_is_negative() {
    for seed in seeds() {
        let flat = [("sim-stream-rate", "50MB/s"), ("sim-capacity", "40MB/s")];
        let records = light_campaign(&cells("streams", STREAMS, &[LOAD, &flat].concat()), 3, seed);
        let found = findings(&AnalysisInput::from_records(&records));
        let scaling = of(&found, "scaling");
        let has = |word: &str| scaling.iter().any(|finding| finding.claim.contains(word));
        assert!(!(has("1 stream already") && has("Universal")), "seed {seed}: {scaling:#?}");
        let cost = law(seed, 0.1, 0.0);
        assert!(cost.as_ref().is_none_or(|claim| !claim.contains("costs, -")), "{cost:?}");
    }
}

#[test]
fn where_the_data_bound_no_knee_none_is_claimed() {
    let (mut claims, mut open) = ([0; 2], 0);
    for seed in seeds() {
        for (place, capacity, word) in [
            (0, "50000MB/s", "may go on growing beyond 60 streams"),
            (1, "40MB/s", "1 stream already"),
        ] {
            let changes = [LOAD, &[("sim-stream-rate", "50MB/s"), ("sim-capacity", capacity)]];
            let records = light_campaign(&cells("streams", STREAMS, &changes.concat()), 3, seed);
            let found = findings(&AnalysisInput::from_records(&records));
            let said = &of(&found, "scaling")[0].claim;
            let flat = place == 1 && said.contains("gains from more than 1 stream is not decided");
            claims[place] += u32::from(!said.contains(word) && !flat);
            open += u32::from(flat);
        }
    }
    // Three replicates that scatter by 4 % cannot always tell that seven levels give the same.
    assert!(f64::from(open) < 0.5 * seeds().end as f64, "{open} not decided");
    at_most_by_chance(claims[0], "knee in a straight line");
    at_most_by_chance(claims[1], "knee in a flat line");
}

/// One stream got 1253 and 32 got 1878 MB/s, and the finding said that one "gives all it has" while
/// another said that "more in flight gets more". Nothing of the kind is said where more streams may
/// get a tenth more, and where they get no more it is said.
#[test]
#[expect(clippy::print_stdout, reason = "how often is told with --nocapture")]
fn one_stream_gives_all_it_has_where_that_is_shown_and_nowhere_else() {
    let (mut wrong, mut said) = (0, 0);
    for seed in seeds() {
        let mut random = Random::new(seed);
        let spread = format!("{:.3}", random.between(0.02, 0.2));
        let replicates = random.between(1.0, 6.0).ceil() as u32;
        let gains = |capacity: f64, spread: &str, replicates: u32| {
            let capacity = mb_per_s(capacity);
            let limits = [("sim-stream-rate", "100MB/s"), ("sim-capacity", &capacity)];
            let noise = [("sim-noise", "0.01"), ("sim-trial-noise", spread)];
            let changes = [LOAD, &limits, &noise].concat();
            let plan = cells("streams", &["1", "2", "4", "8", "32"], &changes);
            let records = light_campaign(&plan, replicates, seed);
            let found = findings(&AnalysisInput::from_records(&records));
            of(&found, "scaling")[0].claim.contains("1 stream already")
        };
        // A stream alone gets 100 MB/s at most, and all together so many times as much.
        wrong += u32::from(gains(100.0 * random.between(1.1, 1.5), &spread, replicates));
        said += u32::from(gains(80.0, "0.02", 6));
    }
    let share = |count: u32| f64::from(count) / seeds().end as f64;
    println!("gives all it has: wrong {}, said {}", share(wrong), share(said));
    assert!(share(wrong) <= 0.05 && share(said) >= 0.8, "{wrong} wrong, {said} said");
}

#[test]
fn the_depth_from_which_only_latency_grows_is_found() {
    let (mut coverage, mut undecided) = (Coverage::default(), 0);
    for seed in seeds() {
        let depth = Random::new(seed).between(3.0, 30.0);
        // Each operation takes 1 ms + 4096 B / 1 GB/s; `depth` of them fill the capacity.
        let capacity = mb_per_s(depth * 4096.0 / 1.004_096e-3 / 1e6);
        let device = [("sim-service-time", "1ms"), ("sim-stream-rate", "1000MB/s")];
        let load = [("access", "random-read"), ("block-size", "4KiB"), ("sim-capacity", &capacity)];
        let levels = ["1", "2", "4", "8", "16", "32", "64", "128"];
        let records =
            light_campaign(&cells("queue-depth", &levels, &[&device[..], &load].concat()), 3, seed);
        let found = findings(&AnalysisInput::from_records(&records));
        let claim = &of(&found, "depth")[0].claim;
        coverage.add(printed(claim, "up to queue depth "), depth);
        let open = claim.contains("may go on growing");
        undecided += u32::from(!open && !claim.contains("Deeper queues add latency"));
    }
    // Three replicates that scatter by 4 % cannot always tell that deeper queues get no more.
    assert!(f64::from(undecided) < 0.25 * seeds().end as f64, "{undecided} not decided");
    let silent = coverage.asked - coverage.given;
    coverage.check_given("depth");
    at_most_by_chance(silent, "no depth where one was planted");
}

#[test]
fn the_half_bandwidth_block_size_is_found() {
    let mut coverage = Coverage::default();
    let (mut latency, mut bandwidth) = (Coverage::default(), Coverage::default());
    for seed in seeds() {
        let half = Random::new(seed).between(20.0, 200.0);
        // Half of the bandwidth where the bytes take as long as the service: 1 ms at this rate.
        let rate = mb_per_s(half * 1024.0 / 1e-3 / 1e6);
        let device = [("sim-service-time", "1ms"), ("sim-stream-rate", &rate)];
        let levels = ["4KiB", "16KiB", "64KiB", "256KiB", "1MiB"];
        let records = light_campaign(&cells("block-size", &levels, &device), 3, seed);
        let found = findings(&AnalysisInput::from_records(&records));
        let claim = &of(&found, "block-size")[0].claim;
        let interval = printed_bytes(claim).map(|(low, high)| Interval { low, high });
        coverage.add(interval, half);
        latency.add(printed_in(claim, "A fixed time of ", &[("us", 1e-3), ("ms", 1.0)]), 1.0);
        bandwidth.add(printed(claim, "and a bandwidth of "), half * 1.024);
    }
    latency.check_given("latency");
    bandwidth.check_given("bandwidth");
    let silent = coverage.asked - coverage.given;
    coverage.check_given("half-bandwidth size");
    at_most_by_chance(silent, "no half-bandwidth size");
}

/// The interval that is printed after `lead`, each end in one of these units.
fn printed_in(claim: &str, lead: &str, units: &[(&str, f64)]) -> Option<Interval> {
    let words: Vec<&str> = in_brackets(claim, lead)?.split(' ').collect();
    let scaled = |number: &str, unit: &str| {
        let (_, scale) = units.iter().find(|(known, _)| *known == unit)?;
        Some(number.parse::<f64>().ok()? * scale)
    };
    let (low, high) = (scaled(words[0], words[1])?, scaled(words[3], words[4])?);
    Some(Interval { low, high })
}

/// The interval of the half-bandwidth size, KiB.
fn printed_bytes(claim: &str) -> Option<(f64, f64)> {
    let words: Vec<&str> = in_brackets(claim, "half of it is reached at ")?.split(' ').collect();
    let kib = |number: &str, unit: &str| {
        let scale = if unit == "MiB" { 1024.0 } else { 1.0 };
        Some(number.parse::<f64>().ok()? * scale)
    };
    Some((kib(words[0], words[1])?, kib(words[3], words[4])?))
}

#[test]
fn what_memory_gains_is_found_and_no_gain_is_claimed_where_there_is_none() {
    let (mut coverage, mut claims, mut said) = (Coverage::default(), 0, 0);
    for seed in seeds() {
        let truth = Random::new(seed).between(1.5, 20.0);
        let compare = |cache_rate: &str, replicates: u32| {
            let load = [("streams", "8"), ("file-size", "64MiB"), ("block-size", "64KiB")];
            let planted =
                [("direct", "false"), ("sim-cache-rate", cache_rate), ("queue-depth", "8")];
            let changes = [&load[..], &planted].concat();
            let plan = cells("cold", &["true", "false"], &changes);
            let records = light_campaign(&plan, replicates, seed);
            of(&findings(&AnalysisInput::from_records(&records)), "cache")[0].claim.clone()
        };
        coverage.add(printed(&compare(&mb_per_s(truth * 1000.0), 3), " times"), truth);
        let same = compare("1000MB/s", 6);
        claims += u32::from(same.contains(" as much"));
        said += u32::from(same.contains("no difference of 10 % or more"));
    }
    assert!(coverage.given_share() > 0.9, "{coverage:?}");
    coverage.check_given("cache");
    at_most_by_chance(claims, "gain from cache");
    // Silence is no answer: six replicates that scatter by 2 % show that there is none.
    assert!(f64::from(said) >= 0.8 * seeds().end as f64, "{said} said to be the same");
}

#[test]
fn the_gap_between_accepted_and_durable_is_found_where_a_cache_was_planted() {
    let (mut coverage, mut claims) = (Coverage::default(), 0);
    for seed in seeds() {
        let write = |cache: &str| {
            let load = [("access", "write"), ("streams", "8"), ("sim-write-cache", cache)];
            let records = light_campaign(&cells("queue-depth", &["4"], &load), 3, seed);
            of(&findings(&AnalysisInput::from_records(&records)), "durability")[0].clone()
        };
        // 100 to 500 MB are still in the cache after 0.5 s, and drain at 1 GB/s.
        let held = Random::new(seed).between(100e6, 500e6);
        let found = write(&format!("{}B", held.round()));
        let truth = (0.5 + held / 1e9 + 0.001) / 0.5;
        coverage.add(
            printed(&found.claim, "accepted as fast").or_else(|| {
                assert_eq!(found.severity, Severity::Warning, "{}", found.claim);
                printed(&found.claim, " times")
            }),
            truth,
        );
        claims += u32::from(write("0B").severity != Severity::Info);
    }
    coverage.check("durability");
    at_most_by_chance(claims, "gap");
}

#[test]
fn two_directories_share_a_limit_only_where_one_was_planted() {
    let mut wrong = [0; 2];
    for seed in seeds() {
        for (place, bus, shared) in [(0, "5000MB/s", false), (1, "1400MB/s", true)] {
            let mut all = Vec::new();
            for directories in [&["/a"][..], &["/b"], &["/a", "/b"]] {
                let load = [("sim-bus", bus), ("block-size", "64KiB"), ("queue-depth", "8")];
                for (group, mut settings) in cells("streams", &["2", "8", "16"], &load) {
                    let words: Vec<String> =
                        directories.iter().map(|&word| word.to_owned()).collect();
                    settings.set(knob::DIRECTORIES, &words);
                    all.push((group, settings));
                }
            }
            let found = findings(&AnalysisInput::from_records(&light_campaign(&all, 3, seed)));
            let scaling = of(&found, "scaling");
            let claim = scaling.iter().find(|finding| finding.claim.contains("at once gives"));
            wrong[place] += u32::from(claim.unwrap().claim.contains("share a limit") != shared);
        }
    }
    at_most_by_chance(wrong[0], "shared limit");
    at_most_by_chance(wrong[1], "shared limit missed");
}

fn small_campaign() -> Vec<Record> {
    campaign(&cells("streams", &["1", "4", "16"], LOAD), 2, 1)
}

#[test]
fn a_device_cache_is_told_and_its_figures_are_not_called_the_devices() {
    let planted = [("second-pass", "true"), ("sim-device-cache", "64GiB")];
    let records = campaign(&cells("streams", &["4", "8"], &[LOAD, &planted].concat()), 2, 1);
    let found = findings(&AnalysisInput::from_records(&records));
    let told = of(&found, "cache");
    assert!(told[0].claim.contains("cache behind the kernel"), "{told:?}");
    assert_eq!(told[0].evidence.len(), 4);
    let [fast, _, believe] = answer(&records, &found);
    assert!(fast.starts_with("No figure is surely the device's"), "{fast}");
    assert!(believe.contains("4 may have come from a cache"), "{believe}");
}

/// On tmpfs every write is the memory's; the answer said that "the device accepts" them.
#[test]
fn writes_that_memory_took_are_not_called_the_devices() {
    let direct = [("access", "write"), ("direct", "true")];
    let mut records = campaign(&cells("streams", &["4"], &[LOAD, &direct].concat()), 2, 1);
    let [fast, ..] = answer(&records, &[]);
    assert!(fast.starts_with("The simulated device accepts"), "{fast}");
    for ignored in [false, true] {
        for record in &mut records {
            let Outcome::Done(measurement) = &mut record.outcome else { continue };
            measurement.evidence.memory = !ignored;
            if ignored {
                measurement.notes.push(Note::new("direct-ignored", "pages were left"));
            }
        }
        let [fast, ..] = answer(&records, &[]);
        assert!(fast.starts_with("No figure is surely the device's"), "{fast}");
    }
}

/// "No figure is surely the device's" stood over trials that were all judged `device`: a note on
/// pages that an earlier load had left weighed more than two counts of the bytes.
#[test]
fn what_was_judged_the_devices_is_said_to_be_the_devices() {
    let mut records = small_campaign();
    for record in &mut records {
        let Outcome::Done(measurement) = &mut record.outcome else { continue };
        measurement.notes.push(Note::new("direct-ignored", "pages were left"));
    }
    let [fast, ..] = answer(&records, &[]);
    assert!(fast.starts_with("The simulated device delivers"), "{fast}");
}

#[test]
fn notes_are_grouped_and_failures_are_results() {
    let mut records = small_campaign();
    for record in &mut records[..2] {
        if let Outcome::Done(measurement) = &mut record.outcome {
            measurement.notes.push(Note::new("stolen", "the hypervisor took 5 % of the time"));
        }
    }
    records[4].outcome = Outcome::Failed("cannot read x: Input/output error".into());
    records[5].outcome = Outcome::Skipped("no room".into());
    let found = findings(&AnalysisInput::from_records(&records));
    let notes = of(&found, "notes");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].claim.starts_with("2 of 4 trials have the note `stolen`"), "{notes:?}");
    let failures = of(&found, "failures");
    assert_eq!(failures[0].severity, Severity::Error);
    assert_eq!(failures[0].claim, "1 of 6 trials failed: cannot read x: Input/output error");
    assert_eq!(failures[1].claim, "1 of 6 trials was skipped: no room");
    let [_, _, believe] = answer(&records, &found);
    assert!(believe.contains("2 have notes, 2 have no result"), "{believe}");
}

/// Every sentence on one directory ended in `in /var/tmp`, and a load that reached all it had at
/// once gave "half of its most with 64KiB and 90 % with 64KiB".
#[test]
fn what_is_the_same_is_told_once() {
    let device = [("sim-service-time", "80us"), ("sim-stream-rate", "500MB/s")];
    let sizes = ["512B", "1MiB", "2MiB", "4MiB"];
    let in_all = |directories: &[&str]| {
        let of = |directory: &&str| {
            let mut all = cells("block-size", &sizes, &device);
            all.extend(cells("streams", &["1", "4", "16"], LOAD));
            for (_, settings) in &mut all {
                settings.set(knob::DIRECTORIES, &[(*directory).to_owned()]);
            }
            all
        };
        let plan: Vec<_> = directories.iter().flat_map(of).collect();
        let records = campaign(&plan, 2, 1);
        let found = findings(&AnalysisInput::from_records(&records));
        let [fast, ..] = answer(&records, &found);
        (fast, found)
    };
    let (fast, found) = in_all(&["/srv/a"]);
    assert!(fast.contains("in /srv/a"), "{fast}");
    assert!(found.iter().all(|finding| !finding.claim.contains("/srv/a")), "{found:?}");
    let claim = &of(&found, "block-size")[0].claim;
    assert!(claim.contains("half its peak, and 90 % of it, with blocks of 1 MiB"), "{claim}");
    let (_, found) = in_all(&["/srv/a", "/srv/b"]);
    let scaling = of(&found, "scaling");
    assert!(scaling.len() >= 2, "{scaling:?}");
    assert!(scaling.iter().all(|finding| finding.claim.contains("in /srv/")), "{scaling:?}");
}

#[test]
fn the_answer_is_three_sentences_with_figures() {
    let records = small_campaign();
    let [fast, stops, believe] =
        answer(&records, &findings(&AnalysisInput::from_records(&records)));
    assert!(fast.starts_with("The simulated device delivers "), "{fast}");
    assert!(fast.contains(" MB/s (") && fast.contains(" to "), "{fast}");
    assert!(stops.contains("stop") || stops.contains("grow"), "{stops}");
    assert!(believe.contains("6 trials, each cell run at least 2 times"), "{believe}");
    let nothing = answer(&[], &[]);
    assert_eq!(nothing[0], "Nothing was measured.");
}

#[test]
fn one_run_of_each_gives_no_interval_and_says_so() {
    let records = campaign(&cells("streams", STREAMS, LOAD), 1, 3);
    let found = findings(&AnalysisInput::from_records(&records));
    for finding in of(&found, "scaling") {
        let mut brackets = finding.claim.split('(').skip(1).filter_map(|it| it.split(')').next());
        assert!(brackets.all(|inside| !inside.contains(" to ")), "{}", finding.claim);
        assert!(finding.claim.contains("(one run"), "{}", finding.claim);
    }
}

#[test]
fn every_question_has_a_name_of_its_own_and_answers_nothing_with_nothing() {
    let mut names: Vec<&str> = super::QUESTIONS.iter().map(|question| question.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), super::QUESTIONS.len());
    for question in super::QUESTIONS {
        assert!(question.about.ends_with('?'), "{}", question.name);
        assert!(
            (question.answer)(&AnalysisInput::from_records(&[])).is_empty(),
            "{}",
            question.name
        );
    }
}
