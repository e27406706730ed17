//! Opens the files of all streams and brings them to the state in which the trial wants them:
//! made, dropped from memory with proof, or read into it.
//!
//! Files that are written sequentially are made anew. Where writes are direct, random or through a
//! map, space is allocated first: a direct write that extends its file waits for all others on it,
//! and one into a map without space kills the process. Buffered sequential writes extend their
//! files, as a copy does.
//!
//! A block device stands for the file of a stream where a plan says that it is only read: see
//! [`device`].

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, OFlags, fallocate, ftruncate};
use rustix::io::Errno;

use super::job::{AccessOrder, Direction, FileJob, IoEngine};
use super::protocol::Prepared;
use crate::engine::Error;
use base::value::{self, Value};
use experiment::measurement::Note;
use host::sys::direct::{Direct, alignment};
use host::sys::dontcache;
use host::sys::filesystem::first_hole;
use host::sys::pages::{self, FileRange};
use host::sys::{beneath, block};

mod device;

/// The files of one stream: one row of blocks, file after file.
#[derive(Debug)]
pub struct StreamFiles {
    /// Open.
    pub files: Vec<File>,
    /// Their names.
    pub paths: Vec<PathBuf>,
    /// Blocks of each; what is left of a file that is no multiple of the block size is not used.
    pub blocks_per_file: u64,
    /// Bytes of each that this trial may use, from its first.
    pub file_bytes: u64,
    /// Where those begin, bytes: of a file at its start, of a device where this stream's part is.
    pub start_bytes: u64,
    /// It is one block device, of which other streams may read other parts.
    pub is_device: bool,
}

impl StreamFiles {
    /// Blocks of all files.
    pub fn blocks(&self) -> u64 {
        self.blocks_per_file * self.files.len() as u64
    }

    /// What of them this trial may use.
    pub fn used(&self) -> impl Iterator<Item = FileRange<'_>> + Clone {
        let (start, bytes) = (self.start_bytes, self.file_bytes);
        self.files.iter().map(move |file| FileRange { file, start, bytes })
    }

    /// What of them is dropped from memory: files as a whole, of a device this stream's part.
    pub fn dropped(&self) -> impl Iterator<Item = FileRange<'_>> + Clone {
        let is_device = self.is_device;
        self.used().map(move |part| if is_device { part } else { FileRange::whole(part.file) })
    }
}

/// The files of all streams, ready.
#[derive(Debug)]
pub struct OpenedFiles {
    /// One a stream.
    pub streams: Vec<StreamFiles>,
    /// What the parent is told.
    pub prepared: Prepared,
    /// What addresses of buffers must be a multiple of.
    pub memory_align: u64,
}

/// Opens, makes, drops or warms.
///
/// # Errors
/// `Unsupported` where direct I/O is refused or cannot do the block size, and where RWF_DONTCACHE
/// is not known; `Failed` with the path and the kernel's words for the rest.
pub fn open(job: &FileJob, names: &[Vec<PathBuf>]) -> Result<OpenedFiles, Error> {
    let mut opened = OpenedFiles {
        streams: Vec::with_capacity(names.len()),
        prepared: Prepared::default(),
        memory_align: 512,
    };
    for (index, paths) in names.iter().enumerate() {
        let mut files = Vec::with_capacity(paths.len());
        let (mut blocks_per_file, mut file_bytes) = (u64::MAX, 0);
        let (mut start_bytes, mut is_device) = (0, false);
        for path in paths {
            let file = open_one(job, path)?;
            is_device = device::is_device(&file);
            let bytes = match is_device {
                true => {
                    let part = device::prepare(job, (path, &file), (names, index), &mut opened)?;
                    start_bytes = part.start;
                    part.bytes
                }
                false => prepare(job, path, &file, &mut opened)?,
            };
            blocks_per_file = blocks_per_file.min(bytes / job.block_bytes);
            file_bytes = bytes.max(file_bytes);
            files.push(file);
        }
        opened.streams.push(StreamFiles {
            files,
            paths: paths.clone(),
            blocks_per_file,
            file_bytes,
            start_bytes,
            is_device,
        });
    }
    settle(job, &mut opened)?;
    Ok(opened)
}

