//! (pure) The same blocks twice: what a faster second pass says, and when it says nothing.

use crate::measurement::SecondPass;
use base::stats::interval::{mean, sample_variance, t_quantile};
use base::value::{duration, percent};

/// A second pass over the same blocks that is faster by more came from a cache (rule 2).
pub const FASTER_AGAIN: f64 = 0.20;

/// Devices that moved more than the load had them move, by a larger share, served others as well:
/// less is metadata and read-ahead.
pub const CROWD: f64 = 0.05;

/// What a pass may gain by chance: throttles of the kernel and of clouds let a slice's worth
/// through at once after a pause (block/blk-throttle.c: 100 ms), and so does a processor that
/// another process had.
const GAINED_BY_CHANCE_NS: u64 = 200_000_000;

/// Fewer stretches than this say nothing about how a pass goes up and down.
const STRETCHES_MIN: usize = 4;

/// How sure it must be. An evaluation makes some sixty second passes, and neighbours resemble each
/// other more than a quarter of a pass can show: with 0.975 planted wandering disks were called a
/// cache in 2.7 % of 2000 seeds.
const QUANTILE: f64 = 0.99;

/// What two passes over the same blocks say.
#[derive(Clone, Debug, PartialEq)]
pub enum Again {
    /// Nothing that speaks against the media.
    AsBefore,
    /// Something behind the kernel kept them; why.
    Kept(String),
    /// It was faster, which may be chance; why.
    Unclear(String),
}

/// Compares the passes. It was no chance when the second is faster than the first by more than a
/// fifth, by more than a pause lets a throttle save up, and than what another stretch of the first
/// pass of that length could have been: the prediction interval of a mean (Montgomery and Runger,
/// "Applied Statistics and Probability for Engineers", 6th ed., 8-7), over single marks and over
/// quarters of the pass, whichever says less, as neighbours resemble each other.
///
/// `crowd` is what the devices moved in the first pass, as a multiple of what the load had moved: 1
/// when it was alone. A second pass that is no faster than the devices were all the while was only
/// left alone; and what one would have been beside the others nobody knows.
pub fn again(pass: &SecondPass, crowd: f64) -> Again {
    if pass.bytes == 0 || pass.second_ns == 0 || pass.first_ns == 0 {
        return Again::AsBefore;
    }
    let faster = pass.first_ns as f64 / pass.second_ns as f64 - 1.0;
    if faster <= FASTER_AGAIN {
        return Again::AsBefore;
    }
    let said = format!("a second pass over the same blocks was {} faster", percent(faster));
    if crowd > 1.0 + CROWD {
        if faster + 1.0 <= crowd * (1.0 + FASTER_AGAIN) {
            return Again::AsBefore;
        }
        return Again::Unclear(format!(
            "{said}, but others used the devices during the first, and may have left before the \
             second"
        ));
    }
    if pass.first_ns.saturating_sub(pass.second_ns) < GAINED_BY_CHANCE_NS {
        let (first, second) = (duration(pass.first_ns as f64), duration(pass.second_ns as f64));
        return Again::Unclear(format!(
            "{said}, but {second} after {first} is too short to tell a cache from chance; larger \
             files or a longer trial would"
        ));
    }
    match by_chance(pass) {
        Some(chance) if faster > chance => {
            Again::Kept(format!("{said}, so something behind the kernel keeps them"))
        }
        Some(chance) => Again::Unclear(format!(
            "{said}, but the first went up and down so much that one {} faster could be chance",
            percent(chance)
        )),
        // Too short to know its ups and downs: then only what halves the time counts.
        None if faster >= 1.0 => {
            Again::Kept(format!("{said}, so something behind the kernel keeps them"))
        }
        None => {
            Again::Unclear(format!("{said}, but the passes were too short to tell from chance"))
        }
    }
}

/// How much faster than the first pass as a whole a stretch as long as the second could have been
/// by the first one's ups and downs; `None` when too little of them is known.
fn by_chance(pass: &SecondPass) -> Option<f64> {
    let marks = &pass.first_marks;
    let stretches = marks.len().checked_sub(1)?;
    if stretches < STRETCHES_MIN {
        return None;
    }
    let each = reach(marks, 1, pass.second_ns)?;
    Some(each.max(reach(marks, stretches / STRETCHES_MIN, pass.second_ns)?))
}

