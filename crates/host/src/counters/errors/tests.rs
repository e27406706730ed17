//! Recorded texts of /sys, read twice.

use super::*;
use crate::inventory::recording::Recording;

fn device(name: &str) -> Device {
    let told = serde_json::json!({ "name": name, "number": "8:0", "kind": "stacked", "below": [],
        "size_bytes": 1, "transport": "" });
    serde_json::from_value(told).unwrap()
}

fn target(devices: &[&str]) -> Vec<Target> {
    let devices: Vec<Device> = devices.iter().map(|name| device(name)).collect();
    let named = Target {
        directory: "/srv".into(),
        filesystem: "ext4".into(),
        holding_filesystem: "ext4".into(),
        mount_point: "/srv".into(),
        mount_options: "rw".into(),
        source: "x".into(),
        on: Vec::new(),
        disks: Vec::new(),
        devices,
        total_bytes: None,
        available_bytes: None,
        read_only: false,
        process_io_reliable: true,
        remote: false,
        memory: false,
        ceiling: None,
        pool: None,
    };
    vec![named]
}

/// Each counter as `whose what: before, after`.
fn told(counted: &[Counted]) -> Vec<String> {
    let one = |it: &Counted| format!("{} {}: {:?}, {:?}", it.of, it.what, it.before, it.after);
    counted.iter().map(one).collect()
}

/// A SATA disk, an array on it and another, ext4 and btrfs, two memory controllers: as Linux 6.x
/// words them.
const MACHINE: &str = "\
/sys/class/block/sda/device/scsi_level = 6
/sys/class/block/sda/device/ioerr_cnt = 0x1f
/sys/class/block/sda/device/iotmo_cnt = 0x0
/sys/class/block/nvme0n1/device/model = x
/sys/class/block/md0/md/mismatch_cnt = 128
/sys/class/block/md0/md/dev-sda/errors = 3
/sys/class/block/md0/md/dev-sdb/errors = 0
/sys/class/block/md1/md/level = raid0
/sys/fs/ext4/md0/errors_count = 2
/sys/fs/ext4/features/meta_bg_resize = supported
/sys/fs/btrfs/features/raid56 = 0
/sys/fs/btrfs/0a1b/devices/sdc/
/sys/fs/btrfs/0a1b/devinfo/1/error_stats:
    write_errs 35
    read_errs 0
    flush_errs 1
    corruption_errs 7
    generation_errs 0
/sys/fs/btrfs/0a1b/devinfo/2/error_stats = invalid
/sys/fs/btrfs/2c3d/devices/sdx/
/sys/fs/btrfs/2c3d/devinfo/1/error_stats:
    write_errs 9
/sys/devices/system/edac/mc/mc0/ce_count = 12
/sys/devices/system/edac/mc/mc0/ue_count = 0
/sys/devices/system/edac/mc/mc1/ce_count = 0
/sys/devices/system/edac/mc/mc1/ue_count = unknown
/sys/devices/system/edac/mc/power/control = auto
";

#[test]
fn what_grew_between_two_readings_is_told_and_what_is_not_there_is_no_zero() {
    let machine = Recording::unpack(MACHINE);
    let host = machine.host();
    let before = Before::read(&host, &target(&["md0", "md1", "sda", "nvme0n1", "sdc", "sda"]));
    for (path, text) in [
        ("/sys/class/block/sda/device/ioerr_cnt", "0x21\n"),
        ("/sys/class/block/md0/md/mismatch_cnt", "0\n"),
        ("/sys/devices/system/edac/mc/mc0/ce_count", "13\n"),
        ("/sys/devices/system/edac/mc/mc1/ue_count", "1\n"),
        ("/sys/fs/ext4/md0/errors_count", "no number\n"),
    ] {
        host.write(path, text).unwrap();
    }
    let (counted, uncounted) = before.and_after();
    let expected = [
        "sda failed commands: Some(31), Some(33)",
        "sda timed-out commands: Some(0), Some(0)",
        "mc0 corrected memory errors: Some(12), Some(13)",
        "mc1 corrected memory errors: Some(0), Some(0)",
        "mc0 uncorrected memory errors: Some(0), Some(0)",
        "md0 file system errors: Some(2), None",
        "btrfs 0a1b device 1 write errors: Some(35), Some(35)",
        "btrfs 0a1b device 1 read errors: Some(0), Some(0)",
        "btrfs 0a1b device 1 flush errors: Some(1), Some(1)",
        "btrfs 0a1b device 1 wrong checksums: Some(7), Some(7)",
        "btrfs 0a1b device 1 wrong generations: Some(0), Some(0)",
        "md0 mismatched sectors: Some(128), Some(0)",
        "md0 sda corrected read errors: Some(3), Some(3)",
        "md0 sdb corrected read errors: Some(0), Some(0)",
        "mc1 uncorrected memory errors: None, Some(1)",
    ];
    assert_eq!(told(&counted), expected);
    let grown: Vec<String> =
        counted.iter().filter(|it| it.more().is_some()).map(Counted::to_string).collect();
    let expected = [
        "sda counted 2 more failed commands (31, then 33; ioerr_cnt)",
        "mc0 counted 1 more corrected memory error (12, then 13; ce_count)",
    ];
    assert_eq!(grown, expected, "one that fell, or was read once, is not said to have grown");
    assert_eq!(uncounted, ["file system errors (/sys/fs/ext4/md0/errors_count: it is no count)"]);
}

