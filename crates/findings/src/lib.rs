//! Measurements in, findings out, and both to people.

pub mod warning; //  (pure) what of a server holds it back or endangers it, before it is measured
pub mod analysis; // (pure) measurements in, findings out, one file a question
pub mod report; //   (pure) findings and figures out to people, one file a format
#[cfg(test)]
mod simulated; // what needs more than one crate to be tested
