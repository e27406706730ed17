//! What is done with bytes whose sum is wrong: they are read again in three ways, so that what was
//! wrong on its way is told from what is wrong where it lies; and where one of the readings is
//! right, the two are held against each other bit by bit.

use std::fmt::Write;
use std::path::Path;

use super::shared::{VerificationContext, lock};
use super::source::{AlignedMemory, ReadMode, TargetReader, stamp_of};
use experiment::measurement::integrity::{EXCERPT_BYTES, Fault, Lasting, Reread};

/// The sums differ, and no more is known.
pub const MISMATCH: &str = "mismatch";
/// A few bits differ.
pub const BIT_FLIP: &str = "bit-flip";
/// Zeros came in the place of data.
pub const ZEROS: &str = "unwritten";
/// The file ended before its size.
pub const SHORT: &str = "short";

/// More bits than these in one block are no flip of single bits.
const FLIPS_MAX: u32 = 8;
/// So many places of bits are named.
const PLACES_MAX: usize = 4;
/// What the third way reads by.
const OTHER_BYTES: usize = 64 << 10;

/// A block whose sum is not the one that it had before.
pub struct MismatchedBlock<'a> {
    /// Where faults are kept.
    pub shared: &'a VerificationContext,
    /// Which file.
    pub file: usize,
    /// Where in it, bytes.
    pub offset: u64,
    /// What came.
    pub found: &'a [u8],
    /// Whether bytes have the sum that is expected.
    pub is_right: &'a dyn Fn(&[u8]) -> bool,
}

impl MismatchedBlock<'_> {
    /// Reads it again, and notes what is known of it then.
    pub fn judge(&self) {
        let held = &self.shared.files[self.file];
        let Some(stamp) = self.still() else { return };
        let mut right: Option<Vec<u8>> = None;
        let mut rereads = Vec::new();
        for (how, way, piece) in ways(&held.path, self.found.len()) {
            if self.shared.stop.insisted() {
                break;
            }
            let gave = match self.again(way, piece) {
                Err(why) => why.to_string(),
                Ok(bytes) if (self.is_right)(&bytes) => {
                    right.get_or_insert(bytes);
                    "right".to_owned()
                }
                Ok(bytes) if bytes == self.found => "same-wrong".to_owned(),
                Ok(_) => "other-wrong".to_owned(),
            };
            rereads.push(Reread { how: how.to_owned(), gave });
        }
        // Written to while it was read again: nothing follows.
        if self.still() != Some(stamp) {
            return;
        }
        let lasting = lasting(&rereads);
        let mut fault = match &right {
            Some(right) => difference(right, self.found),
            None => Fault {
                kind: MISMATCH.to_owned(),
                what: "it differs from its first reading, each time that it is read again: either \
                       what lies there has changed, or the first reading was wrong"
                    .to_owned(),
                ..Fault::default()
            },
        };
        (fault.offset, fault.rereads, fault.lasting) = (self.offset, rereads, lasting);
        self.shared.fault(self.file, fault, self.found.len() as u64);
    }

    /// The state of the file, when it is the one that its sums are of.
    fn still(&self) -> Option<super::source::Stamp> {
        let held = &self.shared.files[self.file];
        let stamp = lock(&held.state).stamp;
        match stamp_of(&held.path) {
            Ok(now) if now == stamp => Some(stamp),
            Ok(now) => {
                self.shared.changed(self.file, &now);
                None
            }
            Err(why) => {
                self.shared.problem(&held.shown, super::find::kind_of(&why), why.to_string());
                None
            }
        }
    }

    fn again(&self, way: ReadMode, piece: usize) -> std::io::Result<Vec<u8>> {
        let held = &self.shared.files[self.file];
        let mut source = TargetReader::open(&held.path, way)?;
        let length = self.found.len();
        let mut buffer = AlignedMemory::new(piece.min(length).next_multiple_of(4096));
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let part = piece.min(length - bytes.len());
            let got = source.read(buffer.bytes_mut(), self.offset + bytes.len() as u64, part)?;
            bytes.extend_from_slice(&buffer.bytes()[..got]);
            if got < part {
                break;
            }
        }
        self.shared.delivered(&source, 1, 0);
        Ok(bytes)
    }
}

