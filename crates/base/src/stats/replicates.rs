//! How far replicates lie apart, pooled over cells: what that hides, whether it grows with time,
//! and which of them lie apart from their likes.
//!
//! A run is one value of one cell, in the order in which they were measured. What is judged are
//! their distances from the mean of their cell; values are logarithms where scatter is in
//! proportion to what is measured. Neighbours in time may resemble each other: their
//! autocorrelation is estimated, and every interval allows for it.
//!
//! Sources: for the pooled deviation and its chi-square interval, Box, Hunter and Hunter,
//! "Statistics for Experimenters", 2nd edition, chapter 3; for what autocorrelation takes from the
//! degrees of freedom of a variance, Bayley and Hammersley, "The effective number of independent
//! observations in an autocorrelated time series", Supplement to the Journal of the Royal
//! Statistical Society 8 (1946).

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::interval::t_quantile;
use super::{Estimate, Interval};

/// One value of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellValue {
    /// Which cell; from 0, without gaps.
    pub cell: usize,
    /// What was measured.
    pub value: f64,
    /// How far values of its kind scatter, where kinds differ; 1 where all are of one kind.
    pub scale: f64,
}

/// Replicates in the order in which they ran; cells with a single value are left out.
#[derive(Debug)]
pub struct Replicates {
    /// Place among the runs that were given, and the distance from the cell's mean.
    left: Vec<Residual>,
    /// Values of each cell.
    counts: Vec<usize>,
    /// Values less cells.
    freedom: f64,
}

/// How far one value is from the mean of its cell, and its place from the mean of the places.
#[derive(Clone, Copy, Debug)]
struct Residual {
    place: usize,
    cell: usize,
    /// From the mean of the cell, over the scale.
    distance: f64,
    /// Of the place, from the mean of the cell's places, over the scale.
    lever: f64,
    scale: f64,
}

/// How far replicates of one cell lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scatter {
    /// Their standard deviation within cells, with its interval.
    pub deviation: Estimate,
    /// Degrees of freedom that it has, after what resemblance in time takes from them.
    pub freedom: f64,
    /// Whether there were repeats enough to tell how far neighbours in time resemble each other;
    /// else they are taken for independent.
    pub neighbours: bool,
}

/// How the values move from the first run to the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// What is added between the first run and the last, along a straight line.
    pub change: Estimate,
}

impl Replicates {
    /// Runs in the order of time. Those whose value is not finite, and cells with one value, say
    /// nothing of replicates and are left out.
    pub fn from_values(runs: &[CellValue]) -> Replicates {
        let cells = runs.iter().map(|run| run.cell + 1).max().unwrap_or(0);
        let mut sums = vec![(0_usize, 0.0, 0.0); cells];
        let good =
            |run: &CellValue| run.value.is_finite() && run.scale > 0.0 && run.scale.is_finite();
        for (place, run) in runs.iter().enumerate().filter(|(_, run)| good(run)) {
            let (count, values, places) = &mut sums[run.cell];
            *count += 1;
            *values += run.value;
            *places += place as f64;
        }
        let mut left = Vec::new();
        for (place, run) in runs.iter().enumerate().filter(|(_, run)| good(run)) {
            let (count, values, places) = sums[run.cell];
            if count > 1 {
                let n = count as f64;
                let distance = (run.value - values / n) / run.scale;
                let lever = (place as f64 - places / n) / run.scale;
                left.push(Residual { place, cell: run.cell, distance, lever, scale: run.scale });
            }
        }
        let counts: Vec<usize> = sums.iter().map(|(count, ..)| *count).collect();
        let repeated = counts.iter().filter(|count| **count > 1).count();
        let freedom = left.len() as f64 - repeated as f64;
        Replicates { left, counts, freedom }
    }

