//! Whether so many streams fit: threads, memory, descriptors, and the room on file systems that
//! they may take. Asked before anything is made.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::cpus::descriptors;
use crate::engine::Error;
use base::value;
use host::sys::Host;
use host::sys::filesystem::{inodes, mount_identity, space};
use host::sys::limits::{ADDRESSES, DATA, DESCRIPTORS, FILE_SIZE, PROCESSES, threads_of_user};

/// Stack, kernel stack and bookkeeping of one stream's thread, bytes.
pub const THREAD_BYTES: u64 = 256 << 10;
/// Touched part of one latency histogram, bytes.
pub const HISTOGRAM_BYTES: u64 = 272 << 10;
/// Descriptors that the worker needs besides those of its streams.
const SPARE_DESCRIPTORS: u64 = 32;
/// Threads that a run needs besides those of its streams.
const SPARE_THREADS: u64 = 8;
/// Memory that a worker needs besides that of its streams, bytes.
const SPARE_BYTES: u64 = 32 << 20;

/// What streams may take on their file systems, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Bytes of the files of one stream.
    pub bytes: u64,
    /// Bytes of the largest of them.
    pub largest_bytes: u64,
    /// Files and directories of one stream.
    pub names: u64,
    /// Files and directories that all streams of one folder have in common.
    pub shared_names: u64,
}

/// Refuses more streams than `fit`, with the number that would.
///
/// # Errors
/// `Unsupported`, with `what` is wanting and that number.
pub fn refuse(streams: usize, fit: u64, what: impl Fn() -> String) -> Result<(), Error> {
    if streams as u64 <= fit {
        return Ok(());
    }
    Err(Error::Unsupported(match fit {
        0 => format!("{}; not even streams=1 would work", what()),
        _ => format!("{}; streams={fit} would work", what()),
    }))
}

/// Refuses more streams than there may be threads.
///
/// # Errors
/// As [`refuse`].
pub fn check_threads(host: &Host, streams: usize) -> Result<(), Error> {
    let Some((threads, by)) = thread_limit(host) else { return Ok(()) };
    refuse(streams, threads.saturating_sub(SPARE_THREADS), || {
        format!("{} as many threads; {by}", need(streams as u64))
    })
}

/// Refuses streams of `each` bytes that would leave less than a fifth of the memory that is
/// available, which is for the page cache and for everybody else; and those that are more than a
/// process may have.
///
/// # Errors
/// As [`refuse`].
pub fn check_memory(host: &Host, streams: usize, each: u64) -> Result<(), Error> {
    let wanted = || {
        let bytes = value::bytes(each.saturating_mul(streams as u64) as f64);
        format!("{} {bytes} of memory for buffers and histograms", need(streams as u64))
    };
    if let Some(available) = available_memory(host) {
        refuse(streams, available / 10 * 8 / each.max(1), || {
            format!("{}; {} are available", wanted(), value::bytes(available as f64))
        })?;
    }
    let (mapped, own) = taken(host);
    for (limit, taken) in [(ADDRESSES, mapped), (DATA, own)] {
        let Some(allowed) = limit.allows() else { continue };
        let own = taken.saturating_add(SPARE_BYTES);
        let left = allowed.saturating_sub(own);
        let process = || value::bytes(own as f64);
        let why = || {
            format!(
                "{}, and the process itself {}; {}",
                wanted(),
                process(),
                limit.told(allowed, "")
            )
        };
        refuse(streams, left / each.max(1), why)?;
    }
    Ok(())
}

/// What this process has mapped, and what of it is memory of its own, bytes (proc_pid_statm(5)); a
/// worker, which is the same program, has about as much before its load.
fn taken(host: &Host) -> (u64, u64) {
    let statm = host.read("/proc/self/statm").unwrap_or_default();
    let pages = |at: usize| statm.split(' ').nth(at).and_then(|word| word.parse::<u64>().ok());
    let bytes = |at| pages(at).unwrap_or(0).saturating_mul(rustix::param::page_size() as u64);
    (bytes(0), bytes(5))
}

/// Raises the soft limit of descriptors to the hard one, and refuses a stream that needs more of
/// them than its thread, with a table of its own, may have; `why` it needs them, and what to do.
///
/// # Errors
/// `Unsupported`, with both numbers.
pub fn check_descriptors(each: u64, why: &str, hint: &str) -> Result<(), Error> {
    let (needed, allowed) = (each.saturating_add(SPARE_DESCRIPTORS), descriptors());
    if needed <= allowed {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "{why} needs {needed} file descriptors; {}",
        DESCRIPTORS.told(allowed, &format!(", or {hint}"))
    )))
}

