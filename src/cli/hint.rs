//! What to type next, after an argument that clap refused.
//!
//! The refusal itself is clap's, word for word; only the `hint:` line that every error of this
//! program ends with is ours.

use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{Cli, talk};
use experiment::knob;

/// Prints a refusal of clap's with our hint, or the help or version that was asked for; gives the
/// exit status.
pub fn refuse(error: &clap::Error) -> ExitCode {
    // Nobody listens any more when this fails.
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    talk::line(&format!("hint: {}", next(error, &words)));
    ExitCode::from(2)
}

/// The next thing to type, after `words` were refused.
fn next(error: &clap::Error, words: &[String]) -> String {
    let command = command(words);
    let typed = command.as_deref().map_or_else(String::new, |command| format!(" {command}"));
    let help = match &command {
        Some(command) => format!("brickyard help {command}"),
        None => "brickyard help".to_owned(),
    };
    let near = text(error, ContextKind::SuggestedSubcommand);
    // Commands that we start ourselves are nobody's to type.
    if let Some(near) = near.filter(|near| self::command(std::slice::from_ref(near)).is_some()) {
        return format!("did you mean `brickyard {near}`? `{help}` shows all");
    }
    if let Some(near) = text(error, ContextKind::SuggestedArg) {
        return format!("did you mean `brickyard{typed} {near}`? `{help}` shows all");
    }
    if let Some(near) = text(error, ContextKind::SuggestedValue) {
        return format!("did you mean `{near}`? `{help}` shows all");
    }
    let argument = text(error, ContextKind::InvalidArg).unwrap_or_default();
    if let Some(knob) = knob::find(argument.trim_start_matches('-')) {
        return format!("knobs stand without dashes: {}={}", knob.name, knob.default);
    }
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand
            if command.is_none() =>
        {
            "brickyard evaluate DIR".to_owned()
        }
        _ => format!("`{help}` shows what it takes"),
    }
}

/// The first word of that kind which clap's error carries.
fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(word) => Some(word.clone()),
        ContextValue::Strings(words) => words.first().cloned(),
        ContextValue::StyledStr(word) => Some(word.to_string()),
        _ => None,
    }
}

/// The command that the words name, if they name one that the help shows.
fn command(words: &[String]) -> Option<String> {
    let cli = Cli::command();
    let named = |word: &&String| {
        cli.get_subcommands().any(|sub| !sub.is_hide_set() && sub.get_name() == word.as_str())
    };
    words.iter().find(named).cloned()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn hint(line: &str) -> String {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let argv = std::iter::once("brickyard".to_owned()).chain(words.clone());
        next(&Cli::try_parse_from(argv).unwrap_err(), &words)
    }

    /// What clap refused ended with "For more information, try '--help'.", and what we refused
    /// with a hint that could be typed: a person who mistyped a flag was told less than one who
    /// mistyped a knob.
    #[test]
    fn every_refusal_of_claps_ends_with_what_to_type() {
        assert_eq!(hint(""), "brickyard evaluate DIR");
        assert_eq!(hint("frobnicate"), "`brickyard help` shows what it takes");
        assert!(!hint("concat-work").contains("concat-worker"), "nobody types that");
        assert!(hint("evaluat /srv").contains("`brickyard evaluate`"));
        assert!(hint("evaluate --bugdet 3m").contains("`brickyard evaluate --budget`"));
        assert!(hint("list knob").contains("`knobs`"));
        assert_eq!(
            hint("run random-read --block-size=4KiB"),
            "knobs stand without dashes: block-size=1MiB"
        );
        for line in
            ["run --replicates", "run random-read --replicates 0", "run random-read --replicates x"]
        {
            assert!(hint(line).starts_with("`brickyard help run`"), "{line}: {}", hint(line));
        }
        assert!(hint("generate").contains("`brickyard help generate`"));
        assert!(hint("--store").contains("`brickyard help`"));
    }
}
