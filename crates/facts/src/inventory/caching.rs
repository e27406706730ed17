//! (pure) A device that keeps on some of the devices below it what the others hold: bcache, and the
//! caches of the device mapper.
//!
//! Which device is the cache is read by `host`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a device keeps on some of the devices below it what the others hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Caching {
    /// What does it: `bcache`, `dm-cache`, `dm-writecache`.
    pub by: String,
    /// `writethrough`, `writeback`, ..., where that is told.
    pub mode: Option<String>,
    /// The devices that keep, by the kernel's names.
    pub cache: Vec<String>,
    /// Devices that hold records of what is kept, and nothing that is kept.
    pub records: Vec<String>,
}

impl Caching {
    /// Whether what was written may be on the cache alone for a while.
    pub fn writes_late(&self) -> bool {
        self.by == "dm-writecache" || self.mode.as_deref() == Some("writeback")
    }

    /// Those of the devices below the layer that hold what it keeps on others.
    pub fn origin(&self, below: &[String]) -> Vec<String> {
        let holds = |name: &&String| !self.cache.contains(name) && !self.records.contains(name);
        below.iter().filter(holds).cloned().collect()
    }
}

/// `bcache, writethrough; cache nvme0n1`
impl fmt::Display for Caching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.by)?;
        if let Some(mode) = &self.mode {
            write!(f, ", {mode}")?;
        }
        write!(f, "; cache {}", self.cache.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_says_what_it_is_and_which_of_them_write_late() {
        let caching = Caching {
            by: "dm-cache".into(),
            mode: Some("writeback".into()),
            cache: vec!["a".into()],
            records: vec!["m".into()],
        };
        assert_eq!(caching.to_string(), "dm-cache, writeback; cache a");
        assert_eq!(caching.origin(&["m".into(), "a".into(), "b".into()]), ["b"]);
        assert!(caching.writes_late());
        assert!(!Caching { mode: Some("writethrough".into()), ..caching.clone() }.writes_late());
        assert!(Caching { by: "dm-writecache".into(), mode: None, ..caching }.writes_late());
    }
}
