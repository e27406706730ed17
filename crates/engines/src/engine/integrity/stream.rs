//! One stream: a file that is written, flushed, dropped from memory, read in order and at random,
//! and partly written over with the next generation, over and over.

use std::sync::atomic::Ordering::Relaxed;

use super::data::{self, Buffer, Data, ReadOutcome};
use super::state::{ExpectedGeneration, FaultyBlock, IntegrityPhase, Shape, StreamState};
use super::work::IntegrityLoad;
use crate::engine::clients::tally::ClientTally;
use crate::engine::clients::worker::ClientTrial;
use crate::engine::clients::{CheckedReads, Client, ClientResult, ClientStep, carry, stand_alone};
use crate::engine::file::Shuffle;
use crate::engine::load::control::LoadEvent;
use crate::engine::load::ledger::Ledger;
use crate::engine::load::protocol::{Failure, LoadFailure};
use crate::engine::load::reread::{ReadLocation, is_unreadable};
use crate::engine::load::suspect::SuspectBlock;
use base::pattern::block::Identity;
use base::pattern::generation::Rewrites;
use experiment::measurement::{Note, Operation};
use host::sys::clock::{monotonic_ns, unix_ns};

/// The thread of stream `index`.
///
/// # Errors
/// With what could not be written or kept; wrong and unreadable blocks are results.
pub fn run(trial: &ClientTrial<IntegrityLoad>, index: usize) -> Result<ClientResult, LoadFailure> {
    stand_alone()?;
    let mut stream = IntegrityStream::new(trial, index)?;
    let mut yielded = carry(&mut stream, &trial.terms, &trial.shared, index)?;
    stream.leave()?;
    yielded.checked = Some(stream.checked());
    Ok(yielded)
}

/// One stream that writes generations over each other and reads them back.
struct IntegrityStream<'a> {
    trial: &'a ClientTrial<IntegrityLoad>,
    work: &'a IntegrityLoad,
    shape: Shape,
    data: Data,
    state: StreamState,
    state_path: std::path::PathBuf,
    rewrites: Rewrites,
    pieces: u64,
    /// Pieces of the phase in hand that are done.
    at: u64,
    /// The order of the random reading in hand.
    order: Option<Shuffle>,
    buffer: Buffer,
    ledger: Ledger,
    resident_before_bytes: Option<u64>,
    /// Of what was read, what was in memory when its reading began; `None` where nobody knows.
    reread_bytes: Option<u64>,
    notes: Vec<Note>,
}

