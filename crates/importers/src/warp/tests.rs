//! What is read of warp, by outputs that were recorded.

use super::*;
use crate::testing::{figure, rounded, same_with_lines_between};

const GET: &str = include_str!("../../../../tests/fixtures/tools/warp-0.7.7-get.txt");
const VERBOSE: &str = include_str!("../../../../tests/fixtures/tools/warp-0.7.7-verbose.txt");
const JSON: &str = include_str!("../../../../tests/fixtures/tools/warp-0.7.7-json.txt");
const RAW_DATA: &str = include_str!("../../../../tests/fixtures/tools/warp-0.7.7-raw-refused.txt");
const TABLE: &str =
    include_str!("../../../../tests/fixtures/tools/warp-0.7.7-segments-refused.txt");
const OLD_MIX: &str = include_str!("../../../../tests/fixtures/tools/warp-0.3-mixed.txt");
const MIX: &str = include_str!("../../../../tests/fixtures/tools/warp-0.7-mixed.txt");
const HOSTS: &str = include_str!("../../../../tests/fixtures/tools/warp-1.0.0-hosts.txt");
const NEW_MIX: &str = include_str!("../../../../tests/fixtures/tools/warp-1.1-mixed.txt");
const NEW: &str = include_str!("../../../../tests/fixtures/tools/warp-1.1.3-get.txt");
const NEW_JSON: &str = include_str!("../../../../tests/fixtures/tools/warp-1.1.3-json.txt");
const PARTS: &str = include_str!("../../../../tests/fixtures/tools/warp-1.6.1-multipart.txt");

fn titles(all: &[ToolResult]) -> Vec<&str> {
    all.iter().map(|said| said.title.as_str()).collect()
}

/// 3489.26 * 1048576 = 3658754293.76; the fastest second 3770.7 * 1048576 = 3953865523.2.
#[test]
fn each_kind_of_request_is_a_result() {
    let all = parse(GET).unwrap();
    assert_eq!(titles(&all), ["PUT, concurrency 13", "GET, concurrency 12"]);
    let get = &all[1];
    assert_eq!(rounded(get, "throughput_bytes_per_s"), Some(3_658_754_293.76));
    assert_eq!(figure(get, "objects_per_s"), Some(348.93));
    assert_eq!(rounded(get, "fastest_throughput_bytes_per_s"), Some(3_953_865_523.2));
    assert_eq!(figure(get, "median_objects_per_s"), Some(353.88));
    assert_eq!(figure(get, "slowest_objects_per_s"), Some(307.35));
    assert_eq!(get.figures.len(), 8);
    let all = parse(VERBOSE).unwrap();
    let get = &all[1];
    assert_eq!(rounded(get, "throughput_bytes_per_s"), Some(3_658_754_293.76));
    for (name, ms) in [
        ("latency_ns_mean", 34.0),
        ("latency_ns_p50", 33.0),
        ("latency_ns_p99", 60.0),
        ("latency_ns_min", 12.0),
        ("latency_ns_max", 124.0),
        ("latency_ns_stddev", 7.0),
        ("first_byte_latency_ns_mean", 19.0),
        ("first_byte_latency_ns_p25", 15.0),
        ("first_byte_latency_ns_p99", 36.0),
        ("first_byte_latency_ns_max", 97.0),
        ("first_byte_latency_ns_stddev", 6.0),
    ] {
        assert_eq!(rounded(get, name), Some(ms * 1e6), "{name}");
    }
    assert_eq!(get.notes[0].text, "what it has of the first and the last access is left out");
    assert_eq!(figure(&all[0], "first_byte_latency_ns_mean"), None);
    let hosts = &parse(HOSTS).unwrap()[0];
    assert_eq!(hosts.notes[0].text, "its rates by host and by client are left out");
    // 39.06 * 2^30 and 39010.49 * 2^20.
    assert_eq!(rounded(hosts, "fastest_throughput_bytes_per_s"), Some(41_940_355_645.44));
    assert_eq!(rounded(hosts, "throughput_bytes_per_s"), Some(40_905_463_562.24));
}

#[test]
fn what_1_1_reports_is_read_with_its_times() {
    let all = parse(NEW).unwrap();
    assert_eq!(titles(&all), ["GET, concurrency 12", "PUT, concurrency 1"]);
    // 3487.24 * 1048576.
    assert_eq!(rounded(&all[0], "throughput_bytes_per_s"), Some(3_656_636_170.24));
    assert_eq!(rounded(&all[0], "latency_ns_mean"), Some(34_000_000.0));
    assert_eq!(rounded(&all[0], "first_byte_latency_ns_p99"), Some(35_000_000.0));
    let all = parse(NEW_MIX).unwrap();
    assert_eq!(figure(&all[0], "throughput_bytes_per_s"), None);
    assert_eq!(figure(&all[0], "objects_per_s"), Some(2.7));
    assert_eq!(figure(&all[0], "slowest_objects_per_s"), Some(0.0));
    assert_eq!(rounded(&all[1], "latency_ns_max"), Some(2_008_300_000.0));
    assert_eq!(rounded(&all[1], "first_byte_latency_ns_stddev"), Some(54_000_000.0));
    let parts = parse(PARTS).unwrap();
    assert_eq!(titles(&parts), ["PUTPART, concurrency 400"]);
    assert_eq!(rounded(&parts[0], "latency_ns_p99"), Some(4_395_200_000.0));
    let errors =
        NEW_MIX.replace("12.13 obj/s (298s)\n", "12.13 obj/s, 9 errors (298s)\n * Errors: 10\n");
    assert_eq!(figure(&parse(&errors).unwrap()[1], "errors"), Some(10.0));
    let by_size = "\nRequest size 1MiB -> 10MiB . Requests: 7\n * Reqs: Avg: 5.1MiB/s\n";
    let of_get = "\nThroughput, split into 298";
    let sizes = NEW_MIX.replace(of_get, &format!("{by_size}{of_get}"));
    let sizes = &parse(&sizes).unwrap()[1];
    assert_eq!(sizes.notes[0].text, "what it has by size is left out");
    assert_eq!(sizes.figures, all[1].figures);
}

