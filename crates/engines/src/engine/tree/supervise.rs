//! The parent's side of a trial: has the load run, and looks whether it began cold.

use crate::engine::load::folders;
use crate::engine::{Context, Error};
use base::value;
use experiment::knob;
use experiment::measurement::{Evidence, Measurement, Note};
use experiment::plan::Trial;

/// Runs one trial in a worker process of its own, in folders of its own.
///
/// # Errors
/// See [`Error`].
pub fn run(trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
    let mut measurement = folders::run(trial, context)?;
    if trial.settings.get(knob::COLD) {
        measurement.notes.extend(not_cold(&measurement.evidence));
    }
    Ok(measurement)
}

/// No inode is smaller than this: ext4 has 128 or 256 bytes, XFS 256 or more, btrfs 160.
const INODE_BYTES_MIN: u64 = 64;

/// A cold start shows in what the devices read; where that was less than the inodes are, it was not
/// cold, or not all of it.
fn not_cold(evidence: &Evidence) -> Option<Note> {
    if evidence.memory {
        let text =
            format!("cold=true had no effect: the files are memory ({}).", evidence.filesystem);
        return Some(Note::new("not-cold", text));
    }
    let own = evidence.process_read_bytes.filter(|_| evidence.process_io_reliable);
    let Some(read) = evidence.device_read_bytes.or(own) else {
        return Some(Note::new(
            "cold-not-proved",
            "Names and inodes were dropped from this machine's memory; that they were read again \
             cannot be seen here, as no device's counts tell.",
        ));
    };
    let ops = evidence.delivered.metadata_ops;
    (read < ops.saturating_mul(INODE_BYTES_MIN)).then(|| {
        let text = format!(
            "The trial did not start cold: names and inodes were dropped from memory, and yet the \
             devices read only {} for {ops} operations.",
            value::bytes(read as f64)
        );
        Note::new("not-cold", text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::measurement::Amount;

    #[test]
    fn a_cold_start_is_believed_only_where_the_devices_read_the_inodes() {
        let delivered = Amount { metadata_ops: 1000, ..Amount::default() };
        let of = |device_read_bytes, memory| {
            let evidence = Evidence { delivered, device_read_bytes, memory, ..Evidence::default() };
            not_cold(&evidence).map(|note| note.kind)
        };
        assert_eq!(of(Some(256_000), false), None);
        assert_eq!(of(Some(0), false).as_deref(), Some("not-cold"));
        assert_eq!(of(Some(63_000), false).as_deref(), Some("not-cold"));
        assert_eq!(of(None, false).as_deref(), Some("cold-not-proved"));
        assert_eq!(of(None, true).as_deref(), Some("not-cold"));
    }
}
