//! How far the figures of a campaign are to be trusted, in one word with its reason.
//!
//! High: every figure of the first screen is known within 5 %, and nothing disturbed the trials
//! that it rests on. Medium: within 20 %, and no more than half of these trials were disturbed.
//! Low: anything else, a figure that may be a cache's among it. The reason is the worst of what was
//! found. `docs/concepts/confidence.md` tells how often a repeat keeps what that promises.

use serde::Serialize;

use super::{CORE, SummaryFigure, longer};
use base::value::{counted, percent};
use experiment::campaign::Campaign;
use experiment::measurement::Record;
use experiment::measurement::judge::all as notes_of;
use experiment::published;

/// A figure is known well when the middle of its interval to either end is no larger a share of it.
pub const HIGH: f64 = 0.05;
/// And roughly.
pub const MEDIUM: f64 = 0.20;

/// How far figures are to be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustLevel {
    /// Not much: read the reason first.
    Low,
    /// Roughly.
    Medium,
    /// A repeat would give the same.
    High,
}

impl TrustLevel {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            TrustLevel::Low => "low",
            TrustLevel::Medium => "medium",
            TrustLevel::High => "high",
        }
    }
}

/// The verdict on trust.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Confidence {
    /// In one word.
    pub level: TrustLevel,
    /// Why it is no more than that, or that nothing speaks against it; a sentence.
    pub reason: String,
    /// What to do about it; a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Who or what disturbed most of it, as a clause; nothing where nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<String>,
}

/// Something that is not the load and changes its figures.
struct Disturbance {
    /// The notes that tell of it.
    notes: &'static [&'static str],
    /// As a clause, before "in 4 of 20 trials".
    told: &'static str,
    advice: &'static str,
}

/// Stands for what narrows an interval ([`longer::advice`]).
const REPEAT: &str = "";

/// The gravest first.
const DISTURBANCES: &[Disturbance] = &[
    Disturbance {
        notes: &["inconsistent"],
        told: "the counts contradict each other",
        advice: "Please report it: brickyard report --format json -o report.json",
    },
    Disturbance {
        notes: &["others-io"],
        told: "other programs used the disk",
        advice: "Repeat when it is idle.",
    },
    Disturbance {
        notes: &["others-cpu"],
        told: "other programs used the CPUs",
        advice: "Repeat when the machine is idle.",
    },
    Disturbance {
        notes: &["steal"],
        told: "the hypervisor gave CPU time to other guests",
        advice: "Repeat when the host is idle.",
    },
    Disturbance {
        notes: &["swap", "swapped"],
        told: "the machine swapped",
        advice: "Free some memory and repeat.",
    },
    Disturbance {
        notes: &["drive-throttled-for-heat", "cpu-throttled-for-heat"],
        told: "heat slowed the hardware down",
        advice: "See to its cooling and repeat.",
    },
    Disturbance {
        notes: &["stopped"],
        told: "the load was stopped for a while",
        advice: "Repeat with nothing else to do.",
    },
    Disturbance {
        notes: &["not-quiet"],
        told: "the disk was still busy at the start",
        advice: "Repeat when it is idle.",
    },
];

/// How a campaign is judged; `None` where nothing was measured by us.
pub fn confidence(
    campaign: &Campaign,
    records: &[Record],
    figures: &[SummaryFigure],
) -> Option<Confidence> {
    let imported = campaign.inventory.get("imported").is_some();
    if imported || campaign.engine == published::ENGINE || figures.is_empty() {
        return None;
    }
    let disturbed = disturbed(records, figures);
    let verdicts = [
        astray(figures),
        once(figures),
        disturbed.clone(),
        wide(figures),
        failed(records),
        missing(campaign, figures),
    ];
    let advised = |verdict: Confidence| match verdict.advice.as_deref() {
        Some(REPEAT) => Confidence { advice: Some(longer::advice(campaign)), ..verdict },
        _ => verdict,
    };
    // Of verdicts of the same level the first is told.
    let worst = verdicts.into_iter().flatten().min_by_key(|verdict| verdict.level);
    let disturbance = disturbed.and_then(|it| it.disturbance);
    Some(match worst {
        Some(verdict) => Confidence { disturbance, ..advised(verdict) },
        None => Confidence {
            level: TrustLevel::High,
            reason: format!(
                "Every figure is known within {:.0} %, and nothing disturbed.",
                HIGH * 100.0
            ),
            advice: None,
            disturbance: None,
        },
    })
}

fn verdict(level: TrustLevel, reason: String, advice: Option<&str>) -> Confidence {
    Confidence { level, reason, advice: advice.map(str::to_owned), disturbance: None }
}

