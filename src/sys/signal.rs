//! Ctrl-C and its relatives, counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::Error;

/// How often the user has asked to stop.
#[derive(Debug, Default)]
pub struct Stop(AtomicU32);

impl Stop {
    /// Nobody has asked yet.
    pub const fn new() -> Stop {
        Stop(AtomicU32::new(0))
    }

    /// Asks once more; safe in a signal handler.
    pub fn ask(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the run is to end in order.
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Whether the user has lost patience: what does not end by itself is ended now.
    pub fn insisted(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }
}

/// Counts SIGINT, SIGTERM and SIGHUP; all three end a run alike.
///
/// # Errors
/// When the kernel refuses a handler.
pub fn stop() -> Result<Arc<Stop>, Error> {
    let stop = Arc::new(Stop::new());
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let counted = Arc::clone(&stop);
        // SAFETY: the handler does nothing but add to an atomic number, which signal-safety(7)
        // allows; it neither allocates nor locks, and it drops nothing.
        unsafe { signal_hook::low_level::register(signal, move || counted.ask()) }
            .map_err(|error| Error::new(format!("cannot catch signal {signal}"), error))?;
    }
    Ok(stop)
}
