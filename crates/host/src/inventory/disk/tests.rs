//! Finds disks on recorded machines.

use super::*;
use crate::inventory::recording::Recording;

/// A server with a SATA disk that has a serial number, two NVMe namespaces that share one, a
/// virtual disk without, two loop devices and an array.
const MACHINE: &str = "\
/sys/devices/a/block/sda/dev = 8:0
/sys/devices/a/block/sda/size = 2048000
/sys/devices/a/block/sda/diskseq = 3
/sys/devices/a/block/sda/device/vpd_pg80 = hex 00800008 53455249414c2d41
/sys/devices/a/block/sda/device/wwid = naa.5000c500a1b2c3d4
/sys/devices/a/block/sda/sda1/partition = 1
/sys/devices/a/block/sda/sda1/dev = 8:1
/sys/block/sda -> /sys/devices/a/block/sda
/sys/class/block/sda -> /sys/devices/a/block/sda
/sys/class/block/sda1 -> /sys/devices/a/block/sda/sda1
/sys/devices/n/block/nvme0n1/dev = 259:0
/sys/devices/n/block/nvme0n1/size = 4096000
/sys/devices/n/block/nvme0n1/device/serial = SHARED
/sys/devices/n/block/nvme0n1/wwid = eui.01
/sys/block/nvme0n1 -> /sys/devices/n/block/nvme0n1
/sys/class/block/nvme0n1 -> /sys/devices/n/block/nvme0n1
/sys/devices/n/block/nvme0n2/dev = 259:1
/sys/devices/n/block/nvme0n2/size = 4096000
/sys/devices/n/block/nvme0n2/device/serial = SHARED
/sys/devices/n/block/nvme0n2/wwid = eui.02
/sys/block/nvme0n2 -> /sys/devices/n/block/nvme0n2
/sys/class/block/nvme0n2 -> /sys/devices/n/block/nvme0n2
/sys/devices/v/block/vdb/dev = 254:16
/sys/devices/v/block/vdb/size = 2097152
/sys/block/vdb -> /sys/devices/v/block/vdb
/sys/class/block/vdb -> /sys/devices/v/block/vdb
/sys/devices/v/block/vdc/dev = 254:32
/sys/devices/v/block/vdc/size = 2097152
/sys/block/vdc -> /sys/devices/v/block/vdc
/sys/class/block/vdc -> /sys/devices/v/block/vdc
/sys/devices/virtual/block/loop0/dev = 7:0
/sys/devices/virtual/block/loop0/size = 8192
/sys/devices/virtual/block/loop0/loop/backing_file = /srv/a.img
/sys/block/loop0 -> /sys/devices/virtual/block/loop0
/sys/class/block/loop0 -> /sys/devices/virtual/block/loop0
/sys/devices/virtual/block/loop1/dev = 7:1
/sys/devices/virtual/block/loop1/size = 8192
/sys/devices/virtual/block/loop1/loop/backing_file = /srv/twice.img
/sys/block/loop1 -> /sys/devices/virtual/block/loop1
/sys/class/block/loop1 -> /sys/devices/virtual/block/loop1
/sys/devices/virtual/block/loop2/dev = 7:2
/sys/devices/virtual/block/loop2/size = 8192
/sys/devices/virtual/block/loop2/loop/backing_file = /srv/twice.img
/sys/block/loop2 -> /sys/devices/virtual/block/loop2
/sys/class/block/loop2 -> /sys/devices/virtual/block/loop2
/sys/devices/virtual/block/md0/dev = 9:0
/sys/devices/virtual/block/md0/size = 8192
/sys/devices/virtual/block/md0/slaves/nvme0n1/
/sys/devices/virtual/block/md0/md/level = raid0
/sys/block/md0 -> /sys/devices/virtual/block/md0
/sys/class/block/md0 -> /sys/devices/virtual/block/md0
/srv/a.img = x
/srv/link.img -> /srv/a.img
/dev/sda = x
/dev/sda1 = x
/dev/nvme0n1 = x
/dev/vdb = x
/dev/vdc = x
/dev/loop0 = x
/dev/md0 = x
/dev/null = x
/srv/evil -> /dev/sda
/dev/disk/by-id/wwn-0x5000c500a1b2c3d4 -> /dev/sda
/dev/disk/by-id/ata-SERIAL-A-part1 -> /dev/sda1
/dev/disk/by-id/out -> /srv/a.img
/dev/disk/by-id/out-and-in -> /srv/evil
/dev/shm/trap -> /dev/sda
/dev/disk/by-id/trap -> /dev/shm/trap
/dev/disk/by-id/circle -> /dev/disk/by-id/circle
/dev/disk/by-id/dangling -> /dev/sdq
/dev/disk/by-id/null -> /dev/null
/dev/disk/by-id/md-name-x -> /dev/md0
/dev/disk/by-id/made-vdc -> /dev/vdc
/dev/disk/by-path/pci-1 -> /dev/vdb
";

