//! (pure) What fio prints: with `--output-format=json`, of every version, documents with warnings
//! before, between and after them; and for people (see [`text`]).
//!
//! Figures are named as fio measures them: `latency_ns` from submission to completion (`lat_ns`),
//! `completion_latency_ns` from the kernel's acceptance on (`clat_ns`). Of a trial that reads and
//! writes each direction has its own, as fio prints no sum of both, but for `mixed`, which is one
//! where it was asked for (`unified_rw_reporting`).

use serde_json::{Map, Value as Json};

use super::{Form, Importer, Said, json};

mod snapshots;
mod text;

/// See [`Importer`].
pub const FIO: Importer = Importer {
    name: "fio",
    about: "What fio 2 and 3 print, for people or as JSON (--output-format=json)",
    forms: &[
        Form {
            bring: "--output-format=json",
            recorded: &["2.1.4", "2.15", "3.19", "3.33", "3.42"],
            read: "rates, IOPS, latencies and their percentiles, of each direction",
            not_read: "several machines at once (--client)",
        },
        Form {
            bring: "what it prints for people",
            recorded: &["2.1.9", "3.1", "3.25"],
            read: "rates, IOPS, latencies and their percentiles, of each direction",
            not_read: "",
        },
    ],
    words: &["fio", "ioengine", "iodepth", "clat", "slat", "BW=", "runt=", "IOPS=", "numjobs"],
    mark: "line `NAME: (groupid=0, jobs=1): err= 0` and no JSON with `fio version`",
    parse,
    knows,
};

/// Every document of fio's has it.
const MARK: &str = "fio version";

/// Whether a text looks like what fio prints, whole or not.
fn knows(text: &str) -> bool {
    is_json(text) || text::knows(text)
}

fn is_json(text: &str) -> bool {
    text.contains("\"fio version\"")
}

/// One result for each job, or for each group of jobs with `group_reporting`.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    match !is_json(text) && text::knows(text) {
        true => text::parse(text),
        false => documents(text),
    }
}

/// Those of every document.
fn documents(text: &str) -> Result<Vec<Said>, String> {
    let mut said = Vec::new();
    let fios = |document: &Json| document.get(MARK).is_some();
    let all: Vec<Json> = json::documents(text)?.into_iter().filter(fios).collect();
    for document in snapshots::last_of_each_run(all) {
        let version = document.get(MARK).and_then(Json::as_str).unwrap_or_default();
        let version = version.strip_prefix("fio-").unwrap_or(version);
        let global = document.get("global options").and_then(Json::as_object);
        let jobs = document.get("jobs").and_then(Json::as_array).ok_or_else(|| no_jobs(&document));
        let jobs = jobs?;
        for job in jobs {
            let alike = jobs.iter().filter(|other| place(other) == place(job)).count();
            said.push(result(version, global, job, alike > 1)?);
        }
    }
    match (said.is_empty(), is_json(text)) {
        (true, true) => Err(WRAPPED.to_owned()),
        (true, false) => Err("there is no JSON document of fio's in it".to_owned()),
        (false, _) => Ok(said),
    }
}

const WRAPPED: &str = "there is no JSON document of fio's in it that stands by itself; take it out \
                       of what is around it, as with `jq .NAME FILE`";

/// What an entry is of: several of one name and group are jobs of which each has its own.
fn place(job: &Json) -> [Option<&Json>; 2] {
    [job.get("jobname"), job.get("groupid")]
}

fn no_jobs(document: &Json) -> String {
    match document.get("client_stats") {
        Some(_) => "it is of several machines at once (`fio --client`), and their sum is among \
                    them; run fio on each of them, and import what each printed"
            .to_owned(),
        None => "its JSON has no jobs".to_owned(),
    }
}

fn result(
    version: &str,
    global: Option<&Map<String, Json>>,
    job: &Json,
    each: bool,
) -> Result<Said, String> {
    let own = job.get("job options").and_then(Json::as_object);
    let options: Vec<&Map<String, Json>> = global.into_iter().chain(own).collect();
    let title = job.get("jobname").and_then(Json::as_str).unwrap_or_default().to_owned();
    match job.get("error").and_then(Json::as_i64) {
        Some(0) => {}
        Some(number) => return Err(failed(&title, number)),
        None => return Err(format!("its job {title} does not say whether it failed")),
    }
    let settings = settings_of(&options, each);
    let mut said = Said { version: version.to_owned(), title, settings, ..Said::default() };
    let mut ways = Vec::new();
    for way in ["read", "write", "trim", MIXED] {
        let Some(of) = job.get(way) else { continue };
        if did(of, is_old(version)).map_err(|why| format!("its job {} {why} {way}", said.title))? {
            ways.push(way);
        }
    }
    if ways.is_empty() {
        return Err(format!("its job {} completed no I/O", said.title));
    }
    for way in &ways {
        let alone = ways.len() == 1 && matches!(*way, "read" | "write");
        let before = if alone { String::new() } else { format!("{way}_") };
        direction(&mut said, &before, &job[*way], is_old(version));
    }
    for (name, key) in [("user_cpu_share", "usr_cpu"), ("system_cpu_share", "sys_cpu")] {
        if let Some(percent) = job.get(key).and_then(Json::as_f64) {
            said.add(name, percent / 100.0, format!("{percent} %"));
        }
    }
    Ok(said)
}

