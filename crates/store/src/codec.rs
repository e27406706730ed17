//! Series as few bytes: columns one after the other, second differences as zigzag varints,
//! deflated. Counters grow evenly, so most second differences are small.
//!
//! Layout before deflate: version 1, then the source's name, the number of columns and of rows,
//! the times, then each column as name, kind (0 counter, 1 gauge) and values. Texts are a length
//! and UTF-8; all numbers are LEB128 varints.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use facts::counters::series::{Column, ColumnKind, Series};

const VERSION: u64 = 1;
/// Nothing honest inflates to more; a damaged or hostile blob stops here.
const INFLATED_BYTES_MAX: u64 = 256 << 20;
/// Nor has any machine more counters.
const COLUMNS_MAX: u64 = 1 << 17;

/// The series as stored.
pub fn encode(series: &Series) -> Vec<u8> {
    let mut raw = Vec::with_capacity(series.at_ns.len() * (series.columns.len() + 1) * 2);
    put(&mut raw, VERSION);
    put_text(&mut raw, &series.source);
    put(&mut raw, series.columns.len() as u64);
    put(&mut raw, series.at_ns.len() as u64);
    put_numbers(&mut raw, series.at_ns.iter().map(|&at| at as u64));
    for column in &series.columns {
        put_text(&mut raw, &column.name);
        put(&mut raw, u64::from(column.kind == ColumnKind::Gauge));
        put_numbers(&mut raw, column.values.iter().copied());
    }
    packed(&raw)
}

/// These bytes, deflated.
pub fn packed(raw: &[u8]) -> Vec<u8> {
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::new(6));
    let written = deflate.write_all(raw);
    written.and_then(|()| deflate.finish()).expect("a vector takes every byte")
}

/// The series that [`encode`] made these bytes of; `None` when they are damaged, or are more than
/// `numbers` of them.
pub fn decode(blob: &[u8], numbers: usize) -> Option<Series> {
    let mut raw = Vec::new();
    DeflateDecoder::new(blob).take(INFLATED_BYTES_MAX).read_to_end(&mut raw).ok()?;
    let mut rest = raw.as_slice();
    if take(&mut rest)? != VERSION {
        return None;
    }
    let source = take_text(&mut rest)?;
    let columns = take(&mut rest)?;
    let rows = usize::try_from(take(&mut rest)?).ok()?;
    if columns > COLUMNS_MAX || rows.checked_mul(columns as usize + 1)? > numbers {
        return None;
    }
    let at_ns = take_numbers(&mut rest, rows)?.into_iter().map(|at| at as i64).collect();
    let mut series = Series { source, at_ns, columns: Vec::new() };
    for _ in 0..columns {
        let name = take_text(&mut rest)?;
        let kind = if take(&mut rest)? == 1 { ColumnKind::Gauge } else { ColumnKind::Counter };
        series.columns.push(Column { name, kind, values: take_numbers(&mut rest, rows)? });
    }
    rest.is_empty().then_some(series)
}

fn put_numbers(to: &mut Vec<u8>, numbers: impl Iterator<Item = u64>) {
    let (mut last, mut last_step) = (0u64, 0u64);
    for number in numbers {
        let step = number.wrapping_sub(last);
        let change = step.wrapping_sub(last_step) as i64;
        put(to, ((change << 1) ^ (change >> 63)) as u64);
        (last, last_step) = (number, step);
    }
}

fn take_numbers(from: &mut &[u8], rows: usize) -> Option<Vec<u64>> {
    if rows > from.len() {
        return None; // each number takes a byte at least
    }
    let (mut last, mut last_step) = (0u64, 0u64);
    let mut numbers = Vec::with_capacity(rows);
    for _ in 0..rows {
        let zigzag = take(from)?;
        let change = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
        last_step = last_step.wrapping_add(change);
        last = last.wrapping_add(last_step);
        numbers.push(last);
    }
    Some(numbers)
}

fn put_text(to: &mut Vec<u8>, text: &str) {
    put(to, text.len() as u64);
    to.extend_from_slice(text.as_bytes());
}

fn take_text(from: &mut &[u8]) -> Option<String> {
    let length = usize::try_from(take(from)?).ok()?;
    let (text, rest) = from.split_at_checked(length)?;
    *from = rest;
    String::from_utf8(text.to_vec()).ok()
}

