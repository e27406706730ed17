//! Rule 1 on real devices: streams of deliberately unequal speed that share one limit.

use serde_json::Value;

use crate::disk::{Disk, Mount, alone, sh, usable};
use crate::run::{draw, figure, json, trials};

/// Two streams over one limited disk. One reads a file system on it; the other one on a loop device
/// over it whose queue is kept short, so that it has little in flight and gets a small share for as
/// long as the first competes, and all of it afterwards.
///
/// The throttle serves what waits in order, so shares are those of the bytes in flight. Beside
/// three other tests the first has less of them in flight than it was given: the sum of the
/// streams' rates came to 1.05 of the truth there, and failed CI; alone it is 1.39 to 1.43.
struct Unequal {
    slow: Mount,
    _inner: Disk,
    fast: Mount,
    _outer: Disk,
}

fn unequal(limit: u64) -> Option<Unequal> {
    let mut outer = Disk::new(700);
    let fast = Mount::format(&outer, "ext4");
    let inner = Disk::over(&fast.path, 250, &["--direct-io=on"]);
    let name = inner.device.trim_start_matches("/dev/").to_owned();
    for (file, value) in [("max_sectors_kb", "32"), ("nr_requests", "4")] {
        let path = format!("/sys/block/{name}/queue/{file}");
        std::fs::write(&path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let slow = Mount::format(&inner, "ext4");
    sh("sync", &[]);
    outer.limit(limit, 0).then_some(Unequal { slow, _inner: inner, fast, _outer: outer })
}

fn measure(lab: &Unequal, sustained: bool) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let (fast, slow) = (lab.fast.name(), lab.slow.name());
    let sustained = format!("sustained={sustained}");
    let document = json(
        folder.path(),
        &[
            "run",
            "sequential-read",
            "--dir",
            &fast,
            "--dir",
            &slow,
            "--replicates",
            "1",
            "streams=2",
            "file-size=160MiB",
            "block-size=128KiB",
            "queue-depth=8",
            "stop=pass",
            &sustained,
        ],
    );
    trials(&document)[0].clone()
}

#[test]
fn the_window_is_right_where_the_naive_figure_and_the_sum_of_streams_are_not() {
    if !usable("sustained load on throttled disks", &["mkfs.ext4"]) {
        return;
    }
    let _alone = alone();
    let limit = draw("limit shared by both streams, MB/s", 50, 90) * 1_000_000;
    let Some(lab) = unequal(limit) else {
        println!("SKIP sustained load: this kernel has no cgroup v1 block throttle");
        return;
    };
    let truth = limit as f64;
    let sustained = measure(&lab, true);
    let window = figure(&sustained, "throughput_bytes_per_s") / truth;
    let naive = figure(&sustained, "naive_throughput_bytes_per_s") / truth;
    let alone = measure(&lab, false);
    let sum = figure(&alone, "sum_of_streams_bytes_per_s") / truth;
    println!("window {window:.4}, naive {naive:.3}, sum of streams {sum:.3} of the truth");
    assert!((0.99..1.01).contains(&window), "window: {sustained:#}");
    assert!(naive < 0.90, "naive must be too low: {sustained:#}");
    assert!(sum > 1.10, "the sum of the streams' own rates must be too high: {alone:#}");
}
