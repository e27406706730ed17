//! (pure) Loadfiles of dbench: text in, operations out.
//!
//! One operation a line: `[seconds] NAME "\path" numbers STATUS`. Names are those of dbench 4 and
//! of the loadfiles that Debian's package carries (`QUERY_PATH_INFORMATION` is `Qpathinfo`). Paths
//! are kept once each. What an operation does to a file system is the business of `program` and
//! `client`; a line that cannot be replayed exactly is refused here, by its number.

use std::collections::HashMap;

mod words;

use words::{Rest, status};

/// The largest single read or write, bytes: the protocol that loadfiles were recorded from moves
/// 64 KiB at once, its successors up to 8 MiB.
const SIZE_MAX: u64 = 64 << 20;
/// Names may have so many bytes (NAME_MAX of limits.h).
const NAME_MAX: usize = 255;
/// Paths may have so many bytes: PATH_MAX, less room for what they lie in.
const PATH_MAX: usize = 3072;

/// A path, by its place in [`Loadfile::paths`].
pub type Path = u32;
/// A handle, by the number that the loadfile gives it.
pub type Handle = u32;

/// What one line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Opens a file or a directory, or makes it.
    Create {
        /// Which.
        path: Path,
        /// Whether it is a directory (FILE_DIRECTORY_FILE).
        directory: bool,
        /// What if it is there, and what if not.
        disposition: Disposition,
        /// Its handle from now on.
        handle: Handle,
    },
    /// Closes a handle.
    Close(Handle),
    /// Gives the first the name of the second.
    Rename(Path, Path),
    /// Removes a file.
    Unlink(Path),
    /// Removes a directory with all that is in it.
    Deltree(Path),
    /// Removes an empty directory.
    Rmdir(Path),
    /// Makes a directory.
    Mkdir(Path),
    /// Asks about a path.
    PathInfo(Path),
    /// Asks about a handle.
    FileInfo(Handle),
    /// Asks about the file system.
    FsInfo,
    /// Sets the times of what a handle is of.
    SetFileInfo(Handle),
    /// Reads a directory for names of a pattern, so many at most.
    Find(Path, u32),
    /// Writes.
    Write {
        /// To which.
        handle: Handle,
        /// From where on.
        offset: u64,
        /// So many bytes.
        size: u32,
    },
    /// Reads.
    Read {
        /// From which.
        handle: Handle,
        /// From where on.
        offset: u64,
        /// So many bytes at most.
        size: u32,
        /// So many come.
        comes: u32,
    },
    /// Locks a range of bytes, or unlocks it.
    Lock {
        /// Of which.
        handle: Handle,
        /// From where on.
        offset: u64,
        /// So many bytes.
        size: u64,
        /// Whether it is unlocked.
        unlock: bool,
    },
    /// Puts what was written on the device.
    Flush(Handle),
}

/// What opening does with what is there, and what is not (MS-CIFS 2.2.4.64.1, CreateDisposition).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// 0, 4 and 5: emptied if it is there, made if not (dbench makes it with 4 too).
    Empty,
    /// 1: opened if it is there.
    Open,
    /// 2 and 3: opened if it is there, made if not (dbench opens it with 2 too).
    Make,
}

/// What a line says will come of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// NT_STATUS_OK
    Done,
    /// The file, a directory before it, or a name that fits the pattern is not there.
    Absent,
    /// It is there already.
    Present,
    /// Not allowed.
    Denied,
    /// A directory that is not empty.
    NotEmpty,
    /// It is a directory.
    IsDirectory,
    /// It is no directory.
    NotDirectory,
    /// `*`: whatever comes.
    Any,
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Status::Done => "it is done",
            Status::Absent => "there is no such file",
            Status::Present => "it is there already",
            Status::Denied => "it is not allowed",
            Status::NotEmpty => "the directory is not empty",
            Status::IsDirectory => "it is a directory",
            Status::NotDirectory => "it is no directory",
            Status::Any => "anything",
        })
    }
}

/// One operation of a loadfile, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadfileLine {
    /// Where it stands in its file, from 1.
    pub number: u32,
    /// What it asks for.
    pub verb: Verb,
    /// What will come of it.
    pub status: Status,
}

