//! The disk as SQLite sees it: a VFS (<https://www.sqlite.org/vfs.html>) that does what `os_unix.c`
//! does with files, on the disk that this thread has mounted.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::rc::Rc;
use std::sync::Once;

use rusqlite::ffi;

use super::{Disk, DiskOperation, Fails, Plant, planted};

/// What SQLite calls it.
pub const NAME: &CStr = c"brickyard-fire";

thread_local! {
    static DISK: RefCell<Option<Rc<RefCell<Disk>>>> = const { RefCell::new(None) };
}

/// While this lives, stores that this thread opens lie on that disk.
#[derive(Debug)]
pub struct MountedDisk(());

impl MountedDisk {
    /// Mounts a disk.
    pub fn new(disk: &Rc<RefCell<Disk>>) -> MountedDisk {
        register();
        DISK.set(Some(Rc::clone(disk)));
        MountedDisk(())
    }

    /// Mounts another in its place.
    pub fn change(&mut self, disk: &Rc<RefCell<Disk>>) {
        DISK.set(Some(Rc::clone(disk)));
    }

    /// Whether this thread has a disk mounted.
    pub fn any() -> bool {
        DISK.with_borrow(Option::is_some)
    }
}

impl Drop for MountedDisk {
    fn drop(&mut self) {
        DISK.set(None);
    }
}

/// What SQLite holds of an open file.
#[repr(C)]
struct Handle {
    base: ffi::sqlite3_file,
    open: *mut OpenFile,
}

/// An open file of the disk, as SQLite holds it.
struct OpenFile {
    disk: Rc<RefCell<Disk>>,
    file: usize,
    id: u64,
    flags: c_int,
    /// Whether its name is made durable with its first sync.
    is_new: bool,
    is_sharing: bool,
}

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let vfs = ffi::sqlite3_vfs {
            iVersion: 2,
            szOsFile: size_of::<Handle>() as c_int,
            mxPathname: 512,
            pNext: std::ptr::null_mut(),
            zName: NAME.as_ptr(),
            pAppData: std::ptr::null_mut(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_path),
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: None,
            xGetLastError: Some(last_error),
            xCurrentTimeInt64: Some(time),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        };
        // SAFETY: SQLite keeps the pointer, and what it points to lives for ever.
        unsafe { ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0) };
    });
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(reserved),
    xFileControl: Some(control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: Some(share),
    xShmLock: Some(share_lock),
    xShmBarrier: Some(share_barrier),
    xShmUnmap: Some(share_end),
    xFetch: None,
    xUnfetch: None,
};

/// The disk that this thread has mounted.
pub(super) fn mounted() -> Option<Rc<RefCell<Disk>>> {
    DISK.with_borrow(Option::clone)
}

