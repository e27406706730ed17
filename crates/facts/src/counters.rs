//! (pure) What the kernel counted while a trial ran, as numbers; `host::counters` reads them.

pub mod bounds;
pub mod errors;
mod probe;
pub mod series;
pub mod table;

pub use probe::{PoolCounts, Snapshot};

/// The series of counters hold whole numbers without sign, so temperatures are in thousandths of a
/// kelvin.
pub const ZERO_CELSIUS_MILLIKELVIN: u64 = 273_150;

/// As many threads are watched: at about 10 us a thread this costs 0.26 % of a core, and our files
/// stay below the usual limit of 1024.
pub const MOST_THREADS: usize = 256;
