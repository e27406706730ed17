//! One stream: writes a block at a random place, flushes it, notes that it was acknowledged, and
//! only then begins the next.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::log::{FlushLogLine, LoggedFiles, PIECES_MAX, PieceWrite};
use crate::engine::Error;
use crate::engine::clients::tally::ClientTally;
use crate::engine::clients::worker::{ClientTrial, Needs};
use crate::engine::clients::{Client, ClientResult, ClientStep, carry, stand_alone};
use crate::engine::integrity::data::{self, Buffer, Data};
use crate::engine::load::protocol::{Failure, LoadFailure, LoadSpec};
use crate::engine::load::room::Room;
use base::hash::Checksum;
use base::pattern::block::{Format, Identity};
use experiment::knob::{self, Settings};
use experiment::measurement::{Note, Operation};
use host::sys::clock::unix_ns;
use host::sys::output;

/// The log, open.
#[derive(Debug)]
struct Appender {
    file: File,
    begun: bool,
}

/// The load of a trial of flushes: what all its streams share, the log among it.
#[derive(Debug)]
pub struct FlushLoad {
    format: Format,
    piece_bytes: usize,
    file_bytes: u64,
    direct: bool,
    campaign: u64,
    seed: u64,
    begin: LoggedFiles,
    path: PathBuf,
    log: Mutex<Option<Appender>>,
}

impl FlushLoad {
    /// Reads settings.
    ///
    /// # Errors
    /// `Unsupported` for what cannot be honoured, with what would work.
    pub fn new(settings: &Settings) -> Result<FlushLoad, Error> {
        let unsupported = |what: String| Err(Error::Unsupported(what));
        let log = settings.get(knob::FLUSH_LOG);
        if log.is_empty() {
            return unsupported(
                "what was acknowledged must be kept where the crash does not reach: give \
                 flush-log=PATH, a file on another device, or on another host whose directory is \
                 mounted here"
                    .to_owned(),
            );
        }
        let Some(checksum) = Checksum::find(settings.get(knob::VERIFY)) else {
            return unsupported(format!(
                "blocks that cannot be checked say nothing; verify={} should be verify=crc32c",
                settings.get(knob::VERIFY)
            ));
        };
        let (piece, block) = (settings.get(knob::BLOCK_SIZE), settings.get(knob::VERIFY_BLOCK));
        let file_bytes = settings.get(knob::FILE_SIZE);
        let whole = |bytes: u64, of: u64| bytes > 0 && bytes.is_multiple_of(of);
        if !whole(piece, block) || !whole(file_bytes, piece) {
            return unsupported(format!(
                "file-size={file_bytes} must be a multiple of block-size={piece}, and that of \
                 verify-block={block}"
            ));
        }
        if file_bytes / piece > PIECES_MAX {
            return unsupported(format!(
                "file-size={file_bytes} has more than {PIECES_MAX} blocks"
            ));
        }
        let begin = LoggedFiles {
            log: 1,
            campaign: 0,
            files: Vec::new(),
            file_bytes,
            piece_bytes: piece,
            block_bytes: block,
            checksum,
        };
        Ok(FlushLoad {
            format: Format { block_bytes: block as usize, checksum },
            piece_bytes: piece as usize,
            file_bytes,
            direct: settings.get(knob::DIRECT),
            campaign: 0,
            seed: 0,
            begin,
            path: log.into(),
            log: Mutex::new(None),
        })
    }

    /// The same for the streams of a trial, with the log open.
    ///
    /// # Errors
    /// As [`FlushLoad::new`]; and when the log cannot be written, or is somebody else's file.
    pub fn from_settings(
        settings: &Settings,
        spec: &LoadSpec,
    ) -> Result<(FlushLoad, Vec<Note>), Error> {
        let mut work = FlushLoad::new(settings)?;
        let file = |(stream, folders): (usize, &Vec<PathBuf>)| {
            let folder = folders.first().cloned().unwrap_or_default();
            folder.join(data::name(stream as u64)).display().to_string()
        };
        work.begin.files = spec.streams.iter().enumerate().map(file).collect();
        (work.campaign, work.seed, work.begin.campaign) = (spec.campaign, spec.seed, spec.campaign);
        let file = open(&work.path)?;
        work.log = Mutex::new(Some(Appender { file, begun: false }));
        let text = format!(
            "What was acknowledged is in {0}; after a crash `brickyard verify --flushed {0}` says \
             whether any of it was lost. The files stay until they are removed.",
            work.path.display()
        );
        Ok((work, vec![Note::new("flush-log", text)]))
    }

    /// What one stream needs.
    pub fn needs(&self) -> Needs {
        let pieces = self.file_bytes / self.piece_bytes as u64;
        Needs {
            memory_bytes: self.piece_bytes as u64 + 4 * pieces,
            kinds: 2,
            descriptors: 8,
            room: Room {
                bytes: self.file_bytes,
                largest_bytes: self.file_bytes,
                names: 1,
                shared_names: 1,
            },
            hint: "lower file-size or streams",
        }
    }

