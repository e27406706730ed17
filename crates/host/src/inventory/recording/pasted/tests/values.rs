//! What each kind of text tells, number by number.

use super::*;
use facts::inventory::Device;
use facts::inventory::pcie::Pace;
use facts::inventory::server::{Drive, Health};

fn health(name: &str) -> Health {
    read(name).drives[0].health.clone().unwrap()
}

fn drive(server: &Server, name: &str) -> (Device, Drive) {
    let device = server.devices.iter().find(|device| device.name == name).unwrap();
    let drive = server.drives.iter().find(|drive| drive.name == name).unwrap();
    (device.clone(), drive.clone())
}

/// The case of the issue: `mdadm --detail` was read as a machine of 0 CPUs and no disks.
#[test]
fn mdadm_tells_level_members_and_what_is_missing() {
    let whole = array("mdadm-raid5");
    assert_eq!((whole.name.as_str(), whole.level.as_deref()), ("md0", Some("raid5")));
    assert_eq!((whole.whole, whole.missing), (Some(3), Some(0)));
    assert_eq!(whole.members, ["vda1", "vda2", "vda3"]);
    assert_eq!((whole.chunk_bytes, whole.state.as_deref()), (Some(512 << 10), Some("clean")));
    assert_eq!(whole.busy_with, None);
    // 405504 KiB.
    assert_eq!(read("mdadm-raid5").devices[0].size_bytes, 415_236_096);
    let spare = array("mdadm-raid1-faulty-spare");
    assert_eq!((spare.whole, spare.missing, spare.members.len()), (Some(2), Some(1), 3));
    assert_eq!((spare.busy_with.as_deref(), spare.done_share), (Some("recover"), Some(0.24)));
    let removed = array("mdadm-raid1-faulty-removed");
    assert_eq!((removed.missing, removed.members), (Some(1), vec!["vda1".to_owned()]));
    let striped = array("mdadm-raid0");
    assert_eq!((striped.whole, striped.missing), (Some(2), None));
    assert_eq!(array("mdadm-container").level.as_deref(), Some("container"));
}

/// Of RAID 6 two members are parity: 3 of 5 KiB are data.
#[test]
fn sizes_and_counts_of_an_array_that_cannot_be_are_refused() {
    let sound = text("mdadm-raid5");
    for (from, to, word) in [
        ("Raid Level : raid5", "Raid Level : raid6", "a raid6 of 3 devices"),
        ("Raid Devices : 3", "Raid Devices : 4", "one of them is wrong"),
        ("Active Devices : 3", "Active Devices : 2", "its table has 3"),
        ("State : clean", "State : clean, degraded", "one of them is wrong"),
        ("active sync   /dev/vda3", "faulty   /dev/vda3", "its table has"),
    ] {
        let changed = sound.replace(from, to);
        assert_ne!(changed, sound, "{from}");
        let why = of(&changed).unwrap_err();
        assert!(why.contains(word), "{from}: {why}");
    }
    let six = sound
        .replace("raid5", "raid6")
        .replace("Array Size : 405504 (396.00 MiB 415.24 MB)", "Array Size : 202752 (198 MiB)");
    assert_eq!(of(&six).unwrap().arrays[0].level.as_deref(), Some("raid6"));
    // Both disks of a RAID 6 of four may be gone.
    let two = six
        .replace("Raid Devices : 3", "Raid Devices : 5")
        .replace("Array Size : 202752 (198 MiB)", "Array Size : 608256 (594 MiB)");
    let two = two.replace("State : clean", "State : clean, degraded");
    let two = of(&two).unwrap().arrays[0].clone();
    assert_eq!((two.whole, two.missing), (Some(5), Some(2)));
    let examine = "/dev/md0:\n          Magic : a92b4efc\n        Version : 1.2\n\
                   Raid Level : raid1\n";
    assert!(of(examine).unwrap_err().contains("--detail"));
}

