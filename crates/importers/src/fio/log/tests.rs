//! Logs of fio 2.15 to 3.42, with numbers of theirs computed by hand.

use super::super::FIO;
use super::*;
use base::stats::testing::Random;

const INTERVALS: &str =
    include_str!("../../../../../tests/fixtures/tools/fio-3.33-logs-of-intervals.txt");
const EACH: &str = include_str!("../../../../../tests/fixtures/tools/fio-3.33-logs-of-each.txt");
const OLD: &str = include_str!("../../../../../tests/fixtures/tools/fio-2.15-logs-of-each.txt");
const OF_2_21: &str =
    include_str!("../../../../../tests/fixtures/tools/fio-2.21-logs-of-intervals.txt");
const OF_3_1: &str =
    include_str!("../../../../../tests/fixtures/tools/fio-3.1-logs-of-intervals.txt");
const OF_3_42: &str =
    include_str!("../../../../../tests/fixtures/tools/fio-3.42-logs-of-intervals.txt");

fn read(text: &str) -> Result<Vec<ToolResult>, String> {
    (FIO.parse)(text)
}

fn series<'a>(all: &'a [ToolResult], title: &str, name: &str) -> &'a ReportedSeries {
    let said = all.iter().find(|said| said.title == title).unwrap();
    said.series.iter().find(|series| series.name == name).unwrap()
}

/// The rows of one log, without its name.
fn rows(text: &str, title: &str) -> String {
    let (_, rest) = text.split_once(&format!("==> {title} <==\n")).unwrap();
    rest.split("\n\n").next().unwrap().trim_end().to_owned() + "\n"
}

/// `251, 80764, 0, 0, 0` is 80764 KiB/s, or 82702336 B/s, of reads, 251 ms after fio began; `251,
/// 526433, 1, 0, 0` of `_clat` are ns of writes.
#[test]
fn each_log_is_a_result_with_a_series_of_each_direction() {
    let all = read(INTERVALS).unwrap();
    let titles: Vec<&str> = all.iter().map(|said| said.title.as_str()).collect();
    let due = ["bw", "clat", "clat_hist", "iops", "lat", "slat"];
    assert_eq!(titles, due.map(|kind| format!("avg_{kind}.1.log")));
    assert!(all.iter().all(|said| said.version == "3.33" && said.figures.is_empty()));
    let rates = series(&all, "avg_bw.1.log", "read_throughput_bytes_per_s");
    assert_eq!((rates.at_ns[0], rates.values[0]), (251_000_000, 82_702_336.0));
    assert_eq!((rates.at_ns.len(), rates.values.len()), (7, 7));
    let write = series(&all, "avg_clat.1.log", "write_completion_latency_ns");
    assert_eq!((write.at_ns[1], write.values[1]), (507_000_000, 506_237.0));
    let iops = series(&all, "avg_iops.1.log", "write_iops");
    assert_eq!(iops.values[..2], [5203.0, 5244.0]);
    assert_eq!(series(&all, "avg_slat.1.log", "write_submission_latency_ns").values[0], 8362.0);
}

/// Bins of 64 buckets each: number 8 is of 8192 to 16383 ns, the middle of its first bucket is
/// 8192 + 64, that of its last 16384 - 64. Reads had 2 + 2 + 2 there, and 64 + 90 + 64 above.
#[test]
fn a_histogram_of_intervals_is_their_sum() {
    let all = read(INTERVALS).unwrap();
    let said = all.iter().find(|said| said.title == "avg_clat_hist.1.log").unwrap();
    let names: Vec<&str> = said.histograms.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["read_completion_latency_ns", "write_completion_latency_ns"]);
    let reads = &said.histograms[0];
    let at = reads.values.iter().position(|value| *value == (8256 + 16_320) / 2).unwrap();
    assert_eq!(reads.counts[at], 2 + 2 + 2);
    assert_eq!(reads.counts[at + 1], 64 + 90 + 64);
    // Of fio 2 there are 19 groups, and us.
    let old = format!("# a_clat_hist.1.log\n500, 1, 4096{}\n", ", 0, 3".repeat(19));
    let said = &read(&old).unwrap()[0];
    assert_eq!(said.histograms[0].name, "completion_latency_ns");
    assert_eq!((said.histograms[0].counts.len(), said.histograms[0].values[0]), (19, 47_000));
    let other = old.replace("4096, 0", "4096, 0, 0");
    assert!(read(&other).unwrap_err().contains("has 39 bins"));
}

