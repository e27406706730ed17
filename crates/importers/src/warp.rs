//! (pure) warp, MinIO's benchmark of object storage: what it prints, and its JSON.
//!
//! `MiB/s` has 2^20 bytes there (`pkg/bench/ops.go`). Each kind of request is a result. Up to 1.0
//! it begins with `Operation: GET`, since 1.1 with `Report: GET`.

use experiment::measurement::Note;

use super::json::documents;
use super::{Form, Importer, ToolResult};

mod units;
mod document;

use units::{WarpRates, duration_ns, rate};

/// See [`Importer`].
pub const WARP: Importer = Importer {
    name: "warp",
    about: "What MinIO's warp prints of a run, and what `warp analyze` makes of it",
    forms: &[
        Form {
            bring: "all that warp get, put, mixed ... or warp analyze prints",
            recorded: &["0.3", "0.7", "0.7.7", "1.0.0", "1.1", "1.1.3", "1.6.1"],
            read: "of each kind of request the rate, that of the fastest, median and slowest \
                   second, the time it took and that of its first byte, and the errors",
            not_read: "rates by host, by client and by size, first and last access: all of them \
                       are left out with a note",
        },
        Form {
            bring: "warp analyze --json",
            recorded: &["0.7.7", "1.1.3"],
            read: "the same; since 1.1 of the rates alone",
            not_read: "since 1.1 the times, which stand there for each stretch by itself; raw data \
                       (.csv.zst) and the table of --analyze.out are refused",
        },
    ],
    words: &[
        "warp",
        "obj/s",
        "Throughput, split into",
        "50% Median",
        "Concurrency:",
        "TTFB",
        "throughput_by_host",
        "single_sized_requests",
        "objs_per_sec",
        "ops_started",
    ],
    mark: "line `Report: GET ...` or `Operation: GET ...` with rates in obj/s below it",
    parse,
    knows,
};

/// With what its raw data begins.
const RAW: &str = "idx\tthread\top\t";
/// With what the table of `--analyze.out` begins, each row of which is a stretch of time.
const SEGMENTS: &str = "index\top\thost\tduration_s\t";

fn knows(text: &str) -> bool {
    let is_text = text.contains(" obj/s") || text.contains(" ops/s");
    let mut lines = text.lines().map(str::trim);
    document::knows(text)
        || lines.any(|line| {
            line.starts_with(RAW)
                || line.starts_with(SEGMENTS)
                || line.starts_with("Throughput, split into ")
                || (is_text
                    && (WarpHeading::of(line).is_some() || line.starts_with("Cluster Total: ")))
        })
}

/// One result for each kind of request, and for all where it says so.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    if text.lines().any(|line| line.starts_with(RAW)) {
        return Err("it is warp's raw data, each request a line: bring what `warp analyze FILE` \
                    prints of it"
            .to_owned());
    }
    if text.lines().any(|line| line.starts_with(SEGMENTS)) {
        return Err(
            "it is warp's table of segments (--analyze.out), which has no figure of a whole \
                    run and no end: bring what the same `warp analyze` prints"
                .to_owned(),
        );
    }
    let mut all = Vec::new();
    if document::knows(text) {
        all.extend(document::read(&documents(text)?)?);
    }
    let mut read = WarpTextParser::default();
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n').map(str::trim) else { continue };
        read.line(line)?;
    }
    all.extend(read.end()?);
    match all.is_empty() {
        true => Err("there is no result of warp's in it".to_owned()),
        false => Ok(all),
    }
}

/// With what the part of a kind of request begins.
struct WarpHeading<'a> {
    operation: &'a str,
    rest: &'a str,
    is_mixed: bool,
}

