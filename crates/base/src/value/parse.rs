//! How people write values: `4KiB`, `200MB/s`, `20s`, `0-3,8`.

use super::{AS_IS, Domain, Stop, Value};

/// Reads `text` as a value of `domain`; the error says what would have been accepted.
pub(super) fn value(domain: &Domain, text: &str) -> Result<Value, String> {
    pointed(text, |text| of(domain, text))
}

/// What `read` makes of a text; of one with a decimal comma, which it does not take, the refusal
/// says how it is written here.
fn pointed<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
    read(text).map_err(|why| match with_point(text).filter(|text| read(text).is_ok()) {
        Some(written) => format!("{why}; write {written}, with a point"),
        None => why,
    })
}

/// The same with a point for its only comma, where that stands between two digits.
fn with_point(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once(',')?;
    let parts = whole.ends_with(|c: char| c.is_ascii_digit())
        && fraction.starts_with(|c: char| c.is_ascii_digit())
        && !fraction.contains(',');
    parts.then(|| format!("{whole}.{fraction}"))
}

fn of(domain: &Domain, text: &str) -> Result<Value, String> {
    match *domain {
        Domain::Bytes { min, max, step } => bytes_within(text, min, max, step).map(Value::Bytes),
        Domain::BytesPerSecond => {
            let amount = text.strip_suffix("/s").unwrap_or(text);
            let wrong = || format!("`{text}` is not a rate such as 10Gb/s, 200MB/s or 1GiB/s");
            let bytes = match bit_rate(text) {
                Some(bytes) => bytes,
                // Less than a byte is no size either.
                None if text.ends_with("b/s") => 0,
                None => size(amount).map_err(|_| wrong())?,
            };
            if bytes > 0 { Ok(Value::BytesPerSecond(bytes)) } else { Err(wrong()) }
        }
        Domain::Count { min, max } => {
            let count: u64 = text.parse().map_err(|_| format!("`{text}` is not a whole number"))?;
            within(count, min, max, |n| n.to_string()).map(Value::Count)
        }
        Domain::Duration { min_ns, max_ns } => {
            let ns = time(text)?;
            within(ns, min_ns, max_ns, |n| Value::Duration(n).to_string()).map(Value::Duration)
        }
        Domain::Number { min, max } => match text.parse::<f64>() {
            Ok(number) if (min..=max).contains(&number) => Ok(Value::Number(number)),
            Ok(_) => Err(format!("{text} is outside {min} to {max}")),
            Err(_) => Err(format!("`{text}` is not a number")),
        },
        Domain::Flag => match text {
            "true" | "on" | "yes" | "1" => Ok(Value::Flag(true)),
            "false" | "off" | "no" | "0" => Ok(Value::Flag(false)),
            _ => Err(format!("`{text}` is neither `true` nor `false`")),
        },
        Domain::OneOf(words) if words.contains(&text) => Ok(Value::Word(text.to_owned())),
        Domain::OneOf(words) => Err(format!("`{text}` is none of {}", words.join(", "))),
        Domain::Cpus => cpus(text),
        Domain::Stop => stop(text),
        Domain::Text => free_text(text).map(Value::Word),
        Domain::Texts if text.is_empty() => Ok(Value::Words(Vec::new())),
        Domain::Texts => free_text(text).map(|text| Value::Words(vec![text])),
        Domain::Directories => Err("directories are given with --dir, once for each".to_owned()),
        Domain::CpuList if cpu_list(text).is_some_and(|list| !list.is_empty()) => {
            Ok(Value::Word(text.to_owned()))
        }
        Domain::CpuList => Err(format!("`{text}` is no list of CPUs such as 0-3,8")),
        Domain::Label => label(text),
        Domain::OrAsIs(_) if text == AS_IS => Ok(Value::as_is()),
        Domain::OrAsIs(inner) => of(inner, text),
    }
}

/// A rate of a network as bytes: `10Gb/s`, in decimal units; `None` when it is none, or less than a
/// byte.
fn bit_rate(text: &str) -> Option<u64> {
    let amount = text.strip_suffix("b/s")?;
    let units = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
    let found = units.iter().find_map(|(unit, many)| Some((amount.strip_suffix(unit)?, *many)));
    let (number, many) = found.unwrap_or((amount, 1.0));
    let bytes = (number.parse::<f64>().ok()? * many / 8.0).round();
    (1.0..=1e15).contains(&bytes).then_some(bytes as u64)
}