/// 279.85 * 1048576 = 293443993.6.
#[test]
fn a_mix_is_whole_with_its_total() {
    let all = parse(MIX).unwrap();
    let due = [
        "DELETE of a mix, concurrency 20",
        "GET of a mix, concurrency 20",
        "PUT of a mix, concurrency 20",
        "STAT of a mix, concurrency 20",
        "all requests of a mix",
    ];
    assert_eq!(titles(&all), due);
    assert_eq!(rounded(&all[1], "throughput_bytes_per_s"), Some(293_443_993.6));
    assert_eq!(figure(&all[4], "objects_per_s"), Some(61.79));
    assert!(all.iter().all(|said| said.settings.is_empty()));
    assert_eq!(titles(&parse(OLD_MIX).unwrap()), due);
    let end = MIX.find("Cluster").unwrap();
    assert!(parse(&MIX[..end]).unwrap_err().contains("cut short: a mix of it"));
    let lost = MIX.replace(" * Throughput: 6.19 obj/s\n", "");
    assert!(parse(&lost).unwrap_err().contains("DELETE of a mix, concurrency 20 has no average"));
}

/// 1471983779.5 and so on are bytes a second; since 1.1 the rate is 1000 * bytes / ms.
#[test]
fn both_kinds_of_json_have_the_figures_of_the_text() {
    let said = &parse(JSON).unwrap()[0];
    let text = &parse(GET).unwrap()[0];
    assert_eq!(said.title, text.title);
    for name in ["throughput_bytes_per_s", "objects_per_s", "slowest_throughput_bytes_per_s"] {
        let (of_json, of_text) = (figure(said, name).unwrap(), figure(text, name).unwrap());
        assert!((of_json / of_text - 1.0).abs() < 1e-4, "{name}: {of_json} {of_text}");
    }
    assert_eq!(figure(said, "latency_ns_mean"), Some(80e6));
    assert_eq!(figure(said, "latency_ns_p99"), Some(150e6));
    assert_eq!(figure(said, "errors"), Some(0.0));
    let said = &parse(NEW_JSON).unwrap()[0];
    let text = &parse(NEW).unwrap()[1];
    assert_eq!(said.title, text.title);
    for name in ["throughput_bytes_per_s", "objects_per_s", "fastest_throughput_bytes_per_s"] {
        let (of_json, of_text) = (figure(said, name).unwrap(), figure(text, name).unwrap());
        assert!((of_json / of_text - 1.0).abs() < 1e-4, "{name}: {of_json} {of_text}");
    }
    assert!(said.notes[0].text.contains("`warp analyze` prints has them"), "{:?}", said.notes);
    let cut = &NEW_JSON[..NEW_JSON.len() - 20];
    assert!(knows(cut) && parse(cut).unwrap_err().contains("cut short"));
}

#[test]
fn what_is_not_read_is_refused_by_its_name() {
    assert!(parse(RAW_DATA).unwrap_err().contains("bring what `warp analyze FILE` prints"));
    assert!(parse(TABLE).unwrap_err().contains("table of segments (--analyze.out)"));
    let few = "Skipping PUT too few samples. Longer benchmark run required for reliable results.\n";
    assert_eq!(parse(few).unwrap_err(), "of PUT it has too few samples for a rate");
    let both = parse(&format!("{GET}\n{few}")).unwrap();
    assert_eq!(both[0].notes[0].text, "of PUT it has too few samples for a rate");
    for (from, to, why) in [
        (" * Slowest: 3073.5MiB/s, 307.35 obj/s\n", "", "has no slowest second"),
        ("* Average: 3489.26", "* Average: x", "is no rate"),
        ("50% Median: 3538.8MiB/s, 353.88", "50% Median: 4538.8MiB/s, 453.88", "not in order"),
        ("* Average: 3489.26 MiB/s, 348.93 obj/s\n", "", "no average rate"),
    ] {
        let why_not = parse(&GET.replace(from, to)).unwrap_err();
        assert!(why_not.contains(why), "{why_not}");
    }
    let size = VERBOSE.replace("* Average: 3489.26 MiB/s", "* Average: 2489.26 MiB/s");
    assert!(parse(&size).unwrap_err().contains("not its objects of that size"));
    let fast = VERBOSE.replace("3489.26 MiB/s, 348.93", "6978.52 MiB/s, 697.86");
    assert!(parse(&fast).unwrap_err().contains("above that of its fastest second"));
    let late = VERBOSE.replace(" * TTFB: Avg: 19ms", " * TTFB: Avg: 190ms");
    assert!(parse(&late).unwrap_err().contains("comes after the last"));
}

/// Lines of a shell and of progress between, and parts that are left out.
#[test]
fn what_stands_between_changes_no_figure() {
    let all = [GET, VERBOSE, OLD_MIX, MIX, HOSTS, NEW_MIX, NEW, PARTS];
    let lines = [
        "",
        "warp: Cleanup Done.",
        " -   PUTPART Average: 266 Obj/s, 33.2MiB/s; Current 260 Obj/s, 32.5MiB/s",
        "Reqs: 15867, Errs:0, Objs:15867, Bytes: 1983.4MiB",
        " * http://192.0.2.1:9000: Avg: 85.01 obj/s",
    ];
    same_with_lines_between(&WARP, &all, &lines, 240);
}
