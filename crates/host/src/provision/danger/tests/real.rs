//! The same on the kernel that we run on, with loop devices that each test makes. Needs root; what
//! cannot run says SKIP.

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "makes disks, says SKIP")]

use std::process::Command;

use super::*;
use crate::sys::gate;

/// A loop device of ours over a file in memory; gone, with its file, when dropped.
struct Own {
    node: String,
    folder: tempfile::TempDir,
}

impl Own {
    /// An empty disk of 160 MiB, more than btrfs needs; `None`, with a word why, where there can be
    /// none.
    fn new(test: &str) -> Option<Own> {
        let folder = tempfile::tempdir_in("/dev/shm").ok()?;
        let file = std::fs::File::create(folder.path().join("image")).unwrap();
        file.set_len(160 << 20).unwrap();
        if !rustix::process::geteuid().is_root() {
            println!("SKIP {test}: needs root for loop devices");
            return None;
        }
        let mut own = Own { node: String::new(), folder };
        match own.attach(&["--find", "--show"]) {
            Ok(node) => own.node = node,
            Err(why) => {
                println!("SKIP {test}: {why}");
                return None;
            }
        }
        Some(own)
    }

    fn image(&self) -> String {
        self.folder.path().join("image").display().to_string()
    }

    fn attach(&self, options: &[&str]) -> Result<String, String> {
        losetup(options, &self.image())
    }

    fn named(&self) -> String {
        format!("loop:{}", self.image())
    }

    fn disk(&self) -> Disk {
        disk::find(&Host::live(), &self.named()).unwrap()
    }

    /// Writes bytes through the file; the loop device shows them.
    fn write(&self, at: u64, bytes: &[u8]) {
        let file = std::fs::OpenOptions::new().write(true).open(self.image()).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, bytes, at).unwrap();
        sh("blockdev", &["--flushbufs", &self.node]);
    }

    /// All bytes, with what the kernel had not written yet.
    fn bytes(&self) -> Vec<u8> {
        sh("sync", &[&self.node]);
        std::fs::read(self.image()).unwrap()
    }

    /// The names of the dangers, without and with `--wipe`; the disk is as it was after each look.
    #[track_caller]
    fn refused(&self, expected: &[&str], with_wipe: &[&str]) {
        let before = self.bytes();
        for (wipe, expected) in [(Vec::new(), expected), (vec![self.named()], with_wipe)] {
            let result = check(&Host::live(), &[self.disk()], &wipe, &[]);
            let found = result.err().unwrap_or_default();
            let names: Vec<&str> = found.iter().map(|refusal| refusal.danger).collect();
            assert_eq!(names, expected, "wipe {wipe:?}: {found:#?}");
        }
        assert!(before == self.bytes(), "a look has changed the disk");
    }
}

