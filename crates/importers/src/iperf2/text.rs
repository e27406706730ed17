//! (pure) iperf 2's text: a line for each connection, and rows of it in whatever order.
//!
//! What a row is of tells its connection: of a client what it sent, of a server what it received,
//! or the other way where `(reverse)` stands behind it. Which of the two a connection is of tells
//! its port, since with `-d` and `-r` one process has both.

use super::row::Iperf2Row;
use super::whole;
use crate::ToolResult;
use experiment::measurement::Note;

/// Whether a text looks like it, whole or not.
pub fn knows(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim();
        header(line).is_some()
            || Connection::of(line).is_some()
            || Iperf2Row::parse(line).is_some_and(|row| row.decimals != 2)
    })
}

/// A heading: whether it is of a client, whether of datagrams, and its port.
fn header(line: &str) -> Option<(bool, bool, &str)> {
    let (is_client, rest) = match line.strip_prefix("Client connecting to ") {
        Some(rest) => (true, rest.split_once(", ")?.1),
        None => (false, line.strip_prefix("Server listening on ")?),
    };
    let (protocol, rest) = rest.split_once(" port ")?;
    let port = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    match protocol {
        "TCP" => Some((is_client, false, port)),
        "UDP" => Some((is_client, true, port)),
        _ => None,
    }
}

/// The ways that data can go, as the end sees it that printed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Iperf2Direction {
    Sent,
    Received,
}

/// `[  3] local 10.0.0.1 port 41234 connected with 10.0.0.2 port 5001`.
struct Connection<'a> {
    id: &'a str,
    local: &'a str,
    remote: &'a str,
    more: &'a str,
}

impl<'a> Connection<'a> {
    fn of(line: &'a str) -> Option<Connection<'a>> {
        let (id, rest) = line.strip_prefix('[')?.split_once("] local ")?;
        let (local, remote) = rest.split_once(" connected with ")?;
        let (_, remote) = remote.split_once(" port ")?;
        let (remote, more) = remote.split_once(' ').unwrap_or((remote, ""));
        Some(Connection { id: id.trim(), local: local.split_once(" port ")?.1, remote, more })
    }
}

/// One result for each way that data went in a run.
///
/// # Errors
/// When one failed, was cut short, or contradicts itself.
pub fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut read = Iperf2TextParser::default();
    for line in text.split_inclusive('\n') {
        // What has no end may have been longer.
        let Some(line) = line.strip_suffix('\n') else { continue };
        read.line(line.trim())?;
    }
    read.emit()?;
    match read.all.is_empty() {
        true => Err("there is no result of iperf 2's in it".to_owned()),
        false => Ok(read.all),
    }
}

/// What was read so far of a text of iperf 2.
#[derive(Default)]
struct Iperf2TextParser {
    all: Vec<ToolResult>,
    /// Ports that it connects to, and those that it listens on.
    connects: Vec<String>,
    listens: Vec<String>,
    is_udp: bool,
    has_retries: bool,
    /// Bytes of a datagram that it sends.
    datagram: Option<u64>,
    parts: Vec<Iperf2Stream>,
    sums: Vec<Iperf2Row>,
    /// Whose report by the server follows.
    report: Option<String>,
    /// What the parts before moved: `-r` has a sum of both.
    before: (f64, f64),
}

/// What one connection of iperf 2 moved one way.
struct Iperf2Stream {
    id: String,
    way: Iperf2Direction,
    is_udp: bool,
    rows: Vec<Iperf2Row>,
    report: Option<Iperf2Row>,
    /// Whether the server's report did not come.
    is_unanswered: bool,
}

impl Iperf2Stream {
    fn is_complete(&self) -> bool {
        whole(&self.rows, Iperf2Row::span).is_ok()
            && (!self.needs_report() || self.report.is_some() || self.is_unanswered)
    }

    /// Of datagrams that a client sent its server tells what arrived.
    fn needs_report(&self) -> bool {
        self.is_udp && self.way == Iperf2Direction::Sent
    }
}

