//! (pure) DiskSpd of Microsoft: its text and its XML.
//!
//! What it calls MB/s until 2.0.17 and MiB/s since is bytes / 1024 / 1024 / seconds in every
//! version (`ResultParser.cpp`). Neither its warming up nor its cooling down is in any figure. Of
//! each time span it prints a result; where it printed several, their sum is no result of its own.

use serde_json::{Map, Value as Json};

use experiment::measurement::Note;

use super::{Form, Importer, ToolResult};

mod text;
mod xml;
#[cfg(test)]
mod tests;

/// See [`Importer`].
pub const DISKSPD: Importer = Importer {
    name: "diskspd",
    about: "All that DiskSpd 2 prints: its text, or its XML (-Rxml)",
    forms: &[
        Form {
            bring: "all that it prints",
            recorded: &["2.0.21", "2.1", "2.2"],
            read: "rates, IOPS and latencies of each time span, of reads, of writes and of both; \
                   how busy the processors were",
            not_read: "standard deviations, single threads and targets, percentiles but p50, p90, \
                       p95, p99 and p999",
        },
        Form {
            bring: "-Rxml",
            recorded: &["2.0.21a", "2.2.0"],
            read: "the same, rates by its bytes and seconds",
            not_read: "the same, and I/Os over time",
        },
    ],
    words: &[
        "diskspd",
        "timespan",
        "TestTimeSeconds",
        "actual test time:",
        "I/O per s",
        "AvgLat",
        "outstanding I/O operations",
        "%-ile",
    ],
    mark: "line `Results for timespan 1:`, or `<Results>` with `<TimeSpan>`",
    parse,
    knows,
};

/// What its XML stands between.
const XML: (&str, &str) = ("<Results>", "</Results>");

fn knows(text: &str) -> bool {
    text.lines().any(text::knows) || xml::knows(text)
}

/// One result for each time span, in the order in which they stand there.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(XML.0).filter(|_| xml::knows(rest)) {
        all.extend(text::parse(before)?);
        let Some((inner, behind)) = behind.split_once(XML.1) else {
            return Err(format!("it was cut short: its XML has no {}", XML.1));
        };
        all.extend(xml::parse(inner)?);
        rest = behind;
    }
    all.extend(text::parse(rest)?);
    match all.is_empty() {
        true => Err("there is no result of DiskSpd's in it".to_owned()),
        false => Ok(all),
    }
}

/// The ways of I/O: of both together, of reads and of writes.
const WAYS: [&str; 3] = ["", "read_", "write_"];

/// What was asked for on one target; what is not told is not known.
#[derive(Clone, Debug, Default, PartialEq)]
struct Target {
    block_bytes: Option<u64>,
    /// Around the cache of the machine, but not around one of a file server's.
    direct: Option<bool>,
    /// Of a hundred I/Os how many write.
    write_percent: Option<u64>,
    order: Option<Order>,
    /// How far one I/O of a thread is from the one before, where they are in sequence.
    stride_bytes: Option<u64>,
    /// I/Os in flight per thread.
    depth: Option<u64>,
    is_mapped: bool,
    zeros: bool,
    /// What kept it from going as fast as it could.
    limits: Vec<String>,
}

/// In which order I/Os go over a target.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Sequential,
    Random,
    /// Some so and some so.
    Mixed,
}

