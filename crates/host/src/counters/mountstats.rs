//! /proc/self/mountstats: what each NFS mount asked of its server, and how long that took.
//!
//! The kernel's text is made by nfs_show_stats (fs/nfs/super.c) and rpc_clnt_show_stats
//! (net/sunrpc/stats.c) and described in linux/nfs_iostat.h and linux/sunrpc/metrics.h;
//! nfsiostat(8) and mountstats(8) of nfs-utils read the same. A request's queue time is spent here
//! before it is sent, its round trip until the answer has come, and both with what the client did
//! around them are its execution. Bytes of requests are those of whole RPC messages, heads with
//! them.

use super::text::{lines, number, words};
use super::{CounterSource, INTERVAL_NS, Sample, Subject};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

pub const MOUNTSTATS: CounterSource = CounterSource {
    name: "mountstats",
    about: "Bytes, requests, round trips and retransmissions of each NFS mount, by its client",
    fields: &[
        Field::counter("program_read_bytes"),
        Field::counter("program_write_bytes"),
        Field::counter("server_read_bytes"),
        Field::counter("server_write_bytes"),
        Field::counter("requests"),
        Field::counter("retransmissions"),
        Field::counter("timeouts"),
        Field::counter("read_requests"),
        Field::counter("read_sent_bytes"),
        Field::counter("read_received_bytes"),
        Field::counter("read_queue_ms"),
        Field::counter("read_rtt_ms"),
        Field::counter("read_execute_ms"),
        Field::counter("write_requests"),
        Field::counter("write_sent_bytes"),
        Field::counter("write_received_bytes"),
        Field::counter("write_queue_ms"),
        Field::counter("write_rtt_ms"),
        Field::counter("write_execute_ms"),
        Field::counter("commit_requests"),
        Field::counter("commit_sent_bytes"),
        Field::counter("commit_received_bytes"),
        Field::counter("commit_queue_ms"),
        Field::counter("commit_rtt_ms"),
        Field::counter("commit_execute_ms"),
        Field::counter("getattr_requests"),
        Field::counter("getattr_sent_bytes"),
        Field::counter("getattr_received_bytes"),
        Field::counter("getattr_queue_ms"),
        Field::counter("getattr_rtt_ms"),
        Field::counter("getattr_execute_ms"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

/// The numbers of a `bytes:` line that make up each of the first four fields: what programs read
/// and wrote, through the page cache and around it, and what went over the wire for it.
const BYTES: [&[usize]; 4] = [&[0, 2], &[1, 3], &[4], &[5]];
/// All requests of a mount, in this order: how many, sent again, given up after a time.
const REQUESTS: usize = 4;
/// Operations that have fields of their own, and the first of those.
const OPERATIONS: [(&[u8], usize); 4] =
    [(b"READ:", 7), (b"WRITE:", 13), (b"COMMIT:", 19), (b"GETATTR:", 25)];
/// Numbers of an operation's line: operations, transmissions, timeouts, bytes sent and received,
/// time in the queue, of the round trip, in all; since Linux 5.3 errors.
const NUMBERS: usize = 8;
/// Those that an operation's own fields hold, in their order.
const OWN: [usize; 6] = [0, 3, 4, 5, 6, 7];

struct Mountstats {
    file: Reread,
    /// Points that show a file system which is counted at another.
    again: Vec<String>,
}

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    let mut file = Reread::open(host, "/proc/self/mountstats").ok()?;
    let again = mounted_again(&host.read("/proc/self/mountinfo").unwrap_or_default());
    is_client(file.read()?).then(|| Box::new(Mountstats { file, again }) as Box<dyn Sample>)
}

/// Points at which a file system of another machine is mounted that is mounted elsewhere already:
/// the kernel counts by file system (its `st_dev`), and tells the same numbers at every point. As
/// /proc/self/mountinfo writes them, which is as /proc/self/mountstats does.
pub fn mounted_again(mountinfo: &str) -> Vec<String> {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let mut again = Vec::new();
    for line in mountinfo.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        if !matches!(right.split(' ').next(), Some("nfs" | "nfs4")) {
            continue;
        }
        let mut words = left.split(' ').skip(2);
        let (Some(device), Some(point)) = (words.next(), words.nth(1)) else { continue };
        match seen.iter().any(|(known, at)| *known == device && *at != point) {
            true => again.push(point.to_owned()),
            false => seen.push((device, point)),
        }
    }
    again
}

/// Whether something is mounted by NFS.
pub fn is_client(text: &[u8]) -> bool {
    lines(text).any(|line| mount(line).is_some())
}

impl Sample for Mountstats {
    fn sample(&mut self, table: &mut Table) {
        let again = &self.again;
        if let Some(text) = self.file.read() {
            parse(text, &mut |mount, field, value| {
                if again.iter().all(|point| point.as_bytes() != mount) {
                    table.put(mount, field, value);
                }
            });
        }
    }
}

/// Where something is mounted by NFS: `device SOURCE mounted on POINT with fstype nfs4 ...`, in
/// which the kernel writes blanks in names as `\040`.
pub fn mount(line: &[u8]) -> Option<&[u8]> {
    let mut words = words(line);
    let point = words.by_ref().skip_while(|word| *word != b"on").nth(1)?;
    let filesystem = words.skip_while(|word| *word != b"fstype").nth(1)?;
    matches!(filesystem, b"nfs" | b"nfs4").then_some(point)
}

/// Calls `put` with mount point, field and value.
pub fn parse(text: &[u8], put: &mut dyn FnMut(&[u8], usize, u64)) {
    let mut point: Option<&[u8]> = None;
    let mut all: Option<[u64; 3]> = None;
    for line in lines(text) {
        let mut words = words(line);
        let first = words.next();
        match (first, point) {
            (Some(b"device"), _) => (point, all) = (mount(line), None),
            (Some(b"bytes:"), Some(point)) => bytes(words, point, put),
            (Some(b"per-op"), _) => all = Some([0; 3]),
            (Some(name), Some(point)) if all.is_some() => {
                let Some(numbers) = operation(words) else { continue };
                let sent_again = numbers[1].saturating_sub(numbers[0]);
                for (sum, more) in
                    all.iter_mut().flatten().zip([numbers[0], sent_again, numbers[2]])
                {
                    *sum = sum.saturating_add(more);
                }
                let own = OPERATIONS.iter().find(|(operation, _)| *operation == name);
                for (field, at) in own.map(|(_, field)| *field).into_iter().flat_map(places) {
                    put(point, field, numbers[at]);
                }
            }
            // An empty line ends a mount's operations: what was cut off before has no sum.
            (None, Some(point)) => {
                for (field, sum) in (REQUESTS..).zip(all.take().into_iter().flatten()) {
                    put(point, field, sum);
                }
            }
            _ => {}
        }
    }
}

/// Fields of an operation whose first is `field`, and which of its numbers each holds.
fn places(field: usize) -> impl Iterator<Item = (usize, usize)> {
    (field..).zip(OWN)
}

fn bytes<'a>(
    words: impl Iterator<Item = &'a [u8]>,
    point: &[u8],
    put: &mut dyn FnMut(&[u8], usize, u64),
) {
    let mut numbers = [None; 6];
    for (place, word) in numbers.iter_mut().zip(words) {
        *place = number(word);
    }
    for (field, parts) in BYTES.iter().enumerate() {
        let sum = parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(numbers[*part]?));
        if let Some(sum) = sum {
            put(point, field, sum);
        }
    }
}

