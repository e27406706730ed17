//! Which runs of a plan were the best, and which levels do they have?
//!
//! The 20 best of each workload as the fifth source reports them: their mean with its standard
//! error, their range, and how often each level is among them. The best of many owe a part of that
//! to luck, and their mean overstates what a repeat would give; so the mean of the *other* runs of
//! the same cells stands beside it, which luck had no part in choosing; and what the best
//! combination gives, with an interval that allows for its choice. Counts are no test: runs
//! that share a set-up are good or bad together. What is more than chance is the business of
//! `effects`.

use std::collections::HashMap;

use super::curve::stray;
use super::words::amount;
use super::workloads::{Varied, Workload, bytes_from, response, varied, workloads};
use super::{Finding, Question};
use base::stats::largest::largest;
use base::stats::{mean, sample_variance};
use base::value::{counted, setting};
use experiment::knob::Settings;
use experiment::measurement::Record;
use experiment::measurement::origin::Verdict;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "best",
    about: "Which 20 runs were the best, and how often is each level among them?",
    answer: |asked| answer(asked.records),
};

/// How many are the best.
const TOP: usize = 20;
/// Of fewer runs than this the best 20 are most of them.
const ENOUGH: usize = 3 * TOP;
/// Knobs with more levels than this are left out: hardly one is twice among so few.
const LEVELS_MAX: usize = 8;

fn answer(records: &[Record]) -> Vec<Finding> {
    let workloads = workloads(records);
    let all = workloads.iter().flat_map(|workload| {
        let origins = workload.origins.iter();
        origins.filter_map(|(verdict, records)| tell(workload, *verdict, records))
    });
    all.collect()
}

/// One run with its figure.
type Run<'a> = (&'a Record, f64);

fn tell(workload: &Workload<'_>, verdict: Verdict, records: &[&Record]) -> Option<Finding> {
    let (figure, values) = response(records);
    let values = records.iter().zip(values);
    let mut runs: Vec<Run<'_>> = values.filter_map(|(it, value)| Some((*it, value?))).collect();
    let among: Vec<&Record> = runs.iter().map(|(record, _)| *record).collect();
    let mut knobs = varied(&among);
    knobs.retain(|knob| knob.levels.len() <= LEVELS_MAX);
    if runs.len() < ENOUGH || knobs.is_empty() {
        return None;
    }
    // A time is better when it is short.
    let short = figure.ends_with("elapsed_s");
    runs.sort_by(|a, b| match short {
        true => a.1.total_cmp(&b.1),
        false => b.1.total_cmp(&a.1),
    });
    let (best, _) = runs.split_at(TOP);
    let figures: Vec<f64> = best.iter().map(|(_, value)| *value).collect();
    let (middle, error) = (mean(&figures), (sample_variance(&figures) / TOP as f64).sqrt());
    let place = match workload.origins.len() {
        1 => format!("`{}`", workload.group),
        _ => format!("`{}`, {}", workload.group, bytes_from(verdict)),
    };
    let (first, last) = (figures[0], figures[TOP - 1]);
    let of = |value: f64| amount(figure, value);
    let claim = format!(
        "In {place}: the {TOP} best of {} runs have {} +- {} (mean and its standard error).",
        runs.len(),
        of(middle),
        of(error),
    );
    let counts: Vec<String> = knobs.iter().map(|knob| counts(knob, best, &runs)).collect();
    let details = [
        format!("they have {} to {}", of(first), of(last)),
        again(best, &runs).map_or(String::new(), |rate| {
            format!("other runs of the same cells have {} in the mean", of(rate))
        }),
        format!("among them: {}", counts.join("; ")),
        combination(figure, short, &knobs, &runs).unwrap_or_default(),
    ];
    let evidence = best.iter().map(|(record, _)| record.trial.number).collect();
    let strays = best.iter().filter(|(record, _)| stray(record).is_some()).count();
    let finding = Finding::info(QUESTION.name, claim, evidence).detailed(details);
    Some(finding.doubted(strays, TOP))
}

/// The best combination of settings with what it gives, without the luck of being picked; `None`
/// where it was run once.
fn combination(figure: &str, short: bool, knobs: &[Varied<'_>], all: &[Run<'_>]) -> Option<String> {
    let mut cells: Vec<(&Settings, Vec<f64>)> = Vec::new();
    let mut places: HashMap<u64, usize> = HashMap::new();
    for (record, value) in all {
        let settings = &record.trial.settings;
        let place = *places.entry(settings.fingerprint(&[])).or_insert_with(|| {
            cells.push((settings, Vec::new()));
            cells.len() - 1
        });
        // Of times the shortest is the best: they are compared as speeds.
        cells[place].1.push(if short { 1.0 / value } else { *value });
    }
    let (settings, values): (Vec<&Settings>, Vec<Vec<f64>>) = cells.into_iter().unzip();
    let found = largest(&values)?;
    let ends = found.estimate.interval.filter(|ends| ends.low > 0.0)?;
    // One unit is enough for each of three numbers.
    let of = |speed: f64| {
        let told = amount(figure, if short { 1.0 / speed } else { speed });
        told.split(" (").next().unwrap_or_default().to_owned()
    };
    let (low, high) = if short { (ends.high, ends.low) } else { (ends.low, ends.high) };
    let settings = settings[found.place];
    let told = knobs.iter().map(|it| format!("`{}` {}", it.knob.name, it.held(settings)));
    let rivals = match found.rivals - 1 {
        0 => String::new(),
        others => format!("; {} may be as good", counted(others as u64, "other")),
    };
    Some(format!(
        " The best combination ({}) has {} ({} to {}, without the luck of the \
         choice){rivals}.",
        told.collect::<Vec<_>>().join(", "),
        of(found.estimate.value),
        of(low),
        of(high)
    ))
}

