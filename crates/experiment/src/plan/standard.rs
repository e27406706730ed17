//! The standard evaluation: which cells there are, and which of them a budget buys.
//!
//! Cells come in a fixed order, the most telling first, and are bought whole, with all their
//! replicates. Time that is there beyond the core set makes its trials longer, then more of them
//! where pilots say that this narrows an interval, or what is known of them where pilots do not
//! pay (`standard/pilots.rs`), then buys curves. What a larger budget would buy is named with that
//! budget.

use crate::knob::{self, Settings};
use base::value::Stop;

mod pilots;
mod wishes;

use pilots::all_alone_ns;
pub use pilots::{PILOTS, lengthen, of_each_kind, pay, pilot, repeated, without_pilots};
pub use wishes::{EvaluationTarget, Phase, Wish, wishes};

/// Every cell of a curve is run this often.
pub const REPLICATES: u32 = 3;
/// Every cell of the core set is: the range of six runs covers their median 97 times in 100.
pub const CORE_REPLICATES: u32 = 6;
/// No trial of a curve is shorter, ns.
pub const TRIAL_NS_MIN: u64 = 2_000_000_000;
/// No trial of the core set is shorter, ns.
pub const CORE_NS_MIN: u64 = 800_000_000;
/// So long is untimed before each trial, ns: what a throttle or a cache had saved up is spent then.
/// No multiple of a tenth of a second, after which many throttles let go the next lot.
pub const WARM_UP_NS: u64 = 150_000_000;
/// The core set is bought whole before its trials grow; they grow up to this, ns.
pub const CORE_NS_MAX: u64 = 5_000_000_000;
/// With time to spare trials grow up to this, ns: five rounds of SNIA's criterion and some.
pub const TRIAL_NS_MAX: u64 = 20_000_000_000;
/// Starting a worker, opening files, proving them cold, and storing: what a trial costs on top.
pub const OVERHEAD_NS: u64 = 180_000_000;
/// A second pass reads again for at most this long, ns.
pub const SECOND_PASS_NS: u64 = 2_000_000_000;
/// It ends when a part tells that it is not faster, which takes it so much of that on average.
const SECOND_PASS_PART: f64 = 0.4;
/// The most streams of the standard evaluation.
pub const STREAMS_MAX: u64 = 100;
/// Streams that write the files; each replicate writes a third of them.
pub const LAYOUT_STREAMS: u64 = 4;

/// Times that are worked out are whole ones of these, ns.
const TEN_MS: u64 = 10_000_000;
/// Writing gets one part in so many of the budget.
const WRITING_PART: u64 = 4;
/// The part of writing's time that its bytes would take at the probe's rate: what a disk takes for
/// a second it seldom takes for longer.
const PLANNED_SHARE: f64 = 0.4;
/// A probe around memory lasts so long, ns: shorter, and a disk that is still busy with the making
/// of its file system may do next to nothing in it.
pub const PROBE_NS: u64 = TRIAL_NS_MIN;

/// How long a writing trial may take, and how much it may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    /// It goes on for at least this long, ns.
    pub at_least_ns: u64,
    /// It is cut after this long, ns; what it accepted has to be made durable after that.
    pub at_most_ns: u64,
    /// Bytes of all files of all directories: they can be written in the time that writing gets.
    pub files_bytes: u64,
}

/// Divides the quarter of a budget that writing gets among the trials that write in `places`
/// directories, where a probe wrote `bytes_per_s` and made them durable.
pub fn writing(budget_ns: u64, places: u64, bytes_per_s: f64) -> Writing {
    let quarter_ns = budget_ns / WRITING_PART;
    let share_ns = quarter_ns / (u64::from(REPLICATES) * places.max(1));
    // Both stand in the settings of the trials, where a person reads them.
    let whole = |ns: u64| ns / TEN_MS * TEN_MS;
    let at_most_ns = whole(share_ns.saturating_sub(OVERHEAD_NS)).max(OVERHEAD_NS);
    Writing {
        // A short budget leaves time to make it durable rather than to write the files over.
        at_least_ns: TRIAL_NS_MIN.min(whole(at_most_ns / 4 * 3)),
        at_most_ns,
        files_bytes: (bytes_per_s * quarter_ns as f64 / 1e9 * PLANNED_SHARE) as u64,
    }
}

