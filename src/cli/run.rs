//! `brickyard run`: a plan, from its first trial or from where it was stopped.

use std::path::PathBuf;
use std::process::ExitCode;

use super::labels::PlanSetups;
use super::outcome::{self, RunRequest, Session};
use super::outputs::{self, Force, Inputs};
use super::planned::{self, Planned};
use super::{Common, needs, talk};
use crate::campaign::apply::preview;
use crate::campaign::provisioning::{self, Provisioner};
use crate::campaign::{Run, limits, prefill::check_space};
use crate::campaign::{peer, room, shares};
use experiment::campaign::Campaign;
use experiment::knob::Settings;
use experiment::measurement::Note;
use experiment::plan::design::Plan;
use experiment::plan::labels::Setup;
use experiment::plan::refused::Refused;
use facts::bare::is_device;
use findings::report::words;
use host::journal;
use host::sys::output::Output;
use host::sys::{Error, Host, signal, suspend};
use store::{Elsewhere, RerunSelection, Running, Unfinished};

/// The arguments of `brickyard run`.
#[derive(clap::Args, Clone, Debug)]
pub struct RunArguments {
    #[command(flatten)]
    planned: planned::PlannedArguments,
    /// Go on with the newest campaign of this plan in the store where it was stopped
    #[arg(long)]
    resume: bool,
    /// With --resume: runs those again that failed, or were skipped, or trials by their numbers
    ///
    /// What was kept of them stays; the later trial counts. Several: --again failed,3,7
    #[arg(long, value_name = "WHICH", value_delimiter = ',')]
    again: Vec<RerunSelection>,
    /// Which card, slot ... is set up, where the plan varies what only a person can change
    ///
    /// The trials of that set-up are run; then the run stops and says what to change. Again for
    /// each label
    #[arg(long, value_name = "NAME=LEVEL")]
    label: Vec<String>,
    /// Print what would be changed on this machine, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Confirms that the disk of this serial number may be destroyed; again for each of the plan's
    #[arg(long, value_name = "SERIAL")]
    wipe: Vec<String>,
    /// Draws the HTML report into FILE as well
    #[arg(long = "output", short = 'o', alias = "report", value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

impl RunArguments {
    /// The same, with one more level.
    pub fn with(&self, level: String) -> RunArguments {
        let mut more = self.clone();
        more.planned.levels.push(level);
        more
    }
}

/// Runs a plan.
pub fn run(arguments: &RunArguments, common: &Common) -> anyhow::Result<ExitCode> {
    check_again(arguments)?;
    let planned = planned::resolve(&arguments.planned)?;
    let labels = PlanSetups::from_arguments(&planned.plan, &arguments.label)?;
    let report = report(arguments, &planned, common)?;
    // What this run needs must not lie on a disk that it destroys.
    let mut needed = vec![std::path::absolute(&common.store)?];
    needed.extend(std::env::current_exe().ok());
    if let Some(dry) = look(arguments, &planned, &labels.there, &needed, common)? {
        return Ok(dry);
    }
    let Planned { plan, engine, disks } = planned;
    let kept = RunRequest {
        plan: plan.name.clone(),
        engine,
        directories: plan.directories.clone(),
        disks,
        seed: plan.seed,
        report,
        plan_json: Some(plan.identity()),
    };
    let stop = signal::stop()?;
    suspend::together()?;
    let mut session = Session::open(kept, common)?;
    keep_of_plan(&mut session.campaign, &plan);
    let (unfinished, _running) = going_on(arguments, &mut session, common)?;
    session.introduce();
    let lacking = tell_of_what_is_not_there(&session, &plan);
    session.talk.tell_apart_by(plan.varying());
    labels.begin(&session, &plan, unfinished.as_ref())?;
    let note = unfinished.as_ref().and_then(|unfinished| labels.note(&session, unfinished));
    let done = {
        let Session { host, store, campaign, kept, talk, .. } = &mut session;
        let (campaign, seed) = (campaign.clone(), campaign.seed);
        let disks = kept.disks.clone();
        let made = engine.kind().is_simulated() || !disks.is_empty();
        let work = if made { &[][..] } else { &kept.directories[..] };
        let provisioner = match disks.is_empty() {
            true => None,
            false => {
                let wipe = &arguments.wipe;
                Some(Provisioner::claim(host, &common.store, disks, wipe, &needed, talk)?)
            }
        };
        let mut run = match unfinished {
            None => Run::begin(host, store, campaign, engine, work, talk, &stop)?,
            Some(unfinished) => {
                talk.say(&format!(
                    "goes on with campaign {}: {} of {} over",
                    unfinished.campaign.id,
                    unfinished.over.len(),
                    match plan.trials(seed).count() {
                        1 => "1 trial is".to_owned(),
                        many => format!("{many} trials are"),
                    }
                ));
                Run::go_on(host, store, unfinished, engine, work, talk, &stop)?
            }
        };
        if let Some(provisioner) = provisioner {
            run.on_disks(provisioner);
        }
        note.into_iter().chain(lacking).for_each(|note| run.note_next(note));
        let result = run.trials(plan.trials(seed).filter(|t| labels.there.holds(&t.settings)));
        let done = run.finish();
        result?;
        done?
    };
    let status = session.conclude(done, common)?;
    labels.end(&session, &plan)?;
    Ok(status)
}

/// What a campaign keeps of its plan besides what was run.
fn keep_of_plan(campaign: &mut Campaign, plan: &Plan) {
    campaign.engine = plan.engine.clone();
    campaign.prices = plan.prices.clone();
    campaign.currency = plan.currency.clone();
    campaign.left_out = plan.left_out();
}

/// Says which cells are left out and what cannot be told here; gives the latter for the records.
fn tell_of_what_is_not_there(session: &Session, plan: &Plan) -> Option<Note> {
    for line in words::left_out(&session.campaign.left_out) {
        session.talk.say(&line);
    }
    let lacking = needs::lacking(&session.host, plan, &session.kept.disks);
    if let Some(note) = &lacking {
        session.talk.say(&format!("warning: {}", note.text));
    }
    lacking
}

/// Refuses to run some trials again where all are run.
fn check_again(arguments: &RunArguments) -> Result<(), Error> {
    if arguments.again.is_empty() || arguments.resume {
        return Ok(());
    }
    let why = "without --resume everything is run, as a new campaign";
    Err(Error::new("cannot run some trials again", why)
        .hint("brickyard run PLAN --resume --again failed"))
}

/// Where the report goes, decided before anything is measured.
fn report(
    arguments: &RunArguments,
    planned: &Planned,
    common: &Common,
) -> Result<Option<Output>, Error> {
    let inputs = Inputs::of_run(planned, arguments.planned.plan.as_deref(), &common.store)?;
    let report = arguments.report.as_deref().map(|path| {
        inputs.output(path, "--output", outputs::report(outcome::html()), arguments.force)
    });
    report.transpose()
}

/// Looks at everything that would fail later, and prints what would be changed when no more than
/// that was asked for.
fn look(
    arguments: &RunArguments,
    planned: &Planned,
    there: &Setup,
    needed: &[PathBuf],
    common: &Common,
) -> anyhow::Result<Option<ExitCode>> {
    let Planned { plan, engine, disks } = planned;
    let cells = || plan.cells().map(|cell| plan.settings(&cell));
    let cells = || cells().filter(|settings| there.holds(settings));
    let numbered = plan.cells().map(|cell| (cell.load, plan.settings(&cell)));
    planned::check_all(numbered.filter(|(_, settings)| there.holds(settings)))?;
    let host = Host::live();
    needs::check(&host, plan, disks)?;
    cells().try_for_each(|settings| shares::check(&settings))?;
    if engine.kind().is_simulated() {
        return arguments.dry_run.then(|| dry_run(&Dry::default(), common)).transpose();
    }
    let all: Vec<Settings> = cells().collect();
    if disks.is_empty() {
        check_space(all.iter().map(|settings| (settings, 0)))?;
    }
    for warning in limits::check(&host, all.iter())? {
        if !common.quiet {
            talk::line(&format!("warning: {warning}"));
        }
    }
    let targets = planned::targets(&host, plan, all.iter())?;
    if arguments.dry_run {
        for line in words::left_out(&plan.left_out()).iter().filter(|_| !common.quiet) {
            talk::line(line);
        }
        let mut writes = preview::writes(&host, all.iter(), &targets)?;
        writes.splice(..0, shares::lines(all.iter()));
        let opened = room::lines(&host, &plan.directories)?;
        let at_peers = peer::lines(all.iter());
        if disks.is_empty() {
            let mut made = plan.directories.clone();
            made.retain(|place| !is_device(place));
            return dry_run(&Dry { opened, writes, at_peers, made }, common).map(Some);
        }
        let layouts = provisioning::preview::Preview::for_plan(&host, plan, disks);
        writes.splice(..0, layouts.lines());
        writes.extend(provisioning::preview::later(all.iter()));
        let shown = dry_run(&Dry { writes, at_peers, ..Dry::default() }, common)?;
        // Nothing is in front of a real run that this does not tell.
        if !journal::beside(&common.store).exists() {
            provisioning::check(&host, disks, &arguments.wipe, needed)?;
        }
        return Ok(Some(shown));
    }
    preview::check(&host, all.iter(), &targets)?;
    // What a killed run has left is undone first; until then its own mounts are in the way.
    if !journal::beside(&common.store).exists() {
        provisioning::check(&host, disks, &arguments.wipe, needed)?;
    }
    needs::reach(all.iter())?;
    peer::check(all.iter())?;
    Ok(None)
}

/// The campaign to go on with, without the trials of it that are to be run again; and that nobody
/// else runs what is run here.
fn going_on(
    arguments: &RunArguments,
    session: &mut Session,
    common: &Common,
) -> anyhow::Result<(Option<Unfinished>, Running)> {
    let (mut found, running) = held(arguments.resume, session, common)?;
    if let Some(unfinished) = &mut found {
        if !arguments.again.is_empty() {
            again(session, unfinished, &arguments.again)?;
        }
        session.campaign.seed = unfinished.campaign.seed;
        session.campaign.id = unfinished.campaign.id;
    }
    Ok((found, running))
}

/// The campaign to go on with, if that was asked for; and that nobody else runs what is run here.
fn held(
    resume: bool,
    session: &Session,
    common: &Common,
) -> anyhow::Result<(Option<Unfinished>, Running)> {
    loop {
        let found = if resume { Some(unfinished(session, common)?) } else { None };
        let campaign = found.as_ref().map_or(&session.campaign, |found| &found.campaign);
        let running = match session.store.run_alone(&campaign.uid)? {
            Ok(running) => running,
            Err(elsewhere) => return Err(runs_elsewhere(session, campaign, &elsewhere).into()),
        };
        // It may have been run on, or another one begun, before it was ours.
        let now = if resume { Some(unfinished(session, common)?) } else { None };
        let uid = |of: &Option<Unfinished>| of.as_ref().map(|it| it.campaign.uid.clone());
        if uid(&now) == uid(&found) {
            return Ok((now, running));
        }
    }
}

/// Somebody else runs it: who, where, since when.
fn runs_elsewhere(session: &Session, campaign: &Campaign, who: &Elsewhere) -> Error {
    let what = format!("cannot resume `{}`", session.kept.plan);
    let (Some(pid), host) = (who.pid, &who.host) else {
        let why = format!("another process runs campaign {}", campaign.id);
        return Error::new(what, why).hint("wait until it has ended, then type this again");
    };
    let since = words::date(who.since_unix_ns);
    let why = format!("process {pid} on {host} runs campaign {} since {since}", campaign.id);
    let hint = format!(
        "wait until it has ended, or stop it with Ctrl-C there or `kill {pid}` on {host}; then \
         type this again"
    );
    Error::new(what, why).hint(hint)
}

/// The campaign to go on with.
fn unfinished(session: &Session, common: &Common) -> anyhow::Result<Unfinished> {
    let kept = &session.kept;
    let identity = kept.plan_json.as_deref().unwrap_or_default();
    let Some(unfinished) = session.store.unfinished(identity)? else {
        let why = format!(
            "{} holds no campaign of it with the same knobs, directories and engine",
            common.store.display()
        );
        return Err(Error::new(format!("cannot resume `{}`", kept.plan), why)
            .hint("leave --resume out to begin it, or name its store with --store FILE")
            .into());
    };
    let begun = unfinished.campaign.seed;
    if let Some(seed) = kept.seed.filter(|seed| *seed != begun) {
        return Err(Refused {
            why: format!("campaign {} has the seed {begun}, not {seed}", unfinished.campaign.id),
            hint: "leave --seed out: what goes on keeps its order".to_owned(),
        }
        .into());
    }
    Ok(unfinished)
}

/// Says which trials are run again.
fn again(session: &Session, from: &mut Unfinished, which: &[RerunSelection]) -> Result<(), Error> {
    let numbers = session.store.again(from, which)?;
    let told: Vec<String> = numbers.iter().map(u32::to_string).collect();
    session.talk.say(&match told.len() {
        0 => "no trial is to be run again".to_owned(),
        1 => format!("runs trial {} again", told[0]),
        _ => format!("runs trials {} again", told.join(", ")),
    });
    Ok(())
}

/// What a run would do to machines, a line each.
#[derive(Default)]
struct Dry {
    /// What it would open to read.
    opened: Vec<String>,
    /// What it would write on this machine.
    writes: Vec<String>,
    /// What it would have others set on theirs.
    at_peers: Vec<String>,
    /// Directories in which it would make files.
    made: Vec<String>,
}

/// Prints what a run would open to read it, and what it would change.
fn dry_run(dry: &Dry, common: &Common) -> anyhow::Result<ExitCode> {
    let Dry { opened, writes, at_peers, made } = dry;
    if common.json {
        let mut document = serde_json::json!({ "directories": made, "writes": writes });
        if !opened.is_empty() {
            document["reads"] = serde_json::json!(opened);
        }
        if !at_peers.is_empty() {
            document["settings_at_peer"] = serde_json::json!(at_peers);
        }
        talk::data(&serde_json::to_string_pretty(&document)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text: Vec<String> = Vec::new();
    for name in made {
        text.push(format!("make {name}/brickyard-*, fill it with files, remove it at the end"));
    }
    text.extend_from_slice(opened);
    text.extend_from_slice(writes);
    if !writes.is_empty() {
        let journal = journal::beside(&common.store);
        text.push(format!("note each in {} before, and put it back at the end", journal.display()));
    }
    text.extend_from_slice(at_peers);
    talk::data(&text.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::cli::Cli;

    /// A seed above 2^53 was cut to 53 bits without a word: the campaign that it should have
    /// repeated was another one.
    #[test]
    fn a_seed_that_json_cannot_show_exactly_is_refused() {
        for command in ["run random-read", "evaluate"] {
            let parse = |seed: &str| {
                let line = format!("brickyard {command} --seed {seed}");
                Cli::try_parse_from(line.split_whitespace())
            };
            assert!(parse("9007199254740991").is_ok());
            let error = parse("9007199254740992").unwrap_err().to_string();
            assert!(error.contains("0..=9007199254740991"), "{error}");
        }
    }
}
