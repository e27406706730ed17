//! (pure) vdbench 5: `flatfile.html`, `summary.html`, and what it prints.
//!
//! All of them have a row an interval and, below those of a run definition, one of its average, in
//! which the first interval and those of `warmup=` are not: that row alone is a result. Which
//! column is which is told by their names. MB/sec is of 1024*1024, but of 1000*1000 with
//! `report=decimal`: the report's head says which, the flat file's does not, and then it is told
//! from its rate and the size of its I/Os. Times are in ms (`SdStats.java`, `FwdStats.java`,
//! `Report.java`).

use std::collections::BTreeSet;
use std::rc::Rc;

use experiment::measurement::Note;

use super::{Form, Importer, ToolResult};

mod columns;
mod row;
#[cfg(test)]
mod tests;

use columns::VdbenchColumns;

/// See [`Importer`].
pub const VDBENCH: Importer = Importer {
    name: "vdbench",
    about: "What vdbench 5 prints, its `summary.html` or its `flatfile.html`",
    forms: &[
        Form {
            bring: "`flatfile.html`",
            recorded: &["5.04.06", "5.04.07"],
            read: "the average of each run definition: rates, IOPS and response times, and of file \
                   systems those of each operation",
            not_read: "intervals, standard deviations, queue depths; a run without an average",
        },
        Form {
            bring: "`summary.html`, `totals.html`, or all that it prints",
            recorded: &["5.02", "5.04", "5.04.06", "5.04.07"],
            read: "the same",
            not_read: "the same, and its other reports (histogram, kstat, skew)",
        },
    ],
    words: &[
        "vdbench",
        "Vdbench",
        "ReqstdOps",
        "reqrate",
        "avg_",
        "1024**2",
        "Starting RD=",
        "xfersize",
        "For loops:",
    ],
    mark: "line of columns with `interval` and `MB/sec`, nor one with `reqrate`",
    parse,
    knows,
};

/// How a run definition is announced.
const STARTS: &str = "Starting RD=";

fn knows(text: &str) -> bool {
    text.lines().any(|line| {
        line.contains(STARTS)
            || line.contains("Vdbench distribution: ")
            || line.contains("<title>Vdbench output/")
            || line.contains("Vdbench summary report, created")
            || columns::is_head(line)
    })
}

/// One result for each run definition that has an average.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut read = Text::default();
    for line in text.split_inclusive('\n') {
        // What has no end may have been longer.
        let Some(line) = line.strip_suffix('\n') else { continue };
        read.line(line.trim_end())?;
    }
    read.end()
}

/// What was read so far.
#[derive(Default)]
struct Text {
    all: Vec<ToolResult>,
    version: String,
    /// Of which report this is, where it is one of a part of all.
    part: Option<String>,
    columns: Option<Rc<VdbenchColumns>>,
    /// The first of the two lines of a head.
    head: Option<Vec<String>>,
    /// What was announced: the name of the run, with its loops, and how fast it was to go.
    run: Option<Run>,
    /// The last interval since the last average, and of which run it is.
    interval: Option<(u64, String)>,
    averages: BTreeSet<String>,
    /// Runs that were over before anything was to be counted.
    short: Vec<String>,
}

/// A run definition.
#[derive(Clone, Default)]
struct Run {
    name: String,
    /// Without its loops, in the words of its announcement.
    pace: Option<String>,
    block_bytes: Option<u64>,
}

