//! (pure) Latency over time: how many operations of each interval fell into each latency class.
//!
//! A histogram tells how long operations took and not when. Beside it each stream counts them by
//! class, of which there are few enough to be sampled like any other counter. The classes are two
//! an octave, the upper half of each beginning half above its start, as in a histogram of Tene's
//! HdrHistogram with a single bit of precision; from 2^10 ns to 2^36 ns, and open at both ends.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

use super::Measurement;
use facts::counters::series::Series;
use facts::counters::table::{Field, Table};

/// The name of the series.
pub const SOURCE: &str = "latency";

/// The first bound is 2^10 ns, about 1 us: a call into the kernel takes a good part of that.
const FIRST_OCTAVE: usize = 10;
/// The last bound is 2^36 ns, 68.7 s: twice the 30 s after which Linux gives up a SCSI command.
const LAST_OCTAVE: usize = 36;

/// How many classes there are.
pub const CLASSES: usize = 2 * (LAST_OCTAVE - FIRST_OCTAVE) + 2;

/// Operations of each class, cumulative or in some interval.
pub type LatencyClassCounts = [u64; CLASSES];

/// A row each 100 ms at first, and half as many whenever there are so many: two minutes are known
/// as finely as anything else is, and a picture has room for no more.
const EVERY_NS: u64 = 100_000_000;
const ROWS_MAX: usize = 1200;

const FIELDS: &[Field] = &[Field::counter("ops")];

/// The most digits of a histogram: ours have three, and each further one takes ten times the room.
const DIGITS_MAX: u32 = 4;
/// No trial has so many operations, and two thousand streams of them can still be counted.
const OPERATIONS_MAX: u64 = 1 << 53;

/// How such a histogram begins, and where its counts do: HdrHistogram's format V2, not deflated.
const COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];
const HEAD_BYTES: usize = 40;

/// A histogram as stores and workers keep it (HdrHistogram's format V2).
///
/// # Errors
/// Why it is none, in words, or one that no trial can have: its head asks for more room than ours,
/// or for more than there is, or its counts are more than can be added up.
pub fn decode(bytes: &[u8]) -> Result<Histogram<u64>, String> {
    // Its head says how many bytes of counts follow, and for how many counts there must be room:
    // numbers of four bytes each, which are believed before anything else is looked at.
    let told = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let follow = bytes.len().saturating_sub(HEAD_BYTES);
    let fits = told(4).is_some_and(|length| length as usize <= follow);
    let digits = told(12).is_some_and(|digits| digits <= DIGITS_MAX);
    if !bytes.starts_with(&COOKIE) || !fits || !digits {
        return Err("its head makes no sense".to_owned());
    }
    // A number of nine bytes is larger than any count, and the library turns its sign unasked.
    let nine = |bytes: &[u8]| bytes.iter().all(|byte| *byte >= 0x80);
    let counts = bytes.get(HEAD_BYTES..).unwrap_or_default();
    if counts.windows(8).any(nine) {
        return Err("its counts make no sense".to_owned());
    }
    let read = Deserializer::new().deserialize(&mut &*bytes);
    let histogram: Histogram<u64> = read.map_err(|error| error.to_string())?;
    match histogram.len() > OPERATIONS_MAX {
        true => Err("its counts make no sense".to_owned()),
        false => Ok(histogram),
    }
}

/// The class of a latency in ns; any value has one.
#[inline]
pub fn class(latency_ns: u64) -> usize {
    // Whatever lies below the first bound stands for the half octave under it, whose number is 0.
    let held = latency_ns.clamp(3 << (FIRST_OCTAVE - 2), 1 << LAST_OCTAVE);
    let octave = held.ilog2() as usize;
    let half = (held >> (octave - 1)) as usize & 1;
    2 * octave + half + 1 - 2 * FIRST_OCTAVE
}

/// The least latency of a class, ns; beyond the last class there is none.
pub fn from_ns(class: usize) -> Option<u64> {
    let Some(place) = class.checked_sub(1) else { return Some(0) };
    let octave = FIRST_OCTAVE + place / 2;
    (class < CLASSES).then(|| (2 + (place as u64 & 1)) << (octave - 1))
}

/// The name of the class's column without its field: `from_1024_ns`.
fn scope(class: usize) -> String {
    format!("from_{}_ns", from_ns(class).unwrap_or_default())
}

/// The class whose column has this name; `None` when it is no column of a class.
pub fn class_of(column: &str) -> Option<usize> {
    let bound = column.strip_prefix("from_")?.strip_suffix("_ns.ops")?;
    let bound = bound.parse::<u64>().ok()?;
    let class = class(bound);
    (from_ns(class) == Some(bound)).then_some(class)
}

