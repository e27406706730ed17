//! How findings put figures and settings.
//!
//! What stands in brackets behind a figure is its 95 % interval, unless it says otherwise;
//! [`RANGES`] says so once, above them all. With "95 % interval", "n 3" and the same figure in
//! MiB/s in each bracket, a sentence that held two of them against each other had forty words.

use base::stats::{Estimate, Interval};
use base::value::{
    Value, bits, bytes, duration, iops, percent, setting, significant, throughput_short,
};
use experiment::knob::{self, Access, Settings};
use experiment::measurement::figure_names;

/// What a reader of findings is told of what stands in brackets.
pub const RANGES: &str = "Ranges in brackets are 95 % intervals.";

/// A throughput with what is known of its precision, from `replicates` runs:
/// `1640 MB/s (1600 to 1680)`.
pub fn rate(estimate: &Estimate, replicates: usize) -> String {
    let estimate = estimate.not_negative();
    let ends =
        |of: Interval| format!("{} to {}", significant(of.low / 1e6), significant(of.high / 1e6));
    let known = precision(&estimate, replicates, ends);
    format!("{}{} MB/s ({known})", about(&estimate), significant(estimate.value / 1e6))
}

/// A throughput of a load, in the units of what it goes over: bytes as [`rate`] has it, and bits of
/// a network: `36.1 Gb/s (35.8 to 36.4)`.
pub fn load_rate(settings: &Settings, estimate: &Estimate, replicates: usize) -> String {
    if !settings.is_network() {
        return rate(estimate, replicates);
    }
    let estimate = estimate.not_negative();
    let ends =
        |of: Interval| format!("{} to {}", significant(of.low * 8e-9), significant(of.high * 8e-9));
    let known = precision(&estimate, replicates, ends);
    format!("{}{} ({known})", about(&estimate), bits(estimate.value))
}

/// An interval is wide, and its value only about right, from this factor between its ends on.
const WIDE: f64 = 2.0;
/// One whose ends are further apart says only that the runs differ.
const OPEN: f64 = 100.0;
/// Of a ratio or a time whose ends are further apart the upper one says nothing.
const FAR: f64 = 20.0;

/// Said before a value whose interval is wide (rule 4).
fn about(estimate: &Estimate) -> &'static str {
    match estimate.interval {
        Some(ends) if ends.high > WIDE * ends.low => "about ",
        _ => "",
    }
}

/// What is known of the precision of what cannot be negative. "95 % interval 0 to 12703 MB/s" is a
/// number that nobody can use.
fn precision(
    estimate: &Estimate,
    replicates: usize,
    tell: impl FnOnce(Interval) -> String,
) -> String {
    let Some(ends) = estimate.interval else {
        return match replicates {
            1 => "one run".to_owned(),
            runs => format!("{runs} runs, no interval"),
        };
    };
    let open = ends.high > OPEN * ends.low;
    if open || !ends.high.is_finite() {
        return "runs far apart".to_owned();
    }
    tell(ends)
}

/// A throughput alone, in the units of what the load goes over.
pub fn load_throughput(settings: &Settings, bytes_per_s: f64) -> String {
    match settings.is_network() {
        true => bits(bytes_per_s),
        false => throughput_short(bytes_per_s),
    }
}

/// A rate of any figure, by its name: throughput as [`rate`] has it, operations and transactions as
/// `12.3k operations/s (12.0k to 12.6k)`.
pub fn rate_of(name: &str, estimate: &Estimate, replicates: usize) -> String {
    let unit = match name {
        figure_names::OPS_PER_S => "operations/s",
        figure_names::TRANSACTIONS_PER_S => "transactions/s",
        _ => return rate(estimate, replicates),
    };
    per_s(estimate, replicates, unit)
}

/// How many of something there are per second: `12.3k operations/s (12.0k to 12.6k)`;
/// without its `unit` where that is empty.
pub fn per_s(estimate: &Estimate, replicates: usize, unit: &str) -> String {
    let estimate = estimate.not_negative();
    let ends = |of: Interval| format!("{} to {}", iops(of.low), iops(of.high));
    let known = precision(&estimate, replicates, ends);
    let space = if unit.is_empty() { "" } else { " " };
    format!("{}{}{space}{unit} ({known})", about(&estimate), iops(estimate.value))
}

