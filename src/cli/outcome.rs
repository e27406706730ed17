//! What every measuring command has in common: what it begins with, and what it ends with.

use std::process::ExitCode;

use super::{Common, STORE, cuts, damage, talk};
use crate::campaign::{Done, idle, new_uid};
use crate::retrieve::StoredSamples;
use base::value;
use engines::engine::{self, Engine};
use experiment::campaign::Campaign;
use experiment::measurement::again::run_again;
use experiment::measurement::integrity::{CORRUPT, UNREADABLE_DATA};
use experiment::measurement::{Outcome, Record};
use experiment::{knob, plan};
use facts::inventory::disk::Disk;
use facts::share::is_export;
use findings::analysis::power_cut::EARLIER;
use findings::report::{self, Input, screen, words};
use host::sys::output::Output;
use host::sys::{Error, Host, child, clock, signal};
use host::{bandwidth, inventory};
use store::Store;

/// What a measuring command asks for: the plan that is run, by which engine and where.
pub struct RunRequest {
    /// The plan's name.
    pub plan: String,
    /// What runs the trials.
    pub engine: &'static dyn Engine,
    /// Checked directories.
    pub directories: Vec<String>,
    /// Disks that layouts are made on; then the directories are not there yet.
    pub disks: Vec<Disk>,
    /// The seed, when the user gave one.
    pub seed: Option<u64>,
    /// Where the HTML report goes, if anywhere.
    pub report: Option<Output>,
    /// The plan as it is run; `None` for `evaluate`.
    pub plan_json: Option<String>,
}

/// A measuring command on its way.
pub struct Session {
    /// The machine.
    pub host: Host,
    /// Where results are kept.
    pub store: Store,
    /// What will be run.
    pub campaign: Campaign,
    /// What is asked for.
    pub kept: RunRequest,
    /// Who tells the user.
    pub talk: talk::Talk,
    machine: facts::inventory::Machine,
    targets: Vec<facts::inventory::Target>,
}

/// The engine of that name.
///
/// # Errors
/// When there is none; with the nearest.
pub fn engine(name: &str) -> Result<&'static dyn Engine, Error> {
    engine::find(name).ok_or_else(|| {
        let what = format!("cannot use the engine `{name}`");
        if let Some((why, hint)) = only_read(name) {
            return Error::new(what, why).hint(hint);
        }
        let names = || engine::ENGINES.iter().map(|engine| engine.name());
        let hint = knob::meant(name, names(), |near| format!("--engine {near}"))
            .unwrap_or_else(|| format!("choose one of {}", names().collect::<Vec<_>>().join(", ")));
        Error::new(what, "there is none of that name").hint(hint)
    })
}

/// Of a tool whose output is read and that is never launched: why it cannot be run, and what to
/// type instead.
pub fn only_read(name: &str) -> Option<(String, String)> {
    let importer = importers::find(name).filter(|_| engine::find(name).is_none())?;
    let why = format!("{name} is not run from here: what it prints is imported");
    let about = importer.about;
    let hint = format!("run it yourself, and bring what it prints: brickyard import FILE. {about}");
    Some((why, hint))
}

/// The directories to measure in, checked; this one when none was named.
///
/// # Errors
/// When one of them cannot be measured in.
pub fn directories(
    engine: &dyn Engine,
    named: &[String],
    check: impl Fn(&str) -> Result<String, Error>,
) -> Result<Vec<String>, Error> {
    if engine.kind().is_simulated() {
        let own = || vec![engine.name().to_owned()];
        return Ok(if named.is_empty() { own() } else { named.to_vec() });
    }
    let here = ["."].map(str::to_owned);
    let named = if named.is_empty() { &here[..] } else { named };
    let mut checked = Vec::new();
    for name in named {
        let real = check(name)?;
        if checked.contains(&real) {
            let what = format!("cannot measure in {name} twice");
            return Err(Error::new(what, format!("it is {real}, which is named already"))
                .hint("name each directory once"));
        }
        checked.push(real);
    }
    Ok(checked)
}

