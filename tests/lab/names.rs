//! Operations on names against what the kernel counted: inodes of a file system, calls and bytes of
//! the process, sectors of the disk.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::disk::{Disk, Mount, beside_a_guest, usable};
use crate::run::{draw, figure, json as run, noted, trials};

/// The worker of the engine `tree`, spoken to as the program itself does; it leaves what it made.
struct Worker {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Worker {
    /// Has it make ready for `operation` by two streams in `folder`.
    fn ready(folder: &Path, settings: Value) -> Worker {
        let mut child = Command::new(env!("CARGO_BIN_EXE_brickyard"))
            .args(["worker", "tree"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the worker can be started");
        let to = child.stdin.take().expect("was piped");
        let from = BufReader::new(child.stdout.take().expect("was piped"));
        let mut worker = Worker { child, to, from };
        let spec = json!({
            "settings": settings, "seed": 1, "campaign": 2, "streams": [[folder], [folder]],
        });
        worker.say(&spec.to_string());
        worker.hear("prepared");
        worker
    }

    fn say(&mut self, line: &str) {
        writeln!(self.to, "{line}").expect("the worker listens");
    }

    /// The first message of that kind.
    fn hear(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            let read = self.from.read_line(&mut line).expect("the worker speaks");
            assert!(read > 0, "the worker ended before `{kind}`");
            let message: Value = serde_json::from_str(&line).expect("lines of JSON");
            assert!(message.get("failed").is_none(), "{message}");
            if let Some(found) = message.get(kind) {
                return found.clone();
            }
        }
    }

    /// A count of /proc/PID/io.
    fn io(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/io", self.child.id());
        let text = std::fs::read_to_string(path).expect("the worker lives");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.and_then(|number| number.parse().ok()).expect("the kernel counts it")
    }

    fn end(mut self) {
        self.say("bye");
        self.child.wait().expect("it ends");
    }
}

/// Inodes that are in use.
fn inodes(folder: &Path) -> u64 {
    let stat = rustix::fs::statvfs(folder).expect("a file system");
    stat.f_files - stat.f_ffree
}

/// Sectors that the disk has read.
fn sectors(disk: &Disk) -> u64 {
    let name = disk.device.trim_start_matches("/dev/");
    let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("a disk");
    text.split_whitespace().nth(2).and_then(|word| word.parse().ok()).expect("counts")
}

fn settings(operation: &str, files: u64, more: Value) -> Value {
    let mut all = json!({
        "operation": operation, "files": files, "file-size": 0, "cold": false, "stop": "pass",
        "streams": 2,
    });
    for (name, value) in more.as_object().expect("settings") {
        all[name] = value.clone();
    }
    all
}

#[test]
fn what_was_counted_is_what_the_file_system_and_the_process_counted() {
    if !usable("names against the kernel's counts", &["mkfs.ext4"]) {
        return;
    }
    let _beside = beside_a_guest();
    let files = draw("files", 1000, 4000);
    let disk = Disk::new(300);
    let mount = Mount::format(&disk, "ext4");
    for (operation, change) in
        [("create", 2), ("mkdir", 2), ("unlink", -2), ("rmdir", -2), ("link", 0), ("stat", 0)]
    {
        let folder = Path::new(&mount.name()).join(operation);
        std::fs::create_dir(&folder).expect("room for a folder");
        let more = json!({"file-size": 100});
        let mut worker = Worker::ready(&folder, settings(operation, files, more));
        let (inodes_before, written_before) = (inodes(&folder), worker.io("wchar"));
        worker.say("go");
        let result = worker.hear("result");
        let streams = result["streams"].as_array().expect("streams");
        let pass = |stream: &Value| stream["pass"]["metadata_ops"].as_u64().expect("a count");
        assert_eq!(streams.iter().map(pass).sum::<u64>(), 2 * files, "{operation}");
        let changed = inodes(&folder) as i64 - inodes_before as i64;
        assert_eq!(changed, change * files as i64, "{operation}: inodes");
        if operation == "create" {
            // What it says to us goes through write(2) as well.
            let written = worker.io("wchar") - written_before;
            assert!((200 * files..200 * files + (1 << 20)).contains(&written), "{written}");
        }
        worker.end();
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}

#[test]
fn a_cold_stat_reads_the_disk_and_a_warm_one_does_not() {
    if !usable("cold stat", &["mkfs.ext4"]) {
        return;
    }
    let _beside = beside_a_guest();
    let disk = Disk::new(300);
    let mount = Mount::format(&disk, "ext4");
    let files = draw("files", 4000, 8000);
    for cold in [true, false] {
        let folder = Path::new(&mount.name()).join(format!("cold-{cold}"));
        std::fs::create_dir(&folder).expect("room for a folder");
        let more = json!({"cold": cold, "sustained": false});
        let mut worker = Worker::ready(&folder, settings("stat", files, more));
        let before = sectors(&disk);
        worker.say("go");
        worker.hear("result");
        let read = (sectors(&disk) - before) * 512;
        // The inodes of two streams, of 256 bytes each, lie in the tables of the disk.
        let tables = 2 * files * 256;
        match cold {
            true => assert!(read >= tables * 3 / 4, "{read} of {tables}"),
            false => assert_eq!(read, 0),
        }
        worker.end();
        std::fs::remove_dir_all(&folder).expect("removed");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let told = |directory: &str| {
        let knobs = ["cold=true", "files=3000", "streams=2", "--replicates", "1", "--quiet"];
        let document =
            run(folder.path(), &[&["run", "stat", "--dir", directory], &knobs[..]].concat());
        let trial = trials(&document)[0].clone();
        // In memory one of the streams may be through its files before the other has begun.
        if directory != "/dev/shm" || !noted(&trial, "no-common-time") {
            assert!(figure(&trial, "ops_per_s") > 0.0);
        }
        noted(&trial, "not-cold")
    };
    assert!(!told(&mount.name()), "it was cold");
    assert!(told("/dev/shm"), "memory is never cold");
}
