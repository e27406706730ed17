//! (pure) Whether the load has settled, for trials that run until it has.

/// Rounds that are judged together.
const ROUNDS: usize = 5;

/// SNIA's criterion (Solid State Storage Performance Test Specification 2.0.2, 3.16): over the last
/// five rounds the range is within 20 % of the average, and the fitted line's excursion across them
/// within 10 % of it.
pub fn settled(rounds: &[f64]) -> bool {
    let Some(last) = rounds.last_chunk::<ROUNDS>() else { return false };
    let average = last.iter().sum::<f64>() / ROUNDS as f64;
    if average <= 0.0 {
        return false;
    }
    let (low, high) =
        last.iter().fold((f64::MAX, f64::MIN), |(low, high), &x| (low.min(x), high.max(x)));
    // The line through rounds -2..=2 by least squares; the sum of squares of those is 10.
    let slope = (-2..=2).zip(last).map(|(x, y)| f64::from(x) * y).sum::<f64>() / 10.0;
    high - low <= 0.2 * average && slope.abs() * (ROUNDS - 1) as f64 <= 0.1 * average
}

#[cfg(test)]
mod tests {
    use super::settled;

    #[test]
    fn a_level_load_has_settled_and_a_falling_one_has_not() {
        assert!(settled(&[900.0, 100.0, 101.0, 99.0, 100.0, 100.0]));
        assert!(!settled(&[100.0, 101.0, 99.0, 100.0]));
        // Within the range, but falling by 12 % across the rounds.
        assert!(!settled(&[106.0, 103.0, 100.0, 97.0, 94.0]));
        assert!(settled(&[104.0, 102.0, 100.0, 98.0, 96.0]));
        // No slope, but 30 % of range.
        assert!(!settled(&[100.0, 115.0, 85.0, 115.0, 100.0]));
        assert!(!settled(&[0.0; 5]));
    }
}
