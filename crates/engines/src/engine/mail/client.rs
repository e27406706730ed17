//! One client: a pool of small files, and transactions on it, one after the other.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::draw::{HalfTransaction, MailDraw, MailRules};
use crate::engine::clients::source::WriteContent;
use crate::engine::clients::tally::ClientTally;
use crate::engine::clients::worker::ClientTrial;
use crate::engine::clients::{Client, ClientResult, ClientStep, carry, stand_alone};
use crate::engine::load::protocol::{Failure, LoadFailure};
use crate::engine::replay::disk::close;
use base::pattern::Data;
use experiment::measurement::Operation;
use host::sys::beneath;

/// The load of a trial of mail: what all its clients share.
#[derive(Debug)]
pub struct MailLoad {
    /// What transactions are drawn by.
    pub rules: MailRules,
    /// Draws them.
    pub seed: u64,
    /// Bytes of one read or write at most.
    pub block_bytes: usize,
    /// Transactions of one round.
    pub transactions: u64,
    /// fsync before a file that was written is closed.
    pub sync_files: bool,
    /// What is written.
    pub data: Data,
}

/// The thread of client `index`.
///
/// # Errors
/// With the operation that failed.
pub fn run(trial: &ClientTrial<MailLoad>, index: usize) -> Result<ClientResult, LoadFailure> {
    stand_alone()?;
    let mut client = MailClient::new(trial, index)?;
    carry(&mut client, &trial.terms, &trial.shared, index)
}

/// A file of the pool.
#[derive(Clone, Copy, Debug)]
struct PoolFile {
    number: u64,
    bytes: u64,
}

/// What a file of the pool takes in memory, bytes.
pub const LETTER_BYTES: u64 = size_of::<PoolFile>() as u64;

/// A file's name: its number, in decimal digits.
struct PoolFileName([u8; 24]);

impl PoolFileName {
    fn from_number(mut number: u64) -> PoolFileName {
        let mut digits = [0; 24];
        let mut length = 1;
        let mut rest = number / 10;
        while rest > 0 {
            (length, rest) = (length + 1, rest / 10);
        }
        for place in (0..length).rev() {
            digits[place] = b'0' + (number % 10) as u8;
            number /= 10;
        }
        PoolFileName(digits)
    }

    fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}

/// One client with its pool of files, as postmark has it.
struct MailClient<'a> {
    work: &'a MailLoad,
    folder: OwnedFd,
    path: PathBuf,
    draw: MailDraw,
    pool: Vec<PoolFile>,
    next: u64,
    left: u64,
    source: WriteContent,
    sink: Vec<u8>,
}

