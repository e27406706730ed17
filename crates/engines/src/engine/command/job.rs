//! Settings of a trial into what the worker is to do.

use super::extract;
use super::fill::{Substitutions, fill, names_copy, words};
use super::hint::CommandRefusal;
use super::protocol::{CommandSpec, ProgramStart, Server, ServerReadiness};
use experiment::knob;
use experiment::knob::typed::Word;
use experiment::knob::{Knob, Settings};

/// What the worker is to do for these settings, in these `places`, one a directory of the trial.
///
/// # Errors
/// When a text cannot be filled in or split, or there is no command.
pub fn spec(settings: &Settings, places: &[String]) -> Result<CommandSpec, CommandRefusal> {
    if settings.get(knob::COMMAND).trim().is_empty() {
        let why = "no command was given";
        return Err(CommandRefusal::new(why, "command='dd if=/srv/file of=/dev/null bs=1M'"));
    }
    for text in settings.get(knob::EXTRACT) {
        extract::parse(text)?;
    }
    let copies = settings.get(knob::STREAMS).max(1) as u32;
    let place = |number: u32| places[(number as usize - 1) % places.len().max(1)].as_str();
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
    // A name that PATH may know is better than none.
    let own = std::env::current_exe().unwrap_or_else(|_| "brickyard".into()).display().to_string();
    let here = |copy: u32| Substitutions { directory: place(copy), copy, cpus, brickyard: &own };
    let each = |knob: Knob<Word>, copies: u32| {
        (1..=copies).map(|copy| start(settings, knob, here(copy))).collect::<Result<Vec<_>, _>>()
    };
    let beside = |knob: Knob<Word>| match settings.get(knob) {
        "" => Ok(Vec::new()),
        text if names_copy(text) => each(knob, copies),
        _ => each(knob, copies.min(places.len() as u32)),
    };
    Ok(CommandSpec {
        copies: each(knob::COMMAND, copies)?,
        prepare: beside(knob::PREPARE)?,
        check: Vec::new(),
        cleanup: beside(knob::CLEANUP)?,
        server: served(settings, here(1))?,
        extract: settings.get(knob::EXTRACT).to_vec(),
        timeout_ns: settings.get(knob::TIMEOUT),
        at_least_ns: settings.get(knob::AT_LEAST),
        at_most_ns: settings.get(knob::AT_MOST),
        sustained: settings.get(knob::SUSTAINED),
        drains: super::copy_bytes(settings).is_some(),
        parent: std::process::id(),
    })
}

/// What the copies are served by, when they are.
fn served(settings: &Settings, here: Substitutions<'_>) -> Result<Option<Server>, CommandRefusal> {
    match (settings.get(knob::SERVER), settings.get(knob::READY)) {
        ("", "") => Ok(None),
        ("", _) => {
            let why = "ready says when `server` can be used, and there is none";
            Err(CommandRefusal::new(why, "server='...', or leave ready out"))
        }
        (_, "") => {
            let why = "nobody knows when `server` can be used";
            Err(CommandRefusal::new(
                why,
                "ready='curl --fail http://127.0.0.1:8080/', or what asks yours",
            ))
        }
        _ => Ok(Some(Server {
            start: start(settings, knob::SERVER, here)?,
            ready: ServerReadiness::Succeeds(start(settings, knob::READY, here)?),
            ends_by: rustix::process::Signal::TERM.as_raw(),
            drops_by: rustix::process::Signal::TERM.as_raw(),
        })),
    }
}

fn start(
    settings: &Settings,
    knob: Knob<Word>,
    here: Substitutions<'_>,
) -> Result<ProgramStart, CommandRefusal> {
    let plain = |text: &str| fill(text, settings, here, |value| value);
    let words = words(settings.get(knob), settings, here)?;
    if words.is_empty() {
        let (why, hint) =
            (format!("{} names no program", knob.name), format!("leave {} out", knob.name));
        return Err(CommandRefusal::new(why, hint));
    }
    let mut environment = Vec::new();
    for text in settings.get(knob::ENVIRONMENT) {
        let set = plain(text)?;
        match set.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                environment.push((name.to_owned(), value.to_owned()));
            }
            _ => {
                let why = format!("environment: `{text}` is not NAME=VALUE");
                return Err(CommandRefusal::new(why, "environment=LANG=C, once for each"));
            }
        }
    }
    let directory = plain(settings.get(knob::WORKING_DIRECTORY))?;
    if !directory.starts_with('/') {
        let why = format!("working-directory: `{directory}` is not an absolute path");
        return Err(CommandRefusal::new(why, "working-directory={directory}, or a path from / on"));
    }
    Ok(ProgramStart { words, environment, directory })
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    fn places() -> Vec<String> {
        vec!["/a".to_owned(), "/b".to_owned()]
    }

    #[test]
    fn copies_are_dealt_to_the_directories_in_turn_and_prepared_once_in_each() {
        let knobs = [
            ("command", "cat {directory}/f{copy}"),
            ("streams", "3"),
            ("prepare", "touch {directory}/f"),
            ("cleanup", "rm f{copy}"),
            ("environment", "AT={directory}"),
        ];
        let spec = spec(&settings("command", &knobs), &places()).unwrap();
        let words: Vec<&str> = spec.copies.iter().map(|copy| copy.words[1].as_str()).collect();
        assert_eq!(words, ["/a/f1", "/b/f2", "/a/f3"]);
        assert_eq!((spec.prepare.len(), spec.cleanup.len()), (2, 3));
        assert_eq!(spec.copies[1].environment, [("AT".to_owned(), "/b".to_owned())]);
        assert_eq!(spec.copies[1].directory, "/b");
    }

    #[test]
    fn a_server_stands_in_the_first_directory_whoever_is_served() {
        let knobs = [
            ("command", "fetch {copy}"),
            ("streams", "3"),
            ("server", "serve {directory}"),
            ("ready", "ask {directory}"),
        ];
        let spec = |more: &[(&str, &str)]| {
            spec(&settings("command", &[&knobs[..], more].concat()), &places()).unwrap()
        };
        let server = spec(&[]).server.unwrap();
        assert_eq!(server.start.words, ["serve", "/a"]);
        assert!(!spec(&[]).drains && spec(&[("copy-bytes", "1MiB")]).drains);
        assert!(
            matches!(server.ready, ServerReadiness::Succeeds(ask) if ask.words == ["ask", "/a"])
        );
    }

    #[test]
    fn what_cannot_be_started_is_refused() {
        let why =
            |knobs: &[(&str, &str)]| spec(&settings("command", knobs), &places()).unwrap_err().why;
        assert!(why(&[]).contains("no command"));
        assert!(why(&[("command", "true"), ("environment", "A")]).contains("NAME=VALUE"));
        assert!(why(&[("command", "true"), ("working-directory", "x")]).contains("absolute"));
        assert!(why(&[("command", "true"), ("extract", "x")]).contains("NAME=REGEX"));
        assert!(why(&[("command", "true"), ("prepare", "' '' ")]).contains("nothing closes"));
        assert!(why(&[("command", "true"), ("cleanup", "{x}")]).contains("fill in"));
        assert!(why(&[("command", "true"), ("server", "cat")]).contains("nobody knows when"));
        assert!(why(&[("command", "true"), ("ready", "true")]).contains("there is none"));
    }
}
