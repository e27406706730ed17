//! The commands of every kind and level, and layouts made and unmade on real loop devices.

use std::path::Path;

use super::*;
use facts::layout::testing::layout;

mod real;

const AT: &str = "/mnt/brickyard-1";

/// Without the steps that are the same everywhere: wiping, the directory.
fn commands(layout: &Layout) -> Vec<String> {
    assert_eq!(layout.check(), Ok(()), "{layout:?}");
    let all = super::commands(layout, Path::new(AT));
    let nodes: Vec<String> =
        layout.all_disks().map(|disk| disk.node.display().to_string()).collect();
    assert_eq!(all[0], format!("wipefs --all --quiet {}", nodes.join(" ")));
    assert_eq!(all[all.len() - 2], format!("mkdir -m 0700 {AT}"));
    let mut rest = all[1..].to_vec();
    rest.remove(rest.len() - 2);
    rest
}

fn on_one_disk(kind: &str) -> Vec<String> {
    commands(&Layout { filesystem: kind.into(), ..layout("md", "single", 1) })
}

#[test]
fn every_kind_is_made_with_a_mark_that_was_chosen_before() {
    for (kind, mkfs) in [
        ("ext4", "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 -U UUID"),
        ("ext3", "mkfs.ext3 -q -F -U UUID"),
        ("ext2", "mkfs.ext2 -q -F -U UUID"),
        ("xfs", "mkfs.xfs -q -f -m uuid=UUID"),
        ("btrfs", "mkfs.btrfs -q -f -U UUID"),
        ("jfs", "mkfs.jfs -q -L brickyard-ID"),
        ("nilfs2", "mkfs.nilfs2 -q -f -L brickyard-ID"),
        ("f2fs", "mkfs.f2fs -q -f -l brickyard-ID"),
        ("reiserfs", "mkfs.reiserfs -q -f -f -u UUID"),
        ("bcachefs", "bcachefs format --quiet --force --uuid=UUID"),
    ] {
        let expected = [
            format!("{mkfs} /dev/loop0"),
            "sync /dev/loop0".to_owned(),
            format!("mount -t {kind} /dev/loop0 {AT}"),
        ];
        assert_eq!(on_one_disk(kind), expected);
    }
    // That of ZFS has a test of its own.
    assert_eq!(facts::layout::filesystem::KINDS.len(), 11, "each is above");
}

fn create(number: u32, level: &str, nodes: &str) -> String {
    let count = nodes.split(' ').count();
    format!(
        "mdadm --create /dev/md{number} --run --homehost=any --name=brickyard-ID-{} \
         --uuid=UUID --metadata=1.2 --level={level} --raid-devices={count} {nodes}",
        number - 100
    )
}

#[test]
fn every_level_of_md_is_made_and_waited_for() {
    let four = "/dev/loop0 /dev/loop1 /dev/loop2 /dev/loop3";
    for level in ["raid1", "raid4", "raid5", "raid6", "raid10"] {
        let all = commands(&layout("md", level, 4));
        assert_eq!(all[0], create(100, level, four));
        assert_eq!(all[1], "# wait until md100 is synchronised");
        assert!(all[2].starts_with("mkfs.ext4") && all[2].ends_with(" /dev/md100"), "{}", all[2]);
        assert_eq!(all[4], format!("mount -t ext4 /dev/md100 {AT}"));
    }
    let all = commands(&layout("md", "raid0", 4));
    assert_eq!(all[0], create(100, "raid0", four));
    assert!(all[1].starts_with("mkfs.ext4"), "nothing is synchronised");
    let chunk = Layout { chunk_bytes: Some(64 << 10), ..layout("md", "raid0", 4) };
    assert_eq!(
        commands(&chunk)[0],
        create(100, "raid0", four).replace(four, &format!("--chunk=64K {four}"))
    );
}

#[test]
fn nested_arrays_are_two_below_one() {
    for (level, lower, disks) in [("raid50", "raid5", 6), ("raid60", "raid6", 8)] {
        let nodes: Vec<String> = (0..disks).map(|number| format!("/dev/loop{number}")).collect();
        let all = commands(&layout("md", level, disks));
        assert_eq!(all[0], create(100, lower, &nodes[..disks / 2].join(" ")));
        assert_eq!(all[1], create(101, lower, &nodes[disks / 2..].join(" ")));
        assert_eq!(all[2], "wipefs --all --quiet /dev/md100 /dev/md101");
        assert_eq!(all[3], create(102, "raid0", "/dev/md100 /dev/md101"));
        assert_eq!(all[4], "# wait until md100 is synchronised");
        assert_eq!(all[5], "# wait until md101 is synchronised");
        assert!(all[6].ends_with(" /dev/md102"), "{}", all[6]);
    }
}

