//! A whole store looked at: SQLite's own structures, every checksum, every trial decoded.

use super::read::{self, Known};
use super::{Store, derived, refused, seal};
use experiment::campaign::Damage;
use host::sys::Error;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Checked {
    /// Campaigns that are there.
    pub campaigns: usize,
    /// Trials that were looked at.
    pub trials: usize,
    /// Whether there are checksums: a store of an older version that nobody has written since has
    /// none, and of it only what makes no sense at all is found.
    pub checksums: bool,
    /// Campaigns that were kept before there were checksums, which have one as they were found.
    pub as_found: u64,
    /// Trials and campaigns that are not as they were kept.
    pub damaged: Vec<Damage>,
    /// What SQLite says about the file, as many lines as fit on a screen.
    pub file: Vec<String>,
    /// Rows of the cache that are damaged: they are computed anew, and no figure is another.
    pub cache_rows_damaged: usize,
}

impl Checked {
    /// Whether nothing is wrong.
    pub fn is_whole(&self) -> bool {
        self.damaged.is_empty() && self.file.is_empty() && self.cache_rows_damaged == 0
    }
}

/// Lines of SQLite's about the file.
const LINES_MAX: usize = 20;

impl Store {
    /// Looks at everything; `tell` hears how many trials are done.
    ///
    /// # Errors
    /// When it cannot be read at all.
    pub fn check(&self, tell: &mut dyn FnMut(usize)) -> Result<Checked, Error> {
        self.checked(tell).map_err(|error| refused(&self.path, &error))
    }

    fn checked(&self, tell: &mut dyn FnMut(usize)) -> rusqlite::Result<Checked> {
        let file = self.file()?;
        // A run may write meanwhile: all is of one moment.
        let moment = self.moment()?;
        let connection = &*moment;
        let checksums = seal::exist(connection)?;
        let mut checked = Checked { file, checksums, ..Checked::default() };
        self.work.anew();
        let (campaigns, unreadable) = read::campaigns(connection)?;
        checked.campaigns = campaigns.len() + unreadable.len();
        let damage = |(id, what): (i64, String)| Damage { campaign: id as u64, trial: None, what };
        let mut damaged: Vec<Damage> = unreadable.into_iter().map(damage).collect();
        if checked.checksums {
            damaged.extend(seal::campaigns(connection)?);
            checked.as_found = seal::as_found(connection)?;
            checked.cache_rows_damaged = derived::count_damaged(connection)?;
        }
        let mut known = Known::new();
        for campaign in seal::numbers(connection)? {
            let trials: Vec<(i64, u32)> = match seal::list(connection, campaign)? {
                Some(list) => {
                    damaged.extend(list.damage);
                    list.trials.iter().map(|entry| (entry.trial, entry.number)).collect()
                }
                None => read::rows_of(connection, campaign)?,
            };
            for trial in trials {
                self.work.anew();
                let read = seal::checked(connection, campaign, trial, &mut known)?;
                damaged.extend(read.err());
                checked.trials += 1;
                tell(checked.trials);
            }
        }
        damaged.sort();
        damaged.dedup();
        Ok(Checked { damaged, ..checked })
    }

    /// What SQLite says about the file: trees, indexes, pages (`PRAGMA integrity_check`).
    pub(super) fn file(&self) -> rusqlite::Result<Vec<String>> {
        self.work.anew();
        let sql = format!("PRAGMA integrity_check({LINES_MAX})");
        let lines = (|| {
            let mut statement = self.connection.prepare(&sql)?;
            let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
            lines.collect::<rusqlite::Result<Vec<String>>>()
        })();
        match lines {
            Ok(lines) => Ok(lines.into_iter().filter(|line| line != "ok").collect()),
            Err(error) if read::is_damage(&error) => Ok(vec![error.to_string()]),
            Err(error) => Err(error),
        }
    }
}
