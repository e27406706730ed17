//! Findings in one sentence.

use super::{FINDINGS_MAX, Limit, ShortFinding, SummaryFigure, longer};
use crate::analysis::{Finding, Severity, bottleneck, cache, integrity, words};
use experiment::campaign::Campaign;
use experiment::measurement::limit::Resource;
use experiment::published;

/// A sentence of a good manual is no longer, words.
const WORDS_MAX: usize = 25;

/// What the first screen says already, in its own way: of disturbances in the verdict on trust, and
/// of what was measured how often.
const SAID: &[&str] = &["notes", "noise", "failures"];

/// In the order of what they are worth to whoever reads only a few; those that are not here come
/// last.
const WORTH: &[&str] = &[
    "integrity",
    "power-cut",
    "effects",
    "best",
    "scaling",
    "depth",
    "cache",
    "durability",
    "tail",
    "block-size",
    "cost",
    "bottleneck",
    "steadiness",
];

/// The few that are worth most, each cut to a sentence; those that cannot be are left to the text.
pub fn short_findings(
    findings: &[Finding],
    figures: &[SummaryFigure],
    limit: Option<&Limit>,
    campaign: &Campaign,
) -> Vec<ShortFinding> {
    // What is not decided or not known is no news, nor that what was written is as safe as it
    // seems, that memory is fast and limited by copying, that trials had settled, or that requests
    // one by one wait for each other.
    let usual = |it: &Finding| {
        let of_course = [Resource::Latency, Resource::Copying, Resource::Unknown];
        let of_course = of_course.iter().any(|one| it.limit.as_deref() == Some(one.name()));
        it.severity == Severity::Info
            && (["durability", "cache", "steadiness"].contains(&it.question) || of_course)
    };
    // Where the bytes of a figure came from stands beside it.
    let beside = |it: &Finding| {
        let warns = |figure: &&SummaryFigure| !figure.caveat.is_empty();
        let is_told =
            |trial: &u32| figures.iter().filter(warns).any(|figure| figure.trials.contains(trial));
        it.question == cache::QUESTION.name
            && !it.evidence.is_empty()
            && it.evidence.iter().all(is_told)
    };
    let news = |it: &&Finding| !it.open && !usual(it) && !beside(it);
    let of_others = findings.iter().filter(|it| !SAID.contains(&it.question));
    let mut all: Vec<&Finding> = of_others.filter(news).collect();
    let worth = |it: &Finding| {
        // That a power cut loses what nothing flushed is as it should be, and no answer of a speed.
        let expected = it.question == "power-cut" && it.severity == Severity::Info;
        let known = WORTH.iter().position(|name| *name == it.question).filter(|_| !expected);
        known.unwrap_or(WORTH.len())
    };
    all.sort_by_key(|it| (it.severity != Severity::Error, worth(it)));
    let mut told: Vec<ShortFinding> = Vec::new();
    for finding in all {
        // What limits the first figure has a line of its own.
        let is_said = finding.question == bottleneck::QUESTION.name
            && limit.is_some_and(|limit| finding.limit.as_ref() == Some(&limit.name));
        let of_question = told.iter().filter(|it| it.question == finding.question).count();
        let Some(text) = shortened(&finding.claim).filter(|_| !is_said && of_question < 2) else {
            continue;
        };
        // As of reading around the page cache and through it.
        if told.iter().any(|it| it.text == text) {
            continue;
        }
        told.push(ShortFinding {
            question: finding.question,
            severity: finding.severity,
            text,
            advice: finding.advice.clone().or_else(|| otherwise(finding, campaign)),
            command: finding.command.clone(),
        });
        if told.len() == FINDINGS_MAX {
            break;
        }
    }
    told
}

/// What to do where the finding does not say: more of the same narrows what was measured here, and
/// of what others reported the tables tell all.
fn otherwise(finding: &Finding, campaign: &Campaign) -> Option<String> {
    if finding.command.is_some() {
        return None;
    }
    let reported = campaign.engine == published::ENGINE
        || campaign.inventory.get("imported").is_some()
        || finding.question == integrity::QUESTION.name;
    Some(match reported {
        true => format!("all of it: `brickyard report {} --format text`", campaign.id),
        false => words::lower(longer::advice(campaign).trim_end_matches('.')),
    })
}

/// The first sentence of a claim without what stands in brackets; `None` where that is too long.
pub fn shortened(claim: &str) -> Option<String> {
    let bare = without_brackets(claim);
    let first = match bare.find(". ") {
        Some(end) => &bare[..=end],
        None => &bare,
    };
    let first = first.trim();
    (!first.is_empty() && first.split_whitespace().count() <= WORDS_MAX).then(|| first.to_owned())
}

fn without_brackets(text: &str) -> String {
    let (mut depth, mut bare) = (0_usize, String::with_capacity(text.len()));
    for letter in text.chars() {
        match letter {
            '(' => {
                depth += 1;
                // The space before it goes with it.
                if bare.ends_with(' ') {
                    bare.pop();
                }
            }
            ')' if depth > 0 => depth -= 1,
            _ if depth == 0 => bare.push(letter),
            _ => {}
        }
    }
    bare
}
