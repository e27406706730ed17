//! Datagrams between two programs: over a link of a drawn rate, and past what drops them.

use serde_json::Value;

use super::Receiver;
use crate::disk::{alone, beside_a_guest, beside_another_disk, sh, usable};
use crate::network::{BUCKET, Pair, limit};
use crate::network_udp::dropped;
use crate::run::{draw, figure, noted, parse, trials};

/// What a token bucket counts of each datagram: IP, UDP and Ethernet besides the payload.
fn on_wire(bytes: u64) -> f64 {
    bytes as f64 / (bytes + 20 + 8 + 14) as f64
}

/// Whoever counts at the sender, or by what each machine says of itself, has no loss between both.
#[test]
fn what_overruns_the_link_between_two_programs_is_lost_to_the_datagram_either_way() {
    if !usable("datagrams of two ends over a shaped veth", &["ip", "tc"]) {
        return;
    }
    let _alone = alone();
    let pair = Pair::new();
    let folder = tempfile::tempdir().expect("a folder");
    let receiver = Receiver::new(&pair);
    for (direction, from) in [("send", &pair.a), ("receive", &pair.b)] {
        let rate = draw(&format!("rate of the link, {direction}, Mb/s"), 50, 150);
        let tenths = draw("times as much as it carries, tenths", 13, 25);
        let bytes = draw("bytes of a datagram", 600, 1473);
        pair.shape_end(from, rate, &["limit", "60kb"]);
        let before = dropped(from);
        let carried = rate as f64 * 1e6 * on_wire(bytes);
        let pacing = format!("pacing={}b/s", (carried * tenths as f64 / 10.0) as u64);
        let (size, way) = (format!("datagram-size={bytes}"), format!("direction={direction}"));
        let more = ["udp-stream", "stop=3s", &pacing, &size, &way, "socket-buffer=200KiB"];
        let document = parse(&receiver.output(&pair, folder.path(), &more));
        let trial = trials(&document)[0];
        let (lost, sent) = (figure(trial, "datagrams_lost"), figure(trial, "datagrams_sent"));
        let by_link = (dropped(from) - before) as f64;
        let by_socket = figure(trial, "datagrams_dropped_by_socket");
        println!("{direction}: {lost} of {sent} lost, the link dropped {by_link}");
        // None is lost that nobody dropped. Of the talk, which goes over the same link, the link
        // drops segments as well: a dozen lines, and each again. (Three were allowed, and four of
        // 36400 were dropped once.)
        let by_all = by_link + by_socket;
        let of_the_talk = 0.0..=25.0;
        assert!(of_the_talk.contains(&(by_all - lost)), "{lost} lost of {by_all}: {trial:#}");
        let share = figure(trial, "throughput_bytes_per_s") * 8.0 / carried;
        println!("{direction}: {share:.4} of what the link carries arrived");
        let starved = by_socket / (sent - lost);
        assert!((share - 1.0).abs() < 0.01 + starved, "{share} of {carried}: {trial:#}");
        // The bucket, full at first, goes besides what the link carries while it is offered more.
        let pace = figure(trial, "sent_throughput_bytes_per_s");
        let offered = sent * bytes as f64;
        let goes = carried / 8.0 * (offered / pace) + BUCKET as f64 * on_wire(bytes);
        let expected = (1.0 - goes / offered).max(0.0);
        let loss = figure(trial, "loss_share");
        println!("{direction}: {loss:.4} lost, {expected:.4} expected");
        assert!((loss - expected).abs() < 0.03, "{loss}, {expected} expected: {trial:#}");
        assert!(noted(trial, "over-two-machines") && noted(trial, "datagrams-lost"), "{trial:#}");
        assert_eq!(limit(&document).0, "network", "{document:#}");
        sh("tc", &["-n", from, "qdisc", "delete", "dev", "link0", "root"]);
    }
}

