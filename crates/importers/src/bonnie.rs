//! (pure) bonnie++ 1.03 to 2.00: its CSV line, and the tables that it prints for people.
//!
//! Rates are in KiB/s and 1/s, shares of one processor in percent, the longest wait of each phase
//! since 1.9. `+++++` stands for a phase that was over too quickly for bonnie++ to tell: a note,
//! never a figure. Where a table and its CSV line stand together they are one result, and must
//! agree.

use serde_json::{Map, Value as Json};

use super::{Form, Importer, ToolResult};
use experiment::measurement::Note;

mod line;
mod table;

use table::BonnieTables;

/// See [`Importer`].
pub const BONNIE: Importer = Importer {
    name: "bonnie++",
    about: "The CSV line of bonnie++ 1.03 to 2.00, and its tables for people up to 1.97",
    forms: &[
        Form {
            bring: "the CSV line (-q), as it is printed behind the tables, too",
            recorded: &["1.03e", "1.96", "1.97", "2.00a"],
            read: "rates, seeks, files per second, shares of a processor and, since 1.9, latencies",
            not_read: "lines of other lengths",
        },
        Form {
            bring: "the tables for people, in K/sec",
            recorded: &["1.03e", "1.96", "1.97"],
            read: "the same",
            not_read: "tables of several machines; those since 1.98 without their CSV line: their \
                       numbers of created files are no rates",
        },
    ],
    words: &[
        "bonnie",
        "Bonnie",
        "--Sequential Output--",
        "--Sequential Create--",
        "Per Chr",
        "Per Char",
        "Rewrite",
    ],
    mark: "line `1.98,2.00a,...`, nor a heading `------Sequential Output------`",
    parse,
    knows,
};

const KIB: f64 = 1024.0;

/// Whether some line looks like bonnie++'s.
fn knows(text: &str) -> bool {
    text.lines().any(|it| line::is_line(it) || table::heading(it).is_some())
}

/// The phases of a run, in the order of its columns; the first five are of bytes.
const PHASES: [&str; 12] = [
    "char_write",
    "block_write",
    "rewrite",
    "char_read",
    "block_read",
    "seeks",
    "sequential_create",
    "sequential_stat",
    "sequential_unlink",
    "random_create",
    "random_stat",
    "random_unlink",
];
/// How many of them are of bytes.
const BULK: usize = 5;
/// How many stand in the first table.
const FIRST: usize = 6;

/// What is told of one phase of bonnie++.
#[derive(Clone, Debug, Default, PartialEq)]
struct BonniePhase {
    rate: BonnieRate,
    /// Percent of one processor, as it was printed.
    cpu: Option<String>,
    /// The longest wait, as it was printed.
    wait: Option<String>,
}

/// What stands where bonnie++ prints a rate.
#[derive(Clone, Debug, Default, PartialEq)]
enum BonnieRate {
    /// In KiB/s or 1/s.
    Number(String),
    TooQuick,
    #[default]
    Nothing,
}

impl BonnieRate {
    fn of(field: &str) -> Result<BonnieRate, String> {
        match field {
            "" => Ok(BonnieRate::Nothing),
            "+++++" | "+++" => Ok(BonnieRate::TooQuick),
            _ => match plain(field) {
                Some(_) => Ok(BonnieRate::Number(field.to_owned())),
                None => Err(format!("`{field}` in its line is no number")),
            },
        }
    }
}

/// A number without a sign or an exponent.
fn plain(text: &str) -> Option<f64> {
    let is_plain = text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse::<f64>().ok().filter(|number| is_plain && *number < 1e15)
}

/// A wait such as `30144us`, in ns.
fn wait_ns(field: &str) -> Result<f64, String> {
    let wrong = || format!("`{field}` in its line is no time");
    let end = field.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let factor = match &field[end..] {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return Err(wrong()),
    };
    let value: f64 = field[..end].parse().map_err(|_| wrong())?;
    Ok(value * factor)
}

/// One run of bonnie++, of a CSV line or of tables.
#[derive(Clone, Debug, Default, PartialEq)]
struct BonnieRun {
    version: String,
    title: String,
    /// Size of its file as it was printed, such as `8G`, and of the blocks.
    size: String,
    block: String,
    phases: [BonniePhase; 12],
}

