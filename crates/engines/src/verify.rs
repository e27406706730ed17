//! Reads a user's own files and devices and holds them against sums, over and over: those of a
//! list, or those of its own first reading. It never writes to them or beside them.
//!
//! What is read is found by `verify/walk.rs`, or named by a list (`verify/listed.rs`). Against the
//! first reading (`verify/first.rs`) there is a sum for each MiB, so that a fault has a place; a
//! list has one sum for a file (`verify/whole.rs`). Where bytes came from is `verify/ground.rs`'s,
//! what stays of a fault when it is read again `verify/suspect.rs`'s. The figures, their bounds and
//! the text are `report::verify`'s.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::hash::Checksum;

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

use experiment::measurement::verified::outcome::Verification;
pub use part::VerificationPart;

/// Bytes of a request, and of a block that has a sum of its own.
pub const BLOCK_BYTES: u64 = 1 << 20;

/// What is to be verified, and how often.
#[derive(Debug)]
pub struct VerificationRequest {
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

/// What is told while a verification runs.
#[derive(Debug)]
pub enum VerifyEvent {
    /// A fault or a problem, one line.
    Found(String),
    /// How far it is.
    Going(VerifyProgress),
    /// What a reading has come to so far, for the store: in the place of what was told before.
    Part(Box<VerificationPart>),
}

/// How far a verification is.
#[derive(Clone, Copy, Debug, Default)]
pub struct VerifyProgress {
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

/// Reads and compares until the passes or the time are over, or the user stops it.
///
/// # Errors
/// When nothing of it could be done at all: there is nothing to read, or the list cannot be read
/// or holds no sum.
pub fn verify(
    request: &VerificationRequest,
    stop: &Arc<Stop>,
    tell: &mut dyn FnMut(VerifyEvent),
) -> Result<Verification, Error> {
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
