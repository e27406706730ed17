//! (pure) What IOR 2.10.3 to 4 prints for people: each run from its name to the time when it
//! finished, with a summary of all tests at the end (in 2.10 one behind each test).
//!
//! What IO500 starts (as a library) has neither summary nor end, but the row of its one repetition.

use std::collections::BTreeSet;

use super::summary::{IorNumber, IorRates, IorRow, MIB, ROUNDING, Shape, Tests, check_repetitions};
use crate::ToolResult;
use experiment::measurement::Note;

/// Whether a run begins with this line.
pub fn begins(line: &str) -> bool {
    // What is pasted into Markdown is indented.
    let line = line.trim_start();
    line.starts_with("IOR-") && line.contains("MPI Coordinated Test")
}

/// One result a test of each run, of writing and reading. A run is whole when it says when it
/// finished.
///
/// # Errors
/// When a run is not, or contradicts itself.
pub fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    let mut run: Option<IorRun> = None;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n').map(str::trim) else {
            // What has no end may have been longer.
            if let Some(run) = &mut run {
                run.csv |= line.contains("summaryFormat=CSV");
            }
            continue;
        };
        if begins(line) {
            let version = line[4..].split(':').next().unwrap_or_default();
            if run.as_mut().is_some_and(|run| run.goes_on(version)) {
                continue;
            }
            if let Some(before) = run.take() {
                all.push(before.unfinished("a run of it does not say that it finished")?);
            }
            run = Some(IorRun { version: version.to_owned(), ..IorRun::default() });
        } else if is_end(line) {
            if let Some(run) = run.take() {
                all.extend(run.finished()?);
            }
        } else if let Some(run) = &mut run {
            run.line(line)?;
        }
    }
    if let Some(run) = run {
        all.push(run.unfinished("it was cut short: it does not say that it finished")?);
    }
    Ok(all)
}

/// `Finished            : Sun Nov 29 ...`, `Finished: ...` up to 3.1, `Run finished: ...` in 2.10.
fn is_end(line: &str) -> bool {
    let key = line.split_once(':').map(|(key, _)| key.trim_end());
    matches!(key, Some("Finished" | "Run finished"))
}

