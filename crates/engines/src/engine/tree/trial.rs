//! One trial as all its streams see it, and what one of them yields.

use hdrhistogram::Histogram;

use super::job::Job;
use super::lane::Done;
use super::place::Place;
use crate::engine::load::control::LoadControl;

/// What all streams of a trial are given.
#[derive(Debug)]
pub struct Trial {
    /// What to do.
    pub job: Job,
    /// Where each stream works.
    pub places: Vec<Place>,
    /// Phase, counters, gate.
    pub shared: LoadControl,
    /// Processors, in turn; empty when nothing is pinned.
    pub cpus: Vec<usize>,
    /// Latency is recorded.
    pub latency: bool,
}

/// What one stream yielded.
#[derive(Debug, Default)]
pub struct Yield {
    /// Of the load.
    pub done: Done,
    /// Processor time of the thread from release to its end, ns.
    pub cpu_ns: u64,
    /// Latency.
    pub latency: Option<Histogram<u64>>,
}