#[test]
fn the_states_of_an_array_are_brought_about() {
    let with = |state: &str| {
        let all = commands(&Layout { array_state: state.into(), ..layout("md", "raid5", 4) });
        all[1..all.len() - 3].to_vec()
    };
    assert_eq!(with("initialising"), ["# wait until md100 synchronises"]);
    let degraded = [
        "# wait until md100 is synchronised",
        "mdadm /dev/md100 --fail /dev/loop3",
        "mdadm /dev/md100 --remove /dev/loop3",
        "mdadm --zero-superblock /dev/loop3",
        "# wait until md100 is degraded",
    ];
    assert_eq!(with("degraded"), degraded);
    let mut rebuilding = degraded.map(str::to_owned).to_vec();
    rebuilding.insert(4, "mdadm /dev/md100 --add /dev/loop3".into());
    rebuilding[5] = "# wait until md100 rebuilds".into();
    assert_eq!(with("rebuilding"), rebuilding);
    let mut rebuilt = rebuilding;
    rebuilt[5] = "# wait until md100 is rebuilt".into();
    assert_eq!(with("rebuilt"), rebuilt);
    let nested = Layout { array_state: "degraded".into(), ..layout("md", "raid50", 6) };
    assert!(commands(&nested).contains(&"mdadm /dev/md100 --fail /dev/loop2".to_owned()));
}

#[test]
fn btrfs_makes_its_own_arrays() {
    for (level, profiles) in [
        ("single", "-d single -m raid1"),
        ("raid0", "-d raid0 -m raid1"),
        ("raid1", "-d raid1 -m raid1"),
        ("raid10", "-d raid10 -m raid10"),
        ("raid5", "-d raid5 -m raid1"),
        ("raid6", "-d raid6 -m raid1c3"),
    ] {
        let layout = Layout { filesystem: "btrfs".into(), ..layout("btrfs", level, 4) };
        let four = "/dev/loop0 /dev/loop1 /dev/loop2 /dev/loop3";
        let others = "device=/dev/loop1,device=/dev/loop2,device=/dev/loop3";
        let expected = [
            format!("mkfs.btrfs -q -f {profiles} -U UUID {four}"),
            format!("sync {four}"),
            format!("mount -t btrfs -o {others} /dev/loop0 {AT}"),
        ];
        assert_eq!(commands(&layout), expected);
        let options = vec!["-m".to_owned(), "raid0".to_owned()];
        let own = commands(&Layout { mkfs_options: options, ..layout });
        assert!(own[0].contains(" -m raid0 -U") && own[0].matches("-m").count() == 1, "{}", own[0]);
    }
}

#[test]
fn a_pool_of_zfs_is_known_to_no_file_and_mounted_as_others_are() {
    let create = |raid: &str, disks: usize| {
        let all = commands(&Layout { filesystem: "zfs".into(), ..layout("zfs", raid, disks) });
        assert_eq!(all[0], "# wait until udev is through: udevadm settle");
        assert_eq!(all[2..], ["zpool sync brickyard_ID".into(), mounted("")]);
        all[1].clone()
    };
    fn mounted(options: &str) -> String {
        format!("mount -t zfs {options}brickyard_ID {AT}")
    }
    let begins = "zpool create -f -o cachefile=none -O mountpoint=legacy brickyard_ID ";
    let (two, four) = ("/dev/loop0 /dev/loop1", "/dev/loop0 /dev/loop1 /dev/loop2 /dev/loop3");
    for (raid, disks, vdevs) in [
        ("single", 1, "/dev/loop0".to_owned()),
        ("raid0", 2, two.to_owned()),
        ("raid1", 2, format!("mirror {two}")),
        ("raid10", 4, format!("mirror {two} mirror /dev/loop2 /dev/loop3")),
        ("raid5", 4, format!("raidz1 {four}")),
        ("raid6", 4, format!("raidz2 {four}")),
        ("raid50", 6, format!("raidz1 {two} /dev/loop2 raidz1 /dev/loop3 /dev/loop4 /dev/loop5")),
    ] {
        assert_eq!(create(raid, disks), format!("{begins}{vdevs}"));
    }
    let pool = Layout {
        filesystem: "zfs".into(),
        properties: vec![("recordsize".into(), "16384".into()), ("atime".into(), "off".into())],
        mkfs_options: step::words(&["-o", "ashift=12"]),
        mount_options: "noatime".into(),
        journal: Some(layout("md", "raid0", 9).disks.remove(8)),
        ..layout("zfs", "raid1", 2)
    };
    let all = commands(&pool);
    let options = "-O recordsize=16384 -O atime=off -o ashift=12 brickyard_ID";
    assert!(all[1].ends_with(&format!("{options} mirror {two} log /dev/loop8")), "{}", all[1]);
    assert_eq!(all[3], mounted("-o noatime "));
    let cool = pool::cool(&pool, "p", Path::new(AT), &["/dev/sda1".into(), "/dev/sdb1".into()]);
    let cool: Vec<String> = cool.iter().map(|words| words.join(" ")).collect();
    assert_eq!(cool[1], "zpool export p");
    let import = "zpool import -N -o cachefile=none -d /dev/sda1 -d /dev/sdb1 p";
    assert_eq!(cool[2], import);
    assert_eq!(cool[3], format!("mount -t zfs -o noatime p {AT}"));
}

