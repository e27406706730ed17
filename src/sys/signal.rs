//! Ctrl-C and its relatives, counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::{Error, clock};

/// Nobody asks twice within this time: timeout(1) and some service managers signal a process and
/// then its group, and a terminal that closes sends SIGHUP along with what else it sends.
const AT_ONCE_NS: u64 = 200_000_000;

/// Whether the user has asked to stop, and whether more than once.
#[derive(Debug, Default)]
pub struct Stop {
    /// On the monotonic clock; 0 is never.
    first_ns: AtomicU64,
    again: AtomicBool,
}

impl Stop {
    /// Nobody has asked yet.
    pub const fn new() -> Stop {
        Stop { first_ns: AtomicU64::new(0), again: AtomicBool::new(false) }
    }

    /// Asks once more; safe in a signal handler.
    pub fn ask(&self) {
        self.ask_at(clock::monotonic_ns());
    }

    fn ask_at(&self, now_ns: u64) {
        let order = Ordering::Relaxed;
        if let Err(first_ns) = self.first_ns.compare_exchange(0, now_ns.max(1), order, order)
            && now_ns.saturating_sub(first_ns) > AT_ONCE_NS
        {
            self.again.store(true, order);
        }
    }

    /// Whether the run is to end in order.
    pub fn asked(&self) -> bool {
        self.first_ns.load(Ordering::Relaxed) > 0
    }

    /// Whether the user has lost patience: what does not end by itself is ended now.
    pub fn insisted(&self) -> bool {
        self.again.load(Ordering::Relaxed)
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
        // SAFETY: the handler does nothing but ask the clock, which signal-safety(7) allows, and
        // set two atomic numbers; it neither allocates nor locks, and it drops nothing.
        unsafe { signal_hook::low_level::register(signal, move || counted.ask()) }
            .map_err(|error| Error::new(format!("cannot catch signal {signal}"), error))?;
    }
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `timeout 60 brickyard run ...` signals the process and then its group: a run that was to end
    /// in order took that for a second Ctrl-C, and killed its load.
    #[test]
    fn two_signals_at_once_are_one_and_two_that_are_apart_are_two() {
        let stop = Stop::new();
        assert!(!stop.asked() && !stop.insisted());
        stop.ask_at(5_000_000_000);
        stop.ask_at(5_000_100_000);
        stop.ask_at(5_200_000_000);
        assert!(stop.asked() && !stop.insisted());
        stop.ask_at(5_300_000_000);
        assert!(stop.insisted());
    }
}
