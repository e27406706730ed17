//! Several campaigns of one machine: the disks of one, the network cards of another.
//!
//! Each campaign says what its own records and its own inventory say: a disk's name may be another
//! one's after a restart. Rates of one part stand side by side, each with its campaign, and a count
//! reaches from the highest of their ends to the lowest.

use serde_json::Value as Json;

use super::{Basis, Facts, PartRate, Sizing, SizingRequest, measured, own, sizing};
use crate::analysis::reported::ReportedRow;
use crate::analysis::reported::way::Machine;
use experiment::measurement::Record;

/// A campaign to size from.
#[derive(Clone, Copy, Debug)]
pub struct SizingCampaign<'a> {
    /// Its number.
    pub campaign: u64,
    /// The name of its machine.
    pub host: &'a str,
    /// Its trials.
    pub records: &'a [Record],
    /// What its machine is made of.
    pub inventory: &'a Json,
}

/// Why campaigns cannot be joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unjoined {
    /// This one has figures that others reported.
    Reported(u64),
    /// These two are of two machines, which differ in this.
    Machines(u64, u64, String),
}

/// Answers it from several campaigns of one machine; see [`super::size`].
///
/// # Errors
/// When they are of several machines, or one is of figures of others.
pub fn size_of_several(
    sources: &[SizingCampaign<'_>],
    asked: &SizingRequest,
) -> Result<Sizing, Unjoined> {
    if let [one] = sources {
        return Ok(super::size(one.records, one.inventory, asked));
    }
    for source in sources {
        if source.records.iter().any(|record| ReportedRow::from_record(record).is_some()) {
            return Err(Unjoined::Reported(source.campaign));
        }
    }
    let machines: Vec<Option<Machine>> =
        sources.iter().map(|source| own(source.inventory).pop()).collect();
    for (place, (source, machine)) in sources.iter().zip(&machines).enumerate() {
        for (other, known) in sources[..place].iter().zip(&machines) {
            if let Some(why) = unlike((other.host, known.as_ref()), (source.host, machine.as_ref()))
            {
                return Err(Unjoined::Machines(other.campaign, source.campaign, why));
            }
        }
    }
    let mut facts = Facts::default();
    for (source, machine) in sources.iter().zip(&machines) {
        join(&mut facts, measured::facts(source.records, machine.as_ref()), source.campaign);
    }
    // The bandwidth of memory is measured by some campaigns alone, and is the machine's.
    let mut all: Vec<Machine> = machines.into_iter().flatten().collect();
    all.sort_by_key(|machine| machine.bandwidth.is_none());
    all.truncate(1);
    Ok(sizing(facts, &all, Basis::Measured, None, asked))
}

/// Adds what a campaign says to what others said.
fn join(facts: &mut Facts, more: Facts, campaign: u64) {
    let named = |rates: Vec<PartRate>| {
        rates.into_iter().map(move |rate| PartRate {
            said: format!("{}, campaign {campaign}", rate.said),
            campaign: Some(campaign),
            ..rate
        })
    };
    // Disks of two sizes have none: 0 stays 0, and is no size where a capacity is asked for.
    facts.disk_bytes = match [facts.disk_bytes, more.disk_bytes] {
        [Some(one), Some(other)] if one != other => Some(0),
        [one, other] => one.or(other),
    };
    facts.controllers.extend(named(more.controllers));
    facts.shared_disks.extend(named(more.shared_disks));
    facts.lone_disks.extend(named(more.lone_disks));
    facts.nics.extend(named(more.nics));
    // Of what no campaign has, the first says why.
    for (why, other) in [
        (&mut facts.no_controllers, more.no_controllers),
        (&mut facts.no_disks, more.no_disks),
        (&mut facts.no_nics, more.no_nics),
    ] {
        if why.is_empty() {
            *why = other;
        }
    }
    facts.notes.extend(more.notes);
}

/// In what two machines differ that cannot be one; `None` where they may be.
fn unlike(one: (&str, Option<&Machine>), other: (&str, Option<&Machine>)) -> Option<String> {
    let facts = |(host, machine): (&str, Option<&Machine>)| {
        let server = machine.map(|machine| &machine.server);
        let firmware = server.map(|server| &server.firmware);
        [
            ("name", Some(host.to_owned()).filter(|host| !host.is_empty())),
            ("serial number", firmware.and_then(|it| it.serial.clone())),
            ("product", firmware.and_then(|it| it.product.clone())),
            ("board", firmware.and_then(|it| it.board.clone())),
            ("processor", server.and_then(|it| it.machine.cpu_model.clone())),
        ]
    };
    let mut pairs = facts(one).into_iter().zip(facts(other));
    pairs.find_map(|((what, one), (_, other))| match (one, other) {
        (Some(one), Some(other)) if one != other => Some(format!("{what}: {one}, and {other}")),
        _ => None,
    })
}
