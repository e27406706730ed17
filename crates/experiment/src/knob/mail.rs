//! Knobs of the engine `mail`, in postmark's terms.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use super::typed::{Bytes, Count, Word};
use super::{Knob, own};
use base::value::Domain;

const SIZES: Domain = Domain::Bytes { min: 1, max: 64 << 20, step: 1 };

pub const POOL_FILES: Knob<Count> = own(
    "pool-files",
    Domain::Count { min: 1, max: 1_000_000 },
    "500",
    "Files of each client when its transactions begin (postmark's number)",
);
pub const SIZE_LOW: Knob<Bytes> =
    own("size-low", SIZES, "500", "Smallest new file (postmark's size)");
pub const SIZE_HIGH: Knob<Bytes> =
    own("size-high", SIZES, "10000", "Largest new file (postmark's size); appends fill up to it");
pub const SIZE_DISTRIBUTION: Knob<Word> = own(
    "size-distribution",
    Domain::OneOf(&["uniform", "log-normal"]),
    "uniform",
    "How sizes are drawn between the two; log-normal has 95 % of its draws there, the rest at them",
);
pub const READ_BIAS: Knob<Count> = own(
    "read-bias",
    Domain::Count { min: 0, max: 10 },
    "5",
    "Of ten transactions, so many read a whole file, and the others append to one",
);
pub const CREATE_BIAS: Knob<Count> = own(
    "create-bias",
    Domain::Count { min: 0, max: 10 },
    "5",
    "Of ten transactions, so many create a file, and the others delete one",
);
pub const TRANSACTIONS: Knob<Count> = own(
    "transactions",
    Domain::Count { min: 1, max: 1_000_000_000 },
    "20000",
    "Transactions of each client that are one pass, for stop=pass",
);
pub const SYNC_FILES: Knob<bool> = own(
    "sync-files",
    Domain::Flag,
    "false",
    "New and longer files are put on the device (fsync) before they are closed, as mail must be",
);
