//! Which blocks are really touched, seen from the files.

use std::fs::File;

use serde_json::{Value, json};

use super::{MIB, contents, direct, directory, done, names, with};
use crate::engine::file::address::{AddressGenerator, Zipf};
use base::pattern::Header;
use host::sys::pages;

const BLOCKS: u64 = 256;
const THETA: f64 = 0.9;
const ROUNDS: u32 = 16;

/// 256 blocks in two files, drawn by Zipf.
fn base() -> Value {
    json!({
        "block-size": 4096, "file-size": MIB / 2, "direct": false, "sustained": false,
        "random-distribution": "zipf", "zipf-theta": THETA, "queue-depth": 1,
    })
}

/// The probability of each rank: in proportion to k^-theta.
fn powers() -> Vec<f64> {
    let powers = (1..=BLOCKS).map(|rank| (rank as f64).powf(-THETA));
    let sum: f64 = powers.clone().sum();
    powers.map(|power| power / sum).collect()
}

/// The rounds ago in which each block was written last; `None` where it never was.
fn ages(files: &[std::path::PathBuf]) -> Vec<Option<u32>> {
    let bytes: Vec<u8> = files.iter().flat_map(|path| contents(path)).collect();
    let headers = bytes.chunks(4096).map(|chunk| Header::read(chunk).map(|it| it.generation));
    let generations: Vec<Option<u32>> = headers.collect();
    let last = generations.iter().flatten().copied().max().unwrap();
    generations.iter().map(|it| it.map(|generation| last - generation)).collect()
}

/// A block of probability p is left out by a round of n draws with (1-p)^n, so the round in which
/// each was written last follows from the distribution.
#[test]
fn blocks_are_written_as_often_as_the_zipf_distribution_wants_them() {
    let folder = directory();
    let files = names(folder.path(), 1, 2);
    let write = json!({"access": "random-write", "stop": format!("{ROUNDS}MiB")});
    done(with(&base(), write), files.clone());
    let ages = ages(&files[0]);
    assert_eq!(ages.len() as u64, BLOCKS);
    let missed: Vec<f64> = powers().iter().map(|p| (1.0 - p).powi(BLOCKS as i32)).collect();
    let near = |got: usize, expected: f64, what: &str| {
        let room = 5.0 * expected.sqrt() + 3.0;
        assert!((got as f64 - expected).abs() < room, "{what}: {got} of {expected:.1}");
    };
    for age in 0..4 {
        let expected = missed.iter().map(|m| (1.0 - m) * m.powi(age as i32)).sum();
        let got = ages.iter().filter(|it| **it == Some(age)).count();
        near(got, expected, &format!("{age} rounds ago"));
    }
    let never = missed.iter().map(|m| m.powi(ROUNDS as i32)).sum();
    near(ages.iter().filter(|it| it.is_none()).count(), never, "never");
    // Drawn evenly, each of the 256 would have been written in the last round.
    assert!(ages.iter().filter(|it| **it == Some(0)).count() < 180, "{ages:?}");

    // The wanted blocks are the same whatever the seed, and they lie in both files.
    let (mut zipf, mut wanted) = (Zipf::new(BLOCKS, THETA, 77), vec![0; BLOCKS as usize]);
    (0..100_000).for_each(|_| wanted[zipf.next() as usize] += 1);
    let mut order: Vec<usize> = (0..BLOCKS as usize).collect();
    order.sort_by_key(|&block| std::cmp::Reverse(wanted[block]));
    for block in &order[..5] {
        assert_eq!(ages[*block], Some(0), "block {block} is wanted {} times", wanted[*block]);
    }
}

/// A map that is told not to read ahead brings the blocks that are read, and no other, into memory.
#[test]
fn blocks_are_read_as_often_as_the_distribution_wants_them() {
    let folder = directory();
    if !direct(folder.path()) {
        return;
    }
    let files = names(folder.path(), 1, 2);
    done(with(&base(), json!({"access": "write", "stop": "pass"})), files.clone());
    let touched = |distribution: &str| {
        let read = json!({
            "access": "random-read", "io-engine": "mmap", "stop": "1MiB",
            "random-distribution": distribution,
        });
        let result = done(with(&base(), read), files.clone());
        assert_eq!(result.streams[0].total.read_ops, BLOCKS);
        let resident = |path| pages::resident_bytes(&File::open(path).unwrap()).unwrap();
        files[0].iter().map(resident).sum::<u64>() / 4096
    };
    assert_eq!(touched("uniform"), BLOCKS, "each block once");
    let expected: f64 = powers().iter().map(|p| 1.0 - (1.0 - p).powi(BLOCKS as i32)).sum();
    let zipf = touched("zipf") as f64;
    assert!((zipf - expected).abs() < 4.0 * expected.sqrt(), "{zipf} of {expected:.1}");
}
