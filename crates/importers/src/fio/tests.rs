//! JSON of fio 2.1 to 3.42.

use super::*;
use crate::testing::{figure, rounded, same_or_refused};
use base::stats::testing::Random;

const READ: &str = include_str!("../../../../tests/fixtures/tools/fio-3.33-read.txt");
const MIXED: &str = include_str!("../../../../tests/fixtures/tools/fio-3.33-mixed.txt");
const TWO: &str = include_str!("../../../../tests/fixtures/tools/fio-3.33-two-jobs.txt");
const OLD: &str = include_str!("../../../../tests/fixtures/tools/fio-2.15-readwrite.txt");
const OLDEST: &str = include_str!("../../../../tests/fixtures/tools/fio-2.1.4-no-total_ios.txt");
const LINE: &str = include_str!("../../../../tests/fixtures/tools/fio-3.42-minified.txt");
const EACH: &str = include_str!("../../../../tests/fixtures/tools/fio-3.19-numjobs.txt");
const UNIFIED: &str = include_str!("../../../../tests/fixtures/tools/fio-3.42-unified.txt");

#[test]
fn a_group_of_jobs_that_read_is_one_result_in_fios_own_words() {
    let said = parse(READ).unwrap();
    assert_eq!(said.len(), 1);
    let said = &said[0];
    assert_eq!((said.version.as_str(), said.title.as_str()), ("3.33", "brickyard"));
    for name in ["throughput_bytes_per_s", "iops", "latency_ns_mean", "latency_ns_p99"] {
        assert!(figure(said, name).is_some_and(|value| value > 0.0), "{name}: {said:?}");
    }
    let (bytes, iops) = (figure(said, "throughput_bytes_per_s"), figure(said, "iops"));
    assert!((bytes.unwrap() / iops.unwrap() / 4096.0 - 1.0).abs() < 0.001);
    assert_eq!(said.settings["access"], "random-read");
    assert_eq!(said.settings["block-size"], 4096);
    assert_eq!((&said.settings["streams"], &said.settings["direct"]), (&2.into(), &true.into()));
    assert_eq!(said.settings["file-size"], 4 << 20, "of each of two files");
}

#[test]
fn each_direction_of_a_mix_has_its_own_figures_and_there_is_no_sum() {
    let said = parse(MIXED).unwrap();
    for name in ["read_iops", "write_iops", "read_latency_ns_p50", "write_latency_ns_max"] {
        assert!(figure(&said[0], name).is_some(), "{name}");
    }
    assert_eq!(figure(&said[0], "iops"), None);
    assert_eq!(said[0].settings["read-share"], 0.7);
}

#[test]
fn every_job_of_a_document_and_every_document_of_a_text_is_a_result() {
    let said = parse(TWO).unwrap();
    let titles: Vec<&str> = said.iter().map(|said| said.title.as_str()).collect();
    assert_eq!(titles, ["one", "two"]);
    let with = format!(
        "fio: this platform does not support process shared mutexes\n{READ}\nnote: both {{ \
         iodepth >= 1 }} are selected\n{MIXED}fio: file hash not empty on exit\n"
    );
    let said = parse(&with).unwrap();
    assert_eq!(said.len(), 2);
    assert_eq!((&said[0], &said[1]), (&parse(READ).unwrap()[0], &parse(MIXED).unwrap()[0]));
}

/// A mix whose reads had lost their count was taken for a job that wrote alone: what writes
/// took stood there as the latency of all.
#[test]
fn a_direction_that_does_not_say_how_often_it_was_gone_is_not_left_out() {
    for count in ["\"total_ios\" : 12360,", "\"total_ios\" : 5265,"] {
        assert!(MIXED.contains(count));
        let why = parse(&MIXED.replace(count, "")).unwrap_err();
        assert!(why.contains("does not say how often"), "{why}");
    }
}

#[test]
fn a_job_that_failed_and_one_that_did_nothing_have_no_figures() {
    let failed = READ.replace("\"error\" : 0", "\"error\" : 28");
    assert!(parse(&failed).unwrap_err().contains("No space left"), "{failed:.200}");
    let mut nothing = READ.to_owned();
    let at = nothing.find("\"total_ios\" : ").unwrap() + "\"total_ios\" : ".len();
    let end = at + nothing[at..].find(',').unwrap();
    nothing.replace_range(at..end, "0");
    assert!(parse(&nothing).unwrap_err().contains("no I/O"));
    assert!(parse("fio: job startup failed\n").is_err());
    assert!(parse("{\n\"other\": 1\n}\n").unwrap_err().contains("no JSON document of fio's"));
}

