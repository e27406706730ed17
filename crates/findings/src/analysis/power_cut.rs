//! What does a power cut lose of what was written here?
//!
//! The verdict is a function of facts: which disks lie below, what caches they have and what the
//! kernel does with their flushes, how the file system is mounted, when the kernel writes back
//! (`power_cut/verdict.rs`, from `power_cut/storage.rs`). Measured times of commits can only raise
//! a suspicion (`power_cut/doubt.rs`). What a check after a real cut found decides. Where a fact is
//! missing nobody knows, and the finding says what to type.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AnalysisInput, Finding, Question, Severity};
use base::value::counted;
use experiment::knob::{self, Settings};
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::figures::standing;
use experiment::measurement::judge::all as notes_of;

mod doubt;
mod storage;
#[cfg(test)]
mod tests;
mod verdict;
mod words;

use doubt::{Commits, doubt};
use storage::KnownStorage;
use verdict::{Fate, PowerCutVerdict, judge};
use words::Written;

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "power-cut",
    about: "What does a power cut lose of what is written here, and how is that known?",
    answer,
};

/// Knobs that decide what lies below a trial, or when it is written back.
const PLACE: &[&str] = &[
    "directories",
    "disks",
    "raid",
    "volumes",
    "filesystem",
    "mount-options",
    "dirty-ratio",
    "dirty-expire",
];

fn answer(asked: &AnalysisInput<'_>) -> Vec<Finding> {
    if let Some(found) = after_a_cut(asked.records) {
        return vec![found];
    }
    let wrote = |record: &&Record| {
        let measurement = record.outcome.measurement();
        let settings = &record.trial.settings;
        // Commits that did not reach the disks have no durable figure, and count no bytes.
        let commits = written(record) != Written::Writes;
        let wrote = measurement.is_some_and(|it| {
            commits || it.durable.is_some() || it.evidence.delivered.write_bytes > 0
        });
        wrote && !record.trial.prepares() && !settings.is_simulated() && !settings.is_network()
    };
    let mut groups: BTreeMap<(String, Written), Vec<&Record>> = BTreeMap::new();
    for record in asked.records.iter().filter(wrote) {
        let settings = &record.trial.settings;
        let named = |name: &&str| settings.named(name).map(ToString::to_string);
        let place: Vec<Option<String>> = PLACE.iter().map(named).collect();
        groups.entry((format!("{place:?}"), written(record))).or_default().push(record);
    }
    if groups.is_empty() {
        return Vec::new();
    }
    let known = KnownStorage::from_inventory(asked.inventory);
    let mut findings: Vec<Finding> = Vec::new();
    for ((_, written), records) in &groups {
        let Some(found) = of_group(&known, *written, records) else { continue };
        match findings.iter_mut().find(|it| it.claim == found.claim) {
            Some(same) => same.evidence.extend(found.evidence),
            None => findings.push(found),
        }
    }
    findings.iter_mut().for_each(|it| it.evidence.sort_unstable());
    findings
}

/// What a trial wrote, and whether it flushed it one by one.
fn written(record: &Record) -> Written {
    let settings = &record.trial.settings;
    match settings.engine() {
        "mail" => Written::Messages,
        "pgbench" => Written::Commits,
        "database" => {
            let noted = |kind: &str| notes_of(record).iter().any(|note| note.kind == kind);
            let (log, flushes) =
                (settings.get(knob::JOURNAL_MODE) == "wal", settings.get(knob::SYNCHRONOUS));
            match (flushes, noted("not-durable")) {
                ("off", _) => Written::LazyCommits,
                ("normal", _) if log => Written::LazyCommits,
                (_, true) => Written::AllButTheLast,
                _ => Written::Commits,
            }
        }
        _ => Written::Writes,
    }
}

/// The verdict on the storage under trials of one place; on the worst of several directories.
fn of_group(known: &KnownStorage, written: Written, records: &[&Record]) -> Option<Finding> {
    let judged = known.storages(records).into_iter().map(|storage| (judge(&storage), storage));
    let (verdict, storage) = judged.reduce(|one, other| {
        let is_worse = other.0.is_worse_than(&one.0);
        if is_worse { other } else { one }
    })?;
    let numbers: Vec<u32> = records.iter().map(|record| record.trial.number).collect();
    let earlier = known.checks_of(&storage.mount_point);
    if let Some(lost) = earlier.iter().find(|check| check.lost_blocks > 0) {
        let claim = format!(
            "A power cut loses writes after fsync: the check of campaign {} found {} lost.",
            lost.campaign,
            counted(lost.lost_blocks, "block")
        );
        let finding = Finding::info(QUESTION.name, claim, numbers);
        return Some(finding.detailed(words::evidence(&storage)).advise(DROPS).warn());
    }
    let verdict = contradicted(verdict, records);
    let commits = commits(records);
    let believed = matches!(verdict.flushed, Fate::Kept { .. });
    let doubted = commits.and_then(|it| Some((doubt(&storage, &it)?, it))).filter(|_| believed);
    let (claim, mut details) = match &doubted {
        Some((doubt, it)) => {
            let (claim, caution) = words::suspicion(doubt, it.commit_ns);
            let otherwise = words::claim(&verdict, written, &storage);
            (claim, vec![caution, format!("else: {}", super::words::lower(&otherwise))])
        }
        None => (words::claim(&verdict, written, &storage), Vec::new()),
    };
    details.extend(words::evidence(&storage));
    details.extend(earlier.iter().map(|check| {
        format!("after a cut the check of campaign {} found nothing lost", check.campaign)
    }));
    let directory = records.first().and_then(|it| it.trial.settings.directories().first());
    let (advice, command) =
        words::next(&verdict, doubted.is_some(), &storage, directory.map(String::as_str));
    let unknown = matches!(verdict.flushed, Fate::Unknown(_));
    let unsent = unknown && storage.no_barriers.is_some();
    let warns = doubted.is_some() || unsent || is_bad(&verdict.flushed);
    let is_open = unknown && !unsent;
    let finding = Finding::info(QUESTION.name, claim, numbers).detailed(details);
    let finding = finding.advise(advice).typing(command).left_open(is_open);
    Some(if warns { finding.warn() } else { finding })
}

