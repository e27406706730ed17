//! Disks that follow a model: so long for each request, so many bytes a second, so many at once.
//!
//! A file that this process serves through FUSE with a loop device over it. The kernel sees a disk
//! whose requests take time, as a throttle's do not: a control group's limit holds requests back
//! before they are counted.

use std::collections::BinaryHeap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::disk::Disk;
use crate::fuse::{MOST_BYTES, Request, What, Wire};

/// How a disk answers.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// For each request, whatever its size.
    pub request_us: u64,
    /// Then its bytes flow; reads alone, writes are as fast as they come.
    pub bytes_per_s: u64,
    /// Requests that it does at the same time.
    pub slots: usize,
}

/// What the serving threads share.
struct Server {
    wire: Wire,
    store: File,
    /// Of the model, to be changed while it serves: lifting a limit.
    request_us: AtomicU64,
    bytes_per_s: AtomicU64,
    /// For each flush, and how many there were.
    flush_us: AtomicU64,
    flushes: AtomicU64,
    gone: AtomicBool,
    due: Mutex<BinaryHeap<Due>>,
    more: Condvar,
}

/// A reply, and when it is to be given; the earliest is the greatest.
struct Due {
    at: Instant,
    unique: u64,
    what: Answer,
}

enum Answer {
    Read(u64, usize),
    Written(usize),
    Flushed,
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.at == other.at
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        other.at.cmp(&self.at)
    }
}

/// A served disk; gone when dropped.
pub struct Modelled {
    /// The loop device over the served file.
    pub disk: Option<Disk>,
    served: PathBuf,
    server: Arc<Server>,
    _folder: tempfile::TempDir,
}

impl Modelled {
    /// A disk of `mib` MiB, kept in memory.
    pub fn new(mib: u64, model: Model) -> Modelled {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
        let served = folder.path().join("served");
        File::create(&served).expect("a mount point");
        let store = tempfile::tempfile_in("/dev/shm").expect("a store");
        store.set_len(mib << 20).expect("sized");
        let wire = Wire::mount(&served, mib << 20);
        let server = Arc::new(Server {
            wire,
            store,
            request_us: AtomicU64::new(model.request_us),
            bytes_per_s: AtomicU64::new(model.bytes_per_s),
            flush_us: AtomicU64::new(0),
            flushes: AtomicU64::new(0),
            gone: AtomicBool::new(false),
            due: Mutex::new(BinaryHeap::new()),
            more: Condvar::new(),
        });
        let (reader, replier) = (server.clone(), server.clone());
        std::thread::spawn(move || reader.listen(model.slots));
        std::thread::spawn(move || replier.reply());
        let mut modelled = Modelled { disk: None, served, server, _folder: folder };
        modelled.disk = Some(Disk::on(&modelled.served, &["--direct-io=on"]));
        modelled
    }

    /// The loop device.
    pub fn disk(&mut self) -> &mut Disk {
        self.disk.as_mut().expect("made")
    }

    /// Each flush takes so long from now on, whatever there is to write.
    pub fn flush_takes(&self, us: u64) {
        self.server.flush_us.store(us, Ordering::Relaxed);
    }

    /// Flushes that it was asked for.
    pub fn flushes(&self) -> u64 {
        self.server.flushes.load(Ordering::Relaxed)
    }

    /// Follows this model from now on; the number of slots stays.
    pub fn change(&self, model: Model) {
        self.server.request_us.store(model.request_us, Ordering::Relaxed);
        self.server.bytes_per_s.store(model.bytes_per_s, Ordering::Relaxed);
    }
}

impl Drop for Modelled {
    fn drop(&mut self) {
        drop(self.disk.take());
        // A loop device lets its file go a moment after it was told to.
        for _ in 0..40 {
            let done = Command::new("umount").arg(&self.served).output();
            if done.is_ok_and(|output| output.status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = Command::new("umount").arg("-l").arg(&self.served).status();
    }
}

impl Server {
    /// Reads requests until the mount is gone.
    fn listen(&self, slots: usize) {
        let mut free = vec![Instant::now(); slots];
        let mut buffer = Wire::buffer();
        while let Some(request) = self.wire.next(&mut buffer) {
            self.request(request, &buffer, &mut free);
        }
        self.gone.store(true, Ordering::Relaxed);
    }

    fn request(&self, request: Request, buffer: &[u8], free: &mut [Instant]) {
        let unique = request.unique;
        match request.what {
            What::Read { offset, bytes } => self.read(unique, offset, bytes, free),
            What::Write { offset, data } => {
                let what = Answer::Written(data.len());
                match self.store.write_all_at(&buffer[data], offset) {
                    Ok(()) => self.later(Due { at: Instant::now(), unique, what }),
                    Err(_) => self.wire.say(unique, Err(Errno::IO)),
                }
            }
            What::Flush => {
                self.flushes.fetch_add(1, Ordering::Relaxed);
                let takes = Duration::from_micros(self.flush_us.load(Ordering::Relaxed));
                self.later(Due { at: Instant::now() + takes, unique, what: Answer::Flushed });
            }
        }
    }

    fn read(&self, unique: u64, offset: u64, length: usize, free: &mut [Instant]) {
        let now = Instant::now();
        let slot = free.iter_mut().min().expect("a slot");
        // What it takes to ask again is not the disk's: a disk that was free only just now has had
        // its next request in its queue.
        let start = match now.checked_duration_since(*slot) {
            Some(idle) if idle > Duration::from_millis(1) => now,
            _ => *slot,
        };
        let flow_s = length as f64 / self.bytes_per_s.load(Ordering::Relaxed).max(1) as f64;
        let takes = Duration::from_micros(self.request_us.load(Ordering::Relaxed))
            + Duration::from_secs_f64(flow_s);
        let at = start + takes;
        *slot = at;
        self.later(Due { at, unique, what: Answer::Read(offset, length) });
    }

    fn later(&self, due: Due) {
        self.due.lock().expect("the queue").push(due);
        self.more.notify_one();
    }

    /// Gives replies when they are due.
    fn reply(&self) {
        let mut bytes = vec![0; MOST_BYTES as usize];
        let mut queue = self.due.lock().expect("the queue");
        loop {
            let now = Instant::now();
            let Some(first) = queue.peek() else {
                // Woken from time to time, to end with the mount.
                let waited = self.more.wait_timeout(queue, Duration::from_secs(5));
                queue = waited.expect("the queue").0;
                if queue.is_empty() && self.gone.load(Ordering::Relaxed) {
                    return;
                }
                continue;
            };
            if let Some(early) = first.at.checked_duration_since(now).filter(|it| !it.is_zero()) {
                queue = self.more.wait_timeout(queue, early).expect("the queue").0;
                continue;
            }
            let due = queue.pop().expect("it was there");
            drop(queue);
            match due.what {
                Answer::Read(offset, length) => {
                    let read = self.store.read_exact_at(&mut bytes[..length], offset);
                    let answer = read.map(|()| &bytes[..length]).map_err(|_| Errno::IO);
                    self.wire.say(due.unique, answer);
                }
                Answer::Written(bytes) => self.wire.written(due.unique, bytes),
                Answer::Flushed => self.wire.say(due.unique, Ok(&[])),
            }
            queue = self.due.lock().expect("the queue");
        }
    }
}
