//! (pure) What was checked of the bytes that a trial read, and what was wrong with them.
//!
//! Only counts and the faults themselves are kept; rates and their bounds are `stats::poisson`'s,
//! and what they mean is told by `analysis::integrity`. What is wrong with a block is named by
//! [`base::pattern::judge`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Note;
use base::value;
use facts::counters::errors::Counted;

/// Faults beyond so many are counted by kind, not kept.
pub const FAULTS_MAX: usize = 1000;

/// Bytes that are kept of a faulty block, from the sector of the first difference on.
pub const EXCERPT_BYTES: usize = 512;

/// The kind of a place that could not be read.
pub const UNREADABLE: &str = "unreadable";

/// The note on data that came back wrong.
pub const CORRUPT: &str = "corrupt-data";

/// The note on data that did not come back.
pub const UNREADABLE_DATA: &str = "unreadable-data";

/// The note on counters of errors that grew meanwhile.
pub const COUNTED: &str = "errors-counted";

/// What was checked in a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Integrity {
    /// The checksum that blocks bore, or that files were compared by: `crc32c`.
    pub checksum: String,
    /// Bytes of one block, the unit in which faults are counted.
    pub block_bytes: u64,
    /// Bytes that were read and checked, those of wrong blocks too.
    pub checked_bytes: u64,
    /// Of those, bytes that were held against nothing, as in a first reading: they cannot be
    /// silently wrong, only unreadable.
    #[serde(skip_serializing_if = "is_none")]
    pub unheld_bytes: u64,
    /// Bytes that could not be read.
    pub unreadable_bytes: u64,
    /// Blocks found wrong, by the name of their kind; a block that is read wrong again with the
    /// same generation is counted under `again`, not here.
    pub wrong: BTreeMap<String, u64>,
    /// Reads that the kernel ended with an error of the device (EIO and its like), each place once.
    pub unreadable: u64,
    /// Sightings of wrong or unreadable blocks that had been seen before.
    pub again: u64,
    /// The faults, in the order in which they were found, up to [`FAULTS_MAX`].
    pub faults: Vec<Fault>,
    /// Counters of errors of what the files lie on, and of the memory, before the trial and after
    /// it; those that could be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<Counted>,
    /// In words, the counters that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uncounted: Vec<String>,
}

fn is_none(bytes: &u64) -> bool {
    *bytes == 0
}

/// One wrong or unreadable block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Fault {
    /// When it was found, ns since the trial's start.
    pub at_ns: u64,
    /// The file, as a path below the directory that was asked for, or as it was given.
    pub file: String,
    /// Where in the file, bytes.
    pub offset: u64,
    /// Its kind, by the table of `pattern::judge`; `unreadable` where the kernel gave an error.
    pub kind: String,
    /// One sentence: which bits, whose block, which generation, where the new data ends; or the
    /// kernel's words.
    pub what: String,
    /// What it gave when it was read again.
    pub rereads: Vec<Reread>,
    /// What follows from those.
    pub lasting: Lasting,
    /// Where in the block the excerpts begin, bytes.
    pub excerpt_at: u64,
    /// What was expected there, lower-case hexadecimal; empty where that is not known.
    pub expected: String,
    /// What was found there, lower-case hexadecimal.
    pub found: String,
    /// What the kernel said in the second around it, oldest first.
    pub kernel: Vec<String>,
}

/// One of the three ways in which a faulty block is read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reread {
    /// `same` (the same request), `direct` (around the page cache), `other-size` (one that is
    /// larger or smaller, so that caches and drives see another request).
    pub how: String,
    /// `right`, `same-wrong`, `other-wrong`, or the kernel's words.
    pub gave: String,
}

/// Whether a fault stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Lasting {
    /// It was not read again, or the answers contradict each other.
    #[default]
    Unknown,
    /// Each reading after it was right: on its way, not where it lies.
    Transient,
    /// Wrong through the page cache, right around it: what memory holds is wrong.
    InMemory,
    /// Wrong around the page cache too: on the device, or in what it caches.
    Persistent,
}

impl Lasting {
    /// All of them.
    pub const ALL: [Lasting; 4] =
        [Lasting::Unknown, Lasting::Transient, Lasting::InMemory, Lasting::Persistent];

    /// The word of the store and of the JSON contract.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Integrity {
    /// Silently wrong blocks, each counted once.
    pub fn wrong_blocks(&self) -> u64 {
        self.wrong.values().sum()
    }

    /// Whether every byte that was asked for came back as it was written.
    pub fn is_clean(&self) -> bool {
        self.wrong_blocks() == 0 && self.unreadable == 0
    }

    /// Counters of errors that grew while it was checked.
    pub fn grown(&self) -> Vec<&Counted> {
        self.counted.iter().filter(|counted| counted.more().is_some()).collect()
    }

