//! (pure) What iperf3's client prints for people: below a line of dashes what each end counted of
//! each stream, and of all of them where there are several.
//!
//! Bits are of thousands (`Mbits/sec`), bytes that were asked for by `-f M` of 1024.

use super::OF_SERVER;
use crate::Said;

/// Whether a text looks like it, whole or not.
pub fn knows(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim();
        line.starts_with("Connecting to host ")
            || line.starts_with(FAILED)
            || accepted(line)
            || line == DONE
            || end(line).is_some()
    })
}

/// How it says why it failed.
const FAILED: &str = "iperf3: error - ";
/// The last line of a client.
const DONE: &str = "iperf Done.";

fn accepted(line: &str) -> bool {
    line.starts_with("Accepted connection from ") && line.contains(", port ")
}

/// One result for each run.
///
/// # Errors
/// When one failed, was cut short, is of a server, or has no sum of its streams.
pub fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut all = Vec::new();
    let mut run = Run::default();
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let line = line.trim();
        if accepted(line) {
            return Err(OF_SERVER.to_owned());
        }
        if let Some(why) = line.strip_prefix(FAILED) {
            return Err(format!("it failed: {why}"));
        }
        if line.starts_with("Connecting to host ") {
            run.begin()?;
        } else if line == DONE {
            all.push(std::mem::take(&mut run).said()?);
        } else {
            run.line(line);
        }
    }
    match (run.is_open(), all.is_empty()) {
        (true, _) => Err(format!("it was cut short: a run of it has no line `{DONE}`")),
        (false, true) => Err("there is no run of iperf3's in it".to_owned()),
        (false, false) => Ok(all),
    }
}

/// A run that is read.
#[derive(Default)]
struct Run {
    version: String,
    begun: bool,
    is_reverse: bool,
    /// Below the dashes.
    in_end: bool,
    ends: Vec<End>,
}

impl Run {
    fn begin(&mut self) -> Result<(), String> {
        if self.is_open() {
            return Err(format!("it was cut short: a run of it has no line `{DONE}`"));
        }
        self.begun = true;
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.begun || !self.ends.is_empty()
    }

    fn line(&mut self, line: &str) {
        if let Some(version) = line.strip_prefix("iperf 3") {
            self.version = format!("3{}", version.split([' ', '+']).next().unwrap_or_default());
        } else if line.starts_with("Reverse mode,") {
            self.is_reverse = true;
        } else if line.starts_with("- - - ") {
            self.in_end = true;
        } else if self.in_end {
            self.ends.extend(end(line));
        }
    }

    fn said(self) -> Result<Said, String> {
        let both = self.ends.iter().any(|end| end.of_server);
        let title = match (both, self.is_reverse) {
            (true, _) => "in both directions",
            (false, true) => "from the server",
            (false, false) => "",
        };
        let mut said = Said { version: self.version, title: title.to_owned(), ..Said::default() };
        let mut streams: Vec<&str> = self.ends.iter().map(|end| end.id.as_str()).collect();
        streams.retain(|id| *id != SUM);
        streams.sort_unstable();
        streams.dedup();
        let directions: &[(bool, &str)] =
            if both { &[(false, ""), (true, "reverse_")] } else { &[(false, "")] };
        let count = streams.len() / directions.len();
        if count > 0 {
            said.settings.insert("streams".to_owned(), count.into());
        }
        for (of_server, before) in directions {
            let of: Vec<&End> =
                self.ends.iter().filter(|end| end.of_server == *of_server).collect();
            let sums: Vec<&&End> = of.iter().filter(|end| end.id == SUM).collect();
            let chosen = match (sums.is_empty(), count) {
                (false, _) => sums,
                (true, ..=1) => of.iter().collect(),
                (true, several) => {
                    return Err(format!("it has {several} streams and no sum of them"));
                }
            };
            if chosen.is_empty() {
                return Err("a run of it has no line of what was sent".to_owned());
            }
            for end in chosen {
                end.add_to(&mut said, before);
            }
        }
        Ok(said)
    }
}

