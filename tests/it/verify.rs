//! `brickyard verify` as people type it.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brickyard"));
    // What is kept is `kept.rs`'s.
    command.args(["verify", "--no-store"]).args(arguments).current_dir(folder).env("NO_COLOR", "1");
    command
}

/// Runs it, and holds the exit status against what is expected; gives both outputs.
fn verify(folder: &Path, arguments: &[&str], status: i32) -> (String, String) {
    let Output { status: ended, stdout, stderr } =
        command(folder, arguments).output().expect("brickyard can be started");
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!(ended.code(), Some(status), "{arguments:?}:\n{out}\n{err}");
    (out.into_owned(), err.into_owned())
}

fn document(folder: &Path, arguments: &[&str], status: i32) -> Value {
    let (out, _) = verify(folder, &[arguments, &["--json", "--quiet"]].concat(), status);
    let document: Value = serde_json::from_str(&out).expect("one document");
    document["verify"].clone()
}

/// A folder on a disk with files of several MiB, and none.
fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let bytes: Vec<u8> =
        (0..5_000_001_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::create_dir(folder.path().join("sub")).expect("made");
    std::fs::write(folder.path().join("large"), &bytes).expect("written");
    std::fs::write(folder.path().join("sub/small"), &bytes[..777]).expect("written");
    std::fs::write(folder.path().join("sub/empty"), "").expect("written");
    folder
}

/// What is there: names, sizes, times. Nothing of it may change.
fn state(folder: &Path) -> Vec<String> {
    let mut state = Vec::new();
    for entry in folder.read_dir().expect("readable") {
        let path = entry.expect("readable").path();
        let there = path.symlink_metadata().expect("there");
        let modified = there.modified().expect("a time");
        state.push(format!("{path:?} {} {modified:?}", there.len()));
        if there.is_dir() {
            state.extend(self::state(&path));
        }
    }
    state.sort();
    state
}

