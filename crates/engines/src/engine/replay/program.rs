//! (pure) A loadfile made ready: a flat list of steps, handles as slots, paths by number.
//!
//! All that can be wrong with a loadfile as a whole is found here: a handle that is used before it
//! is opened, or opened twice. The steps are the same for every client; only the paths differ, as
//! each client works in a directory of its own.

use std::collections::HashMap;

mod room;

use super::loadfile::{Handle, Loadfile, LoadfileError, LoadfileLine, Status, Verb};
use crate::engine::load::room::Room;
use experiment::measurement::Operation;

/// Where an open file is kept while it is open.
pub type HandleSlot = u32;

/// What dbench calls the client in a loadfile; the name that each client has in its stead.
const CLIENT: &str = "client1";

/// One step of a program: what its line asks for, its handle replaced by a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The line, its handles replaced by slots.
    pub line: LoadfileLine,
    /// Where the line has a handle, the path that it was opened by.
    pub path: u32,
}

/// A loadfile made ready.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// In order.
    pub steps: Vec<Step>,
    /// As in the loadfile.
    pub paths: Vec<String>,
    /// So many files are open at once at most.
    pub slots: usize,
    /// The largest read or write, bytes.
    pub size_max: usize,
    /// What one client has on its file system at most.
    pub room: Room,
    /// Bytes that are read and written in one round.
    pub bytes: u64,
}

impl Program {
    /// Makes it.
    ///
    /// # Errors
    /// The first line with a handle that is not as it must be.
    pub fn new(file: Loadfile) -> Result<Program, LoadfileError> {
        let mut slots = HandleSlots::default();
        let mut steps = Vec::with_capacity(file.lines.len());
        let (mut size_max, mut bytes) = (0, 0_u64);
        for mut line in file.lines {
            let number = line.number;
            let wrong = |what| LoadfileError { line: number, what };
            let path = slots.give(&mut line).map_err(wrong)?;
            if let Verb::Write { size, .. } | Verb::Read { size, .. } = line.verb {
                size_max = size_max.max(size as usize);
            }
            bytes = bytes.saturating_add(match line.verb {
                Verb::Write { size, .. } => u64::from(size),
                Verb::Read { comes, .. } => u64::from(comes),
                _ => 0,
            });
            steps.push(Step { line, path });
        }
        let room = room::most(&steps, &file.paths);
        Ok(Program { steps, paths: file.paths, slots: slots.most, size_max, room, bytes })
    }

    /// The paths of client `number`, from 0: as dbench does, every `client1` in them becomes
    /// `client` and the number.
    pub fn paths_of(&self, number: usize) -> Vec<String> {
        let name = format!("client{number}");
        self.paths.iter().map(|path| path.replace(CLIENT, &name)).collect()
    }

