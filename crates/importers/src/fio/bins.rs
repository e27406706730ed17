//! (pure) How often each latency came, as `--output-format=json+` has it (`bins`).
//!
//! fio counts in buckets whose width is 1/64 of their value or less. Since 2.18 the middle of each
//! stands as a key there; before, its number (stat.c: plat_idx_to_val).

use serde_json::Value as Json;

use experiment::measurement::reported::ReportedHistogram;

/// So many buckets have one value each, and every further doubling of the value as many.
const EACH: u64 = 64;

/// What stands for the bucket of that number: its middle.
pub fn value_of_bucket(number: u64) -> Option<u64> {
    if number < 2 * EACH {
        return Some(number);
    }
    let shift = u32::try_from(number / EACH - 1).ok().filter(|shift| *shift < 57)?;
    let lowest = (EACH + number % EACH).checked_shl(shift)?;
    lowest.checked_add(1 << (shift - 1))
}

/// Those of one latency that is printed in units of so many ns, under a name.
///
/// # Errors
/// When they are no counts, or contradict what stands beside them.
pub fn histogram(
    latency: &Json,
    unit_ns: u64,
    name: String,
) -> Result<Option<ReportedHistogram>, String> {
    let Some(bins) = latency.get("bins").and_then(Json::as_object) else { return Ok(None) };
    let wrong = |what: &str| format!("its `bins` of {name} {what}");
    let numbered = bins.contains_key("FIO_IO_U_PLAT_BITS");
    if numbered && bins.get("FIO_IO_U_PLAT_VAL").and_then(Json::as_u64) != Some(EACH) {
        return Err(wrong("are of other widths than 1/64"));
    }
    let mut all = Vec::new();
    for (key, count) in bins.iter().filter(|(key, _)| !key.starts_with("FIO_")) {
        let (key, count) = (key.parse::<u64>().ok(), count.as_u64());
        let value = if numbered { key.and_then(value_of_bucket) } else { key };
        let (Some(value), Some(count)) = (value, count) else {
            return Err(wrong("are no counts"));
        };
        if count > 0 {
            all.push((value, count));
        }
    }
    all.sort_unstable();
    if all.is_empty() {
        return Ok(None);
    }
    fits(latency, &all).map_err(wrong)?;
    let in_ns = |(value, _): &(u64, u64)| value.checked_mul(unit_ns);
    let values: Option<Vec<u64>> = all.iter().map(in_ns).collect();
    let values = values.ok_or_else(|| wrong("are no latencies"))?;
    let counts = all.into_iter().map(|(_, count)| count).collect();
    Ok(Some(ReportedHistogram { name, values, counts }))
}

