//! Which files a trial uses.

use crate::knob::Settings;

/// Where the files of a trial are: for each stream its files, as (directory, file number).
/// Streams are dealt to the directories in turn; those of one directory are dealt its files.
pub fn files_of(settings: &Settings, first_file: u32) -> Vec<Vec<(usize, usize)>> {
    let places = settings.directories().len().max(1);
    let streams = settings.whole("streams") as usize;
    let files = settings.whole("files") as usize;
    // Engines that do not read and write files in blocks have none, or make and remove their own.
    if files == 0 || !settings.has("access") {
        return Vec::new();
    }
    let per_place = streams.div_ceil(places);
    let of_stream = |stream: usize| {
        let rank = stream / places;
        let number = |n: usize| first_file as usize + rank + n * per_place;
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