/// The mean of what other runs of the cells of the best have: of each of the best the mean of its
/// cell's runs but itself. `None` where one of these cells has no other run.
fn again(best: &[Run<'_>], all: &[Run<'_>]) -> Option<f64> {
    let others = |run: &Run<'_>| {
        let (number, settings) = (run.0.trial.number, &run.0.trial.settings);
        let same = |it: &&Run<'_>| it.0.trial.number != number && it.0.trial.settings == *settings;
        let values: Vec<f64> = all.iter().filter(same).map(|(_, value)| *value).collect();
        (!values.is_empty()).then(|| mean(&values))
    };
    let means: Vec<f64> = best.iter().map(others).collect::<Option<_>>()?;
    Some(mean(&means))
}

/// `` `filesystem` xfs 14 (of 40), ext4 6 (of 40) ``: most often first.
fn counts(knob: &Varied<'_>, best: &[Run<'_>], all: &[Run<'_>]) -> String {
    let count = |runs: &[Run<'_>], place: usize| {
        let at = |run: &&Run<'_>| knob.level(&run.0.trial.settings) == place;
        runs.iter().filter(at).count()
    };
    let mut levels: Vec<(usize, usize)> =
        (0..knob.levels.len()).map(|place| (place, count(best, place))).collect();
    levels.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let told = levels.iter().map(|(place, among)| {
        format!("{} {among} (of {})", setting(knob.levels[*place]), count(all, *place))
    });
    let told: Vec<String> = told.collect();
    format!("`{}` {}", knob.knob.name, told.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::effects::tests::{crossed, records};
    use base::stats::testing::{Random, seeds};
    use experiment::knob;

    const FACTORS: &[(&str, &[&str])] =
        &[("io-engine", &["sync", "uring"]), ("block-size", &["4KiB", "64KiB", "1MiB"])];

    #[test]
    fn the_best_are_told_with_their_levels_and_how_many_runs_had_each() {
        let rate = |replicate: u32, settings: &experiment::knob::Settings| {
            let fast = settings.number(knob::BLOCK_SIZE) > 1e6;
            if fast { 200e6 } else { 100e6 + f64::from(replicate) * 1e3 }
        };
        let found = answer(&records(crossed(FACTORS, 20), rate));
        let [finding] = &found[..] else { panic!("{found:?}") };
        let claim = finding.whole();
        assert!(claim.contains("the 20 best of 120 runs have 200 MB/s"), "{claim}");
        assert!(claim.contains("`block-size` 1 MiB 20 (of 40), 4 KiB 0 (of 40)"), "{claim}");
        assert!(claim.contains("Other runs of the same cells have 200 MB/s"), "{claim}");
        // Two engines are equal at this size.
        assert!(claim.contains("The best combination (`") && claim.contains("`block-size` 1 MiB"));
        assert!(claim.contains("has 200 MB/s ("), "{claim}");
        assert!(claim.ends_with("; 1 other may be as good."), "{claim}");
        assert_eq!(finding.evidence.len(), TOP);
    }

    #[test]
    fn of_few_runs_there_are_no_best_and_of_cells_without_repeats_no_others() {
        let rate = |_: u32, _: &experiment::knob::Settings| 1e8;
        assert!(answer(&records(crossed(FACTORS, 9), rate)).is_empty());
        let many = ["1", "2", "3", "4", "5", "6", "7", "8"];
        let once = crossed(&[FACTORS[0], FACTORS[1], ("streams", &many), ("files", &many[..2])], 1);
        assert_eq!(once.len(), 96);
        let claim = answer(&records(once, rate)).remove(0).whole();
        assert!(!claim.contains("other runs"), "{claim}");
    }

    /// Where no level does anything the best are the lucky ones: their mean is above the truth, and
    /// that of other runs of their cells is not.
    #[test]
    fn luck_is_in_the_mean_of_the_best_and_not_in_that_of_the_other_runs() {
        let (truth, mut lucky, mut others, mut runs_of_it) = (100e6, 0.0, Vec::new(), 0.0);
        for seed in seeds() {
            let mut random = Random::new(seed);
            let all = records(crossed(FACTORS, 12), |_, _| truth * (1.0 + 0.05 * random.normal()));
            let refs: Vec<&Record> = all.iter().collect();
            let (_, values) = response(&refs);
            let mut runs: Vec<Run<'_>> = refs
                .into_iter()
                .zip(values)
                .map(|(record, value)| (record, value.unwrap()))
                .collect();
            runs.sort_by(|a, b| b.1.total_cmp(&a.1));
            let best: Vec<f64> = runs[..TOP].iter().map(|(_, value)| *value).collect();
            lucky += mean(&best) / truth - 1.0;
            others.push(again(&runs[..TOP], &runs).unwrap() / truth - 1.0);
            runs_of_it += 1.0;
        }
        // 20 of 72 draws of a normal distribution lie 1.2 deviations above its mean on average.
        assert!((0.05..0.07).contains(&(lucky / runs_of_it)), "{}", lucky / runs_of_it);
        let error = (sample_variance(&others) / others.len() as f64).sqrt();
        let middle = mean(&others);
        // The others of a lucky run are all but that: lower by a seventieth of its luck.
        assert!(middle.abs() < 0.003 && error < 0.001, "{middle} +- {error}");
    }
}
