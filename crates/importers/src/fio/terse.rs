//! (pure) What fio prints with `--minimal` (`--output-format=terse`): a line for each job or group,
//! its fields behind semicolons (HOWTO, "Terse output"; stat.c: show_thread_status_terse_all).
//!
//! The format has versions of its own, 2 to 5, which differ in their directions and in what they
//! tell of each. Rates are in KiB/s and latencies in us.

use experiment::measurement::Note;

use super::printed::{Printed, without_progress};
use super::{MIXED, failed, no_io, percentile_of};
use crate::ToolResult;

/// Whether a text has such a line, whole or not.
pub fn knows(text: &str) -> bool {
    text.lines().any(|line| head(line).is_some())
}

/// What a line of fio's terse output begins with.
struct TerseHeader<'a> {
    format: u64,
    /// Empty in format 2, which does not tell it.
    version: &'a str,
    name: &'a str,
    group: u64,
    error: i64,
    rest: &'a str,
}

/// `3;fio-3.33;mixjob;0;0;...`, or of format 2 `2;mixjob;0;0;...`, behind which numbers follow.
fn head(line: &str) -> Option<TerseHeader<'_>> {
    let (format, rest) = without_progress(line).split_once(';')?;
    let format: u64 = format.parse().ok().filter(|format| *format < 100)?;
    let (version, rest) = match format {
        2 => ("", rest),
        _ => rest.split_once(';')?,
    };
    // Before 2.0.9 or so the number stands there alone.
    let is_version = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let (is_version, version) = match version.strip_prefix("fio-") {
        Some(version) => (is_version(version), version),
        None => (is_version(version) && version.contains('.'), version),
    };
    let (name, rest) = rest.split_once(';')?;
    let (group, rest) = rest.split_once(';')?;
    let (error, rest) = rest.split_once(';')?;
    let (group, error) = (group.parse().ok()?, error.parse().ok()?);
    let numbers = rest.split(';').take(4).all(|field| field.parse::<f64>().is_ok());
    // Where a version should stand and none does, a line is still told by its percentiles.
    let without = numbers && rest.matches(';').count() > 8 && (format == 2 || rest.contains("%="));
    (is_version || without).then_some(TerseHeader { format, version, name, group, error, rest })
}

/// A result for each line.
///
/// # Errors
/// When a job failed or did nothing, when its fields are not those of the format, and when lines
/// may be snapshots of one run.
pub fn parse(text: &str) -> Result<Vec<Printed>, String> {
    let (mut all, mut idle) = (Vec::new(), Vec::new());
    let mut last: Vec<Job<'_>> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        let Some(head) = head(line) else { continue };
        if head.format != 2 && !head.version.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(format!(
                "a line of its terse format {} does not say which fio printed it",
                head.format
            ));
        }
        if head.error != 0 {
            return Err(failed(head.name, head.error));
        }
        let job = Job::of(head)?;
        if let Some(before) = last.iter_mut().find(|before| before.is_of(&job)) {
            if before.may_be_of_one_run(&job) {
                return Err(job.wrong(
                    "has one line, and another with more of everything: they may be snapshots of \
                     one run (--status-interval), which this format does not tell from two runs; \
                     leave the last line of each run",
                ));
            }
            *before = job.clone();
        } else {
            last.push(job.clone());
        }
        match job.printed()? {
            Some(printed) => all.push(printed),
            None => idle.push(no_io(job.head_name)),
        }
    }
    let notes = idle.iter().map(|text| Note::new("no-io", text.clone()));
    match all.first_mut() {
        Some(first) => first.said.notes.extend(notes),
        None => return Err(idle.into_iter().next().unwrap_or_else(|| "it has no line".to_owned())),
    }
    Ok(all)
}

/// A line with the fields of its format.
#[derive(Clone)]
struct Job<'a> {
    head_name: &'a str,
    version: &'a str,
    group: u64,
    directions: Vec<(&'static str, TerseDirection)>,
    /// User and system.
    cpu_percent: [f64; 2],
    /// Context switches and page faults, which never become less.
    counted: [f64; 3],
}

