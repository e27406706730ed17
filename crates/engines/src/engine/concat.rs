//! Large netCDF files joined into one along a new dimension, as ncecat does: the fifth source's
//! measure of reading and writing in large pieces.
//!
//! One load, and two programs for it (`concat-with`): NCO's ncecat where it is installed, and one
//! of our own ([`join`]). Either runs as any other program does ([`super::command`]), on files
//! that were made before it, untimed, and durable; its time ends when what it wrote is on the
//! device. What either wrote is held against what must be there ([`check`]), untimed, value by
//! value.

use std::path::Path;

use crate::engine::command::{self, CommandSpec, ProgramStart};
use crate::engine::{Context, Engine, Error, Serve};
use base::value;
use experiment::knob::{self, EngineKind, Settings, engines};
use experiment::measurement::Measurement;
use experiment::plan::Trial;
use experiment::workload::netcdf::NetcdfShape;
use host::sys::filesystem::space;
use host::sys::{self};

pub mod check;
pub mod join;

/// NCO's program.
pub const NCECAT: &str = "ncecat";
/// How to get it.
pub const GET: &str = "apt-get install nco";

/// The engine `concat`.
pub struct ConcatEngine;

impl Engine for ConcatEngine {
    fn kind(&self) -> &'static EngineKind {
        &engines::CONCAT
    }

    fn check(&self, settings: &Settings) -> Result<(), sys::Error> {
        refusal(settings)
            .map_or(Ok(()), |(why, hint)| Err(sys::Error::new("cannot run this", why).hint(hint)))
    }

    fn worker(&self) -> Option<Serve> {
        Some(command::worker)
    }

    fn run(&self, trial: &Trial, context: &mut Context<'_>) -> Result<Measurement, Error> {
        let settings = &trial.settings;
        if let Some((why, hint)) = refusal(settings) {
            return Err(Error::Unsupported(format!("{why}: {hint}")));
        }
        if settings.get(knob::CONCAT_WITH) == NCECAT && sys::command::find(NCECAT).is_none() {
            return Err(Error::Unsupported(format!("ncecat is not installed here: {GET}")));
        }
        for work in context.work {
            check_room(settings, work)?;
        }
        let mut measured = command::measure(trial, context, &mut |places| {
            let place = places.first().map_or("/", String::as_str);
            spec(settings, trial.seed, place)
        })?;
        match measured.notes.iter().find(|note| note.kind == "cut-short") {
            Some(cut) => {
                let why = format!("what was joined is not whole: {} Give it more with", cut.text);
                Err(Error::Failed(format!("{why} at-most=")))
            }
            None => {
                if let Some(programs) = &mut measured.programs {
                    let each = shape(settings).data_bytes();
                    let all = each.saturating_mul(settings.get(knob::FILES));
                    (programs.of_files_bytes, programs.of_timed_runs_bytes) = (Some(all), all);
                }
                Ok(measured)
            }
        }
    }
}

/// Why these settings cannot be honoured, and what would do.
fn refusal(settings: &Settings) -> Option<(String, &'static str)> {
    let several = settings.directories().len();
    if settings.get(knob::STREAMS) > 1 {
        let why = format!("concat joins files once; streams={}", settings.get(knob::STREAMS));
        return Some((why, "streams=1, or several copies of any program with command="));
    }
    if several > 1 {
        let why = format!("concat reads and writes in one directory, and has {several} of them");
        return Some((why, "one --dir"));
    }
    if settings.get(knob::AT_LEAST) > 0 {
        let why = "a second time begins with the files in memory; at-least is more than 0s";
        return Some((why.to_owned(), "at-least=0s, and larger or more files"));
    }
    None
}

fn shape(settings: &Settings) -> NetcdfShape {
    NetcdfShape::within_bytes(settings.get(knob::FILE_SIZE), settings.get(knob::VARIABLES) as u32)
}

/// Refuses what would not leave 5 % of the file system free: what is read and what is written.
fn check_room(settings: &Settings, at: &Path) -> Result<(), Error> {
    let files = settings.get(knob::FILES);
    let needed = shape(settings).data_bytes().saturating_mul(files).saturating_mul(2);
    let usable = space(at).map_err(|error| Error::Failed(error.to_string()))?.usable_bytes();
    match needed > usable {
        false => Ok(()),
        true => Err(Error::Unsupported(format!(
            "{files} files of {} and what they are joined into do not fit in {}: only {} may be \
             used there (5 % of the file system stay free); lower files or file-size",
            value::bytes(settings.number(knob::FILE_SIZE)),
            at.display(),
            value::bytes(usable as f64)
        ))),
    }
}