/// Of fio 2.15 the IOPS alone were kept, without a word: it has KiB/s and us.
#[test]
fn rates_and_waits_before_fio_3_are_in_their_own_units() {
    let said = &parse(OLD).unwrap()[0];
    assert_eq!(said.version, "2.15");
    for (name, value) in [
        ("read_throughput_bytes_per_s", 157_093_888.0),
        ("write_throughput_bytes_per_s", 158_039_040.0),
        ("read_completion_latency_ns_mean", 2_892_544.678),
        ("read_completion_latency_ns_max", 135_676_000.0),
        ("read_completion_latency_ns_p50", 86_000.0),
        ("read_completion_latency_ns_p90", 1_048_000.0),
        ("read_latency_ns_mean", 2_892_900.0),
        ("read_iops", 299.633),
    ] {
        assert_eq!(rounded(said, name), Some(value), "{name}");
    }
    // The keys tell the unit, whatever the version says.
    for version in ["fio-2.99", "fio-3.0", "fio-3.1", "fio-3.1-12-gab12"] {
        let newer = parse(&OLD.replace("fio-2.15", version)).unwrap();
        assert_eq!(newer[0].figures, said.figures, "{version}");
    }
    // From 3.2 on there are bytes; without them nothing is made of what was rounded.
    for version in ["fio-3.2", "fio-3.33", "fio-4.0", "fio-other"] {
        let newer = &parse(&OLD.replace("fio-2.15", version)).unwrap()[0];
        assert_eq!(figure(newer, "read_throughput_bytes_per_s"), None, "{version}");
    }
    let both = "\"bw\": 153412, \"bw_bytes\": 157093889";
    let with_bytes = OLD.replace("\"bw\": 153412", both);
    let said = &parse(&with_bytes).unwrap()[0];
    assert_eq!(figure(said, "read_throughput_bytes_per_s"), Some(157_093_889.0));
}

/// "Its job sequential_write completed no I/O": fio 2.1.4 did not count them. It wrote 353 MiB.
#[test]
fn a_direction_that_fio_2_1_did_not_count_is_told_by_what_it_moved() {
    let said = &parse(OLDEST).unwrap()[0];
    assert_eq!((said.version.as_str(), said.title.as_str()), ("2.1.4", "sequential_write"));
    for (name, value) in [
        ("throughput_bytes_per_s", 69_752_832.0),
        ("iops", 133.0),
        ("latency_ns_mean", 478_737_470.0),
        ("completion_latency_ns_mean", 477_734_840.0),
    ] {
        assert_eq!(rounded(said, name), Some(value), "{name}");
    }
    let newer = parse(&OLDEST.replace("fio-2.1.4", "fio-3.2")).unwrap_err();
    assert!(newer.contains("does not say how often"), "{newer}");
    let without = OLDEST.replace("\"io_bytes\": 361984,", "");
    assert!(parse(&without).unwrap_err().contains("does not say how often"));
    let nothing = OLDEST.replace("361984", "0").replace("\"iops\": 133", "\"iops\": 0");
    let why = parse(&nothing.replace("\"bw\": 68118", "\"bw\": 0")).unwrap_err();
    assert!(why.contains("completed no I/O"), "{why}");
    // Bytes at no rate, and a rate of no bytes: one of the two was changed.
    for key in ["io_bytes", "iops"] {
        let one = OLDEST.replacen(&format!("\"{key}\": 0"), &format!("\"{key}\": 1"), 1);
        assert!(parse(&one).unwrap_err().contains("with one voice"), "{key}");
    }
}