/// The three ways in which something is read again that was read by requests of `bytes`: how they
/// are called, around the page cache or through it, and by requests of how many bytes. Where the
/// file system has no direct I/O, the same request finds what memory holds.
pub fn ways(path: &Path, bytes: usize) -> [(&'static str, ReadMode, usize); 3] {
    let direct = TargetReader::open(path, ReadMode::Around).is_ok_and(|source| source.is_direct());
    [
        ("same", if direct { ReadMode::Around } else { ReadMode::Through }, bytes),
        ("direct", ReadMode::Around, bytes),
        ("other-size", ReadMode::Around, OTHER_BYTES),
    ]
}

/// What follows from the three: `same`, `direct`, `other-size`.
pub fn lasting(rereads: &[Reread]) -> Lasting {
    let gave = |how: &str| rereads.iter().find(|one| one.how == how).map(|one| one.gave.as_str());
    match (gave("same"), gave("direct"), gave("other-size")) {
        (Some("right"), Some("right"), Some("right")) => Lasting::Transient,
        (Some("same-wrong"), Some("right"), Some("right")) => Lasting::InMemory,
        (_, Some("same-wrong"), Some("same-wrong")) => Lasting::Persistent,
        _ => Lasting::Unknown,
    }
}

/// A file that gives fewer bytes than its size says, and has not shrunk.
pub fn short(
    shared: &VerificationContext,
    file: usize,
    source: &TargetReader,
    (offset, got, length): (u64, usize, usize),
) {
    lock(&shared.files[file].state).partial = true;
    if source.stamp_now().is_ok_and(|now| now == source.stamp) {
        let ends = offset + got as u64;
        let size = source.stamp.size;
        let what = format!("its size is {size}, and it ends at {ends}");
        let fault = Fault { offset, kind: SHORT.to_owned(), what, ..Fault::default() };
        shared.fault(file, fault, length as u64);
    }
}

/// What differs between the right bytes and those that were found.
pub fn difference(right: &[u8], found: &[u8]) -> Fault {
    let pairs = || right.iter().zip(found).enumerate().filter(|(_, (right, found))| right != found);
    let bits: u32 = pairs().map(|(_, (right, found))| (right ^ found).count_ones()).sum();
    let bytes = pairs().count();
    let first = pairs().next().map_or(0, |(at, _)| at);
    let last = pairs().next_back().map_or(0, |(at, _)| at);
    let sectors = pairs().map(|(at, _)| at / EXCERPT_BYTES);
    let zeros = bytes > 0 && pairs().all(|(_, (_, found))| *found == 0) && bits > FLIPS_MAX;
    let kind = match bits {
        0 => MISMATCH,
        1..=FLIPS_MAX => BIT_FLIP,
        _ if zeros => ZEROS,
        _ => MISMATCH,
    };
    let mut what = format!("{bits} bits in {bytes} bytes differ");
    if kind == BIT_FLIP {
        let places: Vec<String> = pairs().take(PLACES_MAX).map(places).collect();
        let _ = write!(what, ": {}", places.join("; "));
        if bytes > PLACES_MAX {
            let _ = write!(what, "; and {} bytes more", bytes - PLACES_MAX);
        }
    } else if bits > 0 {
        let mut sectors: Vec<usize> = sectors.collect();
        sectors.dedup();
        let _ = write!(what, " between bytes {first} and {last}, in {} sectors", sectors.len());
        if zeros {
            what.push_str(", all of them zero");
        }
    }
    let excerpt_at = first / EXCERPT_BYTES * EXCERPT_BYTES;
    Fault {
        kind: kind.to_owned(),
        what,
        excerpt_at: excerpt_at as u64,
        expected: excerpt(right, excerpt_at),
        found: excerpt(found, excerpt_at),
        ..Fault::default()
    }
}

/// `byte 17: bit 3 is 1, not 0`.
fn places((at, (right, found)): (usize, (&u8, &u8))) -> String {
    let different = (0..8).filter(|bit| (right ^ found) >> bit & 1 == 1);
    let bits: Vec<String> = different
        .map(|bit| format!("bit {bit} is {}, not {}", found >> bit & 1, right >> bit & 1))
        .collect();
    format!("byte {at}: {}", bits.join(", "))
}

fn excerpt(bytes: &[u8], at: usize) -> String {
    let end = (at + EXCERPT_BYTES).min(bytes.len());
    let part = bytes.get(at..end).unwrap_or_default();
    part.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_is_named_with_its_byte_and_its_sector() {
        let right = vec![0x55; 4096];
        let mut found = right.clone();
        found[1030] ^= 8;
        let fault = difference(&right, &found);
        assert_eq!(fault.kind, BIT_FLIP);
        assert_eq!(fault.what, "1 bits in 1 bytes differ: byte 1030: bit 3 is 1, not 0");
        assert_eq!(fault.excerpt_at, 1024);
        assert_eq!(fault.expected, "55".repeat(512));
        assert_eq!(&fault.found[..16], "5555555555555d55");
    }

    #[test]
    fn zeros_and_other_data_are_told_apart() {
        let right: Vec<u8> = (0..4096_u32).map(|at| (at % 251 + 1) as u8).collect();
        let mut found = right.clone();
        found[512..1024].fill(0);
        let fault = difference(&right, &found);
        assert_eq!(fault.kind, ZEROS);
        assert!(fault.what.ends_with("between bytes 512 and 1023, in 1 sectors, all of them zero"));
        found[600] = 9;
        let fault = difference(&right, &found);
        assert_eq!((fault.kind.as_str(), fault.excerpt_at), (MISMATCH, 512));
        assert_eq!(difference(&right, &right).kind, MISMATCH);
    }

    #[test]
    fn what_lasts_follows_from_all_three_readings_or_is_unknown() {
        let all = |gave: [&str; 3]| {
            let hows = ["same", "direct", "other-size"];
            let one = |(how, gave): (&str, &str)| Reread { how: how.into(), gave: gave.into() };
            lasting(&hows.into_iter().zip(gave).map(one).collect::<Vec<_>>())
        };
        assert_eq!(all(["right", "right", "right"]), Lasting::Transient);
        assert_eq!(all(["same-wrong", "right", "right"]), Lasting::InMemory);
        assert_eq!(all(["same-wrong", "same-wrong", "same-wrong"]), Lasting::Persistent);
        assert_eq!(all(["right", "same-wrong", "same-wrong"]), Lasting::Persistent);
        assert_eq!(all(["right", "same-wrong", "right"]), Lasting::Unknown);
        assert_eq!(all(["other-wrong", "other-wrong", "other-wrong"]), Lasting::Unknown);
        assert_eq!(lasting(&[]), Lasting::Unknown);
    }
}
