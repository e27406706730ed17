//! Plans as people write them, right and wrong.

use super::*;

const BRICK: &str = r#"
[plan]
name = "brick"
about = "Which queue depth for large sequential reads?"
replicates = 2
seed = 42
stop = { after = "20s", until = "steady", at-most = "120s" }

[target]
directories = ["/srv/a", "/srv/b"]

[factors]
queue-depth = [1, 8, 32]
streams = [1, 2]

[[workload]]
use = "sequential-read"
file-size = "512MiB"
block-size = ["1MiB", "4MiB"]

[[workload]]
use = "random-read"
streams = 4

[[exclude]]
workload = "sequential-read"
streams = 2
queue-depth = [8, 32]
"#;

fn refused(text: &str) -> Refused {
    read(text, "p.toml", None).expect_err(text)
}

/// A plan with `more` after its head, and one workload at the end.
fn with(more: &str) -> String {
    format!("[plan]\nname = \"p\"\n{more}\n[[workload]]\nuse = \"random-read\"\n")
}

#[test]
fn a_plan_is_read_as_written() {
    let plan = read(BRICK, "brick.toml", None).unwrap();
    assert_eq!((plan.name.as_str(), plan.replicates, plan.seed), ("brick", 2, Some(42)));
    assert_eq!(plan.directories, ["/srv/a", "/srv/b"]);
    // 3 depths x 2 streams x 2 sizes less 2 x 2, and 3 depths of four streams.
    assert_eq!((plan.combinations(), plan.cells().count()), (15, 11));
    let all: Vec<Settings> = plan.cells().map(|cell| plan.settings(&cell)).collect();
    for settings in &all {
        assert_eq!(settings.stop(), Stop::Steady);
        assert_eq!(settings.get(knob::AT_LEAST), 20_000_000_000);
        assert_eq!(settings.get(knob::AT_MOST), 120_000_000_000);
        assert_eq!(settings.directories(), ["/srv/a", "/srv/b"]);
    }
    assert_eq!(all[0].get(knob::FILE_SIZE), 512 << 20);
    assert_eq!(all[10].get(knob::STREAMS), 4);
    assert_eq!(all[10].get(knob::ACCESS), Some(Access::RandomRead));
}