#[test]
fn mdstat_tells_the_same_of_every_array() {
    let server = read("mdstat");
    let told = server.arrays.iter();
    let told: Vec<_> =
        told.map(|it| (it.name.as_str(), it.level.as_deref(), it.whole, it.missing)).collect();
    let due = [
        ("md10", Some("raid0"), Some(2), None),
        ("md126", Some("raid0"), Some(2), None),
        ("md127", Some("raid1"), Some(2), Some(0)),
        ("md201", Some("raid1"), Some(2), Some(0)),
        ("md219", Some("container"), None, None),
        ("md42", Some("raid5"), Some(3), Some(1)),
        ("md6", Some("raid1"), Some(2), Some(1)),
        ("md7", Some("raid6"), Some(4), Some(1)),
    ];
    assert_eq!(told, due);
    let of_name = |name: &str| server.arrays.iter().find(|it| it.name == name).unwrap();
    assert_eq!(of_name("md42").busy_with.as_deref(), Some("reshape"));
    assert_eq!(of_name("md6").busy_with.as_deref(), Some("recover"));
    let done = of_name("md6").done_share.unwrap();
    assert!((done - 16_775_552.0 / 195_310_144.0).abs() < 1e-12);
    let wrong = text("mdstat").replace("[4/3] [U_UU]", "[4/3] [UUUU]");
    assert!(of(&wrong).unwrap_err().contains("do not agree"));
}

#[test]
fn lspci_tells_links_with_both_ends_packets_and_drivers() {
    let server = read("lspci-flit");
    let [nvme] = &server.pci[..] else { panic!("one function") };
    let pace = Some(Pace { gt_per_s: 8.0, lanes: 4 });
    assert_eq!(nvme.link.map(|link| (link.current, link.max)), Some((pace, pace)));
    assert_eq!((nvme.kind.as_str(), nvme.driver.as_deref()), ("NVMe controller", Some("nvme")));
    assert_eq!((nvme.payload_bytes, nvme.read_request_bytes), (Some(128), Some(512)));
    assert_eq!(nvme.aspm.as_deref(), Some("L1"));
    let server = read("lspci-vv-server");
    let of_address = |address: &str| server.pci.iter().find(|it| it.address == address).unwrap();
    assert_eq!(of_address("0000:01:00.0").parent.as_deref(), Some("0000:00:1c.0"));
    // A port without a card: x0 now.
    let empty = of_address("0000:00:1c.2").link.unwrap();
    assert_eq!((empty.current, empty.max.map(|pace| pace.lanes)), (None, Some(1)));
    // Without root nothing is told of links, and without -nn of numbers.
    let p6t6 = read("lspci-p6t6");
    assert_eq!(p6t6.pci.len(), 53);
    assert!(p6t6.pci.iter().all(|function| function.link.is_none()));
    assert!(p6t6.unread.iter().any(|it| it.what.starts_with("the links of PCI functions")));
}

/// "(downgraded)" stands behind speed and width; the ceiling is what it runs at.
#[test]
fn a_downgraded_link_is_told_with_what_it_could_do() {
    let text = "# lspci -vvv -nn\n\
        00:01.0 PCI bridge [0604]: Intel Corporation Port [8086:3c02] (rev 07) (prog-if 00)\n\
        \tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n\
        \tCapabilities: [90] Express (v2) Root Port (Slot+), MSI 00\n\
        \t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1\n\
        \t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4 (downgraded)\n\
        01:00.0 Non-Volatile memory controller [0108]: Maker Drive [144d:a80a] (prog-if 02 [X])\n\
        \tSubsystem: Maker Board [144d:a801]\n\tPhysical Slot: 3\n\tNUMA node: 1\n\
        \tCapabilities: [70] Express (v2) Endpoint, MSI 00\n\
        \t\tLnkCap:\tPort #0, Speed 16GT/s, Width x4, ASPM L1\n\
        \t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x4 (ok)\n";
    let server = of(text).unwrap();
    let [bridge, card] = &server.pci[..] else { panic!("two functions") };
    let pace = |gt_per_s, lanes| Some(Pace { gt_per_s, lanes });
    let link = bridge.link.unwrap();
    assert_eq!((link.current, link.max), (pace(8.0, 4), pace(16.0, 16)));
    let link = card.link.unwrap();
    assert_eq!((link.current, link.max), (pace(8.0, 4), pace(16.0, 4)));
    assert_eq!((card.vendor, card.device), (0x144d, 0xa80a));
    assert_eq!((card.subsystem, card.numa_node), (Some((0x144d, 0xa801)), Some(1)));
    assert_eq!((card.slot.as_deref(), card.parent.as_deref()), (Some("3"), Some("0000:00:01.0")));
    assert_eq!(card.name.as_deref(), Some("Maker Drive"));
    // The drive of the card has the card's link as its ceiling: 8 GT/s x4 after the line code.
    let list = super::text("nvme-list-json-2").replace("0000:02:00.0", "0000:01:00.0");
    let server = of(&format!("{text}{list}")).unwrap();
    let (device, drive) = drive(&server, "nvme0n1");
    assert_eq!(drive.controller.as_deref(), Some("0000:01:00.0"));
    let ceiling = device.ceiling.unwrap();
    assert_eq!(ceiling.bytes_per_s.unwrap().round(), 3_938_461_538.0);
    // Of a function whose first line is lost nothing goes to the one before.
    let lost: String = text
        .lines()
        .filter(|it| !it.starts_with("01:00.0"))
        .fold(String::new(), |all, line| all + line + "\n");
    assert!(of(&lost).unwrap_err().contains("elsewhere"));
}

