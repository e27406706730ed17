//! Drives of recorded machines.

use super::*;
use crate::inventory::recording::Recording;
use crate::inventory::{device, mounts};
use facts::inventory::server::Hop;

/// The drives of a machine, and what was not read.
fn drives(machine: &Recording) -> (Vec<Drive>, Vec<facts::inventory::server::Unread>) {
    let host = machine.host();
    let mounts = mounts(&host).unwrap_or_default();
    let devices = device::all(&host, &mounts);
    let mut reading = Reading::new(&host);
    let drives = read(&mut reading, &devices);
    (drives, reading.into_unread())
}

fn drive<'a>(drives: &'a [Drive], name: &str) -> &'a Drive {
    drives.iter().find(|drive| drive.name == name).unwrap()
}

const SATA: &str = include_str!("../../../../../../tests/fixtures/sys/sata.txt");

const HBA: &str = "/sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/host0";

/// Hand-written: an adapter with a wide port of four phys to an expander, behind it three disks: a
/// SAS drive (sda), a SATA disk at its full 6 Gb/s (sdb) and one that came up at 3 Gb/s (sdc); a
/// fourth drive (sdd) hangs on the adapter itself.
fn sas() -> String {
    let mut text = String::new();
    let mut add = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    let expander = format!("{HBA}/port-0:0/expander-0:0");
    let mut phy = |place: &str, port: &str, name: &str, now: &str, most: &str| {
        add(format!("{place}/{name}/sas_phy/{name}/negotiated_linkrate = {now}"));
        add(format!("{place}/{name}/sas_phy/{name}/maximum_linkrate_hw = {most}"));
        add(format!("/sys/class/sas_phy/{name} -> {place}/{name}/sas_phy/{name}"));
        add(format!("{place}/{port}/{name} -> {place}/{name}"));
    };
    for number in 0..4 {
        phy(HBA, "port-0:0", &format!("phy-0:{number}"), "12.0 Gbit", "12.0 Gbit");
    }
    phy(HBA, "port-0:1", "phy-0:4", "12.0 Gbit", "22.5 Gbit");
    let rates = ["12.0 Gbit", "6.0 Gbit", "3.0 Gbit"];
    for (number, rate) in rates.iter().enumerate() {
        let port = format!("port-0:0:{number}");
        phy(&expander, &port, &format!("phy-0:0:{number}"), rate, "12.0 Gbit");
    }
    let held = format!("{expander}/phy-0:0:0/sas_phy/phy-0:0:0/maximum_linkrate");
    add(format!("{held} = 6.0 Gbit"));
    let mut disk = |name: &str, number: u32, place: &str, vendor: &str| {
        let scsi = format!("{place}/target0:0:{number}/0:0:{number}:0");
        let block = format!("{scsi}/block/{name}");
        add(format!("{block}/dev = 8:{}", number * 16));
        add(format!("{block}/size = 7814037168"));
        add(format!("{block}/queue/rotational = 1"));
        add(format!("{block}/queue/nr_requests = 256"));
        add(format!("{block}/queue/discard_max_bytes = 0"));
        add(format!("{block}/mq/0/cpu_list = 0, 1"));
        add(format!("{block}/device -> {scsi}"));
        add(format!("/sys/class/block/{name} -> {block}"));
        add(format!("{scsi}/vendor = {vendor}"));
        add(format!("{scsi}/rev = SN03"));
        // Of one the kernel was told otherwise than it says.
        let own = if name == "sda" { "write back" } else { "write through" };
        add(format!("{scsi}/scsi_disk/0:0:{number}:0/cache_type = {own}"));
        add(format!("{scsi}/wwid = naa.5000c500a1b2c3d{number}"));
        if vendor == "ATA" {
            add(format!("{scsi}/vpd_pg89 = hex {}", identify_page(0x850e, 7200)));
        } else {
            add(format!("{scsi}/vpd_pgb1 = hex 00b1003c2a300000"));
        }
    };
    for (number, name) in ["sda", "sdb", "sdc"].iter().enumerate() {
        let end = format!("{expander}/port-0:0:{number}/end_device-0:0:{number}");
        disk(name, number as u32, &end, if number == 0 { "SEAGATE" } else { "ATA" });
    }
    disk("sdd", 3, &format!("{HBA}/port-0:1/end_device-0:1"), "HGST");
    text
}