/// What is run for a trial in this folder.
fn spec(settings: &Settings, seed: u64, place: &str) -> Result<CommandSpec, Error> {
    // A name that PATH may know is better than none.
    let own = std::env::current_exe().unwrap_or_else(|_| "brickyard".into()).display().to_string();
    let start = |words: Vec<String>| ProgramStart {
        words,
        environment: vec![("LC_ALL".to_owned(), "C".to_owned())],
        directory: place.to_owned(),
    };
    let (folder, out) = (format!("{place}/in"), format!("{place}/joined.nc"));
    let made = [
        format!("--files={}", settings.get(knob::FILES)),
        format!("--file-size={}", settings.get(knob::FILE_SIZE)),
        format!("--variables={}", settings.get(knob::VARIABLES)),
        format!("--seed={seed}"),
    ];
    let ours = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned());
        std::iter::once(own.clone()).chain(words).collect::<Vec<_>>()
    };
    let inputs = (0..settings.get(knob::FILES)).map(|number| format!("{folder}/{}", name(number)));
    let block = settings.get(knob::BLOCK_SIZE);
    let (words, extract) = match settings.get(knob::CONCAT_WITH) {
        NCECAT => (ncecat(block, &out), Vec::new()),
        _ => {
            let said = ["reading_s", "writing_s", "flushing_s"];
            let extract = said.iter().map(|name| format!("{name}=/{name}")).collect();
            (
                ours(&["concat-worker", "join", &format!("--block-size={block}"), "--out", &out]),
                extract,
            )
        }
    };
    let at_most_ns = settings.get(knob::AT_MOST);
    let cold = settings.get(knob::COLD).then(|| "--cold".to_owned());
    let mut prepare = [ours(&["generate", "netcdf", "--out", &folder]), made.to_vec()].concat();
    prepare.extend(cold);
    let checks = [ours(&["concat-worker", "check", "--joined", &out]), made.to_vec()].concat();
    Ok(CommandSpec {
        copies: vec![start(words.into_iter().chain(inputs).collect())],
        prepare: vec![start(prepare)],
        check: vec![start(checks)],
        extract,
        // What is made ready and checked takes its time; the load is ended by `at-most`.
        timeout_ns: at_most_ns.saturating_mul(2),
        at_most_ns,
        parent: std::process::id(),
        ..CommandSpec::default()
    })
}

/// ncecat, and what makes its output durable, before its inputs: `-h` appends no history, the block
/// is the buffer through which netCDF's library reads and writes (NCO's manual, "Buffer sizes").
fn ncecat(block: u64, out: &str) -> Vec<String> {
    const SCRIPT: &str = "out=$1; block=$2; shift 2; \
                          ncecat -h -O --bfr_sz_hnt=$block -o \"$out\" \"$@\" && sync \"$out\"";
    let words = ["/bin/sh", "-c", SCRIPT, "sh", out, &block.to_string()];
    words.map(str::to_owned).into()
}

/// The name of a file that is joined.
pub fn name(number: u64) -> String {
    format!("{number:05}.nc")
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::knob::testing::settings;

    fn of(with: &str) -> CommandSpec {
        let knobs = [("concat-with", with), ("files", "3"), ("block-size", "4MiB")];
        spec(&settings("concat", &knobs), 9, "/a b").unwrap()
    }

    #[test]
    fn both_programs_join_the_same_files_that_are_made_and_checked_alike() {
        let (native, ncecat) = (of("native"), of("ncecat"));
        assert_eq!((&native.prepare, &native.check), (&ncecat.prepare, &ncecat.check));
        for spec in [&native, &ncecat] {
            let words = &spec.copies[0].words;
            let inputs = ["/a b/in/00000.nc", "/a b/in/00001.nc", "/a b/in/00002.nc"];
            assert!(words.ends_with(&inputs.map(str::to_owned)), "{words:?}");
            let named = |word: &str| words.iter().any(|it| it == word);
            assert!(named("/a b/joined.nc") && words.iter().any(|it| it.contains("4194304")));
        }
        assert!(ncecat.copies[0].words[2].ends_with("sync \"$out\""), "durable, as ours");
        assert_eq!((native.extract.len(), ncecat.extract.len()), (3, 0));
        for word in ["--seed=9", "--cold"] {
            assert!(native.prepare[0].words.contains(&word.to_owned()), "{word}");
        }
        let warm = spec(&settings("concat", &[("cold", "false")]), 9, "/a").unwrap();
        assert!(!warm.prepare[0].words.contains(&"--cold".to_owned()));
    }

    #[test]
    fn what_is_not_joined_once_in_one_directory_is_refused_by_name() {
        let why = |knobs: &[(&str, &str)]| {
            ConcatEngine.check(&settings("concat", knobs)).unwrap_err().to_string()
        };
        assert!(why(&[("streams", "2")]).contains("streams=2"));
        assert!(why(&[("at-least", "1s")]).contains("at-least"));
        let mut two = settings("concat", &[]);
        two.set(knob::DIRECTORIES, &["/a".to_owned(), "/b".to_owned()]);
        assert!(ConcatEngine.check(&two).unwrap_err().to_string().contains("one directory"));
        assert!(ConcatEngine.check(&settings("concat", &[])).is_ok());
    }

    #[test]
    fn what_does_not_fit_is_refused_before_the_first_byte() {
        let large = settings("concat", &[("file-size", "100TiB"), ("files", "1000")]);
        let Err(Error::Unsupported(why)) = check_room(&large, Path::new("/")) else {
            panic!("100 000 TiB fit");
        };
        assert!(why.contains("lower files or file-size"), "{why}");
        assert!(check_room(&settings("concat", &[("file-size", "0B")]), Path::new("/")).is_ok());
    }
}
