//! Knobs of the engine `command`: which program, with what around it, and what its output says.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use super::typed::{Bytes, Nanoseconds, OrAsIs, Word, Words};
use super::{Knob, of_job};
use base::value::Domain;

const SECOND_NS: u64 = 1_000_000_000;

pub const COMMAND: Knob<Word> = of_job(
    "command",
    "",
    Domain::Text,
    "",
    "The program and its arguments, timed; {directory}, {copy}, {cpus} and knobs are filled in",
);
pub const SHELL: Knob<bool> = of_job(
    "shell",
    "",
    Domain::Flag,
    "false",
    "`command`, `server`, `ready`, `prepare` and `cleanup` are given to /bin/sh -c whole, not \
     split into words",
);
pub const PREPARE: Knob<Word> = of_job(
    "prepare",
    "exec_prerun",
    Domain::Text,
    "",
    "A command that is run before each trial, untimed, once in every directory; one that ends with \
     status 77 skips the trial, as this machine lacks something",
);
pub const CLEANUP: Knob<Word> = of_job(
    "cleanup",
    "exec_postrun",
    Domain::Text,
    "",
    "A command that is run after each trial, untimed, once in every directory, failed or not",
);
pub const SERVER: Knob<Word> = of_job(
    "server",
    "",
    Domain::Text,
    "",
    "A program that serves the copies: started in the first directory after `prepare`, a part of \
     the load (what it reads counts as the copies'), ended after them (SIGTERM, then SIGKILL)",
);
pub const READY: Knob<Word> = of_job(
    "ready",
    "",
    Domain::Text,
    "",
    "A command that is run again and again, untimed, until it succeeds: then `server` can be used",
);
pub const COPY_BYTES: Knob<OrAsIs<Bytes>> = of_job(
    "copy-bytes",
    "",
    Domain::OrAsIs(&Domain::Bytes { min: 1, max: 1 << 50, step: 1 }),
    "as-is",
    "Bytes of files that each run of a copy reads, itself or through `server`, where that is \
     always the same: the origin is told from what storage delivered of them; `as-is`: not known",
);
pub const WORKING_DIRECTORY: Knob<Word> = of_job(
    "working-directory",
    "",
    Domain::Text,
    "{directory}",
    "Where the programs are started; {directory} is the one that is made for the trial",
);
pub const ENVIRONMENT: Knob<Words> = of_job(
    "environment",
    "",
    Domain::Texts,
    "",
    "NAME=VALUE, set for the programs on top of our own environment",
);
pub const TIMEOUT: Knob<Nanoseconds> = of_job(
    "timeout",
    "",
    Domain::Duration { min_ns: SECOND_NS / 1000, max_ns: 31 * 86_400 * SECOND_NS },
    "1h",
    "A program that runs longer is ended (SIGTERM, then SIGKILL), and the trial has failed",
);
pub const EXTRACT: Knob<Words> = of_job(
    "extract",
    "",
    Domain::Texts,
    "",
    "A figure out of the output: NAME=REGEX with one group, or NAME=/json/pointer",
);
