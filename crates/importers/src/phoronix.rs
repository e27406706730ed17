//! (pure) The Phoronix Test Suite: its `composite.xml`, as it has been since version 3.
//!
//! A `Result` is of one test in one unit, an `Entry` in it of one system, and its `Value` is the
//! mean of what stands in `RawString`. What a unit means is the business of each test's profile
//! (`results-definition.xml`, of which the suite keeps copies in its `ob-cache`): `MB/s` is of 10^6
//! bytes of STREAM and of 2^20 of iozone. So the tests that are read are a list, see [`TESTS`].

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::{Document, Node, ParsingOptions};
use serde_json::{Map, Value as Json};

use experiment::measurement::Note;
use experiment::measurement::figure_names;

use super::{Form, Importer, ToolResult};

/// See [`Importer`].
pub const PHORONIX: Importer = Importer {
    name: "phoronix",
    about: "The composite.xml of a result of the Phoronix Test Suite",
    forms: &[Form {
        bring: "composite.xml",
        recorded: &["5.6.0", "10.8.4"],
        read: "of fio, iozone, dbench, IOR, hdparm, fs-mark, PostMark, SQLite, unpack-linux, \
               STREAM, mbw, sysbench's memory, pgbench, iperf, netperf and network-loopback each \
               mean, with the highest and the lowest of its runs",
        not_read: "all other tests, and rates of fio below 10 MB/s: both are left out with a note",
    }],
    words: &[
        "PhoronixTestSuite",
        "Phoronix Test Suite v",
        "TestClient",
        "RawString",
        "Proportion",
        "DisplayFormat",
        "AppVersion",
    ],
    mark: "root `<PhoronixTestSuite>`",
    parse,
    knows,
};

const BEGIN: &str = "<PhoronixTestSuite>";
const END: &str = "</PhoronixTestSuite>";

fn knows(text: &str) -> bool {
    text.contains(BEGIN) || text.contains(END)
}

/// How many elements and texts a document may have: far more than any result.
const NODES: u32 = 4_000_000;

/// One result for each entry of each document, in their order.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find(BEGIN) {
        let inner = rest.get(begin..).unwrap_or_default();
        let end = inner.find(END).map(|end| end + END.len());
        let one = end.and_then(|end| inner.get(..end));
        let one = one.filter(|one| !one.get(1..).is_some_and(|rest| rest.contains(BEGIN)));
        let one = one.ok_or_else(|| format!("it was cut short: it has no `{END}`"))?;
        all.extend(document(one)?);
        rest = inner.get(one.len()..).unwrap_or_default();
    }
    if rest.contains(END) {
        return Err(format!("it has no `{BEGIN}`, with which its XML begins"));
    }
    match all.is_empty() {
        true => Err("there is no result of the Phoronix Test Suite in it".to_owned()),
        false => Ok(all),
    }
}

/// What was read of one document of the Phoronix Test Suite.
#[derive(Default)]
struct PhoronixParser {
    version: String,
    all: Vec<ToolResult>,
    /// What is told of what is no figure: of which test in which unit, and how often.
    left_out: BTreeMap<String, usize>,
    failed: Vec<String>,
    /// Which entry of which result was read.
    known: BTreeSet<[String; 5]>,
}

fn document(text: &str) -> Result<Vec<ToolResult>, String> {
    let options = ParsingOptions { nodes_limit: NODES, ..ParsingOptions::default() };
    let tree = Document::parse_with_options(text, options)
        .map_err(|error| format!("its XML is broken: {error}"))?;
    let root = tree.root_element();
    let mut read = PhoronixParser::default();
    if let Some(generated) = children(root, "Generated").next() {
        let client = word(generated, "TestClient")?.unwrap_or_default();
        let version = client.strip_prefix("Phoronix Test Suite v").unwrap_or_default();
        version.split(' ').next().unwrap_or_default().clone_into(&mut read.version);
    }
    for result in children(root, "Result") {
        read.result(result)?;
    }
    read.end()
}

