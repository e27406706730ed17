//! Figures against the counts that they are computed from.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Told;
use super::times::Took;

/// A row of the store's counts by the names of its columns, and how long its operations took.
struct Row<'a>(&'a Value, &'a Value, Option<Took>);

impl Row<'_> {
    fn held(&self, name: &str) -> &Value {
        let columns = self.0["columns"].as_array().expect("columns");
        let place = columns.iter().position(|column| column == name).expect(name);
        &self.1[place]
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.held(name).as_f64()
    }

    /// A column of JSON.
    fn json(&self, name: &str) -> Value {
        let text = self.held(name).as_str().unwrap_or("null");
        serde_json::from_str(text).expect("JSON")
    }
}

fn figure(of: &Value, name: &str) -> Option<f64> {
    of["figures"][name]["value"].as_f64()
}

fn has_note(trial: &Value, kinds: &[&str]) -> bool {
    let mut notes = trial["notes"].as_array().into_iter().flatten();
    notes.any(|note| kinds.iter().any(|kind| note["kind"] == *kind))
}

/// Whether two numbers are the same but for rounding.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}

/// Operations and bytes of an amount as the store has it.
fn sum(of: &Value, names: &[&str]) -> f64 {
    names.iter().filter_map(|name| of[*name].as_f64()).sum()
}

const OPS: &[&str] = &["read_ops", "write_ops", "metadata_ops"];
const BYTES: &[&str] = &["read_bytes", "write_bytes"];

/// Every trial that was done, and every cell.
pub fn hold(document: &Value, counts: &Value, took: &BTreeMap<u64, Took>, told: &mut Told) {
    let trials = document["trials"].as_array().expect("trials");
    let rows = counts["rows"].as_array().expect("rows");
    for trial in trials.iter().filter(|trial| trial["outcome"] == "done") {
        let number = trial["number"].as_u64().unwrap_or(0);
        let is_it = |row: &&Value| Row(counts, row, None).number("number") == Some(number as f64);
        let row = rows.iter().find(is_it).expect("the counts of every trial");
        told.done += 1;
        let found = of_trial(trial, &Row(counts, row, took.get(&number).copied()));
        let notes = || trial["notes"].as_array().into_iter().flatten();
        if figure(trial, "iops").or(figure(trial, "ops_per_s")).is_none() {
            for kind in notes().filter_map(|note| note["kind"].as_str()) {
                *told.without.entry(kind.to_owned()).or_default() += 1;
            }
        }
        let accused = notes().filter(|note| note["kind"] == "inconsistent");
        told.accused.extend(accused.filter_map(|note| note["text"].as_str()).map(str::to_owned));
        told.problems.extend(found.iter().map(|what| format!("trial {}: {what}", trial["number"])));
    }
    for cell in document["cells"].as_array().expect("cells") {
        told.problems.extend(of_cell(cell, trials));
    }
}

fn of_trial(trial: &Value, row: &Row<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    if has_note(trial, &["stopped", "inconsistent"]) {
        return problems;
    }
    problems.extend(rates(trial, row));
    problems.extend(fits(trial, row));
    problems.extend(order(trial));
    for (less, more) in [
        ("durable_throughput_bytes_per_s", "accepted_throughput_bytes_per_s"),
        ("durable_ops_per_s", "ops_per_s"),
    ] {
        let (less, more) = (figure(trial, less), figure(trial, more));
        if let Some((less, more)) = less.zip(more).filter(|(less, more)| *less > more * 1.002) {
            problems.push(format!("{less} is durable of {more}"));
        }
    }
    problems
}

