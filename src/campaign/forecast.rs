//! How many trials are still to come and how long they will take, the laying out of files included.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::Run;
use super::checkable::{Laid, forget_written};
use super::provisioning::of_layout;
use super::provisioning::preview::MAKING_NS;
use base::value::Value;
use experiment::knob;
use experiment::plan::Trial;
use experiment::plan::standard::{OVERHEAD_NS, expected_ns};
use host::sys::clock;

/// What is still to be done, in order, and what it comes to: a plan of many trials asks after each.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    steps: VecDeque<Step>,
    layouts: usize,
    lays_bytes: u64,
    takes_ns: u64,
    /// Trials of which nobody knows how long they take.
    unknown: usize,
}

/// One trial, and the files that are laid out for it before.
#[derive(Debug)]
struct Step {
    lays_bytes: Option<u64>,
    takes_ns: Option<u64>,
}

impl Run<'_> {
    /// What running these trials will come to, if every file that is laid out stays.
    pub(super) fn forecast(&self, trials: impl Iterator<Item = Trial>) -> Ahead {
        let mut laid = self.bed.laid.clone();
        let mut ahead = Ahead::default();
        let mut stands = None;
        for trial in trials {
            let makes_ns = match self.makes_layout(&trial, &mut stands) {
                true => MAKING_NS,
                false => 0,
            };
            if makes_ns > 0 {
                laid.clear();
            }
            let lacks = self.lacks_files(&trial, &laid);
            let (paths, size) = (self.paths(&trial), trial.settings.get(knob::FILE_SIZE));
            let lays_bytes = lacks.then(|| size.saturating_mul(paths.len() as u64));
            if lacks {
                let mut settings = trial.settings.clone();
                settings.set(knob::SUSTAINED, false);
                let one = |path: &PathBuf| (path.clone(), Laid::by(&settings, 0, 0));
                laid.extend(paths.iter().map(one));
            }
            forget_written(&mut laid, &trial.settings, paths.iter());
            let takes_ns = expected_ns(&trial.settings).map(|ns| ns.saturating_add(makes_ns));
            ahead.add(Step { lays_bytes, takes_ns });
        }
        ahead
    }

    /// Whether a trial needs another layout than the one before it, which `stands`.
    fn makes_layout(&self, trial: &Trial, stands: &mut Option<(u32, Vec<Value>)>) -> bool {
        if self.bed.layouts.is_none() {
            return false;
        }
        let settings = of_layout(&trial.settings).map(|(_, value)| value.clone());
        let wanted = Some((trial.replicate, settings.collect()));
        let other = *stands != wanted;
        *stands = wanted;
        other
    }
}

impl Ahead {
    fn add(&mut self, step: Step) {
        self.count_layout(&step, true);
        match step.takes_ns {
            Some(ns) => self.takes_ns = self.takes_ns.saturating_add(ns),
            None => self.unknown += 1,
        }
        self.steps.push_back(step);
    }

    fn count_layout(&mut self, step: &Step, comes: bool) {
        let Some(bytes) = step.lays_bytes else { return };
        if comes {
            self.layouts += 1;
            self.lays_bytes = self.lays_bytes.saturating_add(bytes);
        } else {
            self.layouts -= 1;
            self.lays_bytes = self.lays_bytes.saturating_sub(bytes);
        }
    }

    /// Trials to come, layouts counted.
    pub(super) fn steps(&self) -> u32 {
        (self.steps.len() + self.layouts) as u32
    }

    /// The next trial's files are there.
    pub(super) fn laid(&mut self) {
        if let Some(mut next) = self.steps.pop_front() {
            self.count_layout(&next, false);
            next.lays_bytes = None;
            self.steps.push_front(next);
        }
    }

    /// The next trial is over.
    pub(super) fn ran(&mut self) {
        let Some(step) = self.steps.pop_front() else { return };
        self.count_layout(&step, false);
        match step.takes_ns {
            Some(ns) => self.takes_ns = self.takes_ns.saturating_sub(ns),
            None => self.unknown -= 1,
        }
    }

    /// When all of it will be over, monotonic clock; `None` while that cannot be told: a trial does
    /// not stop by time, or files are to be laid out and none was written before.
    pub(super) fn ends_at_ns(&self, written_per_s: Option<f64>) -> Option<u64> {
        let left_ns = self.left_ns(written_per_s)?;
        Some(clock::monotonic_ns().saturating_add(left_ns))
    }

    fn left_ns(&self, written_per_s: Option<f64>) -> Option<u64> {
        let layouts_ns = match self.layouts {
            0 => 0,
            some => {
                (self.lays_bytes as f64 * 1e9 / written_per_s?) as u64 + some as u64 * OVERHEAD_NS
            }
        };
        (self.unknown == 0).then(|| self.takes_ns.saturating_add(layouts_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn steps(steps: impl IntoIterator<Item = Step>) -> Ahead {
        let mut ahead = Ahead::default();
        steps.into_iter().for_each(|step| ahead.add(step));
        ahead
    }

    fn step(lays_bytes: Option<u64>, takes_ns: Option<u64>) -> Step {
        Step { lays_bytes, takes_ns }
    }

    /// The first of three trials was `[1/3]` while it was laid out, and the last one was `[4/4]`;
    /// nobody was told that 60 files were to be written before it.
    #[test]
    fn what_is_laid_out_counts() {
        let mut ahead = steps([
            step(Some(2 << 30), Some(2 * SECOND)),
            step(None, Some(2 * SECOND)),
            step(Some(1 << 30), Some(2 * SECOND)),
        ]);
        assert_eq!(ahead.steps(), 5);
        assert_eq!(ahead.left_ns(None), None, "nobody knows yet how fast it writes");
        let rate = Some((1_u64 << 30) as f64);
        assert_eq!(ahead.left_ns(rate), Some(9 * SECOND + 2 * OVERHEAD_NS));
        ahead.laid();
        assert_eq!((ahead.steps(), ahead.left_ns(rate)), (4, Some(7 * SECOND + OVERHEAD_NS)));
        ahead.ran();
        ahead.ran();
        assert_eq!((ahead.steps(), ahead.left_ns(None)), (2, None));
        ahead.laid();
        assert_eq!(ahead.left_ns(None), Some(2 * SECOND), "what is there takes no time");
        ahead.ran();
        assert_eq!((ahead.steps(), ahead.left_ns(None)), (0, Some(0)));
        assert_eq!(steps([step(None, None)]).left_ns(rate), None);
    }
}
