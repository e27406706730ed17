//! What other tools print, read into figures of theirs: one table, one file a tool.
//!
//! A new importer is a file beside this one, its `mod` line here and a line in [`IMPORTERS`].
//! Whether the tool is launched as well is the business of `engines`; most need not be.
//!
//! An importer is a pure function of a text. The tool's figures stand beside ours as reported ones
//! (see [`experiment::measurement::reported`]); nothing is computed of them but the change of unit.
//! A text that was cut short, or whose numbers contradict each other, is refused: no figure is made
//! of half a result.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use experiment::measurement::Note;
use experiment::measurement::reported::{
    Bound, Figure, Reported, ReportedHistogram, ReportedPath, ReportedSeries,
};

mod terminal; //     (pure) a text without what terminals and logs add to it
mod json; //         (pure) JSON documents in a text that has other lines as well
pub mod fio; //      (pure) its JSON and its text, of every version
pub mod bonnie; //   (pure) its CSV line and its tables
pub mod iozone; //   (pure) its tables, and its throughput mode
pub mod dbench; //   (pure) its closing table and its last line
pub mod sysbench; // (pure) its text
pub mod ior; //      (pure) its closing summary, its JSON and its CSV
pub mod mdtest; //   (pure) its summaries
pub mod io500; //    (pure) its summary and its result.txt
pub mod elbencho; // (pure) its text, CSV and JSON
pub mod iperf3; //   (pure) its JSON and its text, of client and server
pub mod iperf2; //   (pure) its text and its CSV
pub mod pgbench; //  (pure) its text
mod diskmark; //     (pure) the rows of the two that follow
pub mod crystaldiskmark; // (pure) its text
pub mod kdiskmark; // (pure) its text
pub mod dd; //       (pure) the line in which it says how fast it was
pub mod hdparm; //   (pure) its timings
pub mod phoronix; // (pure) its composite.xml
pub mod warp; //     (pure) its text and its JSON
pub mod diskspd; //  (pure) its text and its XML
pub mod vdbench; //  (pure) its flat file and its reports
pub mod ioping; //   (pure) the statistics that close its runs
#[cfg(test)]
mod testing; //      (pure) for tests alone: a figure by its name
#[cfg(test)]
mod tests; //        (pure) what holds of every importer, by outputs that were recorded
#[cfg(test)]
mod mutants; //      (pure) what holds of every importer, by outputs that were changed

/// What reads the output of one tool.
#[derive(Debug)]
pub struct Importer {
    /// The tool's name, and the engine's where it is launched, too.
    pub name: &'static str,
    /// What is read, in a line.
    pub about: &'static str,
    /// What to bring, each form of its output by itself.
    pub forms: &'static [Form],
    /// Words that stand in its outputs and in few others': a text that no tool is known by is
    /// nearest to the one with the most of them.
    pub words: &'static [&'static str],
    /// What a text must have to be known as its output, in words that follow "it has no".
    pub mark: &'static str,
    /// What it printed, a result of it each; why it cannot be understood.
    pub parse: fn(&str) -> Result<Vec<ToolResult>, String>,
    /// Whether a text, of whatever origin, looks like what it prints.
    pub knows: fn(&str) -> bool,
}

/// One form of a tool's output.
#[derive(Debug)]
pub struct Form {
    /// What to bring: the option that asks for it, or what it looks like.
    pub bring: &'static str,
    /// Of which versions there is a recorded output: as their fixtures are called behind the tool.
    pub recorded: &'static [&'static str],
    /// What is read of it.
    pub read: &'static str,
    /// What is not, and is refused or left out with a note; empty where nothing is known to be.
    pub not_read: &'static str,
}

