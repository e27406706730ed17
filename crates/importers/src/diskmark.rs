//! (pure) The rows that CrystalDiskMark prints, and KDiskMark after it: one a load.
//!
//! Rows of CrystalDiskMark 6 and before name their direction; those of later ones and of KDiskMark
//! stand below `[Read]`, `[Write]` and `[Mix]`. 4KB are of 1024 bytes in every version.

use serde_json::{Map, Value as Json};

use super::ToolResult;

/// How KDiskMark's heading begins.
pub const KDISKMARK: &str = "KDiskMark (";

/// Whether there is a row, of whatever version.
pub fn rows_of(text: &str) -> bool {
    let section = Some(Section::Reads);
    text.lines().any(|line| matches!(DiskMarkRow::of(line, section), Ok(Some(_))))
}

/// The rows of a text. `units` are how many bytes its MB may have, the likelier first; `version` is
/// told by a line.
///
/// # Errors
/// When there is none, or one whose rate is not its operations by their size in any of the units.
pub fn rows(
    text: &str,
    units: [f64; 2],
    version: impl Fn(&str) -> Option<String>,
) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    let (mut known, mut section) = (String::new(), None);
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let line = unquoted(line);
        if let Some(told) = version(line) {
            (known, section) = (told, None);
        }
        // Below a heading that is not known nobody knows what rows do.
        if line.starts_with('[') {
            section = Section::of(line);
        }
        let Some(row) = DiskMarkRow::of(line, section)? else { continue };
        let mut said = row.said(units)?;
        known.clone_into(&mut said.version);
        all.push(said);
    }
    match all.is_empty() {
        true => Err("there is no row of a load in it, as `SEQ 1MiB (Q= 8, T= 1): ... MB/s`".into()),
        false => Ok(all),
    }
}

/// Without what a mail, a forum or a comment puts before a line.
fn unquoted(line: &str) -> &str {
    line.trim_start_matches(|c: char| c.is_whitespace() || ['>', '/', '#', '|'].contains(&c)).trim()
}

/// What rows without a direction of their own do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Section {
    Reads,
    Writes,
    /// A share of reads, percent.
    Both(u64),
}

impl Section {
    /// `[Read]`, `[Write]`, `[Mix] Read 70%/Write 30%`.
    fn of(line: &str) -> Option<Section> {
        // Whatever somebody wrote behind it: "[Write] (my old one)" was none, and its rows were
        // told as reads.
        if line.starts_with("[Read]") {
            return Some(Section::Reads);
        }
        if line.starts_with("[Write]") {
            return Some(Section::Writes);
        }
        let (share, _) = line.strip_prefix("[Mix] Read ")?.split_once('%')?;
        Some(Section::Both(share.parse().ok().filter(|share| *share <= 100)?))
    }
}

/// A row of a load, of CrystalDiskMark or KDiskMark.
struct DiskMarkRow<'a> {
    line: &'a str,
    title: String,
    is_random: bool,
    section: Section,
    block: Option<u64>,
    depth: Option<u64>,
    threads: Option<u64>,
    rate: &'a str,
    iops: Option<&'a str>,
    latency_us: Option<&'a str>,
}