#[test]
fn links_of_nvme_drives_are_counted_at_both_ends() {
    let machine = Recording::open("qemu-nvme");
    let host = machine.host();
    let before = Before::read(&host, &target(&["nvme0n1"]));
    // The drive itself keeps none there, the bridge above it does.
    let ports = links::ports(&host, &["nvme0n1".to_owned()]).into_iter();
    let of =
        |port: links::LinkedFunction| (port.directory.join("aer_dev_correctable"), port.address);
    let (path, address) = ports.map(of).find(|(path, _)| host.exists(path)).unwrap();
    let text = host.read(&path).unwrap().replace("TOTAL_ERR_COR 0", "TOTAL_ERR_COR 4");
    host.write(&path, &text).unwrap();
    let (counted, uncounted) = before.and_after();
    let grown: Vec<&Counted> = counted.iter().filter(|it| it.more().is_some()).collect();
    assert_eq!(grown.len(), 1, "{counted:?}");
    let what = format!("{} counted 4 more correctable PCIe errors", address);
    assert!(grown[0].to_string().starts_with(&what), "{}", grown[0]);
    let fatal = counted.iter().filter(|it| it.what == "fatal PCIe errors");
    assert!(
        fatal.clone().count() >= 1 && fatal.clone().all(|it| it.is_known() && it.more().is_none())
    );
    assert!(
        uncounted.iter().any(|words| words.starts_with("corrected memory errors (/sys/devices")),
        "that machine counts none: {uncounted:?}"
    );
}

#[test]
fn what_drives_say_themselves_is_read_as_for_the_inventory() {
    let smart = |pending: u64| {
        let raw = |id: u64, value: u64| serde_json::json!({ "id": id, "raw": { "value": value } });
        let table = [raw(5, 8), raw(197, pending)];
        serde_json::json!({ "ata_smart_attributes": { "table": table } }).to_string()
    };
    let disk = "\
/sys/class/block/sda/device/scsi_level = 6
/.brickyard/smartctl/sda.json = ";
    let machine = Recording::unpack(&format!("{disk}{}\n", smart(2)));
    let host = machine.host();
    let mut targets = target(&["sda"]);
    targets[0].devices[0].transport = "sata".into();
    targets[0].devices[0].kind = facts::inventory::DeviceKind::Disk;
    let before = Before::read(&host, &targets);
    host.write("/.brickyard/smartctl/sda.json", &smart(5)).unwrap();
    let (counted, uncounted) = before.and_after();
    assert_eq!(
        told(&counted),
        ["sda reallocated sectors: Some(8), Some(8)", "sda pending sectors: Some(2), Some(5)"]
    );
    assert_eq!(counted[1].more(), Some(3));
    assert!(uncounted.iter().any(|words| words.starts_with("failed commands")), "{uncounted:?}");
    // A drive that no longer answers, and one that never did.
    let before = Before::read(&host, &targets);
    host.write("/.brickyard/smartctl/sda.json", "{").unwrap();
    let (counted, uncounted) = before.and_after();
    assert!(counted.iter().all(|it| it.after.is_none() && it.more().is_none()), "{counted:?}");
    assert!(uncounted[0].starts_with("the health of sda"), "{uncounted:?}");
}

#[test]
fn every_counter_of_a_drive_is_one_of_the_inventory() {
    let health = serde_json::to_value(facts::inventory::server::Health::default()).unwrap();
    for (key, _) in DRIVES {
        assert!(health.get(key).is_some(), "{key}");
    }
}

/// The front of `TOTAL_ERR_COR 12` is `TOTAL_ERR_COR 1`: a text that is cut off anywhere must give
/// the whole number or none.
#[test]
fn a_text_that_is_cut_off_or_hostile_gives_no_other_number() {
    let table = "RxErr 4\nTOTAL_ERR_COR_X 5\nTOTAL_ERR_COR 12\n";
    for (text, word, whole) in
        [(table, "TOTAL_ERR_COR", 12), ("0x1f0\n", "", 496), ("70\n", "", 70)]
    {
        assert_eq!(count(text.as_bytes(), word), Some(whole));
        for end in 0..text.len() {
            assert_eq!(count(&text.as_bytes()[..end], word), None, "{text} cut at {end}");
        }
    }
    let long = format!("{}\n", "9".repeat(5000));
    let hostile = [
        "",
        "\n",
        "0x\n",
        "0x-1\n",
        "0x+1\n",
        "-1\n",
        "+1\n",
        "1 2\n",
        "1\n2\n",
        "1.5\n",
        "\0\n",
        "0x10000000000000000\n",
        "18446744073709551616\n",
        "invalid\n",
        "\u{fffd}\n",
        &long,
    ];
    for text in hostile {
        assert_eq!(count(text.as_bytes(), ""), None, "{text:.20}");
        for name in ["TOTAL_ERR_COR", "write_errs"] {
            assert_eq!(count(text.as_bytes(), name), None, "{text:.20}");
            assert_eq!(
                count(format!("{name} {text}").as_bytes(), name),
                match text {
                    "1 2\n" | "1\n2\n" => Some(1),
                    _ => None,
                }
            );
        }
    }
    // Longer than a page, which is where reading ends.
    let machine = Recording::unpack(MACHINE);
    let host = machine.host();
    host.write("/sys/devices/system/edac/mc/mc0/ce_count", &long).unwrap();
    let names = ["..", "", "a/b", "sda\0"];
    let (counted, _) = Before::read(&host, &target(&names)).and_after();
    assert!(counted.iter().all(|it| it.of.starts_with("mc")), "{counted:?}");
    assert!(!counted.iter().any(|it| it.of == "mc0" && it.from == "ce_count"), "{counted:?}");
}
