//! (pure) A block of ioping's statistics: its lines, held against each other.

use super::Requests;
use crate::ToolResult;
use experiment::measurement::Note;

/// A number as it was printed: what it is at least and at most before it was rounded.
#[derive(Clone, Copy, Debug)]
struct Range {
    value: f64,
    least: f64,
    most: f64,
    /// Whether it has no decimals, and is of its unit as a whole.
    is_whole: bool,
}

impl Range {
    fn exactly(value: f64) -> Range {
        Range { value, least: value, most: value, is_whole: true }
    }

    fn is_near(self, other: Range) -> bool {
        self.least <= other.most && other.least <= self.most
    }

    fn by(self, other: Range) -> Range {
        Range {
            value: self.value / other.value,
            least: self.least / other.most,
            most: self.most / other.least,
            is_whole: false,
        }
    }

    fn times(self, factor: f64) -> Range {
        let Range { value, least, most, is_whole } = self;
        Range { value: value * factor, least: least * factor, most: most * factor, is_whole }
    }
}

/// Names of units and their factors.
type Units = [(&'static str, f64)];

const KIB: f64 = 1024.0;
/// Counts of 1000.
const COUNTS: &Units = &[("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
/// Sizes, of 1024 also where 0.6 and 0.7 write `mb`.
const SIZES: &Units = &[
    ("", 1.0),
    ("B", 1.0),
    ("bytes", 1.0),
    ("KiB", KIB),
    ("MiB", KIB * KIB),
    ("GiB", KIB * KIB * KIB),
    ("TiB", KIB * KIB * KIB * KIB),
    ("b", 1.0),
    ("kb", KIB),
    ("mb", KIB * KIB),
    ("gb", KIB * KIB * KIB),
    ("tb", KIB * KIB * KIB * KIB),
];
const TIMES: &Units = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
    ("hour", 3600e9),
    ("day", 86_400e9),
];

/// `2.97 k`, `4 KiB`, `210 us` in the smallest of these units.
fn quantity(text: &str, units: &Units) -> Option<Range> {
    let mut words = text.split_whitespace();
    let (number, unit) = (words.next()?, words.next().unwrap_or_default());
    let is_plain = number.starts_with(|c: char| c.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    if words.next().is_some() || !is_plain {
        return None;
    }
    let value = number.parse::<f64>().ok().filter(|value| *value < 1e18)? * factor;
    let decimals = number.split_once('.').map_or(0, |(_, behind)| behind.len());
    // ioping cuts what lies below a whole unit, and rounds then.
    let step = factor * 0.1f64.powi(i32::try_from(decimals).ok()?);
    let least = (value - step).max(0.0);
    Some(Range { value, least, most: value + step, is_whole: decimals == 0 })
}

/// One line of statistics: how many requests, in how long, of how many bytes, how fast.
#[derive(Debug)]
struct IopingTotals {
    count: Range,
    time: Range,
    /// Since 1.0.
    size: Option<Range>,
    iops: (Range, String),
    rate: (Range, String),
}

impl IopingTotals {
    /// `N in T, [SIZE,] I iops, R/s`, and the word behind the size.
    fn of<'a>(text: &'a str, between: &str) -> Option<(IopingTotals, Option<&'a str>)> {
        let parts: Vec<&str> = text.split(", ").collect();
        let (first, size, iops, rate) = match parts.as_slice() {
            [first, iops, rate] => (first, None, iops, rate),
            [first, size, iops, rate] => (first, Some(*size), iops, rate),
            _ => return None,
        };
        let (count, time) = first.split_once(between)?;
        let direction = size.map(|size| match size {
            _ if size.ends_with(" read") => "read",
            _ if size.ends_with(" written") => "written",
            _ => "",
        });
        let bare = |size: &'a str| {
            size.strip_suffix(direction.unwrap_or_default()).unwrap_or(size).trim_end()
        };
        let size = match size {
            Some(size) => Some(quantity(bare(size), SIZES)?),
            None => None,
        };
        let told = IopingTotals {
            count: quantity(count, COUNTS)?,
            time: quantity(time, TIMES)?,
            size,
            iops: (quantity(iops.strip_suffix(" iops")?, COUNTS)?, (*iops).to_owned()),
            rate: (quantity(rate.strip_suffix("/s")?, SIZES)?, (*rate).to_owned()),
        };
        Some((told, direction))
    }

    /// Whether its iops and rate are its requests and bytes by its time.
    fn is_of_its_time(&self) -> bool {
        let seconds = self.time.times(1e-9);
        let size = self.size.is_none_or(|size| size.by(seconds).is_near(self.rate.0));
        self.count.by(seconds).is_near(self.iops.0) && size
    }

    /// Bytes of each request, where they are told to the byte.
    fn block(&self) -> Option<f64> {
        let size = self.size.filter(|size| size.is_whole && self.count.is_whole)?;
        let block = size.value / self.count.value;
        (block >= 1.0 && block.fract() == 0.0 && self.count.value < 1000.0).then_some(block)
    }
}

/// A block of which lines are being read.
pub(super) struct Stats {
    title: String,
    completed: Option<(IopingTotals, Option<String>)>,
    generated: Option<IopingTotals>,
    /// Requests that it left out, as it says it.
    left_out: String,
    /// The shortest, the mean, the longest and the deviation, as they were printed.
    times: Vec<(Range, String)>,
}

impl Stats {
    pub(super) fn new(title: &str) -> Stats {
        let title = title.to_owned();
        Stats {
            title,
            completed: None,
            generated: None,
            left_out: String::new(),
            times: Vec::new(),
        }
    }

    /// A line between the heading and the times.
    pub(super) fn line(&mut self, line: &str) -> Result<(), String> {
        let wrong = || format!("`{line}` is no line of the statistics of ioping 0.6 to 1.3");
        if super::completed(line) {
            if self.completed.is_some() {
                return Err("what completed stands twice in its statistics".to_owned());
            }
            let (told, direction) =
                IopingTotals::of(line, " requests completed in ").ok_or_else(wrong)?;
            self.completed = Some((told, direction.map(str::to_owned)));
        } else if let Some((left_out, rest)) = line.split_once("generated ") {
            if self.generated.is_some() || self.completed.is_none() {
                return Err("what was generated stands twice in its statistics, or alone".into());
            }
            self.left_out = left_out.trim().trim_end_matches(',').to_owned();
            let (told, _) = IopingTotals::of(rest, " requests in ").ok_or_else(wrong)?;
            self.generated = Some(told);
        } else if !line.is_empty() {
            return Err(wrong());
        }
        Ok(())
    }

    /// Behind `min/avg/max/mdev = `.
    pub(super) fn times(&mut self, text: &str) -> Result<(), String> {
        let wrong = || format!("`{text}` in its statistics are no four times");
        let all: Vec<String> = match text.contains(" / ") {
            true => text.split(" / ").map(str::to_owned).collect(),
            // Up to 0.6 one unit is that of all.
            false => {
                let (numbers, unit) = text.rsplit_once(' ').ok_or_else(wrong)?;
                numbers.split('/').map(|number| format!("{number} {unit}")).collect()
            }
        };
        for one in all {
            self.times.push((quantity(&one, TIMES).ok_or_else(wrong)?, one));
        }
        match self.times.len() {
            4 => Ok(()),
            _ => Err(wrong()),
        }
    }

    /// The result, where nothing in it contradicts another.
    pub(super) fn said(self, requests: Requests) -> Result<ToolResult, String> {
        let [min, mean, max, deviation] = self.times.as_slice() else {
            return Err("its statistics have no four times".to_owned());
        };
        let Some((completed, direction)) = &self.completed else {
            return Err("its statistics have no line of what completed".to_owned());
        };
        let mut said = ToolResult { title: self.title.clone(), ..ToolResult::default() };
        let before = way(direction.as_deref(), &requests)?;
        if completed.count.value > 0.0 {
            self.check(completed, [min.0, mean.0, max.0, deviation.0])?;
            let (iops, rate) = (&completed.iops, &completed.rate);
            said.add(format!("{before}iops"), iops.0.value, &*iops.1);
            said.add(format!("{before}throughput_bytes_per_s"), rate.0.value, &*rate.1);
            let times = [("mean", mean), ("min", min), ("max", max), ("stddev", deviation)];
            for (name, (time, printed)) in times {
                // What is printed as 0.0 ms is shorter than it can tell, and no time of zero.
                if time.value > 0.0 {
                    said.add(format!("{before}latency_ns_{name}"), time.value, &**printed);
                }
            }
            if mean.0.value <= 0.0 {
                let text = format!("ioping printed {} for the mean: too short to tell.", mean.1);
                said.notes.push(Note::new("too-quick", text));
            }
        } else {
            let text = "ioping completed no request that counts: it leaves the first one out. More \
                        of them (-c) would tell.";
            said.notes.push(Note::new("no-request", text));
        }
        if let Some(generated) = &self.generated {
            self.check_generated(completed, generated)?;
            let (iops, rate) = (&generated.iops, &generated.rate);
            for (name, told) in [("iops", iops), ("throughput_bytes_per_s", rate)] {
                if told.0.value > 0.0 {
                    said.add(format!("generated_{before}{name}"), told.0.value, &*told.1);
                }
            }
        }
        if !self.left_out.is_empty() {
            let text = format!("ioping left requests out of its figures: {}.", self.left_out);
            said.notes.push(Note::new("left-out", text));
        }
        if let Some(bytes) = self.block(&requests)? {
            said.settings.insert("block-size".to_owned(), bytes.into());
        }
        match said.figures.is_empty() {
            true => Err("its statistics are of no request".to_owned()),
            false => Ok(said),
        }
    }

    fn check(
        &self,
        of: &IopingTotals,
        [min, mean, max, deviation]: [Range; 4],
    ) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("in the statistics of `{}` {what}", self.title));
        let second = Range::exactly(1e9);
        if min.least > mean.most || mean.least > max.most {
            return wrong("the mean is not between the shortest and the longest");
        }
        // The square of a deviation is at most what lies above the mean times what lies below.
        let (above, below) = (max.most - mean.least, mean.most - min.least);
        if deviation.least * deviation.least > above * below {
            return wrong("the deviation is larger than its times can have");
        }
        if !second.by(mean).is_near(of.iops.0) {
            return wrong("the iops are not one by the mean time");
        }
        match self.generated {
            Some(_) if !of.is_of_its_time() => {
                wrong("the iops or the rate are not what completed by its time")
            }
            // Up to 0.9 the time has the pauses in it.
            None if of.count.least * mean.least > of.time.most => {
                wrong("the requests took longer than the run")
            }
            _ => Ok(()),
        }
    }

    fn check_generated(&self, completed: &IopingTotals, of: &IopingTotals) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("in the statistics of `{}` {what}", self.title));
        if !of.is_of_its_time() {
            return wrong("the rates of what was generated are not of its time");
        }
        if completed.count.least > of.count.most || completed.time.least > of.time.most {
            return wrong("more completed than was generated");
        }
        let (Some(done), Some(all)) = (completed.size, of.size) else {
            return wrong("a size is missing");
        };
        let one = all.by(of.count);
        if completed.count.value > 0.0 && !done.by(completed.count).is_near(one) {
            return wrong("requests are of other sizes than those generated");
        }
        Ok(())
    }

    /// Bytes of each request, where they are told to the byte and each way of telling agrees.
    fn block(&self, requests: &Requests) -> Result<Option<u64>, String> {
        let Some((completed, _)) = &self.completed else { return Ok(None) };
        let of_requests = match requests.sizes.as_slice() {
            [(size, unit)] => quantity(&format!("{size} {unit}"), SIZES),
            _ => None,
        };
        let each = completed.rate.0.by(completed.iops.0);
        if of_requests.is_some_and(|size| completed.count.value > 0.0 && !size.is_near(each)) {
            return Err(format!("the requests of `{}` are of another size", self.title));
        }
        let generated = self.generated.as_ref().and_then(IopingTotals::block);
        let told = [
            of_requests.filter(|size| size.is_whole).map(|size| size.value),
            completed.block(),
            generated,
        ];
        let mut told = told.into_iter().flatten();
        let Some(block) = told.next() else { return Ok(None) };
        match told.all(|other| (other - block).abs() < 0.5) {
            true => Ok(Some(block as u64).filter(|bytes| *bytes >= 512 && *bytes % 512 == 0)),
            false => Err(format!("the requests of `{}` are of another size", self.title)),
        }
    }
}

/// `read_`, `write_`, or nothing where it does not say or did both.
fn way(direction: Option<&str>, requests: &Requests) -> Result<&'static str, String> {
    let has = |way: &str| requests.ways.iter().any(|it| it == way);
    let contrary = match direction {
        Some("read") => has("to") || has(">>>"),
        Some("written") => has("<<<"),
        _ => false,
    };
    if contrary {
        return Err("its requests go another way than its statistics".to_owned());
    }
    Ok(match direction {
        Some("read") => "read_",
        Some("written") => "write_",
        None if has("to") && !has("from") => "write_",
        _ => "",
    })
}
