//! (pure) What was found in at most twelve lines, to show to strangers: no name of the machine and
//! no directory stands in it.

use super::lines::folded;
use super::nature::Nature;
use super::{Input, screen, words};
use crate::analysis::summary::{Summary, SummaryFigure, about};
use facts::bare;

/// A forum shows so many letters of a line without a bar to scroll by.
const WIDTH: usize = 80;

/// What made it, at its end.
const MADE_BY: &str = "Measured with Brickyard ";

/// The whole block.
///
/// # Errors
/// None; a format may have some.
pub fn render(input: &Input<'_>) -> Result<String, serde_json::Error> {
    Ok(block(input))
}

/// The whole block.
pub fn block(input: &Input<'_>) -> String {
    let mut summary = shown(input);
    let caveats = caveats(&summary.figures);
    summary.figures.iter_mut().for_each(|figure| figure.caveat.clear());
    let noted = |told: &mut dyn Iterator<Item = String>| -> Vec<String> {
        told.flat_map(|it| folded("  ! ", &it, WIDTH)).collect()
    };
    let part = |worth: u8, lines: Vec<String>| ShareSection { worth, lines };
    let nature = Nature::of_campaign(input.campaign).line();
    let said = summary.said.iter().flat_map(|said| folded("", said, WIDTH));
    let trust = summary.confidence.iter().flat_map(|it| screen::trust(it, WIDTH));
    let mut parts = vec![
        part(9, nature.lines().map(str::to_owned).collect()),
        part(8, screen::heading(&summary, WIDTH)),
        part(3, said.collect()),
        part(4, trust.collect()),
        part(0, vec![String::new()]),
    ];
    for line in screen::figures(&summary, WIDTH) {
        let begins = !line.starts_with("   ");
        match parts.last_mut().filter(|_| !begins) {
            Some(row) => row.lines.push(line),
            None => parts.push(part(if line.starts_with("  limit") { 5 } else { 7 }, vec![line])),
        }
    }
    let caveats = caveats.into_iter().map(|(it, of)| format!("{}: {it}", of.join(", ")));
    parts.push(part(6, noted(&mut caveats.into_iter())));
    parts.push(part(1, noted(&mut words::left_out(&input.campaign.left_out).into_iter())));
    parts.push(part(9, vec![made_by(input)]));
    parts.retain(|part| !part.lines.is_empty());
    // Where no figure follows, nothing is set apart.
    if !parts.iter().any(|part| part.worth == 7) {
        parts.retain(|part| part.worth != 0);
    }
    fit(&mut parts);
    parts.into_iter().flat_map(|part| part.lines).collect::<Vec<_>>().join("\n") + "\n"
}

/// So many lines a block has at most.
const LINES_MAX: usize = 12;

/// Lines of the shared text that stand together.
struct ShareSection {
    /// What is worth less makes room first: below [`NEEDED`] it may be left out whole, from there
    /// on it is cut to a line, and left out only where that is not enough, below [`ALWAYS`].
    worth: u8,
    lines: Vec<String>,
}

const NEEDED: u8 = 2;
const ALWAYS: u8 = 6;

/// Makes room: what is worth least ends earlier.
fn fit(parts: &mut Vec<ShareSection>) {
    while parts.iter().map(|part| part.lines.len()).sum::<usize>() > LINES_MAX {
        let least = |may: &dyn Fn(&ShareSection) -> bool| {
            let able = parts.iter().enumerate().filter(|(_, part)| may(part));
            able.min_by_key(|(_, part)| part.worth).map(|(place, _)| place)
        };
        let place = least(&|part| part.lines.len() > 1 || part.worth < NEEDED);
        let Some(place) = place.or_else(|| least(&|part| part.worth < ALWAYS)) else { break };
        let lines = &mut parts[place].lines;
        lines.pop();
        match lines.last_mut() {
            Some(last) => *last = cut(last),
            None => drop(parts.remove(place)),
        }
    }
}

/// A line that went on.
fn cut(line: &str) -> String {
    let line = line.trim_end_matches("...").trim_end_matches([' ', ',', ';']);
    match line.chars().count() + 3 > WIDTH {
        true => line.rsplit_once(' ').map_or("...".to_owned(), |(all, _)| format!("{all} ...")),
        false => format!("{line}..."),
    }
}

/// What made it, and which of it.
pub fn made_by(input: &Input<'_>) -> String {
    format!("{MADE_BY}{}", input.campaign.version)
}

/// The first screen as strangers may see it.
pub fn shown(input: &Input<'_>) -> Summary {
    let mut summary = input.summary.clone();
    summary.subject = about(input.campaign);
    let names = names(input);
    let nameless = |text: &mut String| {
        for (name, instead) in &names {
            *text = replaced(text, name, instead);
        }
    };
    summary.said.iter_mut().for_each(nameless);
    for figure in &mut summary.figures {
        nameless(&mut figure.caveat);
        nameless(&mut figure.load);
    }
    summary.limit.iter_mut().for_each(|limit| nameless(&mut limit.text));
    if let Some(confidence) = &mut summary.confidence {
        nameless(&mut confidence.reason);
        // What its reader could do about it, others cannot.
        confidence.advice = None;
    }
    summary
}

