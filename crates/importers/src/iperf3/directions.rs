//! (pure) The sums at the end of iperf3's JSON, one direction of data at a time.
//!
//! Of TCP `sum_sent` and `sum_received` are what each end counted. Of datagrams `sum` is what was
//! sent, with what was lost of it on the way (iperf_api.c, iperf_print_results); up to 3.10 it is
//! alone. Of `--bidir` those of the server's data have names of their own since 3.11; before they
//! are called like the client's and stand behind them.

use std::borrow::Cow;

use serde_json::Value as Json;

use crate::ToolResult;
use experiment::measurement::Note;

/// Behind the names of the server's data, up to 3.10.
const SECOND: &str = "_second";
/// The same since 3.11, as iperf3 prints it.
const REVERSE: &str = "_bidir_reverse";

/// What stands behind the names of the server's data, of a run in both directions.
pub fn suffix(document: &Json) -> Option<&'static str> {
    let has = |suffix: &str| {
        let end = document.get("end");
        ["sum_sent", "sum"]
            .iter()
            .any(|name| end.is_some_and(|end| end.get(format!("{name}{suffix}")).is_some()))
    };
    [REVERSE, SECOND].into_iter().find(|suffix| has(suffix))
}

/// A text in which the second sum of a name within one object has a name of its own.
pub fn told_apart(text: &str) -> Cow<'_, str> {
    const NAMES: [&str; 3] = ["sum", "sum_sent", "sum_received"];
    let mut seen: Vec<[bool; 3]> = Vec::new();
    let mut seconds = Vec::new();
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'{' => seen.push([false; 3]),
            b'}' => {
                seen.pop();
            }
            b'"' => {
                let mut end = at;
                while let Some((here, byte)) = bytes.next() {
                    match byte {
                        b'\\' => {
                            bytes.next();
                        }
                        b'"' => {
                            end = here;
                            break;
                        }
                        _ => {}
                    }
                }
                let word = text.get(at + 1..end).unwrap_or_default();
                let Some(which) = NAMES.iter().position(|name| *name == word) else { continue };
                if let Some(known) = seen.last_mut().and_then(|it| it.get_mut(which))
                    && std::mem::replace(known, true)
                {
                    seconds.push(end);
                }
            }
            _ => {}
        }
    }
    if seconds.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut apart = String::with_capacity(text.len() + SECOND.len() * seconds.len());
    let mut from = 0;
    for end in seconds {
        apart.push_str(text.get(from..end).unwrap_or_default());
        apart.push_str(SECOND);
        from = end;
    }
    apart.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(apart)
}

/// The data that went one way in a run, and what of it the end knows that printed it.
pub struct Iperf3Direction<'a> {
    /// The whole run.
    pub document: &'a Json,
    /// What its figures begin with.
    pub before: &'static str,
    /// What the names of its sums end with.
    pub after: &'static str,
    /// Whether data went the other way as well.
    pub both: bool,
    /// Whether it knows what was sent.
    pub knows_sent: bool,
    /// Whether it knows what arrived, and what was lost.
    pub knows_received: bool,
    /// Whether the end that printed it sent the data.
    pub this_end_sends: bool,
}

/// What of two rates that should be one is that of rounding.
const ALIKE: f64 = 1e-3;

