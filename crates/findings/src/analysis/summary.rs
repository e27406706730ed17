//! (pure) The first screen of a campaign: what was measured, how far that is to be trusted, a fixed
//! set of figures, what limits them, and the few findings that are worth most.
//!
//! It is the same in every format, which only arrange it. The set of figures is
//! `summary/core.rs`, confidence `summary/trust.rs`, findings in one sentence `summary/short.rs`.

use serde::Serialize;

use super::bottleneck;
use super::curve::{CellReplicates, cells};
use super::{Finding, Severity};
use base::stats::Estimate;
use experiment::campaign::Campaign;
use experiment::knob::{self, Access};
use experiment::measurement::Record;
use experiment::measurement::figures;
use experiment::measurement::judge::all as notes_of;
use experiment::measurement::origin::Verdict;

mod core;
mod longer;
mod of_groups;
mod short;
mod subject;
#[cfg(test)]
mod tests;
mod trust;

pub use self::core::{CORE, CoreFigure};
pub use longer::readvise;
pub use short::shortened;
pub use subject::{about, subject, when};
pub use trust::{Confidence, TrustLevel, confidence};

/// The first screen has no more findings than this.
pub const FINDINGS_MAX: usize = 5;

/// All that stands on the first screen.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// What was measured: `/srv on vm: 256 GiB virtio disk, ext4`.
    pub subject: String,
    /// When, and how long it took: `25 Nov 2026, 3 min`.
    pub when: String,
    /// How far the figures are to be trusted; `None` where nothing was measured here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// What was asked and is no figure, as whether every byte came back; a sentence each.
    pub said: Vec<String>,
    /// In a fixed order.
    pub figures: Vec<SummaryFigure>,
    /// What limits the first of them; `None` where nothing could be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// In the order of what they are worth to the reader.
    pub findings: Vec<ShortFinding>,
}

/// One line of the set of figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummaryFigure {
    /// Its name in JSON: `sequential_read`.
    pub name: String,
    /// Its name for people: `read`.
    pub label: String,
    /// What it counts.
    pub unit: Unit,
    /// In bytes or operations per second, or ns, as the unit has it.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Of a time: within how much of it 99 of 100 operations were done, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<Estimate>,
    /// The load, by what tells it from others: `depth 8`.
    pub load: String,
    /// What must be known of it and is no doubt, as that the flash was not filled before; empty
    /// where nothing must.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remark: String,
    /// What must be known of it, as that it may have come from a cache; empty where nothing must.
    pub caveat: String,
    /// Lowest and highest of its trials.
    pub range: (f64, f64),
    /// Numbers of its trials.
    pub trials: Vec<u32>,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes per second.
    BytesPerSecond,
    /// Bytes per second of a network, told in bits.
    BitsPerSecond,
    /// I/Os per second.
    Iops,
    /// Operations on names per second.
    OperationsPerSecond,
    /// Transactions per second.
    TransactionsPerSecond,
    /// A time, ns.
    Nanoseconds,
}

/// What limits a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// As `limit` of a finding.
    pub name: String,
    /// In words.
    pub text: String,
}

/// A finding in one sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShortFinding {
    /// Of which question.
    pub question: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence.
    pub text: String,
    /// What to do, or to type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// What to type to learn more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The first screen of a campaign. `computed` are its figures over replicates, `findings` those of
/// the same records, and `said` what is known of it that is no figure.
pub fn summary(
    campaign: &Campaign,
    records: &[Record],
    computed: &[figures::Cell],
    findings: &[Finding],
    said: &[String],
) -> Summary {
    let cells = cells(records);
    let mut figures: Vec<SummaryFigure> =
        CORE.iter().filter_map(|one| one.compute(&cells, computed)).collect();
    if figures.is_empty() {
        figures = of_groups::figures(&cells);
    }
    let confidence = confidence(campaign, records, &figures);
    let limit = limit(findings, &figures, confidence.as_ref());
    Summary {
        subject: subject(campaign),
        when: when(campaign, records),
        confidence,
        said: said.to_vec(),
        findings: short::short_findings(findings, &figures, limit.as_ref(), campaign),
        figures,
        limit,
    }
}

