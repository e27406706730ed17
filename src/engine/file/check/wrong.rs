//! What becomes of a read that did not bring what was written: each block of it is looked at by
//! itself, so that one bad sector is one fault and its neighbours are checked all the same.

use super::Blocks;
use crate::engine::load::again::Place;
use crate::engine::load::control::Phase;
use crate::engine::load::suspect::Suspect;
use crate::pattern::block::Identity;

impl Blocks<'_> {
    /// Looks at every block of a read of `bytes.len()` bytes that ended with `result`, the first of
    /// which should be `first`.
    #[cold]
    #[inline(never)]
    pub(super) fn look_closer(&mut self, bytes: &[u8], result: i32, file: u32, first: Identity) {
        let came = usize::try_from(result).unwrap_or(0).min(bytes.len());
        if result < 0 {
            self.look_one_by_one(bytes.len(), -result, file, first);
            return;
        }
        let block_bytes = self.format.block_bytes;
        for at in (0..bytes.len()).step_by(block_bytes) {
            let expected = Identity { offset: first.offset + at as u64, ..first };
            let block = &bytes[at.min(came)..(at + block_bytes).min(came)];
            self.check_one(block, file, expected, (first.offset, bytes.len()));
        }
    }

    /// After a read that failed as a whole, each of its blocks is read by itself.
    fn look_one_by_one(&mut self, length: usize, errno: i32, file: u32, first: Identity) {
        let request = (first.offset, length);
        let mut told = false;
        for offset in (first.offset..first.offset + length as u64).step_by(self.format.block_bytes)
        {
            let expected = Identity { offset, ..first };
            // Whoever is told to stop does not wait for a disk that tries for half a minute; and
            // where everything fails, each request counts once.
            if self.trial.shared.phase() == Phase::Stop || !self.ledger.has_room() {
                told = true;
                if self.ledger.is_new_unreadable(first.file, first.generation, first.offset) {
                    self.ledger.count_unreadable(first.offset + length as u64 - offset);
                }
                break;
            }
            if self.ledger.was_unreadable(first.file, first.generation, offset) {
                self.ledger.is_new_unreadable(first.file, first.generation, offset);
                told = true;
                continue;
            }
            let place = self.place(file, offset, self.format.block_bytes, request);
            match place.read_alone() {
                Ok(block) => {
                    told |= !self.check_one(&block, file, expected, request);
                }
                Err(why) => {
                    let errno = why.raw_os_error().unwrap_or(libc::EIO);
                    self.tell_unreadable(errno, self.format.block_bytes, file, expected, request);
                    told = true;
                }
            }
        }
        if !told {
            self.tell_unreadable(errno, length, file, first, request);
        }
    }

    /// Checks what came of one block, all of its bytes or the first of them; whether it is right.
    /// What is wrong with it is told once.
    fn check_one(
        &mut self,
        found: &[u8],
        file: u32,
        expected: Identity,
        request: (u64, usize),
    ) -> bool {
        let block_bytes = self.format.block_bytes;
        self.checked_bytes += found.len() as u64;
        if found.len() == block_bytes && self.format.is_right(found, &expected) {
            return true;
        }
        if !self.ledger.is_new(expected.file, expected.generation, expected.offset) {
            return false;
        }
        if self.ledger.has_room() {
            let look = |it: &Suspect<'_>| it.look(found);
            let fault = self.suspect(file, expected, block_bytes, request, look);
            self.ledger.add(fault, block_bytes as u64);
        } else {
            let judge = |it: &Suspect<'_>| it.judge(found, None);
            let judgement = self.suspect(file, expected, block_bytes, request, judge);
            self.ledger.count_wrong(judgement.kind.name());
        }
        false
    }

    /// Tells of `length` bytes that the kernel could not read, once.
    fn tell_unreadable(
        &mut self,
        errno: i32,
        length: usize,
        file: u32,
        first: Identity,
        request: (u64, usize),
    ) {
        if !self.ledger.is_new_unreadable(first.file, first.generation, first.offset) {
            return;
        }
        let format = self.format;
        let all_right = |bytes: &[u8]| {
            bytes.len() == length
                && format.first_wrong(bytes, first, |_| first.generation).is_none()
        };
        let fault =
            self.suspect(file, first, length, request, |it| it.look_unreadable(errno, &all_right));
        // What came when its blocks were read one by one is not lost.
        let lost = if length > self.format.block_bytes { 0 } else { length };
        self.ledger.add(fault, lost as u64);
    }

    fn place(&self, file: u32, at: u64, bytes: usize, request: (u64, usize)) -> Place<'_> {
        let files = &self.trial.files[self.index];
        let (request_at, request_bytes) = request;
        let file = file as usize;
        let (path, direct) = (&files.paths[file], self.trial.job.direct);
        Place { file: &files.files[file], path, direct, request_at, request_bytes, at, bytes }
    }

    /// Has something done with the block, or blocks, that should begin with `expected`.
    fn suspect<T>(
        &self,
        file: u32,
        expected: Identity,
        length: usize,
        request: (u64, usize),
        what: impl FnOnce(&Suspect<'_>) -> T,
    ) -> T {
        let place = self.place(file, expected.offset, length, request);
        let name = place.path.display().to_string();
        what(&Suspect {
            format: self.format,
            place,
            expected,
            // Nothing older is looked for: the file was laid out anew, in one go.
            oldest_generation: expected.generation,
            name: &name,
            at_ns: self.at_ns(),
            excerpt_bytes: self.ledger.excerpt_bytes(),
            find: &|named| self.path_of(named),
        })
    }
}
