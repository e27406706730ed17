//! What one core copies, in pieces of 256 KiB.
//!
//! A buffered read of a file in the page cache is such a copy: from pages that no cache of the
//! processor holds into the program's buffer, which it uses again and again and which the cache
//! therefore holds. The kernel's own loop may be slower (`rep movsb`, checks, the search for
//! pages): this is an upper bound of one stream's rate.

use std::time::Duration;

use super::kernel;
use crate::sys::clock::{monotonic_ns, thread_cpu_ns};

/// Length of a piece: a program's buffer, smaller than any second-level cache of a server, bytes.
const PIECE: usize = 256 << 10;
/// What is taken for the last-level cache where the machine shows none, bytes.
const CACHE_ASSUMED: u64 = 32 << 20;
/// A pass makes no sense below this, bytes.
const LEAST: u64 = 64 << 20;

/// How much is copied in a pass: twice what the core's last-level cache holds, at least 64 MiB.
pub fn source_bytes(cache: Option<u64>) -> u64 {
    cache.unwrap_or(CACHE_ASSUMED).saturating_mul(2).max(LEAST)
}

/// How long it may take: time of the thread's own, as what it waits for a processor that others use
/// is not the copy's; and ten times that by the clock on the wall.
#[derive(Clone, Copy)]
struct Budget {
    own_ns: u64,
    wall_ns: u64,
}

impl Budget {
    fn of(time: Duration) -> Budget {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Budget {
            own_ns: thread_cpu_ns().saturating_add(ns),
            wall_ns: monotonic_ns().saturating_add(ns.saturating_mul(10)),
        }
    }

    fn over(self) -> bool {
        thread_cpu_ns() >= self.own_ns || monotonic_ns() >= self.wall_ns
    }
}

/// Bytes per second of the best pass from memory into one warm buffer. `None` when in four times
/// `at_most` not even one and a quarter of the cache can be filled.
pub fn to_a_warm_buffer(size: u64, cache: Option<u64>, at_most: Duration) -> Option<f64> {
    let least = cache.unwrap_or(CACHE_ASSUMED).saturating_mul(5) / 4;
    // Up to 5 us a page where the hypervisor has to find it first: a guest was seen to take 100 ms.
    let source = filled(size, Budget::of(at_most.saturating_mul(4)))?;
    if (source.len() as u64) < least.min(size) {
        return None;
    }
    let mut buffer = vec![2; PIECE];
    best(source.len(), Budget::of(at_most), || kernel::copy_over(&mut buffer, &source))
}

/// Bytes per second of the best pass from memory to memory.
pub fn to_memory(size: u64, at_most: Duration) -> Option<f64> {
    let all = Budget::of(at_most);
    let source = filled(size, Budget::of(Duration::MAX))?;
    let mut target = filled(size, Budget::of(Duration::MAX))?;
    best(source.len(), all, || kernel::copy_along(&mut target, &source, PIECE))
}

/// At least one pass, at most eight, each in the thread's own time.
fn best(bytes: usize, budget: Budget, mut pass: impl FnMut()) -> Option<f64> {
    const PASSES: u32 = 8;
    let mut shortest_ns = u64::MAX;
    for _ in 0..PASSES {
        let began_ns = thread_cpu_ns();
        pass();
        shortest_ns = shortest_ns.min(thread_cpu_ns().saturating_sub(began_ns).max(1));
        if budget.over() {
            break;
        }
    }
    (bytes > 0).then(|| bytes as f64 / (shortest_ns as f64 / 1e9))
}

/// Memory that was written, a whole number of pieces; shorter than `size` when the time is over.
fn filled(size: u64, budget: Budget) -> Option<Vec<u8>> {
    const STEP: usize = 4 * PIECE;
    let size = usize::try_from(size).ok()? / PIECE * PIECE;
    let mut bytes: Vec<u8> = Vec::new();
    bytes.try_reserve_exact(size).ok()?;
    while bytes.len() < size && !budget.over() {
        bytes.resize(size.min(bytes.len() + STEP), 1);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_covers_twice_the_cache() {
        assert_eq!(source_bytes(Some(8 << 20)), 64 << 20);
        assert_eq!(source_bytes(Some(100 << 20)), 200 << 20);
        assert_eq!(source_bytes(None), 64 << 20);
        assert_eq!(source_bytes(Some(u64::MAX)), u64::MAX);
    }

    #[test]
    fn copies_have_a_rate_that_a_machine_can_have() {
        let at_most = Duration::from_millis(400);
        let warm = to_a_warm_buffer(4 << 20, Some(1 << 20), at_most).unwrap();
        let memory = to_memory(4 << 20, at_most).unwrap();
        assert!((1e8..1e12).contains(&warm) && (1e8..1e12).contains(&memory), "{warm} {memory}");
    }

    #[test]
    fn without_time_or_memory_there_is_no_figure() {
        assert_eq!(to_a_warm_buffer(4 << 20, Some(1 << 20), Duration::ZERO), None);
        assert_eq!(to_a_warm_buffer(u64::MAX, None, Duration::MAX), None);
        assert_eq!(to_memory(u64::MAX, Duration::MAX), None);
        assert_eq!(to_memory(0, Duration::MAX), None);
    }
}
