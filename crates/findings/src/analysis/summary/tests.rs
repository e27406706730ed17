//! Confidence over seeds, and what the first screen takes for its figures.

use super::*;
use crate::report::fixture::samples::core_cells;
use base::stats::testing::seeds;
use experiment::knob;
use experiment::measurement::{Note, Outcome};
use experiment::plan::standard;

/// What the first screen shows of one evaluation of a simulated server, each cell six times.
fn evaluated(truth: &[(&str, &str)], seed: u64) -> Vec<Record> {
    let mut cells = core_cells(truth);
    cells.retain(|(_, settings)| settings.get(knob::STREAMS) == 1);
    engines::engine::testing::light_campaign(&cells, standard::CORE_REPLICATES, seed)
}

fn of(records: &[Record]) -> Summary {
    let campaign = Campaign { engine: "sim".into(), ..Campaign::default() };
    summary(&campaign, records, &figures::cells(records), &[], &[])
}

/// The server that most of these measure: calm.
const CALM: &[(&str, &str)] = &[("sim-noise", "0.03"), ("sim-trial-noise", "0.015")];

#[test]
fn the_core_set_is_found_whole_and_in_order() {
    let found = of(&evaluated(CALM, 1));
    let names: Vec<&str> = found.figures.iter().map(|it| it.name.as_str()).collect();
    let wanted: Vec<&str> = CORE.iter().map(|it| it.name).collect();
    assert_eq!(names, wanted);
    let loads: Vec<&str> = found.figures.iter().map(|it| it.load.as_str()).collect();
    let due = ["depth 8", "depth 8, durable", "depth 32", "depth 32, durable", "one 4K read"];
    assert_eq!(loads[..5], due);
    assert!(found.figures[4].p99.is_some() && found.figures[5].p99.is_some());
}

/// A second run of one of high confidence lies within the first's ranges.
#[test]
#[expect(clippy::print_stdout, reason = "how often it holds is told with --nocapture")]
fn a_second_run_of_a_high_one_gives_what_the_first_gave() {
    let (mut high, mut all, mut within) = (0, 0, 0);
    for seed in seeds() {
        let first = of(&evaluated(CALM, 2 * seed));
        if first.confidence.as_ref().map(|it| it.level) != Some(TrustLevel::High) {
            continue;
        }
        high += 1;
        let second = of(&evaluated(CALM, 2 * seed + 1));
        for (one, other) in first.figures.iter().zip(&second.figures) {
            all += 1;
            let ends = one.estimate.interval.expect("high ones have one");
            let (low, high) = (one.range.0.min(ends.low), one.range.1.max(ends.high));
            within += usize::from((low..=high).contains(&other.estimate.value));
        }
    }
    println!("{high} are high; {within} of {all} figures of a second run lie within the first's");
    assert!(high > seeds().count() / 2, "{high}");
    assert!(within * 10 >= all * 9, "{within} of {all}");
}

#[test]
fn what_scatters_is_not_called_well_known() {
    for (trial_noise, most) in [("0.08", TrustLevel::Medium), ("0.6", TrustLevel::Low)] {
        let truth = [("sim-noise", "0.03"), ("sim-trial-noise", trial_noise)];
        let high = (0..40).filter(|seed| {
            let level = of(&evaluated(&truth, *seed)).confidence.expect("a verdict").level;
            level > most
        });
        let high = high.count();
        assert!(high <= 2, "{trial_noise}: {high} of 40 are above {most:?}");
    }
}

/// What is known within exactly 5 % was medium, "known within 5.00 % only": one and a twentieth is
/// no number that a computer has, and what was left of it without the one was a little more.
#[test]
fn the_edges_of_confidence_are_5_and_20_percent() {
    let records = evaluated(CALM, 8);
    let mut figures = of(&records).figures;
    let mut level = |times: f64| {
        let ends = base::stats::Interval { low: 4096.0, high: 4096.0 * times * times };
        figures[3].estimate = Estimate { value: 4096.0 * times, interval: Some(ends) };
        confidence(&Campaign::default(), &records, &figures).expect("a verdict").level
    };
    for (times, due) in [
        (1.0, TrustLevel::High),
        (1.0499, TrustLevel::High),
        (1.05, TrustLevel::High),
        (1.0501, TrustLevel::Medium),
        (1.1999, TrustLevel::Medium),
        (1.20, TrustLevel::Medium),
        (1.2001, TrustLevel::Low),
        (100.0, TrustLevel::Low),
    ] {
        assert_eq!(level(times), due, "{times}");
    }
    // An interval down to nothing is no interval of a rate.
    figures[3].estimate.interval = Some(base::stats::Interval { low: 0.0, high: 4096.0 });
    let lowest = confidence(&Campaign::default(), &records, &figures).expect("a verdict");
    assert_eq!(lowest.level, TrustLevel::Low, "{lowest:?}");
}

