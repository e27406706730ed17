//! (pure) Findings and figures out to people, one file a format.
//!
//! A new format is a file below and a line in [`FORMATS`]. A format arranges and prints; it judges
//! nothing: figures come from `measurement`, claims from `analysis`. Writing the text to a file or
//! to the terminal is the caller's business.

use crate::analysis::Finding;
use crate::analysis::effects::Effects;
use crate::measurement::figures::{Cell, Figures};
use crate::measurement::origin::Origin;
use crate::measurement::{Note, Record};
use crate::store::Campaign;

mod bonnie;
mod cells;
pub mod compare;
mod csv;
mod derive;
#[cfg(test)]
mod fixture;
mod hexdump;
mod html;
pub mod inspect;
mod integrity;
mod iozone;
mod json;
mod markdown;
mod operations;
mod per_cpu;
mod prices;
mod programs;
pub mod query;
#[cfg(test)]
mod schema;
mod reported;
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
    /// Prints it, whole.
    pub render: fn(&Input<'_>) -> Result<String, serde_json::Error>,
}

/// In the order of the reference; the first is the default.
pub const FORMATS: &[Format] = &[
    Format {
        name: "html",
        about: "One self-contained page with figures; opens offline from disk",
        extension: "html",
        render: html::render,
    },
    Format {
        name: "text",
        about: "Tables for the terminal and for mail, at most 100 columns wide",
        extension: "txt",
        render: text::render,
    },
    Format {
        name: "json",
        about: "One document for other programs; see docs/reference/json.md",
        extension: "json",
        render: json::render,
    },
    Format {
        name: "markdown",
        about: "Tables for an issue or a wiki",
        extension: "md",
        render: markdown::render,
    },
    Format {
        name: "csv",
        about: "One line a trial: every setting, every figure",
        extension: "csv",
        render: csv::render,
    },
    Format {
        name: "iozone",
        about: "Matrices of file size by record size in kBytes/sec, as iozone -R prints them",
        extension: "xls.txt",
        render: iozone::render,
    },
    Format {
        name: "bonnie",
        about: "Lines of CSV as bonnie++ 2.00 prints them, for bon_csv2html and bon_csv2txt",
        extension: "bonnie.csv",
        render: bonnie::render,
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
    /// What the knobs that a plan varies do.
    pub effects: Vec<Effects>,
    /// What the analysis claims.
    pub findings: Vec<Finding>,
    /// The answer to "how fast is it, and what holds it back", in sentences.
    pub answer: Vec<String>,
}

/// What was computed of one trial.
#[derive(Clone, Debug, Default)]
pub struct TrialView {
    /// Its figures; empty when it was not done.
    pub figures: Figures,
    /// Where the bytes that it read came from; `None` when it read none or was not done.
    pub origin: Option<Origin>,
    /// Whether it had settled; `None` when that was not tested.
    pub steady: Option<bool>,
    /// The same in words, with the reason when it was not tested.
    pub steady_text: String,
    /// What whoever reads the figures must know: of the engine, and of the verdicts.
    pub notes: Vec<Note>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_prints_every_campaign() {
        let empty = fixture::campaign_of(Vec::new(), 0);
        let full = fixture::evaluated();
        for format in FORMATS {
            assert_eq!(find(format.name).unwrap().extension, format.extension);
            assert!((format.render)(&empty.input()).is_ok(), "{}", format.name);
            let text = (format.render)(&full.input()).unwrap();
            assert!(text.ends_with('\n') || text.ends_with("</html>"), "{}", format.name);
            assert!(text.contains("cache"), "{}: the origin is told", format.name);
        }
        assert!(find("docx").is_none());
    }
}
