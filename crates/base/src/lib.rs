//! Numbers and bytes in, numbers and bytes out. Nothing here touches a file, a socket, a process or
//! a clock, and nothing that this crate is built from gives it a way to.

pub mod value; //     (pure) what a setting can hold: bytes, counts, durations, rates, words
pub mod stats; //     (pure) numbers in, numbers out
pub mod hash; //      (pure) checksums, many blocks at a time
pub mod pattern; //   (pure) blocks that say who they are: fill and check
pub mod checklist; // (pure) lists of checksums that other tools wrote
