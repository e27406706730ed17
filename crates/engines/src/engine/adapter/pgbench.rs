//! pgbench: a PostgreSQL server on the target, started and stopped by us, and pgbench's text.
//!
//! Its rates are transactions per second without the time of connecting. What the kernel counts is
//! of the server and of pgbench together.

use std::path::Path;

use serde_json::Map;

use super::{Adapter, Asked, Launch, Said, finish, spec};
use crate::engine::database::not_durable;
use crate::engine::database::reached::Commits;
use crate::engine::{Context, Engine, Error, Serve, command};
use base::value::Stop;
use experiment::knob::{self, EngineKind, Settings};
use experiment::measurement::{Measurement, Note};
use experiment::plan::Trial;
use host::sys;

mod cluster;

use cluster::{Cluster, HERE};

pub const PGBENCH: Adapter = Adapter {
    name: "pgbench",
    program: "pgbench",
    get: "apt-get install postgresql",
    asks_version: &["--version"],
    launch,
    parse,
    knows,
};

const SECOND_NS: u64 = 1_000_000_000;
/// Each client is a process of the server.
const CLIENTS_MAX: u64 = 1000;

/// pgbench with a server of its own.
#[derive(Debug)]
pub struct Served(pub &'static EngineKind, pub &'static Adapter);

impl Engine for Served {
    fn kind(&self) -> &'static EngineKind {
        self.0
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
            let asked = Asked { settings, places, seed, user, memory_bytes: None, cpus: &[] };
            (self.1.launch)(&asked).map_err(Error::Unsupported)
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
        let mut measured = finish(self.1, measured, launch.notes, &words)?;
        let said = measured.reported.as_ref().and_then(|said| said.figure("transactions"));
        let count = said.map_or(0, |figure| figure.value as u64);
        // Commits that wait for the same flush share the page that they write.
        let commits = Commits { count, clients, bytes_each: 0 };
        measured.notes.extend(not_durable(context.host, &measured, commits));
        Ok(measured)
    }
}

fn launch(asked: &Asked<'_>) -> Result<Launch, String> {
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

fn knows(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("pgbench (") || line.starts_with("transaction type: "))
}

/// (pure) One result for each run, which is whole when its last `tps` line is: that follows all
/// others. Up to PostgreSQL 13 there are two, with the time of connecting in it and without.
fn parse(text: &str) -> Result<Vec<Said>, String> {
    let mut all = Vec::new();
    let mut said: Option<Said> = None;
    let mut version = String::new();
    let mut connecting: Option<f64> = None;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n').map(str::trim_end) else { continue };
        if let Some(rest) = line.strip_prefix("pgbench (") {
            version = rest.split([' ', ')']).next().unwrap_or_default().to_owned();
        } else if let Some(script) = line.strip_prefix("transaction type: ") {
            if said.is_some() {
                return Err("a run of it has no tps line".to_owned());
            }
            let (version, title) = (std::mem::take(&mut version), script.to_owned());
            said = Some(Said { version, title, settings: Map::new(), ..Said::default() });
            connecting = None;
        } else if let Some(one) = &mut said {
            match line.strip_prefix("tps = ").and_then(|rest| rest.split_once(' ')) {
                Some((rate, "(including connections establishing)")) => {
                    connecting = Some(number(rate, line)?);
                }
                Some((_, "(including reconnection times)")) => return Err(RECONNECTS.to_owned()),
                Some((rate, WITHOUT | WITHOUT_UP_TO_13)) => {
                    let tps = number(rate, line)?;
                    if connecting.is_some_and(|slower| slower > tps) {
                        return Err("its tps with connecting is above that without".to_owned());
                    }
                    one.add("transactions_per_s", tps, format!("{rate} tps"));
                    all.extend(said.take());
                }
                Some(_) => return Err(format!("`{line}` is no rate that is known")),
                None => sum(one, line)?,
            }
        }
    }
    match (said, all.is_empty()) {
        (Some(_), _) => Err("it was cut short: a run of it has no tps line".to_owned()),
        (None, true) => Err("there is no run of pgbench in it".to_owned()),
        (None, false) => Ok(all),
    }
}

/// What stands behind the rate that we take, and what did up to PostgreSQL 13.
const WITHOUT: &str = "(without initial connection time)";
const WITHOUT_UP_TO_13: &str = "(excluding connections establishing)";
const RECONNECTS: &str = "each of its transactions connects anew (pgbench -C), and its rate is of \
                          both; run it without -C";

fn number(word: &str, line: &str) -> Result<f64, String> {
    let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| format!("`{line}` in its output has no number"))
}