/// The kernel ends an argument at its first NUL: what follows it would be lost without a word.
fn free_text(text: &str) -> Result<String, String> {
    match text.contains('\0') {
        true => Err("a NUL cannot be part of it".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Names go into arguments, where commas part levels, and into tables, where blanks would.
fn label(text: &str) -> Result<Value, String> {
    let good = |c: char| c.is_alphanumeric() || "._+-/".contains(c);
    match !text.is_empty() && text.chars().count() <= 100 && text.chars().all(good) {
        true => Ok(Value::Word(text.to_owned())),
        false => Err(format!("`{text}` is no name of letters, digits and . _ + - /")),
    }
}

fn bytes_within(text: &str, min: u64, max: u64, step: u64) -> Result<u64, String> {
    let bytes = size(text)?;
    if bytes % step != 0 {
        return Err(format!("{text} is not a multiple of {}", Value::Bytes(step)));
    }
    within(bytes, min, max, |n| Value::Bytes(n).to_string())
}

fn within(number: u64, min: u64, max: u64, show: fn(u64) -> String) -> Result<u64, String> {
    if (min..=max).contains(&number) {
        Ok(number)
    } else {
        Err(format!("{} is outside {} to {}", show(number), show(min), show(max)))
    }
}

/// Reads a size in bytes. `4k`, `4K` and `4KiB` are 4096, as in fio and elbencho; `4kB` and `4MB`
/// are decimal, as on a disk's label.
///
/// # Errors
/// A sentence with an example, when `text` is no size or does not fit in 64 bits.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    pointed(text, size)
}

fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a size such as 4KiB, 512MiB or 2GiB");
    let (digits, unit) = split(text);
    let scale: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    scaled(digits, scale).ok_or_else(wrong)
}

/// Reads a time in nanoseconds: `500us`, `100ms`, `20s`, `3m`, `1h`.
///
/// # Errors
/// A sentence with an example, when `text` is no time or does not fit in 64 bits.
pub fn parse_duration_ns(text: &str) -> Result<u64, String> {
    pointed(text, time)
}

fn time(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a time such as 100ms, 20s, 3m or 1h");
    let (digits, unit) = split(text);
    let scale: u64 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return Err(wrong()),
    };
    scaled(digits, scale).ok_or_else(wrong)
}

fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// A decimal number times `scale`, exactly; what is less than one is left out. `None` where it is
/// no number or too large.
fn scaled(digits: &str, scale: u64) -> Option<u64> {
    /// Digits after the point; what follows these is less than one of any unit.
    const DIGITS_MAX: usize = 18;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u64>().ok() };
    let shown = &fraction[..fraction.len().min(DIGITS_MAX)];
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = u128::from(number(shown)?) * u128::from(scale) / 10_u128.pow(shown.len() as u32);
    number(whole)?.checked_mul(scale)?.checked_add(u64::try_from(part).ok()?)
}

fn cpus(text: &str) -> Result<Value, String> {
    let named = matches!(text, "none" | "spread" | "numa-local");
    if named || cpu_list(text).is_some_and(|list| !list.is_empty()) {
        return Ok(Value::Word(text.to_owned()));
    }
    Err(format!("`{text}` is neither `none`, `spread`, `numa-local`, nor CPUs such as 0-3,8"))
}

/// Reads the kernel's CPU list format, `0-3,8`; `None` when it is not one.
pub fn cpu_list(text: &str) -> Option<Vec<usize>> {
    const CPUS_MAX: usize = 8192; // the largest NR_CPUS that Linux can be built with
    let mut list = Vec::new();
    for part in text.trim().split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high) = (low.parse::<usize>().ok()?, high.parse::<usize>().ok()?);
        if low > high || high >= CPUS_MAX {
            return None;
        }
        list.extend(low..=high);
    }
    Some(list)
}

