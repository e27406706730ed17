//! The file of a set: TOML that reads like the printed tables. The guide to published figures
//! (`docs/guides/published.md`) tells its form.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::{Configuration, ENGINE, Set, Slip, value};
use crate::knob::{self, Settings};
use crate::measurement::reported::{Bound, Figure, Reported, ReportedPath};
use crate::measurement::{Measurement, Note, Outcome, Record};
use crate::plan::Trial;

/// A file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PaperFile {
    name: String,
    about: String,
    title: String,
    by: String,
    date: String,
    host: String,
    /// Its footnotes: what a reader must know of the rows that name them.
    #[serde(default)]
    notes: BTreeMap<String, String>,
    /// Sentences that are said in several places.
    #[serde(default)]
    quotes: BTreeMap<String, String>,
    #[serde(default, rename = "configuration")]
    configurations: Vec<Configuration>,
    #[serde(rename = "table")]
    tables: Vec<Table>,
    #[serde(default, rename = "slip")]
    slips: Vec<Slip>,
}

/// Figures that stand together.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// What it tells: `UDP throughput`.
    name: String,
    /// Where it stands: `table 2`, `section 3.3`.
    place: String,
    /// The text's words, or `*NAME` of a quote; empty for a printed table.
    #[serde(default)]
    says: String,
    /// What is the same for all its rows, as settings are typed.
    #[serde(default)]
    common: String,
    /// Whose values the first cells of a row are.
    #[serde(default)]
    settings: Vec<String>,
    /// What the other cells are.
    #[serde(default)]
    figures: Vec<Column>,
    /// What the figures of a row were measured with, where they stand there more than once.
    #[serde(default)]
    across: Vec<String>,
    /// Cells as printed; empty where there is none.
    #[serde(default)]
    rows: Vec<Vec<String>>,
    #[serde(default, rename = "part")]
    parts: Vec<Part>,
}

/// Rows of a table with words or settings of their own. What it does not say is the table's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    #[serde(default)]
    says: String,
    #[serde(default)]
    common: String,
    settings: Option<Vec<String>>,
    figures: Option<Vec<Column>>,
    rows: Vec<Vec<String>>,
}

/// A column of figures: `about throughput_bytes_per_s in MB/s`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Column {
    /// Name of the figure, unit last, as in the JSON contract.
    name: String,
    /// The unit that its head prints; empty where each cell prints its own.
    unit: String,
    /// How the text bounds them.
    bound: Bound,
}

/// Rows that have all but their cells in common.
struct Block<'a> {
    says: &'a str,
    common: [&'a str; 2],
    settings: &'a [String],
    figures: &'a [Column],
    across: &'a [String],
    rows: &'a [Vec<String>],
}

/// One row, or one of the places that it goes across.
struct Row<'a> {
    says: &'a str,
    settings: Vec<(&'a str, &'a str)>,
    figures: Vec<Figure>,
    notes: Vec<&'a str>,
}

/// Rows that go across nothing.
const ONCE: &[String] = &[String::new()];

/// The set that a file tells.
///
/// # Errors
/// For what is not TOML or has not the form of a set, and for a row that does not fit its head, a
/// cell that is no quantity, a setting that is no knob's, a note or a quote that is not there, and
/// one that nothing names.
pub(super) fn read(text: &str) -> Result<Set, String> {
    let file: PaperFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let (mut records, mut named) = (Vec::new(), BTreeSet::new());
    for table in &file.tables {
        let at = |why: String| format!("table `{}`: {why}", table.name);
        for row in table.rows().map_err(at)? {
            records.push(file.record(records.len() as u32 + 1, table, &row).map_err(at)?);
            named.extend(row.notes.into_iter().chain(row.says.strip_prefix('*')));
        }
    }
    let mut kept = file.notes.keys().chain(file.quotes.keys());
    if let Some(lost) = kept.find(|name| !named.contains(name.as_str())) {
        return Err(format!("no row names `{lost}`"));
    }
    let PaperFile { name, about, title, by, date, host, configurations, slips, .. } = file;
    Ok(Set { name, about, title, by, date, host, configurations, records, slips })
}

impl PaperFile {
    fn record(&self, number: u32, table: &Table, row: &Row<'_>) -> Result<Record, String> {
        let mut reported = Reported {
            by: self.by.clone(),
            place: table.place.clone(),
            says: self.quote(row.says)?.to_owned(),
            figures: row.figures.clone(),
            ..Reported::default()
        };
        let (mut held, mut seen) = (Map::new(), BTreeSet::new());
        for (name, text) in &row.settings {
            if !seen.insert(name) {
                return Err(format!("`{name}` is set twice"));
            }
            match *name {
                "configuration" => reported.configuration = Some(self.machine(text)?),
                "way" => reported.way = way(text)?,
                _ => {
                    held.insert((*name).to_owned(), setting(name, text)?);
                }
            }
        }
        let trial = Trial {
            number,
            replicate: 1,
            group: table.name.clone(),
            settings: Settings::from_json(ENGINE, &Json::Object(held)),
            first_file: 0,
            seed: 0,
            planned: None,
        };
        let notes = row.notes.iter().map(|kind| self.note(kind)).collect::<Result<_, _>>()?;
        let measurement = Measurement { reported: Some(reported), notes, ..Measurement::default() };
        Ok(Record::new(trial, Outcome::Done(Box::new(measurement))))
    }

