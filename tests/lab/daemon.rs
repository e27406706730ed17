//! Disks that a process of their own serves: a loop device over a file that `qemu-storage-daemon`
//! exports through FUSE.
//!
//! Its answer to a write looks for further requests before it has written, and reads the next one
//! into the same buffer (QEMU 7.2): with two writes in flight the bytes of one are written twice,
//! and a file system made on it is broken. The kernel is told to keep one request in flight.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::disk::{Disk, sh};

/// Made to answer again, and gone, when dropped.
pub struct Daemon {
    process: Child,
    folder: tempfile::TempDir,
    disk: Option<Disk>,
}

impl Daemon {
    /// A disk of `mib` MiB, read no faster than `read_bytes_per_s`, with options for losetup. Not
    /// opened with O_DIRECT by the daemon, of which its export makes a mess below 4 KiB.
    pub fn new(mib: u64, read_bytes_per_s: Option<u64>, options: &[&str]) -> Daemon {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
        let (image, served) = (folder.path().join("image"), folder.path().join("served"));
        let file = std::fs::File::create(&image).expect("an image");
        file.set_len(mib << 20).expect("sized");
        std::fs::File::create(&served).expect("a mount point");
        let mut command = Command::new("qemu-storage-daemon");
        let node = format!("driver=file,node-name=file,filename={}", image.display());
        command.args(["--blockdev", &node]);
        let mut exported = "file";
        if let Some(rate) = read_bytes_per_s {
            exported = "disk";
            command.args(["--object", &format!("throttle-group,id=group,x-bps-read={rate}")]);
            let node = "driver=throttle,node-name=disk,file=file,throttle-group=group";
            command.args(["--blockdev", node]);
        }
        let served_at = served.display();
        let export = format!("type=fuse,id=export,node-name={exported},mountpoint={served_at}");
        command.args(["--export", &format!("{export},writable=on")]).stderr(Stdio::null());
        let process = command.spawn().expect("qemu-storage-daemon can be started");
        let mut daemon = Daemon { process, folder, disk: None };
        let start = Instant::now();
        while served.metadata().map_or(0, |metadata| metadata.len()) == 0 {
            assert!(start.elapsed() < Duration::from_secs(120), "it serves nothing");
            std::thread::sleep(Duration::from_millis(20));
        }
        one_at_a_time(&served);
        daemon.disk = Some(Disk::on(&served, options));
        daemon
    }

    pub fn disk(&self) -> &Disk {
        self.disk.as_ref().expect("made")
    }

    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.process), signal);
    }

    /// Wakes a daemon that was stopped, and waits until it has answered what was asked of it.
    pub fn answer_again(&self) {
        self.signal(Signal::CONT);
        let start = Instant::now();
        while self.disk.is_some() && self.in_flight() > 0 {
            if start.elapsed() > Duration::from_secs(30) {
                eprintln!("{} still has I/O in flight", self.disk().device);
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// I/Os that the disk has not answered.
    pub fn in_flight(&self) -> u64 {
        let name = self.disk().device.trim_start_matches("/dev/");
        let text = std::fs::read_to_string(format!("/sys/block/{name}/inflight"));
        let text = text.expect("a block device");
        text.split_whitespace().filter_map(|count| count.parse::<u64>().ok()).sum()
    }
}

/// Tells the kernel to send one request of this mount at a time (fs/fuse/control.c).
fn one_at_a_time(served: &Path) {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().display().to_string();
    sh("mount", &["-t", "fusectl", "none", &at]);
    let connection = rustix::fs::minor(served.metadata().expect("it is served").dev());
    let file = folder.path().join(connection.to_string()).join("max_background");
    let told = std::fs::write(&file, "1");
    sh("umount", &[&at]);
    told.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.answer_again();
        drop(self.disk.take());
        std::thread::sleep(Duration::from_millis(200));
        let served = self.folder.path().join("served");
        let umount = |options: &[&str]| {
            let _ =
                Command::new("umount").args(options).arg(&served).stderr(Stdio::null()).status();
        };
        umount(&[]);
        self.signal(Signal::TERM);
        std::thread::sleep(Duration::from_millis(200));
        // What still uses it lets go of it later.
        umount(&["-l"]);
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
