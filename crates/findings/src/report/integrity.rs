//! (pure) What formats show of integrity: what was checked, the two rates, each fault, and what the
//! drives count themselves. Rates and claims are `analysis::integrity`'s.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Input;
use crate::analysis::integrity::pool::UNREADABLE;
use crate::analysis::integrity::{
    self, ErrorRate, Pool, Promise, PromiseStatus, above, below, bits,
};
use base::value;
use experiment::measurement::Verified;
use experiment::measurement::integrity::{Fault, Integrity, Lasting};
use experiment::measurement::verified::StoredProblem;
use facts::counters::errors::DRIVES;

/// Faults of which the excerpt is shown.
pub const DUMPS_MAX: usize = 20;

/// Problems that are shown one by one.
pub const PROBLEMS_MAX: usize = 40;

/// Passes of which each time is shown.
const PASSES_SHOWN: usize = 8;

/// Everything of integrity that a format shows.
pub struct IntegritySheet<'a> {
    /// What, and what is known of it.
    pub facts: Vec<(String, String)>,
    /// Faults that were kept, in the order of the trials, with the numbers of these.
    pub faults: Vec<(u32, &'a Fault)>,
    /// Faults that were counted and not kept, or seen again.
    pub not_kept: u64,
    /// What the machine counted of errors in each trial, by its number, where that was read.
    pub counted: BTreeMap<u32, String>,
    /// What was the matter with files but for their bytes, in the order of the trials.
    pub problems: Vec<&'a StoredProblem>,
    /// Problems that were counted and not kept.
    pub problems_not_kept: u64,
    /// Drives under the files that were checked.
    pub drives: Vec<Drive<'a>>,
}

/// What a drive counts itself.
pub struct Drive<'a> {
    /// The kernel's name.
    pub name: &'a str,
    /// Who said so: `smartctl`.
    pub source: &'a str,
    /// Each counter that it has, by its name.
    pub counts: Vec<(&'static str, u64)>,
}

/// All of it; `None` when nothing was checked.
pub fn sheet<'a>(input: &'a Input<'_>) -> Option<IntegritySheet<'a>> {
    let pool = Pool::from_records(input.records);
    let verified = verified(input);
    if pool.is_none() && verified.is_empty() {
        return None;
    }
    let mut facts = passes(&verified);
    facts.extend(pool.iter().flat_map(self::facts));
    let problems: Vec<&StoredProblem> = verified.iter().flat_map(|of| &of.problems).collect();
    let all: u64 = verified.iter().flat_map(|of| of.problem_counts.values()).sum();
    let problems_not_kept = all.saturating_sub(problems.len() as u64);
    let (mut faults, mut counted, mut found) = (Vec::new(), BTreeMap::new(), 0);
    let mut of_trials = Vec::new();
    for record in input.records {
        let measurement = record.outcome.measurement();
        let Some(of) = measurement.and_then(|measurement| measurement.integrity.as_ref()) else {
            continue;
        };
        found += of.wrong_blocks() + of.unreadable;
        let number = record.trial.number;
        faults.extend(of.faults.iter().map(|fault| (number, fault)));
        counted.extend(of.counters_told("during this trial").map(|words| (number, words)));
        of_trials.push((number, of));
    }
    let not_kept = found.saturating_sub(faults.len() as u64);
    facts.extend(counters(&of_trials));
    let drives = drives(input);
    Some(IntegritySheet { facts, faults, not_kept, counted, problems, problems_not_kept, drives })
}

/// What the counters of errors did in all trials, and which could not be read.
fn counters(of_trials: &[(u32, &Integrity)]) -> Vec<(String, String)> {
    /// More than this is in the records.
    const TOLD_MAX: usize = 6;
    let mut facts = Vec::new();
    let mut known = BTreeSet::new();
    let mut grown = Vec::new();
    for (number, of) in of_trials {
        let both = of.counted.iter().filter(|counted| counted.is_known());
        known.extend(both.map(|counted| (&counted.of, &counted.what)));
        grown.extend(of.grown().into_iter().map(|counted| format!("trial {number}: {counted}")));
    }
    let told = |all: &[String]| {
        let some = all.iter().take(TOLD_MAX).cloned().collect::<Vec<_>>().join("; ");
        match all.len().saturating_sub(TOLD_MAX) {
            0 => some,
            more => format!("{some}; and {more} more"),
        }
    };
    if !known.is_empty() {
        let words = match grown.is_empty() {
            true if known.len() == 1 => {
                "quiet: the one that is there did not grow in these trials".to_owned()
            }
            true => format!("quiet: none of {} grew in these trials", known.len()),
            false => format!("{}; whatever ran at that time is counted", told(&grown)),
        };
        facts.push(("error counters".to_owned(), words));
    }
    let unread: BTreeSet<&String> = of_trials.iter().flat_map(|(_, of)| &of.uncounted).collect();
    let unread: Vec<String> = unread.into_iter().cloned().collect();
    if !unread.is_empty() {
        facts.push(("error counters not read".to_owned(), told(&unread)));
    }
    facts
}

