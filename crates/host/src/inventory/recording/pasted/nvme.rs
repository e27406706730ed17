//! `nvme list` and `nvme smart-log`, as text and with `-o json` (nvme-cli 1 and 2).
//!
//! Sizes in the text are decimal and rounded to two digits after the point. The temperature is in
//! degrees Celsius in the text, in kelvins in the JSON.

use serde_json::{Value, json};

use super::disk::{self, About};
use super::draft::Draft;
use super::piece::Piece;
use super::{PastedKind, Topic, lines};
use crate::inventory::server::address::is_address;

/// `nvme list`.
pub const LIST: PastedKind = PastedKind {
    name: "nvme list",
    programs: &["nvme"],
    opens: |line, next| line.starts_with("Node ") && line.contains("FW Rev") && is_rule(next),
    json: |value| value.get("Devices").is_some_and(Value::is_array),
    goes_on: false,
    tells: &[Topic::Disks],
    read: list,
};

/// `nvme smart-log`.
pub const SMART_LOG: PastedKind = PastedKind {
    name: "nvme smart-log",
    programs: &["nvme"],
    opens: |line, _| line.starts_with("Smart Log for NVME device:"),
    json: |value| {
        let has = |key: &str| value.get(key).is_some();
        has("critical_warning") && has("num_err_log_entries") && !has("smartctl")
    },
    goes_on: false,
    tells: &[Topic::Health],
    read: smart_log,
};

fn is_rule(line: &str) -> bool {
    line.starts_with("----") && line.chars().all(|c| c == '-' || c == ' ')
}

fn list(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    match &piece.json {
        Some(json) => list_of_json(json, draft),
        None => list_of_text(piece.text, draft),
    }
}

