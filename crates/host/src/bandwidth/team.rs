//! Threads, one a core, that pass over their own arrays at the same time.
//!
//! Each thread is put on its core before it makes its arrays and touches them first, so that they
//! lie in the memory of its node (the kernel's default policy; Documentation/admin-guide/mm/
//! numa_memory_policy). A pass begins at a time told beforehand and ends when the last thread has
//! ended.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use super::kernel;
use crate::sys::clock::monotonic_ns;
use crate::sys::signal::Stop;
use crate::sys::{Error, processors};

/// Bytes per second of the best pass; `None` when no pass was made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Best {
    /// Of the triad.
    pub triad: Option<f64>,
    /// Of reading.
    pub read: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    Triad,
    Read,
}

/// A pass, and when it begins.
#[derive(Clone, Copy)]
struct Order {
    work: Work,
    at_ns: u64,
}

/// When a thread was ready with its pass, in ns of the monotonic clock, or why it cannot make one.
type FinishTime = Result<u64, Error>;

/// Time enough for a sleeping thread to wake, ns.
const WAKE_NS: u64 = 300_000;
/// Passes of each kind; the first finds the memory mapped, the caches full of something else.
const PASSES: std::ops::RangeInclusive<u32> = 2..=12;

/// Passes over arrays of `array_bytes` each, all threads together, until [`monotonic_ns`] shows
/// `until_ns`; two passes of each kind are made however long they take.
///
/// # Errors
/// When a thread cannot be had, put on its core, or given its memory, or the user asked to stop.
pub fn run(cores: &[usize], array_bytes: u64, until_ns: u64, stop: &Stop) -> Result<Best, Error> {
    let failed =
        |why: &dyn facts::error::Cause| Error::new("cannot measure the bandwidth of memory", why);
    let each = usize::try_from(array_bytes / 8).unwrap_or(usize::MAX).div_ceil(cores.len().max(1));
    thread::scope(|scope| {
        let (tell, told) = channel();
        let mut orders: Vec<Sender<Order>> = Vec::new();
        for &core in cores {
            let (order, listen) = channel();
            let tell = tell.clone();
            // Threads that run already end when their orders' senders are gone.
            thread::Builder::new()
                .spawn_scoped(scope, move || member(core, each, &listen, &tell))
                .map_err(|error| failed(&error).hint("raise `ulimit -u`, or pids.max"))?;
            orders.push(order);
        }
        drop(tell);
        gather(&told, orders.len())?;
        let words = each as u64 * orders.len() as u64;
        let half_ns = monotonic_ns().saturating_add(until_ns.saturating_sub(monotonic_ns()) / 2);
        let mut best = Best::default();
        for (work, end_ns) in [(Work::Triad, half_ns), (Work::Read, until_ns)] {
            for pass in 1..=*PASSES.end() {
                if stop.asked() {
                    return Err(failed(&"stopped"));
                }
                if pass > *PASSES.start() && monotonic_ns() >= end_ns {
                    break;
                }
                let at_ns = monotonic_ns() + WAKE_NS;
                for order in &orders {
                    // A thread that is gone is missed when the answers are gathered.
                    let _ = order.send(Order { work, at_ns });
                }
                let took_ns = gather(&told, orders.len())?.saturating_sub(at_ns).max(1);
                let (bytes, best) = match work {
                    Work::Triad => (words.saturating_mul(kernel::TRIAD_BYTES), &mut best.triad),
                    Work::Read => (words.saturating_mul(8), &mut best.read),
                };
                let rate = bytes as f64 / (took_ns as f64 / 1e9);
                *best = Some(best.unwrap_or(0.0).max(rate));
            }
        }
        Ok(best)
    })
}

/// The latest of the times that `count` threads tell, ns.
fn gather(told: &Receiver<FinishTime>, count: usize) -> FinishTime {
    /// No pass takes as long; a thread that is silent for so long hangs.
    const SILENCE: Duration = Duration::from_secs(60);
    let mut last_ns = 0;
    for _ in 0..count {
        let time = told.recv_timeout(SILENCE).map_err(|_| {
            Error::new("cannot measure the bandwidth of memory", "a thread has gone silent")
        })?;
        last_ns = last_ns.max(time?);
    }
    Ok(last_ns)
}

/// One thread: makes its arrays of `each` words, says so, and then does what it is told.
fn member(core: usize, each: usize, orders: &Receiver<Order>, tell: &Sender<FinishTime>) {
    let made = processors::stay_on(core)
        .and_then(|()| Ok((array(each, 0.0)?, array(each, 1.0)?, array(each, 2.0)?)));
    let (mut a, b, c) = match made {
        Ok(arrays) => arrays,
        Err(error) => {
            let _ = tell.send(Err(error));
            return;
        }
    };
    let _ = tell.send(Ok(monotonic_ns()));
    for order in orders {
        while monotonic_ns() < order.at_ns {
            std::hint::spin_loop();
        }
        match order.work {
            Work::Triad => kernel::triad(&mut a, &b, &c, 3.0),
            Work::Read => {
                kernel::sum(&a);
            }
        }
        let _ = tell.send(Ok(monotonic_ns()));
    }
}

/// An array whose every page was written by this thread.
fn array(words: usize, value: f64) -> Result<Vec<f64>, Error> {
    let mut array: Vec<f64> = Vec::new();
    array.try_reserve_exact(words).map_err(|error| {
        Error::new("cannot measure the bandwidth of memory", error.to_string())
            .hint("raise `ulimit -v`, or stop what fills the memory")
    })?;
    array.resize(words, value);
    Ok(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_passes_over_its_arrays_and_tells_its_best() {
        let cores = processors::allowed();
        let until_ns = monotonic_ns() + 20_000_000;
        let best = run(&cores, 1 << 20, until_ns, &Stop::new()).unwrap();
        let (triad, read) = (best.triad.unwrap(), best.read.unwrap());
        // No machine moves a terabyte per second and core; a debug build on a busy
        // machine still moves 1 MB/s.
        let most = 1e12 * cores.len() as f64;
        assert!((1e6..most).contains(&triad) && (1e6..most).contains(&read), "{best:?}");
    }

    #[test]
    fn a_core_that_is_not_there_and_a_stop_end_it_with_an_error() {
        let error = run(&[usize::MAX], 1 << 20, 0, &Stop::new()).unwrap_err();
        assert!(error.what.contains("stay on CPU"), "{error}");
        let ours = processors::allowed()[0];
        assert!(run(&[ours], u64::MAX, 0, &Stop::new()).is_err(), "no such memory");
        let stop = Stop::new();
        stop.ask();
        assert_eq!(run(&[ours], 1 << 20, 0, &stop).unwrap_err().why, "stopped");
    }
}
