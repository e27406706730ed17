//! Two network namespaces joined by a veth whose sending ends are shaped: what `inspect` says that
//! TCP can get through is what iperf3 gets through.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::disk::{alone, sh, usable};
use crate::run::draw;

/// Two namespaces, `a` at 10.89.0.1 and `b` at 10.89.0.2; gone when dropped.
struct Pair {
    a: String,
    b: String,
    server: Option<Child>,
}

impl Pair {
    fn new() -> Pair {
        let name = |end: &str| format!("brickyard-lab-{}-{end}", std::process::id());
        let pair = Pair { a: name("a"), b: name("b"), server: None };
        for end in [&pair.a, &pair.b] {
            sh("ip", &["netns", "add", end]);
        }
        let peer = ["peer", "name", "link0", "netns", &pair.b];
        let add = ["-n", &pair.a, "link", "add", "link0", "type", "veth"];
        sh("ip", &[&add[..], &peer].concat());
        for (end, address) in [(&pair.a, "10.89.0.1/24"), (&pair.b, "10.89.0.2/24")] {
            sh("ip", &["-n", end, "address", "add", address, "dev", "link0"]);
            sh("ip", &["-n", end, "link", "set", "link0", "up"]);
        }
        pair
    }

    fn mtu(&self, bytes: u64) {
        for end in [&self.a, &self.b] {
            sh("ip", &["-n", end, "link", "set", "link0", "mtu", &bytes.to_string()]);
        }
    }

    /// What `a` sends. The bucket holds tens of milliseconds: when a busy machine wakes the
    /// kernel's timer late, a small one is full and what would have been added is lost (0.991 of
    /// the rate with 256 kB).
    fn shape(&self, megabits_per_s: u64) {
        let rate = format!("{megabits_per_s}mbit");
        let bucket = ["root", "tbf", "rate", &rate, "burst", "2mb", "latency", "50ms"];
        sh("tc", &[&["-n", &self.a, "qdisc", "replace", "dev", "link0"], &bucket[..]].concat());
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

    /// What the page of `inspect` says, bytes per second.
    fn at_most(&self) -> f64 {
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
    let _alone = alone();
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

/// The stack's settings are those of a network namespace: a trial in one changes that one's alone,
/// for its own time.
#[test]
fn the_stacks_settings_are_changed_in_our_namespace_for_the_trial_alone() {
    if !usable("settings of a network namespace", &["ip"]) {
        return;
    }
    let _alone = alone();
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
