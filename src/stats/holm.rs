//! Several claims at once: chances that allow for their number.

/// Puts Holm's correction on chances (p-values), in place: each is then how likely so much were in
/// any of all, if there were nothing in any; never above 1.
///
/// Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
/// Statistics 6 (1979).
pub fn holm(mut chances: Vec<&mut f64>) {
    chances.sort_by(|a, b| a.total_cmp(b));
    let mut left = chances.len() as f64;
    let mut most = 0.0_f64;
    for chance in chances {
        most = most.max(*chance * left).min(1.0);
        *chance = most;
        left -= 1.0;
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
}