/// How long something took, in ns, from so many runs: `12.3 s (12.1 s to 12.5 s)`.
pub fn time_of(ns: &Estimate, replicates: usize) -> String {
    let estimate = ns.not_negative();
    let ends = |of: Interval| format!("{} to {}", duration(of.low), duration(of.high));
    let known = precision(&estimate, replicates, ends);
    format!("{}{} ({known})", about(&estimate), duration(estimate.value))
}

/// A value of any figure with its unit, by the end of its name.
pub fn amount(figure: &str, value: f64) -> String {
    match figure {
        _ if figure.ends_with("bytes_per_s") => throughput_short(value),
        _ if figure.ends_with("_per_s") => format!("{} /s", significant(value)),
        _ if figure.ends_with("_s") => duration(value * 1e9),
        _ => significant(value),
    }
}

/// A figure's name for people, without the unit, which stands beside it: `naive throughput` of
/// `naive_throughput_bytes_per_s`.
pub fn figure(name: &str) -> String {
    if name == figure_names::IOPS {
        return "IOPS".to_owned();
    }
    let ends = ["_bytes_per_s", "_per_s", "_share", "_ns", "_ms", "_bytes", "_s"];
    let bare = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    bare.replace("latency_ns_", "latency_").replace("_s_max", "_max").replace('_', " ")
}

/// A plain number with its interval: `4.02 (3.90 to 4.10)`; `unit` follows the value.
pub fn number(estimate: &Estimate, unit: &str) -> String {
    let value = format!("{}{}", about(estimate), significant(estimate.value));
    match estimate.interval {
        Some(ends) => format!("{value}{unit} ({})", between(ends, significant)),
        None => format!("{value}{unit} (one run of each)"),
    }
}

/// Both ends of what cannot be negative; the lower one alone where the upper one says nothing.
/// "66.6 times (9.20 to 2810)" is no number that anybody can use.
fn between(ends: Interval, print: fn(f64) -> String) -> String {
    let open = ends.high > FAR * ends.low || !ends.high.is_finite();
    match open {
        true if ends.low <= 0.0 => "runs far apart".to_owned(),
        true => format!("at least {}", print(ends.low)),
        false => format!("{} to {}", print(ends.low), print(ends.high)),
    }
}

/// How far replicates lie apart, a coefficient of variation: `29 % (15 % to 40 %)`. Of one that may
/// be more than the whole the least is told.
pub fn spread(estimate: &Estimate) -> String {
    let value = percent(estimate.value);
    match estimate.interval {
        Some(ends) if ends.high > 1.0 => format!("{value} (at least {})", percent(ends.low)),
        Some(ends) => format!("{value} ({} to {})", percent(ends.low), percent(ends.high)),
        None => format!("{value} (no interval: too little was repeated)"),
    }
}

/// A difference as a share of what is less: `12 %`, and from the double on `a factor of 2.8`.
pub fn difference(share: f64) -> String {
    match share >= 1.0 {
        true => format!("a factor of {}", significant(1.0 + share)),
        false => percent(share),
    }
}

/// Where on a scale of whole numbers it lies, `unit` after the value: `about 4 streams (3.70
/// to 4.40)`, and `4-5 streams (4.50 to 4.71)` where no whole number lies in the interval. "Up to
/// 4.09 streams" is no number that anybody can use.
pub fn whole(estimate: &Estimate, unit: &str) -> String {
    let between = |ends: Interval| ends.low > 1.0 && ends.low.ceil() > ends.high;
    if let Some(ends) = estimate.interval.filter(|ends| between(*ends)) {
        let (below, above) = (ends.low.floor(), ends.high.ceil());
        let (low, high) = (significant(ends.low), significant(ends.high));
        return format!("{below}-{above}{unit} ({low} to {high})");
    }
    let value = estimate.value.round().max(1.0);
    match estimate.interval {
        Some(ends) => {
            let (low, high) = (significant(ends.low), significant(ends.high));
            format!("about {value}{unit} ({low} to {high})")
        }
        None => format!("about {value}{unit} (one run of each)"),
    }
}

/// A time in ns with its interval: `8.31 ms (8.25 ms to 8.37 ms)`.
pub fn time(ns: &Estimate) -> String {
    quantity(ns, duration)
}

/// A size with its interval: `580 KiB (562 KiB to 598 KiB)`.
pub fn size(of: &Estimate) -> String {
    quantity(of, bytes)
}

fn quantity(of: &Estimate, print: fn(f64) -> String) -> String {
    let interval = of.interval.map(|ends| format!(" ({})", between(ends, print)));
    format!("{}{}{}", about(of), print(of.value), interval.unwrap_or_default())
}

