//! Did every byte come back as it was written, and what do those that were read show?
//!
//! Two rates, as they mean different things: silently wrong blocks, of which nobody promises
//! anything, and places that could not be read, which is what a drive's maker promises to be rarer
//! than one in 10^14, 10^15 or 10^17 bits. Both have exact bounds ([`base::stats::poisson`]), and
//! both count events: the bits of one block do not err independently. Only bits that were read from
//! the device are evidence; what is counted as such is decided in `integrity/pool.rs`.
//!
//! Of when the faults came, and at which temperatures, nothing is claimed: faults come in bursts,
//! as one bad place spoils its neighbours, so that no test which takes them for independent would
//! be right. The report shows them over time.

use std::collections::BTreeMap;

use super::{Finding, Question, Severity};
use base::value::{self, significant};
use experiment::knob::engine::Does;
use experiment::measurement::Record;
use experiment::measurement::origin::Verdict;
use experiment::measurement::verified::ProblemKind;

pub mod pool;
#[cfg(test)]
mod tests;

pub use pool::{CheckedTotals, ErrorRate, Pool, Promise, PromiseStatus};

/// Its line in the table of questions.
pub const QUESTION: Question = Question {
    name: "integrity",
    about: "Did every byte come back as it was written, and how rare are errors at most?",
    answer: |asked| answer(asked.records),
};

fn answer(records: &[Record]) -> Vec<Finding> {
    let mut findings = not_verified(records);
    let Some(pool) = Pool::from_records(records) else { return findings };
    let part = &pool.device;
    let finding = |claim: String, part: &CheckedTotals, wrong: bool| {
        let finding = Finding::info(QUESTION.name, claim, part.trials.clone());
        match wrong {
            true => Finding { severity: Severity::Error, ..finding },
            false => finding,
        }
    };
    if let Some(rate) = pool.silent() {
        let wrong = rate.events > 0;
        let (claim, kinds) = silent(&pool, &rate);
        let told = finding(format!("{claim}."), part, wrong).detailed(kinds);
        findings.push(if wrong { told.advise(advice(&pool)) } else { told });
    }
    if let Some(rate) = pool.lost() {
        let claim = format!("{}.", lost(&rate));
        let told = finding(claim, part, rate.events > 0);
        let told = told.detailed(promised(&pool.promises()));
        findings.push(match rate.events {
            0 => told,
            _ => told.advise("save what is on it, then see `dmesg` and the disk's own health"),
        });
    }
    for (verdict, part) in &pool.apart {
        let wrong = part.wrong + part.unreadable > 0;
        let told = finding(apart(*verdict, part), part, wrong);
        let nothing_else = pool.device.bits <= 0.0;
        findings.push(if !wrong && nothing_else { told.warn() } else { told });
    }
    findings
}

/// Files that were asked for and could not be verified, whatever their bytes are.
fn not_verified(records: &[Record]) -> Vec<Finding> {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    let mut trials = Vec::new();
    for record in records {
        let measurement = record.outcome.measurement();
        let Some(of) = measurement.and_then(|of| of.verified.as_ref()) else { continue };
        // The rest is told in the section and keeps nothing from being verified.
        let is_failure = |kind: &str| ProblemKind::named(kind).is_some_and(ProblemKind::is_failure);
        let failures = of.problem_counts.iter().filter(|(kind, _)| is_failure(kind));
        let before: u64 = kinds.values().sum();
        failures.for_each(|(kind, count)| *kinds.entry(kind).or_default() += count);
        if kinds.values().sum::<u64>() > before {
            trials.push(record.trial.number);
        }
    }
    if kinds.is_empty() {
        return Vec::new();
    }
    let kinds = counts(kinds.into_iter()).join(", ");
    let claim = format!("Not all that was asked for could be verified: {kinds}.");
    vec![Finding::info(QUESTION.name, claim, trials).warn()]
}

/// The sentence for the top of a report, and whether nothing stands before it: it is what was
/// asked, or data is not what was written, which matters more than anything. `None` where nothing
/// was checked and nobody asked.
pub fn told(records: &[Record]) -> Option<(bool, String)> {
    let mut trials = records.iter().filter(|record| !record.trial.prepares()).peekable();
    let some = trials.peek().is_some();
    let is_asked = some && trials.all(|record| record.trial.settings.does(Does::ChecksAll));
    let Some(pool) = Pool::from_records(records) else {
        let done = records.iter().any(|record| record.outcome.measurement().is_some());
        let none = "Whether every byte comes back is not known: none was checked.";
        return (is_asked && done).then(|| (true, none.to_owned()));
    };
    Some((is_asked || !pool.is_clean(), headline(&pool)))
}

