//! What the words of `access` do with the bytes of files. Whoever wants to know asks here: a mixed
//! load has no "read" in its word, and was told as one that writes.

use super::Settings;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From files alone.
    Reads,
    /// To files alone.
    Writes,
    /// Some are read and some are written.
    Both,
}

/// Which way a word of the knob `access` has them go; `None` of any other word.
pub fn way(access: &str) -> Option<Way> {
    match access {
        "read" | "random-read" | "read-backward" | "read-strided" => Some(Way::Reads),
        "write" | "random-write" | "rewrite" | "record-rewrite" => Some(Way::Writes),
        "random-mix" | "update" | "random-update" => Some(Way::Both),
        _ => None,
    }
}

impl Settings {
    /// Which way their bytes go; `None` of engines that have no such knob.
    pub fn way(&self) -> Option<Way> {
        way(self.word("access"))
    }

    /// Whether they read and do not write.
    pub fn only_reads(&self) -> bool {
        self.way() == Some(Way::Reads)
    }

    /// Whether they write and do not read.
    pub fn only_writes(&self) -> bool {
        self.way() == Some(Way::Writes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::find;
    use base::value::Domain;

    /// "The simulated device accepts 250 MB/s" was said of a load that reads 70 %: `random-mix`,
    /// `update` and `random-update` have no "read" in their words, and passed for writing.
    #[test]
    fn every_access_is_known_by_what_it_does_and_not_by_its_letters() {
        let Some(Domain::OneOf(words)) = find("access").map(|knob| knob.domain) else {
            panic!("`access` is one of some words")
        };
        let of = |wanted: Way| -> Vec<&str> {
            words.iter().copied().filter(|word| way(word) == Some(wanted)).collect()
        };
        assert_eq!(of(Way::Reads), ["read", "random-read", "read-backward", "read-strided"]);
        assert_eq!(of(Way::Writes), ["write", "random-write", "rewrite", "record-rewrite"]);
        assert_eq!(of(Way::Both), ["random-mix", "update", "random-update"]);
        assert!(words.iter().all(|word| way(word).is_some()), "{words:?}");
        assert_eq!(Settings::defaults("mail").way(), None);
    }
}
