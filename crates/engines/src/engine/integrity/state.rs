//! Where a stream stands, in a small file beside its data: what must be found in the data when the
//! next trial, or the next boot, takes it up again.
//!
//! It is on the disk before the first byte of a generation is written over an older one, and again
//! when all of that is flushed. So after a crash in between, the pieces which that generation
//! writes hold it or what was there before, and everything else holds exactly what it must.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;
use std::path::Path;

use rustix::fs::OFlags;

use base::hash::Checksum;
use base::pattern::generation::Rewrites;
use host::sys::{Error, beneath};

/// What is kept of the largest file, every block of it wrong, is far smaller.
const STATE_BYTES_MAX: u64 = 1 << 30;

const MAGIC: &str = "brickyard integrity state 1";
/// Wrong blocks that are remembered, so that none counts as a new one in each trial; beyond, they
/// do.
const KNOWN_MAX: usize = 100_000;

/// By what a file was written; by anything else, nothing in it is what would be expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Whose blocks these are.
    pub campaign: u64,
    /// Number of the stream.
    pub stream: u64,
    /// Of the file.
    pub file_bytes: u64,
    /// What is written or read at once, and written over or not: `block-size`.
    pub piece_bytes: u64,
    /// What bears a name and a checksum: `verify-block`.
    pub block_bytes: u64,
    /// Of each block.
    pub checksum: Checksum,
    /// Of all pieces, what each generation writes over.
    pub share: f64,
}

/// What is done to the file at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum IntegrityPhase {
    /// A generation is written.
    Write,
    /// All is read from the beginning to the end.
    Sequential,
    /// All is read in a random order.
    Random,
}

impl IntegrityPhase {
    fn name(self) -> &'static str {
        self.into()
    }
}

/// A generation that is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncompleteGeneration {
    /// Of the pieces before this one, all that the generation chooses were written and flushed.
    pub next: u64,
    /// Those from `next` on may have been written as well.
    pub open: bool,
}

/// What must be in a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedGeneration {
    /// This generation.
    Exactly(u64),
    /// Each block holds the older or the newer one: its writing was under way in a crash.
    Either(u64, u64),
}

/// A block that was wrong or unreadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FaultyBlock {
    /// Where in the file, bytes.
    pub offset: u64,
    /// What should have been there.
    pub generation: u64,
    /// The kernel gave an error; a block can be unreadable first and wrong later.
    pub unreadable: bool,
}

/// Where a stream stands: its generation, its phase, and the faults that are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// Complete generations; the newest is one less, and the next one to be written bears this.
    pub complete: u64,
    /// The generation in hand.
    pub begun: Option<IncompleteGeneration>,
    /// What is done.
    pub phase: IntegrityPhase,
    /// Pieces of the phase that are done, when it reads.
    pub next: u64,
    /// In which boot.
    pub boot: String,
    /// Wrong and unreadable blocks that were counted, each with the seed of the trial that did.
    pub known: BTreeMap<FaultyBlock, u64>,
}

impl StreamState {
    /// Nothing is written yet.
    pub fn fresh(boot: &str) -> StreamState {
        StreamState {
            complete: 0,
            begun: Some(IncompleteGeneration { next: 0, open: false }),
            phase: IntegrityPhase::Write,
            next: 0,
            boot: boot.to_owned(),
            known: BTreeMap::new(),
        }
    }

    /// A trial of this seed begins in this boot. What was written in an earlier one, or was being
    /// written when it crashed, is read from the beginning before anything is written over it.
    pub fn take_up(&mut self, boot: &str, trial: u64) {
        let crashed = self.begun.is_some_and(|begun| begun.open);
        if self.complete > 0 && (crashed || self.boot != boot) {
            (self.phase, self.next) = (IntegrityPhase::Sequential, 0);
        }
        boot.clone_into(&mut self.boot);
        // A trial that was stopped is run again, and what it counted was never kept.
        self.known.retain(|_, counted| *counted != trial);
    }

