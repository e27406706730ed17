//! (pure) iozone 3: its table of one file in thirteen ways, and its throughput mode (-t).
//!
//! Rates are in KiB/s, which iozone calls kBytes, Kbytes, kB or KB (iozone.c divides by 1024). With
//! -O they are operations per second, and with -N microseconds per operation. What -R prints once
//! more, for spreadsheets, is held against the figures that it repeats.

use serde_json::{Map, Value as Json};

use super::{Form, Importer, ToolResult};
use experiment::measurement::Note;

mod report;
mod table;
mod threads;

use table::IozoneTable;
use threads::Group;

/// See [`Importer`].
pub const IOZONE: Importer = Importer {
    name: "iozone",
    about: "All that iozone 3 prints: its table, and its throughput mode (-t)",
    forms: &[
        Form {
            bring: "all that it prints of one file, from its first line on",
            recorded: &["3.160", "3.263", "3.327", "3.471", "3.487"],
            read: "each test's rate (operations with -O, time of one with -N), a result a row",
            not_read: "columns of -E (pread, pwrite)",
        },
        Form {
            bring: "all that it prints with -t",
            recorded: &["3.263", "3.471"],
            read: "what its children and their parent saw, the slowest and the fastest of them",
            not_read: "each child by itself (-C)",
        },
        Form {
            bring: "what -R prints behind either of them",
            recorded: &["3.263", "3.471"],
            read: "held against the figures before it",
            not_read: "alone: it does not say its unit",
        },
    ],
    words: &[
        "Iozone",
        "iozone",
        "reclen",
        "kBytes/sec",
        "fwrite",
        "frewrite",
        "freread",
        "rewrite",
        "Children see",
        "Min xfer",
    ],
    mark: "line `Iozone: Performance Test of File I/O`",
    parse,
    knows,
};

const KIB: u64 = 1024;
const FIRST_LINE: &str = "Iozone: Performance Test of File I/O";
const COMPLETE: &str = "iozone test complete.";
const NOT_COMPLETE: &str = "it was cut short: it does not say that it is complete";

fn knows(text: &str) -> bool {
    text.contains(FIRST_LINE)
        || text.lines().any(|line| {
            let line = line.trim();
            table::is_head(line)
                || line.starts_with(threads::CHILDREN)
                || line == report::EXCEL
                || report::way(line).is_some()
        })
}

/// What a number of iozone's output is of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum IozoneUnit {
    Kibibytes,
    Operations,
    Microseconds,
}

impl IozoneUnit {
    /// Of a line that says it.
    fn of(line: &str) -> Option<Result<IozoneUnit, String>> {
        if line.starts_with("OPS Mode.") {
            return Some(Ok(IozoneUnit::Operations));
        }
        if line.starts_with("Microseconds/op Mode.") {
            return Some(Ok(IozoneUnit::Microseconds));
        }
        match line.strip_prefix("Output is in ")? {
            // How iozone calls KiB/s, now and before.
            "kBytes/sec" | "Kbytes/sec" => Some(Ok(IozoneUnit::Kibibytes)),
            _ => Some(Err("its output is not in kBytes/sec".to_owned())),
        }
    }

    /// Adds the figure of a way, such as `read`, which is absent where it is zero.
    fn add(self, said: &mut ToolResult, way: &str, value: f64, printed: &str) {
        if value <= 0.0 {
            let text = format!("iozone printed 0 for {}: no measurement.", way.replace('_', " "));
            said.notes.push(Note::new("no-rate", text));
            return;
        }
        match self {
            IozoneUnit::Kibibytes => said.add(
                format!("{way}_throughput_bytes_per_s"),
                value * KIB as f64,
                format!("{printed} kBytes/sec"),
            ),
            IozoneUnit::Operations => {
                said.add(format!("{way}_iops"), value, format!("{printed} ops/sec"));
            }
            IozoneUnit::Microseconds => said.add(
                format!("{way}_latency_ns_mean"),
                value * 1000.0,
                format!("{printed} microseconds/op"),
            ),
        }
    }
}

/// A run of iozone that has begun, or of which the last line was read.
#[derive(Default)]
struct IozoneRun {
    version: String,
    unit: Option<IozoneUnit>,
    direct: bool,
    /// Sizes of files and of records in KiB, where they were asked for one by one.
    files: Vec<String>,
    records: Vec<String>,
    table: Option<IozoneTable>,
    groups: Vec<Group>,
}

impl IozoneRun {
    /// Whether a line is the first that is known of a run without its head.
    fn begins(line: &str) -> bool {
        IozoneUnit::of(line).is_some()
            || table::is_head(line)
            || line.starts_with(threads::TEST)
            || line.starts_with(threads::CHILDREN)
    }

