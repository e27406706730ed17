//! Whole machines, recorded and written by hand: what is read of each, and that nothing that a file
//! may hold breaks the reading.

use super::*;
use crate::inventory::recording::{self, Recording};
use facts::inventory::server::Function;

mod broken;

fn machine(name: &str) -> Server {
    server(&Recording::open(name).host())
}

fn function<'a>(server: &'a Server, address: &str) -> &'a Function {
    server.pci.iter().find(|function| function.address == address).unwrap()
}

/// Speed and width now, and at most.
fn link(server: &Server, address: &str) -> ((f64, u32), (f64, u32)) {
    let link = function(server, address).link.unwrap();
    let pace = |pace: Option<facts::inventory::pcie::Pace>| {
        pace.map_or((0.0, 0), |pace| (pace.gt_per_s, pace.lanes))
    };
    (pace(link.current), pace(link.max))
}

fn names<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().cloned().collect::<Vec<_>>().join(" ")
}

/// "the Dell T610 server has two PCI Express 2.0 x8 slots, three x4 slots, and one for the PERC".
#[test]
fn the_second_sources_server_has_its_controller_in_an_x4_slot_and_slow_network_cards() {
    let server = machine("t610-x4");
    assert_eq!(server.firmware.product.as_deref(), Some("PowerEdge T610"));
    assert_eq!((server.processors.sockets, server.processors.cores), (Some(1), Some(4)));
    assert_eq!((server.memory.channels, server.firmware.slots.len()), (Some(3), 6));
    let filled = server.memory.modules.iter().filter(|module| module.size_bytes.is_some());
    assert_eq!((filled.count(), server.memory.modules.len()), (3, 12));
    let perc = function(&server, "0000:03:00.0");
    assert!(perc.name.as_ref().unwrap().contains("PERC 6/i"), "{:?}", perc.name);
    assert_eq!(link(&server, "0000:03:00.0"), ((2.5, 4), (2.5, 8)));
    assert_eq!(link(&server, "0000:00:03.0"), ((2.5, 4), (5.0, 4)));
    for (card, lanes) in [("0000:04:00.0", 4), ("0000:07:00.0", 8), ("0000:08:00.0", 8)] {
        assert_eq!(link(&server, card), ((2.5, lanes), (2.5, 8)), "{card}");
    }
    let behind = server.drives.iter().filter(|d| d.controller.as_deref() == Some("0000:03:00.0"));
    assert_eq!(behind.count(), 8);
    assert_eq!(server.arrays[0].level.as_deref(), Some("raid0"));
    assert_eq!(names(&server.arrays[0].disks), "sdc sdd sde sdf sdg sdh");
    let moved = machine("t610-x8");
    assert_eq!(link(&moved, "0000:07:00.0"), ((2.5, 8), (2.5, 8)));
    assert_eq!(link(&moved, "0000:00:07.0"), ((2.5, 8), (5.0, 8)));
    assert_eq!(moved.interfaces.len(), 4, "that slot held a network card");
}

#[test]
fn a_link_below_what_both_ends_can_do_is_read_as_such() {
    let server = machine("two-socket-nvme");
    assert_eq!(server.processors.nodes.len(), 2);
    assert_eq!(server.processors.nodes[1].distances, [20, 10]);
    assert_eq!(link(&server, "0000:17:00.0"), ((8.0, 4), (16.0, 4)));
    assert_eq!(link(&server, "0000:15:03.0"), ((8.0, 4), (16.0, 4)));
    assert_eq!(link(&server, "0000:16:00.0"), ((16.0, 4), (16.0, 4)));
    let card = &server.interfaces[0];
    assert_eq!((card.numa_node, card.bits_per_s), (Some(1), Some(100e9)));
    assert_eq!(card.interrupts.iter().map(|one| one.cpus.as_str()).collect::<String>(), "0123");
    let array = &server.arrays[0];
    assert_eq!((array.missing, array.busy_with.as_deref()), (Some(1), Some("recover")));
    let hot = server.drives.iter().find(|drive| drive.name == "nvme2n1").unwrap();
    assert_eq!(hot.health.as_ref().unwrap().celsius, Some(72.85));
}

#[test]
fn disks_behind_an_expander_share_its_wide_port() {
    let server = machine("sas-expander");
    assert_eq!(server.drives.len(), 24);
    for drive in &server.drives {
        let [up, down] = &drive.links[..] else { panic!("{:?}", drive.links) };
        assert_eq!((up.lanes, up.bits_per_s), (4, Some(12e9)));
        assert_eq!(up.id, server.drives[0].links[0].id, "all share it");
        let rate = if drive.name == "sdf" { 6e9 } else { 12e9 };
        assert_eq!((down.lanes, down.bits_per_s, drive.rpm), (1, Some(rate), Some(7200)));
    }
    let worn = server.drives[3].health.as_ref().unwrap();
    assert_eq!((worn.reallocated_sectors, worn.passed), (Some(12), Some(true)));
}

