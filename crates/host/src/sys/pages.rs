//! The page cache of one file, or of a part of it: how much of it is there, and asking the kernel
//! to drop it. A block device has one of its own, beside those of the files that lie on it.
//!
//! Pages that are on their way from the device cannot be dropped: what was read ahead of a load
//! that has ended is waited for, as long as the device still reads.
//!
//! `cachestat(2)` (Linux 6.5) counts without touching; `mincore(2)` on a fresh map is older.

use std::fs::File;
use std::num::NonZeroU64;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{Advice, fadvise, fstatfs};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::{Error, Host, block, clock};

/// Pages on their way are waited for no longer than this. A slow disk has a queue of seconds.
const GONE_MAX_NS: u64 = 30_000_000_000;
/// When none has gone for so long, none will: somebody holds them, or the files are memory.
const STAYS_NS: u64 = 1_000_000_000;
/// Whether more is on its way is asked for so long: a neighbour may read for ever.
const READS_MAX_NS: u64 = 10_000_000_000;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// `cachestat(2)` has the same number on every architecture (it came after the unified table).
const SYS_CACHESTAT: libc::c_long = 451;

#[repr(C)]
struct Range {
    off: u64,
    len: u64,
}

/// The kernel's `struct cachestat`: pages of a range, by their state in the page cache.
#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// A part of a file, or of a block device.
#[derive(Clone, Copy, Debug)]
pub struct FileRange<'a> {
    /// Open.
    pub file: &'a File,
    /// Where it begins, bytes; at the start of a page.
    pub start: u64,
    /// How long it is, bytes; what lies behind the file's end is none of it.
    pub bytes: u64,
}

