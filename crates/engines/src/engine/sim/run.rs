//! The course of one simulated trial, from event to event.
//!
//! Between events every stream moves at a constant rate. Events are the ends of 10 ms ticks, at
//! which the noise changes; streams starting, completing their first operation or their timed part;
//! a write cache filling up; and the end.

use hdrhistogram::Histogram;

use super::model::Model;
use super::noise::Noise;
use super::rates::Rates;
use base::stats::draws::Draws;
use base::stats::settled;
use experiment::measurement::{Amount, Window, latency, latency_histogram, steady};
use experiment::progress::Progress;
use facts::counters::series::{Column, ColumnKind, Series};

/// Length of a tick, s.
const TICK_S: f64 = 0.01;

/// The load is sampled every so many ticks: every 100 ms.
const SAMPLE_TICKS: u64 = 10;

/// Progress is told every so many ticks.
const PROGRESS_TICKS: u64 = 50;

/// No stream starts later than this after the first, s.
const STAGGER_MAX_S: f64 = 1.0;

/// Places of reads and writes among the latencies.
const READ: usize = 0;
const WRITE: usize = 1;

/// Operations that share one draw of their latency.
const LATENCY_CHUNK: u64 = 16;

/// One stream's course, times in seconds since the start.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// When it starts.
    pub starts_s: f64,
    /// Bytes that have flowed, those of operations under way too.
    pub flowed: f64,
    /// Operations complete.
    pub ops: u64,
    /// In (0, 1]: at which operations a mixed stream reads.
    pub phase: f64,
    /// When its timed part was complete, and what it had done by then.
    pub timed_end: Option<(f64, Amount)>,
    /// When it stopped.
    pub stopped_s: Option<f64>,
}

/// A simulated trial under way.
pub struct SimulatedTrial<'a> {
    model: &'a Model,
    /// One a stream.
    pub courses: Vec<Course>,
    /// Virtual time since the streams were let go.
    pub now_s: f64,
    /// Nothing more will happen.
    pub over: bool,
    /// The noise, at its present state.
    pub noise: Noise,
    /// Everything's speed in this trial.
    pub speed: f64,
    draws: Draws,
    tick: u64,
    factor: f64,
    dirty: f64,
    /// Bytes that the devices read.
    pub device_read: f64,
    /// Bytes that the devices wrote.
    pub device_written: f64,
    read_flowed: f64,
    /// The rates of the last step, while nothing that they depend on has changed.
    known: Option<Rates>,
    /// What [`SimulatedTrial::running`] said after the last step.
    ran: (usize, usize),
    /// When an operation was completed last, as far as the window needs it.
    last_completion_s: f64,
    window_start: Option<(f64, Amount)>,
    /// The window, once it is closed.
    pub window: Option<Window>,
    window_closed: bool,
    /// The load's samples.
    pub load: Series,
    /// Of reads and of writes; a histogram takes a quarter of a MiB, so none is made for nothing.
    pub latency: [Option<Histogram<u64>>; 2],
    /// The same by class, and over time.
    classes: latency::LatencyClassCounts,
    course: latency::Course,
}

