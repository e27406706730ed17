//! (pure) Processors that were ours, and busy or stolen.

use std::collections::{BTreeMap, BTreeSet};

use super::{JudgedSpan, series};
use crate::measurement::{Measurement, Note, datagrams, network};
use base::value::{percent, significant};
use facts::counters::MOST_THREADS;
use facts::counters::series::Series;

/// A core that ran our threads, or a thread of ours, that was busy for a larger share of the time
/// leaves it open whether the storage could have done more (rule 6).
pub const BUSY_SHARE: f64 = 0.95;

/// A larger share of the time, stolen by the hypervisor, makes times ours and not the server's
/// (rule 6).
pub const STEAL_SHARE: f64 = 0.02;

/// Shares are judged over at least this long: /proc/stat counts in ticks of 10 ms, so in less a
/// share is known to no better than 5 %.
const SHORTEST_NS: i64 = 200_000_000;

/// What a CPU spent the span on, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    /// Neither idle nor idle with I/O outstanding. Stolen time is busy: something wanted to run.
    busy_ns: f64,
    steal_ns: f64,
    all_ns: f64,
}

/// A core that ran our threads, or a thread of ours, was busy all the time: by the load itself
/// (`generator-bound`), or by others (`others-cpu`).
pub fn bound(measurement: &Measurement, span: JudgedSpan) -> Option<Note> {
    let cpus = spent(measurement, span);
    let ours = our_cpus(measurement, span);
    let is_ours = |cpu: &u64| ours.as_ref().is_none_or(|ours| ours.contains(cpu));
    let busy = cpus
        .iter()
        .filter(|(cpu, spent)| is_ours(cpu) && spent.busy_ns > BUSY_SHARE * spent.all_ns);
    let busy: Vec<(&u64, &Spent)> = busy.collect();
    let thread_share = busiest_thread(measurement, span);
    let sources = [network::SOURCE, datagrams::SOURCE];
    let over_network = sources.into_iter().any(|source| series(measurement, source).is_some());
    let whose = if over_network { "network" } else { "storage" };
    let own = own_cpus(measurement, span).filter(|_| thread_share.is_none());
    let text = match (busy.first(), thread_share) {
        (Some((cpu, spent)), _) if own.is_some_and(|own| own < OWN_LEAST) => {
            let used = significant(own.unwrap_or_default());
            let text = format!(
                "CPU {cpu}, where our threads ran, was {} busy, and the load used {used} of a CPU: \
                 other programs or the kernel had the rest.",
                percent(spent.busy_ns / spent.all_ns)
            );
            return Some(Note::new("others-cpu", text));
        }
        (Some((cpu, spent)), _) => {
            let share = percent(spent.busy_ns / spent.all_ns);
            let which = match (&ours, busy.len()) {
                (Some(_), 1) => format!("CPU {cpu}, which ran our threads, was {share} busy"),
                (Some(_), n) => {
                    format!("{n} CPUs that ran our threads were busy, CPU {cpu} for {share}")
                }
                (None, _) => format!(
                    "CPU {cpu} was {share} busy, and it is not known where all our threads ran"
                ),
            };
            format!("{which}: the figure may be this machine's, not the {whose}'s.")
        }
        (None, Some(share)) => format!(
            "A thread of the load used a CPU for {} of the time: the figure may be this machine's, \
             not the {whose}'s.",
            percent(share)
        ),
        (None, None) => return None,
    };
    Some(Note::new("generator-bound", text))
}

/// A load that used less of a CPU than this was not what kept one busy.
const OWN_LEAST: f64 = 0.5;

/// How many CPUs the load used, on average; `None` where that was not counted.
fn own_cpus(measurement: &Measurement, span: JudgedSpan) -> Option<f64> {
    let process = series(measurement, "process")?;
    let length = span.end_ns.saturating_sub(span.start_ns);
    let used = process.growth("cpu_ns", span.start_ns, span.end_ns)?;
    (length >= SHORTEST_NS).then(|| used / length as f64)
}

/// The hypervisor gave processors to others.
pub fn stolen(measurement: &Measurement, span: JudgedSpan) -> Option<Note> {
    let cpus = spent(measurement, span);
    let ours = our_cpus(measurement, span);
    let share_of = |wanted: &dyn Fn(&u64) -> bool| {
        let of = cpus.iter().filter(|(cpu, _)| wanted(cpu));
        let (steal, all) = of.fold((0.0, 0.0), |(steal, all), (_, spent)| {
            (steal + spent.steal_ns, all + spent.all_ns)
        });
        if all > 0.0 { steal / all } else { 0.0 }
    };
    let of_all = share_of(&|_| true);
    let of_ours = ours.map_or(0.0, |ours| share_of(&|cpu| ours.contains(cpu)));
    let (share, whose) = if of_all > STEAL_SHARE {
        (of_all, "all CPUs")
    } else {
        (of_ours, "the CPUs that ran our threads")
    };
    if share <= STEAL_SHARE {
        return None;
    }
    let text = format!("The hypervisor stole {} of the time of {whose}.", percent(share));
    Some(Note::new("steal", text))
}

