//! (pure) The log of what was acknowledged: one line a write, each with a checksum of its own.
//!
//! A line says that a write was acknowledged, and which one the same stream begins next. It is on
//! its device before that next write begins. So the log never says more than what was acknowledged,
//! and of each stream at most one write, which it names, was under way when everything ended. What
//! is torn or cut says nothing, as if it had not been written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use base::hash::Checksum;

/// Digits of a line's checksum.
const DIGITS: usize = 8;

/// The files that a log is about, once all of them are written and durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedFiles {
    /// Version of this layout: 1.
    pub log: u32,
    /// Whose blocks these are.
    pub campaign: u64,
    /// One a stream.
    pub files: Vec<String>,
    /// Of each.
    pub file_bytes: u64,
    /// What is written at once.
    pub piece_bytes: u64,
    /// What bears a name and a checksum.
    pub block_bytes: u64,
    /// Of each block.
    pub checksum: Checksum,
}

/// One write of a piece, by the piece's number and which writing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PieceWrite {
    /// Number of the piece in its file.
    pub piece: u64,
    /// Which writing of it; the file is made with 0.
    pub generation: u64,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlushLogLine {
    /// A trial begins; what stood before is about files that are no more.
    Begin(LoggedFiles),
    /// A stream is about to begin its first write.
    First {
        /// Which stream.
        stream: u64,
        /// What it writes.
        next: PieceWrite,
    },
    /// A write was acknowledged, flushed and all, and the next one is about to begin.
    Acknowledged {
        /// Which stream.
        stream: u64,
        /// What was written.
        done: PieceWrite,
        /// What it writes next.
        next: PieceWrite,
    },
    /// A stream has ended: its next write did not begin.
    End {
        /// Which stream.
        stream: u64,
    },
}

/// What a trial can have written, as the knobs of these names allow it: whoever damages a log on
/// purpose makes its checksums right, and must not have us take as much memory as he likes.
const FILES_MAX: usize = 65_536;
const PIECE_BYTES: std::ops::RangeInclusive<u64> = 512..=1 << 30;
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 512..=1 << 20;
/// Of each file: the generation of each is kept in memory.
pub const PIECES_MAX: u64 = 64 << 20;

impl LoggedFiles {
    /// Pieces of each file.
    pub fn pieces(&self) -> u64 {
        self.file_bytes / self.piece_bytes.max(1)
    }

    /// Whether any trial can have been so.
    fn is_possible(&self) -> bool {
        let whole = |bytes: u64, of: u64| bytes > 0 && bytes.is_multiple_of(of);
        BLOCK_BYTES.contains(&self.block_bytes)
            && PIECE_BYTES.contains(&self.piece_bytes)
            && whole(self.piece_bytes, self.block_bytes)
            && whole(self.file_bytes, self.piece_bytes)
            && self.pieces() <= PIECES_MAX
            && self.files.len() <= FILES_MAX
    }

    fn has(&self, stream: u64, written: &PieceWrite) -> bool {
        stream < self.files.len() as u64 && written.piece < self.pieces()
    }
}

impl FlushLogLine {
    /// As it is written, its end included.
    pub fn text(&self) -> String {
        // Plain data of numbers and strings always has a text.
        let body = serde_json::to_string(self).unwrap_or_default();
        let sum = sum(&body);
        format!("{body} {sum:08x}\n")
    }

    /// Whether it is about a piece of these files.
    fn is_of(&self, begin: &LoggedFiles) -> bool {
        match self {
            FlushLogLine::Begin(_) => false,
            FlushLogLine::First { stream, next } => begin.has(*stream, next),
            FlushLogLine::Acknowledged { stream, done, next } => {
                begin.has(*stream, done) && begin.has(*stream, next)
            }
            FlushLogLine::End { stream } => *stream < begin.files.len() as u64,
        }
    }

