//! (pure) What was found in about twelve lines, to show to strangers: no name of the machine and no
//! directory stands in it.

use super::lines::folded;
use super::nature::Nature;
use super::{Input, screen, words};
use crate::analysis::summary::{Summary, SummaryFigure, about};

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
    let nature = Nature::of_campaign(input.campaign).line();
    let mut lines = screen::answer(&summary, WIDTH);
    let caveats = caveats.into_iter().map(|(it, of)| format!("{}: {it}", of.join(", ")));
    let left_out = words::left_out(&input.campaign.left_out);
    for told in caveats.chain(left_out) {
        lines.extend(folded("  ! ", &told, WIDTH));
    }
    format!("{nature}{}\n{}\n", lines.join("\n"), made_by(input))
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
            assert!(told.lines().count() <= 20, "{told}");
            assert!(is_ours(b"", told.as_bytes()), "{told}");
        }
    }
}
