//! A worker opens what lies below the directories that it was given, and nothing else; where the
//! kernel, or a container's filter, has no openat2(2), another way.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::program::document;

/// What a worker of the engine `file` says when it is to write `file`, and is given what `held`
/// says.
fn answer(file: &Path, held: Value) -> Value {
    let mut child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["worker", "file"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the worker can be started");
    let settings = json!({
        "access": "write", "io-engine": "sync", "queue-depth": 1, "direct": false, "streams": 1,
        "files": 1, "file-size": 65536, "block-size": 4096, "stop": "pass",
    });
    let spec = json!({
        "settings": settings, "seed": 1, "campaign": 2, "streams": [[file]], "held": held,
    });
    let mut to = child.stdin.take().expect("was piped");
    writeln!(to, "{spec}").expect("it listens");
    let mut line = String::new();
    let from = child.stdout.take().expect("was piped");
    BufReader::new(from).read_line(&mut line).expect("it speaks");
    // It ends when nobody has anything more to say.
    drop(to);
    child.wait().expect("it ends");
    serde_json::from_str(&line).expect("a line of JSON")
}

/// A worker opened whatever name it was given.
#[test]
fn a_worker_opens_nothing_but_what_lies_in_the_directories_that_it_was_given() {
    let folder = tempfile::tempdir().expect("a folder");
    let (work, other) = (folder.path().join("work"), folder.path().join("other"));
    std::fs::create_dir(&work).expect("made");
    std::fs::create_dir(&other).expect("made");
    let about = work.metadata().expect("looked at");
    let held = |inode: u64| {
        let device = about.dev();
        // By its path: nobody has such a descriptor.
        json!([{
            "path": work, "device": device, "inode": inode, "process": 1, "descriptor": -1,
        }])
    };
    let why = |said: &Value| said["failed"]["what"].as_str().unwrap_or_default().to_owned();

    let said = answer(&other.join("f"), held(about.ino()));
    assert!(why(&said).starts_with("cannot open") && !other.join("f").exists(), "{said}");
    let said = answer(&work.join("../other/f"), held(about.ino()));
    assert!(why(&said).starts_with("cannot open") && !other.join("f").exists(), "{said}");
    // Another directory has its name.
    let said = answer(&work.join("f"), held(about.ino() + 1));
    assert!(why(&said).contains("was moved or replaced while we measured"), "{said}");
    assert!(!work.join("f").exists());
    // A link, and where it leads.
    std::os::unix::fs::symlink(other.join("f"), work.join("f")).expect("linked");
    let said = answer(&work.join("f"), held(about.ino()));
    assert!(why(&said).contains("it is a symbolic link") && !other.join("f").exists(), "{said}");
    std::fs::remove_file(work.join("f")).expect("removed");
    let said = answer(&work.join("f"), held(about.ino()));
    assert!(said.get("failed").is_none() && work.join("f").exists(), "{said}");
}

/// Runs `command` under a filter that answers openat2(2) with this error.
fn without_openat2(command: &mut Command, errno: u32) {
    const LOAD_NUMBER: u32 = 0x20; // BPF_LD | BPF_W | BPF_ABS, of seccomp_data.nr at 0
    const EQUAL: u32 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const RETURN: u32 = 0x06; // BPF_RET | BPF_K
    let line = |code: u32, if_not: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: if_not,
        k,
    };
    let filter = [
        line(LOAD_NUMBER, 0, 0),
        line(EQUAL, 1, libc::SYS_openat2 as u32),
        line(RETURN, 0, libc::SECCOMP_RET_ERRNO | errno),
        line(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let set = move || {
        let mut filter = filter;
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: prctl(2) with numbers, and with a program that lives through the call.
        let done = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
                    == 0
        };
        if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: it makes system calls alone, which is allowed between fork and exec.
    unsafe { command.pre_exec(set) };
}

#[test]
fn files_are_measured_where_there_is_no_openat2_and_where_a_filter_forbids_it() {
    for errno in [libc::ENOSYS, libc::EPERM] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_brickyard"));
        command.args([
            "run",
            "random-write",
            "--dir",
            ".",
            "--replicates",
            "1",
            "--quiet",
            "--json",
        ]);
        command.args(["io-engine=sync", "queue-depth=1", "direct=false", "streams=2"]);
        command.args(["file-size=256KiB", "stop=50ms"]).current_dir(folder.path());
        without_openat2(&mut command, errno as u32);
        let output = command.output().expect("brickyard can be started");
        let document = document(&output);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let trials = document["trials"].as_array().expect("trials");
        assert!(trials.iter().all(|trial| trial["outcome"] == "done"), "{said}");
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("read").flatten().collect();
        let kept = |name: &str| !name.starts_with("brickyard-") || name.ends_with(".html");
        assert!(left.iter().all(|it| kept(&it.file_name().to_string_lossy())), "{left:?}");
    }
}
