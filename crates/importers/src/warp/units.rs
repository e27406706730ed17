//! (pure) How warp writes rates and times.

/// What its MiB has.
pub const MIB: f64 = 1_048_576.0;

/// A number that is not below nothing.
pub fn number(word: &str) -> Option<f64> {
    let is_digits = word.starts_with(|c: char| c.is_ascii_digit());
    word.trim().parse::<f64>().ok().filter(|it| it.is_finite() && is_digits)
}

/// `1466.8MiB/s`, `39.06GiB/s`, `1124.8B/s`.
pub fn rate(text: &str) -> Option<f64> {
    let text = text.trim().strip_suffix("B/s")?;
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let power = ["", "Ki", "Mi", "Gi", "Ti"].iter().position(|it| *it == unit.trim())?;
    Some(number(digits)? * 1024f64.powi(i32::try_from(power).ok()?))
}

/// As Go writes it: `80ms`, `1.274s`, `1m2.5s`, `250µs`.
pub fn duration_ns(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    let mut ns = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (digits, behind) = rest.split_at(end);
        let end = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        ns += number(digits)?
            * match unit {
                "ns" => 1.0,
                "\u{b5}s" | "\u{3bc}s" | "us" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                "m" => 60e9,
                "h" => 3600e9,
                _ => return None,
            };
        rest = behind;
    }
    Some(ns)
}

/// A rate of bytes, where there is one, and one of objects, each with what was printed.
pub struct WarpRates {
    pub bytes: Option<(f64, String)>,
    pub objects: (f64, String),
    /// What the second is called.
    pub name: &'static str,
}

impl WarpRates {
    /// `206.18 MiB/s, 20.62 obj/s, 4290 errors (242s)`, and of a mix `... over 5m0s.`
    pub fn parse(text: &str) -> Result<WarpRates, String> {
        let odd = || format!("`{text}` is no rate");
        let told = text.split(" (").next().unwrap_or(text);
        let told = told.split(" over ").next().unwrap_or(told);
        let (mut bytes, mut objects) = (None, None);
        for part in told.trim().split(", ") {
            let (digits, unit) = part.split_once(' ').ok_or_else(odd)?;
            let value = number(digits).ok_or_else(odd)?;
            match unit.trim_end_matches('.') {
                "MiB/s" if bytes.is_none() => bytes = Some((value * MIB, part.to_owned())),
                "obj/s" if objects.is_none() => {
                    objects = Some(((value, part.to_owned()), "objects_per_s"));
                }
                "ops/s" if objects.is_none() => {
                    objects = Some(((value, part.to_owned()), "operations_per_s"));
                }
                "errors" => {}
                _ => return Err(odd()),
            }
        }
        let (objects, name) = objects.ok_or_else(odd)?;
        Ok(WarpRates { bytes, objects, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1466.8 * 2^20 = 1538051276.8; 1m2.5s are 62500000000 ns.
    #[test]
    fn rates_and_times_are_read_in_their_own_units() {
        assert_eq!(rate("1466.8MiB/s").map(|it| (it * 10.0).round()), Some(15_380_512_768.0));
        assert_eq!((rate("1.5KiB/s"), rate("12B/s")), (Some(1536.0), Some(12.0)));
        assert_eq!((rate("12MB/s"), rate("-1B/s"), rate("")), (None, None, None));
        for (text, due) in [
            ("80ms", Some(80e6)),
            ("1.5s", Some(1.5e9)),
            ("1m2.5s", Some(62.5e9)),
            ("250\u{b5}s", Some(250e3)),
            ("0s", Some(0.0)),
            ("1h", Some(3600e9)),
            ("5", None),
            ("", None),
            ("s", None),
            ("5MiB/s", None),
        ] {
            assert_eq!(duration_ns(text), due, "{text}");
        }
        let rates = WarpRates::parse("206.18 MiB/s, 20.62 obj/s, 4290 errors (242s)").unwrap();
        assert_eq!(rates.bytes.unwrap().1, "206.18 MiB/s");
        assert_eq!((rates.objects.0, rates.name), (20.62, "objects_per_s"));
        assert!(WarpRates::parse("5 MiB/s").is_err() && WarpRates::parse("").is_err());
        assert_eq!(WarpRates::parse("4.5 ops/s").unwrap().name, "operations_per_s");
    }
}
