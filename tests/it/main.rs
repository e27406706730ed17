//! Tests that need no privileges: tidiness, whole campaigns, the program as typed.

#![expect(clippy::disallowed_methods, reason = "tests are no part of the program")]

mod added;
mod beneath;
mod again;
mod bounds;
mod circles;
mod compare;
mod database;
mod drawn;
mod effects;
mod engines;
mod holes;
mod imports;
mod integrity;
mod kept;
mod labels;
mod limits;
mod names;
mod network;
mod nfs;
mod outputs;
mod plenty;
mod program;
mod programs;
mod published;
mod query;
mod readme;
mod resume;
mod scripts;
mod serve;
mod servers;
mod signals;
mod size;
mod sql;
mod still;
mod stopped;
mod store;
mod supply;
mod tidy;
mod tools;
mod two;
mod typed;
mod undo;
mod verified;
mod verify;
