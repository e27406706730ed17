//! Bytes from memory that can be checked where they arrive: with `verify` the sender makes every
//! block anew, each of which says of which stream it is and where in it ([`base::pattern::block`]),
//! and the receiver holds each against what is due there.
//!
//! TCP's own checksum has 16 bits, and cards and proxies compute it anew for bytes that they have
//! changed: what is wrong here was wrong to whoever reads the socket.

use std::io;
use std::os::fd::AsFd;

use super::work::{NetLoad, ReceiverTally, broken, retried};
use crate::engine::load::protocol::{Failure, LoadFailure};
use base::pattern::block::{Format, Identity};
use base::pattern::judge::{Evidence, judge};
use base::value;
use experiment::measurement::Note;
use host::sys::clock::unix_ns;

/// The note on a trial that checks what arrives.
pub const ON_ARRIVAL: &str = "checked-on-arrival";
/// The receiver asks for so many bytes at once, or for a block when that is more.
const READ_BYTES: usize = 128 << 10;

/// The messages of a sender, whose blocks name themselves.
pub struct CheckedMessages {
    format: Format,
    message: Vec<u8>,
    next: Identity,
}

/// The block that begins at `offset` of a stream.
fn due(work: &NetLoad, stream: usize, offset: u64) -> Identity {
    Identity { campaign: work.job.seed, file: stream as u64, offset, generation: 0 }
}

impl CheckedMessages {
    /// Of this stream, in messages of the load's length.
    pub fn new(work: &NetLoad, format: Format, stream: usize) -> CheckedMessages {
        let message = vec![0; work.job.message_bytes];
        CheckedMessages { format, message, next: due(work, stream, 0) }
    }

    /// What is left of the present message after so many bytes; after none the next one.
    #[inline]
    pub fn from(&mut self, start: usize) -> &[u8] {
        if start == 0 {
            self.format.write(&mut self.message, self.next, unix_ns());
            self.next.offset += self.message.len() as u64;
        }
        &self.message[start..]
    }
}

/// Reads what arrives of a stream to its end, and checks each block before it counts; the bytes
/// that arrived. Part of a block at the end, where the sender was stopped, is not looked at.
///
/// # Errors
/// With the stream and the place of the first block that is not what was sent.
pub fn receive(
    work: &NetLoad,
    format: Format,
    stream: usize,
    wait: &dyn Fn() -> bool,
) -> Result<u64, LoadFailure> {
    let socket = work.incoming(stream);
    let block_bytes = format.block_bytes;
    let mut buffer = vec![0_u8; READ_BYTES.next_multiple_of(block_bytes)];
    let mut tally = ReceiverTally::for_stream(work, stream);
    work.note(vec![said(format)]);
    if !wait() {
        return Ok(0);
    }
    let (mut bytes, mut filled) = (0_u64, 0);
    loop {
        let got = retried(|| {
            rustix::io::read(socket.as_fd(), &mut buffer[filled..]).map_err(io::Error::from)
        });
        let got = got.map_err(broken("read from a socket"))?;
        if got == 0 {
            return Ok(bytes);
        }
        let first = due(work, stream, bytes - filled as u64);
        bytes += got as u64;
        filled += got;
        let whole = filled - filled % block_bytes;
        if let Some(wrong) = format.first_wrong(&buffer[..whole], first, |_| first.generation) {
            let found = &buffer[wrong * block_bytes..][..block_bytes];
            let offset = first.offset + (wrong * block_bytes) as u64;
            return Err(differs(format, stream, Identity { offset, ..first }, found));
        }
        tally.count(bytes);
        buffer.copy_within(whole..filled, 0);
        filled -= whole;
    }
}

#[cold]
fn differs(format: Format, stream: usize, expected: Identity, found: &[u8]) -> LoadFailure {
    let (named, again) = (None, None);
    let judged = judge(&Evidence { format, expected, found, named, again, oldest_generation: 0 });
    let what = format!(
        "stream {}: the block of {} at byte {} did not arrive as it was sent ({}): {}",
        stream + 1,
        value::bytes(found.len() as f64),
        expected.offset,
        judged.kind.name(),
        judged.what
    );
    (Failure::Failed, what)
}

fn said(format: Format) -> Note {
    let text = format!(
        "every block of {} was made anew by the sender and checked where it arrived ({}): that \
         work is in the rate and in the cost of both ends",
        value::bytes(format.block_bytes as f64),
        format.checksum.name()
    );
    Note::new(ON_ARRIVAL, text)
}

/// What must be said of files whose blocks of this format are checked where they arrive.
pub fn of_files(format: Format) -> Note {
    let text = format!(
        "every block of {} was checked where it arrived ({}): that work is in the rate and in the \
         cost of the end that receives",
        value::bytes(format.block_bytes as f64),
        format.checksum.name()
    );
    Note::new(ON_ARRIVAL, text)
}
