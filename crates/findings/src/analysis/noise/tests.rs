//! Planted scatter, drift and disturbance, in trials made up and in campaigns on the simulated
//! server; the statistics alone are tested in `stats::replicates`.

use super::*;
use crate::analysis::Severity;
use crate::analysis::effects::tests::{crossed, records};
use base::stats::testing::{Coverage, Random, null_limit, seeds};
use engines::engine::testing::{campaign, settings};
use experiment::knob::{self, Settings};
use experiment::measurement::{Note, Outcome};

const FACTORS: &[(&str, &[&str])] = &[
    ("io-engine", &["sync", "uring"]),
    ("block-size", &["4KiB", "64KiB", "1MiB"]),
    ("streams", &["1", "2", "4", "8"]),
];

/// 24 cells run 3 times, in random order within each replicate as campaigns run them, with noise
/// that is `phi` of the one before and a planted drift in all.
fn planted(seed: u64, phi: f64, deviation: f64, drift: f64) -> Vec<Record> {
    thread_local!(static CELLS: Vec<(u32, Settings)> = crossed(FACTORS, 3));
    let mut random = Random::new(seed);
    let noise = random.ar1(72, phi, 0.0, deviation);
    let mut cells = CELLS.with(Clone::clone);
    cells.sort_by_cached_key(|(replicate, _)| (*replicate, random.uniform().to_bits()));
    let mut place = 0;
    records(cells, |_, settings| {
        let rate = 1e8 * settings.number(knob::STREAMS).sqrt();
        let moved = drift * place as f64 / 71.0;
        place += 1;
        rate * (noise[place - 1] + moved).exp()
    })
}

/// The interval in per cent that a claim prints.
fn printed(claim: &str) -> Option<Interval> {
    let rest = claim.split_once("(")?.1;
    let mut numbers = rest.split(' ').filter_map(|word| word.parse().ok());
    let low = numbers.next()?;
    // Of one that may be more than the whole the least is told.
    match rest.starts_with("at least ") {
        true => Some(Interval { low, high: f64::INFINITY }),
        false => Some(Interval { low, high: numbers.next()? }),
    }
}

fn share_of_seeds(count: u32) -> f64 {
    f64::from(count) / seeds().count() as f64
}

#[test]
fn the_planted_scatter_is_told_and_nothing_else_is() {
    for phi in [0.0, 0.9] {
        let (mut coverage, mut claims) = (Coverage::default(), 0);
        for seed in seeds() {
            // Between two numbers that are printed: on one, rounding would count as covering.
            let found = answer(&planted(seed, phi, 0.0305, 0.0));
            let told = printed(&found[0].claim);
            coverage.add(told, 3.05);
            claims += u32::from(found.len() > 1 || found[0].severity > Severity::Info);
        }
        coverage.check(&format!("scatter, phi {phi}"));
        assert!(share_of_seeds(claims) <= null_limit(), "phi {phi}: {claims} claims");
    }
}

#[test]
fn a_planted_drift_is_told_with_its_size() {
    let (mut coverage, mut missed) = (Coverage::default(), 0);
    for seed in seeds() {
        let found = answer(&planted(seed, 0.3, 0.02, (1.0_f64 - 0.125).ln()));
        let drift =
            found.iter().find(|finding| finding.whole().contains("first trial to the last"));
        missed += u32::from(drift.is_none());
        let Some(drift) = drift else { continue };
        assert!(drift.whole().contains("rates fell by"), "{}", drift.claim);
        coverage.add(printed(&drift.claim), 12.5);
    }
    coverage.check_given("drift");
    assert!(share_of_seeds(missed) <= null_limit(), "{missed} missed");
}

#[test]
fn a_difference_that_would_be_found_is_told_and_noise_is_a_warning() {
    let finding = answer(&planted(1, 0.0, 0.02, 0.0)).remove(0);
    assert!(finding.claim.starts_with("Repeats of "), "{finding:?}");
    assert!(finding.whole().contains(" With 3 repeats a difference of "));
    assert!(finding.whole().contains(" would find "), "{}", finding.claim);
    assert_eq!(finding.severity, Severity::Info);
    let noisy = answer(&planted(1, 0.0, 0.2, 0.0)).remove(0);
    assert_eq!(noisy.severity, Severity::Warning, "{noisy:?}");
    let once = answer(&records(crossed(FACTORS, 1), |_, _| 1e8));
    assert_eq!(once, [], "nothing was repeated");
    let exact = answer(&records(crossed(FACTORS, 3), |_, _| 1e8)).remove(0);
    assert!(
        exact.whole().contains("differ by 0.0 %") && !exact.whole().contains("With 3"),
        "{exact:?}"
    );
}

