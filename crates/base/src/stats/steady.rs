//! Whether something has settled: the criterion of the storage industry.

use super::interval::mean;

/// Rounds that must agree.
pub const ROUNDS: usize = 5;

/// Whether the last five rounds are a steady state: their range is within 20 % of their average,
/// and their least-squares line rises or falls by no more than 10 % of it from the first of the
/// five to the last. Fewer than five rounds are not, nor is an average that is not positive.
///
/// Source: SNIA, "Solid State Storage Performance Test Specification" (SSS PTS) 2.0.1, 2.1.24,
/// "Steady State".
pub fn settled(rounds: &[f64]) -> bool {
    let Some(last) = rounds.len().checked_sub(ROUNDS).map(|from| &rounds[from..]) else {
        return false;
    };
    let average = mean(last);
    if !average.is_finite() || average <= 0.0 {
        return false;
    }
    let highest = last.iter().copied().fold(f64::MIN, f64::max);
    let lowest = last.iter().copied().fold(f64::MAX, f64::min);
    let excursion = slope(last).abs() * (ROUNDS - 1) as f64;
    highest - lowest <= 0.20 * average && excursion <= 0.10 * average
}

/// The slope per round of the least-squares line.
fn slope(rounds: &[f64]) -> f64 {
    let middle = (rounds.len() - 1) as f64 / 2.0;
    let average = mean(rounds);
    let (mut xy, mut xx) = (0.0, 0.0);
    for (round, value) in rounds.iter().enumerate() {
        let dx = round as f64 - middle;
        xy += dx * (value - average);
        xx += dx * dx;
    }
    xy / xx
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_like_rounds_are_settled_and_four_are_not() {
        assert!(settled(&[100.0, 101.0, 99.0, 100.0, 100.0]));
        assert!(!settled(&[100.0, 100.0, 100.0, 100.0]));
        assert!(!settled(&[]));
    }

    #[test]
    fn a_range_above_20_percent_is_not_settled_though_the_line_is_flat() {
        // Symmetric about the middle: the slope is 0; only the range fails.
        assert_eq!(slope(&[100.0, 100.0, 121.0, 100.0, 100.0]), 0.0);
        assert!(settled(&[100.0, 100.0, 120.0, 100.0, 100.0]));
        assert!(!settled(&[100.0, 100.0, 127.0, 100.0, 100.0]));
    }

    #[test]
    fn a_slope_above_10_percent_is_not_settled_though_the_range_is_small() {
        // Range 16 %, within its half; the line rises by 4 x 4 = 16 %.
        assert!(!settled(&[92.0, 96.0, 100.0, 104.0, 108.0]));
        // The same range without the trend.
        assert!(settled(&[92.0, 108.0, 100.0, 108.0, 92.0]));
        // Just inside: 4 x 2.4 = 9.6 %.
        assert!(settled(&[95.2, 97.6, 100.0, 102.4, 104.8]));
    }

    #[test]
    fn only_the_last_five_rounds_count() {
        assert!(settled(&[900.0, 500.0, 100.0, 100.0, 100.0, 100.0, 100.0]));
        assert!(!settled(&[100.0, 100.0, 100.0, 100.0, 100.0, 900.0]));
    }

    #[test]
    fn what_does_not_move_or_is_no_number_has_not_settled() {
        assert!(!settled(&[0.0; 5]));
        assert!(!settled(&[f64::NAN; 5]));
    }
}
