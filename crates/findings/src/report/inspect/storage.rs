//! (pure) Disks with their health, and what lies on them, as text.

use super::page::{Page, few};
use base::value;
use facts::inventory::Device;
use facts::inventory::server::{Array, Drive, Health, Hop, Server, Usage, unread};

/// A malformed stack may run in a circle.
const DEEPEST: usize = 12;
/// Members of an array that are told one by one below it.
const MEMBERS: usize = 32;

/// Every disk: two lines, of which the second is its health.
pub fn disks(page: &mut Page, server: &Server) {
    page.title("Disks");
    if server.drives.is_empty() {
        let untold = server.unread.iter().any(|unread| unread.what == unread::DISKS);
        page.line(1, if untold { "not known" } else { "none was found" });
    }
    for drive in &server.drives {
        let device = server.devices.iter().find(|device| device.name == drive.name);
        page.item(1, &drive.name, &drive_facts(drive, device));
        if let Some(health) = &drive.health {
            page.item(2, "health", &health_facts(health));
        }
    }
}

fn drive_facts(drive: &Drive, device: Option<&Device>) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    let kib = |kib: u64| value::bytes(kib as f64 * 1024.0);
    if let Some(device) = device {
        let maker = drive.vendor.iter().chain(&device.model).cloned();
        facts.push(maker.collect::<Vec<String>>().join(" "));
        facts.push(size(device));
        facts.push(device.transport.clone());
    }
    facts.push(drive.links.iter().map(hop).collect::<Vec<_>>().join(" - "));
    facts.extend(drive.controller.as_ref().map(|address| format!("at {address}")));
    facts.push(turning(drive, device));
    if let Some(device) = device {
        facts.extend(device.serial.as_ref().map(|serial| format!("serial {serial}")));
    }
    facts.extend(drive.firmware.as_ref().map(|word| format!("firmware {word}")));
    facts.push(match (drive.queues, drive.queue_depth) {
        (Some(queues), Some(depth)) => format!("{queues} x {depth} requests queued"),
        (None, Some(depth)) => format!("{depth} requests queued"),
        _ => String::new(),
    });
    if let Some(device) = device {
        facts.push(match (device.logical_block_bytes, device.physical_block_bytes) {
            (Some(logical), Some(physical)) if logical == physical => {
                format!("{logical} B sectors")
            }
            (Some(logical), Some(physical)) => format!("{logical} of {physical} B sectors"),
            _ => String::new(),
        });
        facts.extend(device.write_cache.clone());
        let own =
            drive.own_write_cache.iter().filter(|own| device.write_cache.as_ref() != Some(own));
        facts.extend(own.map(|own| format!("its own cache {own}")));
        facts.extend(device.scheduler.as_ref().map(|word| format!("scheduler {word}")));
        facts.extend(device.read_ahead_kib.map(|size| format!("read-ahead {}", kib(size))));
    }
    facts
}

fn turning(drive: &Drive, device: Option<&Device>) -> String {
    match (drive.rpm, device.and_then(|device| device.rotational)) {
        (Some(rpm), _) if rpm > 1 => format!("{rpm} turns a minute"),
        (Some(_), _) | (None, Some(false)) => "does not rotate".to_owned(),
        (None, Some(true)) => "rotational".to_owned(),
        (None, None) => String::new(),
    }
}

fn hop(hop: &Hop) -> String {
    let gigabits = |rate: f64| value::significant(rate / 1e9);
    let lanes = if hop.lanes > 1 { format!(" x{}", hop.lanes) } else { String::new() };
    match (hop.bits_per_s, hop.max_bits_per_s) {
        (Some(now), Some(most)) if most > now => {
            format!("{} {} of {} Gb/s{lanes}", hop.name, gigabits(now), gigabits(most))
        }
        (Some(now), _) => format!("{} {} Gb/s{lanes}", hop.name, gigabits(now)),
        (None, _) => format!("{}{lanes}", hop.name),
    }
}

fn health_facts(health: &Health) -> Vec<String> {
    let mut facts: Vec<String> = Vec::new();
    facts.extend(health.passed.map(|passed| {
        match health.warns_of_temperature().filter(|_| !health.fails()) {
            Some(what) => format!("THE DRIVE WARNS THAT {}", what.to_uppercase()),
            None if passed => "the drive says it is well".to_owned(),
            None => "THE DRIVE SAYS IT FAILS".to_owned(),
        }
    }));
    facts.extend(health.celsius.map(|celsius| {
        let limit = health.warning_celsius.or(health.critical_celsius);
        let limit = limit.map_or(String::new(), |limit| format!(" (limit {limit:.0})"));
        format!("{celsius:.0} degrees C{limit}")
    }));
    for (count, what) in [
        (health.reallocated_sectors, ("sector", " replaced")),
        (health.pending_sectors, ("sector", " pending")),
        (health.uncorrectable_sectors, ("sector", " uncorrectable")),
        (health.media_errors, ("media error", "")),
        (health.link_errors, ("link error", "")),
        (health.power_on_hours, ("hour", " on")),
    ] {
        let (one, more) = what;
        let many = |count: u64| if count == 1 { "" } else { "s" };
        facts.extend(count.map(|count| format!("{count} {one}{}{more}", many(count))));
    }
    facts.extend(
        health.used_share.map(|share| format!("{} of its life used", value::percent(share))),
    );
    facts.extend(
        health.power_loss_protected.map(|yes| {
            format!("cache {} through a power cut", if yes { "kept" } else { "not kept" })
        }),
    );
    if !health.source.is_empty() {
        facts.push(format!("by {}", health.source));
    }
    facts
}

