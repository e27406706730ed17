//! (pure) The sections of the page, from top to bottom.

use maud::{Markup, html};

use super::figures::Figure;
use super::fold::folded;
use super::panel::{Panel, PanelKind};
use super::saving::saving;
use super::timelines::Timeline;
use super::{explorer, inventory, sql, tables, topology};
use crate::analysis::words::RANGES;
use crate::analysis::{Finding, Severity};
use crate::report::cells::{self, FigureOrigin};
use crate::report::nature::Nature;
use crate::report::{Input, reported, words};
use base::value::counted;

/// Title, what this is, contents.
pub fn header(input: &Input<'_>, title: &str, checked: bool, explored: bool) -> Markup {
    let campaign = input.campaign;
    let done = input.records.iter().filter(|r| r.outcome.measurement().is_some()).count();
    html! {
        header {
            h1 { (title) }
            p.quiet {
                (input.summary.subject) ", " (input.summary.when) ". "
                (done) " of " (counted(input.records.len() as u64, "trial")) " done, campaign "
                (campaign.id) "."
                @if Nature::of_campaign(campaign) == Nature::Simulated {
                    " " strong { "A simulated server, not a real one." }
                }
            }
            nav aria-label="Contents" {
                @if checked { a href="#integrity" { "Integrity" } " " }
                a href="#figures" { "Figures" } " "
                a href="#findings" { "Findings" } " "
                @if explored { a href="#explore" { "Explore" } " " }
                @for (id, name) in [
                    ("timelines", "Timelines"),
                    ("results", "Results"), ("trials", "Trials"), ("server", "Server"),
                    ("settings", "Settings"), ("repeat", "Repeat it"), ("share", "Share"),
                ] { a href=(format!("#{id}")) { (name) } " " }
            }
        }
    }
}

/// What the analysis claims, the gravest first, with what it rests on.
pub fn findings(findings: &[Finding]) -> Markup {
    let mut gravest: Vec<&Finding> = findings.iter().collect();
    gravest.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let warnings = gravest.iter().filter(|it| it.severity != Severity::Info).count();
    let gist = match warnings {
        0 => counted(gravest.len() as u64, "finding"),
        some => format!(
            "{}, {}",
            counted(gravest.len() as u64, "finding"),
            counted(some as u64, "warning")
        ),
    };
    let body = html! {
        @if findings.is_empty() { p { "None." } } @else { p.note { (RANGES) } }
        ul.findings { @for finding in gravest { (one_finding(finding)) } }
    };
    folded("findings", "Findings", &gist, &body)
}

fn one_finding(finding: &Finding) -> Markup {
    const SHOWN: usize = 12;
    let (class, severity) = match finding.severity {
        Severity::Info => ("info", "Info"),
        Severity::Warning => ("warning", "Warning"),
        Severity::Error => ("error", "Error"),
    };
    html! {
        li class=(class) {
            p.kind { span.severity { (severity) } " " (finding.question)
                @if let Some(limit) = &finding.limit { ", limit: " (limit) }
            }
            p { (tables::coded(&finding.claim)) }
            @if !finding.details.is_empty() {
                p.details { @for detail in &finding.details { (tables::coded(detail)) " " } }
            }
            @if let Some(advice) = &finding.advice { p.advice { (tables::coded(advice)) } }
            @if let Some(command) = &finding.command { p { code.command { (command) } } }
            @if !finding.evidence.is_empty() {
                p.evidence {
                    @if finding.evidence.len() == 1 { "Rests on trial " }
                    @else { "Rests on trials " }
                    (tables::linked(&finding.evidence, SHOWN))
                    ". "
                    button.link.select type="button" hidden
                        data-trials=(explorer::spans(&finding.evidence)) {
                        @if finding.evidence.len() == 1 { "Show only this one" }
                        @else { "Show only these " (finding.evidence.len()) }
                    }
                }
            }
        }
    }
}

/// Of many figures the first are seen at once.
const OPEN: usize = 2;
/// So many lines of legends fit onto the two pages of paper that they share with the answer.
const LEGENDS_MAX: usize = 14;

