//! (pure) Where caches end, as lines over a grid of file sizes.
//!
//! Which edges there are is told by `analysis::cache_regions`, of each load by itself; one line
//! stands for all loads that say the same of the same cache.

use serde::Serialize;

use crate::analysis::cache_regions::{Regions, UNKNOWN};
use crate::report::Input;

/// Places of one cache that differ by less than this factor are one line.
const SAME: f64 = 1.5;

/// What is longer finds no room along a line.
const NAME_MAX: usize = 26;

/// The edge of a cache, as a line over the grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheEdgeLine {
    /// Across which knob.
    pub knob: &'static str,
    /// At which level, bytes.
    pub at: f64,
    /// What ends there.
    pub name: String,
}

/// The edges of a campaign, in the order of their sizes.
pub fn edges(input: &Input<'_>) -> Vec<CacheEdgeLine> {
    lines(&input.shown.regions)
}

fn lines(all: &[Regions]) -> Vec<CacheEdgeLine> {
    let mut found: Vec<(f64, &str)> = all.iter().flat_map(of_load).collect();
    found.sort_by(|a, b| a.1.cmp(b.1).then(a.0.total_cmp(&b.0)));
    let mut lines: Vec<CacheEdgeLine> = Vec::new();
    // Neighbours of one name, the first of which is no more than that factor away.
    for together in found.chunk_by(|a, b| a.1 == b.1 && b.0 < SAME * a.0) {
        let middle = together.iter().map(|(at, _)| at.ln()).sum::<f64>() / together.len() as f64;
        let name = together[0].1.to_owned();
        lines.push(CacheEdgeLine { knob: "file-size", at: middle.exp(), name });
    }
    lines.sort_by(|a, b| a.at.total_cmp(&b.at));
    lines
}

/// File size and name of what ends there, of each edge beyond which there is less.
fn of_load(load: &Regions) -> impl Iterator<Item = (f64, &str)> {
    let falls = load.edges.iter().filter(|edge| edge.left.value < 1.0);
    falls.map(|edge| {
        let working_set = (edge.low_bytes * edge.high_bytes).sqrt();
        let name = load.plateaus.get(edge.from).map_or(UNKNOWN, |plateau| plateau.name.as_str());
        let name = name.strip_prefix("the ").unwrap_or(name);
        let name = match name {
            UNKNOWN => "edge",
            // What nobody knows the name of is described, at more length than a line has.
            long if long.len() > NAME_MAX => "cache",
            short => short,
        };
        (working_set / load.streams.max(1) as f64, name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    /// The page cache of the fixture holds 200 MiB, its processor's 24 MiB: loads of three block
    /// sizes say so, each a little differently.
    #[test]
    fn one_line_stands_for_all_loads_that_tell_of_a_cache() {
        let (campaign, records) = fixture::cached();
        let found = edges(&Input::new(&campaign, &records));
        let [first, second] = &found[..] else { panic!("{found:?}") };
        assert!((16.0..32.0).contains(&(first.at / 1048576.0)), "{found:?}");
        assert!((128.0..256.0).contains(&(second.at / 1048576.0)), "{found:?}");
        assert!(found.iter().all(|edge| edge.knob == "file-size"), "{found:?}");
        assert_eq!(edges(&Input::new(&campaign, &[])), []);
    }
}
