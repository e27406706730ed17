//! (pure) A row of iperf3's text: what was counted of one stream, or of all, in some seconds.
//!
//! Its columns are those of iperf_locale.c, its numbers those of units.c: bytes are of 1024
//! (`MBytes`, and `MBytes/sec` where `-f M` asks for it), bits of 1000 (`Mbits/sec`); each has
//! three or four digits, and fewer where `-f` asks for a unit that is too large.

/// What is called the sum of all streams.
pub const SUM: &str = "SUM";

/// One row of what iperf3 prints: an interval of a stream, or a sum.
#[derive(Clone, Debug, PartialEq)]
pub struct Iperf3Row {
    /// The stream's number, or [`SUM`].
    pub id: String,
    /// Of data that the server sent, where both do.
    pub of_server: bool,
    /// Whether it stands for both directions at once.
    pub has_role: bool,
    /// Who counted it; of datagrams nobody is named up to 3.1, and of an interval never.
    pub end: Option<End>,
    /// The seconds that it is of, as they were printed.
    pub interval: String,
    /// How many they are.
    pub seconds: f64,
    /// What was moved.
    pub bytes: Iperf3Number,
    /// By how much in a second, in bytes.
    pub rate: Iperf3Number,
    /// The rate as it was printed.
    pub printed: String,
    /// The first number behind the rate, where there is no jitter.
    pub retransmits: Option<f64>,
    /// What stands before `ms`.
    pub jitter_ms: Option<f64>,
    /// What was lost of how many datagrams.
    pub lost: Option<Lost>,
    /// Whether it is of the time that `-O` leaves out.
    pub is_omitted: bool,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// What sends.
    Sender,
    /// What receives.
    Receiver,
}

/// `294/918 (32%)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Lost {
    /// As it was printed, without the percentage.
    pub printed: String,
    /// How many.
    pub lost: f64,
    /// Of how many.
    pub all: f64,
    /// The same as a percentage of two digits.
    pub percent: Option<f64>,
}

/// A number and what one more in its last place is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iperf3Number {
    /// In bytes, or in bytes per second.
    pub value: f64,
    /// In the same unit.
    pub step: f64,
}

