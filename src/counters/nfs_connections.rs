//! /proc/net/tcp: what waits in the connections between NFS clients and servers.
//!
//! Bytes that a server has handed to TCP and that the client has not acknowledged are on the wire or
//! before it: where there are always some, no reader would get more, however fast the disks are.
//! Those of a disk that limits are gone before the next are there. Connections are known by the port
//! 2049 (RFC 7530, 3.1): one over another port is not counted. See Documentation/networking/
//! proc_net_tcp.rst.

use super::table::{Field, Table};
use super::text::{lines, words};
use super::{INTERVAL_NS, Sample, Source, Subject, mountstats, nfs_server};
use crate::sys::Host;
use crate::sys::reread::Reread;

pub const NFS_CONNECTIONS: Source = Source {
    name: "nfs-connections",
    about: "Connections over TCP's port 2049 at each of their ends, and what waits in them",
    fields: &[
        Field::gauge("connections"),
        Field::gauge("send_queue_bytes"),
        Field::gauge("receive_queue_bytes"),
    ],
    every_ns: INTERVAL_NS,
    born_at_zero: false,
    open,
};

const ENDS: [&[u8]; 2] = [b"client", b"server"];
const PORT: u64 = 2049;
/// TCP_ESTABLISHED of net/tcp_states.h.
const ESTABLISHED: u64 = 1;

struct Connections(Vec<Reread>);

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    let is_client = || {
        let text = Reread::open(host, "/proc/self/mountstats");
        text.is_ok_and(|mut text| text.read().is_some_and(mountstats::is_client))
    };
    let server = nfs_server::pid(host);
    if server.is_none() && !is_client() {
        return None;
    }
    // A client may be in a network namespace of its own.
    let own = host.link("/proc/self/ns/net");
    let apart = server.filter(|pid| host.link(format!("/proc/{pid}/ns/net")) != own);
    let folders = [Some("self".to_owned()), apart.map(|pid| pid.to_string())];
    let paths = folders
        .iter()
        .flatten()
        .flat_map(|folder| ["tcp", "tcp6"].map(|name| format!("/proc/{folder}/net/{name}")));
    let files: Vec<Reread> = paths.filter_map(|path| Reread::open(host, path).ok()).collect();
    (!files.is_empty()).then(|| Box::new(Connections(files)) as Box<dyn Sample>)
}

impl Sample for Connections {
    fn sample(&mut self, table: &mut Table) {
        let mut ends = [[0; 3]; 2];
        for file in &mut self.0 {
            let Some(text) = file.read() else { return };
            add(text, &mut ends);
        }
        for (name, end) in ENDS.into_iter().zip(ends) {
            for (field, value) in end.into_iter().enumerate() {
                table.put(name, field, value);
            }
        }
    }
}

/// Adds what a file tells of each end: connections, bytes to send, bytes to be read.
fn add(text: &[u8], ends: &mut [[u64; 3]; 2]) {
    for line in lines(text) {
        let mut words = words(line).skip(1);
        let mut pair = || {
            let word = words.next()?;
            let colon = word.iter().position(|byte| *byte == b':')?;
            Some((&word[..colon], &word[colon + 1..]))
        };
        let (Some(local), Some(remote)) = (pair(), pair()) else { continue };
        if words.next().and_then(hexadecimal) != Some(ESTABLISHED) {
            continue;
        }
        let Some((to_send, to_read)) = words.next().and_then(|word| {
            let colon = word.iter().position(|byte| *byte == b':')?;
            Some((hexadecimal(&word[..colon])?, hexadecimal(&word[colon + 1..])?))
        }) else {
            continue;
        };
        let is_port = |(_, port): (&[u8], &[u8])| hexadecimal(port) == Some(PORT);
        let end = match (is_port(remote), is_port(local)) {
            (true, _) => 0,
            (_, true) => 1,
            _ => continue,
        };
        for (sum, more) in ends[end].iter_mut().zip([1, to_send, to_read]) {
            *sum = sum.saturating_add(more);
        }
    }
}

/// Hexadecimal digits of at most 64 bits; `None` when it is no number.
fn hexadecimal(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok().filter(|text| !text.starts_with('+'))?;
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose client is behind a link of 100 Mb/s, which listens as well; recorded.
    const TCP: &str = include_str!("../../tests/fixtures/proc/net-tcp");

    #[test]
    fn what_waits_is_told_of_each_end_and_listeners_are_no_connections() {
        let of = |text: &str| {
            let mut ends = [[0; 3]; 2];
            add(text.as_bytes(), &mut ends);
            ends
        };
        assert_eq!(of(TCP), [[0, 0, 0], [1, 0x62_2BC, 0]]);
        let client = "0: 0200090A:032F 0100090A:0801 01 00000010:0000E240 02:0\n\
                      1: 0200090A:0330 0100090A:0801 06 00000010:00000010 02:0\n\
                      2: 0200090A:0331 0100090A:0802 01 00000010:00000010 02:0\n\
                      3: x:0331 :0801 01 zz:1\n4: 1:0801\n5: 1:1 1:0801 01 +1:1\n\n";
        assert_eq!(of(client), [[1, 16, 0xE240], [0, 0, 0]]);
        for end in 0..TCP.len() {
            let cut = of(&TCP[..end])[1];
            assert!(cut == [0; 3] || cut == [1, 0x62_2BC, 0], "cut at {end}: {cut:?}");
        }
    }
}
