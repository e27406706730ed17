//! Acts on recorded machines, where no command is needed to decide; with real disks they are
//! undone in `provision`.

#![expect(clippy::disallowed_methods, reason = "makes fixtures")]

use super::super::{Journal, Line};
use super::*;
use crate::journal::identity;

const BOOT: &str = "6c6e0348-2966-4c69-92fb-ea307cf78b99";
const UUID: &str = "28286680-4404-430b-b260-bd3e14170301";

/// A machine with two disks; the second is in an array.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Machine {
        let machine = Machine(tempfile::tempdir().unwrap());
        machine.put("/proc/sys/kernel/random/boot_id", BOOT);
        for (name, number, serial) in [("sda", "8:0", "A"), ("sdb", "8:16", "B")] {
            machine.put(&format!("/sys/block/{name}/dev"), number);
            machine.put(&format!("/sys/block/{name}/serial"), serial);
            machine.put(&format!("/sys/class/block/{name}/dev"), number);
        }
        machine.put("/sys/block/md5/md/uuid", "aaaaaaaa:bbbbbbbb:cccccccc:dddddddd");
        machine.put("/sys/block/md5/slaves/sdb", "");
        machine.put("/sys/class/block/md5/slaves/sdb", "");
        machine.mounts(&[]);
        machine
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.host().path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    /// Device number, mount point, source.
    fn mounts(&self, all: &[(&str, &str, &str)]) {
        let line = |(number, at, source): &(&str, &str, &str)| {
            format!("36 25 {number} / {at} rw,relatime shared:1 - ext4 {source} rw\n")
        };
        let text: String = all.iter().map(line).collect();
        self.put("/proc/self/mountinfo", &text);
    }

    /// What /sys/dev/block leads to.
    fn link(&self, number: &str, name: &str) {
        let folder = self.0.path().join("sys/dev/block");
        std::fs::create_dir_all(&folder).unwrap();
        let to = format!("../../block/{name}");
        std::os::unix::fs::symlink(to, folder.join(number)).unwrap();
    }

    fn host(&self) -> Host {
        Host::at(self.0.path())
    }

    fn disk(&self, name: &str) -> Identity {
        identity::of_device(&self.host(), name).unwrap()
    }

    fn undo(&self, act: &LayoutAct) -> Fate {
        act.undo(&self.host(), true, true)
    }
}

fn mount(machine: &Machine, disks: &[&str]) -> LayoutAct {
    let disks = disks.iter().map(|name| machine.disk(name)).collect();
    LayoutAct::Mount { at: "/mnt/brickyard-1".into(), disks }
}

fn every_act(machine: &Machine) -> Vec<LayoutAct> {
    let (one, two) = (machine.disk("sda"), machine.disk("sdb"));
    vec![
        LayoutAct::Signature { disk: one.clone(), kind: "ext4".into(), mark: UUID.into() },
        LayoutAct::Array { name: "md100".into(), uuid: UUID.into(), members: vec![one.clone()] },
        LayoutAct::Group { name: "brickyard_1".into(), members: vec![one.clone(), two.clone()] },
        LayoutAct::Directory { path: "/mnt/brickyard-1".into() },
        LayoutAct::Pool { name: "brickyard_1".into(), members: vec![one.clone(), two.clone()] },
        LayoutAct::Mount { at: "/mnt/brickyard-1".into(), disks: vec![one, two] },
    ]
}

#[test]
fn every_act_survives_the_file_and_every_cut_of_it() {
    let machine = Machine::new();
    let path = machine.0.path().join("db-undo");
    let mut journal = Journal::open(&path).unwrap();
    let acts = every_act(&machine);
    for act in &acts {
        journal.note(Line::Layout { act: act.clone(), boot: BOOT.into() }).unwrap();
    }
    drop(journal);
    assert_eq!(Journal::open(&path).unwrap().acts(), acts);
    let whole = std::fs::read(&path).unwrap();
    for end in 0..whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        let lines = whole[..end].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(Journal::open(&path).unwrap().acts(), acts[..lines]);
    }
    std::fs::write(&path, &whole).unwrap();
    let mut journal = Journal::open(&path).unwrap();
    let path = acts[2].called();
    journal.note(Line::Done { path }).unwrap();
    assert_eq!(journal.acts().len(), 5);
    assert_eq!(journal.position(), 7);
}

/// Settings are given up one by one during a run; the layout under it must stay.
#[test]
fn undoing_some_settings_touches_no_layout() {
    let machine = Machine::new();
    std::fs::create_dir_all(machine.host().path("/mnt/brickyard-1")).unwrap();
    let mut journal = Journal::open(&machine.0.path().join("db-undo")).unwrap();
    let act = LayoutAct::Directory { path: "/mnt/brickyard-1".into() };
    journal.note(Line::Layout { act: act.clone(), boot: BOOT.into() }).unwrap();
    assert!(journal.undo_some(&machine.host(), false, &mut |_| {}, |_| true).is_empty());
    assert_eq!(journal.acts(), [act]);
    assert!(journal.undo_layout(&machine.host(), 1).is_empty(), "noted before");
    let said = journal.undo_layout(&machine.host(), 0);
    assert_eq!(said[0].to_string(), "removed /mnt/brickyard-1");
    assert!(journal.acts().is_empty() && !machine.host().exists("/mnt/brickyard-1"));
}

