//! (pure) iozone's throughput mode: several processes at once, until the first of them is done.
//!
//! What its children saw is the sum of their rates, each by its own time; what their parent saw is
//! all bytes by the time from its start to its end, in which it started and gathered them as well.

use super::{IozoneUnit, ToolResult, kibibytes, settings};
use experiment::measurement::Note;

pub(super) const TEST: &str = "Throughput test with ";
pub(super) const CHILDREN: &str = "Children see throughput for ";
const PARENT: &str = "Parent sees throughput for ";

/// How it calls what its processes do, how its report does, and our name.
pub(super) const WAYS: [(&str, &str, &str); 13] = [
    ("initial writers", "initial write", "write"),
    ("rewriters", "rewrite", "rewrite"),
    ("readers", "read", "read"),
    ("re-readers", "re-read", "reread"),
    ("reverse readers", "reverse read", "read_backward"),
    ("stride readers", "stride read", "read_strided"),
    ("random readers", "random read", "random_read"),
    ("mixed workload", "mixed workload", "random_mix"),
    ("random writers", "random write", "random_write"),
    ("pwrite writers", "pwrite", "pwrite"),
    ("pread readers", "pread", "pread"),
    ("fwriters", "fwrite", "stdio_write"),
    ("freaders", "fread", "stdio_read"),
];

/// A number of iozone with its unit, as it was printed.
#[derive(Clone, Debug)]
struct IozoneRate {
    value: f64,
    printed: String,
    unit: IozoneUnit,
}

impl IozoneRate {
    /// `1264113.75 kB/sec`
    fn of(text: &str) -> Option<IozoneRate> {
        let (number, unit) = text.trim().split_once(' ')?;
        let unit = match unit.trim() {
            "kB/sec" | "KB/sec" => IozoneUnit::Kibibytes,
            "ops/sec" => IozoneUnit::Operations,
            _ => return None,
        };
        Some(IozoneRate { value: plain(number)?, printed: number.to_owned(), unit })
    }
}

fn plain(number: &str) -> Option<f64> {
    let is_plain = number.starts_with(|c: char| c.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    number.parse::<f64>().ok().filter(|number| is_plain && *number < 1e15)
}

/// What iozone's processes did at once: one way of reading or writing.
#[derive(Debug)]
pub(super) struct IozonePhase {
    pub(super) way: &'static str,
    theirs: &'static str,
    children: IozoneRate,
    parent: Option<IozoneRate>,
    /// The lowest, the highest and the mean of one process.
    each: [Option<IozoneRate>; 3],
    is_closed: bool,
    /// Rates of single children, where they are told.
    child: Vec<f64>,
}

impl IozonePhase {
    /// What its children saw, as it was printed.
    pub(super) fn printed(&self) -> &str {
        &self.children.printed
    }
}

/// `Each process writes a 512 kByte file in 4 kByte records`
fn is_sizes(line: &str) -> bool {
    line.starts_with("Each ") && line.contains(" writes a ")
}

/// What one number of processes did.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Of -l and -u only the first number is told before its rates.
    streams: Option<u64>,
    file_size: Option<u64>,
    block: Option<u64>,
    pub(super) phases: Vec<IozonePhase>,
}

impl Group {
    /// `Throughput test with 2 processes`
    pub(super) fn from_heading(line: &str) -> Result<Group, String> {
        let words: Vec<&str> = line.strip_prefix(TEST).unwrap_or(line).split(' ').collect();
        let streams = match words.as_slice() {
            [many, "process" | "processes" | "thread" | "threads"] => many.parse::<u64>().ok(),
            _ => None,
        };
        let streams = streams.filter(|many| *many > 0);
        let streams = streams.ok_or_else(|| format!("`{line}` tells no number of processes"))?;
        Ok(Group { streams: Some(streams), ..Group::default() })
    }

    /// Whether this line begins what the next number of processes does.
    pub(super) fn is_over(&self, line: &str) -> bool {
        is_sizes(line) && self.file_size.is_some()
    }

    pub(super) fn line(&mut self, line: &str) -> Result<(), String> {
        let wrong = || format!("`{line}` is not how iozone tells a rate");
        let after = |begin: &str| line.strip_prefix(begin)?.split_once('=').map(|(_, it)| it);
        if let Some(rest) = line.strip_prefix(CHILDREN) {
            let (who, rate) = rest.split_once('=').ok_or_else(wrong)?;
            return self.begin(who.trim(), IozoneRate::of(rate).ok_or_else(wrong)?, line);
        }
        if is_sizes(line) {
            return self.sizes(line);
        }
        if let Some(rest) = line.strip_prefix("Child[") {
            let rate = rest
                .split_once("Throughput = ")
                .and_then(|(_, rate)| IozoneRate::of(rate.split(',').next().unwrap_or_default()));
            let phase = self.phases.last_mut().ok_or_else(wrong)?;
            phase.child.push(rate.ok_or_else(wrong)?.value);
            return Ok(());
        }
        let open = self.phases.last_mut().filter(|phase| !phase.is_closed);
        if let Some(rest) = line.strip_prefix(PARENT) {
            let (who, rate) = rest.split_once('=').ok_or_else(wrong)?;
            let phase = open.ok_or_else(wrong)?;
            let streams = self.streams.unwrap_or_default();
            let same = who.trim() == format!("{streams} {}", phase.theirs);
            let twice = phase.parent.replace(IozoneRate::of(rate).ok_or_else(wrong)?).is_some();
            return if same && !twice { Ok(()) } else { Err(wrong()) };
        }
        for (at, name) in ["Min", "Max", "Avg"].iter().enumerate() {
            if let Some(rate) = after(&format!("{name} throughput per ")) {
                let phase = open.ok_or_else(wrong)?;
                let twice =
                    phase.each[at].replace(IozoneRate::of(rate).ok_or_else(wrong)?).is_some();
                return if twice { Err(wrong()) } else { Ok(()) };
            }
        }
        if after("Min xfer ").is_some() {
            let streams = self.streams.unwrap_or_default();
            return open.ok_or_else(wrong)?.close(streams);
        }
        Ok(())
    }

