//! Reads and writes through the page cache of which nothing is to stay in it (RWF_DONTCACHE).
//!
//! A flag of each call, of preadv2(2), pwritev2(2), io_submit(2) and io_uring: pages that a read
//! brings go when it has copied them, those that a write makes when they are written out, which
//! begins at once. What was in the cache before stays there (readv(2); Linux commit af6505e5745b,
//! "fs: add RWF_DONTCACHE iocb and FOP_DONTCACHE file_operations flag").

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};

use rustix::io::{ReadWriteFlags, preadv2, pwritev2};

use super::{Host, filter};

/// The flag, as interfaces take it that are no calls of their own.
pub const FLAG: i32 = libc::RWF_DONTCACHE;

/// The first Linux that takes it, of any file system.
const SINCE: (u32, u32) = (6, 14);

const FLAGS: ReadWriteFlags = ReadWriteFlags::from_bits_retain(FLAG as u32);

/// As pread(2), but what it brings into the page cache does not stay there.
///
/// # Errors
/// The kernel's.
#[inline]
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    Ok(preadv2(file, &mut [IoSliceMut::new(buffer)], offset, FLAGS)?)
}

/// As pwrite(2), but what it puts into the page cache is written out and does not stay there.
///
/// # Errors
/// The kernel's.
#[inline]
pub fn write_at(file: &File, buffer: &[u8], offset: u64) -> io::Result<usize> {
    Ok(pwritev2(file, &[IoSlice::new(buffer)], offset, FLAGS)?)
}

/// Asks whether `file`, which is open for reading, takes it: for a byte beyond its end, which
/// reads nothing.
///
/// # Errors
/// The kernel's.
pub fn ask(file: &File) -> io::Result<()> {
    let end = file.metadata()?.len();
    read_at(file, &mut [0], end).map(|_| ())
}

/// Whether an answer of [`ask`] says that there is no such I/O here, and not that a disk failed.
pub fn is_refusal(why: &io::Error) -> bool {
    let of = [libc::EOPNOTSUPP, libc::EINVAL, libc::ENOSYS, libc::EPERM];
    why.raw_os_error().is_some_and(|number| of.contains(&number))
}

/// Who lacks it, in words, with what was tried and the kernel's own.
pub fn explained(why: &io::Error) -> String {
    let release = Host::live().word("/proc/sys/kernel/osrelease").unwrap_or_default();
    let tried = filter::explained("preadv2 with RWF_DONTCACHE", why);
    match why.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::EINVAL) => format!("{tried}; {}", lacking(&release)),
        _ => tried,
    }
}

/// The kernel gives the same answer for a flag that it does not know and for a file system that
/// has none of it. A kernel of a distribution may have it in spite of its number.
fn lacking(release: &str) -> String {
    let (major, minor) = SINCE;
    match version(release) {
        Some(version) if version >= SINCE => {
            format!("Linux {release} has it on some file systems, and this is none of them")
        }
        Some(_) => format!("it came with Linux {major}.{minor}, and this is {release}"),
        None => format!("it came with Linux {major}.{minor}, on some file systems"),
    }
}

/// The first two numbers of a release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::pages;
    use super::*;
    use std::io::Write;

    #[test]
    fn who_lacks_it_is_told_by_the_number_of_the_kernel() {
        let older = "it came with Linux 6.14, and this is ";
        for release in ["6.1.0-25-amd64", "5.14.0-503.el9.x86_64", "6.13.12"] {
            assert_eq!(lacking(release), format!("{older}{release}"));
        }
        for release in ["6.14.0", "6.18.44-fc", "7.0-rc1"] {
            assert!(lacking(release).contains("and this is none of them"), "{release}");
        }
        for release in ["", "x", "6", "6.", ".14"] {
            assert!(lacking(release).ends_with("on some file systems"), "{release}");
        }
        assert_eq!(version("4294967296.1"), None);
    }

    #[test]
    fn a_failing_disk_is_no_refusal() {
        let is = |number| is_refusal(&io::Error::from_raw_os_error(number));
        assert!(is(libc::EOPNOTSUPP) && is(libc::ENOSYS) && is(libc::EPERM));
        assert!(!is(libc::EIO) && !is(libc::ESTALE));
        let told = explained(&io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        assert!(told.starts_with("preadv2 with RWF_DONTCACHE: Operation not supported"), "{told}");
    }

    /// On the real kernel: what the flag brings goes, what was there stays, and asking reads
    /// nothing.
    #[test]
    #[expect(clippy::print_stdout, reason = "says that it is skipped")]
    fn what_it_brings_goes_and_what_was_there_stays() {
        const BYTES: u64 = 1 << 20;
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        if let Err(why) = ask(&file) {
            assert!(is_refusal(&why), "{why}");
            println!("SKIP host::sys::dontcache: {}", explained(&why));
            return;
        }
        let resident = || pages::resident_bytes(&file).unwrap();
        // Whoever waits for the device is woken a moment before a page goes.
        let gone = || {
            let looks = (0..200).map(|_| {
                std::thread::sleep(std::time::Duration::from_millis(10));
                resident()
            });
            looks.into_iter().any(|bytes| bytes == 0)
        };
        let mut buffer = vec![7; BYTES as usize];
        assert_eq!(write_at(&file, &buffer, 0).unwrap() as u64, BYTES);
        file.sync_all().unwrap();
        assert!(gone(), "{} of what was written", resident());
        ask(&file).unwrap();
        assert_eq!(read_at(&file, &mut buffer, 0).unwrap() as u64, BYTES);
        assert!(gone() && buffer == vec![7; BYTES as usize], "{} of what was read", resident());
        (&file).write_all(&buffer).unwrap();
        file.sync_all().unwrap();
        assert_eq!(resident(), BYTES, "plain");
        read_at(&file, &mut buffer, 0).unwrap();
        assert_eq!(resident(), BYTES, "what was there stays");
    }

    #[test]
    fn a_file_system_in_memory_refuses_it_as_an_unknown_flag_is() {
        let Ok(file) = tempfile::tempfile_in("/dev/shm") else { return };
        let why = ask(&file).expect_err("tmpfs keeps its files in the page cache");
        assert!(is_refusal(&why), "{why}");
    }
}
