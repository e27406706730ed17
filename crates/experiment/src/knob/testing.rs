//! For tests alone: settings as one would type them.

#![allow(clippy::unwrap_used, reason = "nothing but tests uses it")]

use super::{Settings, find};
use crate::knob;

/// The defaults of `engine` with some knobs changed.
pub fn settings(engine: &str, changes: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::defaults(engine);
    for (name, text) in changes {
        let knob = find(name).unwrap_or_else(|| panic!("no knob {name}"));
        settings.set_named(knob.name, knob.domain.parse(text).unwrap());
    }
    settings
}

/// The defaults of the engine `file` with so many streams of so many files each in `directories`.
pub fn dealt(streams: u64, files: u64, directories: &[&str]) -> Settings {
    let mut settings = Settings::defaults("file");
    settings.set(knob::STREAMS, streams);
    settings.set(knob::FILES, files);
    let directories: Vec<String> = directories.iter().map(|name| (*name).to_owned()).collect();
    settings.set(knob::DIRECTORIES, &directories);
    settings
}
