//! (pure) What was read of one run of sysbench, and what its numbers say of each other.

use serde_json::Value as Json;

use experiment::measurement::Note;
use experiment::measurement::reported::ReportedHistogram;

use super::lines::{counted, number, printed_bytes};
use super::{mode, setting};
use crate::ToolResult;

/// What its MB, Mb and MiB have.
pub const MIB: f64 = 1_048_576.0;

/// Which lines of sysbench follow.
#[derive(Clone, Copy, Default, PartialEq)]
enum SysbenchSection {
    #[default]
    Other,
    Latency,
    Queries,
    Histogram,
}

/// A run of sysbench that has begun.
#[derive(Default)]
pub struct SysbenchRun {
    said: ToolResult,
    part: SysbenchSection,
    /// Since 1.1 a test of files ends with its latencies.
    ends_with_sum: bool,
    /// Since 1.0 of processors, and since 1.1 of all others: it says how many events a second.
    has_speed: bool,
    /// Blocks were put together, or some of the time is not counted.
    is_uneven: bool,
    /// Up to 0.5: how much was read and written, which has one rate.
    operations: Option<(f64, f64)>,
    /// Counts with their rates, to be held against the time.
    counts: Vec<(f64, f64, String)>,
    /// Of queries: read, written and other.
    queries: Vec<f64>,
    /// Rates of operations and of bytes, of reading or both and of writing.
    pairs: [(Option<f64>, Option<f64>); 2],
    /// Lowest, mean and highest, in ms.
    waits: [Option<f64>; 3],
    percentile: Option<f64>,
    seconds: Option<(f64, String)>,
    events: Option<(f64, String)>,
    events_per_s: Option<(f64, String)>,
    /// In ns, and how often.
    bins: Vec<(u64, u64)>,
}

impl SysbenchRun {
    pub fn new(version: String) -> SysbenchRun {
        SysbenchRun {
            said: ToolResult { version, ..ToolResult::default() },
            ..SysbenchRun::default()
        }
    }

    /// A line of it; whether it was the last.
    pub fn line(&mut self, line: &str) -> Result<bool, String> {
        if let Some(why) = line.strip_prefix("FATAL: ") {
            return Err(format!("a run of it failed: {why}"));
        }
        if line.starts_with("Report checkpoint(s) at ") || line.ends_with("Checkpoint report:") {
            return Err("it reports at checkpoints, each of which has figures of its own stretch \
                        alone; run it without --report-checkpoints"
                .to_owned());
        }
        match line {
            "Latency (ms):" | "response time:" | "per-request statistics:" => {
                self.part = SysbenchSection::Latency;
            }
            "queries performed:" => self.part = SysbenchSection::Queries,
            "Latency histogram (values are in milliseconds)" => {
                self.part = SysbenchSection::Histogram
            }
            "Threads fairness:" => self.part = SysbenchSection::Other,
            _ => match self.part {
                SysbenchSection::Latency => return self.wait(line),
                SysbenchSection::Queries => self.query(line)?,
                SysbenchSection::Histogram => {
                    if !self.bin(line)? {
                        self.other(line)?;
                    }
                }
                SysbenchSection::Other => self.other(line)?,
            },
        }
        Ok(line.starts_with("execution time (avg/stddev):"))
    }

    fn other(&mut self, line: &str) -> Result<(), String> {
        if self.option(line)? || self.rate_of_files(line)? || self.rate_of_memory(line)? {
            return Ok(());
        }
        self.count(line)
    }

