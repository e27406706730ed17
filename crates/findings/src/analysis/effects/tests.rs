//! Sentences and the choice of what is compared; coverage is tested in `stats::main_effects` and,
//! through the whole program, on the simulated server.

use super::*;
use crate::analysis::{AnalysisInput, Severity, findings};
use base::stats::testing::{Coverage, Random, null_limit, seeds};
use engines::engine::testing as sim;
use experiment::knob::testing::settings;
use experiment::knob::{self, Settings};
use experiment::measurement::{Amount, Measurement, Outcome, Window};
use experiment::plan::Trial;

mod nested;
mod simulated;

/// Every combination of the levels of the knobs given, in each replicate.
pub fn crossed(factors: &[(&str, &[&str])], replicates: u32) -> Vec<(u32, Settings)> {
    let cells = combined(&[("access", "read")], factors);
    let all = (1..=replicates)
        .flat_map(|replicate| cells.iter().map(move |cell| (replicate, settings("file", cell))));
    all.collect()
}

/// Each combination of the levels of the knobs given, besides what `all` have.
fn combined<'a>(
    all: &[(&'a str, &'a str)],
    factors: &[(&'a str, &[&'a str])],
) -> Vec<Vec<(&'a str, &'a str)>> {
    factors.iter().fold(vec![all.to_vec()], |cells, (knob, levels)| {
        let grown = cells.iter().flat_map(|cell| {
            levels.iter().map(move |level| [cell.as_slice(), &[(*knob, *level)]].concat())
        });
        grown.collect()
    })
}

/// Planned trials that moved so many bytes in one second.
pub fn records(
    cells: Vec<(u32, Settings)>,
    mut rate: impl FnMut(u32, &Settings) -> f64,
) -> Vec<Record> {
    let record = |(place, (replicate, settings)): (usize, (u32, Settings))| {
        let done = Amount {
            read_bytes: rate(replicate, &settings) as u64,
            read_ops: 1,
            ..Amount::default()
        };
        let window = Some(Window { start_ns: 0, end_ns: 1_000_000_000, done });
        let number = place as u32 + 1;
        let trial = Trial {
            number,
            replicate,
            group: "scan".to_owned(),
            settings,
            first_file: 0,
            seed: 1,
            planned: Some(number),
        };
        let measurement = Measurement { window, ..Measurement::default() };
        Record::new(trial, Outcome::Done(Box::new(measurement)))
    };
    cells.into_iter().enumerate().map(record).collect()
}

/// `io-engine` stands for a RAID level here, and `read-ahead` for itself.
fn layout(knob: &Knob) -> usize {
    match knob.name {
        "io-engine" | "data" => 0,
        "read-ahead" => 1,
        _ => 2,
    }
}

const FACTORS: &[(&str, &[&str])] = &[
    ("io-engine", &["uring", "sync"]),
    ("data", &["random", "zero"]),
    ("read-ahead", &["128KiB", "1MiB"]),
    ("streams", &["1", "8"]),
];

/// Rates with noise of arrays: `uring` is 4 times `sync`, 8 streams twice one, all else nothing.
fn split_plot(seed: u64, replicates: u32) -> Vec<Record> {
    let mut random = Random::new(seed);
    let mut plots = std::collections::BTreeMap::new();
    let cells = crossed(FACTORS, replicates);
    records(cells, |replicate, settings| {
        let (array, data) = (settings.get(knob::IO_ENGINE), settings.get(knob::DATA));
        let plot = (replicate, array.to_owned(), data.to_owned());
        let worth = *plots.entry(plot).or_insert_with(|| 0.05 * random.normal());
        let gain = if array == "uring" { 4.0 } else { 1.0 }
            * settings.number(knob::STREAMS).powf(1.0 / 3.0);
        100e6 * gain * (worth + 0.01 * random.normal()).exp()
    })
}

fn claim(records: &[Record]) -> String {
    tell::tell(&of_strata(records, &layout)[0]).whole()
}

