//! For tests alone: what a tool makes of settings as one would type them.

use super::{Launch, ToolEngine, ToolInput};
use experiment::knob::testing::settings;

/// What is launched for these knobs in these places, or why nothing is.
pub fn launch(
    tool: &ToolEngine,
    typed: &[(&str, &str)],
    places: &[&str],
) -> Result<Launch, String> {
    let settings = settings(tool.kind.name, typed);
    let places: Vec<String> = places.iter().map(|place| (*place).to_owned()).collect();
    let (settings, places, memory_bytes) = (&settings, &places[..], Some(64 << 30));
    (tool.launch)(&ToolInput { settings, places, seed: 7, user: 0, memory_bytes, cpus: &[0, 2] })
}

/// The timed command line.
pub fn words(tool: &ToolEngine, typed: &[(&str, &str)], places: &[&str]) -> Vec<String> {
    launch(tool, typed, places).unwrap().words
}

/// Why these knobs cannot be honoured in one place.
pub fn refused(tool: &ToolEngine, typed: &[(&str, &str)]) -> String {
    launch(tool, typed, &["/a"]).unwrap_err()
}
