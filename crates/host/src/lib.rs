//! The one door to the machine: what it is made of, what it counts, what can be changed of it, and
//! the journal of what must be undone.

pub mod sys; //       the one door to the machine: its files, commands, clock; rooted at a path
pub mod journal; //   what must be undone, on disk before it is done
pub mod inventory; // what the server is made of, and what each part could do at most
pub mod bandwidth; // what memory and one core can do at most, measured in seconds
pub mod counters; //  what the kernel counted while a trial ran, one file a source
pub mod provision; // arrays, file systems, mounts: made and unmade, one file a kind