impl Iperf3Row {
    /// `[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec    0             sender`, with
    /// `[TX-C]` behind the first where both ends send, and of datagrams `0.013 ms  0/906 (0%)`.
    pub fn parse(line: &str) -> Option<Iperf3Row> {
        let (id, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
        let (role, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((role, rest)) => (Some(role), rest),
            None => (None, rest),
        };
        let id = id.trim();
        if id != SUM && !is_digits(id) {
            return None;
        }
        let of_server = match role {
            None | Some("TX-C" | "RX-S") => false,
            Some("RX-C" | "TX-S") => true,
            Some(_) => return None,
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [interval, "sec", moved, unit, rate, per, more @ ..] = words.as_slice() else {
            return None;
        };
        let lost = more.iter().position(|word| word.contains('/')).and_then(|at| lost(more, at));
        let ms = more.iter().position(|word| *word == "ms");
        let jitter_ms = ms.and_then(|at| more.get(at.checked_sub(1)?)?.parse().ok());
        let retransmits = more.first().filter(|_| ms.is_none()).and_then(|it| it.parse().ok());
        let end = match more.last() {
            Some(&"sender") => Some(End::Sender),
            Some(&"receiver") => Some(End::Receiver),
            _ => None,
        };
        Some(Iperf3Row {
            id: id.to_owned(),
            of_server,
            has_role: role.is_some(),
            end,
            seconds: seconds(interval)?,
            interval: (*interval).to_owned(),
            bytes: number(moved, moved_in(unit)?)?,
            rate: number(rate, rate_in(per)?)?,
            printed: format!("{rate} {per}"),
            retransmits,
            jitter_ms,
            lost,
            is_omitted: more.last() == Some(&"(omitted)"),
        })
    }

    /// Whether nothing of it is missing at its end.
    pub fn is_whole(line: &str) -> bool {
        let line = line.trim_end();
        line.ends_with("sender") || line.ends_with("receiver")
    }

    /// Whether its bytes are its rate by its seconds, and its percentage its datagrams, as far as
    /// so few digits can tell.
    ///
    /// # Errors
    /// When they are not.
    pub fn check(&self) -> Result<(), String> {
        // The seconds have two decimals, and start and end are rounded.
        const SECONDS: f64 = 0.011;
        let (bytes, rate) = (self.bytes, self.rate);
        let slack = 0.51 * (bytes.step + rate.step * self.seconds) + SECONDS * rate.value;
        if (bytes.value - rate.value * self.seconds).abs() > slack {
            return Err(format!(
                "its rate of {} is not what it moved in {} s",
                self.printed, self.seconds
            ));
        }
        if rate.value <= 0.0 && bytes.value > 0.0 && bytes.value > bytes.step {
            return Err(format!(
                "its rate is printed as {}, in a unit that is too large; run it without -f",
                self.printed
            ));
        }
        match &self.lost {
            Some(lost) if self.id != SUM => lost.check(),
            _ => Ok(()),
        }
    }
}

impl Lost {
    /// Whether its percentage is that of its datagrams, as far as two digits can tell.
    ///
    /// # Errors
    /// When it is not.
    pub fn check(&self) -> Result<(), String> {
        let (Some(percent), true) = (self.percent, self.all > 0.0) else { return Ok(()) };
        let share = 100.0 * self.lost / self.all;
        match (percent - share).abs() <= 0.051 * percent.abs() + 0.051 {
            true => Ok(()),
            false => Err(format!("{percent} % are not {} of its datagrams", self.printed)),
        }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Of `0.00-10.00`, which has two decimals on both sides: iperf 2 prints one, or four.
fn seconds(interval: &str) -> Option<f64> {
    let (from, to) = interval.split_once('-')?;
    let read = |text: &str| {
        let (whole, behind) = text.split_once('.')?;
        let is_time = is_digits(whole) && is_digits(behind) && behind.len() == 2;
        text.parse::<f64>().ok().filter(|_| is_time)
    };
    Some(read(to)? - read(from)?).filter(|seconds| *seconds >= 0.0)
}

fn lost(words: &[&str], at: usize) -> Option<Lost> {
    let printed = words.get(at)?;
    let (lost, all) = printed.split_once('/')?;
    let percent = words.get(at + 1).and_then(|word| word.strip_prefix('(')?.strip_suffix("%)"));
    Some(Lost {
        printed: (*printed).to_owned(),
        lost: lost.parse().ok()?,
        all: all.parse().ok()?,
        percent: percent.and_then(|it| it.parse().ok()).filter(|it: &f64| it.is_finite()),
    })
}

/// A number of digits and a point, in such a unit.
pub fn number(text: &str, unit: f64) -> Option<Iperf3Number> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value = text.parse::<f64>().ok().filter(|it| is_number && it.is_finite())?;
    let decimals = text.split_once('.').map_or(0, |(_, behind)| behind.len());
    Some(Iperf3Number { value: value * unit, step: unit * 0.1f64.powi(decimals as i32) })
}

/// Bytes of one such unit.
pub fn moved_in(unit: &str) -> Option<f64> {
    power(unit.strip_suffix("Bytes")?, 1024.0)
}

/// Bytes per second of one such unit.
pub fn rate_in(unit: &str) -> Option<f64> {
    match unit.strip_suffix("bits/sec") {
        Some(letter) => power(letter, 1000.0).map(|bits| bits / 8.0),
        None => power(unit.strip_suffix("Bytes/sec")?, 1024.0),
    }
}

fn power(letter: &str, base: f64) -> Option<f64> {
    let power = ["", "K", "M", "G", "T"].iter().position(|known| *known == letter)?;
    Some(base.powi(power as i32))
}
