//! (pure) What happened to a block that is not the one that was expected.
//!
//! The verdict is a truth table over three things: the block that was found, what lies at the place
//! whose name it bears, and what a second reading gave. The first row that applies stands; where
//! two kinds would leave the same bytes, the order of the rows says which name they get.
//!
//! | | the block that was found | at the place it names | read again | kind |
//! |---|---|---|---|---|
//! | 1 | fewer bytes than a block | - | - | `short` |
//! | 2 | one byte over and over: 0x00, 0xff or any other | - | - | `unwritten` |
//! | 3 | intact, of another campaign | - | - | `foreign` |
//! | 4 | intact, of another file or offset | that very block | not right | `duplicated` |
//! | 5 | intact, of another file or offset | anything else | any | `misdirected` |
//! | 6 | intact, of its place, an older generation | - | - | `stale` |
//! | 7 | intact, of its place, not asked for | - | - | `foreign` |
//! | 8 | right but for the checksum (bytes 64..96) | - | - | `checksum-field` |
//! | 9 | at most [`FLIPS_MAX`] other bits differ | - | - | `bit-flip` |
//! | 10 | as few differ from the block whose name it bears | - | - | rows 3 to 7 |
//! | 11 | sectors of several writings of its place | - | - | `torn` |
//! | 12 | as 11, with sectors of the place it names | - | - | `misdirected` |
//! | 13 | anything else | - | - | `foreign` |
//!
//! - *Intact*: its checksum is right for the format and the name that it bears.
//! - Row 4 needs a block that was read from the named place and is the same, byte by byte. It is
//!   `duplicated` when the second reading was not made, too.
//! - Row 7: a generation not yet asked for, or the right one in another format.
//! - Row 10: `duplicated` needs an intact block; these are `misdirected`.
//! - Row 11: every sector of 512 bytes is of this place, of any generation, or one byte over and
//!   over (a part that was never written), and they are not all alike.
//! - Row 12: a place in another campaign makes it `foreign`.
//!
//! These share their bytes, and are told apart by the order alone: a torn write of a block of one
//! sector, or one that tore before its first sector, is a lost write (`stale`); a lost first write
//! is `unwritten`; a flipped bit of the checksum is `checksum-field`; a misread block (row 5, right
//! when it is read again) is `misdirected` though the place it names holds it too, because it lies
//! on the device once.
//!
//! Older generations are looked for by making their payload anew, the newest first, at most
//! [`GENERATIONS_TRIED`] of them and [`BYTES_TRIED`] bytes; a torn block whose other part is older
//! than that is `foreign`. Nothing here is unbounded, whatever the bytes.

use super::block::{self, Format, Identity, SECTOR_BYTES};

mod bits;
mod sectors;
mod words;

/// Blocks that differ in more bits than this from what they should be were not hit by flipped bits.
/// Unrelated bytes differ in half of their bits: 16 of them are enough.
pub const FLIPS_MAX: u32 = 64;

/// So many generations of a block are tried at most to explain its sectors.
pub const GENERATIONS_TRIED: u64 = 1024;

/// So many bytes are made anew at most to explain the sectors of one block.
pub const BYTES_TRIED: u64 = 64 << 20;

/// What can happen to a block.
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A few bits are not what was written.
    BitFlip,
    /// Another place's block, read from or written to the wrong place.
    Misdirected,
    /// An earlier writing of this place: a later write was lost.
    Stale,
    /// Sectors of more than one writing.
    Torn,
    /// Nothing was ever written there.
    Unwritten,
    /// The read ended early.
    Short,
    /// Data that was never written to this place in this campaign.
    Foreign,
    /// All is right but the checksum itself.
    ChecksumField,
    /// Another place's block, which is at its own place too.
    Duplicated,
}

impl Kind {
    /// All of them.
    #[cfg(test)]
    pub const ALL: &[Kind] = <Kind as strum::VariantArray>::VARIANTS;

    /// The word of the store, of JSON and of the report.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What is known of a wrong block.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// How blocks are laid out.
    pub format: Format,
    /// Which block should have come.
    pub expected: Identity,
    /// What came; shorter than a block when the read was short. More than a block is not looked at.
    pub found: &'a [u8],
    /// What lies at the place whose name the block bears, when it could be read.
    pub named: Option<&'a [u8]>,
    /// What came when the expected place was read again for the first time.
    pub again: Option<&'a [u8]>,
    /// The oldest generation that this place may ever have had.
    pub oldest_generation: u64,
}

