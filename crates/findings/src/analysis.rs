//! (pure) Measurements in, findings out, one file a question.
//!
//! A new question is a file below and a line in [`QUESTIONS`]. A finding claims only what the
//! intervals of its figures support; where the data do not decide, it says so or there is none.
//! Arranging and printing is left to `report`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value as Json;

use experiment::measurement::Record;

mod answer;
mod assertion;
mod best;
mod block_size;
pub mod bottleneck;
mod cache;
pub mod cache_regions;
mod command;
pub mod compare;
pub mod cost;
mod curve;
mod depth;
mod disks;
mod durability;
pub mod effects;
mod exclusions;
mod failures;
mod fastest;
pub mod integrity;
mod noise;
mod notes;
mod operations;
pub mod path;
pub mod power_cut;
mod programs;
pub mod reported;
mod same;
pub mod scaling;
pub mod seek_law;
pub mod size;
mod steadiness;
pub mod summary;
mod tail;
#[cfg(test)]
mod tests;
pub mod words;
mod workloads;

pub use answer::answer;
use assertion::Assertion;
use cache_regions::Regions;
use effects::Effects;
use scaling::Followed;

/// Something that people ask of the results.
pub struct Question {
    /// Kebab-case; also the findings' `question`.
    pub name: &'static str,
    /// The question in one line.
    pub about: &'static str,
    /// Answers it from one campaign, as far as that allows.
    pub answer: fn(&AnalysisInput<'_>) -> Vec<Finding>,
}

/// What all questions are answered from: the trials of one campaign, and what is known of the
/// server that they ran on.
#[derive(Debug)]
pub struct AnalysisInput<'a> {
    /// Its trials, in the order in which they ran.
    pub records: &'a [Record],
    /// What the server is made of, as the store keeps it; null where that is not known.
    pub inventory: &'a Json,
    /// What parts of the server cost, by their names; empty where nobody said.
    pub prices: &'a BTreeMap<String, f64>,
    /// Of the knobs, for whoever asks first.
    effects: OnceLock<Vec<Effects>>,
    /// Of the working sets, likewise.
    regions: OnceLock<Vec<Regions>>,
    /// Of the streams, likewise.
    followed: OnceLock<Vec<Followed>>,
}

/// What a finding tells and a table or a figure shows as well.
#[derive(Debug, Default)]
pub struct Shown {
    /// What the knobs of a plan do.
    pub effects: Vec<Effects>,
    /// What loads give over their working sets.
    pub regions: Vec<Regions>,
    /// Which curves over streams follow a law.
    pub followed: Vec<Followed>,
}

impl<'a> AnalysisInput<'a> {
    /// Trials, and the server's inventory and prices.
    pub fn new(
        records: &'a [Record],
        inventory: &'a Json,
        prices: &'a BTreeMap<String, f64>,
    ) -> AnalysisInput<'a> {
        let (effects, regions, followed) = Default::default();
        AnalysisInput { records, inventory, prices, effects, regions, followed }
    }

    /// The trials alone, of a server that nothing is known of.
    #[cfg(any(test, feature = "testing"))]
    pub fn from_records(records: &'a [Record]) -> AnalysisInput<'a> {
        static INVENTORY: Json = Json::Null;
        static PRICES: BTreeMap<String, f64> = BTreeMap::new();
        AnalysisInput::new(records, &INVENTORY, &PRICES)
    }

    /// What the knobs of a plan do: told as a finding, and shown as a table. Computed once.
    pub fn effects(&self) -> &[Effects] {
        self.effects.get_or_init(|| effects::effects(self.records))
    }

    /// What loads give over their working sets; as [`AnalysisInput::effects`].
    pub fn regions(&self) -> &[Regions] {
        self.regions.get_or_init(|| cache_regions::regions(self))
    }

    /// The curves over streams that follow a law; as [`AnalysisInput::effects`].
    pub fn followed(&self) -> &[Followed] {
        self.followed.get_or_init(|| scaling::followed(self.records))
    }

    /// All that is computed once, to be kept.
    pub fn into_shown(mut self) -> Shown {
        self.effects();
        self.regions();
        self.followed();
        Shown {
            effects: self.effects.take().unwrap_or_default(),
            regions: self.regions.take().unwrap_or_default(),
            followed: self.followed.take().unwrap_or_default(),
        }
    }
}

impl Shown {
    /// Without the laws of curves of which `findings` say that nothing is decided.
    #[must_use]
    pub fn decided(mut self, findings: &[Finding]) -> Shown {
        let stands = |law: &Followed| {
            findings.iter().any(|it| it.leans.is_some() && it.evidence == law.evidence)
        };
        self.followed.retain(stands);
        self
    }
}

