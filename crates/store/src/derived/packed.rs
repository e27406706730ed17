//! Values by name in few bytes, of which one can be had without looking at the others.
//!
//! An entry a name, in the order of the names' numbers: the number (u32), a kind (u8) and eight
//! bytes that are the value; of a text, where it begins behind the entries and how long it is (u32
//! each). All numbers are little-endian.

/// Number, kind, value.
const ENTRY_BYTES: usize = 13;
const INTEGER: u8 = 0;
const REAL: u8 = 1;
const TEXT: u8 = 2;

/// A value that a name can stand for, as it is packed.
#[derive(Clone, Debug, PartialEq)]
pub enum PackedValue<'a> {
    /// A whole number, or a switch as 0 or 1.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// A word or a text.
    Text(std::borrow::Cow<'a, str>),
}

/// Packs values by the numbers of their names, of which each is there once.
pub fn pack(mut values: Vec<(u32, PackedValue<'_>)>) -> Vec<u8> {
    values.sort_by_key(|(name, _)| *name);
    let mut texts: Vec<u8> = Vec::new();
    let mut packed = Vec::with_capacity(4 + values.len() * ENTRY_BYTES);
    packed.extend((values.len() as u32).to_le_bytes());
    for (name, held) in &values {
        packed.extend(name.to_le_bytes());
        let (kind, bytes) = match held {
            PackedValue::Integer(number) => (INTEGER, number.to_le_bytes()),
            PackedValue::Real(number) => (REAL, number.to_le_bytes()),
            PackedValue::Text(text) => {
                let place = texts.len() as u64 | (text.len() as u64) << 32;
                texts.extend(text.as_bytes());
                (TEXT, place.to_le_bytes())
            }
        };
        packed.push(kind);
        packed.extend(bytes);
    }
    packed.extend(texts);
    packed
}

/// The numbers of the names, as far as the bytes are whole.
pub fn names(packed: &[u8]) -> Vec<u32> {
    let Some((count, rest)) = packed.split_first_chunk::<4>() else { return Vec::new() };
    let entries = rest.chunks_exact(ENTRY_BYTES).take(u32::from_le_bytes(*count) as usize);
    let name = |entry: &[u8]| entry.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    entries.filter_map(name).collect()
}

/// What `name` stands for; `None` where it is not there, or the bytes are damaged.
pub fn unpack(packed: &[u8], name: u32) -> Option<PackedValue<'_>> {
    let (count, rest) = packed.split_first_chunk::<4>()?;
    let count = u32::from_le_bytes(*count) as usize;
    let (entries, texts) = rest.split_at_checked(count.checked_mul(ENTRY_BYTES)?)?;
    let entry = |at: usize| entries.get(at * ENTRY_BYTES..(at + 1) * ENTRY_BYTES);
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        let (number, value) = entry(middle)?.split_first_chunk::<4>()?;
        match u32::from_le_bytes(*number).cmp(&name) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
            std::cmp::Ordering::Equal => return held(value, texts),
        }
    }
    None
}

fn held<'a>(value: &[u8], texts: &'a [u8]) -> Option<PackedValue<'a>> {
    let (kind, bytes) = value.split_first()?;
    let bytes: [u8; 8] = bytes.try_into().ok()?;
    match *kind {
        INTEGER => Some(PackedValue::Integer(i64::from_le_bytes(bytes))),
        REAL => Some(PackedValue::Real(f64::from_le_bytes(bytes))),
        TEXT => {
            let place = u64::from_le_bytes(bytes);
            let (from, length) = ((place & 0xffff_ffff) as usize, (place >> 32) as usize);
            let text = texts.get(from..from.checked_add(length)?)?;
            Some(PackedValue::Text(std::str::from_utf8(text).ok()?.into()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_value_comes_back_and_no_other(
            values in proptest::collection::btree_map(any::<u32>(), (0..3, any::<i64>()), 0..40),
            absent in any::<u32>(),
        ) {
            let held = |(kind, number): &(i32, i64)| match kind {
                0 => PackedValue::Integer(*number),
                1 => PackedValue::Real(*number as f64 / 7.0),
                _ => PackedValue::Text(format!("é{number}").into()),
            };
            let packed = pack(values.iter().map(|(name, of)| (*name, held(of))).collect());
            for (name, of) in &values {
                prop_assert_eq!(unpack(&packed, *name), Some(held(of)));
            }
            prop_assert_eq!(unpack(&packed, absent).is_some(), values.contains_key(&absent));
        }

        #[test]
        fn damaged_bytes_never_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..64), name in 0u32..4,
        ) {
            let _ = unpack(&bytes, name);
        }
    }
}