/// From file systems down to disks; then arrays that no file system lies on.
pub fn stacks(page: &mut Page, server: &Server) {
    if server.filesystems.is_empty() && server.arrays.is_empty() {
        return;
    }
    page.title("File systems and arrays, down to the disks");
    let mut told: Vec<&str> = Vec::new();
    for filesystem in &server.filesystems {
        page.item(1, &filesystem.mount_point, &usage_facts(filesystem));
        // btrfs is its own array, without a device of its own.
        let own = server.arrays.iter().find(|array| {
            array.kind == "btrfs" && !array.members.is_empty() && array.members == filesystem.on
        });
        if let Some(array) = own {
            told.push(&array.name);
            page.item(2, &array_name(array), &array_facts(array));
        }
        below(page, server, &filesystem.on, 2, &mut told);
    }
    for array in &server.arrays {
        if !told.contains(&array.name.as_str()) {
            page.item(1, &array_name(array), &array_facts(array));
            below(page, server, &array.members, 2, &mut told);
        }
    }
}

fn usage_facts(filesystem: &Usage) -> Vec<String> {
    let full = filesystem.total_bytes.filter(|total| *total > 0).map_or_else(
        || "how full it is was not read".to_owned(),
        |total| {
            let left = filesystem
                .available_bytes
                .map_or(String::new(), |left| format!(", {} free", value::bytes(left as f64)));
            format!("{}{left}", value::bytes(total as f64))
        },
    );
    vec![
        format!("{} on {}", filesystem.filesystem, filesystem.source),
        full,
        filesystem.options.clone(),
    ]
}

fn below<'a>(
    page: &mut Page,
    server: &'a Server,
    names: &[String],
    depth: usize,
    told: &mut Vec<&'a str>,
) {
    for name in names.iter().take(MEMBERS) {
        let array = server.arrays.iter().find(|array| array.name == *name);
        let device = server.devices.iter().find(|device| device.name == *name);
        match (array, device) {
            (Some(array), _) => {
                told.push(&array.name);
                page.item(depth, &array_name(array), &array_facts(array));
            }
            (None, Some(device)) => page.line(depth, &short(device)),
            (None, None) => page.line(depth, name),
        }
        let deeper = match (device, array) {
            (Some(device), _) => &device.below[..],
            (None, Some(array)) => &array.members[..],
            (None, None) => &[],
        };
        if depth < DEEPEST {
            below(page, server, deeper, depth + 1, told);
        }
    }
    if names.len() > MEMBERS {
        page.line(depth, &format!("and {} more", names.len() - MEMBERS));
    }
}

fn short(device: &Device) -> String {
    let layout = device.layout.as_ref().map_or(String::new(), |layout| format!(" {layout}"));
    let file = device.backing.as_ref().map_or(String::new(), |backing| {
        format!(" on the file {} ({})", backing.file, backing.filesystem)
    });
    format!("{}{layout} {}{file}", device.name, size(device))
}

/// Its size; 0 is said only of one whose size nothing told.
fn size(device: &Device) -> String {
    match device.size_bytes {
        0 => "size not known".to_owned(),
        bytes => value::bytes(bytes as f64),
    }
}

fn array_name(array: &Array) -> String {
    match &array.alias {
        Some(alias) => format!("{} ({alias})", array.name),
        None => array.name.clone(),
    }
}

fn array_facts(array: &Array) -> Vec<String> {
    let kind = match &array.level {
        Some(level) => format!("{} {level}", array.kind),
        None => array.kind.clone(),
    };
    let missing = match array.missing {
        None | Some(0) => String::new(),
        Some(count) => format!("{count} MISSING"),
    };
    let busy = array.busy_with.as_ref().map_or(String::new(), |what| {
        let done =
            array.done_share.map_or(String::new(), |done| format!(" {}", value::percent(done)));
        format!("busy with {what}{done}")
    });
    let chunk = array
        .chunk_bytes
        .map_or(String::new(), |bytes| format!("chunk {}", value::bytes(bytes as f64)));
    let of = match &array.caching {
        Some(caching) => format!("of {}; {caching}", few(&caching.origin(&array.members), 8)),
        None => format!("of {}", few(&array.members, 8)),
    };
    vec![kind, of, chunk, array.state.clone().unwrap_or_default(), missing, busy]
}
