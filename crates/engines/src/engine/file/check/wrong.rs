//! What becomes of a read that did not bring what was written: each block of it is looked at by
//! itself, so that one bad sector is one fault and its neighbours are checked all the same.

use super::{BlockCheck, UNSTEADY};
use crate::engine::load::control::LoadPhase;
use crate::engine::load::reread::ReadLocation;
use crate::engine::load::suspect::SuspectBlock;
use base::pattern::block::Identity;
use host::sys::clock::monotonic_ns;

/// Requests that failed as a whole are marked beside the blocks that did, as if in generations that
/// no block has: a block is left out later only if it could not be read by itself.
const OF_REQUESTS: u64 = 1 << 63;

/// A stream that is told to stop goes on reading again for so long at most, ns.
const STOPPING_MAX_NS: u64 = 5_000_000_000;

impl BlockCheck<'_> {
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

    /// Looks closely at one block of which another end says that it came wrong: the bytes that came
    /// there, of a request of `request.1` bytes from byte `request.0` on. Those bytes were checked,
    /// and counted, where they came.
    #[cold]
    pub fn look_at_told(&mut self, found: &[u8], file: u32, offset: u64, request: (u64, usize)) {
        let (expected, before) = (self.identity(file, offset), self.checked_bytes);
        if self.check_one(found, file, expected, request) {
            self.ledger.count_wrong(UNSTEADY);
        }
        self.checked_bytes = before;
    }

    /// After a read that failed as a whole, each of its blocks is read by itself.
    fn look_one_by_one(&mut self, length: usize, errno: i32, file: u32, first: Identity) {
        let request = (first.offset, length);
        let end = first.offset + length as u64;
        let offsets = (first.offset..end).step_by(self.format.block_bytes);
        let known =
            |it: &Self, offset| it.ledger.was_unreadable(first.file, first.generation, offset);
        let mut told = false;
        for offset in offsets.clone() {
            let expected = Identity { offset, ..first };
            // Whoever is told to stop does not wait long for a disk that tries for half a minute;
            // and where everything fails, each request counts once.
            if self.must_hurry() || !self.ledger.has_room() {
                told = true;
                let any_known = offsets.clone().any(|offset| known(self, offset));
                if self.is_new_request(&first) && !any_known {
                    self.ledger.count_unreadable(end - offset);
                }
                break;
            }
            if known(self, offset) {
                self.ledger.is_new_unreadable(first.file, first.generation, offset);
                told = true;
                continue;
            }
            let place = self.place(file, offset, self.format.block_bytes, request);
            match place.read_alone() {
                // One that ends early is why the request failed; one that is wrong is a fault of
                // its own.
                Ok(block) => {
                    let short = block.len() < self.format.block_bytes;
                    told |= !self.check_one(&block, file, expected, request) && short;
                }
                Err(why) => {
                    let errno = why.raw_os_error().unwrap_or(libc::EIO);
                    self.ledger.is_new_unreadable(first.file, first.generation, offset);
                    self.tell_unreadable(errno, self.format.block_bytes, file, expected, request);
                    told = true;
                }
            }
        }
        if !told && self.is_new_request(&first) {
            self.tell_unreadable(errno, length, file, first, request);
        }
    }

    /// Whether the stream was told to stop some time ago. What came just before is looked at still.
    fn must_hurry(&mut self) -> bool {
        if self.ground.shared.phase() != LoadPhase::Stop {
            return false;
        }
        let now = monotonic_ns();
        now - *self.stopping_ns.get_or_insert(now) > STOPPING_MAX_NS
    }

    fn is_new_request(&mut self, first: &Identity) -> bool {
        self.ledger.is_new_unreadable(first.file, first.generation | OF_REQUESTS, first.offset)
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
            let look = |it: &SuspectBlock<'_>| it.look(found);
            let fault = self.suspect(file, expected, block_bytes, request, look);
            self.ledger.add(fault, block_bytes as u64);
        } else {
            let judge = |it: &SuspectBlock<'_>| it.judge(found, None);
            let judgement = self.suspect(file, expected, block_bytes, request, judge);
            self.ledger.count_wrong(judgement.kind.name());
        }
        false
    }

    /// Tells of `length` bytes that the kernel could not read.
    fn tell_unreadable(
        &mut self,
        errno: i32,
        length: usize,
        file: u32,
        first: Identity,
        request: (u64, usize),
    ) {
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

    fn place(&self, file: u32, at: u64, bytes: usize, request: (u64, usize)) -> ReadLocation<'_> {
        let files = &self.ground.files[self.index];
        let (request_at, request_bytes) = request;
        let file = file as usize;
        let (path, direct) = (&files.paths[file], self.ground.direct);
        ReadLocation {
            file: &files.files[file],
            path,
            direct,
            request_at,
            request_bytes,
            at,
            bytes,
        }
    }

    /// Has something done with the block, or blocks, that should begin with `expected`.
    fn suspect<T>(
        &self,
        file: u32,
        expected: Identity,
        length: usize,
        request: (u64, usize),
        what: impl FnOnce(&SuspectBlock<'_>) -> T,
    ) -> T {
        let place = self.place(file, expected.offset, length, request);
        let name = place.path.display().to_string();
        what(&SuspectBlock {
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::OnceLock;
    use std::sync::mpsc::channel;

    use serde_json::json;

    use super::*;
    use crate::engine::FileIdentity;
    use crate::engine::file::check::Check;
    use crate::engine::file::files::StreamFiles;
    use crate::engine::file::job::FileJob;
    use crate::engine::file::protocol::LoadSpec;
    use crate::engine::file::stream::FileTrial;
    use crate::engine::load::control::LoadControl;
    use base::pattern::block::Format;
    use experiment::measurement::integrity::{FAULTS_MAX, Lasting};

    const REQUEST: usize = 16384;
    const FIRST: Identity = Identity { campaign: 22, file: 7, offset: 0, generation: 3 };

    /// A trial on one file of four requests, whose blocks are as they should be.
    #[expect(clippy::disallowed_methods, reason = "makes a fixture")]
    fn trial(folder: &std::path::Path) -> FileTrial {
        let path = folder.join("f");
        let settings = json!({"verify": "crc32c", "direct": false, "block-size": REQUEST});
        let streams = vec![vec![path.clone()]];
        let (bench, written) = Default::default();
        let spec = LoadSpec { settings, seed: 1, campaign: 22, streams, bench, written };
        let job = FileJob::new(&spec).unwrap().0;
        let mut bytes = vec![0; 4 * REQUEST];
        format(&job).write(&mut bytes, FIRST, 1);
        std::fs::write(&path, bytes).unwrap();
        let files = vec![File::open(&path).unwrap()];
        FileTrial {
            job,
            files: vec![StreamFiles {
                files,
                paths: vec![path],
                blocks_per_file: 4,
                file_bytes: 4 * REQUEST as u64,
                start_bytes: 0,
                is_device: false,
            }],
            memory_align: 512,
            shared: LoadControl::new(1, REQUEST as u64, true, channel().0),
            cpus: Vec::new(),
            written: vec![vec![FileIdentity { file: FIRST.file, generation: FIRST.generation }]],
            faults_kept: Default::default(),
            second: OnceLock::new(),
        }
    }

    fn format(job: &FileJob) -> Format {
        job.verify.unwrap()
    }

    #[test]
    fn a_request_that_fails_once_is_one_fault_and_what_comes_of_it_then_is_checked() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let trial = trial(folder.path());
        let mut blocks = BlockCheck::new(trial.ground(), format(&trial.job), 0);
        let junk = vec![1; REQUEST];
        for _ in 0..3 {
            blocks.look(&junk, -libc::EIO, 0, REQUEST as u64);
        }
        let integrity = blocks.found().unwrap();
        assert_eq!((integrity.unreadable, integrity.unreadable_bytes), (1, 0));
        assert_eq!((integrity.wrong_blocks(), integrity.again), (0, 2));
        assert_eq!(integrity.checked_bytes, 3 * REQUEST as u64);
        let fault = &integrity.faults[0];
        assert_eq!((fault.kind.as_str(), fault.offset), ("unreadable", REQUEST as u64));
        assert_eq!(fault.lasting, Lasting::Transient, "{fault:?}");
        assert!(
            fault.what.contains("16384 bytes") && fault.what.contains("os error 5"),
            "{fault:?}"
        );
    }

    /// Of a request that failed once, one block came wrong when it was read by itself: the block
    /// was told of and the failure was not, as if the one explained the other (`./test --long`).
    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes a fixture")]
    fn a_request_that_fails_is_told_of_though_one_of_its_blocks_is_wrong_as_well() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let trial = trial(folder.path());
        let path = folder.path().join("f");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[REQUEST + 5000] ^= 4;
        std::fs::write(&path, bytes).unwrap();
        let mut blocks = BlockCheck::new(trial.ground(), format(&trial.job), 0);
        blocks.look(&vec![1; REQUEST], -libc::EIO, 0, REQUEST as u64);
        let integrity = blocks.found().unwrap();
        assert_eq!((integrity.unreadable, integrity.wrong_blocks()), (1, 1));
        let kinds: Vec<&str> = integrity.faults.iter().map(|fault| fault.kind.as_str()).collect();
        assert_eq!(kinds, ["bit-flip", "unreadable"]);
    }

    #[test]
    fn a_short_read_is_told_block_by_block_and_its_whole_blocks_are_checked() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let trial = trial(folder.path());
        let mut blocks = BlockCheck::new(trial.ground(), format(&trial.job), 0);
        let mut bytes = vec![0; REQUEST];
        format(&trial.job).write(&mut bytes, FIRST, 1);
        blocks.look(&bytes, 4096 + 1000, 0, 0);
        let integrity = blocks.found().unwrap();
        let offsets: Vec<u64> = integrity.faults.iter().map(|fault| fault.offset).collect();
        assert_eq!(offsets, [4096, 8192, 12288]);
        assert!(integrity.faults.iter().all(|fault| fault.lasting == Lasting::Transient));
        assert_eq!((integrity.wrong["short"], integrity.checked_bytes), (3, 5096));
    }

    /// A block that was wrong in a map and right in the copy that was made to tell of it was
    /// counted as right: nothing was said of it at all.
    #[test]
    fn what_was_wrong_where_it_lay_and_right_in_its_copy_counts_as_wrong() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let trial = trial(folder.path());
        let mut blocks = BlockCheck::new(trial.ground(), format(&trial.job), 0);
        let mut bytes = vec![0; REQUEST];
        format(&trial.job).write(&mut bytes, FIRST, 1);
        blocks.look_again(&bytes, REQUEST as i32, 0, 0);
        bytes[5000] ^= 4;
        blocks.look_again(&bytes, REQUEST as i32, 0, 0);
        let integrity = blocks.found().unwrap();
        assert_eq!((integrity.wrong["unsteady"], integrity.wrong["bit-flip"]), (1, 1));
        assert_eq!((integrity.faults.len(), integrity.faults[0].offset), (1, 4096));
        assert_eq!(integrity.checked_bytes, 2 * REQUEST as u64);
    }

    #[test]
    fn errors_of_the_request_itself_end_the_trial_as_ever() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let trial = trial(folder.path());
        let blocks = BlockCheck::new(trial.ground(), format(&trial.job), 0);
        let goes_on = |result: i32| blocks.goes_on(result, REQUEST as i32);
        assert!([0, 1, 16384, -libc::EIO, -libc::ENODATA].into_iter().all(goes_on));
        assert!(![-libc::EINVAL, -libc::ENOMEM, -libc::EBADF, 16385].into_iter().any(goes_on));
    }

    #[test]
    fn nobody_reads_again_long_after_he_was_told_to_stop_or_when_he_has_kept_enough() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let trial = trial(folder.path());
        let mut blocks = BlockCheck::new(trial.ground(), format(&trial.job), 0);
        trial.faults_kept.store(FAULTS_MAX, std::sync::atomic::Ordering::Relaxed);
        let junk = vec![1; REQUEST];
        blocks.look(&junk, -libc::EIO, 0, 0);
        blocks.look(&junk, REQUEST as i32, 0, 0);
        trial.faults_kept.store(0, std::sync::atomic::Ordering::Relaxed);
        trial.shared.halt();
        blocks.stopping_ns = Some(monotonic_ns() - STOPPING_MAX_NS - 1);
        blocks.look(&junk, -libc::EIO, 0, REQUEST as u64);
        let integrity = blocks.found().unwrap();
        assert_eq!((integrity.unreadable, integrity.unreadable_bytes), (2, 2 * REQUEST as u64));
        assert_eq!(integrity.wrong, [("unwritten".to_owned(), 4)].into(), "0x01 over and over");
        assert!(integrity.faults.is_empty());
        // What came in the moment of the stop is told as ever.
        let mut blocks = BlockCheck::new(trial.ground(), format(&trial.job), 0);
        blocks.look(&junk, -libc::EIO, 0, 0);
        let integrity = blocks.found().unwrap();
        assert_eq!((integrity.unreadable, integrity.faults.len()), (1, 1));
    }
}