/// What a line of fio's terse output tells of one direction.
#[derive(Clone, Debug, Default)]
struct TerseDirection {
    kib: f64,
    kib_per_s: f64,
    iops: f64,
    runtime_ms: f64,
    submission: Latency,
    completion: Latency,
    latency: Latency,
    percentiles: Vec<(f64, f64)>,
}

/// In us.
#[derive(Clone, Copy, Debug, Default)]
struct Latency {
    min: f64,
    max: f64,
    mean: f64,
}

/// What is left of a line.
struct Fields<'a>(std::iter::Peekable<std::str::Split<'a, char>>);

impl<'a> Fields<'a> {
    fn number(&mut self) -> Option<f64> {
        let field = self.0.next()?;
        let number = field.parse().ok()?;
        let is_plain = field.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        is_plain.then_some(number)
    }

    fn numbers<const N: usize>(&mut self) -> Option<[f64; N]> {
        let mut all = [0.0; N];
        for one in &mut all {
            *one = self.number()?;
        }
        Some(all)
    }

    fn percent(&mut self) -> Option<f64> {
        self.0.next()?.strip_suffix('%')?.parse().ok().filter(|it: &f64| it.is_finite())
    }

    fn percents(&mut self, many: usize) -> Option<()> {
        (0..many).try_for_each(|_| self.percent().map(|_| ()))
    }

    fn latency(&mut self) -> Option<Latency> {
        let [min, max, mean, _deviation] = self.numbers()?;
        Some(Latency { min, max, mean })
    }

    /// `99.900000%=8224`; those that are not asked for are `0%=0`.
    fn percentile(&mut self) -> Option<(f64, f64)> {
        let (percent, value) = self.0.next()?.split_once("%=")?;
        Some((percent.parse().ok()?, value.parse::<u64>().ok()? as f64))
    }

    fn direction(&mut self, format: u64) -> Option<TerseDirection> {
        const PERCENTILES: usize = 20;
        let [kib, kib_per_s, iops, runtime_ms] = self.numbers()?;
        let (submission, completion) = (self.latency()?, self.latency()?);
        let percentiles: Option<Vec<_>> = (0..PERCENTILES).map(|_| self.percentile()).collect();
        let latency = self.latency()?;
        let [_min, _max] = self.numbers()?;
        self.percent()?;
        let [_mean, _deviation] = self.numbers()?;
        if format == 5 {
            let _samples_and_iops: [f64; 6] = self.numbers()?;
        }
        let percentiles = percentiles?;
        Some(TerseDirection {
            kib,
            kib_per_s,
            iops,
            runtime_ms,
            submission,
            completion,
            latency,
            percentiles,
        })
    }
}

/// Which directions a line of a format may have; of one that is not known, none.
fn directions_of(format: u64) -> &'static [&'static [&'static str]] {
    const READ: &str = "read";
    const WRITE: &str = "write";
    const TRIM: &str = "trim";
    match format {
        // fio 2.0 told no trims there.
        2 => &[&[MIXED], &[READ, WRITE], &[READ, WRITE, TRIM], &[READ, WRITE, TRIM, MIXED]],
        3 => &[&[MIXED], &[READ, WRITE], &[READ, WRITE, MIXED]],
        4 | 5 => &[&[MIXED], &[READ, WRITE, TRIM], &[READ, WRITE, TRIM, MIXED]],
        _ => &[],
    }
}