    /// A line of it, as it stands there and without its blanks.
    fn line(&mut self, line: &str, bare: &str) -> Result<(), String> {
        if let Some(rest) = bare.strip_prefix("Version $Revision: ") {
            self.version = rest.trim_end_matches(" $").to_owned();
        } else if let Some(unit) = IozoneUnit::of(bare) {
            let unit = unit?;
            if self.unit.is_some_and(|before| before != unit) {
                return Err("it says two units of its output".to_owned());
            }
            self.unit = Some(unit);
        } else if bare == "O_DIRECT feature enabled" {
            self.direct = true;
        } else if let Some(file) = asked(bare, "File size set to ") {
            self.files.push(file.to_owned());
        } else if let Some(record) = asked(bare, "Record Size ") {
            self.records.push(record.to_owned());
        } else if table::is_head(bare) {
            if self.table.is_some() {
                return Err("a run of it has two tables".to_owned());
            }
            self.table = Some(IozoneTable::from_head(line, bare, &self.version)?);
        } else if let Some(table) = &mut self.table {
            if !bare.is_empty() {
                let unit = self.unit.ok_or_else(|| {
                    "it does not say the unit of its output; bring all that iozone prints, from \
                     its first line on"
                        .to_owned()
                })?;
                table.line(line, unit, &self.version)?;
            }
        } else if bare.starts_with(threads::TEST) {
            self.groups.push(Group::from_heading(bare)?);
        } else if let Some(group) = self.groups.last_mut() {
            if group.is_over(bare) {
                let mut next = Group::default();
                next.line(bare)?;
                self.groups.push(next);
                return Ok(());
            }
            group.line(bare)?;
        } else if bare.starts_with(threads::CHILDREN) {
            return Err(format!("it has no line `{} N processes` before its rates", threads::TEST));
        }
        Ok(())
    }

    /// Its results, where nothing in it contradicts another.
    fn results(&self) -> Result<Vec<ToolResult>, String> {
        let mut all = Vec::new();
        for row in self.table.iter().flat_map(|table| &table.printed) {
            let has = |all: &[String], one: &String| all.is_empty() || all.contains(one);
            if !has(&self.files, &row.file) || !has(&self.records, &row.record) {
                let (file, record) = (&row.file, &row.record);
                return Err(format!(
                    "its row of a file of {file} kB in records of {record} is not what it says \
                     was asked for"
                ));
            }
        }
        all.extend(self.table.iter().flat_map(|table| table.rows.iter().cloned()));
        for group in &self.groups {
            all.push(group.said(&self.version)?);
        }
        if all.is_empty() {
            return Err("a run of it has no table and no rates".to_owned());
        }
        for said in all.iter_mut().filter(|_| self.direct) {
            said.settings.insert("direct".to_owned(), true.into());
        }
        Ok(all)
    }
}

/// The number of `File size set to 4096 kB`.
fn asked<'a>(line: &'a str, begin: &str) -> Option<&'a str> {
    let (number, unit) = line.strip_prefix(begin)?.split_once(' ')?;
    ["kB", "KB"].contains(&unit).then_some(number)
}

/// One result a row, or one for each number of processes. A run is whole when it says that it is
/// complete.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    let mut open: Option<IozoneRun> = None;
    let mut closed: Option<IozoneRun> = None;
    let mut report = report::Report::default();
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n').map(str::trim_end) else { continue };
        let bare = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if bare == FIRST_LINE {
            if open.is_some() {
                return Err("a run of it is not complete".to_owned());
            }
            (open, report) = (Some(IozoneRun::default()), report::Report::default());
        } else if bare == COMPLETE {
            if let Some(run) = open.take() {
                all.extend(run.results()?);
                closed = Some(run);
            }
        } else if let Some(run) = &mut open {
            report.of_processes(&bare, &run.groups)?;
            run.line(line, &bare)?;
        } else if IozoneRun::begins(&bare) {
            let mut run = IozoneRun::default();
            run.line(line, &bare)?;
            (open, report) = (Some(run), report::Report::default());
        } else {
            let table = closed.as_ref().and_then(|run| run.table.as_ref());
            report.of_table(&bare, table)?;
        }
    }
    match (open, all.is_empty()) {
        (Some(_), _) => Err(NOT_COMPLETE.to_owned()),
        (None, true) => Err("there is no table of iozone's in it".to_owned()),
        (None, false) => Ok(all),
    }
}

/// A number of KiB that iozone printed, in bytes.
fn kibibytes(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u64>().ok().filter(|number| is_plain && *number > 0)?;
    number.checked_mul(KIB)
}

/// Knobs that a result has.
fn settings(told: &[(&str, Option<u64>)]) -> Map<String, Json> {
    let told = told.iter().filter_map(|(knob, value)| Some(((*knob).to_owned(), (*value)?.into())));
    told.collect()
}

#[cfg(test)]
mod tests;