/// Page 0x89 of the vital product data around IDENTIFY DEVICE data with three words set.
fn identify_page(speeds: u16, rotation: u16) -> String {
    let mut page = vec![0u8; 60 + 512];
    page[1] = 0x89;
    page[60 + 46..60 + 54].copy_from_slice(b"NS30    ");
    page[60 + 152..60 + 154].copy_from_slice(&speeds.to_le_bytes());
    page[60 + 434..60 + 436].copy_from_slice(&rotation.to_le_bytes());
    page.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_disk_behind_an_expander_is_followed_through_the_wide_port() {
    let (drives, _) = drives(&Recording::unpack(&sas()));
    let sda = drive(&drives, "sda");
    assert_eq!(sda.controller.as_deref(), Some("0000:3b:00.0"));
    assert_eq!(sda.vendor.as_deref(), Some("SEAGATE"));
    assert_eq!(sda.firmware.as_deref(), Some("SN03"));
    assert_eq!(sda.wwid.as_deref(), Some("naa.5000c500a1b2c3d0"));
    assert_eq!((sda.queues, sda.queue_depth), (Some(1), Some(256)));
    assert_eq!(sda.own_write_cache.as_deref(), Some("write back"));
    let of_sdb = drive(&drives, "sdb").own_write_cache.clone();
    assert_eq!(of_sdb.as_deref(), Some("write through"));
    assert_eq!((sda.rpm, sda.discard_bytes), (Some(10_800), Some(0)));
    let wide = Hop {
        name: "HBA to expander".to_owned(),
        bits_per_s: Some(12e9),
        max_bits_per_s: Some(12e9),
        held_to_bits_per_s: None,
        lanes: 4,
        id: "port-0:0".to_owned(),
        place: "/sys/class/sas_phy/phy-0:0/negotiated_linkrate".to_owned(),
    };
    let own = Hop {
        name: "expander to disk".to_owned(),
        bits_per_s: Some(12e9),
        // What a SAS drive could do is not told.
        max_bits_per_s: None,
        held_to_bits_per_s: Some(6e9),
        lanes: 1,
        id: "port-0:0:0".to_owned(),
        place: "/sys/class/sas_phy/phy-0:0:0/negotiated_linkrate".to_owned(),
    };
    assert_eq!(sda.links, [wide.clone(), own]);
    assert_eq!(drive(&drives, "sdc").links[0], wide, "all share the wide port");
}

#[test]
fn a_slow_disk_is_not_a_slow_link_and_a_slow_link_is_seen() {
    let (drives, _) = drives(&Recording::unpack(&sas()));
    let last = |name: &str| {
        let hop = drive(&drives, name).links.last().unwrap().clone();
        (hop.bits_per_s, hop.max_bits_per_s)
    };
    // 6 Gb/s on an expander of 12 is all that a SATA disk can do.
    assert_eq!(last("sdb"), (Some(6e9), Some(6e9)));
    assert_eq!(last("sdc"), (Some(3e9), Some(6e9)));
    let sdb = drive(&drives, "sdb");
    // `ATA` is no maker; the firmware has eight letters, of which SCSI shows four.
    assert_eq!((sdb.vendor.as_deref(), sdb.firmware.as_deref()), (None, Some("SN03")));
    assert_eq!(sdb.rpm, Some(7200));
    let sdd = drive(&drives, "sdd");
    assert_eq!((sdd.links.len(), sdd.links[0].name.as_str()), (1, "HBA to disk"));
}

#[test]
fn a_phy_that_is_down_or_a_file_of_nonsense_is_no_rate() {
    let broken = [
        ("12.0 Gbit", "Phy disabled"),
        ("12.0 Gbit", "Unknown"),
        ("12.0 Gbit", "-12.0 Gbit"),
        ("12.0 Gbit", "1e999 Gbit"),
        ("negotiated_linkrate = 12.0 Gbit", "negotiated_linkrate = hex ff00fe"),
    ];
    for (from, to) in broken {
        let (drives, _) = drives(&Recording::unpack(&sas().replace(from, to)));
        let wide = &drive(&drives, "sda").links[0];
        assert_eq!((wide.bits_per_s, wide.lanes), (None, 0), "{to}");
    }
}

#[test]
fn what_a_sas_disk_cannot_exceed_is_the_narrowest_of_its_links() {
    let machine = Recording::unpack(&sas());
    let devices = device::all(&machine.host(), &[]);
    let ceiling = |name: &str| {
        let disk = devices.iter().find(|device| device.name == name).unwrap();
        (disk.link.clone().unwrap(), disk.ceiling.as_ref().unwrap().bytes_per_s)
    };
    assert_eq!(ceiling("sda"), ("SAS at 12 Gb/s".to_owned(), Some(1200e6)));
    assert_eq!(ceiling("sdc"), ("SAS at 3 Gb/s".to_owned(), Some(300e6)));
    let machine = Recording::unpack(&sas().replace("12.0 Gbit", "22.5 Gbit"));
    let devices = device::all(&machine.host(), &[]);
    let sda = devices.iter().find(|device| device.name == "sda").unwrap();
    assert_eq!(sda.ceiling.as_ref().unwrap().bytes_per_s, Some(2400e6));
    let narrow = sas().replace("negotiated_linkrate = 12.0 Gbit", "negotiated_linkrate = Unknown");
    let machine = Recording::unpack(&narrow);
    let devices = device::all(&machine.host(), &[]);
    let sdc = devices.iter().find(|device| device.name == "sdc").unwrap();
    assert_eq!(sdc.link, None, "one of its links is not known");
}

#[test]
fn a_sata_link_below_both_its_ends_is_seen() {
    let port = "/sys/devices/pci0000:00/0000:00:1f.2/ata2/host1";
    let more = format!(
        "/sys/class/scsi_host/host1/ahci_host_caps = e734ff43\n\
         /sys/class/ata_port/ata2/port_no = 4\n\
         /sys/class/ata_link/link2/sata_spd_limit = 3.0 Gbps\n\
         /sys/class/ata_link/link1/sata_spd_limit = <unknown>\n\
         {port}/target1:0:0/1:0:0:0/vpd_pg89 = hex {}\n",
        identify_page(0x0e, 5400)
    );
    let sata = SATA.to_owned() + &more;
    let (read, unread) = drives(&Recording::unpack(&sata));
    let sdb = drive(&read, "sdb");
    assert_eq!(sdb.controller.as_deref(), Some("0000:00:1f.2"));
    assert_eq!((sdb.rpm, sdb.links.len()), (Some(5400), 1));
    let link = &sdb.links[0];
    assert_eq!((link.name.as_str(), link.id.as_str()), ("SATA port 4", "link2"));
    assert_eq!((link.bits_per_s, link.max_bits_per_s), (Some(3e9), Some(6e9)));
    assert_eq!(link.held_to_bits_per_s, Some(3e9), "the kernel gave up on 6 Gb/s");
    assert_eq!(link.place, "/sys/class/ata_link/link2/sata_spd");
    let sda = &drive(&read, "sda").links[0];
    assert_eq!((sda.bits_per_s, sda.max_bits_per_s), (Some(6e9), None), "nobody tells");
    assert_eq!(sda.held_to_bits_per_s, None);
    assert_eq!((drive(&read, "sda").rpm, drive(&read, "sdc").rpm), (Some(7200), None));
    // A RAID card's volume hangs on it without a link that is shown; loop devices are no drives.
    assert!(drive(&read, "sdr").links.is_empty());
    assert_eq!(drive(&read, "sdr").controller.as_deref(), Some("0000:02:00.0"));
    assert!(read.iter().all(|drive| !drive.name.starts_with("loop")));
    let silent = unread.iter().find(|unread| unread.place.contains("smartctl")).unwrap();
    assert_eq!(silent.what, "the health of sda, sdb, sdc, sdr");
    assert_eq!(silent.why, "the recording does not hold it");
}

#[test]
fn an_old_adapter_explains_a_slow_link() {
    let caps = "/sys/class/scsi_host/host1/ahci_host_caps = e724ff43\n";
    let port = "/sys/devices/pci0000:00/0000:00:1f.2/ata2/host1";
    let page = format!("{port}/target1:0:0/1:0:0:0/vpd_pg89 = hex {}\n", identify_page(0x0e, 0));
    let sata = SATA.to_owned() + caps + &page;
    let (drives, _) = drives(&Recording::unpack(&sata));
    let link = &drive(&drives, "sdb").links[0];
    assert_eq!((link.bits_per_s, link.max_bits_per_s), (Some(3e9), Some(3e9)));
}

#[test]
fn an_nvme_drive_hangs_on_its_function_and_tells_of_itself() {
    let (drives, _) = drives(&Recording::open("nvme"));
    let disk = drive(&drives, "nvme0n1");
    assert!(disk.links.is_empty());
    assert!(disk.controller.as_deref().is_some_and(is_pci_address), "{disk:?}");
}

#[test]
fn a_usb_disk_hangs_on_each_link_from_the_root_hub() {
    let place = "/sys/devices/pci0000:00/0000:00:14.0/usb2";
    let block = format!("{place}/2-1/2-1.4/2-1.4:1.0/host6/target6:0:0/6:0:0:0/block/sde");
    let text = format!(
        "{place}/speed = 10000\n{place}/2-1/speed = 5000\n{place}/2-1/2-1.4/speed = 480\n\
         {block}/size = 2048\n{block}/dev = 8:64\n/sys/class/block/sde -> {block}\n"
    );
    let (drives, _) = drives(&Recording::unpack(&text));
    let disk = drive(&drives, "sde");
    let links: Vec<(&str, Option<f64>)> =
        disk.links.iter().map(|link| (link.name.as_str(), link.bits_per_s)).collect();
    assert_eq!(
        links,
        [("USB port 2-1 to hub", Some(5e9)), ("USB port 2-1.4 to disk", Some(480e6))]
    );
    assert_eq!(disk.controller.as_deref(), Some("0000:00:14.0"));
    let devices = device::all(&Recording::unpack(&text).host(), &[]);
    assert_eq!(devices[0].link.as_deref(), Some("USB at 0.48 Gb/s"));
    assert_eq!(devices[0].ceiling.as_ref().unwrap().bytes_per_s, Some(60e6));
}

#[test]
fn only_an_address_is_an_address() {
    for address in ["0000:03:00.0", "10000:e1:00.0", "0000:ff:1f.7"] {
        assert!(is_pci_address(address), "{address}");
    }
    for name in ["", "0:0:0:0", "pci0000:00", "0000:00:1f", "6:0:0:0", "2-1.4:1.0", "0000:é0:00.0"]
    {
        assert!(!is_pci_address(name), "{name}");
    }
}

#[test]
fn files_of_nonsense_become_no_numbers() {
    let nonsense = ["hex", "hex ff", "99999999999999999999999999", "-1", "0x10", "1.5", " "];
    for value in nonsense {
        let text: String = sas()
            .lines()
            .map(|line| match line.split_once(" = ") {
                Some((path, _)) if !path.ends_with("/size") => format!("{path} = {value}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let (drives, _) = drives(&Recording::unpack(&text));
        assert_eq!(drives.len(), 4);
        for drive in &drives {
            assert_eq!((drive.queue_depth, drive.discard_bytes, drive.rpm), (None, None, None));
            assert!(drive.links.iter().all(|link| link.bits_per_s.is_none()), "{value}: {drive:?}");
        }
        let huge = text.replace("/size = 7814037168", &format!("/size = {value}"));
        let machine = Recording::unpack(&huge);
        assert!(device::all(&machine.host(), &[]).is_empty(), "no size, no device: {value}");
    }
    let much = sas().replace("7814037168", &u64::MAX.to_string());
    assert!(device::all(&Recording::unpack(&much).host(), &[]).is_empty());
}

#[test]
fn hidden_paths_empty_loop_devices_and_idle_ram_disks_are_left_out() {
    let text = "/sys/class/block/ram0/size = 8192\n/sys/class/block/ram0/dev = 1:0\n\
                /sys/class/block/ram1/size = 8192\n/sys/class/block/ram1/dev = 1:1\n\
                /sys/class/block/ram2/size = 8192\n/sys/class/block/ram2/holders/md0/\n\
                /sys/class/block/nvme0c0n1/size = 8192\n/sys/class/block/nvme0c0n1/hidden = 1\n\
                /sys/class/block/loop0/size = 0\n\
                /proc/self/mountinfo:\n    30 1 1:1 / /mnt rw - ext4 /dev/ram1 rw\n";
    let machine = Recording::unpack(text);
    let mounts = mounts(&machine.host()).unwrap();
    let devices = device::all(&machine.host(), &mounts);
    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["ram1", "ram2"]);
    assert!(!devices.iter().any(is_drive), "memory is no drive");
}

#[test]
fn five_hundred_drives_are_read_in_time() {
    let mut text = String::new();
    for number in 0..500 {
        let end = format!("{HBA}/port-0:{number}/end_device-0:{number}");
        let block = format!("{end}/target0:0:{number}/0:0:{number}:0/block/sd{number}");
        text.push_str(&format!(
            "{block}/size = 2048\n/sys/class/block/sd{number} -> {block}\n\
             {HBA}/port-0:{number}/phy-0:{number}/\n\
             /sys/class/sas_phy/phy-0:{number}/negotiated_linkrate = 12.0 Gbit\n"
        ));
    }
    let machine = Recording::unpack(&text);
    // Of this thread alone, as other tests run at the same time.
    let cpu_ms = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        now.tv_sec * 1000 + now.tv_nsec / 1_000_000
    };
    let begun_ms = cpu_ms();
    let (drives, _) = drives(&machine);
    let took_ms = cpu_ms() - begun_ms;
    assert_eq!(drives.len(), 500);
    // Without optimisation; `inspect` has a second for everything.
    assert!(took_ms < 2000, "{took_ms} ms");
}
