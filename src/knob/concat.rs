//! Knobs of the engine `concat`: which program joins the files, and how many arrays they have.

use super::{Apply, Knob, Scope};
use crate::value::Domain;

/// A knob that only the engine `concat` obeys.
const fn knob(
    name: &'static str,
    domain: Domain,
    default: &'static str,
    about: &'static str,
) -> Knob {
    let (scope, engines, apply) = (Scope::Job, &["concat"], Apply::Engine);
    Knob { name, fio: "", about, domain, default, scope, engines, apply }
}

pub const CONCAT_WITH: Knob = knob(
    "concat-with",
    Domain::OneOf(&["native", "ncecat"]),
    "native",
    "Which program joins the files: our own, or NCO's where it is installed",
);
pub const VARIABLES: Knob = knob(
    "variables",
    Domain::Count { min: 1, max: 100 },
    "4",
    "Arrays in each file, as large as each other, whose records lie interleaved",
);
