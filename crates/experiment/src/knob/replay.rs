//! Knobs of the engines whose clients do many kinds of operations, and of `replay` among them.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use std::marker::PhantomData;

use super::typed::{Nanoseconds, Setting, Word};
use super::{Apply, Knob, Scope};
use base::value::Domain;

const DAY_NS: u64 = 86_400_000_000_000;

/// A job knob of these engines.
const fn knob<T: Setting>(
    engines: &'static [&'static str],
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
        engines,
        apply: Apply::Engine,
        reads: PhantomData,
    }
}

const REPLAY: &[&str] = &["replay"];

pub const WARM_UP: Knob<Nanoseconds> = knob(
    &["replay", "mail", "database", "net", "net-file", "net-udp"],
    "warm-up",
    "ramp_time",
    Domain::Duration { min_ns: 0, max_ns: DAY_NS },
    "0s",
    "Operations are counted only after this long, and when every client has come so far",
);
pub const LOADFILE: Knob<Word> = knob(
    REPLAY,
    "loadfile",
    "",
    Domain::Text,
    "built-in",
    "The operations: a loadfile of dbench (its -c), or `built-in`, a day in an office",
);
pub const RESOLVE_NAMES: Knob<bool> = knob(
    REPLAY,
    "resolve-names",
    "",
    Domain::Flag,
    "true",
    "A missing name is looked for in its whole directory, as Samba must (dbench's --no-resolve)",
);
pub const SYNC_OPEN: Knob<bool> = knob(
    REPLAY,
    "sync-open",
    "sync",
    Domain::Flag,
    "false",
    "Files are opened with O_SYNC (dbench's -s)",
);
pub const SYNC_WRITES: Knob<bool> = knob(
    REPLAY,
    "sync-writes",
    "fsync",
    Domain::Flag,
    "false",
    "Each write is followed by fsync (dbench's -F)",
);
pub const SYNC_DIRECTORIES: Knob<bool> = knob(
    REPLAY,
    "sync-directories",
    "",
    Domain::Flag,
    "false",
    "Each rename, unlink, mkdir and rmdir is followed by fdatasync of the directory (dbench's -S)",
);
