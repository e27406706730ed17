//! (pure) iperf 2 (`iperf`), which has little in common with iperf3: its text and its CSV.
//!
//! Each end prints what it counted itself: a client what it sent, a server what it received. Only
//! of datagrams the server tells its client (`Server Report:`). A run in both directions (`-d`,
//! `-r`, `--full-duplex`) is two results, of what was sent and of what was received.

use super::{Form, Importer, ToolResult};

mod row;
mod text;
mod csv;

/// See [`Importer`].
pub const IPERF2: Importer = Importer {
    name: "iperf2",
    about: "What iperf 2 prints, its client (iperf -c HOST) and its server (iperf -s), as text or \
            with -y C",
    forms: &[
        Form {
            bring: "what its client or its server prints for people, with -e as well",
            recorded: &[
                "2.0-client",
                "2.0-server",
                "2.0.4",
                "2.0.9-both",
                "2.0.9-server",
                "2.0.9-tcp",
                "2.0.13",
                "2.1.8",
                "2.2.1-enhanced",
                "2.2.1-two",
                "2.2.1-udp",
            ],
            read: "what was sent or received, losses and jitter of datagrams, retransmissions",
            not_read: "a run of one second, which looks like its own first interval; several \
                       streams without their [SUM] or in both directions; --full-duplex of the \
                       server; --bounceback and --isochronous",
        },
        Form {
            bring: "-y C",
            recorded: &["2.0.9-csv", "2.2.1-server-csv"],
            read: "the rate of each connection, or of their sum; losses and jitter of datagrams",
            not_read: "whether it was sent or received, which it does not tell; a run of one \
                       second; -y C with -e",
        },
    ],
    words: &[
        "iperf -c",
        "iperf -s",
        "connected with",
        "Client connecting to",
        "Server listening on",
        "TCP window size",
        "UDP buffer size",
        "Server Report:",
        "Bandwidth",
        "datagrams",
    ],
    mark: "line `Client connecting to HOST, TCP port 5001` or `Server listening on TCP port 5001`, \
           and no line of its CSV",
    parse,
    knows,
};

fn knows(text: &str) -> bool {
    text::knows(text) || csv::knows(text)
}

/// One result for each way that data went in a run.
fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    match (text::knows(text), csv::knows(text)) {
        (true, true) => {
            Err("it has runs as text and runs in CSV; bring them one by one".to_owned())
        }
        (false, true) => csv::parse(text),
        (_, false) => text::parse(text),
    }
}

/// Why a rate cannot be told from that of an interval.
const ONE_SECOND: &str = "it has one row of one second, which may be of a whole run or of its \
                          first second; bring one that ran longer";

/// Whether a row that stands alone may be the first interval of `-i 1`.
fn is_one_second(seconds: f64) -> bool {
    (0.9..1.1).contains(&seconds)
}

/// When a row begins and ends, in s, and how many bytes were moved in that time.
type TimedBytes = (f64, f64, f64);

/// The row of a whole run: the one that there is, or the last, which begins where the first did.
fn whole<T: PartialEq>(rows: &[T], span: impl Fn(&T) -> TimedBytes) -> Result<&T, String> {
    const NONE: &str = "it has intervals and no row of the whole run: it was cut short or stopped";
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Err("a connection of it has no row: it was cut short or stopped".to_owned());
    };
    let latest = rows.iter().map(|row| span(row).1).fold(0.0, f64::max);
    let (from, to, bytes) = span(last);
    if span(first).0 > 0.0 || from > 0.0 || to < latest - 0.1 {
        return Err(NONE.to_owned());
    }
    if rows.len() == 1 && is_one_second(to) {
        return Err(ONE_SECOND.to_owned());
    }
    // Of three digits: an interval may be the whole run, and printed alike.
    let is_part = |row: &T| span(row).2 <= bytes * 1.01;
    let between = rows.get(1..rows.len() - 1).unwrap_or_default();
    let is_interval = |row: &T| span(row).0 > 0.0 || row == last;
    match rows.iter().all(is_part) && between.iter().all(is_interval) {
        true => Ok(last),
        false => Err("a connection of it has two rows of a whole run".to_owned()),
    }
}

#[cfg(test)]
mod tests;
