//! How streams share a device.

/// Rates of streams that compete for `capacity`, each with a weight and none above `most`:
/// weighted max-min sharing ("water filling"). Work-conserving: either the capacity is used up or
/// every stream has its most. A weight of 0 is a stream that does not take part.
pub fn share(weights: &[f64], most: f64, capacity: f64) -> Vec<f64> {
    let mut rates = vec![0.0; weights.len()];
    let mut left = capacity;
    let mut open: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
    loop {
        let total: f64 = open.iter().map(|&i| weights[i]).sum();
        let level = left / total;
        let before = open.len();
        open.retain(|&i| {
            let full = weights[i] * level >= most;
            if full {
                rates[i] = most;
                left -= most;
            }
            !full
        });
        if open.len() == before || open.is_empty() {
            for i in open {
                rates[i] = weights[i] * level;
            }
            return rates;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capacity_is_used_up_or_every_stream_has_its_most() {
        assert_eq!(share(&[3.0, 1.0], 100.0, 40.0), [30.0, 10.0]);
        assert_eq!(share(&[3.0, 1.0], 20.0, 30.0), [20.0, 10.0]);
        assert_eq!(share(&[3.0, 1.0], 10.0, 30.0), [10.0, 10.0]);
        assert_eq!(share(&[1.0; 4], 100.0, 40.0), [10.0; 4]);
    }

    #[test]
    fn a_stream_that_left_gets_nothing_and_the_others_get_its_share() {
        assert_eq!(share(&[0.0, 1.0], 100.0, 40.0), [0.0, 40.0]);
        assert_eq!(share(&[0.0, 0.0], 100.0, 40.0), [0.0, 0.0]);
        assert!(share(&[], 1.0, 1.0).is_empty());
    }
}
