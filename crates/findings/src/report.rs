//! (pure) Findings and figures out to people, one file a format.
//!
//! A new format is a file below and a line in [`FORMATS`]. A format arranges and prints; it judges
//! nothing: figures come from `measurement`, claims from `analysis`. Writing the text to a file or
//! to the terminal is the caller's business.

use std::sync::Arc;

use ::parquet::errors::ParquetError;

use crate::analysis::summary::Summary;
use crate::analysis::{Finding, Shown};
use experiment::campaign::Campaign;
use experiment::measurement::figures::{Cell, Figures};
use experiment::measurement::origin::Origin;
use experiment::measurement::{Note, Record};

mod bars;
mod bonnie;
mod cells;
mod columns;
pub mod compare;
mod csv;
mod derive;
#[cfg(test)]
mod every;
#[cfg(any(test, feature = "testing"))]
pub mod fixture;
mod hexdump;
pub mod html;
pub mod inspect;
mod integrity;
mod iozone;
mod json;
mod lines;
mod markdown;
pub mod nature;
pub mod pairs;
mod operations;
mod parquet;
mod per_cpu;
#[cfg(test)]
mod plans;
mod prices;
mod programs;
pub mod query;
mod reach;
#[cfg(test)]
mod schema;
mod reported;
pub mod screen;
mod script;
mod share;
pub mod size;
mod text;
pub mod verify;
pub mod words;

/// One way to print a campaign.
pub struct Format {
    /// As typed after `--format`.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Of the file, without the dot.
    pub extension: &'static str,
    /// How it is printed, whole.
    pub render: Render,
    /// What one is, as in "it is no ...".
    pub noun: &'static str,
    /// Whether a file is one of ours, by how it begins and how it ends: only such a file is
    /// replaced unasked.
    pub mark: fn(start: &[u8], end: &[u8]) -> bool,
}