/// In the order of the reference.
pub const IMPORTERS: &[&Importer] = &[
    &fio::FIO,
    &bonnie::BONNIE,
    &iozone::IOZONE,
    &dbench::DBENCH,
    &sysbench::SYSBENCH,
    &ior::IOR,
    &mdtest::MDTEST,
    &io500::IO500,
    &elbencho::ELBENCHO,
    &iperf3::IPERF3,
    &iperf2::IPERF2,
    &pgbench::PGBENCH,
    &crystaldiskmark::CRYSTALDISKMARK,
    &kdiskmark::KDISKMARK,
    &dd::DD,
    &hdparm::HDPARM,
    &phoronix::PHORONIX,
    &warp::WARP,
    &diskspd::DISKSPD,
    &vdbench::VDBENCH,
    &ioping::IOPING,
];

/// The importer of that name.
pub fn find(name: &str) -> Option<&'static Importer> {
    IMPORTERS.iter().copied().find(|importer| importer.name == name)
}

/// A text as its tool printed it: without colours and carriage returns, and without what a log or a
/// quote put before each line.
pub fn as_printed(text: &str) -> Cow<'_, str> {
    let plain = terminal::plain(text);
    match terminal::without_prefixes(&plain) {
        Some(without) => Cow::Owned(without),
        None => plain,
    }
}

/// The importers of the tools whose output a text looks like: of several where their outputs stand
/// there one after the other, as in the log of a script.
pub fn knowing(text: &str) -> Vec<&'static Importer> {
    IMPORTERS.iter().copied().filter(|importer| (importer.knows)(text)).collect()
}

/// The importer whose words a text has most of, where it has at least two of them and no other
/// has as many: of a text that none knows, what it may be of.
pub fn nearest(text: &str) -> Option<&'static Importer> {
    /// One word alone stands in any text.
    const ENOUGH: usize = 2;
    let has =
        |importer: &Importer| importer.words.iter().filter(|word| text.contains(**word)).count();
    let most = IMPORTERS.iter().map(|importer| has(importer)).max()?;
    let mut with_most = IMPORTERS.iter().copied().filter(|importer| has(importer) == most);
    let only = with_most.next().filter(|_| most >= ENOUGH)?;
    with_most.next().is_none().then_some(only)
}

impl Importer {
    /// What the tool printed, where that can be: no figure is negative, and none stands in one
    /// result twice, as it does where lines of two results, or of two tables, were put together.
    ///
    /// # Errors
    /// Why it cannot be understood.
    pub fn read(&self, text: &str) -> Result<Vec<ToolResult>, String> {
        let results = (self.parse)(text)?;
        for said in &results {
            let mut known: BTreeSet<&str> = BTreeSet::new();
            for Figure { name, value, printed, .. } in &said.figures {
                if *value < 0.0 {
                    return Err(format!("its {name} is {printed}, and less than nothing"));
                }
                if !known.insert(name) {
                    return Err(format!(
                        "its {name} stands there twice, the second time {printed}"
                    ));
                }
            }
        }
        Ok(results)
    }
}

/// One result that a tool printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResult {
    /// The tool's version, as it printed it; empty where it does not.
    pub version: String,
    /// What it calls this result, where it has a name for it.
    pub title: String,
    /// Knobs as far as the output tells them, in the form of the store.
    pub settings: Map<String, Json>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Figures over time, of logs.
    pub series: Vec<ReportedSeries>,
    /// Values and how often each came.
    pub histograms: Vec<ReportedHistogram>,
    /// What it could not tell, and why.
    pub notes: Vec<Note>,
}

impl ToolResult {
    /// Adds a figure in the unit of its name; one that is not finite is none.
    fn add(&mut self, name: impl Into<String>, value: f64, printed: impl Into<String>) {
        if value.is_finite() {
            let (name, printed) = (name.into(), printed.into());
            self.figures.push(Figure { name, value, printed, bound: Bound::Exact });
        }
    }

    /// As a figure of somebody else: `by` what, `says` which words.
    pub fn reported(self, tool: &str, place: String, says: String) -> Reported {
        let by = format!("{tool} {}", self.version).trim().to_owned();
        let way = ReportedPath::Untold;
        let ToolResult { figures, series, histograms, .. } = self;
        Reported { by, place, says, configuration: None, way, figures, series, histograms }
    }
}