impl<'a> Job<'a> {
    fn of(head: TerseHeader<'a>) -> Result<Job<'a>, String> {
        let TerseHeader { format, version, name, group, .. } = head;
        let known = directions_of(format);
        if known.is_empty() {
            return Err(format!(
                "its terse format is {format}, and 2 to 5 are read; bring --terse-version=5"
            ));
        }
        let wrong = |what: &str| format!("the line of its job {name} {what}");
        let short = || wrong(&format!("has not the fields of terse format {format}"));
        let mut fields = Fields(head.rest.split(';').peekable());
        let mut all = Vec::new();
        let most = known.iter().map(|ways| ways.len()).max().unwrap_or(0);
        // The first field behind the directions is a share.
        while fields.0.peek().is_some_and(|field| !field.ends_with('%')) {
            if all.len() == most {
                return Err(short());
            }
            all.push(fields.direction(format).ok_or_else(short)?);
        }
        let ways = known.iter().find(|ways| ways.len() == all.len()).ok_or_else(short)?;
        let mut rest = || {
            let cpu_percent = [fields.percent()?, fields.percent()?];
            let counted = fields.numbers()?;
            // I/Os by depth, by us and by ms. Disks, errors and the description stand behind them.
            fields.percents(7 + 10 + 12)?;
            Some((cpu_percent, counted))
        };
        let (cpu_percent, counted) = rest().ok_or_else(short)?;
        // Reads, writes and their sum are as many directions in format 3.
        if let ([read, write, third], 4 | 5) = (all.as_slice(), format)
            && read.kib > 0.0
            && write.kib > 0.0
            && third.kib == read.kib + write.kib
        {
            return Err(wrong("has trims that are the sum of its reads and writes"));
        }
        let directions = ways.iter().copied().zip(all).collect();
        Ok(Job { head_name: name, version, group, directions, cpu_percent, counted })
    }

    fn wrong(&self, what: &str) -> String {
        format!("its job {} {what}", self.head_name)
    }

    fn is_of(&self, other: &Job<'_>) -> bool {
        let of = |job: &Job<'_>| (job.group, job.directions.len());
        self.head_name == other.head_name && self.version == other.version && of(self) == of(other)
    }

    /// Whether nothing is less in a later line, and so much time went by that somebody can have
    /// asked in between.
    fn may_be_of_one_run(&self, later: &Job<'_>) -> bool {
        const INTERVAL_MS: f64 = 500.0;
        let pairs = || self.directions.iter().zip(&later.directions);
        let grew = |(one, other): (&(_, TerseDirection), &(_, TerseDirection))| {
            let (one, other): (&TerseDirection, &TerseDirection) = (&one.1, &other.1);
            let idle = one.kib == 0.0;
            one.kib <= other.kib
                && one.runtime_ms <= other.runtime_ms
                && (idle || one.latency.min >= other.latency.min)
                && one.latency.max <= other.latency.max
        };
        // Jobs of one size that end one after the other moved the same.
        let longer = |(one, other): (&(_, TerseDirection), &(_, TerseDirection))| {
            let (one, other): (&TerseDirection, &TerseDirection) = (&one.1, &other.1);
            other.runtime_ms - one.runtime_ms >= INTERVAL_MS && one.kib < other.kib
        };
        pairs().all(grew)
            && pairs().any(longer)
            && self.counted.iter().zip(later.counted).all(|(one, other)| *one <= other)
    }

    /// Nothing of one that did nothing.
    fn printed(&self) -> Result<Option<Printed>, String> {
        let (version, title) = (self.version.to_owned(), self.head_name.to_owned());
        let mut said = ToolResult { version, title, ..ToolResult::default() };
        let did = self.directions.iter().filter(|(_, of)| of.kib > 0.0 || of.iops > 0.0);
        let did: Vec<_> = did.collect();
        for (way, of) in &self.directions {
            of.fits().map_err(|what| self.wrong(&format!("has a {way} that {what}")))?;
        }
        for (way, of) in &did {
            let alone = did.len() == 1 && matches!(*way, "read" | "write");
            let before = if alone { String::new() } else { format!("{way}_") };
            let old = ["", "2.0"].contains(&self.version) || self.version.starts_with("2.0.");
            let unit = of.unit(old).ok_or_else(|| {
                self.wrong(&format!("has a {way} whose rate is not its KiB by its time"))
            })?;
            of.add(&mut said, &before, unit);
            if of.runtime_ms == 0.0 {
                said.notes.push(Note::new("no-rate", self.wrong("took less than 1 ms: no rate")));
            }
        }
        if did.is_empty() {
            return Ok(None);
        }
        // Since 3.18 they may be asked for of the whole latency, and no field says so.
        if did.iter().any(|(_, of)| of.submission.max > 0.0 && of.percentiles[0].1 > 0.0) {
            let text = "percentiles are those of completion, unless lat_percentiles=1 was asked \
                        for, which this format does not tell";
            said.notes.push(Note::new("percentiles-of", text));
        }
        for (name, percent) in
            ["user_cpu_share", "system_cpu_share"].into_iter().zip(self.cpu_percent)
        {
            said.add(name, percent / 100.0, format!("{percent} %"));
        }
        Ok(Some(Printed { name: said.title.clone(), group: Some(self.group), at: None, said }))
    }
}

impl TerseDirection {
    /// Whether its numbers can be of one run.
    fn fits(&self) -> Result<(), &'static str> {
        let latencies = [self.submission, self.completion, self.latency];
        // Shortest and longest are rounded down to a us.
        if latencies.iter().any(|of| of.min > of.mean + 0.001 || of.mean >= of.max + 1.0) {
            return Err("has a mean latency that is none between the shortest and the longest");
        }
        let told = [self.kib_per_s, self.latency.max, self.completion.max, self.submission.max];
        let is_told = told.iter().any(|number| *number > 0.0);
        if self.kib == 0.0 && self.iops == 0.0 && is_told {
            return Err("moved nothing, and says how fast it did");
        }
        if self.runtime_ms == 0.0 && (self.iops > 0.0 || self.kib > 0.0 && !is_told) {
            return Err("did something in no time");
        }
        let known = || self.percentiles.iter().filter(|(percent, _)| *percent > 0.0);
        let falls =
            known().zip(known().skip(1)).any(|(one, next)| one.0 >= next.0 || one.1 > next.1);
        match falls {
            true => Err("has percentiles out of order"),
            false => Ok(()),
        }
    }

