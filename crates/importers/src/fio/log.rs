//! (pure) What fio logs over time (`write_bw_log` and its like): a row for each I/O, or for each
//! interval of `log_avg_msec`, and of `write_hist_log` how often each latency came.
//!
//! Which log it is stands in the name of its file alone, so the name must stand above the rows: as
//! `tail -v -n +1 FILE...` prints it. What a row's number means depends on the version too (HOWTO,
//! "Log File Formats"; stat.c: add_bw_sample, __add_samples):
//!
//! * latencies are in us until fio 2.21, and in ns since;
//! * a rate is in KiB/s where it is of an interval, and since 2.10 in bytes per ms where it is of
//!   one I/O;
//! * since 3.19 the last column is a priority, before it was none or an offset.
//!
//! There is no figure of a log: its mean is not that of the run, as intervals are not of one length
//! and have no weights.

use experiment::measurement::reported::{ReportedHistogram, ReportedSeries};

use super::bins::value_of_bucket;
use super::text::version;
use crate::ToolResult;

/// What a file's name says of its rows, behind the last `_`: a series, or a histogram.
const KINDS: [(&str, &str); 6] = [
    ("_clat_hist", "completion_latency_ns"),
    ("_clat", "completion_latency_ns"),
    ("_slat", "submission_latency_ns"),
    ("_lat", "latency_ns"),
    ("_iops", "iops"),
    ("_bw", "throughput_bytes_per_s"),
];

/// Whether a text has the name of a log with rows beneath it, or rows alone.
pub fn knows(text: &str) -> bool {
    let mut rows = 0;
    let mut named = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match is_row(line) {
            true if named || rows > 0 => return true,
            true => rows = 1,
            false => (rows, named) = (0, name(line).is_some()),
        }
    }
    false
}

/// `251, 80764, 0, 0, 0`.
fn is_row(line: &str) -> bool {
    let mut columns = line.trim_end().split(", ");
    let number = |column: &str| !column.is_empty() && column.bytes().all(|b| b.is_ascii_digit());
    let numbers = columns.by_ref().take(4).filter(|column| number(column)).count();
    let is_last = |column: &str| number(column) || column.starts_with("0x");
    numbers == 4 && columns.all(is_last)
}

/// The name of a log, alone on its line but for a `#` or what `tail` and `head` put around it.
fn name(line: &str) -> Option<(&'static str, &'static str, &str)> {
    let around = line.trim().strip_prefix("==> ").and_then(|rest| rest.strip_suffix(" <=="));
    let words = match around {
        Some(file) => file.split('\n'),
        None => line.trim().strip_prefix('#')?.split('\n'),
    };
    let mut words = words.flat_map(|words| words.split([' ', ',']));
    words.find_map(|file| {
        let stem = file.strip_suffix(".log")?;
        let number = stem.rsplit_once('.').filter(|(_, number)| number.parse::<u32>().is_ok());
        let stem = number.map_or(stem, |(stem, _)| stem);
        let (kind, name) = KINDS.into_iter().find(|(kind, _)| stem.ends_with(kind))?;
        let title = file.rsplit('/').next().unwrap_or(file);
        // That is of all jobs, and is counted otherwise.
        (!title.starts_with("agg-")).then_some((kind, name, title))
    })
}

const UNNAMED: &str = "its rows are like those of a log of fio's, and nothing in it says of what: \
                       bring the file by the name that fio gave it, or what `fio --version; tail \
                       -v -n +1 NAME_bw.1.log` prints";

/// Whether a file is called as fio calls its logs: `NAME_bw.1.log`.
pub fn is_named(file: &str) -> bool {
    name(&heading(file)).is_some()
}

/// The line that says of rows which log they are of.
pub fn heading(file: &str) -> String {
    format!("==> {} <==", file.rsplit('/').next().unwrap_or(file))
}

/// A result for each log.
///
/// # Errors
/// When it is not told what one is of, or its rows contradict each other.
pub fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all: Vec<Log<'_>> = Vec::new();
    let (mut open, mut of) = (false, None);
    for line in text.split_inclusive('\n') {
        // What has no end may have been longer.
        let Some(line) = line.strip_suffix('\n').map(str::trim_end) else { continue };
        if line.is_empty() {
            continue;
        }
        of = version(line).or(of);
        if let Some((kind, name, title)) = name(line) {
            let rows = Vec::new();
            all.push(Log { kind, name, title, version: of.unwrap_or_default(), rows });
            open = true;
        } else if !is_row(line) {
            // A heading that is none of these ends a log.
            let begins_so = line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(", ");
            if let Some(log) = all.last().filter(|log| open && begins_so && !log.rows.is_empty()) {
                return Err(log.wrong("has a row that is none"));
            }
            open = false;
        } else if let Some(log) = all.last_mut().filter(|_| open) {
            log.rows.push(line);
        } else {
            return Err(UNNAMED.to_owned());
        }
    }
    all.retain(|log| !log.rows.is_empty());
    all.iter().map(Log::said).collect()
}

