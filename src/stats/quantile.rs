//! Quantiles of a handful of values. Those of millions of latencies are the histogram's business.

/// The `probability` quantile by linear interpolation between order statistics; `None` of nothing,
/// of what is no number, or of a probability outside [0, 1].
///
/// Source: Hyndman and Fan, "Sample quantiles in statistical packages", The American Statistician
/// 50 (1996), definition 7.
pub fn quantile(values: &[f64], probability: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&probability) || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = probability * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    Some(sorted[low] + (sorted[high] - sorted[low]) * (place - low as f64))
}

/// The middle value, or the mean of the two middle ones.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_the_order_statistics() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 1.0), Some(4.0));
        assert_eq!(median(&values), Some(2.5));
        assert_eq!(quantile(&values, 0.25), Some(1.75));
        assert_eq!(median(&[7.0]), Some(7.0));
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
    }
}
