//! (pure) A row of a summary of IOR's, of whatever form: what is checked of it, and what it tells.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::ToolResult;
use experiment::measurement::Note;

/// IOR's MiB.
pub const MIB: f64 = 1_048_576.0;
/// Rates of the text have two digits behind the point.
pub const ROUNDING: f64 = 0.01;

/// A number of IOR with its text as it was printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IorNumber {
    pub value: f64,
    pub printed: String,
}

impl IorNumber {
    /// # Errors
    /// When it is none.
    pub fn parse(word: &str) -> Result<IorNumber, String> {
        let value = word.parse::<f64>().ok().filter(|number| number.is_finite());
        let value = value.ok_or_else(|| format!("`{word}` in its summary is no number"))?;
        Ok(IorNumber { value, printed: word.to_owned() })
    }
}

/// The rates of several repetitions of a test.
#[derive(Clone, Debug, Default)]
pub struct IorRates {
    pub max: IorNumber,
    pub min: IorNumber,
    pub mean: IorNumber,
}

/// What a test was asked to do, as far as it is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    pub tasks: Option<u64>,
    pub repetitions: Option<u64>,
    /// Whether each task has a file of its own.
    pub own_files: bool,
    pub segments: Option<u64>,
    /// Bytes of a segment and task.
    pub block: Option<u64>,
    /// Bytes of one I/O.
    pub transfer: Option<u64>,
}

impl Shape {
    /// All bytes of all tasks.
    pub fn asked(&self) -> Option<u64> {
        self.tasks?.checked_mul(self.per_task()?)
    }

    fn per_task(&self) -> Option<u64> {
        self.segments?.checked_mul(self.block?)
    }
}

/// A row of IOR's summary: one way of one test.
#[derive(Clone, Debug, Default)]
pub struct IorRow {
    pub way: &'static str,
    pub test: u64,
    pub mib: IorRates,
    /// I/Os per second, where it has them.
    pub ops: Option<IorRates>,
    pub shape: Shape,
    /// MiB that were moved, and to within how much.
    pub moved: Option<(f64, f64)>,
    /// The last digit of its rates.
    pub digit: f64,
    /// Whether its I/Os are those of one segment (2.10).
    pub ops_of_segment: bool,
}

impl IorRow {
    /// # Errors
    /// When its numbers contradict each other.
    pub fn check(&self) -> Result<(), String> {
        let way = self.way;
        for rates in [Some(&self.mib), self.ops.as_ref()].into_iter().flatten() {
            let IorRates { max, min, mean } = rates;
            let digit = self.digit;
            if mean.value > max.value + digit || mean.value < min.value - digit {
                return Err(format!(
                    "the mean of its {way} is not between the lowest and the highest in its summary"
                ));
            }
            if self.shape.repetitions == Some(1) && max.value - min.value > 2.0 * digit {
                return Err(format!(
                    "the {way} of its one repetition has two rates in its summary"
                ));
            }
        }
        Ok(())
    }

    /// Whether the I/Os per second, as many transfers as that, are the rate.
    fn ops_agree(&self, ops: &IorRates, segments: u64) -> Option<bool> {
        let transfer = self.shape.transfer? as f64 / MIB * segments as f64;
        let rounding = self.digit * (1.0 + transfer) + self.mib.mean.value * 1e-6;
        Some((ops.mean.value * transfer - self.mib.mean.value).abs() <= rounding)
    }

    /// I/Os per second where they are of all that was moved; a note where they are not.
    ///
    /// # Errors
    /// When they are no whole part of the rate.
    fn add_ops(&self, said: &mut ToolResult) -> Result<(), String> {
        let Some(ops) = &self.ops else { return Ok(()) };
        let way = self.way;
        let wrong =
            || format!("the I/Os per second of its {way} and their size do not give its rate");
        match self.ops_agree(ops, 1) {
            Some(true) => {
                let printed = format!("{} 1/s", ops.mean.printed);
                said.add(format!("{way}_iops"), ops.mean.value, printed);
                return Ok(());
            }
            Some(false) if !self.ops_of_segment => return Err(wrong()),
            Some(false) => {
                let segments = self.mib.mean.value * MIB / ops.mean.value;
                let segments = segments / self.shape.transfer.map_or(1.0, |it| it as f64);
                let segments = segments.round();
                let whole = (2.0..1e15).contains(&segments);
                if !whole || self.ops_agree(ops, segments as u64) != Some(true) {
                    return Err(wrong());
                }
            }
            None if !self.ops_of_segment => return Err(wrong()),
            None => {}
        }
        let kind = "iops-left-out";
        if !said.notes.iter().any(|note| note.kind == kind) {
            let text = "its I/Os per second are left out: IOR 2.10 counts those of one segment";
            said.notes.push(Note::new(kind, text));
        }
        Ok(())
    }

