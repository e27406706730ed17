//! What holds of every engine: what it cannot do is refused by name, and never replaced.

use super::*;
use base::value::Domain;
use experiment::knob;
use experiment::plan::expand;
use experiment::workload::WORKLOADS;

/// Settings that name an engine which `knob` does not know would be of no engine.
#[test]
fn every_engine_can_be_named_by_settings() {
    let names = |of: &mut dyn Iterator<Item = &'static str>| of.collect::<Vec<_>>();
    let known = names(&mut knob::ENGINES.iter().map(|kind| kind.name));
    assert_eq!(names(&mut ENGINES.iter().map(|engine| engine.name())), known);
}

/// What an engine says to settings, without a file being touched: its refusal, if any.
fn asked(engine: &dyn Engine, settings: &Settings) -> Option<String> {
    let places = ["/a".to_owned()];
    let (seed, user, memory_bytes) = (7, 0, Some(64 << 30));
    let cpus = [0, 1];
    let asked =
        tool::ToolInput { settings, places: &places, seed, user, memory_bytes, cpus: &cpus };
    match tool::TOOLS.iter().find(|tool| tool.name() == engine.name()) {
        Some(tool) => (tool.launch)(&asked).err(),
        None => engine.check(settings).err().map(|error| error.to_string()),
    }
}

/// A person who asks an engine for an operation that it has not must not get another one's figure:
/// by whatever knob operations are told apart, a word of it is either obeyed, or refused by its
/// name and the engine's.
#[test]
fn every_operation_that_an_engine_cannot_do_is_refused_by_name() {
    for engine in ENGINES {
        let name = engine.name();
        let any = WORKLOADS.iter().find(|workload| workload.engines.contains(&name));
        let any = any.unwrap_or_else(|| panic!("no workload runs on {name}"));
        let (mut done, mut refused) = (0, 0);
        for knob in ["access", "operation", "io-engine"] {
            let Domain::OneOf(words) = knob::find(knob).unwrap().domain else { panic!("{knob}") };
            for word in words {
                let mut plan = expand::of_workload(name, any);
                if let Err(why) = plan.vary(&[format!("{knob}={word}")]) {
                    let told = why.why.contains(&format!("`{knob}`")) && why.why.contains(name);
                    assert!(told && !why.hint.is_empty(), "{name} {knob}={word}: {why:?}");
                    assert!(!knob::find(knob).unwrap().obeyed_by(name));
                    refused += 1;
                    continue;
                }
                let cell = plan.cells().next().expect("a workload has a cell");
                match asked(*engine, &plan.settings(&cell)) {
                    None => done += 1,
                    Some(why) => {
                        assert!(why.contains(word), "{name} {knob}={word}: {why}");
                        refused += 1;
                    }
                }
            }
        }
        assert!(done + refused >= 26 && refused >= 8, "{name} does {done}, refuses {refused}");
    }
}

/// SIGQUIT to all processes of a run reached one that was just being put into its control group:
/// the group did not have it, the trial was *skipped*, and a resumed campaign never ran it.
#[test]
fn a_load_that_is_ended_before_it_begins_is_no_reason_to_skip_its_trial() {
    let put = |stop: &Stop| {
        let lost = |_| Err(sys::Error::new("cannot put it there", "it is not there"));
        let mut progress = |_| {};
        let context = Context {
            place: &lost,
            host: &Host::at("/nonexistent"),
            work: &[],
            campaign: 1,
            written: &|_| None,
            progress: &mut progress,
            stop,
        };
        // This program with a test of that name, which there is not: it ends at once.
        context.put(&mut Worker::start(&["no-such-worker"]).unwrap()).unwrap_err()
    };
    let stop = Stop::new();
    assert!(matches!(put(&stop), Error::Failed(why) if why.contains("before it began")));
    stop.ask();
    assert_eq!(put(&stop), Error::Interrupted);
}
