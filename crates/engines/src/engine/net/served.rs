//! The files of a trial that are sent, and what became of them.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use super::due::DueFiles;
use crate::engine::Error;
use crate::engine::file::check::CheckContext;
use crate::engine::file::files::{self, StreamFiles};
use crate::engine::file::{self, written};
use crate::engine::load::control::LoadControl;
use crate::engine::load::protocol::{FileIdentity, LoadSpec, Prepared};
use experiment::measurement::Integrity;

/// Of a count that cannot be told.
pub const UNKNOWN: u64 = u64::MAX;

/// Runs of files that another machine is told of in one line, each of some hundred bytes.
const RUNS_MAX: usize = 8192;

/// The files that a trial sends, and what became of them.
#[derive(Debug)]
pub struct SentFiles {
    /// How they are read.
    pub job: file::job::FileJob,
    /// Those of each stream.
    pub streams: Vec<StreamFiles>,
    /// What addresses of buffers must be a multiple of.
    pub memory_align: u64,
    pub(super) written: Vec<Vec<FileIdentity>>,
    pub(super) kept: Arc<AtomicUsize>,
    /// Bytes of each stream's files that stayed in memory although they were dropped, of all rounds
    /// together, or [`UNKNOWN`].
    pub(super) stayed: Vec<AtomicU64>,
    pub(super) found: Mutex<Vec<Integrity>>,
}

impl SentFiles {
    /// Opens the files of a trial as it wants them.
    ///
    /// # Errors
    /// As [`files::open`].
    pub fn open(spec: &LoadSpec) -> Result<(SentFiles, Prepared), Error> {
        let mut reading = spec.clone();
        if let Some(settings) = reading.settings.as_object_mut() {
            // How many reads are in flight, and by what way, is our business.
            settings.insert("io-engine".to_owned(), "sync".into());
            settings.insert("queue-depth".to_owned(), 1.into());
        }
        let (job, notes) = file::job::FileJob::new(&reading)?;
        let opened = files::open(&job, &spec.streams)?;
        let mut prepared = opened.prepared;
        prepared.notes.splice(0..0, notes);
        let served = SentFiles {
            written: written(spec)?,
            stayed: opened.streams.iter().map(|_| AtomicU64::new(0)).collect(),
            streams: opened.streams,
            memory_align: opened.memory_align,
            kept: Arc::default(),
            found: Mutex::default(),
            job,
        };
        Ok((served, prepared))
    }

    /// What the receivers hold blocks against.
    pub fn ground<'a>(&'a self, shared: &'a LoadControl) -> CheckContext<'a> {
        CheckContext {
            shared,
            files: &self.streams,
            written: &self.written,
            kept: &self.kept,
            campaign: self.job.campaign,
            direct: self.job.direct,
            waits: false,
        }
    }

    /// What a receiver that has no files is told of them; nothing where nothing is checked.
    ///
    /// # Errors
    /// `Unsupported` when that is more than can be told.
    pub fn due(&self) -> Result<Vec<DueFiles>, Error> {
        let of = |(files, written): (&StreamFiles, &Vec<FileIdentity>)| {
            DueFiles::from_written(files.blocks_per_file, written)
        };
        let all = self.streams.iter().zip(&self.written);
        let due: Vec<DueFiles> = all.filter(|_| self.job.verify.is_some()).map(of).collect();
        match due.iter().map(|one| one.runs.len()).sum() {
            0..=RUNS_MAX => Ok(due),
            runs => Err(Error::Unsupported(format!(
                "files that were laid out in {runs} pieces are more than the other end can be told \
                 of with verify ({RUNS_MAX}); choose fewer files, or verify=off"
            ))),
        }
    }

    /// What the receivers found wrong; `None` where nothing was checked.
    ///
    /// # Errors
    /// When blocks were to be checked, and none arrived.
    pub fn integrity(&self) -> Result<Option<Integrity>, Error> {
        if self.job.verify.is_none() {
            return Ok(None);
        }
        let mut all = Integrity::default();
        self.found
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
            .for_each(|one| all.add(one));
        all.faults.sort_by_key(|fault| fault.at_ns);
        match all.checked_bytes {
            0 => Err(Error::Failed("no whole block arrived that could be checked".to_owned())),
            _ => Ok(Some(all)),
        }
    }

    /// Bytes that were read again and may have been in memory still, of senders that read so many
    /// each: what was dropped before, as far as it went, or all.
    pub fn reread_bytes(&self, read: impl Iterator<Item = u64>) -> Option<u64> {
        let dropped = self.job.at_wrap().forget;
        let one = |((files, stayed), read): ((&StreamFiles, &AtomicU64), u64)| {
            let later = read.saturating_sub(files.blocks() * self.job.block_bytes);
            match (later, dropped, stayed.load(Relaxed)) {
                (0, ..) => Some(0),
                (_, true, UNKNOWN) => None,
                (_, true, stayed) => Some(stayed.min(later)),
                (_, false, _) => Some(later),
            }
        };
        self.streams.iter().zip(&self.stayed).zip(read).map(one).sum()
    }
}