    /// The pooled standard deviation of replicates around the mean of their cell, with the
    /// chi-square interval of a normal distribution, wider at both ends by what chance may hide of
    /// the resemblance of neighbours. `None` where nothing was repeated; no interval where nothing
    /// differs. With fewer than [`RESEMBLANCE_MIN`] repeats beyond the first of each cell nobody
    /// knows how far neighbours resemble each other, and nothing is added for it.
    pub fn scatter(&self) -> Option<Scatter> {
        if self.freedom < 1.0 {
            return None;
        }
        let distances: Vec<f64> = self.left.iter().map(|it| it.distance).collect();
        let squares: f64 = distances.iter().map(|distance| distance * distance).sum();
        // Of a handful of pairs it comes out as anything: "57 %" where cells scatter by 16 and 20.
        let neighbours = self.freedom >= RESEMBLANCE_MIN;
        let phi = if neighbours { self.autocorrelation(&distances) } else { 0.0 };
        let left = |phi: f64| (self.freedom * (1.0 - phi * phi) / (1.0 + phi * phi)).max(1.0);
        let apart = |alike: f64| (squares / self.freedom / (1.0 - alike)).sqrt();
        let alike = self.alike(phi).min(0.9);
        let value = apart(alike);
        let end = |phi: f64, alike: f64, chance: f64| {
            let usual = ChiSquared::new(left(phi)).ok()?.inverse_cdf(chance);
            Some(apart(alike) * (left(phi) / usual).sqrt())
        };
        // Neighbours may resemble each other more than they seem to, and then replicates lie
        // further apart; or less, and then little is hidden, and more is known. How much of that
        // has to be allowed for was found by drawing; the tests say what it covers.
        let less = (phi - 0.5 * (1.0 - phi * phi) / self.freedom.sqrt()).max(0.0);
        let more = (phi + 0.6 * phi * phi * ((1.0 - phi * phi) / self.freedom).sqrt()).min(0.99);
        let ends = || {
            let high = end(more, self.alike(more).min(0.97), 0.025)?;
            Some(Interval { low: end(less, alike.min(0.2), 0.975)?, high })
        };
        let interval = if value > 0.0 { ends() } else { None };
        let freedom = left(phi);
        Some(Scatter { deviation: Estimate { value, interval }, freedom, neighbours })
    }

    /// The autocorrelation (phi of an AR(1) series) from one run to the next of what is left of
    /// their values, 0 to 0.95.
    ///
    /// Taking the mean of a cell away takes a part of each resemblance away as well, and makes its
    /// own values unlike: both are put right on average.
    fn autocorrelation(&self, distances: &[f64]) -> f64 {
        let square = distances.iter().map(|it| it * it).sum::<f64>() / self.freedom;
        let (mut products, mut expected) = (0.0, 0.0);
        for (place, two) in self.left.windows(2).enumerate() {
            let n = [self.counts[two[0].cell] as f64, self.counts[two[1].cell] as f64];
            let product = distances[place] * distances[place + 1];
            if two[0].cell != two[1].cell {
                products += product;
                expected += (1.0 - 1.0 / n[0]) * (1.0 - 1.0 / n[1]);
            } else if n[0] >= 6.0 {
                products += product + square / n[0];
                expected += 1.0 - 3.0 / n[0];
            }
        }
        if expected > 0.0 && square > 0.0 {
            (products / expected / square).clamp(0.0, 0.95)
        } else {
            0.0
        }
    }

    /// How far values of one cell resemble each other on average because they ran near each other:
    /// so much of their variance is not among them.
    fn alike(&self, phi: f64) -> f64 {
        let mut places: Vec<(usize, usize)> =
            self.left.iter().map(|it| (it.cell, it.place)).collect();
        places.sort_unstable();
        let mut shared = 0.0;
        for (number, (cell, place)) in places.iter().enumerate() {
            let next = places[number + 1..].iter().take_while(|(other, _)| other == cell);
            let common = next.map(|(_, other)| phi.powi((other - place) as i32));
            let of: f64 = common.take_while(|common| *common > 1e-3).sum();
            shared += 2.0 * of / self.counts[*cell] as f64;
        }
        (shared / self.freedom).min(0.99)
    }

    /// The straight line through the runs in the order of time, within cells, with an interval that
    /// allows for neighbours that resemble each other. `None` of fewer than some 30 repeats: they
    /// do not tell a line from neighbours that resemble each other.
    pub fn drift(&self) -> Option<Drift> {
        let levers: f64 = self.left.iter().map(|it| it.lever * it.lever).sum();
        let slope = self.left.iter().map(|it| it.lever * it.distance).sum::<f64>() / levers;
        let first = self.left.first()?.place;
        let length = (self.left.last()?.place - first) as f64;
        let free = self.freedom - 1.0;
        if !slope.is_finite() || free < FREEDOM_MIN {
            return None;
        }
        let rest: Vec<f64> = self.left.iter().map(|it| it.distance - slope * it.lever).collect();
        let square = rest.iter().map(|it| it * it).sum::<f64>() / free;
        let raw = self.autocorrelation(&rest);
        // A line takes a part of the resemblance with it, and the more there is of it the less is
        // known of it: too little is a false claim, too much is none.
        let phi = (raw + (1.0 + 4.0 * raw + 7.0 * raw * raw) / free).clamp(0.0, 0.98);
        let freedom = (free * (1.0 - phi) / (1.0 + phi)).max(1.0);
        // The variance of a weighted sum of an AR(1) series, in one pass.
        let (mut carried, mut variance, mut before) = (0.0, 0.0, None);
        for it in &self.left {
            let gap = before.map_or(0, |before| it.place - before);
            carried *= phi.powi(gap as i32);
            variance += it.lever * it.lever + 2.0 * it.lever * carried;
            carried += it.lever;
            before = Some(it.place);
        }
        let error = (square * variance).sqrt() / levers;
        let half = t_quantile(0.975, freedom) * error * length;
        let change = slope * length;
        Some(Drift { change: Estimate::within(change, change - half, change + half) })
    }

