//! (pure) What fio prints for people, of 2.0 to 3.x: an entry for each job or group, from its name
//! to the count of what was issued, and beneath them a line for each direction of each group.
//!
//! Until 2.99 its KB are of 1024 bytes; since then `BW=21.9MiB/s (23.0MB/s)` has both, and they are
//! held against each other (see [`rate`]). Waits have the unit of their own line, and `k`, `M` and
//! `G` are thousands there.

use serde_json::{Map, Value as Json};

use super::{MIXED, access_of, failed, io_engine_of, percentile_of};
use crate::Said;

/// Whether a text has an entry, or the lines of a group, of what fio prints for people.
pub fn knows(text: &str) -> bool {
    text.lines().any(|line| entry(line).is_some() || group(line).is_some())
}

/// One result for each entry; where there is none, for each group.
///
/// # Errors
/// When an entry failed, has no end, or did nothing.
pub fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut read = Text::default();
    for line in text.split_inclusive('\n') {
        // What has no end may have been longer.
        let Some(line) = line.strip_suffix('\n') else { continue };
        read.line(line.trim_end())?;
    }
    read.end()
}

/// What was read so far.
#[derive(Default)]
struct Text {
    version: String,
    /// What each job was asked to do, by its name; of two of one name the later.
    asked: Vec<(String, Map<String, Json>)>,
    /// With whose process each was, which tells snapshots of one run.
    entries: Vec<(Entry, Said)>,
    open: Option<Open>,
    groups: Vec<Said>,
    in_group: bool,
}

/// Who an entry is of: printed again (`--status-interval`) it has the same.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    name: String,
    group: u64,
    process: u64,
    jobs: u64,
}

