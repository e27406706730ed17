//! Evaluates a storage server: how fast, to how many at once, held back by what, and whether to
//! believe it.
//!
//! Data flows one way, down this list of crates, and down the list of modules that each of them
//! opens with. A crate may use those above it alone, which the compiler sees to; a module those
//! above it, and one marked (pure) touches no file, socket, process or clock, which
//! `tests/it/tidy.rs` sees to. `base`, `facts`, `experiment`, `importers` and `findings` are
//! built from nothing that could.
//!
//! | crate | what it is |
//! |---|---|
//! | `base` | values, statistics, checksums, the pattern of blocks |
//! | `facts` | what is known of a machine, as types; nothing here reads it |
//! | `experiment` | knobs, workloads, plans, measurements and the verdicts on them |
//! | `importers` | what other tools print, one file a tool |
//! | `host` | the one door to the machine: its parts, counters, settings; the journal |
//! | `engines` | what runs a trial; the other end of one; what reads a user's own files |
//! | `store` | campaigns in SQLite |
//! | `findings` | measurements in, findings and reports out |
//! | this one | runs a plan, serves a store, takes arguments |

mod retrieve; //    campaigns out of a store, ready for a format
mod campaign; //    runs a plan: make files, measure, store, clean up
mod serve; //       the store in a browser, read-only
pub mod cli; //     arguments in, exit status out, one file a command
#[doc(hidden)]
pub mod parsers; // every parser of what others may have written, in one table for tests and fuzzers