/// Whether they have as many as were counted, from the shortest to the longest, and the same mean,
/// each to within the width of a bucket.
fn fits(latency: &Json, all: &[(u64, u64)]) -> Result<(), &'static str> {
    /// A latency above the last bucket is counted there: then the bins say less than the mean.
    const LAST: u64 = 16_000_000;
    let number = |key: &str| latency.get(key).and_then(Json::as_f64);
    let count = all.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(*count));
    let count = count.ok_or("are no counts")?;
    if latency.get("N").and_then(Json::as_u64).is_some_and(|told| told != count) {
        return Err("do not add up to N");
    }
    let sum: f64 = all.iter().map(|(value, count)| *value as f64 * *count as f64).sum();
    let last = all.last().map_or(0, |(value, _)| *value);
    let ends = [("min", all.first().map_or(0, |(value, _)| *value)), ("max", last)];
    let near = |a: f64, b: f64| (a - b).abs() <= a.max(b) / EACH as f64 + 1.0;
    let whole = last < LAST;
    for (key, value) in ends.into_iter().filter(|(key, _)| whole || *key == "min") {
        if number(key).is_some_and(|told| !near(told, value as f64)) {
            return Err("do not go from the shortest to the longest");
        }
    }
    match number("mean") {
        Some(mean) if whole && !near(mean, sum / count as f64) => Err("have another mean"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::FIO;
    use super::*;
    use serde_json::json;

    const FLUSH: &str = include_str!("../../../../tests/fixtures/tools/fio-3.33-flush-bins.txt");
    const OLD: &str = include_str!("../../../../tests/fixtures/tools/fio-3.1-bins.txt");

    /// 128 buckets of one value, then 64 for every doubling: number 128 is of 128 and 129, 192 of
    /// 256 to 259, and 1856 - 1, the last of fio 3, of 127 << 27 and the next 2^27 - 1 values.
    #[test]
    fn the_middle_of_a_bucket_stands_for_it() {
        for (number, value) in [
            (0, Some(0)),
            (127, Some(127)),
            (128, Some(129)),
            (191, Some(255)),
            (192, Some(258)),
            (1215, Some((127 << 17) + (1 << 16))),
            (1855, Some((127 << 27) + (1 << 26))),
            (u64::MAX, None),
        ] {
            assert_eq!(value_of_bucket(number), value, "{number}");
        }
    }

    #[test]
    fn bins_are_histograms_of_what_they_stand_at() {
        let said = &(FIO.parse)(FLUSH).unwrap()[0];
        let names: Vec<&str> = said.histograms.iter().map(|it| it.name.as_str()).collect();
        let due =
            ["latency_ns", "completion_latency_ns", "submission_latency_ns", "sync_latency_ns"];
        assert_eq!(names, due);
        let submission = &said.histograms[2];
        assert_eq!(
            (submission.values[..3].to_vec(), submission.counts[..3].to_vec()),
            (vec![4576, 4640, 4704], vec![1, 4, 8])
        );
        assert_eq!(
            said.histograms.iter().map(|it| it.counts.iter().sum()).collect::<Vec<u64>>(),
            [128, 128, 128, 15]
        );
        // fio 3.1 does not say N.
        let said = &(FIO.parse)(OLD).unwrap()[0];
        assert_eq!(said.histograms[0].name, "completion_latency_ns");
        assert_eq!(said.histograms[0].counts.iter().sum::<u64>(), 128);
        assert_eq!(said.histograms[0].values[0], 76_288);
    }

    /// As of 2.13 to 2.17: the number of each bucket, in us, and zeros with them.
    #[test]
    fn bins_by_their_number_are_read_as_values() {
        let old = json!({ "min": 100, "max": 258, "mean": 205.3, "bins": { "0": 0, "100": 1,
            "192": 2, "FIO_IO_U_PLAT_BITS": 6, "FIO_IO_U_PLAT_VAL": 64,
            "FIO_IO_U_PLAT_NR": 1216 } });
        let read = histogram(&old, 1000, "a".to_owned()).unwrap().unwrap();
        assert_eq!((read.values, read.counts), (vec![100_000, 258_000], vec![1, 2]));
        let mut other = old.clone();
        other["bins"]["FIO_IO_U_PLAT_VAL"] = 32.into();
        assert!(histogram(&other, 1000, "a".to_owned()).unwrap_err().contains("other widths"));
    }

    #[test]
    fn bins_that_contradict_what_stands_beside_them_are_refused() {
        let of = |key: &str, value: Json| {
            let mut latency = json!({ "min": 995, "max": 2010, "mean": 1505.0, "N": 2,
                "bins": { "1000": 1, "2000": 1 } });
            latency[key] = value;
            histogram(&latency, 1, "a".to_owned())
        };
        assert!(of("other", Json::Null).is_ok());
        for (key, value, why) in [
            ("N", json!(3), "do not add up to N"),
            ("mean", json!(1600.0), "have another mean"),
            ("min", json!(900), "do not go from"),
            ("max", json!(2100), "do not go from"),
            ("bins", json!({ "1000": 1, "x": 1 }), "are no counts"),
            ("bins", json!({ "1000": 1, "2000": -1 }), "are no counts"),
            ("bins", json!({ "1000": 1, "2000": u64::MAX }), "are no counts"),
        ] {
            let told = of(key, value).unwrap_err();
            assert!(told.starts_with(&format!("its `bins` of a {why}")), "{key}: {told}");
        }
    }
}