impl<'a> WarpHeading<'a> {
    /// `Report: GET. Concurrency: 20. Ran: 58s`, `Operation: PUT (1000). Ran 7s. ...`, and of a mix
    /// `Operation: GET, 45%, Concurrency: 20, Ran 5m0s.`
    fn of(line: &'a str) -> Option<WarpHeading<'a>> {
        let rest = line.strip_prefix("Report: ").or(line.strip_prefix("Operation: "))?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (operation, rest) = rest.split_at(end);
        let is_known = ["", ".", ",", " (", " - total"].iter().any(|it| rest.starts_with(it));
        let is_one = operation == "Total"
            || (!operation.is_empty()
                && operation
                    .chars()
                    .all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit()));
        let is_mixed = rest.starts_with(", ") || rest.starts_with(" - total");
        (is_one && is_known).then_some(WarpHeading { operation, rest, is_mixed })
    }
}

/// What was read so far of a text of warp.
#[derive(Default)]
struct WarpTextParser {
    all: Vec<ToolResult>,
    open: Option<Op>,
    /// Those of a mix, whose end its total is.
    mix: Option<Vec<ToolResult>>,
    skipped: Vec<String>,
}

impl WarpTextParser {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line == "Mixed operations." {
            if self.mix.is_some() || self.open.is_some() {
                return Err("a run of it has no end".to_owned());
            }
            self.mix = Some(Vec::new());
        } else if let Some(head) = WarpHeading::of(line) {
            if head.is_mixed && self.mix.is_none() {
                self.mix = Some(Vec::new());
            }
            self.close()?;
            self.open = Some(Op::new(&head, self.mix.is_some()));
        } else if let Some(rest) = line.strip_prefix("Cluster Total: ") {
            self.close()?;
            let mut mix = self.mix.take().ok_or("it has a total of a mix that does not begin")?;
            let mut total = Op::default();
            total.said.title = "all requests of a mix".to_owned();
            total.average(rest)?;
            mix.push(total.said()?);
            self.all.append(&mut mix);
        } else if let Some(rest) = line.strip_prefix("Skipping ") {
            if let Some((what, _)) = rest.split_once(" too few samples") {
                self.skipped.push(what.to_owned());
                self.open = None;
            }
        } else if let Some(open) = &mut self.open
            && open.line(line)?
        {
            let said = self.open.take().map(Op::said).transpose()?;
            self.all.extend(said);
        }
        Ok(())
    }

    /// Another begins, or all of them end: of a mix each is whole then.
    fn close(&mut self) -> Result<(), String> {
        let Some(open) = self.open.take() else { return Ok(()) };
        match &mut self.mix {
            Some(mix) => mix.push(open.said()?),
            None => return Err(format!("its {} has no slowest second", open.said.title)),
        }
        Ok(())
    }

    fn end(mut self) -> Result<Vec<ToolResult>, String> {
        if self.mix.is_some() {
            return Err("it was cut short: a mix of it has no line `Cluster Total`".to_owned());
        }
        self.close().map_err(|why| format!("it was cut short: {why}"))?;
        if self.skipped.is_empty() {
            return Ok(self.all);
        }
        let text = format!("of {} it has too few samples for a rate", self.skipped.join(", "));
        match self.all.first_mut() {
            None => return Err(text),
            Some(first) => first.notes.push(Note::new("left-out", text)),
        }
        Ok(self.all)
    }
}

/// The part of a kind of request.
#[derive(Default)]
struct Op {
    said: ToolResult,
    /// Which rate is told of it, to be held against its seconds.
    bytes_per_s: Option<f64>,
    objects_per_s: Option<f64>,
    object_bytes: Option<f64>,
    has_average: bool,
    /// Whether lines are of hosts, clients or sizes.
    is_in_parts: bool,
    is_in_seconds: bool,
    /// Fastest, median and slowest: bytes and objects a second.
    seconds: Vec<(Option<f64>, f64)>,
    request_ns: Option<f64>,
    first_byte_ns: Option<f64>,
}

impl Op {
    fn new(head: &WarpHeading<'_>, is_of_mix: bool) -> Op {
        let mut op = Op::default();
        let kind = match head.operation {
            "Total" => "all requests".to_owned(),
            operation if is_of_mix => format!("{operation} of a mix"),
            operation => operation.to_owned(),
        };
        op.said.title = kind;
        op.options(head.rest);
        op
    }