impl Iperf3Direction<'_> {
    /// Adds its figures.
    ///
    /// # Errors
    /// When its sums are missing or contradict each other.
    pub fn add_to(&self, said: &mut ToolResult) -> Result<(), String> {
        if self.sum("sum_sent").or(self.sum("sum")).is_none() {
            return Err(match self.before {
                "" => "its JSON has no end with sums".to_owned(),
                _ => "it ran in two directions and has the sums of one; run it with -R for the \
                      other, and import both"
                    .to_owned(),
            });
        }
        self.check()?;
        if self.knows_sent {
            let of = if self.sum("sum_sent").is_some() { "sum_sent" } else { "sum" };
            self.rate(said, "sent", of);
            // Of SCTP nobody counts them, and zeros are printed.
            let is_sctp = self.document.pointer("/start/test_start/protocol");
            if is_sctp.and_then(Json::as_str) != Some("SCTP")
                && let Some(many) = self.number("sum_sent", "retransmits")
            {
                said.add(format!("{}retransmits", self.before), many, many.to_string());
            }
        }
        if self.knows_received {
            if self.sum("sum_received").is_some() {
                self.rate(said, "received", "sum_received");
            } else if !self.knows_sent {
                let text =
                    "iperf3 up to 3.10 does not say at what rate a server received datagrams";
                said.notes.push(Note::new("not-told", text));
            }
            self.losses(said)?;
        }
        Ok(())
    }

    fn sum(&self, what: &str) -> Option<&Json> {
        self.document.get("end")?.get(format!("{what}{}", self.after))
    }

    fn number(&self, sum: &str, key: &str) -> Option<f64> {
        self.sum(sum)?.get(key)?.as_f64()
    }

    fn rate(&self, said: &mut ToolResult, name: &str, sum: &str) {
        if let Some(bits) = self.number(sum, "bits_per_second") {
            let name = format!("{}{name}_throughput_bytes_per_s", self.before);
            said.add(name, bits / 8.0, format!("{bits} bits/s"));
        }
    }

    /// What was lost of the datagrams that were counted, if any were.
    fn losses(&self, said: &mut ToolResult) -> Result<(), String> {
        if self.number("sum", "packets").is_some_and(|packets| packets <= 0.0) {
            return Ok(());
        }
        if let Some(ms) = self.number("sum", "jitter_ms") {
            said.add(format!("{}jitter_ms", self.before), ms, format!("{ms} ms"));
        }
        let Some(percent) = self.number("sum", "lost_percent") else { return Ok(()) };
        if percent > 100.0 {
            return Err(format!("it says that it lost {percent} % of its datagrams"));
        }
        if let Some(lost) = self.number("sum", "lost_packets")
            && let Some(all) = self.number("sum", "packets")
            && (100.0 * lost / all - percent).abs() > 0.01 + ALIKE * percent
        {
            return Err(format!("it lost {lost} of {all} datagrams, which are not {percent} %"));
        }
        said.add(format!("{}lost_share", self.before), percent * 0.01, format!("{percent} %"));
        Ok(())
    }

    /// Whether its sums are of one run: bytes by seconds, one sum by another, and by its streams.
    fn check(&self) -> Result<(), String> {
        for sum in ["sum_sent", "sum_received"] {
            let of = |key: &str| self.number(sum, key);
            if let (Some(bytes), Some(seconds), Some(bits)) =
                (of("bytes"), of("seconds"), of("bits_per_second"))
                && (bits * seconds - bytes * 8.0).abs() > ALIKE * (bytes * 8.0 + 8.0)
            {
                return Err(format!("{bytes} bytes in {seconds} s are not {bits} bits/s"));
            }
        }
        let rate = |sum: &str| self.number(sum, "bits_per_second");
        if let (Some(sent), Some(sum)) = (rate("sum_sent"), rate("sum"))
            && (sent - sum).abs() > sent * ALIKE
        {
            return Err(format!("it sent {sent} bits/s by one of its sums and {sum} by the other"));
        }
        // What it does not know of the other end is zero.
        let nothing = |sum: &str| self.number(sum, "bytes").is_none_or(|bytes| bytes == 0.0);
        let (sent, received) = (nothing("sum_sent") && nothing("sum"), nothing("sum_received"));
        if (!self.knows_sent && !sent) || (!self.knows_received && !received) {
            return Err("a server printed it, which knows one end of a run, and it has rates of \
                        both, or of the other"
                .to_owned());
        }
        let is_nothing = match (self.knows_sent, self.knows_received) {
            (true, false) => sent,
            (false, true) => received && self.sum("sum_received").is_some(),
            _ => false,
        };
        if is_nothing && !self.both {
            return Err(super::NOTHING.to_owned());
        }
        self.check_streams()
    }

    fn check_streams(&self) -> Result<(), String> {
        let streams = self.document.pointer("/end/streams").and_then(Json::as_array);
        let streams: Vec<&Json> = streams.into_iter().flatten().filter(|it| self.has(it)).collect();
        if streams.is_empty() {
            return Ok(());
        }
        let count = self.document.pointer("/start/test_start/num_streams").and_then(Json::as_u64);
        if count.is_some_and(|count| count != streams.len() as u64) {
            return Err(format!("it has results of {} streams, not of all", streams.len()));
        }
        for (part, sum) in [("sender", "sum_sent"), ("receiver", "sum_received"), ("udp", "sum")] {
            // Of datagrams `sum_sent` was held against its own seconds.
            if part == "udp" && self.sum("sum_sent").is_some() {
                continue;
            }
            let Some(all) = self.number(sum, "bytes") else { continue };
            let of = streams.iter().filter_map(|it| it.get(part)?.get("bytes")?.as_f64());
            let (many, bytes) = of.fold((0, 0.0), |(many, sum), bytes| (many + 1, sum + bytes));
            if many > 0 && bytes != all {
                return Err(format!("its streams moved {bytes} bytes and all of them {all}"));
            }
        }
        Ok(())
    }

    /// Whether a stream is of this way; a run in one has one kind.
    fn has(&self, stream: &Json) -> bool {
        let parts = ["sender", "receiver", "udp"];
        let flag = parts.iter().find_map(|part| stream.get(part)?.get("sender")?.as_bool());
        !self.both || flag.is_none_or(|flag| flag == self.this_end_sends)
    }
}
