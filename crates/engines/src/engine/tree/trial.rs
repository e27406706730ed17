//! One trial as all its streams see it, and what one of them yields.

use hdrhistogram::Histogram;

use super::job::TreeJob;
use super::lane::TreeLaneResult;
use super::place::StreamTree;
use crate::engine::load::control::LoadControl;

/// A trial of the tree engine as its streams see it: what all of them are given.
#[derive(Debug)]
pub struct TreeTrial {
    /// What to do.
    pub job: TreeJob,
    /// Where each stream works.
    pub places: Vec<StreamTree>,
    /// Phase, counters, gate.
    pub shared: LoadControl,
    /// Processors, in turn; empty when nothing is pinned.
    pub cpus: Vec<usize>,
    /// Latency is recorded.
    pub latency: bool,
}

/// What one stream of the tree engine did.
#[derive(Debug, Default)]
pub struct TreeStreamResult {
    /// Of the load.
    pub done: TreeLaneResult,
    /// Processor time of the thread from release to its end, ns.
    pub cpu_ns: u64,
    /// Latency.
    pub latency: Option<Histogram<u64>>,
}
