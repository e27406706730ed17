//! Disks of known speed: loop devices over files in memory, throttled by the kernel, with a file
//! system on top.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};

use crate::watchdog::{self, Watchdog};

/// Whether the lab can be used at all; prints SKIP for `test` when not.
pub fn usable(test: &str, tools: &[&str]) -> bool {
    let missing = tools.iter().find(|tool| !has(tool));
    let why = if !rustix::process::geteuid().is_root() {
        "needs root for loop devices and mounts".to_owned()
    } else if let Some(tool) = missing {
        format!("{tool} is not installed")
    } else if !Path::new("/dev/loop-control").exists() {
        "this kernel has no loop devices".to_owned()
    } else {
        return true;
    };
    println!("SKIP {test}: {why}");
    false
}

fn has(tool: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin", "/sbin", "/usr/bin"]);
    folders.into_iter().any(|folder| Path::new(folder).join(tool).exists())
}

/// Held by a test for as long as it uses this machine's own kernel; storms share it.
static HERE: RwLock<()> = RwLock::new(());

/// Held by a test for as long as it runs a guest.
static GUEST: Mutex<()> = Mutex::new(());

/// How many tests wait for disks or links of their own at once.
static WAITING: (Mutex<u32>, Condvar) = (Mutex::new(0), Condvar::new());

/// So many may: seven of them used a fifth of one processor between them.
const WAITING_MAX: u32 = 3;

/// One of those places.
#[derive(Debug)]
pub struct Waiting(#[expect(dead_code, reason = "nobody uses the machine alone meanwhile")] Storm);

type Storm = Place<RwLockReadGuard<'static, ()>>;

impl Drop for Waiting {
    fn drop(&mut self) {
        *WAITING.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        WAITING.1.notify_one();
    }
}

/// One of these, and who watches that it is let go of.
type Place<Held> = (Watchdog, Held);

type Here = Place<RwLockWriteGuard<'static, ()>>;
type Guest = Place<MutexGuard<'static, ()>>;

/// Both of them, held by a test that measures processors, memory or a network without a limit.
type Alone = (Here, Guest);

/// One measuring test at a time: they share processors and memory.
pub fn alone() -> Alone {
    let here = beside_a_guest();
    (here, beside_this_machine())
}

/// For a test that waits for throttled disks of this machine nearly all the time, or that holds no
/// figure against a bound: only a guest runs beside it, on a processor of its own.
///
/// Never two tests here at once, for several look for what was left behind on the whole machine.
pub fn beside_a_guest() -> Here {
    watched(HERE.write().unwrap_or_else(PoisonError::into_inner))
}

/// The same for a test that is all in a guest, whose disks are throttled inside.
pub fn beside_this_machine() -> Guest {
    watched(GUEST.lock().unwrap_or_else(PoisonError::into_inner))
}

/// For a test that measures a throttled disk or a shaped link of its own and hardly uses a
/// processor: others that do run beside it.
pub fn beside_another_disk() -> Waiting {
    let waiting = WAITING.0.lock().unwrap_or_else(PoisonError::into_inner);
    let free = |waiting: &mut u32| *waiting >= WAITING_MAX;
    let mut waiting = WAITING.1.wait_while(waiting, free).unwrap_or_else(PoisonError::into_inner);
    *waiting += 1;
    drop(waiting);
    Waiting(beside_a_storm())
}

/// For a storm, which measures nothing, and knows its own from all others' by marks.
pub fn beside_a_storm() -> Storm {
    watched(HERE.read().unwrap_or_else(PoisonError::into_inner))
}

/// The time in which others were waited for is not the test's own.
fn watched<Held>(held: Held) -> Place<Held> {
    (watchdog::watch(), held)
}

/// Runs a command that must succeed; gives what it printed.
pub fn sh(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}: {}{said}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    said.trim().to_owned()
}

