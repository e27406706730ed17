//! How fine a rate can be known that is counted in whole blocks.

use super::Record;
use crate::knob;
use crate::measurement::figure_names;
use crate::measurement::span::is_drawn;

/// What one block of each stream in the window comes to in the rate `name`; `None` of what is not
/// counted in blocks.
///
/// When a window begins and ends, each stream is somewhere within a block. Repeats are so all in
/// the same way: five of them agreed on 19.5 MB/s of a disk that gave 18.6. Windows that opened at
/// moments that were drawn ([`is_drawn`]) find each stream elsewhere: what many are off by adds up
/// as of independent errors.
pub fn grain(record: &Record, name: &str) -> Option<f64> {
    let window = record.outcome.measurement()?.window?;
    let done = window.done;
    let (amount, ops) = match name {
        figure_names::THROUGHPUT => (done.bytes(), done.read_ops + done.write_ops),
        "read_throughput_bytes_per_s" => (done.read_bytes, done.read_ops),
        "write_throughput_bytes_per_s" => (done.write_bytes, done.write_ops),
        figure_names::ACCEPTED_THROUGHPUT | figure_names::DURABLE_THROUGHPUT
            if is_drawn(&record.trial.settings) =>
        {
            (done.write_bytes, done.write_ops)
        }
        figure_names::IOPS => (1, u64::from(done.read_ops + done.write_ops > 0)),
        "read_iops" => (1, u64::from(done.read_ops > 0)),
        "write_iops" => (1, u64::from(done.write_ops > 0)),
        figure_names::OPS_PER_S => (1, u64::from(done.ops() > 0)),
        _ => return None,
    };
    let settings = &record.trial.settings;
    let streams = if settings.has(knob::STREAMS) { settings.get(knob::STREAMS).max(1) } else { 1 };
    let each = (ops > 0).then(|| amount as f64 / ops as f64)?;
    let streams = streams as f64;
    let blocks = if is_drawn(settings) { streams.sqrt() } else { streams };
    let grain = each * blocks / window.seconds();
    (grain.is_finite() && grain > 0.0).then_some(grain)
}
