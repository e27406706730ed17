//! (pure) Which entries a document has: of one machine (`jobs`), or of several that one run of
//! `fio --client` asked (`client_stats`), with the sum of all of them behind (client.c: handle_ts).

use serde_json::{Map, Value as Json};

/// What is told of one job, or of one group of jobs.
pub struct FioEntry<'a> {
    pub job: &'a Json,
    /// What it is called, with the machine where there are several.
    pub title: String,
    /// What it was asked, the most general first; empty where that is not told truly.
    pub options: Vec<&'a Map<String, Json>>,
    /// Whether each job has an entry of its own, though all of them repeat how many there are.
    pub each: bool,
}

/// The entries of a document.
///
/// # Errors
/// When it has none, or its sum is not that of its machines.
pub fn find_entries(document: &Json) -> Result<Vec<FioEntry<'_>>, String> {
    let list = |key: &str| document.get(key).and_then(Json::as_array);
    match (list("jobs"), list("client_stats")) {
        (Some(jobs), _) => Ok(of_one_machine(document, jobs)),
        (None, Some(stats)) => of_machines(document, stats),
        (None, None) => Err("its JSON has no jobs".to_owned()),
    }
}

fn of_one_machine<'a>(document: &'a Json, jobs: &'a [Json]) -> Vec<FioEntry<'a>> {
    let global = document.get("global options").and_then(Json::as_object);
    let entry = |job: &'a Json| FioEntry {
        job,
        title: name(job).to_owned(),
        options: global.into_iter().chain(own(job)).collect(),
        each: jobs.iter().filter(|other| place(other) == place(job)).count() > 1,
    };
    jobs.iter().map(entry).collect()
}

fn name(job: &Json) -> &str {
    job.get("jobname").and_then(Json::as_str).unwrap_or_default()
}

fn own(job: &Json) -> Option<&Map<String, Json>> {
    job.get("job options").and_then(Json::as_object)
}

/// What an entry is of: several of one place are jobs of which each has its own.
fn place(job: &Json) -> [Option<&Json>; 4] {
    ["jobname", "groupid", "hostname", "port"].map(|key| job.get(key))
}

/// How fio calls the sum of its machines.
pub const SUM: &str = "All clients";

fn of_machines<'a>(document: &'a Json, stats: &'a [Json]) -> Result<Vec<FioEntry<'a>>, String> {
    let is_sum = |job: &&Json| name(job) == SUM && own(job).is_none();
    let (sum, machines) = match stats.split_last() {
        Some((last, others)) if is_sum(&last) => (Some(last), others),
        _ => (None, stats),
    };
    // The sum alone is what somebody kept of it.
    let none = machines.is_empty() && sum.is_none();
    if none || machines.iter().any(|job| is_sum(&job)) {
        return Err("its `client_stats` are not of machines, and then of all of them".to_owned());
    }
    if machines.iter().any(|job| job.get("hostname").and_then(Json::as_str).is_none()) {
        return Err("one of its `client_stats` does not say of which machine it is".to_owned());
    }
    let mut entries: Vec<FioEntry<'_>> =
        machines.iter().map(|job| of_machine(document, machines, job)).collect();
    if let Some(job) = sum {
        if !machines.is_empty() {
            adds_up(machines, job)?;
        }
        // It has the name of the machine that answered last, and is not of it alone.
        entries.push(FioEntry { job, title: SUM.to_owned(), options: Vec::new(), each: false });
    }
    Ok(entries)
}

fn of_machine<'a>(document: &'a Json, machines: &[Json], job: &'a Json) -> FioEntry<'a> {
    let of_host = |other: &Json, key: &str| other.get(key) == job.get(key);
    let here = |other: &&Json| of_host(other, "hostname") && of_host(other, "port");
    let text = |key: &str| job.get(key).map(|it| it.as_str().map_or(it.to_string(), str::to_owned));
    let mut title = format!("{} on {}", name(job), text("hostname").unwrap_or_default());
    // Several servers of one machine differ by their ports.
    if let Some(port) = text("port")
        && machines.iter().any(|other| of_host(other, "hostname") && !of_host(other, "port"))
    {
        title = format!("{title}:{port}");
    }
    let alone = machines.iter().all(|other| here(&other));
    let global = match document.get("global options") {
        // Of each machine its own, since 3.39.
        Some(Json::Array(all)) => all.iter().find(here).and_then(Json::as_object),
        // Before, those of all machines are put into one: of two that differ the last one stands.
        Some(Json::Object(one)) if alone => Some(one),
        _ => None,
    };
    // fio looks the options of an entry up by the number of its first thread, and files them by
    // the number of the entry: where entries are of several jobs they may be another's.
    let entries = machines.iter().filter(here).count();
    let one_job = |of: &Json| {
        let all = global.into_iter().chain(own(of));
        all.into_iter().all(|options| !options.contains_key("numjobs"))
    };
    let told_truly = entries == 1 || global.is_some() && machines.iter().filter(here).all(one_job);
    let options: Vec<_> = global.into_iter().chain(own(job)).collect();
    FioEntry {
        job,
        title,
        options: if told_truly { options } else { Vec::new() },
        each: machines.iter().filter(|other| place(other) == place(job)).count() > 1,
    }
}

