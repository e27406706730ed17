//! The first screen of a page: the verdict, the figures, and the few findings that are worth most.

use maud::{Markup, html};

use super::{chart, tables};
use crate::analysis::summary::{ShortFinding, SummaryFigure};
use crate::report::{Input, screen};

/// All of it.
pub fn section(input: &Input<'_>) -> Markup {
    let summary = &input.summary;
    let nothing = summary.figures.is_empty() && summary.said.is_empty();
    html! {
        section.answer aria-labelledby="answer" {
            h2 #answer { "The answer" }
            div.beside { div {
            @if let Some(trust) = &summary.confidence {
                p.trust data-level=(trust.level.name()) {
                    strong { "Confidence " (trust.level.name()) ":" } " "
                    (tables::coded(&trust.reason))
                    @if let Some(advice) = &trust.advice { " " (tables::coded(advice)) }
                }
            }
            @for sentence in &summary.said { p { (tables::coded(sentence)) } }
            @if nothing { p { "Nothing was measured that would allow an answer." } }
            @if !summary.figures.is_empty() {
                table.summary {
                    thead.hidden { tr {
                        th scope="col" { "figure" } th scope="col" { "value" }
                        th scope="col" { "load" } th scope="col" { "95 % interval" }
                    } }
                    tbody {
                        @for figure in &summary.figures { (row(figure)) }
                        @if let Some(limit) = &summary.limit { tr {
                            th scope="row" { "limit" }
                            td.limit colspan="3" { (tables::coded(&limit.text)) }
                        } }
                    }
                }
            }
            }
            @if let Some(chart) = chart::section(input) { (chart) }
            }
            @if !summary.findings.is_empty() {
                ul.short { @for finding in &summary.findings { (short(finding)) } }
            }
        }
    }
}

fn row(figure: &SummaryFigure) -> Markup {
    html! {
        tr {
            th scope="row" { (figure.label) }
            td.value { (screen::told(figure)) }
            td.load { (figure.load) }
            // A phone has no room for the load, and must show this.
            td.known {
                (screen::known(figure))
                @if !figure.caveat.is_empty() { span.caveat { (figure.caveat) } }
            }
        }
    }
}

fn short(finding: &ShortFinding) -> Markup {
    html! {
        li {
            (tables::coded(&finding.text))
            @if let Some(advice) = &finding.advice { " " span.advice { (tables::coded(advice)) } }
            @if let Some(command) = &finding.command { " " code.command { (command) } }
        }
    }
}