/// Of a job that ended with an error of that number.
fn failed(job: &str, number: i64) -> String {
    let error = std::io::Error::from_raw_os_error(i32::try_from(number).unwrap_or(0));
    format!("its job {job} failed: {error}")
}

/// What fio calls all directions as one.
const MIXED: &str = "mixed";

/// Whether a version is before 3.2, the first that tells its rates in bytes (`bw_bytes`).
fn is_old(version: &str) -> bool {
    let mut numbers = version.split(['.', '-']).map(|number| number.parse::<u32>().ok());
    let mut number = || numbers.next().flatten();
    number().zip(number()).is_some_and(|version| version < (3, 2))
}

/// Whether a direction did any I/O. fio 2.1 did not count them: there one without bytes and without
/// a rate did nothing, and one that has only one of them is not believed.
///
/// # Errors
/// Where that is not told, or told in two ways: one that lost its count is no one that did nothing,
/// and the others would stand alone.
fn did(of: &Json, old: bool) -> Result<bool, &'static str> {
    const NOT_TOLD: &str = "does not say how often it did";
    let number = |key: &str| of.get(key).and_then(Json::as_f64);
    let moved = ["io_bytes", "iops"].iter().any(|key| number(key).is_some_and(|it| it > 0.0));
    match of.get("total_ios") {
        Some(count) => match count.as_u64().ok_or(NOT_TOLD)? {
            0 if moved => Err("completed no I/O, and says how fast it did"),
            0 => Ok(false),
            _ if moved => Ok(true),
            _ => Err("moved nothing with the I/Os that it counts of"),
        },
        None if old => {
            let [bytes, rate, iops] =
                ["io_bytes", "bw", "iops"].map(|key| number(key).map(|it| it > 0.0));
            match (bytes, rate, iops) {
                (None, _, _) | (_, None, _) | (_, _, None) => Err(NOT_TOLD),
                (Some(true), Some(true), _) => Ok(true),
                (Some(false), Some(false), Some(false)) => Ok(false),
                _ => Err("does not say with one voice whether it did"),
            }
        }
        None => Err(NOT_TOLD),
    }
}

/// Figures of one direction, named with `before`. Keys tell the unit, of whatever version: `bw` is
/// in KiB/s, and of an old one all that there is; `lat` is in us and `lat_ns` in ns.
fn direction(said: &mut Said, before: &str, of: &Json, old: bool) {
    const RATES: [(&str, f64, &str); 2] = [("bw_bytes", 1.0, "B/s"), ("bw", 1024.0, "KiB/s")];
    let first = |keys: [(&'static str, f64, &'static str); 2]| {
        keys.into_iter().find_map(|(key, factor, unit)| Some((of.get(key)?, factor, unit)))
    };
    // A newer one that lost its bytes is not to be told in rounded ones.
    let rate = first(RATES).filter(|(_, factor, _)| old || *factor == 1.0);
    let iops = of.get("iops").map(|iops| (iops, 1.0, "IOPS"));
    for (name, told) in [("throughput_bytes_per_s", rate), ("iops", iops)] {
        if let Some((rate, factor, unit)) = told
            && let Some(value) = rate.as_f64()
        {
            said.add(format!("{before}{name}"), value * factor, format!("{value} {unit}"));
        }
    }
    for (name, keys) in [
        ("latency_ns", [("lat_ns", 1.0, "ns"), ("lat", 1000.0, "us")]),
        ("completion_latency_ns", [("clat_ns", 1.0, "ns"), ("clat", 1000.0, "us")]),
    ] {
        let Some((latency, factor, unit)) = first(keys) else { continue };
        let mut add = |what: &str, value: Option<&Json>| {
            if let Some(value) = value.and_then(Json::as_f64) {
                let name = format!("{before}{name}_{what}");
                said.add(name, value * factor, format!("{value} {unit}"));
            }
        };
        add("mean", latency.get("mean"));
        add("max", latency.get("max"));
        let percentiles = latency.get("percentile").and_then(Json::as_object);
        for (key, value) in percentiles.into_iter().flatten() {
            if let Some(what) = key.parse().ok().and_then(percentile_of) {
                add(what, Some(value));
            }
        }
    }
}

