//! (pure) Findings that cannot both be true are not both said.
//!
//! A finding that compares trials says so for a machine too ([`Assertion`]), and [`EXCLUSIONS`] is
//! the matrix: which assertions of which questions exclude each other, and over which trials. Where
//! two do, the one that rests on less becomes "not decided" ([`reconciled`]).
//!
//! Not in the matrix: `best`, which counts the runs that there were and claims nothing of others;
//! `effects`, whose averages over all other knobs may well differ from one curve among them; and
//! `durability`, whose two figures are of the same trial, so that what makes trials differ changes
//! neither against the other.

use std::collections::{BTreeMap, BTreeSet};

use self::Asserts::{Apart, More, NoMore, Same};
use self::Meeting::{Both, Within};
use super::assertion::{Assertion, Asserts};
use super::{Finding, bottleneck};

/// Over which trials two assertions meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// They have a trial in common, and one that it is held against.
    Both,
    /// All trials of the first are among those of the second.
    Within,
}

/// Two assertions that exclude each other.
#[derive(Clone, Copy, Debug)]
pub struct Exclusion {
    /// Question and assertion of the one.
    pub one: (&'static str, Asserts),
    /// Of the other.
    pub other: (&'static str, Asserts),
    /// Where they do.
    pub meeting: Meeting,
}

const fn exclusion(
    one: (&'static str, Asserts),
    other: (&'static str, Asserts),
    meeting: Meeting,
) -> Exclusion {
    Exclusion { one, other, meeting }
}

/// The matrix. To get more is excluded by getting no more, whichever question says it; and sameness
/// by replicates that lie too far apart to show it.
pub const EXCLUSIONS: &[Exclusion] = &[
    exclusion(("scaling", NoMore), ("scaling", More), Both),
    exclusion(("scaling", NoMore), ("bottleneck", More), Both),
    exclusion(("scaling", NoMore), ("noise", Apart), Within),
    exclusion(("scaling", More), ("bottleneck", NoMore), Both),
    exclusion(("depth", NoMore), ("depth", More), Both),
    exclusion(("depth", NoMore), ("bottleneck", More), Both),
    exclusion(("depth", NoMore), ("noise", Apart), Within),
    exclusion(("depth", More), ("bottleneck", NoMore), Both),
    exclusion(("disks", NoMore), ("disks", More), Both),
    exclusion(("disks", NoMore), ("noise", Apart), Within),
    exclusion(("bottleneck", NoMore), ("bottleneck", More), Both),
    exclusion(("bottleneck", NoMore), ("noise", Apart), Within),
    exclusion(("cache", Same), ("noise", Apart), Within),
    exclusion(("block-size", NoMore), ("noise", Apart), Within),
];

impl Exclusion {
    fn holds(&self, one: (&str, &Assertion), other: (&str, &Assertion)) -> bool {
        let is = |of: (&str, Asserts), it: (&str, &Assertion)| of == (it.0, it.1.says);
        let (a, b) = (one.1, other.1);
        is(self.one, one)
            && is(self.other, other)
            && match self.meeting {
                Both => shared(&a.of, &b.of) && shared(&a.against, &b.against),
                Within => {
                    a.of.iter().chain(&a.against).all(|trial| b.of.binary_search(trial).is_ok())
                }
            }
    }
}

fn shared(one: &[u32], other: &[u32]) -> bool {
    one.iter().any(|trial| other.binary_search(trial).is_ok())
}

/// Two findings that exclude each other: their places, and those of the assertions in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The finding and its assertion.
    pub one: (usize, usize),
    /// The other and its.
    pub other: (usize, usize),
}

/// All pairs of findings that cannot both be true.
pub fn contradictions(findings: &[Finding]) -> Vec<Contradiction> {
    let stated = || {
        findings.iter().enumerate().flat_map(|(place, finding)| {
            let all = finding.assertions.iter().enumerate();
            all.map(move |(number, it)| ((place, number), (finding.question, it)))
        })
    };
    let mut found = Vec::new();
    for (one, first) in stated() {
        let rows: Vec<&Exclusion> =
            EXCLUSIONS.iter().filter(|row| row.one == (first.0, first.1.says)).collect();
        if rows.is_empty() {
            continue;
        }
        for (other, second) in stated() {
            let holds = rows.iter().any(|row| row.holds(first, second));
            if holds && one.0 != other.0 {
                found.push(Contradiction { one, other });
            }
        }
    }
    found
}

/// The findings without contradictions: of two that exclude each other the one whose figures speak
/// less clearly for it is told as not decided. Of a finding on several cells that is so of those
/// cells alone that are spoken against; and what leans on a finding goes with it.
pub fn reconciled(mut findings: Vec<Finding>) -> Vec<Finding> {
    loop {
        let yielding = yielding(&findings);
        if yielding.is_empty() {
            return findings;
        }
        // Each round takes one assertion away at least, so it ends. From the last on: one finding
        // may become two.
        for (place, yields) in yielding.into_iter().rev() {
            undecide(&mut findings, place, &yields);
        }
    }
}

/// What of a finding is spoken against.
struct Yields {
    /// The places of its assertions.
    assertions: BTreeSet<usize>,
    /// The question that says otherwise.
    against: &'static str,
}

/// Which findings yield in one round, by their places.
fn yielding(findings: &[Finding]) -> BTreeMap<usize, Yields> {
    let mut all: BTreeMap<usize, Yields> = BTreeMap::new();
    for Contradiction { one, other } in contradictions(findings) {
        let chance = |of: (usize, usize)| findings[of.0].assertions[of.1].chance;
        let (yields, stays) = match chance(one) >= chance(other) {
            true => (one, other),
            false => (other, one),
        };
        // What yields itself may not speak against others.
        if all.contains_key(&stays.0) {
            continue;
        }
        let against = findings[stays.0].question;
        let none = || Yields { assertions: BTreeSet::new(), against };
        let known = all.entry(yields.0).or_insert_with(none);
        if known.against == against {
            known.assertions.insert(yields.1);
        }
    }
    all
}

/// Makes a finding say that nothing is decided of what yields, and those that lean on it.
fn undecide(findings: &mut Vec<Finding>, place: usize, yields: &Yields) {
    let why = match yields.against {
        "noise" => "replicates lie too far apart to tell".to_owned(),
        other => format!("the finding on `{other}` speaks against these figures"),
    };
    if let Some((stays, leaves)) = bottleneck::split(&findings[place], &yields.assertions) {
        let subject = leaves.assertions.first().map(|it| it.subject.clone());
        findings[place] = stays;
        findings.insert(place + 1, not_decided(leaves, &subject.unwrap_or_default(), &why));
        return;
    }
    let assertions = &findings[place].assertions;
    let mut told = yields.assertions.iter().filter_map(|number| assertions.get(*number));
    let subject = told.next().map_or_else(String::new, |it| it.subject.clone());
    let (question, evidence) = (findings[place].question, findings[place].evidence.clone());
    for (number, finding) in findings.iter_mut().enumerate() {
        let leans = finding.question == question && finding.evidence == evidence;
        let subject = match finding.leans.take_if(|_| leans) {
            _ if number == place => subject.clone(),
            Some(subject) => subject,
            None => continue,
        };
        *finding = not_decided(finding.clone(), &subject, &why);
    }
}

/// The finding, when nothing is decided of `subject`.
fn not_decided(finding: Finding, subject: &str, why: &str) -> Finding {
    Finding {
        claim: format!("{subject} is not decided: {why}."),
        limit: finding.limit.as_ref().map(|_| "unknown".to_owned()),
        ..Finding::info(finding.question, String::new(), finding.evidence)
    }
    .left_open(true)
    .advise("run more replicates: --replicates 6")
}

#[cfg(test)]
mod tests;