    /// Reads one, without its end; `None` when it is not whole.
    pub fn parse(text: &str) -> Option<FlushLogLine> {
        let text = text.strip_suffix('\r').unwrap_or(text);
        let (body, digits) = text.rsplit_once(' ')?;
        let whole = digits.len() == DIGITS && u32::from_str_radix(digits, 16).ok()? == sum(body);
        whole.then(|| serde_json::from_str(body).ok())?
    }
}

fn sum(body: &str) -> u32 {
    let [a, b, c, d, ..] = Checksum::Crc32c.digest([body.as_bytes(), &[]]);
    u32::from_le_bytes([a, b, c, d])
}

/// What a log says of its last trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The files.
    pub begin: LoggedFiles,
    /// The newest acknowledged generation of each piece, by stream and piece; 0 of others.
    pub acknowledged: BTreeMap<(u64, u64), u64>,
    /// Acknowledged writes in all.
    pub writes: u64,
    /// What each stream may have been writing at the end.
    pub in_flight: BTreeMap<u64, PieceWrite>,
    /// Lines that are torn, and say nothing.
    pub damaged: u64,
}

/// Reads a log, line by line.
#[derive(Debug, Default)]
pub struct FlushLogReader {
    log: Option<Log>,
    damaged: u64,
}

impl FlushLogReader {
    /// The next line, without its end.
    pub fn take(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let text = text.trim_matches(['\0', '\r']);
        if text.is_empty() {
            return;
        }
        match (FlushLogLine::parse(text), &mut self.log) {
            (Some(FlushLogLine::Begin(begin)), log) if begin.is_possible() => {
                self.damaged = 0;
                *log = Some(Log {
                    begin,
                    acknowledged: BTreeMap::new(),
                    writes: 0,
                    in_flight: BTreeMap::new(),
                    damaged: 0,
                });
            }
            (Some(line), Some(log)) if line.is_of(&log.begin) => log.add(&line),
            _ => self.damaged += 1,
        }
    }

    /// What the log says; `None` when no trial begins in it.
    pub fn end(self) -> Option<Log> {
        Some(Log { damaged: self.damaged, ..self.log? })
    }
}

