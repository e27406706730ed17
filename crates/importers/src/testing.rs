//! For tests alone: a figure by its name.

use super::Said;

/// The figure of that name.
pub fn figure(said: &Said, name: &str) -> Option<f64> {
    said.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
}

/// The same to a thousandth: a number of JSON is read to within its last bit.
pub fn rounded(said: &Said, name: &str) -> Option<f64> {
    figure(said, name).map(|value| (value * 1000.0).round() / 1000.0)
}
