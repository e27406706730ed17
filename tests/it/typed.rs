//! The program as people type it: what it refuses, and what it prints.

use std::path::Path;

use serde_json::Value;

use crate::program::brickyard;

/// Runs what must be refused: exit status 2, an error with a hint, and nothing left behind.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let before = listing(folder);
    let output = brickyard(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?} printed data");
    assert!(said.starts_with("error: "), "{arguments:?}: {said}");
    assert!(said.contains("hint: "), "{arguments:?}: {said}");
    assert_eq!(listing(folder), before, "{arguments:?} left something behind");
    said
}

fn listing(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().expect("readable").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with("brickyard.db")).collect();
    names.sort();
    names
}

/// The record of a terminal session was full of bars that were drawn anew.
#[test]
fn plain_progress_draws_nothing_anew_on_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let seen = |more: &str| {
        let program = env!("CARGO_BIN_EXE_brickyard");
        let command = format!("{program} evaluate --engine sim --budget 2m {more}");
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).env("TERM", "xterm");
        let output = script.current_dir(folder.path()).output().expect("script(1) is there");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let (bar, plain) = (seen(""), seen("--force --plain"));
    assert!(bar.contains("\u{1b}[") && bar.contains("Confidence"), "{bar}");
    assert!(!plain.contains('\u{1b}') && plain.contains("Confidence"), "{plain}");
}

#[test]
fn directories_that_cannot_be_measured_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("file"), "x").expect("written");
    std::os::unix::fs::symlink("b", at.join("a")).expect("linked");
    std::os::unix::fs::symlink("a", at.join("b")).expect("linked");
    std::fs::create_dir(at.join("good")).expect("made");
    assert!(refused(at, &["evaluate", "missing"]).contains("mkdir -p missing"));
    assert!(refused(at, &["evaluate", "file"]).contains("not a directory"));
    assert!(refused(at, &["evaluate", "a"]).contains("circle"));
    assert!(refused(at, &["evaluate", "good", "good/../good"]).contains("twice"));
    assert!(refused(at, &["evaluate", "/proc"]).contains("error: "));
    assert!(refused(at, &["evaluate", ""]).contains("error: "));
}

#[test]
fn budgets_spaces_and_names_that_make_no_sense_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for budget in ["0", "0s", "-1s", "soon", "1ms"] {
        let budget = format!("--budget={budget}");
        assert!(refused(at, &["evaluate", ".", &budget]).contains("--budget"));
    }
    assert!(refused(at, &["evaluate", ".", "--space", "much"]).contains("--space"));
    assert!(refused(at, &["evaluate", "--engine", "smi"]).contains("--engine sim"));
    // The files' least room is known before the first byte; what the disk has is, too.
    assert!(refused(at, &["evaluate", ".", "--space", "1MiB"]).contains("--space 6912KiB"));
    assert!(refused(at, &["evaluate", ".", "--space", "1000TiB"]).contains("at most"));
    // The later of the two won, and the earlier was forgotten.
    let twice = ["run", "random-read", "block-size=4KiB", "block-size=8KiB"];
    assert!(refused(at, &twice).contains("given twice"));
    assert!(refused(at, &["run", "random-raed"]).contains("random-read"));
    assert!(refused(at, &["run", "random-read", "queue-dept=1"]).contains("queue-depth"));
    assert!(refused(at, &["run", "random-read", "block-size=1000"]).contains("multiple of 512B"));
    assert!(refused(at, &["run", "random-read", "streams=0"]).contains("outside 1 to"));
    assert!(refused(at, &["report", "--format", "hmtl"]).contains("html"));
    // What clap refuses has the form of all other errors.
    assert!(refused(at, &["evaluat", "."]).contains("hint: did you mean `brickyard evaluate`?"));
    let said = refused(at, &["run", "random-read", "queu=1"]);
    assert!(said.contains("did you mean `queue-depth` or `rss-queues`?"), "{said}");
    let said = refused(at, &["list", "knobs", "quue-depth"]);
    assert!(said.contains("did you mean `queue-depth` or `tree-depth`?"), "{said}");
    let plan = "[plan]\nname = \"p\"\n[[workload]]\nuse = \"sequential\"\n";
    std::fs::write(at.join("p.toml"), plan).expect("written");
    let said = refused(at, &["run", "p.toml"]);
    assert!(said.contains("did you mean `sequential-read` or `sequential-write`?"), "{said}");
    std::fs::write(at.join("p.toml"), plan.replace("ial\"", "ial-read\"\nqueu = 1")).expect("kept");
    let said = refused(at, &["run", "p.toml"]);
    assert!(said.contains("did you mean `queue-depth` or `rss-queues`?"), "{said}");
    assert!(refused(at, &["run"]).contains("hint: `brickyard plan` lists those that ship"));
    assert!(refused(at, &["evaluate", "--seed", "9007199254740992"]).contains("9007199254740991"));
}

