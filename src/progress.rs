//! (pure) What a run tells while it runs.

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
