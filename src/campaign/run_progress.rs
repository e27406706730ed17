//! How far a campaign has come, and what it has cost so far.

use std::collections::BTreeSet;

use experiment::measurement::{Measurement, Note};

/// What of a campaign is over, and what is still to come.
#[derive(Debug, Default)]
pub(super) struct RunProgress {
    /// Trials kept so far.
    pub(super) count: u32,
    /// Trials that there will be, as far as that is known.
    pub(super) of: u32,
    /// Places in the plan's order that an earlier run has been through.
    pub(super) over: BTreeSet<u32>,
    /// Time that trials took so far, ns; a simulated server's passes faster than ours.
    pub(super) measured_ns: u64,
    /// How fast files were last written and made durable, bytes per second.
    pub(super) wrote_per_s: Option<f64>,
    /// When all will be over, monotonic clock; `None` while that cannot be told.
    pub(super) ends_at_ns: Option<u64>,
    /// What the first trial that is measured must say.
    pub(super) notes: Vec<Note>,
    /// Every trial that was asked for was run.
    pub(super) complete: bool,
}

impl RunProgress {
    /// Begun anew, or where an earlier run stopped: `count` trials are kept, and these places are
    /// over.
    pub(super) fn from(count: u32, over: BTreeSet<u32>) -> RunProgress {
        RunProgress { count, over, ..RunProgress::default() }
    }

    /// The number of the next trial.
    pub(super) fn next_number(&mut self) -> u32 {
        let number = self.count + 1;
        self.of = self.of.max(number);
        number
    }

    /// Counts what a trial measured, and gives it the notes that waited for the first one.
    pub(super) fn measured(&mut self, measurement: &mut Measurement) {
        measurement.notes.append(&mut self.notes);
        self.measured_ns += measurement.elapsed_ns;
        self.wrote_per_s = wrote_per_s(measurement).or(self.wrote_per_s);
    }
}

/// How fast a trial wrote what it made durable, bytes per second.
fn wrote_per_s(measurement: &Measurement) -> Option<f64> {
    let durable = measurement.durable.as_ref()?;
    (durable.bytes > 0 && durable.durable_ns > 0)
        .then(|| durable.bytes as f64 * 1e9 / durable.durable_ns as f64)
}
