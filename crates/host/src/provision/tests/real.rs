//! On loop devices over files in memory; only for root.

use crate::journal::identity;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

use super::*;
use crate::journal::Fate;
use crate::sys::{block, gate};
use base::pattern::Header;
use facts::inventory::disk::Disk;
use facts::layout::precondition::passes;

const MIB: u64 = 1 << 20;

/// Loop devices, and a directory for the journal and the mount; gone when dropped, whatever a test
/// that failed has left on them.
struct Bench {
    folder: tempfile::TempDir,
    disks: Vec<Disk>,
}

#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
fn sh(words: &[&str]) -> String {
    let output = gate::output(Command::new(words[0]).args(&words[1..])).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// losetup(8) finds a free device and then opens it: meanwhile another may have taken it, or a new
/// one may have no node yet.
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
fn attach(image: &str) -> String {
    let words = ["losetup", "--find", "--show", image];
    for _ in 0..4 {
        let output = gate::output(Command::new(words[0]).args(&words[1..])).unwrap();
        if output.status.success() {
            return String::from_utf8_lossy(&output.stdout).trim().to_owned();
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    sh(&words)
}

/// One at a time: which loop devices are free is everybody's.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(|broken| broken.into_inner())
}

impl Bench {
    /// `None`, and says so, where it cannot be made.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn new(disks: usize, bytes: u64) -> Option<Bench> {
        let root = rustix::process::geteuid().is_root();
        if !root || !Path::new("/dev/loop-control").exists() {
            eprintln!("SKIP: needs root and loop devices");
            return None;
        }
        let folder = tempfile::Builder::new().prefix("brickyard-").tempdir_in("/dev/shm").unwrap();
        let mut bench = Bench { folder, disks: Vec::new() };
        for number in 0..disks {
            let image = bench.folder.path().join(format!("disk-{number}"));
            File::create(&image).unwrap().set_len(bytes).unwrap();
            let image = image.to_str().unwrap().to_owned();
            let node = attach(&image);
            let name = node.trim_start_matches("/dev/").to_owned();
            let identity = identity::of_device(&Host::live(), &name).unwrap();
            let named = format!("loop:{image}");
            let node = node.into();
            bench.disks.push(Disk { named, name, node, size_bytes: bytes, identity });
        }
        Some(bench)
    }

    fn at(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    fn journal(&self) -> Journal {
        Journal::open(&self.folder.path().join("db-undo")).unwrap()
    }

    fn layout(&self, kind: &str, raid: &str, disks: usize) -> Layout {
        let volumes = if disks > 1 { "btrfs" } else { "md" };
        let disks = self.disks[..disks].to_vec();
        Layout { disks, filesystem: kind.into(), ..super::layout(volumes, raid, 1) }
    }

    fn make(&self, layout: &Layout, journal: &mut Journal) -> Result<MadeLayout, Error> {
        make(&Host::live(), layout, journal, &self.at(), &mut |_| {}, &Stop::new())
    }

    /// As `brickyard undo` does it, in a process that knows nothing but the journal.
    fn undo(&self) -> Vec<Fate> {
        let mut journal = self.journal();
        let said = journal.undo(&Host::live(), false, &mut |_| {});
        journal.close().unwrap();
        said.into_iter().map(|said| said.fate).collect()
    }

    fn signature(&self, disk: usize) -> String {
        sh(&["wipefs", "--noheadings", "--output", "TYPE", self.disks[disk].node.to_str().unwrap()])
    }

    fn is_clean(&self) {
        let mounts = Host::live().read("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(self.folder.path().to_str().unwrap()), "a mount is left");
        assert!(!self.at().exists(), "the directory is left");
        for number in 0..self.disks.len() {
            assert_eq!(self.signature(number), "", "a signature is left on disk {number}");
        }
        assert!(!self.folder.path().join("db-undo").exists(), "the journal is left");
    }
}

#[expect(clippy::disallowed_methods, reason = "takes down fixtures")]
impl Drop for Bench {
    fn drop(&mut self) {
        let at = self.at();
        if self.at().exists() {
            let _ = gate::output(Command::new("umount").arg(&at));
        }
        for disk in &self.disks {
            let _ = gate::output(Command::new("losetup").arg("-d").arg(&disk.node));
        }
    }
}

#[test]
fn file_systems_are_made_timed_and_unmade() {
    let _alone = alone();
    let Some(bench) = Bench::new(4, 512 * MIB) else { return };
    for (kind, raid, disks) in
        [("ext4", "single", 1), ("xfs", "single", 1), ("btrfs", "single", 1), ("btrfs", "raid1", 4)]
    {
        let mut journal = bench.journal();
        let made = bench.make(&bench.layout(kind, raid, disks), &mut journal).unwrap();
        assert!(made.times.mkfs_ns > 0 && made.times.mount_ns > 0, "{:?}", made.times);
        assert_eq!((made.times.array_ns, made.times.precondition_ns), (0, 0));
        let there = crate::journal::mounted_at(&Host::live(), bench.at().to_str().unwrap());
        assert_eq!(there.unwrap().filesystem, kind);
        File::create(made.mount_point.join("file")).unwrap().set_len(MIB).unwrap();
        let said = made.unmake(&Host::live(), &mut journal);
        assert_eq!(said.len(), disks + 2, "{said:?}");
        assert!(said.iter().all(|one| one.fate == Fate::Removed), "{said:?}");
        journal.close().unwrap();
        bench.is_clean();
    }
}

/// The journal of a whole layout, cut after each line: killed after an act was noted and before it
/// was done, and after it was done.
#[test]
fn a_kill_between_any_two_acts_is_undone_from_the_journal_alone() {
    let _alone = alone();
    let Some(bench) = Bench::new(3, 512 * MIB) else { return };
    let layout =
        Layout { journal: Some(bench.disks[2].clone()), ..bench.layout("xfs", "single", 1) };
    for layout in [layout, bench.layout("btrfs", "raid1", 2)] {
        let ids = step::LayoutIds { uuid: uuid(), ..step::LayoutIds::shown(0) };
        let (steps, _) = steps::all(&layout, &ids, &bench.at());
        let boot = crate::journal::boot(&Host::live()).unwrap();
        let mut noted = 0;
        for (done, next) in steps.iter().enumerate() {
            let mut journal = bench.journal();
            for step in &steps[..done] {
                perform(step, &mut journal, &boot);
            }
            for act in &next.acts {
                let act = act.clone();
                let line = crate::journal::Line::Layout { act, boot: boot.clone() };
                journal.note(line).unwrap();
                noted += 1;
            }
            drop(journal);
            let fates = bench.undo();
            let fine = |fate: &Fate| matches!(fate, Fate::Removed | Fate::Gone);
            assert!(fates.iter().all(fine), "after {done} steps: {fates:?}");
            bench.is_clean();
        }
        assert_eq!(noted, 4, "two signatures, a directory, a mount");
    }
}

fn uuid() -> String {
    Host::live().word("/proc/sys/kernel/random/uuid").unwrap()
}

fn perform(step: &step::Step, journal: &mut Journal, boot: &str) {
    for act in &step.acts {
        let line = crate::journal::Line::Layout { act: act.clone(), boot: boot.to_owned() };
        journal.note(line).unwrap();
    }
    match &step.does {
        step::Does::Run(words) => {
            sh(&words.iter().map(String::as_str).collect::<Vec<_>>());
        }
        step::Does::Directory(path) => Host::live().make_directory(path).unwrap(),
        step::Does::Flush(_) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_made_is_undone_by_another_process_that_has_only_the_journal() {
    let _alone = alone();
    let Some(bench) = Bench::new(2, 512 * MIB) else { return };
    let mut journal = bench.journal();
    let made = bench.make(&bench.layout("btrfs", "raid0", 2), &mut journal).unwrap();
    drop((made, journal));
    let mut journal = bench.journal();
    let said = journal.undo(&Host::live(), true, &mut |_| {});
    assert!(said.iter().all(|one| one.fate == Fate::WouldRemove), "{said:?}");
    assert!(said[0].to_string().starts_with("would remove the mount at "), "{}", said[0]);
    drop(journal);
    assert_eq!(bench.undo(), vec![Fate::Removed; 4]);
    bench.is_clean();
}

/// A user who went on by himself must not lose what he made on the disk since.
#[test]
fn what_others_have_put_there_since_is_left_alone() {
    let _alone = alone();
    let Some(bench) = Bench::new(2, 512 * MIB) else { return };
    let mut journal = bench.journal();
    let made = bench.make(&bench.layout("ext4", "single", 1), &mut journal).unwrap();
    drop((made, journal));
    let (at, node) = (bench.at(), bench.disks[0].node.clone());
    let (at, node) = (at.to_str().unwrap(), node.to_str().unwrap());
    sh(&["umount", at]);
    sh(&["mkfs.xfs", "-q", "-f", node]);
    sh(&["mkfs.ext4", "-q", "-F", bench.disks[1].node.to_str().unwrap()]);
    sh(&["mount", bench.disks[1].node.to_str().unwrap(), at]);
    let fates = bench.undo();
    sh(&["umount", at]);
    assert!(matches!(&fates[0], Fate::ChangedByOthers(now, _) if now.contains("/dev/loop")));
    assert!(matches!(&fates[1], Fate::Failed(error) if error.why.contains("mounted")), "{fates:?}");
    assert!(matches!(&fates[2], Fate::ChangedByOthers(now, _) if now.starts_with("xfs ")));
    assert_eq!(bench.signature(0), "xfs");
    assert_eq!(bench.undo(), [Fate::Removed], "the directory had stayed in the journal");
    for number in [0, 1] {
        sh(&["wipefs", "--all", "--quiet", bench.disks[number].node.to_str().unwrap()]);
    }
    bench.is_clean();
}

/// The loop device is given another file between the plan and the act.
#[test]
fn another_disk_under_the_same_name_is_neither_made_nor_wiped() {
    let _alone = alone();
    let Some(bench) = Bench::new(2, 512 * MIB) else { return };
    let mut layout = bench.layout("ext4", "single", 1);
    let mut journal = bench.journal();
    let made = bench.make(&layout, &mut journal).unwrap();
    drop(made.unmake(&Host::live(), &mut journal));
    layout.disks[0].identity.sequence = Some("0".into());
    let error = bench.make(&layout, &mut journal).unwrap_err();
    assert!(error.why.contains("is not the disk loop:"), "{error}");
    sh(&["mkfs.ext4", "-q", "-F", bench.disks[0].node.to_str().unwrap()]);
    let act = crate::journal::LayoutAct::Signature {
        disk: layout.disks[0].identity.clone(),
        kind: "ext4".into(),
        mark: uuid(),
    };
    let boot = crate::journal::boot(&Host::live()).unwrap();
    journal.note(crate::journal::Line::Layout { act, boot }).unwrap();
    drop(journal);
    assert_eq!(bench.undo(), [Fate::AnotherDevice]);
    assert_eq!(bench.signature(0), "ext4");
    sh(&["wipefs", "--all", "--quiet", bench.disks[0].node.to_str().unwrap()]);
    bench.is_clean();
}

#[test]
fn a_step_that_fails_unmakes_what_was_made_before_it() {
    let _alone = alone();
    let Some(bench) = Bench::new(1, 512 * MIB) else { return };
    let mut journal = bench.journal();
    let plain = bench.layout("ext4", "single", 1);
    let bad = Layout { mount_options: "no-such-option".into(), ..plain.clone() };
    let error = bench.make(&bad, &mut journal).unwrap_err();
    assert!(error.what.contains("mount -t ext4 -o no-such-option"), "{error}");
    assert!(error.why.starts_with("exit status 32: "), "{error}");
    let bad = Layout { mkfs_options: step::words(&["-b", "7"]), ..plain.clone() };
    let error = bench.make(&bad, &mut journal).unwrap_err();
    assert!(error.why.contains("invalid block size"), "{error}");
    // A mount that is in use is not pulled away, and what stays bars the disk.
    let made = bench.make(&plain, &mut journal).unwrap();
    let used = File::create(made.mount_point.join("file")).unwrap();
    let said = made.unmake(&Host::live(), &mut journal);
    assert!(matches!(&said[0].fate, Fate::Failed(error) if error.why.contains("busy")), "{said:?}");
    let other = bench.folder.path().join("brickyard-other");
    let stop = Stop::new();
    let made = make(&Host::live(), &plain, &mut journal, &other, &mut |_| {}, &stop);
    let refused = made.unwrap_err();
    assert!(refused.why.contains("could not be undone"), "{refused}");
    drop((used, journal));
    bench.undo();
    bench.is_clean();
}

#[test]
fn every_byte_of_a_disk_is_filled_and_a_snapshot_of_btrfs_is_held() {
    let _alone = alone();
    let Some(bench) = Bench::new(2, 128 * MIB + 4096) else { return };
    let mut told = Vec::new();
    let stop = Stop::new();
    let mut tell = |text: &str| told.push(text.to_owned());
    let mut progress = Progress::new(&mut tell, &stop);
    precondition::fill(&bench.disks, passes("fill-twice"), 7, &mut progress).unwrap();
    for disk in &bench.disks {
        let file = File::open(&disk.node).unwrap();
        let mut chunk = [0; 4096];
        for offset in [0, 64 * MIB, 128 * MIB] {
            file.read_exact_at(&mut chunk, offset).unwrap();
            assert!(chunk.iter().filter(|byte| **byte == 0).count() < 64, "{offset}");
        }
    }
    assert!(told.iter().any(|text| text.starts_with("filling 2 disks: ")), "{told:?}");
    assert!(!block::is_held(&bench.disks[0].node));
    stop.ask();
    let mut tell = |_: &str| {};
    let mut progress = Progress::new(&mut tell, &stop);
    let stopped = precondition::fill(&bench.disks, passes("fill"), 7, &mut progress);
    assert_eq!(stopped.unwrap_err().why, "it was stopped");

    let mut journal = bench.journal();
    let layout = Layout { snapshot: "btrfs".into(), ..bench.layout("btrfs", "single", 1) };
    let made = bench.make(&layout, &mut journal).unwrap();
    let held = made.hold_snapshot().unwrap().unwrap();
    assert!(made.mount_point.join(".brickyard-snapshot").exists());
    held.release().unwrap();
    assert!(!made.mount_point.join(".brickyard-snapshot").exists());
    made.unmake(&Host::live(), &mut journal);
    journal.close().unwrap();
    sh(&["wipefs", "--all", "--quiet", bench.disks[1].node.to_str().unwrap()]);
    bench.is_clean();
}

/// Every kind that this kernel has and whose tools check it: twice, since a file system that stays
/// mounted discards nothing the second time.
#[test]
fn file_systems_are_checked_and_discard_between_trials() {
    let _alone = alone();
    let Some(bench) = Bench::new(3, 512 * MIB) else { return };
    let external = Some(bench.disks[2].clone());
    let (mut tell, stop) = (|_: &str| {}, Stop::new());
    for (kind, raid, disks, journal) in [
        ("ext4", "single", 1, None),
        ("ext4", "single", 1, external.clone()),
        ("ext2", "single", 1, None),
        ("xfs", "single", 1, None),
        ("xfs", "single", 1, external),
        ("btrfs", "raid1", 2, None),
    ] {
        let plain = bench.layout(kind, raid, disks);
        let layout = Layout { fsck: true, fstrim: true, journal, ..plain };
        let mut journal = bench.journal();
        let made = bench.make(&layout, &mut journal).unwrap();
        assert!(made.has_upkeep());
        let path = made.mount_point.join("file");
        File::create(&path).unwrap().write_all_at(&[7; 9999], 0).unwrap();
        for time in 0..2 {
            let upkeep = made.keep_up(&mut tell, &stop).unwrap();
            assert!(upkeep.cannot.is_none(), "{:?}", upkeep.cannot);
            let times = upkeep.times;
            assert!(times.fsck_ns > 0 && times.fstrim_ns > 0, "{kind} {raid}: {times:?}");
            assert!(times.fstrim_bytes > 100 * MIB, "{kind} {raid}, time {time}: {times:?}");
            assert_eq!((times.mkfs_ns, times.mount_ns), (0, 0), "of the layout, not of a trial");
            assert_eq!(File::open(&path).unwrap().metadata().unwrap().len(), 9999);
        }
        let said = made.unmake(&Host::live(), &mut journal);
        assert!(said.iter().all(|one| one.fate == Fate::Removed), "{said:?}");
        journal.close().unwrap();
        bench.is_clean();
    }
}

/// What a check finds fails the trial in the words of its tool, and what is then not mounted is
/// undone like all else: also from the journal alone, as after a kill between unmounting and
/// mounting anew.
#[test]
fn a_check_that_finds_errors_tells_them_and_what_is_not_mounted_is_undone() {
    let _alone = alone();
    let Some(bench) = Bench::new(1, 512 * MIB) else { return };
    let (mut tell, stop) = (|_: &str| {}, Stop::new());
    let layout = Layout { fsck: true, ..bench.layout("ext4", "single", 1) };
    let node = bench.disks[0].node.to_str().unwrap().to_owned();
    let mut journal = bench.journal();
    let made = bench.make(&layout, &mut journal).unwrap();
    File::create(made.mount_point.join("file")).unwrap();
    // It has more names than there are, from now on: debugfs(8).
    sh(&["umount", bench.at().to_str().unwrap()]);
    sh(&["debugfs", "-w", "-R", "set_inode_field /file links_count 5", &node]);
    sh(&["mount", &node, bench.at().to_str().unwrap()]);
    let error = made.keep_up(&mut tell, &stop).unwrap_err();
    let what = format!("the file system did not pass `e2fsck -f -n {node}`");
    assert_eq!(error.what, what);
    assert!(error.why.starts_with("exit status 4: "), "{error}");
    assert!(error.why.contains("ref count is 5, should be 1"), "{error}");
    let at = bench.at().to_str().unwrap().to_owned();
    assert_eq!(crate::journal::mounted_at(&Host::live(), &at), None, "it is not used any more");
    let said = made.unmake(&Host::live(), &mut journal);
    let fates: Vec<Fate> = said.into_iter().map(|said| said.fate).collect();
    assert_eq!(fates, [Fate::Gone, Fate::Removed, Fate::Removed]);
    journal.close().unwrap();
    bench.is_clean();
    // Stopped in the middle, and the process gone.
    let mut journal = bench.journal();
    let made = bench.make(&layout, &mut journal).unwrap();
    let stop_at_check = |line: &str| {
        if line.starts_with("e2fsck") {
            stop.ask();
        }
    };
    let error = made.keep_up(&mut { stop_at_check }, &stop).unwrap_err();
    assert_eq!(error.why, "it was stopped");
    drop((made, journal));
    assert_eq!(bench.undo(), [Fate::Gone, Fate::Removed, Fate::Removed]);
    bench.is_clean();
}

/// After every block was written in order, twice as many are written at random places of the whole
/// disk: e^-2 of them, one in seven, are hit by none.
#[test]
fn a_disk_is_overwritten_at_random_places_until_twice_its_size_is_written() {
    let _alone = alone();
    let bytes = 32 * MIB;
    let Some(bench) = Bench::new(1, bytes) else { return };
    let layout = Layout { precondition: "random".into(), ..bench.layout("ext4", "single", 1) };
    let shown = super::super::commands(&layout, Path::new("/run/brickyard-1"));
    let then = "once, then 4 KiB at random places of it, 2 times its size in all";
    assert!(shown[1].ends_with(then), "{}", shown[1]);
    assert!(shown[2].contains("nodiscard"), "{}", shown[2]);
    let written = || {
        let stat = Host::live().word(format!("/sys/block/{}/stat", bench.disks[0].name));
        stat.unwrap().split_ascii_whitespace().nth(6).unwrap().parse::<u64>().unwrap() * 512
    };
    let before = written();
    let (mut tell, stop) = (|_: &str| {}, Stop::new());
    let passes = passes("random");
    precondition::fill(&bench.disks, passes, 7, &mut Progress::new(&mut tell, &stop)).unwrap();
    assert_eq!(written() - before, layout.precondition_bytes());
    assert_eq!(layout.precondition_bytes(), 3 * bytes);
    let file = File::open(&bench.disks[0].node).unwrap();
    let (mut block, mut untouched, mut halves) = ([0; 4096], 0, [0, 0]);
    for offset in (0..bytes).step_by(4096) {
        file.read_exact_at(&mut block, offset).unwrap();
        let header = Header::read(&block).expect("it was written");
        assert_eq!((header.offset, header.campaign), (offset, 7), "a block lies elsewhere");
        untouched += u64::from(header.generation == 0);
        halves[usize::from(offset >= bytes / 2)] += u64::from(header.generation > 0);
    }
    // Of 8192 blocks 1109 with a deviation of 31: no chance, as the salt is the same each time.
    assert!((950..1270).contains(&untouched), "{untouched} were hit by none");
    assert!(halves[0].abs_diff(halves[1]) < 250, "{halves:?}");
}

/// On a kernel that has md and the device mapper; elsewhere it says what is missing.
#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn arrays_are_made_in_the_state_asked_for_and_undone_from_the_journal() {
    let _alone = alone();
    let Some(bench) = Bench::new(6, 128 * MIB) else { return };
    let host = Host::live();
    for (volumes, raid, disks, state) in [
        ("md", "raid0", 2, "clean"),
        ("md", "raid1", 2, "initialising"),
        ("md", "raid5", 3, "clean"),
        ("md", "raid6", 4, "degraded"),
        ("md", "raid10", 4, "rebuilding"),
        ("md", "raid5", 3, "rebuilt"),
        ("md", "raid50", 6, "clean"),
        // Once more on the same disks: nothing of the first may be seen again.
        ("md", "raid50", 6, "degraded"),
        ("lvm", "single", 1, "clean"),
        ("lvm", "raid0", 3, "clean"),
    ] {
        let mut layout = bench.layout("ext4", raid, disks);
        (layout.volumes, layout.array_state) = (volumes.into(), state.into());
        layout.snapshot = if volumes == "lvm" { "lvm" } else { "none" }.into();
        if let Some(lacks) = super::super::lacks(&layout, &host) {
            eprintln!("SKIP {volumes} {raid} {state}: {lacks}");
            continue;
        }
        // So slowly that a state lasts.
        let _ = host.write("/proc/sys/dev/raid/speed_limit_max", "40000");
        let mut journal = bench.journal();
        let made = bench
            .make(&layout, &mut journal)
            .unwrap_or_else(|error| panic!("{volumes} {raid} {state}: {error} {:?}", error.hint));
        eprintln!("{volumes} {raid} {state}: {:?} {:?}", made.times, made.notes);
        assert!(made.times.array_ns > 0);
        assert_eq!(made.times.rebuild_ns > 0, state == "rebuilt");
        let noted = |of: &str| made.notes.iter().any(|(kind, _)| kind == of);
        assert_eq!(noted("array-state"), !matches!(state, "clean" | "rebuilt"));
        let held = made.hold_snapshot().unwrap();
        File::create(made.mount_point.join("file")).unwrap().write_all_at(&[7; 9999], 0).unwrap();
        assert_eq!(held.is_some(), volumes == "lvm");
        held.map_or(Ok(()), HeldSnapshot::release).unwrap();
        drop((made, journal));
        let fates = bench.undo();
        // The disk that was failed on purpose bears no superblock any more.
        let gone = fates.iter().filter(|fate| **fate == Fate::Gone).count();
        assert!(fates.iter().all(|fate| matches!(fate, Fate::Removed | Fate::Gone)), "{fates:?}");
        assert_eq!(gone, usize::from(state == "degraded"), "{volumes} {raid} {state} {fates:?}");
        bench.is_clean();
        for disk in &bench.disks {
            let holders = host.list(format!("/sys/block/{}/holders", disk.name));
            assert!(holders.is_empty(), "{volumes} {raid} {state}: {holders:?}");
        }
    }
}
