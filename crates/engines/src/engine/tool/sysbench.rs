//! (pure) sysbench 1.0's `fileio`: the knobs that mean the same there.
//!
//! Its threads share one set of files, so a trial has one stream.

use super::{Launch, ToolEngine, ToolInput, one_of};
use base::value::Stop;
use experiment::knob::{self, engines};

/// sysbench as an engine.
pub const SYSBENCH: ToolEngine = ToolEngine {
    kind: &engines::SYSBENCH,
    importer: &importers::sysbench::SYSBENCH,
    program: "sysbench",
    get: "apt-get install sysbench",
    asks_version: &["--version"],
    launch,
};

const SECOND_NS: u64 = 1_000_000_000;

fn launch(asked: &ToolInput<'_>) -> Result<Launch, String> {
    let settings = asked.settings;
    // `seqwr` makes the files that it writes.
    let modes = [
        ("read", "seqrd"),
        ("write", "seqwr"),
        ("random-read", "rndrd"),
        ("random-write", "rndwr"),
    ];
    let mode = one_of(settings, "sysbench", knob::ACCESS, &modes)?;
    let engines = [("sync", "sync"), ("mmap", "mmap")];
    let engine = one_of(settings, "sysbench", knob::IO_ENGINE, &engines)?;
    let direct = settings.get(knob::DIRECT);
    if engine == "mmap" && direct {
        return Err("a memory map goes through the page cache; io-engine=mmap needs direct=false"
            .to_owned());
    }
    let seconds = match settings.stop() {
        Stop::After(ns) if ns > 0 && ns % SECOND_NS == 0 => ns / SECOND_NS,
        other => {
            return Err(format!(
                "sysbench runs for whole seconds; stop={other} needs a time such as stop=10s, or \
                 engine=file"
            ));
        }
    };
    asked.place("sysbench")?;
    let (files, size) = (settings.get(knob::FILES), settings.get(knob::FILE_SIZE));
    let total = files.checked_mul(size).ok_or("file-size times files is too much to count")?;
    let common = [
        "sysbench".to_owned(),
        "fileio".to_owned(),
        format!("--file-num={files}"),
        format!("--file-total-size={total}"),
        format!("--file-block-size={}", settings.get(knob::BLOCK_SIZE)),
        format!("--file-test-mode={mode}"),
        format!("--file-io-mode={engine}"),
    ];
    let fsync = match settings.get(knob::FSYNC) {
        "every" => ["--file-fsync-freq=0", "--file-fsync-all=on", "--file-fsync-end=off"],
        "end" => ["--file-fsync-freq=0", "--file-fsync-all=off", "--file-fsync-end=on"],
        _ => ["--file-fsync-freq=0", "--file-fsync-all=off", "--file-fsync-end=off"],
    };
    let mut words: Vec<String> = common.to_vec();
    words.extend(fsync.map(str::to_owned));
    words.extend(direct.then(|| "--file-extra-flags=direct".to_owned()));
    // Its seed is a C int.
    words.push(format!("--rand-seed={}", asked.seed % 0x7fff_ffff));
    words.extend(["--threads=1", "--events=0", "--percentile=99"].map(str::to_owned));
    words.extend([format!("--time={seconds}"), "run".to_owned()]);
    let prepare = common.into_iter().chain(["prepare".to_owned()]).collect();
    Ok(Launch { prepare: vec![prepare], words, notes: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tool::testing::{refused, words};

    #[test]
    fn what_sysbench_cannot_do_is_refused_by_the_name_of_the_knob() {
        let fine = ("io-engine", "sync");
        for (typed, knob) in [
            (&[("io-engine", "uring")][..], "io-engine=uring"),
            (&[("io-engine", "aio")], "io-engine=aio"),
            (&[fine, ("access", "random-mix")], "access=random-mix"),
            (&[fine, ("access", "read-backward")], "access=read-backward"),
            (&[fine, ("access", "read-strided")], "access=read-strided"),
            (&[fine, ("stop", "100ms")], "stop=100ms"),
            (&[fine, ("stop", "steady")], "stop=steady"),
            (&[fine, ("stop", "pass")], "stop=pass"),
            (&[("io-engine", "mmap")], "io-engine=mmap"),
        ] {
            let why = refused(&SYSBENCH, typed);
            assert!(why.contains(knob), "{typed:?}: {why}");
        }
        let words = words(&SYSBENCH, &[fine, ("stop", "2s"), ("access", "write")], &["/a"]);
        assert!(words.contains(&"--time=2".to_owned()), "{words:?}");
    }
}
