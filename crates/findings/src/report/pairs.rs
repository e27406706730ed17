//! (pure) Two campaigns side by side, and the words for them that all formats share.

use serde_json::{Value as Json, json};

use super::nature::Nature;
use super::{programs, words};
use crate::analysis::Finding;
use crate::analysis::compare::{Change, Compared, Comparison, HeldFigure, ReportedComparison};
use base::stats::Estimate;
use base::value::{counted, percent, significant};
use experiment::campaign::Campaign;

/// Two campaigns, and what came of setting the second against the first.
#[derive(Debug)]
pub struct Pair<'a> {
    /// What the other is held against.
    pub before: NamedCampaign<'a>,
    /// What is held against it.
    pub now: NamedCampaign<'a>,
    /// The cells.
    pub comparison: &'a Comparison,
    /// What it claims.
    pub findings: Vec<Finding>,
    /// What differs besides, one a line.
    pub differences: &'a [String],
    /// How much of it is printed for people.
    pub view: &'a View,
}

/// How much of a comparison is printed for people, and what to type to see the rest.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Also cells that do not differ.
    pub all: bool,
    /// What prints these; empty where nothing can be typed.
    pub command: String,
}

/// What came out alike, under its verdict.
#[derive(Debug)]
pub struct Section<'a> {
    /// The verdict, how many cells, and what it means.
    pub title: String,
    /// The cells, those that differ most first.
    pub cells: Vec<&'a Compared>,
}

impl Pair<'_> {
    /// What is printed of the cells, the worst first: those that differ, or all.
    pub fn sections(&self) -> Vec<Section<'_>> {
        let comparison = self.comparison;
        let shown = |cell: &&Compared| self.view.all || comparison.differs(cell);
        let section = |change: Change| {
            let of = comparison.cells.iter().filter(|cell| cell.change == change);
            let mut cells: Vec<&Compared> = of.filter(shown).collect();
            let far = |cell: &Compared| cell.ratio.value.ln().abs();
            cells.sort_by(|one, other| far(other).total_cmp(&far(one)));
            let count = counted(cells.len() as u64, "cell");
            let means = means(change, comparison.threshold);
            (!cells.is_empty())
                .then(|| Section { title: format!("{}, {count}: {means}", change.said()), cells })
        };
        Change::ORDER.into_iter().filter_map(section).collect()
    }

    /// How many cells are not printed as they do not differ, by what came of them; `None` where all
    /// are. What prints them follows, where it can be typed.
    pub fn left_out(&self) -> Option<String> {
        let comparison = self.comparison;
        if self.view.all {
            return None;
        }
        let alike = || comparison.cells.iter().filter(|cell| !comparison.differs(cell));
        let count = |change: Change| alike().filter(|cell| cell.change == change).count();
        let counts = Change::ORDER.into_iter().map(|change| (change, count(change)));
        let told: Vec<String> = counts
            .filter(|(_, count)| *count > 0)
            .map(|(change, count)| match change {
                Change::Untested => {
                    let within = percent(comparison.threshold);
                    format!("{count} of one run that differ by less than {within}")
                }
                _ => format!("{count} {}", change.said()),
            })
            .collect();
        if told.is_empty() {
            return None;
        }
        let cells = counted(alike().count() as u64, "cell");
        let told = format!("{cells} not shown: {}.", told.join(", "));
        Some(if self.view.command.is_empty() { told } else { format!("{told} To see them:") })
    }

    /// What other tools reported beside the nearest cell: what it is, the cell, the figures, what
    /// differs, and what the tool does not tell.
    pub fn held(&self) -> Vec<HeldWords> {
        self.comparison.held.iter().map(HeldWords::of).collect()
    }

    /// What is not compared, a line for each reason.
    pub fn apart(&self) -> Vec<String> {
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for apart in &self.comparison.apart {
            match reasons.iter_mut().find(|(reason, _)| *reason == apart.reason) {
                Some((_, loads)) => loads.push(&apart.load),
                None => reasons.push((&apart.reason, vec![&apart.load])),
            }
        }
        let told = |(reason, loads): &(&str, Vec<&str>)| match loads[..] {
            [load] => format!("{load}: {reason}"),
            _ => format!("{} loads, as {reason}: {}", loads.len(), loads.join("; ")),
        };
        reasons.iter().map(told).collect()
    }
}

