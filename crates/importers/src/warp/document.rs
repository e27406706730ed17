//! (pure) The JSON of `warp analyze --json`: up to 1.0 it has `operations`, since 1.1 `by_op_type`.
//!
//! The rates of 1.1 are bytes and objects with the time they took, of which warp itself prints the
//! quotient (`BytesPS` in `pkg/aggregate/throughput.go`).

use experiment::measurement::Note;
use serde_json::Value as Json;

use crate::ToolResult;

/// Whether a text has a document of that kind, whole or not.
pub fn knows(text: &str) -> bool {
    text.contains("\"throughput_by_host\"") || text.contains("\"by_op_type\"")
}

/// One result for each kind of request of each document.
pub fn read(documents: &[Json]) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    for document in documents {
        if let Some(kinds) = document.get("by_op_type").and_then(Json::as_object) {
            for (kind, of) in kinds {
                all.push(newer(kind, of)?);
            }
            continue;
        }
        let Some(operations) = document.get("operations").and_then(Json::as_array) else {
            continue;
        };
        // Others have operations, too.
        let Some(is_mixed) = document.get("mixed").and_then(Json::as_bool) else { continue };
        let mut skipped = Vec::new();
        let mut some = Vec::new();
        for operation in operations {
            let kind = operation.get("type").and_then(Json::as_str);
            let kind = kind.ok_or("an operation of its JSON has no type")?;
            if operation.get("skipped").and_then(Json::as_bool) == Some(true) {
                skipped.push(kind);
                continue;
            }
            some.push(one(kind, operation, is_mixed)?);
        }
        if let Some(stats) = document.get("mixed_server_stats").filter(|it| it.is_object()) {
            let title = "all requests of a mix".to_owned();
            let mut said = ToolResult { title, ..ToolResult::default() };
            rates(&mut said, stats)?;
            some.push(said);
        }
        let text = format!("of {} it has too few samples for a rate", skipped.join(", "));
        match some.first_mut() {
            Some(first) if !skipped.is_empty() => first.notes.push(Note::new("left-out", text)),
            None if !skipped.is_empty() => return Err(text),
            _ => {}
        }
        all.append(&mut some);
    }
    Ok(all)
}

fn one(kind: &str, operation: &Json, is_mixed: bool) -> Result<ToolResult, String> {
    let of = if is_mixed { " of a mix" } else { "" };
    let concurrency = operation.get("concurrency").and_then(Json::as_u64);
    let many = concurrency.map(|many| format!(", concurrency {many}")).unwrap_or_default();
    let mut said = ToolResult { title: format!("{kind}{of}{many}"), ..ToolResult::default() };
    let throughput = operation.get("throughput").filter(|it| it.is_object());
    rates(&mut said, throughput.ok_or_else(|| format!("its {kind} has no throughput"))?)?;
    if let Some(errors) = operation.get("errors").and_then(Json::as_u64) {
        said.add("errors", errors as f64, errors.to_string());
    }
    if let Some(requests) = operation.get("single_sized_requests").filter(|it| it.is_object()) {
        times(&mut said, "latency_ns", requests, &REQUESTS)?;
        if let Some(first) = requests.get("first_byte").filter(|it| it.is_object()) {
            times(&mut said, "first_byte_latency_ns", first, &FIRST_BYTE)?;
        }
    } else if operation.get("multi_sized_requests").is_some_and(Json::is_object) {
        said.notes.push(Note::new("left-out", "what it has by size is left out"));
    }
    Ok(said)
}

/// Names in its JSON of times in ms, and what they are of.
const REQUESTS: [(&str, &str); 7] = [
    ("dur_avg_millis", "mean"),
    ("dur_median_millis", "p50"),
    ("dur_90_millis", "p90"),
    ("dur_99_millis", "p99"),
    ("fastest_millis", "min"),
    ("slowest_millis", "max"),
    ("std_dev_millis", "stddev"),
];
const FIRST_BYTE: [(&str, &str); 9] = [
    ("average_millis", "mean"),
    ("fastest_millis", "min"),
    ("p25_millis", "p25"),
    ("median_millis", "p50"),
    ("p75_millis", "p75"),
    ("p90_millis", "p90"),
    ("p99_millis", "p99"),
    ("slowest_millis", "max"),
    ("std_dev_millis", "stddev"),
];