#[test]
fn lvm_sees_our_disks_alone_and_leaves_room_for_a_snapshot() {
    let striped = Layout { chunk_bytes: Some(128 << 10), ..layout("lvm", "raid0", 2) };
    let all = commands(&striped);
    let config = "filter=[\"a|^/dev/loop0$|\", \"a|^/dev/loop1$|\", \"r|.*|\"]";
    assert!(all[..4].iter().all(|command| command.contains(config)), "{all:?}");
    assert!(all[0].starts_with("pvcreate ") && all[0].ends_with("--uuid UUID /dev/loop0"));
    assert!(
        all[2].starts_with("vgcreate ") && all[2].ends_with(" brickyard_ID /dev/loop0 /dev/loop1")
    );
    assert!(all[3].ends_with("-l 100%FREE -i 2 -I 128k -n data brickyard_ID"), "{}", all[3]);
    assert!(all[4].ends_with(" /dev/mapper/brickyard_ID-data"), "{}", all[4]);
    let linear = Layout { snapshot: "lvm".into(), ..layout("lvm", "single", 1) };
    let all = commands(&linear);
    assert!(all[2].ends_with("-l 80%VG -n data brickyard_ID"), "{}", all[2]);
    assert!(volumes::hold(&linear, "g").ends_with(&step::words(&["-n", "held", "g/data"])));
}

#[test]
fn an_external_journal_is_made_first_and_bears_a_mark() {
    let with = |kind: &str, options: &[&str]| {
        let journal = layout("md", "raid0", 9).disks.remove(8);
        let mkfs_options = step::words(options);
        let plain = layout("md", "single", 1);
        commands(&Layout { filesystem: kind.into(), journal: Some(journal), mkfs_options, ..plain })
    };
    let all = with("ext3", &[]);
    assert_eq!(all[0], "mke2fs -q -F -O journal_dev -b 4096 -U UUID /dev/loop8 262144");
    assert_eq!(all[1], "mkfs.ext3 -q -F -b 4096 -J device=/dev/loop8 -U UUID /dev/loop0");
    assert_eq!(all[2], "sync /dev/loop0 /dev/loop8");
    let all = with("ext3", &["-b", "1024"]);
    assert_eq!(all[0], "mke2fs -q -F -O journal_dev -b 1024 -U UUID /dev/loop8 1048576");
    assert_eq!(all[1], "mkfs.ext3 -q -F -J device=/dev/loop8 -b 1024 -U UUID /dev/loop0");
    let all = with("xfs", &[]);
    assert_eq!(all[0], "mkfs.xfs -q -f -l logdev=/dev/loop8,size=1g -m uuid=UUID /dev/loop0");
    assert_eq!(all[2], format!("mount -t xfs -o logdev=/dev/loop8 /dev/loop0 {AT}"));
}

/// mkfs discards the whole disk by itself: what was filled on purpose would be empty again.
#[test]
fn a_disk_that_was_filled_is_not_discarded_by_mkfs() {
    let with = |kind: &str, precondition: &str| {
        let plain = layout("md", "single", 1);
        let (filesystem, precondition) = (kind.into(), precondition.into());
        commands(&Layout { filesystem, precondition, ..plain })
    };
    for (kind, keeps) in [
        ("ext4", "lazy_journal_init=0,nodiscard"),
        ("ext2", "-E nodiscard"),
        ("xfs", " -K "),
        ("btrfs", " -K "),
        ("nilfs2", " -K "),
        ("f2fs", " -t 0 "),
    ] {
        let all = with(kind, "fill-twice");
        assert_eq!(all[0], "# write every byte of /dev/loop0 twice");
        assert!(all[1].contains(keeps), "{}", all[1]);
        assert!(with(kind, "random")[1].contains(keeps), "random");
        assert!(!with(kind, "none")[0].contains(keeps));
    }
    assert_eq!(with("ext4", "discard")[0], "blkdiscard /dev/loop0");
    let bytes = |precondition: &str| {
        let two = layout("md", "raid0", 2);
        Layout { precondition: precondition.into(), ..two }.precondition_bytes()
    };
    assert_eq!([bytes("none"), bytes("fill"), bytes("fill-twice")], [0, 20 << 30, 40 << 30]);
    assert_eq!([bytes("random"), bytes("discard")], [60 << 30, 0]);
}

#[test]
fn the_plans_own_words_for_mkfs_and_mount_are_passed_on_and_win() {
    let plain = layout("md", "single", 1);
    let with = |options: &[&str]| {
        commands(&Layout { mkfs_options: step::words(options), ..plain.clone() })[0].clone()
    };
    assert_eq!(
        with(&["-E", "stride=16,lazy_itable_init=1", "-I", "512"]),
        "mkfs.ext4 -q -F -E lazy_journal_init=0,stride=16,lazy_itable_init=1 -I 512 -U UUID \
         /dev/loop0"
    );
    assert!(with(&["-E"]).contains(" -E -U"), "left for mkfs to refuse");
    let mount_options = "noatime,data=writeback".to_owned();
    let mounted = commands(&Layout { mount_options, ..plain });
    assert_eq!(mounted[2], format!("mount -t ext4 -o noatime,data=writeback /dev/loop0 {AT}"));
}
