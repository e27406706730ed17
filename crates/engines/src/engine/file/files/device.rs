//! A block device that is read as it is: which part of it each stream reads, and what must be said
//! of that. Nothing here writes, nor asks the device or its owner to: no fsync, no allocation.
//!
//! Streams on one device share it out in equal parts, so that none meets what another has read, and
//! together they cover all of it, or begin evenly spaced where `file-size` bounds each. (fio's jobs
//! on one device all begin at its start, unless `offset_increment` says otherwise.)

use std::fs::File;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::super::job::FileJob;
use super::{OpenedFiles, check_alignment, check_dontcache, note_tail, push_once};
use crate::engine::Error;
use base::value;
use host::sys::{Host, beneath, pages};

/// Parts begin at multiples of this, bytes, where they are longer.
const STEP_BYTES: u64 = 1 << 20;
/// The same of small devices: a page, whatever the machine's pages are (64 KiB at most).
const LEAST_BYTES: u64 = 64 << 10;
/// Less than this share of a device is told as a part of it.
const WHOLE: f64 = 0.99;

/// Where a stream's part begins, and how long it is, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// From the start of the device.
    pub start: u64,
    /// All of it is used, but for what is less than a block at its end.
    pub bytes: u64,
}

/// Of a device of `size` bytes the part of stream `rank` of `count`, at most `most` bytes of it.
fn region(size: u64, rank: u64, count: u64, most: u64) -> Region {
    let share = size / count.max(1);
    let step = if share >= STEP_BYTES { STEP_BYTES } else { LEAST_BYTES };
    let begins = |rank: u64| share * rank / step * step;
    let start = begins(rank);
    // Up to where the next one begins, or to the end.
    let end = if rank + 1 == count { size } else { begins(rank + 1) };
    Region { start, bytes: (end - start).min(most) }
}

/// Whether an open file is a block device.
pub fn is_device(file: &File) -> bool {
    file.metadata().is_ok_and(|about| about.file_type().is_block_device())
}

/// Which of the streams on the device at `path` stream `index` is, and how many there are.
fn place(names: &[Vec<PathBuf>], index: usize, path: &Path) -> (u64, u64) {
    let on = |of: &&Vec<PathBuf>| of.iter().any(|other| other == path);
    let count = names.iter().filter(on).count() as u64;
    (names[..index].iter().filter(on).count() as u64, count)
}

/// Checks the device of stream `index`, and tells which part of it that stream reads.
///
/// # Errors
/// `Unsupported` where it is to be written, cannot do the block size, or its part holds no block;
/// `Failed` with the kernel's words for the rest.
pub fn prepare(
    job: &FileJob,
    (path, file): (&Path, &File),
    (names, index): (&[Vec<PathBuf>], usize),
    opened: &mut OpenedFiles,
) -> Result<Region, Error> {
    if job.direction.writes() || job.verify.is_some() || names[index].len() != 1 {
        let what = format!("{} is a block device, which is only read", path.display());
        return Err(Error::Unsupported(what));
    }
    if job.direct {
        opened.memory_align = opened.memory_align.max(check_alignment(job, path, file)?);
    }
    if job.dontcache {
        check_dontcache(path, file)?;
    }
    let size = pages::length(file)
        .map_err(|why| Error::Failed(format!("cannot ask {} its size: {why}", path.display())))?;
    let (rank, count) = place(names, index, path);
    let region = region(size, rank, count, job.file_bytes);
    if region.bytes < job.block_bytes {
        return Err(Error::Unsupported(format!(
            "{} has {}, which is less than one block of {} for each of {count} streams; choose a \
             smaller block-size, or fewer streams",
            path.display(),
            value::bytes(size as f64),
            value::bytes(job.block_bytes as f64)
        )));
    }
    check_warm(job, path, region.bytes.saturating_mul(count))?;
    note_tail(job, region.bytes, &mut opened.prepared.notes);
    note_part(path, size, region.bytes, count, opened);
    if rank == 0 {
        note_zeros(path, size, opened);
    }
    opened.prepared.file_bytes += region.bytes;
    Ok(region)
}

/// All that is read is in memory first with cold=false: more than fits never is.
fn check_warm(job: &FileJob, path: &Path, bytes: u64) -> Result<(), Error> {
    if job.cold || job.direct {
        return Ok(());
    }
    let memory = Host::live().memory_bytes();
    let Some(memory) = memory.filter(|memory| *memory <= bytes) else {
        return Ok(());
    };
    Err(Error::Unsupported(format!(
        "cold=false reads all of it into memory first, and {} of {} do not fit into the {} that \
         there are; bound it by file-size, or read with cold=true",
        value::bytes(bytes as f64),
        path.display(),
        value::bytes(memory as f64)
    )))
}

