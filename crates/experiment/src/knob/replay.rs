//! Knobs of the engines whose clients do many kinds of operations, and of `replay` among them.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use std::marker::PhantomData;

use super::typed::{Nanoseconds, Setting, Word};
use super::{Apply, Knob, Scope};
use base::value::Domain;

const DAY_NS: u64 = 86_400_000_000_000;

/// A job knob.
const fn knob<T: Setting>(
    name: &'static str,
    fio: &'static str,
    domain: Domain,
    default: &'static str,
    about: &'static str,
) -> Knob<T> {
    Knob {
        name,
        fio,
        about,
        domain,
        default,
        scope: Scope::Job,
        apply: Apply::Engine,
        reads: PhantomData,
    }
}

pub const WARM_UP: Knob<Nanoseconds> = knob(
    "warm-up",
    "ramp_time",
    Domain::Duration { min_ns: 0, max_ns: DAY_NS },
    "0s",
    "Operations are counted only after this long, and when every client has come so far",
);
pub const LOADFILE: Knob<Word> = knob(
    "loadfile",
    "",
    Domain::Text,
    "built-in",
    "The operations: a loadfile of dbench (its -c), or `built-in`, a day in an office",
);
pub const RESOLVE_NAMES: Knob<bool> = knob(
    "resolve-names",
    "",
    Domain::Flag,
    "true",
    "A missing name is looked for in its whole directory, as Samba must (dbench's --no-resolve)",
);
pub const SYNC_OPEN: Knob<bool> =
    knob("sync-open", "sync", Domain::Flag, "false", "Files are opened with O_SYNC (dbench's -s)");
pub const SYNC_WRITES: Knob<bool> = knob(
    "sync-writes",
    "fsync",
    Domain::Flag,
    "false",
    "Each write is followed by fsync (dbench's -F)",
);
pub const SYNC_DIRECTORIES: Knob<bool> = knob(
    "sync-directories",
    "",
    Domain::Flag,
    "false",
    "Each rename, unlink, mkdir and rmdir is followed by fdatasync of the directory (dbench's -S)",
);
