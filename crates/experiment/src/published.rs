//! (pure) Tables of papers, as data.
//!
//! A new set is a file below and a line in [`SETS`]. A set says who printed what, where and in
//! which unit; where the text contradicts itself or arithmetic, the figure stays as printed and a
//! slip says so. A set also has recordings of its machines, if anybody made them. Storing a set
//! is left to `store`, reading a recording to `inventory`, and what follows from the
//! figures to `analysis`.

use serde_json::{Map, Value as Json, json};

use crate::knob::{self, Settings};
use crate::measurement::reported::{Bound, Figure, ReportedPath};
use crate::measurement::{Measurement, Note, Outcome, Record, Reported};
use crate::plan::Trial;

mod brick_2007;
mod ccd_1996;
mod cdf_2002;
mod jackrabbit_2007;
mod quantity;
mod sara_2010;

pub use quantity::value;

/// The engine that stands in the store for campaigns of reported figures: none ran.
pub const ENGINE: &str = knob::PUBLISHED;

/// The sets that ship, in the order of the list.
pub const SETS: &[&Set] =
    &[&cdf_2002::SET, &sara_2010::SET, &ccd_1996::SET, &jackrabbit_2007::SET, &brick_2007::SET];

/// What one text reports.
#[derive(Debug)]
pub struct Set {
    /// As typed: `sara-2010`.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Its title.
    pub title: &'static str,
    /// Who reported it and when, as a claim names them: `van der Pol and Dijkstra, 2010`.
    pub by: &'static str,
    /// Month and year of the text.
    pub date: &'static str,
    /// The machine.
    pub host: &'static str,
    /// Its machines, as their text describes them; none where that is too little for a recording.
    pub configurations: &'static [Configuration],
    /// Its tables, and figures that stand in sentences.
    pub tables: &'static [Table],
    /// Where it errs.
    pub slips: &'static [Slip],
}

/// A machine that figures were measured on.
#[derive(Debug)]
pub struct Configuration {
    /// Tells it from the others: `x4`.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// A recording of it (`brickyard inspect --record`), or one written by hand from the text.
    pub recording: &'static str,
}

/// Figures that stand together.
#[derive(Debug)]
pub struct Table {
    /// What it tells: `UDP throughput`.
    pub name: &'static str,
    /// Where it stands: `table 2`, `section 3.3`.
    pub place: &'static str,
    /// What is the same for all its rows, by the names of knobs.
    pub common: &'static [(&'static str, &'static str)],
    /// Its figures.
    pub columns: &'static [Column],
    /// Its rows.
    pub rows: &'static [Row],
}

/// A column of figures.
#[derive(Debug)]
pub struct Column {
    /// Name of the figure, unit last, as in the JSON contract.
    pub name: &'static str,
    /// The unit that its head prints; empty where each cell prints its own.
    pub unit: &'static str,
    /// How the text bounds them.
    pub bound: Bound,
}

/// A row of a table, or a sentence.
#[derive(Debug)]
pub struct Row {
    /// What tells it from the other rows of all tables, by the names of knobs.
    pub settings: &'static [(&'static str, &'static str)],
    /// On which of the set's machines.
    pub configuration: Option<&'static str>,
    /// Which way the bytes went.
    pub way: ReportedPath,
    /// The text's words; empty for a row of a printed table.
    pub says: &'static str,
    /// As printed, in the order of the columns; empty where there is none.
    pub cells: &'static [&'static str],
    /// What a reader must know, as kind and sentence.
    pub notes: &'static [(&'static str, &'static str)],
}

/// Where a text errs. Its figures are kept as printed.
#[derive(Debug)]
pub struct Slip {
    /// Where: `section 6`.
    pub place: &'static str,
    /// What is printed.
    pub printed: &'static str,
    /// What is wrong with it.
    pub but: &'static str,
}

/// A row of which no machine and no way of the bytes is told.
const fn row(
    settings: &'static [(&'static str, &'static str)],
    cells: &'static [&'static str],
    says: &'static str,
) -> Row {
    Row { settings, configuration: None, way: ReportedPath::Untold, says, cells, notes: &[] }
}

/// The set of that name.
pub fn find(name: &str) -> Option<&'static Set> {
    SETS.iter().copied().find(|set| set.name == name)
}

impl Set {
    /// How many figures it has.
    pub fn figures(&self) -> usize {
        let rows = self.tables.iter().flat_map(|table| table.rows);
        rows.flat_map(|row| row.cells).filter(|cell| !cell.is_empty()).count()
    }