#[test]
fn mistakes_are_shown_where_they_are_with_what_to_write() {
    let cases = [
        ("[factors]\nqueue-dept = [1]", "p.toml:4:1", "no knob `queue-dept`", "queue-depth"),
        ("[factors]\nstreams = [1, 0]", "p.toml:4:15", "outside 1 to 10000", "1 to 10000"),
        ("[factors]\nstreams = [1, 1]", "p.toml:4:15", "there twice", "replicates"),
        ("[factors]\nstreams = []", "p.toml:4:11", "no level", "1 to 10000"),
        ("[factors]\nstreams = {a = 1}", "p.toml:4:11", "no level of `streams`", "1 to 10000"),
        ("[factors]\nsim-noise = 0.1", "p.toml:4:1", "no workload", "leave it out"),
        ("replicate = 3", "p.toml:3:1", "no key `replicate`", "`replicates`"),
        ("replicates = 0", "p.toml:3:14", "whole number from 1", "replicates = 3"),
        ("seed = 99999999999999999", "p.toml:3:8", "whole number from 0", "seed"),
        ("design = \"ful\"", "p.toml:3:10", "no design `ful`", "full"),
        ("engine = \"files\"", "p.toml:3:10", "no engine `files`", "file"),
        ("engine = \"iperf3\"", "p.toml:3:10", "no engine `iperf3`", "brickyard import FILE"),
        ("stop = { until = \"20s\" }", "p.toml:3:18", "\"steady\"", "leave it out"),
        ("stop = { at-most = \"20s\" }", "p.toml:3:8", "`after` or `until`", "20s"),
        ("stop = \"20 parsecs\"", "p.toml:3:8", "stop:", "a time"),
        ("[target]\ndevices = []", "p.toml:4:11", "no device here", "name one"),
        ("[target]\ndevices = \"serial:1\"", "p.toml:4:11", "is a list", "devices = ["),
        ("[target]\ndevices = [\"a\", \"a\"]", "p.toml:4:17", "there twice", "each once"),
        ("[target]\ndevice = [\"a\"]", "p.toml:3:1", "`directories` is missing", "directories"),
        (
            "[target]\ndirectories = [\"/a\"]\ndevices = [\"serial:1\"]",
            "p.toml:5:1",
            "either `directories` or `devices`",
            "leave one of them out",
        ),
        (
            "[target]\nread-only-devices = [\"serial:1\"]\ndirectories = [\"/a\"]",
            "p.toml:4:1",
            "either `read-only-devices` or `directories`",
            "leave one of them out",
        ),
        (
            "[target]\ndevices = [\"serial:1\"]\nread-only-devices = [\"serial:2\"]",
            "p.toml:5:1",
            "either `read-only-devices` or `devices`",
            "leave one of them out",
        ),
        ("[target]\nread-only-devices = []", "p.toml:4:21", "no device here", "name one"),
        ("[target]\nread-only-devices = [\"a\", \"a\"]", "p.toml:4:27", "twice", "each once"),
        ("[target]\ndirectories = []", "p.toml:4:15", "no directory", "name one"),
        ("[tarket]\na = 1", "p.toml:3:2", "no key `tarket`", "target"),
        ("[[exclude]]\nstreams = 7", "p.toml:4:11", "none of these levels", "factors"),
        ("[[exclude]]\nworkload = \"x\"", "p.toml:4:12", "no workload of this plan", "random-read"),
        ("[exclude]\nstreams = 7", "p.toml:3:1", "list of tables", "[[exclude]]"),
        ("about = 7", "p.toml:3:9", "is text", "about = \"...\""),
        ("[prices]\ndisk = 0", "p.toml:4:8", "number above 0", "disk = 310.0"),
        ("[prices]\ndisk = \"dear\"", "p.toml:4:8", "no number with a currency", "310USD"),
        ("[prices]\ndisk = \"1,5USD\"", "p.toml:4:8", "write 1.5USD", "310USD"),
        ("[prices]\na = \"3USD\"\nb = \"4EUR\"", "p.toml:5:5", "another currency", "in one"),
        ("stop = \"1,5s\"", "p.toml:3:8", "write 1.5s, with a point", "a time"),
        ("needs = [\"nsf\"]", "p.toml:3:10", "no need of a plan `nsf`", "`nfs`"),
        ("stop = 20", "p.toml:3:8", "write 20s, or 20B", "a time"),
        ("[prices]\n\"a disk\" = 1", "p.toml:4:1", "no name of small letters", "disk-shelf"),
        ("about = \"", "p.toml:3:10", "not TOML", "toml.io"),
    ];
    for (more, place, what, hint) in cases {
        let refused = refused(&with(more));
        assert!(refused.why.contains(place), "{more}: {}", refused.why);
        assert!(refused.why.contains(what), "{more}: {}", refused.why);
        assert!(refused.why.contains('^'), "{more}: {}", refused.why);
        assert!(refused.hint.contains(hint), "{more}: {}", refused.hint);
    }
    assert!(refused("").why.contains("`plan` is missing"));
    assert!(refused("[plan]\nname = \"p\"").why.contains("`workload` is missing"));
    let unknown = refused("[plan]\nname = \"p\"\n[[workload]]\nuse = \"random-raed\"");
    assert!(unknown.hint.contains("random-read"), "{unknown:?}");
}

#[test]
fn no_text_makes_the_reader_panic() {
    for end in 0..BRICK.len() {
        let _ = read(&BRICK[..end], "p.toml", None);
        let mut broken = BRICK.as_bytes().to_vec();
        broken[end] = b'=';
        let _ = read(&String::from_utf8_lossy(&broken), "p.toml", None);
    }
    let _ = refused("ä = \u{1F9F1}");
    let _ = refused("[plan]\nname = \"ä\u{1F9F1}\"\nseed = \"\u{1F9F1}\"");
}

#[test]
fn the_engine_given_wins_and_the_stop_of_a_workload_too() {
    let text = r#"
        [plan]
        name = "p"
        engine = "file"
        stop = "9s"
        [factors]
        sim-noise = [0, 0.1]
        [[workload]]
        use = "random-read"
        stop = "3s"
        [[workload]]
        use = "mixed"
    "#;
    let plan = read(text, "p.toml", Some("sim")).unwrap();
    assert_eq!((plan.engine.as_str(), plan.cells().count()), ("sim", 4));
    let stops: Vec<Stop> = plan.cells().map(|cell| plan.settings(&cell).stop()).collect();
    assert_eq!(stops[0], Stop::After(3_000_000_000));
    assert_eq!(stops[3], Stop::After(9_000_000_000));
}

