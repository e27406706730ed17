//! (pure) What differs between two inventories of a machine, part by part.

use serde_json::Value;

use base::value::counted;

/// What changes by itself, or with where one measures: no part was exchanged.
const IDLE: [&str; 5] =
    ["memory_available_bytes", "available_bytes", "number", "ceiling", "bandwidth"];

/// The same of the whole server: what load, wear, power management and reboots move, what depends
/// on who asks, and what is told elsewhere.
const IDLE_OF_SERVER: [&str; 21] = [
    "machine",
    "unread",
    "filesystems",
    "health",
    "state",
    "said",
    "busy_with",
    "done_share",
    "interrupts",
    "children",
    "members",
    "disks",
    "runtime_status",
    "aspm",
    "queue_depth",
    "corrected_errors",
    "uncorrected_errors",
    "swap_bytes",
    "usage",
    "leaves",
    "more_datasets",
];

/// Lists that only root may read: empty, they say nothing.
const OFTEN_UNREAD: [&str; 4] = ["slots", "modules", "offloads", "coalescing"];

/// Every difference, one a line: `machine memory_total_bytes: 536870912, was 8589934592`.
pub fn changes(before: &Value, now: &Value) -> Vec<String> {
    // Figures of others come without a machine: that is one difference, and not one a part.
    let (old, new) = (source(before), source(now));
    if old.is_some() != new.is_some() {
        let told = |of: Option<String>| of.unwrap_or_else(|| "brickyard's own".to_owned());
        return vec![format!("figures: {}, was {}", told(new), told(old))];
    }
    let mut lines = Vec::new();
    compare(&At::default(), before, now, &mut lines);
    lines
}

/// Where the figures of a campaign come from that were not measured by it: `imported from fio.json
/// (fio)`; `None` where they were.
fn source(inventory: &Value) -> Option<String> {
    if !inventory["published"].is_null() {
        return Some("published by others".to_owned());
    }
    let files = inventory["imported"].as_array()?.iter().map(|of| match of["tool"].as_str() {
        Some(tool) => format!("{} ({tool})", said(&of["file"])),
        None => said(&of["file"]),
    });
    Some(format!("imported from {}", files.collect::<Vec<_>>().join(", ")))
}

/// Where in the inventory we are.
#[derive(Clone, Default)]
struct At {
    /// In words.
    said: String,
    /// The key of the object or list.
    key: String,
    /// Whether this is below `server`.
    server: bool,
}

impl At {
    fn below(&self, key: &str) -> At {
        let said =
            if self.said.is_empty() { key.to_owned() } else { format!("{} {key}", self.said) };
        At { said, key: key.to_owned(), server: self.server || key == "server" }
    }

    fn idle(&self, key: &str) -> bool {
        // Power management slows links down and wakes them; lanes do not come and go.
        IDLE.contains(&key)
            || (self.server && IDLE_OF_SERVER.contains(&key))
            || (self.server && self.key == "current" && key == "gt_per_s")
    }

    /// What tells the parts of this list from each other. Kernel names move at a reboot.
    fn identity<'a>(&self, part: &'a Value) -> Option<&'a Value> {
        let keys: &[&str] = match self.key.as_str() {
            "pci" => &["address"],
            "drives" if self.server => &["wwid", "name"],
            "devices" if self.server => &["serial", "name"],
            "modules" => &["place"],
            "things" => &["identity", "name"],
            "nodes" => &["number"],
            _ => &["name"],
        };
        keys.iter().map(|key| &part[*key]).find(|held| held.is_string() || held.is_number())
    }

    /// Whether a part of this list is one: what programs make, such as loop devices and bridges of
    /// containers, comes and goes.
    fn counts(&self, part: &Value) -> bool {
        match (self.server, self.key.as_str()) {
            (true, "devices") => part["kind"] == "disk",
            (true, "interfaces") => !part["controller"].is_null(),
            (true, "facts") => part["moves"] != true,
            _ => true,
        }
    }
}

fn compare(at: &At, before: &Value, now: &Value, lines: &mut Vec<String>) {
    // What one of the two has not read says nothing of a change.
    if at.server && (before.is_null() || now.is_null()) {
        return;
    }
    match (before, now) {
        (Value::Object(old), Value::Object(new)) => {
            let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
            for key in keys.filter(|key| !at.idle(key)) {
                let of = |of: &serde_json::Map<String, Value>| of.get(key).cloned();
                let (old, new) = (of(old).unwrap_or_default(), of(new).unwrap_or_default());
                compare(&at.below(key), &old, &new, lines);
            }
        }
        (Value::Array(old), Value::Array(new)) if at.server && either_is_empty(at, old, new) => {}
        (Value::Array(old), Value::Array(new)) if told_apart(at, old) && told_apart(at, new) => {
            parts(at, old, new, lines);
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (number, (old, new)) in old.iter().zip(new).enumerate() {
                let place =
                    if old.is_object() { at.below(&number.to_string()) } else { at.clone() };
                compare(&place, old, new, lines);
            }
        }
        (old, new) if old == new => {}
        (old, new) => lines.push(format!("{}: {}, was {}", at.said, said(new), said(old))),
    }
}

