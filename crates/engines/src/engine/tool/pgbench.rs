//! pgbench: a PostgreSQL server on the target, started and stopped by us.
//!
//! What the kernel counts is of the server and of pgbench together.

use std::path::Path;

use super::{Launch, ToolEngine, ToolInput, finish, spec};
use crate::engine::database::not_durable;
use crate::engine::database::reached::Commits;
use crate::engine::{Context, Engine, Error, Serve, command};
use base::value::Stop;
use experiment::knob::{self, EngineKind, Settings, engines};
use experiment::measurement::{Measurement, Note};
use experiment::plan::Trial;
use host::sys;

mod cluster;

use cluster::{Cluster, HERE};

/// What is launched; [`PgbenchEngine`] runs it.
pub const PGBENCH: ToolEngine = ToolEngine {
    kind: &engines::PGBENCH,
    importer: &importers::pgbench::PGBENCH,
    program: "pgbench",
    get: "apt-get install postgresql",
    asks_version: &["--version"],
    launch,
};

const SECOND_NS: u64 = 1_000_000_000;
/// Each client is a process of the server.
const CLIENTS_MAX: u64 = 1000;

/// pgbench with a server of its own.
#[derive(Debug)]
pub struct PgbenchEngine;

impl Engine for PgbenchEngine {
    fn kind(&self) -> &'static EngineKind {
        PGBENCH.kind
    }

    /// What cannot be honoured is skipped on its own: other trials of its plan can be run.
    fn check(&self, _: &Settings) -> Result<(), sys::Error> {
        Ok(())
    }

    fn worker(&self) -> Option<Serve> {
        Some(command::worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        let user = rustix::process::getuid().as_raw();
        let (settings, seed) = (&trial.settings, trial.seed);
        let ask = |places: &[String]| {
            let asked = ToolInput { settings, places, seed, user, memory_bytes: None, cpus: &[] };
            launch(&asked).map_err(Error::Unsupported)
        };
        let names: Vec<String> =
            context.work.iter().map(|work| work.to_string_lossy().into_owned()).collect();
        let launch = ask(&names)?;
        let cluster =
            Cluster::find(context.host, user, context.work).map_err(Error::Unsupported)?;
        let work = context.work.first().cloned().unwrap_or_default();
        let (scale, clients) = (settings.get(knob::SCALE), settings.get(knob::STREAMS));
        let mut words = Vec::new();
        let measured = command::measure(trial, context, &mut |places| {
            let launch = ask(places)?;
            let place = Path::new(places.first().map_or("/", String::as_str));
            let data = cluster.make(&work, place).map_err(Error::Failed)?;
            let copy = cluster.client(&launch.words, &data);
            words.clone_from(&copy.words);
            let mut whole = spec(&launch, places, settings);
            whole.copies = vec![copy];
            whole.prepare = cluster.prepare(&data, scale, clients);
            whole.server = Some(cluster.server(&data, clients));
            Ok(whole)
        })?;
        let mut measured = finish(&PGBENCH, measured, launch.notes, &words)?;
        let said = measured.reported.as_ref().and_then(|said| said.figure("transactions"));
        let count = said.map_or(0, |figure| figure.value as u64);
        // Commits that wait for the same flush share the page that they write.
        let commits = Commits { count, clients, bytes_each: 0 };
        measured.notes.extend(not_durable(context.host, &measured, commits));
        Ok(measured)
    }
}

fn launch(asked: &ToolInput<'_>) -> Result<Launch, String> {
    let settings = asked.settings;
    let seconds = match settings.stop() {
        Stop::After(ns) if ns > 0 && ns % SECOND_NS == 0 => ns / SECOND_NS,
        other => {
            return Err(format!(
                "pgbench runs for whole seconds; stop={other} needs a time such as stop=10s, or \
                 engine=database"
            ));
        }
    };
    asked.place("pgbench")?;
    let clients = settings.get(knob::STREAMS);
    if clients > CLIENTS_MAX {
        return Err(format!(
            "each client of pgbench is a process of the server, and streams={clients} are too \
             many; streams={CLIENTS_MAX} would work"
        ));
    }
    let scale = settings.get(knob::SCALE);
    let crowded = (clients > scale).then(|| {
        let text = format!(
            "{clients} clients book on {scale} branches, and wait for each other's rows: the rate \
             may be that of locks, not of the disk. scale={clients} gives each a branch."
        );
        Note::new("fewer-branches-than-clients", text)
    });
    // One thread a client, so that none waits for another inside pgbench. Its seed is 32 bits.
    let (clients, seconds) = (clients.to_string(), seconds.to_string());
    let seed = format!("--random-seed={}", asked.seed % 0x7fff_ffff);
    let words =
        ["pgbench", "-h", HERE, "-U", "postgres", "-c", &clients, "-j", &clients, "-T", &seconds];
    let words = words.into_iter().chain([seed.as_str(), "postgres"]).map(str::to_owned);
    let notes = crowded.into_iter().collect();
    Ok(Launch { words: words.collect(), notes, ..Launch::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::tool::testing::{launch, refused, words};

    #[test]
    fn what_pgbench_cannot_do_is_refused() {
        for stop in ["1500ms", "pass", "steady", "1GiB"] {
            let why = refused(&PGBENCH, &[("stop", stop)]);
            assert!(why.contains("whole seconds") && why.contains(stop), "{why}");
        }
        assert!(refused(&PGBENCH, &[("streams", "2000")]).contains("streams=1000"));
        let words = words(&PGBENCH, &[("streams", "4"), ("stop", "3s")], &["/a"]);
        assert_eq!(words[5..11], ["-c", "4", "-j", "4", "-T", "3"]);
        for (scale, notes) in [("3", 1), ("4", 0)] {
            let launch = launch(&PGBENCH, &[("streams", "4"), ("scale", scale)], &["/a"]);
            assert_eq!(launch.unwrap().notes.len(), notes, "{scale}");
        }
    }
}
