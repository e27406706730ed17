//! A budget of time as it is spent: what is left, what a trial takes besides what was asked of it,
//! and the core set, whose pilots decide where more trials pay.

use std::collections::VecDeque;

use super::written::Written;
use super::{Run, spent_ns};
use base::value::counted;
use experiment::knob::Settings;
use experiment::measurement::Record;
use experiment::measurement::figure_names;
use experiment::measurement::figures;
use experiment::plan;
use experiment::plan::standard::{self, OVERHEAD_NS, PILOTS, Phase, REPLICATES, Wish};
use host::sys::Error;

/// Before so many trials ran what they take besides is not known.
const TRIALS_MIN: u64 = 6;
/// It is never taken for less, ns.
const OVERHEAD_NS_MIN: u64 = 10_000_000;
/// A repeat that would end later than the budget by more than this part of it is left out.
const LATE_PART: u64 = 40;

/// A budget of time.
pub struct Spending {
    budget_ns: u64,
    started_ns: u64,
    /// Trials that ran their time.
    trials: u64,
    /// What they took besides, ns.
    besides_ns: u64,
    /// The same of each of the last [`TRIALS_MIN`].
    last_ns: VecDeque<u64>,
    /// What loads that are still to come take at least, ns.
    reserved_ns: u64,
    /// Repeats for which there was no time.
    left_out: u32,
    /// How much may be written meanwhile.
    pub written: Written,
}

impl Spending {
    /// A budget of which nothing is known but when it began, on the monotonic clock, and what may
    /// be written meanwhile.
    pub fn new(budget_ns: u64, started_ns: u64, written: Written) -> Spending {
        Spending {
            budget_ns,
            started_ns,
            trials: 0,
            besides_ns: 0,
            last_ns: VecDeque::new(),
            reserved_ns: 0,
            left_out: 0,
            written,
        }
    }

    /// What is left, ns.
    pub fn left_ns(&self, run: &Run<'_>) -> u64 {
        self.budget_ns.saturating_sub(spent_ns(run, self.started_ns))
    }

    /// What a trial takes besides what was asked of it, ns: as those before it did, or as the last
    /// of them where these took longer, for a machine may become slow.
    pub fn overhead_ns(&self) -> u64 {
        match self.trials {
            few if few < TRIALS_MIN => OVERHEAD_NS,
            many => {
                let last_ns = self.last_ns.iter().sum::<u64>() / TRIALS_MIN;
                (self.besides_ns / many).max(last_ns).max(OVERHEAD_NS_MIN)
            }
        }
    }

    /// Keeps so much of the budget for loads that are still to come, ns.
    pub fn reserve(&mut self, reserved_ns: u64) {
        self.reserved_ns = reserved_ns;
    }

    /// That repeats were left out, for its reader.
    pub fn said(&self) -> Option<String> {
        let many = counted(u64::from(self.left_out), "repeat");
        (self.left_out > 0).then(|| format!("left out {many}: trials took longer than planned"))
    }

    /// Runs cells, each so often, and shows every record. Trials that may write more than was told
    /// are left out, and repeats that would end too late.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn run(
        &mut self,
        run: &mut Run<'_>,
        cells: &[(String, Settings, u32)],
        seed: u64,
        mut each: impl FnMut(&Record),
    ) -> Result<(), Error> {
        let trials = plan::blocked_each(cells, plan::exact_in_json(seed));
        run.progress.of = run.progress.of.max(run.progress.count + trials.len() as u32);
        for trial in trials {
            if run.stopped() {
                break;
            }
            let asked_ns = standard::expected_ns(&trial.settings).unwrap_or(0);
            let asked_ns = asked_ns.saturating_sub(OVERHEAD_NS);
            let before_ns = spent_ns(run, self.started_ns);
            let takes_ns = asked_ns + self.overhead_ns() + self.reserved_ns;
            let late = is_late(before_ns.saturating_add(takes_ns), self.budget_ns);
            let late = late && trial.replicate > REPLICATES;
            if late || !self.written.allows(&trial.settings) {
                self.left_out += u32::from(late);
                run.progress.of = run.progress.of.saturating_sub(1);
                continue;
            }
            run.prepare(&trial)?;
            let record = run.trial(trial)?;
            self.written.add(&record);
            each(&record);
            let took_ns = spent_ns(run, self.started_ns).saturating_sub(before_ns);
            self.trials += 1;
            let besides_ns = took_ns.saturating_sub(asked_ns);
            self.besides_ns += besides_ns;
            self.last_ns.push_back(besides_ns);
            if self.last_ns.len() as u64 > TRIALS_MIN {
                self.last_ns.pop_front();
            }
        }
        Ok(())
    }
}

/// Whether what ends so long after the beginning ends later than its budget by more than
/// [`LATE_PART`], all ns.
fn is_late(ends_ns: u64, budget_ns: u64) -> bool {
    ends_ns > budget_ns.saturating_add(budget_ns / LATE_PART)
}

/// The core set, as far as it was bought.
pub struct Core {
    pub wishes: Vec<Wish>,
    /// Of each trial, ns.
    pub length_ns: u64,
    /// For more trials, ns.
    pub spare_ns: u64,
}

