//! Terse lines of fio 2.0 to 3.42, with every number of theirs computed by hand.

use super::super::FIO;
use super::*;
use crate::testing::{figure, rounded, same_or_refused};
use base::stats::testing::Random;

const FORMATS: &str = include_str!("../../../../../tests/fixtures/tools/fio-3.33-terse.txt");
const MIX: &str = include_str!("../../../../../tests/fixtures/tools/fio-3.33-terse-mixed.txt");
const JOBS: &str = include_str!("../../../../../tests/fixtures/tools/fio-2.15-terse.txt");
const OLD: &str = include_str!("../../../../../tests/fixtures/tools/fio-2.0.15-terse.txt");
const CLIENTS: &str =
    include_str!("../../../../../tests/fixtures/tools/fio-3.42-clients-terse.txt");

fn read(text: &str) -> Result<Vec<ToolResult>, String> {
    (FIO.parse)(text)
}

/// The line of that format, alone.
fn line(format: u64) -> String {
    let begin = format!("{format};");
    format!("{}\n", FORMATS.lines().find(|line| line.starts_with(&begin)).unwrap())
}

/// `3;fio-3.33;mixjob;0;0;2828;40400;10100;70;...`: 40400 KiB/s are 41369600 B/s; `35;10095;
/// 84.269781` us; `50.000000%=41`; behind the other latency `1268;18114;4528;70`.
#[test]
fn the_fields_of_every_format_are_in_kib_and_us() {
    let said = read(FORMATS).unwrap();
    assert_eq!(said.len(), 4, "formats 2 to 5");
    let third = &said[1];
    assert_eq!((third.version.as_str(), third.title.as_str()), ("3.33", "mixjob"));
    for (name, value) in [
        ("read_throughput_bytes_per_s", Some(41_369_600.0)),
        ("read_iops", Some(10_100.0)),
        ("read_completion_latency_ns_mean", Some(84_269.781)),
        ("read_completion_latency_ns_max", Some(10_095_000.0)),
        ("read_completion_latency_ns_p50", Some(41_000.0)),
        ("read_completion_latency_ns_p999", Some(10_158_000.0)),
        ("read_latency_ns_mean", Some(84_325.256)),
        ("write_throughput_bytes_per_s", Some(18_548_736.0)),
        ("write_iops", Some(4528.0)),
        ("write_latency_ns_max", Some(85_000.0)),
        ("user_cpu_share", Some(0.0)),
        ("system_cpu_share", Some(0.261)),
        ("trim_iops", None),
        ("read_submission_latency_ns_mean", None),
    ] {
        assert_eq!(rounded(third, name), value, "{name}");
    }
    let iops: Vec<_> = said.iter().map(|said| figure(said, "write_iops").unwrap()).collect();
    assert_eq!(iops, [6215.0, 4528.0, 4803.0, 4803.0]);
    assert!(said.iter().all(|said| said.settings.is_empty()), "none is told");
    assert_eq!((said[0].version.as_str(), said[3].version.as_str()), ("", "3.33"));
    // Written down without the end of a line, and by a shell without the last disk.
    assert_eq!(read(line(3).trim_end()).unwrap()[0], *third);
}

/// 2.0.15: `1024;73142;4571;14`, and each millisecond 1024000 KiB/s: 1048576000 B/s.
#[test]
fn older_lines_have_the_same_fields() {
    let said = read(OLD).unwrap();
    assert_eq!(said.len(), 2);
    assert_eq!(said[1].version, "2.0.15");
    assert_eq!(rounded(&said[0], "read_throughput_bytes_per_s"), Some(74_897_408.0));
    assert_eq!(rounded(&said[1], "write_throughput_bytes_per_s"), Some(1_048_576_000.0));
    // Two jobs that only wrote, each with a line of its own.
    let said = read(JOBS).unwrap();
    assert_eq!(said.len(), 2);
    for (name, value) in [
        ("throughput_bytes_per_s", 38_641.0 * 1024.0),
        ("iops", 2415.0),
        ("submission_latency_ns_mean", 11_843.75),
        ("completion_latency_ns_p99", 8_160_000.0),
        ("latency_ns_max", 8_165_000.0),
    ] {
        assert_eq!(rounded(&said[0], name), Some(value), "{name}");
    }
    assert!(said[0].notes.iter().any(|note| note.text.contains("lat_percentiles")));
    // Machines, and the sum of them, behind what fio tells while it runs.
    let said = read(CLIENTS).unwrap();
    let titles: Vec<&str> = said.iter().map(|said| said.title.as_str()).collect();
    assert_eq!(titles, ["large", "small", "All clients"]);
    assert_eq!(figure(&said[2], "iops"), Some(8180.0));
}

/// 2.0.7 and before: 1024 KiB in 14 ms are 74898 bytes per ms.
#[test]
fn until_2_0_7_a_rate_is_in_bytes_per_ms() {
    let text = OLD.replace("fio-2.0.15", "2.0.7").replace(";1024000;64000;1;", ";73142;4571;14;");
    let last = text.lines().last().unwrap().replace(";73142;", ";74898;");
    let said = read(&format!("{last}\n")).unwrap();
    assert_eq!(said[0].version, "2.0.7");
    assert_eq!(rounded(&said[0], "read_throughput_bytes_per_s"), Some(74_898_000.0));
    let newer = last.replace(";2.0.7;", ";fio-2.2.0;");
    let why = read(&format!("{newer}\n")).unwrap_err();
    assert!(why.contains("whose rate is not its KiB by its time"), "{why}");
}

