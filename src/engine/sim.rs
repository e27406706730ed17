//! A simulated server with planted truth.

use super::{Context, Engine, Error};
use crate::measurement::Measurement;
use crate::plan::Trial;

/// The simulated server.
pub struct Sim;

impl Engine for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn about(&self) -> &'static str {
        "A simulated server whose truth is known, for testing what is above an engine"
    }

    fn run(&self, _trial: &Trial, _context: &mut Context<'_>) -> Result<Measurement, Error> {
        Err(Error::Unsupported("not built yet".to_owned()))
    }
}