impl Target {
    /// Our word for what it did; of a mix in sequence there is none.
    fn access(&self) -> Option<&'static str> {
        let sequential = self.stride_bytes.is_some() && self.stride_bytes == self.block_bytes;
        match (self.order?, self.write_percent?) {
            (Order::Sequential, 0) if sequential => Some("read"),
            (Order::Sequential, 100) if sequential => Some("write"),
            (Order::Random, 0) => Some("random-read"),
            (Order::Random, 100) => Some("random-write"),
            (Order::Random, _) => Some("random-mix"),
            _ => None,
        }
    }

    fn settings(&self, pool: bool) -> Map<String, Json> {
        let mut known = Map::new();
        let mut add = |knob: &str, value: Option<Json>| {
            known.extend(value.map(|value| (knob.to_owned(), value)));
        };
        let access = self.access();
        add("access", access.map(Json::from));
        add("block-size", self.block_bytes.map(Json::from));
        add("direct", self.direct.filter(|_| !self.is_mapped).map(Json::from));
        // Threads of a pool are not those of one target.
        add("queue-depth", self.depth.filter(|_| !pool).map(Json::from));
        let mix = self.write_percent.filter(|_| access == Some("random-mix"));
        add(
            "read-share",
            mix.map(|percent| (100u64.saturating_sub(percent) as f64 / 100.0).into()),
        );
        add("io-engine", self.is_mapped.then(|| "mmap".into()));
        let writes = self.write_percent.is_some_and(|percent| percent > 0);
        add("data", (self.zeros && writes).then(|| "zero".into()));
        known
    }
}

/// What holds of all targets, and what is to be said of them.
fn of_all(said: &mut ToolResult, targets: &[Target], threads: u64, pool: bool) {
    if let Some((first, others)) = targets.split_first() {
        said.settings = first.settings(pool);
        for other in others.iter().map(|other| other.settings(pool)) {
            said.settings.retain(|knob, value| other.get(knob) == Some(value));
        }
        if !said.settings.contains_key("access") {
            said.settings.remove("read-share");
        }
    }
    said.settings.insert("streams".to_owned(), threads.into());
    let mut limits: Vec<&str> =
        targets.iter().flat_map(|target| &target.limits).map(String::as_str).collect();
    limits.sort_unstable();
    limits.dedup();
    if !limits.is_empty() {
        let text = format!(
            "DiskSpd did not go as fast as it could: {}. The figures are of that pace.",
            limits.join(", ")
        );
        said.notes.push(Note::new("rate-limited", text));
    }
}

/// What was moved one way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moved {
    bytes: u64,
    ios: u64,
}

impl Moved {
    fn and(self, other: Moved) -> Option<Moved> {
        let bytes = self.bytes.checked_add(other.bytes)?;
        Some(Moved { bytes, ios: self.ios.checked_add(other.ios)? })
    }

    /// # Errors
    /// When these are not bytes of so many blocks; the last of a target may be shorter.
    fn check(self, targets: &[Target]) -> Result<(), String> {
        let Some((first, others)) = targets.split_first() else { return Ok(()) };
        let Some(block) = first.block_bytes else { return Ok(()) };
        let due = self.ios as f64 * block as f64;
        let near = self.bytes as f64 <= due && self.bytes as f64 >= 0.99 * due;
        match near || others.iter().any(|other| other.block_bytes != first.block_bytes) {
            true => Ok(()),
            false => Err(format!("{} bytes are not {} I/Os of {block}", self.bytes, self.ios)),
        }
    }
}

/// Which ways have figures of their own: where all I/O went one way, both together are it.
fn ways(moved: &[Moved; 3]) -> impl Iterator<Item = usize> {
    let both = moved.iter().skip(1).all(|way| way.ios > 0);
    0..if both { WAYS.len() } else { 1 }
}

/// A number with so many digits behind the point, as all of its kind have.
fn fixed(text: &str, digits: usize) -> Option<f64> {
    let (whole, behind) = text.split_once('.')?;
    let is_one = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let good = is_one(whole) && is_one(behind) && behind.len() == digits && whole.len() < 16;
    text.parse::<f64>().ok().filter(|number| good && number.is_finite())
}

/// Its ms as ns.
fn ns(ms: f64) -> f64 {
    (ms * 1e6).round()
}

/// What we call a percentile, of its XML and of its text, and the lowest and the highest.
const PERCENTILES: [(&str, &str, &str); 7] = [
    ("0", "min", "min"),
    ("50", "50th", "p50"),
    ("90", "90th", "p90"),
    ("95", "95th", "p95"),
    ("99", "99th", "p99"),
    ("99.9", "3-nines", "p999"),
    ("100", "max", "max"),
];
