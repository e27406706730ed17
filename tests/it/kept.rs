//! What `brickyard verify` keeps in the store, as people type it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Runs the program in a folder; gives exit status and both outputs.
fn brickyard(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brickyard"));
    command.args(arguments).current_dir(folder).env("NO_COLOR", "1");
    let Output { status, stdout, stderr } = command.output().expect("brickyard can be started");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code(), text(stdout), text(stderr))
}

/// The newest campaign of the store in a folder.
fn report(folder: &Path, store: &str) -> Value {
    let arguments = ["report", "--format", "json", "--store", store];
    let (status, out, err) = brickyard(folder, &arguments);
    assert_eq!(status, Some(0), "{err}");
    serde_json::from_str(&out).expect("one document")
}

/// A folder on a disk with `data`, in which are two files, and a list of them that is wrong of one.
fn wrong() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("made");
    std::fs::write(data.join("one"), vec![7; 3 << 20]).expect("written");
    std::fs::write(data.join("two"), "other bytes").expect("written");
    // Of "one" a sum of other bytes; "gone" is nowhere.
    let list = "0cc175b9c0f1b6a831c399e269772661  data/one\n\
                d41d8cd98f00b204e9800998ecf8427e  data/gone\n";
    std::fs::write(folder.path().join("sums.md5"), list).expect("written");
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().expect("readable").map(|entry| entry.expect("one").file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A verification printed what it found, and kept nothing: all is to be in one store.
#[test]
fn what_a_verification_finds_is_kept_and_reported() {
    let folder = wrong();
    let at = folder.path();
    let (status, out, err) = brickyard(at, &["verify", "data", "--checksums", "sums.md5"]);
    assert_eq!(status, Some(1), "{out}\n{err}");
    assert!(err.contains("kept as campaign 1 in brickyard.db"), "{err}");
    assert_eq!(out.matches("mismatch: ").count(), 1, "each fault is printed once: {out}");
    let document = report(at, "brickyard.db");
    assert_eq!(document["campaign"]["plan"], "verify");
    let trial = &document["trials"][0];
    assert_eq!(trial["integrity"]["wrong"]["mismatch"], 1, "{trial:#}");
    let fault = &trial["integrity"]["faults"][0];
    assert!(fault["file"].as_str().is_some_and(|file| file.ends_with("data/one")), "{fault:#}");
    assert_eq!(trial["integrity"]["checked_bytes"], 3 << 20);
    let verified = &trial["verified"];
    assert_eq!((&verified["over"], &verified["passes"]), (&true.into(), &1.into()));
    assert_eq!((&verified["files"], &verified["files_wrong"]), (&1.into(), &1.into()));
    assert_eq!(verified["pass_ns"].as_array().map(Vec::len), Some(1));
    let problem = &verified["problems"][0];
    assert_eq!(problem["kind"], "missing", "{verified:#}");
    assert!(problem["why"].as_str().is_some_and(|why| why.contains("No such file")));
    assert!(document["inventory"]["machine"].is_object());

    let (_, text, _) = brickyard(at, &["report", "--format", "text"]);
    for told in ["Not every byte came back", "! missing: ", "mismatch in ", "sums.md5"] {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(!text.contains("Nothing was measured") && !text.contains("--seed"), "{text}");
    for format in ["html", "markdown", "csv"] {
        let arguments = ["report", "--format", format, "--output", "report", "--force"];
        let (status, _, err) = brickyard(at, &arguments);
        assert_eq!(status, Some(0), "{format}: {err}");
    }
}

#[test]
fn the_first_reading_is_no_evidence_of_silently_wrong_blocks() {
    let folder = wrong();
    let at = folder.path();
    let (status, ..) = brickyard(at, &["verify", "data", "--passes", "3", "--store", "s.db"]);
    assert_eq!(status, Some(0));
    let document = report(at, "s.db");
    let trial = &document["trials"][0];
    let bytes = (3 << 20) + 11;
    assert_eq!(trial["integrity"]["checked_bytes"], 3 * bytes);
    assert_eq!(trial["integrity"]["unheld_bytes"], bytes);
    assert_eq!(trial["verified"]["pass_ns"].as_array().map(Vec::len), Some(3));
}

#[test]
fn nothing_is_kept_where_that_is_asked_and_never_in_what_is_read() {
    let folder = wrong();
    let at = folder.path();
    let before = names(at);
    let (status, _, err) = brickyard(at, &["verify", "data", "--no-store"]);
    assert_eq!((status, err.as_str(), names(at)), (Some(0), "", before.clone()));
    // The usual place lies in what is read: that is told, and nothing is put there.
    for read in [&["verify", "."][..], &["verify", "--checksums", "sums.md5"]] {
        let (_, _, err) = brickyard(at, read);
        assert!(err.contains("not kept in brickyard.db"), "{err}");
        assert!(err.contains("--store FILE"), "{err}");
        assert_eq!(names(at), before);
    }
    // A place that was named is refused, by whatever name.
    std::os::unix::fs::symlink("data", at.join("link")).expect("linked");
    let (status, _, err) = brickyard(at, &["verify", "data", "--store", "link/s.db"]);
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("it would lie in data, which is only read"), "{err}");
    assert_eq!(names(&at.join("data")), ["one", "two"]);
}

/// `verify --checksums LIST` was refused with a store beside the list: of that folder it reads
/// nothing but what the list names.
#[test]
fn a_store_beside_a_list_is_kept_unless_the_list_names_it() {
    let folder = wrong();
    let at = folder.path();
    let by_list = ["verify", "--checksums", "sums.md5", "--store", "s.db"];
    let (_, _, err) = brickyard(at, &by_list);
    assert!(err.contains("kept as campaign 1 in s.db"), "{err}");
    let sums = std::fs::read_to_string(at.join("sums.md5")).expect("a list");
    let more = format!("{sums}00000000000000000000000000000000  s.db\n");
    std::fs::write(at.join("sums.md5"), more).expect("written");
    let (status, _, err) = brickyard(at, &by_list);
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("cannot keep this in s.db"), "{err}");
}

