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

/// How long the machine has been suspended since it booted, ns: CLOCK_BOOTTIME counts that,
/// CLOCK_MONOTONIC does not.
pub fn suspended_ns() -> u64 {
    beyond_monotonic_ns(ClockId::Boottime)
}

/// Unix time at which CLOCK_MONOTONIC would have shown zero, ns: it jumps when the clock is set.
pub fn wall_offset_ns() -> u64 {
    beyond_monotonic_ns(ClockId::Realtime)
}

/// How far `other` is ahead of CLOCK_MONOTONIC, ns. Read again when it took long, as where this
/// thread lost its processor between both: the time away would count as a difference.
fn beyond_monotonic_ns(other: ClockId) -> u64 {
    const SOON_NS: u64 = 20_000;
    const TRIES: usize = 8;
    let mut best = (u64::MAX, 0);
    for _ in 0..TRIES {
        let before = monotonic_ns();
        let there = to_ns(clock_gettime(other));
        let took = monotonic_ns() - before;
        if took < best.0 {
            best = (took, there.saturating_sub(before + took / 2));
        }
        if took <= SOON_NS {
            break;
        }
    }
    best.1
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

/// The clock of one thread's processor time, that other threads can read.
#[derive(Clone, Copy, Debug)]
pub struct ThreadClock(libc::clockid_t);

impl ThreadClock {
    /// That of the calling thread.
    pub fn own() -> Option<ThreadClock> {
        let mut clock = 0;
        // SAFETY: writes one number; the calling thread is there.
        let found = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        (found == 0).then_some(ThreadClock(clock))
    }

    /// Its time in ns; `None` when the thread has ended.
    pub fn now_ns(self) -> Option<u64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes one time; a clock that is gone is an error.
        let read = unsafe { libc::clock_gettime(self.0, &raw mut time) };
        (read == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

/// Length of one tick of /proc's processor times, ns: sysconf(_SC_CLK_TCK), which is USER_HZ, 100
/// on every architecture but alpha and ia64.
pub fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_clocks_differ_by_stays_as_it_is_while_nobody_sets_them() {
        let offsets: Vec<u64> = (0..200).map(|_| suspended_ns()).collect();
        let (least, most) = (offsets.iter().min().unwrap(), offsets.iter().max().unwrap());
        // Far below what a suspended machine shows, also where processors are taken away.
        assert!(most - least < 50_000_000, "{least} to {most}");
        let now = unix_ns();
        let told = wall_offset_ns() + monotonic_ns();
        assert!(now.abs_diff(told) < 10_000_000_000, "{now} {told}");
    }

    #[test]
    fn the_time_of_a_thread_is_read_from_another_until_it_has_ended() {
        let (give, take) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let mut sum = 0_u64;
            while thread_cpu_ns() < 2_000_000 {
                sum = std::hint::black_box(sum + 1);
            }
            give.send(ThreadClock::own().unwrap()).unwrap();
            let _ = ended.recv();
        });
        let clock = take.recv().unwrap();
        assert!(clock.now_ns().is_some_and(|ns| ns >= 2_000_000));
        drop(end);
        thread.join().unwrap();
        // Who joins it is woken a moment before the kernel has done with it.
        while clock.now_ns().is_some() {
            std::thread::yield_now();
        }
    }
}