/// One disk that hangs barred every trial of a plan, as each ran on all of its directories.
#[test]
fn a_workload_may_run_on_some_of_the_directories() {
    let text = |own: &str| {
        format!(
            "[plan]\nname = \"p\"\n[target]\ndirectories = [\"/a\", \"/b\"]\n\
             [[workload]]\nuse = \"random-read\"\ndirectories = {own}\n\
             [[workload]]\nuse = \"mixed\"\n"
        )
    };
    let plan = read(&text("[\"/b\"]"), "p.toml", None).unwrap();
    let all: Vec<Settings> = plan.cells().map(|cell| plan.settings(&cell)).collect();
    assert_eq!(all[0].directories(), ["/b"]);
    assert_eq!(all[1].directories(), ["/a", "/b"]);
    let stranger = refused(&text("[\"/c\"]"));
    assert!(stranger.why.contains("directory of [target]"), "{stranger}");
    assert!(refused(&text("[]")).why.contains("no directory here"));
}

/// Near to the next one, in directories.
const MIXED: &str = r#"
[plan]
name = "mixed"
replicates = 3
stop = { after = "20s", until = "steady", at-most = "120s" }

[factors]
read-ahead = ["128KiB", "1MiB", "8MiB"]
streams = [1, 2]
queue-depth = [1, 32]

[[workload]]
use = "sequential-read"
file-size = "512MiB"

[[workload]]
command = "make -j{streams} bzImage"
prepare = "make mrproper defconfig"

[prices]
disk = 310.0
controller = 640
"#;
use crate::knob::{self, Access};

/// A plan had one engine for all: reading files and compiling a kernel took two plans, whose
/// trials were then not in one random order.
#[test]
fn programs_stand_beside_workloads_each_with_the_knobs_that_it_obeys() {
    let plan = read(MIXED, "p.toml", None).unwrap();
    assert_eq!(plan.engine, "file, command");
    // 3 x 2 x 2 of the files, and 3 x 2 of the program, which knows no queue depth.
    let all: Vec<Settings> = plan.cells().map(|cell| plan.settings(&cell)).collect();
    let of = |engine: &str| all.iter().filter(|one| one.engine() == engine).count();
    assert_eq!((of("file"), of("command"), all.len()), (12, 6, 18));
    assert_eq!((plan.prices["disk"], plan.prices["controller"]), (310.0, 640.0));
    let program = all.last().unwrap();
    assert_eq!(program.get(knob::COMMAND), "make -j{streams} bzImage");
    assert_eq!(program.get(knob::READ_AHEAD).unwrap_or(0), 8 << 20);
    let alone = Settings::defaults("command");
    assert_eq!(
        program.value(knob::AT_MOST),
        alone.value(knob::AT_MOST),
        "a compilation is not cut at 120 s"
    );
    // The settings of the machine that change least often are shared by both.
    let ahead: Vec<u64> =
        plan.trials(7).map(|trial| trial.settings.get(knob::READ_AHEAD).unwrap_or(0)).collect();
    let changes = ahead.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes <= 3 * 3, "{ahead:?}");
}

#[test]
fn engines_that_cannot_go_together_are_refused_by_name() {
    let sim = read(MIXED, "p.toml", Some("sim")).unwrap_err();
    assert!(sim.why.contains("`sim` runs no programs") && sim.why.contains("make -j"), "{sim}");
    assert!(sim.why.contains("p.toml:17:11"), "{sim}");
    let untimed = MIXED.replace("stop = {", "# {");
    let command = read(&untimed, "p.toml", Some("command")).unwrap_err();
    assert!(command.why.contains("`command` cannot run `sequential-read`"), "{command}");
    let only = "[plan]\nname = \"p\"\n[[workload]]\ncommand = \"ls\"\n";
    assert_eq!(read(only, "p.toml", None).unwrap().engine, "command");
    assert_eq!(read(only, "p.toml", Some("command")).unwrap().engine, "command");
    let none = read(only, "p.toml", Some("file")).unwrap_err();
    assert!(none.why.contains("runs on the engine `file`"), "{none}");
    assert!(none.hint.contains("they run on command"), "{none:?}");
    let stop = refused(&only.replace("[[", "stop = \"3s\"\n[["));
    assert!(stop.why.contains("p.toml:3:1") && stop.why.contains("by themselves"), "{stop}");
    let own = refused(&only.replace("[[", "engine = \"file\"\n[["));
    assert!(own.why.contains("runs on the engine `file`"), "{own}");
}

