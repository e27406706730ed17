//! Datagrams over a link of known rate: what is more than it carries is lost, and is counted to the
//! last one.

use serde_json::Value;

use crate::disk::{beside_another_disk, sh, usable};
use crate::network::{BUCKET, Pair, limit};
use crate::run::{draw, figure, trials};

/// What the link has dropped before this end sent it, since it was shaped.
pub fn dropped(end: &str) -> u64 {
    let told = sh("tc", &["-n", end, "-s", "-j", "qdisc", "show", "dev", "link0"]);
    let all: Value = serde_json::from_str(&told).expect("JSON of tc");
    let bucket = all.as_array().and_then(|all| all.iter().find(|it| it["kind"] == "tbf"));
    let bucket = bucket.unwrap_or_else(|| panic!("no token bucket: {told}"));
    bucket["drops"].as_u64().expect("a count")
}

/// A program that takes the sender's rate for the network's says that the link does twice what it
/// does; one that counts loss in a window is off by what stands in the queue.
#[test]
fn what_overruns_a_link_is_lost_to_the_datagram() {
    if !usable("datagrams over a shaped veth", &["ip", "tc"]) {
        return;
    }
    let _beside = beside_another_disk();
    let pair = Pair::new();
    let rate = draw("rate of the link that is overrun, Mb/s", 50, 150);
    let factor = draw("times as much as it carries, tenths", 13, 25);
    let bytes = draw("bytes of a datagram", 600, 1473);
    let folder = tempfile::tempdir().expect("a folder");
    pair.shape_with(rate, &["limit", "60kb"]);
    let before = dropped(&pair.a);
    // What a token bucket counts of each: IP, UDP and Ethernet besides the payload.
    let on_wire = bytes as f64 / (bytes + 20 + 8 + 14) as f64;
    let carried = rate as f64 * 1e6 * on_wire;
    let pacing = format!("pacing={}b/s", (carried * factor as f64 / 10.0) as u64);
    let size = format!("datagram-size={bytes}");
    let more = [pacing.as_str(), &size, "socket-buffer=200KiB"];
    let document = pair.run_workload("udp-stream", folder.path(), &more);
    let trial = trials(&document)[0];
    let (lost, sent) = (figure(trial, "datagrams_lost"), figure(trial, "datagrams_sent"));
    let by_link = dropped(&pair.a) - before;
    println!("{lost} of {sent} lost, and the link dropped {by_link}");
    // A receiver that gets no processor for 10 ms finds its socket full.
    let by_socket = figure(trial, "datagrams_dropped_by_socket");
    assert_eq!(lost as u64, by_link + by_socket as u64, "{trial:#}");
    assert!(by_socket < 0.01 * sent, "{trial:#}");
    let share = figure(trial, "throughput_bytes_per_s") * 8.0 / carried;
    println!("{share:.4} of what the link carries arrived");
    let starved = by_socket / (sent - lost);
    assert!((share - 1.0).abs() < 0.01 + starved, "{share} of {carried}: {trial:#}");
    // A busy machine's sender may not keep its pace: what it sent says by how much it overran. The
    // bucket, full at first, goes besides. It was once put down as "a few hundredths" of whatever
    // the rate was: at 58 Mb/s it is 7 % of all that the link carries in 4 s.
    let pace = figure(trial, "sent_throughput_bytes_per_s");
    let offered = sent * bytes as f64;
    let goes = carried / 8.0 * (offered / pace) + BUCKET as f64 * on_wire;
    let expected = (1.0 - goes / offered).max(0.0);
    let loss = figure(trial, "loss_share");
    assert!((loss - expected).abs() < 0.03, "{loss} lost, {expected} expected: {trial:#}");
    let (word, claim) = limit(&document);
    assert_eq!(word, "network", "{claim}");
    assert_eq!(trial["origin"]["verdict"], "memory", "{trial:#}");
}

/// Half of what the link carries: a limit that is the load's own, and nothing is lost.
#[test]
fn below_the_rate_of_the_link_nothing_is_lost_and_the_pace_is_what_limits() {
    if !usable("datagrams over a shaped veth", &["ip", "tc"]) {
        return;
    }
    let _beside = beside_another_disk();
    let pair = Pair::new();
    let rate = draw("rate of the link that is not full, Mb/s", 100, 200);
    pair.shape(rate);
    let folder = tempfile::tempdir().expect("a folder");
    let pacing = format!("pacing={}kb/s", rate * 400);
    let more = [pacing.as_str(), "socket-buffer=200KiB"];
    let document = pair.run_workload("udp-stream", folder.path(), &more);
    let trial = trials(&document)[0];
    let lost = figure(trial, "datagrams_lost");
    assert_eq!(lost, figure(trial, "datagrams_dropped_by_socket"), "{trial:#}");
    assert!(lost < 0.01 * figure(trial, "datagrams_sent"), "{trial:#}");
    let share = figure(trial, "throughput_bytes_per_s") * 8.0 / (rate as f64 * 400e3);
    assert!((share - 1.0).abs() < 0.02, "{share} of the pace: {trial:#}");
    let (word, claim) = limit(&document);
    assert_eq!(word, "generator", "{claim}");
    let paced = pair.run_workload("tcp-stream", folder.path(), &[&pacing]);
    let share = figure(trials(&paced)[0], "throughput_bytes_per_s") * 8.0 / (rate as f64 * 400e3);
    println!("TCP: {share:.4} of its pace");
    assert!((share - 1.0).abs() < 0.05, "{share} of the pace: {paced:#}");
    let (word, claim) = limit(&paced);
    assert_eq!(word, "generator", "{claim}");
}