/// What counts only: rates of machines need not add up, as the time of the slowest is that of all.
fn adds_up(machines: &[Json], sum: &Json) -> Result<(), String> {
    for way in ["read", "write", "trim", "mixed"] {
        for key in ["io_bytes", "total_ios"] {
            let of = |job: &Json| job.get(way)?.get(key)?.as_u64();
            let Some(told) = of(sum) else { continue };
            let all = machines.iter().try_fold(0u64, |all, job| all.checked_add(of(job)?));
            if all != Some(told) {
                return Err(format!(
                    "its `{SUM}` has {told} {key} of {way}, and its machines do not add up to that"
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::FIO;
    use crate::ToolResult;
    use crate::testing::{figure, rounded};

    const MERGED: &str = include_str!("../../../../tests/fixtures/tools/fio-3.33-clients.txt");
    const OWN: &str = include_str!("../../../../tests/fixtures/tools/fio-3.42-clients.txt");

    fn titles(said: &[ToolResult]) -> Vec<&str> {
        said.iter().map(|said| said.title.as_str()).collect()
    }

    /// `fio --client` of several machines was refused, as their sum stands among them. 8388608
    /// bytes in 239 ms are 35098778 B/s.
    #[test]
    fn each_machine_is_a_result_and_their_sum_is_one_of_its_own() {
        let said = (FIO.parse)(OWN).unwrap();
        let due = ["small on 127.0.0.1:8775", "large on 127.0.0.1:8776", "All clients"];
        assert_eq!(titles(&said), due);
        let rate = |of: &ToolResult| figure(of, "throughput_bytes_per_s").unwrap();
        let rates: Vec<f64> = said.iter().map(rate).collect();
        assert_eq!(rates, [35_098_778.0, 67_108_864.0, 70_197_556.0]);
        assert_eq!(rounded(&said[2], "iops"), Some(9104.603));
        // Each was asked something else; the sum has no settings, though it has a host's name.
        assert_eq!(said[0].settings["block-size"], 4096);
        assert_eq!(said[1].settings["block-size"], 65_536);
        assert!(said[2].settings.is_empty(), "{:?}", said[2].settings);
    }

    /// Until 3.38 options of all machines were put into one object: the 4 KiB of one of them were
    /// told of the other, which read 64 KiB.
    #[test]
    fn options_that_are_of_all_machines_at_once_are_of_none() {
        let said = (FIO.parse)(MERGED).unwrap();
        assert_eq!(said.len(), 3);
        assert_eq!(rounded(&said[0], "throughput_bytes_per_s"), Some(161_319_384.0));
        assert!(said.iter().all(|said| !said.settings.contains_key("block-size")), "{said:?}");
    }

    /// fio looks options up by the number of a thread: those of the next job stand at a group.
    #[test]
    fn options_that_may_be_of_another_job_are_of_none() {
        let more = |text: &str| {
            let at = text.find("\"clat_percentiles\"").unwrap();
            format!("{}\"numjobs\":\"2\",{}", &text[..at], &text[at..])
        };
        let same_host = OWN.replace("8776", "8775");
        assert!((FIO.parse)(&same_host).unwrap()[0].settings.contains_key("block-size"));
        assert!((FIO.parse)(&more(&same_host)).unwrap()[0].settings.is_empty());
        // An only entry of a machine has its own.
        assert_eq!((FIO.parse)(&more(OWN)).unwrap()[0].settings["block-size"], 4096);
    }

    #[test]
    fn a_sum_that_is_not_that_of_its_machines_is_refused() {
        let other = OWN.replacen("\"total_ios\":2176", "\"total_ios\":2177", 1);
        let why = (FIO.parse)(&other).unwrap_err();
        assert!(why.contains("`All clients` has 2177 total_ios of read"), "{why}");
        let nameless =
            OWN.replacen("\"hostname\":\"127.0.0.1\",\"port\":8775}", "\"port\":8775}", 1);
        let why = (FIO.parse)(&nameless).unwrap_err();
        assert!(why.contains("of which machine"), "{why}");
        let none = "{\n\"fio version\": \"fio-3.42\", \"client_stats\": []\n}\n";
        assert!((FIO.parse)(none).unwrap_err().contains("client_stats"));
    }

    /// As somebody kept it of fio 2.6: its `io_bytes` are KiB, 16653 KiB/s are 17052672 B/s.
    #[test]
    fn a_sum_that_stands_alone_is_a_result() {
        let text = "{\n\"fio version\": \"fio-2.6\", \"global options\": {\"bs\": \"4k\"}, \
                    \"client_stats\": [{\"jobname\": \"All clients\", \"groupid\": 0, \
                    \"error\": 0, \"mixed\": {\"io_bytes\": 2021176, \"bw\": 16653, \
                    \"iops\": 2252.49, \"runtime\": 121363, \"total_ios\": 273369, \
                    \"slat\": {\"min\": 0, \"max\": 0, \"mean\": 0.0, \"stddev\": 0.0}, \
                    \"lat\": {\"min\": 431, \"max\": 3781314, \
                    \"mean\": 1782.92, \"stddev\": 19405.44}}, \"hostname\": \"server\"}]\n}\n";
        let said = (FIO.parse)(text).unwrap();
        assert_eq!((titles(&said), said[0].settings.len()), (vec!["All clients"], 0));
        for (name, value) in [
            ("mixed_throughput_bytes_per_s", Some(17_052_672.0)),
            ("mixed_iops", Some(2252.49)),
            ("mixed_latency_ns_mean", Some(1_782_920.0)),
            ("mixed_submission_latency_ns_mean", None),
        ] {
            assert_eq!(rounded(&said[0], name), value, "{name}");
        }
    }
}