/// Compares lists whose parts have identities.
fn parts(at: &At, old: &[Value], new: &[Value], lines: &mut Vec<String>) {
    let find = |of: &[Value], one: &Value| -> Option<Value> {
        of.iter().find(|other| at.identity(other) == at.identity(one)).cloned()
    };
    let place = |one: &Value| at.below(&at.identity(one).map_or(String::new(), said));
    for one in old.iter().filter(|one| at.counts(one) && find(new, one).is_none()) {
        lines.push(format!("{}: gone", place(one).said));
    }
    for one in new.iter().filter(|one| at.counts(one)) {
        match find(old, one) {
            Some(mut other) => {
                // By a better identity than its name: that the kernel gives it another is nothing.
                let mut one = one.clone();
                let moves = at.server && ["drives", "devices", "things"].contains(&at.key.as_str());
                let besides = match at.key.as_str() {
                    _ if moves && at.identity(&one) != Some(&one["name"]) => "name",
                    // What is told to people says the value once more.
                    "facts" if at.server => "text",
                    _ => "",
                };
                for part in [&mut one, &mut other] {
                    part.as_object_mut().and_then(|part| part.remove(besides));
                }
                compare(&place(&one), &other, &one, lines);
            }
            None => lines.push(format!("{}: new", place(one).said)),
        }
    }
}

fn either_is_empty(at: &At, old: &[Value], new: &[Value]) -> bool {
    OFTEN_UNREAD.contains(&at.key.as_str()) && (old.is_empty() || new.is_empty())
}

/// Whether these are parts that can be told apart; below `server` none at all are, too.
fn told_apart(at: &At, parts: &[Value]) -> bool {
    let some = !parts.is_empty() || (at.server && is_list_of_parts(&at.key));
    some && parts.iter().all(|part| at.identity(part).is_some())
}

fn is_list_of_parts(key: &str) -> bool {
    [
        "pci",
        "drives",
        "devices",
        "arrays",
        "pools",
        "vdevs",
        "datasets",
        "interfaces",
        "links",
        "settings",
        "parts",
        "things",
        "facts",
    ]
    .contains(&key)
}

