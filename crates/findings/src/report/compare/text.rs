//! (pure) Campaigns side by side in the terminal: what became worse first, then what became
//! better, each with a picture of its ratio; what is the same is a count. Plain ASCII.

use super::picture::{RatioAxis, WIDTH as PICTURE};
use crate::analysis::compare::Compared;
use crate::report::lines::folded;
use crate::report::pairs::{Pair, Section, ratio, short};
use crate::report::{nature, words};
use base::value::counted;

/// No line is wider, but for a single word that is.
const WIDTH: usize = 80;

/// How the title ends.
const SIDE_BY_SIDE: &str = "- two campaigns side by side";
/// Lines of what differs that are shown; the rest is in the document.
const DIFFERENCES_MAX: usize = 20;

/// Prints them, one after another.
///
/// # Errors
/// Never; formats share one signature.
pub fn render(pairs: &[Pair<'_>]) -> Result<String, serde_json::Error> {
    Ok(pairs.iter().map(one).collect::<Vec<_>>().join("\n"))
}

/// Whether a file is such a comparison, of whatever version: how its title begins and ends.
pub fn is_ours(start: &[u8], _: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&start[..start.len().min(4 << 10)]);
    let title = head.split("\n\n").next().unwrap_or_default();
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let ours = title.ends_with(SIDE_BY_SIDE) || title.contains(super::exchange::TITLE);
    title.starts_with("Brickyard ") && ours
}

fn one(pair: &Pair<'_>) -> String {
    let natures = nature::of_both(pair.before.campaign, pair.now.campaign);
    let title = format!("Brickyard {}{natures} {SIDE_BY_SIDE}", env!("CARGO_PKG_VERSION"));
    let mut lines = folded("", &title, WIDTH);
    lines.push(String::new());
    lines.extend(folded("", &pair.comparison.summary(), WIDTH));
    lines.extend(folded("  A  ", &pair.before.said(), WIDTH));
    lines.extend(folded("  B  ", &pair.now.said(), WIDTH));
    held(pair, &mut lines);
    cells(pair, &mut lines);
    if let Some(left_out) = pair.left_out() {
        lines.push(String::new());
        lines.extend(folded("", &left_out, WIDTH));
        // As it is typed: it is copied.
        lines.extend((!pair.view.command.is_empty()).then(|| format!("  {}", pair.view.command)));
    }
    if !pair.comparison.apart.is_empty() {
        lines.extend([String::new(), "Not compared".to_owned()]);
        pair.apart().iter().for_each(|line| lines.extend(folded("  ", line, WIDTH)));
    }
    lines.extend([String::new(), "What else differs".to_owned()]);
    if pair.differences.is_empty() {
        lines.push("  Nothing that was read.".to_owned());
    }
    let shown = pair.differences.iter().take(DIFFERENCES_MAX);
    shown.for_each(|line| lines.extend(folded("  ", line, WIDTH)));
    let more = pair.differences.len().saturating_sub(DIFFERENCES_MAX);
    if more > 0 {
        lines.push(format!("  and {more} more: --json"));
    }
    lines.join("\n") + "\n"
}

/// Reported results that are shown; the rest is in the document.
const HELD_MAX: usize = 12;

/// What other tools reported, each beside the nearest cell.
fn held(pair: &Pair<'_>, lines: &mut Vec<String>) {
    let all = pair.held();
    for held in all.iter().take(HELD_MAX) {
        lines.push(String::new());
        lines.extend(folded("", &held.title, WIDTH));
        lines.extend(folded("  nearest: ", &held.nearest, WIDTH));
        lines.extend(columns(&held.figures));
        held.but.iter().for_each(|line| lines.extend(folded("    ", line, WIDTH)));
    }
    let more = all.len().saturating_sub(HELD_MAX);
    if more > 0 {
        lines.extend([
            String::new(),
            format!("and {} more: --json", counted(more as u64, "result")),
        ]);
    }
}

/// The figures in columns with their heads; nothing where there are none.
fn columns(figures: &[[String; 4]]) -> Vec<String> {
    if figures.is_empty() {
        return Vec::new();
    }
    let heads = ["", "reported", "here", "of it"].map(str::to_owned);
    let rows: Vec<&[String; 4]> = std::iter::once(&heads).chain(figures).collect();
    let wide = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let [first, second, third, fourth] = [0, 1, 2, 3].map(|column| wide(column).unwrap_or(0));
    let line = |[name, reported, here, ratio]: &[String; 4]| {
        format!("    {name:<first$}  {reported:>second$}  {here:>third$}  {ratio:>fourth$}")
    };
    rows.into_iter().map(line).collect()
}

/// The verdicts, each with its cells, and what their pictures mean.
fn cells(pair: &Pair<'_>, lines: &mut Vec<String>) {
    let sections = pair.sections();
    if sections.is_empty() {
        return;
    }
    let shown = sections.iter().flat_map(|section| &section.cells);
    let axis = RatioAxis::spanning(shown.map(|cell| cell.ratio.value));
    lines.push(String::new());
    lines.push(format!("    {}  {:>6}  {:<15}  A to B", axis.head(), "B / A", "95 %"));
    let mut notes = Vec::new();
    for (place, Section { title, cells }) in sections.iter().enumerate() {
        if place > 0 {
            lines.push(String::new());
        }
        lines.push(title.clone());
        for cell in cells {
            lines.extend(of_cell(cell, axis, &mut notes));
        }
    }
    for (place, note) in notes.iter().enumerate() {
        let lead = format!("{} ", letter(place));
        lines.extend(folded(&lead, &format!("its trials have notes: {note}"), WIDTH));
    }
    let legend = "A and B are geometric means. Bars begin at 1: # is sure (95 %), - may be.";
    lines.extend([String::new(), legend.to_owned()]);
}

/// A cell's name, and below it the picture and its numbers.
fn of_cell(cell: &Compared, axis: RatioAxis, notes: &mut Vec<String>) -> Vec<String> {
    let less = if cell.less_is_better { " (less is better)" } else { "" };
    let n = match cell.replicates {
        [before, now] if before == now => before.to_string(),
        [before, now] => format!("{before} and {now}"),
    };
    let figure = words::figure(&cell.figure);
    let mark = mark(notes, cell.noted());
    let name = format!("{}: {figure}{less}, n {n}{mark}", cell.load);
    let mut lines = folded("  ", &name, WIDTH);
    let (value, ends) = ratio(cell);
    let ends = if ends.is_empty() { "one run".to_owned() } else { ends };
    let [before, now] = cell.geometric_means.map(|mean| short(&cell.figure, mean));
    let picture = axis.draw(&cell.ratio, ' ');
    let line = format!("    {picture:<PICTURE$}  {value:>6}  {ends:<15}  ");
    // The unit once, where both have it.
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    let before = match unit(&before).filter(|it| unit(&now).as_ref() == Some(it)) {
        Some(unit) => before.trim_end_matches(&unit).trim_end().to_owned(),
        None => before,
    };
    lines.push(format!("{line}{before} to {now}").trim_end().to_owned());
    lines
}

/// The mark of a cell's notes, which are kept to be told below.
fn mark(known: &mut Vec<String>, notes: String) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let place = known.iter().position(|other| *other == notes).unwrap_or_else(|| {
        known.push(notes);
        known.len() - 1
    });
    format!(" {}", letter(place))
}

/// `(a)`, `(b)`, ..., `(z)`, `(27)`.
fn letter(place: usize) -> String {
    match u8::try_from(place) {
        Ok(place) if place < 26 => format!("({})", char::from(b'a' + place)),
        _ => format!("({})", place + 1),
    }
}