/// The series of a trial; `None` when nobody counted by class, or its samples were let go.
pub fn class_series(measurement: &Measurement) -> Option<&Series> {
    measurement.counters.iter().find(|series| series.source == SOURCE)
}

/// The classes of a trial, sampled while it runs.
#[derive(Debug)]
pub struct Course {
    table: Table,
    rows: usize,
    last_ns: u64,
    every_ns: u64,
}

impl Default for Course {
    fn default() -> Course {
        let table = Table::new(SOURCE, FIELDS, true);
        let mut course = Course { table, rows: 0, last_ns: 0, every_ns: EVERY_NS };
        course.row(0, &[0; CLASSES]);
        course
    }
}

impl Course {
    /// Whether a row is due, `at_ns` after the release.
    pub fn is_due(&self, at_ns: u64) -> bool {
        // By the grid and not by the last row: those that come a little late do not move the next.
        at_ns / self.every_ns > self.last_ns / self.every_ns
    }

    /// What was counted until `at_ns` after the release, which is after the last row.
    pub fn row(&mut self, at_ns: u64, counts: &LatencyClassCounts) {
        if self.rows >= ROWS_MAX {
            self.table.halve();
            self.rows = self.table.rows();
            self.every_ns *= 2;
        }
        self.table.begin(at_ns);
        (self.rows, self.last_ns) = (self.rows + 1, at_ns);
        self.fill(counts);
    }

    /// Into the last row; classes in which nothing has fallen so far have no column.
    fn fill(&mut self, counts: &LatencyClassCounts) {
        for (class, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.table.put(scope(class).as_bytes(), 0, *count);
        }
        self.table.end();
    }

    /// The series, with what was counted until the end at `at_ns` after the release; `None` when no
    /// latency was recorded. A row at or after the end becomes that of the end.
    pub fn end(mut self, at_ns: u64, counts: &LatencyClassCounts) -> Option<Series> {
        if at_ns > self.last_ns {
            self.row(at_ns, counts);
        } else {
            self.fill(counts);
        }
        let mut series = self.table.into_series(0);
        series.columns.sort_by_key(|column| class_of(&column.name));
        (!series.columns.is_empty()).then_some(series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer as _, V2Serializer};
    use proptest::prelude::*;

    /// A fuzzer wrote counts that overflow when they are added up: the library, which adds them for
    /// a percentile, came to a place that it takes for unreachable.
    #[test]
    fn counts_that_cannot_be_added_up_are_no_histogram() {
        let packed = |counts: [u64; 2]| {
            let mut histogram = Histogram::<u64>::new_with_bounds(1, 1 << 40, 3).unwrap();
            for (power, count) in counts.into_iter().enumerate() {
                histogram.record_n(1 << (10 * power), count).unwrap();
            }
            let mut bytes = Vec::new();
            V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
            bytes
        };
        let most = i64::MAX as u64;
        for counts in [[most, most], [OPERATIONS_MAX, 1]] {
            assert_eq!(decode(&packed(counts)), Err("its counts make no sense".to_owned()));
        }
        let read = decode(&packed([OPERATIONS_MAX - 1, 1])).unwrap();
        assert_eq!((read.len(), read.value_at_quantile(0.5)), (OPERATIONS_MAX, 1));
        let mut greedy = packed([1, 1]);
        greedy[15] = 5;
        assert_eq!(decode(&greedy), Err("its head makes no sense".to_owned()));
    }

    /// A fuzzer wrote a histogram of 43 bytes whose head said that 1.5 GiB of counts follow. The
    /// library made room for them before it looked for the first.
    #[test]
    fn a_head_that_tells_of_more_counts_than_follow_takes_no_memory_and_no_count_is_endless() {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&Histogram::<u64>::new(3).unwrap(), &mut bytes).unwrap();
        assert!(decode(&bytes).is_ok());
        let senseless = Err("its head makes no sense".to_owned());
        for length in [u32::try_from(bytes.len() - HEAD_BYTES + 1).unwrap(), 0x6000_0003, u32::MAX]
        {
            let mut greedy = bytes.clone();
            greedy[4..8].copy_from_slice(&length.to_be_bytes());
            assert_eq!(decode(&greedy), senseless, "{length}");
        }
        // The least of all numbers has no opposite: debug builds of the library panicked.
        let counts = [[0xff; 9].as_slice(), &[0xff; 7], &[2]].concat();
        let length = u32::try_from(counts.len()).unwrap().to_be_bytes();
        let least = [&bytes[..4], &length, &bytes[8..HEAD_BYTES], &counts].concat();
        assert_eq!(decode(&least), Err("its counts make no sense".to_owned()));
        // Deflated, what the head says would stand where nobody has looked.
        bytes[3] += 1;
        assert_eq!(decode(&bytes), senseless);
        bytes[3] -= 1;
        for end in 0..bytes.len() {
            let mut short = bytes[..end].to_vec();
            assert!(decode(&short).is_err(), "{end}");
            short.iter_mut().take(8).skip(4).for_each(|byte| *byte = 0);
            assert!(end >= HEAD_BYTES || decode(&short).is_err(), "{end}, no counts told");
        }
    }

