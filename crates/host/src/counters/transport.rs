//! /proc/net/snmp: segments of TCP, and datagrams of UDP that found no room.
//!
//! Counts of the network namespace that we are in, of RFC 4022 and RFC 4113 with the kernel's own
//! beside them. TCP counts both versions of IP there, UDP version 4 alone.

use super::text::{lines, number, words};
use super::{CounterSource, INTERVAL_NS, Sample, Subject};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

pub const TRANSPORT: CounterSource = CounterSource {
    name: "transport",
    about: "Segments of TCP, those sent again, and datagrams of UDP that found no room",
    fields: &[
        Field::counter("received_segments"),
        Field::counter("sent_segments"),
        Field::counter("retransmitted_segments"),
        Field::counter("received_datagrams"),
        Field::counter("sent_datagrams"),
        Field::counter("receive_buffer_errors"),
        Field::counter("send_buffer_errors"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

/// Protocol and the kernel's name of each of our fields.
const NAMES: [(&[u8], &[u8]); 7] = [
    (b"Tcp:", b"InSegs"),
    (b"Tcp:", b"OutSegs"),
    (b"Tcp:", b"RetransSegs"),
    (b"Udp:", b"InDatagrams"),
    (b"Udp:", b"OutDatagrams"),
    (b"Udp:", b"RcvbufErrors"),
    (b"Udp:", b"SndbufErrors"),
];

struct Transport(Reread);

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    Some(Box::new(Transport(Reread::open(host, "/proc/net/snmp").ok()?)))
}

impl Sample for Transport {
    fn sample(&mut self, table: &mut Table) {
        if let Some(text) = self.0.read() {
            parse(text, &mut |_, field, value| table.put(b"", field, value));
        }
    }
}

/// Calls `put` with field and value. Each protocol has a line of names and one of values.
pub fn parse(text: &[u8], put: &mut dyn FnMut(&[u8], usize, u64)) {
    let mut head: &[u8] = b"";
    for line in lines(text) {
        let protocol = words(line).next();
        if protocol.is_none() || protocol != words(head).next() {
            head = line;
            continue;
        }
        for (name, value) in words(head).zip(words(line)).skip(1) {
            let is_it = |(of, wanted): &(&[u8], &[u8])| Some(*of) == protocol && *wanted == name;
            let field = NAMES.iter().position(is_it);
            if let Some((field, value)) = field.zip(number(value)) {
                put(b"", field, value);
            }
        }
        head = b"";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{parse_whole_and_truncated, two_rows};

    #[test]
    fn a_recorded_file_yields_the_columns_by_their_names() {
        let text = include_str!("../../../../tests/fixtures/proc/net-snmp");
        let all = parse_whole_and_truncated(text, parse);
        let values: Vec<(usize, u64)> =
            all.iter().map(|(_, field, value)| (*field, *value)).collect();
        assert_eq!(values, [(0, 8584), (1, 4651), (2, 0), (3, 38), (4, 39), (5, 0), (6, 0)]);
    }

    #[test]
    fn a_kernel_with_other_columns_is_read_by_names_and_a_negative_one_is_left_out() {
        let text = b"Tcp: New RetransSegs InSegs\nTcp: 9 5 -1\nUdp: OutDatagrams\nTcp: 1\n";
        let mut seen = Vec::new();
        parse(text, &mut |_, field, value| seen.push((field, value)));
        assert_eq!(seen, [(2, 5)], "values without names are none");
    }

    #[test]
    fn a_datagram_is_counted() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let own = socket.local_addr().unwrap();
        let send = || assert_eq!(socket.send_to(&[7; 10], own).unwrap(), 10);
        let series = two_rows(&TRANSPORT, &Host::live(), &[], send).unwrap();
        let values = &series.column("sent_datagrams").unwrap().values;
        assert!(values[1] > values[0], "{values:?}");
    }
}