/// The list of `tool`, of coreutils, over these names.
fn list(folder: &Path, tool: &str, names: &[&OsStr]) -> Vec<u8> {
    let output = Command::new(tool).args(names).current_dir(folder).output().expect("coreutils");
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn files_that_stay_as_they_are_are_clean_and_stay_untouched() {
    let folder = files();
    let at = folder.path();
    std::os::unix::fs::symlink("large", at.join("link")).expect("linked");
    let before = state(at);
    let (out, err) = verify(at, &[".", "--passes", "3", "--streams", "2"], 0);
    assert!(out.contains("clean: every byte"), "{out}");
    assert!(out.contains("to test 1e-14"), "{out}");
    assert!(err.is_empty(), "{err}");
    assert_eq!(state(at), before);
    for checksum in ["md5", "xxh3-128", "blake3"] {
        let told = document(at, &[".", "--checksum", checksum], 0);
        let twice = 2 * (5_000_001 + 777);
        assert_eq!(told["integrity"]["checksum"], checksum);
        assert_eq!(told["integrity"]["checked_bytes"], twice);
        assert_eq!(told["bits"]["compared"], 8 * twice / 2);
        assert_eq!(told["files"]["read"], 3);
        assert_eq!(told["problem_counts"]["skipped"], 1);
    }
    assert_eq!(state(at), before);
}

#[test]
fn lists_of_the_tools_are_followed_with_odd_names_and_line_ends_of_windows() {
    let folder = files();
    let at = folder.path();
    let odd = [&b"a b"[..], b"new\nline", b"back\\slash", b"\xff\xfe", b" lead", b"*star"];
    let mut names = vec![OsStr::new("large"), OsStr::new("sub/small"), OsStr::new("sub/empty")];
    for name in odd {
        std::fs::write(at.join(OsStr::from_bytes(name)), name).expect("written");
        names.push(OsStr::from_bytes(name));
    }
    for tool in ["md5sum", "sha256sum"] {
        let text = list(at, tool, &names);
        std::fs::write(at.join("sums"), &text).expect("written");
        let told = document(at, &["--checksums", "sums"], 0);
        assert_eq!(told["files"]["read"], 9, "{told:#}");
        let windows: Vec<u8> = text
            .split_inclusive(|byte| *byte == b'\n')
            .flat_map(|line| [&line[..line.len() - 1], b"\r\n"].concat())
            .collect();
        std::fs::write(at.join("sums"), windows).expect("written");
        // From elsewhere, by the folder that was named.
        let path = at.to_str().expect("a name");
        let told = document(Path::new("/"), &[path, "--checksums", &format!("{path}/sums")], 0);
        assert_eq!((&told["files"]["read"], &told["problems"]), (&9.into(), &Value::Array(vec![])));
        // And those alone that were named.
        let told = document(at, &["sub", "--checksums", "sums"], 0);
        assert_eq!(told["files"]["read"], 2, "{told:#}");
    }
}

#[test]
fn what_does_not_match_what_is_missing_and_bad_lines_are_told_and_give_exit_status_1() {
    let folder = files();
    let at = folder.path();
    let names = ["large", "sub/small", "sub/empty"].map(OsStr::new);
    let mut text = list(at, "md5sum", &names);
    text.extend(b"d41d8cd98f00b204e9800998ecf8427e  gone\n-----BEGIN-----\n# a comment\n");
    std::fs::write(at.join("sums"), text).expect("written");
    // Times of files go by the kernel's ticks.
    std::thread::sleep(Duration::from_millis(50));
    std::fs::write(at.join("sub/small"), "changed since").expect("written");
    std::fs::write(at.join("sub/more"), "in no list").expect("written");
    let told = document(at, &[".", "--checksums", "sums"], 1);
    assert_eq!(told["clean"], false);
    assert_eq!(told["files"]["wrong"], 1);
    assert_eq!(told["integrity"]["wrong"]["mismatch"], 1);
    let fault = &told["integrity"]["faults"][0];
    assert!(fault["file"].as_str().is_some_and(|file| file.ends_with("sub/small")), "{fault:#}");
    assert_eq!(fault["lasting"], "persistent");
    assert_eq!(fault["rereads"].as_array().map(Vec::len), Some(3));
    let what = fault["what"].as_str().expect("words");
    assert!(what.contains("line 2 of the list"), "{what}");
    assert!(what.contains("modified after the list"), "{what}");
    let counts = &told["problem_counts"];
    assert_eq!((&counts["missing"], &counts["bad-line"]), (&1.into(), &1.into()));
    assert_eq!(counts["not-in-list"], 1);
    let bad = told["problems"].as_array().expect("problems");
    let bad = bad.iter().find(|problem| problem["kind"] == "bad-line").expect("a bad line");
    assert_eq!(bad["file"], "sums:5");
    let (out, err) = verify(at, &["--checksums", "sums"], 1);
    assert!(out.contains("WRONG: ") && out.contains("INCOMPLETE: "), "{out}");
    assert!(err.contains("missing: gone"), "{err}");
}

#[test]
fn what_cannot_be_verified_at_all_is_refused() {
    let folder = files();
    let at = folder.path();
    std::fs::write(at.join("none"), "").expect("written");
    std::fs::write(at.join("prose"), "no sums here\n").expect("written");
    let made = Command::new("mkfifo").arg("pipe").current_dir(at).status().expect("coreutils");
    assert!(made.success());
    for (arguments, says) in [
        (&["absent"][..], "No such file"),
        (&["pipe"][..], "it is a pipe"),
        (&[".", "--checksums", "absent"][..], "cannot read the list absent"),
        (&[".", "--checksums", "none"][..], "it is empty"),
        (&[".", "--checksums", "prose"][..], "line 1: it is no line of md5sum"),
        (&[".", "--checksum", "crc32c"][..], "128 bits"),
        (&[".", "--hours", "soon"][..], "a number of hours"),
        (&[][..], "required"),
    ] {
        let (out, err) = verify(at, arguments, 2);
        assert!(out.is_empty(), "{arguments:?}: {out}");
        assert!(err.contains(says), "{arguments:?}: {err}");
        assert!(err.contains("error: ") && err.contains("hint: "), "{arguments:?}: {err}");
    }
    // What can be read of what was named is read.
    assert_eq!(document(at, &["absent", "large"], 1)["files"]["read"], 1);
}

/// The clock may end it between two passes: what was read until then counts.
#[test]
fn hours_end_it_with_all_that_was_read() {
    let folder = files();
    for _ in 0..3 {
        let told = document(folder.path(), &["sub", "--hours", "0.0001"], 0);
        assert_eq!(told["interrupted"], false);
        let readings = told["readings"].as_array().expect("readings");
        let checked: u64 = readings.iter().filter_map(|one| one["checked_bytes"].as_u64()).sum();
        assert!(checked > 0, "{told:#}");
        assert_eq!(told["integrity"]["checked_bytes"], checked);
        assert_eq!(told["bits"]["checked"], 8 * checked);
    }
}

/// Starts it for some minutes, waits until its first pass is over, and gives the process.
///
/// Waiting was by the clock, and on a busy machine the first pass was not over then.
fn going(at: &Path) -> std::process::Child {
    let arguments = ["large", "sub", "--hours", "0.1", "--json"];
    let child = command(at, &arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let child = child.expect("brickyard can be started");
    reads(&child, 0);
    child
}

/// Waits until it has read more than two passes beyond `from`, bytes of /proc/PID/io: then a whole
/// one lies between. Gives how far it is.
fn reads(child: &std::process::Child, from: u64) -> u64 {
    let until = std::time::Instant::now() + Duration::from_secs(120);
    loop {
        let text = std::fs::read_to_string(format!("/proc/{}/io", child.id())).expect("its counts");
        let read = text.strip_prefix("rchar: ").and_then(|rest| rest.lines().next()?.parse().ok());
        let read: u64 = read.expect("a number");
        // What it reads of /proc and /sys before is well below one pass.
        if read > from + 3 * 5_000_778 {
            return read;
        }
        assert!(std::time::Instant::now() < until, "{read} bytes were read in two minutes");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn stop(child: std::process::Child, status: i32) -> Value {
    kill_process(Pid::from_child(&child), Signal::INT).expect("signalled");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(status));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    document["verify"].clone()
}

/// A file that is written anew is empty first, and a reader in between was told, rightly, that it
/// shrank from 777 bytes to 0. So this one is cut to 22 bytes in one step and only then written,
/// with as many.
#[test]
fn a_file_that_is_changed_meanwhile_is_changed_and_not_corrupt() {
    let folder = files();
    let at = folder.path();
    let child = going(at);
    let before = reads(&child, 0);
    let mut small =
        std::fs::File::options().write(true).open(at.join("sub/small")).expect("opened");
    small.set_len(22).expect("cut");
    small.write_all(b"other bytes, and fewer").expect("written");
    drop(small);
    std::fs::remove_file(at.join("sub/empty")).expect("removed");
    reads(&child, before);
    let told = stop(child, 130);
    assert_eq!(told["interrupted"], true);
    assert!(told["passes"].as_u64() > Some(1), "{told:#}");
    assert_eq!(told["files"]["wrong"], 0);
    assert_eq!(told["silent"]["events"], 0);
    let problems = told["problems"].as_array().expect("problems");
    let of = |name: &str| {
        let named = |problem: &&Value| problem["file"].as_str().is_some_and(|f| f.ends_with(name));
        problems.iter().find(named).expect("a problem")
    };
    assert_eq!(of("small")["kind"], "changed");
    assert!(of("small")["what"].as_str().expect("words").contains("shrank from 777 to 22"));
    assert_eq!(of("empty")["kind"], "missing");
}
