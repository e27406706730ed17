//! The operations of iozone, as it does them when nothing else is said: through the page cache, by
//! pread and pwrite or the C library, one I/O at a time, neither fsync nor close in the time.
//!
//! What differs is said in `docs/concepts/iozone.md`.

use super::Workload;

/// One of iozone's operations.
const fn operation(
    name: &'static str,
    about: &'static str,
    settings: &'static [(&'static str, &'static str)],
) -> Workload {
    Workload { name, about, engines: &["file"], settings }
}

/// Settings of an operation, before what all have in common.
macro_rules! settings {
    ($access:literal, $engine:literal $(, $knob:literal = $value:literal)*) => {
        &[
            ("access", $access),
            ("io-engine", $engine),
            ("direct", "false"),
            ("block-size", "64KiB"),
            ("file-size", "16MiB"),
            ("fsync-in-time", "false"),
            ("stop", "interval:10%"),
            ("at-most", "3s"),
            $(($knob, $value),)*
        ]
    };
}

pub const WRITE: Workload = operation(
    "iozone-write",
    "iozone -i 0: a new file is written, and space allocated for it",
    settings!("write", "sync", "fresh-file" = "true", "cold" = "false"),
);
pub const REWRITE: Workload = operation(
    "iozone-rewrite",
    "iozone -i 0: a file that is there is written over",
    settings!("rewrite", "sync", "cold" = "false"),
);
pub const READ: Workload = operation(
    "iozone-read",
    "iozone -i 1 -U: a file of which nothing is in memory is read",
    settings!("read", "sync", "cold" = "true"),
);
pub const REREAD: Workload = operation(
    "iozone-reread",
    "iozone -i 1: a file that was read a moment ago is read again",
    settings!("read", "sync", "cold" = "false"),
);
pub const RANDOM_READ: Workload = operation(
    "iozone-random-read",
    "iozone -i 2: records anywhere in the file, each once",
    settings!("random-read", "sync", "cold" = "false"),
);
pub const RANDOM_WRITE: Workload = operation(
    "iozone-random-write",
    "iozone -i 2: records anywhere in the file are written over, each once",
    settings!("random-write", "sync", "cold" = "false"),
);
pub const READ_BACKWARD: Workload = operation(
    "iozone-read-backward",
    "iozone -i 3: from the last record to the first",
    settings!("read-backward", "sync", "cold" = "false"),
);
pub const RECORD_REWRITE: Workload = operation(
    "iozone-record-rewrite",
    "iozone -i 4: the first record is written over and over",
    settings!("record-rewrite", "sync", "cold" = "false"),
);
pub const READ_STRIDED: Workload = operation(
    "iozone-read-strided",
    "iozone -i 5 -j 17: every 17th record, then those beside them",
    settings!("read-strided", "sync", "cold" = "false"),
);
pub const FWRITE: Workload = operation(
    "iozone-fwrite",
    "iozone -i 6: a new file by fwrite, through a buffer of one record",
    settings!("write", "stdio", "fresh-file" = "true", "cold" = "false"),
);
pub const FREWRITE: Workload = operation(
    "iozone-frewrite",
    "iozone -i 6: a file that is there is written over by fwrite",
    settings!("rewrite", "stdio", "cold" = "false"),
);
pub const FREAD: Workload = operation(
    "iozone-fread",
    "iozone -i 7 -U: a file of which nothing is in memory is read by fread",
    settings!("read", "stdio", "cold" = "true"),
);
pub const FREREAD: Workload = operation(
    "iozone-freread",
    "iozone -i 7: a file that was read a moment ago is read again by fread",
    settings!("read", "stdio", "cold" = "false"),
);
