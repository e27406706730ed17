//! Lets the streams go, samples them, decides when the trial is over, and waits until they have
//! stopped.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::{Stopped, Talk};
use crate::engine::Error;
use crate::engine::file::control::{Event, Gate, sum};
use crate::engine::file::job::{Direction, Fsync};
use crate::engine::file::protocol::{Command, Message, Running};
use crate::engine::file::stream::Trial;
use crate::measurement::{Amount, Column, Kind, Series};
use crate::stats::settled;
use crate::sys::clock::{monotonic_ns, unix_ns};
use crate::value::Stop;

const SAMPLE_NS: u64 = 100_000_000;
const TELL_NS: u64 = 250_000_000;
/// The second pass repeats this much at most.
const FIRST_PASS_NS: u64 = 2_000_000_000;
/// A round of steady state: DESIGN rule 5.
const READ_ROUND_NS: u64 = 1_000_000_000;
const WRITE_ROUND_NS: u64 = 10_000_000_000;
/// An I/O that takes longer than this after everybody was told to stop is stuck in the kernel.
const HUNG_NS: u64 = 120_000_000_000;

/// What was seen of a trial from outside its streams.
pub struct Watched {
    /// The release, on both clocks.
    pub started_monotonic_ns: u64,
    /// The release, Unix time.
    pub started_unix_ns: u64,
    /// Samples.
    pub load: Series,
    /// The parent ended it.
    pub stopped_early: bool,
    /// It ended by `at-most` before its own end.
    pub cut: bool,
    /// What each stream had done at the end of the first two seconds, or of the trial, and when.
    pub early: Option<(u64, Vec<Amount>)>,
    /// A trial that runs until it has settled never did.
    pub unsettled: bool,
}

/// Runs the load to the end of its drain, and of its flush.
pub fn load(trial: &Trial, talk: &mut Talk<'_>) -> Result<Watched, Stopped> {
    let mut watch = Watch::release(trial);
    watch.until_ended(talk)?;
    watch.until_drained(talk)?;
    Ok(watch.watched)
}

struct Watch<'a> {
    trial: &'a Trial,
    watched: Watched,
    released_ns: u64,
    next_sample_ns: u64,
    told_ns: u64,
    told: Amount,
    rounds: Vec<f64>,
    round: Option<(u64, u64)>,
    drained: usize,
    flushed: usize,
}

