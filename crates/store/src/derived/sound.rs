//! Whether the cache is as it was written: rows by their checksums, and all that they rest on.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, Result, Statement};

use super::super::{read, seal};
use super::{ROWS, VERSION, is_number_of, number_of, packed};

/// What of the cache of derived figures is damaged.
pub(super) enum CacheDamage {
    Nothing,
    /// Rows of these trials.
    Rows(Vec<i64>),
    /// What all rows rest on.
    All,
}

/// Looks at all that can be asked for.
pub(super) fn wrong(connection: &Connection) -> Result<CacheDamage> {
    let looked = Ground::of(connection).and_then(|ground| match ground {
        None => Ok(CacheDamage::All),
        Some(mut ground) => ground.rows(connection),
    });
    match looked {
        Err(error) if read::is_damage(&error) => Ok(CacheDamage::All),
        other => other,
    }
}

/// What rows rest on.
struct Ground {
    names: HashSet<u32>,
    /// Workload, name, whether a figure.
    columns: HashSet<(u32, u32, bool)>,
    settings: HashMap<i64, Vec<u8>>,
    /// Lists of names that were found to be columns of that workload.
    known: HashSet<(u32, bool, Vec<u32>)>,
}

impl Ground {
    /// `None` where it is damaged.
    fn of(connection: &Connection) -> Result<Option<Ground>> {
        let mut ground = Ground {
            names: HashSet::new(),
            columns: HashSet::new(),
            settings: HashMap::new(),
            known: HashSet::new(),
        };
        let mut statement = connection.prepare("SELECT id, name FROM derived_name")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let id: u32 = row.get(0)?;
            if !is_number_of(id, &row.get::<_, String>(1)?) {
                return Ok(None);
            }
            ground.names.insert(id);
        }
        drop(rows);
        let mut statement = connection.prepare("SELECT id, packed FROM derived_settings")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (id, packed): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
            if id != number_of(&blake3::hash(&packed)) {
                return Ok(None);
            }
            ground.settings.insert(id, packed);
        }
        drop(rows);
        let mut names = RowLookup::of(connection, "derived_name")?;
        let mut settings = RowLookup::of(connection, "derived_settings")?;
        for id in &ground.names {
            if !names.is((*id).into())? {
                return Ok(None);
            }
        }
        for id in ground.settings.keys() {
            if !settings.is(*id)? {
                return Ok(None);
            }
        }
        let sql = "SELECT version, workload, name, is_figure, seal FROM derived_column";
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let numbers = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
            if row.get::<_, i64>(4)? != column_sum(numbers) {
                return Ok(None);
            }
            if numbers[0] == VERSION {
                ground.columns.insert((row.get(1)?, row.get(2)?, row.get(3)?));
            }
        }
        Ok(Some(ground))
    }

    fn rows(&mut self, connection: &Connection) -> Result<CacheDamage> {
        let mut statement = connection.prepare(&format!("{ROWS} WHERE d.version = ?1"))?;
        let columns = seal::names(&statement);
        let mut rows = statement.query([VERSION])?;
        let (mut damaged, mut last) = (Vec::new(), None);
        let mut found = RowLookup::of(connection, "main.trial")?;
        while let Some(row) = rows.next()? {
            let trial: i64 = row.get("trial")?;
            if last.replace(trial).is_some_and(|last| last >= trial) {
                return Ok(CacheDamage::All);
            }
            // Read one after the other, each trial is found whatever the page above them says.
            let whole = seal::of_row(row, &columns)? == row.get::<_, i64>("seal")?;
            if !whole || !found.is(trial)? {
                damaged.push(trial);
                continue;
            }
            let workload = row.get("workload")?;
            let figures = packed::names(row.get_ref("figures")?.as_blob()?);
            let settings = self.settings.get(&row.get("settings")?);
            let settings = settings.map(|packed| packed::names(packed));
            let whole = settings.is_some_and(|names| self.are_columns(workload, false, names));
            if !(whole && self.are_columns(workload, true, figures)) {
                return Ok(CacheDamage::All);
            }
        }
        Ok(if damaged.is_empty() { CacheDamage::Nothing } else { CacheDamage::Rows(damaged) })
    }

    /// Whether a workload has a column of each name: one that is lost would hide its values.
    fn are_columns(&mut self, workload: u32, is_figure: bool, names: Vec<u32>) -> bool {
        let key = (workload, is_figure, names);
        if self.known.contains(&key) {
            return true;
        }
        let is_column = |name: &u32| {
            self.names.contains(name) && self.columns.contains(&(workload, *name, is_figure))
        };
        let all = self.names.contains(&workload) && key.2.iter().all(is_column);
        if all {
            self.known.insert(key);
        }
        all
    }
}

/// Whether a row is found by its number, as the views look for it: a page above the rows may be
/// damaged, which who reads all of them does not notice.
struct RowLookup<'a>(Statement<'a>);

impl<'a> RowLookup<'a> {
    fn of(connection: &'a Connection, table: &str) -> Result<RowLookup<'a>> {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE id = ?1)");
        connection.prepare(&sql).map(RowLookup)
    }

    fn is(&mut self, id: i64) -> Result<bool> {
        self.0.query_row([id], |row| row.get(0))
    }
}

/// The checksum of a column: version, workload, name, whether a figure.
pub(super) fn column_sum(numbers: [i64; 4]) -> i64 {
    let mut sum = blake3::Hasher::new();
    for number in numbers {
        sum.update(&number.to_le_bytes());
    }
    seal::first(&sum)
}

/// How many rows of the cache are damaged.
pub fn count_damaged(connection: &Connection) -> Result<usize> {
    let rows = match wrong(connection)? {
        CacheDamage::Nothing => 0,
        CacheDamage::Rows(rows) => rows.len(),
        // All of them; there may be none that can be counted.
        CacheDamage::All => {
            let sql = "SELECT count(*) FROM derived NOT INDEXED WHERE version = ?1";
            let all = connection.query_row(sql, [VERSION], |row| row.get::<_, i64>(0));
            return Ok(all.unwrap_or(1).max(1) as usize);
        }
    };
    let lights = || -> Result<usize> {
        let mut statement = connection.prepare("SELECT * FROM derived_light WHERE version = ?1")?;
        let columns = seal::names(&statement);
        let mut lights = statement.query([VERSION])?;
        let mut damaged = 0;
        while let Some(row) = lights.next()? {
            damaged += usize::from(seal::of_row(row, &columns)? != row.get::<_, i64>("seal")?);
        }
        Ok(damaged)
    };
    match lights() {
        Err(error) if read::is_damage(&error) => Ok(rows + 1),
        lights => Ok(rows + lights?),
    }
}