/// A share as a percentage with its interval.
pub fn share(estimate: &Estimate) -> String {
    match estimate.interval {
        Some(ends) => {
            format!("{} ({} to {})", percent(estimate.value), percent(ends.low), percent(ends.high))
        }
        None => format!("{} (one run of each)", percent(estimate.value)),
    }
}

/// `1 stream`, `8 streams`.
pub fn streams(count: f64) -> String {
    if count == 1.0 { "1 stream".to_owned() } else { format!("{count} streams") }
}

/// What the load does, with a capital: `Random reading`.
pub fn access(settings: &Settings) -> &'static str {
    match settings.get(knob::ACCESS) {
        Some(Access::Read) => "Sequential reading",
        Some(Access::Write) => "Sequential writing",
        Some(Access::RandomRead) => "Random reading",
        Some(Access::RandomWrite) => "Random writing",
        Some(Access::RandomMix) => "Random reading and writing",
        Some(Access::ReadBackward) => "Backward reading",
        Some(Access::ReadStrided) => "Strided reading",
        Some(Access::Rewrite) => "Rewriting",
        Some(Access::RecordRewrite) => "Rewriting one record",
        Some(Access::Update) => "Reading and writing back in order",
        Some(Access::RandomUpdate) => "Random reading with some writing back",
        None => "The load",
    }
}

/// Through what reads go whose files are in memory.
pub const WARM: &str = "from the page cache";

/// Through what it goes: `direct`, `through the page cache, cold`, `from the page cache`.
pub fn path(settings: &Settings) -> &'static str {
    match (settings.get(knob::DIRECT), settings.get(knob::COLD)) {
        (true, _) => "direct",
        (false, _) if !settings.only_reads() => "through the page cache",
        (false, true) => "through the page cache, cold",
        (false, false) => WARM,
    }
}

/// A setting with its knob: `filesystem ext4`; the name alone where the engine has no such knob.
pub fn knob(name: &str, settings: &Settings) -> String {
    match settings.named(name) {
        Some(Value::Words(words)) => format!("in {}", words.join(" + ")),
        Some(value) => format!("{name} {}", setting(value)),
        None => name.to_owned(),
    }
}

/// A clause as a sentence: with a capital, and a full stop unless it has an end.
pub fn sentence(clause: &str) -> String {
    // `card=one` and `0000:03:00.0` are names.
    let word = clause.split_whitespace().next().unwrap_or_default();
    let is_name = word.contains(|c: char| c.is_ascii_digit() || "=`_".contains(c));
    let mut letters = clause.trim().chars();
    let first = letters.next().into_iter();
    let first: String = match is_name {
        true => first.collect(),
        false => first.flat_map(char::to_uppercase).collect(),
    };
    let end = if clause.trim_end().ends_with(['.', '?', '!']) { "" } else { "." };
    first.chars().chain(letters).chain(end.chars()).collect()
}

/// What begins a sentence, within one.
pub fn lower(text: &str) -> String {
    let mut letters = text.chars();
    // TCP is a name.
    if text.chars().nth(1).is_some_and(char::is_uppercase) {
        return text.to_owned();
    }
    letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect()
}

/// A setting among what a load is told by, as few words as it can be: `4 KiB`, `depth 8`,
/// `8 streams`, else as [`knob()`] has it. Nothing of the engine that is the usual one.
pub fn brief(name: &str, settings: &Settings) -> Option<String> {
    let value = settings.named(name)?;
    Some(match (name, value) {
        ("streams", Value::Count(count)) => streams(*count as f64),
        ("io-engine", Value::Word(word)) if word == "uring" => return None,
        ("block-size", size @ Value::Bytes(_)) => setting(size),
        ("queue-depth", Value::Count(depth)) => format!("depth {depth}"),
        (_, Value::Words(words)) if words.is_empty() => return None,
        _ => knob(name, settings),
    })
}

/// Access, path, and the settings among `knobs`: `Sequential reading (direct, 1 MiB, depth 8)`.
pub fn load(settings: &Settings, knobs: &[&str]) -> String {
    load_by(settings, &[], knobs)
}

