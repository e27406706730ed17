//! (pure) dd's last line, of coreutils in any language, of busybox and of BSD and macOS.
//!
//! Its rate is of 1000 bytes in coreutils (`2.1 GB/s`), of 1024 in busybox (`833.3MB/s`), and in
//! bytes in BSD. Bytes and time stand beside it, and a rate that is not theirs is refused. dd says
//! nothing of what it read and wrote, nor whether that was ever durable.

use super::{Form, Importer, ToolResult};

/// See [`Importer`].
pub const DD: Importer = Importer {
    name: "dd",
    about: "The line in which dd says how fast it was (coreutils, busybox, BSD, macOS)",
    forms: &[Form {
        bring: "the line with the rate, of coreutils, busybox, BSD or macOS",
        recorded: &["8", "9.1"],
        read: "bytes, seconds and their rate",
        not_read: "a rate that is not its bytes by its seconds",
    }],
    words: &["records in", "records out", "copied", "if=", "of=", "bs="],
    mark: "line `209715200 bytes (210 MB) copied, 1.6582 s, 126 MB/s`",
    parse,
    knows,
};

fn knows(text: &str) -> bool {
    text.lines().any(|line| DdLine::of(line).is_some())
}

/// One result for each such line.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut all = Vec::new();
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let Some(of) = DdLine::of(line) else { continue };
        all.push(of.said(line)?);
    }
    match all.is_empty() {
        true => Err("there is no line of dd's in it that says how fast it was".to_owned()),
        false => Ok(all),
    }
}

/// The line in which dd says how much it copied, in how long, how fast.
struct DdLine<'a> {
    bytes: f64,
    seconds: f64,
    rate: f64,
    /// What one more in the last place of the rate is worth.
    step: f64,
    printed: &'a str,
}

