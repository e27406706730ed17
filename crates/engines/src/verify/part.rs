//! What is kept of a verification: a part for each reading, told again and again until it is over,
//! so that a kill takes at most what came in the last seconds.

use std::collections::BTreeMap;

use super::ground::ReadingEvidence;
use super::shared::VerificationContext;
use experiment::knob::Settings;
use experiment::measurement::integrity::Fault;
use experiment::measurement::verified::outcome::Verification;
use experiment::measurement::verified::{PASSES_MAX, ProblemKind, StoredProblem, outcome};
use experiment::measurement::{Integrity, Measurement, Verified};
use facts::counters::errors::Counted;
use host::sys::clock::monotonic_ns;

/// What was found new is told after so long.
const FOUND_NS: u64 = 1_000_000_000;
/// How far it is, where nothing was found.
const FAR_NS: u64 = 10_000_000_000;

/// What one reading came to, or has come to so far.
#[derive(Debug)]
pub struct VerificationPart {
    /// 1 for the first.
    pub number: u32,
    /// How it was read.
    pub settings: Settings,
    /// All that was counted and found.
    pub measurement: Measurement,
}

/// The reading that is on its way, and what there was before it.
#[derive(Debug)]
pub struct OngoingReading {
    number: u32,
    began_ns: u64,
    began_unix_ns: u64,
    first_pass: u64,
    passes: u64,
    pass_ns: Vec<u64>,
    pass_began_ns: u64,
    before: Integrity,
    faults: usize,
    problems: usize,
    counts: BTreeMap<ProblemKind, u64>,
    told_ns: u64,
    told_found: u64,
    /// Counters of errors, once the reading is over.
    counted: Vec<Counted>,
    uncounted: Vec<String>,
}

impl OngoingReading {
    /// The first reading: problems that were met while files were looked for are its own.
    pub fn first(unix_ns: u64) -> OngoingReading {
        let now = monotonic_ns();
        OngoingReading {
            number: 1,
            began_ns: now,
            began_unix_ns: unix_ns,
            first_pass: 1,
            passes: 0,
            pass_ns: Vec::new(),
            pass_began_ns: now,
            before: Integrity::default(),
            faults: 0,
            problems: 0,
            counts: BTreeMap::new(),
            told_ns: 0,
            told_found: 0,
            counted: Vec::new(),
            uncounted: Vec::new(),
        }
    }

    /// The one after it, from the pass `first_pass` on.
    pub fn next(
        &self,
        unix_ns: u64,
        first_pass: u64,
        shared: &VerificationContext,
    ) -> OngoingReading {
        let tally = shared.tally();
        let mut before = tally.integrity.clone();
        before.faults = Vec::new();
        OngoingReading {
            number: self.number + 1,
            first_pass,
            before,
            faults: tally.integrity.faults.len(),
            problems: tally.problems.len(),
            counts: tally.counts.clone(),
            told_ns: monotonic_ns(),
            told_found: found(&tally.integrity, &tally.counts),
            ..OngoingReading::first(unix_ns)
        }
    }

    /// What the machine counted of errors during it.
    pub fn count_errors(&mut self, counted: Vec<Counted>, uncounted: Vec<String>) {
        (self.counted, self.uncounted) = (counted, uncounted);
    }

    /// A pass begins.
    pub fn begin_pass(&mut self) {
        self.pass_began_ns = monotonic_ns();
        self.passes += 1;
    }

    /// And ends.
    pub fn end_pass(&mut self) {
        if self.pass_ns.len() < PASSES_MAX {
            self.pass_ns.push(monotonic_ns().saturating_sub(self.pass_began_ns));
        }
    }

    /// Whether it is time to tell: at once at first, soon where something was found, seldom else.
    pub fn is_due(&self, shared: &VerificationContext) -> bool {
        let since_ns = monotonic_ns().saturating_sub(self.told_ns);
        let tally = shared.tally();
        since_ns >= FAR_NS
            || since_ns >= FOUND_NS && found(&tally.integrity, &tally.counts) > self.told_found
    }

    /// What it has come to so far; `outcome` knows what is asked of the whole.
    pub fn part(
        &mut self,
        ground: &mut ReadingEvidence,
        shared: &VerificationContext,
        outcome: &Verification,
        over: bool,
    ) -> VerificationPart {
        let (did, checked_bytes, compared_bytes) = shared.done();
        let (mut measurement, settings) = ground.measured(did);
        measurement.started_unix_ns = self.began_unix_ns;
        measurement.elapsed_ns = monotonic_ns().saturating_sub(self.began_ns);
        let mut verified = self.verified(outcome, over);
        (verified.files_read, verified.files_wrong) = shared.files_so_far();
        verified.interrupted = shared.stop.asked();
        if !over {
            verified.pass_ns.push(monotonic_ns().saturating_sub(self.pass_began_ns));
            verified.pass_ns.truncate(PASSES_MAX);
        }
        let tally = shared.tally();
        self.told_ns = monotonic_ns();
        self.told_found = found(&tally.integrity, &tally.counts);
        let mut integrity = self.since(&tally.integrity, shared.started_ns);
        integrity.checked_bytes = checked_bytes;
        integrity.unheld_bytes = checked_bytes.saturating_sub(compared_bytes);
        let problem = |problem: &outcome::FileProblem| StoredProblem {
            path: problem.file.clone(),
            kind: problem.kind.name().to_owned(),
            why: problem.what.clone(),
        };
        verified.problems = tally.problems.iter().skip(self.problems).map(problem).collect();
        for (kind, count) in &tally.counts {
            let new = count - self.counts.get(kind).copied().unwrap_or(0);
            if new > 0 {
                verified.problem_counts.insert(kind.name().to_owned(), new);
            }
        }
        (integrity.counted, integrity.uncounted) = (self.counted.clone(), self.uncounted.clone());
        measurement.notes = integrity.notes();
        measurement.notes.extend(integrity.note_of_counters());
        measurement.integrity = Some(integrity);
        measurement.verified = Some(verified);
        VerificationPart { number: self.number, settings, measurement }
    }

    fn verified(&self, outcome: &Verification, over: bool) -> Verified {
        Verified {
            against: outcome.list.clone(),
            first_pass: self.first_pass,
            passes: self.passes,
            pass_ns: self.pass_ns.clone(),
            over,
            files: outcome.files,
            ..Verified::default()
        }
    }

    /// What was found since this reading began, in times of its own.
    fn since(&self, now: &Integrity, started_ns: u64) -> Integrity {
        let before = &self.before;
        let mut wrong = now.wrong.clone();
        for (kind, count) in &before.wrong {
            wrong.entry(kind.clone()).and_modify(|all| *all -= count);
        }
        wrong.retain(|_, count| *count > 0);
        let early_ns = self.began_ns.saturating_sub(started_ns);
        let of_ours =
            |fault: &Fault| Fault { at_ns: fault.at_ns.saturating_sub(early_ns), ..fault.clone() };
        let faults = now.faults.iter().skip(self.faults).map(of_ours);
        Integrity {
            checksum: now.checksum.clone(),
            block_bytes: now.block_bytes,
            unreadable_bytes: now.unreadable_bytes - before.unreadable_bytes,
            unreadable: now.unreadable - before.unreadable,
            again: now.again - before.again,
            wrong,
            faults: faults.collect(),
            ..Integrity::default()
        }
    }
}

/// Grows whenever something was found.
fn found(integrity: &Integrity, counts: &BTreeMap<ProblemKind, u64>) -> u64 {
    integrity.wrong_blocks() + integrity.unreadable + integrity.again + counts.values().sum::<u64>()
}
