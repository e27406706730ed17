//! SQLite's memory, of which a test can refuse this thread any piece.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use rusqlite::ffi;

type Allocate = unsafe extern "C" fn(c_int) -> *mut c_void;
type Reallocate = unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void;

/// SQLite's own methods, set before anybody has used it.
static METHODS: OnceLock<(Allocate, Reallocate)> = OnceLock::new();

thread_local! {
    /// How many pieces are given before one is refused; none is while this is 0.
    static UNTIL: Cell<u64> = const { Cell::new(0) };
    /// How many are refused then.
    static TIMES: Cell<u64> = const { Cell::new(0) };
    static REFUSED: Cell<u64> = const { Cell::new(0) };
}

/// While this lives, this thread runs out of memory.
#[derive(Debug)]
pub struct Shortage(());

impl Shortage {
    /// `after` pieces are given, `times` are refused.
    pub fn begin(after: u64, times: u64) -> Shortage {
        REFUSED.set(0);
        TIMES.set(times);
        UNTIL.set(after + 1);
        Shortage(())
    }

    /// How many pieces have been refused.
    pub fn refused(&self) -> u64 {
        REFUSED.get()
    }
}

impl Drop for Shortage {
    fn drop(&mut self) {
        UNTIL.set(0);
    }
}

fn is_refused() -> bool {
    match UNTIL.get() {
        0 => false,
        1 if TIMES.get() > 0 => {
            TIMES.set(TIMES.get() - 1);
            REFUSED.set(REFUSED.get() + 1);
            true
        }
        1 => false,
        left => {
            UNTIL.set(left - 1);
            false
        }
    }
}

unsafe extern "C" fn allocate(bytes: c_int) -> *mut c_void {
    match METHODS.get() {
        // SAFETY: SQLite's own function, called as SQLite calls ours.
        Some((wrapped, _)) if !is_refused() => unsafe { wrapped(bytes) },
        _ => std::ptr::null_mut(),
    }
}

unsafe extern "C" fn reallocate(piece: *mut c_void, bytes: c_int) -> *mut c_void {
    match METHODS.get() {
        // SAFETY: SQLite's own function, called as SQLite calls ours.
        Some((_, wrapped)) if !is_refused() => unsafe { wrapped(piece, bytes) },
        _ => std::ptr::null_mut(),
    }
}

/// SQLite takes other methods only before its first use, which may be any test's: so this runs
/// before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = wrap;

extern "C" fn wrap() {
    let mut methods = ffi::sqlite3_mem_methods {
        xMalloc: None,
        xFree: None,
        xRealloc: None,
        xSize: None,
        xRoundup: None,
        xInit: None,
        xShutdown: None,
        pAppData: std::ptr::null_mut(),
    };
    // SAFETY: nobody else runs yet; both calls read or write one set of methods, which SQLite
    // copies.
    unsafe {
        if ffi::sqlite3_config(ffi::SQLITE_CONFIG_GETMALLOC, &raw mut methods) != ffi::SQLITE_OK {
            return;
        }
        let (Some(own), Some(again)) = (methods.xMalloc, methods.xRealloc) else { return };
        let _ = METHODS.set((own, again));
        methods.xMalloc = Some(allocate);
        methods.xRealloc = Some(reallocate);
        ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw const methods);
    }
}
