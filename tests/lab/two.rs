//! Trials whose ends are two programs in two network namespaces, as on two machines.

mod both;
mod checked;
mod datagrams;
mod settings;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::disk::{beside_a_guest, beside_another_disk, sh, usable};
use crate::network::{Pair, limit};
use crate::run::{draw, figure, noted, parse, trials};

/// `brickyard receive` in `b`; killed when dropped.
pub struct Receiver {
    child: Child,
    token: String,
}

impl Receiver {
    pub fn new(pair: &Pair) -> Receiver {
        Receiver::with(pair, &[])
    }

    /// The same, with more arguments.
    pub fn with(pair: &Pair, more: &[&str]) -> Receiver {
        let program = env!("CARGO_BIN_EXE_brickyard");
        let mut child = Command::new("ip")
            .args(["netns", "exec", &pair.b, program, "receive", "--listen", "10.89.0.2", "--json"])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .expect("ip can be started");
        let mut line = String::new();
        let output = child.stdout.take().expect("was piped");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let said: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(said["listens"], "10.89.0.2:5210");
        let token = said["token"].as_str().expect("a token").to_owned();
        let token = token.strip_prefix("BRICKYARD_TOKEN=").expect("an assignment").to_owned();
        Receiver { child, token }
    }

    /// Ends it by this signal, and waits until it has.
    fn end(&mut self, signal: &str) {
        sh("kill", &[signal, &self.child.id().to_string()]);
        self.child.wait().expect("waited for");
    }

    fn command(&self, pair: &Pair, folder: &Path, more: &[&str]) -> Command {
        self.command_to("10.89.0.2", pair, folder, more)
    }

    /// The same, that calls it by another address.
    fn command_to(&self, to: &str, pair: &Pair, folder: &Path, more: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_brickyard");
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &pair.a, program, "send", to])
            .args(more)
            .args(["--replicates", "1", "--json", "--quiet", "--store"])
            .arg(folder.join("two.db"))
            .env("BRICKYARD_TOKEN", &self.token)
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn output(&self, pair: &Pair, folder: &Path, more: &[&str]) -> Output {
        self.command(pair, folder, more).output().expect("ip can be started")
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Both ends are judged by one clock, and the window is of the end that receives: a rate of what
/// was handed to the sender's kernel would be ahead of the wire.
#[test]
fn two_programs_get_through_a_shaped_link_what_inspect_says_and_the_link_is_named() {
    if !usable("two ends over a shaped veth", &["ip", "tc"]) {
        return;
    }
    let _beside = beside_another_disk();
    let pair = Pair::new();
    let folder = tempfile::tempdir().expect("a folder");
    let receiver = Receiver::new(&pair);
    pair.shape(draw("rate between two programs, Mb/s", 200, 700));
    let most = pair.at_most();
    let document = parse(&receiver.output(&pair, folder.path(), &["tcp-stream", "stop=3s"]));
    let trial = trials(&document)[0].clone();
    let got = figure(&trial, "throughput_bytes_per_s");
    println!("two programs: {:.4} of the {:.1} MB/s that inspect says", got / most, most / 1e6);
    assert!((got / most - 1.0).abs() < 0.01, "{got} of {most}: {trial:#}");
    assert!(noted(&trial, "over-two-machines"), "{trial:#}");
    assert!(figure(&trial, "receiver_cpu_seconds_per_gb") > 0.0, "{trial:#}");
    assert_eq!(limit(&document).0, "network", "{document:#}");
    // What only this machine's own pair has is left out by name, and the rest is measured.
    let mixed = ["network", "message-size=100000B", "stop=1s"];
    let document = parse(&receiver.output(&pair, folder.path(), &mixed));
    assert!(trials(&document).iter().all(|trial| trial["outcome"] == "done"), "{document:#}");
    let left_out = document["left_out"].as_object().expect("reasons");
    assert!(left_out.keys().any(|why| why.contains("mtu 9000")), "{left_out:?}");
}

#[test]
fn a_stranger_is_refused_and_a_killed_end_leaves_the_other_ready() {
    if !usable("two ends over a veth", &["ip", "tc"]) {
        return;
    }
    let _beside = beside_a_guest();
    let pair = Pair::new();
    let folder = tempfile::tempdir().expect("a folder");
    let mut receiver = Receiver::new(&pair);
    let mut stranger = receiver.command(&pair, folder.path(), &["tcp-stream", "stop=1s"]);
    let refused = stranger.env("BRICKYARD_TOKEN", "another token of theirs").output();
    // It is told before anything is measured.
    let said = String::from_utf8_lossy(&refused.expect("started").stderr).into_owned();
    assert!(said.contains("is not the token"), "{said}");
    // This end is killed in the middle, and so is the worker of the trial with it.
    let long = ["tcp-stream", "stop=60s"];
    let mut sender = receiver.command(&pair, folder.path(), &long).spawn().expect("started");
    std::thread::sleep(Duration::from_millis(draw("killed after, ms", 300, 2000)));
    sender.kill().expect("killed");
    sender.wait().expect("waited for");
    let next = parse(&receiver.output(&pair, folder.path(), &["tcp-stream", "stop=1s"]));
    assert!(figure(trials(&next)[0], "throughput_bytes_per_s") > 0.0, "{next:#}");
    // The other end is killed in the middle. Whose sockets broke first was told for the cause:
    // "cannot write to a socket: Connection reset by peer" named nobody.
    let sender = receiver.command(&pair, folder.path(), &long).spawn().expect("started");
    std::thread::sleep(Duration::from_millis(draw("the other killed after, ms", 1000, 2500)));
    receiver.child.kill().expect("killed");
    receiver.child.wait().expect("waited for");
    let began = Instant::now();
    let output = sender.wait_with_output().expect("waited for");
    assert!(began.elapsed() < Duration::from_secs(50), "it waits for an end that is gone");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("lost the other end at 10.89.0.2"), "{said}");
}
