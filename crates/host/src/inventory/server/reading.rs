//! Reads small files of /proc and /sys, and remembers what could not be read.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use crate::sys::Host;
use facts::inventory::server::Unread;

/// Files here are words and short tables; a longer one is not what it should be, bytes.
const LONGEST_BYTES: u64 = 1 << 20;

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
    /// read, or is longer than 1 MiB, is remembered as not read; `what` says what it would have
    /// told.
    pub fn bytes(&mut self, path: impl AsRef<Path>, what: &str) -> Option<Vec<u8>> {
        self.bytes_within(path, LONGEST_BYTES, what)
    }

    /// The same with a bound of its own, for tables that are long.
    pub fn bytes_within(
        &mut self,
        path: impl AsRef<Path>,
        longest_bytes: u64,
        what: &str,
    ) -> Option<Vec<u8>> {
        let path = path.as_ref();
        let mut hint = "";
        let why = match self.front(path, longest_bytes.saturating_add(1)) {
            Ok(bytes) if bytes.len() as u64 <= longest_bytes => return Some(bytes),
            Ok(_) if longest_bytes < 1 << 20 => format!("it is longer than {longest_bytes} bytes"),
            Ok(_) => format!("it is longer than {} MiB", longest_bytes >> 20),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                if error.kind() == std::io::ErrorKind::PermissionDenied {
                    hint = "run as root";
                }
                error.to_string()
            }
        };
        self.miss(what, &path.to_string_lossy(), &why, hint);
        None
    }

    /// The first bytes of a file, at most so many. What cannot be read is not remembered.
    ///
    /// # Errors
    /// The kernel's.
    pub fn front(&self, path: impl AsRef<Path>, most_bytes: u64) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(self.host.path(path))?;
        file.take(most_bytes).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The text of a file that refuses to be read as a matter of course, such as the speed of a
    /// port without a cable: nothing is remembered. `None` as in [`Reading::word`].
    pub fn quiet(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = self.front(path, LONGEST_BYTES + 1).ok()?;
        let text =
            String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= LONGEST_BYTES)?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The text of a file without blanks around it; `None` when it is empty or not readable as
    /// text.
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
