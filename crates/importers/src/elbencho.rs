//! (pure) elbencho: its results in JSON (of 3), its text and its CSV (of 1.3 to 3).
//!
//! Rates are those up to the moment at which the first thread was done, while all were running;
//! those up to the last stand beside them. Its text and its CSV have them in whole MiB/s, cut and
//! not rounded; where its JSON stands beneath the text of a phase, that is read instead. A run is
//! one result of its JSON; of its text and of its CSV each phase is.

use serde_json::{Map, Value as Json};

use super::{Form, Importer, ToolResult, json};

mod phase;
mod text;
mod csv;
#[cfg(test)]
mod tests;

/// See [`Importer`].
pub const ELBENCHO: Importer = Importer {
    name: "elbencho",
    about: "What elbencho prints, its CSV (--csvfile=FILE), or its JSON (--jsonfile=FILE)",
    forms: &[
        Form {
            bring: "--jsonfile=FILE",
            recorded: &["3.0", "3.1"],
            read: "rates, IOPS and latencies of each phase",
            not_read: "phases that mix reads and writes, and those of S3",
        },
        Form {
            bring: "all that it prints, or --resfile=FILE",
            recorded: &["1.6", "1.8", "2.0", "3.0", "3.1"],
            read: "rates of bytes, I/Os and entries of each phase, of mixed ones each way; \
                   latencies and percentiles",
            not_read: "histograms; phases of which it tells only how long they took; those that \
                       read or look within others (`WRITE+r`), of \
                       networks, of ACLs and of metadata of S3; the text of 1.0 to 1.2",
        },
        Form {
            bring: "--csvfile=FILE, with its line of columns",
            recorded: &["2.0", "3.0", "3.1"],
            read: "the same but for percentiles, with what was asked for",
            not_read: "the same; --livecsv",
        },
    ],
    words: &[
        "elbencho",
        "phase_type",
        "OPERATION",
        "FIRST DONE",
        "LAST DONE",
        "first_done",
        "last_done",
        "RWMIX",
        "time ms [first]",
        "Elapsed time",
    ],
    mark: "line `OPERATION RESULT TYPE FIRST DONE LAST DONE`, one that begins with \
           `{\"phase_type\":`, nor one with `time ms [first]`",
    parse,
    knows,
};

/// How a line of its JSON begins.
const BEGINS: &str = "{\"phase_type\":";

fn knows(text: &str) -> bool {
    text.contains(BEGINS) || text.lines().any(|line| text::knows(line) || csv::is_head(line))
}

/// Its results, in the order in which they stand there.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = documents(text)?;
    all.extend(text::parse(text, BEGINS)?);
    all.extend(csv::parse(text)?);
    all.sort_by_key(|(line, _)| *line);
    match all.is_empty() {
        true => Err("there is no result of elbencho in it".to_owned()),
        false => Ok(all.into_iter().map(|(_, said)| said).collect()),
    }
}

/// Phases in the order in which elbencho goes through them, with the options that ask for them and
/// what we call their rate of files or directories.
const PHASES: [(&str, char, &str, &str); 6] = [
    ("MKDIRS", 'd', "mkdirs", "mkdir"),
    ("WRITE", 'w', "write", "create"),
    ("STAT", '\0', "stat", "stat"),
    ("READ", 'r', "read", "open"),
    ("RMFILES", 'F', "delfiles", "unlink"),
    ("RMDIRS", 'D', "deldirs", "rmdir"),
];

/// One result a run: its phases, each of which prints a line. A run is whole when it has all that
/// its command line asks for. With each the number of its first line.
fn documents(text: &str) -> Result<Vec<(usize, ToolResult)>, String> {
    let mut all: Vec<(usize, ToolResult)> = Vec::new();
    let mut missing: Vec<&str> = Vec::new();
    let mut of = String::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let Some(start) = line.find(BEGINS) else { continue };
        let document = json::document(line[start..].trim_end())
            .map_err(|error| format!("a line of its JSON is broken: {error}"))?;
        if !line.ends_with('\n') {
            return Err("it was cut short in a line of its JSON".to_owned());
        }
        let phase = document["phase_type"].as_str().unwrap_or_default();
        if matches!(phase, "SYNC" | "DROPCACHE") {
            continue;
        }
        let row = PHASES.iter().find(|row| row.0 == phase);
        let (name, _, _, ours) = row.ok_or_else(|| {
            format!("its JSON has a phase `{phase}`, which is not read; bring its text or its CSV")
        })?;
        let command = told(&document, "command");
        if missing.is_empty() {
            command.clone_into(&mut of);
            missing = asked_for(command);
            if !missing.contains(name) {
                return Err(format!("its command line does not ask for its phase {phase}"));
            }
            all.push((number, ToolResult::default()));
        }
        // The same phase of the next run is none of this one.
        if missing.first() != Some(name) || command != of {
            return Err(cut(&missing));
        }
        missing.remove(0);
        if let Some((_, said)) = all.last_mut() {
            add(said, &document, ours)?;
        }
    }
    match missing.is_empty() {
        false => Err(cut(&missing)),
        true => Ok(all),
    }
}

