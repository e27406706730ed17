//! Several claims at once: chances that allow for their number.

/// Puts Holm's correction on chances (p-values), in place: each is then how likely so much were in
/// any of all, if there were nothing in any; never above 1.
///
/// Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
/// Statistics 6 (1979).
pub fn holm(chances: Vec<&mut f64>) {
    holm_weighted(chances.into_iter().map(|chance| (chance, 1.0)).collect());
}

/// The same where some are asked for more than others: each chance comes with a weight (> 0), its
/// part of the error that is allowed; what is found leaves its part to the rest.
///
/// Source: the same, section 4.
pub fn holm_weighted(mut chances: Vec<(&mut f64, f64)>) {
    chances.sort_by(|a, b| (*a.0 / a.1).total_cmp(&(*b.0 / b.1)));
    let mut left: f64 = chances.iter().map(|(_, weight)| weight).sum();
    let mut most = 0.0_f64;
    for (chance, weight) in chances {
        most = most.max(*chance / weight * left).min(1.0);
        *chance = most;
        left -= weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chance_is_taken_times_those_that_are_left_and_never_falls() {
        let mut chances = [0.04, 0.01, 0.03, 0.9];
        holm(chances.iter_mut().collect());
        assert_eq!(chances.map(|chance| (chance * 100.0_f64).round()), [9.0, 4.0, 9.0, 90.0]);
        let mut single = [0.3];
        holm(single.iter_mut().collect());
        assert_eq!(single, [0.3]);
        holm(Vec::new());
    }

    #[test]
    fn what_weighs_more_is_corrected_less() {
        let mut chances = [0.02, 0.02];
        let [one, other] = &mut chances;
        holm_weighted(vec![(one, 3.0), (other, 1.0)]);
        // 0.02 of three quarters; then the other has all that is left.
        assert!((chances[0] - 0.02 * 4.0 / 3.0).abs() < 1e-12, "{chances:?}");
        assert!((chances[1] - 0.02 * 4.0 / 3.0).abs() < 1e-12, "{chances:?}");
    }
}