#[test]
fn a_knob_that_is_typed_goes_to_the_workloads_that_obey_it() {
    let mut plan = read(MIXED, "p.toml", None).unwrap();
    plan.vary(&["direct=false".to_owned(), "timeout=9s".to_owned()]).unwrap();
    for settings in plan.cells().map(|cell| plan.settings(&cell)) {
        assert_eq!(settings.has(knob::DIRECT), settings.engine() == "file");
        assert!(!settings.get(knob::DIRECT));
        assert!(settings.engine() == "file" || settings.get(knob::TIMEOUT) == 9_000_000_000);
    }
    let refused = plan.vary(&["sim-noise=0.1".to_owned()]).unwrap_err();
    assert!(refused.why.contains("`file, command` has no knob"), "{refused}");
}

/// Each kind of line that a plan may have (docs/reference/plans.md), on disks.
#[test]
fn a_plan_with_each_kind_of_line_is_read() {
    let text = r#"
        [plan]
        name = "brick"
        about = "Which file system and readahead for large sequential reads?"
        replicates = 3
        seed = 42
        stop = { after = "20s", until = "steady", at-most = "120s" }
        [target]
        devices = ["serial:S4EVNX0R12345", "serial:S4EVNX0R12346"]
        [factors]
        raid = ["raid0"]
        filesystem = ["ext4", "xfs", "btrfs"]
        read-ahead = ["128KiB", "1MiB", "8MiB"]
        streams = [1, 2, 4, 8, 16, 32, 60, 100]
        [[workload]]
        use = "sequential-read"
        file-size = "512MiB"
        block-size = "1MiB"
        [[workload]]
        command = "make -j{streams} bzImage"
        prepare = "make mrproper defconfig"
        [prices]
        disk = 310.0
        controller = 640.0
    "#;
    let plan = read(text, "brick.toml", None).unwrap();
    assert_eq!(plan.check_target(), Ok(()));
    assert_eq!(plan.cells().count(), 2 * 3 * 3 * 8);
    assert_eq!((plan.engine.as_str(), plan.prices.len()), ("file, command", 2));
}

#[test]
fn a_workload_is_called_as_its_plan_calls_it_and_no_two_are_called_alike() {
    let plan = |names: [&str; 3]| {
        let one = |name: &str| match name {
            "" => "[[workload]]\ncommand = \"true\"\n".to_owned(),
            name => format!("[[workload]]\nname = \"{name}\"\ncommand = \"true\"\n"),
        };
        format!("[plan]\nname = \"p\"\n{}", names.map(one).concat())
    };
    let called = |names: [&str; 3]| {
        let plan = read(&plan(names), "p.toml", None).unwrap();
        plan.loads.iter().map(|load| load.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(called(["", "", ""]), ["command", "command 2", "command 3"]);
    assert_eq!(called(["kernel", "", ""]), ["kernel", "command", "command 2"]);
    assert_eq!(called(["command 2", "", "a b"]), ["command 2", "command 3", "a b"]);
    // Two loads of one preset were `tcp-stream` and `tcp-stream 2`: nobody knew which had jumbo
    // frames.
    let network = crate::plan::builtin::find("network").unwrap().text;
    let named: Vec<String> =
        read(network, "network", None).unwrap().loads.into_iter().map(|load| load.name).collect();
    assert_eq!(named, ["tcp-stream", "tcp-stream, wire namespaces, mtu 9000"]);
    // "file-stream 3": of three loads of files nobody knew which was the third.
    let files = crate::plan::builtin::find("disk-to-network").unwrap().text;
    for load in read(files, "disk-to-network", None).unwrap().loads {
        let numbered = load.name.rsplit(' ').next().is_some_and(|it| it.parse::<u32>().is_ok());
        let knob = load.name.contains(", ");
        assert!(!numbered || knob, "{}", load.name);
    }
    for (names, word) in [(["a", "a", ""], "taken"), (["layout", "", ""], "taken")] {
        assert!(refused(&plan(names)).why.contains(word), "{names:?}");
    }
    for name in [" ", "a\\nb", &"x".repeat(61)] {
        assert!(refused(&plan([name, "", ""])).why.contains("one line"), "{name:?}");
    }
}