/// A part of a disk is not all of it: its outer tracks are faster, and heads travel less.
fn note_part(path: &Path, size: u64, bytes: u64, count: u64, opened: &mut OpenedFiles) {
    let used = bytes.saturating_mul(count);
    if used as f64 >= WHOLE * size as f64 {
        return;
    }
    push_once(&mut opened.prepared.notes, "part-of-device", || {
        let parts = match count {
            1 => "from its start on".to_owned(),
            many => format!("in {many} parts, evenly spaced"),
        };
        format!(
            "Of {} of {} {} were read, {parts}: a turning disk seeks less in a part than in all of \
             it, and is faster at its start.",
            value::bytes(size as f64),
            path.display(),
            value::bytes(used as f64)
        )
    });
}

/// Blocks that are looked at for zeros, evenly spaced.
const LOOKS: u64 = 32;
/// Bytes of each.
const LOOK_BYTES: usize = 4096;
/// When so many of them are zeros, that is said.
const ZEROS: u64 = 29;

/// Flash that was never written, or was trimmed, and a thin volume answer without reading anything.
/// The looks go around the page cache, so that they warm none.
fn note_zeros(path: &Path, size: u64, opened: &mut OpenedFiles) {
    let zeros = zeros(path, size).filter(|zeros| *zeros >= ZEROS);
    if let Some(zeros) = zeros {
        push_once(&mut opened.prepared.notes, "reads-zeros", || {
            format!(
                "{zeros} of {LOOKS} blocks of {} that were looked at hold nothing but zeros. Flash \
                 that was never written or was trimmed, and thin volumes, answer for such blocks \
                 without reading any medium: then this is faster than data that was written.",
                path.display()
            )
        });
    }
}

/// How many of the blocks that are looked at are all zeros; `None` when that cannot be told.
fn zeros(path: &Path, size: u64) -> Option<u64> {
    let file = beneath::open_file(path, OFlags::RDONLY | OFlags::DIRECT).ok()?;
    let step = (size / LOOKS) & !(LOOK_BYTES as u64 - 1);
    if step < LOOK_BYTES as u64 {
        return None;
    }
    let mut memory = vec![0; 2 * LOOK_BYTES];
    let skip = memory.as_ptr().align_offset(LOOK_BYTES).min(LOOK_BYTES);
    let buffer = &mut memory[skip..skip + LOOK_BYTES];
    let mut zeros = 0;
    for at in (0..LOOKS).map(|look| look * step) {
        file.read_exact_at(buffer, at).ok()?;
        zeros += u64::from(buffer.iter().all(|byte| *byte == 0));
    }
    Some(zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn regions(size: u64, count: u64, most: u64) -> Vec<(u64, u64)> {
        let one = |rank| region(size, rank, count, most);
        (0..count).map(one).map(|region| (region.start, region.bytes)).collect()
    }

    #[test]
    fn streams_share_a_device_out_and_begin_evenly_spaced() {
        assert_eq!(regions(1000 * MIB, 1, u64::MAX), [(0, 1000 * MIB)]);
        let four = regions(1000 * MIB + 512, 4, u64::MAX);
        let starts = [0, 250, 500, 750].map(|mib| mib * MIB);
        assert_eq!(four.iter().map(|(start, _)| *start).collect::<Vec<_>>(), starts);
        assert_eq!(four.iter().map(|(_, bytes)| bytes).sum::<u64>(), 1000 * MIB + 512);
        let bounded = regions(1000 * MIB, 4, 7 * MIB);
        assert_eq!(bounded, starts.map(|start| (start, 7 * MIB)));
        // No two meet, and none goes on behind the end, whatever the numbers.
        for (size, count) in [(1000 * MIB + 4096, 7), (3 * MIB, 3), (3 * MIB, 5), (512, 3)] {
            let all = regions(size, count, u64::MAX);
            assert!(all.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "{all:?}");
            assert!(all.iter().all(|(start, bytes)| *bytes == 0 || start + bytes <= size));
            assert!(all.iter().all(|(start, _)| start % LEAST_BYTES == 0));
        }
    }

    #[test]
    fn streams_count_those_that_read_the_same_device() {
        let names = |of: &[&str]| -> Vec<Vec<PathBuf>> {
            of.iter().map(|name| vec![PathBuf::from(name)]).collect()
        };
        let names = names(&["/dev/a", "/dev/b", "/dev/a", "/dev/b", "/dev/a"]);
        let places: Vec<_> = (0..5).map(|index| place(&names, index, &names[index][0])).collect();
        assert_eq!(places, [(0, 3), (0, 2), (1, 3), (1, 2), (2, 3)]);
    }

    #[test]
    fn zeros_are_told_from_data() {
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        file.as_file().set_len(4 * MIB).unwrap();
        // A file system that takes no direct I/O tells nothing.
        let Some(all) = zeros(file.path(), 4 * MIB) else { return };
        assert_eq!(all, LOOKS);
        file.as_file().write_all_at(&[1; 2 << 20], 0).unwrap();
        assert_eq!(zeros(file.path(), 4 * MIB), Some(LOOKS / 2));
        assert_eq!(zeros(file.path(), 4096), None);
    }
}
