//! What follows from figures that somebody else reported?
//!
//! The question `bottleneck` for figures without counters: the way of the bytes and what its parts
//! can carry come from a recording of the machine, the throughput from the text. Nothing else is
//! known, so only a part that was full is named; else the answer is `unknown`, with what is left of
//! the way as suspects. No name of any card or slot is known here. What the figures tell by
//! themselves, held against each other, is the business of `contrast`.

use serde_json::Value as Json;

use super::path::DataPath;
use super::{Finding, Severity};
use crate::warning;
use base::value;
use experiment::knob::{self, Settings};
use experiment::measurement::reported::ReportedPath;
use experiment::measurement::{Note, Record, Reported};
use facts::inventory::server::Server;
use judge::{PartSaturation, PathVerdict, ReportedPathPart, ReportedThroughput, judge};
use way::Machine;

#[cfg(test)]
mod conclusions;
mod contrast;
mod judge;
#[cfg(test)]
mod tests;
pub(super) mod way;
mod words;

const QUESTION: &str = "bottleneck";

/// A row of a text.
pub struct ReportedRow<'a> {
    pub(super) number: u32,
    pub(super) settings: &'a Settings,
    pub(super) reported: &'a Reported,
    notes: &'a [Note],
}

impl<'a> ReportedRow<'a> {
    /// The row that a record is; `None` of what was measured here.
    pub(super) fn from_record(record: &'a Record) -> Option<ReportedRow<'a>> {
        // What a tool says of a trial of ours stands beside what we counted of it.
        let measurement = record.outcome.measurement().filter(|it| it.programs.is_none())?;
        Some(ReportedRow {
            number: record.trial.number,
            settings: &record.trial.settings,
            reported: measurement.reported.as_ref()?,
            notes: &measurement.notes,
        })
    }

    /// How many disks were read.
    pub(super) fn disks(&self) -> Option<usize> {
        match self.settings.get(knob::DISKS).unwrap_or(0) {
            0 => None,
            disks => usize::try_from(disks).ok(),
        }
    }

    fn load(&self) -> Option<ReportedThroughput> {
        let (figure, level) = self.reported.rate()?;
        Some(ReportedThroughput { bytes_per_s: figure.value, level })
    }
}

/// A throughput whose way is known.
struct Case<'a> {
    row: &'a ReportedRow<'a>,
    machine: &'a Machine,
    path: &'a DataPath,
    load: ReportedThroughput,
    parts: Vec<ReportedPathPart>,
    standings: Vec<PartSaturation>,
    verdict: PathVerdict,
}

/// What holds each reported throughput, and what the figures tell by themselves; none where nothing
/// was reported. `inventory` is the campaign's, with a `server` for each of its `configurations`.
pub fn findings(records: &[Record], inventory: &Json) -> Vec<Finding> {
    let rows: Vec<ReportedRow<'_>> = records.iter().filter_map(ReportedRow::from_record).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    // What is known first: of a text without a machine nothing is known of the limits.
    let known = |finding: &Finding| finding.limit.as_deref() != Some("unknown");
    let (mut findings, unknown): (Vec<Finding>, Vec<Finding>) =
        limits(&rows, inventory).into_iter().partition(known);
    findings.extend(contrast::findings(&rows));
    findings.extend(unknown);
    findings
}

