//! Campaigns and trials into tables.

use hdrhistogram::serialization::{Serializer, V2Serializer};
use rusqlite::{Connection, Params, Result, Transaction, TransactionBehavior, params};

use super::{codec, seal};
use experiment::campaign::Campaign;
use experiment::measurement::{Integrity, Measurement, Note, Outcome, Programs, Record, Verified};
#[cfg(test)]
use host::sys::fire::{Plant, planted};

fn json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

pub(super) fn campaign(connection: &Connection, campaign: &Campaign) -> Result<u64> {
    // Of reading first and then writing, another program that writes meanwhile would make an error.
    let transaction = immediate(connection)?;
    transaction.execute(
        "INSERT INTO campaign
           (uid, plan, engine, host, started_unix_ns, seed, version, argv, inventory, not_bought,
            plan_json, prices, currency, left_out)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        params![
            campaign.uid,
            campaign.plan,
            campaign.engine,
            campaign.host,
            campaign.started_unix_ns as i64,
            campaign.seed as i64,
            campaign.version,
            json(&campaign.argv)?,
            json(&campaign.inventory)?,
            json(&campaign.not_bought)?,
            campaign.plan_json,
            (!campaign.prices.is_empty()).then(|| json(&campaign.prices)).transpose()?,
            (!campaign.currency.is_empty()).then_some(&campaign.currency),
            (!campaign.left_out.is_empty()).then(|| json(&campaign.left_out)).transpose()?,
        ],
    )?;
    let id = transaction.last_insert_rowid();
    seal::campaign(&transaction, id)?;
    transaction.commit()?;
    Ok(id as u64)
}

fn immediate(connection: &Connection) -> Result<Transaction<'_>> {
    Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
}

/// Changes a campaign's row, and its checksum with it.
pub(super) fn change(
    connection: &Connection,
    id: u64,
    sql: &str,
    values: impl Params,
) -> Result<()> {
    let transaction = immediate(connection)?;
    if transaction.execute(sql, values)? > 0 {
        seal::campaign(&transaction, id as i64)?;
    }
    transaction.commit()
}

pub(super) fn update(connection: &Connection, campaign: &Campaign) -> Result<()> {
    let sql = "UPDATE campaign SET inventory = ?2, not_bought = ?3 WHERE id = ?1";
    let (inventory, not_bought) = (json(&campaign.inventory)?, json(&campaign.not_bought)?);
    change(connection, campaign.id, sql, params![campaign.id as i64, inventory, not_bought])
}

/// Gives the number of the trial's row.
pub(super) fn records(
    connection: &Connection,
    campaign: u64,
    records: &[Record],
) -> Result<Vec<i64>> {
    let transaction = immediate(connection)?;
    let ids: Result<Vec<i64>> =
        records.iter().map(|record| trial(&transaction, campaign, record)).collect();
    let ids = ids?;
    transaction.commit()?;
    Ok(ids)
}

/// The record in the place of the one of that number, where there is one.
pub(super) fn renewed(connection: &Connection, campaign: u64, record: &Record) -> Result<i64> {
    // From reading to writing there is no way while another program writes.
    let transaction = immediate(connection)?;
    let sql = "DELETE FROM trial WHERE campaign = ?1 AND number = ?2";
    insert(&transaction, sql, params![campaign as i64, record.trial.number])?;
    let id = trial(&transaction, campaign, record)?;
    transaction.commit()?;
    Ok(id)
}

fn trial(transaction: &Transaction<'_>, campaign: u64, record: &Record) -> Result<i64> {
    let trial = &record.trial;
    let reason = match &record.outcome {
        Outcome::Failed(why) | Outcome::Skipped(why) => Some(why.as_str()),
        Outcome::Done(_) | Outcome::Interrupted => None,
    };
    insert(
        transaction,
        "INSERT INTO trial
           (campaign, number, replicate, cell_group, first_file, seed, settings, outcome, reason,
            planned, engine)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            campaign as i64,
            trial.number,
            trial.replicate,
            trial.group,
            trial.first_file,
            trial.seed as i64,
            json(&trial.settings)?,
            record.outcome.name(),
            reason,
            trial.planned,
            Some(trial.settings.engine()).filter(|engine| !engine.is_empty()),
        ],
    )?;
    let id = transaction.last_insert_rowid();
    #[cfg(test)]
    if planted(Plant::TwoTransactions) {
        transaction.execute_batch("COMMIT; BEGIN")?;
    }
    if let Some(measurement) = record.outcome.measurement() {
        self::measurement(transaction, id, measurement)?;
    }
    notes(transaction, id, &record.notes)?;
    seal::trial(transaction, campaign as i64, trial.number, id)?;
    Ok(id)
}

/// Executes what is executed for every trial, compiled once.
fn insert(to: &Transaction<'_>, sql: &str, values: impl Params) -> Result<usize> {
    to.prepare_cached(sql)?.execute(values)
}

/// Programs without their outputs, which have a table of their own.
fn runs(programs: &Programs) -> Result<String> {
    json(&Programs { outputs: Vec::new(), ..programs.clone() })
}