/// An entry that has not ended.
struct Open {
    of: Entry,
    directions: Vec<(&'static str, Vec<Told>)>,
    /// Of processors and of flushes, which have no direction.
    others: Vec<Told>,
    /// Of which line the percentiles are that follow, and in how many ns.
    percentiles: Option<(&'static str, f64)>,
}

/// A figure without the name of its direction: what, how much in our unit, and as it was printed.
type Told = (String, f64, String);

impl Text {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(version) = version(line) {
            version.clone_into(&mut self.version);
        }
        if let Some((name, settings)) = asked(line) {
            self.asked.push((name, settings));
        }
        if let Some((of, error)) = entry(line) {
            if let Some(open) = &self.open {
                return Err(no_end(open));
            }
            match error {
                0 => {}
                number => return Err(failed(&of.name, number.into())),
            }
            let (directions, others) = (Vec::new(), Vec::new());
            self.open = Some(Open { of, directions, others, percentiles: None });
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
        if let Some(number) = group(line) {
            self.in_group = true;
            let title = format!("group {number}");
            self.groups.push(Said { title, ..Said::default() });
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
        let asked = self.asked.iter().rev().find(|(name, _)| *name == of.name);
        let mut settings = asked.map(|(_, settings)| settings.clone()).unwrap_or_default();
        settings.insert("streams".to_owned(), of.jobs.into());
        let said = open.said(&self.version, settings)?;
        // A snapshot of the same run, of which the last has all.
        self.entries.retain(|(known, _)| *known != of);
        self.entries.push((of, said));
        Ok(())
    }

    fn end(mut self) -> Result<Vec<Said>, String> {
        if let Some(open) = &self.open {
            return Err(no_end(open));
        }
        if !self.entries.is_empty() {
            return Ok(self.entries.into_iter().map(|(_, said)| said).collect());
        }
        if self.in_group {
            return Err("it was cut short: nothing follows the last line of a group".to_owned());
        }
        self.groups.retain(|said| !said.figures.is_empty());
        let version = self.version;
        let groups = self.groups.into_iter();
        let groups: Vec<Said> =
            groups.map(|said| Said { version: version.clone(), ..said }).collect();
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
        self.percentiles = percentiles(line);
        if self.percentiles.is_some() {
            return Ok(false);
        }
        if let Some((way, told)) = direction(line)? {
            if self.directions.iter().any(|(known, _)| *known == way) {
                return Err(format!("its job {} has a line `{way}` twice", self.of.name));
            }
            self.directions.push((way, told));
        } else if let Some(rest) = line.strip_prefix("cpu ") {
            for (key, name) in [("usr=", "user_cpu_share"), ("sys=", "system_cpu_share")] {
                let percent = rest.split([':', ',', ' ']).find_map(|word| word.strip_prefix(key));
                let number = percent.and_then(|it| it.strip_suffix('%')?.parse::<f64>().ok());
                let told = number.map(|it| (name.to_owned(), it / 100.0, format!("{it} %")));
                self.others.extend(told);
            }
        } else if let Some((name, told)) = wait(line) {
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
        let alike = has(MIXED)
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
    fn of(&mut self, name: &str) -> &mut Vec<Told> {
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

    fn said(self, version: &str, settings: Map<String, Json>) -> Result<Said, String> {
        let title = self.of.name.clone();
        let mut said = Said { version: version.to_owned(), title, settings, ..Said::default() };
        // Each was issued, as the counts say.
        let ways = &self.directions;
        let alone = ways.len() == 1 && ways.iter().all(|(way, _)| ["read", "write"].contains(way));
        if ways.is_empty() {
            return Err(format!("its job {} completed no I/O", self.of.name));
        }
        for (way, told) in ways {
            let before = if alone { String::new() } else { format!("{way}_") };
            // A rate of 0 is one that was rounded away.
            for (name, value, printed) in told.iter().filter(|(_, value, _)| *value > 0.0) {
                said.add(format!("{before}{name}"), *value, printed.clone());
            }
        }
        for (name, value, printed) in self.others {
            said.add(name, value, printed);
        }
        Ok(said)
    }
}

/// `name: (groupid=0, jobs=8): err= 0: pid=171908: Thu Sep  5 03:52:31 2024`.
fn entry(line: &str) -> Option<(Entry, u32)> {
    let (name, rest) = line.split_once(": (groupid=")?;
    let (group, rest) = rest.split_once(", jobs=")?;
    let (jobs, rest) = rest.split_once("): err=")?;
    let error: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    let (_, process) = rest.split_once(": pid=")?;
    let process: String = process.chars().take_while(char::is_ascii_digit).collect();
    let name = name.trim_start().to_owned();
    let (group, jobs) = (group.parse().ok()?, jobs.parse().ok()?);
    Some((Entry { name, group, process: process.parse().ok()?, jobs }, error.parse().ok()?))
}

/// `Run status group 0 (all jobs):`.
fn group(line: &str) -> Option<u64> {
    let number = line.trim_start().strip_prefix("Run status group ")?;
    number.strip_suffix(" (all jobs):")?.parse().ok()
}

/// `fio-3.35`, alone on its line; of 2.0 the number alone, which is not believed.
fn version(line: &str) -> Option<&str> {
    let version = line.trim().strip_prefix("fio-")?;
    let is_one = version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains(' ');
    is_one.then_some(version)
}

/// `write: IOPS=76.8k, BW=600MiB/s (629MB/s)(176GiB/300001msec); 0 zone resets`, or of 2.x
/// `write: io=3200.0KB, bw=1935.9KB/s, iops=483, runt=  1653msec`.
///
/// # Errors
/// When one of the two rates is missing.
fn direction(line: &str) -> Result<Option<(&'static str, Vec<Told>)>, String> {
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
fn wait(line: &str) -> Option<(&'static str, Vec<Told>)> {
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

/// How long flushes took.
const SYNC: &str = "sync_latency_ns";

fn latency(name: &str) -> Option<&'static str> {
    match name {
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
/// When there is none, or the two contradict each other.
fn rate(text: &str) -> Result<(f64, String), &'static str> {
    let end = text.find([',', ' ', '(', ';']).unwrap_or(text.len());
    let (first, rest) = text.split_at(end);
    let one = Rate::of(first).ok_or("has no rate")?;
    let inner = rest.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let Some((other, two)) = inner.and_then(|(inner, _)| Some((inner, Rate::of(inner)?))) else {
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

/// A rate as it was printed.
struct Rate {
    bytes_per_s: f64,
    /// What one more in its last place is worth.
    step: f64,
    /// What it was where a carry was lost: nearly one unit more.
    carried: f64,
}

impl Rate {
    fn of(text: &str) -> Option<Rate> {
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
        Some(Rate {
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
fn asked(line: &str) -> Option<(String, Map<String, Json>)> {
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
    Some((name.trim_start().to_owned(), known))
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
