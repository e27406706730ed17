//! `brickyard run`: a plan, from its first trial or from where it was stopped.

use std::path::PathBuf;
use std::process::ExitCode;

use super::Common;
use super::outcome::{Request, Session};
use super::planned::{self, Planned};
use crate::campaign::{Run, layout::check_space};
use crate::knob::Settings;
use crate::plan::expand::Refused;
use crate::store::Unfinished;
use crate::sys::{Error, signal};

/// What `run` takes.
#[derive(clap::Args, Debug)]
pub struct Arguments {
    #[command(flatten)]
    planned: planned::Asked,
    /// Go on with the newest campaign of this plan in the store where it was stopped
    #[arg(long)]
    resume: bool,
    /// Draws the HTML report into FILE as well
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Runs a plan.
pub fn run(arguments: &Arguments, common: &Common) -> anyhow::Result<ExitCode> {
    let Planned { plan, engine } = planned::resolve(&arguments.planned)?;
    for cell in plan.cells() {
        engine.check(&plan.settings(&cell))?;
    }
    if engine.name() != "sim" {
        let all: Vec<Settings> = plan.cells().map(|cell| plan.settings(&cell)).collect();
        check_space(all.iter().map(|settings| (settings, 0)))?;
    }
    let kept = Request {
        plan: plan.name.clone(),
        engine,
        directories: plan.directories.clone(),
        seed: plan.seed,
        report: arguments.report.clone(),
        plan_json: Some(plan.identity()),
    };
    let stop = signal::stop()?;
    let mut session = Session::open(kept, common)?;
    let unfinished = if arguments.resume { Some(unfinished(&session, common)?) } else { None };
    if let Some(unfinished) = &unfinished {
        session.campaign.seed = unfinished.campaign.seed;
        session.campaign.id = unfinished.campaign.id;
    }
    session.introduce();
    let done = {
        let Session { host, store, campaign, kept, talk, .. } = &mut session;
        let (campaign, seed) = (campaign.clone(), campaign.seed);
        let work = if engine.name() == "sim" { &[][..] } else { &kept.directories[..] };
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
        let result = run.trials(plan.trials(seed));
        let done = run.finish();
        result?;
        done?
    };
    session.conclude(done, common)
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
