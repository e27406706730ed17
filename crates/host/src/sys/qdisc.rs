//! The queueing disciplines at the roots of network interfaces, asked of the kernel by
//! rtnetlink(7); takes no root.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};

use netlink_packet_core::{
    NLM_F_CREATE, NLM_F_DUMP, NLM_F_REPLACE, NLMSG_DONE, NLMSG_ERROR, NetlinkBuffer,
};

use super::Error;
use super::netlink::{self, attribute};
use facts::inventory::qdisc::Shaped;

// linux/rtnetlink.h.
const NEW_QDISC: u16 = 36;
const REMOVE_QDISC: u16 = 37;
const GET_QDISC: u16 = 38;
const PUT: u16 = NLM_F_REPLACE | NLM_F_CREATE;
/// The handle of what we put at a root. The kernel gives 8001: and on by itself, and 0 to what it
/// puts there itself.
pub const OURS: u32 = 0x4252_0000;
/// `struct tcmsg`.
const MESSAGE_BYTES: usize = 20;
/// TC_H_ROOT.
const ROOT: u32 = u32::MAX;
/// TCA_KIND.
const KIND: u16 = 1;
/// TCA_OPTIONS.
const OPTIONS: u16 = 2;
/// TCA_STATS2, and in it TCA_STATS_BASIC, TCA_STATS_QUEUE and TCA_STATS_PKT64 (linux/gen_stats.h).
const STATS: u16 = 7;
const BASIC: u16 = 1;
const QUEUE: u16 = 3;
const PACKETS64: u16 = 8;
/// TCA_TBF_PARMS: a `struct tc_tbf_qopt`, which begins with the `struct tc_ratespec` of its rate.
const BUCKET: u16 = 1;
/// TCA_TBF_RATE64, where the rate needs more than 32 bits.
const BUCKET_RATE64: u16 = 4;
/// The kernel fills up to 32 KiB at a time.
const BUFFER_BYTES: usize = 64 << 10;
/// A machine with 1000 interfaces of 64 queues fills some 300; more is no answer.
const READS_MAX: usize = 10_000;

/// A queueing discipline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discipline {
    /// `mq`, `fq_codel`, `noqueue`, ...
    pub name: String,
    /// Major number in the upper half; 0 of one that the kernel has put there by itself.
    pub handle: u32,
    /// The rate at which it lets packets go, of a token bucket (tc-tbf(8)).
    pub shaped: Option<Shaped>,
}

/// The disciplines by the interfaces' numbers (/sys/class/net/*/ifindex), of the network namespace
/// that we are in.
///
/// # Errors
/// When the kernel has no traffic control, or we may open no such socket.
pub fn roots() -> Result<BTreeMap<u32, Discipline>, Error> {
    let failed = |error| Error::new("cannot ask for queueing disciplines", error);
    let mut found = BTreeMap::new();
    let mut asker = QdiscSocket::open().map_err(failed)?;
    asker.all(&mut |message| found.extend(root(message))).map_err(failed)?;
    Ok(found)
}

/// What a discipline has counted since it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes that it let go, with their Ethernet headers.
    pub sent_bytes: u64,
    /// Packets that it let go; what is cut later (TSO, GSO) counts as the pieces.
    pub sent_packets: u64,
    /// Packets that it had no room for, or dropped to have its sender slow down.
    pub drops: u64,
    /// Packets that the card gave back, as its ring was full.
    pub requeues: u64,
    /// How often it held back what its rate did not allow yet.
    pub overlimits: u64,
    /// Bytes that wait now.
    pub backlog_bytes: u64,
    /// Packets that wait now.
    pub backlog_packets: u64,
}

/// Asks again and again, of the network namespace in which it was opened.
#[derive(Debug)]
pub struct QdiscSocket {
    socket: File,
    buffer: Vec<u8>,
}

impl QdiscSocket {
    /// Opens the way to the kernel.
    ///
    /// # Errors
    /// When we may open no such socket.
    pub fn open() -> std::io::Result<QdiscSocket> {
        Ok(QdiscSocket { socket: netlink::open(netlink::ROUTE)?, buffer: vec![0; BUFFER_BYTES] })
    }

