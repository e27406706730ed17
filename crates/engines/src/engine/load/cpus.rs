//! On which processors the streams' threads run, and how many files they may have open.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::engine::Error;
use host::sys::limits::DESCRIPTORS;

/// Said of `cpu-pinning=numa-local` by every load that goes over no network.
pub const NO_CARD: &str = "cpu-pinning=numa-local is near the card of a network, and this load \
                           goes over none; choose spread, or a list";

/// Where threads run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pinning {
    /// Wherever the scheduler puts them.
    None,
    /// Stream i on the i-th processor that we may use, in turn.
    Spread,
    /// In turn on those near the network card, which whoever knows the card finds.
    NumaLocal,
    /// In turn on these.
    List(Vec<usize>),
}

impl Pinning {
    /// Reads `none`, `spread` or a list such as `0-3,8`.
    ///
    /// # Errors
    /// `Unsupported` for anything else.
    pub fn parse(text: &str) -> Result<Pinning, Error> {
        match text {
            "" | "none" => Ok(Pinning::None),
            "spread" => Ok(Pinning::Spread),
            "numa-local" => Ok(Pinning::NumaLocal),
            list => list_of(list).map(Pinning::List).ok_or_else(|| {
                Error::Unsupported(format!("cpu-pinning={list} is no list such as 0-3,8"))
            }),
        }
    }

    /// The processor of each stream in turn; empty when nothing is pinned.
    ///
    /// # Errors
    /// `Unsupported` when the list names a processor that this process may not use, and for those
    /// near a card where no card is known.
    pub fn cpus(&self) -> Result<Vec<usize>, Error> {
        if *self == Pinning::None {
            return Ok(Vec::new());
        }
        let allowed = sched_getaffinity(None).map_err(|why| {
            Error::Failed(format!("cannot ask which CPUs this process may use: {why}"))
        })?;
        let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
        if *self == Pinning::NumaLocal {
            return Err(Error::Unsupported(NO_CARD.to_owned()));
        }
        let Pinning::List(list) = self else { return Ok(all) };
        match list.iter().find(|cpu| !all.contains(cpu)) {
            None => Ok(list.clone()),
            Some(cpu) => Err(Error::Unsupported(format!(
                "cpu-pinning names CPU {cpu}; this process may use {all:?}"
            ))),
        }
    }
}

/// How many files a process may have open, once its limit is raised as far as that goes.
pub fn descriptors() -> u64 {
    DESCRIPTORS.raised().unwrap_or(u64::MAX)
}

/// Puts the calling thread on `cpu`.
///
/// # Errors
/// With the kernel's words.
pub fn pin(cpu: usize) -> Result<(), Error> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set)
        .map_err(|why| Error::Failed(format!("cannot pin a stream to CPU {cpu}: {why}")))
}

fn list_of(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let low: usize = low.trim().parse().ok()?;
        let high: usize = high.trim().parse().ok()?;
        if low > high || high >= CpuSet::MAX_CPU {
            return None;
        }
        cpus.extend(low..=high);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_nonsense_is_refused() {
        assert_eq!(Pinning::parse("0-2,5"), Ok(Pinning::List(vec![0, 1, 2, 5])));
        assert_eq!(Pinning::parse("none"), Ok(Pinning::None));
        for bad in ["3-1", "a", "1,", "-", "99999", "0-99999999999999999999"] {
            assert!(Pinning::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_processor_that_is_not_ours_is_refused_and_one_that_is_can_be_taken() {
        let spread = Pinning::Spread.cpus().unwrap();
        assert!(!spread.is_empty());
        let beyond = Pinning::List(vec![CpuSet::MAX_CPU - 1]);
        assert!(matches!(beyond.cpus(), Err(Error::Unsupported(_))));
        assert_eq!(Pinning::None.cpus(), Ok(Vec::new()));
        assert!(matches!(Pinning::NumaLocal.cpus(), Err(Error::Unsupported(_))));
        let taken = std::thread::spawn(move || {
            pin(spread[0]).unwrap();
            rustix::thread::sched_getcpu() == spread[0]
        });
        assert!(taken.join().unwrap());
    }
}
