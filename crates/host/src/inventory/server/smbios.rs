//! The tables of SMBIOS, as the firmware left them in memory (/sys/firmware/dmi/tables/DMI).
//!
//! Bytes in, structures out: DMTF DSP0134, System Management BIOS Reference Specification 3.7,
//! section 6. Nothing is read here, and no field is trusted: firmware writes lengths past the end,
//! strings that are not there, and words that only fill a hole.

use super::Reading;

/// Where the kernel shows the tables; only root may read it.
pub const PLACE: &str = "/sys/firmware/dmi/tables/DMI";

/// Handle, kind, formatted area and strings of one structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structure<'a> {
    /// Its type: 9 is a slot, 17 a memory module.
    pub kind: u8,
    /// What other structures call it.
    pub handle: u16,
    /// The formatted area with its header, so that offsets are those of the specification.
    fields: &'a [u8],
    /// The strings, each with its zero byte.
    strings: &'a [u8],
}

/// Reads the tables. What cannot be read is remembered, with `what` they would have told; so is
/// that the machine has none.
pub fn read(reading: &mut Reading<'_>, what: &str) -> Option<Vec<u8>> {
    if !reading.host().exists(PLACE) {
        reading.miss(what, PLACE, "the firmware hands down no SMBIOS tables", "");
        return None;
    }
    reading.bytes(PLACE, what)
}

/// Adds a structure to a table: `fields` begin after the header, and hold the numbers of strings,
/// from 1.
pub fn put(table: &mut Vec<u8>, kind: u8, handle: u16, fields: &[u8], strings: &[&str]) {
    let length = u8::try_from(fields.len() + 4).unwrap_or(u8::MAX);
    table.extend([kind, length]);
    table.extend(handle.to_le_bytes());
    table.extend(&fields[..usize::from(length) - 4]);
    for string in strings {
        // An empty string would end the structure.
        let text: String = string.chars().filter(|c| *c != '\0').collect();
        table.extend(if text.is_empty() { b"-" } else { text.as_bytes() });
        table.push(0);
    }
    if strings.is_empty() {
        table.push(0);
    }
    table.push(0);
}

/// All structures in order, up to the end-of-table or to the first that cannot be one.
pub fn structures(table: &[u8]) -> Vec<Structure<'_>> {
    const END: u8 = 127;
    let mut found = Vec::new();
    let mut rest = table;
    while let Some((structure, after)) = split(rest) {
        if structure.kind == END {
            break;
        }
        found.push(structure);
        rest = after;
    }
    found
}

/// The first structure, and what follows it. A structure has at least its header of four bytes,
/// so each step gets further.
fn split(table: &[u8]) -> Option<(Structure<'_>, &[u8])> {
    let [kind, length, low, high, ..] = *table else { return None };
    let length = usize::from(length);
    if length < 4 || length > table.len() {
        return None;
    }
    let (fields, rest) = table.split_at(length);
    // Strings end with a second zero byte; where there are none, two zero bytes stand alone.
    let end = rest.windows(2).position(|pair| pair == [0, 0]);
    let (strings, after) = match end {
        Some(end) => (&rest[..end + 1], &rest[end + 2..]),
        None => (rest, &rest[rest.len()..]),
    };
    let handle = u16::from_le_bytes([low, high]);
    Some((Structure { kind, handle, fields, strings }, after))
}

