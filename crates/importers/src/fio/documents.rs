//! (pure) What fio prints as JSON, of every version: documents with warnings before, between and
//! after them.

use serde_json::Value as Json;

use super::printed::{Printed, moment};
use super::{MIXED, bins, entries, failed, no_io, options, percentile_of, snapshots};
use crate::{ToolResult, json};
use entries::FioEntry;
use experiment::measurement::Note;

/// Every document of fio's has it.
const MARK: &str = "fio version";

/// Whether a text has documents of fio's, whole or not.
pub fn knows(text: &str) -> bool {
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    has(MARK) || has("jobname") && has("groupid")
}

/// Whether a document is one of them, though it may have lost its version.
fn is_fios(document: &Json) -> bool {
    let lists = ["jobs", "client_stats"].map(|key| document.get(key).and_then(Json::as_array));
    let mut jobs = lists.into_iter().flatten().flatten();
    document.get(MARK).is_some() || jobs.any(|job| job.get("groupid").is_some())
}

/// The results of every document.
///
/// # Errors
/// When one of them is not whole, or a job of it failed.
pub fn parse(text: &str) -> Result<Vec<Printed>, String> {
    let mut all = Vec::new();
    let documents: Vec<Json> = json::documents(text)?.into_iter().filter(is_fios).collect();
    for document in snapshots::last_of_each_run(documents) {
        all.extend(results(&document)?);
    }
    match all.is_empty() {
        true => Err(WRAPPED.to_owned()),
        false => Ok(all),
    }
}

const WRAPPED: &str = "there is no JSON document of fio's in it that stands by itself; take it out \
                       of what is around it, as with `jq .NAME FILE`";

fn results(document: &Json) -> Result<Vec<Printed>, String> {
    let version = document.get(MARK).and_then(Json::as_str);
    let version = version.ok_or("its JSON does not say of which `fio version` it is")?;
    let version = version.strip_prefix("fio-").unwrap_or(version);
    // One of several machines was begun when they were asked.
    let told = document.get("time").filter(|_| document.get("jobs").is_some());
    let at = told.and_then(Json::as_str).and_then(moment);
    let (mut all, mut idle) = (Vec::new(), Vec::new());
    for entry in entries::find_entries(document)? {
        match result(version, &entry)? {
            Some(said) => {
                let group = entry.job.get("groupid").and_then(Json::as_u64);
                let name = entry.job.get("jobname").and_then(Json::as_str);
                let name = name.ok_or("one of its jobs has no `jobname`")?;
                all.push(Printed { name: name.to_owned(), group, at, said });
            }
            None => idle.push(no_io(&entry.title)),
        }
    }
    match (all.first_mut(), idle.is_empty()) {
        (Some(first), _) => {
            first.said.notes.extend(idle.into_iter().map(|text| Note::new("no-io", text)));
        }
        (None, false) => return Err(idle.swap_remove(0)),
        (None, true) => {}
    }
    Ok(all)
}

/// What an entry says; nothing of one that did nothing.
fn result(version: &str, entry: &FioEntry<'_>) -> Result<Option<ToolResult>, String> {
    let (job, title) = (entry.job, entry.title.clone());
    match job.get("error").and_then(Json::as_i64) {
        Some(0) => {}
        Some(number) => return Err(failed(&title, number)),
        None => return Err(format!("its job {title} does not say whether it failed")),
    }
    let settings = options::settings_of(&entry.options, entry.each);
    let mut said =
        ToolResult { version: version.to_owned(), title, settings, ..ToolResult::default() };
    let mut ways = Vec::new();
    for way in ["read", "write", "trim", MIXED] {
        let Some(of) = job.get(way) else { continue };
        if did(of, is_old(version)).map_err(|why| format!("its job {} {why} {way}", said.title))? {
            ways.push(way);
        }
    }
    if ways.is_empty() {
        return Ok(None);
    }
    for way in &ways {
        let alone = ways.len() == 1 && matches!(*way, "read" | "write");
        let before = if alone { String::new() } else { format!("{way}_") };
        let of = &job[*way];
        rates(&mut said, &before, of, is_old(version));
        for (name, keys) in LATENCIES {
            latency(&mut said, &format!("{before}{name}"), of, keys)?;
        }
    }
    if let Some(sync) = job.get("sync") {
        latency(&mut said, super::SYNC, sync, LATENCIES[0].1)?;
    }
    for (name, key) in [("user_cpu_share", "usr_cpu"), ("system_cpu_share", "sys_cpu")] {
        if let Some(percent) = job.get(key).and_then(Json::as_f64) {
            said.add(name, percent / 100.0, format!("{percent} %"));
        }
    }
    said.notes.extend(job.get("steadystate").and_then(steady));
    Ok(Some(said))
}

/// What fio itself says of the steady state.
fn steady(of: &Json) -> Option<Note> {
    let criterion = of.get("ss")?.as_str()?;
    let words = match of.get("attained")?.as_u64()? {
        0 => "did not attain",
        _ => "attained",
    };
    Some(Note::new(
        "steady-state",
        format!("fio {words} the steady state it was asked for: {criterion}"),
    ))
}

