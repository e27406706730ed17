//! What must not be in a recording that is sent, and what must stay.

use super::*;

fn masked(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    let kept = entries
        .iter()
        .map(|(path, text)| (path.to_string(), RecordedNode::File(text.as_bytes().to_vec())))
        .collect();
    let masked = Private::default().mask(kept);
    let text = |kept: RecordedNode| match kept {
        RecordedNode::File(bytes) => String::from_utf8_lossy(&bytes).trim().to_owned(),
        other => format!("{other:?}"),
    };
    masked.into_iter().map(|(path, kept)| (path, text(kept))).collect()
}

#[test]
fn serial_numbers_become_numbered_ones_of_the_same_length_wherever_they_stand() {
    let all = masked(&[
        ("/sys/block/sda/device/serial", "S3Z9NB0K\n"),
        ("/sys/block/sdb/device/serial", "S3Z9NB0L\n"),
        ("/sys/block/sdc/device/serial", "S3Z9NB0K\n"),
        ("/sys/block/sdd/device/serial", "0000000000\n"),
        ("/sys/block/sda/size", "12345678\n"),
        ("/proc/cmdline", "disk=S3Z9NB0K quiet"),
        ("/.brickyard/smartctl/sda.json", r#"{"a":{"serial_number":"S3Z9NB0K","wwn":{"id":7}}}"#),
    ]);
    let at = |name: &str| all[&format!("/sys/block/{name}/device/serial")].clone();
    assert_eq!((at("sda").as_str(), at("sdb").as_str()), ("SERIAL01", "SERIAL02"));
    assert_eq!((at("sda"), at("sdd").as_str()), (at("sdc"), "0000000000"));
    assert_eq!(all["/sys/block/sda/size"], "12345678");
    assert_eq!(all["/proc/cmdline"], "disk=SERIAL01 quiet");
    let said = &all["/.brickyard/smartctl/sda.json"];
    assert_eq!(said, r#"{"a":{"serial_number":"SERIAL01","wwn":null}}"#);
}

#[test]
fn addresses_and_identifiers_are_replaced_also_in_paths() {
    let uuid = "0a1b2c3d-1111-2222-3333-0123456789ab";
    let path = format!("/sys/fs/btrfs/{uuid}/label");
    let all = masked(&[
        ("/sys/class/net/eth0/address", "3c:ec:ef:12:34:56\n"),
        ("/sys/class/net/eth1/address", "00:00:00:00:00:00\n"),
        (
            "/sys/class/net/ib0/address",
            "80:00:00:48:fe:80:00:00:00:00:00:00:f4:52:14:03:00:12:34:56",
        ),
        (&path, "data"),
        ("/sys/a/wwid", "naa.5002538e40a1b2c3"),
        ("/sys/b/wwid", "t10.ATA     Samsung SSD 860 EVO  S3Z9NB0K"),
        ("/sys/c/sas_address", "0x500304801234567f"),
        ("/sys/d/sas_address", "0x500304801234567f"),
        ("/proc/sys/kernel/hostname", "alice-nas"),
        ("/sys/e/vpd_pg83", "whatever"),
    ]);
    assert_eq!(all["/sys/class/net/eth0/address"], "02:00:00:00:00:01");
    assert_eq!(all["/sys/class/net/eth1/address"], "00:00:00:00:00:00");
    assert_eq!(all["/sys/class/net/ib0/address"].split(':').count(), 20);
    assert!(!all["/sys/class/net/ib0/address"].contains("f4:52"));
    assert_eq!(all["/sys/fs/btrfs/00000000-0000-4000-8000-000000000001/label"], "data");
    assert_eq!(all["/sys/a/wwid"], "naa.5002538000000001");
    assert_eq!(all["/sys/b/wwid"], "t10.STANDIN000002");
    assert_eq!(all["/sys/c/sas_address"], all["/sys/d/sas_address"]);
    assert!(all["/sys/c/sas_address"].starts_with("0x5003048"));
    assert_eq!(all["/proc/sys/kernel/hostname"], "server");
    assert!(!all.contains_key("/sys/e/vpd_pg83"));
}

#[test]
fn servers_and_people_in_mounts_are_not_named() {
    let all = masked(&[(
        "/proc/self/mountinfo",
        "30 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
         31 1 0:40 / /n rw - nfs4 nas.example.org:/export rw,addr=10.1.2.3,clientaddr=10.1.2.4\n\
         32 1 0:41 / /c rw - cifs //files.example.org/home rw,username=alice,domain=EXAMPLE\n",
    )]);
    let text = &all["/proc/self/mountinfo"];
    assert_eq!(
        text,
        "30 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
         31 1 0:40 / /n rw - nfs4 server:/export rw,addr=private,clientaddr=private\n\
         32 1 0:41 / /c rw - cifs //server/home rw,username=private,domain=private"
    );
}

#[test]
fn what_a_disk_says_of_itself_loses_its_serial_number_only() {
    let words: Vec<String> = (0..256).map(|word| format!("{:04x}", word + 0x1000)).collect();
    let all = masked(&[("/sys/class/ata_device/dev1.0/x/ata_device/dev1.0/id", &words.join(" "))]);
    let id = all.values().next().unwrap();
    let told: Vec<&str> = id.split_ascii_whitespace().collect();
    assert_eq!(
        (told.len(), told[9], told[10], told[19], told[20]),
        (256, "1009", "0000", "0000", "1014")
    );
    assert_eq!((told[107], told[108], told[111], told[112]), ("106b", "0000", "0000", "1070"));
    let kept = BTreeMap::from([(
        "/a/vpd_pg80".to_owned(),
        RecordedNode::File(b"\0\x80\0\x0aAB12345678".to_vec()),
    )]);
    let RecordedNode::File(page) = &Private::default().mask(kept)["/a/vpd_pg80"] else { panic!() };
    assert_eq!(page, b"\0\x80\0\x0aSERIAL0001");
}

#[test]
fn a_recording_that_is_recorded_again_stays_as_it_is() {
    let once = masked(&[
        ("/a/serial", "S3Z9NB0K"),
        ("/b/serial", "WD-1234"),
        ("/n/address", "3c:ec:ef:12:34:56"),
    ]);
    let entries: Vec<(&str, &str)> = once.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    assert_eq!(masked(&entries), once);
}