fn said(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(parts) if parts.is_empty() => "none".to_owned(),
        Value::Array(parts) if parts.iter().any(|part| part.is_object() || part.is_array()) => {
            counted(parts.len() as u64, "part")
        }
        Value::Array(parts) => parts.iter().map(said).collect::<Vec<_>>().join(", "),
        // What is in it is for programs.
        Value::Object(_) => "told".to_owned(),
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

    /// A campaign that went on after a reboot would have been told of a hundred exchanged parts.
    #[test]
    fn of_a_server_what_load_wear_and_reboots_move_is_no_exchange() {
        let server = |now: bool| {
            let pick = |before: Value, after: Value| if now { after } else { before };
            json!({ "server": {
                "drives": [{
                    "name": pick("sda".into(), "sdb".into()), "wwid": "naa.1",
                    "queue_depth": u8::from(now),
                    "health": { "celsius": pick(31.into(), 44.into()) },
                    "firmware": pick(Value::Null, "A1".into()),
                }],
                "devices": pick(
                    json!([{ "name": "sda", "kind": "disk", "serial": "S1", "model": "M" }]),
                    json!([{ "name": "sdb", "kind": "disk", "serial": "S1", "model": "M" },
                           { "name": "loop0", "kind": "loop", "serial": null }]),
                ),
                "pci": [{
                    "address": "0000:01:00.0", "name": "card",
                    "runtime_status": pick("a".into(), "s".into()),
                    "link": { "current": { "gt_per_s": pick(8.0.into(), 2.5.into()), "lanes": 8 } },
                    "children": pick(json!(["sda"]), json!(["sdb"])),
                }],
                "interfaces": pick(json!([]), json!([{ "name": "docker0", "controller": null }])),
                "memory": {
                    "modules": pick(json!([]), json!([{ "place": "A1", "size_bytes": 1 }])),
                },
                "arrays": [{ "name": "md0", "busy_with": pick(Value::Null, "check".into()) }],
                "filesystems": pick(json!([]), json!([{ "mount_point": "/mnt" }])),
                "unread": pick(json!([]), json!([{ "what": "x" }])),
            } })
        };
        assert_eq!(changes(&server(false), &server(true)), [""; 0]);
        // A campaign of an earlier version kept no server.
        assert_eq!(changes(&json!({}), &server(true)), [""; 0]);
    }

    /// What a pool holds, and how its disks are called after a reboot, is no exchange.
    #[test]
    fn of_a_pool_what_was_set_is_a_change_and_what_it_holds_is_not() {
        let server = |held: u64, device: &str, recordsize: &str, vdevs: &[&str]| {
            let vdev = |name: &&str| json!({ "name": name, "leaves": [{ "name": device }] });
            let pool = json!({
                "name": "tank",
                "state": if held > 1 { "degraded" } else { "online" },
                "usage": { "allocated_bytes": held },
                "vdevs": vdevs.iter().map(vdev).collect::<Vec<_>>(),
                "datasets": [{ "name": "tank", "settings": { "recordsize": recordsize } }],
            });
            json!({ "server": { "zfs": { "pools": [pool], "arc": { "usage": held } } } })
        };
        let before = server(1, "/dev/sda1", "131072", &["mirror-0"]);
        let used = server(2, "/dev/sdb1", "131072", &["mirror-0"]);
        assert_eq!(changes(&before, &used), [""; 0]);
        assert_eq!(
            changes(&before, &server(2, "/dev/sda1", "16384", &["mirror-0", "mirror-1"])),
            [
                "server zfs pools tank vdevs mirror-1: new",
                "server zfs pools tank datasets tank settings recordsize: 16384, was 131072",
            ]
        );
    }

    /// A port of Fibre Channel on which a link had failed once more was told twice as exchanged,
    /// and every port as gone and new where a reboot had numbered them anew.
    #[test]
    fn a_thing_of_a_part_is_another_when_its_identity_is_and_not_when_it_was_used() {
        let port = |name: &str, identity: &str, failures: u8, most: f64| {
            json!({ "name": name, "identity": identity, "facts": [
                { "name": "link_failures", "value": failures, "text": "so many", "moves": true },
                { "name": "max_bits_per_s", "value": most, "text": format!("{most} b/s") },
            ] })
        };
        let server = |ports: &[Value]| {
            let part = json!({ "name": "fibre-channel", "title": "Ports", "things": ports });
            json!({ "server": { "parts": [part] } })
        };
        let before = server(&[port("host7", "0x21", 3, 16e9), port("host8", "0x22", 0, 16e9)]);
        let rebooted = server(&[port("host3", "0x22", 0, 16e9), port("host4", "0x21", 4, 16e9)]);
        assert_eq!(changes(&before, &rebooted), [""; 0]);
        let other = server(&[port("host7", "0x21", 3, 32e9), port("host8", "0x99", 0, 16e9)]);
        assert_eq!(
            changes(&before, &other),
            [
                "server parts fibre-channel things 0x22: gone",
                "server parts fibre-channel things 0x21 facts max_bits_per_s value: \
                 32000000000.0, was 16000000000.0",
                "server parts fibre-channel things 0x99: new",
            ]
        );
    }

    /// `compare` against an import printed the whole inventory of the machine as JSON.
    #[test]
    fn figures_of_others_are_one_difference_and_no_line_is_json() {
        let measured = json!({
            "machine": { "hostname": "a", "memory_total_bytes": 1024 },
            "targets": [{ "directory": "/srv", "disks": ["sda"] }],
            "server": { "pci": [{ "address": "0000:01:00.0" }] },
        });
        let fio = json!({ "imported": [{ "file": "fio.json", "tool": "fio", "results": 2 }] });
        let published = json!({ "published": { "by": "x" }, "configurations": { "a": {} } });
        assert_eq!(
            changes(&measured, &fio),
            ["figures: imported from fio.json (fio), was brickyard's own"]
        );
        assert_eq!(
            changes(&published, &measured),
            ["figures: brickyard's own, was published by others"]
        );
        let two = json!({ "targets": [{ "directory": "/srv" }, { "directory": "/tmp" }] });
        for (before, now) in [(&measured, &two), (&two, &measured), (&measured, &json!({}))] {
            for line in changes(before, now) {
                assert!(!line.contains(['{', '[', '"']), "{line}");
            }
        }
        assert!(changes(&measured, &two).contains(&"targets: 2 parts, was 1 part".to_owned()));
    }

    #[test]
    fn of_a_server_an_exchanged_card_disk_or_module_is_named() {
        let before = json!({ "server": {
            "pci": [{ "address": "0000:03:00.0", "name": "PERC", "link": { "current":
                { "gt_per_s": 2.5, "lanes": 4 }, "max": { "gt_per_s": 2.5, "lanes": 8 } } }],
            "drives": [{ "name": "sda", "wwid": "naa.1" }],
            "memory": { "modules": [{ "place": "A1", "size_bytes": 2 }] },
        } });
        let now = json!({ "server": {
            "pci": [{ "address": "0000:03:00.0", "name": "HBA", "link": { "current":
                { "gt_per_s": 2.5, "lanes": 8 }, "max": { "gt_per_s": 5.0, "lanes": 8 } } }],
            "drives": [{ "name": "sda", "wwid": "naa.2" }],
            "memory": { "modules": [{ "place": "A1", "size_bytes": 4 }] },
        } });
        assert_eq!(
            changes(&before, &now),
            [
                "server pci 0000:03:00.0 name: HBA, was PERC",
                "server pci 0000:03:00.0 link current lanes: 8, was 4",
                "server pci 0000:03:00.0 link max gt_per_s: 5.0, was 2.5",
                "server drives naa.1: gone",
                "server drives naa.2: new",
                "server memory modules A1 size_bytes: 4, was 2",
            ]
        );
    }
}
