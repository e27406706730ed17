//! Knobs that say how long and over how much a trial runs, not what its load is.

/// Knobs that say how long a trial runs and over how many files: trials that differ in these alone
/// are of one load.
pub const EXTENT: &[&str] = &["files", "second-pass", "stop", "at-least", "at-most"];

/// Those and the ones that say how much: a figure may depend on them, so they tell cells apart, but
/// only when nothing else does.
pub const INCIDENTAL: &[&str] =
    &["file-size", "files", "stop", "at-least", "at-most", "second-pass", "batch"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_no_load_apart_tells_no_cell_apart_either() {
        assert!(EXTENT.iter().all(|name| INCIDENTAL.contains(name)));
        assert!(INCIDENTAL.iter().all(|name| crate::knob::find(name).is_some()));
    }
}
