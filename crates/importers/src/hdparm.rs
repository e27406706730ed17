//! (pure) hdparm's `-t` and `-T`: one line a measurement, under the name of the device.
//!
//! Its MB are of 2^20 bytes (hdparm.c: its buffer of 2 MB is 2 * 1024 * 1024). What it calls cached
//! reads is how fast memory is copied, and no rate of the device.
//!
//! It prints how a line begins before it measures. Of a device that is no ATA disk 9.58 says there
//! that it did not answer, and what was measured stands in the next line.

use super::{Form, Importer, ToolResult};

/// See [`Importer`].
pub const HDPARM: Importer = Importer {
    name: "hdparm",
    about: "The lines of `hdparm -tT DEVICE`, with --direct too",
    forms: &[Form {
        bring: "the lines of -t and -T, with --direct too",
        recorded: &["9.58", "9.65", "disk", "devices"],
        read: "both rates",
        not_read: "",
    }],
    words: &["hdparm", "Timing", "cached reads", "buffered disk reads", "O_DIRECT"],
    mark: "line `Timing buffered disk reads: ...`",
    parse,
    knows,
};

/// How a line begins, how its figure is called, and whether it goes around memory.
const LINES: [(&str, &str, Option<bool>); 4] = [
    ("Timing cached reads:", "memory_throughput_bytes_per_s", None),
    ("Timing buffered disk reads:", "throughput_bytes_per_s", Some(false)),
    ("Timing O_DIRECT cached reads:", "device_cache_throughput_bytes_per_s", Some(true)),
    ("Timing O_DIRECT disk reads:", "throughput_bytes_per_s", Some(true)),
];

fn knows(text: &str) -> bool {
    text.lines().any(|line| LINES.iter().any(|(head, ..)| line.trim_start().starts_with(head)))
}

/// One result for each line; a device and what was measured of it are its name.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    let mut device = String::new();
    let mut open: Option<String> = None;
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let joined = match open.take() {
            Some(begun) if line.starts_with(|first: char| first.is_ascii_digit()) => {
                Some(format!("{begun} {line}"))
            }
            Some(begun) => return Err(format!("`{begun}` in its output has no rate")),
            None => None,
        };
        let line = joined.as_deref().unwrap_or(line).trim();
        if let Some(name) = line.strip_suffix(':').filter(|name| name.starts_with("/dev/")) {
            name.clone_into(&mut device);
        }
        let of = LINES.iter().find_map(|(head, name, direct)| {
            line.strip_prefix(head).map(|rest| (*name, *direct, rest))
        });
        let Some((name, direct, rest)) = of else { continue };
        if joined.is_none() && is_failure(rest) {
            open = line.strip_suffix(rest).map(str::to_owned);
            continue;
        }
        let no_rate = || format!("`{line}` in its output has no rate");
        let (_, printed) = rest.split_once('=').ok_or_else(no_rate)?;
        let printed = printed.trim();
        let rate = rate(printed).ok_or_else(no_rate)?;
        let mut said = ToolResult { title: device.clone(), ..ToolResult::default() };
        said.settings.insert("access".to_owned(), "read".into());
        if let Some(direct) = direct {
            said.settings.insert("direct".to_owned(), direct.into());
        }
        said.add(name, rate, printed);
        all.push(said);
    }
    if let Some(begun) = open {
        return Err(format!("`{begun}` in its output has no rate"));
    }
    match all.is_empty() {
        true => Err("there is no line `Timing ... reads:` of hdparm's in it".to_owned()),
        false => Ok(all),
    }
}

/// `HDIO_DRIVE_CMD(identify) failed: Invalid argument`, in place of what was measured.
fn is_failure(rest: &str) -> bool {
    rest.trim_start().starts_with(|first: char| !first.is_ascii_digit())
        && rest.contains(" failed: ")
}