impl BonnieRun {
    fn said(&self) -> Result<ToolResult, String> {
        let (version, title) = (self.version.clone(), self.title.clone());
        let mut said =
            ToolResult { version, title, settings: self.settings(), ..ToolResult::default() };
        let phases = || PHASES.iter().zip(&self.phases).enumerate();
        for (at, (name, phase)) in phases() {
            let BonnieRate::Number(printed) = &phase.rate else { continue };
            let value = plain(printed).ok_or_else(|| format!("`{printed}` is no rate"))?;
            let (unit, factor, per) = match at < BULK {
                true => ("throughput_bytes_per_s", KIB, "KiB/s"),
                false => ("per_s", 1.0, "1/s"),
            };
            if value > 0.0 {
                said.add(format!("{name}_{unit}"), value * factor, format!("{printed} {per}"));
            }
        }
        for (_, (name, phase)) in phases() {
            let (BonnieRate::Number(_), Some(cpu)) = (&phase.rate, &phase.cpu) else { continue };
            if let Some(percent) = plain(cpu) {
                said.add(format!("{name}_cpu_share"), percent / 100.0, format!("{cpu} %"));
            }
        }
        for (_, (name, phase)) in phases() {
            if let Some(wait) = &phase.wait {
                said.add(format!("{name}_latency_ns_max"), wait_ns(wait)?, wait.as_str());
            }
        }
        let quick = phases().filter(|(_, (_, phase))| phase.rate == BonnieRate::TooQuick);
        let quick: Vec<&str> = quick.map(|(_, (name, _))| *name).collect();
        if !quick.is_empty() {
            let text = format!(
                "bonnie++ printed +++++ for {}: each was over too quickly for it to tell. A larger \
                 file or more files would tell.",
                quick.join(", ").replace('_', " ")
            );
            said.notes.push(Note::new("too-quick", text));
        }
        match said.figures.is_empty() {
            true => Err("a run of it has no figure".to_owned()),
            false => Ok(said),
        }
    }

    /// What it tells of what was asked.
    fn settings(&self) -> Map<String, Json> {
        let mut known = Map::new();
        if let Some(bytes) = bytes(&self.size).filter(|_| self.size.ends_with(['M', 'G', 'T'])) {
            known.insert("file-size".to_owned(), bytes.into());
        }
        if let Some(bytes) = bytes(&self.block) {
            known.insert("block-size".to_owned(), bytes.into());
        }
        known
    }
}

/// `8G`, `64k`, `8192`.
fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit: u64 = match &text[end..] {
        "" => 1,
        "k" | "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return None,
    };
    text[..end].parse::<u64>().ok().filter(|bytes| *bytes > 0)?.checked_mul(unit)
}

/// One result a line, or a pair of tables with their line.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    let mut open: Option<BonnieTables> = None;
    let (mut tables, mut apart) = (0, 0);
    for line in text.split_inclusive('\n') {
        let is_whole = line.ends_with('\n');
        let line = line.trim_end();
        if line::is_line(line) {
            if !is_whole {
                return Err("its line was cut short".to_owned());
            }
            let run = line::run(line.trim())?;
            match open.take() {
                Some(table) => all.push(table.with(run)?.said()?),
                None => {
                    apart += 1;
                    all.push(run.said()?);
                }
            }
        } else if !is_whole {
        } else if let Some(version) = table::heading(line) {
            if let Some(table) = open.take() {
                all.push(table.alone()?.said()?);
            }
            tables += 1;
            open = Some(BonnieTables::new(version));
        } else if let Some(table) = &mut open {
            table.line(line)?;
        } else if table::is_part(line) {
            return Err(format!("`{}` of its table has no heading before it", line.trim()));
        }
    }
    if let Some(table) = open {
        all.push(table.alone()?.said()?);
    }
    if tables > 0 && apart > 0 {
        return Err("it has tables, and a CSV line apart from them: whose it is cannot be told; \
                    import them one by one"
            .to_owned());
    }
    match all.is_empty() {
        true => Err("there is no line of bonnie++'s CSV in it, and no table".to_owned()),
        false => Ok(all),
    }
}

#[cfg(test)]
mod tests;