impl Iperf2TextParser {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some((is_client, is_udp, port)) = header(line) {
            if self.parts.iter().all(Iperf2Stream::is_complete) {
                self.emit()?;
            }
            self.is_udp = is_udp;
            let ports = if is_client { &mut self.connects } else { &mut self.listens };
            if !ports.iter().any(|known| known == port) {
                ports.push(port.to_owned());
            }
        } else if let Some(connection) = Connection::of(line) {
            self.connect(&connection)?;
        } else if let Some(row) = Iperf2Row::parse(line) {
            self.row(row)?;
        } else {
            self.other(line)?;
        }
        Ok(())
    }

    fn other(&mut self, line: &str) -> Result<(), String> {
        let modes = ["Bounceback test", "Bounce-back test", "isochronous", "BB cnt="];
        if modes.iter().any(|mode| line.contains(mode)) {
            return Err("it is of --bounceback or --isochronous, which are not read".to_owned());
        }
        if line.contains("connect failed: ") {
            return Err(format!("it failed: {line}"));
        }
        if let Some(rest) = line.strip_prefix("Sending ")
            && let Some((bytes, _)) = rest.split_once(" byte datagrams")
        {
            self.datagram = bytes.parse().ok();
        }
        let Some((id, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
            return Ok(());
        };
        if rest.contains("Interval") && rest.contains("Transfer") {
            self.has_retries = rest.contains("Rtry");
        } else if rest.trim() == "Server Report:" {
            self.report = Some(id.trim().to_owned());
        } else if rest.contains("did not receive ack of last datagram") {
            // Its number is not always that of its connection.
            for part in self.parts.iter_mut().filter(|part| part.report.is_none()) {
                part.is_unanswered = true;
            }
        }
        Ok(())
    }

    fn connect(&mut self, connection: &Connection<'_>) -> Result<(), String> {
        if !self.parts.is_empty() && self.parts.iter().all(Iperf2Stream::is_complete) {
            self.emit()?;
        }
        let Connection { id, local, remote, more } = *connection;
        let has = |ports: &[String], port: &str| ports.iter().any(|known| known == port);
        let is_server = has(&self.listens, local);
        if is_server == has(&self.connects, remote) {
            return Err(format!(
                "whether its connection {id} is a client's or a server's is not told: neither or \
                 both of `Client connecting to` and `Server listening on` have its ports"
            ));
        }
        let own = if is_server { Iperf2Direction::Received } else { Iperf2Direction::Sent };
        let other = if is_server { Iperf2Direction::Sent } else { Iperf2Direction::Received };
        // What a server sends back has a star already.
        let is_reverse = more.contains("(reverse)") && (is_server || !id.starts_with('*'));
        let ways: &[Iperf2Direction] = match more.contains("(full-duplex)") {
            true if is_server => {
                return Err("a server's rows of --full-duplex are not told apart; bring its \
                            client's"
                    .to_owned());
            }
            true => &[own, other],
            false if is_reverse => &[other],
            false => &[own],
        };
        let id = id.trim_start_matches('*').trim();
        if self.parts.iter().any(|part| part.id == id) {
            return Err(format!("its connection {id} is there twice at once"));
        }
        for way in ways {
            self.parts.push(Iperf2Stream {
                id: id.to_owned(),
                way: *way,
                is_udp: self.is_udp,
                rows: Vec::new(),
                report: None,
                // The server's report needs a last datagram, which is not sent here.
                is_unanswered: more.contains("(no-udp-fin)") || (is_server && is_reverse),
            });
        }
        Ok(())
    }

    fn row(&mut self, mut row: Iperf2Row) -> Result<(), String> {
        let reported = self.report.take();
        row.retries = row.retries.filter(|_| self.has_retries);
        if row.id.starts_with("SUM") {
            self.sums.push(row);
            return Ok(());
        }
        // The sum of both directions of one connection.
        if row.id.starts_with("FD") {
            return Ok(());
        }
        let id = row.id.trim_start_matches('*').trim().to_owned();
        let has_star = row.id.starts_with('*');
        let mut parts: Vec<&mut Iperf2Stream> =
            self.parts.iter_mut().filter(|it| it.id == id).collect();
        let part = match parts.as_mut_slice() {
            [one] => one,
            // Of both directions the star is at what came back.
            [sent, received] => {
                if has_star {
                    received
                } else {
                    sent
                }
            }
            _ => {
                return Err(format!("it has a row of {id} and no line of its connection before"));
            }
        };
        match reported.is_some_and(|of| of.trim_start_matches('*').trim() == id) {
            true if part.report.is_some() => Err(format!("the report of {id} is there twice")),
            true => {
                part.report = Some(row);
                Ok(())
            }
            false => {
                part.rows.push(row);
                Ok(())
            }
        }
    }

    /// The results of what is complete.
    fn emit(&mut self) -> Result<(), String> {
        let parts = std::mem::take(&mut self.parts);
        let sums = std::mem::take(&mut self.sums);
        if parts.is_empty() {
            return match sums.is_empty() {
                true => Ok(()),
                false => Err("it has a sum and no connections before it".to_owned()),
            };
        }
        let mut rows = Vec::new();
        for part in &parts {
            let row = whole(&part.rows, Iperf2Row::span)?;
            row.check()?;
            if row.bytes.value <= 0.0 {
                return Err(format!("its connection {} moved nothing", part.id));
            }
            if part.needs_report() && part.report.is_none() && !part.is_unanswered {
                return Err(format!(
                    "the `Server Report:` of its connection {} is missing: it was cut short",
                    part.id
                ));
            }
            rows.push(row);
        }
        let of = |way: Iperf2Direction| -> Vec<(&Iperf2Stream, &Iperf2Row)> {
            parts.iter().zip(rows.iter().copied()).filter(|(part, _)| part.way == way).collect()
        };
        let ways = [of(Iperf2Direction::Sent), of(Iperf2Direction::Received)];
        let both = ways.iter().all(|of| !of.is_empty());
        if both && parts.len() > 2 {
            return Err("it has several connections in both directions, of which no sum tells \
                        what went one way"
                .to_owned());
        }
        let sum = match sums.is_empty() {
            true => None,
            false => Some(whole(&sums, Iperf2Row::span)?),
        };
        let moved = rows.iter().fold((0.0, 0.0), |(bytes, step), row| {
            (bytes + row.bytes.value, step + row.bytes.step)
        });
        if let Some(sum) = sum {
            self.check_sum(sum, moved, parts.len() > 1)?;
        }
        self.before = moved;
        for of in ways.iter().filter(|of| !of.is_empty()) {
            let said = self.said(of, sum, both)?;
            self.all.push(said);
        }
        Ok(())
    }

    /// Whether a sum is of these connections, or of one each way.
    fn check_sum(&self, sum: &Iperf2Row, moved: (f64, f64), several: bool) -> Result<(), String> {
        let is_of = |(bytes, step): (f64, f64)| {
            (bytes - sum.bytes.value).abs() <= 0.51 * (step + sum.bytes.step)
        };
        let both = (moved.0 + self.before.0, moved.1 + self.before.1);
        match is_of(moved) || (!several && is_of(both)) {
            true => Ok(()),
            false => Err("its sum is not of the connections before it".to_owned()),
        }
    }

    fn said(
        &self,
        of: &[(&Iperf2Stream, &Iperf2Row)],
        sum: Option<&Iperf2Row>,
        both: bool,
    ) -> Result<ToolResult, String> {
        let Some((part, row)) = of.first() else { return Err("it has no connection".to_owned()) };
        let several = of.len() > 1;
        let row = match (several, sum) {
            (true, Some(sum)) => {
                sum.check()?;
                sum
            }
            (true, None) => {
                return Err(format!("it has {} connections at once and no sum of them", of.len()));
            }
            (false, _) => *row,
        };
        let what = if part.way == Iperf2Direction::Sent { "sent" } else { "received" };
        let at_once = if both { ", in both directions at once" } else { "" };
        let mut said = ToolResult { title: format!("{what}{at_once}"), ..ToolResult::default() };
        said.settings.insert("streams".to_owned(), of.len().into());
        said.add(format!("{what}_throughput_bytes_per_s"), row.rate.value, &*row.printed);
        if let Some(many) = row.retries {
            said.add("retransmits", many, many.to_string());
        }
        if part.way == Iperf2Direction::Received {
            losses(&mut said, row);
        }
        if part.needs_report() {
            if let Some(bytes) = self.datagram {
                said.settings.insert("block-size".to_owned(), bytes.into());
            }
            match &part.report {
                Some(report) if !several => reported(&mut said, row, report)?,
                Some(_) => {
                    let text = "what arrived is told of each connection alone, and is left out";
                    said.notes.push(Note::new("not-told", text));
                }
                None => {
                    let text = "its server did not report what arrived";
                    said.notes.push(Note::new("not-told", text));
                }
            }
        }
        Ok(said)
    }
}

