//! Recorded, broken and live network interfaces.

use super::*;
use crate::inventory::recording::Recording;
use facts::inventory::server::{Interrupt, Unread};

/// Written by hand: a card of 10 Gb/s with what it answers, a bond on it and on a port without
/// cable, a VLAN on that, a bridge, a veth, a virtio card.
const TREE: &str = r#"
/proc/sys/kernel/osrelease = 6.1.0
/sys/class/net/bonding_masters = bond0
/sys/class/net/lo/type = 772
/sys/bus/pci/devices/0000:04:00.0/numa_node = 1
/sys/bus/pci/devices/0000:04:00.0/msi_irqs/70 = msix
/proc/irq/70/effective_affinity_list = 5
/sys/kernel/irq/70/actions = eth2-TxRx-0
/sys/devices/pci0000:00/0000:04:00.0/vendor = 0x8086
/sys/class/net/eth2/type = 1
/sys/class/net/eth2/operstate = up
/sys/class/net/eth2/speed = 10000
/sys/class/net/eth2/duplex = full
/sys/class/net/eth2/mtu = 9000
/sys/class/net/eth2/device -> /sys/devices/pci0000:00/0000:04:00.0
/sys/devices/pci0000:00/0000:04:00.0/driver -> /sys/bus/pci/drivers/ixgbe
/sys/class/net/eth2/queues/rx-0/
/sys/class/net/eth2/queues/rx-1/
/sys/class/net/eth2/queues/tx-0/
/.brickyard/ethtool/eth2.json:
    {"driver":"ixgbe","version":"5.1","firmware":"0x61bf","megabits_per_s":10000,
    "modes":[5,6,12],"rings":[512,4096,256,4096],"coalescing":[["rx-usecs",1]],
    "features":["rx-gro"],"qdisc":"mq"}