/// The same JSON on one line, as `jq -c` writes it: "there is no JSON document of fio's in it".
#[test]
fn a_document_on_one_line_and_in_an_array_is_read_as_any_other() {
    let said = &parse(LINE).unwrap()[0];
    assert_eq!(figure(said, "throughput_bytes_per_s"), Some(13_116_864.0));
    assert_eq!(rounded(said, "iops"), Some(3201.66));
    for text in [
        format!("\u{feff}{LINE}"),
        format!("[{}]\n", LINE.trim_end()),
        format!("{}{}", LINE.trim_end(), LINE.trim_end()),
        format!("fio: a warning\n{LINE}\n{LINE}"),
    ] {
        assert!(parse(&text).unwrap().iter().all(|it| it == said), "{text:.40}");
    }
    let wrapped = format!("{{\"run\": {}}}\n", LINE.trim_end());
    assert!(parse(&wrapped).unwrap_err().contains("`jq .NAME FILE`"));
}

/// Eight jobs, each with an entry of its own: each was told as 8 streams with the figures of
/// one.
#[test]
fn jobs_that_are_not_put_together_are_one_stream_each() {
    let said = parse(EACH).unwrap();
    assert_eq!(said.len(), 2);
    assert!(said.iter().all(|said| said.settings["streams"] == 1), "{said:?}");
    assert_eq!(rounded(&said[1], "read_iops"), Some(17.782));
    // Put together, an entry is of all of them, also where another group has the same name.
    let together = "\"group_reporting\": \"\", \"numjobs\"";
    let grouped = EACH.replace("\"numjobs\"", together);
    let at = grouped.rfind("\"groupid\": 0").unwrap();
    let grouped = format!("{}\"groupid\": 1{}", &grouped[..at], &grouped[at + 12..]);
    assert!(parse(&grouped).unwrap().iter().all(|said| said.settings["streams"] == 8));
    // What is left of eight says nothing of how many there were.
    let (first, rest) = EACH.split_once("\n    },\n").unwrap();
    assert!(rest.contains("6293106688"));
    let one = parse(&format!("{first}\n    }}\n  ]\n}}\n")).unwrap();
    assert_eq!((one.len(), one[0].settings.get("streams")), (1, None));
}

/// With `unified_rw_reporting=1` fio calls the direction "mixed": the job "completed no I/O".
#[test]
fn directions_that_fio_puts_together_are_called_mixed() {
    let said = &parse(UNIFIED).unwrap()[0];
    assert_eq!(figure(said, "mixed_throughput_bytes_per_s"), Some(13_116_864.0));
    assert_eq!(rounded(said, "mixed_iops"), Some(3201.66));
    assert_eq!(figure(said, "iops"), None);
    // `unified_rw_reporting=both` has each direction beside it.
    let read = "\"read\": {\"total_ios\": 9, \"iops\": 3.5, \"io_bytes\": 36864}, \"mixed\"";
    let said = &parse(&UNIFIED.replace("\"mixed\"", read)).unwrap()[0];
    assert_eq!((figure(said, "read_iops"), figure(said, "iops")), (Some(3.5), None));
}

/// With `gtod_reduce=1` fio measures no latency: it stood there as 0 ns. 104857600 B/s.
#[test]
fn a_latency_that_was_not_measured_is_none_and_not_zero() {
    let text = include_str!("../../../../tests/fixtures/tools/fio-3.33-gtod-reduce.txt");
    let said = &parse(text).unwrap()[0];
    let names: Vec<&str> = said.figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["throughput_bytes_per_s", "iops", "user_cpu_share", "system_cpu_share"]);
    assert_eq!(said.figures[0].value, 104_857_600.0);
}

/// How long submission and flushes took was left out without a word.
#[test]
fn submission_and_flushes_have_latencies_of_their_own() {
    let text = include_str!("../../../../tests/fixtures/tools/fio-3.33-flush-bins.txt");
    let said = &parse(text).unwrap()[0];
    for (name, value) in [
        ("throughput_bytes_per_s", 32_263_876.0),
        ("submission_latency_ns_mean", 33_665.359),
        ("submission_latency_ns_max", 3_222_185.0),
        ("submission_latency_ns_p90", 19_584.0),
        ("sync_latency_ns_mean", 2_469_982.067),
        ("sync_latency_ns_max", 8_016_345.0),
        ("sync_latency_ns_p50", 1_581_056.0),
    ] {
        assert_eq!(rounded(said, name), Some(value), "{name}");
    }
    assert_eq!(figure(said, "sync_iops"), None);
}

