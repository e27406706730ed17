//! (pure) What programs did that were timed as a whole, and the figures and notes of it.
//!
//! The kernel's own account of each run (wait4) and what its output said are kept as counts; means
//! over runs are computed here when asked.

use serde::{Deserialize, Serialize};

use super::named::Figures;
use super::{Evidence, Measurement, Note};
use base::stats::{Estimate, mean};
use base::value::{bytes, percent};

/// Every run of every copy of a trial's program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Programs {
    /// In the order in which they ended.
    pub runs: Vec<Run>,
    /// What the first timed run of each copy said, as far as it was kept.
    pub outputs: Vec<Output>,
    /// The peak of memory that a run has at least: what the process that started it had, as the
    /// kernel counts from the fork on, bytes.
    pub memory_floor_bytes: u64,
    /// Bytes that the programs asked for by read(2) and its like, from wherever they came: files,
    /// pipes, memory (`rchar` of /proc/PID/io).
    pub called_read_bytes: u64,
    /// Of these the bytes of files that all runs which came to their end have read, each exactly
    /// once, where it is known that it does: then the others need not be guessed at.
    pub of_files_bytes: Option<u64>,
    /// Of these what the timed runs read, which are what figures are of.
    pub of_timed_runs_bytes: u64,
    /// What runs that did not come to their end may have read of files on top of that, at most.
    pub of_cut_runs_bytes: u64,
    /// Whether the kernel did not tell of some run what it had read.
    pub are_uncounted: bool,
    /// Bytes that the programs handed to write(2) and its like (`wchar`).
    pub called_write_bytes: u64,
    /// What the server that they were served by cost while they ran.
    pub server: Option<ServerCpuTime>,
}

/// Processor time of the server that programs were served by, with that of the processes that it
/// started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerCpuTime {
    /// In user mode, ns.
    pub user_ns: u64,
    /// In the kernel, ns.
    pub system_ns: u64,
}

/// One run of the program, as wait4(2) tells it; children that it waited for are in all counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Which copy; 1 for the first.
    pub copy: u32,
    /// Whether it is one of those that figures are made of; the others only kept up the load.
    pub timed: bool,
    /// It was let go, ns since the trial's start.
    pub started_ns: u64,
    /// It was seen to have ended, ns since the trial's start.
    pub ended_ns: u64,
    /// Processor time in user mode.
    pub user_ns: u64,
    /// Processor time in the kernel.
    pub system_ns: u64,
    /// Faults that needed no I/O.
    pub minor_faults: u64,
    /// Faults that needed I/O.
    pub major_faults: u64,
    /// Reads from storage in blocks of 512 bytes (`ru_inblock`).
    pub blocks_in: u64,
    /// Writes to storage in blocks of 512 bytes (`ru_oublock`).
    pub blocks_out: u64,
    /// Largest resident set of the program or one of its children, bytes.
    pub peak_memory_bytes: u64,
    /// Bytes read from storage (`read_bytes` of /proc/PID/io); `None` when that was not to be had.
    pub read_bytes: Option<u64>,
    /// Bytes written to storage, or to the page cache on the way there (`write_bytes`).
    pub write_bytes: Option<u64>,
    /// Its exit status; `None` when a signal ended it.
    pub exit: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What `extract` found in its output, by name; only of timed runs.
    pub values: Vec<(String, f64)>,
}

/// What a run wrote to its standard output or standard error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Output {
    /// Which copy; 1 for the first.
    pub copy: u32,
    /// `stdout` or `stderr`.
    pub stream: String,
    /// Bytes that it wrote in all.
    pub bytes: u64,
    /// The first of them; what is not UTF-8 is replaced.
    pub head: String,
    /// The last of them, when not all of them are in `head`.
    pub tail: String,
}

impl Run {
    fn seconds(&self) -> f64 {
        self.ended_ns.saturating_sub(self.started_ns) as f64 / 1e9
    }
}

impl Programs {
    /// Every run that came to its end read `each` bytes of files; the others no more than these.
    pub fn know_of_files(&mut self, each: u64) {
        let of = |runs: usize| each.saturating_mul(runs as u64);
        let is_whole = |run: &Run| run.exit == Some(0);
        let whole = self.runs.iter().filter(|run| is_whole(run)).count();
        self.of_files_bytes = Some(of(whole));
        self.of_timed_runs_bytes = of(self.timed().filter(|run| is_whole(run)).count());
        self.of_cut_runs_bytes = of(self.runs.len() - whole);
    }

    /// Whether each program's own account says what it read: that of a file system that counts, and
    /// not what a server read for it.
    pub fn are_told(&self, evidence: &Evidence) -> bool {
        evidence.process_io_reliable && self.server.is_none()
    }

    fn timed(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| run.timed)
    }

    /// The mean of `of` over the timed runs.
    fn mean(&self, of: impl Fn(&Run) -> f64) -> Option<f64> {
        let values: Vec<f64> = self.timed().map(of).collect();
        (!values.is_empty()).then(|| mean(&values))
    }
}

