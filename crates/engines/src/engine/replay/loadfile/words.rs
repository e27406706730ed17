//! (pure) The words of a line: bare ones, quoted ones, numbers, and the status at the end.

use super::{Handle, Status};

/// What is left of a line.
pub struct Rest<'a> {
    text: &'a str,
}

impl<'a> Rest<'a> {
    /// A whole line.
    pub fn new(line: &'a str) -> Rest<'a> {
        Rest { text: line.trim() }
    }

    /// The next bare word.
    ///
    /// # Errors
    /// When the line has ended.
    pub fn word(&mut self) -> Result<&'a str, String> {
        let text = self.text.trim_start();
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.text = rest;
        if word.is_empty() { Err("the line ends too early".to_owned()) } else { Ok(word) }
    }

    /// The next word, which is quoted.
    ///
    /// # Errors
    /// When it is not, or the quotation has no end.
    pub fn quoted(&mut self) -> Result<&'a str, String> {
        let text = self.text.trim_start();
        let inner = text.strip_prefix('"').ok_or("a path in quotation marks is missing")?;
        let end = inner.find('"').ok_or("a quotation mark is missing at the end of a path")?;
        self.text = &inner[end + 1..];
        Ok(&inner[..end])
    }

    /// The next word as a number, decimal or `0x` and hexadecimal.
    ///
    /// # Errors
    /// When it is none.
    pub fn number(&mut self) -> Result<u64, String> {
        let word = self.word()?;
        number(word).ok_or_else(|| format!("{word} is no number"))
    }

    /// The next word if it is a number.
    ///
    /// # Errors
    /// When the line has ended.
    pub fn optional_number(&mut self) -> Result<Option<u64>, String> {
        let before = self.text;
        let word = self.word()?;
        let more = !self.text.trim().is_empty();
        match number(word) {
            // The last word is the status, which may be a number too.
            Some(number) if more => Ok(Some(number)),
            _ => {
                self.text = before;
                Ok(None)
            }
        }
    }

    /// The next word as the number of a handle.
    ///
    /// # Errors
    /// When it is none.
    pub fn handle(&mut self) -> Result<Handle, String> {
        let number = self.number()?;
        Handle::try_from(number).map_err(|_| format!("{number} is no handle"))
    }

    /// There is nothing left.
    ///
    /// # Errors
    /// When there is.
    pub fn end(&self) -> Result<(), String> {
        match self.text.trim() {
            "" => Ok(()),
            more => Err(format!("nothing may follow the status: {more}")),
        }
    }
}

fn number(word: &str) -> Option<u64> {
    let hexadecimal = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    match hexadecimal {
        // `from_str_radix` takes a sign.
        Some(digits) if digits.starts_with(['+', '-']) => None,
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if word.starts_with('+') => None,
        None => word.parse().ok(),
    }
}

/// Statuses by name and number (MS-ERREF 2.3.1), those that a file server's replies bear and a
/// system call can tell apart.
const STATUSES: &[(&str, u64, Status)] = &[
    ("NT_STATUS_OK", 0, Status::Done),
    ("NT_STATUS_NO_SUCH_FILE", 0xC000_000F, Status::Absent),
    ("NT_STATUS_OBJECT_NAME_NOT_FOUND", 0xC000_0034, Status::Absent),
    ("NT_STATUS_OBJECT_PATH_NOT_FOUND", 0xC000_003A, Status::Absent),
    ("NT_STATUS_NO_MORE_FILES", 0x8000_0006, Status::Absent),
    ("NT_STATUS_OBJECT_NAME_COLLISION", 0xC000_0035, Status::Present),
    ("NT_STATUS_ACCESS_DENIED", 0xC000_0022, Status::Denied),
    ("NT_STATUS_DIRECTORY_NOT_EMPTY", 0xC000_0101, Status::NotEmpty),
    ("NT_STATUS_FILE_IS_A_DIRECTORY", 0xC000_00BA, Status::IsDirectory),
    ("NT_STATUS_NOT_A_DIRECTORY", 0xC000_0103, Status::NotDirectory),
    ("SUCCESS", 0, Status::Done),
    ("*", u64::MAX, Status::Any),
];

/// Reads the status that ends a line.
///
/// # Errors
/// When no system call of Linux says this.
pub fn status(word: &str) -> Result<Status, String> {
    let same = |known: &&(&str, u64, Status)| known.0 == word || number(word) == Some(known.1);
    let known = STATUSES.iter().find(same);
    known.map(|(_, _, status)| *status).ok_or_else(|| {
        format!("{word} is no status that a file system's answer can be held against")
    })
}
