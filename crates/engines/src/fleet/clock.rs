//! What the other end's clock says when ours says something.
//!
//! Both read CLOCK_MONOTONIC. One asks, the other answers with its time, and of many such talks the
//! one with the shortest way there and back tells most: the answer was given somewhere within it
//! (Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989). They are
//! compared before a trial and after it, since clocks drift against each other.

use serde::{Deserialize, Serialize};

/// A question about the clock, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tick {
    /// Which question.
    pub clock: u32,
    /// When it was answered, CLOCK_MONOTONIC of who answers, ns; 0 in a question.
    #[serde(default)]
    pub monotonic_ns: u64,
}

/// By how much the other end's clock is ahead of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// Theirs less ours, ns.
    pub ns: i64,
    /// It is off by at most this, ns.
    pub error_ns: u64,
    /// When it was found, on our clock, ns.
    pub at_ns: u64,
}

impl ClockOffset {
    /// Of talks: when it was asked, what was answered, when the answer came. `None` of none.
    pub fn from_round_trips(talks: &[(u64, u64, u64)]) -> Option<ClockOffset> {
        let way = |(asked, _, came): &(u64, u64, u64)| came.saturating_sub(*asked);
        let talk = talks.iter().min_by_key(|talk| way(talk))?;
        let (asked, answered, _) = *talk;
        let half = way(talk) / 2;
        let at_ns = asked + half;
        // A peer may say any time at all.
        let ns = (answered as i64).saturating_sub(at_ns as i64);
        Some(ClockOffset { ns, error_ns: half.max(1), at_ns })
    }
}

/// How both clocks went beside each other through a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Before it,
    pub before: ClockOffset,
    /// and after it.
    pub after: ClockOffset,
}

impl Alignment {
    /// Our time when theirs is `theirs_ns`, by a straight line through both comparisons.
    pub fn ours_ns(&self, theirs_ns: u64) -> u64 {
        let (before, after) = (self.before, self.after);
        let span = after.at_ns.saturating_sub(before.at_ns);
        let near = (theirs_ns as i64).saturating_sub(before.ns);
        let share = match span {
            0 => 0.0,
            _ => near.saturating_sub(before.at_ns as i64) as f64 / span as f64,
        };
        let drifted = after.ns.saturating_sub(before.ns) as f64 * share.clamp(0.0, 1.0);
        near.saturating_sub(drifted.round() as i64).max(0) as u64
    }

    /// What that is off by at most, ns: both comparisons may be off, and clocks bend between them
    /// by no more than they drifted.
    pub fn error_ns(&self) -> u64 {
        let drift = self.after.ns.abs_diff(self.before.ns);
        self.before.error_ns.max(self.after.error_ns).saturating_add(drift / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_way_decides_and_its_half_is_the_error() {
        let talks = [(1000, 51_900, 2000), (3000, 53_050, 3100), (5000, 59_000, 9000)];
        let offset = ClockOffset::from_round_trips(&talks).unwrap();
        assert_eq!((offset.ns, offset.error_ns, offset.at_ns), (50_000, 50, 3050));
        assert_eq!(ClockOffset::from_round_trips(&[]), None);
    }

    /// Times of a peer that were near the ends of what 64 bits hold ended the program, in builds
    /// that check sums, and gave any offset at all in others.
    #[test]
    fn times_that_no_clock_shows_overflow_nothing() {
        for told in [0, 1 << 63, u64::MAX, (1 << 63) - 1] {
            let offset =
                |asked| ClockOffset::from_round_trips(&[(asked, told, asked + 9)]).unwrap();
            let clocks = Alignment { before: offset(5), after: offset(1 << 62) };
            let _ = (clocks.ours_ns(told), clocks.ours_ns(0), clocks.error_ns());
            assert!(offset(5).error_ns > 0);
        }
    }

    /// Ways that take longer in one direction than in the other shift the estimate, and never by
    /// more than it says.
    #[test]
    fn the_true_offset_is_within_the_error_however_the_way_is_split() {
        for there in [0, 10, 250, 999, 1000] {
            for truth in [-5_000_000_000_i64, -3, 0, 7, 80_000_000_000] {
                let asked = 10_000_000_000_u64;
                let answered = (asked as i64 + there + truth) as u64;
                let offset =
                    ClockOffset::from_round_trips(&[(asked, answered, asked + 1000)]).unwrap();
                assert!(offset.ns.abs_diff(truth) <= offset.error_ns, "{there} {truth}");
            }
        }
    }

    #[test]
    fn a_clock_that_drifts_is_followed_between_both_comparisons() {
        let offset = |ns, at_ns| ClockOffset { ns, error_ns: 10, at_ns };
        let all = Alignment { before: offset(1000, 0), after: offset(3000, 1_000_000) };
        assert_eq!(all.ours_ns(1000), 0);
        // Half way it is ahead by 2000, and a little more.
        assert_eq!(all.ours_ns(502_000), 499_998);
        assert_eq!(all.error_ns(), 10 + 1000);
        let same = Alignment { before: offset(-5, 100), after: offset(-5, 100) };
        assert_eq!(same.ours_ns(95), 100);
    }
}
