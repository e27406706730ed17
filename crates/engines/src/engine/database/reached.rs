//! (pure) Whether commits that a database called done can have reached the disks.
//!
//! Necessary, not sufficient: a disk that lies about its own cache is believed.

use experiment::measurement::{Measurement, Note};
use facts::counters::series::Series;

/// The least that a device writes, bytes.
pub const SECTOR_BYTES: u64 = 512;
/// What begins just before the counting, or ends just after it, may be missing from a count.
const SLACK: f64 = 0.95;

/// Transactions that a database called done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commits {
    /// How many.
    pub count: u64,
    /// By so many, each of whom had one under way at a time.
    pub clients: u64,
    /// The least that a device had to write for each, bytes; 0 where several may share a page.
    pub bytes_each: u64,
}

/// Why the commits of `measurement` cannot all have reached the disks; `None` when they can have,
/// or nobody counted. `volatile`: all disks have a cache that a power cut empties.
///
/// Each commit returns only after a flush that began after its writes; one flush serves no more
/// commits than there are clients.
pub fn why_not(measurement: &Measurement, commits: Commits, volatile: bool) -> Option<Note> {
    let evidence = &measurement.evidence;
    let Commits { count, clients, bytes_each } = commits;
    let note = |text: String| Some(Note::new("commits-not-on-device", text));
    if let Some(written) = evidence.device_write_bytes
        && (written as f64) < count.saturating_mul(bytes_each) as f64 * SLACK
    {
        return note(format!(
            "{count} transactions were committed, and the devices wrote {written} bytes in all: \
             their commits cannot have reached them."
        ));
    }
    if let Some(flushes) = flushes(&measurement.counters, &evidence.disks).filter(|_| volatile)
        && (flushes.saturating_mul(clients) as f64) < count as f64 * SLACK
    {
        return note(format!(
            "{count} transactions were committed by {clients} clients, and the disks were asked \
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
    use experiment::measurement::Evidence;
    use facts::counters::series::{Column, ColumnKind};

    fn commits(count: u64, clients: u64) -> Commits {
        Commits { count, clients, bytes_each: SECTOR_BYTES }
    }

    fn trial(written: Option<u64>, flushes: u64) -> Measurement {
        let column = |name: &str, last: u64| Column {
            name: name.to_owned(),
            kind: ColumnKind::Counter,
            values: vec![70, 70 + last / 2, 70 + last],
        };
        let columns = vec![column("sda.write_ops", 3), column("sda.flush_ops", flushes)];
        let diskstats = Series { source: "diskstats".to_owned(), at_ns: vec![0, 1, 2], columns };
        let evidence = Evidence {
            device_write_bytes: written,
            disks: vec!["sda".to_owned()],
            ..Evidence::default()
        };
        Measurement { evidence, counters: vec![diskstats], ..Measurement::default() }
    }

    #[test]
    fn commits_that_wrote_too_little_are_not_on_the_device() {
        let of = |written: Option<u64>| why_not(&trial(written, 1000), commits(1000, 1), true);
        assert_eq!(of(Some(1000 * 4096)), None);
        let note = of(Some(4096)).unwrap();
        assert_eq!(note.kind, "commits-not-on-device");
        assert!(note.text.contains("wrote 4096 bytes"), "{}", note.text);
        assert_eq!(of(None), None, "nobody counted: a network file system");
        let shared = Commits { bytes_each: 0, ..commits(1000, 1) };
        assert_eq!(why_not(&trial(Some(4096), 1000), shared, true), None);
    }

    #[test]
    fn one_flush_serves_as_many_commits_as_there_are_clients_and_no_more() {
        let enough = Some(1 << 30);
        let of = |flushes: u64| why_not(&trial(enough, flushes), commits(1000, 4), true);
        assert_eq!(of(250), None);
        let note = of(200).unwrap();
        assert!(note.text.contains("200 times"), "{}", note.text);
        let steady = why_not(&trial(enough, 0), commits(1000, 4), false);
        assert_eq!(steady, None, "no cache to empty");
        let mut uncounted = trial(enough, 0);
        uncounted.counters[0].columns.pop();
        assert_eq!(why_not(&uncounted, commits(1000, 4), true), None);
        assert_eq!(flushes(&uncounted.counters, &[]), None);
    }
}