/// What happened to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// By the table.
    pub kind: Kind,
    /// One sentence without a full stop: which bits and how many, whose block, which generation
    /// came back, where the new data ends.
    pub what: String,
    /// Where the 512-byte sector of the first difference begins in the block, bytes.
    pub excerpt_at: usize,
}

/// Names what happened to a block. A block with which nothing is wrong (any more) is a bit flip of
/// no bits.
pub fn judge(evidence: &Evidence) -> Judgement {
    let expected = evidence.format.expected(&evidence.expected, evidence.found);
    let (kind, what) = if evidence.found.len() < expected.len() {
        (Kind::Short, words::short(evidence.found, &expected))
    } else {
        let evidence = Evidence { found: &evidence.found[..expected.len()], ..*evidence };
        whole(&evidence, &expected)
    };
    let excerpt_at = bits::first_difference(evidence.found, &expected);
    let excerpt_at = excerpt_at.min(expected.len() - 1) / SECTOR_BYTES * SECTOR_BYTES;
    Judgement { kind, what, excerpt_at }
}

/// Rows 2 and on.
fn whole(evidence: &Evidence, expected: &[u8]) -> (Kind, String) {
    let found = evidence.found;
    if let Some(byte) = sectors::one_byte(found) {
        return (Kind::Unwritten, words::unwritten(byte));
    }
    if let Some((format, borne)) = block::borne(found)
        && found.get(..format.block_bytes).is_some_and(|block| format.is_right(block, &borne))
        && (borne != evidence.expected || format != evidence.format)
    {
        return relation(evidence, &borne, true);
    }
    let flips = bits::count_outside_checksum(found, expected);
    if flips == 0 && found != expected {
        return (Kind::ChecksumField, words::checksum_field(evidence, expected));
    }
    if flips <= FLIPS_MAX {
        return (Kind::BitFlip, bits::words(found, expected));
    }
    if let Some(borne) = evidence.format.bears(found).filter(|borne| *borne != evidence.expected) {
        let named = evidence.format.expected(&borne, found);
        if bits::count_outside_checksum(found, &named) <= FLIPS_MAX {
            let (kind, what) = relation(evidence, &borne, false);
            return (kind, format!("{what}; and {}", bits::words(found, &named)));
        }
    }
    sectors::explain(evidence)
        .unwrap_or_else(|| (Kind::Foreign, words::foreign(evidence, expected)))
}

/// Rows 3 to 7: what it means that the block found is `borne`.
fn relation(evidence: &Evidence, borne: &Identity, intact: bool) -> (Kind, String) {
    let expected = &evidence.expected;
    let place = words::place(borne);
    let generation = borne.generation;
    if borne.campaign != expected.campaign {
        let campaign = borne.campaign;
        let what = format!("a block of campaign {campaign:#x}: {place}, generation {generation}");
        return (Kind::Foreign, what);
    }
    if (borne.file, borne.offset) != (expected.file, expected.offset) {
        let again = RereadOutcome::of(evidence);
        let there = evidence.named.is_some_and(|named| intact && named == evidence.found);
        let kind = if there && again != RereadOutcome::Right {
            Kind::Duplicated
        } else {
            Kind::Misdirected
        };
        let mut what = format!("the block of {place}, generation {generation}");
        what += &words::at_its_own_place(evidence, borne, there);
        what += words::read_again(again);
        return (kind, what);
    }
    if generation < expected.generation {
        let what = format!(
            "generation {generation} came back where {} was written last: {}",
            expected.generation,
            if expected.generation - generation == 1 {
                "one write is lost"
            } else {
                "writes are lost"
            },
        );
        return (Kind::Stale, what);
    }
    if generation > expected.generation {
        let what = format!(
            "generation {generation} of this place, which nobody asked for; {} was written last",
            expected.generation,
        );
        return (Kind::Foreign, what);
    }
    (Kind::Foreign, "the same name in another format: its checksum is of another kind".into())
}

/// What the second reading of the expected place gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RereadOutcome {
    Unknown,
    Right,
    Same,
    Other,
}

impl RereadOutcome {
    fn of(evidence: &Evidence) -> RereadOutcome {
        match evidence.again {
            None => RereadOutcome::Unknown,
            Some(again) if evidence.format.is_right(again, &evidence.expected) => {
                RereadOutcome::Right
            }
            Some(again) if again == evidence.found => RereadOutcome::Same,
            Some(_) => RereadOutcome::Other,
        }
    }
}

#[cfg(test)]
mod tests;