    /// The runs that lie apart from the median of their cell by more than chance makes any one of
    /// all (at most 5 %, normal scatter): place among the runs that were given, and distance.
    ///
    /// The scale is the median over cells of their own variances, each over the median of its
    /// chi-square distribution: cells in which something happened do not widen it while they are
    /// fewer than half. Cells with fewer than three values have no median to lie apart from.
    pub fn apart(&self) -> Vec<(usize, f64)> {
        let mut cells: Vec<Vec<&Residual>> = vec![Vec::new(); self.counts.len()];
        for it in &self.left {
            cells[it.cell].push(it);
        }
        cells.retain(|cell| cell.len() > 2);
        let squares =
            |cell: &Vec<&Residual>| cell.iter().map(|it| it.distance.powi(2)).sum::<f64>();
        let own = cells.iter().filter_map(|cell| {
            let usual = ChiSquared::new((cell.len() - 1) as f64).ok()?;
            Some(squares(cell) / usual.inverse_cdf(0.5))
        });
        let mut own: Vec<f64> = own.collect();
        if own.len() < CELLS_MIN {
            return Vec::new();
        }
        let scale = middle(&mut own).sqrt();
        let runs: f64 = cells.iter().map(|cell| cell.len() as f64).sum();
        // A median of variances is worth about 0.4 of their mean.
        let freedom = 0.4 * (runs - cells.len() as f64);
        let limit = t_quantile(1.0 - 0.025 / runs, freedom);
        let mut found = Vec::new();
        for cell in &cells {
            let mut distances: Vec<f64> = cell.iter().map(|it| it.distance).collect();
            let centre = middle(&mut distances);
            let most = limit * scale * (1.0 + 1.0 / (cell.len() - 1) as f64).sqrt();
            let far = cell.iter().filter(|it| (it.distance - centre).abs() > most && most > 0.0);
            found.extend(far.map(|it| (it.place, (it.distance - centre) * it.scale)));
        }
        found.sort_by_key(|(place, _)| *place);
        found
    }
}

/// Repeats of which the resemblance of neighbours is estimated.
pub const RESEMBLANCE_MIN: f64 = 12.0;

/// Repeats through which a line may be drawn.
const FREEDOM_MIN: f64 = 30.0;

/// Cells that must be repeated before one of them can be told from the others.
const CELLS_MIN: usize = 5;

/// The median; 0 of nothing.
fn middle(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match (values.len() / 2, values.len() % 2) {
        (0, 0) => 0.0,
        (half, 1) => values[half],
        (half, _) => f64::midpoint(values[half - 1], values[half]),
    }
}

/// The difference between the means of two cells of `replicates` values each that Welch's test
/// finds four times in five, at 5 % on both sides, where values scatter by `deviation`; infinite
/// with fewer than two.
///
/// Source: the usual approximation by two quantiles of Student's distribution, as in Montgomery,
/// "Design and Analysis of Experiments", 2.4.
pub fn detectable(deviation: f64, replicates: u32) -> f64 {
    if replicates < 2 {
        return f64::INFINITY;
    }
    let n = f64::from(replicates);
    // What Satterthwaite's formula gives of equal variances that are estimated.
    let freedom = 2.0 * n * (n - 1.0) / (n + 1.5);
    let quantiles = t_quantile(0.975, freedom) + t_quantile(0.8, freedom);
    quantiles * deviation * (2.0 / n).sqrt()
}