/sys/class/net/eth3/type = 1
/sys/class/net/eth3/operstate = down
/sys/class/net/eth3/speed = -1
/sys/class/net/eth3/duplex = unknown
/.brickyard/ethtool/eth3.json = {"driver":"e1000e","version":"6.1.0","firmware":"N/A","rings":
/sys/class/net/bond0/bonding/slaves = eth2 eth3
/sys/class/net/bond0/lower_eth2 -> /sys/class/net/eth2
/sys/class/net/bond0/speed = 10000
/sys/class/net/bond0.7/uevent:
    DEVTYPE=vlan
    INTERFACE=bond0.7
/sys/class/net/bond0.7/lower_bond0 -> /sys/class/net/bond0
/sys/class/net/br0/bridge/stp_state = 0
/sys/class/net/br0/brif/veth1/state = 3
/sys/devices/virtual/net/veth1/speed = 10000
/sys/devices/virtual/net/veth1/duplex = full
/sys/class/net/veth1 -> /sys/devices/virtual/net/veth1
/.brickyard/ethtool/veth1.json = {"driver":"veth","megabits_per_s":10000,"modes":[12]}
/sys/class/net/vnet/type = 1
/sys/class/net/vnet/device/driver -> /sys/bus/virtio/drivers/virtio_net
/sys/class/net/ib0/type = 32
"#;

fn interfaces(host: &Host) -> (Vec<Interface>, Vec<Unread>) {
    let mut reading = Reading::new(host);
    let interfaces = read(&mut reading);
    (interfaces, reading.into_unread())
}

#[test]
fn interfaces_are_read_with_what_they_answer() {
    let recording = Recording::unpack(TREE);
    let (all, unread) = interfaces(&recording.host());
    let kinds: Vec<(&str, &str)> =
        all.iter().map(|one| (one.name.as_str(), one.kind.as_str())).collect();
    let expected = [
        ("bond0", "bond"),
        ("bond0.7", "vlan"),
        ("br0", "bridge"),
        ("eth2", "ethernet"),
        ("eth3", "ethernet"),
        ("ib0", "infiniband"),
        ("veth1", "veth"),
        ("vnet", "virtio"),
    ];
    assert_eq!(kinds, expected, "no loopback, no file");
    let card = Interface {
        name: "eth2".into(),
        kind: "ethernet".into(),
        state: Some("up".into()),
        bits_per_s: Some(10e9),
        max_bits_per_s: Some(10e9),
        duplex: Some("full".into()),
        mtu_bytes: Some(9000),
        driver: Some("ixgbe".into()),
        versions: Some("driver 5.1, firmware 0x61bf".into()),
        controller: Some("0000:04:00.0".into()),
        numa_node: Some(1),
        rx_queues: Some(2),
        tx_queues: Some(1),
        rings: Some(Rings { rx: 512, rx_max: 4096, tx: 256, tx_max: 4096 }),
        offloads: vec!["generic-receive-offload".into()],
        coalescing: vec![("rx-usecs".into(), 1)],
        below: vec![],
        interrupts: vec![Interrupt { number: 70, name: "eth2-TxRx-0".into(), cpus: "5".into() }],
        qdisc: Some("mq".into()),
        shaped: None,
    };
    assert_eq!(all[3], card);
    assert_eq!((all[0].below.as_slice(), all[0].bits_per_s), (&card_and_port()[..], Some(10e9)));
    assert_eq!((all[1].below.join(","), all[2].below.join(",")), ("bond0".into(), "veth1".into()));
    // A port without cable has no speed, and a recording that is cut off is said to be.
    assert_eq!((all[4].bits_per_s, all[4].duplex.as_deref(), all[4].rings), (None, None, None));
    assert_eq!((unread.len(), unread[0].place.as_str()), (1, "/.brickyard/ethtool/eth3.json"));
    let veth = &all[6];
    assert_eq!((veth.bits_per_s, veth.max_bits_per_s, &veth.duplex), (None, None, &None));
}

fn card_and_port() -> [String; 2] {
    ["eth2".to_owned(), "eth3".to_owned()]
}

#[test]
fn a_broken_recording_yields_no_numbers() {
    let huge = "9".repeat(2 << 20);
    let json = r#"{"megabits_per_s":10000,"modes":[12],"rings":[1,2,3,4]}"#;
    let mut broken: Vec<&str> = (0..json.len()).map(|end| &json[..end]).collect();
    broken.extend(["-1", "0", "4294967295", "99999999999", "\u{fffd}", "1e3", &huge, "[]", "null"]);
    for text in broken {
        let files = ["speed", "mtu", "duplex", "type", "operstate", "device/numa_node"];
        let tree: String =
            files.iter().map(|file| format!("/sys/class/net/x/{file} = {text}\n")).collect();
        let recording = Recording::unpack(&format!("{tree}/.brickyard/ethtool/x.json = {text}\n"));
        let (all, _) = interfaces(&recording.host());
        let [one] = &all[..] else { panic!("one interface") };
        assert_eq!((one.bits_per_s, one.max_bits_per_s), (None, None), "{text:.30}");
        assert_eq!((one.rings, &one.duplex), (None, &None), "{text:.30}");
    }
}

#[test]
fn an_interface_of_this_machine_says_what_can_be_recorded() {
    let host = Host::live();
    let (all, unread) = interfaces(&host);
    assert_eq!(unread, []);
    for one in &all {
        let text = ask_live(&host, &one.name).unwrap();
        let answer: EthtoolReport = serde_json::from_str(&text).unwrap();
        assert_eq!(answer.features, ethtool::ask(&one.name).unwrap().features);
        assert_eq!(answer.qdisc, one.qdisc);
        assert!(one.mtu_bytes.is_some() && one.state.is_some(), "{one:?}");
        assert!(one.driver.is_some(), "{one:?}");
        if one.kind == "virtio" {
            assert!(!one.interrupts.is_empty() && one.controller.is_some(), "{one:?}");
            assert!(one.rings.is_some() && !one.offloads.is_empty(), "{one:?}");
        }
    }
    assert!(ask_live(&host, "no-such-port").is_err());
    assert!(ask_live(&Recording::unpack("").host(), "eth0").is_err());
}
