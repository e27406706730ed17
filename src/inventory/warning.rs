//! Warnings before money is spent: what of the inventory holds the server back or endangers it.
//!
//! A new warning is a line in [`WARNINGS`]. Facts in, warnings out; nothing is read here.

use serde::{Deserialize, Serialize};

use super::server::Server;

/// A kind of warning.
pub struct Kind {
    /// Kebab-case: `downtrained-link`.
    pub name: &'static str,
    /// One line: what it looks for.
    pub about: &'static str,
    /// Looks for it.
    pub look: fn(&Server) -> Vec<Found>,
}

/// Something that was found; `kind` is added by [`warnings`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Found {
    /// What it is about: a disk, a card, an interface.
    pub part: String,
    /// What is wrong, a sentence.
    pub text: String,
    /// The file and its value, or several.
    pub evidence: Vec<String>,
    /// What it may cost, a sentence with a figure where there is one.
    pub cost: String,
    /// What to type to change it, or what to do by hand.
    pub command: String,
}

/// A warning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Warning {
    /// The name of its [`Kind`].
    pub kind: String,
    /// What was found.
    #[serde(flatten)]
    pub found: Found,
}

/// In the order of the reference.
pub const WARNINGS: &[Kind] = &[];

/// All warnings that a server deserves.
pub fn warnings(server: &Server) -> Vec<Warning> {
    let all = WARNINGS.iter().flat_map(|kind| {
        let found = (kind.look)(server).into_iter();
        found.map(|found| Warning { kind: kind.name.to_owned(), found })
    });
    all.collect()
}