fn times(
    said: &mut ToolResult,
    name: &str,
    of: &Json,
    keys: &[(&str, &str)],
) -> Result<(), String> {
    let of_key = |key: &str| of.get(key).and_then(Json::as_f64);
    let [low, high] = ["fastest_millis", "slowest_millis"].map(of_key);
    for (key, what) in keys {
        let Some(ms) = of_key(key) else { continue };
        let is_within = low.is_none_or(|low| ms >= low) && high.is_none_or(|high| ms <= high);
        if *what != "stddev" && !is_within {
            return Err(format!("its `{key}` is not between the fastest and the slowest"));
        }
        // What was rounded to nothing is not known.
        if ms > 0.0 {
            said.add(format!("{name}_{what}"), ms * 1e6, format!("{ms} ms"));
        }
    }
    Ok(())
}

/// Its average and the seconds, sorted by bytes where it has some.
fn rates(said: &mut ToolResult, throughput: &Json) -> Result<(), String> {
    let number = |of: &Json, key: &str| of.get(key).and_then(Json::as_f64);
    let missing = |key: &str| format!("its throughput has no `{key}`");
    let bytes = number(throughput, "average_bps").ok_or_else(|| missing("average_bps"))?;
    let objects = number(throughput, "average_ops").ok_or_else(|| missing("average_ops"))?;
    if bytes > 0.0 {
        said.add("throughput_bytes_per_s", bytes, format!("{bytes} bytes/s"));
    }
    said.add("objects_per_s", objects, format!("{objects} obj/s"));
    let Some(seconds) = throughput.get("segmented").filter(|it| it.is_object()) else {
        return Ok(());
    };
    self::seconds(said, seconds)
}

/// Rates of its fastest, median and slowest second.
fn seconds(said: &mut ToolResult, seconds: &Json) -> Result<(), String> {
    let mut falls = [true; 2];
    for (at, (unit, name, printed)) in
        [("bps", "throughput_bytes_per_s", "bytes/s"), ("ops", "objects_per_s", "obj/s")]
            .into_iter()
            .enumerate()
    {
        let mut last = f64::INFINITY;
        for what in ["fastest", "median", "slowest"] {
            let key = format!("{what}_{unit}");
            let rate = seconds.get(&key).and_then(Json::as_f64);
            let rate = rate.ok_or_else(|| format!("its throughput has no `{key}`"))?;
            if let Some(falls) = falls.get_mut(at) {
                *falls &= rate <= last;
            }
            last = rate;
            if rate > 0.0 || unit == "ops" {
                said.add(format!("{what}_{name}"), rate, format!("{rate} {printed}"));
            }
        }
    }
    match falls {
        [false, false] => Err("its seconds are not in order".to_owned()),
        _ => Ok(()),
    }
}

/// A kind of request, as it is since 1.1.
fn newer(kind: &str, of: &Json) -> Result<ToolResult, String> {
    let throughput = of.get("throughput").filter(|it| it.is_object());
    let throughput = throughput.ok_or_else(|| format!("its {kind} has no throughput"))?;
    let number = |key: &str| {
        let number = throughput.get(key).and_then(Json::as_f64);
        number.ok_or_else(|| format!("the throughput of its {kind} has no `{key}`"))
    };
    let (bytes, objects) = (number("bytes")?, number("objects")?);
    let ms = number("measure_duration_millis")?;
    let Some(seconds) = throughput.get("segmented").filter(|it| it.is_object()) else {
        return Err(format!("of {kind} it has too few samples for a rate"));
    };
    if ms <= 0.0 || objects <= 0.0 {
        return Err(format!("its {kind} took no time or moved nothing"));
    }
    let concurrency = of.get("concurrency").and_then(Json::as_u64);
    let many = concurrency.map(|many| format!(", concurrency {many}")).unwrap_or_default();
    let mut said = ToolResult { title: format!("{kind}{many}"), ..ToolResult::default() };
    for (name, moved, unit) in
        [("throughput_bytes_per_s", bytes, "bytes"), ("objects_per_s", objects, "objects")]
    {
        if moved > 0.0 {
            said.add(name, 1000.0 * moved / ms, format!("{moved} {unit} in {ms} ms"));
        }
    }
    self::seconds(&mut said, seconds)?;
    let fastest = seconds.get("fastest_ops").and_then(Json::as_f64).unwrap_or_default();
    if 1000.0 * objects / ms > fastest * 1.1 + 0.006 {
        return Err(format!("the rate of its {kind} is above that of its fastest second"));
    }
    if let Some(errors) = of.get("total_errors").and_then(Json::as_u64) {
        said.add("errors", errors as f64, errors.to_string());
    }
    let text = "its times stand there for each stretch by itself, and are left out: what `warp \
                analyze` prints has them";
    said.notes.push(Note::new("left-out", text));
    Ok(said)
}