fn limits(rows: &[ReportedRow<'_>], inventory: &Json) -> Vec<Finding> {
    let machines = machines(inventory);
    let mut cases: Vec<Case<'_>> =
        rows.iter().filter_map(|row| case(row, rows, &machines)).collect();
    let contradicted: Vec<bool> =
        cases.iter().map(|case| words::contradicted(case, &cases)).collect();
    for (case, _) in cases.iter_mut().zip(contradicted).filter(|(_, so)| *so) {
        doubt(case);
    }
    let mut findings: Vec<Finding> =
        cases.iter().map(|case| words::finding(case, &cases)).collect();
    findings.extend(wayless(rows, &machines));
    findings.extend(warned(&cases));
    findings
}

/// The answer for the top of a report: who reported what. `None` where anything was measured here.
pub fn answer(records: &[Record]) -> Option<Vec<String>> {
    let rows: Vec<ReportedRow<'_>> = records.iter().filter_map(ReportedRow::from_record).collect();
    if rows.is_empty() || rows.len() != records.len() {
        return None;
    }
    let figures: usize = rows.iter().map(|row| row.reported.figures.len()).sum();
    let authors = authors(rows.iter().map(|row| row.reported.by.as_str()));
    let mut said = vec![format!(
        "Nothing of this was measured here: these are {figures} figures that {authors} reported. \
         None has an interval, an origin or a verdict of ours."
    )];
    for (way, what) in
        [(ReportedPath::Disks, "from disks"), (ReportedPath::Network, "through the network")]
    {
        let of = rows.iter().filter(|row| row.reported.way == way);
        let most = of.filter_map(|row| Some((row, row.load()?.bytes_per_s)));
        if let Some((row, _)) = most.max_by(|a, b| a.1.total_cmp(&b.1)) {
            let (rate, place) = (words::rate(row), &row.reported.place);
            said.push(format!("The most {what} was {rate} ({place})."));
        }
    }
    Some(said)
}

/// Who reported, each once. Of more than a few the versions of tools are left out, and of many
/// tools their names.
fn authors<'a>(all: impl Iterator<Item = &'a str>) -> String {
    const NAMED: usize = 4;
    let once = |names: &mut dyn Iterator<Item = &'a str>| {
        let mut known: Vec<&str> = Vec::new();
        for name in names {
            if !known.contains(&name) {
                known.push(name);
            }
        }
        known
    };
    let named = once(&mut all.into_iter());
    if named.len() <= NAMED {
        return named.join(" and ");
    }
    let tools = once(&mut named.iter().map(|name| name.split(' ').next().unwrap_or(name)));
    match tools.len() <= NAMED {
        true => tools.join(" and "),
        false => format!("{} tools", tools.len()),
    }
}

/// The answer where all that ran here were installed tools: what they said is theirs. `None` where
/// anything else was measured, or nothing was.
pub fn of_tools(records: &[Record]) -> Option<Vec<String>> {
    let done: Vec<_> =
        records.iter().filter_map(|it| Some((it, it.outcome.measurement()?))).collect();
    let told: Option<Vec<(&Record, &Reported)>> = done
        .into_iter()
        .map(|(record, of)| Some((record, of.reported.as_ref().filter(|_| of.programs.is_some())?)))
        .collect();
    let told = told.filter(|told| !told.is_empty())?;
    let mut authors: Vec<&str> = told.iter().map(|(_, reported)| reported.by.as_str()).collect();
    authors.dedup();
    let mut said = vec![format!(
        "These trials ran here; their rates and latencies are what {} said of them. What the \
         kernel counted stands beside.",
        authors.join(" and ")
    )];
    let rates = told.iter().filter_map(|(record, of)| Some((record, *of, of.rate()?.0)));
    if let Some((record, of, figure)) = rates.max_by(|a, b| a.2.value.total_cmp(&b.2.value)) {
        let (rate, number) = (value::throughput_short(figure.value), record.trial.number);
        let by = &of.by;
        said.push(format!("The most that it called throughput was {rate} ({by}, trial {number})."));
    }
    Some(said)
}

/// The machines that the figures of a campaign were measured on.
pub(super) fn machines(inventory: &Json) -> Vec<Machine> {
    let all = inventory.get("configurations").and_then(Json::as_object);
    let all = all.into_iter().flatten();
    let machine = |(name, of): (&String, &Json)| {
        let server: Server = serde_json::from_value(of.get("server")?.clone()).ok()?;
        Some(Machine::new(name, server))
    };
    all.filter_map(machine).collect()
}

fn case<'a>(
    row: &'a ReportedRow<'a>,
    rows: &[ReportedRow<'a>],
    machines: &'a [Machine],
) -> Option<Case<'a>> {
    // What one disk delivers alone is what the others are judged by.
    if row.reported.way == ReportedPath::Disks && row.disks() == Some(1) {
        return None;
    }
    let (machine, path) = placed(row, machines)?;
    let load = row.load()?;
    let there = |other: &&ReportedRow<'_>| {
        placed(other, machines).is_some_and(|(_, way)| std::ptr::eq(way, path))
    };
    let others = rows.iter().filter(there).filter_map(|other| Some(other.load()?.bytes_per_s));
    let parts = machine.parts(path, row, one_disk(row, rows), others.reduce(f64::max));
    let (standings, verdict) = judge(&parts, load);
    Some(Case { row, machine, path, load, parts, standings, verdict })
}

