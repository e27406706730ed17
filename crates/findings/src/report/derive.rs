//! Everything that is derived from a campaign's records, in one place.

use rayon::prelude::*;

use super::{Input, Samples, TrialView, prices};
use crate::analysis::{self, AnalysisInput};
use experiment::campaign::Campaign;
use experiment::measurement::figures::{cells, figures};
use experiment::measurement::origin::{Verdict, origin};
use experiment::measurement::steady::{Steady, steady};
use experiment::measurement::{Record, judge};

/// The questions that a verification of a user's own files answers.
const TELL_OF_FILES: [&str; 4] = ["integrity", "power-cut", "notes", "failures"];

impl<'a> Input<'a> {
    /// Computes figures, verdicts, cells and findings.
    pub fn new(campaign: &'a Campaign, records: &'a [Record]) -> Input<'a> {
        // What others reported answers no question of ours but one.
        let reported = analysis::reported::answer(records);
        let measured = if reported.is_some() { &[] } else { records };
        let asked = AnalysisInput::new(measured, &campaign.inventory, &campaign.prices);
        let mut findings = analysis::findings(&asked);
        findings.extend(analysis::reported::findings(records, &campaign.inventory));
        analysis::summary::readvise(campaign, &mut findings);
        let told = || analysis::answer(measured, &findings).into_iter().collect();
        let answer = reported.or_else(|| analysis::reported::of_tools(records));
        // What others reported is told in sentences alone.
        let mut said = answer.clone().unwrap_or_default();
        let views = || records.par_iter().map(TrialView::new).collect();
        let cells = || if verified(measured) { Vec::new() } else { cells(records) };
        let (mut answer, (trials, cells)): (Vec<String>, (Vec<TrialView>, _)) =
            rayon::join(|| answer.unwrap_or_else(told), || rayon::join(views, cells));
        if verified(measured) {
            // How fast that is was not what was asked: what was found is all there is to tell.
            answer = Vec::new();
            findings.retain(|finding| TELL_OF_FILES.contains(&finding.question));
        }
        let mut said_alone = false;
        if let Some((is_first, headline)) = analysis::integrity::told(measured) {
            said_alone = is_first;
            let place = if is_first { 0 } else { answer.len() };
            said.push(headline.clone());
            answer.insert(place, headline);
        }
        let shown = asked.into_shown().decided(&findings);
        let summary = analysis::summary::summary(campaign, measured, &cells, &findings, &said);
        let summary = if said_alone { summary.said_alone() } else { summary };
        let mut input = Input {
            campaign,
            records,
            samples: None,
            trials,
            cells,
            shown,
            findings,
            answer,
            summary,
        };
        prices::add(&mut input);
        input
    }
}

/// Whether they are readings of a user's own files.
fn verified(records: &[Record]) -> bool {
    let mut measurements = records.iter().filter_map(|record| record.outcome.measurement());
    measurements.any(|measurement| measurement.verified.is_some())
}

impl<'a> Input<'a> {
    /// The same, with a place to have samples from.
    pub fn with(self, samples: &'a dyn Samples) -> Input<'a> {
        Input { samples: Some(samples), ..self }
    }
}

impl TrialView {
    /// Computes what is shown of one trial.
    pub fn new(record: &Record) -> TrialView {
        let Some(measurement) = record.outcome.measurement() else {
            return TrialView { notes: judge::all(record), ..TrialView::default() };
        };
        let settings = &record.trial.settings;
        let from = origin(measurement, settings);
        let read = from.verdict != Verdict::None;
        let (steady, steady_text) = match steady(measurement, settings) {
            Steady::Tested(true) => (Some(true), "settled".to_owned()),
            Steady::Tested(false) => (Some(false), "not settled".to_owned()),
            Steady::NotTested(why) => (None, format!("not tested: {why}")),
        };
        TrialView {
            figures: figures(record),
            origin: read.then_some(from),
            steady,
            steady_text,
            notes: judge::all(record),
        }
    }
}