#[test]
fn a_disturbed_trial_is_named_with_what_it_confesses() {
    let mut missed = 0;
    for seed in seeds() {
        let mut records = planted(seed, 0.3, 0.02, 0.0);
        for number in [40, 41] {
            let Outcome::Done(measurement) = &mut records[number].outcome else { panic!() };
            let window = measurement.window.as_mut().unwrap();
            window.done.read_bytes = window.done.read_bytes * 6 / 10;
            if number == 41 {
                measurement.notes.push(Note::new("others-io", "others moved half of the bytes"));
            }
        }
        let found = answer(&records);
        let apart = found.iter().find(|finding| finding.whole().contains("more than chance"));
        let told = apart.is_some_and(|it| it.evidence == [41, 42]);
        missed += u32::from(!told);
        if let Some(apart) = apart.filter(|_| told) {
            let claim = apart.whole();
            assert!(claim.starts_with("2 of 72 trials lie apart from their repeats"), "{claim}");
            assert!(claim.contains("trials 41, 42, ") && claim.contains(" slower to "), "{claim}");
            assert!(claim.ends_with("Notes of them: `others-io` on 1."), "{claim}");
            assert_eq!(apart.severity, Severity::Warning);
        }
    }
    assert!(share_of_seeds(missed) <= null_limit(), "{missed} missed");
}

/// Bytes from memory scatter otherwise than the device's: one workload, two places.
#[test]
fn memory_and_device_are_never_pooled() {
    let mut all = Vec::new();
    for (cold, noise) in [("true", "0.01"), ("false", "0.1")] {
        for streams in ["1", "2", "4", "8", "16"] {
            let load = [("direct", "false"), ("cold", cold), ("streams", streams)];
            let size = [("stop", "100ms"), ("file-size", "8MiB"), ("sim-noise", "0")];
            let knobs = [&load[..], &size, &[("sim-trial-noise", noise)]].concat();
            all.push(("both".to_owned(), settings(&knobs)));
        }
    }
    let found = answer(&campaign(&all, 4, 3));
    let claim = found[0].whole();
    assert!(claim.contains("; in ") && claim.contains("from 20 trials"), "{claim}");
    assert!(claim.contains("Repeats of `both`, bytes from memory differ by"), "{claim}");
}

#[test]
fn the_scatter_of_a_simulated_server_is_found() {
    let mut coverage = Coverage::default();
    for seed in seeds() {
        let cells: Vec<_> = ["1", "2", "4", "8", "12", "16", "24"]
            .into_iter()
            .map(|streams| {
                let noise = [("sim-noise", "0"), ("sim-trial-noise", "0.0405"), ("stop", "50ms")];
                let load = [("streams", streams), ("block-size", "64KiB"), ("queue-depth", "8")];
                ("streams".to_owned(), settings(&[&noise[..], &load].concat()))
            })
            .collect();
        coverage.add(printed(&answer(&campaign(&cells, 3, seed))[0].claim), 4.05);
    }
    coverage.check("simulated scatter");
}

/// The interval of three replicates that stuttered ended at a number of 82 digits, and another at
/// "508 %".
#[test]
fn a_share_that_nobody_can_use_is_told_as_a_factor() {
    assert_eq!(words::spread(&Estimate::within(0.4, 0.2, 1.67e80)), "40 % (at least 20 %)");
    assert_eq!(words::spread(&Estimate::within(0.4, 0.2, f64::INFINITY)), "40 % (at least 20 %)");
    let said = told_difference(40.0, 3);
    assert!(said.ends_with("even a factor of 11.0 may be missed."), "{said}");
    let said = told_difference(0.3, 3);
    assert!(said.contains("a difference of a factor of ") && !said.contains('%'), "{said}");
    assert!(told_difference(0.01, 3).contains("a difference of "), "{}", told_difference(0.01, 3));
}

/// Six trials of two cells, which scattered by 16 and 20 %: "Replicates differ by 57 %".
#[test]
fn six_trials_are_told_with_the_scatter_of_their_cells_alone() {
    let factors: &[(&str, &[&str])] = &[("io-engine", &["sync", "uring"])];
    let slow_then_fast = [0.84, 0.80, 1.02, 1.0, 1.16, 1.2];
    let mut place = 0;
    let mut all = crossed(factors, 3);
    all.sort_by_key(|(replicate, _)| *replicate);
    let found = answer(&records(all, |_, _| {
        place += 1;
        1e8 * slow_then_fast[place - 1]
    }));
    let claim = found[0].whole();
    let told = claim.split_once(" differ by ").unwrap().1;
    let share: f64 = told.split(' ').next().unwrap().parse().unwrap();
    assert!((14.0..21.0).contains(&share), "{claim}");
    assert!(claim.contains("from 6 trials, too few to tell whether neighbours"), "{claim}");
}