/// How the time of a budget is divided among the cells of the standard evaluation, ns.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetAllocation {
    /// How many of the wishes, from the first, are bought.
    pub cells: usize,
    /// Length of each trial of the core set, ns.
    pub core_ns: u64,
    /// Length of each trial of a curve, ns.
    pub trial_ns: u64,
    /// For more trials of the core set, where pilots say that they pay, ns.
    pub spare_ns: u64,
    /// What all will take when that is used up, ns.
    pub total_ns: u64,
}

/// Files a directory holds: enough for the most streams, and divisible into the three parts that
/// the writing replicates make.
pub fn files(streams_max: u64) -> u64 {
    let part = u64::from(REPLICATES) * LAYOUT_STREAMS;
    streams_max.div_ceil(part) * part
}

/// What a cell takes, ns, when its trials last `trial_ns`, and each `overhead_ns` besides.
fn cost_ns(wish: &Wish, trial_ns: u64, overhead_ns: u64) -> u64 {
    let trial_ns = trial_ns.max(wish.least_ns);
    u64::from(wish.replicates) * lasting_ns(&wish.settings, trial_ns, overhead_ns)
}

/// What a trial takes from its start to the next one's, ns; `None` when it does not stop by time.
pub fn expected_ns(settings: &Settings) -> Option<u64> {
    if !settings.has(knob::STOP) {
        return None;
    }
    match settings.stop() {
        Stop::After(ns) => Some(lasting_ns(settings, ns, OVERHEAD_NS)),
        // When its interval is narrow enough, and that at the latest.
        Stop::Interval(_) => Some(lasting_ns(settings, settings.get(knob::AT_MOST), OVERHEAD_NS)),
        Stop::Bytes(_) | Stop::Bits(_) | Stop::Pass | Stop::Steady => None,
    }
}

fn lasting_ns(settings: &Settings, trial_ns: u64, overhead_ns: u64) -> u64 {
    let second = match settings.get(knob::SECOND_PASS) {
        true => (SECOND_PASS_NS.min(trial_ns) as f64 * SECOND_PASS_PART) as u64,
        false => 0,
    };
    // It is drawn, and a third longer on average.
    let warm_up_ns = settings.get(knob::WARM_UP).saturating_mul(4) / 3;
    trial_ns.saturating_add(warm_up_ns).saturating_add(second + overhead_ns)
}

/// The core set gets no more than this part of what is left, where that buys it whole.
const CORE_SHARE: f64 = 0.75;
/// Its trials grow up to this part; what is between goes to more of them.
const GROWN_SHARE: f64 = 0.5;

/// Buys as many cells as `left_ns` allows, in order, at the shortest trials, each of which takes
/// `overhead_ns` besides. Where that is the whole core set, its trials grow first; then those of
/// the curves that were bought, with what is left. A core set that has run already is told by
/// wishes without it.
pub fn buy(wishes: &[Wish], left_ns: u64, overhead_ns: u64) -> BudgetAllocation {
    let (core, curves) = wishes.split_at(wishes.iter().take_while(|wish| wish.is_core()).count());
    let total_ns = |wishes: &[Wish], trial_ns| total_ns(wishes, trial_ns, overhead_ns);
    let affordable =
        |wishes: &[Wish], trial_ns, left_ns| affordable(wishes, trial_ns, overhead_ns, left_ns);
    let part = |share: f64| (left_ns as f64 * share) as u64;
    let mut core_ns = CORE_NS_MIN;
    let mut cells = affordable(core, core_ns, left_ns);
    if cells == core.len() {
        // Whole tenths of a second read better.
        let longer = (core_ns / TENTH_NS..=CORE_NS_MAX / TENTH_NS).map(|tenths| tenths * TENTH_NS);
        let share = part(GROWN_SHARE);
        core_ns = longer.filter(|ns| total_ns(core, *ns) <= share).max().unwrap_or(core_ns);
    } else {
        // The first is always bought: an evaluation that read nothing would be of no use.
        cells = cells.max(1).min(wishes.len());
    }
    let mut total = total_ns(&wishes[..cells.min(core.len())], core_ns);
    let mut spare_ns = 0;
    let mut trial_ns = TRIAL_NS_MIN;
    if cells == core.len() && !curves.is_empty() {
        if !core.is_empty() {
            let alone_ns = all_alone_ns(core, core_ns, overhead_ns);
            spare_ns = part(CORE_SHARE).saturating_sub(total).min(2 * total);
            spare_ns = spare_ns.max(alone_ns.min(left_ns.saturating_sub(total)));
            total += spare_ns;
        }
        let more = affordable(curves, trial_ns, left_ns.saturating_sub(total));
        cells += more;
        // What buys no further curve makes the trials of those that are bought longer.
        let trials: u32 = curves[..more].iter().map(|wish| wish.replicates).sum();
        if trials > 0 {
            let spare = left_ns.saturating_sub(total + total_ns(&curves[..more], trial_ns));
            let longer = trial_ns + spare / u64::from(trials);
            trial_ns = (longer / TENTH_NS * TENTH_NS).clamp(TRIAL_NS_MIN, TRIAL_NS_MAX);
        }
        total += total_ns(&curves[..cells - core.len()], trial_ns);
    }
    BudgetAllocation { cells, core_ns, trial_ns, spare_ns, total_ns: total }
}