    /// Its rows as records without any count, numbered from 1 in the order of the text.
    ///
    /// # Errors
    /// For a cell that is no quantity or a setting that is no knob's: a test reads every set.
    pub fn records(&self) -> Result<Vec<Record>, String> {
        let rows =
            self.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row)));
        let numbered = (1..).zip(rows);
        numbered.map(|(number, (table, row))| self.record(number, table, row)).collect()
    }

    fn record(&self, number: u32, table: &Table, row: &Row) -> Result<Record, String> {
        let reported = Reported {
            by: self.by.to_owned(),
            place: table.place.to_owned(),
            says: row.says.to_owned(),
            configuration: row.configuration.map(str::to_owned),
            way: row.way,
            figures: figures(table, row)?,
            ..Reported::default()
        };
        let trial = Trial {
            number,
            replicate: 1,
            group: table.name.to_owned(),
            settings: settings(table.common.iter().chain(row.settings))?,
            first_file: 0,
            seed: 0,
            planned: None,
        };
        let notes = row.notes.iter().map(|(kind, text)| Note::new(kind, *text)).collect();
        let measurement = Measurement { reported: Some(reported), notes, ..Measurement::default() };
        Ok(Record::new(trial, Outcome::Done(Box::new(measurement))))
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

fn figures(table: &Table, row: &Row) -> Result<Vec<Figure>, String> {
    if row.cells.len() != table.columns.len() {
        return Err(format!("a row of {} has {} cells", table.name, row.cells.len()));
    }
    let cells = table.columns.iter().zip(row.cells).filter(|(_, cell)| !cell.is_empty());
    let figure = |(column, cell): (&Column, &&str)| {
        let printed = format!("{cell} {}", column.unit).trim().to_owned();
        let value = value(&printed).ok_or_else(|| format!("`{printed}` is no quantity"))?;
        Ok(Figure { name: column.name.to_owned(), value, printed, bound: column.bound })
    };
    cells.map(figure).collect()
}

fn settings<'a>(
    pairs: impl Iterator<Item = &'a (&'static str, &'static str)>,
) -> Result<Settings, String> {
    let mut held = Map::new();
    for (name, text) in pairs {
        let knob = knob::find(name).ok_or_else(|| format!("there is no knob `{name}`"))?;
        let value = knob.domain.parse(text).map_err(|why| format!("{name}: {why}"))?;
        let json = serde_json::to_value(&value).map_err(|error| format!("{name}: {error}"))?;
        held.insert((*name).to_owned(), json);
    }
    Ok(Settings::from_json(ENGINE, &Json::Object(held)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::figures::cells;

    #[test]
    fn every_set_can_be_read_and_says_where_each_figure_stands() {
        for set in SETS {
            assert_eq!(find(set.name).map(|found| found.title), Some(set.title));
            assert!(!set.about.ends_with('.') && !set.by.is_empty(), "{}", set.name);
            let records = set.records().unwrap();
            let figures = |record: &Record| {
                let reported = record.outcome.measurement().unwrap().reported.clone().unwrap();
                assert!(!reported.place.is_empty() && reported.by == set.by, "{reported:?}");
                let on = reported.configuration.as_deref();
                let known = |name: &str| set.configurations.iter().any(|it| it.name == name);
                assert!(on.is_none_or(known), "{}: no machine {on:?}", set.name);
                reported.figures.len()
            };
            assert_eq!(records.iter().map(figures).sum::<usize>(), set.figures());
            assert!(set.figures() > 0);
            // Rows with the same settings would be averaged as if one of them repeated the other.
            assert_eq!(cells(&records).len(), records.len(), "{}: two rows are alike", set.name);
        }
    }

    #[test]
    fn the_unit_of_every_figure_is_that_of_its_name() {
        for column in SETS
            .iter()
            .flat_map(|set| set.tables)
            .flat_map(|table| table.rows.iter().flat_map(|row| table.columns.iter().zip(row.cells)))
        {
            let (column, cell) = column;
            let printed = format!("{cell} {}", column.unit);
            let good = cell.is_empty() || fits(column.name, printed.trim());
            assert!(good, "{}: {printed}", column.name);
        }
    }

    /// Whether what is printed has a unit that a figure of that name may have.
    fn fits(name: &str, printed: &str) -> bool {
        // The first whose ending is the name's: what is counted per second is no time.
        const UNITS: &[(&str, &[&str])] = &[
            (
                "_bytes_per_s",
                &["b/s", "bits/s", "B/s", "Byte/s", "K/sec", "MB/sec", "bytes/second"],
            ),
            ("_transfers_per_s", &["T/s"]),
            ("_ops_per_s", &["IOPs"]),
            ("_per_s", &["/sec", "/s"]),
            ("_usd_per_gb", &["/GB", "/TB"]),
            ("_bytes", &["B", " k", "sectors"]),
            ("_share", &["%"]),
            ("_ratio", &["x", "X", "one-third", "1/2"]),
        ];
        let counted = |printed: &str| printed.ends_with(|c: char| c.is_ascii_digit());
        match UNITS.iter().find(|(ending, _)| name.ends_with(ending)) {
            Some((_, units)) => units.iter().any(|unit| printed.ends_with(unit)),
            None if name.ends_with("_usd") => printed.contains('$') && !printed.contains('/'),
            None if name.ends_with("_s") && printed.contains(':') => counted(printed),
            None if name.ends_with("_s") => {
                let unit = printed.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
                ["s", "seconds", "ms", "u", "m"].contains(&unit.trim())
            }
            None => counted(printed) && !printed.contains([':', '$']),
        }
    }

    #[test]
    fn a_row_that_is_no_row_is_refused() {
        let column = |unit| Column { name: "throughput_bytes_per_s", unit, bound: Bound::Exact };
        let columns: &'static [Column] = Box::leak(Box::new([column("")]));
        let of = |cells: &'static [&'static str], settings| {
            let row = Row {
                settings,
                configuration: None,
                way: ReportedPath::Untold,
                says: "",
                cells,
                notes: &[],
            };
            let table = Table { name: "t", place: "p", common: &[], columns, rows: &[] };
            sara_2010::SET.record(1, &table, &row).map(|_| ())
        };
        assert_eq!(of(&["1 MB/s"], &[("slot", "1")]), Ok(()));
        assert!(of(&["fast"], &[]).unwrap_err().contains("`fast`"));
        assert!(of(&["1 MB/s", "2 MB/s"], &[]).unwrap_err().contains("2 cells"));
        assert!(of(&["1 MB/s"], &[("slots", "1")]).unwrap_err().contains("`slots`"));
        assert!(of(&["1 MB/s"], &[("slot", "a b")]).unwrap_err().contains("slot"));
    }
}