impl<'a> MailClient<'a> {
    /// Makes the client's folder and its pool, untimed.
    fn new(trial: &'a ClientTrial<MailLoad>, index: usize) -> Result<MailClient<'a>, LoadFailure> {
        let work = &trial.work;
        let path = trial.place(index).join(format!("client{index}"));
        let made = beneath::make_folder(&path, Mode::RWXU);
        let made = made.and_then(|()| beneath::open_folder(&path));
        let folder = made.map_err(|why| {
            let why = std::io::Error::from(why);
            (Failure::Failed, format!("cannot make {}: {why}", path.display()))
        })?;
        let seed = work.seed ^ (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut mailbox = MailClient {
            work,
            folder,
            path,
            draw: MailDraw::new(work.rules, seed),
            pool: Vec::with_capacity(work.rules.most_files()),
            next: 0,
            left: work.transactions,
            source: WriteContent::new(work.data, trial.spec.campaign, index, work.block_bytes),
            sink: vec![0; work.block_bytes],
        };
        for _ in 0..work.rules.pool_files {
            let bytes = mailbox.draw.size();
            mailbox.create(bytes, None).map_err(|why| mailbox.broken("fill", why))?;
        }
        Ok(mailbox)
    }

    fn broken(&self, what: &str, why: Errno) -> LoadFailure {
        let why = std::io::Error::from(why);
        let files = self.pool.len();
        let at = self.path.display();
        (Failure::Failed, format!("cannot {what} {at}, a mailbox of {files} files: {why}"))
    }

    fn open(&self, number: u64, flags: OFlags) -> Result<OwnedFd, Errno> {
        let name = PoolFileName::from_number(number);
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.folder, name.text(), flags, mode)
    }

    /// Writes so many bytes in blocks from `offset` on, and closes the file.
    fn fill(
        &mut self,
        file: OwnedFd,
        letter: PoolFile,
        offset: u64,
        mut tally: Option<&mut ClientTally<'_>>,
    ) -> Result<(), Errno> {
        let mut at = offset;
        while at < letter.bytes {
            let most = (letter.bytes - at).min(self.work.block_bytes as u64) as usize;
            let (bytes, marked) = self.source.bytes(letter.number as u32, at, most);
            if let (true, Some(tally)) = (marked, &mut tally) {
                tally.mark();
            }
            let written = rustix::io::write(&file, bytes)?;
            if written == 0 {
                return Err(Errno::IO);
            }
            at += written as u64;
            if let Some(tally) = &mut tally {
                tally.wrote(written as u64);
            }
        }
        if self.work.sync_files {
            rustix::fs::fsync(&file)?;
            if let Some(tally) = &mut tally {
                tally.metadata(Operation::Fsync);
            }
        }
        close(file)?;
        if let Some(tally) = tally {
            tally.metadata(Operation::Close);
        }
        Ok(())
    }

    fn create(&mut self, bytes: u64, mut tally: Option<&mut ClientTally<'_>>) -> Result<(), Errno> {
        let letter = PoolFile { number: self.next, bytes };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = self.open(letter.number, flags)?;
        if let Some(tally) = &mut tally {
            tally.metadata(Operation::Create);
        }
        self.next += 1;
        self.fill(file, letter, 0, tally)?;
        self.pool.push(letter);
        Ok(())
    }

    fn read(&mut self, place: usize, tally: &mut ClientTally<'_>) -> Result<(), Errno> {
        let letter = self.pool[place];
        let file = self.open(letter.number, OFlags::RDONLY)?;
        tally.metadata(Operation::Open);
        let mut left = letter.bytes;
        while left > 0 {
            let most = left.min(self.sink.len() as u64) as usize;
            let came = rustix::io::read(&file, &mut self.sink[..most])?;
            if came == 0 {
                return Err(Errno::IO); // Shorter than what was written to it.
            }
            tally.read(came as u64);
            left -= came as u64;
        }
        close(file)?;
        tally.metadata(Operation::Close);
        Ok(())
    }

    fn perform(&mut self, half: HalfTransaction, tally: &mut ClientTally<'_>) -> Result<(), Errno> {
        match half {
            HalfTransaction::Read(place) => self.read(place, tally),
            HalfTransaction::Append(place, bytes) => {
                let PoolFile { number, bytes: before } = self.pool[place];
                let file = self.open(number, OFlags::WRONLY | OFlags::APPEND)?;
                tally.metadata(Operation::Open);
                let longer = PoolFile { number, bytes: before + bytes };
                self.pool[place] = longer;
                self.fill(file, longer, before, Some(tally))
            }
            HalfTransaction::Create(bytes) => self.create(bytes, Some(tally)),
            HalfTransaction::Delete(place) => {
                let name = PoolFileName::from_number(self.pool.swap_remove(place).number);
                rustix::fs::unlinkat(&self.folder, name.text(), AtFlags::empty())?;
                tally.metadata(Operation::Unlink);
                Ok(())
            }
        }
    }
}

impl Client for MailClient<'_> {
    fn step(&mut self, tally: &mut ClientTally<'_>) -> Result<ClientStep, LoadFailure> {
        let begun_ns = tally.last_ns();
        let first = self.draw.use_one(self.pool.len(), |place| self.pool[place].bytes);
        let done = self.perform(first, tally).and_then(|()| {
            let second = self.draw.change(self.pool.len());
            self.perform(second, tally)
        });
        done.map_err(|why| self.broken("go on with", why))?;
        tally.record(Operation::Transaction, tally.last_ns() - begun_ns);
        self.left -= 1;
        if self.left > 0 {
            return Ok(ClientStep::Part);
        }
        self.left = self.work.transactions;
        Ok(ClientStep::Round)
    }

    fn kinds(&self) -> Vec<Operation> {
        use Operation::{Close, Create, Fsync, Open, Read, Transaction, Unlink, Write};
        let mut kinds = vec![Read, Write, Create, Open, Close, Unlink, Transaction];
        kinds.extend(self.work.sync_files.then_some(Fsync));
        kinds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_becomes_its_digits() {
        for number in [0, 9, 10, 12_345, u64::MAX] {
            assert_eq!(
                PoolFileName::from_number(number).text().to_str().unwrap(),
                number.to_string()
            );
        }
    }
}
