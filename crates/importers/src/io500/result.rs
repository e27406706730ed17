//! (pure) A run of IO500: what is checked of it, and what it tells.

use super::{Row, is_phase};
use crate::ToolResult;
use experiment::measurement::Note;

/// IO500's GiB.
const GIB: f64 = 1_073_741_824.0;

/// IO500 has 14, in an extended run some 30.
const MOST_PHASES: usize = 100;

/// A number of IO500 with its text as it was printed.
#[derive(Clone, Debug, PartialEq)]
struct Io500Number {
    value: f64,
    printed: String,
}

impl Io500Number {
    fn of(word: &str) -> Result<Io500Number, String> {
        let value = word.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0);
        let value = value.ok_or_else(|| format!("`{word}` is no result of a phase"))?;
        Ok(Io500Number { value, printed: word.to_owned() })
    }

    /// How much of it its last digit can be.
    fn rounding(&self) -> f64 {
        let digits = self.printed.split_once('.').map_or(0, |(_, digits)| digits.len());
        let digits = i32::try_from(digits).unwrap_or(i32::MAX);
        match self.value > 0.0 {
            true => 0.5 * 10_f64.powi(-digits) / self.value,
            false => 0.0,
        }
    }
}

/// A phase of a run of IO500: its name with lines below between its words.
struct Io500Phase {
    name: String,
    number: Io500Number,
}

/// A run of IO500 that has begun.
#[derive(Default)]
pub struct Io500Run {
    version: String,
    /// Whether it is of `result.txt`.
    pub section: bool,
    tasks: Option<u64>,
    pub invalid: bool,
    /// Whether it has a second score, of all of its phases.
    pub extended: bool,
    invalid_phases: Vec<String>,
    phases: Vec<Io500Phase>,
    bandwidth: Option<Io500Number>,
    operations: Option<Io500Number>,
    total: Option<Io500Number>,
}

impl Io500Run {
    pub fn begin(version: &str, tasks: Option<u64>) -> Io500Run {
        let version = version.strip_prefix("io500-").unwrap_or(version);
        Io500Run { version: version.to_owned(), tasks, ..Io500Run::default() }
    }

    pub fn has_phases(&self) -> bool {
        !self.phases.is_empty() || self.section
    }

    pub fn unfinished(&self) -> String {
        "it was cut short, or the run was stopped: its score is not told".to_owned()
    }

    /// A row of the summary. The shell scripts print each twice.
    pub fn row(&mut self, name: &str, row: Row<'_>) -> Result<(), String> {
        let of_bytes = is_of_bytes(name);
        match (of_bytes, row.unit) {
            (true, "GiB/s" | "GB/s") | (false, "kIOPS" | "kiops") => {}
            _ => return Err(format!("its phase {name} has the unit {}", row.unit)),
        }
        if row.invalid
            && self.invalid_phases.len() < MOST_PHASES
            && !self.invalid_phases.iter().any(|known| known == name)
        {
            self.invalid_phases.push(name.to_owned());
        }
        self.phase(name, Io500Number::of(row.value)?)
    }

    fn phase(&mut self, name: &str, number: Io500Number) -> Result<(), String> {
        let name = name.to_ascii_lowercase().replace('-', "_");
        // It only writes a file down, to be found by its time.
        if name == "timestamp" {
            return match number.value > 0.0 {
                true => Err(format!("its phase {name} has the result {}", number.printed)),
                false => Ok(()),
            };
        }
        match self.phases.iter().find(|known| known.name == name) {
            Some(known) if known.number != number => Err(format!(
                "its phase {name} stands there twice, the second time {}",
                number.printed
            )),
            Some(_) => Ok(()),
            None if self.phases.len() >= MOST_PHASES => {
                Err(format!("it has more than {MOST_PHASES} phases"))
            }
            None => {
                self.phases.push(Io500Phase { name, number });
                Ok(())
            }
        }
    }

    /// A key of a section of `result.txt`; whether it is the last of the run.
    pub fn key(&mut self, section: &str, key: &str, value: &str) -> Result<bool, String> {
        if !self.section {
            return Ok(false);
        }
        match (section, key) {
            ("SCORE", _) => return self.of_all(key, value),
            (name, "score") if is_phase(name) => self.phase(name, Io500Number::of(value)?)?,
            // `find` may be run by others.
            ("find", "nproc") if self.tasks.is_some_and(|tasks| value != tasks.to_string()) => {
                self.tasks = None;
            }
            _ => {}
        }
        Ok(false)
    }

    /// A key of the section of the score; whether it is the last.
    fn of_all(&mut self, key: &str, value: &str) -> Result<bool, String> {
        let mut words = value.split_whitespace();
        let number = words.next().unwrap_or_default();
        let known = match key {
            "MD" => &mut self.operations,
            "BW" => &mut self.bandwidth,
            "SCORE" => &mut self.total,
            _ => return Ok(false),
        };
        if known.is_some() {
            return Err(format!("its {key} stands there twice"));
        }
        *known = Some(Io500Number::of(number)?);
        self.invalid |= words.any(|word| word == "[INVALID]");
        Ok(key == "SCORE")
    }

