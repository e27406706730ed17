//! For tests alone: what an adapter makes of settings as one would type them.

use super::{Adapter, Asked, Launch, Said};
use experiment::knob::testing::settings;

/// What is launched for these knobs in these places, or why nothing is.
pub fn launch(
    adapter: &Adapter,
    typed: &[(&str, &str)],
    places: &[&str],
) -> Result<Launch, String> {
    let settings = settings(adapter.name, typed);
    let places: Vec<String> = places.iter().map(|place| (*place).to_owned()).collect();
    let (settings, places, memory_bytes) = (&settings, &places[..], Some(64 << 30));
    (adapter.launch)(&Asked { settings, places, seed: 7, user: 0, memory_bytes, cpus: &[0, 2] })
}

/// The timed command line.
pub fn words(adapter: &Adapter, typed: &[(&str, &str)], places: &[&str]) -> Vec<String> {
    launch(adapter, typed, places).unwrap().words
}

/// Why these knobs cannot be honoured in one place.
pub fn refused(adapter: &Adapter, typed: &[(&str, &str)]) -> String {
    launch(adapter, typed, &["/a"]).unwrap_err()
}

/// The figure of that name.
pub fn figure(said: &Said, name: &str) -> Option<f64> {
    said.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
}

/// The same to a thousandth: a number of JSON is read to within its last bit.
pub fn rounded(said: &Said, name: &str) -> Option<f64> {
    figure(said, name).map(|value| (value * 1000.0).round() / 1000.0)
}