    fn machine(&self, name: &str) -> Result<String, String> {
        let known = self.configurations.iter().any(|it| it.name == name);
        known.then(|| name.to_owned()).ok_or_else(|| format!("there is no configuration `{name}`"))
    }

    fn quote<'a>(&'a self, says: &'a str) -> Result<&'a str, String> {
        let Some(name) = says.strip_prefix('*') else { return Ok(says) };
        let text = self.quotes.get(name).ok_or_else(|| format!("there is no quote `{name}`"))?;
        Ok(text)
    }

    fn note(&self, kind: &str) -> Result<Note, String> {
        let text = self.notes.get(kind).ok_or_else(|| format!("there is no note `{kind}`"))?;
        Ok(Note::new(kind, text.as_str()))
    }
}

impl Table {
    fn rows(&self) -> Result<Vec<Row<'_>>, String> {
        let own = Block {
            says: &self.says,
            common: [&self.common, ""],
            settings: &self.settings,
            figures: &self.figures,
            across: if self.across.is_empty() { ONCE } else { &self.across },
            rows: &self.rows,
        };
        let mut all = own.rows()?;
        for part in &self.parts {
            let block = Block {
                says: &part.says,
                common: [&self.common, &part.common],
                settings: part.settings.as_ref().unwrap_or(&self.settings),
                figures: part.figures.as_ref().unwrap_or(&self.figures),
                across: ONCE,
                rows: &part.rows,
            };
            all.extend(block.rows()?);
        }
        Ok(all)
    }
}

impl<'a> Block<'a> {
    /// Place by place of those that the rows go across: what stands below one another is a curve.
    fn rows(&self) -> Result<Vec<Row<'a>>, String> {
        let (head, wide) = (self.settings.len(), self.figures.len());
        let wanted = head + wide * self.across.len();
        let mut all = Vec::new();
        for (place, across) in self.across.iter().enumerate() {
            for cells in self.rows {
                if cells.len() != wanted || wide == 0 {
                    let many = cells.len();
                    return Err(format!("a row has {many} cells and its head {wanted}: {cells:?}"));
                }
                let (settings, figures) = cells.split_at(head);
                let names = self.settings.iter().map(String::as_str);
                let told = names.zip(settings.iter().map(String::as_str));
                let [table, part] = self.common;
                let mut row = Row {
                    says: self.says,
                    settings: [typed(table)?, typed(part)?, typed(across)?].concat(),
                    figures: Vec::new(),
                    notes: Vec::new(),
                };
                row.settings.extend(told.filter(|(_, text)| !text.is_empty()));
                for (column, cell) in self.figures.iter().zip(&figures[place * wide..]) {
                    let mut parts = cell.split('*').map(str::trim);
                    row.figures.extend(column.figure(parts.next().unwrap_or_default())?);
                    row.notes.extend(parts);
                }
                all.push(row);
            }
        }
        Ok(all)
    }
}

impl Column {
    /// `None` where nothing is printed.
    fn figure(&self, cell: &str) -> Result<Option<Figure>, String> {
        if cell.is_empty() {
            return Ok(None);
        }
        let printed = format!("{cell} {}", self.unit).trim().to_owned();
        let value = value(&printed).ok_or_else(|| format!("`{printed}` is no quantity"))?;
        Ok(Some(Figure { name: self.name.clone(), value, printed, bound: self.bound }))
    }
}

impl TryFrom<String> for Column {
    type Error = String;

    fn try_from(told: String) -> Result<Column, String> {
        const BOUNDS: [Bound; 3] = [Bound::About, Bound::Above, Bound::UpTo];
        let mut bounds = BOUNDS.iter().map(|bound| (told.strip_prefix(bound.before()), *bound));
        let bounded = bounds.find_map(|(rest, bound)| Some((rest?, bound)));
        let (rest, bound) = bounded.unwrap_or((&told, Bound::Exact));
        let (name, unit) = rest.split_once(" in ").unwrap_or((rest, ""));
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(format!(
                "`{told}` is no figure: write `about throughput_bytes_per_s in MB/s`"
            ));
        }
        Ok(Column { name: name.to_owned(), unit: unit.to_owned(), bound })
    }
}

/// Settings as they are typed: `card=3ware-7850 disks=6`.
fn typed(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let one = |pair: &str| format!("`{pair}` is no setting: write `name=value`");
    text.split_whitespace().map(|pair| pair.split_once('=').ok_or_else(|| one(pair))).collect()
}

/// The value of a knob, as a store keeps it.
fn setting(name: &str, text: &str) -> Result<Json, String> {
    let knob = knob::find(name).ok_or_else(|| format!("there is no knob `{name}`"))?;
    let value = knob.domain.parse(text).map_err(|why| format!("{name}: {why}"))?;
    serde_json::to_value(&value).map_err(|error| format!("{name}: {error}"))
}

fn way(text: &str) -> Result<ReportedPath, String> {
    serde_json::from_value(Json::from(text)).map_err(|error| format!("way: {error}"))
}
