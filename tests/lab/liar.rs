//! A disk that lies: a loop device over a file that a process of its own serves through FUSE, with
//! ext4 on it. It drops, moves, tears and flips blocks that can be checked, loses what was not
//! flushed when its power is cut, and tells afterwards what it did: that is the truth.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::disk::{Disk, sh, unmount};

mod device;
mod itself;
mod order;
mod server;
mod store;

use order::{Answer, Order};
pub use order::{Harm, Lie, Name, Rule, Told, Truth};

/// Set for the process that serves.
const SERVES: &str = "BRICKYARD_LAB_SERVES_A_LIAR";

/// A lying disk with ext4 on it, mounted; gone when dropped.
pub struct Liar {
    /// Where its files are.
    pub path: PathBuf,
    server: Child,
    talk: Mutex<BufReader<UnixStream>>,
    served: PathBuf,
    disk: Option<Disk>,
    _folder: tempfile::TempDir,
    _mount_point: tempfile::TempDir,
}

impl Liar {
    /// An honest disk of `mib` MiB in memory, until it is told otherwise.
    pub fn new(mib: u64) -> Liar {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
        let served = folder.path().join("served");
        std::fs::File::create(&served).expect("a place to serve at");
        let mount_point = tempfile::tempdir().expect("a folder");
        let path = mount_point.path().join("mnt");
        std::fs::create_dir(&path).expect("a mount point");
        let (ours, theirs) = UnixStream::pair().expect("a socket");
        let server = Command::new(std::env::current_exe().expect("this program"))
            .args(["liar::the_process_that_serves", "--exact", "--nocapture"])
            .env(SERVES, "1")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            // Ctrl-C ends the test, and this one after it.
            .process_group(0)
            .spawn()
            .expect("this program can be started");
        let mut liar = Liar {
            path,
            server,
            talk: Mutex::new(BufReader::new(ours)),
            served: served.clone(),
            disk: None,
            _folder: folder,
            _mount_point: mount_point,
        };
        liar.order(&Order::Serve { at: served, bytes: mib << 20 });
        liar.attach();
        // Blocks of 4 KiB, so that one of ours never lies in two places.
        let options = ["-q", "-F", "-b", "4096", "-m", "0", "-E", "lazy_itable_init=0"];
        sh("mkfs.ext4", &[&options[..], &[liar.device().as_str()]].concat());
        liar.mount();
        liar
    }

    /// As text.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The loop device: `/dev/loop0`.
    pub fn device(&self) -> String {
        self.disk.as_ref().expect("attached").device.clone()
    }

    /// A file of the kernel about the device.
    fn about(&self, name: &str) -> PathBuf {
        let device = self.device();
        Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join(name)
    }

    /// Bytes that were read of it since it was attached.
    pub fn read_bytes(&self) -> u64 {
        let stat = std::fs::read_to_string(self.about("stat")).expect("a block device");
        let sectors = stat.split_whitespace().nth(2).and_then(|count| count.parse::<u64>().ok());
        512 * sectors.expect("a count")
    }

    fn order(&self, order: &Order) -> Answer {
        let mut talk = self.talk.lock().expect("nobody else failed");
        let mut line = serde_json::to_string(order).expect("an order");
        line.push('\n');
        talk.get_mut().write_all(line.as_bytes()).expect("the disk's process listens");
        line.clear();
        talk.read_line(&mut line).expect("the disk's process answers");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{order:?}: {error}: {line}"))
    }

    fn attach(&mut self) {
        self.disk = Some(Disk::on(&self.served, &["--direct-io=on"]));
        // Nothing is read that nobody asked for: else what is told once may be told to nobody. And
        // no requests are made into one, which would all fail with one bad block.
        for (name, value) in [("read_ahead_kb", "0"), ("nomerges", "2")] {
            let path = self.about("queue").join(name);
            std::fs::write(path, value).expect("a setting of our device");
        }
        self.order(&Order::Heir { device: Some(self.device()), mount: Some(self.path.clone()) });
    }

    fn mount(&self) {
        sh("mount", &["-t", "ext4", &self.device(), &self.name()]);
    }

    /// Unmounts it and lets the device go; waits until nothing of it is in use.
    fn detach(&mut self) {
        unmount(&self.path);
        if self.disk.is_none() {
            return;
        }
        let in_use = self.about("loop/backing_file");
        drop(self.disk.take());
        let start = Instant::now();
        while std::fs::read_to_string(&in_use)
            .is_ok_and(|file| file.trim() == self.served.display().to_string())
        {
            if start.elapsed() > Duration::from_secs(10) {
                eprintln!("{} is still in use", in_use.display());
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Lies by these rules from now on, and by this seed where there is a choice.
    pub fn arm(&self, rules: &[Rule], seed: u64) {
        self.order(&Order::Arm { rules: rules.to_vec(), seed });
    }

    /// What was done since the rules were given, and what of it stands.
    pub fn confess(&self) -> Truth {
        match self.order(&Order::Confess) {
            Answer::Truth(truth) => truth,
            other => panic!("asked for the truth: {other:?}"),
        }
    }

    /// Has a volatile cache from now on; a `lying` one answers flushes with the data left in it.
    pub fn cache(&self, lying: bool) {
        self.order(&Order::Cache { lying });
    }

    /// Loses power after so many more requests to write; keeps so many thousandths of what waits
    /// to be flushed then.
    pub fn cut(&self, after: u64, kept_permille: u64, seed: u64) {
        self.order(&Order::Cut { after, kept_permille, seed });
    }

    /// Power is back after a cut: the file system is mounted anew, at the same place. Nothing must
    /// have files open in it.
    pub fn boot(&mut self) {
        self.detach();
        self.order(&Order::Power);
        self.attach();
        self.mount();
    }

    /// Forgets what memory holds of its files.
    pub fn drop_caches(&mut self) {
        unmount(&self.path);
        self.mount();
    }

    /// Harms the one sector on the disk that begins with these bytes.
    pub fn harm(&self, sector_begins: &[u8], harm: Harm) {
        let order = Order::Harm { sector_begins: sector_begins.to_vec(), harm };
        match self.order(&order) {
            Answer::Harmed(1) => {}
            other => panic!("one sector was to be harmed: {other:?}"),
        }
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.detach();
        unmount(&self.served);
        let mut leave = serde_json::to_vec(&Order::Leave).expect("an order");
        leave.push(b'\n');
        let talk = self.talk.get_mut().unwrap_or_else(|broken| broken.into_inner());
        let _ = talk.get_mut().write_all(&leave);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            if self.server.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Serves a lying disk to another test, which starts this program to run it alone; with all others
/// it has nothing to do.
#[test]
fn the_process_that_serves() {
    if std::env::var_os(SERVES).is_some() {
        server::serve();
    }
}