/// Cells stand below their headings, as wide as the rule between is.
fn list_of_text(text: &str, draft: &mut Draft) -> Result<(), String> {
    let mut rows = text.split_inclusive('\n');
    let (heading, rule) = (rows.next().unwrap_or(""), rows.next().unwrap_or(""));
    let mut columns: Vec<(usize, usize)> = Vec::new();
    for (at, one) in rule.chars().enumerate() {
        match (one, columns.last_mut()) {
            ('-', Some((_, end))) if *end == at => *end = at + 1,
            ('-', _) => columns.push((at, at + 1)),
            _ => {}
        }
    }
    let cell = |line: &str, name: &str| {
        let (start, end) = columns.iter().copied().find(|(start, end)| {
            let text: String = heading.chars().skip(*start).take(end - start).collect();
            text.trim() == name
        })?;
        let text: String = line.chars().skip(start).take(end - start).collect();
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let mut found = false;
    for line in rows {
        if !line.starts_with("/dev/") {
            break;
        }
        let whole = line.ends_with('\n');
        let line = line.trim_end();
        let node = cell(line, "Node").unwrap_or_default();
        let usage = cell(line, "Usage").ok_or("a row has no `Usage`: is it cut short?")?;
        let bytes = usage.rsplit_once('/').and_then(|(_, all)| decimal(all));
        let bytes = bytes.ok_or_else(|| format!("the usage of {node} is {usage:?}"))?;
        let format = cell(line, "Format").and_then(|format| {
            let mut words = format.split_whitespace();
            let number: u64 = words.next()?.parse().ok()?;
            match words.next()? {
                "B" => Some(number),
                "KiB" => number.checked_mul(1024),
                _ => None,
            }
        });
        let about = About {
            model: cell(line, "Model"),
            serial: cell(line, "SN"),
            firmware: cell(line, "FW Rev").filter(|_| whole),
            size: Some((bytes, false)),
            logical_block_bytes: format,
            transport: Some("nvme"),
            ..About::default()
        };
        about.tell(draft.block(&node)?).map_err(|why| format!("of {node} {why}"))?;
        found = true;
    }
    match found {
        true => Ok(()),
        false => Err("it lists no device: is it cut short?".to_owned()),
    }
}

/// `256.06  GB`.
fn decimal(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let number: f64 = words.next()?.parse().ok()?;
    let scale = match words.next()? {
        "B" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "PB" => 1e15,
        _ => return None,
    };
    let bytes = number * scale;
    (0.0..9e18).contains(&bytes).then_some(bytes as u64)
}

/// Of version 1 a list of namespaces; later ones have subsystems, and controllers in them.
fn list_of_json(json: &Value, draft: &mut Draft) -> Result<(), String> {
    let items = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let mut found = false;
    for device in items(json, "Devices") {
        if let Some(path) = device.get("DevicePath").and_then(Value::as_str) {
            found = true;
            namespace(path, &device, &device, None, draft)?;
        }
        for subsystem in items(&device, "Subsystems") {
            let shared = items(&subsystem, "Namespaces");
            let controllers = items(&subsystem, "Controllers");
            let one = controllers.len() == 1;
            for controller in &controllers {
                let address = controller.get("Address").and_then(Value::as_str);
                let pcie = controller.get("Transport").and_then(Value::as_str) == Some("pcie");
                let address = address.filter(|address| pcie && is_address(address));
                let own = items(controller, "Namespaces");
                for space in own.iter().chain(shared.iter().filter(|_| one)) {
                    let Some(name) = space.get("NameSpace").and_then(Value::as_str) else {
                        continue;
                    };
                    found = true;
                    // `nvme0c0n1` is a path to a namespace that has a name of its own.
                    if name.trim_start_matches("nvme").contains('c') {
                        continue;
                    }
                    namespace(name, space, controller, address, draft)?;
                }
            }
        }
    }
    match found {
        true => Ok(()),
        false => Err("it lists no namespace".to_owned()),
    }
}

fn namespace(
    name: &str,
    space: &Value,
    controller: &Value,
    address: Option<&str>,
    draft: &mut Draft,
) -> Result<(), String> {
    let text = |key: &str| {
        let text = controller.get(key)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let number = |key: &str| space.get(key).and_then(Value::as_u64);
    // Some versions wrote `PhysicalSize` in 32 bits, and misspelt this.
    let blocks = number("MaximumLBA").or(number("MaximiumLBA"));
    let size = blocks.zip(number("SectorSize")).and_then(|(count, bytes)| count.checked_mul(bytes));
    let size = size.or(number("PhysicalSize")).filter(|bytes| *bytes > 0);
    let about = About {
        model: text("ModelNumber"),
        serial: text("SerialNumber"),
        firmware: text("Firmware"),
        size: size.map(|bytes| (bytes, true)),
        logical_block_bytes: number("SectorSize"),
        transport: Some("nvme"),
        ..About::default()
    };
    let block = draft.block(name)?;
    if let Some(address) = address {
        super::draft::put(&mut block.function, address.to_owned(), "the PCI function")?;
    }
    about.tell(block).map_err(|why| format!("of {name} {why}"))
}

fn smart_log(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let heading = piece.text.lines().next().and_then(|line| {
        let device = line.strip_prefix("Smart Log for NVME device:")?;
        device.split_whitespace().next()
    });
    let name = heading.or(piece.named().filter(|_| piece.json.is_some()));
    let name = match name {
        Some(name) => lines::name(name)?.to_owned(),
        None => {
            draft.miss(
                "the name of a drive that nvme smart-log tells of",
                "nvme smart-log",
                "its JSON does not say which device was asked",
                "leave the prompt with the command before it",
            );
            disk::unnamed(draft)
        }
    };
    let told = match &piece.json {
        Some(json) => of_json(json),
        None => of_text(piece.text)?,
    };
    let block = draft.block(&name)?;
    block.supposed.get_or_insert_with(|| "nvme".to_owned());
    block.said_by.insert("nvme smart-log".to_owned());
    if let Some(celsius) = told.get("celsius") {
        disk::health(block, "temperature", json!({"current": celsius}));
    }
    disk::health(block, "nvme_smart_health_information_log", told);
    Ok(())
}

/// Names in the text and in smartctl's JSON; in nvme's JSON one has another.
const NAMES: &[&str] = &[
    "critical_warning",
    "percentage_used",
    "power_on_hours",
    "media_errors",
    "num_err_log_entries",
];

fn of_text(text: &str) -> Result<Value, String> {
    let mut told = json!({});
    let mut open = false;
    for line in text.split_inclusive('\n').skip(1) {
        // One at the end that may have lost digits.
        open = !line.ends_with('\n');
        let Some((key, value)) = lines::pair(line, ":") else { continue };
        let word = value.split_whitespace().next().unwrap_or("");
        if key == "temperature" {
            let digits = word.split(['\u{b0}', 'C']).next().unwrap_or("");
            told["celsius"] = json!(digits.parse::<i64>().ok());
        } else if NAMES.contains(&key) && !open {
            let count = lines::number(word.trim_end_matches('%'));
            let count = count.ok_or_else(|| format!("{key} is {value:?}"))?;
            if told.get(key).is_some_and(|other| *other != json!(count)) {
                return Err(format!("{key} is told twice"));
            }
            told[key] = json!(count);
        }
    }
    let _ = open;
    match told.get("critical_warning") {
        Some(_) => Ok(told),
        None => Err("it has no `critical_warning`: is it cut short?".to_owned()),
    }
}

fn of_json(json: &Value) -> Value {
    let mut told = json!({});
    for name in NAMES {
        let other = if *name == "percentage_used" { "percent_used" } else { name };
        let value = json.get(*name).or_else(|| json.get(other));
        // Of later versions an object with the bits, too.
        let value = value.map(|value| value.get("value").unwrap_or(value));
        let number =
            value.and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()));
        if let Some(number) = number {
            told[*name] = json!(number);
        }
    }
    let kelvin = json.get("temperature").and_then(Value::as_i64);
    if let Some(kelvin) = kelvin.filter(|kelvin| (223..473).contains(kelvin)) {
        told["celsius"] = json!(kelvin - 273);
    }
    told
}