/// In the order of the report.
pub const QUESTIONS: &[Question] = &[
    integrity::QUESTION,
    effects::QUESTION,
    best::QUESTION,
    scaling::QUESTION,
    bottleneck::QUESTION,
    cache::QUESTION,
    cache_regions::QUESTION,
    durability::QUESTION,
    power_cut::QUESTION,
    depth::QUESTION,
    disks::QUESTION,
    block_size::QUESTION,
    seek_law::QUESTION,
    tail::QUESTION,
    cost::QUESTION,
    steadiness::QUESTION,
    noise::QUESTION,
    notes::QUESTION,
    failures::QUESTION,
];

/// Everything that one campaign answers; of answers that exclude each other the one that rests on
/// less is told as not decided.
pub fn findings(asked: &AnalysisInput<'_>) -> Vec<Finding> {
    exclusions::reconciled(answers(asked))
}

/// What each question answers by itself.
fn answers(asked: &AnalysisInput<'_>) -> Vec<Finding> {
    // Each goes over all trials, of which there may be 100 000.
    let answers: Vec<Vec<Finding>> =
        QUESTIONS.par_iter().map(|question| (question.answer)(asked)).collect();
    answers.into_iter().flatten().collect()
}

/// An answer to a question, with what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Which question: `scaling`, `cache`, `durability`, ...
    pub question: &'static str,
    /// One to three sentences with figures and their units, 40 words at most.
    pub claim: String,
    /// What it rests on and what belongs to it, a sentence or a line each, for whoever wants more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// Numbers of the trials that it rests on.
    pub evidence: Vec<u32>,
    /// How much it matters.
    pub severity: Severity,
    /// What binds, where the question asks for that: `cpu`, `device`, `unknown`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// What it may be, where `limit` is `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspect: Option<String>,
    /// What would bind next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<bottleneck::RunnerUp>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// What to type to learn more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What it says of trials held against others, to be held against other findings.
    #[serde(skip)]
    pub assertions: Vec<Assertion>,
    /// The cells that it tells of in one breath, of which some may have to leave.
    #[serde(skip)]
    pub cells: Vec<bottleneck::CellBottleneck>,
    /// What is not decided where another finding of the same question on the same trials is not.
    #[serde(skip)]
    pub leans: Option<String>,
    /// It tells that something is not decided, and nothing else: no news for a first screen.
    #[serde(skip)]
    pub open: bool,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Read this before you use the figures.
    Warning,
    /// Something is wrong.
    Error,
}

impl Finding {
    /// A finding that is good to know.
    pub fn info(question: &'static str, claim: String, evidence: Vec<u32>) -> Finding {
        let severity = Severity::Info;
        Finding {
            question,
            claim,
            details: Vec::new(),
            evidence,
            severity,
            limit: None,
            suspect: None,
            runner_up: None,
            advice: None,
            command: None,
            assertions: Vec::new(),
            cells: Vec::new(),
            leans: None,
            open: false,
        }
    }

    /// The same with what belongs to it, each made a sentence.
    fn detailed(mut self, details: impl IntoIterator<Item = String>) -> Finding {
        let details = details.into_iter().filter(|it| !it.is_empty());
        self.details.extend(details.map(|it| words::sentence(&it)));
        self
    }

    /// All that it says, in one line.
    pub fn whole(&self) -> String {
        let all =
            std::iter::once(self.claim.as_str()).chain(self.details.iter().map(String::as_str));
        all.collect::<Vec<_>>().join(" ")
    }

    /// The same, to be read before the figures are used.
    fn warn(self) -> Finding {
        Finding { severity: Severity::Warning, ..self }
    }

    /// The same, unless `strays` of the `count` trials that it rests on read from elsewhere.
    fn doubted(self, strays: usize, count: usize) -> Finding {
        if strays == 0 {
            return self;
        }
        let which = match count {
            1 => "this trial may have come from a cache".to_owned(),
            _ => format!("{strays} of these {count} trials may have come from a cache"),
        };
        let claim = format!("{} But {which}.", self.claim);
        Finding { claim, ..self }.warn()
    }

    /// The same, with what it states.
    fn stating(mut self, assertions: impl IntoIterator<Item = Assertion>) -> Finding {
        self.assertions.extend(assertions);
        self
    }

    /// The same, which holds only where another finding of its question on the same trials does;
    /// else `subject` is not decided.
    fn leaning(self, subject: String) -> Finding {
        Finding { leans: Some(subject), ..self }
    }

    /// The same, of what is not decided, if `open`.
    fn left_open(self, open: bool) -> Finding {
        Finding { open, ..self }
    }

    /// The same, with what to do about it.
    fn advise(self, advice: impl Into<String>) -> Finding {
        Finding { advice: Some(advice.into()), ..self }
    }

    /// The same, with what to type to learn more.
    fn typing(self, command: Option<String>) -> Finding {
        Finding { command, ..self }
    }
}
