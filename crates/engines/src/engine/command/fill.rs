//! (pure) Words in braces, filled in: `{directory}`, `{copy}`, `{cpus}`, `{brickyard}`, and knobs.

use crate::engine::command::hint::CommandRefusal;
use experiment::knob::{self, Settings, meant};

/// What is filled in besides the knobs.
#[derive(Clone, Copy, Debug)]
pub struct Substitutions<'a> {
    /// The directory of the trial.
    pub directory: &'a str,
    /// The copy; 1 for the first.
    pub copy: u32,
    /// CPUs that may be used.
    pub cpus: usize,
    /// Where this program is.
    pub brickyard: &'a str,
}

/// Knobs that are texts to be filled in themselves.
const TEXTS: &[&str] = &[
    "command",
    "prepare",
    "cleanup",
    "server",
    "ready",
    "working-directory",
    "environment",
    "extract",
    "directories",
];

/// `text` with each `{name}` replaced by what `quote` makes of its value, and `{{` and `}}` by one
/// brace.
///
/// # Errors
/// For a name that there is not, with the nearest, and for a brace that is not closed.
pub fn fill(
    text: &str,
    settings: &Settings,
    here: Substitutions<'_>,
    quote: impl Fn(String) -> String,
) -> Result<String, CommandRefusal> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        if let Some(after) = from.strip_prefix("{{").or(from.strip_prefix("}}")) {
            filled.push_str(&from[..1]);
            rest = after;
            continue;
        }
        let Some(inner) = from.strip_prefix('{') else {
            filled.push('}');
            rest = &from[1..];
            continue;
        };
        let Some((name, after)) = inner.split_once('}') else {
            return Err(CommandRefusal::new(
                format!("`{text}` has a `{{` that nothing closes"),
                "write {{ for a brace of the program's own",
            ));
        };
        filled.push_str(&quote(value(name, settings, here)?));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn value(
    name: &str,
    settings: &Settings,
    here: Substitutions<'_>,
) -> Result<String, CommandRefusal> {
    match name {
        "directory" => return Ok(here.directory.to_owned()),
        "copy" => return Ok(here.copy.to_string()),
        "cpus" => return Ok(here.cpus.to_string()),
        "brickyard" => return Ok(here.brickyard.to_owned()),
        _ => {}
    }
    if let Some(value) = settings.named(name).filter(|_| !TEXTS.contains(&name)) {
        return Ok(value.to_string());
    }
    let knobs = settings.iter().map(|(knob, _)| knob).filter(|knob| !TEXTS.contains(knob));
    let known = knobs.chain(["directory", "copy", "cpus", "brickyard"]);
    let hint = match meant(name, known, |near| format!("{{{near}}}")) {
        Some(meant) => format!("{meant} {{{{ is a brace of the program's own"),
        None => "{streams}, {directory}, {copy}, {cpus}, {brickyard} and knobs are known; {{ is a \
                 brace of the program's own"
            .to_owned(),
    };
    Err(CommandRefusal::new(format!("there is nothing to fill in for `{{{name}}}`"), hint))
}

/// Whether `text` differs from copy to copy.
pub fn names_copy(text: &str) -> bool {
    text.replace("{{", "").contains("{copy}")
}

/// A command as words, as a shell splits it (quotes and backslashes, nothing else), then filled in:
/// what is filled in is never split.
///
/// # Errors
/// As [`fill`], and for a quote that is not closed.
pub fn words(
    text: &str,
    settings: &Settings,
    here: Substitutions<'_>,
) -> Result<Vec<String>, CommandRefusal> {
    if settings.get(knob::SHELL) {
        // A value with blanks stays one word of the shell.
        let quote = |value: String| {
            shlex::try_quote(&value).map_or_else(|_| value.clone(), |quoted| quoted.into_owned())
        };
        let whole = fill(text, settings, here, quote)?;
        return Ok(vec!["/bin/sh".to_owned(), "-c".to_owned(), whole]);
    }
    let split = shlex::split(text).ok_or_else(|| {
        CommandRefusal::new(
            format!("`{text}` has a quote that nothing closes"),
            "close it, or give shell=true to have /bin/sh read it",
        )
    })?;
    split.iter().map(|word| fill(word, settings, here, |value| value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    const HERE: Substitutions<'_> =
        Substitutions { directory: "/srv/a b", copy: 3, cpus: 8, brickyard: "/opt/by" };

    fn split(text: &str) -> Vec<String> {
        words(text, &settings("command", &[("streams", "4")]), HERE).unwrap()
    }

    #[test]
    fn words_are_split_as_a_shell_does_and_values_are_not_split_again() {
        let dd = split("dd if={directory}/f{copy} of=/dev/null 'bs=1 M' x\\ y");
        assert_eq!(dd, ["dd", "if=/srv/a b/f3", "of=/dev/null", "bs=1 M", "x y"]);
        assert_eq!(split("make -j{streams} {timeout}"), ["make", "-j4", "60m"]);
        assert_eq!(split("awk '{{print $1}}' {{}}"), ["awk", "{print $1}", "{}"]);
        assert_eq!(split("{brickyard} -j{cpus}"), ["/opt/by", "-j8"]);
        assert_eq!(split("echo }"), ["echo", "}"]);
        assert!(split("").is_empty());
        assert!(words("echo 'a", &Settings::defaults("command"), HERE).is_err());
    }

    #[test]
    fn a_shell_gets_the_whole_text_with_values_quoted() {
        let shell = settings("command", &[("shell", "true")]);
        let words = words("cat {directory}/* | wc -c; echo ${{HOME}}", &shell, HERE).unwrap();
        assert_eq!(words, ["/bin/sh", "-c", "cat '/srv/a b'/* | wc -c; echo ${HOME}"]);
    }

    #[test]
    fn what_cannot_be_filled_in_is_refused_with_the_nearest_name() {
        let refused = |text: &str| {
            fill(text, &Settings::defaults("command"), HERE, |value| value).unwrap_err()
        };
        assert!(refused("{stream}").hint.contains("{streams}"));
        assert!(refused("{directroy}").hint.contains("{directory}"));
        assert!(refused("{block-size}").why.contains("`{block-size}`"), "no knob of this engine");
        assert!(refused("{command}").hint.contains("{{"));
        assert!(refused("{streams").why.contains("nothing closes"));
        assert!(refused("{}").why.contains("`{}`"));
        assert!(names_copy("a{copy}") && !names_copy("a{{copy}") && !names_copy("copy"));
    }

    #[test]
    fn no_cut_of_a_command_panics() {
        let text = "dd if={directory}/f{copy} 'x y' {{é}} \"{streams}\"";
        let settings = Settings::defaults("command");
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let _ = words(&text[..end], &settings, HERE);
        }
    }
}