/// Takes a verdict back to what is left when its link turned out not to matter.
fn doubt(case: &mut Case<'_>) {
    let PathVerdict::Held(place) = case.verdict else { return };
    let unknown = |(place, standing): (usize, &PartSaturation)| {
        (*standing == PartSaturation::Unknown).then_some(place)
    };
    let others = case.standings.iter().enumerate().filter_map(unknown);
    case.verdict = PathVerdict::Unknown(std::iter::once(place).chain(others).collect());
}

fn placed<'a>(
    row: &ReportedRow<'_>,
    machines: &'a [Machine],
) -> Option<(&'a Machine, &'a DataPath)> {
    let named = row.reported.configuration.as_deref()?;
    let machine = machines.iter().find(|machine| machine.name == named)?;
    Some((machine, machine.way(row)?))
}

/// What one disk of the same model was reported to deliver alone: least and most.
fn one_disk(row: &ReportedRow<'_>, rows: &[ReportedRow<'_>]) -> Option<(f64, f64)> {
    let same = |other: &&ReportedRow<'_>| {
        other.reported.way == ReportedPath::Disks
            && other.disks() == Some(1)
            && other.settings.get(knob::DISK_MODEL) == row.settings.get(knob::DISK_MODEL)
    };
    let alone = rows.iter().find(same)?;
    let least = alone.load()?.bytes_per_s;
    let most = alone.reported.figure("highest_throughput_bytes_per_s");
    Some((least, most.map_or(least, |figure| figure.value.max(least))))
}

/// Throughputs from disks of which the text does not tell the way, or the machine is not known: one
/// finding for all that stand in one place for one reason.
fn wayless(rows: &[ReportedRow<'_>], machines: &[Machine]) -> Vec<Finding> {
    let mut together: Vec<(String, Vec<&ReportedRow<'_>>)> = Vec::new();
    for row in rows {
        let Some(why) = why_wayless(row, machines) else { continue };
        let place = |of: &ReportedRow<'_>| of.reported.place == row.reported.place;
        match together.iter_mut().find(|(known, of)| *known == why && place(of[0])) {
            Some((_, of)) => of.push(row),
            None => together.push((why, vec![row])),
        }
    }
    let finding = |(why, of): &(String, Vec<&ReportedRow<'_>>)| {
        let (lead, them) = match &of[..] {
            [row] => (words::lead(row, None), "it"),
            several => (words::lead_of_several(several), "each of them"),
        };
        let claim = format!("{lead}. What held {them} is not known.");
        let finding = Finding::info(QUESTION, claim, of.iter().map(|row| row.number).collect())
            .detailed([why.clone()]);
        Finding { limit: Some("unknown".to_owned()), ..finding }
    };
    together.iter().map(finding).collect()
}

/// Why the way of a throughput from disks is not known; `None` where it is, or none was reported.
fn why_wayless(row: &ReportedRow<'_>, machines: &[Machine]) -> Option<String> {
    let told = row.reported.way == ReportedPath::Disks && row.disks() != Some(1);
    row.load().filter(|_| told && placed(row, machines).is_none())?;
    Some(match &row.reported.configuration {
        None if machines.is_empty() => "there is no recording of the machine".to_owned(),
        None => "the text does not tell the way that these bytes took".to_owned(),
        Some(name) if machines.iter().any(|machine| machine.name == *name) => {
            format!("in the machine `{name}` it cannot be told which way these bytes took")
        }
        Some(name) => format!("there is no recording of the machine `{name}`"),
    })
}

/// Warnings about the cards that the figures went through, each once.
fn warned(cases: &[Case<'_>]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for case in cases {
        for warning in warning::warnings(&case.machine.server) {
            let found = &warning.found;
            if !case.path.controllers.iter().any(|address| found.part.contains(address.as_str())) {
                continue;
            }
            let mut text =
                format!("{}: {} {}", found.part, found.text, words::capital(&found.cost));
            if !text.ends_with('.') {
                text.push('.');
            }
            match findings.iter_mut().find(|finding| finding.claim == text) {
                Some(known) if known.evidence.contains(&case.row.number) => {}
                Some(known) => known.evidence.push(case.row.number),
                None => {
                    let finding = Finding::info(QUESTION, text, vec![case.row.number]);
                    let finding = finding.advise(found.command.clone());
                    findings.push(Finding { severity: Severity::Warning, ..finding });
                }
            }
        }
    }
    findings
}
