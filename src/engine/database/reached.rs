//! (pure) Whether commits that SQLite called done can have reached the disks, as the kernel counts.
//!
//! Necessary, not sufficient: a disk that lies about its own cache is believed.

use crate::measurement::{Measurement, Note, Series};

/// The least that a device writes, bytes.
const SECTOR_BYTES: u64 = 512;
/// What begins just before the counting, or ends just after it, may be missing from a count.
const SLACK: f64 = 0.95;

/// Why the commits of `measurement` cannot all have reached the disks; `None` when they can have,
/// or nobody counted. `volatile`: all disks have a cache that a power cut empties.
///
/// Each commit writes pages of its own, and returns only after a flush that began after them; one
/// flush serves no more commits than there are clients, as each has one under way.
pub fn why_not(measurement: &Measurement, volatile: bool) -> Option<Note> {
    let evidence = &measurement.evidence;
    let commits = evidence.delivered.metadata_ops;
    let note = |text: String| Some(Note::new("commits-not-on-device", text));
    if let Some(written) = evidence.device_write_bytes
        && (written as f64) < (commits * SECTOR_BYTES) as f64 * SLACK
    {
        return note(format!(
            "{commits} transactions were committed, and the devices wrote {written} bytes in all: \
             their commits cannot have reached them."
        ));
    }
    let clients = measurement.streams.len() as u64;
    if let Some(flushes) = flushes(&measurement.counters, &evidence.disks).filter(|_| volatile)
        && ((flushes * clients) as f64) < commits as f64 * SLACK
    {
        return note(format!(
            "{commits} transactions were committed by {clients} clients, and the disks were asked \
             {flushes} times to empty their caches (a mount without barriers, or a program that \
             turns fsync off, does that): a power cut undoes commits."
        ));
    }
    None
}

/// How often these disks completed a flush in the whole trial; `None` unless the kernel counted
/// that of every one (since Linux 5.5).
pub fn flushes(counters: &[Series], disks: &[String]) -> Option<u64> {
    let series = counters.iter().find(|series| series.source == "diskstats")?;
    let of = |disk: &String| {
        let column = series.column(&format!("{disk}.flush_ops"))?;
        column.values.last()?.checked_sub(*column.values.first()?)
    };
    let counts: Option<Vec<u64>> = disks.iter().map(of).collect();
    counts.filter(|counts| !counts.is_empty()).map(|counts| counts.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::{Amount, Column, Evidence, Kind, Stream};

    fn trial(commits: u64, clients: usize, written: Option<u64>, flushes: u64) -> Measurement {
        let column = |name: &str, last: u64| Column {
            name: name.to_owned(),
            kind: Kind::Counter,
            values: vec![70, 70 + last / 2, 70 + last],
        };
        let columns = vec![column("sda.write_ops", 3), column("sda.flush_ops", flushes)];
        let diskstats = Series { source: "diskstats".to_owned(), at_ns: vec![0, 1, 2], columns };
        let evidence = Evidence {
            delivered: Amount { metadata_ops: commits, ..Amount::default() },
            device_write_bytes: written,
            disks: vec!["sda".to_owned()],
            ..Evidence::default()
        };
        let streams = vec![Stream::default(); clients];
        Measurement { evidence, streams, counters: vec![diskstats], ..Measurement::default() }
    }

    #[test]
    fn commits_that_wrote_too_little_are_not_on_the_device() {
        assert_eq!(why_not(&trial(1000, 1, Some(1000 * 4096), 1000), true), None);
        let note = why_not(&trial(1000, 1, Some(4096), 1000), true).unwrap();
        assert_eq!(note.kind, "commits-not-on-device");
        assert!(note.text.contains("wrote 4096 bytes"), "{}", note.text);
        // Nobody counted: a network file system.
        assert_eq!(why_not(&trial(1000, 1, None, 1000), true), None);
    }

    #[test]
    fn one_flush_serves_as_many_commits_as_there_are_clients_and_no_more() {
        let enough = Some(1 << 30);
        assert_eq!(why_not(&trial(1000, 4, enough, 250), true), None);
        let note = why_not(&trial(1000, 4, enough, 200), true).unwrap();
        assert!(note.text.contains("200 times"), "{}", note.text);
        assert_eq!(why_not(&trial(1000, 4, enough, 0), false), None, "no cache to empty");
        let mut uncounted = trial(1000, 4, enough, 0);
        uncounted.counters[0].columns.pop();
        assert_eq!(why_not(&uncounted, true), None);
        assert_eq!(flushes(&uncounted.counters, &[]), None);
    }
}