/// High is of what is known within 5 % and of nothing that was disturbed: one trial of forty is
/// enough to take it, and more than half make it low.
#[test]
fn what_is_known_well_and_was_disturbed_is_not_high() {
    let level = |disturbed: usize| {
        let mut records = evaluated(CALM, 3);
        let under: Vec<u32> = of(&records).figures.into_iter().flat_map(|it| it.trials).collect();
        assert_eq!(under.len(), 36);
        for record in records.iter_mut().filter(|it| under[..disturbed].contains(&it.trial.number))
        {
            let Outcome::Done(measurement) = &mut record.outcome else { panic!("not done") };
            let digest = measurement.digest.as_mut().expect("a digest");
            let note = Note::new("others-io", "others did");
            digest.notes = digest.notes.iter().cloned().chain([note]).collect();
        }
        of(&records).confidence.expect("a verdict").level
    };
    let due = [
        (0, TrustLevel::High),
        (1, TrustLevel::Medium),
        (18, TrustLevel::Medium),
        (19, TrustLevel::Low),
    ];
    for (disturbed, due) in due {
        assert_eq!(level(disturbed), due, "{disturbed} of 36");
    }
}

/// Of 62 trials 56 carried a note that meant one thing: the machine was busy.
#[test]
fn what_disturbed_is_one_sentence_with_what_to_do() {
    let noted = |kind: &str, of_each: usize| {
        let mut records = evaluated(CALM, 3);
        for (place, record) in records.iter_mut().enumerate() {
            if let (0, Outcome::Done(measurement)) = (place % of_each, &mut record.outcome) {
                let digest = measurement.digest.as_mut().expect("a digest");
                let notes = digest.notes.iter().cloned().chain([Note::new(kind, "others did")]);
                digest.notes = notes.collect();
            }
        }
        of(&records).confidence.expect("a verdict")
    };
    let all = noted("others-io", 1);
    assert_eq!(all.level, TrustLevel::Low);
    assert!(all.reason.starts_with("Other programs used the disk in all "), "{}", all.reason);
    assert_eq!(all.advice.as_deref(), Some("Repeat when it is idle."));
    let some = noted("others-cpu", 9);
    assert_eq!(some.level, TrustLevel::Medium);
    assert!(some.reason.starts_with("Other programs used the CPUs in "), "{}", some.reason);
    // What a load does to itself disturbs nothing, nor does what is good to know.
    for kind in ["generator-bound", "temperatures", "not-preconditioned", "second-pass"] {
        assert_eq!(noted(kind, 1).level, TrustLevel::High, "{kind}");
    }
}

/// Flash that has erased blocks left writes faster than it will: the note stood at the end of a
/// table, and the first screen said nothing of it.
#[test]
fn rates_of_writing_say_that_the_flash_was_not_filled_before() {
    let mut records = evaluated(CALM, 6);
    let remarks = |records: &[Record]| -> Vec<String> {
        let figures = of(records).figures.into_iter();
        figures.filter(|it| !it.remark.is_empty()).map(|it| it.label + " " + &it.remark).collect()
    };
    assert_eq!(remarks(&records), [""; 0]);
    for record in records.iter_mut().filter(|it| it.trial.settings.writes()) {
        let Outcome::Done(measurement) = &mut record.outcome else { panic!("not done") };
        let digest = measurement.digest.as_mut().expect("a digest");
        let fresh = Note::new("not-preconditioned", "nobody filled it");
        digest.notes = digest.notes.iter().cloned().chain([fresh]).collect();
    }
    assert_eq!(remarks(&records), ["write not preconditioned", "4K write not preconditioned"]);
    // It is no doubt: the figure is what the device did.
    assert_eq!(of(&records).confidence.expect("a verdict").level, TrustLevel::High);
}

/// "The figure "read" is may have come from a cache in 1 of 9 runs." stood on a first screen.
#[test]
fn what_may_be_a_cache_s_is_said_in_a_sentence() {
    let records = evaluated(CALM, 4);
    let mut figures = of(&records).figures;
    let reason = |figures: &[SummaryFigure]| {
        confidence(&Campaign::default(), &records, figures).expect("a verdict").reason
    };
    for (caveat, told) in [
        ("may have come from a cache", "The figure \"read\" may have come from a cache."),
        ("partly from a cache", "The figure \"read\" is partly from a cache."),
    ] {
        figures[0].caveat = caveat.to_owned();
        assert_eq!(reason(&figures), told);
    }
}

#[test]
fn a_claim_is_cut_to_its_first_sentence_without_brackets() {
    let told = shortened("It grows (95 % interval 2 to 3) to 8 streams. Beyond it falls.");
    assert_eq!(told.as_deref(), Some("It grows to 8 streams."));
    assert_eq!(shortened(&"word ".repeat(30)), None);
    assert_eq!(shortened(""), None);
}

