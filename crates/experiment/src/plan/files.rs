//! Which files a trial uses.

use crate::knob::{self, Settings};

/// The number of the first file that is made anew in each round. Such files are removed after their
/// trial, and are none of those that others read: else each `fresh-file` trial would leave a short
/// file behind, and what it was laid out with would have to be written again before the next read.
pub const FRESH_FROM: usize = 1_000_000_000;

/// Where the files of a trial are: for each stream its files, as (directory, file number).
/// Streams are dealt to the directories in turn; those of one directory are dealt its files.
pub fn files_of(settings: &Settings, first_file: u32) -> Vec<Vec<(usize, usize)>> {
    let places = settings.directories().len().max(1);
    let streams = settings.get(knob::STREAMS) as usize;
    let files = settings.get(knob::FILES) as usize;
    // Engines that do not read and write files in blocks have none, or make and remove their own.
    if files == 0 || !settings.has(knob::ACCESS) {
        return Vec::new();
    }
    let first = match settings.get(knob::FRESH_FILE) {
        true => FRESH_FROM,
        false => first_file as usize,
    };
    let per_place = streams.div_ceil(places);
    let of_stream = |stream: usize| {
        let rank = stream / places;
        let number = |n: usize| first + rank + n * per_place;
        (0..files).map(|n| (stream % places, number(n))).collect()
    };
    (0..streams).map(of_stream).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::testing::dealt;

    #[test]
    fn streams_are_dealt_over_directories_and_share_no_file() {
        let files = files_of(&dealt(5, 3, &["/a", "/b"]), 0);
        let places: Vec<usize> = files.iter().map(|of| of[0].0).collect();
        assert_eq!(places, [0, 1, 0, 1, 0]);
        let mut all: Vec<_> = files.into_iter().flatten().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!((count, all.len()), (15, 15));
    }
}
