//! (pure) Verdicts on ZFS: what its cache in memory (the ARC) says, held against the sectors of the
//! pool's devices.
//!
//! The page cache has nothing to say here, and the process's own count is no evidence: up to
//! OpenZFS 2.2 it is what was delivered. The ARC counts every block of data that is asked for, for
//! all pools together (module/zfs/arc.c: `arc_read`, `arc_buf_access`): as a hit, as a miss, or,
//! from 2.2, as on its way. A block that was fetched ahead is a miss when it is fetched and a hit
//! when it is asked for. So hits that neither prefetching nor an earlier part of the same block
//! explains came from memory. Others can only add to them: what they do may make a verdict
//! `unknown`, but never `device`.

use super::facts::OriginFacts;
use super::{AGREEMENT, Origin, Verdict, unknown, verdict};
use crate::knob;
use crate::measurement::evidence::ZfsPoolEvidence;
use base::value::{bytes, percent};
use facts::counters::PoolCounts;

/// Metadata that is read beside data: indirect blocks, dnodes, the map of free space.
const BESIDES_BYTES: f64 = (4 << 20) as f64;

/// What hits and misses may differ from the whole, in counts that others share.
const ROUGHLY: f64 = 0.1;

/// What the ARC's counts come to.
struct Shares {
    /// Blocks that the load needed, each as often as it may have had to be fetched.
    needed: f64,
    /// Of these, those that were in memory before anybody fetched them in this trial.
    kept: f64,
    /// Of these, those that were fetched.
    fetched: f64,
    /// Of those that were fetched, those that cache devices gave.
    second_level: f64,
    /// Of the accesses that the load made, those that were counted at all.
    counted: f64,
    /// What the devices must have read for what was fetched from them, bytes.
    expected_bytes: f64,
}

