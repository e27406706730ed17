//! Commits on a disk whose flushes take a known time, against what the kernel and the disk counted.

use serde_json::Value;

use crate::disk::{Disk, Mount, alone, beside_another_disk, sh, usable};
use crate::model::{Model, Modelled};
use crate::run::{draw, figure, json, noted, trials};

/// A disk that writes at once and whose every flush takes so long.
fn flushing(us: u64) -> Modelled {
    let model = Model { request_us: 0, bytes_per_s: 4_000_000_000, slots: 16 };
    let made = Modelled::new(400, model);
    made.flush_takes(us);
    made
}

fn sqlite(directory: &str, knobs: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let mut arguments = vec!["run", "sqlite", "--dir", directory, "--replicates", "1"];
    arguments.extend(knobs);
    let document = json(folder.path(), &arguments);
    let trial = trials(&document)[0].clone();
    assert_eq!(trial["outcome"], "done", "{trial:#}");
    trial
}

/// Flushes that the kernel completed on the disk: the 16th number of its statistics.
fn counted(disk: &Disk) -> u64 {
    let name = disk.device.trim_start_matches("/dev/");
    let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("a disk");
    let words: Vec<&str> = text.split_whitespace().collect();
    words[15].parse().expect("a count")
}

/// One client does one commit at a time, and each waits for its flushes: their number and their
/// time give the rate. Neither is told to the program.
#[test]
fn one_client_commits_as_fast_as_flushes_come_back_and_each_commit_has_its_own() {
    if !usable("commits on a disk of known flushes", &["mkfs.ext4"]) {
        return;
    }
    let _beside = beside_another_disk();
    // Long beside what the requests between two flushes take on this machine.
    let flush_us = draw("flush, us", 20_000, 40_000);
    let mut made = flushing(flush_us);
    let mount = Mount::format(made.disk(), "ext4");
    for (knobs, least) in [
        // A log: pages, one fsync.
        (&["journal-mode=wal", "stop=4s"][..], 1.0),
        // A journal: its pages, its header, the database, and the directory after its removal.
        (&["journal-mode=delete", "synchronous=extra", "stop=6s"], 4.0),
    ] {
        let (kernel, disk) = (counted(made.disk()), made.flushes());
        let trial = sqlite(&mount.name(), &[knobs, &["warm-up=0s", "streams=1"]].concat());
        let (kernel, disk) = (counted(made.disk()) - kernel, made.flushes() - disk);
        let rate = figure(&trial, "transactions_per_s");
        let done = rate * trial["elapsed_ns"].as_f64().expect("a time") / 1e9;
        assert!(kernel as f64 >= done && disk >= kernel, "{done} commits: {kernel}, {disk}");
        assert!(figure(&trial, "durable_ops_per_s") > 0.0);
        // What a commit costs, in flushes as the disk was asked for them; a few made the bank.
        let each = disk as f64 / done;
        let expected = 1e6 / (flush_us as f64 * each);
        let ratio = rate / expected;
        println!("{knobs:?}: {rate:.1}/s, {each:.2} flushes each, {ratio:.3} of what they allow");
        assert!(each >= least, "{each}");
        assert!((0.8..1.1).contains(&ratio), "{rate} of {expected}");
    }
}

/// A mount that asks for no flush makes commits as fast as the page cache; they are not durable.
#[test]
fn commits_of_a_mount_without_barriers_are_never_called_durable() {
    if !usable("commits without barriers", &["mkfs.ext4"]) {
        return;
    }
    let _beside = beside_another_disk();
    let mut made = flushing(5000);
    let device = made.disk().device.clone();
    drop(Mount::format(made.disk(), "ext4"));
    let trial = {
        let mount = Mount::new("ext4", &device, "nobarrier");
        sqlite(&mount.name(), &["stop=2s", "warm-up=0s", "streams=2"])
    };
    assert!(figure(&trial, "transactions_per_s") > 2.0 * 200.0, "{trial:#}");
    assert!(noted(&trial, "commits-not-on-device"), "{trial:#}");
    assert!(trial["figures"]["durable_ops_per_s"].is_null(), "{trial:#}");
    let memory = Mount::new("tmpfs", "none", "size=200m");
    let trial = sqlite(&memory.name(), &["stop=1s", "warm-up=0s", "streams=2"]);
    assert!(noted(&trial, "not-durable"), "{trial:#}");
    assert!(trial["figures"]["durable_ops_per_s"].is_null(), "{trial:#}");
}

/// The sqlite3 program, with the same tables and the same statements by hand, one client. Beside
/// three other disks its start and its end took 0.8 s of 5.8 s, and ours was 1.13 of its rate: the
/// rate is that of more commits against fewer.
#[test]
fn sqlite3_by_hand_commits_at_the_same_rate() {
    if !usable("sqlite3 as referee", &["mkfs.ext4", "sqlite3"]) {
        return;
    }
    let _alone = alone();
    let mut made = flushing(20_000);
    let mount = Mount::format(made.disk(), "ext4");
    let ours = figure(
        &sqlite(&mount.name(), &["stop=4s", "warm-up=1s", "streams=1"]),
        "transactions_per_s",
    );
    const COMMITS: u32 = 100;
    const FEW: u32 = 20;
    let mut script = "PRAGMA journal_mode=wal; PRAGMA synchronous=full;\n".to_owned();
    script += "CREATE TABLE a (id INTEGER PRIMARY KEY, balance INTEGER, filler BLOB);\n";
    script += "CREATE TABLE h (id INTEGER, delta INTEGER, filler BLOB);\n";
    script += "INSERT INTO a SELECT value, 0, randomblob(96) FROM generate_series(1, 100000);\n";
    let made_at = mount.path.join("bank.db").display().to_string();
    let run = |script: &str| {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), script).expect("written");
        let read = format!(".read {}", file.path().display());
        sh("sqlite3", &[&made_at, &read]);
    };
    run(&script);
    // What starting sqlite3 takes, and copying its log when it ends, is in both.
    let timed = |commits: u32| {
        let mut transfers = "PRAGMA synchronous=full;\n".to_owned();
        for number in 0..commits {
            let account = 1 + (u64::from(number) * 7919) % 100_000;
            transfers += &format!(
                "BEGIN IMMEDIATE; UPDATE a SET balance = balance + 5 WHERE id = {account}; \
                 SELECT balance FROM a WHERE id = {account}; UPDATE a SET balance = balance + 5 \
                 WHERE id = 1; INSERT INTO h VALUES ({account}, 5, randomblob(36)); COMMIT;\n"
            );
        }
        let begun = std::time::Instant::now();
        run(&transfers);
        begun.elapsed().as_secs_f64()
    };
    let theirs = f64::from(COMMITS) / (timed(FEW + COMMITS) - timed(FEW));
    println!("ours is {:.3} of sqlite3's {theirs:.1} commits per second", ours / theirs);
    assert!((0.9..1.1).contains(&(ours / theirs)), "{ours} {theirs}");
}
