//! (pure) Layouts for tests.

use crate::identity::Identity;
use crate::inventory::disk::Disk;
use crate::layout::Layout;

/// ext4 on so many disks of 10 GiB that are not there.
pub fn layout(volumes: &str, raid: &str, disks: usize) -> Layout {
    Layout {
        disks: (0..disks).map(disk).collect(),
        raid: raid.into(),
        volumes: volumes.into(),
        chunk_bytes: None,
        filesystem: "ext4".into(),
        mkfs_options: Vec::new(),
        mount_options: String::new(),
        properties: Vec::new(),
        journal: None,
        array_state: "clean".into(),
        snapshot: "none".into(),
        precondition: "none".into(),
        fsck: false,
        fstrim: false,
    }
}

fn disk(number: usize) -> Disk {
    let name = format!("loop{number}");
    Disk {
        named: format!("serial:S{number}"),
        node: format!("/dev/{name}").into(),
        size_bytes: 10 << 30,
        identity: Identity {
            name: name.clone(),
            number: Some(format!("7:{number}")),
            sequence: None,
            known_as: Some(format!("serial:S{number}")),
        },
        name,
    }
}