/// What a server told its client. Up to 2.0.13 it begins to count its seconds at a run before, now
/// and then; in 2.2.1 its jitter is zero without `-e`.
fn reported(said: &mut ToolResult, sent: &Iperf2Row, report: &Iperf2Row) -> Result<(), String> {
    report.check()?;
    if report.to > 1.2 * sent.to + 0.5 {
        let text = format!(
            "its server reported {} of {} s, and it sent for {} s: that rate is left out",
            report.printed, report.to, sent.to
        );
        said.notes.push(Note::new("other-time", text));
    } else {
        said.add("received_throughput_bytes_per_s", report.rate.value, &*report.printed);
    }
    let jitter_ms = report.jitter_ms.filter(|ms| *ms > 0.0);
    losses(said, &Iperf2Row { jitter_ms, ..report.clone() });
    Ok(())
}

/// What was lost of the datagrams that were counted.
fn losses(said: &mut ToolResult, row: &Iperf2Row) {
    let Some(lost) = row.lost.as_ref().filter(|lost| lost.all > 0.0 && lost.lost <= lost.all)
    else {
        return;
    };
    if let Some(ms) = row.jitter_ms {
        said.add("jitter_ms", ms, format!("{ms} ms"));
    }
    said.add("lost_share", lost.lost / lost.all, &*lost.printed);
}