/// What all that was checked comes to.
fn headline(pool: &Pool) -> String {
    let (wrong, unreadable) = (pool.wrong(), pool.unreadable());
    let all = bits(8.0 * pool.checked_bytes as f64);
    if pool.is_clean() {
        let device = match pool.device.bits {
            none if none <= 0.0 => "none of them surely from the device".to_owned(),
            some => format!("{} of them from the device", bits(some)),
        };
        return format!(
            "Every byte that was checked came back as it was written: {all}, {device}."
        );
    }
    let (mut said, mut of_kinds) = (Vec::new(), String::new());
    if wrong > 0 {
        let were = if wrong == 1 { "was" } else { "were" };
        said.push(format!("{} {were} wrong without any error", blocks(wrong)));
        let kinds: Vec<String> = counts(pool.kinds.iter().map(|(kind, n)| (kind.as_str(), *n)));
        of_kinds = format!(" Kinds of fault: {}.", kinds.join(", "));
    }
    if unreadable > 0 {
        said.push(format!("{} could not be read", places(unreadable)));
    }
    format!(
        "Not every byte came back as it was written. Of {all} that were read, {}.{of_kinds}",
        said.join(" and ")
    )
}

/// What is known of silently wrong blocks, without a full stop, and of what kinds they are.
fn silent(pool: &Pool, rate: &ErrorRate) -> (String, Vec<String>) {
    let all = match pool.device.blocks {
        0 => String::new(),
        count => format!("{} blocks, ", value::count(count)),
    };
    if rate.events == 0 {
        let claim = format!(
            "No block came back wrong: {all}{} read from the device. At 95 % the rate of silently \
             wrong blocks is below {} per bit",
            bits(rate.bits),
            above(rate.below_per_bit)
        );
        return (claim, Vec::new());
    }
    let kinds = counts(pool.kinds.iter().map(|(kind, n)| (kind.as_str(), *n)));
    let lasting = counts(pool.lasting.iter().map(|(word, n)| (*word, *n)));
    let lasting = match lasting.is_empty() {
        true => String::new(),
        false => format!("of all faults {}", lasting.join(", ")),
    };
    let claim = format!(
        "{} came back wrong without any error. Of {all}{} read from the device that is {}",
        blocks(rate.events),
        bits(rate.bits),
        per_bit(rate),
    );
    (claim, vec![kinds.join(", "), lasting])
}

/// What is known of places that could not be read, without a full stop.
fn lost(rate: &ErrorRate) -> String {
    if rate.events == 0 {
        return format!(
            "Every place could be read: {} from the device. At 95 % the rate of unreadable places \
             is below {} per bit",
            bits(rate.bits),
            above(rate.below_per_bit)
        );
    }
    format!(
        "{} could not be read, in {} from the device: {}",
        places(rate.events),
        bits(rate.bits),
        per_bit(rate)
    )
}

/// How what makers of drives promise stands after that.
fn promised(promises: &[Promise]) -> Vec<String> {
    let of = |standing: PromiseStatus| -> Vec<&Promise> {
        promises.iter().filter(|promise| promise.standing == standing).collect()
    };
    let list = |of: &[&Promise], tell: &dyn Fn(&Promise) -> String| {
        of.iter().map(|promise| tell(promise)).collect::<Vec<_>>().join(", ")
    };
    let rate = |promise: &Promise| format!("{:.0e}", promise.per_bit);
    let verb = |of: &[&Promise]| if of.len() == 1 { "is" } else { "are" };
    let mut said = Vec::new();
    for (standing, word) in [(PromiseStatus::Kept, "kept"), (PromiseStatus::Broken, "not kept")] {
        let these = of(standing);
        if !these.is_empty() {
            said.push(format!("{} {} {word} (95 %)", list(&these, &rate), verb(&these)));
        }
    }
    let open = of(PromiseStatus::Open);
    if !open.is_empty() {
        let more = list(&open, &|promise| format!("{:.2e}", promise.bits_more));
        let time = list(&open, &|promise| promise.hours_more.map(long_time).unwrap_or_default());
        let pace = open.iter().all(|promise| promise.hours_more.is_some());
        let pace = if pace { format!(" ({time} at this pace)") } else { String::new() };
        said.push(format!(
            "{} {} neither shown nor refuted: that takes {more} bits without a further error{pace}",
            list(&open, &rate),
            verb(&open)
        ));
    }
    if let Some(first) = said.first_mut() {
        *first = format!("of the rates that makers of drives promise, {first}");
    }
    said
}

