//! What of a store is damaged, said once a command has given the rest.

use std::path::Path;
use std::process::ExitCode;

use super::talk;
use experiment::campaign::Damage;

/// More than these are counted only.
const SHOWN: usize = 20;

/// Says it, and gives the exit status: `good` where nothing is damaged, else 1. Whoever looks at
/// the status alone must not take what is left for all there was.
pub fn told(damage: &[Damage], store: &Path, good: ExitCode) -> ExitCode {
    if damage.is_empty() {
        return good;
    }
    for one in damage.iter().take(SHOWN) {
        talk::line(&format!("warning: {one}; it is left out where it is a trial"));
    }
    if damage.len() > SHOWN {
        talk::line(&format!("warning: {} more are damaged", damage.len() - SHOWN));
    }
    talk::line(&format!("hint: brickyard check --store {}", store.display()));
    ExitCode::FAILURE
}