impl Session {
    /// Looks at the machine and opens the store; nothing is written into the directories yet.
    ///
    /// # Errors
    /// When the store cannot be used or a directory cannot be looked at.
    pub fn open(kept: RunRequest, common: &Common) -> Result<Session, Error> {
        let host = Host::live();
        let machine = inventory::machine(&host);
        let unreal = kept.engine.kind().is_simulated() || !kept.disks.is_empty();
        let real = if unreal { &[][..] } else { &kept.directories[..] };
        let local = real.iter().filter(|name| !is_export(name));
        let targets: Result<Vec<facts::inventory::Target>, Error> =
            local.map(|name| inventory::raw::target_of_place(&host, name)).collect();
        let targets = targets?;
        let store = Store::open(&common.store)?;
        let started_unix_ns = clock::unix_ns();
        let seed = kept.seed.unwrap_or(started_unix_ns ^ u64::from(std::process::id()) << 20);
        let mut campaign = Campaign {
            id: 0,
            uid: new_uid(seed),
            plan: kept.plan.clone(),
            engine: kept.engine.name().to_owned(),
            host: machine.hostname.clone().unwrap_or_else(|| "unknown".to_owned()),
            started_unix_ns,
            seed: plan::exact_in_json(seed),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            argv: std::env::args().collect(),
            inventory: described(&host, &machine, &targets, &kept),
            not_bought: Vec::new(),
            plan_json: kept.plan_json.clone(),
            prices: Default::default(),
            currency: String::new(),
            left_out: Default::default(),
        };
        let earlier = cuts::earlier(&store, &campaign.host, &targets);
        if !earlier.is_empty() {
            campaign.inventory[EARLIER] = serde_json::json!(earlier);
        }
        let talk = talk::Talk::new(common.quiet, common.plain);
        Ok(Session { host, store, campaign, kept, talk, machine, targets })
    }

    /// Available memory, bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.machine.memory_available_bytes.unwrap_or(0)
    }

    /// Says who else uses the machine; with `wait`, comes back when nobody does.
    pub fn look_for_others(&self, wait: bool, stop: &signal::Stop) {
        let disks: Vec<String> = self.targets.iter().flat_map(|it| it.disks.clone()).collect();
        idle::look(&self.host, &disks, stop, wait, |text| self.talk.say(text));
    }

    /// Measures what memory can do, for the report to hold figures against.
    pub fn measure_memory(&mut self, stop: &signal::Stop) {
        if !self.kept.engine.kind().is_simulated()
            && let Some(bandwidth) = bandwidth::once(&self.host, stop)
        {
            self.campaign.inventory["bandwidth"] = serde_json::json!(bandwidth);
        }
    }

    /// Says what will be measured, and on what.
    pub fn introduce(&self) {
        self.talk.say(&format!("brickyard {} on {}", self.campaign.version, self.machine));
        for target in &self.targets {
            self.talk.say(&format!("{target}"));
            if target.memory {
                self.talk.say(&format!(
                    "warning: {} is in memory: every figure is the memory's, none a disk's",
                    target.directory
                ));
            }
        }
        for disk in &self.kept.disks {
            let (named, node) = (&disk.named, disk.node.display());
            let bytes = value::bytes(disk.size_bytes as f64);
            self.talk.say(&format!("{named} ({node}, {bytes}): all that is on it is destroyed"));
        }
        self.talk.say(&format!("seed {}", self.campaign.seed));
    }

    /// Where the rest is, and how to run it again.
    fn ends(&self, done: &Done, common: &Common) -> Vec<String> {
        let store = match common.store.to_str() {
            Some(STORE) => String::new(),
            _ => format!(" --store {}", common.store.display()),
        };
        let id = done.campaign.id;
        let page = self.kept.report.as_ref().map(|it| format!("Report: {}", it.path().display()));
        let tables = format!("All tables: brickyard report {id} --format text{store}");
        let again = format!("Again: {}", words::repeat(&done.campaign, &done.records));
        page.into_iter().chain([tables, again]).collect()
    }

    /// Prints what came of it, draws the report, and gives the exit status.
    ///
    /// # Errors
    /// When the report cannot be written, or when nothing that was asked for could be measured.
    pub fn conclude(&self, done: Done, common: &Common) -> anyhow::Result<ExitCode> {
        self.talk.end();
        let samples = StoredSamples { store: &self.store, campaign: done.campaign.id };
        let input = Input::new(&done.campaign, &done.records).with(&samples);
        if let Some(report) = &self.kept.report {
            report.write(&html().bytes(&input)?)?;
            self.talk.say(&format!("report: {}", report.path().display()));
        }
        self.store.still_there()?;
        self.talk.say(&format!(
            "kept as campaign {} in {}",
            done.campaign.id,
            common.store.display()
        ));
        // The last that stands in a terminal is the answer.
        let ends = self.ends(&done, common);
        talk::bytes(&match common.json {
            true => json().bytes(&input)?,
            false => screen::render(&input, talk::size(), &ends).into_bytes(),
        })?;
        for one in corrupt(&done.records) {
            self.talk.say(&format!("warning: {one}"));
        }
        if !done.left.is_empty() {
            let left = match done.left.len() {
                1 => "1 setting of this machine is".to_owned(),
                many => format!("{many} settings of this machine are"),
            };
            self.talk.say(&format!("warning: {left} not back"));
            self.talk.say(&format!("hint: brickyard undo --store {}", common.store.display()));
        }
        for one in &done.left_at_peers {
            self.talk.say(&format!("warning: {one}"));
        }
        for one in &done.behind {
            self.talk.say(&format!("warning: {one}"));
        }
        if !done.behind.is_empty() {
            let hint = "once its disk answers again, the next run there removes it";
            self.talk.say(&format!("hint: {hint}; a load that was killed ends then by itself"));
            child::end_apart()?;
        }
        let damage = self.store.damage_of(done.campaign.id, false);
        match nothing_measured(&done) {
            Some(error) => Err(error.into()),
            None if done.interrupted => Ok(status(&done)),
            None => Ok(damage::told(&damage, &common.store, status(&done))),
        }
    }
}

