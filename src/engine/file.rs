//! Files, by io_uring, io_submit, pread and pwrite, or a memory map.
//!
//! The load runs in a worker process ([`serve`]) that speaks lines of JSON ([`protocol`]) with the
//! process that started it; counting what the kernel did meanwhile is that one's business.

mod address;
mod backend;
mod control;
mod files;
mod job;
mod lane;
pub mod protocol;
mod serve;
mod stream;

pub use serve::{serve, worker};
