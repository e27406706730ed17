//! Knobs of the engine `mail`, in postmark's terms.

use super::{Apply, Knob, Scope};
use crate::value::Domain;

/// A knob that only the engine `mail` obeys.
const fn knob(
    name: &'static str,
    domain: Domain,
    default: &'static str,
    about: &'static str,
) -> Knob {
    let (scope, engines, apply) = (Scope::Job, &["mail"], Apply::Engine);
    Knob { name, fio: "", about, domain, default, scope, engines, apply }
}

const SIZES: Domain = Domain::Bytes { min: 1, max: 64 << 20, step: 1 };

pub const POOL_FILES: Knob = knob(
    "pool-files",
    Domain::Count { min: 1, max: 1_000_000 },
    "500",
    "Files of each client when its transactions begin (postmark's number)",
);
pub const SIZE_LOW: Knob = knob("size-low", SIZES, "500", "Smallest new file (postmark's size)");
pub const SIZE_HIGH: Knob =
    knob("size-high", SIZES, "10000", "Largest new file (postmark's size); appends fill up to it");
pub const SIZE_DISTRIBUTION: Knob = knob(
    "size-distribution",
    Domain::OneOf(&["uniform", "log-normal"]),
    "uniform",
    "How sizes are drawn between the two; log-normal has 95 % of its draws there, the rest at them",
);
pub const READ_BIAS: Knob = knob(
    "read-bias",
    Domain::Count { min: 0, max: 10 },
    "5",
    "Of ten transactions, so many read a whole file, and the others append to one",
);
pub const CREATE_BIAS: Knob = knob(
    "create-bias",
    Domain::Count { min: 0, max: 10 },
    "5",
    "Of ten transactions, so many create a file, and the others delete one",
);
pub const TRANSACTIONS: Knob = Knob {
    engines: &["mail", "database"],
    ..knob(
        "transactions",
        Domain::Count { min: 1, max: 1_000_000_000 },
        "20000",
        "Transactions of each client that are one pass, for stop=pass",
    )
};
pub const SYNC_FILES: Knob = knob(
    "sync-files",
    Domain::Flag,
    "false",
    "New and longer files are put on the device (fsync) before they are closed, as mail must be",
);
