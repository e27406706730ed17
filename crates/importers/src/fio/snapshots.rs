//! (pure) Documents that are snapshots of one run (`--status-interval`): each has all that the one
//! before it had, and the last is the result.

use serde_json::Value as Json;

/// What was counted of each direction, and never becomes less.
const COUNTED: [&str; 3] = ["io_bytes", "total_ios", "runtime"];

/// The documents without those of which a later one has more.
pub fn last_of_each_run(documents: Vec<Json>) -> Vec<Json> {
    let mut kept: Vec<Json> = Vec::new();
    let mut chained = false;
    for document in documents {
        chained = kept.last().is_some_and(|earlier| goes_on(earlier, &document, chained));
        if chained {
            kept.pop();
        }
        kept.push(document);
    }
    kept
}

/// Whether a document is of the same run as the one before it: asked the same, begun at the same
/// time, and nothing in it less. Two machines that were started together differ by the last alone,
/// and by luck not even by that: so time must have passed between the two, unless more of the same
/// run stood before (`chained`), or both say that they began in the same millisecond.
fn goes_on(earlier: &Json, later: &Json, chained: bool) -> bool {
    let same = |key: &str| earlier.get(key) == later.get(key);
    let [before, after] = [earlier, later].map(|of| of.get("jobs").and_then(Json::as_array));
    let (Some(before), Some(after)) = (before, after) else { return false };
    if !same("fio version") || !same("global options") || before.len() != after.len() {
        return false;
    }
    let pairs = || before.iter().zip(after);
    let asked = |(one, other): (&Json, &Json)| {
        ["jobname", "groupid", "job options"].iter().all(|key| one.get(key) == other.get(key))
    };
    let same_start = |(one, other): (&Json, &Json)| {
        one.get("job_start").is_some() && one.get("job_start") == other.get("job_start")
    };
    if !pairs().all(asked) || !pairs().all(|(one, other)| nothing_less(one, other)) {
        return false;
    }
    let (Some(one), Some(other)) =
        (SnapshotTime::of(earlier, before), SnapshotTime::of(later, after))
    else {
        return pairs().all(same_start);
    };
    let together = (one.begun_s - other.begun_s).abs() <= 1;
    pairs().all(same_start) || together && (chained || other.elapsed_s > one.elapsed_s)
}

fn nothing_less(one: &Json, other: &Json) -> bool {
    ["read", "write", "trim", "mixed"].iter().all(|way| {
        COUNTED.iter().all(|key| {
            let of = |job: &Json| job.get(way)?.get(key)?.as_f64();
            of(one).unwrap_or(0.0) <= of(other).unwrap_or(0.0)
        })
    })
}

/// When a run began and how long it had gone on, s.
struct SnapshotTime {
    begun_s: i64,
    elapsed_s: i64,
}

impl SnapshotTime {
    fn of(document: &Json, jobs: &[Json]) -> Option<SnapshotTime> {
        let printed_s = document.get("timestamp")?.as_i64()?;
        let elapsed_s = jobs.iter().filter_map(|job| job.get("elapsed")?.as_i64()).max()?;
        Some(SnapshotTime { begun_s: printed_s.checked_sub(elapsed_s)?, elapsed_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::figure;
    use serde_json::json;

    /// The first and the last of five that `--status-interval=1` made in four seconds: 1786 reads
    /// and 8001.
    #[test]
    fn what_fio_prints_every_second_is_one_result() {
        let two = include_str!("../../../../tests/fixtures/tools/fio-3.33-snapshots.txt");
        let said = (super::super::FIO.parse)(two).unwrap();
        assert_eq!(said.len(), 1);
        assert!(
            figure(&said[0], "iops").is_some_and(|iops| (iops - 1999.75).abs() < 0.1),
            "{said:?}"
        );
    }

    fn document(timestamp: i64, elapsed: i64, read: i64) -> Json {
        let read = json!({ "io_bytes": read * 4096, "total_ios": read, "runtime": elapsed * 990 });
        let job = json!({ "jobname": "a", "groupid": 0, "elapsed": elapsed, "read": read });
        json!({ "fio version": "fio-3.33", "timestamp": timestamp, "jobs": [job] })
    }

    /// Each snapshot of a run was a result of its own: eight of one minute.
    #[test]
    fn of_the_snapshots_of_a_run_the_last_is_left() {
        let run = vec![document(110, 10, 500), document(120, 20, 900), document(121, 20, 950)];
        assert_eq!(last_of_each_run(run.clone()), run[2..]);
        // Another run after it, and one whose counts are less.
        let mut two = run.clone();
        two.extend([document(151, 30, 2000), document(161, 40, 1500)]);
        assert_eq!(last_of_each_run(two.clone()), two[2..]);
    }

    #[test]
    fn machines_that_were_started_together_and_runs_one_after_the_other_stay_apart() {
        let together = vec![document(130, 30, 500), document(130, 30, 600)];
        assert_eq!(last_of_each_run(together.clone()), together);
        let after = vec![document(130, 30, 500), document(161, 30, 600), document(162, 1, 700)];
        assert_eq!(last_of_each_run(after.clone()), after);
        let mut other = document(140, 40, 700);
        other["jobs"][0]["jobname"] = "b".into();
        assert_eq!(last_of_each_run(vec![together[0].clone(), other]).len(), 2);
        // The same start to the millisecond is the same run.
        let mut exact = together;
        exact.iter_mut().for_each(|of| of["jobs"][0]["job_start"] = 100_123.into());
        assert_eq!(last_of_each_run(exact.clone()), exact[1..]);
    }
}
