//! How people write several values at once: `4KiB,8KiB`, `none,spread`, `none,0-3,8`.
//!
//! A comma parts values. Where half the world writes numbers, it also stands for the point: `1,5s`
//! would be read as one byte and five seconds, and be measured as both. So what may be a decimal
//! comma is refused, with the same number as it is written here.

use super::parse::is_bare;
use super::{Domain, Value};

/// Why a list of values was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// What is wrong, as the end of a sentence.
    pub why: String,
    /// What to write instead, where that is known.
    pub hint: Option<String>,
}

/// Reads values that commas part; see [`Domain::levels`].
pub(super) fn levels(domain: &Domain, text: &str) -> Result<Vec<Value>, Unread> {
    let parts = parts(domain, text);
    for two in parts.windows(2) {
        if let Some(refused) = decimal_comma(domain, &two[0], &two[1]) {
            return Err(refused);
        }
    }
    let read = |part: &String| domain.parse(part).map_err(|why| Unread { why, hint: None });
    parts.iter().map(read).collect()
}

/// A domain without its `as-is`.
fn bare(domain: &Domain) -> &Domain {
    match domain {
        Domain::OrAsIs(inner) => bare(inner),
        domain => domain,
    }
}

/// The text of each value.
fn parts(domain: &Domain, text: &str) -> Vec<String> {
    let pieces = || text.split(',').map(|piece| piece.trim().to_owned());
    match bare(domain) {
        Domain::Text | Domain::Texts => vec![text.trim().to_owned()],
        Domain::Cpus | Domain::CpuList => {
            // Words are values; CPUs that stand beside each other are one list.
            let of_cpus = |piece: &str| piece.starts_with(|c: char| c.is_ascii_digit());
            let mut parts: Vec<String> = Vec::new();
            for piece in pieces() {
                match parts.last_mut().filter(|last| of_cpus(last) && of_cpus(&piece)) {
                    Some(last) => *last = format!("{last},{piece}"),
                    None => parts.push(piece),
                }
            }
            parts
        }
        _ => pieces().collect(),
    }
}

