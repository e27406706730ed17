//! Knobs of the engine `concat`: which program joins the files, and how many arrays they have.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use super::typed::{Count, Word};
use super::{Knob, own};
use base::value::Domain;

pub const CONCAT_WITH: Knob<Word> = own(
    "concat-with",
    Domain::OneOf(&["native", "ncecat"]),
    "native",
    "Which program joins the files: our own, or NCO's where it is installed",
);
pub const VARIABLES: Knob<Count> = own(
    "variables",
    Domain::Count { min: 1, max: 100 },
    "4",
    "Arrays in each file, as large as each other, whose records lie interleaved",
);
