//! Settings of a network interface: a veth's, in a namespace that these tests make.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::disk::{alone, beside_a_guest, sh, usable};
use crate::run::{parse, trials};

/// Its MTU, its discipline, the CPUs that its first queue is steered to, and tso, gso and gro by
/// ETHTOOL_GTSO, ETHTOOL_GGSO and ETHTOOL_GGRO: not by any code of ours.
const LOOK: &str = "cat /sys/class/net/link0/mtu /sys/class/net/link0/queues/rx-0/rps_cpus; \
                    tc qdisc show dev link0; \
                    python3 -c 'import array, fcntl, socket, struct; \
                    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); \
                    asks = [array.array(\"I\", [c, 9]) for c in (0x1e, 0x23, 0x2b)]; \
                    [fcntl.ioctl(s, 0x8946, struct.pack(\"16sP8x\", b\"link0\", \
                    a.buffer_info()[0])) for a in asks]; \
                    print(*[a[1] for a in asks], sep=\"\\n\")'";

/// A namespace with a pair of interfaces in it, `link0` and `link1`; gone when dropped.
struct Namespace(String);

impl Namespace {
    fn new(name: &str) -> Namespace {
        let name = format!("brickyard-lab-{}-{name}", std::process::id());
        sh("ip", &["netns", "add", &name]);
        let made = Namespace(name);
        made.link();
        made
    }

    fn link(&self) {
        let queues = ["numrxqueues", "2", "numtxqueues", "2", "type", "veth"];
        let add = ["-n", &self.0, "link", "add", "link0"];
        sh("ip", &[&add[..], &queues, &["peer", "name", "link1"]].concat());
        for link in ["link0", "link1"] {
            sh("ip", &["-n", &self.0, "link", "set", link, "up"]);
        }
    }

    fn inside(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0, program]).args(arguments);
        command
    }

    fn look(&self) -> String {
        sh("ip", &["netns", "exec", &self.0, "sh", "-c", LOOK])
    }

    fn brickyard(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = self.inside(env!("CARGO_BIN_EXE_brickyard"), arguments);
        command.current_dir(folder).env("NO_COLOR", "1");
        command
    }

    /// One trial of a command; the whole document.
    fn run(&self, folder: &Path, command: &str, knobs: &[&str]) -> Value {
        let command = format!("command={command}");
        let all = ["run", "command", &command, "--dir", ".", "--replicates", "1", "--json"];
        let output = self.brickyard(folder, &[&all[..], &["--quiet"], knobs].concat()).output();
        parse(&output.expect("ip can be started"))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).output();
    }
}

const CHANGES: [&str; 6] = [
    "network-interface=link0",
    "interface-mtu=9000",
    "tso=false",
    "gso=false",
    "qdisc=pfifo",
    "rps=0",
];

#[test]
fn an_interface_is_changed_for_the_trial_alone_and_no_other_is() {
    if !usable("settings of a veth", &["ip", "tc", "python3"]) {
        return;
    }
    let _beside = beside_a_guest();
    let (own, other) = (Namespace::new("own"), Namespace::new("other"));
    let (before, elsewhere) = (own.look(), other.look());
    let lines: Vec<&str> = before.lines().collect();
    let gro = lines.last() == Some(&"1");
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("look.sh");
    std::fs::write(&script, LOOK).expect("a script");
    let seen = folder.path().join("seen");
    let command = format!("sh -c 'sh {} > {}'", script.display(), seen.display());
    let flip = format!("gro={}", !gro);
    let document = own.run(folder.path(), &command, &[&CHANGES[..], &[&flip]].concat());
    assert_eq!(trials(&document)[0]["outcome"], "done", "{document:#}");
    let seen = std::fs::read_to_string(seen).expect("what the command saw");
    let seen: Vec<&str> = seen.lines().collect();
    assert_eq!(seen[0], "9000", "{seen:?}");
    assert_eq!(u32::from_str_radix(seen[1], 16), Ok(1), "{seen:?}");
    assert!(seen[2].starts_with("qdisc pfifo 4252: root"), "{seen:?}");
    assert_eq!(seen[3..], ["0", "0", if gro { "0" } else { "1" }], "before: {lines:?}");
    assert_eq!(lines[lines.len() - 3..lines.len() - 1], ["1", "1"], "tso and gso were on");
    assert_eq!((own.look(), other.look()), (before, elsewhere));
    assert!(!folder.path().join("brickyard.db-undo").exists());
}