#[test]
fn a_laptop_saves_power() {
    let server = machine("laptop");
    assert_eq!(server.firmware.chassis.as_deref(), Some("notebook"));
    assert_eq!(server.processors.governors, ["powersave"]);
    assert_eq!(function(&server, "0000:04:00.0").aspm.as_deref(), Some("L1"));
    assert_eq!(link(&server, "0000:04:00.0").0, (2.5, 4));
    assert_eq!(server.interfaces[0].kind, "wlan");
    assert_eq!(
        (server.arrays[0].kind.as_str(), names(&server.arrays[0].disks)),
        ("crypt", "nvme0n1".into())
    );
    let root = &server.filesystems[0];
    assert_eq!(
        (root.total_bytes, root.available_bytes),
        (Some(501_809_635_328), Some(20_072_385_413))
    );
}

#[test]
fn drives_behind_a_switch_on_the_second_node_are_found_in_their_place() {
    let server = machine("qemu-nvme");
    let nodes: Vec<(&str, &[u64])> =
        server.processors.nodes.iter().map(|n| (n.cpus.as_str(), &n.distances[..])).collect();
    assert_eq!(nodes, [("0-1", &[10, 21][..]), ("2-3", &[21, 10][..])]);
    assert_eq!(server.firmware.product.as_deref(), Some("ServerX 2N"));
    assert_eq!(server.memory.modules[0].size_bytes, Some(1536 << 20));
    assert_eq!(server.memory.modules[0].speed_mt_per_s, Some(2933));
    assert_eq!(link(&server, "0000:00:03.0"), ((2.5, 1), (8.0, 4)));
    assert_eq!(link(&server, "0000:80:00.0"), ((2.5, 1), (16.0, 8)));
    let parents = |address: &str| function(&server, address).parent.clone().unwrap();
    assert_eq!(
        (parents("0000:83:00.0"), parents("0000:84:00.0")),
        ("0000:82:00.0".into(), "0000:82:01.0".into())
    );
    assert_eq!(
        (parents("0000:82:00.0"), parents("0000:81:00.0")),
        ("0000:81:00.0".into(), "0000:80:00.0".into())
    );
    assert_eq!(function(&server, "0000:83:00.0").numa_node, Some(1));
    assert_eq!(names(server.drives.iter().map(|drive| &drive.name)), "nvme0n1 nvme1n1 nvme2n1");
    for drive in &server.drives {
        let health = drive.health.as_ref().unwrap();
        assert_eq!(
            (health.passed, health.media_errors, health.celsius),
            (Some(true), Some(0), Some(49.85))
        );
    }
    let drivers = server.interfaces.iter().map(|one| one.driver.as_deref().unwrap());
    assert_eq!(drivers.collect::<Vec<_>>(), ["e1000e", "virtio_net"]);
    assert_eq!(server.interfaces[0].interrupts.len(), 3);
}

#[test]
fn an_array_without_a_disk_and_one_that_is_being_made_are_told_apart() {
    let server = machine("qemu-sata-sas");
    let states: Vec<_> =
        server.arrays.iter().map(|one| (one.missing, one.busy_with.as_deref())).collect();
    assert_eq!(states, [(Some(1), None), (Some(0), Some("resync"))]);
    assert_eq!(names(&server.arrays[0].disks), "sda sdb sdc");
    assert_eq!((server.drives.len(), server.drives[1].rpm), (7, Some(7200)));

    let server = machine("qemu-sata");
    let arrays = server.arrays.iter();
    let states: Vec<_> = arrays.map(|one| (one.place.as_str(), one.said.as_deref())).collect();
    let place = |name| format!("/sys/block/{name}/md/degraded");
    let (first, second) = (place("md0"), place("md1"));
    assert_eq!(states, [(first.as_str(), Some("1")), (second.as_str(), Some("0"))]);
    assert_eq!(server.arrays[1].busy_with.as_deref(), Some("resync"));
}

#[test]
fn what_the_drives_of_a_guest_told_smartctl_is_told() {
    let server = machine("qemu-sata");
    assert_eq!(names(server.drives.iter().map(|drive| &drive.name)), "sda sdb sdc sdd sde");
    for drive in &server.drives[..3] {
        let health = drive.health.as_ref().unwrap();
        assert_eq!(health.source, "smartctl", "{}", drive.name);
        assert_eq!((health.passed, health.celsius), (Some(true), Some(31.0)), "{}", drive.name);
        assert_eq!((health.reallocated_sectors, health.power_on_hours), (Some(0), Some(1)));
    }
    let turns: Vec<_> = server.drives[..3].iter().map(|drive| drive.rpm).collect();
    assert_eq!(turns, [Some(7200), Some(1), Some(7200)], "the second does not turn");
    for drive in &server.drives[3..] {
        let passed = drive.health.as_ref().and_then(|health| health.passed);
        assert_eq!(passed, None, "megasas lets nobody ask {}", drive.name);
    }
}