/// Those that are seen at once, those that are folded, and those that were not measured. What was
/// `checked` of the bytes takes the room of one.
fn parted(figures: &[Figure], checked: bool) -> (Vec<&Figure>, Vec<&Figure>, Vec<&Figure>) {
    let (mut drawn, missing): (Vec<&Figure>, Vec<&Figure>) =
        figures.iter().partition(|figure| !figure.panels.is_empty());
    let legend = |figure: &&Figure| figure.panels.iter().map(|it| it.traces.len()).max();
    let legends: usize = drawn.iter().take(OPEN).filter_map(legend).sum();
    let open = if checked || legends > LEGENDS_MAX { 1 } else { OPEN };
    let more = drawn.split_off(open.min(drawn.len()));
    (drawn, more, missing)
}

/// Places for the first figures, with their text alternatives, and what `sql` there is of a panel.
pub fn drawings(
    figures: &[Figure],
    checked: bool,
    sql: &dyn Fn(&Panel) -> Option<Markup>,
) -> Markup {
    let (first, ..) = parted(figures, checked);
    html! {
        section aria-labelledby="figures" {
            h2 #figures { "Figures" }
            noscript { p.missing {
                "Figures are drawn by a script, which is off. "
                "Their data is in the tables below each."
            } }
            @if first.is_empty() { p { "This plan varied nothing that a figure could show." } }
            @for figure in first { (drawing(figure, sql)) }
        }
    }
}

/// The same of the others; `None` where there are none.
pub fn more_drawings(
    figures: &[Figure],
    checked: bool,
    sql: &dyn Fn(&Panel) -> Option<Markup>,
) -> Option<Markup> {
    let (_, more, missing) = parted(figures, checked);
    let gist = match missing.len() {
        0 => counted(more.len() as u64, "figure"),
        some => format!("{}, {some} not measured", counted(more.len() as u64, "figure")),
    };
    let body = html! { @for figure in more.iter().chain(&missing) { (drawing(figure, sql)) } };
    let any = !more.is_empty() || !missing.is_empty();
    any.then(|| folded("more-figures", "More figures", &gist, &body))
}

fn drawing(figure: &Figure, sql: &dyn Fn(&Panel) -> Option<Markup>) -> Markup {
    let caption = format!("{}-caption", figure.id);
    html! {
        figure id=(figure.id) aria-labelledby=(caption) {
            figcaption #(caption) {
                h3 { (figure.title) }
                @if !figure.about.is_empty() { p.quiet { (figure.about) } }
            }
            @if figure.panels.is_empty() {
                p.missing { (tables::coded(&figure.message)) }
            } @else {
                @let lines = figure.panels.iter().all(|panel| panel.kind == PanelKind::Lines);
                div.panels.lines[lines] {
                    @for panel in &figure.panels {
                        div.plot id=(panel.id) role="img" data-plot=(panel.id)
                            aria-label=(format!("{}. {}", figure.title, figure.message)) {}
                    }
                }
                @let drawn: Vec<(&str, &str)> = figure
                    .panels
                    .iter()
                    .map(|panel| (panel.id.as_str(), panel.y.title.as_str()))
                    .collect();
                (saving(&drawn))
                details {
                    summary { "In words and numbers" }
                    p { (figure.message) }
                    @for panel in &figure.panels {
                        h4 { (panel.y.title) }
                        (tables::panel(panel))
                        @if let Some(sql) = sql(panel) { (sql) }
                    }
                }
            }
        }
    }
}

/// The picker of timelines.
pub fn courses(timelines: &[Timeline], without: usize) -> Markup {
    let body = html! {
            p.quiet {
                "One trial from start to end, and under it what the kernel counted meanwhile. "
                "Between the vertical lines all streams were running: only that time counts. "
                "Trials that findings rest on come first."
                @if without == 1 { " One more trial is in the store only." }
                @if without > 1 { " " (without) " more trials are in the store only." }
            }
            @if timelines.is_empty() {
                p.missing { "No trial was long enough to be sampled more than once." }
            } @else {
                noscript { p.missing { "Timelines are drawn by a script, which is off." } }
                div.controls {
                    label for="timeline-picker" { "Trial " }
                    select #timeline-picker {
                        @for (place, timeline) in timelines.iter().enumerate() {
                            option value=(place) {
                                (timeline.label) @if timeline.cited { ", in a finding" }
                            }
                        }
                    }
                    button #timeline-back type="button" { "Previous" }
                    button #timeline-on type="button" { "Next" }
                }
                p #timeline-says aria-live="polite" {}
                div.plot.timeline #timeline-plot role="img"
                    aria-label="Timeline of the chosen trial" {}
                (saving(&[("timeline-plot", "the timeline")]))
            }
    };
    folded("timelines", "Timelines", &counted(timelines.len() as u64, "trial"), &body)
}

