//! Buffered writers whose files are small: what they are told is accepted must be the disk's.

use crate::disk::{Disk, Mount, beside_a_guest, usable};
use crate::run::{draw, figure, json, noted, trials};

/// A buffered writer that came to the end of its file before the trial ended began again at its
/// start and wrote over blocks that were still dirty: those bytes never reached a device, and the
/// figure was memory's speed, hundreds of times the limit planted here.
#[test]
fn a_buffered_writer_of_a_small_file_is_held_to_the_disks_limit() {
    if !usable("a buffered writer of a small file", &["mkfs.ext4"]) {
        return;
    }
    let _beside = beside_a_guest();
    let limit = draw("limit on writes, MB/s", 20, 60) * 1_000_000;
    let mut disk = Disk::new(700);
    let mount = Mount::format(&disk, "ext4");
    if !disk.limit(0, limit) {
        println!("SKIP a buffered writer of a small file: no cgroup v1 block throttle");
        return;
    }
    let name = mount.name();
    for (workload, engine, more) in [
        ("sequential-write", "io-engine=uring", ["queue-depth=8", "streams=1", "stop=16s"]),
        ("random-write", "io-engine=aio", ["queue-depth=2", "streams=4", "stop=16s"]),
        ("sequential-write", "io-engine=sync", ["queue-depth=1", "streams=2", "stop=8s"]),
        ("random-write", "io-engine=mmap", ["queue-depth=1", "streams=2", "stop=8s"]),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut arguments = vec!["run", workload, "--dir", &name, "--replicates", "1", engine];
        arguments.extend(["direct=false", "file-size=8MiB", "block-size=64KiB"]);
        arguments.extend(more);
        let document = json(folder.path(), &arguments);
        let trial = trials(&document)[0];
        let share = |name: &str| figure(trial, name) / limit as f64;
        let window = share("throughput_bytes_per_s");
        let accepted = share("accepted_throughput_bytes_per_s");
        let durable = share("durable_throughput_bytes_per_s");
        println!(
            "{workload}, {engine}: window {window:.3}, accepted {accepted:.3}, durable {durable:.3}"
        );
        // What is in memory when the window ends is 8 MiB a stream, a tenth at most; the rest of
        // the room is the throttle's burst above, and below the moments at which every stream
        // waits for the journal.
        assert!((0.75..1.20).contains(&window), "{trial:#}");
        assert!((0.75..1.20).contains(&accepted), "{trial:#}");
        assert!((0.75..1.05).contains(&durable), "{trial:#}");
        assert!(noted(trial, "flushed-at-wrap"), "{trial:#}");
        assert!(!noted(trial, "overwritten-in-memory"), "{trial:#}");
    }
}

/// 8 MiB were written into memory in 1.4 ms, and the stop of 200 ms came while they were made
/// durable to be written over: "the trial took 1.36 ms, the last timed pass ends after 201 ms", and
/// accepted 6 GB/s. That writing out is a part of the load, and of its time.
#[test]
fn a_stop_while_a_round_is_made_durable_shortens_no_trial() {
    let test = "a stop while a round is made durable";
    if !usable(test, &["mkfs.ext4"]) {
        return;
    }
    let _beside = beside_a_guest();
    let mut disk = Disk::new(400);
    let mount = Mount::format(&disk, "ext4");
    let limit = draw("limit on writes of a stop, MB/s", 10, 30) * 1_000_000;
    if !disk.limit(0, limit) {
        println!("SKIP {test}: no cgroup v1 block throttle");
        return;
    }
    let name = mount.name();
    for (depth, more) in [("queue-depth=1", None), ("queue-depth=4", Some("rate=1000"))] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut arguments = vec!["run", "random-write", "--dir", &name, "--replicates", "1"];
        arguments.extend(["direct=false", "file-size=16MiB", "block-size=1MiB", "fsync=end"]);
        arguments.extend(["stop=200ms", depth]);
        arguments.extend(more);
        let document = json(folder.path(), &arguments);
        let trial = trials(&document)[0];
        assert!(!noted(trial, "inconsistent"), "{trial:#}");
        // Three rounds at most begin within the 200 ms and a throttle's saved slice.
        let accepted = figure(trial, "accepted_throughput_bytes_per_s");
        println!("{depth}: accepted {:.1} MB/s of {} MB/s", accepted / 1e6, limit / 1_000_000);
        assert!(accepted < 1.3 * limit as f64, "{trial:#}");
    }
}