/// The rates are of the window, or of the whole trial, and never more than latencies allow.
fn rates(trial: &Value, row: &Row<'_>) -> Vec<String> {
    let mut problems = Vec::new();
    let streams = row.json("streams");
    let streams = streams.as_array().cloned().unwrap_or_default();
    let ns = |stream: &Value, name: &str| stream[name].as_f64().unwrap_or(0.0);
    let started = streams.iter().map(|it| ns(it, "started_ns")).fold(f64::INFINITY, f64::min);
    let stopped = streams.iter().map(|it| ns(it, "stopped_ns")).fold(0.0, f64::max);
    let all = |names: &[&str]| streams.iter().map(|it| sum(&it["total"], names)).sum::<f64>();
    let window = |name: &str| row.number(&format!("window_{name}")).unwrap_or(0.0);
    let of_window = |names: &[&str]| names.iter().map(|name| window(name)).sum::<f64>();
    let seconds = (window("end_ns") - window("start_ns")) / 1e9;
    let name = if of_window(&["metadata_ops"]) > 0.0 { "ops_per_s" } else { "iops" };
    let Some(per_s) = figure(trial, name) else {
        let told = ["too-short", "no-common-time", "cut-short"];
        if all(OPS) > 0.0 && !has_note(trial, &told) {
            problems.push("no rate, and not a word of why".to_owned());
        }
        return problems;
    };
    let whole = (stopped - started) / 1e9;
    let of_whole = has_note(trial, &["few-operations"]);
    let (ops, bytes, length_s) = match of_whole {
        true => (all(OPS), all(BYTES), whole),
        false => (of_window(OPS), of_window(BYTES), seconds),
    };
    // A start that did not go like the rest may be a quarter of the window; latencies are of all.
    let rest = has_note(trial, &["start-left-out"]);
    let is_of = |per_s: f64, counted: f64| match rest {
        true => per_s * 0.75 * length_s <= counted * (1.0 + 1e-6),
        false => same(per_s, counted / length_s),
    };
    if !is_of(per_s, ops) {
        problems.push(format!("{name} is {per_s}, and {ops} in {length_s} s were counted"));
    }
    let throughput = figure(trial, "throughput_bytes_per_s").unwrap_or(bytes / length_s);
    if !is_of(throughput, bytes) {
        problems.push(format!("throughput is {throughput}, of {bytes} bytes in {length_s} s"));
    }
    let per_s = if rest { ops / length_s } else { per_s };
    if of_window(OPS) > all(OPS) {
        problems.push(format!("{} in the window of {} in all", of_window(OPS), all(OPS)));
    }
    let setting = |name: &str| trial["settings"][name].as_f64();
    let paced = setting("rate").is_some_and(|rate| rate > 0.0);
    if let Some(latency_ns) = figure(trial, "latency_ns_mean").filter(|_| !paced) {
        let in_flight = streams.len() as f64 * setting("queue-depth").unwrap_or(1.0);
        let little = per_s * latency_ns / 1e9;
        let told = has_note(trial, &["window-differs"]);
        if ops > 100.0 * in_flight && little > in_flight * 1.3 && !told {
            problems.push(format!("{little} in flight of {in_flight} (Little's law)"));
        }
        if !of_whole && ops < in_flight && little > in_flight * 1.1 {
            problems.push(format!("{little} in flight of {in_flight}, of {ops} operations"));
        }
        let half_ns = figure(trial, "latency_ns_p50").map_or(0.0, |p50| p50.min(latency_ns));
        if of_whole && per_s * half_ns / 1e9 > in_flight * 1.1 {
            problems.push(format!("{per_s} of {half_ns} ns are more than {in_flight} in flight"));
        }
    }
    problems
}

/// Each slot holds one operation at a time, from the start of its stream to its end; latencies are
/// of as many as were counted, but for those in flight when the window began and ended.
fn fits(trial: &Value, row: &Row<'_>) -> Vec<String> {
    let Some(took) = row.2.filter(|took| took.operations > 0.0) else { return Vec::new() };
    let mut problems = Vec::new();
    let setting = |name: &str| trial["settings"][name].as_f64();
    let streams = row.json("streams");
    let streams = streams.as_array().cloned().unwrap_or_default();
    let depth = setting("queue-depth").unwrap_or(1.0);
    let ran = |it: &Value| {
        it["stopped_ns"].as_f64().unwrap_or(0.0) - it["started_ns"].as_f64().unwrap_or(0.0)
    };
    let busy_s = depth * streams.iter().map(ran).sum::<f64>() / 1e9;
    let paced = setting("rate").is_some_and(|rate| rate > 0.0);
    // A histogram's bins are a thousandth wide.
    if !paced && took.seconds > busy_s * 1.005 {
        problems.push(format!("{took:?} do not fit in {busy_s} s"));
    }
    let counted: f64 = streams.iter().map(|it| sum(&it["total"], OPS)).sum();
    if took.operations > counted {
        problems.push(format!("{took:?} of {counted} operations"));
    }
    if let Some(mean) = figure(trial, "latency_ns_mean")
        && (mean * took.operations / 1e9 / took.seconds - 1.0).abs() > 0.005
    {
        problems.push(format!("a mean of {mean} ns of {took:?}"));
    }
    problems
}

/// Percentiles are in order.
fn order(trial: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    for kind in ["", "read_", "write_"] {
        let names = ["p50", "p90", "p99", "p999", "max"];
        let all = names
            .iter()
            .filter_map(|name| Some((*name, figure(trial, &format!("{kind}latency_ns_{name}"))?)));
        let all: Vec<(&str, f64)> = all.collect();
        for two in all.windows(2).filter(|two| two[0].1 > two[1].1) {
            problems.push(format!("{kind}{two:?} are out of order"));
        }
    }
    problems
}

/// A cell's figures are means of its trials', within their intervals.
fn of_cell(cell: &Value, trials: &[Value]) -> Vec<String> {
    let mut problems = Vec::new();
    let numbers = cell["trials"].as_array().cloned().unwrap_or_default();
    let own: Vec<&Value> =
        trials.iter().filter(|trial| numbers.contains(&trial["number"])).collect();
    for (name, estimate) in cell["figures"].as_object().into_iter().flatten() {
        // Of a trial that contradicts itself its rates are left out, and the rest stands.
        let rate = ["throughput_bytes_per_s", "iops", "ops_per_s"].contains(&name.as_str());
        let stands = |trial: &&&Value| !rate || !has_note(trial, &["inconsistent"]);
        let values = own.iter().filter(stands);
        let values: Vec<f64> = values.filter_map(|trial| figure(trial, name)).collect();
        let Some(value) = estimate["value"].as_f64().filter(|_| !values.is_empty()) else {
            continue;
        };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        let ends = estimate["low"].as_f64().zip(estimate["high"].as_f64());
        let (low, high) = ends.unwrap_or((value, value));
        let hair = 1e-9 * value.abs();
        if value < least - hair || value > most + hair || value < low - hair || value > high + hair
        {
            problems.push(format!("cell: {name} is {value}, of {values:?}, {low} to {high}"));
        }
    }
    problems
}
