//! Evaluates a storage server: how fast, to how many at once, held back by what, and whether to
//! believe it.
//!
//! Data flows one way, down this list. A module may use only the modules above it, and one marked
//! (pure) touches no file, socket, process or clock; `tests/it/tidy.rs` fails when either is
//! broken.

mod value; //       (pure) what a setting can hold: bytes, counts, durations, rates, words, switches
mod stats; //       (pure) numbers in, numbers out
mod hash; //        (pure) checksums, many blocks at a time
mod pattern; //     (pure) blocks that say who they are: fill and check
mod checklist; //   (pure) lists of checksums that other tools wrote
mod sys; //         the one door to the machine: its files, commands, clock; rooted at a path
mod journal; //     what must be undone, on disk before it is done
mod inventory; //   what the server is made of, and what each part could do at most
mod bandwidth; //   what memory and one core can do at most, measured in seconds
mod counters; //    what the kernel counted while a trial ran, one file a source
mod provision; //   arrays, file systems, mounts: made and unmade, one file a kind
mod knob; //        everything that can be varied, one constant each
mod workload; //    (pure) named presets of knobs
mod plan; //        (pure) factors and levels, expanded into trials
mod measurement; // (pure) what one trial yielded, and the verdicts on it: origin, steady, notes
mod progress; //    (pure) what a run tells while it runs
mod published; //   (pure) tables of papers, as data
mod fleet; //       the other end of a trial: rendezvous, its clock, lines between both
mod engine; //      runs one trial and returns one measurement, one file each
mod verify; //      reads a user's own files again and again and holds them against sums
mod store; //       campaigns in SQLite
mod campaign; //    runs a plan: make files, measure, store, clean up
mod analysis; //    (pure) measurements in, findings out, one file a question
mod report; //      (pure) findings and figures out to people, one file a format
mod retrieve; //    campaigns out of a store, ready for a format
mod serve; //       the store in a browser, read-only
pub mod cli; //     arguments in, exit status out, one file a command
#[doc(hidden)]
pub mod parsers; // every parser of what others may have written, in one table for tests and fuzzers
