//! `brickyard receive` and `brickyard send`, as typed, both on this machine.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::program::{brickyard, document};

/// A receiver on a free port; killed when dropped.
struct Receiver(Child, String);

impl Receiver {
    fn new(more: &[&str]) -> Receiver {
        let mut child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
            .args(["receive", "--port", "0", "--json", "--quiet"])
            .args(more)
            .env_remove("BRICKYARD_TOKEN")
            .stdout(Stdio::piped())
            .spawn()
            .expect("brickyard can be started");
        let mut line = String::new();
        let output = child.stdout.take().expect("was piped");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let said: Value = serde_json::from_str(&line).expect("JSON");
        let at = said["listens"].as_str().expect("an address").to_owned();
        // Whoever may change settings of this machine is nobody who has not the token.
        let allows = more.contains(&"--allow-knobs");
        assert_eq!(said["token"].is_string(), allows || !at.starts_with("127."), "{said}");
        assert_eq!(said["allows_knobs"], allows, "{said}");
        Receiver(child, at)
    }

    fn send(&self, at: &Path, more: &[&str]) -> Value {
        let short = ["warm-up=0s", "--replicates", "1", "--json", "--quiet"];
        let stop = ["stop=200ms"];
        let stop = if more.iter().any(|it| it.starts_with("stop=")) { &[][..] } else { &stop };
        let more = &[more, stop].concat();
        let output = brickyard(at, &[&["send", &self.1], &more[..], &short[..]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        document(&output)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn figure(trial: &Value, name: &str) -> f64 {
    let value = trial["figures"][name]["value"].as_f64();
    value.unwrap_or_else(|| panic!("no {name}: {trial:#}"))
}

#[test]
fn memory_and_files_are_sent_and_both_machines_are_in_the_report() {
    let receiver = Receiver::new(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let sent = receiver.send(at, &["tcp-stream", "streams=2", "direction=send,receive"]);
    for trial in sent["trials"].as_array().expect("trials") {
        assert_eq!(trial["origin"]["verdict"], "memory", "{trial:#}");
        assert!(figure(trial, "throughput_bytes_per_s") > 0.0);
        assert!(figure(trial, "sender_cpu_seconds_per_gb") > 0.0);
        assert!(figure(trial, "receiver_cpu_seconds_per_gb") > 0.0);
        assert!(figure(trial, "context_switches_per_s") > 0.0);
        assert!(figure(trial, "peer_context_switches_per_s") > 0.0);
        assert!(figure(trial, "peer_interrupts_per_s") > 0.0);
        assert!(figure(trial, "peer_cpu_busy_share") > 0.0);
        let kinds = trial["notes"].as_array().expect("notes").iter().map(|note| &note["kind"]);
        assert!(kinds.into_iter().any(|kind| kind == "over-two-machines"), "{trial:#}");
    }
    let paced = ["udp-stream", "pacing=20Mb/s", "direction=send,receive"];
    for trial in receiver.send(at, &paced)["trials"].as_array().expect("trials") {
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        assert!(figure(trial, "datagrams_sent") > 0.0 && figure(trial, "loss_share") < 1.0);
        assert!(figure(trial, "receiver_cpu_seconds_per_gb") > 0.0, "{trial:#}");
    }
    let both = ["tcp-stream", "direction=both", "streams=2", "verify=crc32c"];
    for trial in receiver.send(at, &both)["trials"].as_array().expect("trials") {
        let ways = ["outgoing_throughput_bytes_per_s", "incoming_throughput_bytes_per_s"];
        let sum: f64 = ways.map(|way| figure(trial, way)).iter().sum();
        assert!((figure(trial, "throughput_bytes_per_s") / sum - 1.0).abs() < 0.001, "{trial:#}");
    }
    let files = ["file-stream", "file-size=4MiB", "streams=2", "send-path=write,sendfile", "--dir"];
    let sent = receiver.send(at, &[&files[..], &[".", "verify=crc32c"]].concat());
    // The files are written first, which is a trial of its own.
    let trials = sent["trials"].as_array().expect("trials").iter();
    let trials: Vec<&Value> = trials.filter(|trial| trial["engine"] == "net-file").collect();
    assert_eq!(trials.len(), 2, "{sent:#}");
    for trial in trials {
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        assert!(figure(trial, "throughput_bytes_per_s") > 0.0);
        let integrity = &trial["integrity"];
        assert!(integrity["checked_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{trial:#}");
        assert_eq!(integrity["wrong"], json!({}), "{trial:#}");
    }
    let told = brickyard(at, &["report", "1", "--format", "text"]);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("CPUs of the other machine in trial"), "{told}");
    assert!(told.contains("switches/s there"), "{told}");
    // In SQL as in the table.
    let sql = "SELECT count(*) FROM tcp_stream WHERE peer_interrupts_per_s > 0";
    let asked = brickyard(at, &["query", sql, "--format", "csv"]);
    let asked = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert_eq!(asked.lines().last(), Some("3"), "{asked}");
    assert!(brickyard(at, &["report", "1", "--format", "html"]).status.success());
    let page = std::fs::read_to_string(at.join("brickyard-report.html")).expect("a page");
    assert!(page.contains("CPUs of the other machine in trial"));
    assert!(page.contains("switches/s there"));
}

#[test]
fn what_cannot_be_done_is_told_with_what_to_type_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let refused = |arguments: &[&str], word: &str| {
        let output = brickyard(at, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    };
    refused(&["send", "a b", "network"], "HOST:PORT");
    refused(&["send", "localhost", "random-read", "--dir", "."], "peer");
    refused(&["send", "localhost", "udp-stream", "mtu=9000"], "interface-mtu");
    refused(&["send", "localhost", "udp-stream", "wire=namespaces"], "leave one of them out");
    refused(&["send", "localhost", "udp-stream", "interfaces=2", "streams=2"], "interfaces=2");
    refused(&["send", "localhost", "udp-stream", "direction=both", "streams=2"], "direction=both");
    let short = ["send", "localhost", "udp-stream", "verify=crc32c", "datagram-size=527"];
    refused(&short, "datagram-size=528B or more");
    let dropped = ["file-stream", "verify=crc32c", "receive-path=truncate", "--dir", "."];
    refused(&[&["send", "localhost"], &dropped[..]].concat(), "receive-path=read");
    refused(&["receive", "--listen", "192.0.2.1"], "ip address");
    refused(&["receive", "--trial", "long"], "--trial 1h");
    refused(&["receive", "--bytes", "much"], "--bytes 100TB");
    let short = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["receive", "--port", "0"])
        .env("BRICKYARD_TOKEN", "short")
        .output();
    let said = String::from_utf8_lossy(&short.expect("started").stderr).into_owned();
    assert!(said.contains("BRICKYARD_TOKEN") && said.contains("16"), "{said}");
    // Nobody listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let there = port.expect("a free port").to_string();
    let short = ["tcp-stream", "stop=100ms", "--replicates", "1", "--json"];
    let output = brickyard(at, &[&["send", &there], &short[..]].concat());
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("Connection refused") && said.contains("brickyard receive"), "{said}");
    // It was called once, before anything was kept: of 30 trials each waited for the other end.
    assert!(!at.join("brickyard.db").exists(), "{said}");
}

/// `send HOST network` skipped half of its trials: jumbo frames are those of a wire of our own.
#[test]
fn the_plan_network_goes_to_another_machine_without_what_lies_on_this_one() {
    let receiver = Receiver::new(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let sent = receiver.send(folder.path(), &["network", "stop=100ms"]);
    let trials = sent["trials"].as_array().expect("trials");
    assert_eq!(trials.len(), 5, "{sent:#}");
    assert!(trials.iter().all(|trial| trial["outcome"] == "done"), "{sent:#}");
    let left_out = sent["left_out"].as_object().expect("reasons");
    let (why, cells) = left_out.iter().next().expect("one");
    assert_eq!((left_out.len(), cells), (1, &5.into()), "{left_out:?}");
    assert!(why.contains("mtu 9000") && why.contains("wire=namespaces"), "{why}");
}

#[test]
fn beyond_loopback_it_draws_a_token_and_ctrl_c_ends_it() {
    let mut receiver = Receiver::new(&["--listen", "0.0.0.0"]);
    let there = receiver.1.replace("0.0.0.0", "127.0.0.1");
    let folder = tempfile::tempdir().expect("a folder");
    let short = ["tcp-stream", "stop=100ms", "--replicates", "1", "--json"];
    let output = brickyard(folder.path(), &[&["send", &there], &short[..]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("set BRICKYARD_TOKEN"), "{said}");
    kill_process(Pid::from_child(&receiver.0), Signal::INT).expect("signalled");
    assert_eq!(receiver.0.wait().expect("waited for").code(), Some(130));
}

/// Root's program listens for whoever is logged in here, too.
#[test]
fn on_loopback_settings_take_a_token_and_without_leave_say_what_to_type() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("there.db").display().to_string();
    let refused = |receiver: &Receiver, word: &str| {
        let more = ["tcp-stream", "settings-at=peer", "tcp-congestion=reno", "stop=100ms"];
        let output = brickyard(folder.path(), &[&["send", &receiver.1], &more[..]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(word), "{said}");
    };
    refused(&Receiver::new(&["--allow-knobs", "--store", &store]), "set BRICKYARD_TOKEN");
    let closed = Receiver::new(&[]);
    refused(&closed, "brickyard receive --listen 127.0.0.1 --port");
    refused(&closed, "--allow-knobs");
    let left = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(left, 0, "nothing was kept, and nothing noted");
}

/// A receiver that stood still for a while made a network of 40 Gb/s one of 20, and the record did
/// not say why.
#[test]
fn another_machine_that_stood_still_takes_the_figure_with_it() {
    let receiver = Receiver::new(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let pid = Pid::from_child(&receiver.0);
    let more = ["tcp-stream", "stop=5s", "warm-up=0s", "--replicates", "2", "--json", "--quiet"];
    let child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["send", &receiver.1])
        .args(more)
        .current_dir(folder.path())
        .env_remove("BRICKYARD_TOKEN")
        .stdout(Stdio::piped())
        .spawn()
        .expect("brickyard can be started");
    // Its half of a trial has begun when it is at work: until then it waits for calls.
    let cpu_ns = || -> u64 {
        let folder = std::path::PathBuf::from(format!("/proc/{}/task", pid.as_raw_nonzero()));
        let tasks = folder.read_dir().into_iter().flatten().flatten();
        let text = tasks.filter_map(|it| std::fs::read_to_string(it.path().join("schedstat")).ok());
        text.filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok()).sum()
    };
    let (before, started) = (cpu_ns(), std::time::Instant::now());
    while cpu_ns() < before + 500_000_000 {
        assert!(started.elapsed().as_secs() < 60, "nothing arrived");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    kill_process(pid, Signal::STOP).expect("stopped");
    std::thread::sleep(std::time::Duration::from_millis(2500));
    kill_process(pid, Signal::CONT).expect("continued");
    let output = child.wait_with_output().expect("it ends");
    let trials = document(&output)["trials"].as_array().expect("trials").clone();
    let still = |trial: &&Value| {
        let mut notes = trial["notes"].as_array().expect("notes").iter();
        notes.any(|note| {
            let text = note["text"].as_str().expect("words");
            note["kind"] == "stopped" && text.starts_with("The other end stood still for")
        })
    };
    let (still, others): (Vec<&Value>, Vec<&Value>) = trials.iter().partition(still);
    assert_eq!((still.len(), others.len()), (1, 1), "{trials:#?}");
    assert!(still[0]["figures"]["throughput_bytes_per_s"].is_null(), "{:#}", still[0]);
    assert!(figure(others[0], "throughput_bytes_per_s") > 0.0);
}