impl<'a> FileRange<'a> {
    /// All of a file.
    pub fn whole(file: &'a File) -> FileRange<'a> {
        FileRange { file, start: 0, bytes: u64::MAX }
    }

    /// Bytes of it that are in memory, in whole pages; counts dirty ones too.
    ///
    /// # Errors
    /// When neither cachestat nor mincore works on this file: residency is then unknown.
    pub fn resident_bytes(&self) -> Result<u64, Error> {
        let FileRange { file, start, .. } = *self;
        let size = length(file).map_err(|why| Error::new("cannot stat the file", why))?;
        let bytes = size.saturating_sub(start).min(self.bytes);
        if is_zfs(file) {
            let why =
                "ZFS keeps them in a cache of its own (the ARC), which tells nothing of one file";
            return Err(Error::new("cannot count the file's pages in memory", why));
        }
        if let Some(resident) = by_cachestat(file, start, bytes) {
            return Ok(resident.min(bytes.next_multiple_of(page_size())));
        }
        by_mincore(file, start, bytes)
    }

    /// Drops its clean pages. Advice: nothing tells whether it was heeded but
    /// [`FileRange::resident_bytes`].
    pub fn forget(&self) {
        // A page that only partly belongs to it would stay (mm/fadvise.c).
        let bytes = self.bytes.checked_next_multiple_of(page_size()).and_then(NonZeroU64::new);
        let _ = fadvise(self.file, self.start, bytes, Advice::DontNeed);
    }
}

/// Length of a file or size of a block device, bytes.
///
/// # Errors
/// The kernel's.
pub fn length(file: &File) -> std::io::Result<u64> {
    let about = file.metadata()?;
    match about.file_type().is_block_device() {
        true => block::size_bytes(file),
        false => Ok(about.len()),
    }
}

/// Bytes of the file that are in memory, in whole pages; counts dirty ones too.
///
/// # Errors
/// When neither cachestat nor mincore works on this file: residency is then unknown.
pub fn resident_bytes(file: &File) -> Result<u64, Error> {
    FileRange::whole(file).resident_bytes()
}

/// Bytes of these files that are in memory; `None` when one cannot be read, or there is none.
pub fn resident_in(files: &[PathBuf]) -> Option<u64> {
    let of = |path: &PathBuf| resident_bytes(&File::open(path).ok()?).ok();
    let all: Option<Vec<u64>> = files.iter().map(of).collect();
    all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
}

/// Asks the kernel to write the file's dirty pages and forget all of them: no privilege needed.
/// Pages that are mapped or locked by someone stay.
///
/// # Errors
/// When fsync fails: pages that could not be written are never dropped.
pub fn drop_cached(file: &File) -> Result<(), Error> {
    rustix::fs::fsync(file)
        .map_err(|why| Error::new("cannot fsync the file", std::io::Error::from(why)))?;
    forget(file);
    Ok(())
}

/// Drops the clean pages of the file. Advice: nothing tells whether it was heeded but
/// [`resident_bytes`].
pub fn forget(file: &File) {
    FileRange::whole(file).forget();
}

/// Drops the clean pages of these parts again and again until none is left, or the rest stays, or
/// `is_over`; gives how many bytes are left. Pages are locked while they are read, and those that
/// were read ahead may wait in the queue of a slow device long after whoever caused it is gone.
///
/// # Errors
/// As [`resident_bytes`].
pub fn forget_until_gone(
    parts: &[FileRange<'_>],
    is_over: impl Fn() -> bool,
) -> Result<u64, Error> {
    let started_ns = clock::monotonic_ns();
    let (mut least, mut since_ns) = (u64::MAX, started_ns);
    let devices = devices_under(parts);
    let mut read = sectors_read(&devices);
    loop {
        parts.iter().for_each(FileRange::forget);
        let left: u64 = parts.iter().map(FileRange::resident_bytes).sum::<Result<_, _>>()?;
        let now_ns = clock::monotonic_ns();
        // While some go, others come that wait in the queue of a slow device.
        let before = std::mem::replace(&mut read, sectors_read(&devices));
        let reads = read != before && now_ns - started_ns < READS_MAX_NS;
        if left < least || reads {
            (least, since_ns) = (left.min(least), now_ns);
        }
        let stays = now_ns - since_ns > STAYS_NS || now_ns - started_ns > GONE_MAX_NS;
        if left == 0 || stays || is_over() || parts.iter().all(|part| is_memory(part.file)) {
            return Ok(left);
        }
        sleep(LOOK_EVERY);
    }
}

/// The number of the device that a file lies on; of a block device its own.
pub fn device_under(file: &File) -> Option<u64> {
    let about = file.metadata().ok()?;
    Some(if about.file_type().is_block_device() { about.rdev() } else { about.dev() })
}

/// The block devices that the files lie on, as their folders in /sys; none where the file system
/// has no number of one, as btrfs.
fn devices_under(parts: &[FileRange<'_>]) -> Vec<String> {
    let numbers = parts.iter().filter_map(|part| {
        let device = device_under(part.file)?;
        Some((rustix::fs::major(device), rustix::fs::minor(device)))
    });
    let mut folders: Vec<String> = numbers
        .filter(|(major, _)| *major != 0)
        .map(|(major, minor)| format!("/sys/dev/block/{major}:{minor}"))
        .collect();
    folders.sort();
    folders.dedup();
    folders
}

/// Sectors that these have read so far: the third number of `stat` (Documentation/block/stat.rst).
fn sectors_read(folders: &[String]) -> u64 {
    let host = Host::live();
    let read = |folder: &String| {
        let text = host.word(format!("{folder}/stat"))?;
        text.split_ascii_whitespace().nth(2)?.parse::<u64>().ok()
    };
    folders.iter().filter_map(read).fold(0, u64::saturating_add)
}

/// Whether the file lies on a file system of memory (linux/magic.h: TMPFS_MAGIC, RAMFS_MAGIC),
/// whose pages are the file.
fn is_memory(file: &File) -> bool {
    lies_on(file, &[0x0102_1994, 0x8584_58f6])
}

/// Whether the file lies on ZFS (OpenZFS, include/os/linux/zfs/sys/zfs_vfsops_os.h), which reads
/// around the page cache.
fn is_zfs(file: &File) -> bool {
    lies_on(file, &[0x2fc1_2fc1])
}

/// Not asked of a block device: its node lies on a file system of memory, and its bytes do not.
fn lies_on(file: &File, magic: &[u64]) -> bool {
    let is_block = |about: std::fs::Metadata| about.file_type().is_block_device();
    if file.metadata().is_ok_and(is_block) {
        return false;
    }
    // The type of the number differs from one architecture to the next.
    fstatfs(file).is_ok_and(|stat| magic.contains(&(stat.f_type as u64 & 0xffff_ffff)))
}

/// How files lie on their file system, as stat(2) tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Laid {
    /// Bytes of their blocks; `None` where they are not all alike. On ZFS the record of a file.
    pub block_bytes: Option<u64>,
    /// What they take: less than their size where they are compressed or have holes.
    pub stored_bytes: u64,
}

/// How these files lie; `None` when one cannot be asked, or there is none.
pub fn laid(files: &[PathBuf]) -> Option<Laid> {
    let mut all: Option<Laid> = None;
    for path in files {
        let about = path.symlink_metadata().ok()?;
        let (block, stored) = (about.blksize(), about.blocks().saturating_mul(512));
        all = Some(match all {
            None => Laid { block_bytes: Some(block), stored_bytes: stored },
            Some(known) => Laid {
                block_bytes: known.block_bytes.filter(|known| *known == block),
                stored_bytes: known.stored_bytes.saturating_add(stored),
            },
        });
    }
    all
}

/// Bytes of a part of the file that are in memory; `None` where cachestat(2) is not there (before
/// Linux 6.5, or on file systems whose pages it does not count).
pub fn resident_range(file: &File, offset: u64, bytes: u64) -> Option<u64> {
    if is_zfs(file) {
        return None;
    }
    cachestat(file, &Range { off: offset, len: bytes })
}

fn page_size() -> u64 {
    rustix::param::page_size() as u64
}

fn by_cachestat(file: &File, start: u64, bytes: u64) -> Option<u64> {
    // A length of 0 means to the end.
    if bytes == 0 {
        return Some(0);
    }
    cachestat(file, &Range { off: start, len: bytes })
}

fn cachestat(file: &File, range: &Range) -> Option<u64> {
    let mut stat = Cachestat::default();
    // SAFETY: both structures are as in include/uapi/linux/mman.h and live through the call; the
    // kernel writes only to the second.
    let status = unsafe {
        libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), range as *const Range, &raw mut stat, 0)
    };
    (status == 0).then(|| stat.cached * page_size())
}

