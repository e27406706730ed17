//! A file of /proc or /sys that is read again and again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::input::KERNEL;
use super::{Error, Host};

/// An open file and the buffer that its text is read into, over and over: no allocation once the
/// buffer has grown to the file's size.
#[derive(Debug)]
pub struct Reread {
    file: File,
    buffer: Vec<u8>,
}

impl Reread {
    /// Opens `path`.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(host: &Host, path: impl AsRef<Path>) -> Result<Reread, Error> {
        Ok(Reread { file: host.open(path)?, buffer: vec![0; 4096] })
    }

    /// The whole file as it is now; `None` when it cannot be read (its process or device is gone,
    /// reading is not allowed, or it is larger than any such file).
    pub fn read(&mut self) -> Option<&[u8]> {
        let mut filled = 0;
        loop {
            if filled as u64 > KERNEL.bytes_max {
                return None;
            }
            if filled == self.buffer.len() {
                self.buffer.resize(2 * filled, 0);
            }
            // A seq_file hands out at most its own buffer (a page at first) however much is asked
            // for, so only an empty read says that the end is reached.
            match self.file.read_at(&mut self.buffer[filled..], filled as u64) {
                Ok(0) => return Some(&self.buffer[..filled]),
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    #[test]
    fn a_file_longer_than_the_buffer_is_read_whole_and_anew_each_time() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let long = vec![b'x'; 10_000];
        file.write_all(&long).unwrap();
        let mut reread = Reread::open(&Host::live(), file.path()).unwrap();
        assert_eq!(reread.read(), Some(&long[..]));
        file.as_file().set_len(0).unwrap();
        file.rewind().unwrap();
        file.write_all(b"short").unwrap();
        assert_eq!(reread.read(), Some(&b"short"[..]));
    }

    #[test]
    fn a_file_of_the_kernel_is_read_again_and_again() {
        let mut stat = Reread::open(&Host::live(), "/proc/self/stat").unwrap();
        let first = stat.read().unwrap().to_vec();
        assert!(first.ends_with(b"\n"));
        assert_eq!(stat.read().unwrap()[..4], first[..4]);
    }

    #[test]
    fn a_missing_file_says_which() {
        let error = Reread::open(&Host::live(), "/proc/none").unwrap_err();
        assert_eq!(error.what, "cannot read /proc/none");
    }
}