    /// How many bytes per second one of its rate is: a KiB/s, but until fio 2.0.7 a byte per ms.
    /// Nothing where its rate is not its KiB by its time.
    fn unit(&self, old: bool) -> Option<f64> {
        if self.runtime_ms == 0.0 {
            return (self.kib_per_s == 0.0 && self.iops == 0.0).then_some(1024.0);
        }
        // Both were rounded down.
        let fits = |unit: f64| {
            let (least, most) = (self.kib * 1024.0, (self.kib + 1.0) * 1024.0);
            let rate = |bytes: f64| bytes * 1000.0 / self.runtime_ms / unit;
            (rate(least) - 1.0..=rate(most)).contains(&self.kib_per_s)
        };
        [1024.0, 1000.0].into_iter().find(|unit| fits(*unit) && (old || *unit == 1024.0))
    }

    fn add(&self, said: &mut ToolResult, before: &str, unit: f64) {
        let word = if unit == 1024.0 { "KiB/s" } else { "bytes/ms" };
        // A rate of 0 is one that was rounded away.
        let mut add = |name: &str, value: f64, factor: f64, word: &str| {
            if value > 0.0 {
                said.add(format!("{before}{name}"), value * factor, format!("{value} {word}"));
            }
        };
        add("throughput_bytes_per_s", self.kib_per_s, unit, word);
        add("iops", self.iops, 1.0, "IOPS");
        for (name, of) in [
            ("latency_ns", self.latency),
            ("completion_latency_ns", self.completion),
            ("submission_latency_ns", self.submission),
        ] {
            add(&format!("{name}_mean"), of.mean, 1e3, "us");
            add(&format!("{name}_max"), of.max, 1e3, "us");
        }
        for (percent, value) in &self.percentiles {
            if let Some(what) = percentile_of(*percent) {
                add(&format!("completion_latency_ns_{what}"), *value, 1e3, "us");
            }
        }
    }
}

#[cfg(test)]
mod tests;