#[test]
fn lsblk_tells_disks_and_what_lies_on_them() {
    let server = read("lsblk-multipath");
    let data = server.arrays.iter().find(|it| it.name == "dm-7").unwrap();
    assert_eq!(data.alias.as_deref(), Some("/dev/mapper/appdg-app"));
    assert_eq!((data.disks.len(), data.missing), (6, None));
    let path = server.arrays.iter().find(|it| it.name == "dm-1").unwrap();
    assert_eq!((path.kind.as_str(), path.missing), ("multipath", None));
    let server = read("lsblk-all-columns");
    let (device, drive) = drive(&server, "sda");
    assert_eq!((device.size_bytes, device.rotational), (20 << 30, Some(true)));
    assert_eq!(device.model.as_deref(), Some("VMware Virtual S"));
    assert_eq!((device.scheduler.as_deref(), drive.queue_depth), (Some("deadline"), Some(128)));
    assert!(server.unread.iter().any(|it| it.what == "the exact sizes of disks"));
    let server = read("lsblk-raid");
    let raid = server.arrays.iter().find(|it| it.name == "md126").unwrap();
    assert_eq!((raid.members.join(" "), raid.missing), ("vda2 vdb2".to_owned(), None));
    let exact = read("lsblk-2.38-json");
    assert_eq!(exact.devices[0].size_bytes, 256 << 30);
    assert!(!exact.unread.iter().any(|it| it.what == "the exact sizes of disks"));
    let (vda, _) = super::values::drive(&exact, "vda");
    assert_eq!((vda.physical_block_bytes, vda.transport.as_str()), (Some(4096), "virtio"));
}

#[test]
fn lscpu_tells_cores_sockets_and_caches_as_far_as_it_does() {
    for name in ["lscpu-2.38", "lscpu-2.38-json"] {
        let processors = read(name).processors;
        assert_eq!((processors.sockets, processors.cores), (Some(1), Some(2)), "{name}");
        assert_eq!(processors.model.as_deref(), Some("AMD EPYC"));
        let caches: Vec<(u32, u64, u64, u64)> = processors
            .caches
            .iter()
            .map(|it| (it.level, it.size_bytes >> 10, it.cpus, it.count))
            .collect();
        assert_eq!(caches, [(1, 32, 1, 2), (1, 32, 1, 2), (2, 1024, 1, 2), (3, 32_768, 2, 1)]);
    }
    let old = read("lscpu-2.23");
    assert_eq!((old.processors.cores, old.processors.caches.len()), (Some(1), 0));
    assert_eq!(old.processors.smt.as_deref(), Some("on"));
    assert!(old.unread.iter().any(|it| it.what.contains("L2 4096K")));
    let offline = read("lscpu-offline").machine;
    assert_eq!((offline.cpus_online, offline.cpus_present), (1, 2));
    let wrong = text("lscpu-2.38").replace("list:                     0,1", "list:      0-3");
    assert!(of(&wrong).unwrap_err().contains("CPU(s) is not the 4"));
}

