//! (pure) elbencho 3: files of so many threads, or the names of empty ones; its results in JSON.
//!
//! A trial whose files have bytes is one phase, of reading or writing; one of empty files makes,
//! looks at, opens and removes them, a directory of each thread. Rates are those up to the moment
//! at which the first thread was done, while all were running; those up to the last stand beside
//! them. Times are in us.

use serde_json::{Map, Value as Json};

use super::{Adapter, Asked, Launch, Said, one_of};
use crate::engine::load::cpus::NO_CARD;
use base::value::{Stop, cpu_list};
use experiment::knob::typed::Count;
use experiment::knob::{self, Access, Knob, Settings};

pub const ELBENCHO: Adapter = Adapter {
    name: "elbencho",
    program: "elbencho",
    get: "build it: github.com/breuner/elbencho",
    asks_version: &["--version"],
    launch,
    parse,
    knows,
};

fn launch(asked: &Asked<'_>) -> Result<Launch, String> {
    let settings = asked.settings;
    let size = settings.get(knob::FILE_SIZE);
    let place = place(asked)?;
    let common = common(asked)?;
    let with = |words: &[&str], more: &[String]| {
        let words = words.iter().map(|word| (*word).to_owned());
        let all = common.iter().cloned().chain(words).chain(more.iter().cloned());
        all.chain([place.clone()]).collect::<Vec<_>>()
    };
    let folder = vec!["mkdir".to_owned(), place.clone()];
    if size == 0 {
        names(settings)?;
        // A rate of one directory a thread would be none: they are made before.
        let words = with(&["-w", "--stat", "-r", "-F"], &[]);
        let prepare = vec![folder, with(&["-d"], &[])];
        return Ok(Launch { prepare, words, notes: Vec::new() });
    }
    let (phase, more) = moving(settings)?;
    let lay: &[&str] = match settings.get(knob::ACCESS) {
        Some(Access::Write) => &["-d"],
        _ => &["-d", "-w", "--block=1M", "--sync"],
    };
    let prepare = vec![folder, with(lay, &[])];
    Ok(Launch { prepare, words: with(&[phase], &more), notes: Vec::new() })
}

/// Where the files are; elbencho reads several paths, or our parser the end of a word, into some.
fn place(asked: &Asked<'_>) -> Result<String, String> {
    let place = asked.place("elbencho")?;
    match place.chars().find(|c| "[],@\"".contains(*c) || c.is_control()) {
        Some(c) => Err(format!("elbencho cannot be given a directory with {c:?} in its name")),
        None => Ok(format!("{place}/elbencho")),
    }
}

/// What every phase is told alike.
fn common(asked: &Asked<'_>) -> Result<Vec<String>, String> {
    let whole = |knob: Knob<Count>| asked.settings.get(knob).to_string();
    let file_bytes = asked.settings.get(knob::FILE_SIZE).to_string();
    let mut words = vec!["elbencho".to_owned(), "--nolive".to_owned(), "--lat".to_owned()];
    words.extend(["-t".to_owned(), whole(knob::STREAMS), "-n".to_owned(), "1".to_owned()]);
    words.extend(["-N".to_owned(), whole(knob::FILES), "-s".to_owned(), file_bytes]);
    words.extend(cores(asked)?);
    // It would keep its results in /var/tmp besides. A folder for them is made there whatever it
    // is told, and stays empty.
    let results = ["--jsonfile=/dev/stdout", "--csvfile=/dev/null", "--resfile=/dev/null"];
    words.extend(results.map(str::to_owned));
    Ok(words)
}

/// Refuses what has no meaning for files without bytes.
fn names(settings: &Settings) -> Result<(), String> {
    let needs = [
        ("stop", settings.value(knob::STOP), settings.stop() == Stop::Pass, "pass"),
        ("direct", settings.value(knob::DIRECT), !settings.get(knob::DIRECT), "false"),
        (
            "queue-depth",
            settings.value(knob::QUEUE_DEPTH),
            settings.get(knob::QUEUE_DEPTH) == 1,
            "1",
        ),
        (
            "io-engine",
            settings.value(knob::IO_ENGINE),
            settings.get(knob::IO_ENGINE) == "sync",
            "sync",
        ),
    ];
    match needs.iter().find(|(_, _, is, _)| !is) {
        None => Ok(()),
        Some((knob, value, _, word)) => Err(format!(
            "elbencho goes through empty files once and moves no bytes; {knob}={value} needs \
             {knob}={word}, or a file-size"
        )),
    }
}

