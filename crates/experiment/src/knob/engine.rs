//! What is known of each engine before it runs: its name, the knobs that it obeys, what becomes of
//! the files of its trials. Its code is the business of `engines`, where a file of each has its
//! worker.
//!
//! Which there are is the business of [`super::engines`]. A knob that an engine has no way to
//! obey is not among its settings: it can neither be typed for it nor stand in its records.

use super::{KNOBS, Knob, Scope};

/// What is known of an engine.
#[derive(Debug)]
pub struct EngineKind {
    /// As typed after `--engine`.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// The knobs that it obeys, besides labels, which all do.
    pub knobs: &'static [Family],
    /// Where the files come from that its trials read.
    pub files: FileSource,
    /// How long the files of its trials are wanted.
    pub keeps: Keeps,
    /// What it does that whoever reads its trials must know.
    pub does: &'static [Does],
}

/// What stands in the place of an engine at figures that a text reports: none ran.
pub const PUBLISHED: &str = "published";

/// Knobs that are obeyed together.
pub type Family = &'static [&'static Knob];

/// Where the files come from that trials read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSource {
    /// They are written before, by the engine itself.
    Laid,
    /// They are written before, by this one.
    LaidBy(&'static str),
    /// What is run makes them itself, or reads none.
    Own,
}

/// How long files are wanted that trials have made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// As long as the run.
    Nothing,
    /// Until all trials are run, in this run or in one that resumes it: the next goes on where the
    /// last one left them.
    UntilComplete,
    /// Until a person removes them: they are looked at after a crash.
    UntilRemoved,
}

/// What an engine does that others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Its trials touch no machine: repeating them gives the same, for nothing.
    Simulates,
    /// It reads back and checks every byte that it wrote, which it drops from memory before: that
    /// is what is asked, for hours, and by how many bits were checked.
    ChecksAll,
    /// Between its operations it does what is no part of their time.
    PausesBetween,
}

impl EngineKind {
    /// Whether its trials touch no machine.
    pub fn is_simulated(&self) -> bool {
        self.does.contains(&Does::Simulates)
    }

    /// Whether what it runs makes the files that it reads, so that none are written for it before.
    pub fn makes_its_files(&self) -> bool {
        self.files == FileSource::Own
    }

    /// The engine that writes the files that its trials read.
    pub fn lays_with(&self) -> &'static str {
        match self.files {
            FileSource::LaidBy(other) => other,
            FileSource::Laid | FileSource::Own => self.name,
        }
    }

    /// Whether it obeys `knob`.
    pub fn obeys(&self, knob: &Knob) -> bool {
        let named = || self.knobs.iter().copied().flatten().any(|it| it.name == knob.name);
        knob.scope == Scope::Label || named()
    }

    /// The knobs that it obeys, in no order.
    pub fn obeyed(&self) -> impl Iterator<Item = &'static Knob> {
        let labels = KNOBS.iter().copied().filter(|knob| knob.scope == Scope::Label);
        self.knobs.iter().copied().flatten().copied().chain(labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::Apply;
    use crate::knob::engines::*;

    #[test]
    fn every_engine_is_named_once_and_says_what_it_is() {
        for (number, engine) in ENGINES.iter().enumerate() {
            let first = ENGINES.iter().position(|other| other.name == engine.name);
            assert_eq!(first, Some(number), "{}", engine.name);
            assert!(!engine.about.is_empty() && !engine.about.ends_with('.'), "{}", engine.name);
            let all: Vec<&str> = engine.obeyed().map(|knob| knob.name).collect();
            for (place, name) in all.iter().enumerate() {
                let twice = all[..place].contains(name);
                assert!(!twice, "{}: {name} twice", engine.name);
                assert!(crate::knob::find(name).is_some(), "{name} is in no table");
            }
        }
    }

    #[test]
    fn every_knob_is_obeyed_by_some_engine() {
        for knob in KNOBS {
            assert!(ENGINES.iter().any(|engine| engine.obeys(knob)), "{}", knob.name);
        }
    }

    /// An installed tool is timed as any other program: what is set on the machine or made below
    /// its files is in force for it, too. A knob that no part of a tool obeys would stand in its
    /// records as if it had.
    #[test]
    fn every_tool_leaves_out_the_job_knobs_that_it_cannot_obey_and_keeps_the_machines() {
        let tools =
            [&FIO, &BONNIE, &IOZONE, &DBENCH, &SYSBENCH, &IOR, &MDTEST, &ELBENCHO, &PGBENCH];
        for tool in tools {
            let not = |knob: &&&Knob| knob.scope == Scope::Job && FILE.obeys(knob);
            let not = KNOBS.iter().filter(not).filter(|knob| !tool.obeys(knob)).count();
            assert!(not >= 6, "{} obeys all but {not}", tool.name);
            for knob in KNOBS.iter().filter(|knob| !matches!(knob.apply, Apply::Engine)) {
                assert_eq!(tool.obeys(knob), COMMAND.obeys(knob), "{}: {}", tool.name, knob.name);
            }
        }
    }
}