/// Names that are nobody's business, with what stands for them; the longest first, as one may be
/// another's beginning.
fn names(input: &Input<'_>) -> Vec<(String, &'static str)> {
    let directories = input.records.iter().flat_map(|it| it.trial.settings.directories());
    let mut names: Vec<(String, &str)> =
        directories.map(|name| (name.clone(), "the directory")).collect();
    // A serial number tells whose disk it is.
    let targets = input.records.iter().flat_map(|it| it.trial.settings.directories());
    names.extend(targets.filter_map(|it| Some((bare::device(it)?.to_owned(), "the device"))));
    names.push((input.campaign.host.clone(), "the machine"));
    // One letter is a word of its own too often.
    names.retain(|(name, _)| name.len() > 1);
    names.sort_by_key(|(name, _)| (std::cmp::Reverse(name.len()), name.clone()));
    names.dedup();
    names
}

/// A text in which `name`, where it stands as a word of its own, is replaced.
fn replaced(text: &str, name: &str, instead: &str) -> String {
    let inner = |letter: char| letter.is_alphanumeric() || letter == '-';
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        told.push_str(before);
        let in_word = told.ends_with(inner) || after.starts_with(inner);
        told.push_str(if in_word { name } else { instead });
        rest = after;
    }
    told + rest
}

/// Each caveat once, with the figures that it is of.
fn caveats(figures: &[SummaryFigure]) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for figure in figures.iter().filter(|figure| !figure.caveat.is_empty()) {
        match all.iter_mut().find(|(caveat, _)| *caveat == figure.caveat) {
            Some((_, of)) => of.push(figure.label.clone()),
            None => all.push((figure.caveat.clone(), vec![figure.label.clone()])),
        }
    }
    all
}

/// Whether a file is such a block, of whatever version.
pub fn is_ours(_: &[u8], end: &[u8]) -> bool {
    let end = String::from_utf8_lossy(end).into_owned();
    end.lines().last().is_some_and(|line| line.starts_with(MADE_BY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::samples::samples;

    /// "Twelve lines for a forum" were up to twenty.
    #[test]
    fn room_is_made_by_what_is_worth_least() {
        let part = |worth, lines: &[&str]| ShareSection {
            worth,
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        let mut parts = vec![
            part(8, &["server"]),
            part(4, &["Confidence LOW: runs differ,", "and more", "and more"]),
            part(0, &[""]),
            part(7, &["  read", "  97 to 99"]),
            part(7, &["  write"]),
            part(5, &["  limit the device", "and its link"]),
            part(6, &["  ! read: may be a cache's"]),
            part(1, &["  ! left out: 3 loads", "and 4", "and 5"]),
            part(9, &["Measured"]),
        ];
        fit(&mut parts);
        let told: Vec<&str> =
            parts.iter().flat_map(|part| &part.lines).map(String::as_str).collect();
        assert_eq!(told.len(), LINES_MAX, "{told:?}");
        assert!(told.contains(&"  ! left out: 3 loads..."), "{told:?}");
        assert!(told.contains(&"  97 to 99"), "{told:?}");
        parts.extend((0..3).map(|_| part(7, &["  more"])));
        fit(&mut parts);
        let told: Vec<&str> =
            parts.iter().flat_map(|part| &part.lines).map(String::as_str).collect();
        assert!(
            told.len() == LINES_MAX && !told.iter().any(|it| it.contains("left out")),
            "{told:?}"
        );
        assert!(told.contains(&"Confidence LOW: runs differ..."), "{told:?}");
        assert!(told.contains(&"  ! read: may be a cache's"), "{told:?}");
        assert_eq!(cut(&"word ".repeat(16)), format!("{}...", "word ".repeat(15)));
    }

    /// A machine called `ar` was "the machine chive" in an archive.
    #[test]
    fn names_are_replaced_where_they_are_words() {
        let of = |text: &str| replaced(text, "ar", "the machine");
        assert_eq!(of("ar"), "the machine");
        assert_eq!(of("on ar, an archive, by ar."), "on the machine, an archive, by the machine.");
        assert_eq!(of("ar-1 is not ar; sonar neither"), "ar-1 is not the machine; sonar neither");
        assert_eq!(replaced("in /srv/a/b or /srv/a", "/srv/a", "it"), "in it/b or it");
        assert_eq!(replaced("ärar", "ar", "x"), "ärar");
    }

    /// A first screen that was pasted into a forum told everybody the machine's name and where its
    /// owner keeps what.
    #[test]
    fn strangers_learn_neither_the_machine_s_name_nor_a_directory_s() {
        for sample in samples() {
            let input = sample.input();
            let told = block(&input);
            let (host, plan) = (&input.campaign.host, &input.campaign.plan);
            assert!(host.is_empty() || host == plan || !told.contains(host.as_str()), "{told}");
            for directory in input.records.iter().flat_map(|it| it.trial.settings.directories()) {
                assert!(!told.contains(directory.as_str()), "{directory} in {told}");
            }
            assert!(told.lines().all(|line| line.chars().count() <= WIDTH), "{told}");
            assert!(told.lines().count() <= LINES_MAX, "{}: {told}", sample.name);
            // What makes room is never a figure, nor that one may be a cache's.
            for figure in &input.summary.figures {
                assert!(told.contains(&format!("\n  {}", figure.label)), "{told}");
            }
            let doubted = input.summary.figures.iter().any(|figure| !figure.caveat.is_empty());
            assert!(!doubted || told.contains("\n  ! "), "{}: {told}", sample.name);
            assert!(is_ours(b"", told.as_bytes()), "{told}");
        }
    }
}