    /// `[SCORE-invalid] Bandwidth 4.444457 GB/s : IOPS 37.951332 kiops : TOTAL 12.987419`.
    pub fn score(&mut self, line: &str) -> Result<(), String> {
        let wrong = || format!("`{line}` is no score");
        let (label, rest) = line.split_once(']').ok_or_else(wrong)?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [
            "Bandwidth",
            bandwidth,
            "GB/s" | "GiB/s",
            ":",
            "IOPS",
            operations,
            "kiops" | "kIOPS",
            ":",
            "TOTAL",
            total,
            valid @ ..,
        ] = words.as_slice()
        else {
            return Err(wrong());
        };
        self.bandwidth = Some(Io500Number::of(bandwidth)?);
        self.operations = Some(Io500Number::of(operations)?);
        self.total = Some(Io500Number::of(total)?);
        self.invalid |= label.contains("invalid") || valid.contains(&"[INVALID]");
        Ok(())
    }

    /// Its result, its scores held against its phases.
    pub fn finished(self) -> Result<ToolResult, String> {
        let scores = (self.bandwidth.as_ref(), self.operations.as_ref(), self.total.as_ref());
        let (Some(bandwidth), Some(operations), Some(total)) = scores else {
            return Err("a part of its score is missing".to_owned());
        };
        if self.phases.is_empty() {
            return Err("its score stands there without its phases".to_owned());
        }
        for (what, of_bytes, score, due) in
            [("bandwidth", true, bandwidth, 4), ("operations", false, operations, 8)]
        {
            let is_part =
                |phase: &&Io500Phase| counts(&phase.name) && is_of_bytes(&phase.name) == of_bytes;
            let parts: Vec<&Io500Number> =
                self.phases.iter().filter(is_part).map(|phase| &phase.number).collect();
            if !is_mean(score, &parts, due) {
                return Err(format!(
                    "its score of {what}, {}, is not the geometric mean of its phases",
                    score.printed
                ));
            }
        }
        let both = bandwidth.value * operations.value;
        let share = 1e-6 + bandwidth.rounding() + operations.rounding() + total.rounding();
        let near = |due: f64| (total.value - due).abs() <= due * share + 1e-6;
        let streams = self.tasks.map(|tasks| ("streams".to_owned(), tasks.into()));
        let (version, settings) = (self.version.clone(), streams.into_iter().collect());
        let mut said = ToolResult { version, settings, ..ToolResult::default() };
        for phase in &self.phases {
            add(&mut said, &phase.name, &phase.number);
        }
        add(&mut said, "ior_score", bandwidth);
        add(&mut said, "mdtest_score", operations);
        if near(both.sqrt()) {
            if total.value > 0.0 {
                said.add("io500_score", total.value, total.printed.clone());
            }
        } else if near(both) {
            let text = "its total is left out: until 2018 it was a product, and no mean";
            said.notes.push(Note::new("left-out", text));
        } else {
            return Err(format!("its total, {}, is not the mean of its scores", total.printed));
        }
        if self.extended {
            said.notes.push(super::extended_note());
        }
        self.add_notes(&mut said);
        match said.figures.is_empty() {
            true => Err("no phase of it has a result".to_owned()),
            false => Ok(said),
        }
    }

    fn add_notes(&self, said: &mut ToolResult) {
        let nothing = |phase: &&Io500Phase| phase.number.value <= 0.0;
        let without: Vec<&str> =
            self.phases.iter().filter(nothing).map(|phase| phase.name.as_str()).collect();
        if !without.is_empty() {
            let text = format!("IO500 has no result of {}", without.join(", "));
            said.notes.push(Note::new("no-result", text));
        } else if self.total.as_ref().is_some_and(|total| total.value <= 0.0) {
            let text = "IO500 gives it no score: phases of it are missing";
            said.notes.push(Note::new("no-result", text));
        }
        if self.invalid || !self.invalid_phases.is_empty() {
            let of_phases = match self.invalid_phases.is_empty() {
                true => String::new(),
                false => format!(": {}", self.invalid_phases.join(", ")),
            };
            let text = format!("IO500 calls this run invalid{of_phases}");
            said.notes.push(Note::new("invalid", text));
        }
    }
}

/// IOR's phases have rates of bytes.
fn is_of_bytes(name: &str) -> bool {
    name.starts_with("ior")
}

/// Whether a phase counts for the score.
fn counts(name: &str) -> bool {
    let of_parts = ["ior_easy_", "ior_hard_", "mdtest_easy_", "mdtest_hard_"];
    name == "find" || of_parts.iter().any(|part| name.starts_with(part))
}

/// A rate; what is zero was not measured.
fn add(said: &mut ToolResult, name: &str, number: &Io500Number) {
    let Io500Number { value, printed } = number;
    if *value <= 0.0 {
        return;
    }
    match is_of_bytes(name) {
        true => {
            let name = format!("{name}_throughput_bytes_per_s");
            said.add(name, value * GIB, format!("{printed} GiB/s"));
        }
        false => said.add(format!("{name}_per_s"), value * 1000.0, format!("{printed} kIOPS")),
    }
}

/// Whether it is the geometric mean of the parts, of which there are `due` in a whole run. What has
/// no result, or was left out, counts in it as zero; since 2021 not at all.
fn is_mean(score: &Io500Number, parts: &[&Io500Number], due: usize) -> bool {
    let of_some: Vec<&&Io500Number> = parts.iter().filter(|part| part.value > 0.0).collect();
    if score.value <= 0.0 {
        return of_some.len() < due;
    }
    if of_some.is_empty() {
        return false;
    }
    let many = of_some.len() as f64;
    let due = (of_some.iter().map(|part| part.value.ln()).sum::<f64>() / many).exp();
    let share = of_some.iter().map(|part| part.rounding()).sum::<f64>() / many + score.rounding();
    (score.value - due).abs() <= due * (share + 1e-6)
}