impl Core {
    /// Runs those of a phase: pilots first, of every cell where there is time for more trials than
    /// the least, else of one of each kind. Gives the cells of `phases`, with those to come, that
    /// turned out to last too long for what is left.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn run(
        &mut self,
        run: &mut Run<'_>,
        spending: &mut Spending,
        phases: &[Phase],
        seed: u64,
    ) -> Result<Vec<Wish>, Error> {
        let Some(&phase) = phases.first() else { return Ok(Vec::new()) };
        let overhead_ns = spending.overhead_ns();
        let of: Vec<&Wish> = self.wishes.iter().filter(|wish| wish.phase == phase).collect();
        let pay = self.spare_ns > 0 && standard::pay(&of, spending.left_ns(run) / 2, overhead_ns);
        let (places, each) = match pay {
            true => ((0..of.len()).collect(), PILOTS),
            false => (standard::of_each_kind(&of), 1),
        };
        let pilots: Vec<(String, Settings, u32)> = places
            .iter()
            .map(|place| standard::pilot(of[*place]))
            .map(|(group, settings)| (group, settings, each))
            .collect();
        let mut told: Vec<Vec<f64>> = vec![Vec::new(); of.len()];
        spending.run(run, &pilots, seed.rotate_left(23), |record| {
            let of = pilots.iter().position(|(_, asked, _)| *asked == record.trial.settings);
            if let (Some(pilot), Some(figure)) = (of, figure(record)) {
                told[places[pilot]].push(figure);
            }
        })?;
        let more_ns = self.lengthen(phase, &told);
        match pay {
            true => self.repeat(phase, &told, spending.overhead_ns()),
            false => self.repeat_alone(phase, spending.overhead_ns()),
        }
        let left_out = match more_ns {
            0 => Vec::new(),
            _ => self.leave_out(phases, spending.left_ns(run), spending.overhead_ns()),
        };
        let length_ns = self.length_ns;
        let of = self.wishes.iter().filter(|wish| wish.phase == phase);
        let cells: Vec<_> = of.map(|wish| standard::timed(wish, length_ns)).collect();
        spending.reserve(self.least_ns(&phases[1..], spending.overhead_ns()));
        spending.run(run, &cells, seed, |_| ())?;
        Ok(left_out)
    }

    /// Makes trials longer in which what is in flight would hardly come and go; how much longer
    /// than there was time to spare for, ns.
    fn lengthen(&mut self, phase: Phase, told: &[Vec<f64>]) -> u64 {
        let mut of: Vec<&mut Wish> =
            self.wishes.iter_mut().filter(|wish| wish.phase == phase).collect();
        let more_ns = standard::lengthen(&mut of, told, self.length_ns);
        let beyond_ns = more_ns.saturating_sub(self.spare_ns);
        self.spare_ns = self.spare_ns.saturating_sub(more_ns);
        beyond_ns
    }

    /// Takes the last cells that are still to run out, until the others fit into what is left.
    fn leave_out(&mut self, phases: &[Phase], left_ns: u64, overhead_ns: u64) -> Vec<Wish> {
        let mut out = Vec::new();
        while self.least_ns(phases, overhead_ns) > left_ns {
            let still = |wish: &Wish| phases.contains(&wish.phase);
            match self.wishes.iter().rposition(still) {
                // One is always measured.
                Some(last) if self.wishes.len() > 1 => out.insert(0, self.wishes.remove(last)),
                _ => break,
            }
        }
        out
    }

    /// Gives the cells of a phase more trials, by what their pilots told and their part of the time
    /// that is there for it.
    fn repeat(&mut self, phase: Phase, told: &[Vec<f64>], overhead_ns: u64) {
        let all_ns = self.least_ns(&[Phase::CoreReads, Phase::CoreWrites], overhead_ns).max(1);
        let own_ns = self.least_ns(&[phase], overhead_ns);
        let part = match phase {
            // What reading leaves is for writing.
            Phase::CoreReads => own_ns as f64 / all_ns as f64,
            _ => 1.0,
        };
        let given_ns = (self.spare_ns as f64 * part) as u64;
        let mut of: Vec<&mut Wish> =
            self.wishes.iter_mut().filter(|wish| wish.phase == phase).collect();
        let left_ns = standard::repeated(&mut of, told, self.length_ns, given_ns, overhead_ns);
        self.spare_ns -= given_ns - left_ns;
    }

    /// Gives the cells of a phase more trials that no limit decides, while there is time for it.
    fn repeat_alone(&mut self, phase: Phase, overhead_ns: u64) {
        let of = self.wishes.iter_mut().filter(|wish| wish.phase == phase);
        let mut of: Vec<&mut Wish> = of.collect();
        self.spare_ns =
            standard::without_pilots(&mut of, self.length_ns, self.spare_ns, overhead_ns);
    }

    /// What those of these phases take, ns, with what is there for more of them.
    pub fn still_ns(&self, phases: &[Phase], overhead_ns: u64) -> u64 {
        match self.least_ns(phases, overhead_ns) {
            0 => 0,
            least_ns => least_ns + self.spare_ns,
        }
    }

    /// What those of these phases take at least, ns.
    pub fn least_ns(&self, phases: &[Phase], overhead_ns: u64) -> u64 {
        let of = self.wishes.iter().filter(|wish| phases.contains(&wish.phase));
        standard::taken_ns(of, self.length_ns, overhead_ns)
    }
}

/// The rate of a pilot, of its bytes that are safe where it writes.
fn figure(record: &Record) -> Option<f64> {
    let name = match record.trial.settings.writes() {
        true => figure_names::DURABLE_THROUGHPUT,
        false => figure_names::THROUGHPUT,
    };
    figures::rate(record, name)
}