fn open_one(job: &FileJob, path: &Path) -> Result<File, Error> {
    if job.direction.writes() && block::number_of(path).is_some() {
        let what = format!("{} is a block device, which is only read", path.display());
        return Err(Error::Unsupported(what));
    }
    let anew = job.order == AccessOrder::Forward;
    let mut flags = match (job.direction, job.overwrite) {
        (Direction::Write, false) if anew => OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC,
        (Direction::Write, false) => OFlags::RDWR | OFlags::CREATE,
        _ if job.direction.writes() => OFlags::RDWR,
        _ => OFlags::RDONLY,
    };
    flags.set(OFlags::DIRECT, job.direct);
    // Reading writes nothing, whatever the mount options say of access times, and spares a look at
    // them per I/O. Only a file's owner may ask for that (open(2), EPERM).
    let opened = beneath::open_file(path, flags | OFlags::NOATIME);
    let opened = opened.or_else(|why| match why.raw_os_error() {
        Some(libc::EPERM) => beneath::open_file(path, flags),
        _ => Err(why),
    });
    opened.map_err(|why| match why.raw_os_error() {
        Some(libc::EINVAL) if job.direct => Error::Unsupported(format!(
            "the file system of {} refuses direct I/O (open with O_DIRECT: {why}); direct=false \
             goes through the page cache",
            path.display()
        )),
        _ => Error::Failed(format!("cannot open {}: {why}", path.display())),
    })
}

/// Checks one file, gives it its space, and tells its size in bytes.
fn prepare(
    job: &FileJob,
    path: &Path,
    file: &File,
    opened: &mut OpenedFiles,
) -> Result<u64, Error> {
    let failed = |what: &str, why: &dyn std::fmt::Display| {
        Error::Failed(format!("cannot {what} {}: {why}", path.display()))
    };
    if job.direct {
        opened.memory_align = opened.memory_align.max(check_alignment(job, path, file)?);
    }
    if job.dontcache {
        check_dontcache(path, file)?;
    }
    let mut bytes = file.metadata().map_err(|why| failed("stat", &why))?.len();
    if job.direction == Direction::Write {
        let extends =
            !job.direct && job.order == AccessOrder::Forward && job.engine != IoEngine::Mmap;
        let appends = extends || job.fresh || job.overwrite;
        if job.overwrite && bytes < job.file_bytes {
            let what =
                format!("has {bytes} bytes of {}, and is to be written over", job.file_bytes);
            return Err(Error::Failed(format!("{} {what}", path.display())));
        }
        if bytes < job.file_bytes && !appends {
            allocate(job, path, file, &mut opened.prepared.notes)?;
        }
        bytes = job.file_bytes;
    } else if job.verify.is_some() && bytes < job.file_bytes {
        let what = format!("has {bytes} bytes of the {} that were written", job.file_bytes);
        return Err(Error::Failed(format!("{} {what}", path.display())));
    } else {
        // A larger cell may have laid it out: this one reads no more than it was asked to.
        bytes = bytes.min(job.file_bytes);
        note_holes(path, file, bytes, &mut opened.prepared.notes);
    }
    if bytes < job.block_bytes {
        return Err(Error::Unsupported(format!(
            "{} has {bytes} bytes, less than one block of {}; choose a block-size up to the \
             file-size",
            path.display(),
            value::bytes(job.block_bytes as f64)
        )));
    }
    note_tail(job, bytes, &mut opened.prepared.notes);
    opened.prepared.file_bytes += bytes;
    Ok(bytes)
}

fn note_tail(job: &FileJob, bytes: u64, notes: &mut Vec<Note>) {
    if !bytes.is_multiple_of(job.block_bytes) {
        push_once(notes, "tail-left-out", || {
            format!(
                "The last {} of each file are less than a block and are not used.",
                value::setting(&Value::Bytes(bytes % job.block_bytes))
            )
        });
    }
}

fn check_alignment(job: &FileJob, path: &Path, file: &File) -> Result<u64, Error> {
    match alignment(file) {
        Direct::Unknown => Ok(4096),
        Direct::Never => Err(Error::Unsupported(format!(
            "{} cannot be read or written around the page cache, says its file system \
             (STATX_DIOALIGN is 0); direct=false goes through it",
            path.display()
        ))),
        Direct::Aligned { memory, offset } => {
            let offset = u64::from(offset);
            if job.block_bytes.is_multiple_of(offset) {
                return Ok(u64::from(memory));
            }
            Err(Error::Unsupported(format!(
                "direct I/O on {} is done in multiples of {offset} bytes (STATX_DIOALIGN); \
                 block-size={} is none, block-size={} would work",
                path.display(),
                job.block_bytes,
                job.block_bytes.next_multiple_of(offset)
            )))
        }
    }
}

/// Asked of each file before its first byte: a plain buffered trial would be another one than was
/// asked for.
fn check_dontcache(path: &Path, file: &File) -> Result<(), Error> {
    dontcache::ask(file).map_err(|why| match dontcache::is_refusal(&why) {
        true => Error::Unsupported(format!(
            "{} cannot be read or written so that the page cache keeps nothing of it ({}); \
             dontcache=false leaves it there, direct=true goes around it",
            path.display(),
            dontcache::explained(&why)
        )),
        false => Error::Failed(format!("cannot read {}: {why}", path.display())),
    })
}

