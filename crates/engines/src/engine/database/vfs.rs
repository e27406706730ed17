//! SQLite's own door to files, with the paths left as they are.
//!
//! SQLite asks where each link in a path points and goes there by name (`xFullPathname`, since
//! 3.39). A path through a descriptor ([`beneath::by_number`]) would become the name that the
//! directory has just now, which somebody may give to another one before it is opened.

use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::sync::OnceLock;

use rusqlite::{Connection, OpenFlags, ffi};

use host::sys::beneath;

const NAME: &CStr = c"brickyard";

/// Opens a database below a directory that we hold.
///
/// # Errors
/// In SQLite's words.
pub fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    static READY: OnceLock<c_int> = OnceLock::new();
    match *READY.get_or_init(register) {
        ffi::SQLITE_OK => {
            Connection::open_with_flags_and_vfs(beneath::by_number(path), flags, NAME)
        }
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

/// Makes the door known to SQLite, for as long as this process lives.
fn register() -> c_int {
    // SAFETY: SQLite initialises itself first, and gives its default, which lives for ever, or
    // nothing.
    let own = unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) };
    if own.is_null() {
        return ffi::SQLITE_ERROR;
    }
    // SAFETY: it is not null, and plain data that nobody writes but to link it in a list.
    let mut ours = unsafe { own.read() };
    ours.pNext = std::ptr::null_mut();
    ours.zName = NAME.as_ptr();
    ours.xFullPathname = Some(as_it_is);
    // SAFETY: it lives as long as the process, and is ours alone.
    unsafe { ffi::sqlite3_vfs_register(Box::into_raw(Box::new(ours)), 0) }
}

/// The path as it was given, which is absolute.
///
/// # Safety
/// As SQLite calls it: `name` ends with a NUL, and `out` has room for `room` bytes.
unsafe extern "C" fn as_it_is(
    _: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite gives a text that ends with a NUL.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes_with_nul();
    if name.len() > room.max(0) as usize {
        return ffi::SQLITE_CANTOPEN;
    }
    // SAFETY: it fits, as was just asked, and SQLite's two texts do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(name.as_ptr().cast(), out, name.len()) };
    ffi::SQLITE_OK
}