/// A run of IOR that has begun.
#[derive(Default)]
struct IorRun {
    version: String,
    command: String,
    /// What each test that began is, and did.
    begun: Vec<BegunTest>,
    /// The columns of the summary, where lines are of it now.
    columns: Option<&'static IorColumns>,
    rows: Vec<IorRow>,
    /// Of which tests and ways they are.
    of: BTreeSet<(u64, &'static str)>,
    /// The first error that it stopped at.
    error: Option<String>,
    warned: Vec<String>,
    json: bool,
    csv: bool,
}

/// A test of IOR that began: what it is, and what it did.
#[derive(Default)]
struct BegunTest {
    shape: Shape,
    /// The way and the rate of each repetition, and how long it took.
    repetitions: Vec<(&'static str, IorNumber, f64)>,
    /// `Max Write` and `Max Read`.
    max: Vec<(&'static str, f64)>,
    /// Bytes that were moved, where a warning says so.
    moved: Option<f64>,
}

/// Where the columns of IOR's summary are.
struct IorColumns {
    head: &'static str,
    /// How many words a row has.
    words: usize,
    /// The first of four about I/Os per second.
    ops: Option<usize>,
    test: Option<usize>,
    /// `#Tasks`: behind it are in a fixed order what the test was asked to do.
    tasks: Option<usize>,
    /// How much a unit of the bytes that were moved is in MiB, and the last digit of them.
    moved: (f64, f64),
    ops_of_segment: bool,
}

/// The heads of summaries, their blanks as one.
const COLUMNS: [IorColumns; 6] = [
    IorColumns {
        head: "Operation Max(MiB) Min(MiB) Mean(MiB) StdDev Max(OPs) Min(OPs) Mean(OPs) StdDev \
               Mean(s) Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord reordoff \
               reordrand seed segcnt blksiz xsize aggs(MiB) API RefNum",
        words: 27,
        ops: Some(5),
        test: Some(12),
        tasks: Some(13),
        moved: (1.0, 0.1),
        ops_of_segment: false,
    },
    // 3.2
    IorColumns {
        head: "Operation Max(MiB) Min(MiB) Mean(MiB) StdDev Max(OPs) Min(OPs) Mean(OPs) StdDev \
               Mean(s) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt blksiz xsize \
               aggs(MiB) API RefNum",
        words: 25,
        ops: Some(5),
        test: Some(10),
        tasks: Some(11),
        moved: (1.0, 0.1),
        ops_of_segment: false,
    },
    // 3.1 while 3.2 was made
    IorColumns {
        head: "Operation Max(MiB) Min(MiB) Mean(MiB) StdDev Max(OPs) Min(OPs) Mean(OPs) StdDev \
               Mean(s) Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt blksiz xsize \
               aggsize API RefNum",
        words: 25,
        ops: Some(5),
        test: Some(10),
        tasks: Some(11),
        moved: (1.0 / MIB, 0.0),
        ops_of_segment: false,
    },
    // 3.0 and 3.1
    IorColumns {
        head: "Operation Max(MiB) Min(MiB) Mean(MiB) StdDev Mean(s) Test# #Tasks tPN reps fPP \
               reord reordoff reordrand seed segcnt blksiz xsize aggsize API RefNum",
        words: 21,
        ops: None,
        test: Some(6),
        tasks: Some(7),
        moved: (1.0 / MIB, 0.0),
        ops_of_segment: false,
    },
    // 2.10, and the same with -v
    IorColumns {
        head: "Operation Max (MiB) Min (MiB) Mean (MiB) Std Dev Max (OPs) Min (OPs) Mean (OPs) \
               Std Dev Mean (s)",
        words: 11,
        ops: Some(5),
        test: None,
        tasks: None,
        moved: (0.0, 0.0),
        ops_of_segment: true,
    },
    IorColumns {
        head: "Operation Max (MiB) Min (MiB) Mean (MiB) Std Dev Max (OPs) Min (OPs) Mean (OPs) \
               Std Dev Mean (s) Op grep #Tasks tPN reps fPP reord reordoff reordrand seed segcnt \
               blksiz xsize aggsize",
        words: 25,
        ops: Some(5),
        test: None,
        tasks: Some(10),
        moved: (1.0 / MIB, 0.0),
        ops_of_segment: true,
    },
];

impl IorRun {
    /// IOR 2.10 prints its name before each test of a script, and its end once.
    fn goes_on(&mut self, version: &str) -> bool {
        let of_all = self.begun.len();
        let is_told = |row: &IorRow| row.test + 1 == of_all as u64;
        let goes_on = version == self.version
            && version.starts_with("2.")
            && of_all > 0
            && self.rows.iter().any(is_told)
            && self.begun.last().is_some_and(|test| !test.max.is_empty());
        self.columns = self.columns.filter(|_| !goes_on);
        goes_on
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() == Some(&"Operation") {
            let head = words.join(" ");
            let columns = COLUMNS.iter().find(|columns| columns.head == head);
            self.columns = Some(columns.ok_or_else(|| {
                format!(
                    "the summary of IOR {} has other columns than those of 2.10.3 to 4; run one of \
                     those",
                    self.version
                )
            })?);
            return Ok(());
        }
        if let Some((way, number)) = max(line)? {
            let test = self.begun.last_mut();
            test.ok_or("its `Max` line is of no test")?.max.push((way, number));
            return Ok(());
        }
        match self.columns {
            Some(columns) => self.row(line, &words, columns),
            None => {
                self.before_summary(line, &words);
                Ok(())
            }
        }
    }

    /// What a test is, its repetitions, and what went wrong.
    fn before_summary(&mut self, line: &str, words: &[&str]) {
        // The CSV of 3.2 and 3.3 is one line; in 3.2 it has no end.
        self.csv |= line.contains("summaryFormat=CSV");
        if line == "{" {
            self.json = true;
        } else if let Some(warning) = warning(line) {
            self.warning(warning);
        } else if self.error.is_none() && is_error(line) {
            self.error = Some(line.chars().take(200).collect());
        } else if line == "Summary:" {
            self.begun.push(BegunTest::default());
        } else if let Some((key, value)) = line.split_once([':', '=']) {
            match key.trim() {
                "TestID" => self.begun.push(BegunTest::default()),
                "Command line" | "Command line used" => self.command = value.trim().to_owned(),
                key => {
                    if let Some(test) = self.begun.last_mut() {
                        setting(&mut test.shape, key, value.trim());
                    }
                }
            }
        } else if let (Some(test), Some(told)) = (self.begun.last_mut(), repetition(words)) {
            test.repetitions.push(told);
        }
    }

    fn warning(&mut self, warning: &str) {
        let moved = warning.split_once("actual aggregate bytes moved = ");
        if let (Some((_, bytes)), Some(test)) = (moved, self.begun.last_mut()) {
            test.moved = bytes.trim_end_matches('.').parse().ok();
        }
        // Those are told by the bytes that were moved.
        let of_size = ["aggregate", "aused by deadline", "statfs"];
        let known = of_size.iter().any(|words| warning.contains(words));
        // Of each task the same.
        let bare = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
        let is_new = || !self.warned.iter().any(|known| bare(known) == bare(warning));
        if !known && self.warned.len() < 8 && is_new() {
            self.warned.push(warning.chars().take(200).collect());
        }
    }

    fn row(
        &mut self,
        line: &str,
        words: &[&str],
        columns: &'static IorColumns,
    ) -> Result<(), String> {
        let way = match words.first() {
            Some(&"write") => "write",
            Some(&"read") => "read",
            // What else stands between: lines of MPI.
            _ if words.iter().filter(|word| word.parse::<f64>().is_ok()).count() < 6 => {
                return Ok(());
            }
            _ => return Err(format!("`{line}` is no row of its summary")),
        };
        if words.len() != columns.words {
            return Err(format!(
                "a row of its summary has {} words, not {}",
                words.len(),
                columns.words
            ));
        }
        let rates = |at: usize| -> Result<IorRates, String> {
            let number = |at: usize| IorNumber::parse(words.get(at).copied().unwrap_or_default());
            Ok(IorRates { max: number(at)?, min: number(at + 1)?, mean: number(at + 2)? })
        };
        let of_all = self.begun.len();
        let last = self.begun.last().ok_or("its summary is of no test")?;
        let whole = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        let test = match columns.test {
            Some(at) => whole(at).ok_or_else(|| format!("`{}` names no test of its", words[at]))?,
            None => of_all as u64 - 1,
        };
        if !self.of.insert((test, way)) {
            return Err(format!("the {way} of its test {test} stands there twice"));
        }
        let (unit, digit) = columns.moved;
        let moved = columns.tasks.and_then(|at| words.get(at + 11)?.parse::<f64>().ok());
        self.rows.push(IorRow {
            way,
            test,
            mib: rates(1)?,
            ops: columns.ops.map(rates).transpose()?,
            shape: columns.tasks.map_or_else(|| last.shape.clone(), |at| shape(whole, at)),
            moved: moved.map(|moved| (moved * unit, digit)),
            digit: ROUNDING,
            ops_of_segment: columns.ops_of_segment,
        });
        Ok(())
    }

    /// Its results, its summary held against what stands before it.
    fn finished(self) -> Result<Vec<ToolResult>, String> {
        let mut tests = Tests::default();
        for row in &self.rows {
            row.check()?;
            let begun = usize::try_from(row.test).ok().and_then(|at| self.begun.get(at));
            if let Some(begun) = begun {
                let of_way = begun.repetitions.iter().filter(|(way, ..)| *way == row.way);
                let rates: Vec<f64> = of_way.map(|(_, rate, _)| rate.value).collect();
                // From 3600 on they are printed without digits behind the point.
                check_repetitions(row, &rates, 0.51)?;
                let mut max = begun.max.iter().filter(|(way, _)| *way == row.way);
                if max.any(|(_, max)| (max - row.mib.max.value).abs() > 2.0 * ROUNDING) {
                    return Err(format!("the highest {} is told twice, and differs", row.way));
                }
            }
            tests.add(&self.version, row)?;
        }
        if tests.is_empty() {
            return Err(match self.only_checked() {
                true => "a run of it has a summary without rows: it only checked data, which IOR \
                         before 4.1 gives no rate of; run it with -r"
                    .to_owned(),
                false => format!(
                    "a run of it has no summary; IOR {} may be older than 2.10.3, the first that \
                     is read",
                    self.version
                ),
            });
        }
        let mut all = tests.finished(self.begun.len())?;
        for said in &mut all {
            said.notes.extend(self.warned.iter().map(|warning| noted(warning)));
        }
        Ok(all)
    }

    fn only_checked(&self) -> bool {
        self.columns.is_some()
    }

    /// The one repetition of what IO500 started; why there is none.
    fn unfinished(self, why: &str) -> Result<ToolResult, String> {
        if let Some(error) = &self.error {
            return Err(format!("IOR stopped at an error: {error}"));
        }
        if self.csv {
            return Err(super::csv::NO_RATES.to_owned());
        }
        if self.json {
            return Err(
                "IOR 3.2 prints broken JSON; run it without summaryFormat=JSON, or 3.3 and \
                        later with it"
                    .to_owned(),
            );
        }
        let of_io500 = ["stoneWallingStatusFile", "saveRankPerformanceDetailsCSV"];
        if !of_io500.iter().any(|words| self.command.contains(words)) {
            return Err(why.to_owned());
        }
        self.lone_repetition()
    }

    /// IO500 lets IOR go one way once, and print a row of it and no more.
    fn lone_repetition(self) -> Result<ToolResult, String> {
        let no_row = || {
            "IO500 started it and lets it print no summary, and the row of its one repetition is \
             not there: it was cut short, or stopped; the result_summary.txt of IO500 has the \
             figures"
                .to_owned()
        };
        // It can be asked for both ways, and stopped behind the first.
        let asked = |option: &str| self.command.split(' ').any(|word| word == option);
        if asked("-w") == (asked("-r") || asked("-R")) {
            return Err(no_row());
        }
        let [test] = self.begun.as_slice() else { return Err(no_row()) };
        let [(way, rate, seconds)] = test.repetitions.as_slice() else { return Err(no_row()) };
        if test.shape.repetitions != Some(1) || !self.rows.is_empty() {
            return Err(no_row());
        }
        let of_moved = test.moved.map(|moved| moved / MIB / seconds);
        let digit = |number: f64| if number < 3600.0 { ROUNDING } else { 0.51 };
        let rounding = digit(rate.value) + rate.value * digit(*seconds) / seconds;
        if *seconds > 1.0 && of_moved.is_some_and(|it| (it - rate.value).abs() > rounding) {
            return Err(format!("its bytes and its seconds do not give its rate of {way}"));
        }
        let moved = test.moved.map(|moved| (moved / MIB, 0.0));
        let row = IorRow { shape: test.shape.clone(), moved, ..IorRow::default() };
        let (version, settings) = (self.version.clone(), row.settings());
        let mut said = ToolResult { version, settings, ..ToolResult::default() };
        let printed = format!("{} MiB/s", rate.printed);
        said.add(format!("{way}_throughput_bytes_per_s"), rate.value * MIB, printed);
        let text = "its I/Os per second are left out: without a summary they are of the time of \
                    the transfers alone";
        said.notes.push(Note::new("iops-left-out", text));
        said.notes.extend(self.warned.iter().map(|warning| noted(warning)));
        Ok(said)
    }
}

fn noted(warning: &str) -> Note {
    Note::new("warned", format!("IOR warned: {warning}"))
}

/// `WARNING: inconsistent file size by different tasks.`; data that is wrong is told so in 3.x.
fn warning(line: &str) -> Option<&str> {
    if line.contains("FAILED comparison of buffer") {
        return Some("FAILED comparison of buffer");
    }
    line.strip_prefix("WARNING: ").or(line.strip_prefix("ior WARNING: "))
}

fn is_error(line: &str) -> bool {
    ["ERROR: ", "ERROR in ", "ior ERROR: "].iter().any(|word| line.starts_with(word))
}

/// `Max Write: 499.57 MiB/sec (523.83 MB/sec)`.
fn max(line: &str) -> Result<Option<(&'static str, f64)>, String> {
    let (way, rest) = match (line.strip_prefix("Max Write:"), line.strip_prefix("Max Read:")) {
        (Some(rest), _) => ("write", rest),
        (_, Some(rest)) => ("read", rest),
        _ => return Ok(None),
    };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let wrong = || format!("`{line}` is not its highest rate");
    let [mib, "MiB/sec", mb, "MB/sec)"] = words.as_slice() else { return Err(wrong()) };
    let mb = mb.strip_prefix('(').and_then(|mb| mb.parse::<f64>().ok()).ok_or_else(wrong)?;
    let mib = mib.parse::<f64>().ok().ok_or_else(wrong)?;
    match (mib * MIB / 1e6 - mb).abs() <= 2.0 * ROUNDING {
        true => Ok(Some((way, mib))),
        false => Err(wrong()),
    }
}

/// `write     342.72     5495 ...   0.023343   0`: the rate, the seconds; 2.10 says `XXCEL` behind.
fn repetition(words: &[&str]) -> Option<(&'static str, IorNumber, f64)> {
    let (way, rest) = match words.split_first()? {
        (&"write", rest) => ("write", rest),
        (&"read", rest) => ("read", rest),
        _ => return None,
    };
    let rest = rest.strip_suffix(&["XXCEL"]).unwrap_or(rest);
    if !matches!(rest.len(), 8 | 10) {
        return None;
    }
    let (iteration, rest) = rest.split_last()?;
    iteration.parse::<u64>().ok()?;
    Some((way, IorNumber::parse(rest.first()?).ok()?, rest.last()?.parse().ok()?))
}

/// What a test was asked to do, by the line `tasks : 2`, up to 3.1 `clients = 2 (2 per node)`.
fn setting(shape: &mut Shape, key: &str, value: &str) {
    match key {
        "access" => shape.own_files = value.starts_with("file-per-process"),
        "tasks" => shape.tasks = value.parse().ok(),
        "clients" => shape.tasks = value.split(' ').next().and_then(|word| word.parse().ok()),
        "repetitions" => shape.repetitions = value.parse().ok(),
        "segments" => shape.segments = value.parse().ok(),
        "xfersize" => shape.transfer = bytes(value),
        "blocksize" => shape.block = bytes(value),
        _ => {}
    }
}

/// `65536 bytes`, `1 MiB`. Of `1.33 MiB` it is not told how many they are.
fn bytes(value: &str) -> Option<u64> {
    let (number, unit) = value.split_once(' ')?;
    let unit = match unit {
        "bytes" => 1,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// What a row of the summary says of its test, from the column of its tasks on.
fn shape(whole: impl Fn(usize) -> Option<u64>, tasks: usize) -> Shape {
    Shape {
        tasks: whole(tasks),
        repetitions: whole(tasks + 2),
        own_files: whole(tasks + 3) == Some(1),
        segments: whole(tasks + 8),
        block: whole(tasks + 9),
        transfer: whole(tasks + 10),
    }
}
