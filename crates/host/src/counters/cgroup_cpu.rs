//! cpu.stat of the control groups of the load: how often they were out of processor time.
//!
//! See Documentation/scheduler/sched-bwc.rst and cgroup-v2.rst. A group without a quota counts no
//! periods and has no column; the columns of a group bear its folder's name, each level its own.

use super::text::value_of;
use super::{CounterSource, INTERVAL_NS, Sample, Subject, groups};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

pub const CGROUP_CPU: CounterSource = CounterSource {
    name: "cgroup-cpu",
    about: "Periods in which the load's control groups were out of processor time",
    fields: &[
        Field::counter("periods"),
        Field::counter("throttled_periods"),
        Field::counter("throttled_ns"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

struct CgroupCpu(Vec<(String, Reread)>);

fn open(host: &Host, subject: &Subject) -> Option<Box<dyn Sample>> {
    let groups = groups::groups_of(host, subject.worker_pid, "cpu", "cpu")?;
    let files = groups.folders.iter().filter_map(|folder| {
        let mut file = Reread::open(host, format!("{folder}/cpu.stat")).ok()?;
        // The root of version 2 has no quota, and no such lines.
        stat(file.read()?)?;
        Some((folder.clone(), file))
    });
    let files: Vec<(String, Reread)> = files.collect();
    (!files.is_empty()).then(|| Box::new(CgroupCpu(files)) as _)
}

impl Sample for CgroupCpu {
    fn sample(&mut self, table: &mut Table) {
        for (folder, file) in &mut self.0 {
            let Some(values) = file.read().and_then(stat) else { continue };
            // A group without a quota has had no period.
            if values[0] > 0 {
                for (field, value) in values.into_iter().enumerate() {
                    table.put(folder.as_bytes(), field, value);
                }
            }
        }
    }
}

/// Periods, those in which it was out of time, and for how long, ns.
fn stat(text: &[u8]) -> Option<[u64; 3]> {
    let (periods, throttled) = (value_of(text, "nr_periods")?, value_of(text, "nr_throttled")?);
    // Version 1 counts in ns, version 2 in us.
    let for_ns = value_of(text, "throttled_time")
        .or_else(|| value_of(text, "throttled_usec").map(|us| us.saturating_mul(1000)));
    Some([periods, throttled, for_ns?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::parse_whole_and_truncated;

    #[test]
    fn both_versions_are_read_and_cut_ones_are_not_made_up() {
        let first = "nr_periods 43\nnr_throttled 40\nthrottled_time 2900000000\n";
        let second = "usage_usec 9\nnr_periods 43\nnr_throttled 40\nthrottled_usec 2900000\n\
                      nr_bursts 0\n";
        for text in [first, second] {
            let all = parse_whole_and_truncated(text, |text, put| {
                for (field, value) in stat(text).into_iter().flatten().enumerate() {
                    put(b"", field, value);
                }
            });
            let values: Vec<u64> = all.iter().map(|(_, _, value)| *value).collect();
            assert_eq!(values, [43, 40, 2_900_000_000]);
        }
        assert_eq!(stat(b"usage_usec 9\n"), None, "the root of version 2");
    }
}