/// Names of the figures that every trial of a program can have; an extracted one has another name.
pub const NAMES: &[&str] = &[
    "elapsed_s",
    "elapsed_s_max",
    "user_s",
    "system_s",
    "cpu_share",
    "minor_faults",
    "major_faults",
    "blocks_in",
    "blocks_out",
    "peak_memory_bytes",
    "timed_runs",
    "server_user_s",
    "server_system_s",
];

/// Adds the figures of a trial's programs: means over its timed runs, but for the longest
/// (`elapsed_s_max`), the largest (`peak_memory_bytes`) and the number of runs (`timed_runs`).
///
/// - `elapsed_s`, `user_s`, `system_s`; `cpu_share`: both processor times over the elapsed time,
///   above 1 for programs of several threads.
/// - `minor_faults`, `major_faults`, and `blocks_in`, `blocks_out` of 512 bytes.
/// - `server_user_s`, `server_system_s` of the server that the programs were served by, all of them
///   together, until the last had ended.
/// - What `extract` found, by its name: the mean over the runs that said it.
pub fn figures(programs: &Programs, figures: &mut Figures) {
    let mut add = |name: &'static str, value: Option<f64>| {
        if let Some(value) = value {
            figures.insert(name.into(), Estimate::bare(value));
        }
    };
    let seconds = |ns: u64| ns as f64 / 1e9;
    add("elapsed_s", programs.mean(Run::seconds));
    add("elapsed_s_max", programs.timed().map(Run::seconds).reduce(f64::max));
    add("user_s", programs.mean(|run| seconds(run.user_ns)));
    add("system_s", programs.mean(|run| seconds(run.system_ns)));
    add("cpu_share", cpu_share(programs));
    add("minor_faults", programs.mean(|run| run.minor_faults as f64));
    add("major_faults", programs.mean(|run| run.major_faults as f64));
    add("blocks_in", programs.mean(|run| run.blocks_in as f64));
    add("blocks_out", programs.mean(|run| run.blocks_out as f64));
    let peak = programs.timed().map(|run| run.peak_memory_bytes).max();
    // A program smaller than the process that started it has the peak of that one.
    let peak = peak.filter(|peak| *peak > programs.memory_floor_bytes);
    add("peak_memory_bytes", peak.map(|peak| peak as f64));
    let runs = programs.timed().count();
    add("timed_runs", (runs > 0).then_some(runs as f64));
    add("server_user_s", programs.server.map(|server| seconds(server.user_ns)));
    add("server_system_s", programs.server.map(|server| seconds(server.system_ns)));
    let mut said: Vec<(&str, Vec<f64>)> = Vec::new();
    for (name, value) in programs.timed().flat_map(|run| &run.values) {
        match said.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(*value),
            None => said.push((name, vec![*value])),
        }
    }
    for (name, values) in said {
        figures.insert(name.into(), Estimate::bare(mean(&values)));
    }
}

fn cpu_share(programs: &Programs) -> Option<f64> {
    let cpu_ns: u64 = programs.timed().map(|run| run.user_ns + run.system_ns).sum();
    let elapsed: f64 = programs.timed().map(Run::seconds).sum();
    (elapsed > 0.0).then(|| cpu_ns as f64 / 1e9 / elapsed)
}

/// Programs that compute for a larger share of what they may have are not held up by storage.
const BUSY_SHARE: f64 = 0.95;
/// One thread computes for no more than this share of the time; what is over 1 is the clocks'.
const ONE_THREAD_SHARE: f64 = 1.02;
/// Restarted copies that have less than this share of the timed runs' bytes read from storage find
/// the rest in memory.
const AS_COLD_SHARE: f64 = 0.8;

/// What held up programs that computed for this share of their time, on so many processors (0:
/// nobody knows), was a processor: all that they may use, or the one that one thread can have.
fn cpu_bound(programs: &Programs, share: f64, cpus: usize) -> Option<Note> {
    let copies = programs.timed().map(|run| run.copy).max().unwrap_or(1);
    let most = cpus as f64 / f64::from(copies.max(1));
    let all = cpus > 0 && share > BUSY_SHARE * most;
    let one = share > BUSY_SHARE && share <= ONE_THREAD_SHARE;
    let text = match (all, one) {
        (true, _) => format!(
            "The programs kept all processors that they may use busy (each computed for {} of its \
             time): the figures are the processors', not the storage's.",
            percent(share)
        ),
        (false, true) => format!(
            "The programs computed for {} of their time: unless several threads or processes of \
             one shared that, the figures are the processor's, not the storage's.",
            percent(share)
        ),
        (false, false) => return None,
    };
    Some(Note::new("cpu-bound", text))
}