/// What verifications of a user's own files went through, in the order of the trials.
fn verified<'a>(input: &'a Input<'_>) -> Vec<&'a Verified> {
    let measurements = input.records.iter().filter_map(|record| record.outcome.measurement());
    measurements.filter_map(|measurement| measurement.verified.as_ref()).collect()
}

/// Files, passes and problems of verifications; nothing of other trials.
fn passes(verified: &[&Verified]) -> Vec<(String, String)> {
    let Some(last) = verified.last() else { return Vec::new() };
    let mut facts = Vec::new();
    let mut fact = |what: &str, told: String| facts.push((what.to_owned(), told));
    fact("held against", last.against.clone().unwrap_or_else(|| "the first reading".to_owned()));
    let most = |of: fn(&Verified) -> u64| verified.iter().map(|one| of(one)).max().unwrap_or(0);
    fact(
        "files",
        format!(
            "{} asked for, {} read whole, {} wrong",
            value::count(last.files),
            value::count(most(|one| one.files_read)),
            value::count(most(|one| one.files_wrong)),
        ),
    );
    let all: u64 = verified.iter().map(|one| one.passes).sum();
    let times: Vec<u64> = verified.iter().flat_map(|one| one.pass_ns.iter().copied()).collect();
    let lasted = |ns: u64| value::duration(ns as f64);
    let shown = times.iter().take(PASSES_SHOWN).map(|ns| lasted(*ns)).collect::<Vec<_>>();
    let long = match (times.iter().min(), times.iter().max()) {
        (Some(least), Some(most)) if times.len() > PASSES_SHOWN => {
            format!(", of {} to {}", lasted(*least), lasted(*most))
        }
        (Some(_), _) => format!(", of {}", shown.join(", ")),
        _ => String::new(),
    };
    let end = match (last.over, last.interrupted) {
        (false, _) => "; the last was not over when it was kept: it was killed, or still runs",
        (true, true) => "; the user stopped the last",
        (true, false) => "",
    };
    fact("passes", format!("{}{long}{end}", value::count(all)));
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for (kind, count) in verified.iter().flat_map(|one| &one.problem_counts) {
        *kinds.entry(kind).or_default() += count;
    }
    if !kinds.is_empty() {
        let kinds: Vec<String> =
            kinds.iter().map(|(kind, count)| format!("{} {kind}", value::count(*count))).collect();
        fact("other problems of files", kinds.join(", "));
    }
    facts.extend(last.facts.iter().cloned());
    facts
}

fn facts(pool: &Pool) -> Vec<(String, String)> {
    let mut facts = vec![("checked".to_owned(), checked(pool))];
    let mut fact = |what: &str, told: String| facts.push((what.to_owned(), told));
    fact(
        "from the device",
        match pool.device.bits {
            none if none <= 0.0 => "nothing surely: no rate of the device can be told".to_owned(),
            some => bits(some),
        },
    );
    if let Some(rate) = pool.silent() {
        let blocks = (pool.device.blocks > 0).then_some(pool.device.blocks);
        fact("silently wrong blocks", rate_told(&rate, blocks));
    }
    if let Some(rate) = pool.lost() {
        fact("unreadable places", rate_told(&rate, None));
    }
    for promise in pool.promises() {
        let told = promised(&promise, pool.device.unreadable);
        fact(&format!("promise of {:.0e} per bit", promise.per_bit), told);
    }
    for (verdict, part) in &pool.apart {
        fact(&format!("origin {}", verdict.name()), integrity::apart(*verdict, part));
    }
    let listed = |words: Vec<String>| words.join(", ");
    if !pool.kinds.is_empty() {
        let kinds = pool.kinds.iter().map(|(kind, count)| format!("{count} {kind}"));
        fact("kinds of wrong blocks", listed(kinds.collect()));
    }
    if !pool.lasting.is_empty() {
        let lasting = pool.lasting.iter().map(|(word, count)| format!("{count} {word}"));
        fact("when read again", listed(lasting.collect()));
    }
    if pool.again > 0 {
        fact("met again later", format!("{} times, which are no new events", pool.again));
    }
    facts
}

