//! Files that are read and sent: what the engine `net-file` does besides what `net` does.
//!
//! Each stream has files of its own, as in the engine `file`, laid out, opened and dropped from
//! memory with the same proof. The sender goes through them from the first byte to the last, over
//! and over. Before a round that may meet in memory what the last one left there, it waits until
//! the receiver has everything (until then the pages are in the sockets, and nobody can drop them)
//! and drops it. By which way bytes go from a file to a socket is the business of `ways` and, with
//! several reads in flight, of `ring` and `ahead`. With `verify` the receiver holds each block that
//! arrives against what was written, end to end.

use std::fs::File;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;

use super::checked;
use super::job::{NetJob, ReceivePath, SendPath};
use super::served::{SentFiles, UNKNOWN};
use super::socket;
use super::work::{EndCounters, NetLoad, ReceiverTally, lock, retried};
use crate::engine::Error;
use crate::engine::file::check::{BlockCheck, Check};
use crate::engine::file::files::StreamFiles;
use crate::engine::file::lane::forget;
use crate::engine::load::control::LoadPhase;
use crate::engine::load::protocol::{Failure, LoadFailure};
use experiment::knob::Access;
use host::sys::clock::{monotonic_ns, sleep_until};

mod ahead;
mod ring;
#[cfg(test)]
mod tests;
mod ways;

/// How often a sender at the end of its files looks whether all has arrived, ns.
const LOOK_NS: u64 = 50_000;
/// A position in a stream's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FilePosition {
    /// Of the stream's files.
    file: usize,
    /// In it, bytes.
    offset: u64,
}

impl FilePosition {
    /// Of the block of this number since the trial began.
    fn of_block(files: &StreamFiles, number: u64, block_bytes: u64) -> FilePosition {
        let (round, block) = (number % files.blocks(), number % files.blocks_per_file);
        FilePosition { file: (round / files.blocks_per_file) as usize, offset: block * block_bytes }
    }
}

/// A sender's way through its files.
struct SenderRound<'a> {
    work: &'a NetLoad,
    served: &'a SentFiles,
    index: usize,
    files: &'a StreamFiles,
    socket: &'a TcpStream,
    count: &'a EndCounters,
    /// Bytes of each file that are used: whole blocks.
    file_bytes: u64,
    at: FilePosition,
    /// Blocks before this place since the trial began.
    number: u64,
    sent_bytes: u64,
}

impl SenderRound<'_> {
    fn over(&self) -> bool {
        self.work.shared.phase() == LoadPhase::Stop
    }

    /// Bytes up to the end of the present block.
    fn left_of_block(&self) -> usize {
        let block = self.served.job.block_bytes;
        (block - self.at.offset % block) as usize
    }

    fn file(&self) -> &File {
        &self.files.files[self.at.file]
    }

    /// So many bytes more were sent; whether that was the last file's end.
    fn sent(&mut self, bytes: usize) -> bool {
        self.sent_bytes += bytes as u64;
        self.count.bytes.store(self.sent_bytes, Relaxed);
        self.read(bytes)
    }

    /// So many bytes more were read; whether that was the last file's end.
    fn read(&mut self, bytes: usize) -> bool {
        self.at.offset += bytes as u64;
        self.number += u64::from(self.at.offset.is_multiple_of(self.served.job.block_bytes));
        if self.at.offset < self.file_bytes {
            return false;
        }
        self.at = FilePosition { file: self.at.file + 1, offset: 0 };
        if self.at.file < self.files.files.len() {
            return false;
        }
        self.at.file = 0;
        true
    }

    /// Makes ready for the next round, once all of this one has arrived.
    fn wrap(&self, let_go: impl FnOnce()) {
        if !self.served.job.at_wrap().forget {
            return;
        }
        while !self.has_arrived() {
            if self.over() {
                return;
            }
            sleep_until(monotonic_ns() + LOOK_NS);
        }
        let_go();
        let all_bytes = self.file_bytes * self.files.files.len() as u64;
        let stayed = &self.served.stayed[self.index];
        match (forget(self.files, all_bytes), stayed.load(Relaxed)) {
            (Some(one), so_far) if so_far != UNKNOWN => stayed.store(so_far + one, Relaxed),
            _ => stayed.store(UNKNOWN, Relaxed),
        }
    }

    /// Whether nothing that was sent lies in a socket of this machine any more.
    fn has_arrived(&self) -> bool {
        match self.work.is_apart() {
            false => self.work.shared.cells[self.index].read_bytes.load(Relaxed) >= self.sent_bytes,
            // The other machine's kernel has what it has acknowledged.
            true => socket::unacknowledged(self.socket).is_ok_and(|bytes| bytes == 0),
        }
    }

    /// What went wrong with the bytes at a place.
    fn broken(&self, place: FilePosition, why: &io::Error) -> LoadFailure {
        let path = self.files.paths[place.file].display();
        let words = match why.raw_os_error() {
            // A page of a map for which the device gave no bytes.
            Some(libc::EFAULT) => "its bytes cannot be read (EFAULT of a map)".to_owned(),
            _ => why.to_string(),
        };
        let what = format!("cannot send {path} from byte {} on: {words}", place.offset);
        (Failure::of_socket(why), what)
    }
}

/// A read or a copy gave nothing where bytes should be.
fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "it ends there, and was longer before")
}

