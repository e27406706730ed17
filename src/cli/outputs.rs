//! What a command reads and keeps, which none of its outputs may be. Whether an output may be
//! written is decided here for every command, before anything is measured; how, in `sys::output`.

use std::path::{Path, PathBuf};

use super::planned::{self, Planned};
use super::talk;
use base::value::Value;
use experiment::knob;
use findings::report::Format;
use host::journal;
use host::sys::Error;
use host::sys::output::{self, Output, OutputKind, RequestedOutput, Taken};
use store::Store;

/// The flag of all that writes files.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Force {
    /// Replace a file that is there and is no such output of brickyard; never one that is read
    #[arg(long)]
    force: bool,
}

/// The flags of all that prints, and can do so into a file.
#[derive(clap::Args, Clone, Debug)]
pub struct ToFile {
    /// Writes what is printed into FILE instead
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
}

impl ToFile {
    /// Decides where it goes, before anything is read or measured.
    ///
    /// # Errors
    /// As [`Inputs::output`].
    pub fn decide(&self, inputs: &Inputs) -> Result<Printed, Error> {
        let ToFile { output, force } = self;
        printed(output.as_deref(), *force, inputs)
    }
}

/// Where what a command prints goes, by its own flags.
///
/// # Errors
/// As [`Inputs::output`].
pub fn printed(output: Option<&Path>, force: Force, inputs: &Inputs) -> Result<Printed, Error> {
    // What is printed has no mark of ours: only who asks for it replaces a file.
    let kind = OutputKind { name: "file that brickyard may replace", is: |_, _| false };
    let output = output.map(|path| inputs.output(path, "--output", kind, force));
    Ok(Printed(output.transpose()?))
}

/// Standard output, or a file in its place.
#[derive(Debug)]
pub struct Printed(Option<Output>);

impl Printed {
    /// Prints data, whose last line is ended.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn data(&self, text: &str) -> anyhow::Result<()> {
        let Some(output) = &self.0 else { return talk::data(text) };
        let end = if text.ends_with('\n') { "" } else { "\n" };
        Ok(output.write(format!("{text}{end}").as_bytes())?)
    }
}

/// Knobs that name a file, and what that is.
const FILES: [(&str, &str); 2] =
    [("loadfile", "the loadfile"), (FLUSH_LOG, "the log of what was acknowledged")];
const FLUSH_LOG: &str = "flush-log";
/// How a disk begins that is named by the file behind it.
const LOOP: &str = "loop:";
/// A link that leads on more often goes round in a circle.
const LINKS_MAX: usize = 40;

/// What a command reads and keeps.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    taken: Vec<Taken>,
}

impl Inputs {
    /// A store, with all that SQLite and we keep beside it; whether or not it is there yet.
    pub fn of_store(store: &Path) -> Inputs {
        let mut inputs = Inputs::default();
        inputs.add_store(store);
        inputs
    }

    /// Another store as well.
    pub fn add_store(&mut self, store: &Path) {
        let named = store.display();
        for (what, path) in files(store) {
            self.taken.push(Taken { what: format!("{what} {named}"), path });
        }
    }

    /// A file or a folder as well.
    pub fn add(&mut self, what: &str, path: &Path) {
        self.taken.push(Taken::new(what, path));
    }

    /// All that a run of this plan reads and keeps.
    ///
    /// # Errors
    /// When two of them would be one file.
    pub fn of_run(planned: &Planned, named: Option<&str>, store: &Path) -> Result<Inputs, Error> {
        let mut inputs = Inputs::default();
        if let Some(file) = named.and_then(planned::file) {
            inputs.add("the plan", file);
        }
        let behind = planned.disks.iter().filter_map(|disk| disk.named.strip_prefix(LOOP));
        for file in behind {
            inputs.add("the disk", Path::new(file));
        }
        let mut logs = Vec::new();
        for (name, what) in FILES {
            let levels = levels(planned, name);
            for file in levels.iter().map(Path::new) {
                match name == FLUSH_LOG {
                    true => logs.push((what, file.to_owned())),
                    false => inputs.add(what, file),
                }
            }
        }
        inputs.keep_apart(store)?;
        inputs.add_store(store);
        for (_, log) in &logs {
            inputs.refuse(format!("cannot use flush-log={}", log.display()), log, "flush-log=")?;
        }
        logs.iter().for_each(|(what, log)| inputs.add(what, log));
        Ok(inputs)
    }

    /// Refuses a store that would be, or would have beside it, one of these.
    ///
    /// # Errors
    /// With which.
    pub fn keep_apart(&self, store: &Path) -> Result<(), Error> {
        let what = format!("cannot use the store {}", store.display());
        let files = files(store);
        files.iter().try_for_each(|(_, file)| self.refuse(what.clone(), file, "--store"))
    }

    fn refuse(&self, what: String, path: &Path, flag: &str) -> Result<(), Error> {
        let Some(why) = output::clash(path, &self.taken) else { return Ok(()) };
        let why = format!("of {}: {why}", path.display());
        Err(Error::new(what, why).hint(format!("name another file: {flag} FILE")))
    }

    /// Which of these a store would be, or would have beside it.
    pub fn clash(&self, store: &Path) -> Option<String> {
        files(store).iter().find_map(|(_, file)| output::clash(file, &self.taken))
    }

    /// Decides on an output.
    ///
    /// # Errors
    /// When it is one of these, or would replace a file that is no such output of ours.
    pub fn output(
        &self,
        path: &Path,
        flag: &'static str,
        kind: OutputKind,
        force: Force,
    ) -> Result<Output, Error> {
        let Force { force } = force;
        Output::decide(&RequestedOutput { path, flag, kind, force }, self.taken.clone())
    }
}

/// What a report of a format is.
pub fn report(format: &Format) -> OutputKind {
    OutputKind { name: format.noun, is: format.mark }
}

/// The files of a store, by what each is, also beside the file that a link leads to.
fn files(store: &Path) -> Vec<(&'static str, PathBuf)> {
    let mut real = store.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = std::fs::read_link(&real) else { break };
        real = real.parent().unwrap_or(Path::new("")).join(target);
    }
    let mut all = Vec::new();
    for at in [store, &real] {
        let words = std::iter::once("the store").chain(std::iter::repeat("a file of the store"));
        all.extend(words.zip(Store::files(at)));
        all.push(("the journal of the store", journal::beside(at)));
        if real == store {
            break;
        }
    }
    all
}

/// The files that a plan names by a knob; what is no path is none, as `loadfile=built-in`.
fn levels(planned: &Planned, name: &str) -> Vec<String> {
    let own = knob::find(name).map(|knob| knob.default.to_string());
    let word = |value: &Value| match value {
        Value::Word(word) if !word.is_empty() && Some(word) != own.as_ref() => Some(word.clone()),
        _ => None,
    };
    let mut all: Vec<String> = Vec::new();
    for load in &planned.plan.loads {
        all.extend(load.settings.named(name).and_then(word));
        let factors = load.factors.iter().filter(|factor| factor.knob.name == name);
        all.extend(factors.flat_map(|factor| &factor.levels).filter_map(word));
    }
    all.sort();
    all.dedup();
    all
}
