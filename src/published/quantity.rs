//! Quantities as papers print them, in base units.

/// Units by their spelling, with what one of them is in base units. Bits and bytes per second both
/// become bytes per second; a share is 0 to 1.
const UNITS: &[(&str, f64)] = &[
    ("", 1.0),
    ("%", 0.01),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("MiB/s", 1_048_576.0),
    ("MiByte/s", 1_048_576.0),
    ("Mb/s", 1e6 / 8.0),
    ("Gb/s", 1e9 / 8.0),
    ("GT/s", 1e9),
];

/// The value of a printed quantity in base units: `813 MiByte/s` is 852 492 288 (bytes per second).
/// `None` for what is no number with a unit of this table.
pub fn value(printed: &str) -> Option<f64> {
    let (number, unit) = printed.trim().split_once(' ').unwrap_or((printed.trim(), ""));
    // Rust also reads `inf` and `nan`, which nobody measures.
    let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number: f64 = number.parse().ok().filter(|_| plain)?;
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_and_decimal_units_bits_and_bytes_are_told_apart() {
        assert_eq!(value("813 MiByte/s"), Some(852_492_288.0));
        assert_eq!(value("813 MB/s"), Some(813e6));
        assert_eq!(value("6.82 Gb/s"), Some(852_500_000.0));
        assert_eq!(value("18 GB/s"), Some(18e9));
        assert_eq!(value("40"), Some(40.0));
        assert!((value("60.8 %").unwrap() - 0.608).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_quantity_has_no_value() {
        for wrong in ["", "MB/s", "fast", "inf MB/s", "NaN", "1 MBps", "1 mb/s", "1,5 MB/s", "-1"] {
            assert_eq!(value(wrong), None, "{wrong}");
        }
    }
}
