//! Figures: rates, percentiles and shares, computed from raw counts when asked.
//!
//! Of one trial: values with the interval that its own course allows. Of a cell: means over its
//! replicates with Student's interval, of a spread that is pooled where cells are alike. Names are
//! those of the JSON contract.

use std::sync::Arc;

use super::computed::{computed, computed_rate, pass_figures};
use super::{Record, consistency, start};
use crate::measurement::figure_names;
use base::stats::Estimate;

mod alike;
mod cells;
mod grain;
mod pooled;

pub use super::computed::durable::{durable_bytes, notes as durable_notes, takes_no_memory};
pub use super::named::{Figures, Name, Rates};
pub use cells::{Cell, cells, mean_of, percentile_of, replicates, widened};
use grain::grain;
pub use pooled::{LatencyCounts, PooledLatency, latency_counts};

/// The window figure and the naive one may differ by this share of the window's before the record
/// carries a note (rule 1).
pub const DISAGREEMENT: f64 = 0.05;

/// The figures of one trial; none unless it was done, and of a load that was held still
/// ([`stopped`](super::stopped)) those alone that were known before it began.
///
/// - `throughput_bytes_per_s`: bytes in the window over its length, `iops` likewise, both with an
///   interval by batch means over the load's samples inside the window where there are enough;
///   `read_` and `write_` variants when the window has both. Of a window that lies within one batch
///   of completions there is none, and a short start that did not go like the rest is left out of
///   them: [`span()`](super::span::span) says over which time they are.
/// - `naive_throughput_bytes_per_s`: bytes of all timed passes over the time from the start to the
///   end of the last of them. `sum_of_streams_bytes_per_s`: the sum of each stream's bytes over its
///   own time. Both are mistakes that people make; see rule 1.
/// - `latency_ns_mean`, `_p50`, `_p90`, `_p99`, `_p999` (of 1000 operations or more), `_max`.
/// - `accepted_throughput_bytes_per_s` and `durable_throughput_bytes_per_s` of writes.
/// - `transactions_per_s`: those that ended in the window over its length, of loads that have such.
/// - `second_pass_ratio`: how many times faster the second pass was.
/// - `durable_ops_per_s`: operations on names over the time until all that they had changed was on
///   the device: that of `ops_per_s`, and its share of the flush that came after; none in memory,
///   where nothing ever is, and none where names were changed again.
/// - `cpu_seconds_per_gib`: processor time of the load's threads for each GiB moved.
/// - `mkfs_ns` and `mount_ns`, `array_ns`, `rebuild_ns` and `precondition_ns` where there were
///   such, of the layout that the trial ran on: the same for all trials of one layout in one
///   replicate. `fsck_ns`, `fstrim_ns` and `fstrim_bytes`: before this trial.
/// - Those of [`network::figures`](super::network::figures), when bytes went over a network.
/// - Those of [`nfs::figures`](super::nfs::figures), when the files lie on a server's.
/// - Those of [`programs::figures`](super::programs::figures), when the load was a program.
/// - What others reported, as they printed it: names begin with
///   [`PREFIX`](super::reported::PREFIX), without an interval.
///
/// Those of a record without samples are shared with it. A figure that the record itself
/// contradicts ([`consistency`]) is among them without an interval, to be looked at beside its
/// note; whoever computes with figures takes those that stand ([`standing`]).
pub fn figures(record: &Record) -> Arc<Figures> {
    if let Some(digest) = record.outcome.measurement().and_then(|it| it.digest.as_ref()) {
        return Arc::clone(&digest.figures);
    }
    let mut figures = computed(record);
    for name in consistency::withheld(record, &figures) {
        if let Some(estimate) = figures.get(&name).copied() {
            figures.insert(name, Estimate::bare(estimate.value));
        }
    }
    Arc::new(figures)
}

/// The figures of one trial that nothing in its record contradicts: those that headlines,
/// intervals, effects and comparisons rest on.
pub fn standing(record: &Record) -> Arc<Figures> {
    let all = figures(record);
    let withheld = match record.outcome.measurement().and_then(|it| it.digest.as_ref()) {
        Some(digest) => digest.withheld.clone(),
        None => consistency::withheld(record, &all),
    };
    if withheld.is_empty() {
        return all;
    }
    let mut all = all.as_ref().clone();
    all.retain(|name, _| withheld.iter().all(|held| held.as_ref() != name));
    Arc::new(all)
}

