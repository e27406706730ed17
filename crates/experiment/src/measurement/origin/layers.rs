//! (pure) What layers below the files served from a device that only keeps what others hold:
//! bcache, dm-cache, dm-writecache.
//!
//! Each of its bytes a layer read either from the cache or from the origin, and both may have been
//! read for more: blocks that are moved from one to the other, the layer's own records. So the
//! cache served no more than it read, and no less than what the layer gave and the origin did not
//! read. Where both agree the share is known; else the verdict is `unknown`.

use super::facts::OriginFacts;
use super::{AGREEMENT, Origin, Verdict, unknown, verdict};
use crate::measurement::Evidence;
use base::value::{bytes, percent};
use facts::inventory::CachingLayer;

/// What was read in a layer, all counts.
struct Reads {
    given: f64,
    cache: f64,
    origin: f64,
}

fn reads(layer: &CachingLayer) -> Option<Reads> {
    let of = &layer.reads;
    Some(Reads {
        given: of.given_bytes? as f64,
        cache: of.cache_bytes? as f64,
        origin: of.origin_bytes? as f64,
    })
}

/// How many of the delivered bytes came from caches of layers, as shares of them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kept {
    least: f64,
    most: f64,
}

/// `None` where one was not counted.
fn kept(evidence: &Evidence) -> Option<Kept> {
    let delivered = evidence.delivered.read_bytes as f64;
    let layers = &evidence.below.layers;
    let (mut least, mut most, mut given) = (0.0, 0.0, 0.0);
    for layer in layers {
        let of = reads(layer)?;
        least += (of.given - of.origin).max(0.0);
        most += of.cache.min(of.given);
        let above = layers.iter().find(|above| Some(&above.name) == layer.above.as_ref());
        match above {
            None => given += of.given,
            // Blocks that the layer above moves to its own cache come past here as well.
            Some(above) => {
                let above = reads(above)?;
                least -= (of.given - above.origin.min(above.given)).max(0.0);
            }
        }
    }
    // What the layers gave beyond what was delivered was read ahead, or for others: it may be just
    // what came from the caches.
    least -= (given - delivered).max(0.0);
    let share = |part: f64| (part / delivered.max(1.0)).clamp(0.0, 1.0);
    Some(Kept { least: share(least), most: share(most) })
}

/// Whether layers are known to have served some of the bytes from their caches.
pub fn served(evidence: &Evidence) -> bool {
    kept(evidence).is_some_and(|kept| kept.least > AGREEMENT)
}

impl OriginFacts<'_> {
    /// The verdict `found` on what left the devices, less what came from the caches of layers.
    pub fn past_the_layers(&self, found: Origin) -> Origin {
        let layers = &self.evidence.below.layers;
        if layers.is_empty() {
            return found;
        }
        let Some(kept) = kept(self.evidence) else {
            return unknown(format!(
                "what came from {} was not counted",
                layers.iter().map(in_words).collect::<Vec<String>>().join(" and ")
            ));
        };
        if kept.most <= AGREEMENT {
            return found;
        }
        let told = self.told();
        if kept.most - kept.least > AGREEMENT {
            return unknown(format!(
                "between {} and {} of the bytes came from a cache below the file system: {told}; \
                 what is moved between the two, or for others, hides how much",
                percent(kept.least),
                percent(kept.most)
            ));
        }
        let left = found.device_share.unwrap_or(1.0).min(1.0);
        let share = (left - kept.least).clamp(0.0, 1.0);
        let reason = format!("{} of the bytes came from {told}", percent(kept.most));
        match found.verdict {
            Verdict::Device if kept.least >= 1.0 - AGREEMENT => {
                verdict(Verdict::DeviceCache, found.device_share, reason)
            }
            Verdict::Device => verdict(Verdict::Mixed, Some(share), reason),
            _ => verdict(Verdict::Mixed, Some(share), format!("{reason}; {}", found.reason)),
        }
    }

    /// The layers that served something, each with what was read there.
    fn told(&self) -> String {
        let delivered = self.delivered();
        let mut words = Vec::new();
        for layer in &self.evidence.below.layers {
            let Some(of) = reads(layer).filter(|of| of.cache > 0.01 * delivered) else { continue };
            words.push(format!(
                "{} (of {} that it gave, {} read {} and {} {})",
                in_words(layer),
                bytes(of.given),
                layer.cache.join(" + "),
                bytes(of.cache),
                layer.origin.join(" + "),
                bytes(of.origin)
            ));
        }
        words.join(" and ")
    }
}

/// `nvme0n1, the cache of bcache0`
fn in_words(layer: &CachingLayer) -> String {
    let kind = match layer.name.starts_with(layer.by.as_str()) {
        true => String::new(),
        false => format!(" ({})", layer.by),
    };
    format!("{}, the cache of {}{kind}", layer.cache.join(" + "), layer.name)
}

#[cfg(test)]
mod tests;
