//! What direct I/O asks of offsets, lengths and buffers, as the file system itself says.
//!
//! `statx(2)` with STATX_DIOALIGN (Linux 6.1). Guessing 4096 refuses 512-byte blocks that work, and
//! accepts blocks that do not.

use std::fs::File;
use std::os::fd::AsFd;

use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, statx};
use rustix::io::Errno;

use super::workdir::file_name;
use super::{Error, Host, beneath, pages};

/// What a file asks of direct I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direct {
    /// Buffers at multiples of `memory` bytes, offsets and lengths at multiples of `offset`.
    Aligned {
        /// Of a buffer's address.
        memory: u32,
        /// Of offset and length.
        offset: u32,
    },
    /// The file system says that this file has no direct I/O.
    Never,
    /// The kernel or the file system does not say.
    Unknown,
}

/// Asks what `file` needs for direct I/O.
pub fn alignment(file: &File) -> Direct {
    let Ok(stat) = statx(file.as_fd(), c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) else {
        return Direct::Unknown;
    };
    if stat.stx_mask & StatxFlags::DIOALIGN.bits() == 0 {
        return Direct::Unknown;
    }
    match (stat.stx_dio_mem_align, stat.stx_dio_offset_align) {
        (0, _) | (_, 0) => Direct::Never,
        (memory, offset) => Direct::Aligned { memory, offset },
    }
}

/// Whether files in `directory` can be opened with O_DIRECT. Makes a file of the name that a work
/// directory's files have, and removes it.
///
/// # Errors
/// When no file can be made there at all.
pub fn accepted(directory: &Path) -> Result<bool, Error> {
    let path = directory.join(file_name(99_999));
    let flags = OFlags::CREATE | OFlags::RDWR;
    let failed = |why: Errno| {
        Error::new(format!("cannot make {}", path.display()), std::io::Error::from(why))
    };
    let opened = beneath::open(&path, flags | OFlags::DIRECT, Mode::RUSR | Mode::WUSR);
    let direct = match opened {
        Ok(file) => alignment(&File::from(file)) != Direct::Never,
        Err(Errno::INVAL | Errno::OPNOTSUPP) => false,
        Err(why) => return Err(failed(why)),
    };
    beneath::unlink(&path).map_err(failed)?;
    Ok(direct)
}

/// Whether the block device under `file` has queues that can be polled (`queue/io_poll`); `None`
/// when the file lies on no single block device that /sys knows.
///
/// IOPOLL on a device without them never completes.
pub fn has_poll_queues(host: &Host, file: &File) -> Option<bool> {
    let device = pages::device_under(file)?;
    let name = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let own = format!("/sys/dev/block/{name}/queue/io_poll");
    // A partition has no queue of its own: its disk, one directory up, has.
    let disk = host
        .resolve(format!("/sys/dev/block/{name}"))
        .and_then(|path| Some(path.parent()?.join("queue/io_poll")));
    let word = host.word(own).or_else(|| host.word(disk?))?;
    Some(word == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignments_are_powers_of_two_where_they_are_told() {
        let file = tempfile::tempfile_in("/var/tmp").unwrap();
        if let Direct::Aligned { memory, offset } = alignment(&file) {
            assert!(memory.is_power_of_two() && offset.is_power_of_two());
            assert!(offset <= 65536);
        }
    }

    #[test]
    fn a_pipe_has_no_direct_alignment() {
        let (read, _write) = rustix::pipe::pipe().unwrap();
        assert_ne!(alignment(&File::from(read)), Direct::Aligned { memory: 1, offset: 1 });
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes a fixture")]
    fn poll_queues_are_found_through_the_disk_of_a_partition() {
        use std::os::unix::fs::MetadataExt;
        let file = tempfile::tempfile().unwrap();
        let device = file.metadata().unwrap().dev();
        let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
        let root = tempfile::tempdir().unwrap();
        let host = Host::at(root.path());
        assert_eq!(has_poll_queues(&host, &file), None);
        let queue = root.path().join("sys/devices/disk/queue");
        std::fs::create_dir_all(&queue).unwrap();
        std::fs::create_dir_all(root.path().join("sys/devices/disk/part1")).unwrap();
        std::fs::create_dir_all(root.path().join("sys/dev/block")).unwrap();
        let link = root.path().join(format!("sys/dev/block/{major}:{minor}"));
        std::os::unix::fs::symlink("../../devices/disk/part1", link).unwrap();
        std::fs::write(queue.join("io_poll"), "1\n").unwrap();
        assert_eq!(has_poll_queues(&host, &file), Some(true));
        std::fs::write(queue.join("io_poll"), "0\n").unwrap();
        assert_eq!(has_poll_queues(&host, &file), Some(false));
    }
}
