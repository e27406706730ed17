//! Ctrl-C and its relatives, as a flag.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::Error;

/// A flag that SIGINT, SIGTERM and SIGHUP set; all three end a run alike.
///
/// # Errors
/// When the kernel refuses a handler.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Error> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&flag))
            .map_err(|error| Error::new(format!("cannot catch signal {signal}"), error))?;
    }
    Ok(flag)
}
