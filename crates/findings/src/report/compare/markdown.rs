//! (pure) Campaigns side by side for an issue or a wiki: a table for each verdict, the worst first.

use super::picture::RatioAxis;
use crate::report::markdown::{coded, escaped};
use crate::report::pairs::{Pair, Section, ratio, short};
use crate::report::{nature, words};

/// How a file of ours begins.
const TITLE: &str = "# Two campaigns side by side";

/// Prints them, one after another.
///
/// # Errors
/// Never; formats share one signature.
pub fn render(pairs: &[Pair<'_>]) -> Result<String, serde_json::Error> {
    Ok(pairs.iter().map(one).collect::<Vec<_>>().join("\n"))
}

/// Whether a file is such a comparison, of whatever version: its first lines.
pub fn is_ours(start: &[u8], _: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&start[..start.len().min(4 << 10)]);
    let mut lines = head.lines().filter(|line| !line.is_empty());
    let (title, told) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    title.starts_with(TITLE) && told.starts_with("Brickyard ")
}

fn one(pair: &Pair<'_>) -> String {
    let mut text = format!(
        "{TITLE}{}\n\nBrickyard {}. {}\n\n- A: {}\n- B: {}\n",
        nature::of_both(pair.before.campaign, pair.now.campaign),
        env!("CARGO_PKG_VERSION"),
        escaped(&pair.comparison.summary()),
        escaped(&pair.before.said()),
        escaped(&pair.now.said()),
    );
    held(pair, &mut text);
    let sections = pair.sections();
    let shown = sections.iter().flat_map(|section| &section.cells);
    let axis = RatioAxis::spanning(shown.map(|cell| cell.ratio.value));
    sections.iter().for_each(|section| table(section, axis, &mut text));
    if !sections.is_empty() {
        text.push_str(
            "\nA and B are geometric means. Bars begin at 1, the `|`: `#` is sure (95 %), `-` may \
             be.\n",
        );
    }
    if let Some(left_out) = pair.left_out() {
        text.push_str(&format!("\n{}\n", coded(&left_out)));
        if !pair.view.command.is_empty() {
            // Four spaces make code.
            text.push_str(&format!("\n    {}\n", pair.view.command.replace(['\n', '\r'], " ")));
        }
    }
    if !pair.comparison.apart.is_empty() {
        text.push_str("\n## Not compared\n\n");
        pair.apart().iter().for_each(|line| text.push_str(&format!("- {}\n", coded(line))));
    }
    text.push_str("\n## What else differs\n\n");
    if pair.differences.is_empty() {
        text.push_str("Nothing that was read.\n");
    }
    pair.differences.iter().for_each(|line| text.push_str(&format!("- {}\n", escaped(line))));
    text
}

/// What other tools reported, each beside the nearest cell.
fn held(pair: &Pair<'_>, text: &mut String) {
    for held in pair.held() {
        text.push_str(&format!("\n## {}\n\n", escaped(&held.title)));
        text.push_str(&format!("Nearest: {}.\n", coded(&held.nearest)));
        if !held.figures.is_empty() {
            text.push_str(
                "\n| figure | reported | here | reported / here |\n|---|---:|---:|---:|\n",
            );
        }
        for of in &held.figures {
            let [name, reported, ours, ratio] = of.each_ref().map(|word| escaped(word));
            text.push_str(&format!("| {name} | {reported} | {ours} | {ratio} |\n"));
        }
        if !held.but.is_empty() {
            text.push('\n');
        }
        held.but.iter().for_each(|line| text.push_str(&format!("- {}\n", coded(line))));
    }
}

fn table(section: &Section<'_>, axis: RatioAxis, text: &mut String) {
    let head = axis.head().split_whitespace().collect::<Vec<_>>().join(" .. ");
    text.push_str(&format!(
        "\n## {}\n\n| cell | figure | {head} | B / A | 95 % | A | B | n | notes |\n\
         |---|---|:---:|---:|---|---:|---:|---:|---|\n",
        escaped(&section.title)
    ));
    for cell in &section.cells {
        let (value, ends) = ratio(cell);
        let [a, b] = cell.geometric_means.map(|mean| escaped(&short(&cell.figure, mean)));
        let n = match cell.replicates {
            [before, now] if before == now => before.to_string(),
            [before, now] => format!("{before}, {now}"),
        };
        let less = if cell.less_is_better { ", less is better" } else { "" };
        let (load, figure) = (escaped(&cell.load), escaped(&words::figure(&cell.figure)));
        // A bar in a table's code stands behind a backslash (GitHub).
        let picture = axis.draw(&cell.ratio, '.').replace('|', "\\|");
        let (ends, notes) = (escaped(&ends), escaped(&cell.noted()));
        text.push_str(&format!(
            "| {load} | {figure}{less} | `{picture}` | {value} | {ends} | {a} | {b} | {n} | \
             {notes} |\n"
        ));
    }
}
