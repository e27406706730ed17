//! (pure) Rows 11 and 12: whose each sector of a block is.

use super::block::{self, HEADER_BYTES, Identity, NAME, SECTOR_BYTES};
use super::{BYTES_TRIED, Evidence, GENERATIONS_TRIED, Kind, words};

/// Whose a sector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sector {
    /// The sector of this block.
    Of(Identity),
    /// One byte over and over.
    Constant(u8),
    Unknown,
}

/// The byte that `bytes` consist of, when all are one.
pub fn one_byte(bytes: &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    // All are as the first when each is as the one before it.
    (rest == &bytes[..rest.len()]).then_some(*first)
}

/// Kind and sentence of a block all of whose sectors can be told, and are not of one writing.
pub fn explain(evidence: &Evidence) -> Option<(Kind, String)> {
    let sectors = label(evidence);
    let runs: Vec<(usize, Sector)> = (0..sectors.len())
        .filter(|at| *at == 0 || sectors[*at] != sectors[at - 1])
        .map(|at| (at * SECTOR_BYTES, sectors[at]))
        .collect();
    let known = sectors.iter().all(|sector| *sector != Sector::Unknown);
    if !known || runs.len() < 2 {
        return None;
    }
    let expected = evidence.expected;
    let stranger = sectors.iter().find_map(|sector| match sector {
        Sector::Of(other) if (other.file, other.offset) != (expected.file, expected.offset) => {
            Some(other)
        }
        Sector::Of(other) if other.campaign != expected.campaign => Some(other),
        _ => None,
    });
    let kind = match stranger {
        Some(other) if other.campaign != expected.campaign => Kind::Foreign,
        Some(_) => Kind::Misdirected,
        None => Kind::Torn,
    };
    Some((kind, tell(evidence, &runs)))
}

/// Whose each sector is. Candidates are the expected block, the one that the header names, and the
/// older generations of the expected one, newest first.
fn label(evidence: &Evidence) -> Vec<Sector> {
    let found = evidence.found;
    let mut sectors: Vec<Sector> = found
        .chunks(SECTOR_BYTES)
        .map(|sector| one_byte(sector).map_or(Sector::Unknown, Sector::Constant))
        .collect();
    let mut made = vec![0; found.len()];
    let expected = evidence.expected;
    let tried = GENERATIONS_TRIED.min(BYTES_TRIED / found.len().max(1) as u64);
    let oldest = evidence.oldest_generation.max(expected.generation.saturating_sub(tried));
    let older = (oldest..expected.generation).rev();
    let older = older.map(|generation| Identity { generation, ..expected });
    let named = evidence.format.bears(found);
    for identity in std::iter::once(expected).chain(named).chain(older) {
        if sectors.iter().all(|sector| *sector != Sector::Unknown) {
            break;
        }
        made[..NAME.end].copy_from_slice(&evidence.format.name(&identity));
        block::fill_payload(&identity, &mut made[HEADER_BYTES..]);
        for (index, sector) in sectors.iter_mut().enumerate() {
            if *sector == Sector::Unknown && is_same(index, found, &made) {
                *sector = Sector::Of(identity);
            }
        }
    }
    sectors
}

/// Whether a sector of two blocks is the same; time and checksum are not looked at, because no one
/// knows when the other block was written.
fn is_same(index: usize, found: &[u8], made: &[u8]) -> bool {
    // The block of a datagram may end in the middle of one.
    let (start, end) = (index * SECTOR_BYTES, ((index + 1) * SECTOR_BYTES).min(found.len()));
    if index > 0 {
        return found[start..end] == made[start..end];
    }
    found[NAME] == made[NAME] && found[HEADER_BYTES..end] == made[HEADER_BYTES..end]
}

/// Where the new data ends.
fn tell(evidence: &Evidence, runs: &[(usize, Sector)]) -> String {
    let expected = evidence.expected;
    let name = |sector: Sector| match sector {
        Sector::Of(of) if of == expected => format!("generation {} (the new data)", of.generation),
        Sector::Of(of) if of.campaign != expected.campaign => {
            format!("campaign {:#x}, {}", of.campaign, words::place(&of))
        }
        Sector::Of(of) if (of.file, of.offset) != (expected.file, expected.offset) => {
            format!("{}, generation {}", words::place(&of), of.generation)
        }
        Sector::Of(of) => format!("generation {}", of.generation),
        Sector::Constant(byte) => format!("{byte:#04x} over and over"),
        Sector::Unknown => "unknown".to_owned(),
    };
    /// Longer lists are cut.
    const RUNS_TOLD: usize = 6;
    let ends = runs.iter().skip(1).map(|(at, _)| *at).chain([evidence.found.len()]);
    let told = runs.iter().zip(ends).take(RUNS_TOLD);
    let told: Vec<String> = told
        .map(|((start, sector), end)| format!("bytes {start}..{end} are {}", name(*sector)))
        .collect();
    let more = runs.len() - told.len();
    let told = told.join(", ");
    if more > 0 { format!("{told}, and so on {more} times more") } else { told }
}
