//! Servers made by hand, whose narrowest part is known.

use super::*;
use facts::bandwidth::NodeBandwidth;
use facts::inventory::pcie::Pace;
use facts::inventory::server::{Array, Drive, Function, Hop, Interface, Link, Usage};

fn function(address: &str, parent: Option<&str>, link: Option<(f64, u32)>) -> Function {
    let pace = link.map(|(gt_per_s, lanes)| Pace { gt_per_s, lanes });
    Function {
        address: address.to_owned(),
        parent: parent.map(str::to_owned),
        link: pace.map(|pace| Link { current: Some(pace), max: Some(pace) }),
        payload_bytes: Some(256),
        ..Function::default()
    }
}

fn hop(id: &str, gigabits: f64, lanes: u32) -> Hop {
    let bits_per_s = Some(gigabits * 1e9);
    Hop { name: format!("link {id}"), id: id.to_owned(), bits_per_s, lanes, ..Hop::default() }
}

fn drive(name: &str, controller: &str, links: Vec<Hop>) -> Drive {
    let (name, controller) = (name.to_owned(), Some(controller.to_owned()));
    Drive { name, controller, links, ..Drive::default() }
}

fn port(name: &str, controller: &str, gigabits: Option<f64>) -> Interface {
    Interface {
        name: name.to_owned(),
        controller: Some(controller.to_owned()),
        bits_per_s: gigabits.map(|rate| rate * 1e9),
        mtu_bytes: Some(1500),
        state: Some(if gigabits.is_some() { "up" } else { "down" }.to_owned()),
        ..Interface::default()
    }
}

/// The second source's: a PERC in a slot of four lanes at 2.5 GT/s with six SSDs at 3 Gb/s, and a
/// card with two ports of 10 Gb/s that trained at 2.5 GT/s x4.
fn second_source() -> Server {
    let ssd = |n: u32| {
        drive(
            &format!("sd{}", (b'a' + n as u8) as char),
            "0000:03:00.0",
            vec![hop(&format!("port-0:{n}"), 3.0, 1)],
        )
    };
    Server {
        pci: vec![
            function("0000:00:03.0", None, Some((2.5, 4))),
            Function {
                name: Some("PERC 6/i".into()),
                ..function("0000:03:00.0", Some("0000:00:03.0"), Some((2.5, 4)))
            },
            function("0000:00:07.0", None, Some((2.5, 4))),
            function("0000:06:00.0", Some("0000:00:07.0"), Some((2.5, 4))),
            function("0000:06:00.1", Some("0000:00:07.0"), Some((2.5, 4))),
        ],
        drives: (0..6).map(ssd).collect(),
        interfaces: vec![
            port("eth0", "0000:06:00.0", Some(10.0)),
            port("eth1", "0000:06:00.1", Some(10.0)),
        ],
        ..Server::default()
    }
}

fn narrowest(path: &DataPath) -> &PathPart {
    &path.parts[path.narrowest.unwrap()]
}

#[test]
fn the_second_sources_slot_is_the_narrowest_part_of_its_way() {
    let found = paths(&second_source(), None);
    assert_eq!(found.paths.len(), 2);
    let disks = &found.paths[0];
    assert_eq!(disks.name, "6 disks on PERC 6/i (0000:03:00.0)");
    let slot = narrowest(disks);
    assert_eq!(slot.name, "PCIe link of 0000:03:00.0");
    assert_eq!(slot.encoded_bytes_per_s, Some(1e9), "1000 MB/s after 8b/10b");
    assert!(slot.derivation.contains("2.5 GT/s x 4 lanes x 8/10 bits"), "{}", slot.derivation);
    assert_eq!(disks.parts[0].encoded_bytes_per_s, Some(6.0 * 300e6));
    assert!(!disks.complete, "memory was not measured, and that is said");
    assert_eq!(disks.parts.last().unwrap().derivation, "not measured");
    assert_eq!(found.disks.bytes_per_s, slot.bytes_per_s);
    assert_eq!(found.disks.bound_by, ["PCIe link of 0000:03:00.0"]);
    let network = &found.paths[1];
    assert_eq!((network.kind, network.ends.join(" ")), ("network", "eth0 eth1".to_owned()));
    assert_eq!(narrowest(network).encoded_bytes_per_s, Some(1e9), "2 x 1250 MB/s through 1000");
    assert_eq!(network.parts.len(), 3, "both functions share one link: {:?}", network.parts);
}