/// How a percentile is called in the name of a figure; `None` of those that are not kept.
fn percentile_of(percent: f64) -> Option<&'static str> {
    let known = [(50.0, "p50"), (90.0, "p90"), (95.0, "p95"), (99.0, "p99"), (99.9, "p999")];
    known.into_iter().find(|(known, _)| *known == percent).map(|(_, name)| name)
}

/// Our word for fio's `rw`.
fn access_of(rw: &str) -> Option<&'static str> {
    match rw {
        "read" => Some("read"),
        "write" => Some("write"),
        "randread" => Some("random-read"),
        "randwrite" => Some("random-write"),
        "randrw" => Some("random-mix"),
        _ => None,
    }
}

/// Our word for fio's `ioengine`.
fn io_engine_of(name: &str) -> Option<&'static str> {
    match name {
        "io_uring" => Some("uring"),
        "libaio" => Some("aio"),
        "psync" | "sync" => Some("sync"),
        "mmap" => Some("mmap"),
        _ => None,
    }
}

/// Knobs out of the options that fio repeats; what it does not repeat stays unknown. `each` says
/// that every job has an entry of its own, though all of them repeat how many there are.
fn settings_of(options: &[&Map<String, Json>], each: bool) -> Map<String, Json> {
    let option = |name: &str| {
        let all = options.iter().rev();
        all.filter_map(|of| of.get(name)).find_map(Json::as_str)
    };
    let mut known = Map::new();
    let mut set = |knob: &str, value: Option<Json>| {
        if let Some(value) = value {
            known.insert(knob.to_owned(), value);
        }
    };
    let count = |name: &str| option(name).and_then(|text| text.parse::<u64>().ok());
    let access = option("rw").or(option("readwrite")).and_then(access_of);
    set("access", access.map(Json::from));
    set("block-size", option("bs").or(option("blocksize")).and_then(bytes).map(Json::from));
    set("queue-depth", count("iodepth").map(Json::from));
    let grouped = option("group_reporting").and_then(switch) == Some(true);
    // One entry of several jobs that are not put together is what somebody kept of it.
    let jobs = count("numjobs").filter(|jobs| grouped || *jobs == 1);
    let streams = if each { Some(1) } else { jobs };
    set("streams", streams.map(Json::from));
    let files = count("nrfiles");
    let size = option("size").and_then(bytes);
    // `size` is of all files of a job.
    let each = size.and_then(|size| Some(size / files.unwrap_or(1).max(1)).filter(|it| *it > 0));
    set("file-size", each.map(Json::from));
    set("files", files.map(Json::from));
    set("direct", option("direct").and_then(switch).map(Json::from));
    let engine = option("ioengine").and_then(io_engine_of);
    set("io-engine", engine.map(Json::from));
    let share = count("rwmixread").filter(|percent| *percent <= 100);
    set("read-share", share.map(|percent| Json::from(percent as f64 / 100.0)));
    known
}

/// A size as fio reads it: `4k` is 4096. Longer units mean one thing or the other by `kb_base`, and
/// are left unknown.
fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "1" | "true" | "" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{figure, rounded};

    const READ: &str = include_str!("../../../tests/fixtures/tools/fio-3.33-read.txt");
    const MIXED: &str = include_str!("../../../tests/fixtures/tools/fio-3.33-mixed.txt");
    const TWO: &str = include_str!("../../../tests/fixtures/tools/fio-3.33-two-jobs.txt");
    const OLD: &str = include_str!("../../../tests/fixtures/tools/fio-2.15-readwrite.txt");
    const OLDEST: &str = include_str!("../../../tests/fixtures/tools/fio-2.1.4-no-total_ios.txt");
    const LINE: &str = include_str!("../../../tests/fixtures/tools/fio-3.42-minified.txt");
    const EACH: &str = include_str!("../../../tests/fixtures/tools/fio-3.19-numjobs.txt");
    const UNIFIED: &str = include_str!("../../../tests/fixtures/tools/fio-3.42-unified.txt");

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
        assert_eq!(
            (&said.settings["streams"], &said.settings["direct"]),
            (&2.into(), &true.into())
        );
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

    /// `fio --client` of two machines has the sum of both beside them.
    #[test]
    fn what_several_machines_did_is_refused_with_what_to_import_instead() {
        let clients = LINE.replace("\"jobs\"", "\"client_stats\"");
        assert!(parse(&clients).unwrap_err().contains("fio --client"));
    }

    #[test]
    fn sizes_mean_what_fio_means_by_them_or_nothing() {
        assert_eq!(bytes("4k"), Some(4096));
        assert_eq!(bytes("128M"), Some(128 << 20));
        assert_eq!(bytes("512"), Some(512));
        assert_eq!((bytes("4KiB"), bytes("4kb"), bytes(""), bytes("k")), (None, None, None, None));
        assert_eq!(bytes("99999999999999999999g"), None);
        assert_eq!(bytes("9999999999999999999t"), None);
    }
}
