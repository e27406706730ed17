//! Against a list: the sum of each whole file, read once in every pass. One thread reads while
//! another hashes, and several files are on their way at once.

use std::io::Error;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};

use sha2::Digest as _;

use super::BLOCK_BYTES;
use super::find::kind_of;
use super::shared::{VerificationContext, lock};
use super::source::{AlignedMemory, ReadMode, TargetReader};
use super::suspect::{self, MISMATCH, lasting, ways};
use super::unreadable::{in_pieces, is_of_the_device};
use base::checklist::{Entry, Sum};
use experiment::measurement::integrity::{Fault, Reread};
use experiment::measurement::verified::ProblemKind;

const BLOCK: usize = BLOCK_BYTES as usize;
/// Buffers between the thread that reads and the one that hashes.
const BUFFERS: usize = 4;
/// How often a file that is changed while it is read is tried.
const ATTEMPTS: usize = 3;

/// One stream of a pass: takes files until none is left.
pub fn stream(shared: &VerificationContext) {
    let mut pool: Vec<AlignedMemory> = Vec::new();
    while !shared.over() {
        let Some(file) = shared.next_file() else { break };
        ListedFile { shared, file, again: false }.verify(&mut pool);
    }
}

/// One file of the list.
struct ListedFile<'a> {
    shared: &'a VerificationContext,
    file: usize,
    /// It is read again: that is no part of the pass.
    again: bool,
}

/// What a file's bytes gave, as far as the list asks.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileSums {
    md5: Option<Vec<u8>>,
    sha256: Option<Vec<u8>>,
    blake3: Option<Vec<u8>>,
}

impl FileSums {
    /// What an entry says the sum is, and what it is; `None` when it is the same.
    fn contradiction(&self, entry: &Entry) -> Option<String> {
        let of = |sum: &Option<Vec<u8>>| sum.as_deref() == Some(entry.digest.as_slice());
        let text = |sum: &Option<Vec<u8>>| hex(sum.as_deref().unwrap_or_default());
        let (is_right, is) = match entry.sum {
            Sum::Md5 => (of(&self.md5), text(&self.md5)),
            Sum::Sha256 => (of(&self.sha256), text(&self.sha256)),
            Sum::Blake3 => (of(&self.blake3), text(&self.blake3)),
            Sum::Sha256OrBlake3 => (
                of(&self.sha256) || of(&self.blake3),
                format!("{} (sha256), {} (blake3)", text(&self.sha256), text(&self.blake3)),
            ),
        };
        (!is_right).then(|| {
            let (name, says) = (entry.sum.name(), hex(&entry.digest));
            format!("its {name} is {is}; line {} of the list says {says}", entry.line)
        })
    }
}

