//! Two network namespaces joined by a veth whose sending ends are shaped: what `inspect` says that
//! TCP can get through is what iperf3 gets through, and what a trial of our own does.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::disk::{alone, beside_a_guest, beside_another_disk, sh, usable};
use crate::run::{draw, figure, noted, parse, said, trials};

/// Bytes that a shaped end lets go at once when nothing was sent for a while.
pub const BUCKET: u64 = 2 << 20;

/// Two namespaces, `a` at 10.89.0.1 and `b` at 10.89.0.2; gone when dropped.
pub struct Pair {
    pub a: String,
    pub b: String,
    server: Option<Child>,
}

impl Pair {
    pub fn new() -> Pair {
        // Several tests of one process have a pair each.
        static PAIRS: AtomicU32 = AtomicU32::new(0);
        let number = PAIRS.fetch_add(1, Ordering::Relaxed);
        let name = |end: &str| format!("brickyard-lab-{}-{number}-{end}", std::process::id());
        let pair = Pair { a: name("a"), b: name("b"), server: None };
        for end in [&pair.a, &pair.b] {
            sh("ip", &["netns", "add", end]);
        }
        let [mac_a, mac_b] = ["02:00:0a:59:00:01", "02:00:0a:59:00:02"];
        let peer = ["peer", "name", "link0", "address", mac_b, "netns", &pair.b];
        let add = ["-n", &pair.a, "link", "add", "link0", "address", mac_a, "type", "veth"];
        sh("ip", &[&add[..], &peer].concat());
        // What crosses the link is counted to the datagram. A dozen reports and solicitations of
        // IPv6 once crossed it besides, of which one, dropped with what overran the link, was one
        // lost datagram too many. So nothing is sent that no test asked for, by ARP neither.
        let quiet = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6";
        let ends = [(&pair.a, "10.89.0.1", mac_b), (&pair.b, "10.89.0.2", mac_a)];
        for ((end, address, mac), other) in ends.into_iter().zip(["10.89.0.2", "10.89.0.1"]) {
            sh("ip", &["netns", "exec", end, "sh", "-c", quiet]);
            sh("ip", &["-n", end, "address", "add", &format!("{address}/24"), "dev", "link0"]);
            sh("ip", &["-n", end, "link", "set", "link0", "up"]);
            let known = ["lladdr", mac, "nud", "permanent", "dev", "link0"];
            sh("ip", &[&["-n", end, "neighbour", "add", other], &known[..]].concat());
        }
        pair
    }

    pub fn mtu(&self, bytes: u64) {
        for end in [&self.a, &self.b] {
            sh("ip", &["-n", end, "link", "set", "link0", "mtu", &bytes.to_string()]);
        }
    }

    /// What `a` sends. The bucket holds tens of milliseconds: when a busy machine wakes the
    /// kernel's timer late, a small one is full and what would have been added is lost (0.991 of
    /// the rate with 256 kB).
    pub fn shape(&self, megabits_per_s: u64) {
        self.shape_with(megabits_per_s, &["latency", "50ms"]);
    }

    /// The same, with another queue before the bucket. One that holds more than a sender's socket
    /// holds that back, and drops nothing.
    pub fn shape_with(&self, megabits_per_s: u64, queue: &[&str]) {
        self.shape_end(&self.a, megabits_per_s, queue);
    }

    /// The same of what this end sends.
    pub fn shape_end(&self, end: &str, megabits_per_s: u64, queue: &[&str]) {
        let rate = format!("{megabits_per_s}mbit");
        let burst = format!("{BUCKET}b");
        let bucket = [&["root", "tbf", "rate", &rate, "burst", &burst], queue].concat();
        sh("tc", &[&["-n", end, "qdisc", "replace", "dev", "link0"], &bucket[..]].concat());
    }

    fn in_a(&self, program: &str, arguments: &[&str]) -> String {
        sh("ip", &[&["netns", "exec", &self.a, program], arguments].concat())
    }

