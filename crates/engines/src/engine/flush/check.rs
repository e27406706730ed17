//! After a crash: reads the files that a log is about and says whether anything that was
//! acknowledged is lost.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::log::{FlushLogReader, Log};
use base::pattern::block::{Format, Identity};
use base::pattern::judge::{Evidence, judge};
use host::sys::Error;
use host::sys::input::FLUSH_LOG;

/// Losses beyond so many are counted, not told one by one.
pub const LOSSES_MAX: usize = 1000;

/// A block that is not what was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostBlock {
    /// The file.
    pub file: String,
    /// Where in it, bytes.
    pub offset: u64,
    /// What the log says was acknowledged.
    pub acknowledged: u64,
    /// Its kind, by the table of `pattern::judge`; `unreadable` where the kernel gave an error.
    pub kind: String,
    /// One sentence.
    pub what: String,
}

/// What came of the check: the blocks that were read, those that are lost, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlushCheckResult {
    /// Blocks that were read.
    pub blocks: u64,
    /// Blocks that do not hold what was acknowledged, nor anything newer.
    pub lost: u64,
    /// All of them, by kind.
    pub kinds: BTreeMap<String, u64>,
    /// The first of them.
    pub losses: Vec<LostBlock>,
    /// Blocks of writes under way that hold the older generation.
    pub in_flight_older: u64,
    /// Blocks of writes under way that hold the newer one.
    pub in_flight_newer: u64,
    /// Blocks of writes under way that hold neither: cut in the middle, which nobody had promised
    /// against.
    pub in_flight_torn: u64,
    /// Blocks that are newer than the log knows, whose lines are torn or missing.
    pub newer: u64,
}

/// Reads a log.
///
/// # Errors
/// When it cannot be read, or no trial begins in it.
pub fn read_log(path: &Path) -> Result<Log, Error> {
    let failed = |why: &dyn host::sys::Cause| {
        Error::new(format!("cannot read the log {}", path.display()), why)
    };
    let file = FLUSH_LOG.open(path)?;
    let (mut reader, mut input, mut line) =
        (FlushLogReader::default(), BufReader::new(file), Vec::new());
    let told = |why: String| failed(&why).hint(FLUSH_LOG.hint);
    while FLUSH_LOG.line(&mut input, &mut line).map_err(told)?.is_some() {
        reader.take(line.strip_suffix(b"\n").unwrap_or(&line));
    }
    reader.end().ok_or_else(|| {
        failed(&"no trial begins in it: nothing was acknowledged, or it is another file")
            .hint("name the file that was given as flush-log=")
    })
}

/// Reads every file of a log, and holds each block against it; tells what it
/// found after each piece.
///
/// # Errors
/// When a file cannot be opened at all; a block that cannot be read is a loss.
pub fn check(
    log: &Log,
    tell: &mut dyn FnMut(&FlushCheckResult),
) -> Result<FlushCheckResult, Error> {
    let mut findings = FlushCheckResult::default();
    for (stream, path) in log.begin.files.iter().enumerate() {
        let file = File::open(path).map_err(|why| {
            Error::new(format!("cannot read {path}, which the log is about"), why).hint(
                "mount its file system where it was; when the file itself is gone, so is all \
                       that was acknowledged in it",
            )
        })?;
        // What memory holds of it proves nothing.
        host::sys::pages::forget(&file);
        check_file(log, stream as u64, path, &file, &mut findings, tell);
    }
    Ok(findings)
}

fn check_file(
    log: &Log,
    stream: u64,
    path: &str,
    file: &File,
    findings: &mut FlushCheckResult,
    tell: &mut dyn FnMut(&FlushCheckResult),
) {
    let begin = &log.begin;
    let format = Format { block_bytes: begin.block_bytes as usize, checksum: begin.checksum };
    let mut piece = vec![0; begin.piece_bytes as usize];
    for number in 0..begin.file_bytes / begin.piece_bytes.max(1) {
        let at = number * begin.piece_bytes;
        let came = read(file, &mut piece, at);
        for index in 0..begin.piece_bytes / begin.block_bytes.max(1) {
            let from = (index * begin.block_bytes) as usize;
            let offset = at + from as u64;
            let (found, error) = match &came {
                Ok(came) => {
                    let end = (from + format.block_bytes).min(*came);
                    (piece[from.min(end)..end].to_vec(), None)
                }
                // The rest of the piece may be readable.
                Err(_) => {
                    let mut block = vec![0; format.block_bytes];
                    match read(file, &mut block, offset) {
                        Ok(came) => (block[..came].to_vec(), None),
                        Err(why) => (Vec::new(), Some(why)),
                    }
                }
            };
            let generation = log.acknowledged.get(&(stream, number)).copied().unwrap_or(0);
            let due = Identity { campaign: begin.campaign, file: stream << 32, offset, generation };
            let next = log.in_flight.get(&stream).filter(|next| next.piece == number);
            let next = next.map(|next| next.generation);
            findings.block(&format, path, due, next, &found, error);
        }
        tell(findings);
    }
}

/// Reads until the buffer is full or the file ends.
fn read(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(came) => filled += came,
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    Ok(filled)
}

impl FlushCheckResult {
    /// One block: what is due, the generation that was being written over it, and what came.
    fn block(
        &mut self,
        format: &Format,
        path: &str,
        due: Identity,
        next: Option<u64>,
        found: &[u8],
        error: Option<std::io::Error>,
    ) {
        self.blocks += 1;
        let whole = found.len() == format.block_bytes;
        if whole && format.is_right(found, &due) {
            self.in_flight_older += u64::from(next.is_some());
            return;
        }
        let bears = format.bears(found).filter(|_| whole);
        let own = bears.filter(|it| Identity { generation: due.generation, ..*it } == due);
        let newer = own.filter(|it| it.generation > due.generation && format.is_right(found, it));
        match (newer, next) {
            (Some(it), Some(next)) if it.generation == next => self.in_flight_newer += 1,
            (Some(_), _) => self.newer += 1,
            (None, Some(_)) if error.is_none() => self.in_flight_torn += 1,
            (None, _) => self.lose(format, path, due, found, error),
        }
    }

    fn lose(
        &mut self,
        format: &Format,
        path: &str,
        due: Identity,
        found: &[u8],
        error: Option<std::io::Error>,
    ) {
        self.lost += 1;
        let (kind, what) = match error {
            Some(why) => ("unreadable".to_owned(), why.to_string()),
            None => {
                let (named, again) = (None, None);
                let (format, expected) = (*format, due);
                let judgement = judge(&Evidence {
                    format,
                    expected,
                    found,
                    named,
                    again,
                    oldest_generation: 0,
                });
                (judgement.kind.name().to_owned(), judgement.what)
            }
        };
        *self.kinds.entry(kind.clone()).or_default() += 1;
        if self.losses.len() >= LOSSES_MAX {
            return;
        }
        let file = path.to_owned();
        let (offset, acknowledged) = (due.offset, due.generation);
        self.losses.push(LostBlock { file, offset, acknowledged, kind, what });
    }
}
