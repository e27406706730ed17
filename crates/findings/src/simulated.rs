//! Verdicts of `experiment` over trials that `engines` simulate, samples that only `report` draws,
//! and the answer of `analysis`: what needs more than one crate to be tested.

mod consistency;
mod span;
mod start;