/// `poll=true` on a disk without poll queues skipped every trial and exited 0.
#[test]
fn a_run_whose_every_trial_is_skipped_could_not_be_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let knobs = ["poll=true", "file-size=1MiB", "stop=100ms", "--replicates=2", "--json"];
    let output = brickyard(folder.path(), &[&["run", "random-read"][..], &knobs].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let document: Value = serde_json::from_slice(&output.stdout).expect("the trials are printed");
    let trials = document["trials"].as_array().expect("trials");
    let measured = || trials.iter().filter(|trial| trial["settings"]["access"] != "write");
    assert_eq!(measured().count(), 2, "{document:#}");
    if measured().all(|trial| trial["outcome"] == "skipped") {
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("error: cannot measure any of the 2 trials"), "{said}");
        assert!(said.contains("hint: "), "{said}");
    } else {
        // A disk that has poll queues.
        assert_ne!(output.status.code(), Some(2), "{said}");
    }
}

/// Blocks larger than the file, and CPUs that are not there, were found out only after the files
/// had been written, and the exit status was 0 with nothing measured.
#[test]
fn what_no_file_and_no_cpu_can_do_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = ["run", "random-read", "--dir", ".", "file-size=1MiB"];
    let with = |knob: &'static str| [&run[..], &[knob]].concat();
    assert!(refused(folder.path(), &with("block-size=2MiB")).contains("up to the file-size"));
    assert!(refused(folder.path(), &with("cpu-pinning=1000")).contains("names CPU 1000"));
}

/// `--report /dev/full`, given by root, put a regular file in the place of the device; a link was
/// replaced by a file likewise.
#[test]
fn a_report_goes_into_a_device_or_through_a_link_and_replaces_neither() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::os::unix::fs::symlink("/dev/full", at.join("full")).expect("linked");
    std::fs::write(at.join("real.html"), "old").expect("written");
    std::os::unix::fs::symlink("real.html", at.join("link.html")).expect("linked");
    let run = ["run", "random-read", "--engine", "sim", "stop=1s", "--replicates=1", "--report"];
    let output = brickyard(at, &[&run[..], &["full"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    assert!(at.join("full").is_symlink());
    // What is there is no report.
    assert!(brickyard(at, &[&run[..], &["link.html", "--force"]].concat()).status.success());
    assert!(at.join("link.html").is_symlink());
    assert!(std::fs::read_to_string(at.join("real.html")).expect("read").contains("</html>"));
}

/// Ten thousand streams would need more descriptors or memory than there are: refused before
/// anything is made, with the number that would work.
#[test]
fn ten_thousand_streams_are_refused_with_the_number_that_would_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let knobs = ["streams=10000", "file-size=64KiB", "block-size=64KiB", "queue-depth=4096"];
    let mut arguments = vec!["run", "random-read", "--dir", "."];
    arguments.extend(knobs);
    let said = refused(folder.path(), &arguments);
    assert!(said.contains("streams="), "{said}");
}

#[test]
fn stores_that_cannot_be_used_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("letter.txt"), "Dear all, this is no database.\n").expect("written");
    let sim = ["evaluate", "--engine", "sim", "--quiet", "--store"];
    let with =
        |store: &str| [&sim[..], &[store]].concat().into_iter().collect::<Vec<_>>().join(" ");
    for store in ["letter.txt", "no/such/folder/x.db"] {
        let line = with(store);
        let arguments: Vec<&str> = line.split(' ').collect();
        assert!(refused(at, &arguments).contains("--store"), "{store}");
    }
    let text = std::fs::read_to_string(at.join("letter.txt")).expect("still there");
    assert!(text.starts_with("Dear all"));
    assert!(refused(at, &["report", "--store", "none.db"]).contains("no such file"));
}