/// The phase that is timed, and with what.
fn moving(settings: &Settings) -> Result<(&'static str, Vec<String>), String> {
    let known = [
        ("read", "-r"),
        ("write", "-w"),
        ("random-read", "-r --rand"),
        ("random-write", "-w --rand"),
        ("read-backward", "-r --backward"),
    ];
    let access = one_of(settings, "elbencho", knob::ACCESS, &known)?;
    let block = settings.get(knob::BLOCK_SIZE);
    if !settings.get(knob::FILE_SIZE).is_multiple_of(block) {
        return Err(format!(
            "elbencho leaves out what is less than a block; file-size={} needs to be a multiple of \
             block-size={}",
            settings.value(knob::FILE_SIZE),
            settings.value(knob::BLOCK_SIZE)
        ));
    }
    let writes = access.starts_with("-w");
    let mut words: Vec<String> = access.split(' ').skip(1).map(str::to_owned).collect();
    words.extend(asking(settings, writes)?);
    words.extend(settings.get(knob::DIRECT).then(|| "--direct".to_owned()));
    words.push(format!("--block={block}"));
    words.extend(stop(settings)?);
    Ok((if writes { "-w" } else { "-r" }, words))
}

/// How the kernel is asked.
fn asking(settings: &Settings, writes: bool) -> Result<Option<String>, String> {
    let depth = settings.get(knob::QUEUE_DEPTH);
    let why = match (settings.get(knob::IO_ENGINE), depth) {
        ("sync", 1) => return Ok(None),
        ("aio", 2..) => return Ok(Some(format!("--iodepth={depth}"))),
        ("aio", _) => {
            "elbencho is synchronous at queue-depth=1; io-engine=aio needs 2 or more".to_owned()
        }
        ("mmap", 1) if settings.get(knob::DIRECT) => {
            "a memory map goes through the page cache; io-engine=mmap needs direct=false".to_owned()
        }
        ("mmap", 1) if writes => {
            "elbencho's memory maps make no file longer; io-engine=mmap needs an access that reads"
                .to_owned()
        }
        ("mmap", 1) => return Ok(Some("--mmap".to_owned())),
        (engine @ ("sync" | "mmap"), _) => format!(
            "io-engine={engine} has one I/O in flight per stream; queue-depth={depth} needs \
             io-engine=aio"
        ),
        (engine, _) => format!(
            "elbencho has no io-engine={engine}; it takes sync, aio and mmap, and engine=file has \
             the others"
        ),
    };
    Err(why)
}

fn stop(settings: &Settings) -> Result<Vec<String>, String> {
    const SECOND_NS: u64 = 1_000_000_000;
    match settings.stop() {
        Stop::Pass => Ok(Vec::new()),
        Stop::After(ns) if ns % SECOND_NS == 0 && ns > 0 => {
            // It looks at its clock when it writes of its progress, and every 2 s without that.
            let words = ["--livecsv=/dev/null", "--liveint=1000", "--infloop"].map(str::to_owned);
            let limit = format!("--timelimit={}", ns / SECOND_NS);
            Ok(words.into_iter().chain([limit]).collect())
        }
        Stop::After(_) => {
            Err(format!("elbencho counts whole seconds; stop={} needs such", settings.stop()))
        }
        stop => Err(format!("elbencho ends by a time or stop=pass; stop={stop} needs engine=file")),
    }
}

/// Each thread on one processor of a list, in turn. `all` are those that it may use when it starts.
fn cores(asked: &Asked<'_>) -> Result<Option<String>, String> {
    match asked.settings.get(knob::CPU_PINNING) {
        "none" | "" => Ok(None),
        "spread" => Ok(Some("--cores=all".to_owned())),
        "numa-local" => Err(NO_CARD.to_owned()),
        // It would take `0-3` for 0.
        list => {
            let cpus = cpu_list(list).ok_or_else(|| format!("cpu-pinning={list} is no list"))?;
            let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
            Ok(Some(format!("--cores={}", cpus.join(","))))
        }
    }
}

/// How a line of its JSON begins.
const BEGINS: &str = "{\"phase_type\":";

fn knows(text: &str) -> bool {
    text.contains(BEGINS)
}

