//! (pure) What was expected and what was found in a faulty block, byte beside byte.
//!
//! Offsets are those of the file, so that `hexdump -C -s OFFSET` shows the same place.

use experiment::measurement::integrity::Fault;

/// Bytes in a row.
pub const ROW_BYTES: usize = 16;

/// Sixteen bytes of a file: as expected, and as found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HexdumpRow {
    /// Where in the file, bytes.
    pub offset: u64,
    /// What was expected; empty where that is not known.
    pub expected: Vec<u8>,
    /// What was found; shorter where the reading ended.
    pub found: Vec<u8>,
}

/// The excerpt of a fault in rows; none where nothing was read. What is no hexadecimal ends it.
pub fn rows(fault: &Fault) -> Vec<HexdumpRow> {
    let (expected, found) = (bytes(&fault.expected), bytes(&fault.found));
    let length = expected.len().max(found.len());
    let part = |of: &[u8], from: usize| -> Vec<u8> {
        let rest = of.get(from..).unwrap_or_default();
        rest[..rest.len().min(ROW_BYTES)].to_vec()
    };
    let start = fault.offset.saturating_add(fault.excerpt_at);
    (0..length)
        .step_by(ROW_BYTES)
        .map(|from| HexdumpRow {
            offset: start.saturating_add(from as u64),
            expected: part(&expected, from),
            found: part(&found, from),
        })
        .collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = hex.as_bytes().chunks_exact(2);
    pairs.map_while(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

impl HexdumpRow {
    /// Whether the byte at that place of the row is not what was expected.
    pub fn differs(&self, place: usize) -> bool {
        !self.expected.is_empty() && self.expected.get(place) != self.found.get(place)
    }

    /// Whether any is not.
    pub fn is_wrong(&self) -> bool {
        (0..ROW_BYTES).any(|place| self.differs(place))
    }
}

/// `00 1f a0`; bytes that are not there are two spaces.
pub fn hex(bytes: &[u8]) -> String {
    let pair = |place: usize| match bytes.get(place) {
        Some(byte) => format!("{byte:02x}"),
        None => "  ".to_owned(),
    };
    let pairs: Vec<String> = (0..ROW_BYTES).map(pair).collect();
    pairs.join(" ").trim_end().to_owned()
}

/// Lines of plain text, narrower than 70 columns: `-` expected, `+` found, `^` below each byte that
/// differs, unless all do. Where it is known what was expected, only rows that differ are shown; of
/// all at most `most`.
pub fn lines(fault: &Fault, most: usize) -> Vec<String> {
    let rows = rows(fault);
    let known = rows.iter().any(|row| !row.expected.is_empty());
    let shown: Vec<&HexdumpRow> = rows.iter().filter(|row| !known || row.is_wrong()).collect();
    let mut lines = Vec::new();
    for row in shown.iter().take(most) {
        let at = format!("{:010x}", row.offset);
        if !known {
            lines.push(format!("{at}   {}", hex(&row.found)));
            continue;
        }
        let mark = |place: usize| if row.differs(place) { "^^" } else { "  " };
        let marks: Vec<&str> = (0..ROW_BYTES).map(mark).collect();
        lines.push(format!("{at} - {}", hex(&row.expected)).trim_end().to_owned());
        lines.push(format!("           + {}", hex(&row.found)).trim_end().to_owned());
        // Where all bytes differ, marks tell nothing.
        if !(0..ROW_BYTES).all(|place| row.differs(place)) {
            lines.push(format!("             {}", marks.join(" ")).trim_end().to_owned());
        }
    }
    match shown.len().saturating_sub(most) {
        0 => {}
        1 => lines.push("... and 1 more row".to_owned()),
        more => lines.push(format!("... and {more} more rows")),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(expected: &str, found: &str) -> Fault {
        let (expected, found) = (expected.to_owned(), found.to_owned());
        Fault { offset: 8192, excerpt_at: 512, expected, found, ..Fault::default() }
    }

    #[test]
    fn only_rows_that_differ_are_told_and_each_byte_is_marked() {
        let expected = "00".repeat(40);
        let mut found = expected.clone();
        found.replace_range(2 * 17..2 * 18, "08");
        found.replace_range(2 * 39..2 * 40, "ff");
        let lines = lines(&fault(&expected, &found), 9);
        assert_eq!(
            lines.join("\n"),
            "\
0000002210 - 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
           + 00 08 00 00 00 00 00 00 00 00 00 00 00 00 00 00
                ^^
0000002220 - 00 00 00 00 00 00 00 00
           + 00 00 00 00 00 00 00 ff
                                  ^^"
        );
        let one = super::lines(&fault(&expected, &found), 1);
        assert_eq!((one.len(), one[3].as_str()), (4, "... and 1 more row"));
    }

    #[test]
    fn a_short_reading_lacks_bytes_and_an_unknown_expectation_marks_none() {
        let short = rows(&fault("00112233", "0011"));
        assert_eq!(short.len(), 1);
        assert!(short[0].differs(2) && short[0].differs(3) && !short[0].differs(1));
        assert!(!short[0].differs(4), "there is nothing on either side");
        let unknown = lines(&fault("", "0011"), 4);
        assert_eq!(unknown, ["0000002200   00 11"]);
        assert!(lines(&fault("", ""), 4).is_empty());
    }

    #[test]
    fn what_is_no_hexadecimal_ends_the_excerpt_and_nothing_panics() {
        for text in ["0", "zz", "00\u{e4}\u{e4}", "\u{1f600}", "00zz11"] {
            assert!(rows(&fault(text, text)).len() <= 1, "{text}");
        }
        assert_eq!(rows(&fault("00zz11", ""))[0].expected, [0]);
        let far = Fault { offset: u64::MAX, ..fault(&"00".repeat(64), "") };
        assert_eq!(rows(&far).len(), 4);
    }
}