impl Text {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some((_, rest)) = line.split_once("Vdbench distribution: ") {
            self.version = version(rest.split_whitespace().next().unwrap_or_default());
        } else if let Some((_, rest)) = line.split_once("<title>Vdbench output/") {
            let report = rest.split(".html").next().unwrap_or_default();
            let whole = ["summary", "totals", "flatfile", "logfile"].contains(&report);
            self.part = (!whole).then(|| report.to_owned());
        } else if let Some((_, rest)) = line.split_once(STARTS) {
            self.no_open_run()?;
            self.run = Some(Run::of(rest));
        } else if let Some(first) = self.head.take() {
            self.columns = VdbenchColumns::of_report(&first, line).map(Rc::new);
            if self.columns.is_none() {
                return Err(format!("the columns under `{line}` are of no version that is known"));
            }
        } else if let Some(columns) = VdbenchColumns::of_flat_file(line) {
            self.columns = Some(Rc::new(columns));
        } else if let Some(first) = columns::first_line(line) {
            self.head = Some(first);
        } else if columns::is_of_another_table(line) {
            self.columns = None;
        } else {
            return self.row(line);
        }
        Ok(())
    }

    fn row(&mut self, line: &str) -> Result<(), String> {
        let Some(columns) = self.columns.clone() else { return Ok(()) };
        let words: Vec<&str> = line.split_whitespace().collect();
        let (label, name) = match columns.labels(&words) {
            Some((label, name)) => (label.to_owned(), name.map(str::to_owned)),
            None => return Ok(()),
        };
        let whole = columns.values(&words);
        let name = name.or_else(|| self.run.as_ref().map(|run| run.name.clone()));
        let name = name.unwrap_or_default();
        if let Some(range) = label.strip_prefix("avg_") {
            let values = whole.ok_or_else(|| format!("its average `{line}` is not whole"))?;
            let row = row::VdbenchRow::from_values(&values, &columns)?;
            self.average(line, range, name, &row)
        } else if let Some(number) = label.parse::<u64>().ok().filter(|_| whole.is_some()) {
            match self.interval.replace((number, name.clone())) {
                Some((last, of)) if of != name || last + 1 != number => Err(format!(
                    "interval {number} of its run {name} follows interval {last} of {of}"
                )),
                _ => Ok(()),
            }
        } else {
            Ok(())
        }
    }

    /// A result, where anything was counted after its warming up.
    fn average(
        &mut self,
        line: &str,
        range: &str,
        name: String,
        row: &row::VdbenchRow<'_>,
    ) -> Result<(), String> {
        let no_sense = || format!("its average `{line}` makes no sense");
        let number = |text: &str| text.parse::<u64>().ok().filter(|it| *it > 0);
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (number(from), number(to)),
            None => (Some(1), number(range)),
        };
        let (from, to) = from.zip(to).ok_or_else(no_sense)?;
        if !self.averages.insert(line.trim().to_owned()) {
            return Err(format!("its average `{}` stands there twice", line.trim()));
        }
        if let Some((last, of)) =
            self.interval.take().filter(|(last, of)| *last != to || *of != name)
        {
            return Err(format!(
                "the average of its run {name} is up to interval {to} and follows interval {last} \
                 of {of}"
            ));
        }
        if from > to {
            // Of nothing there is no average; what stands there is nought, or the warming up.
            if !row.is_idle() && !row.files {
                return Err(no_sense());
            }
            self.short.push(name);
            self.run = None;
            return Ok(());
        }
        let run = self.run.take().unwrap_or_default();
        let mut said = row.said(&run)?;
        said.version.clone_from(&self.version);
        said.title = name;
        if let Some(part) = &self.part {
            let text = format!("These are the figures of {part} alone, not of the whole run.");
            said.notes.push(Note::new("part", text));
        }
        self.all.push(said);
        Ok(())
    }

    /// # Errors
    /// When a run began and has no average.
    fn no_open_run(&self) -> Result<(), String> {
        let name = self.interval.as_ref().map(|(_, name)| name);
        match name.or(self.run.as_ref().map(|run| &run.name)) {
            Some(name) => Err(format!(
                "its run `{name}` has no average: it was cut short, or failed before its end"
            )),
            None => Ok(()),
        }
    }

    fn end(mut self) -> Result<Vec<ToolResult>, String> {
        self.no_open_run()?;
        let short = self.short.join(", ");
        let Some(first) = self.all.first_mut() else {
            return Err(match self.short.is_empty() {
                true => "there is no average of a run definition of vdbench's in it".to_owned(),
                false => format!(
                    "its runs {short} were over in their first interval, which is warming up \
                     and in no average; let them last longer"
                ),
            });
        };
        if !short.is_empty() {
            let text = format!(
                "vdbench has no average of {short}: over in its first interval, the warming up."
            );
            first.notes.push(Note::new("no-average", text));
        }
        Ok(self.all)
    }
}

impl Run {
    /// `rd1; I/O rate: 100; elapsed=5; For loops: xfersize=4k threads=2`, and of file systems
    /// `rd1; elapsed=20; fwdrate=max. For loops: None`.
    fn of(announced: &str) -> Run {
        let announced = announced.split("</b>").next().unwrap_or_default();
        let name = announced.split(';').next().unwrap_or_default().trim();
        let loops = announced.split_once("For loops: ").map_or("", |(_, loops)| loops.trim());
        let value = |key: &str| {
            let (_, rest) = announced.split_once(key)?;
            rest.split([';', '.']).next().map(str::trim)
        };
        let pace = value("I/O rate: ").or_else(|| value("fwdrate="));
        let slow = pace.filter(|pace| pace.starts_with(|c: char| c.is_ascii_digit()));
        let block = loops.split_whitespace().find_map(|word| word.strip_prefix("xfersize="));
        Run {
            name: name.to_owned(),
            pace: slow.map(str::to_owned),
            block_bytes: block.and_then(bytes_of),
        }
    }
}

/// `vdbench50407` is 5.04.07.
fn version(word: &str) -> String {
    let digits = word.strip_prefix("vdbench").unwrap_or(word);
    let (one, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
    let (two, three) = rest.split_at_checked(2).unwrap_or((rest, ""));
    let parts = [one, two, three].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(".")
}

/// `4k` of its parameters.
fn bytes_of(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = match unit {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}