impl<'a> SimulatedTrial<'a> {
    /// A trial that has not begun.
    pub fn new(model: &'a Model, seed: u64) -> SimulatedTrial<'a> {
        // Two generators, so that the noise does not depend on the number of streams.
        let mut draws = Draws::new(seed ^ 0x5157_5245_414d_5321);
        let speed = (1.0 + model.trial_noise * draws.normal()).max(0.05);
        let mut run = SimulatedTrial {
            model,
            courses: vec![Course::default(); model.streams],
            now_s: 0.0,
            over: false,
            noise: Noise::new(seed, model.noise, model.correlation),
            speed,
            draws,
            tick: 0,
            factor: speed,
            dirty: 0.0,
            device_read: 0.0,
            device_written: 0.0,
            read_flowed: 0.0,
            known: None,
            ran: (0, 0),
            last_completion_s: 0.0,
            window_start: None,
            window: None,
            window_closed: false,
            load: empty_load(),
            latency: [None, None],
            classes: [0; latency::CLASSES],
            course: latency::Course::default(),
        };
        let rates = run.rates(true);
        for (i, course) in run.courses.iter_mut().enumerate() {
            // Streams that all start at once would complete their operations in lockstep.
            let operation_s = model.block as f64 / rates.each[i].max(1.0);
            let delay_s = operation_s * run.draws.uniform();
            course.starts_s = if i == 0 { 0.0 } else { delay_s.min(STAGGER_MAX_S) };
            course.phase = run.draws.uniform().min(1.0 - 1e-9);
        }
        run.sample();
        run
    }

    /// Goes on to the end of the tick; whether there is more to come.
    pub fn advance(&mut self) -> bool {
        self.factor = self.speed * self.noise.next();
        self.tick += 1;
        let until = self.tick as f64 * TICK_S;
        while !self.over && self.now_s < until {
            self.step(until);
        }
        if !self.over && self.tick.is_multiple_of(SAMPLE_TICKS) {
            self.sample();
            if self.has_settled() {
                self.last_completion_s = self.now_s;
                self.finish();
            }
        }
        !self.over
    }

    /// What to tell, now and then.
    pub fn progress(&self) -> Option<Progress> {
        let rows = self.load.at_ns.len();
        if !self.tick.is_multiple_of(PROGRESS_TICKS) || rows < 2 {
            return None;
        }
        let rate = |name| {
            let column = self.load.column(name)?;
            let grown = column.values[rows - 1].saturating_sub(column.values[rows - 2]);
            let ns = self.load.at_ns[rows - 1] - self.load.at_ns[rows - 2];
            Some(grown as f64 * 1e9 / ns as f64)
        };
        let both = |read, write| rate(read).unwrap_or(0.0) + rate(write).unwrap_or(0.0);
        Some(Progress::Running {
            elapsed_ns: ns(self.now_s),
            expected_ns: self.model.after_s.map(ns),
            bytes_per_s: both("read_bytes", "write_bytes"),
            ops_per_s: both("read_ops", "write_ops"),
        })
    }

    /// Bytes accepted and not yet on the device.
    pub fn dirty_bytes(&self) -> f64 {
        self.dirty
    }

    /// What one stream has completed.
    pub fn done(&self, course: &Course) -> Amount {
        let (ops, bytes) = (course.ops, self.model.bytes_of(course.ops));
        let write_ops = match self.model.read_share {
            1.0 => 0,
            0.0 => ops,
            share => ops - ((ops as f64 * share + course.phase) as u64).min(ops),
        };
        let write_bytes = if write_ops == ops { bytes } else { write_ops * self.model.block };
        Amount {
            read_bytes: bytes - write_bytes,
            read_ops: ops - write_ops,
            write_bytes,
            write_ops,
            metadata_ops: 0,
        }
    }

    /// What all streams have completed.
    pub fn all_done(&self) -> Amount {
        let done = self.courses.iter().map(|course| self.done(course));
        done.fold(Amount::default(), |sum, amount| sum.plus(&amount))
    }

    fn active(&self, course: &Course) -> bool {
        course.stopped_s.is_none() && course.starts_s <= self.now_s
    }

    fn rates(&self, everyone: bool) -> Rates {
        let runs = |i: usize| everyone || self.active(&self.courses[i]);
        Rates::at_state(self.model, runs, self.read_flowed, self.full())
    }

    /// Whether no more can be accepted than is written at the same time.
    fn full(&self) -> bool {
        self.dirty >= self.model.write_cache * (1.0 - 1e-9)
    }

    /// Goes on to the next event, `until` at the latest.
    fn step(&mut self, until: f64) {
        let rates = self.known.take().unwrap_or_else(|| self.rates(false));
        let (from, full) = (self.now_s, self.full());
        let end = self.next_event(until, &rates);
        let seconds = end - from;
        self.now_s = end;
        self.move_device_bytes(&rates, seconds);
        for i in 0..self.courses.len() {
            let course = &mut self.courses[i];
            if course.stopped_s.is_some() || course.starts_s > from {
                continue;
            }
            let before = course.ops;
            course.flowed += rates.each[i] * self.factor * seconds;
            course.ops = self.model.ops_in(course.flowed);
            if course.ops > before {
                self.complete(i, before, rates.each[i] * self.factor, &rates);
            }
        }
        let running = self.running();
        if !self.window_closed && (self.is_over() || running.1 > 0) {
            self.last_completion_s = self.now_s - self.idle_s(&rates);
        }
        let same = running == self.ran && full == self.full() && self.model.returning == 0.0;
        self.ran = running;
        self.known = same.then_some(rates);
        self.close_window_when_one_stopped();
        self.open_window();
        if self.is_over() {
            self.finish();
        }
    }

    /// How long ago any operation was completed.
    fn idle_s(&self, rates: &Rates) -> f64 {
        let since = self.courses.iter().zip(&rates.each).map(|(course, rate)| {
            let under_way = course.flowed - self.model.bytes_of(course.ops) as f64;
            under_way.max(0.0) / (rate * self.factor)
        });
        since.filter(|seconds| seconds.is_finite()).fold(self.now_s, f64::min)
    }

    /// How many have started, and how many have stopped.
    fn running(&self) -> (usize, usize) {
        let started = self.courses.iter().filter(|course| course.starts_s <= self.now_s).count();
        let stopped = self.courses.iter().filter(|course| course.stopped_s.is_some()).count();
        (started, stopped)
    }

    fn next_event(&self, until: f64, rates: &Rates) -> f64 {
        let model = self.model;
        let mut next = until.min(model.after_s.unwrap_or(f64::MAX)).min(model.at_most_s);
        if model.timed_bytes.is_some() && model.at_least_s > self.now_s {
            next = next.min(model.at_least_s);
        }
        for (course, rate) in self.courses.iter().zip(&rates.each) {
            if course.starts_s > self.now_s {
                next = next.min(course.starts_s);
                continue;
            }
            let goal = match model.timed_bytes {
                _ if course.stopped_s.is_some() => continue,
                _ if course.ops == 0 => model.bytes_of(1),
                Some(bytes) if course.timed_end.is_none() => self.timed_goal(bytes),
                _ => continue,
            };
            let seconds = (goal as f64 - course.flowed) / (rate * self.factor);
            next = next.min(self.now_s + seconds);
        }
        let growth = (rates.total * (1.0 - model.read_share) - rates.spare) * self.factor;
        if !self.full() && growth > 0.0 {
            next = next.min(self.now_s + (model.write_cache - self.dirty) / growth);
        }
        // A step too short for floating point to tell would never end.
        next.max(self.now_s + 1e-9).min(until)
    }

    /// Whole operations that make up a timed part of so many bytes.
    fn timed_goal(&self, bytes: u64) -> u64 {
        if bytes == self.model.pass_bytes {
            return bytes;
        }
        self.model.bytes_of(self.model.ops_in((bytes - 1) as f64) + 1)
    }

    fn move_device_bytes(&mut self, rates: &Rates, seconds: f64) {
        let model = self.model;
        let moved = rates.total * self.factor * seconds;
        self.read_flowed += moved * model.read_share;
        self.device_read += moved * model.read_share * (1.0 - rates.hit);
        let written = moved * (1.0 - model.read_share);
        if model.write_cache == 0.0 {
            self.device_written += written;
            return;
        }
        // Once the cache is full, as much is written as is accepted, and `spare` beside.
        let through = if rates.device_share > rates.waiting_share { written } else { 0.0 };
        let absorbed = written - through;
        let drained = (rates.spare * self.factor * seconds).min(self.dirty + absorbed);
        self.dirty = (self.dirty + absorbed - drained).min(model.write_cache);
        self.device_written += drained + through;
    }

    /// Takes note of the operations that stream `i` has completed beyond `before`.
    fn complete(&mut self, i: usize, before: u64, rate: f64, rates: &Rates) {
        let course = &self.courses[i];
        if self.window_start.is_some() && !self.window_closed {
            let mut earlier = course.clone();
            earlier.ops = before;
            let new = self.done(course).since(&self.done(&earlier));
            let mean_ns = self.model.depth * self.model.block as f64 / rate * 1e9;
            self.record(READ, new.read_ops, mean_ns, rates);
            self.record(WRITE, new.write_ops, mean_ns, rates);
        }
        let course = &self.courses[i];
        let Some(bytes) = self.model.timed_bytes.filter(|_| course.timed_end.is_none()) else {
            return;
        };
        if self.model.bytes_of(course.ops) >= bytes.min(self.timed_goal(bytes)) {
            let amount = self.done(course);
            let now_s = self.now_s;
            let course = &mut self.courses[i];
            course.timed_end = Some((now_s, amount));
            if !self.model.sustained {
                course.stopped_s = Some(now_s);
            }
        }
    }

    /// Latencies of mean `mean_ns` by Little's law: what the cache answers takes a memory copy,
    /// and the rest has a fixed part and an exponential one.
    fn record(&mut self, kind: usize, ops: u64, mean_ns: f64, rates: &Rates) {
        let cached = if kind == READ { rates.hit } else { 0.0 };
        let copy_ns = (self.model.block as f64 / self.model.cache_rate * 1e9).min(mean_ns);
        let slow_ns =
            if cached < 1.0 { (mean_ns - cached * copy_ns) / (1.0 - cached) } else { mean_ns };
        if ops == 0 {
            return;
        }
        let histogram = self.latency[kind].get_or_insert_with(latency_histogram);
        let mut left = ops;
        while left > 0 {
            let chunk = left.min(LATENCY_CHUNK);
            let answered = cached < 1.0 && self.draws.uniform() <= cached;
            let latency =
                if answered { copy_ns } else { slow_ns * (0.7 + 0.3 * self.draws.exponential()) };
            histogram.saturating_record_n(latency as u64, chunk);
            self.classes[latency::class(latency as u64)] += chunk;
            left -= chunk;
        }
    }

    fn open_window(&mut self) {
        let all = self.courses.iter().all(|course| course.ops > 0);
        let warm = self.now_s >= self.model.warm_up_s;
        if self.window_start.is_none() && !self.window_closed && all && warm {
            self.window_start = Some((self.now_s, self.all_done()));
        }
    }

    fn close_window_when_one_stopped(&mut self) {
        let stopped = self.courses.iter().any(|course| course.stopped_s.is_some());
        if stopped && !self.window_closed {
            self.close_window();
        }
    }

    fn close_window(&mut self) {
        self.window_closed = true;
        // It begins with a completion. Would it end anywhere, half an operation were lost on
        // average: 5 % of ten blocks.
        self.window = self.window_until(self.last_completion_s);
    }

    fn window_until(&self, end_s: f64) -> Option<Window> {
        let (start_s, before) = self.window_start?;
        let (start_ns, end_ns) = (ns(start_s), ns(end_s));
        let done = self.all_done().since(&before);
        (end_ns > start_ns).then_some(Window { start_ns, end_ns, done })
    }

    fn is_over(&self) -> bool {
        let model = self.model;
        let time = model.after_s.unwrap_or(f64::MAX).min(model.at_most_s);
        let complete = self.courses.iter().all(|course| course.timed_end.is_some());
        let long_enough = !model.sustained || self.now_s >= model.at_least_s;
        self.now_s >= time || (model.timed_bytes.is_some() && complete && long_enough)
    }

    fn has_settled(&self) -> bool {
        self.model.until_steady
            && self.window_until(self.now_s).is_some_and(|window| {
                settled(&steady::rounds(&self.load, &window, self.model.round_ns))
            })
    }

    fn finish(&mut self) {
        self.over = true;
        if !self.window_closed {
            self.close_window();
        }
        let now_s = self.now_s;
        for course in &mut self.courses {
            course.stopped_s.get_or_insert(now_s);
        }
        if self.load.at_ns.last().is_none_or(|&last| last < ns(now_s) as i64) {
            self.sample();
        }
    }

    fn sample(&mut self) {
        let done = self.all_done();
        self.load.at_ns.push(ns(self.now_s) as i64);
        let row = [done.read_bytes, done.read_ops, done.write_bytes, done.write_ops];
        for (column, value) in self.load.columns.iter_mut().zip(row) {
            column.values.push(value);
        }
        if self.course.is_due(ns(self.now_s)) {
            self.course.row(ns(self.now_s), &self.classes);
        }
    }

    /// The latency classes over time, of a run that is over.
    pub fn take_course(&mut self) -> Option<Series> {
        let end_ns = ns(self.now_s);
        std::mem::take(&mut self.course).end(end_ns, &self.classes)
    }
}

fn empty_load() -> Series {
    let names = ["read_bytes", "read_ops", "write_bytes", "write_ops"];
    let column = |name: &str| Column {
        name: name.to_owned(),
        kind: ColumnKind::Counter,
        values: Vec::new(),
    };
    Series {
        source: "load".to_owned(),
        at_ns: Vec::new(),
        columns: names.into_iter().map(column).collect(),
    }
}

/// Seconds in whole ns.
pub fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