#[test]
fn disks_are_found_by_what_tells_them_apart() {
    let machine = Recording::unpack(MACHINE);
    let host = machine.host();
    for (named, name) in [
        ("serial:SERIAL-A", "sda"),
        ("serial:naa.5000c500a1b2c3d4", "sda"),
        ("/dev/disk/by-id/wwn-0x5000c500a1b2c3d4", "sda"),
        ("serial:eui.02", "nvme0n2"),
        ("loop:/srv/a.img", "loop0"),
        ("loop:/srv/link.img", "loop0"),
        ("path:/dev/disk/by-path/pci-1,size=1073741824", "vdb"),
        ("path:/dev/vdb,size=1073741824", "vdb"),
        ("/dev/disk/by-id/made-vdc", "vdc"),
    ] {
        let disk = find(&host, named).unwrap_or_else(|error| panic!("{named}: {error}"));
        assert_eq!((disk.name.as_str(), disk.named.as_str()), (name, named));
        assert_eq!(disk.node, Path::new("/dev").join(name));
        assert!(disk.size_bytes > 0 && disk.identity.number.is_some(), "{disk:?}");
    }
    let sda = find(&host, "serial:SERIAL-A").unwrap();
    assert_eq!((sda.size_bytes, sda.identity.sequence.as_deref()), (2_048_000 * 512, Some("3")));
}

#[test]
fn every_other_name_is_refused_with_the_name_to_write() {
    let machine = Recording::unpack(MACHINE);
    let host = machine.host();
    for (named, why, hint) in [
        ("sda", "another disk", "write `serial:SERIAL-A`"),
        ("/dev/sda", "another disk", "write `serial:SERIAL-A`"),
        ("/dev/nvme0n1", "another disk", "write `serial:eui.01`"),
        ("vdb", "another disk", "`path:/dev/disk/by-path/pci-1,size=1073741824`"),
        ("/dev/sda1", "partition of sda", "`serial:SERIAL-A` for all of sda"),
        ("/dev/disk/by-id/ata-SERIAL-A-part1", "partition of sda", "serial:SERIAL-A"),
        ("path:/dev/sda1,size=5", "partition of sda", "serial:SERIAL-A"),
        ("/dev/disk/by-id/out", "leads to /srv/a.img, outside /dev", "disks of this machine"),
        ("/dev/disk/by-id/out-and-in", "leads to /srv/evil, outside", "disks of this machine"),
        ("/dev/disk/by-id/../../../srv/a.img", "outside /dev", "disks of this machine"),
        ("/dev/disk/by-id/trap", "leads to /dev/shm/trap, where anybody", "disks of this machine"),
        ("/dev/disk/by-id/circle", "circle", "disks of this machine"),
        ("/dev/disk/by-id/dangling", "there is no /dev/sdq", "disks of this machine"),
        ("/dev/disk/by-id/null", "no block device", "disks of this machine"),
        ("/dev/disk/by-id/none", "there is no", "`serial:SERIAL-A` (sda, 1000 MiB)"),
        ("/dev/disk/by-id/md-name-x", "made of other devices", "serial:eui.01"),
        ("serial:NONE", "no disk of this machine", "`serial:SERIAL-A` (sda, 1000 MiB)"),
        ("serial:", "no disk of this machine", "serial:SERIAL-A"),
        ("serial:SHARED", "nvme0n1 as `serial:eui.01` and nvme0n2 as", "one of them"),
        ("loop:/srv/none.img", "no loop device", "losetup --find --show /srv/none.img"),
        ("loop:a.img", "absolute", "loop:/"),
        ("loop:/srv/twice.img", "loop1 and loop2", "losetup -d"),
        ("path:/dev/vdb", "takes its size", "size=BYTES"),
        ("path:/dev/vdb,size=1GiB", "takes its size", "size=BYTES"),
        ("path:/dev/vdb,size=1073741825", "1073741824 bytes, not 1073741825", "the one that you"),
        ("path:/dev/sda,size=1048576000", "can be told", "write `serial:SERIAL-A`"),
        ("path:/dev/vdc,size=1073741824", "can be told", "write `/dev/disk/by-id/made-vdc`"),
        ("path:/dev/loop0,size=4194304", "can be told", "write `loop:/srv/a.img`"),
        ("path:/srv/evil,size=5", "outside /dev", "disks of this machine"),
        ("", "no name", "disks of this machine"),
        ("nonsense", "no name", "`loop:/srv/a.img` (loop0, 4.00 MiB)"),
    ] {
        let error = find(&host, named).expect_err(named);
        assert!(error.what.contains(&format!("`{named}`")), "{error}");
        assert!(error.why.contains(why), "{named}: {}", error.why);
        assert!(error.hint.as_ref().unwrap().contains(hint), "{named}: {:?}", error.hint);
    }
}