/// "Whether it gains from more than 1 stream is not decided" and "reading from the page cache gives
/// 7667 MB/s" were two of five findings that a person in a hurry read.
#[test]
fn what_is_not_decided_or_usual_is_no_news() {
    let info = |question, text: &str| Finding::info(question, text.to_owned(), vec![1]);
    let all = [
        Finding { open: true, ..info("scaling", "Whether it gains is not decided.") },
        info("cache", "Reading from the page cache gives 7667 MB/s."),
        info("durability", "Writes are durable as fast as they are accepted."),
        Finding {
            limit: Some("unknown".into()),
            suspect: Some("device".into()),
            ..info("bottleneck", "What limits 2 of 21 cells is not known.")
        },
        Finding { severity: Severity::Warning, ..info("cache", "2 trials got bytes elsewhere.") },
        info("depth", "Reading gives all it has at queue depth 1 already."),
    ];
    let told: Vec<String> = short::short_findings(&all, &[], None, &Campaign::default())
        .into_iter()
        .map(|it| it.text)
        .collect();
    assert_eq!(
        told,
        ["Reading gives all it has at queue depth 1 already.", "2 trials got bytes elsewhere."]
    );
}

/// "1 reading trial got bytes of unknown origin" was a finding below a confidence and a figure that
/// both said so.
#[test]
fn where_the_bytes_of_a_figure_came_from_is_said_beside_it_and_not_again() {
    let mut figures = of(&evaluated(CALM, 5)).figures;
    let trials = figures[0].trials.clone();
    let strays = |evidence: &[u32]| {
        let text = "Some trials got bytes from elsewhere.".to_owned();
        Finding::info("cache", text, evidence.to_vec()).warn()
    };
    let told = |figures: &[SummaryFigure], evidence: &[u32]| {
        short::short_findings(&[strays(evidence)], figures, None, &Campaign::default()).len()
    };
    assert_eq!(told(&figures, &trials[..1]), 1, "no figure says it");
    figures[0].caveat = "may have come from a cache in 1 of 6 runs".to_owned();
    assert_eq!(told(&figures, &trials[..1]), 0);
    // Of loads that the first screen does not show it is the only one to tell.
    assert_eq!(told(&figures, &[trials[0], 1_000_000]), 1);
}

/// "write about 1900 MB/s" stood below the progress bar until the core set wrote: that were the
/// files being made, through memory.
#[test]
fn the_making_of_files_through_memory_is_no_figure_so_far() {
    let made = |direct: bool| {
        let set = [("access", "write"), ("direct", if direct { "true" } else { "false" })];
        let cell = ("write".to_owned(), engines::engine::testing::settings(&set));
        let records = engines::engine::testing::light_campaign(&[cell], 3, 1);
        so_far(&records).into_iter().map(|it| it.name).collect::<Vec<_>>()
    };
    assert_eq!(made(true), ["sequential_write"]);
    assert!(made(false).is_empty());
}

#[test]
fn a_day_is_told_as_people_write_it() {
    let campaign = Campaign { started_unix_ns: 1_795_297_393_000_000_000, ..Campaign::default() };
    assert_eq!(when(&campaign, &[]), "21 Nov 2026");
}

/// Of four layouts the first screen showed "read 431 MB/s, partly from a cache, best of 6": the one
/// on ZFS, which memory had served. Two had read 30 MB/s of their disks, and two had failed.
#[test]
fn a_figure_that_a_cache_served_hides_none_of_the_devices() {
    let cell = |streams: &str| {
        let set = [("access", "read"), ("streams", streams), ("direct", "true")];
        (streams.to_owned(), engines::engine::testing::settings(&set))
    };
    let cells = [cell("2"), cell("4"), cell("64")];
    let mut records = engines::engine::testing::light_campaign(&cells, 3, 1);
    let shown = |records: &[Record]| {
        let read = of(records).figures.remove(0);
        (read.load, read.caveat)
    };
    let fastest = shown(&records);
    assert!(fastest.0.ends_with("best of 3") && fastest.1.is_empty(), "{fastest:?}");
    let streams = |record: &Record| record.trial.settings.get(knob::STREAMS);
    let most = fastest.0.split(' ').next().unwrap().parse::<u64>().unwrap();
    for record in records.iter_mut().filter(|record| streams(record) == most) {
        let Outcome::Done(measurement) = &mut record.outcome else { panic!("not done") };
        let origin = &mut measurement.digest.as_mut().expect("light").origin;
        origin.verdict = Verdict::Mixed;
    }
    let (load, caveat) = shown(&records);
    assert!(!load.starts_with(&format!("{most} ")) && load.ends_with("best of 2"), "{load}");
    assert_eq!(caveat, "");
    // Those that failed are none to choose from.
    let other = records.iter().map(streams).find(|streams| *streams != most).unwrap();
    records.retain(|record| streams(record) == most || streams(record) == other);
    assert!(!shown(&records).0.contains("best of"));
    records.retain(|record| streams(record) == most);
    assert_eq!(shown(&records).1, "partly from a cache");
}