/// Why two values beside each other may be one, with a decimal comma in it: the first has no unit
/// where the second has one, or one of them is no value where both together are.
fn decimal_comma(domain: &Domain, first: &str, second: &str) -> Option<Unread> {
    let digit = |c: char| c.is_ascii_digit();
    if !first.ends_with(digit) || !second.starts_with(digit) {
        return None;
    }
    let fits = |text: &str| domain.parse(text).is_ok();
    let one = format!("{first}.{second}");
    if !fits(&one) {
        return None;
    }
    let has_units = matches!(
        bare(domain),
        Domain::Bytes { .. } | Domain::BytesPerSecond | Domain::Duration { .. } | Domain::Stop
    );
    let mixed = has_units && is_bare(first) && !is_bare(second);
    if !mixed && fits(first) && fits(second) {
        return None;
    }
    let why = match mixed {
        true => format!(
            "`{first},{second}` is two levels, of which `{first}` has no unit and `{second}` has \
             one"
        ),
        false => format!("`{first},{second}` is two levels, and not both are any"),
    };
    let unit = second.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let two = match mixed {
        true => format!("; for two levels, give each its unit, as in {first}{unit},{second}"),
        false => String::new(),
    };
    Some(Unread { why, hint: Some(format!("write {one}, with a point{two}")) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Stop;

    const SIZE: Domain = Domain::Bytes { min: 0, max: 1 << 50, step: 1 };
    const BLOCK: Domain = Domain::Bytes { min: 512, max: 1 << 30, step: 512 };
    const TIME: Domain = Domain::Duration { min_ns: 0, max_ns: u64::MAX };
    const SHARE: Domain = Domain::Number { min: 0.0, max: 1.0 };

    /// `stop=1,5s` ran as two cells, of which the first stopped after one byte: "The device
    /// delivers 7179 MB/s" came from it.
    #[test]
    fn a_decimal_comma_is_refused_with_the_number_as_it_is_written_here() {
        let limit = Domain::OrAsIs(&SIZE);
        for (domain, before, one, written) in [
            (&Domain::Stop, "", "1,5s", "1.5s"),
            (&Domain::Stop, "", "0,5s", "0.5s"),
            (&Domain::Stop, "10s,", "2,5GiB", "2.5GiB"),
            (&Domain::Stop, "", "interval:0,5%", "interval:0.5%"),
            (&Domain::Stop, "", "2,5e12bits", "2.5e12bits"),
            (&SIZE, "", "1,5GiB", "1.5GiB"),
            (&SIZE, "4KiB,", "1,5GiB", "1.5GiB"),
            (&BLOCK, "", "1,5MiB", "1.5MiB"),
            (&BLOCK, "", "512,5MiB", "512.5MiB"),
            (&limit, "as-is,", "1,5GiB", "1.5GiB"),
            (&Domain::BytesPerSecond, "", "1,5MB/s", "1.5MB/s"),
            (&Domain::BytesPerSecond, "", "2,5Gb/s", "2.5Gb/s"),
            (&TIME, "", "1,5m", "1.5m"),
            (&TIME, "", "0,5s", "0.5s"),
            (&SHARE, "1,", "0,5", "0.5"),
        ] {
            let refused = domain.levels(&format!("{before}{one}")).unwrap_err();
            let hint = refused.hint.unwrap_or_default();
            assert!(hint.starts_with(&format!("write {written}, with a point")), "{one}: {hint}");
            assert!(domain.parse(written).is_ok(), "{written} can be typed");
            // A plan file has each level by itself, and so have options.
            let why = domain.parse(one).unwrap_err();
            assert!(why.ends_with(&format!("write {written}, with a point")), "{one}: {why}");
        }
    }

    #[test]
    fn lists_of_one_kind_are_levels_as_ever() {
        let count = Domain::Count { min: 1, max: 4096 };
        let bytes = |all: &[u64]| Ok(all.iter().map(|it| Value::Bytes(*it)).collect());
        assert_eq!(count.levels("1,2, 4"), Ok([1, 2, 4].map(Value::Count).to_vec()));
        assert_eq!(BLOCK.levels("4KiB,8KiB"), bytes(&[4096, 8192]));
        assert_eq!(BLOCK.levels("512,4096"), bytes(&[512, 4096]));
        // 512.4 KiB is no block, so that nobody can have meant it.
        assert_eq!(BLOCK.levels("512,4KiB"), bytes(&[512, 4096]));
        assert_eq!(SIZE.levels("1B,5GiB"), bytes(&[1, 5 << 30]));
        let stops = [Stop::After(1_000_000_000), Stop::After(5_000_000_000), Stop::Pass];
        assert_eq!(Domain::Stop.levels("1s,5s,pass"), Ok(stops.map(Value::Stop).to_vec()));
        assert_eq!(SHARE.levels("0,1"), Ok([0.0, 1.0].map(Value::Number).to_vec()));
        assert_eq!(Domain::Text.levels("a=1,5s").unwrap().len(), 1);
        assert_eq!(SHARE.levels("0.2,7").unwrap_err().hint, None, "0.2.7 is no number either");
    }

    /// `stop=20` was taken for 20 bytes a stream, which no trial needs a window for.
    #[test]
    fn a_bare_number_is_no_stop() {
        let why = Domain::Stop.parse("20").unwrap_err();
        assert_eq!(why, "`20` has no unit: write 20s, or 20B");
        assert_eq!(Domain::Stop.parse("20B"), Ok(Value::Stop(Stop::Bytes(20))));
        assert!(Domain::Stop.levels("1,5").is_err());
    }

    /// `cpu-pinning=none,spread` was refused as one value, since lists of CPUs have commas.
    #[test]
    fn words_are_levels_beside_a_list_of_cpus() {
        let read = |domain: &Domain, text: &str| -> Vec<String> {
            domain.levels(text).unwrap().iter().map(ToString::to_string).collect()
        };
        assert_eq!(read(&Domain::Cpus, "none,spread"), ["none", "spread"]);
        assert_eq!(read(&Domain::Cpus, "none,0-3,8,numa-local"), ["none", "0-3,8", "numa-local"]);
        assert_eq!(read(&Domain::Cpus, "0-1,3"), ["0-1,3"]);
        let cpuset = Domain::OrAsIs(&Domain::CpuList);
        assert_eq!(read(&cpuset, "as-is,0-3,8"), ["as-is", "0-3,8"]);
        for wrong in ["none,", "none,3-1", "", "spread,x"] {
            assert!(Domain::Cpus.levels(wrong).is_err(), "{wrong}");
        }
    }
}