/// The value of the rate `name` of one trial, as in [`standing`], without looking at anything else.
/// `None` when the trial has no such figure, or contradicts it. Other figures than the rates of
/// this function are known of a record without samples alone.
pub fn rate(record: &Record, name: &str) -> Option<f64> {
    if let Some(kept) = super::named::kept(record, name) {
        return kept;
    }
    computed_rate(record, name).filter(|_| consistency::stands(record, name))
}

/// By which share of the window's throughput the naive figure differs from it, when that is more
/// than 5 %; negative when the naive figure is too low. Such a record carries a note.
pub fn window_disagrees(record: &Record) -> Option<f64> {
    let rate = rate(record, figure_names::THROUGHPUT)?;
    let measurement = record.outcome.measurement()?;
    // The naive figure has the start in it, too.
    let left_out = start::start(measurement).is_some_and(|start| start.rest.is_some());
    let all = measurement.window.filter(|_| left_out);
    let window = all.map_or(rate, |it| it.done.bytes() as f64 / it.seconds());
    let mut figures = Figures::new();
    pass_figures(measurement, &mut figures);
    let figures = measurement.digest.as_ref().map_or(&figures, |digest| digest.figures.as_ref());
    let naive = figures.get(figure_names::NAIVE_THROUGHPUT)?.value;
    let share = naive / window - 1.0;
    (window > 0.0 && share.abs() > DISAGREEMENT).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob;
    use crate::knob::Settings;
    use crate::measurement::{
        Amount, Durable, Measurement, Operation, Outcome, SecondPass, Stream, Window,
        latency_histogram,
    };
    use crate::plan::Trial;

    fn record(measurement: Measurement, streams: u64) -> Record {
        let mut settings = Settings::defaults("file");
        settings.set(knob::STREAMS, streams);
        let trial = Trial {
            number: 7,
            replicate: 1,
            group: "g".into(),
            settings,
            seed: 1,
            first_file: 0,
            planned: None,
        };
        Record::new(trial, Outcome::Done(Box::new(measurement)))
    }

    fn reads(bytes: u64) -> Amount {
        Amount { read_bytes: bytes, read_ops: bytes / 100, ..Amount::default() }
    }

    /// Two streams of 1000 bytes each: one takes 1 s, the other 2 s.
    fn two_streams() -> Measurement {
        let stream = |seconds: u64| Stream {
            pass_end_ns: Some(seconds * 1_000_000_000),
            pass: reads(1000),
            stopped_ns: 2_000_000_000,
            total: reads(if seconds == 1 { 2000 } else { 1000 }),
            cpu_ns: 500,
            ..Stream::default()
        };
        Measurement {
            window: Some(Window { start_ns: 0, end_ns: 2_000_000_000, done: reads(3000) }),
            streams: vec![stream(1), stream(2)],
            ..Measurement::default()
        }
    }

    #[test]
    fn the_three_throughputs_are_as_defined() {
        let figures = figures(&record(two_streams(), 2));
        assert_eq!(figures["throughput_bytes_per_s"].value, 1500.0);
        assert_eq!(rate(&record(two_streams(), 2), "throughput_bytes_per_s"), Some(1500.0));
        assert_eq!(rate(&record(two_streams(), 2), "latency_ns_mean"), None);
        assert_eq!(figures["iops"].value, 15.0);
        assert_eq!(figures["naive_throughput_bytes_per_s"].value, 1000.0);
        assert_eq!(figures["sum_of_streams_bytes_per_s"].value, 1500.0);
        let disagreement = window_disagrees(&record(two_streams(), 2)).unwrap();
        assert!((disagreement + 1.0 / 3.0).abs() < 1e-12);
        let gib = 3000.0 / f64::from(1 << 30);
        assert!((figures["cpu_seconds_per_gib"].value - 1e-6 / gib).abs() < 1e-9);
        assert!(!figures.contains_key("read_iops"), "only mixed loads have variants");
    }

    /// A single stream was told that "the streams did not all run all the time".
    #[test]
    fn a_lone_stream_is_not_told_that_others_ran_less() {
        let said = |measurement: Measurement, streams: u64| {
            let notes = super::super::judge::notes(&record(measurement, streams));
            let note = notes.into_iter().find(|note| note.kind == "window-differs");
            note.expect("a note").text
        };
        assert!(said(two_streams(), 2).contains("the streams did not all run"));
        let mut alone = two_streams();
        alone.streams.remove(0);
        let (start_ns, end_ns) = (1_000_000_000, 2_000_000_000);
        alone.window = Some(Window { start_ns, end_ns, done: reads(9_000) });
        (alone.streams[0].pass, alone.streams[0].total) = (reads(10_000), reads(10_000));
        let told = said(alone, 1);
        assert!(told.contains("the rate was another one") && !told.contains("streams"), "{told}");
    }

    #[test]
    fn what_was_not_measured_has_no_figure() {
        assert!(figures(&record(Measurement::default(), 1)).is_empty());
        let mut failed = record(two_streams(), 2);
        failed.outcome = Outcome::Failed("EIO".into());
        assert!(figures(&failed).is_empty());
        assert_eq!(window_disagrees(&failed), None);
    }

    #[test]
    fn mixed_loads_have_figures_of_each_kind_and_of_both() {
        let mut measurement = two_streams();
        let done = Amount {
            read_bytes: 600,
            read_ops: 6,
            write_bytes: 200,
            write_ops: 2,
            ..Amount::default()
        };
        measurement.window = Some(Window { start_ns: 0, end_ns: 2_000_000_000, done });
        let histogram = |value: u64, count: u64| {
            let mut histogram = latency_histogram();
            histogram.saturating_record_n(value, count);
            histogram
        };
        measurement.latency = vec![
            (Operation::Read, histogram(100, 6)),
            (Operation::Write, histogram(900, 2)),
            (Operation::Read, histogram(100, 2000)),
        ];
        let figures = figures(&record(measurement, 2));
        assert_eq!(figures["throughput_bytes_per_s"].value, 400.0);
        assert_eq!(figures["read_throughput_bytes_per_s"].value, 300.0);
        assert_eq!(figures["write_iops"].value, 1.0);
        assert_eq!(figures["latency_ns_max"].value, 900.0);
        assert_eq!(figures["read_latency_ns_max"].value, 100.0);
        assert_eq!(figures["write_latency_ns_p50"].value, 900.0);
        assert!(figures.contains_key("latency_ns_p999"));
        assert!(!figures.contains_key("write_latency_ns_p999"), "of two operations");
    }

    #[test]
    fn durable_and_second_pass_become_figures() {
        let mut measurement = two_streams();
        measurement.durable =
            Some(Durable { bytes: 4000, accepted_ns: 1_000_000_000, durable_ns: 4_000_000_000 });
        measurement.second_pass =
            Some(SecondPass { bytes: 10, first_ns: 30, second_ns: 10, ..SecondPass::default() });
        let record = record(measurement, 1);
        let figures = figures(&record);
        for name in ["accepted_throughput_bytes_per_s", "durable_throughput_bytes_per_s", "iops"] {
            assert_eq!(rate(&record, name), Some(figures[name].value), "{name}");
        }
        assert_eq!(figures["accepted_throughput_bytes_per_s"].value, 4000.0);
        assert_eq!(figures["durable_throughput_bytes_per_s"].value, 1000.0);
        assert_eq!(figures["second_pass_ratio"].value, 3.0);
    }

    /// A file of one block was written: its only operation came before the window opened, and the
    /// answer said that the most was 0 MB/s.
    #[test]
    fn a_window_in_which_nothing_was_done_gives_no_figure() {
        let mut measurement = two_streams();
        measurement.window =
            Some(Window { start_ns: 0, end_ns: 1_000_000, done: Amount::default() });
        let record = record(measurement, 2);
        assert!(!figures(&record).contains_key("throughput_bytes_per_s"));
        assert_eq!((rate(&record, "throughput_bytes_per_s"), rate(&record, "iops")), (None, None));
    }

    /// Files of 32 MiB were written over for two seconds in the page cache: "durable 12053 MB/s".
    #[test]
    fn bytes_written_over_in_memory_are_not_durable() {
        let durable = |bytes, device| {
            let mut measurement = two_streams();
            measurement.durable = Some(Durable { bytes, accepted_ns: 1, durable_ns: 1 });
            measurement.evidence.device_write_bytes = device;
            let mut record = record(measurement, 2);
            record.trial.settings.set(knob::DIRECT, false);
            record.trial.settings.set(knob::FILE_SIZE, 1000);
            durable_bytes(&record)
        };
        assert_eq!(durable(2000, Some(900)), Some(2000), "each byte once");
        assert_eq!(durable(9000, Some(8500)), Some(8500));
        assert_eq!(durable(9000, Some(2500)), None, "the device idled: no rate of it");
        assert_eq!(durable(9000, Some(9500)), Some(9000), "a journal and others write too");
        assert_eq!(durable(9000, None), None);
    }

    /// fsync on tmpfs succeeds: a durable figure of it was printed as "on the device".
    #[test]
    fn nothing_is_durable_in_memory() {
        let mut measurement = two_streams();
        measurement.durable = Some(Durable { bytes: 1, accepted_ns: 1, durable_ns: 1 });
        measurement.evidence.memory = true;
        let record = record(measurement, 2);
        assert!(!figures(&record).contains_key("durable_throughput_bytes_per_s"));
        assert_eq!(rate(&record, "durable_throughput_bytes_per_s"), None);
        assert!(figures(&record).contains_key("accepted_throughput_bytes_per_s"));
    }

    /// A hundred files were touched over and over for two seconds, and put on the device once:
    /// "250 000 operations/s up to the device", which had written a hundred inodes.
    #[test]
    fn a_name_that_is_changed_again_is_durable_once() {
        let durable = |ops, memory| {
            let mut measurement = two_streams();
            measurement.durable = Some(Durable { bytes: 0, accepted_ns: 1, durable_ns: 1 });
            measurement.evidence.memory = memory;
            for stream in &mut measurement.streams {
                stream.total = Amount { metadata_ops: ops, ..Amount::default() };
            }
            let mut record = record(measurement, 2);
            record.trial.settings = Settings::defaults("tree");
            record.trial.settings.set(knob::FILES, 100);
            record.trial.settings.set(knob::STREAMS, 2);
            figures(&record).contains_key("durable_ops_per_s")
        };
        assert!(durable(100, false), "each name once");
        assert!(!durable(101, false) && !durable(100, true));
    }

    #[test]
    fn cells_keep_the_order_of_first_appearance_and_count_what_was_done() {
        let mut failed = record(two_streams(), 2);
        failed.outcome = Outcome::Skipped("no".into());
        let records =
            [record(two_streams(), 4), record(two_streams(), 2), failed, record(two_streams(), 4)];
        let cells = cells(&records);
        let streams: Vec<u64> = cells.iter().map(|cell| cell.settings.get(knob::STREAMS)).collect();
        assert_eq!(streams, [4, 2]);
        assert_eq!((cells[0].trials.len(), cells[1].trials.len()), (2, 1));
        let pair = cells[0].figures["throughput_bytes_per_s"];
        assert_eq!((pair.value, pair.interval.is_some()), (1500.0, true));
        assert_eq!(cells[1].figures["throughput_bytes_per_s"].interval, None);
    }

    /// Depth 16 at 4 KiB stands in two groups of the standard evaluation; its six trials made a
    /// cell of the first group, and the second one knew nothing of it.
    #[test]
    fn a_cell_knows_all_groups_that_asked_for_it_and_counts_each_trial_once() {
        let mut records = [1, 2, 3, 4].map(|number| {
            let mut record = record(two_streams(), 4);
            record.trial.number = number;
            record
        });
        records[1].trial.group = "other".into();
        records[3].trial.group = "other".into();
        let cells = cells(&records);
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0].groups, ["g", "other"]);
        assert_eq!(cells[0].trials, [1, 2, 3, 4]);
        records[3].trial.group = crate::plan::LAYOUT.into();
        let trials = super::cells(&records).into_iter().map(|cell| cell.trials);
        assert_eq!(trials.collect::<Vec<_>>(), [vec![1, 2, 3], vec![4]], "one made ready only");
    }
}
