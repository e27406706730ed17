//! (pure) An error as a person reads it: what was tried, why it failed, what to type next.

use std::borrow::Cow;
use std::fmt;
use std::io;

/// What was tried, why it failed in the kernel's words, and what to type next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// "cannot read /proc/stat"
    pub what: String,
    /// "Permission denied (os error 13)"
    pub why: String,
    /// "run as root"
    pub hint: Option<String>,
    /// The kernel's number of why it failed (errno(3)), as 13 for EACCES; `None` where it was not
    /// the kernel that said no. Who decides by the kind of an error asks this, and not the words.
    pub errno: Option<i32>,
}

/// What can be said of why something failed: words, and the kernel's number where it has one.
pub trait Cause {
    /// errno(3) of the system call that failed.
    fn errno(&self) -> Option<i32> {
        None
    }

    /// The words, as "Permission denied (os error 13)".
    fn words(&self) -> String;
}

impl Cause for io::Error {
    fn errno(&self) -> Option<i32> {
        self.raw_os_error()
    }

    fn words(&self) -> String {
        self.to_string()
    }
}

impl Cause for serde_json::Error {
    fn words(&self) -> String {
        self.to_string()
    }
}

impl<T: Cause + ?Sized> Cause for &T {
    fn errno(&self) -> Option<i32> {
        (**self).errno()
    }

    fn words(&self) -> String {
        (**self).words()
    }
}

impl Cause for str {
    fn words(&self) -> String {
        self.to_owned()
    }
}

impl Cause for String {
    fn words(&self) -> String {
        self.clone()
    }
}

impl Cause for Cow<'_, str> {
    fn words(&self) -> String {
        self.to_string()
    }
}

impl Cause for fmt::Arguments<'_> {
    fn words(&self) -> String {
        self.to_string()
    }
}

impl Error {
    /// An error without a hint; with the kernel's number where the cause has one.
    pub fn new(what: impl Into<String>, why: impl Cause) -> Error {
        Error { what: what.into(), why: why.words(), hint: None, errno: why.errno() }
    }

    /// Whether the kernel refused it for want of a right: EACCES or EPERM.
    pub fn is_denied(&self) -> bool {
        /// errno(3): "Operation not permitted", "Permission denied".
        const REFUSALS: [i32; 2] = [1, 13];
        self.errno.is_some_and(|errno| REFUSALS.contains(&errno))
    }

    /// The same error with the next thing to type.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Error {
        Error { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_number_stays_with_its_words_and_words_alone_have_none() {
        let denied = io::Error::from_raw_os_error(13);
        let error = Error::new("cannot read a file", &denied).hint("run as root");
        assert_eq!((error.errno, error.is_denied()), (Some(13), true));
        assert_eq!(error.to_string(), "cannot read a file: Permission denied (os error 13)");
        let told: &dyn Cause = &denied;
        assert!(Error::new("cannot read a file", told).is_denied());
        // The same words from somebody else are no answer of the kernel's.
        let said = Error::new("cannot read a file", denied.to_string());
        assert_eq!((said.errno, said.is_denied()), (None, false));
        assert!(!Error::new("cannot read a file", io::Error::from_raw_os_error(2)).is_denied());
    }
}