impl PhoronixParser {
    fn result(&mut self, result: Node<'_, '_>) -> Result<(), String> {
        let of = Test::of(result)?;
        let data = children(result, "Data");
        for entry in data.flat_map(|data| children(data, "Entry").collect::<Vec<_>>()) {
            let system = word(entry, "Identifier")?.unwrap_or_default();
            let value = word(entry, "Value")?;
            let value = value.ok_or_else(|| format!("an entry of {} has no value", of.called()))?;
            let raw = word(entry, "RawString")?.unwrap_or_default();
            if value.is_empty() {
                let json = word(entry, "JSON")?.unwrap_or_default();
                self.failed.push(of.failure(system, json));
                continue;
            }
            let known = [of.identifier, of.arguments, of.description, of.scale, system];
            let Some(unit) = of.unit()? else {
                *self.left_out.entry(of.in_unit()).or_default() += 1;
                continue;
            };
            if !self.known.insert(known.map(str::to_owned)) {
                let called = of.called();
                return Err(format!("{called} of the system {system} stands there twice"));
            }
            let runs = of.runs(value, raw)?;
            if of.test == "fio" && of.scale == "MB/s" && runs.lowest.0 < FIO_IS_SURE {
                let why = format!("{} below {FIO_IS_SURE}, which may be of KB", of.in_unit());
                *self.left_out.entry(why).or_default() += 1;
                continue;
            }
            self.all.push(of.said(&self.version, system, unit, &runs));
        }
        Ok(())
    }

    /// All results; what was left out is told with the first.
    fn end(mut self) -> Result<Vec<ToolResult>, String> {
        let many = |(of, many): (&String, &usize)| match many {
            1 => of.clone(),
            many => format!("{of} ({many} times)"),
        };
        let left_out: Vec<String> = self.left_out.iter().map(many).collect();
        let left_out = left_out.join(", ");
        let failed = self.failed.join("; ");
        if let Some(first) = self.all.first_mut() {
            if !left_out.is_empty() {
                let text = format!("what it has of other tests is left out: {left_out}");
                first.notes.push(Note::new("left-out", text));
            }
            if !failed.is_empty() {
                first.notes.push(Note::new("failed", failed));
            }
            return Ok(self.all);
        }
        Err(match (failed.is_empty(), left_out.is_empty()) {
            (false, true) => format!("no test in it gave a figure: {failed}"),
            (true, true) => "it has no result: bring the composite.xml of one".to_owned(),
            (_, false) => format!(
                "it has no figure of storage, memory or network that is read, only {left_out}"
            ),
        })
    }
}

/// Of which test a `Result` is.
struct Test<'a> {
    /// `pts/fio-2.1.0`; empty of what the suite counts of itself.
    identifier: &'a str,
    /// `fio`.
    test: &'a str,
    title: &'a str,
    app: &'a str,
    arguments: &'a str,
    description: &'a str,
    scale: &'a str,
    proportion: &'a str,
    format: &'a str,
}

