//! smartctl's text as its JSON (ataprint.cpp, scsiprint.cpp, nvmeprint.cpp).

use serde_json::{Map, Value, json};

use super::{attribute, lines, number};

/// The document.
///
/// # Errors
/// When an attribute is told twice, with two values.
pub fn document(text: &str) -> Result<Value, String> {
    let mut found = Map::new();
    let mut attributes: Vec<(u64, String)> = Vec::new();
    for line in lines::whole(text) {
        if let Some((id, raw)) = row(line) {
            match attributes.iter().find(|(known, _)| *known == id) {
                Some((_, other)) if *other != raw => {
                    return Err(format!("attribute {id} is {raw:?} here and {other:?} elsewhere"));
                }
                Some(_) => {}
                None => attributes.push((id, raw)),
            }
            continue;
        }
        if let Some((which, errors)) = errors(line) {
            let log = entry(&mut found, "scsi_error_counter_log");
            log.insert(which.to_owned(), json!({"total_uncorrected_errors": errors}));
            continue;
        }
        let Some((key, value)) = lines::pair(line, ":") else { continue };
        if value.is_empty() {
            continue;
        }
        pair(key, value, &mut found);
    }
    if line_with(text, "STANDBY").is_some() {
        found.insert("smartctl".into(), json!({"messages": [{"string": "the drive slept"}]}));
    }
    from_attributes(&attributes, &mut found);
    Ok(Value::Object(found))
}

fn line_with<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.lines().find(|line| line.contains(word))
}

fn entry<'a>(found: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = found.entry(key).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was made an object"),
    }
}