impl<'a> DiskMarkRow<'a> {
    /// A row, where a line begins as one and has a rate.
    ///
    /// # Errors
    /// When such a line cannot be understood: it is not left out.
    fn of(line: &'a str, section: Option<Section>) -> Result<Option<DiskMarkRow<'a>>, String> {
        let line = unquoted(line);
        let begins = ["SEQ", "RND", "Sequential", "Random"];
        let is_one = line.split(' ').next().is_some_and(|word| begins.contains(&word));
        match is_one && line.contains("MB/s") {
            false => Ok(None),
            true => DiskMarkRow::read(line, section)
                .map(Some)
                .ok_or_else(|| format!("`{line}` in its output is no row that is known")),
        }
    }

    fn read(line: &'a str, section: Option<Section>) -> Option<DiskMarkRow<'a>> {
        let (head, rest) = line.rsplit_once(':')?;
        let (rate, rest) = rest.split_once(" MB/s")?;
        let (head, inner) = match head.trim().split_once('(') {
            Some((head, inner)) => (head, Some(inner.strip_suffix(')')?)),
            None => (head, None),
        };
        let mut words = head.split_whitespace().peekable();
        let is_random = matches!(words.next()?, "RND" | "Random");
        let own = match words.peek() {
            Some(&"Read") => Some(Section::Reads),
            Some(&"Write") => Some(Section::Writes),
            _ => None,
        };
        if own.is_some() {
            words.next();
        }
        let size: String = words.collect();
        let block = if size.is_empty() { None } else { Some(bytes(&size)?) };
        let (mut depth, mut threads) = (inner.map(|_| 1), None);
        for pair in inner.into_iter().flat_map(|inner| inner.split(',')) {
            let (name, value) = pair.split_once('=')?;
            let value = value.trim().parse::<u64>().ok().filter(|value| *value > 0)?;
            match name.trim() {
                "Q" | "QD" => depth = Some(value),
                "T" => threads = Some(value),
                _ => return None,
            }
        }
        let between = |open: char, close: &str| {
            let (_, inner) = rest.split_once(open)?;
            Some(inner.split_once(close)?.0.trim())
        };
        let section = own.or(section)?;
        let way = match section {
            Section::Reads => "read",
            Section::Writes => "write",
            Section::Both(_) => "mix",
        };
        let asked: String = inner.unwrap_or_default().split_whitespace().collect();
        let head = head.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = format!("{head} {} {way}", asked.replace(',', " "));
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let (iops, latency_us) = (between('[', " IOPS]"), between('<', " us>"));
        Some(DiskMarkRow {
            line,
            title,
            is_random,
            section,
            block,
            depth,
            threads,
            rate: rate.trim(),
            iops,
            latency_us,
        })
    }

    fn said(&self, units: [f64; 2]) -> Result<ToolResult, String> {
        let no_number = || format!("`{}` in its output has no number", self.line);
        let number =
            |text: &str| text.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0);
        let rate = number(self.rate).ok_or_else(no_number)?;
        let iops = self.iops.map(|text| number(text).ok_or_else(no_number)).transpose()?;
        let latency = self.latency_us.map(|text| number(text).ok_or_else(no_number)).transpose()?;
        let unit = match (iops, self.block) {
            (Some(iops), Some(block)) => {
                let moved = iops * block as f64;
                // Half of what one more in the last place of either is worth, and a rounding.
                let off = |unit: f64| (rate * unit - moved).abs();
                let slack = |unit: f64| 0.0006 * unit + 0.06 * block as f64 + 0.002 * moved;
                let fits = units.into_iter().find(|unit| off(*unit) <= slack(*unit));
                fits.ok_or_else(|| {
                    format!("`{}` has a rate that is not its IOPS by their size", self.line)
                })?
            }
            _ => units[0],
        };
        let mut said = ToolResult { title: self.title.clone(), ..ToolResult::default() };
        said.settings = self.settings();
        said.add("throughput_bytes_per_s", rate * unit, format!("{} MB/s", self.rate));
        if let (Some(iops), Some(printed)) = (iops, self.iops) {
            said.add("iops", iops, format!("{printed} IOPS"));
        }
        if let (Some(us), Some(printed)) = (latency, self.latency_us) {
            said.add("latency_ns_mean", us * 1000.0, format!("{printed} us"));
        }
        Ok(said)
    }

    fn settings(&self) -> Map<String, Json> {
        let mut known = Map::new();
        let mut set = |knob: &str, value: Option<Json>| {
            known.extend(value.map(|value| (knob.to_owned(), value)));
        };
        let access = match (self.is_random, self.section) {
            (false, Section::Reads) => Some("read"),
            (false, Section::Writes) => Some("write"),
            (true, Section::Reads) => Some("random-read"),
            (true, Section::Writes) => Some("random-write"),
            (true, Section::Both(_)) => Some("random-mix"),
            (false, Section::Both(_)) => None,
        };
        set("access", access.map(Json::from));
        set("block-size", self.block.map(Json::from));
        set("queue-depth", self.depth.map(Json::from));
        set("streams", self.threads.map(Json::from));
        if let (Some("random-mix"), Section::Both(percent)) = (access, self.section) {
            set("read-share", Some(Json::from(percent as f64 / 100.0)));
        }
        known
    }
}

/// `1MiB`, `4KiB`, and of version 3 `512KB`, which is 524288.
fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let shift = match &text[end..] {
        "KiB" | "KB" => 10,
        "MiB" | "MB" => 20,
        _ => return None,
    };
    text[..end].parse::<u64>().ok()?.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}
