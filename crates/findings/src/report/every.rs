//! (pure) What must be so in every format: tests that walk all of them.

use super::{FORMATS, Input, fixture};
use experiment::knob::Settings;
use experiment::knob::testing::settings;
use experiment::measurement::{Note, Outcome};
use experiment::plan::blocked;

/// What a reader sees of a format, on one line; a page without its tags and scripts.
fn words(name: &str, bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut text = text.replace('\u{a0}', " ");
    if name == "html" {
        let body = text.split_once("<body>").map_or("", |(_, body)| body);
        let mut plain = String::new();
        for part in body.split("<script").next().unwrap_or_default().split('<') {
            // What stands in two cells of a table is no sentence.
            plain.push_str(" | ");
            plain.push_str(part.split_once('>').map_or(part, |(_, rest)| rest));
        }
        text = plain;
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A plan left 24 cells out for want of disks, and no report said so: figures of what was left
/// stood for all that had been asked.
#[test]
fn cells_that_were_left_out_are_named_in_every_format() {
    let mut fixture = fixture::evaluated();
    let why = "raid50 takes 6 disks or more, and there are 4";
    fixture.campaign.left_out.insert(why.to_owned(), 24);
    let input = fixture.input();
    for format in FORMATS {
        let text = words(format.name, &format.bytes(&input).unwrap());
        // What is packed shows its columns alone.
        let told = if format.name == "parquet" { "left_out" } else { why };
        assert!(text.contains(told), "{}", format.name);
        assert!(text.contains("24") || format.name == "parquet", "{}", format.name);
    }
    fixture.campaign.left_out.clear();
    let input = fixture.input();
    for format in FORMATS {
        let text = words(format.name, &format.bytes(&input).unwrap());
        assert!(!text.contains("left out: ") && !text.contains("left_out"), "{}", format.name);
    }
}

/// Nouns and verbs of several, which follow no 1.
const OF_SEVERAL: &[&str] = &[
    "trials",
    "cells",
    "notes",
    "replicates",
    "streams",
    "files",
    "disks",
    "reasons",
    "runs",
    "loads",
    "blocks",
    "layouts",
    "columns",
    "operations",
    "directories",
    "faults",
    "figures",
    "workloads",
    "knobs",
    "carry",
    "have",
    "were",
    "are",
];

/// The first place where a 1 stands before a word of several.
fn of_one(text: &str) -> Option<String> {
    let plain = |word: &str| {
        word.trim_matches(|c: char| !c.is_alphanumeric() && c != '.' && c != '|').to_owned()
    };
    let all: Vec<&str> = text.split(' ').collect();
    let two = all.windows(2).enumerate();
    let mut wrong = two.filter(|(_, two)| {
        let ends = two[0].ends_with([',', ';', ':', ')']);
        plain(two[0]) == "1" && !ends && OF_SEVERAL.contains(&plain(two[1]).trim_end_matches('.'))
    });
    let (place, _) = wrong.next()?;
    Some(all[place.saturating_sub(6)..all.len().min(place + 8)].join(" "))
}

/// Reports said "1 carry notes", "In 1 trials", "1 of 1 trials had not settled".
#[test]
fn no_format_and_no_finding_says_one_of_several() {
    assert!(of_one("rests on 1 trials, each").is_some() && of_one("(1 trials)").is_some());
    assert!(of_one("1 of 2 trials; streams 1, files 4").is_none());
    let loads: [(&str, &[(&str, &str)]); 5] = [
        ("file", &[("access", "random-read"), ("block-size", "4KiB")]),
        ("file", &[("access", "write"), ("direct", "false")]),
        ("tree", &[("operation", "create"), ("files", "1")]),
        ("net", &[]),
        ("command", &[("command", "make")]),
    ];
    for (engine, knobs) in loads {
        let cell = |more: &[(&str, &str)]| -> (String, Settings) {
            ("one".to_owned(), settings(engine, &[knobs, more].concat()))
        };
        let outcomes = [
            None,
            Some(Outcome::Failed("Input/output error (os error 5)".into())),
            Some(Outcome::Skipped("no such scheduler".into())),
        ];
        for (cells, outcome) in [vec![cell(&[])], vec![cell(&[]), cell(&[("streams", "2")])]]
            .iter()
            .flat_map(|cells| outcomes.iter().map(move |outcome| (cells, outcome)))
        {
            let mut fixture = fixture::campaign_of(blocked(cells, 1, 1), 40);
            fixture.campaign.not_bought.truncate(1);
            fixture.campaign.left_out.insert("there is no room".into(), 1);
            let first = &mut fixture.records[0];
            match (outcome, &mut first.outcome) {
                (Some(outcome), of) => *of = outcome.clone(),
                (None, Outcome::Done(measurement)) => {
                    measurement.notes.push(Note::new("others-io", "somebody else wrote"));
                    measurement.notes.push(Note::new("others-io", "somebody else read"));
                }
                (None, _) => {}
            }
            let input = Input::new(&fixture.campaign, &fixture.records);
            for format in FORMATS.iter().filter(|format| !format.is_binary()) {
                let text = words(format.name, &format.bytes(&input).unwrap());
                let wrong = of_one(&text);
                assert_eq!(wrong, None, "{} of {engine}, {outcome:?}", format.name);
            }
        }
    }
}

/// What was said once and that no administrator would say, with the words for it.
const GLOSSARY: &[(&str, &str)] = &[
    ("did not surely", "may have come from a cache"),
    ("would buy", "a longer run would add"),
    ("bought by this budget", "a longer run would add"),
    ("long enough to test whether it had settled", "too short to check for steady state"),
    ("as no more was in flight", "one request at a time waits for the device"),
    ("of its most", "reaches half its peak"),
    ("Hold against", "use as the baseline"),
    ("carry the note", "has the note"),
    ("carries the note", "has the note"),
    ("carry notes", "have notes"),
    ("streams were let go", "since the start"),
    ("NaN", "no number"),
    ("inf %", "no number"),
];

/// "None was long enough to test whether it had settled": nobody says so.
#[test]
fn no_format_says_what_no_administrator_would() {
    for sample in fixture::samples::samples() {
        let input = sample.input();
        for format in FORMATS.iter().filter(|format| !format.is_binary()) {
            let text = words(format.name, &format.bytes(&input).unwrap());
            for (never, rather) in GLOSSARY {
                let what = format!("{} of {}", format.name, sample.name);
                assert!(!text.contains(never), "{never:?} in {what}: say {rather:?}");
            }
        }
    }
}

/// The legend explained `t`, a mark that stood nowhere.
#[test]
fn a_legend_explains_the_marks_that_are_there_and_no_others() {
    let marked = |name: &str, input: &Input<'_>| {
        let format = super::find(name).unwrap();
        String::from_utf8(format.bytes(input).unwrap()).unwrap()
    };
    let network = [("sent".to_owned(), settings("net", &[]))];
    let network = fixture::campaign_of(blocked(&network, 1, 1), 4);
    let text = marked("text", &Input::new(&network.campaign, &network.records));
    assert!(!text.contains("  t: "), "{text}");
    let all = fixture::evaluated();
    let (text, page) = (marked("text", &all.input()), marked("html", &all.input()));
    for told in ["c: from the kernel", "?: origin of the bytes not known"] {
        assert!(text.contains(told) && page.contains(told), "{told}");
    }
    for none in ["t: from memory to memory", "r: over the wire"] {
        assert!(!text.contains(none) && !page.contains(none), "{none}");
    }
}

/// `layout` and `probe` stood among the results.
#[test]
fn what_only_makes_ready_is_no_result() {
    let cell = |group: &str, streams: &str| {
        (group.to_owned(), settings("file", &[("streams", streams), ("direct", "true")]))
    };
    let cells = [
        cell("streams", "1"),
        cell("streams", "8"),
        cell("probe", "1"),
        cell("probe", "4"),
        cell("layout", "4"),
    ];
    let fixture = fixture::campaign_of(blocked(&cells, 1, 1), 4);
    let input = Input::new(&fixture.campaign, &fixture.records);
    for name in ["text", "markdown", "html"] {
        let format = super::find(name).unwrap();
        let text = words(name, &format.bytes(&input).unwrap());
        // A page draws some trials over time, and lists all; these are of any kind.
        let results = text.split_once("Means over n").map_or(&*text, |(_, page)| page);
        let results = results.split("| All trials").next().unwrap();
        assert!(results.contains("streams"), "{name}: {text}");
        for group in ["probe", "layout"] {
            assert!(!results.contains(group), "{name}: {group} in {results}");
        }
    }
}

/// A number that nobody can use, with what stands around it: shares of a thousand per cent, ranges
/// in brackets whose ends are a hundred times apart, what is no number.
fn unusable(text: &str) -> Option<String> {
    let number = |word: &str| {
        let word = word.trim_matches(|c: char| "(),;:.|".contains(c));
        let (bare, times) = match word.strip_suffix('k') {
            Some(bare) => (bare, 1e3),
            None => (word, 1.0),
        };
        bare.parse::<f64>().ok().map(|number| number * times)
    };
    // A range has one unit, which stands at its end or at both.
    let unit = |word: &str| match word.trim_matches(|c: char| "(),;:.|".contains(c)) {
        "ns" => Some(1.0),
        "us" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        _ => None,
    };
    let all: Vec<&str> = text.split(' ').collect();
    let wrong = |place: usize| {
        let word = |ahead: usize| all.get(place + ahead).copied().unwrap_or_default();
        let Some(first) = number(word(0)) else { return false };
        let share = word(1).starts_with('%') && first.abs() >= 1000.0;
        let of_times = word(1).starts_with("times") && first.abs() >= 1e5;
        let part = first.fract() != 0.0 && ["streams", "trials"].contains(&word(1));
        let ahead = if unit(word(1)).is_some() { 2 } else { 1 };
        let to = if word(1) == "%" { 2 } else { ahead };
        let last = (word(0).starts_with('(') && word(to) == "to").then(|| number(word(to + 1)));
        let wide = last.flatten().is_some_and(|last| {
            let last = last * unit(word(to + 2)).unwrap_or(1.0);
            let first = first * unit(word(1)).or(unit(word(to + 2))).unwrap_or(1.0);
            first < 0.0 || (first > 0.0 && last > 100.0 * first)
        });
        !first.is_finite() || share || of_times || part || wide
    };
    let place = (0..all.len()).find(|place| wrong(*place))?;
    Some(all[place.saturating_sub(6)..all.len().min(place + 8)].join(" "))
}

/// "Differences under 36467 %", "8.7 % to 16706052054463454951276998779994112 %", "66.6 times (9.20
/// to 2810)", "up to 4.09 streams".
#[test]
fn no_format_has_a_number_that_nobody_can_use() {
    for wrong in [
        "differences under 36467 %.",
        "is 66.6 times (9.20 to 2810) the median",
        "(15.0 us to 21.0 ms)",
        "(-1.21k to 82.1k) IOPS",
        "up to 4.09 streams",
        "by inf %",
    ] {
        assert!(unusable(wrong).is_some(), "{wrong}");
    }
    for right in ["29 % (15 % to 40 %)", "(1.21k to 82.1k)", "(900 us to 1.10 ms)", "4.09 times"] {
        assert_eq!(unusable(right), None);
    }
    for sample in fixture::samples::samples() {
        let input = sample.input();
        for finding in &input.findings {
            let texts = finding.details.iter().chain(&finding.advice).chain([&finding.claim]);
            for text in texts {
                assert_eq!(unusable(text), None, "{} of {}", finding.question, sample.name);
            }
        }
        for format in FORMATS.iter().filter(|format| !format.is_binary()) {
            // What programs read has all digits.
            if ["json", "csv", "r", "python"].contains(&format.name) {
                continue;
            }
            let text = words(format.name, &format.bytes(&input).unwrap());
            assert_eq!(unusable(&text), None, "{} of {}", format.name, sample.name);
        }
    }
}

/// Words of a finding, and of each of its sentences, that a person reads in one go.
const FINDING_WORDS_MAX: usize = 40;
const SENTENCE_WORDS_MAX: usize = 25;

/// What is too long of a text, if anything.
fn too_long(text: &str) -> Option<String> {
    let count = |part: &str| part.split_whitespace().count();
    let longest = text.split(". ").map(count).max().unwrap_or(0);
    let words = count(text);
    (words > FINDING_WORDS_MAX || longest > SENTENCE_WORDS_MAX)
        .then(|| format!("{words} words, {longest} in a sentence: {text}"))
}

#[test]
fn findings_are_short() {
    let mut all = std::collections::BTreeMap::new();
    for sample in fixture::samples::samples() {
        for finding in &sample.input().findings {
            for text in std::iter::once(&finding.claim).chain(&finding.advice) {
                if let Some(long) = too_long(text) {
                    all.entry(format!("{}: {long}", finding.question)).or_insert(sample.name);
                }
            }
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}

/// "This rests on 74 trials, each cell run at least 3 times; ...; 12 may have come from a cache."
/// was read by nobody to its end.
#[test]
fn the_sentences_of_an_answer_are_short() {
    let mut all = std::collections::BTreeMap::new();
    for sample in fixture::samples::samples() {
        for text in &sample.input().answer {
            for sentence in text.split(". ") {
                let words = sentence.split_whitespace().count();
                if words > SENTENCE_WORDS_MAX {
                    all.entry(format!("{words} words: {sentence}")).or_insert(sample.name);
                }
            }
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}
