//! Knobs of the engines whose clients do many kinds of operations, and of `replay` among them.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use super::typed::{Nanoseconds, Word};
use super::{Knob, of_job};
use base::value::Domain;

const DAY_NS: u64 = 86_400_000_000_000;

pub const WARM_UP: Knob<Nanoseconds> = of_job(
    "warm-up",
    "ramp_time",
    Domain::Duration { min_ns: 0, max_ns: DAY_NS },
    "0s",
    "Operations are counted only after this long, and when every stream or client has begun",
);
pub const LOADFILE: Knob<Word> = of_job(
    "loadfile",
    "",
    Domain::Text,
    "built-in",
    "The operations: a loadfile of dbench (its -c), or `built-in`, a day in an office",
);
pub const RESOLVE_NAMES: Knob<bool> = of_job(
    "resolve-names",
    "",
    Domain::Flag,
    "true",
    "A missing name is looked for in its whole directory, as Samba must (dbench's --no-resolve)",
);
pub const SYNC_OPEN: Knob<bool> = of_job(
    "sync-open",
    "sync",
    Domain::Flag,
    "false",
    "Files are opened with O_SYNC (dbench's -s)",
);
pub const SYNC_WRITES: Knob<bool> = of_job(
    "sync-writes",
    "fsync",
    Domain::Flag,
    "false",
    "Each write is followed by fsync (dbench's -F)",
);
pub const SYNC_DIRECTORIES: Knob<bool> = of_job(
    "sync-directories",
    "",
    Domain::Flag,
    "false",
    "Each rename, unlink, mkdir and rmdir is followed by fdatasync of the directory (dbench's -S)",
);
