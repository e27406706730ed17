//! Where the program may write: never over what it reads, nor over what is nobody's business but
//! the user's, nor through a link that somebody else has planted.

#![expect(clippy::print_stdout, reason = "a test that cannot run says so")]

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::program::brickyard;

/// One simulated trial, over in no time.
const SIM: [&str; 6] = ["sequential-read", "--engine", "sim", "stop=10ms", "--replicates", "1"];
const NOBODY: u32 = 65534;

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn done(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

/// Every file below a folder with what is in it; a link with where it leads.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in folder.read_dir().expect("readable").map(|entry| entry.expect("one")) {
        let path = entry.path();
        let kind = entry.file_type().expect("known");
        if kind.is_dir() {
            all.extend(contents(&path));
        } else if kind.is_symlink() {
            let target = path.read_link().expect("a link");
            all.insert(path, target.to_string_lossy().into_owned().into_bytes());
        } else {
            all.insert(path.clone(), std::fs::read(path).expect("readable"));
        }
    }
    all
}

/// A folder with one of everything that a command reads, and other names of some.
fn everything() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    done(&brickyard(at, &[&["run"], &SIM[..], &["--store", "s.db"]].concat()));
    std::fs::copy(at.join("s.db"), at.join("other.db")).expect("copied");
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).expect("written");
    std::fs::create_dir_all(at.join("data")).expect("made");
    let plan = "[plan]\nname = \"p\"\nabout = \"One\"\nreplicates = 1\n\n\
                [[workload]]\nuse = \"sequential-read\"\nstop = \"10ms\"\n";
    write("p.toml", plan);
    write("x.db-wal", plan);
    write("rec.txt", "# Recorded by brickyard 0.1.0\n/sys/a = 1\n");
    write("sums.md5", "b2ca678b4c936f905fb82f2733f5297f  data/one\n");
    write("data/one", "some bytes");
    write("client.txt", "Flush \"x\" 1 0\n");
    write("out.json", "{\"fio version\": \"fio-3.33\", \"jobs\": []}");
    let link = |from: &str, to: &str| symlink(from, at.join(to)).expect("linked");
    link("s.db", "link.db");
    link("link.db", "link2.db");
    link("s.db-wal", "dangles");
    link("p.toml", "plan-link.toml");
    link("rec.txt", "rec-link.txt");
    link("data/one", "one-link");
    link("data", "data-link");
    let hard = |from: &str, to: &str| std::fs::hard_link(at.join(from), at.join(to)).expect("hard");
    hard("s.db", "hard.db");
    hard("other.db", "hard-other.db");
    hard("p.toml", "hard.toml");
    hard("data/one", "hard-one");
    folder
}

/// Output and input of every command that has both; `@` is the folder's own path.
const PAIRS: &[&str] = &[
    "report --store s.db -o s.db",
    "report --store s.db -o ./s.db",
    "report --store ./s.db -o @/s.db",
    "report --store @/s.db -o s.db",
    "report --store s.db -o data/../s.db",
    "report --store s.db -o link.db",
    "report --store s.db -o link2.db",
    "report --store s.db -o hard.db",
    "report --store link.db -o s.db",
    "report --store link2.db -o hard.db",
    "report --store s.db -o s.db --force",
    "report --store s.db -o hard.db --force",
    "report --store s.db --format json -o s.db",
    "report --store s.db --format parquet -o link.db --force",
    "report --store s.db -o s.db-wal",
    "report --store s.db -o s.db-shm",
    "report --store s.db -o s.db-journal",
    "report --store s.db -o s.db-undo",
    "report --store s.db -o s.db-running",
    "report --store s.db -o s.db-wal --force",
    "report --store s.db -o dangles",
    "report --store link.db -o s.db-wal",
    "report --store link.db -o link.db-undo",
    "report --store link2.db -o ./s.db-shm",
    "compare s.db:1 s.db:1 -o s.db",
    "compare s.db:1 s.db:1 --format html -o hard.db --force",
    "compare s.db:1 other.db:1 -o other.db",
    "compare s.db other.db -o hard-other.db --format json",
    "compare s.db other.db -o other.db-wal",
    "compare 1 1 --store s.db -o s.db --format json",
    "compare s.db:1 other.db:1 -o brickyard.db",
    "inspect --record s.db --store s.db",
    "inspect --record hard.db --store link.db --force",
    "inspect --record brickyard.db",
    "inspect --record ./brickyard.db-wal",
    "inspect --root rec.txt --record rec.txt",
    "inspect --root rec.txt --record rec-link.txt --force",
    "inspect --root ./rec-link.txt --record @/rec.txt --force",
    "run SIM --store a.db --report a.db",
    "run SIM --store a.db --report data/../a.db",
    "run SIM --store @/a.db --report a.db-wal",
    "run SIM --store a.db --report a.db-undo --force",
    "run SIM --report brickyard.db",
    "run SIM --report brickyard.db-shm --force",
    "run SIM --store s.db --report s.db",
    "run p.toml --engine sim --report p.toml",
    "run p.toml --engine sim --report p.toml --force",
    "run ./p.toml --engine sim --report hard.toml --force",
    "run plan-link.toml --engine sim --report p.toml --force",
    "run p.toml --engine sim --store p.toml",
    "run ./x.db-wal --engine sim --store x.db",
    "run replay loadfile=client.txt --report client.txt --force",
    "run replay loadfile=client.txt --store client.txt",
    "run flush-test flush-log=acks --report acks",
    "run flush-test flush-log=./acks --report acks --force",
    "run flush-test flush-log=s.db --store s.db",
    "run flush-test flush-log=a.db-wal --store a.db",
    "evaluate --engine sim --budget 20s --report brickyard.db",
    "evaluate --engine sim --budget 20s --store s.db --report s.db",
    "evaluate --engine sim --budget 20s --store a.db --report ./a.db-shm",
    "send 127.0.0.1 network --report brickyard.db",
    "send 127.0.0.1 network --store a.db --report a.db --force",
    "import out.json --store out.json",
    "import ./x.db-wal --store x.db",
    "import --published jackrabbit-2007 --root rec.txt --store rec.txt",
    "verify data --store data/one",
    "verify data --store data/new.db",
    "verify data-link --store data/new.db",
    "verify data/one --store hard-one",
    "verify data/one --store one-link",
    "verify --checksums sums.md5 data/one --store sums.md5",
];

