//! What the engines that carry a load of their own have in common: the worker process and its
//! parent, what they say to each other, the window, the samples.
//!
//! What a stream does is the engine's business (`file`, `tree`): its threads count in
//! [`control::LoadControl`], and everything else about a trial is here. The load runs in a worker
//! process ([`talk`], [`watch`]) that speaks lines of JSON ([`protocol`]) with the process that
//! started it ([`supervise`]); counting what the kernel did meanwhile is that one's business.

pub mod control;
pub mod cpus;
pub mod folders;
pub mod ledger;
mod pool;
pub mod protocol;
pub mod quiet;
pub mod reread;
pub mod room;
pub mod settle;
mod stall;
pub mod supervise;
pub mod suspect;
pub mod talk;
pub mod tally;
#[cfg(test)]
pub mod testing;
pub mod watch;
