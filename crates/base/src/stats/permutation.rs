//! Whether failures fall on some levels more than on others, by exchanging what failed at random.
//!
//! Failures are few, so no formula for many holds. What was set up once is one thing that may fail,
//! however many trials ran on it: those are exchanged as a whole.

use statrs::function::factorial::ln_factorial;

use super::draws::Draws;

/// Exchanges. A chance of 0.05 is then known to within 0.004 (two standard errors).
const EXCHANGES: u32 = 9999;

/// What is exchanged as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plot {
    /// Its level; from 0.
    pub level: usize,
    /// How many trials it has.
    pub trials: u32,
    /// How many of them failed.
    pub failed: u32,
}

/// How likely failures were spread over levels as unevenly as here, or more so, if levels had
/// nothing to do with them: 0 to 1, the same for the same plots. `None` where nothing failed, or
/// there is one level alone. Unevenness is chi-squared: over levels, the squared difference of the
/// failures from their share by the number of trials, over that share. Where each plot failed whole
/// or not at all, and there are two levels, that is Fisher's exact test over plots.
///
/// Source: Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 3rd edition (2005),
/// section 3.7; one is added above and below (Phipson and Smyth, Statistical Applications in
/// Genetics and Molecular Biology 9, 2010).
pub fn chance(plots: &[Plot]) -> Option<f64> {
    let levels = plots.iter().map(|plot| plot.level + 1).max()?;
    let (mut trials, mut failed) = (vec![0.0; levels], vec![0.0; levels]);
    for plot in plots {
        trials[plot.level] += f64::from(plot.trials);
        failed[plot.level] += f64::from(plot.failed);
    }
    let (all, most): (f64, f64) = (trials.iter().sum(), failed.iter().sum());
    if most == 0.0 || trials.iter().filter(|trials| **trials > 0.0).count() < 2 {
        return None;
    }
    if let Some(exact) = fisher(plots) {
        return Some(exact);
    }
    let expected: Vec<f64> = trials.iter().map(|trials| trials / all * most).collect();
    let uneven = |failed: &[f64]| -> f64 {
        let each = failed.iter().zip(&expected).filter(|(_, expected)| **expected > 0.0);
        each.map(|(failed, expected)| (failed - expected).powi(2) / expected).sum()
    };
    let seen = uneven(&failed);
    // Only plots with failures need a new place: the others have nothing to give.
    let broken: Vec<f64> =
        plots.iter().filter(|plot| plot.failed > 0).map(|plot| f64::from(plot.failed)).collect();
    let mut places: Vec<usize> = plots.iter().map(|plot| plot.level).collect();
    let mut draws = Draws::new(1);
    let mut as_uneven = 0;
    for _ in 0..EXCHANGES {
        failed.fill(0.0);
        for (place, count) in broken.iter().enumerate() {
            let left = (places.len() - place) as f64;
            let other = place + ((1.0 - draws.uniform()) * left) as usize;
            places.swap(place, other.min(plots.len() - 1));
            failed[places[place]] += count;
        }
        as_uneven += u32::from(uneven(&failed) >= seen - 1e-9);
    }
    Some(f64::from(1 + as_uneven) / f64::from(1 + EXCHANGES))
}

/// Fisher's exact test, two-sided: how likely a table is as unlikely as this one, if failing has
/// nothing to do with the level. `None` where some plot failed in part, or levels are not two.
///
/// Source: Fisher, "Statistical Methods for Research Workers", 5th edition (1934), section 21.02.
fn fisher(plots: &[Plot]) -> Option<f64> {
    let mut counts: Vec<(usize, u64, u64)> = Vec::new();
    for plot in plots.iter().filter(|plot| plot.trials > 0) {
        if plot.failed != 0 && plot.failed != plot.trials {
            return None;
        }
        let broken = u64::from(plot.failed > 0);
        match counts.iter_mut().find(|(level, ..)| *level == plot.level) {
            Some((_, all, failed)) => (*all, *failed) = (*all + 1, *failed + broken),
            None => counts.push((plot.level, 1, broken)),
        }
    }
    let [(_, all, failed), (_, others, more)] = counts[..] else { return None };
    let broken = failed + more;
    let ways = |n: u64, k: u64| ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    let chance = |here: u64| {
        let log = ways(all, here) + ways(others, broken - here) - ways(all + others, broken);
        log.exp()
    };
    let seen = chance(failed) * (1.0 + 1e-9);
    let least = broken.saturating_sub(others);
    let sum: f64 = (least..=broken.min(all)).map(chance).filter(|of| *of <= seen).sum();
    // A sum of all is 1, but for rounding.
    Some(if sum > 1.0 - 1e-9 { 1.0 } else { sum })
}

/// The least chance that so many plots at these levels could ever show: one arrangement of all
/// that there are.
pub fn least_chance(plots: &[Plot]) -> f64 {
    let levels = plots.iter().map(|plot| plot.level + 1).max().unwrap_or(0);
    let at = |level: usize| plots.iter().filter(|plot| plot.level == level).count() as u64;
    let within: f64 = (0..levels).map(|level| ln_factorial(at(level))).sum();
    (within - ln_factorial(plots.len() as u64)).exp().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(level: usize, failed: bool) -> Plot {
        Plot { level, trials: 1, failed: u32::from(failed) }
    }

    /// Of 3 trials at each of two levels all of one level failed: of the 20 ways to choose 3 of 6,
    /// two are as uneven.
    #[test]
    fn it_is_the_share_of_all_exchanges() {
        let plots: Vec<Plot> = (0..6).map(|place| single(place / 3, place < 3)).collect();
        let found = chance(&plots).unwrap();
        assert!((found - 0.1).abs() < 0.01, "{found}");
        let even: Vec<Plot> = (0..6).map(|place| single(place / 3, place % 3 == 0)).collect();
        assert_eq!(chance(&even), Some(1.0));
    }

    #[test]
    fn two_levels_of_whole_plots_have_the_exact_chance_of_the_textbook() {
        // The lady tasting tea: 3 of 4 right, p 0.486; all right, 2 in 70.
        let tea = |right: usize| -> Vec<Plot> {
            let hers = |place: usize| if place < 4 { place < right } else { place < 8 - right };
            (0..8).map(|place| single(place / 4, hers(place))).collect()
        };
        assert!((chance(&tea(3)).unwrap() - 34.0 / 70.0).abs() < 1e-9);
        assert!((chance(&tea(4)).unwrap() - 2.0 / 70.0).abs() < 1e-9);
        assert!((least_chance(&tea(4)) - 1.0 / 70.0).abs() < 1e-9);
        assert!((least_chance(&[single(0, true), single(1, false)]) - 0.5).abs() < 1e-9);
        assert_eq!(least_chance(&[]), 1.0);
    }

    #[test]
    fn what_failed_together_is_exchanged_together() {
        // 12 failures at one of two levels: a certainty of trials, and one of two arrays.
        let trials: Vec<Plot> = (0..24).map(|place| single(place / 12, place < 12)).collect();
        assert!(chance(&trials).unwrap() < 0.001);
        let whole = |level, failed| Plot { level, trials: 12, failed };
        assert_eq!(chance(&[whole(0, 12), whole(1, 0)]), Some(1.0));
        assert_eq!(chance(&[whole(0, 0), whole(1, 0)]), None, "nothing failed");
        assert_eq!(chance(&[whole(0, 3), whole(0, 0)]), None, "one level alone");
        assert_eq!(chance(&[]), None);
    }
}
