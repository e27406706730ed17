//! Lets the streams go, samples them, decides when the trial is over, and waits until they have
//! stopped.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use super::control::{Gate, LoadControl, LoadEvent, sum};
use super::protocol::{LoadProgress, WorkerCommand, WorkerMessage};
use super::talk::{NoLoadResult, ParentTalk};
use crate::engine::Error;
use base::stats::{sequential, settled};
use base::value::Stop;
use experiment::measurement::{Amount, Window, course, latency};
use facts::counters::series::{Column, ColumnKind, Series};
use host::sys::clock::{monotonic_ns, unix_ns};

const SAMPLE_NS: u64 = 100_000_000;
/// A trial that ends by its own interval is sampled this often at first, and half as often whenever
/// it has this many rows: short trials are known finely, and long ones stay small.
const FINE_NS: u64 = 2_000_000;
const FINE_ROWS_MAX: usize = 2000;
const TELL_NS: u64 = 250_000_000;
/// The second pass repeats this much at most.
const FIRST_PASS_NS: u64 = 2_000_000_000;
/// An I/O that takes longer than this after everybody was told to stop is stuck in the kernel.
const HUNG_NS: u64 = 120_000_000_000;

/// [`HUNG_NS`], or what the lab says in a build that is made for tests: it has no two minutes.
fn hung_ns() -> u64 {
    let asked = cfg!(debug_assertions).then(|| std::env::var("BRICKYARD_HUNG_S").ok()).flatten();
    let seconds = asked.and_then(|text| text.parse::<u64>().ok());
    seconds.map_or(HUNG_NS, |seconds| seconds.saturating_mul(1_000_000_000))
}

/// Counters that are sampled; the last only of loads that have such operations.
const COLUMNS: [&str; 5] = ["read_bytes", "read_ops", "write_bytes", "write_ops", "metadata_ops"];

/// How many of them a load has.
fn counters(rules: &StopRules) -> usize {
    if rules.metadata { 5 } else { 4 }
}

/// When a trial is over, and what its samples are.
#[derive(Clone, Copy, Debug)]
pub struct StopRules {
    /// When the timed part ends.
    pub stop: Stop,
    /// A pass goes on this long at least, ns.
    pub at_least_ns: u64,
    /// Everything ends after this, ns.
    pub at_most_ns: u64,
    /// Operations of the timed passes of all streams; `None` when time ends them.
    pub operations: Option<u64>,
    /// A round of steady state, ns.
    pub round_ns: u64,
    /// Each stream says when what it wrote was durable.
    pub ends_durable: bool,
    /// Making it durable may take long, and the parent is told.
    pub flushes: bool,
    /// Operations that move no bytes have a column of their own.
    pub metadata: bool,
}

/// What was seen of a trial from outside its streams.
pub struct WatchedTrial {
    /// The release, on both clocks.
    pub started_monotonic_ns: u64,
    /// The release, Unix time.
    pub started_unix_ns: u64,
    /// Samples.
    pub load: Series,
    /// Latency classes over time; `None` when no latency was recorded.
    pub latency: Option<Series>,
    /// The parent ended it.
    pub stopped_early: bool,
    /// It ended by `at-most` before its own end.
    pub cut: bool,
    /// What each stream had done at the end of the first two seconds, or of the trial, and when.
    pub early: Option<(u64, Vec<Amount>)>,
    /// A trial that runs until it has settled never did, or its interval never was narrow enough.
    pub unsettled: bool,
}

/// How long after it was warm a trial of `length_ns` is over at the latest, ns. It is timed from
/// when all streams run; but streams that hardly ever complete anything do not hold it up.
pub fn patience_ns(length_ns: u64) -> u64 {
    length_ns.saturating_mul(2).max(length_ns.saturating_add(1_000_000_000))
}

/// Runs the load to the end of its drain, and of its flush.
///
/// # Errors
/// When the parent cannot be told, or a stream hangs in the kernel.
pub fn load(
    shared: &LoadControl,
    rules: StopRules,
    talk: &mut ParentTalk<'_>,
) -> Result<WatchedTrial, NoLoadResult> {
    let mut watch = TrialWatcher::release(shared, rules);
    watch.until_ended(talk)?;
    watch.until_drained(talk)?;
    Ok(watch.end())
}

