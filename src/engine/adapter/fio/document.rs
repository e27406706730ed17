//! (pure) What fio prints with `--output-format=json`: documents, with warnings before, between and
//! after them.

use serde_json::{Map, Value as Json};

use super::settings_of;
use crate::engine::adapter::{Said, json};

/// Every document of fio's has it.
const MARK: &str = "fio version";

/// Whether a text looks like fio's JSON, whole or not.
pub fn knows(text: &str) -> bool {
    text.contains("\"fio version\"")
}

/// One result for each job, or for each group of jobs with `group_reporting`, of every document.
///
/// # Errors
/// When there is no document, or one was cut short or is broken: then none has a result.
pub fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut said = Vec::new();
    let fios = |document: &Json| document.get(MARK).is_some();
    for document in json::documents(text)?.into_iter().filter(fios) {
        let version = document.get(MARK).and_then(Json::as_str).unwrap_or_default();
        let version = version.strip_prefix("fio-").unwrap_or(version);
        let global = document.get("global options").and_then(Json::as_object);
        let jobs = document.get("jobs").and_then(Json::as_array);
        for job in jobs.ok_or("its JSON has no jobs")? {
            said.push(result(version, global, job)?);
        }
    }
    match said.is_empty() {
        true => Err("there is no JSON document of fio's in it".to_owned()),
        false => Ok(said),
    }
}

fn result(version: &str, global: Option<&Map<String, Json>>, job: &Json) -> Result<Said, String> {
    let own = job.get("job options").and_then(Json::as_object);
    let options: Vec<&Map<String, Json>> = global.into_iter().chain(own).collect();
    let title = job.get("jobname").and_then(Json::as_str).unwrap_or_default().to_owned();
    match job.get("error").and_then(Json::as_i64) {
        Some(0) => {}
        Some(number) => {
            let error = std::io::Error::from_raw_os_error(i32::try_from(number).unwrap_or(0));
            return Err(format!("its job {title} failed: {error}"));
        }
        None => return Err(format!("its job {title} does not say whether it failed")),
    }
    let version = version.to_owned();
    let mut said = Said { version, title, settings: settings_of(&options), ..Said::default() };
    let moved = |way: &&str| {
        let done = job.get(way).and_then(|of| of.get("total_ios")).and_then(Json::as_u64);
        done.is_some_and(|done| done > 0)
    };
    let ways: Vec<&str> = ["read", "write", "trim"].into_iter().filter(moved).collect();
    if ways.is_empty() {
        return Err(format!("its job {} completed no I/O", said.title));
    }
    for way in &ways {
        let alone = ways.len() == 1 && *way != "trim";
        let before = if alone { String::new() } else { format!("{way}_") };
        direction(&mut said, &before, &job[*way]);
    }
    for (name, key) in [("user_cpu_share", "usr_cpu"), ("system_cpu_share", "sys_cpu")] {
        if let Some(percent) = job.get(key).and_then(Json::as_f64) {
            said.add(name, percent / 100.0, format!("{percent} %"));
        }
    }
    Ok(said)
}

/// Figures of one direction, named with `before`.
fn direction(said: &mut Said, before: &str, of: &Json) {
    for (name, key, unit) in
        [("throughput_bytes_per_s", "bw_bytes", "B/s"), ("iops", "iops", "IOPS")]
    {
        if let Some(value) = of.get(key).and_then(Json::as_f64) {
            said.add(format!("{before}{name}"), value, format!("{value} {unit}"));
        }
    }
    for (name, key) in [("latency_ns", "lat_ns"), ("completion_latency_ns", "clat_ns")] {
        let Some(latency) = of.get(key) else { continue };
        let mut add = |what: &str, value: Option<&Json>| {
            if let Some(value) = value.and_then(Json::as_f64) {
                said.add(format!("{before}{name}_{what}"), value, format!("{value} ns"));
            }
        };
        add("mean", latency.get("mean"));
        add("max", latency.get("max"));
        let percentiles = latency.get("percentile").and_then(Json::as_object);
        for (key, value) in percentiles.into_iter().flatten() {
            let known =
                [(50.0, "p50"), (90.0, "p90"), (95.0, "p95"), (99.0, "p99"), (99.9, "p999")];
            let Ok(percent) = key.parse::<f64>() else { continue };
            if let Some((_, what)) = known.into_iter().find(|(known, _)| *known == percent) {
                add(what, Some(value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::adapter::testing::figure;

    const READ: &str = include_str!("../../../../tests/fixtures/tools/fio-3.33-read.txt");
    const MIXED: &str = include_str!("../../../../tests/fixtures/tools/fio-3.33-mixed.txt");
    const TWO: &str = include_str!("../../../../tests/fixtures/tools/fio-3.33-two-jobs.txt");

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
}