/// What was checked and is no evidence.
pub fn apart(verdict: Verdict, part: &CheckedTotals) -> String {
    let all = bits(part.bits);
    let reason = || {
        let first = part.trials.first().copied().unwrap_or(0);
        format!(" (trial {first}: {})", part.reason.trim_end_matches('.'))
    };
    let whence = match verdict {
        Verdict::Cache => "came from memory, not from the device".to_owned(),
        Verdict::Mixed => format!("came partly from memory{}", reason()),
        Verdict::DeviceCache => {
            "came from a cache behind the kernel, of a controller, a drive or a hypervisor"
                .to_owned()
        }
        Verdict::Remote => {
            "came from another machine, of whose cache nothing is known here".to_owned()
        }
        Verdict::Unknown => format!("are of unknown origin{}", reason()),
        Verdict::Memory => "came from the memory of a program".to_owned(),
        Verdict::Device | Verdict::None => format!("have no origin{}", reason()),
    };
    let found = match (part.wrong, part.unreadable) {
        (0, 0) => "Nothing in them was wrong".to_owned(),
        (wrong, 0) => format!("{} of them came back wrong", blocks(wrong)),
        (0, places_lost) => format!("{} of them could not be read", places(places_lost)),
        (wrong, places_lost) => format!(
            "{} of them came back wrong, {} could not be read",
            blocks(wrong),
            places(places_lost)
        ),
    };
    format!("{all} that were checked {whence}: they are no evidence about the device. {found}.")
}

/// Where to look, by what the faults have in common.
fn advice(pool: &Pool) -> String {
    let of = |word: &str| pool.lasting.get(word).copied().unwrap_or(0);
    let (transient, memory, persistent) = (of("transient"), of("in-memory"), of("persistent"));
    let known = [transient, memory, persistent];
    let most = known.into_iter().max().unwrap_or(0);
    let cause = match () {
        () if most == 0 => "whether they last is not known: read the same files again",
        () if most == persistent => {
            "most are wrong again around the page cache: the device holds or caches wrong data; \
             replace or rewrite it"
        }
        () if most == memory => {
            "most are wrong in memory only, and right on the device: test the memory"
        }
        () => {
            "most were right when read again: suspect cables, controllers and memory before the \
             media"
        }
    };
    format!("see the section Integrity; {cause}")
}

fn per_bit(rate: &ErrorRate) -> String {
    format!(
        "{:.2e} per bit ({} to {}, at 95 % below {})",
        rate.per_bit,
        below(rate.low_per_bit),
        above(rate.high_per_bit),
        above(rate.below_per_bit)
    )
}

fn counts<'a>(of: impl Iterator<Item = (&'a str, u64)>) -> Vec<String> {
    of.map(|(word, count)| format!("{count} {word}")).collect()
}

fn blocks(count: u64) -> String {
    if count == 1 { "1 block".to_owned() } else { format!("{} blocks", value::count(count)) }
}

fn places(count: u64) -> String {
    if count == 1 { "1 place".to_owned() } else { format!("{} places", value::count(count)) }
}

/// `1.72e10 bits`.
pub fn bits(bits: f64) -> String {
    format!("{bits:.2e} bits")
}

/// Three digits, rounded up: an upper bound that is printed still holds.
pub fn above(number: f64) -> String {
    rounded(number, f64::ceil)
}

/// Three digits, rounded down.
pub fn below(number: f64) -> String {
    rounded(number, f64::floor)
}

fn rounded(number: f64, round: fn(f64) -> f64) -> String {
    if number <= 0.0 || !number.is_finite() {
        return number.to_string();
    }
    let step = 10f64.powi(number.log10().floor() as i32 - 2);
    // What is three digits already must not become the next number by the last bit of a double.
    let digits = number / step;
    let near = digits.round();
    let whole = if (digits - near).abs() < 1e-9 { near } else { round(digits) };
    format!("{:.2e}", whole * step)
}

/// A time of hours as people say it: `40 min`, `12.3 h`, `11.2 days`, `1.40 years`.
pub fn long_time(hours: f64) -> String {
    const DAY: f64 = 24.0;
    const YEAR: f64 = 365.25 * DAY;
    match hours {
        h if h < 1.0 => format!("{} min", significant(h * 60.0)),
        h if h < 3.0 * DAY => format!("{} h", significant(h)),
        h if h < YEAR => format!("{} days", significant(h / DAY)),
        h => format!("{} years", significant(h / YEAR)),
    }
}
