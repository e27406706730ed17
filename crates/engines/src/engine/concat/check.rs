//! The files that are joined, made; and what they were joined into, held against what must be
//! there. Both go by the same numbers, so that nothing need be kept.

use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::join::open;
use super::name;
use experiment::workload::netcdf::header::{Header, Variable};
use experiment::workload::netcdf::{NetcdfShape, fill, variable};
use host::sys::Error;
use host::sys::output::Folder;
use host::sys::pages::drop_cached;

/// The files that are made to be joined: how many, how large, and what draws their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcatInputs {
    /// Files.
    pub files: u64,
    /// Bytes of each, about.
    pub file_bytes: u64,
    /// Arrays of each.
    pub variables: u32,
    /// Draws their values.
    pub seed: u64,
}

impl ConcatInputs {
    /// The arrays of each file.
    pub fn shape(&self) -> NetcdfShape {
        NetcdfShape::within_bytes(self.file_bytes, self.variables)
    }
}

/// An error of something done to a file.
fn cannot(what: &str, path: &Path, why: impl host::sys::Cause) -> Error {
    Error::new(format!("cannot {what} {}", path.display()), why)
}

/// Makes the files in a new folder, each durable before the next; `cold`: and gone from memory.
///
/// # Errors
/// When the folder is there already, or something cannot be written.
pub fn make(folder: &Path, made: &ConcatInputs, cold: bool) -> Result<(), Error> {
    let new = Folder::create(folder).map_err(|error| error.hint("--output NEW-DIRECTORY"))?;
    let (shape, header) = (made.shape(), made.shape().header().encode());
    let mut slice = vec![0; shape.slice_bytes() as usize];
    for number in 0..made.files {
        let path = folder.join(name(number));
        let failed = |why: std::io::Error| cannot("write", &path, why);
        let mut to = BufWriter::new(new.file(name(number).as_ref())?);
        to.write_all(&header).map_err(failed)?;
        for record in 0..shape.records {
            for variable in 0..shape.variables {
                fill(&mut slice, made.seed, number, variable, record);
                to.write_all(&slice).map_err(failed)?;
            }
        }
        let file = to.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        if cold {
            drop_cached(&file)?;
        }
    }
    Ok(())
}

/// Holds what such files were joined into against what must be there: dimensions, variables, and
/// every value.
///
/// # Errors
/// With the first thing that is not as it must be.
pub fn check(joined: &Path, made: &ConcatInputs) -> Result<(), Error> {
    let wrong = |why: String| Error::new(format!("{} is wrong", joined.display()), why);
    let (file, header) = open(joined)?;
    let shape = made.shape();
    if header.records != made.files {
        let records = header.records;
        return Err(wrong(format!("it has {records} records of {} files", made.files)));
    }
    if header.variables.len() != shape.variables as usize {
        let (found, due) = (header.variables.len(), shape.variables);
        return Err(wrong(format!("it has {found} variables, not {due}")));
    }
    let mut due = vec![0; shape.slice_bytes() as usize];
    let mut found = due.clone();
    for number in 0..shape.variables {
        let name = variable(number);
        let place = header.variables.iter().find(|it| it.name == name);
        let place = place.filter(|place| lengths(&header, place) == lengths_due(&shape));
        let place = place.ok_or_else(|| wrong(format!("it has no {name} of the right sizes")))?;
        for input in 0..made.files {
            let begin = place.begin + input * header.record_bytes();
            for time in 0..shape.records {
                fill(&mut due, made.seed, input, number, time);
                let at = begin + time * shape.slice_bytes();
                file.read_exact_at(&mut found, at).map_err(|why| cannot("read", joined, why))?;
                // Compared as a whole first: a search costs many times as much.
                if due != found
                    && let Some(byte) = (0..due.len()).find(|at| due[*at] != found[*at])
                {
                    let value = byte / 4;
                    return Err(wrong(format!(
                        "value {value} of {name} at time {time} of file {input} is not what was \
                         read (byte {} of the file)",
                        at + byte as u64
                    )));
                }
            }
        }
    }
    Ok(())
}

/// Lengths of the dimensions of an array; 0 where it has records.
fn lengths(header: &Header, variable: &Variable) -> Vec<u64> {
    variable.dimensions.iter().map(|at| header.dimensions[*at].length).collect()
}

fn lengths_due(shape: &NetcdfShape) -> Vec<u64> {
    let of_file = shape.header();
    let inner = of_file.dimensions[1..].iter().map(|dimension| dimension.length);
    [0, shape.records].into_iter().chain(inner).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::engine::concat::join::join;

    #[test]
    fn a_value_that_was_changed_or_left_out_is_found_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let made = ConcatInputs { files: 2, file_bytes: 40_000, variables: 2, seed: 1 };
        make(&folder.path().join("in"), &made, true).unwrap();
        let why = make(&folder.path().join("in"), &made, true).unwrap_err();
        assert!(why.hint.is_some_and(|hint| hint.contains("NEW")), "nothing is written over");
        let out = folder.path().join("out.nc");
        let paths = [0, 1].map(|number| folder.path().join("in").join(name(number)));
        join(&paths, &out, 4096).unwrap();
        check(&out, &made).unwrap();
        let (file, size) = (File::options().read(true).write(true).open(&out).unwrap(), |path| {
            std::fs::metadata(path).unwrap().len()
        });
        let last = size(&out) - 1;
        let mut byte = [0];
        file.read_exact_at(&mut byte, last).unwrap();
        file.write_all_at(&[byte[0] ^ 1], last).unwrap();
        let why = check(&out, &made).unwrap_err().to_string();
        assert!(why.contains("v1 at time") && why.contains(&format!("byte {last}")), "{why}");
        file.set_len(last).unwrap();
        assert!(check(&out, &made).unwrap_err().to_string().contains("cannot read"));
        let other = ConcatInputs { files: 3, ..made };
        assert!(check(&out, &other).unwrap_err().to_string().contains("2 records of 3"));
        let other = ConcatInputs { variables: 3, ..made };
        assert!(check(&out, &other).unwrap_err().to_string().contains("2 variables, not 3"));
        let other = ConcatInputs { file_bytes: 80_000, ..made };
        assert!(check(&out, &other).unwrap_err().to_string().contains("right sizes"));
        let other = ConcatInputs { seed: 2, ..made };
        assert!(check(&out, &other).unwrap_err().to_string().contains("value 0 of v0"));
    }
}