fn allocate(job: &FileJob, path: &Path, file: &File, notes: &mut Vec<Note>) -> Result<(), Error> {
    let failed = |why: Errno| {
        Error::Failed(format!(
            "cannot allocate {} for {}: {}",
            value::bytes(job.file_bytes as f64),
            path.display(),
            std::io::Error::from(why)
        ))
    };
    match fallocate(file, FallocateFlags::empty(), 0, job.file_bytes) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) if job.engine != IoEngine::Mmap => {
            push_once(notes, "not-preallocated", || {
                "The file system cannot allocate space beforehand; writes also measure its \
                 allocation."
                    .to_owned()
            });
            ftruncate(file, job.file_bytes).map_err(failed)
        }
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Err(Error::Unsupported(format!(
            "the file system of {} cannot allocate space beforehand, and a full disk would kill a \
             process that writes through a map; choose another io-engine",
            path.display()
        ))),
        Err(why) => Err(failed(why)),
    }
}

/// A hole is read without asking the device: a figure of it would be the page allocator's.
fn note_holes(path: &Path, file: &File, bytes: u64, notes: &mut Vec<Note>) {
    let hole = first_hole(file).unwrap_or(bytes);
    if hole < bytes {
        push_once(notes, "sparse-files", || {
            format!(
                "{} was never written from byte {hole} on, or has a hole there: reading holes \
                 does not reach the device.",
                path.display()
            )
        });
    }
}

/// Drops or warms all files and counts what is resident.
fn settle(job: &FileJob, opened: &mut OpenedFiles) -> Result<(), Error> {
    // What a device has in memory besides is not met by direct reads (block/fops.c), and may be the
    // metadata of a file system that is mounted on it: it stays.
    let aside = |stream: &&StreamFiles| job.direct && stream.is_device;
    let streams = || opened.streams.iter().filter(|stream| !aside(stream));
    let drops = job.cold || job.direct;
    // Memory groups count a page for whoever touched it first (Documentation/admin-guide/cgroup-v1/
    // memory.rst, section 2.3): those that laid the files out would be free under a limit.
    if drops || job.limited {
        streams().try_for_each(drop_cached)?;
    }
    if !drops && job.direction.reads() {
        for stream in &opened.streams {
            for (part, path) in stream.used().zip(&stream.paths) {
                warm(part).map_err(|why| {
                    Error::Failed(format!("cannot read {}: {why}", path.display()))
                })?;
            }
        }
    }
    let mut resident = resident(&opened.streams);
    let all: Vec<FileRange<'_>> = streams().flat_map(StreamFiles::dropped).collect();
    if drops && !all.is_empty() && resident.as_ref().is_ok_and(|bytes| *bytes > 0) {
        // Pages that sat in a processor's batch of new pages are let go by the second asking, and
        // those that are still read ahead for an earlier load when they have come.
        resident = pages::forget_until_gone(&all, || false);
    }
    let dropped = job.cold && job.direction.reads() && !all.is_empty();
    let prepared = &mut opened.prepared;
    match &resident {
        Err(why) => prepared.notes.push(Note::new(
            "residency-unknown",
            format!("How much of the files was in memory cannot be told: {why}."),
        )),
        Ok(bytes) if dropped && *bytes > prepared.file_bytes / 100 => {
            prepared.notes.push(Note::new(
                "not-cold",
                format!(
                    "{} of the files stayed in memory although they were dropped.",
                    value::bytes(*bytes as f64)
                ),
            ));
        }
        Ok(_) => {}
    }
    prepared.resident_before_bytes = resident.ok();
    Ok(())
}

/// Bytes of all files that are in memory, of those that the trial may use.
///
/// # Errors
/// When neither cachestat nor mincore works.
pub fn resident(streams: &[StreamFiles]) -> Result<u64, host::sys::Error> {
    streams.iter().flat_map(StreamFiles::used).map(|part| part.resident_bytes()).sum()
}

/// Drops the files of a stream. Of a device nothing is written out first: what is dirty there is
/// somebody else's, and stays.
fn drop_cached(stream: &StreamFiles) -> Result<(), Error> {
    if stream.is_device {
        stream.dropped().for_each(|part| part.forget());
        return Ok(());
    }
    stream.files.iter().zip(&stream.paths).try_for_each(|(file, path)| {
        pages::drop_cached(file).map_err(|why| Error::Failed(format!("{}: {why}", path.display())))
    })
}

fn warm(part: FileRange<'_>) -> std::io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let (mut at, end) = (part.start, part.start + part.bytes);
    while at < end {
        let length = (end - at).min(buffer.len() as u64) as usize;
        match part.file.read_at(&mut buffer[..length], at)? {
            0 => break,
            read => at += read as u64,
        }
    }
    Ok(())
}

/// Adds a note unless there is one of its kind.
pub fn push_once(notes: &mut Vec<Note>, kind: &str, text: impl FnOnce() -> String) {
    if notes.iter().all(|note| note.kind != kind) {
        notes.push(Note::new(kind, text()));
    }
}