/// The fewest replicates with which [`detectable`] is no more than `difference`; `None` where that
/// takes more than `most`.
pub fn replicates_for(deviation: f64, difference: f64, most: u32) -> Option<u32> {
    (2..=most).find(|replicates| detectable(deviation, *replicates) <= difference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::RatioOfMeans;
    use crate::stats::testing::{Coverage, Random, null_limit, seeds};

    /// `cells` cells in random order within each of `replicates` blocks, values in logarithms, with
    /// noise that is `phi` of the one before.
    fn blocked(
        random: &mut Random,
        cells: usize,
        replicates: usize,
        phi: f64,
        sd: f64,
    ) -> Vec<CellValue> {
        let noise = random.ar1(cells * replicates, phi, 0.0, sd);
        let mut order = Vec::new();
        for _ in 0..replicates {
            let mut block: Vec<(f64, usize)> =
                (0..cells).map(|cell| (random.uniform(), cell)).collect();
            block.sort_by(|a, b| a.0.total_cmp(&b.0));
            order.extend(block.into_iter().map(|(_, cell)| cell));
        }
        let runs = order.iter().zip(&noise).map(|(&cell, noise)| CellValue {
            cell,
            value: cell as f64 * 0.7 + noise,
            scale: 1.0,
        });
        runs.collect()
    }

    /// Shares of seeds: the scatter's interval covers, the line's is given, covers, and is a claim.
    fn judged(
        cells: usize,
        replicates: usize,
        phi: f64,
        planted: f64,
    ) -> (Coverage, Coverage, f64) {
        let (mut scatter, mut drift, mut claims) = (Coverage::default(), Coverage::default(), 0);
        for seed in seeds() {
            let mut runs = blocked(&mut Random::new(seed), cells, replicates, phi, 0.03);
            let last = runs.len() as f64 - 1.0;
            let still = Replicates::from_values(&runs).scatter().unwrap();
            scatter.add(still.deviation.interval, 0.03);
            for (place, run) in runs.iter_mut().enumerate() {
                run.value += planted * place as f64 / last;
            }
            let ends =
                Replicates::from_values(&runs).drift().and_then(|drift| drift.change.interval);
            drift.add(ends, planted);
            claims += u32::from(ends.is_some_and(|ends| !ends.covers(0.0)));
        }
        (scatter, drift, f64::from(claims) / seeds().count() as f64)
    }

    #[test]
    fn intervals_of_scatter_and_drift_cover_and_nothing_drifts_by_chance() {
        let thrice = |cells: usize| [0.0, 0.5, 0.9].map(|phi| (cells, 3, phi));
        let often = [0.0, 0.5, 0.9].map(|phi| (8, 10, phi));
        let designs = [thrice(16), thrice(24), thrice(40), often].concat();
        for (cells, replicates, phi) in [&[(7, 3, 0.0), (7, 3, 0.5)], &designs[..]].concat() {
            let what = format!("{cells} cells {replicates} times, phi {phi}");
            let (scatter, _, claims) = judged(cells, replicates, phi, 0.0);
            scatter.check(&format!("scatter, {what}"));
            assert!(claims <= null_limit(), "{what}: {claims} drift");
            if phi < 0.9 && cells > 10 {
                let (_, drift, found) = judged(cells, replicates, phi, -0.1);
                drift.check_least(&format!("drift, {what}"));
                assert!(drift.given == drift.asked && found > 0.5, "{what}: {found}, {drift:?}");
            }
        }
    }

    /// Two cells that scattered by 16 and 20 % were said to scatter by 57 %: the autocorrelation of
    /// six trials came out as 0.95, and all of that was put right.
    #[test]
    fn few_repeats_scatter_as_far_as_their_cells_do_and_no_further() {
        for (cells, replicates) in [(2, 3), (3, 3), (5, 3), (2, 5), (1, 3), (4, 2)] {
            let mut coverage = Coverage::default();
            for seed in seeds() {
                let runs = blocked(&mut Random::new(seed), cells, replicates, 0.0, 0.18);
                let found = Replicates::from_values(&runs).scatter().unwrap();
                let own = |cell: usize| {
                    let of = runs.iter().filter(|run| run.cell == cell).map(|run| run.value);
                    crate::stats::sample_variance(&of.collect::<Vec<_>>())
                };
                let most = (0..cells).map(own).fold(0.0, f64::max).sqrt();
                assert!(found.deviation.value <= most * 1.000_001, "seed {seed}: {found:?}");
                assert!(!found.neighbours && found.freedom == (cells * (replicates - 1)) as f64);
                coverage.add(found.deviation.interval, 0.18);
            }
            coverage.check(&format!("{cells} cells {replicates} times"));
        }
        let enough = blocked(&mut Random::new(1), 6, 3, 0.5, 0.03);
        assert!(Replicates::from_values(&enough).scatter().unwrap().neighbours);
    }

    /// Neighbours that resemble each other look like a drift and like quiet: where that is not
    /// allowed for, most campaigns have one.
    #[test]
    fn a_wandering_machine_drifts_in_most_campaigns_if_its_runs_are_taken_for_independent() {
        let (mut naive, mut count) = (0, 0);
        for seed in seeds() {
            let runs = blocked(&mut Random::new(seed), 40, 3, 0.9, 0.03);
            let all = Replicates::from_values(&runs);
            let levers: f64 = all.left.iter().map(|it| it.lever * it.lever).sum();
            let slope = all.left.iter().map(|it| it.lever * it.distance).sum::<f64>() / levers;
            naive += u32::from(slope.abs() > 1.99 * 0.03 / levers.sqrt());
            count += 1;
        }
        assert!(f64::from(naive) / f64::from(count) > 0.4, "{naive} of {count}");
    }

    #[test]
    fn runs_that_lie_apart_are_named_and_chance_names_none() {
        let (mut by_chance, mut missed, mut wrong) = (0, 0, 0);
        for seed in seeds() {
            let mut random = Random::new(seed);
            let mut runs = blocked(&mut random, 16, 3, 0.5, 0.03);
            by_chance += u32::from(!Replicates::from_values(&runs).apart().is_empty());
            let places = [5, 6, 30];
            places.iter().for_each(|place| runs[*place].value -= 0.5);
            let same_cell = runs[5].cell == runs[30].cell || runs[6].cell == runs[30].cell;
            let found: Vec<usize> =
                Replicates::from_values(&runs).apart().iter().map(|it| it.0).collect();
            // Two of three in one cell are the many there, and the third lies apart.
            missed += u32::from(!same_cell && !places.iter().all(|place| found.contains(place)));
            wrong += u32::from(!same_cell && found.iter().any(|place| !places.contains(place)));
        }
        let share = |count: u32| f64::from(count) / seeds().count() as f64;
        let shares = [by_chance, missed, wrong].map(share);
        assert!(shares.iter().all(|share| *share <= null_limit()), "{shares:?}");
    }

    #[test]
    fn what_is_said_to_be_found_four_times_in_five_is() {
        for n in [2, 3, 5, 10] {
            let (mut found, difference) = (0, detectable(0.03, n));
            for seed in seeds() {
                let mut random = Random::new(seed);
                let mut sample = |mean: f64| -> Vec<f64> {
                    (0..n).map(|_| (mean + 0.03 * random.normal()).exp()).collect()
                };
                let ratio = RatioOfMeans::from_samples(&sample(difference), &sample(0.0)).unwrap();
                let ends = ratio.estimate().interval.unwrap();
                found += u32::from(!ends.covers(1.0));
            }
            let share = f64::from(found) / seeds().count() as f64;
            assert!((0.74..=0.88).contains(&share), "n {n}: {share}");
        }
        assert_eq!(replicates_for(0.03, detectable(0.03, 7), 100), Some(7));
        assert_eq!(replicates_for(0.03, 1e-6, 100), None);
        assert_eq!(detectable(0.03, 1), f64::INFINITY);
    }

    #[test]
    fn what_was_not_repeated_says_nothing_and_what_does_not_differ_has_no_interval() {
        let run = |cell, value| CellValue { cell, value, scale: 1.0 };
        let once = Replicates::from_values(&[run(0, 1.0), run(1, 2.0), run(2, f64::NAN)]);
        assert_eq!((once.scatter(), once.drift(), once.apart()), (None, None, Vec::new()));
        let same: Vec<CellValue> = (0..60).map(|place| run(place % 10, 1.0)).collect();
        let same = Replicates::from_values(&same);
        assert_eq!(same.scatter().unwrap().deviation, Estimate::bare(0.0));
        assert_eq!(same.apart(), Vec::new());
        let textbook =
            [9.0, 10.0, 11.0, 4.0, 6.0].map(|value| run(usize::from(value < 8.0), value));
        let found = Replicates::from_values(&textbook).scatter().unwrap();
        assert!(found.deviation.value >= (4.0_f64 / 3.0).sqrt(), "{found:?}");
    }
}