    /// What was asked.
    fn option(&mut self, line: &str) -> Result<bool, String> {
        setting(&mut self.said.settings, line);
        let after = |known: &str| line.strip_prefix(known);
        let title = if let Some(mode) = mode(line) {
            mode.to_owned()
        } else if let Some(what) = after("Memory operations type: ").or(after("operation: ")) {
            format!("memory, {what}")
        } else if after("Doing thread subsystem ").is_some() {
            "threads".to_owned()
        } else if after("Doing mutex performance ").is_some() {
            "mutex".to_owned()
        } else if PROCESSORS.iter().any(|known| line.starts_with(known)) {
            "cpu".to_owned()
        } else if matches!(line, "OLTP test statistics:" | "SQL statistics:") {
            "OLTP".to_owned()
        } else {
            return Ok(self.other_option(line));
        };
        if ![String::new(), title.clone()].contains(&self.said.title) {
            return Err("a run of it is of two tests".to_owned());
        }
        self.said.title = title;
        Ok(true)
    }

    fn other_option(&mut self, line: &str) -> bool {
        if let Some(threads) = line.strip_prefix("Number of threads: ") {
            if let Ok(threads) = threads.parse::<u64>() {
                self.said.settings.insert("streams".to_owned(), threads.into());
            }
        } else if let Some(rate) = line.strip_prefix("Target transaction rate: ") {
            let text = format!("it was let run no faster than {rate}");
            self.said.notes.push(Note::new("rate-limited", text));
        } else if line.starts_with("Merging requests") || line.starts_with("Warmup time:") {
            self.is_uneven = true;
        } else {
            return false;
        }
        true
    }