    /// What must be in `piece`, of a file that was written once.
    pub fn expected(&self, rewrites: &Rewrites, piece: u64) -> ExpectedGeneration {
        let newest = self.complete.saturating_sub(1);
        let older = rewrites.expected(newest, piece);
        match self.begun.filter(|_| rewrites.chooses(self.complete, piece)) {
            Some(begun) if piece < begun.next => ExpectedGeneration::Exactly(self.complete),
            Some(begun) if begun.open => ExpectedGeneration::Either(older, self.complete),
            _ => ExpectedGeneration::Exactly(older),
        }
    }

    /// All was read in this phase; gives whether a round is over.
    pub fn read_through(&mut self) -> bool {
        let over = self.phase == IntegrityPhase::Random;
        self.next = 0;
        self.phase = match (over, self.begun) {
            (false, None) => IntegrityPhase::Random,
            _ => IntegrityPhase::Write,
        };
        over
    }

    /// The first byte of the next generation is about to be written, or the first one since it was
    /// left.
    pub fn open(&mut self) {
        let next = self.begun.map_or(0, |begun| begun.next);
        self.begun = Some(IncompleteGeneration { next, open: true });
    }

    /// What the generation in hand writes before `next` is flushed, and nothing else of it was
    /// written.
    pub fn leave(&mut self, next: u64) {
        self.begun = Some(IncompleteGeneration { next, open: false });
    }

    /// The generation in hand is flushed, all of it.
    pub fn written_through(&mut self, rewrites: &Rewrites, piece_bytes: u64) {
        self.complete += 1;
        (self.begun, self.phase, self.next) = (None, IntegrityPhase::Sequential, 0);
        let newest = self.complete - 1;
        self.known.retain(|seen, _| {
            rewrites.expected(newest, seen.offset / piece_bytes.max(1)) == seen.generation
        });
    }

    /// Whether a block was not counted before; it is now, by the trial of this seed.
    pub fn is_new(&mut self, seen: FaultyBlock, trial: u64) -> bool {
        if self.known.contains_key(&seen) {
            return false;
        }
        if self.known.len() < KNOWN_MAX {
            self.known.insert(seen, trial);
        }
        true
    }

    /// Its text, which ends with a line that says so.
    pub fn text(&self, shape: &Shape) -> String {
        let mut text = format!("{MAGIC}\n{}", shape.text());
        let IncompleteGeneration { next, open } =
            self.begun.unwrap_or(IncompleteGeneration { next: 0, open: false });
        let begun = if self.begun.is_some() { "yes" } else { "no" };
        let rows = [
            ("complete", self.complete.to_string()),
            ("begun", begun.to_owned()),
            ("begun-next", next.to_string()),
            ("begun-open", if open { "yes" } else { "no" }.to_owned()),
            ("phase", self.phase.name().to_owned()),
            ("next", self.next.to_string()),
            ("boot", self.boot.clone()),
        ];
        for (name, value) in rows {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{name} {value}");
        }
        for (FaultyBlock { offset, generation, unreadable }, trial) in &self.known {
            let kind = if *unreadable { "unreadable" } else { "wrong" };
            let _ = writeln!(text, "{kind} {offset} {generation} {trial}");
        }
        text.push_str("end\n");
        text
    }

