//! Keeps what is still on its way, again and again, and goes on when the store refuses: what is
//! being found is worth more than what keeps it.

use experiment::campaign::Campaign;
use experiment::measurement::Record;
use host::sys::{Error, clock};
use store::Store;

/// Records that wait for a store to take them again; of more, the oldest are let go.
const WAITING_MAX: usize = 1000;

/// A campaign whose trials are kept while they run.
#[derive(Debug)]
pub struct CampaignKeeper {
    store: Store,
    id: u64,
    /// What the store refused, by number.
    waiting: Vec<Record>,
    refused: bool,
    lost: bool,
}

impl CampaignKeeper {
    /// Keeps a campaign that holds nothing yet.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn begin(mut store: Store, campaign: &Campaign) -> Result<CampaignKeeper, Error> {
        let id = store.begin(campaign)?;
        Ok(CampaignKeeper { store, id, waiting: Vec::new(), refused: false, lost: false })
    }

    /// Keeps a record in the place of the one of its number. What is refused is tried again with
    /// the next.
    ///
    /// # Errors
    /// When the store refuses, and did not before: it is told once.
    pub fn put(&mut self, record: Record) -> Result<(), Error> {
        self.waiting.retain(|waits| waits.trial.number != record.trial.number);
        self.waiting.push(record);
        let told = self.refused;
        match self.try_all() {
            Err(error) if !told => Err(error),
            _ => Ok(()),
        }
    }

    fn try_all(&mut self) -> Result<(), Error> {
        while let Some(first) = self.waiting.first() {
            if let Err(error) = self.store.renew(self.id, first) {
                self.refused = true;
                if self.waiting.len() > WAITING_MAX {
                    self.waiting.remove(0);
                    self.lost = true;
                }
                return Err(error);
            }
            self.waiting.remove(0);
        }
        self.refused = false;
        Ok(())
    }

    /// Closes the campaign.
    ///
    /// # Errors
    /// When not all of it is kept, or what is kept cannot be found again.
    pub fn finish(mut self) -> Result<u64, Error> {
        self.try_all()?;
        self.store.end(self.id, clock::unix_ns())?;
        self.store.still_there()?;
        if self.lost {
            let what = format!("cannot keep all of campaign {}", self.id);
            return Err(Error::new(what, "the store refused for too long"));
        }
        Ok(self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::Settings;
    use experiment::measurement::{Measurement, Outcome};
    use experiment::plan::Trial;

    fn record(number: u32, elapsed_ns: u64) -> Record {
        let measurement = Measurement { elapsed_ns, ..Measurement::default() };
        let (settings, group) = (Settings::defaults("file"), "verify".to_owned());
        let (replicate, first_file, seed, planned) = (number, 0, 0, None);
        let trial = Trial { number, replicate, group, settings, first_file, seed, planned };
        Record::new(trial, Outcome::Done(Box::new(measurement)))
    }

    #[test]
    fn what_the_store_refused_is_kept_when_it_takes_again_and_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let store = Store::open(&path).unwrap();
        let campaign = Campaign { uid: "u".into(), ..Campaign::default() };
        let mut keeper = CampaignKeeper::begin(store, &campaign).unwrap();
        keeper.put(record(1, 5)).unwrap();
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("ALTER TABLE note RENAME TO away").unwrap();
        other.execute_batch("ALTER TABLE trial RENAME TO elsewhere").unwrap();
        assert!(keeper.put(record(1, 6)).is_err());
        assert!(keeper.put(record(2, 7)).is_ok(), "told already");
        other.execute_batch("ALTER TABLE elsewhere RENAME TO trial").unwrap();
        other.execute_batch("ALTER TABLE away RENAME TO note").unwrap();
        keeper.put(record(2, 8)).unwrap();
        assert_eq!(keeper.finish().unwrap(), 1);
        let sql = "SELECT group_concat(elapsed_ns) FROM trial";
        let kept: String = other.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(kept, "6,8");
    }
}