/// Blocks that are smaller are written at half the rate of large ones at most, bytes.
const SMALL_BYTES: u64 = 64 << 10;

/// How long timed trials write in all, warm-ups with them, at the rate of large blocks, s. Of the
/// time to spare, which may go to more of any of the core set, half is taken for writing.
pub fn writing_s(wishes: &[Wish], bought: &BudgetAllocation) -> f64 {
    let of = wishes[..bought.cells.min(wishes.len())].iter();
    let each_ns = of.filter(|wish| wish.settings.writes()).map(|wish| {
        let timed_ns = if wish.is_core() { bought.core_ns } else { bought.trial_ns };
        let slower = if wish.settings.get(knob::BLOCK_SIZE) < SMALL_BYTES { 2 } else { 1 };
        // Pilots of each are no longer than one trial.
        (cost_ns(wish, timed_ns, 0) + timed_ns) / slower
    });
    (each_ns.sum::<u64>() + bought.spare_ns / 2) as f64 / 1e9
}

/// A tenth of a second, ns.
const TENTH_NS: u64 = 100_000_000;

/// How many cells, from the first, fit into so much time.
fn affordable(wishes: &[Wish], trial_ns: u64, overhead_ns: u64, left_ns: u64) -> usize {
    let mut total = 0;
    let fits = |wish: &&Wish| {
        total += cost_ns(wish, trial_ns, overhead_ns);
        total <= left_ns
    };
    wishes.iter().take_while(fits).count()
}

fn total_ns(wishes: &[Wish], trial_ns: u64, overhead_ns: u64) -> u64 {
    wishes.iter().map(|wish| cost_ns(wish, trial_ns, overhead_ns)).sum()
}

/// The least budget that buys each wish, ns, when `fixed_ns` goes to other things and a quarter of
/// the budget to writing. Rounded up to 10 s.
pub fn budgets_ns(wishes: &[Wish], fixed_ns: u64) -> Vec<u64> {
    const TEN_SECONDS: u64 = 10_000_000_000;
    let mut sum = fixed_ns;
    let mut core = 0;
    let mut alone_ns = all_alone_ns(&of_core(wishes), CORE_NS_MIN, OVERHEAD_NS);
    let mut budgets = Vec::with_capacity(wishes.len());
    for wish in wishes {
        // The core set has grown to its share before a curve is bought.
        match wish.is_core() {
            true => core += cost_ns(wish, CORE_NS_MIN, OVERHEAD_NS),
            false => {
                core += std::mem::take(&mut alone_ns);
                sum += cost_ns(wish, TRIAL_NS_MIN, OVERHEAD_NS);
            }
        }
        let grown = ((sum - fixed_ns) as f64 * CORE_SHARE / (1.0 - CORE_SHARE)) as u64;
        let most: u64 = 3 * total_ns(&of_core(wishes), CORE_NS_MAX, OVERHEAD_NS);
        let core = core.max(grown.min(most));
        budgets.push(((sum + core) * 4 / 3).div_ceil(TEN_SECONDS) * TEN_SECONDS);
    }
    budgets
}

/// What wishes of the core set take, ns, when their trials last `core_ns`.
pub fn taken_ns<'a>(wishes: impl Iterator<Item = &'a Wish>, core_ns: u64, overhead_ns: u64) -> u64 {
    wishes.map(|wish| cost_ns(wish, core_ns, overhead_ns)).sum()
}

fn of_core(wishes: &[Wish]) -> Vec<Wish> {
    wishes.iter().filter(|wish| wish.is_core()).cloned().collect()
}

/// The group and the settings of a wish, with the length of its trials, and how many.
pub fn timed(wish: &Wish, trial_ns: u64) -> (String, Settings, u32) {
    let mut settings = wish.settings.clone();
    settings.set(knob::STOP, Stop::After(trial_ns.max(wish.least_ns)));
    (wish.group.clone(), settings, wish.replicates)
}

#[cfg(test)]
mod tests;