/// Figures of all cells, and all trials.
pub fn results(input: &Input<'_>) -> Markup {
    let (trials, left_out) = tables::trials(input);
    let not_bought = &input.campaign.not_bought;
    let groups = cells::groups(input);
    let shown = groups.iter().filter(|group| !reported::are_all(group));
    let marked = FigureOrigin::marked(shown.flat_map(|group| &group.rows)).into_iter();
    let marked: Vec<String> =
        marked.map(|source| format!("{}: {}", source.mark(), source.meaning())).collect();
    let tables = html! {
            p.quiet {
                "Means over n replicates, \u{b1} half the 95 % interval (none for n = 1), or "
                "\u{d7}\u{f7} where it is wider than a factor of 2. p50 and p99 are the latency of "
                "one operation."
                @if let Some(told) = words::pooled(input.cells.iter()) { " " (told) }
                @if !marked.is_empty() {
                    " Hatched grey figures are not the device\u{2019}s. "
                    (marked.join("; ")) "."
                }
            }
            (tables::groups(input))
            @if !input.campaign.left_out.is_empty() {
                h3 { "Left out of the plan" }
                ul { @for line in words::left_out(&input.campaign.left_out) {
                    li { (tables::coded(&line)) }
                } }
            }
            @if !not_bought.is_empty() {
                h3 { "A longer run would add" }
                p.quiet { "Each time includes all that stands above it." }
                table.budgets {
                    thead { tr { th scope="col" { "budget" } th scope="col" { "adds" } } }
                    tbody { @for (budget, cells) in words::by_budget(not_bought) { tr {
                        th scope="row" { code { "--budget " (budget) } }
                        td.wide-text { (words::bound(&cells.join("; "))) }
                    } } }
                }
                (sql::of_not_bought(input))
            }
    };
    let all = html! {
            div.controls.scripted hidden {
                label for="trials-filter" { "Show only rows with " }
                input #trials-filter type="search" autocomplete="off";
                span #trials-count role="status" {}
            }
            (trials)
            @if left_out > 0 {
                p {
                    @if left_out == 1 { "One more trial is in the store: " }
                    @else { (left_out) " more trials are in the store: " }
                    code { "brickyard report --format json" }
                }
            }
    };
    let loads: usize = groups.iter().map(|group| group.rows.len()).sum();
    html! {
        (folded("results", "Results", &counted(loads as u64, "load"), &tables))
        (folded("trials", "All trials", &counted(input.records.len() as u64, "trial"), &all))
    }
}

/// The inventory, every setting, the command.
pub fn server(input: &Input<'_>) -> Markup {
    let server = html! {
        (inventory::inventory(&input.campaign.inventory))
        @if let Some(wired) = topology::section(&input.campaign.inventory) { (wired) }
    };
    let settings = html! {
        p.quiet {
            "Those that vary stand in the table of trials, one column each; those that say "
            "how long and over how much, at its end."
        }
        (tables::settings(input))
    };
    html! {
        (folded("server", "The server", "", &server))
        (folded("settings", "Every setting", "", &settings))
        section aria-labelledby="repeat" {
            h2 #repeat { "Repeat it" }
            pre tabindex="0" { code { (words::repeat(input.campaign, input.records)) } }
            p.quiet { "The order of the trials was drawn with seed " (input.campaign.seed) "." }
        }
    }
}

/// What made the page.
pub fn footer(input: &Input<'_>) -> Markup {
    html! {
        footer { p.quiet {
            "Made by Brickyard " (input.campaign.version) ". This page fetches nothing and sends "
            "nothing. Figures are drawn by plotly.js (MIT licence)."
        } }
    }
}