/// Lines of sums: how they begin, the figure's name, and what makes our unit of theirs. Up to
/// PostgreSQL 9.6 waits have a colon.
const LINES: [(&str, &str, f64, &str); 7] = [
    ("latency average = ", "latency_ns_mean", 1e6, "ms"),
    ("latency average: ", "latency_ns_mean", 1e6, "ms"),
    ("latency stddev = ", "latency_ns_stddev", 1e6, "ms"),
    ("latency stddev: ", "latency_ns_stddev", 1e6, "ms"),
    ("initial connection time = ", "initial_connection_ms", 1.0, "ms"),
    ("number of transactions actually processed: ", "transactions", 1.0, ""),
    ("number of failed transactions: ", "failed_transactions", 1.0, ""),
];

fn sum(said: &mut Said, line: &str) -> Result<(), String> {
    if let Some(clients) = line.strip_prefix("number of clients: ")
        && let Ok(clients) = clients.parse::<u64>()
    {
        said.settings.insert("streams".to_owned(), clients.into());
    }
    let found = LINES.iter().find_map(|(begin, name, factor, unit)| {
        Some((line.strip_prefix(begin)?, *name, *factor, *unit))
    });
    let Some((rest, name, factor, unit)) = found else { return Ok(()) };
    let word = rest.split([' ', '/']).next().unwrap_or_default();
    said.add(name, number(word, line)? * factor, format!("{word} {unit}").trim_end());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::adapter::testing::{figure, launch, refused, words};

    const TIME: &str = include_str!("../../../../../tests/fixtures/tools/pgbench-15.18-time.txt");
    const COUNT: &str =
        include_str!("../../../../../tests/fixtures/tools/pgbench-15.18-transactions.txt");
    const OLD: &str = include_str!("../../../../../tests/fixtures/tools/pgbench-13-time.txt");

    #[test]
    fn transactions_and_their_mean_wait_are_read() {
        let said = &parse(TIME).unwrap()[0];
        assert_eq!(said.version, "15.18");
        assert_eq!(figure(said, "transactions_per_s"), Some(495.757652));
        assert_eq!(figure(said, "latency_ns_mean"), Some(4_034_000.0));
        assert_eq!(figure(said, "failed_transactions"), Some(0.0));
        assert_eq!(said.settings["streams"], 2);
        let count = &parse(COUNT).unwrap()[0];
        assert_eq!(figure(count, "transactions"), Some(50.0));
        assert_eq!(parse(&format!("{TIME}{COUNT}")).unwrap().len(), 2);
    }

    #[test]
    fn a_run_without_its_end_is_no_result() {
        let end = TIME.find("tps = ").unwrap();
        assert!(parse(&TIME[..end + 8]).unwrap_err().contains("cut short"));
        assert!(parse(&format!("{}{COUNT}", &TIME[..end])).unwrap_err().contains("no tps line"));
        assert!(parse(&TIME.replace("tps = 4", "tps = x")).unwrap_err().contains("no number"));
    }

    /// Up to PostgreSQL 13 a run ends with two rates: "it was cut short: a run of it has no tps
    /// line".
    #[test]
    fn of_two_rates_the_one_without_connecting_is_taken() {
        let all = parse(OLD).unwrap();
        let said = &all[0];
        assert_eq!(figure(said, "transactions_per_s"), Some(13.062579));
        assert_eq!(figure(said, "latency_ns_mean"), Some(1108.418 * 1e6));
        assert_eq!(figure(said, "latency_ns_stddev"), Some(760.944 * 1e6));
        assert_eq!(figure(said, "transactions"), Some(77.0));
        assert_eq!(said.settings["streams"], 16);
        assert_eq!(PGBENCH.read(OLD).unwrap(), all);
        // Since PostgreSQL 10 waits have an equals sign.
        let newer = OLD.replace("latency average: ", "latency average = ");
        assert_eq!(parse(&newer).unwrap(), all);
        let one = OLD.replace("tps = 13.062579 (excluding connections establishing)\n", "");
        assert!(parse(&one).unwrap_err().contains("no tps line"));
        let turned = OLD.replace("12.580114", "13.580114");
        assert!(parse(&turned).unwrap_err().contains("above that without"));
        let anew = TIME.replace("without initial connection time", "including reconnection times");
        assert!(parse(&anew).unwrap_err().contains("without -C"));
        let other = TIME.replace("without initial", "with initial");
        assert!(parse(&other).unwrap_err().contains("no rate that is known"));
    }

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