#[test]
fn what_matters_is_named_first_and_what_does_not_is_named_with_what_would_have_been_found() {
    let claim = claim(&split_plot(1, 3));
    assert!(claim.starts_with("In `scan`: `io-engine` matters most: uring "), "{claim}");
    assert!(claim.contains("times what sync does ("), "{claim}");
    assert!(claim.contains(" `streams` matters: streams 8 "), "{claim}");
    assert!(claim.contains("`data`: no difference of 10 % or more: "), "{claim}");
    assert!(claim.contains("; geometric means "), "{claim}");
    assert!(claim.contains("on 48 trials in 3 replicates; each interval is 95 % by itself."));
}

/// "No effect shown" was said of whatever was not beyond chance, even where an effect of a half
/// would not have been.
#[test]
fn what_is_not_shown_is_not_decided_where_a_tenth_could_have_been_missed() {
    let mut random = Random::new(7);
    let factors = &[FACTORS[2], FACTORS[3]];
    let records = records(crossed(factors, 3), |_, settings| {
        1e8 * settings.number(knob::STREAMS) * (0.15 * random.normal()).exp()
    });
    let claim = claim(&records);
    assert!(claim.contains("`read-ahead`: not decided: read-ahead "), "{claim}");
    assert!(claim.contains("would have been found 4 times in 5"), "{claim}");
}

/// Judged by the scatter of trials, what an array happened to be worth was an effect of its
/// settings in most campaigns.
#[test]
fn an_array_that_does_nothing_matters_only_when_its_trials_are_taken_for_arrays() {
    let (mut covered, mut claims, mut pooled) = (Coverage::default(), 0, 0);
    for seed in seeds() {
        let records = split_plot(seed, 3);
        let matters = |all: &[Effects], knob: &str| {
            all[0].knobs.iter().any(|of| of.knob == knob && of.matters == Some(true))
        };
        let right = of_strata(&records, &layout);
        let array = right[0].knobs.iter().find(|of| of.knob == "io-engine").unwrap();
        let span = array.span.as_ref().unwrap();
        covered.add(span.ratio.interval, 4.0);
        claims += u32::from(matters(&right, "data") || matters(&right, "read-ahead"));
        let pool = of_strata(&records, &|_| 0);
        let data = pool[0].knobs.iter().find(|of| of.knob == "data").unwrap();
        let ends = data.span.as_ref().unwrap().ratio.interval.unwrap();
        pooled += u32::from(!ends.covers(1.0));
    }
    covered.check("io-engine");
    let share = |claims: u32| f64::from(claims) / seeds().end as f64;
    assert!(share(claims) <= null_limit(), "{claims} claims");
    // By its interval: a claim has to hold without any one combination, too.
    assert!(share(pooled) > 0.3, "pooled: {pooled} intervals without 1");
}

/// Arrays were made once each, and their settings and all combinations of them take up what they
/// differ by; within them there are interactions of three knobs to judge by.
#[test]
fn one_replicate_judges_by_interactions_what_has_them_and_says_so() {
    let records = split_plot(2, 1);
    let finding = tell::tell(&of_strata(&records, &layout)[0]);
    let of_arrays = "times what sync does, without interval or test";
    assert!(finding.whole().contains(of_arrays), "{}", finding.claim);
    assert!(finding.whole().contains("`streams` matters most"), "{}", finding.claim);
    let borrowed = "interactions of three knobs and more are taken for the error";
    assert!(finding.whole().contains(borrowed), "{}", finding.claim);
    assert!(finding.whole().contains("What has no interval has too few of them."));
    let few = split_plot(2, 1).into_iter().filter(|record| {
        let settings = &record.trial.settings;
        settings.get(knob::IO_ENGINE) == "sync" && settings.get(knob::DATA) == "zero"
    });
    let few: Vec<Record> = few.collect();
    let all = of_strata(&few, &layout);
    assert!(all[0].interactions_as_error.is_none() && all[0].knobs[0].matters.is_none());
    let finding = tell::tell(&all[0]);
    assert!(
        !finding.whole().contains("95 %") && !finding.whole().contains("matters"),
        "{finding:?}"
    );
    assert!(finding.whole().contains("without interval or test"), "{}", finding.claim);
    assert!(finding.advice.unwrap().contains("--replicates 3"));
    let finding = tell::tell(&of_strata(&records, &layout)[0]);
    assert!(finding.whole().contains("16 trials in one replicate; each"), "{}", finding.claim);
    assert!(finding.advice.unwrap().contains("--replicates 3"));
}

