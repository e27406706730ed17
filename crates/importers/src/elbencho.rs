//! (pure) elbencho 3: its results in JSON.
//!
//! Rates are those up to the moment at which the first thread was done, while all were running;
//! those up to the last stand beside them. Times are in us.

use serde_json::{Map, Value as Json};

use super::{Form, Importer, Said, json};

/// See [`Importer`].
pub const ELBENCHO: Importer = Importer {
    name: "elbencho",
    about: "The JSON of elbencho 3 (--jsonfile=FILE)",
    forms: &[Form {
        bring: "--jsonfile=FILE",
        recorded: &["3.1"],
        read: "rates, IOPS and latencies of each phase",
        not_read: "",
    }],
    words: &[
        "elbencho",
        "phase_type",
        "OPERATION",
        "FIRST DONE",
        "LAST DONE",
        "first_done",
        "last_done",
        "RWMIX",
    ],
    mark: "line that begins with `{\"phase_type\":`",
    parse,
    knows,
};

/// How a line of its JSON begins.
const BEGINS: &str = "{\"phase_type\":";

fn knows(text: &str) -> bool {
    text.contains(BEGINS)
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
/// its command line asks for.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut all: Vec<Said> = Vec::new();
    let mut missing: Vec<&str> = Vec::new();
    for line in text.split_inclusive('\n') {
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
        let (name, _, _, ours) = row.ok_or_else(|| format!("it has a phase `{phase}`"))?;
        if missing.is_empty() {
            missing = asked_for(document["config"]["command"].as_str().unwrap_or_default());
            if !missing.contains(name) {
                return Err(format!("its command line does not ask for its phase {phase}"));
            }
            all.push(Said::default());
        }
        if missing.first() != Some(name) {
            return Err(cut(&missing));
        }
        missing.remove(0);
        if let Some(said) = all.last_mut() {
            add(said, &document, ours)?;
        }
    }
    match (missing.is_empty(), all.is_empty()) {
        (false, _) => Err(cut(&missing)),
        (true, true) => Err("there is no result of elbencho in it".to_owned()),
        (true, false) => Ok(all),
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

/// Its numbers are strings; what is not there is none.
fn number(value: &Json) -> Result<Option<(f64, &str)>, String> {
    let Some(text) = value.as_str() else { return Ok(None) };
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    let number = number.ok_or_else(|| format!("`{text}` in its JSON is no number"))?;
    Ok(Some((number, text)))
}

fn add(said: &mut Said, document: &Json, name: &str) -> Result<(), String> {
    let config = &document["config"];
    said.version = config["version"].as_str().unwrap_or_default().to_owned();
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
    said.settings.extend(known(config));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::figure;

    const WRITE: &str = include_str!("../../../tests/fixtures/tools/elbencho-3.1-write.txt");
    const READ: &str = include_str!("../../../tests/fixtures/tools/elbencho-3.1-random-read.txt");
    const NAMES: &str = include_str!("../../../tests/fixtures/tools/elbencho-3.1-names.txt");
    const REFUSED: &str = include_str!("../../../tests/fixtures/tools/elbencho-3.1-refused.txt");

    #[test]
    fn bytes_are_read_with_the_latency_of_an_io_and_what_the_last_thread_made_of_it() {
        let said = &parse(WRITE).unwrap()[0];
        for (name, value) in [
            ("write_throughput_bytes_per_s", 1_280_511_116.0),
            ("write_iops", 1221.0),
            ("last_done_write_throughput_bytes_per_s", 1_280_410_287.0),
            ("write_latency_ns_mean", 1_604_000.0),
            ("write_latency_ns_max", 2_934_000.0),
        ] {
            assert_eq!(figure(said, name), Some(value), "{name}");
        }
        assert_eq!(said.version, "3.1-10");
        assert_eq!(said.figures[0].printed, "1280511116 bytes/s");
        let said = &parse(READ).unwrap()[0];
        assert_eq!(figure(said, "read_iops"), Some(52_551.0));
        assert_eq!(figure(said, "read_latency_ns_min"), Some(78_000.0));
        let known = serde_json::json!({
            "streams": 2, "files": 2, "file-size": 16 << 20, "block-size": 4096,
            "queue-depth": 8, "direct": true,
        });
        assert_eq!(Json::Object(said.settings.clone()), known);
    }

    #[test]
    fn names_are_read_phase_by_phase() {
        let said = &parse(NAMES).unwrap()[0];
        for (name, value) in [
            ("create_per_s", 3667.0),
            ("last_done_create_per_s", 3679.0),
            ("stat_per_s", 876_501.0),
            ("open_per_s", 482_373.0),
            ("unlink_per_s", 181_229.0),
            ("unlink_latency_ns_max", 1_296_000.0),
        ] {
            assert_eq!(figure(said, name), Some(value), "{name}");
        }
        assert!(!said.settings.contains_key("block-size"), "{:?}", said.settings);
        assert_eq!(parse(&format!("{NAMES}{WRITE}")).unwrap().len(), 2);
    }

    #[test]
    fn a_run_without_a_phase_that_was_asked_for_is_no_result() {
        assert!(knows(REFUSED) && REFUSED.contains("ERROR: File open failed"));
        assert!(parse(REFUSED).unwrap_err().contains("cut short: it has no READ"));
        let unlink = NAMES.find("RMFILES").unwrap();
        assert!(parse(&NAMES[..unlink]).unwrap_err().contains("it has no RMFILES"));
        assert!(
            parse(&NAMES.replace("\"-r\\\"", "\"-x\\\""))
                .unwrap_err()
                .contains("it has no RMFILES")
        );
        assert!(parse(&WRITE.replace("1280511116", "lots")).unwrap_err().contains("no number"));
        assert!(parse(&WRITE.replace("\"-w\\\"", "\"-c\\\"")).unwrap_err().contains("ask for"));
    }
}
