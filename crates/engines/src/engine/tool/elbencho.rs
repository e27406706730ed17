//! (pure) elbencho 3: files of so many threads, or the names of empty ones.
//!
//! A trial whose files have bytes is one phase, of reading or writing; one of empty files makes,
//! looks at, opens and removes them, a directory of each thread.

use super::{Launch, ToolEngine, ToolInput, one_of};
use crate::engine::load::cpus::NO_CARD;
use base::value::{Stop, cpu_list};
use experiment::knob::typed::Count;
use experiment::knob::{self, Access, Knob, Settings, engines};

/// elbencho as an engine.
pub const ELBENCHO: ToolEngine = ToolEngine {
    kind: &engines::ELBENCHO,
    importer: &importers::elbencho::ELBENCHO,
    program: "elbencho",
    get: "build it: github.com/breuner/elbencho",
    asks_version: &["--version"],
    launch,
};

fn launch(asked: &ToolInput<'_>) -> Result<Launch, String> {
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
fn place(asked: &ToolInput<'_>) -> Result<String, String> {
    let place = asked.place("elbencho")?;
    match place.chars().find(|c| "[],@\"".contains(*c) || c.is_control()) {
        Some(c) => Err(format!("elbencho cannot be given a directory with {c:?} in its name")),
        None => Ok(format!("{place}/elbencho")),
    }
}

/// What every phase is told alike.
fn common(asked: &ToolInput<'_>) -> Result<Vec<String>, String> {
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
fn cores(asked: &ToolInput<'_>) -> Result<Option<String>, String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tool::testing::{launch, refused, words};

    const SYNC: [(&str, &str); 3] = [("io-engine", "sync"), ("queue-depth", "1"), ("stop", "pass")];

    fn with<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let kept = SYNC.iter().filter(|one| more.iter().all(|other| other.0 != one.0));
        kept.chain(more).copied().collect()
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