/// An i7-1370P has 14 cores, six of two threads: 28 CPUs by lscpu's numbers, and 20 there are. Its
/// sums of caches are of caches of two sizes.
#[test]
fn of_cores_of_two_kinds_lscpu_does_not_tell_single_caches() {
    let text = "Architecture: x86_64\nCPU(s): 20\nOn-line CPU(s) list: 0-19\n\
        Model name: 13th Gen Intel(R) Core(TM) i7-1370P\nThread(s) per core: 2\n\
        Core(s) per socket: 14\nSocket(s): 1\nL1d cache: 544 KiB (14 instances)\n\
        L2 cache: 11.5 MiB (8 instances)\nNUMA node(s): 1\nNUMA node0 CPU(s): 0-19\n";
    let server = of(text).unwrap();
    assert_eq!((server.processors.cores, server.machine.cpus_online), (Some(14), 20));
    assert_eq!(server.processors.caches, []);
    assert!(server.unread.iter().any(|it| it.what.contains("L1d 544 KiB (14 instances)")));
    // hwloc tells each.
    let processors = read("hwloc-intel-raptorlake-corei7-1370p").processors;
    let caches: Vec<(u32, u64, u64, u64)> = processors
        .caches
        .iter()
        .map(|it| (it.level, it.count, it.size_bytes >> 10, it.cpus))
        .collect();
    let due = [
        (1, 6, 48, 2),
        (1, 8, 32, 1),
        (1, 6, 32, 2),
        (1, 8, 64, 1),
        (2, 6, 1280, 2),
        (2, 2, 2048, 4),
        (3, 1, 24_576, 20),
    ];
    assert_eq!((caches, processors.cores), (due.to_vec(), Some(14)));
}

#[test]
fn smartctl_tells_health_link_and_turns_in_text_and_json() {
    let server = read("smartctl-sata-6.2");
    let (device, drive) = drive(&server, "sda");
    assert_eq!((device.size_bytes, device.transport.as_str()), (500_107_862_016, "sata"));
    assert_eq!((drive.rpm, drive.firmware.as_deref()), (Some(7200), Some("0002LIM1")));
    assert_eq!(device.link.as_deref(), Some("SATA at 6 Gb/s"));
    assert_eq!(device.ceiling.unwrap().bytes_per_s, Some(600e6));
    assert_eq!(drive.links[0].name, "SATA port");
    let health = drive.health.unwrap();
    assert_eq!((health.passed, health.celsius), (Some(true), Some(41.0)));
    assert_eq!((health.power_on_hours, health.link_errors), (Some(4273), Some(0)));
    assert_eq!((health.reallocated_sectors, health.pending_sectors), (Some(0), Some(0)));
    // A link that is slower than the disk could is told as it runs.
    let slow = text("smartctl-sata-6.2").replace("current: 6.0 Gb/s", "current: 3.0 Gb/s");
    let (device, _) = super::values::drive(&of(&slow).unwrap(), "sda");
    assert_eq!(device.ceiling.unwrap().bytes_per_s, Some(300e6));
    let json = super::values::health("smartctl-sata-7-json");
    assert_eq!((json.reallocated_sectors, json.power_on_hours), (Some(1), Some(44_670)));
    let sas = super::values::health("smartctl-sas-7-json");
    assert_eq!((sas.celsius, sas.critical_celsius), (Some(27.0), Some(85.0)));
    assert_eq!((sas.reallocated_sectors, sas.uncorrectable_sectors), (Some(0), Some(0)));
    let nvme = super::values::health("smartctl-nvme-7-json");
    assert_eq!((nvme.celsius, nvme.logged_errors), (Some(40.0), Some(14)));
    assert_eq!((nvme.used_share, nvme.power_on_hours), (Some(0.0), Some(20_701)));
    assert_eq!(read("smartctl-sas-6.2").drives[0].health, None);
    let why = &read("smartctl-sas-6.2").unread;
    assert!(why.iter().any(|it| it.why == "the device does not support SMART"), "{why:?}");
}