fn checked(pool: &Pool) -> String {
    let elapsed = pool
        .apart
        .iter()
        .fold(pool.device.elapsed_ns, |sum, (_, part)| sum.saturating_add(part.elapsed_ns));
    let by: Vec<String> =
        pool.by.iter().map(|(checksum, block)| method(checksum, *block)).collect();
    let (bytes, trials) = (pool.checked_bytes as f64, pool.trials.len());
    let trials = match trials {
        1 => "1 trial".to_owned(),
        many => format!("{many} trials, together"),
    };
    format!(
        "{} ({}) in {trials} of {}, by {}",
        value::bytes(bytes),
        bits(8.0 * bytes),
        value::duration(elapsed as f64),
        by.join(", ")
    )
}

fn promised(promise: &Promise, events: u64) -> String {
    match promise.standing {
        PromiseStatus::Kept => "kept: the rate of unreadable places is lower (95 %)".to_owned(),
        PromiseStatus::Broken => {
            "not kept: the rate of unreadable places is higher (95 %)".to_owned()
        }
        PromiseStatus::Open => {
            let time = |hours| format!(", {} at this pace", integrity::long_time(hours));
            let time = promise.hours_more.map(time).unwrap_or_default();
            let (needed, more) = (bits(promise.bits_needed), bits(promise.bits_more));
            match events {
                0 => format!("open: without an error {needed} show it, {more} more{time}"),
                _ => format!(
                    "open: {more} more without a further error would show it{time}; without any it \
                     takes {needed}"
                ),
            }
        }
    }
}

fn method(checksum: &str, block_bytes: u64) -> String {
    let checksum = if checksum.is_empty() { "comparison" } else { checksum };
    match block_bytes {
        0 => checksum.to_owned(),
        size => format!("{checksum} of blocks of {}", value::setting(&value::Value::Bytes(size))),
    }
}

fn rate_told(rate: &ErrorRate, blocks: Option<u64>) -> String {
    let of = blocks.map(|blocks| format!(" of {}", value::count(blocks))).unwrap_or_default();
    let bound = above(rate.below_per_bit);
    let most = read(rate.below_per_bit);
    match rate.events {
        0 => format!(
            "none{of}; at 95 % the rate is below {bound} per bit, or one in {most} that are read"
        ),
        events => format!(
            "{}{of}: {:.2e} per bit, or one in {} that are read; 95 % interval {} to {}; at 95 % \
             below {bound}, or one in {most}",
            value::count(events),
            rate.per_bit,
            read(rate.per_bit),
            below(rate.low_per_bit),
            above(rate.high_per_bit),
        ),
    }
}

/// How much is read for one event, as disks are sold: `3.00 TB`.
fn read(per_bit: f64) -> String {
    let bytes = 1.0 / per_bit / 8.0;
    let units = [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB")];
    let (size, unit) = units.into_iter().find(|(size, _)| bytes >= *size).unwrap_or((1e3, "kB"));
    format!("{} {unit}", value::significant(bytes / size))
}

/// Of each disk under the files that were checked, what it counted when the campaign began.
fn drives<'a>(input: &'a Input<'_>) -> Vec<Drive<'a>> {
    let of_checked = |name: &str| {
        input.records.iter().filter_map(|record| record.outcome.measurement()).any(|measurement| {
            let evidence = &measurement.evidence;
            let mut disks = evidence.disks.iter().chain(&evidence.backing);
            measurement.integrity.is_some() && disks.any(|disk| disk == name)
        })
    };
    let drives = input.campaign.inventory.pointer("/server/drives").and_then(Value::as_array);
    let told = drives.into_iter().flatten().filter_map(|drive| {
        let name = drive.get("name")?.as_str()?;
        let health = drive.get("health")?;
        let counts =
            DRIVES.iter().filter_map(|(key, word)| Some((*word, health.get(key)?.as_u64()?)));
        let counts: Vec<(&str, u64)> = counts.collect();
        let source = health.get("source").and_then(Value::as_str).unwrap_or("unknown");
        (!counts.is_empty() && of_checked(name)).then_some(Drive { name, source, counts })
    });
    told.collect()
}

/// What it gave when read again: `same request: right; around the page cache: same wrong`, or
/// `right, 3 times`.
pub fn rereads(fault: &Fault) -> String {
    let gave = |text: &str| match text {
        "same-wrong" => "the same wrong".to_owned(),
        "other-wrong" => "wrong in another way".to_owned(),
        other => other.to_owned(),
    };
    if let [first, second, others @ ..] = fault.rereads.as_slice()
        && others.iter().chain([second]).all(|reread| reread.gave == first.gave)
    {
        return format!("{}, {} times", gave(&first.gave), fault.rereads.len());
    }
    let told = fault.rereads.iter().map(|reread| {
        let how = match reread.how.as_str() {
            "same" => "same request",
            "direct" => "around the page cache",
            "other-size" => "another size",
            other => other,
        };
        format!("{how}: {}", gave(&reread.gave))
    });
    told.collect::<Vec<_>>().join("; ")
}

/// What follows from that, in words.
pub fn lasting(fault: &Fault) -> &'static str {
    if fault.lasting == Lasting::Persistent && fault.kind == UNREADABLE {
        return "persistent: not to be read around the page cache either";
    }
    match fault.lasting {
        Lasting::Unknown => "not known whether it lasts",
        Lasting::Transient => "transient: right when read again",
        Lasting::InMemory => "in memory only: right around the page cache",
        Lasting::Persistent => "persistent: wrong around the page cache too",
    }
}

