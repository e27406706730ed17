//! SQLite's refusals in words, with what to do about them.

use std::path::Path;

use rusqlite::ErrorCode;

use super::file;
use host::sys::{Error, signal};

/// Whether an error comes from a full file system. SQLite calls it an I/O error where it was the
/// memory shared by readers that found no room.
pub(super) fn no_room(path: &Path, error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => true,
        Some(ErrorCode::SystemIoFailure) => file::is_full(path),
        _ => false,
    }
}

/// SQLite's refusals, with what to do about them.
pub(super) fn refused(path: &Path, error: &rusqlite::Error) -> Error {
    let what = format!("cannot use the store {}", path.display());
    let (why, hint) = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            ("it is not a SQLite database".to_owned(), "name another file: --store FILE")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (
            "another program has locked it".to_owned(),
            "wait for that program to end, or use another file: --store FILE",
        ),
        Some(ErrorCode::CannotOpen) if path.exists() && !file::writable(path) => {
            ("it is read-only".to_owned(), "make it writable, or use another file: --store FILE")
        }
        Some(ErrorCode::ReadOnly) => {
            ("it is read-only".to_owned(), "make it writable, or use another file: --store FILE")
        }
        Some(ErrorCode::CannotOpen) => (
            format!("it cannot be opened or made there ({error})"),
            "choose a file in a directory that you may write in: --store FILE",
        ),
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) if no_room(path, error) => {
            ("its file system is full".to_owned(), "make room, or use another file: --store FILE")
        }
        Some(ErrorCode::SystemIoFailure) if file::is_at_limit(path) => (
            "it would grow beyond what RLIMIT_FSIZE allows of a file".to_owned(),
            "raise that limit: `ulimit -f unlimited`",
        ),
        Some(ErrorCode::DatabaseCorrupt) => (
            format!("it is damaged ({error})"),
            "`brickyard check` says what of it; take a copy from before: --store FILE",
        ),
        Some(ErrorCode::OperationInterrupted) if signal::asked() => {
            ("it was asked to stop".to_owned(), "start it again")
        }
        Some(ErrorCode::OperationInterrupted) => (
            "it took longer than anything may that is read of a store".to_owned(),
            "the file may be damaged or made up: `brickyard check` looks at it",
        ),
        Some(ErrorCode::OutOfMemory | ErrorCode::TooBig) => (
            format!("something in it is larger than anything brickyard keeps ({error})"),
            "use another file: --store FILE",
        ),
        _ => (error.to_string(), "use another file: --store FILE"),
    };
    Error::new(what, why).hint(hint)
}
