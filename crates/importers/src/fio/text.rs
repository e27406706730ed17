//! (pure) What fio prints for people, of 2.0 to 3.x: an entry for each job or group, from its name
//! to the count of what was issued, and beneath them a line for each direction of each group.
//!
//! Until 2.99 its KB are of 1024 bytes; since then `BW=21.9MiB/s (23.0MB/s)` has both, and they are
//! held against each other (see [`rate`]). Waits have the unit of their own line, and `k`, `M` and
//! `G` are thousands there.

use serde_json::{Map, Value as Json};

use super::options::{access_of, io_engine_of};
use super::printed::{Moment, Printed, moment, without_progress};
use super::{MIXED, SYNC, failed, no_io, percentile_of};
use crate::ToolResult;
use experiment::measurement::Note;

/// Whether a text has an entry, or the lines of a group, of what fio prints for people.
pub fn knows(text: &str) -> bool {
    text.lines().any(|line| entry(line).is_some() || group(line).is_some())
}

/// One result for each entry; where there is none, for each group.
///
/// # Errors
/// When an entry failed, has no end, or did nothing.
pub fn parse(text: &str) -> Result<Vec<Printed>, String> {
    let mut read = FioTextParser::default();
    for line in text.split_inclusive('\n') {
        // What has no end may have been longer.
        let Some(line) = line.strip_suffix('\n') else { continue };
        read.line(line.trim_end())?;
    }
    read.end()
}

/// What was read so far of a text of fio.
#[derive(Default)]
struct FioTextParser {
    version: String,
    /// What each job was asked to do; of two of one name the later, but see
    /// [`FioTextParser::settings`].
    asked: Vec<FioJobSettings>,
    /// With whose process each was, which tells snapshots of one run.
    entries: Vec<(FioEntryKey, Printed)>,
    /// How many entries came since a sum of machines, and were no snapshots.
    since_sum: usize,
    /// Which jobs did nothing.
    idle: Vec<String>,
    /// Whether an entry ended that had not begun.
    headless: bool,
    /// Why a job failed, in fio's words; it has an entry where it began at all.
    failed: Option<String>,
    open: Option<Open>,
    groups: Vec<ToolResult>,
    in_group: bool,
}

/// Who an entry is of: printed again (`--status-interval`) it has the same.
#[derive(Clone, Debug, PartialEq)]
struct FioEntryKey {
    name: String,
    group: u64,
    process: u64,
    jobs: u64,
}

/// What a job of fio was asked to do.
struct FioJobSettings {
    name: String,
    /// Whether `fio --client` told it of one of its machines, which entries do not name.
    of_machine: bool,
    settings: Map<String, Json>,
}

