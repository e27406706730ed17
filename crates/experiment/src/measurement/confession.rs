//! (pure) What the generator confesses: signs that a figure may be ours, not the server's.
//!
//! rule 6, from the counters inside the window, one file a sin: a busy core or thread of
//! our own and stolen time (`processors`), traffic that was not the load's (`others`), drives and
//! processors that were too hot (`heat`). A disk that fills up fails its trial; the difference
//! between window and naive figure is noted by who computes them.

use super::{Measurement, Note};
use crate::knob::{self, Settings};
use base::value::{bytes, percent};
use facts::bare;
use facts::counters::series::Series;

mod heat;
mod others;
mod processors;

pub use others::writes_elsewhere;

/// Every note that the evidence of `measurement` calls for, in a fixed order; none is good.
pub fn confessions(measurement: &Measurement, settings: &Settings) -> Vec<Note> {
    let span = JudgedSpan::of(measurement);
    let mut notes = Vec::new();
    notes.extend(processors::bound(measurement, span));
    notes.extend(processors::stolen(measurement, span));
    notes.extend(others::moved(measurement, settings, span));
    notes.extend(swapped(measurement, span));
    notes.extend(heat::heated(measurement, span));
    notes.extend(not_cold(measurement, settings));
    notes.extend(small_in_records(measurement, settings));
    notes.extend(not_warm(measurement, settings));
    notes
}

/// The time that is judged, ns since the trial's start.
#[derive(Clone, Copy, Debug)]
struct JudgedSpan {
    start_ns: i64,
    end_ns: i64,
}

impl JudgedSpan {
    /// The window in which all streams ran, or the whole trial when there was none.
    fn of(measurement: &Measurement) -> JudgedSpan {
        let (start, end) = match &measurement.window {
            Some(window) => (window.start_ns, window.end_ns),
            None => (0, measurement.elapsed_ns),
        };
        let ns = |time| i64::try_from(time).unwrap_or(i64::MAX);
        JudgedSpan { start_ns: ns(start), end_ns: ns(end) }
    }

    /// Rows of `series` from the last before the span to the first after it.
    fn rows(self, series: &Series) -> std::ops::Range<usize> {
        let first = series.at_ns.partition_point(|at| *at <= self.start_ns).saturating_sub(1);
        let end = series.at_ns.partition_point(|at| *at < self.end_ns) + 1;
        first..end.min(series.at_ns.len()).max(first)
    }

    /// Growth of a counter over [`JudgedSpan::rows`]: traffic at the very ends belongs to the
    /// trial, and interpolation would take a part of it off.
    fn growth_of_rows(self, series: &Series, column: &str) -> Option<u64> {
        let values = series.column(column)?.values.get(self.rows(series))?;
        values.last()?.checked_sub(*values.first()?)
    }
}

fn series<'a>(measurement: &'a Measurement, source: &str) -> Option<&'a Series> {
    measurement.counters.iter().find(|series| series.source == source)
}

/// The load itself had memory swapped out while the machine swapped.
fn swapped(measurement: &Measurement, span: JudgedSpan) -> Option<Note> {
    let machine = series(measurement, "vmstat")?;
    let pages = |column| span.growth_of_rows(machine, column).unwrap_or(0);
    let (pages_in, pages_out) = (pages("swapped_in_pages"), pages("swapped_out_pages"));
    if (pages_in, pages_out) == (0, 0) {
        return None;
    }
    let process = series(measurement, "process")?;
    let levels = process.column("swap_bytes")?.values.get(span.rows(process))?;
    let swapped = levels.iter().max().copied().filter(|most| *most > 0)?;
    Some(Note::new(
        "swap",
        format!(
            "The load swapped: up to {} of its memory were out while the machine swapped \
             {pages_in} pages in and {pages_out} out.",
            bytes(swapped as f64)
        ),
    ))
}

