//! How long all operations took that latencies were taken of, out of the store's histograms.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::Value;

/// Of one trial.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// How many operations.
    pub operations: f64,
    /// All of them together, s.
    pub seconds: f64,
}

/// Of every trial that has histograms, by its number, of which the rows are number, operation and
/// histogram as SQL prints bytes. A transaction is made of operations that are counted themselves.
pub fn of(rows: &Value) -> BTreeMap<u64, Took> {
    let mut all: BTreeMap<u64, Vec<(String, Took)>> = BTreeMap::new();
    for row in rows["rows"].as_array().expect("rows") {
        let number = row[0].as_u64().expect("a trial's number");
        let operation = row[1].as_str().expect("an operation").to_owned();
        let bytes = unhex(row[2].as_str().expect("bytes"));
        let histogram: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram");
        let operations = histogram.len() as f64;
        let seconds = if operations > 0.0 { operations * histogram.mean() / 1e9 } else { 0.0 };
        all.entry(number).or_default().push((operation, Took { operations, seconds }));
    }
    let sum = |parts: Vec<(String, Took)>| {
        let alone = parts.len() == 1;
        let counted = parts.iter().filter(|(kind, _)| alone || kind != "transaction");
        counted.fold(Took::default(), |sum, (_, part)| Took {
            operations: sum.operations + part.operations,
            seconds: sum.seconds + part.seconds,
        })
    };
    all.into_iter().map(|(number, parts)| (number, sum(parts))).collect()
}

/// `x'00FF'`.
fn unhex(text: &str) -> Vec<u8> {
    let digits = text.trim_start_matches("x'").trim_end_matches('\'');
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}