/// Rows under a name.
struct Log<'a> {
    kind: &'static str,
    name: &'static str,
    title: &'a str,
    version: &'a str,
    rows: Vec<&'a str>,
}

/// A row of a log of fio that is of no histogram.
#[derive(Clone, Copy)]
struct FioLogRow<'a> {
    at_ms: u64,
    value: u64,
    direction: u64,
    /// 0 where it is of an interval.
    block_bytes: u64,
    /// A priority, or in older versions an offset or nothing.
    last: Option<&'a str>,
}

/// Names of directions, by their number.
const WAYS: [&str; 3] = ["read", "write", "trim"];

impl Log<'_> {
    fn wrong(&self, what: &str) -> String {
        format!("its log {} {what}", self.title)
    }

    fn said(&self) -> Result<ToolResult, String> {
        let (version, title) = (self.version.to_owned(), self.title.to_owned());
        let mut said = ToolResult { version, title, ..ToolResult::default() };
        match self.kind {
            "_clat_hist" => said.histograms = self.histograms()?,
            _ => said.series = self.series()?,
        }
        Ok(said)
    }

    /// What stands before the name of a direction: nothing where it is the only one.
    fn before(way: usize, alone: bool) -> String {
        match WAYS.get(way) {
            Some(way) if !alone || *way == "trim" => format!("{way}_"),
            _ => String::new(),
        }
    }

    fn series(&self) -> Result<Vec<ReportedSeries>, String> {
        let rows = self.columns()?;
        let unit = self.unit(&rows)?;
        let mut all: [ReportedSeries; 3] = Default::default();
        for row in &rows {
            let of = usize::try_from(row.direction).ok().and_then(|way| all.get_mut(way));
            let of = of.ok_or_else(|| {
                self.wrong("has directions above 2: log_window_value=both is not read")
            })?;
            let at_ns = row.at_ms.checked_mul(1_000_000);
            let at_ns = at_ns.ok_or_else(|| self.wrong("has times that are none"))?;
            if of.at_ns.last().is_some_and(|last| *last > at_ns) {
                return Err(self.wrong(
                    "has times that go back: it is of several jobs (per_job_logs=0), or of several \
                     runs; bring a log of each",
                ));
            }
            of.at_ns.push(at_ns);
            of.values.push(row.value as f64 * unit);
        }
        let alone = all.iter().filter(|of| !of.at_ns.is_empty()).count() == 1;
        let named = all.into_iter().enumerate().map(|(way, series)| {
            let name = format!("{}{}", Self::before(way, alone), self.name);
            ReportedSeries { name, ..series }
        });
        Ok(named.filter(|series| !series.at_ns.is_empty()).collect())
    }

    fn columns(&self) -> Result<Vec<FioLogRow<'_>>, String> {
        /// The year 2001, in ms since 1970.
        const EPOCH_MS: u64 = 1_000_000_000_000;
        let many = self.rows.first().map_or(0, |row| row.split(", ").count());
        if !(4..=6).contains(&many) {
            return Err(self.wrong(&format!("has {many} columns, and logs of 4 to 6 are read")));
        }
        let mut all = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let columns: Vec<&str> = row.split(", ").collect();
            if columns.len() != many {
                return Err(self.wrong(&format!("has rows of {many} columns and of others")));
            }
            let number = |at: usize| columns.get(at).and_then(|column| column.parse::<u64>().ok());
            let numbers = number(0).zip(number(1)).zip(number(2).zip(number(3)));
            let Some(((at_ms, value), (direction, block_bytes))) = numbers else {
                return Err(self.wrong("has a row that is none"));
            };
            if at_ms > EPOCH_MS {
                return Err(self.wrong(
                    "has times since 1970 (log_unix_epoch=1), which do not say when fio began",
                ));
            }
            let last = columns.get(4..).and_then(<[&str]>::last).copied();
            all.push(FioLogRow { at_ms, value, direction, block_bytes, last });
        }
        Ok(all)
    }

    /// Whether rows have a priority, which came with 3.19: one in hexadecimals, one behind an
    /// offset, or one that is 0 or 1 at I/Os that cannot all be of the first block.
    fn has_priority(rows: &[FioLogRow<'_>], columns: usize) -> bool {
        /// A file of fewer blocks may be.
        const ENOUGH: usize = 8;
        let is_small = rows.iter().all(|row| matches!(row.last, Some("0" | "1")));
        let many = rows.iter().filter(|row| row.block_bytes > 0).count() >= ENOUGH;
        columns == 6
            || rows.first().and_then(|row| row.last).is_some_and(|last| last.starts_with("0x"))
            || columns == 5 && is_small && many
    }

    /// What one of its numbers is in the unit of its name.
    fn unit(&self, rows: &[FioLogRow<'_>]) -> Result<f64, String> {
        let columns = self.rows.first().map_or(0, |row| row.split(", ").count());
        let mut numbers = self.version.split(['.', '-']).map(|number| number.parse::<u32>().ok());
        let told = numbers.next().flatten().zip(numbers.next().flatten());
        let told = told.or_else(|| Self::has_priority(rows, columns).then_some((3, 19)));
        let each = rows.iter().filter(|row| row.block_bytes > 0).count();
        if each > 0 && each < rows.len() {
            return Err(self.wrong("has rows of one I/O and rows of intervals"));
        }
        let untold = |what: &str| {
            self.wrong(&format!(
                "{what}, and nothing says which fio wrote it; put what `fio --version` prints \
                 above the name"
            ))
        };
        match (self.kind, told) {
            ("_iops", _) if each > 0 && rows.iter().all(|row| row.value == 1) => Err(self.wrong(
                "has a row for each I/O and no rates; rates are there with log_avg_msec=1000",
            )),
            ("_iops", _) => Ok(1.0),
            ("_bw", _) if each == 0 => Ok(1024.0),
            ("_bw", Some(version)) => Ok(if version < (2, 10) { 1024.0 } else { 1000.0 }),
            ("_bw", None) => Err(untold("is in KiB/s until fio 2.9, and in bytes per ms since")),
            (_, Some(version)) => Ok(if version < (2, 99) { 1000.0 } else { 1.0 }),
            (_, None) => Err(untold("is in us until fio 2.21, and in ns since")),
        }
    }

    fn histograms(&self) -> Result<Vec<ReportedHistogram>, String> {
        const HEAD: usize = 3;
        let buckets = self.rows.first().map_or(0, |row| row.split(", ").count() - 1).max(2) - 2;
        // 29 groups of 64 in ns, and 19 in us until 2.21; of 2^log_hist_coarseness each a sum.
        let known = [(1856u64, 1u64), (1216, 1000)].into_iter().find_map(|(all, unit_ns)| {
            let stride = (0..=6u32).map(|power| 1u64 << power);
            let mut fitting = stride.filter(|stride| all / stride == buckets as u64);
            Some((fitting.next()?, unit_ns))
        });
        let Some((stride, unit_ns)) = known else {
            return Err(self.wrong(&format!("has {buckets} bins, and no histogram of fio's has")));
        };
        let mut counts = vec![vec![0u64; buckets]; WAYS.len()];
        for row in &self.rows {
            let columns: Option<Vec<u64>> = row.split(", ").map(|it| it.parse().ok()).collect();
            let columns = columns.filter(|columns| columns.len() == buckets + HEAD);
            let columns = columns.ok_or_else(|| self.wrong("has a row that is none"))?;
            let way = columns.get(1).and_then(|way| usize::try_from(*way).ok());
            let of = way.and_then(|way| counts.get_mut(way));
            let of = of.ok_or_else(|| self.wrong("has directions above 2"))?;
            for (count, more) in of.iter_mut().zip(columns.iter().skip(HEAD)) {
                let sum = count.checked_add(*more);
                *count = sum.ok_or_else(|| self.wrong("has counts that are none"))?;
            }
        }
        let some = |counts: &[u64]| counts.iter().any(|count| *count > 0);
        let alone = counts.iter().filter(|counts| some(counts)).count() == 1;
        let ways = counts.iter().enumerate().filter(|(_, counts)| some(counts));
        let histogram = |(way, counts): (usize, &Vec<u64>)| {
            let bins = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            let of =
                |(at, count): (usize, &u64)| Some((middle(at as u64, stride, unit_ns)?, *count));
            let (values, counts) = bins.map(of).collect::<Option<Vec<_>>>()?.into_iter().unzip();
            let name = format!("{}{}", Self::before(way, alone), self.name);
            Some(ReportedHistogram { name, values, counts })
        };
        let all: Option<Vec<_>> = ways.map(histogram).collect();
        all.ok_or_else(|| self.wrong("has latencies that are none"))
    }
}

/// The middle of a bin that is the sum of so many buckets.
fn middle(at: u64, stride: u64, unit_ns: u64) -> Option<u64> {
    let (first, last) = (value_of_bucket(at * stride)?, value_of_bucket((at + 1) * stride - 1)?);
    (first.checked_add(last)? / 2).checked_mul(unit_ns)
}

#[cfg(test)]
mod tests;
