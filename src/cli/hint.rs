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
    let (command, name) = command(words);
    let help = format!("brickyard help{name}");
    let shown = |meant: String| format!("{meant} `{help}` shows all");
    let argument = text(error, ContextKind::InvalidArg).unwrap_or_default();
    let meant = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let typed = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            let subs = command.get_subcommands().filter(|sub| !sub.is_hide_set());
            let names = subs.map(clap::Command::get_name);
            knob::meant(&typed, names, |near| format!("`brickyard{name} {near}`"))
        }
        ErrorKind::UnknownArgument => unknown(&command, &name, &argument),
        ErrorKind::InvalidValue => {
            let typed = text(error, ContextKind::InvalidValue).unwrap_or_default();
            let valid = match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(valid)) => valid.as_slice(),
                _ => &[],
            };
            knob::meant(&typed, valid.iter().map(String::as_str), |near| format!("`{near}`"))
        }
        _ => None,
    };
    match (meant, error.kind()) {
        (Some(meant), _) => shown(meant),
        (
            None,
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand,
        ) if name.is_empty() => "brickyard evaluate DIR".to_owned(),
        (None, ErrorKind::UnknownArgument) => match knob::find(bare(&argument)) {
            Some(knob) => format!("knobs stand without dashes: {}={}", knob.name, knob.default),
            None => format!("`{help}` shows what it takes"),
        },
        _ => format!("`{help}` shows what it takes"),
    }
}

/// What an option that there is not may have been: another of the command's, or a knob where it
/// takes some.
fn unknown(command: &clap::Command, name: &str, typed: &str) -> Option<String> {
    let typed = bare(typed);
    if knob::find(typed).is_some() {
        return None;
    }
    let options = command.get_arguments().filter(|option| !option.is_hide_set());
    let options = options.filter_map(clap::Arg::get_long);
    let meant = knob::meant(typed, options, |near| format!("`brickyard{name} --{near}`"));
    let takes_knobs = command.get_arguments().any(|argument| argument.get_id() == "levels");
    meant.or_else(|| {
        let knobs = knob::KNOBS.iter().map(|knob| knob.name).filter(|_| takes_knobs);
        knob::meant(typed, knobs, |near| format!("`{near}=`"))
    })
}

/// An option without its dashes and its value.
fn bare(option: &str) -> &str {
    let option = option.trim_start_matches('-');
    option.split_once('=').map_or(option, |(name, _)| name)
}

/// The word of that kind which clap's error carries.
fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(word) => Some(word.clone()),
        ContextValue::Strings(words) => words.first().cloned(),
        ContextValue::StyledStr(word) => Some(word.to_string()),
        _ => None,
    }
}

/// The command that the words name, as deep as the help shows it, and its name behind a blank; the
/// program itself where they name none.
fn command(words: &[String]) -> (clap::Command, String) {
    let mut command = Cli::command();
    command.build();
    let mut name = String::new();
    // What is asked for help on is what is meant.
    for word in words.iter().filter(|word| *word != "help") {
        let sub = command.find_subcommand(word).filter(|sub| !sub.is_hide_set());
        if let Some(sub) = sub.cloned() {
            name = format!("{name} {}", sub.get_name());
            command = sub;
        }
    }
    (command, name)
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

    /// clap told one name that was near, and none of what was only begun.
    #[test]
    fn three_names_are_told_of_commands_options_and_tables() {
        for (typed, meant) in [
            ("rep", "did you mean `brickyard report`?"),
            ("eval /srv", "did you mean `brickyard evaluate`?"),
            ("help repo", "did you mean `brickyard report`?"),
            ("help frob", "`brickyard help` shows what it takes"),
            ("generate ma", "did you mean `brickyard generate man`"),
            ("generate comp", "did you mean `brickyard generate completions`?"),
            ("generate completions bsh", "did you mean `zsh` or `bash`?"),
            ("run --repl 3", "did you mean `brickyard run --replicates`"),
            ("run x --blok-size=4KiB", "did you mean `block-size=`"),
            ("report --blok-size=4KiB", "`brickyard help report` shows what it takes"),
            ("compare 1 2 --threshhold 3%", "did you mean `brickyard compare --threshold`?"),
            ("list counter", "did you mean `counters`?"),
            ("list war", "did you mean `warnings`?"),
            ("size --sto x", "did you mean `brickyard size --store`?"),
        ] {
            assert!(hint(typed).contains(meant), "{typed}: {}", hint(typed));
        }
    }
}