/// A journal that somebody else wrote must not have us destroy a pool.
#[test]
fn a_pool_of_another_name_is_not_destroyed_and_partitions_are_found() {
    let machine = Machine::new();
    let strange = LayoutAct::Pool { name: "tank".into(), members: vec![machine.disk("sda")] };
    let Fate::Failed(error) = machine.undo(&strange) else { panic!("destroyed") };
    assert!(error.to_string().contains("not a name that brickyard gives"), "{error}");
    assert!(block::partitions(&machine.host(), "sda").is_empty());
    for part in ["sda1", "sda9"] {
        machine.put(&format!("/sys/block/sda/{part}/partition"), "1");
    }
    assert_eq!(block::partitions(&machine.host(), "sda"), ["sda1", "sda9"]);
    assert_eq!(block::whole_of(&machine.host(), "sdb"), None);
    let told = "brickyard_1\t960M\t96M\t864M\t-\t-\t0%\t10%\t1.00x\tONLINE\t-\n\
                \tmirror-0\t960M\t96M\n\t/dev/sda1\t-\t-\n\t/dev/sdb1\t-\t-\nlogs\t-\n\
                \t/dev/sdc1\t960M\t-\n";
    assert_eq!(pool::leaves(told), ["/dev/sda1", "/dev/sdb1", "/dev/sdc1"]);
    for end in 0..told.len() {
        assert!(pool::leaves(&told[..end]).len() <= 3);
    }
}

/// Of a pool on two disks one could not be wiped and the other was somebody else's by then. The
/// second fate was told: the journal forgot the pool, and the first disk kept its labels.
#[test]
fn a_disk_that_could_not_be_wiped_is_not_forgotten_for_another_that_is_somebody_elses() {
    let failed = || Fate::Failed(Error::new("cannot wipe /dev/sda", "somebody uses it"));
    let strange = || Fate::ChangedByOthers("xfs".into(), "nothing".into());
    let order = [Fate::Gone, Fate::Removed, strange(), Fate::WouldRemove, failed()];
    for (at, low) in order.iter().enumerate() {
        for high in &order[at..] {
            assert_eq!(pool::worse(low.clone(), high.clone()), *high, "{low:?} then {high:?}");
            assert_eq!(pool::worse(high.clone(), low.clone()), *high, "{high:?} then {low:?}");
        }
    }
}

#[test]
fn only_what_lies_on_our_disks_at_our_place_is_unmounted() {
    let machine = Machine::new();
    let (at, ours) = ("/mnt/brickyard-1", mount(&machine, &["sda", "sdb"]));
    assert_eq!(machine.undo(&ours), Fate::Gone);
    machine.link("8:0", "sda");
    machine.mounts(&[("8:0", "/mnt/brickyard-12", "/dev/sda"), ("8:0", "/mnt", "/dev/sda")]);
    assert_eq!(machine.undo(&ours), Fate::Gone, "other places");
    machine.mounts(&[("8:0", at, "/dev/sda")]);
    assert_eq!(machine.undo(&ours), Fate::WouldRemove);
    let of_others =
        |fate: &Fate| matches!(fate, Fate::ChangedByOthers(held, _) if held.contains("mount of"));
    assert!(of_others(&machine.undo(&mount(&machine, &["sdb"]))), "not our disk");
    // Somebody has mounted over it: only the uppermost could be unmounted.
    machine.mounts(&[("8:0", at, "/dev/sda"), ("0:40", at, "tmpfs")]);
    assert!(of_others(&machine.undo(&ours)));
    // By the arrays between.
    machine.link("9:5", "md5");
    machine.mounts(&[("9:5", at, "/dev/md5")]);
    assert_eq!(machine.undo(&mount(&machine, &["sdb"])), Fate::WouldRemove);
    assert!(of_others(&machine.undo(&mount(&machine, &["sda"]))));
    // btrfs has no device number, bcachefs names all its devices.
    for (source, fits) in [("/dev/sda", true), ("/dev/sda:/dev/sdb", true), ("/dev/sdc", false)] {
        machine.mounts(&[("0:41", at, source)]);
        assert_eq!(machine.undo(&ours) == Fate::WouldRemove, fits, "{source}");
    }
    assert!(of_others(&ours.undo(&machine.host(), true, true)));
    let before = ours.undo(&machine.host(), false, false);
    assert_eq!(before, Fate::EarlierBoot("nothing".into()));
}

