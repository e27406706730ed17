//! What a plateau is called: after the cache that has the size at which it ends, and that its bytes
//! came from by their own evidence. Never by its size alone where two fit.

use serde_json::Value as Json;

use super::{PlateauEdge, size};
use base::value::bytes;
use experiment::knob::{self, Settings};
use experiment::measurement::origin::{Origin, Verdict};
use facts::inventory::server::{Memory, Processors};

/// The name of a plateau of which nothing says whose it is.
pub const UNKNOWN: &str = "unknown";

/// The page cache gives up files before all memory is theirs: from this share of the memory on
/// (source 4: "Buffer cache can often fill 70-80% of physical ram"), generously.
const PAGES_LEAST: f64 = 0.5;

/// The caches that the inventory knows.
#[derive(Debug, Default)]
pub struct KnownCaches {
    processors: Vec<ProcessorCache>,
    memory_bytes: Option<f64>,
}

/// A processor's cache that holds data.
#[derive(Debug)]
struct ProcessorCache {
    level: u32,
    size_bytes: f64,
    /// How many of it the machine has.
    count: f64,
}

/// What was seen of a plateau.
pub struct Seen<'a> {
    /// Its largest working set, bytes.
    pub to: f64,
    /// Where its bytes came from.
    pub here: Vec<&'a Origin>,
    /// Where those of the next plateau came from, or of all that lies beyond the edge.
    pub beyond: Vec<&'a Origin>,
    /// The edge at which it ends.
    pub edge: Option<&'a PlateauEdge>,
    /// The settings of its load.
    pub settings: &'a Settings,
}

impl KnownCaches {
    /// What a campaign's inventory tells of its server.
    pub fn from_inventory(inventory: &Json) -> KnownCaches {
        let part = |name: &str| inventory.get("server")?.get(name).cloned();
        let processors = part("processors")
            .and_then(|of| serde_json::from_value::<Processors>(of).ok())
            .unwrap_or_default();
        let memory = part("memory").and_then(|of| serde_json::from_value::<Memory>(of).ok());
        let caches = processors.caches.iter().filter(|cache| cache.kind != "Instruction");
        KnownCaches {
            processors: caches
                .map(|cache| ProcessorCache {
                    level: cache.level,
                    size_bytes: cache.size_bytes as f64,
                    count: cache.count.max(1) as f64,
                })
                .collect(),
            memory_bytes: memory.and_then(|of| of.total_bytes).map(|bytes| bytes as f64),
        }
    }

    /// The name of a plateau, and what it rests on.
    pub fn name(&self, seen: &Seen<'_>) -> (String, String) {
        let Some(verdict) = common(&seen.here) else {
            return unknown(disagreement(&seen.here));
        };
        let falls = seen.edge.filter(|edge| edge.left.value < 1.0);
        match (verdict, falls) {
            (Verdict::Cache, Some(edge))
                if seen.beyond.iter().all(|it| it.verdict == Verdict::Cache) =>
            {
                self.processors(edge, seen.settings)
            }
            (Verdict::Cache, Some(edge)) => self.pages(edge, seen.settings),
            (Verdict::Cache, None) => self.last_in_memory(seen),
            (Verdict::DeviceCache, Some(edge)) => behind_the_kernel(
                edge,
                "its bytes left the kernel, and came faster than the media can",
            ),
            (Verdict::DeviceCache, None) => (
                "a cache behind the kernel".to_owned(),
                seen.here.first().map_or(String::new(), |it| it.reason.clone()),
            ),
            (Verdict::Device, Some(edge)) => behind_the_kernel(
                edge,
                "its bytes left the kernel, and came faster than those of larger working sets",
            ),
            (Verdict::Device, None) => {
                let reason = "the bytes of all its trials came from the device";
                ("the device".to_owned(), reason.to_owned())
            }
            (Verdict::Remote, _) => unknown(
                "its bytes came over a wire, and what the server had in memory is not known",
            ),
            (Verdict::Mixed, _) => mixed(&seen.here),
            (Verdict::Memory, _) => unknown("no storage was read"),
            (Verdict::None, _) => {
                unknown("nothing was read, and writes do not tell where they went")
            }
            (Verdict::Unknown, _) => {
                unknown(seen.here.first().map_or("nothing tells", |it| it.reason.as_str()))
            }
        }
    }

