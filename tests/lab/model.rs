//! Disks that follow a model: so long for each request, so many bytes a second, so many at once.
//!
//! A file that this process serves through FUSE (include/uapi/linux/fuse.h, version 7.31) with a
//! loop device over it. The kernel sees a disk whose requests take time, as a throttle's do not:
//! a control group's limit holds requests back before they are counted.

use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::disk::Disk;

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
    device: File,
    store: File,
    size: u64,
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
    Written(u32),
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

const MOST_BYTES: u32 = 1 << 20;

impl Modelled {
    /// A disk of `mib` MiB, kept in memory.
    pub fn new(mib: u64, model: Model) -> Modelled {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
        let served = folder.path().join("served");
        File::create(&served).expect("a mount point");
        let store = tempfile::tempfile_in("/dev/shm").expect("a store");
        store.set_len(mib << 20).expect("sized");
        let device = File::options().read(true).write(true).open("/dev/fuse").expect("/dev/fuse");
        let options = format!(
            "fd={},rootmode=100600,user_id=0,group_id=0,allow_other,max_read={MOST_BYTES}",
            device.as_raw_fd()
        );
        let options = std::ffi::CString::new(options).expect("no zero byte");
        let flags = rustix::mount::MountFlags::NOSUID | rustix::mount::MountFlags::NODEV;
        rustix::mount::mount("brickyard-lab", &served, "fuse", flags, Some(options.as_c_str()))
            .expect("a FUSE mount");
        let server = Arc::new(Server {
            device,
            store,
            size: mib << 20,
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

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |four| u32::from_ne_bytes(four.try_into().expect("four")))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |eight| u64::from_ne_bytes(eight.try_into().expect("eight")))
}

const HEADER: usize = 40;

impl Server {
    /// Reads requests until the mount is gone.
    fn listen(&self, slots: usize) {
        let mut free = vec![Instant::now(); slots];
        let mut bytes = vec![0; MOST_BYTES as usize + (64 << 10)];
        while let Ok(length) = (&self.device).read(&mut bytes) {
            if length >= HEADER {
                self.request(&bytes[..length], &mut free);
            }
        }
        self.gone.store(true, Ordering::Relaxed);
    }

    fn request(&self, request: &[u8], free: &mut [Instant]) {
        let (opcode, unique) = (u32_at(request, 4), u64_at(request, 8));
        let body = &request[HEADER..];
        let (offset, size) = (u64_at(body, 8), u32_at(body, 16));
        match opcode {
            // FORGET, INTERRUPT, DESTROY, BATCH_FORGET: nobody waits for an answer.
            2 | 36 | 38 | 42 => {}
            3 | 4 => self.say(unique, 0, &self.attributes()),
            14 => {
                // FOPEN_DIRECT_IO: no page cache between the loop device and the model.
                let reply = [0u64.to_ne_bytes().as_slice(), &1u64.to_ne_bytes()].concat();
                self.say(unique, 0, &reply);
            }
            15 => self.read(unique, offset, size, free),
            16 => {
                let data = body.get(HEADER..HEADER + size as usize).unwrap_or_default();
                let written = self.store.write_all_at(data, offset);
                let due = Due { at: Instant::now(), unique, what: Answer::Written(size) };
                match written {
                    Ok(()) => self.later(due),
                    Err(_) => self.say(unique, -5, &[]),
                }
            }
            20 => {
                self.flushes.fetch_add(1, Ordering::Relaxed);
                let takes = Duration::from_micros(self.flush_us.load(Ordering::Relaxed));
                self.later(Due { at: Instant::now() + takes, unique, what: Answer::Flushed });
            }
            // RELEASE, FLUSH
            18 | 25 => self.say(unique, 0, &[]),
            26 => self.say(unique, 0, &greeting(body)),
            _ => self.say(unique, -38, &[]),
        }
    }

    fn read(&self, unique: u64, offset: u64, size: u32, free: &mut [Instant]) {
        let length = u64::from(size).min(self.size.saturating_sub(offset)) as usize;
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
                    let error = if read.is_ok() { 0 } else { -5 };
                    self.say(due.unique, error, &bytes[..length]);
                }
                Answer::Written(bytes) => {
                    self.say(due.unique, 0, &u64::from(bytes).to_ne_bytes());
                }
                Answer::Flushed => self.say(due.unique, 0, &[]),
            }
            queue = self.due.lock().expect("the queue");
        }
    }

    fn say(&self, unique: u64, error: i32, body: &[u8]) {
        let body = if error == 0 { body } else { &[] };
        let mut reply = Vec::with_capacity(16 + body.len());
        reply.extend((16 + body.len() as u32).to_ne_bytes());
        reply.extend(error.to_ne_bytes());
        reply.extend(unique.to_ne_bytes());
        reply.extend(body);
        // Who asked may be gone.
        let _ = (&self.device).write(&reply);
    }

    /// struct fuse_attr_out of the only file.
    fn attributes(&self) -> Vec<u8> {
        let mut reply = Vec::new();
        let mut put = |numbers: &[u64]| numbers.iter().for_each(|n| reply.extend(n.to_ne_bytes()));
        // Valid for an hour; node 1, size, blocks; three times of 0.
        put(&[3600, 0, 1, self.size, self.size / 512, 0, 0, 0]);
        // Three parts of a second; mode, links, user, group, device, block size, flags.
        let numbers: [u32; 10] = [0, 0, 0, 0o100_600, 1, 0, 0, 0, 4096, 0];
        numbers.iter().for_each(|n| reply.extend(n.to_ne_bytes()));
        reply
    }
}

/// struct fuse_init_out: asynchronous reads, large requests, up to 64 at the same time.
fn greeting(body: &[u8]) -> Vec<u8> {
    // ASYNC_READ, BIG_WRITES, ASYNC_DIO, MAX_PAGES
    const WANTED: u32 = 1 | 1 << 5 | 1 << 15 | 1 << 22;
    let flags = u32_at(body, 12) & WANTED;
    let mut reply = Vec::new();
    for number in [7, 31, MOST_BYTES, flags] {
        reply.extend(number.to_ne_bytes());
    }
    reply.extend(64u16.to_ne_bytes());
    reply.extend(48u16.to_ne_bytes());
    reply.extend(MOST_BYTES.to_ne_bytes());
    reply.extend(1u32.to_ne_bytes());
    reply.extend(256u16.to_ne_bytes());
    reply.extend([0; 34]);
    reply
}