/// An entry that has not ended.
struct Open {
    of: FioEntryKey,
    at: Option<Moment>,
    directions: Vec<(&'static str, Vec<FioFigure>)>,
    /// Of processors and of flushes, which have no direction.
    others: Vec<FioFigure>,
    /// Of which line the percentiles are that follow, and in how many ns.
    percentiles: Option<(&'static str, f64)>,
}

/// A figure without the name of its direction: what, how much in our unit, and as it was printed.
type FioFigure = (String, f64, String);

impl FioTextParser {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(version) = version(line) {
            version.clone_into(&mut self.version);
        }
        self.asked.extend(asked(line));
        if let Some((of, error, at)) = entry(line) {
            if let Some(open) = &self.open {
                return Err(no_end(open));
            }
            match error {
                0 => {}
                number => return Err(failed(&of.name, number.into())),
            }
            let (directions, others) = (Vec::new(), Vec::new());
            self.open = Some(Open { of, at, directions, others, percentiles: None });
            return Ok(());
        }
        if let Some(open) = &mut self.open {
            if open.line(line.trim_start())? {
                self.close()?;
            }
            return Ok(());
        }
        self.group_line(line)
    }

    /// Of a group: its name, and a line for each direction until another begins.
    fn group_line(&mut self, line: &str) -> Result<(), String> {
        let words = line.strip_prefix("fio: pid=").and_then(|rest| rest.split_once(", error="));
        self.failed = words.map(|(_, words)| words.to_owned()).or(self.failed.take());
        self.headless |= line.trim_start().starts_with("issued ") && line.contains("total=");
        if let Some(number) = group(line) {
            self.in_group = true;
            let title = format!("group {number}");
            self.groups.push(ToolResult { title, ..ToolResult::default() });
        } else if self.in_group {
            match (total(line.trim_start()), self.groups.last_mut()) {
                (Some((way, rate, printed)), Some(said)) => {
                    said.add(format!("{way}_throughput_bytes_per_s"), rate, printed);
                }
                _ => self.in_group = false,
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let of = open.of.clone();
        let settings = self.settings(&of);
        let Some(printed) = open.printed(&self.version, settings) else {
            self.idle.push(of.name);
            return Ok(());
        };
        let is_sum = of.process == NO_PROCESS;
        // A snapshot of the same run, of which the last has all. A sum has no process of its own:
        // it is one where all that stand before it are.
        if !is_sum || self.since_sum == 0 {
            let before = self.entries.len();
            self.entries.retain(|(known, _)| *known != of);
            self.since_sum += usize::from(self.entries.len() == before);
        }
        if is_sum {
            self.since_sum = 0;
        }
        self.entries.push((of, printed));
        Ok(())
    }

    /// What an entry was asked: of several machines that were asked something else under one name,
    /// what all of them were.
    fn settings(&self, of: &FioEntryKey) -> Map<String, Json> {
        if of.process == NO_PROCESS {
            return Map::new();
        }
        let mut all = self.asked.iter().rev().filter(|asked| asked.name == of.name);
        let Some(last) = all.next() else { return Map::from_iter([streams(of)]) };
        let mut settings = last.settings.clone();
        for other in all.filter(|other| other.of_machine && last.of_machine) {
            settings.retain(|knob, value| other.settings.get(knob) == Some(value));
        }
        settings.extend([streams(of)]);
        settings
    }

    fn end(mut self) -> Result<Vec<Printed>, String> {
        if let Some(open) = &self.open {
            return Err(no_end(open));
        }
        if self.headless {
            return Err("an entry of it has no first line `NAME: (groupid=0, ...`".to_owned());
        }
        if let Some((_, first)) = self.entries.first_mut() {
            let idle = self.idle.into_iter();
            first.said.notes.extend(idle.map(|name| Note::new("no-io", no_io(&name))));
            return Ok(self.entries.into_iter().map(|(_, printed)| printed).collect());
        }
        if let Some(name) = self.idle.first() {
            return Err(no_io(name));
        }
        if self.in_group {
            return Err("it was cut short: nothing follows the last line of a group".to_owned());
        }
        self.groups.retain(|said| !said.figures.is_empty());
        if let Some(words) = self.failed.filter(|_| self.groups.is_empty()) {
            return Err(format!("its job failed before it began: {words}"));
        }
        let version = self.version;
        let groups = self.groups.into_iter();
        let printed = |said: ToolResult| {
            let (name, version) = (said.title.clone(), version.clone());
            Printed { name, group: None, at: None, said: ToolResult { version, ..said } }
        };
        let groups: Vec<Printed> = groups.map(printed).collect();
        match groups.is_empty() {
            true => Err("there is no entry of a job of fio's in it".to_owned()),
            false => Ok(groups),
        }
    }
}

fn no_end(open: &Open) -> String {
    format!("it was cut short: its job {} has no line `issued`", open.of.name)
}

impl Open {
    /// A line of the entry; whether it was the last.
    fn line(&mut self, line: &str) -> Result<bool, String> {
        if let Some(rest) = line.strip_prefix("issued ") {
            return self.counted(rest).map(|()| true);
        }
        if line.starts_with('|') {
            self.percentile_row(line);
            return Ok(false);
        }
        // Rows end with the next line of the entry, and not with what something else wrote between.
        if line.contains("percentiles") {
            self.percentiles = percentiles(line);
            return Ok(false);
        }
        if let Some((way, told)) = direction(line)? {
            if self.directions.iter().any(|(known, _)| *known == way) {
                return Err(format!("its job {} has a line `{way}` twice", self.of.name));
            }
            self.percentiles = None;
            self.directions.push((way, told));
        } else if let Some(rest) = line.strip_prefix("cpu ") {
            self.percentiles = None;
            for (key, name) in [("usr=", "user_cpu_share"), ("sys=", "system_cpu_share")] {
                let percent = rest.split([':', ',', ' ']).find_map(|word| word.strip_prefix(key));
                let number = percent.and_then(|it| it.strip_suffix('%')?.parse::<f64>().ok());
                let told = number.map(|it| (name.to_owned(), it / 100.0, format!("{it} %")));
                self.others.extend(told);
            }
        } else if let Some((name, told)) = wait(line) {
            if self.directions.is_empty() && name != SYNC {
                return Err(format!("its job {} has `{line}` of no direction", self.of.name));
            }
            self.percentiles = None;
            self.of(name).extend(told);
        }
        Ok(false)
    }

    /// What was issued of each direction: `rwts: total=56046,55785,0,0 short=...`, and of 2.x
    /// `: total=r=0/w=4427/d=0, short=...`. One that was issued and has no line was lost, and one
    /// that has a line and was not is another job's.
    fn counted(&self, rest: &str) -> Result<(), String> {
        let total =
            rest.split_once("total=").map(|(_, rest)| rest.split(' ').next().unwrap_or(rest));
        let count = |part: &str| {
            let number = part.trim_start_matches(|c: char| !c.is_ascii_digit());
            number.parse::<u64>().ok()
        };
        let counts: Option<Vec<u64>> = total
            .map(|total| total.trim_end_matches(',').split([',', '/']).take(3).map(count).collect())
            .unwrap_or_default();
        let job = &self.of.name;
        let Some(counts) = counts.filter(|counts| counts.len() >= 2) else {
            return Err(format!("the line `issued` of its job {job} makes no sense"));
        };
        let has = |way: &str| self.directions.iter().any(|(known, _)| *known == way);
        // Put together, they are counted as they were issued.
        let only_mixed = self.directions.iter().all(|(known, _)| *known == MIXED);
        let alike = only_mixed && !self.directions.is_empty()
            || ["read", "write", "trim"]
                .into_iter()
                .zip(counts)
                .all(|(way, many)| has(way) == (many > 0));
        match alike {
            true => Ok(()),
            false => Err(format!("its job {job} has other directions than it issued")),
        }
    }

    /// Where figures of that name belong: to the direction above them, but of flushes to none.
    fn of(&mut self, name: &str) -> &mut Vec<FioFigure> {
        match self.directions.last_mut().filter(|_| name != SYNC) {
            Some((_, told)) => told,
            None => &mut self.others,
        }
    }

    fn percentile_row(&mut self, row: &str) {
        let Some((name, unit_ns)) = self.percentiles else { return };
        let told = self.of(name);
        for one in row.trim_start_matches('|').split("],") {
            let Some((percent, value)) = one.split_once("th=[") else { continue };
            let (percent, value) = (percent.trim(), value.trim_matches([' ', ']']));
            let Some(known) = percent.parse::<f64>().ok().and_then(percentile_of) else { continue };
            if let Some(number) = scaled(value) {
                told.push((format!("{name}_{known}"), number * unit_ns, value.to_owned()));
            }
        }
    }

    /// Nothing of one that did nothing.
    fn printed(self, version: &str, settings: Map<String, Json>) -> Option<Printed> {
        let title = self.of.name.clone();
        let mut said = ToolResult {
            version: version.to_owned(),
            title: title.clone(),
            settings,
            ..ToolResult::default()
        };
        // Each was issued, as the counts say.
        let ways = &self.directions;
        let alone = ways.len() == 1 && ways.iter().all(|(way, _)| ["read", "write"].contains(way));
        if ways.is_empty() {
            return None;
        }
        for (way, told) in ways {
            let before = if alone { String::new() } else { format!("{way}_") };
            if told.iter().any(|(name, value, _)| name == "iops" && *value == 0.0) {
                let text = format!("fio told no rate of its job {title} and {way}, but 0");
                said.notes.push(Note::new("no-rate", text));
            }
            // A rate of 0 is one that was rounded away.
            for (name, value, printed) in told.iter().filter(|(_, value, _)| *value > 0.0) {
                said.add(format!("{before}{name}"), *value, printed.clone());
            }
        }
        for (name, value, printed) in self.others {
            said.add(name, value, printed);
        }
        let FioEntryKey { name, group, .. } = self.of;
        Some(Printed { name, group: Some(group), at: self.at, said })
    }
}

/// Of the sum that `fio --client` prints of all machines.
const NO_PROCESS: u64 = 0;

fn streams(of: &FioEntryKey) -> (String, Json) {
    ("streams".to_owned(), of.jobs.into())
}

/// `name: (groupid=0, jobs=8): err= 0: pid=171908: Thu Sep  5 03:52:31 2024`.
fn entry(line: &str) -> Option<(FioEntryKey, u32, Option<Moment>)> {
    let (name, rest) = line.split_once(": (groupid=")?;
    let name = without_progress(name);
    let (group, rest) = rest.split_once(", jobs=")?;
    let (jobs, rest) = rest.split_once("): err=")?;
    let error: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    let (_, process) = rest.split_once(": pid=")?;
    let at = process.split_once(": ").and_then(|(_, time)| moment(time));
    let process: String = process.chars().take_while(char::is_ascii_digit).collect();
    let name = name.to_owned();
    let (group, jobs) = (group.parse().ok()?, jobs.parse().ok()?);
    let of = FioEntryKey { name, group, process: process.parse().ok()?, jobs };
    Some((of, error.parse().ok()?, at))
}

/// `Run status group 0 (all jobs):`.
fn group(line: &str) -> Option<u64> {
    let number = line.trim_start().strip_prefix("Run status group ")?;
    number.strip_suffix(" (all jobs):")?.parse().ok()
}

/// `fio-3.35`, alone on its line; of 2.0 the number alone, which is not believed.
pub fn version(line: &str) -> Option<&str> {
    // `hostname=server, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.33, flags=1` of --client.
    let of_machine = line.starts_with("hostname=").then(|| line.split_once(", fio=")).flatten();
    let line = of_machine.map_or(line, |(_, rest)| rest.split(',').next().unwrap_or(rest));
    let version = line.trim().strip_prefix("fio-")?;
    let is_one = version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains(' ');
    is_one.then_some(version)
}

/// `write: IOPS=76.8k, BW=600MiB/s (629MB/s)(176GiB/300001msec); 0 zone resets`, or of 2.x
/// `write: io=3200.0KB, bw=1935.9KB/s, iops=483, runt=  1653msec`.
///
/// # Errors
/// When one of the two rates is missing.
fn direction(line: &str) -> Result<Option<(&'static str, Vec<FioFigure>)>, String> {
    let Some((way, rest)) = line.split_once(':') else { return Ok(None) };
    let ways = ["read", "write", "trim", MIXED];
    let Some(way) = ways.into_iter().find(|known| *known == way.trim_end()) else {
        return Ok(None);
    };
    let rest = rest.trim_start();
    let value = |key: &str| {
        let words = rest.split([',', ' ', '(', ';']);
        words.into_iter().find_map(|word| word.strip_prefix(key)).map(str::to_owned)
    };
    let iops = value("IOPS=").or_else(|| value("iops="));
    let missing = || format!("`{line}` in its output has no rate");
    let (_, told) = rest.split_once("BW=").or(rest.split_once("bw=")).ok_or_else(missing)?;
    let rate = rate(told).map_err(|why| format!("`{line}` in its output {why}"))?;
    let iops = iops.and_then(|text| Some((scaled(&text)?, text))).ok_or_else(missing)?;
    Ok(Some((
        way,
        vec![
            ("throughput_bytes_per_s".to_owned(), rate.0, rate.1),
            ("iops".to_owned(), iops.0, format!("{} IOPS", iops.1)),
        ],
    )))
}

/// `READ: bw=21.9MiB/s (23.0MB/s), ...`, or of 2.x `WRITE: io=596856KB, aggrb=56946KB/s, ...`.
fn total(line: &str) -> Option<(&'static str, f64, String)> {
    let (way, rest) = line.split_once(": ")?;
    let ways = [("READ", "read"), ("WRITE", "write"), ("TRIM", "trim"), ("MIXED", MIXED)];
    let (_, way) = ways.into_iter().find(|(printed, _)| *printed == way)?;
    let (_, told) = rest.split_once("bw=").or(rest.split_once("aggrb="))?;
    let (value, printed) = rate(told).ok()?;
    Some((way, value, printed))
}

/// `clat (usec): min=41, max=30964, avg=75.25, stdev=202.27`: the mean and the longest.
fn wait(line: &str) -> Option<(&'static str, Vec<FioFigure>)> {
    let (head, rest) = line.split_once("):")?;
    let (name, unit) = head.split_once(" (")?;
    let (name, unit_ns) = (latency(name.trim())?, unit_ns(unit)?);
    let mut told = Vec::new();
    for (key, what) in [("avg=", "mean"), ("max=", "max")] {
        let text = rest.split(',').find_map(|word| word.trim().strip_prefix(key))?.trim();
        told.push((format!("{name}_{what}"), scaled(text)? * unit_ns, format!("{text} {unit}")));
    }
    Some((name, told))
}

/// `clat percentiles (usec):`; of others than these the rows are not read.
fn percentiles(line: &str) -> Option<(&'static str, f64)> {
    let (name, unit) = line.strip_suffix("):")?.split_once(" percentiles (")?;
    Some((latency(name)?, unit_ns(unit)?))
}

fn latency(name: &str) -> Option<&'static str> {
    match name {
        "slat" => Some("submission_latency_ns"),
        "sync" => Some(SYNC),
        "lat" => Some("latency_ns"),
        "clat" => Some("completion_latency_ns"),
        _ => None,
    }
}

fn unit_ns(unit: &str) -> Option<f64> {
    match unit {
        "nsec" => Some(1.0),
        "usec" => Some(1e3),
        "msec" => Some(1e6),
        "sec" => Some(1e9),
        _ => None,
    }
}

/// A rate in bytes per second, and how it was printed: `21.9MiB/s (23.0MB/s)(...)`, of 2.x
/// `1023.3KB/s, ...`. Where both units stand there they are one rate, rounded twice. fio loses a
/// carry when it rounds: 11.98 MiB/s stands there as `11.0MiB/s (12.6MB/s)`; then the other is it.
///
/// # Errors
/// When there is none, or the two contradict each other. The sum of several machines (--client) has
/// them without `B/s`, and the sum of directions in fio 3.33 is `0 (0)`.
fn rate(text: &str) -> Result<(f64, String), &'static str> {
    let end = text.find([',', ' ', '(', ';']).unwrap_or(text.len());
    let (first, rest) = text.split_at(end);
    let inner = rest.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let bare = !first.ends_with("/s") && inner.is_some_and(|(inner, _)| !inner.ends_with("/s"));
    let of = |text: &str| match bare {
        true => FioRate::of(&format!("{text}B/s")),
        false => FioRate::of(text),
    };
    let one = of(first).ok_or("has no rate")?;
    let Some((other, two)) = inner.and_then(|(inner, _)| Some((inner, of(inner)?))) else {
        return Ok((one.bytes_per_s, first.to_owned()));
    };
    let near = |a: f64, b: f64| (a - b).abs() <= one.step + two.step;
    if near(one.bytes_per_s, two.bytes_per_s) || near(one.bytes_per_s, two.carried) {
        return Ok((one.bytes_per_s, first.to_owned()));
    }
    match near(one.carried, two.bytes_per_s) {
        true => Ok((two.bytes_per_s, other.to_owned())),
        false => Err("has two rates that contradict each other"),
    }
}

/// A rate as fio printed it, in bytes/s.
struct FioRate {
    bytes_per_s: f64,
    /// What one more in its last place is worth.
    step: f64,
    /// What it was where a carry was lost: nearly one unit more.
    carried: f64,
}

impl FioRate {
    fn of(text: &str) -> Option<FioRate> {
        let number = text.strip_suffix("/s")?;
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let (number, unit) = number.split_at(end);
        let unit = match unit {
            "B" => 1.0,
            // Of 2.x, which has no other unit beside it.
            "KB" => 1024.0,
            _ => {
                let (letter, base) = match unit.strip_suffix("iB") {
                    Some(letter) => (letter, 1024f64),
                    None => (unit.strip_suffix('B')?, 1000.0),
                };
                let power = ["", "k", "M", "G", "T", "P"].iter();
                base.powi(power.clone().position(|it| it.eq_ignore_ascii_case(letter))? as i32)
            }
        };
        let decimals = number.split_once('.').map_or(0, |(_, behind)| behind.len());
        let bytes_per_s = number.parse::<f64>().ok()? * unit;
        let is_whole = number.ends_with(".0");
        Some(FioRate {
            bytes_per_s,
            step: unit * 0.1f64.powi(decimals as i32),
            carried: if is_whole { bytes_per_s + unit } else { bytes_per_s },
        })
    }
}

/// `5604`, `76.8k`, `1805.8K`, `2801.4M`: of thousands.
fn scaled(text: &str) -> Option<f64> {
    let text = text.trim();
    let (number, factor) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1e3),
        (at, 'M' | 'm') => (&text[..at], 1e6),
        (at, 'G' | 'g') => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}

