//! The phases of bonnie++, as it does them when nothing else is said: through the page cache, one
//! I/O at a time, in blocks of 8 KiB, and 16 times 1024 empty files.
//!
//! What differs is said in `docs/concepts/bonnie.md`.

use super::Workload;

/// One of bonnie++'s phases on bytes.
const fn of_bytes(
    name: &'static str,
    about: &'static str,
    settings: &'static [(&'static str, &'static str)],
) -> Workload {
    Workload { name, about, engines: &["file"], settings }
}

/// One of its phases on files.
const fn of_files(
    name: &'static str,
    about: &'static str,
    settings: &'static [(&'static str, &'static str)],
) -> Workload {
    Workload { name, about, engines: &["tree"], settings }
}

/// Settings of a phase on bytes, before what all have in common.
macro_rules! bytes {
    ($access:literal, $engine:literal $(, $knob:literal = $value:literal)*) => {
        &[
            ("access", $access),
            ("io-engine", $engine),
            ("direct", "false"),
            ("block-size", "8KiB"),
            ("file-size", "1GiB"),
            ("stop", "pass"),
            $(($knob, $value),)*
        ]
    };
}

/// Settings of a phase on files.
macro_rules! files {
    ($operation:literal, $order:literal) => {
        &[
            ("operation", $operation),
            ("order", $order),
            ("names", "bonnie"),
            ("files", "16384"),
            ("file-size", "0"),
            ("cold", "false"),
            ("stop", "pass"),
        ]
    };
}

pub const PUTC: Workload = of_bytes(
    "bonnie-putc",
    "bonnie: a new file is written through stdio, each byte by putc",
    bytes!("write", "putc"),
);
pub const WRITE: Workload = of_bytes(
    "bonnie-write",
    "bonnie: a new file is written in blocks, and put on the device",
    bytes!("write", "sync"),
);
pub const REWRITE: Workload = of_bytes(
    "bonnie-rewrite",
    "bonnie: each block of a file is read, changed and written back",
    bytes!("update", "sync"),
);
pub const GETC: Workload = of_bytes(
    "bonnie-getc",
    "bonnie: a file is read through stdio, each byte by getc",
    bytes!("read", "putc"),
);
pub const READ: Workload =
    of_bytes("bonnie-read", "bonnie: a file is read in blocks", bytes!("read", "sync"));
pub const SEEKS: Workload = of_bytes(
    "bonnie-seeks",
    "bonnie: five seekers read blocks anywhere, and write back every tenth, changed",
    bytes!("random-update", "uring", "update-every" = "10", "queue-depth" = "5", "stop" = "10s"),
);
pub const CREATE: Workload = of_files(
    "bonnie-create",
    "bonnie++ -n: empty files are created in the order of their names",
    files!("create", "sequential"),
);
pub const STAT: Workload = of_files(
    "bonnie-stat",
    "bonnie++ -n: files are asked for in the order in which they were made",
    files!("stat", "sequential"),
);
pub const UNLINK: Workload = of_files(
    "bonnie-unlink",
    "bonnie++ -n: files are removed in the order in which they were made",
    files!("unlink", "sequential"),
);
pub const RANDOM_CREATE: Workload = of_files(
    "bonnie-random-create",
    "bonnie++ -n: empty files are created in no order of their names",
    files!("create", "random"),
);
pub const RANDOM_STAT: Workload = of_files(
    "bonnie-random-stat",
    "bonnie++ -n: files are asked for at random",
    files!("stat", "random"),
);
pub const RANDOM_UNLINK: Workload = of_files(
    "bonnie-random-unlink",
    "bonnie++ -n: files are removed at random",
    files!("unlink", "random"),
);

#[cfg(test)]
mod tests {
    use crate::knob::{self, Settings};
    use crate::workload::{WORKLOADS, find};

    /// A later line of a preset wins over an earlier one, as what is typed would.
    #[test]
    fn seeks_have_five_in_flight_and_stop_by_time() {
        let preset = find("bonnie-seeks").unwrap();
        let load = crate::plan::file::load(preset, "file", &[]);
        let settings: &Settings = &load.settings;
        assert_eq!((settings.get(knob::QUEUE_DEPTH), settings.get(knob::UPDATE_EVERY)), (5, 10));
        assert_eq!(settings.value(knob::STOP).to_string(), "10s");
    }

    #[test]
    fn all_twelve_phases_have_a_name() {
        let phases = WORKLOADS.iter().filter(|workload| workload.name.starts_with("bonnie-"));
        assert_eq!(phases.count(), 12);
    }
}
