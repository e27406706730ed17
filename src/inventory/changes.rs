//! (pure) What differs between two inventories of a machine, part by part.

use serde_json::Value;

/// What changes by itself, or with where one measures: no part was exchanged.
const IDLE: [&str; 4] = ["memory_available_bytes", "available_bytes", "number", "ceiling"];

/// Every difference, one a line: `machine memory_total_bytes: 536870912, was 8589934592`.
pub fn changes(before: &Value, now: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    compare("", before, now, &mut lines);
    lines
}

fn compare(at: &str, before: &Value, now: &Value, lines: &mut Vec<String>) {
    match (before, now) {
        (Value::Object(old), Value::Object(new)) => {
            let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
            for key in keys.filter(|key| !IDLE.contains(&key.as_str())) {
                let of = |of: &serde_json::Map<String, Value>| of.get(key).cloned();
                let (old, new) = (of(old).unwrap_or_default(), of(new).unwrap_or_default());
                compare(&below(at, key), &old, &new, lines);
            }
        }
        (Value::Array(old), Value::Array(new)) if named(old) && named(new) => {
            let missing = |of: &[Value], name: &Value| !of.iter().any(|one| one["name"] == *name);
            for one in old.iter().filter(|one| missing(new, &one["name"])) {
                lines.push(format!("{}: gone", below(at, &said(&one["name"]))));
            }
            for one in new {
                let place = below(at, &said(&one["name"]));
                match old.iter().find(|other| other["name"] == one["name"]) {
                    Some(other) => compare(&place, other, one, lines),
                    None => lines.push(format!("{place}: new")),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (number, (old, new)) in old.iter().zip(new).enumerate() {
                let place =
                    if old.is_object() { below(at, &number.to_string()) } else { at.into() };
                compare(&place, old, new, lines);
            }
        }
        (old, new) if old == new => {}
        (old, new) => lines.push(format!("{at}: {}, was {}", said(new), said(old))),
    }
}

fn below(at: &str, key: &str) -> String {
    if at.is_empty() { key.to_owned() } else { format!("{at} {key}") }
}

/// Whether these are parts that have names.
fn named(parts: &[Value]) -> bool {
    !parts.is_empty() && parts.iter().all(|part| part["name"].is_string())
}

fn said(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_exchanged_is_named_and_what_moves_by_itself_is_not() {
        let part = |name: &str, model: &str| json!({ "name": name, "model": model });
        let before = json!({
            "machine": { "memory_total_bytes": 1024, "memory_available_bytes": 7, "vendor": null },
            "targets": [{ "devices": [part("sda", "A"), part("sdb", "A")], "on": ["sda"] }],
        });
        let now = json!({
            "machine": { "memory_total_bytes": 512, "memory_available_bytes": 9, "vendor": "X" },
            "targets": [{ "devices": [part("sdb", "B"), part("sdc", "A")], "on": ["sdc"] }],
        });
        assert_eq!(changes(&before, &before), [""; 0]);
        assert_eq!(
            changes(&before, &now),
            [
                "machine memory_total_bytes: 512, was 1024",
                "machine vendor: X, was nothing",
                "targets 0 devices sda: gone",
                "targets 0 devices sdb model: B, was A",
                "targets 0 devices sdc: new",
                "targets 0 on: sdc, was sda",
            ]
        );
        assert_eq!(changes(&json!(null), &json!(1)), [": 1, was nothing"]);
    }
}