/// What a job is asked: `name: (g=0): rw=randread, bs=(R) 16.0KiB-16.0KiB, (W) 16.0KiB-16.0KiB, (T)
/// 16.0KiB-16.0KiB, ioengine=psync, iodepth=1`, or of 2.x `bs=4K-4K/4K-4K/4K-4K`.
fn asked(line: &str) -> Option<FioJobSettings> {
    let (name, rest) = line.split_once(": (g=")?;
    let (_, rest) = rest.split_once("): rw=")?;
    let (rw, rest) = rest.split_once(", bs=")?;
    let (sizes, rest) = rest.split_once(", ioengine=")?;
    let (engine, depth) = rest.split_once(", iodepth=")?;
    let mut known = Map::new();
    let mut set = |knob: &str, value: Option<Json>| {
        known.extend(value.map(|value| (knob.to_owned(), value)));
    };
    set("access", access_of(rw).map(Json::from));
    set("queue-depth", depth.trim().parse::<u64>().ok().map(Json::from));
    set("io-engine", io_engine_of(engine).map(Json::from));
    // Sizes of reads and of writes; which of them counts is known when the entry is.
    let each: Vec<Option<u64>> = match sizes.contains('/') {
        true => sizes.split('/').map(one_size).collect(),
        false => sizes.split(", ").map(|of| one_size(of.split(' ').nth(1)?)).collect(),
    };
    let size = match rw {
        "read" | "randread" => each.first().copied().flatten(),
        "write" | "randwrite" => each.get(1).copied().flatten(),
        _ => each.first().copied().flatten().filter(|size| each.get(1) == Some(&Some(*size))),
    };
    set("block-size", size.map(Json::from));
    let name = name.trim_start();
    // `<server> name: ...` of --client.
    let of_machine = name.strip_prefix('<').and_then(|rest| rest.split_once("> "));
    let (of_machine, name) = of_machine.map_or((false, name), |(_, name)| (true, name));
    Some(FioJobSettings { name: name.to_owned(), of_machine, settings: known })
}

/// `4096B-4096B`, `16.0KiB-16.0KiB` and `4K-4K`; none of a range.
fn one_size(text: &str) -> Option<u64> {
    let (low, high) = text.split_once('-')?;
    let end = low.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(low.len());
    let (number, unit) = low.split_at(end);
    let factor = match unit {
        "" | "B" => 1.0,
        "K" | "KiB" => 1024.0,
        "M" | "MiB" => 1024.0 * 1024.0,
        "G" | "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let size = number.parse::<f64>().ok()? * factor;
    // What was rounded when it was printed is no size.
    (low == high && size >= 1.0 && size.fract() == 0.0 && size < 1e15).then_some(size as u64)
}

#[cfg(test)]
mod tests;
