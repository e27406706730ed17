//! `brickyard undo`: puts the machine back from the journal alone.

use std::process::ExitCode;

use serde_json::json;

use super::{Common, talk};
use host::journal::{self, Journal, UndoOutcome};
use host::sys::{Host, signal};

/// The arguments of `brickyard undo`.
#[derive(clap::Args, Debug)]
pub struct UndoArguments {
    /// Print what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Undoes; exit status 0 when nothing is left to undo, 1 when something could not be undone.
pub fn run(arguments: &UndoArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let path = journal::beside(&common.store);
    let Some(mut journal) = Journal::existing(&path)? else {
        if common.json {
            talk::data(&serde_json::to_string_pretty(&json!({ "undone": [], "left": 0 }))?)?;
        } else {
            talk::data(&format!("nothing to undo: there is no {}", path.display()))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    // It takes seconds, and is not left in the middle: a signal is told when all is done.
    let _stop = signal::stop()?;
    let host = Host::live();
    let all = journal.undo(&host, arguments.dry_run, &mut |_| {});
    let failed = all.iter().filter(|said| said.failed()).count();
    if common.json {
        let row = |said: &UndoOutcome| {
            let text = said.to_string();
            json!({ "path": said.path, "text": text, "left": said.is_left() })
        };
        let rows: Vec<serde_json::Value> = all.iter().map(row).collect();
        let left = all.iter().filter(|said| said.is_left()).count();
        talk::data(&serde_json::to_string_pretty(&json!({ "undone": rows, "left": left }))?)?;
    } else {
        let lines: Vec<String> = all.iter().map(UndoOutcome::to_string).collect();
        let none = lines.is_empty();
        talk::data(&if none { "nothing to undo".to_owned() } else { lines.join("\n") })?;
    }
    if !arguments.dry_run {
        journal.close()?;
    }
    if failed > 0 && !common.quiet {
        let left = path.display();
        talk::line(&format!("{failed} could not be undone and stay in {left}"));
        talk::line(&format!("hint: brickyard undo --store {}, as root", common.store.display()));
    }
    Ok(if failed > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
