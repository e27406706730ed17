//! Rates that others reported: of disks, of controllers, of network cards.

use serde::Serialize;

use super::{Facts, PartRate};
use crate::analysis::reported::ReportedRow;
use crate::analysis::reported::way::Machine;
use base::value::count;
use experiment::knob;
use experiment::measurement::reported::ReportedPath;

/// Where nothing was reported.
const MEASURE: &str = "measure it: `brickyard run sequential-read --dir DIR direct=true`";

/// What a text expected of a throughput, without having measured it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// Who and when.
    pub by: String,
    /// Where in their text.
    pub place: String,
    /// Their words.
    pub says: String,
    /// Controllers, least and most.
    pub controllers: Option<[f64; 2]>,
    /// Disks, least and most.
    pub disks: Option<[f64; 2]>,
    /// Network cards.
    pub nics: Option<f64>,
}

/// What the text expected of that throughput; `None` where it expects nothing, or of another.
pub fn expected(rows: &[ReportedRow<'_>], target: f64) -> Option<Expected> {
    const SAME: f64 = 0.01;
    let of_target = |row: &&ReportedRow<'_>| {
        let of = row.reported.figure("expected_throughput_bytes_per_s");
        of.is_some_and(|figure| (figure.value / target - 1.0).abs() <= SAME)
    };
    let reported = rows.iter().find(of_target)?.reported;
    let value = |name: &str| reported.figure(name).map(|figure| figure.value);
    let ends = |part: &str| {
        let least = value(&format!("expected_{part}_min"))?;
        Some([least, value(&format!("expected_{part}_max"))?])
    };
    Some(Expected {
        by: reported.by.clone(),
        place: reported.place.clone(),
        says: reported.says.clone(),
        controllers: ends("controllers"),
        disks: ends("disks"),
        nics: value("expected_nics"),
    })
}

/// What the rows say.
pub fn facts(rows: &[ReportedRow<'_>], machines: &[Machine]) -> Facts {
    let mut facts = Facts {
        no_controllers: format!(
            "no reported figure is of disks that are known to be behind one controller; {MEASURE}"
        ),
        no_disks: format!(
            "no reported figure is of one disk, or of disks behind one controller; {MEASURE}"
        ),
        no_nics: "no reported figure is of a network card in a slot that is known; measure it: \
                  `brickyard send HOST tcp-stream`"
            .to_owned(),
        ..Facts::default()
    };
    let mut unplaced = Vec::new();
    for row in rows.iter().filter(|row| reads(row)) {
        match (row.reported.way, row.disks()) {
            (ReportedPath::Disks, Some(1)) => facts.lone_disks.extend(alone(row)),
            (ReportedPath::Disks, _) => match behind_one(row, machines) {
                Some(rate) => {
                    facts.shared_disks.extend(rate.disks.map(|disks| rate.over(disks)));
                    facts.controllers.push(rate);
                }
                None if row.reported.rate().is_some() => unplaced.push(row),
                None => {}
            },
            (ReportedPath::Network, _) => facts.nics.extend(card(row, machines)),
            (ReportedPath::Untold, _) => {}
        }
    }
    facts.notes.extend(unused(&unplaced));
    facts
}

/// What rows from disks could not be used, by the highest of them.
fn unused(rows: &[&ReportedRow<'_>]) -> Option<String> {
    let rate = |row: &ReportedRow<'_>| row.reported.rate().map_or(0.0, |(figure, _)| figure.value);
    let most = rows.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let card = match most.settings.get(knob::CARD).unwrap_or_default() {
        "" => String::new(),
        card => format!(" with {card}"),
    };
    let (figure, _) = most.reported.rate()?;
    let many = match rows.len() {
        1 => "one rate from disks".to_owned(),
        many => format!("{} rates from disks, of which the most is", count(many as u64)),
    };
    Some(format!(
        "Not used, as it is not told which controllers the bytes passed: {many} {}{card}, {}.",
        figure.printed, most.reported.place
    ))
}

/// Whether its bytes were read, as far as the text tells.
fn reads(row: &ReportedRow<'_>) -> bool {
    !row.settings.writes()
}

/// A rate of a row, with the ends that its author gave.
fn rate(row: &ReportedRow<'_>, said: String) -> Option<PartRate> {
    let (figure, _) = row.reported.rate()?;
    Some(PartRate {
        bytes_per_s: figure.value,
        low_bytes_per_s: figure.value,
        high_bytes_per_s: Some(figure.value),
        cards: 1,
        said: format!("{said}, {}", row.reported.place),
        trials: vec![row.number],
        ..PartRate::default()
    })
}

fn alone(row: &ReportedRow<'_>) -> Option<PartRate> {
    let rate = rate(row, "one disk alone".to_owned())?;
    let most = row.reported.figure("highest_throughput_bytes_per_s").map(|figure| figure.value);
    let high = most.unwrap_or(rate.bytes_per_s).max(rate.bytes_per_s);
    Some(PartRate { high_bytes_per_s: Some(high), disks: Some(1), ..rate })
}

/// The rate of a controller. What is no level, above which more disks did not bring it, bounds only
/// from below what a controller gives: from above, its way does.
fn behind_one(row: &ReportedRow<'_>, machines: &[Machine]) -> Option<PartRate> {
    let named = row.reported.configuration.as_deref()?;
    let place = machines.iter().position(|machine| machine.name == named)?;
    let machine = &machines[place];
    let (path, disks) = (machine.way(row)?, row.disks()?);
    let (_, level) = row.reported.rate()?;
    let rate = rate(row, format!("{disks} disks on one controller"))?;
    let ceiling = path.narrowest.and_then(|part| path.parts[part].bytes_per_s);
    let high = match level {
        true => rate.high_bytes_per_s,
        false => ceiling.map(|ceiling| ceiling.max(rate.bytes_per_s)),
    };
    Some(PartRate {
        high_bytes_per_s: high,
        disks: Some(disks),
        lanes: machine.lanes(path),
        ends: Some(path.ends.len() as u64),
        machine: place,
        ..rate
    })
}

/// The rate of a network card, or one's part of the sum of several (`slot` is `1+2+3`).
fn card(row: &ReportedRow<'_>, machines: &[Machine]) -> Option<PartRate> {
    let named = row.reported.configuration.as_deref()?;
    let place = machines.iter().position(|machine| machine.name == named)?;
    let machine = &machines[place];
    let slots: Vec<&str> = row.settings.get(knob::SLOT).unwrap_or_default().split('+').collect();
    let lanes: Option<Vec<Option<u32>>> =
        slots.iter().map(|slot| machine.of_slot(slot).map(|path| machine.lanes(path))).collect();
    let lanes = lanes?;
    let said = match &slots[..] {
        [slot] => format!("the card in slot {slot}"),
        all => format!("{} cards at once", all.len()),
    };
    let rate = rate(row, said)?;
    let lanes =
        lanes.into_iter().collect::<Option<Vec<u32>>>().and_then(|all| all.into_iter().max());
    let rate = PartRate { lanes, cards: slots.len(), machine: place, ..rate };
    Some(rate.over(slots.len()))
}
