//! `brickyard doctor`: what this machine lets us do, what is missing, and how to get it.
//!
//! Looks and changes nothing. Nothing that is missing is a failure: the standard evaluation needs
//! nothing but a directory.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::Common;
use super::outputs::{self, Inputs};
use base::value::counted;
use engines::engine::file;
use engines::engine::tool::{TOOLS, ToolEngine};
use experiment::measurement::Record;
use experiment::measurement::judge::all as notes_of;
use host::inventory::group;
use host::sys::{Error, Host, command, signal};
use store::Store;

/// The arguments of `brickyard doctor`.
#[derive(clap::Args, Debug)]
pub struct DoctorArguments {
    #[command(flatten)]
    to: outputs::ToFile,
}

/// What was looked for, and what came of it.
#[derive(Debug)]
struct Row {
    name: String,
    there: bool,
    /// Where it was found and which it is, or why it is not to be had.
    found: String,
    /// What to do where it is not there; empty where it is.
    get: String,
}

/// Rows that belong together.
struct Group {
    name: &'static str,
    about: &'static str,
    rows: Vec<Row>,
}

/// Looks, and prints; exit status 0 whatever was found.
pub fn run(arguments: &DoctorArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let printed = arguments.to.decide(&Inputs::of_store(&common.store))?;
    let host = Host::live();
    let stop = signal::stop()?;
    let mut groups = vec![
        Group { name: "rights", about: "who we are, and what may be written", rows: rights(&host) },
        Group { name: "kernel", about: "what the load is made with", rows: kernel(&host) },
        Group {
            name: "tools",
            about: "engines whose figures stand beside ours; `import` reads what they print",
            rows: TOOLS.iter().map(|one| tool(one, &stop)).collect(),
        },
        Group {
            name: "plans",
            about: "programs that plans run besides our own",
            rows: PROGRAMS.iter().map(|(name, package)| program(name, package)).collect(),
        },
        Group { name: "layouts", about: "arrays and file systems in plans", rows: layouts() },
        Group {
            name: "drives",
            about: "what drives say of their health beyond what the kernel tells",
            rows: vec![program("smartctl", "smartmontools")],
        },
    ];
    let lacked = last_run(&common.store).filter(|rows| !rows.is_empty());
    groups.extend(lacked.map(|rows| Group {
        name: "last run",
        about: "what the newest campaign in the store here did without",
        rows,
    }));
    if stop.asked() {
        return Ok(ExitCode::from(130));
    }
    printed.data(&match common.json {
        true => serde_json::to_string_pretty(&document(&groups))?,
        false => text(&groups),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What a trial may do without, by the note that says so, and how to get it.
const LACKS: [(&str, &str, &str); 3] = [
    ("memlock", "locked memory", "ulimit -l unlimited, or LimitMEMLOCK=infinity of the service"),
    ("uring-fallback", "io_uring", "allow io_uring in the container's filter, or io-engine=aio"),
    ("no-huge-pages", "huge pages", "sysctl vm.nr_hugepages=64"),
];

/// A row for each thing that the newest campaign lacked; none where there is no store to read.
fn last_run(store: &Path) -> Option<Vec<Row>> {
    let store = store.exists().then(|| Store::open_read_only(store).ok())??;
    let newest = store.campaigns().ok()?.pop()?;
    Some(lacked(newest.id, &store.light_records(newest.id).ok()?))
}

/// A row for each thing that these records of a campaign tell that they lacked.
fn lacked(campaign: u64, records: &[Record]) -> Vec<Row> {
    let of_kind = |(kind, name, get): &(&str, &str, &str)| {
        let of = |record| notes_of(record).iter().find(|note| note.kind == *kind).cloned();
        let texts: Vec<String> = records.iter().filter_map(of).map(|note| note.text).collect();
        let first = texts.first()?.trim_end_matches('.').to_owned();
        let trials = counted(texts.len() as u64, "trial");
        let found = format!("campaign {campaign}, {trials}: {first}");
        Some(row(name, Err((found, *get))))
    };
    LACKS.iter().filter_map(of_kind).collect()
}

fn document(groups: &[Group]) -> Value {
    let row = |row: &Row| {
        let Row { name, there, found, get } = row;
        json!({ "name": name, "there": there, "found": found, "get": get })
    };
    let group = |group: &Group| {
        let rows: Vec<Value> = group.rows.iter().map(row).collect();
        json!({ "name": group.name, "about": group.about, "rows": rows })
    };
    let groups: Vec<Value> = groups.iter().map(group).collect();
    json!({ "brickyard": env!("CARGO_PKG_VERSION"), "groups": groups })
}

const WIDTH: usize = 100;

fn text(groups: &[Group]) -> String {
    let mut text = String::new();
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let wide = rows().map(|row| row.name.chars().count()).max().unwrap_or(0);
    for group in groups {
        text.push_str(&wrapped(&format!("{}: {}", group.name, group.about), "", "  "));
        for row in &group.rows {
            let there = if row.there { "yes" } else { "no " };
            let said = [row.found.as_str(), row.get.as_str()];
            let said: Vec<&str> = said.into_iter().filter(|it| !it.is_empty()).collect();
            let head = format!("  {there}  {:wide$}  ", row.name);
            text.push_str(&wrapped(&said.join(": "), &head, &" ".repeat(head.chars().count())));
        }
        text.push('\n');
    }
    let missing = rows().filter(|row| !row.there).count();
    let told = match missing {
        0 => "Nothing is missing.".to_owned(),
        _ => format!(
            "{missing} of {} are missing. The standard evaluation (brickyard evaluate DIR) needs \
             none of them.",
            rows().count()
        ),
    };
    text.push_str(&wrapped(&told, "", ""));
    text
}

/// Words in lines of at most [`WIDTH`] characters, the first after `head`, the others after
/// `indent`.
fn wrapped(words: &str, head: &str, indent: &str) -> String {
    let (mut text, mut line) = (String::new(), head.to_owned());
    let mut empty = true;
    for word in words.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(line.trim_end());
            text.push('\n');
            line = indent.to_owned();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    text + line.trim_end() + "\n"
}

fn row(name: &str, looked: Result<String, (String, &str)>) -> Row {
    let (there, found, get) = match looked {
        Ok(found) => (true, found, String::new()),
        Err((why, get)) => (false, why, get.to_owned()),
    };
    Row { name: name.to_owned(), there, found, get }
}

fn writable(host: &Host, path: &str) -> Result<String, (String, &'static str)> {
    match rustix::fs::access(host.path(path), rustix::fs::Access::WRITE_OK) {
        Ok(()) => Ok(format!("{path} may be written")),
        Err(error) => Err((format!("{path}: {}", std::io::Error::from(error)), "run as root")),
    }
}

fn rights(host: &Host) -> Vec<Row> {
    let root = rustix::process::geteuid().is_root();
    let who = match root {
        true => Ok("we are root: settings of the machine can be changed, and are put back".into()),
        false => {
            let why = "we are not: plans that change settings or make file systems are refused";
            Err((why.to_owned(), "run as root"))
        }
    };
    let memory = match group::memory(host) {
        Ok(parent) => writable(host, &parent.folder),
        Err(error) => Err((error.to_string(), "mount cgroups with the memory controller")),
    };
    let scheduler = host.list("/sys/block").into_iter().find_map(|disk| {
        let path = format!("/sys/block/{disk}/queue/scheduler");
        host.exists(&path).then_some(path)
    });
    let queue = match scheduler {
        Some(path) => writable(host, &path),
        None => Err(("no disk has a queue with a scheduler".to_owned(), "")),
    };
    let log = match host.open("/dev/kmsg") {
        Ok(_) => Ok("/dev/kmsg can be read: a trial that fails says what the kernel said".into()),
        Err(error) => Err((error.to_string(), "run as root, or set kernel.dmesg_restrict=0")),
    };
    vec![
        row("root", who),
        row("control groups", memory),
        row("disk queues", queue),
        row("dropping caches", writable(host, "/proc/sys/vm/drop_caches")),
        row("kernel messages", log),
        row("perf", perf(host, root)),
    ]
}

/// perf_event_open(2): what `perf` may count beside a trial.
fn perf(host: &Host, root: bool) -> Result<String, (String, &'static str)> {
    const PATH: &str = "/proc/sys/kernel/perf_event_paranoid";
    let get = "run as root, or set kernel.perf_event_paranoid=1";
    let Some(level) = host.word(PATH) else {
        return Err(("this kernel has no perf_event_open".to_owned(), ""));
    };
    match level.parse::<i32>() {
        Ok(number) if root || number <= 1 => {
            Ok(format!("{PATH} is {level}; needed by nothing yet"))
        }
        _ => Err((format!("{PATH} is {level}; needed by nothing yet"), get)),
    }
}

fn kernel(host: &Host) -> Vec<Row> {
    let uring = match file::ring_refusal() {
        None => Ok("a ring can be made: io-engine=uring".to_owned()),
        Some(why) => Err((why, "io-engine=aio needs none; a container's filter may forbid rings")),
    };
    let account = match host.read("/proc/self/io") {
        Ok(_) => {
            Ok("/proc/PID/io tells what a load read and wrote: origin can be known".to_owned())
        }
        Err(error) => Err((
            error.to_string(),
            "a kernel with CONFIG_TASK_IO_ACCOUNTING; else origin is unknown",
        )),
    };
    let pressure = match host.exists("/proc/pressure/io") {
        true => Ok("/proc/pressure: who waited for what".to_owned()),
        false => {
            Err(("no /proc/pressure".to_owned(), "a kernel with CONFIG_PSI, started with psi=1"))
        }
    };
    vec![row("io_uring", uring), row("I/O accounting", account), row("pressure", pressure)]
}

/// Programs of plans that ship, and their packages: `concat` joins files with the first, `build`
/// compiles with the others.
const PROGRAMS: [(&str, &str); 3] =
    [("ncecat", "nco"), ("make", "build-essential"), ("cc", "build-essential")];

fn program(name: &str, package: &str) -> Row {
    let found = command::find(name).map(|path| path.display().to_string());
    let get = format!("apt-get install {package}");
    row(name, found.ok_or_else(|| ("not installed".to_owned(), get.as_str())))
}

/// Programs that make arrays and file systems, each once.
fn layouts() -> Vec<Row> {
    let mut rows = vec![program("mdadm", "mdadm"), program("vgcreate", "lvm2")];
    let makers = facts::layout::filesystem::KINDS
        .iter()
        .filter_map(|kind| Some((*kind.mkfs.first()?, kind.package)));
    for (mkfs, package) in makers {
        if rows.iter().all(|row| row.name != mkfs) {
            rows.push(program(mkfs, package));
        }
    }
    rows
}

/// An installed tool with its version, as it says it.
fn tool(tool: &ToolEngine, stop: &signal::Stop) -> Row {
    let Some(path) = command::find(tool.program) else {
        return row(tool.kind.name, Err(("not installed".to_owned(), tool.get)));
    };
    let mut words = vec![path.display().to_string()];
    words.extend(tool.asks_version.iter().map(|word| (*word).to_owned()));
    let said = |answer: command::CommandOutput| {
        let texts = [answer.said, answer.complained].map(Option::unwrap_or_default);
        texts.iter().find_map(|text| version(text))
    };
    let asked: Result<_, Error> = command::ask(&words, Duration::from_secs(5), stop);
    let version = match asked.map(said) {
        Ok(Some(version)) => version,
        Ok(None) => "says no version".to_owned(),
        Err(error) => error.to_string(),
    };
    row(tool.kind.name, Ok(format!("{version}, {}", path.display())))
}

/// The first word, or part of one after `-` or `(`, that begins with digits and a point.
fn version(text: &str) -> Option<String> {
    let parts = text.split(|c: char| c.is_whitespace() || "-()".contains(c));
    let is_version = |part: &&str| {
        let digits = part.chars().take_while(char::is_ascii_digit).count();
        digits > 0 && part[digits..].starts_with('.') && part.len() > digits + 1
    };
    parts
        .into_iter()
        .find(is_version)
        .map(|part| part.trim_end_matches([',', ')', '.', ':']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::measurement::{Note, Outcome};

    #[test]
    fn versions_are_found_in_what_tools_say() {
        for (said, known) in [
            ("fio-3.33\n", "3.33"),
            ("sysbench 1.0.20\n", "1.0.20"),
            ("iperf 3.12 (cJSON 1.7.15)\nLinux host 6.1\n", "3.12"),
            ("pgbench (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", "15.18"),
            ("dbench version 4.00 - Copyright Andrew Tridgell 1999-2004\n", "4.00"),
            ("IOR-4.1.0+dev: MPI Coordinated Test of Parallel I/O\n", "4.1.0+dev"),
            (
                "-- started at 11/22/2026 11:42:03 --\n\nmdtest-4.1.0 was launched with 1 total\n",
                "4.1.0",
            ),
            ("elbencho\n * Version: 3.1-10\n * Net protocol version: 3.1.2\n", "3.1"),
            ("usage:\nbonnie++ [-d scratch-dir]\n\nVersion: 2.00a\n", "2.00a"),
        ] {
            assert_eq!(version(said).as_deref(), Some(known), "{said}");
        }
        assert_eq!(version("elephant 7\n1999-2004\n7.\n"), None);
    }

    #[test]
    fn no_line_is_wider_than_100_columns_and_what_is_missing_says_how_to_get_it() {
        let missing = Err((format!("{} is so", "it ".repeat(60)), "apt-get install elephant"));
        let rows = vec![row("elephant", missing), row("fio", Ok("3.33, /usr/bin/fio".into()))];
        let groups = [Group { name: "tools", about: "what is there", rows }];
        let text = text(&groups);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.contains("no   elephant") && text.contains("apt-get install elephant"));
        assert!(text.contains("1 of 2 are missing"), "{text}");
        assert_eq!(document(&groups)["groups"][0]["rows"][1]["there"], true);
    }

    /// That locked memory was too little stood in a note of 62 trials, and `doctor` said that
    /// nothing was missing.
    #[test]
    fn what_a_campaign_did_without_is_told_with_its_count_and_how_to_get_it() {
        let settings = engines::engine::testing::settings(&[]);
        let mut records = engines::engine::testing::light_campaign(&[("a".into(), settings)], 3, 1);
        assert!(lacked(7, &records).is_empty());
        let kinds = ["memlock", "uring-fallback", "no-huge-pages", "others-io"];
        for (place, record) in records.iter_mut().enumerate() {
            let Outcome::Done(measurement) = &mut record.outcome else { panic!("not done") };
            let digest = measurement.digest.as_mut().expect("a digest");
            let of = kinds.iter().skip(place).map(|kind| Note::new(kind, "It lacked."));
            digest.notes = digest.notes.iter().cloned().chain(of).collect();
        }
        let rows = lacked(7, &records);
        let told: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.found.as_str())).collect();
        assert_eq!(
            told,
            [
                ("locked memory", "campaign 7, 1 trial: It lacked"),
                ("io_uring", "campaign 7, 2 trials: It lacked"),
                ("huge pages", "campaign 7, 3 trials: It lacked"),
            ]
        );
        assert!(rows.iter().all(|row| !row.there && !row.get.is_empty()));
    }

    #[test]
    fn every_tool_says_how_to_get_it_and_a_missing_program_is_no_error() {
        let none = ToolEngine { program: "brickyard-no-such-tool", ..*TOOLS[0] };
        let stop = signal::Stop::new();
        let row = tool(&none, &stop);
        assert_eq!((row.there, row.get.as_str()), (false, "apt-get install fio"));
        assert!(TOOLS.iter().all(|tool| !tool.get.is_empty()));
        assert!(!program("brickyard-no-such-tool", "nothing").there);
    }
}