/// A reported result beside the nearest cell, in words.
#[derive(Debug)]
pub struct HeldWords {
    /// The result.
    pub title: String,
    /// The cell, or why there is none.
    pub nearest: String,
    /// Its figures: name, reported, ours, and the one as a share of the other.
    pub figures: Vec<[String; 4]>,
    /// What differs and what is not told; empty where nothing is.
    pub but: Vec<String>,
}

impl HeldWords {
    fn of(held: &ReportedComparison) -> HeldWords {
        let title = held.said();
        let Some(near) = &held.nearest else {
            let nearest = held.reason.clone().unwrap_or_default();
            return HeldWords { title, nearest, figures: Vec::new(), but: Vec::new() };
        };
        let of = |figure: &HeldFigure| {
            let less = if figure.less_is_better { " (less is better)" } else { "" };
            [
                format!("{}{less}", words::figure(&figure.name)),
                short(&figure.name, figure.reported),
                short(&figure.name, figure.ours.value),
                significant(figure.ratio),
            ]
        };
        let from = match near.origin {
            Some(verdict) => format!(", origin of its bytes: {}", verdict.name()),
            None => String::new(),
        };
        let mut but = Vec::new();
        if !near.differs.is_empty() {
            but.push(format!("differs: {}", near.differs.join("; ")));
        }
        if !near.untold.is_empty() {
            but.push(format!("not told: {}", near.untold.join(", ")));
        }
        let nearest = format!("{}{from}", near.load);
        HeldWords { title, nearest, figures: near.figures.iter().map(of).collect(), but }
    }
}

/// What a verdict means, in few words.
fn means(change: Change, threshold: f64) -> String {
    let least = percent(threshold);
    match change {
        Change::Worse | Change::Better => format!("surely by more than {least}"),
        Change::PerhapsWorse | Change::PerhapsBetter => {
            format!("it may be less than {least}, or chance")
        }
        Change::Same => format!("any difference is below {least}"),
        Change::Open => "the runs scatter too much; more of them would tell".to_owned(),
        Change::Untested => "nothing says how far it scatters".to_owned(),
    }
}

/// A campaign, with the words that the user typed for it.
#[derive(Clone, Copy, Debug)]
pub struct NamedCampaign<'a> {
    /// As typed.
    pub typed: &'a str,
    /// The campaign.
    pub campaign: &'a Campaign,
}

impl NamedCampaign<'_> {
    /// `streams on vm, 2026-11-24 03:42:40 UTC (campaign 1)`.
    pub fn said(&self) -> String {
        let of = self.campaign;
        let date = words::date(of.started_unix_ns);
        format!("{}, {date} (campaign {})", words::subject(of), of.id)
    }

    /// For the document.
    pub fn json(&self) -> Json {
        let of = self.campaign;
        json!({
            "typed": self.typed, "id": of.id, "uid": of.uid, "plan": of.plan, "host": of.host,
            "engine": of.engine, "kind": Nature::of_campaign(of).name(),
            "started_unix_ns": of.started_unix_ns, "seed": of.seed, "brickyard": of.version,
        })
    }
}

/// A figure without its second unit, for a column.
pub fn short(name: &str, value: f64) -> String {
    let told = programs::print(name, value);
    told.split_once(" (").map_or(told.clone(), |(first, _)| first.to_owned())
}

/// `0.921`, and `0.90 to 0.94` or nothing.
pub fn ratio(cell: &Compared) -> (String, String) {
    (significant(cell.ratio.value), ends(&cell.ratio))
}

/// The ends of a ratio, `0.90 to 0.94`; nothing where it has none.
pub fn ends(ratio: &Estimate) -> String {
    // Beyond these an end says only that nothing is known.
    let end = |ratio: f64| match ratio {
        ratio if ratio < 0.01 => "< 0.01".to_owned(),
        ratio if ratio > 100.0 => "> 100".to_owned(),
        ratio => significant(ratio),
    };
    let ends = ratio.interval.map(|it| format!("{} to {}", end(it.low), end(it.high)));
    ends.unwrap_or_default()
}

/// The group that all of these cells are of, when they are of one.
pub fn group<'a>(mut cells: impl Iterator<Item = &'a Compared> + Clone) -> Option<&'a str> {
    let (group, _) = cells.clone().next()?.load.split_once(": ")?;
    cells.all(|cell| strip(&cell.load, group) != cell.load).then_some(group)
}

/// A label without its group.
pub fn strip<'a>(load: &'a str, group: &str) -> &'a str {
    load.strip_prefix(group).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(load)
}
