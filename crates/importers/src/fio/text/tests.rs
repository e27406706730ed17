//! Outputs of fio 2.1 to 3.25, with every number of theirs computed by hand.

use super::super::FIO;
use super::*;
use crate::testing::{figure, rounded, same_or_refused};
use base::stats::testing::Random;

const FOUR: &str = include_str!("../../../../../tests/fixtures/tools/fio-2.1.9-four-groups.txt");
const TWO: &str = include_str!("../../../../../tests/fixtures/tools/fio-3.1-two-runs.txt");
const SYNC: &str = include_str!("../../../../../tests/fixtures/tools/fio-3.25-fdatasync.txt");
const MIXED: &str = include_str!("../../../../../tests/fixtures/tools/fio-3.25-gtod-reduce.txt");

fn parse(text: &str) -> Result<Vec<ToolResult>, String> {
    (FIO.parse)(text)
}

/// `read : io=237902MB, bw=406018KB/s, iops=101504` is 406018 * 1024 = 415762432 B/s, and
/// `clat (usec): ... max=400858, avg=628.75` are 628750 ns and 400858000 ns.
#[test]
fn of_fio_2_kilobytes_are_of_1024_bytes_and_each_group_is_a_result() {
    let said = parse(FOUR).unwrap();
    let titles: Vec<&str> = said.iter().map(|said| said.title.as_str()).collect();
    assert_eq!(titles[..2], ["random-read-4k", "random-write-4k"]);
    assert_eq!(titles[2..], ["sequential-read-128k", "sequential-write-128k"]);
    let read = &said[0];
    assert_eq!(read.version, "2.1.9");
    for (name, value) in [
        ("throughput_bytes_per_s", 415_762_432.0),
        ("iops", 101_504.0),
        ("completion_latency_ns_mean", 628_750.0),
        ("completion_latency_ns_max", 400_858_000.0),
        ("latency_ns_mean", 628_810.0),
        ("completion_latency_ns_p50", 604_000.0),
        ("completion_latency_ns_p999", 1_592_000.0),
        ("user_cpu_share", 0.003),
    ] {
        assert_eq!(rounded(read, name), Some(value), "{name}");
    }
    let known = ["access", "queue-depth", "io-engine", "block-size", "streams"];
    assert_eq!(read.settings.keys().collect::<Vec<_>>(), known);
    assert_eq!(read.settings["access"], "random-read");
    assert_eq!(
        (&read.settings["block-size"], &read.settings["streams"]),
        (&4096.into(), &64.into())
    );
    assert_eq!(said[3].settings["block-size"], 128 << 10);
}

/// `BW=11.0MiB/s (12.6MB/s)(4096MiB/341704msec)`: 4096 MiB in 341.704 s are 12.569 MB/s, and
/// 11.0 MiB/s would be 11.534. The first was read, and 8 % too low.
#[test]
fn a_rate_whose_carry_fio_lost_is_read_from_its_other_unit() {
    let said = parse(TWO).unwrap();
    assert_eq!(said.len(), 2);
    assert!(said.iter().all(|said| said.version == "3.1"));
    for said in &said {
        assert_eq!(rounded(said, "throughput_bytes_per_s"), Some(12_600_000.0));
    }
    assert_eq!(figure(&said[1], "iops"), Some(3070.0));
    for (text, value) in [
        ("18.8MiB/s (19.7MB/s)(22.0MiB/1173msec)", Ok(18.8 * 1_048_576.0)),
        ("5205KiB/s (5330kB/s)(21.0MiB/4328msec)", Ok(5205.0 * 1024.0)),
        ("60.8GiB/s (65.3GB/s), 60.8GiB/s-60.8GiB/s", Ok(60.8 * 1024f64.powi(3))),
        ("391B/s (391B/s)(4096B/10msec)", Ok(391.0)),
        ("12.4MiB/s (12.0MB/s)", Ok(12.4 * 1_048_576.0)),
        ("11.0MiB/s (14.6MB/s)", Err("has two rates that contradict each other")),
        ("1.0XiB/s (14.6MB/s)", Err("has no rate")),
    ] {
        assert_eq!(rate(text).map(|(value, _)| value), value, "{text}");
    }
}

