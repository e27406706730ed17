//! What was measured, and when.

use base::value::{bytes, duration};
use experiment::campaign::Campaign;
use experiment::measurement::Record;
use facts::bare;
use facts::inventory::{Device, DeviceKind, Target};

/// `/srv on vm: 256 GiB virtio disk, ext4`; of what is no directory, the plan and the machine.
pub fn subject(campaign: &Campaign) -> String {
    let host = match campaign.host.as_str() {
        "unknown" | "" => String::new(),
        host => format!(" on {host}"),
    };
    let targets = targets(campaign);
    let Some(first) = targets.first() else { return format!("{}{host}", campaign.plan) };
    let more = match targets.len() {
        1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    let (at, place) = match bare::device(&first.directory) {
        Some(device) => ("of", device),
        None => ("in", first.directory.as_str()),
    };
    let plan = match campaign.plan.as_str() {
        "evaluate" => String::new(),
        plan => format!("{plan} {at} "),
    };
    format!("{plan}{place}{more}{host}: {}", lies_on(first))
}

/// The same without the names of the machine and of directories: `256 GiB virtio disk, ext4`.
pub fn about(campaign: &Campaign) -> String {
    let plan = match campaign.plan.as_str() {
        "evaluate" => String::new(),
        plan => format!("{plan}: "),
    };
    let targets = targets(campaign);
    match targets.first() {
        None => campaign.plan.clone(),
        Some(first) if targets.len() > 1 => {
            format!("{plan}{} and {} more", lies_on(first), targets.len() - 1)
        }
        Some(first) => format!("{plan}{}", lies_on(first)),
    }
}

fn targets(campaign: &Campaign) -> Vec<Target> {
    let targets = campaign.inventory.get("targets").cloned().unwrap_or_default();
    serde_json::from_value(targets).unwrap_or_default()
}

/// What a directory lies on, in a few words.
fn lies_on(target: &Target) -> String {
    if bare::is_device(&target.directory) {
        // An array is read as one, whatever is below it.
        return match target.devices.first() {
            Some(device) => format!("{}, {}", one(device), bare::RAW),
            None => bare::RAW.to_owned(),
        };
    }
    let filesystem = match target.holding_filesystem.as_str() {
        "" => target.filesystem.as_str(),
        below => below,
    };
    if target.memory {
        return format!("memory, {filesystem}");
    }
    let disks: Vec<&Device> =
        target.devices.iter().filter(|device| target.disks.contains(&device.name)).collect();
    match disks[..] {
        [] => filesystem.to_owned(),
        [disk] => format!("{}, {filesystem}", one(disk)),
        [first, ..] => {
            let all: u64 = disks.iter().map(|disk| disk.size_bytes).sum();
            let (count, size) = (disks.len(), bytes(all as f64));
            format!("{count} {} disks of {size} in all, {filesystem}", kind(first))
        }
    }
}

fn one(disk: &Device) -> String {
    let size = bytes(disk.size_bytes as f64);
    match &disk.model {
        Some(model) => format!("{model}, {size}"),
        None => format!("{size} {} disk", kind(disk)),
    }
}

fn kind(disk: &Device) -> &str {
    match disk.kind {
        DeviceKind::Stacked => disk.layout.as_deref().unwrap_or("stacked"),
        _ if disk.backing.is_some() => "loop",
        _ => disk.transport.as_str(),
    }
}

/// `25 Nov 2026, 3 min`: the day it began, in UTC, and how long it took as far as that is known.
pub fn when(campaign: &Campaign, records: &[Record]) -> String {
    let ends = records.iter().filter_map(|record| {
        let measurement = record.outcome.measurement()?;
        Some(measurement.started_unix_ns.saturating_add(measurement.elapsed_ns))
    });
    let took = ends.max().and_then(|end| end.checked_sub(campaign.started_unix_ns));
    let day = day(campaign.started_unix_ns);
    match took.filter(|ns| *ns > 0) {
        Some(ns) => format!("{day}, {}", duration(ns as f64)),
        None => day,
    }
}

/// `25 Nov 2026`.
fn day(unix_ns: u64) -> String {
    let time = chrono::DateTime::from_timestamp((unix_ns / 1_000_000_000).cast_signed(), 0);
    time.unwrap_or_default().format("%-d %b %Y").to_string()
}
