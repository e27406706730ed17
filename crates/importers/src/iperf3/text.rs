//! (pure) What iperf3 prints for people, of 3.0 to 3.18, its client and its server: below a line of
//! dashes what each end counted of each stream, and of all of them where there are several.
//!
//! A server learns what it counted itself and nothing of the other end: up to 3.1 it prints zeros
//! for that, later nothing (iperf_api.c, iperf_print_results).

use std::borrow::Cow;

use super::row::{End, Iperf3Row, SUM};
use crate::ToolResult;
use experiment::measurement::Note;

/// Whether a text looks like it, whole or not.
pub fn knows(text: &str) -> bool {
    text.lines().any(|line| {
        let line = undated(line.trim());
        line.starts_with(CONNECTING)
            || failure(line).is_some()
            || accepted(line)
            || line == DONE
            || Iperf3Row::parse(line).is_some_and(|row| row.end.is_some() || is_spaced(line))
    })
}

/// Whether its seconds are as far from its stream as iperf3 puts them; iperf 2 leaves one blank.
fn is_spaced(line: &str) -> bool {
    line.rsplit_once(']').is_some_and(|(_, rest)| rest.starts_with("  "))
}

/// The first line of a client's run.
const CONNECTING: &str = "Connecting to host ";
/// The last line of a client's run.
const DONE: &str = "iperf Done.";

/// The first line of a server's run.
fn accepted(line: &str) -> bool {
    line.starts_with("Accepted connection from ") && line.contains(", port ")
}

/// Why it failed. A server that was stopped has told all of the runs before.
fn failure(line: &str) -> Option<&str> {
    let what = line.strip_prefix("iperf3: ")?;
    if let Some(error) = what.strip_prefix("error - ") {
        return Some(error);
    }
    let ended = ["the client has terminated", "the server has terminated"];
    let is_end = ended.contains(&what) || what == "interrupt - the client has terminated";
    is_end.then_some(what)
}

/// Without what `--get-server-output` adds: the same run, as the server saw it.
pub fn without_server_output(text: &str) -> Cow<'_, str> {
    const BEGINNINGS: [&str; 2] = ["Server output:", "Server JSON output:"];
    let begins = |line: &str| BEGINNINGS.contains(&undated(line.trim()));
    if !text.lines().any(begins) {
        return Cow::Borrowed(text);
    }
    let mut is_server = false;
    let own = text.split_inclusive('\n').filter(|line| {
        is_server = match is_server {
            true => undated(line.trim()) != DONE,
            false => begins(line),
        };
        !is_server
    });
    Cow::Owned(own.collect())
}

/// Without `Thu Oct 29 16:18:24 2020 `, as `--timestamps` puts it before each line.
fn undated(line: &str) -> &str {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    let is_clock = |clock: &str| clock.bytes().filter(|byte| *byte == b':').count() == 2;
    match (line.get(..3), line.get(11..19), line.get(25..)) {
        (Some(day), Some(clock), Some(rest)) if DAYS.contains(&day) && is_clock(clock) => rest,
        _ => line,
    }
}

/// One result for each run.
///
/// # Errors
/// When one failed, was cut short, or contradicts itself.
pub fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    let mut read = Iperf3TextParser::default();
    for line in text.split_inclusive('\n') {
        let whole = line.strip_suffix('\n');
        // What has no end may have been longer.
        let is_whole = whole.is_some() || line.trim_end() == DONE || Iperf3Row::is_whole(line);
        if is_whole {
            let line = undated(whole.unwrap_or(line).trim()).trim_start_matches("^C");
            let number = read.all.len() + 1;
            read.line(line).map_err(|why| match number {
                1 => why,
                _ => format!("of its run {number}: {why}"),
            })?;
        }
    }
    read.end()
}

/// What was read so far of a text of iperf3.
#[derive(Default)]
struct Iperf3TextParser {
    all: Vec<ToolResult>,
    run: Iperf3Run,
    /// Told before its run begins.
    version: String,
}