/// A card is put in once for all replicates: how far these scatter says nothing of what another
/// putting in would have come to.
#[test]
fn a_label_has_a_ratio_and_no_interval_however_many_replicates_there_are() {
    let factors: &[(&str, &[&str])] = &[("card", &["areca", "lsi"]), ("data", &["random", "zero"])];
    let mut random = Random::new(5);
    let records = records(crossed(factors, 5), |_, settings| {
        let gain = if settings.get(knob::CARD) == Some("lsi") { 2.0 } else { 1.0 };
        let data = if settings.get(knob::DATA) == "zero" { 1.5 } else { 1.0 };
        1e8 * gain * data * (0.01 * random.normal()).exp()
    });
    let all = &effects(&records)[0];
    let of = |name: &str| all.knobs.iter().find(|knob| knob.knob == name).unwrap();
    let (card, data) = (of("card"), of("data"));
    let span = card.span.as_ref().unwrap();
    assert!((span.ratio.value - 2.0).abs() < 0.1 && span.ratio.interval.is_none(), "{span:?}");
    assert_eq!((card.matters, span.chance, span.detectable_ratio), (None, None, None));
    assert!(card.levels.iter().all(|level| level.ratio.interval.is_none()));
    assert_eq!(data.matters, Some(true), "{data:?}");
    let claim = tell::tell(all).whole();
    assert!(claim.contains("each set up once, so without interval or test"), "{claim}");
}

#[test]
fn failed_trials_are_counted_and_allowed_for() {
    let mut records = split_plot(3, 3);
    records[5].outcome = Outcome::Failed("cannot read x: Input/output error".into());
    records[40].outcome = Outcome::Skipped("no such scheduler".into());
    let claim = claim(&records);
    assert!(claim.contains("on 46 trials in 3 replicates"), "{claim}");
    assert!(claim.contains("2 more trials have no such figure"), "{claim}");
    assert!(claim.contains("`io-engine` matters most"), "{claim}");
}

#[test]
fn knobs_that_always_change_together_are_said_to_be_not_separable() {
    let mut cells = crossed(FACTORS, 2);
    cells.retain(|(_, of)| (of.get(knob::IO_ENGINE) == "sync") == (of.get(knob::DATA) == "zero"));
    let records = records(cells, |_, settings| 1e8 * settings.number(knob::STREAMS));
    let finding = tell::tell(&of_strata(&records, &layout)[0]);
    assert!(finding.whole().contains("`data` is not separable from `io-engine`"), "{finding:?}");
    assert!(finding.whole().contains("`io-engine` is not separable from `data`"), "{finding:?}");
    assert!(finding.whole().contains("`streams` matters most: streams 8 "), "{finding:?}");
    assert_eq!(finding.severity, Severity::Warning);
}

/// The standard evaluation varies one knob a group; its questions answer that.
#[test]
fn nothing_is_said_of_what_was_not_planned_or_is_answered_elsewhere() {
    let mut records = split_plot(4, 2);
    assert_eq!(effects(&records).len(), 1);
    for record in &mut records {
        record.trial.planned = None;
    }
    assert!(effects(&records).is_empty());
    let one = |factor| self::records(crossed(&[factor], 3), |_, _| 1e8);
    assert!(effects(&one(("streams", &["1", "8"]))).is_empty());
    assert_eq!(effects(&one(("read-ahead", &["128KiB", "1MiB"]))).len(), 1);
    assert!(effects(&one(("read-ahead", &["1MiB"]))).is_empty());
}