/// A figure that may not be the device's.
fn astray(figures: &[SummaryFigure]) -> Option<Confidence> {
    let first = figures.iter().find(|figure| !figure.caveat.is_empty())?;
    let is = if first.caveat.starts_with("may ") { "" } else { "is " };
    let reason = format!("The figure \"{}\" {is}{}.", first.label, first.caveat);
    let advice = "Larger files keep caches out: --space 16GiB, or file-size= of a plan.";
    Some(verdict(TrustLevel::Low, reason, Some(advice)))
}

/// Figures without an interval.
fn once(figures: &[SummaryFigure]) -> Option<Confidence> {
    let bare: Vec<&SummaryFigure> =
        figures.iter().filter(|figure| figure.estimate.interval.is_none()).collect();
    let reason = match (bare.as_slice(), bare.iter().all(|it| it.trials.len() < 2)) {
        ([], _) => return None,
        (all, true) if all.len() == figures.len() => "Each load ran once.".to_owned(),
        (some, true) => format!("{} of {} figures rest on one run.", some.len(), figures.len()),
        ([first, ..], false) => format!("Nothing says how sure \"{}\" is.", first.label),
    };
    Some(verdict(TrustLevel::Low, reason, Some(REPEAT)))
}

/// What disturbed the trials that figures rest on.
fn disturbed(records: &[Record], figures: &[SummaryFigure]) -> Option<Confidence> {
    let counts = |record: &&Record| {
        figures.iter().any(|figure| figure.trials.contains(&record.trial.number))
    };
    let under: Vec<&Record> = records.iter().filter(counts).collect();
    let count = |one: &Disturbance| {
        let of = |record: &&&Record| {
            notes_of(record).iter().any(|note| one.notes.contains(&note.kind.as_str()))
        };
        under.iter().filter(of).count()
    };
    let counted: Vec<(usize, &Disturbance)> =
        DISTURBANCES.iter().map(|one| (count(one), one)).filter(|(n, _)| *n > 0).collect();
    let most = counted.iter().map(|(n, _)| *n).max()?;
    let (n, one) = counted.iter().find(|(n, _)| *n == most)?;
    let level = if 2 * n > under.len() { TrustLevel::Low } else { TrustLevel::Medium };
    let which = match under.len() {
        1 => "in the only trial".to_owned(),
        all if all == *n => format!("in all {all} trials"),
        all => format!("in {n} of {all} trials"),
    };
    let reason = format!("{} {which}.", sentence(one.told));
    let told = Confidence {
        disturbance: Some(one.told.to_owned()),
        ..verdict(level, reason, Some(one.advice))
    };
    Some(told)
}

/// The figure that is known least.
fn wide(figures: &[SummaryFigure]) -> Option<Confidence> {
    let times = |figure: &SummaryFigure| {
        let ends = figure.estimate.interval?;
        // To either end by as many times (rule 4).
        Some((ends.high / ends.low.max(f64::MIN_POSITIVE)).sqrt())
    };
    let each = figures.iter().filter_map(|figure| Some((times(figure)?, figure)));
    let (times, figure) = each.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let level = match times {
        well if well <= 1.0 + HIGH => return None,
        roughly if roughly <= 1.0 + MEDIUM => TrustLevel::Medium,
        _ => TrustLevel::Low,
    };
    let share = times - 1.0;
    let within = match share {
        share if share < 1.0 => format!("within {}", percent(share)),
        _ => "within a factor of 2 or more".to_owned(),
    };
    let reason = format!("Runs differ: \"{}\" is known {within} only.", figure.label);
    Some(verdict(level, reason, Some(REPEAT)))
}

fn failed(records: &[Record]) -> Option<Confidence> {
    let all = records.iter().filter(|record| !record.trial.prepares());
    let failed = all.clone().filter(|record| record.outcome.measurement().is_none()).count();
    if failed == 0 {
        return None;
    }
    let reason = format!("{failed} of {} have no result.", counted(all.count() as u64, "trial"));
    Some(verdict(TrustLevel::Medium, reason, Some("brickyard report --format text says why.")))
}

/// Figures that every evaluation should have.
fn missing(campaign: &Campaign, figures: &[SummaryFigure]) -> Option<Confidence> {
    let has = |name: &str| figures.iter().any(|figure| figure.name == name);
    let left_out: Vec<&str> =
        CORE.iter().filter(|core| !has(core.name)).map(|core| core.label).collect();
    let first = left_out.first().filter(|_| campaign.plan == "evaluate")?;
    let reason = match left_out.len() {
        1 => format!("There was no time for \"{first}\"."),
        many => format!("There was no time for {many} of {} figures.", CORE.len()),
    };
    Some(verdict(TrustLevel::Medium, reason, Some(REPEAT)))
}

/// With a capital.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
