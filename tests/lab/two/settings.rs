//! Settings of the other machine: in force there during their trial, and back however it ends.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Receiver;
use crate::disk::{beside_a_guest, beside_another_disk, sh, usable};
use crate::network::Pair;
use crate::run::{draw, figure, noted, parse, trials};

/// What these tests have changed in a namespace, read by none of our code: two sysctls, the MTU and
/// the discipline of `link0`, and whether its gro is on (ETHTOOL_GGRO).
const LOOK: &str = "cat /proc/sys/net/ipv4/tcp_congestion_control /proc/sys/net/ipv4/tcp_rmem \
                    /sys/class/net/link0/mtu; tc qdisc show dev link0 | head -1; \
                    python3 -c 'import array, fcntl, socket, struct; \
                    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); \
                    a = array.array(\"I\", [0x2b, 9]); \
                    fcntl.ioctl(s, 0x8946, struct.pack(\"16sP8x\", b\"link0\", \
                    a.buffer_info()[0])); \
                    print(a[1])'";

fn look(namespace: &str) -> Vec<String> {
    let seen = sh("ip", &["netns", "exec", namespace, "sh", "-c", LOOK]);
    seen.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Whether the namespace looks so within a while; what it looks like else.
fn becomes(namespace: &str, is: impl Fn(&[String]) -> bool) -> Result<(), Vec<String>> {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let seen = look(namespace);
        match (is(&seen), Instant::now() < until) {
            (true, _) => return Ok(()),
            (false, true) => std::thread::sleep(Duration::from_millis(50)),
            (false, false) => return Err(seen),
        }
    }
}

fn receiver(pair: &Pair, folder: &Path) -> Receiver {
    let journal = folder.join("there.db").display().to_string();
    Receiver::with(pair, &["--allow-knobs", "--store", &journal])
}

/// Knobs that differ from what a new namespace has, and what each is there.
struct Drawn {
    knobs: Vec<String>,
    gro: bool,
    mtu: String,
    buffer: String,
}

fn drawn(there: &[String]) -> Drawn {
    let gro = there[4] != "1";
    let (mtu, kib) = (draw("MTU there", 1000, 1500), draw("buffers there, KiB", 200, 4000));
    let buffer = (kib * 1024).to_string();
    let knobs = [
        "settings-at=peer".to_owned(),
        "peer-interface=link0".to_owned(),
        format!("interface-mtu={mtu}"),
        format!("tcp-buffer-max={kib}KiB"),
        "tcp-congestion=reno".to_owned(),
        "qdisc=pfifo".to_owned(),
        format!("gro={gro}"),
    ];
    Drawn { knobs: knobs.into(), gro, mtu: mtu.to_string(), buffer }
}

impl Drawn {
    fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        more.iter().copied().chain(self.knobs.iter().map(String::as_str)).collect()
    }

    fn is(&self, seen: &[String]) -> bool {
        seen[0] == "reno"
            && seen[1].ends_with(&format!(" {}", self.buffer))
            && seen[2] == self.mtu
            && seen[3].starts_with("qdisc pfifo ")
            && seen[4] == if self.gro { "1" } else { "0" }
    }
}

fn begin(receiver: &Receiver, pair: &Pair, folder: &Path, more: &[&str]) -> Child {
    receiver.command(pair, folder, more).spawn().expect("ip can be started")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn in_b(pair: &Pair, folder: &Path, arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_brickyard");
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &pair.b, program]).args(arguments).current_dir(folder);
    command.output().expect("ip can be started")
}

/// Read in the other namespace while the trial runs: what this end believes may not be in force.
#[test]
fn what_a_trial_asks_of_the_other_machine_is_in_force_there_and_back_afterwards() {
    if !usable("settings of the other end", &["ip", "tc", "python3"]) {
        return;
    }
    let _beside = beside_a_guest();
    let pair = Pair::new();
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (here, there) = (look(&pair.a), look(&pair.b));
    let receiver = receiver(&pair, folder);
    let drawn = drawn(&there);
    let long = drawn.arguments(&["tcp-stream", "stop=15s"]);
    let running = begin(&receiver, &pair, folder, &long);
    becomes(&pair.b, |seen| drawn.is(seen)).unwrap_or_else(|seen| panic!("{seen:?}"));
    assert_eq!(look(&pair.a), here, "settings-at=peer leaves this machine alone");
    let document = parse(&running.wait_with_output().expect("waited for"));
    let trial = trials(&document)[0];
    assert_eq!(trial["outcome"], "done", "{document:#}");
    let notes = trial["notes"].as_array().expect("notes");
    let note = notes.iter().find(|note| note["kind"] == "peer-settings").expect("a note");
    let text = note["text"].as_str().expect("words");
    for word in [
        &format!("interface-mtu={}", drawn.mtu),
        "tcp-congestion=reno",
        &format!("gro={}", drawn.gro),
        "its interface is link0",
        "10.89.0.2",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!noted(trial, "setting-changed"), "{document:#}");
    becomes(&pair.b, |seen| seen == there).unwrap_or_else(|seen| panic!("{seen:?} of {there:?}"));
    assert!(!folder.join("there.db-undo").exists(), "all is undone, and the journal goes");

    // Where settings are made is a factor like any other; each trial says what its peer had.
    let crossed = ["tcp-stream", "settings-at=here,peer,both", "tcp-congestion=as-is,reno"];
    let document = parse(&receiver.output(&pair, folder, &[&crossed[..], &["stop=1s"]].concat()));
    let all = trials(&document);
    assert_eq!(all.len(), 6, "{document:#}");
    for trial in all {
        assert_eq!(trial["outcome"], "done", "{trial:#}");
        let at = trial["settings"]["settings-at"].as_str().expect("a word");
        let asks = at != "here" && trial["settings"]["tcp-congestion"] == "reno";
        assert_eq!(noted(trial, "peer-settings"), asks, "{trial:#}");
    }
    assert_eq!(look(&pair.a), here);
    becomes(&pair.b, |seen| seen == there).unwrap_or_else(|seen| panic!("{seen:?} of {there:?}"));
}