/// As [`load`]; what differs from other loads, `first`, stands before the brackets: `Direct
/// sequential reading at depth 8 by 4 streams (1 MiB)`. What stands in brackets may be left out.
/// That it reads from memory stands before the brackets: who leaves these out must not make a cache
/// of it that passes for a device.
pub fn load_by(settings: &Settings, first: &[&str], knobs: &[&str]) -> String {
    if settings.has(knob::COMMAND) {
        // A script may begin with what it is.
        let first = settings.get(knob::COMMAND).lines().next().unwrap_or_default();
        let told = first.strip_prefix('#').map(str::trim).filter(|told| !told.is_empty());
        return match told {
            Some(told) => told.chars().take(60).collect(),
            None => format!("`{}`", first.chars().take(60).collect::<String>()),
        };
    }
    let means = |knob: &str| settings.named(knob).is_some() && !settings.is_moot(knob);
    let way = means(knob::DIRECT.name).then(|| path(settings));
    let is_warm = way == Some(WARM);
    let is_first = |knob: &str| first.contains(&knob) && means(knob);
    let way_first = !is_warm && is_first(knob::DIRECT.name);
    let in_brackets = way.filter(|_| !is_warm && !way_first);
    let mut parts: Vec<String> = in_brackets.map(str::to_owned).into_iter().collect();
    if settings.is_network() && settings.has(knob::FILES) {
        parts.push(format!("by {}", settings.get(knob::SEND_PATH)));
    }
    let rest = knobs.iter().filter(|knob| means(knob) && !is_first(knob));
    parts.extend(rest.filter_map(|knob| brief(knob, settings)));
    let what = match (settings.has(knob::ACCESS), settings.get(knob::OPERATION)) {
        (true, _) if settings.is_moot(knob::ACCESS.name) => "Work on empty files".to_owned(),
        (true, _) if settings.is_network() => "Files over TCP".to_owned(),
        (true, _) => access(settings).to_owned(),
        (false, "") if settings.has(knob::DATAGRAM_SIZE) => "UDP".to_owned(),
        (false, "") if settings.is_network() => "TCP".to_owned(),
        (false, "") if settings.has(knob::CONCAT_WITH) => "Joining large files".to_owned(),
        (false, "") => settings.engine().to_owned(),
        (false, operation) => format!("The operation {operation}"),
    };
    let mut what = if is_warm { format!("{what} {WARM}") } else { what };
    for knob in first.iter().filter(|knob| means(knob)) {
        what += &phrase(knob, settings);
    }
    let what = match (way_first, settings.get(knob::DIRECT), settings.get(knob::COLD)) {
        (false, ..) => what,
        (true, true, _) => format!("Direct {}", lower(&what)),
        (true, false, true) if settings.only_reads() => {
            format!("Cold {} through the page cache", lower(&what))
        }
        (true, false, _) => format!("{what} through the page cache"),
    };
    match parts.is_empty() {
        true => what,
        false => format!("{what} ({})", parts.join(", ")),
    }
}

