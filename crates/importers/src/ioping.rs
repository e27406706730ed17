//! (pure) ioping 0.6 to 1.3: the statistics that close each of its runs.
//!
//! ioping waits for each request before it asks for the next, and its iops and rate are of the time
//! that requests took alone (ioping.c, `finish_statistics`: requests / the sum of their times).
//! What it did with its pauses between them stands in the line that begins with `generated`, since
//! 1.0. Sizes are of 1024 (`size_suffix`, also where 0.6 writes `mb`), counts of 1000.

use super::{Form, Importer, ToolResult};

mod raw;
mod stats;

use stats::Stats;

/// See [`Importer`].
pub const IOPING: Importer = Importer {
    name: "ioping",
    about: "The statistics that close a run of ioping 0.6 to 1.3",
    forms: &[
        Form {
            bring: "all that it prints, or its closing statistics alone",
            recorded: &["0.6", "0.8", "0.9", "1.3"],
            read: "iops, rate and latency of what completed; what was generated, with its pauses",
            not_read: "single requests; numbers of periods (-p); JSON (-J)",
        },
        Form {
            bring: "the one line of numbers of -B, with --from ioping: no word tells whose it is",
            recorded: &[],
            read: "iops, rate and latency",
            not_read: "lines of several periods (-p), of which it gives no sum; 0.6, whose line \
                       has no count",
        },
    ],
    words: &["ioping", "requests completed in", "mdev", "request=", "iops", "generated"],
    mark: "line `--- . (ext4 /dev/sda1) ioping statistics ---`",
    parse,
    knows,
};

const OF_JSON: &str = "it is ioping's JSON (-J), which is not read; run it without -J";
const NO_STATISTICS: &str =
    "a run of it has requests and no statistics, which ioping prints where it ends";

fn knows(text: &str) -> bool {
    let known = |line: &str| {
        let line = line.trim();
        heading(line).is_some() || Request::of(line).is_some() || completed(line)
    };
    text.lines().any(known) || is_json(text)
}

/// Of `-J`: keys that each of its closing objects has.
fn is_json(text: &str) -> bool {
    ["\"stat\"", "\"load\"", "\"bps\"", "\"mdev\""].iter().all(|key| text.contains(key))
}

/// The title of `--- . (ext4 /dev/sda1) ioping statistics ---`.
fn heading(line: &str) -> Option<&str> {
    line.strip_suffix(" ioping statistics ---")?.strip_prefix("--- ")
}

/// Whether it is `10 requests completed in 9.03 s, 449 iops, 1.76 MiB/s`.
fn completed(line: &str) -> bool {
    line.contains(" requests completed in ") && line.contains(" iops")
}

/// Whether it is `min/avg/max/mdev = 562 us / 2.22 ms / 8.74 ms / 2.49 ms`.
fn times(line: &str) -> Option<&str> {
    line.strip_prefix("min/avg/max/mdev = ")
}

/// `4 KiB <<< . (ext4 /dev/sda1): request=1 time=0.2 ms`
struct Request<'a> {
    size: &'a str,
    unit: &'a str,
    /// Of which only `to`, `<<<` and `>>>` tell the direction: `from` stood there for writes, too.
    way: &'a str,
    number: u64,
}

impl<'a> Request<'a> {
    fn of(line: &'a str) -> Option<Request<'a>> {
        let (target, rest) = line.rsplit_once("): request=")?;
        let (number, rest) = rest.split_once(' ')?;
        rest.strip_prefix("time=")?;
        let ways = [" from ", " to ", " <<< ", " >>> "];
        let (before, way) =
            ways.iter().find_map(|way| Some((target.split_once(way)?.0, way.trim())))?;
        // With `-I` the time of the day stands before the size.
        let mut words = before.split_whitespace().rev();
        let (unit, size) = (words.next()?, words.next()?);
        Some(Request { size, unit, way, number: number.parse().ok()? })
    }
}

/// What the requests of one run say, before its statistics.
#[derive(Default)]
struct Requests {
    last: u64,
    sizes: Vec<(String, String)>,
    ways: Vec<String>,
}

impl Requests {
    fn add(&mut self, request: &Request<'_>) -> Result<(), String> {
        if request.number <= self.last {
            return Err(NO_STATISTICS.to_owned());
        }
        self.last = request.number;
        let size = (request.size.to_owned(), request.unit.to_owned());
        if !self.sizes.contains(&size) {
            self.sizes.push(size);
        }
        if !self.ways.iter().any(|way| way == request.way) {
            self.ways.push(request.way.to_owned());
        }
        // No run has as many; a text that does would be searched for ever.
        match self.sizes.len() > 1000 {
            true => Err("its requests are of more than 1000 sizes".to_owned()),
            false => Ok(()),
        }
    }
}

/// One result for each block of statistics.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    if is_json(text) {
        return Err(OF_JSON.to_owned());
    }
    if !knows(text) {
        return raw::parse(text);
    }
    let mut all = Vec::new();
    let mut requests = Requests::default();
    let mut open: Option<Stats> = None;
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let line = line.trim();
        if let Some(title) = heading(line) {
            if open.is_some() {
                return Err("statistics of it have no line `min/avg/max/mdev`".to_owned());
            }
            open = Some(Stats::new(title));
        } else if let Some(request) = Request::of(line) {
            requests.add(&request)?;
        } else if let Some(stats) = &mut open {
            match times(line) {
                Some(rest) => {
                    stats.times(rest)?;
                    all.extend(open.take().map(|it| it.said(std::mem::take(&mut requests))));
                }
                None => stats.line(line)?,
            }
        } else if completed(line) || line.starts_with("generated ") {
            return Err(format!("`{line}` has no heading `--- ... ioping statistics ---`"));
        }
    }
    match (open, requests.last) {
        (Some(_), _) => Err("it was cut short within its statistics".to_owned()),
        (None, 0) if all.is_empty() => Err("there are no statistics of ioping's in it".to_owned()),
        (None, 0) => all.into_iter().collect(),
        (None, _) => Err(NO_STATISTICS.to_owned()),
    }
}

#[cfg(test)]
mod tests;
