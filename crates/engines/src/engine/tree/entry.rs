//! The names of a stream, made beforehand and in the order in which it comes to them.

use std::ffi::CStr;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::job::{Before, TreeJob, TreeOperation};
use experiment::plan::shuffle;

/// Bytes of the longest name with its end: 22 as bonnie++ names files.
const NAME_BYTES: usize = 23;
/// Bytes of every other name: `f0001.000042`.
const NUMBERED_BYTES: usize = 12;
/// Hexadecimal digits of a file's number, as bonnie++ names it.
const BONNIE_DIGITS: usize = 10;
/// Letters or digits beside the number at most.
const BONNIE_TAIL: u64 = 12;
/// A file.
pub const FILE: u8 = b'f';
/// A file that was renamed, or the second name of one.
pub const OTHER: u8 = b'g';
/// A directory that is worked on; those of the tree begin with `d`.
pub const MADE: u8 = b'm';

/// One name, and the directory that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name, zeros, and in the last byte how many bytes are left: none is its end as well.
    name: [u8; NAME_BYTES],
    /// Number of the directory in the stream's tree.
    pub directory: u32,
    /// Number of the file in the stream.
    pub number: u32,
}

impl Entry {
    /// The file `number` of `stream`; stream and number have at most four and six digits.
    pub fn new(letter: u8, stream: usize, number: u32, directory: u32) -> Entry {
        let text = format!("{}{:04}.{number:06}", letter as char, stream % 10_000);
        Entry::from_text(&text.as_bytes()[..NUMBERED_BYTES.min(text.len())], number, directory)
    }

    /// The same file as bonnie++ 2.00a would name it (`COpenTest::make_names` in its bon_file.cpp):
    /// ten hexadecimal digits, and 0 to 12 letters or digits drawn at random, which stand before
    /// the number where the order is random. Numbers go on from stream to stream, so that no two
    /// have one name.
    pub fn as_bonnie(job: &TreeJob, stream: usize, number: u32, directory: u32) -> Entry {
        const LETTERS: &[u8; 62] =
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        let whole = stream as u64 * job.files + u64::from(number);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(job.seed ^ whole.wrapping_add(1) << 32);
        let length = (random.next_u64() >> 32) % (BONNIE_TAIL + 1);
        let mut letter = || char::from(LETTERS[((random.next_u64() >> 32) % 62) as usize]);
        let tail: String = (0..length).map(|_| letter()).collect();
        let text = match job.random {
            true => format!("{tail}{whole:0BONNIE_DIGITS$x}"),
            false => format!("{whole:0BONNIE_DIGITS$x}{tail}"),
        };
        Entry::from_text(text.as_bytes(), number, directory)
    }

    /// Of a name without zeros, of which so many bytes are kept as there is room for.
    fn from_text(text: &[u8], number: u32, directory: u32) -> Entry {
        let mut name = [0; NAME_BYTES];
        let kept = text.len().min(NAME_BYTES - 1);
        name[..kept].copy_from_slice(&text[..kept]);
        name[NAME_BYTES - 1] = (NAME_BYTES - 1 - kept) as u8;
        Entry { name, directory, number }
    }

    /// The name.
    #[inline]
    pub fn name(&self) -> &CStr {
        let end = NAME_BYTES - 1 - usize::from(self.name[NAME_BYTES - 1]);
        // SAFETY: `of` fills the bytes before `end` with letters, digits and a point, the one at
        // `end` with zero (where that is the last, it counts no bytes left), and no other place
        // writes anything but a letter: the one NUL is at the end.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.name[..=end]) }
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
pub fn entries(job: &TreeJob, stream: usize) -> Vec<Entry> {
    let directories = job.directories().min(u64::from(u32::MAX)) as u32;
    let mut all: Vec<Entry> = match job.work {
        TreeOperation::Readdir => {
            (0..directories).map(|at| Entry::new(FILE, stream, at, at)).collect()
        }
        work => {
            let directory = work.before() == Before::Directories || work == TreeOperation::Mkdir;
            let letter = if directory { MADE } else { FILE };
            let number = 0..job.files as u32;
            number.map(|n| named(job, letter, stream, n, home(job, n, directories))).collect()
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
pub fn files(job: &TreeJob, stream: usize) -> Vec<Entry> {
    let directories = job.directories().min(u64::from(u32::MAX)) as u32;
    let letter = if job.work.before() == Before::Directories { MADE } else { FILE };
    let entry = |n: u32| named(job, letter, stream, n, home(job, n, directories));
    match job.work.before() {
        Before::Nothing => Vec::new(),
        _ => (0..job.files as u32).map(entry).collect(),
    }
}

/// The file `number` of `stream`, named as was asked.
fn named(job: &TreeJob, letter: u8, stream: usize, number: u32, directory: u32) -> Entry {
    match job.bonnie_names {
        true => Entry::as_bonnie(job, stream, number, directory),
        false => Entry::new(letter, stream, number, directory),
    }
}

/// Whether a name is that of a file as bonnie++ would name it; directories of a tree have at most
/// five digits.
pub fn is_bonnies(name: &[u8]) -> bool {
    name.len() >= BONNIE_DIGITS
}

/// The directory of file `number`.
fn home(job: &TreeJob, number: u32, directories: u32) -> u32 {
    (u64::from(number) * u64::from(directories) / job.files.max(1)) as u32
}

/// How many files of one stream are in each directory.
pub fn per_directory(job: &TreeJob) -> Vec<u64> {
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
    use experiment::knob::testing::settings;

    fn job(knobs: &[(&str, &str)]) -> TreeJob {
        let base = [("cold", "false"), ("stop", "pass"), ("file-size", "0"), ("files", "10")];
        let all: Vec<_> = base.iter().chain(knobs).copied().collect();
        TreeJob::from_settings(&settings("tree", &all), 1, 2).unwrap()
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
    fn names_as_bonnies_have_ten_digits_and_up_to_twelve_letters_and_none_is_there_twice() {
        let knobs = [("names", "bonnie"), ("files", "2000")];
        let in_order = job(&knobs);
        let at_random = job(&[&knobs[..], &[("order", "random")]].concat());
        for (job, digits_first) in [(in_order, true), (at_random, false)] {
            let all: Vec<Entry> = (0..2).flat_map(|stream| entries(&job, stream)).collect();
            let names: std::collections::HashSet<&[u8]> =
                all.iter().map(|entry| entry.name().to_bytes()).collect();
            assert_eq!(names.len(), 4000);
            let lengths: Vec<usize> = names.iter().map(|name| name.len()).collect();
            assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&10), Some(&22)));
            let mean = lengths.iter().sum::<usize>() as f64 / 4000.0;
            assert!((15.5..16.5).contains(&mean), "{mean}");
            for name in names {
                let digits = if digits_first { &name[..10] } else { &name[name.len() - 10..] };
                assert!(digits.iter().all(u8::is_ascii_hexdigit), "{name:?}");
                assert!(name.is_ascii() && is_bonnies(name));
            }
            assert!(files(&job, 1).is_empty(), "a file is made in the clock");
        }
        let job = job(&[&knobs[..], &[("operation", "stat"), ("order", "random")]].concat());
        let mut worked_on = entries(&job, 1);
        worked_on.sort_unstable_by_key(|entry| entry.number);
        assert_eq!(worked_on, files(&job, 1), "what is worked on is what was made");
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
