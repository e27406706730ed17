//! A simulated server whose truth is known, so that everything above an engine can be tested.
//!
//! It is a fluid model in virtual time, with no clock, no sleeping and no I/O; the trial's seed
//! decides everything that is random. What it plants:
//!
//! - Each directory is a device of capacity `sim-capacity`; together they deliver at most
//!   `sim-bus`. A stream gets at most `sim-stream-rate`, and at depth d at most d blocks in the
//!   time of one operation, `sim-service-time` + block / stream rate. So the knee lies where so
//!   many streams fill the capacity. Beyond it each one costs `sim-collapse` of the capacity. With
//!   `sim-contention` and `sim-coherency` it gives no more than the Universal Scalability Law.
//! - Streams that compete share in proportion to weights that fall geometrically from
//!   `sim-inequality` to 1, and what one leaves goes to the others.
//! - Everything's speed is multiplied by AR(1) noise of mean 1, drawn every 10 ms, so that the mean
//!   throughput is the planted one on both sides of the knee.
//! - Buffered reads come from a page cache of `sim-cache` as far as the working set is in it: all
//!   of it with `cold=false`; with `cold=true` only what random reads come back to. Buffered writes
//!   are accepted at the cache's rate until a fifth of the cache is dirty (the kernel's
//!   vm.dirty_ratio), direct ones until `sim-write-cache` is full; then at the device's.
//! - Working sets that are in the page cache, and in `sim-processor-cache` whole, come at that
//!   cache's rate.
//! - `sim-device-cache` answers a second pass, and nothing else.
//!
//! What it cannot honour it refuses; see [`model`].

use super::{Context, Engine, Error, Serve};
use experiment::knob::{EngineKind, Settings, engines};
use experiment::measurement::Measurement;
use experiment::plan::Trial;
use experiment::progress::Progress;
use host::sys;

mod model;
mod noise;
mod outcome;
mod rates;
mod run;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

/// The simulated server.
pub struct SimEngine;

