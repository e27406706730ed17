//! What is read of elbencho, by outputs that were recorded.

use super::*;
use crate::testing::{figure, same_or_refused};

const WRITE: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-write.txt");
const READ: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-random-read.txt");
const NAMES: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-names.txt");
const REFUSED: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-refused.txt");

#[test]
fn bytes_are_read_with_the_latency_of_an_io_and_what_the_last_thread_made_of_it() {
    let said = &parse(WRITE).unwrap()[0];
    for (name, value) in [
        ("write_throughput_bytes_per_s", 1_280_511_116.0),
        ("write_iops", 1221.0),
        ("last_done_write_throughput_bytes_per_s", 1_280_410_287.0),
        ("write_latency_ns_mean", 1_604_000.0),
        ("write_latency_ns_max", 2_934_000.0),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
    assert_eq!(said.version, "3.1-10");
    assert_eq!(said.figures[0].printed, "1280511116 bytes/s");
    let said = &parse(READ).unwrap()[0];
    assert_eq!(figure(said, "read_iops"), Some(52_551.0));
    assert_eq!(figure(said, "read_latency_ns_min"), Some(78_000.0));
    let known = serde_json::json!({
        "streams": 2, "files": 2, "file-size": 16 << 20, "block-size": 4096,
        "queue-depth": 8, "direct": true,
    });
    assert_eq!(Json::Object(said.settings.clone()), known);
}

#[test]
fn names_are_read_phase_by_phase() {
    let said = &parse(NAMES).unwrap()[0];
    for (name, value) in [
        ("create_per_s", 3667.0),
        ("last_done_create_per_s", 3679.0),
        ("stat_per_s", 876_501.0),
        ("open_per_s", 482_373.0),
        ("unlink_per_s", 181_229.0),
        ("unlink_latency_ns_max", 1_296_000.0),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
    assert!(!said.settings.contains_key("block-size"), "{:?}", said.settings);
    assert_eq!(parse(&format!("{NAMES}{WRITE}")).unwrap().len(), 2);
}

#[test]
fn a_run_without_a_phase_that_was_asked_for_is_no_result() {
    assert!(knows(REFUSED) && REFUSED.contains("ERROR: File open failed"));
    assert!(parse(REFUSED).unwrap_err().contains("cut short: it has no READ"));
    let unlink = NAMES.find("{\"phase_type\":\"RMFILES\"").unwrap();
    assert!(parse(&NAMES[..unlink]).unwrap_err().contains("it has no RMFILES"));
    assert!(
        parse(&NAMES.replace("\"-r\\\"", "\"-x\\\"")).unwrap_err().contains("it has no RMFILES")
    );
    assert!(parse(&WRITE.replace("1280511116", "lots")).unwrap_err().contains("no number"));
    assert!(parse(&WRITE.replace("\"-w\\\"", "\"-c\\\"")).unwrap_err().contains("ask for"));
}

const OLD: &str = include_str!("../../../../tests/fixtures/tools/elbencho-1.6-dropcache.txt");
const RANDOM: &str = include_str!("../../../../tests/fixtures/tools/elbencho-1.8-random-read.txt");
const S3: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-people-s3.txt");
const PEOPLE: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-people-names.txt");
const CSV: &str = include_str!("../../../../tests/fixtures/tools/elbencho-3.1-csv.txt");

fn why(text: &str) -> String {
    ELBENCHO.read(text).unwrap_err()
}

fn titles(all: &[Said]) -> Vec<&str> {
    all.iter().map(|said| said.title.as_str()).collect()
}

/// 902432 MiB in 76.564 s are 11786.6 MiB/s, of which it prints 11786; 11786 MiB/s are 12358516736
/// B/s.
#[test]
fn each_phase_of_a_text_is_a_result_in_whole_mebibytes() {
    let all = parse(OLD).unwrap();
    assert_eq!(titles(&all), ["WRITE", "WRITE"]);
    for (said, rate, iops, last, last_iops) in
        [(&all[0], 11_786.0, 736.0, 11_605.0, 725.0), (&all[1], 10_687.0, 667.0, 10_656.0, 666.0)]
    {
        let mib = |name: &str| figure(said, name).map(|value| value / 1_048_576.0);
        assert_eq!(mib("write_throughput_bytes_per_s"), Some(rate));
        assert_eq!(mib("last_done_write_throughput_bytes_per_s"), Some(last));
        assert_eq!(figure(said, "write_iops"), Some(iops));
        assert_eq!(figure(said, "last_done_write_iops"), Some(last_iops));
        assert_eq!(said.figures.len(), 4);
        assert_eq!(said.settings, Map::new());
    }
    assert_eq!(all[0].figures[0].printed, "11786 MiB/s");
    let said = &parse(RANDOM).unwrap()[0];
    for (name, value) in [
        ("read_throughput_bytes_per_s", 33_554_432.0),
        ("read_iops", 8219.0),
        ("read_latency_ns_min", 91_000.0),
        ("read_latency_ns_mean", 120_000.0),
        ("read_latency_ns_max", 1_583_000.0),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
}

#[test]
fn names_and_objects_are_told_by_what_they_are() {
    let all = parse(PEOPLE).unwrap();
    assert_eq!(titles(&all), ["WRITE", "STAT"]);
    for (said, name, value) in [
        (&all[0], "create_per_s", 16_962.0),
        (&all[0], "last_done_create_per_s", 16_978.0),
        (&all[0], "create_latency_ns_mean", 469_000.0),
        (&all[0], "create_latency_ns_max", 14_500_000.0),
        (&all[0], "create_latency_ns_p50", 512_000.0),
        (&all[0], "create_latency_ns_p99", 1_024_000.0),
        (&all[1], "stat_per_s", 1_140_625.0),
        (&all[1], "stat_latency_ns_p50", 6_700.0),
        (&all[1], "stat_latency_ns_max", 312_000.0),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
    let bound = all[0].figures.iter().find(|figure| figure.name.ends_with("p99")).unwrap().bound;
    assert_eq!(bound, experiment::measurement::reported::Bound::UpTo);
    let all = parse(S3).unwrap();
    assert_eq!(titles(&all), ["MKBUCKETS", "WRITE"]);
    assert_eq!(figure(&all[0], "create_buckets_per_s"), Some(38.0));
    assert_eq!(figure(&all[1], "write_objects_per_s"), Some(24.0));
    let rate = figure(&all[1], "last_done_write_throughput_bytes_per_s");
    assert_eq!(rate, Some(121.0 * 1_048_576.0));
}

/// Of JSON each phase's text stands before it where both go to the same place: it is read once.
#[test]
fn a_phase_whose_json_stands_beneath_its_text_is_read_of_that() {
    let (table, rows) = RANDOM.split_once("READ ").unwrap();
    let text = format!("{table}READ {rows}");
    let both = format!("{text}{READ}");
    assert_eq!(parse(&both).unwrap(), parse(READ).unwrap());
    assert_eq!(parse(&format!("{READ}{text}")).unwrap().len(), 2);
    let other = READ.replace("{\"phase_type\":\"READ\"", "{\"phase_type\":\"SYNC\"");
    assert_eq!(titles(&parse(&format!("{text}{other}")).unwrap()), ["READ"]);
    let apart = format!("{text}$ cat result.json\n{READ}");
    assert_eq!(titles(&parse(&apart).unwrap()), ["READ", ""]);
}

#[test]
fn a_csv_has_what_was_asked_for_and_columns_by_their_names() {
    let all = parse(CSV).unwrap();
    assert_eq!(titles(&all), ["MKDIRS", "WRITE", "READ"]);
    for (said, name, value) in [
        (&all[0], "mkdir_per_s", 3277.0),
        (&all[0], "last_done_mkdir_per_s", 1466.0),
        (&all[0], "mkdir_latency_ns_mean", 1_068_000.0),
        (&all[1], "write_throughput_bytes_per_s", 3494.0 * 1_048_576.0),
        (&all[1], "last_done_write_throughput_bytes_per_s", 2941.0 * 1_048_576.0),
        (&all[1], "write_iops", 3494.0),
        (&all[1], "write_files_per_s", 11.0),
        (&all[1], "write_latency_ns_max", 120_903_000.0),
        (&all[1], "write_files_latency_ns_min", 290_635_000.0),
        (&all[2], "read_throughput_bytes_per_s", 9673.0 * 1_048_576.0),
        (&all[2], "read_latency_ns_mean", 3_223_000.0),
        (&all[2], "last_done_read_files_per_s", 35.0),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
    let known = serde_json::json!({
        "streams": 8, "files": 4, "file-size": 268_435_456, "block-size": 1_048_576,
        "queue-depth": 4, "direct": true,
    });
    assert_eq!(Json::Object(all[2].settings.clone()), known);
    // With its command line it is known that blocks went forward.
    let more = |command: &str| -> String {
        let add = |line: &str| match line.split(',').count() {
            37 if line.starts_with("ISO") => format!("{line},version,command\n"),
            37 => format!("{line},3.1-1,\"elbencho\" {command}\n"),
            _ => format!("{line}\n"),
        };
        CSV.lines().map(add).collect()
    };
    let all = parse(&more("\"-r\" ")).unwrap();
    assert_eq!((all[2].version.as_str(), &all[2].settings["access"]), ("3.1-1", &"read".into()));
    let all = parse(&more("\"--backward\" ")).unwrap();
    assert!(!all[2].settings.contains_key("access"));
    let hosts = parse(&CSV.replace("dir,1,1,8", "dir,1,4,8")).unwrap();
    assert!(!hosts[2].settings.contains_key("streams"));
}

/// What 3.1 prints of a mix, as in `printPhaseResultsToStream`.
const MIX: &str = "\
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
RWMIX70     Elapsed time     :   1m0.000s    1m0.000s
            IOPS write       :        3000        3000
            IOPS read        :        7000        7000
            IOPS total       :       10000       10000
            MiB/s write      :          11          11
            MiB/s read       :          27          27
            MiB/s total      :          39          39
            MiB write        :         703         703
            MiB read         :        1640        1640
            IO wr latency    : [ min=60us avg=1.10ms max=12.5ms ]
            IO rd latency    : [ min=50us avg=900us max=1.20s ]
---
";

#[test]
fn a_mix_has_its_reads_and_its_writes() {
    let said = &parse(MIX).unwrap()[0];
    for (name, value) in [
        ("write_throughput_bytes_per_s", 11.0 * 1_048_576.0),
        ("read_throughput_bytes_per_s", 27.0 * 1_048_576.0),
        ("write_iops", 3000.0),
        ("last_done_read_iops", 7000.0),
        ("write_latency_ns_mean", 1_100_000.0),
        ("read_latency_ns_max", 1_200_000_000.0),
    ] {
        assert_eq!(figure(said, name), Some(value), "{name}");
    }
    assert_eq!(figure(said, "iops"), None);
    let base10 = MIX.replace("MiB/s ", "MB/s ").replace(" 27", " 28").replace(" 11", " 12");
    let said = &parse(&base10).unwrap()[0];
    assert_eq!(figure(said, "read_throughput_bytes_per_s"), Some(28e6));
}

#[test]
fn what_is_not_whole_not_read_or_contradicts_itself_is_refused_and_why_is_said() {
    for (text, old, new, due) in [
        (OLD, "11786", "11986", "of its phase WRITE its bytes per second are 11986"),
        (OLD, "902432", "912432", "of its phase WRITE its bytes per second are 11786"),
        (OLD, "76564", "86564", "of its phase WRITE its bytes per second are 11786"),
        (PEOPLE, "16962", "17962", "its entries per second are 17962"),
        (PEOPLE, "avg=469us", "avg=469ms", "not between the others"),
        (PEOPLE, "50%<=512", "50%<=112", "makes no sense"),
        (PEOPLE, "STAT  ", "STAT+r", "a phase `STAT+r`, which is not read"),
        (S3, "MKBUCKETS ", "PUTBACL   ", "a phase `PUTBACL`, which is not read"),
        (OLD, "Throughput MiB/s", "Throughput GiB/s", "bytes in all and none per second"),
        (OLD, "  Total MiB  ", "  Throughput MiB/s ", "`Throughput MiB/s` twice"),
        (CSV, "3494,2941,3494,2941", "3494,2941,3594,2941", "its bytes per second are 3594"),
        (CSV, ",32,32,8192,8192,", ",32,32,8192,", "36 of 37 columns"),
        (CSV, "READ,846,905", "READ+s,846,905", "a phase `READ+s`, which is not read"),
        (CSV, ",553,3223,6922", ",553,,6922", "not all of `IO lat us`"),
    ] {
        assert!(text.contains(old), "{old}");
        let why = why(&text.replacen(old, new, 1));
        assert!(why.contains(due), "{old}: {why}");
    }
    assert!(why(OLD.trim_end_matches("---\n")).contains("phase DROPCACHE has no line `---`"));
    let old = "OPERATION RESULT TYPE   FIRST DONE  LAST DONE\nWRITE     time ms      :   10   12\n";
    assert!(why(old).contains("of elbencho 1.0 to 1.2"), "{}", why(old));
    assert!(why(READ.replace("\"READ\"", "\"RWMIX50\"").as_str()).contains("bring its text"));
}

/// Lines of a log between, and columns that were added or moved, change no figure.
#[test]
fn what_stands_between_and_where_a_column_stands_says_nothing() {
    let mut random = base::stats::testing::Random::new(20_261_129);
    let (mut tried, mut kept) = (0, 0);
    for text in [OLD, RANDOM, S3, PEOPLE, MIX] {
        let lines: Vec<&str> = text.lines().collect();
        for _ in 0..40 {
            let at = (random.uniform() * lines.len() as f64) as usize;
            let more = ["", "NOTE: a file is sparse", "            IOs total : 17 19"];
            let more = more[(random.uniform() * 3.0) as usize];
            let perturbed = [&lines[..at], &[more], &lines[at..]].concat().join("\n") + "\n";
            tried += 1;
            kept += usize::from(same_or_refused(&ELBENCHO, text, &perturbed, 0.0));
        }
    }
    for _ in 0..80 {
        let (from, to) = ((random.uniform() * 36.0) as usize, (random.uniform() * 36.0) as usize);
        let moved = |line: &str| {
            let mut cells: Vec<&str> = line.split(',').collect();
            if cells.len() == 37 {
                let cell = cells.remove(from.max(1));
                cells.insert(to.max(1), cell);
                cells.push(if line.starts_with("ISO") { "more" } else { "17" });
            }
            cells.join(",") + "\n"
        };
        let perturbed: String = CSV.lines().map(moved).collect();
        tried += 1;
        kept += usize::from(same_or_refused(&ELBENCHO, CSV, &perturbed, 0.0));
    }
    assert!(kept * 10 > tried * 8, "{kept} of {tried}");
}
