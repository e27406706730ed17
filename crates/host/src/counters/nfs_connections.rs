//! What waits in the connections between NFS clients and servers.
//!
//! Bytes that a server has handed to TCP and that the client has not acknowledged are on the wire
//! or before it: where there are always some, no reader would get more, however fast the disks are.
//! Those of a disk that limits are gone before the next are there. Which connections there are is
//! read from /proc/net/tcp, whose reading takes long; what waits in each is asked of it alone.
//! They are known by the port 2049 (RFC 7530, 3.1): one over another port is not counted.

use super::text::{lines, words};
use super::{CounterSource, INTERVAL_NS, Sample, Subject, mountstats, nfs_server};
use crate::sys::Host;
use crate::sys::reread::Reread;
use crate::sys::sockets::{Connection, SockDiagSocket};
use facts::counters::table::{Field, Table};

pub const NFS_CONNECTIONS: CounterSource = CounterSource {
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
/// A connection that is gone has others looked for in the next row, and where that finds none in
/// ever more rows, up to so many.
const ROWS_BETWEEN_LOOKS: u32 = 50;
/// No mount has more than 16; a server of a farm has many.
const MOST_CONNECTIONS: usize = 256;

/// The NFS connections of one network namespace: its files, and the socket that is asked about
/// them.
struct NamespaceConnections {
    files: Vec<Reread>,
    asker: SockDiagSocket,
    known: Vec<(usize, Connection)>,
}

struct Connections {
    places: Vec<NamespaceConnections>,
    rows_since_look: u32,
    /// So many rows from one look to the next.
    patience: u32,
}

fn open(host: &Host, _: &Subject) -> Option<Box<dyn Sample>> {
    // Addresses of this machine mean nothing on a recording of another.
    if !host.is_live() {
        return None;
    }
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
    let mut places: Vec<NamespaceConnections> =
        NamespaceConnections::open(host, None).into_iter().collect();
    places.extend(apart.and_then(|pid| NamespaceConnections::open(host, Some(pid))));
    let all = Connections::of(places);
    (!all.places.is_empty()).then(|| Box::new(all) as Box<dyn Sample>)
}

impl NamespaceConnections {
    fn open(host: &Host, pid: Option<u32>) -> Option<NamespaceConnections> {
        let folder = pid.map_or("self".to_owned(), |pid| pid.to_string());
        let paths = ["tcp", "tcp6"].map(|name| format!("/proc/{folder}/net/{name}"));
        let files = paths.iter().filter_map(|path| Reread::open(host, path).ok()).collect();
        Some(NamespaceConnections {
            files,
            asker: SockDiagSocket::open(pid).ok()?,
            known: Vec::new(),
        })
    }
}

impl Connections {
    fn of(places: Vec<NamespaceConnections>) -> Connections {
        let mut all = Connections { places, rows_since_look: 0, patience: 1 };
        all.look();
        all
    }

    /// Looks which there are.
    fn look(&mut self) {
        self.rows_since_look = 0;
        for place in &mut self.places {
            place.known.clear();
            for text in place.files.iter_mut().filter_map(Reread::read) {
                find(text, &mut place.known);
            }
            place.known.truncate(MOST_CONNECTIONS);
        }
    }
}

impl Sample for Connections {
    fn sample(&mut self, table: &mut Table) {
        let (mut ends, mut gone) = ([[0_u64; 3]; 2], [false; 2]);
        for NamespaceConnections { asker, known, .. } in &mut self.places {
            for (end, connection) in known {
                let Some(queues) = asker.queues(connection) else {
                    gone[*end] = true;
                    continue;
                };
                let more = [1, queues.send_bytes, queues.receive_bytes];
                for (sum, more) in ends[*end].iter_mut().zip(more) {
                    *sum = sum.saturating_add(more);
                }
            }
        }
        // Where one does not answer, nothing is known of that end, which is not that nothing waits.
        for ((name, end), gone) in ENDS.into_iter().zip(ends).zip(gone) {
            for (field, value) in end.into_iter().enumerate().filter(|_| !gone) {
                table.put(name, field, value);
            }
        }
        self.rows_since_look += 1;
        let none = self.places.iter().all(|place| place.known.is_empty());
        if none || gone.contains(&true) {
            if self.rows_since_look >= self.patience {
                self.look();
                self.patience = (self.patience * 2).min(ROWS_BETWEEN_LOOKS);
            }
        } else if self.rows_since_look >= ROWS_BETWEEN_LOOKS {
            self.patience = 1;
        }
    }
}

/// Adds the connections of a file: 0 for one to a server, 1 for one from a client.
fn find(text: &[u8], found: &mut Vec<(usize, Connection)>) {
    for line in lines(text) {
        let mut words = words(line).skip(1);
        let (Some(local), Some(remote)) = (words.next().and_then(end), words.next().and_then(end))
        else {
            continue;
        };
        if words.next().and_then(hexadecimal) != Some(ESTABLISHED) {
            continue;
        }
        let is_port = |port: u16| u64::from(port) == PORT;
        let which = match (is_port(remote.1), is_port(local.1)) {
            (true, _) => 0,
            (_, true) => 1,
            _ => continue,
        };
        found.push((which, Connection::new((&local.0, local.1), (&remote.0, remote.1))));
    }
}

/// `0100007F:0801`: the kernel's words of an address, eight digits each, and a port.
fn end(word: &[u8]) -> Option<(Vec<u32>, u16)> {
    let colon = word.iter().position(|byte| *byte == b':')?;
    let (address, port) = (&word[..colon], &word[colon + 1..]);
    if !matches!(address.len(), 8 | 32) {
        return None;
    }
    let parts = address.chunks(8).map(|part| hexadecimal(part)?.try_into().ok());
    Some((parts.collect::<Option<Vec<u32>>>()?, hexadecimal(port)?.try_into().ok()?))
}

/// Hexadecimal digits of at most 64 bits; `None` when it is no number.
fn hexadecimal(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok().filter(|text| !text.starts_with('+'))?;
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// A server that has one client, and listens; recorded.
    const TCP: &str = include_str!("../../../../tests/fixtures/proc/net-tcp");

    /// A trial over a link had "0 % of 32 samples" with something to send, and its limit was not
    /// known: the mount before it had ended with bytes on their way, the connection that was known
    /// was that one, and others were looked for after five seconds, when the trial was over.
    #[test]
    #[expect(clippy::print_stdout, reason = "says that it is skipped")]
    fn a_connection_that_takes_the_place_of_another_is_found_in_the_next_rows() {
        let Ok(listener) = TcpListener::bind(("127.0.77.1", PORT as u16)) else {
            println!("SKIP counters::nfs_connections: needs port 2049 of 127.0.77.1");
            return;
        };
        let pair = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap().0)
        };
        let (client, server) = pair();
        let mut all =
            Connections::of(NamespaceConnections::open(&Host::live(), None).into_iter().collect());
        let answers = |it: &mut NamespaceConnections| {
            it.known.iter().any(|(_, of)| it.asker.queues(of).is_some())
        };
        if !all.places.iter_mut().any(answers) {
            println!("SKIP counters::nfs_connections: this kernel has no tcp_diag");
            return;
        }
        let mut table = Table::new(NFS_CONNECTIONS.name, NFS_CONNECTIONS.fields, false);
        let mut row = |all: &mut Connections, at_ns: u64| {
            table.begin(at_ns);
            all.sample(&mut table);
            table.end();
        };
        row(&mut all, 0);
        drop((client, server));
        let (_client, mut server) = pair();
        server.set_nonblocking(true).unwrap();
        while server.write(&[7; 1 << 16]).is_ok() {}
        for at_ns in 1..5 {
            row(&mut all, at_ns);
        }
        let series = table.into_series(0);
        let values = |name: &str| &series.column(name).unwrap().values;
        let last = |name: &str| *values(name).last().unwrap();
        assert!(last("server.send_queue_bytes") > 0, "{series:?}");
        // As many as before: this machine may have others.
        for connections in ["server.connections", "client.connections"].map(values) {
            assert!(connections[0] > 0 && connections[0] == connections[4], "{series:?}");
        }
        assert!(last("client.receive_queue_bytes") > 0, "{series:?}");
    }

    #[test]
    fn connections_are_known_by_their_port_and_listeners_are_none() {
        let of = |text: &str| {
            let mut found = Vec::new();
            find(text.as_bytes(), &mut found);
            found
        };
        let address = |last: u8| [u32::from_ne_bytes([10, 9, 0, last])];
        let (server, client) = ((&address(1)[..], 2049), (&address(2)[..], 0x327));
        assert_eq!(of(TCP), [(1, Connection::new(server, client))]);
        let text = "0: 0200090A:0327 0100090A:0801 01 00000010:0000E240 02:0\n\
                    1: 0200090A:0330 0100090A:0801 06 00000010:00000010 02:0\n\
                    2: 0200090A:0331 0100090A:0802 01 00000010:00000010 02:0\n\
                    3: x:0331 :0801 01 zz:1\n4: 1:0801\n5: +200090A:1 0200090A:0801 01\n\
                    6: 0200090A:10801 0200090A:0801 01\n\n";
        assert_eq!(of(text), [(0, Connection::new(client, server))]);
        let six = "0: 0000000000000000FFFF00000200090A:0327 \
                   0000000000000000FFFF00000100090A:0801 01 0:0\n";
        assert_eq!(of(six).len(), 1);
        for end in 0..TCP.len() {
            assert!(of(&TCP[..end]).len() <= 1, "cut at {end}");
        }
    }
}