impl<'a> IntegrityStream<'a> {
    /// Takes up the file where it was left, or makes it.
    fn new(
        trial: &'a ClientTrial<IntegrityLoad>,
        index: usize,
    ) -> Result<IntegrityStream<'a>, LoadFailure> {
        let work = &trial.work;
        let shape = work.shape(index as u64);
        let folder = trial.place(index);
        let state_path = folder.join(format!("stream-{index:05}.state"));
        let mut notes = Vec::new();
        let kept = StreamState::load(&state_path, &shape).unwrap_or_else(|why| {
            let text = format!(
                "Where the files stood could not be taken up ({why}): they were written anew."
            );
            notes.push(Note::new("written-anew", text));
            None
        });
        let anew = kept.is_none();
        let mut state = kept.unwrap_or_else(|| StreamState::fresh(&work.boot));
        if state.complete > 0 && state.boot != work.boot {
            let text = "What was written before this boot was read back first.";
            notes.push(Note::new("over-a-boot", text));
        }
        state.take_up(&work.boot, trial.spec.seed);
        let path = folder.join(data::name(index as u64));
        let block = work.format.block_bytes as u64;
        let data = Data::open(path, work.direct, anew, work.file_bytes, block)?;
        let kept = work.kept.clone();
        let ledger = Ledger::new(work.format.checksum.name(), block, kept);
        let mut stream = IntegrityStream {
            trial,
            work,
            rewrites: work.rewrites(index as u64),
            pieces: work.file_bytes / work.piece_bytes as u64,
            at: state.next,
            shape,
            data,
            state,
            state_path,
            order: None,
            buffer: Buffer::new(work.piece_bytes),
            ledger,
            resident_before_bytes: None,
            reread_bytes: Some(0),
            notes,
        };
        stream.save()?;
        stream.begin_phase();
        // What was found in memory before the first byte was read.
        stream.resident_before_bytes = stream.data.drop_cached();
        Ok(stream)
    }

    fn save(&self) -> Result<(), LoadFailure> {
        self.state
            .save(&self.state_path, &self.shape)
            .map_err(|error| (Failure::Failed, error.to_string()))
    }

    /// Makes ready for the phase that the state names, at the place that it names.
    fn begin_phase(&mut self) {
        self.at = match self.state.phase {
            IntegrityPhase::Write => self.state.begun.map_or(0, |begun| begun.next),
            IntegrityPhase::Sequential | IntegrityPhase::Random => self.state.next,
        };
        let random = self.state.phase == IntegrityPhase::Random;
        self.order = random.then(|| self.work.order(self.shape.stream, self.state.complete));
        if self.state.phase == IntegrityPhase::Write {
            return;
        }
        let resident = self.data.drop_cached();
        self.data.advise(random);
        self.reread_bytes = self.reread_bytes.zip(resident).map(|(sum, more)| sum + more);
        let stays = resident.is_some_and(|bytes| bytes > self.work.file_bytes / 20);
        if stays && !self.work.direct && self.notes.iter().all(|note| note.kind != "not-dropped") {
            let text = "More than 5 % of a file stayed in memory when it was dropped from there: \
                        what was read of it proves nothing of the device.";
            self.notes.push(Note::new("not-dropped", text));
        }
    }

    /// Writes the next piece that the generation in hand chooses, or ends it.
    fn write_next(&mut self, tally: &mut ClientTally<'_>) -> Result<ClientStep, LoadFailure> {
        let generation = self.state.complete;
        let chosen = (self.at..self.pieces).find(|it| self.rewrites.chooses(generation, *it));
        if !self.state.begun.is_some_and(|begun| begun.open) {
            // On the disk before the first byte, else a crash would leave what nobody expects.
            self.state.open();
            self.save()?;
        }
        let Some(piece) = chosen else { return self.written_through(tally) };
        let first = self.identity(piece * self.work.piece_bytes as u64, generation);
        self.work.format.write(self.buffer.all(), first, unix_ns());
        tally.mark();
        self.data.write(self.buffer.all(), first.offset)?;
        tally.wrote(self.work.piece_bytes as u64);
        self.at = piece + 1;
        Ok(ClientStep::Part)
    }

    fn written_through(&mut self, tally: &mut ClientTally<'_>) -> Result<ClientStep, LoadFailure> {
        tally.mark();
        let begun_ns = tally.last_ns();
        self.data.flush()?;
        tally.mark();
        // It moves no bytes of its own: its latency is kept, and it is none of the operations.
        tally.record(Operation::Fsync, tally.last_ns().saturating_sub(begun_ns));
        self.state.written_through(&self.rewrites, self.work.piece_bytes as u64);
        self.save()?;
        self.begin_phase();
        tally.mark();
        Ok(ClientStep::Part)
    }

    /// Reads the next piece and checks it; what is wrong with it is a result.
    fn read_next(&mut self, tally: &mut ClientTally<'_>) -> Result<ClientStep, LoadFailure> {
        let piece = self.order.map_or(self.at, |order| order.image(self.at));
        let offset = piece * self.work.piece_bytes as u64;
        tally.mark();
        match self.data.read(self.buffer.all(), offset) {
            ReadOutcome::Bytes(came) => {
                tally.read(came as u64);
                self.check(piece, came);
            }
            ReadOutcome::Error(errno) if is_unreadable(errno) => self.read_in_blocks(piece, errno),
            ReadOutcome::Error(errno) => {
                let (path, why) = (self.data.path.display(), errno_words(errno));
                let found = self.found_so_far();
                let what = format!("cannot read {path} at {offset}: {why}{found}");
                return Err((Failure::Failed, what));
            }
        }
        self.at += 1;
        let mut turn = ClientStep::Part;
        if self.at == self.pieces {
            if self.state.read_through() {
                turn = ClientStep::Round;
            }
            self.save()?;
            self.begin_phase();
        }
        tally.mark();
        Ok(turn)
    }

    /// The fast check of a piece that was read in one request.
    fn check(&mut self, piece: u64, came: usize) {
        let block_bytes = self.work.format.block_bytes;
        let offset = piece * self.work.piece_bytes as u64;
        let expected = self.state.expected(&self.rewrites, piece);
        let format = self.work.format;
        let first = match expected {
            ExpectedGeneration::Exactly(generation) => self.identity(offset, generation),
            ExpectedGeneration::Either(_, newer) => self.identity(offset, newer),
        };
        let whole = came / block_bytes * block_bytes;
        let wrong = match expected {
            ExpectedGeneration::Exactly(generation) => {
                let came = &self.buffer.all()[..whole];
                match format.first_wrong(came, first, |_| generation) {
                    None => Vec::new(),
                    Some(_) => format.wrong(came, first, |_| generation),
                }
            }
            ExpectedGeneration::Either(older, newer) => {
                let blocks = self.buffer.all()[..whole].chunks_exact(block_bytes).enumerate();
                let wrong = blocks.filter(|(index, block)| {
                    let offset = offset + (index * block_bytes) as u64;
                    let of = |generation| Identity { offset, generation, ..first };
                    !format.is_right(block, &of(newer)) && !format.is_right(block, &of(older))
                });
                wrong.map(|(index, _)| index).collect()
            }
        };
        // Blocks behind the end of the file are short, each of them.
        let short = whole / block_bytes..self.work.piece_bytes / block_bytes;
        for index in wrong.into_iter().chain(short) {
            let from = (index * block_bytes).min(came);
            let found = self.buffer.all()[from..(from + block_bytes).min(came)].to_vec();
            let expected = Identity { offset: offset + (index * block_bytes) as u64, ..first };
            self.suspect(expected, offset, self.work.piece_bytes, Ok(&found));
        }
        self.checked_bytes(came as u64);
    }

    /// After an error: each block by itself, so that one bad sector costs one block.
    fn read_in_blocks(&mut self, piece: u64, first_errno: i32) {
        let block_bytes = self.work.format.block_bytes;
        let offset = piece * self.work.piece_bytes as u64;
        let expected = self.state.expected(&self.rewrites, piece);
        let (older, newer) = match expected {
            ExpectedGeneration::Exactly(generation) => (generation, generation),
            ExpectedGeneration::Either(older, newer) => (older, newer),
        };
        let (mut failed, mut checked) = (0, 0);
        for index in 0..self.work.piece_bytes / block_bytes {
            let at = offset + (index * block_bytes) as u64;
            let of = |generation| self.identity(at, generation);
            let (older, newer) = (of(older), of(newer));
            match self.data.read(&mut self.buffer.all()[..block_bytes], at) {
                ReadOutcome::Error(errno) => {
                    failed += 1;
                    self.suspect(newer, at, block_bytes, Err(errno));
                }
                ReadOutcome::Bytes(came) => {
                    checked += block_bytes as u64;
                    let found = self.buffer.all()[..came].to_vec();
                    let right = |of: &Identity| self.work.format.is_right(&found, of);
                    if came < block_bytes || (!right(&newer) && !right(&older)) {
                        self.suspect(newer, at, block_bytes, Ok(&found));
                    }
                }
            }
        }
        if failed == 0 {
            // The request failed and none of its parts does: an error that passed.
            let newer = self.identity(offset, newer);
            self.suspect(newer, offset, self.work.piece_bytes, Err(first_errno));
        }
        self.checked_bytes(checked);
    }

    /// A block that is wrong, or that the kernel could not read, in the request of so many bytes at
    /// `request_at`.
    fn suspect(
        &mut self,
        expected: Identity,
        request_at: u64,
        request_bytes: usize,
        found: Result<&[u8], i32>,
    ) {
        let bytes = self.work.format.block_bytes;
        let seen = FaultyBlock {
            offset: expected.offset,
            generation: expected.generation,
            unreadable: found.is_err(),
        };
        if !self.state.is_new(seen, self.trial.spec.seed) {
            self.ledger.integrity.again += 1;
            return;
        }
        let place = ReadLocation {
            file: &self.data.file,
            path: &self.data.path,
            direct: self.data.direct,
            request_at,
            request_bytes,
            at: expected.offset,
            bytes,
        };
        let released_ns = self.trial.shared.released_ns.load(Relaxed);
        let (campaign, streams) = (self.shape.campaign, self.trial.spec.streams.len());
        let find = |named: &Identity| {
            let stream = (named.file >> 32) as usize;
            let there = named.campaign == campaign && named.file << 32 == 0 && stream < streams;
            there.then(|| self.trial.place(stream).join(data::name(stream as u64)))
        };
        let name = self.data.path.display().to_string();
        let suspect = SuspectBlock {
            format: self.work.format,
            place,
            expected,
            oldest_generation: 0,
            name: &name,
            at_ns: monotonic_ns().saturating_sub(released_ns),
            excerpt_bytes: self.ledger.excerpt_bytes(),
            find: &find,
        };
        match (found, self.ledger.has_room()) {
            (Ok(found), true) => self.ledger.add(suspect.look(found), bytes as u64),
            (Ok(found), false) => {
                let kind = suspect.judge(found, None).kind.name();
                self.ledger.count_wrong(kind);
            }
            (Err(errno), true) => {
                let format = self.work.format;
                let right = |block: &[u8]| format.is_right(block, &expected);
                self.ledger.add(suspect.look_unreadable(errno, &right), bytes as u64);
            }
            (Err(_), false) => self.ledger.count_unreadable(bytes as u64),
        }
    }

    /// Counts what was checked; with the last of the bits that were asked for the trial is over.
    fn checked_bytes(&mut self, bytes: u64) {
        self.ledger.integrity.checked_bytes += bytes;
        let before = self.work.checked_bytes.fetch_add(bytes, Relaxed);
        let passes = |target: &u64| before < *target && before + bytes >= *target;
        if self.work.target_bytes.as_ref().is_some_and(passes) {
            self.trial.shared.end();
            self.trial.shared.tell(LoadEvent::Ended);
        }
    }

    fn identity(&self, offset: u64, generation: u64) -> Identity {
        let (campaign, file) = (self.shape.campaign, self.shape.stream << 32);
        Identity { campaign, file, offset, generation }
    }

    fn found_so_far(&self) -> String {
        let found = &self.ledger.integrity;
        match found.is_clean() {
            true => String::new(),
            false => format!(
                "; until then {} blocks of this stream were wrong and {} could not be read",
                found.wrong_blocks(),
                found.unreadable
            ),
        }
    }

    /// The trial is over: what was written is flushed, and where it stands is kept.
    fn leave(&mut self) -> Result<(), LoadFailure> {
        match (self.state.phase, self.state.begun) {
            (IntegrityPhase::Write, Some(begun)) if begun.open => {
                self.data.flush()?;
                self.state.leave(self.at);
            }
            (IntegrityPhase::Write, _) => {}
            (IntegrityPhase::Sequential | IntegrityPhase::Random, _) => self.state.next = self.at,
        }
        self.save()
    }

    fn checked(&mut self) -> CheckedReads {
        CheckedReads {
            integrity: std::mem::take(&mut self.ledger.integrity),
            file_bytes: self.work.file_bytes,
            resident_before_bytes: self.resident_before_bytes,
            reread_bytes: self.reread_bytes,
        }
    }
}

fn errno_words(errno: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(errno)
}

impl Client for IntegrityStream<'_> {
    fn step(&mut self, tally: &mut ClientTally<'_>) -> Result<ClientStep, LoadFailure> {
        match self.state.phase {
            IntegrityPhase::Write => self.write_next(tally),
            IntegrityPhase::Sequential | IntegrityPhase::Random => self.read_next(tally),
        }
    }

    fn kinds(&self) -> Vec<Operation> {
        vec![Operation::Read, Operation::Write, Operation::Fsync]
    }

    fn notes(&self) -> Vec<Note> {
        self.notes.clone()
    }
}
