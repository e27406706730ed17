//! `brickyard run`: a plan, from its first trial or from where it was stopped.

use std::path::PathBuf;
use std::process::ExitCode;

use super::labels::Labels;
use super::outcome::{Request, Session};
use super::planned::{self, Planned};
use super::{Common, talk};
use crate::campaign::apply::preview;
use crate::campaign::layouts::{self, Provisioner};
use crate::campaign::shares;
use crate::campaign::{Run, layout::check_space};
use crate::journal;
use crate::knob::Settings;
use crate::plan::expand::Refused;
use crate::plan::labels::Setup;
use crate::store::Unfinished;
use crate::sys::{Error, Host, signal};

/// What `run` takes.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    #[command(flatten)]
    planned: planned::Asked,
    /// Go on with the newest campaign of this plan in the store where it was stopped
    #[arg(long)]
    resume: bool,
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
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

impl Arguments {
    /// The same, with one more level.
    pub fn with(&self, level: String) -> Arguments {
        let mut more = self.clone();
        more.planned.levels.push(level);
        more
    }
}

/// Runs a plan.
pub fn run(arguments: &Arguments, common: &Common) -> anyhow::Result<ExitCode> {
    let planned = planned::resolve(&arguments.planned)?;
    let labels = Labels::of(&planned.plan, &arguments.label)?;
    // What this run needs must not lie on a disk that it destroys.
    let mut needed = vec![std::path::absolute(&common.store)?];
    needed.extend(std::env::current_exe().ok());
    if let Some(dry) = look(arguments, &planned, &labels.there, &needed, common)? {
        return Ok(dry);
    }
    let Planned { plan, engine, disks } = planned;
    let kept = Request {
        plan: plan.name.clone(),
        engine,
        directories: plan.directories.clone(),
        disks,
        seed: plan.seed,
        report: arguments.report.clone(),
        plan_json: Some(plan.identity()),
    };
    let stop = signal::stop()?;
    let mut session = Session::open(kept, common)?;
    session.campaign.engine = plan.engine.clone();
    session.campaign.prices = plan.prices.clone();
    let unfinished = if arguments.resume { Some(unfinished(&session, common)?) } else { None };
    if let Some(unfinished) = &unfinished {
        session.campaign.seed = unfinished.campaign.seed;
        session.campaign.id = unfinished.campaign.id;
    }
    session.introduce();
    labels.begin(&session, &plan, unfinished.as_ref())?;
    let note = unfinished.as_ref().and_then(|unfinished| labels.note(&session, unfinished));
    let done = {
        let Session { host, store, campaign, kept, talk, .. } = &mut session;
        let (campaign, seed) = (campaign.clone(), campaign.seed);
        let disks = kept.disks.clone();
        let made = engine.name() == "sim" || !disks.is_empty();
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
                    "goes on with campaign {}: {} of {} trials are over",
                    unfinished.campaign.id,
                    unfinished.over.len(),
                    plan.trials(seed).count()
                ));
                Run::go_on(host, store, unfinished, engine, work, talk, &stop)?
            }
        };
        if let Some(provisioner) = provisioner {
            run.on_disks(provisioner);
        }
        note.into_iter().for_each(|note| run.note_next(note));
        let result = run.trials(plan.trials(seed).filter(|t| labels.there.holds(&t.settings)));
        let done = run.finish();
        result?;
        done?
    };
    let status = session.conclude(done, common)?;
    labels.end(&session, &plan)?;
    Ok(status)
}

/// Looks at everything that would fail later, and prints what would be changed when no more than
/// that was asked for.
fn look(
    arguments: &Arguments,
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
    cells().try_for_each(|settings| shares::check(&settings))?;
    if engine.name() == "sim" {
        return arguments.dry_run.then(|| dry_run(&[], &[], common)).transpose();
    }
    let all: Vec<Settings> = cells().collect();
    if disks.is_empty() {
        check_space(all.iter().map(|settings| (settings, 0)))?;
    }
    let host = Host::live();
    let targets = planned::targets(&host, plan, all.iter())?;
    if arguments.dry_run {
        let mut writes = preview::writes(&host, all.iter(), &targets)?;
        writes.splice(..0, shares::lines(all.iter()));
        if disks.is_empty() {
            return dry_run(&writes, &plan.directories, common).map(Some);
        }
        let layouts = layouts::preview::Preview::of(&host, plan, disks);
        writes.splice(..0, layouts.lines());
        writes.extend(layouts::preview::later(all.iter()));
        let shown = dry_run(&writes, &[], common)?;
        // Nothing is in front of a real run that this does not tell.
        if !journal::beside(&common.store).exists() {
            layouts::check(&host, disks, &arguments.wipe, needed)?;
        }
        return Ok(Some(shown));
    }
    preview::check(&host, all.iter(), &targets)?;
    // What a killed run has left is undone first; until then its own mounts are in the way.
    if !journal::beside(&common.store).exists() {
        layouts::check(&host, disks, &arguments.wipe, needed)?;
    }
    Ok(None)
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

/// Prints what a run would change.
fn dry_run(writes: &[String], directories: &[String], common: &Common) -> anyhow::Result<ExitCode> {
    if common.json {
        let document = serde_json::json!({ "directories": directories, "writes": writes });
        talk::data(&serde_json::to_string_pretty(&document)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text: Vec<String> = Vec::new();
    for name in directories {
        text.push(format!("make {name}/brickyard-*, fill it with files, remove it at the end"));
    }
    text.extend_from_slice(writes);
    if !writes.is_empty() {
        let journal = journal::beside(&common.store);
        text.push(format!("note each in {} before, and put it back at the end", journal.display()));
    }
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
