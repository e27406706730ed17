//! File servers that a plan starts: what they leave behind.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::database::{alive, open_folder, until};
use crate::program::brickyard;

/// Whether a server of files below `place` is up: the program itself, not the shell that starts it.
fn serves(place: &str) -> bool {
    let entries = Path::new("/proc").read_dir().expect("/proc").flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).any(|line| {
        let first = line.split(['\0', ' ', ':']).next().unwrap_or_default();
        let name = first.rsplit('/').next().unwrap_or_default();
        ["nginx", "smbd", "xrootd"].contains(&name) && line.contains(place)
    })
}

/// One of these serves for whoever runs this, root or not.
const INSTALLED: [[&str; 2]; 2] = [["nginx", "curl"], ["smbd", "smbclient"]];

/// Whether the plan, which sets PATH, would find it.
fn found(program: &str) -> bool {
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).exists())
}

/// The kernel kills us in the middle: whichever server was up has gone, and the next run sweeps.
#[test]
#[expect(clippy::print_stdout, reason = "a test that cannot run says so")]
fn no_file_server_outlives_a_run_that_was_killed() {
    if !INSTALLED.iter().any(|pair| pair.iter().all(|program| found(program))) {
        println!("SKIP file servers: neither of {INSTALLED:?} is installed");
        return;
    }
    let folder = open_folder();
    let at = folder.path();
    let place = at.display().to_string();
    let mut run = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["run", "file-servers", "--dir", &place, "--replicates", "1", "streams=1"])
        .current_dir(at)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("brickyard can be started");
    until("it never served", || serves(&place) || run.try_wait().expect("a process").is_some());
    assert_eq!(run.try_wait().expect("a process"), None, "it ended and had served nobody");
    run.kill().expect("killed");
    let _ = run.wait();
    until("a server runs on", || alive(&[&place]) == 0);
    let output = brickyard(at, &["run", "command", "--dir", ".", "command=true", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let left = at.read_dir().expect("the folder").flatten();
    let left = left.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir())).count();
    assert_eq!(left, 0, "the folder of the killed run is still there");
}

/// What python's own server reads for its clients is the load's, and is told apart from what the
/// clients cost; a server that is not there yet is asked again, one that never comes is told.
#[test]
fn a_server_is_a_part_of_the_load_and_one_that_never_comes_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |server: &str, ready: &str, command: &str| {
        let (server, ready) = (format!("server={server}"), format!("ready={ready}"));
        let command = format!("command={command}");
        let asked = ["run", "command", "--dir", ".", "shell=true", "copy-bytes=1MB", "--json"];
        let made = "prepare=head -c 1000000 /dev/urandom >{directory}/f";
        let own = [server.as_str(), ready.as_str(), command.as_str(), made, "--replicates", "1"];
        let output = brickyard(folder.path(), &[&asked[..], &own[..]].concat());
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    // A pipe with a name serves whoever opens it; the server makes it only after a while.
    let serve = "cd {directory}; sleep 0.3; mkfifo p; while :; do cat f >p; done";
    let fetch = "[ $(cat {directory}/p | wc -c) -gt 0 ]";
    // Once before, so that what its programs themselves consist of is in memory too: read from
    // storage, as it is after all else that tests do, that is 68 KiB of `mixed`, and rightly.
    run(serve, "test -p {directory}/p", fetch);
    let document = run(serve, "test -p {directory}/p", fetch);
    let trial = &document["trials"][0];
    assert_eq!(trial["outcome"], "done", "{document:#}");
    for figure in ["server_user_s", "server_system_s", "elapsed_s"] {
        assert!(trial["figures"][figure]["value"].is_number(), "{figure}: {trial:#}");
    }
    // Just written: all of it was in memory, and nobody says otherwise.
    assert_eq!(trial["origin"]["verdict"], "cache", "{trial:#}");
    // One that ended between two questions whether it is ready was once not noticed: the trial
    // waited for a minute and said that it was not ready. Of eight that ended after 0.2 s five were
    // not noticed: of these four hardly all would be.
    for after_s in ["0", "0.15", "0.2", "0.23", "0.31"] {
        let server = format!("sleep {after_s}; echo no room here >&2; exit 3");
        let ended = run(&server, "false", fetch).to_string();
        let told = ended.contains("the server ended with status 3") && ended.contains("no room");
        assert!(told, "{ended}");
    }
    let left = folder.path().read_dir().expect("the folder").flatten();
    let left = left.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir())).count();
    assert_eq!(left, 0, "folders of trials are left");
}
