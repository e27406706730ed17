//! (pure) How much room one client of a program takes on its file system at most.

use std::collections::BTreeMap;
use std::ops::Bound::{Included, Unbounded};

use super::Step;
use crate::engine::load::room::Room;
use crate::engine::replay::loadfile::{Disposition, Status, Verb};

/// File systems give files room in pieces of this size, bytes.
const BLOCK: u64 = 4096;

/// How long a file is, and how much of it was written.
#[derive(Clone, Copy, Debug, Default)]
struct FileExtent {
    /// Where its last byte lies.
    end: u64,
    /// Written in all; what was never written takes no room.
    written: u64,
}

impl FileExtent {
    fn bytes(self) -> u64 {
        self.end.min(self.written).checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX)
    }
}

/// The files that are there at some step of the program, and the most room that they took.
#[derive(Default)]
struct FilesSoFar<'a> {
    /// Directories too, as files of one block.
    files: BTreeMap<&'a str, FileExtent>,
    bytes: u64,
    most: Room,
}

impl<'a> FilesSoFar<'a> {
    fn put(&mut self, path: &'a str, file: FileExtent) {
        let before = self.files.insert(path, file).map_or(0, FileExtent::bytes);
        self.bytes = (self.bytes - before).saturating_add(file.bytes());
        self.most.bytes = self.most.bytes.max(self.bytes);
        self.most.largest_bytes = self.most.largest_bytes.max(file.end);
        self.most.names = self.most.names.max(self.files.len() as u64);
    }

    fn remove(&mut self, path: &str) -> Option<FileExtent> {
        let file = self.files.remove(path)?;
        self.bytes = self.bytes.saturating_sub(file.bytes());
        Some(file)
    }

    fn remove_below(&mut self, path: &str) {
        let top = format!("{path}/");
        let below = self.files.range::<str, _>((Included(top.as_str()), Unbounded));
        let below: Vec<&str> =
            below.map(|(name, _)| *name).take_while(|name| name.starts_with(&top)).collect();
        for name in below {
            self.remove(name);
        }
        self.remove(path);
    }
}

/// The most that is there at once, as the loadfile goes. What is in a directory that is renamed is
/// counted under its old name.
pub fn most(steps: &[Step], paths: &[String]) -> Room {
    let mut there = FilesSoFar::default();
    let directory = FileExtent { end: BLOCK, written: BLOCK };
    for step in steps.iter().filter(|step| is_done(step)) {
        let name = |path: u32| paths.get(path as usize).map_or("", String::as_str);
        match step.line.verb {
            Verb::Create { path, directory: made, disposition, .. } => {
                let path = name(path);
                match (disposition, there.files.contains_key(path)) {
                    (Disposition::Open, _) | (Disposition::Make, true) => {}
                    _ if made => there.put(path, directory),
                    _ => there.put(path, FileExtent::default()),
                }
            }
            Verb::Mkdir(path) => there.put(name(path), directory),
            Verb::Write { offset, size, .. } => {
                let path = name(step.path);
                let mut file = there.files.get(path).copied().unwrap_or_default();
                file.end = file.end.max(offset.saturating_add(u64::from(size)));
                file.written = file.written.saturating_add(u64::from(size));
                there.put(path, file);
            }
            Verb::Rename(from, to) => {
                if let Some(file) = there.remove(name(from)) {
                    there.put(name(to), file);
                }
            }
            Verb::Unlink(path) | Verb::Rmdir(path) => drop(there.remove(name(path))),
            Verb::Deltree(path) => there.remove_below(name(path)),
            _ => {}
        }
    }
    there.most
}

fn is_done(step: &Step) -> bool {
    matches!(step.line.status, Status::Done | Status::Any)
}

#[cfg(test)]
mod tests {
    use crate::engine::load::room::Room;
    use crate::engine::replay::loadfile::parse;
    use crate::engine::replay::program::Program;

    fn most(lines: &[&str]) -> Room {
        let text: String = lines.iter().map(|line| format!("{line} NT_STATUS_OK\n")).collect();
        Program::new(parse(&text).unwrap()).unwrap().room
    }

    #[test]
    fn what_is_removed_makes_room_and_the_most_at_once_is_what_counts() {
        let room = most(&[
            r#"Mkdir "\d""#,
            r#"NTCreateX "\d\a" 0x40 0x2 1"#,
            "WriteX 1 0 65536 65536",
            "WriteX 1 0 65536 65536",
            "Close 1",
            r#"Rename "\d\a" "\d\b""#,
            r#"Deltree "\d""#,
            r#"NTCreateX "\c" 0x40 0x5 1"#,
            "WriteX 1 0 100 100",
        ]);
        let (bytes, largest_bytes) = (4096 + 65536, 65536);
        assert_eq!(room, Room { bytes, largest_bytes, names: 2, shared_names: 0 });
    }

    #[test]
    fn a_hole_takes_no_room_and_a_file_that_is_emptied_begins_again() {
        let open = r#"NTCreateX "\a" 0x40 0x5 1"#;
        let room = most(&[open, "WriteX 1 9000000000000000000 1 1", "Close 1"]);
        assert_eq!((room.bytes, room.names), (4096, 1));
        let again = most(&[open, "WriteX 1 0 8192 8192", "Close 1", open, "WriteX 1 0 1 1"]);
        assert_eq!(again.bytes, 8192);
        assert_eq!(most(&[r#"Unlink "\x""#, r#"Deltree "\y""#]), Room::default());
    }

    #[test]
    fn the_loadfile_that_ships_needs_what_its_documents_and_its_table_need() {
        let text = crate::engine::replay::own::text();
        let room = Program::new(parse(&text).unwrap()).unwrap().room;
        // 96 documents, 8 folders, the table, a temporary file, and two directories above.
        assert!((107..=110).contains(&room.names), "{room:?}");
        assert!((10 << 20..40 << 20).contains(&room.bytes), "{room:?}");
    }
}