    /// Calls `see` with the number of each interface and what the discipline at its root counted.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn counts(&mut self, see: &mut dyn FnMut(u32, Counts)) -> std::io::Result<()> {
        self.all(&mut |message| {
            if let Some((interface, counts)) = counts(message) {
                see(interface, counts);
            }
        })
    }

    /// Asks for all disciplines.
    fn all(&mut self, see: &mut dyn FnMut(&[u8])) -> std::io::Result<()> {
        // Without an address it goes to the kernel, which has the answer ready when this returns.
        self.socket.write_all(&netlink::request(GET_QDISC, NLM_F_DUMP, &[0; MESSAGE_BYTES]))?;
        for _ in 0..READS_MAX {
            let length = self.socket.read(&mut self.buffer)?;
            match take(&self.buffer[..length], see) {
                Some(Next::More) => {}
                Some(Next::Done) => return Ok(()),
                None => return Err(std::io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
            }
        }
        Err(std::io::Error::from_raw_os_error(libc::EOVERFLOW))
    }
}

/// The interface and what the discipline at its root counted. `struct gnet_stats_basic` is bytes
/// and packets, `struct gnet_stats_queue` the length in packets and in bytes, drops, requeues,
/// overlimits (linux/gen_stats.h).
fn counts(message: &[u8]) -> Option<(u32, Counts)> {
    let interface = u32_at(message, 4)?;
    (u32_at(message, 12)? == ROOT).then_some(())?;
    let stats = attribute(message.get(MESSAGE_BYTES..)?, STATS)?;
    let (basic, queue) = (attribute(stats, BASIC)?, attribute(stats, QUEUE)?);
    let wide = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?));
    let packets = attribute(stats, PACKETS64).and_then(wide);
    let of = |at: usize| u32_at(queue, at).map(u64::from);
    let counts = Counts {
        sent_bytes: wide(basic)?,
        sent_packets: packets.or_else(|| u32_at(basic, 8).map(u64::from))?,
        backlog_packets: of(0)?,
        backlog_bytes: of(4)?,
        drops: of(8)?,
        requeues: of(12)?,
        overlimits: of(16)?,
    };
    Some((interface, counts))
}

/// The one at the root of the interface of that number.
///
/// # Errors
/// When the kernel does not tell.
pub fn root_of(interface: u32) -> std::io::Result<Discipline> {
    let missing = || std::io::Error::from_raw_os_error(libc::EOPNOTSUPP);
    let mut roots = roots().map_err(|error| std::io::Error::other(error.why))?;
    roots.remove(&interface).ok_or_else(missing)
}

/// Puts a discipline of this kind, with its own options, at the root of an interface.
///
/// # Errors
/// In the kernel's words: it takes CAP_NET_ADMIN, and a kernel that has that kind.
pub fn put_root(interface: u32, kind: &str) -> std::io::Result<()> {
    netlink::ask(NEW_QDISC, PUT, &request(interface, Some(kind)))
}

/// Takes ours from the root of an interface; the kernel puts its own there again.
///
/// # Errors
/// In the kernel's words.
pub fn remove_root(interface: u32) -> std::io::Result<()> {
    netlink::ask(REMOVE_QDISC, 0, &request(interface, None))
}

/// `struct tcmsg` of ours at a root, and its kind.
fn request(interface: u32, kind: Option<&str>) -> Vec<u8> {
    let words = [0, interface, OURS, ROOT, 0];
    let head: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
    netlink::body(&head, kind.map(|kind| netlink::text(KIND, kind)).as_slice())
}

/// Whether there is more to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    More,
    Done,
}

/// Goes through the messages of one read that tell of disciplines; `None` when the kernel refused.
fn take(mut bytes: &[u8], see: &mut dyn FnMut(&[u8])) -> Option<Next> {
    while let Ok(message) = NetlinkBuffer::new_checked(bytes) {
        match message.message_type() {
            NLMSG_DONE => return Some(Next::Done),
            NLMSG_ERROR => return None,
            NEW_QDISC => see(message.payload()),
            _ => {}
        }
        let next = (message.length() as usize).next_multiple_of(4);
        bytes = bytes.get(next..).unwrap_or_default();
    }
    Some(Next::More)
}

/// The interface and its discipline, when it is that of a root.
fn root(message: &[u8]) -> Option<(u32, Discipline)> {
    let interface = u32_at(message, 4)?;
    (u32_at(message, 12)? == ROOT).then_some(())?;
    let attributes = message.get(MESSAGE_BYTES..)?;
    let name = attribute(attributes, KIND)?.split(|byte| *byte == 0).next()?;
    let name = std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?;
    let options = attribute(attributes, OPTIONS).filter(|_| name == "tbf");
    let shaped = options.and_then(bucket);
    let handle = u32_at(message, 8)?;
    Some((interface, Discipline { name: name.to_owned(), handle, shaped }))
}