#[test]
fn without_leave_nothing_is_set_there_and_it_is_told_before_anything_runs() {
    if !usable("settings of the other end that are not allowed", &["ip", "tc", "python3"]) {
        return;
    }
    let _beside = beside_a_guest();
    let pair = Pair::new();
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let there = look(&pair.b);
    let drawn = drawn(&there);
    let short = drawn.arguments(&["tcp-stream", "stop=1s"]);
    let closed = Receiver::new(&pair);
    let output = closed.output(&pair, folder, &short);
    let why = said(&output);
    assert_eq!(output.status.code(), Some(2), "{why}");
    assert!(why.contains("brickyard receive --listen 10.89.0.2 --allow-knobs"), "{why}");
    assert!(!folder.join("two.db").exists(), "nothing was kept: {why}");
    // What is here alone goes there all the same.
    let here = ["tcp-stream", "stop=1s", "tcp-congestion=reno"];
    let document = parse(&closed.output(&pair, folder, &here));
    assert_eq!(trials(&document)[0]["outcome"], "done", "{document:#}");
    drop(closed);
    // What would be set is told, and nothing is, whether it is allowed or not.
    let receiver = receiver(&pair, folder);
    let dry = drawn.arguments(&["tcp-stream", "--dry-run"]);
    let shown = parse(&receiver.output(&pair, folder, &dry));
    let lines = shown["settings_at_peer"].as_array().expect("lines");
    assert_eq!(lines.len(), 5, "{shown:#}");
    assert!(lines.iter().all(|line| line.to_string().contains("is not looked at")), "{shown:#}");
    assert_eq!(shown["writes"], Value::Array(Vec::new()), "{shown:#}");
    // What it cannot do is told before: a word that its kernel does not have.
    let word = ["tcp-stream", "settings-at=peer", "tcp-congestion=nosuch"];
    let output = receiver.output(&pair, folder, &word);
    let why = said(&output);
    assert_eq!(output.status.code(), Some(2), "{why}");
    assert!(why.contains("the other machine, 10.89.0.2") && why.contains("nosuch"), "{why}");
    // An interface that it does not have makes the trial skipped, as here.
    let gone = ["tcp-stream", "stop=1s", "settings-at=peer", "peer-interface=eth7", "gro=false"];
    let document = parse(&receiver.output(&pair, folder, &gone));
    let trial = trials(&document)[0].to_string();
    assert!(trial.contains("skipped") && trial.contains("no `eth7`"), "{trial}");
    assert_eq!(look(&pair.b), there);
}

