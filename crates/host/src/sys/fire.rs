//! A disk in memory for tests: what SQLite and the journals ask of files, with errors, full file
//! systems, exhausted memory and power cuts at the moment that a test names.
//!
//! After a cut the disk holds what fsync(2) promised and, of the rest, whatever chance keeps: all,
//! nothing, single sectors, later writes without earlier ones. Everything is drawn from one seed,
//! and [`Disk::trace`] tells whether two runs were the same. What is to be true of the files is the
//! business of those who keep them. After <https://www.sqlite.org/testing.html>, sections 3.1 to
//! 3.3, and TigerBeetle's simulator.

use std::cell::Cell;

mod disk;
mod memory;
pub mod mirror;
mod shared;
mod vfs;

pub use disk::{Disk, Draws};
pub use memory::Shortage;
pub use vfs::{MountedDisk, NAME};

/// What is asked of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub enum DiskOperation {
    /// A file is opened or made.
    Open,
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// A file is cut to a length.
    Truncate,
    /// A file is made durable.
    Sync,
    /// The names in the folder are made durable.
    SyncFolder,
    /// A name is removed, or takes another file.
    Name,
    /// Whether a file is there, and how long it is.
    Look,
    /// Memory is shared with other readers.
    Share,
    /// A lock is taken.
    Lock,
}

impl DiskOperation {
    /// All of them.
    pub const ALL: &[DiskOperation] = <DiskOperation as strum::VariantArray>::VARIANTS;
}

/// How an act fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fails {
    /// EIO.
    Broken,
    /// ENOSPC; of a write, half arrived.
    Full,
}

/// Acts that fail, counted from when the fault was planted.
#[derive(Clone, Copy, Debug)]
pub struct PlantedFault {
    /// Which kind of act.
    pub act: DiskOperation,
    /// So many of the kind go well before.
    pub after: u64,
    /// So many fail then.
    pub times: u64,
    /// In which way.
    pub how: Fails,
}

/// A bug, planted to see whether the tests find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// The log is not synced.
    LogNotSynced,
    /// The database is not synced when the log has been copied into it.
    DatabaseNotSynced,
    /// One sync in three says "done" and does nothing.
    SyncLies,
    /// The names in a folder are not made durable.
    FolderNotSynced,
    /// A write that fails says "done".
    WriteErrorLost,
    /// A write ends half way at times and says "done".
    ShortWrite,
    /// Everybody gets every lock.
    LocksIgnored,
    /// A trial is "kept" before it is synced.
    CommitBeforeSync,
    /// What is computed leaves its weaker promise behind.
    WeakPromiseStays,
    /// A trial takes two transactions.
    TwoTransactions,
    /// The store's error is dropped on the way.
    StoreErrorLost,
    /// A step of the schema stands in no transaction.
    StepWithoutTransaction,
    /// What was computed stays when what it was computed from changes.
    ComputedStays,
    /// A line of the journal is not synced.
    LineNotSynced,
    /// A change is made before its line is written.
    LineAfterChange,
    /// What a failed write left in the journal stays in front of the next line.
    TornLineStays,
}

thread_local! {
    static PLANTED: Cell<Option<Plant>> = const { Cell::new(None) };
}

/// Whether that bug is planted in this thread.
pub fn planted(plant: Plant) -> bool {
    PLANTED.get() == Some(plant)
}

/// Plants a bug in this thread, or none.
pub fn plant(plant: Option<Plant>) {
    PLANTED.set(plant);
}