/// Half of what the link carries: nothing is lost, and a datagram of no size fills a packet.
#[test]
fn below_the_rate_of_the_link_nothing_is_lost_between_two_programs() {
    if !usable("datagrams of two ends over a shaped veth", &["ip", "tc"]) {
        return;
    }
    let _beside = beside_another_disk();
    let pair = Pair::new();
    let mtu = draw("MTU of the link", 1000, 9001);
    pair.mtu(mtu);
    let rate = draw("rate of the link that is not full, Mb/s", 100, 200);
    pair.shape(rate);
    let folder = tempfile::tempdir().expect("a folder");
    let receiver = Receiver::new(&pair);
    let pacing = format!("pacing={}kb/s", rate * 400);
    let more = ["udp-stream", "stop=3s", &pacing, "socket-buffer=200KiB"];
    let document = parse(&receiver.output(&pair, folder.path(), &more));
    let trial = trials(&document)[0];
    let (lost, sent) = (figure(trial, "datagrams_lost"), figure(trial, "datagrams_sent"));
    assert_eq!(lost, figure(trial, "datagrams_dropped_by_socket"), "{trial:#}");
    assert!(lost < 0.01 * sent, "{trial:#}");
    let share = figure(trial, "throughput_bytes_per_s") * 8.0 / (rate as f64 * 400e3);
    println!("{share:.4} of the pace");
    assert!((share - 1.0).abs() < 0.02, "{share} of the pace: {trial:#}");
    let told =
        |note: &Value| note["text"].as_str().is_some_and(|text| text.contains("datagram has"));
    let note = trial["notes"].as_array().expect("notes").iter().find(|note| told(note));
    let text = note.unwrap_or_else(|| panic!("{trial:#}"))["text"].as_str().unwrap_or_default();
    assert!(text.contains(&format!("has {} bytes", mtu - 28)), "{text}");
    assert_eq!(limit(&document).0, "generator", "{document:#}");
}

/// It would be 100 % loss, and a card that is blamed for it.
#[test]
fn a_firewall_that_drops_datagrams_is_told_with_what_to_open() {
    if !usable("two ends with a rule that drops UDP", &["ip"]) {
        return;
    }
    let _beside = beside_a_guest();
    let pair = Pair::new();
    let folder = tempfile::tempdir().expect("a folder");
    let receiver = Receiver::new(&pair);
    let said = |way: &str| {
        let more = ["udp-stream", "stop=1s", "pacing=10Mb/s", way];
        let output = receiver.output(&pair, folder.path(), &more);
        let document = parse(&output);
        let trial = trials(&document)[0];
        (trial["outcome"].as_str().unwrap_or_default().to_owned(), trial.to_string())
    };
    assert_eq!(said("direction=send").0, "done");
    // The table of local addresses comes after a rule of ours from now on.
    let drop_in = |end: &str, from: &str| {
        sh("ip", &["-n", end, "rule", "add", "pref", "20", "lookup", "local"]);
        sh("ip", &["-n", end, "rule", "delete", "pref", "0"]);
        let rule = ["pref", "10", "from", from, "ipproto", "udp", "blackhole"];
        sh("ip", &[&["-n", end, "rule", "add"], &rule[..]].concat());
    };
    drop_in(&pair.b, "10.89.0.1");
    let (outcome, text) = said("direction=send");
    assert_eq!(outcome, "failed", "{text}");
    assert!(text.contains("let UDP port 5210 in at 10.89.0.2"), "{text}");
    sh("ip", &["-n", &pair.b, "rule", "delete", "pref", "10"]);
    // Greetings go there, and nothing comes back.
    drop_in(&pair.a, "10.89.0.2");
    let (outcome, text) = said("direction=receive");
    assert_eq!(outcome, "failed", "{text}");
    assert!(text.contains("from 10.89.0.2:5210") && text.contains("firewall"), "{text}");
    assert_eq!(said("direction=send").0, "done");
}