/// `  5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       0`, and
/// of `-x` `  5 Reallocated_Sector_Ct   PO--CK   100   100   010    -    0`.
fn row(line: &str) -> Option<(u64, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let id: u64 = words.first()?.parse().ok().filter(|id| (1..=255).contains(id))?;
    let three = words.get(3..6)?.iter().all(|word| {
        *word == "---" || (word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let flag = words.get(2)?;
    let start = match () {
        () if flag.starts_with("0x") && flag.len() == 6 => 9,
        () if flag.len() == 6 && flag.bytes().all(|it| it == b'-' || it.is_ascii_uppercase()) => 7,
        () => return None,
    };
    let raw = words.get(start..).filter(|raw| three && !raw.is_empty())?;
    Some((id, raw.join(" ")))
}

/// `read:   2272755        0         0         0          0      93.179           0` of a SCSI
/// disk's table of errors: the last column is what could not be corrected.
fn errors(line: &str) -> Option<(&str, u64)> {
    let (which, rest) = line.split_once(':')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let known = ["read", "write", "verify"].contains(&which);
    (known && words.len() == 7).then(|| Some((which, words[6].parse().ok()?)))?
}

/// One pair of key and value.
fn pair(key: &str, value: &str, found: &mut Map<String, Value>) {
    let first = value.split_whitespace().next().unwrap_or("");
    let count = || number(first.trim_end_matches('%'));
    let mut put = |place: &str, value: Value| {
        found.entry(place.to_owned()).or_insert(value);
    };
    match key {
        "Device Model" | "Model Number" => put("model_name", json!(value)),
        "Product" => put("scsi_model_name", json!(value)),
        "Serial Number" | "Serial number" => put("serial_number", json!(value)),
        "Firmware Version" => put("firmware_version", json!(value)),
        "Revision" => put("scsi_revision", json!(value)),
        "User Capacity" => {
            let bytes = value.split(" bytes").next().and_then(number);
            put("user_capacity", json!({"bytes": bytes}));
        }
        "Total NVM Capacity" => put("nvme_total_capacity", json!(count())),
        "Namespace 1 Size/Capacity" => {
            put("nvme_namespaces", json!([{"size": {"bytes": count()}}]));
        }
        "Namespace 1 Formatted LBA Size" => put("logical_block_size", json!(count())),
        "Rotation Rate" => match value {
            "Solid State Device" => put("rotation_rate", json!(0)),
            _ => put("rotation_rate", json!(count())),
        },
        "Sector Size" | "Sector Sizes" => {
            put("logical_block_size", json!(count()));
            let physical = value
                .split_once(", ")
                .and_then(|(_, rest)| number(rest.split_whitespace().next()?));
            let both = value.contains("logical/physical").then(count).flatten();
            put("physical_block_size", json!(physical.or(both)));
        }
        "Logical block size" => put("logical_block_size", json!(count())),
        "Physical block size" => put("physical_block_size", json!(count())),
        "SATA Version is" => {
            put("sata_version", json!({"string": value}));
            let most = value.rsplit_once(", ").map(|(_, rest)| rest);
            let most = most.and_then(|rest| rest.split(" (").next());
            let now = value.split_once("(current: ").and_then(|(_, rest)| rest.strip_suffix(')'));
            put("interface_speed", json!({"max": {"string": most}, "current": {"string": now}}));
            put("device", json!({"protocol": "ATA"}));
        }
        "ATA Version is" => put("device", json!({"protocol": "ATA"})),
        "Transport protocol" => {
            put("scsi_transport_protocol", json!({"name": value}));
            put("device", json!({"protocol": "SCSI"}));
        }
        "NVMe Version" | "Number of Namespaces" => put("device", json!({"protocol": "NVMe"})),
        _ => health(key, value, found),
    }
}

/// The pairs that tell of health.
fn health(key: &str, value: &str, found: &mut Map<String, Value>) {
    let first = value.split_whitespace().next().unwrap_or("");
    let count = || number(first.trim_end_matches('%'));
    let mut nvme = |name: &str, count: Option<u64>| {
        entry(found, "nvme_smart_health_information_log").insert(name.to_owned(), json!(count));
    };
    match key {
        "Critical Warning" => nvme("critical_warning", count()),
        "Percentage Used" => nvme("percentage_used", count()),
        "Power On Hours" => nvme("power_on_hours", count()),
        "Media and Data Integrity Errors" => nvme("media_errors", count()),
        "Error Information Log Entries" => nvme("num_err_log_entries", count()),
        "Temperature" | "Current Drive Temperature" => {
            entry(found, "temperature").insert("current".into(), json!(count()));
        }
        "Drive Trip Temperature" => {
            entry(found, "temperature").insert("drive_trip".into(), json!(count()));
        }
        "Warning  Comp. Temp. Threshold" | "Warning Comp. Temp. Threshold" => {
            entry(found, "nvme_composite_temperature_threshold")
                .insert("warning".into(), json!(count()));
        }
        "Critical Comp. Temp. Threshold" => {
            entry(found, "nvme_composite_temperature_threshold")
                .insert("critical".into(), json!(count()));
        }
        "SMART overall-health self-assessment test result" => {
            let passed = match first {
                "PASSED" => Some(true),
                "FAILED!" | "FAILED" => Some(false),
                _ => None,
            };
            entry(found, "smart_status").insert("passed".into(), json!(passed));
        }
        "SMART Health Status" => {
            entry(found, "smart_status").insert("passed".into(), json!(first == "OK"));
        }
        "Elements in grown defect list" => {
            found.insert("scsi_grown_defect_list".into(), json!(count()));
        }
        "Percentage used endurance indicator" => {
            found.insert("scsi_percentage_used_endurance_indicator".into(), json!(count()));
        }
        "Accumulated power on time, hours" => {
            let hours = value.strip_prefix("minutes ").and_then(|it| number(it.split(':').next()?));
            entry(found, "power_on_time").insert("hours".into(), json!(hours));
        }
        _ => {}
    }
}

/// Temperature and hours, which smartctl's JSON has apart from the table.
fn from_attributes(attributes: &[(u64, String)], found: &mut Map<String, Value>) {
    if attributes.is_empty() {
        return;
    }
    let raw = |wanted: u64| {
        let (_, raw) = attributes.iter().find(|(id, _)| *id == wanted)?;
        raw.split_whitespace().next()
    };
    let hours = raw(9).and_then(|raw| raw.split('h').next()?.parse::<u64>().ok());
    if let Some(hours) = hours {
        entry(found, "power_on_time").insert("hours".into(), json!(hours));
    }
    let sane = |raw: &str| raw.parse::<u64>().ok().filter(|celsius| (1..150).contains(celsius));
    let celsius = raw(194).and_then(sane).or_else(|| raw(190).and_then(sane));
    if let Some(celsius) = celsius {
        entry(found, "temperature").entry("current").or_insert(json!(celsius));
    }
    let table: Vec<Value> = attributes.iter().map(|(id, raw)| attribute(*id, raw)).collect();
    found.insert("ata_smart_attributes".into(), json!({"table": table}));
    let device = found.entry("device").or_insert_with(|| json!({"protocol": "ATA"}));
    if device.is_null() {
        *device = json!({"protocol": "ATA"});
    }
}
