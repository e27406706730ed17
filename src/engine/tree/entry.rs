//! The names of a stream, made beforehand and in the order in which it comes to them.

use std::ffi::CStr;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::job::{Before, Job, Work};
use crate::plan::shuffle;

/// Bytes of a name with its end: `f0001.000042`.
const NAME_BYTES: usize = 13;
/// A file.
pub const FILE: u8 = b'f';
/// A file that was renamed, or the second name of one.
pub const OTHER: u8 = b'g';
/// A directory that is worked on; those of the tree begin with `d`.
pub const MADE: u8 = b'm';

/// One name, and the directory that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    name: [u8; NAME_BYTES],
    /// Number of the directory in the stream's tree.
    pub directory: u32,
    /// Number of the file in the stream.
    pub number: u32,
}

impl Entry {
    /// The file `number` of `stream`; stream and number have at most four and six digits.
    pub fn new(letter: u8, stream: usize, number: u32, directory: u32) -> Entry {
        let mut name = [b'0'; NAME_BYTES];
        let text = format!("{}{:04}.{number:06}", letter as char, stream % 10_000);
        let kept = text.len().min(NAME_BYTES - 1);
        name[..kept].copy_from_slice(&text.as_bytes()[..kept]);
        name[NAME_BYTES - 1] = 0;
        Entry { name, directory, number }
    }

    /// The name.
    #[inline]
    pub fn name(&self) -> &CStr {
        // SAFETY: `new` fills all bytes but the last with a letter, digits and a point, and no
        // other place writes anything but a letter: the one NUL is at the end.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.name) }
    }

    /// The same file under its other name.
    #[inline]
    pub fn other(&self) -> Entry {
        let mut other = *self;
        other.name[0] = if self.name[0] == OTHER { FILE } else { OTHER };
        other
    }
}

/// The names that `stream` works on, in its order. Files are spread evenly over the directories of
/// the tree, the upper ones too, as mdtest does; neighbours by number are in one directory.
pub fn entries(job: &Job, stream: usize) -> Vec<Entry> {
    let directories = job.directories().min(u64::from(u32::MAX)) as u32;
    let mut all: Vec<Entry> = match job.work {
        Work::Readdir => (0..directories).map(|at| Entry::new(FILE, stream, at, at)).collect(),
        work => {
            let directory = work.before() == Before::Directories || work == Work::Mkdir;
            let letter = if directory { MADE } else { FILE };
            let number = 0..job.files as u32;
            number.map(|n| Entry::new(letter, stream, n, home(job, n, directories))).collect()
        }
    };
    if job.random {
        let seed = job.seed ^ (stream as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        shuffle(&mut all, &mut Xoshiro256PlusPlus::seed_from_u64(seed));
    }
    all
}

/// The files that must be there before the names of [`entries`] are worked on, in the order of
/// their numbers.
pub fn files(job: &Job, stream: usize) -> Vec<Entry> {
    let directories = job.directories().min(u64::from(u32::MAX)) as u32;
    let letter = if job.work.before() == Before::Directories { MADE } else { FILE };
    let entry = |n: u32| Entry::new(letter, stream, n, home(job, n, directories));
    match job.work.before() {
        Before::Nothing => Vec::new(),
        _ => (0..job.files as u32).map(entry).collect(),
    }
}

/// The directory of file `number`.
fn home(job: &Job, number: u32, directories: u32) -> u32 {
    (u64::from(number) * u64::from(directories) / job.files.max(1)) as u32
}

/// How many files of one stream are in each directory.
pub fn per_directory(job: &Job) -> Vec<u64> {
    let directories = job.directories().min(u64::from(u32::MAX)) as u32;
    let mut counts = vec![0; directories as usize];
    for number in 0..job.files as u32 {
        counts[home(job, number, directories) as usize] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::testing::settings;

    fn job(knobs: &[(&str, &str)]) -> Job {
        let base = [("cold", "false"), ("stop", "pass"), ("file-size", "0"), ("files", "10")];
        let all: Vec<_> = base.iter().chain(knobs).copied().collect();
        Job::of(&settings("tree", &all), 1, 2).unwrap()
    }

    #[test]
    fn names_say_stream_and_number_and_have_another_that_differs_in_its_letter() {
        let entry = Entry::new(FILE, 12, 345, 0);
        assert_eq!(entry.name().to_str(), Ok("f0012.000345"));
        assert_eq!(entry.other().name().to_str(), Ok("g0012.000345"));
        assert_eq!(entry.other().other(), entry);
        assert_eq!(Entry::new(MADE, 99_999, u32::MAX, 0).name().to_bytes().len(), 12);
    }

    #[test]
    fn files_are_spread_evenly_over_all_directories_and_neighbours_stay_together() {
        let job = job(&[("tree-depth", "1"), ("tree-width", "3")]);
        assert_eq!(per_directory(&job), [3, 2, 3, 2]);
        let places: Vec<u32> = entries(&job, 0).iter().map(|entry| entry.directory).collect();
        assert!(places.is_sorted());
        let few = self::job(&[("tree-depth", "1"), ("tree-width", "99")]);
        assert_eq!(per_directory(&few).iter().sum::<u64>(), 10);
    }

    #[test]
    fn a_random_order_has_every_name_once_and_is_the_same_for_one_seed() {
        let job = job(&[("order", "random"), ("files", "1000")]);
        let (mut one, other) = (entries(&job, 3), entries(&job, 3));
        assert_eq!(one, other);
        assert_ne!(one, entries(&job, 4));
        assert!(!one.is_sorted_by_key(|entry| entry.number));
        one.sort_by_key(|entry| entry.number);
        assert!(one.iter().enumerate().all(|(at, entry)| entry.number as usize == at));
    }

    #[test]
    fn what_must_be_there_is_there_and_no_more() {
        let letters = |operation: &str| {
            let job = job(&[("operation", operation)]);
            let first = |all: Vec<Entry>| all.first().map(|entry| entry.name().to_bytes()[0]);
            (first(files(&job, 0)), first(entries(&job, 0)))
        };
        assert_eq!(letters("create"), (None, Some(b'f')));
        assert_eq!(letters("stat"), (Some(b'f'), Some(b'f')));
        assert_eq!(letters("mkdir"), (None, Some(b'm')));
        assert_eq!(letters("rmdir"), (Some(b'm'), Some(b'm')));
    }
}
