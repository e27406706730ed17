//! The clocks that all parts of the program share.

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC in ns: the same for every process of this machine, so the worker's times and
/// the counters' lie on one axis. A vDSO call, not a system call, wherever the TSC is usable.
pub fn monotonic_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Monotonic))
}

/// CLOCK_MONOTONIC_RAW in ns: never slewed, as the clock of the kernel's messages.
pub fn raw_ns() -> u64 {
    to_ns(clock_gettime(ClockId::MonotonicRaw))
}

/// Unix time in ns.
pub fn unix_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Realtime))
}

/// Processor time of the calling thread in ns.
pub fn thread_cpu_ns() -> u64 {
    to_ns(clock_gettime(ClockId::ThreadCPUTime))
}

/// Processor time of this process, all threads, in ns.
pub fn process_cpu_ns() -> u64 {
    to_ns(clock_gettime(ClockId::ProcessCPUTime))
}

fn to_ns(time: rustix::time::Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sleeps until [`monotonic_ns`] shows `at_ns`; a signal may wake it earlier.
pub fn sleep_until(at_ns: u64) {
    let at = rustix::time::Timespec {
        tv_sec: (at_ns / 1_000_000_000) as i64,
        tv_nsec: (at_ns % 1_000_000_000) as _,
    };
    let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &at);
}