#[test]
fn what_a_veth_has_not_is_skipped_by_name_in_the_kernels_words() {
    if !usable("refusals of a veth", &["ip", "tc", "python3"]) {
        return;
    }
    let _beside = beside_a_guest();
    let own = Namespace::new("own");
    let before = own.look();
    let folder = tempfile::tempdir().expect("a folder");
    let named = "network-interface=link0";
    for (knobs, words) in [
        (&[named, "rx-ring=512"][..], &["rx-ring of the network interface link0", "not supported"]),
        (&[named, "tx-ring=512"], &["tx-ring", "not supported"]),
        (&[named, "interrupt-coalescing=66us"], &["rx-usecs", "not supported"]),
        (&[named, "adaptive-coalescing=true"], &["adaptive-rx", "not supported"]),
        (&[named, "lro=true"], &["rx-lro", "fixed off"]),
        (&[named, "rss-queues=4000"], &["rx-channels", "at most"]),
        (&["interface-mtu=9000"], &["names none", "link0"]),
        (&["network-interface=eth9", "tso=false"], &["no `eth9`", "link0"]),
    ] {
        let document = own.run(folder.path(), "true", knobs);
        let trial = trials(&document)[0].clone();
        assert_eq!(trial["outcome"], "skipped", "{knobs:?}: {trial:#}");
        let said = trial.to_string();
        assert!(words.iter().all(|word| said.contains(word)), "{knobs:?}: {trial:#}");
    }
    assert_eq!(own.look(), before);
    // What somebody else has put there has options that nobody could put back.
    let shape = ["root", "tbf", "rate", "1gbit", "burst", "1mb", "latency", "50ms"];
    sh("tc", &[&["-n", &own.0, "qdisc", "add", "dev", "link0"], &shape[..]].concat());
    let shaped = own.look();
    let document = own.run(folder.path(), "true", &[named, "qdisc=pfifo"]);
    let said = trials(&document)[0].to_string();
    assert!(said.contains("somebody has put tbf") && said.contains("skipped"), "{said}");
    assert_eq!(own.look(), shaped);
    assert!(!folder.path().join("brickyard.db-undo").exists());
}

#[test]
fn a_run_killed_while_an_interface_is_changed_is_undone_in_its_namespace_alone() {
    if !usable("undo of a veth's settings", &["ip", "tc", "python3"]) {
        return;
    }
    let _alone = alone();
    let (own, other) = (Namespace::new("own"), Namespace::new("other"));
    let (before, elsewhere) = (own.look(), other.look());
    let killed = |folder: &Path| {
        let command = ["run", "command", "command=sleep 20", "--dir", ".", "--quiet"];
        let mut child = own
            .brickyard(folder, &[&command[..], &CHANGES].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("ip can be started");
        let until = Instant::now() + Duration::from_secs(60);
        while !own.look().contains("pfifo 4252:") || !own.look().starts_with("9000\n") {
            assert!(Instant::now() < until, "nothing was changed");
        }
        child.kill().expect("killed");
        child.wait().expect("it ends");
    };
    let undo = |namespace: &Namespace, folder: &Path| {
        let output = namespace.brickyard(folder, &["undo"]).output().expect("ip can be started");
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    let folder = tempfile::tempdir().expect("a folder");
    killed(folder.path());
    let (code, said) = undo(&other, folder.path());
    assert!(code != Some(0) && said.contains("another network namespace"), "{code:?}: {said}");
    assert_eq!(other.look(), elsewhere);
    let (code, said) = undo(&own, folder.path());
    assert_eq!((code, own.look()), (Some(0), before), "{said}");
    assert!(!folder.path().join("brickyard.db-undo").exists());
    // Another interface has taken the name.
    killed(folder.path());
    sh("ip", &["-n", &own.0, "link", "delete", "link0"]);
    own.link();
    sh("ip", &["-n", &own.0, "link", "set", "link0", "mtu", "9000"]);
    let fresh = own.look();
    let (code, said) = undo(&own, folder.path());
    assert!(code == Some(0) && said.contains("another device"), "{code:?}: {said}");
    assert_eq!(own.look(), fresh, "{said}");
}
