//! (pure) What happened to a block, as a sentence.

use super::super::Header;
use super::block::{CHECKSUM, Identity, SECTOR_BYTES};
use super::{Evidence, RereadOutcome, bits};

/// Whose block it is.
pub fn place(identity: &Identity) -> String {
    let (stream, number) = (identity.file >> 32, identity.file & 0xFFFF_FFFF);
    format!("offset {} of file {number} of stream {stream}", identity.offset)
}

pub fn short(found: &[u8], expected: &[u8]) -> String {
    let (came, whole) = (found.len(), expected.len());
    if came == 0 {
        return format!("nothing came of {whole} bytes");
    }
    let right = bits::first_difference(found, expected);
    if right == came {
        format!("{came} of {whole} bytes came, and they are right")
    } else {
        format!("{came} of {whole} bytes came, and they are wrong from byte {right} on")
    }
}

pub fn unwritten(byte: u8) -> String {
    match byte {
        0x00 => "zeros all over: nothing was ever written there, or its first write is lost".into(),
        0xFF => "0xff all over, as erased flash: nothing was ever written there".into(),
        _ => format!("{byte:#04x} all over: nothing of ours was ever written there"),
    }
}

pub fn checksum_field(evidence: &Evidence, expected: &[u8]) -> String {
    let used = evidence.format.checksum.digest_bytes();
    let hex = |block: &[u8]| -> String {
        let field = &block[CHECKSUM];
        // What should be zero is shown where it is not.
        let end = field.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        field[..end.max(used)].iter().map(|byte| format!("{byte:02x}")).collect()
    };
    format!(
        "the bytes are right, the checksum beside them is not: {} in place of {}",
        hex(evidence.found),
        hex(expected)
    )
}

/// What lies at the place that a misdirected block names.
pub fn at_its_own_place(evidence: &Evidence, borne: &Identity, there: bool) -> String {
    let Some(named) = evidence.named else {
        return "; what lies there is not known".into();
    };
    if there {
        return "; it lies there too".into();
    }
    match evidence.format.bears(named) {
        Some(other) if other == evidence.expected => {
            "; there lies the one that is missed here: the two are swapped".into()
        }
        Some(other) if (other.file, other.offset) == (borne.file, borne.offset) => {
            format!("; there lies generation {}", other.generation)
        }
        Some(other) => format!("; there lies the block of {}", place(&other)),
        None => "; there lies something else".into(),
    }
}

pub fn read_again(again: RereadOutcome) -> &'static str {
    match again {
        RereadOutcome::Unknown => "",
        RereadOutcome::Right => {
            "; read again, the right block came: it was misread, not miswritten"
        }
        RereadOutcome::Same => "; read again, the same came",
        RereadOutcome::Other => "; read again, something else came",
    }
}

/// What can be said of bytes that nobody knows.
pub fn foreign(evidence: &Evidence, expected: &[u8]) -> String {
    let found = evidence.found;
    let sectors = found.chunks(SECTOR_BYTES).zip(expected.chunks(SECTOR_BYTES));
    let wrong: Vec<usize> =
        sectors.enumerate().filter(|(_, (a, b))| a != b).map(|(index, _)| index).collect();
    let first = wrong.first().map_or(0, |sector| sector * SECTOR_BYTES);
    let end = wrong.last().map_or(0, |sector| (sector + 1) * SECTOR_BYTES).min(found.len());
    let (count, all) = (wrong.len(), found.len().div_ceil(SECTOR_BYTES));
    let mut what = if count == all {
        format!("nothing of it is what was written ({all} sectors)")
    } else {
        format!("{count} of {all} sectors are not what was written, in bytes {first}..{end}")
    };
    if let Some(borne) = evidence.format.bears(found).filter(|borne| *borne != evidence.expected) {
        what += &format!("; its header names {}, generation ", place(&borne));
        what += &format!("{} of campaign {:#x}", borne.generation, borne.campaign);
    } else if let Some(stamp) = Header::read(found) {
        let file = Identity { campaign: 0, file: stamp.file, offset: stamp.offset, generation: 0 };
        what += &format!("; data without checksums, of {} ", place(&file));
        what += &format!("of campaign {:#x}", stamp.campaign);
    }
    what
}