/// The same by stretches of `step` marks.
fn reach(marks: &[(u64, u64)], step: usize, second_ns: u64) -> Option<f64> {
    let marks: Vec<(u64, u64)> = marks.iter().copied().step_by(step.max(1)).collect();
    let rates: Vec<f64> = marks
        .windows(2)
        .filter(|pair| pair[1].0 > pair[0].0)
        .map(|pair| (pair[1].1.saturating_sub(pair[0].1)) as f64 / (pair[1].0 - pair[0].0) as f64)
        .collect();
    let (count, centre) = (rates.len() as f64, mean(&rates));
    let length_ns = (marks.last()?.0 - marks.first()?.0) as f64 / count;
    if rates.len() < STRETCHES_MIN || centre.partial_cmp(&0.0).is_none_or(|sign| sign.is_le()) {
        return None;
    }
    let again = second_ns as f64 / length_ns;
    let spread = (sample_variance(&rates) * (1.0 / count + 1.0 / again)).sqrt();
    Some(t_quantile(QUANTILE, count - 1.0) * spread / centre)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::stats::testing::{Random, seeds};

    const SLOT_NS: u64 = 100_000_000;

    /// A first pass of these rates in slots of 100 ms, and a second that takes so long.
    fn pass(rates: &[f64], second_ns: u64) -> SecondPass {
        let mut marks = vec![(0, 0)];
        for rate in rates {
            let (at_ns, bytes) = marks[marks.len() - 1];
            marks.push((at_ns + SLOT_NS, bytes + (rate * 1e7) as u64));
        }
        let (first_ns, bytes) = marks[marks.len() - 1];
        SecondPass { bytes, first_ns, second_ns, first_marks: marks }
    }

    fn kept(pass: &SecondPass) -> bool {
        matches!(again(pass, 1.0), Again::Kept(_))
    }

    #[test]
    fn a_cache_shows_in_every_kind_of_pass() {
        let even = [1.0; 20];
        assert!(kept(&pass(&even, 1_600_000_000)), "25 % on an even disk");
        assert_eq!(again(&pass(&even, 1_700_000_000), 1.0), Again::AsBefore);
        // The tail of what was just written was in the cache already the first time.
        let tail = [[1.0; 15].as_slice(), &[8.0; 5]].concat();
        assert!(!matches!(again(&pass(&tail, 700_000_000), 1.0), Again::AsBefore));
        let uneven: Vec<f64> = (0..20).map(|slot| 1.0 + 0.2 * f64::from(slot % 3)).collect();
        assert!(kept(&pass(&uneven, 300_000_000)));
        assert!(kept(&pass(&[1.0; 3], 60_000_000)), "a small file, five times as fast");
    }

    /// An evaluation called a disk that has no cache `device-cache`: its files were small, the pass
    /// short, and after the pause between the passes the throttle let a slice's worth through.
    #[test]
    fn what_a_throttle_saves_up_in_a_pause_is_no_cache() {
        let short = pass(&[1.0; 4], 300_000_000);
        assert!(matches!(again(&short, 1.0), Again::Unclear(_)), "{short:?}");
        let tiny = SecondPass { first_marks: Vec::new(), ..pass(&[1.0; 1], 20_000_000) };
        assert!(matches!(again(&tiny, 1.0), Again::Unclear(_)));
        let nothing = SecondPass::default();
        assert_eq!(again(&nothing, 1.0), Again::AsBefore);
        assert_eq!(again(&SecondPass { bytes: 1, first_ns: 9, ..nothing }, 1.0), Again::AsBefore);
    }

    /// A neighbour left at the boundary of two passes: the device delivered as much before as
    /// after, which was told, and the verdict was `device-cache`.
    #[test]
    fn a_neighbour_that_leaves_between_the_passes_is_no_cache_naive_device_cache() {
        let halved = pass(&[1.0; 20], 1_000_000_000);
        assert!(kept(&halved));
        assert_eq!(again(&halved, 2.0), Again::AsBefore);
        assert_eq!(again(&halved, 1.7), Again::AsBefore);
        assert!(matches!(again(&halved, 1.3), Again::Unclear(_)), "more than they moved together");
        assert!(matches!(again(&halved, 1.02), Again::Kept(_)), "that was metadata");
    }

    /// On a disk that others use the rate wanders; two passes 20 % apart are nothing special there.
    #[test]
    fn on_a_disk_that_wanders_a_faster_pass_is_not_called_a_cache_naive_device_cache() {
        let (mut naive, mut ours, mut of) = (0, 0, 0);
        for seed in seeds() {
            let rates = Random::new(seed).ar1(40, 0.7, 1.0, 0.2);
            let rates: Vec<f64> = rates.iter().map(|rate| rate.max(0.1)).collect();
            let (first, second) = rates.split_at(20);
            let (fast, faster) = (first.iter().sum::<f64>(), second.iter().sum::<f64>());
            let second_ns = 2e9 * fast / faster;
            let pass = pass(first, second_ns as u64);
            of += 1;
            naive += usize::from(pass.first_ns as f64 / second_ns > 1.0 + FASTER_AGAIN);
            ours += usize::from(kept(&pass));
        }
        assert!(naive * 20 > of, "the naive rule errs in {naive} of {of}");
        assert!(ours * 50 < of, "{ours} of {of} are called a cache");
    }
}
