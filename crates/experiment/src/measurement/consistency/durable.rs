//! What became durable, against what was accepted: a part of it, and later.

use super::OwnTrial;
use crate::measurement::figure_names;
use base::value::{iops, throughput_short};

const ROUNDING: f64 = 1.001;

/// Bytes.
pub fn bytes(facts: &OwnTrial<'_>) -> Option<String> {
    let accepted = facts.rate(figure_names::ACCEPTED_THROUGHPUT)?;
    let durable = facts.rate(figure_names::DURABLE_THROUGHPUT)?;
    (durable > accepted * ROUNDING).then(|| {
        format!(
            "{} are said to be durable, of {} that were accepted.",
            throughput_short(durable),
            throughput_short(accepted)
        )
    })
}

/// Operations on names, and transactions.
pub fn operations(facts: &OwnTrial<'_>) -> Option<String> {
    facts.measurement.durable?;
    let figures = facts.figures();
    let accepted = figures.get(figure_names::OPS_PER_S)?.value;
    let durable = figures.get("durable_ops_per_s")?.value;
    (durable > accepted * ROUNDING).then(|| {
        format!(
            "{} operations per second are said to be durable, of {} that were accepted.",
            iops(durable),
            iops(accepted)
        )
    })
}