impl<'a> DdLine<'a> {
    fn of(line: &'a str) -> Option<DdLine<'a>> {
        // `dd: ` and a prompt may stand before it.
        let line = line.trim().trim_start_matches("dd: ");
        let (bytes, rest) = line.split_once(' ')?;
        let bytes = bytes.parse::<u64>().ok()? as f64;
        let (_, rest) = rest.split_once([' ']).filter(|(word, _)| is_bytes(word))?;
        match rest.strip_prefix("transferred in ") {
            Some(rest) => DdLine::of_bsd(bytes, rest),
            None => DdLine::of_coreutils(bytes, rest),
        }
    }

    /// `0.45 secs (2330168888 bytes/sec)`.
    fn of_bsd(bytes: f64, rest: &'a str) -> Option<DdLine<'a>> {
        let (seconds, rest) = rest.split_once(" sec")?;
        let printed = rest.split_once('(')?.1.strip_suffix(')')?;
        let rate = printed.strip_suffix(" bytes/sec")?.parse().ok()?;
        Some(DdLine { bytes, seconds: number(seconds)?, rate, step: 1.0, printed })
    }

    /// `(105 MB, 100 MiB) copied, 0.0523 s, 2.0 GB/s`, and of busybox `(1000.0MB) copied, 1.2
    /// seconds, 833.3MB/s`. Of what was less than a kB nothing stands in brackets.
    fn of_coreutils(bytes: f64, rest: &'a str) -> Option<DdLine<'a>> {
        let rest = match rest.strip_prefix('(') {
            Some(rest) => rest.split_once(") ")?.1,
            None => rest,
        };
        // One word of whatever language, and numbers that may have a comma in them.
        let (_, rest) = rest.split_once(", ")?;
        let (seconds, printed) = rest.split_once(", ")?;
        let (seconds, unit) = seconds.split_once(' ')?;
        if !["s", "seconds"].contains(&unit) {
            return None;
        }
        let (rate, step) = rate(printed, unit == "seconds")?;
        Some(DdLine { bytes, seconds: number(seconds)?, rate, step, printed })
    }

    fn said(&self, line: &str) -> Result<ToolResult, String> {
        // What is shorter than its last place can tell has a rate of no use.
        let told = self.bytes / self.seconds;
        if (told - self.rate).abs() > 2.0 * self.step + 0.02 * told {
            return Err(format!("`{line}` has a rate that is not its bytes by its seconds"));
        }
        let mut said = ToolResult::default();
        said.add("throughput_bytes_per_s", self.rate, self.printed);
        Ok(said)
    }
}

/// In the languages that coreutils speaks: `bytes`, `Bytes`, `octets`, `byte`.
fn is_bytes(word: &str) -> bool {
    let word = word.to_lowercase();
    ["byte", "octet", "bajt", "tavu", "байт"].iter().any(|known| word.starts_with(known))
}

/// A number with a point, or with a comma.
fn number(text: &str) -> Option<f64> {
    let number = text.replace(',', ".").parse::<f64>().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

/// `2.1 GB/s`, `833.3MB/s` and what one more in its last place is worth.
fn rate(text: &str, is_busybox: bool) -> Option<(f64, f64)> {
    let text = text.strip_suffix("/s")?;
    let end = text.find(|c: char| !c.is_ascii_digit() && ![',', '.'].contains(&c))?;
    let (number_of, unit) = text.split_at(end);
    let base = if is_busybox { 1024f64 } else { 1000.0 };
    let letter = unit.trim_start().strip_suffix('B')?;
    let power = ["", "k", "M", "G", "T"].iter().position(|it| it.eq_ignore_ascii_case(letter))?;
    let unit = base.powi(power as i32);
    let decimals = number_of.split_once([',', '.']).map_or(0, |(_, behind)| behind.len());
    Some((number(number_of)? * unit, unit * 0.1f64.powi(decimals as i32)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{rounded, same_or_refused};
    use base::stats::testing::Random;

    fn read(line: &str) -> Result<Option<f64>, String> {
        parse(&format!("{line}\n")).map(|said| rounded(&said[0], "throughput_bytes_per_s"))
    }

    /// Rates by hand: 104857600 bytes in 0.0523 s are 2.005 GB/s; 1048576000 in 1.2 s are 873813333
    /// B/s, which are 833.3 of 2^20.
    #[test]
    fn each_dd_counts_in_its_own_units_and_a_comma_is_a_point() {
        for (line, rate) in [
            ("104857600 bytes (105 MB, 100 MiB) copied, 0.0523 s, 2.0 GB/s", 2e9),
            ("104857600 bytes (105 MB) copied, 0.0523 s, 2.0 GB/s", 2e9),
            ("104857600 Bytes (105 MB, 100 MiB) kopiert, 0,0523 s, 2,0 GB/s", 2e9),
            ("104857600 octets (105 MB, 100 MiB) copiés, 0,523 s, 200 MB/s", 2e8),
            ("1048576000 bytes (1000.0MB) copied, 1.200000 seconds, 833.3MB/s", 873_778_380.8),
            ("1048576000 bytes transferred in 0.45 secs (2330168888 bytes/sec)", 2_330_168_888.0),
            ("512 bytes copied, 0.000256 s, 2.0 MB/s", 2e6),
        ] {
            assert_eq!(read(line), Ok(Some(rate)), "{line}");
        }
    }

    #[test]
    fn a_rate_that_is_not_of_its_bytes_and_seconds_is_refused() {
        let why = read("104857600 bytes (105 MB, 100 MiB) copied, 0.523 s, 2.0 GB/s").unwrap_err();
        assert!(why.contains("not its bytes by its seconds"), "{why}");
        assert!(parse("100+0 records in\n100+0 records out\n").is_err());
        assert!(parse("104857600 bytes (105 MB) copied, 0.0523 s, 2.0 GB").is_err());
    }

    /// The rate in another unit of dd's, other lines around, and no lines of records.
    #[test]
    fn what_says_the_same_otherwise_gives_the_same_or_is_refused() {
        const FILES: [&str; 2] = [
            include_str!("../../../tests/fixtures/tools/dd-8-coreutils.txt"),
            include_str!("../../../tests/fixtures/tools/dd-9.1-coreutils.txt"),
        ];
        let mut random = Random::new(20_261_130);
        let (mut tried, mut kept) = (0, 0);
        for text in FILES {
            for _ in 0..200 {
                let other: String = text
                    .lines()
                    .filter(|line| !line.contains(" records ") || random.uniform() < 0.5)
                    .collect::<Vec<_>>()
                    .into_iter()
                    .map(|line| format!("{}\n", in_other_unit(line, random.uniform())))
                    .collect();
                let other =
                    other.replace("\n", if random.uniform() < 0.5 { "\n$ ls\n" } else { "\n" });
                tried += 1;
                kept += usize::from(same_or_refused(&DD, text, &other, 1e-9));
            }
        }
        assert!(kept * 2 > tried, "{kept} of {tried}");
    }

    /// A line with its rate as 1000 of the next smaller unit, or a thousandth of the next larger.
    fn in_other_unit(line: &str, draw: f64) -> String {
        let Some((before, rate)) = line.rsplit_once(", ") else { return line.to_owned() };
        let Some((number, unit)) = rate.split_once(' ') else { return line.to_owned() };
        let (Ok(number), Some(at)) =
            (number.parse::<f64>(), ["kB/s", "MB/s", "GB/s"].iter().position(|it| *it == unit))
        else {
            return line.to_owned();
        };
        match (draw < 0.3, draw > 0.7, at) {
            (true, _, 1 | 2) => format!("{before}, {} {}", number * 1e3, ["kB/s", "MB/s"][at - 1]),
            (_, true, 0 | 1) => format!("{before}, {} {}", number / 1e3, ["MB/s", "GB/s"][at]),
            _ => line.to_owned(),
        }
    }
}
