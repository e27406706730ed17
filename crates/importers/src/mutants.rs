//! Mutated outputs of other tools: a file that was cut, or has a line lost or doubled, gives the
//! figures of the whole one, fewer of them, or an error. Never another figure.

use std::collections::BTreeSet;
use std::ops::Range;

use super::testing::fixtures;
use super::{Figure, as_printed, knowing};
use base::stats::testing::long;

/// A figure by its name, and its bits.
type FigureBits = (String, u64);

/// The figures of each result, as an import of this text would keep them; `None` where it is
/// refused.
fn printed(text: &str) -> Option<Vec<Vec<Figure>>> {
    let text = as_printed(text);
    let known = knowing(&text);
    let mut all = Vec::new();
    for importer in &known {
        all.extend(importer.read(&text).ok()?.into_iter().map(|said| said.figures));
    }
    (!known.is_empty()).then_some(all)
}

/// All of them, as names and bits.
fn told(text: &[u8]) -> Option<BTreeSet<FigureBits>> {
    let all = printed(&String::from_utf8_lossy(text))?;
    let one = |figure: Figure| {
        assert!(figure.value.is_finite() && figure.value >= 0.0, "{figure:?}");
        (figure.name, figure.value.to_bits())
    };
    Some(all.into_iter().flatten().map(one).collect())
}

/// Those of one recorded run: of snapshots of it the last one counts, and where two documents say
/// of themselves that they are of two runs, what the earlier one says was never wrong.
fn of_one_run() -> impl Iterator<Item = (String, String)> {
    let all = fixtures().into_iter().map(|(_, name, text)| (name, text));
    all.filter(|(name, _)| !name.contains("snapshots"))
}

/// What stands in the mutant and not in the whole text.
fn others(whole: &BTreeSet<FigureBits>, mutant: &BTreeSet<FigureBits>) -> Vec<String> {
    mutant
        .difference(whole)
        .map(|(name, bits)| format!("{name} = {}", f64::from_bits(*bits)))
        .collect()
}

/// All mutants of a text that are made without touching a digit.
fn mutants(text: &[u8], long: bool) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    // The end of a cut document is told from its brackets: few places are enough.
    let step = if long || text.len() < 3000 { 1 } else { 37 };
    all.extend(
        (0..text.len()).step_by(step).map(|end| (format!("cut at {end}"), text[..end].to_vec())),
    );
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let without = |at: usize| [&lines[..at], &lines[at + 1..]].concat().concat();
    let with = |from: usize, at: usize| {
        let mut more = lines.clone();
        more.insert(at, lines[from]);
        more.concat()
    };
    for at in (0..lines.len()).step_by(if long || lines.len() < 100 { 1 } else { 5 }) {
        all.push((format!("without line {}", at + 1), without(at)));
        all.push((format!("line {} twice", at + 1), with(at, at)));
        for step in [7, 31, 101] {
            let to = (at + step) % lines.len();
            all.push((format!("line {} again before {}", at + 1, to + 1), with(at, to)));
        }
    }
    for (what, piece) in [
        ("a mark of byte order", &b"\xef\xbb\xbf"[..]),
        ("an empty line", b"\n"),
        ("a line of something else", b"WARNING: 17 elephants took 99.5 MB/sec\n"),
        ("a zero byte", b"\0"),
        ("no UTF-8", b"\xff\xfe"),
    ] {
        let mut at = 0;
        for (number, line) in lines.iter().enumerate() {
            if long || lines.len() < 100 || number % 9 == 0 {
                all.push((format!("{what} at {at}"), [&text[..at], piece, &text[at..]].concat()));
            }
            at += line.len();
        }
    }
    let crlf: Vec<u8> = text
        .iter()
        .flat_map(|byte| if *byte == b'\n' { vec![13, 10] } else { vec![*byte] })
        .collect();
    all.push(("lines of DOS".to_owned(), crlf));
    all
}

/// Of each text a sixth of its mutants, another one of the next; all with BRICKYARD_LONG=1.
///
/// Where a line of one job had come to stand in another's part of a document, its number was taken
/// for that job's, with exit status 0: of two numbers under one name the later one won.
#[test]
fn no_cut_and_no_lost_or_doubled_line_gives_another_figure() {
    let long = long();
    let (mut count, mut kept, mut wrong) = (0, 0, Vec::new());
    for (place, (name, text)) in of_one_run().enumerate() {
        let text = text.into_bytes();
        let whole = told(&text).unwrap_or_default();
        let all = mutants(&text, long).into_iter().enumerate();
        let taken = all.filter(|(number, _)| long || number % 6 == place % 6);
        for (_, (what, mutant)) in taken {
            count += 1;
            let told = told(&mutant);
            kept += usize::from(told.is_some());
            let others = others(&whole, &told.unwrap_or_default());
            if !others.is_empty() {
                wrong.push(format!("{name}, {what}: {}", others.join(", ")));
            }
        }
    }
    let first: Vec<&str> = wrong.iter().take(40).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} of {count} ({kept} kept):\n{}", wrong.len(), first.join("\n"));
    assert!(kept > 1000, "{kept} of {count} are kept at all");
}