    /// The note on those; `None` where none grew.
    pub fn note_of_counters(&self) -> Option<Note> {
        let told = self.grown_told()?;
        Some(Note::new(COUNTED, format!("during this trial {told}")))
    }

    /// What the counters of errors did `meanwhile` ("during this trial"), without a full stop;
    /// `None` where none was read both times.
    pub fn counters_told(&self, meanwhile: &str) -> Option<String> {
        if let Some(told) = self.grown_told() {
            return Some(format!("{meanwhile} {told}"));
        }
        match self.counted.iter().filter(|counted| counted.is_known()).count() {
            0 => None,
            1 => Some(format!("the one error counter that is there did not grow {meanwhile}")),
            known => Some(format!("none of {known} error counters grew {meanwhile}")),
        }
    }

    fn grown_told(&self) -> Option<String> {
        /// More of them are in the record.
        const TOLD_MAX: usize = 6;
        let grown = self.grown();
        let told: Vec<String> =
            grown.iter().take(TOLD_MAX).map(|counted| counted.to_string()).collect();
        let more = match grown.len().saturating_sub(TOLD_MAX) {
            0 => String::new(),
            more => format!("; and {more} more counters grew"),
        };
        (!grown.is_empty()).then(|| format!("{}{more}", told.join("; ")))
    }

    /// Adds what was counted while more was read: of a counter that is known the first reading
    /// stands with the last one.
    pub fn count_on(&mut self, counted: Vec<Counted>, uncounted: Vec<String>) {
        for later in counted {
            let same = |it: &&mut Counted| it.of == later.of && it.what == later.what;
            match self.counted.iter_mut().find(same) {
                Some(known) => {
                    known.before = known.before.or(later.before);
                    known.after = later.after.or(known.after);
                }
                None => self.counted.push(later),
            }
        }
        for why in uncounted {
            if !self.uncounted.contains(&why) {
                self.uncounted.push(why);
            }
        }
    }

    /// What whoever reads the figures must know of it: nothing where all is right.
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        let first = |wrong: bool| {
            let of_kind = |fault: &&Fault| (fault.kind == UNREADABLE) != wrong;
            self.faults
                .iter()
                .find(of_kind)
                .map_or(String::new(), |fault| format!("; first: {fault}"))
        };
        let checked = value::bytes(self.checked_bytes as f64);
        if self.wrong_blocks() > 0 {
            let kinds = self.wrong.iter().map(|(kind, count)| format!("{count} {kind}"));
            let text = format!(
                "of {checked} that were checked, {} did not come back as written ({}){}",
                value::counted(self.wrong_blocks(), "block"),
                kinds.collect::<Vec<_>>().join(", "),
                first(true)
            );
            notes.push(Note::new(CORRUPT, text));
        }
        if self.unreadable > 0 {
            let text = format!(
                "{} could not be read, {} in all, beside {checked} that came; the rates count them \
                 as if they had come{}",
                value::counted(self.unreadable, "place"),
                value::bytes(self.unreadable_bytes as f64),
                first(false)
            );
            notes.push(Note::new(UNREADABLE_DATA, text));
        }
        notes
    }

    /// Both together; faults are kept up to [`FAULTS_MAX`]. What was checked by another checksum or
    /// in other blocks keeps the first one's name.
    pub fn add(&mut self, other: Integrity) {
        if self.checksum.is_empty() {
            self.checksum = other.checksum;
            self.block_bytes = other.block_bytes;
        }
        self.checked_bytes += other.checked_bytes;
        self.unheld_bytes += other.unheld_bytes;
        self.unreadable_bytes += other.unreadable_bytes;
        self.unreadable += other.unreadable;
        self.again += other.again;
        for (kind, count) in other.wrong {
            *self.wrong.entry(kind).or_default() += count;
        }
        let room = FAULTS_MAX.saturating_sub(self.faults.len());
        self.faults.extend(other.faults.into_iter().take(room));
        self.counted.extend(other.counted);
        self.uncounted.extend(other.uncounted);
    }
}

