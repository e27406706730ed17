//! One file or device, opened for reading alone, around the page cache where that is possible.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use host::sys::direct::{Direct, alignment};
use host::sys::{Host, block, pages};

/// What addresses of buffers are a multiple of: no file system asks for more.
const MEMORY_ALIGN: usize = 4096;
/// What direct reads are cut by where nothing tells.
const ALIGN: u64 = 4096;

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// By O_DIRECT; where the file system has none, its pages are dropped before each reading.
    Around,
    /// Through the page cache, with what lies there.
    Through,
}

/// What tells one state of a file from the next. A file whose stamp is another has been written to,
/// replaced or given other rights; its bytes need not be what they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    /// Bytes.
    pub size: u64,
    modified_ns: i128,
    changed_ns: i128,
    /// Of a block device: sectors that were written since the machine was started.
    written_sectors: u64,
}

impl Stamp {
    /// What differs in `now`, as a clause.
    pub fn difference(&self, now: &Stamp) -> String {
        if (self.device, self.inode) != (now.device, now.inode) {
            return "another file has its name now".to_owned();
        }
        match now.size.cmp(&self.size) {
            std::cmp::Ordering::Less => format!("it shrank from {} to {}", self.size, now.size),
            std::cmp::Ordering::Greater => format!("it grew from {} to {}", self.size, now.size),
            _ if self.written_sectors != now.written_sectors => "it was written to".to_owned(),
            _ if self.modified_ns != now.modified_ns => "it was modified".to_owned(),
            _ => "its owner, rights or times were changed".to_owned(),
        }
    }

    /// Whether it is a block device.
    pub fn is_device(&self) -> bool {
        self.inode == 0
    }

    /// Number of the file system that it lies on, or of the block device that it is.
    pub fn device(&self) -> u64 {
        self.device
    }

    /// When it was modified last, Unix time in ns.
    pub fn modified_ns(&self) -> i128 {
        self.modified_ns
    }
}

/// Reads a file or a device that it has opened.
#[derive(Debug)]
pub struct TargetReader {
    file: File,
    direct: bool,
    align: u64,
    way: ReadMode,
    /// Its state when it was opened.
    pub stamp: Stamp,
    /// Bytes that it delivered.
    pub read_bytes: u64,
}

impl TargetReader {
    /// Opens it. Nothing is made, waited for or written, access times included where the file is
    /// our own; a link at the end of the path is not followed.
    ///
    /// # Errors
    /// The kernel's; `InvalidInput` for what is neither a file nor a block device.
    pub fn open(path: &Path, way: ReadMode) -> std::io::Result<TargetReader> {
        let direct = way == ReadMode::Around;
        let (file, direct) = match open(path, direct) {
            Err(why) if direct && why.raw_os_error() == Some(libc::EINVAL) => {
                (open(path, false)?, false)
            }
            opened => (opened?, direct),
        };
        let stamp = stamp(&file)?;
        let (direct, align) = match alignment(&file) {
            _ if !direct => (false, 1),
            Direct::Never => {
                let flags = rustix::fs::fcntl_getfl(&file)?;
                rustix::fs::fcntl_setfl(&file, flags - OFlags::DIRECT)?;
                (false, 1)
            }
            Direct::Aligned { memory, offset } if memory as usize <= MEMORY_ALIGN => {
                (true, u64::from(offset))
            }
            _ => (true, ALIGN),
        };
        let source = TargetReader { file, direct, align, way, stamp, read_bytes: 0 };
        source.forget();
        Ok(source)
    }

    /// Whether reads go around the page cache.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// What pieces of a read are a multiple of, bytes.
    pub fn piece_bytes(&self) -> u64 {
        self.align.max(ALIGN)
    }

    /// Bytes of a part of it that are in memory now; 0 of what is read around it.
    pub fn resident_bytes(&self, offset: u64, bytes: u64) -> u64 {
        if self.direct {
            return 0;
        }
        pages::resident_range(&self.file, offset, bytes).unwrap_or(0).min(bytes)
    }

    fn forget(&self) {
        if !self.direct && self.way == ReadMode::Around {
            // Pages that cannot be written stay, and are counted as what was in memory.
            let _ = pages::drop_cached(&self.file);
        }
    }

    /// Fills `buffer` up to `length` bytes from `offset` on and gives how many there were: fewer
    /// where the file ends. The buffer is one of [`AlignedMemory`] or begins at a multiple of 1 MiB
    /// in one; it has room for `length` rounded up to 4 KiB. `offset` is a multiple of that.
    ///
    /// # Errors
    /// The kernel's.
    pub fn read(
        &mut self,
        buffer: &mut [u8],
        offset: u64,
        length: usize,
    ) -> std::io::Result<usize> {
        let mut got = 0;
        while got < length {
            let end = match self.direct {
                true => length.next_multiple_of(self.align as usize).min(buffer.len()),
                false => length,
            };
            match self.file.read_at(&mut buffer[got..end], offset + got as u64) {
                Ok(0) => break,
                Ok(read) => {
                    got += read;
                    self.read_bytes += read as u64;
                    // Short of a whole piece: the end of the file.
                    if self.direct && !(got as u64).is_multiple_of(self.align) {
                        break;
                    }
                }
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                // Taken at open and refused here, as by some file systems for some files.
                Err(why) if self.direct && why.raw_os_error() == Some(libc::EINVAL) => {
                    let flags = rustix::fs::fcntl_getfl(&self.file)?;
                    rustix::fs::fcntl_setfl(&self.file, flags - OFlags::DIRECT)?;
                    (self.direct, self.align) = (false, 1);
                    self.forget();
                }
                Err(why) => return Err(why),
            }
        }
        Ok(got.min(length))
    }