/// `report --store s.db -o s.db` turned the store into HTML and lost every result, exit 0; `inspect
/// --record s.db`, `compare s.db:1 s.db:1 -o s.db`, `run P --store a.db --report a.db` did the
/// same, and `run p.toml --report p.toml` overwrote its plan.
#[test]
fn an_output_is_never_what_the_command_reads_by_whatever_name() {
    assert!(PAIRS.len() >= 40);
    let folder = everything();
    let at = folder.path();
    let before = contents(at);
    let here = at.display().to_string();
    for pair in PAIRS {
        let typed = pair.replace('@', &here).replace("SIM", &SIM.join(" "));
        let words: Vec<&str> = typed.split(' ').collect();
        let output = brickyard(at, &words);
        let told = said(&output);
        assert_eq!(output.status.code(), Some(2), "{pair}: {told}");
        assert!(output.stdout.is_empty(), "{pair}: something was measured: {told}");
        assert!(told.starts_with("error: cannot ") && told.contains("\nhint: "), "{pair}: {told}");
        let now = contents(at);
        let changed = |path: &&PathBuf| before.get(*path) != now.get(*path);
        let changed: Vec<&PathBuf> = before.keys().chain(now.keys()).filter(changed).collect();
        assert!(changed.is_empty(), "{pair}: {changed:?}: {told}");
    }
}

/// Commands that write a file, without its name; what of them would take time or a machine is
/// simulated.
const WRITERS: &[&str] = &[
    "evaluate --engine sim --budget 20s --store new.db",
    "run SIM --store new.db",
    "report --store s.db",
    "report --store s.db --format csv",
    "compare s.db other.db",
    "compare s.db other.db --format markdown",
    "query --store s.db",
    "query --store s.db --format csv SELECT\u{a0}*\u{a0}FROM\u{a0}trials",
    "size --store s.db --throughput 1GB/s",
    "list knobs network",
    "list campaigns --store s.db",
    "plan p.toml --engine sim",
    "doctor",
    "inspect --root LAPTOP",
    "generate completions bash",
];

