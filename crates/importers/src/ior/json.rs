//! (pure) IOR's JSON, of 3.3 and later (`-O summaryFormat=JSON`): its `summary`, a row for each
//! test and way.
//!
//! What IOR prints for people meanwhile, on the same screen, stands between the lines of it.

use serde_json::Value as Json;

use super::summary::{IorNumber, IorRates, IorRow, Shape, Tests, check_repetitions};
use crate::{ToolResult, json};

/// Its rates have four digits behind the point.
const DIGIT: f64 = 0.0001;

/// Whether a text has parts of it.
pub fn knows(text: &str) -> bool {
    let words = ["\"bwMaxMIB\"", "\"xsizeMiB\"", "\"bwMiB\"", "\"clients per node\""];
    words.iter().any(|word| text.contains(word))
        || (text.contains("\"Command line\"") && text.contains("\"Machine\""))
}

/// What IOR says while it prints JSON.
const BETWEEN: [&str; 6] = [
    "WARNING: ",
    "INFO: ",
    "ior WARNING: ",
    "stonewalling pairs accessed",
    "Pairs deadlineForStonewallingaccessed",
    "Using actual aggregate bytes moved",
];

/// One result a test of each document.
///
/// # Errors
/// When a document was cut short, is broken, or contradicts itself.
pub fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let is_json = |line: &&str| !BETWEEN.iter().any(|words| line.starts_with(words));
    let text: String = text.split_inclusive('\n').filter(is_json).collect();
    let mut all = Vec::new();
    for document in json::documents(&text)? {
        if document.get("Command line").is_some() || document.get("summary").is_some() {
            all.extend(run(&document)?);
        }
    }
    match all.is_empty() {
        true => Err("there is no JSON document of IOR's in it".to_owned()),
        false => Ok(all),
    }
}

fn run(document: &Json) -> Result<Vec<ToolResult>, String> {
    if document.get("Finished").is_none() {
        return Err("its JSON does not say that it finished".to_owned());
    }
    let version = document["Version"].as_str().unwrap_or_default();
    let nothing = Vec::new();
    let begun = document["tests"].as_array().unwrap_or(&nothing);
    let summary = document["summary"].as_array().ok_or("its JSON has no `summary`")?;
    let mut tests = Tests::default();
    for told in summary {
        let row = row(told)?;
        let test = usize::try_from(row.test).ok().and_then(|at| begun.get(at));
        if let Some(test) = test {
            let mut rates = Vec::new();
            repetitions(&test["Results"], row.way, &mut rates);
            check_repetitions(&row, &rates, 2.0 * DIGIT)?;
        }
        tests.add(version, &row)?;
    }
    tests.finished(begun.len())
}

fn row(told: &Json) -> Result<IorRow, String> {
    let way = match told["operation"].as_str() {
        Some("write") => "write",
        Some("read") => "read",
        _ => return Err(format!("{} is no operation of its summary", told["operation"])),
    };
    let number = |name: &str| match told[name].as_f64() {
        Some(value) => Ok(IorNumber { value, printed: told[name].to_string() }),
        None => Err(format!("the `{name}` of its summary is {}", told[name])),
    };
    let rates = |max: &str, min: &str, mean: &str| -> Result<IorRates, String> {
        Ok(IorRates { max: number(max)?, min: number(min)?, mean: number(mean)? })
    };
    let whole = |name: &str| told[name].as_u64();
    Ok(IorRow {
        way,
        test: whole("TestID").ok_or_else(|| format!("{} is no test of its", told["TestID"]))?,
        mib: rates("bwMaxMIB", "bwMinMIB", "bwMeanMIB")?,
        ops: Some(rates("OPsMax", "OPsMin", "OPsMean")?),
        shape: Shape {
            tasks: whole("numTasks"),
            repetitions: whole("repetitions"),
            own_files: whole("filePerProc") == Some(1),
            segments: whole("segmentCount"),
            block: whole("blockSize"),
            transfer: whole("transferSize"),
        },
        moved: told["xsizeMiB"].as_f64().map(|moved| (moved, DIGIT)),
        digit: DIGIT,
        ops_of_segment: false,
    })
}

/// The rates of the repetitions, which stand in one list or in one of each repetition.
fn repetitions(results: &Json, way: &str, rates: &mut Vec<f64>) {
    for one in results.as_array().into_iter().flatten() {
        if one["access"] == *way {
            rates.extend(one["bwMiB"].as_f64());
        } else if one.is_array() {
            repetitions(one, way, rates);
        }
    }
}