    fn begin(&mut self, who: &str, children: IozoneRate, line: &str) -> Result<(), String> {
        if self.phases.last().is_some_and(|phase| !phase.is_closed) {
            return Err("what its children saw is not closed by `Min xfer`".to_owned());
        }
        let (many, theirs) = who.split_once(' ').unwrap_or_default();
        let known = WAYS.iter().find(|(known, ..)| *known == theirs);
        let Some((theirs, _, way)) = known else {
            return Err(format!("`{line}` is of a test that is not known"));
        };
        let many = many.parse::<u64>().ok().filter(|many| *many > 0);
        if many.is_none() || self.streams.is_some_and(|streams| Some(streams) != many) {
            return Err(format!("`{line}` is not of the number of processes that was told"));
        }
        self.streams = many;
        if self.phases.iter().any(|phase| phase.way == *way) {
            return Err(format!("`{line}` stands twice in one test"));
        }
        let each = [None, None, None];
        let (way, theirs) = (*way, *theirs);
        let child = Vec::new();
        self.phases.push(IozonePhase {
            way,
            theirs,
            children,
            parent: None,
            each,
            is_closed: false,
            child,
        });
        Ok(())
    }

    fn sizes(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split(' ').collect();
        let of = |at: usize| words.get(at).and_then(|word| kibibytes(word));
        if !["kByte", "Kbyte"].contains(words.get(5).unwrap_or(&"")) || self.file_size.is_some() {
            return Err(format!("`{line}` is not how iozone tells the size of its files"));
        }
        self.file_size = of(4);
        self.block = of(8).filter(|_| ["kByte", "Kbyte"].contains(words.get(9).unwrap_or(&"")));
        Ok(())
    }

    /// Its result.
    pub(super) fn said(&self, version: &str) -> Result<ToolResult, String> {
        if self.phases.is_empty() || self.phases.iter().any(|phase| !phase.is_closed) {
            return Err("a test of several processes has no rates, or not all of one".to_owned());
        }
        let streams = self.streams.unwrap_or_default();
        let settings = settings(&[
            ("streams", self.streams),
            ("file-size", self.file_size),
            ("block-size", self.block),
        ]);
        let title = match streams {
            1 => "1 process".to_owned(),
            many => format!("{many} processes"),
        };
        let mut said =
            ToolResult { version: version.to_owned(), title, settings, ..ToolResult::default() };
        for phase in &self.phases {
            phase.check_children(streams)?;
            phase.add_to(&mut said);
        }
        match said.figures.is_empty() {
            true => Err("a test of several processes has no rate".to_owned()),
            false => Ok(said),
        }
    }
}

/// Of what is printed with two places; iozone adds up single precision.
fn near(one: f64, other: f64, many: u64) -> bool {
    (one - other).abs() <= 0.01 * (many as f64 + 1.0) + 1e-4 * other
}

impl IozonePhase {
    fn close(&mut self, streams: u64) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("of its {} {what}", self.theirs));
        let [Some(min), Some(max), Some(mean)] = &self.each else {
            return wrong("the lowest, the highest or the mean is missing");
        };
        let all = [min, max, mean].into_iter().chain(&self.parent);
        if all.into_iter().any(|rate| rate.unit != self.children.unit) {
            return wrong("the rates have several units");
        }
        if !near(mean.value * streams as f64, self.children.value, streams) {
            return wrong("the mean times their number is not what the children saw");
        }
        // iozone leaves a child that moved nothing out of the lowest: it may be above the mean.
        let is_low = min.value <= max.value && mean.value <= max.value * 1.0001 + 0.01;
        if !is_low || max.value > self.children.value * 1.0001 + 0.01 {
            return wrong("the lowest, the mean and the highest contradict each other");
        }
        self.is_closed = true;
        Ok(())
    }

    fn check_children(&self, streams: u64) -> Result<(), String> {
        let sum: f64 = self.child.iter().sum();
        let is_whole = self.child.len() as u64 == streams;
        match self.child.is_empty() || (is_whole && near(sum, self.children.value, streams)) {
            true => Ok(()),
            false => Err(format!("the children of its {} are not their sum", self.theirs)),
        }
    }

    fn add_to(&self, said: &mut ToolResult) {
        let add = |said: &mut ToolResult, name: &str, rate: &IozoneRate| {
            rate.unit.add(said, name, rate.value, &rate.printed);
        };
        add(said, self.way, &self.children);
        if let Some(parent) = &self.parent {
            add(said, &format!("{}_parent", self.way), parent);
        }
        let [min, max, _] = &self.each;
        if let Some(min) = min {
            match min.value > 0.0 {
                true => add(said, &format!("{}_slowest_stream", self.way), min),
                false => said.notes.push(Note::new(
                    "idle-stream",
                    format!(
                        "One of its {} had moved nothing when the first was done.",
                        self.theirs
                    ),
                )),
            }
        }
        if let Some(max) = max {
            add(said, &format!("{}_fastest_stream", self.way), max);
        }
    }
}
