//! Planted shares of the variance, large and small, in one stratum and in split plots.

use super::*;
use crate::stats::testing::long;

/// A table of three factors: logarithms of the levels of each, an interaction of the last two, and
/// the noise of plots and trials.
struct Planted {
    factors: Vec<Factor>,
    levels: Vec<Vec<f64>>,
    together: Vec<Vec<f64>>,
    noise: Vec<f64>,
    replicates: u32,
}

impl Planted {
    fn runs(&self, random: &mut Random) -> Vec<Run> {
        let mut runs = Vec::new();
        for replicate in 0..self.replicates {
            let mut plots: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
            let block = 0.1 * random.normal();
            for cell in crossed(&self.factors) {
                let alone = self.levels.iter().zip(&cell).map(|(of, level)| of[*level]);
                let mut value = block + alone.sum::<f64>() + self.together[cell[1]][cell[2]];
                let (trial, dear) = self.noise.split_last().unwrap();
                for (most, noise) in dear.iter().enumerate() {
                    let key = cell[..=most].to_vec();
                    value += *plots.entry(key).or_insert_with(|| noise * random.normal());
                }
                value += trial * random.normal();
                runs.push(Run { replicate, levels: cell, value });
            }
        }
        runs
    }

    /// The share of each factor, of the last two together, and of the noise.
    fn truth(&self) -> Vec<f64> {
        let variance = |of: &[f64]| about_mean(of) / of.len() as f64;
        let mut all: Vec<f64> = self.levels.iter().map(|of| variance(of)).collect();
        let pairs: Vec<f64> = self.together.iter().flatten().copied().collect();
        all.push(variance(&pairs));
        all.push(self.noise.iter().map(|noise| noise * noise).sum());
        let whole: f64 = all.iter().sum();
        all.iter().map(|part| part / whole).collect()
    }

    /// How often the share of each is covered.
    fn covered(&self, lose: f64) -> Vec<Coverage> {
        let truth = self.truth();
        let mut coverage: Vec<Coverage> = truth.iter().map(|_| Coverage::default()).collect();
        for seed in seeds() {
            let mut random = Random::new(seed);
            let mut runs = self.runs(&mut random);
            runs.retain(|_| random.uniform() > lose);
            let found = with_shares(&self.factors, &[], &runs).unwrap();
            let mut shares: Vec<Estimate> =
                found.effects.iter().map(|it| it.omega_squared.unwrap()).collect();
            let pairs = found.interactions.unwrap();
            let pair = pairs.iter().find(|it| [it.factor, it.on].iter().sum::<usize>() == 3);
            shares.push(pair.unwrap().most.as_ref().unwrap().omega_squared.unwrap());
            shares.push(found.error_share.unwrap());
            for (place, share) in shares.iter().enumerate() {
                coverage[place].add(share.interval, truth[place]);
            }
        }
        // Of nothing, the low end is above 0 no more often than half of all that may miss.
        let nothing = |place: usize| truth[place] == 0.0;
        let limit = if long() { 0.965 } else { 0.95 };
        for place in (0..truth.len()).filter(|place| nothing(*place)) {
            assert!(coverage[place].share() >= limit, "nothing: {:?}", coverage[place]);
        }
        coverage
    }
}

fn one_stratum() -> Planted {
    Planted {
        factors: [2, 3, 4].map(|levels| Factor { levels, stratum: 0 }).to_vec(),
        levels: vec![vec![0.0, 0.08], vec![0.0, 0.4, 0.6], vec![0.0; 4]],
        together: vec![vec![0.0; 4], vec![0.1, -0.1, 0.1, -0.1], vec![-0.1, 0.1, -0.1, 0.1]],
        noise: vec![0.1],
        replicates: 3,
    }
}

#[test]
fn shares_of_one_stratum_are_covered_large_and_small() {
    for (place, coverage) in one_stratum().covered(0.0).iter().enumerate() {
        if place != 2 {
            coverage.check(&format!("one stratum: {place}"));
        }
    }
}

/// Intervals of parts that are put together as if each knew nothing of the others are wider than
/// they need to be where an error of two degrees of freedom is in many of them, and where what
/// negative parts of a variance would take away is left in.
#[test]
fn shares_in_split_plots_and_where_trials_are_missing_are_covered_at_least() {
    let factors = one_stratum().factors.into_iter().zip([0, 1, 2]);
    let factors = factors.map(|(it, stratum)| Factor { stratum, ..it }).collect();
    let levels = vec![vec![0.0, 0.3], vec![0.0, 0.1, 0.2], vec![0.0, 0.1, 0.2, 0.3]];
    let split = Planted { factors, levels, noise: vec![0.08, 0.03, 0.05], ..one_stratum() };
    for (what, planted, lose) in [("split", split, 0.0), ("missing", one_stratum(), 0.1)] {
        for (place, coverage) in planted.covered(lose).iter().enumerate() {
            coverage.check_least(&format!("{what}: {place}"));
            assert_eq!(coverage.given, coverage.asked, "{what}: {place}");
        }
    }
}

/// The plain share of squares of 40 levels that do nothing is a quarter of what is measured.
#[test]
fn many_levels_that_do_nothing_explain_nothing() {
    let planted = Planted {
        factors: [2, 2, 40].map(|levels| Factor { levels, stratum: 0 }).to_vec(),
        levels: vec![vec![0.0, 0.2], vec![0.0; 2], vec![0.0; 40]],
        together: vec![vec![0.0; 40]; 2],
        noise: vec![0.1],
        replicates: 2,
    };
    let (mut wrong, mut most) = (0, 0.0_f64);
    for seed in 0..seeds().end / 10 {
        let runs = planted.runs(&mut Random::new(seed));
        let found = with_shares(&planted.factors, &[], &runs).unwrap();
        let share = found.effects[2].omega_squared.unwrap();
        wrong += u64::from(share.interval.unwrap().low > 0.0);
        most = most.max(share.value);
        assert!(found.effects[2].share > 2.0 * share.value, "{share:?}");
    }
    assert!(wrong * 10 <= seeds().end / 10 && most < 0.15, "{wrong} above 0, most {most}");
}