/// Pages were in memory before a trial of reads that was asked to start cold.
fn not_cold(measurement: &Measurement, settings: &Settings) -> Option<Note> {
    let asked = settings.get(knob::COLD);
    let evidence = &measurement.evidence;
    if !asked || evidence.delivered.read_bytes == 0 {
        return None;
    }
    let resident = evidence.resident_before_bytes.filter(|resident| *resident > 0)?;
    // Of a bare device a file system that is mounted on it keeps its own few pages, and those are
    // nothing to reads that go around them.
    let raw = evidence.filesystem == bare::RAW;
    let few = resident <= evidence.file_bytes / 100 || settings.get(knob::DIRECT);
    if raw && few {
        return None;
    }
    let share = resident as f64 / evidence.file_bytes.max(resident) as f64;
    Some(Note::new(
        "not-cold",
        format!(
            "The trial did not start cold: {} ({}) of its files were in memory.",
            bytes(resident as f64),
            percent(share)
        ),
    ))
}

/// Reads and writes in random order of far less than a record of ZFS, which is read, checked and
/// written whole for each.
fn small_in_records(measurement: &Measurement, settings: &Settings) -> Option<Note> {
    const FAR: f64 = 4.0;
    let evidence = &measurement.evidence;
    let record = evidence.pool.as_ref()?.record_bytes.filter(|bytes| *bytes > 0)? as f64;
    let done = evidence.delivered;
    let ops = done.read_ops.saturating_add(done.write_ops);
    let block = done.bytes() as f64 / ops.max(1) as f64;
    (settings.is_random() && ops > 0 && record >= FAR * block).then(|| {
        Note::new(
            "small-in-records",
            format!(
                "Each operation of {} touches a record of {} that ZFS reads and writes whole. On a \
                 dataset with `recordsize` near the block size this is faster.",
                bytes(block),
                bytes(record)
            ),
        )
    })
}

/// Files of less than this share of the memory that their pages may take stay in it.
const STAYS: f64 = 0.8;

