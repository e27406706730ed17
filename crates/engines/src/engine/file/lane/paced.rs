//! Open loop: operations begin at fixed times, whatever the server does.
//!
//! Latency counts from the time at which an operation was meant to begin, so that a server that
//! stalls cannot hide the operations that waited (Tene's "coordinated omission").

use super::{
    AddressGenerator, Backend, Check, FileLane, FileLaneResult, IoFault, LoadPhase, monotonic_ns,
};

/// How often a stream that waits for its next operation looks whether it should stop, ns.
const LOOK_NS: u64 = 50_000_000;

/// When operation `number` of stream `stream` is due, ns since the start. Streams take their turns
/// evenly, so that they do not all begin at the same instant.
pub fn due_ns(number: u64, rate: u64, stream: u32, streams: u32) -> u64 {
    let (rate, streams) = (u128::from(rate.max(1)), u128::from(streams.max(1)));
    let turns = u128::from(number) * streams + u128::from(stream);
    (turns * 1_000_000_000 / (rate * streams)) as u64
}

impl<B: Backend, G: AddressGenerator, C: Check> FileLane<'_, B, G, C> {
    /// Runs the trial at the rate of its terms.
    ///
    /// # Errors
    /// The first I/O that fails or falls short.
    pub fn run_paced<const READS: bool, const WRITES: bool>(
        &mut self,
    ) -> Result<FileLaneResult, IoFault> {
        let mut done = FileLaneResult { started_ns: monotonic_ns(), ..FileLaneResult::default() };
        self.limit = self.first_limit();
        let mut now = done.started_ns;
        loop {
            let mut next_ns = self.next_ns(done.started_ns);
            while next_ns <= now && self.in_flight < self.terms.depth && self.may_issue() {
                if self.left_in_round == 0 && !self.come_round()? {
                    break;
                }
                self.issue::<READS, WRITES, true>(next_ns);
                next_ns = self.next_ns(done.started_ns);
            }
            // A stop may have come while a round was made durable.
            let over = !self.may_issue() || self.shared.phase() == LoadPhase::Stop;
            if over && self.in_flight == 0 {
                break;
            }
            // With no room for another operation, or none to come, only a completion helps.
            let full = self.in_flight == self.terms.depth || over || self.waits_at_wrap();
            let until_ns = if full { now + LOOK_NS } else { next_ns.min(now + LOOK_NS) };
            let phase;
            (now, phase) = self.step::<READS, WRITES, true>(1, Some(until_ns))?;
            self.tell::<READS, WRITES>(now, &mut done);
            if phase == LoadPhase::Stop {
                break;
            }
        }
        now = self.idle_since(now);
        done.behind = self.behind(now, done.started_ns);
        self.drain::<READS, WRITES>(now, done)
    }

    fn next_ns(&self, started_ns: u64) -> u64 {
        let due = due_ns(self.issued, self.terms.rate, self.terms.stream, self.terms.streams);
        started_ns.saturating_add(due)
    }

    /// Operations that were due by `now` and not begun.
    fn behind(&self, now: u64, started_ns: u64) -> u64 {
        let late_ns = now.saturating_sub(self.next_ns(started_ns));
        (u128::from(late_ns) * u128::from(self.terms.rate) / 1_000_000_000) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_due_evenly_and_streams_in_turn() {
        assert_eq!(
            (0..4).map(|n| due_ns(n, 1000, 0, 1)).collect::<Vec<_>>(),
            [0, 1_000_000, 2_000_000, 3_000_000]
        );
        assert_eq!(due_ns(0, 1000, 1, 4), 250_000);
        assert_eq!(due_ns(1, 1000, 1, 4), 1_250_000);
    }

    #[test]
    fn a_rate_that_divides_no_second_does_not_drift() {
        assert_eq!(due_ns(3_000_000, 3, 0, 1), 1_000_000_000_000_000);
        assert_eq!(due_ns(7 * 86_400, 7, 0, 1), 86_400_000_000_000);
        assert_eq!(due_ns(u64::MAX / 2, u64::MAX, 0, 1) / 100_000_000, 4);
    }
}