/// What whoever reads the figures of programs must know (rules 1 and 6).
pub fn notes(measurement: &Measurement) -> Vec<Note> {
    let Some(programs) = &measurement.programs else { return Vec::new() };
    let mut notes = Vec::new();
    let cpus = measurement.evidence.allowed_cpus.len();
    notes.extend(cpu_share(programs).and_then(|share| cpu_bound(programs, share, cpus)));
    let read = |timed: bool| {
        let of = programs.runs.iter().filter(|run| run.timed == timed && run.exit == Some(0));
        let all: Vec<f64> = of.filter_map(|run| Some(run.read_bytes? as f64)).collect();
        (!all.is_empty()).then(|| mean(&all))
    };
    if let (Some(timed), Some(after)) = (read(true), read(false))
        && timed > 1e6
        && after < AS_COLD_SHARE * timed
    {
        let text = format!(
            "A copy that had ended was started again to keep up the load, but read only {} from \
             storage where the timed one had read {}: the rest was in memory, so the last copies \
             had less to compete with.",
            bytes(after),
            bytes(timed)
        );
        notes.push(Note::new("restarts-from-memory", text));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn run(copy: u32, seconds: u64, cpu_s: u64) -> Run {
        Run {
            copy,
            timed: true,
            ended_ns: seconds * SECOND,
            user_ns: cpu_s * SECOND,
            peak_memory_bytes: 1000 * u64::from(copy),
            read_bytes: Some(100_000_000),
            exit: Some(0),
            values: vec![("rate_bytes_per_s".into(), f64::from(copy))],
            ..Run::default()
        }
    }

    fn of(runs: Vec<Run>) -> Measurement {
        let programs = Programs { runs, memory_floor_bytes: 1500, ..Programs::default() };
        Measurement { programs: Some(programs), ..Measurement::default() }
    }

    fn all(measurement: &Measurement) -> Figures {
        let mut figures = Figures::new();
        super::figures(measurement.programs.as_ref().unwrap(), &mut figures);
        figures
    }

    #[test]
    fn figures_are_means_over_the_timed_runs_alone() {
        let mut untimed = run(1, 100, 100);
        untimed.timed = false;
        let figures = all(&of(vec![run(1, 2, 1), run(2, 4, 1), untimed]));
        assert_eq!(figures["elapsed_s"].value, 3.0);
        assert_eq!(figures["elapsed_s_max"].value, 4.0);
        assert!((figures["cpu_share"].value - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(figures["rate_bytes_per_s"].value, 1.5);
        assert_eq!(figures["peak_memory_bytes"].value, 2000.0);
        assert_eq!(figures["timed_runs"].value, 2.0);
        for name in figures.keys().filter(|name| name.as_ref() != "rate_bytes_per_s") {
            assert!(NAMES.contains(&name.as_ref()), "{name}");
        }
    }

    /// The kernel counts the peak from the fork on: `true` had the memory of brickyard.
    #[test]
    fn a_peak_that_may_be_our_own_is_no_figure() {
        assert!(!all(&of(vec![run(1, 2, 1)])).contains_key("peak_memory_bytes"));
        assert!(all(&of(vec![])).is_empty());
    }

    /// `make --jobs=16` that used one of sixteen processors and waited for the disk the rest of its
    /// time was told to be the processor's figure, as it had computed for 120 % of its time.
    #[test]
    fn a_program_of_many_processes_is_cpu_bound_only_when_all_processors_are_busy() {
        let kinds = |cpu_s: u64, copies: u32, cpus: u32| {
            let mut of = of((1..=copies).map(|copy| run(copy, 100, cpu_s)).collect());
            of.evidence.allowed_cpus = (0..cpus).collect();
            notes(&of).len()
        };
        assert_eq!((kinds(120, 1, 16), kinds(190, 1, 2), kinds(192, 1, 2)), (0, 0, 1));
        assert_eq!((kinds(100, 1, 16), kinds(60, 1, 1), kinds(96, 1, 1)), (1, 0, 1));
        // Four copies share two processors.
        assert_eq!((kinds(50, 4, 2), kinds(40, 4, 2)), (1, 0));
        assert_eq!(kinds(120, 1, 0), 0, "nobody knows how many there are");
    }

    #[test]
    fn a_program_that_computes_and_a_restart_from_memory_are_confessed() {
        let kinds = |measurement: &Measurement| {
            notes(measurement).into_iter().map(|note| note.kind).collect::<Vec<_>>()
        };
        assert!(kinds(&of(vec![run(1, 4, 1)])).is_empty());
        assert_eq!(kinds(&of(vec![run(1, 4, 4)])), ["cpu-bound"]);
        let again = |read_bytes| Run { timed: false, read_bytes, ..run(1, 4, 1) };
        assert_eq!(kinds(&of(vec![run(1, 4, 1), again(Some(0))])), ["restarts-from-memory"]);
        assert!(kinds(&of(vec![run(1, 4, 1), again(Some(99_000_000)), again(None)])).is_empty());
        let killed = Run { exit: None, signal: Some(15), ..again(Some(0)) };
        assert!(kinds(&of(vec![run(1, 4, 1), killed])).is_empty(), "it was stopped on its way");
    }
}