/// What each CPU did in the span.
fn spent(measurement: &Measurement, span: JudgedSpan) -> BTreeMap<u64, Spent> {
    let mut cpus = BTreeMap::new();
    let Some(stat) = series(measurement, "stat") else { return cpus };
    if span.end_ns.saturating_sub(span.start_ns) < SHORTEST_NS {
        return cpus;
    }
    for column in &stat.columns {
        let Some(cpu) = column.name.strip_suffix(".idle_ns") else { continue };
        let Some(number) = cpu.strip_prefix("cpu").and_then(|number| number.parse().ok()) else {
            continue;
        };
        let grown = |what: &str| {
            // The kernel says itself that iowait may go backwards: proc_stat(5).
            let column = format!("{cpu}.{what}_ns");
            stat.growth(&column, span.start_ns, span.end_ns).unwrap_or(0.0)
        };
        let steal_ns = grown("steal");
        let busy = ["user", "system", "irq", "softirq"].map(grown).iter().sum::<f64>();
        let (busy_ns, idle_ns) = (busy + steal_ns, grown("idle") + grown("iowait"));
        // A CPU that was offline has spent nothing.
        if busy_ns + idle_ns > 0.0 {
            cpus.insert(number, Spent { busy_ns, steal_ns, all_ns: busy_ns + idle_ns });
        }
    }
    cpus
}

/// The CPUs on which threads of the load were seen; `None` when that is not known of all.
fn our_cpus(measurement: &Measurement, span: JudgedSpan) -> Option<BTreeSet<u64>> {
    let process = series(measurement, "process");
    let most = process.and_then(|process| {
        process.column("threads")?.values.get(span.rows(process))?.iter().max().copied()
    });
    if most.is_some_and(|most| most > MOST_THREADS as u64) {
        return None;
    }
    let mut cpus = BTreeSet::new();
    // The only thread is the process, which is read ten times as often.
    let alone = process.filter(|_| most == Some(1));
    if let Some((process, used)) = alone.and_then(|only| Some((only, only.column("cpu_ns")?))) {
        cpus.extend(seen(process, &used.values, "cpu", span));
    }
    if let Some(threads) = series(measurement, "threads") {
        for (name, used) in thread_columns(threads) {
            cpus.extend(seen(threads, used, &format!("{name}.cpu"), span));
        }
    }
    (!cpus.is_empty()).then_some(cpus)
}

/// The CPUs of the gauge `column` in rows before which the processor time `used` has grown: the
/// last CPU of something that has not run since the row before says nothing about the span.
fn seen<'a>(
    series: &'a Series,
    used: &'a [u64],
    column: &str,
    span: JudgedSpan,
) -> impl Iterator<Item = u64> + use<'a> {
    let cpus = series.column(column).map_or(&[][..], |column| &column.values);
    let rows = span.rows(series);
    let ran = (rows.start + 1..rows.end).filter(|row| used.get(*row) > used.get(row - 1));
    ran.filter_map(|row| cpus.get(row).copied())
}

/// Name and processor time of each watched thread.
fn thread_columns(threads: &Series) -> impl Iterator<Item = (&str, &[u64])> {
    threads
        .columns
        .iter()
        .filter_map(|column| Some((column.name.strip_suffix(".cpu_ns")?, &column.values[..])))
}

/// Share of the time for which the busiest thread of the load used a CPU, when that is too much.
/// The engine's own count of each stream's thread is exact; the kernel's of all threads includes
/// those that it started itself to do our I/O.
fn busiest_thread(measurement: &Measurement, span: JudgedSpan) -> Option<f64> {
    let streams = measurement.streams.iter().filter_map(|stream| {
        let ran_ns = stream.stopped_ns.checked_sub(stream.started_ns).filter(|ns| *ns > 0)?;
        Some(stream.cpu_ns as f64 / ran_ns as f64)
    });
    let threads = series(measurement, "threads").into_iter().flat_map(|threads| {
        let rows = span.rows(threads);
        let at = |row: usize| threads.at_ns.get(row).copied();
        let length = at(rows.end.saturating_sub(1)).zip(at(rows.start)).map(|(b, a)| b - a);
        let length = length.filter(|length| *length >= SHORTEST_NS);
        thread_columns(threads).filter_map(move |(_, used)| {
            let grown = used.get(rows.end.checked_sub(1)?)?.checked_sub(*used.get(rows.start)?)?;
            Some(grown as f64 / length? as f64)
        })
    });
    // Ticks may attribute a little more than the time that passed.
    let most = streams.chain(threads).fold(0.0, f64::max);
    (most > BUSY_SHARE).then_some(most.min(1.0))
}
