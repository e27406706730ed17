//! What a receiver can say of datagrams that bear numbers and the time at which they were sent.

/// Numbers that are remembered behind the highest one.
const WINDOW: u64 = 1 << 16;

/// What one stream's datagrams came to by their numbers: received, twice, out of order.
#[derive(Debug)]
pub struct DatagramAccount {
    /// Above the highest number that came.
    next: u64,
    /// Different datagrams that came.
    pub received: u64,
    /// Datagrams that came once more.
    pub duplicates: u64,
    /// Datagrams that came after one that was sent later: their number is below the next expected
    /// one (RFC 4737, section 3.3).
    pub reordered: u64,
    /// Interarrival jitter, ns (RFC 3550, section 6.4.1).
    pub jitter_ns: f64,
    before_ns: Option<i64>,
    /// A bit for each of the last numbers: it came.
    seen: Box<[u64]>,
}

impl Default for DatagramAccount {
    fn default() -> DatagramAccount {
        DatagramAccount {
            next: 0,
            received: 0,
            duplicates: 0,
            reordered: 0,
            jitter_ns: 0.0,
            before_ns: None,
            seen: vec![0; (WINDOW / 64) as usize].into(),
        }
    }
}

impl DatagramAccount {
    /// The datagram of this number came; `transit_ns` is the time from its sending to its arrival
    /// by any two clocks that run alike.
    #[inline]
    pub fn arrived(&mut self, number: u64, transit_ns: i64) {
        self.time(transit_ns);
        if number >= self.next {
            self.advance(number);
            self.received += 1;
            return;
        }
        // Nobody knows any more whether one that is so late came before.
        if self.next - number <= WINDOW && self.mark(number) {
            self.duplicates += 1;
            return;
        }
        self.reordered += 1;
        self.received += 1;
    }

    /// J(i) = J(i-1) + (|D(i-1,i)| - J(i-1)) / 16
    #[inline]
    fn time(&mut self, transit_ns: i64) {
        if let Some(before_ns) = self.before_ns.replace(transit_ns) {
            let differs = transit_ns.wrapping_sub(before_ns).unsigned_abs() as f64;
            self.jitter_ns += (differs - self.jitter_ns) / 16.0;
        }
    }

    /// Forgets what leaves the window, and marks the new highest number.
    #[inline]
    fn advance(&mut self, number: u64) {
        if number - self.next >= WINDOW {
            self.seen.fill(0);
        } else {
            (self.next..number).for_each(|skipped| self.clear(skipped));
        }
        self.clear(number);
        self.mark(number);
        self.next = number + 1;
    }

    #[inline]
    fn clear(&mut self, number: u64) {
        let bit = number % WINDOW;
        self.seen[(bit / 64) as usize] &= !(1 << (bit % 64));
    }

    /// Marks a number; whether it was marked before.
    #[inline]
    fn mark(&mut self, number: u64) -> bool {
        let bit = number % WINDOW;
        let (word, mask) = (&mut self.seen[(bit / 64) as usize], 1 << (bit % 64));
        let before = *word & mask != 0;
        *word |= mask;
        before
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn count(numbers: &[u64]) -> (u64, u64, u64) {
        let mut account = DatagramAccount::default();
        numbers.iter().for_each(|number| account.arrived(*number, 0));
        (account.received, account.duplicates, account.reordered)
    }

    #[test]
    fn lost_late_and_double_datagrams_are_told_apart() {
        assert_eq!(count(&[0, 1, 2, 3]), (4, 0, 0));
        assert_eq!(count(&[0, 1, 4, 5]), (4, 0, 0), "two are lost");
        assert_eq!(count(&[0, 2, 1, 3]), (4, 0, 1), "one is late (RFC 4737)");
        assert_eq!(count(&[0, 3, 1, 2, 4]), (5, 0, 2));
        assert_eq!(count(&[0, 1, 1, 0, 2]), (3, 2, 0));
        assert_eq!(count(&[5, WINDOW + 100, 5]), (3, 0, 1), "nobody knows of one that is so late");
    }

    proptest! {
        /// In whatever order a stream comes, with what lost and what doubled.
        #[test]
        fn every_datagram_is_counted_once(
            mut order in Just((0..300_u64).collect::<Vec<_>>()).prop_shuffle(),
            lost in 0..100_usize,
            doubled in 0..50_usize,
        ) {
            order.truncate(300 - lost);
            let first = order.clone();
            order.extend(&first[..doubled]);
            let (received, duplicates, _) = count(&order);
            prop_assert_eq!(received, 300 - lost as u64);
            prop_assert_eq!(duplicates, doubled as u64);
        }
    }

    /// RFC 3550's own filter, by hand: transits 10, 26, 10 differ by 16 twice.
    #[test]
    fn jitter_is_the_filtered_difference_of_transits() {
        let mut account = DatagramAccount::default();
        for (number, transit) in [(0, 10), (1, 26), (2, 10)] {
            account.arrived(number, transit);
        }
        assert!((account.jitter_ns - (1.0 + 15.0 / 16.0)).abs() < 1e-12, "{}", account.jitter_ns);
        let mut steady = DatagramAccount::default();
        (0..100).for_each(|number| steady.arrived(number, -7));
        assert!(steady.jitter_ns == 0.0);
    }
}