/// A second pass under `memory-limit` came from the device, without one from memory; the ratio of
/// the two would have been an "effect" of 40.
#[test]
fn bytes_from_memory_and_from_the_device_are_never_in_one_effect() {
    let mut cells = Vec::new();
    for cache in ["0B", "4GiB"] {
        for (streams, depth) in [("1", "1"), ("1", "8"), ("4", "1"), ("4", "8")] {
            let cell = [("sim-cache", cache), ("streams", streams), ("queue-depth", depth)];
            let load = [("cold", "false"), ("direct", "false"), ("file-size", "64MiB")];
            let load = [&cell[..], &load, &[("stop", "300ms")]].concat();
            cells.push(("scan".to_owned(), sim::settings(&load)));
        }
    }
    let mut records = sim::light_campaign(&cells, 2, 1);
    for record in &mut records {
        record.trial.planned = Some(record.trial.number);
    }
    let all = effects(&records);
    let origins: Vec<Verdict> = all.iter().map(|of| of.origin).collect();
    assert!(origins.contains(&Verdict::Device) && origins.contains(&Verdict::Cache), "{origins:?}");
    for of in &all {
        assert_eq!(of.trials.len(), 8);
        assert!(of.knobs.iter().all(|knob| knob.knob != "sim-cache"), "{of:?}");
    }
    let found = findings(&AnalysisInput::from_records(&records));
    let told: Vec<&Finding> = found.iter().filter(|of| of.question == "effects").collect();
    assert_eq!(told.len(), 3, "{told:?}");
    let warned = told.iter().find(|of| of.whole().contains("decided where the bytes came from"));
    let warned = warned.unwrap();
    assert!(warned.whole().contains("with sim-cache 4 GiB bytes from memory"), "{warned:?}");
    assert!(warned.whole().contains("with sim-cache 0 B bytes from the device"), "{warned:?}");
    assert_eq!(warned.severity, Severity::Warning);
    assert!(told[0].claim.starts_with("In `scan`, bytes from "), "{told:?}");
}

/// Read-ahead pays on arrays of many streams alone: told so, drawn so, and of no other pair.
#[test]
fn knobs_that_act_together_are_told_in_words_and_no_others_are() {
    let (mut claims, mut missed) = (0, 0);
    for seed in seeds() {
        let mut random = Random::new(seed);
        let mut rate = |both: f64| {
            records(crossed(FACTORS, 3), |_, settings| {
                let far = settings.number(knob::STREAMS) == 8.0;
                let ahead = settings.value(knob::READ_AHEAD).to_string() == "1MiB";
                let gain = if far && ahead { both } else { 1.0 };
                1e8 * gain * (0.01 * random.normal()).exp()
            })
        };
        let (null, planted) = (rate(1.0), rate(1.5));
        claims += u32::from(tell::together(&of_strata(&null, &layout)[0]).is_some());
        let all = &of_strata(&planted, &layout)[0];
        let shown = all.interactions.as_ref().unwrap().iter();
        let shown: Vec<&Interaction> = shown.filter(|it| it.matters == Some(true)).collect();
        let right = shown.len() == 1 && (shown[0].knob, shown[0].on) == ("streams", "read-ahead");
        missed += u32::from(!right);
        if seed == 0 {
            let claim = tell::together(all).unwrap().whole();
            let lead = "In `scan`: what `streams` does depends on `read-ahead`: streams 8 gives ";
            assert!(claim.starts_with(lead), "{claim}");
            assert!(
                claim.contains(" times what streams 1 does with read-ahead 1 MiB ("),
                "{claim}"
            );
            assert!(claim.contains("), and 0.994 times with read-ahead 128 KiB"), "{claim}");
            assert_eq!(shown[0].lines.len(), 2);
        }
    }
    let share = |many: u32| f64::from(many) / seeds().end as f64;
    assert!(share(claims) <= null_limit(), "{claims} claims");
    assert!(share(missed) <= null_limit(), "{missed} wrong");
}

