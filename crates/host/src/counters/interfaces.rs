//! /proc/net/dev: what network interfaces sent, received and dropped.
//!
//! Of the network namespace that we are in; see proc_pid_net(5). Bytes are those of frames with
//! their Ethernet headers, without preamble, checksum and gap. A card that joins or cuts packets
//! (GRO, TSO) counts what was on the wire, an interface without a wire (veth, lo) what it was
//! handed.

use super::text::{lines, number, words};
use super::{CounterSource, INTERVAL_NS, Sample, Subject};
use crate::sys::Host;
use crate::sys::reread::Reread;
use facts::counters::table::{Field, Table};

pub const INTERFACES: CounterSource = CounterSource {
    name: "interfaces",
    about: "Bytes, packets, errors and drops of each network interface",
    fields: &[
        Field::counter("received_bytes"),
        Field::counter("received_packets"),
        Field::counter("receive_errors"),
        Field::counter("receive_drops"),
        Field::counter("sent_bytes"),
        Field::counter("sent_packets"),
        Field::counter("send_errors"),
        Field::counter("send_drops"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

/// Column after the interface's name of each of our fields. `fifo` and `frame` are parts of errors.
const COLUMNS: [usize; 8] = [0, 1, 2, 3, 8, 9, 10, 11];

/// A host of containers has one for each of them: those first listed, as cards are, suffice.
const MOST_INTERFACES: usize = 64;

struct Interfaces(Reread);

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    Some(Box::new(Interfaces(Reread::open(host, "/proc/net/dev").ok()?)))
}

impl Sample for Interfaces {
    fn sample(&mut self, table: &mut Table) {
        if let Some(text) = self.0.read() {
            parse(text, &mut |interface, field, value| table.put(interface, field, value));
        }
    }
}

/// Calls `put` with interface, field and value.
pub fn parse(text: &[u8], put: &mut dyn FnMut(&[u8], usize, u64)) {
    // The two lines of the head have no colon. A long count stands right behind the name's.
    let split = |line: &'_ [u8]| line.iter().position(|byte| *byte == b':');
    let rows = lines(text).filter_map(|line| Some((line, split(line)?)));
    for (line, colon) in rows.take(MOST_INTERFACES) {
        let Some(name) = words(&line[..colon]).next() else { continue };
        for (at, word) in words(&line[colon + 1..]).enumerate() {
            let field = COLUMNS.iter().position(|column| *column == at);
            if let Some((field, value)) = field.zip(number(word)) {
                put(name, field, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{parse_whole_and_truncated, two_rows};

    #[test]
    fn a_recorded_file_yields_both_directions_of_each_interface() {
        let text = include_str!("../../../../tests/fixtures/proc/net-dev");
        let all = parse_whole_and_truncated(text, parse);
        let of = |name: &str| -> Vec<u64> {
            all.iter().filter(|(scope, ..)| scope == name).map(|(_, _, value)| *value).collect()
        };
        assert_eq!(of("eth0"), [410_342_392, 8598, 0, 0, 404_414, 4663, 0, 0]);
        assert_eq!(of("lo")[4], 3193);
        assert_eq!(of("face"), [0; 0], "the head is no interface");
    }

    #[test]
    fn a_count_may_stand_right_behind_the_name() {
        let mut seen = Vec::new();
        parse(b"enp1s0f0:18446744073709551615 2 3\n", &mut |name, field, value| {
            seen.push((name.to_vec(), field, value));
        });
        assert_eq!(seen[0], (b"enp1s0f0".to_vec(), 0, u64::MAX));
        assert_eq!(seen.len(), 3);
    }

    #[test]
    fn a_datagram_to_ourselves_is_sent_and_received() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let own = socket.local_addr().unwrap();
        let send = || assert_eq!(socket.send_to(&[7; 1000], own).unwrap(), 1000);
        let series = two_rows(&INTERFACES, &Host::live(), &[], send).unwrap();
        for column in ["lo.sent_bytes", "lo.received_bytes"] {
            let values = &series.column(column).unwrap().values;
            assert!(values[1] >= values[0] + 1000, "{column}: {values:?}");
        }
    }
}