/// Its CRC errors were printed, in the millions, and nothing warned of them.
#[test]
fn errors_of_a_link_and_of_sectors_are_counted() {
    let bad = text("smartctl-sata-6.2")
        .replace(
            "199 UDMA_CRC_Error_Count    0x003e   200   200   000    Old_age   Always       \
                  -       0",
            "199 UDMA_CRC_Error_Count    0x003e   200   200   000    Old_age   \
                  Always       -       4311902",
        )
        .replace("result: PASSED", "result: FAILED!");
    let health = of(&bad).unwrap().drives[0].health.clone().unwrap();
    assert_eq!((health.link_errors, health.passed), (Some(4_311_902), Some(false)));
}

#[test]
fn a_disk_without_a_name_is_found_by_its_serial_number() {
    let server = read("nuc");
    assert_eq!(server.drives[0].name, "unnamed1");
    assert_eq!(server.devices[0].transport, "nvme");
    let health = server.drives[0].health.clone().unwrap();
    assert_eq!((health.warning_celsius, health.critical_celsius), (Some(75.0), Some(80.0)));
    assert_eq!((health.used_share, health.media_errors), (Some(0.16), Some(0)));
    assert_eq!((health.power_on_hours, health.logged_errors), (Some(17_196), Some(307)));
    assert!(server.unread.iter().any(|it| it.what.starts_with("the name of a disk")));
    // Its capacity is that of nvme list.
    let list = text("nvme-list2");
    let server = of(&format!("{}{list}", text("nuc"))).unwrap();
    let [drive] = &server.drives[..] else { panic!("one drive") };
    assert_eq!((drive.name.as_str(), drive.health.is_some()), ("nvme0n1", true));
    assert_eq!(server.devices[0].size_bytes, 512_110_190_592);
    assert!(!server.unread.iter().any(|it| it.what.starts_with("the name of a disk")));
}

#[test]
fn nvme_tells_drives_and_their_health() {
    let (device, drive) = drive(&read("nvme-list"), "nvme0n1");
    assert_eq!((device.size_bytes, device.logical_block_bytes), (1_920_000_000_000, Some(512)));
    assert_eq!(device.model.as_deref(), Some("SAMSUNG MZQL21T9HCJR-00A07"));
    assert_eq!(drive.firmware.as_deref(), Some("MPK7301Q"));
    let (device, _) = super::values::drive(&read("nvme-list-json-1"), "nvme0n1");
    assert_eq!(device.size_bytes, 536_870_912_000);
    // Old versions wrote sizes in 32 bits.
    let short = text("nvme-list-json-1")
        .replace("\"PhysicalSize\" : 536870912000", "\"PhysicalSize\" : -2147483648");
    assert_eq!(of(&short).unwrap().devices[0].size_bytes, 536_870_912_000);
    let (device, _) = super::values::drive(&read("nvme-list-json-2"), "nvme0n1");
    assert_eq!((device.size_bytes, device.transport.as_str()), (400_088_457_216, "nvme"));
    let log = super::values::health("nvme-smart-log");
    assert_eq!((log.celsius, log.power_on_hours), (Some(55.0), Some(2817)));
    assert_eq!((log.passed, log.source.as_str()), (Some(true), "nvme smart-log"));
    // 301 K are 28 degrees Celsius.
    let json = super::values::health("nvme-smart-log-json");
    assert_eq!((json.celsius, json.used_share), (Some(28.0), Some(0.15)));
    assert_eq!((json.power_on_hours, json.logged_errors), (Some(38_313), Some(17)));
}