/// Of two jobs one did nothing: both were refused.
#[test]
fn a_job_that_did_nothing_beside_one_that_did_is_told_in_a_note() {
    let mut idle: serde_json::Value = serde_json::from_str(LINE.trim()).unwrap();
    let mut other = idle["jobs"][0].clone();
    other["jobname"] = "idle".into();
    for way in ["read", "write", "trim"] {
        if other.get(way).is_some() {
            other[way] = serde_json::json!({ "total_ios": 0, "io_bytes": 0, "iops": 0.0 });
        }
    }
    idle["jobs"].as_array_mut().unwrap().push(other);
    let said = parse(&format!("{idle}\n")).unwrap();
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].notes[0].text, "its job idle completed no I/O");
}

/// Criterion and verdict of fio are kept in its words.
#[test]
fn the_steady_state_that_fio_tested_is_a_note() {
    let with = LINE.replace(
        "\"jobname\"",
        "\"steadystate\":{\"ss\":\"iops:0.300000%\",\"attained\":0},\"jobname\"",
    );
    let said = parse(&with).unwrap();
    let due = "fio did not attain the steady state it was asked for: iops:0.300000%";
    assert_eq!(said[0].notes[0].text, due);
}

/// 2.2.10: 128000 KiB/s are 131072000 B/s. 2.21: the bins of 128 reads, in us, without an N.
#[test]
fn documents_of_more_versions_have_the_same_figures() {
    let two = include_str!("../../../../tests/fixtures/tools/fio-2.2.10-numjobs.txt");
    let said = parse(two).unwrap();
    assert_eq!((said.len(), said[0].version.as_str()), (2, "2.2.10"));
    assert_eq!(rounded(&said[0], "read_throughput_bytes_per_s"), Some(131_072_000.0));
    assert_eq!(rounded(&said[0], "read_submission_latency_ns_mean"), Some(8220.0));
    let bins = include_str!("../../../../tests/fixtures/tools/fio-2.21-bins.txt");
    let said = &parse(bins).unwrap()[0];
    let read = &said.histograms[0];
    assert_eq!((read.name.as_str(), read.values[0]), ("completion_latency_ns", 51_000));
    assert_eq!(read.counts.iter().sum::<u64>(), 128);
    assert_eq!(rounded(said, "completion_latency_ns_mean"), Some(283_320.313));
}

/// Keys that a newer fio may add, in another order and on other lines, with notes around, and cut
/// or broken: the same numbers, or an error.
#[test]
fn a_document_with_more_in_another_order_has_the_same_figures() {
    use serde_json::Value as Json;
    fn more(value: &mut Json, random: &mut Random) {
        match value {
            Json::Object(map) => {
                for inner in map.values_mut() {
                    more(inner, random);
                }
                if random.uniform() < 0.2 && map.contains_key("iops") {
                    map.insert("iops_new".into(), 5.into());
                    map.insert("bw_new".into(), serde_json::json!({ "mean": 7, "N": 3 }));
                }
                if random.uniform() < 0.5 {
                    let turned: Vec<_> = map.clone().into_iter().rev().collect();
                    map.clear();
                    map.extend(turned);
                }
            }
            Json::Array(all) => all.iter_mut().for_each(|inner| more(inner, random)),
            _ => {}
        }
    }
    let (mut tried, mut kept) = (0, 0);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        for whole in [READ, MIXED, TWO, OLD, OLDEST, LINE, EACH, UNIFIED] {
            let at = whole.find('{').unwrap();
            let mut documents =
                serde_json::Deserializer::from_str(&whole[at..]).into_iter::<Json>();
            let mut document = documents.next().unwrap().unwrap();
            more(&mut document, &mut random);
            let text = match random.uniform() < 0.5 {
                true => format!("note: both\n{document:#}\nfio: done\n"),
                false => format!("{document}\n"),
            };
            tried += 1;
            kept += usize::from(same_or_refused(&FIO, whole, &text, 1e-12));
            let cut = &text[..(text.len() as f64 * random.uniform()) as usize];
            assert!(
                parse(cut).is_ok_and(|some| some == parse(&text).unwrap()) || parse(cut).is_err()
            );
        }
    }
    assert!(kept == tried, "{kept} of {tried}");
}
