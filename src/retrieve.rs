//! Campaigns out of a store, ready for a format of `report`; and campaigns held against each other.

use experiment::campaign::{Campaign, Damage};
use experiment::measurement::Record;
use findings::analysis::compare::exchange::{Exchange, Unfit, exchange};
use findings::analysis::compare::{Comparison, ComparisonRequest, compare, differences};
use findings::analysis::{Finding, Severity};
use findings::report::compare::ComparisonFormat;
use findings::report::pairs::{NamedCampaign, Pair, View};
use findings::report::{Input, Samples};
use host::sys::Error;
use store::Store;

/// Samples of a campaign's trials, read from the store when they are asked for.
#[derive(Debug)]
pub struct StoredSamples<'a> {
    /// The store that holds them.
    pub store: &'a Store,
    /// The number of the campaign.
    pub campaign: u64,
}

impl Samples for StoredSamples<'_> {
    fn of(&self, number: u32) -> Option<Record> {
        self.store.record(self.campaign, number).ok().flatten()
    }
}

/// A campaign with its trials, which have their samples in the store.
#[derive(Debug)]
pub struct Retrieved {
    /// What it is.
    pub campaign: Campaign,
    /// In the order in which they ran.
    pub records: Vec<Record>,
    /// What of it is damaged and left out.
    pub damage: Vec<Damage>,
}

impl Retrieved {
    /// Reads the trials of a campaign.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn new(store: &Store, campaign: Campaign) -> Result<Retrieved, Error> {
        let records = store.light_records(campaign.id)?;
        let damage = store.damage_of(campaign.id, false);
        Ok(Retrieved { campaign, records, damage })
    }

    /// All that a format prints of it.
    pub fn input<'a>(&'a self, samples: &'a StoredSamples<'_>) -> Input<'a> {
        let mut input = Input::new(&self.campaign, &self.records).with(samples);
        input.findings.splice(0..0, self.damage.iter().map(damaged));
        input
    }

    /// What differs besides what was measured, one a line.
    fn differs(&self, other: &Retrieved) -> Vec<String> {
        let mut lines = Vec::new();
        let (old, new) = (&self.campaign, &other.campaign);
        for (what, old, new) in [
            ("plan", &old.plan, &new.plan),
            ("host", &old.host, &new.host),
            ("brickyard", &old.version, &new.version),
        ] {
            // Of an import nobody knows the machine, which is not another host.
            if old != new && ![old, new].into_iter().any(|one| one == "unknown") {
                lines.push(format!("{what}: {new}, was {old}"));
            }
        }
        let before = (&self.records[..], &old.inventory);
        lines.extend(differences(before, (&other.records, &new.inventory)));
        lines.extend(self.damage.iter().chain(&other.damage).map(Damage::to_string));
        lines
    }
}

/// What is damaged, as reports tell it.
fn damaged(damage: &Damage) -> Finding {
    let evidence = damage.trial.into_iter().collect();
    let mut finding = Finding::info("store", format!("{damage}."), evidence);
    finding.severity = Severity::Error;
    finding.advice = Some("`brickyard check` tells all that is damaged.".to_owned());
    finding
}

/// Holds each of `others` against `first`; both stand beside how they were asked for. Gives what
/// the format prints of them, of which `view` says how much, and the comparisons.
///
/// # Errors
/// When the format cannot print it.
pub fn side_by_side(
    first: (&str, &Retrieved),
    others: &[(&str, &Retrieved)],
    asked: &ComparisonRequest,
    view: &View,
    format: &ComparisonFormat,
) -> Result<(String, Vec<Comparison>), serde_json::Error> {
    let (first_typed, first) = first;
    let differences: Vec<Vec<String>> =
        others.iter().map(|(_, other)| first.differs(other)).collect();
    let comparisons: Vec<Comparison> =
        others.iter().map(|(_, other)| compare(&first.records, &other.records, asked)).collect();
    let pairs: Vec<Pair<'_>> = others
        .iter()
        .zip(comparisons.iter().zip(&differences))
        .map(|((typed, other), (comparison, differences))| Pair {
            before: NamedCampaign { typed: first_typed, campaign: &first.campaign },
            now: NamedCampaign { typed, campaign: &other.campaign },
            findings: comparison.findings(),
            comparison,
            differences,
            view,
        })
        .collect();
    let text = (format.render)(&pairs)?;
    drop(pairs);
    Ok((text, comparisons))
}

/// What goes with each of the labels `by` over all of these campaigns.
///
/// # Errors
/// When a campaign does not have these labels, or all have the same.
pub fn by_label(
    sides: &[(&str, &Retrieved)],
    by: &[&'static str],
    asked: &ComparisonRequest,
) -> Result<Exchange, Error> {
    let records: Vec<&[Record]> = sides.iter().map(|(_, side)| &side.records[..]).collect();
    exchange(&records, by, asked).map_err(|unfit| {
        let what = format!("cannot compare by {}", by.join(","));
        match unfit {
            Unfit::Unlabelled(place, knob) => {
                let why = format!("campaign {} has trials without a `{knob}`", sides[place].0);
                let hint = format!("say what is there when it is measured: `run ... {knob}=NAME`");
                Error::new(what, why).hint(hint)
            }
            Unfit::Same(knob, level) => {
                let why = format!("all of these campaigns have {knob}={level}");
                let hint = "`brickyard list campaigns` shows all; name some that differ in it";
                Error::new(what, why).hint(hint)
            }
            Unfit::Empty(place) => {
                Error::new(what, format!("campaign {} has no trial", sides[place].0))
            }
        }
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "makes fixtures")]
mod tests;
