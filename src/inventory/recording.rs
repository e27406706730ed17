//! Recorded trees for tests: one text file each under `tests/fixtures/sys`, unpacked into a
//! directory that a [`Host`] can be rooted at.
//!
//! A line is `path = text`, `path = hex 00b1`, `path -> path` (a link), `path/` (a directory) or
//! `path:` followed by indented lines. A `#` begins a comment.

#![expect(clippy::disallowed_methods, reason = "makes fixtures")]

use std::path::Path;

use crate::sys::Host;

/// An unpacked recording; gone when dropped.
pub struct Recording {
    directory: tempfile::TempDir,
}

impl Recording {
    /// Unpacks `tests/fixtures/sys/<name>.txt`.
    pub fn open(name: &str) -> Recording {
        let file = format!("{}/tests/fixtures/sys/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        Recording::unpack(&std::fs::read_to_string(&file).unwrap())
    }

    /// Unpacks the text of a recording.
    pub fn unpack(text: &str) -> Recording {
        let directory = tempfile::tempdir().unwrap();
        let at = |path: &str| directory.path().join(path.trim_matches('/'));
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some((path, target)) = line.split_once(" -> ") {
                make_parent(&at(path));
                std::os::unix::fs::symlink(at(target), at(path)).unwrap();
            } else if let Some((path, value)) = line.split_once(" = ") {
                make_parent(&at(path));
                let bytes = match value.strip_prefix("hex ") {
                    Some(hex) => unhex(hex),
                    None => format!("{value}\n").into_bytes(),
                };
                std::fs::write(at(path), bytes).unwrap();
            } else if let Some(path) = line.strip_suffix('/') {
                std::fs::create_dir_all(at(path)).unwrap();
            } else {
                let path = line.strip_suffix(':').unwrap_or_else(|| panic!("what is {line:?}?"));
                let mut content = String::new();
                while let Some(inner) = lines.next_if(|line| line.starts_with("    ")) {
                    content.push_str(&inner[4..]);
                    content.push('\n');
                }
                make_parent(&at(path));
                std::fs::write(at(path), content).unwrap();
            }
        }
        Recording { directory }
    }

    /// The machine that was recorded.
    pub fn host(&self) -> Host {
        Host::at(self.directory.path())
    }
}

fn make_parent(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}
