//! The thread that reads every source every 100 ms while a trial runs; less often in a long one.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{INTERVAL_NS, SOURCES, Sample, Subject};
use crate::sys::{Error, Host, clock};
use facts::counters::series::Series;
use facts::counters::table::Table;

/// Counts until it is stopped; dropping it stops it too.
#[derive(Debug)]
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Table>>,
}

/// A source whose reading takes longer than this part of its interval is read less often: with
/// thousands of threads or interrupts the kernel needs milliseconds to add them up. All sources
/// together stay below 1 % of a core, as most need far less than their share.
const MOST_OF_INTERVAL: u64 = 500;

/// A source with so many rows, an hour's at 100 ms, keeps every second one from then on and is read
/// half as often: a night's rows would not fit into memory on a large server.
const ROWS_MAX: usize = 36_000;

/// An open source of counters with its rows, and when the next is due.
struct SampledSource {
    sample: Box<dyn Sample>,
    table: Table,
    every_ns: u64,
    due_ns: u64,
    /// What its last row took, ns of processor time.
    cost_ns: u64,
}

impl Sampler {
    /// Starts to count: the process `worker_pid`, the block devices of these kernel names, and the
    /// machine. The first row of every source has been read when this returns.
    ///
    /// # Errors
    /// When no thread can be started. Sources that this kernel does not have are left out.
    pub fn start(host: &Host, worker_pid: u32, devices: &[String]) -> Result<Sampler, Error> {
        let (host, subject) = (host.clone(), Subject::new(worker_pid, devices));
        let (stop, stopped) = mpsc::channel();
        let (tell, first_row) = mpsc::channel();
        let what = "cannot start the thread that samples counters";
        let thread = std::thread::Builder::new()
            .name("counters".to_owned())
            .spawn(move || {
                let mut watches = open(&host, &subject);
                rows(&mut watches, clock::monotonic_ns(), true);
                // The other side waits for this; it is never gone before.
                let _ = tell.send(());
                count(&mut watches, &stopped);
                watches.into_iter().map(|watch| watch.table).collect()
            })
            .map_err(|error| Error::new(what, error))?;
        first_row.recv().map_err(|_| Error::new(what, "it ended at once"))?;
        Ok(Sampler { stop, thread })
    }

    /// Reads every source a last time and gives all rows, their times in ns since
    /// `trial_start_monotonic_ns` on the monotonic clock.
    pub fn stop(self, trial_start_monotonic_ns: u64) -> Vec<Series> {
        drop(self.stop);
        let tables = self.thread.join().unwrap_or_default();
        let all = tables.into_iter().map(|table| table.into_series(trial_start_monotonic_ns));
        // A source that could be opened and then said nothing, as one that takes root, has no rows.
        all.filter(|series| !series.columns.is_empty()).collect()
    }
}

/// Every source read twice at once, on this thread: what a sampler that is stopped at once gives.
pub fn twice(host: &Host, subject: &Subject) -> Vec<Series> {
    let mut watches = open(host, subject);
    for _ in 0..2 {
        rows(&mut watches, clock::monotonic_ns(), true);
    }
    watches.into_iter().map(|watch| watch.table.into_series(0)).collect()
}

fn open(host: &Host, subject: &Subject) -> Vec<SampledSource> {
    let open = SOURCES.iter().filter_map(|source| {
        let sample = (source.open)(host, subject)?;
        let table = Table::new(source.name, source.fields, source.born_at_zero);
        Some(SampledSource { sample, table, every_ns: source.every_ns, due_ns: 0, cost_ns: 0 })
    });
    open.collect()
}

/// Takes rows at fixed instants, so that being late once does not make every later row late.
fn count(watches: &mut [SampledSource], stopped: &Receiver<()>) {
    let mut due_ns = clock::monotonic_ns() + INTERVAL_NS;
    loop {
        let wait = Duration::from_nanos(due_ns.saturating_sub(clock::monotonic_ns()));
        let stop = !matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
        let now_ns = clock::monotonic_ns();
        if !stop && now_ns < due_ns {
            continue;
        }
        rows(watches, now_ns, stop);
        if stop {
            return;
        }
        // Rows that could not be taken in time are left out: two close together say nothing.
        let missed = (clock::monotonic_ns() - due_ns) / INTERVAL_NS;
        due_ns += (missed + 1) * INTERVAL_NS;
    }
}