fn cut(missing: &[&str]) -> String {
    format!("it was cut short: it has no {}", missing.join(", "))
}

/// The phases that a command line asks for, whose words are quoted.
fn asked_for(command: &str) -> Vec<&'static str> {
    let words: Vec<&str> = command.split('"').map(str::trim).collect();
    let named = |short: char, long: &str| {
        words.iter().any(|word| match word.strip_prefix("--") {
            Some(name) => name == long,
            None => word.strip_prefix('-').is_some_and(|letters| {
                // Letters that stand for themselves may be joined.
                letters.chars().all(|c| "dwrFD".contains(c)) && letters.contains(short)
            }),
        })
    };
    let asked = PHASES.iter().filter(|(_, short, long, _)| named(*short, long));
    asked.map(|(name, ..)| *name).collect()
}

/// What stands in its configuration, which up to 3.0-35 it had no object for.
fn told<'a>(document: &'a Json, key: &str) -> &'a str {
    document["config"][key].as_str().or(document[key].as_str()).unwrap_or_default()
}

/// Its numbers are strings; what is not there is none.
fn number(value: &Json) -> Result<Option<(f64, &str)>, String> {
    let Some(text) = value.as_str() else { return Ok(None) };
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    let number = number.ok_or_else(|| format!("`{text}` in its JSON is no number"))?;
    Ok(Some((number, text)))
}

fn add(said: &mut ToolResult, document: &Json, name: &str) -> Result<(), String> {
    said.version = told(document, "version").to_owned();
    let moves = document["last_done"]["bytes"].is_string();
    let way = if name == "open" { "read" } else { "write" };
    let mut rates = 0;
    for (which, part) in [("", "first_done"), ("last_done_", "last_done")] {
        let names: &[(&str, String, &str)] = match moves {
            true => &[
                ("bytes/s", format!("{which}{way}_throughput_bytes_per_s"), "bytes/s"),
                ("iops", format!("{which}{way}_iops"), "IOPS"),
            ],
            false => &[("entries/s", format!("{which}{name}_per_s"), "entries/s")],
        };
        for (key, figure, unit) in names {
            if let Some((value, text)) = number(&document[part][*key])? {
                said.add(figure.clone(), value, format!("{text} {unit}"));
                rates += 1;
            }
        }
    }
    if rates == 0 {
        return Err("a phase of it has no rate".to_owned());
    }
    let (kind, latency) = match moves {
        true => ("IO", format!("{way}_latency_ns")),
        false => ("entries", format!("{name}_latency_ns")),
    };
    let times = &document["last_done"]["latency"][kind];
    for (key, what) in [("avg_us", "mean"), ("min_us", "min"), ("max_us", "max")] {
        if let Some((value, text)) = number(&times[key])? {
            said.add(format!("{latency}_{what}"), value * 1000.0, format!("{text} us"));
        }
    }
    said.settings.extend(known(&document["config"]));
    Ok(())
}

/// Knobs as far as the configuration tells them.
fn known(config: &Json) -> Map<String, Json> {
    let text = |key: &str| config[key].as_str().unwrap_or_default();
    let whole = |key: &str| text(key).parse::<u64>().ok();
    let one = |key: &str| whole(key) == Some(1);
    let size = whole("file_size");
    let bytes = size.is_some_and(|size| size > 0);
    let mut known = Map::new();
    for (knob, key, tells) in [
        // Threads are those of each host, files those of each directory of a thread; where it is
        // given a file, all threads share that.
        ("streams", "threads", one("hosts")),
        ("files", "files", one("dirs")),
        ("file-size", "file_size", text("path_type") == "dir"),
        ("block-size", "block_size", bytes),
        ("queue-depth", "io_depth", bytes),
    ] {
        if let Some(value) = whole(key).filter(|_| tells) {
            known.insert(knob.to_owned(), value.into());
        }
    }
    let direct = match text("direct_io") {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    };
    if let Some(direct) = direct.filter(|_| bytes) {
        known.insert("direct".to_owned(), direct.into());
    }
    known
}