    /// The processors' caches that may end at an edge. Each stream has a file of its own: so many
    /// caches may hold them, or one may hold them all.
    fn processors(&self, edge: &PlateauEdge, settings: &Settings) -> (String, String) {
        let streams = settings.how_many(knob::STREAMS);
        let fits = |cache: &&ProcessorCache| {
            let most = cache.size_bytes * streams.min(cache.count);
            cache.size_bytes <= edge.high_bytes && most >= edge.low_bytes
        };
        let all: Vec<&ProcessorCache> = self.processors.iter().filter(fits).collect();
        let (low, high) = (bytes(edge.low_bytes), bytes(edge.high_bytes));
        match all[..] {
            [cache] => (
                format!("the L{} cache of {}", cache.level, bytes(cache.size_bytes)),
                format!("it ends between {low} and {high}, and its bytes came from memory"),
            ),
            [] => {
                let not = match self.processors.is_empty() {
                    true => "of a processor whose caches the inventory does not know",
                    false => "that the inventory does not know",
                };
                (
                    format!("a cache of between {low} and {high} {not}"),
                    "its bytes came from memory, and so did those of larger working sets"
                        .to_owned(),
                )
            }
            _ => {
                let mut levels: Vec<String> =
                    all.iter().map(|cache| format!("L{}", cache.level)).collect();
                // Cores of two kinds have two sizes of one level.
                levels.dedup();
                unknown(format!("the sizes of {} fit", levels.join(" and ")))
            }
        }
    }

    /// The page cache, by the evidence of where bytes came from; its size is told where it is that
    /// of something known.
    fn pages(&self, edge: &PlateauEdge, settings: &Settings) -> (String, String) {
        let limit = settings.get(knob::MEMORY_LIMIT).map(|bytes| bytes as f64);
        let fits = |size: &f64| size * PAGES_LEAST <= edge.high_bytes && *size >= edge.low_bytes;
        let name = match (limit.filter(fits), self.memory_bytes.filter(fits)) {
            (Some(limit), _) => format!("the page cache, within a memory-limit of {}", size(limit)),
            (None, Some(memory)) if limit.is_none() => {
                format!("the page cache, within {} of memory", bytes(memory))
            }
            _ => "the page cache".to_owned(),
        };
        (name, "its bytes came from memory, and those of larger working sets not all".to_owned())
    }

    /// What answers last of what was measured, where that is memory: beyond all caches of the
    /// processors it can be nothing else.
    fn last_in_memory(&self, seen: &Seen<'_>) -> (String, String) {
        let largest = self.processors.iter().map(|cache| cache.size_bytes * cache.count);
        match largest.reduce(f64::max) {
            Some(largest) if seen.to > largest => (
                "the page cache".to_owned(),
                format!(
                    "its bytes came from memory, and {} is more than all caches of the processors",
                    bytes(seen.to)
                ),
            ),
            Some(_) => unknown("its bytes came from memory, or from a cache of the processors"),
            None => unknown(
                "its bytes came from memory, or from a cache of the processors, whose sizes the \
                 inventory does not know",
            ),
        }
    }
}

/// The verdict on which all trials agree.
fn common(here: &[&Origin]) -> Option<Verdict> {
    let first = here.first()?.verdict;
    here.iter().all(|it| it.verdict == first).then_some(first)
}

fn disagreement(here: &[&Origin]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for it in here {
        if !names.contains(&it.verdict.name()) {
            names.push(it.verdict.name());
        }
    }
    match names.is_empty() {
        true => "nothing tells where its bytes came from".to_owned(),
        false => format!("its trials do not agree on where bytes came from ({})", names.join(", ")),
    }
}

fn unknown(reason: impl Into<String>) -> (String, String) {
    (UNKNOWN.to_owned(), reason.into())
}

fn behind_the_kernel(edge: &PlateauEdge, reason: &str) -> (String, String) {
    let (low, high) = (bytes(edge.low_bytes), bytes(edge.high_bytes));
    (format!("a cache behind the kernel of between {low} and {high}"), reason.to_owned())
}

/// From memory in part; which part is told.
fn mixed(here: &[&Origin]) -> (String, String) {
    let shares: Option<Vec<f64>> = here.iter().map(|it| it.device_share).collect();
    let reason = match shares.filter(|shares| !shares.is_empty()) {
        Some(shares) => {
            let low = shares.iter().copied().fold(f64::INFINITY, f64::min);
            let high = shares.iter().copied().fold(0.0, f64::max);
            format!(
                "from {} to {} of its bytes left the kernel, the rest came from memory",
                base::value::percent(low),
                base::value::percent(high)
            )
        }
        None => "part of its bytes came from memory".to_owned(),
    };
    ("memory and the device together".to_owned(), reason)
}