/// What other programs read.
fn json() -> &'static report::Format {
    report::find("json").expect("the formats include json")
}

/// What the server is made of, as campaigns keep it.
fn described(
    host: &Host,
    machine: &facts::inventory::Machine,
    targets: &[facts::inventory::Target],
    kept: &RunRequest,
) -> serde_json::Value {
    let mut all = serde_json::json!({ "machine": machine, "targets": targets });
    // What a simulated server is made of is not what this machine is made of.
    if !kept.engine.kind().is_simulated() {
        all["server"] = serde_json::json!(inventory::server::server(host));
    }
    let disks = &kept.disks;
    if !disks.is_empty() {
        let disk = |disk: &Disk| {
            serde_json::json!({
                "named": disk.named,
                "name": disk.name,
                "size_bytes": disk.size_bytes,
                "known_as": disk.identity.known_as,
            })
        };
        all["disks"] = disks.iter().map(disk).collect();
    }
    all
}

/// What is drawn at the end.
pub fn html() -> &'static report::Format {
    report::find("html").expect("the formats include html")
}

/// The reasons that are told one by one; the rest are in the report.
const REASONS_MAX: usize = 3;

/// Why a campaign came to nothing: no trial that was asked for was done, and none failed (a failure
/// is a result). What only made ready for others does not count.
fn nothing_measured(done: &Done) -> Option<Error> {
    let asked = || done.records.iter().filter(|record| !record.trial.prepares());
    let came_to_something =
        |record: &Record| matches!(record.outcome, Outcome::Done(_) | Outcome::Failed(_));
    let failed = |record: &Record| matches!(record.outcome, Outcome::Failed(_));
    if done.interrupted || asked().any(came_to_something) || done.records.iter().any(failed) {
        return None;
    }
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for record in &done.records {
        let Outcome::Skipped(why) = &record.outcome else { continue };
        match reasons.iter_mut().find(|(reason, _)| *reason == why.as_str()) {
            Some((_, times)) => *times += 1,
            None => reasons.push((why, 1)),
        }
    }
    let mut told: Vec<String> = reasons
        .iter()
        .take(REASONS_MAX)
        .map(|(why, times)| format!("{times} skipped: {why}"))
        .collect();
    match (reasons.len(), asked().count()) {
        (0, 0) => told.push("the probe wrote nothing, so no trial could be planned".to_owned()),
        (0, _) => told.push("no trial ran".to_owned()),
        (all, _) if all > REASONS_MAX => told.push(format!("{} more reasons", all - REASONS_MAX)),
        _ => {}
    }
    let what = match asked().count() {
        0 => format!("cannot measure anything by `{}`", done.campaign.plan),
        1 => format!("cannot measure the one trial of `{}`", done.campaign.plan),
        trials => format!("cannot measure any of the {trials} trials of `{}`", done.campaign.plan),
    };
    Some(
        Error::new(what, told.join("; "))
            .hint("change the knobs that the reasons name; `brickyard list knobs` shows them all"),
    )
}

/// What came back wrong or not at all, of all trials: one line each.
fn corrupt(records: &[Record]) -> Vec<String> {
    let of = |record: &Record| {
        let notes = record.outcome.measurement().map_or(&[][..], |measured| &measured.notes);
        let bad = notes.iter().filter(|note| [CORRUPT, UNREADABLE_DATA].contains(&&*note.kind));
        let line = |text: &str| format!("trial {}: {text}", record.trial.number);
        bad.map(|note| line(&note.text)).collect::<Vec<_>>()
    };
    records.iter().flat_map(of).collect()
}

