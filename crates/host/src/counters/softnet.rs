//! /proc/net/softnet_stat: packets that each CPU took from its queue, and those it had no room for.
//!
//! One line a CPU that is online, in hexadecimal, without a head (net/core/net-procfs.c). A drop is
//! a packet that found `netdev_max_backlog` packets waiting, a squeeze a round that ended with
//! work left because `netdev_budget` or its time was used up.

use super::text::{lines, words};
use super::{CounterSource, INTERVAL_NS, Sample, Subject};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

pub const SOFTNET: CounterSource = CounterSource {
    name: "softnet",
    about: "Packets that each CPU processed, dropped for want of room, and left for a later round",
    fields: &[
        Field::counter("processed_packets"),
        Field::counter("dropped_packets"),
        Field::counter("squeezes"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

/// The CPU's number, since Linux 5.14 (2021); before, lines are counted, which is wrong where a CPU
/// is offline.
const CPU_COLUMN: usize = 12;

struct Softnet(Reread);

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    Some(Box::new(Softnet(Reread::open(host, "/proc/net/softnet_stat").ok()?)))
}

impl Sample for Softnet {
    fn sample(&mut self, table: &mut Table) {
        if let Some(text) = self.0.read() {
            parse(text, &mut |cpu, field, value| table.put(cpu, field, value));
        }
    }
}

/// Calls `put` with CPU, field and value.
pub fn parse(text: &[u8], put: &mut dyn FnMut(&[u8], usize, u64)) {
    for (line_number, line) in lines(text).enumerate() {
        let cpu = words(line).nth(CPU_COLUMN).map_or(Some(line_number as u64), hexadecimal);
        let Some(cpu) = cpu else { continue };
        let mut name = *b"cpu\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
        let name = numbered(&mut name, cpu);
        for (field, word) in words(line).take(SOFTNET.fields.len()).enumerate() {
            if let Some(value) = hexadecimal(word) {
                put(name, field, value);
            }
        }
    }
}

/// `cpu` and the number, in a buffer of 23 bytes: no allocation while a trial runs.
fn numbered(buffer: &mut [u8; 23], number: u64) -> &[u8] {
    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
    let mut left = number;
    for place in buffer[3..3 + digits].iter_mut().rev() {
        *place = b'0' + (left % 10) as u8;
        left /= 10;
    }
    &buffer[..3 + digits]
}

/// Eight digits, or fewer; `None` when it is no number.
fn hexadecimal(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok().filter(|text| !text.starts_with('+'))?;
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::parse_whole_and_truncated;

    #[test]
    fn a_recorded_file_yields_each_cpu() {
        let text = include_str!("../../../../tests/fixtures/proc/net-softnet_stat");
        let all = parse_whole_and_truncated(text, parse);
        let whole = |name: &str, field, value| (name.to_owned(), field, value);
        assert_eq!(all[0], whole("cpu0", 0, 7));
        assert_eq!(all[3], whole("cpu1", 0, 0x21ac));
        assert_eq!(all.len(), 6);
    }

    #[test]
    fn an_offline_cpu_shifts_no_other_where_the_kernel_says_which_is_which() {
        let line = |cpu| format!("00000001 00000002 00000003 0 0 0 0 0 0 0 0 0 {cpu:08x} 0 0\n");
        let mut names = Vec::new();
        let text = line(0) + &line(2) + &line(11);
        parse(text.as_bytes(), &mut |cpu, field, value| {
            assert_eq!(value, field as u64 + 1);
            names.push(String::from_utf8(cpu.to_vec()).unwrap());
        });
        names.dedup();
        assert_eq!(names, ["cpu0", "cpu2", "cpu11"]);
    }

    #[test]
    fn an_older_kernel_has_a_line_for_each_cpu_and_hostile_words_yield_nothing() {
        let mut names = Vec::new();
        let text = b"a 0 0 0\n+1 -1 zz\n0 0 0 0 0 0 0 0 0 0 0 0 xyz\nffffffffffffffffff 1\n";
        parse(text, &mut |cpu, field, value| {
            names.push((String::from_utf8(cpu.to_vec()).unwrap(), field, value));
        });
        let own = |name: &str, field, value| (name.to_owned(), field, value);
        assert_eq!(
            names,
            [own("cpu0", 0, 10), own("cpu0", 1, 0), own("cpu0", 2, 0), own("cpu3", 1, 1)]
        );
        let mut name = *b"cpu\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
        assert_eq!(numbered(&mut name, u64::MAX), b"cpu18446744073709551615");
    }
}
