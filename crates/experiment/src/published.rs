//! (pure) Tables of papers, as data.
//!
//! Each text is a file under `published/` at the root of the repository; a new one is a file there
//! and a line in [`FILES`]. A set says who printed what, where and in which unit; where the text
//! contradicts itself or arithmetic, the figure stays as printed and a slip says so. A set also has
//! recordings of its machines, if anybody made them. Storing a set is left to `store`, reading a
//! recording to `inventory`, and what follows from the figures to `analysis`.

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer};
use serde_json::{Value as Json, json};

use crate::knob;
use crate::measurement::Record;

mod file;
mod quantity;
#[cfg(test)]
mod tests;

pub use quantity::value;

/// The engine that stands in the store for campaigns of reported figures: none ran.
pub const ENGINE: &str = knob::PUBLISHED;

/// The files of the sets that ship, in the order in which they are listed.
const FILES: &[&str] = &[
    include_str!("../../../published/cdf-2002.toml"),
    include_str!("../../../published/sara-2010.toml"),
    include_str!("../../../published/ccd-1996.toml"),
    include_str!("../../../published/jackrabbit-2007.toml"),
    include_str!("../../../published/brick-2007.toml"),
];

/// Recordings of their machines, by what the files call them.
const RECORDINGS: &[(&str, &str)] = &[
    ("tests/fixtures/sys/t610-x4.txt", include_str!("../../../tests/fixtures/sys/t610-x4.txt")),
    ("tests/fixtures/sys/t610-x8.txt", include_str!("../../../tests/fixtures/sys/t610-x8.txt")),
];

/// The sets that ship. None is left out: a test reads every file.
pub static SETS: LazyLock<Vec<Set>> =
    LazyLock::new(|| FILES.iter().filter_map(|text| file::read(text).ok()).collect());

/// What one text reports.
#[derive(Debug)]
pub struct Set {
    /// As typed: `sara-2010`.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// Its title.
    pub title: String,
    /// Who reported it and when, as a claim names them: `van der Pol and Dijkstra, 2010`.
    pub by: String,
    /// Month and year of the text.
    pub date: String,
    /// The machine.
    pub host: String,
    /// Its machines, as their text describes them; none where that is too little for a recording.
    pub configurations: Vec<Configuration>,
    /// The rows of its tables, and figures that stand in sentences, without any count, numbered
    /// from 1 in the order of the file.
    pub records: Vec<Record>,
    /// Where it errs.
    pub slips: Vec<Slip>,
}

/// A machine that figures were measured on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// Tells it from the others: `x4`.
    pub name: String,
    /// What it is.
    pub about: String,
    /// A recording of it (`brickyard inspect --record`), or one written by hand from the text.
    #[serde(deserialize_with = "recording")]
    pub recording: String,
}

/// Where a text errs. Its figures are kept as printed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slip {
    /// Where: `section 6`.
    pub place: String,
    /// What is printed.
    pub printed: String,
    /// What is wrong with it.
    pub but: String,
}

/// The set of that name.
pub fn find(name: &str) -> Option<&'static Set> {
    SETS.iter().find(|set| set.name == name)
}

impl Set {
    /// How many figures it has.
    pub fn figures(&self) -> usize {
        let measured = self.records.iter().filter_map(|record| record.outcome.measurement());
        measured.filter_map(|it| it.reported.as_ref()).map(|it| it.figures.len()).sum()
    }

    /// Where its figures come from, for the campaign's inventory.
    pub fn source(&self) -> Json {
        let slip =
            |slip: &Slip| json!({ "place": slip.place, "printed": slip.printed, "but": slip.but });
        json!({
            "set": self.name,
            "title": self.title,
            "by": self.by,
            "date": self.date,
            "slips": self.slips.iter().map(slip).collect::<Vec<_>>(),
        })
    }
}

/// The text of the recording that a file names.
fn recording<'de, D: Deserializer<'de>>(named: D) -> Result<String, D::Error> {
    let named = String::deserialize(named)?;
    let found = RECORDINGS.iter().find(|(name, _)| *name == named);
    let lacks = || serde::de::Error::custom(format!("no recording `{named}` ships"));
    found.map(|(_, text)| (*text).to_owned()).ok_or_else(lacks)
}