/// What is called the sum of all streams.
const SUM: &str = "SUM";

/// What one end counted, of a stream or of all.
#[derive(Debug, PartialEq)]
struct End {
    id: String,
    /// Of data that the server sent, where both do.
    of_server: bool,
    is_sender: bool,
    bytes_per_s: f64,
    printed: String,
    retransmits: Option<f64>,
    jitter_ms: Option<f64>,
    /// As it was printed, and as a share.
    lost: Option<(String, f64)>,
}

impl End {
    fn add_to(&self, said: &mut Said, before: &str) {
        let of = if self.is_sender { "sent" } else { "received" };
        said.add(format!("{before}{of}_throughput_bytes_per_s"), self.bytes_per_s, &*self.printed);
        if let Some(many) = self.retransmits {
            said.add(format!("{before}retransmits"), many, many.to_string());
        }
        // Of datagrams the receiver counts what was lost; what a sender tells of it is zero, but
        // for versions that have one line alone.
        if let Some(ms) = self.jitter_ms {
            said.add(format!("{before}jitter_ms"), ms, format!("{ms} ms"));
        }
        if let Some((printed, share)) = &self.lost {
            said.add(format!("{before}lost_share"), *share, &**printed);
        }
    }
}

/// `[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec    0             sender`, with `[TX-C]`
/// behind the first where both ends send, and of datagrams `0.013 ms  0/906 (0%)` before the last.
fn end(line: &str) -> Option<End> {
    let (id, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (role, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((role, rest)) => (Some(role), rest),
        None => (None, rest),
    };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [interval, "sec", _, _, number, unit, more @ ..] = words.as_slice() else { return None };
    if !interval.contains('-') {
        return None;
    }
    let is_sender = match more.last() {
        Some(&"sender") => true,
        Some(&"receiver") => false,
        // Up to 3.1 datagrams have one line, of what was sent.
        Some(last) if last.ends_with("%)") => true,
        _ => return None,
    };
    let has_name = matches!(more.last(), Some(&("sender" | "receiver")));
    let jitter_ms =
        more.iter().position(|word| *word == "ms").and_then(|at| more.get(at.checked_sub(1)?));
    let lost = more.iter().find_map(|word| {
        let (lost, all) = word.split_once('/')?;
        let (lost, all) = (lost.parse::<f64>().ok()?, all.parse::<f64>().ok()?);
        (all > 0.0 && lost <= all).then(|| ((*word).to_owned(), lost / all))
    });
    // A sender of datagrams knows nothing of what was lost.
    let knows = !is_sender || !has_name;
    let retransmits =
        more.first().filter(|_| jitter_ms.is_none()).and_then(|word| word.parse().ok());
    Some(End {
        id: id.trim().to_owned(),
        of_server: role.is_some_and(|role| role.starts_with("RX")),
        is_sender,
        bytes_per_s: number.parse::<f64>().ok()? * factor(unit)?,
        printed: format!("{number} {unit}"),
        retransmits: retransmits.filter(|_| is_sender),
        jitter_ms: jitter_ms.and_then(|word| word.parse().ok()).filter(|_| knows),
        lost: lost.filter(|_| knows),
    })
}

/// Bytes per second of one such unit.
fn factor(unit: &str) -> Option<f64> {
    let (letter, per) = match unit.strip_suffix("bits/sec") {
        Some(letter) => (letter, (1000f64, 0.125)),
        None => (unit.strip_suffix("Bytes/sec")?, (1024.0, 1.0)),
    };
    let power = ["", "K", "M", "G", "T"].iter().position(|known| *known == letter)?;
    Some(per.0.powi(power as i32) * per.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{figure, rounded};

    const TCP: &str = include_str!("../../../../tests/fixtures/tools/iperf3-3.12-people-tcp.txt");
    const UDP: &str = include_str!("../../../../tests/fixtures/tools/iperf3-3.12-people-udp.txt");
    const BOTH: &str =
        include_str!("../../../../tests/fixtures/tools/iperf3-3.12-people-bidir.txt");

    /// `81.8 Mbits/sec` of both streams are 81800000 / 8 = 10225000 B/s.
    #[test]
    fn the_sum_of_all_streams_is_the_result() {
        let said = parse(TCP).unwrap();
        assert_eq!((said.len(), &said[0].settings["streams"]), (1, &2.into()));
        assert_eq!(rounded(&said[0], "sent_throughput_bytes_per_s"), Some(10_225_000.0));
        assert_eq!(rounded(&said[0], "received_throughput_bytes_per_s"), Some(10_225_000.0));
        assert_eq!(figure(&said[0], "retransmits"), Some(0.0));
        let without: String =
            TCP.lines().filter(|it| !it.starts_with("[SUM]")).map(|it| format!("{it}\n")).collect();
        assert!(parse(&without).unwrap_err().contains("2 streams and no sum"));
    }

    /// What a sender of datagrams says of their loss is zero: only the other end knows it.
    #[test]
    fn what_was_lost_is_what_the_receiver_counted() {
        let lossy = UDP.replace("0.011 ms  0/31 (0%)  receiver", "0.011 ms  10/31 (32%)  receiver");
        let said = &parse(&lossy).unwrap()[0];
        assert_eq!(said.version, "3.12");
        assert_eq!(rounded(said, "sent_throughput_bytes_per_s"), Some(1_016_250.0));
        assert_eq!(rounded(said, "lost_share"), Some(0.323));
        assert_eq!(rounded(said, "jitter_ms"), Some(0.011));
        // Up to 3.1 there is one line, of the sender's bytes and of what was lost of them.
        let old = "Connecting to host 10.0.0.2, port 5201\n- - - - - -\n[  4]   0.00-10.00  sec  \
                   1.25 \
                   MBytes  1.05 Mbits/sec  17.814 ms  294/918 (32%)  \n[  4] Sent 918 datagrams\n\n\
                   iperf Done.\n";
        let said = &parse(old).unwrap()[0];
        assert_eq!(rounded(said, "sent_throughput_bytes_per_s"), Some(131_250.0));
        assert_eq!(figure(said, "received_throughput_bytes_per_s"), None);
        assert_eq!(rounded(said, "lost_share"), Some(0.32));
    }

    #[test]
    fn both_directions_stand_apart_and_one_of_the_server_says_so() {
        let said = &parse(BOTH).unwrap()[0];
        assert_eq!(
            (said.title.as_str(), &said.settings["streams"]),
            ("in both directions", &1.into())
        );
        for name in ["sent", "received", "reverse_sent", "reverse_received"] {
            let name = format!("{name}_throughput_bytes_per_s");
            assert_eq!(rounded(said, &name), Some(5_112_500.0), "{name}");
        }
        let reverse = TCP.replacen("\n", "\nReverse mode, remote host 127.0.0.1 is sending\n", 1);
        assert_eq!(parse(&reverse).unwrap()[0].title, "from the server");
    }

    #[test]
    fn a_servers_text_a_failure_and_a_cut_are_told_as_what_they_are() {
        let server = format!("Accepted connection from 10.0.0.1, port 41234\n{TCP}");
        assert!(parse(&server).unwrap_err().contains("the server printed it"));
        let failed = "iperf3: error - unable to connect to server: Connection refused\n";
        let why = parse(&format!("Connecting to host 10.0.0.2, port 5201\n{failed}")).unwrap_err();
        assert!(knows(failed));
        assert_eq!(why, "it failed: unable to connect to server: Connection refused");
        let cut = TCP.replace(DONE, "");
        assert!(parse(&cut).unwrap_err().contains("cut short"));
        // `-f M` asks for bytes, which are of 1024: 81.8 * 1048576.
        let bytes = TCP.replace("81.8 Mbits/sec", "81.8 MBytes/sec");
        assert_eq!(
            rounded(&parse(&bytes).unwrap()[0], "sent_throughput_bytes_per_s"),
            Some(85_773_516.8)
        );
    }
}