fn try_sh(program: &str, arguments: &[&str]) {
    if let Ok(output) = Command::new(program).args(arguments).output()
        && !output.status.success()
    {
        eprintln!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A loop device that we made; gone, with its limits and its file, when dropped.
#[derive(Debug)]
pub struct Disk {
    /// `/dev/loop3`
    pub device: String,
    image: PathBuf,
    limited: bool,
    /// Of its settings in /sys/class/bdi, those that were changed, and what they were.
    held: Vec<(PathBuf, String)>,
}

impl Disk {
    /// A disk of `mib` MiB, kept in memory.
    pub fn new(mib: u64) -> Disk {
        Disk::over(Path::new("/dev/shm"), mib, &[])
    }

    /// A disk whose image lies in `folder`, with further options for losetup.
    pub fn over(folder: &Path, mib: u64, options: &[&str]) -> Disk {
        let image = tempfile::Builder::new()
            .prefix("brickyard-lab-")
            .suffix(".img")
            .tempfile_in(folder)
            .expect("room for a disk image")
            .into_temp_path()
            .keep()
            .expect("keep the image");
        let file = std::fs::OpenOptions::new().write(true).open(&image).expect("open the image");
        file.set_len(mib << 20).expect("size the image");
        Disk::on(&image, options)
    }

    /// A disk over a file that is there; the file goes with it.
    pub fn on(image: &Path, options: &[&str]) -> Disk {
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        let path = image.display().to_string();
        arguments.push(&path);
        let device = sh("losetup", &arguments);
        let disk = Disk { device, image: image.to_owned(), limited: false, held: Vec::new() };
        disk.renew();
        disk
    }

    /// Takes back what a test that was killed left: the kernel keeps both by the device's number.
    /// What waits to be written has no limit of its own in mm/backing-dev.c, but the machine's.
    fn renew(&self) {
        let number = self.number();
        for kind in ["read", "write"] {
            let path = format!("/sys/fs/cgroup/blkio/blkio.throttle.{kind}_bps_device");
            let _ = std::fs::write(path, format!("{number} 0"));
        }
        let folder = Path::new("/sys/class/bdi").join(number);
        for (name, value) in [("strict_limit", "0"), ("max_ratio", "100")] {
            let _ = std::fs::write(folder.join(name), value);
        }
    }

    /// As a plan names it.
    pub fn named(&self) -> String {
        format!("loop:{}", self.image.display())
    }

    fn number(&self) -> String {
        sh("lsblk", &["-dno", "MAJ:MIN", &self.device])
    }

    /// Lets no more than this through, in bytes per second. False when this kernel has no throttle
    /// that holds for every process.
    ///
    /// The limit lies in the root group of cgroup v1, so that write-back by kernel threads is held
    /// to it as well.
    pub fn limit(&mut self, read_bytes_per_s: u64, write_bytes_per_s: u64) -> bool {
        let number = self.number();
        let mut set = true;
        for (kind, limit) in [("read", read_bytes_per_s), ("write", write_bytes_per_s)] {
            let path = format!("/sys/fs/cgroup/blkio/blkio.throttle.{kind}_bps_device");
            set &= std::fs::write(path, format!("{number} {limit}")).is_ok();
        }
        self.limited = set;
        set
    }

    /// Lets no more than this of its files wait in memory to be written, in bytes, whatever the
    /// machine allows: who writes more than that waits. False before Linux 6.2.
    pub fn hold_dirty(&mut self, bytes: u64) -> bool {
        let folder = Path::new("/sys/class/bdi").join(self.number());
        for name in ["strict_limit", "max_ratio"] {
            let path = folder.join(name);
            let Ok(before) = std::fs::read_to_string(&path) else { return false };
            self.held.push((path, before.trim().to_owned()));
        }
        let set = |name: &str, value: u64| std::fs::write(folder.join(name), value.to_string());
        set("strict_limit", 1).is_ok() && set("max_bytes", bytes).is_ok()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        for (path, before) in self.held.drain(..).rev() {
            let _ = std::fs::write(path, before);
        }
        if self.limited {
            // Limits outlive the device: they are kept by number.
            self.limit(0, 0);
        }
        try_sh("losetup", &["-d", &self.device]);
        let _ = std::fs::remove_file(&self.image);
    }
}

/// A mount that we made; gone when dropped.
#[derive(Debug)]
pub struct Mount {
    /// Where.
    pub path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Mount {
    /// Makes a file system of that kind on the disk and mounts it.
    pub fn format(disk: &Disk, kind: &str) -> Mount {
        let quiet = match kind {
            "ext4" => vec!["-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
            "xfs" => vec!["-q", "-f"],
            "btrfs" => vec!["-q", "-f"],
            other => panic!("no recipe for {other}"),
        };
        let mut arguments = quiet;
        arguments.push(&disk.device);
        sh(&format!("mkfs.{kind}"), &arguments);
        Mount::new(kind, &disk.device, "")
    }

    /// Mounts something on a fresh directory.
    pub fn new(kind: &str, source: &str, options: &str) -> Mount {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mnt");
        std::fs::create_dir(&path).expect("a mount point");
        let at = path.display().to_string();
        let mut arguments = vec!["-t", kind, source, &at];
        if !options.is_empty() {
            arguments.extend(["-o", options]);
        }
        sh("mount", &arguments);
        Mount { path, _folder: folder }
    }

    /// A FUSE file system that passes everything on to `below`.
    pub fn fuse(below: &Path) -> Mount {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mnt");
        std::fs::create_dir(&path).expect("a mount point");
        sh("bindfs", &[&below.display().to_string(), &path.display().to_string()]);
        Mount { path, _folder: folder }
    }

    /// As text.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        unmount(&self.path);
    }
}

/// Unmounts what is mounted there; tries for a second.
pub fn unmount(path: &Path) {
    // The kernel closes a ring's files a moment after the process that had it has ended.
    for _ in 0..20 {
        let done = Command::new("umount").arg(path).output();
        if done.is_ok_and(|output| output.status.success()) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    try_sh("umount", &[&path.display().to_string()]);
}
