//! Knobs of the engine `database`: how large its bank is, and how SQLite keeps it.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use super::typed::{Bytes, Count, Word};
use super::{Knob, own};
use base::value::Domain;

pub const SCALE: Knob<Count> = own(
    "scale",
    Domain::Count { min: 1, max: 100_000 },
    "1",
    "Branches of a bank, each with 10 tellers and 100 000 accounts (pgbench's -s)",
);
pub const JOURNAL_MODE: Knob<Word> = own(
    "journal-mode",
    Domain::OneOf(&["wal", "delete", "truncate", "persist"]),
    "wal",
    "How SQLite can undo and redo: a write-ahead log, or a journal that each commit takes away",
);
pub const SYNCHRONOUS: Knob<Word> = own(
    "synchronous",
    Domain::OneOf(&["full", "extra", "normal", "off"]),
    "full",
    "What SQLite flushes; with less than full, commits may be undone by a power cut",
);
pub const PAGE_SIZE: Knob<Bytes> = own(
    "page-size",
    Domain::Bytes { min: 512, max: 65_536, step: 512 },
    "4KiB",
    "Bytes of a page of the database, a power of two",
);
pub const SHARED_DATABASE: Knob<bool> = own(
    "shared-database",
    Domain::Flag,
    "false",
    "All clients use one database and wait for each other; `false`: each has its own",
);
