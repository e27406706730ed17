//! What holds of every importer: what it makes of outputs that were recorded, and of whatever text.

use std::collections::BTreeSet;

use super::testing::{fixtures, same_or_refused};
use super::*;
use base::stats::testing::{Random, long};
use experiment::knob::{KNOBS, Settings};

/// Which tools a text looks like.
fn names_of(text: &str) -> Vec<&'static str> {
    knowing(text).iter().map(|importer| importer.name).collect()
}

#[test]
fn every_importer_is_named_once_says_what_it_reads_and_has_a_recorded_output_that_only_it_knows() {
    let fixtures = fixtures();
    for (at, importer) in IMPORTERS.iter().enumerate() {
        let name = importer.name;
        assert_eq!(IMPORTERS.iter().position(|other| other.name == name), Some(at), "{name}");
        assert!(!importer.about.is_empty() && !importer.about.ends_with('.'), "{name}");
        assert!(fixtures.iter().any(|(of, ..)| of.name == name), "{name}");
    }
    for (importer, name, text) in &fixtures {
        assert_eq!(names_of(text), [importer.name], "{name}");
        for of in IMPORTERS.iter().filter(|of| of.name != importer.name) {
            assert!((of.parse)(text).is_err(), "{} read {name}", of.name);
        }
        // Nothing of the place where it was recorded.
        for word in ["/tmp/", "/root/", "/home/", "/peers"] {
            assert!(!text.contains(word), "{name} has {word}");
        }
    }
    assert!(knowing("elephant\n").is_empty());
}

/// The table of the docs says of which versions an output was recorded: of those, and no others.
#[test]
fn every_form_names_the_versions_that_were_recorded() {
    let fixtures = fixtures();
    for importer in IMPORTERS {
        let recorded = || importer.forms.iter().flat_map(|form| form.recorded);
        let files = fixtures.iter().filter(|(of, ..)| of.name == importer.name);
        let versions: Vec<&str> =
            files.map(|(_, name, _)| &name[importer.name.len() + 1..]).collect();
        for version in recorded() {
            let is_of = |name: &&str| {
                name.strip_prefix(version).is_some_and(|rest| rest.starts_with(['-', '.']))
            };
            assert!(versions.iter().any(is_of), "{} {version}", importer.name);
        }
        for name in versions.into_iter().filter(|name| !name.contains("refused")) {
            assert!(
                recorded().any(|version| name.starts_with(version)),
                "{} has no form for {name}",
                importer.name
            );
        }
        for form in importer.forms {
            for words in [form.bring, form.read, form.not_read] {
                assert!(
                    !words.ends_with('.') && !words.contains('|'),
                    "{}: {words}",
                    importer.name
                );
            }
            assert!(!form.bring.is_empty() && !form.read.is_empty(), "{}", importer.name);
        }
        assert!(importer.words.len() > 2 && !importer.mark.is_empty(), "{}", importer.name);
    }
}

/// An output without what it is known by was "the output of no tool that is known".
#[test]
fn a_text_that_none_knows_is_nearest_to_the_tool_whose_words_it_has() {
    let mut told = BTreeSet::new();
    for (importer, name, text) in fixtures() {
        // A line of numbers alone is near to none.
        let Some(near) = nearest(&text) else { continue };
        assert_eq!(near.name, importer.name, "{name}");
        told.insert(near.name);
    }
    assert!(told.len() + 3 > IMPORTERS.len(), "{told:?}");
    assert!(nearest("elephant\n").is_none());
}

#[test]
fn every_figure_has_a_name_that_no_figure_of_ours_has_and_a_printed_form() {
    for (importer, name, text) in fixtures() {
        let Ok(all) = (importer.parse)(&text) else {
            assert!(name.contains("refused"), "{name} cannot be read");
            continue;
        };
        for said in all {
            let has_some = !said.figures.is_empty() || !said.series.is_empty();
            assert!(has_some || !said.histograms.is_empty(), "{name}");
            let mut seen = BTreeSet::new();
            for figure in &said.figures {
                assert!(seen.insert(figure.name.clone()), "{name}: {} twice", figure.name);
                assert!(figure.value.is_finite() && !figure.printed.is_empty(), "{figure:?}");
            }
            let known: Vec<&str> = KNOBS.iter().map(|knob| knob.name).collect();
            assert!(said.settings.keys().all(|key| known.contains(&key.as_str())), "{name}");
            let told = Settings::from_json(importer.name, &Json::Object(said.settings.clone()));
            assert_eq!(told.iter().count(), said.settings.len(), "{name}: {:?}", said.settings);
        }
    }
}

