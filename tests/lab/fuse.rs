//! The kernel's side of a file system of one file: FUSE, as include/uapi/linux/fuse.h (version
//! 7.31) has it.
//!
//! What is read and written is answered by whoever serves it; the rest is answered here.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::io::Errno;

/// No request is larger.
pub const MOST_BYTES: u32 = 1 << 20;

/// `struct fuse_in_header`, and `struct fuse_write_in`, which happens to be as long.
const HEADER: usize = 40;

/// What the kernel asks for.
pub struct Request {
    /// To be given with the reply.
    pub unique: u64,
    pub what: What,
}

pub enum What {
    Read {
        offset: u64,
        bytes: usize,
    },
    /// The data lie there in the buffer.
    Write {
        offset: u64,
        data: Range<usize>,
    },
    Flush,
}

/// A mounted file, until it is unmounted or this is dropped.
pub struct Wire {
    device: File,
    size: u64,
}

impl Wire {
    /// Mounts a file of so many bytes over the file `at`.
    pub fn mount(at: &Path, size: u64) -> Wire {
        let device = File::options().read(true).write(true).open("/dev/fuse").expect("/dev/fuse");
        let options = format!(
            "fd={},rootmode=100600,user_id=0,group_id=0,allow_other,max_read={MOST_BYTES}",
            device.as_raw_fd()
        );
        let options = std::ffi::CString::new(options).expect("no zero byte");
        let flags = rustix::mount::MountFlags::NOSUID | rustix::mount::MountFlags::NODEV;
        rustix::mount::mount("brickyard-lab", at, "fuse", flags, Some(options.as_c_str()))
            .expect("a FUSE mount");
        Wire { device, size }
    }

    /// Room for any request.
    pub fn buffer() -> Vec<u8> {
        vec![0; MOST_BYTES as usize + (64 << 10)]
    }

    /// Waits for the next request; `None` when the mount is gone.
    pub fn next(&self, buffer: &mut [u8]) -> Option<Request> {
        loop {
            let length = match (&self.device).read(buffer) {
                Ok(length) => length,
                // ENOENT: who asked has given up before we heard of it.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return None,
            };
            if length < HEADER {
                continue;
            }
            let request = &buffer[..length];
            let (opcode, unique) = (u32_at(request, 4), u64_at(request, 8));
            if let Some(what) = self.sort(opcode, unique, &request[HEADER..]) {
                return Some(Request { unique, what });
            }
        }
    }

    fn sort(&self, opcode: u32, unique: u64, body: &[u8]) -> Option<What> {
        let (offset, size) = (u64_at(body, 8), u32_at(body, 16));
        match opcode {
            15 => {
                let bytes = u64::from(size).min(self.size.saturating_sub(offset)) as usize;
                return Some(What::Read { offset, bytes });
            }
            16 => {
                let data = 2 * HEADER..2 * HEADER + size as usize;
                return Some(What::Write { offset, data });
            }
            20 => return Some(What::Flush),
            // FORGET, INTERRUPT, DESTROY, BATCH_FORGET: nobody waits for an answer.
            2 | 36 | 38 | 42 => {}
            // GETATTR, SETATTR
            3 | 4 => self.say(unique, Ok(&self.attributes())),
            // OPEN, with FOPEN_DIRECT_IO: no page cache between the loop device and us.
            14 => self.say(unique, Ok(&[0u64.to_ne_bytes(), 1u64.to_ne_bytes()].concat())),
            // RELEASE, FLUSH
            18 | 25 => self.say(unique, Ok(&[])),
            // INIT
            26 => self.say(unique, Ok(&greeting(body))),
            _ => self.say(unique, Err(Errno::NOSYS)),
        }
        None
    }

    /// So many bytes of a write were taken.
    pub fn written(&self, unique: u64, bytes: usize) {
        self.say(unique, Ok(&(bytes as u64).to_ne_bytes()));
    }

    /// Replies.
    pub fn say(&self, unique: u64, answer: Result<&[u8], Errno>) {
        let (error, body) = match answer {
            Ok(body) => (0, body),
            Err(error) => (-error.raw_os_error(), &[][..]),
        };
        let mut reply = Vec::with_capacity(16 + body.len());
        reply.extend((16 + body.len() as u32).to_ne_bytes());
        reply.extend(error.to_ne_bytes());
        reply.extend(unique.to_ne_bytes());
        reply.extend(body);
        // Who asked may be gone.
        let _ = (&self.device).write(&reply);
    }

    /// `struct fuse_attr_out` of the only file.
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

/// `struct fuse_init_out`: asynchronous reads, large requests, up to 64 at the same time.
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

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |four| u32::from_ne_bytes(four.try_into().expect("four")))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).map_or(0, |eight| u64::from_ne_bytes(eight.try_into().expect("eight")))
}
