//! Serial numbers in the tables of the firmware (SMBIOS 3.6, DSP0134): replaced where they stand,
//! by texts of the same length.

use super::Private;

/// The tables with stand-ins; what follows a structure that is cut short becomes zeros.
pub fn mask(mut table: Vec<u8>, private: &mut Private) -> Vec<u8> {
    let mut at = 0;
    while let Some(length) = table.get(at + 1).map(|length| usize::from(*length)) {
        let strings = at + length;
        // The strings end with an empty one: two zeros.
        let end =
            table.get(strings..).and_then(|rest| rest.windows(2).position(|two| two == [0; 2]));
        let (Some(end), 4..) = (end, length) else {
            table[at..].fill(0);
            break;
        };
        let end = strings + end + 2;
        one(&mut table[at..end], length, private);
        at = end;
    }
    table
}

/// Where a structure keeps the numbers of texts that are private.
fn places(kind: u8) -> &'static [usize] {
    match kind {
        1 => &[0x07],
        2 | 3 => &[0x07, 0x08],
        4 => &[0x20, 0x21],
        17 => &[0x18, 0x19],
        22 => &[0x07],
        39 => &[0x08, 0x09],
        _ => &[],
    }
}

fn one(structure: &mut [u8], length: usize, private: &mut Private) {
    let (formatted, texts) = structure.split_at_mut(length);
    let kind = formatted.first().copied().unwrap_or(0);
    // Makers' own structures and free texts hold anything, service tags and addresses too.
    let everything = matches!(kind, 11 | 12 | 42 | 128..);
    if kind == 1
        && let Some(uuid) = formatted.get_mut(0x08..0x18)
    {
        uuid.fill(0);
    }
    if everything && kind != 127 {
        formatted.iter_mut().skip(4).for_each(|byte| *byte = 0);
    }
    let private_ones: Vec<u8> =
        places(kind).iter().filter_map(|place| formatted.get(*place).copied()).collect();
    let mut number = 0u8;
    for text in texts.split_mut(|byte| *byte == 0) {
        number = number.saturating_add(1);
        if everything {
            text.fill(b'.');
        } else if private_ones.contains(&number) && !text.is_empty() {
            let said = String::from_utf8_lossy(text).into_owned();
            let trimmed = said.trim();
            let masked = said.replacen(trimmed, &private.serial(trimmed), 1);
            match masked.len() == text.len() {
                true => text.copy_from_slice(masked.as_bytes()),
                false => text.fill(b'0'),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn structure(kind: u8, data: &[u8], texts: &[&str]) -> Vec<u8> {
        let mut all = vec![kind, data.len() as u8 + 4, 0, 1];
        all.extend(data);
        for text in texts {
            all.extend(text.as_bytes());
            all.push(0);
        }
        if texts.is_empty() {
            all.push(0);
        }
        all.push(0);
        all
    }

    #[test]
    fn serial_numbers_go_and_all_else_stays_in_its_place() {
        let mut system = vec![1, 2, 0, 3];
        system.extend([7; 16]);
        system.extend([6, 0, 0]);
        let mut table = structure(1, &system, &["Dell Inc.", "PowerEdge", "7XK1234"]);
        table.extend(structure(17, &[1; 0x24], &["SN00012345"]));
        table.extend(structure(200, &[9; 8], &["TAG7XK1234"]));
        table.extend(structure(127, &[], &[]));
        let masked = mask(table.clone(), &mut Private::default());
        assert_eq!(masked.len(), table.len());
        let text = String::from_utf8_lossy(&masked).into_owned();
        assert!(text.contains("Dell Inc.\0PowerEdge\x000000001"), "{text:?}");
        for gone in ["7XK1234", "SN00012345", "TAG", "\u{7}\u{7}\u{7}", "\u{9}\u{9}"] {
            assert!(!text.contains(gone), "{gone}");
        }
        assert!(text.contains("SERIAL0002"));
        for end in 0..table.len() {
            let cut = mask(table[..end].to_vec(), &mut Private::default());
            assert!(!String::from_utf8_lossy(&cut).contains("7XK1234"), "{end}");
        }
    }
}
