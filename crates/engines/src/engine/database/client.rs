//! One client of a bank: transactions, one after the other.

use std::path::{Path, PathBuf};
use std::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire},
};

use rusqlite::{Connection, Statement, params};
use rustix::fs::Mode;

use super::bank::{self, HISTORY_FILLER_BYTES, broken, is_busy};
use super::draw::{Transfer, TransferDraw};
use super::rules::BankSettings;
use crate::engine::clients::tally::ClientTally;
use crate::engine::clients::worker::ClientTrial;
use crate::engine::clients::{Client, ClientResult, ClientStep, carry, stand_alone};
use crate::engine::load::control::{LoadControl, LoadPhase};
use crate::engine::load::protocol::{Failure, LoadFailure};
use experiment::measurement::Operation;
use host::sys::beneath;
use host::sys::clock::unix_ns;

/// The load of a trial of transactions: what all its clients share.
#[derive(Debug)]
pub struct DatabaseLoad {
    /// How a bank is kept.
    pub rules: BankSettings,
    /// Draws.
    pub seed: u64,
    /// Transactions of one round.
    pub transactions: u64,
    /// The bank of all, when they share one.
    pub shared: Option<PathBuf>,
    /// Committed by clients that have ended.
    pub committed: AtomicU64,
    /// Clients that have not ended.
    pub left: AtomicUsize,
}

/// The thread of client `index`.
///
/// # Errors
/// With what failed: a statement, or the books at the end.
pub fn run(trial: &ClientTrial<DatabaseLoad>, index: usize) -> Result<ClientResult, LoadFailure> {
    let work = &trial.work;
    let seed = work.seed ^ (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let path = match &work.shared {
        // SQLite knows which of its own threads has a file locked, and asks the kernel once for
        // all: with descriptors of their own, one could not let go what another has locked.
        Some(path) => path.clone(),
        None => {
            stand_alone()?;
            own(&trial.place(index), index, &work.rules, seed)?
        }
    };
    let connection = bank::open(&path, &work.rules)?;
    let mut client = BankSession::new(&connection, work, seed, &trial.shared)?;
    let yielded = carry(&mut client, &trial.terms, &trial.shared, index)?;
    let committed = client.committed;
    drop(client);
    if yielded.stopped_ns > 0 {
        balance(work, &connection, committed)?;
    }
    Ok(yielded)
}

/// A bank of one client, in a folder of its own.
fn own(
    place: &Path,
    index: usize,
    rules: &BankSettings,
    seed: u64,
) -> Result<PathBuf, LoadFailure> {
    let folder = place.join(format!("client{index}"));
    beneath::make_folder(&folder, Mode::RWXU).map_err(|why| {
        let why = std::io::Error::from(why);
        (Failure::Failed, format!("cannot make {}: {why}", folder.display()))
    })?;
    let path = folder.join("bank.db");
    bank::make(&path, rules, seed)?;
    Ok(path)
}

/// Looks at the books of a bank that nobody uses any more.
fn balance(
    work: &DatabaseLoad,
    connection: &Connection,
    committed: u64,
) -> Result<(), LoadFailure> {
    if work.shared.is_none() {
        return bank::check(connection, committed);
    }
    work.committed.fetch_add(committed, AcqRel);
    // What the others have committed was added before they left.
    match work.left.fetch_sub(1, AcqRel) {
        1 => bank::check(connection, work.committed.load(Acquire)),
        _ => Ok(()),
    }
}

/// Where a client is served: its statements, prepared, and what it draws from.
struct BankSession<'c> {
    rules: &'c BankSettings,
    shared: &'c LoadControl,
    draw: TransferDraw,
    filler: [u8; HISTORY_FILLER_BYTES],
    transactions: u64,
    left: u64,
    committed: u64,
    begin: Statement<'c>,
    account: Statement<'c>,
    balance: Statement<'c>,
    teller: Statement<'c>,
    branch: Statement<'c>,
    history: Statement<'c>,
    commit: Statement<'c>,
    rollback: Statement<'c>,
}