    /// Its state now, under this descriptor.
    ///
    /// # Errors
    /// The kernel's.
    pub fn stamp_now(&self) -> std::io::Result<Stamp> {
        stamp(&self.file)
    }
}

/// The state of the file of that name now.
///
/// # Errors
/// The kernel's, as of [`TargetReader::open`].
pub fn stamp_of(path: &Path) -> std::io::Result<Stamp> {
    stamp(&open(path, false)?)
}

fn open(path: &Path, direct: bool) -> std::io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    let flags = if direct { flags | libc::O_DIRECT } else { flags };
    let mut options = OpenOptions::new();
    // Only a file's owner may leave its access time alone (open(2), EPERM).
    match options.read(true).custom_flags(flags | libc::O_NOATIME).open(path) {
        Err(why) if why.raw_os_error() == Some(libc::EPERM) => {
            options.custom_flags(flags).open(path)
        }
        opened => opened,
    }
}

fn stamp(file: &File) -> std::io::Result<Stamp> {
    let there = file.metadata()?;
    let kind = there.file_type();
    if kind.is_block_device() {
        return Ok(Stamp {
            device: there.rdev(),
            size: block::size_bytes(file)?,
            written_sectors: block::number(file).map_or(0, |number| written_sectors(&number)),
            ..Stamp::default()
        });
    }
    if !kind.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is neither a file nor a block device"));
    }
    let ns = |seconds: i64, ns: i64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
    Ok(Stamp {
        device: there.dev(),
        inode: there.ino(),
        size: there.len(),
        modified_ns: ns(there.mtime(), there.mtime_nsec()),
        changed_ns: ns(there.ctime(), there.ctime_nsec()),
        written_sectors: 0,
    })
}

/// Field 7 of /sys/dev/block/NUMBER/stat (Documentation/block/stat.rst).
fn written_sectors(number: &str) -> u64 {
    let text = Host::live().word(format!("/sys/dev/block/{number}/stat"));
    let field = text.as_deref().and_then(|text| text.split_ascii_whitespace().nth(6)?.parse().ok());
    field.unwrap_or(0)
}

/// Memory that direct I/O accepts.
#[derive(Debug)]
pub struct AlignedMemory {
    memory: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl AlignedMemory {
    /// So many bytes, zeroed.
    pub fn new(bytes: usize) -> AlignedMemory {
        let memory = vec![0_u8; bytes + MEMORY_ALIGN];
        let start = memory.as_ptr().align_offset(MEMORY_ALIGN).min(MEMORY_ALIGN);
        AlignedMemory { memory, start, bytes }
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.bytes]
    }

    /// All of it, to be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.bytes]
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_to_its_last_byte_in_both_ways_and_not_beyond() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..300_001_u32).map(|at| ((at * 7) >> 3) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        for way in [ReadMode::Around, ReadMode::Through] {
            let mut source = TargetReader::open(&path, way).unwrap();
            let mut buffer = AlignedMemory::new(1 << 20);
            assert_eq!(source.read(buffer.bytes_mut(), 0, 1 << 20).unwrap(), bytes.len());
            assert_eq!(&buffer.bytes()[..bytes.len()], bytes);
            assert_eq!(source.read(buffer.bytes_mut(), 4096, 4096).unwrap(), 4096);
            assert_eq!(&buffer.bytes()[..4096], &bytes[4096..8192]);
            assert_eq!(source.read(buffer.bytes_mut(), 299_008, 993).unwrap(), 993);
            assert_eq!(source.read(buffer.bytes_mut(), 1 << 20, 4096).unwrap(), 0);
            assert_eq!(source.stamp_now().unwrap(), source.stamp);
        }
    }

    #[test]
    fn stamps_tell_what_became_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "abc").unwrap();
        let first = stamp_of(&path).unwrap();
        assert_eq!(stamp_of(&path).unwrap(), first);
        std::fs::write(&path, "ab").unwrap();
        assert_eq!(first.difference(&stamp_of(&path).unwrap()), "it shrank from 3 to 2");
        std::fs::write(folder.path().join("other"), "abc").unwrap();
        std::fs::rename(folder.path().join("other"), &path).unwrap();
        assert!(first.difference(&stamp_of(&path).unwrap()).starts_with("another file"));
    }

    #[test]
    fn pipes_folders_and_links_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(
            TargetReader::open(&pipe, ReadMode::Around).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
        assert!(TargetReader::open(folder.path(), ReadMode::Around).is_err());
        std::os::unix::fs::symlink("pipe", folder.path().join("link")).unwrap();
        let why = TargetReader::open(&folder.path().join("link"), ReadMode::Around).unwrap_err();
        assert_eq!(why.raw_os_error(), Some(libc::ELOOP));
    }
}