impl Structure<'_> {
    /// The byte at an offset; `None` in a structure of an older version, which is shorter.
    pub fn byte(&self, offset: usize) -> Option<u8> {
        self.fields.get(offset).copied()
    }

    /// Two bytes.
    pub fn word(&self, offset: usize) -> Option<u16> {
        let bytes = self.fields.get(offset..offset.checked_add(2)?)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    }

    /// Four bytes.
    pub fn double(&self, offset: usize) -> Option<u32> {
        let bytes = self.fields.get(offset..offset.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// The string whose number stands at an offset; `None` for none, for one that is not there, and
    /// for words that say nothing.
    pub fn string(&self, offset: usize) -> Option<String> {
        let number = usize::from(self.byte(offset)?).checked_sub(1)?;
        let bytes = self.strings.split(|byte| *byte == 0).nth(number)?;
        said(&String::from_utf8_lossy(bytes))
    }
}

/// What a maker wrote, without blanks around it; `None` where it is only what fills a hole.
pub fn said(text: &str) -> Option<String> {
    const HOLES: &[&str] = &[
        "0",
        "default string",
        "empty",
        "fill by oem",
        "invalid",
        "n/a",
        "no dimm",
        "none",
        "not applicable",
        "not available",
        "not provided",
        "not specified",
        "o.e.m.",
        "oem",
        "system manufacturer",
        "system product name",
        "system serial number",
        "to be filled by o.e.m.",
        "undefined",
        "unknown",
        "unspecified",
    ];
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let text = text.trim();
    let lower = text.to_lowercase();
    let hole = text.is_empty()
        || HOLES.contains(&lower.as_str())
        // `........`, `00000000`, `xxxxxxx`.
        || (text.len() > 3 && text.chars().all(|c| c == '.' || c == '0' || c == 'x' || c == '-'));
    (!hole).then(|| text.to_owned())
}

#[cfg(test)]
pub mod testing {
    //! Builds tables for tests.

    /// A table of SMBIOS that grows.
    #[derive(Default)]
    pub struct Table(pub Vec<u8>);

    impl Table {
        /// Adds a structure: `fields` begin after the header.
        pub fn add(mut self, kind: u8, handle: u16, fields: &[u8], strings: &[&str]) -> Table {
            super::put(&mut self.0, kind, handle, fields, strings);
            self
        }

        /// The line of a recording that holds it.
        pub fn line(&self) -> String {
            let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{} = hex {hex}\n", super::PLACE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::Table;
    use super::*;

    fn table() -> Vec<u8> {
        let table = Table::default()
            .add(0, 0, &[1, 2, 0, 0xE0, 3], &["Maker", "1.2", "01/02/2020"])
            .add(32, 1, &[0; 7], &[])
            .add(9, 0x900, &[1, 0xAA, 0x0D, 4], &[" Slot 1 "])
            .add(127, 0x7F00, &[], &[])
            .add(9, 0x901, &[1], &["after the end"]);
        table.0
    }

    #[test]
    fn structures_are_split_up_to_the_end_of_the_table() {
        let bytes = table();
        let found = structures(&bytes);
        let kinds: Vec<(u8, u16)> = found.iter().map(|one| (one.kind, one.handle)).collect();
        assert_eq!(kinds, [(0, 0), (32, 1), (9, 0x900)]);
        assert_eq!(found[0].string(4).as_deref(), Some("Maker"));
        assert_eq!(found[0].string(8).as_deref(), Some("01/02/2020"));
        assert_eq!(found[0].word(6), Some(0xE000));
        assert_eq!(found[2].string(4).as_deref(), Some("Slot 1"));
        assert_eq!((found[2].byte(7), found[2].byte(8), found[2].word(7)), (Some(4), None, None));
        assert_eq!((found[2].double(4), found[2].double(5)), (Some(0x040D_AA01), None));
    }

    #[test]
    fn a_table_that_is_cut_anywhere_never_yields_more_than_the_whole() {
        let bytes = table();
        let whole = structures(&bytes).len();
        for end in 0..bytes.len() {
            let found = structures(&bytes[..end]);
            assert!(found.len() <= whole);
            for structure in found {
                for offset in 0..=256 {
                    structure.string(offset);
                    structure.double(offset);
                }
                structure.word(usize::MAX);
            }
        }
    }

    #[test]
    fn hostile_lengths_end_the_table_and_strings_that_are_not_there_are_none() {
        assert_eq!(structures(&[9, 0, 0, 0, 0, 0]), []);
        assert_eq!(structures(&[9, 3, 0, 0, 0, 0]), []);
        assert_eq!(structures(&[9, 200, 0, 0, 1, 0, 0]), []);
        let many: Vec<u8> = [9, 4, 0, 0, 0, 0].repeat(10_000);
        assert_eq!(structures(&many).len(), 10_000);
        let bytes = Table::default().add(9, 1, &[0, 1, 2, 255], &["only"]).0;
        let slot = structures(&bytes)[0];
        assert_eq!(slot.string(4), None);
        assert_eq!(slot.string(5).as_deref(), Some("only"));
        // The second is the empty one before the end.
        assert_eq!((slot.string(6), slot.string(7), slot.string(99)), (None, None, None));
        // No zero byte at the end.
        let open = structures(&[9, 5, 0, 0, 1, b'a', b'b']);
        assert_eq!(open[0].string(4).as_deref(), Some("ab"));
    }

    #[test]
    fn words_that_only_fill_a_hole_say_nothing() {
        for hole in ["", " ", "Not Specified", "To Be Filled By O.E.M.", "........", "00000000"] {
            assert_eq!(said(hole), None, "{hole:?}");
        }
        assert_eq!(said("X9DR3\u{1}\u{7f} ").as_deref(), Some("X9DR3"));
    }
}