/// Shows a file; between finding a free device and taking it, others may have taken it.
fn losetup(options: &[&str], file: &str) -> Result<String, String> {
    let mut why = String::new();
    for _ in 0..20 {
        let output = gate::output(Command::new("losetup").args(options).arg(file));
        let output = output.map_err(|error| format!("losetup: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        why = String::from_utf8_lossy(&output.stderr).into_owned();
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    Err(why)
}

impl Drop for Own {
    fn drop(&mut self) {
        if !self.node.is_empty() {
            let _ = gate::output(Command::new("losetup").args(["-d", &self.node]));
        }
    }
}

/// What undoes a step, also when the test fails in between.
struct After(&'static str, Vec<String>);

impl Drop for After {
    fn drop(&mut self) {
        let _ = gate::output(Command::new(self.0).args(&self.1));
    }
}

#[track_caller]
fn sh(program: &str, arguments: &[&str]) {
    let output = gate::output(Command::new(program).args(arguments));
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
}

fn has(test: &str, tool: &str) -> bool {
    let there = gate::output(Command::new(tool).arg("--version")).is_ok();
    if !there {
        println!("SKIP {test}: {tool} is not installed");
    }
    there
}

/// Mounts a device on a folder of its own, unmounted when dropped. What another test starts holds a
/// claim that was let go until its own exec: "/dev/loop1 already mounted or mount point busy".
fn mounted(own: &Own) -> After {
    let point = own.folder.path().join("mnt");
    std::fs::create_dir(&point).unwrap();
    let point = point.display().to_string();
    // A file system that is written sees its journal written at any time.
    let arguments = ["-o", "ro", &own.node, &point];
    for _ in 0..40 {
        let output = gate::output(Command::new("mount").args(arguments)).unwrap();
        if output.status.success() {
            return After("umount", vec![point]);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    sh("mount", &arguments);
    After("umount", vec![point])
}

#[test]
fn an_empty_loop_device_is_taken_and_kept_from_others() {
    let Some(own) = Own::new("claim") else { return };
    own.refused(&[], &[]);
    let host = Host::live();
    let disk = own.disk();
    let mut first = claim(&host, &disk).unwrap();
    let second = claim(&host, &disk).unwrap_err();
    assert!(second.why.contains("os error 16"), "{second}");
    let refusals = check(&host, std::slice::from_ref(&disk), &[], &[]).unwrap_err();
    let names: Vec<&str> = refusals.iter().map(|refusal| refusal.danger).collect();
    assert_eq!(names, ["busy", "two-runs"], "{refusals:#?}");
    // mkfs takes O_EXCL itself; the lock still keeps a second run out.
    first.let_in(&host).unwrap();
    sh("mkfs.ext4", &["-q", &own.node]);
    let third = claim(&host, &disk).unwrap_err();
    assert!(third.why.contains("has locked it"), "{third}");
    // zpool waits for udev, which takes a shared lock: with ours it waited 30 s, and gave up.
    let udevs = std::fs::File::open(&own.node).unwrap();
    let share = || rustix::fs::flock(&udevs, rustix::fs::FlockOperation::NonBlockingLockShared);
    assert!(share().is_err());
    first.let_udev_in().unwrap();
    share().unwrap();
    let fourth = claim(&host, &disk).unwrap_err();
    assert!(fourth.why.contains("has locked it"), "{fourth}");
    drop(udevs);
    let after = mounted(&own);
    assert!(first.alone(&host).is_err(), "it is mounted");
    drop(after);
    std::os::unix::fs::FileExt::write_all_at(first.alone(&host).unwrap(), b"x", 0).unwrap();
    drop(first);
    assert!(claim(&host, &disk).is_ok());
}

/// mkfs found a disk in use that had just been let go of: a child that another thread was starting
/// had a copy of our descriptor. The one of a claim that came to nothing, as the disk was locked,
/// was forgotten: whoever asked next was told of a disk in use, and not that it was locked.
#[test]
fn a_disk_that_is_let_go_of_is_free_though_others_start_programs() {
    let Some(own) = Own::new("let go") else { return };
    let (host, disk) = (Host::live(), own.disk());
    let over = std::sync::atomic::AtomicBool::new(false);
    let start = || {
        while !over.load(std::sync::atomic::Ordering::Relaxed) {
            gate::output(&mut Command::new("true")).unwrap();
        }
    };
    let free = std::thread::scope(|scope| {
        scope.spawn(start);
        scope.spawn(start);
        let mut free = Vec::new();
        for _ in 0..50 {
            let mut claimed = claim(&host, &disk);
            let taken = claimed.as_mut().map_err(|error| error.clone());
            free.push(taken.and_then(|claim| claim.let_in(&host)));
            free.push(match crate::sys::block::is_held(std::path::Path::new(&own.node)) {
                true => Err(crate::sys::Error::new("it is held", "")),
                false => Ok(()),
            });
        }
        // Each waits for the lock.
        let claimed = claim(&host, &disk).and_then(|mut claim| claim.let_in(&host).map(|()| claim));
        for _ in 0..4 {
            let refused = claim(&host, &disk).unwrap_err();
            free.push(match refused.why.contains("has locked it") {
                true => Ok(()),
                false => Err(refused),
            });
        }
        free.push(claimed.map(drop));
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        free
    });
    assert!(free.iter().all(Result::is_ok), "{free:?}");
}

#[test]
fn another_disk_on_the_same_number_is_not_taken_for_the_one_that_was_checked() {
    let Some(own) = Own::new("swapped") else { return };
    let host = Host::live();
    let disk = own.disk();
    check(&host, std::slice::from_ref(&disk), &[], &[]).unwrap();
    sh("losetup", &["-d", &own.node]);
    // The same file on the same number: only the kernel's count of disks tells them apart.
    sh("losetup", &[&own.node, &own.image()]);
    let before = own.bytes();
    let error = claim(&host, &disk).unwrap_err();
    assert!(error.why.contains("than when it was checked"), "{error}");
    let refusals = check(&host, &[disk], &[own.named()], &[]).unwrap_err();
    assert_eq!(refusals[0].danger, "swapped", "{refusals:#?}");
    assert!(before == own.bytes());
}

#[test]
fn a_mounted_disk_is_refused_and_a_signature_is_until_it_is_confirmed() {
    let Some(own) = Own::new("mounted") else { return };
    sh("mkfs.ext4", &["-q", &own.node]);
    own.refused(&["signature"], &[]);
    let after = mounted(&own);
    own.refused(&["mounted", "busy", "signature"], &["mounted", "busy"]);
    // What is needed lies there: the file that it shows, and a folder on it.
    let host = Host::live();
    for needed in [own.image(), own.folder.path().join("mnt/brickyard.db").display().to_string()] {
        let refusals = check(&host, &[own.disk()], &[], &[needed.into()]).unwrap_err();
        assert!(refusals.iter().any(|refusal| refusal.danger == "own-disk"), "{refusals:#?}");
    }
    drop(after);
    let wrong = check(&host, &[own.disk()], &["S4EVNX0R12345".to_owned()], &[]).unwrap_err();
    let names: Vec<&str> = wrong.iter().map(|refusal| refusal.danger).collect();
    assert_eq!(names, ["wrong-serial", "signature"]);
}

#[test]
fn a_disk_that_is_mounted_in_another_mount_namespace_is_refused() {
    let Some(own) = Own::new("mounted-elsewhere") else { return };
    if !has("mounted-elsewhere", "unshare") {
        return;
    }
    sh("mkfs.ext4", &["-q", &own.node]);
    let point = own.folder.path().join("mnt");
    std::fs::create_dir(&point).unwrap();
    let script = format!("mount {} {} && echo there && read x", own.node, point.display());
    let mut command = Command::new("unshare");
    command
        .args(["-m", "--propagation", "private", "sh", "-c", &script])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut child = gate::start(&mut command).unwrap();
    let mut line = String::new();
    let said = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(said), &mut line).unwrap();
    let result = check(&Host::live(), &[own.disk()], &[own.named()], &[]);
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(line, "there\n", "it could not be mounted");
    let refusals = result.unwrap_err();
    let names: Vec<&str> = refusals.iter().map(|refusal| refusal.danger).collect();
    assert_eq!(names, ["mounted-elsewhere", "busy"], "{refusals:#?}");
}

#[test]
fn the_second_device_of_a_btrfs_is_refused() {
    let (Some(first), Some(second)) = (Own::new("btrfs"), Own::new("btrfs")) else { return };
    if !has("btrfs", "mkfs.btrfs") {
        return;
    }
    sh("mkfs.btrfs", &["-q", "-d", "raid1", "-m", "raid1", &first.node, &second.node]);
    let after = mounted(&first);
    let held = ["mounted", "btrfs-member", "busy"];
    second.refused(&[&held[..], &["signature"]].concat(), &held);
    drop(after);
    second.refused(&["signature"], &[]);
}

#[test]
fn swap_space_in_use_is_refused() {
    let Some(own) = Own::new("swap") else { return };
    sh("mkswap", &[&own.node]);
    own.refused(&["signature"], &[]);
    if !gate::output(Command::new("swapon").arg(&own.node)).is_ok_and(|done| done.status.success())
    {
        println!("SKIP swap: this machine swaps to nothing");
        return;
    }
    // The kernel may write there at any moment now, so that its bytes are not compared.
    let after = After("swapoff", vec![own.node.clone()]);
    let result = check(&Host::live(), &[own.disk()], &[own.named()], &[]);
    drop(after);
    let refusals = result.unwrap_err();
    let names: Vec<&str> = refusals.iter().map(|refusal| refusal.danger).collect();
    assert_eq!(names, ["swap", "busy"]);
}

/// libblkid believes a label only with its checksum (lvm2's crc.c).
fn lvm_label() -> [u8; 512] {
    let mut label = [0; 512];
    label[..8].copy_from_slice(b"LABELONE");
    label[8] = 1;
    label[20] = 32;
    label[24..32].copy_from_slice(b"LVM2 001");
    label[32..64].copy_from_slice(b"abcdefghijklmnopqrstuvwxyz012345");
    let crc = label[20..].iter().fold(0xf597_a6cf_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }
        })
    });
    label[16..20].copy_from_slice(&crc.to_le_bytes());
    label
}

#[test]
fn labels_and_tables_written_by_hand_are_refused_until_confirmed() {
    let Some(own) = Own::new("labels") else { return };
    own.write(512, &lvm_label());
    own.refused(&["lvm-member"], &[]);
    own.write(512, &[0; 512]);
    own.refused(&[], &[]);
    // One partition of type 83 from sector 2048 on, in a master boot record.
    let mut record = [0; 512];
    record[446..462].copy_from_slice(&[0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 16, 0, 0]);
    record[510..].copy_from_slice(&[0x55, 0xaa]);
    own.write(0, &record);
    own.refused(&["partition-table"], &[]);
    let partx = gate::output(Command::new("partx").args(["-a", &own.node]));
    if partx.is_ok_and(|done| done.status.success()) {
        own.refused(&["partitions", "partition-table"], &[]);
        let part = format!("{}p1", own.node);
        let error = disk::find(&Host::live(), &part).unwrap_err();
        assert!(error.why.contains("partition of loop"), "{error}");
        sh("partx", &["-d", &own.node]);
    }
    own.write(0, &[0; 512]);
    own.write(100 << 20, &[7]);
    // Between the places that are looked at nothing is seen: 160 MiB / 126 = 1.27 MiB apart.
    own.write(own.disk().size_bytes - 1, &[7]);
    own.refused(&["data"], &[]);
}

#[test]
fn a_read_only_loop_device_is_refused() {
    let Some(own) = Own::new("read-only") else { return };
    sh("losetup", &["-d", &own.node]);
    sh("losetup", &["-r", &own.node, &own.image()]);
    own.refused(&["read-only"], &["read-only"]);
    // Linux opens it for writing all the same, and refuses each write.
    let error = claim(&Host::live(), &own.disk()).unwrap_err();
    assert!(error.why.contains("takes no writes"), "{error}");
}

#[test]
fn a_program_that_has_it_open_and_a_second_loop_device_are_refused() {
    let Some(own) = Own::new("open") else { return };
    let mut command = Command::new("sleep");
    command.arg("600").stdin(std::fs::File::open(&own.node).unwrap());
    let mut child = gate::start(&mut command).unwrap();
    // Its standard input, which it holds alone from here on.
    drop(command);
    let result = check(&Host::live(), &[own.disk()], &[], &[]);
    child.kill().unwrap();
    child.wait().unwrap();
    let refusals = result.unwrap_err();
    assert!(refusals.iter().any(|refusal| refusal.danger == "open"), "{refusals:#?}");
    let disk = own.disk();
    let link = own.folder.path().join("hard");
    std::fs::hard_link(own.image(), &link).unwrap();
    let second = losetup(&["--find", "--show"], &link.display().to_string()).unwrap();
    let _after = After("losetup", vec!["-d".to_owned(), second]);
    let refusals = check(&Host::live(), &[disk], &[own.named()], &[]).unwrap_err();
    assert_eq!(refusals[0].danger, "shown-twice", "{refusals:#?}");
}

/// There is no udev in a container, so that the test makes the link itself.
#[test]
fn a_link_in_by_id_is_followed_and_not_out_of_dev() {
    let Some(own) = Own::new("by-id") else { return };
    let made: Vec<&str> = ["/dev/disk", "/dev/disk/by-id"]
        .into_iter()
        .filter(|path| !Path::new(path).exists())
        .collect();
    if std::fs::create_dir_all("/dev/disk/by-id").is_err() {
        println!("SKIP by-id: /dev cannot be written");
        return;
    }
    let link = format!("/dev/disk/by-id/brickyard-test-{}", std::process::id());
    let find = |target: &Path| {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(target, &link).unwrap();
        disk::find(&Host::live(), &link)
    };
    let good = find(Path::new(&own.node));
    let relative = find(&Path::new("../..").join(own.node.trim_start_matches("/dev/")));
    let image = find(Path::new(&own.image()));
    let outside = own.folder.path().join("to-it");
    std::os::unix::fs::symlink(&own.node, &outside).unwrap();
    let around = find(&outside);
    let _ = std::fs::remove_file(&link);
    for path in made.iter().rev() {
        let _ = std::fs::remove_dir(path);
    }
    assert_eq!(good.unwrap().identity, own.disk().identity);
    assert_eq!(relative.unwrap().node, own.disk().node);
    // /dev/shm is below /dev, and holds files of all comers.
    assert!(image.unwrap_err().why.contains("where anybody may write"));
    assert!(around.unwrap_err().why.contains("where anybody may write"));
}
