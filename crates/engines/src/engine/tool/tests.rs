//! What holds of every tool that we launch: it is an engine, and refuses by name what it cannot do.

use super::*;
use crate::engine::ENGINES;
use experiment::knob::{KNOBS, Scope};
use experiment::{plan, workload};
use host::sys::Host;

/// The knobs that a tool obeys.
fn honours(tool: &ToolEngine) -> Vec<&'static str> {
    let obeyed = tool.kind.obeyed();
    obeyed.filter(|knob| knob.scope == Scope::Job).map(|knob| knob.name).collect()
}

/// Its output is read by the importer of its own name, which a user types after `--from` as well.
#[test]
fn every_tool_is_an_engine_with_knobs_and_an_importer_of_the_same_name() {
    for tool in TOOLS {
        let name = tool.kind.name;
        assert_eq!(tool.importer.name, name);
        assert!(importers::find(name).is_some(), "{name}");
        let engine = ENGINES.iter().find(|engine| engine.name() == name);
        assert!(engine.is_some_and(|engine| engine.kind().makes_its_files()), "{name}");
        assert!(!honours(tool).is_empty(), "{name}");
    }
}

/// What a person types after the name of a knob, so that it is away from its default.
fn away(name: &str) -> Option<&'static str> {
    Some(match name {
        "access" => "access=write",
        "block-size" => "block-size=64KiB",
        "queue-depth" => "queue-depth=9",
        "batch" => "batch=3",
        "streams" => "streams=7",
        "file-size" => "file-size=3MiB",
        "files" => "files=3",
        "direct" => "direct=false",
        "cold" => "cold=false",
        "io-engine" => "io-engine=sync",
        "stop" => "stop=3s",
        "at-least" => "at-least=3s",
        "sustained" => "sustained=false",
        "second-pass" => "second-pass=true",
        "fsync" => "fsync=every",
        "read-share" => "read-share=0.3",
        "stride-blocks" => "stride-blocks=5",
        "random-distribution" => "random-distribution=zipf",
        "zipf-theta" => "zipf-theta=0.5",
        "data" => "data=zero",
        "compressible-share" => "compressible-share=0.3",
        "rate" => "rate=100",
        "cpu-pinning" => "cpu-pinning=0",
        "huge-pages" => "huge-pages=false",
        "poll" => "poll=true",
        "fsync-in-time" => "fsync-in-time=false",
        "close-in-time" => "close-in-time=true",
        "fresh-file" => "fresh-file=true",
        _ => return None,
    })
}

/// A knob of the engine `file` that a tool has no way to obey is refused before anything runs, by
/// its name and with the engine that obeys it: at least eight of each tool.
#[test]
fn what_a_tool_cannot_obey_is_refused_by_name_on_every_tool() {
    for tool in TOOLS {
        let any = workload::WORKLOADS.iter().find(|it| it.engines.contains(&tool.kind.name));
        let any = any.unwrap_or_else(|| panic!("no workload runs on {}", tool.kind.name));
        let mut refused = 0;
        let of_files = KNOBS.iter().filter(|it| it.scope == Scope::Job && it.obeyed_by("file"));
        for knob in of_files.filter(|knob| !honours(tool).contains(&knob.name)) {
            let Some(typed) = away(knob.name) else { continue };
            let mut asked = plan::expand::of_workload(tool.kind.name, any);
            let why = asked.vary(&[typed.to_owned()]).expect_err(typed);
            assert!(why.why.contains(&format!("`{}`", knob.name)), "{}: {why}", tool.kind.name);
            assert!(why.why.contains(tool.kind.name) && why.hint.contains("file"), "{why}");
            refused += 1;
        }
        assert!(refused >= 8, "{} refuses {refused} knobs", tool.kind.name);
    }
}

/// A tool that is not there makes no other load run in its place.
#[test]
fn a_tool_that_is_not_installed_is_skipped_with_how_to_get_it_and_what_it_cannot_do_comes_first() {
    static NONE: ToolEngine = ToolEngine { program: "brickyard-no-such-tool", ..fio::FIO };
    let run = |typed: &[(&str, &str)]| {
        let (host, stop) = (Host::live(), host::sys::signal::Stop::new());
        let trial = Trial {
            number: 1,
            replicate: 1,
            group: "random-read".into(),
            settings: experiment::knob::testing::settings("fio", typed),
            first_file: 0,
            seed: 1,
            planned: None,
        };
        let mut context = Context {
            host: &host,
            work: &[],
            campaign: 1,
            written: &|_| None,
            progress: &mut |_| {},
            place: &|_| panic!("nothing is started"),
            stop: &stop,
        };
        NONE.run(&trial, &mut context)
    };
    let why = |typed: &[(&str, &str)]| match run(typed) {
        Err(Error::Unsupported(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(why(&[]).contains("not installed here: apt-get install fio"), "{}", why(&[]));
    assert!(why(&[("stop", "steady")]).contains("stop=steady"));
}
