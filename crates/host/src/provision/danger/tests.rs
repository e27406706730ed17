//! One machine for each danger, and one that has none.

#![expect(clippy::disallowed_methods, reason = "makes fixtures")]

use std::collections::BTreeSet;

use super::*;
use crate::inventory::recording::Recording;
use crate::sys::block;

mod real;

/// A server that runs from sda and has an empty disk, sdb; dm-0 is there for what lies on it.
const MACHINE: &str = "\
/proc/self/mountinfo:
    27 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
/proc/swaps:
    Filename				Type		Size		Used		Priority
/sys/devices/a/block/sda/dev = 8:0
/sys/devices/a/block/sda/size = 131072
/sys/devices/a/block/sda/device/serial = SYSTEM
/sys/devices/a/block/sda/sda1/partition = 1
/sys/devices/a/block/sda/sda1/dev = 8:1
/sys/block/sda -> /sys/devices/a/block/sda
/sys/class/block/sda -> /sys/devices/a/block/sda
/sys/class/block/sda1 -> /sys/devices/a/block/sda/sda1
/sys/dev/block/8:1 -> /sys/devices/a/block/sda/sda1
/dev/sda = x
/dev/sda1 = x
/sys/devices/b/block/sdb/dev = 8:16
/sys/devices/b/block/sdb/size = 131072
/sys/devices/b/block/sdb/ro = 0
/sys/devices/b/block/sdb/removable = 0
/sys/devices/b/block/sdb/diskseq = 2
/sys/devices/b/block/sdb/device/serial = TARGET
/sys/block/sdb -> /sys/devices/b/block/sdb
/sys/class/block/sdb -> /sys/devices/b/block/sdb
/sys/dev/block/8:16 -> /sys/devices/b/block/sdb
/sys/devices/virtual/block/loop5/dev = 7:5
/sys/devices/virtual/block/loop5/size = 131072
/sys/devices/virtual/block/loop5/loop/backing_file = /srv/image
/sys/block/loop5 -> /sys/devices/virtual/block/loop5
/sys/class/block/loop5 -> /sys/devices/virtual/block/loop5
/srv/image = x
/sys/devices/virtual/block/dm-0/dev = 254:0
/sys/devices/virtual/block/dm-0/size = 131072
/sys/devices/virtual/block/dm-0/slaves/sdb/
/sys/block/dm-0 -> /sys/devices/virtual/block/dm-0
/sys/class/block/dm-0 -> /sys/devices/virtual/block/dm-0
/sys/dev/block/254:0 -> /sys/devices/virtual/block/dm-0
/srv/store/
";

const SIZE_BYTES: u64 = 64 << 20;

/// A recorded machine, and what a plan asks of it.
struct Lab {
    machine: Recording,
    disks: Vec<Disk>,
    avoid: Vec<PathBuf>,
    blkid: String,
    open_alone: Option<fn(&Path) -> std::io::Result<()>>,
    _held: Option<std::fs::File>,
}

impl Lab {
    /// A machine as recorded with some lines more, and the disks of that name on it.
    fn with(machine: &str, named: &[&str]) -> Lab {
        let machine = Recording::unpack(machine);
        for name in ["sdb", "loop5"] {
            let node = std::fs::File::create(machine.host().path(format!("/dev/{name}")));
            node.unwrap().set_len(SIZE_BYTES).unwrap();
        }
        let found = |name: &&str| disk::find(&machine.host(), name).unwrap();
        let disks = named.iter().map(found).collect();
        let blkid = format!("{}/../../tests/fixtures/bin/blkid", env!("CARGO_MANIFEST_DIR"));
        Lab { machine, disks, avoid: Vec::new(), blkid, open_alone: None, _held: None }
    }

    fn sdb(more: &str) -> Lab {
        Lab::with(&format!("{MACHINE}{more}"), &["serial:TARGET"])
    }

    /// A machine on which blkid finds that.
    fn bearing(said: &str) -> Lab {
        Lab::sdb(&format!("/dev/sdb.blkid:\n    {said}\n"))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.machine.host().path(path)
    }

    fn put(&self, path: &str, text: &str) {
        std::fs::write(self.path(path), text).unwrap();
    }

    fn link(&self, path: &str, to: &str) {
        let path = self.path(path);
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(self.path(to), path).unwrap();
    }

    /// What is refused.
    fn refusals(&self, wipe: &[&str]) -> Vec<Refusal> {
        let host = self.machine.host();
        let wipe: Vec<String> = wipe.iter().map(|word| (*word).to_owned()).collect();
        let mut scene =
            Scene::look_with(&host, &self.disks, &wipe, &self.avoid, &self.blkid).unwrap();
        scene.open_alone = self.open_alone.unwrap_or(scene.open_alone);
        scene.seen().iter().flat_map(refusals_of).collect()
    }
}