impl Iperf3TextParser {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if let Some(why) = failure(line) {
            return Err(super::failed(why));
        }
        if line.starts_with(CONNECTING) {
            self.close()?;
            self.run.side = Some(Side::Client);
        } else if accepted(line) {
            self.close()?;
            self.run.side = Some(Side::Server);
        } else if line == DONE {
            // Of a run without its first lines, too.
            self.run.side = Some(Side::Client);
            self.run.is_done = true;
            self.close()?;
        } else if self.run.side != Some(Side::Client) && is_between(line) {
            self.close()?;
        } else if let Some(version) = line.strip_prefix("iperf 3") {
            self.version = format!("3{}", version.split([' ', '+']).next().unwrap_or_default());
        } else if self.run.side.is_none() && !self.run.rows.is_empty() && is_heading(line) {
            // Tables that somebody pasted one below the other, never rows of two in one.
            self.close()?;
            self.run.line(line)?;
        } else {
            self.run.line(line)?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let run = std::mem::take(&mut self.run);
        match run.side {
            // A connection that no test followed.
            None | Some(Side::Server) if run.is_empty() => {}
            None if run.is_table() => self.all.push(run.said_alone()?),
            None => return Err(NO_BEGINNING.to_owned()),
            Some(Side::Client) if !run.is_done => {
                return Err(format!(
                    "it has no line `{DONE}` at the end of a run: it was cut short or stopped, or \
                     another's output stands within it"
                ));
            }
            Some(Side::Client) => {
                let version = std::mem::take(&mut self.version);
                self.all.push(run.said(Side::Client, version)?);
            }
            // A server tells its version once.
            Some(Side::Server) => self.all.push(run.said(Side::Server, self.version.clone())?),
        }
        Ok(())
    }

    fn end(mut self) -> Result<Vec<ToolResult>, String> {
        self.close()?;
        match self.all.is_empty() {
            true => Err("there is no run of iperf3's in it".to_owned()),
            false => Ok(self.all),
        }
    }
}

const NO_BEGINNING: &str = "it has rows of iperf3's and neither `Connecting to host` nor `Accepted \
                            connection` before them: bring the whole output";

/// What stands above a table.
fn is_heading(line: &str) -> bool {
    line.starts_with("- - - ") || line.starts_with("[ ID]")
}

/// What a server prints between two runs.
fn is_between(line: &str) -> bool {
    line.starts_with("Server listening on ")
        || line.starts_with("----------")
        || line == "iperf3: interrupt - the server has terminated"
}

/// Which end printed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// Where a row of iperf3 stands.
#[derive(Default, PartialEq, Eq)]
enum Iperf3Section {
    #[default]
    Intervals,
    /// Behind dashes, which stand before the results and between intervals of several streams.
    Dashes,
    Results,
}

/// A run of iperf3 whose text is being read.
#[derive(Default)]
struct Iperf3Run {
    side: Option<Side>,
    is_done: bool,
    is_reverse: bool,
    block_size: Option<u64>,
    /// How many streams were connected.
    connected: usize,
    table: Iperf3Section,
    is_headed: bool,
    has_retransmits: bool,
    /// The last interval of each stream, with its direction.
    last: Vec<(String, bool, String)>,
    has_intervals: bool,
    rows: Vec<Iperf3Row>,
}

impl Iperf3Run {
    fn is_empty(&self) -> bool {
        self.connected == 0 && self.rows.is_empty() && !self.has_intervals
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.starts_with("Reverse mode,") {
            self.is_reverse = true;
        } else if is_connection(line) {
            self.connected += 1;
        } else if let Some(rest) = line.strip_prefix("Starting Test: ") {
            let mut parts = rest.split(", ");
            let blocks = parts.find_map(|part| part.strip_suffix(" byte blocks"));
            self.block_size = blocks.and_then(|number| number.parse().ok());
        } else if line.starts_with("- - - ") {
            self.table = Iperf3Section::Dashes;
        } else if line.starts_with("[ ID]") {
            self.is_headed = true;
            self.has_retransmits = line.contains("Retr");
            self.table = match self.table {
                Iperf3Section::Dashes => Iperf3Section::Results,
                _ => Iperf3Section::Intervals,
            };
        } else if let Some(row) = Iperf3Row::parse(line) {
            self.row(row)?;
        }
        Ok(())
    }

    fn row(&mut self, row: Iperf3Row) -> Result<(), String> {
        // What names its end is a result wherever it stands; of datagrams none does up to 3.1.
        if self.table == Iperf3Section::Results || row.end.is_some() {
            row.check()?;
            let retransmits = row.retransmits.filter(|_| self.has_retransmits);
            self.rows.push(Iperf3Row { retransmits, ..row });
            return Ok(());
        }
        self.table = Iperf3Section::Intervals;
        self.has_intervals = true;
        if row.is_omitted {
            return Ok(());
        }
        let last = self.last.iter_mut().find(|it| it.0 == row.id && it.1 == row.of_server);
        match last {
            // What was moved after the last interval counts, and its time does not.
            Some(last) if last.2 == row.interval => Err(format!(
                "its interval {} stands there twice, as where a run was stopped: its rate is not \
                 that of its time",
                row.interval
            )),
            Some(last) => {
                last.2 = row.interval;
                Ok(())
            }
            None => {
                self.last.push((row.id, row.of_server, row.interval));
                Ok(())
            }
        }
    }