/// A whole evaluation of the simulated server, through every layer but the disk.
#[test]
fn a_simulated_evaluation_goes_from_arguments_to_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let output =
        brickyard(folder.path(), &["evaluate", "--engine", "sim", "--json", "--seed", "5"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(document["campaign"]["seed"], 5);
    assert_eq!(document["campaign"]["plan"], "evaluate");
    let trials = document["trials"].as_array().expect("trials");
    assert!(trials.len() > 30, "{} trials", trials.len());
    assert!(trials.iter().all(|trial| trial["outcome"] == "done"), "{said}");
    let html = std::fs::read_to_string(folder.path().join("brickyard-report.html"));
    assert!(html.expect("the report is drawn").contains("Content-Security-Policy"));

    // The store tells the same story again.
    let again = brickyard(folder.path(), &["report", "--format", "json"]);
    let again: Value = serde_json::from_slice(&again.stdout).expect("one JSON document");
    assert_eq!(again["trials"], document["trials"]);
    let text = brickyard(folder.path(), &["report", "--format", "text"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(!text.contains('\u{1b}'), "no colour without a terminal");
}

/// Progress said `[1/2]`, `[2/2]`, `[3/3]`: the files that are laid out first were not counted.
#[test]
fn progress_counts_the_laying_out_of_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let knobs = ["streams=1,2", "file-size=1MiB", "stop=100ms", "--replicates=1", "--seed=1"];
    let output = brickyard(folder.path(), &[&["run", "random-read"][..], &knobs].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let totals: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split_once(']')?.0.split_once('/'))
        .map(|(_, total)| total)
        .collect();
    // One layout when the larger trial comes first, two when it comes last.
    assert!(totals.len() >= 3, "{said}");
    let all = totals.len().to_string();
    assert!(totals.iter().all(|total| *total == all), "{said}");
}

/// The same seed gives the same order and the same blocks.
#[test]
fn a_seed_repeats_a_campaign() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = || {
        let output = brickyard(
            folder.path(),
            &["run", "random-read", "--engine", "sim", "queue-depth=1,8,32", "--json", "--seed=9"],
        );
        let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
        document["trials"].clone()
    };
    let (first, second) = (run(), run());
    assert!(first.as_array().is_some_and(|trials| trials.len() == 9), "{first:#}");
    assert_eq!(first, second);
}

#[test]
fn what_is_printed_for_people_fits_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    for table in ["knobs", "workloads", "engines", "importers", "counters", "questions", "formats"]
    {
        let output = brickyard(folder.path(), &["list", table]);
        assert!(output.status.success() && !output.stdout.is_empty(), "{table}");
        let json = brickyard(folder.path(), &["list", table, "--json"]);
        let rows: Value = serde_json::from_slice(&json.stdout).expect("one JSON document");
        assert!(rows.as_array().is_some_and(|rows| !rows.is_empty()), "{table}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let output = brickyard(folder.path(), &["generate", "completions", shell]);
        let script = String::from_utf8_lossy(&output.stdout).into_owned();
        for name in ["sequential-read", "io-scheduler", "block-size="] {
            assert!(script.contains(name), "{shell} knows no {name}");
        }
        std::fs::write(folder.path().join(format!("completions.{shell}")), script).expect("kept");
    }
    let output = brickyard(folder.path(), &["generate", "man", "--out", "."]);
    assert!(output.status.success());
    assert!(folder.path().join("brickyard-evaluate.1").exists());
}

/// What bash offers for the last of these words.
fn offered(at: &std::path::Path, words: &str) -> String {
    let script = format!(
        "source <(\"$0\" generate completions bash); COMP_WORDS=({words}); \
         COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); \
         compopt() {{ echo \"without space\"; }}; \
         _brickyard_without_space brickyard \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; \
         echo \"${{COMPREPLY[*]}}\""
    );
    let program = env!("CARGO_BIN_EXE_brickyard");
    let mut bash = std::process::Command::new("bash");
    let output = bash.args(["-c", &script, program]).current_dir(at).output().expect("bash");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Completions knew commands and flags, and none of the 200 names that nobody remembers.
#[test]
fn bash_completes_workloads_and_knobs() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    assert_eq!(offered(at, "brickyard run sequential-r"), "sequential-read");
    assert_eq!(offered(at, "brickyard run random-read queue-d"), "without space\nqueue-depth=");
    assert_eq!(offered(at, "brickyard eval"), "evaluate");
}

/// Of zsh and fish it was only known that the names stand somewhere in the script.
#[test]
fn every_shell_completes_plans_workloads_and_knobs_where_they_are_typed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let script = |shell: &str| {
        let output = brickyard(at, &["generate", "completions", shell]);
        assert!(output.status.success(), "{shell}");
        String::from_utf8(output.stdout).expect("text")
    };
    // bash is asked.
    assert_eq!(offered(at, "brickyard run raid-f"), "raid-filesystem");
    assert_eq!(offered(at, "brickyard plan metada"), "metadata");
    assert_eq!(offered(at, "brickyard plan tcp-s"), "tcp-stream");
    assert_eq!(offered(at, "brickyard report raid-f"), "", "it takes no plan");
    // zsh: a function for each command, with what may stand first and what behind it.
    let zsh = script("zsh");
    // fish: a line for each name, with when it may stand.
    let fish = script("fish");
    for command in ["run", "plan"] {
        let begins = format!("\n({command})\n_arguments ");
        let (_, after) = zsh.split_once(&begins).expect("the command's own part");
        let own = after.split("\n;;\n").next().expect("its end");
        let (_, plans) = own.split_once("plan -- ").expect("the plan");
        let (plans, levels) = plans.split_once("levels -- ").expect("the levels");
        for name in ["raid-filesystem", "streams", "sequential-read", "tcp-stream"] {
            assert!(plans.contains(&format!("{name}\\:")), "{name} of {command}: {plans}");
        }
        for knob in ["block-size=", "rss-queues="] {
            assert!(levels.contains(&format!("{knob}\\:")), "{knob} of {command}: {levels}");
        }
        assert!(own.contains("\nsim\\:"), "engines: {own}");
        let offers = |name: &str| {
            let when = format!("__fish_brickyard_using_subcommand {command}\"");
            let is = |line: &&str| line.contains(&when) && line.contains(&format!("-a '{name}'"));
            fish.lines().filter(is).count()
        };
        for name in ["raid-filesystem", "sequential-read", "block-size=", "rss-queues="] {
            assert_eq!(offers(name), 1, "{name} of {command}");
        }
        assert_eq!(offers("no-such-name"), 0);
    }
}

