//! Of many trials' settings, each once: replicates share theirs, and what holds for one copy holds
//! for all.

use std::collections::HashSet;
use std::sync::Arc;

use super::Settings;

impl Settings {
    /// The same number for copies that share their values, for as long as one of them lives. Equal
    /// settings that were made apart have different ones.
    pub fn copy_of(&self) -> usize {
        // Two engines may obey the same knobs, but no two settings of theirs share a map.
        Arc::as_ptr(&self.values) as usize
    }
}

/// The first of each set of copies, in order.
pub fn distinct<'a>(all: impl IntoIterator<Item = &'a Settings>) -> Vec<&'a Settings> {
    let mut seen = HashSet::new();
    all.into_iter().filter(|settings| seen.insert(settings.copy_of())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob;

    #[test]
    fn copies_are_one_until_one_of_them_is_changed() {
        let one = Settings::defaults("file");
        let (copy, mut changed) = (one.clone(), one.clone());
        changed.set(knob::STREAMS, 7);
        let apart = Settings::defaults("file");
        assert_eq!(distinct([&one, &copy, &changed, &apart]).len(), 3);
        assert_eq!(distinct([&one, &copy])[0], &copy);
        assert!(one == apart && one.copy_of() != apart.copy_of());
    }
}
