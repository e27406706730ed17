//! (pure) A phase of elbencho's, as its text and its CSV tell it: what was done up to the first
//! thread's end and up to the last one's, and how long that took.
//!
//! Every rate is the count beside it by the time above it, each cut to a whole number
//! (`Statistics::generatePhaseResults`): one that is not is refused.

use experiment::measurement::reported::{Bound, Figure};

use crate::ToolResult;

/// Phases that are read, with what we call the rate of their entries; none where elbencho tells
/// nothing but how long it took.
const PHASES: [(&str, Option<&str>); 15] = [
    ("WRITE", Some("create")),
    ("READ", Some("open")),
    ("MKDIRS", Some("mkdir")),
    ("RMDIRS", Some("rmdir")),
    ("STAT", Some("stat")),
    ("STATDIRS", Some("stat_dirs")),
    ("RMFILES", Some("unlink")),
    ("MKBUCKETS", Some("create_buckets")),
    ("RMBUCKETS", Some("delete_buckets")),
    ("HEADOBJ", Some("head_objects")),
    ("RMOBJECTS", Some("delete_objects")),
    ("MULTIDEL", Some("multi_delete_objects")),
    ("LISTOBJ", Some("list_objects")),
    ("SYNC", None),
    ("DROPCACHE", None),
];

/// What a column counts up to: the end of the first thread, or of the last.
pub const ENDS: [&str; 2] = ["", "last_done_"];

/// Time, with what one more in its last place is worth.
#[derive(Clone, Copy, Default)]
pub struct Elapsed {
    pub seconds: f64,
    pub step: f64,
}

/// A rate and the count that it is of, in both columns.
#[derive(Clone, Copy, Default)]
pub struct Counted {
    pub rate: Option<[f64; 2]>,
    pub total: Option<[f64; 2]>,
}

/// Lowest, mean and highest, each in ns and as it was printed.
pub type Times = [(f64, String); 3];

/// What a phase did one way: what it wrote or what it read.
#[derive(Default)]
pub struct ElbenchoDirection {
    /// MiB, but for what `--base10` printed.
    pub bytes: Counted,
    /// As it calls the unit of its rate, and bytes in it.
    pub unit: Option<(&'static str, f64)>,
    pub iops: Option<[f64; 2]>,
    pub entries: Counted,
    pub entry_times: Option<Times>,
    pub io_times: Option<Times>,
    /// In ns and as it was printed, by our names.
    pub entry_percentiles: Vec<(String, f64, String)>,
    pub io_percentiles: Vec<(String, f64, String)>,
}

/// A phase of elbencho.
#[derive(Default)]
pub struct ElbenchoPhase {
    pub name: String,
    pub elapsed: [Elapsed; 2],
    /// What it did; of a mix what it wrote.
    pub one: ElbenchoDirection,
    /// What a mix read.
    pub reads: ElbenchoDirection,
    /// Whether entries are objects of S3.
    pub objects: bool,
}

/// Bytes in a MiB.
pub const MIB: f64 = 1_048_576.0;

/// The word for its entries of a phase that is read: `Ok(None)` for one that has none.
///
/// # Errors
/// When it is not read.
pub fn entries_of(name: &str) -> Result<Option<&'static str>, String> {
    if is_mix(name) {
        return Ok(Some("create"));
    }
    let row = PHASES.iter().find(|(known, _)| *known == name);
    row.map(|(_, entries)| *entries)
        .ok_or_else(|| format!("it has a phase `{name}`, which is not read"))
}

