//! (pure) What was not measured and why: every reason once, with the trials that it befell.

use maud::{Markup, html};

use super::fold::folded;
use super::{explorer, sql, tables};
use crate::report::Input;
use base::value::{self, counted};

/// Reasons that have a row; a campaign that fails in more ways is told of in the other formats.
const REASONS_MAX: usize = 40;
/// Trials that are linked of each.
const LINKED_MAX: usize = 12;
/// Letters of a reason: what a program said last may be long.
const LETTERS_MAX: usize = 400;

/// One reason why trials were not measured, with their numbers.
struct FailureReason<'a> {
    outcome: &'static str,
    why: &'a str,
    trials: Vec<u32>,
}

/// The section; `None` where every trial was done.
pub fn section(input: &Input<'_>) -> Option<Markup> {
    let reasons = reasons(input);
    let lost: usize = reasons.iter().map(|reason| reason.trials.len()).sum();
    let more = reasons.len().saturating_sub(REASONS_MAX);
    let table = html! {
        table {
            thead { tr {
                th scope="col" { "outcome" } th.number scope="col" { "trials" }
                th scope="col" { "why" } th scope="col" { "which" }
            } }
            tbody { @for reason in reasons.iter().take(REASONS_MAX) { (row(reason)) } }
        }
    };
    (lost > 0).then(|| {
        let body = html! {
                p.quiet {
                    (value::count(lost as u64)) " of " (value::count(input.records.len() as u64))
                    @if input.records.len() == 1 { " trial" } @else { " trials" }
                    @if lost == 1 {
                        " was not measured. It has no figures, and none was put in its place."
                    } @else {
                        " were not measured. They have no figures, and none was put in their place."
                    }
                }
                (tables::boxed("Failures", &table))
                (sql::of_failures(input))
                @if more == 1 { p { "One more reason is in the table of trials." } }
                @if more > 1 { p { (more) " more reasons are in the table of trials." } }
        };
        let gist = format!("{} without a result", counted(lost as u64, "trial"));
        folded("failures", "Failures", &gist, &body)
    })
}

fn row(reason: &FailureReason<'_>) -> Markup {
    let why: String = reason.why.chars().take(LETTERS_MAX).collect();
    html! { tr {
        th scope="row" { (reason.outcome) }
        td.number { (value::count(reason.trials.len() as u64)) }
        td.wraps { (tables::coded(&why)) @if why.len() < reason.why.len() { "\u{2026}" } }
        td.wraps {
            (tables::linked(&reason.trials, LINKED_MAX))
            " "
            button.link.select type="button" hidden
                data-says=(format!("{}: {}", reason.outcome, reason.trials.len()))
                data-trials=(explorer::spans(&reason.trials)) { "Show only these" }
        }
    } }
}

/// Each reason once, those of most trials first.
fn reasons<'a>(input: &'a Input<'_>) -> Vec<FailureReason<'a>> {
    let mut reasons: Vec<FailureReason<'a>> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for record in input.records {
        let Some(why) = record.outcome.why() else { continue };
        let outcome = record.outcome.name();
        let place = *known.entry((outcome, why)).or_insert_with(|| {
            reasons.push(FailureReason { outcome, why, trials: Vec::new() });
            reasons.len() - 1
        });
        reasons[place].trials.push(record.trial.number);
    }
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.trials.len()));
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;
    use experiment::measurement::Outcome;

    #[test]
    fn each_reason_stands_once_with_its_trials() {
        let mut fixture = fixture::evaluated();
        for row in 0..20 {
            fixture.records[row].outcome = Outcome::Failed("the disk hung".into());
        }
        fixture.records[20].outcome = Outcome::Interrupted;
        let section = section(&fixture.input()).unwrap().into_string();
        assert_eq!(section.matches("the disk hung").count(), 1, "{section}");
        assert_eq!(section.matches("<tr>").count(), 4, "a head and three reasons");
        assert!(section.contains("and 8 more"));
        let first = section.find("the disk hung").unwrap();
        assert!(first < section.find("No space left").unwrap(), "most trials first");
        assert!(section.contains("22 of 129 trials were not measured"));
    }

    #[test]
    fn there_is_no_section_where_all_was_measured() {
        let fixture = fixture::names();
        assert!(section(&fixture.input()).is_none());
    }
}
