//! Both ways at once between two programs, each over a link of a drawn rate of its own.

use super::Receiver;
use crate::disk::{beside_another_disk, usable};
use crate::network::Pair;
use crate::run::{draw, figure, noted, parse, trials};

/// What TCP gets through a bucket that counts frames of so much payload: 1448 of 1514 bytes at an
/// MTU of 1500, bytes per second.
fn carried(megabits_per_s: u64) -> f64 {
    megabits_per_s as f64 * 1e6 / 8.0 * 1448.0 / 1514.0
}

/// A rate of both together is that of no link, and one end's clock knows nothing of what arrives at
/// the other. Acknowledgements take of each way what the other carries: one of 66 bytes for two
/// frames at most.
#[test]
fn each_way_gets_what_its_own_link_carries_and_the_sum_is_of_one_window() {
    if !usable("two ends over a veth that is shaped both ways", &["ip", "tc"]) {
        return;
    }
    let _beside = beside_another_disk();
    let pair = Pair::new();
    let folder = tempfile::tempdir().expect("a folder");
    let receiver = Receiver::new(&pair);
    let out = draw("rate to the peer, Mb/s", 60, 200);
    let back = draw("rate from the peer, Mb/s", 60, 200);
    pair.shape_end(&pair.a, out, &["latency", "50ms"]);
    pair.shape_end(&pair.b, back, &["latency", "50ms"]);
    let more = ["tcp-stream", "direction=both", "streams=2", "stop=5s", "verify=off,crc32c"];
    let document = parse(&receiver.output(&pair, folder.path(), &more));
    let all = trials(&document);
    assert_eq!(all.len(), 2, "{document:#}");
    for trial in all {
        let checked = trial["settings"]["verify"] == "crc32c";
        let to_peer = figure(trial, "outgoing_throughput_bytes_per_s");
        let from_peer = figure(trial, "incoming_throughput_bytes_per_s");
        let acknowledged = |rate: f64| rate / 2896.0 * 66.0 * 1448.0 / 1514.0;
        for (got, link, other) in [(to_peer, out, from_peer), (from_peer, back, to_peer)] {
            let most = carried(link);
            let least = most - acknowledged(other);
            println!("{:.4} of {:.1} MB/s, checked: {checked}", got / most, most / 1e6);
            assert!(got > 0.98 * least && got < 1.01 * most, "{got} of {most}: {trial:#}");
        }
        let sum = figure(trial, "throughput_bytes_per_s");
        assert!((sum / (to_peer + from_peer) - 1.0).abs() < 0.001, "{sum}: {trial:#}");
        assert!(noted(trial, "over-two-machines"), "{trial:#}");
        assert_eq!(noted(trial, "checked-on-arrival"), checked, "{trial:#}");
    }
}
