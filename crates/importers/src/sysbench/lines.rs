//! (pure) How sysbench writes numbers, sizes and counts.

/// The first word as a number that is not below nothing.
///
/// # Errors
/// When it is none.
pub fn number(text: &str, line: &str) -> Result<f64, String> {
    let word = text.split_whitespace().next().unwrap_or_default();
    let is_digits = word.starts_with(|c: char| c.is_ascii_digit());
    let number = word.parse::<f64>().ok().filter(|it| it.is_finite() && is_digits);
    number.ok_or_else(|| format!("`{line}` in its output has no number"))
}

/// `4KiB`, `16MiB`, and up to 0.5 `16Kb`, `6.25Mb`: whole bytes.
pub fn bytes(text: &str) -> Option<u64> {
    let bytes = printed_bytes(text)?.0;
    (bytes >= 1.0 && bytes.fract() == 0.0 && bytes < 1e15).then_some(bytes as u64)
}

/// The same, whole or not, with what half of one more in its last place is worth.
pub fn printed_bytes(text: &str) -> Option<(f64, f64)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(end);
    let letter = unit.strip_suffix("iB").or(unit.strip_suffix('b')).or(unit.strip_suffix('B'))?;
    let power = ["", "K", "M", "G", "T"].iter().position(|known| *known == letter)?;
    let unit = 1024f64.powi(i32::try_from(power).ok()?);
    let decimals = number.split_once('.').map_or(0, |(_, behind)| behind.len());
    let step = 0.5 * 0.1f64.powi(i32::try_from(decimals).ok()?);
    let number = number.parse::<f64>().ok().filter(|it| it.is_finite())?;
    // Of `%.5g` zeros at the end are not printed.
    Some((number * unit, step.min(number * 1e-4) * unit))
}

/// `626    (167.85 per sec.)`: the count and the rate, each as printed.
pub fn counted<'a>(text: &'a str, unit: &str) -> Option<(&'a str, &'a str)> {
    let (count, rest) = text.split_once('(')?;
    let (rate, _) = rest.split_once(unit)?;
    Some((count.trim(), rate.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 6.25 * 2^20 = 6553600; 8 * 2^30 = 8589934592.
    #[test]
    fn sizes_are_of_1024_however_they_are_written() {
        for (text, due) in [
            ("4KiB", Some(4096)),
            ("16Kb", Some(16_384)),
            ("6.25Mb", Some(6_553_600)),
            ("8Gb", Some(8_589_934_592)),
            ("512B", Some(512)),
            ("0b", None),
            ("0.3b", None),
            ("16K", None),
            ("Kb", None),
            ("99999999999999Gb", None),
        ] {
            assert_eq!(bytes(text), due, "{text}");
        }
        assert_eq!(counted("626    (167.85 per sec.)  #", " per sec."), Some(("626", "167.85")));
        assert_eq!(counted(" 10240 ( 6906.34 ops/sec)", " ops/sec"), Some(("10240", "6906.34")));
        assert!(
            number("-1", "x").is_err() && number("", "x").is_err() && number("inf", "x").is_err()
        );
    }
}