    #[test]
    fn classes_follow_each_other_two_an_octave_and_the_ends_are_open() {
        assert_eq!([0, 1, 1023].map(class), [0; 3]);
        assert_eq!([1024, 1535, 1536, 2047, 2048].map(class), [1, 1, 2, 2, 3]);
        assert_eq!([(1 << 36) - 1, 1 << 36, u64::MAX].map(class), [52, 53, 53]);
        assert_eq!((from_ns(0), from_ns(CLASSES)), (Some(0), None));
        for at in 1..CLASSES {
            let bound = from_ns(at).unwrap();
            assert_eq!((class(bound - 1), class(bound)), (at - 1, at), "{bound}");
            assert!(at < 2 || bound * 2 <= from_ns(at - 1).unwrap() * 3, "at most half more");
        }
    }

    proptest! {
        #[test]
        fn every_latency_lies_within_the_bounds_of_its_class_alone(shift in 0u32..64, any: u64) {
            let ns = any >> shift;
            let holds = |at: &usize| {
                from_ns(*at).unwrap() <= ns && from_ns(at + 1).is_none_or(|next| ns < next)
            };
            prop_assert_eq!((0..CLASSES).filter(holds).collect::<Vec<_>>(), [class(ns)]);
        }
    }

    #[test]
    fn the_columns_are_named_by_their_bound_and_other_names_are_nobodys() {
        for at in 0..CLASSES {
            assert_eq!(class_of(&format!("{}.ops", scope(at))), Some(at));
        }
        for name in ["from_1025_ns.ops", "from_1024_ns", "from_x_ns.ops", "cpu0.user_ns", ""] {
            assert_eq!(class_of(name), None, "{name}");
        }
    }

    fn counts(of: &[(usize, u64)]) -> LatencyClassCounts {
        let mut counts = [0; CLASSES];
        of.iter().for_each(|(class, count)| counts[*class] = *count);
        counts
    }

    #[test]
    fn a_class_has_a_column_once_something_fell_into_it() {
        let mut course = Course::default();
        assert!(!course.is_due(99_999_999) && course.is_due(100_000_000));
        course.row(100_300_000, &counts(&[(9, 4)]));
        assert!(!course.is_due(199_999_999) && course.is_due(200_000_000));
        course.row(200_100_000, &counts(&[(3, 1), (9, 5)]));
        // The end was before the last row was read, and an operation was in hand then.
        let series = course.end(200_000_000, &counts(&[(3, 1), (9, 6)])).unwrap();
        assert_eq!(series.at_ns, [0, 100_300_000, 200_100_000]);
        let told = series.columns.iter().map(|of| (class_of(&of.name).unwrap(), &of.values[..]));
        assert_eq!(told.collect::<Vec<_>>(), [(3, &[0, 0, 1][..]), (9, &[0, 4, 6])]);
        assert_eq!(Course::default().end(7, &counts(&[])), None);
    }

    #[test]
    fn a_night_is_no_larger_than_minutes_and_has_all_its_counts() {
        let mut course = Course::default();
        let mut sum = 0;
        let night_ns = 8 * 3600 * 1_000_000_000;
        for at_ns in (0..night_ns).step_by(EVERY_NS as usize).skip(1) {
            sum += 3;
            if course.is_due(at_ns) {
                course.row(at_ns, &counts(&[(20, sum)]));
            }
        }
        let series = course.end(night_ns, &counts(&[(20, sum + 1)])).unwrap();
        let rows = series.at_ns.len();
        assert!((ROWS_MAX / 2..=ROWS_MAX).contains(&rows), "{rows}");
        assert_eq!(series.columns[0].values.last(), Some(&(sum + 1)));
        let steps = series.at_ns.windows(2).map(|two| two[1] - two[0]);
        let longest = steps.max().unwrap();
        assert!(longest <= 51_200_000_000, "{longest}: the rows are spread over the night");
    }
}
