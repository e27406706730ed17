//! Pilots of the core set: short trials on which no figure rests, and which decide how many trials
//! each of its cells gets (`base::stats::allocation`).

use super::{CORE_NS_MAX, CORE_REPLICATES, TENTH_NS, Wish, lasting_ns};
use crate::knob::{self, Access, Settings};
use crate::plan::PROBE;
use base::stats::allocation::{Pilots, Wanted, allocated};
use base::stats::mean;
use base::value::Stop;

/// Pilots of each cell.
pub const PILOTS: u32 = 2;
/// How long each lasts, ns.
const PILOT_NS: u64 = 3 * TENTH_NS;
/// They take no larger part of what is left than one in so many.
const PILOTS_PART: u64 = 8;
/// No cell gets more trials.
const TRIALS_MAX: u32 = 24;
/// What is aimed at: what confidence calls high.
const HALF_WIDTH: f64 = 0.05;

/// Whether pilots of these cells pay, with `left_ns` for all that is still to come.
pub fn pay(core: &[&Wish], left_ns: u64, overhead_ns: u64) -> bool {
    let each = core.iter().map(|wish| lasting_ns(&pilot(wish).1, PILOT_NS, overhead_ns));
    let all = each.sum::<u64>().saturating_mul(u64::from(PILOTS));
    all.saturating_mul(PILOTS_PART) <= left_ns
}

/// The group and the settings of a pilot.
pub fn pilot(wish: &Wish) -> (String, Settings) {
    let mut settings = wish.settings.clone();
    settings.set(knob::STOP, Stop::After(PILOT_NS));
    settings.set(knob::SECOND_PASS, false);
    (PROBE.to_owned(), settings)
}

/// What is in flight comes and goes at least so often in a trial of the core set. A trial in which
/// it did less than three times has no rate: with three one of six had none. On throttled disks of
/// 120 MB/s 60 streams were known within 3.2 % with four times, 4.2 % with three and 6.1 % with
/// two, and none was off by more than 1.6 %.
const LOTS: f64 = 3.5;
/// So little in flight comes and goes often enough on any disk, bytes.
const IN_FLIGHT_FEW: u64 = 1 << 20;
/// A request of no more is answered by its latency alone, bytes.
const SMALL_BYTES: u64 = 4096;

/// The access and the block size of a cell: those that differ only in what is in flight are a kind.
fn kind(wish: &Wish) -> (Option<Access>, u64) {
    (wish.settings.get(knob::ACCESS), wish.settings.get(knob::BLOCK_SIZE))
}

/// Bytes that a cell has in flight.
fn in_flight_bytes(wish: &Wish) -> u64 {
    let lanes = wish.settings.get(knob::STREAMS) * wish.settings.get(knob::QUEUE_DEPTH);
    lanes.saturating_mul(wish.settings.get(knob::BLOCK_SIZE))
}

/// The places of cells whose pilots tell how long those of their kind have to be: one of each kind
/// in which some have so much in flight that a slow disk takes long over it.
pub fn of_each_kind(core: &[&Wish]) -> Vec<usize> {
    let mut places: Vec<usize> = Vec::new();
    for (place, wish) in core.iter().enumerate() {
        let own = kind(wish);
        let slow = core.iter().any(|one| kind(one) == own && in_flight_bytes(one) > IN_FLIGHT_FEW);
        if slow && places.iter().all(|known| kind(core[*known]) != own) {
            places.push(place);
        }
    }
    places
}