    /// Whether it has what both ends counted, and no line of how it began: a table that somebody
    /// copied, of a client.
    fn is_table(&self) -> bool {
        let moved = |end: End| {
            let mut of = self.rows.iter().filter(|row| row.end == Some(end)).peekable();
            of.peek().is_some() && of.all(|row| row.bytes.value > 0.0)
        };
        let is_whole = moved(End::Sender) && moved(End::Receiver);
        self.connected == 0 && self.is_headed && is_whole
    }

    fn said_alone(self) -> Result<ToolResult, String> {
        let is_told = self.is_reverse || self.rows.iter().any(|row| row.has_role);
        let mut said = self.said(Side::Client, String::new())?;
        if !is_told {
            let text = "which end sent is not told: what stood above its table is missing";
            said.notes.push(Note::new("not-told", text));
        }
        Ok(said)
    }

    fn said(self, side: Side, version: String) -> Result<ToolResult, String> {
        if self.rows.is_empty() {
            return Err("a run of it has no results below its intervals: it was cut short, or \
                        stopped before its end"
                .to_owned());
        }
        let both = self.rows.iter().any(|row| row.has_role);
        if both && self.rows.iter().any(|row| !row.has_role) {
            return Err("it has rows of one direction among those of two".to_owned());
        }
        let mut said = ToolResult { version, ..ToolResult::default() };
        let directions: &[(bool, &str)] =
            if both { &[(false, ""), (true, "reverse_")] } else { &[(false, "")] };
        let mut streams = Vec::new();
        let mut from_server = self.is_reverse;
        for (of_server, before) in directions {
            let of = DirectionRows::of(&self.rows, *of_server)?;
            streams.push(of.streams);
            let knows = of.known(side, both.then_some(*of_server))?;
            from_server |= side == Side::Server && knows == (true, false);
            of.add_to(&mut said, before, knows)?;
        }
        let count = streams.first().copied().unwrap_or_default();
        let connected = self.connected;
        if streams.iter().any(|many| *many != count)
            || (connected > 0 && connected != count * streams.len())
        {
            return Err(format!("it has connected {connected} streams, and not results of each"));
        }
        said.title = super::title(both, from_server, side == Side::Server).to_owned();
        said.settings.insert("streams".to_owned(), count.into());
        if let Some(bytes) = self.block_size {
            said.settings.insert("block-size".to_owned(), bytes.into());
        }
        if said.figures.is_empty() {
            return Err(super::NOTHING.to_owned());
        }
        Ok(said)
    }
}

/// `[  5] local 10.0.0.1 port 5201 connected to 10.0.0.2 port 41234`.
fn is_connection(line: &str) -> bool {
    line.starts_with('[') && line.contains("] local ") && line.contains(" connected to ")
}

/// The rows of iperf3 about the data that went one way.
struct DirectionRows<'a> {
    streams: usize,
    sent: Option<&'a Iperf3Row>,
    received: Option<&'a Iperf3Row>,
    /// The one row of datagrams that there is up to 3.1.
    alone: Option<&'a Iperf3Row>,
}

