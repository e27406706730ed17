//! What installed tools run when nothing is said; knobs that they obey can be.

use super::Workload;

pub const BONNIE: Workload = Workload {
    name: "bonnie++",
    about: "bonnie++'s own order: characters, blocks, rewriting, seeks, small files",
    engines: &["bonnie++"],
    settings: &[("file-size", "2GiB"), ("block-size", "8KiB"), ("files", "16384")],
};

/// Named as Debian names the tool: `iozone` is a plan's name.
pub const IOZONE: Workload = Workload {
    name: "iozone3",
    about: "The installed iozone's own table: one file in thirteen ways",
    engines: &["iozone"],
    settings: &[("file-size", "64MiB"), ("block-size", "64KiB"), ("direct", "false")],
};

pub const IOR: Workload = Workload {
    name: "ior",
    about: "IOR's own file, written by one task",
    engines: &["ior"],
    settings: &[("access", "write"), ("block-size", "1MiB"), ("file-size", "1GiB")],
};

pub const MDTEST: Workload = Workload {
    name: "mdtest",
    about: "mdtest's own files, empty, by one task",
    engines: &["mdtest"],
    settings: &[("files", "10000")],
};

pub const ELBENCHO: Workload = Workload {
    name: "elbencho",
    about: "elbencho's own file, written once by one thread",
    engines: &["elbencho"],
    settings: &[
        ("access", "write"),
        ("block-size", "1MiB"),
        ("queue-depth", "1"),
        ("io-engine", "sync"),
        ("stop", "pass"),
    ],
};

pub const ELBENCHO_NAMES: Workload = Workload {
    name: "elbencho-names",
    about: "elbencho's own files, empty: made, looked at, opened and removed by one thread",
    engines: &["elbencho"],
    settings: &[
        ("file-size", "0"),
        ("files", "10000"),
        ("direct", "false"),
        ("queue-depth", "1"),
        ("io-engine", "sync"),
        ("stop", "pass"),
    ],
};

pub const DBENCH: Workload = Workload {
    name: "dbench",
    about: "dbench's own loadfile, replayed by `streams` clients",
    engines: &["dbench"],
    settings: &[("streams", "4"), ("stop", "30s")],
};

pub const SYSBENCH: Workload = Workload {
    name: "sysbench",
    about: "sysbench fileio: 16 KiB reads anywhere in a file, one at a time",
    engines: &["sysbench"],
    settings: &[("access", "random-read"), ("block-size", "16KiB"), ("io-engine", "sync")],
};

pub const PGBENCH: Workload = Workload {
    name: "pgbench",
    about: "Transactions of a bank on a PostgreSQL server of our own (TPC-B's profile)",
    engines: &["pgbench"],
    settings: &[],
};