const BY_ID: &str = "/dev/disk/by-id/x -> /dev/sdb\n";

fn named_by_link(more: &str) -> Lab {
    Lab::with(&format!("{MACHINE}{BY_ID}{more}"), &["/dev/disk/by-id/x"])
}

fn partition() -> Lab {
    let part = "/sys/devices/b/block/sdb/sdb1/dev = 8:17\n\
                /sys/devices/b/block/sdb/sdb1/partition = 1\n\
                /sys/class/block/sdb1 -> /sys/devices/b/block/sdb/sdb1\n";
    let mut lab = Lab::sdb(part);
    lab.disks[0].name = "sdb1".to_owned();
    lab
}

fn lost_name() -> Lab {
    let lab = named_by_link("");
    lab.link("/dev/disk/by-id/x", "/srv/image");
    lab
}

fn wrong_serial() -> Lab {
    let lab = named_by_link("");
    lab.link("/dev/disk/by-id/x", "/dev/sda");
    lab
}

fn not_a_device() -> Lab {
    let lab = Lab::sdb("");
    lab.link("/dev/sdb", "/srv/image");
    lab
}

fn swapped() -> Lab {
    let lab = Lab::sdb("");
    lab.put("/sys/block/sdb/diskseq", "9\n");
    lab
}

fn named_twice() -> Lab {
    Lab::with(&format!("{MACHINE}{BY_ID}"), &["serial:TARGET", "/dev/disk/by-id/x"])
}

/// A mount of that number and type, seen by a process.
fn mount(process: &str, number: &str, source: &str) -> Lab {
    let mut machine = MACHINE.to_owned();
    let line = format!("    33 27 {number} / /srv/data rw - ext4 {source} rw\n");
    if process == "self" {
        let root = "    27 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n";
        machine = machine.replace(root, &format!("{root}{line}"));
    } else {
        machine.push_str(&format!("/proc/{process}/mountinfo:\n{line}"));
    }
    Lab::with(&machine, &["serial:TARGET"])
}

fn below_root() -> Lab {
    let root = "27 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw";
    let machine = MACHINE.replace(root, "27 1 254:0 / / rw - ext4 /dev/mapper/root rw");
    Lab::with(&machine, &["serial:TARGET"])
}

fn below_store() -> Lab {
    let mut lab = mount("self", "254:0", "/dev/mapper/data");
    lab.avoid = vec![PathBuf::from("/srv/data/brickyard.db")];
    std::fs::create_dir_all(lab.path("/srv/data")).unwrap();
    lab
}

fn holder(name: &str, uuid: &str) -> Lab {
    let mut more = format!("/sys/devices/b/block/sdb/holders/{name}/\n");
    if !uuid.is_empty() {
        more.push_str(&format!(
            "/sys/block/{name}/dm/uuid = {uuid}\n/sys/block/{name}/dm/name = volume\n"
        ));
    }
    Lab::sdb(&more)
}

fn shown_twice() -> Lab {
    let second = "/sys/block/loop6/loop/backing_file = /srv/other-name\n";
    let lab = Lab::with(&format!("{MACHINE}{second}"), &["loop:/srv/image"]);
    std::fs::hard_link(lab.path("/srv/image"), lab.path("/srv/other-name")).unwrap();
    lab
}

fn swapped_to_its_file() -> Lab {
    let swaps = "Priority\n    /srv/image				file		4	0	-2\n";
    Lab::with(&MACHINE.replace("Priority\n", swaps), &["loop:/srv/image"])
}

fn locked() -> Lab {
    let mut lab = Lab::sdb("");
    let file = block::open(&lab.path("/dev/sdb"), block::How::Read).unwrap();
    assert!(block::lock(&file).unwrap());
    lab._held = Some(file);
    lab
}

fn busy() -> Lab {
    let mut lab = Lab::sdb("");
    lab.open_alone = Some(|_| Err(std::io::Error::from_raw_os_error(libc::EBUSY)));
    lab
}

fn without_blkid() -> Lab {
    Lab { blkid: "no-such-blkid".to_owned(), ..Lab::sdb("") }
}

fn over_a_wire() -> Lab {
    let machine = MACHINE.replace("/sys/devices/b/", "/sys/devices/host1/session1/");
    Lab::with(&machine, &["serial:TARGET"])
}

