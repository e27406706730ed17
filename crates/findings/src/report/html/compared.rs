//! (pure) A page of campaigns side by side: what came of each cell in one picture and one table.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::figures::Figure;
use super::panel::{Axis, AxisPosition, Dash, Panel, PanelKind, Point, Trace};
use super::{Drawn, assets, sections, sql, tables};
use crate::analysis::Severity;
use crate::analysis::compare::{Change, Compared};
use crate::report::pairs::{HeldWords, Pair, group, ratio, short, strip};
use crate::report::{nature, words};
use base::value::percent;

/// More cells than this cannot be told apart in a picture; all are in the table.
const DRAWN_MAX: usize = 40;

/// Colours of the palette, by what came of a cell.
const HUES: &[(Change, u8)] = &[
    (Change::Worse, 1),
    (Change::PerhapsWorse, 3),
    (Change::Better, 2),
    (Change::PerhapsBetter, 4),
    (Change::Same, 0),
    (Change::Open, 5),
    (Change::Untested, 6),
];

/// Says of a page whose it is.
const GENERATOR: &str = concat!("Brickyard ", env!("CARGO_PKG_VERSION"), ", comparison");

/// Whether a file is such a page, of whatever version.
pub fn is_ours(start: &[u8], _: &[u8]) -> bool {
    super::is_page(start, "comparison")
}

/// Prints the page.
///
/// # Errors
/// Never in practice: everything in it can be serialized.
pub fn render(pairs: &[Pair<'_>]) -> Result<String, serde_json::Error> {
    let figures: Vec<Figure> = pairs.iter().enumerate().map(figure).collect();
    let panels = figures.iter().flat_map(|figure| &figure.panels).collect();
    let drawn = Drawn {
        panels,
        timelines: &[],
        timeline_panels: &[],
        faults: &[],
        explorer: None,
        edges: Vec::new(),
    };
    let data = assets::inert(&serde_json::to_string(&drawn)?);
    let natures = pairs.first().map(|it| nature::of_both(it.before.campaign, it.now.campaign));
    let title = format!("Campaigns side by side{}", natures.unwrap_or_default());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(assets::policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content=(GENERATOR);
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (title) }
                style { (PreEscaped(assets::STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the answer" }
                header {
                    h1 { (title) }
                    p.quiet { "Brickyard " (env!("CARGO_PKG_VERSION")) "." }
                }
                main #main {
                    @for pair in pairs { (answer(pair)) }
                    @for pair in pairs { (held(pair)) }
                    (sections::drawings(&figures, false, &|_| None))
                    (cells(pairs))
                    @for pair in pairs { (rest(pair)) }
                }
                script type="application/json" id="data" { (PreEscaped(data)) }
                script { (PreEscaped(assets::plotly())) }
                script { (PreEscaped(assets::SCRIPT)) }
            }
        }
    };
    Ok(page.into_string())
}

fn answer(pair: &Pair<'_>) -> Markup {
    html! {
        section.answer {
            h2 { "B against A" }
            p { "A: " (pair.before.said()) }
            p { "B: " (pair.now.said()) }
            p { (tables::coded(&pair.comparison.summary())) }
        }
        @let worse = pair.findings.iter().filter(|finding| finding.severity == Severity::Error);
        ul.findings { @for finding in worse { li.error { p { (tables::coded(&finding.claim)) } } } }
    }
}

/// What other tools reported, each beside the nearest cell.
fn held(pair: &Pair<'_>) -> Markup {
    let all = pair.held();
    let figures = |held: &HeldWords| {
        html! {
            table {
                thead { tr {
                    th scope="col" { "figure" }
                    @for head in ["reported", "here", "reported / here"] {
                        th.number scope="col" { (head) }
                    }
                } }
                tbody { @for [name, reported, ours, ratio] in &held.figures { tr {
                    th scope="row" { (name) }
                    @for number in [reported, ours, ratio] { td.number { (number) } }
                } } }
            }
        }
    };
    html! {
        @if !all.is_empty() {
            section {
                h2 { "Reported results beside the nearest cells" }
                @for held in &all {
                    h3 { (held.title) }
                    p { "Nearest: " (held.nearest) "." }
                    @if !held.figures.is_empty() { (tables::boxed(&held.title, &figures(held))) }
                    @if !held.but.is_empty() { ul { @for line in &held.but { li { (line) } } } }
                }
            }
        }
    }
}

