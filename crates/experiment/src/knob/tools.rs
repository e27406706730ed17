//! (pure) Which job knobs each engine of an installed tool obeys.
//!
//! A knob that the tool has no way to obey is not among its settings: it can neither be typed for
//! it nor stand in its records. Which values of these knobs it cannot honour, and how the others
//! are said to it, is the business of `engine::adapter`.

use super::{Knob, Scope};

/// One installed tool.
#[derive(Debug)]
pub struct Tool {
    /// Its name, which is also the engine's.
    pub name: &'static str,
    /// The job knobs that it obeys; those of the machine are obeyed by all tools alike.
    pub knobs: &'static [&'static str],
}

/// In the order of the reference.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "fio",
        knobs: &[
            "access",
            "block-size",
            "queue-depth",
            "batch",
            "streams",
            "file-size",
            "files",
            "directories",
            "direct",
            "cold",
            "io-engine",
            "stop",
            "at-most",
            "sustained",
            "fsync",
            "read-share",
            "random-distribution",
            "zipf-theta",
            "data",
            "compressible-share",
            "rate",
            "cpu-pinning",
        ],
    },
    Tool {
        name: "bonnie++",
        knobs: &["block-size", "file-size", "files", "directories", "at-most"],
    },
    Tool {
        name: "iozone",
        knobs: &["block-size", "file-size", "directories", "direct", "at-most"],
    },
    Tool { name: "dbench", knobs: &["streams", "directories", "stop", "at-most"] },
    Tool {
        name: "sysbench",
        knobs: &[
            "access",
            "block-size",
            "file-size",
            "files",
            "directories",
            "direct",
            "io-engine",
            "stop",
            "at-most",
            "fsync",
        ],
    },
    Tool {
        name: "ior",
        knobs: &[
            "access",
            "block-size",
            "streams",
            "file-size",
            "directories",
            "direct",
            "at-most",
        ],
    },
    Tool { name: "mdtest", knobs: &["streams", "files", "directories", "at-most"] },
    Tool {
        name: "elbencho",
        knobs: &[
            "access",
            "block-size",
            "queue-depth",
            "streams",
            "file-size",
            "files",
            "directories",
            "direct",
            "io-engine",
            "stop",
            "at-most",
            "cpu-pinning",
        ],
    },
    Tool { name: "iperf3", knobs: &["at-most"] },
    Tool { name: "pgbench", knobs: &["streams", "directories", "stop", "at-most", "scale"] },
];

/// Whether the tool `engine` obeys `knob`; `None` when it is no tool. A tool is timed as any other
/// program: what is set on the machine or made below its files is in force for it, too.
pub fn obeys(engine: &str, knob: &Knob) -> Option<bool> {
    let tool = TOOLS.iter().find(|tool| tool.name == engine)?;
    Some(match knob.scope {
        Scope::Job => tool.knobs.contains(&knob.name),
        Scope::Label => knob.engines.is_empty(),
        Scope::System | Scope::Layout => {
            knob.engines.is_empty() || knob.engines.contains(&"command")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::{ENGINES, KNOBS, find};

    #[test]
    fn every_tool_is_an_engine_and_every_knob_of_it_a_job_knob() {
        for tool in TOOLS {
            assert!(ENGINES.contains(&tool.name), "{}", tool.name);
            for name in tool.knobs {
                let knob = find(name).unwrap_or_else(|| panic!("{}: no knob {name}", tool.name));
                assert_eq!((knob.scope, knob.obeyed_by(tool.name)), (Scope::Job, true), "{name}");
            }
        }
    }

    /// A knob that no part of a tool obeys would stand in its records as if it had.
    #[test]
    fn every_tool_leaves_out_the_job_knobs_that_it_cannot_obey_and_keeps_the_machines() {
        let of_files = KNOBS.iter().filter(|it| it.scope == Scope::Job && it.obeyed_by("file"));
        let of_files: Vec<_> = of_files.collect();
        for tool in TOOLS {
            let not = of_files.iter().filter(|knob| !knob.obeyed_by(tool.name)).count();
            assert!(not >= 6, "{} obeys all but {not}", tool.name);
            for name in ["read-ahead", "filesystem", "label"] {
                assert!(find(name).unwrap().obeyed_by(tool.name), "{}: {name}", tool.name);
            }
            assert!(!find("sim-noise").unwrap().obeyed_by(tool.name));
        }
    }
}