/// A row of each source that is due, or of every source.
fn rows(watches: &mut [SampledSource], now_ns: u64, all: bool) {
    for watch in watches {
        if !all && now_ns < watch.due_ns {
            continue;
        }
        let (before_ns, began_ns) = (clock::thread_cpu_ns(), clock::monotonic_ns());
        watch.table.begin(began_ns);
        watch.sample.sample(&mut watch.table);
        watch.table.end();
        if watch.table.rows() >= ROWS_MAX {
            watch.table.halve();
            watch.every_ns = watch.every_ns.saturating_mul(2);
        }
        let cpu_ns = clock::thread_cpu_ns().saturating_sub(before_ns);
        let cost_ns = cost_ns(cpu_ns, clock::monotonic_ns().saturating_sub(began_ns));
        // Half an interval of grace: this row is nearer to the due time than the next would be.
        // Twice in a row: one that was late because others ran is no dear one.
        let dear_ns = cost_ns.min(std::mem::replace(&mut watch.cost_ns, cost_ns));
        watch.due_ns = now_ns + next_ns(watch.every_ns, dear_ns) - INTERVAL_NS / 2;
    }
}

/// What a row cost: processor time, and never more than it took. A kernel that counts processor
/// time in ticks charges a whole one to whom it hits.
fn cost_ns(cpu_ns: u64, took_ns: u64) -> u64 {
    cpu_ns.min(took_ns)
}

/// Time until the next row of a source that is meant to be read every `every_ns`, and cost
/// `cost_ns` of processor time.
fn next_ns(every_ns: u64, cost_ns: u64) -> u64 {
    every_ns.max(cost_ns.saturating_mul(MOST_OF_INTERVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice in a row a tick of 10 ms fell into a row of microseconds: the source was not read for
    /// five seconds, and what limited an NFS trial of that length was not known.
    #[test]
    fn a_tick_that_hits_a_short_row_does_not_make_its_source_dear() {
        let tick_ns = 10_000_000;
        assert_eq!(next_ns(INTERVAL_NS, cost_ns(tick_ns, 30_000)), INTERVAL_NS);
        assert_eq!(cost_ns(4_000_000, 9_000_000), 4_000_000, "what others took is theirs");
    }

    #[test]
    fn a_source_that_is_dear_is_read_less_often() {
        assert_eq!(next_ns(INTERVAL_NS, 40_000), INTERVAL_NS);
        assert_eq!(next_ns(INTERVAL_NS, 4_000_000), 2_000_000_000, "0.2 % of the time");
    }

    fn sample(for_ms: u64) -> (u64, u64, Vec<Series>) {
        let devices = Host::live().list("/sys/block");
        let sampler = Sampler::start(&Host::live(), std::process::id(), &devices).unwrap();
        let start_ns = clock::monotonic_ns();
        std::thread::sleep(Duration::from_millis(for_ms));
        let end_ns = clock::monotonic_ns();
        (start_ns, end_ns, sampler.stop(start_ns))
    }

    #[test]
    fn the_rows_of_every_source_reach_over_both_ends_of_the_trial() {
        let (start_ns, end_ns, all) = sample(350);
        let elapsed_ns = (end_ns - start_ns) as i64;
        for name in ["stat", "meminfo", "vmstat", "process", "threads", "generator"] {
            let series = all.iter().find(|series| series.source == name).unwrap();
            assert!(series.at_ns[0] <= 0, "{name} begins at {}", series.at_ns[0]);
            assert!(*series.at_ns.last().unwrap() >= elapsed_ns, "{name} ends too early");
            assert!(series.at_ns.is_sorted(), "{name}");
            for column in &series.columns {
                assert_eq!(column.values.len(), series.at_ns.len(), "{name} {}", column.name);
            }
        }
    }

    #[test]
    fn the_kernels_clock_and_ours_agree_on_idle_and_busy_time() {
        let (start_ns, end_ns, all) = sample(300);
        let stat = all.iter().find(|series| series.source == "stat").unwrap();
        let grown: f64 = ["user", "system", "iowait", "irq", "softirq", "steal", "idle"]
            .iter()
            .filter_map(|what| {
                stat.growth(&format!("cpu0.{what}_ns"), 0, (end_ns - start_ns) as i64)
            })
            .sum();
        // A tick is 10 ms; the host may be late in giving time to an idle CPU.
        let share = grown / (end_ns - start_ns) as f64;
        assert!((0.5..1.5).contains(&share), "CPU 0 had {share} of the time");
    }

    #[test]
    fn a_process_that_is_not_there_leaves_its_sources_out() {
        let sampler = Sampler::start(&Host::live(), u32::MAX, &[]).unwrap();
        let all = sampler.stop(0);
        assert!(all.iter().all(|series| series.source != "process" && series.source != "threads"));
        assert!(all.iter().any(|series| series.source == "stat"));
    }

    #[test]
    fn stopping_does_not_wait_for_the_next_row() {
        let begun_ns = clock::monotonic_ns();
        for _ in 0..10 {
            sample(0);
        }
        // Waiting would take 1 s; 10 s under load are still told from a hang by the harness.
        let rows = sample(0).2.iter().map(|series| series.at_ns.len()).max();
        assert!(clock::monotonic_ns() > begun_ns);
        assert_eq!(rows, Some(2), "one row at the start and one at the stop");
    }
}