/// A new array is first read raw: what is read may be made of others. A part of a disk is read by
/// saying how much.
#[test]
fn what_is_only_read_may_be_an_array_and_is_no_partition() {
    let machine = Recording::unpack(MACHINE);
    let host = machine.host();
    let array = find_to_read(&host, "/dev/disk/by-id/md-name-x").unwrap();
    assert_eq!((array.name.as_str(), array.size_bytes), ("md0", 8192 * 512));
    assert_eq!(find_to_read(&host, "serial:SERIAL-A").unwrap().name, "sda");
    for (named, why, hint) in [
        ("/dev/md0", "another disk", "write `/dev/disk/by-id/md-name-x`"),
        ("/dev/sda1", "partition of sda", "file-size="),
        ("/dev/disk/by-id/ata-SERIAL-A-part1", "partition of sda", "file-size="),
        ("path:/dev/md0,size=4194304", "can be told", "md-name-x"),
        ("path:/dev/vdb,size=5", "1073741824 bytes, not 5", "the one that you"),
        ("serial:NONE", "no disk of this machine", "`serial:SERIAL-A` (sda, 1000 MiB)"),
        ("/srv/a.img", "no name of a disk", "disks of this machine"),
    ] {
        let error = find_to_read(&host, named).expect_err(named);
        assert!(error.why.contains(why), "{named}: {}", error.why);
        assert!(error.hint.as_ref().unwrap().contains(hint), "{named}: {:?}", error.hint);
    }
}

#[test]
fn a_machine_without_sys_has_no_disks_and_says_so() {
    let error = find(&Recording::unpack("").host(), "serial:X").unwrap_err();
    assert!(error.hint.unwrap().contains("no disk"));
}

/// What is offered in a hint can be written into a plan.
#[test]
fn the_names_that_are_offered_find_their_disk() {
    let machine = Recording::unpack(MACHINE);
    let host = machine.host();
    for name in ["sda", "nvme0n1", "nvme0n2", "vdb", "vdc", "loop0"] {
        assert_eq!(find(&host, &name_for_plan(&host, name)).unwrap().name, name);
    }
}

/// The serial number of a disk that the kernel's own iSCSI target serves was `LABvda` and a zero,
/// which no plan can name.
#[test]
fn a_serial_number_ends_before_the_zero_of_an_iscsi_target() {
    let text = MACHINE.replace("hex 00800008 53455249414c2d41", "hex 00800009 53455249414c2d4100");
    let machine = Recording::unpack(&text);
    let disk = find(&machine.host(), "serial:SERIAL-A").unwrap();
    assert_eq!(disk.name, "sda");
}