/// A newcomer types the first command of the help as it stands.
#[test]
fn evaluate_without_a_directory_says_what_to_type_and_touches_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = refused(folder.path(), &["evaluate"]);
    assert!(said.starts_with("error: cannot evaluate without a directory: "), "{said}");
    let hint = "hint: brickyard evaluate /srv, or `brickyard evaluate .` for this one";
    assert_eq!(said.lines().last(), Some(hint), "{said}");
    assert!(!folder.path().join("brickyard.db").exists(), "no store was made");
    // The line that it names is one that is taken.
    let said = refused(folder.path(), &["evaluate", "missing"]);
    assert!(said.contains("mkdir -p missing"), "{said}");
}

/// No root, no disk and no name of a PCI device is needed; what was not read is said.
#[test]
fn the_server_is_inspected_in_text_and_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let output = brickyard(at, &["inspect", "--no-measure"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "nothing is measured, so nothing is said");
    for title in ["Machine", "Processors", "Memory", "Disks", "Paths to memory", "Warnings"] {
        assert!(text.lines().any(|line| line.starts_with(title)), "{title}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let output = brickyard(at, &["inspect", "--no-measure", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert!(document["server"]["machine"]["cpus_online"].as_u64().is_some_and(|cpus| cpus > 0));
    assert!(document["bandwidth"].is_null() && document["paths"]["summary"].is_array());
    assert!(listing(at).is_empty(), "nothing is written");

    let recorded = format!("{}/tests/fixtures/sys/t610-x4.txt", env!("CARGO_MANIFEST_DIR"));
    let output = brickyard(at, &["inspect", "--root", &recorded]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("t610") && !text.contains("node 0 measured"), "{text}");
    assert!(refused(at, &["inspect", "--root", "missing"]).contains("--record"));
}

/// People send recordings of their servers: what is in them must be what is seen, and without
/// being asked no name and no serial number of theirs goes along.
#[test]
fn a_recording_of_this_machine_shows_this_machine_and_tells_no_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let said = |arguments: &[&str]| -> Value {
        let output = brickyard(at, arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("one JSON document")
    };
    let record = |file: &str, more: &[&str]| {
        let arguments = [&["inspect", "--record", file], more].concat();
        let output = brickyard(at, &arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    record("mine.txt", &["--with-serials"]);
    let live = said(&["inspect", "--no-measure", "--json"]);
    let again = said(&["inspect", "--root", "mine.txt", "--json"]);
    for part in ["firmware", "processors", "pci", "drives", "arrays"] {
        assert_eq!(again["server"][part], live["server"][part], "{part}");
    }
    let names = |document: &Value, part: &str| -> Vec<Value> {
        let all = document["server"][part].as_array().expect("a list");
        all.iter().map(|one| one["name"].clone()).collect()
    };
    for part in ["devices", "interfaces", "settings"] {
        assert_eq!(names(&again, part), names(&live, part), "{part}");
    }

    record("yours.txt", &[]);
    let text = std::fs::read_to_string(at.join("yours.txt")).expect("written");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let host = host.trim();
    let named = text.lines().find(|line| line.ends_with(&format!("= {host}")));
    assert_eq!(named, None, "the machine's name");
    for name in names(&live, "interfaces") {
        let path = format!("/sys/class/net/{}/address", name.as_str().expect("a name"));
        let mac = std::fs::read_to_string(path).unwrap_or_default();
        let mac = mac.trim();
        let telling = !mac.is_empty() && mac != "00:00:00:00:00:00";
        assert!(!(telling && text.contains(mac)), "{mac}");
    }
}

/// `stop=1,5s` was two cells, one of which stopped after a byte: "The device delivers 7179 MB/s".
#[test]
fn a_decimal_comma_is_refused_with_the_number_as_it_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let run = |knob| refused(at, &["run", "random-read", "--dir", ".", knob]);
    assert!(run("stop=1,5s").contains("hint: write 1.5s, with a point"));
    assert!(run("file-size=1,5MiB").contains("hint: write 1.5MiB, with a point"));
    assert!(run("stop=20").contains("write 20s, or 20B"));
    let evaluate = |option| refused(at, &["evaluate", ".", option]);
    assert!(evaluate("--budget=1,5m").contains("write 1.5m, with a point"));
    assert!(evaluate("--space=1,5GiB").contains("write 1.5GiB, with a point"));
}

/// Cells of a plan that are not run were counted by `plan` alone.
#[test]
fn what_is_left_out_is_told_before_the_run_and_in_the_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let plan = "[plan]\nname = \"p\"\nengine = \"sim\"\nreplicates = 1\nstop = \"200ms\"\n\
                [factors]\nstreams = [1, 2, 4]\nblock-size = [\"4KiB\", \"2MiB\"]\n\
                [[workload]]\nuse = \"sequential-read\"\nfile-size = \"1MiB\"\n\
                [[exclude]]\nstreams = 4\nblock-size = \"4KiB\"\n";
    std::fs::write(at.join("p.toml"), plan).expect("written");
    let output = brickyard(at, &["run", "p.toml", "--json"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let told = [
        "3 cells are left out: a block-size above the file-size",
        "1 cell is left out: the plan excludes them",
    ];
    let document: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(document["left_out"]["a block-size above the file-size"], 3);
    assert_eq!(document["trials"].as_array().map(Vec::len), Some(2), "{document:#}");
    let text = brickyard(at, &["report", "--format", "text"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    for told in told {
        let first = said.find("[1/2]").expect("a trial was told");
        let place = said.find(told).unwrap_or_else(|| panic!("{told}: {said}"));
        assert!(place < first, "{said}");
        assert!(text.contains(told), "{text}");
    }
}