fn outputs(to: &Transaction<'_>, trial: i64, programs: &Programs) -> Result<()> {
    for output in &programs.outputs {
        insert(
            to,
            "INSERT INTO output (trial, copy, stream, bytes, head, tail)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                trial,
                output.copy,
                output.stream,
                output.bytes as i64,
                output.head,
                output.tail
            ],
        )?;
    }
    Ok(())
}

/// What was checked without its faults, which have a table of their own.
fn checked(integrity: &Integrity) -> Result<String> {
    let Integrity { checksum, wrong, counted, uncounted, .. } = integrity;
    let (checksum, wrong) = (checksum.clone(), wrong.clone());
    let (counted, uncounted) = (counted.clone(), uncounted.clone());
    json(&Integrity { checksum, wrong, counted, uncounted, faults: Vec::new(), ..*integrity })
}

fn faults(to: &Transaction<'_>, trial: i64, integrity: &Integrity) -> Result<()> {
    for fault in &integrity.faults {
        insert(
            to,
            "INSERT INTO fault (trial, at_ns, file, offset, kind, what, lasting, rereads,
               excerpt_at, expected, found, kernel)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            params![
                trial,
                fault.at_ns as i64,
                fault.file,
                fault.offset as i64,
                fault.kind,
                fault.what,
                fault.lasting.name(),
                json(&fault.rereads)?,
                fault.excerpt_at as i64,
                fault.expected,
                fault.found,
                json(&fault.kernel)?,
            ],
        )?;
    }
    Ok(())
}

/// A verification without its problems, which have a table of their own.
fn passes(verified: &Verified) -> Result<String> {
    json(&Verified { problems: Vec::new(), ..verified.clone() })
}

fn problems(to: &Transaction<'_>, trial: i64, verified: &Verified) -> Result<()> {
    for problem in &verified.problems {
        insert(
            to,
            "INSERT INTO problem (trial, path, kind, why) VALUES (?1, ?2, ?3, ?4)",
            params![trial, problem.path, problem.kind, problem.why],
        )?;
    }
    Ok(())
}

fn measurement(to: &Transaction<'_>, trial: i64, measurement: &Measurement) -> Result<()> {
    let window = measurement.window.as_ref();
    insert(
        to,
        "UPDATE trial SET started_unix_ns = ?2, elapsed_ns = ?3, window_start_ns = ?4,
           window_end_ns = ?5, window_read_bytes = ?6, window_read_ops = ?7,
           window_write_bytes = ?8, window_write_ops = ?9, streams = ?10, durable = ?11,
           second_pass = ?12, evidence = ?13, programs = ?14, layout = ?15,
           reported = ?16, window_metadata_ops = ?17, integrity = ?18,
           verified = ?19 WHERE id = ?1",
        params![
            trial,
            measurement.started_unix_ns as i64,
            measurement.elapsed_ns as i64,
            window.map(|window| window.start_ns as i64),
            window.map(|window| window.end_ns as i64),
            window.map(|window| window.done.read_bytes as i64),
            window.map(|window| window.done.read_ops as i64),
            window.map(|window| window.done.write_bytes as i64),
            window.map(|window| window.done.write_ops as i64),
            json(&measurement.streams)?,
            measurement.durable.as_ref().map(json).transpose()?,
            measurement.second_pass.as_ref().map(json).transpose()?,
            json(&measurement.evidence)?,
            measurement.programs.as_ref().map(runs).transpose()?,
            measurement.layout.as_ref().map(json).transpose()?,
            measurement.reported.as_ref().map(json).transpose()?,
            window.map_or(0, |window| window.done.metadata_ops as i64),
            measurement.integrity.as_ref().map(checked).transpose()?,
            measurement.verified.as_ref().map(passes).transpose()?,
        ],
    )?;
    if let Some(verified) = &measurement.verified {
        problems(to, trial, verified)?;
    }
    if let Some(integrity) = &measurement.integrity {
        faults(to, trial, integrity)?;
    }
    for series in std::iter::once(&measurement.load).chain(&measurement.counters) {
        insert(
            to,
            "INSERT INTO sample (trial, source, rows, series) VALUES (?1, ?2, ?3, ?4)",
            params![trial, series.source, series.at_ns.len() as i64, codec::encode(series)],
        )?;
    }
    for (operation, histogram) in &measurement.latency {
        let mut latency = Vec::new();
        V2Serializer::new()
            .serialize(histogram, &mut latency)
            .expect("a histogram of known range fits in memory");
        insert(
            to,
            "INSERT INTO histogram (trial, operation, latency) VALUES (?1, ?2, ?3)",
            params![trial, operation.name(), latency],
        )?;
    }
    if let Some(programs) = &measurement.programs {
        outputs(to, trial, programs)?;
    }
    notes(to, trial, &measurement.notes)
}

fn notes(to: &Transaction<'_>, trial: i64, notes: &[Note]) -> Result<()> {
    for note in notes {
        insert(
            to,
            "INSERT INTO note (trial, kind, text) VALUES (?1, ?2, ?3)",
            params![trial, note.kind, note.text],
        )?;
    }
    Ok(())
}
