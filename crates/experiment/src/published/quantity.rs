//! Quantities as texts print them, in base units.

/// Units by their spelling, with what one of them is in base units. Bits and bytes per second both
/// become bytes per second; a share is 0 to 1; a time is in seconds; a price is in US dollars.
const UNITS: &[(&str, f64)] = &[
    ("", 1.0),
    ("%", 0.01),
    ("MB/s", 1e6),
    ("MB/sec", 1e6),
    ("GB/s", 1e9),
    ("MiB/s", 1_048_576.0),
    ("MiByte/s", 1_048_576.0),
    ("Mb/s", 1e6 / 8.0),
    ("Mbits/s", 1e6 / 8.0),
    ("Gb/s", 1e9 / 8.0),
    ("GT/s", 1e9),
    // Bonnie and bonnie++ divide by 1024.
    ("K/sec", 1024.0),
    ("bytes/second", 1.0),
    ("/sec", 1.0),
    ("IOPs", 1.0),
    ("/s", 1.0),
    // vmstat counts; its `k` in a table is 1000.
    ("k /s", 1e3),
    ("ms", 1e-3),
    ("s", 1.0),
    ("seconds", 1.0),
    // The shell csh writes the user's seconds so.
    ("u", 1.0),
    ("m", 60.0),
    // Sizes of disks are decimal; csh's `k` is the 1024 bytes of getrusage(2).
    ("k", 1024.0),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("512 byte sectors", 512.0),
    ("x", 1.0),
    ("X", 1.0),
    ("cents/GB", 0.01),
];

/// What may stand behind a number with a `$` before it; of what has a size, dollars per GB.
const PRICES: &[(&str, f64)] = &[("", 1.0), ("K", 1e3), ("/GB", 1.0), ("/TB", 1e-3)];

/// Fractions that texts write as words.
const FRACTIONS: &[(&str, f64)] = &[("one-third", 1.0 / 3.0)];

/// The value of a printed quantity in base units: `813 MiByte/s` is 852 492 288 (bytes per second).
/// `None` for what is no number with a unit of these tables.
pub fn value(printed: &str) -> Option<f64> {
    let printed = printed.trim();
    if let Some((_, value)) = FRACTIONS.iter().find(|(word, _)| *word == printed) {
        return Some(*value);
    }
    if let Some((one, of)) = printed.split_once('/')
        && let (Ok(one), Ok(of)) = (one.parse::<f64>(), of.parse::<f64>())
    {
        return Some(one / of).filter(|share| share.is_finite());
    }
    let dollars = printed.strip_prefix("US$").or_else(|| printed.strip_prefix('$'));
    let units = if dollars.is_some() { PRICES } else { UNITS };
    let rest = dollars.unwrap_or(printed);
    let (number, unit) = rest.split_at(end(rest));
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim())?;
    match number.split_once(':') {
        Some(clock) if rest == printed && unit.is_empty() => seconds(clock),
        Some(_) => None,
        None => Some(number.parse::<f64>().ok()? * factor),
    }
}

/// Where the number ends that a quantity begins with: `2e13` is one.
fn end(printed: &str) -> usize {
    let bytes = printed.as_bytes();
    let power = |at: usize| {
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        at > 0 && digit(at - 1) && digit(at + 1) && matches!(bytes[at], b'e' | b'E')
    };
    let is_in = |at: usize| bytes[at].is_ascii_digit() || b".:".contains(&bytes[at]) || power(at);
    (0..bytes.len()).find(|at| !is_in(*at)).unwrap_or(bytes.len())
}

/// Minutes and seconds as `time` of csh prints them: `3:54.02`.
fn seconds((minutes, seconds): (&str, &str)) -> Option<f64> {
    let minutes: u32 = minutes.parse().ok()?;
    let seconds: f64 = seconds.parse().ok().filter(|seconds| *seconds < 60.0)?;
    Some(f64::from(minutes) * 60.0 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_and_decimal_units_bits_and_bytes_are_told_apart() {
        assert_eq!(value("813 MiByte/s"), Some(852_492_288.0));
        assert_eq!(value("813 MB/s"), Some(813e6));
        assert_eq!(value("17.5MB/sec"), Some(17.5e6));
        assert_eq!(value("7176 K/sec"), Some(7_348_224.0));
        assert_eq!(value("6.82 Gb/s"), Some(852_500_000.0));
        assert_eq!(value("940 Mbits/s"), Some(117.5e6));
        assert_eq!(value("18 GB/s"), Some(18e9));
        assert_eq!(value("40"), Some(40.0));
        assert_eq!(value("10 k"), Some(10_240.0));
        assert_eq!(value("34k /s"), Some(34_000.0));
        assert_eq!(value("2e13"), Some(2e13));
        assert_eq!(value("1/8e13"), Some(1.25e-14));
        assert_eq!(value("1/0"), None);
        assert_eq!(value("1/2"), Some(0.5));
        assert_eq!(value("2e"), None);
        assert_eq!(value("7.5TB"), Some(7.5e12));
        assert_eq!(value("4406960 512 byte sectors"), Some(2_256_363_520.0));
        assert!((value("60.8 %").unwrap() - 0.608).abs() < 1e-12);
    }

    #[test]
    fn times_are_seconds_however_they_are_written() {
        assert_eq!(value("24.000000 seconds"), Some(24.0));
        assert_eq!(value("8.5 ms"), Some(0.0085));
        assert_eq!(value("17m"), Some(1020.0));
        assert_eq!(value("0.277u"), Some(0.277));
        assert_eq!(value("56.454s"), Some(56.454));
        assert_eq!(value("0:02.61"), Some(2.61));
        assert!((value("3:54.02").unwrap() - 234.02).abs() < 1e-9);
    }

    #[test]
    fn prices_are_dollars_or_dollars_per_gb() {
        assert_eq!(value("US$5200"), Some(5200.0));
        assert_eq!(value("$40K"), Some(40_000.0));
        assert_eq!(value("$1000/TB"), Some(1.0));
        assert_eq!(value("25 cents/GB"), Some(0.25));
        assert_eq!(value("8x"), Some(8.0));
        assert_eq!(value("one-third"), Some(1.0 / 3.0));
    }

    #[test]
    fn what_is_no_quantity_has_no_value() {
        for wrong in ["", "MB/s", "fast", "inf MB/s", "NaN", "1 MBps", "1 mb/s", "1,5 MB/s", "-1"] {
            assert_eq!(value(wrong), None, "{wrong}");
        }
        for wrong in ["$", "$5 MB/s", "5 K", "1:2:3", "1:75.0", ":05", "1:05 s", "$1:05", "1.2.3"] {
            assert_eq!(value(wrong), None, "{wrong}");
        }
    }
}