/// Each cell's ratio with its interval, in the colour of what came of it.
fn figure((number, pair): (usize, &Pair<'_>)) -> Figure {
    let comparison = pair.comparison;
    let shown: Vec<&Compared> = comparison.cells.iter().take(DRAWN_MAX).collect();
    let group = group(comparison.cells.iter()).unwrap_or_default();
    let traces: Vec<Trace> = HUES
        .iter()
        .filter_map(|(change, hue)| {
            let points: Vec<Point> = shown
                .iter()
                .filter(|cell| cell.change == *change)
                .map(|cell| point(cell, group))
                .collect();
            let name = change.said().to_lowercase();
            (!points.is_empty()).then_some(Trace { name, hue: *hue, dash: Dash::Solid, points })
        })
        .collect();
    let order = shown.iter().map(|cell| name(cell, group)).collect();
    let left_out = comparison.cells.len() - shown.len();
    let more =
        if left_out > 0 { format!(" {left_out} more are in the table.") } else { String::new() };
    let threshold = percent(comparison.threshold);
    let about = format!(
        "B over A with its 95 % interval: 1 is no difference, and less than {threshold} does not \
         matter. A and B are geometric means, which the ratio is of. Where less of a figure is \
         better, as of a time, above 1 is worse.{more}"
    );
    let panels = match traces.is_empty() {
        true => Vec::new(),
        false => vec![Panel {
            id: format!("ratios-{number}"),
            kind: PanelKind::Dots,
            x: Axis { order, ..Axis::linear(group) },
            y: Axis::linear("B / A"),
            traces,
            laws: Vec::new(),
            figures: Vec::new(),
            trials: Vec::new(),
        }],
    };
    Figure { id: "ratios", title: "Ratios", about, panels, message: comparison.summary() }
}

/// A cell's name under its point.
fn name(cell: &Compared, group: &str) -> String {
    strip(&cell.load, group).replace(": ", "\n").replace(", ", "\n")
}

fn point(cell: &Compared, group: &str) -> Point {
    let (value, ends) = ratio(cell);
    let figure = if ends.is_empty() { value } else { format!("{value} ({ends})") };
    Point {
        x: AxisPosition::Name(name(cell, group)),
        y: cell.ratio.value,
        interval: cell.ratio.interval.map(|ends| (ends.low, ends.high)),
        says: format!("{figure}\n{}", cell.change.said().to_lowercase()),
        figure,
        mark: "",
        trials: Vec::new(),
    }
}

/// All cells, to be sorted and filtered.
fn cells(pairs: &[Pair<'_>]) -> Markup {
    let several = pairs.len() > 1;
    let table = html! {
        table #trials-table {
            thead { tr {
                @if several { th scope="col" { "B" } }
                th scope="col" { "cell" } th scope="col" { "figure" }
                @for head in ["A", "B", "B / A"] {
                    th.number scope="col" data-sort="number" { (head) }
                }
                th scope="col" { "95 %" } th scope="col" { "" } th scope="col" { "origin" }
                th scope="col" { "trials" } th scope="col" { "notes" }
            } }
            tbody { @for pair in pairs { @for cell in &pair.comparison.cells { tr {
                @let (value, ends) = ratio(cell);
                @if several { td { (pair.now.typed) } }
                th scope="row" { (cell.load) }
                td title=(cell.figure) { (words::figure(&cell.figure)) }
                @for mean in cell.geometric_means {
                    td.number data-v=(mean) { (short(&cell.figure, mean)) }
                }
                td.number data-v=(cell.ratio.value) { (value) }
                td { (ends) }
                td { (cell.change.said().to_lowercase()) }
                td { (cell.origin.name()) }
                td { (numbers(&cell.trials[0])) "; " (numbers(&cell.trials[1])) }
                td { (cell.noted()) }
            } } } }
        }
    };
    html! {
        section aria-labelledby="cells" {
            h2 #cells { "Cells" }
            p.scripted hidden {
                label for="trials-filter" { "Show those with " }
                input #trials-filter type="search" autocomplete="off";
                " " output #trials-count {}
            }
            (tables::boxed("Cells", &table))
            @for pair in pairs.iter().filter(|pair| !pair.comparison.cells.is_empty()) {
                (sql::of_side(&pair.before, pair.comparison, 0))
                (sql::of_side(&pair.now, pair.comparison, 1))
            }
        }
    }
}

fn numbers(trials: &[u32]) -> String {
    trials.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn rest(pair: &Pair<'_>) -> Markup {
    html! {
        @if !pair.comparison.apart.is_empty() {
            section {
                h2 { "Not compared" }
                ul { @for apart in &pair.comparison.apart {
                    li { (apart.load) ": " (tables::coded(&apart.reason)) }
                } }
            }
        }
        section {
            h2 { "What else differs" }
            @if pair.differences.is_empty() { p { "Nothing that was read." } }
            ul { @for line in pair.differences { li { (line) } } }
        }
    }
}