/// Whether what was called safe is lost.
fn is_bad(flushed: &Fate) -> bool {
    matches!(flushed, Fate::LostAll | Fate::Lost(..) | Fate::LostWithCache(..))
}

/// What the counts of the trials themselves say against it: commits that were called done, and no
/// flush, or not bytes enough, went to the disks.
fn contradicted(verdict: PowerCutVerdict, records: &[&Record]) -> PowerCutVerdict {
    let noted = |record: &&&Record| {
        notes_of(record).iter().any(|note| note.kind == "commits-not-on-device")
    };
    match records.iter().find(noted) {
        Some(_) if !is_bad(&verdict.flushed) => {
            let why = "fewer flushes or bytes reached the disks than there were commits".to_owned();
            PowerCutVerdict { flushed: Fate::Unknown(why), ..verdict }
        }
        _ => verdict,
    }
}

/// The fastest commits of these trials, and direct writes of the same size to hold them against.
fn commits(records: &[&Record]) -> Option<Commits> {
    let median = |record: &&&Record| {
        let value = standing(record).get(figure_names::LATENCY_P50)?.value;
        Some(value).filter(|ns| *ns > 0.0)
    };
    let least = |all: Vec<f64>| all.into_iter().reduce(f64::min);
    let flushes = |settings: &Settings| match settings.engine() {
        "database" | "pgbench" => true,
        _ => settings.get(knob::FSYNC) == "every" && settings.only_writes(),
    };
    let of = |record: &&&Record| flushes(&record.trial.settings);
    let commit_ns = least(records.iter().filter(of).filter_map(|it| median(&it)).collect())?;
    let sizes: Vec<u64> = records
        .iter()
        .filter(of)
        .filter_map(|record| record.trial.settings.find(knob::BLOCK_SIZE))
        .collect();
    let alone = |record: &&&Record| {
        let settings = &record.trial.settings;
        let one = settings.get(knob::STREAMS) == 1 && settings.get(knob::QUEUE_DEPTH) == 1;
        let same = settings.find(knob::BLOCK_SIZE).is_some_and(|size| sizes.contains(&size));
        one && same
            && settings.get(knob::DIRECT)
            && settings.only_writes()
            && settings.get(knob::FSYNC) != "every"
    };
    let write_ns = least(records.iter().filter(alone).filter_map(|it| median(&it)).collect());
    Some(Commits { commit_ns, write_ns })
}

/// What a check after a cut found of writes that were flushed one by one, with a log elsewhere of
/// those that were acknowledged: in which trial, and how many blocks do not hold what was
/// acknowledged. `None` of any other campaign.
pub fn checked(records: &[Record]) -> Option<(u32, u64)> {
    records.iter().find_map(|record| {
        let measurement = record.outcome.measurement()?;
        let told = &measurement.verified.as_ref()?.facts;
        let of_log = told.iter().any(|(name, _)| name == "acknowledged");
        let integrity = measurement.integrity.as_ref().filter(|_| of_log)?;
        let lost = integrity.wrong.values().sum::<u64>() + integrity.unreadable;
        Some((record.trial.number, lost))
    })
}

/// What such a check says, as the finding of its own campaign.
fn after_a_cut(records: &[Record]) -> Option<Finding> {
    let (number, lost) = checked(records)?;
    let finding = |claim: String| Finding::info(QUESTION.name, claim, vec![number]);
    Some(match lost {
        0 => finding(
            "Nothing that fsync had made safe is lost, if the power was cut. One cut proves little."
                .to_owned(),
        )
        .advise("cut often: n cuts without a loss leave at 95 % up to 3/n in which one may happen"),
        lost => {
            let blocks = counted(lost, "block");
            let claim = format!(
                "A power cut loses writes after fsync: {blocks} that were acknowledged are not \
                 there."
            );
            Finding { severity: Severity::Error, ..finding(claim).advise(DROPS) }
        }
    })
}

/// Where to look for what loses what was flushed.
const DROPS: &str = "look for what drops flushes: the drive's cache, a card's, `nobarrier`";

/// What an earlier check found of a file system, as the inventory of a later campaign keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierCheck {
    /// Its campaign in the same store.
    pub campaign: u64,
    /// Where the file system is mounted.
    pub mount_point: String,
    /// Blocks that did not hold what was acknowledged.
    pub lost_blocks: u64,
}

/// Their name in an inventory.
pub const EARLIER: &str = "flush_tests";
