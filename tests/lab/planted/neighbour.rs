//! Somebody else who uses a disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::disk::sh;

/// Does something over and over until it is dropped.
pub struct Neighbour {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Neighbour {
    /// Does `once` until told to stop; each time takes a moment.
    pub fn doing(mut once: impl FnMut() + Send + 'static) -> Neighbour {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                once();
            }
        });
        Neighbour { stop, thread: Some(thread) }
    }

    /// Reads a device around the page cache.
    pub fn reading(device: &str) -> Neighbour {
        let input = format!("if={device}");
        Neighbour::doing(move || {
            sh("dd", &[&input, "of=/dev/null", "bs=4M", "count=2", "iflag=direct"]);
        })
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