    /// `Size: 10485760 bytes. Concurrency: 20.`
    fn options(&mut self, rest: &str) {
        let after = |key: &str| {
            let (_, rest) = rest.split_once(key)?;
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest.get(..end).filter(|word| !word.is_empty())
        };
        if let Some(many) = after("Concurrency: ") {
            let title = format!("{}, concurrency {many}", self.said.title);
            self.said.title = title;
        }
        if let Some(bytes) = after("Size: ") {
            self.object_bytes = bytes.parse().ok();
        }
    }

    /// A line of it; whether it was the last.
    fn line(&mut self, line: &str) -> Result<bool, String> {
        if line.starts_with("Throughput, split into ") {
            (self.is_in_seconds, self.is_in_parts) = (true, false);
        } else if line == "Throughput by host:" || line == "Throughput by client:" {
            self.part("its rates by host and by client are left out");
        } else if line.starts_with("Client ") && line.contains(" throughput: ") {
            self.is_in_parts = true;
        } else if line.starts_with("Request size ") {
            self.part("what it has by size is left out");
        } else if line == "Throughput:" {
            self.is_in_parts = false;
        } else if let Some((key, rest)) = line.trim_start_matches("* ").split_once(": ") {
            return self.told(key, rest, line);
        }
        Ok(false)
    }

    fn part(&mut self, text: &str) {
        self.is_in_parts = true;
        self.left_out(text);
    }

    fn left_out(&mut self, text: &str) {
        if self.said.notes.iter().all(|note| note.text != text) {
            self.said.notes.push(Note::new("left-out", text));
        }
    }

    fn told(&mut self, key: &str, rest: &str, line: &str) -> Result<bool, String> {
        match key {
            "Fastest" | "50% Median" | "Slowest" if self.is_in_seconds => {
                return self.second(key, rest, line);
            }
            "Average" | "Throughput" if !self.is_in_parts => self.average(rest)?,
            "Errors" if !self.is_in_parts => {
                let many = units::number(rest).ok_or_else(|| format!("`{line}` has no number"))?;
                self.said.add("errors", many, rest);
            }
            "Objects per request" => self.options(rest),
            "Reqs" if !self.is_in_parts => self.requests(rest, line)?,
            // Up to 1.0 the line has no name of its own.
            "Avg" if !self.is_in_parts => self.requests(&format!("Avg: {rest}"), line)?,
            "TTFB" if !self.is_in_parts => {
                let ns = self.times("first_byte_latency_ns", rest, line)?;
                self.first_byte_ns = ns;
            }
            "First Access" | "Last Access" | "First Access TTFB" | "Last Access TTFB" => {
                self.left_out("what it has of the first and the last access is left out");
            }
            _ => {}
        }
        Ok(false)
    }

    fn average(&mut self, rest: &str) -> Result<(), String> {
        let rates = WarpRates::parse(rest)?;
        if std::mem::replace(&mut self.has_average, true) {
            return Err(format!("its {} has two average rates", self.said.title));
        }
        if let Some((bytes, printed)) = rates.bytes {
            self.bytes_per_s = Some(bytes);
            self.said.add("throughput_bytes_per_s", bytes, printed);
        }
        self.objects_per_s = Some(rates.objects.0);
        self.said.add(rates.name, rates.objects.0, rates.objects.1);
        Ok(())
    }

    /// `Avg: 80ms, 50%: 77ms, 90%: 100ms, ...`; by size they are rates, and not read.
    fn requests(&mut self, rest: &str, line: &str) -> Result<(), String> {
        if rest.contains("B/s") {
            self.left_out("what it has by size is left out");
            return Ok(());
        }
        self.request_ns = self.times("latency_ns", rest, line)?;
        Ok(())
    }