/// A fixture cut at every byte gives an error, or the complete results before the cut.
#[test]
fn no_cut_of_an_output_panics_or_yields_a_figure_that_the_whole_has_not() {
    // Of snapshots of one run the last is the result; before a cut there is another last. A log has
    // no end that could be missing.
    let is_open = |name: &str| name.contains("snapshots") || name.contains("-logs-");
    for (importer, name, text) in fixtures().into_iter().filter(|it| !is_open(&it.1)) {
        let whole = (importer.parse)(&text).unwrap_or_default();
        for end in 0..text.len() {
            let cut = String::from_utf8_lossy(&text.as_bytes()[..end]);
            if let Ok(some) = (importer.parse)(&cut) {
                assert!(whole.starts_with(&some), "{name} cut at {end}: {some:?}");
            }
        }
    }
}

/// What may stand in place of a number.
const WORDS: [&str; 12] = [
    "-1",
    "1e400",
    "-1e400",
    "NaN",
    "inf",
    "0x10",
    "",
    "18446744073709551616",
    "99999999999999999999g",
    "+++++",
    "\u{fffd}",
    "\n{\n",
];

fn broken(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let below = |random: &mut Random, many: usize| {
        ((random.uniform() * many as f64) as usize).min(many.saturating_sub(1))
    };
    for _ in 0..=below(random, 4) {
        let at = below(random, bytes.len());
        match below(random, 5) {
            0 => bytes.truncate(at),
            1 => bytes[at] = below(random, 256) as u8,
            2 => {
                let end = (at + below(random, 200)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let end = (at + below(random, 400)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let is_number = |byte: &u8| byte.is_ascii_digit();
                let Some(from) = bytes[at..].iter().position(is_number) else { continue };
                let from = at + from;
                let long = bytes[from..].iter().take_while(|byte| is_number(byte)).count();
                let word = WORDS[below(random, WORDS.len())].bytes();
                bytes.splice(from..from + long, word);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn no_broken_output_panics_or_yields_a_figure_that_is_none() {
    let rounds = if long() { 300 } else { 60 };
    let mut random = Random::new(20_261_122);
    for (importer, name, text) in fixtures() {
        for round in 0..rounds {
            let text = broken(&text, &mut random);
            let _ = knowing(&text);
            for said in (importer.parse)(&text).unwrap_or_default() {
                for figure in &said.figures {
                    assert!(figure.value.is_finite(), "{name}, round {round}: {figure:?}");
                }
                let _ = Settings::from_json(importer.name, &Json::Object(said.settings));
            }
        }
    }
}

/// What people paste: from terminals of Windows and of `script`, out of mails and of logs.
#[test]
fn an_output_that_was_wrapped_gives_the_same_figures() {
    for (importer, name, text) in fixtures() {
        let whole = importer.read(&text);
        let lines = |before: &str, after: &str| -> String {
            text.lines().map(|line| format!("{before}{line}{after}\n")).collect()
        };
        for (how, wrapped) in [
            ("Windows", lines("", "\r")),
            ("script", lines("", "\r\r")),
            ("colours", lines("\u{1b}[0m", "\u{1b}[K")),
            ("a quote", lines("> ", "")),
            ("a log", lines("[2026-05-18 08:43:50] ", "")),
            ("a container", lines("2026-05-18T08:43:50.123456Z stdout F ", "")),
            ("syslog", lines("May 18 08:43:50 node7 tool[4711]: ", "")),
            ("a byte-order mark", format!("\u{feff}{text}")),
        ] {
            let printed = as_printed(&wrapped);
            assert_eq!(importer.read(&printed), whole, "{name} in {how}");
            if whole.is_ok() {
                assert_eq!(names_of(&printed), [importer.name], "{name} in {how}");
            }
        }
    }
}

/// Editors take blanks away and put empty lines in.
#[test]
fn blanks_at_the_end_say_nothing() {
    let (mut tried, mut kept) = (0, 0);
    for (importer, name, text) in fixtures().into_iter().filter(|it| !it.1.contains("refused")) {
        let lines = |end: &str| -> String {
            text.lines().map(|line| format!("{}{end}\n", line.trim_end())).collect()
        };
        for perturbed in [lines("  "), lines(""), format!("\n\n{text}\n\n")] {
            tried += 1;
            match same_or_refused(importer, &text, &perturbed, 0.0) {
                true => kept += 1,
                false => assert!(perturbed.contains("  \n"), "{name} is refused"),
            }
        }
    }
    assert!(kept * 10 > tried * 9, "{kept} of {tried}");
}