/// Pulled out under load: the device is gone from /sys, its mount is not.
#[test]
fn the_mount_of_a_disk_that_was_pulled_out_is_still_ours() {
    let machine = Machine::new();
    let ours = mount(&machine, &["sda"]);
    machine.mounts(&[("8:0", "/mnt/brickyard-1", "/dev/sda")]);
    for folder in ["/sys/block/sda", "/sys/class/block/sda"] {
        std::fs::remove_dir_all(machine.host().path(folder)).unwrap();
    }
    assert_eq!(machine.undo(&ours), Fate::WouldRemove);
    machine.mounts(&[("0:41", "/mnt/brickyard-1", "/dev/sda")]);
    assert_eq!(machine.undo(&ours), Fate::WouldRemove);
    let signature = every_act(&Machine::new()).remove(0);
    assert_eq!(machine.undo(&signature), Fate::Gone);
}

#[test]
fn only_the_array_of_our_uuid_on_our_disks_is_stopped() {
    let machine = Machine::new();
    let array = |uuid: &str, disk: &str| {
        let members = vec![machine.disk(disk)];
        machine.undo(&LayoutAct::Array { name: "md100".into(), uuid: uuid.into(), members })
    };
    let ours = "AAAAAAAA-bbbb-bbbb-cccc-ccccdddddddd";
    assert_eq!(array(ours, "sdb"), Fate::WouldRemove, "whatever its name is by now");
    assert_eq!(array(ours, "sda"), Fate::Gone, "not on our disk");
    assert_eq!(array(UUID, "sdb"), Fate::Gone, "somebody else's on a disk that was ours");
}

#[test]
fn a_disk_is_known_after_a_reboot_by_its_serial_number_alone() {
    let machine = Machine::new();
    let host = machine.host();
    let (one, two) = (machine.disk("sda"), machine.disk("sdb"));
    std::fs::rename(host.path("/sys/block/sda"), host.path("/sys/block/sdz")).unwrap();
    assert_eq!(identity::name_after_reboot(&one, &host).as_deref(), Some("sdz"));
    assert!(!identity::still_there(&one, &host));
    machine.put("/sys/block/sdc/dev", "8:32");
    machine.put("/sys/block/sdc/serial", "B");
    assert_eq!(identity::name_after_reboot(&two, &host), None, "two paths to one disk, or a copy");
    let looped = Identity { known_as: Some("file:/image".into()), ..one.clone() };
    assert_eq!(identity::name_after_reboot(&looped, &host), None);
    let of = |disk: Identity| {
        let act = LayoutAct::Signature { disk, kind: "ext4".into(), mark: UUID.into() };
        act.undo(&host, false, true)
    };
    assert_eq!(of(looped), Fate::Gone);
    assert_eq!(of(Identity { known_as: None, ..one.clone() }), Fate::Unrecognised);
    // In the same boot, another disk has its name.
    machine.put("/sys/block/sda/dev", "8:0");
    let act = LayoutAct::Signature { disk: one, kind: "ext4".into(), mark: UUID.into() };
    assert_eq!(machine.undo(&act), Fate::AnotherDevice);
}

#[test]
fn directories_are_removed_only_when_empty_and_named_as_ours() {
    let machine = Machine::new();
    let host = machine.host();
    let of = |path: &str| LayoutAct::Directory { path: path.into() }.undo(&host, true, false);
    for path in ["/etc", "/mnt/brickyard-1/../x", "mnt/brickyard-1", "", "/", "/home/x/./brickyard"]
    {
        let fate = of(path);
        assert!(matches!(&fate, Fate::Failed(error) if error.why.contains("name")), "{path}");
        let mount = LayoutAct::Mount { at: path.into(), disks: Vec::new() };
        assert!(matches!(mount.undo(&host, true, false), Fate::Failed(_)), "{path}");
    }
    let ours = "/mnt/brickyard-1";
    assert_eq!(of(ours), Fate::Gone);
    machine.put("/mnt/brickyard-1/thesis.doc", "");
    assert!(matches!(of(ours), Fate::ChangedByOthers(held, _) if held == "files"));
    std::fs::remove_file(host.path("/mnt/brickyard-1/thesis.doc")).unwrap();
    machine.mounts(&[("8:0", ours, "/dev/sda")]);
    assert!(matches!(of(ours), Fate::Failed(error) if error.why.contains("mounted")));
    machine.mounts(&[]);
    assert_eq!(
        LayoutAct::Directory { path: ours.into() }.undo(&host, false, true),
        Fate::WouldRemove
    );
    assert_eq!(of(ours), Fate::Removed);
    let group = LayoutAct::Group { name: "vg0".into(), members: Vec::new() };
    assert!(matches!(group.undo(&host, true, false), Fate::Failed(_)));
}

#[test]
fn names_with_blanks_are_found_and_a_cut_table_has_no_half_mounts() {
    let machine = Machine::new();
    machine.mounts(&[("8:0", "/mnt/brickyard\\040one", "/dev/sda")]);
    assert!(mounted_at(&machine.host(), "/mnt/brickyard one").is_some());
    let text = machine.host().read("/proc/self/mountinfo").unwrap();
    let text = text.trim_end();
    for end in 0..=text.len() {
        std::fs::write(machine.host().path("/proc/self/mountinfo"), &text[..end]).unwrap();
        assert_eq!(mounted_at(&machine.host(), "/mnt/brickyard one"), None);
    }
}