/// A setting that tells a load from others, as part of its name.
fn phrase(knob: &str, settings: &Settings) -> String {
    let Some(told) = brief(knob, settings).filter(|_| knob != knob::DIRECT.name) else {
        return String::new();
    };
    match knob {
        "block-size" => format!(" in {told} blocks"),
        "queue-depth" => format!(" at {told}"),
        "streams" => format!(" by {told}"),
        "directories" => format!(" {told}"),
        _ => format!(" with {told}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Grows with the streams up to 4.09 streams".
    #[test]
    fn streams_are_whole_ones() {
        let told = whole(&Estimate::within(4.09, 3.7, 4.4), " streams");
        assert_eq!(told, "about 4 streams (3.70 to 4.40)");
        let told = whole(&Estimate::within(1.2, 0.4, 1.9), "");
        assert_eq!(told, "about 1 (0.400 to 1.90)");
        // "about 5 disks (4.77 to 4.83)": five are not what was found.
        let told = whole(&Estimate::within(4.6, 4.5, 4.71), " streams");
        assert_eq!(told, "4-5 streams (4.50 to 4.71)");
    }

    /// "-1.21k to 82.1k IOPS": no rate is less than nothing.
    #[test]
    fn no_rate_is_told_below_nothing() {
        let wide = Estimate::within(40_400.0, -1_210.0, 82_100.0);
        for name in ["ops_per_s", "transactions_per_s", "throughput_bytes_per_s"] {
            let told = rate_of(name, &wide, 2);
            assert!(told.contains("far apart") && !told.contains('-'), "{told}");
        }
    }

    /// "p99 is 66.6 times (9.20 to 2810) the median", "Repeats differ by 29 % (15 % to 508 %)".
    #[test]
    fn an_end_that_says_nothing_is_left_out() {
        let times = |low, high| number(&Estimate::within(66.6, low, high), " times");
        assert_eq!(times(9.2, 2810.0), "about 66.6 times (at least 9.20)");
        assert_eq!(times(9.2, 90.0), "about 66.6 times (9.20 to 90.0)");
        assert_eq!(times(-3.0, 90.0), "about 66.6 times (runs far apart)");
        assert_eq!(times(1.0, f64::INFINITY), "about 66.6 times (at least 1.00)");
        assert_eq!(time(&Estimate::within(1e6, 1e4, 9e6)), "about 1.00 ms (at least 10.0 us)");
        assert_eq!(spread(&Estimate::within(0.29, 0.15, 5.08)), "29 % (at least 15 %)");
        assert_eq!(spread(&Estimate::within(0.29, 0.15, 0.4)), "29 % (15 % to 40 %)");
        assert_eq!(difference(0.12), "12 %");
        assert_eq!(difference(1.83), "a factor of 2.83");
    }

    #[test]
    fn figures_carry_their_unit_their_interval_and_n() {
        let sure = Estimate::within(1.64e9, 1.6e9, 1.68e9);
        assert_eq!(rate(&sure, 3), "1640 MB/s (1600 to 1680)");
        assert_eq!(rate(&Estimate::bare(2e8), 1), "200 MB/s (one run)");
        let ops = Estimate::within(12_345.0, 12_000.0, 12_600.0);
        let told = rate_of("ops_per_s", &ops, 3);
        assert_eq!(told, "12.3k operations/s (12.0k to 12.6k)");
        let told = rate_of("transactions_per_s", &Estimate::bare(320.0), 1);
        assert_eq!(told, "320 transactions/s (one run)");
        assert_eq!(rate_of("throughput_bytes_per_s", &sure, 3), rate(&sure, 3));
        assert_eq!(
            number(&Estimate::within(4.0, 3.9, 4.1), " streams"),
            "4.00 streams (3.90 to 4.10)"
        );
    }

    /// "95 % interval 0 to 12703 MB/s, n 2" and "0 to 4212 MB/s" stood in the first line: numbers
    /// that nobody can use.
    #[test]
    fn a_wide_interval_is_announced_and_one_that_reaches_zero_is_told_in_words() {
        let wide = Estimate::within(1.5e9, 0.9e9, 2.1e9);
        let told = "about 1500 MB/s (900 to 2100)";
        assert_eq!(rate(&wide, 2), told);
        assert_eq!(rate(&Estimate::within(1.5e9, 1.1e9, 1.9e9), 2).find("about"), None);
        let open = Estimate::within(5.2e9, -2.3e9, 12.703e9);
        let words = "runs far apart";
        assert_eq!(rate(&open, 2), format!("about 5200 MB/s ({words})"));
        let network = experiment::knob::Settings::defaults("net");
        assert_eq!(load_rate(&network, &open, 2), format!("about 41.6 Gb/s ({words})"));
        let told = rate_of("ops_per_s", &Estimate::within(500.0, -100.0, 1100.0), 2);
        assert_eq!(told, format!("about 500 operations/s ({words})"));
        assert_eq!(
            time_of(&Estimate::within(2e9, 1e9, f64::INFINITY), 2),
            format!("about 2.00 s ({words})")
        );
        let none = Estimate::within(0.0, 0.0, 0.0);
        assert_eq!(per_s(&none, 3, "IOPS"), "0 IOPS (0 to 0)");
    }

    #[test]
    fn loads_are_named_by_what_they_do() {
        let mut settings = Settings::defaults("file");
        let knobs = ["block-size", "queue-depth", "directories"];
        assert_eq!(load(&settings, &knobs), "Sequential reading (direct, 1 MiB, depth 1)");
        assert_eq!(load(&Settings::defaults("tree"), &[]), "The operation create");
        assert_eq!(load(&Settings::defaults("mail"), &["sync-files"]), "mail (sync-files no)");
        settings.set(knob::DIRECT, false);
        settings.set(knob::COLD, false);
        settings.set(knob::DIRECTORIES, &["/a".into(), "/b".into()]);
        assert_eq!(
            load(&settings, &["directories"]),
            "Sequential reading from the page cache (in /a + /b)"
        );
    }
}