#[test]
fn ethtool_and_ip_tell_of_interfaces() {
    let of_name = |name: &str| read(name).interfaces[0].clone();
    let settings = of_name("ethtool-2");
    assert_eq!((settings.bits_per_s, settings.max_bits_per_s), (Some(40e9), Some(56e9)));
    assert_eq!((settings.kind.as_str(), settings.duplex.as_deref()), ("ethernet", Some("full")));
    let rings = of_name("ethtool-g").rings.unwrap();
    assert_eq!((rings.rx, rings.rx_max, rings.tx, rings.tx_max), (200, 2047, 511, 511));
    let driver = of_name("ethtool-i");
    assert_eq!(driver.driver.as_deref(), Some("virtio_net"));
    assert_eq!(driver.controller.as_deref(), Some("0000:00:03.0"));
    assert_eq!(of_name("ethtool-c").coalescing[0], ("rx-usecs".to_owned(), 20));
    assert!(of_name("ethtool-k").offloads.contains(&"tcp-segmentation-offload".to_owned()));
    assert!(read("ethtool-s").unread.iter().any(|it| it.place == "ethtool -S"));
    let all = read("ip-d-addr").interfaces;
    let kinds: Vec<(&str, &str)> =
        all.iter().map(|it| (it.name.as_str(), it.kind.as_str())).collect();
    let due =
        [("enp0s31f6", "ethernet"), ("tun0", "sit"), ("wg0", "wireguard"), ("wwan0", "ethernet")];
    assert_eq!(kinds, due);
    assert_eq!((all[0].mtu_bytes, all[0].state.as_deref()), (Some(1500), Some("up")));
    assert_eq!(all[0].controller.as_deref(), Some("0000:00:1f.6"));
    assert_eq!(all[0].bits_per_s, None, "nobody told it");
}

/// The text of `ip link` is what people paste, and only its JSON was read.
#[test]
fn the_text_of_ip_tells_the_same_as_its_json() {
    let (text, json) = (read("ip-d-addr-text").interfaces, read("ip-d-link-json").interfaces);
    let known = |all: &[facts::inventory::server::Interface]| {
        let of = |it: &facts::inventory::server::Interface| {
            (it.name.clone(), it.kind.clone(), it.mtu_bytes, it.state.clone())
        };
        all.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(known(&text), known(&json));
    let names: Vec<&str> = text.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["br0", "mv0", "veth0", "veth1"]);
    assert_eq!((text[0].kind.as_str(), text[3].mtu_bytes), ("bridge", Some(1400)));
    // What has no driver or kind in it may be a card: nothing more is known of it.
    let plain = "2: eth0: <BROADCAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default\n    \
                 link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff\n";
    let server = of(plain).unwrap();
    assert_eq!(server.interfaces[0].mtu_bytes, Some(9000));
}

#[test]
fn dmidecode_tells_board_and_modules() {
    let firmware = read("dmidecode-hp").firmware;
    assert_eq!(firmware.product.as_deref(), Some("ProLiant DL380p Gen8"));
    assert_eq!(firmware.bios.as_deref(), Some("HP P70 (03/01/2013)"));
    let memory = read("dmidecode-memory").memory;
    let [first, second] = &memory.modules[..] else { panic!("two modules") };
    assert_eq!((first.size_bytes, first.kind.as_deref()), (Some(4 << 30), Some("DDR4")));
    assert_eq!((second.size_bytes, second.speed_mt_per_s), (Some(8 << 30), Some(3200)));
    assert_eq!(second.configured_mt_per_s, Some(2400));
    assert_eq!(first.part.as_deref(), Some("Samsung M471A5244CB0-CRC"));
    assert_eq!((first.data_bits, memory.channels), (Some(64), Some(2)));
    let slot = "# dmidecode 3.3\nHandle 0x0900, DMI type 9, 17 bytes\nSystem Slot Information\n\
        \tDesignation: PCIe Slot 3\n\tType: x8 PCI Express 3 x16\n\tCurrent Usage: In Use\n\
        \tBus Address: 0000:03:00.0\n\n";
    let slots = of(slot).unwrap().firmware.slots;
    assert_eq!((slots[0].lanes, slots[0].occupied), (Some(8), Some(true)));
    assert_eq!(slots[0].kind.as_deref(), Some("PCI Express Gen 3 x16"));
    assert_eq!(slots[0].address.as_deref(), Some("0000:03:00.0"));
}

