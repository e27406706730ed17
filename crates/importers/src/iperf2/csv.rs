//! (pure) iperf 2's `-y C`: a line a row, of nine fields, or of fourteen of datagrams that arrived.
//!
//! `time,address,port,address,port,stream,0.0-10.0,bytes,bits/s`, and behind them `jitter in
//! ms,lost,all,percent,out of order` (Locale.c, reportCSV_bw_format). The sum of several streams
//! has a number below zero. Which end printed it is not told.

use super::whole;
use crate::ToolResult;

/// Whether a text has a line of it, or the heading of its other form.
pub fn knows(text: &str) -> bool {
    text.lines().any(|line| Iperf2Line::of(line).is_some() || is_enhanced(line))
}

/// Whether it has the fields of a line, whatever is in them.
fn is_like_one(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').collect();
    let interval = fields.get(6).and_then(|field| field.split_once('-'));
    let is_time = |text: &str| text.parse::<f64>().is_ok();
    [9, 14].contains(&fields.len()) && interval.is_some_and(|it| is_time(it.0) && is_time(it.1))
}

/// `-y C` with `-e` has a heading.
fn is_enhanced(line: &str) -> bool {
    line.trim().starts_with("time,srcaddress,srcport,")
}

/// One line of iperf 2's CSV.
#[derive(Clone, Debug, PartialEq)]
struct Iperf2Line {
    /// Both addresses and ports, and the stream.
    key: String,
    ends: [String; 2],
    /// The second at which it was printed, of a calendar whose months have 31 days.
    at: f64,
    is_sum: bool,
    from: f64,
    to: f64,
    bytes: f64,
    bits: f64,
    printed: String,
    /// Jitter in ms, lost, of how many; as they were printed.
    received: Option<(f64, f64, f64, String)>,
}

impl Iperf2Line {
    fn of(line: &str) -> Option<Iperf2Line> {
        let fields: Vec<&str> = line.trim().split(',').collect();
        let [time, from, from_port, to, to_port, id, interval, bytes, bits, more @ ..] =
            fields.as_slice()
        else {
            return None;
        };
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        if time.len() != 14 || !is_number(time) || ![0, 5].contains(&more.len()) {
            return None;
        }
        let stream: i64 = id.parse().ok()?;
        let (begin, end) = interval.split_once('-')?;
        let read = |text: &str| text.parse::<f64>().ok().filter(|_| is_number(text));
        let received = match more {
            // A client has no such numbers, and prints -nan; so has a sum.
            [jitter, lost, all, _, _] if is_number(jitter) => {
                let (ms, lost, all) = (read(jitter)?, read(lost)?, read(all)?);
                // Without any datagram it is a row of nothing.
                if all <= 0.0 {
                    return None;
                }
                Some((ms, lost, all, format!("{lost}/{all}")))
            }
            _ => None,
        };
        let part = |from: usize, to: usize| time.get(from..to)?.parse::<f64>().ok();
        let days = (part(0, 4)? * 12.0 + part(4, 6)?) * 31.0 + part(6, 8)?;
        let at = ((days * 24.0 + part(8, 10)?) * 60.0 + part(10, 12)?) * 60.0 + part(12, 14)?;
        Some(Iperf2Line {
            at,
            ends: [format!("{from},{from_port}"), format!("{to},{to_port}")],
            key: format!("{from},{from_port},{to},{to_port},{id}"),
            is_sum: stream < 0,
            from: read(begin)?,
            to: read(end)?,
            bytes: read(bytes)?,
            bits: read(bits)?,
            printed: format!("{bits} bits/s"),
            received,
        })
    }

    /// Whether its bits are its bytes by its seconds, which have one decimal.
    fn check(&self) -> Result<(), String> {
        let (bits, seconds) = (self.bytes * 8.0, self.to - self.from);
        if (self.bits * seconds - bits).abs() > 0.102 * self.bits + 8.0 {
            return Err(format!(
                "its {} are not {} bytes in {seconds} s",
                self.printed, self.bytes
            ));
        }
        if self.received.as_ref().is_some_and(|(_, lost, all, _)| lost > all) {
            return Err("it lost more datagrams than there were".to_owned());
        }
        Ok(())
    }