/// `-o` was an option of three commands, `--report`, `--record` and `--out` of others, and the rest
/// had none; a file that could not be written was found out about after all was measured.
#[test]
fn every_command_that_prints_or_draws_takes_o_and_refuses_before_it_measures() {
    let folder = everything();
    let at = folder.path();
    std::fs::write(at.join("letter.txt"), "Dear all,\n").expect("written");
    let type_of = |line: &str, more: &[&str]| {
        let laptop = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/sys/laptop.txt");
        let typed = line.replace("SIM", &SIM.join(" ")).replace("LAPTOP", laptop);
        let words: Vec<String> = typed.split(' ').map(|word| word.replace('\u{a0}', " ")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        brickyard(at, &[&words[..], more].concat())
    };
    for line in WRITERS {
        let before = contents(at);
        for place in ["nowhere/x", "letter.txt", "data"] {
            let refused = type_of(line, &["--output", place]);
            let told = said(&refused);
            assert_eq!(refused.status.code(), Some(2), "{line} {place}: {told}");
            assert!(refused.stdout.is_empty() && told.contains("\nhint: "), "{line}: {told}");
            assert_eq!(contents(at), before, "{line} {place}: something was written");
        }
        let printed = type_of(line, &["-o", "there"]);
        done(&printed);
        let text = std::fs::read_to_string(at.join("there")).expect("written");
        assert!(text.len() > 10 && text.ends_with('\n') || text.ends_with("</html>"), "{line}");
        let measures = line.contains("new.db");
        assert!(measures || printed.stdout.is_empty(), "{line}: printed as well");
        for name in ["there", "new.db", "new.db-wal", "new.db-shm"] {
            // Not all of them are there.
            let _ = std::fs::remove_file(at.join(name));
        }
    }
    for (line, made) in [
        ("generate man", "brickyard-run.1"),
        ("generate reference", "knobs.md"),
        ("generate sources --files 3", "Makefile"),
    ] {
        for option in ["-o", "--output", "--out"] {
            let into = format!("{}{option}", made.replace('.', ""));
            if !line.contains("sources") {
                std::fs::create_dir(at.join(&into)).expect("made");
            }
            done(&type_of(line, &[option, &into]));
            assert!(at.join(&into).join(made).exists(), "{line} {option}");
        }
    }
    // The names of before go on.
    for line in ["run SIM --store new.db", "evaluate --engine sim --budget 20s --store new.db"] {
        done(&type_of(line, &["--report", "old.html"]));
        assert!(at.join("old.html").exists(), "{line}");
        std::fs::remove_file(at.join("old.html")).expect("there");
    }
}

/// A bind mount is one more name of a file, or of a folder.
#[test]
fn an_output_is_never_what_the_command_reads_by_a_mount() {
    let folder = everything();
    let at = folder.path();
    std::fs::write(at.join("bound.db"), "").expect("written");
    std::fs::create_dir(at.join("bound")).expect("made");
    let before = contents(at);
    let program = env!("CARGO_BIN_EXE_brickyard");
    let commands = "mount --bind s.db bound.db && mount --bind . bound || exit 77\n\
                    $0 report --store s.db -o bound.db --force; test $? = 2 || exit 1\n\
                    $0 report --store s.db -o bound/s.db-wal --force; test $? = 2 || exit 2\n\
                    $0 verify data --store bound/data/new.db; test $? = 2 || exit 3\n";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", commands, program]).current_dir(at);
    let output = command.env("NO_COLOR", "1").output();
    match output {
        Ok(output) if output.status.code() == Some(0) => {}
        Ok(output) if matches!(output.status.code(), Some(1..=3)) => panic!("{}", said(&output)),
        _ => {
            println!("SKIP an_output_is_never_what_the_command_reads_by_a_mount: no mounts here");
            return;
        }
    }
    assert_eq!(contents(at), before);
}

/// Any file that stood where an output was to go was replaced without a word; its mode was lost.
#[test]
fn only_an_output_of_that_kind_is_replaced_unasked_and_keeps_its_mode() {
    let folder = everything();
    let at = folder.path();
    let report = |more: &[&str]| brickyard(at, &[&["report", "--store", "s.db"], more].concat());
    std::fs::write(at.join("notes.md"), "# My notes\n").expect("written");
    let refused = report(&["-o", "notes.md", "--format", "markdown"]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("--force"), "{}", said(&refused));
    assert_eq!(std::fs::read(at.join("notes.md")).expect("there"), b"# My notes\n");
    done(&report(&["-o", "notes.md", "--format", "markdown", "--force"]));
    // Ours now: replaced unasked, but not by another kind.
    let mode = |bits| std::fs::Permissions::from_mode(bits);
    std::fs::set_permissions(at.join("notes.md"), mode(0o604)).expect("set");
    done(&report(&["-o", "notes.md", "--format", "markdown"]));
    assert_eq!(std::fs::metadata(at.join("notes.md")).expect("there").mode() & 0o7777, 0o604);
    assert_eq!(report(&["-o", "notes.md", "--format", "csv"]).status.code(), Some(2));
    assert_eq!(report(&["-o", "data"]).status.code(), Some(2), "a folder");
    assert_eq!(report(&["-o", "nowhere/x"]).status.code(), Some(2), "no such folder");
    // As mktemp(1) makes one.
    std::fs::write(at.join("empty"), "").expect("written");
    done(&report(&["-o", "empty"]));
    done(&report(&["-o", "empty"]));
    // In a folder of our own a link stays a link.
    symlink("empty", at.join("to-empty")).expect("linked");
    done(&report(&["-o", "to-empty"]));
    assert!(at.join("to-empty").symlink_metadata().expect("there").is_symlink());
    // The other commands alike.
    let run = [&["run"], &SIM[..], &["--store", "a.db", "--report"]].concat();
    let refused = brickyard(at, &[&run[..], &["client.txt"]].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(!at.join("a.db").exists(), "nothing was measured");
    done(&brickyard(at, &[&run[..], &["empty"]].concat()));
    let compare = ["compare", "s.db", "other.db", "-o", "client.txt"];
    assert_eq!(brickyard(at, &compare).status.code(), Some(2));
    let compare = |name| brickyard(at, &["compare", "s.db", "other.db", "-o", name]);
    done(&compare("compared.txt"));
    done(&compare("compared.txt"));
    let laptop = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/sys/laptop.txt");
    let record = |name| brickyard(at, &["inspect", "--root", laptop, "--record", name]);
    assert_eq!(record("client.txt").status.code(), Some(2));
    for name in ["new.txt", "new.txt", "new.gz", "new.gz"] {
        done(&record(name));
    }
    let left = contents(at).into_keys().filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".brickyard-"))
    });
    assert_eq!(left.count(), 0);
}

