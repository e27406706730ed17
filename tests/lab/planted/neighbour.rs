//! Somebody else who uses a disk.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
        Neighbour::reading_with(device, 0)
    }

    /// The same with pauses, ms.
    pub fn reading_with(device: &str, pause_ms: u64) -> Neighbour {
        let input = format!("if={device}");
        Neighbour::doing(move || {
            sh("dd", &[&input, "of=/dev/null", "bs=4M", "count=2", "iflag=direct"]);
            std::thread::sleep(Duration::from_millis(pause_ms));
        })
    }

    /// Writes a file over around the page cache, with pauses, ms.
    pub fn writing(file: PathBuf, pause_ms: u64) -> Neighbour {
        let output = format!("of={}", file.display());
        Neighbour::doing(move || {
            sh("dd", &["if=/dev/zero", &output, "bs=4M", "count=2", "oflag=direct"]);
            std::thread::sleep(Duration::from_millis(pause_ms));
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
