//! What a store must hold: the oracle. A state is all that its readers see of it.

use std::collections::BTreeMap;

use hdrhistogram::serialization::{Serializer, V2Serializer};

use crate::{Store, derived, read};
use experiment::campaign::Campaign;
use experiment::measurement::{Outcome, Record};
use host::sys::Error;

/// A change of a store.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Begin(Campaign),
    Update(Campaign),
    Append(u64, Box<Record>),
    Renew(u64, Box<Record>),
    End(u64),
    Reopen(u64),
}

impl Step {
    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Step::Begin(_) => "begin",
            Step::Update(_) => "update",
            Step::Append(..) => "append",
            Step::Renew(..) => "renew",
            Step::End(_) => "end",
            Step::Reopen(_) => "reopen",
        }
    }

    /// Makes it.
    pub fn take(&self, store: &mut Store) -> Result<(), Error> {
        match self {
            Step::Begin(campaign) => store.begin(campaign).map(|_| ()),
            Step::Update(campaign) => store.update(campaign),
            Step::Append(campaign, record) => store.append(*campaign, record),
            Step::Renew(campaign, record) => store.renew(*campaign, record),
            Step::End(campaign) => store.end(*campaign, 1_800_000_000_000_000_000),
            Step::Reopen(campaign) => store.reopen(*campaign),
        }
    }
}

/// A campaign as it should be in the store: what it is, whether it ended, its trials.
#[derive(Clone, Debug, PartialEq)]
struct CampaignModel {
    campaign: Campaign,
    ended: bool,
    /// Of each trial, what it is; a hash.
    trials: BTreeMap<u32, u64>,
}

/// All that is kept, by the campaigns' numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State(BTreeMap<u64, CampaignModel>);

impl State {
    /// What it is after a step.
    pub fn after(&self, step: &Step) -> State {
        let mut next = self.clone();
        let mut of = |campaign: u64, change: &dyn Fn(&mut CampaignModel)| {
            next.0.get_mut(&campaign).into_iter().for_each(change);
        };
        match step {
            Step::Begin(campaign) => {
                let id = next.0.keys().last().map_or(1, |last| last + 1);
                next.put(&Campaign { id, ..campaign.clone() }, false, BTreeMap::new());
            }
            Step::Update(campaign) => of(campaign.id, &|kept| kept.campaign = campaign.clone()),
            Step::Append(campaign, record) | Step::Renew(campaign, record) => {
                of(*campaign, &|kept| {
                    kept.trials.insert(record.trial.number, fingerprint(record));
                })
            }
            Step::End(campaign) => of(*campaign, &|kept| kept.ended = true),
            Step::Reopen(campaign) => of(*campaign, &|kept| kept.ended = false),
        }
        next
    }

    fn put(&mut self, campaign: &Campaign, ended: bool, trials: BTreeMap<u32, u64>) {
        self.0.insert(campaign.id, CampaignModel { campaign: campaign.clone(), ended, trials });
    }

    /// What a store holds.
    pub fn read(store: &Store) -> Result<State, Error> {
        let mut state = State::default();
        for (campaign, overview) in store.campaigns()?.iter().zip(store.overviews()?) {
            let records = store.records(campaign.id)?;
            let trials = records.iter().map(|it| (it.trial.number, fingerprint(it))).collect();
            state.put(campaign, overview.ended, trials);
        }
        Ok(state)
    }

    /// The campaigns' numbers.
    pub fn campaigns(&self) -> Vec<u64> {
        self.0.keys().copied().collect()
    }

    /// That campaign.
    pub fn campaign(&self, number: u64) -> Option<&Campaign> {
        self.0.get(&number).map(|kept| &kept.campaign)
    }

    /// The number of a campaign's last trial, 0 when it has none.
    pub fn last(&self, campaign: u64) -> u32 {
        let trials = self.0.get(&campaign).and_then(|kept| kept.trials.keys().last());
        trials.copied().unwrap_or(0)
    }

    /// What differs, in a line.
    pub fn told(&self) -> String {
        let one = |(id, kept): (&u64, &CampaignModel)| {
            format!("{id}{}: {:x?}", if kept.ended { " ended" } else { "" }, kept.trials)
        };
        self.0.iter().map(one).collect::<Vec<_>>().join("; ")
    }
}

/// A hash of every bit of a record that is kept.
pub(super) fn fingerprint(record: &Record) -> u64 {
    let mut record = record.clone();
    let mut hash = blake3::Hasher::new();
    if let Outcome::Done(measurement) = &mut record.outcome {
        measurement.digest = None;
        // Their debug print also shows how they hold it.
        for (operation, histogram) in std::mem::take(&mut measurement.latency) {
            let mut bytes = operation.name().as_bytes().to_vec();
            V2Serializer::new().serialize(&histogram, &mut bytes).expect("fits in memory");
            hash.update(&bytes);
        }
    }
    hash.update(format!("{record:?}").as_bytes());
    hash.finalize().as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Whether the store is sound, and what is computed in it is what its raw counts give.
pub(super) fn sound(store: &mut Store, computed_anew: bool) -> Result<(), String> {
    let failed = |error: rusqlite::Error| format!("the check failed: {error}");
    let connection = &store.connection;
    for (pragma, good) in [("integrity_check", "ok"), ("foreign_key_check", "")] {
        let sql = format!("SELECT * FROM pragma_{pragma}");
        let mut statement = connection.prepare(&sql).map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let said: String = row.get(0).map_err(failed)?;
            if said != good {
                return Err(format!("{pragma}: {said}"));
            }
        }
    }
    let campaigns = store.campaigns().map_err(|error| error.to_string())?;
    for campaign in campaigns {
        let kept = store.light_records(campaign.id).map_err(|error| error.to_string())?;
        let raw = read::records(connection, campaign.id, Record::light).map_err(failed)?;
        if format!("{kept:?}") != format!("{raw:?}") {
            return Err(format!("wrong figures are kept of campaign {}", campaign.id));
        }
    }
    if !computed_anew {
        return Ok(());
    }
    let figures = |store: &Store| -> rusqlite::Result<BTreeMap<i64, String>> {
        let sql = "SELECT * FROM derived WHERE version = ?1";
        let mut statement = store.connection.prepare(sql)?;
        let columns = statement.column_count();
        let rows = statement.query_map([derived::VERSION], |row| {
            let cells = (0..columns).map(|at| Ok(format!("{:?}", row.get_ref(at)?)));
            Ok((row.get(0)?, cells.collect::<rusqlite::Result<Vec<_>>>()?.join(" ")))
        })?;
        rows.collect()
    };
    let kept = figures(store).map_err(failed)?;
    store.connection.execute("DELETE FROM derived", []).map_err(failed)?;
    derived::fill(&mut store.connection, &mut |_, _| {}).map_err(failed)?;
    let anew = figures(store).map_err(failed)?;
    match kept.iter().find(|(trial, row)| anew.get(trial) != Some(row)) {
        None => Ok(()),
        Some((trial, _)) => Err(format!("other figures are kept of trial {trial} than it has")),
    }
}