/// Phases in the order in which elbencho goes through them, with the options that ask for them and
/// what we call their rate of files or directories.
const PHASES: [(&str, char, &str, &str); 6] = [
    ("MKDIRS", 'd', "mkdirs", "mkdir"),
    ("WRITE", 'w', "write", "create"),
    ("STAT", '\0', "stat", "stat"),
    ("READ", 'r', "read", "open"),
    ("RMFILES", 'F', "delfiles", "unlink"),
    ("RMDIRS", 'D', "deldirs", "rmdir"),
];

/// One result a run: its phases, each of which prints a line. A run is whole when it has all that
/// its command line asks for.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut all: Vec<Said> = Vec::new();
    let mut missing: Vec<&str> = Vec::new();
    for line in text.split_inclusive('\n') {
        let Some(start) = line.find(BEGINS) else { continue };
        let document = super::json::document(line[start..].trim_end())
            .map_err(|error| format!("a line of its JSON is broken: {error}"))?;
        if !line.ends_with('\n') {
            return Err("it was cut short in a line of its JSON".to_owned());
        }
        let phase = document["phase_type"].as_str().unwrap_or_default();
        if matches!(phase, "SYNC" | "DROPCACHE") {
            continue;
        }
        let row = PHASES.iter().find(|row| row.0 == phase);
        let (name, _, _, ours) = row.ok_or_else(|| format!("it has a phase `{phase}`"))?;
        if missing.is_empty() {
            missing = asked_for(document["config"]["command"].as_str().unwrap_or_default());
            if !missing.contains(name) {
                return Err(format!("its command line does not ask for its phase {phase}"));
            }
            all.push(Said::default());
        }
        if missing.first() != Some(name) {
            return Err(cut(&missing));
        }
        missing.remove(0);
        if let Some(said) = all.last_mut() {
            add(said, &document, ours)?;
        }
    }
    match (missing.is_empty(), all.is_empty()) {
        (false, _) => Err(cut(&missing)),
        (true, true) => Err("there is no result of elbencho in it".to_owned()),
        (true, false) => Ok(all),
    }
}

fn cut(missing: &[&str]) -> String {
    format!("it was cut short: it has no {}", missing.join(", "))
}

/// The phases that a command line asks for, whose words are quoted.
fn asked_for(command: &str) -> Vec<&'static str> {
    let words: Vec<&str> = command.split('"').map(str::trim).collect();
    let named = |short: char, long: &str| {
        words.iter().any(|word| match word.strip_prefix("--") {
            Some(name) => name == long,
            None => word.strip_prefix('-').is_some_and(|letters| {
                // Letters that stand for themselves may be joined.
                letters.chars().all(|c| "dwrFD".contains(c)) && letters.contains(short)
            }),
        })
    };
    let asked = PHASES.iter().filter(|(_, short, long, _)| named(*short, long));
    asked.map(|(name, ..)| *name).collect()
}

/// Its numbers are strings; what is not there is none.
fn number(value: &Json) -> Result<Option<(f64, &str)>, String> {
    let Some(text) = value.as_str() else { return Ok(None) };
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    let number = number.ok_or_else(|| format!("`{text}` in its JSON is no number"))?;
    Ok(Some((number, text)))
}

fn add(said: &mut Said, document: &Json, name: &str) -> Result<(), String> {
    let config = &document["config"];
    said.version = config["version"].as_str().unwrap_or_default().to_owned();
    let moves = document["last_done"]["bytes"].is_string();
    let way = if name == "open" { "read" } else { "write" };
    let mut rates = 0;
    for (which, part) in [("", "first_done"), ("last_done_", "last_done")] {
        let names: &[(&str, String, &str)] = match moves {
            true => &[
                ("bytes/s", format!("{which}{way}_throughput_bytes_per_s"), "bytes/s"),
                ("iops", format!("{which}{way}_iops"), "IOPS"),
            ],
            false => &[("entries/s", format!("{which}{name}_per_s"), "entries/s")],
        };
        for (key, figure, unit) in names {
            if let Some((value, text)) = number(&document[part][*key])? {
                said.add(figure.clone(), value, format!("{text} {unit}"));
                rates += 1;
            }
        }
    }
    if rates == 0 {
        return Err("a phase of it has no rate".to_owned());
    }
    let (kind, latency) = match moves {
        true => ("IO", format!("{way}_latency_ns")),
        false => ("entries", format!("{name}_latency_ns")),
    };
    let times = &document["last_done"]["latency"][kind];
    for (key, what) in [("avg_us", "mean"), ("min_us", "min"), ("max_us", "max")] {
        if let Some((value, text)) = number(&times[key])? {
            said.add(format!("{latency}_{what}"), value * 1000.0, format!("{text} us"));
        }
    }
    said.settings.extend(known(config));
    Ok(())
}