impl Watch<'_> {
    fn release(trial: &Trial) -> Watch<'_> {
        let columns = ["read_bytes", "read_ops", "write_bytes", "write_ops"];
        let column =
            |name: &str| Column { name: name.to_owned(), kind: Kind::Counter, values: vec![] };
        let load = Series {
            source: "load".to_owned(),
            at_ns: Vec::new(),
            columns: columns.map(column).into(),
        };
        let released_ns = monotonic_ns();
        let started_unix_ns = unix_ns();
        trial.shared.released_ns.store(released_ns, Relaxed);
        let mut watch = Watch {
            trial,
            watched: Watched {
                started_monotonic_ns: released_ns,
                started_unix_ns,
                load,
                stopped_early: false,
                cut: false,
                early: None,
                unsettled: false,
            },
            released_ns,
            next_sample_ns: released_ns + SAMPLE_NS,
            told_ns: released_ns,
            told: Amount::default(),
            rounds: Vec::new(),
            round: None,
            drained: 0,
            flushed: 0,
        };
        watch.sample(released_ns, Amount::default());
        trial.shared.open_gate(Gate::Run);
        watch
    }

    /// When time ends the trial, monotonic; and whether that is a cut rather than its own end.
    fn deadline(&self) -> (u64, bool) {
        let job = &self.trial.job;
        let cut_ns = self.released_ns.saturating_add(job.at_most_ns);
        let Stop::After(length_ns) = job.stop else { return (cut_ns, true) };
        let opened_ns = self.trial.shared.marks().opened.map(|(at_ns, _)| at_ns);
        // From when all run; but streams that hardly ever complete anything do not hold it up.
        let patience_ns = length_ns.saturating_mul(2).max(length_ns.saturating_add(1_000_000_000));
        let end_ns = match opened_ns {
            Some(at_ns) => at_ns.saturating_add(length_ns),
            None => u64::MAX,
        };
        let end_ns = end_ns.min(self.released_ns.saturating_add(patience_ns));
        if cut_ns < end_ns { (cut_ns, true) } else { (end_ns, false) }
    }

    fn until_ended(&mut self, talk: &mut Talk<'_>) -> Result<(), Stopped> {
        let shared = &self.trial.shared;
        loop {
            let now = monotonic_ns();
            let (deadline_ns, cut) = self.deadline();
            if now >= deadline_ns {
                shared.end();
                self.watched.cut = cut;
                self.watched.unsettled = self.trial.job.stop == Stop::Steady;
                break;
            }
            if now >= self.next_sample_ns {
                self.look(now, talk)?;
                if self.trial.job.stop == Stop::Steady && settled(&self.rounds) {
                    shared.end();
                    break;
                }
            }
            let until_ns = self.next_sample_ns.min(deadline_ns);
            let wait = Duration::from_nanos(until_ns.saturating_sub(now));
            match talk.events.recv_timeout(wait) {
                Ok(Event::Ended | Event::Failed) => break,
                Ok(Event::Input(line)) if stops(line.as_deref(), talk) => {
                    shared.end();
                    self.watched.stopped_early = true;
                    break;
                }
                Ok(event) => self.count(&event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let ended = shared.marks().ended;
        if let Some((at_ns, amounts)) = &ended {
            self.sample_end(*at_ns, sum(amounts));
        }
        if self.watched.early.is_none() {
            self.watched.early = ended;
        }
        Ok(())
    }

    /// Streams that are not sustained come to their end while others run.
    fn count(&mut self, event: &Event) {
        match event {
            Event::Drained => self.drained += 1,
            Event::Flushed => self.flushed += 1,
            _ => {}
        }
    }

    /// Samples, tells, closes rounds.
    fn look(&mut self, now: u64, talk: &mut Talk<'_>) -> Result<(), Stopped> {
        let total = self.trial.shared.total();
        self.sample(now, total);
        // Rows lie on multiples of the interval; one that was missed is not made up for.
        while self.next_sample_ns <= now {
            self.next_sample_ns += SAMPLE_NS;
        }
        if self.watched.early.is_none() && now - self.released_ns >= FIRST_PASS_NS {
            self.watched.early = Some(self.trial.shared.snapshot());
        }
        if self.trial.job.stop == Stop::Steady {
            self.close_round(now, total);
        }
        if now - self.told_ns >= TELL_NS {
            let seconds = (now - self.told_ns) as f64 / 1e9;
            let done = total.since(&self.told);
            talk.say(&Message::Running(Running {
                elapsed_ns: now - self.released_ns,
                expected_ns: self.expected_ns(now, total),
                bytes_per_s: done.bytes() as f64 / seconds,
                ops_per_s: done.ops() as f64 / seconds,
            }))?;
            (self.told_ns, self.told) = (now, total);
        }
        Ok(())
    }

    fn sample(&mut self, now: u64, total: Amount) {
        let load = &mut self.watched.load;
        load.at_ns.push((now - self.released_ns) as i64);
        let row = [total.read_bytes, total.read_ops, total.write_bytes, total.write_ops];
        for (column, value) in load.columns.iter_mut().zip(row) {
            column.values.push(value);
        }
    }

    /// The end gets a row: else the last bucket would reach to the end of the drain and of the
    /// flush, in which next to nothing is moved. A row less than half an interval before it makes
    /// room, as the rate of a short bucket says little.
    fn sample_end(&mut self, at_ns: u64, total: Amount) {
        let load = &mut self.watched.load;
        let room_ns = at_ns.saturating_sub(self.released_ns + SAMPLE_NS / 2) as i64;
        while load.at_ns.len() > 1 && load.at_ns.last().is_some_and(|&last| last > room_ns) {
            load.at_ns.pop();
            for column in &mut load.columns {
                column.values.pop();
            }
        }
        self.sample(at_ns, total);
    }

    fn close_round(&mut self, now: u64, total: Amount) {
        let Some((opened_ns, _)) = self.trial.shared.marks().opened else { return };
        let length_ns = match self.trial.job.direction {
            Direction::Read => READ_ROUND_NS,
            _ => WRITE_ROUND_NS,
        };
        match self.round {
            None => self.round = (now >= opened_ns).then_some((now, total.bytes())),
            Some((since_ns, bytes)) if now - since_ns >= length_ns => {
                self.rounds.push((total.bytes() - bytes) as f64 / (now - since_ns) as f64);
                self.round = Some((now, total.bytes()));
            }
            Some(_) => {}
        }
    }

    /// When it will be over, ns since the release, as far as can be told.
    fn expected_ns(&self, now: u64, total: Amount) -> Option<u64> {
        let job = &self.trial.job;
        let elapsed_ns = now - self.released_ns;
        let operations: Option<u64> =
            self.trial.files.iter().map(|files| job.pass_ops(files.blocks())).sum();
        match (job.stop, operations) {
            (Stop::After(_), _) => Some(self.deadline().0 - self.released_ns),
            (_, Some(operations)) if total.ops() > 0 => {
                let whole = elapsed_ns as f64 * operations as f64 / total.ops() as f64;
                Some((whole as u64).max(elapsed_ns).max(job.at_least_ns).min(job.at_most_ns))
            }
            _ => None,
        }
    }

    /// Waits until every stream has drained, and a writer's has flushed.
    fn until_drained(&mut self, talk: &mut Talk<'_>) -> Result<(), Stopped> {
        let (job, shared) = (&self.trial.job, &self.trial.shared);
        let streams = self.trial.files.len();
        let flushes = job.direction.writes() && job.fsync == Fsync::End;
        let mut told = false;
        let mut ended_ns = monotonic_ns();
        while self.drained < streams || (job.direction.writes() && self.flushed < streams) {
            if shared.marks().failure.is_some() {
                break;
            }
            match talk.events.recv_timeout(Duration::from_nanos(SAMPLE_NS)) {
                Ok(Event::Input(line)) if stops(line.as_deref(), talk) => {
                    self.watched.stopped_early = true;
                }
                Ok(event) => self.count(&event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = monotonic_ns();
            if shared.is_flushing() {
                // A full page cache takes a slow device as long as it takes.
                ended_ns = now;
            }
            if self.drained < streams && now - ended_ns > HUNG_NS {
                let hung = streams - self.drained;
                return Err(Error::Hung(format!(
                    "{hung} of {streams} streams have I/O that the kernel did not finish within \
                     {} s of the end",
                    HUNG_NS / 1_000_000_000
                ))
                .into());
            }
            if self.drained == streams && flushes && !told {
                told = true;
                talk.say(&Message::Flushing {})?;
            }
        }
        self.sample(monotonic_ns(), shared.total());
        Ok(())
    }
}

/// Whether a line ends the load; the end of the input does.
fn stops(line: Option<&str>, talk: &mut Talk<'_>) -> bool {
    match line.map(Command::parse) {
        None | Some(Some(Command::Bye)) => {
            talk.gone = true;
            true
        }
        Some(Some(Command::Stop)) => true,
        Some(_) => false,
    }
}
