//! The worker's side of a trial: starts the copies, lets them go at once, keeps up the load until
//! the last timed one has ended, then ends everything.

use std::io::{Read, Write};

use super::copies::{Copies, EndedProgram, ParentCommand};
use super::end::{NoCommandResult, heard};
use super::extract::{self, Extract};
use super::output::BoundedOutput;
use super::protocol::{CommandSpec, CommandWorkerMessage, Outcome, ProgramStart};
use super::server;
use experiment::measurement::programs::{Output, Run, ServerCpuTime};
use experiment::measurement::{Amount, Note, Programs, Stream, Window};
use facts::counters::series::{Column, ColumnKind, Series};
use host::sys::held::{self, Gate};
use host::sys::input::WORKER_LINE;
use host::sys::tree::Moved;
use host::sys::{Error, clock};

/// How often what was moved is looked at; less often where looking costs more than 2 % of it.
const SAMPLE_NS: u64 = 100_000_000;
/// What is told to end gets so long to clean up before it is killed.
const PATIENCE_NS: u64 = 2_000_000_000;
/// Kept of all outputs of a trial, bytes.
const OUTPUTS_BYTES: usize = 1 << 20;

/// What is run before the copies, for messages.
const PREPARE: &str = "prepare";
/// With this status `prepare` says that the machine lacks what the trial needs: a test that cannot
/// be run here ends so under automake ("Scripts-based Testsuites").
const LACKS: i32 = 77;

/// Serves one trial over standard input and output.
///
/// # Errors
/// When the first line is not to be understood; all else is told to the parent.
pub fn worker() -> Result<(), Error> {
    let mut bytes = Vec::new();
    let mut input = std::io::stdin().lock();
    let mut piece = [0; 4096];
    let mut whole = false;
    while !whole {
        match input.read(&mut piece) {
            Ok(read) if read > 0 && bytes.len() as u64 <= WORKER_LINE.bytes_max => {
                whole = piece[..read].contains(&b'\n');
                bytes.extend(&piece[..read]);
            }
            _ => return Ok(()),
        }
    }
    drop(input);
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let rest = bytes.split_off((end + 1).min(bytes.len()));
    let spec: CommandSpec = serde_json::from_slice(&bytes)
        .map_err(|error| Error::new("cannot understand what to run", error))?;
    let mut copies = Copies::new(spec.parent, rest)?;
    let message = match CommandTrial::new(&spec, &mut copies).and_then(CommandTrial::run) {
        Ok(outcome) => CommandWorkerMessage::Result(Box::new(outcome)),
        Err(NoCommandResult::Failed(why)) => CommandWorkerMessage::Failed(why),
        Err(NoCommandResult::Skipped(why)) => CommandWorkerMessage::Skipped(why),
        Err(NoCommandResult::Hung(why)) => CommandWorkerMessage::Hung(why),
        Err(NoCommandResult::Gone) => {
            copies.end_all(&[], 0);
            return Ok(());
        }
    };
    say(&message);
    // The process that counts reads our account in /proc once more before it lets us go.
    while copies.turn(clock::monotonic_ns() + SAMPLE_NS).1 != Some(ParentCommand::Bye) {}
    Ok(())
}

fn say(message: &CommandWorkerMessage) {
    if let Ok(line) = serde_json::to_string(message) {
        let mut output = std::io::stdout().lock();
        let _ = writeln!(output, "{line}").and_then(|()| output.flush());
    }
}

/// A program that not even SIGKILL ended. Nothing is cleaned up after it: whatever would, would
/// hang as well.
fn left_behind(ran: Result<(), NoCommandResult>, program: &str) -> NoCommandResult {
    let how =
        format!("SIGKILL did not end it, it hangs in the kernel and was left behind: {program}");
    match ran {
        Err(
            NoCommandResult::Failed(why)
            | NoCommandResult::Skipped(why)
            | NoCommandResult::Hung(why),
        ) => NoCommandResult::Hung(format!("{why}; {how}")),
        Ok(()) | Err(NoCommandResult::Gone) => NoCommandResult::Hung(how),
    }
}

