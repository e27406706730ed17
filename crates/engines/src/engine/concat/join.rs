//! Joins files of netCDF's classic format as ncecat does: of each input one variable after the
//! other is gathered from its records, in pieces of a block, and written where it belongs.
//!
//! Reading goes through the file once for each variable and takes a slice of it at a time; writing
//! is one large piece behind the other. Everything goes through the page cache, as with ncecat, and
//! is made durable at the end.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use experiment::workload::netcdf::header::Header;
use host::sys::{Error, clock};

/// A header of at most 100 variables is shorter.
const HEADER_BYTES_MAX: u64 = 64 << 10;

/// What a join read and wrote, and how long it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinTotals {
    /// Bytes of values read.
    pub read_bytes: u64,
    /// Bytes of values written.
    pub written_bytes: u64,
    /// In read(2) and its like.
    pub reading_ns: u64,
    /// In write(2) and its like.
    pub writing_ns: u64,
    /// In fsync(2).
    pub flushing_ns: u64,
}

/// An error of something done to a file.
fn cannot(what: &str, path: &Path, why: impl host::sys::Cause) -> Error {
    Error::new(format!("cannot {what} {}", path.display()), why)
}

/// A file to be read, and what stands before its values.
///
/// # Errors
/// When it cannot be read, or is no such file.
pub fn open(path: &Path) -> Result<(File, Header), Error> {
    let file = File::open(path).map_err(|why| cannot("open", path, why))?;
    let size = file.metadata().map_err(|why| cannot("read", path, why))?.len();
    let mut bytes = vec![0; size.min(HEADER_BYTES_MAX) as usize];
    file.read_exact_at(&mut bytes, 0).map_err(|why| cannot("read", path, why))?;
    let header = Header::parse(&bytes).map_err(|why| cannot("understand", path, why))?;
    Ok((file, header))
}

/// Joins `inputs` into `out`, which is written over, through a buffer of `block_bytes`.
///
/// # Errors
/// When something cannot be read or written, or the inputs have not the same variables.
pub fn join(inputs: &[PathBuf], out: &Path, block_bytes: usize) -> Result<JoinTotals, Error> {
    let first = inputs.first().ok_or_else(|| cannot("write", out, "there is nothing to join"))?;
    let (_, header) = open(first)?;
    let joined = header.joined(inputs.len() as u64).map_err(|why| cannot("join", first, why))?;
    let to = File::create(out).map_err(|why| cannot("write", out, why))?;
    to.write_all_at(&joined.encode(), 0).map_err(|why| cannot("write", out, why))?;
    let mut copy =
        ValueCopier { block: vec![0; block_bytes.max(1)], to, out, done: JoinTotals::default() };
    for (number, path) in inputs.iter().enumerate() {
        let (from, found) = open(path)?;
        if found != header {
            let why = format!("it has other variables or sizes than {}", first.display());
            return Err(cannot("join", path, why));
        }
        let record = joined.record_bytes() * number as u64;
        for (variable, place) in header.variables.iter().zip(&joined.variables) {
            let piece_bytes = header.piece_bytes(variable);
            let pieces = Pieces {
                begin: variable.begin,
                stride: if header.has_records(variable) { header.record_bytes() } else { 0 },
                piece_bytes,
                bytes: piece_bytes * header.pieces(variable),
            };
            copy.variable(&from, path, pieces, place.begin + record)?;
        }
    }
    let begun_ns = clock::monotonic_ns();
    copy.to.sync_all().map_err(|why| cannot("make durable", out, why))?;
    copy.done.flushing_ns = clock::monotonic_ns() - begun_ns;
    Ok(copy.done)
}

/// Where one variable lies in an input.
#[derive(Clone, Copy)]
struct Pieces {
    begin: u64,
    /// From one piece to the next.
    stride: u64,
    piece_bytes: u64,
    /// Of all pieces.
    bytes: u64,
}

