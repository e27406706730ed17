//! Other people's programs.

use super::Workload;

pub const COMMAND: Workload = Workload {
    name: "command",
    about: "Any program, timed, `streams` copies at once: command='...'",
    engines: &["command"],
    settings: &[],
};
