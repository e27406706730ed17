//! How figures and settings are printed: always with their unit, never a bare "MB".

use super::{Stop, Value, whole};

/// Three significant digits, without exponent: `1.23`, `45.6`, `789`, `12300`.
pub fn significant(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return format!("{number}");
    }
    let digits = (2 - number.abs().log10().floor() as i32).clamp(0, 9);
    format!("{number:.*}", digits as usize)
}

/// How many there are of something whose plural ends in s: `1 trial`, `4 trials`.
pub fn counted(count: u64, of: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{count} {of}{many}")
}

/// A size with a binary unit: `4 KiB`, `1.46 GiB`.
pub fn bytes(bytes: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (number, unit) = scale(bytes, 1024.0, &units);
    format!("{} {unit}", significant(number))
}

/// A throughput, decimal and binary, as there is no agreement: `1640 MB/s (1570 MiB/s)`.
pub fn throughput(bytes_per_s: f64) -> String {
    let mib = bytes_per_s / f64::from(1 << 20);
    format!("{} MB/s ({} MiB/s)", significant(bytes_per_s / 1e6), significant(mib))
}

/// The same in one unit, where several stand in one sentence: `1640 MB/s`.
pub fn throughput_short(bytes_per_s: f64) -> String {
    format!("{} MB/s", significant(bytes_per_s / 1e6))
}

/// A rate of a network, in decimal bits per second: `9.41 Gb/s`.
pub fn bits(bytes_per_s: f64) -> String {
    format!("{} Gb/s", significant(bytes_per_s * 8e-9))
}

/// Operations per second: `66.9 k/s`.
pub fn iops(per_s: f64) -> String {
    let (number, unit) = scale(per_s, 1000.0, &["", "k", "M", "G"]);
    if unit.is_empty() { significant(number) } else { format!("{}{unit}", significant(number)) }
}

/// A whole number with thin grouping: `1 234 567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A time given in nanoseconds: `850 ns`, `12.3 us`, `4.56 ms`, `2 m 05 s`.
pub fn duration(ns: f64) -> String {
    if ns >= 60e9 {
        let seconds = (ns / 1e9).round() as u64;
        return match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
            (0, minutes, 0) => format!("{minutes} min"),
            (0, minutes, rest) => format!("{minutes} min {rest:02} s"),
            (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
        };
    }
    let (number, unit) = scale(ns, 1000.0, &["ns", "us", "ms", "s"]);
    format!("{} {unit}", significant(number))
}

/// A time that is no whole number of its unit, exactly and as one types it: `1.014872979s`.
pub(super) fn decimal_duration(ns: u64) -> String {
    let units = [(1_000_000_000, 9, "s"), (1_000_000, 6, "ms"), (1_000, 3, "us")];
    let Some((unit, digits, name)) = units.into_iter().find(|(unit, ..)| ns >= *unit) else {
        return format!("{ns}ns");
    };
    let rest = format!("{:0digits$}", ns % unit);
    format!("{}.{}{name}", ns / unit, rest.trim_end_matches('0'))
}