/// `411.06 MB/sec`, and of what is slow `853.33 kB/sec`.
fn rate(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let factor = match unit.trim() {
        "MB/sec" => 1_048_576.0,
        "kB/sec" => 1024.0,
        _ => return None,
    };
    Some(number.parse::<f64>().ok().filter(|it| it.is_finite() && *it > 0.0)? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{figure, rounded, same_or_refused};
    use base::stats::testing::Random;

    const OLDER: &str = include_str!("../../../tests/fixtures/tools/hdparm-9.58.txt");
    const NEWER: &str = include_str!("../../../tests/fixtures/tools/hdparm-9.65.txt");

    const BOTH: &str = "\n/dev/sda:\n Timing cached reads:   18348 MB in  1.99 seconds = 9214.59 \
                        MB/sec\n Timing buffered disk reads: 1234 MB in  3.00 seconds = 411.06 \
                        MB/sec\n";

    /// 411.06 * 1048576 = 431027650.56 B/s; the copies of memory are not the device's.
    #[test]
    fn its_megabytes_are_of_two_to_the_twenty_and_cached_reads_are_of_memory() {
        let said = parse(BOTH).unwrap();
        assert_eq!((said.len(), said[1].title.as_str()), (2, "/dev/sda"));
        assert_eq!(rounded(&said[1], "throughput_bytes_per_s"), Some(431_027_650.56));
        assert_eq!(said[1].settings["direct"], false);
        assert_eq!(figure(&said[0], "throughput_bytes_per_s"), None);
        assert!(figure(&said[0], "memory_throughput_bytes_per_s").is_some());
        let direct = BOTH.replace("buffered disk", "O_DIRECT disk");
        assert_eq!(parse(&direct).unwrap()[1].settings["direct"], true);
    }

    /// 585.71 * 1048576 = 614161448.96 B/s, and so on: both versions print the same lines, and 9.58
    /// a failure between their halves.
    #[test]
    fn a_failure_in_the_middle_of_a_line_does_not_part_it() {
        let names = ["memory_throughput", "throughput", "device_cache_throughput", "throughput"];
        for (text, rates) in [
            (OLDER, [614_161_448.96, 34_330_378.24, 59_747_860.48, 29_485_957.12]),
            (NEWER, [625_517_527.04, 27_011_317.76, 78_286_684.16, 45_854_228.48]),
        ] {
            let all = HDPARM.read(text).unwrap();
            assert_eq!(all.len(), 4);
            for ((said, name), rate) in all.iter().zip(names).zip(rates) {
                assert_eq!(rounded(said, &format!("{name}_bytes_per_s")), Some(rate));
                assert_eq!(said.title, "/dev/loop0");
            }
            assert_eq!(
                (&all[1].settings["direct"], &all[3].settings["direct"]),
                (&false.into(), &true.into())
            );
        }
        let (before, _) = OLDER.split_once("1190 MB").unwrap();
        assert!(parse(before).unwrap_err().contains("has no rate"));
        let twice = OLDER.replacen("1190 MB", "HDIO_GET failed: x\n1190 MB", 1);
        assert!(parse(&twice).unwrap_err().contains("has no rate"));
    }

    #[test]
    fn a_line_without_a_rate_is_refused() {
        assert!(parse(&BOTH.replace("= 411.06 MB/sec", "")).unwrap_err().contains("has no rate"));
        assert!(parse(&BOTH.replace("411.06 MB/sec", "0.00 MB/sec")).is_err());
        assert!(parse("/dev/sda:\n").is_err());
    }

    /// The rate in its other unit, with words behind it, and other lines around.
    #[test]
    fn what_says_the_same_otherwise_gives_the_same_or_is_refused() {
        const FILES: [&str; 4] = [
            include_str!("../../../tests/fixtures/tools/hdparm-disk.txt"),
            include_str!("../../../tests/fixtures/tools/hdparm-devices.txt"),
            OLDER,
            NEWER,
        ];
        let mut random = Random::new(20_261_130);
        let (mut tried, mut kept) = (0, 0);
        for text in FILES {
            for _ in 0..200 {
                let one = |line: &str| match line.split_once("= ") {
                    Some((before, rate)) if random.uniform() < 0.5 => {
                        let number =
                            rate.trim().trim_end_matches(" MB/sec").parse::<f64>().unwrap();
                        let end = if random.uniform() < 0.2 { " (again)" } else { "" };
                        format!("{before}= {} kB/sec{end}\n", number * 1024.0)
                    }
                    _ => format!("{line}\n"),
                };
                let other: String = text.lines().map(one).collect();
                tried += 1;
                kept += usize::from(same_or_refused(&HDPARM, text, &other, 1e-9));
            }
        }
        assert!(kept * 2 > tried && kept < tried, "{kept} of {tried}");
    }
}