/// Sends the files of stream `index` over and over until the trial is over; the bytes that were
/// sent. `wait` is asked when everything is ready, and says whether there is anything to do.
///
/// # Errors
/// With what failed.
pub fn send(
    work: &NetLoad,
    served: &SentFiles,
    index: usize,
    wait: &dyn Fn() -> bool,
) -> Result<u64, LoadFailure> {
    let files = &served.streams[index];
    let round = SenderRound {
        work,
        served,
        index,
        files,
        socket: work.outgoing(index),
        count: &work.senders[index],
        file_bytes: files.blocks_per_file * served.job.block_bytes,
        at: FilePosition::default(),
        number: 0,
        sent_bytes: 0,
    };
    match work.job.send {
        SendPath::Write => ways::read_and_write(round, wait),
        SendPath::Sendfile => ways::sendfile(round, wait),
        SendPath::SendfileAhead => ahead::sendfile(round, wait),
        SendPath::Splice => ways::splice(round, wait),
        SendPath::Mmap => ways::mapped(round, wait),
        SendPath::Uring | SendPath::UringZerocopy => ring::send(round, wait),
        SendPath::Zerocopy => Err((Failure::Unsupported, no_zerocopy().to_owned())),
    }
}

fn no_zerocopy() -> &'static str {
    "send-path=zerocopy sends the same buffer again and again, and files have other bytes each \
     time; send-path=uring-zerocopy gives buffers back when the kernel is done with them"
}

/// What files cannot be sent by, with what would do.
///
/// # Errors
/// `Unsupported`, by name.
pub fn refuse(
    job: &NetJob,
    access: &str,
    direct: bool,
    depth: u64,
    checks: bool,
) -> Result<(), Error> {
    let unsupported = |what: String| Err(Error::Unsupported(what));
    if access != Access::Read.name() {
        return unsupported(format!(
            "files are sent from their first byte to their last; access={access} needs the engine \
             file, and here access=read"
        ));
    }
    let in_flight = matches!(job.send, SendPath::Uring | SendPath::UringZerocopy);
    if depth > 1 && !in_flight && job.helpers() == 0 {
        return unsupported(format!(
            "send-path={} has one read in flight per stream; queue-depth={depth} needs \
             send-path=uring, uring-zerocopy or sendfile-ahead",
            job.send.name()
        ));
    }
    if checks && job.receive != ReceivePath::Read {
        return unsupported(
            "what arrives is checked in whole blocks; verify needs receive-path=read".to_owned(),
        );
    }
    match job.send {
        SendPath::Zerocopy => unsupported(no_zerocopy().to_owned()),
        SendPath::Mmap if direct => unsupported(
            "a memory map goes through the page cache; send-path=mmap needs direct=false"
                .to_owned(),
        ),
        SendPath::SendfileAhead if direct => unsupported(
            "direct I/O leaves the page cache out, and what is read ahead lies there; \
             send-path=sendfile-ahead needs direct=false"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

/// Reads what arrives of stream `index` in whole blocks of the load, and has each held against what
/// was written; the bytes that arrived. Part of a block at the end, where the sender was stopped,
/// is not looked at.
///
/// # Errors
/// With what failed.
pub fn receive_checked(
    work: &NetLoad,
    index: usize,
    wait: &dyn Fn() -> bool,
) -> Result<Option<u64>, LoadFailure> {
    if let Some(expected) = &work.expected {
        work.note(vec![checked::of_files(expected.format())]);
        let mut look = expected.look(index);
        return receive_whole(work, index, wait, |bytes, number| look.at(bytes, number)).map(Some);
    }
    let served = work.served.as_ref().and_then(|served| Some((served, served.job.verify?)));
    let Some((served, format)) = served else { return Ok(None) };
    work.note(vec![checked::of_files(format)]);
    let mut blocks = BlockCheck::new(served.ground(&work.shared), format, index);
    let files = &served.streams[index];
    let look = |bytes: &[u8], number| {
        let FilePosition { file, offset } =
            FilePosition::of_block(files, number, served.job.block_bytes);
        blocks.look(bytes, bytes.len() as i32, file as u32, offset);
    };
    let bytes = receive_whole(work, index, wait, look)?;
    lock(&served.found).extend(blocks.found());
    Ok(Some(bytes))
}

/// Reads whole blocks to the end, and gives each to `look` with its number since the trial began.
fn receive_whole(
    work: &NetLoad,
    index: usize,
    wait: &dyn Fn() -> bool,
    mut look: impl FnMut(&[u8], u64),
) -> Result<u64, LoadFailure> {
    let socket = work.incoming(index);
    let mut tally = ReceiverTally::for_stream(work, index);
    let mut buffer = vec![0_u8; work.job.message_bytes];
    if !wait() {
        return Ok(0);
    }
    let (mut bytes, mut filled, mut number) = (0_u64, 0, 0_u64);
    loop {
        let got = retried(|| {
            rustix::io::read(socket.as_fd(), &mut buffer[filled..]).map_err(io::Error::from)
        });
        let got = got.map_err(super::work::broken("read from a socket"))?;
        if got == 0 {
            return Ok(bytes);
        }
        bytes += got as u64;
        filled += got;
        tally.count(bytes);
        if filled == buffer.len() {
            look(&buffer, number);
            filled = 0;
            number += 1;
        }
    }
}