/// Words that a POSIX shell reads back as the same words. The crate `shlex` would quote what needs
/// no quotes, as `queue-depth=1,8`, and be read less easily.
pub fn shell_words(argv: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    let quoted = argv.iter().map(|word| match word.is_empty() || !word.chars().all(plain) {
        true => format!("'{}'", word.replace('\'', r"'\''")),
        false => word.clone(),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// A share as a percentage: `0.0523` is `5.2 %`.
pub fn percent(share: f64) -> String {
    let digits = usize::from(share.abs() < 0.0995);
    format!("{:.*} %", digits, share * 100.0)
}

/// A setting for people to read: sizes and rates with a space before the unit (`64 KiB`), which
/// nobody types so. What is to be typed is the value's `Display`.
pub fn setting(value: &Value) -> String {
    let text = match value {
        Value::Bytes(n) | Value::Stop(Stop::Bytes(n)) => {
            let (number, unit) = whole(*n);
            format!("{number} {unit}")
        }
        Value::BytesPerSecond(_) => {
            let typed = value.to_string();
            let unit = typed.find(|c: char| !c.is_ascii_digit()).unwrap_or(typed.len());
            format!("{} {}", &typed[..unit], &typed[unit..])
        }
        // Nanoseconds of a time that was computed say nothing to a reader.
        Value::Duration(ns) | Value::Stop(Stop::After(ns)) => {
            let typed = value.to_string();
            if typed.contains('.') { duration(*ns as f64) } else { typed }
        }
        Value::Flag(true) => "yes".to_owned(),
        Value::Flag(false) => "no".to_owned(),
        // As people write four digits of a setting: an MTU of 1500.
        Value::Count(n) if *n < 10_000 => n.to_string(),
        Value::Count(n) => count(*n),
        other => other.to_string(),
    };
    // No directories, or an empty word.
    if text.is_empty() { "none".to_owned() } else { text }
}

fn scale<'a>(number: f64, step: f64, units: &[&'a str]) -> (f64, &'a str) {
    let mut number = number;
    let mut unit = 0;
    // 999.5 would print as 1000 with three digits; it belongs to the next unit.
    while number.abs() >= step * 0.9995 && unit + 1 < units.len() {
        number /= step;
        unit += 1;
    }
    (number, units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plans, findings and the reports' settings said `64KiB`, where the tables beside them said
    /// `64 KiB`.
    #[test]
    fn settings_read_as_people_write_them() {
        assert_eq!(setting(&Value::Bytes(1 << 20)), "1 MiB");
        assert_eq!(setting(&Value::Bytes(512)), "512 B");
        assert_eq!(setting(&Value::Bytes(4096 + 512)), "4608 B");
        assert_eq!(setting(&Value::Stop(Stop::Bytes(2 << 30))), "2 GiB");
        assert_eq!(setting(&Value::BytesPerSecond(200_000_000)), "200 MB/s");
        assert_eq!(setting(&Value::Count(10_000)), "10 000");
        assert_eq!(setting(&Value::Count(1500)), "1500", "an MTU");
        assert_eq!(setting(&Value::Flag(false)), "no");
        assert_eq!(setting(&Value::Words(Vec::new())), "none");
        assert_eq!(Value::Bytes(64 << 10).to_string(), "64KiB", "as typed");
    }

    /// The settings of an evaluation said `at-least 1014872979ns`, which nobody types or reads.
    #[test]
    fn a_time_that_was_computed_reads_as_a_person_would_write_it() {
        for (ns, typed, read) in [
            (1_014_872_979, "1.014872979s", "1.01 s"),
            (2_500_000, "2500us", "2500us"),
            (20_000_000_000, "20s", "20s"),
            (1_500_300, "1.5003ms", "1.50 ms"),
            (1_234, "1.234us", "1.23 us"),
            (850, "850ns", "850ns"),
        ] {
            assert_eq!(Value::Duration(ns).to_string(), typed);
            assert_eq!(setting(&Value::Duration(ns)), read);
            assert_eq!(setting(&Value::Stop(Stop::After(ns))), read);
            assert_eq!(super::super::parse_duration_ns(typed), Ok(ns), "typed again");
        }
    }

    #[test]
    fn figures_read_as_people_write_them() {
        assert_eq!(bytes(4096.0), "4.00 KiB");
        assert_eq!(bytes(1.5 * 1024.0 * 1024.0 * 1024.0), "1.50 GiB");
        assert_eq!(throughput(1.644e9), "1644 MB/s (1568 MiB/s)");
        assert_eq!(iops(66_900.0), "66.9k");
        assert_eq!(iops(193.0), "193");
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(duration(850.0), "850 ns");
        assert_eq!(duration(12_340.0), "12.3 us");
        assert_eq!(duration(125e9), "2 min 05 s");
        assert_eq!(duration(3_700e9), "1 h 01 min");
        assert_eq!(percent(0.0523), "5.2 %");
        assert_eq!(percent(0.523), "52 %");
        assert_eq!(significant(f64::NAN), "NaN");
    }
}