    /// Adds what it says to the result of its test.
    ///
    /// # Errors
    /// When its numbers contradict each other.
    pub fn add_to(&self, said: &mut ToolResult) -> Result<(), String> {
        self.check()?;
        let way = self.way;
        for (name, number) in [
            ("throughput_bytes_per_s", &self.mib.mean),
            ("highest_throughput_bytes_per_s", &self.mib.max),
            ("lowest_throughput_bytes_per_s", &self.mib.min),
        ] {
            let printed = format!("{} MiB/s", number.printed);
            said.add(format!("{way}_{name}"), number.value * MIB, printed);
        }
        self.add_ops(said)?;
        let kind = "other-size";
        if self.is_whole() == Some(false) && !said.notes.iter().any(|note| note.kind == kind) {
            let text = "it moved other bytes than its blocks and segments have: its deadline, or \
                        a file of another size, ended it";
            said.notes.push(Note::new(kind, text));
        }
        Ok(())
    }

    /// Whether it moved all that it was asked to.
    fn is_whole(&self) -> Option<bool> {
        let (moved, rounding) = self.moved?;
        let asked = self.shape.asked()? as f64 / MIB;
        Some((moved - asked).abs() <= rounding + asked * 1e-7)
    }

    /// The knobs of its test.
    pub fn settings(&self) -> Map<String, Json> {
        let shape = &self.shape;
        // Only where each task has its own file is what it moves a file.
        let own = shape.own_files || shape.tasks == Some(1);
        let file = shape.per_task().filter(|_| own && self.is_whole() == Some(true));
        let told = [("streams", shape.tasks), ("block-size", shape.transfer), ("file-size", file)];
        let told =
            told.into_iter().filter_map(|(knob, value)| Some((knob.to_owned(), value?.into())));
        told.collect()
    }
}

/// The results of a run, by the number of their test, in the order of its summary.
#[derive(Default)]
pub struct Tests {
    tests: Vec<(u64, Shape, ToolResult)>,
    /// Where each of them is.
    places: BTreeMap<u64, usize>,
}

impl Tests {
    /// Adds a row.
    ///
    /// # Errors
    /// When it contradicts itself, or an earlier row of the same test.
    pub fn add(&mut self, version: &str, row: &IorRow) -> Result<(), String> {
        let test = row.test;
        let known = self.places.get(&test).and_then(|at| self.tests.get_mut(*at));
        if let Some((_, shape, said)) = known {
            if *shape != row.shape {
                return Err(format!("the rows of its test {test} are not of one test"));
            }
            // A deadline ends one way and not the other.
            if !row.settings().contains_key("file-size") {
                said.settings.remove("file-size");
            }
            return row.add_to(said);
        }
        let (version, settings) = (version.to_owned(), row.settings());
        let mut said = ToolResult { version, settings, ..ToolResult::default() };
        row.add_to(&mut said)?;
        self.places.insert(test, self.tests.len());
        self.tests.push((test, row.shape.clone(), said));
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.tests.is_empty()
    }

    /// Its results, where no more of them are there than began; they have names where there are
    /// several.
    ///
    /// # Errors
    /// When there are more, or none.
    pub fn finished(self, begun: usize) -> Result<Vec<ToolResult>, String> {
        let several = match self.tests.len() {
            0 => return Err("a run of it has no summary".to_owned()),
            // A row whose number had been changed would be a test of its own.
            more if more > begun => {
                return Err(format!("its summary is of {more} tests, of which {begun} began"));
            }
            number => number > 1,
        };
        let named = |(number, _, mut said): (u64, Shape, ToolResult)| {
            said.title = if several { format!("test {number}") } else { String::new() };
            said
        };
        Ok(self.tests.into_iter().map(named).collect())
    }
}

/// Holds a row of a summary against the rates of the repetitions, where all of them are there.
///
/// # Errors
/// When they are not the same.
pub fn check_repetitions(row: &IorRow, rates: &[f64], rounding: f64) -> Result<(), String> {
    let due = row.shape.repetitions.and_then(|many| usize::try_from(many).ok());
    if rates.is_empty() || due != Some(rates.len()) {
        return Ok(());
    }
    let max = rates.iter().copied().fold(f64::MIN, f64::max);
    let min = rates.iter().copied().fold(f64::MAX, f64::min);
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let pairs = [(max, &row.mib.max), (min, &row.mib.min), (mean, &row.mib.mean)];
    match pairs.iter().all(|(of_rows, told)| (of_rows - told.value).abs() <= rounding) {
        true => Ok(()),
        false => Err(format!(
            "the {} of its summary is not that of its {} repetitions",
            row.way,
            rates.len()
        )),
    }
}
