//! When the next datagrams are due.

/// A call hands over no more than is due in this time, ns: what goes out at once comes out of a
/// card as a burst.
const BURST_NS: f64 = 500_000.0;
/// A sender that is later than this does not make up for it, ns: its bursts would overrun what the
/// rate alone does not.
const LATE_MAX_NS: u64 = 5_000_000;

/// A rate, kept by a clock.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    bytes_per_s: f64,
    /// When the next byte is due, ns.
    due_ns: f64,
}

impl Pace {
    /// So many bytes a second from now on.
    pub fn new(bytes_per_s: u64, now_ns: u64) -> Pace {
        Pace { bytes_per_s: bytes_per_s as f64, due_ns: now_ns as f64 }
    }

    /// How many datagrams of so many bytes go out at once, at most `most`.
    pub fn at_once(bytes_per_s: Option<u64>, datagram_bytes: usize, most: usize) -> usize {
        let Some(rate) = bytes_per_s else { return most };
        let due = rate as f64 * BURST_NS / 1e9 / datagram_bytes as f64;
        (due as usize).clamp(1, most)
    }

    /// When the next bytes may go, ns: not after `now_ns` when they are due.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.due_ns as u64
    }

    /// So many bytes went at `now_ns`.
    #[inline]
    pub fn went(&mut self, bytes: usize, now_ns: u64) {
        let earliest = now_ns.saturating_sub(LATE_MAX_NS) as f64;
        self.due_ns = self.due_ns.max(earliest) + bytes as f64 * 1e9 / self.bytes_per_s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_to_the_byte_however_late_each_turn_comes() {
        let mut pace = Pace::new(1_000_000, 0);
        let (mut now, mut sent) = (0, 0_u64);
        while now < 10_000_000_000 {
            // The timer is up to 1 ms late each time.
            now = now.max(pace.due_ns()) + (sent * 7919) % 1_000_000;
            pace.went(1000, now);
            sent += 1000;
        }
        assert!((sent as f64 / 10_000_000.0 - 1.0).abs() < 0.001, "{sent}");
    }

    #[test]
    fn what_was_missed_for_long_is_not_made_up_for_in_a_burst() {
        let mut pace = Pace::new(1_000_000, 0);
        pace.went(1000, 2_000_000_000);
        let mut burst = 0;
        while pace.due_ns() <= 2_000_000_000 {
            pace.went(1000, 2_000_000_000);
            burst += 1;
        }
        assert!(burst <= 5, "{burst} datagrams at once");
    }

    #[test]
    fn slow_streams_send_one_at_a_time_and_fast_ones_as_many_as_are_due() {
        assert_eq!(Pace::at_once(None, 1472, 32), 32);
        assert_eq!(Pace::at_once(Some(125_000), 1472, 32), 1);
        assert_eq!(Pace::at_once(Some(12_500_000), 1472, 32), 4);
        assert_eq!(Pace::at_once(Some(1_250_000_000), 1472, 32), 32);
    }
}