#[test]
fn what_is_set_there_is_back_whoever_is_killed() {
    if !usable("settings of the other end after a kill", &["ip", "tc", "python3"]) {
        return;
    }
    let _beside = beside_a_guest();
    let pair = Pair::new();
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let there = look(&pair.b);
    let drawn = drawn(&there);
    let long = drawn.arguments(&["tcp-stream", "stop=60s"]);
    let back = |who: &str| {
        let is = becomes(&pair.b, |seen| seen == there);
        is.unwrap_or_else(|seen| panic!("{who}: {seen:?} of {there:?}"));
    };
    let mut other = receiver(&pair, folder);
    let mut running = begin(&other, &pair, folder, &long);
    becomes(&pair.b, |seen| drawn.is(seen)).unwrap_or_else(|seen| panic!("{seen:?}"));
    std::thread::sleep(Duration::from_millis(draw("caller killed after, ms", 0, 2000)));
    running.kill().expect("killed");
    running.wait().expect("waited for");
    back("the caller is killed");
    // The listener is there for the next one, and is stopped in the middle.
    let running = begin(&other, &pair, folder, &long);
    becomes(&pair.b, |seen| drawn.is(seen)).unwrap_or_else(|seen| panic!("{seen:?}"));
    other.end("-TERM");
    assert_eq!(look(&pair.b), there, "when it has ended all is back");
    assert!(!folder.join("there.db-undo").exists());
    let output = running.wait_with_output().expect("waited for");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    drop(other);
    // Killed itself it leaves a journal, by which it is undone there.
    let mut other = receiver(&pair, folder);
    let running = begin(&other, &pair, folder, &long);
    becomes(&pair.b, |seen| drawn.is(seen)).unwrap_or_else(|seen| panic!("{seen:?}"));
    other.end("-KILL");
    drop(running.wait_with_output().expect("waited for"));
    assert!(drawn.is(&look(&pair.b)), "nobody is left who could have put it back");
    let undo = ["undo", "--store", "there.db"];
    let output = in_b(&pair, folder, &undo);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(look(&pair.b), there);
    // The next one does so by itself.
    let mut other = receiver(&pair, folder);
    let running = begin(&other, &pair, folder, &long);
    becomes(&pair.b, |seen| drawn.is(seen)).unwrap_or_else(|seen| panic!("{seen:?}"));
    other.end("-KILL");
    drop(running.wait_with_output().expect("waited for"));
    let _next = receiver(&pair, folder);
    assert_eq!(look(&pair.b), there);
}

/// A way between both ends on which each packet takes so long; gone when dropped.
struct Delay(Child);

impl Delay {
    fn new(pair: &Pair, ms: u64) -> Delay {
        let mut child = Command::new("python3")
            .args(["-c", include_str!("delay.py"), &ms.to_string(), &pair.a, &pair.b])
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 can be started");
        let mut line = String::new();
        let output = child.stdout.take().expect("was piped");
        let made = Delay(child);
        BufReader::new(output).read_line(&mut line).expect("a line");
        assert_eq!(line.trim(), "ready");
        for (end, own, other) in
            [(&pair.a, "10.89.0.1", "10.89.0.2"), (&pair.b, "10.89.0.2", "10.89.0.1")]
        {
            sh("ip", &["-n", end, "link", "set", "delay0", "txqueuelen", "10000", "up"]);
            let way = ["route", "add", other, "dev", "delay0", "src", own];
            sh("ip", &[&["-n", end.as_str()], &way[..]].concat());
        }
        made
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A window of so many bytes passes once in a round trip, which is known. The buffer is that of the
/// machine which receives: one that is set on another machine than it is said to be does nothing.
#[test]
fn buffers_of_the_machine_that_receives_bound_the_rate_by_window_and_round_trip() {
    if !usable("windows over a way with delay", &["ip", "tc", "python3"]) {
        return;
    }
    let _beside = beside_another_disk();
    let pair = Pair::new();
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let ms = draw("delay one way, ms", 20, 40);
    let _delay = Delay::new(&pair, ms);
    let receiver = receiver(&pair, folder);
    // The first is below what a socket begins with, which the listener's own once handed down.
    let sizes = [draw("small buffer, KiB", 30, 50), draw("buffer, KiB", 140, 220)];
    let knob = format!("tcp-buffer-max=as-is,{}KiB,{}KiB", sizes[0], sizes[1]);
    // Nothing is lost on the way, and reno grows until something is.
    let reno = "congestion-control=reno";
    let more = ["tcp-stream", &knob, "settings-at=here,peer", reno, "warm-up=1s", "stop=3s"];
    let document = parse(&receiver.output(&pair, folder, &more));
    let rate = |buffer: &Value, at: &str| {
        let is = |trial: &&&Value| {
            let settings = &trial["settings"];
            settings["tcp-buffer-max"] == *buffer && settings["settings-at"] == at
        };
        let all = trials(&document);
        let trial = all.iter().find(is).unwrap_or_else(|| panic!("{document:#}"));
        figure(trial, "throughput_bytes_per_s")
    };
    let rtt_s = 2.0 * ms as f64 / 1e3;
    for kib in sizes {
        // All that may wait at the receiver, in one round trip.
        let most = (kib * 1024) as f64 / rtt_s;
        let set = Value::from(kib * 1024);
        let got = rate(&set, "peer");
        // Others may have had the processors in one of them.
        let free = ["here", "peer"].map(|at| rate(&"as-is".into(), at));
        let free = free[0].max(free[1]);
        // Buffers of the end that sends have bounds of their own by the same knob.
        let by_sender = rate(&set, "here");
        println!(
            "{kib} KiB, {rtt_s} s: {:.3} of a buffer in a round trip; {:.3} as it is, {:.3} by the \
             sender's",
            got / most,
            free / most,
            by_sender / most
        );
        assert!(got < most && got > 0.1 * most, "{got} of {most}: {document:#}");
        assert!(free > 1.3 * got, "{got}, and {free} as it is: {document:#}");
    }
}