/// 2.21 has us, and what it printed of the same run had `clat percentiles (usec)` of reads with
/// `1.00th=[39], 10.00th=[64]`: of 5249 reads 513 are in the first bin, of 0 to 63 us. 3.1 has ns
/// and 4 columns, 3.42 ns and 5. `502, 28876, 0, 0` are 28876 * 1024 B/s.
#[test]
fn logs_of_intervals_are_read_of_each_version() {
    for (text, version, reads, writes, clat, slat) in [
        (OF_2_21, "2.21", 28_876.0, 29_386.0, 555_000.0, 11_000.0),
        (OF_3_1, "3.1", 15_814.0, 16_773.0, 1_676_309.0, 14_203.0),
        (OF_3_42, "3.42", 58_522.0, 61_452.0, 553_097.0, 305.0),
    ] {
        let all = read(text).unwrap();
        assert!(all.iter().all(|said| said.version == version && said.figures.is_empty()));
        let first =
            |kind: &str, name: &str| series(&all, &format!("hist_{kind}.1.log"), name).values[0];
        assert_eq!(first("bw", "read_throughput_bytes_per_s"), reads * 1024.0);
        assert_eq!(first("bw", "write_throughput_bytes_per_s"), writes * 1024.0);
        assert_eq!(first("clat", "read_completion_latency_ns"), clat);
        assert_eq!(first("slat", "write_submission_latency_ns"), slat);
        let iops = series(&all, "hist_iops.1.log", "read_iops");
        assert!((iops.values[0] * 16_384.0 / (reads * 1024.0) - 1.0).abs() < 1e-3);
        // Times are ms of the run, whose last rows are of its end.
        assert!(iops.at_ns.iter().all(|at| (500_000_000..=2_964_000_000).contains(at)));
    }
}

/// Of 2.21 bins of 64 buckets in us: the first is of 0 to 63, the middle of its ends 31 us; the
/// third of 128 to 255, its buckets 2 wide, so (129 + 255) / 2. Of 3.1 in ns: number
/// 10 is of 2^15 to 2^16 - 1, its buckets 512 wide, so (33024 + 65280) / 2 = 49152 ns; it printed a
/// median of 104 us, and of 3.42 of 202.
#[test]
fn histograms_are_read_of_each_version() {
    let histogram = |text: &str, way: usize| {
        let all = read(text).unwrap();
        all.iter().find(|said| said.title == "hist_clat_hist.1.log").unwrap().histograms[way]
            .clone()
    };
    let old = histogram(OF_2_21, 0);
    assert_eq!(old.counts[..3], [21 + 51 + 280 + 161, 407 + 646 + 1600 + 866, 361 + 240 + 59 + 72]);
    assert_eq!(old.values[..3], [31_000, 95_000, 192_000]);
    assert_eq!(old.counts.iter().sum::<u64>(), 913 + 1055 + 2065 + 1216);
    let new = histogram(OF_3_1, 0);
    assert_eq!(new.counts[..2], [22 + 78 + 68, 214 + 759 + 700]);
    assert_eq!(new.values[..2], [49_152, 98_304]);
    let latest = histogram(OF_3_42, 1);
    assert_eq!(latest.name, "write_completion_latency_ns");
    assert_eq!(latest.counts[..3], [1, 1843 + 1067 + 1212, 77 + 80 + 49]);
    assert_eq!(latest.values[..3], [98_304, 196_608, 393_216]);
}

/// `0, 491583, 1, 16384, 49152, 0` are 16384 bytes in the 33329 ns that `_clat` has for it: bytes
/// per ms, and not the KiB/s of the HOWTO.
#[test]
fn a_rate_of_one_io_is_in_bytes_per_ms() {
    let all = read(EACH).unwrap();
    let rates = series(&all, "each_bw.1.log", "throughput_bytes_per_s");
    assert_eq!(rates.values[0], 491_583_000.0);
    let waits = series(&all, "each_clat.1.log", "completion_latency_ns");
    assert!((16_384.0 * 1e9 / waits.values[0] / rates.values[0] - 1.0).abs() < 1e-5);
    // 2.15 has us, and 4428 bytes per ms in 3700 of them.
    let all = read(OLD).unwrap();
    let rates = series(&all, "old_bw.1.log", "read_throughput_bytes_per_s");
    let waits = series(&all, "old_clat.1.log", "read_completion_latency_ns");
    assert_eq!((rates.values[0], waits.values[0]), (4_428_000.0, 3_700_000.0));
    // 2.9 had rates of intervals only.
    let older = read(&OLD.replace("\nfio-2.15\n", "\nfio-2.9\n")).unwrap();
    let rates = series(&older, "old_bw.1.log", "read_throughput_bytes_per_s");
    assert_eq!(rates.values[0], 4428.0 * 1024.0);
}

