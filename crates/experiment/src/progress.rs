//! (pure) What a run tells while it runs.

use crate::measurement::Record;
use crate::plan::Trial;

/// What a trial is doing just now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// Files are opened, dropped from memory or brought there; nothing is timed yet.
    Preparing,
    /// The load runs.
    Running {
        /// Since the streams were let go, ns.
        elapsed_ns: u64,
        /// When it will be over, ns since the start, as far as is known.
        expected_ns: Option<u64>,
        /// Throughput just now, bytes per second.
        bytes_per_s: f64,
        /// Operations per second just now.
        ops_per_s: f64,
    },
    /// Writes are being made durable.
    Flushing,
}

/// What a campaign tells.
#[derive(Debug)]
pub enum Event<'a> {
    /// A sentence for people: what was found, what will be done.
    Say(String),
    /// A trial begins.
    Begin {
        /// Which.
        trial: &'a Trial,
        /// How many trials there will be, those that lay out files included, as far as is known.
        of: u32,
        /// When the campaign will be over, ns from now, as far as is known.
        left_ns: Option<u64>,
    },
    /// Something happens in the trial.
    During(Progress),
    /// A trial is over and stored.
    End(&'a Record),
}

/// Someone who wants to be told.
pub trait Observer {
    /// Is told; must not take long, a trial may be running.
    fn tell(&mut self, event: &Event<'_>);
}