/// 130 when the user stopped it, 1 when a trial failed, data did not come back as it was written or
/// a setting is not back, else 0.
fn status(done: &Done) -> ExitCode {
    let again = run_again(&done.records);
    let failed = |record: &Record| {
        matches!(record.outcome, Outcome::Failed(_)) && !again.contains_key(&record.trial.number)
    };
    let corrupt = !corrupt(&done.records).is_empty();
    let left = !done.left.is_empty() || !done.left_at_peers.is_empty();
    if done.interrupted {
        ExitCode::from(130)
    } else if done.records.iter().any(failed) || corrupt || left {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::Settings;
    use experiment::measurement::{Measurement, Note};
    use experiment::plan::Trial;

    fn done(outcomes: Vec<(&str, Outcome)>) -> Done {
        let record = |(group, outcome): (&str, Outcome)| {
            let settings = Settings::defaults("file");
            let group = group.to_owned();
            let (number, replicate, first_file, seed) = (1, 1, 0, 1);
            let trial =
                Trial { number, replicate, group, settings, first_file, seed, planned: None };
            Record::new(trial, outcome)
        };
        let campaign = Campaign { plan: "random-read".into(), ..Campaign::default() };
        let records = outcomes.into_iter().map(record).collect();
        let (left, left_at_peers, behind) = (Vec::new(), Vec::new(), Vec::new());
        Done { campaign, records, interrupted: false, left, left_at_peers, behind }
    }

    fn skipped(why: &str) -> Outcome {
        Outcome::Skipped(why.to_owned())
    }

    /// `run random-read poll=true` on a disk without poll queues skipped every trial, printed a
    /// table of dashes and exited 0: a script took it for a measurement.
    #[test]
    fn a_campaign_whose_every_trial_was_skipped_could_not_be_done() {
        let measured = || Outcome::Done(Box::<Measurement>::default());
        let all = done(vec![
            ("layout", measured()),
            ("random-read", skipped("no poll queues")),
            ("random-read", skipped("no poll queues")),
            ("random-read", skipped("blocks of 512 are too small")),
        ]);
        let error = nothing_measured(&all).unwrap();
        assert!(error.what.contains("3 trials of `random-read`"), "{error}");
        assert!(error.why.contains("2 skipped: no poll queues"), "{error}");
        assert!(error.why.contains("1 skipped: blocks of 512"), "{error}");
        assert!(error.hint.is_some_and(|hint| hint.contains("list knobs")));

        // A probe that was skipped leaves nothing to plan; one that failed is a result, status 1.
        assert!(nothing_measured(&done(vec![("probe", skipped("no io_uring"))])).is_some());
        assert!(nothing_measured(&done(vec![])).is_some());
        let failed = || Outcome::Failed("Input/output error (os error 5)".into());
        assert!(nothing_measured(&done(vec![("probe", failed())])).is_none());
        for other in [measured(), failed()] {
            let some = done(vec![("random-read", skipped("x")), ("random-read", other)]);
            assert!(nothing_measured(&some).is_none());
        }
        let stopped = Done { interrupted: true, ..done(vec![("random-read", skipped("x"))]) };
        assert!(nothing_measured(&stopped).is_none(), "Ctrl-C has a status of its own");
    }

    /// A script that looks at the exit status alone must not take corrupt data for a measurement.
    #[test]
    fn data_that_did_not_come_back_is_told_and_makes_the_status_1() {
        let with = |kind: &str| {
            let mut measured = Measurement::default();
            measured.notes.push(Note::new(kind, "1 block"));
            done(vec![("read", Outcome::Done(Box::new(measured)))])
        };
        for kind in ["corrupt-data", "unreadable-data"] {
            let bad = with(kind);
            assert_eq!(corrupt(&bad.records), ["trial 1: 1 block"]);
            assert_eq!(format!("{:?}", status(&bad)), format!("{:?}", ExitCode::from(1)));
            let stopped = Done { interrupted: true, ..bad };
            assert_eq!(format!("{:?}", status(&stopped)), format!("{:?}", ExitCode::from(130)));
        }
        let other = with("not-steady");
        assert!(corrupt(&other.records).is_empty());
        assert_eq!(format!("{:?}", status(&other)), format!("{:?}", ExitCode::SUCCESS));
    }
}