/// Whether a version is before 3.2, the first that tells its rates in bytes (`bw_bytes`).
fn is_old(version: &str) -> bool {
    let mut numbers = version.split(['.', '-']).map(|number| number.parse::<u32>().ok());
    let mut number = || numbers.next().flatten();
    number().zip(number()).is_some_and(|version| version < (3, 2))
}

/// Whether a direction did any I/O. fio 2.1 did not count them: there one without bytes and without
/// a rate did nothing, and one that has only one of them is not believed.
///
/// # Errors
/// Where that is not told, or told in two ways: one that lost its count is no one that did nothing,
/// and the others would stand alone.
fn did(of: &Json, old: bool) -> Result<bool, &'static str> {
    const NOT_TOLD: &str = "does not say how often it did";
    let number = |key: &str| of.get(key).and_then(Json::as_f64);
    let moved = ["io_bytes", "iops"].iter().any(|key| number(key).is_some_and(|it| it > 0.0));
    match of.get("total_ios") {
        Some(count) => match count.as_u64().ok_or(NOT_TOLD)? {
            0 if moved => Err("completed no I/O, and says how fast it did"),
            0 => Ok(false),
            _ if moved => Ok(true),
            _ => Err("moved nothing with the I/Os that it counts of"),
        },
        None if old => {
            let [bytes, rate, iops] =
                ["io_bytes", "bw", "iops"].map(|key| number(key).map(|it| it > 0.0));
            match (bytes, rate, iops) {
                (None, _, _) | (_, None, _) | (_, _, None) => Err(NOT_TOLD),
                (Some(true), Some(true), _) => Ok(true),
                (Some(false), Some(false), Some(false)) => Ok(false),
                _ => Err("does not say with one voice whether it did"),
            }
        }
        None => Err(NOT_TOLD),
    }
}

/// A key, how much one of it is in our unit, and how its unit is written.
type Key = (&'static str, f64, &'static str);

/// The first that is there.
fn first(of: &Json, keys: [Key; 2]) -> Option<(&Json, f64, &'static str)> {
    keys.into_iter().find_map(|(key, factor, unit)| Some((of.get(key)?, factor, unit)))
}

/// How fast a direction was. Keys tell the unit, of whatever version: `bw` is in KiB/s, and of an
/// old one all that there is.
fn rates(said: &mut ToolResult, before: &str, of: &Json, old: bool) {
    const RATES: [Key; 2] = [("bw_bytes", 1.0, "B/s"), ("bw", 1024.0, "KiB/s")];
    // A newer one that lost its bytes is not to be told in rounded ones.
    let rate = first(of, RATES).filter(|(_, factor, _)| old || *factor == 1.0);
    let iops = of.get("iops").map(|iops| (iops, 1.0, "IOPS"));
    for (name, told) in [("throughput_bytes_per_s", rate), ("iops", iops)] {
        if let Some((rate, factor, unit)) = told
            && let Some(value) = rate.as_f64()
        {
            said.add(format!("{before}{name}"), value * factor, format!("{value} {unit}"));
        }
    }
}

/// What fio measures of each direction: `lat` is in us and `lat_ns` in ns.
const LATENCIES: [(&str, [Key; 2]); 3] = [
    ("latency_ns", [("lat_ns", 1.0, "ns"), ("lat", 1000.0, "us")]),
    ("completion_latency_ns", [("clat_ns", 1.0, "ns"), ("clat", 1000.0, "us")]),
    ("submission_latency_ns", [("slat_ns", 1.0, "ns"), ("slat", 1000.0, "us")]),
];

/// One latency, unless it was not measured.
fn latency(said: &mut ToolResult, name: &str, of: &Json, keys: [Key; 2]) -> Result<(), String> {
    let Some((latency, factor, unit)) = first(of, keys) else { return Ok(()) };
    let number = |key: &str| latency.get(key).and_then(Json::as_f64);
    let is_told = ["mean", "max"].iter().any(|key| number(key) > Some(0.0));
    match number("N") {
        Some(0.0) if is_told => {
            return Err(format!("its {name} was never counted, and has a mean"));
        }
        Some(0.0) => return Ok(()),
        _ => {}
    }
    let mut add = |what: &str, value: Option<&Json>| {
        // What was not measured is told as 0, and so is what was too short for the unit.
        if let Some(value) = value.and_then(Json::as_f64).filter(|value| *value > 0.0) {
            said.add(format!("{name}_{what}"), value * factor, format!("{value} {unit}"));
        }
    };
    add("mean", latency.get("mean"));
    add("max", latency.get("max"));
    let percentiles = latency.get("percentile").and_then(Json::as_object);
    for (key, value) in percentiles.into_iter().flatten() {
        if let Some(what) = key.parse().ok().and_then(percentile_of) {
            add(what, Some(value));
        }
    }
    said.histograms.extend(bins::histogram(latency, factor as u64, name.to_owned())?);
    Ok(())
}