impl<'a> Test<'a> {
    fn of(result: Node<'a, '_>) -> Result<Test<'a>, String> {
        let text = |name| word(result, name).map(Option::unwrap_or_default);
        let due = |name: &str| {
            word(result, name)?.ok_or_else(|| format!("a result of its has no `{name}`"))
        };
        let identifier = due("Identifier")?;
        let test = match identifier.rsplit_once('-') {
            None => "",
            Some((name, version)) => {
                let is_version = version.split('.').count() == 3
                    && version.split('.').all(|part| part.parse::<u32>().is_ok());
                if !is_version {
                    return Err(format!("its test {identifier} has no version of its profile"));
                }
                name.rsplit('/').next().unwrap_or(name)
            }
        };
        Ok(Test {
            identifier,
            test,
            title: text("Title")?,
            app: text("AppVersion")?,
            arguments: text("Arguments")?,
            description: text("Description")?,
            scale: due("Scale")?,
            proportion: due("Proportion")?,
            format: text("DisplayFormat")?,
        })
    }

    fn called(&self) -> String {
        let name = if self.identifier.is_empty() { self.title } else { self.identifier };
        match self.description {
            "" => name.to_owned(),
            description => format!("{name} ({description})"),
        }
    }

    fn in_unit(&self) -> String {
        let scale = if self.scale.is_empty() { "no unit" } else { self.scale };
        match self.identifier {
            "" => format!("{} in {scale}", self.description),
            identifier => format!("{identifier} in {scale}"),
        }
    }

    /// Why it has no value, in the suite's words where it has some.
    fn failure(&self, system: &str, json: &str) -> String {
        let json: Option<Json> = serde_json::from_str(json).ok();
        let why = json.as_ref().and_then(|json| json.get("error")).and_then(Json::as_str);
        let called = self.called();
        match why {
            Some(why) => format!("{called} of the system {system} failed: {why}"),
            None => format!("{called} of the system {system} has no value"),
        }
    }

    /// What its figure is called, and what makes our unit of it; `None` of what is not read.
    fn unit(&self) -> Result<Option<PhoronixUnit>, String> {
        let found = TESTS.iter().find(|it| it.0 == self.test && it.1 == self.scale);
        let Some(&(_, _, name, factor)) = found else { return Ok(None) };
        // A graph of lines has many values in one entry.
        if !["", "BAR_GRAPH", "HORIZONTAL_BOX_PLOT"].contains(&self.format) {
            return Ok(None);
        }
        let is_time = name == ELAPSED || name.contains("latency");
        if self.proportion != if is_time { "LIB" } else { "HIB" } {
            return Err(format!(
                "of {} in {} it says the wrong way which is better",
                self.called(),
                self.scale
            ));
        }
        // Until then its profile read what fio 2 printed.
        let version = self.identifier.rsplit('-').next().unwrap_or_default();
        let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
        let version = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let is_old = self.test == "fio" && version < (1, 11);
        Ok((!is_old).then_some(PhoronixUnit { name, factor }))
    }

    /// # Errors
    /// When a number is none, or their mean is not the value.
    fn runs(&self, value: &'a str, raw: &'a str) -> Result<Runs<'a>, String> {
        let of = |word: &'a str| {
            let number = word.parse::<f64>().ok().filter(|it| it.is_finite() && *it > 0.0);
            let number = number.ok_or_else(|| format!("`{word}` of {} is no rate", self.called()));
            number.map(|number| (number, word))
        };
        let mean = of(value)?;
        let raw: Vec<_> =
            raw.split(':').filter(|it| !it.is_empty()).map(of).collect::<Result<_, _>>()?;
        let sum: f64 = raw.iter().map(|(number, _)| number).sum();
        let decimals = value.split_once('.').map_or(0, |(_, behind)| behind.len());
        let step = 0.1f64.powi(i32::try_from(decimals).unwrap_or(9));
        if !raw.is_empty() && (sum / raw.len() as f64 - mean.0).abs() > 0.51 * step {
            return Err(format!("the value of {} is not the mean of its runs", self.called()));
        }
        let all = || raw.iter().copied();
        let lowest = all().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or(mean);
        let highest = all().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or(mean);
        Ok(Runs { mean, lowest, highest, many: raw.len() })
    }

    fn said(&self, version: &str, system: &str, unit: PhoronixUnit, runs: &Runs<'_>) -> ToolResult {
        let name = format!("{} {}", self.title, self.app);
        let title = match self.description {
            "" => format!("{} ({system})", name.trim()),
            description => format!("{}: {description} ({system})", name.trim()),
        };
        let version = version.to_owned();
        let settings = if self.test == "fio" { settings(self.description) } else { Map::new() };
        let mut said = ToolResult { version, title, settings, ..ToolResult::default() };
        let mut add = |name: String, (number, printed): (f64, &str)| {
            said.add(name, number * unit.factor, format!("{printed} {}", self.scale));
        };
        add(unit.name.to_owned(), runs.mean);
        if runs.many > 1 {
            add(format!("highest_{}", unit.name), runs.highest);
            add(format!("lowest_{}", unit.name), runs.lowest);
        }
        said
    }
}

/// The unit of a value, in our word for it, and how many of ours one of theirs is.
#[derive(Clone, Copy)]
struct PhoronixUnit {
    name: &'static str,
    factor: f64,
}