#[test]
fn an_arm_server_has_a_device_tree_and_this_one_virtual_disks() {
    let server = machine("qemu-arm");
    assert_eq!(server.firmware.product.as_deref(), Some("linux,dummy-virt"));
    assert_eq!((server.processors.cores, server.processors.online.as_str()), (Some(4), "0-3"));
    assert_eq!(names(server.drives.iter().map(|drive| &drive.name)), "nvme0n1 vda");
    assert_eq!(link(&server, "0000:00:02.0"), ((2.5, 1), (16.0, 4)));
    let server = machine("virtio-vm");
    let root = server.filesystems.iter().find(|one| one.mount_point == "/").unwrap();
    assert_eq!((root.filesystem.as_str(), names(&root.on)), ("ext4", "vda".into()));
    assert_eq!(root.total_bytes, Some(270_553_174_016));
    assert!(server.pci.iter().all(|function| function.link.is_none()), "virtio has no links");
}

#[test]
fn every_fixture_that_is_no_recording_says_so_in_its_first_line() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/sys");
    let mut count = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let host_text = crate::sys::Host::at(&folder).read(format!("/{name}.txt")).unwrap();
        let first = host_text.lines().next().unwrap().to_owned();
        assert!(first.starts_with("# Recorded ") || first.starts_with("# Hand-written"), "{name}");
        machine(&name);
        count += 1;
    }
    assert!(count >= 12, "{count}");
}

/// A fact that nobody documents is a number that nobody can use.
#[test]
fn every_subsystem_has_a_name_of_its_own_and_its_parts_tell_what_they_say_they_do() {
    let mut seen = std::collections::BTreeSet::new();
    for Subsystem { name, about, read } in SUBSYSTEMS {
        assert!(seen.insert(name), "{name} is listed twice");
        assert!(!about.ends_with('.'), "{name}: one line, no full stop");
        let Read::Part { title, facts, identity, moving, .. } = read else { continue };
        assert!(!title.is_empty() && !facts.is_empty(), "{name}");
        let named: std::collections::BTreeSet<_> = facts.iter().map(|(fact, _)| fact).collect();
        assert_eq!(named.len(), facts.len(), "{name} tells a fact twice");
        // A misspelt one would be taken for a fixed one, and its change for another part.
        let asked = moving.iter().chain((!identity.is_empty()).then_some(identity));
        asked.for_each(|fact| assert!(named.contains(fact), "{name} has no fact {fact}"));
    }
    // As a machine with such ports has them.
    let machine = Recording::unpack(
        "/sys/class/fc_host/host7/port_state = Online\n/sys/class/fc_host/host7/speed = 8 Gbit\n\
         /sys/class/fc_host/host7/supported_speeds = 16 Gbit\n\
         /sys/class/fc_host/host7/statistics/link_failure_count = 0x0\n",
    );
    let server = server(&machine.host());
    assert_eq!(server.parts.len(), 1, "{:?}", server.parts);
    for part in &server.parts {
        let named = SUBSYSTEMS.iter().find(|subsystem| subsystem.name == part.name);
        let Some(Subsystem { read: Read::Part { facts, .. }, .. }) = named else {
            panic!("{} is in no table", part.name)
        };
        for fact in part.things.iter().flat_map(|thing| &thing.facts) {
            assert!(facts.iter().any(|(name, _)| *name == fact.name), "{}", fact.name);
        }
    }
}

/// The fabric's world wide name went out with recordings that promise stand-ins.
#[test]
fn a_recording_has_stand_ins_for_what_a_part_calls_private_and_all_else_of_it() {
    let machine = Recording::unpack(
        "/sys/class/fc_host/host7/port_state = Online\n\
         /sys/class/fc_host/host7/port_type = NPort (fabric via point-to-point)\n\
         /sys/class/fc_host/host7/port_name = 0x21000024ff4ee9a0\n\
         /sys/class/fc_host/host7/fabric_name = 0x1000000533b4f9c1\n\
         /sys/class/fc_host/host7/statistics/link_failure_count = 0x3\n",
    );
    let facts = |host: &Host| -> Vec<(String, String, bool)> {
        let things = server(host).parts.into_iter().flat_map(|part| part.things);
        let told = things.flat_map(|thing| {
            assert_eq!(thing.identity, thing.facts[2].value, "its port's name");
            thing.facts
        });
        told.map(|fact| (fact.name, fact.text, fact.moves)).collect()
    };
    let before = facts(&machine.host());
    let moving: Vec<&str> =
        before.iter().filter(|it| it.2).map(|(name, ..)| name.as_str()).collect();
    assert_eq!(moving, ["state", "type", "targets", "link_failures"]);
    let recorded = recording::record(&machine.host(), false).unwrap();
    for name in ["21000024ff4ee9a0", "1000000533b4f9c1"] {
        assert!(!recorded.contains(name), "{recorded}");
    }
    let after = facts(&Recording::unpack(&recorded).host());
    assert_eq!(after.len(), before.len(), "{recorded}");
    for (one, other) in before.iter().zip(&after).filter(|(one, _)| !one.0.ends_with("_name")) {
        assert_eq!(one, other);
    }
}