/// Samples a load and decides when it is over.
struct TrialWatcher<'a> {
    shared: &'a LoadControl,
    rules: StopRules,
    watched: WatchedTrial,
    latency: latency::Course,
    released_ns: u64,
    sample_ns: u64,
    next_sample_ns: u64,
    /// Rows at which the interval is looked at again.
    next_look: usize,
    /// Rows there were when the interval was as narrow as was asked; 0 before that.
    decided: usize,
    told_ns: u64,
    told: Amount,
    rounds: Vec<f64>,
    round: Option<(u64, u64)>,
    drained: usize,
    flushed: usize,
}

/// How long the controller waits for streams that have not completed an operation when the window
/// is due.
const NOT_BEGUN_NS: u64 = 1_000_000;

impl TrialWatcher<'_> {
    fn release(shared: &LoadControl, rules: StopRules) -> TrialWatcher<'_> {
        let timed = shared.pauses.then_some(course::TIMED);
        let columns = &COLUMNS[..counters(&rules)];
        let column = |name: &str| Column {
            name: name.to_owned(),
            kind: ColumnKind::Counter,
            values: vec![],
        };
        let load = Series {
            source: "load".to_owned(),
            at_ns: Vec::new(),
            columns: columns.iter().copied().chain(timed).map(column).collect(),
        };
        let by_interval = matches!(rules.stop, Stop::Interval(_));
        let sample_ns = if by_interval { FINE_NS } else { SAMPLE_NS };
        let released_ns = monotonic_ns();
        let started_unix_ns = unix_ns();
        shared.released_ns.store(released_ns, Relaxed);
        let mut watch = TrialWatcher {
            shared,
            rules,
            watched: WatchedTrial {
                started_monotonic_ns: released_ns,
                started_unix_ns,
                load,
                latency: None,
                stopped_early: false,
                cut: false,
                early: None,
                unsettled: false,
            },
            latency: latency::Course::default(),
            released_ns,
            sample_ns,
            next_sample_ns: released_ns + sample_ns,
            next_look: sequential::next_look(0),
            decided: 0,
            told_ns: released_ns,
            told: Amount::default(),
            rounds: Vec::new(),
            round: None,
            drained: 0,
            flushed: 0,
        };
        watch.sample(released_ns, Amount::default());
        shared.open_gate(Gate::Run);
        watch
    }

    /// When time ends the trial, monotonic; and whether that is a cut rather than its own end.
    fn deadline(&self) -> (u64, bool) {
        let cut_ns = self.released_ns.saturating_add(self.rules.at_most_ns);
        let Stop::After(length_ns) = self.rules.stop else { return (cut_ns, true) };
        let opened_ns = self.shared.marks().opened.map(|(at_ns, _)| at_ns);
        let end_ns = match opened_ns {
            Some(at_ns) => at_ns.saturating_add(length_ns),
            None => u64::MAX,
        };
        let warm_ns = self.released_ns.saturating_add(self.shared.warm_up_ns);
        let end_ns = end_ns.min(warm_ns.saturating_add(patience_ns(length_ns)));
        if cut_ns < end_ns { (cut_ns, true) } else { (end_ns, false) }
    }

    fn until_ended(&mut self, talk: &mut ParentTalk<'_>) -> Result<(), NoLoadResult> {
        let shared = self.shared;
        loop {
            let now = monotonic_ns();
            // Who has not begun yet is looked for again soon.
            let opens_ns = shared.opens_at_ns().map(|at_ns| match now >= at_ns {
                true if shared.open_by_time() => u64::MAX,
                true => now + NOT_BEGUN_NS,
                false => at_ns,
            });
            let (deadline_ns, cut) = self.deadline();
            if now >= deadline_ns {
                shared.end();
                self.watched.cut = cut;
                self.watched.unsettled =
                    matches!(self.rules.stop, Stop::Steady | Stop::Interval(_));
                break;
            }
            if now >= self.next_sample_ns {
                self.look(now, talk)?;
                if self.rules.stop == Stop::Steady && settled(&self.rounds) {
                    shared.end();
                    break;
                }
                if let Stop::Interval(share) = self.rules.stop
                    && self.is_narrow(now, f64::from(share) / 10_000.0)
                {
                    if !shared.whole_rounds {
                        shared.end();
                        break;
                    }
                    shared.enough();
                }
            }
            let until_ns = self.next_sample_ns.min(deadline_ns).min(opens_ns.unwrap_or(u64::MAX));
            let wait = Duration::from_nanos(until_ns.saturating_sub(now));
            match talk.events.recv_timeout(wait) {
                Ok(LoadEvent::Ended | LoadEvent::Failed) => break,
                Ok(LoadEvent::Input(line)) if stops(line.as_deref(), talk) => {
                    shared.end();
                    self.watched.stopped_early = true;
                    break;
                }
                Ok(event) => self.count(&event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let marks = shared.marks();
        let ended = marks.ended;
        if let Some((at_ns, amounts)) = &ended {
            // A window that ends with the trial ends with its last completion: what was done by
            // then is what was done at the end.
            let with_it = marks.closed.is_some_and(|(closed_ns, _)| closed_ns == *at_ns);
            let window = shared.window().filter(|_| with_it);
            let end_ns = window.map_or(*at_ns, |window| self.released_ns + window.end_ns);
            self.sample_end(end_ns, sum(amounts));
        }
        if self.watched.early.is_none() {
            self.watched.early = ended;
        }
        Ok(())
    }

    /// Streams that are not sustained come to their end while others run.
    fn count(&mut self, event: &LoadEvent) {
        match event {
            LoadEvent::Drained => self.drained += 1,
            LoadEvent::Flushed => self.flushed += 1,
            _ => {}
        }
    }

    /// Samples, tells, closes rounds.
    fn look(&mut self, now: u64, talk: &mut ParentTalk<'_>) -> Result<(), NoLoadResult> {
        let total = self.shared.total();
        self.sample(now, total);
        if self.latency.is_due(now - self.released_ns) {
            self.latency.row(now - self.released_ns, &self.shared.latencies());
        }
        // Rows lie on multiples of the interval; one that was missed is not made up for.
        while self.next_sample_ns <= now {
            self.next_sample_ns += self.sample_ns;
        }
        if self.watched.early.is_none() && now - self.released_ns >= FIRST_PASS_NS {
            self.watched.early = Some(self.shared.snapshot());
        }
        if self.rules.stop == Stop::Steady {
            self.close_round(now, total);
        }
        if now - self.told_ns >= TELL_NS {
            let seconds = (now - self.told_ns) as f64 / 1e9;
            let done = total.since(&self.told);
            talk.say(&WorkerMessage::Running(LoadProgress {
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
        let Amount { read_bytes, read_ops, write_bytes, write_ops, metadata_ops } = total;
        let row = [read_bytes, read_ops, write_bytes, write_ops, metadata_ops];
        let row = row.into_iter().take(counters(&self.rules));
        // Only a load that is paused has a column for it, and that has one stream.
        let timed = self.shared.cells.first().map(|it| it.timed_ns(now - self.released_ns));
        for (column, value) in load.columns.iter_mut().zip(row.chain(timed)) {
            column.values.push(value);
        }
    }

    /// The end gets a row: else the last bucket would reach to the end of the drain and of the
    /// flush, in which next to nothing is moved. A row less than half an interval before it makes
    /// room, as the rate of a short bucket says little; but of the rows whose interval was narrow
    /// enough to end the trial, no more than the last.
    fn sample_end(&mut self, at_ns: u64, total: Amount) {
        let least = self.decided.saturating_sub(1).max(1);
        let load = &mut self.watched.load;
        let room_ns = at_ns.saturating_sub(self.released_ns + self.sample_ns / 2) as i64;
        while load.at_ns.len() > least && load.at_ns.last().is_some_and(|&last| last > room_ns) {
            load.at_ns.pop();
            for column in &mut load.columns {
                column.values.pop();
            }
        }
        let last_ns =
            load.at_ns.last().map_or(0, |&last| self.released_ns + last.max(0) as u64 + 1);
        self.sample(at_ns.max(last_ns), total);
    }

    /// Whether the interval of the throughput is as narrow as was asked; looked at seldom.
    fn is_narrow(&mut self, now: u64, share: f64) -> bool {
        if self.decided > 0 {
            return false;
        }
        let load = &mut self.watched.load;
        if load.at_ns.len() >= FINE_ROWS_MAX {
            thin(load);
            self.sample_ns *= 2;
            self.next_look = self.next_look.div_ceil(2);
        }
        let Some((opened_ns, _)) = self.shared.marks().opened else { return false };
        let start_ns = opened_ns.saturating_sub(self.released_ns);
        let end_ns = now - self.released_ns;
        let inside = load.at_ns.len() - load.at_ns.partition_point(|&at| at < start_ns as i64);
        if inside <= self.next_look || end_ns - start_ns < self.rules.at_least_ns {
            return false;
        }
        self.next_look = sequential::next_look(inside);
        let window = Window { start_ns, end_ns, done: Amount::default() };
        let counted = match self.rules.metadata {
            true => &["read_ops", "write_ops", "metadata_ops"][..],
            false => &["read_bytes", "write_bytes"],
        };
        let rates = course::rates(load, counted, &window);
        let is_narrow = sequential::narrow(&rates, share);
        self.decided = if is_narrow { load.at_ns.len() } else { 0 };
        is_narrow
    }

    fn close_round(&mut self, now: u64, total: Amount) {
        let Some((opened_ns, _)) = self.shared.marks().opened else { return };
        let length_ns = self.rules.round_ns;
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
        let rules = &self.rules;
        let elapsed_ns = now - self.released_ns;
        match (rules.stop, rules.operations) {
            (Stop::After(_), _) => Some(self.deadline().0 - self.released_ns),
            (Stop::Bits(bits), _) if total.read_bytes > 0 => {
                let share = bits as f64 / (8.0 * total.read_bytes as f64);
                let whole = (elapsed_ns as f64 * share) as u64;
                Some(whole.max(elapsed_ns).min(rules.at_most_ns))
            }
            (_, Some(operations)) if total.ops() > 0 => {
                let whole = elapsed_ns as f64 * operations as f64 / total.ops() as f64;
                Some((whole as u64).max(elapsed_ns).max(rules.at_least_ns).min(rules.at_most_ns))
            }
            _ => None,
        }
    }

    /// Waits until every stream has drained, and a writer's has flushed.
    fn until_drained(&mut self, talk: &mut ParentTalk<'_>) -> Result<(), NoLoadResult> {
        let (rules, shared) = (self.rules, self.shared);
        let streams = shared.cells.len();
        let mut told = false;
        // A process that was stopped meanwhile has not waited: a turn counts for a second at most.
        let (mut waited_ns, mut turned_ns) = (0_u64, monotonic_ns());
        while self.drained < streams || (rules.ends_durable && self.flushed < streams) {
            if shared.marks().failure.is_some() {
                break;
            }
            match talk.events.recv_timeout(Duration::from_nanos(SAMPLE_NS)) {
                Ok(LoadEvent::Input(line)) if stops(line.as_deref(), talk) => {
                    self.watched.stopped_early = true;
                }
                Ok(event) => self.count(&event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now = monotonic_ns();
            waited_ns += (now - turned_ns).min(10 * SAMPLE_NS);
            turned_ns = now;
            if shared.is_flushing() {
                // A full page cache takes a slow device as long as it takes.
                waited_ns = 0;
            }
            if self.drained < streams && waited_ns > hung_ns() {
                let hung = streams - self.drained;
                return Err(Error::Hung(format!(
                    "{hung} of {streams} streams have I/O that the kernel did not finish within \
                     {} s of the end",
                    hung_ns() / 1_000_000_000
                ))
                .into());
            }
            if self.drained == streams && rules.flushes && !told {
                told = true;
                talk.say(&WorkerMessage::Flushing {})?;
            }
        }
        self.sample(monotonic_ns(), shared.total());
        Ok(())
    }

    /// What was seen. No latency is recorded after the end but of operations that were in hand.
    fn end(self) -> WatchedTrial {
        let ended_ns = self.shared.marks().ended.map_or_else(monotonic_ns, |(at_ns, _)| at_ns);
        let elapsed_ns = ended_ns.saturating_sub(self.released_ns);
        let latency = self.latency.end(elapsed_ns, &self.shared.latencies());
        WatchedTrial { latency, ..self.watched }
    }
}

/// Leaves out every second row but the last. Counters only grow, so nothing is lost but detail.
fn thin(load: &mut Series) {
    let last = load.at_ns.len().saturating_sub(1);
    let kept = |row: usize| (last - row).is_multiple_of(2);
    let mut row = 0..;
    load.at_ns.retain(|_| row.next().is_some_and(kept));
    for column in &mut load.columns {
        let mut row = 0..;
        column.values.retain(|_| row.next().is_some_and(kept));
    }
}

/// Whether a line ends the load; the end of the input does.
/// Whether a line of the parent ends the load.
pub fn stops(line: Option<&str>, talk: &mut ParentTalk<'_>) -> bool {
    match line.map(WorkerCommand::parse) {
        None | Some(Some(WorkerCommand::Bye)) => {
            talk.gone = true;
            true
        }
        Some(Some(WorkerCommand::Stop)) => true,
        Some(_) => false,
    }
}