/// A kill took all that hours of reading had found.
#[test]
fn what_was_found_before_a_kill_is_kept() {
    let folder = wrong();
    let at = folder.path();
    let mut arguments = vec!["verify", "--hours", "1", "--checksums", "sums.md5", "data"];
    arguments.extend(["--store", "s.db"]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(&arguments)
        .current_dir(at)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("brickyard can be started");
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        assert!(Instant::now() < end, "nothing was kept in a minute");
        std::thread::sleep(Duration::from_millis(200));
        let (status, out, _) = brickyard(at, &["report", "--format", "json", "--store", "s.db"]);
        let Some(document) = (status == Some(0)).then(|| serde_json::from_str::<Value>(&out).ok())
        else {
            continue;
        };
        let document = document.expect("one document");
        if document["trials"][0]["integrity"]["wrong"]["mismatch"] == 1 {
            break;
        }
    }
    child.kill().expect("killed");
    child.wait().expect("waited for");
    let document = report(at, "s.db");
    let verified = &document["trials"][0]["verified"];
    assert_eq!(verified["over"], false, "{verified:#}");
    assert_eq!(verified["problems"][0]["kind"], "missing");
    assert_eq!(document["trials"][0]["integrity"]["faults"].as_array().map(Vec::len), Some(1));
}

#[test]
fn names_that_are_no_text_are_kept_as_they_are_shown() {
    let folder = wrong();
    let at = folder.path();
    let name = OsStr::from_bytes(b"new\nline\xff");
    std::os::unix::fs::symlink("one", at.join("data").join(name)).expect("linked");
    let status = Command::new(env!("CARGO_BIN_EXE_brickyard"))
        .args(["verify", "data", "--quiet"])
        .arg(Path::new("data").join(name))
        .current_dir(at)
        .stdout(Stdio::null())
        .status()
        .expect("brickyard can be started");
    assert_eq!(status.code(), Some(0));
    let document = report(at, "brickyard.db");
    let command = document["campaign"]["command"].as_array().expect("words");
    assert_eq!(command.last().expect("one"), r"data/new\x0aline\xff");
    let problem = &document["trials"][0]["verified"]["problems"][0];
    assert!(
        problem["path"].as_str().is_some_and(|it| it.ends_with(r"new\x0aline\xff")),
        "{problem}"
    );
}

/// What is being found is worth more than what keeps it.
#[test]
fn a_store_that_cannot_be_written_ends_no_verification() {
    let folder = wrong();
    let at = folder.path();
    std::fs::write(at.join("letter.db"), "Dear all, this is no database at all.\n")
        .expect("written");
    let arguments = ["verify", "data", "--checksums", "sums.md5", "--store", "letter.db"];
    let (status, out, err) = brickyard(at, &arguments);
    assert_eq!(status, Some(1), "{err}");
    assert!(out.contains("mismatch: "), "{out}");
    assert!(err.contains("error: cannot use the store letter.db"), "{err}");
    assert!(err.contains("hint: ") && !err.contains("kept as"), "{err}");
}

#[test]
fn two_verifications_share_a_store() {
    let folder = wrong();
    let at = folder.path();
    let start = || {
        Command::new(env!("CARGO_BIN_EXE_brickyard"))
            .args(["verify", "data", "--hours", "0.0008", "--store", "s.db"])
            .current_dir(at)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("brickyard can be started")
    };
    for child in [start(), start()] {
        let output = child.wait_with_output().expect("ended");
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{err}");
        assert!(err.contains("kept as campaign"), "{err}");
    }
    let (_, out, _) = brickyard(at, &["list", "campaigns", "--store", "s.db"]);
    assert!(out.lines().filter(|line| line.contains("verify")).count() >= 2, "{out}");
}

#[test]
fn what_a_check_after_a_crash_finds_is_kept_too() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let at = folder.path();
    std::fs::create_dir(at.join("work")).expect("made");
    let run = ["run", "flush-test", "--dir", "work", "file-size=1MiB", "streams=1", "stop=1s"];
    let log = ["flush-log=log", "flush-log-anywhere=true", "--store", "run.db"];
    let (status, _, err) = brickyard(at, &[&run[..], &log].concat());
    assert_eq!(status, Some(0), "{err}");
    let (status, out, err) = brickyard(at, &["verify", "--flushed", "log", "--store", "v.db"]);
    assert_eq!(status, Some(0), "{out}\n{err}");
    assert!(err.contains("kept as campaign 1 in v.db"), "{err}");
    let document = report(at, "v.db");
    let trial = &document["trials"][0];
    assert_eq!(trial["verified"]["against"], "log");
    assert_eq!(trial["verified"]["over"], true);
    assert!(trial["integrity"]["checked_bytes"].as_u64().is_some_and(|bytes| bytes >= 1 << 20));
    assert!(trial["integrity"]["faults"].as_array().is_some_and(Vec::is_empty), "{trial:#}");
}
