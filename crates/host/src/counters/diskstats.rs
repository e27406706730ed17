//! /proc/diskstats: what block devices did, of those that the target lies on.
//!
//! See Documentation/admin-guide/iostats.rst. Sectors are 512 bytes whatever the device's are.
//! A request that a cgroup throttles waits before it is counted here, so times do not show it.
//! Of an NVMe drive that has several paths Linux before 6.5 counts each path, and nothing of the
//! drive itself.

use super::text::{lines, number, words};
use super::{CounterSource, INTERVAL_NS, Sample, Subject};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

/// Bytes of a sector in every count of the block layer.
pub const SECTOR_BYTES: u64 = 512;

pub const DISKSTATS: CounterSource = CounterSource {
    name: "diskstats",
    about: "Operations, bytes and queue time of the devices that the target lies on",
    fields: &[
        Field::counter("read_ops"),
        Field::counter("read_bytes"),
        Field::counter("write_ops"),
        Field::counter("write_bytes"),
        Field::counter("busy_ms"),
        Field::counter("queue_time_ms"),
        Field::gauge("in_flight"),
        Field::counter("flush_ops"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

/// Column after the device's name, our field, and what to multiply by. `busy_ms` is the kernel's
/// io_ticks, `queue_time_ms` its time_in_queue: each request's time, summed.
/// `flush_ops` are requests to empty a volatile cache, not counted of partitions, since Linux 5.5.
const COLUMNS: [(usize, usize, u64); 8] = [
    (0, 0, 1),
    (2, 1, SECTOR_BYTES),
    (4, 2, 1),
    (6, 3, SECTOR_BYTES),
    (8, 6, 1),
    (9, 4, 1),
    (10, 5, 1),
    (15, 7, 1),
];

struct Diskstats {
    file: Reread,
    devices: Vec<String>,
}

fn open(host: &Host, subject: &Subject) -> Option<Box<dyn Sample>> {
    if subject.devices.is_empty() {
        return None;
    }
    let file = Reread::open(host, "/proc/diskstats").ok()?;
    Some(Box::new(Diskstats { file, devices: subject.devices.clone() }))
}

impl Sample for Diskstats {
    fn sample(&mut self, table: &mut Table) {
        if let Some(text) = self.file.read() {
            parse(text, &self.devices, &mut |disk, field, value| table.put(disk, field, value));
        }
    }
}

/// Calls `put` with device, field and value for each of `devices` that /proc/diskstats lists.
pub fn parse(text: &[u8], devices: &[String], put: &mut dyn FnMut(&[u8], usize, u64)) {
    for line in lines(text) {
        let Some(name) = words(line).nth(2) else { continue };
        if !devices.iter().any(|device| device.as_bytes() == name) {
            continue;
        }
        let mut counts = [None; COLUMNS.len()];
        add(line, &mut counts);
        if counts.iter().flatten().all(|count| *count == 0) {
            for path in lines(text) {
                if words(path).nth(2).is_some_and(|path| is_path(path, name)) {
                    add(path, &mut counts);
                }
            }
        }
        for (_, field, _) in COLUMNS {
            if let Some(count) = counts[field] {
                put(name, field, count);
            }
        }
    }
}

/// Adds the fields of a line.
fn add(line: &[u8], counts: &mut [Option<u64>; COLUMNS.len()]) {
    let mut wanted = COLUMNS.iter().peekable();
    for (at, word) in words(line).skip(3).enumerate() {
        let Some(&&(column, field, factor)) = wanted.peek() else { break };
        if at == column {
            wanted.next();
            if let Some(value) = number(word) {
                let value = value.saturating_mul(factor);
                counts[field] = Some(counts[field].unwrap_or(0).saturating_add(value));
            }
        }
    }
}

/// Whether `path` is one of the ways to the drive `name`: `nvme0c1n1` is one to `nvme0n1`.
fn is_path(path: &[u8], name: &[u8]) -> bool {
    let Some(drive) = name.strip_prefix(b"nvme") else { return false };
    let digits = drive.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (subsystem, space) = drive.split_at(digits);
    let own = path.strip_prefix(b"nvme").and_then(|rest| rest.strip_prefix(subsystem));
    let other = own.and_then(|rest| rest.strip_prefix(b"c"));
    let way = other.and_then(|rest| rest.strip_suffix(space));
    way.is_some_and(|way| !way.is_empty() && way.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::parse_whole_and_truncated;

    #[test]
    fn only_the_devices_asked_for_are_counted_and_sectors_become_bytes() {
        let text = include_str!("../../../../tests/fixtures/proc/diskstats");
        let devices = ["vda".to_owned(), "absent".to_owned()];
        let all = parse_whole_and_truncated(text, |text, put| parse(text, &devices, put));
        assert!(all.iter().all(|(name, _, _)| name == "vda"));
        let of = |field| all.iter().find(|(_, at, _)| *at == field).unwrap().2;
        // vda 81158 11283 7488402 157932 30009 30241 12492608 43331 0 20596 204171 ...
        assert_eq!((of(0), of(1)), (81_158, 7_488_402 * 512));
        assert_eq!((of(2), of(3)), (30_009, 12_492_608 * 512));
        assert_eq!((of(4), of(5), of(6)), (20_596, 204_171, 0));
    }

    /// Of an NVMe drive behind TCP 41 MiB were read, "but the devices only 0 B: the bytes came past
    /// the devices that are known". Linux 6.1 counts them of its path alone, a later one of both.
    #[test]
    fn what_is_counted_of_the_paths_to_an_nvme_drive_alone_is_the_drives() {
        let text = |head: &str| {
            format!(
                " 259 0 nvme0c0n1 68 0 22568 1069 1 0 8 0 0 1008 1069 0 0 0 0 0 0\n \
                 259 1 nvme0n1 {head} 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n \
                 259 2 nvme0c12n1 2 0 16 5 0 0 0 0 0 4 5 0 0 0 0 0 0\n \
                 259 3 nvme0c0n11 7 0 56 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n \
                 259 4 nvme01c0n1 9 0 72 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
            )
        };
        let read = |head: &str| {
            let text = text(head);
            let devices = ["nvme0n1".to_owned()];
            let mut bytes = Vec::new();
            parse(text.as_bytes(), &devices, &mut |name, field, value| {
                assert_eq!(name, b"nvme0n1");
                bytes.extend((field == 1).then_some(value));
            });
            bytes
        };
        assert_eq!(read("0 0 0"), [(22_568 + 16) * 512]);
        assert_eq!(read("70 0 22584"), [22_584 * 512]);
    }

    #[test]
    fn a_name_that_begins_with_another_is_another_device() {
        let mut seen = 0;
        parse(b"8 1 sda1 1 2 3 4 5 6 7 8 9 10 11\n", &["sda".to_owned()], &mut |_, _, _| seen += 1);
        assert_eq!(seen, 0);
    }
}