    /// Times with their names; gives back the mean.
    fn times(&mut self, name: &str, rest: &str, line: &str) -> Result<Option<f64>, String> {
        let mut mean = None;
        // Of the first byte no comma stands before the last.
        let rest = rest.replace(" StdDev: ", ", StdDev: ").replace(",,", ",");
        for part in rest.split(", ") {
            let Some((key, value)) = part.trim().split_once(": ") else { continue };
            let what = match key {
                "Avg" => "mean",
                "50%" | "Median" => "p50",
                "25th" => "p25",
                "75th" => "p75",
                "90%" | "90th" => "p90",
                "99%" | "99th" => "p99",
                "Fastest" | "Best" => "min",
                "Slowest" | "Worst" => "max",
                "StdDev" => "stddev",
                _ => continue,
            };
            let ns = duration_ns(value).ok_or_else(|| format!("`{line}` has no time"))?;
            if what == "mean" {
                mean = Some(ns);
            }
            // What was rounded to nothing is not known.
            if ns > 0.0 {
                self.said.add(format!("{name}_{what}"), ns, value);
            }
        }
        Ok(mean)
    }

    /// `1466.8MiB/s, 146.68 obj/s (1s, starting 17:07:10 +0100)`.
    fn second(&mut self, key: &str, rest: &str, line: &str) -> Result<bool, String> {
        let (what, due) = match key {
            "Fastest" => ("fastest", 0),
            "50% Median" => ("median", 1),
            _ => ("slowest", 2),
        };
        let told = rest.split(" (").next().unwrap_or(rest);
        let odd = || format!("`{line}` has no rate");
        let (bytes, objects) = match told.split_once(", ") {
            Some((bytes, objects)) => (Some((rate(bytes).ok_or_else(odd)?, bytes)), objects),
            None => (None, told),
        };
        let (number, unit) = objects.split_once(' ').ok_or_else(odd)?;
        let number = units::number(number).ok_or_else(odd)?;
        if self.seconds.len() > due || (due == 2 && self.seconds.is_empty()) {
            return Err(format!("`{line}` is not where it belongs"));
        }
        self.seconds.push((bytes.map(|(bytes, _)| bytes), number));
        if let Some((bytes, printed)) = bytes {
            self.said.add(format!("{what}_throughput_bytes_per_s"), bytes, printed);
        }
        let name = if unit == "ops/s" { "operations_per_s" } else { "objects_per_s" };
        self.said.add(format!("{what}_{name}"), number, objects);
        Ok(due == 2)
    }

    fn said(self) -> Result<ToolResult, String> {
        let title = &self.said.title;
        if !self.has_average {
            return Err(format!("its {title} has no average rate"));
        }
        // They are in order of bytes or of objects, which each version chooses anew.
        let falls = |of: fn(&(Option<f64>, f64)) -> f64| {
            self.seconds.windows(2).all(|pair| match pair {
                [a, b] => of(a) >= of(b) * 0.999,
                _ => true,
            })
        };
        if !falls(|it| it.0.unwrap_or_default()) && !falls(|it| it.1) {
            return Err(format!("the seconds of its {title} are not in order"));
        }
        let fastest = self.seconds.first().map(|it| it.1);
        if let (Some(mean), Some(fastest)) = (self.objects_per_s, fastest)
            && self.object_bytes.is_some()
            && mean > fastest * 1.1 + 0.006
        {
            return Err(format!("the rate of its {title} is above that of its fastest second"));
        }
        if let (Some(size), Some(bytes), Some(objects)) =
            (self.object_bytes, self.bytes_per_s, self.objects_per_s)
        {
            // Both rates have two digits behind the point.
            let step = 0.006 * units::MIB + 0.006 * size;
            if (objects * size - bytes).abs() > 0.05 * bytes + step {
                return Err(format!("the rate of its {title} is not its objects of that size"));
            }
        }
        if let (Some(first), Some(all)) = (self.first_byte_ns, self.request_ns)
            && first > all * 1.05 + 1e6
        {
            return Err(format!("the first byte of its {title} comes after the last"));
        }
        Ok(self.said)
    }
}

#[cfg(test)]
mod tests;