/// The mean of the runs of a test and its extremes, each as it was printed.
struct Runs<'a> {
    mean: (f64, &'a str),
    lowest: (f64, &'a str),
    highest: (f64, &'a str),
    many: usize,
}

const MEMORY: &str = "memory_throughput_bytes_per_s";
const ELAPSED: &str = "elapsed_s";
const MIB: f64 = 1_048_576.0;

/// fio's profile takes the number before `MiB/s` as it is and that before `KiB/s` by thousand, and
/// calls both MB/s. fio prints at most four digits, so that from here on it is MiB.
const FIO_IS_SURE: f64 = 10.0;

/// Which tests are read: the test, its unit, the name of the figure, and what makes our unit of it.
/// All from the `results-definition.xml` of its profile, and from what the tool means there.
const TESTS: [(&str, &str, &str, f64); 21] = [
    ("fio", "MB/s", figure_names::THROUGHPUT, MIB),
    ("fio", "IOPS", figure_names::IOPS, 1.0),
    // Its profile divides iozone's kB, which are of 1024 bytes, by 1024.
    ("iozone", "MB/s", figure_names::THROUGHPUT, MIB),
    ("dbench", "MB/s", figure_names::THROUGHPUT, 1e6),
    ("hdparm-read", "MB/s", figure_names::THROUGHPUT, MIB),
    ("ior", "MB/s", "write_throughput_bytes_per_s", MIB),
    ("fs-mark", "Files/s", "create_per_s", 1.0),
    ("postmark", "TPS", figure_names::TRANSACTIONS_PER_S, 1.0),
    ("sqlite", "Seconds", ELAPSED, 1.0),
    ("unpack-linux", "Seconds", ELAPSED, 1.0),
    ("stream", "MB/s", MEMORY, 1e6),
    ("mbw", "MiB/s", MEMORY, MIB),
    ("sysbench", "MiB/sec", MEMORY, MIB),
    ("pgbench", "TPS", figure_names::TRANSACTIONS_PER_S, 1.0),
    ("pgbench", "ms", figure_names::LATENCY_MEAN, 1e6),
    // A line of the sender's.
    ("iperf", "Mbits/sec", "sent_throughput_bytes_per_s", 125_000.0),
    ("netperf", "Megabits/sec Throughput", figure_names::THROUGHPUT, 125_000.0),
    ("netperf", "Megabits/sec", figure_names::THROUGHPUT, 125_000.0),
    ("netperf", "Transaction Rate Per Second", figure_names::TRANSACTIONS_PER_S, 1.0),
    ("network-loopback", "Seconds", ELAPSED, 1.0),
    ("network-loopback", "sec", ELAPSED, 1.0),
];

/// What fio was asked: `Type: Random Read - Engine: Linux AIO - Direct: Yes - Block Size: 4KB -
/// Job Count: 1 - Disk Target: Default Test Directory`.
fn settings(description: &str) -> Map<String, Json> {
    let mut known = Map::new();
    for part in description.split(" - ") {
        let Some((key, value)) = part.split_once(": ") else { continue };
        let told: Option<(&str, Json)> = match key {
            "Type" => access(value).map(|it| ("access", it.into())),
            "Direct" => ["No", "Yes"]
                .iter()
                .position(|it| *it == value)
                .map(|it| ("direct", (it == 1).into())),
            "Block Size" => bytes(value).map(|it| ("block-size", it.into())),
            "Job Count" => value.parse::<u64>().ok().map(|it| ("streams", it.into())),
            _ => None,
        };
        known.extend(told.map(|(knob, value)| (knob.to_owned(), value)));
    }
    known
}

fn access(value: &str) -> Option<&'static str> {
    match value {
        "Sequential Read" => Some("read"),
        "Sequential Write" => Some("write"),
        "Random Read" => Some("random-read"),
        "Random Write" => Some("random-write"),
        _ => None,
    }
}

/// `4KB`, which is `4k` of fio's and so of 1024 bytes.
fn bytes(value: &str) -> Option<u64> {
    let (number, shift) = match value.strip_suffix("KB") {
        Some(number) => (number, 10),
        None => (value.strip_suffix("MB")?, 20),
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn children<'a, 'b>(of: Node<'a, 'b>, name: &'static str) -> impl Iterator<Item = Node<'a, 'b>> {
    of.children().filter(move |child| child.has_tag_name(name))
}

/// The text of the one child of that name; `None` where there is no such child.
///
/// # Errors
/// When there are two.
fn word<'a>(of: Node<'a, '_>, name: &str) -> Result<Option<&'a str>, String> {
    let mut found = of.children().filter(|child| child.has_tag_name(name));
    let Some(child) = found.next() else { return Ok(None) };
    match found.next() {
        Some(_) => Err(format!("it has two `{name}` where one is due")),
        None => Ok(Some(child.text().unwrap_or_default().trim())),
    }
}

#[cfg(test)]
mod tests;
