//! (pure) What came of a verification: its readings, and what was wrong.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ProblemKind;
use crate::measurement::Integrity;
use crate::measurement::origin::{Origin, Verdict};

/// What campaigns of `brickyard verify` name as their plan and engine.
pub const VERIFY: &str = "verify";

/// Problems beyond so many are counted by kind, not kept.
pub const PROBLEMS_MAX: usize = 1000;

/// Something that kept a file from being verified, or that must be known of it, while the
/// verification runs; the store keeps it as `StoredProblem`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileProblem {
    /// The file, or the list.
    pub file: String,
    /// Which, for programs.
    pub kind: ProblemKind,
    /// One clause for people.
    pub what: String,
}

/// One or several passes, and where their bytes came from.
#[derive(Clone, Debug, Serialize)]
pub struct Reading {
    /// The first of its passes, from 1.
    pub first_pass: u64,
    /// How many passes, the last of which may be incomplete.
    pub passes: u64,
    /// When it began, Unix time in ns.
    pub started_unix_ns: u64,
    /// How long it took.
    pub elapsed_ns: u64,
    /// Bytes that were read and checked.
    pub checked_bytes: u64,
    /// Of those, bytes that were held against a sum that was known before.
    pub compared_bytes: u64,
    /// Where the bytes came from.
    pub origin: Origin,
}

impl Reading {
    /// The part of its bytes that is evidence on the device: all or a share of them where the
    /// verdict is the device's, none where memory or a wire cannot be told from it.
    pub fn device_share(&self) -> f64 {
        match self.origin.verdict {
            Verdict::Device => 1.0,
            Verdict::Mixed => self.origin.device_share.unwrap_or(0.0).clamp(0.0, 1.0),
            _ => 0.0,
        }
    }
}

/// What came of reading a user's own files: times in ns, what was read, and what was wrong.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verification {
    /// The list, where there was one, as it was named.
    pub list: Option<String>,
    /// The folder that its names were taken from.
    pub names_from: Option<String>,
    /// When it began, Unix time in ns.
    pub started_unix_ns: u64,
    /// How long it took, ns.
    pub elapsed_ns: u64,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Files and devices that were to be read.
    pub files: u64,
    /// Files that were read whole at least once.
    pub files_read: u64,
    /// Files of which something was wrong.
    pub files_wrong: u64,
    /// Passes that were complete.
    pub passes: u64,
    /// In order.
    pub readings: Vec<Reading>,
    /// What was wrong with the bytes.
    pub integrity: Integrity,
    /// What was wrong else, up to [`PROBLEMS_MAX`].
    pub problems: Vec<FileProblem>,
    /// All of that, by kind.
    pub problem_counts: BTreeMap<ProblemKind, u64>,
}

impl Verification {
    /// Whether everything that was asked for was read and came back as it was.
    pub fn is_clean(&self) -> bool {
        self.integrity.is_clean() && !self.problem_counts.keys().any(|kind| kind.is_failure())
    }
}