/// `sync (msec): min=6, max=821, avg=10.45` and its `50.00th=[    9]` are what people look for
/// who ask whether etcd will run.
#[test]
fn how_long_flushes_took_stands_beside_the_writes() {
    let said = &parse(SYNC).unwrap()[0];
    for (name, value) in [
        ("sync_latency_ns_mean", 10_450_000.0),
        ("sync_latency_ns_max", 821_000_000.0),
        ("sync_latency_ns_p50", 9_000_000.0),
        ("sync_latency_ns_p99", 62_000_000.0),
        ("latency_ns_mean", 28_550.0),
        ("iops", 95.0),
        ("throughput_bytes_per_s", 382.0 * 1024.0),
    ] {
        assert_eq!(rounded(said, name), Some(value), "{name}");
    }
}

/// `read: IOPS=43.4k, BW=170MiB/s (178MB/s)` and `write: IOPS=14.5k`: with `gtod_reduce` fio
/// has no latency, and the bandwidths of `bw (  KiB/s):` are samples.
#[test]
fn each_direction_of_a_mix_has_its_own_rate() {
    let said = &parse(MIXED).unwrap()[0];
    assert_eq!(rounded(said, "read_throughput_bytes_per_s"), Some(170.0 * 1_048_576.0));
    assert_eq!(rounded(said, "write_iops"), Some(14_500.0));
    assert_eq!(figure(said, "throughput_bytes_per_s"), None);
    assert_eq!((&said.settings["queue-depth"], &said.settings["streams"]), (&64.into(), &1.into()));
    assert_eq!(said.settings["access"], "random-mix");
}

/// `--status-interval` prints the entry of a job again and again.
#[test]
fn of_snapshots_of_one_run_the_last_is_the_result() {
    let later = MIXED.replace("IOPS=43.4k", "IOPS=43.5k");
    let both = parse(&format!("{MIXED}\n{later}")).unwrap();
    assert_eq!(both, parse(&later).unwrap());
    let other = MIXED.replace("pid=187721", "pid=187999");
    assert_eq!(parse(&format!("{MIXED}\n{other}")).unwrap().len(), 2);
}

/// What people put into a mail.
#[test]
fn of_groups_alone_the_rates_are_read_where_something_follows_them() {
    let (_, groups) = MIXED.split_once("Run status").unwrap();
    let groups = format!("Run status{groups}");
    let said = &parse(&groups).unwrap()[0];
    assert_eq!(said.title, "group 0");
    assert_eq!(
        rounded(said, "write_throughput_bytes_per_s"),
        Some((56.7f64 * 1_048_576.0 * 1000.0).round() / 1000.0)
    );
    let cut = groups.split_once("\n\nDisk").unwrap().0;
    assert!(parse(&format!("{cut}\n")).unwrap_err().contains("cut short"));
}

#[test]
fn a_job_that_failed_or_has_no_end_is_told_by_its_name() {
    let failed = MIXED.replace("err= 0:", "err=28 (file:io_u.c:1844, func=io_u, error=No space):");
    assert!(parse(&failed).unwrap_err().contains("its job test failed: No space left"));
    let cut = MIXED.split_once("     issued").unwrap().0;
    assert!(parse(cut).unwrap_err().contains("its job test has no line `issued`"));
    // With a line for writes alone, what was read would be all that there was.
    let lost: String =
        MIXED.lines().filter(|it| !it.contains("read: IOPS")).map(|it| format!("{it}\n")).collect();
    assert!(parse(&lost).unwrap_err().contains("other directions than it issued"));
    let nothing = lost.replace("785920,262656", "0,0").replace("  write: IOPS", "  other: IOPS");
    assert!(parse(&nothing).unwrap_err().contains("completed no I/O"));
    assert!(parse("fio-3.25\nStarting 1 process\n").unwrap_err().contains("no entry"));
}

