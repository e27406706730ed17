//! (pure) The inventory of a server as nested lists, with the units that its keys name.

use maud::{Markup, html};

use base::value::{self, Value};

/// Objects and arrays nested deeper than this are printed as JSON.
const DEPTH_MAX: usize = 6;

/// The inventory, whatever its shape; without the whole server and its memory, which are drawn.
pub fn inventory(json: &serde_json::Value) -> Markup {
    let mut json = json.clone();
    if let Some(parts) = json.as_object_mut() {
        parts.retain(|name, _| !["server", "bandwidth"].contains(&name.as_str()));
    }
    html! { div.inventory { (nested("", &json, 0)) } }
}

fn nested(key: &str, json: &serde_json::Value, depth: usize) -> Markup {
    use serde_json::Value::{Array, Bool, Null, Number, Object, String};
    match json {
        Object(_) | Array(_) if depth >= DEPTH_MAX => html! { code { (json.to_string()) } },
        Object(object) => html! {
            dl { @for (name, held) in object.iter().filter(|(_, held)| told(held)) {
                div { dt { (title(name)) } dd { (nested(name, held, depth + 1)) } }
            } }
        },
        // Of one alone, no number is needed.
        Array(items) if items.len() == 1 => nested(key, &items[0], depth + 1),
        Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => html! {
            ol { @for item in items { li { (nested(key, item, depth + 1)) } } }
        },
        Array(items) => html! {
            @for (place, item) in items.iter().enumerate() {
                @if place > 0 { ", " } (nested(key, item, depth + 1))
            }
        },
        String(text) => html! { (text) },
        Bool(yes) => html! { (if *yes { "yes" } else { "no" }) },
        Null => html! { "not known" },
        Number(number) => html! { (measured(key, number)) },
    }
}

/// Whether there is anything to say: not so of what is empty or not known.
fn told(json: &serde_json::Value) -> bool {
    use serde_json::Value::{Array, Null, Object, String};
    match json {
        Null => false,
        Array(items) => !items.is_empty(),
        Object(object) => !object.is_empty(),
        String(text) => !text.is_empty(),
        _ => true,
    }
}

/// A key without its unit, which the value carries.
fn title(key: &str) -> String {
    let units = ["_bytes_per_s", "_bytes", "_kib", "_ns", "_ms"];
    let bare = units.iter().find_map(|unit| key.strip_suffix(unit)).unwrap_or(key);
    bare.replace(['_', '-'], " ")
}

fn measured(key: &str, number: &serde_json::Number) -> String {
    let Some(float) = number.as_f64() else { return number.to_string() };
    match () {
        () if key.ends_with("bytes_per_s") => value::throughput(float),
        () if key.ends_with("bytes") => size(float),
        () if key.ends_with("_kib") => size(float * 1024.0),
        () if key.ends_with("_ns") => value::duration(float),
        () if key.ends_with("_ms") => value::duration(float * 1e6),
        () => number.to_string(),
    }
}

/// A size in the largest unit of which it is a round number of at most four digits, else with
/// three digits.
fn size(bytes: f64) -> String {
    let exact = value::setting(&Value::Bytes(bytes as u64));
    let short = exact.split(' ').next().is_some_and(|number| number.len() <= 4);
    if short { exact } else { value::bytes(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inventory_has_units_and_no_empty_lines() {
        let json = serde_json::json!({
            "read_ahead_kib": 8192, "size_bytes": 4096, "below": [], "label": "",
            "available_bytes": 70_000_000_000_u64, "disks": [{"logical_block_bytes": 512}],
        });
        let told = inventory(&json).into_string();
        for line in [
            "<dt>read ahead</dt><dd>8 MiB</dd>",
            "<dt>size</dt><dd>4 KiB</dd>",
            "<dt>available</dt><dd>65.2 GiB</dd>",
            "<dt>logical block</dt><dd>512 B</dd>",
        ] {
            assert!(told.contains(line), "{line}: {told}");
        }
        assert!(!told.contains("below") && !told.contains("label") && !told.contains("<ol>"));
    }
}