/// The rate of a token bucket, of its options. Of `struct tc_ratespec` the overhead is at 2 (as a
/// signed number, linux/pkt_sched.h), the smallest packet at 6, the rate at 8.
fn bucket(options: &[u8]) -> Option<Shaped> {
    let parameters = attribute(options, BUCKET)?;
    let wide = attribute(options, BUCKET_RATE64).and_then(|rate| Some(rate.get(..8)?.try_into()));
    let bytes_per_s = match wide {
        Some(rate) => u64::from_ne_bytes(rate.ok()?),
        None => u32_at(parameters, 8)?.into(),
    };
    let overhead_bytes = u16_at(parameters, 2)?.cast_signed();
    let least_bytes = u16_at(parameters, 6)?;
    (bytes_per_s > 0).then_some(Shaped { bytes_per_s, overhead_bytes, least_bytes })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sys::Host;

    const HEADER_BYTES: usize = 16;

    /// A message as the kernel sends it: another attribute, then the name.
    fn message(kind: u16, interface: u32, parent: u32, name: &str) -> Vec<u8> {
        with_options(kind, interface, parent, name, &[])
    }

    /// The same with options.
    fn with_options(kind: u16, interface: u32, parent: u32, name: &str, options: &[u8]) -> Vec<u8> {
        let mut body = vec![0; 4];
        body.extend([interface, 0x10000, parent, 2].iter().flat_map(|word| word.to_ne_bytes()));
        body.extend([5_u16, 12].iter().flat_map(|half| half.to_ne_bytes()));
        body.extend([7, 0, 0, 0]);
        body.extend((4 + name.len() as u16 + 1).to_ne_bytes());
        body.extend(KIND.to_ne_bytes());
        body.extend(name.bytes().chain([0]));
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(options);
        let mut whole = ((HEADER_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
        whole.extend(kind.to_ne_bytes());
        whole.resize(HEADER_BYTES, 0);
        whole.extend(body);
        whole
    }

    fn messages() -> Vec<u8> {
        let parts = [
            message(NEW_QDISC, 2, ROOT, "mq"),
            message(NEW_QDISC, 2, 0x1_0001, "fq_codel"),
            message(NEW_QDISC, 3, ROOT, "noqueue"),
            message(NLMSG_DONE, 0, 0, ""),
        ];
        parts.concat()
    }

    #[test]
    fn the_disciplines_of_roots_are_taken_and_not_those_of_queues() {
        let mut found = BTreeMap::new();
        assert_eq!(take(&messages(), &mut |it| found.extend(root(it))), Some(Next::Done));
        let plain =
            |name: &str| Discipline { name: name.to_owned(), handle: 0x10000, shaped: None };
        assert_eq!(found, BTreeMap::from([(2, plain("mq")), (3, plain("noqueue"))]));
        assert_eq!(take(&message(NLMSG_ERROR, 0, 0, ""), &mut |_| ()), None);
    }

    /// `tc qdisc add dev veth1 root tbf rate 1gbit burst 1mbit latency 20ms overhead 24 mpu 64`, as
    /// the kernel tells it: options of `struct tc_tbf_qopt` and the burst, nested.
    fn bucket_of(rate: u32, wide: Option<u64>) -> Vec<u8> {
        let mut parameters = vec![0, 1];
        parameters.extend(24_i16.to_ne_bytes());
        parameters.extend([0, 0]);
        parameters.extend(64_u16.to_ne_bytes());
        parameters.extend(rate.to_ne_bytes());
        parameters.extend([0; 24]);
        let mut inside = Vec::new();
        let mut put = |kind: u16, value: &[u8]| {
            inside.extend((4 + value.len() as u16).to_ne_bytes());
            inside.extend(kind.to_ne_bytes());
            inside.extend(value);
        };
        put(BUCKET, &parameters);
        if let Some(wide) = wide {
            put(BUCKET_RATE64, &wide.to_ne_bytes());
        }
        let mut options = (4 + inside.len() as u16).to_ne_bytes().to_vec();
        // NLA_F_NESTED, which some kernels set.
        options.extend((OPTIONS | 0x8000).to_ne_bytes());
        options.extend(inside);
        options
    }

    #[test]
    fn the_rate_of_a_token_bucket_is_read_and_cut_off_it_is_none() {
        for (rate, wide, expected) in
            [(125_000_000, None, 125_000_000), (u32::MAX, Some(12_500_000_000), 12_500_000_000)]
        {
            let whole = with_options(NEW_QDISC, 7, ROOT, "tbf", &bucket_of(rate, wide));
            let message = &whole[HEADER_BYTES..];
            let (interface, found) = root(message).unwrap();
            let shaped = Shaped { bytes_per_s: expected, overhead_bytes: 24, least_bytes: 64 };
            assert_eq!((interface, found.shaped), (7, Some(shaped)));
            for end in 0..message.len() {
                let shaped = root(&message[..end]).and_then(|(_, found)| found.shaped);
                assert_eq!(shaped, None, "cut at {end}");
            }
        }
        let other = with_options(NEW_QDISC, 7, ROOT, "fq", &bucket_of(9, None));
        assert_eq!(root(&other[HEADER_BYTES..]).unwrap().1.shaped, None);
        assert_eq!(bucket(&bucket_of(0, None)[4..]), None, "a rate of 0 is none");
    }

    /// As Linux 6.1 tells of a token bucket that has dropped: with the count of packets in 32 bits
    /// and, behind it, in 64.
    fn stats_of(counts: &Counts, wide: bool) -> Vec<u8> {
        let mut inside = Vec::new();
        let mut put = |kind: u16, value: &[u8]| {
            inside.extend((4 + value.len() as u16).to_ne_bytes());
            inside.extend(kind.to_ne_bytes());
            inside.extend(value);
        };
        let mut basic = counts.sent_bytes.to_ne_bytes().to_vec();
        basic.extend((counts.sent_packets as u32).to_ne_bytes());
        put(BASIC, &basic);
        let queue = [
            counts.backlog_packets,
            counts.backlog_bytes,
            counts.drops,
            counts.requeues,
            counts.overlimits,
        ];
        let queue: Vec<u8> = queue.iter().flat_map(|it| (*it as u32).to_ne_bytes()).collect();
        put(QUEUE, &queue);
        if wide {
            put(PACKETS64, &counts.sent_packets.to_ne_bytes());
        }
        let mut stats = (4 + inside.len() as u16).to_ne_bytes().to_vec();
        stats.extend(STATS.to_ne_bytes());
        stats.extend(inside);
        stats
    }

    #[test]
    fn what_a_root_counted_is_read_and_cut_off_it_is_nothing() {
        let known = Counts {
            sent_bytes: 5 << 32,
            sent_packets: 7 << 32 | 3,
            drops: 11,
            requeues: 13,
            overlimits: 17,
            backlog_bytes: 19_000,
            backlog_packets: 23,
        };
        for (wide, packets) in [(true, known.sent_packets), (false, 3)] {
            let stats = stats_of(&known, wide);
            let whole = with_options(NEW_QDISC, 7, ROOT, "tbf", &stats);
            let message = &whole[HEADER_BYTES..];
            assert_eq!(counts(message), Some((7, Counts { sent_packets: packets, ..known })));
            for end in 0..message.len() {
                assert_eq!(counts(&message[..end]), None, "cut at {end}");
            }
        }
        let queue = with_options(NEW_QDISC, 7, 0x1_0001, "tbf", &stats_of(&known, true));
        assert_eq!(counts(&queue[HEADER_BYTES..]), None, "one of several queues is no root");
    }

    #[test]
    fn what_is_asked_for_is_what_the_kernel_would_tell_of_it() {
        let body = request(7, Some("fq"));
        assert_eq!(body.len(), MESSAGE_BYTES + 8);
        let found = root(&body).unwrap();
        assert_eq!(found, (7, Discipline { name: "fq".into(), handle: OURS, shaped: None }));
        for end in 0..MESSAGE_BYTES + 4 + "fq".len() {
            assert_eq!(root(&body[..end]), None, "cut at {end}");
        }
        assert_eq!(request(7, None).len(), MESSAGE_BYTES);
    }

    #[test]
    fn an_answer_that_is_cut_off_yields_only_whole_names() {
        let whole = messages();
        for end in 0..whole.len() {
            let mut found = BTreeMap::new();
            take(&whole[..end], &mut |it| found.extend(root(it)));
            let names: Vec<&str> = found.values().map(|found| found.name.as_str()).collect();
            assert!(names.iter().all(|name| ["mq", "noqueue"].contains(name)), "at {end}");
        }
    }

    #[test]
    fn every_interface_here_has_a_root() {
        let roots = roots().unwrap();
        let host = Host::live();
        let number = |name: &str| host.word(format!("/sys/class/net/{name}/ifindex"))?.parse().ok();
        let number: u32 = number("lo").unwrap();
        assert!(roots.get(&number).is_some_and(|found| !found.name.is_empty()), "{roots:?}");
    }

    proptest! {
        #[test]
        fn no_bytes_whatever_make_it_fail(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            take(&bytes, &mut |message| drop((root(message), counts(message))));
        }
    }
}
