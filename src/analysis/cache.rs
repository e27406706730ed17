//! How much faster does memory answer than the device, and did the device answer at all?

use super::curve::{alike, stray};
use super::{Finding, Question, words};
use crate::knob::Settings;
use crate::measurement::Record;
use crate::measurement::figures::{Cell, cells, figures};
use crate::measurement::origin::Verdict;
use crate::stats::{Estimate, mean_interval, ratio_of_means};
use crate::value::significant;

pub const QUESTION: Question = Question {
    name: "cache",
    about: "How much faster is memory than the device, and did the device answer at all?",
    answer,
};

const THROUGHPUT: &str = "throughput_bytes_per_s";

fn answer(records: &[Record]) -> Vec<Finding> {
    let cells = cells(records);
    let cached = cells.iter().filter(|cell| is_cached(&cell.settings) && !cell.trials.is_empty());
    let mut findings: Vec<Finding> =
        cached.filter_map(|cell| against_device(cell, &cells, records)).collect();
    findings.extend(strays(records));
    findings
}

fn is_cached(settings: &Settings) -> bool {
    let reads = settings.word("access").contains("read");
    reads && !settings.flag("direct") && !settings.flag("cold")
}

/// The cold cell that differs in nothing else, or the direct one.
fn counterpart<'a>(cached: &Cell, cells: &'a [Cell]) -> Option<&'a Cell> {
    let find = |direct: bool| {
        cells.iter().find(|cell| {
            let settings = &cell.settings;
            !cell.trials.is_empty()
                && settings.flag("direct") == direct
                && (direct || settings.flag("cold"))
                && alike(settings, &cached.settings, &["direct", "cold"])
        })
    };
    find(false).or_else(|| find(true))
}

fn against_device(cached: &Cell, cells: &[Cell], records: &[Record]) -> Option<Finding> {
    let device = counterpart(cached, cells)?;
    let (fast, slow) = (values(cached, records), values(device, records));
    let ratio = ratio_of_means(&fast, &slow)?;
    let of = |values: &[f64]| Some(words::rate(&mean_interval(values)?, values.len()));
    let label = words::load(&cached.settings, &["block-size", "queue-depth", "streams"]);
    let claim = format!(
        "{label} gives {}, and {} {}: {}.",
        of(&fast)?,
        words::path(&device.settings),
        of(&slow)?,
        times(&ratio)
    );
    let evidence = cached.trials.iter().chain(&device.trials).copied().collect();
    let finding = Finding::info(QUESTION.name, claim, evidence);
    let strays = trials(cached, records)
        .chain(trials(device, records))
        .filter(|record| stray(record).is_some())
        .count();
    let count = cached.trials.len() + device.trials.len();
    Some(finding.doubted(strays, count))
}

fn times(ratio: &Estimate) -> String {
    match ratio.interval {
        Some(ends) if ends.covers(1.0) => format!(
            "no difference is shown (ratio {} to {}, 95 % interval)",
            significant(ends.low),
            significant(ends.high)
        ),
        _ => format!("{} as much", words::number(ratio, " times")),
    }
}

fn trials<'a>(cell: &'a Cell, records: &'a [Record]) -> impl Iterator<Item = &'a Record> {
    records.iter().filter(|record| cell.trials.contains(&record.trial.number))
}

fn values(cell: &Cell, records: &[Record]) -> Vec<f64> {
    let value = |record: &Record| Some(figures(record).get(THROUGHPUT)?.value);
    trials(cell, records).filter_map(value).collect()
}

/// Reading trials whose bytes came from elsewhere than they should, by verdict.
fn strays(records: &[Record]) -> Vec<Finding> {
    let mut kinds: Vec<(Verdict, bool, Vec<(u32, String)>)> = Vec::new();
    for record in records {
        let Some((verdict, reason)) = stray(record) else { continue };
        let cached = is_cached(&record.trial.settings);
        let entry = (record.trial.number, reason);
        match kinds.iter_mut().find(|kind| kind.0 == verdict && kind.1 == cached) {
            Some(kind) => kind.2.push(entry),
            None => kinds.push((verdict, cached, vec![entry])),
        }
    }
    kinds.iter().map(|(verdict, cached, trials)| tell_strays(*verdict, *cached, trials)).collect()
}

fn tell_strays(verdict: Verdict, cached: bool, trials: &[(u32, String)]) -> Finding {
    let what = match verdict {
        Verdict::Cache => "were answered from memory, not by the device",
        Verdict::Mixed => "were answered partly from memory, partly by the device",
        Verdict::DeviceCache => {
            "were answered by a cache behind the kernel (of a controller, a drive or a hypervisor)"
        }
        Verdict::Device | Verdict::Remote => "were not answered from memory",
        Verdict::Unknown | Verdict::None => "have bytes of unknown origin",
    };
    let meant = if cached { "from memory" } else { "by the device" };
    let (first, reason) = &trials[0];
    let count = trials.len();
    let claim = format!(
        "{count} reading {} meant to be answered {meant} {what}: their figures are not those of \
         what was asked for. Trial {first}: {reason}.",
        if count == 1 { "trial that was" } else { "trials that were" },
    );
    let evidence = trials.iter().map(|(number, _)| *number).collect();
    Finding::info(QUESTION.name, claim, evidence).warn()
}