/// When the drives' counters were read.
pub const DRIVES_WHEN: &str = "Counted by the drives themselves, over their lives, as read when \
                               the campaign began; what came in the trials is told above.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn a_campaign_that_checked_nothing_has_no_sheet() {
        let fixture = fixture::evaluated();
        assert!(sheet(&fixture.input()).is_none());
    }

    #[test]
    fn facts_faults_and_the_drives_under_them_are_there() {
        let (campaign, records) = fixture::damaged();
        let input = Input::new(&campaign, &records);
        let sheet = sheet(&input).unwrap();
        let fact = |name: &str| {
            let found = sheet.facts.iter().find(|(what, _)| what.starts_with(name));
            found.map_or("", |(_, told)| told.as_str())
        };
        assert!(fact("checked").contains("crc32c of blocks of 4 KiB"), "{:?}", sheet.facts);
        assert!(fact("silently wrong").starts_with("8 of"), "{:?}", sheet.facts);
        assert!(fact("unreadable").starts_with("2: "), "{:?}", sheet.facts);
        assert!(fact("promise of 1e-15").starts_with("not kept"), "{:?}", sheet.facts);
        assert!(fact("origin cache").contains("no evidence about the device"));
        assert!(fact("met again").starts_with("3 times"), "{:?}", sheet.facts);
        assert_eq!(
            fact("error counters"),
            "trial 1: sda counted 2 more pending sectors (2, then 4; smartctl); whatever ran at \
             that time is counted"
        );
        assert!(fact("error counters not read").starts_with("corrected memory errors"));
        assert!(
            sheet.counted[&1].ends_with("sda counted 2 more pending sectors (2, then 4; smartctl)")
        );
        assert_eq!(sheet.counted[&2], "none of 2 error counters grew during this trial");
        assert!(!sheet.counted.contains_key(&3), "nothing was read there");
        assert_eq!(sheet.drives.len(), 1, "the one under the files");
        assert_eq!(sheet.drives[0].counts, [("reallocated sectors", 8), ("pending sectors", 2)]);
        assert!(sheet.faults.len() >= 10 && sheet.not_kept == 0);
    }

    #[test]
    fn counters_of_which_none_grew_are_quiet_and_none_is_claimed_where_none_was_read() {
        let counted = |before, after| facts::counters::errors::Counted {
            of: "mc0".into(),
            what: "corrected memory errors".into(),
            from: "ce_count".into(),
            before,
            after,
        };
        let mut integrity =
            Integrity { counted: vec![counted(Some(5), None)], ..Default::default() };
        assert!(counters(&[(1, &integrity)]).is_empty());
        assert!(integrity.counters_told("during this trial").is_none());
        // One that fell was begun anew.
        integrity.counted = vec![counted(Some(5), Some(1))];
        let told = counters(&[(1, &integrity), (2, &integrity)]);
        assert_eq!(told[0].1, "quiet: the one that is there did not grow in these trials");
        integrity.counted = (0..9).map(|more| counted(Some(5), Some(6 + more))).collect();
        let told = counters(&[(4, &integrity)]).remove(0).1;
        assert!(told.starts_with("trial 4: mc0 counted 1 more corrected memory error (5, then 6"));
        assert!(told.contains("; and 3 more; whatever ran"), "{told}");
    }

    #[test]
    fn rereads_are_told_in_words() {
        let (_, records) = fixture::damaged();
        let measurement = records[0].outcome.measurement().unwrap();
        let fault = &measurement.integrity.as_ref().unwrap().faults[0];
        assert_eq!(rereads(fault), "right, 3 times");
        assert!(lasting(fault).starts_with("transient"));
        let measurement = records[1].outcome.measurement().unwrap();
        let fault = &measurement.integrity.as_ref().unwrap().faults[2];
        let told =
            "same request: the same wrong; around the page cache: right; another size: right";
        assert_eq!(rereads(fault), told);
        assert_eq!(rereads(&Fault::default()), "");
    }
}
