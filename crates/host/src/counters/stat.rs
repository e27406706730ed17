//! /proc/stat: what each CPU spent its time on, interrupts, context switches.
//!
//! See proc_stat(5). Times are in ticks of USER_HZ, 10 ms, however fast the kernel ticks inside;
//! `user` includes guests' time. An offline CPU is not listed.

use super::text::{lines, number, words};
use super::{CounterSource, INTERVAL_NS, Sample, Subject};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

pub const STAT: CounterSource = CounterSource {
    name: "stat",
    about: "What each CPU spent its time on; interrupts and context switches of the machine",
    fields: &[
        Field::counter("user_ns"),
        Field::counter("system_ns"),
        Field::counter("iowait_ns"),
        Field::counter("irq_ns"),
        Field::counter("softirq_ns"),
        Field::counter("steal_ns"),
        Field::counter("idle_ns"),
        Field::counter("interrupts"),
        Field::counter("context_switches"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

/// Our field of each column of a `cpu` line, in the kernel's order: user, nice, system, idle,
/// iowait, irq, softirq, steal. Guests' times follow; they are part of user and nice.
const FIELD_OF_COLUMN: [usize; 8] = [0, 0, 1, 6, 2, 3, 4, 5];
const INTERRUPTS: usize = 7;
const CONTEXT_SWITCHES: usize = 8;

/// /proc/stat, kept open: the times of each CPU.
struct CpuStat {
    file: Reread,
    tick_ns: u64,
}

fn open(host: &Host, subject: &Subject) -> Option<Box<dyn Sample>> {
    let file = Reread::open(host, "/proc/stat").ok()?;
    Some(Box::new(CpuStat { file, tick_ns: subject.tick_ns }))
}

impl Sample for CpuStat {
    fn sample(&mut self, table: &mut Table) {
        if let Some(text) = self.file.read() {
            parse(text, self.tick_ns, &mut |cpu, field, value| table.put(cpu, field, value));
        }
    }
}

/// Calls `put` with each CPU (or nothing, for the machine), field and value of /proc/stat.
pub fn parse(text: &[u8], tick_ns: u64, put: &mut dyn FnMut(&[u8], usize, u64)) {
    for line in lines(text) {
        let mut words = words(line);
        match words.next() {
            Some(b"intr") => put_next(words, INTERRUPTS, put),
            Some(b"ctxt") => put_next(words, CONTEXT_SWITCHES, put),
            // The line of all CPUs together is called just `cpu`.
            Some(cpu) if cpu.len() > 3 && cpu.starts_with(b"cpu") => {
                let mut spent_ns = [None; 7];
                for (field, word) in FIELD_OF_COLUMN.iter().zip(words) {
                    let Some(ticks) = number(word) else { break };
                    let spent: &mut Option<u64> = &mut spent_ns[*field];
                    let more = ticks.saturating_mul(tick_ns);
                    *spent = Some(spent.unwrap_or(0).saturating_add(more));
                }
                for (field, spent) in spent_ns.iter().enumerate() {
                    if let Some(spent) = *spent {
                        put(cpu, field, spent);
                    }
                }
            }
            _ => {}
        }
    }
}

fn put_next<'a>(
    mut words: impl Iterator<Item = &'a [u8]>,
    field: usize,
    put: &mut dyn FnMut(&[u8], usize, u64),
) {
    if let Some(value) = words.next().and_then(number) {
        put(b"", field, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::parse_whole_and_truncated;

    #[test]
    fn a_recorded_file_yields_each_cpu_and_the_totals() {
        let text = include_str!("../../../../tests/fixtures/proc/stat");
        let all = parse_whole_and_truncated(text, |text, put| parse(text, 10_000_000, put));
        let of = |scope: &str, field| {
            let found = all.iter().find(|(name, at, _)| name == scope && *at == field);
            found.map(|(_, _, value)| *value)
        };
        // cpu1 31457 5646 6973 143320 1539 0 196 257 0 0
        assert_eq!(of("cpu1", 0), Some((31457 + 5646) * 10_000_000), "user and nice");
        assert_eq!(of("cpu1", 1), Some(69_730_000_000), "system");
        assert_eq!(of("cpu1", 2), Some(15_390_000_000), "iowait");
        assert_eq!(of("cpu1", 5), Some(2_570_000_000), "steal");
        assert_eq!(of("cpu1", 6), Some(1_433_200_000_000), "idle");
        assert_eq!(of("", INTERRUPTS), Some(447_594));
        assert_eq!(of("", CONTEXT_SWITCHES), Some(542_454));
        assert_eq!(of("cpu", 0), None, "the sum of all CPUs is no CPU");
    }

    #[test]
    fn a_kernel_without_steal_has_no_steal_rather_than_none_stolen() {
        let mut fields = Vec::new();
        parse(b"cpu0 1 2 3 4 5 6 7\n", 1, &mut |_, field, _| fields.push(field));
        assert_eq!(fields, [0, 1, 2, 3, 4, 6]);
    }
}