    /// Since 1.0 `reads/s: 5.00` and `read, MiB/s: 4.00`; since 1.1 `read:  IOPS=5662.00 22.12
    /// MiB/s (23.19 MB/s)`; before them what was read and written has one rate.
    fn rate_of_files(&mut self, line: &str) -> Result<bool, String> {
        if let Some((way, rest)) = line.split_once(':')
            && let Some(rest) = rest.trim_start().strip_prefix("IOPS=")
        {
            self.both_rates(way, rest, line)?;
        } else if line.starts_with("Operations performed:") && line.ends_with(" Total") {
            self.performed(line)?;
        } else if line.starts_with("Read ") && line.contains("Total transferred ") {
            self.moved(line)?;
        } else if let Some(rate) = line.strip_suffix(" Requests/sec executed") {
            let (before, all) = self.direction()?;
            let rate_of = number(rate, line)?;
            self.counts.push((all, rate_of, line.to_owned()));
            self.pairs[0].0 = Some(rate_of);
            self.add(&format!("{before}iops"), rate_of, format!("{} Requests/sec", rate.trim()));
        } else if let Some((key, value)) = line.split_once(':') {
            return self.rate_by_key(key, value.trim(), line);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn rate_by_key(&mut self, key: &str, value: &str, line: &str) -> Result<bool, String> {
        let (at, is_bytes, name) = match key {
            "reads/s" => (0, false, "read_iops"),
            "writes/s" => (1, false, "write_iops"),
            "read, MiB/s" => (0, true, "read_throughput_bytes_per_s"),
            "written, MiB/s" => (1, true, "write_throughput_bytes_per_s"),
            "fsyncs/s" => {
                self.add("fsync_per_s", number(value, line)?, format!("{value} 1/s"));
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let rate = number(value, line)?;
        if is_bytes {
            self.pairs[at].1 = Some(rate * MIB);
            self.add(name, rate * MIB, format!("{value} MiB/s"));
        } else {
            self.pairs[at].0 = Some(rate);
            self.add(name, rate, format!("{value} 1/s"));
        }
        Ok(true)
    }

    /// A rate of operations, and the same in MiB and in MB.
    fn both_rates(&mut self, way: &str, rest: &str, line: &str) -> Result<(), String> {
        self.ends_with_sum = true;
        let iops = rest.split(' ').next().unwrap_or_default();
        let rate = number(iops, line)?;
        let (at, way) = match way {
            "read" => (0, "read"),
            "write" => (1, "write"),
            "fsync" => {
                self.add("fsync_per_s", rate, format!("{iops} 1/s"));
                return Ok(());
            }
            _ => return Err(format!("`{line}` is of no direction that is known")),
        };
        let told = rest.split_once(' ').and_then(|(_, rest)| rest.split_once(" MiB/s ("));
        let told = told.and_then(|(mib, rest)| Some((mib, rest.split_once(" MB/s)")?.0)));
        let (mib, mb) = told.ok_or_else(|| format!("`{line}` has no rate in MiB/s and MB/s"))?;
        let (of_mib, of_mb) = (number(mib, line)? * MIB, number(mb, line)? * 1e6);
        // Both have two digits behind the point.
        if (of_mib - of_mb).abs() > 0.0051 * (MIB + 1e6) {
            return Err(format!("`{line}` has two rates that are not one"));
        }
        self.pairs[at] = (Some(rate), Some(of_mib));
        self.add(&format!("{way}_iops"), rate, format!("{iops} 1/s"));
        self.add(&format!("{way}_throughput_bytes_per_s"), of_mib, format!("{mib} MiB/s"));
        Ok(())
    }

    /// `Operations performed:  1200 Read, 800 Write, 40 Other = 2040 Total`; of 0.5 `1200 reads`.
    fn performed(&mut self, line: &str) -> Result<(), String> {
        let (_, rest) = line.split_once(':').unwrap_or_default();
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [reads, _, writes, _, others, _, "=", total, "Total"] = words.as_slice() else {
            return Err(format!("`{line}` in its output makes no sense"));
        };
        let (reads, writes) = (number(reads, line)?, number(writes, line)?);
        let (others, total) = (number(others, line)?, number(total, line)?);
        if self.operations.is_some() || (reads + writes + others - total).abs() > 0.5 {
            return Err(format!("`{line}` has a total that is not its sum, or stands there twice"));
        }
        self.operations = Some((reads, writes));
        Ok(())
    }

    /// How the figures of its one rate are called, and how many operations it is of.
    fn direction(&self) -> Result<(&'static str, f64), String> {
        let missing = || "a run of it has no line `Operations performed`".to_owned();
        let (reads, writes) = self.operations.ok_or_else(missing)?;
        let before = match (reads > 0.0, writes > 0.0) {
            (true, false) => "read_",
            (false, true) => "write_",
            (true, true) => "",
            (false, false) => return Err("a run of it read and wrote nothing".to_owned()),
        };
        Ok((before, reads + writes))
    }

    /// `Read 31.25Mb  Written 0b  Total transferred 31.25Mb  (368.44Mb/sec)`.
    fn moved(&mut self, line: &str) -> Result<(), String> {
        let odd = || format!("`{line}` in its output makes no sense");
        let part = |from: &str, to: &str| Some(line.split_once(from)?.1.split_once(to)?.0);
        let size = |from, to| part(from, to).and_then(printed_bytes).ok_or_else(odd);
        let (read, written) = (size("Read ", " ")?, size("Written ", " ")?);
        let (all, rate) = (size("transferred ", " ")?, size("(", "/sec)")?);
        let (before, _) = self.direction()?;
        let is_like = match before {
            "read_" => written.0 <= 0.0,
            "write_" => read.0 <= 0.0,
            _ => read.0 > 0.0 && written.0 > 0.0,
        };
        let steps = read.1 + written.1 + all.1;
        if !is_like || (read.0 + written.0 - all.0).abs() > steps + 1.0 {
            return Err(format!("`{line}` is not the sum of what it read and wrote"));
        }
        self.pairs[0].1 = Some(rate.0);
        self.counts.push((all.0, rate.0, line.to_owned()));
        let printed = format!("{}/sec", part("(", "/sec)").unwrap_or_default());
        self.add(&format!("{before}throughput_bytes_per_s"), rate.0, printed);
        Ok(())
    }

    /// `Total operations: 262144 (1489574.96 per second)`, up to 0.5 `Operations performed: 32768
    /// (2479854.59 ops/sec)`, and `256.00 MiB transferred (1454.66 MiB/sec)`.
    fn rate_of_memory(&mut self, line: &str) -> Result<bool, String> {
        let operations = line.strip_prefix("Total operations:");
        let operations = operations.or(line.strip_prefix("Operations performed:"));
        let units = [" per second)", " ops/sec)"];
        if let Some(rest) = operations
            && let Some((count, rate)) = units.iter().find_map(|unit| counted(rest, unit))
        {
            let rate_of = number(rate, line)?;
            self.counts.push((number(count, line)?, rate_of, line.to_owned()));
            self.add("memory_operations_per_s", rate_of, format!("{rate} 1/s"));
            return Ok(true);
        }
        for (moved, unit) in [(" MiB transferred ", " MiB/sec)"), (" MB transferred ", " MB/sec)")]
        {
            if let Some((all, rest)) = line.split_once(moved)
                && let Some((_, rate)) = counted(rest, unit)
            {
                let rate_of = number(rate, line)?;
                self.counts.push((number(all, line)?, rate_of, line.to_owned()));
                let printed = format!("{rate}{}", unit.trim_end_matches(')'));
                self.add("memory_throughput_bytes_per_s", rate_of * MIB, printed);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `read: 840`, below `queries performed:`; their sum is the last.
    fn query(&mut self, line: &str) -> Result<(), String> {
        let Some((key, value)) = line.split_once(':') else { return Ok(()) };
        let value = number(value, line)?;
        match key {
            "total" => {}
            "read" | "write" | "other" => {
                self.queries.push(value);
                return Ok(());
            }
            _ => return Err("a run of it has no sum of its queries".to_owned()),
        }
        self.part = SysbenchSection::Other;
        match (self.queries.iter().sum::<f64>() - value).abs() < 0.5 {
            true => Ok(()),
            false => Err("the queries of its run are not their sum".to_owned()),
        }
    }

    fn count(&mut self, line: &str) -> Result<(), String> {
        let Some((key, value)) = line.split_once(':') else { return Ok(()) };
        let value = value.trim();
        let word = value.split_whitespace().next().unwrap_or_default();
        let of_time =
            || Ok::<_, String>((number(word.trim_end_matches('s'), line)?, word.to_owned()));
        match key {
            "total time" => self.seconds = Some(of_time()?),
            "CPU speed" => self.has_speed = true,
            "time elapsed" => {
                self.has_speed = true;
                self.seconds = Some(of_time()?);
            }
            "total number of events" => self.events = Some((number(word, line)?, word.to_owned())),
            "events per second" => {
                let rate = number(word, line)?;
                self.rate_of_events(rate, word)?;
                self.add("events_per_s", rate, format!("{word} 1/s"));
            }
            "events/s (eps)" => self.rate_of_events(number(word, line)?, word)?,
            _ => {
                if let Some((rate_name, count_name)) = named(key) {
                    let told = counted(value, " per sec.");
                    let (count, rate) =
                        told.ok_or_else(|| format!("`{line}` in its output has no rate"))?;
                    let (count_of, rate_of) = (number(count, line)?, number(rate, line)?);
                    self.counts.push((count_of, rate_of, line.to_owned()));
                    if let Some(name) = rate_name {
                        self.add(name, rate_of, format!("{rate} per sec."));
                    }
                    if let Some(name) = count_name {
                        self.said.add(name, count_of, count);
                    }
                }
            }
        }
        Ok(())
    }

    /// Of processors it stands there twice since 1.1.
    fn rate_of_events(&mut self, rate: f64, word: &str) -> Result<(), String> {
        match &self.events_per_s {
            None => self.events_per_s = Some((rate, word.to_owned())),
            Some((known, _)) if (known - rate).abs() <= 0.0051 => {}
            Some((known, _)) => {
                return Err(format!("its events per second are {known}, and {word}"));
            }
        }
        Ok(())
    }

    /// `avg: 0.37ms`, since 1.0 `avg: 0.37`; whether it was the last line of the run.
    fn wait(&mut self, line: &str) -> Result<bool, String> {
        let Some((key, value)) = line.split_once(':') else { return Ok(false) };
        let words: Vec<&str> = key.split_whitespace().collect();
        let value = value.split_whitespace().next().unwrap_or_default().trim_end_matches("ms");
        match words.as_slice() {
            ["min"] => self.waits[0] = Some(number(value, line)?),
            ["avg"] => self.mean_or_max(1, "latency_ns_mean", value, line)?,
            ["max"] => self.mean_or_max(2, "latency_ns_max", value, line)?,
            ["sum"] => return Ok(self.ends_with_sum),
            ["approx.", percent, "percentile"] => self.percentile(percent, value, line)?,
            [percent, "percentile"] => self.percentile(percent, value, line)?,
            _ => {}
        }
        Ok(false)
    }

    fn mean_or_max(
        &mut self,
        at: usize,
        name: &str,
        value: &str,
        line: &str,
    ) -> Result<(), String> {
        let wait = number(value, line)?;
        self.waits[at] = Some(wait);
        self.add(name, wait * 1e6, format!("{value} ms"));
        Ok(())
    }

    fn percentile(&mut self, percent: &str, value: &str, line: &str) -> Result<(), String> {
        /// Where the histogram ends from which it is taken since 1.0.
        const END_MS: f64 = 99_999.0;
        let percent = percent.trim_end_matches("th");
        let wait = number(value, line)?;
        if self.percentile.replace(wait).is_some() {
            return Err("a run of it has two percentiles".to_owned());
        }
        if wait >= END_MS {
            self.percentile = None;
            let text = format!("its {percent}th percentile is {value} ms or more, and left out");
            self.said.notes.push(Note::new("left-out", text));
            return Ok(());
        }
        match percent.parse::<u32>() {
            Ok(of @ 1..=99) => {
                let printed = format!("{value} ms, of {percent} %");
                self.add(&format!("latency_ns_p{of}"), wait * 1e6, printed);
                Ok(())
            }
            _ => Err(format!("`{line}` is of no percentile")),
        }
    }

    /// `0.517 |*************                            1`: a wait in ms, and how often it came.
    fn bin(&mut self, line: &str) -> Result<bool, String> {
        if line.starts_with("value ") {
            return Ok(true);
        }
        let Some((value, rest)) = line.split_once('|') else {
            self.part = SysbenchSection::Other;
            return Ok(false);
        };
        let count = rest.trim_start_matches('*').trim().parse::<u64>().ok();
        let count = count.ok_or_else(|| format!("`{line}` of its histogram has no count"))?;
        let at_ns = (number(value, line)? * 1e6).round() as u64;
        match self.bins.last_mut() {
            // Near its beginning several are one, as it is printed.
            Some((known, many)) if *known == at_ns => *many = many.saturating_add(count),
            Some((known, _)) if *known > at_ns => {
                return Err(format!("`{line}` of its histogram is below the one before"));
            }
            _ => self.bins.push((at_ns, count)),
        }
        Ok(true)
    }

    /// A figure; what was rounded away or not done has none.
    fn add(&mut self, name: &str, value: f64, printed: String) {
        if value > 0.0 {
            self.said.add(name, value, printed);
        }
    }

    /// The result.
    pub fn said(mut self) -> Result<ToolResult, String> {
        self.check_rates()?;
        self.check_waits()?;
        let is_rate = |name: &str| name.ends_with("_per_s") || name.ends_with("iops");
        let has_rate = self.said.figures.iter().any(|figure| is_rate(&figure.name));
        let is_told = has_rate || self.said.title == "cpu";
        if let Some((rate, printed)) = self.events_per_s.take().filter(|_| !is_told) {
            self.add("events_per_s", rate, format!("{printed} 1/s"));
        } else if !has_rate && self.has_speed {
            return Err("a run of it has no line of its events per second".to_owned());
        } else if !has_rate && let (Some(seconds), Some(events)) = (&self.seconds, &self.events) {
            // Tests without a rate of their own are of a number of events.
            let told = [("elapsed_s", seconds.clone(), " s"), ("events", events.clone(), "")];
            for (name, (value, printed), unit) in told {
                self.add(name, value, format!("{printed}{unit}"));
            }
        }
        if !self.bins.is_empty() {
            let all: u64 = self.bins.iter().fold(0, |sum, (_, many)| sum.saturating_add(*many));
            let events = self.events.as_ref().map(|(events, _)| *events);
            let is_other = |events: f64| (events - all as f64).abs() > 0.5;
            if !self.is_uneven && events.is_some_and(is_other) {
                return Err(format!("its histogram has {all} events and the run others"));
            }
            let (values, counts) = self.bins.iter().copied().unzip();
            let name = "latency_ns".to_owned();
            self.said.histograms.push(ReportedHistogram { name, values, counts });
        }
        match self.said.figures.is_empty() {
            true => Err("a run of it has no figure".to_owned()),
            false => Ok(self.said),
        }
    }

    fn check_rates(&self) -> Result<(), String> {
        if self.events.as_ref().is_some_and(|(events, _)| *events <= 0.0) {
            return Err("a run of it did nothing: it has no event".to_owned());
        }
        if self.is_uneven {
            return Ok(());
        }
        if let Some((seconds, _)) = self.seconds.as_ref().filter(|(seconds, _)| *seconds > 0.0) {
            let events = self.events.as_ref().map(|(events, _)| *events);
            let eps = self.events_per_s.as_ref().map(|(rate, _)| *rate);
            let of_events =
                events.zip(eps).map(|(many, rate)| (many, rate, "its events".to_owned()));
            for (count, rate, line) in self.counts.iter().chain(&of_events) {
                // The time has four digits behind the point, and threads end one after the other.
                let share = 0.05 + 0.0002 / seconds;
                if (count / seconds - rate).abs() > share * rate + 0.02 {
                    return Err(format!("`{line}` has a rate that is not its count by its time"));
                }
            }
        }
        let block = self.said.settings.get("block-size").and_then(Json::as_f64);
        for pair in self.pairs {
            let (Some(block), (Some(operations), Some(bytes))) = (block, pair) else { continue };
            let step = 0.006 * block + 0.006 * MIB;
            if (operations * block - bytes).abs() > 0.01 * bytes + step {
                return Err("its rate is not its operations of a block's size each".to_owned());
            }
        }
        Ok(())
    }

    fn check_waits(&self) -> Result<(), String> {
        let [Some(min), Some(mean), Some(max)] = self.waits else {
            return Err("a run of it lacks its lowest, mean or highest latency".to_owned());
        };
        // A percentile is of a histogram, whose bins are a few percent wide.
        let is_in = |it: f64| it >= min * 0.94 - 0.02 && it <= max * 1.06 + 0.02;
        if min > mean || mean > max || self.percentile.is_some_and(|it| !is_in(it)) {
            return Err("its latencies are not in order".to_owned());
        }
        Ok(())
    }
}

/// What only its test of processors says; each version another.
const PROCESSORS: [&str; 4] = [
    "Doing CPU performance ",
    "Maximum prime number checked in CPU test:",
    "Primer numbers limit:",
    "Prime numbers limit:",
];

/// Of counts with a rate: what the rate is called where it is a figure, and the count.
fn named(key: &str) -> Option<(Option<&'static str>, Option<&'static str>)> {
    Some(match key {
        "transactions" => (Some("transactions_per_s"), Some("transactions")),
        "queries" => (Some("queries_per_s"), None),
        "read/write requests" => (Some("read_write_requests_per_s"), None),
        "other operations" => (Some("other_operations_per_s"), None),
        "deadlocks" => (None, Some("deadlocks")),
        "ignored errors" => (None, Some("ignored_errors")),
        "reconnects" => (None, Some("reconnects")),
        _ => return None,
    })
}