impl Log {
    fn add(&mut self, line: &FlushLogLine) {
        match line {
            FlushLogLine::Begin(_) => {}
            FlushLogLine::First { stream, next } => {
                self.in_flight.insert(*stream, *next);
            }
            FlushLogLine::Acknowledged { stream, done, next } => {
                let newest = self.acknowledged.entry((*stream, done.piece)).or_default();
                *newest = done.generation.max(*newest);
                self.writes += 1;
                self.in_flight.insert(*stream, *next);
            }
            FlushLogLine::End { stream } => {
                self.in_flight.remove(stream);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin() -> FlushLogLine {
        FlushLogLine::Begin(LoggedFiles {
            log: 1,
            campaign: 7,
            files: vec!["/srv/a b/\"x\".dat".into()],
            file_bytes: 1 << 20,
            piece_bytes: 4096,
            block_bytes: 512,
            checksum: Checksum::Crc32c,
        })
    }

    fn written(piece: u64, generation: u64) -> PieceWrite {
        PieceWrite { piece, generation }
    }

    fn lines() -> Vec<FlushLogLine> {
        vec![
            begin(),
            FlushLogLine::First { stream: 0, next: written(3, 1) },
            FlushLogLine::Acknowledged { stream: 0, done: written(3, 1), next: written(5, 1) },
            FlushLogLine::Acknowledged { stream: 0, done: written(5, 1), next: written(3, 2) },
        ]
    }

    fn read(text: &[u8]) -> Option<Log> {
        let mut reader = FlushLogReader::default();
        text.split(|byte| *byte == b'\n').for_each(|line| reader.take(line));
        reader.end()
    }

    fn text() -> String {
        lines().iter().map(FlushLogLine::text).collect()
    }

    #[test]
    fn a_log_says_what_was_acknowledged_and_what_was_under_way() {
        let log = read(text().as_bytes()).unwrap();
        assert_eq!(log.acknowledged, [((0, 3), 1), ((0, 5), 1)].into());
        assert_eq!((log.writes, log.damaged), (2, 0));
        assert_eq!(log.in_flight, [(0, written(3, 2))].into());
        let ended = text() + &FlushLogLine::End { stream: 0 }.text();
        assert!(read(ended.as_bytes()).unwrap().in_flight.is_empty());
        assert_eq!(read(text().replace('\n', "\r\n").as_bytes()), Some(log));
    }

    /// A line that is cut must not say another write than the one that it was about.
    #[test]
    fn a_log_that_is_cut_anywhere_never_says_more_than_the_whole_one() {
        let text = text();
        let whole = read(text.as_bytes()).unwrap();
        for end in 0..text.len() {
            let Some(log) = read(&text.as_bytes()[..end]) else { continue };
            assert!(log.writes <= whole.writes && log.damaged <= 1, "{end}");
            for (place, generation) in log.acknowledged {
                assert_eq!(whole.acknowledged[&place], generation, "{end}");
            }
        }
        assert_eq!(read(b""), None);
    }

    #[test]
    fn a_byte_that_changed_makes_its_line_say_nothing() {
        let text = text();
        let first = text.find('\n').unwrap();
        for at in first + 1..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let log = read(&bytes).unwrap();
            assert!(log.writes <= 2, "{at}");
            assert!(log.damaged > 0 || bytes[at] == b'\r' || log.writes == 2, "{at}");
        }
        // Pages that were never written are zeros.
        let torn = [text.as_bytes(), &[0; 100], b"\n"].concat();
        assert_eq!(read(&torn).unwrap().damaged, 0);
    }

    /// A checksum is no proof of who wrote a line: with `piece_bytes` of a log set to 2^60 and its
    /// checksum made right, `verify --flushed` asked for as many bytes of memory at once.
    #[test]
    fn a_log_of_what_no_trial_can_have_written_says_nothing() {
        let FlushLogLine::Begin(good) = begin() else { panic!("it begins") };
        let with = |change: fn(&mut LoggedFiles)| {
            let mut begin = good.clone();
            change(&mut begin);
            read(FlushLogLine::Begin(begin).text().as_bytes())
        };
        assert!(with(|_| {}).is_some());
        type Change = (&'static str, fn(&mut LoggedFiles));
        let changes: [Change; 7] = [
            ("piece", |it| (it.piece_bytes, it.file_bytes) = (1 << 60, 1 << 60)),
            ("no piece", |it| it.piece_bytes = 0),
            ("no block", |it| it.block_bytes = 0),
            ("a block shorter than its head", |it| it.block_bytes = 64),
            ("parts of blocks", |it| it.block_bytes = 3 * 512),
            ("parts of pieces", |it| it.file_bytes += 1),
            ("file", |it| it.file_bytes = u64::MAX / 4096 * 4096),
        ];
        for (what, change) in changes {
            assert_eq!(with(change), None, "{what}");
        }
        // Nor is anything kept of pieces and streams that are not there.
        let strange = [
            FlushLogLine::First { stream: 1, next: written(3, 1) },
            FlushLogLine::Acknowledged {
                stream: 0,
                done: written(1 << 50, 1),
                next: written(5, 1),
            },
        ];
        let text: String = strange.iter().map(FlushLogLine::text).collect();
        let log = read(format!("{}{text}", begin().text()).as_bytes()).unwrap();
        assert!(log.acknowledged.is_empty() && log.in_flight.is_empty() && log.damaged == 2);
    }

    #[test]
    fn the_last_trial_of_a_log_is_the_one_that_counts() {
        let twice = format!("{}garbage\n\n{}", text(), begin().text());
        let log = read(twice.as_bytes()).unwrap();
        assert!(log.acknowledged.is_empty() && log.in_flight.is_empty() && log.damaged == 0);
    }
}