/// Pages of a map of the file that are in memory. Since Linux 5.2 the truth is told only to those
/// who may write the file or own it; to others every page seems resident.
fn by_mincore(file: &File, start: u64, bytes: u64) -> Result<u64, Error> {
    const STEP: u64 = 1 << 30;
    let mut resident = 0;
    let mut seen = vec![0_u8; (STEP / page_size()) as usize];
    let (mut offset, end) = (start, start.saturating_add(bytes));
    while offset < end {
        let length = STEP.min(end - offset) as usize;
        let flags = MapFlags::SHARED;
        // SAFETY: a new read-only mapping at a place the kernel chooses; it is never read.
        let map =
            unsafe { mmap(std::ptr::null_mut(), length, ProtFlags::READ, flags, file, offset) }
                .map_err(|why| {
                    Error::new(
                        "cannot map the file to count its pages in memory",
                        std::io::Error::from(why),
                    )
                })?;
        // SAFETY: `seen` has a byte for every page of the mapping.
        let status = unsafe { libc::mincore(map, length, seen.as_mut_ptr()) };
        let why = std::io::Error::last_os_error();
        // SAFETY: the mapping just made.
        let _ = unsafe { munmap(map, length) };
        if status != 0 {
            return Err(Error::new("cannot count the file's pages in memory", why));
        }
        let pages = length.div_ceil(page_size() as usize);
        resident += seen[..pages].iter().filter(|page| **page & 1 == 1).count() as u64;
        offset += STEP;
    }
    Ok(resident * page_size())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn pages_come_by_reading_and_go_when_dropped_as_both_counts_say() {
        let mut file = tempfile::tempfile_in("/var/tmp").unwrap();
        file.write_all(&vec![1; 1 << 20]).unwrap();
        assert_eq!(resident_bytes(&file).unwrap(), 1 << 20);
        assert_eq!(by_mincore(&file, 0, 1 << 20).unwrap(), 1 << 20);
        drop_cached(&file).unwrap();
        if resident_bytes(&file).unwrap() == 1 << 20 {
            // A file system whose files live in memory: nothing to drop them to.
            return;
        }
        assert_eq!(resident_bytes(&file).unwrap(), 0);
        assert_eq!(by_mincore(&file, 0, 1 << 20).unwrap(), 0);
        file.rewind().unwrap();
        file.read_exact(&mut vec![0; 1 << 20]).unwrap();
        assert_eq!(forget_until_gone(&[FileRange::whole(&file)], || false).unwrap(), 0);
        file.rewind().unwrap();
        file.read_exact(&mut [0; 4096]).unwrap();
        let resident = resident_bytes(&file).unwrap();
        assert!((4096..=1 << 20).contains(&resident), "{resident}");
    }

    #[test]
    fn files_tell_how_much_they_take_and_holes_take_nothing() {
        let mut whole = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        whole.write_all(&vec![7; 1 << 20]).unwrap();
        whole.as_file().sync_all().unwrap();
        let hole = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        hole.as_file().set_len(1 << 20).unwrap();
        let of = |file: &tempfile::NamedTempFile| laid(&[file.path().to_owned()]).unwrap();
        assert!(of(&hole).stored_bytes <= of(&whole).stored_bytes);
        assert!(of(&whole).block_bytes.is_some_and(|bytes| bytes > 0));
        let both = [whole.path().to_owned(), hole.path().to_owned()];
        let sum = of(&hole).stored_bytes + of(&whole).stored_bytes;
        assert_eq!(laid(&both).unwrap().stored_bytes, sum);
        assert_eq!((laid(&[]), laid(&[PathBuf::from("/var/tmp/gone-x")])), (None, None));
        assert!(!is_zfs(whole.as_file()) || resident_bytes(whole.as_file()).is_err());
    }

    /// Whoever waits for pages of memory, or of a file that is not written yet, waits for ever.
    #[test]
    fn pages_that_stay_are_told_and_nobody_waits_for_them_long() {
        if let Ok(mut file) = tempfile::tempfile_in("/dev/shm") {
            file.write_all(&[1; 8192]).unwrap();
            if is_memory(&file) {
                let whole = [FileRange::whole(&file)];
                assert_eq!(forget_until_gone(&whole, || false).unwrap(), 8192);
            }
        }
        let mut dirty = tempfile::tempfile_in("/var/tmp").unwrap();
        dirty.write_all(&[1; 8192]).unwrap();
        let left = forget_until_gone(&[FileRange::whole(&dirty)], || true).unwrap();
        assert!(left <= 8192, "{left}");
        assert_eq!(forget_until_gone(&[], || false).unwrap(), 0);
    }
}