/// With `unified_rw_reporting` there is one direction, or one more.
#[test]
fn directions_that_are_put_together_are_called_mixed() {
    let said = read(MIX).unwrap();
    assert_eq!(said.len(), 2);
    assert_eq!(figure(&said[0], "mixed_iops"), Some(13_473.0));
    assert_eq!(figure(&said[0], "read_iops"), Some(9302.0));
    assert_eq!(figure(&said[1], "mixed_throughput_bytes_per_s"), Some(70_620.0 * 1024.0));
    assert_eq!(figure(&said[1], "read_iops"), None);
}

#[test]
fn a_line_that_is_none_of_its_format_is_refused() {
    for (text, due) in [
        (line(3).replacen("3;", "6;", 1), "its terse format is 6, and 2 to 5 are read"),
        (line(3).replacen("3;", "4;", 1), "has not the fields of terse format 4"),
        (line(5).replacen("5;", "4;", 1), "has not the fields of terse format 4"),
        (line(4).replacen("4;", "5;", 1), "has not the fields of terse format 5"),
        (line(3).replacen(";70;", ";70;0;", 1), "has not the fields of terse format 3"),
        (line(3).replacen(";0;0;2828", ";0;28;2828", 1), "mixjob failed: No space left"),
        (line(3).replacen(";40400;", ";40900;", 1), "whose rate is not its KiB by its time"),
        (line(3).replacen(";84.269781;", ";10184.269781;", 1), "mean latency that is none"),
        (line(3).replacen("50.000000%=41", "50.000000%=91", 1), "percentiles out of order"),
        (MIX.replacen("\n3;", "\n4;", 1), "trims that are the sum of its reads and writes"),
        (line(2).replacen("2;", "3;", 1), "terse format 3 does not say which fio printed it"),
        (line(3)[..700].to_owned(), "has not the fields of terse format 3"),
    ] {
        let why = read(&text).unwrap_err();
        assert!(why.contains(due), "{why}, not {due}");
    }
}

/// What `--status-interval` lets it print again and again was a result each time.
#[test]
fn lines_that_may_be_snapshots_of_one_run_are_refused() {
    let first = line(3);
    let later = first.replace(";2828;40400;10100;70;", ";282800;40400;10100;7000;");
    let later = later.replace(";1268;18114;4528;70;", ";126800;18114;4528;7000;");
    let why = read(&format!("{first}{later}")).unwrap_err();
    assert!(why.contains("they may be snapshots of one run (--status-interval)"), "{why}");
    // The other way round, and twice the same, they are two runs.
    assert_eq!(read(&format!("{later}{first}")).unwrap().len(), 2);
    assert_eq!(read(&format!("{first}{first}")).unwrap().len(), 2);
}

/// `--output-format=terse,normal`: the line has the exact rate, the entry what was asked.
#[test]
fn a_run_that_is_printed_for_people_too_is_one_result() {
    let people = "mixjob: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, \
                  ioengine=psync, iodepth=1\nfio-3.33\nmixjob: (groupid=0, jobs=1): err= 0: \
                  pid=18172: Sun Nov 29 23:41:41 2026\n  read: IOPS=10.1k, BW=39.5MiB/s \
                  (41.4MB/s)(2828KiB/70msec)\n    clat (usec): min=35, max=10095, avg=84.27, \
                  stdev=490.83\n  write: IOPS=4528, BW=17.7MiB/s (18.5MB/s)(1268KiB/70msec)\n    \
                  issued rwts: total=707,317,0,0 short=0,0,0,0 dropped=0,0,0,0\n";
    let said = read(&format!("{}{people}", line(3))).unwrap();
    assert_eq!(said.len(), 1);
    assert_eq!(rounded(&said[0], "read_throughput_bytes_per_s"), Some(41_369_600.0));
    assert_eq!(said[0].settings["block-size"], 4096);
    let other = people.replace("max=10095", "max=20095");
    let why = read(&format!("{}{other}", line(3))).unwrap_err();
    assert!(why.contains("two forms that say different things"), "{why}");
}

/// Lines of anything else before, between and behind, disks and descriptions more, and cuts.
#[test]
fn a_line_says_the_same_wherever_it_stands_or_is_refused() {
    let (mut tried, mut kept) = (0, 0);
    for seed in 0..200 {
        let mut random = Random::new(seed);
        for whole in [FORMATS, MIX, JOBS, OLD, CLIENTS] {
            let mut lines: Vec<String> = Vec::new();
            for line in whole.lines() {
                if random.uniform() < 0.3 {
                    lines.push("fio: file hash not empty on exit; 3;4".to_owned());
                }
                let more = match line.starts_with(|c: char| c.is_ascii_digit()) {
                    true if random.uniform() < 0.2 => ";sda;1;2;3;4;5;6;7;8.00%",
                    true if random.uniform() < 0.2 => ";3;5;a description; of it",
                    _ => "",
                };
                lines.push(format!("{line}{more}"));
            }
            let text = lines.join("\n");
            let cut = if random.uniform() < 0.3 { random.uniform() } else { 1.0 };
            let cut = &text[..(text.len() as f64 * cut) as usize];
            if cut.len() < text.len() {
                let some = read(cut).unwrap_or_default();
                assert!(read(whole).unwrap().starts_with(&some), "{cut}");
                continue;
            }
            tried += 1;
            kept += usize::from(same_or_refused(&FIO, whole, &text, 0.0));
        }
    }
    assert!(tried > 500 && kept == tried, "{kept} of {tried}");
}