    /// The kinds of operations in it.
    pub fn kinds(&self) -> Vec<Operation> {
        let mut kinds: Vec<Operation> = self.steps.iter().map(|step| kind(&step.line)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

/// As what an operation is counted. Opening what may have to be made is `create`; removing a whole
/// directory is one `rmdir`.
pub fn kind(line: &LoadfileLine) -> Operation {
    use super::loadfile::Disposition;
    match line.verb {
        Verb::Create {
            directory: true,
            disposition: Disposition::Make | Disposition::Empty,
            ..
        } => Operation::Mkdir,
        Verb::Create { disposition: Disposition::Open, .. } => Operation::Open,
        Verb::Create { .. } => Operation::Create,
        Verb::Close(_) => Operation::Close,
        Verb::Rename(..) => Operation::Rename,
        Verb::Unlink(_) => Operation::Unlink,
        Verb::Deltree(_) | Verb::Rmdir(_) => Operation::Rmdir,
        Verb::Mkdir(_) => Operation::Mkdir,
        Verb::PathInfo(_) | Verb::FileInfo(_) => Operation::Stat,
        Verb::FsInfo => Operation::Statfs,
        Verb::SetFileInfo(_) => Operation::Setattr,
        Verb::Find(..) => Operation::Readdir,
        Verb::Write { .. } => Operation::Write,
        Verb::Read { .. } => Operation::Read,
        Verb::Lock { .. } => Operation::Lock,
        Verb::Flush(_) => Operation::Fsync,
    }
}

/// Handles that are open, and slots that are free.
#[derive(Default)]
struct HandleSlots {
    /// Slot and path of each open handle.
    open: HashMap<Handle, (HandleSlot, u32)>,
    free: Vec<HandleSlot>,
    most: usize,
}

impl HandleSlots {
    /// Puts slots in the place of handles; the path that the handle was opened by, or 0.
    fn give(&mut self, line: &mut LoadfileLine) -> Result<u32, String> {
        match &mut line.verb {
            Verb::Create { path, handle, .. } => {
                // What fails as it should opens nothing.
                let opens = matches!(line.status, Status::Done | Status::Any);
                *handle = if opens { self.open(*handle, *path)? } else { HandleSlot::MAX };
                Ok(*path)
            }
            Verb::Close(handle) => {
                let (slot, path) = self.known(*handle)?;
                self.open.remove(handle);
                self.free.push(slot);
                *handle = slot;
                Ok(path)
            }
            Verb::FileInfo(handle)
            | Verb::SetFileInfo(handle)
            | Verb::Flush(handle)
            | Verb::Write { handle, .. }
            | Verb::Read { handle, .. }
            | Verb::Lock { handle, .. } => {
                let (slot, path) = self.known(*handle)?;
                *handle = slot;
                Ok(path)
            }
            _ => Ok(0),
        }
    }

    fn known(&self, handle: Handle) -> Result<(HandleSlot, u32), String> {
        let known = self.open.get(&handle).copied();
        known.ok_or_else(|| format!("handle {handle} is not open here"))
    }

    fn open(&mut self, handle: Handle, path: u32) -> Result<HandleSlot, String> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.most += 1;
                HandleSlot::try_from(self.most - 1)
                    .map_err(|_| "too many open handles".to_owned())?
            }
        };
        match self.open.insert(handle, (slot, path)) {
            None => Ok(slot),
            Some(_) => Err(format!("handle {handle} is open already")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::replay::loadfile::parse;

    fn program(text: &str) -> Result<Program, LoadfileError> {
        Program::new(parse(text).unwrap())
    }

    #[test]
    fn handles_become_slots_that_are_used_again() {
        let made = program(
            "NTCreateX \"\\clients\\client1\\a\" 0x40 0x2 900 NT_STATUS_OK\n\
             NTCreateX \"\\clients\\client1\\b\" 0x40 0x1 901 NT_STATUS_OBJECT_NAME_NOT_FOUND\n\
             NTCreateX \"\\clients\\client1\\c\" 0x40 0x2 77 NT_STATUS_OK\n\
             Close 900 NT_STATUS_OK\n\
             NTCreateX \"\\clients\\client1\\a\" 0x40 0x1 900 NT_STATUS_OK\n\
             WriteX 77 0 70000 70000 NT_STATUS_OK\n\
             SET_FILE_INFORMATION 77 1004 NT_STATUS_OK\n",
        )
        .unwrap();
        assert_eq!((made.slots, made.size_max), (2, 70000));
        let slot = |place: usize| match made.steps[place].line.verb {
            Verb::Create { handle, .. } | Verb::Close(handle) | Verb::Write { handle, .. } => {
                handle
            }
            other => panic!("{other:?}"),
        };
        assert_eq!([0, 2, 3, 4, 5].map(slot), [0, 1, 0, 0, 1]);
        assert_eq!(made.paths[made.steps[6].path as usize], "clients/client1/c");
        assert_eq!(made.paths_of(12)[1], "clients/client12/b");
        use Operation::{Close, Create, Open, Setattr, Write};
        assert_eq!(made.kinds(), [Write, Create, Open, Close, Setattr]);
    }

    #[test]
    fn a_handle_out_of_its_time_is_refused_with_its_line() {
        let open = "NTCreateX \"\\a\" 0x40 0x2 1 NT_STATUS_OK\n";
        for (text, line, what) in [
            ("Close 5 NT_STATUS_OK\n".to_owned(), 1, "handle 5 is not open here"),
            (format!("{open}Close 1 NT_STATUS_OK\nFlush 1 NT_STATUS_OK\n"), 3, "handle 1 is not"),
            (format!("{open}{open}"), 2, "handle 1 is open already"),
        ] {
            let wrong = program(&text).unwrap_err();
            assert!(wrong.line == line && wrong.what.contains(what), "{wrong}");
        }
    }
}
