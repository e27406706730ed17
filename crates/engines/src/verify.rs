//! Reads a user's own files and devices and holds them against sums, over and over: those of a
//! list, or those of its own first reading. It never writes to them or beside them.
//!
//! What is read is found by `verify/walk.rs`, or named by a list (`verify/listed.rs`). Against the
//! first reading (`verify/first.rs`) there is a sum for each MiB, so that a fault has a place; a
//! list has one sum for a file (`verify/whole.rs`). Where bytes came from is `verify/ground.rs`'s,
//! what stays of a fault when it is read again `verify/suspect.rs`'s. The figures, their bounds and
//! the text are `report::verify`'s.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use base::hash::Checksum;
use experiment::measurement::Integrity;
use experiment::measurement::origin::Origin;
pub use experiment::measurement::verified::ProblemKind;
use host::sys::Error;
use host::sys::signal::Stop;

mod find;
mod first;
mod ground;
mod listed;
mod part;
mod run;
mod shared;
mod source;
mod suspect;
#[cfg(test)]
mod tests;
mod unreadable;
mod whole;

pub use part::Part;

/// What campaigns of `brickyard verify` name as their plan and engine.
pub const VERIFY: &str = "verify";

/// Bytes of a request, and of a block that has a sum of its own.
pub const BLOCK_BYTES: u64 = 1 << 20;

/// Problems beyond so many are counted by kind, not kept.
pub const PROBLEMS_MAX: usize = 1000;

/// What is to be verified, and how often.
#[derive(Debug)]
pub struct Request {
    /// Files, directories and block devices.
    pub paths: Vec<PathBuf>,
    /// Also what is mounted below them.
    pub cross_file_systems: bool,
    /// Against what.
    pub against: Against,
    /// Threads that read.
    pub streams: usize,
    /// How often everything is read; `None` when time alone ends it.
    pub passes: Option<u64>,
    /// When it is over, ns from now; `None` when the passes alone end it.
    pub length_ns: Option<u64>,
}

/// What the bytes are held against.
#[derive(Debug)]
pub enum Against {
    /// The sums of the first reading, by this checksum.
    FirstReading(Checksum),
    /// A list of another tool.
    List {
        /// The list.
        file: PathBuf,
        /// What its sums of 64 digits are, where the user said so.
        sum: Option<base::checklist::Sum>,
    },
}

/// What is told while it runs.
#[derive(Debug)]
pub enum Event {
    /// A fault or a problem, one line.
    Found(String),
    /// How far it is.
    Going(Going),
    /// What a reading has come to so far, for the store: in the place of what was told before.
    Part(Box<Part>),
}

/// How far it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Going {
    /// The pass, from 1.
    pub pass: u64,
    /// Of how many; `None` when time ends it.
    pub passes: Option<u64>,
    /// Read in this pass, bytes.
    pub done_bytes: u64,
    /// Of so many.
    pub of_bytes: u64,
    /// Just now.
    pub bytes_per_s: f64,
    /// When it will be over, ns from now, as far as is known.
    pub left_ns: Option<u64>,
}

/// Something that kept a file from being verified, or that must be known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file, or the list.
    pub file: String,
    /// Which, for programs.
    pub kind: ProblemKind,
    /// One clause for people.
    pub what: String,
}

/// One or several passes, and where their bytes came from.
#[derive(Clone, Debug, Serialize)]
pub struct Reading {
    /// The first of its passes, from 1.
    pub first_pass: u64,
    /// How many passes, the last of which may be incomplete.
    pub passes: u64,
    /// When it began, Unix time in ns.
    pub started_unix_ns: u64,
    /// How long it took.
    pub elapsed_ns: u64,
    /// Bytes that were read and checked.
    pub checked_bytes: u64,
    /// Of those, bytes that were held against a sum that was known before.
    pub compared_bytes: u64,
    /// Where the bytes came from.
    pub origin: Origin,
}

impl Reading {
    /// The part of its bytes that is evidence on the device: all or a share of them where the
    /// verdict is the device's, none where memory or a wire cannot be told from it.
    pub fn device_share(&self) -> f64 {
        use experiment::measurement::origin::Verdict;
        match self.origin.verdict {
            Verdict::Device => 1.0,
            Verdict::Mixed => self.origin.device_share.unwrap_or(0.0).clamp(0.0, 1.0),
            _ => 0.0,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// The list, where there was one, as it was named.
    pub list: Option<String>,
    /// The folder that its names were taken from.
    pub names_from: Option<String>,
    /// When it began, Unix time in ns.
    pub started_unix_ns: u64,
    /// How long it took, ns.
    pub elapsed_ns: u64,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Files and devices that were to be read.
    pub files: u64,
    /// Files that were read whole at least once.
    pub files_read: u64,
    /// Files of which something was wrong.
    pub files_wrong: u64,
    /// Passes that were complete.
    pub passes: u64,
    /// In order.
    pub readings: Vec<Reading>,
    /// What was wrong with the bytes.
    pub integrity: Integrity,
    /// What was wrong else, up to [`PROBLEMS_MAX`].
    pub problems: Vec<Problem>,
    /// All of that, by kind.
    pub problem_counts: BTreeMap<ProblemKind, u64>,
}

impl Outcome {
    /// Whether everything that was asked for was read and came back as it was.
    pub fn is_clean(&self) -> bool {
        self.integrity.is_clean() && !self.problem_counts.keys().any(|kind| kind.is_failure())
    }
}

/// Reads and compares until the passes or the time are over, or the user stops it.
///
/// # Errors
/// When nothing of it could be done at all: there is nothing to read, or the list cannot be read
/// or holds no sum.
pub fn verify(
    request: &Request,
    stop: &Arc<Stop>,
    tell: &mut dyn FnMut(Event),
) -> Result<Outcome, Error> {
    let found = match &request.against {
        Against::FirstReading(_) => find::find(&request.paths, request.cross_file_systems, stop),
        Against::List { file, sum } => listed::find(request, file, *sum, stop)?,
    };
    if found.files.is_empty() && !stop.asked() {
        let why = found.problems.first().map_or("there is no file".to_owned(), |problem| {
            format!("{}: {}", problem.file, problem.what)
        });
        return Err(Error::new("cannot verify anything", why)
            .hint("name files, directories or block devices that are there and may be read"));
    }
    run::run(request, found, stop, tell)
}

/// A path for people and JSON: bytes that are no text, and characters that a terminal obeys, are
/// written as `\xNN`.
pub fn shown(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::new();
    for part in path.as_os_str().as_bytes().utf8_chunks() {
        for c in part.valid().chars() {
            match c {
                c if c.is_control() => {
                    let mut bytes = [0; 4];
                    for byte in c.encode_utf8(&mut bytes).bytes() {
                        text.push_str(&format!("\\x{byte:02x}"));
                    }
                }
                '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                    text.extend(c.escape_unicode());
                }
                c => text.push(c),
            }
        }
        for byte in part.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}
