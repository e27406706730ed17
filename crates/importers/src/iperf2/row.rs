//! (pure) A row of iperf 2's text: what was counted of one stream, or of all, in some seconds.
//!
//! Its bytes are of 1024 and its bits of 1000 (stdio.c, conversion_bytes and conversion_bits), in
//! all versions from 2.0.4 to 2.2.1. Its seconds have one decimal, two or four.

use crate::iperf3::row::{Iperf3Number, Lost, moved_in, number, rate_in};

/// One row of what iperf 2 prints: an interval of a stream, or a sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Iperf2Row {
    /// What stands in its brackets.
    pub id: String,
    /// From when it is, in seconds.
    pub from: f64,
    /// Until when.
    pub to: f64,
    /// How many decimals these have.
    pub decimals: usize,
    /// What was moved.
    pub bytes: Iperf3Number,
    /// By how much in a second, in bytes.
    pub rate: Iperf3Number,
    /// The rate as it was printed.
    pub printed: String,
    /// Of datagrams.
    pub jitter_ms: Option<f64>,
    /// What was lost of how many datagrams.
    pub lost: Option<Lost>,
    /// What stands behind `Write/Err`, of TCP with `-e`.
    pub retries: Option<f64>,
}

impl Iperf2Row {
    /// `[  3]  0.0-10.0 sec  1.10 GBytes   941 Mbits/sec`, and of datagrams `0.005 ms    0/  893
    /// (0%)` behind it.
    pub fn parse(line: &str) -> Option<Iperf2Row> {
        let (id, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
        let (interval, rest) = rest.split_once(" sec ")?;
        let interval: String = interval.split_whitespace().collect();
        let (from, to) = interval.split_once('-')?;
        let ((from, _), (to, decimals)) = (seconds(from)?, seconds(to)?);
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [moved, unit, rate, per, more @ ..] = words.as_slice() else { return None };
        let (jitter, behind) = match rest.split_once(" ms ") {
            Some((before, behind)) if more.get(1) == Some(&"ms") => {
                (before.split_whitespace().last().and_then(|it| it.parse().ok()), behind)
            }
            _ => (None, ""),
        };
        // `22186/0          0`: writes and their errors, and what was sent again.
        let retries = more.get(1).filter(|_| more.first().is_some_and(|it| it.contains('/')));
        Some(Iperf2Row {
            id: id.trim().to_owned(),
            from,
            to,
            decimals,
            bytes: number(moved, moved_in(unit)?)?,
            rate: number(rate, rate_in(per)?)?,
            printed: format!("{rate} {per}"),
            jitter_ms: jitter.filter(|it: &f64| it.is_finite()),
            lost: lost(behind),
            retries: retries.and_then(|word| word.parse().ok()),
        })
    }

    /// From when to when it is, and its bytes.
    pub fn span(&self) -> super::TimedBytes {
        (self.from, self.to, self.bytes.value)
    }

    /// Whether its bytes are its rate by its seconds, as far as so few digits can tell.
    ///
    /// # Errors
    /// When they are not, or when no rate is left of it.
    pub fn check(&self) -> Result<(), String> {
        let (bytes, rate, seconds) = (self.bytes, self.rate, self.to - self.from);
        if rate.value <= 0.0 && bytes.value > 0.0 {
            return Err(format!(
                "its rate is printed as {}, though it moved something: it was too short, or the \
                 unit is too large",
                self.printed
            ));
        }
        let step = 0.1f64.powi(self.decimals as i32);
        let slack = 0.51 * (bytes.step + rate.step * seconds) + 1.02 * step * rate.value;
        if (bytes.value - rate.value * seconds).abs() > slack {
            return Err(format!(
                "its rate of {} is not what it moved in {seconds} s",
                self.printed
            ));
        }
        self.lost.as_ref().map_or(Ok(()), Lost::check)
    }
}

fn seconds(text: &str) -> Option<(f64, usize)> {
    let decimals = text.split_once('.')?.1.len();
    let time = number(text, 1.0)?;
    [1, 2, 4].contains(&decimals).then_some((time.value, decimals))
}

/// `0/  893 (0%) ...`.
fn lost(text: &str) -> Option<Lost> {
    let (counts, rest) = text.split_once('(')?;
    let printed: String = counts.split_whitespace().collect();
    let (lost, all) = printed.split_once('/')?;
    let (lost, all) = (lost.parse().ok()?, all.parse().ok()?);
    let percent = rest.split_once("%)").and_then(|(percent, _)| percent.parse().ok());
    Some(Lost { printed, lost, all, percent: percent.filter(|it: &f64| it.is_finite()) })
}