/// The numbers of an operation's line; `None` when it is none.
fn operation<'a>(words: impl Iterator<Item = &'a [u8]>) -> Option<[u64; NUMBERS]> {
    let mut numbers = [0; NUMBERS];
    let mut found = 0;
    for (place, word) in numbers.iter_mut().zip(words) {
        *place = number(word)?;
        found += 1;
    }
    (found == NUMBERS).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::parse_whole_and_truncated;

    fn field(name: &str) -> usize {
        MOUNTSTATS.fields.iter().position(|field| field.name == name).unwrap()
    }

    /// 40 MiB read and 10 MiB written through each version, in requests of 128 KiB; recorded.
    #[test]
    fn recorded_mounts_of_both_versions_yield_what_was_asked_of_the_server() {
        let texts = [
            include_str!("../../../../tests/fixtures/proc/mountstats-nfs3"),
            include_str!("../../../../tests/fixtures/proc/mountstats-nfs4.2"),
        ];
        for (text, expected) in texts
            .into_iter()
            .zip([[413, 41_984_000, 6767, 6812, 1, 2], [416, 41_976_320, 6616, 6682, 1, 1]])
        {
            let all = parse_whole_and_truncated(text, parse);
            assert!(all.iter().all(|(mount, _, _)| mount == "/mnt/n"), "nfsd is no mount of NFS");
            let of = |name: &str| {
                let found = all.iter().find(|(_, at, _)| *at == field(name));
                found.unwrap_or_else(|| panic!("no {name}")).2
            };
            assert_eq!(of("program_read_bytes"), 40 << 20);
            assert_eq!(of("program_write_bytes"), 10 << 20);
            assert_eq!((of("server_read_bytes"), of("server_write_bytes")), (40 << 20, 10 << 20));
            assert_eq!((of("read_requests"), of("write_requests")), (320, 80));
            assert_eq!((of("retransmissions"), of("timeouts")), (0, 0));
            let names = [
                "requests",
                "read_received_bytes",
                "read_rtt_ms",
                "read_execute_ms",
                "commit_requests",
                "getattr_requests",
            ];
            assert_eq!(names.map(of), expected);
            assert_eq!(all.len(), MOUNTSTATS.fields.len());
        }
    }

    /// An export that was mounted twice was counted twice: half of what was delivered could come
    /// from memory, and the server had "sent" all of it.
    #[test]
    fn a_file_system_that_is_mounted_twice_is_known_again_and_another_is_not() {
        let mountinfo = "20 1 254:0 / / rw - ext4 /dev/vda rw\n\
            31 20 0:50 / /mnt/a\\040b rw,relatime shared:1 - nfs4 s:/x rw\n\
            32 20 0:50 / /mnt/c rw - nfs4 s:/x rw\n\
            33 20 0:51 / /mnt/d rw - nfs s:/x rw,nosharecache\n\
            34 20 0:50 /sub /mnt/e rw - nfs4 s:/x/sub rw\n\
            35 20 0:50 / /mnt/cut";
        assert_eq!(mounted_again(mountinfo), ["/mnt/c", "/mnt/e"]);
        assert_eq!(mounted_again(""), [""; 0]);
    }

    #[test]
    fn retransmissions_are_what_was_sent_more_often_than_asked_and_hostile_lines_yield_nothing() {
        let text = b"device s:/a mounted on /a with fstype nfs statvers=1.1\n\
            \tbytes:\t1 2 x 4 5\n\tper-op statistics\n\
            \t        READ: 10 13 2 1 1 1 1 1 0\n\t       WRITE: 5 4 0 0 0 0 0 0 0\n\
            \t      COMMIT: 1 2 3\n\t GETATTR: -1 0 0 0 0 0 0 0\n\n\
            \tREAD: 9 9 9 9 9 9 9 9\n\
            device nfsd mounted on /n with fstype nfsd\n\tbytes: 1 2 3 4 5 6\n\
            device\nbytes: 7 7 7 7 7 7 7\n";
        let mut seen = Vec::new();
        parse(text, &mut |mount, field, value| {
            assert_eq!(mount, b"/a");
            seen.push((MOUNTSTATS.fields[field].name, value));
        });
        let of = |name: &str| seen.iter().find(|(of, _)| *of == name).map(|(_, value)| *value);
        assert_eq!(
            (of("requests"), of("retransmissions"), of("timeouts")),
            (Some(15), Some(3), Some(2))
        );
        assert_eq!((of("program_read_bytes"), of("program_write_bytes")), (None, Some(6)));
        assert_eq!((of("server_read_bytes"), of("server_write_bytes")), (Some(5), None));
        assert_eq!((of("commit_requests"), of("getattr_requests")), (None, None));
        assert_eq!(of("read_requests"), Some(10), "behind the end of the operations is nothing");
    }
}