impl<'a> DirectionRows<'a> {
    fn of(rows: &'a [Iperf3Row], of_server: bool) -> Result<DirectionRows<'a>, String> {
        let of = |end: Option<End>| -> Vec<&Iperf3Row> {
            rows.iter().filter(|row| row.of_server == of_server && row.end == end).collect()
        };
        let (sent, received) = (of(Some(End::Sender)), of(Some(End::Receiver)));
        let alone = of(None);
        if !alone.is_empty() && sent.len() + received.len() > 0 {
            return Err("rows of its intervals stand among those of the whole run".to_owned());
        }
        let streams = [&sent, &received, &alone].map(|rows| ids(rows));
        let most = streams.iter().max_by_key(|ids| ids.len()).cloned().unwrap_or_default();
        if let Some(few) = streams.iter().find(|ids| !ids.is_empty() && **ids != most) {
            return Err(format!(
                "it has results of {} streams from one end and of {} from the other",
                few.len(),
                most.len()
            ));
        }
        Ok(DirectionRows {
            streams: most.len(),
            sent: whole(&sent)?,
            received: whole(&received)?,
            alone: whole(&alone)?,
        })
    }

    /// Whether what was sent and what arrived is known to that end, in a run of both directions of
    /// the data that the server sent or of the other.
    fn known(&self, side: Side, of_server: Option<bool>) -> Result<(bool, bool), String> {
        if side == Side::Client {
            return match (self.sent, self.received, self.alone) {
                (Some(_), Some(_), None) | (None, None, Some(_)) => Ok((true, true)),
                _ => Err("it has not the results of both ends of a run: it was cut".to_owned()),
            };
        }
        let moved = |row: Option<&Iperf3Row>| row.is_some_and(|row| row.bytes.value > 0.0);
        if let Some(is_sender) = of_server {
            return Ok((is_sender, !is_sender));
        }
        match (moved(self.sent), moved(self.received), moved(self.alone)) {
            // It could be either end's.
            (false, false, false) if self.alone.is_none() => Err(super::NOTHING.to_owned()),
            (true, true, _) => {
                Err("a server printed it, which knows one end of a run, and it has \
                                    rates of both"
                    .to_owned())
            }
            (true, false, _) | (_, _, true) => Ok((true, false)),
            (false, ..) => Ok((false, true)),
        }
    }

    fn add_to(
        &self,
        said: &mut ToolResult,
        before: &str,
        (knows_sent, knows_received): (bool, bool),
    ) -> Result<(), String> {
        let rate = |said: &mut ToolResult, of: &str, row: &Iperf3Row| {
            let name = format!("{before}{of}_throughput_bytes_per_s");
            said.add(name, row.rate.value, &*row.printed);
            if row.rate.value < 9.5 * row.rate.step {
                let text = format!("{} has one digit, as -f asked for", row.printed);
                let note = Note::new("few-digits", text);
                if !said.notes.contains(&note) {
                    said.notes.push(note);
                }
            }
        };
        if let Some(row) = self.sent.filter(|_| knows_sent) {
            rate(said, "sent", row);
            if let Some(many) = row.retransmits {
                said.add(format!("{before}retransmits"), many, many.to_string());
            }
        }
        if let Some(row) = self.received.filter(|_| knows_received) {
            rate(said, "received", row);
            losses(said, before, row);
        }
        if let Some(row) = self.alone {
            if knows_sent {
                rate(said, "sent", row);
            } else {
                let text = "iperf3 up to 3.1 does not say at what rate a server received datagrams";
                said.notes.push(Note::new("not-told", text));
            }
            // What a server that sends says of its losses is zero.
            if knows_received {
                losses(said, before, row);
            }
        }
        Ok(())
    }
}

/// Of datagrams the receiver counts what was lost; where none arrived it cannot.
fn losses(said: &mut ToolResult, before: &str, row: &Iperf3Row) {
    let Some(lost) = row.lost.as_ref().filter(|lost| lost.all > 0.0 && lost.lost <= lost.all)
    else {
        return;
    };
    if let Some(ms) = row.jitter_ms {
        said.add(format!("{before}jitter_ms"), ms, format!("{ms} ms"));
    }
    said.add(format!("{before}lost_share"), lost.lost / lost.all, &*lost.printed);
}

fn ids(rows: &[&Iperf3Row]) -> Vec<String> {
    let mut ids: Vec<String> = rows.iter().map(|row| row.id.clone()).collect();
    ids.retain(|id| id != SUM);
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The row that stands for all streams.
fn whole<'a>(rows: &[&'a Iperf3Row]) -> Result<Option<&'a Iperf3Row>, String> {
    let (sums, streams): (Vec<&Iperf3Row>, Vec<&Iperf3Row>) =
        rows.iter().partition(|row| row.id == SUM);
    if sums.len() > 1 || ids(rows).len() != streams.len() {
        return Err("results of a stream stand there twice".to_owned());
    }
    match (sums.first(), streams.as_slice()) {
        (None, []) => Ok(None),
        (None, [one]) => Ok(Some(one)),
        (None, several) => Err(format!("it has {} streams and no sum of them", several.len())),
        (Some(_), [] | [_]) => Err("it has a sum of streams, and not the streams".to_owned()),
        (Some(sum), several) => {
            let moved: f64 = several.iter().map(|row| row.bytes.value).sum();
            let slack: f64 = several.iter().map(|row| row.bytes.step).sum();
            match (moved - sum.bytes.value).abs() <= 0.51 * (slack + sum.bytes.step) {
                true => Ok(Some(sum)),
                false => Err("what its streams moved is not what all moved".to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests;
