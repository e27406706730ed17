//! Knobs of the engine `integrity`.

#![expect(missing_docs, reason = "what each knob is stands in its `about`")]

use super::typed::Number;
use super::{Knob, own};
use base::value::Domain;

pub const REWRITE_SHARE: Knob<Number> = own(
    "rewrite-share",
    Domain::Number { min: 0.01, max: 1.0 },
    "0.25",
    "Share of a file's blocks that each generation after the first writes over, drawn at random",
);