/// The last part of a path: the disk is one folder.
fn name_of(path: *const c_char) -> String {
    // SAFETY: SQLite gives paths that end in NUL and live during the call.
    let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

/// The open file behind a handle.
///
/// # Safety
/// `handle` was opened by [`open`] and is not closed yet; only one thread uses it.
unsafe fn of<'a>(handle: *mut ffi::sqlite3_file) -> &'a mut OpenFile {
    // SAFETY: as the caller promises; nothing else holds a reference during a call of SQLite's.
    unsafe { &mut *(*handle.cast::<Handle>()).open }
}

/// SQLite's code for what went wrong.
fn code(how: Fails, broken: c_int) -> c_int {
    match how {
        Fails::Broken => broken,
        Fails::Full if broken == ffi::SQLITE_IOERR_WRITE => ffi::SQLITE_FULL,
        Fails::Full => broken,
    }
}

fn done(result: Result<(), Fails>, broken: c_int) -> c_int {
    result.map_or_else(|how| code(how, broken), |()| ffi::SQLITE_OK)
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    path: ffi::sqlite3_filename,
    handle: *mut ffi::sqlite3_file,
    flags: c_int,
    given: *mut c_int,
) -> c_int {
    let handle = handle.cast::<Handle>();
    // SAFETY: SQLite gives room for a handle; without methods it never closes it.
    unsafe { (*handle).base.pMethods = std::ptr::null() };
    let Some(disk) = mounted() else { return ffi::SQLITE_CANTOPEN };
    let make = flags & ffi::SQLITE_OPEN_CREATE != 0;
    let mut on = disk.borrow_mut();
    let file = if path.is_null() {
        on.begin(DiskOperation::Open, 0, 0).map(|()| Some(on.unnamed()))
    } else {
        on.open(&name_of(path), make)
    };
    let Ok(Some(file)) = file else { return ffi::SQLITE_CANTOPEN };
    on.handles += 1;
    let id = on.handles;
    drop(on);
    let beside = ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL;
    let is_new = make && flags & beside != 0;
    let open = OpenFile { disk, file, id, flags, is_new, is_sharing: false };
    // SAFETY: as above; `given` is null or a number of SQLite's.
    unsafe {
        (*handle).open = Box::into_raw(Box::new(open));
        (*handle).base.pMethods = &raw const METHODS;
        if !given.is_null() {
            *given = flags;
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(handle: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: SQLite closes what it opened, once.
    let open = unsafe { Box::from_raw((*handle.cast::<Handle>()).open) };
    let mut disk = open.disk.borrow_mut();
    disk.locks.entry(open.file).or_default().lower(open.id, ffi::SQLITE_LOCK_NONE);
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete(
    _: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    sync_folder: c_int,
) -> c_int {
    let Some(disk) = mounted() else { return ffi::SQLITE_IOERR_DELETE };
    let mut disk = disk.borrow_mut();
    match disk.remove(&name_of(path)) {
        Ok(false) => return ffi::SQLITE_IOERR_DELETE_NOENT,
        Ok(true) => {}
        Err(how) => return code(how, ffi::SQLITE_IOERR_DELETE),
    }
    let synced = if sync_folder != 0 { disk.sync_folder() } else { Ok(()) };
    done(synced, ffi::SQLITE_IOERR_DIR_FSYNC)
}

unsafe extern "C" fn access(
    _: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    _: c_int,
    answer: *mut c_int,
) -> c_int {
    let held = mounted().map(|disk| disk.borrow_mut().holds(&name_of(path)));
    let Some(Ok(held)) = held else { return ffi::SQLITE_IOERR_ACCESS };
    // SAFETY: SQLite gives room for a number.
    unsafe { *answer = c_int::from(held) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_path(
    _: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    room: c_int,
    to: *mut c_char,
) -> c_int {
    // SAFETY: a path that ends in NUL, and room for `room` bytes that does not overlap it.
    unsafe {
        let bytes = CStr::from_ptr(path).to_bytes_with_nul();
        if bytes.len() > room as usize {
            return ffi::SQLITE_CANTOPEN;
        }
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), to, bytes.len());
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn randomness(_: *mut ffi::sqlite3_vfs, count: c_int, to: *mut c_char) -> c_int {
    // SAFETY: SQLite gives room for `count` bytes.
    let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<u8>(), count as usize) };
    if let Some(disk) = mounted() {
        disk.borrow_mut().random(to);
    }
    count
}

/// Nobody else will do anything meanwhile.
unsafe extern "C" fn sleep(_: *mut ffi::sqlite3_vfs, micros: c_int) -> c_int {
    micros
}

unsafe extern "C" fn last_error(_: *mut ffi::sqlite3_vfs, _: c_int, _: *mut c_char) -> c_int {
    0
}

unsafe extern "C" fn time(_: *mut ffi::sqlite3_vfs, to: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite gives room for a number: milliseconds of the Julian calendar.
    unsafe { *to = 212_000_000_000_000 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    handle: *mut ffi::sqlite3_file,
    into: *mut c_void,
    count: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: an open file, and room for `count` bytes.
    let (open, into) =
        unsafe { (of(handle), std::slice::from_raw_parts_mut(into.cast::<u8>(), count as usize)) };
    match open.disk.borrow_mut().read(open.file, at as usize, into) {
        Ok(got) if got == into.len() => ffi::SQLITE_OK,
        Ok(_) => ffi::SQLITE_IOERR_SHORT_READ,
        Err(how) => code(how, ffi::SQLITE_IOERR_READ),
    }
}

unsafe extern "C" fn write(
    handle: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    count: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: an open file, and `count` bytes.
    let (open, bytes) =
        unsafe { (of(handle), std::slice::from_raw_parts(bytes.cast::<u8>(), count as usize)) };
    let written = open.disk.borrow_mut().write(open.file, at as usize, bytes);
    done(written, ffi::SQLITE_IOERR_WRITE)
}

unsafe extern "C" fn truncate(handle: *mut ffi::sqlite3_file, length: ffi::sqlite3_int64) -> c_int {
    // SAFETY: an open file.
    let open = unsafe { of(handle) };
    let cut = open.disk.borrow_mut().truncate(open.file, length as usize);
    done(cut, ffi::SQLITE_IOERR_TRUNCATE)
}

unsafe extern "C" fn sync(handle: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: an open file.
    let open = unsafe { of(handle) };
    let skipped = |plant, flag| planted(plant) && open.flags & flag != 0;
    if skipped(Plant::LogNotSynced, ffi::SQLITE_OPEN_WAL)
        || skipped(Plant::DatabaseNotSynced, ffi::SQLITE_OPEN_MAIN_DB)
    {
        return ffi::SQLITE_OK;
    }
    let mut disk = open.disk.borrow_mut();
    if let Err(how) = disk.sync(open.file) {
        return code(how, ffi::SQLITE_IOERR_FSYNC);
    }
    if open.is_new {
        // As `os_unix.c` does, whatever comes of it.
        open.is_new = false;
        let _ = disk.sync_folder();
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn size(handle: *mut ffi::sqlite3_file, to: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: an open file, and room for a number.
    let (open, to) = unsafe { (of(handle), &mut *to) };
    let length = open.disk.borrow_mut().length(open.file);
    done(length.map(|length| *to = length as i64), ffi::SQLITE_IOERR_FSTAT)
}

unsafe extern "C" fn lock(handle: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: an open file.
    let open = unsafe { of(handle) };
    let mut disk = open.disk.borrow_mut();
    if let Err(how) = disk.begin(DiskOperation::Lock, open.file as u64, level as u64) {
        return code(how, ffi::SQLITE_IOERR_LOCK);
    }
    let got = disk.locks.entry(open.file).or_default().raise(open.id, level);
    if got { ffi::SQLITE_OK } else { ffi::SQLITE_BUSY }
}

unsafe extern "C" fn unlock(handle: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: an open file.
    let open = unsafe { of(handle) };
    open.disk.borrow_mut().locks.entry(open.file).or_default().lower(open.id, level);
    ffi::SQLITE_OK
}

unsafe extern "C" fn reserved(handle: *mut ffi::sqlite3_file, answer: *mut c_int) -> c_int {
    // SAFETY: an open file, and room for a number.
    let (open, answer) = unsafe { (of(handle), &mut *answer) };
    let mut disk = open.disk.borrow_mut();
    *answer = c_int::from(disk.locks.entry(open.file).or_default().reserved());
    ffi::SQLITE_OK
}

unsafe extern "C" fn control(_: *mut ffi::sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_: *mut ffi::sqlite3_file) -> c_int {
    4096
}

unsafe extern "C" fn characteristics(_: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn share(
    handle: *mut ffi::sqlite3_file,
    number: c_int,
    bytes: c_int,
    make: c_int,
    to: *mut *mut c_void,
) -> c_int {
    // SAFETY: an open file, and room for a pointer.
    let (open, to) = unsafe { (of(handle), &mut *to) };
    *to = std::ptr::null_mut();
    let mut disk = open.disk.borrow_mut();
    if let Err(how) = disk.begin(DiskOperation::Share, number as u64, make as u64) {
        return code(how, ffi::SQLITE_IOERR_SHMMAP);
    }
    let sharing = disk.sharing.entry(open.file).or_default();
    sharing.join(open.id);
    open.is_sharing = true;
    *to = sharing.region(number as usize, bytes as usize, make != 0).cast();
    ffi::SQLITE_OK
}

unsafe extern "C" fn share_lock(
    handle: *mut ffi::sqlite3_file,
    from: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: an open file.
    let open = unsafe { of(handle) };
    let mut disk = open.disk.borrow_mut();
    // To let go always works, even when the power has failed.
    if flags & ffi::SQLITE_SHM_LOCK != 0
        && let Err(how) = disk.begin(DiskOperation::Lock, from as u64, count as u64)
    {
        return code(how, ffi::SQLITE_IOERR_SHMLOCK);
    }
    let bits = ((1_u32 << count) - 1) << from;
    let got = disk.sharing.entry(open.file).or_default().lock(open.id, bits, flags);
    if got { ffi::SQLITE_OK } else { ffi::SQLITE_BUSY }
}

unsafe extern "C" fn share_barrier(_: *mut ffi::sqlite3_file) {}

unsafe extern "C" fn share_end(handle: *mut ffi::sqlite3_file, _: c_int) -> c_int {
    // SAFETY: an open file.
    let open = unsafe { of(handle) };
    let mut disk = open.disk.borrow_mut();
    let sharing = disk.sharing.get_mut(&open.file);
    if open.is_sharing && sharing.is_some_and(|sharing| sharing.leave(open.id)) {
        disk.sharing.remove(&open.file);
    }
    open.is_sharing = false;
    ffi::SQLITE_OK
}