/// Refuses what would not leave 5 % of the bytes and of the inodes of a file system free, and files
/// that are larger than may be written. Folders, one a stream, are judged together where they lie
/// on one file system; `hint` says what to do.
///
/// # Errors
/// `Unsupported` when it does not fit; `Failed` when the kernel cannot say.
pub fn check_space(room: Room, folders: &[PathBuf], hint: &str) -> Result<(), Error> {
    if let Some(allowed) = FILE_SIZE.allows().filter(|allowed| room.largest_bytes > *allowed) {
        return Err(Error::Unsupported(format!(
            "a file grows to {}: {}",
            value::bytes(room.largest_bytes as f64),
            FILE_SIZE.told(allowed, &format!(", or {hint}"))
        )));
    }
    let failed = |error: host::sys::Error| Error::Failed(error.to_string());
    // Of each file system a folder, how many streams work there, and in how many folders.
    let mut systems: BTreeMap<_, (&PathBuf, u64, Vec<&PathBuf>)> = BTreeMap::new();
    for folder in folders {
        let device = mount_identity(folder).map_err(failed)?.device;
        let system = systems.entry(device).or_insert((folder, 0, Vec::new()));
        system.1 += 1;
        if !system.2.contains(&folder) {
            system.2.push(folder);
        }
    }
    for (folder, streams, distinct) in systems.into_values() {
        let at = folder.display();
        let needed = room.bytes.saturating_mul(streams);
        let usable = space(folder).map_err(failed)?.usable_bytes();
        if needed > usable {
            return Err(Error::Unsupported(format!(
                "{} up to {} in {at}: only {} may be used there (5 % of the file system stay \
                 free); {hint}",
                need(streams),
                value::bytes(needed as f64),
                value::bytes(usable as f64)
            )));
        }
        let once = room.shared_names.saturating_mul(distinct.len() as u64);
        let names = room.names.saturating_mul(streams).saturating_add(once);
        if let Some(left) = inodes(folder).map_err(failed)?
            && names > left.usable()
        {
            return Err(Error::Unsupported(format!(
                "up to {names} files and directories do not fit in {at}: only {} more may be made \
                 there (5 % of the file system's inodes stay free); {hint}",
                left.usable()
            )));
        }
    }
    Ok(())
}

/// `1 stream needs`, `8 streams need`.
pub fn need(streams: u64) -> String {
    if streams == 1 { "1 stream needs".to_owned() } else { format!("{streams} streams need") }
}

/// The tightest of the machine's, the user's and the control group's limits on threads, and whose
/// it is.
fn thread_limit(host: &Host) -> Option<(u64, String)> {
    let number = |path: &str| host.word(path)?.parse::<u64>().ok();
    let group = host.word("/proc/self/cgroup").and_then(|text| {
        let path = text.lines().find_map(|line| line.strip_prefix("0::").map(str::to_owned))?;
        let most = number(&format!("/sys/fs/cgroup{path}/pids.max"))?;
        Some((most, format!("{most} are allowed in the control group {path} (pids.max)")))
    });
    let user = threads_of_user(host).map(|(free, allowed)| {
        let told = PROCESSES.told(allowed, "");
        let used = allowed.saturating_sub(free);
        (free, if used > 0 { format!("{told}, and {used} are there") } else { told })
    });
    let machine = ["threads-max", "pid_max"].map(|name| {
        let most = number(&format!("/proc/sys/kernel/{name}"))?;
        Some((most, format!("{most} are allowed here (kernel.{name})")))
    });
    machine.into_iter().chain([group, user]).flatten().min_by_key(|(most, _)| *most)
}

fn available_memory(host: &Host) -> Option<u64> {
    let meminfo = host.read("/proc/meminfo").ok()?;
    mem_available(&meminfo)
}

fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(result: Result<(), Error>) -> String {
        match result {
            Err(Error::Unsupported(what)) => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn files_and_names_that_would_fill_a_file_system_are_refused_with_what_to_lower() {
        let folder = tempfile::tempdir().unwrap();
        let two = [folder.path().to_owned(), folder.path().to_owned()];
        let check = |room| check_space(room, &two, "lower pool-files");
        let some = Room { bytes: 4096, names: 2, shared_names: 1, ..Room::default() };
        assert_eq!(check(some), Ok(()));
        let what = refused(check(Room { bytes: 1 << 60, ..some }));
        assert!(what.contains("2 streams need up to") && what.contains("5 % of the"), "{what}");
        assert!(what.ends_with("; lower pool-files"), "{what}");
        let one = check_space(Room { bytes: 1 << 60, ..some }, &two[..1], "lower it");
        assert!(refused(one).starts_with("1 stream needs up to"));
        // A file system that makes inodes as they are needed tells no number.
        if inodes(folder.path()).unwrap().is_some() {
            let what = refused(check(Room { names: 1 << 60, ..some }));
            assert!(what.contains("inodes stay free"), "{what}");
            let what = refused(check(Room { shared_names: 1 << 60, ..some }));
            assert!(what.starts_with(&format!("up to {} files", (1_u64 << 60) + 4)), "{what}");
        }
    }

    #[test]
    fn descriptors_are_of_each_thread_and_the_limit_is_named() {
        assert_eq!(check_descriptors(3, "a tree", "lower it"), Ok(()));
        if descriptors() < u64::MAX / 2 {
            let what = refused(check_descriptors(u64::MAX / 2, "a tree", "lower it"));
            assert!(what.starts_with("a tree needs") && what.contains("ulimit -n"), "{what}");
        }
    }

    #[test]
    fn a_cut_meminfo_never_panics() {
        let text = "MemFree: 2 kB\nMemAvailable: 12 kB\n";
        assert_eq!(mem_available(text), Some(12288));
        for end in 0..text.len() {
            mem_available(&text[..end]);
        }
    }
}