/// With `--client` fio prints the sum of all machines without `B/s`: `BW=296Mi (311M)` are
/// 296 * 2^20 = 310378496 B/s. "Has no rate" was said of the whole file. And what it tells while
/// it runs was part of a job's name: `Jobs: 0 (f=0)small`.
#[test]
fn machines_and_their_sum_are_results() {
    let new = include_str!("../../../../../tests/fixtures/tools/fio-3.42-clients-people.txt");
    let said = parse(new).unwrap();
    let titles: Vec<&str> = said.iter().map(|said| said.title.as_str()).collect();
    assert_eq!(titles, ["large", "small", "All clients"]);
    assert!(said.iter().all(|said| said.version == "3.42"));
    assert_eq!(rounded(&said[0], "throughput_bytes_per_s"), Some(154.0 * 1_048_576.0));
    assert_eq!(rounded(&said[2], "throughput_bytes_per_s"), Some(310_378_496.0));
    assert_eq!(rounded(&said[2], "iops"), Some(40_300.0));
    assert_eq!(said[0].settings["block-size"], 65_536);
    assert_eq!(said[1].settings["block-size"], 4096);
    // How many jobs each of its groups had, fio does not say there.
    assert!(said[2].settings.is_empty());
    let old = include_str!("../../../../../tests/fixtures/tools/fio-3.33-clients-people.txt");
    assert_eq!(parse(old).unwrap().len(), 3);
    // Two runs have two sums, and snapshots of one run have one.
    let later = old.replace(": pid=1", ": pid=2");
    assert_eq!(parse(&format!("{old}{later}")).unwrap().len(), 6);
    assert_eq!(parse(&format!("{old}{old}")).unwrap().len(), 3);
    // Entries do not say which machine they are of: of one name, what both were asked is known.
    let alike = parse(&new.replace("small:", "large:")).unwrap();
    assert_eq!(alike[0].settings.get("block-size"), None);
    assert_eq!(alike[0].settings["access"], "random-read");
    for (text, due) in [
        ("Jobs: 1 (f=1): [r(1)][100.0%][r=9.8MiB/s][r=2513 IOPS][eta 00m:00s]a", "a"),
        ("Jobs: 0 (f=0)a b", "a b"),
        ("Jobs: of mine", "Jobs: of mine"),
    ] {
        assert_eq!(without_progress(text), due);
    }
}

/// `mixed: IOPS=0, BW=0 (0)(0B/75msec)`: fio 3.33 loses the rate of both directions together.
/// "Has no rate" was said of the whole file.
#[test]
fn a_rate_that_fio_lost_is_told_in_a_note_and_the_latency_beside_it_is_kept() {
    let text = include_str!("../../../../../tests/fixtures/tools/fio-3.33-both.txt");
    let said = &parse(text).unwrap()[0];
    assert_eq!(rounded(said, "read_iops"), Some(9426.0));
    assert_eq!(rounded(said, "mixed_latency_ns_mean"), Some(65_090.0));
    assert_eq!((figure(said, "mixed_iops"), figure(said, "iops")), (None, None));
    assert_eq!(said.notes[0].text, "fio told no rate of its job mixjob and mixed, but 0");
}

/// `--output-format=normal,json`: the JSON alone was read, and of a log in which a run as JSON
/// followed one for people the first was lost without a word.
#[test]
fn a_run_in_two_forms_is_one_result_and_two_runs_are_two() {
    let both = include_str!("../../../../../tests/fixtures/tools/fio-3.33-normal-and-json.txt");
    let said = parse(both).unwrap();
    assert_eq!(said.len(), 1);
    // 2895872 bytes in 70 ms, of the JSON, and not the 39.5 MiB/s beneath it.
    assert_eq!(rounded(&said[0], "read_throughput_bytes_per_s"), Some(41_369_600.0));
    let other = both.replace("IOPS=10.1k", "IOPS=10.9k");
    // Of another time it is another run.
    let later = other.replace("23:41:40 2026\n", "23:43:40 2026\n");
    assert_eq!(parse(&later).unwrap().len(), 2);
    let why = parse(&other).unwrap_err();
    assert!(why.contains("in two forms that say different things"), "{why}");
    let two = format!("{TWO}{both}");
    let said = parse(&two).unwrap();
    assert_eq!(said.len(), 3, "of another name");
}