impl<'c> BankSession<'c> {
    fn new(
        connection: &'c Connection,
        work: &'c DatabaseLoad,
        seed: u64,
        shared: &'c LoadControl,
    ) -> Result<BankSession<'c>, LoadFailure> {
        let prepare = |sql: &str| {
            connection.prepare(sql).map_err(|why| broken(&format!("prepare `{sql}`"), &why))
        };
        Ok(BankSession {
            rules: &work.rules,
            shared,
            // Not what the rows of its bank were filled with.
            draw: TransferDraw::new(work.rules.branches, !seed),
            filler: [0; HISTORY_FILLER_BYTES],
            transactions: work.transactions,
            left: work.transactions,
            committed: 0,
            // Asks for the right to write at once: two that have read before they ask would wait
            // for each other, and SQLite would send one of them away.
            begin: prepare("BEGIN IMMEDIATE")?,
            account: prepare("UPDATE accounts SET abalance = abalance + ?1 WHERE aid = ?2")?,
            balance: prepare("SELECT abalance FROM accounts WHERE aid = ?1")?,
            teller: prepare("UPDATE tellers SET tbalance = tbalance + ?1 WHERE tid = ?2")?,
            branch: prepare("UPDATE branches SET bbalance = bbalance + ?1 WHERE bid = ?2")?,
            history: prepare("INSERT INTO history VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?,
            commit: prepare("COMMIT")?,
            rollback: prepare("ROLLBACK")?,
        })
    }

    /// The profile of TPC-B (clause 1.2), in the order of pgbench's; false when the trial was over
    /// before another client had let go of the database.
    fn transact(&mut self, transfer: Transfer) -> rusqlite::Result<bool> {
        let Transfer { account, teller, branch, delta } = transfer;
        if !patiently(&mut self.begin, self.shared)? {
            return Ok(false);
        }
        self.account.execute(params![delta, account])?;
        let balance: i64 = self.balance.query_row(params![account], |row| row.get(0))?;
        // A teller would say it to the customer.
        std::hint::black_box(balance);
        self.teller.execute(params![delta, teller])?;
        self.branch.execute(params![delta, branch])?;
        let now_us = (unix_ns() / 1000) as i64;
        let row = params![teller, branch, account, delta, now_us, self.filler];
        self.history.execute(row)?;
        if !patiently(&mut self.commit, self.shared)? {
            self.rollback.execute([])?;
            return Ok(false);
        }
        Ok(true)
    }
}

/// Runs a statement that may have to wait for another client; false when the trial ended first.
fn patiently(statement: &mut Statement<'_>, shared: &LoadControl) -> rusqlite::Result<bool> {
    loop {
        match statement.execute([]) {
            Ok(_) => return Ok(true),
            Err(why) if is_busy(&why) && shared.phase() == LoadPhase::Stop => return Ok(false),
            Err(why) if is_busy(&why) => {}
            Err(why) => return Err(why),
        }
    }
}

impl Client for BankSession<'_> {
    fn step(&mut self, tally: &mut ClientTally<'_>) -> Result<ClientStep, LoadFailure> {
        let transfer = self.draw.transfer();
        self.draw.fill(self.rules.data, &mut self.filler);
        let committed = self.transact(transfer);
        let what = || format!("go on after {} transactions", self.committed);
        if !committed.map_err(|why| broken(&what(), &why))? {
            return Ok(ClientStep::Part);
        }
        tally.metadata(Operation::Transaction);
        self.committed += 1;
        self.left -= 1;
        if self.left > 0 {
            return Ok(ClientStep::Part);
        }
        self.left = self.transactions;
        Ok(ClientStep::Round)
    }

    fn kinds(&self) -> Vec<Operation> {
        vec![Operation::Transaction]
    }

    fn is_durable(&self) -> bool {
        self.rules.at_risk().is_none()
    }
}
