//! `smartctl -a`, `-x`, `-i`, `-H`, `-A` as text, and `-j`: a disk and its health (smartmontools 6
//! and 7).
//!
//! The text does not say which device was asked: the prompt before it does, or else the serial
//! number that another text tells of a device. It is turned into smartctl's own JSON, of which the
//! inventory reads the health.

use serde_json::{Map, Value, json};

use super::disk::{self, About};
use super::draft::Draft;
use super::piece::Piece;
use super::{PastedKind, Topic, lines};

mod text;

/// `smartctl`.
pub const SMARTCTL: PastedKind = PastedKind {
    name: "smartctl",
    programs: &["smartctl"],
    opens: |line, _| {
        let version = line.strip_prefix("smartctl ").and_then(|rest| rest.split(' ').next());
        version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    },
    json: |value| value.get("smartctl").is_some() && value.get("json_format_version").is_some(),
    goes_on: false,
    tells: &[Topic::Disks, Topic::Health],
    read,
};

/// What of its JSON tells of health.
const HEALTH: &[&str] = &[
    "smart_status",
    "temperature",
    "power_on_time",
    "endurance_used",
    "scsi_percentage_used_endurance_indicator",
    "scsi_grown_defect_list",
    "scsi_pending_defects",
    "scsi_error_counter_log",
    "ata_smart_attributes",
    "nvme_smart_health_information_log",
    "nvme_composite_temperature_threshold",
];

fn read(piece: &Piece<'_>, draft: &mut Draft) -> Result<(), String> {
    let document = match &piece.json {
        Some(json) => json.clone(),
        None => text::document(piece.text)?,
    };
    let option = piece.command.and_then(|command| {
        let mut words = command.split_whitespace();
        words.find(|word| *word == "-d")?;
        words.next()
    });
    let text = |place: &str| document.pointer(place).and_then(Value::as_str);
    let name = match text("/device/name") {
        Some(device) => disk::asked(device, text("/device/type")),
        None => piece.named().and_then(|device| disk::asked(device, option)),
    };
    if name.is_none() && document.get("serial_number").is_none() && !told_of(&document) {
        let why = "smartctl was refused, or was not asked for it";
        draft.miss("a disk that smartctl was asked about", "smartctl", why, "sudo smartctl -a");
        return Ok(());
    }
    let name = name.unwrap_or_else(|| disk::unnamed(draft));
    if name.starts_with(disk::UNNAMED) {
        draft.miss(
            "the name of a disk that smartctl tells of",
            "smartctl",
            "its text does not say which device was asked",
            "leave the prompt with the command before it, or add `lsblk -o +SERIAL`",
        );
    }
    let about = about(&document);
    let block = draft.block(&name)?;
    about.tell(block).map_err(|why| format!("of {name} {why}"))?;
    let mut told = Map::new();
    for key in HEALTH {
        if let Some(value) = document.get(*key) {
            told.insert((*key).to_owned(), value.clone());
        }
    }
    let silent = told.is_empty();
    told.into_iter().for_each(|(key, value)| disk::health(block, &key, value));
    match silent {
        false => drop(block.said_by.insert("smartctl".to_owned())),
        true => {
            let messages = document.pointer("/smartctl/messages").and_then(Value::as_array);
            let words = messages.into_iter().flatten().filter_map(|it| it.get("string")?.as_str());
            let words: Vec<&str> = words.collect();
            let unable = piece.text.contains("does not support SMART");
            let why = match words.is_empty() {
                true if unable => "the device does not support SMART".to_owned(),
                true => "smartctl was not asked for it".to_owned(),
                false => words.join("; "),
            };
            draft.miss(&format!("the health of {name}"), "smartctl", &why, "smartctl -a");
        }
    }
    Ok(())
}

/// Whether it tells of a disk's health.
fn told_of(document: &Value) -> bool {
    HEALTH.iter().any(|key| document.get(*key).is_some())
}

fn about(document: &Value) -> About {
    let text = |place: &str| {
        let text = document.pointer(place).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let number = |place: &str| document.pointer(place).and_then(Value::as_u64);
    let namespace = document.get("nvme_namespaces").and_then(Value::as_array);
    let namespace = namespace.filter(|all| all.len() == 1);
    let namespace = namespace.and_then(|all| all[0].pointer("/size/bytes")?.as_u64());
    let size = number("/user_capacity/bytes").or(namespace).or(number("/nvme_total_capacity"));
    let speed = |which: &str| {
        let text = text(&format!("/interface_speed/{which}/string"))?;
        Some(text.replace("Gb/s", "Gbps"))
    };
    let sata = document.get("interface_speed").map(|_| (speed("max"), speed("current")));
    let protocol = text("/device/protocol").unwrap_or_default();
    let sas = text("/scsi_transport_protocol/name").is_some_and(|name| name.starts_with("SAS"));
    let transport = match protocol.as_str() {
        "ATA" if sata.is_some() || document.get("sata_version").is_some() => Some("sata"),
        "NVMe" => Some("nvme"),
        "SCSI" if sas => Some("sas"),
        _ => None,
    };
    let rotation = number("/rotation_rate").map(|rate| if rate == 0 { 1 } else { rate });
    About {
        model: text("/model_name").or(text("/scsi_model_name")),
        serial: text("/serial_number"),
        firmware: text("/firmware_version").or(text("/scsi_revision")),
        size: size.map(|bytes| (bytes, true)),
        rotation: rotation.and_then(|rate| u16::try_from(rate).ok()),
        logical_block_bytes: number("/logical_block_size"),
        physical_block_bytes: number("/physical_block_size"),
        transport,
        sata,
    }
}

/// An attribute as its JSON has it.
fn attribute(id: u64, raw: &str) -> Value {
    json!({"id": id, "raw": {"string": raw}})
}

fn number(text: &str) -> Option<u64> {
    lines::number(text)
}
