//! What is asked for, and what came of it: from a knob over a plan to the measurement of a trial
//! and the verdicts on it.

pub mod knob; //        (pure) everything that can be varied, one constant each
pub mod workload; //    (pure) named presets of knobs
pub mod plan; //        (pure) factors and levels, expanded into trials
pub mod measurement; // (pure) what one trial yielded, and the verdicts on it: origin, steady, notes
pub mod campaign; //    (pure) what was run, where and when
pub mod query; //       (pure) what a store is asked, and what it answers
pub mod progress; //    (pure) what a run tells while it runs
pub mod published; //   (pure) tables of papers, as data