/// Whether `text` is a whole number without a unit.
pub(super) fn is_bare(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn stop(text: &str) -> Result<Value, String> {
    // An hour too many is a typing error; more than a month is a mistake in the plan.
    const LONGEST_NS: u64 = 31 * 86_400_000_000_000;
    let stop = match text {
        "steady" => Stop::Steady,
        "pass" => Stop::Pass,
        _ if text.starts_with("interval:") => interval(text)?,
        _ if text.ends_with("bits") || text.ends_with("bit") => bits(text)?,
        // 20 may be meant as seconds as well as bytes.
        _ if is_bare(text) => {
            return Err(format!("`{text}` has no unit: write {text}s, or {text}B"));
        }
        _ => match time(text) {
            Ok(ns) if (1..=LONGEST_NS).contains(&ns) => Stop::After(ns),
            Ok(_) => return Err(format!("`{text}` is outside 1ns to 31d")),
            Err(_) => match size(text) {
                Ok(bytes) if bytes > 0 => Stop::Bytes(bytes),
                _ => {
                    return Err(format!(
                        "`{text}` is neither a time (20s), bytes (2GiB), bits (1e14bits), `pass`, \
                         `steady` nor `interval:5%`"
                    ));
                }
            },
        },
    };
    Ok(Value::Stop(stop))
}

/// `interval:5%`, `interval:0.5%`: finer than a hundredth of a percent is not measured here.
fn interval(text: &str) -> Result<Stop, String> {
    let percent = text.strip_prefix("interval:").and_then(|rest| rest.strip_suffix('%'));
    let hundredths = percent.and_then(|number| number.parse::<f64>().ok()).map(|it| it * 100.0);
    let whole = |it: &f64| (1.0..=5000.0).contains(it) && (it - it.round()).abs() < 1e-6;
    let found = hundredths.filter(whole).map(|it| Stop::Interval(it.round() as u32));
    found.ok_or_else(|| {
        format!("`{text}` is not an interval such as interval:5% (0.01% to 50%, two decimals)")
    })
}

/// `1e14bits`, `2.5e12bits`, `100Gbits`: decimal units, as drive makers count; exact.
fn bits(text: &str) -> Result<Stop, String> {
    // What is read in ten days at 1 TB/s; more is a typing error.
    const MOST: u64 = 10_000_000_000_000_000_000;
    let wrong = || format!("`{text}` is not an amount of bits such as 1e14bits or 100Gbits");
    let number = text.strip_suffix("bits").or_else(|| text.strip_suffix("bit")).unwrap_or(text);
    let number = number.trim_end();
    let units = [('k', 3), ('M', 6), ('G', 9), ('T', 12), ('P', 15)];
    let unit = units.into_iter().find(|(letter, _)| number.ends_with(*letter));
    let number = unit.and_then(|(it, _)| number.strip_suffix(it)).unwrap_or(number).trim_end();
    let (digits, power) = match number.split_once(['e', 'E']) {
        Some((digits, power)) => {
            (digits, power.trim_start_matches('+').parse::<u32>().map_err(|_| wrong())?)
        }
        None => (number, 0),
    };
    let power = power.min(100) + unit.map_or(0, |(_, power)| power);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    let decimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !decimal(whole) || !decimal(fraction) {
        return Err(wrong());
    }
    // Shifting the point by whole places loses nothing.
    let zeros = power.checked_sub(fraction.len() as u32).ok_or_else(wrong)?;
    let shifted = format!("{whole}{fraction}").parse::<u64>().ok();
    let scaled = shifted.and_then(|it| it.checked_mul(10_u64.checked_pow(zeros)?));
    match scaled {
        Some(0) | None => Err(wrong()),
        Some(bits) if bits > MOST => Err(format!("`{text}` is more than {MOST} bits")),
        Some(bits) => Ok(Stop::Bits(bits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_binary_unless_written_as_decimal() {
        assert_eq!(parse_bytes("4k"), Ok(4096));
        assert_eq!(parse_bytes("4KiB"), Ok(4096));
        assert_eq!(parse_bytes("1.5GiB"), Ok(3 << 29));
        assert_eq!(parse_bytes("4MB"), Ok(4_000_000));
        assert_eq!(parse_bytes("17"), Ok(17));
        for wrong in ["", "k", "-1", "1e3", "4 parsecs", "99999999999TiB", "..", "1.2.3k"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn free_text_keeps_its_commas_and_refuses_what_no_argument_can_hold() {
        let command = "dd if=a,b bs=1M";
        assert_eq!(Domain::Text.parse(command), Ok(Value::Word(command.into())));
        assert_eq!(Domain::Texts.parse("A=1,2"), Ok(Value::Words(vec!["A=1,2".into()])));
        assert_eq!(Domain::Texts.parse(""), Ok(Value::Words(vec![])));
        assert!(Domain::Text.parse("a\0b").is_err() && Domain::Texts.parse("\0").is_err());
    }

    #[test]
    fn labels_are_names_that_need_no_quotes() {
        for name in ["areca-16", "3ware/9650SE", "1", "bios_1.2+patch", "as-is"] {
            assert_eq!(Domain::Label.parse(name), Ok(Value::Word(name.into())));
        }
        for wrong in ["", "a b", "a,b", "a=b", "a\n", "'", &"x".repeat(101)] {
            assert!(Domain::Label.parse(wrong).is_err(), "{wrong}");
        }
    }

    /// `pacing=0.1b/s` was taken as a size of no bytes, and a rate of 0 paced nothing.
    #[test]
    fn what_is_no_rate_is_refused_as_a_rate() {
        let all = ["fast", "", "/s", "Gb/s", "10s", "-1MB/s", "99999999999TiB/s", "0.1b/s", "0b/s"];
        for wrong in all.into_iter().chain(["0MB/s", "0"]) {
            let why = Domain::BytesPerSecond.parse(wrong).unwrap_err();
            assert!(why.contains("not a rate such as 10Gb/s") && !why.contains("size"), "{why}");
            assert!(why.contains(&format!("`{wrong}`")), "{why}");
        }
    }

    #[test]
    fn refusals_say_what_would_do() {
        let domain = Domain::Bytes { min: 512, max: 1 << 30, step: 512 };
        assert_eq!(domain.parse("700").unwrap_err(), "700 is not a multiple of 512B");
        assert_eq!(domain.parse("2GiB").unwrap_err(), "2GiB is outside 512B to 1GiB");
        let count = Domain::Count { min: 1, max: 8 };
        assert_eq!(count.parse("9").unwrap_err(), "9 is outside 1 to 8");
        assert!(Domain::Number { min: 0.0, max: 1.0 }.parse("NaN").is_err());
        assert!(Domain::Cpus.parse("3-1").is_err());
        assert!(Domain::Stop.parse("0s").is_err());
        for wrong in ["interval:", "interval:5", "interval:0%", "interval:51%", "interval:.001%"] {
            assert!(Domain::Stop.parse(wrong).unwrap_err().contains("interval:5%"), "{wrong}");
        }
    }

    #[test]
    fn what_may_be_left_as_it_is_takes_that_word_and_what_it_takes_besides() {
        let domain = Domain::OrAsIs(&Domain::Count { min: 1, max: 8 });
        assert_eq!(domain.parse("as-is"), Ok(Value::as_is()));
        assert!(domain.parse("as-is").unwrap().is_as_is());
        assert_eq!(domain.parse("3"), Ok(Value::Count(3)));
        assert!(!Value::Count(3).is_as_is());
        assert_eq!(domain.parse("9").unwrap_err(), "9 is outside 1 to 8");
        assert_eq!(domain.describe(), "as-is, or 1 to 8");
        assert!(Domain::Count { min: 1, max: 8 }.parse("as-is").is_err());
        let cpus = Domain::OrAsIs(&Domain::CpuList);
        assert_eq!(cpus.parse("0-3,8"), Ok(Value::Word("0-3,8".into())));
        for wrong in ["", "none", "spread", "3-1", "0-99999999999"] {
            assert!(cpus.parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bits_are_exact_decimal_and_survive_being_printed() {
        let bits = |text: &str| match Domain::Stop.parse(text) {
            Ok(Value::Stop(Stop::Bits(bits))) => bits,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(bits("1e14bits"), 100_000_000_000_000);
        assert_eq!(bits("2.5e12bits"), 2_500_000_000_000);
        assert_eq!(
            (bits("100Gbits"), bits("1Tbit"), bits("8 bits")),
            (10_u64.pow(11), 10_u64.pow(12), 8)
        );
        assert_eq!((bits("1.50e+1bits"), bits("1.5kbits")), (15, 1500));
        for (number, text) in
            [(8_u64, "8bits"), (10_u64.pow(14), "1e14bits"), (25 * 10_u64.pow(11), "25e11bits")]
        {
            assert_eq!(Value::Stop(Stop::Bits(number)).to_string(), text);
            assert_eq!(bits(text), number);
        }
        for wrong in [
            "bits",
            "0bits",
            "-1bits",
            "1.5bits",
            "1e-3bits",
            "1e99bits",
            "1e19bitss",
            ".5kbits",
            "1e14",
            "2e19bits",
        ] {
            let said = Domain::Stop.parse(wrong);
            assert!(said.as_ref().is_err_and(|why| why.contains("bits")), "{wrong}: {said:?}");
        }
    }

    #[test]
    fn an_interval_to_stop_at_is_a_percentage_and_survives_being_printed() {
        for (text, share) in [("interval:5%", 500), ("interval:0.25%", 25), ("interval:50%", 5000)]
        {
            let stop = Domain::Stop.parse(text);
            assert_eq!(stop, Ok(Value::Stop(Stop::Interval(share))));
            assert_eq!(stop.unwrap().to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn values_survive_being_printed(n in 1u64..1 << 50) {
            let max = u64::MAX;
            let domain = Domain::Bytes { min: 0, max, step: 1 };
            let value = Value::Bytes(n);
            prop_assert_eq!(domain.parse(&value.to_string()), Ok(value));
            let domain = Domain::Duration { min_ns: 0, max_ns: max };
            let value = Value::Duration(n);
            prop_assert_eq!(domain.parse(&value.to_string()), Ok(value));
            let value = Value::Stop(Stop::Bits(n));
            prop_assert_eq!(Domain::Stop.parse(&value.to_string()), Ok(value));
            let value = Value::BytesPerSecond(n);
            prop_assert_eq!(Domain::BytesPerSecond.parse(&value.to_string()), Ok(value));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,12}") {
            for domain in [Domain::Stop, Domain::Cpus, Domain::Flag, Domain::BytesPerSecond] {
                let _ = domain.parse(&text);
            }
            let _ = parse_duration_ns(&text);
        }
    }
}
