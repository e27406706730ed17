//! Numbers in sentences, read back and held against the figures.

use serde_json::Value;

use super::Told;

/// Questions whose sentences tell of what was not measured: fits, and what would be.
const COMPUTED: &[&str] = &["seek-law", "bottleneck", "cost", "cache-regions"];

/// A unit, how many base units it is, and what the figures of its kind end in.
const UNITS: &[(&str, f64, &str)] = &[
    ("MB/s", 1e6, "throughput_bytes_per_s"),
    ("MiB/s", 1_048_576.0, "throughput_bytes_per_s"),
    ("IOPS", 1.0, "iops"),
    ("operations/s", 1.0, "ops_per_s"),
    ("transactions/s", 1.0, "transactions_per_s"),
];

/// All values and ends of intervals of figures whose names end so.
fn known(document: &Value, ending: &str) -> Vec<f64> {
    let mut all = Vec::new();
    for of in ["trials", "cells"] {
        for one in document[of].as_array().into_iter().flatten() {
            let figures = one["figures"].as_object().into_iter().flatten();
            for (_, estimate) in figures.filter(|(name, _)| name.ends_with(ending)) {
                let parts = ["value", "low", "high"].iter();
                all.extend(parts.filter_map(|part| estimate[*part].as_f64()));
            }
        }
    }
    all
}

/// `12.3k` as 12300.
fn number(word: &str) -> Option<f64> {
    let word = word.trim_start_matches(['(', '~', '+', '-']).trim_end_matches([',', ';', ')']);
    let times = [('k', 1e3), ('M', 1e6), ('G', 1e9)];
    let scaled = times.iter().find_map(|(end, times)| Some((word.strip_suffix(*end)?, *times)));
    let (digits, times) = scaled.unwrap_or((word, 1.0));
    digits.parse::<f64>().ok().map(|value| value * times)
}

/// The numbers of a sentence that have a unit: value in base units, what it is of, and whether it
/// is the end of an interval.
fn numbers(sentence: &str) -> Vec<(f64, &'static str, bool)> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    let mut found = Vec::new();
    for (place, two) in words.windows(2).enumerate() {
        let unit = two[1].trim_end_matches(['.', ',', ';', ')', ':']);
        let known = UNITS.iter().find(|(name, ..)| *name == unit);
        let ends = place.checked_sub(1).is_some_and(|before| words[before] == "to");
        if let Some(((_, times, ending), value)) = known.zip(number(two[0])) {
            found.push((value * times, *ending, ends));
        }
    }
    found
}

/// The headline's figure is one of the document to three digits, or lies among them where it says
/// that it allows for the luck of the choice; those of other sentences are not above all figures of
/// their kind. Ends of intervals may be: those of a choice are of several cells.
pub fn hold(document: &Value, told: &mut Told) {
    let mut answer = document["answer"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let headline = answer.next().unwrap_or("");
    let drawn = headline.contains("allow for the luck of the choice");
    for (value, ending, _) in numbers(headline).into_iter().filter(|(.., ends)| !ends) {
        told.numbers += 1;
        let known = known(document, ending);
        let near = |one: &f64| (one - value).abs() <= 0.006 * one.abs();
        let below = known.iter().any(|one| *one <= value * 1.006);
        let above = known.iter().any(|one| *one >= value / 1.006);
        if !(known.iter().any(near) || (drawn && below && above)) {
            told.problems.push(format!("{value} is no {ending}: {headline}"));
        }
    }
    let findings = document["findings"].as_array().into_iter().flatten();
    let measured = |finding: &&Value| !COMPUTED.iter().any(|it| finding["question"] == *it);
    let claims = findings.filter(measured).filter_map(|finding| finding["claim"].as_str());
    for sentence in answer.chain(claims) {
        for (value, ending, _) in numbers(sentence).into_iter().filter(|(.., ends)| !ends) {
            told.numbers += 1;
            let most = known(document, ending).into_iter().fold(0.0, f64::max);
            if value > most * 1.01 {
                told.problems.push(format!("{value} is above every {ending}: {sentence}"));
            }
        }
    }
}
