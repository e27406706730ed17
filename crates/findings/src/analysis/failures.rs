//! What could not be measured?

use std::collections::{BTreeMap, HashMap};

use super::{Finding, Question, Severity};
use base::stats::holm;
use base::stats::permutation::{Plot, chance, least_chance};
use base::value::{self, counted, significant};
use experiment::knob::{self, Knob, Scope};
use experiment::measurement::again::run_again;
use experiment::measurement::{Outcome, Record};

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "failures",
    about: "What failed, or could not be measured here?",
    answer: |asked| answer(asked.records),
};

fn answer(records: &[Record]) -> Vec<Finding> {
    let mut kinds: Vec<(&'static str, &str, Vec<u32>)> = Vec::new();
    for record in records {
        let Some(reason) = record.outcome.why() else { continue };
        let name = record.outcome.name();
        match kinds.iter_mut().find(|kind| kind.0 == name && kind.1 == reason) {
            Some(kind) => kind.2.push(record.trial.number),
            None => kinds.push((name, reason, vec![record.trial.number])),
        }
    }
    let (all, again) = (records.len(), run_again(records));
    let tell = |(name, reason, trials): (&'static str, &str, Vec<u32>)| {
        let later: Vec<u32> = trials.iter().filter_map(|one| again.get(one).copied()).collect();
        let made_up = later.len() == trials.len();
        let (count, verb) = (trials.len(), if trials.len() == 1 { "was" } else { "were" });
        let verb = if name == "failed" { String::new() } else { format!("{verb} ") };
        let trials_told = counted(all as u64, "trial");
        let mut claim = format!("{count} of {trials_told} {verb}{name}: {reason}");
        if !later.is_empty() {
            let numbers: Vec<String> = later.iter().map(u32::to_string).collect();
            claim += &format!(" (run again as trial {})", numbers.join(", "));
        }
        let finding = Finding::info(QUESTION.name, claim, trials);
        let severity = match name {
            // What came once stays a result: it may come again.
            "failed" if !made_up => Severity::Error,
            _ => Severity::Warning,
        };
        Finding { severity, ..finding }
    };
    let mut findings: Vec<Finding> = kinds.into_iter().map(tell).collect();
    findings.extend(by_level(records, &|knob| knob.scope as usize));
    findings
}

/// More levels than this are no table that anybody reads.
const LEVELS_MAX: usize = 16;

/// How likely any knob may be said to have to do with failures though none has.
const CHANCE: f64 = 0.05;

/// Failed trials and all trials that were tried, of one level.
type LevelFailures = (String, u32, u32);

/// How many trials failed at each level of each knob that the campaign varied, and whether that is
/// more than chance. Skipped trials were not tried, so they do not count. `stratum` says how dear a
/// knob is: trials that share what is as dear as a knob or dearer share what it was set up as.
fn by_level(records: &[Record], stratum: &dyn Fn(&Knob) -> usize) -> Vec<Finding> {
    let tried = |record: &&Record| {
        let tried = matches!(record.outcome, Outcome::Done(_) | Outcome::Failed(_));
        tried && !record.trial.prepares()
    };
    let tried: Vec<&Record> = records.iter().filter(tried).collect();
    let evidence: Vec<u32> =
        tried.iter().filter(|record| failed(record)).map(|record| record.trial.number).collect();
    // One alone falls on one level of each knob, whatever it came from.
    if evidence.len() < 2 {
        return Vec::new();
    }
    let mut knobs: BTreeMap<&'static str, Vec<LevelFailures>> = BTreeMap::new();
    for record in &tried {
        for (knob, level) in record.trial.settings.iter() {
            let (levels, level) = (knobs.entry(knob).or_default(), value::setting(level));
            let at = levels.iter().position(|(known, ..)| *known == level);
            // One more than are shown, to know that there are more.
            let at = match at {
                None if levels.len() > LEVELS_MAX => continue,
                None => {
                    levels.push((level, 0, 0));
                    levels.len() - 1
                }
                Some(at) => at,
            };
            levels[at].1 += u32::from(failed(record));
            levels[at].2 += 1;
        }
    }
    knobs.retain(|_, levels| (2..=LEVELS_MAX).contains(&levels.len()));
    let of = |(knob, levels): (&&'static str, &Vec<LevelFailures>)| {
        knob::find(knob).map(|knob| plots(knob, levels, &tried, stratum)).unwrap_or_default()
    };
    let all: Vec<Vec<Plot>> = knobs.iter().map(of).collect();
    let mut chances: Vec<Option<f64>> = all.iter().map(|plots| chance(plots)).collect();
    holm(chances.iter_mut().flatten().collect());
    type Told<'a> = (((&'a str, Vec<LevelFailures>), Option<f64>), &'a Vec<Plot>);
    let tell = |(((knob, levels), chance), plots): Told<'_>| {
        let told = levels.iter().map(|(level, failed, of)| format!("{failed} of {of} at {level}"));
        let told = told.collect::<Vec<_>>().join(", ");
        let (sure, judged) = match chance {
            Some(chance) if chance <= CHANCE => {
                (true, format!(" That is more than chance (p {}).", significant(chance)))
            }
            Some(chance) => {
                let said = format!(" Chance may do as much (p {}).", significant(chance));
                (false, said + &shared(plots))
            }
            None => (false, String::new()),
        };
        let claim = format!("Failed trials by {knob}: {told}.{judged}");
        let finding = Finding::info(QUESTION.name, claim, evidence.clone());
        if sure { finding.warn() } else { finding }
    };
    knobs.into_iter().zip(chances).zip(&all).map(tell).collect()
}

