//! The text of whole servers: recorded ones, and one whose every name is hostile.

use serde_json::Value;

use super::*;
use crate::analysis::path::paths;
use crate::report::schema::check;
use crate::warning::{WarningFinding, warnings};
use facts::inventory::pcie::Pace;
use facts::inventory::server::{
    Array, Drive, Fact, Function, Health, Hop, Interface, Link, Part, Thing, Unread, Usage,
};
use host::inventory::recording::Recording;
use host::inventory::server;

fn of(server: Server) -> Inspection {
    Inspection {
        brickyard: "0".to_owned(),
        paths: paths(&server, None),
        bandwidth: None,
        warnings: Vec::new(),
        server,
    }
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn every_recorded_machine_is_printed_in_100_columns_in_the_order_of_the_questions() {
    let folder = format!("{}/../../tests/fixtures/sys", env!("CARGO_MANIFEST_DIR"));
    let names = std::path::Path::new(&folder).read_dir().unwrap().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".txt")?.to_owned())).collect();
    assert!(names.len() > 6);
    for name in names {
        let recording = Recording::open(&name);
        let inspection = of(server::server(&recording.host()));
        let text = inspection.text();
        assert!(widest(&text) <= 100, "{name}: {} columns", widest(&text));
        let places: Vec<usize> = [
            "Machine\n",
            "\nProcessors\n",
            "\nMemory\n",
            "\nDisks\n",
            "\nPaths to memory",
            "\nWarnings\n",
        ]
        .iter()
        .map(|title| text.find(title).unwrap_or_else(|| panic!("{name} has no {title:?}")))
        .collect();
        assert!(places.is_sorted(), "{name}: {places:?}");
        obeys(&inspection).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

/// Of a text that was pasted "0 CPUs" and "none was found" stood for what nobody knows.
#[test]
fn what_was_pasted_is_printed_with_what_it_was_made_from_and_without_noughts() {
    let folder = format!("{}/../../tests/fixtures/sys/pasted", env!("CARGO_MANIFEST_DIR"));
    let names = std::path::Path::new(&folder).read_dir().unwrap().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    for name in names {
        let name = format!("pasted/{}", name.trim_end_matches(".txt"));
        let mut inspection = of(server::server(&Recording::open(&name).host()));
        inspection.warnings = warnings(&inspection.server);
        let text = inspection.text();
        assert!(widest(&text) <= 100, "{name}: {} columns", widest(&text));
        assert!(text.contains("\nMade from what was pasted\n"), "{name}");
        assert!(!text.contains(" 0 CPUs") && !text.contains(" 0 B,"), "{name}: {text}");
        let told = inspection.server.unread.iter().any(|unread| unread.what == "the disks");
        assert!(!(told && text.contains("none was found")), "{name}");
        assert!(!(told && text.contains("No disk was found")), "{name}");
        let json = inspection.json().unwrap();
        assert!(!json.contains("\"cpus_online\": 0") && !json.contains("\"vendor\": 0,"), "{name}");
        obeys(&inspection).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

/// What people see of six quite different servers, word for word: whoever changes it sees what
/// becomes of the page. `BRICKYARD_SNAPSHOTS=1` writes it anew.
#[test]
#[expect(clippy::disallowed_methods, reason = "files of this repository, in a test")]
fn the_page_of_a_recorded_machine_is_the_one_that_was_looked_at() {
    let names = ["t610-x4", "two-socket-nvme", "sas-expander", "laptop", "qemu-nvme", "qemu-arm"];
    let again = std::env::var_os("BRICKYARD_SNAPSHOTS").is_some();
    for name in names {
        let mut inspection = of(server::server(&Recording::open(name).host()));
        inspection.warnings = warnings(&inspection.server);
        let folder = format!("{}/../../tests/fixtures/inspect", env!("CARGO_MANIFEST_DIR"));
        let path = format!("{folder}/{name}.txt");
        let text = inspection.text();
        if again {
            std::fs::write(&path, &text).unwrap();
        }
        let looked_at =
            std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{path}: {why}"));
        for (place, (now, before)) in text.lines().zip(looked_at.lines()).enumerate() {
            assert_eq!(now, before, "{name}, line {}", place + 1);
        }
        assert_eq!(text.lines().count(), looked_at.lines().count(), "{name}");
    }
}

fn obeys(inspection: &Inspection) -> Result<(), String> {
    const SCHEMA: &str = include_str!("../../../../../docs/reference/inspect.schema.json");
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let document: Value = serde_json::from_str(&inspection.json().unwrap()).unwrap();
    check("", &document, &schema, &schema)
}

/// Names in firmware, on drives and in files that people send are anybody's.
#[test]
fn hostile_names_neither_steer_the_terminal_nor_widen_the_page() {
    let evil = format!("\u{1b}[31m\u{202e}{}\r\nWarnings\n  none", "wide".repeat(90));
    let text = || evil.clone();
    let pace = Some(Pace { gt_per_s: f64::NAN, lanes: u32::MAX });
    let server = Server {
        pci: vec![Function {
            address: text(),
            root: text(),
            name: Some(text()),
            driver: Some(text()),
            children: vec![text(); 30],
            link: Some(Link { current: pace, max: pace }),
            ..Function::default()
        }],
        drives: vec![Drive {
            name: text(),
            vendor: Some(text()),
            controller: Some(text()),
            links: vec![Hop { name: text(), bits_per_s: Some(f64::INFINITY), ..Hop::default() }],
            health: Some(Health { source: text(), celsius: Some(f64::MAX), ..Health::default() }),
            ..Drive::default()
        }],
        arrays: vec![Array {
            name: text(),
            members: vec![text()],
            kind: text(),
            done_share: Some(f64::NAN),
            ..Array::default()
        }],
        filesystems: vec![Usage { mount_point: text(), on: vec![text()], ..Usage::default() }],
        interfaces: vec![Interface {
            name: text(),
            offloads: vec![text()],
            ..Interface::default()
        }],
        parts: vec![Part {
            name: text(),
            title: text(),
            things: vec![Thing {
                name: text(),
                identity: text(),
                facts: vec![Fact { name: text(), value: text().into(), text: text(), moves: true }],
            }],
        }],
        unread: vec![Unread { what: text(), place: text(), why: text(), hint: text() }],
        ..Server::default()
    };
    let mut inspection = of(server);
    inspection.warnings.push(Warning {
        kind: text(),
        found: WarningFinding { text: text(), evidence: vec![text()], ..WarningFinding::default() },
    });
    let printed = inspection.text();
    assert!(widest(&printed) <= 100, "{} columns", widest(&printed));
    assert!(!printed.contains('\u{1b}') && !printed.contains('\u{202e}'));
    assert!(!printed.contains('\r'));
    assert_eq!(printed.matches("\nWarnings\n").count(), 1, "no name makes a section");
    obeys(&inspection).unwrap();
    inspection.paths.paths[0].kind = "tape";
    assert!(obeys(&inspection).is_err(), "the schema notices");
}

/// The server of the second source, as its paper describes it.
#[test]
fn the_second_sources_narrow_slots_are_named() {
    let recording = Recording::open("t610-x4");
    let inspection = of(server::server(&recording.host()));
    let narrowest = |end: &str| {
        let mut paths = inspection.paths.paths.iter();
        let path = paths.find(|path| path.ends.iter().any(|name| name == end)).unwrap();
        path.parts[path.narrowest.unwrap()].clone()
    };
    for (end, link) in [("sda", "PCIe link of 0000:03:00.0"), ("eth2", "PCIe link of 0000:04:00.0")]
    {
        let part = narrowest(end);
        assert!(part.name.starts_with(link), "{end}: {part:?}");
        assert_eq!(part.encoded_bytes_per_s, Some(1e9), "{end}: 2.5 GT/s x4 after 8b/10b");
    }
    // In the wide slots the port itself is the narrowest.
    assert!(narrowest("eth3").encoded_bytes_per_s.is_some_and(|rate| rate > 1e9));
    let text = inspection.text();
    let marked = text.lines().filter(|line| line.contains("<- narrowest"));
    assert!(
        marked.filter(|line| line.contains("PCIe link of 0000:03:00.0")).count() == 1,
        "{text}"
    );
}

#[test]
fn nothing_at_all_is_printed_too() {
    let text = of(Server::default()).text();
    assert!(text.contains("No disk was found."), "{text}");
    assert!(text.contains("none, as far as could be read"), "{text}");
}
