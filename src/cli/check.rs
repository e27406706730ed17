//! `brickyard check`: whether a store is still what was kept in it.

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::json;

use super::{Common, talk};
use base::value;
use store::{Checked, Store};

/// The arguments of `brickyard check`.
#[derive(clap::Args, Debug)]
pub struct CheckArguments {}

/// Trials from one word about how far it is to the next.
const TOLD: usize = 10_000;

/// Looks at everything and changes nothing; exit status 1 when something is damaged.
pub fn run(_: &CheckArguments, common: &Common) -> anyhow::Result<ExitCode> {
    let store = Store::open_read_only(&common.store)?;
    let quiet = common.quiet;
    let checked = store.check(&mut |done| {
        if !quiet && done % TOLD == 0 {
            talk::line(&format!("{done} trials are looked at"));
        }
    })?;
    let path = common.store.display().to_string();
    talk::data(&match common.json {
        true => {
            let mut document = json!({ "store": path, "whole": checked.is_whole() });
            if let (Some(document), serde_json::Value::Object(rest)) =
                (document.as_object_mut(), json!(checked))
            {
                document.extend(rest);
            }
            serde_json::to_string_pretty(&document)?
        }
        false => text(&checked, &path),
    })?;
    if !checked.is_whole() && !quiet {
        talk::line(&format!("hint: {}", hint(&checked)));
    }
    Ok(if checked.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What can be done about it.
fn hint(checked: &Checked) -> &'static str {
    if checked.damaged.iter().any(|damage| damage.trial.is_some()) {
        "reports leave these trials out; `brickyard run PLAN --resume --again NUMBER` measures one \
         again; else take the file from a backup"
    } else if !checked.damaged.is_empty() || !checked.file.is_empty() {
        "take the file from a backup; what can still be read goes into a new one by `sqlite3 FILE \
         .recover`"
    } else {
        "no figure is wrong: the cache is computed anew by the next `brickyard query`"
    }
}

fn text(checked: &Checked, path: &str) -> String {
    let mut text = String::new();
    for damage in &checked.damaged {
        let _ = writeln!(text, "{damage}");
    }
    for line in &checked.file {
        let _ = writeln!(text, "the file is damaged: {line}");
    }
    if checked.cache_rows_damaged > 0 {
        let rows = value::counted(checked.cache_rows_damaged as u64, "row");
        let _ = writeln!(text, "the cache is damaged: {rows}, to be computed anew");
    }
    if !checked.checksums {
        let why = "it was made before there were checksums, and nothing was written in it since";
        let _ = writeln!(text, "only what makes no sense could be found: {why}");
    } else if checked.as_found > 0 {
        let campaigns = value::counted(checked.as_found, "campaign");
        let _ = writeln!(
            text,
            "{campaigns} from before there were checksums: taken as found when brickyard first \
             wrote in the file after that"
        );
    }
    let campaigns = value::counted(checked.campaigns as u64, "campaign");
    let trials = value::counted(checked.trials as u64, "trial");
    let end =
        if checked.is_whole() { "all as they were kept" } else { "not all as they were kept" };
    let _ = write!(text, "{path}: {campaigns}, {trials}: {end}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::campaign::Damage;

    #[test]
    fn each_kind_of_damage_is_told_with_what_to_do() {
        let whole = Checked { campaigns: 1, trials: 4, checksums: true, ..Checked::default() };
        assert_eq!(text(&whole, "a.db"), "a.db: 1 campaign, 4 trials: all as they were kept");
        let damage = Damage { campaign: 1, trial: Some(3), what: "it is missing".into() };
        let trial = Checked { damaged: vec![damage], ..whole.clone() };
        assert!(
            text(&trial, "a.db").starts_with("trial 3 of campaign 1 is damaged: it is missing")
        );
        assert!(hint(&trial).contains("--again"));
        let file = Checked { file: vec!["Page 3: x".into()], ..whole.clone() };
        assert!(text(&file, "a.db").contains("Page 3: x") && hint(&file).contains("backup"));
        let cache = Checked { cache_rows_damaged: 2, ..whole.clone() };
        assert!(text(&cache, "a.db").contains("2 rows") && hint(&cache).contains("anew"));
        let old = Checked { checksums: false, ..whole };
        assert!(old.is_whole() && text(&old, "a.db").contains("before there were checksums"));
    }
}
