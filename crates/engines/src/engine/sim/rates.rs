//! How fast each stream goes: how streams share devices, caches and the bus.

use super::model::Model;

/// Rates of all streams before noise, and where their bytes go.
pub struct Rates {
    /// Bytes per second of each stream; 0 of those that do not run.
    pub each: Vec<f64>,
    /// Their sum.
    pub total: f64,
    /// Share of the bytes moved that the device has to move at once.
    pub device_share: f64,
    /// Share of the bytes moved that wait for the device.
    pub waiting_share: f64,
    /// Share of reads answered by the page cache.
    pub hit: f64,
    /// What the devices can still do beside, bytes per second.
    pub spare: f64,
}

impl Rates {
    /// Rates of the streams that run, when `read_flowed` bytes were read so far and the write cache
    /// is `full` or not.
    pub fn at_state(
        model: &Model,
        runs: impl Fn(usize) -> bool,
        read_flowed: f64,
        full: bool,
    ) -> Rates {
        let hit = hit(model, read_flowed);
        let (reads, writes) = (model.read_share, 1.0 - model.read_share);
        let cached_writes = model.write_cache > 0.0;
        let waiting_share = reads * (1.0 - hit) + if cached_writes { 0.0 } else { writes };
        let device_share = waiting_share + if cached_writes && full { writes } else { 0.0 };
        let waits = waiting_share / model.stream_most;
        let most = 1.0 / ((1.0 - waiting_share) / model.cache_rate + waits);
        let mut each = vec![0.0; model.streams];
        let mut capacity = 0.0;
        for device in 0..model.devices {
            let here = (device..model.streams).step_by(model.devices);
            let weight = |i: usize| if runs(i) { model.weights[i] } else { 0.0 };
            let weights: Vec<f64> = here.map(weight).collect();
            let running = weights.iter().filter(|&&weight| weight > 0.0).count();
            let limit = model.capacity_with(running);
            capacity += limit;
            let shares = share(&weights, most, limit / device_share);
            for (place, rate) in shares.into_iter().enumerate() {
                each[place * model.devices + device] = rate;
            }
        }
        let total: f64 = each.iter().sum();
        let capacity = capacity.min(model.bus);
        let limit = (capacity / device_share).min(model.cache_rate / (1.0 - waiting_share));
        let scale = (limit / total).min(1.0);
        each.iter_mut().for_each(|rate| *rate *= scale);
        let total = total * scale;
        let spare = (capacity - total * device_share).max(0.0);
        Rates { each, total, device_share, waiting_share, hit, spare }
    }
}

/// Share of reads that the page cache answers.
fn hit(model: &Model, read_flowed: f64) -> f64 {
    if model.returning > 0.0 {
        // Uniform draws: so much of the working set has been read at least once.
        (1.0 - (-read_flowed / model.working_set).exp()).min(model.returning)
    } else {
        model.resident
    }
}

/// Rates of streams that compete for `capacity`, each with a weight and none above `most`:
/// weighted max-min sharing ("water filling"). Work-conserving: either the capacity is used up or
/// every stream has its most. A weight of 0 is a stream that does not take part.
fn share(weights: &[f64], most: f64, capacity: f64) -> Vec<f64> {
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