/// A loadfile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loadfile {
    /// Each path once, relative, with slashes: `clients/client1/a`.
    pub paths: Vec<String>,
    /// In order.
    pub lines: Vec<LoadfileLine>,
}

/// What is wrong with a loadfile, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadfileError {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong with it.
    pub what: String,
}

impl std::fmt::Display for LoadfileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// Reads a loadfile. Empty lines and lines that begin with `#` are left out.
///
/// # Errors
/// The first line that is not understood, or cannot be replayed exactly.
pub fn parse(text: &str) -> Result<Loadfile, LoadfileError> {
    let mut reader = LoadfileParser { file: Loadfile::default(), known: HashMap::new() };
    for (place, line) in text.lines().enumerate() {
        let number = u32::try_from(place + 1).unwrap_or(u32::MAX);
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (verb, status) =
            reader.line(line).map_err(|what| LoadfileError { line: number, what })?;
        reader.file.lines.push(LoadfileLine { number, verb, status });
    }
    if reader.file.lines.is_empty() {
        return Err(LoadfileError { line: 1, what: "there is no operation in it".to_owned() });
    }
    Ok(reader.file)
}

/// A loadfile that is being read, and the paths that are known so far.
struct LoadfileParser {
    file: Loadfile,
    known: HashMap<String, Path>,
}

impl LoadfileParser {
    fn line(&mut self, line: &str) -> Result<(Verb, Status), String> {
        let mut rest = Rest::new(line);
        let mut name = rest.word()?;
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            // Newer loadfiles begin with the time of the recording; the replay goes as fast as it
            // can, as dbench does without a target rate.
            name.parse::<f64>()
                .map_err(|_| format!("{name} is neither a time nor an operation"))?;
            name = rest.word()?;
        }
        let verb = self.verb(name, &mut rest)?;
        let status = status(rest.word()?)?;
        rest.end()?;
        Ok((verb, status))
    }

    fn verb(&mut self, name: &str, rest: &mut Rest<'_>) -> Result<Verb, String> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "ntcreatex" => self.create(rest)?,
            "close" => Verb::Close(rest.handle()?),
            "rename" => Verb::Rename(self.path(rest)?, self.path(rest)?),
            "unlink" => {
                let path = self.plain(rest)?;
                rest.optional_number()?; // Attributes, which Linux does not have.
                Verb::Unlink(path)
            }
            "deltree" => Verb::Deltree(self.plain(rest)?),
            "rmdir" => Verb::Rmdir(self.plain(rest)?),
            "mkdir" => Verb::Mkdir(self.plain(rest)?),
            "query_path_information" | "qpathinfo" => {
                let path = self.path(rest)?;
                rest.number()?; // The level: one stat answers each.
                Verb::PathInfo(path)
            }
            "query_file_information" | "qfileinfo" => {
                let handle = rest.handle()?;
                rest.number()?;
                Verb::FileInfo(handle)
            }
            "query_fs_information" | "qfsinfo" => {
                rest.number()?;
                Verb::FsInfo
            }
            "set_file_information" | "sfileinfo" => set_file_info(rest)?,
            "find_first" | "find" => {
                let path = self.path(rest)?;
                rest.number()?;
                let most = rest.number()?;
                rest.number()?; // How many came; that some did is what counts.
                Verb::Find(path, u32::try_from(most).unwrap_or(u32::MAX))
            }
            "writex" => write(rest)?,
            "readx" => read(rest)?,
            "lockx" => lock(rest, false)?,
            "unlockx" => lock(rest, true)?,
            "flush" => Verb::Flush(rest.handle()?),
            _ => return Err(format!("no operation of dbench is called {name}")),
        })
    }

    fn create(&mut self, rest: &mut Rest<'_>) -> Result<Verb, String> {
        const DIRECTORY: u64 = 0x1;
        /// Sequential only, no directory, random access: what Linux does not ask for.
        const HINTS: u64 = 0x4 | 0x40 | 0x800;
        let path = self.path(rest)?;
        let options = rest.number()?;
        let disposition = match rest.number()? {
            0 | 4 | 5 => Disposition::Empty,
            1 => Disposition::Open,
            2 | 3 => Disposition::Make,
            other => return Err(format!("NTCreateX has no disposition {other:#x}")),
        };
        if options & !(DIRECTORY | HINTS) != 0 {
            return Err(format!(
                "NTCreateX with options {options:#x} is not replayed: 0x1, 0x4, 0x40 and 0x800 are"
            ));
        }
        let handle = rest.handle()?;
        Ok(Verb::Create { path, directory: options & DIRECTORY != 0, disposition, handle })
    }

    /// A path of one file.
    fn plain(&mut self, rest: &mut Rest<'_>) -> Result<Path, String> {
        let text = rest.quoted()?;
        if text.contains(['*', '?', '<', '>']) {
            return Err(format!("a pattern is replayed in Find alone: {text}"));
        }
        self.keep(text)
    }

    fn path(&mut self, rest: &mut Rest<'_>) -> Result<Path, String> {
        let text = rest.quoted()?;
        self.keep(text)
    }

    fn keep(&mut self, text: &str) -> Result<Path, String> {
        if let Some(known) = self.known.get(text) {
            return Ok(*known);
        }
        let path = text.replace('\\', "/");
        let path = path.trim_matches('/');
        let bad = |name: &str| matches!(name, "" | "." | "..") || name.len() > NAME_MAX;
        if path.split('/').any(bad) || path.len() > PATH_MAX || path.contains('\0') {
            return Err(format!("no file below the directory of the trial is called \"{text}\""));
        }
        let number = u32::try_from(self.file.paths.len()).map_err(|_| "too many paths")?;
        self.file.paths.push(path.to_owned());
        self.known.insert(text.to_owned(), number);
        Ok(number)
    }
}