/// Makes the trials of cells longer in which all that is in flight would hardly come and go, as of
/// 60 streams on a slow disk: their pilots may have told nothing at all, and then the fastest of
/// the same kind tells how long that takes. How much longer all of them are together, ns.
pub fn lengthen(core: &mut [&mut Wish], figures: &[Vec<f64>], core_ns: u64) -> u64 {
    let told = |place: usize| {
        let values = figures.get(place).filter(|values| !values.is_empty())?;
        Some(mean(values)).filter(|rate| *rate > 0.0)
    };
    let rates: Vec<Option<f64>> = (0..core.len())
        .map(|place| {
            let own = kind(core[place]);
            let alike = (0..core.len()).filter(|other| kind(core[*other]) == own);
            told(place).or_else(|| alike.filter_map(told).reduce(f64::max))
        })
        .collect();
    let mut more_ns = 0;
    for (wish, rate) in core.iter_mut().zip(rates) {
        let Some(rate) = rate else { continue };
        let least_ns = (LOTS * in_flight_bytes(wish) as f64 / rate * 1e9) as u64;
        wish.least_ns = least_ns.div_ceil(TENTH_NS).saturating_mul(TENTH_NS).min(CORE_NS_MAX);
        more_ns += u64::from(wish.replicates) * wish.least_ns.saturating_sub(core_ns);
    }
    more_ns
}

/// Trials of a cell in which one small request waits for the other, where pilots do not pay. No
/// limit decides such a cell, and its trials scatter further than those of the others: six knew it
/// within 5 to 7 % on throttled disks on which the others were known within 2. A number that is
/// fixed before the first of them runs keeps what its interval says.
pub const ALONE_REPLICATES: u32 = 8;

/// Whether one small request waits for the other.
fn is_alone(wish: &Wish) -> bool {
    in_flight_bytes(wish) <= SMALL_BYTES
}

/// What bringing a cell to [`ALONE_REPLICATES`] takes, ns; `None` where none are due.
fn alone_ns(wish: &Wish, core_ns: u64, overhead_ns: u64) -> Option<u64> {
    let more = ALONE_REPLICATES.checked_sub(wish.replicates).filter(|_| is_alone(wish))?;
    let each_ns = lasting_ns(&wish.settings, core_ns.max(wish.least_ns), overhead_ns);
    (more > 0).then(|| u64::from(more) * each_ns)
}

/// What that takes for all of them, ns.
pub fn all_alone_ns(core: &[Wish], core_ns: u64, overhead_ns: u64) -> u64 {
    core.iter().filter_map(|wish| alone_ns(wish, core_ns, overhead_ns)).sum()
}

/// Gives the cells in which one small request waits for the other so many trials, one after the
/// other while `spare_ns` allows; gives back what is left of that, ns.
pub fn without_pilots(
    core: &mut [&mut Wish],
    core_ns: u64,
    mut spare_ns: u64,
    overhead_ns: u64,
) -> u64 {
    for wish in core {
        let Some(cost_ns) = alone_ns(wish, core_ns, overhead_ns) else { continue };
        let Some(less_ns) = spare_ns.checked_sub(cost_ns) else { break };
        spare_ns = less_ns;
        wish.replicates = ALONE_REPLICATES;
    }
    spare_ns
}

/// Gives each cell of the core set as many trials, of `core_ns` each, as its pilots' figures ask
/// for and `spare_ns` allows; gives back what is left of that, ns.
pub fn repeated(
    core: &mut [&mut Wish],
    figures: &[Vec<f64>],
    core_ns: u64,
    spare_ns: u64,
    overhead_ns: u64,
) -> u64 {
    let lasting = |wish: &Wish| lasting_ns(&wish.settings, core_ns.max(wish.least_ns), overhead_ns);
    let costs: Vec<u64> = core.iter().map(|wish| lasting(wish)).collect();
    let pilots: Vec<Pilots> = costs
        .iter()
        .zip(figures)
        .map(|(trial_ns, values)| Pilots { values: values.clone(), trial_ns: *trial_ns })
        .collect();
    let wanted = Wanted { least: CORE_REPLICATES, most: TRIALS_MAX, share: HALF_WIDTH };
    let counts = allocated(&pilots, &wanted, spare_ns);
    let mut left_ns = spare_ns;
    for ((wish, count), cost_ns) in core.iter_mut().zip(counts).zip(costs) {
        wish.replicates = count;
        left_ns = left_ns.saturating_sub(u64::from(count - CORE_REPLICATES) * cost_ns);
    }
    left_ns
}