/// Files that hardly fit into `memory-limit`, or hardly do not: what is read in a circle is dropped
/// shortly before it is asked for again, so that few pages more or less decide between memory and
/// device.
fn not_warm(measurement: &Measurement, settings: &Settings) -> Option<Note> {
    let not = |knob| settings.find(knob) == Some(false);
    let asked = not(knob::COLD) && not(knob::DIRECT);
    let limit = settings.get(knob::MEMORY_LIMIT).filter(|_| asked)?;
    let evidence = &measurement.evidence;
    let (files, limit) = (evidence.file_bytes as f64, limit as f64);
    let read = evidence.device_read_bytes.unwrap_or(0) as f64;
    let out = read > 0.05 * evidence.delivered.read_bytes as f64;
    (out && files >= STAYS * limit && files * STAYS <= limit).then(|| {
        Note::new(
            "not-warm",
            format!(
                "The files ({}) are about as large as `memory-limit` ({}), which holds the load's \
                 own memory too: whether they stay in it differs from run to run. Below {} they \
                 do.",
                bytes(files),
                bytes(limit),
                bytes(STAYS * limit)
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::{Amount, Evidence, Stream, Window};
    use facts::counters::series::{Column, ColumnKind};

    const SECOND: u64 = 1_000_000_000;
    const MIB: u64 = 1 << 20;

    /// A series of one row every half second from -0.1 s to 4.4 s, its columns given by what they
    /// grow by in a second (counters), or by their level (gauges).
    fn sampled(source: &str, counters: &[(&str, u64)], gauges: &[(&str, u64)]) -> Series {
        let at_ns: Vec<i64> = (0..10).map(|row| row * 500_000_000 - 100_000_000).collect();
        let column = |kind, name: &str, values| Column { name: name.into(), kind, values };
        let counters = counters.iter().map(|(name, per_s)| {
            let values = (0..10).map(|row| 7_000_000_000 + row * per_s / 2).collect();
            column(ColumnKind::Counter, name, values)
        });
        let gauges =
            gauges.iter().map(|(name, level)| column(ColumnKind::Gauge, name, vec![*level; 10]));
        let columns = counters.chain(gauges).collect();
        Series { source: source.into(), at_ns, columns }
    }

    /// Of a second, `busy` ms of CPU 0 and of CPU 1, `steal` ms of CPU 1, the rest waiting for I/O.
    fn stat(busy: [u64; 2], steal: u64) -> Series {
        let ms = |ms: u64| ms * 1_000_000;
        let counters = [
            ("cpu0.user_ns", ms(busy[0] / 2)),
            ("cpu0.system_ns", ms(busy[0] - busy[0] / 2)),
            ("cpu0.iowait_ns", ms(900 - busy[0] * 9 / 10)),
            ("cpu0.idle_ns", ms(100 - busy[0] / 10)),
            ("cpu1.user_ns", ms(busy[1])),
            ("cpu1.steal_ns", ms(steal)),
            ("cpu1.idle_ns", ms(1000 - busy[1] - steal)),
        ];
        sampled("stat", &counters, &[])
    }

    /// One thread that used `ms` of every second, last on CPU `cpu`.
    fn threads(ms: u64, cpu: u64) -> Series {
        sampled("threads", &[("t5.cpu_ns", ms * 1_000_000)], &[("t5.cpu", cpu)])
    }

    /// 4 s of reading at 100 MiB/s on a partition of an idle machine; nothing to confess.
    fn clean() -> Measurement {
        let done = Amount { read_bytes: 400 * MIB, read_ops: 400, ..Amount::default() };
        let evidence = Evidence {
            delivered: done,
            process_read_bytes: Some(400 * MIB),
            process_write_bytes: Some(0),
            device_read_bytes: Some(400 * MIB + 65_536),
            device_write_bytes: Some(40_960),
            devices: vec!["sda1".into()],
            disks: vec!["sda".into()],
            filesystem: "ext4".into(),
            resident_before_bytes: Some(0),
            file_bytes: 400 * MIB,
            process_io_reliable: true,
            ..Evidence::default()
        };
        let disk = |name: &str| (format!("{name}.read_bytes"), format!("{name}.write_bytes"));
        let ((part_read, part_write), (disk_read, disk_write)) = (disk("sda1"), disk("sda"));
        let rate = 100 * MIB;
        let diskstats = sampled(
            "diskstats",
            &[(&part_read, rate), (&part_write, 0), (&disk_read, rate), (&disk_write, 10_240)],
            &[],
        );
        let counters = vec![
            stat([300, 50], 5),
            threads(250, 0),
            sampled("process", &[("cpu_ns", 250_000_000)], &[("threads", 1), ("swap_bytes", 0)]),
            sampled("vmstat", &[("swapped_in_pages", 0), ("swapped_out_pages", 0)], &[]),
            diskstats,
        ];
        let stream = Stream { stopped_ns: 4 * SECOND, cpu_ns: SECOND, ..Stream::default() };
        Measurement {
            elapsed_ns: 4 * SECOND,
            window: Some(Window { start_ns: 0, end_ns: 4 * SECOND, done }),
            streams: vec![stream],
            evidence,
            counters,
            ..Measurement::default()
        }
    }

    fn replaced(series: Series) -> Measurement {
        let mut measurement = clean();
        measurement.counters.retain(|old| old.source != series.source);
        measurement.counters.push(series);
        measurement
    }

    fn judge(measurement: &Measurement) -> Vec<Note> {
        confessions(measurement, &Settings::defaults("file"))
    }

    /// The only note, which must be of `kind` and say `says`.
    #[track_caller]
    fn confesses(measurement: &Measurement, kind: &str, says: &str) {
        let notes = judge(measurement);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!(notes[0].kind, kind);
        assert!(notes[0].text.contains(says), "{}", notes[0].text);
    }

    #[test]
    fn a_clean_trial_confesses_nothing() {
        assert_eq!(judge(&clean()), []);
        assert_eq!(judge(&Measurement::default()), [], "nor does one without any evidence");
    }

    #[test]
    fn a_core_of_ours_that_is_busy_is_confessed_though_the_machine_is_half_idle() {
        let mut busy = replaced(stat([980, 50], 5));
        uses(&mut busy, 900);
        confesses(&busy, "generator-bound", "CPU 0, which ran our threads, was 98 % busy");
    }

    /// The load uses so many ms of a CPU in each second.
    fn uses(measurement: &mut Measurement, ms: u64) {
        let process =
            sampled("process", &[("cpu_ns", ms * 1_000_000)], &[("threads", 1), ("swap_bytes", 0)]);
        measurement.counters.retain(|series| series.source != "process");
        measurement.counters.push(process);
    }

    /// In 56 of 62 trials of an evaluation the load was accused of a busy core, of which it had
    /// used 0.004 to 0.16.
    #[test]
    fn a_busy_core_of_which_the_load_used_little_was_used_by_others() {
        let mut busy = replaced(stat([980, 50], 5));
        uses(&mut busy, 160);
        confesses(&busy, "others-cpu", "was 98 % busy, and the load used 0.160 of a CPU");
    }

    #[test]
    fn waiting_for_io_is_not_being_busy() {
        // CPU 0 has 63 % iowait in the clean trial already; here nothing else at all.
        assert_eq!(judge(&replaced(stat([0, 50], 5))), []);
    }

    #[test]
    fn a_busy_core_that_never_ran_our_threads_is_not_confessed() {
        assert_eq!(judge(&replaced(stat([300, 980], 5))), []);
        let mut moved = replaced(stat([300, 980], 5));
        moved.counters.retain(|series| series.source != "threads");
        moved.counters.push(threads(250, 1));
        confesses(&moved, "others-cpu", "CPU 1");
    }

    #[test]
    fn when_nobody_knows_where_our_threads_ran_any_busy_core_may_have_been_ours() {
        let mut blind = replaced(stat([300, 980], 5));
        blind.counters.retain(|series| !["threads", "process"].contains(&series.source.as_str()));
        confesses(&blind, "generator-bound", "not known where all our threads ran");
    }

    #[test]
    fn a_load_of_one_thread_is_found_by_its_process() {
        let mut single = replaced(stat([300, 980], 5));
        single.counters.retain(|series| series.source != "threads" && series.source != "process");
        let mut on_cpu = |cpu| {
            single.counters.retain(|series| series.source != "process");
            let gauges = [("threads", 1), ("cpu", cpu)];
            single.counters.push(sampled("process", &[("cpu_ns", 250_000_000)], &gauges));
            judge(&single).len()
        };
        assert_eq!((on_cpu(0), on_cpu(1)), (0, 1), "only CPU 1 was busy");
    }

    #[test]
    fn a_thread_that_wanders_from_core_to_core_is_confessed_though_no_core_is_busy() {
        let mut wandering = clean();
        wandering.streams[0].cpu_ns = 3_900_000_000;
        confesses(&wandering, "generator-bound", "A thread of the load used a CPU for 98 %");
        confesses(&replaced(threads(990, 0)), "generator-bound", "A thread of the load");
    }

    #[test]
    fn stolen_time_is_confessed_above_two_percent() {
        // 2 % of one of two CPUs is 1 % of the machine.
        assert_eq!(judge(&replaced(stat([300, 50], 20))), []);
        confesses(&replaced(stat([300, 50], 50)), "steal", "2.5 % of the time of all CPUs");
        let mut ours = replaced(stat([300, 50], 30));
        ours.counters.retain(|series| series.source != "threads");
        ours.counters.push(threads(250, 1));
        confesses(&ours, "steal", "3.0 % of the time of the CPUs that ran our threads");
    }

    #[test]
    fn another_process_on_the_partition_is_confessed() {
        let mut shared = clean();
        shared.evidence.device_read_bytes = Some(412 * MIB);
        confesses(&shared, "others-io", "12.0 MiB read");
        shared.evidence.device_read_bytes = Some(407 * MIB);
        assert_eq!(judge(&shared), [], "1.7 % is within the rule");
        let mut written = clean();
        written.evidence.device_write_bytes = Some(60 * MIB);
        confesses(&written, "others-io", "written");
    }

    #[test]
    fn another_partition_of_the_same_disk_is_confessed() {
        let counters = [
            ("sda1.read_bytes", 100 * MIB),
            ("sda1.write_bytes", 0),
            ("sda.read_bytes", 110 * MIB),
            ("sda.write_bytes", 0),
        ];
        confesses(&replaced(sampled("diskstats", &counters, &[])), "others-io", "below sda1");
    }

    /// Another reader of the disk below a loop device, or of another partition of one, was not
    /// confessed: "13.6 MB/s, 12.0 to 15.1" on a disk of 49.6.
    #[test]
    fn another_program_on_the_disk_below_a_loop_device_is_confessed() {
        let on = |devices: &[&str], disks: &[&str], leaves: &[&str], rates: [u64; 3]| {
            let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect();
            let rows: Vec<(String, u64)> = ["loop0p1", "loop0", "sda"]
                .iter()
                .zip(rates)
                .flat_map(|(name, mib)| {
                    [(format!("{name}.read_bytes"), mib * MIB), (format!("{name}.write_bytes"), 0)]
                })
                .collect();
            let rows: Vec<(&str, u64)> =
                rows.iter().map(|(name, at)| (name.as_str(), *at)).collect();
            let mut trial = replaced(sampled("diskstats", &rows, &[]));
            trial.evidence.devices = names(devices);
            trial.evidence.disks = names(disks);
            trial.evidence.below.leaves = names(leaves);
            trial
        };
        let looped = |leaf| on(&["loop0"], &["loop0"], &["sda"], [0, 100, leaf]);
        confesses(&looped(150), "others-io", "The disk below loop0 moved");
        assert_eq!(judge(&looped(101)), []);
        let mut cached = looped(102);
        cached.evidence.below.caches = vec!["loop0".into()];
        assert_eq!(judge(&cached), [], "read-ahead of the file system below");
        let mut served = looped(30);
        served.evidence.below.caches = vec!["loop0".into()];
        assert_eq!(judge(&served), [], "most came from the cache between");
        let parts = on(&["loop0p1"], &["loop0"], &[], [100, 150, 0]);
        confesses(&parts, "others-io", "below loop0p1");
        let deep = on(&["loop0p1"], &["loop0"], &["sda"], [100, 100, 150]);
        confesses(&deep, "others-io", "below loop0p1");
    }

    #[test]
    fn parity_and_copies_of_an_array_are_not_others() {
        let mut array = clean();
        let done = Amount { write_bytes: 400 * MIB, write_ops: 400, ..Amount::default() };
        array.evidence.delivered = done;
        array.window = array.window.map(|window| Window { done, ..window });
        array.evidence.process_read_bytes = Some(0);
        array.evidence.device_read_bytes = Some(0);
        array.evidence.process_write_bytes = Some(400 * MIB);
        array.evidence.device_write_bytes = Some(401 * MIB);
        array.evidence.devices = vec!["md0".into()];
        array.evidence.disks = vec!["sda".into(), "sdb".into()];
        let counters = ["md0", "sda", "sdb"].map(|name| {
            [(format!("{name}.read_bytes"), 0), (format!("{name}.write_bytes"), 100 * MIB)]
        });
        let counters: Vec<(&str, u64)> =
            counters.iter().flatten().map(|(name, rate)| (name.as_str(), *rate)).collect();
        array.counters = vec![sampled("diskstats", &counters, &[])];
        assert_eq!(judge(&array), []);
    }

    #[test]
    fn a_loads_own_journal_and_write_back_are_not_others() {
        let mut writer = clean();
        writer.counters.clear();
        let evidence = &mut writer.evidence;
        evidence.delivered = Amount { write_bytes: 400 * MIB, ..Amount::default() };
        (evidence.process_read_bytes, evidence.device_read_bytes) = (Some(0), Some(0));
        evidence.process_write_bytes = Some(400 * MIB);
        for (filesystem, device_wrote, fsync, confessed) in [
            ("ext4", 410, "end", false),    // its journal
            ("ext4", 150, "end", false),    // the rest is still in memory
            ("ext4", 600, "end", true),     // no journal is that large
            ("ext4", 1600, "every", false), // a commit for every write
            ("btrfs", 900, "end", false),   // copies paths of its trees
        ] {
            writer.evidence.filesystem = filesystem.into();
            writer.evidence.device_write_bytes = Some(device_wrote * MIB);
            let mut settings = Settings::defaults("file");
            settings.set(knob::FSYNC, fsync);
            let notes = confessions(&writer, &settings);
            assert_eq!(!notes.is_empty(), confessed, "{filesystem} {device_wrote} {notes:?}");
        }
    }

    #[test]
    fn a_load_from_memory_does_not_mind_the_log_daemon() {
        let mut hot = clean();
        hot.counters.clear();
        hot.evidence.process_read_bytes = Some(0);
        hot.evidence.device_read_bytes = Some(0);
        hot.evidence.device_write_bytes = Some(2 * MIB);
        assert_eq!(judge(&hot), []);
    }

    #[test]
    fn a_load_that_swapped_confesses_and_one_beside_swapping_others_does_not() {
        let pages = [("swapped_in_pages", 100), ("swapped_out_pages", 200)];
        let mut swapped = replaced(sampled("vmstat", &pages, &[]));
        assert_eq!(judge(&swapped), []);
        swapped.counters.retain(|series| series.source != "process");
        swapped.counters.push(sampled("process", &[], &[("threads", 1), ("swap_bytes", MIB)]));
        confesses(&swapped, "swap", "up to 1.00 MiB");
    }

    #[test]
    fn pages_left_in_memory_are_confessed_only_where_cold_was_asked_for() {
        let mut warm = clean();
        warm.evidence.resident_before_bytes = Some(40 * MIB);
        confesses(&warm, "not-cold", "40.0 MiB (10 %)");
        let mut settings = Settings::defaults("file");
        settings.set(knob::COLD, false);
        assert_eq!(confessions(&warm, &settings), []);
        // A bare device has the metadata of what is mounted on it in memory.
        warm.evidence.filesystem = bare::RAW.into();
        let mut settings = Settings::defaults("file");
        assert_eq!(confessions(&warm, &settings), [], "these go around them");
        settings.set(knob::DIRECT, false);
        assert_eq!(confessions(&warm, &settings)[0].kind, "not-cold");
        warm.evidence.resident_before_bytes = Some(4 * MIB);
        assert_eq!(confessions(&warm, &settings), []);
    }

    /// What ZFS reads beside a load, ahead and in whole records, was another's.
    #[test]
    fn on_zfs_records_are_confessed_and_nobody_is_accused_of_what_they_move() {
        use crate::measurement::evidence::ZfsPoolEvidence;
        let on_pool = |record: u64, block: u64| {
            let mut trial = clean();
            let delivered = &mut trial.evidence.delivered;
            delivered.read_ops = delivered.read_bytes / block;
            trial.evidence.filesystem = "zfs".to_owned();
            trial.evidence.process_io_reliable = false;
            trial.evidence.device_read_bytes = Some(30 * trial.evidence.delivered.read_bytes);
            trial.evidence.pool =
                Some(ZfsPoolEvidence { record_bytes: Some(record), ..ZfsPoolEvidence::default() });
            let mut settings = Settings::defaults("file");
            settings.set(knob::ACCESS, crate::knob::Access::RandomRead);
            confessions(&trial, &settings)
        };
        let told = on_pool(131_072, 4096);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].kind, "small-in-records");
        assert!(told[0].text.contains("4.00 KiB touches a record of 128 KiB"), "{}", told[0].text);
        assert_eq!(on_pool(16_384, 16_384), []);
    }

    /// Six files that were read again under `memory-limit=256MiB` came from the device in two of
    /// four runs, unexplained: 240 MiB do not stay in it, 204 do.
    #[test]
    fn files_that_hardly_fit_into_the_memory_that_is_left_are_told() {
        let told = |file_mib: u64, limit_mib: u64, read: bool| {
            let mut trial = clean();
            trial.evidence.file_bytes = file_mib * MIB;
            trial.evidence.device_read_bytes = read.then_some(trial.evidence.delivered.read_bytes);
            let mut settings = Settings::defaults("file");
            settings.set(knob::COLD, false);
            settings.set(knob::DIRECT, false);
            settings.set(knob::MEMORY_LIMIT, Some(limit_mib * MIB));
            confessions(&trial, &settings).iter().any(|note| note.kind == "not-warm")
        };
        assert!(told(240, 256, true) && told(300, 256, true));
        assert!(!told(240, 256, false), "they stayed");
        assert!(!told(1024, 256, true), "a working set that is larger is what the limit is for");
        assert!(!told(100, 256, true), "something else dropped them");
    }

    #[test]
    fn a_window_shorter_than_the_kernels_ticks_can_tell_accuses_nobody() {
        let mut short = replaced(stat([980, 50], 90));
        short.window = short.window.map(|window| Window { end_ns: 50_000_000, ..window });
        assert_eq!(judge(&short), []);
    }
}