fn put(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn take(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use engines::engine::testing::{run, settings};
    use experiment::measurement::latency;
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    fn decode(blob: &[u8]) -> Option<Series> {
        super::decode(blob, 1 << 20)
    }

    /// 200 KB in a store took 8 GiB when a report was asked for.
    #[test]
    fn few_bytes_that_inflate_to_many_are_refused() {
        let bomb = |columns: u64, rows: u64, bytes: usize| {
            let mut raw = Vec::new();
            put(&mut raw, VERSION);
            put_text(&mut raw, "x");
            put(&mut raw, columns);
            put(&mut raw, rows);
            raw.resize(raw.len() + bytes, 0);
            let mut deflate = DeflateEncoder::new(Vec::new(), Compression::new(9));
            deflate.write_all(&raw).unwrap();
            deflate.finish().unwrap()
        };
        let small = bomb(1, 1000, 2002);
        assert!(decode(&small).is_some(), "so far it is honest");
        assert_eq!(super::decode(&small, 1999), None);
        for (columns, rows) in [(0, 64 << 20), (1 << 26, 0), (1 << 40, 1 << 40), (u64::MAX, 1)] {
            let bomb = bomb(columns, rows, 64 << 20);
            assert!(bomb.len() < 100_000, "{}", bomb.len());
            assert_eq!(decode(&bomb), None, "{columns} x {rows}");
        }
    }

    proptest! {
        #[test]
        fn any_series_comes_back(
            at_ns in proptest::collection::vec(any::<i64>(), 0..20),
            seed in any::<u64>(),
            columns in 0usize..4,
        ) {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let column = |n| Column {
                name: format!("column {n}"),
                kind: if n % 2 == 0 { ColumnKind::Counter } else { ColumnKind::Gauge },
                values: at_ns.iter().map(|_| random.next_u64()).collect(),
            };
            let columns = (0..columns).map(column).collect();
            let series = Series { source: "x".into(), at_ns: at_ns.clone(), columns };
            prop_assert_eq!(decode(&encode(&series)), Some(series));
        }

        #[test]
        fn damaged_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn a_cut_series_is_refused_at_every_length() {
        let column = Column { name: "x".into(), kind: ColumnKind::Gauge, values: vec![7, 1 << 40] };
        let series = Series { source: "y".into(), at_ns: vec![0, 9], columns: vec![column] };
        let blob = encode(&series);
        for length in 0..blob.len() {
            assert_ne!(decode(&blob[..length]), Some(series.clone()), "{length}");
        }
    }

    #[test]
    fn the_latency_classes_of_ten_seconds_come_back_from_under_4_kib() {
        let load = [("access", "random-mix"), ("streams", "8"), ("stop", "10s")];
        let measurement = run(&settings(&load), 1).unwrap();
        let series = latency::class_series(&measurement).unwrap();
        assert!(series.at_ns.len() > 99 && series.columns.len() > 3, "{series:?}");
        let bytes = encode(series);
        assert_eq!(decode(&bytes).as_ref(), Some(series));
        assert!(bytes.len() < 4 << 10, "{} bytes", bytes.len());
    }

    /// rule 3: 20 s of 64 CPUs and 24 disks take under 200 KiB.
    #[test]
    fn twenty_seconds_of_a_large_server_take_under_200_kib() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let rows = 201;
        let mut counter = |name: String, step: u64, jitter: u64| {
            let mut sum = random.next_u64() >> 34;
            let mut next = || {
                sum += step + random.next_u64() % jitter.max(1);
                sum
            };
            Column { name, kind: ColumnKind::Counter, values: (0..rows).map(|_| next()).collect() }
        };
        let mut stat = Series { source: "stat".into(), ..Series::default() };
        stat.at_ns = (0..rows).map(|row| row * 100_000_000 + row % 7 * 1_000).collect();
        let mut disks = Series { source: "diskstats".into(), ..stat.clone() };
        for cpu in 0..64 {
            for kind in ["user", "system", "iowait", "irq", "softirq", "steal", "idle"] {
                // Ticks of 10 ms, given in ns: what /proc/stat can tell.
                let mut column = counter(format!("cpu{cpu}.{kind}_ns"), 2, 5);
                column.values.iter_mut().for_each(|ticks| *ticks *= 10_000_000);
                stat.columns.push(column);
            }
        }
        for disk in 0..24 {
            for (kind, step) in [("read_ops", 3_000), ("write_ops", 0), ("write_bytes", 0)] {
                disks.columns.push(counter(format!("sd{disk}.{kind}"), step, step / 10));
            }
            let mut bytes = counter(format!("sd{disk}.read_bytes"), 40_000, 4_000);
            bytes.values.iter_mut().for_each(|sectors| *sectors *= 512);
            disks.columns.push(bytes);
            disks.columns.push(counter(format!("sd{disk}.busy_ms"), 90, 10));
            disks.columns.push(counter(format!("sd{disk}.queue_ms"), 2_500, 500));
        }
        let total = encode(&stat).len() + encode(&disks).len();
        assert!(total < 200 << 10, "{total} bytes");
    }
}