    /// Puts a line into the log, on its device. The first one says what the log is about: all files
    /// are written by then.
    fn note(&self, line: &FlushLogLine) -> Result<(), LoadFailure> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(appender) = log.as_mut() else { return Ok(()) };
        let mut text = String::new();
        if !appender.begun {
            // On a line of its own, whatever was cut before.
            text = format!("\n{}", FlushLogLine::Begin(self.begin.clone()).text());
        }
        text.push_str(&line.text());
        let written = appender.file.write_all(text.as_bytes());
        written.and_then(|()| appender.file.sync_data()).map_err(|why| {
            let path = self.path.display();
            let what = format!(
                "cannot write the log {path}: {why}; make room there, or name another file with \
                 flush-log=PATH (what it says of writes before this one holds)"
            );
            (Failure::Failed, what)
        })?;
        appender.begun = true;
        Ok(())
    }
}

/// Opens the log to add to it.
fn open(path: &Path) -> Result<File, Error> {
    let failed = |why: &dyn std::fmt::Display| {
        Error::Failed(format!("cannot use the log {}: {why}", path.display()))
    };
    if path.metadata().is_ok_and(|about| about.len() > 0) && super::check::read_log(path).is_err() {
        return Err(failed(
            &"it is a file of something else; flush-log= names a new one, or a log",
        ));
    }
    let opened = output::append(path).map_err(|error| failed(&error.why))?;
    Ok(opened)
}

/// The thread of stream `index`.
///
/// # Errors
/// With what could not be written.
pub fn run(trial: &ClientTrial<FlushLoad>, index: usize) -> Result<ClientResult, LoadFailure> {
    stand_alone()?;
    let mut stream = FlushStream::new(trial, index)?;
    let yielded = carry(&mut stream, &trial.terms, &trial.shared, index)?;
    if stream.next.is_some() {
        trial.work.note(&FlushLogLine::End { stream: index as u64 })?;
    }
    Ok(yielded)
}

/// One stream that writes pieces, flushes them, and notes what was acknowledged.
struct FlushStream<'a> {
    work: &'a FlushLoad,
    stream: u64,
    data: Data,
    buffer: Buffer,
    /// Of each piece, the newest generation that was begun.
    generations: Vec<u32>,
    /// What is written next, once the log says so.
    next: Option<PieceWrite>,
    random: u64,
    left: u64,
}

impl<'a> FlushStream<'a> {
    /// Makes the file, all of it durable.
    fn new(
        trial: &'a ClientTrial<FlushLoad>,
        index: usize,
    ) -> Result<FlushStream<'a>, LoadFailure> {
        let work = &trial.work;
        let path = trial.place(index).join(data::name(index as u64));
        let block = work.format.block_bytes as u64;
        let data = Data::open(path, work.direct, true, work.file_bytes, block)?;
        let pieces = work.file_bytes / work.piece_bytes as u64;
        let mut stream = FlushStream {
            work,
            stream: index as u64,
            data,
            buffer: Buffer::new(work.piece_bytes),
            generations: vec![0; pieces as usize],
            next: None,
            random: work.seed ^ (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            left: pieces,
        };
        for piece in 0..pieces {
            stream.write(PieceWrite { piece, generation: 0 })?;
        }
        stream.data.flush()?;
        let name = stream.data.path.parent().unwrap_or(Path::new("."));
        File::open(name).and_then(|folder| folder.sync_all()).map_err(|why| {
            (Failure::Failed, format!("cannot put {} on the device: {why}", name.display()))
        })?;
        Ok(stream)
    }

    fn write(&mut self, written: PieceWrite) -> Result<(), LoadFailure> {
        let first = Identity {
            campaign: self.work.campaign,
            file: self.stream << 32,
            offset: written.piece * self.work.piece_bytes as u64,
            generation: written.generation,
        };
        self.work.format.write(self.buffer.all(), first, unix_ns());
        self.data.write(self.buffer.all(), first.offset)
    }

    /// Draws the next piece to be written over.
    fn draw(&mut self) -> PieceWrite {
        // SplitMix64 (Steele, Lea and Flood, 2014).
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let piece = (mixed ^ (mixed >> 31)) % self.generations.len() as u64;
        let generation = &mut self.generations[piece as usize];
        *generation = generation.saturating_add(1);
        PieceWrite { piece, generation: u64::from(*generation) }
    }
}

impl Client for FlushStream<'_> {
    fn step(&mut self, tally: &mut ClientTally<'_>) -> Result<ClientStep, LoadFailure> {
        let written = match self.next {
            Some(next) => next,
            None => {
                let (stream, next) = (self.stream, self.draw());
                self.work.note(&FlushLogLine::First { stream, next })?;
                self.next = Some(next);
                next
            }
        };
        tally.mark();
        self.write(written)?;
        tally.wrote(self.work.piece_bytes as u64);
        let begun_ns = tally.last_ns();
        self.data.flush()?;
        tally.mark();
        tally.record(Operation::Fsync, tally.last_ns().saturating_sub(begun_ns));
        let (stream, next) = (self.stream, self.draw());
        // Not acknowledged to anybody before this is on the log's device.
        self.work.note(&FlushLogLine::Acknowledged { stream, done: written, next })?;
        self.next = Some(next);
        tally.mark();
        self.left -= 1;
        if self.left > 0 {
            return Ok(ClientStep::Part);
        }
        self.left = self.generations.len() as u64;
        Ok(ClientStep::Round)
    }

    fn kinds(&self) -> Vec<Operation> {
        vec![Operation::Write, Operation::Fsync]
    }

    fn is_durable(&self) -> bool {
        true
    }
}