impl std::fmt::Display for Fault {
    /// Where, what, and for how long: one line.
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{} at byte {}: {}", self.file, self.offset, self.what)?;
        match self.lasting {
            Lasting::Unknown => Ok(()),
            lasting => write!(to, " ({})", lasting.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_count_everything_and_keep_so_many_faults() {
        let one = Integrity {
            checksum: "crc32c".into(),
            block_bytes: 4096,
            checked_bytes: 1 << 20,
            wrong: BTreeMap::from([("bit-flip".to_owned(), 600)]),
            unreadable: 1,
            faults: vec![Fault::default(); 600],
            ..Integrity::default()
        };
        let mut sum = Integrity::default();
        assert!(sum.is_clean());
        sum.add(one.clone());
        sum.add(one);
        assert_eq!((sum.wrong_blocks(), sum.unreadable, sum.faults.len()), (1200, 2, FAULTS_MAX));
        assert_eq!((sum.checked_bytes, sum.block_bytes), (2 << 20, 4096));
        assert!(!sum.is_clean());
    }

    #[test]
    fn notes_name_the_counts_and_the_first_fault_of_each_sort() {
        let fault = |kind: &str, what: &str, lasting| Fault {
            file: "/a".into(),
            offset: 8192,
            kind: kind.into(),
            what: what.into(),
            lasting,
            ..Fault::default()
        };
        let mut integrity = Integrity { checked_bytes: 1 << 30, ..Integrity::default() };
        assert_eq!(integrity.notes(), []);
        integrity.wrong = BTreeMap::from([("bit-flip".into(), 1)]);
        integrity.unreadable = 2;
        integrity.unreadable_bytes = 8192;
        integrity.faults = vec![
            fault(UNREADABLE, "Input/output error (os error 5)", Lasting::Unknown),
            fault("bit-flip", "1 bit flipped", Lasting::Persistent),
        ];
        let notes = integrity.notes();
        let texts: Vec<(&str, &str)> =
            notes.iter().map(|note| (note.kind.as_str(), note.text.as_str())).collect();
        assert_eq!(
            texts,
            [
                (
                    "corrupt-data",
                    "of 1.00 GiB that were checked, 1 block did not come back as written (1 \
                     bit-flip); first: /a at byte 8192: 1 bit flipped (persistent)"
                ),
                (
                    "unreadable-data",
                    "2 places could not be read, 8.00 KiB in all, beside 1.00 GiB that came; the \
                     rates count them as if they had come; first: /a at byte 8192: Input/output \
                     error (os error 5)"
                ),
            ]
        );
    }

    #[test]
    fn counters_that_grew_are_noted_by_name_and_others_are_not() {
        let counted = |of: String, before, after| Counted {
            of,
            what: "pending sectors".into(),
            from: "smartctl".into(),
            before,
            after,
        };
        let mut integrity = Integrity {
            counted: vec![
                counted("sda".into(), Some(7), Some(7)),
                counted("sdb".into(), Some(7), Some(3)),
                counted("sdc".into(), None, Some(3)),
                counted("sdd".into(), Some(3), None),
            ],
            ..Integrity::default()
        };
        assert_eq!(integrity.note_of_counters(), None);
        integrity.counted.push(counted("sde".into(), Some(0), Some(1)));
        let note = integrity.note_of_counters().unwrap();
        let expected = "during this trial sde counted 1 more pending sector (0, then 1; smartctl)";
        assert_eq!((note.kind.as_str(), note.text.as_str()), ("errors-counted", expected));
        let many = (0..9).map(|number| counted(format!("sd{number}"), Some(1), Some(4)));
        integrity.counted.extend(many);
        let text = integrity.note_of_counters().unwrap().text;
        assert!(text.contains("sd4 counted 3 more pending sectors (1, then 4; smartctl)"));
        assert!(text.ends_with("; and 4 more counters grew"), "{text}");
    }

    #[test]
    fn a_fault_survives_its_line_and_old_lines_are_read() {
        let fault = Fault {
            offset: 4096,
            kind: "torn".into(),
            rereads: vec![Reread { how: "direct".into(), gave: "right".into() }],
            lasting: Lasting::InMemory,
            ..Fault::default()
        };
        let line = serde_json::to_string(&fault).unwrap();
        assert!(line.contains(r#""lasting":"in-memory""#), "{line}");
        assert_eq!(serde_json::from_str::<Fault>(&line).unwrap(), fault);
        assert_eq!(serde_json::from_str::<Fault>("{}").unwrap(), Fault::default());
    }

    #[test]
    fn what_counters_did_is_told_of_one_of_many_and_over_several_readings() {
        let counted = |of: &str, before, after| Counted {
            of: of.into(),
            what: "pending sectors".into(),
            from: "smartctl".into(),
            before,
            after,
        };
        let mut all = Integrity::default();
        let told = |all: &Integrity| all.counters_told("meanwhile");
        assert_eq!(told(&all), None);
        all.count_on(vec![counted("sda", Some(2), Some(2))], vec!["sdb (no answer)".into()]);
        let one = "the one error counter that is there did not grow meanwhile";
        assert_eq!(told(&all).as_deref(), Some(one));
        all.count_on(vec![counted("sdb", Some(0), Some(0))], vec!["sdb (no answer)".into()]);
        assert_eq!(told(&all).as_deref(), Some("none of 2 error counters grew meanwhile"));
        assert_eq!(all.uncounted, ["sdb (no answer)"]);
        // Later readings begin where the first ended.
        all.count_on(vec![counted("sda", Some(2), Some(3))], Vec::new());
        all.count_on(vec![counted("sda", Some(3), None)], Vec::new());
        assert_eq!(all.counted[0], counted("sda", Some(2), Some(3)));
        let grew = "meanwhile sda counted 1 more pending sector (2, then 3; smartctl)";
        assert_eq!(told(&all).as_deref(), Some(grew));
    }
}
