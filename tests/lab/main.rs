//! The lab: the real kernel with known limits. Needs root; what cannot run prints `SKIP name: why`.
//!
//! The truth is drawn anew in every run; the seed is printed, and `BRICKYARD_LAB_SEED` replays it.
//! The program is told nothing but the path. Everything that is made here is unmade when a test
//! ends, however it ends, and no device is touched that a test did not make.

#![expect(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr, reason = "tests")]

mod arrays;
mod concat;
mod confidence;
mod daemon;
mod database;
mod disk;
mod drawn;
mod evaluation;
mod faults;
mod fileserver;
mod flushed;
mod fuse;
mod guest;
mod hang;
mod integrity;
mod interface;
mod knobs;
mod layouts;
mod liar;
mod limits;
mod machines;
mod model;
mod names;
mod network;
mod network_disk;
mod network_udp;
mod nfs;
mod origin;
mod patterns;
mod planted;
mod raw;
mod referee;
mod replaced;
mod run;
mod servers;
mod stacks;
mod still;
mod storm;
mod sustained;
mod two;
mod verify;
mod watchdog;
mod wrap;
