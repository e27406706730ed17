//! What holds of every adapter: parsers of whatever text, and refusals by name.

#![expect(clippy::disallowed_methods, reason = "reads fixtures")]

use std::collections::BTreeSet;

use super::*;
use crate::engine::ENGINES;
use base::stats::testing::Random;
use experiment::knob::{EngineKind, KNOBS, Scope};
use experiment::{plan, workload};
use host::sys::Host;

/// The knobs that a tool obeys.
fn honours(name: &str) -> Vec<&'static str> {
    let obeyed = EngineKind::named(name).unwrap().obeyed();
    obeyed.filter(|knob| knob.scope == Scope::Job).map(|knob| knob.name).collect()
}

/// Recorded outputs, each with the tool that its name begins with.
fn fixtures() -> Vec<(&'static Adapter, String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/tools");
    let mut found: Vec<_> = std::fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
    found.sort_by_key(std::fs::DirEntry::file_name);
    let read = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        let of = ADAPTERS.iter().find(|adapter| name.starts_with(&format!("{}-", adapter.name)));
        let adapter = of.unwrap_or_else(|| panic!("{name} is of no tool"));
        (*adapter, name, std::fs::read_to_string(entry.path()).unwrap())
    };
    found.into_iter().map(read).collect()
}

#[test]
fn every_adapter_is_an_engine_with_knobs_and_a_recorded_output_that_only_it_knows() {
    let fixtures = fixtures();
    for adapter in ADAPTERS {
        let engine = ENGINES.iter().find(|engine| engine.name() == adapter.name);
        assert!(engine.is_some_and(|engine| engine.kind().makes_its_files()), "{}", adapter.name);
        assert!(!honours(adapter.name).is_empty(), "{}", adapter.name);
        assert!(fixtures.iter().any(|(of, ..)| of.name == adapter.name), "{}", adapter.name);
    }
    for (adapter, name, text) in &fixtures {
        assert_eq!(recognise(text).map(|it| it.name), Ok(adapter.name), "{name}");
        for of in ADAPTERS.iter().filter(|of| of.name != adapter.name) {
            assert!((of.parse)(text).is_err(), "{} read {name}", of.name);
        }
        // Nothing of the place where it was recorded.
        for word in ["/tmp/", "/root/", "/home/", "/peers"] {
            assert!(!text.contains(word), "{name} has {word}");
        }
    }
    assert!(recognise("elephant\n").is_err());
}

#[test]
fn every_figure_has_a_name_that_no_figure_of_ours_has_and_a_printed_form() {
    for (adapter, name, text) in fixtures() {
        let Ok(all) = (adapter.parse)(&text) else {
            assert!(name.contains("refused"), "{name} cannot be read");
            continue;
        };
        for said in all {
            assert!(!said.figures.is_empty(), "{name}");
            let mut seen = BTreeSet::new();
            for figure in &said.figures {
                assert!(seen.insert(figure.name.clone()), "{name}: {} twice", figure.name);
                assert!(figure.value.is_finite() && !figure.printed.is_empty(), "{figure:?}");
            }
            let known: Vec<&str> = KNOBS.iter().map(|knob| knob.name).collect();
            assert!(said.settings.keys().all(|key| known.contains(&key.as_str())), "{name}");
            let told = Settings::from_json(adapter.name, &Json::Object(said.settings.clone()));
            assert_eq!(told.iter().count(), said.settings.len(), "{name}: {:?}", said.settings);
        }
    }
}

/// A fixture cut at every byte gives an error, or the complete results before the cut.
#[test]
fn no_cut_of_an_output_panics_or_yields_a_figure_that_the_whole_has_not() {
    for (adapter, name, text) in fixtures() {
        let whole = (adapter.parse)(&text).unwrap_or_default();
        for end in 0..text.len() {
            let cut = String::from_utf8_lossy(&text.as_bytes()[..end]);
            if let Ok(some) = (adapter.parse)(&cut) {
                assert!(whole.starts_with(&some), "{name} cut at {end}: {some:?}");
            }
        }
    }
}

/// What may stand in place of a number.
const WORDS: [&str; 12] = [
    "-1",
    "1e400",
    "-1e400",
    "NaN",
    "inf",
    "0x10",
    "",
    "18446744073709551616",
    "99999999999999999999g",
    "+++++",
    "\u{fffd}",
    "\n{\n",
];

fn broken(text: &str, random: &mut Random) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let below = |random: &mut Random, many: usize| {
        ((random.uniform() * many as f64) as usize).min(many.saturating_sub(1))
    };
    for _ in 0..=below(random, 4) {
        let at = below(random, bytes.len());
        match below(random, 5) {
            0 => bytes.truncate(at),
            1 => bytes[at] = below(random, 256) as u8,
            2 => {
                let end = (at + below(random, 200)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let end = (at + below(random, 400)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let is_number = |byte: &u8| byte.is_ascii_digit();
                let Some(from) = bytes[at..].iter().position(is_number) else { continue };
                let from = at + from;
                let long = bytes[from..].iter().take_while(|byte| is_number(byte)).count();
                let word = WORDS[below(random, WORDS.len())].bytes();
                bytes.splice(from..from + long, word);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn no_broken_output_panics_or_yields_a_figure_that_is_none() {
    const ROUNDS: usize = 300;
    let mut random = Random::new(20_261_122);
    for (adapter, name, text) in fixtures() {
        for round in 0..ROUNDS {
            let text = broken(&text, &mut random);
            let _ = recognise(&text);
            for said in (adapter.parse)(&text).unwrap_or_default() {
                for figure in &said.figures {
                    assert!(figure.value.is_finite(), "{name}, round {round}: {figure:?}");
                }
                let _ = Settings::from_json(adapter.name, &Json::Object(said.settings));
            }
        }
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
    for adapter in ADAPTERS {
        let any = workload::WORKLOADS.iter().find(|it| it.engines.contains(&adapter.name));
        let any = any.unwrap_or_else(|| panic!("no workload runs on {}", adapter.name));
        let mut refused = 0;
        let of_files = KNOBS.iter().filter(|it| it.scope == Scope::Job && it.obeyed_by("file"));
        for knob in of_files.filter(|knob| !honours(adapter.name).contains(&knob.name)) {
            let Some(typed) = away(knob.name) else { continue };
            let mut asked = plan::expand::of_workload(adapter.name, any);
            let why = asked.vary(&[typed.to_owned()]).expect_err(typed);
            assert!(why.why.contains(&format!("`{}`", knob.name)), "{}: {why}", adapter.name);
            assert!(why.why.contains(adapter.name) && why.hint.contains("file"), "{why}");
            refused += 1;
        }
        assert!(refused >= 8, "{} refuses {refused} knobs", adapter.name);
    }
}

/// A tool that is not there makes no other load run in its place.
#[test]
fn a_tool_that_is_not_installed_is_skipped_with_how_to_get_it_and_what_it_cannot_do_comes_first() {
    static NONE: Adapter = Adapter { program: "brickyard-no-such-tool", ..fio::FIO };
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
        Tool(&engines::FIO, &NONE).run(&trial, &mut context)
    };
    let why = |typed: &[(&str, &str)]| match run(typed) {
        Err(Error::Unsupported(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(why(&[]).contains("not installed here: apt-get install fio"), "{}", why(&[]));
    assert!(why(&[("stop", "steady")]).contains("stop=steady"));
}
