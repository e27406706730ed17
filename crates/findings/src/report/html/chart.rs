//! (pure) The core set as bars, in the page itself: what no script need draw, and paper has, too.

use maud::{Markup, html};

use super::saving::saving;
use crate::report::Input;
use crate::report::bars::{self, Bar, BarPanel};

const WIDTH: f64 = 410.0;
const ROW: f64 = 19.0;
const HEAD: f64 = 22.0;
/// Where bars begin, and how long the longest is.
const LEFT: f64 = 108.0;
const LONGEST: f64 = 245.0;

/// The chart; `None` where too few of the core set's loads were measured.
pub fn section(input: &Input<'_>) -> Option<Markup> {
    let panels = bars::panels(input);
    let all: usize = panels.iter().map(|(_, bars)| bars.len()).sum();
    if all == 0 {
        return None;
    }
    let height = panels.len() as f64 * (HEAD + 6.0) + all as f64 * ROW;
    let said: Vec<String> = panels.iter().map(|(panel, bars)| told(panel, bars)).collect();
    Some(html! {
        figure.core #core data-csv=(csv(&panels)) {
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(said.join(" ")) {
                @for (top, panel, bars) in placed(&panels) { (drawn(top, panel, bars)) }
            }
            figcaption.quiet {
                "Bars are what is on the first screen and its like; lines are 95 % intervals, "
                "circles are single runs."
                " " (saving(&[("core", "the core set")]))
            }
        }
    })
}

/// How far down each panel begins.
fn placed<'a>(panels: &'a [(&'a BarPanel, Vec<Bar>)]) -> Vec<(f64, &'a BarPanel, &'a [Bar])> {
    let mut top = 0.0;
    let mut placed = Vec::new();
    for (panel, bars) in panels {
        placed.push((top, *panel, bars.as_slice()));
        top += HEAD + 6.0 + bars.len() as f64 * ROW;
    }
    placed
}

/// A panel in words.
fn told(panel: &BarPanel, bars: &[Bar]) -> String {
    let each: Vec<String> = bars
        .iter()
        .map(|bar| format!("{} {}", bar.label, panel.number(bar.estimate.value)))
        .collect();
    format!("{}: {}.", panel.title, each.join("; "))
}

/// What is drawn as a table: a line for each bar, in the unit of its panel.
fn csv(panels: &[(&BarPanel, Vec<Bar>)]) -> String {
    let mut lines = vec!["panel,load,value,low,high".to_owned()];
    for (panel, bars) in panels {
        let line = |bar: &Bar| {
            let ends = bar
                .estimate
                .interval
                .map_or(",".to_owned(), |it| format!("{},{}", it.low, it.high));
            format!("\"{}\",\"{}\",{},{ends}", panel.title, bar.label, bar.estimate.value)
        };
        lines.extend(bars.iter().map(line));
    }
    lines.join("\n") + "\n"
}

fn drawn(top: f64, panel: &BarPanel, bars: &[Bar]) -> Markup {
    let ends = bars.iter().flat_map(|bar| {
        let high = bar.estimate.interval.map_or(bar.estimate.value, |it| it.high);
        bar.each.iter().map(|(_, one)| *one).chain([bar.estimate.value, high])
    });
    let most = ends.filter(|end| end.is_finite()).fold(f64::MIN_POSITIVE, f64::max);
    let at = |value: f64| format!("{:.1}", LEFT + LONGEST * (value / most).clamp(0.0, 1.0));
    let long = |value: f64| format!("{:.1}", LONGEST * (value / most).clamp(0.0, 1.0));
    html! {
        text.title x="0" y=(top + 15.0) { (panel.title) }
        @for (row, bar) in bars.iter().enumerate() {
            @let y = top + HEAD + row as f64 * ROW;
            @let middle = y + 8.0;
            text x="0" y=(y + 12.0) { (bar.label) }
            rect.write[bar.writes] x=(LEFT) y=(y + 2.0) width=(long(bar.estimate.value))
                height="12" {}
            @if let Some(ends) = bar.estimate.interval {
                path.ends d=(format!("M{} {middle}H{}", at(ends.low), at(ends.high))) {}
            }
            @for (_, one) in &bar.each { circle cx=(at(*one)) cy=(middle) r="2" {} }
            text.value x=(WIDTH) y=(y + 12.0) { (panel.number(bar.estimate.value)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Input;
    use crate::report::fixture;

    #[test]
    fn every_bar_has_a_value_and_none_is_longer_than_there_is_room() {
        let (campaign, records) = fixture::simulated();
        let input = Input::new(&campaign, &records);
        let page = section(&input).expect("a chart").into_string();
        let bars = page.matches("<rect").count();
        assert_eq!(bars, page.matches("class=\"value\"").count());
        assert!(bars >= 3, "{page}");
        for width in page.split("width=\"").skip(1) {
            let width: f64 = width.split('"').next().unwrap().parse().unwrap();
            assert!((0.0..=LONGEST).contains(&width), "{width}");
        }
        let (_, table) = page.split_once("data-csv=\"").expect("a table");
        let table = table.split_once("\"><svg").expect("its end").0;
        assert_eq!(table.lines().count(), bars + 1, "{table}");
        assert!(table.lines().all(|line| line.matches(',').count() >= 4), "{table}");
        let empty = fixture::campaign_of(Vec::new(), 0);
        assert!(section(&empty.input()).is_none());
    }
}