    /// Reads what [`StreamState::text`] wrote of a file of this shape.
    ///
    /// # Errors
    /// Why it says nothing of such a file.
    pub fn parse(text: &str, shape: &Shape) -> Result<StreamState, String> {
        let torn = || "it is torn or was changed".to_owned();
        let own = format!("{MAGIC}\n");
        let rest = text.strip_prefix(&own).ok_or_else(torn)?;
        let rest = rest.strip_prefix(&shape.text()).ok_or("it is of a file of another shape")?;
        let rest = rest.strip_suffix("end\n").ok_or_else(torn)?;
        let mut lines = rest.lines();
        let mut value = |name: &str| {
            let (found, value) = lines.next()?.split_once(' ')?;
            (found == name).then_some(value)
        };
        let yes = |text: Option<&str>| match text {
            Some("yes") => Ok(true),
            Some("no") => Ok(false),
            _ => Err(torn()),
        };
        let number =
            |text: Option<&str>| text.and_then(|it| it.parse::<u64>().ok()).ok_or_else(torn);
        let complete = number(value("complete"))?;
        let is_begun = yes(value("begun"))?;
        let begun = IncompleteGeneration {
            next: number(value("begun-next"))?,
            open: yes(value("begun-open"))?,
        };
        let phase = value("phase").and_then(|word| word.parse().ok()).ok_or_else(torn)?;
        let next = number(value("next"))?;
        let boot = value("boot").ok_or_else(torn)?.to_owned();
        let mut known = BTreeMap::new();
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            let [kind @ ("wrong" | "unreadable"), offset, generation, trial] = words[..] else {
                return Err(torn());
            };
            let (offset, generation) = (number(Some(offset))?, number(Some(generation))?);
            let seen = FaultyBlock { offset, generation, unreadable: kind == "unreadable" };
            known.insert(seen, number(Some(trial))?);
        }
        let begun = is_begun.then_some(begun);
        if complete == 0 && (begun.is_none() || phase != IntegrityPhase::Write) {
            return Err(torn());
        }
        Ok(StreamState { complete, begun, phase, next, boot, known })
    }

    /// Puts it on the disk, name and all.
    ///
    /// # Errors
    /// In the kernel's words: nothing may be written over then.
    pub fn save(&self, path: &Path, shape: &Shape) -> Result<(), Error> {
        beneath::replace(path, self.text(shape).as_bytes())
            .map_err(|why| Error::new(format!("cannot put {} on the device", path.display()), why))
    }

    /// Where the file of `shape` stands; `None` where nothing is kept at `path`.
    ///
    /// # Errors
    /// Why what is kept there does not serve.
    pub fn load(path: &Path, shape: &Shape) -> Result<Option<StreamState>, String> {
        let failed = |why: std::io::Error| format!("cannot read {}: {why}", path.display());
        let file = match beneath::open_file(path, OFlags::RDONLY) {
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let mut text = String::new();
        file.take(STATE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
        StreamState::parse(&text, shape).map(Some)
    }
}

impl Shape {
    fn text(&self) -> String {
        format!(
            "campaign {:016x}\nstream {}\nfile-bytes {}\npiece-bytes {}\nblock-bytes {}\n\
             checksum {}\nrewrite-share {}\n",
            self.campaign,
            self.stream,
            self.file_bytes,
            self.piece_bytes,
            self.block_bytes,
            self.checksum.name(),
            self.share
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> Shape {
        Shape {
            campaign: 0xab,
            stream: 3,
            file_bytes: 1 << 20,
            piece_bytes: 65536,
            block_bytes: 4096,
            checksum: Checksum::Crc32c,
            share: 0.25,
        }
    }

    fn rewrites() -> Rewrites {
        Rewrites::new(9, 0.25)
    }

    fn wrong(offset: u64, generation: u64) -> FaultyBlock {
        FaultyBlock { offset, generation, unreadable: false }
    }

    /// After so many generations.
    fn after(generations: u64) -> StreamState {
        let mut state = StreamState::fresh("boot");
        for _ in 0..generations {
            state.open();
            state.written_through(&rewrites(), 65536);
        }
        state
    }

    #[test]
    fn a_state_survives_its_text_and_says_nothing_of_another_file() {
        let mut state = after(3);
        state.open();
        state.leave(7);
        assert!(state.is_new(wrong(4096, 2), 11) && !state.is_new(wrong(4096, 2), 12));
        assert!(state.is_new(FaultyBlock { unreadable: true, ..wrong(4096, 2) }, 12));
        let text = state.text(&shape());
        assert_eq!(StreamState::parse(&text, &shape()), Ok(state));
        for other in [
            Shape { campaign: 0xac, ..shape() },
            Shape { stream: 2, ..shape() },
            Shape { file_bytes: 2 << 20, ..shape() },
            Shape { block_bytes: 512, ..shape() },
            Shape { checksum: Checksum::Md5, ..shape() },
            Shape { share: 0.5, ..shape() },
        ] {
            assert_eq!(
                StreamState::parse(&text, &other).unwrap_err(),
                "it is of a file of another shape"
            );
        }
    }

    #[test]
    fn a_text_that_is_cut_anywhere_is_refused() {
        let mut state = after(2);
        state.is_new(wrong(8192, 1), 5);
        let text = state.text(&shape());
        for end in 0..text.len() {
            assert!(StreamState::parse(&text[..end], &shape()).is_err(), "{end}");
        }
        assert!(
            StreamState::parse(&text.replace("phase sequential", "phase x"), &shape()).is_err()
        );
        let none = StreamState::fresh("boot").text(&shape());
        let lie = none.replace("phase write", "phase random");
        assert!(
            StreamState::parse(&lie, &shape()).is_err(),
            "nothing was written that could be read"
        );
    }

    #[test]
    fn a_round_is_a_writing_a_reading_in_order_and_one_at_random() {
        let mut state = StreamState::fresh("boot");
        assert_eq!(state.phase, IntegrityPhase::Write);
        state.open();
        state.written_through(&rewrites(), 65536);
        assert_eq!((state.phase, state.complete), (IntegrityPhase::Sequential, 1));
        assert!(!state.read_through());
        assert_eq!(state.phase, IntegrityPhase::Random);
        assert!(state.read_through(), "a round is over");
        assert_eq!((state.phase, state.begun), (IntegrityPhase::Write, None));
    }

    /// The states that a crash, or the end of a trial, leaves: before the first write, in the
    /// middle, after the flush but before that was noted.
    #[test]
    fn a_crash_leaves_either_generation_only_where_it_may_have_written() {
        let (rewrites, mut state) = (rewrites(), after(3));
        let chosen: Vec<u64> = (0..64).filter(|piece| rewrites.chooses(3, *piece)).collect();
        assert!(chosen.len() > 6);
        for piece in 0..64 {
            let due = ExpectedGeneration::Exactly(rewrites.expected(2, piece));
            assert_eq!(state.expected(&rewrites, piece), due);
        }
        state.open();
        state.leave(chosen[3]);
        for piece in 0..64 {
            let new = chosen[..3].contains(&piece);
            let due = if new { 3 } else { rewrites.expected(2, piece) };
            assert_eq!(
                state.expected(&rewrites, piece),
                ExpectedGeneration::Exactly(due),
                "{piece}"
            );
        }
        state.open();
        for piece in 0..64 {
            let older = rewrites.expected(2, piece);
            let due = match chosen.iter().position(|it| *it == piece) {
                Some(0..3) => ExpectedGeneration::Exactly(3),
                Some(_) => ExpectedGeneration::Either(older, 3),
                None => ExpectedGeneration::Exactly(older),
            };
            assert_eq!(state.expected(&rewrites, piece), due, "{piece}");
        }
    }

    #[test]
    fn what_was_written_before_a_crash_or_a_boot_is_read_before_it_is_written_over() {
        let mut calm = after(2);
        calm.read_through();
        calm.next = 5;
        let mut same = calm.clone();
        same.take_up("boot", 1);
        assert_eq!(same, calm, "the next trial of a boot goes on where the last one stopped");
        let mut booted = calm.clone();
        booted.take_up("another", 1);
        assert_eq!(
            (booted.phase, booted.next, booted.begun),
            (IntegrityPhase::Sequential, 0, None)
        );
        let mut crashed = after(2);
        crashed.phase = IntegrityPhase::Write;
        crashed.open();
        let begun = crashed.begun;
        crashed.take_up("boot", 1);
        assert_eq!((crashed.phase, crashed.begun), (IntegrityPhase::Sequential, begun));
        assert!(!crashed.read_through());
        assert_eq!(crashed.phase, IntegrityPhase::Write, "and is then written to its end");
        let mut first = StreamState::fresh("boot");
        first.open();
        first.take_up("another", 1);
        assert_eq!(first.phase, IntegrityPhase::Write, "there is nothing to read yet");
    }

    #[test]
    fn a_wrong_block_is_new_once_until_it_is_written_over_or_its_trial_is_run_again() {
        let mut state = after(1);
        let (one, two) = (wrong(0, 0), wrong(65536, 0));
        assert!(state.is_new(one, 5) && state.is_new(two, 6) && !state.is_new(one, 6));
        state.take_up("boot", 6);
        assert!(!state.is_new(one, 6) && state.is_new(two, 6));
        let rewrites = rewrites();
        while rewrites.expected(state.complete - 1, 0) == 0 {
            state.open();
            state.written_through(&rewrites, 65536);
        }
        assert!(!state.known.contains_key(&one));
    }
}
