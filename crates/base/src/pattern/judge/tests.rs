//! Every kind is injected at random and must get the name that the table gives it; what was not
//! touched must not be suspected.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;
use crate::hash::Checksum;

const EXPECTED: Identity = Identity { campaign: 77, file: 1 << 32, offset: 1 << 30, generation: 6 };
const OLDEST: u64 = 2;
const TIME_NS: u64 = 1_800_000_000_000_000_000;
/// Blocks that are read at once; about half of them are hurt.
const TOGETHER: usize = 16;

/// A stream of seeded choices.
struct Choice(Xoshiro256PlusPlus);

impl Choice {
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    fn bytes(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

fn made(format: Format, identity: Identity) -> Vec<u8> {
    let mut block = vec![0; format.block_bytes];
    format.write(&mut block, identity, TIME_NS + identity.generation);
    block
}

/// What a wrong block is made of, and what else is known of it.
struct Injury {
    found: Vec<u8>,
    named: Option<Vec<u8>>,
    again: Option<Vec<u8>>,
    /// What the sentence must say.
    says: String,
}

impl Injury {
    fn new(found: Vec<u8>, says: impl Into<String>) -> Injury {
        Injury { found, named: None, again: None, says: says.into() }
    }
}

/// Hurts `block`, which is `expected`, by the kind that is asked for.
fn hurt(kind: Kind, format: Format, expected: Identity, block: &[u8], by: &mut Choice) -> Injury {
    let bytes = block.len();
    let mut found = block.to_vec();
    match kind {
        Kind::BitFlip => {
            let flips = 1 + by.below(16);
            for at in 0..flips {
                // The first one is outside of the checksum's place; different bits, by their place.
                let bit = bytes * 8 / flips * at + by.below(bytes * 8 / flips);
                let in_checksum = (64 * 8..96 * 8).contains(&bit);
                let bit = if in_checksum { bit + 32 * 8 } else { bit };
                found[bit / 8] ^= 1 << (bit % 8);
            }
            Injury::new(found, "flipped: bit ")
        }
        Kind::Misdirected | Kind::Duplicated => misplaced(kind, format, expected, block, by),
        Kind::Stale => {
            let generation = OLDEST + by.below((expected.generation - OLDEST) as usize) as u64;
            let found = made(format, Identity { generation, ..expected });
            Injury::new(found, format!("generation {generation} came back where 6 was"))
        }
        Kind::Torn => torn(format, expected, block, by),
        Kind::Unwritten => {
            let byte = [0, 0xFF, by.below(256) as u8][by.below(3)];
            Injury::new(vec![byte; bytes], "all over")
        }
        Kind::Short => {
            let came = by.below(bytes);
            found.truncate(came);
            let says = if came > 0 { format!("{came} of {bytes}") } else { "nothing".into() };
            Injury::new(found, says)
        }
        Kind::Foreign => foreign(format, expected, block, by),
        Kind::ChecksumField => {
            match by.below(3) {
                0 => found[64 + by.below(32)] ^= 1 << by.below(8),
                1 => by.bytes(&mut found[64..96]),
                _ => found[64..96].fill(0),
            }
            Injury::new(found, "the checksum beside them is not")
        }
    }
}

fn misplaced(
    kind: Kind,
    format: Format,
    expected: Identity,
    block: &[u8],
    by: &mut Choice,
) -> Injury {
    let step = format.block_bytes as u64;
    let other = match by.below(3) {
        0 => Identity { file: expected.file + 1, ..expected },
        1 => Identity { offset: expected.offset + step * (1 + by.below(1000) as u64), ..expected },
        _ => Identity {
            file: 5 << 32 | 2,
            offset: by.below(1 << 20) as u64 * step,
            generation: 4,
            ..expected
        },
    };
    let found = made(format, other);
    let mut injury = Injury::new(found.clone(), format!("the block of offset {}", other.offset));
    if kind == Kind::Duplicated {
        injury.named = Some(found.clone());
        injury.again = [None, Some(found), Some(vec![0; block.len()])][by.below(3)].take();
        injury.says = "it lies there too".into();
        return injury;
    }
    match by.below(4) {
        0 => {}
        1 => {
            injury.named = Some(block.to_vec());
            injury.says = "the two are swapped".into();
        }
        2 => {
            injury.named = Some(made(format, Identity { generation: 1, ..other }));
            injury.says = "there lies generation 1".into();
        }
        _ => {
            injury.named = Some(found);
            injury.again = Some(block.to_vec());
            injury.says = "it was misread, not miswritten".into();
        }
    }
    injury
}

fn torn(format: Format, expected: Identity, block: &[u8], by: &mut Choice) -> Injury {
    let sectors = block.len() / SECTOR_BYTES;
    let cut = (1 + by.below(sectors - 1)) * SECTOR_BYTES;
    let generation = OLDEST + by.below((expected.generation - OLDEST) as usize) as u64;
    let old = made(format, Identity { generation, ..expected });
    let mut found = block.to_vec();
    let says = match by.below(4) {
        0 => {
            found[cut..].copy_from_slice(&old[cut..]);
            format!("bytes 0..{cut} are generation 6 (the new data), bytes {cut}..")
        }
        1 => {
            found[..cut].copy_from_slice(&old[..cut]);
            format!("bytes 0..{cut} are generation {generation}, bytes {cut}..")
        }
        2 => {
            found[cut..].fill(0);
            "are 0x00 over and over".to_owned()
        }
        _ => {
            found.copy_from_slice(&old);
            found[..cut].fill(0xFF);
            format!("bytes 0..{cut} are 0xff over and over, bytes {cut}..")
        }
    };
    Injury::new(found, says)
}

fn foreign(format: Format, expected: Identity, block: &[u8], by: &mut Choice) -> Injury {
    let mut found = block.to_vec();
    match by.below(4) {
        0 => {
            by.bytes(&mut found);
            Injury::new(found, "nothing of it is what was written")
        }
        1 => {
            let other = Identity { campaign: 9, file: by.below(99) as u64, ..expected };
            Injury::new(made(format, other), "a block of campaign 0x9")
        }
        2 => {
            let at = by.below(block.len() / SECTOR_BYTES) * SECTOR_BYTES;
            by.bytes(&mut found[at..at + SECTOR_BYTES]);
            Injury::new(found, "what was written")
        }
        _ => {
            let later = Identity { generation: 7 + by.below(9) as u64, ..expected };
            Injury::new(made(format, later), "which nobody asked for")
        }
    }
}

/// Injects at least `count` faults of each kind into blocks of one format.
fn inject(format: Format, kinds: &[Kind], count: usize, seed: u64) {
    let mut pristine = vec![0; format.block_bytes * TOGETHER];
    format.write(&mut pristine, EXPECTED, TIME_NS + EXPECTED.generation);
    let mut by = Choice(Xoshiro256PlusPlus::seed_from_u64(seed));
    for kind in kinds.iter().copied() {
        if kind == Kind::Torn && format.block_bytes == SECTOR_BYTES {
            continue; // Cannot be: it is stale.
        }
        let mut injected = 0;
        while injected < count {
            let mut read = pristine.clone();
            let mut hurt_ones = Vec::new();
            for (index, block) in read.chunks_mut(format.block_bytes).enumerate() {
                if by.below(2) == 0 {
                    continue;
                }
                let offset = EXPECTED.offset + (index * format.block_bytes) as u64;
                let expected = Identity { offset, ..EXPECTED };
                let injury = hurt(kind, format, expected, block, &mut by);
                check(kind, format, expected, block, &injury);
                let whole = injury.found.len() == block.len();
                // A short read ends the buffer; its length is what tells. Here it is judged alone.
                if whole {
                    block.copy_from_slice(&injury.found);
                    hurt_ones.push(index);
                }
                injected += 1;
            }
            assert_eq!(format.wrong(&read, EXPECTED, |_| 6), hurt_ones, "{kind:?} {format:?}");
        }
    }
}

/// `whole` is the block as it was written.
fn check(kind: Kind, format: Format, expected: Identity, whole: &[u8], injury: &Injury) {
    let evidence = Evidence {
        format,
        expected,
        found: &injury.found,
        named: injury.named.as_deref(),
        again: injury.again.as_deref(),
        oldest_generation: OLDEST,
    };
    assert!(!format.is_right(&injury.found, &expected), "{kind:?} is found");
    let judgement = judge(&evidence);
    assert_eq!(judgement.kind, kind, "{}", judgement.what);
    assert!(judgement.what.contains(&injury.says), "{} / {}", judgement.what, injury.says);
    let at = judgement.excerpt_at;
    assert!(at.is_multiple_of(SECTOR_BYTES) && at < format.block_bytes);
    let end = injury.found.len().min(at + SECTOR_BYTES);
    assert!(injury.found[..at.min(end)] == whole[..at.min(end)], "nothing differs before it");
    assert!(end < at + SECTOR_BYTES || injury.found[at..end] != whole[at..end], "{kind:?}");
}

#[test]
fn all_of_ten_thousand_faults_of_each_kind_are_found_and_named_as_the_table_says() {
    let format = |block_bytes, checksum| Format { block_bytes, checksum };
    inject(format(512, Checksum::Crc32c), Kind::ALL, 8000, 1);
    inject(format(1024, Checksum::Xxh3_64), Kind::ALL, 1700, 2);
    inject(format(1024, Checksum::Crc32c), &[Kind::Torn], 8000, 3);
    inject(format(2048, Checksum::Md5), Kind::ALL, 150, 4);
    inject(format(4096, Checksum::Blake3), Kind::ALL, 150, 5);
    inject(format(65536, Checksum::Xxh3_128), Kind::ALL, 8, 6);
    if std::env::var("BRICKYARD_LONG").is_ok_and(|long| long == "1") {
        for (index, checksum) in Checksum::ALL.into_iter().enumerate() {
            for (shift, count) in [(9, 10_000), (12, 10_000), (14, 2000), (17, 200), (20, 30)] {
                inject(format(1 << shift, checksum), Kind::ALL, count, 100 * shift + index as u64);
            }
        }
    }
}

fn judged(found: &[u8], oldest_generation: u64) -> (Kind, String) {
    let format = Format { block_bytes: 4096, checksum: Checksum::Crc32c };
    let evidence =
        Evidence { format, expected: EXPECTED, found, named: None, again: None, oldest_generation };
    let Judgement { kind, what, .. } = judge(&evidence);
    (kind, what)
}

fn at_generation(generation: u64) -> Vec<u8> {
    made(
        Format { block_bytes: 4096, checksum: Checksum::Crc32c },
        Identity { generation, ..EXPECTED },
    )
}

/// Where two rows of the table could stand, the earlier one does.
#[test]
fn kinds_that_share_their_bytes_are_told_apart_by_the_order_of_the_table() {
    let (new, old) = (at_generation(6), at_generation(4));
    assert_eq!(judged(&old, 0).0, Kind::Stale, "torn before its first sector");
    let mut damaged = old.clone();
    damaged[1000] ^= 0x11;
    let (kind, what) = judged(&damaged, 0);
    assert_eq!(kind, Kind::Stale, "row 10: {what}");
    assert!(what.contains("generation 4 came back") && what.contains("2 bits flipped"), "{what}");
    let mut shifted = made(
        Format { block_bytes: 4096, checksum: Checksum::Crc32c },
        Identity { offset: 0, ..EXPECTED },
    );
    shifted[95] ^= 1;
    assert_eq!(judged(&shifted, 0).0, Kind::Misdirected, "row 10");
    let mut checksum = new.clone();
    checksum[70] ^= 1;
    let what = "the bytes are right, the checksum beside them is not: ";
    assert!(judged(&checksum, 0).1.starts_with(what));
    checksum[40] ^= 8;
    assert_eq!(judged(&checksum, 0).0, Kind::BitFlip, "one of two is outside of the checksum");
    let mut generation = new.clone();
    generation[40] ^= 2;
    assert_eq!(judged(&generation, 0).0, Kind::BitFlip, "though it bears generation 4");
    assert_eq!(judged(&new, 0), (Kind::BitFlip, "no bit differs now: the block is right".into()));
    let mut partly = new.clone();
    partly[..1024].copy_from_slice(&shifted[..1024]);
    let (kind, what) = judged(&partly, 0);
    assert_eq!(kind, Kind::Misdirected, "row 12: {what}");
    assert!(what.starts_with("bytes 0..1024 are offset 0 of file 0 of stream 1"), "{what}");
    let xxh3 = Format { block_bytes: 4096, checksum: Checksum::Xxh3_64 };
    assert_eq!(judged(&made(xxh3, EXPECTED), 0).0, Kind::Foreign, "row 7");
    let small = Format { block_bytes: 512, checksum: Checksum::Crc32c };
    let small = [made(small, EXPECTED), vec![1; 4096 - 512]].concat();
    assert_eq!(judged(&small, 0).0, Kind::Foreign, "row 7");
}

#[test]
fn sectors_that_alternate_are_torn_and_what_is_too_old_is_foreign() {
    let (new, old) = (at_generation(6), at_generation(4));
    let mut mixed = new.clone();
    mixed[512..1024].copy_from_slice(&old[512..1024]);
    mixed[3072..].fill(0);
    let (kind, what) = judged(&mixed, 4);
    assert_eq!(kind, Kind::Torn);
    assert_eq!(
        what,
        "bytes 0..512 are generation 6 (the new data), bytes 512..1024 are generation 4, bytes \
         1024..3072 are generation 6 (the new data), bytes 3072..4096 are 0x00 over and over"
    );
    assert_eq!(judged(&mixed, 5).0, Kind::Foreign, "generation 4 was never here");
    let ancient = Identity { generation: GENERATIONS_TRIED + 10, ..EXPECTED };
    let format = Format { block_bytes: 4096, checksum: Checksum::Crc32c };
    let mut found = made(format, ancient);
    found[2048..].copy_from_slice(&old[2048..]);
    let evidence = Evidence {
        format,
        expected: ancient,
        found: &found,
        named: None,
        again: None,
        oldest_generation: 0,
    };
    assert_eq!(judge(&evidence).kind, Kind::Foreign, "more generations back than are tried");
}

/// Headers that look like ours, with numbers that are not; any length; any second reading.
#[test]
fn hostile_bytes_are_judged_without_a_panic() {
    let mut by = Choice(Xoshiro256PlusPlus::seed_from_u64(8));
    let whole = at_generation(6);
    let stamped = {
        let mut chunk = vec![3; 4096];
        crate::pattern::stamp(&mut chunk, crate::pattern::Header { file: 3, ..Default::default() });
        chunk
    };
    assert!(judged(&stamped, 0).1.contains("data without checksums, of offset 0 of file 3"));
    for round in 0..3000 {
        let mut found = if round % 2 == 0 { whole.clone() } else { stamped.clone() };
        for _ in 0..by.below(4) {
            let at = by.below(64) / 4 * 4;
            by.bytes(&mut found[at..at + 4]);
        }
        if by.below(2) == 0 {
            found[8..12].copy_from_slice(&(by.below(1 << 21) as u32).to_le_bytes());
        }
        let from = by.below(4096);
        if by.below(2) == 0 {
            by.bytes(&mut found[from..]);
        }
        found.truncate(by.below(3 * 4096));
        let other = whole.get(..by.below(5000)).unwrap_or(&found);
        let evidence = Evidence {
            format: Format { block_bytes: 4096, checksum: Checksum::ALL[by.below(5)] },
            expected: Identity { generation: u64::MAX, ..EXPECTED },
            found: &found,
            named: Some(other),
            again: Some(&found),
            oldest_generation: u64::MAX - by.below(9) as u64,
        };
        let judgement = judge(&evidence);
        assert!(!judgement.what.is_empty() && judgement.excerpt_at < 4096);
        assert_eq!(judgement.kind == Kind::Short, found.len() < 4096, "{}", judgement.what);
    }
}

/// The words follow from the names of variants; stores and the JSON contract hold them.
#[test]
fn words_that_are_kept_stay_as_they_are() {
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    let words = "bit-flip misdirected stale torn unwritten short foreign checksum-field duplicated";
    assert_eq!(kinds.join(" "), words);
    let checksums = Checksum::ALL.map(Checksum::name);
    assert_eq!(checksums, ["crc32c", "xxh3-64", "xxh3-128", "blake3", "md5"]);
}