impl OriginFacts<'_> {
    /// On ZFS.
    pub fn on_pool(&self, pool: &ZfsPoolEvidence) -> Origin {
        if let Some(why) = &pool.unseen {
            return unknown(format!("what the pool lies on cannot be counted: {why}"));
        }
        let (Some(counts), Some(moved)) = (&pool.counts, self.evidence.device_read_bytes) else {
            return unknown("what the ARC and the pool's devices read was not counted");
        };
        let stored = pool.stored_share(self.evidence.file_bytes);
        let (Some(record), Some(stored)) = (pool.record_bytes.filter(|it| *it > 0), stored) else {
            return unknown("the blocks of the files are not of one size, or it is not known");
        };
        if self.evidence.delivered.write_bytes > 0 {
            return unknown(
                "what is written goes through the ARC as well, and its counts do not tell which \
                 block was read back",
            );
        }
        if self.settings.has(knob::IO_ENGINE) && self.settings.get(knob::IO_ENGINE) == "mmap" {
            return unknown("a memory map of a file on ZFS has pages of its own beside the ARC");
        }
        if let Some(found) = self.around_the_arc(counts, moved as f64, record, stored) {
            return found;
        }
        let Some(shares) = self.shares(counts, record as f64, stored) else {
            return unknown(
                "reads of less than a block, in an order that comes back to it, hit the ARC by \
                 themselves",
            );
        };
        self.held_against(&shares, pool, moved as f64, stored)
    }

    /// The blocks that the load touched: each as often as an operation did.
    fn touched(&self, record: f64) -> f64 {
        let operations = (self.evidence.delivered.read_ops as f64).max(1.0);
        operations * (self.delivered() / operations / record).max(1.0)
    }

    /// What the counts come to; `None` when hits that are no sign of anything cannot be told apart.
    fn shares(&self, counts: &PoolCounts, record: f64, stored: f64) -> Option<Shares> {
        let touched = self.touched(record);
        let whole = self.delivered() / record;
        let in_order = self.settings.reads() && self.settings.in_order();
        // Of a block that is read in pieces, one after the other, one is fetched.
        let needed = if in_order { whole.min(touched) } else { touched };
        if !in_order && !self.settings.is_random() && touched > whole * (1.0 + AGREEMENT) {
            return None;
        }
        let waits = counts.demand_waits;
        // A prefetch is counted when it is asked for: of the newer ZFS up to 64 MiB of these are
        // still on their way when the trial ends, and the devices have read none of them.
        let used = |waits: u64| counts.prefetched_hits + waits;
        let prefetched = match counts.prefetched_waits {
            Some(waits) => used(waits).min(counts.prefetch_misses),
            None => counts.prefetch_misses,
        };
        let fetched = (counts.demand_misses + prefetched) as f64;
        let from_cache_devices = (counts.second_level_hits as f64).min(fetched);
        // What was fetched ahead before the trial was no fetch of the trial.
        let ahead = counts.prefetched_hits.min(counts.prefetch_misses) as f64;
        let again = touched - needed;
        let kept = (counts.demand_hits as f64 - ahead - again).max(0.0);
        // Before 2.2 nobody counts an access to a block that is on its way.
        let on_their_way = waits.unwrap_or(counts.prefetch_misses) as f64;
        let counted = (counts.demand_hits + counts.demand_misses) as f64 + on_their_way;
        Some(Shares {
            needed,
            kept: kept / needed,
            fetched: match in_order {
                true => fetched / needed,
                false => counts.demand_misses as f64 / needed,
            },
            second_level: if fetched > 0.0 { from_cache_devices / fetched } else { 0.0 },
            counted: counted / touched,
            expected_bytes: (fetched - from_cache_devices) * record * stored,
        })
    }

    fn held_against(
        &self,
        shares: &Shares,
        pool: &ZfsPoolEvidence,
        moved: f64,
        stored: f64,
    ) -> Origin {
        let told = format!(
            "of {:.0} blocks that were needed the ARC had {} in memory and fetched {}; the \
             devices read {} for {} delivered",
            shares.needed,
            percent(shares.kept.min(1.0)),
            percent(shares.fetched.min(1.0)),
            bytes(moved),
            bytes(self.delivered())
        );
        if shares.counted < 1.0 - AGREEMENT {
            return unknown(format!(
                "{told}; the ARC counted fewer accesses than were made: data not yet written to \
                 the pool, or holes"
            ));
        }
        if shares.kept + shares.fetched > 1.0 + ROUGHLY && shares.kept > AGREEMENT {
            return unknown(format!("{told}: others read through the ARC too"));
        }
        // Sectors that nobody's misses account for are no evidence on ours.
        let least = (1.0 - AGREEMENT) * shares.expected_bytes;
        if moved < least - BESIDES_BYTES.min(least * AGREEMENT) {
            return unknown(format!(
                "{told}, less than the {} that were fetched: a cache below, or blocks that the \
                 pool holds in less room",
                bytes(shares.expected_bytes)
            ));
        }
        let from_devices = shares.fetched * (1.0 - shares.second_level);
        if shares.fetched <= AGREEMENT && shares.kept >= 1.0 - AGREEMENT {
            return self.kept(shares, told, moved);
        }
        if shares.kept <= AGREEMENT
            && shares.fetched >= 1.0 - AGREEMENT
            && shares.second_level <= AGREEMENT
        {
            return fetched(told, stored);
        }
        if (shares.kept + shares.fetched - 1.0).abs() > ROUGHLY {
            return unknown(format!("{told}, which does not make a whole"));
        }
        let share = from_devices.min(1.0 - shares.kept).clamp(0.0, 1.0);
        let second = match shares.second_level > AGREEMENT {
            true => format!(
                "; {} of what was fetched came from the L2ARC on {}",
                percent(shares.second_level),
                pool.cache_devices.join(" and ")
            ),
            false => String::new(),
        };
        let kind = if share <= AGREEMENT { Verdict::Cache } else { Verdict::Mixed };
        if kind == Verdict::Mixed && stored < 1.0 - AGREEMENT {
            return unknown(format!("{told}{second}{}", packed(stored)));
        }
        verdict(kind, Some(share), format!("{told}{second}{}", self.how_to_be_cold()))
    }

    /// The ARC had all of it.
    fn kept(&self, shares: &Shares, told: String, moved: f64) -> Origin {
        let others = moved - shares.expected_bytes - BESIDES_BYTES;
        if others > AGREEMENT * self.delivered() {
            return unknown(format!(
                "{told}: what the ARC says and what the devices read do not agree"
            ));
        }
        let reason = format!("{told}{}", self.how_to_be_cold());
        verdict(Verdict::Cache, Some(shares.fetched.min(1.0)), reason)
    }

    /// What makes reads cold that were to be.
    fn how_to_be_cold(&self) -> &'static str {
        match self.settings.has(knob::COLD) && self.settings.get(knob::COLD) {
            true => {
                "; files of ZFS start cold only when they are larger than the ARC, or on a \
                 dataset with primarycache=metadata"
            }
            false => "",
        }
    }

    /// Direct I/O that this version honours (2.3 and later) goes around the ARC, and is counted by
    /// the pool, and by the process's own account, in whole blocks.
    fn around_the_arc(
        &self,
        counts: &PoolCounts,
        moved: f64,
        record: u64,
        stored: f64,
    ) -> Option<Origin> {
        let direct = counts.direct_read_bytes.filter(|_| self.direct())? as f64;
        if direct <= AGREEMENT * self.delivered() {
            return None;
        }
        let whole_blocks = self.touched(record as f64) * record as f64;
        let own = self.evidence.process_read_bytes.unwrap_or(0) as f64;
        let told = format!(
            "around the ARC {} were read of the pool, {} by the load itself; the devices read {} \
             for {} delivered",
            bytes(direct),
            bytes(own),
            bytes(moved),
            bytes(self.delivered())
        );
        let covers = |part: f64, of: f64| part >= (1.0 - AGREEMENT) * of;
        let all = covers(direct, whole_blocks)
            && covers(own, whole_blocks)
            && covers(moved, whole_blocks * stored);
        Some(match all {
            true => fetched(told, stored),
            false => unknown(format!("{told}: not all of it went around the ARC")),
        })
    }
}

/// All of it was fetched from the devices.
fn fetched(told: String, stored: f64) -> Origin {
    match stored < 1.0 - AGREEMENT {
        true => {
            let reason = format!("{told}{}", packed(stored));
            verdict(Verdict::Unknown, Some(stored), reason)
        }
        false => verdict(Verdict::Device, Some(1.0), told),
    }
}

/// Why a rate is neither the devices' nor memory's.
fn packed(stored: f64) -> String {
    format!(
        "; but the pool holds only {} of what the files say: they are compressed or have holes, \
         and fewer bytes were read than delivered",
        percent(stored)
    )
}

#[cfg(test)]
mod tests;
