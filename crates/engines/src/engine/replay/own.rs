//! (pure) The loadfile that ships: a day in an office, made by a rule.
//!
//! It has the operations of dbench's `client.txt`, which was recorded from NetBench in the
//! nineties, and none of its lines. One client works in [`FOLDERS`] folders of [`DOCUMENTS`]
//! documents each, for [`TASKS`] tasks a round. Sizes are drawn log-uniformly from 1 KiB to 1 MiB
//! by SplitMix64 with a fixed seed, so that the file is the same for everybody. Of each ten
//! tasks:
//!
//! - *read* (4): ask about a document, open it, ask again by its handle, read it from one end
//!   to the other in pieces of 64 KiB, close it.
//! - *save* (2): look whether the temporary name is free, make it, write it in pieces of
//!   64 KiB, flush every second time, set its times, close it; remove the old document and give the
//!   new one its name.
//! - *look around* (2): read a folder, ask how full the file system is, ask about each of its
//!   documents, try to open a `desktop.ini` that is not there.
//! - *database* (1): open a file of 1 MiB, and eight times: lock a page of 4 KiB, read it,
//!   write it, unlock it; close.
//! - *tidy up* (1): make a folder, a file of 1 byte at 4095 in it, remove both.
//!
//! Before that the folders and all documents are made; after it everything is removed.

use std::fmt::Write as _;

/// Folders of a client.
const FOLDERS: u64 = 8;
/// Documents in each.
const DOCUMENTS: u64 = 12;
/// Tasks of a round.
const TASKS: u64 = 1200;
/// The most that is read or written at once, bytes.
const PIECE_BYTES: u64 = 64 << 10;
const PAGE_BYTES: u64 = 4096;
const TABLE_BYTES: u64 = 1 << 20;
const ROOT: &str = r"\clients\client1";

/// What the loadfile is called in messages.
pub const NAME: &str = "built-in";

/// The loadfile, as dbench reads it too.
pub fn text() -> String {
    let mut day = Day {
        text: String::new(),
        random: 0x6272_6963_6B79_6172,
        handle: 1000,
        sizes: [0; (FOLDERS * DOCUMENTS) as usize],
        saves: 0,
    };
    day.begin();
    for task in 0..TASKS {
        match task % 10 {
            0 | 2 | 5 | 7 => day.read(),
            1 | 6 => day.save(),
            3 | 8 => day.look_around(),
            4 => day.database(),
            _ => day.tidy_up(),
        }
    }
    day.line(&format!("Deltree \"{ROOT}\""));
    day.text
}

struct Day {
    text: String,
    random: u64,
    handle: u64,
    /// Of each document, bytes.
    sizes: [u64; (FOLDERS * DOCUMENTS) as usize],
    saves: u64,
}

impl Day {
    fn line(&mut self, line: &str) {
        self.expect(line, "NT_STATUS_OK");
    }

    fn expect(&mut self, line: &str, status: &str) {
        // Writing to a String does not fail.
        let _ = writeln!(self.text, "{line} {status}");
    }

    /// SplitMix64 (Steele, Lea and Flood 2014).
    fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// One of ten doublings of 1 KiB, and a place between it and the next.
    fn size(&mut self) -> u64 {
        let octave = 1024 << self.below(10);
        octave + self.below(octave)
    }

    fn document(number: u64) -> String {
        format!(r"{ROOT}\folder{}\document{:02}.doc", number / DOCUMENTS, number % DOCUMENTS)
    }

    fn open(&mut self, path: &str, options: &str, disposition: u32) -> u64 {
        self.handle += 1;
        let handle = self.handle;
        self.line(&format!("NTCreateX \"{path}\" {options} {disposition:#x} {handle}"));
        handle
    }

    fn close(&mut self, handle: u64) {
        self.line(&format!("Close {handle}"));
    }

    fn write_all(&mut self, handle: u64, size: u64) {
        for offset in (0..size).step_by(PIECE_BYTES as usize) {
            let bytes = PIECE_BYTES.min(size - offset);
            self.line(&format!("WriteX {handle} {offset} {bytes} {bytes}"));
        }
    }

    fn folder(&mut self, path: &str) {
        let handle = self.open(path, "0x1", 2);
        self.close(handle);
    }

    fn begin(&mut self) {
        self.line(&format!("Deltree \"{ROOT}\""));
        self.line("Mkdir \"\\clients\"");
        self.folder(ROOT);
        for folder in 0..FOLDERS {
            self.folder(&format!(r"{ROOT}\folder{folder}"));
        }
        for number in 0..FOLDERS * DOCUMENTS {
            let size = self.size();
            self.sizes[number as usize] = size;
            let handle = self.open(&Day::document(number), "0x40", 2);
            self.write_all(handle, size);
            self.close(handle);
        }
        let table = self.open(&format!(r"{ROOT}\table.mdb"), "0x40", 2);
        self.write_all(table, TABLE_BYTES);
        self.close(table);
    }

