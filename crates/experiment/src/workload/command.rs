//! Other people's programs.

use super::Workload;

pub const COMMAND: Workload = Workload {
    name: "command",
    about: "Any program, timed, `streams` copies at once: command='...'",
    engines: &["command"],
    settings: &[],
};

/// The fifth source's kernel compile, of a tree that every machine has: what it asks of storage is
/// many small files read and written. Durable with `sync`, which is timed with it.
pub const COMPILE: Workload = Workload {
    name: "compile",
    about: "2000 C files compiled by make, as many at once as processors, and made durable",
    engines: &["command"],
    settings: &[
        ("shell", "true"),
        (
            "prepare",
            "if ! command -v make >/dev/null || ! command -v cc >/dev/null; then \
             echo 'make and a C compiler are not installed here: apt-get install build-essential' \
             >&2; exit 77; fi; \
             {brickyard} generate sources --out {directory}/tree --files 2000 && \
             sync -f {directory}",
        ),
        (
            "command",
            "make --silent --directory={directory}/tree --jobs={cpus} && \
             sync -f {directory}/tree",
        ),
        ("cleanup", "rm -rf {directory}/tree"),
        ("timeout", "1h"),
    ],
};