    /// Whether another is of the same two ends, in whatever order.
    fn is_of(&self, other: &Iperf2Line) -> bool {
        let [from, to] = &self.ends;
        self.ends == other.ends || (*from == other.ends[1] && *to == other.ends[0])
    }

    fn said(&self, streams: Option<usize>) -> ToolResult {
        let mut said = ToolResult::default();
        if let Some(many) = streams {
            said.settings.insert("streams".to_owned(), many.into());
        }
        let rate = self.bits / 8.0;
        if let Some((ms, lost, all, printed)) = &self.received {
            said.title = "received".to_owned();
            said.add("received_throughput_bytes_per_s", rate, &*self.printed);
            said.add("jitter_ms", *ms, format!("{ms} ms"));
            said.add("lost_share", lost / all, &**printed);
        } else {
            said.add("throughput_bytes_per_s", rate, &*self.printed);
        }
        said
    }
}

/// One result for each connection, or for the sum of several.
///
/// # Errors
/// When a run has no end, or contradicts itself.
pub fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut runs: Vec<Vec<Iperf2Line>> = Vec::new();
    // Sums of one server are called alike: behind a new connection begins another.
    let mut closed = 0;
    for line in text.split_inclusive('\n') {
        if is_enhanced(line) {
            return Err("it is of -y C with -e, which is not read; bring -y C alone".to_owned());
        }
        // What has no end may have been longer.
        let Some(line) = line.strip_suffix('\n') else { continue };
        let Some(line) = Iperf2Line::of(line) else {
            if is_like_one(line) {
                return Err(format!("its line `{line}` makes no sense"));
            }
            continue;
        };
        // Of intervals of several streams the lines are mixed.
        let is_open = |run: &&mut Vec<Iperf2Line>| {
            let last = run.last();
            last.is_some_and(|last| last.key == line.key && last.to <= line.to + 0.1)
        };
        let from = if line.is_sum { closed } else { 0 };
        match runs.iter_mut().skip(from).rev().find(is_open) {
            Some(run) => run.push(line),
            None => {
                if !line.is_sum {
                    closed = runs.len();
                }
                runs.push(vec![line]);
            }
        }
    }
    let mut streams: Vec<Iperf2Line> = Vec::new();
    let mut said: Vec<ToolResult> = Vec::new();
    for run in &runs {
        let line = whole(run, |line| (line.from, line.to, line.bytes))?;
        line.check()?;
        if line.is_sum {
            let many = summed(&streams, line)?;
            streams.truncate(streams.len() - many);
            said.extend(alone(&std::mem::take(&mut streams))?);
            said.push(line.said(Some(many)));
        } else {
            streams.push(line.clone());
        }
    }
    said.extend(alone(&streams)?);
    match said.is_empty() {
        true => Err("there is no line of iperf 2's in it".to_owned()),
        false => Ok(said),
    }
}

/// Results of connections that no sum is of: one after the other.
fn alone(lines: &[Iperf2Line]) -> Result<Vec<ToolResult>, String> {
    let mut said = Vec::new();
    let mut before: Option<&Iperf2Line> = None;
    for line in lines {
        if let Some(before) = before {
            // The server's report stands behind what its client sent, of the same run.
            let is_report =
                before.received.is_none() && line.received.is_some() && before.is_of(line);
            // A clock that says 1970 says nothing.
            if !is_report && line.at - (line.to - line.from) < before.at - 1.0 {
                return Err("it has several connections at once and no sum of them, or no time \
                            that tells"
                    .to_owned());
            }
        }
        said.push(line.said(None));
        before = Some(line);
    }
    Ok(said)
}

/// How many of the last lines a sum is of.
fn summed(streams: &[Iperf2Line], sum: &Iperf2Line) -> Result<usize, String> {
    let mut bytes = 0.0;
    for (many, line) in streams.iter().rev().enumerate() {
        bytes += line.bytes;
        if bytes == sum.bytes && many > 0 {
            let of = streams.get(streams.len() - many - 1..).unwrap_or_default();
            let one_end = (0..2).any(|end| of.iter().all(|it| it.ends[end] == line.ends[end]));
            return match one_end {
                true => Ok(many + 1),
                false => Err("it has a sum of both directions, which is no rate of one".to_owned()),
            };
        }
    }
    Err("it has a sum that is not of the lines before it".to_owned())
}