    fn serve(&mut self) {
        let server = Command::new("ip")
            .args(["netns", "exec", &self.b, "iperf3", "--server"])
            .stdout(Stdio::null())
            .spawn();
        self.server = Some(server.expect("ip can be started"));
        let until = Instant::now() + Duration::from_secs(60);
        let listens = ["netns", "exec", &self.b, "ss", "-ltnH"];
        while !sh("ip", &listens).contains(":5201") {
            assert!(Instant::now() < until, "iperf3 does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Payload that arrived, bytes per second, without the second in which the bucket was full.
    fn measured(&self) -> f64 {
        let ask = ["--client", "10.89.0.2", "--time", "3", "--omit", "1", "--json"];
        let said: Value = serde_json::from_str(&self.in_a("iperf3", &ask)).expect("JSON");
        let bits = said["end"]["sum_received"]["bits_per_second"].as_f64();
        bits.unwrap_or_else(|| panic!("{said:#}")) / 8.0
    }

    /// The same by a trial of ours, run in `from` with its peer in `to`; the whole document.
    fn run(&self, folder: &Path, from: &str, to: &str, more: &[&str]) -> Value {
        Pair::trials_of("tcp-stream", folder, (from, to), more)
    }

    /// A trial of this workload from `a` to `b`; the whole document.
    pub fn run_workload(&self, workload: &str, folder: &Path, more: &[&str]) -> Value {
        Pair::trials_of(workload, folder, (&self.a, &self.b), more)
    }

    fn trials_of(workload: &str, folder: &Path, ends: (&str, &str), more: &[&str]) -> Value {
        let (from, to) = ends;
        let store = folder.join("network.db").display().to_string();
        let peer = format!("peer-namespace={to}");
        let ask = ["run", workload, &peer, "stop=3s", "--replicates", "1", "--json", "--quiet"];
        let arguments = [&ask[..], &["--store", &store], more].concat();
        let program = env!("CARGO_BIN_EXE_brickyard");
        let output = Command::new("ip")
            .args(["netns", "exec", from, program])
            .args(arguments)
            .current_dir(folder)
            .output();
        parse(&output.expect("ip can be started"))
    }

    fn trial(&self, folder: &Path) -> Value {
        trials(&self.run(folder, &self.a, &self.b, &[]))[0].clone()
    }

    /// What the page of `inspect` says, bytes per second.
    pub fn at_most(&self) -> f64 {
        let page = self.in_a(env!("CARGO_BIN_EXE_brickyard"), &["inspect"]);
        let page = page.split_whitespace().collect::<Vec<&str>>().join(" ");
        let said = page.split("link0: ").nth(1).and_then(|rest| rest.split(" at most: ").nth(1));
        let said = said.and_then(|rest| rest.split(" MB/s").nth(1)?.split(' ').next_back());
        let megabytes: Option<f64> = said.and_then(|said| said.parse().ok());
        megabytes.unwrap_or_else(|| panic!("no ceiling in: {page}")) * 1e6
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
        for end in [&self.a, &self.b] {
            let _ = Command::new("ip").args(["netns", "delete", end]).output();
        }
    }
}

/// A token bucket counts frames without preamble, checksum and gap: a program that takes it for a
/// wire (941 Mb/s of 1 Gb/s) calls a full link 102 % full, or finds room where there is none.
#[test]
fn tcp_gets_through_a_shaped_link_what_inspect_says_at_each_mtu() {
    if !usable("a shaped veth", &["ip", "tc", "ss", "iperf3"]) {
        return;
    }
    let _beside = beside_another_disk();
    let mut pair = Pair::new();
    pair.serve();
    for mtu in [1500, 9000] {
        let rate = draw(&format!("rate at an MTU of {mtu}, Mb/s"), 300, 780);
        pair.mtu(mtu);
        pair.shape(rate);
        let (most, got) = (pair.at_most(), pair.measured());
        println!("MTU {mtu}: {:.4} of the {:.1} MB/s that inspect says", got / most, most / 1e6);
        assert!((got / most - 1.0).abs() < 0.01, "{got} of {most} at an MTU of {mtu}");
    }
}

/// A rate of what was sent would be ahead of the wire by what lies in buffers, and one over the
/// whole time behind it by what slow start takes.
#[test]
fn a_trial_of_ours_gets_through_a_shaped_link_what_inspect_says_at_each_mtu() {
    if !usable("a shaped veth", &["ip", "tc"]) {
        return;
    }
    let _beside = beside_another_disk();
    let pair = Pair::new();
    let folder = tempfile::tempdir().expect("a folder");
    for mtu in [1500, 9000] {
        let rate = draw(&format!("rate at an MTU of {mtu}, Mb/s"), 300, 780);
        pair.mtu(mtu);
        pair.shape(rate);
        let (most, trial) = (pair.at_most(), pair.trial(folder.path()));
        let got = figure(&trial, "throughput_bytes_per_s");
        println!("MTU {mtu}: {:.4} of the {:.1} MB/s that inspect says", got / most, most / 1e6);
        assert!((got / most - 1.0).abs() < 0.01, "{got} of {most}: {trial:#}");
        assert!(noted(&trial, "over-peer-namespace"), "{trial:#}");
        assert_eq!(trial["origin"]["verdict"], "memory", "{trial:#}");
        // The queue of the bucket is what the round trip waits in.
        assert!(figure(&trial, "rtt_ns_mean") > 1e6, "{trial:#}");
    }
}

/// What a document says that limits its one cell: the word, and the sentence.
pub fn limit(document: &Value) -> (String, String) {
    let findings = document["findings"].as_array().expect("findings are an array");
    let found = findings.iter().find(|finding| finding["question"] == "bottleneck");
    let found = found.unwrap_or_else(|| panic!("no bottleneck: {document:#}"));
    let word = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    let said = said(found);
    println!("{said}");
    (word("limit"), said)
}

/// A full link is the network's doing, be it one that says its rate or one that nobody can ask; a
/// link without a rate is as fast as the processors, and calling that the network would sell cards.
#[test]
fn what_limits_tcp_is_named_and_where() {
    if !usable("a shaped veth", &["ip", "tc"]) {
        return;
    }
    let _alone = alone();
    let pair = Pair::new();
    let folder = tempfile::tempdir().expect("a folder");
    let cpus = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let cpu = draw("CPU of both ends", 0, cpus);
    let pinned = pair.run(folder.path(), &pair.a, &pair.b, &[&format!("cpu-pinning={cpu}")]);
    let (word, claim) = limit(&pinned);
    // On a machine with one CPU all are full.
    assert!(word == "core" || (cpus == 1 && word == "cpu"), "{pinned:#}");
    assert!(claim.contains(&format!("CPU {cpu} was busy")), "{claim}");
    let open = pair.run(folder.path(), &pair.a, &pair.b, &[&format!("streams={}", 2 * cpus)]);
    let (word, _) = limit(&open);
    assert!(["cpu", "core", "softirq"].contains(&word.as_str()), "{open:#}");
    pair.shape(draw("rate of a link whose limit is to be named, Mb/s", 100, 700));
    let asked = pair.run(folder.path(), &pair.a, &pair.b, &[]);
    let (word, claim) = limit(&asked);
    assert_eq!(word, "network", "{asked:#}");
    assert!(claim.contains("link0 (a token bucket of"), "{claim}");
    // From the other side: what shapes is out of sight.
    let hidden = pair.run(folder.path(), &pair.b, &pair.a, &["direction=receive"]);
    let (word, claim) = limit(&hidden);
    assert_eq!(word, "network", "{hidden:#}");
    assert!(claim.contains("waited in a queue"), "{claim}");
}

/// The namespaces of a trial have no name: they are gone when the worker is, which must not outlive
/// a program that is killed.
#[test]
fn both_ends_die_with_the_program_that_started_them() {
    if !usable("a veth pair", &["ip"]) {
        return;
    }
    let _beside = beside_a_guest();
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["run", "tcp-stream", "wire=namespaces", "mtu=9000", "stop=60s", "--quiet"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("brickyard can be started");
    let parent = format!("PPid:\t{}\n", run.id());
    let workers = || {
        let entries = Path::new("/proc").read_dir().expect("/proc").flatten();
        let pids = entries.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
        let is_ours = |pid: &u32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            status.is_ok_and(|it| it.contains(&parent)) && line.ends_with(b"worker\0net\0")
        };
        pids.filter(is_ours).collect::<Vec<u32>>()
    };
    let until = Instant::now() + Duration::from_secs(60);
    let mut worker = workers();
    while worker.is_empty() {
        assert!(Instant::now() < until, "no worker was started");
        std::thread::sleep(Duration::from_millis(50));
        worker = workers();
    }
    run.kill().expect("killed");
    run.wait().expect("waited for");
    while Path::new(&format!("/proc/{}", worker[0])).exists() {
        assert!(Instant::now() < until, "the worker outlived its parent");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The stack's settings are those of a network namespace: a trial in one changes that one's alone,
/// for its own time.
#[test]
fn the_stacks_settings_are_changed_in_our_namespace_for_the_trial_alone() {
    if !usable("settings of a network namespace", &["ip"]) {
        return;
    }
    let _beside = beside_a_guest();
    let pair = Pair::new();
    let names = ["tcp_rmem", "tcp_wmem", "tcp_congestion_control"];
    let paths = names.map(|name| format!("/proc/sys/net/ipv4/{name}"));
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let held = || pair.in_a("cat", &paths);
    let outside = || sh("cat", &paths);
    let (before, before_outside) = (held(), outside());
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let command = format!("command=sh -c 'cat {} >> {}'", paths.join(" "), at("seen"));
    let store = at("brickyard.db");
    let arguments = [
        "run",
        "command",
        &command,
        "--dir",
        &at(""),
        "--store",
        &store,
        "--replicates",
        "1",
        "tcp-buffer-max=77KiB",
        "tcp-congestion=reno",
    ];
    pair.in_a(env!("CARGO_BIN_EXE_brickyard"), &arguments);
    let seen = std::fs::read_to_string(at("seen")).expect("what the command saw");
    let lines: Vec<Vec<&str>> = seen.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!((lines[0][2], lines[1][2], lines[2][0]), ("78848", "78848", "reno"), "{seen}");
    assert_ne!(before.split_whitespace().nth(2), Some("78848"));
    assert_eq!((held(), outside()), (before, before_outside));
    assert!(!folder.path().join("brickyard.db-undo").exists());
}