/// Of all that can be set, dbench sets the times, whatever was asked for; what is not said in the
/// loadfile, as a length, nobody can set.
fn set_file_info(rest: &mut Rest<'_>) -> Result<Verb, String> {
    /// SMB_SET_FILE_BASIC_INFO and FileBasicInformation of the pass-through levels.
    const TIMES: [u64; 2] = [257, 1004];
    let handle = rest.handle()?;
    match rest.number()? {
        level if TIMES.contains(&level) => Ok(Verb::SetFileInfo(handle)),
        level => Err(format!(
            "level {level} of Sfileinfo is not replayed: 257 and 1004 set times, and of others the \
             loadfile does not say what is set"
        )),
    }
}

fn size(number: u64) -> Result<u32, String> {
    match u32::try_from(number) {
        Ok(size) if number <= SIZE_MAX => Ok(size),
        _ => Err(format!("{number} bytes at once are more than {SIZE_MAX}")),
    }
}

fn offset(number: u64) -> Result<u64, String> {
    // Leaves room for the size before the largest offset that files have.
    match number <= (i64::MAX as u64) - SIZE_MAX {
        true => Ok(number),
        false => Err(format!("no file has an offset of {number}")),
    }
}

fn write(rest: &mut Rest<'_>) -> Result<Verb, String> {
    let handle = rest.handle()?;
    let (offset, size) = (offset(rest.number()?)?, size(rest.number()?)?);
    let went = rest.number()?;
    match went == u64::from(size) {
        true => Ok(Verb::Write { handle, offset, size }),
        false => Err(format!("a write of {size} bytes of which {went} went is not replayed")),
    }
}

fn read(rest: &mut Rest<'_>) -> Result<Verb, String> {
    let handle = rest.handle()?;
    let (offset, most) = (offset(rest.number()?)?, size(rest.number()?)?);
    let comes = size(rest.number()?)?;
    match comes <= most {
        true => Ok(Verb::Read { handle, offset, size: most, comes }),
        false => Err(format!("a read of {most} bytes cannot yield {comes}")),
    }
}

fn lock(rest: &mut Rest<'_>, unlock: bool) -> Result<Verb, String> {
    let handle = rest.handle()?;
    let (offset, size) = (offset(rest.number()?)?, rest.number()?);
    let fits = size > 0 && size <= (i64::MAX as u64) - offset;
    let refused = || format!("{size} bytes from {offset} on cannot be locked");
    fits.then_some(Verb::Lock { handle, offset, size, unlock }).ok_or_else(refused)
}

#[cfg(test)]
mod tests;