/// Why many trials may be no more than chance: those that share a set-up are judged as one, and
/// where all of them failed or none did they are one. Nothing where none share.
fn shared(plots: &[Plot]) -> String {
    let trials: u32 = plots.iter().map(|plot| plot.trials).sum();
    if plots.len() as u64 == u64::from(trials) {
        return String::new();
    }
    let few = match least_chance(plots) > CHANCE {
        true => ", and so few show no more than chance, whichever fail",
        false => "",
    };
    let whole = plots.iter().all(|plot| plot.failed == 0 || plot.failed == plot.trials);
    let so = if whole { "stand or fall together" } else { "are judged together" };
    format!(
        " Trials that share a set-up {so}: these are {} and not {trials} trials{few}.",
        counted(plots.len() as u64, "set-up")
    )
}

fn failed(record: &Record) -> bool {
    matches!(record.outcome, Outcome::Failed(_))
}

/// What shares the setting up of a knob, by its level: trials where a trial sets it; where a
/// replicate does, its trials with the same dear settings; where a person does, a level.
fn plots(
    of: &'static Knob,
    levels: &[LevelFailures],
    tried: &[&Record],
    stratum: &dyn Fn(&Knob) -> usize,
) -> Vec<Plot> {
    let own = stratum(of);
    let cheaper = |knob: &&Knob| stratum(knob) > own;
    let cheaper: Vec<&str> =
        knob::KNOBS.iter().copied().filter(cheaper).map(|knob| knob.name).collect();
    let mut places: HashMap<(usize, u32, u64), usize> = HashMap::new();
    let mut plots: Vec<Plot> = Vec::new();
    for (number, record) in tried.iter().enumerate() {
        let settings = &record.trial.settings;
        let Some(held) = settings.named(of.name).map(value::setting) else { continue };
        let Some(level) = levels.iter().position(|(known, ..)| *known == held) else { continue };
        let key = match of.scope {
            _ if own == Scope::Job as usize => (number, 0, 0),
            Scope::Label => (0, 0, level as u64),
            _ => (0, record.trial.replicate, settings.fingerprint(&cheaper)),
        };
        let place = *places.entry(key).or_insert_with(|| {
            plots.push(Plot { level, trials: 0, failed: 0 });
            plots.len() - 1
        });
        plots[place].trials += 1;
        plots[place].failed += u32::from(failed(record));
    }
    plots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::effects::tests::{crossed, records};
    use base::stats::testing::{Random, null_limit, seeds};
    use experiment::knob::Settings;
    use experiment::plan::{LAYOUT, Trial};

    fn record(number: u32, streams: u64, outcome: Outcome) -> Record {
        let mut settings = Settings::defaults("file");
        settings.set(knob::STREAMS, streams);
        let group = if number == 0 { LAYOUT } else { "g" }.to_owned();
        let planned = Some(number);
        let (replicate, first_file, seed) = (1, 0, 1);
        let trial = Trial { number, replicate, group, settings, first_file, seed, planned };
        Record::new(trial, outcome)
    }

    /// The fifth source decides between file systems by how often each failed.
    #[test]
    fn failures_are_counted_at_each_level_that_was_varied() {
        let failed = || Outcome::Failed("Input/output error".into());
        let done = || Outcome::Done(Box::default());
        let mut records = vec![
            record(0, 9, failed()),
            record(1, 1, done()),
            record(2, 1, failed()),
            record(3, 8, failed()),
            record(4, 8, failed()),
            record(5, 8, Outcome::Skipped("not here".into())),
        ];
        let scope = |knob: &Knob| knob.scope as usize;
        let by_level = |records: &[Record]| by_level(records, &scope);
        let found = by_level(&records);
        assert_eq!(found.len(), 1, "only one knob was varied: {found:?}");
        assert_eq!(
            found[0].claim,
            "Failed trials by streams: 1 of 2 at 1, 2 of 2 at 8. Chance may do as much (p 1.00)."
        );
        assert_eq!(found[0].evidence, [2, 3, 4]);
        assert_eq!(answer(&records).last(), found.last());
        records[2..4].iter_mut().for_each(|record| record.outcome = done());
        assert!(by_level(&records).is_empty(), "one failure is no table");
        records.iter_mut().for_each(|record| record.outcome = done());
        assert!(by_level(&records).is_empty(), "nothing failed");
        let many = (1..60).map(|streams| record(streams as u32, streams, failed()));
        assert!(by_level(&many.collect::<Vec<_>>()).is_empty(), "too many levels to read");
    }

    const FACTORS: &[(&str, &[&str])] = &[
        ("io-engine", &["sync", "uring"]),
        ("block-size", &["4KiB", "64KiB", "1MiB"]),
        ("streams", &["1", "2", "4", "8"]),
    ];

    /// Campaigns in which a trial fails as `share` says, of its replicate and settings.
    fn failing(random: &mut Random, share: impl Fn(u32, &Settings) -> f64) -> Vec<Record> {
        let mut all = records(crossed(FACTORS, 6), |_, _| 1e8);
        for record in &mut all {
            if random.uniform() <= share(record.trial.replicate, &record.trial.settings) {
                record.outcome = Outcome::Failed("EIO".into());
            }
        }
        all
    }

    fn sure(all: &[Record], stratum: &dyn Fn(&Knob) -> usize) -> Vec<String> {
        let found = by_level(all, stratum).into_iter();
        found.map(|it| it.claim).filter(|claim| claim.contains("more than chance")).collect()
    }

    #[test]
    fn a_level_that_fails_is_found_and_none_is_where_none_does() {
        let scope = |knob: &Knob| knob.scope as usize;
        let (mut none, mut found, mut others) = (0, 0, 0);
        for seed in seeds() {
            let mut random = Random::new(seed);
            none += u32::from(!sure(&failing(&mut random, |_, _| 0.15), &scope).is_empty());
            let uring = |_: u32, settings: &Settings| match settings.get(knob::IO_ENGINE) {
                "uring" => 0.4,
                _ => 0.02,
            };
            let claims = sure(&failing(&mut random, uring), &scope);
            found += u32::from(claims.iter().any(|claim| claim.contains("by io-engine")));
            others += u32::from(claims.iter().any(|claim| !claim.contains("by io-engine")));
        }
        let share = |count: u32| f64::from(count) / seeds().end as f64;
        assert!(share(none) <= null_limit() && share(others) <= null_limit(), "{none}, {others}");
        assert!(share(found) > 0.95, "{found}");
    }

    /// An array that broke took twelve trials with it, which is one failure and not twelve.
    #[test]
    fn what_broke_once_is_one_failure_however_many_trials_it_took() {
        let layout = |knob: &Knob| if knob.name == "io-engine" { 1 } else { 3 };
        let (mut right, mut naive) = (0, 0);
        for seed in seeds() {
            let mut random = Random::new(seed);
            let broken: Vec<bool> = (0..12).map(|_| random.uniform() < 0.3).collect();
            let array = |replicate: u32, settings: &Settings| {
                let engine = usize::from(settings.get(knob::IO_ENGINE) == "uring");
                f64::from(u8::from(broken[2 * (replicate as usize - 1) + engine]))
            };
            let all = failing(&mut random, array);
            right += u32::from(sure(&all, &layout).iter().any(|it| it.contains("by io-engine")));
            naive += u32::from(sure(&all, &|_| 3).iter().any(|it| it.contains("by io-engine")));
        }
        let share = |count: u32| f64::from(count) / seeds().end as f64;
        assert!(share(right) <= null_limit(), "{right}");
        assert!(share(naive) > 2.0 * null_limit(), "trials alone: {naive}");
    }

    /// "0 of 6 at one card, 6 of 6 at the other. Chance may do as much (p 1.00)": nobody understood
    /// how chance could, as it was not said that each card had been put in once.
    #[test]
    fn trials_of_one_set_up_are_told_to_be_one() {
        let mut all = records(crossed(FACTORS, 1), |_, _| 1e8);
        for record in &mut all {
            if record.trial.settings.get(knob::IO_ENGINE) == "uring" {
                record.outcome = Outcome::Failed("EIO".into());
            }
        }
        let once = |knob: &Knob| if knob.name == "io-engine" { 1 } else { 3 };
        let mut claims = by_level(&all, &once).into_iter().map(|it| it.claim);
        let claim = claims.find(|claim| claim.contains("by io-engine")).unwrap();
        for part in [
            "0 of 12 at sync",
            "12 of 12 at uring",
            "Chance may do as much (p 1.00).",
            "Trials that share a set-up stand or fall together: these are 2 set-ups and not 24 \
             trials, and so few show no more than chance",
        ] {
            assert!(claim.contains(part), "{part}: {claim}");
        }
        // "3 of 6 at one card, 0 of 6 at the other. Trials that share a set-up stand or fall
        // together": those of the one did not.
        for record in all.iter_mut().filter(|record| record.trial.number % 2 == 0) {
            record.outcome = Outcome::Done(Box::default());
        }
        let mut claims = by_level(&all, &once).into_iter().map(|it| it.claim);
        let claim = claims.find(|claim| claim.contains("by io-engine")).unwrap();
        assert!(claim.contains("0 of 12 at sync, 6 of 12 at uring"), "{claim}");
        assert!(!claim.contains("stand or fall"), "{claim}");
        assert!(claim.contains("share a set-up are judged together: these are 2 set"), "{claim}");
        // Where each trial is set up by itself, none share.
        let scope = |knob: &Knob| knob.scope as usize;
        assert!(by_level(&all, &scope).iter().all(|it| !it.claim.contains("set-up")));
    }
}
