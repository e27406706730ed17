//! Knobs of the engine `tree`: what is done to names, and in what tree of directories.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use super::typed::{Count, Word};
use super::{Knob, own};
use base::value::Domain;

pub const OPERATION: Knob<Word> = own(
    "operation",
    Domain::OneOf(&[
        "create", "open", "stat", "readdir", "rename", "link", "unlink", "mkdir", "rmdir", "fsync",
        "touch",
    ]),
    "create",
    "What is done to each file, or directory, and timed",
);
pub const TREE_DEPTH: Knob<Count> = own(
    "tree-depth",
    Domain::Count { min: 0, max: 64 },
    "0",
    "Levels of directories below a stream's own (mdtest -z)",
);
pub const TREE_WIDTH: Knob<Count> = own(
    "tree-width",
    Domain::Count { min: 1, max: 10_000 },
    "1",
    "Directories in each directory above the lowest level (mdtest -b)",
);
pub const SHARED_DIRECTORIES: Knob<bool> = own(
    "shared-directories",
    Domain::Flag,
    "false",
    "All streams work in one tree; `false`: each in a unique working directory (mdtest -u)",
);
pub const NAMES: Knob<Word> = own(
    "names",
    Domain::OneOf(&["numbered", "bonnie"]),
    "numbered",
    "Names of files: stream and number in 12 bytes; or as bonnie++'s, 10 hexadecimal digits and 0 \
     to 12 letters or digits, which stand before the number where `order=random`",
);
pub const ORDER: Knob<Word> = own(
    "order",
    Domain::OneOf(&["sequential", "random"]),
    "sequential",
    "In which order a stream comes to its files: as they were named, or at random",
);