/// Knobs as far as the configuration tells them.
fn known(config: &Json) -> Map<String, Json> {
    let text = |key: &str| config[key].as_str().unwrap_or_default();
    let whole = |key: &str| text(key).parse::<u64>().ok();
    let one = |key: &str| whole(key) == Some(1);
    let size = whole("file_size");
    let bytes = size.is_some_and(|size| size > 0);
    let mut known = Map::new();
    for (knob, key, tells) in [
        // Threads are those of each host, files those of each directory of a thread; where it is
        // given a file, all threads share that.
        ("streams", "threads", one("hosts")),
        ("files", "files", one("dirs")),
        ("file-size", "file_size", text("path_type") == "dir"),
        ("block-size", "block_size", bytes),
        ("queue-depth", "io_depth", bytes),
    ] {
        if let Some(value) = whole(key).filter(|_| tells) {
            known.insert(knob.to_owned(), value.into());
        }
    }
    let direct = match text("direct_io") {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    };
    if let Some(direct) = direct.filter(|_| bytes) {
        known.insert("direct".to_owned(), direct.into());
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::adapter::testing::{figure, launch, refused, words};

    const WRITE: &str = include_str!("../../../../../tests/fixtures/tools/elbencho-3.1-write.txt");
    const READ: &str =
        include_str!("../../../../../tests/fixtures/tools/elbencho-3.1-random-read.txt");
    const NAMES: &str = include_str!("../../../../../tests/fixtures/tools/elbencho-3.1-names.txt");
    const REFUSED: &str =
        include_str!("../../../../../tests/fixtures/tools/elbencho-3.1-refused.txt");

    const SYNC: [(&str, &str); 3] = [("io-engine", "sync"), ("queue-depth", "1"), ("stop", "pass")];

    fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let kept = SYNC.iter().filter(|one| more.iter().all(|other| other.0 != one.0));
        kept.chain(more).copied().collect()
    }

    #[test]
    fn bytes_are_read_with_the_latency_of_an_io_and_what_the_last_thread_made_of_it() {
        let said = &parse(WRITE).unwrap()[0];
        for (name, value) in [
            ("write_throughput_bytes_per_s", 1_280_511_116.0),
            ("write_iops", 1221.0),
            ("last_done_write_throughput_bytes_per_s", 1_280_410_287.0),
            ("write_latency_ns_mean", 1_604_000.0),
            ("write_latency_ns_max", 2_934_000.0),
        ] {
            assert_eq!(figure(said, name), Some(value), "{name}");
        }
        assert_eq!(said.version, "3.1-10");
        assert_eq!(said.figures[0].printed, "1280511116 bytes/s");
        let said = &parse(READ).unwrap()[0];
        assert_eq!(figure(said, "read_iops"), Some(52_551.0));
        assert_eq!(figure(said, "read_latency_ns_min"), Some(78_000.0));
        let known = serde_json::json!({
            "streams": 2, "files": 2, "file-size": 16 << 20, "block-size": 4096,
            "queue-depth": 8, "direct": true,
        });
        assert_eq!(Json::Object(said.settings.clone()), known);
    }

    #[test]
    fn names_are_read_phase_by_phase() {
        let said = &parse(NAMES).unwrap()[0];
        for (name, value) in [
            ("create_per_s", 3667.0),
            ("last_done_create_per_s", 3679.0),
            ("stat_per_s", 876_501.0),
            ("open_per_s", 482_373.0),
            ("unlink_per_s", 181_229.0),
            ("unlink_latency_ns_max", 1_296_000.0),
        ] {
            assert_eq!(figure(said, name), Some(value), "{name}");
        }
        assert!(!said.settings.contains_key("block-size"), "{:?}", said.settings);
        assert_eq!(parse(&format!("{NAMES}{WRITE}")).unwrap().len(), 2);
    }

    #[test]
    fn a_run_without_a_phase_that_was_asked_for_is_no_result() {
        assert!(knows(REFUSED) && REFUSED.contains("ERROR: File open failed"));
        assert!(parse(REFUSED).unwrap_err().contains("cut short: it has no READ"));
        let unlink = NAMES.find("RMFILES").unwrap();
        assert!(parse(&NAMES[..unlink]).unwrap_err().contains("it has no RMFILES"));
        assert!(
            parse(&NAMES.replace("\"-r\\\"", "\"-x\\\""))
                .unwrap_err()
                .contains("it has no RMFILES")
        );
        assert!(parse(&WRITE.replace("1280511116", "lots")).unwrap_err().contains("no number"));
        assert!(parse(&WRITE.replace("\"-w\\\"", "\"-c\\\"")).unwrap_err().contains("ask for"));
    }

    #[test]
    fn files_are_laid_out_before_they_are_read_and_directories_before_they_are_written() {
        let typed = with(&[
            ("access", "random-read"),
            ("io-engine", "aio"),
            ("queue-depth", "8"),
            ("stop", "3s"),
            ("streams", "2"),
            ("files", "4"),
            ("cpu-pinning", "0-1,4"),
        ]);
        let read = launch(&ELBENCHO, &typed, &["/a"]).unwrap();
        for word in ["-r", "--rand", "--iodepth=8", "--direct", "--timelimit=3", "--cores=0,1,4"] {
            assert!(read.words.iter().any(|it| it == word), "{word}: {:?}", read.words);
        }
        assert_eq!(read.prepare[0], ["mkdir", "/a/elbencho"]);
        assert!(read.prepare[1].contains(&"-w".to_owned()), "{:?}", read.prepare);
        assert!(read.words.ends_with(&["/a/elbencho".to_owned()]));
        let write = launch(&ELBENCHO, &with(&[("access", "write")]), &["/a"]).unwrap();
        assert!(write.words.contains(&"-w".to_owned()) && !write.words.contains(&"-d".to_owned()));
        assert!(!write.prepare[1].contains(&"-w".to_owned()), "{:?}", write.prepare);
    }

    #[test]
    fn empty_files_are_gone_through_once_and_take_nothing_that_moves_bytes() {
        let settings =
            |size| experiment::knob::testing::settings("elbencho", &[("file-size", size)]);
        assert!(
            settings("0").is_moot(knob::ACCESS.name) && !settings("0").is_moot(knob::FILES.name)
        );
        assert!(!settings("4KiB").is_moot(knob::ACCESS.name));
        let typed = with(&[("file-size", "0"), ("direct", "false"), ("files", "10")]);
        let words = words(&ELBENCHO, &typed, &["/a"]);
        for word in ["-w", "--stat", "-r", "-F"] {
            assert!(words.iter().any(|it| it == word), "{words:?}");
        }
        for (knob, value) in
            [("stop", "3s"), ("direct", "true"), ("queue-depth", "2"), ("io-engine", "aio")]
        {
            let mut typed = typed.clone();
            typed.retain(|one| one.0 != knob);
            typed.push((knob, value));
            assert!(refused(&ELBENCHO, &typed).contains(&format!("{knob}={value}")), "{knob}");
        }
    }

    #[test]
    fn what_it_cannot_do_is_refused() {
        for (typed, why) in [
            (&[("access", "random-mix")][..], "access=random-mix"),
            (&[("io-engine", "uring")], "io-engine=uring"),
            (&[("io-engine", "aio")], "queue-depth=1"),
            (&[("queue-depth", "2")], "queue-depth=2"),
            (&[("io-engine", "mmap")], "direct=false"),
            (&[("io-engine", "mmap"), ("direct", "false"), ("access", "write")], "reads"),
            (&[("block-size", "3MiB")], "block-size=3MiB"),
            (&[("stop", "1500ms")], "whole seconds"),
            (&[("stop", "steady")], "stop=steady"),
        ] {
            let said = refused(&ELBENCHO, &with(typed));
            assert!(said.contains(why), "{typed:?}: {said}");
        }
        for places in [&["/a", "/b"][..], &["/a[1-3]"]] {
            let why = launch(&ELBENCHO, &with(&[]), places).unwrap_err();
            assert!(why.contains("directory"), "{why}");
        }
    }
}