/// With the card in the slot of eight lanes at 5 GT/s the SSDs' own links are the narrowest.
#[test]
fn in_the_wide_slot_the_disks_links_are_the_narrowest() {
    let mut server = second_source();
    for function in &mut server.pci[..2] {
        let pace = Some(Pace { gt_per_s: 5.0, lanes: 8 });
        function.link = Some(Link { current: pace, max: pace });
    }
    let found = paths(&server, None);
    assert_eq!(narrowest(&found.paths[0]).name, "links of 6 disks");
    assert_eq!(found.disks.bound_by.len(), 6);
    assert!(found.summary[2].contains("network binds"), "{:?}", found.summary);
}

#[test]
fn disks_behind_an_expander_share_its_wide_port_once() {
    let behind = |n: usize| {
        let links = vec![hop("port-0:0", 6.0, 4), hop(&format!("port-0:0:{n}"), 6.0, 1)];
        drive(&format!("sd{}", (b'a' + n as u8) as char), "0000:01:00.0", links)
    };
    let server = Server {
        pci: vec![
            function("0000:00:01.0", None, Some((8.0, 8))),
            function("0000:01:00.0", Some("0000:00:01.0"), Some((8.0, 8))),
        ],
        drives: (0..24).map(behind).collect(),
        ..Server::default()
    };
    let found = paths(&server, None);
    let path = &found.paths[0];
    let kinds: Vec<&str> = path.parts.iter().map(|part| part.kind).collect();
    assert_eq!(kinds, ["disks", "links", "pcie", "memory"]);
    assert_eq!(path.parts[0].encoded_bytes_per_s, Some(24.0 * 600e6));
    assert_eq!(narrowest(path).name, "link port-0:0");
    assert_eq!(narrowest(path).encoded_bytes_per_s, Some(2400e6));
    assert_eq!(found.disks.bound_by, ["link port-0:0"]);
}

/// Two drives and a card behind one switch: its link upwards is shared, and said to be.
#[test]
fn a_switch_is_climbed_once_and_its_uplink_is_shared() {
    let server = Server {
        pci: vec![
            function("0000:00:01.0", None, Some((8.0, 4))),
            function("0000:01:00.0", Some("0000:00:01.0"), Some((8.0, 4))),
            function("0000:02:00.0", Some("0000:01:00.0"), Some((8.0, 4))),
            function("0000:02:01.0", Some("0000:01:00.0"), Some((8.0, 4))),
            function("0000:03:00.0", Some("0000:02:00.0"), Some((8.0, 4))),
            function("0000:04:00.0", Some("0000:02:01.0"), Some((8.0, 4))),
        ],
        drives: vec![
            drive("nvme0n1", "0000:03:00.0", Vec::new()),
            drive("nvme1n1", "0000:04:00.0", Vec::new()),
        ],
        ..Server::default()
    };
    let found = paths(&server, Some(&measured()));
    let path = &found.paths[0];
    let names: Vec<&str> = path.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(
        names[names.len() - 3..],
        ["PCIe link of 0000:03:00.0", "PCIe link of the bridge 0000:01:00.0", "memory"]
    );
    let uplink = &path.parts[path.parts.len() - 2];
    assert_eq!(uplink.shared_with, [found.paths[1].name.clone()]);
    assert_eq!(found.disks.bound_by, ["PCIe link of the bridge 0000:01:00.0"]);
    assert_eq!(found.disks.bytes_per_s, uplink.bytes_per_s);
    assert_eq!(path.parts.last().unwrap().bytes_per_s, Some(20e9));
}

fn measured() -> Bandwidth {
    let node = NodeBandwidth {
        node: 0,
        threads: 4,
        triad_bytes_per_s: Some(15e9),
        read_bytes_per_s: Some(20e9),
        ..NodeBandwidth::default()
    };
    Bandwidth { nodes: vec![node], copy_bytes_per_s: Some(5e9), ..Bandwidth::default() }
}

#[test]
fn a_virtual_machine_has_unknown_parts_and_never_a_number_for_them() {
    let mut disk = function("0000:00:05.0", None, None);
    disk.vendor = 0x1af4;
    let server = Server {
        pci: vec![disk],
        drives: vec![drive("vda", "0000:00:05.0", Vec::new())],
        interfaces: vec![port("eth0", "0000:00:05.0", None)],
        ..Server::default()
    };
    let found = paths(&server, None);
    assert_eq!(found.paths[0].narrowest, None);
    assert!(found.paths.iter().flat_map(|path| &path.parts).all(|p| p.bytes_per_s.is_none()));
    assert_eq!((found.disks.bytes_per_s, found.network.bytes_per_s), (None, None));
    assert!(found.summary.iter().all(|line| line.contains("not known")), "{:?}", found.summary);
    let found = paths(&server, Some(&measured()));
    let path = &found.paths[0];
    assert_eq!((narrowest(path).kind, path.complete), ("memory", false));
    // "From disk to network the network binds: 14137 MB/s", where every link was unknown and
    // memory alone had been measured.
    assert!(!found.summary.iter().any(|line| line.contains("binds: ")), "{:?}", found.summary);
}