/// Numbers that no tool prints are refused: none of them becomes a figure. Each place has two of
/// the words, the next one others; all with BRICKYARD_LONG=1.
#[test]
fn what_is_no_number_of_a_tool_is_no_figure() {
    const WORDS: [&str; 7] =
        ["NaN", "inf", "1e999", "-1", "-inf", "99999999999999999999999", "0x10"];
    let words = if long() { WORDS.len() } else { 2 };
    let mut round = WORDS.iter().cycle();
    for (name, text) in of_one_run() {
        let starts = text.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at);
        let starts: Vec<usize> =
            starts.filter(|at| !text[..*at].ends_with(|c: char| c.is_ascii_digit())).collect();
        for at in starts.iter().step_by(1 + starts.len() / 60) {
            let end =
                text[*at..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |it| at + it);
            for word in round.by_ref().take(words) {
                // `told` asserts of every figure that it is finite and not negative.
                let mutant = format!("{}{word}{}", &text[..*at], &text[end..]);
                let _ = (told(mutant.as_bytes()), &name);
            }
        }
    }
}

/// Where numbers stand: one in a name, as `"99.000000":` and `95th percentile`, is none.
fn numbers(text: &str) -> Vec<Range<usize>> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let mut all = Vec::new();
    let mut from = 0;
    while let Some(found) = text[from..].find(|c: char| c.is_ascii_digit()) {
        let start = from + found;
        let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |end| start + end);
        from = end;
        let (before, behind) = (&text[..start], &text[end..]);
        let in_word = before.ends_with(|c: char| c.is_alphanumeric() || "_.#".contains(c));
        let key = behind.strip_prefix('"').is_some_and(|it| it.trim_start().starts_with(':'));
        if !in_word && !key && !behind.starts_with("th ") && !behind.starts_with(['e', '_']) {
            all.push(start..end);
        }
    }
    all
}

/// Whether it is printed with this number. Of numbers with 17 digits serde_json reads the last
/// place one off at times (its feature `float_roundtrip` is off).
fn has(figure: &Figure, number: &str) -> bool {
    let Ok(wanted) = number.parse::<f64>() else { return false };
    let all = numbers(&figure.printed).into_iter().map(|at| &figure.printed[at]);
    let same = |number: f64| (number - wanted).abs() <= wanted.abs() * f64::EPSILON;
    all.filter_map(|number| number.parse().ok()).any(same)
}

/// In a second table of mdtest, in the rows of a second test of IOR and in a unit of fio 2 stood
/// numbers that were told as figures of something else. A number that is changed changes the figure
/// that is printed with it, or none, or all are refused; no other figure moves.
#[test]
fn a_changed_number_changes_its_own_figure_or_is_refused() {
    let long = long();
    let (mut changed, mut refused, mut wrong) = (0, 0, Vec::new());
    for (name, text) in of_one_run() {
        let Some(whole) = printed(&text) else { continue };
        let all = numbers(&text);
        let step = if long { 1 } else { 1 + all.len() / 60 };
        for at in all.iter().step_by(step) {
            let old = &text[at.clone()];
            let last = old.bytes().last().filter(u8::is_ascii_digit).map_or(b'0', |it| it - b'0');
            let next = format!("{}{}", &old[..old.len() - 1], (last + 1) % 10);
            for new in [next, format!("1{old}"), "0".to_owned()] {
                let mutant = format!("{}{new}{}", &text[..at.start], &text[at.end..]);
                let Some(after) = printed(&mutant) else {
                    refused += 1;
                    continue;
                };
                let what = format!("{name}, byte {}: {old} is {new}", at.start);
                if after.len() != whole.len() {
                    wrong.push(format!("{what}: {} results, not {}", after.len(), whole.len()));
                }
                let both = after.iter().zip(&whole);
                let others = both.flat_map(|(after, before)| {
                    after.iter().filter(move |figure| !before.contains(figure))
                });
                for figure in others {
                    changed += 1;
                    if !has(figure, &new) {
                        wrong.push(format!("{what}: {} = {}", figure.name, figure.printed));
                    }
                }
            }
        }
    }
    let first: Vec<&str> = wrong.iter().take(40).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} wrong of {changed}:\n{}", wrong.len(), first.join("\n"));
    assert!(changed > 500 && refused > 100, "{changed} changed and {refused} refused");
}
