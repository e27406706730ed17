//! (pure) What a verification of a user's own files went through, beside what was wrong with their
//! bytes ([`super::Integrity`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub mod outcome;

/// Times of single passes beyond so many are in the sum alone.
pub const PASSES_MAX: usize = 1000;

/// One or several passes over the files. Counts of files are those of the whole verification so
/// far; the rest is of these passes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Verified {
    /// The list, or the log of a flush test; `None` where the first reading is held against.
    pub against: Option<String>,
    /// The first of the passes, from 1.
    pub first_pass: u64,
    /// How long each took, ns, up to [`PASSES_MAX`] of them; the last may be incomplete.
    pub pass_ns: Vec<u64>,
    /// How many there were.
    pub passes: u64,
    /// Whether they were over when this was kept last: a kill leaves what was found until then.
    pub over: bool,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Files and devices that were to be read.
    pub files: u64,
    /// Files that were read whole at least once.
    pub files_read: u64,
    /// Files of which something was wrong.
    pub files_wrong: u64,
    /// Further facts, each a name and a sentence.
    pub facts: Vec<(String, String)>,
    /// All that was the matter with files but for their bytes, by kind.
    pub problem_counts: BTreeMap<String, u64>,
    /// The same one by one, up to a bound.
    pub problems: Vec<StoredProblem>,
}

/// What can be the matter with a file but for its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum ProblemKind {
    /// There is no such file (any more).
    Missing,
    /// It is there and cannot be opened, or its device is gone.
    NotOpened,
    /// A line of the list that is no sum.
    BadLine,
    /// It was changed while it was verified, and so was not held against what was known of it.
    Changed,
    /// It is in the list and was changed each time while it was read.
    NotHeldStill,
    /// It is no file: a link, a pipe, a socket, a device in a directory, another file system.
    Skipped,
    /// It lies under a path that was given and is not in the list.
    NotInList,
}

impl ProblemKind {
    /// Each once.
    #[cfg(test)]
    const ALL: &[ProblemKind] = <ProblemKind as strum::VariantArray>::VARIANTS;

    /// The one of that word.
    pub fn named(word: &str) -> Option<ProblemKind> {
        word.parse().ok()
    }

    /// The word of the JSON contract.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether something that was asked for was not verified because of it.
    pub fn is_failure(self) -> bool {
        use ProblemKind::{BadLine, Missing, NotHeldStill, NotOpened};
        matches!(self, Missing | NotOpened | BadLine | NotHeldStill)
    }
}

/// Something that kept a file from being verified, or that must be known of it, as the store
/// keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredProblem {
    /// The file; bytes that are no text as `\xNN`.
    pub path: String,
    /// Which, for programs: `missing`, `changed`.
    pub kind: String,
    /// One clause for people: the kernel's words where it refused.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_problem_is_found_by_its_word() {
        for &kind in ProblemKind::ALL {
            assert_eq!(ProblemKind::named(kind.name()), Some(kind));
        }
        assert_eq!(ProblemKind::named("lost"), None);
        assert!(!ProblemKind::ALL.iter().all(|kind| kind.is_failure()));
    }
}