/// A trial of programs on its way.
struct CommandTrial<'a> {
    spec: &'a CommandSpec,
    copies: &'a mut Copies,
    extracts: Vec<Extract>,
    /// Processes that `prepare` left, as a server; they are no part of the load.
    prepared: Vec<i32>,
    started_ns: u64,
    /// What a server had moved before that, and how long it had computed: user and system, ns.
    before: Moved,
    computed: [u64; 2],
    outcome: Outcome,
    /// What each copy moved in its timed runs, and when the last of them ended.
    passes: Vec<(Moved, Option<u64>)>,
    stopped_ns: Vec<u64>,
    cpu_ns: Vec<u64>,
    next_sample_ns: u64,
    outputs: Vec<(u32, [BoundedOutput; 2])>,
}

impl<'a> CommandTrial<'a> {
    fn new(
        spec: &'a CommandSpec,
        copies: &'a mut Copies,
    ) -> Result<CommandTrial<'a>, NoCommandResult> {
        let extracts = spec.extract.iter().map(|text| extract::parse(text));
        let extracts = extracts
            .collect::<Result<_, _>>()
            .map_err(|wrong| NoCommandResult::Failed(wrong.why))?;
        let column = |name: &str| Column {
            name: name.to_owned(),
            kind: ColumnKind::Counter,
            values: Vec::new(),
        };
        let mut columns: Vec<Column> =
            ["read_bytes", "read_ops", "write_bytes", "write_ops"].map(column).into();
        columns.push(Column { kind: ColumnKind::Gauge, ..column("stopped") });
        let load = Series { source: "load".to_owned(), at_ns: Vec::new(), columns };
        let programs =
            Programs { memory_floor_bytes: held::own_peak_bytes(), ..Programs::default() };
        let number = spec.copies.len();
        Ok(CommandTrial {
            spec,
            copies,
            extracts,
            prepared: Vec::new(),
            started_ns: 0,
            before: Moved::default(),
            computed: [0, 0],
            outcome: Outcome { load, programs, ..Outcome::default() },
            passes: vec![(Moved::default(), None); number],
            stopped_ns: vec![0; number],
            cpu_ns: vec![0; number],
            next_sample_ns: 0,
            outputs: Vec::new(),
        })
    }

    /// All of it; whatever was started is ended, and cleaned up after, in every case.
    fn run(mut self) -> Result<Outcome, NoCommandResult> {
        let mut ran = self.measure();
        if matches!(ran, Err(NoCommandResult::Gone)) {
            server::end(self.copies, self.spec, false);
            return Err(NoCommandResult::Gone);
        }
        if matches!(ran, Err(NoCommandResult::Hung(_))) {
            return ran.map(|()| self.outcome);
        }
        let (_, stuck) = self.copies.end_all(&self.serving(), PATIENCE_NS);
        if let Some(one) = stuck.first() {
            return Err(left_behind(ran, one));
        }
        server::end(self.copies, self.spec, false);
        if ran.is_ok() {
            ran = self.after();
            if matches!(ran, Err(NoCommandResult::Gone)) {
                return Err(NoCommandResult::Gone);
            }
        }
        let cleaned = self.beside("cleanup", &self.spec.cleanup);
        let (_, stuck) = self.copies.end_all(&[], PATIENCE_NS);
        if let Some(one) = stuck.first() {
            return Err(left_behind(ran.and(cleaned), one));
        }
        ran?;
        cleaned?;
        Ok(self.outcome)
    }

    /// Processes that outlive the copies.
    fn serving(&self) -> Vec<i32> {
        self.prepared.iter().copied().chain(server::process(self.copies)).collect()
    }

    /// Lets the parent count what the load did, then has its result checked where it is whole.
    fn after(&mut self) -> Result<(), NoCommandResult> {
        say(&CommandWorkerMessage::Over {});
        loop {
            match self.copies.turn(clock::monotonic_ns() + SAMPLE_NS).1 {
                Some(ParentCommand::Counted) => break,
                Some(ParentCommand::Bye) => return Err(NoCommandResult::Gone),
                Some(ParentCommand::Stop) => {
                    return Err(NoCommandResult::Failed("stopped".to_owned()));
                }
                Some(ParentCommand::Go) | None => {}
            }
        }
        match self.is_timed() {
            true => self.beside("check", &self.spec.check),
            false => Ok(()),
        }
    }

    /// Runs what is run before or after, one after the other.
    fn beside(&mut self, what: &str, starts: &[ProgramStart]) -> Result<(), NoCommandResult> {
        for start in starts {
            self.copies.start(0, false, start)?;
            let began_ns = clock::monotonic_ns();
            loop {
                let (over, said) = self.copies.turn(clock::monotonic_ns() + SAMPLE_NS);
                heard(said, what)?;
                // Copies that are being ended may still come in here; their leader is not copy 0.
                if let Some(over) = over.iter().find(|over| over.running.copy == 0) {
                    let Some(why) = over.failure() else { break };
                    let why = format!("{what} {why}");
                    return Err(match over.ended.exit {
                        Some(LACKS) if what == PREPARE => NoCommandResult::Skipped(why),
                        _ => NoCommandResult::Failed(why),
                    });
                }
                if clock::monotonic_ns() - began_ns > self.spec.timeout_ns {
                    return Err(self.late(what));
                }
            }
        }
        Ok(())
    }

    /// Ends what took too long.
    fn late(&mut self, what: &str) -> NoCommandResult {
        let limit = base::value::Value::Duration(self.spec.timeout_ns);
        let (over, stuck) = self.copies.end_all(&self.prepared, PATIENCE_NS);
        let killed = over.iter().any(|over| over.ended.signal == Some(9));
        let what = format!("{what} ran longer than timeout={limit}");
        match stuck.first() {
            Some(one) => left_behind(Err(NoCommandResult::Failed(what)), one),
            None if killed => {
                NoCommandResult::Failed(format!("{what}; SIGTERM did not end it, SIGKILL did"))
            }
            None => NoCommandResult::Failed(format!("{what}; SIGTERM ended it")),
        }
    }

    fn measure(&mut self) -> Result<(), NoCommandResult> {
        self.beside(PREPARE, &self.spec.prepare)?;
        let left: Vec<i32> = self.copies.all(&[]).into_iter().map(|process| process.pid).collect();
        server::start(self.copies, self.spec)?;
        let gate = Gate::new()?;
        for (number, start) in self.spec.copies.iter().enumerate() {
            self.copies.hold(number as u32 + 1, true, start, &gate)?;
        }
        gate.wait(self.spec.copies.len())?;
        let waiting: Vec<i32> = self.copies.running.iter().map(|one| one.held.pid).collect();
        let below = self.copies.all(&[]).into_iter().map(|process| process.pid);
        self.prepared = match self.spec.server {
            // What it has below it is part of the load.
            Some(_) => left,
            None => below.filter(|pid| !waiting.contains(pid)).collect(),
        };
        self.copies.reaped.clear();
        say(&CommandWorkerMessage::Ready {});
        self.await_go()?;
        if let Some(server) = server::process(self.copies) {
            let copies = waiting.into_iter().filter(|pid| *pid != server);
            let others: Vec<i32> = copies.chain(self.prepared.iter().copied()).collect();
            self.before = self.copies.moved(&others);
            self.computed = self.copies.computing(server);
            self.copies.computed.clear();
        }
        self.started_ns = clock::monotonic_ns();
        self.outcome.started_monotonic_ns = self.started_ns;
        self.outcome.started_unix_ns = clock::unix_ns();
        for running in &mut self.copies.running {
            running.started_ns = self.started_ns;
        }
        gate.open(self.spec.copies.len())?;
        self.row((Moved::default(), 0), 0);
        self.load()?;
        self.finish();
        Ok(())
    }

    fn await_go(&mut self) -> Result<(), NoCommandResult> {
        loop {
            let (over, said) = self.copies.turn(clock::monotonic_ns() + SAMPLE_NS);
            match said {
                Some(ParentCommand::Go) => {
                    // Those that turned back at the gate are told of below, in the order of copies.
                    return match over.first().and_then(EndedProgram::failure) {
                        Some(why) => Err(NoCommandResult::Failed(format!("the program {why}"))),
                        None => Ok(()),
                    };
                }
                Some(ParentCommand::Bye) => return Err(NoCommandResult::Gone),
                Some(ParentCommand::Stop) => {
                    return Err(NoCommandResult::Failed("stopped".to_owned()));
                }
                Some(ParentCommand::Counted) | None => {}
            }
            if let Some(over) = over.first() {
                server::lost(over)?;
                let why = over.failure().unwrap_or_else(|| "ended before it began".to_owned());
                return Err(NoCommandResult::Failed(format!("copy {} {why}", over.running.copy)));
            }
        }
    }

    /// Whether every copy has ended its timed runs.
    fn is_timed(&self) -> bool {
        self.passes.iter().all(|(_, end)| end.is_some())
    }

    /// Runs until the last timed run has ended, and those that were started again meanwhile where
    /// they are to come to their end.
    fn load(&mut self) -> Result<(), NoCommandResult> {
        let runs = |copies: &Copies| copies.running.iter().any(|one| one.copy != server::COPY);
        while !self.is_timed() || (self.spec.drains && runs(self.copies)) {
            let (over, said) = self.copies.turn(self.next_sample_ns);
            for one in over {
                self.over(one)?;
            }
            let now_ns = clock::monotonic_ns();
            self.sample(now_ns);
            if said == Some(ParentCommand::Bye) {
                return Err(NoCommandResult::Gone);
            }
            if said == Some(ParentCommand::Stop) {
                self.outcome.stopped = true;
                return Ok(());
            }
            let late = |since_ns: u64| now_ns.saturating_sub(since_ns) > self.spec.timeout_ns;
            if let Some(copy) = self.copies.running.iter().find(|one| late(one.started_ns)) {
                let what = format!("copy {}", copy.copy);
                return Err(self.late(&what));
            }
            if now_ns - self.started_ns > self.spec.at_most_ns {
                if self.is_timed() {
                    // What figures are made of is whole; the account of the runs tells the rest.
                    return Ok(());
                }
                let limit = base::value::Value::Duration(self.spec.at_most_ns);
                let text = format!("The programs were ended after at-most={limit}, on their way.");
                self.outcome.notes.push(Note::new("cut-short", text));
                return Ok(());
            }
        }
        Ok(())
    }

    /// A run has ended: counts it, and starts the copy again where the load is to be kept up.
    fn over(&mut self, over: EndedProgram) -> Result<(), NoCommandResult> {
        let (copy, timed) = (over.running.copy, over.running.timed);
        server::lost(&over)?;
        let Some(index) = (copy as usize).checked_sub(1).filter(|at| *at < self.passes.len())
        else {
            return Ok(());
        };
        if let (true, Some(why)) = (timed, over.failure()) {
            return Err(NoCommandResult::Failed(format!("copy {copy} {why}")));
        }
        let failed = over.failure();
        let elapsed_ns = over.ended_ns.saturating_sub(self.started_ns);
        self.record(&over, index);
        if timed {
            self.passes[index].0 = self.passes[index].0.plus(over.moved.unwrap_or_default());
            if elapsed_ns < self.spec.at_least_ns {
                return Ok(self.copies.start(copy, true, &self.spec.copies[index])?);
            }
            let first = self.passes.iter().all(|(_, end)| end.is_none());
            self.passes[index].1 = Some(elapsed_ns);
            let last = self.is_timed();
            // Until now all were running; from now on, without `sustained`, one less.
            if if self.spec.sustained { last } else { first } {
                self.window(elapsed_ns);
            }
            if !self.spec.sustained {
                return Ok(());
            }
        }
        if self.is_timed() {
            return Ok(());
        }
        match failed {
            None => Ok(self.copies.start(copy, false, &self.spec.copies[index])?),
            Some(why) => {
                let text = format!(
                    "Copy {copy}, started again to keep up the load, {why}: from then on the \
                     others had less to compete with."
                );
                self.outcome.notes.push(Note::new("restart-failed", text));
                Ok(())
            }
        }
    }

    /// What the load has moved until now.
    fn moved(&self) -> Moved {
        self.copies.moved(&self.prepared).minus(self.before)
    }

    fn window(&mut self, end_ns: u64) {
        let moved = self.moved();
        self.outcome.window = Some(Window { start_ns: 0, end_ns, done: amount(moved) });
    }

    /// Keeps the account of a run, and what it said.
    fn record(&mut self, over: &EndedProgram, index: usize) {
        let since = |ns: u64| ns.saturating_sub(self.started_ns);
        let (ended, running) = (&over.ended, &over.running);
        let mut values = Vec::new();
        if running.timed {
            let texts = running.said.each_ref().map(BoundedOutput::whole);
            let texts = [texts[0].as_str(), texts[1].as_str()];
            for rule in &self.extracts {
                match rule.find(&texts) {
                    Some(value) => values.push((rule.name.clone(), value)),
                    None => note_once(&mut self.outcome.notes, running.copy, &rule.name),
                }
            }
            if self.outputs.iter().all(|(copy, _)| *copy != running.copy) {
                self.outputs.push((running.copy, running.said.clone()));
            }
        }
        self.stopped_ns[index] = since(over.ended_ns);
        self.cpu_ns[index] += ended.user_ns + ended.system_ns;
        self.outcome.programs.are_uncounted |= over.moved.is_none();
        self.outcome.programs.runs.push(Run {
            copy: running.copy,
            timed: running.timed,
            started_ns: since(running.started_ns),
            ended_ns: since(over.ended_ns),
            user_ns: ended.user_ns,
            system_ns: ended.system_ns,
            minor_faults: ended.minor_faults,
            major_faults: ended.major_faults,
            blocks_in: ended.blocks_in,
            blocks_out: ended.blocks_out,
            peak_memory_bytes: ended.peak_memory_bytes,
            read_bytes: over.moved.map(|moved| moved.read_bytes),
            write_bytes: over.moved.map(|moved| moved.write_bytes),
            exit: ended.exit,
            signal: ended.signal,
            values,
        });
    }

    /// A row of what was moved, when it is time, and a word to the parent.
    fn sample(&mut self, now_ns: u64) {
        if now_ns < self.next_sample_ns {
            return;
        }
        let (moved, stopped) = self.copies.look(&self.prepared);
        let moved = moved.minus(self.before);
        let at_ns = now_ns.saturating_sub(self.started_ns);
        let last_ns = self.outcome.load.at_ns.last().copied().unwrap_or(0) as u64;
        let of = |place: usize| self.outcome.load.columns[place].values.last().copied();
        let before = of(0).unwrap_or(0) + of(2).unwrap_or(0);
        self.row((moved, stopped), at_ns);
        let bytes = (moved.read_bytes + moved.write_bytes).saturating_sub(before) as f64;
        let seconds = at_ns.saturating_sub(last_ns).max(1) as f64 / 1e9;
        say(&CommandWorkerMessage::Running { elapsed_ns: at_ns, bytes_per_s: bytes / seconds });
        let cost_ns = clock::monotonic_ns() - now_ns;
        self.next_sample_ns = now_ns + SAMPLE_NS.max(cost_ns * 50);
    }

    /// What was moved, and how many programs are stopped.
    fn row(&mut self, (moved, stopped): (Moved, u64), at_ns: u64) {
        let load = &mut self.outcome.load;
        load.at_ns.push(at_ns as i64);
        let row = [moved.read_bytes, 0, moved.write_bytes, 0];
        for (column, value) in load.columns.iter_mut().zip(row) {
            // A process that nobody waited for takes what it moved with it.
            column.values.push(value.max(column.values.last().copied().unwrap_or(0)));
        }
        load.columns[4].values.push(stopped);
    }

    /// Ends what still runs, and sums up.
    fn finish(&mut self) {
        if self.outcome.window.is_none() {
            self.window(clock::monotonic_ns() - self.started_ns);
        }
        let (over, _) = self.copies.end_all(&self.serving(), PATIENCE_NS);
        server::end(self.copies, self.spec, !self.outcome.stopped);
        for mut one in over {
            let index = (one.running.copy as usize).checked_sub(1);
            if let Some(index) = index.filter(|at| *at < self.passes.len()) {
                // It was cut off: no figure is made of it.
                one.running.timed = false;
                self.record(&one, index);
            }
        }
        self.outcome.elapsed_ns = clock::monotonic_ns() - self.started_ns;
        let of = |copy: u32| {
            let of = self.copies.reaped.iter().filter(move |(owner, _)| *owner == copy);
            of.map(|(_, moved)| *moved).fold(Moved::default(), Moved::plus)
        };
        // What a server moved, it moved for the copies: the first one's account has it.
        let first = of(1).plus(of(server::COPY).minus(self.before));
        let streams = self.passes.iter().enumerate().map(|(index, (pass, end))| Stream {
            started_ns: 0,
            pass_end_ns: *end,
            pass: amount(*pass),
            stopped_ns: self.stopped_ns[index],
            total: amount(if index == 0 { first } else { of(index as u32 + 1) }),
            cpu_ns: self.cpu_ns[index],
        });
        self.outcome.streams = streams.collect();
        self.outcome.programs.server = self.served();
        let all = self.copies.reaped.iter().map(|(_, moved)| *moved);
        let all = all.fold(Moved::default(), Moved::plus);
        self.outcome.programs.called_read_bytes = all.called_read_bytes;
        self.outcome.programs.called_write_bytes = all.called_write_bytes;
        let limit =
            (OUTPUTS_BYTES / 4 / self.outputs.len().max(1)).clamp(256, super::output::KEPT_BYTES);
        self.outputs.sort_by_key(|(copy, _)| *copy);
        for (copy, said) in &self.outputs {
            for (stream, kept) in ["stdout", "stderr"].into_iter().zip(said) {
                let (head, tail) = kept.texts(limit);
                let (copy, stream) = (*copy, stream.to_owned());
                let output = Output { copy, stream, bytes: kept.bytes, head, tail };
                self.outcome.programs.outputs.push(output);
            }
        }
    }
}

impl CommandTrial<'_> {
    /// What the server cost since the copies were let go, when there is one and it has ended.
    fn served(&self) -> Option<ServerCpuTime> {
        let of = self.copies.computed.iter().filter(|(copy, _)| *copy == server::COPY);
        let all = of.map(|(_, one)| *one).reduce(|sum, one| [sum[0] + one[0], sum[1] + one[1]])?;
        let since = |place: usize| all[place].saturating_sub(self.computed[place]);
        Some(ServerCpuTime { user_ns: since(0), system_ns: since(1) })
    }
}

fn amount(moved: Moved) -> Amount {
    Amount { read_bytes: moved.read_bytes, write_bytes: moved.write_bytes, ..Amount::default() }
}

/// One note, however many runs did not say it.
fn note_once(notes: &mut Vec<Note>, copy: u32, name: &str) {
    let begin = format!("`{name}`");
    if notes.iter().all(|note| note.kind != "not-extracted" || !note.text.starts_with(&begin)) {
        let text = format!("{begin} was not found in the output of copy {copy}, as it was kept.");
        notes.push(Note::new("not-extracted", text));
    }
}