fn data() -> Lab {
    let lab = Lab::sdb("");
    let node = std::fs::OpenOptions::new().write(true).open(lab.path("/dev/sdb")).unwrap();
    // The last byte of all.
    std::os::unix::fs::FileExt::write_all_at(&node, &[1], SIZE_BYTES - 1).unwrap();
    lab
}

/// A danger, its machine, what else is the matter there, words of the reason and of the hint.
type Case = (&'static str, fn() -> Lab, &'static [&'static str], &'static str, &'static str);

#[rustfmt::skip]
const CASES: &[Case] = &[
    ("partition", partition, &["wrong-serial"],
        "sdb1 is a partition", "whole disk"),
    ("stacked", || {
        let lab = Lab::sdb("");
        std::fs::create_dir(lab.path("/sys/block/sdb/md")).unwrap();
        lab
    }, &["lost-name"], "made of other devices", "name its disks"),
    ("not-a-device", not_a_device, &["busy", "unreadable"],
        "is a link, not the device 8:16", "udev"),
    ("lost-name", lost_name, &[], "outside /dev", "the disks of this machine are"),
    ("wrong-serial", wrong_serial, &[], "was sdb, and is sda now", "start again"),
    ("swapped", swapped, &[], "another disk than when it was found", "start again"),
    ("named-twice", named_twice, &[], "names it as `serial:TARGET` as well", "once"),
    ("no-medium", || {
        let none = "/sys/devices/b/block/sdb/size = 0\n/sys/devices/b/block/sdb/removable = 1\n";
        named_by_link(none)
    }, &[], "no medium is in it", "put a medium in"),
    ("too-small", || Lab::sdb("/sys/devices/b/block/sdb/size = 2048\n"), &[],
        "has 1048576 bytes", "larger"),
    ("read-only", || Lab::sdb("/sys/devices/b/block/sdb/ro = 1\n"), &[],
        "takes no writes", "blockdev --setrw /dev/sdb"),
    ("mounted", || mount("self", "8:16", "/dev/sdb"), &[], "mounted on /srv/data",
        "umount /srv/data"),
    ("mounted-elsewhere", || mount("77", "8:16", "/dev/sdb"), &[],
        "/srv/data of process 77", "container"),
    ("btrfs-member", || Lab::sdb("/sys/fs/btrfs/UUID/devices/sda/\n\
        /sys/fs/btrfs/UUID/devices/sdb/\n"), &[], "btrfs UUID of sda, sdb", "umount"),
    ("swap", || {
        let swaps = "Priority\n    /dev/sdb				partition	4	0	-2\n";
        Lab::with(&MACHINE.replace("Priority\n", swaps), &["serial:TARGET"])
    }, &[], "swaps to /dev/sdb", "swapoff /dev/sdb"),
    ("swap", swapped_to_its_file, &[], "swaps to /srv/image", "swapoff /srv/image"),
    ("root-disk", below_root, &[], "the root file system lies on it", "another disk"),
    ("own-disk", below_store, &[], "/srv/data/brickyard.db lies on it", "--store FILE"),
    ("own-disk", || {
        let mut lab = Lab::with(MACHINE, &["loop:/srv/image"]);
        lab.avoid = vec![PathBuf::from("/srv/image")];
        lab
    }, &[], "/srv/image lies on it", "--store FILE"),
    ("md-member", || holder("md127", ""), &[], "md127 holds it", "mdadm --stop /dev/md127"),
    ("lvm-in-use", || holder("dm-1", "LVM-abc"), &[], "volume holds it", "vgchange -an"),
    ("multipath", || holder("dm-1", "mpath-abc"), &[], "volume holds it", "multipath -f volume"),
    ("dm-holder", || holder("dm-1", "CRYPT-LUKS2-abc"), &[], "volume holds it",
        "cryptsetup close volume"),
    ("bcache", || Lab::sdb("/sys/devices/b/block/sdb/bcache/\n"), &[], "registered sdb",
        "/sys/block/sdb/bcache/stop"),
    ("held", || holder("drbd0", ""), &[], "drbd0 holds it", "stop drbd0"),
    ("shown-twice", shown_twice, &[], "loop6 shows the same file", "losetup -d /dev/loop6"),
    ("loop-backing", || Lab::sdb("/sys/block/loop6/loop/backing_file = /dev/sdb\n"), &[],
        "loop6 shows /dev/sdb", "losetup -d /dev/loop6"),
    ("open", || Lab::sdb("/proc/88/fd/3 -> /dev/sdb\n/proc/88/comm = qemu\n"), &[],
        "process 88 (qemu) has it open", "end process 88"),
    ("busy", busy, &[], "alone (O_EXCL)", "fuser -v /dev/sdb"),
    ("two-runs", locked, &[], "has locked it", "wait"),
    ("unreadable", without_blkid, &[], "cannot be found out: cannot run `no-such-blkid",
        "apt install util-linux"),
    ("network-disk", over_a_wire, &[], "over a wire (iscsi)", "--wipe TARGET"),
    ("partitions", || Lab::sdb("/sys/devices/b/block/sdb/sdb1/partition = 1\n\
        /sys/class/block/sdb1 -> /sys/devices/b/block/sdb/sdb1\n"), &[],
        "the partitions sdb1", "--wipe TARGET"),
    ("partition-table", || Lab::bearing("ID_PART_TABLE_TYPE=gpt"), &[], "partition table (gpt)",
        "--wipe TARGET"),
    ("raid-member", || Lab::bearing("ID_FS_TYPE=linux_raid_member"), &[], "linux_raid_member",
        "--wipe TARGET"),
    ("raid-card", || Lab::bearing("ID_FS_TYPE=isw_raid_member"), &[], "isw_raid_member",
        "--wipe TARGET"),
    ("lvm-member", || Lab::bearing("ID_FS_TYPE=LVM2_member"), &[], "LVM2_member",
        "--wipe TARGET"),
    ("zfs-member", || Lab::bearing("ID_FS_TYPE=zfs_member\n    ID_FS_LABEL=tank"), &[],
        "zfs_member (tank)", "--wipe TARGET"),
    ("bcache-member", || Lab::bearing("ID_FS_TYPE=bcache"), &[], "bears bcache",
        "--wipe TARGET"),
    ("encrypted", || Lab::bearing("ID_FS_TYPE=crypto_LUKS"), &[], "crypto_LUKS",
        "--wipe TARGET"),
    ("ambiguous", || Lab::bearing("ID_FS_AMBIVALENT=filesystem:ext4:1.0 filesystem:xfs:"), &[],
        "filesystem:ext4:1.0 filesystem:xfs:", "--wipe TARGET"),
    ("signature", || Lab::bearing("ID_FS_TYPE=xfs\n    ID_FS_UUID=12"), &[], "bears xfs (12)",
        "--wipe TARGET"),
    ("data", data, &[], "the first at 67108863", "--wipe TARGET"),
];

#[test]
fn every_danger_is_refused_with_its_reason_and_what_would_allow_the_disk() {
    assert!(DANGERS.len() >= 20, "{}", DANGERS.len());
    let tested: BTreeSet<&str> = CASES.iter().map(|case| case.0).collect();
    let all: BTreeSet<&str> = DANGERS.iter().map(|danger| danger.name).collect();
    assert_eq!(tested, all);
    assert_eq!(all.len(), DANGERS.len(), "a name stands twice");
    let problems: Vec<String> = CASES.iter().flat_map(problems_of).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// What is not as a case says.
fn problems_of((name, make, also, why, hint): &Case) -> Vec<String> {
    let mut problems = Vec::new();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            problems.push(format!("{name}: {what}"));
        }
    };
    let lab = make();
    let refusals = lab.refusals(&[]);
    let found: BTreeSet<&str> = refusals.iter().map(|refusal| refusal.danger).collect();
    let expected: BTreeSet<&str> = also.iter().chain([name]).copied().collect();
    expect(found == expected, format!("expected {expected:?}: {refusals:#?}"));
    if let Some(refusal) = refusals.iter().find(|refusal| refusal.danger == *name) {
        expect(refusal.why.contains(why), format!("{why:?} is not in {:?}", refusal.why));
        expect(refusal.hint.contains(hint), format!("{hint:?} is not in {:?}", refusal.hint));
    }
    let wipe = DANGERS.iter().any(|danger| danger.name == *name && danger.wipe);
    let there = |wiped: &[&str]| lab.refusals(wiped).iter().any(|one| one.danger == *name);
    expect(there(&["TARGET", "loop:/srv/image"]) != wipe, "with --wipe".to_owned());
    expect(there(&["SYSTEM"]), "with the --wipe of another disk".to_owned());
    problems
}

#[test]
fn an_empty_disk_that_nobody_uses_is_taken() {
    for lab in [Lab::sdb(""), named_by_link(""), Lab::with(MACHINE, &["loop:/srv/image"])] {
        assert_eq!(lab.refusals(&[]), []);
    }
    let lab = Lab::with(MACHINE, &["serial:TARGET", "loop:/srv/image"]);
    assert_eq!(lab.refusals(&["TARGET"]), []);
}

#[test]
fn all_that_is_against_a_disk_is_told_at_once() {
    let lab = Lab::sdb(
        "/sys/devices/b/block/sdb/ro = 1\n/sys/devices/b/block/sdb/holders/md0/\n\
         /dev/sdb.blkid:\n    ID_FS_TYPE=linux_raid_member\n",
    );
    let refusals = lab.refusals(&[]);
    let names: Vec<&str> = refusals.iter().map(|refusal| refusal.danger).collect();
    assert_eq!(names, ["read-only", "md-member", "raid-member"]);
    let error = refused(&refusals);
    for text in ["serial:TARGET (sdb): md0 holds it (md-member)", "mdadm --stop /dev/md0"] {
        assert!(error.why.contains(text), "{error}");
    }
}

/// A link in /dev/disk/by-id says what a rule has made of it: who typed the link again has not
/// looked at the disk that it leads to.
#[test]
fn a_disk_with_a_serial_number_is_confirmed_by_nothing_else() {
    let lab = named_by_link("/dev/sdb.blkid:\n    ID_FS_TYPE=ext4\n");
    let refused = lab.refusals(&["/dev/disk/by-id/x"]);
    assert_eq!(refused[0].hint, "to destroy all that is on it: --wipe TARGET");
    assert_eq!(lab.refusals(&["sdb"]).len(), 1);
    assert_eq!(lab.refusals(&["serial:TARGET"]), []);
}

#[test]
fn a_word_of_wipe_that_names_no_disk_of_the_plan_is_refused() {
    let lab = Lab::sdb("");
    let host = lab.machine.host();
    let words = |word: &str| vec!["TARGET".to_owned(), word.to_owned()];
    let refusals = check(&host, &lab.disks, &words("SYSTEM"), &[]).unwrap_err();
    assert_eq!(refusals.len(), 1, "{refusals:#?}");
    assert_eq!((refusals[0].disk.as_str(), refusals[0].danger), ("--wipe SYSTEM", "wrong-serial"));
    assert_eq!(refusals[0].hint, "its disks are TARGET");
    let refusals = check(&host, &[], &words("TARGET"), &[]).unwrap_err();
    assert!(refusals[0].hint.contains("writes on no disk as a whole"), "{refusals:#?}");
    assert_eq!(check(&host, &[], &[], &[]), Ok(()));
}

#[test]
fn what_cannot_be_looked_at_is_not_written() {
    let lab = Lab::sdb("");
    std::fs::remove_file(lab.path("/proc/self/mountinfo")).unwrap();
    let refusals = check(&lab.machine.host(), &lab.disks, &[], &[]).unwrap_err();
    assert_eq!(refusals[0].danger, "unreadable");
    // A disk that ends before it should cannot be read to its end.
    let lab = Lab::sdb("");
    let node = std::fs::OpenOptions::new().write(true).open(lab.path("/dev/sdb")).unwrap();
    node.set_len(SIZE_BYTES / 2).unwrap();
    let refusals = lab.refusals(&["TARGET"]);
    assert_eq!(refusals[0].danger, "unreadable", "{refusals:#?}");
}

#[test]
fn every_name_that_leads_to_no_disk_is_told() {
    let lab = Lab::sdb("");
    let host = lab.machine.host();
    let lost = ["serial:A".to_owned(), "serial:TARGET".to_owned(), "serial:B".to_owned()];
    let error = find_all(&host, &lost).unwrap_err();
    assert!(error.why.contains("`serial:A`") && error.why.contains("`serial:B`"), "{error}");
    assert_eq!(find_all(&host, &lost[1..2]).unwrap()[0].name, "sdb");
}

#[test]
fn cut_lists_of_swap_space_do_no_harm() {
    let text = "Filename Type\n/dev/sdb\\0401 partition 1 0 -2\n/x\tfile 1 0 -3\n";
    assert_eq!(scene::swapped_to(text), [PathBuf::from("/dev/sdb 1"), PathBuf::from("/x")]);
    for end in 0..text.len() {
        scene::swapped_to(&text[..end]);
    }
}

/// The guide lists them for people who will not read the source.
#[test]
fn the_guide_lists_every_danger() {
    let guide = include_str!("../../../../../docs/guides/devices.md");
    let row = |danger: &Danger| {
        format!("| `{}` | {} | {} |\n", danger.name, danger.about, danger.allowed_by)
    };
    let table: String = DANGERS.iter().map(row).collect();
    assert!(guide.contains(&table), "docs/guides/devices.md should have:\n{table}");
}