#[test]
fn a_log_that_does_not_say_of_what_it_is_is_refused_with_what_to_bring() {
    let bare = rows(INTERVALS, "avg_bw.1.log");
    assert!(knows(&bare) && !knows("1, 2, 0, 4\n"));
    assert_eq!(read(&bare).unwrap_err(), UNNAMED);
    // Rates of intervals have one unit; a latency has one by the version.
    let name = |kind: &str, rows: &str| read(&format!("==> a/b_{kind}.12.log <==\n{rows}"));
    assert_eq!(name("bw", &bare).unwrap()[0].title, "b_bw.12.log");
    let why = name("clat", &rows(INTERVALS, "avg_clat.1.log")).unwrap_err();
    assert!(why.contains("in us until fio 2.21, and in ns since, and nothing says"), "{why}");
    let old = rows(OLD, "old_bw.1.log");
    assert!(name("bw", &old).unwrap_err().contains("bytes per ms since"));
    // A priority is there since 3.19.
    assert!(name("lat", &rows(EACH, "each_lat.1.log")).is_ok());
    assert!(name("lat", "2, 67723, 0, 0, 0x0000\n7, 5, 0, 0, 0x0000\n").is_ok());
    for (kind, rows, due) in [
        ("lat", "2, 67723, 744625, 0, 0, 0x0000\n", "log_window_value=both is not read"),
        ("iops", "0, 1, 0, 512, 0\n1, 1, 0, 512, 0\n", "a row for each I/O and no rates"),
        ("bw", "9, 5, 0, 0, 0\n3, 6, 0, 0, 0\n", "has times that go back"),
        ("bw", "9, 5, 0, 0, 0\n10, 6, 0, 0\n", "has rows of 5 columns and of others"),
        ("bw", "9, 5, 0, 0, 0\n10, 6, 0, 4096, 0\n", "rows of one I/O and rows of intervals"),
        ("bw", "9, 5, 0, 0, 0\n10, -6, 0, 0, 0\n", "has a row that is none"),
        ("bw", "1783516279845, 5, 0, 0, 0\n", "log_unix_epoch=1"),
        ("bw", "9, 5, 0, 0, 0, 0, 0\n", "has 7 columns, and logs of 4 to 6"),
        ("clat_hist", "9, 0, 0, 0, 0, 0, 0\n", "has 4 bins, and no histogram"),
    ] {
        let why = name(kind, rows).unwrap_err();
        assert!(why.contains(due), "{why}, not {due}");
    }
}

/// Cut, lines of others between, names in comments: the rows above a cut, or an error; never a
/// number that is not there.
#[test]
fn what_is_left_of_a_log_is_what_stood_there() {
    let mut kept = 0;
    for seed in 0..300 {
        let mut random = Random::new(seed);
        for whole in [INTERVALS, EACH, OLD, OF_2_21, OF_3_1, OF_3_42] {
            let due = read(whole).unwrap();
            let text = match random.uniform() < 0.5 {
                true => whole.replace("==> ", "# ").replace(" <==", ""),
                false => whole.to_owned(),
            };
            let cut = &text[..(text.len() as f64 * random.uniform()) as usize];
            let Ok(some) = read(cut) else { continue };
            kept += 1;
            for (said, due) in some.iter().zip(&due) {
                assert_eq!(said.title, due.title);
                for (some, all) in said.series.iter().flat_map(|some| {
                    // A direction alone has no name of its own.
                    let is = |all: &&ReportedSeries| all.name.ends_with(&some.name);
                    due.series.iter().find(is).map(|all| (some, all))
                }) {
                    let is_start = all.values.starts_with(&some.values)
                        || said.series.len() < due.series.len();
                    assert!(is_start && all.at_ns.len() >= some.at_ns.len(), "{}", some.name);
                }
            }
        }
    }
    assert!(kept > 100, "{kept}");
}