/// The fifth source: read-ahead changed how well runs repeat, and not how fast they are.
#[test]
fn a_knob_that_changes_repeatability_is_told_and_no_other_is() {
    let (mut claims, mut missed) = (0, 0);
    for seed in seeds() {
        let mut random = Random::new(seed);
        let mut rate = |times: f64| {
            records(crossed(FACTORS, 5), |_, settings| {
                let ahead = settings.value(knob::READ_AHEAD).to_string() == "1MiB";
                let deviation = if ahead { 0.01 * times } else { 0.01 };
                1e8 * (deviation * random.normal()).exp()
            })
        };
        let (null, planted) = (rate(1.0), rate(8.0));
        let of = |records: &[Record]| tell::spread(&of_strata(records, &|_| 0)[0]);
        claims += u32::from(of(&null).is_some());
        let told = of(&planted).map_or(String::new(), |finding| finding.whole());
        let lead = "In `scan`: with read-ahead 1 MiB repeats differ ";
        missed += u32::from(!told.starts_with(lead) || told.contains("; with"));
    }
    let share = |many: u32| f64::from(many) / seeds().end as f64;
    assert!(share(claims) <= null_limit(), "{claims} claims");
    assert!(share(missed) <= null_limit(), "{missed} missed");
}

/// One of two arrays gains from the other data, with either number of streams: that is of the two
/// together, and not of the data.
#[test]
fn what_one_combination_shows_alone_is_told_as_that_and_matters_not() {
    let factors: &[(&str, &[&str])] = &[
        ("io-engine", &["uring", "sync"]),
        ("data", &["random", "zero"]),
        ("streams", &["1", "8"]),
    ];
    let mut random = Random::new(11);
    let records = records(crossed(factors, 3), |_, settings| {
        let here = settings.get(knob::IO_ENGINE) == "sync" && settings.get(knob::DATA) == "zero";
        1e8 * if here { 1.5 } else { 1.0 } * (0.01 * random.normal()).exp()
    });
    let all = &of_strata(&records, &layout)[0];
    let data = all.knobs.iter().find(|of| of.knob == "data").unwrap();
    assert_eq!(data.matters, Some(false), "{data:?}");
    let rests = data.rests_on.as_ref().unwrap();
    assert_eq!((rests.levels.len(), rests.levels[0].knob), (1, "io-engine"));
    assert!((rests.ratio_without - 1.0).abs() < 0.02, "{rests:?}");
    let claim = tell::tell(all).whole();
    assert!(claim.contains("`data`: shown by sync alone: zero gives 1.2"), "{claim}");
    assert!(claim.contains("), without it 0.99") && !claim.contains("by luck"), "{claim}");
    // What it depends on is told, as it is so with either number of streams.
    let together = tell::together(all).unwrap().whole();
    assert!(together.contains("`data`") && together.contains("`io-engine`"), "{together}");
}

/// "ratio 0.0000354 to 115448": nobody can use such ends.
#[test]
fn an_interval_that_says_nothing_has_no_digits() {
    let mut effects = of_strata(&split_plot(1, 3), &layout).swap_remove(0);
    let span = effects.knobs[0].span.as_mut().unwrap();
    span.ratio = base::stats::Estimate::within(2.0, 0.000_035_4, 115_448.0);
    let claim = tell::tell(&effects).whole();
    assert!(claim.contains("(less than 0.01 to more than 100"), "{claim}");
}

/// "Effect 1.26 of 21.2k and 20.3k": the ratio is of geometric means, which stand beside it.
#[test]
fn an_effect_can_be_computed_from_what_stands_beside_it() {
    let mut round = 0;
    let all = records(crossed(&[("io-engine", &["uring", "sync"])], 4), |_, settings| {
        round += 1;
        match settings.get(knob::IO_ENGINE) {
            "uring" => 21.2e6,
            _ => [4.0e6, 36.6e6][round / 2 % 2],
        }
    });
    let claim = tell::tell(&effects(&all)[0]).whole();
    let after = |text: &str| -> f64 {
        let rest = &claim[claim.find(text).unwrap_or_else(|| panic!("{claim}")) + text.len()..];
        rest.split(' ').next().unwrap().parse().unwrap()
    };
    let (ratio, most, least) = (after("gives "), after("geometric means "), after("MB/s and "));
    assert!((most / least / ratio - 1.0).abs() < 0.01, "{claim}");
    assert!(ratio > 1.5, "of arithmetic means it were 1.04: {claim}");
}