/// Manual pages and the reference were written over whatever had their names.
#[test]
fn generated_files_replace_only_generated_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for (what, name) in [("man", "brickyard-run.1"), ("reference", "knobs.md")] {
        std::fs::write(at.join(name), "mine\n").expect("written");
        let before = contents(at);
        let generate = |more: &[&str]| {
            let all = [&["generate", what, "--out", "."], more].concat();
            brickyard(at, &all)
        };
        let refused = generate(&[]);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert_eq!(contents(at), before, "none is written where one cannot be");
        done(&generate(&["--force"]));
        done(&generate(&[]));
    }
}

/// What is written into, as before: devices, pipes, standard output by its name.
#[test]
fn a_device_or_an_open_file_is_written_into() {
    let folder = everything();
    let at = folder.path();
    let report = ["report", "--store", "s.db", "--format", "csv", "-o"];
    done(&brickyard(at, &[&report[..], &["/dev/null"]].concat()));
    assert!(!std::fs::metadata("/dev/null").expect("there").is_file());
    let piped = brickyard(at, &[&report[..], &["/dev/stdout"]].concat());
    done(&piped);
    assert!(piped.stdout.starts_with(b"trial,"), "{}", said(&piped));
    let program = env!("CARGO_BIN_EXE_brickyard");
    let sh = |commands: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", commands, program]).current_dir(at).output().expect("a shell")
    };
    let told = "$0 report --store s.db --format csv -o";
    done(&sh(&format!("echo first > log; {told} /dev/stdout >> log")));
    let log = std::fs::read_to_string(at.join("log")).expect("there");
    assert!(log.starts_with("first\ntrial,"), "{log}");
    let before = contents(at);
    let output = sh(&format!("{told} /dev/fd/3 3>> s.db"));
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert_eq!(contents(at), before);
}

/// A folder in which everybody can write, as /tmp.
fn sticky() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mode = std::fs::Permissions::from_mode(0o1777);
    std::fs::set_permissions(folder.path(), mode).expect("opened");
    folder
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// What somebody else does in a folder.
fn nobody(folder: &Path, command: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).uid(NOBODY).gid(NOBODY);
    assert!(shell.status().expect("a shell").success(), "{command}");
}

