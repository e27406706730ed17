//! Reads small files of /proc and /sys, and remembers what could not be read.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::sys::Host;

/// Files here are words and short tables; a longer one is not what it should be, bytes.
const LONGEST_BYTES: u64 = 1 << 20;

/// Something that was not read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unread {
    /// What it would have told: `the memory modules`.
    pub what: String,
    /// The file, or the command.
    pub place: String,
    /// The kernel's words, or what is missing.
    pub why: String,
    /// What to type to have it; empty when nothing helps.
    pub hint: String,
}

/// A machine that is being read.
pub struct Reading<'a> {
    host: &'a Host,
    unread: BTreeSet<Unread>,
}

impl<'a> Reading<'a> {
    /// Begins to read `host`.
    pub fn new(host: &'a Host) -> Reading<'a> {
        Reading { host, unread: BTreeSet::new() }
    }

    /// The machine.
    pub fn host(&self) -> &'a Host {
        self.host
    }

    /// The bytes of a file; `None` when there is no such file. One that is there and cannot be
    /// read, or is longer than 1 MiB, is remembered as not read; `what` says what it would have told.
    pub fn bytes(&mut self, path: impl AsRef<Path>, what: &str) -> Option<Vec<u8>> {
        let path = path.as_ref();
        let mut bytes = Vec::new();
        let read = std::fs::File::open(self.host.path(path))
            .and_then(|file| file.take(LONGEST_BYTES + 1).read_to_end(&mut bytes));
        let why = match read {
            Ok(length) if length as u64 <= LONGEST_BYTES => return Some(bytes),
            Ok(_) => "it is longer than 1 MiB".to_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => error.to_string(),
        };
        let denied = why.starts_with("Permission denied");
        self.miss(what, &path.to_string_lossy(), &why, if denied { "run as root" } else { "" });
        None
    }

    /// The text of a file without blanks around it; `None` when it is empty or not readable as text.
    pub fn word(&mut self, path: impl AsRef<Path>, what: &str) -> Option<String> {
        let text = String::from_utf8(self.bytes(path, what)?).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A whole decimal number; `None` when the file says anything else.
    pub fn number(&mut self, path: impl AsRef<Path>, what: &str) -> Option<u64> {
        self.word(path, what)?.parse().ok()
    }

    /// Remembers something that was not read.
    pub fn miss(&mut self, what: &str, place: &str, why: &str, hint: &str) {
        let [what, place, why, hint] = [what, place, why, hint].map(str::to_owned);
        self.unread.insert(Unread { what, place, why, hint });
    }

    /// What was not read, sorted.
    pub fn into_unread(self) -> Vec<Unread> {
        self.unread.into_iter().collect()
    }
}
