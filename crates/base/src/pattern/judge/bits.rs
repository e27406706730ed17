//! (pure) Which bits of two blocks differ.

use super::block::CHECKSUM;

/// Flipped bits beyond so many are counted, not listed.
const BITS_LISTED: usize = 16;

/// Where two byte strings begin to differ; the length of the shorter one when they do not.
pub fn first_difference(one: &[u8], two: &[u8]) -> usize {
    let shorter = one.len().min(two.len());
    let mut at = 0;
    for (a, b) in one.chunks(64).zip(two.chunks(64)) {
        if a != b {
            let inside = a.iter().zip(b).position(|(a, b)| a != b);
            return at + inside.unwrap_or(a.len().min(b.len()));
        }
        at += 64;
    }
    at.min(shorter)
}

/// How many bits differ outside of the checksum field. The blocks are of one length.
pub fn count_outside_checksum(one: &[u8], two: &[u8]) -> u32 {
    let part = |range: std::ops::RangeTo<usize>| count(&one[range], &two[range]);
    part(..CHECKSUM.start) + count(&one[CHECKSUM.end..], &two[CHECKSUM.end..])
}

fn count(one: &[u8], two: &[u8]) -> u32 {
    let mut bits = 0;
    for (a, b) in one.chunks(64).zip(two.chunks(64)) {
        if a != b {
            let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
            for (a, b) in a.iter().zip(b) {
                bits += (u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b)).count_ones();
            }
            bits += a_rest.iter().zip(b_rest).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>();
        }
    }
    bits
}

/// Which bits of `found` differ from `expected`, the first ones by their place: bits are counted
/// from the least significant one of each byte.
pub fn words(found: &[u8], expected: &[u8]) -> String {
    let flipped = count(found, expected);
    let mut places = Vec::new();
    let pairs = found.chunks(64).zip(expected.chunks(64)).enumerate();
    for (index, (a, b)) in pairs.filter(|(_, (a, b))| a != b) {
        for (at, (a, b)) in a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b) {
            for bit in (0..8).filter(|bit| (a ^ b) >> bit & 1 == 1) {
                if places.len() < BITS_LISTED {
                    let change = if a >> bit & 1 == 1 { "0 became 1" } else { "1 became 0" };
                    places.push(format!("bit {bit} of byte {} ({change})", index * 64 + at));
                }
            }
        }
    }
    let more = flipped as usize - places.len();
    let places = places.join(", ");
    match (flipped, more) {
        (0, _) => "no bit differs now: the block is right".to_owned(),
        (1, _) => format!("1 bit flipped: {places}"),
        (_, 0) => format!("{flipped} bits flipped: {places}"),
        _ => format!("{flipped} bits flipped: {places} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_found_wherever_it_is() {
        let one: Vec<u8> = (0..200).map(|i| i as u8).collect();
        for at in 0..200 {
            let mut two = one.clone();
            two[at] ^= 4;
            assert_eq!(first_difference(&one, &two), at);
            assert_eq!(first_difference(&one[..at], &one), at);
        }
        assert_eq!(first_difference(&one, &one), 200);
        assert_eq!(first_difference(&[], &[]), 0);
    }

    #[test]
    fn bits_are_counted_and_the_first_are_named() {
        let one = vec![0_u8; 512];
        let mut two = one.clone();
        assert_eq!(words(&two, &one), "no bit differs now: the block is right");
        two[300] = 0b1000_0001;
        assert_eq!(
            words(&two, &one),
            "2 bits flipped: bit 0 of byte 300 (0 became 1), bit 7 of byte 300 (0 became 1)"
        );
        assert_eq!(words(&one, &two).matches("1 became 0").count(), 2);
        two[70] = 0xFF;
        assert_eq!(count_outside_checksum(&two, &one), 2, "byte 70 is in the checksum field");
        two[400..402].fill(0xFF);
        let many = words(&two, &one);
        assert!(many.starts_with("26 bits flipped: bit 0 of byte 70"), "{many}");
        assert!(many.ends_with("and 10 more"), "{many}");
        assert_eq!(many.matches(" of byte ").count(), BITS_LISTED);
    }
}