#[test]
fn zpool_tells_levels_members_and_errors() {
    let sound = array("zpool-status-spares");
    assert_eq!((sound.level.as_deref(), sound.whole), (Some("mirror"), Some(8)));
    assert_eq!((sound.missing, sound.state.as_deref()), (Some(0), Some("online")));
    assert_eq!(sound.members[..2], ["sdh", "sdk"]);
    let degraded = array("zpool-status-v2");
    assert_eq!((degraded.missing, degraded.state.as_deref()), (Some(1), Some("degraded")));
    let broken = array("zpool-status-v3");
    assert_eq!((broken.errors, broken.missing), (Some(5), Some(1)));
    assert_eq!(broken.state.as_deref(), Some("unavail, errors in its data"));
    assert_eq!(read("zpool-status-v").arrays.len(), 3);
    let real = read("zpool-status-2.1");
    let vdevs = &real.zfs.as_ref().unwrap().pools[0].vdevs;
    let told: Vec<String> =
        vdevs.iter().map(|vdev| format!("{} {}", vdev.role.name(), vdev.name)).collect();
    assert_eq!(told, ["data mirror-0", "data mirror-1", "log /dev/vde1", "cache /dev/vdf1"]);
    assert_eq!(real.arrays[0].members, ["vda1", "vdb1", "vdc1", "vdd1"]);
    assert_eq!((real.arrays[0].missing, real.arrays[0].errors), (Some(0), Some(0)));
    let list = read("zpool-list");
    assert_eq!(list.arrays[0].state.as_deref(), Some("suspended"));
    let pool = &list.zfs.as_ref().unwrap().pools[0];
    assert_eq!((pool.size_bytes, pool.usage.allocated_bytes), (Some(9 << 29), Some(146 << 10)));
    assert_eq!((pool.usage.dedup_ratio, pool.usage.fragmented_share), (Some(1.0), Some(0.0)));
    assert!(list.unread.iter().any(|it| it.what == "the disks of the ZFS pool otus1"));
}

/// The table of `zfs get` and `zpool get`, as zfs(8) prints it; the values were made up.
#[test]
fn zfs_get_tells_how_datasets_are_set_beside_what_zpool_status_tells() {
    let status = text("zpool-status-v4");
    let get = "# zfs get all\nNAME       PROPERTY     VALUE       SOURCE\n\
               pool1      type         filesystem  -\npool1      recordsize   128K        default\n\
               pool1      sync         disabled    local\n\
               pool1@now  type         snapshot    -\n\
               # zpool get all pool1\nNAME   PROPERTY       VALUE  SOURCE\n\
               pool1  size           10.9T  -\npool1  allocated      10.1T  -\n\
               pool1  ashift         12     local\n";
    let server = of(&format!("{status}{get}")).unwrap();
    let pool = &server.zfs.as_ref().unwrap().pools[0];
    assert_eq!((pool.vdevs.len(), pool.vdevs[0].kind.as_str()), (2, "mirror"));
    assert_eq!((pool.ashift, pool.size_bytes), (Some(12), Some(11_984_676_742_758)));
    assert_eq!(pool.datasets.len(), 1);
    assert_eq!(
        (pool.datasets[0].block_bytes(), pool.datasets[0].get("sync")),
        (Some(131_072), Some("disabled"))
    );
    assert_eq!(server.arrays[0].level.as_deref(), Some("mirror"));
    let other = status.replace("mirror-1 ", "raidz1-1 ");
    assert!(of(&format!("{status}{other}")).unwrap_err().contains("one machine"));
}

#[test]
fn hwloc_tells_nodes_functions_disks_and_interfaces() {
    let server = read("hwloc-32em64t-2n8c");
    assert_eq!((server.processors.sockets, server.processors.cores), (Some(2), Some(16)));
    assert_eq!(server.processors.nodes[0].memory_bytes, Some(17_149_054_976));
    let (device, drive) = drive(&server, "nvme0n1");
    assert_eq!(device.size_bytes, 390_711_384 << 10);
    assert_eq!(drive.controller.as_deref(), Some("0000:00:02.0"));
    let names: Vec<&str> = server.interfaces.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["eth0", "eth1", "ib0"]);
    assert_eq!(server.interfaces[0].controller.as_deref(), Some("0000:02:00.0"));
    let old = read("hwloc-24em64t-2n6c2t-pci");
    assert_eq!((old.processors.cores, old.processors.nodes.len()), (Some(12), 2));
    assert_eq!(old.memory.total_bytes, Some(38_643_982_336));
    assert_eq!(old.firmware.product.as_deref(), Some("ProLiant SL390s G7"));
    let offline = read("hwloc-16em64t-4s2c2t-offlines");
    assert_eq!((offline.machine.cpus_online, offline.processors.sockets), (7, Some(4)));
}