/// Whether it reads and writes at once.
fn is_mix(name: &str) -> bool {
    ["RWMIX", "MIX-T"].into_iter().any(|of| {
        let digits = name.strip_prefix(of);
        digits.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Whether a word is a phase's name, of those that are read or of others.
pub fn is_name(word: &str) -> bool {
    let letter = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "_+-rs".contains(c);
    word.starts_with(|c: char| c.is_ascii_uppercase()) && word.len() > 1 && word.chars().all(letter)
}

impl Counted {
    /// # Errors
    /// When one is without the other, or the rate is not of the count and the time.
    fn check(&self, what: &str, elapsed: &[Elapsed; 2], unit: f64) -> Result<(), String> {
        let (rates, totals) = match (self.rate, self.total) {
            (Some(rates), Some(totals)) => (rates, totals),
            (None, None) => return Ok(()),
            _ => return Err(format!("it has {what} in all and none per second, or none in all")),
        };
        for ((rate, total), time) in rates.into_iter().zip(totals).zip(elapsed) {
            // A time of 0 is one that was cut away, and so is its rate.
            let least = total / (time.seconds + time.step) * unit;
            let shortest = time.seconds.max(1e-6);
            let most = (total + 1.0) / shortest * unit;
            let near = rate + 1.001 >= least * (1.0 - 1e-9) && rate <= most * (1.0 + 1e-9);
            let untold = rate <= 0.0 && time.seconds <= 0.0;
            if !near && !untold {
                return Err(format!(
                    "its {what} per second are {rate}, and not its {total} in all by its time"
                ));
            }
        }
        Ok(())
    }
}

impl ElbenchoPhase {
    /// Its figures; `None` where it has none.
    ///
    /// # Errors
    /// When a rate is not of its count and its time, or something is missing.
    pub fn said(self) -> Result<Option<ToolResult>, String> {
        let why = |why: String| format!("of its phase {} {why}", self.name);
        let entries = entries_of(&self.name)?;
        let mut said = ToolResult { title: self.name.clone(), ..ToolResult::default() };
        for way in [&self.one, &self.reads] {
            let unit = way.unit.map_or(1.0, |(_, bytes)| MIB / bytes);
            way.bytes.check("bytes", &self.elapsed, unit).map_err(why)?;
            way.entries.check("entries", &self.elapsed, 1.0).map_err(why)?;
            let times = way.io_times.is_some() || !way.io_percentiles.is_empty();
            if (way.iops.is_some() || times) && way.bytes.rate.is_none() {
                return Err(why("it has IOPS, or latencies of I/Os, and no bytes".to_owned()));
            }
            let times = way.entry_times.is_some() || !way.entry_percentiles.is_empty();
            // A bucket that was listed may have none.
            if times && way.entries.rate.is_none() && self.name != "LISTOBJ" {
                return Err(why("it has latencies of entries and no entries".to_owned()));
            }
        }
        let Some(entries) = entries else { return Ok(None) };
        let mix = is_mix(&self.name);
        if !mix && (self.reads.bytes.rate.is_some() || self.reads.iops.is_some()) {
            return Err(why("it reads beside what it does".to_owned()));
        }
        let way = if self.name == "READ" { "read" } else { "write" };
        self.one.add(&mut said, way, entries, self.objects)?;
        if mix {
            self.reads.add(&mut said, "read", "open", self.objects)?;
        }
        Ok((!said.figures.is_empty()).then_some(said))
    }
}

impl ElbenchoDirection {
    fn add(
        &self,
        said: &mut ToolResult,
        way: &str,
        entries: &str,
        objects: bool,
    ) -> Result<(), String> {
        let moves = self.bytes.rate.is_some();
        let kind = if objects { "objects" } else { "files" };
        // Files with bytes in them are more than names that are made and opened.
        let entries = match (entries, moves) {
            ("create" | "open", true) => format!("{way}_{kind}"),
            ("create", false) if objects => "create_objects".to_owned(),
            ("open", false) if objects => "read_objects".to_owned(),
            _ => entries.to_owned(),
        };
        let (unit, bytes) = self.unit.unwrap_or(("MiB/s", MIB));
        for (at, end) in ENDS.into_iter().enumerate() {
            let mut rate = |name: String, values: Option<[f64; 2]>, factor: f64, unit: &str| {
                // What was too quick to be told stands there as 0.
                if let Some(value) = values.map(|values| values[at]).filter(|value| *value > 0.0) {
                    said.add(format!("{end}{name}"), value * factor, format!("{value} {unit}"));
                }
            };
            rate(format!("{way}_throughput_bytes_per_s"), self.bytes.rate, bytes, unit);
            rate(format!("{way}_iops"), self.iops, 1.0, "IOPS");
            rate(format!("{entries}_per_s"), self.entries.rate, 1.0, "entries/s");
        }
        for (name, times, percentiles) in [
            (format!("{way}_latency_ns"), &self.io_times, &self.io_percentiles),
            (format!("{entries}_latency_ns"), &self.entry_times, &self.entry_percentiles),
        ] {
            if let Some([low, mean, high]) = times {
                if low.0 > mean.0 || mean.0 > high.0 {
                    return Err(format!("its {name} is {}, not between the others", mean.1));
                }
                median(percentiles, mean.0).map_err(|why| format!("its {name} {why}"))?;
                for (what, (ns, printed)) in [("min", low), ("mean", mean), ("max", high)] {
                    said.add(format!("{name}_{what}"), *ns, &**printed);
                }
            }
            for (of, ns, printed) in percentiles {
                // The upper end of a class of latencies.
                said.figures.push(Figure {
                    name: format!("{name}_{of}"),
                    value: *ns,
                    printed: printed.clone(),
                    bound: Bound::UpTo,
                });
            }
        }
        Ok(())
    }
}

/// That a median goes with a mean: half of all took as long as its class of latencies at the least,
/// whose lower end is more than two thirds of the upper one, which is what is printed.
///
/// # Errors
/// When it does not, as that of another phase.
fn median(percentiles: &[(String, f64, String)], mean: f64) -> Result<(), String> {
    let all = percentiles.iter().filter(|(of, ..)| of == "p50");
    match all.into_iter().find(|(_, ns, _)| ns / 3.0 > mean * 1.01 + 1000.0) {
        Some((_, _, printed)) => Err(format!("has a median of {printed}, too high for its mean")),
        None => Ok(()),
    }
}

/// A whole number, as all counts and rates of elbencho's are.
pub fn whole(text: &str) -> Option<f64> {
    let good = !text.is_empty() && text.len() < 18 && text.bytes().all(|it| it.is_ascii_digit());
    text.parse::<f64>().ok().filter(|_| good)
}
