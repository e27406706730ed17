//! Files of a trial on ZFS: what was laid out is brought to the pool's devices before anything is
//! counted, and it is looked how it lies there.

use std::path::PathBuf;
use std::time::Duration;

use experiment::measurement::evidence::ZfsPoolEvidence;
use host::sys::signal::Stop;
use host::sys::{command, pages};

/// A pool of slow disks may have seconds of data to write.
const WRITTEN_MAX: Duration = Duration::from_secs(60);

/// The files, and what was found of them.
pub struct Files {
    pools: Vec<String>,
    files: Vec<PathBuf>,
    laid: Option<pages::Laid>,
}

impl Files {
    /// These, on pools of these names.
    pub fn new(pools: Vec<String>, files: &[PathBuf]) -> Files {
        Files { pools, files: files.to_vec(), laid: None }
    }

    /// Has the pools write what waits for it, and looks how the files lie. What is not written yet
    /// is in memory, where no count shows that it is read. That a pool refuses, as to a plain user,
    /// is no failure: then the files take less room than they will, and the verdict says so.
    pub fn settle(&mut self, stop: &Stop) {
        for pool in &self.pools {
            let words = ["zpool", "sync", pool].map(str::to_owned);
            let _ = command::run(&words, WRITTEN_MAX, stop);
        }
        self.laid = pages::laid(&self.files);
    }

    /// Tells what was found.
    pub fn tell(self, known: &mut ZfsPoolEvidence) {
        known.record_bytes = self.laid.and_then(|laid| laid.block_bytes);
        known.stored_bytes = self.laid.map(|laid| laid.stored_bytes);
    }
}
