//! The noise of the simulated server.

use base::stats::draws::Draws;

/// AR(1) noise of mean 1.
pub struct Noise {
    draws: Draws,
    deviation: f64,
    phi: f64,
    state: f64,
}

impl Noise {
    /// Coefficient of variation `deviation`, autocorrelation `phi` from one draw to the next.
    pub fn new(seed: u64, deviation: f64, phi: f64) -> Noise {
        let mut draws = Draws::new(seed);
        let state = draws.normal();
        Noise { draws, deviation, phi, state }
    }

    /// The next factor. Cut off at 5 and 195 %, alike on both sides to keep the mean at 1.
    pub fn next(&mut self) -> f64 {
        let fresh = (1.0 - self.phi * self.phi).sqrt() * self.draws.normal();
        self.state = self.phi * self.state + fresh;
        1.0 + (self.deviation * self.state).clamp(-0.95, 0.95)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_planted_mean_deviation_and_correlation() {
        for phi in [0.0, 0.5, 0.9] {
            let mut noise = Noise::new(7, 0.1, phi);
            let series: Vec<f64> = (0..200_000).map(|_| noise.next() - 1.0).collect();
            let n = series.len() as f64;
            let mean = series.iter().sum::<f64>() / n;
            let square = series.iter().map(|x| x * x).sum::<f64>() / n;
            let product = series.windows(2).map(|two| two[0] * two[1]).sum::<f64>() / n;
            assert!(mean.abs() < 0.005, "phi {phi}: mean {mean}");
            assert!((square.sqrt() - 0.1).abs() < 0.003, "phi {phi}: deviation {}", square.sqrt());
            assert!((product / square - phi).abs() < 0.02, "phi {phi}: {}", product / square);
        }
    }
}