/// The figures of the core set as far as they are known, while a campaign runs. The making of its
/// files through memory is none: it was "write" until the core set wrote.
pub fn so_far(records: &[Record]) -> Vec<SummaryFigure> {
    let (mut cells, computed) = (cells(records), figures::cells(records));
    cells.retain(|cell| {
        let makes = cell.settings.get(knob::ACCESS) == Some(Access::Write);
        !makes || cell.settings.get(knob::DIRECT)
    });
    CORE.iter().filter_map(|one| one.compute(&cells, &computed)).collect()
}

impl Summary {
    /// Of a campaign that asked for no figure, or whose figures are worth nothing beside what was
    /// found: what is said stands alone.
    #[must_use]
    pub fn said_alone(self) -> Summary {
        Summary { confidence: None, figures: Vec::new(), limit: None, ..self }
    }
}

/// Where the bytes of a figure came from, where that is not where they should have.
fn caveat(cell: &CellReplicates<'_>) -> String {
    let astray = cell.records.iter().filter_map(|record| super::curve::stray(record));
    let verdicts: Vec<Verdict> = astray.map(|(verdict, _)| verdict).collect();
    let Some(first) = verdicts.first() else { return String::new() };
    let text = match first {
        Verdict::Cache => "from the page cache, not the disk",
        Verdict::Mixed => "partly from a cache",
        Verdict::DeviceCache => "from a cache behind the kernel",
        Verdict::Memory => "from memory",
        _ => "may have come from a cache",
    };
    match verdicts.len() == cell.records.len() {
        true => text.to_owned(),
        false => format!("{text} in {} of {} runs", verdicts.len(), cell.records.len()),
    }
}

/// Of these cells those that can be shown by the rate `name`: where some have it of the right
/// place, a faster one that a cache served is none of them.
fn candidates<'a, 'b>(cells: &[&'a CellReplicates<'b>], name: &str) -> Vec<&'a CellReplicates<'b>> {
    let have = cells.iter().copied().filter(|cell| !cell.values(name).is_empty());
    let have: Vec<&CellReplicates<'_>> = have.collect();
    let sure: Vec<&CellReplicates<'_>> =
        have.iter().copied().filter(|cell| caveat(cell).is_empty()).collect();
    if sure.is_empty() { have } else { sure }
}

/// That flash was not written through before, which makes it faster than it stays.
fn remark(cell: &CellReplicates<'_>) -> String {
    let mut notes = cell.records.iter().flat_map(|record| notes_of(record).to_vec());
    match notes.any(|note| note.kind == "not-preconditioned") {
        true => "not preconditioned".to_owned(),
        false => String::new(),
    }
}

/// What limits the load of the first figure.
fn limit(
    findings: &[Finding],
    figures: &[SummaryFigure],
    confidence: Option<&Confidence>,
) -> Option<Limit> {
    let trials = &figures.first()?.trials;
    let of = |finding: &&Finding| {
        finding.question == bottleneck::QUESTION.name
            && trials.iter().any(|trial| finding.evidence.contains(trial))
    };
    let finding = findings.iter().find(of)?;
    let name = finding.limit.clone()?;
    let suspect = finding.suspect.as_deref().map(bottleneck::in_words);
    let disturbed = confidence.and_then(|it| it.disturbance.clone());
    let text = match (name.as_str(), disturbed, suspect) {
        ("unknown", Some(who), _) => format!("not decided: {who}"),
        ("unknown", None, Some(suspect)) => format!("not decided, perhaps {suspect}"),
        ("unknown", None, None) => "not decided".to_owned(),
        (known, ..) => bottleneck::in_words(known),
    };
    Some(Limit { name, text })
}
