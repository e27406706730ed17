//! What is fed to the program by hand: nothing of it takes the machine's memory, and what was
//! refused leaves nothing behind.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::program::brickyard;

/// The program with so little memory that it ends when it takes what is fed to it whole.
fn bounded(folder: &Path, arguments: &[&str], input: Stdio) -> Output {
    // 2 GiB of addresses: its threads and maps have most of them, and none of it is used.
    let line = "ulimit -v 2097152; exec \"$0\" \"$@\"";
    Command::new("/bin/sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_brickyard")])
        .args(arguments)
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .stdin(input)
        .output()
        .expect("a shell can be started")
}

fn device() -> Stdio {
    std::fs::File::open("/dev/zero").expect("a device without an end").into()
}

/// `brickyard plan /dev/zero` took 9.7 GB of memory until the kernel ended it.
#[test]
fn an_input_without_an_end_is_refused_with_what_to_do_whoever_reads_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let sparse = std::fs::File::create(folder.join("sparse")).expect("a file");
    sparse.set_len(1 << 40).expect("a terabyte that takes no room");
    for arguments in [
        &["plan", "INPUT"][..],
        &["run", "INPUT", "--dry-run"],
        &["verify", ".", "--no-store", "--checksums", "INPUT"],
        &["verify", "--flushed", "INPUT"],
        &["import", "INPUT"],
        &["import", "--published", "sara-2010", "--root", "x4=INPUT"],
        &["inspect", "--root", "INPUT"],
        &["run", "replay", "--dry-run", "loadfile=INPUT"],
    ] {
        let with = |input: &str| -> Vec<String> {
            arguments.iter().map(|word| word.replace("INPUT", input)).collect()
        };
        for (input, why) in [("/dev/zero", "it is a device"), ("./sparse", "larger than 1 MiB")] {
            let words = with(input);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let output = bounded(folder, &words, Stdio::null());
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
            // Each kind has a size of its own; of a log a line has one.
            let why = why.strip_suffix(" 1 MiB").unwrap_or(why);
            let told = said.contains(why) || said.contains(&why.replace("larger", "longer"));
            assert!(told && said.contains("hint: "), "{words:?}: {said}");
        }
    }
    let asked = bounded(folder, &["query", "-"], device());
    let said = String::from_utf8_lossy(&asked.stderr);
    assert_eq!(asked.status.code(), Some(2), "{said}");
    assert!(said.contains("it is larger than 1 MiB"), "{said}");
    let names = folder.read_dir().expect("readable").count();
    assert_eq!(names, 1, "nothing was made but the file that was there");
}

/// What was piped in is read as before.
#[test]
fn a_plan_and_an_output_come_through_a_pipe_as_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let fed = |arguments: &[&str], text: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("brickyard can be started");
        let mut input = child.stdin.take().expect("piped");
        input.write_all(text.as_bytes()).expect("it reads");
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).expect("text")
    };
    let plan = "[plan]\nname = \"piped\"\nengine = \"sim\"\n[[workload]]\nuse = \"random-read\"\n";
    assert!(fed(&["plan", "/dev/stdin"], plan).contains("piped"));
    let dbench = include_str!("../fixtures/tools/dbench-4.00-two-clients.txt");
    assert!(fed(&["import", "/dev/stdin"], dbench).contains("dbench"));
}

/// `flush-log=` that could not be written was found out by the worker: by then there was a store
/// with a campaign in it, and a folder that is kept until somebody removes it by hand.
#[test]
fn a_log_that_is_refused_leaves_neither_a_store_nor_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::create_dir(folder.join("data")).expect("a directory");
    std::fs::write(folder.join("notes.txt"), "not a log\n").expect("a file");
    std::os::unix::fs::symlink("nowhere/at/all", folder.join("dangling")).expect("a link");
    let before = names(folder);
    for (log, why) in [
        ("no/such/folder/log", "No such file or directory"),
        ("notes.txt/log", "Not a directory"),
        ("data", "it is a directory"),
        ("notes.txt", "it is a file of something else"),
        ("dangling", "it is a link that leads nowhere"),
        ("/dev/full", "it is not a regular file"),
    ] {
        let log = format!("flush-log={log}");
        let knobs = ["file-size=64KiB", "stop=1s", "streams=1", "flush-log-anywhere=true", &log];
        let output =
            brickyard(folder, &[&["run", "flush-test", "--dir", "data"][..], &knobs].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{log}: {said}");
        assert!(said.contains("cannot use the log ") && said.contains(why), "{log}: {said}");
        assert!(said.contains("hint: flush-log= names a new file"), "{said}");
        assert_eq!(names(folder), before, "{log}");
        assert_eq!(names(&folder.join("data")), Vec::<String>::new(), "{log}");
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().expect("readable").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A connection from this address of the machine.
pub fn from(address: [u8; 4], to: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let stream = runtime.expect("a runtime").block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((Ipv4Addr::from(address), 0)))?;
        socket.connect(to).await?.into_std()
    });
    let stream = stream.expect("it listens");
    stream.set_nonblocking(false).expect("set");
    stream
}
