//! How much faster does memory answer than the device, and did the device answer at all?

use super::assertion::{Assertion, Asserts};
use super::curve::{CellReplicates, alike, cells, stray};
use super::{Finding, Question, same, words};
use base::stats::equivalence::{CHANCE, Likeness, likeness_of};
use base::stats::{mean_interval, ratio_of_means};
use experiment::knob::{self, Settings};
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::origin::Verdict;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "cache",
    about: "How much faster is memory than the device, and did the device answer at all?",
    answer: |asked| answer(asked.records),
};

fn answer(records: &[Record]) -> Vec<Finding> {
    let cells = cells(records);
    let cached = cells.iter().filter(|cell| is_cached(cell.settings));
    let mut findings: Vec<Finding> =
        cached.filter_map(|cell| against_device(cell, &cells)).collect();
    findings.extend(strays(records));
    findings
}

fn is_cached(settings: &Settings) -> bool {
    settings.only_reads() && !settings.get(knob::DIRECT) && !settings.get(knob::COLD)
}

/// The cold cell that differs in nothing else, or the direct one.
fn counterpart<'a, 'b>(
    cached: &CellReplicates<'_>,
    cells: &'b [CellReplicates<'a>],
) -> Option<&'b CellReplicates<'a>> {
    let find = |direct: bool| {
        cells.iter().find(|cell| {
            cell.settings.get(knob::DIRECT) == direct
                && (direct || cell.settings.get(knob::COLD))
                && alike(cell.settings, cached.settings, &["direct", "cold"])
        })
    };
    find(false).or_else(|| find(true))
}

fn against_device(cached: &CellReplicates<'_>, cells: &[CellReplicates<'_>]) -> Option<Finding> {
    let device = counterpart(cached, cells)?;
    let (fast, slow) =
        (cached.values(figure_names::THROUGHPUT), device.values(figure_names::THROUGHPUT));
    let ratio = ratio_of_means(&fast, &slow)?;
    let of = |values: &[f64]| Some(words::rate(&mean_interval(values)?, values.len()));
    let label = cached.load(&["block-size", "queue-depth", "streams"]);
    let claim = format!(
        "{label} gives {}. Read {}, it gives {}: {}.",
        of(&fast)?,
        if device.settings.get(knob::DIRECT) { "around it" } else { "cold" },
        of(&slow)?,
        same::compared(&fast, &slow, &ratio)
    );
    let evidence = [cached.evidence(), device.evidence()].concat();
    let count = evidence.len();
    let same = (likeness_of(&ratio) == Likeness::Equal).then(|| {
        let subject = format!("Whether {} gives more than the device", words::lower(&label));
        let (of, against) = (cached.evidence(), device.evidence());
        Assertion::new(Asserts::Same, of, against, CHANCE / 2.0).about(subject)
    });
    let finding = Finding::info(QUESTION.name, claim, evidence).stating(same);
    Some(finding.doubted(cached.strays() + device.strays(), count))
}

/// Reading trials whose bytes came from elsewhere than they should, by verdict.
fn strays(records: &[Record]) -> Vec<Finding> {
    let mut kinds: Vec<Strays> = Vec::new();
    for record in records {
        let Some((verdict, reason)) = stray(record) else { continue };
        let cached = is_cached(&record.trial.settings);
        let entry = (record.trial.number, reason);
        match kinds.iter_mut().find(|kind| kind.verdict == verdict && kind.cached == cached) {
            Some(kind) => kind.trials.push(entry),
            None => kinds.push(Strays { verdict, cached, trials: vec![entry] }),
        }
    }
    kinds.iter().map(tell_strays).collect()
}

/// Trials that read from the same wrong place.
struct Strays {
    verdict: Verdict,
    /// They were meant to read from memory.
    cached: bool,
    /// Their numbers, with the reason of each verdict.
    trials: Vec<(u32, String)>,
}

fn tell_strays(strays: &Strays) -> Finding {
    let Strays { verdict, cached, trials } = strays;
    let what = match verdict {
        Verdict::Cache => "got bytes from memory",
        Verdict::Mixed => "got bytes partly from memory",
        Verdict::DeviceCache => {
            "got bytes from a cache behind the kernel (of a controller, a drive or a hypervisor)"
        }
        Verdict::Memory => "got bytes from the memory of a program",
        Verdict::Device | Verdict::Remote => "got bytes that did not come from memory",
        Verdict::Unknown | Verdict::None => "got bytes of unknown origin",
    };
    let meant = if *cached { "memory" } else { "the device" };
    let (first, reason) = &trials[0];
    let count = trials.len();
    let claim = format!(
        "{count} reading {} meant for {meant} {what}. The figures are not those that were asked \
         for.",
        if count == 1 { "trial that was" } else { "trials that were" },
    );
    let evidence = trials.iter().map(|(number, _)| *number).collect();
    let first = format!("trial {first}: {reason}");
    let finding = Finding::info(QUESTION.name, claim, evidence).detailed([first]).warn();
    let advice = match (verdict, cached) {
        (_, true) => "files that fit into memory stay there: a smaller file-size",
        (Verdict::Cache | Verdict::Mixed, _) => {
            "read around the page cache, `direct=true`, or files larger than memory"
        }
        (Verdict::Memory, _) => "a program holds these files; name a directory on a disk",
        _ => "larger files and `second-pass=true` tell a cache from the device",
    };
    finding.advise(advice)
}