/// "Two gigabit ports counted as 865 MB/s": their links are what each can carry.
#[test]
fn two_gigabit_ports_carry_no_more_than_two_gigabits() {
    let mut server = second_source();
    server.interfaces = ["0000:06:00.0", "0000:06:00.1"]
        .iter()
        .zip(["eth0", "eth1"])
        .map(|(at, name)| port(name, at, Some(1.0)))
        .collect();
    let most = paths(&server, None).network.bytes_per_s.unwrap();
    assert!((200e6..250e6).contains(&most), "{most}");
}

/// "At most 18927 MB/s, held by the memory" stood beside a memory that read 6908: one of the two
/// was disturbed, and what contradicts its own measurement is no ceiling.
#[test]
fn memory_whose_measurements_disagree_is_no_ceiling() {
    let server = second_source();
    let mut bandwidth = measured();
    bandwidth.copy_bytes_per_s = Some(18.927e9);
    bandwidth.nodes[0].triad_bytes_per_s = Some(6.5e9);
    bandwidth.nodes[0].read_bytes_per_s = Some(6.908e9);
    let found = paths(&server, Some(&bandwidth));
    let memory = found.paths[0].parts.last().unwrap();
    assert_eq!((memory.kind, memory.bytes_per_s), ("memory", None));
    assert!(!found.paths[0].complete, "{memory:?}");
    bandwidth.copy_bytes_per_s = Some(5e9);
    let found = paths(&server, Some(&bandwidth));
    assert_eq!(found.paths[0].parts.last().unwrap().bytes_per_s, Some(6.908e9));
}

#[test]
fn arrays_and_file_systems_name_the_paths_that_they_lie_on() {
    let mut server = second_source();
    let disks = ["sda", "sdb"].map(str::to_owned).to_vec();
    server.arrays.push(Array { name: "md0".into(), disks, ..Array::default() });
    let on = vec!["sda".to_owned()];
    server.filesystems.push(Usage { mount_point: "/srv".into(), on, ..Usage::default() });
    let on = vec!["elsewhere".to_owned()];
    server.filesystems.push(Usage { mount_point: "/far".into(), on, ..Usage::default() });
    let stacks = paths(&server, None).stacks;
    assert_eq!(stacks.len(), 2, "{stacks:?}");
    assert_eq!((stacks[0].name.as_str(), stacks[0].paths.clone()), ("md0", vec![0]));
    let single = stacks[1].bytes_per_s.unwrap();
    assert_eq!(stacks[0].bytes_per_s, Some(2.0 * single));
    assert!(single < 300e6 && single > 280e6);
}

#[test]
fn ports_without_a_link_count_only_when_none_has_one() {
    let mut server = second_source();
    server.interfaces[1] =
        Interface { max_bits_per_s: Some(10e9), ..port("eth1", "0000:06:00.1", None) };
    let found = paths(&server, None);
    assert_eq!(found.network.ends, 1);
    assert!(found.summary[1].contains("without 1 port that is down"), "{:?}", found.summary);
    server.interfaces[0] =
        Interface { max_bits_per_s: Some(10e9), ..port("eth0", "0000:06:00.0", None) };
    assert_eq!(paths(&server, None).network.ends, 2);
    assert!(paths(&server, None).paths[1].parts[0].assumed);
}

/// Whatever a hostile recording says: parents in a circle, no rate, no address.
#[test]
fn nonsense_ends_and_is_no_number() {
    let server = Server {
        pci: vec![
            function("a", Some("b"), Some((f64::NAN, 0))),
            function("b", Some("a"), Some((-1.0, u32::MAX))),
            function("c", Some("c"), None),
        ],
        drives: vec![
            drive("sda", "a", vec![hop("", f64::INFINITY, u32::MAX), hop("", -1.0, 0)]),
            drive("sda", "c", vec![hop("x", f64::NAN, 0)]),
            drive("", "nowhere", Vec::new()),
        ],
        interfaces: vec![port("", "b", Some(f64::NAN)), port("", "", Some(-1.0))],
        ..Server::default()
    };
    let found = paths(&server, None);
    assert!(found.paths.iter().flat_map(|path| &path.parts).all(|p| p.bytes_per_s.is_none()));
    assert_eq!(paths(&Server::default(), None).summary.len(), 2);
}