/// Each computed by hand: `bw=186182KB/s` are 190650368 B/s, `107789KB/s` 110375936 and
/// `73.1MiB/s` 76650905.6; `slat (usec): avg= 8.21` was left out without a word.
#[test]
fn entries_of_more_versions_have_the_same_figures() {
    let old = include_str!("../../../../../tests/fixtures/tools/fio-2.0.15-people.txt");
    let middle = include_str!("../../../../../tests/fixtures/tools/fio-2.2.10-people.txt");
    let late = include_str!("../../../../../tests/fixtures/tools/fio-2.21-people.txt");
    for (text, version, rate, iops, submission) in [
        (old, "2.0.15", 190_650_368.0, 11_636.0, 8210.0),
        (middle, "2.2.10", 110_375_936.0, 6736.0, 7440.0),
        (late, "2.21", 76_650_905.6, 4678.0, 7390.0),
    ] {
        let said = parse(text).unwrap();
        assert_eq!((said.len(), said[0].version.as_str()), (1, version));
        for (name, value) in [
            ("read_throughput_bytes_per_s", rate),
            ("read_iops", iops),
            ("read_submission_latency_ns_mean", submission),
        ] {
            assert_eq!(rounded(&said[0], name), Some(value), "{version} {name}");
        }
        assert_eq!(said[0].settings["block-size"], 16_384);
        assert_eq!(
            (&said[0].settings["streams"], &said[0].settings["queue-depth"]),
            (&2.into(), &4.into())
        );
    }
}

/// The first of four that `--status-interval=1` made, and the last: 7995 KiB/s.
#[test]
fn of_the_entries_of_one_run_the_last_is_its_result() {
    let text = include_str!("../../../../../tests/fixtures/tools/fio-3.33-people-snapshots.txt");
    let said = parse(text).unwrap();
    assert_eq!(said.len(), 1);
    assert_eq!(rounded(&said[0], "throughput_bytes_per_s"), Some(7995.0 * 1024.0));
}

#[test]
fn a_job_that_failed_is_told_by_what_failed() {
    let full = include_str!("../../../../../tests/fixtures/tools/fio-3.33-enospc-refused.txt");
    let why = parse(full).unwrap_err();
    assert!(why.starts_with("its job fill failed: No space left on device"), "{why}");
    let text = "fio-3.33\nfio: pid=1593, err=2/file:filesetup.c:805, func=open(/srv/none), \
                error=No such file or directory\n\n\nRun status group 0 (all jobs):\n\nDisk stats \
                (read/write):\n";
    let due = "its job failed before it began: No such file or directory";
    assert_eq!(parse(text).unwrap_err(), due);
}

/// Rows that fio adds and leaves out by its options, other units of the same rate, progress and
/// warnings between: the same numbers, or an error.
#[test]
fn an_entry_that_says_the_same_in_other_words_has_the_same_figures() {
    let (mut tried, mut kept) = (0, 0);
    for seed in 0..120 {
        let mut random = Random::new(seed);
        for whole in [FOUR, TWO, SYNC, MIXED] {
            let mut text = String::new();
            for line in whole.lines() {
                if random.uniform() < 0.05 {
                    text += "Jobs: 1 (f=1): [r(1)][100.0%][r=9.8MiB/s][r=2513 IOPS][eta 00m:00s]\n";
                }
                if random.uniform() < 0.05 {
                    text += "fio: file hash not empty on exit\n";
                }
                // The distribution of depths is no figure.
                if line.trim_start().starts_with("submit ") && random.uniform() < 0.5 {
                    continue;
                }
                let line = line.replace("; 0 zone resets", "");
                // `avg= 8.21` of old ones.
                let blank = if random.uniform() < 0.5 { "avg= " } else { "avg=" };
                text += &line.replace("avg=", blank);
                text += "\n";
                if line.contains(" issued ") && random.uniform() < 0.5 {
                    text += "     latency   : target=0, window=0, percentile=100.00%, depth=1\n";
                }
            }
            tried += 1;
            kept += usize::from(same_or_refused(&FIO, whole, &text, 0.0));
        }
    }
    assert!(kept * 2 > tried, "{kept} of {tried}");
}
