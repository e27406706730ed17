//! What `smartctl` (smartmontools) says of a drive's health, in its JSON.
//!
//! smartctl(8); the names of its JSON are those of smartmontools 6.6 to 7.5. A drive that sleeps is
//! not woken (`-n standby`).

use std::time::Duration;

use serde_json::Value;

use crate::sys::signal::Stop;
use crate::sys::{Error, command};
use facts::inventory::server::Health;

/// No drive is waited for longer: one that is being repaired may take minutes.
const ASKED_MAX: Duration = Duration::from_secs(2);

/// Who said what stands in such a file, where that was not smartctl.
pub const SAID_BY: &str = "brickyard_said_by";

/// The file of a recording that holds what was said of a disk.
pub fn file(disk: &str) -> String {
    format!("/.brickyard/smartctl/{disk}.json")
}

/// The command, as words.
pub fn words(disk: &str) -> Vec<String> {
    let words = ["smartctl", "--json=c", "-a", "-n", "standby"].map(str::to_owned);
    words.into_iter().chain([format!("/dev/{disk}")]).collect()
}

/// Asks about the disk `sda`, at most 2 s; as JSON, for a recording and for [`parse`].
///
/// # Errors
/// When smartctl is not installed, takes too long, or says nothing.
pub fn ask_live(disk: &str) -> Result<String, Error> {
    let words = words(disk);
    // Its exit status is a set of findings: also a dying drive's answer is an answer.
    let answer = command::ask(&words, ASKED_MAX, &Stop::new())?;
    let said = answer.said.unwrap_or_default();
    let failed = |why: String| Error::new(format!("cannot run `{}`", command::line(&words)), why);
    match said.trim_start().starts_with('{') {
        true => Ok(said),
        false => Err(failed(format!(
            "it said nothing that is JSON (version 7.0 or later is needed); {}",
            answer.complained.unwrap_or_default().trim()
        ))),
    }
}

/// The health that such a JSON text tells; an error in words when it tells none.
pub fn parse(text: &str) -> Result<Health, String> {
    let said: Value =
        serde_json::from_str(text).map_err(|error| format!("what it says is no JSON: {error}"))?;
    let source = said.get(SAID_BY).and_then(Value::as_str).unwrap_or("smartctl");
    let mut health = Health { source: source.to_owned(), ..Health::default() };
    let nothing = health.clone();
    common(&said, &mut health);
    ata(&said, &mut health);
    scsi(&said, &mut health);
    nvme(&said, &mut health);
    if health != nothing {
        return Ok(health);
    }
    let messages = said.pointer("/smartctl/messages").and_then(Value::as_array);
    let words: Vec<&str> = messages
        .into_iter()
        .flatten()
        .filter_map(|message| message.get("string").and_then(Value::as_str))
        .collect();
    match words.is_empty() {
        true => Err("the drive tells it nothing of its health".to_owned()),
        false => Err(words.join("; ")),
    }
}

/// Whether the words of an error say that the drive sleeps.
pub fn sleeps(why: &str) -> bool {
    ["STANDBY", "SLEEP", "low-power"].iter().any(|word| why.contains(word))
}

fn count(said: &Value, place: &str) -> Option<u64> {
    said.pointer(place)?.as_u64()
}

/// A temperature that a drive can have and live, degrees Celsius. Zero as a limit is none.
fn celsius(said: &Value, place: &str) -> Option<f64> {
    said.pointer(place)?.as_f64().filter(|celsius| (-60.0..200.0).contains(celsius))
}

/// The first of several places that tells a limit.
fn limit(said: &Value, places: &[&str]) -> Option<f64> {
    places.iter().find_map(|place| celsius(said, place).filter(|celsius| *celsius > 0.0))
}

fn common(said: &Value, health: &mut Health) {
    health.passed = said.pointer("/smart_status/passed").and_then(Value::as_bool);
    // A drive without a sensor says 0.
    health.celsius = celsius(said, "/temperature/current").filter(|celsius| *celsius != 0.0);
    let warning = ["/nvme_composite_temperature_threshold/warning", "/temperature/op_limit_max"];
    let critical = [
        "/nvme_composite_temperature_threshold/critical",
        "/temperature/critical_limit_max",
        "/temperature/limit_max",
        "/temperature/drive_trip",
    ];
    health.warning_celsius = limit(said, &warning);
    health.critical_celsius = limit(said, &critical);
    health.power_on_hours = count(said, "/power_on_time/hours");
    let used = count(said, "/endurance_used/current_percent")
        .or_else(|| count(said, "/scsi_percentage_used_endurance_indicator"));
    health.used_share =
        used.filter(|percent| *percent <= 255).map(|percent| percent as f64 / 100.0);
}

/// Attributes that all makers use alike; others mean what their maker wants.
fn ata(said: &Value, health: &mut Health) {
    let table = said.pointer("/ata_smart_attributes/table").and_then(Value::as_array);
    for attribute in table.into_iter().flatten() {
        let place = match attribute.get("id").and_then(Value::as_u64) {
            Some(5) => &mut health.reallocated_sectors,
            Some(197) => &mut health.pending_sectors,
            Some(198) => &mut health.uncorrectable_sectors,
            Some(199) => &mut health.link_errors,
            _ => continue,
        };
        *place = raw(attribute);
    }
}

/// The count of an attribute. smartctl's text has what the 48 bits mean on this drive, as
/// `8 (0 2)`; the bare number may hold several counts.
fn raw(attribute: &Value) -> Option<u64> {
    let text = attribute.pointer("/raw/string").and_then(Value::as_str);
    match text {
        Some(text) => text.split(' ').next()?.parse().ok(),
        None => count(attribute, "/raw/value"),
    }
}

fn scsi(said: &Value, health: &mut Health) {
    if let Some(grown) = count(said, "/scsi_grown_defect_list") {
        health.reallocated_sectors = Some(grown);
    }
    if let Some(pending) = count(said, "/scsi_pending_defects/count") {
        health.pending_sectors = Some(pending);
    }
    let log =
        |of: &str| count(said, &format!("/scsi_error_counter_log/{of}/total_uncorrected_errors"));
    let uncorrected: Vec<u64> =
        ["read", "write", "verify"].iter().filter_map(|of| log(of)).collect();
    if !uncorrected.is_empty() {
        let all = uncorrected.into_iter().fold(0, u64::saturating_add);
        health.uncorrectable_sectors = Some(all);
    }
}

fn nvme(said: &Value, health: &mut Health) {
    let of = |name: &str| count(said, &format!("/nvme_smart_health_information_log/{name}"));
    health.media_errors = of("media_errors");
    health.logged_errors = of("num_err_log_entries");
    health.power_on_hours = health.power_on_hours.or_else(|| of("power_on_hours"));
    health.critical_warning = of("critical_warning");
    health.passed = health.passed.or_else(|| health.critical_warning.map(|bits| bits == 0));
    let used = of("percentage_used").filter(|percent| *percent <= 255);
    health.used_share = health.used_share.or_else(|| used.map(|percent| percent as f64 / 100.0));
}

#[cfg(test)]
mod tests;