/// What a format makes.
pub enum Render {
    /// Text, for a terminal too.
    Text(fn(&Input<'_>) -> Result<String, serde_json::Error>),
    /// Bytes that only programs read.
    Binary(fn(&Input<'_>) -> Result<Vec<u8>, ParquetError>),
}

/// Why a format could not print.
#[derive(Debug, thiserror::Error)]
pub enum Unprintable {
    /// What is JSON could not be written as such.
    #[error("cannot write JSON")]
    Json(#[from] serde_json::Error),
    /// What is Parquet could not be written as such.
    #[error("cannot write Parquet")]
    Parquet(#[from] ParquetError),
}

impl Format {
    /// Whether it is for programs alone.
    pub fn is_binary(&self) -> bool {
        matches!(self.render, Render::Binary(_))
    }

    /// Prints a campaign, whole.
    ///
    /// # Errors
    /// When something in it cannot be written in this format.
    pub fn bytes(&self, input: &Input<'_>) -> Result<Vec<u8>, Unprintable> {
        match self.render {
            Render::Text(render) => Ok(render(input)?.into_bytes()),
            Render::Binary(render) => Ok(render(input)?),
        }
    }
}

/// In the order of the reference; the first is the default.
pub const FORMATS: &[Format] = &[
    Format {
        name: "html",
        about: "One self-contained page with figures; opens offline from disk",
        extension: "html",
        render: Render::Text(html::render),
        noun: "HTML report of brickyard",
        mark: html::is_ours,
    },
    Format {
        name: "text",
        about: "Tables for the terminal and for mail, at most 100 columns wide",
        extension: "txt",
        render: Render::Text(text::render),
        noun: "text report of brickyard",
        mark: text::is_ours,
    },
    Format {
        name: "share",
        about: "Twelve lines for a forum, without the names of the machine and of directories",
        extension: "share.txt",
        render: Render::Text(share::render),
        noun: "block of brickyard to share",
        mark: share::is_ours,
    },
    Format {
        name: "json",
        about: "One document for other programs; see docs/reference/json.md",
        extension: "json",
        render: Render::Text(json::render),
        noun: "JSON report of brickyard",
        mark: json::is_ours,
    },
    Format {
        name: "markdown",
        about: "Tables for an issue or a wiki",
        extension: "md",
        render: Render::Text(markdown::render),
        noun: "Markdown report of brickyard",
        mark: markdown::is_ours,
    },
    Format {
        name: "csv",
        about: "One line a trial: every setting, every figure",
        extension: "csv",
        render: Render::Text(csv::render),
        noun: "CSV report of brickyard",
        mark: csv::is_ours,
    },
    Format {
        name: "parquet",
        about: "The table of csv, typed, for DuckDB, pandas, Polars, R and Spark",
        extension: "parquet",
        render: Render::Binary(parquet::render),
        noun: "Parquet report of brickyard",
        mark: parquet::is_ours,
    },
    Format {
        name: "r",
        about: "An R script that carries the table of csv, loads it typed and draws a plot",
        extension: "R",
        render: Render::Text(script::r::render),
        noun: "R script of brickyard",
        mark: script::r::is_ours,
    },
    Format {
        name: "python",
        about: "The same in Python, for pandas and matplotlib",
        extension: "py",
        render: Render::Text(script::python::render),
        noun: "Python script of brickyard",
        mark: script::python::is_ours,
    },
    Format {
        name: "iozone",
        about: "Matrices of file size by record size in kBytes/sec, as iozone -R prints them",
        extension: "xls.txt",
        render: Render::Text(iozone::render),
        noun: "report in the form of iozone of brickyard",
        mark: iozone::is_ours,
    },
    Format {
        name: "bonnie",
        about: "Lines of CSV as bonnie++ 2.00 prints them, for bon_csv2html and bon_csv2txt",
        extension: "bonnie.csv",
        render: Render::Text(bonnie::render),
        noun: "report in the form of bonnie++ of brickyard",
        mark: bonnie::is_ours,
    },
];

/// The format of that name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Where the samples of single trials are had from, one at a time.
pub trait Samples: std::fmt::Debug {
    /// The trial of that number with its samples, when it has any.
    fn of(&self, number: u32) -> Option<Record>;
}

/// All that a format prints.
#[derive(Debug)]
pub struct Input<'a> {
    /// Whose results these are.
    pub campaign: &'a Campaign,
    /// Its trials, in the order in which they ran.
    pub records: &'a [Record],
    /// Where the samples of records without them are; `None` when the records have them.
    pub samples: Option<&'a dyn Samples>,
    /// What was computed of each trial; as many as `records`, in the same order.
    pub trials: Vec<TrialView>,
    /// Figures over replicates.
    pub cells: Vec<Cell>,
    /// What the analysis computed that is shown as well as told.
    pub shown: Shown,
    /// What the analysis claims.
    pub findings: Vec<Finding>,
    /// The answer to "how fast is it, and what holds it back", in sentences.
    pub answer: Vec<String>,
    /// What stands on the first screen.
    pub summary: Summary,
}

/// What was computed of one trial.
#[derive(Clone, Debug, Default)]
pub struct TrialView {
    /// Its figures; empty when it was not done.
    pub figures: Arc<Figures>,
    /// Where the bytes that it read came from; `None` when it read none or was not done.
    pub origin: Option<Origin>,
    /// Whether it had settled; `None` when that was not tested.
    pub steady: Option<bool>,
    /// The same in words, with the reason when it was not tested.
    pub steady_text: String,
    /// What whoever reads the figures must know: of the engine, and of the verdicts.
    pub notes: Arc<[Note]>,
}

#[cfg(any(test, feature = "testing"))]
impl TrialView {
    /// Gives it a figure, in the place of one of that name.
    pub fn set(&mut self, name: &str, estimate: base::stats::Estimate) {
        Arc::make_mut(&mut self.figures).insert(name.into(), estimate);
    }

    /// Gives it one note more.
    pub fn note(&mut self, note: Note) {
        self.notes = self.notes.iter().cloned().chain([note]).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `report --store s.db -o s.db` made HTML of the store, and any `-o notes.md` a report of the
    /// notes: what is replaced must be an output of that very format.
    #[test]
    fn every_format_knows_its_own_outputs_and_no_others() {
        let kinds = || {
            let reports = FORMATS.iter().map(|format| (format.name, format.mark));
            reports.chain(compare::FORMATS.iter().map(|format| (format.about, format.mark)))
        };
        let mut printed = compare::tests::printed();
        let fixtures = [fixture::campaign_of(Vec::new(), 0), fixture::evaluated()];
        for fixture in fixtures {
            let input = fixture.input();
            printed.extend(FORMATS.iter().map(|it| (it.name, it.bytes(&input).unwrap())));
        }
        for (name, bytes) in &printed {
            // Marks stand in what is looked at of a large file.
            let start = &bytes[..bytes.len().min(64 << 10)];
            let end = &bytes[bytes.len().saturating_sub(1 << 20)..];
            for (other, mark) in kinds() {
                assert_eq!(mark(start, end), *name == other, "{name} by the mark of {other}");
            }
        }
        let shipped = [
            &b""[..],
            b"{}",
            b"# notes\n",
            b"Brickyard is a word\n",
            b"SQLite format 3\0",
            b"trial,notes\n1,mine\n",
            b"PAR1PAR1",
            b"<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>Mine</title>",
        ];
        for theirs in shipped {
            assert!(kinds().all(|(_, mark)| !mark(theirs, theirs)), "{theirs:?}");
        }
    }

    #[test]
    fn every_format_prints_every_campaign() {
        let empty = fixture::campaign_of(Vec::new(), 0);
        let full = fixture::evaluated();
        for format in FORMATS {
            assert_eq!(find(format.name).unwrap().extension, format.extension);
            assert!(format.bytes(&empty.input()).is_ok(), "{}", format.name);
            let bytes = format.bytes(&full.input()).unwrap();
            assert_eq!(format.is_binary(), bytes.contains(&0), "{}", format.name);
            let text = String::from_utf8_lossy(&bytes);
            let ends = ["\n", "</html>", "PAR1"].iter().any(|end| text.ends_with(end));
            assert!(ends, "{}", format.name);
            // What is shared is the first screen alone, whose caveats are tested by themselves.
            let whole = format.name != "share";
            assert!(!whole || text.contains("cache"), "{}: the origin is told", format.name);
        }
        assert!(find("docx").is_none());
    }
}