/// Somebody planted `brickyard-report.html` and `brickyard.db` as links in a sticky directory, and
/// root, who measured there, overwrote what they led to.
#[test]
fn nothing_goes_through_what_somebody_else_has_planted() {
    if !is_root() {
        println!("SKIP nothing_goes_through_what_somebody_else_has_planted: needs two users");
        return;
    }
    let run = [&["run"], &SIM[..]].concat();
    let evaluate = vec!["evaluate", "--engine", "sim", "--budget", "20s"];
    let kept = |name: &'static str| [&run[..], &["--report", name]].concat();
    let cases = [
        ("brickyard.db", run.clone()),
        ("brickyard.db-wal", run.clone()),
        ("brickyard.db-shm", run.clone()),
        ("brickyard.db-journal", run.clone()),
        ("brickyard.db-undo", vec!["undo"]),
        ("brickyard-report.html", evaluate),
        ("r.html", kept("r.html")),
        ("sub", kept("sub/r.html")),
        ("rec.txt", vec!["inspect", "--record", "rec.txt"]),
        ("brickyard-run.1", vec!["generate", "man"]),
    ];
    let home = tempfile::tempdir().expect("a folder");
    let victim = home.path().join("victim");
    std::fs::write(&victim, "precious\n").expect("written");
    for (name, words) in cases {
        let folder = sticky();
        let at = folder.path();
        let target = if name == "sub" { home.path() } else { &victim };
        nobody(at, &format!("ln -s {} {name}", target.display()));
        let before = contents(at);
        let output = brickyard(at, &words);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", said(&output));
        let whose = said(&output);
        let whose = whose.contains("nobody") || whose.contains("65534");
        assert!(whose, "{name}: {}", said(&output));
        assert_eq!(contents(at), before, "{name}");
        assert_eq!(contents(home.path()).len(), 1, "{name}");
        assert_eq!(std::fs::read(&victim).expect("there"), b"precious\n", "{name}");
    }
    // A file of his own, which he could read or change afterwards.
    let folder = sticky();
    let at = folder.path();
    let word = "<!DOCTYPE html><meta name=\"generator\" content=\"Brickyard 0.1.0, report\">";
    nobody(at, &format!("touch brickyard.db; echo '{word}' > r.html"));
    let before = contents(at);
    for words in [run.clone(), [&run[..], &["--store", "a.db", "--report", "r.html"]].concat()] {
        let output = brickyard(at, &words);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("it belongs to"), "{}", said(&output));
        assert_eq!(contents(at), before);
    }
    let forced = ["--store", "a.db", "--report", "r.html", "--force"];
    done(&brickyard(at, &[&run[..], &forced].concat()));
    assert_eq!(std::fs::metadata(at.join("r.html")).expect("there").uid(), 0, "ours from now on");
}

/// 600 planted guesses of `.brickyard-report.html.PID` made root overwrite what they led to.
#[test]
fn the_name_of_a_temporary_file_cannot_be_guessed() {
    if !is_root() {
        println!("SKIP the_name_of_a_temporary_file_cannot_be_guessed: needs two users");
        return;
    }
    let folder = sticky();
    let at = folder.path();
    let home = tempfile::tempdir().expect("a folder");
    let victim = home.path().join("victim");
    std::fs::write(&victim, "precious\n").expect("written");
    done(&brickyard(home.path(), &[&["run"], &SIM[..], &["--store", "s.db"]].concat()));
    let store = home.path().join("s.db").display().to_string();
    let next: u32 = std::fs::read_to_string("/proc/sys/kernel/ns_last_pid")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or_else(std::process::id);
    // No program is started for them: its number would be one of those that are guessed.
    for number in next..=next + 600 {
        let guess = at.join(format!(".r.html.{number}"));
        std::os::unix::fs::symlink(&victim, &guess).expect("planted");
        std::os::unix::fs::lchown(&guess, Some(NOBODY), Some(NOBODY)).expect("given");
    }
    let mut report = Command::new(env!("CARGO_BIN_EXE_brickyard"));
    report.args(["report", "--store", &store, "-o", "r.html"]).current_dir(at);
    done(&report.stdin(Stdio::null()).output().expect("brickyard can be started"));
    assert_eq!(std::fs::read(&victim).expect("there"), b"precious\n");
    let made = std::fs::symlink_metadata(at.join("r.html")).expect("there");
    assert!(made.is_file() && made.len() > 1000);
}

/// A file that is replaced keeps its owner, where root writes it.
#[test]
fn what_root_replaces_stays_with_its_owner() {
    if !is_root() {
        println!("SKIP what_root_replaces_stays_with_its_owner: needs root");
        return;
    }
    let folder = everything();
    let at = folder.path();
    let report = ["report", "--store", "s.db", "-o", "r.html"];
    done(&brickyard(at, &report));
    std::os::unix::fs::chown(at.join("r.html"), Some(NOBODY), Some(12)).expect("given");
    std::fs::set_permissions(at.join("r.html"), std::fs::Permissions::from_mode(0o640))
        .expect("set");
    done(&brickyard(at, &report));
    let there = std::fs::metadata(at.join("r.html")).expect("there");
    assert_eq!((there.uid(), there.gid(), there.mode() & 0o7777), (NOBODY, 12, 0o640));
}
