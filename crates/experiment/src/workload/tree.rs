//! Work on names: one operation over so many files, as mdtest does.

use super::Workload;

/// One operation of the engine `tree` on every file once, in a warm cache.
const fn once(
    name: &'static str,
    about: &'static str,
    settings: &'static [(&'static str, &'static str)],
) -> Workload {
    Workload { name, about, engines: &["tree"], settings }
}

/// What all of them begin with; a plan or a person says otherwise.
macro_rules! over_files {
    ($operation:literal) => {
        &[
            ("operation", $operation),
            ("files", "20000"),
            ("file-size", "0"),
            ("cold", "false"),
            ("stop", "pass"),
        ]
    };
}

pub const CREATE: Workload =
    once("create", "Makes files, each opened, written and closed", over_files!("create"));
pub const OPEN: Workload =
    once("open", "Opens and closes files that are there", over_files!("open"));
pub const STAT: Workload = once("stat", "Asks what is known of each file", over_files!("stat"));
pub const READDIR: Workload = once(
    "readdir",
    "Reads all names of each directory",
    &[
        ("operation", "readdir"),
        ("files", "20000"),
        ("file-size", "0"),
        ("tree-depth", "1"),
        ("tree-width", "200"),
        ("cold", "false"),
        ("stop", "pass"),
    ],
);
pub const RENAME: Workload =
    once("rename", "Gives each file another name in its directory", over_files!("rename"));
pub const LINK: Workload = once("link", "Gives each file a second name", over_files!("link"));
pub const UNLINK: Workload = once("unlink", "Removes files", over_files!("unlink"));
pub const MKDIR: Workload = once("mkdir", "Makes directories", over_files!("mkdir"));
pub const RMDIR: Workload = once("rmdir", "Removes empty directories", over_files!("rmdir"));
pub const FSYNC: Workload = once(
    "fsync",
    "Changes each file and puts it on the device",
    &[
        ("operation", "fsync"),
        ("files", "1000"),
        ("file-size", "0"),
        ("cold", "false"),
        ("stop", "pass"),
    ],
);
pub const TOUCH: Workload =
    once("touch", "Sets the times of files that are there", over_files!("touch"));