impl Engine for SimEngine {
    fn kind(&self) -> &'static EngineKind {
        &engines::SIM
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        match model::Model::from_settings(settings) {
            Err(Error::Unsupported(why) | Error::Failed(why)) => {
                Err(sys::Error::new("cannot simulate this", why)
                    .hint("leave that knob out, or use --engine file"))
            }
            Ok(_) | Err(Error::Interrupted | Error::Hung(_)) => Ok(()),
        }
    }

    /// What it does is done by the clock of no machine.
    fn worker(&self) -> Option<Serve> {
        None
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        let model = model::Model::from_settings(&trial.settings)?;
        (context.progress)(Progress::Preparing);
        let mut run = run::SimulatedTrial::new(&model, trial.seed);
        while run.advance() {
            if context.stop.asked() {
                return Err(Error::Interrupted);
            }
            if let Some(progress) = run.progress() {
                (context.progress)(progress);
            }
        }
        if run.dirty_bytes() > 0.0 && model.durable {
            (context.progress)(Progress::Flushing);
        }
        Ok(outcome::measurement(&model, run, trial))
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{campaign, record, run, settings};
    use super::*;
    use crate::engine::load::testing::assert_all_have_a_class;
    use base::stats::testing::{Coverage, Random, seeds};
    use experiment::knob;
    use experiment::measurement::figures::{cells, figures, window_disagrees};
    use experiment::measurement::origin::{Verdict, origin};
    use experiment::measurement::{Record, latency};
    use facts::counters::series::{Column, Series};

    /// A figure of a record.
    fn figure(record: &Record, name: &str) -> f64 {
        figures(record).get(name).unwrap_or_else(|| panic!("no {name}")).value
    }

    /// Streams of unequal speed that each read one file of about 4 s.
    fn unequal(seed: u64) -> (f64, Vec<(&'static str, String)>) {
        let mut random = Random::new(seed);
        let streams = random.between(1.0, 16.0).ceil();
        let capacity = random.between(200.0, 3000.0).round();
        let file_blocks = (capacity * 1e6 * 4.0 / streams / 65536.0).ceil();
        let changes = vec![
            ("streams", streams.to_string()),
            ("sim-capacity", format!("{capacity}MB/s")),
            ("sim-stream-rate", format!("{capacity}MB/s")),
            ("sim-inequality", format!("{:.2}", random.between(2.0, 10.0))),
            ("block-size", "64KiB".to_owned()),
            ("queue-depth", "16".to_owned()),
            ("file-size", format!("{}KiB", file_blocks * 64.0)),
            ("stop", "pass".to_owned()),
        ];
        (capacity * 1e6, changes)
    }

    fn typed(changes: &[(&'static str, String)]) -> experiment::knob::Settings {
        let borrowed: Vec<(&str, &str)> = changes.iter().map(|(n, v)| (*n, v.as_str())).collect();
        settings(&borrowed)
    }

    #[test]
    fn with_unequal_streams_the_window_is_right_and_the_naive_figure_is_too_low() {
        for seed in seeds() {
            let (truth, changes) = unequal(seed);
            let record = record(&typed(&changes), seed);
            let window = figure(&record, "throughput_bytes_per_s") / truth;
            let naive = figure(&record, "naive_throughput_bytes_per_s") / truth;
            assert!((window - 1.0).abs() < 0.01, "seed {seed}: window {window}, {changes:?}");
            assert!(naive < 0.9, "seed {seed}: naive {naive}, {changes:?}");
            assert!(window_disagrees(&record).unwrap() < -0.1, "seed {seed}");
        }
    }

    #[test]
    fn the_sources_sum_over_streams_that_stop_is_too_high() {
        for seed in seeds() {
            let (truth, mut changes) = unequal(seed);
            changes.push(("sustained", "false".to_owned()));
            let record = record(&typed(&changes), seed);
            let window = figure(&record, "throughput_bytes_per_s") / truth;
            let sum = figure(&record, "sum_of_streams_bytes_per_s") / truth;
            assert!((window - 1.0).abs() < 0.01, "seed {seed}: window {window}, {changes:?}");
            assert!(sum > 1.1, "seed {seed}: sum {sum}, {changes:?}");
        }
    }

    #[test]
    fn with_equal_streams_all_figures_agree() {
        for seed in 0..20 {
            let (truth, mut changes) = unequal(seed);
            changes.retain(|(name, _)| *name != "sim-inequality");
            let record = record(&typed(&changes), seed);
            for name in [
                "throughput_bytes_per_s",
                "naive_throughput_bytes_per_s",
                "sum_of_streams_bytes_per_s",
            ] {
                let share = figure(&record, name) / truth;
                assert!((share - 1.0).abs() < 0.02, "seed {seed}: {name} {share}, {changes:?}");
            }
            assert_eq!(window_disagrees(&record), None, "seed {seed}");
        }
    }

    #[test]
    fn intervals_within_a_trial_and_over_replicates_cover_the_planted_throughput() {
        for phi in ["0", "0.5", "0.9"] {
            let (mut within, mut over) = (Coverage::default(), Coverage::default());
            for seed in seeds() {
                let noise = [("sim-noise", "0.2"), ("sim-correlation", phi)];
                let load = [("streams", "8"), ("block-size", "64KiB"), ("queue-depth", "8")];
                let one = settings(&[&noise[..], &load, &[("stop", "12s")]].concat());
                let found = figures(&record(&one, seed))["throughput_bytes_per_s"];
                within.add(found.interval, 1e9);
                let trials = [("sim-trial-noise", "0.05"), ("stop", "500ms")];
                let many = settings(&[&noise[..], &load, &trials].concat());
                let records = campaign(&[("cell".to_owned(), many)], 3, seed);
                over.add(cells(&records)[0].figures["throughput_bytes_per_s"].interval, 1e9);
            }
            within.check_given(&format!("within a trial, phi {phi}"));
            assert!(within.given_share() > 0.9, "phi {phi}: {within:?}");
            over.check(&format!("over replicates, phi {phi}"));
        }
    }

    #[test]
    fn throughput_grows_to_the_knee_stays_there_and_collapses_as_planted() {
        let at = |streams: u32, collapse: &str| {
            let streams = streams.to_string();
            let changes = [("streams", &streams[..]), ("queue-depth", "4"), ("stop", "4s")];
            let planted = [("sim-collapse", collapse), ("file-size", "64MiB")];
            let record = record(&settings(&[&changes[..], &planted[..]].concat()), 3);
            figure(&record, "throughput_bytes_per_s") / 1e9
        };
        for (streams, collapse, truth) in [
            (1, "0", 0.25),
            (2, "0", 0.5),
            (4, "0", 1.0),
            (16, "0", 1.0),
            (4, "0.02", 1.0),
            (14, "0.02", 0.8),
        ] {
            let found = at(streams, collapse);
            assert!((found / truth - 1.0).abs() < 0.01, "{streams} {collapse}: {found}");
        }
    }

    #[test]
    fn latency_and_depth_obey_littles_law() {
        let at = |depth: &str| {
            record(&settings(&[("queue-depth", depth), ("block-size", "4KiB"), ("stop", "2s")]), 1)
        };
        // 100 us + 4096 B / 250 MB/s = 116.4 us each; the stream's rate allows 61 035/s.
        for (depth, iops) in [("1", 8592.0), ("4", 34_369.0), ("32", 61_035.0)] {
            let record = at(depth);
            let found = figure(&record, "iops");
            assert!((found / iops - 1.0).abs() < 0.01, "depth {depth}: {found}");
            let in_flight = found * figure(&record, "latency_ns_mean") / 1e9;
            let wanted: f64 = depth.parse().unwrap();
            assert!((in_flight / wanted - 1.0).abs() < 0.02, "depth {depth}: {in_flight}");
        }
    }

    #[test]
    fn cached_reads_come_at_the_caches_rate_and_the_evidence_says_so() {
        let at = |cache: &str, cold: &str, direct: &str| {
            let changes = [("sim-cache", cache), ("cold", cold), ("direct", direct)];
            let load = [("streams", "8"), ("file-size", "128MiB"), ("stop", "2s")];
            record(&settings(&[&changes[..], &load[..]].concat()), 5)
        };
        for (cache, cold, direct, truth, device) in [
            ("4GiB", "false", "false", 8e9, 0.0),
            ("4GiB", "true", "false", 1e9, 1.0),
            ("4GiB", "false", "true", 1e9, 1.0),
            // Half of it: the device's half decides.
            ("512MiB", "false", "false", 2e9, 0.5),
        ] {
            let record = at(cache, cold, direct);
            let found = figure(&record, "throughput_bytes_per_s");
            assert!((found / truth - 1.0).abs() < 0.02, "{cache} {cold} {direct}: {found}");
            let evidence = &record.outcome.measurement().unwrap().evidence;
            let delivered = evidence.delivered.read_bytes as f64;
            let share = evidence.device_read_bytes.unwrap() as f64 / delivered;
            assert!((share - device).abs() < 0.02, "{cache} {cold} {direct}: device {share}");
            assert_eq!(evidence.process_read_bytes, evidence.device_read_bytes);
            let verdict = origin(record.outcome.measurement().unwrap(), &record.trial.settings);
            let planted = match device {
                0.0 => Verdict::Cache,
                1.0 => Verdict::Device,
                _ => Verdict::Mixed,
            };
            assert_eq!(verdict.verdict, planted, "{cache} {cold} {direct}: {}", verdict.reason);
        }
    }

    #[test]
    fn random_buffered_reads_come_back_to_what_they_read() {
        let changes = [("access", "random-read"), ("direct", "false"), ("file-size", "1GiB")];
        let record = record(&settings(&[&changes[..], &[("stop", "2s")]].concat()), 1);
        let evidence = &record.outcome.measurement().unwrap().evidence;
        let share =
            evidence.device_read_bytes.unwrap() as f64 / evidence.delivered.read_bytes as f64;
        assert!(share > 0.5 && share < 0.95, "device share {share}");
    }

    #[test]
    fn a_second_pass_is_faster_where_a_device_cache_was_planted_and_nowhere_else() {
        let ratio = |cache: &str| {
            let changes = [("second-pass", "true"), ("stop", "pass"), ("sim-device-cache", cache)];
            let record = record(&settings(&[&changes[..], &[("streams", "4")]].concat()), 9);
            let verdict = origin(record.outcome.measurement().unwrap(), &record.trial.settings);
            (figure(&record, "second_pass_ratio"), verdict.verdict)
        };
        let (none, planted) = (ratio("0B"), ratio("8GiB"));
        assert!((none.0 - 1.0).abs() < 0.02 && none.1 == Verdict::Device, "{none:?}");
        assert!((planted.0 - 8.0).abs() < 0.3 && planted.1 == Verdict::DeviceCache, "{planted:?}");
    }

    #[test]
    fn writes_are_durable_later_than_accepted_by_what_the_cache_holds() {
        let gap = |direct: &str, fsync: &str, cache: &str| {
            let changes = [("access", "write"), ("direct", direct), ("fsync", fsync)];
            let load = [("streams", "8"), ("stop", "4s"), ("sim-write-cache", cache)];
            let record = record(&settings(&[&changes[..], &load[..]].concat()), 2);
            let durable = record.outcome.measurement().unwrap().durable?;
            let figures = figures(&record);
            let ratio = figures["accepted_throughput_bytes_per_s"].value
                / figures["durable_throughput_bytes_per_s"].value;
            Some((ratio, durable.bytes as f64 / (durable.durable_ns as f64 / 1e9)))
        };
        // A fifth of 4 GiB is dirty at the end and drains at 1 GB/s: 0.859 s after 4 s.
        let (ratio, rate) = gap("false", "end", "0B").unwrap();
        assert!((ratio - 4.859 / 4.0).abs() < 0.01, "{ratio}");
        assert!((rate / 1e9 - 1.0).abs() < 0.02, "{rate}");
        let (ratio, rate) = gap("true", "end", "0B").unwrap();
        assert!((ratio - 1.0).abs() < 0.001, "{ratio}");
        assert!((rate / 1e9 - 1.0).abs() < 0.02, "{rate}");
        assert!(gap("true", "end", "1GiB").unwrap().0 > 1.2);
        assert!(gap("true", "every", "1GiB").unwrap().0 < 1.001);
        assert_eq!(gap("true", "never", "1GiB"), None);
    }

    /// Writes come at 8 GB/s, and the device takes 1: a cache of 14 GB is full after 2 s.
    #[test]
    fn the_classes_show_when_the_write_cache_was_full() {
        let load = [("access", "write"), ("direct", "true"), ("streams", "8"), ("stop", "5s")];
        let cache = [("sim-write-cache", "14000000000B")];
        let measurement = run(&settings(&[&load[..], &cache].concat()), 1).unwrap();
        let series = latency::class_series(&measurement).unwrap();
        let middle = |row: usize| -> usize {
            let grown = |of: &Column| of.values[row] - of.values[row - 1];
            let half = series.columns.iter().map(grown).sum::<u64>() / 2;
            let mut seen = 0;
            let holds = |of: &&Column| {
                seen += grown(of);
                seen > half
            };
            latency::class_of(&series.columns.iter().find(holds).unwrap().name).unwrap()
        };
        let middles: Vec<usize> = (1..series.at_ns.len()).map(middle).collect();
        let (before, after) = (middles[5], middles[45]);
        // Eight times as long: three octaves.
        assert!((5..=7).contains(&(after - before)), "{middles:?}");
        let full = middles.iter().position(|&class| class > before + 2).unwrap();
        assert!((19..=24).contains(&full), "{full}: {middles:?}");
        assert!(middles[..full].iter().all(|&class| class <= before + 1), "{middles:?}");
        assert!(middles[full + 1..].iter().all(|&class| class + 1 >= after), "{middles:?}");
    }

    #[test]
    fn two_directories_are_two_devices_behind_one_bus() {
        let at = |directories: &[&str], bus: &str| {
            let mut settings = settings(&[("streams", "16"), ("stop", "2s"), ("sim-bus", bus)]);
            let words: Vec<String> = directories.iter().map(|&word| word.to_owned()).collect();
            settings.set(knob::DIRECTORIES, &words);
            figure(&record(&settings, 1), "throughput_bytes_per_s") / 1e9
        };
        assert!((at(&["/a"], "5000MB/s") - 1.0).abs() < 0.01);
        assert!((at(&["/a", "/b"], "5000MB/s") - 2.0).abs() < 0.02);
        assert!((at(&["/a", "/b"], "1500MB/s") - 1.5).abs() < 0.015);
    }

    #[test]
    fn a_measurement_is_consistent_in_itself() {
        let stops = ["pass", "100MiB", "1s", "steady"];
        for (number, stop) in stops.into_iter().enumerate() {
            for access in ["read", "random-mix", "write", "read-strided"] {
                let changes = [("stop", stop), ("access", access), ("streams", "5")];
                let more = [("file-size", "100000KiB"), ("block-size", "96KiB")];
                let model = settings(&[&changes[..], &more[..]].concat());
                check(&run(&model, number as u64).unwrap(), &format!("{stop} {access}"));
            }
        }
    }

    fn check(measurement: &Measurement, what: &str) {
        let window = measurement.window.unwrap();
        assert!(window.start_ns < window.end_ns, "{what}");
        assert!(window.end_ns <= measurement.elapsed_ns, "{what}");
        let last = |series: &Series, name: &str| {
            series.column(name).and_then(|column| column.values.last().copied()).unwrap()
        };
        let delivered = measurement.evidence.delivered;
        assert_eq!(last(&measurement.load, "read_bytes"), delivered.read_bytes, "{what}");
        assert_eq!(last(&measurement.load, "write_ops"), delivered.write_ops, "{what}");
        assert!(measurement.load.at_ns.is_sorted_by(|a, b| a < b), "{what}");
        let total: u64 = measurement.streams.iter().map(|stream| stream.total.bytes()).sum();
        assert_eq!(total, delivered.bytes(), "{what}");
        let recorded: u64 = measurement.latency.iter().map(|(_, h)| h.len()).sum();
        assert_eq!(recorded, window.done.ops(), "{what}");
        assert_all_have_a_class(measurement);
        for stream in &measurement.streams {
            assert!(stream.pass.bytes() <= stream.total.bytes(), "{what}");
            assert!(stream.pass_end_ns.is_none_or(|end| end <= stream.stopped_ns), "{what}");
        }
        let grown =
            measurement.load.growth("read_bytes", window.start_ns as i64, window.end_ns as i64);
        let slack = 2e6 + 0.02 * window.done.read_bytes as f64;
        assert!((grown.unwrap() - window.done.read_bytes as f64).abs() < slack, "{what}");
    }

    #[test]
    fn a_trial_that_runs_until_it_is_steady_ends_when_it_is_and_not_before() {
        let steady = |changes: &[(&str, &str)]| {
            let load = [("stop", "steady"), ("streams", "8"), ("at-most", "200s")];
            let settings = settings(&[&load[..], changes].concat());
            let measurement = run(&settings, 3).unwrap();
            let verdict = experiment::measurement::steady::steady(&measurement, &settings);
            (measurement, verdict == experiment::measurement::steady::Steady::Tested(true))
        };
        // Reading at one speed: five rounds of 1 s, and no more.
        let (even, settled) = steady(&[]);
        assert!(settled && (5.0..5.3).contains(&(even.elapsed_ns as f64 / 1e9)), "{even:?}");

        // Writes fill a cache at 8 GB/s, of which the device takes 1: 21 s at one speed, which are
        // no steady state. A round that reaches 200 ms into them is still near enough to the rest.
        let fills = [("access", "write"), ("direct", "true"), ("sim-write-cache", "140GiB")];
        let (writes, settled) = steady(&fills);
        let seconds = writes.elapsed_ns as f64 / 1e9;
        let end_ns = writes.window.unwrap().end_ns as i64;
        let last = writes.load.growth("write_bytes", end_ns - 40_000_000_000, end_ns).unwrap();
        assert!(settled && (71.0..75.0).contains(&seconds), "{seconds}");
        assert!((last / 40e9 - 1.0).abs() < 0.05, "the device's rate: {last}");

        // What never settles is cut, and says so.
        let noise = [("sim-noise", "1"), ("sim-correlation", "0.99"), ("at-most", "9s")];
        let (never, settled) = steady(&noise);
        assert!(!settled && never.elapsed_ns == 9_000_000_000, "{}", never.elapsed_ns);
        assert_eq!(never.notes[0].kind, "not-settled");
        assert!(even.notes.is_empty() && writes.notes.is_empty());
    }

    #[test]
    fn one_seed_gives_one_measurement_and_stop_means_stop() {
        let model = settings(&[("streams", "3"), ("stop", "1s")]);
        let both = [run(&model, 4).unwrap(), run(&model, 4).unwrap()];
        assert_eq!(both[0].load, both[1].load);
        assert_ne!(both[0].load, run(&model, 5).unwrap().load);
        let short = settings(&[("stop", "pass"), ("at-least", "20s"), ("file-size", "1MiB")]);
        assert_eq!(run(&short, 1).unwrap().elapsed_ns, 20_000_000_000);
        let cut = settings(&[("stop", "pass"), ("at-most", "2s"), ("file-size", "1TiB")]);
        let cut = run(&cut, 1).unwrap();
        assert_eq!(cut.elapsed_ns, 2_000_000_000);
        assert_eq!(cut.notes[0].kind, "cut-short");
    }

    #[test]
    fn what_it_cannot_honour_it_refuses_by_name() {
        for (name, value) in [
            ("rate", "100"),
            ("io-engine", "sync"),
            ("batch", "4"),
            ("cpu-pinning", "spread"),
            ("data", "zero"),
            ("poll", "true"),
        ] {
            let Err(Error::Unsupported(text)) = run(&settings(&[(name, value)]), 1) else {
                panic!("{name}={value} was not refused")
            };
            assert!(text.contains(name), "{text}");
        }
    }
}
