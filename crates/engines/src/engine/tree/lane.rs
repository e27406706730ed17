//! The loop of one stream: the next name, the call, the count.
//!
//! Compiled once for every operation, and for latency on or off, so that inside the loop there is
//! no map, no `dyn`, no allocation, no lock and no system call but the operation itself. With
//! latency on the clock is read once after each operation: where one ends the next begins.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;

use hdrhistogram::Histogram;
use rustix::io::Errno;

use super::act::Act;
use super::entry::Entry;
use super::job::TreeJob;
use crate::engine::load::control::{LoadControl, LoadPhase, StreamCounters};
use crate::engine::load::tally::LatencyTally;
use experiment::measurement::latency_histogram;
use host::sys::clock::monotonic_ns;

/// What one stream did, times on the monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct TreeLaneResult {
    /// The first operation was begun.
    pub started_ns: u64,
    /// The timed pass was over.
    pub pass_end_ns: Option<u64>,
    /// Operations of the timed pass, when that ends by operations.
    pub pass_ops: u64,
    /// The last operation was complete.
    pub stopped_ns: u64,
    /// Operations in all.
    pub ops: u64,
    /// Whole rounds through the names.
    pub rounds: u64,
}

/// An operation on a tree that failed.
#[derive(Clone, Copy, Debug)]
pub struct TreeFault {
    /// On what.
    pub entry: Entry,
    /// The kernel's error.
    pub why: Errno,
}

/// The loop of one stream of the tree engine.
pub struct TreeLane<'a> {
    job: &'a TreeJob,
    shared: &'a LoadControl,
    cell: &'a StreamCounters,
    entries: &'a [Entry],
    directories: &'a [OwnedFd],
    tally: LatencyTally<'a>,
}

impl<'a> TreeLane<'a> {
    /// A lane that is ready to run.
    pub fn new(
        job: &'a TreeJob,
        shared: &'a LoadControl,
        stream: usize,
        entries: &'a [Entry],
        directories: &'a [OwnedFd],
    ) -> TreeLane<'a> {
        let classes = &shared.classes[stream];
        let tally = LatencyTally::over(Some(latency_histogram())).by_class(classes);
        TreeLane { job, shared, cell: &shared.cells[stream], entries, directories, tally }
    }

    /// Runs the trial to its end.
    ///
    /// # Errors
    /// The first operation that fails.
    pub fn run<A: Act, const LATENCY: bool>(
        &mut self,
        act: &mut A,
    ) -> Result<TreeLaneResult, TreeFault> {
        let mut done = TreeLaneResult { started_ns: monotonic_ns(), ..TreeLaneResult::default() };
        let mut last_ns = done.started_ns;
        loop {
            let ended = self.round::<A, LATENCY>(act, &mut done, &mut last_ns)?;
            let now_ns = monotonic_ns();
            done.stopped_ns = now_ns;
            if ended {
                return Ok(done);
            }
            done.rounds += 1;
            let lasted = now_ns - done.started_ns >= self.job.at_least_ns;
            if done.pass_end_ns.is_none() && self.job.ends_by_pass() && lasted {
                done.pass_end_ns = Some(now_ns);
                done.pass_ops = done.ops;
                self.shared.pass_over();
            }
            if done.pass_end_ns.is_some() && !self.job.goes_on() {
                return Ok(done);
            }
            last_ns = monotonic_ns();
        }
    }

    /// Once through the names; whether everybody was told to stop meanwhile.
    #[inline]
    fn round<A: Act, const LATENCY: bool>(
        &mut self,
        act: &mut A,
        done: &mut TreeLaneResult,
        last_ns: &mut u64,
    ) -> Result<bool, TreeFault> {
        let mut phase = self.shared.phase();
        for entry in self.entries {
            if phase == LoadPhase::Stop {
                return Ok(true);
            }
            let directory = &self.directories[entry.directory as usize];
            if let Err(why) = act.act(directory, entry, done.rounds) {
                return Err(TreeFault { entry: *entry, why });
            }
            let begun_in = std::mem::replace(&mut phase, self.shared.phase());
            if LATENCY {
                let now_ns = monotonic_ns();
                // The window does not count what outlasts it: its time is not of the window either.
                if begun_in == LoadPhase::Window && phase == LoadPhase::Window {
                    self.tally.record(now_ns - *last_ns);
                }
                *last_ns = now_ns;
            }
            done.ops += 1;
            self.cell.metadata_ops.store(done.ops, Relaxed);
            if done.ops == 1 {
                self.shared.started();
                phase = self.shared.phase();
                *last_ns = monotonic_ns();
            }
        }
        Ok(false)
    }

    /// Latency of the operations in the window.
    pub fn latency(self) -> Option<Histogram<u64>> {
        self.tally.into_histogram()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::tree::entry::entries;
    use experiment::knob::testing::settings;

    /// An operation on names of which the fifth outlasts the trial.
    struct Stalls<'a>(&'a LoadControl, u32);

    impl Act for Stalls<'_> {
        fn act(&mut self, _: &OwnedFd, _: &Entry, _: u64) -> Result<(), Errno> {
            self.1 += 1;
            if self.1 == 5 {
                self.0.end();
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(())
        }
    }

    /// 36.3k directories per second of one stream, 134 us each on average: the last one took 394 ms
    /// and came after the window of 100 ms, which counted it not, and the mean did.
    #[test]
    fn what_outlasts_the_window_is_in_no_latency_of_it() {
        let knobs = [("cold", "false"), ("stop", "1s"), ("file-size", "0"), ("files", "10")];
        let job = TreeJob::from_settings(&settings("tree", &knobs), 1, 2).unwrap();
        let (events, _told) = std::sync::mpsc::channel();
        let shared = LoadControl::new(1, 0, true, events);
        let folder = tempfile::tempdir().unwrap();
        let directories = [OwnedFd::from(std::fs::File::open(folder.path()).unwrap())];
        let entries = entries(&job, 0);
        let mut lane = TreeLane::new(&job, &shared, 0, &entries, &directories);
        let done = lane.run::<_, true>(&mut Stalls(&shared, 0)).ok().unwrap();
        assert_eq!((done.ops, shared.window().unwrap().done.metadata_ops), (5, 3));
        let latency = lane.latency().unwrap();
        assert_eq!(latency.len(), 3, "the first opens the window, and the fifth outlasts it");
        assert!(latency.max() < 20_000_000);
    }
}