impl Pieces {
    /// Where the value of this place among those of the variable lies, and how many bytes lie
    /// together from there on.
    fn at(&self, place: u64) -> (u64, u64) {
        let within = place % self.piece_bytes.max(1);
        let piece = place / self.piece_bytes.max(1);
        (self.begin + piece * self.stride + within, self.piece_bytes - within)
    }
}

/// Copies values from the inputs to the output, and counts them.
struct ValueCopier<'a> {
    block: Vec<u8>,
    to: File,
    out: &'a Path,
    done: JoinTotals,
}

impl ValueCopier<'_> {
    /// Gathers a variable from its pieces and writes it from `begin` on.
    fn variable(
        &mut self,
        from: &File,
        path: &Path,
        pieces: Pieces,
        begin: u64,
    ) -> Result<(), Error> {
        let mut place = 0;
        while place < pieces.bytes {
            let whole = (pieces.bytes - place).min(self.block.len() as u64) as usize;
            let begun_ns = clock::monotonic_ns();
            let mut filled = 0;
            while filled < whole {
                let (at, together) = pieces.at(place + filled as u64);
                let some = together.min((whole - filled) as u64) as usize;
                from.read_exact_at(&mut self.block[filled..filled + some], at)
                    .map_err(|why| cannot("read", path, why))?;
                filled += some;
            }
            let read_ns = clock::monotonic_ns();
            self.to
                .write_all_at(&self.block[..whole], begin + place)
                .map_err(|why| cannot("write", self.out, why))?;
            self.done.reading_ns += read_ns - begun_ns;
            self.done.writing_ns += clock::monotonic_ns() - read_ns;
            self.done.read_bytes += whole as u64;
            self.done.written_bytes += whole as u64;
            place += whole as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::concat::check::{ConcatInputs, check, make};

    fn made(files: u64) -> ConcatInputs {
        ConcatInputs { files, file_bytes: 60_000, variables: 3, seed: 5 }
    }

    /// A folder with files, and their paths.
    fn inputs(made: &ConcatInputs) -> (tempfile::TempDir, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        make(&folder.path().join("in"), made, false).unwrap();
        let paths = (0..made.files).map(|n| folder.path().join("in").join(super::super::name(n)));
        let paths = paths.collect();
        (folder, paths)
    }

    #[test]
    fn every_value_is_where_it_belongs_whatever_the_block() {
        let made = made(3);
        let (folder, paths) = inputs(&made);
        let out = folder.path().join("out.nc");
        let mut before = None;
        for block in [1 << 20, 4096, 1000, 7] {
            let done = join(&paths, &out, block).unwrap();
            assert_eq!(done.read_bytes, 3 * made.shape().data_bytes());
            check(&out, &made).unwrap();
            let size = out.metadata().unwrap().len();
            assert_eq!(*before.get_or_insert(size), size);
        }
    }

    #[test]
    fn files_that_do_not_match_or_are_short_are_refused_with_their_name() {
        let (folder, mut paths) = inputs(&made(2));
        let out = folder.path().join("out.nc");
        let other = ConcatInputs { variables: 2, ..made(1) };
        make(&folder.path().join("other"), &other, false).unwrap();
        paths.push(folder.path().join("other").join(super::super::name(0)));
        let why = join(&paths, &out, 4096).unwrap_err().to_string();
        assert!(why.contains("other/00000.nc") && why.contains("other variables"), "{why}");
        let short = File::options().write(true).open(&paths[1]).unwrap();
        short.set_len(40_000).unwrap();
        let why = join(&paths[..2], &out, 4096).unwrap_err().to_string();
        assert!(why.contains("cannot read") && why.contains("00001.nc"), "{why}");
        short.set_len(0).unwrap();
        assert!(join(&paths[1..2], &out, 4096).unwrap_err().to_string().contains("cut short"));
        assert!(join(&[], &out, 4096).unwrap_err().to_string().contains("nothing"));
    }
}