    fn read(&mut self) {
        let number = self.below(FOLDERS * DOCUMENTS);
        let (path, size) = (Day::document(number), self.sizes[number as usize]);
        self.line(&format!("Qpathinfo \"{path}\" 1004"));
        let handle = self.open(&path, "0x40", 1);
        self.line(&format!("Qfileinfo {handle} 258"));
        for offset in (0..size).step_by(PIECE_BYTES as usize) {
            let comes = PIECE_BYTES.min(size - offset);
            self.line(&format!("ReadX {handle} {offset} {PIECE_BYTES} {comes}"));
        }
        self.close(handle);
    }

    fn save(&mut self) {
        let number = self.below(FOLDERS * DOCUMENTS);
        let (path, size) = (Day::document(number), self.size());
        let draft = format!(r"{ROOT}\folder{}\~draft.tmp", number / DOCUMENTS);
        self.sizes[number as usize] = size;
        self.saves += 1;
        self.expect(&format!("Qpathinfo \"{draft}\" 1004"), "NT_STATUS_OBJECT_NAME_NOT_FOUND");
        let handle = self.open(&draft, "0x40", 5);
        self.write_all(handle, size);
        if self.saves.is_multiple_of(2) {
            self.line(&format!("Flush {handle}"));
        }
        self.line(&format!("Sfileinfo {handle} 1004"));
        self.close(handle);
        self.line(&format!("Unlink \"{path}\" 0x6"));
        self.line(&format!("Rename \"{draft}\" \"{path}\""));
    }

    fn look_around(&mut self) {
        let folder = self.below(FOLDERS);
        let path = format!(r"{ROOT}\folder{folder}");
        self.line(&format!("Find \"{path}\\*\" 260 1366 {}", DOCUMENTS + 2));
        self.line("Qfsinfo 259");
        for number in folder * DOCUMENTS..(folder + 1) * DOCUMENTS {
            self.line(&format!("Qpathinfo \"{}\" 1004", Day::document(number)));
        }
        self.expect(&format!("Find \"{path}\\<.tmp\" 260 1366 0"), "NT_STATUS_NO_SUCH_FILE");
        self.handle += 1;
        let none = format!("NTCreateX \"{path}\\desktop.ini\" 0x40 0x1 {}", self.handle);
        self.expect(&none, "NT_STATUS_OBJECT_NAME_NOT_FOUND");
    }

    fn database(&mut self) {
        let handle = self.open(&format!(r"{ROOT}\table.mdb"), "0x40", 1);
        for _ in 0..8 {
            let offset = self.below(TABLE_BYTES / PAGE_BYTES) * PAGE_BYTES;
            self.line(&format!("LockX {handle} {offset} {PAGE_BYTES}"));
            self.line(&format!("ReadX {handle} {offset} {PAGE_BYTES} {PAGE_BYTES}"));
            self.line(&format!("WriteX {handle} {offset} {PAGE_BYTES} {PAGE_BYTES}"));
            self.line(&format!("UnlockX {handle} {offset} {PAGE_BYTES}"));
        }
        self.close(handle);
    }

    fn tidy_up(&mut self) {
        let path = format!(r"{ROOT}\old");
        self.line(&format!("Mkdir \"{path}\""));
        let handle = self.open(&format!(r"{path}\note.txt"), "0x40", 2);
        self.line(&format!("WriteX {handle} {} 1 1", PAGE_BYTES - 1));
        self.close(handle);
        self.line(&format!("Unlink \"{path}\\note.txt\" 0x6"));
        self.line(&format!("Rmdir \"{path}\""));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::replay::loadfile::{Verb, parse};
    use crate::engine::replay::program::Program;

    #[test]
    fn the_loadfile_that_ships_has_every_kind_of_operation_and_is_the_same_for_everybody() {
        let text = text();
        let file = parse(&text).unwrap();
        let verbs: std::collections::BTreeSet<&str> =
            text.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(verbs.len(), 17, "{verbs:?}");
        let bytes = |of: &dyn Fn(&Verb) -> u64| -> u64 {
            file.lines.iter().map(|line| of(&line.verb)).sum()
        };
        let read = bytes(&|verb| match verb {
            Verb::Read { comes, .. } => u64::from(*comes),
            _ => 0,
        });
        let written = bytes(&|verb| match verb {
            Verb::Write { size, .. } => u64::from(*size),
            _ => 0,
        });
        let told = (file.lines.len(), read, written);
        let program = Program::new(file).unwrap();
        assert_eq!((program.slots, program.size_max), (1, PIECE_BYTES as usize));
        // docs/concepts/fileserver.md has these.
        assert_eq!(told, (14_623, 67_880_032, 54_059_515));
    }
}
