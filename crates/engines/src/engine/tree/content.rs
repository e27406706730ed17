//! What is written into files: filled once, stamped anew for each file.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;

use super::job::TreeJob;
use base::pattern::{Data, Header, bodies_per_block, fill, stamp};

/// The bytes of one stream's files.
#[derive(Debug)]
pub struct Content {
    buffer: Vec<u8>,
    file_bytes: u64,
    data: Data,
    campaign: u64,
    stream: u64,
    body: u32,
    generation: u32,
}

impl Content {
    /// For the files of `stream`; holds nothing where files are empty.
    pub fn new(job: &TreeJob, stream: usize) -> Content {
        let length = job.content_bytes() as usize;
        let mut buffer = vec![0; length];
        let body = (stream as u32).wrapping_mul(bodies_per_block(length));
        fill(&mut buffer, length, job.data, job.campaign, body);
        Content {
            buffer,
            file_bytes: job.file_bytes,
            data: job.data,
            campaign: job.campaign,
            stream: stream as u64,
            body,
            generation: job.seed as u32,
        }
    }

    /// Whether files are empty.
    pub fn is_empty(&self) -> bool {
        self.file_bytes == 0
    }

    /// Writes file `number` from its start to its end.
    ///
    /// # Errors
    /// With the kernel's.
    #[inline]
    pub fn write(&mut self, file: BorrowedFd<'_>, number: u32) -> Result<(), Errno> {
        let mut at = 0;
        while at < self.file_bytes {
            let left = (self.file_bytes - at).min(self.buffer.len() as u64) as usize;
            let piece = &mut self.buffer[..left];
            if self.data.is_stamped() {
                let header = Header {
                    campaign: self.campaign,
                    file: self.stream << 32 | u64::from(number),
                    offset: at,
                    generation: self.generation,
                    body: self.body,
                };
                stamp(piece, header);
            }
            let mut moved = 0;
            // A write that is cut short gives no reason; the next one's does.
            while moved < left {
                match rustix::io::pwrite(file, &piece[moved..], at + moved as u64)? {
                    0 => return Err(Errno::NOSPC),
                    more => moved += more,
                }
            }
            at += left as u64;
        }
        Ok(())
    }
}