impl ListedFile<'_> {
    fn verify(&self, pool: &mut Vec<AlignedMemory>) {
        let held = &self.shared.files[self.file];
        for _ in 0..ATTEMPTS {
            let mut source = match TargetReader::open(&held.path, ReadMode::Around) {
                Ok(source) => source,
                Err(why) => return self.lost(&why),
            };
            let stamp = source.stamp;
            lock(&held.state).stamp = stamp;
            let resident = source.resident_bytes(0, stamp.size);
            let sums = self.sums(&mut source, BLOCK, pool);
            self.shared.delivered(&source, stamp.size.div_ceil(BLOCK_BYTES), resident);
            match source.stamp_now() {
                Ok(now) if now == stamp => {
                    if let Some(sums) = sums {
                        self.shared.checked(stamp.size, stamp.size);
                        lock(&held.state).read = true;
                        self.compare(&sums, pool);
                    }
                    return;
                }
                Ok(now) => self.shared.changed(self.file, &now),
                Err(why) => return self.lost(&why),
            }
            if self.shared.over() {
                break;
            }
        }
        let why = "it was changed each time while it was read: nothing is known of its sum";
        lock(&held.state).partial = true;
        self.shared.problem(&held.shown, ProblemKind::NotHeldStill, why);
    }

    fn lost(&self, why: &Error) {
        let held = &self.shared.files[self.file];
        lock(&held.state).partial = true;
        self.shared.problem(&held.shown, kind_of(why), why.to_string());
    }

    fn compare(&self, sums: &FileSums, pool: &mut Vec<AlignedMemory>) {
        let held = &self.shared.files[self.file];
        let wrong =
            |sums: &FileSums| held.entries.iter().find_map(|entry| sums.contradiction(entry));
        let Some(mut what) = wrong(sums) else { return };
        let mut rereads = Vec::new();
        for (how, way, bytes) in ways(&held.path, BLOCK) {
            if self.shared.over() {
                break;
            }
            let gave = match TargetReader::open(&held.path, way) {
                Err(why) => why.to_string(),
                Ok(mut source) => {
                    let anew = ListedFile { shared: self.shared, file: self.file, again: true };
                    let again = anew.sums(&mut source, bytes, pool);
                    self.shared.delivered(&source, source.read_bytes.div_ceil(bytes as u64), 0);
                    match again {
                        None => "unreadable".to_owned(),
                        Some(again) if wrong(&again).is_none() => "right".to_owned(),
                        Some(again) if again == *sums => "same-wrong".to_owned(),
                        Some(_) => "other-wrong".to_owned(),
                    }
                }
            };
            rereads.push(Reread { how: how.to_owned(), gave });
        }
        let stamp = lock(&held.state).stamp;
        if stamp.modified_ns() > self.shared.list_modified_ns {
            what.push_str("; it was modified after the list was written");
        }
        let lasting = lasting(&rereads);
        let kind = MISMATCH.to_owned();
        let fault = Fault { kind, what, rereads, lasting, ..Fault::default() };
        self.shared.fault(self.file, fault, 0);
    }

    /// Reads the file by requests of so many bytes and hashes it; `None` when not all of it could
    /// be read, which is noted.
    fn sums(
        &self,
        source: &mut TargetReader,
        bytes: usize,
        pool: &mut Vec<AlignedMemory>,
    ) -> Option<FileSums> {
        let entries = &self.shared.files[self.file].entries;
        let mut hashers = Hashers::new(entries);
        pool.resize_with(BUFFERS, || AlignedMemory::new(BLOCK));
        let size = source.stamp.size;
        let whole = if size <= bytes as u64 {
            let buffer = pool.first_mut()?;
            let got = self.block(source, buffer, 0, size as usize);
            hashers.update(buffer.bytes().get(..got.unwrap_or(0)).unwrap_or_default());
            got.is_some()
        } else {
            let (full, filled) = sync_channel(BUFFERS);
            let (empty, emptied) = channel();
            for buffer in pool.drain(..) {
                let _ = empty.send(buffer);
            }
            std::thread::scope(|scope| {
                let reader = scope.spawn(|| self.fill(source, bytes, emptied, full));
                for (buffer, length) in filled {
                    hashers.update(&buffer.bytes()[..length]);
                    let _ = empty.send(buffer);
                }
                reader.join().unwrap_or(false)
            })
        };
        whole.then(|| hashers.sums())
    }

    /// The thread that reads: gives whether all of the file came.
    fn fill(
        &self,
        source: &mut TargetReader,
        bytes: usize,
        empty: Receiver<AlignedMemory>,
        full: SyncSender<(AlignedMemory, usize)>,
    ) -> bool {
        let size = source.stamp.size;
        let mut whole = true;
        let mut offset = 0;
        while offset < size {
            let length = (size - offset).min(bytes as u64) as usize;
            let Ok(mut buffer) = empty.recv() else { return false };
            if self.shared.over() {
                return false;
            }
            let got = self.block(source, &mut buffer, offset, length);
            whole &= got.is_some();
            if full.send((buffer, got.unwrap_or(0))).is_err() {
                return false;
            }
            offset += length as u64;
        }
        whole
    }

    /// One request; `None` when not all of it came, which is noted.
    fn block(
        &self,
        source: &mut TargetReader,
        buffer: &mut AlignedMemory,
        offset: u64,
        length: usize,
    ) -> Option<usize> {
        if !self.again {
            self.shared.done_bytes.fetch_add(length as u64, Relaxed);
        }
        let buffer = buffer.bytes_mut();
        match source.read(buffer, offset, length) {
            Ok(got) if got == length => Some(got),
            Ok(got) => {
                suspect::short(self.shared, self.file, source, (offset, got, length));
                None
            }
            Err(why) if is_of_the_device(&why) => {
                in_pieces(self.shared, self.file, source, buffer, (offset, length), &why)
            }
            Err(why) => {
                self.lost(&why);
                None
            }
        }
    }
}

/// What the list asks of a file.
struct Hashers {
    md5: Option<md5::Md5>,
    sha256: Option<sha2::Sha256>,
    blake3: Option<blake3::Hasher>,
}

impl Hashers {
    fn new(entries: &[Entry]) -> Hashers {
        let has = |sums: &[Sum]| entries.iter().any(|entry| sums.contains(&entry.sum));
        Hashers {
            md5: has(&[Sum::Md5]).then(md5::Md5::new),
            sha256: has(&[Sum::Sha256, Sum::Sha256OrBlake3]).then(sha2::Sha256::new),
            blake3: has(&[Sum::Blake3, Sum::Sha256OrBlake3]).then(blake3::Hasher::new),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        if let Some(md5) = &mut self.md5 {
            md5.update(bytes);
        }
        if let Some(sha256) = &mut self.sha256 {
            sha256.update(bytes);
        }
        if let Some(blake3) = &mut self.blake3 {
            blake3.update(bytes);
        }
    }

    fn sums(self) -> FileSums {
        FileSums {
            md5: self.md5.map(|md5| md5.finalize().to_vec()),
            sha256: self.sha256.map(|sha256| sha256.finalize().to_vec()),
            blake3: self.blake3.map(|blake3| blake3.finalize().as_bytes().to_vec()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(sum: Sum, digest: Vec<u8>) -> Entry {
        Entry { line: 3, sum, digest, name: b"a".to_vec() }
    }

    #[test]
    fn sixty_four_digits_may_be_either_sum_and_nothing_else() {
        let sha256 = sha2::Sha256::digest(b"abc").to_vec();
        let blake3 = blake3::hash(b"abc").as_bytes().to_vec();
        for digest in [sha256.clone(), blake3] {
            let entries = [entry(Sum::Sha256OrBlake3, digest)];
            let mut hashers = Hashers::new(&entries);
            hashers.update(b"ab");
            hashers.update(b"c");
            assert_eq!(hashers.sums().contradiction(&entries[0]), None);
        }
        let entries = [entry(Sum::Blake3, sha256)];
        let mut hashers = Hashers::new(&entries);
        hashers.update(b"abc");
        let said = hashers.sums().contradiction(&entries[0]).unwrap();
        assert!(said.starts_with("its blake3 is 6437b3ac"), "{said}");
        assert!(said.contains("line 3 of the list says ba7816bf"), "{said}");
    }
}
